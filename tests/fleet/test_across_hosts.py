"""The whole of a fleet from its tables: planted troubles are named, and nothing else is made of them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from fleet import tables
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import summarise
from iodiag.model.fleet import FleetReport

HOSTS = tables.host_names(40)
INVENTORY = Inventory(
    {host: {"role": host.split("-")[0], "site": "AB"[at % 2]} for at, host in enumerate(HOSTS)}
)


@pytest.fixture(scope="module")
def planted() -> FleetReport:
    return summarise(tables.fleet(), INVENTORY, link=lambda host, day: f"reports/{host}/{day}.html")


def test_every_planted_trouble_is_named(planted):
    assert (planted.hosts[0].host, planted.hosts[0].rule, planted.hosts[0].change) == (
        "db-00000",
        "hung-io",
        None,
    )
    assert {one.change for one in planted.hosts[1:21]} == {1}
    (change,) = planted.changes
    assert set(change.hosts) == set(HOSTS[1::2])
    assert [one.attribute for one in change.shared] == ["kernel", "site"]
    assert [(one.host, one.device) for one in planted.outliers] == [("web-00001", "sda")]
    assert [(one.host, one.is_lasting) for one in planted.departures] == [("web-00002", True)]
    assert planted.departures[0].ratio == pytest.approx(5, rel=0.1)
    assert planted.headline == (
        "21 of 40 hosts pay a real cost: hung-io on 1, true-saturation on 20. "
        "One change hit many hosts on one day."
    )


def test_totals_count_everything(planted):
    totals = planted.totals
    assert (totals.hosts, totals.host_days, totals.first, totals.last) == (
        40,
        280,
        "2026-03-02",
        "2026-03-08",
    )
    assert totals.by_severity == {"critical": 1, "warning": 20, "notice": totals.harmed - 21}
    assert list(totals.by_severity) == ["critical", "warning", "notice"]
    assert totals.inputs == {"failed": 2, "read": 280, "unknown": 1}


def test_inputs_that_failed_for_one_reason_are_one_line(planted):
    assert [(one.status, one.inputs, one.examples) for one in planted.failed] == [
        ("failed", 2, ("db-00001/sa09", "db-00002/sa09")),
        ("unknown", 1, ("web-00000/core",)),
    ]
    assert planted.failed[0].reason == "the file ends in the middle of a record at byte 4812"


def test_rules_that_never_judged_are_counted_with_what_they_lacked():
    frames = tables.fleet(8, 3)
    outcomes = frames["outcomes"]
    is_it = (outcomes["rule"] == "flush-latency") & outcomes["host"].isin(HOSTS[:3])
    outcomes.loc[is_it, ["status", "reason"]] = ["not_applicable", "the capture lacks what this rule needs"]
    outcomes["missing"] = np.where(is_it, "disk.flushes_per_s", "")
    seen_once = (outcomes["rule"] == "hung-io") & (outcomes["day"] == tables.FIRST_DAY)
    outcomes.loc[seen_once, ["status", "reason"]] = ["undetermined", "too few samples"]
    (unjudged,) = summarise(frames).unjudged
    assert (unjudged.rule, unjudged.hosts, unjudged.of_hosts) == ("flush-latency", 3, 8)
    assert unjudged.reason == "the capture lacks what this rule needs: `disk.flushes_per_s`"


def test_hosts_that_fell_silent_are_named():
    frames = tables.fleet(8, 4)
    days = tables.days_from(4)
    for name in ("outcomes", "findings", "hours"):
        frame = frames[name]
        frames[name] = frame[~((frame["host"] == "web-00000") & frame["day"].isin(days[2:]))]
    (silent,) = summarise(frames).silent
    assert (silent.host, silent.last) == ("web-00000", days[1])


def test_captures_without_a_date_are_judged_and_dated_nowhere():
    findings = tables.findings_table([tables.finding("a", "undated", "hung-io", start=None, end=None)])
    found = summarise(
        {"findings": findings, "outcomes": tables.outcomes_table(["a", "b"], ["undated"], findings)}
    )
    assert (found.totals.first, found.totals.host_days, found.silent) == ("", 2, ())
    (host,) = found.hosts
    assert (host.since, host.last, host.is_older, host.days, host.days_read) == (
        *["undated"] * 2,
        False,
        0,
        0,
    )
    assert found.troubles[0].since == "undated"


def test_captures_without_a_date_have_no_place_in_the_order_of_days():
    days = [*tables.days_from(3), "undated"]
    rows = [tables.finding("a", days[1], "hung-io"), tables.finding("a", "undated", "hung-io", start=None)]
    rows.append(tables.finding("b", "undated", "volume-cap", start=None))
    findings = tables.findings_table(rows)
    found = summarise({"findings": findings, "outcomes": tables.outcomes_table(["a", "b"], days, findings)})
    host = next(one for one in found.hosts if one.host == "a")
    assert (host.since, host.last, host.days, host.days_read, host.in_undated) == (
        days[1],
        days[1],
        1,
        3,
        True,
    )
    (hung,) = (one for one in found.troubles if one.rule == "hung-io")
    assert (hung.first, hung.last, hung.host_days) == (days[1], days[1], 2)
    # what is undated began on no day, and is not the end of anything
    assert [(one.host, one.day) for one in found.onsets] == [("a", days[1])]
    assert found.heatmap.days == tuple(days)


def test_the_same_tables_give_the_same_report_in_any_order(planted):
    shuffled = {name: frame.sample(frac=1, random_state=4) for name, frame in tables.fleet().items()}
    again = summarise(shuffled, INVENTORY, link=lambda host, day: f"reports/{host}/{day}.html")
    assert again.to_json() == planted.to_json()


def test_tables_as_parquet_gives_them_back_say_the_same(tmp_path, planted):
    stored = {}
    for name, frame in tables.fleet().items():
        frame.to_parquet(tmp_path / name)
        stored[name] = pd.read_parquet(tmp_path / name)
    again = summarise(stored, INVENTORY, link=lambda host, day: f"reports/{host}/{day}.html")
    assert again.to_json() == planted.to_json()


def many(hosts: int) -> dict[str, pd.DataFrame]:
    """Ten thousand hosts on seven days, three findings each, a tenth of them in one change."""
    rng = np.random.default_rng(11)
    names, days = np.array(tables.host_names(hosts)), tables.days_from(7)
    count = 3 * hosts
    rows = pd.DataFrame(
        {
            "host": rng.choice(names, count),
            "day": rng.choice(days, count),
            "rule": rng.choice(tables.RULES[:-1], count),
            "severity": rng.choice(["notice", "warning", "critical"], count, p=[0.9, 0.09, 0.01]),
            "confidence": rng.choice(["low", "medium", "high"], count),
        }
    )
    wave = pd.MultiIndex.from_product([names[::10], days[4:], ["volume-cap"]], names=["host", "day", "rule"])
    rows = pd.concat([rows, wave.to_frame(index=False).assign(severity="warning", confidence="high")])
    filler = tables.finding("x", days[0], "x")
    findings = rows.assign(**{name: filler[name] for name in ("title", "summary", "evidence")})
    findings["start"], findings["end"] = findings["day"] + "T01:00:00", findings["day"] + "T05:00:00"
    findings["devices"] = [["sda"]] * len(findings)
    findings["explained_by"] = None
    hours = tables.hours_table(list(names[:200]), days[:2])
    return {
        "findings": findings.reset_index(drop=True),
        "outcomes": tables.outcomes_table(list(names), days, findings),
        "devices": tables.devices_table(list(names), days, model="SSD 960"),
        "hours": hours,
        "manifest": tables.manifest_table(list(names), days[:1]),
    }


@pytest.mark.slow
def test_ten_thousand_hosts_stay_readable():
    report = summarise(many(10_000), link=lambda host, day: f"reports/{host}/{day}.html")
    assert report.totals.hosts == 10_000
    assert report.totals.harmed > 5_000
    assert [change.beginnings[0].rule for change in report.changes] == ["volume-cap"]
    assert len(report.changes[0].hosts) >= 1000
    page, text = report.to_html(), report.to_markdown()
    assert len(page.encode()) < 5_000_000
    assert len(text.encode()) < 100_000
    for words in (page, text):
        assert "more hosts" in words
        assert "findings.parquet" in words
    assert not math.isnan(report.hosts[0].harm)
