"""Before and after, or runs side by side: what each device did under the words of one text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from iodiag.model.columns import LATENCIES
from iodiag.model.report import PhaseSummary, Report
from iodiag.report import wording
from iodiag.report.document import Block, Paragraph, Section, TextTable, Visibility
from iodiag.report.wording import Span, Spans

MOST_DEVICES, DEVICES_OPEN = 4, 1
_INSTEAD_OF = {
    "ios_per_s": ("reads_per_s", "writes_per_s"),
    "kb_per_s": ("read_kb_per_s", "write_kb_per_s"),
    "request_size_kb": ("read_request_size_kb", "write_request_size_kb"),
    "await_ms": ("read_await_ms", "write_await_ms"),
}


def phases_section(report: Report) -> list[Section]:
    """A table for each device in several phases, those of findings first; none without phases."""
    of_device: dict[tuple[str | None, str, str], list[PhaseSummary]] = {}
    for phase in report.phases:
        of_device.setdefault((phase.host, phase.device, phase.source), []).append(phase)
    named = {device for finding in report.findings for device in finding.devices}
    is_change = _tells_of_change(report.phases)
    ordered = sorted(of_device, key=lambda key: key[1] not in named)
    tables: list[Section] = []
    for key in ordered[:MOST_DEVICES]:
        host, device, _ = key
        whose: Spans = (Span(" of "), wording.name(host)) if host and len(report.hosts) > 1 else ()
        place: Visibility = "page" if len(tables) < DEVICES_OPEN else "folded"
        tables.append(
            Section((wording.name(device), *whose), (_table(of_device[key], is_change),), place=place)
        )
    blocks: list[Block] = [*tables]
    more = len(ordered) - MOST_DEVICES
    if more > 0:
        rest = f"{wording.plural(more, 'more device')} in the JSON report."
        blocks.append(Paragraph((Span(rest),), is_aside=True))
    counted = wording.plural(len(of_device), "device")
    heading = "Before and after" if is_change else "Runs side by side"
    return [Section((Span(heading),), tuple(blocks), "phases", pointer=counted)] if blocks else []


_TOOL = re.compile(
    r"[`$#%> ]{0,8}(?:sudo )?(?:/\S{1,40}/)?"
    r"(?:(?:iostat|sar|sadf|vmstat|mpstat|pidstat|dstat|fio|dd|sysbench|pgbench|iozone)\b|Linux \d)"
)
_OTHER_HOST = re.compile(
    r"\b(?:other|another|second|different|next|healthy|normal|good)\s(?:\w+\s)?"
    r"(?:node|host|server|machine|box|system)s?\b",
    re.I,
)
MOST_APART = 10.0
"""Times as many requests of one run as of the other from which their latencies are not of the same load."""


def _tells_of_change(phases: Sequence[PhaseSummary]) -> bool:
    """Whether words tell two runs apart: a command alone does not, and more runs are no course of time.

    Two benchmarks are two loads, and two releases of a kernel may be of two hosts. Nor do they where they
    name another host: what it does is no change of the first.
    """
    is_other = any(_TOOL.match(one.label) or _OTHER_HOST.search(one.label) for one in phases)
    return len({phase.phase for phase in phases}) == 2 and not is_other


def _table(phases: Sequence[PhaseSummary], is_change: bool) -> TextTable:
    """The means of each phase, and how many times as much the last is as the first, if that is a change."""
    known = dict.fromkeys(name for phase in phases for name, mean in phase.means.items() if mean)
    shown = [name for name in known if not _is_told_by_parts(name, phases, known)]
    rows: list[tuple[Spans, ...]] = [
        ((Span("samples"),), *((Span(wording.count(phase.samples)),) for phase in phases), *[()] * is_change)
    ]
    rates = [phase.means.get("ios_per_s", 0.0) for phase in (phases[0], phases[-1])]
    is_apart = max(rates) > MOST_APART * min(rates)
    for name in shown:
        means = [phase.means.get(name) for phase in phases]
        cells = [(Span(wording.number(mean)),) for mean in means]
        first, last = means[0], means[-1]
        ratio: Spans = ()
        if first and last is not None and not (is_apart and name in LATENCIES):
            ratio = (Span(f"{wording.number(float(f'{last / first:.2g}'))}x"),)
        rows.append(((Span(wording.column_label(name)),), *cells, *[ratio] * is_change))
    labels = (wording.visible(phase.label) or f"phase {at}" for at, phase in enumerate(phases, 1))
    head = ("Mean", *labels, *["Last to first"] * is_change)
    return TextTable(head, tuple(rows), numeric=frozenset(range(1, len(head))))


def _is_told_by_parts(name: str, phases: Sequence[PhaseSummary], known: Collection[str]) -> bool:
    """Whether reads and writes tell more than a total, or the only one of them the same."""
    parts = [part for part in _INSTEAD_OF.get(name, ()) if part in known]
    same = len(parts) == 1 and all(phase.means.get(name) == phase.means.get(parts[0]) for phase in phases)
    return len(parts) == 2 or same
