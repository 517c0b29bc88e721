from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.model.capture import Section
from iodiag.model.finding import Edge, Evidence, Finding, Move
from iodiag.model.report import DeviceSummary, Report, Series, SourceSummary
from iodiag.report.charts import finding_charts, layout, png, svg
from iodiag.report.charts.chart import Bars, RateByDepth, Stack, Timeline, thinned
from property_tests import examples
from report.builders import HOSTILE, raid5_report


def svg_of(picture) -> str:
    return svg.render(layout.drawing(picture))


def png_of(picture) -> bytes:
    return png.render(layout.drawing(picture))


def series(name="sda", count=20, times=None, **columns) -> Series:
    columns = columns or {"await_ms": tuple(float(at) for at in range(count))}
    length = len(next(iter(columns.values())))
    return Series(name, None, tuple(range(length)), times or (), columns)


def finding(*devices, samples=None, **fields) -> Finding:
    return Finding("r", "notice", "low", "t", "s", devices=devices or ("sda",), samples=samples, **fields)


def pictures(*given, devices=(), about=None, **changes):
    report = Report("0", "", "", series=given, devices=devices, **changes)
    return finding_charts.pictures(report, about or finding(*(one.name for one in given)))


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
    kept = thinned(values, 800)
    assert len(kept) <= 802
    assert 54_321 in kept
    assert kept == sorted(kept)


def test_more_devices_than_fit_are_counted():
    (chart,) = pictures(*(series(f"sd{name}") for name in "abcdefgh"))
    assert "and 2 more devices not drawn" in chart.caption


def test_a_host_finding_gets_the_cpu():
    cpu = series("cpu", user_pct=(1.0, 2.0), iowait_pct=(3.0, 4.0))
    swap = series("swapping", swap_in_kb_per_s=(1.0, 2.0))
    (chart,) = pictures(swap, cpu, series(), about=replace(finding(), devices=()))
    assert [(panel.title, [line.label for line in panel.lines]) for panel in chart.panels] == [
        ("CPU, %", ["user", "iowait"]),
        ("Swapping, kB/s", ["swapped in"]),
    ]


def device(name, kind=None, level=None, host=None) -> DeviceSummary:
    return DeviceSummary(name, host, (), kind, level, (), 3, {})


def peers(count, **means) -> Finding:
    names = [f"sd{at}" for at in range(count)]
    edges = [Edge(None, name, {c: v * (at + 1) for c, v in means.items()}) for at, name in enumerate(names)]
    return finding(names[0], pictures=("peers",), peers=tuple(names), edges=tuple(edges), samples=(1, 2))


def test_peers_stand_side_by_side_with_what_they_were_given():
    (chart,) = pictures(
        about=peers(3, read_await_ms=5.0, write_await_ms=0.0, await_ms=5.0, read_kb_per_s=10.0)
    )
    assert isinstance(chart, Bars)
    assert chart.labels == ("sd0", "sd1", "sd2")
    assert [(panel.title, panel.groups) for panel in chart.panels] == [
        ("Latency (await), ms", (("read", (5.0, 10.0, 15.0)),)),
        ("Load, kB/s", (("read", (10.0, 20.0, 30.0)),)),
    ]
    assert chart.marked == (0,)
    assert chart.description.startswith("Means over samples 2 to 3. sd0 read await 5 ms, ")


def test_latency_of_both_directions_together_is_drawn_where_it_is_all_there_is():
    (chart,) = pictures(about=peers(2, await_ms=5.0))
    assert chart.panels[0].groups == (("both", (5.0, 10.0)),)


@pytest.mark.parametrize(
    "about", [peers(1, await_ms=5.0), peers(3), peers(2, await_ms=math.nan), peers(2, await_ms=0.0)]
)
def test_there_is_nothing_to_compare_without_two_that_are_known(about):
    assert pictures(about=about) == []


def test_more_peers_than_fit_are_counted():
    (chart,) = pictures(about=peers(30, await_ms=5.0))
    assert len(chart.labels) == 24
    assert chart.caption.endswith("6 more devices not drawn.")


def raid5(read=0.0) -> Finding:
    top = Edge(None, "md0", {"read_kb_per_s": read, "write_kb_per_s": 400.0, "ios_per_s": 100.0})
    leg = {"read_kb_per_s": 200.0, "write_kb_per_s": 200.0, "ios_per_s": 100.0}
    legs = [Edge("md0", f"sd{name}", leg) for name in "abcd"]
    return finding("md0", pictures=("stack",), edges=(top, *legs), samples=(0, 9))


def test_the_stack_has_the_traffic_on_each_edge_and_what_a_layer_adds():
    (chart,) = pictures(about=raid5(), devices=(device("md0", "md", "raid5"), device("sda", "disk")))
    assert isinstance(chart, Stack)
    assert [(n.label, n.remark, n.layer, n.place) for n in chart.nodes][:2] == [
        ("md0", "RAID5", 0, 1.5),
        ("sda", "disk", 1, 0.0),
    ]
    assert [(one.upper, one.lower) for one in chart.links] == [(None, 0), (0, 1), (0, 2), (0, 3), (0, 4)]
    assert (chart.links[1].load, chart.links[1].requests) == ("r 200, w 200 kB/s", "100 requests/s")
    assert chart.gaps == (("read 0 → 800 kB/s", "written ×2", "requests ×4"),)
    assert "md0 to sdd r 200, w 200 kB/s 100 requests/s." in chart.description


def test_reads_are_a_ratio_where_some_were_asked_for():
    (chart,) = pictures(about=raid5(read=400.0))
    assert chart.gaps[0][0] == "read ×2"


def test_many_kilobytes_through_a_stack_are_megabytes():
    edges = (Edge(None, "md0", {"write_kb_per_s": 20480.0}), Edge("md0", "sda", {"write_kb_per_s": 20480.0}))
    (chart,) = pictures(about=finding("md0", pictures=("stack",), edges=edges))
    assert [link.load for link in chart.links] == ["w 20 MB/s", "w 20 MB/s"]


def test_edges_that_end_in_one_device_have_its_sum_once():
    means = {"write_kb_per_s": 5.0}
    edges = (
        *(Edge(None, name, means) for name in ("dm-0", "dm-1", "sda")),
        Edge("dm-0", "sda"),
        Edge("dm-1", "sda", means),
    )
    (chart,) = pictures(about=finding("dm-0", pictures=("stack",), edges=edges))
    assert [link.load for link in chart.links] == ["w 5 kB/s", "w 5 kB/s", "w 5 kB/s", ""]
    assert chart.gaps == (("written ×0.5",),)
    assert "dm-0 to sda not told apart; dm-1 to sda w 5 kB/s" in chart.description
    (chart,) = pictures(about=finding("dm-0", pictures=("stack",), edges=edges[:2] + edges[3:]))
    assert [link.load for link in chart.links] == ["w 5 kB/s", "w 5 kB/s", "not told apart", ""]


def test_a_wide_layer_shows_its_busiest_and_counts_the_rest():
    legs = [Edge("md0", f"sd{at}", {"write_kb_per_s": float(at)}) for at in range(40)]
    edges = (Edge(None, "md0", {"write_kb_per_s": 780.0}), *legs)
    (chart,) = pictures(about=finding("md0", pictures=("stack",), edges=edges))
    assert len(chart.nodes) == 17
    assert "sd39" in [node.label for node in chart.nodes]
    assert "24 more devices not drawn; the sums hold them." in chart.caption
    assert chart.gaps == (("written ×1",),)


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "b"), ("b", "a")],
        [("a", "a")],
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("a", "f")],
        [("a", "z"), ("b", "z"), ("c", "z"), ("d", "z")],
        [("a", "m"), ("a", "n"), ("b", "m"), ("b", "n"), ("m", "x"), ("n", "x")],
    ],
)
def test_no_two_devices_of_a_stack_stand_on_the_same_place(pairs):
    edges = tuple(Edge(upper, lower, {"write_kb_per_s": 1.0}) for upper, lower in pairs)
    (chart,) = pictures(about=finding("a", pictures=("stack",), edges=edges))
    places = [(node.layer, node.place) for node in chart.nodes]
    gaps = [b - a for (layer, a), (other, b) in pairwise(sorted(places)) if layer == other]
    assert all(gap >= 1 for gap in gaps)
    assert svg_of(chart).startswith("<svg")


def test_the_cpu_left_over_is_stacked_and_shaded_where_the_finding_is():
    times = tuple(float(at) for at in range(10))
    cpu = series("cpu", times=times, idle_pct=(40.0,) * 10, iowait_pct=(30.0,) * 10)
    tasks = series("queue", times=times, run_queue=(1.0,) * 10, blocked=(9.0,) * 10)
    about = finding(
        "sda", pictures=("cpu",), samples=(2, 5), start="1970-01-01T00:00:02", end="1970-01-01T00:00:05"
    )
    disk = series("sda", times=times, await_ms=times)
    chart, over_time = pictures(disk, cpu, tasks, about=about)
    available, waiting = chart.panels
    assert available.is_stacked
    assert available.top == 100.0
    assert [(one.label, one.y[0]) for one in available.lines] == [("idle", 40.0), ("iowait", 30.0)]
    assert [one.label for one in waiting.lines] == ["runnable", "blocked"]
    assert chart.window == over_time.window == (1.5, 5.5)
    assert svg_of(chart).startswith("<svg")


def test_without_clocks_the_cpu_is_shaded_only_where_the_samples_are_the_same():
    about = finding("sda", pictures=("cpu",), samples=(2, 5))
    cpu = series("cpu", idle_pct=(40.0,) * 10, iowait_pct=(30.0,) * 10)
    assert pictures(series(count=10), cpu, about=about)[0].window == (2.5, 6.5)
    assert pictures(series(count=20), cpu, about=about)[0].window is None


def test_a_long_cpu_series_is_thinned_to_the_same_samples_for_both_parts():
    idle = tuple(float(at % 50) for at in range(2000))
    iowait = tuple(20.0 * (at % 7 == 0) for at in range(2000))
    about = finding("sda", pictures=("cpu",))
    (chart,) = pictures(series("cpu", idle_pct=idle, iowait_pct=iowait), about=about)
    lower, upper = chart.panels[0].lines
    assert lower.x == upper.x
    assert max(a + b for a, b in zip(lower.y, upper.y, strict=True)) == 69.0
    assert svg_of(chart).startswith("<svg")


def test_iowait_alone_is_no_cpu_left_over():
    cpu = series("cpu", iowait_pct=(30.0,) * 10)
    assert kinds(pictures(cpu, about=finding("sda", pictures=("cpu",)))) == []


def steps(**values) -> Finding:
    return finding(pictures=("ladder",), samples=(0, 1), evidence=(Evidence("", values),))


STEPS = {"reads_per_s": (128.6, 296.3, 602.3), "queue_depth": (1.01, 4.06, 63.9)}


def test_what_stepped_then_is_drawn_as_far_as_its_samples_are_kept():
    moves = (
        Move("disk", "sdb", "ios_per_s", 10.0, 90.0, 30.0),
        Move("network", "eth0", "rx_kb_per_s", 10.0, 90.0, 20.0),
        Move("queue", "", "blocked", 0.0, 4.0, 9.0),
    )
    given = (
        series("sda"),
        series("sdb", ios_per_s=(10.0,) * 8 + (90.0,) * 4 + (10.0,) * 8),
        series("cpu", blocked=(0.0,) * 8 + (4.0,) * 4 + (0.0,) * 8),
    )
    about = finding(samples=(8, 11), moved=moves)
    of_device, moved = pictures(*given, about=about)
    assert [panel.title for panel in of_device.panels] == ["Latency (await), ms"]
    assert [panel.title.partition(",")[0].lower() for panel in moved.panels] == [
        "requests per second",
        "blocked tasks",
    ]
    assert [line.label for panel in moved.panels for line in panel.lines] == ["sdb", "queue"]
    assert moved.window == (8.5, 12.5)
    assert moved.caption.startswith("What stepped then over time.")
    assert svg_of(moved)
    assert len(pictures(*given, about=replace(about, moved=moves[1:2]))) == 1, "none of its samples are kept"


def test_the_ladder_is_drawn_where_a_finding_asks_for_it():
    chart = pictures(series(**STEPS), about=steps())[0]
    assert isinstance(chart, RateByDepth)
    assert chart.inside[0].x == (1.01, 4.06)
    assert chart.outside[0].y == (602.3,)
    assert (
        chart.description == "3 points: from 128.6 requests/s at 1.01 in flight to 602.3 requests/s at 63.9."
    )
    assert kinds(pictures(series(**STEPS))) == ["Timeline"]


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ({"unloaded": 7.83, "servers": 5.0}, (7.83, 5.0)),
        ({"unloaded": 7.83}, (7.83, None)),
        ({"unloaded": 7.83, "servers": 5.0, "unloaded_basis": "measured"}, (7.83, 5.0)),
        # under load, a request alone took less
        ({"unloaded": 7.83, "servers": 5.0, "unloaded_basis": "least seen"}, (None, None)),
        ({"servers": 5.0}, (None, None)),
        ({"unloaded": "?", "servers": 5.0}, (None, None)),
        ({"unloaded": 0.0, "servers": 5.0}, (None, None)),
        ({"unloaded": 7.83, "servers": "many"}, (7.83, None)),
        ({"unloaded": 7.83, "servers": 0.5}, (7.83, None)),
        # a ceiling that the points went through is none
        ({"unloaded": 7.83, "servers": 3.0}, (7.83, None)),
        ({"unloaded": math.nan, "servers": math.inf}, (None, None)),
    ],
)
def test_the_bounds_of_the_ladder_are_those_that_the_points_allow(values, bounds):
    chart = pictures(series(**STEPS), about=steps(**values))[0]
    assert [None if math.isnan(v) else v for v in (chart.alone_ms, chart.servers)] == list(bounds)
    assert svg_of(chart).startswith("<svg")


def test_one_load_level_makes_no_ladder():
    level = series(ios_per_s=(5.0, 5.0), queue_depth=(1.0, 1.0))
    assert kinds(pictures(level, about=steps())) == ["Timeline"]


EVERY = ("stack", "peers", "ladder", "cpu")
ODD = st.one_of(st.floats(), st.sampled_from([0.0, 1e-300, 1e300, -5.0, 100.0]))


@examples(12)
@given(
    st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=5),
    st.sampled_from([(), (7.0,), (7.0, 7.0), (0.0, 1e300), (0.0, 60.0, 1e9), (1e11, 2e11)]),
    st.none() | st.tuples(st.integers(-3, 9), st.integers(-3, 9)),
)
def test_no_numbers_can_break_a_chart(rows, times, samples):
    throughput, queue, latency = (tuple(column) for column in zip(*rows, strict=True))
    columns = {"ios_per_s": throughput, "queue_depth": queue, "await_ms": latency}
    odd = [series(name, times=times[: len(rows)], **columns) for name in "abc"]
    cpu = series("cpu", times=times[: len(rows)], idle_pct=throughput, iowait_pct=queue, run_queue=latency)
    means = [dict(zip(("read_kb_per_s", "await_ms", "ios_per_s"), row, strict=True)) for row in rows]
    edges = (Edge(None, "a", means[0]), *(Edge("a", name, means[-1]) for name in "bc"))
    about = finding(
        *"abc",
        samples=samples,
        pictures=EVERY,
        peers=tuple("abc"),
        edges=edges,
        evidence=(Evidence("", {"unloaded": throughput[0], "servers": queue[0]}),),
    )
    for picture in pictures(*odd, cpu, about=about):
        assert svg_of(picture).startswith("<svg")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_device_name_can_be_drawn(text):
    steps = series(
        text, ios_per_s=(5.0, 6.0, 7.0), queue_depth=(1.0, 2.0, 90.0), await_ms=(1.0, 2.0, math.nan)
    )
    twin = replace(steps, name=text + " ")
    about = finding(
        text,
        text + " ",
        samples=(0, 1),
        pictures=EVERY,
        peers=(text, text + " "),
        edges=(Edge(None, text, {"await_ms": 1.0}), Edge(text, text + " ", {"await_ms": 2.0})),
    )
    described = (device(text, text, text), device(text + " ", text, None))
    found = pictures(steps, twin, about=about, devices=described)
    assert {type(picture) for picture in found} == {Stack, Bars, RateByDepth, Timeline}
    for picture in found:
        text = svg_of(picture)
        assert text.count("<svg") == text.count("</svg>") == 1
        assert "<script" not in text
        assert "<img" not in text
        assert png_of(picture).startswith(b"\x89PNG")


def test_every_kind_of_chart_is_drawn_alike_twice():
    report = raid5_report()
    for one in report.findings:
        for picture in finding_charts.pictures(report, one):
            assert svg_of(picture) == svg_of(picture)
            assert png_of(picture) == png_of(picture)
