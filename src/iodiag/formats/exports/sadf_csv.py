"""sadf -d: rows with semicolons below `# hostname;interval;timestamp;…` headers, of sysstat 9.1 to 12.7.

What changes its shape: -h (all sections of a sample on one line), -t, -T and -U (the time
stamps), LC_NUMERIC (decimal commas), and the options for sar behind `--`. CPU -1 is `all`, and
interrupt -1 the sum; an interval of -1 marks restarts and comments.

The header of -h does not say how many items a line has. Such a line is cut so that every piece has an
item's name where the name belongs and numbers where numbers belong, up to the line's end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iodiag.formats.exports._sadf_tables import (
    NAMES,
    REPEATED,
    Export,
    Part,
    parse_number,
    settle_zone,
    short_reports,
    tables,
)
from iodiag.formats.raw_columns.sar import SECTIONS, find_section
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.text.rows.misplaced_rows import INTERFACE
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account
from iodiag.model.capture import ParseNote, Source
from iodiag.table.table import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.formats.exports._sadf_lines import Lines

_EXAMPLE = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
db1;600;2026-11-20 12:30:01 UTC;sda;337.00;3104.00;3672.00;0.00;20.11;0.03;0.08;2.00
"""

_SAMPLE = re.compile(rb"^[^;\n]*+;-?\d{1,9};[ \t]*(?:\d{4}-\d\d-\d\d |\d{9,10}[ ;])", re.MULTILINE)
_HEADER = re.compile(rb"^#[ \t]*hostname;interval;timestamp((?:;[^\n]*+)?)$", re.MULTILINE)
_FRONT = 3
_MOST_FIELDS = 100_000
_MOST_LAYOUTS = 1000
_NO_ROW = "not a whole row of the header above it"
_OTHER_HEADER = "by its time this row is of another section, whose header is lost or changed places"
_NO_NAMES = "the columns of CPU* have no names: the first is taken as all CPUs, the rest left out"
_MATRIX = "CPU*"
"""The word that 12.5.6 and later print for any number of columns, one per CPU."""

_MOST_SECTIONS = 200
_MOST_WORDS = 5000
_INTEGER = re.compile(r"-?\d{1,9}")
_NUMBERED = ("cpu", "interrupt", "tty", "fan", "sensor", "input", "battery", "bus")
_REPEATS = ("bus",)
_RATE = r"\s*-?\d+[.,]\d+\s*"
_STEPS_PER_FIELD = 8


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes."""
    from iodiag.formats.exports._sadf_lines import Lines, with_segments

    lines = Lines.of(source, b";")
    restarts = lines.restarts()
    parts: list[Part] = []
    notes: list[ParseNote] = []
    for header, below in _blocks(lines):
        is_wide = "[...]" in header
        plan = None if is_wide else _plan_of(re.split("[;,]", header.lstrip(";")))
        plans = _plans_of(header) if is_wide else [plan] if plan else None
        if plans is None:
            lines.refuse(below, f"unknown columns: {header[:100]}")
            continue
        unknown = [word for plan in plans for word in plan.tokens if not plan.section.knows(word)]
        if unknown and not any(plan.is_matrix for plan in plans):
            reason = f"columns that iodiag does not know are left out: {', '.join(unknown)[:200]}"
            notes.append(ParseNote(source.name, int(below[0]) + 1, reason))
        if any(plan.is_matrix for plan in plans):
            notes.append(ParseNote(source.name, int(below[0]) + 1, _NO_NAMES))
        found = _wide_parts(lines, plans, below) if is_wide else _parts(lines, plans[0], below)
        parts += [part for part in found if len(part.lines)]
    lines.refuse_cut_rows(parts)
    parts, cpus = with_segments(parts, restarts)
    is_aware, zone_notes = settle_zone(source.name, lines.zones)
    yield from notes
    yield from zone_notes
    yield from short_reports(source, parts)
    yield from tables(Export(source.name, FORMAT.id, parts, is_aware, cpus=cpus))
    yield from account(source, lines.classes, lines.reasons)


def _blocks(lines: Lines) -> Iterator[tuple[str, Ints]]:
    """Every distinct header with the lines that look like samples below all of its occurrences."""
    headers: dict[str, int] = {}
    at, kinds = [], []
    for match in _HEADER.finditer(lines.data):
        at.append(int(np.searchsorted(lines.starts, match.start(), "right")) - 1)
        kinds.append(headers.setdefault(match[1].decode("utf-8", "replace"), len(headers)))
    lines.classes[at] = CLASS["header"]
    samples = np.array([match.start() for match in _SAMPLE.finditer(lines.data)], dtype=np.int64)
    rest = np.searchsorted(lines.starts, samples, "right") - 1
    rest = rest[lines.classes[rest] == UNSEEN]
    above = np.searchsorted(np.array(at, dtype=np.int64), rest) - 1
    lines.refuse(rest[above < 0], "no header above it")
    kind = np.array([*kinds, -1])[above]
    lines.refuse(rest[kind >= _MOST_LAYOUTS], "too many different headers")
    for header, own_kind in list(headers.items())[:_MOST_LAYOUTS]:
        below = rest[(kind == own_kind) & (above >= 0)]
        if len(below):
            yield header, below


def _parts(lines: Lines, plan: _Plan, below: Ints) -> Iterator[Part]:
    """The rows below a header: those that have as many fields as it."""
    counts = lines.counts[below]
    spare = counts - _FRONT - plan.width
    fits = spare >= 0 if plan.is_matrix else spare == 0
    lines.refuse(below[~fits], _NO_ROW)
    for width in np.unique(counts[fits]).tolist():
        chosen = below[counts == width]
        fields = lines.fields(chosen, width)
        yield _part(lines, plan, chosen, fields, _is_damaged(lines, plan, chosen, fields))


def _is_damaged(lines: Lines, plan: _Plan, chosen: Ints, fields: pd.DataFrame) -> Bools:
    """The rows whose last number is missing, or of which one has lost a decimal that all others have."""
    import pandas as pd

    places = [_FRONT + at for at in plan.values_at]
    result: Bools = (fields[fields.shape[1] - 1] == "").to_numpy() & (places[-1:] == [fields.shape[1] - 1])
    _, kind, count = np.unique(
        np.stack(lines.decimals(chosen)), axis=1, return_inverse=True, return_counts=True
    )
    usual = int(np.argmax(count))
    wanted = [_decimals(word) for word in fields[places].iloc[int(np.argmax(kind == usual))]]
    odd = np.flatnonzero(kind != usual)
    for place, decimals in zip(places, wanted, strict=True):
        codes, words = pd.factorize(fields[place].iloc[odd])
        # names may hold points, and nan holds none
        is_less = [_decimals(word) < decimals and not word.strip(" -").isalpha() for word in words]
        result[odd] |= np.array(is_less, dtype=np.bool_)[codes]
    return result


def _part(
    lines: Lines, plan: _Plan, chosen: Ints, fields: pd.DataFrame, is_damaged: Bools | None = None
) -> Part:
    """The good ones among rows, with a segment still to be told; the others are left unread.

    What -h prints is cut by proofs that rows are whole and their items their header's (`is_damaged` None).
    """
    numbers, is_bad = lines.floats_of(fields[[_FRONT + at for at in plan.values_at]])
    seconds = lines.stamps(fields[2])
    interval, has_no_interval = lines.floats_of(fields[[1]])
    good = ~(is_bad | has_no_interval | np.isnan(seconds))
    if is_damaged is not None:
        good &= ~is_damaged
    lines.refuse(chosen[~good], _NO_ROW)
    headers = np.flatnonzero(lines.classes == CLASS["header"])
    block = np.searchsorted(headers, chosen)
    is_other = good & _is_of_other_header(block, seconds)
    if is_damaged is not None:
        is_other |= good & _is_no_item(plan, block, fields)
    lines.refuse(chosen[is_other], _OTHER_HEADER)
    good &= ~is_other
    lines.classes[chosen[good]] = CLASS["row"]
    return Part(
        section=plan.section,
        tokens=plan.tokens,
        lines=chosen[good] + 1,
        hosts=lines.words(fields[0])[good],
        seconds=seconds[good],
        interval=interval[good, 0],
        segment=np.zeros(int(good.sum()), dtype=np.int64),
        numbers=numbers[good],
        words={
            name: lines.words(fields[_FRONT + at], NAMES.get(name, {}))[good]
            for name, at in plan.words_at.items()
        },
    )


def _is_of_other_header(block: Ints, seconds: Floats) -> Bools:
    """The rows below a header that stand where another header's do, by their times.

    A section's times rise. Rows that begin again at its first time are of the next section, whose header is
    lost; a single row above them that is later is of the section before, whose last line changed places.
    """
    result = np.zeros(len(seconds), dtype=np.bool_)
    for first in np.unique(block, return_index=True)[1].tolist():
        own = first + np.flatnonzero(block[first:] == block[first])
        falls = 1 + np.flatnonzero(np.diff(seconds[own]) < 0)
        again = falls[seconds[own[falls]] == seconds[own[0]]]
        if len(again):
            result[own[again[0] :]] = True
        elif len(falls) and falls[0] == 1:
            result[own[0]] = True
    return result


def _is_no_item(plan: _Plan, block: Ints, fields: pd.DataFrame) -> Bools:
    """The rows whose item cannot be their header's: a rate, an interface as a disk, one that was there."""
    if plan.section.key_tokens.keys() & REPEATED:
        return np.zeros(len(fields), dtype=np.bool_)
    own = fields[[0, 2, *(_FRONT + place for place in plan.words_at.values())]].assign(block=block)
    # a line that stands there twice is the same row
    result: Bools = own.duplicated().to_numpy() & ~fields.duplicated().to_numpy()
    if plan.key is not None:
        items = fields[_FRONT + plan.key].str
        pattern = f"{_RATE}|{INTERFACE.pattern}" if plan.section.family == "disk" else _RATE
        result = result | items.fullmatch(pattern).to_numpy(dtype=np.bool_)
    return result


def _wide_parts(lines: Lines, plans: Sequence[_Plan], below: Ints) -> Iterator[Part]:
    """The rows of -h, where every line holds all sections of a sample."""
    import pandas as pd

    rows: dict[_Plan, list[tuple[int, _Piece, _Fields]]] = {plan: [] for plan in plans}
    refused = []
    usual = Counter(_decimals(lines.text(line)) for line in below.tolist()).most_common(1)[0][0]
    for line in below.tolist():
        cells = [cell.strip() for cell in lines.text(line).split(";")]
        pieces = None
        if len(cells) <= _MOST_FIELDS and _decimals(cells[-1]) == usual:
            fields = _Fields(cells, lines.decimal_comma)
            pieces = _cut(plans, fields, _FRONT)
        for piece in pieces or ():
            rows[piece.plan].append((line, piece, fields))
        refused += [line] if pieces is None else []
    lines.refuse(refused, _NO_ROW)
    for plan, found in rows.items():
        chosen = np.array([line for line, _, _ in found], dtype=np.int64)
        rows_of_plan = [[*f.words[:_FRONT], *f.words[p.first : p.first + plan.width]] for _, p, f in found]
        yield _part(
            lines, plan, chosen, pd.DataFrame(rows_of_plan, columns=range(_FRONT + plan.width), dtype="str")
        )


def _decimals(text: str) -> int:
    """How many decimals the last number has: sadf prints as many in every line of a section."""
    return len(re.search(r"(?:[.,](\d*))?\s*$", text)[1] or "")  # type: ignore[index]


@dataclass(frozen=True, eq=False)
class _Plan:
    """One section of a header: where its words and its values stand among its columns.

    `words_at` goes by canonical names; `key` is the place of the item's name, None without items.
    `is_matrix` says that any number of values may follow the first, which stands for all CPUs.
    """

    section: SarSection
    tokens: tuple[str, ...]
    values_at: tuple[int, ...]
    words_at: dict[str, int]
    key: int | None
    width: int
    is_matrix: bool


def _plan_of(words: Sequence[str]) -> _Plan | None:
    """The plan of one section's words, wherever sadf put the item and the labels among them."""
    section = find_section(["all" if word == _MATRIX else word for word in words])
    if section is None or len(set(words)) < len(words):
        return None  # nothing tells which of two columns a name that stands twice is of
    columns = {**section.key_tokens, **section.label_tokens}
    words_at = {columns[word]: place for place, word in enumerate(words) if word in columns}
    values_at = tuple(place for place, word in enumerate(words) if word not in columns)
    keys = [place for place, word in enumerate(words) if word in section.key_tokens]
    return _Plan(
        section=section,
        tokens=tuple("all" if words[place] == _MATRIX else words[place] for place in values_at),
        values_at=values_at,
        words_at=words_at,
        key=keys[0] if keys else None,
        width=len(words),
        is_matrix=_MATRIX in words,
    )


def _plans_of(header: str) -> list[_Plan] | None:
    """The sections of a wide header (-dh) in their order; None where one of them is unknown.

    `[...]` stands behind a section with items; sections without any follow each other unmarked.
    """
    plans: list[_Plan] = []
    for piece in header.split("[...]"):
        words = [word for word in re.split("[;,]", piece) if word]
        if len(words) > _MOST_WORDS or len(plans) > _MOST_SECTIONS:
            return None
        at = 0
        while at < len(words):
            size = max(_known(section, words, at) for section in SECTIONS)
            plan = _plan_of(words[at : at + size]) if size else None
            if plan is None:
                return None
            plans.append(plan)
            at += size
    return plans or None


def _known(section: SarSection, words: Sequence[str], at: int) -> int:
    """How many words from `at` on can be one row of the section: all known, none of them twice."""
    size, has_key = 0, not section.key_tokens
    seen: set[str] = set()
    for word in words[at:]:
        if word in seen or not (section.knows(word) or (word == _MATRIX and section.name == "interrupts")):
            break
        seen.add(word)
        size += 1
        has_key |= word in section.key_tokens
    return size if has_key else 0


class _Piece(NamedTuple):
    """The fields `first` to `last` (left out) of a line: one row of a section."""

    plan: _Plan
    first: int
    last: int


class _Fields:
    """A line's fields, with the numbers among them."""

    def __init__(self, fields: Sequence[str], decimal_comma: bool) -> None:
        self.words = fields
        self.numbers = [parse_number(field, decimal_comma) for field in fields]

    def is_row(self, plan: _Plan, at: int, width: int, previous: int | None) -> bool:
        """Whether a row of the section can stand at this place; `previous` is where the last one began."""
        if at + width > len(self.words):
            return False
        if plan.key is not None and not self._is_item(plan, at, previous):
            return False
        if plan.is_matrix:
            return all(value is not None for value in self.numbers[at + 1 : at + width])
        return all(self.numbers[at + place] is not None for place in plan.values_at)

    def _is_item(self, plan: _Plan, at: int, previous: int | None) -> bool:
        key = plan.key or 0
        column = next(name for name, place in plan.words_at.items() if place == key)
        name = self.words[at + key]
        if column not in _NUMBERED:
            return bool(name) and self.numbers[at + key] is None
        if not _INTEGER.fullmatch(name):
            return column in ("cpu", "interrupt") and name.isalnum() and not name.isdigit()
        last = "" if previous is None else self.words[previous + key]
        return column in _REPEATS or not _INTEGER.fullmatch(last) or int(name) > int(last)

    def matrix_width(self, at: int) -> int:
        """How many fields from an item on belong to it: rates have a decimal sign, items have none."""
        end = at + 1
        while end < len(self.words) and re.fullmatch(r"\d+[.,]\d+", self.words[end]):
            end += 1
        return end - at


def _cut(plans: Sequence[_Plan], fields: _Fields, first: int) -> list[_Piece] | None:
    """The rows that a line holds from field `first` on, in order; None where it cannot be cut.

    A walk over (section, field) that visits each such state once at most: one more item first,
    else the next section. Lines as sadf writes them need hardly a step back; one that needs many
    is given up.
    """
    size = len(fields.words)
    dead: set[tuple[int, int]] = set()
    path: list[tuple[int, int]] = [(0, first)]
    for _ in range(_STEPS_PER_FIELD * (size + len(plans))):
        if not path:
            return None
        section, at = path[-1]
        if section == len(plans) and at == size:
            return [_Piece(plans[n], a, b) for (n, a), (_, b) in pairwise(path) if b > a]
        following = _following(plans, fields, path) if section < len(plans) else []
        step = next((state for state in following if state not in dead), None)
        if step is None:
            dead.add(path.pop())
        else:
            path.append(step)
    return None


def _following(
    plans: Sequence[_Plan], fields: _Fields, path: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The states that can follow the last one of a path, the likelier first."""
    section, at = path[-1]
    plan = plans[section]
    previous = path[-2][1] if len(path) > 1 and path[-2][0] == section else None
    states = []
    widths = [plan.width]
    if plan.is_matrix and previous is not None:
        widths = [at - previous]
    elif plan.is_matrix:
        widths = list(dict.fromkeys((fields.matrix_width(at), plan.width)))
    for width in widths:
        if fields.is_row(plan, at, width, previous):
            states.append((section, at + width) if plan.key is not None else (section + 1, at + width))
    if plan.key is not None:
        states.append((section + 1, at))
    return states


def _recognise(head: bytes) -> bool:
    return _HEADER.search(head) is not None or len(_SAMPLE.findall(head)) > 1


FORMAT = FileFormat(
    id="sadf-csv",
    title="sadf -d",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 9.1 to 12.7",
    not_read="interrupts per CPU from 12.5.6 on, whose columns have no names",
)
