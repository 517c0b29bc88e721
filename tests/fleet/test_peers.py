"""Devices against their peers: what is found, and what must not be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fleet.tables import days_from, devices_table, host_names, hours_table, outcomes_table, slowed
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import summarise

DAYS = days_from(3)


def report(hours, hosts, inventory=None, **columns):
    told = {"model": "SSD 960"} | columns
    frames = {
        "hours": hours,
        "devices": devices_table(hosts, DAYS, **told),
        "outcomes": outcomes_table(hosts, DAYS, hours.head(0)),
    }
    return summarise(frames, inventory)


@pytest.mark.parametrize(
    ("factor", "is_found"), [(1.0, False), (1.4, False), (2.5, True), (6.0, True), (1 / 4, True)]
)
def test_a_device_stands_out_by_its_latency_at_like_load(factor, is_found):
    hosts = host_names(12)
    found = report(slowed(hours_table(hosts, DAYS), "db-00001", factor), hosts).outliers
    assert [one.host for one in found] == (["db-00001"] if is_found else [])
    if is_found:
        assert found[0].ratio == pytest.approx(factor, rel=0.15)
        assert (found[0].peers, found[0].windows, found[0].confidence) == (11, 72, "high")
        assert found[0].q_value <= 0.05


def test_a_device_under_more_load_is_not_slow():
    """Twice the requests in flight on a full device take twice as long: that is no news."""
    hosts = host_names(12)
    hours = hours_table(hosts, DAYS)
    is_busy = hours["host"] == "db-00001"
    hours.loc[is_busy, "load_bin"] = 11
    load = 2**5.5
    hours.loc[is_busy, "median_ln_latency"] = math.log(2.0 * load / 8)
    hours.loc[is_busy, "latency_ms"] = 2.0 * load / 8
    assert report(hours, hosts).outliers == ()


def test_a_device_with_larger_requests_is_not_slow_when_size_explains_it():
    hosts = host_names(16)
    hours = hours_table(hosts, DAYS)
    rng = np.random.default_rng(5)
    size = np.exp2(rng.integers(2, 9, len(hours)))
    is_large = (hours["host"] == "db-00001").to_numpy()
    size[is_large] = np.exp2(rng.integers(7, 9, is_large.sum()))
    hours["kb_per_s"] = hours["ios_per_s"] * size
    hours["median_ln_latency"] += 0.5 * np.log(size / 16)
    assert report(hours, hosts).outliers == ()


@pytest.mark.parametrize(("share", "is_found"), [(0.2, False), (0.5, True)])
def test_three_windows_in_ten_have_to_stand_out(share, is_found):
    hosts = host_names(12)
    hours = hours_table(hosts, DAYS)
    is_slow = (hours["host"] == "db-00001") & (hours["hour"] < 24 * share)
    hours.loc[is_slow, "median_ln_latency"] += math.log(6)
    assert bool(report(hours, hosts).outliers) == is_found


@pytest.mark.parametrize(
    ("count", "found", "confidence"),
    [(2, False, ""), (3, True, "low"), (4, True, "low"), (5, True, "medium")],
)
def test_small_groups_have_a_ratio_and_no_test(count, found, confidence):
    hosts = host_names(count)
    outliers = report(slowed(hours_table(hosts, DAYS), hosts[1], 6.0), hosts).outliers
    assert [one.host for one in outliers] == ([hosts[1]] if found else [])
    if found:
        assert outliers[0].confidence == confidence
        assert math.isnan(outliers[0].p_value) == (count < 5)


def test_devices_of_other_models_and_roles_are_no_peers():
    hosts = host_names(16)
    hours = hours_table(hosts, DAYS)
    for host in hosts[8:]:
        hours = slowed(hours, host, 5.0)
    models = ["SSD 960" if host in hosts[:8] else "HDD 7200" for host in hosts for _ in DAYS]
    assert report(hours, hosts, model=models).outliers == ()
    roles = Inventory({host: {"role": "cache" if host in hosts[:8] else "archive"} for host in hosts})
    assert report(hours, hosts, roles, model=None).outliers == ()


def test_without_a_role_or_a_model_nothing_is_compared_and_the_report_says_so():
    hosts = host_names(12)
    found = report(slowed(hours_table(hosts, DAYS), "db-00001", 6.0), hosts, model=None)
    assert found.outliers == ()
    assert any("--inventory" in remark for remark in found.remarks)


def test_what_stands_on_other_devices_is_not_compared():
    hosts = host_names(12)
    hours = slowed(hours_table(hosts, DAYS), "db-00001", 6.0)
    assert report(hours, hosts, kind="md").outliers == ()
    assert report(hours, hosts, kind=None).outliers != ()


@pytest.mark.parametrize("seed", range(6))
def test_healthy_fleets_have_no_outliers(seed):
    """Devices that differ by up to half a third, in 60 groups of their own: none stands out."""
    hosts = host_names(60)
    rng = np.random.default_rng(seed)
    hours = hours_table(hosts, DAYS, seed=seed)
    own = dict(zip(hosts, rng.normal(0, 0.12, len(hosts)), strict=True))
    hours["median_ln_latency"] += hours["host"].map(own)
    assert report(hours, hosts).outliers == ()


def test_the_order_of_rows_decides_nothing():
    hosts = host_names(12)
    hours = slowed(hours_table(hosts, DAYS), "db-00001", 4.0)
    again = report(hours.sample(frac=1, random_state=2), hosts)
    assert again.outliers == report(hours, hosts).outliers
