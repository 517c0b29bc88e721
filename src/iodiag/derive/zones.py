"""Tables whose clocks have a zone beside tables whose clocks have none."""

from __future__ import annotations

import pandas as pd


def below_each_other(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames of one family below each other; a column that some lack is NaN there.

    Where some have clocks with a zone and some without, a column `clock` keeps them apart.
    """
    if len(frames) == 1:
        return frames[0]
    return pd.concat(map(unzoned, frames) if is_mixed(frames) else frames, ignore_index=True)


def in_zone(frame: pd.DataFrame, tz: str | None) -> pd.DataFrame:
    """Rows with their times in a zone, which clocks that state none are taken to be in."""
    if tz is None:
        return frame
    times = frame["time"]
    if times.dt.tz is not None:
        return frame.assign(time=times.dt.tz_convert(tz))
    zoned = times.dt.tz_localize(tz, ambiguous="NaT", nonexistent="shift_forward")
    if "clock" in frame:
        zoned = zoned.where(frame["clock"] != "UTC", times.dt.tz_localize("UTC").dt.tz_convert(tz))
    return frame.assign(time=zoned).drop(columns="clock", errors="ignore")


def is_mixed(frames: list[pd.DataFrame]) -> bool:
    """Whether some clocks have a zone and some have none."""
    is_kept_apart = any("clock" in frame for frame in frames)
    return is_kept_apart or len({frame["time"].dt.tz is None for frame in frames}) > 1


def unzoned(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with times of no zone, and a column `clock` that says whose they are: the host's, or UTC."""
    if "clock" in frame:
        return frame
    if frame["time"].dt.tz is None:
        return frame.assign(clock="local")
    return frame.assign(time=frame["time"].dt.tz_convert("UTC").dt.tz_localize(None), clock="UTC")
