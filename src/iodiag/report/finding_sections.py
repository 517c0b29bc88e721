"""The findings of a report as sections, the most harmful first, and the evidence behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from iodiag.model import columns as registry
from iodiag.model.capture import EVENTS
from iodiag.model.finding import SEVERITIES, Evidence, Finding, by_harm
from iodiag.model.report import Report
from iodiag.report import excerpts, wording
from iodiag.report.document import (
    Block,
    Bullets,
    Charts,
    Commands,
    Facts,
    Item,
    Paragraph,
    Section,
    TextTable,
    Visibility,
    said,
)
from iodiag.report.wording import Span, Spans

FULL_FINDINGS = 100
BRIEF_FINDINGS, BRIEF_EVIDENCE, FEWEST_LISTED = 6, 4, 7
DEVICES_IN_LINE, RANGES_SHOWN = 6, 3
_WEIGHTS = (("", "for"), ("Against it", "against"), ("Context", "context"))

Seen = set[tuple[str, int]]
"""The lines that were quoted already, by input and line."""


def lead(report: Report) -> Finding | None:
    """The finding that the verdict is about; without a verdict the most harmful one that is no mere note."""
    ordered = by_severity(report.findings)
    if report.verdict is None:
        return next((finding for finding in ordered if finding.severity != "info"), None)
    return report.verdict.finding(ordered)


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The most severe first; of one severity the most harmful."""
    return sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), by_harm(f)))


def ordered(report: Report) -> list[Finding]:
    """The finding of the verdict, then the others by severity: the number of each is its place here."""
    found = by_severity(report.findings)
    first = lead(report)
    place = next((at for at, finding in enumerate(found) if finding is first), 0)
    return [*found[place : place + 1], *found[:place], *found[place + 1 :]]


def in_detail(report: Report) -> list[tuple[int, Finding]]:
    """The findings that are shown in full, with their numbers from 1."""
    return list(enumerate(ordered(report)[:FULL_FINDINGS], 1))


def beside(report: Report) -> list[tuple[int, Finding]]:
    """The findings but the verdict's and mere notes on reading the numbers, with their numbers."""
    start = 1 if lead(report) else 0
    numbered = list(enumerate(ordered(report), 1))[start:]
    return [(number, finding) for number, finding in numbered if finding.severity != "info"]


def follows(report: Report) -> list[Finding]:
    """The findings that the verdict's explains, and no other of its rule; none that is graver than it."""
    first = lead(report)
    if first is None or report.comparison is not None:
        return []
    of_rule = [f for f in report.findings if (f.rule, f.host) == (first.rule, first.host)]
    is_alone = sum(finding.severity != "info" for finding in of_rule) < 2
    most = SEVERITIES.index(first.severity)
    return [
        finding
        for _, finding in beside(report)
        if (finding.explained_by, finding.host) == (first.rule, first.host)
        and (is_alone or bool(set(finding.devices) & set(first.devices)))
        and SEVERITIES.index(finding.severity) <= most
    ]


def by_title(findings: Iterable[Finding]) -> Spans:
    """Findings as a list of their titles, each once, with the devices of all that are called so."""
    alike: dict[str, list[str]] = {}
    for finding in findings:
        alike.setdefault(finding.title, []).extend(finding.devices)
    told: list[Span] = []
    for title, devices in alike.items():
        names = wording.names(dict.fromkeys(devices), 3)
        told += [Span("; " * bool(told)), *wording.prose(title)]
        told += [Span(" ("), *names, Span(")")] if names else []
    return tuple(told)


def sections(report: Report, is_full: bool) -> tuple[list[Section], list[Section], list[Section]]:
    """The findings; the evidence of the verdict's; and what is only a note on reading, folded.

    Where it is not full, the findings beside the verdict's are a line each, and the evidence is its core.
    """
    seen: Seen = set()
    first = lead(report)
    anchors = _anchors(report)
    # the lines of the verdict's finding are quoted with it, whatever section stands before
    evidence = evidence_blocks(report, first, seen, is_full) if first and not report.comparison else ()
    details: list[Section] = []
    notes: list[Section] = []
    for number, finding in in_detail(report):
        is_lead = number == 1 and first is not None and report.comparison is None
        into = notes if finding.severity == "info" and not is_lead else details
        into.append(_detail(report, number, finding, anchors[number - 1], seen, is_lead))
    heading = (Span("Findings after" if report.comparison else "Findings"),)
    listed: tuple[Block, ...] = (*_summary(report, anchors), *details) or (_nothing(report),)
    blocks = (*_left_out(report), *listed)
    shown = [Section(heading, blocks, "findings")] if is_full else [*_brief(report), *_next_steps(report)]
    return (
        shown,
        _evidence_section(first, evidence),
        [_notes(notes)] if notes else [],
    )


def _left_out(report: Report) -> Iterator[Paragraph]:
    if len(report.findings) > FULL_FINDINGS:
        words = f"The first {FULL_FINDINGS} findings are shown in full; the JSON report has all of them."
        yield Paragraph((Span(words),), is_aside=True)


def _evidence_section(finding: Finding | None, blocks: tuple[Block, ...]) -> list[Section]:
    if finding is None or not blocks:
        return []
    counted = wording.plural(len(finding.evidence), "sentence")
    return [Section((Span("Evidence"),), blocks, "evidence", pointer=counted)]


def _nothing(report: Report) -> Paragraph:
    state = report.verdict.state if report.verdict is not None else ""
    if state == "open":
        return Paragraph((Span("No rule finds the cause of what the report begins with."),))
    said = "Nothing beyond notes on reading the numbers." if report.findings else "No rule found anything."
    is_partial = any(outcome.status not in ("finding", "clear") for outcome in report.outcomes)
    rest = " That is no proof of health: see what could not be judged."
    return Paragraph((Span(said + (rest if is_partial and state != "healthy" else "")),))


def _notes(notes: list[Section]) -> Section:
    counted = wording.plural(len(notes), "finding")
    return Section((Span("Notes on reading the numbers"),), tuple(notes), "notes", "folded", counted)


def _summary(report: Report, anchors: list[str]) -> Iterator[TextTable]:
    """One row per finding that is more than a note, where these are too many to be seen at a glance."""
    first = lead(report)
    shown = [*([(1, first)] if first else []), *beside(report)]
    has_hosts = len(report.hosts) > 1
    if len(shown) < (2 if has_hosts else FEWEST_LISTED):
        return
    rows = []
    for number, finding in shown:
        host = ((wording.name(finding.host),) if finding.host else (),) if has_hosts else ()
        title = wording.prose(finding.title)
        if number <= len(anchors):
            title = tuple(Span(span.text, span.is_code, f"#{anchors[number - 1]}") for span in title)
        rows.append(
            (
                (Span(str(number)),),
                (Span(finding.severity),),
                (Span(finding.confidence),),
                title,
                *host,
                wording.names(finding.devices, DEVICES_IN_LINE) or (Span("whole host"),),
            )
        )
    hosts = ("Host",) if has_hosts else ()
    head = ("#", "Severity", "Confidence", "Finding", *hosts, "Devices")
    yield TextTable(head, tuple(rows), frozenset({0}))


def _brief(report: Report) -> Iterator[Section]:
    """The findings beside that of the verdict and what follows from it, a line each."""
    told = [id(finding) for finding in follows(report)]
    rest = [finding for _, finding in beside(report) if id(finding) not in told]
    if not rest:
        return
    alike: dict[object, list[Finding]] = {}
    for finding in rest:
        # what is said of whole hosts in the same words is one line
        key = id(finding) if finding.devices else (finding.severity, finding.title)
        alike.setdefault(key, []).append(finding)
    shown = [*alike.values()][:BRIEF_FINDINGS]
    items = [_line(report, group, len(report.hosts) > 1) for group in shown]
    more = len(rest) - sum(map(len, shown))
    if more:
        items.append(Item((Span(f"{wording.plural(more, 'more finding')} in the full report"),)))
    side = "Findings after" if report.comparison else "Other findings"
    yield Section((Span(side),), (Bullets(tuple(items)),), place="brief")


def _line(report: Report, alike: list[Finding], has_hosts: bool) -> Item:
    """A finding, or those of hosts that are called the same."""
    finding = alike[0]
    first = lead(report)
    is_then = first is not None and (finding.start, finding.end) == (first.start, first.end)
    when = (
        "" if is_then else wording.time_span(finding.start, finding.end, report.timezone).partition(" (")[0]
    )
    devices = wording.names(finding.devices, 3)
    hosts = list(dict.fromkeys(one.host for one in alike if one.host))
    if len(alike) > max(len(hosts), 1):
        devices = (Span(wording.plural(len(alike), "finding")),)
    if has_hosts and hosts:
        devices += (*((Span(" of "),) if devices else ()), *wording.names(hosts, DEVICES_IN_LINE))
    return Item(
        (
            Span(f"{finding.severity.capitalize()}{', possibly' * (finding.confidence == 'low')}: "),
            *wording.prose(finding.title),
            *((Span(" ("), *devices, Span(")")) if devices else ()),
            *((Span(f", {when}"),) if when and len(alike) == 1 else ()),
        )
    )


def _next_steps(report: Report) -> Iterator[Section]:
    """What to do after the first step, and what would prove the finding of the verdict wrong."""
    finding = lead(report)
    if finding is None:
        return
    blocks: list[Block] = []
    is_guess = finding.confidence == "low" and bool(finding.confirm)
    steps = finding.remedy if is_guess else finding.remedy[1:]
    if steps:
        if is_guess:
            blocks.append(Paragraph((Span("If it is confirmed:"),)))
        blocks.append(Bullets(tuple(map(said, steps))))
    if finding.refutes:
        wrong = "; ".join(text.strip() for text in finding.refutes)
        heading = (Span("What would refute it: "),) if steps else ()
        blocks.append(Paragraph((*heading, *wording.prose(wrong))))
    if blocks:
        counted = wording.plural(len(blocks), "remark")
        title = "What else to do" if steps else "What would refute it"
        yield Section((Span(title),), tuple(blocks), pointer=counted)


def _detail(report: Report, number: int, finding: Finding, anchor: str, seen: Seen, is_lead: bool) -> Section:
    """One finding; of the verdict's, the sentence and the evidence stand elsewhere."""
    summary = Paragraph(wording.prose(finding.summary))
    # behind a colon its first letter is a small one
    has_summary = finding.summary.strip() and not (is_lead and finding.summary.strip()[1:] in report.headline)
    facts = Facts(tuple(_facts(finding, report, is_lead)))
    charts = Charts(("finding", number))
    rest: tuple[Block, ...]
    if is_lead:
        more = Section((Span("More charts"),), (charts,), place="folded")
        rest = (facts, *_moved(finding), *_advice(finding), *_limits(finding, "folded"), more)
    else:
        inside = (
            facts,
            charts,
            *evidence_blocks(report, finding, seen),
            *_moved(finding),
            *_advice(finding),
            *_limits(finding, "page"),
        )
        rest = (Section((Span("Evidence, charts and advice"),), inside, place="folded"),)
    return Section(
        wording.prose(finding.title),
        (summary, *rest) if has_summary else rest,
        anchor,
        tone=finding.severity,
        label=finding.severity,
        number=number,
    )


def gone_section(report: Report, number: int, finding: Finding) -> Section:
    """A finding that is no longer there, with its evidence and without advice."""
    inside = (Facts(tuple(_facts(finding, report))), *evidence_blocks(report, finding, set()))
    blocks = (
        Paragraph(wording.prose(finding.summary)),
        Section((Span("Evidence"),), inside, place="folded"),
    )
    return Section(
        wording.prose(finding.title), blocks, f"gone-{number}", tone=finding.severity, label="gone"
    )


def _moved(finding: Finding) -> Iterator[Section]:
    """What else stepped in the samples of a finding, a row each."""
    if not finding.moved:
        return
    rows = []
    for move in finding.moved:
        column = registry.find(move.table, move.quantity)
        what = f"{column.meaning} ({column.unit})" if column else wording.column_label(move.quantity)
        is_event = move.table == EVENTS
        what += " (events)" if is_event else ""
        where = (
            Span("kernel's log" if is_event else move.table.replace("_", " ")),
            *((Span(" "), wording.name(move.name)) if move.name else ()),
        )
        levels = ((Span(wording.number(level)),) for level in (move.beside, move.during))
        rows.append((where, (Span(what),), *levels))
    head = ("Where", "What", "Right before and after", "In these samples")
    yield Section(
        (Span("What else moved then"),), (TextTable(head, tuple(rows), frozenset({2, 3}), _NO_CAUSE),)
    )


_NO_CAUSE = (
    "Medians; elsewhere in the capture no step of these columns is more than a third as large. Of the "
    "kernel's log, events of a kind that began then. What moves together need not be cause and effect."
)


def _advice(finding: Finding) -> Iterator[Section]:
    """What to do, and how to confirm that it is the cause."""
    if finding.remedy:
        yield Section((Span("What to do"),), (Bullets(tuple(map(said, finding.remedy)), is_numbered=True),))
    if finding.confirm:
        yield Section((Span("Commands to confirm it"),), tuple(to_run(map(command, finding.confirm))))


def to_run(commands: Iterable[str]) -> Iterator[Block]:
    """Commands to paste, with a word of care below those that make load."""
    commands = tuple(commands)
    yield Commands(commands)
    for tool in ("fio", "dd"):
        if any(text.startswith(f"{tool} ") for text in commands):
            yield Paragraph((Span(f"{tool} makes load of its own: run it when that harms nobody."),))


def _limits(finding: Finding, place: Visibility) -> Iterator[Section]:
    """What speaks against the finding or lies beyond it, and where to read more."""
    for heading, texts in (
        ("What would refute it", finding.refutes),
        ("What the counters cannot tell", finding.cannot_know),
    ):
        if texts:
            yield Section((Span(heading),), (Bullets(tuple(map(said, texts))),), place=place)
    if finding.references:
        yield Section(
            (Span("References"),), (Bullets(tuple(map(_reference, finding.references))),), place=place
        )


def _reference(text: str) -> Item:
    """A link only where the whole text is a plain web address."""
    shown = wording.visible(text.strip())
    return Item((Span(shown, href=shown if wording.is_link(shown) else ""),))


def command(text: str) -> str:
    """A command keeps its line ends, and nothing else that cannot be seen."""
    return "\n".join(map(wording.visible, text.strip("\n").split("\n")))


def evidence_blocks(report: Report, finding: Finding, seen: Seen, is_full: bool = True) -> tuple[Block, ...]:
    """The sentences by what they weigh, and the lines they rest on that are not quoted yet.

    Where it is not full there is no context, and of many sentences and lines the first.
    """
    places = addresses(report)
    blocks: list[Block] = []
    cited: list[Evidence] = []
    for heading, weighs in _WEIGHTS if is_full else _WEIGHTS[:2]:
        shown = [e for e in finding.evidence if e.weighs == weighs][: None if is_full else BRIEF_EVIDENCE]
        cited += shown
        items = tuple(evidence_item(e, places) for e in shown)
        if items:
            listed = Bullets(items)
            blocks.append(Section((Span(heading),), (listed,)) if heading else listed)
    quoted = excerpts.excerpts(cited, seen, None if is_full else BRIEF_EVIDENCE)
    return (*blocks, *quoted)


def addresses(*reports: Report) -> dict[str, str]:
    """What stands before the number of a line of each input: as much of the end of its name as no other has.

    Lines of a binary file are places in bytes.
    """
    sections = (summary.section for report in reports for summary in report.sources)
    signs = {section.source: section.place_sign for section in sections}
    parts = {source: source.split("/") for source in signs}
    ends = Counter(tuple(of[-n:]) for of in parts.values() for n in range(1, len(of) + 1))
    found = {}
    for source, of in parts.items():
        length = next((n for n in range(1, len(of)) if of[-n] and ends[(*of[-n:],)] == 1), len(of))
        end = wording.visible("/".join(of[-length:]), wording.NAME_LIMIT)
        found[source] = end + signs[source]
    return found


def evidence_item(evidence: Evidence, places: Mapping[str, str]) -> Item:
    """One piece of evidence: the sentence, its address as `addresses` has it, and its numbers."""
    words = wording.prose(evidence.text)
    address = _address(evidence, places)
    values = (
        (wording.visible(key, wording.NAME_LIMIT), wording.setting(value))
        for key, value in evidence.values.items()
    )
    return Item((*words, *((Span(" ("), *address, Span(")")) if address else ())), (), tuple(values))


def _address(evidence: Evidence, places: Mapping[str, str]) -> Spans:
    if not evidence.source:
        return ()
    where = places.get(evidence.source) or f"{wording.visible(evidence.source, wording.NAME_LIMIT)}:"
    ranges, more = wording.line_ranges(evidence.lines, RANGES_SHOWN)
    more = max(more, evidence.rows - len(set(evidence.lines)) + more if evidence.lines else 0)
    code = Span(where + ranges if ranges else where[:-1], is_code=True)
    return (code, Span(f" and {wording.plural(more, 'more line')}")) if more else (code,)


def _facts(finding: Finding, report: Report, is_lead: bool = False) -> Iterable[tuple[str, Spans]]:
    """What is known beside the sentence; how sure the verdict is, and of when, stands on the first screen."""
    severity, confidence = finding.severity, finding.confidence
    yield "Severity", (Span(f"{severity} ({wording.SEVERITY_MEANING[severity]})"),)
    if not is_lead:
        yield "Confidence", (Span(f"{confidence} ({wording.CONFIDENCE_MEANING[confidence]})"),)
    if finding.host and len(report.hosts) > 1:
        yield "Host", (wording.name(finding.host),)
    host = finding.host if len(report.hosts) > 1 else None
    devices = [(wording.device(name, host),) for name in finding.devices]
    yield "Devices", wording.joined(devices, 24) or (Span("the whole host"),)
    lead = (finding.host, finding.devices[0]) if finding.devices else None
    total = next((device.samples for device in report.devices if (device.host, device.name) == lead), None)
    when = window(report, finding, total)
    if when and not is_lead:
        yield "When", (Span(when),)
    yield "Rule", (wording.rule(finding.rule),)
    if finding.explained_by:
        yield "Explained by", (wording.rule(finding.explained_by),)
    if finding.supersedes:
        yield "Explains", wording.joined([(wording.rule(one),) for one in finding.supersedes])


def window(report: Report, finding: Finding, total: int | None) -> str:
    """When it was; samples are counted from 1 for people, while JSON counts them from 0."""
    if report.is_undated(finding):
        return "undated: the capture or listing that shows it states no time"
    words = []
    when = wording.time_span(finding.start, finding.end, report.timezone)
    if when:
        words.append(when)
    if finding.samples:
        first, last = finding.samples[0] + 1, finding.samples[1] + 1
        of = f" of {wording.count(total)}" if total else ""
        most = max((device.samples for device in report.devices if device.host == finding.host), default=0)
        if total and 1 < total < most:
            # with -z a device has no row in reports in which it is idle
            of += f" of this device (others have {wording.count(most)}: equal numbers are not of one time)"
        if first == last:
            is_lost = any(summary.unparsed for summary in report.sources)
            only = "the only sample that could be read" if is_lost else "the only sample"
            words.append(only if total == 1 else f"sample {wording.count(first)}{of}")
        else:
            words.append(f"samples {wording.count(first)} to {wording.count(last)}{of}")
    return ", ".join(words)


def _anchors(report: Report) -> list[str]:
    """An address in the page for each finding in detail: its rule and its first device, as long as unique."""
    found: list[str] = []
    for _, finding in in_detail(report):
        base = wording.anchor("finding", finding.rule, *finding.devices[:1])
        again = sum(one == base or one.startswith(f"{base}--") for one in found)
        found.append(f"{base}--{again + 1}" if again else base)
    return found
