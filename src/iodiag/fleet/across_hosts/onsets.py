"""What began when: on one host, and on many hosts at once, which one cause explains better than many.

A trouble begins on a day when it is found there and the host's last judged day before was clear. By chance
these days lie anywhere among the days on which they could have: so the number of hosts on which one
rule begins on one day is hypergeometric, given how often it begins at all, and the test needs no model of
the troubles. What begins on the same day on mostly the same hosts is one change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from iodiag.fleet.across_hosts.outcome_cube import CLEAR, FOUND, OutcomeCube
from iodiag.fleet.across_hosts.significance import at_least, false_discovery
from iodiag.model.finding import SEVERITIES
from iodiag.model.fleet import Beginning, CommonChange, Onset, Shared

LEAST_HOSTS = 5
LEAST_EXCESS = 2.0
FALSE_DISCOVERY = 0.05
"""A common change: at least so many hosts, so many times what the other days bring, at this q (judgement:
in a large fleet the test alone would call a tenth more than usual a change)."""

SAME_HOSTS = 0.5
"""Two beginnings are one change when they share this part of the hosts of the smaller one."""

LEAST_SHARED = 0.8
SHARED_CHANCE = 0.001
"""What most hosts of a change have in common, and too rarely elsewhere for chance."""

_COLUMNS = ["host", "rule", "day", "before", "kind", "rank", "is_explained", "days"]


def onsets(found: OutcomeCube, findings: pd.DataFrame, kinds: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Every beginning: host, rule, `day`, `before` (the last day judged), kind of device, severity.

    `kinds` tells the kind of a (host, device). `days` counts the days it was found from then on.
    """
    last = np.zeros((len(found.hosts), len(found.rules)), dtype=np.int8)
    last_day = np.zeros_like(last, dtype=np.int32)
    parts = []
    for day in range(len(found.days)):
        now = found.cube[:, day, :]
        hosts, rules = np.nonzero((last == CLEAR) & (now == FOUND))
        later = (found.cube[hosts, day:, rules] == FOUND).sum(axis=1)
        parts.append(np.stack([hosts, rules, np.full_like(hosts, day), last_day[hosts, rules], later]))
        judged = now >= CLEAR
        last[judged] = now[judged]
        last_day[judged] = day
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    hosts, rules, days, before, later = np.concatenate(parts, axis=1)
    table = pd.DataFrame(
        {
            "host": np.array(found.hosts, dtype=object)[hosts],
            "rule": np.array(found.rules, dtype=object)[rules],
            "day": np.array(found.days, dtype=object)[days],
            "before": np.array(found.days, dtype=object)[before],
            "days": later,
        }
    )
    return table.merge(_kinds(findings, kinds), on=["host", "day", "rule"], how="left")[_COLUMNS]


def _kinds(findings: pd.DataFrame, kinds: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Per host, day and rule: the kind of device of its worst finding, and whether all are explained."""
    rows = findings[findings["severity"] != "info"]
    ranks = {name: at for at, name in enumerate(SEVERITIES)}
    rows = rows.assign(rank=rows["severity"].map(ranks).astype(np.int64))
    by = ["host", "day", "rule"]
    explained = rows["explained_by"].notna().groupby([rows[name] for name in by]).all()
    worst = rows.sort_values(
        [*by, "rank"], ascending=[True, True, True, False], kind="stable"
    ).drop_duplicates(by)
    worst = worst.assign(
        kind=[
            kinds.get((host, devices[0]), "device") if len(devices) else "whole host"
            for host, devices in zip(worst["host"], worst["devices"], strict=True)
        ]
    )
    return worst[[*by, "kind", "rank"]].merge(explained.rename("is_explained").reset_index(), on=by)


def at_risk(found: OutcomeCube) -> pd.DataFrame:
    """How many hosts could have begun, per day (rows) and rule (columns): clear before, judged now."""
    last = np.zeros((len(found.hosts), len(found.rules)), dtype=np.int8)
    counts = np.zeros((len(found.days), len(found.rules)), dtype=np.int64)
    for day in range(len(found.days)):
        now = found.cube[:, day, :]
        counts[day] = ((last == CLEAR) & (now >= CLEAR)).sum(axis=0)
        last = np.where(now >= CLEAR, now, last)
    return pd.DataFrame(counts, index=found.days, columns=found.rules)


def common(begun: pd.DataFrame, found: OutcomeCube, attributes: pd.DataFrame) -> tuple[CommonChange, ...]:
    """The changes that many hosts saw on one day, the one with most hosts first.

    `attributes` has a row per host, day, attribute and value.
    """
    by = ["rule", "kind", "day"]
    counts = begun.groupby(by, sort=True).agg(hosts=("host", "nunique"), rank=("rank", "max")).reset_index()
    risks = at_risk(found)
    counts["of_kind"] = counts.groupby(["rule", "kind"])["hosts"].transform("sum")
    counts["total"] = counts["rule"].map(risks.sum())
    days = counts["rule"].map((risks > 0).sum())
    drawn = risks.rename_axis("day").reset_index().melt("day", var_name="rule", value_name="drawn")
    rows = counts.merge(drawn, on=["day", "rule"], how="left").to_dict("records")
    chances = [at_least(row["hosts"], row["drawn"], row["of_kind"], row["total"]) for row in rows]
    # the days on which nothing began were looked at too
    idle = int(days.groupby([counts["rule"], counts["kind"]]).first().sum()) - len(rows)
    q_values = false_discovery(np.array(chances + [1.0] * idle, dtype=np.float64))
    beginnings = []
    for row, chance, q_value in zip(rows, chances, q_values, strict=False):
        elsewhere = row["total"] - row["drawn"]
        expected = (row["of_kind"] - row["hosts"]) * row["drawn"] / elsewhere if elsewhere else 0.0
        is_many = row["hosts"] >= max(LEAST_HOSTS, LEAST_EXCESS * expected)
        if is_many and q_value <= FALSE_DISCOVERY:
            severity = SEVERITIES[row["rank"]]
            part = Beginning(
                row["rule"],
                row["kind"],
                severity,
                row["hosts"],
                row["drawn"],
                expected,
                chance,
                float(q_value),
            )
            beginnings.append((row["day"], part))
    changes = [
        CommonChange(day, tuple(sorted(hosts)), tuple(parts), _shared(hosts, day, found, attributes))
        for day, hosts, parts in _merged(beginnings, begun)
    ]
    return tuple(sorted(changes, key=lambda one: (-len(one.hosts), one.day, one.beginnings[0].rule)))


def change_of(host: str, rule: str, since: str, changes: tuple[CommonChange, ...]) -> int | None:
    """The number (from 1) of the change in which a trouble of a host began, or None."""
    for number, change in enumerate(changes, 1):
        is_it = since == change.day and rule in {part.rule for part in change.beginnings}
        if is_it and host in change.hosts:
            return number
    return None


def _merged(
    beginnings: list[tuple[str, Beginning]], begun: pd.DataFrame
) -> list[tuple[str, set[str], list[Beginning]]]:
    """Beginnings of one day on mostly the same hosts put together, the larger ones first."""
    changes: list[tuple[str, set[str], list[Beginning]]] = []
    for day, part in sorted(
        beginnings, key=lambda pair: (pair[0], -pair[1].hosts, pair[1].rule, pair[1].kind)
    ):
        is_it = (begun["day"] == day) & (begun["rule"] == part.rule) & (begun["kind"] == part.kind)
        hosts = set(begun.loc[is_it, "host"])
        for other_day, others, parts in changes:
            if other_day == day and len(hosts & others) >= SAME_HOSTS * min(len(hosts), len(others)):
                others |= hosts
                parts.append(part)
                break
        else:
            changes.append((day, hosts, [part]))
    return changes


def _shared(hosts: set[str], day: str, found: OutcomeCube, attributes: pd.DataFrame) -> tuple[Shared, ...]:
    """What the hosts have in common that the others with data on that day and before have not."""
    at = found.days.index(day)
    both = found.observed[:, at] & found.observed[:, :at].any(axis=1)
    fleet = {host for host, is_there in zip(found.hosts, both, strict=True) if is_there} | hosts
    known = attributes[attributes["host"].isin(fleet) & (attributes["day"] <= day)]
    known = known.sort_values(["host", "attribute", "day"], kind="stable")
    by = ["host", "attribute"]
    now = known.groupby(by, sort=True)[["day", "value"]].last()
    now["before"] = known[known["day"] < day].groupby(by, sort=True)["value"].last().reindex(now.index)
    is_new = now["before"].notna() & (now["before"] != now["value"]) & (now["day"] == day)
    now.loc[~is_new, "before"] = ""
    result: list[Shared] = []
    for keys in (["attribute", "value", "before"], ["attribute", "value"]):
        rows = now[is_new] if "before" in keys else now
        rows = rows.reset_index().assign(inside=lambda part: part["host"].isin(hosts))
        counted = rows.groupby(keys, sort=True)["inside"].agg(["sum", "size"]).reset_index()
        for row in counted.to_dict("records"):
            shared = Shared(
                attribute=row["attribute"],
                value=row["value"],
                hosts=int(row["sum"]),
                of_hosts=len(hosts),
                elsewhere=int(row["size"] - row["sum"]),
                of_elsewhere=len(fleet) - len(hosts),
                before=row.get("before"),
            )
            if _is_telling(shared) and shared.attribute not in {one.attribute for one in result}:
                result.append(shared)
    return tuple(result)


def _is_telling(shared: Shared) -> bool:
    """Held by most hosts of the change, and by too few of the others for chance."""
    if shared.hosts < LEAST_SHARED * shared.of_hosts:
        return False
    if not shared.of_elsewhere:
        return shared.before is not None
    total = shared.of_hosts + shared.of_elsewhere
    return at_least(shared.hosts, shared.of_hosts, shared.hosts + shared.elsewhere, total) <= SHARED_CHANCE


def single(
    begun: pd.DataFrame, changes: tuple[CommonChange, ...], most: int
) -> tuple[tuple[Onset, ...], int]:
    """The latest beginning of each trouble on each host outside the common changes, and how many there are.

    The most severe and the longest stand first; what another finding explains is left to that one.
    """
    rows = begun[~begun["is_explained"].astype(bool)]
    taken = {
        (host, part.rule, change.day)
        for change in changes
        for host in change.hosts
        for part in change.beginnings
    }
    if taken:
        keys = pd.MultiIndex.from_frame(rows[["host", "rule", "day"]])
        rows = rows[~keys.isin(taken)]
    rows = rows.sort_values("day", kind="stable").drop_duplicates(["host", "rule"], keep="last")
    rows = rows.sort_values(
        ["rank", "days", "day", "host", "rule"], ascending=[False, False, False, True, True], kind="stable"
    )
    shown = tuple(
        Onset(
            row["host"],
            row["rule"],
            row["kind"],
            SEVERITIES[int(row["rank"])],
            row["day"],
            row["before"],
            int(row["days"]),
        )
        for row in rows.head(most).to_dict("records")
    )
    return shown, len(rows)
