"""Rows whose numbers end below each other, as tools print them: read without looking for their tokens.

Lines of one length are held against one of them. Where all tokens of a line but its name end in the same
columns, and the bytes in front of each end are digits, a decimal sign where the other has one, and blanks,
the line has as many tokens as the other, and each is a number. The eight bytes in front of an end hold it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats._body import Floats, Numbers
from iodiag.formats._lines import Bools, Ints, Text

_WORD = 8  # bytes that are read at a time
_BLANK = ord(" ")
_DECIMALS = 2
_SIGN_AT = _DECIMALS + 1  # from the end of a number
_POINT, _COMMA = b".,"
_ANY_VISIBLE = (_BLANK, 255 - _BLANK)  # the least byte and how many: all but control characters and 255
_DIGIT = (ord("0"), 10)

# of the third pair and the first, the fourth and the second; a sign stands where a digit would, and makes the
# weight of all in front of it a tenth
_WEIGHTS = np.array(
    [[100 + (10**6 << 32), 1 + (10**4 << 32)], [10 + (10**5 << 32), 1 + (10**3 << 32)]], dtype=np.uint64
)
_TO_PAIRS, _BYTE = np.uint64((10 << 8) + 1), np.uint64(8)
_OUTER_PAIRS, _TWO_BYTES, _FOUR_BYTES = np.uint64(0x000000FF000000FF), np.uint64(16), np.uint64(32)


class AlignedRows(NamedTuple):
    """The rows among some lines: their places, their values, and the offsets of their names in the text.

    The flags of `printed` are those of one row, as they are the same in all.
    """

    places: Ints
    printed: Numbers
    name_start: Ints
    name_end: Ints


def aligned_rows(text: Text, lines: Ints, columns: int, has_name: bool) -> AlignedRows | None:
    """The rows among lines of one length that have so many numbers where the first line has them.

    With `has_name` they begin with one word. None where the first is no such row.
    """
    starts = text.starts[lines]
    size = int(text.ends[lines[0]] - starts[0])
    windows = np.ndarray((len(text.data) - size + 1, size), np.uint8, text.data, strides=(1, 1))
    chars = windows[starts]
    is_blank = chars == _BLANK
    is_end = np.empty_like(is_blank)
    # all lines in one go, as going from line to line takes longer than the work on a line
    flat_blank, flat_end = is_blank.reshape(-1), is_end.reshape(-1)
    np.greater(flat_blank[1:], flat_blank[:-1], out=flat_end[:-1])
    np.logical_not(is_blank[:, -1], out=is_end[:, -1])
    ends = np.flatnonzero(is_end[0]) + 1
    if len(ends) != columns + has_name or ends[-columns] < _WORD + has_name:
        return None
    ends = ends[-columns:]
    front = int(ends[0]) - _WORD if has_name else 0  # where the first number may begin
    begins = np.maximum(np.append(front, ends[:-1]), ends - _WORD)
    signs = chars[0, ends - _SIGN_AT]
    has_sign = ((signs == _POINT) | (signs == _COMMA)) & (ends - _SIGN_AT >= begins)
    fits = _is_as_shown(chars, is_blank, front, begins, ends, np.where(has_sign, signs, 0))
    name_start = name_end = starts
    if has_name:
        name_at = is_blank[:, :front].argmin(axis=1)
        name_start = starts + name_at
        name_end = starts + is_end[:, :front].argmax(axis=1) + 1
        # a word ends in front of the numbers, as what stands right before them is its end or blank
        fits &= is_blank[:, front - 1] | is_end[:, front - 1]
        fits &= chars[np.arange(len(chars)), name_at] != _BLANK
    # so far a line has at least as many tokens as the first
    if np.count_nonzero(is_end) != len(lines) * (columns + has_name) or not fits.all():
        fits &= np.count_nonzero(is_end, axis=1) == columns + has_name
    if not fits[0]:
        return None
    values = _values(chars, begins, ends, has_sign)
    places = np.flatnonzero(fits)
    no, yes = np.zeros((1, columns), dtype=np.bool_), np.ones((1, columns), dtype=np.bool_)
    printed = Numbers(
        value=(values if len(places) == len(lines) else values[:, places]).T,
        suffix=None,
        is_bad=no,
        is_plain=yes,
        has_comma=(has_sign & (signs == _COMMA))[None, :],
        has_point=(has_sign & (signs == _POINT))[None, :],
        decimals=np.where(has_sign, _DECIMALS, 0).astype(np.int8)[None, :],
    )
    return AlignedRows(places, printed, name_start[places], name_end[places])


def _is_as_shown(
    chars: npt.NDArray[np.uint8], is_blank: Bools, front: int, begins: Ints, ends: Ints, signs: Ints
) -> Bools:
    """Which lines have nothing but blanks and digits behind `front`, and signs where they belong (0: none).

    A number ends in a digit, and a blank follows. In front of its eight bytes there are blanks alone.
    """
    size = chars.shape[1]
    least, count = np.full(size, _BLANK, dtype=np.uint8), np.ones(size, dtype=np.uint8)
    may_be_blank = np.zeros(size, dtype=np.bool_)
    least[:front], count[:front] = _ANY_VISIBLE
    for begin, end, sign in zip(begins.tolist(), ends.tolist(), signs.tolist(), strict=True):
        least[begin:end], count[begin:end] = _DIGIT
        may_be_blank[begin : end - 1] = True
        if sign:
            # digits may not stand in for it, nor blanks
            least[end - _SIGN_AT], count[end - _SIGN_AT], may_be_blank[end - _SIGN_AT] = sign, 1, False
    # a number that began where another ends would make one token of both
    least[ends[:-1]], count[ends[:-1]] = _BLANK, 1
    is_fine = np.less(chars - least, count)
    is_fine |= is_blank & may_be_blank
    if is_fine.all():  # looking line by line takes longer
        return np.ones(len(chars), dtype=np.bool_)
    result: Bools = is_fine.all(axis=1)
    return result


def _values(chars: npt.NDArray[np.uint8], begins: Ints, ends: Ints, has_sign: Bools) -> Floats:
    """The numbers that end in some columns, a row for each column.

    The eight bytes in front of an end are one unsigned number. What of them is no digit becomes 0; a
    multiplication adds up neighbours to pairs, and two more the pairs, each with its weight.
    """
    words = np.empty((len(ends), len(chars)), dtype=np.uint64)
    for word, end in zip(words, ends.tolist(), strict=True):
        word[:] = np.ndarray((len(chars),), "<u8", chars, end - _WORD, (chars.shape[1],))
    at = ends[:, None] - _WORD + np.arange(_WORD)
    is_digit = (at >= begins[:, None]) & ~(has_sign[:, None] & (at == ends[:, None] - _SIGN_AT))
    words &= np.where(is_digit, np.uint8(0x0F), np.uint8(0)).view("<u8")
    words *= _TO_PAIRS
    words >>= _BYTE
    weights = _WEIGHTS[has_sign.astype(np.intp)]
    others = words >> _TWO_BYTES
    words &= _OUTER_PAIRS
    words *= weights[:, :1]
    others &= _OUTER_PAIRS
    others *= weights[:, 1:]
    words += others
    words >>= _FOUR_BYTES
    values = words.view(np.int64).astype(np.float64)
    values /= 10.0**_DECIMALS if has_sign.all() else np.where(has_sign, 10.0**_DECIMALS, 1.0)[:, None]
    return values
