"""One row by hand: for lines that are no plain rows of numbers, but averages, marked, commented, worded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from iodiag.formats import clock as _clock
from iodiag.formats.text.rows.arithmetic import proves
from iodiag.formats.text.rows.numbers import is_figure, is_value, mixes_decimal_signs, odd_number
from iodiag.formats.text.structure.headers import Header
from iodiag.formats.types import Layout, LayoutColumn
from iodiag.model.units import KB_PER_BYTE

_MOST_EXTRA_WORDS = 12
_FIGURES_OF_A_ROW = 4
_MOST_WORDS = 400
_DECIMALS = re.compile(r"\d+[.,]\d+")
_GLUED = re.compile(r"(\d{1,12}[.,]\d\d)((?:0|[1-9]\d{0,11})[.,]\d\d)")
_GROUPED = re.compile(r"\d{1,3}(?: \d{3})*")
_GROUP = re.compile(r"\d{3}(?:[.,]\d{1,3})?")
_KERNEL_NAME = re.compile(
    r"(?:sd|hd|vd|xvd)[a-z]{1,4}\d*|nvme\d+(?:c\d+)?n\d+(?:p\d+)?|dm-\d+|md[\d_]\w*|(?:loop|sr|scd|st|fd|zram|ram|nbd|drbd"
    r"|bcache|pmem|rbd|ubd|mmcblk|zd|emcpower|dasd|vx|sg|mtdblock)[\w!/]*\d\w*|dev\d+-\d+|(?:cciss|rd|ida)[/!]\S+"
)
_SHARE = re.compile(r"[^\s/]+:/(?!/)\S*|\\\\\S+")
_OVERWRITTEN = re.compile(r"\.{1,3}(?:(?:v?e)?r)?age:")
"""The end of Average: where ^C or a prompt stood on the line; no Minimum ends so."""

_WORN = "*`'\"|"  # what a marked or quoted name wears
_BEHIND = _WORN + "_,.;:!"  # and what may stand right behind the last number of a row


class OneRow(NamedTuple):
    """What a line says under its header. `labels` are the cells of its columns of words, in order.

    `values` are in canonical units, `cells` as printed; `seconds` is the line's clock (NaN without),
    `clock` a full time in front of it or behind; `label` the word in front of an average.
    """

    key: str
    values: tuple[float, ...]
    cells: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    seconds: float = math.nan
    clock: _clock.Clock | None = None
    label: str = ""


def is_kernel_name(name: str) -> bool:
    """Whether the kernel itself names block devices so."""
    return bool(_KERNEL_NAME.fullmatch(name))


def parse_row(header: Header, line: str, header_line: str = "") -> OneRow | None:
    """The row that a line is, or None: clock or label, item and values in the header's places.

    Words in front of the item and behind the last value are no part of it: marks, comments, the time
    that a script put there. A figure in either place makes it no row.
    """
    words = [bare if is_figure(bare := word.strip("*`")) else word for word in line.split()]
    layout = header.layout
    if words and not (layout.key_at == "last" or layout.columns[-1].is_label):
        # the emphasis of a text, or the end of a sentence; what a name wears is taken off where names are
        if layout.key is None or layout.clock == "row":
            words[0] = words[0].strip(f"{_WORN}_") or words[0]
        words[-1] = words[-1].rstrip(_BEHIND) or words[-1]
    if not words or len(words) > _MOST_WORDS + len(layout.columns) or mixes_decimal_signs(words):
        return None
    size = len(layout.columns) + (layout.key is not None)
    while len(words) > size and not any(map(str.isalnum, words[0])):
        words = words[1:]
    if len(words) > size + header.lead_tokens:
        words = _regrouped(words, size + header.lead_tokens, line)
    elif len(words) < size and (parted := _parted(words, size)):
        # the row itself has to prove that no digit is lost where they meet
        found = _placed(layout, parted)
        return found if found and proves([column.raw for column in layout.columns], found.cells) else None
    for taken, seconds, label in _leads(header, words):
        if layout.has_spaced_key or any(column.is_label for column in layout.columns):
            found = _worded(layout, words[taken:], line, header_line)
        else:
            found = _placed(layout, words[taken:])
        if found is not None:
            return found._replace(seconds=seconds, label=label)
    return None


def _regrouped(words: list[str], size: int, line: str) -> list[str]:
    """The words with numbers whole whose thousands one blank parts (1 234,50), where that makes `size`."""
    found: list[str] = []
    for word in words:
        if (
            found
            and _GROUP.fullmatch(word)
            and _GROUPED.fullmatch(found[-1])
            and f"{found[-1]} {word}" in line
        ):
            found[-1] += f" {word}"
        else:
            found.append(word)
    # whole numbers beside each other are columns, unless more than a blank stands between columns
    is_wide = not any(f"{left} {right}" in line for left, right in pairwise(found))
    is_told = is_wide or all(_DECIMALS.fullmatch(word.replace(" ", "")) for word in found if " " in word)
    is_told &= len(found) == size
    return [word.replace(" ", "") for word in found] if is_told else words


def _parted(words: list[str], size: int) -> list[str]:
    """The words, with numbers apart that lost the blank between them (55.880.37), if these are `size`.

    Each has two decimals, so that there is one place to part them at.
    """
    glued = [(word, _GLUED.fullmatch(word)) for word in words]
    found = [part for word, match in glued for part in (match.groups() if match else (word,))]
    return found if len(found) == size else []


def _leads(header: Header, words: list[str]) -> Iterator[tuple[int, float, str]]:
    """How many words may be the row's clock or label, the clock's seconds, the label."""
    if header.layout.clock != "row":
        yield 0, math.nan, ""
        return
    size = len(header.layout.columns) + (header.layout.key is not None)
    seconds, taken = _clock.leading_time(words)
    if seconds is not None:
        yield taken, seconds, ""
    is_labelled = len(words) > size and words[0][-1] in ":："
    if not header.lead_tokens and len(words) >= size and not is_labelled:
        yield 0, math.nan, ""
    if _OVERWRITTEN.fullmatch(words[0]) and len(words) > 1:
        yield 1, math.nan, words[0].strip(".:")
    if words[0][0].isdigit() or not words[0][0].isalpha():
        return
    # 10.3.1 prints Summary without its colon, and a colon of an unknown encoding is none
    for count in (1, 2, 3):
        last = words[count - 1] if len(words) > count else ""
        if last and (last[-1] in ":：" or (count == 1 and (last == "Summary" or not last.isascii()))):
            yield count, math.nan, " ".join(words[:count]).rstrip(" :：")


def _placed(layout: Layout, rest: list[str]) -> OneRow | None:
    """The item and the values where they stand next to each other, whatever is around them."""
    size = len(layout.columns) + (layout.key is not None)
    for start in range(min(len(rest) - size, _MOST_EXTRA_WORDS) + 1):
        before, part, after = rest[:start], rest[start : start + size], rest[start + size :]
        if layout.is_cut and after and is_figure(after[0]):
            after = after[1:]
        if (after and is_figure(after[0])) or len(after) > _MOST_EXTRA_WORDS:
            continue
        if sum(map(is_figure, after)) >= _FIGURES_OF_A_ROW:
            continue  # another row whose line feed is lost
        if after and layout.family == "cpu" and layout.key is None and is_kernel_name(after[0]):
            continue  # a row of devices whose header is lost
        stamp = _clock.parse_line(" ".join(before)) if any(word[0].isdigit() for word in before) else None
        if layout.clock == "tail":
            stamp = _clock.parse_line(" ".join(after[:2]))
        if before and (layout.key is None or (stamp is None and any(map(is_figure, before)))):
            continue
        key, cells = "", part
        if layout.key is not None:
            key, cells = (part[-1], part[:-1]) if layout.key_at == "last" else (part[0], part[1:])
            key = bare_name(key)
            if before and is_figure(key):
                continue  # the header has lost a word: this is the first value, its item stands before it
        values = _values(layout, cells)
        if values is not None and (layout.key is None or is_item(layout, key)):
            return OneRow(key, values, tuple(cells), clock=stamp)
    return None


def bare_name(word: str) -> str:
    """A name without what a marked or quoted one wears."""
    bare = word.strip(_WORN)
    # sda* is marked, sd* is what somebody calls several of them
    is_pattern = word.endswith("*") and not word.startswith("*") and not is_kernel_name(bare)
    return f"{bare}*" if is_pattern else bare


def is_item(layout: Layout, word: str) -> bool:
    """Whether a word can name an item: a device has a letter, or is a long identifier.

    Nothing is called by a number with decimals: that is a value of some other table's row. No name begins
    with the header's last word (%util, kB_wrtn), to which it is joined where a line feed is lost.
    """
    last = layout.columns[-1].raw
    if word.startswith(last) and not last.isalnum():
        return False
    if layout.key != "device":
        return any(map(str.isalnum, word)) and not _DECIMALS.fullmatch(word)
    if word.startswith("%"):
        return False
    return any(map(str.isalpha, word)) or (len(word) >= 10 and word.isdigit()) or ":" in word


def is_name_alone(layout: Layout, words: Sequence[str]) -> bool:
    """Whether a line right below a table's rows is an item's name alone, by its form: its values are lost.

    A device is called as the kernel does or by its path, a mount by its server and what that exports.
    """
    if len(words) != 1 or words[0].endswith(":") or layout.clock == "row":
        return False
    if layout.key == "device":
        return is_kernel_name(words[0]) or words[0].startswith("/dev/")
    return layout.key == "mount" and bool(_SHARE.fullmatch(words[0]))


def _values(layout: Layout, cells: Sequence[str]) -> tuple[float, ...] | None:
    if is_fraction(layout.columns[-1]) and is_cut_off(cells):
        return None
    values = []
    for column, cell in zip(layout.columns, cells, strict=True):
        value, suffix, is_bad = odd_number(cell)
        if is_bad or (not math.isnan(suffix) and not column.is_size):
            return None
        values.append(value * column.factor if math.isnan(suffix) else value * suffix * KB_PER_BYTE)
    return tuple(values)


def is_fraction(column: LayoutColumn) -> bool:
    """Whether a column has decimals wherever its tool prints any; counts have none."""
    return bool(column.column) and str(column.column).endswith(("_pct", "_per_s", "_ms"))


def is_cut_off(cells: Sequence[str]) -> bool:
    """Whether the last number has lost digits: all others have the same number of decimals, it has fewer."""
    decimals = [
        len(cell) - cell.replace(",", ".").find(".") - 1 if "." in cell or "," in cell else 0
        for cell in cells
    ]
    others = set(decimals[:-1])
    has_suffix = not cells[-1][-1:].isdigit()
    return len(decimals) > 2 and len(others) == 1 and decimals[-1] < others.pop() and not has_suffix


def _worded(layout: Layout, rest: list[str], line: str, header_line: str) -> OneRow | None:
    """A row with columns of words: blanks may stand in the last of them, and in USB's last two."""
    places = [place for place, column in enumerate(layout.columns) if column.is_label]
    cells = list(rest)
    if layout.key is not None and layout.key_at == "first":
        cells = cells[1:]
    wanted = len(layout.columns) + (layout.key is not None and layout.key_at == "last")
    extra = len(cells) - wanted
    has_two = places[-2:] == [len(layout.columns) - 2, len(layout.columns) - 1]
    if has_two and (names := _names_in_place(line, header_line, cells[wanted - 2 :])):
        cells = [*cells[: wanted - 2], *names]
    elif extra < 0 or len(rest) < 2:
        return None
    elif extra and has_two:
        product = _last_cell(line, header_line)
        begin = len(cells) - len(product.split())
        if not product or begin < wanted - 1:
            return None
        cells = [*cells[: wanted - 2], " ".join(cells[wanted - 2 : begin]), product]
    elif extra:
        cells = [*cells[: wanted - 1], " ".join(cells[wanted - 1 :])]
    key = rest[0] if layout.key is not None and layout.key_at == "first" else ""
    if layout.key is not None and layout.key_at == "last":
        key, cells = cells[-1], cells[:-1]
    labels = tuple(cells[place] for place in places)
    numeric = [cell if place not in places else "nan" for place, cell in enumerate(cells)]
    values = _values(layout, numeric)
    return OneRow(key, values, tuple(cells), labels) if values is not None else None


def _names_in_place(line: str, header_line: str, words: Sequence[str]) -> tuple[str, str] | None:
    """The last two cells of words where one or both are blank: the columns of the header tell which.

    The number in front of them has to end where its own word does, or it may have been cut off.
    """
    spans = [found.span() for found in re.finditer(r"\S+", header_line)][-3:]
    if len(spans) < 3:
        return None
    (_, number), (left, right), (begin, end) = spans
    is_whole = line[number - 1 : number].isdigit() and not line[number : number + 1].strip()
    text = line[number:].strip()
    if not is_whole or text.split() != list(words) or "  " in text:
        return None
    at = number + len(line[number:]) - len(line[number:].lstrip())
    stop = at + len(text)
    if not text or (stop < begin and (at == left or stop == right)):
        return text, ""
    return ("", text) if at == begin or (at > right and stop == end) else None


def _last_cell(line: str, header_line: str) -> str:
    """The last cell of words: behind two blanks, or where the header's last word begins; "" if neither."""
    parted = re.split(r"\s{2,}", line.strip())
    if len(parted) >= 2 and not is_value(parted[-1].split()[0]):
        return parted[-1]
    begin = header_line.rfind(header_line.split()[-1]) if header_line.strip() else -1
    if begin < 1 or begin >= len(line) or not line[begin - 1].isspace():
        return ""
    return line[begin:].strip()
