"""Samples as rules see them: named columns of one length, of which a part costs nothing until it is read.

How a rule uses them:

- `len(samples)`, `"await_ms" in samples`, `samples.names`;
- `samples.floats("await_ms")` is a column as floats, all NaN where there is none (`weighted.values` is the
  same); `samples["sample"]` one as it is, a KeyError where there is none;
- `samples[mask]`, `samples[places]`, `samples[2:9]` are parts: a mask has a value per sample, places are
  numbers of samples. A part of neighbours shares its parent's memory, any other copies a column when it
  is asked for;
- `samples.with_columns(busy=…)` has further columns, or others in their place;
- `stacked(parts)` are several one below the other;
- `samples.frame` is all of it as a pandas DataFrame, for what numpy does not do.

Nobody changes a column: the arrays are read-only, and each is looked up once. Words are pandas
Categoricals, times pandas DatetimeArrays: `str(samples["source"][0])`, `samples["time"].min()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Column = Any
"""A numpy array of numbers, or pandas' own array of words or times: what `len`, a mask and `take` work on."""


@final
@dataclass(frozen=True, eq=False)
class Samples:
    """Columns of one length; `look_up` gives one that was not asked for yet.

    `memo` keeps what is computed of them again and again, by the name of the function.
    """

    names: Mapping[str, None]
    length: int
    look_up: Callable[[str], Column] = field(repr=False)
    kept: dict[str, Column] = field(default_factory=dict, repr=False)
    kept_floats: dict[str, Floats] = field(default_factory=dict, repr=False)
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(rows: Samples | pd.DataFrame) -> Samples:
        """The rows of a frame as samples; samples as they are."""
        if isinstance(rows, Samples):
            return rows
        frame = rows
        return Samples(dict.fromkeys(frame.columns), len(frame), lambda name: _array(frame[name]))

    def __len__(self) -> int:
        return self.length

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @overload
    def __getitem__(self, wanted: str) -> Column: ...
    @overload
    def __getitem__(self, wanted: slice | Mask | Places) -> Samples: ...
    def __getitem__(self, wanted: str | slice | Mask | Places) -> Column | Samples:
        if not isinstance(wanted, str):
            return self._part(wanted)
        column = self.kept.get(wanted)
        if column is None:
            if wanted not in self.names:
                raise KeyError(wanted)
            column = self.kept[wanted] = _read_only(self.look_up(wanted))
        return column

    def floats(self, name: str) -> Floats:
        """A column as floats; all NaN where there is none."""
        column = self.kept_floats.get(name)
        if column is None:
            if name in self.names:
                column = np.asarray(self[name], dtype=np.float64)
            else:
                column = np.full(self.length, np.nan)
            column = self.kept_floats[name] = _read_only(column)
        return column

    def _part(self, wanted: slice | Mask | Places) -> Samples:
        if isinstance(wanted, slice):
            return self._stretch(wanted)
        places = np.asarray(wanted)
        if places.dtype == np.bool_:
            if len(places) != self.length:
                raise IndexError(f"a mask of {len(places)} for {self.length} samples")
            places = np.flatnonzero(places)
        if len(places) and places[-1] - places[0] + 1 == len(places) and (np.diff(places) == 1).all():
            return self._stretch(slice(int(places[0]), int(places[-1]) + 1))
        return Samples(self.names, len(places), lambda name: self[name].take(places))

    def _stretch(self, wanted: slice) -> Samples:
        places = range(self.length)[wanted]
        if len(places) == self.length and places.step == 1:
            return self
        return Samples(self.names, len(places), lambda name: self[name][wanted])

    def with_columns(self, **columns: Column) -> Samples:
        """The samples with these columns besides, or in the place of their own."""
        for name, column in columns.items():
            if len(column) != self.length:
                raise ValueError(f"{name} has {len(column)} values for {self.length} samples")
        names = {**self.names, **dict.fromkeys(columns)} if columns.keys() - self.names else self.names
        kept = {name: _read_only(column) for name, column in columns.items()}
        return Samples(names, self.length, self.__getitem__, kept)

    def only(self, names: Iterable[str]) -> Samples:
        """The samples with those of these columns that they have, and no others."""
        return Samples({name: None for name in names if name in self}, self.length, self.__getitem__)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All columns as a DataFrame, numbered from zero."""
        return pd.DataFrame({name: self[name] for name in self.names}, index=range(self.length))


def stacked(parts: Sequence[Samples]) -> Samples:
    """Samples one part below the other, with the columns that all of them have."""
    if len(parts) == 1:
        return parts[0]
    names = parts[0].names
    if any(part.names is not names for part in parts):
        names = {name: None for name in names if all(name in part for part in parts)}
    return Samples(names, sum(map(len, parts)), lambda name: _joined([part[name] for part in parts]))


def numbered(words: Column) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Words, none missing, as numbers in the order of their first appearance, and the words by number."""
    column = words if isinstance(words, pd.Categorical) else pd.Categorical(words)
    codes, count = np.asarray(column.codes, dtype=np.intp), len(column.codes)
    if count and (column.codes == column.codes[0]).all():
        return np.zeros(count, dtype=np.intp), [str(column.categories[column.codes[0]])]
    first = np.full(len(column.categories), count)
    first[codes[::-1]] = np.arange(count)[::-1]  # of places that are named twice the last one holds
    order = np.argsort(first, kind="stable")[: int((first < count).sum())]
    names = [str(column.categories[code]) for code in order]
    if (order == np.arange(len(order))).all():
        return codes, names
    number = np.zeros(len(first), dtype=np.intp)
    number[order] = np.arange(len(order))
    return number[codes], names


def by_word(samples: Samples, name: str) -> Iterator[tuple[str, Samples]]:
    """The samples of each word that a column has, in the order of their first appearance."""
    codes, words = numbered(samples[name])
    for code, word in enumerate(words):
        yield word, samples[codes == code]


def _array(column: pd.Series) -> Column:
    is_number = isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub"
    return column.to_numpy() if is_number else column.array


def _read_only(column: Column) -> Column:
    if isinstance(column, np.ndarray) and column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column


def _joined(columns: Sequence[Column]) -> Column:
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return pd.concat([pd.Series(column) for column in columns], ignore_index=True).array
