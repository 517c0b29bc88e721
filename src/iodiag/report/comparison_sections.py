"""A comparison as spans and tables: what moved, at what load, and what became of each finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from iodiag.model.comparison import Change, Comparison, FindingChange, MatchedLoad, Subject
from iodiag.model.report import Report
from iodiag.report import excerpts, finding_sections, wording
from iodiag.report.document import Block, Bullets, Charts, Facts, Item, Paragraph, Section, TextTable
from iodiag.report.wording import Span, Spans

SUBJECTS_SHOWN = 6
LOADS_SHOWN = 8
OTHERS_SHOWN = 60

_LABELS = {
    "flushes_per_s": "flushes/s",
    "discards_per_s": "discards/s",
    "discard_kb_per_s": "discarded kB/s",
    "read_request_size_kb": "size of a read, kB",
    "write_request_size_kb": "size of a write, kB",
    "request_size_kb": "size of a request, kB",
    "read_merges_pct": "reads merged, %",
    "write_merges_pct": "writes merged, %",
    "discard_await_ms": "discard await ms",
    "flush_await_ms": "flush await ms",
    "queue_depth": "requests in flight",
    "member_kb_per_kb": "member kB per kB asked for",
    "user_pct": "user CPU %",
    "nice_pct": "nice CPU %",
    "system_pct": "system CPU %",
    "iowait_pct": "iowait CPU %",
    "steal_pct": "steal CPU %",
    "idle_pct": "idle CPU %",
    "available_pct": "available CPU % (idle and iowait)",
    "pgpgin_kb_per_s": "read by the host, kB/s",
    "pgpgout_kb_per_s": "written by the host, kB/s",
    "run_queue": "runnable tasks",
    "blocked": "tasks blocked on I/O",
    "transactions_per_s": "transactions/s",
    "iops": "requests/s",
    "latency_ms": "latency ms",
    "response_ms": "response time ms",
}
_PARTS = {
    "ios_per_s": ("reads_per_s", "writes_per_s"),
    "kb_per_s": ("read_kb_per_s", "write_kb_per_s"),
    "request_size_kb": ("read_request_size_kb", "write_request_size_kb"),
    "await_ms": ("read_await_ms", "write_await_ms"),
}
"""Totals that say nothing beside their parts."""

_SHIFTS = {
    "faster": "faster",
    "slower": "slower",
    "capacity_loss": "lost capacity",
    "more_load": "more load",
    "less_load": "less load",
    "workload": "another kind of requests",
    "unchanged": "no change",
    "mixed": "no clear pattern",
    "unknown": "inconclusive",
}
_FATES = {"went": "gone", "came": "new", "stayed": "still there"}


def sections(report: Report, comparison: Comparison, is_full: bool) -> list[Section]:
    """What moved, what became of the findings, and, folded, how the sides were compared.

    Where it is not full the numbers are those that moved, without what they rest on.
    """
    return [
        _moved(report, comparison, is_full),
        _fates_section(report, comparison, is_full),
        *_method_section(comparison),
    ]


def _moved(report: Report, comparison: Comparison, is_full: bool) -> Section:
    blocks: list[Block] = []
    if comparison.settings:
        places = finding_sections.addresses(comparison.before, report)
        differ = (finding_sections.evidence_item(e, places) for e in comparison.settings)
        blocks.append(Section((Span("Settings that differ"),), (Bullets(tuple(differ)),)))
    moved = [
        _section(at, subject, report, comparison, is_full)
        for at, subject in enumerate(shown_subjects(comparison), 1)
    ]
    blocks += moved or [Paragraph((Span("Nothing could be compared."),))]
    rest = others(comparison)
    if rest.rows:
        blocks.append(Section((Span("Other devices"),), (rest,)))
    if comparison.uncompared:
        texts = (wording.prose(text[:1].upper() + text[1:]) for text in comparison.uncompared)
        blocks.append(Section((Span("Not compared"),), (Bullets(tuple(map(Item, texts))),)))
    return Section((Span("What moved"),), tuple(blocks), "moved", "brief")


def _fates_section(report: Report, comparison: Comparison, is_full: bool) -> Section:
    table = fates(report, comparison)
    said: Block = table if table.rows else Paragraph((Span("No rule found anything on either side."),))
    heading = (Span("Findings before and after"),)
    return Section(heading, (said, *(gone(comparison) if is_full else ())), "fates", "brief")


def _method_section(comparison: Comparison) -> list[Section]:
    items = tuple(map(Item, method(comparison)))
    heading = (Span("How this was compared"),)
    pointer = "what the intervals cover, and when a change counts"
    return [Section(heading, (Bullets(items),), "method", "folded", pointer)] if items else []


def shown_subjects(comparison: Comparison) -> list[Subject]:
    """The subjects that have something to say, in their order; the other devices are in `others`."""
    devices = [s for s in comparison.subjects if s.kind == "device" and not s.is_part and _has_verdict(s)]
    kept = devices[:SUBJECTS_SHOWN] or [s for s in comparison.subjects if s.kind == "device"][:1]
    return [s for s in comparison.subjects if s.kind != "device" or any(s is one for one in kept)]


def _has_verdict(subject: Subject) -> bool:
    return any(change.verdict not in ("unclear", "negligible") for change in subject.changes)


def _section(at: int, subject: Subject, report: Report, comparison: Comparison, is_full: bool) -> Section:
    facts = [("Compared as", wording.prose(subject.basis))]
    if subject.kind == "device":
        facts.append(("In short", (Span(_SHIFTS[subject.shift]),)))
    places = finding_sections.addresses(comparison.before, report)
    points = tuple(finding_sections.evidence_item(item, places) for item in subject.evidence)
    matched = loads(subject.matched)
    about: list[Block] = [Paragraph(wording.prose(subject.reading.text))] if subject.reading else []
    about.append(Facts(tuple(facts)))
    if subject.remarks:
        about.append(Bullets(tuple(Item(wording.prose(text)) for text in subject.remarks)))
    if at > 1:  # the first stands on the first screen
        about.append(Charts(("moved", at)))
    table = changes(subject)
    if not is_full:
        return Section(_heading(subject, comparison), (*about, table), f"moved-{at}")
    inside: list[Block] = [table]
    if matched.rows:
        inside.append(Section((Span("Latency at matched load, before → after"),), (matched,)))
    quoted = excerpts.excerpts(subject.evidence, set())
    inside += [
        Charts(("more", at)),
        Section((Span("What this rests on"),), (Bullets(points), *quoted)),
    ]
    counted = wording.plural(len(table.rows), "quantity", "quantities")
    about.append(Section((Span("All numbers, charts and evidence"),), tuple(inside), "", "folded", counted))
    return Section(_heading(subject, comparison), tuple(about), f"moved-{at}")


def _heading(subject: Subject, comparison: Comparison) -> Spans:
    host: Spans = ()
    if len({s.host_after for s in comparison.subjects}) > 1 and subject.host_after:
        host = (Span(" on "), wording.name(subject.host_after))
    if subject.kind in ("cpu", "host"):
        return (Span("Processors" if subject.kind == "cpu" else "Tasks and paging"), *host)
    kind = "Device " if subject.kind == "device" else "Application: "
    if subject.before == subject.after:
        return (Span(kind), wording.name(subject.after), *host)
    return (Span(kind), wording.name(subject.before), Span(", now "), wording.name(subject.after), *host)


def label(quantity: str) -> str:
    """A quantity in words, with its unit."""
    return _LABELS.get(quantity) or wording.column_label(quantity)


def drawn(subject: Subject) -> list[Change]:
    """The changes worth a row: no totals beside their parts, and nothing negligible."""
    stated = {change.quantity for change in subject.changes if change.verdict != "negligible"}
    return [
        change
        for change in subject.changes
        if change.quantity in stated and not stated.intersection(_PARTS.get(change.quantity, ()))
    ]


def changes(subject: Subject) -> TextTable:
    """Before, after, by how much, and how sure, a row per quantity; matched load last."""
    rows = [_row(label(change.quantity), change) for change in drawn(subject)]
    rows += [_row(f"{label(change.quantity)}, at matched load", change) for change in subject.at_matched_load]
    slight = [label(c.quantity) for c in subject.changes if c.verdict == "negligible"]
    left_out = f"Next to nothing on both sides: {', '.join(slight)}." if slight else ""
    head = ("Quantity", "Before", "After", "Change", "95 % interval", "Verdict", "Confidence")
    return TextTable(head, tuple(rows), frozenset({1, 2, 3, 4}), left_out)


def _row(name: str, change: Change) -> tuple[Spans, ...]:
    cells = (
        name,
        wording.number(change.before),
        wording.number(change.after),
        ratio_text(change.ratio),
        interval(change),
        verdict(change),
        change.confidence,
    )
    return tuple((Span(cell),) if cell else () for cell in cells)


def ratio_text(ratio: float) -> str:
    """A ratio as people say it: ×24.9 from twice on, else +95 % or −50 %."""
    if math.isnan(ratio):
        return wording.UNKNOWN
    if ratio >= 2:
        return times(ratio)
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "±0 %"
    sign = "+" if percent > 0 else "−"
    return f"{sign}{wording.number(round(abs(percent), 1))} %"


def times(ratio: float) -> str:
    """A ratio with three digits: ×24.9."""
    return f"×{wording.number(float(f'{ratio:.3g}'))}"


def interval(change: Change) -> str:
    """The interval in the terms of the change itself."""
    if math.isnan(change.low):
        return wording.UNKNOWN
    if change.ratio >= 2:
        return f"{times(change.low)} to {times(change.high)}"
    return f"{ratio_text(change.low)} to {ratio_text(change.high)}"


def verdict(change: Change) -> str:
    """What is said of a change, in words."""
    if change.verdict == "bunched":
        over = " and ".join(map(wording.number, change.overall or ()))
        return "the same in other portions" + (f": {over} over the whole time" if over else "")
    if change.verdict == "unchanged":
        if change.detectable_pct > 100:
            least = times(1 + change.detectable_pct / 100)
            return f"inconclusive: only a change of {least} or more would be visible"
        return f"no detectable change; {wording.number(math.ceil(change.detectable_pct))} % would show"
    before, after = (wording.count(number) for number in change.samples)
    few = "one sample each" if change.samples == (1, 1) else f"{before} and {after} samples"
    words = {
        "changed": "changed",
        "minor": "too small to count",
        "indicated": f"differs, without an interval ({few})",
        "unclear": f"inconclusive ({few})",
        "negligible": "next to nothing",
        "appeared": "none before",
        "ceased": "none after",
    }
    text = words.get(change.verdict, change.verdict)
    if change.overall is not None:
        text += f"; {' and '.join(map(wording.number, change.overall))} with idle samples"
    return text


def loads(matched: Iterable[MatchedLoad]) -> TextTable:
    """Latency and rate where both sides show like requests at a like depth."""
    every = list(matched)
    rows = [
        (
            (Span(load.direction),),
            (Span(_both(load.size_kb)),),
            (Span(_both(load.queue_depth)),),
            (Span(_both((load.latency.before, load.latency.after))),),
            (Span(ratio_text(load.latency.ratio)),),
            (Span(interval(load.latency)),),
            (Span(_both((load.rate.before, load.rate.after))),),
            (Span(ratio_text(load.rate.ratio)),),
        )
        for load in every[:LOADS_SHOWN]
    ]
    more = len(every) - len(rows)
    left_out = f"{wording.plural(more, 'more load')} in the JSON report." if more > 0 else ""
    head = ("Requests", "Size kB", "In flight", "Latency ms", "Change", "95 % interval", "Rate/s", "Change")
    return TextTable(head, tuple(rows), frozenset(range(1, 8)), left_out)


def _both(values: tuple[float, float]) -> str:
    shown = [wording.number(value) for value in values]
    return shown[0] if shown[0] == shown[1] else " → ".join(shown)


def others(comparison: Comparison) -> TextTable:
    """The devices without a section of their own: members of arrays, and those with little work."""
    found = shown_subjects(comparison)
    rest = [s for s in comparison.subjects if s.kind == "device" and not any(s is one for one in found)]
    columns = ("ios_per_s", "kb_per_s", "request_size_kb", "queue_depth")
    rows = []
    for subject in rest[:OTHERS_SHOWN]:
        name: Spans = (wording.name(subject.before),)
        if subject.after != subject.before:
            name = (*name, Span(", now "), wording.name(subject.after))
        cells = [_brief(subject.change(column)) for column in columns]
        rows.append((name, *cells, _waits(subject), (Span(_SHIFTS[subject.shift]),)))
    more = len(rest) - len(rows)
    left_out = f"{wording.plural(more, 'more device')} in the JSON report." if more > 0 else ""
    head = ("Device", "Requests/s", "kB/s", "Size kB", "In flight", "Latency ms", "In short")
    return TextTable(head, tuple(rows), frozenset(range(1, 6)), left_out)


def _brief(change: Change | None) -> Spans:
    return (Span(_both((change.before, change.after))),) if change else (Span(wording.UNKNOWN),)


def _waits(subject: Subject) -> Spans:
    found = [
        f"{direction} {_both((change.before, change.after))}".strip()
        for direction in ("read", "write")
        if (change := subject.change(f"{direction}_await_ms"))
    ]
    return (Span("; ".join(found)),) if found else _brief(subject.change("await_ms"))


def fates(report: Report, comparison: Comparison) -> TextTable:
    """What became of each finding: gone, new, still there; one row for all devices that share it."""
    groups: dict[FindingChange, list[str]] = {}
    for one in comparison.findings:
        groups.setdefault(replace(one, devices=()), []).extend(one.devices)
    has_hosts = len(report.hosts) > 1
    rows = []
    for one, devices in groups.items():
        host = ((wording.name(one.host),) if one.host else (),) if has_hosts else ()
        rows.append(
            (
                (Span(_fate(one)),),
                wording.prose(one.title),
                (wording.rule(one.rule),),
                *host,
                wording.names(dict.fromkeys(devices), 6) or (Span("whole host"),),
                (Span(_graded(one.severity_before, one.confidence_before)),),
                (Span(_graded(one.severity_after, one.confidence_after)),),
                wording.prose(one.reason),
            )
        )
    hosts = ("Host",) if has_hosts else ()
    head = ("Fate", "Finding", "Rule", *hosts, "Devices", "Before", "After", "What the rule said without it")
    return TextTable(head, tuple(rows))


def _fate(one: FindingChange) -> str:
    if one.is_judged:
        return _FATES[one.fate]
    return "not judged after" if one.fate == "went" else "not judged before"


def _graded(severity: str | None, confidence: str | None) -> str:
    return f"{severity}, {confidence}" if severity else wording.UNKNOWN


def gone(comparison: Comparison) -> list[Section]:
    """The findings of before that are no longer there, with their evidence; advice is left out."""
    wanted = {(one.rule, one.devices) for one in comparison.findings if one.fate == "went"}
    return [
        finding_sections.gone_section(comparison.before, number, finding)
        for number, finding in finding_sections.in_detail(comparison.before)
        if (finding.rule, finding.devices) in wanted and finding.severity != "info"
    ]


def method(comparison: Comparison) -> Iterator[Spans]:
    """How the sides were compared, with the numbers that decided."""
    if not comparison.limits:
        return
    names = ("interval_pct", "draws", "least_samples", "least_change_pct", "least_points", "least_requests")
    limits = {name: wording.number(comparison.limits.get(name)) for name in names}
    for text in (
        "Idle samples and averages since boot are left out: the values are means over the samples with load, "
        "rates weighted by time, latencies by requests.",
        "The intervals cover {interval_pct} % and come from {draws} draws of blocks of neighbouring samples "
        "(moving-block bootstrap); a side with fewer than {least_samples} samples has none.",
        "A change counts when its interval leaves out “no change” and it is at least {least_change_pct} % "
        "(of shares of time also {least_points} points). “Would show” is the smallest change that such "
        "samples would reveal in four cases of five.",
        "Matched load means: like requests (by size, in powers of two), at a like depth (in half powers), "
        "at least {least_requests} requests on each side.",
        "The intervals know the scatter within these captures, not how one day differs from another: "
        "a second capture of each side would tell.",
    ):
        yield wording.prose(text.format_map(limits))
