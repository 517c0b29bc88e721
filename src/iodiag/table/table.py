"""Table: named columns of one length, of which a part costs nothing until it is read.

How a rule uses them:

- `len(samples)`, `"await_ms" in samples`, `samples.names`;
- `samples.floats("await_ms")` is a column as floats, all NaN where there is none; `samples["sample"]` one as
  it is, a KeyError where there is none;
- `samples[mask]`, `samples[places]`, `samples[2:9]` are parts: a mask has a value per sample, places are
  numbers of samples. A part of neighbours shares its parent's memory, any other copies a column when it
  is asked for;
- `samples.with_columns(busy=…)` has further columns, or others in their place;
- `stacked(parts)` are several one below the other;
- `samples.frame` is all of it as a pandas DataFrame, for what numpy does not do.

Nobody changes a column: the arrays are read-only, and each is looked up once. Texts are `Texts`, times
`Times`: `samples["source"][0]`, `samples["device"] == "sda"`, `samples["time"].min()`.

A capture's tables are Tables until somebody asks for a DataFrame: pandas is imported then, which takes
longer than reading and judging a capture of a few thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np
import numpy.typing as npt

from iodiag.table.texts import NO_TEXT, Texts
from iodiag.table.times import Times

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Column = Any
"""A numpy array of numbers, Texts or Times: what `len`, a mask and `take` work on."""


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length; `look_up` gives one that was not asked for yet.

    `given` is the DataFrame that they are of, if any.
    """

    names: Mapping[str, None]
    length: int
    look_up: Callable[[str], Column] = field(repr=False)
    kept: dict[str, Column] = field(default_factory=dict, repr=False)
    kept_floats: dict[str, Floats] = field(default_factory=dict, repr=False)
    given: pd.DataFrame | None = field(default=None, repr=False)

    @staticmethod
    def of(rows: Table | pd.DataFrame) -> Table:
        """The rows of a frame as samples; samples as they are."""
        if isinstance(rows, Table):
            return rows
        return Table(dict.fromkeys(rows.columns), len(rows), lambda name: _column(rows[name]), given=rows)

    @staticmethod
    def of_columns(columns: Mapping[str, Column], length: int) -> Table:
        """A table of these columns, all of which have that length."""
        for name, column in columns.items():
            _check(name, column, length)
        return Table(dict.fromkeys(columns), length, columns.__getitem__)

    def __len__(self) -> int:
        return self.length

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @overload
    def __getitem__(self, wanted: str) -> Column: ...
    @overload
    def __getitem__(self, wanted: slice | Mask | Places) -> Table: ...
    def __getitem__(self, wanted: str | slice | Mask | Places) -> Column | Table:
        if not isinstance(wanted, str):
            return self._part(wanted)
        column = self.kept.get(wanted)
        if column is None:
            if wanted not in self.names:
                raise KeyError(wanted)
            column = self.kept[wanted] = _read_only(self.look_up(wanted))
        return column

    def has(self, name: str) -> bool:
        """Whether any sample has a value in a column."""
        if name not in self.names:
            return False
        column = self[name]
        if isinstance(column, Texts):
            return not column.is_missing().all()
        if isinstance(column, Times):
            return not column.is_unknown().all()
        return bool(len(column)) and not (column.dtype.kind == "f" and np.isnan(column).all())

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

    def _part(self, wanted: slice | Mask | Places) -> Table:
        if isinstance(wanted, slice):
            return self._stretch(wanted)
        places = np.asarray(wanted)
        is_mask = places.dtype == np.bool_
        if is_mask:
            if len(places) != self.length:
                raise IndexError(f"a mask of {len(places)} for {self.length} samples")
            places = np.flatnonzero(places)
        may_be_stretch = len(places) > 0 and places[-1] - places[0] + 1 == len(places)
        if may_be_stretch and (is_mask or (np.diff(places) == 1).all()):
            return self._stretch(slice(int(places[0]), int(places[-1]) + 1))
        return Table(self.names, len(places), lambda name: _taken(self[name], places))

    def _stretch(self, wanted: slice) -> Table:
        places = range(self.length)[wanted]
        if len(places) == self.length and places.step == 1:
            return self
        return Table(self.names, len(places), lambda name: self[name][wanted])

    def with_columns(self, **columns: Column) -> Table:
        """The samples with these columns besides, or in the place of their own."""
        for name, column in columns.items():
            _check(name, column, self.length)
        names = {**self.names, **dict.fromkeys(columns)} if columns.keys() - self.names else self.names
        return Table(names, self.length, lambda name: columns[name] if name in columns else self[name])

    def with_made(self, made: Mapping[str, Callable[[Table], Column]]) -> Table:
        """The samples with columns that are made of the others when they are asked for."""
        names = {**self.names, **dict.fromkeys(made)}
        return Table(names, self.length, lambda name: made[name](self) if name in made else self[name])

    def compact(self) -> Table:
        """The table with texts that know no others: for one of many parts, so that each looks at its own."""

        def look_up(name: str) -> Column:
            column = self[name]
            return column.compact() if isinstance(column, Texts) else column

        return Table(self.names, self.length, look_up)

    def only(self, names: Iterable[str]) -> Table:
        """The samples with those of these columns that they have, and no others."""
        return Table({name: None for name in names if name in self}, self.length, self.__getitem__)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All columns as a DataFrame, numbered from zero.

        Columns that may be written to, as those of a reader, are not copied: a table is there once.
        """
        if self.given is not None:
            return self.given.reset_index(drop=True)
        import pandas as pd

        columns = dict(enumerate(_in_pandas(self.look_up(name)) for name in self.names))
        frame = pd.DataFrame(columns, index=range(self.length), copy=False)
        frame.columns = _index_of(tuple(self.names)).copy()
        return frame


def repeated(value: np.generic | float, count: int) -> npt.NDArray[Any]:
    """A value so many times, in the memory of one; for a few rows np.broadcast_to takes far longer."""
    one = np.asarray(value)
    return np.ndarray((count,), one.dtype, one.tobytes(), strides=(0,))


def is_repeated(column: Column) -> bool:
    """Whether a column is one value in the memory of one."""
    return isinstance(column, np.ndarray) and column.strides == (0,)


def _taken(column: Column, places: npt.NDArray[Any]) -> Column:
    if is_repeated(column) and len(places):
        return repeated(column[0], len(places))
    return column.take(places)


def _check(name: str, column: Column, length: int) -> None:
    if len(column) != length:
        raise ValueError(f"{name} has {len(column)} values for {length} samples")


def stacked(parts: Sequence[Table]) -> Table:
    """Samples one part below the other, with the columns that all of them have."""
    if len(parts) == 1:
        return parts[0]
    names = parts[0].names
    if any(part.names is not names for part in parts):
        names = {name: None for name in names if all(name in part for part in parts)}
    return Table(names, sum(map(len, parts)), lambda name: _joined([part[name] for part in parts]))


def stacked_all_columns(parts: Sequence[Table]) -> Table:
    """Samples one part below the other, with all columns that any has: what one lacks is unknown there."""
    if len(parts) == 1:
        return parts[0]
    names = {name: None for part in parts for name in part.names}

    def look_up(name: str) -> Column:
        known = next(part[name] for part in parts if name in part)
        return _joined([part[name] if name in part else _unknown(known, len(part)) for part in parts])

    return Table(names, sum(map(len, parts)), look_up)


def in_order_of_lines(samples: Table) -> Table:
    """Samples in the order of their lines."""
    lines = samples["line"]
    return samples if (lines[1:] >= lines[:-1]).all() else samples[np.argsort(lines, kind="stable")]


def _unknown(column: Column, count: int) -> Column:
    """What stands for a column that some samples lack."""
    if isinstance(column, Texts):
        return Texts(np.full(count, NO_TEXT, dtype=np.int8), column.categories)
    if isinstance(column, Times):
        return Times(np.full(count, np.datetime64("NaT"), dtype="datetime64[ns]"), column.zone)
    return np.full(count, np.nan, dtype=object if column.dtype == np.bool_ else np.float64)


def numbered(words: Texts) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Words, none missing, as numbers in the order of their first appearance, and the words by number."""
    return words.numbered()


def by_text(samples: Table, name: str) -> Iterator[tuple[str, Table]]:
    """The samples of each text that a column has, in the order of their first appearance."""
    codes, texts = numbered(samples[name])
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(texts))).tolist()
    for text, begin, end in zip(texts, [0, *ends], ends, strict=False):
        yield text, samples[order[begin:end]]


def _column(column: pd.Series) -> Column:
    """A column of a DataFrame."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return column.to_numpy()
    if isinstance(dtype, pd.CategoricalDtype):
        return Texts(np.asarray(column.cat.codes), tuple(map(str, column.cat.categories)))
    if isinstance(dtype, pd.DatetimeTZDtype) or dtype.kind == "M":
        return Times.of_pandas(column)
    if pd.api.types.infer_dtype(column) in ("string", "empty"):
        return Texts.of(column)
    return column.to_numpy()


def _in_pandas(column: Column) -> Any:
    """A column for a DataFrame, which may be written to."""
    if isinstance(column, Texts):
        return column.in_pandas()
    if isinstance(column, Times):
        times = column.in_pandas().array
        return times if column.stamps.flags.writeable else times.copy()
    return column if column.flags.writeable else column.copy()


@lru_cache(maxsize=256)
def _index_of(names: tuple[str, ...]) -> pd.Index[str]:
    """The names of columns as pandas has them: making them takes as long as making several columns."""
    import pandas as pd

    return pd.Index(names)


def _read_only(column: Column) -> Column:
    if isinstance(column, np.ndarray) and column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column


def _joined(columns: Sequence[Column]) -> Column:
    for kind in (Texts, Times):
        if isinstance(columns[0], kind):
            return kind.joined(columns)
    return np.concatenate(columns)
