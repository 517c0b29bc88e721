"""Load and slowness that come back at the same hour, over all days of the fleet (`recurring_hours`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.analysis.load.recurring_hours import DAY, LATENCY, MONDAY, WEEK, Hours, Window, hours_of, windows
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import SEEK_MS
from iodiag.fleet.across_hosts.own_history import batches
from iodiag.fleet.across_hosts.troubles import ReportLink
from iodiag.model.fleet import DailyWindow
from iodiag.model.units import KB_PER_MB
from iodiag.rules.context.recurring_window import RULE

LIMITS = RULE.limits()
_KEY = ["host", "hour_of", "device", "direction"]


def found(hours: pd.DataFrame, link: ReportLink) -> tuple[tuple[DailyWindow, ...], pd.DataFrame]:
    """The windows of all hosts, what moves most first, and the host-days that were looked at as outcomes.

    `hours` is in order of its hosts. A host with fewer days than the rule asks for is not looked at.
    """
    result: list[DailyWindow] = []
    looked = [hours.iloc[:0][["host", "day"]].astype(object)]
    for batch in batches(hours):
        known = batch[batch["seconds"] > 0]
        days = known[["host", "day"]].drop_duplicates()
        enough = days.groupby("host", observed=True)["day"].transform("size") >= LIMITS.times
        days = days[enough].astype({"host": object})
        looked.append(days.assign(day=days["day"].dt.strftime("%Y-%m-%d")))
        of_many = known[known["host"].isin(days["host"])]
        for host, rows in _sums(of_many).groupby("host", observed=True, sort=True):
            result += _of_host(str(host), rows, link)
    result.sort(key=lambda one: (one.quantity == LATENCY, -one.value, one.host, one.begin, one.days))
    outcomes = pd.concat(looked, ignore_index=True)
    return tuple(result), outcomes.assign(rule=RULE.id, status="clear", reason="")


def _sums(hours: pd.DataFrame) -> pd.DataFrame:
    """Per host, hour since a Monday, device and direction: seconds, kB, requests and what they took."""
    hour_of = hours["day"].to_numpy().astype("datetime64[h]").astype(np.int64) + hours["hour"] - MONDAY
    requests = hours["ios_per_s"] * hours["seconds"]
    parts = hours[["host", "device", "direction", "seconds"]].assign(
        hour_of=hour_of.astype(np.int64),
        kb=hours["kb_per_s"] * hours["seconds"],
        requests=requests,
        ms=requests * hours["latency_ms"],
    )
    return parts.groupby(_KEY, observed=True, sort=True).sum().reset_index()


def _of_host(host: str, rows: pd.DataFrame, link: ReportLink) -> Iterator[DailyWindow]:
    first = int(rows["hour_of"].min()) // WEEK * WEEK
    place = (rows["hour_of"] - first).to_numpy(dtype=np.int64)
    seconds = np.zeros((int(place.max()) // WEEK + 1) * WEEK)
    np.maximum.at(seconds, place, rows["seconds"].to_numpy(dtype=np.float64))
    looked: list[Hours] = []
    for (device, direction), part in rows.assign(place=place).groupby(
        ["device", "direction"], observed=True, sort=True
    ):
        looked += _hours(str(device), str(direction), part, seconds)
    for group in windows(looked, LIMITS, lambda _, added: added >= SEEK_MS):
        yield _window(host, group, first, link)


def _hours(
    device: str, direction: str, part: pd.DataFrame, seconds: npt.NDArray[np.float64]
) -> Iterator[Hours]:
    """Throughput and latency of one direction by hours.

    The table lacks samples with few requests: in an hour that has others of its host they moved next to
    nothing, and their latency is not known. So an hour is as long as the host's longest.
    """
    place = part["place"].to_numpy()
    kb, requests, ms = np.zeros((3, len(seconds)))
    for sums, name in ((kb, "kb"), (requests, "requests"), (ms, "ms")):
        sums[place] = part[name].to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(seconds > 0, kb / seconds.max(), np.nan)
        latency = np.where(requests > LEAST_REQUESTS, ms / requests, np.nan)
    yield hours_of(device, f"{direction} kb_per_s", moved, LIMITS.ratio, LIMITS.step * KB_PER_MB)
    if np.isfinite(latency).any():
        yield hours_of(device, f"{direction} {LATENCY}", latency, LIMITS.ratio, 0.0)


def _window(host: str, group: list[Window], first: int, link: ReportLink) -> DailyWindow:
    """A window as the report has it: the devices that take part, and the numbers of the one that leads."""
    lead = group[0]
    direction, _, quantity = lead.hours.column.rpartition(" ")
    (begin, end), last = lead.span, int(lead.places[-1]) + first + int(MONDAY)
    return DailyWindow(
        host=host,
        devices=tuple(dict.fromkeys(window.hours.device for window in group)),
        direction=direction,
        quantity=quantity,
        begin=begin,
        end=end,
        days=lead.days,
        seen=lead.seen,
        of=lead.of,
        value=lead.value,
        usual=lead.hours.usual,
        chance=lead.chance,
        report=link(host, str(np.datetime64(last // DAY, "D"))),
    )
