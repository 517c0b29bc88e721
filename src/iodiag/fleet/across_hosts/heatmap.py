"""Which hosts had trouble on which days: the worst severity of each host-day."""

from __future__ import annotations

from itertools import islice

import pandas as pd

from iodiag.fleet.across_hosts import host_ranking
from iodiag.fleet.across_hosts.outcome_cube import CLEAR, NO_DATA, OutcomeCube
from iodiag.fleet.across_hosts.troubles import ReportLink
from iodiag.model.finding import SEVERITIES
from iodiag.model.fleet import DayCell, Heatmap, HeatmapRow

HOSTS, DAYS, RULES = 40, 31, 4
"""How many hosts and days are shown, and how many rules a cell names."""
_CELL = ("host", "day", "rank", "rule", "page")


def heatmap(rows: pd.DataFrame, known: OutcomeCube, link: ReportLink) -> Heatmap:
    """The most harmed hosts, then the others by name, against the last days; undated captures come last."""
    order = list(host_ranking.by_host(host_ranking.by_rule(rows))["host"].head(HOSTS))
    harmed = set(order)
    order += islice((host for host in known.hosts if host not in harmed), HOSTS - len(order))
    at_days = range(max(0, len(known.days) - DAYS), len(known.days))
    shown = rows[rows["host"].isin(order)].sort_values(["rank", "harm"], ascending=False, kind="stable")
    found: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    for host, day, *trouble in zip(*(shown[name] for name in _CELL), strict=True):
        found.setdefault((host, day), []).append((int(trouble[0]), trouble[1], trouble[2]))
    best = known.cube.max(axis=2, initial=NO_DATA)
    places = {host: at for at, host in enumerate(known.hosts)}

    def cell(host: str, at: int) -> DayCell | None:
        day, said = known.days[at], int(best[places[host], at])
        if said == NO_DATA:
            return None
        if (host, day) in found:
            troubles = found[host, day]
            rank, _, page = troubles[0]
            rules = tuple(rule for _, rule, _ in troubles[:RULES])
            return DayCell("found", SEVERITIES[rank], rules, link(host, page))
        return DayCell("clear" if said >= CLEAR else "unjudged")

    return Heatmap(
        days=tuple(known.days[at] for at in at_days),
        rows=tuple(HeatmapRow(host, tuple(cell(host, at) for at in at_days)) for host in order),
        days_left_out=len(known.days) - len(at_days),
        hosts_left_out=len(known.hosts) - len(order),
    )
