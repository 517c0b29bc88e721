"""From the tables of a fleet run to what they say together: one pure function of frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from iodiag import __version__
from iodiag.analysis.load import baselines
from iodiag.fleet.across_hosts import daily_windows, harm, host_ranking, onsets, own_history, peers, troubles
from iodiag.fleet.across_hosts.heatmap import heatmap
from iodiag.fleet.across_hosts.inventory import ATTRIBUTES, Inventory
from iodiag.fleet.across_hosts.outcome_cube import UNJUDGED, OutcomeCube, is_date, outcome_cube
from iodiag.fleet.across_hosts.troubles import ReportLink
from iodiag.fleet.discover import UNDATED
from iodiag.model.fleet import FailedInputs, FleetReport, SilentHost, Totals, Trouble, Unjudged

ONSETS, OUTLIERS, DEPARTURES, WINDOWS, FAILED, EXAMPLES, SILENT, MISSING = 100, 100, 100, 100, 50, 3, 100, 4
"""How many of each the report keeps; the totals count all, and the Parquet tables have them."""

NEEDED = {
    "findings": (
        *("host", "day", "rule", "severity", "confidence", "devices", "start", "end", "title", "summary"),
        *("evidence", "explained_by", "remedy", "confirm", "is_undated"),
    ),
    "devices": ("host", "day", "device", "kind", "model", "firmware", "rotational", "kernel"),
    "hours": (
        *("host", "device", "day", "hour", "direction", "size_class", "load_bin", "samples", "seconds"),
        *("ios_per_s", "kb_per_s", "latency_ms", "median_ln_latency", "queue_depth", "util_pct"),
    ),
    "outcomes": ("host", "day", "rule", "status", "reason", "missing"),
    "manifest": ("input", "host", "status", "reason"),
}


_NUMBERS = frozenset(NEEDED["hours"][5:]) | {"hour"}

REPEATED = {
    "hours": ("host", "device", "day", "direction"),
    "outcomes": ("host", "day", "rule", "status", "reason", "missing"),
}
"""Words of the tables with many rows, kept as categories."""


def no_link(host: str, day: str) -> str:
    """No report stands anywhere."""
    return ""


def summarise(
    frames: Mapping[str, pd.DataFrame], inventory: Inventory | None = None, link: ReportLink = no_link
) -> FleetReport:
    """What the tables `findings`, `devices`, `hours`, `outcomes` and `manifest` say of the whole fleet.

    Columns are those of the Parquet files; a table or a column that is not there is unknown
    throughout. `link` gives the address of a host's report of a day. The same tables give the same report,
    in whatever order their rows come.
    """
    tables = _once({name: _table(name, frames.get(name)) for name in NEEDED})
    findings, devices, hours = tables["findings"], tables["devices"], tables["hours"]
    runs, unlike, judged = own_history.judged(hours)
    habits, looked = daily_windows.found(hours, link)
    known = outcome_cube([tables["outcomes"], judged, looked], [findings, unlike])
    stated = (inventory or Inventory()).match(known.hosts)
    rows = harm.scored(findings)
    begun = onsets.onsets(known.dated(), pd.concat([findings, unlike]), _kinds(devices))
    changes = onsets.common(begun, known.dated(), _attributes(devices, stated))
    on_hosts = troubles.affected(rows, known, changes, link)
    of_fleet, ranked = troubles.troubles(rows, known, on_hosts), host_ranking.ranking(rows, on_hosts)
    single, begun_alone = onsets.single(begun[begun["rule"] != own_history.DEPARTED], changes, ONSETS)
    standing_out, remarks = peers.outliers(hours, _identity(devices, stated), link)
    failed, silent = _failed(tables["manifest"]), _silent(known)
    totals = replace(
        _totals(known, tables, rows),
        onsets=begun_alone,
        outliers=len(standing_out),
        departures=len(runs),
        windows=len(habits),
        failed=sum(one.inputs for one in failed),
        silent=len(silent),
        changes=len(changes),
        begun_last_day=_begun_on(_dated(known)[-1], on_hosts.values()),
    )
    return FleetReport(
        iodiag=__version__,
        headline=_headline(totals, of_fleet),
        totals=totals,
        hosts=ranked,
        troubles=of_fleet,
        matrix=host_ranking.matrix(ranked, of_fleet, rows, known),
        heatmap=heatmap(rows, known, link),
        changes=changes,
        onsets=single,
        outliers=standing_out[:OUTLIERS],
        departures=own_history.departures(runs, link, DEPARTURES),
        windows=habits[:WINDOWS],
        failed=failed[:FAILED],
        unjudged=_unjudged(known, tables["outcomes"]),
        silent=silent[:SILENT],
        remarks=(*_remarks(known, inventory, stated, devices, hours), *remarks),
        limits=_limits(),
    )


def _once(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables with troubles that may be of any day on no day but UNDATED, found and judged there alone.

    It is found again with every day of its host that a job judges: `page` is the day whose report shows it.
    """
    findings, outcomes = tables["findings"], tables["outcomes"]
    is_undated = findings["is_undated"].eq(True).to_numpy(dtype=bool) & harm.is_trouble(findings)
    findings["page"] = findings["day"]
    findings.loc[is_undated, "day"] = UNDATED
    dated = pd.MultiIndex.from_frame(findings.loc[~is_undated, ["host", "page", "rule"]])
    undated = pd.MultiIndex.from_frame(findings.loc[is_undated, ["host", "page", "rule"]]).difference(dated)
    if len(undated):
        found = outcomes.loc[outcomes["status"] == "finding", ["host", "day", "rule"]].astype(object)
        is_moved = pd.MultiIndex.from_frame(found).isin(undated)
        tables["outcomes"] = outcomes.drop(index=found.index[is_moved])
    return tables


def _host_days(tables: Mapping[str, pd.DataFrame]) -> int:
    """How many days of hosts were judged."""
    found = tables["findings"][["host", "page"]].rename(columns={"page": "day"})
    judged = tables["outcomes"][["host", "day"]].drop_duplicates().astype(object)
    return len(pd.concat([found, judged]).drop_duplicates())


def _totals(known: OutcomeCube, tables: Mapping[str, pd.DataFrame], rows: pd.DataFrame) -> Totals:
    """What is counted of the tables themselves."""
    days = _dated(known)
    return Totals(
        hosts=len(known.hosts),
        host_days=_host_days(tables),
        first=days[0],
        last=days[-1],
        findings=len(tables["findings"]),
        inputs={str(k): int(v) for k, v in sorted(tables["manifest"]["status"].value_counts().items())},
        harmed=int(rows["host"].nunique()),
        by_severity=host_ranking.by_severity(rows),
    )


def _begun_on(day: str, on_hosts: Iterable[troubles.OnHost]) -> int:
    """How many troubles of hosts began on a day, of hosts with data before it."""
    return sum(one.host.since == day and not one.host.is_older for one in on_hosts)


def _table(name: str, frame: pd.DataFrame | None) -> pd.DataFrame:
    """The columns that are needed, None where there are none, in an order that rows alone decide."""
    table = (pd.DataFrame() if frame is None else frame).reindex(columns=list(NEEDED[name]))
    order = ("host", "device", "day", "hour", "rule", "direction", "status", "input")
    for column in table.columns:
        if column in REPEATED.get(name, ()):
            words = table[column].astype("category").cat
            table[column] = words.set_categories(sorted(map(str, words.categories)))
        else:
            table[column] = table[column].astype(np.float64 if column in _NUMBERS else object)
    keys = [column for column in order if column in table]
    return table.sort_values(keys, kind="stable").reset_index(drop=True)


def _dated(known: OutcomeCube) -> list[str]:
    """The days that are dates; "" twice over where there are none."""
    return [day for day in known.days if is_date(day)] or [""]


def _kinds(devices: pd.DataFrame) -> dict[tuple[str, str], str]:
    named = devices[devices["kind"].notna()].drop_duplicates(["host", "device"], keep="last")
    return dict(zip(zip(named["host"], named["device"], strict=True), named["kind"], strict=True))


def _identity(devices: pd.DataFrame, stated: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """What each device is: the latest that its own days say, else what the inventory says of its host."""
    told = ["kind", "model", "firmware", "rotational"]
    latest = devices.groupby(["host", "device"], sort=True)[told].last().reset_index()
    latest["role"] = None
    for name in ("role", "model", "firmware"):
        from_inventory = latest["host"].map({host: entry.get(name) for host, entry in stated.items()})
        latest[name] = latest[name].astype(object).where(latest[name].notna(), from_inventory)
    return latest


def _attributes(devices: pd.DataFrame, stated: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Host, day, attribute and value: what devices say day by day, what the inventory says of all days."""
    parts = [
        pd.DataFrame(
            [
                (host, "", name, entry[name])
                for host, entry in stated.items()
                for name in ATTRIBUTES
                if name in entry
            ],
            columns=["host", "day", "attribute", "value"],
        )
    ]
    for name in ("kernel", "model", "firmware"):
        seen = devices.loc[devices[name].notna(), ["host", "day", name]].drop_duplicates()
        seen = seen.rename(columns={name: "value"}).sort_values(["host", "day", "value"])
        is_shared = seen.duplicated(["host", "day"], keep=False)
        joined = seen[is_shared].groupby(["host", "day"])["value"].agg(", ".join).reset_index()
        parts += [seen[~is_shared].assign(attribute=name), joined.assign(attribute=name)]
    return pd.concat(parts, ignore_index=True)


def _failed(manifest: pd.DataFrame) -> tuple[FailedInputs, ...]:
    """Inputs that were not read whole, by status and by what is said of them apart from numbers."""
    rows = manifest[manifest["status"].isin(["failed", "unknown", "partly"])]
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, status, reason in zip(rows["input"], rows["status"], rows["reason"].fillna(""), strict=True):
        said = reason.replace(name, "…").removeprefix("…: ")
        groups.setdefault((status, re.sub(r"\d+", "0", said)), []).append((said, name))
    result = [
        FailedInputs(status, found[0][0], len(found), tuple(name for _, name in found[:EXAMPLES]))
        for (status, _), found in groups.items()
    ]
    return tuple(sorted(result, key=lambda one: (-one.inputs, one.status, one.reason)))


def _silent(known: OutcomeCube) -> tuple[SilentHost, ...]:
    """Hosts that have dated data, but none on the last day of all."""
    days = _dated(known)
    observed = known.observed[:, : len(days)] if days[0] else known.observed[:, :0]
    if not observed.shape[1]:
        return ()
    places = np.flatnonzero(observed.any(axis=1) & ~observed[:, -1])
    last = [days[int(np.flatnonzero(observed[at])[-1])] for at in places]
    found = [SilentHost(known.hosts[int(at)], day) for at, day in zip(places, last, strict=True)]
    return tuple(sorted(found, key=lambda one: (one.last, one.host)))


def _unjudged(known: OutcomeCube, outcomes: pd.DataFrame) -> tuple[Unjudged, ...]:
    """Rules that reached no verdict on some hosts on any of their days, the widest gap first."""
    best = known.cube.max(axis=1, initial=0)
    counts = (best == UNJUDGED).sum(axis=0)
    said = outcomes[outcomes["status"].isin(["undetermined", "not_applicable", "error"])]
    by = ["rule", "reason"]
    usual = said.groupby(by, sort=True, observed=True).agg(
        times=("host", "size"), missing=("missing", "first")
    )
    usual = usual.reset_index().astype({"rule": object, "reason": object, "missing": object})
    usual = usual.sort_values(["rule", "times", "reason"], ascending=[True, False, True])
    usual = usual.drop_duplicates("rule")
    reasons = {row["rule"]: _reason(row["reason"], row["missing"]) for row in usual.to_dict("records")}
    found = [
        Unjudged(rule, int(count), len(known.hosts), reasons.get(rule, ""))
        for rule, count in zip(known.rules, counts, strict=True)
        if count
    ]
    return tuple(sorted(found, key=lambda one: (-one.hosts, one.rule)))


def _reason(reason: str, missing: object) -> str:
    """Why a rule did not judge, with the columns and context that it lacked."""
    names = missing.split(", ") if isinstance(missing, str) and missing else []
    if not names:
        return reason
    more = ", …" if len(names) > MISSING else ""
    return f"{reason}: {', '.join(f'`{name}`' for name in names[:MISSING])}{more}"


def _remarks(
    known: OutcomeCube,
    inventory: Inventory | None,
    stated: Mapping[str, object],
    devices: pd.DataFrame,
    hours: pd.DataFrame,
) -> Iterable[str]:
    """What could not be compared, and what would settle it."""
    if len(_dated(known)) < 3:
        yield "What began together on many hosts is told from chance with three days or more."
    if inventory is None:
        if devices["model"].isna().all() and len(hours):
            yield (
                "Devices were not compared with their peers: neither roles nor models are known. "
                "An inventory (`--inventory hosts.csv` with the columns host, role, model) says them."
            )
        return
    missing = len(known.hosts) - len(stated)
    if missing:
        yield f"{missing:,} of {len(known.hosts):,} hosts do not stand in the inventory."
    yield from inventory.notes


MOST_NAMED = 3
"""Rules that the headline names."""


def _headline(totals: Totals, of_fleet: tuple[Trouble, ...]) -> str:
    """The fleet in one sentence: how many hosts hurt, and mostly from what."""
    if not totals.hosts:
        return "No host could be read."
    if not totals.harmed:
        return f"No trouble was found on {_hosts(totals.hosts)}."
    grave = totals.by_severity.get("critical", 0) + totals.by_severity.get("warning", 0)
    if not grave:
        return f"No host of {totals.hosts:,} pays a real cost; {_hosts(totals.harmed)} could do better."
    causes = [one for one in of_fleet if one.hosts_hurt]
    from_what = ", ".join(f"{one.rule} on {one.hosts_hurt:,}" for one in causes[:MOST_NAMED])
    if (more := len(causes) - MOST_NAMED) > 0:
        from_what += f", and {more} more rule{'s' if more > 1 else ''}"
    changed = f" {_changes(totals.changes)} hit many hosts on one day." if totals.changes else ""
    pay = "pays" if grave == 1 else "pay"
    return f"{grave:,} of {_hosts(totals.hosts)} {pay} a real cost: {from_what}.{changed}"


def _hosts(count: int) -> str:
    return f"{count:,} host{'' if count == 1 else 's'}"


def _changes(count: int) -> str:
    return "One change" if count == 1 else f"{count:,} changes"


def _limits() -> dict[str, float]:
    """The numbers that decided, by name."""
    return {
        **{f"severity.{name}": weight for name, weight in harm.SEVERITY_WEIGHTS.items()},
        **{f"confidence.{name}": weight for name, weight in harm.CONFIDENCE_WEIGHTS.items()},
        "harm.least_share_of_day": harm.LEAST_SHARE,
        "change.least_hosts": onsets.LEAST_HOSTS,
        "change.least_excess": onsets.LEAST_EXCESS,
        "change.false_discovery": onsets.FALSE_DISCOVERY,
        "peers.least_group": peers.LEAST_GROUP,
        "peers.z": peers.Z,
        "peers.ratio": peers.RATIO,
        "peers.share": peers.SHARE,
        "peers.least_spread_ln": peers.LEAST_SPREAD,
        "peers.false_discovery": peers.FALSE_DISCOVERY,
        "baseline.z": baselines.Z,
        "baseline.ratio": baselines.RATIO,
        "baseline.least_hours": baselines.LEAST_HOURS,
        **{f"window.{name}": value for name, value in daily_windows.LIMITS.as_dict().items()},
    }
