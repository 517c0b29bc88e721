"""The verdict and the findings of a report, as spans and tables; each renderer only draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from iodiag.model.comparison import Comparison
from iodiag.model.finding import SEVERITIES, Evidence, Finding, by_harm
from iodiag.model.report import Report
from iodiag.report import wording
from iodiag.report.appendix import TextTable
from iodiag.report.wording import Span, Spans

FULL_FINDINGS = 100
QUOTES_SHOWN = 5


@dataclass(frozen=True)
class Point:
    """One line of evidence: the sentence, its address, and the quoted lines."""

    words: Spans
    address: Spans
    quotes: tuple[str, ...]
    evidence: Evidence = field(repr=False)

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The numbers that the sentence rests on, in words; of a text they are no part."""
        return tuple(
            (wording.visible(key, wording.NAME_LIMIT), wording.setting(value))
            for key, value in self.evidence.values.items()
        )


@dataclass(frozen=True)
class Part:
    """One finding, ready to draw; `number` counts from 1 in order of harm."""

    number: int
    finding: Finding
    title: Spans
    severity: str
    confidence: str
    facts: tuple[tuple[str, Spans], ...]
    summary: Spans
    evidence: tuple[tuple[str, tuple[Point, ...]], ...]
    remarks: tuple[tuple[str, tuple[Spans, ...]], ...]
    remedy: tuple[Spans, ...]
    confirm: tuple[str, ...]
    references: tuple[Span, ...]


def findings_in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The most harmful first, whatever its host."""
    return sorted(findings, key=by_harm)


def title(report: Report) -> Spans:
    """The heading of the report: whose it is and which time it covers."""
    hosts = report.hosts
    whose = wording.names(hosts, 3) if hosts else (Span("host not stated"),)
    if report.comparison is not None:
        return (Span("Storage before and after: "), *whose)
    return (Span("Storage report: "), *whose, Span(f", {_when(report)}"))


def _when(report: Report) -> str:
    return wording.time_span(*covered(report), report.timezone) or "no date with a time in the captures"


def covered(report: Report) -> tuple[str | None, str | None]:
    """The start of the first and the end of the last capture."""
    sections = [summary.section for summary in report.sources if not summary.section.is_context]
    return wording.time_range((section.start, section.end) for section in sections)


def headline(report: Report) -> Spans:
    """The verdict in one sentence."""
    return wording.prose(report.headline.strip() or "No rule found anything.")


def verdict_word(report: Report) -> str:
    """The state of the verdict in a word; empty in reports without one, and where two sides are compared."""
    if report.verdict is None or report.comparison is not None:
        return ""
    return report.verdict.state.capitalize()


def nothing_found(report: Report) -> str:
    """What stands in place of the findings when there are none."""
    is_partial = any(outcome.status not in ("finding", "clear") for outcome in report.outcomes)
    rest = " That is no proof of health: see what could not be judged." if is_partial else ""
    return f"No rule found anything.{rest}"


def tally(report: Report) -> str:
    """How many findings there are of each severity, and how many rules had no verdict."""
    found = [finding.severity for finding in report.findings]
    plurals = {"warning": "warnings", "notice": "notices"}
    parts = [
        wording.plural(found.count(severity), severity, plurals.get(severity, severity))
        for severity in reversed(SEVERITIES)
        if severity in found
    ]
    counted = wording.plural(len(found), "finding") + (f" ({', '.join(parts)})" if parts else "")
    clear = len({outcome.rule for outcome in report.outcomes if outcome.status == "clear"})
    asked = {o.rule for o in report.outcomes if o.status in ("undetermined", "not_applicable", "error")}
    if report.ignored:
        counted += f", and {len(report.ignored)} ignored by configuration"
    return (
        f"{counted}. {wording.plural(clear, 'rule')} looked and found nothing; "
        f"{wording.plural(len(asked), 'rule')} could not judge all or part of it."
    )


def overview(report: Report) -> list[tuple[str, Spans]]:
    """Label and value of what stands at the top: captures, time, findings, who wrote it."""
    if report.comparison is not None:
        facts = _sides(report, report.comparison)
    else:
        facts = [("Read", _captures(report))]
        length = wording.elapsed(*covered(report))
        if length:
            facts.append(("Covers", (Span(length),)))
        facts.append(("Result", (Span(tally(report)),)))
    written = f"iodiag {report.iodiag}, {wording.time_span(report.generated, None) or 'no date'}"
    return [*facts, ("Written by", (Span(wording.visible(written, wording.NAME_LIMIT)),))]


_SURENESS = {
    "high": "many samples, and a narrow interval far from no change, or around it",
    "medium": "beyond chance, yet from few samples or within a wide interval",
    "low": "too few samples, or too much scatter; compare longer captures before acting on it",
}


def _captures(report: Report) -> Spans:
    sections = [summary.section for summary in report.sources if not summary.section.is_context]
    names = list(dict.fromkeys(section.source for section in sections))
    return wording.names(names, 6) or (Span("no capture"),)


def _sides(report: Report, comparison: Comparison) -> list[tuple[str, Spans]]:
    """What was read on each side, how sure the verdict is, and how many findings went and came."""
    facts: list[tuple[str, Spans]] = []
    for label, side in (("Before", comparison.before), ("After", report)):
        length = wording.elapsed(*covered(side))
        when = f", {_when(side)}" + (f" ({length})" if length else "")
        facts.append((label, (*_captures(side), Span(when))))
    facts.append(("How sure", (Span(f"{comparison.confidence} ({_SURENESS[comparison.confidence]})"),)))
    words = (("went", "gone"), ("came", "new"), ("stayed", "still there"))
    counted = [f"{sum(one.fate == fate for one in comparison.findings)} {word}" for fate, word in words]
    return [*facts, ("Findings", (Span(", ".join(counted)),))]


def parts(report: Report) -> list[Part]:
    """The findings in order of harm; past FULL_FINDINGS only `summary_table` has them."""
    totals = {(device.host, device.name): device.samples for device in report.devices}
    in_bytes = {s.section.source for s in report.sources if s.section.format == "sa"}
    return [
        _part(at, finding, report, totals, in_bytes)
        for at, finding in enumerate(findings_in_order(report.findings)[:FULL_FINDINGS], 1)
    ]


def summary_table(report: Report, full: int = FULL_FINDINGS) -> TextTable:
    """One row per finding; the first `full` of them are shown below as well."""
    ordered = findings_in_order(report.findings)
    has_hosts = len(report.hosts) > 1
    rows = []
    for at, finding in enumerate(ordered, 1):
        host = ((wording.name(finding.host),) if finding.host else (),) if has_hosts else ()
        devices = wording.names(finding.devices, 6) or (Span("whole host"),)
        severity, confidence = (Span(finding.severity),), (Span(finding.confidence),)
        rows.append(((Span(str(at)),), severity, confidence, wording.prose(finding.title), *host, devices))
    hosts = ("Host",) if has_hosts else ()
    head = ("#", "Severity", "Confidence", "Finding", *hosts, "Devices")
    left_out = ""
    if len(ordered) > full:
        left_out = f"The first {full} are shown in full below; the JSON report has all of them."
    return TextTable(head, tuple(rows), frozenset({0}), left_out)


def _part(
    at: int, finding: Finding, report: Report, totals: dict[tuple[str | None, str], int], in_bytes: set[str]
) -> Part:
    evidence = []
    for heading, weighs in (("Evidence", "for"), ("Against it", "against"), ("Context", "context")):
        points = tuple(point(e, e.source in in_bytes) for e in finding.evidence if e.weighs == weighs)
        if points:
            evidence.append((heading, points))
    remarks = (
        ("What would refute it", finding.refutes),
        ("What the counters cannot tell", finding.cannot_know),
    )
    return Part(
        number=at,
        finding=finding,
        title=wording.prose(finding.title),
        severity=finding.severity,
        confidence=finding.confidence,
        facts=tuple(_facts(finding, report, totals)),
        summary=wording.prose(finding.summary),
        evidence=tuple(evidence),
        remarks=tuple((head, tuple(map(wording.prose, texts))) for head, texts in remarks if texts),
        remedy=tuple(wording.prose(text) for text in finding.remedy),
        confirm=tuple(map(_command, finding.confirm)),
        references=tuple(Span(wording.visible(text.strip())) for text in finding.references),
    )


def _command(text: str) -> str:
    """A command keeps its line ends, and nothing else that cannot be seen."""
    return "\n".join(map(wording.visible, text.strip("\n").split("\n")))


def _facts(
    finding: Finding, report: Report, totals: dict[tuple[str | None, str], int]
) -> Iterable[tuple[str, Spans]]:
    severity, confidence = finding.severity, finding.confidence
    yield "Severity", (Span(f"{severity} ({wording.SEVERITY_MEANING[severity]})"),)
    yield "Confidence", (Span(f"{confidence} ({wording.CONFIDENCE_MEANING[confidence]})"),)
    if finding.host and len(report.hosts) > 1:
        yield "Host", (wording.name(finding.host),)
    yield "Devices", wording.names(finding.devices, 24) or (Span("the whole host"),)
    total = totals.get((finding.host, finding.devices[0])) if finding.devices else None
    window = _window(finding, total, report.timezone)
    if window:
        yield "When", (Span(window),)
    yield "Rule", (wording.name(finding.rule),)
    if finding.explained_by:
        yield "Explained by", (wording.name(finding.explained_by),)
    if finding.supersedes:
        yield "Explains", wording.names(finding.supersedes)


def _window(finding: Finding, total: int | None, timezone: str | None) -> str:
    """Samples are counted from 1 for people; JSON counts them from 0."""
    words = []
    when = wording.time_span(finding.start, finding.end, timezone)
    if when:
        words.append(when)
    if finding.samples:
        first, last = finding.samples[0] + 1, finding.samples[1] + 1
        of = f" of {wording.count(total)}" if total else ""
        if first == last:
            words.append("the only sample" if total == 1 else f"sample {wording.count(first)}{of}")
        else:
            words.append(f"samples {wording.count(first)} to {wording.count(last)}{of}")
    return ", ".join(words)


def point(evidence: Evidence, is_binary: bool) -> Point:
    """One piece of evidence, ready to draw; a binary file is addressed by bytes."""
    quotes = evidence.quotes[:QUOTES_SHOWN]
    is_elsewhere = any(quote.source != evidence.source for quote in quotes)
    width = max((len(str(quote.line)) for quote in quotes), default=0)
    lines = []
    for quote in quotes:
        where = f"{wording.visible(quote.source, wording.NAME_LIMIT)}:" if is_elsewhere else ""
        lines.append(f"{where}{quote.line:>{width}}: {wording.verbatim(quote.text)}")
    return Point(
        words=wording.prose(evidence.text),
        address=_address(evidence, "@" if is_binary else ":"),
        quotes=tuple(lines),
        evidence=evidence,
    )


def _address(evidence: Evidence, separator: str) -> Spans:
    if not evidence.source:
        return ()
    where = wording.visible(evidence.source, wording.NAME_LIMIT)
    ranges, more = wording.line_ranges(evidence.lines)
    more = max(more, evidence.rows - len(set(evidence.lines)) + more if evidence.lines else 0)
    code = Span(f"{where}{separator}{ranges}" if ranges else where, is_code=True)
    return (code, Span(f" and {wording.plural(more, 'more line')}")) if more else (code,)
