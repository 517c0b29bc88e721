"""The first screen: whose and when, the verdict, its numbers, what to do first, and one picture."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta

from iodiag.model.capture import Section
from iodiag.model.comparison import Comparison
from iodiag.model.finding import SEVERITIES, Finding
from iodiag.model.report import Chosen, Report, StateSummary
from iodiag.report import comparison_sections, finding_sections, wording
from iodiag.report.appendix import waited
from iodiag.report.charts import overview
from iodiag.report.document import Block, Bullets, Charts, Commands, Facts, Item, Key, Paragraph, Screen
from iodiag.report.wording import Span, Spans

PICTURE: Key = ("screen", 0)
NOTHING = "Nothing at the disks. If something is still slow, look above them: a limit, a lock, the network."
COMMANDS_SHOWN = 2
LONGEST_COMMAND = 100
SLIGHT = 0.01
"""Share of the lines of numbers that may be lost without a word on the first screen."""
Covered = tuple[str | None, str | None]
_BLANK = re.compile(r"\b([A-Z]{3,}|sdX|nvmeX\w*)\b(?![=_])|<[^<>]{1,80}>|…")
"""What a reader would have to fill in before a command can run."""
_SURENESS = {
    "high": "many samples, and a narrow interval far from no change, or around it",
    "medium": "beyond chance, yet from few samples or within a wide interval",
    "low": "too few samples, or too much scatter; compare longer captures before acting on it",
}


def screen(report: Report) -> Screen:
    """The first screen of a report."""
    lead = finding_sections.lead(report)
    compared = report.comparison
    state = report.verdict.state if report.verdict and compared is None else ""
    picture = overview.picture(report, lead) if compared is None else None
    place = Charts(PICTURE, overview.sparkline(picture)) if picture else None
    if compared is not None and comparison_sections.shown_subjects(compared):
        place = Charts(("moved", 1))
    actions = () if compared else tuple(_actions(report, lead))
    return Screen(
        title=title(report),
        state=state.capitalize(),
        tone=state or report.worst() or "clear",
        sentence=wording.prose(_sentence(report, actions)),
        facts=Facts(tuple(_sides(report, compared) if compared else _facts(report, lead))),
        actions=actions,
        picture=place,
    )


def _sentence(report: Report, actions: Iterable[Block]) -> str:
    """The verdict's sentence, without what stands below it: the commands to paste, the other findings."""
    text = report.headline
    if report.verdict is not None and report.comparison is None:
        asks = report.verdict.asks if any(isinstance(block, Commands) for block in actions) else ""
        for part in filter(None, (asks, report.verdict.also)):
            text = text.replace(f" {part}", "")
    return text.strip() or "No rule found anything."


def title(report: Report) -> Spans:
    """The heading of the report: whose it is and which time it covers."""
    hosts = report.hosts
    whose = wording.names(hosts, 3) if hosts else (Span("unnamed host"),)
    if report.comparison is not None:
        return (Span("Storage before and after: "), *whose)
    return (Span("Storage report: "), *whose, Span(f", {_when(report)}"))


def _when(report: Report) -> str:
    when = wording.time_span(*covered(report), report.timezone)
    if not when:
        return wording.visible(_undated(report))
    others = (f"{tools} of {day}" for day, tools in _other_days(report).items())
    return wording.visible("; ".join((when, *_clocks_outside(report), *others)))


def _clocks_outside(report: Report) -> Iterator[str]:
    """The times of day without a date that lie outside of what the clocks with a date cover."""
    first, last = map(wording.instant, covered(report))
    if first is None or last is None or first.tzinfo is not None or first.date() != last.date():
        return
    for section in _sections(report):
        ends = section.clocks.split(" to ") if section.clocks else []
        if any(not str(first.time()) <= end <= str(last.time()) for end in ends):
            yield f"{section.format} {section.clocks}, no date"


def _other_days(report: Report) -> dict[str, str]:
    """Other days than that of the clocks in the same text, and the tools whose samples are of each.

    A run may begin before midnight and end after it, and a clock without a zone be of any.
    """
    timed: dict[str, list[tuple[str | None, str | None]]] = {}
    for section in _sections(report):
        timed.setdefault(section.source, []).append((section.start, section.end))
    ends = {source: [*map(wording.instant, wording.time_range(spans))] for source, spans in timed.items()}
    found: dict[str, list[str]] = {}
    for section in (summary.section for summary in report.sources):
        first, last = ends.get(section.source, (None, None))
        day, own = section.day or (section.start or "")[:10], wording.instant(section.start)
        if not (day and first and last):
            continue
        is_of_one_zone = bool(own and own.tzinfo) == bool(first.tzinfo)
        apart = _A_RUN if is_of_one_zone else _FARTHEST_ZONE
        if not str(first - apart)[:10] <= day <= str(last + apart)[:10]:
            found.setdefault(day, []).append(section.format)
    return {day: ", ".join(dict.fromkeys(tools)) for day, tools in found.items()}


_A_RUN, _FARTHEST_ZONE = timedelta(hours=1), timedelta(hours=14)
"""How far a run reaches beyond the clocks of another, and how far a zone is from UTC."""


def _undated(report: Report) -> str:
    """The times of day that no date goes with, the days of banners, and the runs that have both."""
    sections = [summary.section for summary in report.sources]
    days: dict[str, set[str]] = {}
    for section in sections:
        if section.day and not section.is_context:
            days.setdefault(section.format, set()).add(section.day)
    runs = [f"{one.format} {wording.clock_span(one.start, one.end)}" for one in sections if one.start]
    clocks, known = _times_of_day(report), set().union(*days.values())
    if len(known) == 1 and not (clocks or runs):
        return f"{min(known)}, no clock times"
    of_days = [f"{tool} of {_listed(sorted(own))}" for tool, own in days.items()]
    told = [*([f"{clocks}, no date"] if clocks else []), *of_days, *dict.fromkeys(runs)]
    return "; ".join(told) or "no clock times with a date"


def _listed(days: Sequence[str]) -> str:
    return " and ".join(days) if len(days) < 3 else f"{len(days)} days from {days[0]} to {days[-1]}"


def _times_of_day(report: Report) -> str:
    """The earliest and the latest time of day of captures whose clocks have no date."""
    spans = [section.clocks.split(" to ") for section in _sections(report) if section.clocks]
    if len(spans) == 1:
        ends = spans[0]
    elif spans and all(span[0] <= span[-1] for span in spans):
        ends = [min(span[0] for span in spans), max(span[-1] for span in spans)]
    else:
        return ""
    return " to ".join(dict.fromkeys(ends))


def covered(report: Report) -> Covered:
    """The start of the first and the end of the last capture."""
    sections = _sections(report)
    return wording.time_range((section.start, section.end) for section in sections)


def _sections(report: Report) -> list[Section]:
    """The captures among what was read, else all of it; context is one where it holds several reports."""
    sections = [summary.section for summary in report.sources]
    return [section for section in sections if not section.is_context or section.reports] or sections


def _looked_at(chosen: Chosen) -> Iterator[Span]:
    """What a reader of the report must know was left out; nothing where all there is was looked at."""
    if chosen.devices:
        yield Span("only ")
        yield from wording.names(chosen.devices, 4)
        yield Span(" and what lies below, without peers to compare with")
    ends = (("from", chosen.since), ("until", chosen.until))
    times = " ".join(f"{word} {wording.visible(at, wording.NAME_LIMIT)}" for word, at in ends if at)
    if times:
        yield Span(f"{'; ' * bool(chosen.devices)}only samples {times}")


def _facts(report: Report, lead: Finding | None) -> Iterator[tuple[str, Spans]]:
    """What it costs, since when, how often it was seen, how sure that is, and what else there is."""
    devices = lead.devices if lead else report.verdict.devices if report.verdict else ()
    states = [s for s in report.states if s.device in devices[:4] and _is_on_host(s.host, lead)]
    device, cost = devices[0] if devices else "", report.verdict.cost if report.verdict else ""
    if not cost and (worst := _costliest(states, devices)) is not None:
        device, cost = worst.device, worst.text
    if cost and cost not in report.headline:
        seen, _, what = cost.rpartition(": ")
        often = f" in {seen}" if seen and not (lead and f" {seen}" in lead.summary) else ""
        yield "Cost", (wording.name(device), Span(f"{often}: "), *wording.prose(what))
    if lead is not None:
        total = next(
            (d.samples for d in report.devices if d.name in devices[:1] and _is_on_host(d.host, lead)), None
        )
        when = finding_sections.window(report, lead, total)
        if when:
            yield "When", (Span(when.replace(f" ({wording.zone((lead.start,), report.timezone)})", "")),)
        sure = f"{lead.confidence} confidence: {wording.CONFIDENCE_MEANING[lead.confidence]}"
        if report.verdict is not None and report.verdict.state == "open" and lead.role == "symptom":
            sure = f"{lead.confidence} confidence that it is so; its cause is open"
        yield "How sure", (Span(sure),)
        if effects := finding_sections.follows(report):
            yield "Effects", finding_sections.by_title(effects)
    elif report.verdict is not None and report.verdict.severity is not None:
        yield "Severity", (Span(f"{report.verdict.severity}, though its cause is not determined"),)
    if lead is None or not (cost or when):
        length = wording.elapsed(*covered(report))
        yield "Read", (*_captures(report), *((Span(f" ({length})"),) if length else ()))
    if others := ", ".join(_other_days(report).values()):
        yield "Days", (Span(f"{others} ran on another day than the rest: not the same moment"),)
    if looked_at := tuple(_looked_at(report.chosen)):
        yield "Looked at", looked_at
    if lost := list(_lost(report)):
        rest = f", and of {len(lost) - 1} more" if len(lost) > 1 else ""
        yield "Not read", (*lost[0], Span(rest))
    notes = [one.title for one in report.findings if one.severity == "info" and one is not lead]
    named = wording.prose("; ".join(dict.fromkeys(notes)))
    yield "Result", (Span(tally(report)), *((Span(". Info: "), *named) if notes else ()))


def _lost(report: Report) -> Iterator[Spans]:
    """Per input of which something is missing: how many lines of numbers, and where, its end, other tools."""
    short = finding_sections.addresses(report)
    for summary in report.sources:
        name = Span(short[summary.section.source][:-1], is_code=True)
        if any(not note.line and note.reason.endswith("the rest is lost") for note in summary.notes):
            yield Span("the end of "), name, Span(": it is cut off or damaged there")
        for note in summary.notes:
            if note.reason.endswith(": its samples are not read"):
                tool = note.reason.removeprefix("this is ").rpartition(":")[0]
                yield Span(f"the samples of {tool} in "), name, Span(f" (line {note.line})")
            if note.reason.startswith("a counter ran below zero") and note.text.strip():
                device = wording.name(note.text.split()[0])
                yield (
                    Span("a row of "),
                    device,
                    Span(" in "),
                    name,
                    Span(f" (line {note.line}: {note.reason})"),
                )
        unread = summary.ledger.get("unread", 0)
        rows = unread + summary.ledger.get("row", 0) + summary.ledger.get("summary", 0)
        if unread > SLIGHT * rows:
            lost = {line.line for line in summary.unparsed}
            ranges, more = wording.line_ranges(lost)
            where = (
                f" ({'lines' if len(lost) > 1 else 'line'} {ranges}{f' and {more} more' if more else ''})"
                if ranges
                else ""
            )
            # of the lines of context that were read it is not known which are numbers
            all_rows = "" if summary.ledger.get("context") else f" of {wording.count(rows)}"
            lines = "line" if unread == 1 and not all_rows else "lines"
            yield (
                Span(f"{wording.count(unread)}{all_rows} {lines} of numbers of "),
                name,
                Span(where),
            )


def _is_on_host(host: str | None, lead: Finding | None) -> bool:
    return lead is None or host == lead.host


def _costliest(states: Sequence[StateSummary], devices: Sequence[str]) -> StateSummary | None:
    """The state in which requests waited longest in all, by what they took and by how many were in flight.

    The first device, which the sentence is about, goes before the others, unless nothing waited there.
    """
    working = [state for state in states if state.direction != "idle"]
    of_first = [state for state in working if state.device in devices[:1]]
    does_wait = any(waited(state)[0] > 0 for state in of_first)
    is_alike = not any(waited(state)[0] > 0 for state in working)
    return max(of_first if of_first and (does_wait or is_alike) else working, key=waited, default=None)


def tally(report: Report) -> str:
    """How many findings there are of each severity; beside no trouble, how many rules vouch for that.

    What the report begins with is one of them, also where it is no rule's.
    """
    found = [finding.severity for finding in report.findings]
    verdict = report.verdict
    if verdict is not None and verdict.severity is not None and verdict.finding(report.findings) is None:
        found.append(verdict.severity)
    plurals = {"warning": "warnings", "notice": "notices"}
    parts = [
        wording.plural(found.count(severity), severity, plurals.get(severity, severity))
        for severity in reversed(SEVERITIES)
        if severity in found
    ]
    counted = ", ".join(parts) or "0 findings"
    if report.ignored:
        counted += f", and {len(report.ignored)} ignored by configuration"
    if verdict is not None and verdict.state == "trouble":
        return counted
    clear = len({outcome.rule for outcome in report.outcomes if outcome.status == "clear"})
    asked = {o.rule for o in report.outcomes if o.status in ("undetermined", "not_applicable", "error")}
    if not clear:
        return f"{counted}; {wording.plural(len(asked), 'rule')} not judged"
    return f"{counted}; {wording.plural(clear, 'rule')} clear, {len(asked)} not judged"


def _captures(report: Report, *others: Report) -> Spans:
    """The inputs of a report, as shortly as these and those of other reports are told apart."""
    short = finding_sections.addresses(report, *others)
    names = dict.fromkeys(short[section.source][:-1] for section in _sections(report))
    return wording.names(names, 3) or (Span("no capture"),)


def _sides(report: Report, comparison: Comparison) -> list[tuple[str, Spans]]:
    """What was read on each side, how sure the verdict is, and how many findings went and came."""
    facts: list[tuple[str, Spans]] = []
    for label, side in (("Before", comparison.before), ("After", report)):
        length = wording.elapsed(*covered(side))
        when = f", {_when(side)}" + (f" ({length})" if length else "")
        facts.append((label, (*_captures(side, comparison.before, report), Span(when))))
    if _is_reversed(covered(comparison.before), covered(report)):
        facts.append(("Order", (Span("AFTER is older than BEFORE: exchange the two unless that is meant"),)))
    facts.append(("How sure", (Span(f"{comparison.confidence} ({_SURENESS[comparison.confidence]})"),)))
    words = (("went", "gone"), ("came", "new"), ("stayed", "still there"))
    counted = [f"{sum(one.fate == fate for one in comparison.findings)} {word}" for fate, word in words]
    return [*facts, ("Findings", (Span(", ".join(counted)),))]


def _is_reversed(before: Covered, after: Covered) -> bool:
    """Whether one side ended before the other began; False where their clocks do not compare."""
    begins, ends = wording.instant(before[0]), wording.instant(after[1])
    if begins is None or ends is None or (begins.tzinfo is None) != (ends.tzinfo is None):
        return False
    return ends < begins


def _actions(report: Report, lead: Finding | None) -> Iterator[Block]:
    """The first step, and commands to paste; of a guess how to confirm it, else how to capture more."""
    if lead is not None:
        commands = first_commands(lead.confirm, lead.devices)
        if lead.confidence == "low" and commands:
            yield Paragraph((Span("Confirm it before acting on it:"),))
        elif lead.remedy:
            # the commands below it rather tell whether it is so than do it
            words = wording.prose(lead.remedy[0])
            yield Bullets((Item((*words, Span(" To confirm it:")) if commands else words),))
        if commands:
            yield from finding_sections.to_run(commands)
    elif report.verdict is not None and (report.verdict.asks or report.verdict.state in ("open", "unknown")):
        asks = report.verdict.asks or "Capture more while it is slow: `iostat -xyt 1 60 > capture.txt`"
        yield Paragraph((Span(asks.partition(": `")[0] + ":"),))
        yield from finding_sections.to_run(span.text for span in wording.prose(asks) if span.is_code)
    else:
        yield Paragraph((Span(NOTHING),))


def first_commands(confirm: Iterable[str], devices: Collection[str]) -> tuple[str, ...]:
    """Commands to paste first: those ready to run, and of them the first, which belongs to the first remedy.

    Then come those that name a device of the finding; what is asked of one is asked of its others as well.
    """
    texts = map(finding_sections.command, confirm)
    known = [text for text in texts if text]
    short = [text for text in known if len(text) <= LONGEST_COMMAND] or sorted(known, key=len)[:1]

    def rank(text: str) -> tuple[bool, bool, bool]:
        is_ready = "\n" not in text and not _BLANK.search(text)
        return not is_ready, text != short[0], not any(name and name in text for name in devices)

    ordered = sorted(short, key=rank)
    shown = ordered[:COMMANDS_SHOWN]
    asked = {text.rpartition("/dev/")[0] for text in shown} - {""}
    return (*shown, *(text for text in ordered[COMMANDS_SHOWN:] if text.rpartition("/dev/")[0] in asked))
