"""Wording and rounding of everything a report says, and what makes text from captures harmless.

Prose and names reach the renderers as spans: plain text and code. Text of a capture is hostile
until `visible` has spelled out its control and invisible characters; what Markdown, HTML or a
terminal would still take for markup is the renderer's to escape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

UNKNOWN = "–"
RULE_PLACE = "#rule-"
NAME_LIMIT = 120
QUOTE_LIMIT = 400
PROSE_LIMIT = 4000

SEVERITY_MEANING = {
    "critical": "work stands still now",
    "warning": "a real cost, with a remedy",
    "notice": "an inefficiency, or a misreading to avoid",
    "info": "context",
}

CONFIDENCE_MEANING = {
    "high": "strong evidence",
    "medium": "likely; another cause is possible",
    "low": "possible; confirm it before acting on it",
}

SUMMARY_NOTE = (
    "Median, 95th percentile and maximum of the samples, in this order. Each sample is itself a mean over "
    "its interval, so the percentile is one of sample means, not of single requests. One number stands "
    "for all three where they are equal."
)


@dataclass(frozen=True)
class Span:
    """A piece of a sentence; code is a name, a path or a command, shown as it is.

    `href` is an address of our own making (percent-encoded, never text of a capture) that it leads to.
    """

    text: str
    is_code: bool = False
    href: str = ""


Spans = tuple[Span, ...]


def visible(text: str, limit: int = PROSE_LIMIT) -> str:
    """Text with control, bidi and invisible characters spelled out, as ‹U+202E›, and cut at `limit`."""
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else f"‹U+{ord(char):04X}›" for char in shown)
    if len(text) > limit:
        shown += f"… ({count(len(text) - limit)} characters left out)"
    return shown


def verbatim(text: str, limit: int = QUOTE_LIMIT) -> str:
    """A quoted line, ready for a block in fixed pitch: tabs become columns, the rest as `visible`."""
    return visible(text.expandtabs(8) if len(text) <= limit else text, limit)


def name(text: str) -> Span:
    """A name out of a capture (device, host, file) as a code span."""
    return Span(visible(text, NAME_LIMIT) or "(empty)", is_code=True)


@lru_cache(maxsize=256)  # findings of a kind give the same advice
def prose(text: str) -> Spans:
    """A sentence as spans; a pair of backticks marks code."""
    shown = visible(text.strip())
    pieces = re.split(r"`([^`]+)`", shown) if "`" in shown else [shown]
    spans = (Span(piece, is_code=bool(index % 2)) for index, piece in enumerate(pieces))
    return tuple(span for span in spans if span.text)


_LINK = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d+)?(/[A-Za-z0-9._~%!$&'()*+,;=:@/?#\-]*)?")


def is_link(text: str) -> bool:
    """Whether the whole text is a plain web address, fit to become a link."""
    return len(text) <= PROSE_LIMIT and _LINK.fullmatch(text) is not None


def plain(spans: Iterable[Span]) -> str:
    """The words of spans, without markup."""
    return "".join(span.text for span in spans)


def joined(items: Sequence[Spans], cap: int | None = None) -> Spans:
    """Items with commas between them; past `cap` the rest is counted, never dropped unsaid."""
    shown = items if cap is None or len(items) <= cap else items[:cap]
    spans: list[Span] = []
    for item in shown:
        if spans:
            spans.append(Span(", "))
        spans.extend(item)
    if len(shown) < len(items):
        spans.append(Span(f" and {count(len(items) - len(shown))} more"))
    return tuple(spans)


def rule(rule_id: str) -> Span:
    """The id of a rule, which leads to what the report says of that rule."""
    place = anchor(rule_id)
    return Span(name(rule_id).text, is_code=True, href=f"{RULE_PLACE}{place}" if place else "")


def device(name_of: str, host: str | None = None) -> Span:
    """The name of a device, which leads to what it was doing; with its host where there are several."""
    return Span(name(name_of).text, is_code=True, href=f"#{anchor('device', host or '', name_of)}")


def anchor(*words: str) -> str:
    """An address in a page made of words: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, words)).lower()).strip("-")[:80]


def names(texts: Iterable[str], cap: int | None = None) -> Spans:
    """Names with commas between them, as `joined`."""
    return joined([(name(text),) for text in texts], cap)


def count(number_of: int) -> str:
    """A count in full: 472,000."""
    return f"{number_of:,}"


def plural(number_of: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: 1 sample, 12 samples."""
    return f"{count(number_of)} {noun if number_of == 1 else nouns or noun + 's'}"


def number(value: float | None) -> str:
    """A measured number with 3 to 4 significant digits: 0.0457, 7.83, 375.3, 72,915."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-6:
        return f"{value:.3g}"
    if size >= 999.95:
        return f"{value:,.0f}"
    if size < 0.5e-6:
        return "0"
    digits = 4 if size >= 1 else 3
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def setting(value: float | str) -> str:
    """A threshold or a value of evidence, which may be a word; JSON has no infinite ones, so nor have we."""
    if isinstance(value, str):
        return visible(value, NAME_LIMIT)
    return number(float(value)) if math.isfinite(value) else UNKNOWN


_NAMED = {
    "ios_per_s": ("", "requests/s"),
    "request_size_kb": ("request size", "kB"),
    "queue_depth": ("", "in flight"),
    "run_queue": ("", "runnable tasks"),
    "blocked": ("", "blocked tasks"),
}
_ENDINGS = {"_kb_per_s": "kB/s", "_per_s": "/s", "_pct": "%", "_ms": "ms", "_kb": "kB", "_s": "s"}


def _named(column: str) -> tuple[str, str]:
    """What a canonical column is of, and in what it is counted; what happens is counted itself."""
    if column in _NAMED:
        return _NAMED[column]
    for ending, unit in _ENDINGS.items():
        if f"_{column}".endswith(ending):
            name = f"_{column}".removesuffix(ending)[1:].replace("_", " ")
            return ("", f"{name}/s") if unit == "/s" else (name, unit)
    return column.replace("_", " "), ""


def column_label(column: str) -> str:
    """A canonical column in words, with its unit: "read await ms"."""
    return visible(" ".join(filter(None, _named(column))), NAME_LIMIT)


def measured(column: str, value: float) -> str:
    """A number with what it is of: "read await 5 ms", "128.6 reads/s"."""
    name, unit = _named(column)
    return visible(" ".join(filter(None, (name, number(value), unit))), NAME_LIMIT)


def duration(seconds: float) -> str:
    """A length of time in its two largest units: 10 min, 2 h 5 min, 3 d."""
    left = round(seconds)
    if left < 1:
        return f"{number(seconds)} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts: list[tuple[int, str]] = []
    for unit, size in units:
        if left >= size or parts:
            parts.append((left // size, unit))
            left %= size
    return " ".join(f"{amount} {unit}" for amount, unit in parts[:2] if amount)


def instant(text: str | None) -> datetime | None:
    """An ISO time, or None for what is none."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def zone(stamps: Iterable[str | None], timezone: str | None) -> str:
    """The zone that the clocks are in: what they say, else `timezone`, else that none is stated."""
    offsets = {found.utcoffset() for found in map(instant, stamps) if found}
    stated = sorted(_offset(offset) for offset in offsets if offset is not None)
    if stated:
        return " and ".join(stated)
    return visible(timezone, NAME_LIMIT) if timezone else "no time zone stated"


def _offset(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    sign = "−" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"


def _clock(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


def time_span(start: str | None, end: str | None, timezone: str | None = None) -> str:
    """`clock_span` with the zone or that none is stated; "" without any clock."""
    span = clock_span(start, end)
    return f"{span} ({zone((start, end), timezone)})" if span else ""


def clock_span(start: str | None, end: str | None) -> str:
    """From when to when, in words; "" without any clock."""
    first, last = instant(start or end), instant(end or start)
    if first is None or last is None:
        known = [visible(text, NAME_LIMIT).replace("T", " ", 1) for text in (start, end) if text]
        return " to ".join(dict.fromkeys(known))
    if first == last:
        return _clock(first)
    is_same_day = first.date() == last.date()
    return f"{_clock(first)} to {last.strftime('%H:%M:%S') if is_same_day else _clock(last)}"


def time_range(spans: Iterable[tuple[str | None, str | None]]) -> tuple[str | None, str | None]:
    """The earliest start and the latest end; clocks with and without a zone are never compared."""
    known = [(text, found) for pair in spans for text in pair if text and (found := instant(text))]
    aware = [pair for pair in known if pair[1].tzinfo]
    comparable = aware or known
    if not comparable:
        return None, None
    ordered = sorted(comparable, key=lambda pair: pair[1])
    return ordered[0][0], ordered[-1][0]


def elapsed(start: str | None, end: str | None) -> str:
    """How long it is from start to end; "" where a clock is missing or only one has a zone."""
    first, last = instant(start), instant(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None) or first >= last:
        return ""
    return duration((last - first).total_seconds())


def line_ranges(lines: Iterable[int], cap: int = 6) -> tuple[str, int]:
    """Lines as ranges, "21-25,30", and how many lines past the first `cap` ranges are left out."""
    ranges: list[list[int]] = []
    ordered = sorted(set(lines))
    for line in ordered:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    shown = ranges[:cap]
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return text, len(ordered) - sum(last - first + 1 for first, last in shown)
