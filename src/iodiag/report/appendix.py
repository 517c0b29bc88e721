"""What stands beside the findings: rules without one, devices, what was read, thresholds.

Sections come first, then the tables in them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES
from iodiag.model.finding import Outcome
from iodiag.model.report import DeviceSummary, Report, SourceSummary, StateSummary, UnparsedLine
from iodiag.report import wording
from iodiag.report.document import Block, Bullets, Charts, Item, Paragraph, Section, TextTable, Visibility
from iodiag.report.wording import Span, Spans

T = TypeVar("T")

DEVICE_ROWS = 60
NAMES_IN_CELL = 12
STATE_DEVICES, STATES_SHOWN, TIMED_SHOWN = 8, 3, 3
BRIEF_DEVICES = 5
LINES_SHOWN = 20
SOURCES_SHOWN = 200

MAIN_COLUMNS = (*RATES, "kb_per_s", *KB_BY_WAY, "request_size_kb", *LATENCIES, "queue_depth", "util_pct")
_WHERE_USED = ("discards_per_s", "discard_kb_per_s", "discard_await_ms", "flushes_per_s", "flush_await_ms")
"""Columns that are shown where some device has discards or flushes."""

HOST_TABLES = {"cpu": "CPU", "tasks": "Tasks", "memory": "Memory", "swap": "Swap", "totals": "All disks"}
_INSTEAD_OF = {
    "ios_per_s": ("reads_per_s", "writes_per_s"),
    "kb_per_s": ("read_kb_per_s", "write_kb_per_s"),
    "await_ms": ("read_await_ms", "write_await_ms"),
}
_UNJUDGED = (
    ("undetermined", "Not enough data"),
    ("not_applicable", "Missing input"),
    ("error", "The rule failed"),
)


def states_section(report: Report, is_full: bool = True) -> list[Section]:
    """What each device was doing; where it is not full the state in which most waited longest."""
    table = states(report, *((STATE_DEVICES, STATES_SHOWN) if is_full else (BRIEF_DEVICES, 1)))
    side = " after" if report.comparison else ""
    named = {(state.host, state.device) for state in report.states}
    named |= {(latency.host, latency.device) for latency in report.latencies if latency.device}
    counted = wording.plural(len(named), "device")
    heading = (Span(f"What each device was doing{side}"),)
    place: Visibility = "folded" if report.comparison else "page"
    drawn: tuple[Block, ...] = (Charts(("activity", 0)),) if report.activity and is_full else ()
    return [Section(heading, (*drawn, table), "states", place, counted)] if table.rows else []


def ignored_section(report: Report) -> list[Section]:
    """The findings that the configuration takes out."""
    table = ignored(report)
    counted = wording.plural(len(table.rows), "finding")
    heading = (Span("Ignored by configuration"),)
    return [Section(heading, (table,), "ignored", pointer=counted)] if table.rows else []


def folded_sections(report: Report) -> list[Section]:
    """What was clear, what not judged, the devices, what was read, the thresholds that were changed."""
    before = report.comparison.before if report.comparison else None
    return [
        _clear_section(report),
        _unjudged_section(report),
        *_host_section(report),
        *_devices_section(report, before),
        _read_section(report, before),
        *_thresholds_section(report),
        *_rules_section(report),
    ]


def _clear_section(report: Report) -> Section:
    rules = {outcome.rule for outcome in report.outcomes if outcome.status == "clear"}
    table = clear(report)
    block: Block = table if table.rows else Paragraph((Span("No rule could clear anything."),))
    return Section((Span("Clear"),), (block,), "clear", "folded", wording.plural(len(rules), "rule"))


def _unjudged_section(report: Report) -> Section:
    tables = unjudged(report)
    blocks: tuple[Block, ...] = tuple(Section((Span(heading),), (table,)) for heading, table in tables)
    kinds = {status for status, _ in _UNJUDGED}
    rules = {outcome.rule for outcome in report.outcomes if outcome.status in kinds}
    return Section(
        (Span("Could not be judged, and why"),),
        blocks or (Paragraph((Span("Every rule reached a verdict."),)),),
        "unjudged",
        "folded",
        wording.plural(len(rules), "rule"),
    )


def _host_section(report: Report) -> list[Section]:
    tables = host(report)
    blocks = tuple(Section((Span(heading),), (stacked(table),)) for heading, table in tables)
    pointer = ", ".join(heading for heading, _ in tables)
    return [Section((Span("The host"),), blocks, "host", "folded", pointer)] if tables else []


def _devices_section(report: Report, before: Report | None) -> list[Section]:
    table = stacked(devices(report))
    if not (table.rows or table.left_out):
        return []
    blocks: list[Block] = [Paragraph((Span(wording.SUMMARY_NOTE),), is_aside=True), table]
    if before is not None:
        blocks.append(Section((Span("Before"),), (stacked(devices(before)),)))
    counted = str(len(report.devices))
    return [Section((Span("Devices"),), tuple(blocks), "devices", "folded", counted)]


def _read_section(report: Report, before: Report | None) -> Section:
    blocks = _account(report)
    if before is not None:
        blocks = (
            Section((Span("Before"),), _account(before)),
            Section((Span("After"),), blocks),
        )
    bad = sum(len(summary.unparsed) for summary in report.sources)
    counted = f"{wording.plural(len(report.sources), 'section')} of input"
    pointer = f"{counted}, {wording.plural(bad, 'line')} not understood" if bad else counted
    return Section((Span("What was read"),), blocks, "read", "folded", pointer)


def _account(report: Report) -> tuple[Block, ...]:
    accounts = tuple(Item((source, Span(f": {words}"))) for source, words in ledgers(report))
    blocks: list[Block] = [sources(report), *([Bullets(accounts)] if accounts else [])]
    bad = tuple(unread(report))
    said = Bullets(bad) if bad else Paragraph((Span("None."),))
    blocks.append(Section((Span("Lines not understood"),), (said,)))
    remarks = tuple(notes(report))
    if remarks:
        blocks.append(Section((Span("Notes on reading"),), (Bullets(remarks),)))
    return tuple(blocks)


def _thresholds_section(report: Report) -> list[Section]:
    changed = _limits(report.changed_thresholds)
    if not changed:
        return []
    counted = wording.plural(sum(map(len, report.changed_thresholds.values())), "threshold")
    return [Section((Span("Changed thresholds"),), (Bullets(changed),), "thresholds", "folded", counted)]


def _rules_section(report: Report) -> list[Section]:
    """What each rule with a finding says of itself, so that nothing needs to be looked up elsewhere."""
    texts = dict(report.comparison.before.rule_texts if report.comparison else {}) | dict(report.rule_texts)
    sections = tuple(
        Section((place,), _paragraphs(text), place.href.removeprefix("#"))
        for rule, text in sorted(texts.items())
        if (place := wording.rule(rule)).href and text.strip()
    )
    counted = wording.plural(len(sections), "rule")
    about = (Span("About these rules"),)
    return [Section(about, sections, "rules", "folded", counted)] if sections else []


def _paragraphs(text: str) -> tuple[Paragraph, ...]:
    return tuple(
        Paragraph(wording.prose(" ".join(one.split()))) for one in re.split(r"\n\s*\n", text) if one.strip()
    )


def _limits(limits: Mapping[str, Mapping[str, float]]) -> tuple[Item, ...]:
    return tuple(
        Item(
            (
                wording.rule(rule),
                Span(
                    ": " + ", ".join(f"{wording.visible(k, 60)} {wording.number(v)}" for k, v in each.items())
                ),
            )
        )
        for rule, each in sorted(limits.items())
        if each
    )


def clear(report: Report) -> TextTable:
    """Rules that looked and found nothing, and at what they looked."""
    found = [outcome for outcome in report.outcomes if outcome.status == "clear"]
    return _merged(found, ("Rules", "Devices", "Why"), len(report.hosts) > 1)


def ignored(report: Report) -> TextTable:
    """Findings that the configuration takes out, and why."""
    rows = tuple(
        (
            wording.prose(one.finding.title),
            (wording.rule(one.finding.rule),),
            wording.names(one.finding.devices, NAMES_IN_CELL) or (Span("the whole host"),),
            (Span(one.finding.severity),),
            wording.prose(one.reason),
        )
        for one in report.ignored
    )
    return TextTable(("Finding", "Rule", "Devices", "Severity", "Why it is ignored"), rows)


def unjudged(report: Report) -> list[tuple[str, TextTable]]:
    """What could not be judged, by kind of reason."""
    tables = []
    for status, heading in _UNJUDGED:
        found = [outcome for outcome in report.outcomes if outcome.status == status]
        if found:
            head = ("Rules", "Devices", "Why", "Missing")
            tables.append((heading, _merged(found, head, len(report.hosts) > 1)))
    return tables


def _merged(outcomes: Sequence[Outcome], head: tuple[str, ...], has_hosts: bool) -> TextTable:
    """One row for all rules that say the same of the same devices; empty columns are dropped."""
    groups: dict[tuple[str | None, tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
    for outcome in outcomes:
        key = (outcome.host if has_hosts else None, outcome.devices, outcome.reason, outcome.missing)
        groups.setdefault(key, []).append(outcome.rule)
    rows = []
    for (host, devices, reason, missing), rules in groups.items():
        whose: tuple[Spans, ...] = ((wording.name(host),) if host else (),) if has_hosts else ()
        cells: tuple[Spans, ...] = (
            wording.joined([(wording.rule(rule),) for rule in dict.fromkeys(rules)]),
            *whose,
            wording.names(devices, NAMES_IN_CELL),
            wording.prose(reason),
            wording.names(missing, NAMES_IN_CELL),
        )
        rows.append(cells)
    full_head = (head[0], *(("Host",) if has_hosts else ()), *head[1:])
    return TextTable(full_head, tuple(row[: len(full_head)] for row in rows)).without_empty()


def states(report: Report, most_devices: int = STATE_DEVICES, most: int = STATES_SHOWN) -> TextTable:
    """What each device was doing: its longest states in a line each, the rest of them summed.

    Where `most` is one, the state in which its requests waited longest in all stands for the others; of the
    device that the first screen tells the cost of it is that one, so that one screen has one load of it.

    Devices of the verdict come first, then those of findings, then those that are busy longest or move most.
    The slowest of all is among them in any case.
    """
    of_device: dict[tuple[str | None, str], list[StateSummary]] = {}
    for state in report.states:
        of_device.setdefault((state.host, state.device), []).append(state)
    timed: dict[tuple[str | None, str], list[str]] = {}
    for latency in report.latencies:
        timed.setdefault((latency.host, latency.device), []).append(latency.text)
        of_device.setdefault((latency.host, latency.device), [])
    in_verdict = report.verdict.devices if report.verdict else ()
    in_findings = {device for finding in report.findings for device in finding.devices}

    busy = _shares({key: sum(map(_busy, own)) for key, own in of_device.items()})
    moved = _shares({key: sum(map(_moved, own)) for key, own in of_device.items()})

    def rank(key: tuple[str | None, str]) -> tuple[bool, bool, float, float]:
        name, requests = key[1], sum(state.requests for state in of_device[key])
        # an old kernel counts no time of an array
        return name not in in_verdict, name not in in_findings, -max(busy[key], moved[key]), -requests

    shown = with_slowest(sorted(of_device, key=rank), most_devices, lambda key: _latency_ms(of_device[key]))
    has_hosts = len(report.hosts) > 1
    rows = []
    anchors: list[str] = []
    for host, name in shown:
        whose: tuple[Spans, ...] = ((wording.name(host),) if host else (),) if has_hosts else ()
        is_first = most == 1 and (name,) == in_verdict[:1] and not has_hosts
        cost = report.verdict.cost if report.verdict and is_first else ""
        lines = [wording.prose(cost)] if cost else _state_lines(of_device[host, name], most)
        lines += [wording.prose(text) for text in timed.get((host, name), ())[:TIMED_SHOWN]]
        called: Spans = (wording.name(name),) if name else (Span("all traced devices"),)
        rows += [(called, *whose, text) for text in lines]
        place = wording.device(name, host if has_hosts else None).href.removeprefix("#")
        # two names may differ in nothing that an address can hold
        anchors += ["" if place in anchors else place, *("" for _ in lines[1:])]
    more = len(of_device) - len(shown)
    left_out = f"{wording.plural(more, 'more device')} in the JSON report." if more else ""
    return TextTable(
        ("Device", *(("Host",) if has_hosts else ()), "What it was doing"),
        tuple(rows),
        left_out=left_out,
        anchors=tuple(anchors),
    )


def _busy(state: StateSummary) -> float:
    return (state.busy_pct or 0.0) * (state.seconds or state.samples)


def _moved(state: StateSummary) -> float:
    return (state.size_kb or 0.0) * (state.per_s or 0.0) * (state.seconds or state.samples)


def _shares(values: Mapping[tuple[str | None, str], float]) -> dict[tuple[str | None, str], float]:
    """Each value as a share of the largest."""
    most = max(values.values(), default=0.0) or 1.0
    return {key: value / most for key, value in values.items()}


def with_slowest(ranked: Sequence[T], most: int, latency_ms: Callable[[T], float]) -> list[T]:
    """The first of them, the last of these replaced by the slowest of all where it is not among them."""
    shown, rest = list(ranked[:most]), ranked[most:]
    slowest = max(rest, key=latency_ms, default=None)
    if slowest is not None and latency_ms(slowest) > max(map(latency_ms, shown)):
        shown[-1] = slowest
    return shown


def _latency_ms(states: Iterable[StateSummary]) -> float:
    """The longest latency of some states."""
    return max((state.latency_ms or 0.0 for state in states), default=0.0)


def waited(state: StateSummary) -> tuple[float, float]:
    """How long its requests waited in all, ms, by latency or by the number in flight; and requests."""
    # from 5 % busy on the number in flight is that of the time busy (State.is_busy_known)
    busy = state.busy_pct / 100 if state.busy_pct is not None and state.busy_pct >= 5 else 1.0
    in_flight_ms = 1000 * (state.in_flight or 0.0) * (state.seconds or 0.0) * busy
    return max(state.requests * (state.latency_ms or 0.0), in_flight_ms), state.requests


def _state_lines(states: Sequence[StateSummary], most: int) -> list[Spans]:
    if not states:
        return []
    if most == 1:
        longest = max(states, key=waited)
        return [wording.prose(state.text) for state in (longest, *_far_worse(states, longest))]
    # samples without I/O are those that the others leave
    states = [state for state in states if state.direction != "idle"] or states
    shown, rest = states[:most], states[most:]
    lines = [wording.prose(state.text) for state in shown]
    if rest:
        samples = sum(state.samples for state in rest)
        requests = sum(state.requests for state in rest)
        counted = f"{wording.plural(len(rest), 'more state')} in {wording.plural(samples, 'sample')}"
        lines.append((Span(f"{counted}: {wording.number(round(requests))} requests"),))
    return lines


def _far_worse(states: Sequence[StateSummary], shown: StateSummary) -> list[StateSummary]:
    """The slowest state, where it has more in flight than the one that is shown and takes far longer."""
    slowest = max(states, key=lambda state: state.latency_ms or 0.0)
    is_deeper = (slowest.in_flight or 0.0) > (shown.in_flight or 0.0)
    is_slower = (slowest.latency_ms or 0.0) >= FAR_SLOWER * (shown.latency_ms or 0.0)
    return [slowest] if is_deeper and is_slower else []


FAR_SLOWER = 1.5
"""Times the latency of the state that is shown from which the slowest is shown, too."""


def devices(report: Report) -> TextTable:
    """What each device did: median, p95 and max of the sample means of its main columns.

    Devices of findings come first. Devices whose rates are zero throughout are named below it.
    """
    named = {device for finding in report.findings for device in finding.devices}
    busy = [device for device in report.devices if not _is_idle(device)]
    busy.sort(key=lambda device: device.name not in named)
    shown = busy[:DEVICE_ROWS]
    columns = _columns_of(shown)
    has_hosts = len(report.hosts) > 1
    head = ("Device", *(("Host",) if has_hosts else ()), "Kind", "Below it", "Samples")
    rows = [_device_row(device, columns, has_hosts) for device in shown]
    left_out = []
    if len(busy) > len(shown):
        left_out.append(f"{wording.plural(len(busy) - len(shown), 'more device')} in the JSON report.")
    idle = [device.name for device in report.devices if _is_idle(device)]
    if idle:
        some = wording.plain(wording.names(idle, NAMES_IN_CELL))
        left_out.append(f"Rates of zero in all samples: {some}.")
    first = len(head) - 1
    table = TextTable(
        head=(*head, *map(wording.column_label, columns)),
        rows=tuple(rows),
        numeric=frozenset(range(first, first + 1 + len(columns))),
        left_out=" ".join(left_out),
    )
    return table.without_empty()


def host(report: Report) -> list[tuple[str, TextTable]]:
    """What each host did as a whole: one row for each of CPU, tasks, memory, swap and disks."""
    found = []
    for name, heading in HOST_TABLES.items():
        tables = [table for table in report.host_tables if table.name == name]
        columns = list(dict.fromkeys(column for table in tables for column in table.summary))
        has_hosts = len(report.hosts) > 1
        head = (*(("Host",) if has_hosts else ()), "Samples", *map(wording.column_label, columns), "Of")
        rows = []
        for table in tables:
            whose: tuple[Spans, ...] = (
                ((wording.name(table.host),) if table.host else (),) if has_hosts else ()
            )
            samples = wording.count(table.samples) + (" (an average)" if table.is_average else "")
            cells = [_triple(table.summary.get(column)) for column in columns]
            rows.append((*whose, (Span(samples),), *cells, wording.names(table.devices, NAMES_IN_CELL)))
        if rows:
            numeric = frozenset(range(has_hosts, len(head) - 1))
            found.append((heading, TextTable(head, tuple(rows), numeric).without_empty()))
    return found


def stacked(table: TextTable) -> TextTable:
    """The table of devices with the three numbers of a cell below each other, where width is dear."""

    def below(cell: Spans) -> Spans:
        return tuple(Span(span.text.replace(" / ", "\n"), span.is_code) for span in cell)

    rows = (tuple(below(c) if at in table.numeric else c for at, c in enumerate(row)) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _is_idle(device: DeviceSummary) -> bool:
    known = [
        device.summary[column].get("max", math.nan)
        for column in (*MAIN_COLUMNS, *_WHERE_USED)
        if column in device.summary
    ]
    return bool(known) and all(value == 0 for value in known)


def _columns_of(shown: Sequence[DeviceSummary]) -> list[str]:
    """The main columns that some device has; a total only where a device lacks its parts."""

    def is_wanted(column: str) -> bool:
        parts_of = _INSTEAD_OF.get(column, ())
        return any(
            column in device.summary and not (parts_of and set(parts_of) <= set(device.summary))
            for device in shown
        )

    used = [
        column
        for column in _WHERE_USED
        if any(device.summary.get(column, {}).get("max", 0) > 0 for device in shown)
    ]
    at = MAIN_COLUMNS.index("queue_depth")
    return [
        *(column for column in MAIN_COLUMNS[:at] if is_wanted(column)),
        *used,
        *(column for column in MAIN_COLUMNS[at:] if is_wanted(column)),
    ]


def _device_row(device: DeviceSummary, columns: Sequence[str], has_hosts: bool) -> tuple[Spans, ...]:
    label: tuple[Span, ...] = (wording.name(device.name),)
    # 253:89 says no more than dev253-89 does
    aliases = [alias for alias in device.aliases if not re.fullmatch(r"\d+:\d+", alias)]
    if aliases:
        label = (*label, Span(" ("), *wording.names(aliases, 2), Span(")"))
    host: tuple[Spans, ...] = ((wording.name(device.host),) if device.host else (),) if has_hosts else ()
    kind = " ".join(word for word in (device.kind, device.level) if word)
    cells = [_triple(device.summary.get(column)) for column in columns]
    samples = (Span(wording.count(device.samples)),)
    below = wording.names(device.members, 8)
    if device.provenance.get("members", "").startswith("inferred"):
        below = (*below, Span(" (inferred)"))
    return (label, *host, wording.prose(kind), below, samples, *cells)


def _triple(stats: Mapping[str, float] | None) -> Spans:
    if not stats:
        return (Span(wording.UNKNOWN),)
    shown = [wording.number(stats.get(stat)) for stat in ("median", "p95", "max")]
    return (Span(" / ".join(shown if len(set(shown)) > 1 else shown[:1])),)


def sources(report: Report) -> TextTable:
    """What was read: a row per capture and per block of context."""
    rows = []
    for summary in report.sources[:SOURCES_SHOWN]:
        section = summary.section
        place = f"{section.place_sign}{section.first_line}" if section.first_line > 1 else ""
        # context holds no samples: a zero in its row would read as a failure
        reports = wording.count(section.reports) if section.reports or not section.is_context else ""
        when = wording.time_span(section.start, section.end, report.timezone)
        undated = "" if section.is_context else "no date with a time"
        shown = section.clocks or section.day or undated
        rows.append(
            (
                (wording.name(section.source + place),),
                wording.prose(section.format + (" (context)" if section.is_context else "")),
                (Span(wording.visible(" ".join(section.layout.split()), wording.NAME_LIMIT), is_code=True),)
                if section.layout.strip()
                else (),
                (wording.name(section.host),) if section.host else (),
                wording.prose(section.kernel or ""),
                (Span(wording.count(section.cpus)),) if section.cpus else (),
                (Span(when or shown),),
                (Span(reports),) if reports else (),
                (Span(wording.count(section.rows)),),
            )
        )
    head = ("Input", "Format", "Layout", "Host", "Kernel", "CPUs", "Time", "Reports", "Rows")
    more = len(report.sources) - len(rows)
    left_out = f"{wording.plural(more, 'more section')} in the JSON report." if more > 0 else ""
    return TextTable(head, tuple(rows), frozenset({5, 7, 8}), left_out).without_empty()


def ledgers(report: Report) -> list[tuple[Span, str]]:
    """Of each input, what became of its lines. Sections of one input share its ledger."""
    found: dict[str, str] = {}
    for summary in report.sources:
        counts = {kind: n for kind, n in summary.ledger.items() if n}
        if counts and summary.section.source not in found:
            listed = ", ".join(
                f"{wording.count(n)} {wording.visible(kind, 40)}" for kind, n in counts.items()
            )
            found[summary.section.source] = f"{wording.plural(sum(counts.values()), 'line')}: {listed}"
    return [(wording.name(source), words) for source, words in list(found.items())[:SOURCES_SHOWN]]


def unread(report: Report) -> list[Item]:
    """The lines that were not understood, by input and reason; at most LINES_SHOWN of each."""
    return _by_reason(report.sources, lambda summary: summary.unparsed)


def notes(report: Report) -> list[Item]:
    """What else the readers noted about their inputs."""
    return _by_reason(report.sources, lambda summary: summary.notes)


def _by_reason(
    summaries: Iterable[SourceSummary], lines_of: Callable[[SourceSummary], Iterable[UnparsedLine]]
) -> list[Item]:
    groups: dict[tuple[str, str], dict[tuple[int, str], None]] = {}
    signs = {}
    for summary in summaries:
        signs[summary.section.source] = summary.section.place_sign
        for line in lines_of(summary):
            groups.setdefault((summary.section.source, line.reason), {})[line.line, line.text] = None
    return [_remark(source, signs[source], reason, list(lines)) for (source, reason), lines in groups.items()]


def _remark(source: str, sign: str, reason: str, lines: Sequence[tuple[int, str]]) -> Item:
    quoted = [f"{at}: {wording.verbatim(text)}" for at, text in lines if text]
    ranges, more = wording.line_ranges(at for at, _ in lines if at)
    where = wording.name(source).text + (f"{sign}{ranges}" if ranges and not quoted else "")
    extent = wording.plural(len(lines), "line" if sign == ":" else "place") if len(lines) > 1 else ""
    if len(quoted) > LINES_SHOWN:
        extent += f", the first {LINES_SHOWN} shown"
    elif more and not quoted:
        extent += f", {wording.count(more)} of them not listed"
    about = f" ({extent})" if extent else ""
    words = (Span(where, is_code=True), Span(": "), *wording.prose(reason or "not understood"), Span(about))
    return Item(tuple(span for span in words if span.text), tuple(quoted[:LINES_SHOWN]))
