"""Which hosts hurt most, from what, since when.

Harm adds up, over the days and over the troubles that no other finding explains, severity × confidence
× the share of the day that it lasted. One trouble on several devices of a host counts once a day,
by its worst finding: four slow legs are one slow array.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd

from iodiag.fleet.across_hosts.outcome_cube import CLEAR, NO_DATA, UNJUDGED, OutcomeCube
from iodiag.model.finding import HARMLESS, SEVERITIES
from iodiag.model.fleet import Cell, HarmedHost, Matrix, MatrixRow, Trouble
from iodiag.rules import of_role

SEVERITY_WEIGHTS = {"info": 0.0, "notice": 1.0, "warning": 10.0, "critical": 100.0}
CONFIDENCE_WEIGHTS = {"low": 0.3, "medium": 0.6, "high": 1.0}

LEAST_SHARE = 1 / 24
"""A trouble counts for an hour at least: sar's ten-minute means show little of what is shorter. One without
a clock is a state that a listing shows (an array without a member), and counts for its whole day."""

RANKED, MATRIX_HOSTS, MATRIX_RULES, OTHERS = 200, 40, 12, 6

ReportLink = Callable[[str, str], str]
"""The address of a host's report of a day, relative to the fleet report; "" where there is none."""


def scored(findings: pd.DataFrame) -> pd.DataFrame:
    """One row per host, day and rule with harm: its worst unexplained finding, `harm` and `rank` added.

    `rank` is the severity as a number, 0 for `info`.
    """
    is_root = findings["explained_by"].isna() & (findings["severity"] != "info")
    is_root &= ~findings["rule"].isin(list(of_role(*HARMLESS)))
    rows = findings[is_root.to_numpy(dtype=bool)].copy()
    start, end = _instants(rows["start"]), _instants(rows["end"])
    share = ((end - start).dt.total_seconds() / 86400).clip(LEAST_SHARE, 1.0).fillna(1.0)
    rows["rank"] = rows["severity"].map({name: at for at, name in enumerate(SEVERITIES)}).astype(np.int64)
    rows["harm"] = (
        rows["severity"].map(SEVERITY_WEIGHTS).astype(np.float64)
        * rows["confidence"].map(CONFIDENCE_WEIGHTS).astype(np.float64)
        * share
    )
    rows = rows.sort_values(
        ["host", "day", "rule", "harm", "rank", "title"],
        ascending=[True, True, True, False, False, True],
        kind="stable",
    )
    return rows.drop_duplicates(["host", "day", "rule"]).reset_index(drop=True)


def _instants(column: pd.Series) -> pd.Series:
    return pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")


def by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Harm, days, worst severity and last day per host and rule, the worst rule of a host first.

    The rows come in order of their days, one a day, as `scored` gives them.
    """
    groups = rows.groupby(["host", "rule"], sort=True, observed=True)
    found = groups.agg(
        harm=("harm", "sum"),
        days=("day", "size"),
        rank=("rank", "max"),
        last=("day", "last"),
    ).reset_index()
    return found.sort_values(
        ["host", "harm", "rank", "rule"], ascending=[True, False, False, True], kind="stable"
    ).reset_index(drop=True)


def by_host(rules: pd.DataFrame) -> pd.DataFrame:
    """Harm, worst severity and days per host, the most harmed first; hosts alike stand by name."""
    found = rules.groupby("host", sort=True, observed=True).agg(harm=("harm", "sum"), rank=("rank", "max"))
    # rounding makes sums of the same parts in another order alike, so that the name decides
    found["harm"] = found["harm"].round(9)
    return found.reset_index().sort_values(
        ["harm", "rank", "host"], ascending=[False, False, True], kind="stable"
    )


def ranking(rows: pd.DataFrame, found: OutcomeCube, link: ReportLink) -> tuple[HarmedHost, ...]:
    """The RANKED most harmed hosts, each by its leading trouble."""
    rules = by_rule(rows)
    order = by_host(rules).head(RANKED)
    top = order["host"]
    of_host = {host: part for host, part in rules[rules["host"].isin(top)].groupby("host", observed=True)}
    shown = rows[rows["host"].isin(top)]
    worst = shown.sort_values(
        ["rank", "harm", "day"], ascending=[False, False, False], kind="stable"
    ).drop_duplicates(["host", "rule"])
    worst_of = {(row["host"], row["rule"]): row for row in worst.to_dict("records")}
    observed = dict(zip(found.hosts, found.observed.sum(axis=1), strict=True))
    result = []
    for host, harm in zip(order["host"], order["harm"], strict=True):
        lead = _lead(of_host[host])
        row = worst_of[host, lead["rule"]]
        since, is_older = _since(found, host, lead["rule"], lead["last"])
        text, address = worst_evidence(row["evidence"])
        result.append(
            HarmedHost(
                host=host,
                harm=float(harm),
                rule=lead["rule"],
                severity=SEVERITIES[int(lead["rank"])],
                confidence=row["confidence"],
                title=row["title"],
                devices=tuple(map(str, row["devices"])),
                since=since,
                last=lead["last"],
                is_older=is_older,
                days=int(lead["days"]),
                days_read=int(observed[host]),
                others=tuple(rule for rule in of_host[host]["rule"] if rule != lead["rule"])[:OTHERS],
                evidence=text or row["summary"],
                address=address,
                day=row["day"],
                report=link(host, row["day"]),
            )
        )
    return tuple(result)


def _lead(rules: pd.DataFrame) -> pd.Series:
    """The rule that adds most harm; a symptom gives way to a cause that is as severe."""
    first = rules.iloc[0]
    symptoms = of_role("symptom")
    causes = rules[~rules["rule"].isin(list(symptoms)) & (rules["rank"] >= first["rank"])]
    return causes.iloc[0] if first["rule"] in symptoms and len(causes) else first


def _since(found: OutcomeCube, host: str, rule: str, last: str) -> tuple[str, bool]:
    """The first day of the run that ends with `last`, and whether the host has no data before it.

    Only a day that was judged clear ends a run.
    """
    history = found.history(host, rule)
    until = found.days.index(last)
    clear = np.flatnonzero(history[:until] == CLEAR)
    begin = int(clear[-1]) + 1 if len(clear) else 0
    first = begin + int(np.argmax(history[begin : until + 1] > CLEAR))
    return str(found.days[first]), not (history[:first] > UNJUDGED).any()


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


def troubles(rows: pd.DataFrame, found: OutcomeCube) -> tuple[Trouble, ...]:
    """Each rule with harm over the whole fleet, the most harmful first."""
    hurt = rows["host"].where(rows["rank"] >= SEVERITIES.index("warning"))
    groups = rows.assign(hurt=hurt).groupby("rule", sort=True, observed=True)
    table = groups.agg(
        harm=("harm", "sum"),
        hosts=("host", "nunique"),
        hosts_hurt=("hurt", "nunique"),
        host_days=("harm", "size"),
        rank=("rank", "max"),
        first=("day", "min"),
        last=("day", "max"),
    ).reset_index()
    judged = (found.cube >= CLEAR).any(axis=1).sum(axis=0)
    table["harm"] = table["harm"].round(9)
    table = table.sort_values(["harm", "rule"], ascending=[False, True], kind="stable")
    return tuple(
        Trouble(
            rule=row["rule"],
            severity=SEVERITIES[int(row["rank"])],
            hosts=int(row["hosts"]),
            hosts_hurt=int(row["hosts_hurt"]),
            hosts_judged=int(judged[found.rules.index(row["rule"])]),
            host_days=int(row["host_days"]),
            first=row["first"],
            last=row["last"],
            harm=float(row["harm"]),
        )
        for row in table.to_dict("records")
    )


def matrix(
    ranked: tuple[HarmedHost, ...], of_fleet: tuple[Trouble, ...], rows: pd.DataFrame, found: OutcomeCube
) -> Matrix:
    """The most harmed hosts against the rules that harm the fleet most."""
    hosts = ranked[:MATRIX_HOSTS]
    rules = [trouble.rule for trouble in of_fleet][:MATRIX_RULES]
    shown = rows[rows["host"].isin([host.host for host in hosts]) & rows["rule"].isin(rules)]
    table = by_rule(shown)
    seen = {
        (row["host"], row["rule"]): Cell("found", SEVERITIES[int(row["rank"])], int(row["days"]))
        for row in table.to_dict("records")
    }
    body = tuple(
        MatrixRow(
            host.host,
            tuple(seen.get((host.host, rule)) or _unseen(found, host.host, rule) for rule in rules),
            host.report,
        )
        for host in hosts
    )
    return Matrix(tuple(rules), body, max(0, len(of_fleet) - len(rules)))


def _unseen(found: OutcomeCube, host: str, rule: str) -> Cell:
    history = found.history(host, rule)
    return Cell("clear" if history.max(initial=NO_DATA) >= CLEAR else "unjudged")


def by_severity(rows: pd.DataFrame) -> dict[str, int]:
    """How many hosts have each severity as their worst, the worst first."""
    worst = rows.groupby("host", observed=True)["rank"].max().value_counts()
    return {name: int(worst[at]) for at, name in reversed(list(enumerate(SEVERITIES))) if at in worst.index}
