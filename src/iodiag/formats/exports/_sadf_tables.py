"""What sadf's exports have in common: time stamps, restarts, and rows by section into tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.front_columns import front_columns
from iodiag.formats.raw_columns.sar import combine_long_cpu, unfolded
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.model.capture import ParseNote, SampleTable, Section, Source
from iodiag.table.table import Column, Floats, Ints, Table, in_order_of_lines, stacked_all_columns
from iodiag.table.texts import Texts
from iodiag.table.times import Times, span

_STAMP = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?: +(\S{1,20}))?\s*")
_EPOCH = re.compile(r"\s*(\d{9,10})\s*")
_UTC = ("UTC", "GMT", "Z")
_NUMBER = re.compile(r"[-+]?(?:\d{1,40}(?:[.,]\d{1,40})?|[.,]\d{1,40})")
_NO_VALUE = ("nan", "-nan", "inf", "-inf", "NaN", "")
NAMES = {"cpu": {"-1": "all"}, "interrupt": {"-1": "sum"}}
"""What sadf numbers, and sar's text names."""

REPEATED = frozenset(("BUS", "FILESYSTEM", "MOUNTPOINT"))
"""Items of which a sample may have several rows with one name."""


class Part(NamedTuple):
    """Rows of one section that have the same columns.

    `numbers` is rows x `tokens`, as printed. `words` are the columns of words (`device`, `cpu`,
    …) by their canonical names. `seconds` count from 1970 (or from midnight where no date is
    known); `segment` need not be dense, only ascending.
    """

    section: SarSection
    tokens: tuple[str, ...]
    lines: Ints
    hosts: Texts
    seconds: Floats
    interval: Floats
    segment: Ints
    numbers: Floats
    words: Mapping[str, Texts]


@dataclass(frozen=True)
class Export:
    """All that was read of one input. `kernels` and `cpus` are known by segment, or not."""

    source: str
    format: str
    parts: list[Part]
    is_aware: bool
    is_dated: bool = True
    kernels: Mapping[int, str] = field(default_factory=dict)
    cpus: Mapping[int, int] = field(default_factory=dict)


def parse_stamp(text: str) -> tuple[float, str] | None:
    """Seconds since 1970 and the zone (`UTC`, another name, "" for none) of a sadf time stamp."""
    if match := _EPOCH.fullmatch(text):
        return float(match[1]), "UTC"
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(field) for field in match.groups()[:6])
    try:
        midnight = _clock.epoch_of(date(year, month, day), 0.0)
    except ValueError:
        return None
    zone = match[7] or ""
    return midnight + hour * 3600 + minute * 60 + second, "UTC" if zone in _UTC else zone


def parse_number(word: str, decimal_comma: bool) -> float | None:
    """The value of a field, NaN for an empty one and for nan; None where it is no number."""
    word = word.strip()
    if word in _NO_VALUE:
        return float("nan")
    if not _NUMBER.fullmatch(word) or ("," in word and not decimal_comma):
        return None
    return float(word.replace(",", "."))


def settle_zone(source: str, zones: Iterable[str]) -> tuple[bool, list[ParseNote]]:
    """Whether times are absolute, and what to tell where they cannot be."""
    found = set(zones)
    named = sorted(found - {"UTC", ""})
    if named:
        names = ", ".join(named)[:100]
        return False, [ParseNote(source, 0, f"times are in the time zone {names}, kept as printed")]
    if found == {"UTC", ""}:
        reason = "some times are UTC and some do not say their zone: all are kept as printed"
        return False, [ParseNote(source, 0, reason)]
    return found == {"UTC"}, []


def short_rows(source: Source, parts: Sequence[Part]) -> Iterator[ParseNote]:
    """A note where rows of a section lack values that at least as many others of it have."""
    counts: dict[str, dict[frozenset[str], list[int]]] = {}
    for part in parts:
        if part.section.spread is None:
            names = frozenset((*part.tokens, *part.words))
            lines = counts.setdefault(part.section.name, {}).setdefault(names, [])
            lines += part.lines.tolist()
    for section, found in counts.items():
        for names, lines in found.items():
            fuller = [more for more, others in found.items() if names < more and len(lines) <= len(others)]
            if fuller and lines:
                lost = ", ".join(sorted(max(fuller, key=len) - names))[:200]
                reason = (
                    f"{len(lines)} rows of {section} without {lost}, which others have; lines may be lost"
                )
                first = min(lines)
                yield ParseNote(source.name, first, reason, source.quote(first)[:200], is_unread=True)


def short_reports(source: Source, parts: Sequence[Part]) -> Iterator[ParseNote]:
    """A note where a section has no row at few of the times of which others have some.

    That is of sections that every host has; a disk or a mount may come and go. Where it lacks more it was
    asked for by itself, of another part of the day.
    """
    parts = [part for part in parts if len(part.lines) and part.words.keys() <= _OF_EVERY_HOST]
    if not parts:
        return
    segments, reports = _numbers(parts)
    width = 1 + max(int(report.max()) for report in reports)
    keys = [segment * width + report for segment, report in zip(segments, reports, strict=True)]
    every, first = np.unique(np.concatenate(keys), return_index=True)
    lines = np.concatenate([part.lines for part in parts])[first]
    names = [part.section.name for part in parts]
    for name in dict.fromkeys(names):
        own = np.unique(np.concatenate([key for key, of in zip(keys, names, strict=True) if of == name]))
        counts = np.bincount(own // width, minlength=int(every[-1]) // width + 1)
        is_lost = ~np.isin(every, own)
        lost = np.bincount(every[is_lost] // width, minlength=len(counts))
        is_lost &= ((lost < counts) & (lost <= np.maximum(_FEW, _FEW_SHARE * counts)))[every // width]
        if is_lost.any():
            at = int(lines[is_lost].min())
            reason = f"{is_lost.sum()} of {len(every)} reports without {name}; lines may be lost"
            yield ParseNote(source.name, at, reason, source.quote(at)[:200], is_unread=True)


_OF_EVERY_HOST = frozenset(("cpu",))
"""What the rows of a section may be of that every host has all the time."""

_FEW, _FEW_SHARE = 2, 0.1
"""Reports, and their share of those that a section has, that are lost rather than not asked for."""


def tables(export: Export) -> Iterator[SampleTable | Section | ParseNote]:
    """A note where rows are out of order, a table per family, then a Section per segment."""
    parts = [part for part in export.parts if len(part.lines)]
    if not parts:
        return
    # a section's rows follow each other through all restarts of the host
    backs = [(part, _clock.first_back(_clock.unroll_midnight(part.seconds))) for part in parts]
    lines = [int(part.lines[at]) for part, at in backs if at >= 0]
    if lines:
        yield ParseNote(export.source, min(lines), _clock.GOES_BACK)
    segments, reports = _numbers(parts)
    found: dict[str, list[Table]] = {}
    for part, segment, report in zip(parts, segments, reports, strict=True):
        for family, rows in _tables(export, part, segment, report).items():
            found.setdefault(family, []).append(rows)
    for family, alike in found.items():
        yield SampleTable(family, in_order_of_lines(stacked_all_columns(alike)))
    yield from _sections(export, parts, segments, reports)


def _numbers(parts: list[Part]) -> tuple[list[Ints], list[Ints]]:
    """Segment and report of every row: a report is one time of a segment, across all sections."""
    keys = np.stack(
        (np.concatenate([part.segment for part in parts]), np.concatenate([part.seconds for part in parts]))
    )
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    segment_of = np.unique(distinct[0], return_inverse=True)[1]
    report_of = np.arange(distinct.shape[1]) - np.searchsorted(segment_of, segment_of)
    ends = np.cumsum([len(part.lines) for part in parts])[:-1]
    rows = inverse.ravel()
    return np.split(segment_of[rows], ends), np.split(report_of[rows], ends)


def _tables(export: Export, part: Part, segment: Ints, report: Ints) -> dict[str, Table]:
    """The rows of each table that the section's columns belong to."""
    section = part.section
    seconds = part.seconds if export.is_dated else np.full(len(part.lines), np.nan)
    time = Times.of(seconds, is_moment=export.is_aware)
    front = front_columns(export.source, part.lines, part.hosts, time, part.interval, segment, report)
    words = dict(part.words)
    if section.spread is not None:
        items = [section.spread.item(token) for token in part.tokens]
        if any(item is not None for item in items):
            return {section.family: _spread(section, front | words, part.numbers, items)}
    chosen: dict[tuple[str, str], tuple[int, float]] = {}
    for place, token in enumerate(part.tokens):
        entry = section.columns.get(token)
        if entry is None:
            continue
        name, factor = entry
        # where kB and sectors stand side by side, kB is the column itself
        if (section.family_of(token), name) not in chosen or factor == 1.0:
            chosen[section.family_of(token), name] = place, factor
    result = {}
    for family in dict.fromkeys(family for family, _ in chosen):
        data = front | words if family == section.family else dict(front)
        for (owner, name), (place, factor) in chosen.items():
            if owner == family:
                data[name] = part.numbers[:, place] * factor
        rows = Table.of_columns(data, len(part.lines))
        result[family] = combine_long_cpu(rows) if family == "cpu" else rows
    return result


def _spread(
    section: SarSection, data: dict[str, Column], values: Floats, items: Sequence[str | None]
) -> Table:
    """A row per item where a section prints an item per column."""
    spread = section.spread
    assert spread is not None  # the caller asked it for the items
    kept = [place for place, item in enumerate(items) if item is not None]
    names = [str(items[place]) for place in kept]
    front = Table.of_columns(data, len(values))
    rows = unfolded(front, spread.key, names, spread.column, values[:, kept])
    return rows[~np.isnan(rows.floats(spread.column))]


def _sections(
    export: Export, parts: list[Part], segments: list[Ints], reports: list[Ints]
) -> Iterator[Section]:
    numbers = sorted({number for segment in segments for number in np.unique(segment).tolist()})
    for number in numbers:
        inside = [
            (part, segment == number, report)
            for part, segment, report in zip(parts, segments, reports, strict=True)
            if (segment == number).any()
        ]
        seconds = np.concatenate([part.seconds[mask] for part, mask, _ in inside])
        start, end = span(seconds, export.is_aware) if export.is_dated else (None, None)
        first, mask, _ = inside[0]
        own = int(first.segment[mask][0])
        yield Section(
            source=export.source,
            format=export.format,
            layout="; ".join(dict.fromkeys(part.section.name for part, _, _ in inside)),
            host=str(first.hosts[np.flatnonzero(mask)[0]]) or None,
            kernel=export.kernels.get(own),
            cpus=export.cpus.get(own),
            start=start,
            end=end,
            reports=max(int(report[mask].max()) for _, mask, report in inside) + 1,
            rows=sum(int(mask.sum()) for _, mask, _ in inside),
            first_line=min(int(part.lines[mask].min()) for part, mask, _ in inside),
        )
