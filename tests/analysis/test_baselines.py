"""What is normal at an hour, and since when it is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iodiag.analysis.load.baselines import by_hour, departures, learned_baselines, unusual
from iodiag.analysis.view.request_columns import enrich
from iodiag.table.table import Table
from writers.archives import FIRST_DAY, between, disk, nightly


def hourly(disk: pd.DataFrame) -> pd.DataFrame:
    return by_hour(enrich(Table.of(disk)))


HOUR = pd.Timedelta(hours=1)


def day(number: int) -> pd.Timestamp:
    return FIRST_DAY + pd.Timedelta(days=number)


def sample(**changed: object) -> dict[str, object]:
    row = {
        "source": "a",
        "line": 1,
        "host": "db1",
        "device": "sda",
        "time": pd.Timestamp("2026-03-02 01:00:00"),
        "interval_s": 600.0,
        "since_boot": False,
        "is_group": False,
        "reads_per_s": 100.0,
        "writes_per_s": 300.0,
        "read_kb_per_s": 1600.0,
        "write_kb_per_s": 1200.0,
        "read_await_ms": 2.0,
        "write_await_ms": 1.0,
        "queue_depth": 0.5,
        "util_pct": 25.0,
    }
    return row | changed


def table(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(list(rows))


class TestHourly:
    def test_figures_are_weighted_as_their_kind_asks(self):
        second = sample(reads_per_s=300.0, read_kb_per_s=4800.0, read_await_ms=4.0, interval_s=1200.0)
        rows = hourly(table(sample(), second | {"queue_depth": 1.5, "util_pct": 75.0}))
        read = rows[rows["direction"] == "read"].iloc[0]
        assert (read["samples"], read["seconds"]) == (2, 1800.0)
        assert read["ios_per_s"] == pytest.approx((100 * 600 + 300 * 1200) / 1800)
        assert read["kb_per_s"] == pytest.approx((1600 * 600 + 4800 * 1200) / 1800)
        # 60 000 requests of 2 ms and 360 000 of 4
        assert read["latency_ms"] == pytest.approx((60 * 2 + 360 * 4) / 420)
        assert read["median_ln_latency"] == pytest.approx((np.log(2) + np.log(4)) / 2)
        assert read["mad_ln_latency"] == pytest.approx(np.log(2) / 2)
        assert read["queue_depth"] == pytest.approx((0.5 * 600 + 1.5 * 1200) / 1800)
        assert read["util_pct"] == pytest.approx((25 * 600 + 75 * 1200) / 1800)
        assert (read["size_class"], read["load_bin"]) == (4, 2)  # 16 KiB, two at once

    def test_the_sample_that_ends_at_one_is_of_the_hour_before(self):
        midnight = sample(time=pd.Timestamp("2026-03-02 00:00:01"))
        rows = hourly(table(sample(), midnight))
        assert set(rows["hour"]) == {0, 23}
        assert set(rows["day"]) == {day(0), day(-1)}

    @pytest.mark.parametrize(
        "left_out",
        [
            {"time": pd.NaT},
            {"reads_per_s": 1.0, "writes_per_s": 1.0, "read_kb_per_s": 4.0, "write_kb_per_s": 4.0},
            {"reads_per_s": 9e9},
        ],
        ids=["no clock", "idle", "impossible"],
    )
    def test_what_is_no_sample_of_a_load_is_left_out(self, left_out):
        kept = hourly(table(sample()))
        pd.testing.assert_frame_equal(hourly(table(sample(), sample(**left_out))), kept)
        assert not len(hourly(table(sample(**left_out))))

    def test_few_requests_have_no_mean(self):
        rows = hourly(table(sample(interval_s=1.0, reads_per_s=40.0, read_kb_per_s=640.0)))
        assert list(rows["direction"]) == ["write"]

    def test_one_latency_for_both_directions_is_mixed(self):
        bare = table(sample(await_ms=1.25)).drop(columns=["read_await_ms", "write_await_ms"])
        assert list(hourly(bare)["direction"]) == ["mixed"]
        assert hourly(bare)["latency_ms"].iloc[0] == pytest.approx(1.25)

    def test_without_lengths_samples_count_alike_and_seconds_stay_unknown(self):
        rows = hourly(table(sample(interval_s=np.nan), sample(interval_s=np.nan, read_await_ms=4.0)))
        read = rows[rows["direction"] == "read"].iloc[0]
        assert np.isnan(read["seconds"])
        assert read["latency_ms"] == pytest.approx(3.0)

    def test_the_clock_that_is_shown_counts_in_any_zone(self):
        naive = disk(1)
        zoned = naive.assign(time=naive["time"].dt.tz_localize("Asia/Kolkata"))
        pd.testing.assert_frame_equal(hourly(zoned), hourly(naive), check_dtype=False)

    def test_a_stored_table_says_the_same(self, tmp_path):
        table_before = disk(6, slower=between(100, 110, 4.0))
        table_before.to_parquet(tmp_path / "disk.parquet")
        stored = pd.read_parquet(tmp_path / "disk.parquet")
        hours = hourly(stored)
        pd.testing.assert_frame_equal(hours, hourly(table_before), check_dtype=False)
        hours.to_parquet(tmp_path / "hours.parquet")
        again, _ = unusual(pd.read_parquet(tmp_path / "hours.parquet"))
        expected, _ = unusual(hours)
        assert len(again) == 1
        pd.testing.assert_frame_equal(again, expected, check_dtype=False)


class TestBaseline:
    @pytest.mark.parametrize(
        ("days", "grouping", "slots"),
        [
            (4, {"archive"}, {-1}),
            (5, {"archive", "hour of the day"}, set(range(-1, 24))),
            (21, {"archive", "hour of the week"}, set(range(-1, 168))),
        ],
    )
    def test_the_longer_the_archive_the_finer_the_hours(self, days, grouping, slots):
        normal = learned_baselines(hourly(disk(days)))
        assert set(normal["grouping"]) == grouping
        assert set(normal["slot"]) <= slots
        assert len(set(normal["slot"])) > 0.8 * len(slots)

    def test_it_is_the_median_over_hours_whatever_one_of_them_was(self):
        hours = hourly(disk(7, slower=nightly(2, 3, 5.0)))
        normal = learned_baselines(hours)
        levels = normal.groupby("slot")["median_ln_latency"].median()
        assert levels[2] - levels[20] > np.log(4)
        assert abs(levels[-1] - levels[20]) < np.log(1.1)
        assert (normal["windows"] >= 3).all()

    @pytest.mark.parametrize(("recurs", "windows"), [(False, 10), (True, 14)])
    def test_hours_that_departed_are_learned_only_where_they_recur(self, recurs, windows):
        waits = [2.0] * 10 + [8.0] * 4
        rows = [_steady(hour, rate=500.0 / wait, wait=wait) for hour, wait in enumerate(waits)]
        hours = hourly(table(*rows))
        found = departures(hours, learned_baselines(hours))
        assert list(found["hours"]) == [4]
        (normal,) = learned_baselines(hours, found.assign(is_recurring=recurs)).itertuples()
        assert (normal.windows, np.exp(normal.median_ln_latency)) == (windows, pytest.approx(2.0))


class TestDepartures:
    def test_a_slower_device_is_found_with_its_hours_and_both_figures(self):
        found, _ = unusual(hourly(disk(7, devices=("sda", "sdb"), slower=between(98, 105, 3.0))))
        assert len(found) == 2
        one = found.iloc[0]
        assert (one["start"], one["end"], one["hours"]) == (day(4) + HOUR * 2, day(4) + HOUR * 9, 7)
        assert one["ratio"] == pytest.approx(3.0, rel=0.15)
        assert one["latency_ms"] == pytest.approx(one["ratio"] * one["baseline_ms"])
        assert one["baseline_windows"] >= 3
        assert not one["is_recurring"]

    @pytest.mark.parametrize(
        "archive",
        [
            disk(7),
            disk(7, slower=between(98, 106, 1.3)),
            disk(7, demand=between(98, 106, 2.5)),
            disk(7, demand=between(98, 99, 8.0)),
            disk(7, slower=between(98, 99, 4.0)),
            disk(7, slower=nightly(1, 3, 4.0)),
        ],
        ids=["healthy", "a third slower", "more load", "a burst", "one hour", "every night"],
    )
    def test_what_is_no_news_is_none(self, archive):
        found, _ = unusual(hourly(archive))
        assert not len(found), found

    def test_what_became_slower_for_good_is_not_normal_at_the_queue_it_makes(self):
        found, _ = unusual(hourly(disk(8, slower=between(121, 200, 4.0))))
        assert found["start"].min() == day(5) + HOUR
        assert found["end"].max() == day(8)
        assert found["hours"].sum() > 36
        assert not found["is_recurring"].any()

    @pytest.mark.parametrize("days", [5, 14, 28])
    def test_weeks_of_healthy_disks_are_quiet(self, days):
        def weekend(hours):
            return np.where(hours // 24 % 7 >= 5, 0.5, 1.0)

        disks = tuple(f"sd{letter}" for letter in "abcdefgh")
        archive = disk(days, step=600.0, devices=disks, demand=weekend, seed=days)
        found, normal = unusual(hourly(archive))
        assert not len(found), found
        assert set(normal["device"]) == set(disks)

    @pytest.mark.parametrize(("nights", "recurs"), [(2, False), (3, True)])
    def test_the_same_hours_of_three_nights_recur(self, nights, recurs):
        found, _ = unusual(hourly(disk(8, slower=nightly(2, 5, 3.0, since=24.0 * (8 - nights)))))
        assert len(found) == nights
        assert (found["is_recurring"] == recurs).all()

    def test_a_load_that_is_new_is_held_against_what_it_could_cost_at_most(self):
        usual = hourly(table(*(_steady(hour, rate=1000.0, wait=2.0) for hour in range(24))))
        normal = learned_baselines(usual)
        for wait, is_found in ((8.0, False), (32.0, True)):
            rate = 8.0 / wait * 1000  # eight in flight: four times the load that was seen
            later = hourly(table(*(_steady(48 + hour, rate=rate, wait=wait) for hour in range(3))))
            found = departures(later, normal)
            assert bool(len(found)) == is_found
            assert not found["is_same_load"].any()

    def test_two_decimals_are_no_departure(self):
        # 0.02 instead of 0.01 ms may be 0.015 instead of 0.0149
        usual = hourly(table(*(_steady(hour, rate=500.0, wait=0.01) for hour in range(24))))
        later = hourly(table(*(_steady(48 + hour, rate=500.0, wait=0.02) for hour in range(3))))
        assert not len(departures(later, learned_baselines(usual)))

    def test_nothing_comes_of_nothing(self):
        found, normal = unusual(hourly(disk(1).iloc[:0]))
        assert not len(found)
        assert not len(normal)
        assert {"start", "ratio", "is_recurring"} <= set(found)


def _steady(hour: int, *, rate: float, wait: float) -> dict[str, object]:
    """A sample of ten minutes within an hour of the archive: reads alone."""
    return sample(
        time=FIRST_DAY + pd.Timedelta(hours=hour, minutes=30),
        reads_per_s=rate,
        read_kb_per_s=16 * rate,
        read_await_ms=wait,
        writes_per_s=0.0,
        write_kb_per_s=0.0,
        queue_depth=round(rate * wait / 1000, 2),
        util_pct=min(100.0, 0.09 * rate * wait),
    )
