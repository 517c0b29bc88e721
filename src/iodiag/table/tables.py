"""The tables of a capture by their names: DataFrames for whoever asks for one, columns for whoever judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from iodiag.table.table import Table

if TYPE_CHECKING:
    import pandas as pd


class Tables(MutableMapping[str, "pd.DataFrame"]):
    """DataFrames by family, made when they are asked for; `samples` has the columns without that.

    A DataFrame that was given out is the table from then on: what is done to it is seen by all.
    """

    def __init__(self, tables: Mapping[str, Table | pd.DataFrame] | None = None) -> None:
        self._tables: dict[str, Table | pd.DataFrame] = {}
        if isinstance(tables, Tables):
            self._tables |= tables._tables
        elif tables:
            self._tables |= tables

    def __getitem__(self, family: str) -> pd.DataFrame:
        table = self._tables[family]
        if isinstance(table, Table):
            self._tables[family] = table = table.frame
        return table

    def __setitem__(self, family: str, table: Table | pd.DataFrame) -> None:
        self._tables[family] = table

    def __delitem__(self, family: str) -> None:
        del self._tables[family]

    def __contains__(self, family: object) -> bool:
        return family in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{family}: {len(table)} rows" for family, table in self._tables.items())
        return f"Tables({sizes or 'none'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tables, (dict(self),)

    def samples(self, family: str) -> Table | None:
        """The columns of a table, or None where there is none."""
        table = self._tables.get(family)
        return None if table is None else Table.of(table)

    def each(self) -> Iterator[tuple[str, Table]]:
        """The columns of all tables, by family."""
        return ((family, Table.of(table)) for family, table in self._tables.items())
