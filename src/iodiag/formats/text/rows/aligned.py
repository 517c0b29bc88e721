"""Rows whose numbers end below each other, as tools print them: read without looking for their tokens.

Lines of one length are held against a shape, that of one of them: where its tokens end, where it has decimal
signs, a clock, a name. Where all numbers of a line end in the same columns, and the bytes in front of each
end are digits, a decimal sign where the shape has one, and blanks, the line has as many tokens as the shape,
and each is a number. The eight bytes in front of an end hold it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from iodiag.formats.text.array_types import Chars, Eights
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.category_codes import hash_words
from iodiag.formats.text.rows.row_clocks import TIME_WIDTH, in_half, seconds_of_day
from iodiag.table.table import Bools, Floats, Ints

DECIMALS = 2
"""How many digits stand behind a decimal sign."""

_WORD = 8  # bytes that are read at a time
_MOST_CELLS = 1 << 14  # more do not come again and again
_WIDEST_NAME = 64  # in bytes, with the blanks around it
_BLANK = ord(" ")
_SIGN_AT = DECIMALS + 1  # from the end of a number
_SIGNS = b".,"
_DIGITS = 10
_VISIBLE = 255 - _BLANK  # all but control characters and 255
_TOKEN = re.compile(rb"[^ ]+")
_TOGETHER = 16  # rows whose templates stand side by side: going from row to row takes longer than a row

_CLOCK = b"00:00:00"
_CLOCK_WIDTHS = (0, TIME_WIDTH, TIME_WIDTH + len(" PM"))  # by the number of its words

# of the third pair and the first, the fourth and the second; a sign stands where a digit would, and makes the
# weight of all in front of it a tenth
_WEIGHTS = np.array(
    [[100 + (10**6 << 32), 1 + (10**4 << 32)], [10 + (10**5 << 32), 1 + (10**3 << 32)]], dtype=np.uint64
)
_TO_PAIRS, _BYTE = np.uint64((10 << 8) + 1), np.uint64(8)
_OUTER_PAIRS, _TWO_BYTES, _FOUR_BYTES = np.uint64(0x000000FF000000FF), np.uint64(16), np.uint64(32)


class AlignedRows(NamedTuple):
    """Which of some lines are rows of a shape, the numbers of their names, and their clocks, if any.

    Each is anything for a line that is no row.
    """

    fits: Bools
    name: Ints | None
    seconds: Floats | None

    def only(self, places: Ints) -> AlignedRows:
        """The rows at some places."""
        name = None if self.name is None else self.name[places]
        return AlignedRows(self.fits[places], name, None if self.seconds is None else self.seconds[places])


class Cells:
    """The cells of names, which come again in every report, by number: what each holds is looked at once.

    `words` are those that cells hold, in the order of their first appearance, `before` how many blanks stand
    in front of each.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.before: list[int] = []
        self._mixed: Eights = np.empty(0, dtype=np.uint64)
        self._parts: list[Eights] = []
        self._number: Ints = np.empty(0, dtype=np.int64)

    def cell_codes(self, parts: Sequence[Eights], cell: Callable[[int], bytes]) -> Ints:
        """The number of each cell by its bytes, eight in each part; -1 for one that does not hold one word.

        `cell` gives the one at a place.
        """
        words = hash_words(parts)
        numbers = self._known(words, parts)
        if numbers is None and len(self._mixed) <= _MOST_CELLS:
            new, first = np.unique(words, return_index=True)
            first = first[~np.isin(new, self._mixed)]
            self._learn(words[first], [part[first] for part in parts], [*map(cell, first.tolist())])
            numbers = self._known(words, parts)
        # there are too many, or two whose bytes mix to the same
        return np.full(len(words), -1) if numbers is None else numbers

    def _known(self, words: Eights, parts: Sequence[Eights]) -> Ints | None:
        """The number of each cell, or None when one was not seen yet."""
        if not len(self._mixed):
            return None
        at = np.minimum(np.searchsorted(self._mixed, words), len(self._mixed) - 1)
        is_known = all((own[at] == part).all() for own, part in zip(self._parts, parts, strict=True))
        return self._number[at] if is_known else None

    def _learn(self, new: Eights, parts: Sequence[Eights], cells: Sequence[bytes]) -> None:
        numbers = []
        for cell in cells:
            words = cell.split()
            numbers.append(len(self.words) if len(words) == 1 else -1)
            if len(words) == 1:
                self.words.append(words[0].decode("utf-8", "replace"))
                self.before.append(len(cell) - len(cell.lstrip()))
        known = np.concatenate((self._mixed, new))
        order = np.argsort(known)
        before = self._parts or [np.empty(0, dtype=np.uint64) for _ in parts]
        self._mixed = known[order]
        self._parts = [np.concatenate(pair)[order] for pair in zip(before, parts, strict=True)]
        self._number = np.concatenate((self._number, numbers))[order].astype(np.int64)


class Shape(NamedTuple):
    """How rows of `size` bytes are laid out.

    `clock` is the number of words of the clock in front, `name` where the cell of the name begins and ends
    (None: there is none), `tokens` how many they are with the numbers. `ends` is where the numbers end, each
    behind its last digit; those that `has_sign` marks have decimals. A byte of a row is one of `choices`, of
    which `least` is the lowest, or a blank where it `may_be_blank`: each for `_TOGETHER` rows. `kept` and
    `weights` make a number of the eight bytes in front of its end.
    """

    size: int
    clock: int
    name: tuple[int, int] | None
    tokens: int
    ends: Sequence[int]
    has_sign: Bools
    least: Chars
    choices: Chars
    may_be_blank: Bools
    kept: Eights
    weights: Eights


def shape_of(line: bytes, columns: int, clock: int, name: Literal["first", "last"] | None) -> Shape | None:
    """The shape of a row of so many numbers behind a clock of so many words, with a name first or last.

    None where the line is no such row, or too narrow; that it is one, only `rows_in` proves.
    """
    ends = [match.end() for match in _TOKEN.finditer(line)]
    tokens = clock + columns + (name is not None)
    if len(ends) != tokens or clock >= len(_CLOCK_WIDTHS):
        return None
    lead = _CLOCK_WIDTHS[clock]
    cell = None
    if name == "last":
        cell = (ends[-2], len(line))
        ends.pop()
    ends = ends[-columns:]
    if name == "first":
        cell = (lead, ends[0] - _WORD)
    front = cell[1] if cell and name == "first" else lead  # where the first number may begin
    if ends[0] < max(_WORD, front + 2) or (cell and not 2 <= cell[1] - cell[0] <= _WIDEST_NAME):
        return None
    numbers = [
        _number(line, max(begin, end - _WORD), end)
        for begin, end in zip([front, *ends[:-1]], ends, strict=True)
    ]
    if len({number.sign for number in numbers} - {0}) > 1:
        return None
    # a token that began where another ends would make one of both
    alone = [*ends[:-1], *([lead] if clock else [])]
    if cell:
        alone.append(cell[0] if name == "last" else cell[1] - 1)
    least, choices, may_be_blank = _template(len(line), lead, cell, numbers, alone)
    kept = b"".join(number.kept.rjust(_WORD, b"\0") for number in numbers)
    has_sign = np.array([number.sign > 0 for number in numbers])
    return Shape(
        size=len(line),
        clock=clock,
        name=cell,
        tokens=tokens,
        ends=ends,
        has_sign=has_sign,
        least=np.frombuffer(least * _TOGETHER, dtype=np.uint8),
        choices=np.frombuffer(choices * _TOGETHER, dtype=np.uint8),
        may_be_blank=np.frombuffer(may_be_blank * _TOGETHER, dtype=np.bool_),
        kept=_once_if_even(np.frombuffer(kept, dtype="<u8")[:, None]),
        weights=_once_if_even(_WEIGHTS[has_sign.astype(np.intp)]),
    )


class _Number(NamedTuple):
    """Where a number may begin, where it ends, its decimal sign (0: none), and what is kept of its bytes."""

    begin: int
    end: int
    sign: int
    kept: bytes


def _number(line: bytes, begin: int, end: int) -> _Number:
    kept = b"\x0f" * (end - begin)
    sign = line[end - _SIGN_AT] if end - _SIGN_AT >= begin else 0
    if sign not in _SIGNS:
        return _Number(begin, end, 0, kept)
    return _Number(begin, end, sign, kept[:-_SIGN_AT] + b"\0" + kept[-DECIMALS:])


def _template(
    size: int, lead: int, cell: tuple[int, int] | None, numbers: Sequence[_Number], alone: Sequence[int]
) -> tuple[bytearray, bytearray, bytearray]:
    """The least byte in each place of a row, how many choices there are, and where a blank may stand besides.

    It is a blank but for the clock, which ends at `lead`, the cell of the name and the numbers; and where
    it has to stand `alone` between them.
    """
    least, choices, may_be_blank = (bytearray(byte * size) for byte in (b" ", b"\1", b"\0"))
    if lead:
        least[: len(_CLOCK)] = _CLOCK
        choices[: len(_CLOCK)] = bytes(1 if char == ord(":") else _DIGITS for char in _CLOCK)
        choices[len(_CLOCK) : lead] = bytes([_VISIBLE]) * (lead - len(_CLOCK))
    if cell:
        choices[slice(*cell)] = bytes([_VISIBLE]) * (cell[1] - cell[0])
    for begin, end, sign, _ in numbers:
        least[begin:end] = b"0" * (end - begin)
        choices[begin:end] = bytes([_DIGITS]) * (end - begin)
        may_be_blank[begin : end - 1] = b"\1" * (end - 1 - begin)
        if sign:
            # digits may not stand in for it, nor blanks
            at = end - _SIGN_AT
            least[at], choices[at], may_be_blank[at] = sign, 1, 0
    for at in alone:
        least[at], choices[at], may_be_blank[at] = _BLANK, 1, 0
    return least, choices, may_be_blank


def _once_if_even(rows: Eights) -> Eights:
    """One row where all are the same: with a single number numpy takes half the time."""
    return rows[:1] if (rows == rows[:1]).all() else rows


def rows_in(shape: Shape, text: Text, starts: Ints, cells: Cells, values: Floats) -> AlignedRows:
    """The rows of a shape among lines of its length, which begin at `starts`.

    `values` (numbers x lines), all zeros, takes their numbers, and anything for lines that are no rows.
    """
    size, count = shape.size, len(starts)
    # the first line again, until all stand together
    chars = text.windows(size)[np.concatenate((starts, np.repeat(starts[:1], -count % _TOGETHER)))]
    fits = np.ones(count, dtype=np.bool_)
    name = seconds = None
    if shape.name:
        begin, end = shape.name
        name = cells.cell_codes(_parts(chars, count, begin, end), lambda row: chars[row, begin:end].tobytes())
        fits &= name >= 0
    if shape.clock:
        seconds = _seconds(chars, count, shape.clock)
        fits &= ~np.isnan(seconds)
    _put_values(shape, chars, values)
    fits &= _is_as_shown(shape, chars)[:count]
    return AlignedRows(fits, name, seconds)


def _is_as_shown(shape: Shape, chars: Chars) -> Bools:
    """Which lines have blanks, digits and signs where they belong, and as many tokens as there should be.

    The bytes are used up: another array as large would not stay in the cache.
    """
    lines = len(chars)
    together = chars.reshape(lines // _TOGETHER, -1)
    is_blank = together == _BLANK
    flags = np.empty_like(is_blank)
    # all lines in one go, as the templates do
    np.greater(is_blank.reshape(-1)[1:], is_blank.reshape(-1)[:-1], out=flags.reshape(-1)[:-1])
    by_line = flags.reshape(lines, -1)
    np.logical_not(is_blank.reshape(lines, -1)[:, -1], out=by_line[:, -1])
    # line by line: one with a token too many and one with too few would make up for each other
    is_whole: Bools = np.count_nonzero(by_line, axis=1) == shape.tokens
    together -= shape.least
    np.less(together, shape.choices, out=flags)
    is_blank &= shape.may_be_blank
    flags |= is_blank
    if not flags.all():  # looking line by line takes longer
        is_whole &= by_line.all(axis=1)
    return is_whole


def _put_values(shape: Shape, chars: Chars, values: Floats) -> None:
    """The numbers in front of each end, into a row for each, which holds zeros.

    The eight bytes in front of an end are one unsigned number. What of them is no digit becomes 0; a
    multiplication adds up neighbours to pairs, and two more the pairs, each with its weight. What counts
    discards and the like is 0 in all rows, and left as it is: memory that nobody writes to is not handed out.
    """
    words = np.empty(values.shape, dtype=np.uint64)
    kept = np.broadcast_to(shape.kept, (len(words), 1))
    used: list[int] = []
    for number, end in enumerate(shape.ends):
        word = words[len(used)]
        np.bitwise_and(_eights(chars, end - _WORD, len(word)), kept[number], out=word)
        if np.bitwise_or.reduce(word):
            used.append(number)
    words = words[: len(used)]
    weights = shape.weights if len(shape.weights) == 1 else shape.weights[used]
    words *= _TO_PAIRS
    words >>= _BYTE
    others = words >> _TWO_BYTES
    words &= _OUTER_PAIRS
    words *= weights[:, :1]
    others &= _OUTER_PAIRS
    others *= weights[:, 1:]
    words += others
    words >>= _FOUR_BYTES
    mantissa = others.view(np.float64)
    mantissa[...] = words.view(np.int64)
    for number, own in zip(used, mantissa, strict=True):
        np.divide(own, 10.0**DECIMALS if shape.has_sign[number] else 1.0, out=values[number])


def _eights(chars: Chars, at: int, count: int) -> Eights:
    """The eight bytes from a column on, of the first so many lines, the first of them the lowest."""
    return np.ndarray((count,), "<u8", chars, at, (chars.shape[1],))


def _parts(chars: Chars, count: int, begin: int, end: int) -> list[Eights]:
    """The bytes of some columns of each line, eight in each part."""
    width = end - begin
    if width >= _WORD:
        return [_eights(chars, at, count).copy() for at in (*range(begin, end - _WORD, _WORD), end - _WORD)]
    at = min(begin, chars.shape[1] - _WORD)
    kept = np.uint64((1 << 8 * width) - 1 << 8 * (begin - at))
    return [_eights(chars, at, count) & kept]


def _seconds(chars: Chars, count: int, words: int) -> Floats:
    """Seconds of the day of the clock that each line begins with; NaN where it is no time.

    That it has digits where it should is not looked at.
    """
    seconds = seconds_of_day(_eights(chars, 0, count))
    if words == 1:
        return seconds
    half = chars[:count, len(_CLOCK) : _CLOCK_WIDTHS[words]]
    is_pm = half[:, 1] == ord("P")
    is_half = (half[:, 0] == _BLANK) & (is_pm | (half[:, 1] == ord("A"))) & (half[:, 2] == ord("M"))
    return np.where(is_half, in_half(seconds, is_pm), np.nan)
