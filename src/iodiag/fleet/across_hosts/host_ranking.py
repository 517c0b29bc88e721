"""Which hosts hurt most, from what, since when: their harm (`harm.py`) added up over days and troubles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from iodiag.fleet.across_hosts.outcome_cube import CLEAR, NO_DATA, OutcomeCube, is_date
from iodiag.model.finding import SEVERITIES
from iodiag.model.fleet import Cell, HarmedHost, Matrix, MatrixRow, Trouble
from iodiag.rules import of_role

if TYPE_CHECKING:
    from iodiag.fleet.across_hosts.troubles import OnHost

RANKED, MATRIX_HOSTS, MATRIX_RULES, OTHERS = 200, 40, 12, 6

Affected = Mapping[tuple[str, str], "OnHost"]
"""What a rule found on a host."""


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
