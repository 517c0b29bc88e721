"""The report as Markdown that reads the same in CommonMark with tables and on GitHub.

No raw HTML is written, and nothing of a capture is left that a renderer could take for markup,
a link or a mention: names stand in code spans, quotes in fences, prose is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

from iodiag.model.comparison import Comparison
from iodiag.model.report import Report
from iodiag.report import appendix, comparison_sections, finding_sections, wording
from iodiag.report.appendix import Remark, TextTable
from iodiag.report.charts.report_charts import ChartFile, Key
from iodiag.report.comparison_sections import Section
from iodiag.report.finding_sections import Part, Point
from iodiag.report.wording import Span, Spans

Charts = Mapping[Key, Sequence[ChartFile]]

# what GitHub turns into links and mentions wherever it stands in text, escaped or not
_LINKED = re.compile(r"://|www\.|[\w.+\-]@\w|(?<![^\W_])[@#]\w|\bGH-\d", re.IGNORECASE)
_LINK_MARKS = ("://", "www.", "@", "#", "gh-")  # of which a link has one
_SPECIAL = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])")
_BLOCK_START = re.compile(r"^(?:([#>+=\-])|(\d{1,9})([.)])(?=\s|$))")


def render(report: Report, charts: Charts | None = None) -> str:
    """The whole report, ready to be pasted into a ticket; `charts` are files that will lie beside it."""
    charts = charts or {}
    lines = [
        f"# {inline(finding_sections.title(report))}",
        "",
        f"**{inline(_verdict(report))}**",
        "",
        *(f"- **{label}:** {inline(value)}" for label, value in finding_sections.overview(report)),
        *(_compared(report, report.comparison, charts) if report.comparison else ()),
        *_states(report),
        *_findings(report, charts),
        *_ignored(report),
        *_clear(report),
        *_unjudged(report),
        *_devices(report),
        *(_devices(report.comparison.before, " before") if report.comparison else ()),
        *_read(report),
        *(_read(report.comparison.before, " before") if report.comparison else ()),
        *(_method(report.comparison) if report.comparison else ()),
        *_thresholds(report),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _verdict(report: Report) -> Spans:
    word = finding_sections.verdict_word(report)
    return (*((Span(f"{word}. "),) if word else ()), *finding_sections.headline(report))


def inline(spans: Iterable[Span], in_table: bool = False) -> str:
    """Spans as Markdown within a line."""
    text = ""
    for span in spans:
        piece = code(span.text, in_table) if span.is_code else _escaped(span.text, in_table)
        if span.href:
            piece = f"[{piece}]({span.href})"
        # two runs of backticks that touch would be one longer run
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece
    return text


def code(text: str, in_table: bool = False) -> str:
    """A code span that shows `text` as it is, whatever backticks it holds."""
    if in_table:
        # renderers disagree about a pipe behind a backslash, so such a pipe is spelled out
        text = re.sub(r"\\\|", "\\\\‹U+007C›", text).replace("|", "\\|")
    fence = "`" * (_longest_run([text]) + 1)
    needs_pad = text.startswith(("`", " ")) or text.endswith(("`", " "))
    pad = " " if needs_pad and text.strip(" ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(lines: Iterable[str], language: str = "text", indent: str = "") -> list[str]:
    """A block in fixed pitch; its fence is longer than any run of backticks inside."""
    body = list(lines)
    fence = "`" * max(3, _longest_run(body) + 1)
    return [f"{indent}{fence}{language}", *(f"{indent}{line}" for line in body), f"{indent}{fence}"]


def _longest_run(lines: Iterable[str]) -> int:
    """How many backticks follow each other at the most."""
    return max((len(run) for line in lines if "`" in line for run in re.findall("`+", line)), default=0)


@lru_cache(maxsize=256)
def _escaped(text: str, in_table: bool) -> str:
    lowered = text.lower()  # looking for the marks takes a fifth of a search
    if not any(mark in lowered for mark in _LINK_MARKS) or not _LINKED.search(text):
        return _SPECIAL.sub(r"\\\g<0>", text)
    return re.sub(r"\S+", lambda found: _word(found[0], in_table), text)


def _word(word: str, in_table: bool) -> str:
    """A word with its special characters escaped; one that would become a link, as code."""
    if not _LINKED.search(word):
        return _SPECIAL.sub(r"\\\g<0>", word)
    start = len(word) - len(word.lstrip("([{\"'"))
    end = max(len(word.rstrip(")]}\"'.,;:!?")), start)
    return (
        _SPECIAL.sub(r"\\\g<0>", word[:start])
        + (code(word[start:end], in_table) if start < end else "")
        + _SPECIAL.sub(r"\\\g<0>", word[end:])
    )


def _block(spans: Spans) -> str:
    """Spans at the beginning of a block, where a #, a - or a 1. would mean something."""
    text = inline(spans).strip()
    return _BLOCK_START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", text)


def table_lines(table: TextTable) -> Iterator[str]:
    """A table's lines, and below it what was left out; none without rows."""
    if table.rows:
        yield f"| {' | '.join(_escaped(head, True) for head in table.head)} |"
        rule = ("---:" if at in table.numeric else "---" for at in range(len(table.head)))
        yield f"| {' | '.join(rule)} |"
        for row in table.rows:
            yield f"| {' | '.join(inline(cell, in_table=True).strip() for cell in row)} |"
    if table.left_out:
        yield from ("", _block(wording.prose(table.left_out)))


def _compared(report: Report, comparison: Comparison, charts: Charts) -> Iterator[str]:
    """What moved, and what became of the findings; the analysis of after follows."""
    yield from ("", "## What moved")
    settings = comparison_sections.settings(report, comparison)
    if settings:
        yield from ("", "### Settings that differ", "")
        for point in settings:
            yield from _point(point)
    sections = comparison_sections.sections(report, comparison)
    if not sections:
        yield from ("", "Nothing could be compared.")
    for section in sections:
        yield from _section(section, charts.get(("moved", section.number), ()))
    others = comparison_sections.others(comparison)
    if others.rows:
        yield from ("", "### Other devices", "", *table_lines(others))
    told = comparison_sections.uncompared(comparison)
    if told:
        yield from ("", "### Not compared", "", *(f"- {_block(words)}" for words in told))
    yield from ("", "## Findings before and after", "")
    fates = comparison_sections.fates(report, comparison)
    if fates.rows:
        yield from table_lines(fates)
    else:
        yield "No rule found anything on either side."
    for part in comparison_sections.gone(comparison):
        yield from _finding(part, "Gone")


def _method(comparison: Comparison) -> Iterator[str]:
    method = list(comparison_sections.method(comparison))
    if method:
        yield from ("", "## How this was compared", "", *(f"- {_block(words)}" for words in method))


def _section(section: Section, charts: Sequence[ChartFile]) -> Iterator[str]:
    yield from ("", f"### {inline(section.heading)}", "")
    if section.reading:
        yield from (_block(section.reading), "")
    yield from (f"- **{label}:** {inline(value)}" for label, value in section.facts)
    yield from (f"- {_block(remark)}" for remark in section.remarks)
    yield from _images(charts)
    yield from ("", *table_lines(section.changes))
    if section.loads.rows:
        yield from ("", "#### Latency at matched load, before → after", "", *table_lines(section.loads))
    yield from ("", "#### What this rests on", "")
    for point in section.points:
        yield from _point(point)


def _states(report: Report) -> Iterator[str]:
    table = appendix.states(report)
    if table.rows:
        side = " after" if report.comparison else ""
        yield from ("", f"## What each device was doing{side}", "", *table_lines(table))


def _findings(report: Report, charts: Charts) -> Iterator[str]:
    yield from ("", "## Findings after" if report.comparison else "## Findings")
    parts = finding_sections.parts(report)
    if not parts:
        yield from ("", finding_sections.nothing_found(report))
    if len(parts) > 1:
        yield from ("", *table_lines(finding_sections.summary_table(report)))
    for part in parts:
        yield from _finding(part, charts=charts.get(("finding", part.number), ()))


def _finding(part: Part, fate: str = "", charts: Sequence[ChartFile] = ()) -> Iterator[str]:
    lead = fate or f"{part.number}. {part.severity.capitalize()}"
    yield from ("", f"### {lead}: {inline(part.title)}", "")
    yield from (_block(part.summary), "")
    for label, value in part.facts:
        yield f"- **{label}:** {inline(value)}"
    yield from _images(charts)
    for heading, points in part.evidence:
        yield from ("", f"#### {heading}", "")
        for point in points:
            yield from _point(point)
    for heading, remarks in part.remarks:
        yield from ("", f"#### {heading}", "", *(f"- {_block(remark)}" for remark in remarks))
    if part.remedy:
        steps = (f"{at}. {_block(step)}" for at, step in enumerate(part.remedy, 1))
        yield from ("", "#### What to do", "", *steps)
    if part.confirm:
        yield from ("", "#### Commands to confirm it", "", *fenced("\n".join(part.confirm).split("\n"), "sh"))
    if part.references:
        yield from ("", "#### References", "", *(f"- {_reference(r)}" for r in part.references))


def _images(charts: Sequence[ChartFile]) -> Iterator[str]:
    """Each chart with its words, for who cannot see it and for where only the text is pasted."""
    for chart in charts:
        words = _escaped(wording.visible(chart.description), False)
        yield from ("", f"![{words}]({quote(chart.name)})", "", _block(wording.prose(chart.caption)))


def _point(point: Point) -> Iterator[str]:
    address = f" ({inline(point.address)})" if point.address else ""
    yield f"- {_block(point.words)}{address}"
    if point.quotes:
        yield from fenced(point.quotes, indent="  ")


def _reference(reference: Span) -> str:
    """A link only where the whole text is a plain http address."""
    return f"<{reference.text}>" if wording.is_link(reference.text) else _block((reference,))


def _ignored(report: Report) -> Iterator[str]:
    table = appendix.ignored(report)
    if table.rows:
        yield from ("", "## Ignored by configuration", "", *table_lines(table))


def _clear(report: Report) -> Iterator[str]:
    table = appendix.clear(report)
    yield from ("", "## Looked at and clear", "")
    if table.rows:
        yield from table_lines(table)
    else:
        yield "No rule could clear anything."


def _unjudged(report: Report) -> Iterator[str]:
    yield from ("", "## Could not be judged, and why", "")
    tables = appendix.unjudged(report)
    if not tables:
        yield "Every rule reached a verdict."
    for at, (heading, table) in enumerate(tables):
        yield from (*(("",) if at else ()), f"### {heading}", "", *table_lines(table))


def _devices(report: Report, side: str = "") -> Iterator[str]:
    table = appendix.devices(report)
    if table.rows or table.left_out:
        side = side or (" after" if report.comparison else "")
        yield from ("", f"## Devices{side}", "", wording.SUMMARY_NOTE, "", *table_lines(table))


def _read(report: Report, side: str = "") -> Iterator[str]:
    side = side or (" after" if report.comparison else "")
    yield from ("", f"## What was read{side}", "", *table_lines(appendix.sources(report)))
    ledgers = appendix.ledgers(report)
    if ledgers:
        yield from ("", *(f"- {inline((source,))}: {_escaped(words, False)}" for source, words in ledgers))
    yield from ("", "### Lines not understood", "")
    unread = appendix.unread(report)
    if not unread:
        yield "None."
    for remark in unread:
        yield from _remark(remark)
    notes = appendix.notes(report)
    if notes:
        yield from ("", "### Notes on reading", "")
        for remark in notes:
            yield from _remark(remark)


def _remark(remark: Remark) -> Iterator[str]:
    extent = f" ({remark.extent})" if remark.extent else ""
    yield f"- {inline((remark.source,))}: {inline(remark.reason)}{extent}"
    if remark.lines:
        yield from fenced(remark.lines, indent="  ")


def _thresholds(report: Report) -> Iterator[str]:
    used = appendix.thresholds(report)
    if used:
        yield from ("", "## Thresholds in force", "")
        yield from (f"- {inline((rule,))}: {_escaped(words, False)}" for rule, words in used)
