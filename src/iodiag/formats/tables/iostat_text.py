"""iostat text: every layout of `iostat`, `-x`, `-s`, `-h` and `--pretty`, and the avg-cpu line.

sysstat 3.x to 12.8. The flags that change its shape: -x (extended), -s (narrow), -h and --pretty (the
device comes last; with -x the report falls into four parts), -k/-m/-G (units), -t (clock), -N/-j (names).
A header is a row of words that `raw_columns.iostat` knows, with `Device` or `Device:` first
or last; its order is never relied on. `pcp iostat` prints the words of sysstat 10 without svctm, and the size
of a request in kB.
"""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.formats.raw_columns.iostat import CPU_WORDS, DIRECTION, column_of, is_cut_word
from iodiag.formats.types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.30    0.00    1.30   96.40    0.00    0.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     0.70  172.50    1.20  1670.00     7.60    19.32     1.02    5.90   5.60  97.22
"""
_DEVICE = ("Device", "Device:")
_WORDS_OF_PCP = "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util"
_OF_PCP = frozenset(_WORDS_OF_PCP.split(" "))
_PARTS = "rwdfa"  # r/s, w/s, d/s, f/s and aqu-sz begin the parts of -h -x
_HEADERS = (
    "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    *(
        f"Device: rrqm/s wrqm/s r/s w/s r{unit}/s w{unit}/s avgrq-sz avgqu-sz await {waits}svctm %util"
        for unit in ("sec", "kB", "MB")
        for waits in ("", "r_await w_await ")
    ),
    *(
        f"Device r/s w/s r{unit}/s w{unit}/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz "
        "rareq-sz wareq-sz svctm %util"
        for unit in ("kB", "MB")
    ),
    *(
        f"Device r/s r{unit}/s rrqm/s %rrqm r_await rareq-sz w/s w{unit}/s wrqm/s %wrqm w_await wareq-sz "
        f"d/s d{unit}/s drqm/s %drqm d_await dareq-sz {flush}aqu-sz %util"
        for unit in ("kB", "MB", "GB")
        for flush in ("", "f/s f_await ")
    ),
)


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of an avg-cpu or device header; a forum may drop the blank behind its first word's colon."""
    first, _, glued = words[0].partition(":")
    if glued and first in ("Device", "avg-cpu"):
        words = (f"{first}:", glued, *words[1:])
    if words[0][-1] in ":：" and len(words) > 3 and all(word in CPU_WORDS for word in words[1:]):
        return _cpu(words[1:])
    if words[0] in _DEVICE and len(words) > 1:
        return _device(words[1:], is_last=False)
    if words[-1] in _DEVICE and len(words) > 1:
        return _device(words[:-1], is_last=True)
    return None


def _cpu(words: tuple[str, ...]) -> Layout:
    columns = tuple(LayoutColumn(word, CPU_WORDS[word], 1.0, "cpu") for word in words)
    return Layout("iostat", "avg-cpu", "cpu", columns, clock="line", place=0)


def _device(words: tuple[str, ...], is_last: bool) -> Layout | None:
    """The Layout of a device header; words that a later release may have added are not kept."""
    is_cut = not is_last and is_cut_word(words[-1])
    words = words[:-1] if is_cut else words
    is_pcp = set(words) == _OF_PCP
    found = [
        None
        if _has_lost_direction(word, words)
        else column_of("areq-sz" if is_pcp and "rq-" in word else word)
        for word in words
    ]
    known = [column for column in found if column is not None]
    if not known or 2 * len(known) < len(words):
        return None
    return Layout(
        format="iostat",
        name=_name(words, is_last),
        family="disk",
        columns=tuple(column or LayoutColumn(w, None) for w, column in zip(words, found, strict=True)),
        key="device",
        key_at="last" if is_last else "first",
        clock="line",
        unknown=tuple(word for word, column in zip(words, found, strict=True) if column is None),
        is_cut=is_cut,
        place=_place(words, is_last),
        is_part_of_table=is_last and not _is_whole(known),
        has_groups=True,
    )


def _has_lost_direction(word: str, words: tuple[str, ...]) -> bool:
    """Whether a word that may have a direction has none (kB/s) in a header that tells directions apart.

    No release prints the sum of both beside them.
    """
    return _is_of_direction(f"r{word}") and any(map(_is_of_direction, words))


def _is_of_direction(word: str) -> bool:
    """Whether a word begins with the letter of its direction (wkB/s, rrqm/s, dareq-sz)."""
    column = column_of(word)
    return column is not None and str(column.column).startswith(DIRECTION.get(word[0], "?"))


def _is_whole(columns: Sequence[LayoutColumn]) -> bool:
    """Whether columns are no part of those that `-h -x` spreads a report over."""
    names = {column.column for column in columns}
    return "ios_per_s" in names or {"reads_per_s", "writes_per_s"} <= names


def _place(words: tuple[str, ...], is_last: bool) -> int:
    """Where a table of devices stands in its report: below avg-cpu, a part in the order of all parts."""
    # of a header that lost its first word the next begins alike
    return 1 + max(_PARTS.find(words[0][0]), 0) if _is_part_by_words(words, is_last) else 1


def _is_part_by_words(words: tuple[str, ...], is_last: bool) -> bool:
    known = set(words)
    return is_last and not {"r/s", "w/s"} <= known and known.isdisjoint(("rqm/s", "tps"))


def _name(words: tuple[str, ...], is_last: bool) -> str:
    """What people call this layout: by its words, for the list of sources."""
    known = set(words)
    if "rqm/s" in known:
        return "iostat -x -s"
    if "tps" in known:
        return "iostat (plain)"
    if _is_part_by_words(words, is_last):
        return f"iostat -x -h, part {words[0]}"
    generations = (("f/s", "X6"), ("d/s", "X5"), ("%rrqm", "X4"), ("r_await", "X3"))
    if known == _OF_PCP:
        return "pcp iostat"
    label = next((name for word, name in generations if word in known), "X2")
    if label == "X2" and "rsec/s" in known and ("rkB/s" in known or "rMB/s" in known):
        label = "X1"
    return f"iostat -x ({label})"


FORMAT = TableFormat(
    id="iostat",
    title="iostat text",
    example=_EXAMPLE,
    layout=layout,
    headers=_HEADERS,
    releases="sysstat 3.x to 12.8, pcp iostat of PCP 3.10 and later",
    not_read="iostat of other systems, which is named and refused: its columns mean other things",
)
