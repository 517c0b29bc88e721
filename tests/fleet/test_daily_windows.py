"""Jobs that run at the same hour are found over all days of a fleet, whatever one day alone would show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fleet import tables
from fleet.conftest import run_here
from iodiag.fleet.across_hosts.summarise import summarise
from writers import fleet_writer

DAYS = tables.days_from(7)


def hours(days=DAYS, device="sda", direction="read", kb=4000.0, ms=2.0, host="db"):
    """Every hour of some days at one load, with a little noise."""
    grid = pd.MultiIndex.from_product([days, range(24)], names=["day", "hour"]).to_frame(index=False)
    noise = np.random.default_rng(2).lognormal(0, 0.1, len(grid))
    fixed = {"host": host, "device": device, "direction": direction, "size_class": 4, "load_bin": 0}
    rates = {"ios_per_s": kb * noise / 16, "kb_per_s": kb * noise, "latency_ms": ms * noise}
    still = {"samples": 6, "seconds": 3600.0, "queue_depth": 0.2, "util_pct": 10.0, "mad_ln_latency": 0.05}
    return grid.assign(**fixed, **rates, **still, median_ln_latency=np.log(ms * noise))


def at(table, first, last, column="kb_per_s", factor=20.0, days=DAYS):
    """The same with a column multiplied in some hours of some days."""
    changed = table.copy()
    is_in = table["hour"].between(first, last - 1) & table["day"].isin(days)
    changed.loc[is_in, column] *= factor
    return changed


def fleet_of(*parts, link=lambda host, day: f"{host}/{day}"):
    table = pd.concat(parts, ignore_index=True)
    grid = [*table[["host", "day"]].drop_duplicates().itertuples(index=False)]
    outcomes = pd.DataFrame(grid, columns=["host", "day"])
    outcomes = outcomes.assign(rule="recurring-window", status="not_applicable", reason="one day", missing="")
    return summarise({"hours": table, "outcomes": outcomes}, link=link)


def test_a_job_of_every_night_is_named_with_its_hours_and_its_last_day():
    report = fleet_of(at(hours(), 2, 4), hours(host="web"))
    (window,) = report.windows
    assert (window.host, window.devices, window.direction) == ("db", ("sda",), "read")
    assert (window.begin, window.end, window.seen, window.of, window.days) == ("02:00", "04:00", 7, 7, "days")
    assert window.value == pytest.approx(80_000, rel=0.1)
    assert window.usual == pytest.approx(4000, rel=0.1)
    assert window.chance < 0.001
    assert window.report == f"db/{DAYS[-1]}"
    assert not report.hosts, "a job is no trouble"
    assert not [one for one in report.unjudged if one.rule == "recurring-window"]
    assert "02:00 to 04:00" in report.to_markdown()
    assert "MB/s, usually 3." in report.to_html()


def test_a_job_of_many_years_is_named_as_well():
    days = tables.days_from(1500)
    (window,) = fleet_of(at(hours(days), 2, 4, days=[day for n, day in enumerate(days) if n % 4])).windows
    assert (window.seen, window.of) == (1125, 1500)


def test_a_disk_that_only_the_backup_uses_counts_as_idle_in_the_hours_of_its_host():
    only = at(hours(device="sdb", direction="write"), 1, 2)
    report = fleet_of(hours(), only[only["hour"] == 1])
    (window,) = report.windows
    assert (window.devices, window.direction, window.begin, window.usual) == (("sdb",), "write", "01:00", 0)


def test_two_disks_of_one_job_are_one_row_and_a_weekday_takes_weeks():
    weekly = tables.days_from(28)
    mondays = weekly[::7]
    parts = [at(hours(weekly, device), 3, 5, days=mondays) for device in ("sda", "sdb")]
    (window,) = fleet_of(*parts).windows
    assert (window.devices, window.days, window.seen, window.of) == (("sda", "sdb"), "Mondays", 4, 4)


def test_what_only_takes_long_at_that_hour_is_listed_behind():
    slow = at(hours(direction="write"), 2, 3, "latency_ms", 10)
    load, wait = fleet_of(at(hours(), 5, 6), slow).windows
    assert (load.quantity, wait.quantity) == ("kb_per_s", "latency_ms")
    assert (wait.direction, wait.begin) == ("write", "02:00")


@pytest.mark.parametrize(
    "table",
    [
        hours(),
        at(hours(), 8, 18),
        at(hours(), 2, 4, days=DAYS[:2]),
        at(hours(), 2, 4, factor=2.0),
        at(hours(), 2, 4, "latency_ms", 2.5),
        at(hours()[hours()["hour"].between(2, 3)], 2, 4),
    ],
    ids=["even", "working hours", "two nights", "twice", "not felt", "collected then alone"],
)
def test_what_is_no_habit_is_not_listed(table):
    report = fleet_of(table)
    assert report.windows == ()
    assert not report.unjudged


def test_three_days_are_not_judged():
    report = fleet_of(at(hours(DAYS[:3]), 2, 4))
    assert report.windows == ()
    assert [one.rule for one in report.unjudged] == ["recurring-window"]


def test_the_run_finds_it_in_the_days_that_it_stores(tmp_path, monkeypatch):
    """A file of sadc per day, each of which is judged by itself."""
    role = next(one for one in fleet_writer.ROLES if one.name == "db")
    disk = fleet_writer._disk

    def with_backup(role, name, busy, is_ill, trouble, rng):
        made = disk(role, name, busy, is_ill, trouble, rng)
        at_night = np.arange(fleet_writer.SAMPLES) // 6 == 2
        return made | {"read": made["read"] * np.where(at_night & (name == "sdb"), 30.0, 1.0)}

    monkeypatch.setattr(fleet_writer, "_disk", with_backup)
    for day in range(5):
        (tmp_path / "in" / "db1").mkdir(parents=True, exist_ok=True)
        name = f"sa{fleet_writer.day_name(day).replace('-', '')}"
        (tmp_path / "in" / "db1" / name).write_bytes(fleet_writer.sa_day("db1", role, day, ""))
    run_here(tmp_path / "in", tmp_path / "out")
    text = (tmp_path / "out" / "fleet.md").read_text()
    assert "At the same hour" in text
    assert "02:00 to 03:00 | 5 of 5 days | requests" in text
