"""Text of sar and mpstat: the sections of raw_columns/sar.py, from sysstat 4 to 12.7, and unknown ones.

What changes its shape: -p and --pretty (the name comes last), -h and --human (suffixes), the locale (12-hour
clocks, a zone behind the clock, decimal commas, the word for Average:), live or from a file. A section is
known by its header's words; the clock in front of them is taken off before they are looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from iodiag.formats.raw_columns.sar import SECTIONS, combine_long_cpu, find_section, unfolded
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.types import Finish, Layout, LayoutColumn, TableFormat
from iodiag.model.columns import KEYS
from iodiag.table.table import Table

_EXAMPLE = """\
Linux 3.10.0 (db1) \t09/19/19 \t_x86_64_\t(4 CPU)

07:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
07:10:01    dev253-89    375.29   3496.57   2559.05     16.14    423.86   1107.75      1.56     58.64
"""
_SPREAD = "spread:"
_TOKENS = frozenset(
    token for section in SECTIONS for token in (*section.columns, *section.key_tokens, *section.label_tokens)
)
_TECHNICAL = re.compile(r".*[/%\d-].*")
_WHOLE = re.compile(
    r"(?:kb|MB)\w+|I(?:free|used)|dentunusd|(?:file|inode|pty|super|dquot|rtsig|runq|plist)-(?:nr|sz)|blocked|"
    r"\w+sck|ip6?-frag|tcp-tw|blg_len|maxpower|(?:active|ina\w+)pg"
)
"""The words of columns that every release prints without decimals."""

_CPU_TIME = ("cpu", "node_cpu")
_UNKNOWN_WORD = re.compile(r"[A-Za-z%][\w%/.+-]{0,30}")
_MOST_UNKNOWN_WORDS = 60
_LAST_OF_PIDSTAT = "Command"
_HEADERS = (
    "DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util",
    "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
    "CPU %user %nice %system %iowait %steal %idle",
    "CPU %user %nice %system %iowait %idle",
    *(
        f"CPU %usr %nice %sys %iowait {shares} %guest {guests}%idle"
        for shares in ("%steal %irq %soft", "%irq %soft %steal")
        for guests in ("", "%gnice ")
    ),
)
_KERNEL = re.compile(r"(\d{1,3})\.(\d{1,4})")
_FIRST_KERNEL_OF_NEW_SAR = (4, 13)  # sysstat 11.5.7, which turned sectors into kB, is of July 2017


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a section's header, without the clock in front of it."""
    section = find_section(words) if not _TOKENS.isdisjoint(words) else None
    if section is None or len(set(words)) < len(words):
        return None
    is_cut = not section.knows(words[-1]) and any(word.startswith(words[-1]) for word in section.columns)
    words = words[:-1] if is_cut else words
    keys = [word for word in words if word in section.key_tokens]
    # prose has words such as "blocked" or "product", but no item and no word with a slash, per cent or digit
    if not keys and not any(section.knows(word) and _TECHNICAL.fullmatch(word) for word in words):
        return None
    key_at = "last" if keys and words[-1] == keys[0] and words[0] != keys[0] else "first"
    if keys and words[0 if key_at == "first" else -1] != keys[0]:
        return None
    values = [word for word in words if word not in keys[:1]]
    is_mpstat = section.name == "mpstat interrupts" or (
        "%irq" in words and "%steal" in words and words.index("%irq") < words.index("%steal")
    )
    tool = "mpstat" if is_mpstat else "sar"
    return Layout(
        format=tool,
        name=f"{tool} {section.name.removeprefix('mpstat ')}",
        family=section.family,
        columns=tuple(_column(section, word) for word in values),
        key=section.key_tokens[keys[0]] if keys else None,
        key_at="last" if key_at == "last" else "first",
        clock="row",
        finish=_finisher(section, values),
        unknown=tuple(word for word in values if not section.knows(word)),
        is_cut=is_cut,
        has_spaced_key=section.family == "filesystem",
        first_report="since boot under its clock" if is_mpstat else "a sample",
    )


def _column(section: SarSection, word: str) -> LayoutColumn:
    entry = section.columns.get(word)
    family = section.family_of(word)
    if section.spread and section.spread.item(word) is not None:
        return LayoutColumn(word, f"{_SPREAD}{section.spread.item(word)}", 1.0, family)
    if word in section.label_tokens:
        return LayoutColumn(word, section.label_tokens[word], 1.0, family, is_label=True)
    if entry is None:
        return LayoutColumn(word, None, 1.0, family)
    name, factor = entry
    is_size, is_whole = "kb" in name.split("_"), _WHOLE.fullmatch(word) is not None
    return LayoutColumn(word, name, factor, family, is_size=is_size, is_whole=is_whole)


def unknown_section(words: tuple[str, ...], row: Sequence[str]) -> Layout | None:
    """The Layout of a section that no release up to 12.7 prints, from its header and its first row.

    Both without the clock. The table has the header's own words for columns; a first or last word
    that is no number in the row names the item.
    """
    if not 0 < len(words) <= _MOST_UNKNOWN_WORDS or len(row) != len(words):
        return None
    if not all(map(_UNKNOWN_WORD.fullmatch, words)) or len(set(words)) < len(words):
        return None
    if not any(map(_TECHNICAL.fullmatch, words)) or words[-1] == _LAST_OF_PIDSTAT:
        return None
    is_value = [bool(re.fullmatch(r"-?\d[\d.,]*[kMGT%]?", cell)) for cell in row]
    # a table of CPUs may show those with a number alone
    is_value[0] &= words[0] != "CPU"
    is_item = [place for place in (0, len(row) - 1) if not is_value[place] and len(row) > 1]
    if len(is_item) > 1 or is_value.count(False) > len(is_item):
        return None
    values = [word for place, word in enumerate(words) if place not in is_item]
    family = "unknown_" + re.sub(r"\W+", "_", words[0]).strip("_").lower()
    return Layout(
        format="sar",
        name=f"sar {words[0]} (unknown section)",
        family=family,
        columns=tuple(LayoutColumn(word, _own_name(word), 1.0, family) for word in values),
        key=_own_name(words[is_item[0]]) if is_item else None,
        key_at="last" if is_item and is_item[0] else "first",
        clock="row",
        unknown=words,
        first_report="a sample",
        remark="a section of sar that iodiag does not know; its words name the columns",
    )


def _own_name(word: str) -> str:
    return f"{word}_" if word in KEYS else word


def _finisher(section: SarSection, words: list[str]) -> Finish | None:
    """What is left to do with a section's frames: add up the long CPU form, unfold a matrix."""
    if section.family in _CPU_TIME and ("%irq" in words or "%guest" in words):
        return _finish_long_cpu
    if section.spread is not None:
        return partial(_unfold, key=section.spread.key, column=section.spread.column)
    return None


def _finish_long_cpu(tables: dict[str, Table]) -> dict[str, Table]:
    return {
        family: combine_long_cpu(rows) if family in _CPU_TIME else rows for family, rows in tables.items()
    }


def _unfold(tables: dict[str, Table], key: str, column: str) -> dict[str, Table]:
    """A row per item for sections that print an item per column."""
    result = {}
    for family, rows in tables.items():
        items = [name for name in rows.names if name.startswith(_SPREAD)]
        if items:
            values = np.stack([rows.floats(name) for name in items], axis=1)
            rest = rows.only(name for name in rows.names if name not in items)
            rows = unfolded(rest, key, [name.removeprefix(_SPREAD) for name in items], column, values)
        result[family] = rows
    return result


def older_or_newer(layouts: Sequence[Layout], kernel: str) -> Layout | None:
    """Of sectors and kB, which the arithmetic of a row cannot tell apart, what the sar of a kernel prints."""
    raw = [{column.raw for column in layout.columns} for layout in layouts]
    if len(layouts) != 2 or "rd_sec/s" not in raw[0] or "svctm" not in raw[1]:
        return None
    match = _KERNEL.match(kernel)
    is_old = match is not None and (int(match[1]), int(match[2])) < _FIRST_KERNEL_OF_NEW_SAR
    return layouts[0] if is_old else None


FORMAT = TableFormat(
    id="sar",
    title="text of sar and mpstat",
    example=_EXAMPLE,
    layout=layout,
    unknown_layout=unknown_section,
    headers=_HEADERS,
    preferred=older_or_newer,
    releases="sysstat 4.0 to 12.7.9",
    not_read="the Minimum and Maximum rows of -x, which the samples tell as well",
)
