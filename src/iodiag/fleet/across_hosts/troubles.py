"""Each trouble over the whole fleet, with its hosts: one cause on many hosts is one entry, not many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from iodiag.fleet.across_hosts import host_ranking, onsets
from iodiag.fleet.across_hosts.outcome_cube import CLEAR, UNJUDGED, OutcomeCube, is_date
from iodiag.model.finding import SEVERITIES
from iodiag.model.fleet import AffectedHost, CommonChange, Trouble
from iodiag.rules import of_role

HOSTS_KEPT = 60
"""How many hosts of a trouble the report names, the worst first."""

ReportLink = Callable[[str, str], str]
"""The address of a host's report of a day, relative to the fleet report; "" where there is none."""


@dataclass(frozen=True)
class OnHost:
    """What a rule found on a host, and of the worst day the words that hold for other hosts as well."""

    host: AffectedHost
    rank: int
    title: str
    remedy: tuple[str, ...]
    confirm: tuple[str, ...]


def affected(
    rows: pd.DataFrame, known: OutcomeCube, changes: tuple[CommonChange, ...], link: ReportLink
) -> dict[tuple[str, str], OnHost]:
    """What each rule found on each host; `known` says which days were judged."""
    worst = rows.sort_values(
        ["rank", "harm", "day"], ascending=[False, False, False], kind="stable"
    ).drop_duplicates(["host", "rule"])
    worst_of = {(row["rule"], row["host"]): row for row in worst.to_dict("records")}
    dated = known.dated()
    days_read = dict(zip(known.hosts, dated.observed.sum(axis=1), strict=True))
    result = {}
    for found in host_ranking.by_rule(rows).to_dict("records"):
        host, rule = found["host"], found["rule"]
        row = worst_of[rule, host]
        since, is_older = _since(dated, host, rule, found["last"])
        text, address = worst_evidence(row["evidence"])
        one = AffectedHost(
            host=host,
            harm=float(found["harm"]),
            severity=SEVERITIES[int(found["rank"])],
            confidence=row["confidence"],
            devices=_words(row["devices"]),
            since=since,
            last=found["last"],
            is_older=is_older,
            days=int(found["days"]),
            days_read=int(days_read[host]),
            in_undated=bool(found["in_undated"]),
            change=onsets.change_of(host, rule, since, changes),
            evidence=text or row["summary"],
            address=address,
            day=row["day"],
            report=link(host, row["page"]),
        )
        words = (_words(row["remedy"]), _words(row["confirm"]))
        result[rule, host] = OnHost(one, int(found["rank"]), row["title"], *words)
    return result


def _words(value: Any) -> tuple[str, ...]:
    """A list as Parquet gives it back; empty where the column is unknown."""
    return tuple(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else ()


def _since(dated: OutcomeCube, host: str, rule: str, last: str) -> tuple[str, bool]:
    """The first day of the run that ends with `last`, and whether the host has no data before it.

    Only a day that was judged clear ends a run. What has no date is since no day.
    """
    if not is_date(last):
        return last, False
    history = dated.history(host, rule)
    until = dated.days.index(last)
    clear = np.flatnonzero(history[:until] == CLEAR)
    begin = int(clear[-1]) + 1 if len(clear) else 0
    first = begin + int(np.argmax(history[begin : until + 1] > CLEAR))
    return str(dated.days[first]), not (history[:first] > UNJUDGED).any()


def worst_evidence(text: str | None) -> tuple[str, str]:
    """The first piece of evidence for a finding and its address, from the JSON that the table holds."""
    try:
        pieces = json.loads(text or "[]")
    except ValueError:
        return "", ""
    for piece in pieces if isinstance(pieces, list) else []:
        if isinstance(piece, dict) and piece.get("weighs", "for") == "for" and piece.get("text"):
            lines = [line for line in piece.get("lines") or () if isinstance(line, int)]
            source = str(piece.get("source") or "")
            return str(piece["text"]), f"{source}:{lines[0]}" if source and lines else source
    return "", ""


def troubles(
    rows: pd.DataFrame, known: OutcomeCube, on_hosts: Mapping[tuple[str, str], OnHost]
) -> tuple[Trouble, ...]:
    """Each rule with harm over the whole fleet, the most severe first; of one severity the most harmful.

    Symptoms stand behind causes that are as severe: what to do about them is said of the cause.
    """
    hurt = rows["host"].where(rows["rank"] >= SEVERITIES.index("warning"))
    groups = rows.assign(hurt=hurt).groupby("rule", sort=True, observed=True)
    table = groups.agg(
        harm=("harm", "sum"), hosts_hurt=("hurt", "nunique"), host_days=("harm", "size"), rank=("rank", "max")
    ).reset_index()
    judged = (known.cube >= CLEAR).any(axis=1).sum(axis=0)
    table["harm"] = table["harm"].round(9)
    table["is_symptom"] = table["rule"].isin(list(of_role("symptom")))
    order = ["rank", "is_symptom", "harm", "rule"]
    table = table.sort_values(order, ascending=[False, True, False, True], kind="stable")
    days = rows.groupby("rule", observed=True)["day"].agg(lambda part: sorted(set(part)))
    last_day = known.dated().days[-1:]
    of_rule: dict[str, list[OnHost]] = {}
    for (rule, _), one in on_hosts.items():
        of_rule.setdefault(rule, []).append(one)
    result = []
    for row in table.to_dict("records"):
        hosts = sorted(of_rule[row["rule"]], key=lambda one: (-one.rank, -one.host.harm, one.host.host))
        seen = [day for day in days[row["rule"]] if is_date(day)] or days[row["rule"]]
        lasting = [one.host for one in hosts if one.host.last in last_day]
        since, is_older = _earliest(lasting or [one.host for one in hosts])
        trouble = Trouble(
            rule=row["rule"],
            severity=SEVERITIES[int(row["rank"])],
            hosts=len(hosts),
            hosts_hurt=int(row["hosts_hurt"]),
            hosts_judged=int(judged[known.rules.index(row["rule"])]),
            host_days=int(row["host_days"]),
            first=seen[0],
            last=seen[-1],
            harm=float(row["harm"]),
            since=since,
            is_older=is_older,
            title=hosts[0].title,
            remedy=hosts[0].remedy,
            confirm=hosts[0].confirm,
            affected=tuple(one.host for one in hosts[:HOSTS_KEPT]),
        )
        result.append(trouble)
    return tuple(result)


def _earliest(hosts: Iterable[AffectedHost]) -> tuple[str, bool]:
    """The earliest day since which a host has it, and whether it may have begun before; dates come first."""
    pairs = [(one.since, not one.is_older) for one in hosts]
    since, is_known = min(pairs, key=lambda pair: (not is_date(pair[0]), pair))
    return since, not is_known
