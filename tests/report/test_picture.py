from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iodiag.model.capture import Section
from iodiag.model.finding import Finding
from iodiag.model.report import DeviceSummary, Report, Series, SourceSummary
from iodiag.report import _picture, figures
from iodiag.report._picture import Bars, Ladder, Timeline
from report.builders import HOSTILE, raid5_report


def series(name="sda", count=20, times=None, **columns) -> Series:
    columns = columns or {"await_ms": tuple(float(at) for at in range(count))}
    length = len(next(iter(columns.values())))
    return Series(name, None, tuple(range(length)), times or (), columns)


def finding(*devices, rule="r", samples=None) -> Finding:
    return Finding(rule, "notice", "low", "t", "s", devices or ("sda",), samples=samples)


def pictures(*given, devices=(), about=None, **changes):
    report = Report("0", "", "", series=given, devices=devices, **changes)
    return _picture.pictures(report, about or finding(*(one.name for one in given)))


def kinds(found) -> list[str]:
    return [type(picture).__name__ for picture in found]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([series(count=1)], []),
        ([series(count=2)], ["Timeline"]),
        ([series(await_ms=(math.nan, math.nan))], []),
        ([series(merges_per_s=(1.0, 2.0))], []),
    ],
)
def test_there_is_no_chart_without_at_least_two_samples(given, expected):
    assert kinds(pictures(*given)) == expected


def test_directions_stand_apart_for_one_device_and_are_summed_among_several():
    columns = {"read_kb_per_s": (1.0, 2.0), "write_kb_per_s": (10.0, 20.0), "queue_depth": (1.0, 1.0)}
    (one,) = pictures(series(**columns))
    assert [line.label for line in one.panels[0].lines] == ["read", "write"]
    (two,) = pictures(series("a", **columns), series("b", **columns))
    assert [(line.label, line.y) for line in two.panels[0].lines] == [
        ("a", (11.0, 22.0)),
        ("b", (11.0, 22.0)),
    ]
    assert [panel.title for panel in two.panels] == ["Throughput, kB/s", "Requests in flight"]


def test_among_several_devices_a_latency_is_that_of_the_slower_direction():
    columns = {"read_await_ms": (1.0, math.nan, math.nan), "write_await_ms": (4.0, 2.0, math.nan)}
    (chart,) = pictures(series("a", **columns), series("b", **columns))
    first, second, third = chart.panels[0].lines[0].y
    assert (first, second) == (4.0, 2.0)
    assert math.isnan(third)


def test_many_kilobytes_are_drawn_as_megabytes():
    (chart,) = pictures(series(read_kb_per_s=(1024.0, 20480.0)))
    assert chart.panels[0].title == "Throughput, MB/s (1 MB = 1,024 kB)"
    assert chart.panels[0].lines[0].y == (1.0, 20.0)


@pytest.mark.parametrize(
    ("samples", "window"),
    [(None, None), ((0, 19), None), ((5, 9), (5.5, 10.5)), ((7, 7), (7.5, 8.5)), ((18, 99), (18.5, 20.5))],
)
def test_the_window_is_shaded_half_a_step_wider_and_counted_from_one(samples, window):
    (chart,) = pictures(series(), about=finding(samples=samples))
    assert chart.window == window
    assert ("Shaded" in chart.caption) == (window is not None)


def test_the_window_is_found_in_a_thinned_series():
    thin = replace(series(count=10), position=tuple(range(0, 100, 10)))
    (chart,) = pictures(thin, about=finding(samples=(20, 50)))
    assert chart.window == (21 - 5, 51 + 5)


@pytest.mark.parametrize(
    ("times", "has_clock"),
    [
        ((0.0, 1.0, 2.0), True),
        ((), False),
        ((0.0, 1.0), False),
        ((0.0, math.nan, 2.0), False),
        ((5.0, 1.0, 2.0), False),
    ],
)
def test_only_clocks_that_run_forward_make_a_time_axis(times, has_clock):
    (chart,) = pictures(series(times=times, await_ms=(1.0, 2.0, 3.0)))
    assert (chart.zone is not None) == has_clock
    assert chart.x_label == ("time (no time zone stated)" if has_clock else "sample (the first is 1)")


@pytest.mark.parametrize(
    ("start", "timezone", "hours", "label"),
    [
        ("2019-09-19T07:10:01+02:00", None, 2, "UTC+02:00"),
        ("2019-09-19T07:10:01", None, 0, "no time zone stated"),
        ("2019-09-19T07:10:01", "Asia/Tokyo", 9, "Asia/Tokyo"),
        ("2019-09-19T07:10:01+02:00", "no/such/zone", 2, "UTC+02:00"),
        ("2019-09-19T07:10:01+02:00", "../../etc/passwd", 2, "UTC+02:00"),
        ("2019-09-19T07:10:01+02:00", "\x00", 2, "UTC+02:00"),
        ("yesterday", None, 0, "no time zone stated"),
    ],
)
def test_the_axis_is_in_the_zone_of_the_clocks(start, timezone, hours, label):
    source = SourceSummary(Section("f", "sar", "", start=start))
    (chart,) = pictures(series(times=(0.0, 1.0), await_ms=(1.0, 2.0)), sources=(source,), timezone=timezone)
    assert chart.zone.utcoffset(datetime(2019, 9, 19)) == timedelta(hours=hours)
    assert chart.x_label == f"time ({label})"


def test_a_line_breaks_where_samples_are_missing():
    times = (0.0, 10.0, 20.0, 30.0, 3600.0, 3610.0)
    (chart,) = pictures(series(times=times, await_ms=(1.0,) * 6))
    y = chart.panels[0].lines[0].y
    assert [at for at, value in enumerate(y) if math.isnan(value)] == [4]


def test_thinning_keeps_every_peak():
    values = [0.0] * 100_000
    values[54_321] = 9.0
    kept = _picture._thinned(values, 800)
    assert len(kept) <= 802
    assert 54_321 in kept
    assert kept == sorted(kept)


def test_more_devices_than_fit_are_counted():
    (chart,) = pictures(*(series(f"sd{name}") for name in "abcdefgh"))
    assert "and 2 more devices not drawn" in chart.caption


def test_a_host_finding_gets_the_cpu():
    cpu = series("all", user_pct=(1.0, 2.0), iowait_pct=(3.0, 4.0))
    (chart,) = pictures(cpu, series(), about=replace(finding(), devices=()))
    assert [(panel.title, [line.label for line in panel.lines]) for panel in chart.panels] == [
        ("CPU, %", ["user", "iowait"])
    ]


def device(name, members=(), kind="disk", **summary) -> DeviceSummary:
    stats = {column: {"median": value} for column, value in summary.items()}
    return DeviceSummary(name, None, (), kind, None, members, 3, stats)


def test_members_of_one_array_stand_side_by_side():
    disks = [device(name, await_ms=value) for name, value in (("a", 1.0), ("b", 2.0), ("c", 9.0))]
    array = device("md0", ("a", "b", "c"), "md")
    found = pictures(
        *(series(d.name, count=3) for d in (array, *disks)),
        devices=(*disks, array),
        about=finding("md0", "a", "b", "c", samples=(1, 2)),
    )
    chart = found[0]
    assert isinstance(chart, Bars)
    assert chart.labels == ("a", "b", "c")
    assert chart.groups == (("await", (1.5, 1.5, 1.5)),)


def test_bars_fall_back_to_the_whole_capture_where_no_series_was_kept():
    disks = [device(name, await_ms=value) for name, value in (("a", 1.0), ("b", 2.0), ("c", 9.0))]
    (chart,) = pictures(series("a", count=1), devices=disks, about=finding("a", "b", "c"))
    assert chart.groups == (("await", (0.0, 2.0, 9.0)),)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "md0")])
def test_unlike_devices_are_not_compared(names):
    disks = [device(name, await_ms=1.0) for name in "ab"]
    array = device("md0", (), "md", await_ms=1.0)
    assert kinds(pictures(series("a"), devices=(*disks, array), about=finding(*names))) == ["Timeline"]


def test_the_ladder_is_drawn_for_rules_about_saturation():
    steps = series(reads_per_s=(128.6, 296.3, 602.3), queue_depth=(1.01, 4.06, 63.9))
    found = pictures(steps, about=finding(rule="util-false-alarm", samples=(0, 1)))
    chart = next(picture for picture in found if isinstance(picture, Ladder))
    assert chart.inside[0].x == (1.01, 4.06)
    assert chart.outside[0].y == (602.3,)
    assert (
        chart.description == "3 points: from 128.6 requests/s at 1.01 in flight to 602.3 requests/s at 63.9."
    )
    assert not any(isinstance(picture, Ladder) for picture in pictures(steps))


def test_one_load_level_makes_no_ladder():
    steps = series(ios_per_s=(5.0, 5.0), queue_depth=(1.0, 1.0))
    assert kinds(pictures(steps, about=finding(rule="volume-cap"))) == ["Timeline"]


ODD = st.one_of(st.floats(), st.sampled_from([0.0, 1e-300, 1e300, -5.0, 100.0]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=5),
    st.sampled_from([(), (7.0,), (7.0, 7.0), (0.0, 1e300), (0.0, 60.0, 1e9), (1e11, 2e11)]),
    st.none() | st.tuples(st.integers(-3, 9), st.integers(-3, 9)),
)
def test_no_numbers_can_break_a_chart(rows, times, samples):
    throughput, queue, latency = (tuple(column) for column in zip(*rows, strict=True))
    columns = {"ios_per_s": throughput, "queue_depth": queue, "await_ms": latency}
    odd = [series(name, times=times[: len(rows)], **columns) for name in "abc"]
    disks = [device(name) for name in "abc"]
    for picture in pictures(*odd, devices=disks, about=finding(*"abc", rule="volume-cap", samples=samples)):
        assert figures.svg(picture, "x").startswith("<svg")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_device_name_can_be_drawn(text):
    steps = series(
        text, ios_per_s=(5.0, 6.0, 7.0), queue_depth=(1.0, 2.0, 90.0), await_ms=(1.0, 2.0, math.nan)
    )
    twin = replace(steps, name=text + " ")
    for picture in pictures(steps, twin, about=finding(text, text + " ", rule="volume-cap", samples=(0, 1))):
        svg = figures.svg(picture, "x")
        assert svg.count("<svg") == svg.count("</svg>") == 1
        assert "<script" not in svg
        assert "<img" not in svg
        assert figures.png(picture).startswith(b"\x89PNG")


def test_every_kind_of_chart_is_drawn_alike_twice():
    report = raid5_report()
    for one in report.findings:
        for picture in _picture.pictures(report, one):
            assert isinstance(picture, Timeline | Bars | Ladder)
            assert figures.svg(picture, "x") == figures.svg(picture, "x")
            assert figures.png(picture) == figures.png(picture)
