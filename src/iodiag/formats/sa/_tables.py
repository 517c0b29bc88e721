"""Rows that come out of a binary file, still by activity: words, numbers and their records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.sa._header import SELF_DESCRIBING, SaHeader, text
from iodiag.formats.sa._rates import Pairs, Stored, distinct, pair
from iodiag.table.table import Floats, Ints
from iodiag.table.texts import Texts, least_type


def spelled(column: npt.NDArray[np.generic], spell: Callable[[object], str], period: int = 0) -> Texts:
    """Every value spelled out; `spell` is asked once per distinct value.

    Where every record has `period` items, mostly the same ones, that number saves work.
    """
    values, inverse = distinct(column, period)
    names: dict[str, int] = {}
    codes = [names.setdefault(spell(value), len(names)) for value in values.tolist()]
    return Texts(np.array(codes, dtype=least_type(len(names)))[inverse], tuple(names))


@dataclass(frozen=True)
class ActivityRows:
    """Rows for one table: the record and the interval of each, its words and its numbers."""

    family: str
    record: Ints
    seconds: Floats
    numbers: Mapping[str, Floats]
    words: Mapping[str, Texts] = field(default_factory=dict)


class Context(NamedTuple):
    """What the decoding of an activity needs to know of its file and segment.

    `seconds` and `ticks` are the lengths of the samples: in seconds, and in the clock ticks of
    all CPUs together (before 0x2175).
    """

    header: SaHeader
    seconds: Floats
    ticks: Floats

    @property
    def is_self_describing(self) -> bool:
        return self.header.magic == SELF_DESCRIBING


def table(
    family: str,
    samples: Pairs,
    numbers: Mapping[str, Floats],
    words: Mapping[str, Texts] | None = None,
) -> ActivityRows:
    """Rows of all these samples."""
    return ActivityRows(family, samples.now.record, samples.seconds, numbers, words or {})


def columns_of(section: SarSection, samples: Pairs, family: str = "") -> dict[str, Floats]:
    """What sar prints of the stored fields without further arithmetic: gauges, and counters as rates."""
    columns = {}
    for token, target in section.columns.items():
        is_wanted = section.family_of(token) == (family or section.family)
        if target is not None and is_wanted and samples.now.has(token):
            column, factor = target
            value = samples.rate(token) if column.endswith("_per_s") else samples.gauge(token)
            columns[column] = value * factor
    return columns


def share(part: Floats, whole: Floats) -> Floats:
    """Per cent of the whole, 0 where that is nothing, as sar has it."""
    return np.divide(100.0 * part, whole, out=np.zeros_like(part), where=whole != 0)


def only_item(stored: Stored, context: Context) -> Pairs:
    """Samples of an activity that has one item for the whole host."""
    one = stored.where((stored.item == 0) & (stored.subitem == 0))
    return pair(one, np.zeros_like(one.item), context.seconds)


def spell_text(value: object) -> str:
    """The word in a field of characters."""
    return text(value) if isinstance(value, bytes) else str(value)


def spell_cpu(item: object) -> str:
    """The CPU that an item stands for: the first is all of them."""
    return "all" if item == 0 else str(int(str(item)) - 1)
