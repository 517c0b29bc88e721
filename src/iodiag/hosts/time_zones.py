"""Tables whose clocks have a zone beside tables whose clocks have none."""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.table import table as _table
from iodiag.table.table import Table
from iodiag.table.texts import Texts
from iodiag.table.times import Times


def stacked_all_columns(tables: Sequence[Table]) -> Table:
    """Tables of one family below each other; a column that some lack is unknown there.

    Where some have clocks with a zone and some without, a column `clock` keeps them apart.
    """
    return _table.stacked_all_columns([unzoned(table) for table in tables] if is_mixed(tables) else tables)


def in_zone(table: Table, tz: str | None) -> Table:
    """Rows with their times in a zone, which clocks that state none are taken to be in."""
    if tz is None:
        return table
    times = table["time"].in_pandas()
    if times.tz is not None:
        zoned = times.tz_convert(tz)
    else:
        zoned = times.tz_localize(tz, ambiguous="NaT", nonexistent="shift_forward")
        if "clock" in table:
            is_moment = table["clock"] == "UTC"
            zoned = zoned.where(~is_moment, times.tz_localize("UTC").tz_convert(tz))
    moved = table.with_columns(time=Times.of_pandas(zoned.to_series()))
    return moved.only(name for name in moved.names if name != "clock")


def is_mixed(tables: Sequence[Table]) -> bool:
    """Whether some clocks have a zone and some have none; tables without a time have no clock."""
    is_kept_apart = any("clock" in table for table in tables)
    clocks = (table["time"] for table in tables)
    return is_kept_apart or len({one.zone is None for one in clocks if not one.is_unknown().all()}) > 1


def unzoned(table: Table) -> Table:
    """Rows with times of no zone, and a column `clock` that says whose they are: the host's, or UTC."""
    if "clock" in table:
        return table
    times = table["time"]
    if times.zone is None:
        return table.with_columns(clock=Texts.same("local", len(table)))
    return table.with_columns(time=Times(times.stamps), clock=Texts.same("UTC", len(table)))
