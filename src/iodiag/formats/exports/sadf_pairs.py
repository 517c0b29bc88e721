"""sadf -p: one value per line, of sysstat 9.1 to 12.7: host, interval, time stamp, item, name and value.

TABs stand between them. The item is `-` where a section has none, and carries a prefix where it
is a number (`cpu0`, `i019`, `ttyS1`). 11.6.1 prints two per cent signs in front of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iodiag.formats.exports._sadf_tables import Export, Part, settle_zone, short_reports, short_rows, tables
from iodiag.formats.raw_columns.sar import SECTIONS
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account
from iodiag.model.capture import Source
from iodiag.table.table import Bools, Ints
from iodiag.table.texts import Texts

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.formats.exports._sadf_lines import Lines

_EXAMPLE = """\
db1\t600\t2026-11-20 12:30:01 UTC\tsda\ttps\t337.00
db1\t600\t2026-11-20 12:30:01 UTC\tsda\t%util\t2.00
"""

_SAMPLE = re.compile(
    rb"^[^\t\n]{1,255}+\t-?\d{1,9}\t(?:\d{4}-\d\d-\d\d |\d{9,10}[ \t])[^\t\n]*+\t[^\t\n]*+\t", re.MULTILINE
)
_WIDTH = 6
_MOST_LAYOUTS = 2000
_PREFIXES = {
    "cpu": r"cpu(?=\d)",
    "interrupt": r"i0{0,2}(?=\d)",
    "tty": r"ttyS(?=\d)",
    "fan": r"fan(?=\d)",
    "sensor": r"temp(?=\d)",
    "input": r"in(?=\d)",
    "bus": r"bus(?=\d)",
    "battery": r"bat(?=\d)",
}


class _Piece(NamedTuple):
    """The names `first` to `last` (left out) of a run of lines: one row of a section."""

    section: SarSection
    first: int
    last: int


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes. A row's `line` is that of its first value."""
    from iodiag.formats.exports._sadf_lines import Lines, with_segments

    lines = Lines.of(source, b"\t")
    restarts = lines.restarts()
    begins = np.array([match.start() for match in _SAMPLE.finditer(lines.data)], dtype=np.int64)
    chosen = np.searchsorted(lines.starts, begins, "right") - 1
    chosen = chosen[lines.classes[chosen] == UNSEEN]
    fits = lines.counts[chosen] == _WIDTH
    lines.refuse(chosen[~fits], "not host, interval, time, item, name and value")
    parts, cpus = with_segments(list(_parts(lines, chosen[fits])), restarts)
    lines.refuse_cut_rows(parts)
    is_aware, notes = settle_zone(source.name, lines.zones)
    yield from notes
    yield from short_rows(source, parts)
    yield from short_reports(source, parts)
    yield from tables(Export(source.name, FORMAT.id, parts, is_aware, cpus=cpus))
    yield from account(source, lines.classes, lines.reasons)


def _parts(lines: Lines, chosen: Ints) -> Iterator[Part]:
    """Rows of equal names at once: runs of lines with the same host, time and item."""
    import pandas as pd

    fields = lines.fields(chosen, _WIDTH)
    seconds = lines.stamps(fields[2])
    interval, is_bad = lines.floats_of(fields[[1]])
    good = ~(np.isnan(seconds) | is_bad)
    lines.refuse(chosen[~good], "no interval or no time in it")
    chosen, fields = chosen[good], fields[good].reset_index(drop=True)
    seconds, interval = seconds[good], interval[good, 0]
    hosts, items = lines.words(fields[0]), lines.words(fields[3])
    codes, names = pd.factorize(fields[4].str.strip().str.replace("%%", "%", regex=False))
    keys = np.stack((hosts.codes, items.codes, seconds))
    is_first = np.ones(len(chosen), dtype=np.bool_)
    is_first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0) | (np.diff(chosen) != 1)
    first = np.flatnonzero(is_first)
    for number, (run, starts) in enumerate(_runs(codes, first).items()):
        if number == _MOST_LAYOUTS:
            lines.refuse(chosen[lines.classes[chosen] == UNSEEN], "too many different rows")
            break
        words = [str(names[code]) for code in np.frombuffer(run, dtype=codes.dtype)]
        for has_item in (False, True):
            own = starts[(items[starts] != "-") == has_item]
            for piece in _pieces(words, has_item) if len(own) else []:
                places = own[:, None] + np.arange(piece.first, piece.last)
                if piece.section.name == _UNKNOWN.name:
                    lines.refuse(chosen[places.ravel()], "unknown name of a value")
                    continue
                yield _part(lines, piece, words, chosen, fields, places, seconds, interval, hosts, items)


def _runs(codes: Ints, first: Ints) -> dict[bytes, Ints]:
    """The places where runs of equal names begin, by these names."""
    found: dict[bytes, list[int]] = {}
    for begin, end in pairwise([*first.tolist(), len(codes)]):
        found.setdefault(codes[begin:end].tobytes(), []).append(begin)
    return {run: np.array(starts, dtype=np.int64) for run, starts in found.items()}


def _pieces(words: Sequence[str], has_item: bool) -> Iterator[_Piece]:
    """The sections that follow each other in a run, each as long as one section knows the names."""
    at = 0
    while at < len(words):
        sizes = {section.name: _known(section, words, at, has_item) for section in SECTIONS}
        size = max(sizes.values())
        section = next(s for s in SECTIONS if sizes[s.name] == size) if size else _UNKNOWN
        yield _Piece(section, at, at + max(size, 1))
        at += max(size, 1)


_UNKNOWN = SarSection("unknown", "", {})


def _known(section: SarSection, words: Sequence[str], at: int, has_item: bool) -> int:
    """How many names from `at` on can be one row of the section."""
    if bool(section.key_tokens) != has_item:
        return 0
    seen: set[str] = set()
    for word in words[at:]:
        if word in seen or word in section.key_tokens or not section.knows(word):
            break
        seen.add(word)
    return len(seen)


def _part(
    lines: Lines,
    piece: _Piece,
    words: Sequence[str],
    chosen: Ints,
    fields: pd.DataFrame,
    places: Ints,
    seconds: np.ndarray,
    interval: np.ndarray,
    hosts: Texts,
    items: Texts,
) -> Part:
    """The rows of one section, whose values stand on the lines of `places` (rows x names)."""
    import pandas as pd

    section, own = piece.section, words[piece.first : piece.last]
    is_label = np.array([name in section.label_tokens for name in own], dtype=np.bool_)
    cells = places[:, ~is_label]
    values, is_bad = lines.floats_of(pd.DataFrame({0: fields[5].iloc[cells.ravel()]}))
    lines.refuse(chosen[cells.ravel()[is_bad]], "the value is no number")
    values = values.reshape(cells.shape)
    is_less = _has_less_decimals(lines.decimals(chosen[cells.ravel()])[0].reshape(cells.shape)) & (
        values == values
    )
    is_less |= (fields[5].to_numpy() == "")[cells]
    lines.refuse(chosen[cells[is_less]], "the value is missing, or has less decimals than others of its name")
    values[is_less] = np.nan
    rows = chosen[places.ravel()]
    lines.classes[rows] = np.where(lines.classes[rows] == CLASS["unread"], CLASS["unread"], CLASS["row"])
    first = places[:, 0]
    columns = {
        section.label_tokens[name]: lines.words(fields[5].iloc[places[:, column]])
        for column, name in enumerate(own)
        if is_label[column]
    }
    for key in list(section.key_tokens.values())[:1]:
        columns[key] = _rename(key, items[first])
    return Part(
        section=section,
        tokens=tuple(name for name, label in zip(own, is_label, strict=True) if not label),
        lines=chosen[first] + 1,
        hosts=hosts[first],
        seconds=seconds[first],
        interval=interval[first],
        segment=np.zeros(len(first), dtype=np.int64),
        numbers=values,
        words=columns,
    )


def _has_less_decimals(decimals: Ints) -> Bools:
    """The few values that have less decimals than most of their name, a column each."""
    if not decimals.size:
        return np.zeros(decimals.shape, dtype=np.bool_)
    usual = np.array([np.argmax(np.bincount(np.minimum(column, 9))) for column in decimals.T])
    is_less: Bools = decimals < usual
    return is_less


def _rename(key: str, items: Texts) -> Texts:
    """Items as sar's text calls them: without the prefix of numbers."""
    names = [
        re.sub(rf"^(?:{_PREFIXES[key]})", "", name) if key in _PREFIXES else name for name in items.categories
    ]
    return Texts.coded(items.codes, names)


def _recognise(head: bytes) -> bool:
    return len(_SAMPLE.findall(head)) > 1


FORMAT = FileFormat(
    id="sadf-pairs",
    title="sadf -p",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 9.1 to 12.7",
)
