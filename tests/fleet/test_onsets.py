"""What began when, alone and on many hosts at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fleet.tables import (
    days_from,
    devices_table,
    finding,
    findings_table,
    host_names,
    hours_table,
    outcomes_table,
    slowed,
)
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import summarise

DAYS = days_from(8)
HOSTS = host_names(60)


def report(rows, hosts=HOSTS, days=DAYS, inventory=None, devices=None, change=None):
    findings = findings_table(rows)
    outcomes = outcomes_table(hosts, days, findings)
    if change is not None:
        outcomes = change(outcomes)
    frames = {"findings": findings, "outcomes": outcomes}
    if devices is not None:
        frames["devices"] = devices
    return summarise(frames, inventory)


def wave(hosts, rule="true-saturation", since=4, **changes):
    return [finding(host, day, rule, **changes) for host in hosts for day in DAYS[since:]]


def test_a_trouble_begins_where_the_last_judged_day_was_clear():
    rows = [finding("db-00000", DAYS[at], "hung-io") for at in (0, 2, 3, 6)]
    found = report(rows).onsets
    assert [(one.day, one.before, one.days) for one in found] == [(DAYS[6], DAYS[5], 1)]


@pytest.mark.parametrize(
    ("status", "before"),
    [("undetermined", DAYS[0]), ("not_applicable", DAYS[0]), ("error", DAYS[0]), ("clear", DAYS[1])],
)
def test_a_day_without_a_verdict_is_no_day_that_was_clear(status, before):
    def unsure(outcomes: pd.DataFrame) -> pd.DataFrame:
        is_it = (outcomes["day"] == DAYS[1]) & (outcomes["rule"] == "hung-io")
        outcomes.loc[is_it, "status"] = status
        return outcomes

    (one,) = report([finding("db-00000", DAYS[2], "hung-io")], change=unsure).onsets
    assert (one.day, one.before) == (DAYS[2], before)


def test_what_was_there_on_the_first_day_did_not_begin():
    assert report(wave(HOSTS, since=0)).onsets == ()
    assert report(wave(HOSTS, since=0)).changes == ()


def test_information_and_effects_begin_nothing():
    rows = wave(["db-00000"], "interval-too-long", severity="info")
    rows += wave(["db-00000"], "true-saturation", explained_by="volume-cap")
    assert report(rows).onsets == ()


def test_many_hosts_on_one_day_are_one_change():
    hit = HOSTS[:20]
    (change,) = report(wave(hit)).changes
    assert change.day == DAYS[4]
    assert set(change.hosts) == set(hit)
    (part,) = change.beginnings
    assert (part.rule, part.hosts, part.at_risk) == ("true-saturation", 20, 60)
    assert part.expected == 0
    assert part.p_value < 1e-9
    assert part.q_value < 1e-7


def test_what_is_expected_is_what_the_other_days_bring():
    rows = wave(HOSTS[:20]) + [finding(HOSTS[at], DAYS[2], "true-saturation") for at in (40, 41, 42)]
    (change,) = report(rows).changes
    # three began on the other days, on which 60, 60, 57 (three were not clear) and thrice 40 could have
    assert change.beginnings[0].expected == pytest.approx(3 * 60 / (60 + 60 + 57 + 3 * 40), rel=0.02)


def test_hosts_of_a_change_are_not_listed_one_by_one():
    rows = [*wave(HOSTS[:20]), finding("web-00010", DAYS[2], "hung-io")]
    found = report(rows)
    assert [(one.host, one.rule) for one in found.onsets] == [("web-00010", "hung-io")]


def test_two_rules_that_begin_on_the_same_hosts_are_one_change_and_others_are_not():
    rows = [*wave(HOSTS[:20]), *wave(HOSTS[2:16], "volume-cap"), *wave(HOSTS[30:50], "hung-io")]
    changes = report(rows).changes
    assert [sorted(part.rule for part in change.beginnings) for change in changes] == [
        ["hung-io"],
        ["true-saturation", "volume-cap"],
    ] or [sorted(part.rule for part in change.beginnings) for change in changes] == [
        ["true-saturation", "volume-cap"],
        ["hung-io"],
    ]


def test_too_few_hosts_are_no_change():
    assert report(wave(HOSTS[:4])).changes == ()


@pytest.mark.parametrize("seed", range(5))
def test_chance_makes_no_change(seed):
    """What flares up anywhere, any day, begins together on some hosts on every day."""
    rng = np.random.default_rng(seed)
    rows = [
        finding(host, day, rule)
        for host in HOSTS
        for day in DAYS
        for rule in ("hung-io", "volume-cap", "swap-thrash")
        if rng.random() < 0.08
    ]
    assert report(rows).changes == ()


def test_two_days_tell_nothing_from_chance_and_the_report_says_so():
    rows = [finding(host, DAYS[1], "true-saturation") for host in HOSTS[:20]]
    found = report(rows, days=DAYS[:2])
    assert found.changes == ()
    assert any("three days" in remark for remark in found.remarks)


def test_what_the_hosts_share_is_named():
    hit = HOSTS[:20]
    devices = devices_table(HOSTS, DAYS, model="SSD 960").assign(
        kernel=lambda rows: np.where(
            rows["host"].isin(HOSTS[:22]) & (rows["day"] >= DAYS[4]), "6.12.9", "6.12.4"
        )
    )
    inventory = Inventory({host: {"site": "A" if host in hit else "B", "role": host[:2]} for host in HOSTS})
    (change,) = report(wave(hit), devices=devices, inventory=inventory).changes
    kernel, site = change.shared
    assert (kernel.attribute, kernel.before, kernel.value) == ("kernel", "6.12.4", "6.12.9")
    assert (kernel.hosts, kernel.elsewhere, kernel.of_elsewhere) == (20, 2, 40)
    assert (site.attribute, site.value, site.hosts, site.elsewhere) == ("site", "A", 20, 0)


def test_a_change_of_the_whole_fleet_names_what_changed_that_day():
    devices = devices_table(HOSTS, DAYS, model="SSD 960").assign(
        firmware=lambda rows: np.where(rows["day"] >= DAYS[4], "2.0", "1.9")
    )
    (change,) = report(wave(HOSTS), devices=devices).changes
    assert [(one.attribute, one.before, one.value) for one in change.shared] == [("firmware", "1.9", "2.0")]


def test_the_kind_of_device_stands_with_the_rule():
    rows = [*wave(HOSTS[:10], devices=["md0"]), *wave(HOSTS[10:20], devices=[])]
    devices = devices_table(HOSTS, DAYS, device="md0", kind="md")
    (first, second) = report(rows, devices=devices).changes
    assert {first.beginnings[0].kind, second.beginnings[0].kind} == {"md", "whole host"}


def test_a_latency_that_rises_on_many_hosts_at_once_is_a_change():
    hours = hours_table(HOSTS[:20], DAYS)
    for host in HOSTS[:8]:
        hours = slowed(hours, host, 5.0, DAYS[6])
    outcomes = outcomes_table(HOSTS[:20], DAYS, findings_table([]))
    frames = {"hours": hours, "outcomes": outcomes, "devices": devices_table(HOSTS[:20], DAYS)}
    found = summarise(frames)
    (change,) = found.changes
    assert (change.day, set(change.hosts)) == (DAYS[6], set(HOSTS[:8]))
    assert (change.beginnings[0].rule, change.beginnings[0].kind) == ("latency-above-baseline", "disk")
    # each of them stands among the departures, so they are no beginnings of single hosts besides
    assert found.onsets == ()
    assert {one.host for one in found.departures} == set(HOSTS[:8])


def test_the_order_of_rows_decides_nothing():
    rows = [*wave(HOSTS[:20]), *wave(HOSTS[2:16], "volume-cap"), finding("web-00010", DAYS[2], "hung-io")]
    assert report(rows) == report(rows[::-1], change=lambda outcomes: outcomes.sample(frac=1, random_state=1))
