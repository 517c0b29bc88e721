"""Devices held against their peers: same role, model, firmware and kind, at the same load.

The latency of an hour is predicted from all peers' hours, piecewise linear in the requests in flight while
busy and in the request size, both as logarithms: a queue's latency is flat until the device is full and
rises in proportion from there, which on logarithmic axes is two straight lines. What is left over is
compared device by device (Lu et al., "Perseus", FAST 2023, found fail-slow drives by such a
regression). Neighbouring hours of a device are alike, so a device counts once in the test, however
many hours it has.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.fleet.across_hosts.significance import beyond, false_discovery
from iodiag.fleet.across_hosts.troubles import ReportLink
from iodiag.model.finding import Confidence
from iodiag.model.fleet import Outlier
from iodiag.table.table import Floats

LEAST_SPREAD = math.log(1.15)
Z, RATIO, SHARE = 3.5, 1.5, 0.3
LEAST_GROUP, LEAST_PEERS = 5, 3
"""Devices for a test; with fewer, down to LEAST_PEERS, the ratio alone is looked at."""

LEAST_WINDOWS = 8
"""Hours of a device before it is compared (judgement: a third of a day)."""

SURE_GROUP, SURE_SHARE = 10, 0.8
FALSE_DISCOVERY = 0.05
GROUP_ROWS = 1_000_000
FIT_ROWS, ROUNDS, HUBER = 200_000, 15, 1.345

STACKED = frozenset({"partition", "md", "lvm", "dm", "crypt", "multipath", "loop", "swap"})
"""Kinds that stand on other devices: what makes them slow is looked for there."""

_GROUP = ["kind", "rotational", "role", "model", "firmware"]
_DEVICE = ["host", "device"]


def groups(hours: pd.DataFrame, identity: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The hours of the devices of each group and direction, with `y` = ln ms, and ln `load` and `size`.

    `identity` has one row per host and device with kind, rotational, role, model and firmware, None
    where unknown. Left out are stacked devices and those of which neither role nor model is known.
    Each group comes with its name. In one of more than GROUP_ROWS hours every second, third, … day is taken.
    """
    is_known = identity["role"].notna() | identity["model"].notna()
    known = identity[(is_known & ~identity["kind"].isin(list(STACKED))).to_numpy(dtype=bool)]
    known = known.assign(group=known.groupby(_GROUP, dropna=False, sort=True).ngroup())
    numbers = _numbers(hours, known)
    directions = hours["direction"].cat.codes.to_numpy().astype(np.int64)
    keys = np.where(numbers >= 0, numbers * len(hours["direction"].cat.categories) + directions, -1)
    order = np.argsort(keys, kind="stable")
    labels = {row["group"]: _label(row) for row in known.to_dict("records")}
    for part in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(part) and keys[part[0]] >= 0:
            days = hours["day"].cat.codes.to_numpy()[part]
            kept = part[days % (len(part) // GROUP_ROWS + 1) == 0]
            yield labels[int(numbers[part[0]])], _measured(hours.iloc[kept])


def _numbers(hours: pd.DataFrame, known: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The group of each row of `hours`, -1 without one; each device is looked up once."""
    hosts, devices = hours["host"].cat, hours["device"].cat
    pairs = hosts.codes.to_numpy().astype(np.int64) * len(devices.categories) + devices.codes.to_numpy()
    distinct, place = np.unique(pairs, return_inverse=True)
    index = pd.MultiIndex.from_arrays(
        [
            hosts.categories.to_numpy()[distinct // max(len(devices.categories), 1)],
            devices.categories.to_numpy()[distinct % max(len(devices.categories), 1)],
        ]
    )
    of_devices = known.set_index(_DEVICE)["group"].reindex(index).fillna(-1).to_numpy(dtype=np.int64)
    return np.asarray(of_devices[place])


def _measured(hours: pd.DataFrame) -> pd.DataFrame:
    """The logarithms that are fitted, where all of them are known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.log(hours["kb_per_s"].to_numpy() / hours["ios_per_s"].to_numpy())
    rows = hours[[*_DEVICE, "day", "hour", "direction"]].assign(
        y=hours["median_ln_latency"],
        load=hours["load_bin"] * math.log(2) / 2,
        size=size,
        weight=hours["ios_per_s"] * hours["seconds"].fillna(hours["samples"]),
    )
    kept = np.isfinite(rows[["y", "load", "size", "weight"]].to_numpy()).all(axis=1) & (rows["weight"] > 0)
    chosen: pd.DataFrame = rows[kept.to_numpy(dtype=bool)].astype(dict.fromkeys(_DEVICE, object))
    return chosen


def outliers(
    hours: pd.DataFrame, identity: pd.DataFrame, link: ReportLink
) -> tuple[tuple[Outlier, ...], list[str]]:
    """The devices that stand out among their peers, slow ones first, and what could not be compared.

    Benjamini and Hochberg's control goes over all devices and directions that were tested.
    """
    found: list[Outlier] = []
    alone = 0
    for label, group in groups(hours, identity):
        devices = _devices(group)
        if len(devices) < LEAST_PEERS:
            alone += len(devices)
            continue
        found += _of_group(label, group, devices, link)
    q_values = false_discovery(np.array([one.p_value for one in found], dtype=np.float64))
    kept = [_with_q(one, float(q)) for one, q in zip(found, q_values, strict=True)]
    standing_out = [one for one in kept if _stands_out(one)]
    standing_out.sort(key=lambda one: (one.ratio < 1, -abs(one.z), one.host, one.device, one.direction))
    remarks = []
    if alone:
        remarks.append(
            f"{alone:,} device and direction pairs have fewer than {LEAST_PEERS - 1} peers of the same role, "
            "model, firmware and kind, and were not compared."
        )
    return tuple(standing_out), remarks


def _devices(group: pd.DataFrame) -> pd.MultiIndex:
    hours = group.drop_duplicates([*_DEVICE, "day", "hour"]).groupby(_DEVICE, sort=True).size()
    index = hours[hours >= LEAST_WINDOWS].index
    assert isinstance(index, pd.MultiIndex)
    return index


def _of_group(label: str, group: pd.DataFrame, devices: pd.MultiIndex, link: ReportLink) -> Iterator[Outlier]:
    """Every device of one group with how it stands among the others."""
    cells = group[pd.MultiIndex.from_frame(group[_DEVICE]).isin(devices)].reset_index(drop=True)
    number = devices.get_indexer(pd.MultiIndex.from_frame(cells[_DEVICE]))
    expected = _predicted(cells, number, len(devices))
    cells = cells.assign(number=number, over=cells["y"].to_numpy() - expected, expected=expected)
    hours = _by_hour(cells)
    level = hours.groupby("number")["over"].median()
    centre = float(level.median())
    hours["over"] -= centre
    spread = max(1.4826 * float(hours["over"].abs().median()), LEAST_SPREAD)
    is_tested = len(devices) >= LEAST_GROUP
    least = max(math.log(RATIO), Z * spread if is_tested else 0.0)
    hours["slow"], hours["fast"] = hours["over"] >= least, hours["over"] <= -least
    by = hours.groupby("number", sort=True)
    slow, fast = _standing(by["over"].quantile(1 - SHARE)), _standing(by["over"].quantile(SHARE))
    counts, shares = by.size(), by[["slow", "fast"]].mean()
    weighted = cells.assign(ms=np.exp(cells["y"]) * cells["weight"]).groupby("number")
    latency = weighted["ms"].sum() / weighted["weight"].sum()
    last_day = cells["day"].astype(str).groupby(cells["number"]).last()
    for at, (host, device) in enumerate(devices):
        side = "slow" if slow[at][1] >= -fast[at][1] else "fast"
        over, z, is_estimated = slow[at] if side == "slow" else fast[at]
        freedom = len(devices) - 1 if is_estimated else None
        yield Outlier(
            host=host,
            device=device,
            direction=str(cells["direction"].iloc[0]),
            group=label,
            peers=len(devices) - 1,
            ratio=math.exp(over),
            z=z,
            share=float(shares[side].iloc[at]),
            windows=int(counts.iloc[at]),
            latency_ms=float(latency.iloc[at]),
            expected_ms=float(latency.iloc[at]) / math.exp(over),
            p_value=beyond(z, freedom) if is_tested else math.nan,
            q_value=math.nan,
            confidence="low",
            report=link(host, str(last_day.iloc[at])),
        )


def _by_hour(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per device and hour: what is left over, weighted by requests."""
    keyed = cells.assign(total=cells["over"] * cells["weight"])
    sums = (
        keyed.groupby(["number", "day", "hour"], sort=True, observed=True)[["total", "weight"]]
        .sum()
        .reset_index()
    )
    return sums.assign(over=sums["total"] / sums["weight"])


def _standing(levels: pd.Series) -> list[tuple[float, float, bool]]:
    """Each device's level over the peers' median, its robust z, and whether the spread was estimated.

    A spread below the floor is not believed: then it is the floor, a given number.
    """
    values = levels.to_numpy(dtype=np.float64)
    centre = float(np.median(values))
    estimated = 1.4826 * float(np.median(np.abs(values - centre)))
    spread = max(estimated, LEAST_SPREAD)
    return [(float(v - centre), float(v - centre) / spread, estimated > LEAST_SPREAD) for v in values]


def _predicted(cells: pd.DataFrame, number: npt.NDArray[np.intp], devices: int) -> Floats:
    """ln ms that the group expects of each row, from a fit that outlying devices do not bend.

    Devices weigh alike. Those that the first fit finds 1.5 times off are left out of the second.
    """
    design = np.column_stack([np.ones(len(cells)), *_hinges(cells["load"]), *_hinges(cells["size"])])
    target = cells["y"].to_numpy(dtype=np.float64)
    rows = np.bincount(number, minlength=devices)
    even = 1.0 / rows[number]
    fitted = design @ _huber(design, target, even)
    level = pd.Series(target - fitted).groupby(number).median()
    off = (level - level.median()).abs().to_numpy() >= math.log(RATIO)
    if not off.any() or (~off).sum() < max(LEAST_PEERS, devices / 2):
        return np.asarray(fitted)
    return np.asarray(design @ _huber(design, target, np.where(off[number], 0.0, even)))


def _hinges(column: pd.Series) -> list[Floats]:
    """A straight line and its bends at the thirds of what was seen."""
    values = column.to_numpy(dtype=np.float64)
    knots = np.unique(np.quantile(values, [1 / 3, 2 / 3]))
    inner = knots[(knots > values.min()) & (knots < values.max())]
    return [values, *(np.maximum(values - knot, 0.0) for knot in inner)]


def _huber(design: Floats, target: Floats, weights: Floats) -> Floats:
    """Least squares that counts large deviations by their size (Huber 1964), on FIT_ROWS rows at most."""
    step = max(1, len(target) // FIT_ROWS)
    design, target, weights = design[::step], target[::step], weights[::step]
    used = weights > 0
    design, target, weights = design[used], target[used], weights[used]
    scale = weights / weights.mean()
    factors = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        root = np.sqrt(scale)
        new = np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0]
        over = np.abs(target - design @ new)
        limit = HUBER * max(1.4826 * float(np.median(over)), LEAST_SPREAD)
        scale = weights / weights.mean() * np.minimum(1.0, limit / np.maximum(over, 1e-12))
        if np.allclose(new, factors, atol=1e-9):
            break
        factors = new
    return np.asarray(factors)


def _label(row: Mapping[Hashable, Any]) -> str:
    """The group in words: what its devices have in common."""
    words = [f"{name} {row[name]}" for name in ("role", "model", "firmware") if isinstance(row[name], str)]
    spins = row["rotational"]
    kind = str(row["kind"]) if isinstance(row["kind"], str) else "device"
    if pd.notna(spins):
        kind = f"spinning {kind}" if spins else f"solid-state {kind}"
    return ", ".join([*words, kind])


def _with_q(one: Outlier, q_value: float) -> Outlier:
    is_sure = one.peers + 1 >= SURE_GROUP and one.share >= SURE_SHARE
    confidence: Confidence = "low" if math.isnan(q_value) else "high" if is_sure else "medium"
    return replace(one, q_value=q_value, confidence=confidence)


def _stands_out(one: Outlier) -> bool:
    if one.share < SHARE or max(one.ratio, 1 / one.ratio) < RATIO:
        return False
    return math.isnan(one.p_value) or (abs(one.z) >= Z and one.q_value <= FALSE_DISCOVERY)
