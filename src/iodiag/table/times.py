"""A column of times: moments, or what a clock of an unknown zone showed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Stamps = npt.NDArray[np.datetime64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.integer[Any]]

LAST_SECOND = 9.2e9
"""Nanoseconds in 64 bits end in the year 2262."""

_EPOCH = datetime(1970, 1, 1)


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a date and time without a zone."""
    return _EPOCH + timedelta(microseconds=round(seconds * 1e6))


def span(seconds: npt.NDArray[np.float64], is_moment: bool) -> tuple[str | None, str | None]:
    """The first and the last of these times, as a Section has them; those out of reach do not count.

    Moments are stated in UTC, times of an unknown zone without one.
    """
    known = seconds[np.abs(seconds) < LAST_SECOND]
    if not len(known):
        return None, None
    first, last = (
        moment(float(at)).replace(tzinfo=UTC if is_moment else None) for at in (known.min(), known.max())
    )
    return str(first), str(last)


@final
class Times:
    """Times by row, to the nanosecond, NaT where one is unknown.

    With a `zone` they are moments: `stamps` are in UTC, and shown in that zone. Without one `stamps` are what
    the host's clock showed. `times[3]`, `times.min()` and `times.max()` are datetimes, or None.
    """

    __slots__ = ("stamps", "zone")

    def __init__(self, stamps: Stamps, zone: tzinfo | None = None) -> None:
        self.stamps, self.zone = stamps, zone

    @classmethod
    def of(cls, seconds: npt.NDArray[np.float64], *, is_moment: bool = False) -> Times:
        """Seconds since 1970, NaN or out of reach where unknown; `is_moment`: of UTC, not of some clock."""
        is_known = np.abs(seconds) < LAST_SECOND
        whole = np.where(is_known, seconds, 0.0)
        floor = np.floor(whole)
        stamps = floor.astype("datetime64[s]").astype("datetime64[ns]")
        if (whole != floor).any():
            stamps += np.round((whole - floor) * 1e9).astype("timedelta64[ns]")
        stamps[~is_known] = np.datetime64("NaT")
        return cls(stamps, UTC if is_moment else None)

    @classmethod
    def of_pandas(cls, times: pd.Series[pd.Timestamp]) -> Times:
        """A column of times of pandas."""
        return cls(times.dt.as_unit("ns").to_numpy(dtype="datetime64[ns]"), times.dt.tz)

    def __len__(self) -> int:
        return len(self.stamps)

    @overload
    def __getitem__(self, wanted: int | np.integer[Any]) -> datetime | None: ...
    @overload
    def __getitem__(self, wanted: slice | Mask | Places) -> Times: ...
    def __getitem__(self, wanted: int | np.integer[Any] | slice | Mask | Places) -> datetime | Times | None:
        if isinstance(wanted, (slice, np.ndarray)):
            return Times(self.stamps[wanted], self.zone)
        return self._shown(self.stamps[wanted])

    def _shown(self, stamp: np.datetime64) -> datetime | None:
        if np.isnat(stamp):
            return None
        shown = _EPOCH + timedelta(microseconds=round(int(stamp.astype(np.int64)) / 1000))
        return shown if self.zone is None else shown.replace(tzinfo=UTC).astimezone(self.zone)

    def clock(self) -> Stamps:
        """What a clock in the zone shows at these times."""
        if self.zone is None or self.zone is UTC:
            return self.stamps
        return self.in_pandas().tz_localize(None).to_numpy(dtype="datetime64[ns]")

    def take(self, places: Places) -> Times:
        """The times of some rows."""
        return Times(self.stamps.take(places), self.zone)

    def is_unknown(self) -> Mask:
        """Which rows have no time."""
        return np.isnat(self.stamps)

    def min(self) -> datetime | None:
        """The earliest time; None where none is known."""
        known = self._known()
        return self._shown(known.min()) if len(known) else None

    def max(self) -> datetime | None:
        """The latest time; None where none is known."""
        known = self._known()
        return self._shown(known.max()) if len(known) else None

    def first(self) -> datetime | None:
        """The first time that is known; None where none is."""
        known = self._known()
        return self._shown(known[0]) if len(known) else None

    def _known(self) -> Stamps:
        return self.stamps[~np.isnat(self.stamps)]

    def seconds(self) -> npt.NDArray[np.float64]:
        """Seconds since 1970, NaN where unknown."""
        seconds: npt.NDArray[np.float64] = self.stamps.astype(np.int64) / 1e9
        seconds[np.isnat(self.stamps)] = np.nan
        return seconds

    @classmethod
    def joined(cls, parts: Sequence[Times]) -> Times:
        """One part below the other; all are of one zone."""
        return cls(np.concatenate([part.stamps for part in parts]), parts[0].zone)

    def in_pandas(self) -> pd.DatetimeIndex:
        """The times as pandas has them."""
        import pandas as pd

        if self.zone is None:
            return pd.DatetimeIndex(self.stamps)
        # a Series would take six times as long
        moments = pd.DatetimeIndex(self.stamps, tz=UTC)
        return moments if self.zone is UTC else moments.tz_convert(self.zone)
