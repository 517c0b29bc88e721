"""What is normal for a device at an hour, learned from an archive of days, and when it was not.

Three steps, each a pure function of frames, so that they run on one capture as on months of stored
tables. `by_hour` sums the samples up: one row per device, hour, direction, size of request and load.
`learned_baselines` learns from these rows what a request costs. `departures` finds the hours in which it cost
more under a load that the archive knows.

A latency means nothing without the load it was met under. Load is the number of requests in flight
while the device was not empty, N/U: unlike N it stays the same when a device with time to spare becomes
slower. Bins are half powers of two wide, so that load within one explains 1.41 times at the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.weighted import LEAST_REQUESTS, or_zero
from iodiag.analysis.view.request_columns import anomalies
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Floats, Mask, Table
from iodiag.table.times import Stamps

if TYPE_CHECKING:
    import pandas as pd


LEAST_WINDOW_S, LEAST_WINDOW_SAMPLES = 120.0, 3
"""An hour counts for a load that it showed for two minutes, or in three samples: less is one burst."""

LEAST_WINDOWS = 3
"""Hours behind a baseline: of fewer neither a median nor a spread can be told."""

DAYS_BY_HOUR, DAYS_BY_WEEKDAY = 5, 21
"""Days of samples from which hours of the day, and hours of the week, are told apart."""

LEAST_SPREAD = float(np.log(1.15))
"""Hours that differ by less are alike, however steady the others were."""

RECURS_DAYS = 3
"""What departs at the same hour of so many days belongs to that hour: a backup, a scrub, a report."""

Z, RATIO, LEAST_HOURS = 3.5, 1.5, 2
"""Robust deviations, times the baseline and hours in a row of a departure (§ Iglewicz and Hoaglin 1993)."""

_CELL = ["host", "device", "direction", "size_class", "load_bin"]
_WINDOW = ["host", "device", "direction", "day", "hour"]
_DIRECTIONS = {
    "read": ("reads_per_s", "read_kb_per_s", "read_await_ms"),
    "write": ("writes_per_s", "write_kb_per_s", "write_await_ms"),
    "mixed": ("ios_per_s", "kb_per_s", "latency_ms"),
}


def by_hour(enriched: Table) -> pd.DataFrame:
    """Samples of disks (with the columns of `view.request_columns`) summed by host, device, day, hour,
    direction, size class and load bin.

    `day` (midnight) and `hour` (0-23) are of the clock that `time` shows, at the middle of the sample.
    `direction` is read, write, or mixed where samples have one latency for both. `size_class` is the
    power of two next to the KiB of a request, `load_bin` twice that next to the requests in flight
    while busy (0: one at a time). `samples` and `seconds` (NaN where no length is known) count what
    is in a row; `ios_per_s` and `kb_per_s` are of the direction, `queue_depth` and `util_pct` of the
    device, all four weighted by time; `latency_ms` is weighted by requests. `median_ln_latency` and
    `mad_ln_latency` are of the natural logarithms of the samples' latencies in ms.

    Left out are samples without a clock, idle ones, those whose numbers cannot be true, and those with fewer
    than LEAST_REQUESTS in the direction.
    """
    import pandas as pd

    is_sound = ~enriched["time"].is_unknown() & ~enriched["is_idle"] & (anomalies(enriched) == 0)
    samples = enriched[is_sound]
    window = _windows(samples)
    parts = [_of_direction(samples, window, direction) for direction in _DIRECTIONS]
    rows = pd.concat(parts, ignore_index=True)
    groups = rows.groupby([*_WINDOW, "size_class", "load_bin"], observed=True, sort=True)
    result = groups.size().rename("samples").reset_index()
    group, count = groups.ngroup().to_numpy(), len(result)

    def total(weights: pd.Series) -> Floats:
        sums: Floats = np.bincount(group, weights.to_numpy(dtype=np.float64), count).astype(np.float64)
        return sums

    lasted = total(rows["weight"])
    result["seconds"] = np.where(total(rows["is_timed"]) > 0, lasted, np.nan)
    for column in ("ios_per_s", "kb_per_s"):
        result[column] = total(rows[column] * rows["weight"]) / lasted
    requests = rows["ios_per_s"] * rows["weight"]
    result["latency_ms"] = total(rows["latency_ms"] * requests) / total(requests)
    logs = np.log(rows["latency_ms"])
    median = logs.groupby(group).median().to_numpy(dtype=np.float64)
    result["median_ln_latency"] = median
    result["mad_ln_latency"] = (logs - median[group]).abs().groupby(group).median().to_numpy(dtype=np.float64)
    for column in ("queue_depth", "util_pct"):
        result[column] = total(rows[column] * rows["weight"]) / lasted
    return result


def _windows(samples: Table) -> pd.DataFrame:
    """Per sample: host, device, day and hour, its weight in seconds, and the load bin."""
    import pandas as pd

    weight, middle = _lengths(samples), middle_of(samples)
    depth, busy = samples.floats("depth"), samples.floats("busy_depth")
    in_flight = samples.floats("ios_per_s") * samples.floats("latency_ms") / 1000
    depth = np.where(np.isnan(depth), in_flight, depth)
    load = np.maximum(np.where(np.isnan(busy), depth, busy), 1.0)
    return pd.DataFrame(
        {
            "host": samples["host"].in_pandas(),
            "device": samples["device"].in_pandas(),
            "day": middle.dt.normalize(),
            "hour": middle.dt.hour.astype(np.int64),
            "weight": np.where(np.isnan(weight), 1.0, weight),
            "is_timed": ~np.isnan(samples.floats("interval_s")),
            "load_bin": np.round(2 * np.log2(load)),
            "queue_depth": depth,
            "util_pct": samples.floats("util_pct"),
        }
    )


def _lengths(samples: Table) -> Floats:
    """Seconds of each sample, the usual ones of its device where unknown."""
    import pandas as pd

    interval = samples.floats("interval_s")
    if not np.isnan(interval).any():
        return interval
    keys = [pd.Series(samples[name].in_pandas()) for name in ("host", "device")]
    usual = pd.Series(interval).groupby(keys, observed=True).transform("median").to_numpy(dtype=np.float64)
    return np.where(np.isnan(interval), usual, interval)


def middle_of(samples: Table) -> pd.Series:
    """The middle of each sample, on the clock that its time shows: that of 01:00 is of the hour before."""
    import pandas as pd

    return pd.Series(
        samples["time"].clock() - pd.to_timedelta(np.nan_to_num(_lengths(samples)) / 2, unit="s")
    )


def days_of(devices: Iterable[Table]) -> int:
    """On how many days of their clock the middles of some devices' samples lie."""
    days: set[np.datetime64] = set()
    latest: tuple[npt.NDArray[np.int64], Floats] | None = None
    for samples in devices:
        times, length = samples["time"].clock(), samples.floats("interval_s")
        is_known = latest is not None and np.array_equal(latest[0], times.view(np.int64))
        if latest is not None and is_known and np.array_equal(latest[1], length, equal_nan=True):
            continue  # samples of the same reports
        latest = times.view(np.int64), length
        middle = middles(samples)
        days.update(np.unique(middle[~np.isnat(middle)].astype("datetime64[D]")))
    return len(days)


def middles(samples: Table) -> Stamps:
    """The middle of each of one device's samples, on the clock of its time; NaT where that is unknown."""
    length = samples.floats("interval_s")
    half = np.nan_to_num(np.where(np.isnan(length), or_zero(median(length)), length)) / 2
    stamps: Stamps = samples["time"].clock() - np.round(1e9 * half).astype("timedelta64[ns]")
    return stamps


def _of_direction(samples: Table, window: pd.DataFrame, direction: str) -> pd.DataFrame:
    """The samples with a latency of one direction; mixed are those where no direction has its own."""
    rate_name, kb_name, wait_name = _DIRECTIONS[direction]
    rate, moved, wait = (samples.floats(name) for name in (rate_name, kb_name, wait_name))
    if direction == "mixed":
        is_split = [~np.isnan(samples.floats(_DIRECTIONS[way][2])) for way in ("read", "write")]
        wait = np.where(is_split[0] | is_split[1], np.nan, wait)
    else:
        # where one direction is nearly all, the queue's depth tells its latency with more digits
        is_all = (rate >= 0.95 * samples.floats("ios_per_s")) & (wait < 0.5)
        wait = np.where(is_all, samples.floats("latency_ms"), wait)
    with np.errstate(divide="ignore", invalid="ignore"):
        size_class = np.round(np.log2(np.maximum(moved / rate, 0.25)))
    load_bin = window["load_bin"].to_numpy(dtype=np.float64)
    kept = (wait > 0) & (rate * window["weight"].to_numpy(dtype=np.float64) >= LEAST_REQUESTS)
    kept &= ~np.isnan(size_class) & ~np.isnan(load_bin)
    rows: pd.DataFrame = window[kept]
    return rows.assign(
        direction=direction,
        size_class=size_class[kept].astype(np.int64),
        load_bin=load_bin[kept].astype(np.int64),
        ios_per_s=rate[kept],
        kb_per_s=moved[kept],
        latency_ms=wait[kept],
    )


def learned_baselines(hours: pd.DataFrame, departed: pd.DataFrame | None = None) -> pd.DataFrame:
    """What a request costs, per host, device, direction, size class and load bin.

    `median_ln_latency` and `mad_ln_latency` are over hours (of `by_hour`), `windows` how many they
    are, `days` of how many days. `grouping` says what `slot` is: with samples of 21 days the hour of
    the week (0: Monday, midnight), with five the hour of the day, and for each device the whole
    archive, too (slot -1), for loads that an hour did not meet often enough. `departed` are
    departures that are not to be learned; those that recur are.

    Normal is what half of the days show: a slower device has more requests in flight, and would
    else be alone with its load, and normal at it.
    """
    import pandas as pd

    cells = hours[_lasts(hours)]
    if departed is not None and len(departed):
        cells = cells[~_are_within(cells, departed[~departed["is_recurring"]])]
    days = cells.groupby(["host", "device"], observed=True)["day"].transform("nunique").to_numpy()
    archive = cells.assign(grouping="archive", slot=-1)
    by_slot = cells.assign(grouping=_grouping(days), slot=_slots(cells, _grouping(days)))
    both = pd.concat([archive, by_slot[by_slot["grouping"] != "archive"]], ignore_index=True)
    groups = both.groupby([*_CELL, "grouping", "slot"], observed=True, sort=True)
    logs = both["median_ln_latency"]
    median = groups["median_ln_latency"].transform("median")
    result = groups.agg(
        median_ln_latency=("median_ln_latency", "median"), windows=("day", "size"), days=("day", "nunique")
    )
    spread = (logs - median).abs().groupby(groups.ngroup().to_numpy()).median()
    result.insert(1, "mad_ln_latency", spread.to_numpy(dtype=np.float64))
    kinds = both.groupby([*_CELL[:-1], "grouping", "slot"], observed=True)["day"].nunique().rename("most")
    result = result.reset_index().merge(kinds.reset_index(), on=[*_CELL[:-1], "grouping", "slot"])
    is_normal = (result["windows"] >= LEAST_WINDOWS) & (result["days"] >= 0.5 * result["most"])
    return result[is_normal].drop(columns="most").reset_index(drop=True)


def _lasts(hours: pd.DataFrame) -> Mask:
    lasts = (hours["seconds"] >= LEAST_WINDOW_S) | (hours["samples"] >= LEAST_WINDOW_SAMPLES)
    return lasts.to_numpy(dtype=np.bool_)


def _grouping(days: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
    names = np.where(days >= DAYS_BY_HOUR, "hour of the day", "archive")
    return np.where(days >= DAYS_BY_WEEKDAY, "hour of the week", names).astype(object)


def _slots(hours: pd.DataFrame, grouping: npt.NDArray[np.object_]) -> npt.NDArray[np.int64]:
    hour = hours["hour"].to_numpy(dtype=np.int64)
    weekday = hours["day"].dt.day_of_week.to_numpy(dtype=np.int64)
    by_hour = np.where(grouping == "hour of the day", hour, -1)
    return np.where(grouping == "hour of the week", 24 * weekday + hour, by_hour)


def _are_within(hours: pd.DataFrame, departed: pd.DataFrame) -> Mask:
    """Which hours lie in a departure of their device and direction."""
    by = ["host", "device", "direction"]
    begun = hours[by].assign(begins=_starts(hours), place=np.arange(len(hours)))
    pairs = begun.merge(departed[[*by, "start", "end"]], on=by)
    held = np.zeros(len(hours), dtype=np.bool_)
    held[pairs.loc[(pairs["begins"] >= pairs["start"]) & (pairs["begins"] < pairs["end"]), "place"]] = True
    return held


def _starts(hours: pd.DataFrame) -> pd.Series:
    import pandas as pd

    return hours["day"] + pd.to_timedelta(hours["hour"], unit="h")


def departures(
    hours: pd.DataFrame,
    normal: pd.DataFrame,
    *,
    z: float = Z,
    ratio: float = RATIO,
    least_hours: int = LEAST_HOURS,
) -> pd.DataFrame:
    """Runs of hours in which most requests cost more than the baseline `normal` has for their load.

    A row per run: host, device, direction, `start` and `end` (of the clock that the samples show),
    `hours` that departed, `latency_ms` in them and `baseline_ms` at the same load, their `ratio`,
    the median `z`, `baseline_windows` (hours behind the baseline, of the cell with the fewest),
    `ios_per_s` and `load` (requests in flight while busy), `grouping` of the baseline,
    `is_same_load` (False where the load is new, and the baseline what it would cost at most if
    throughput no longer grew), and `is_recurring`: the same hours of three days or more, which
    `learned_baselines` learns.
    """
    known = hours[_lasts(hours)]
    cells = _expected(known.reset_index(drop=True), normal)
    # printed latencies are rounded: the end of the interval that favours innocence
    measured = np.maximum(np.exp(cells["median_ln_latency"]) - HALF_DIGIT, HALF_DIGIT / 10)
    cells["excess"] = np.log(measured / (np.exp(cells["expected"]) + HALF_DIGIT))
    cells["z"] = cells["excess"] / np.maximum(1.4826 * cells["spread"], LEAST_SPREAD)
    cells["is_over"] = (cells["z"] >= z) & (cells["excess"] >= np.log(ratio))
    cells["requests"] = cells["ios_per_s"] * cells["seconds"].fillna(cells["samples"])
    windows = _flagged_windows(cells)
    windows["run"] = _runs(windows, least_hours)
    runs = windows.loc[windows["is_flagged"] & (windows["run"] >= 0), [*_WINDOW, "run"]]
    return _recurring(_described(cells[cells["is_over"]].merge(runs, on=_WINDOW)))


def _flagged_windows(cells: pd.DataFrame) -> pd.DataFrame:
    """Hours of a device and direction, in order, flagged where half of the requests cost more.

    Hours most of whose requests met a load that is new to the archive say nothing, and are left out.
    """
    requests = cells["requests"]
    counted = {
        "over": requests.where(cells["is_over"], 0.0),
        "told": requests.where(cells["is_over"] | cells["is_same_load"], 0.0),
        "all": requests,
    }
    sums = cells[_WINDOW].assign(**counted).groupby(_WINDOW, observed=True, sort=True).sum().reset_index()
    told = sums[sums["told"] >= 0.5 * sums["all"]].reset_index(drop=True)
    return told.assign(is_flagged=told["over"] >= 0.5 * told["all"])


def _expected(cells: pd.DataFrame, normal: pd.DataFrame) -> pd.DataFrame:
    """Cells with what the baseline expects of them: of their hour, else of the archive, else at most."""
    by_slot = normal[normal["grouping"] != "archive"]
    archive = normal[normal["grouping"] == "archive"]
    grouping = by_slot.groupby(["host", "device"], observed=True)["grouping"].first().rename("grouping")
    cells = cells.merge(grouping.reset_index(), on=["host", "device"], how="left")
    cells["grouping"] = cells["grouping"].fillna("archive").astype(object)
    cells["slot"] = _slots(cells, cells["grouping"].to_numpy(dtype=object))
    new_names = {"median_ln_latency": "expected", "mad_ln_latency": "spread"}
    by_slot = by_slot.drop(columns=["grouping", "days"]).rename(columns=new_names)
    archive = archive.drop(columns=["grouping", "slot", "days"]).rename(columns=new_names)
    own = cells.merge(by_slot, on=[*_CELL, "slot"], how="left")
    same = cells.merge(archive, on=_CELL, how="left")
    most = _at_most(cells, archive)
    for column in ("expected", "spread", "windows"):
        cells[column] = own[column].fillna(same[column]).fillna(most[column])
    cells["is_same_load"] = own["expected"].notna() | same["expected"].notna()
    cells.loc[own["expected"].isna().to_numpy(), "grouping"] = "archive"
    return cells


def _at_most(cells: pd.DataFrame, archive: pd.DataFrame) -> pd.DataFrame:
    """What a request can cost at a load that is new to the archive, from the lower loads that it knows.

    With more in flight a device does at least as much as with fewer, X(N) ≥ X(N₀), so that by
    Little's law R(N) ≤ R(N₀)·N/N₀; the lowest of these bounds holds. N is taken at the upper edge of
    its bin and N₀ at the lower edge of its own.
    """
    import pandas as pd

    known = archive.sort_values("load_bin", kind="stable")
    by = _CELL[:-1]
    half = np.log(2) / 2
    bound = (known["expected"] - half * known["load_bin"]).groupby([known[k] for k in by], observed=True)
    groups = known.groupby(by, observed=True)
    known = known.assign(
        expected=bound.cummin(), spread=groups["spread"].cummax(), windows=groups["windows"].cummin()
    )
    order = cells[_CELL].reset_index().sort_values("load_bin", kind="stable")
    found = pd.merge_asof(order, known, on="load_bin", by=by).set_index("index").sort_index()
    return found.assign(expected=found["expected"] + half * (found["load_bin"] + 1))


def _runs(windows: pd.DataFrame, least_hours: int) -> npt.NDArray[np.int64]:
    """The number of the run that each window is of, -1 for none.

    A second hour in order ends a run, hours that say nothing do not; four of five depart.
    """
    device = windows.groupby(_WINDOW[:3], observed=True, sort=False).ngroup().to_numpy()
    places = np.flatnonzero(windows["is_flagged"].to_numpy(dtype=np.bool_))
    runs = np.full(len(windows), -1, dtype=np.int64)
    if not len(places):
        return runs
    breaks = np.flatnonzero((np.diff(places) > 2) | (np.diff(device[places]) != 0)) + 1
    for number, part in enumerate(np.split(places, breaks)):
        first, last = int(part[0]), int(part[-1])
        if len(part) >= max(least_hours, 0.8 * (last - first + 1)):
            runs[first : last + 1] = number
    return runs


def _described(cells: pd.DataFrame) -> pd.DataFrame:
    """A row per run, from the cells that depart in it."""
    import pandas as pd

    begins = _starts(cells)
    load = np.exp2(cells["load_bin"] / 2)
    weighted = pd.DataFrame(
        {
            "latency_ms": cells["latency_ms"],
            "baseline_ms": np.exp(cells["expected"]),
            "load": load,
            "is_same_load": cells["is_same_load"].astype(np.float64),
        }
    ).mul(cells["requests"], axis=0)
    groups = cells.assign(begins=begins).groupby("run", sort=True)
    sums = weighted.groupby(cells["run"]).sum().div(groups["requests"].sum(), axis=0)
    first = groups[["host", "device", "direction"]].first()
    lasted = cells["seconds"].fillna(cells["samples"]).groupby(cells["run"]).sum()
    return pd.DataFrame(
        {
            "host": first["host"],
            "device": first["device"],
            "direction": first["direction"],
            "start": groups["begins"].min(),
            "end": groups["begins"].max() + pd.Timedelta(hours=1),
            "hours": groups["begins"].nunique(),
            "latency_ms": sums["latency_ms"],
            "baseline_ms": sums["baseline_ms"],
            "ratio": sums["latency_ms"] / sums["baseline_ms"],
            "z": groups["z"].median(),
            "baseline_windows": groups["windows"].min().astype(np.int64),
            "ios_per_s": groups["requests"].sum() / lasted,
            "load": sums["load"],
            "grouping": groups["grouping"].agg(lambda names: names.mode().iloc[0]),
            "is_same_load": sums["is_same_load"] >= 0.5,
        }
    ).reset_index(drop=True)


def _recurring(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with `is_recurring`: shorter than a day, and begun within an hour on three days or more."""
    import pandas as pd

    by = ["host", "device", "direction"]
    is_short = runs["end"] - runs["start"] < pd.Timedelta(days=1)
    hour = runs["start"].dt.hour
    counts = np.zeros(len(runs), dtype=np.int64)
    for offset in (-1, 0, 1):
        near = runs[is_short].assign(hour=(hour + offset) % 24, date=runs["start"].dt.normalize())
        same = near.groupby([*by, "hour"], observed=True)["date"].nunique()
        found = runs.assign(hour=hour).merge(same.rename("count").reset_index(), on=[*by, "hour"], how="left")
        counts += found["count"].fillna(0).to_numpy(dtype=np.int64)
    return runs.assign(is_recurring=is_short.to_numpy(dtype=np.bool_) & (counts >= RECURS_DAYS))


def unusual(
    hours: pd.DataFrame, *, z: float = Z, ratio: float = RATIO, least_hours: int = LEAST_HOURS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The departures of an archive from its own baseline, and that baseline.

    What departs is taken out of the baseline before it is held against it once more; what recurs
    at the same hours stays in.
    """
    normal = learned_baselines(hours)
    found = departures(hours, normal, z=z, ratio=ratio, least_hours=least_hours)
    if len(found):
        normal = learned_baselines(hours, found)
        found = departures(hours, normal, z=z, ratio=ratio, least_hours=least_hours)
    return found, normal
