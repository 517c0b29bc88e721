"""The plain rows of a kind of block: room for all of them, filled one stretch of the text after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats import _clock
from iodiag.formats._aligned import aligned_rows
from iodiag.formats._body import Floats, Numbers, Tokens
from iodiag.formats._codes import factorized
from iodiag.formats._found import Block
from iodiag.formats._lines import Bools, Ints, Text
from iodiag.formats._row import bare_name, is_fraction, is_item
from iodiag.model.units import KB_PER_BYTE

_MOST_SHAPES = 8  # of aligned rows in one stretch; each is looked for among the lines that are left
_FEWEST_ALIKE = 32
_LONGEST_ROW = 1000  # in bytes
_LONGEST_NAME = 24  # longer ones are compared one by one
_WORD = 8
_SPREAD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_TIME_WIDTH = 8  # 12:24:01


class PlainRows(NamedTuple):
    """What Rows has of plain rows."""

    lines: Ints
    block: Ints
    key: Ints
    names: Sequence[str]
    numbers: Floats
    seconds: Floats
    gaps: Ints
    epoch: Floats
    is_fine: Bools
    begins: Ints


class Sheet:
    """The open lines of the blocks of one kind, and the rows that those of them are which are whole.

    `lines` and the `block` of each are in the order of the text; `has_above` tells which have another
    line of their block above them.
    """

    def __init__(self, first: Block, lines: Ints, block: Ints, has_above: Bools) -> None:
        layout, size = first.layout, len(lines)
        self.first, self.lines, self.block, self._has_above = first, lines, block, has_above
        self._factors = np.array([column.factor for column in layout.columns])
        self._is_size = np.array([column.is_size for column in layout.columns], dtype=np.bool_)
        self._is_scaled = bool((self._factors != 1.0).any())
        self._has_labels = any(column.is_label for column in layout.columns)
        # what is never filled is never touched, and so takes no memory
        self._numbers = np.empty((len(layout.columns), size))
        self._begin = lines.copy()
        self._key_start = np.zeros(size, dtype=np.int64)
        self._key_end = np.zeros(size, dtype=np.int64)
        self._gap = np.zeros(size, dtype=np.int64)
        self._seconds = np.full(size, np.nan)
        self._epoch = np.full(size, np.nan)
        self._is_fine = np.zeros(size, dtype=np.bool_)
        self._last_decimals = np.zeros(size, dtype=np.int8)
        self._usual_decimals = np.zeros(size, dtype=np.int8)
        self._is_last_plain = np.zeros(size, dtype=np.bool_)
        self._is_fitting = np.zeros(size, dtype=np.bool_)
        self._is_row = np.zeros(size, dtype=np.bool_)

    @property
    def has_name_above(self) -> bool:
        """Whether a row's name may stand on a line of its own above the values."""
        layout = self.first.layout
        return layout.key is not None and layout.key_at == "first" and layout.clock == "line"

    def take(self, text: Text, tokens: Tokens, places: Ints) -> None:
        """Take the rows among some lines: those with as many tokens as their header, each of its kind.

        Stretches may be taken in any order, and side by side.
        """
        layout = self.first.layout
        if self._has_labels:
            return
        size, has_key = len(layout.columns), layout.key is not None
        ahead = self.first.clock_tokens if layout.clock == "row" and not self.first.is_label else 0
        width = ahead + has_key + size + (2 if layout.clock == "tail" else 0)
        places, begins = self._whole(tokens, places, width)
        if not len(places):
            return
        at = tokens.begins(begins)
        begin = ahead + (has_key and layout.key_at == "first")
        printed = tokens.printed((at + begin)[:, None] + np.arange(size))
        seconds = epoch = None
        is_timed: Bools = np.ones(len(at), dtype=np.bool_)
        if ahead:
            seconds = _row_clocks(text, tokens, at[:, None] + np.arange(ahead))
            is_timed = ~np.isnan(seconds)
        elif layout.clock == "tail":
            epoch = _tail_clocks(tokens, at[:, None] + np.arange(width - 2, width))
            is_timed = ~np.isnan(epoch)
        here, is_good = self._put(places, begins, printed, is_timed)
        if seconds is not None:
            self._seconds[here] = seconds[is_good]
        if epoch is not None:
            self._epoch[here] = epoch[is_good]
        if has_key:
            is_first = layout.key_at == "first"
            key_at = (at + (begin - 1 if is_first else width - 1))[is_good]
            self._key_start[here], self._key_end[here] = tokens.starts[key_at], tokens.ends[key_at]
            before = text.starts[begins[is_good]] if is_first else tokens.ends[np.maximum(key_at - 1, 0)]
            self._gap[here] = tokens.starts[key_at] - before

    def take_aligned(self, text: Text, part: slice) -> Ints:
        """Take the rows among some lines whose numbers end below each other; the places of the others."""
        layout, left = self.first.layout, np.arange(part.start, part.stop)
        has_name = layout.key is not None
        is_plain = layout.clock not in ("row", "tail") and not self._has_labels
        if not is_plain or (has_name and layout.key_at != "first"):
            return left
        for _ in range(_MOST_SHAPES):
            if len(left) < _FEWEST_ALIKE:
                break
            lines = self.lines[left]
            sizes = text.ends[lines] - text.starts[lines]
            size = int(sizes[len(sizes) // 2])
            alike = np.flatnonzero(sizes == size)
            if size > _LONGEST_ROW:
                break
            rows = aligned_rows(text, lines[alike], len(layout.columns), has_name)
            if rows is None:
                break
            taken = alike[rows.places]
            lines = lines[taken]
            here, is_good = self._put(left[taken], lines, rows.printed, np.ones(len(taken), dtype=np.bool_))
            if has_name:
                self._key_start[here], self._key_end[here] = rows.name_start[is_good], rows.name_end[is_good]
                self._gap[here] = (rows.name_start - text.starts[lines])[is_good]
            left = np.delete(left, taken) if len(taken) < len(left) else left[:0]
        return left

    def _put(
        self, places: Ints, begins: Ints, printed: Numbers, is_timed: Bools
    ) -> tuple[Ints | slice, Bools]:
        """Put rows in their places, those of them that are good; where these are, and which."""
        values, is_good = self._canonical(printed)
        is_even = bool((printed.decimals == printed.decimals[:1, :1]).all())
        self._note_decimals(places, printed, is_even)
        is_good &= is_timed
        if not is_good.all():
            values, places, begins = values[is_good], places[is_good], begins[is_good]
        is_whole = len(places) > 0 and int(places[-1] - places[0]) == len(places) - 1
        here = slice(int(places[0]), int(places[-1]) + 1) if is_whole else places
        self._numbers[:, here] = values.T
        self._is_row[here], self._begin[here] = True, begins
        is_two = printed.decimals == 2
        if is_even:
            self._is_fine[here] = is_two[0, 0]
        else:
            self._is_fine[here] = np.broadcast_to(is_two.any(axis=1), is_good.shape)[is_good]
        return here, is_good

    def _whole(self, tokens: Tokens, places: Ints, width: int) -> tuple[Ints, Ints]:
        """The places of the lines that end a row of so many tokens, and the lines on which these rows begin.

        iostat -h up to 11.7.1 prints the name on a line of its own above the values.
        """
        layout, lines = self.first.layout, self.lines[places]
        counts = tokens.counts(lines)
        fits, begins = counts == width, lines
        if self.has_name_above and not fits.all():
            above = np.maximum(lines - 1, 0)
            is_below_name = ~fits & self._has_above[places] & (counts == len(layout.columns))
            is_below_name[is_below_name] = tokens.counts(above[is_below_name]) == 1
            begins = np.where(is_below_name, above, lines)
            fits = fits | is_below_name
        return places[fits], begins[fits]

    def _canonical(self, printed: Numbers) -> tuple[Floats, Bools]:
        """Values in canonical units, and the rows whose cells are all numbers of one kind.

        No row has decimal commas and points, and no column but a size has a suffix.
        """
        values, is_bad = printed.value, printed.is_bad
        if printed.suffix is not None:
            has_suffix = ~np.isnan(printed.suffix)
            sizes = values * printed.suffix * KB_PER_BYTE
            values = np.where(has_suffix, sizes, values * self._factors)
            is_bad = is_bad | (has_suffix & ~self._is_size)
        elif self._is_scaled:
            values = values * self._factors
        is_good: Bools = np.ones(len(values), dtype=np.bool_)
        if is_bad.any():
            is_good &= ~is_bad.any(axis=1)
        if printed.has_comma.any():
            is_good &= ~(printed.has_comma.any(axis=1) & printed.has_point.any(axis=1))
        return values, is_good

    def _note_decimals(self, places: Ints, printed: Numbers, is_even: bool) -> None:
        """Keep what tells that a row's last number was cut off. `is_even`: all have as many decimals."""
        decimals = printed.decimals
        self._is_fitting[places] = True
        self._last_decimals[places] = decimals[:, -1]
        self._is_last_plain[places] = printed.is_plain[:, -1]
        if decimals.shape[1] > 2 and is_fraction(self.first.layout.columns[-1]):
            if is_even:
                self._usual_decimals[places] = decimals[0, 0]
                return
            others = decimals[:, :-1]
            is_alike = (others == others[:, :1]).all(axis=1)
            self._usual_decimals[places] = np.where(is_alike, others[:, 0], 0)

    def rows(self, text: Text) -> PlainRows:
        """The rows that were taken, without those whose last number is cut off or whose item has no name."""
        is_row = self._is_row & ~self._is_cut_off()
        key = np.zeros(len(is_row), dtype=np.int64)
        names: Sequence[str] = ("",)
        if self.first.layout.key is not None:
            code, words = words_at(text, self._key_start[is_row], self._key_end[is_row])
            names = list(dict.fromkeys(map(bare_name, words)))
            place = {name: n for n, name in enumerate(names)}
            key[is_row] = np.array([place[bare_name(word)] for word in words], dtype=np.int64)[code]
            is_name = np.array([*(is_item(self.first.layout, name) for name in names), False], dtype=np.bool_)
            is_row &= is_name[key]
        kept = slice(None) if is_row.all() else np.flatnonzero(is_row)
        return PlainRows(
            lines=self.lines[kept],
            block=self.block[kept],
            key=key[kept],
            names=names,
            numbers=self._numbers[:, kept].T,
            seconds=self._seconds[kept],
            gaps=self._gap[kept],
            epoch=self._epoch[kept],
            is_fine=self._is_fine[kept],
            begins=self._begin[kept],
        )

    def _is_cut_off(self) -> Bools:
        """Lines whose last number has lost digits at a right margin.

        It has fewer decimals than the column's others in its block, or, being no count, than all other
        columns of its row.
        """
        last, fitting = self._last_decimals, self._is_fitting
        if (last == last[:1]).all():
            most: npt.NDArray[np.int8] = last
        else:
            usual = np.zeros(int(self.block.max()) + 1, dtype=np.int8)
            np.maximum.at(usual, self.block[fitting], last[fitting])
            most = usual[self.block]
        return (last < np.maximum(most, self._usual_decimals)) & self._is_last_plain


def words_at(text: Text, starts: Ints, ends: Ints) -> tuple[Ints, list[str]]:
    """Codes and distinct words of many tokens that repeat, by their offsets."""
    widths = ends - starts
    if not len(widths):
        return np.empty(0, dtype=np.int64), []
    if int(widths.max()) <= _LONGEST_NAME and int(starts[-1]) + _LONGEST_NAME <= len(text.data):
        parts = [_part(text, starts, widths, n) for n in range(-(-int(widths.max()) // _WORD))]
        mixed = parts[0]
        for part, odd in zip(parts[1:], _SPREAD, strict=False):
            mixed = mixed ^ (part * odd)
        codes, where = factorized(mixed)
        if all((part == part[where][codes]).all() for part in parts):
            edges = zip(starts[where].tolist(), ends[where].tolist(), strict=True)
            return codes, [text.data[a:b].decode("utf-8", "replace") for a, b in edges]
    words: dict[bytes, int] = {}
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    codes = np.array([words.setdefault(text.data[a:b], len(words)) for a, b in pairs], dtype=np.int64)
    return codes, [word.decode("utf-8", "replace") for word in words]


def _part(text: Text, starts: Ints, widths: Ints, number: int) -> npt.NDArray[np.uint64]:
    """Eight bytes of each token, zeros behind its end."""
    chars = text.eights[starts + number * _WORD]
    missing = np.clip((number + 1) * _WORD - widths, 0, _WORD)
    bits = (missing << 3).astype(np.uint64)
    # a shift by all 64 bits is undefined, so it takes two
    half = bits >> np.uint64(1)
    result: npt.NDArray[np.uint64] = (chars << half << half) >> half >> half
    return result


def _row_clocks(text: Text, tokens: Tokens, index: Ints) -> Floats:
    """Seconds of the day of each row's first tokens; NaN where they are no clock."""
    starts, widths = tokens.starts[index[:, 0]], tokens.ends[index[:, 0]] - tokens.starts[index[:, 0]]
    if index.shape[1] <= 2 and (widths == _TIME_WIDTH).all():
        seconds = _seconds(text, starts)
        if index.shape[1] == 1:
            return seconds
        halves, words = words_at(text, tokens.starts[index[:, 1]], tokens.ends[index[:, 1]])
        if {*words} <= {"AM", "PM"}:
            is_pm = np.array([word == "PM" for word in words])[halves]
            hours = np.floor(seconds / 3600)
            return np.where(hours <= 24, seconds + 3600 * (hours % 12 + 12 * is_pm - hours), np.nan)
    codes, tables = zip(*(words_at(text, tokens.starts[at], tokens.ends[at]) for at in index.T), strict=True)
    distinct, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    known = [
        _clock.parse_time(" ".join(words[code] for words, code in zip(tables, codes, strict=True)))
        for codes in distinct.tolist()
    ]
    table = np.array([np.nan if seconds is None else seconds for seconds in known])
    result: Floats = table[inverse.ravel()]
    return result


def _seconds(text: Text, starts: Ints) -> Floats:
    """Seconds of the day of eight bytes from some offsets on; NaN where they are no 12:24:01."""
    chars = text.eights[starts].view(np.uint8).reshape(-1, _TIME_WIDTH)
    digits = chars[:, [0, 1, 3, 4, 6, 7]] - np.uint8(48)
    is_clock = (digits <= 9).all(axis=1) & (chars[:, 2] == ord(":")) & (chars[:, 5] == ord(":"))
    is_clock &= digits[:, 2] <= 5
    seconds = digits.astype(np.float64) @ np.array([36000.0, 3600.0, 600.0, 60.0, 10.0, 1.0])
    is_clock &= (digits[:, 4] * np.uint8(10) + digits[:, 5] <= 61) & (digits[:, 0] * 10 + digits[:, 1] <= 24)
    return np.where(is_clock, seconds, np.nan)


def _tail_clocks(tokens: Tokens, index: Ints) -> Floats:
    """The time behind each row's values, in seconds since 1970 as if it were UTC; NaN where none is."""
    dates, times = tokens.words(index[:, 0]), tokens.words(index[:, 1])
    pairs = (_clock.parse_line(" ".join(pair)) for pair in zip(dates, times, strict=True))
    return np.array([_clock.moment(clock, "mdy") for clock in pairs])
