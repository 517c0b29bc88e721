"""Which hosts hurt most, from what, since when.

Harm adds up, over the days and over the troubles that no other finding explains, severity × confidence
× the share of the day that it lasted. One trouble on several devices of a host counts once a day,
by its worst finding: four slow legs are one slow array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.fleet.across_hosts.outcome_cube import CLEAR, NO_DATA, OutcomeCube, is_date
from iodiag.model.finding import HARMLESS, SEVERITIES
from iodiag.model.fleet import Cell, HarmedHost, Matrix, MatrixRow, Trouble
from iodiag.rules import of_role

if TYPE_CHECKING:
    from iodiag.fleet.across_hosts.troubles import OnHost

SEVERITY_WEIGHTS = {"info": 0.0, "notice": 1.0, "warning": 10.0, "critical": 100.0}
CONFIDENCE_WEIGHTS = {"low": 0.3, "medium": 0.6, "high": 1.0}

LEAST_SHARE = 1 / 24
"""A trouble counts for an hour at least: sar's ten-minute means show little of what is shorter. One without
a clock is a state that a listing shows (an array without a member), and counts for its whole day."""

RANKED, MATRIX_HOSTS, MATRIX_RULES, OTHERS = 200, 40, 12, 6

Affected = Mapping[tuple[str, str], "OnHost"]
"""What a rule found on a host."""


def is_trouble(findings: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which findings do harm, and are the effect of no other."""
    is_root = findings["explained_by"].isna() & (findings["severity"] != "info")
    return (is_root & ~findings["rule"].isin(list(of_role(*HARMLESS)))).to_numpy(dtype=bool)


def scored(findings: pd.DataFrame) -> pd.DataFrame:
    """One row per host, day and rule with harm: its worst unexplained finding, `harm` and `rank` added.

    `rank` is the severity as a number, 0 for `info`.
    """
    rows = findings[is_trouble(findings)].copy()
    start, end = _instants(rows["start"]), _instants(rows["end"])
    share = ((end - start).dt.total_seconds() / 86400).clip(LEAST_SHARE, 1.0).fillna(1.0)
    rows["rank"] = rows["severity"].map({name: at for at, name in enumerate(SEVERITIES)}).astype(np.int64)
    rows["harm"] = (
        rows["severity"].map(SEVERITY_WEIGHTS).astype(np.float64)
        * rows["confidence"].map(CONFIDENCE_WEIGHTS).astype(np.float64)
        * share
    )
    rows = rows.sort_values(
        ["host", "day", "rule", "harm", "rank", "page", "title"],
        ascending=[True, True, True, False, False, False, True],
        kind="stable",
    )
    return rows.drop_duplicates(["host", "day", "rule"]).reset_index(drop=True)


def _instants(column: pd.Series) -> pd.Series:
    return pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")


def by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Harm, days, worst severity and last day per host and rule, the worst rule of a host first.

    The rows come in order of their days, one a day, as `scored` gives them. What has no date is no day:
    `in_undated` says that it was found there.
    """
    dated = rows["day"].where(rows["day"].map(is_date).astype(bool))
    groups = rows.assign(dated=dated).groupby(["host", "rule"], sort=True, observed=True)
    found = groups.agg(
        harm=("harm", "sum"),
        all_days=("day", "size"),
        days=("dated", "count"),
        rank=("rank", "max"),
        last=("dated", "last"),
        any_day=("day", "last"),
    ).reset_index()
    found["in_undated"] = found.pop("all_days") > found["days"]
    found["last"] = found["last"].fillna(found.pop("any_day"))
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


def ranking(rows: pd.DataFrame, on_hosts: Affected) -> tuple[HarmedHost, ...]:
    """The RANKED most harmed hosts, each by its leading trouble."""
    rules = by_rule(rows)
    order = by_host(rules).head(RANKED)
    of_host = {
        host: part for host, part in rules[rules["host"].isin(order["host"])].groupby("host", observed=True)
    }
    result = []
    for host, harm in zip(order["host"], order["harm"], strict=True):
        lead = _lead(of_host[host])["rule"]
        worst = on_hosts[lead, host]
        others = tuple(rule for rule in of_host[host]["rule"] if rule != lead)[:OTHERS]
        fields = vars(worst.host) | {"harm": float(harm)}
        result.append(HarmedHost(rule=lead, title=worst.title, others=others, **fields))
    return tuple(result)


def _lead(rules: pd.DataFrame) -> pd.Series:
    """The rule that adds most harm; a symptom gives way to a cause that is as severe."""
    first = rules.iloc[0]
    symptoms = of_role("symptom")
    causes = rules[~rules["rule"].isin(list(symptoms)) & (rules["rank"] >= first["rank"])]
    return causes.iloc[0] if first["rule"] in symptoms and len(causes) else first


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
