"""The reading of `sadf -d`, which sadf_csv.py recognises: imported when there is such a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from iodiag.formats.clock import Floats
from iodiag.formats.exports._sadf_lines import Lines, categories, with_segments
from iodiag.formats.exports._sadf_plan import Plan, plan_of, plans_of
from iodiag.formats.exports._sadf_tables import Export, Part, settle_zone, tables
from iodiag.formats.exports._sadf_wide import Fields, Piece, cut
from iodiag.formats.exports.sadf_csv import HEADER, ID, SAMPLE
from iodiag.formats.types import Item
from iodiag.formats.whole_files import CLASS, UNSEEN, Bools, Ints, account
from iodiag.model.capture import ParseNote, Source
from iodiag.table.texts import Texts

_FRONT = 3
_MOST_FIELDS = 100_000
_MOST_LAYOUTS = 1000
_NO_ROW = "not a whole row of the header above it"
_NO_NAMES = "the columns of CPU* have no names: the first is taken as all CPUs, the rest left out"
_NAMES = {"cpu": {"-1": "all"}, "interrupt": {"-1": "sum"}}


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes."""
    lines = Lines.of(source, b";")
    restarts = lines.restarts()
    parts: list[Part] = []
    notes: list[ParseNote] = []
    for header, below in _blocks(lines):
        is_wide = "[...]" in header
        plan = None if is_wide else plan_of(re.split("[;,]", header.lstrip(";")))
        plans = plans_of(header) if is_wide else [plan] if plan else None
        if plans is None:
            lines.refuse(below, f"unknown columns: {header[:100]}")
            continue
        if any(plan.is_matrix for plan in plans):
            notes.append(ParseNote(source.name, int(below[0]) + 1, _NO_NAMES))
        found = _wide_parts(lines, plans, below) if is_wide else _parts(lines, plans[0], below)
        parts += [part for part in found if len(part.lines)]
    lines.refuse_cut_rows(parts)
    parts, cpus = with_segments(parts, restarts)
    is_aware, zone_notes = settle_zone(source.name, lines.zones)
    yield from notes
    yield from zone_notes
    yield from tables(Export(source.name, ID, parts, is_aware, cpus=cpus))
    yield from account(source, lines.classes, lines.reasons)


def _blocks(lines: Lines) -> Iterator[tuple[str, Ints]]:
    """Every distinct header with the lines that look like samples below all of its occurrences."""
    headers: dict[str, int] = {}
    at, kinds = [], []
    for match in HEADER.finditer(lines.data):
        at.append(int(np.searchsorted(lines.starts, match.start(), "right")) - 1)
        kinds.append(headers.setdefault(match[1].decode("utf-8", "replace"), len(headers)))
    lines.classes[at] = CLASS["header"]
    samples = np.array([match.start() for match in SAMPLE.finditer(lines.data)], dtype=np.int64)
    rest = np.searchsorted(lines.starts, samples, "right") - 1
    rest = rest[lines.classes[rest] == UNSEEN]
    above = np.searchsorted(np.array(at, dtype=np.int64), rest) - 1
    lines.refuse(rest[above < 0], "no header above it")
    kind = np.array([*kinds, -1])[above]
    lines.refuse(rest[kind >= _MOST_LAYOUTS], "too many different headers")
    for header, number in list(headers.items())[:_MOST_LAYOUTS]:
        below = rest[(kind == number) & (above >= 0)]
        if len(below):
            yield header, below


def _parts(lines: Lines, plan: Plan, below: Ints) -> Iterator[Part]:
    """The rows below a header: those that have as many fields as it."""
    counts = lines.counts[below]
    spare = counts - _FRONT - plan.width
    fits = spare >= 0 if plan.is_matrix else spare == 0
    lines.refuse(below[~fits], _NO_ROW)
    for width in np.unique(counts[fits]).tolist():
        chosen = below[counts == width]
        fields = lines.fields(chosen, width)
        numbers, is_bad = lines.numbers(fields[[_FRONT + at for at in plan.values_at]])
        words = {name: _rename(name, fields[_FRONT + at]) for name, at in plan.words_at.items()}
        yield _part(lines, plan, chosen, fields, numbers, words, is_bad)


def _part(
    lines: Lines,
    plan: Plan,
    chosen: Ints,
    fields: pd.DataFrame,
    numbers: Floats,
    words: dict[str, Texts],
    is_bad: Bools,
) -> Part:
    """The good ones among rows, with a segment still to be told; the others are left unread."""
    seconds = lines.stamps(fields[2])
    interval, has_no_interval = lines.numbers(fields[[1]])
    good = ~(is_bad | has_no_interval | np.isnan(seconds))
    lines.refuse(chosen[~good], _NO_ROW)
    lines.classes[chosen[good]] = CLASS["row"]
    return Part(
        section=plan.section,
        tokens=plan.tokens,
        lines=chosen[good] + 1,
        hosts=categories(fields[0])[good],
        seconds=seconds[good],
        interval=interval[good, 0],
        segment=np.zeros(int(good.sum()), dtype=np.int64),
        numbers=numbers[good],
        words={name: column[good] for name, column in words.items()},
    )


def _rename(name: str, words: pd.Series[str]) -> Texts:
    """The names that sar's text uses: `all` CPUs, the `sum` of interrupts."""
    return categories(words, _NAMES.get(name, {}))


def _wide_parts(lines: Lines, plans: Sequence[Plan], below: Ints) -> Iterator[Part]:
    """The rows of -h, where every line holds all sections of a sample."""
    rows: dict[Plan, list[tuple[int, Piece, Fields]]] = {plan: [] for plan in plans}
    refused = []
    for line in below.tolist():
        cells = [cell.strip() for cell in lines.text(line).split(";")]
        fields = Fields(cells, lines.decimal_comma) if len(cells) <= _MOST_FIELDS else None
        pieces = cut(plans, fields, _FRONT) if fields else None
        if fields is None or pieces is None:
            refused.append(line)
            continue
        for piece in pieces:
            rows[piece.plan].append((line, piece, fields))
    lines.refuse(refused, _NO_ROW)
    for plan, found in rows.items():
        chosen = np.array([line for line, _, _ in found], dtype=np.int64)
        front = pd.DataFrame(
            [fields.words[:_FRONT] for _, _, fields in found], columns=range(_FRONT), dtype="str"
        )
        numbers = np.array(
            [[fields.numbers[piece.first + at] for at in plan.values_at] for _, piece, fields in found],
            dtype=np.float64,
        ).reshape(len(found), len(plan.values_at))
        words = {
            name: _rename(name, pd.Series([f.words[piece.first + at] for _, piece, f in found], dtype="str"))
            for name, at in plan.words_at.items()
        }
        yield _part(lines, plan, chosen, front, numbers, words, np.zeros(len(found), dtype=np.bool_))
