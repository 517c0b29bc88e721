"""What sar's words mean: header tokens of every section to tables and canonical columns.

The one place for sar's raw names (sar.txt): sar's text, sadf's exports and the binary files share it, so
that a number has one name wherever it was read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from iodiag.formats.raw_columns.sar_section import SarSection, Spread, sections
from iodiag.table.table import Floats, Table
from iodiag.table.texts import Texts

_SPREADS = {
    "interrupts": Spread(re.compile(r"all|(?:CPU|cpu)(\d{1,5})"), "cpu", "interrupts_per_s"),
    "interrupts per cpu": Spread(re.compile(r"i0{0,2}(\d{1,5})/s"), "interrupt", "interrupts_per_s"),
    "mpstat interrupts": Spread(
        re.compile(r"(\d{1,5}|[A-Z][A-Z\d_]{1,14}|intr)/s"), "interrupt", "interrupts_per_s", {"intr": "sum"}
    ),
}

SECTIONS = tuple(
    replace(section, spread=_SPREADS.get(section.name))
    for section in sections(Path(__file__).with_name("sar.txt").read_text(encoding="utf-8"))
)
"""Every section of `sar -A`, and those that only old releases print."""

_KEY_TOKENS = frozenset(token for section in SECTIONS for token in section.key_tokens)


_WORDS = frozenset(
    word for one in SECTIONS for words in (one.columns, one.key_tokens, one.label_tokens) for word in words
)
_SPREAD = tuple(section for section in SECTIONS if section.spread is not None)


def _is_known(word: str) -> bool:
    """Whether any section knows a word."""
    return word in _WORDS or any(section.knows(word) for section in _SPREAD)


def find_section(tokens: Sequence[str]) -> SarSection | None:
    """The section that prints these header tokens, or None where no section does.

    Order does not matter. A section with items is meant only where its item token stands; among
    those left it is the one that knows most of the words, and at least half of them.
    """
    words = set(tokens)
    items = words & _KEY_TOKENS
    others = words - items
    if 2 * sum(map(_is_known, others)) < len(others):
        return None  # of a line of prose most sections would be asked for every word
    best, most = None, 0
    for section in SECTIONS:
        if any(not section.knows(item) for item in items):
            continue
        if section.key_tokens and not words & section.key_tokens.keys():
            continue
        known = sum(section.knows(word) for word in others)
        if known > most:
            best, most = section, known
    return best if 2 * most >= len(others) else None


def combine_long_cpu(rows: Table) -> Table:
    """CPU shares of the long form (`-u ALL`, mpstat) in the one meaning of the `cpu` table.

    The long form prints system time without interrupts and user and nice time without guests;
    rows that have those parts (`irq_pct` … not NaN) get them added. Other rows come back as they are.
    """
    if "irq_pct" not in rows:
        return rows
    whole = {
        "system_pct": ("irq_pct", "softirq_pct"),
        "user_pct": ("guest_pct",),
        "nice_pct": ("guest_nice_pct",),
    }
    sums = {}
    for column, parts in whole.items():
        if column in rows:
            present = [np.nan_to_num(rows.floats(part), nan=0.0) for part in parts if part in rows]
            sums[column] = sum(present, start=rows.floats(column))
    return rows.with_columns(**sums)


def unfolded(rows: Table, key: str, items: Sequence[str], column: str, values: Floats) -> Table:
    """A row per item where a section prints an item per column: `values` is rows x `items`."""
    count = len(items)
    long = rows[np.repeat(np.arange(len(rows)), count)]
    names = Texts.coded(np.tile(np.arange(count), len(rows)), items)
    return long.with_columns(**{key: names, column: values.ravel()})
