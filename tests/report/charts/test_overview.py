from __future__ import annotations

import math
from dataclasses import replace

import pytest

from iodiag.model.finding import Evidence, Finding
from iodiag.model.report import DeviceSummary, HostTable, Report, Series, Verdict
from iodiag.report.charts import finding_charts, overview
from iodiag.report.charts.chart import BarPanel
from report.builders import empty_report, raid5_report

UNKNOWN = (math.nan,) * 4


def series(name: str, typical: dict[str, float] | None = None, **columns: tuple[float, ...]) -> Series:
    return Series(name, None, (0, 1, 2, 3), (), columns, typical or {})


def finding(*devices: str, summary: str = "", **fields: object) -> Finding:
    return Finding("r", "warning", "high", "t", summary, devices=devices, **fields)


def report(*given: Series, **fields: object) -> Report:
    return Report("0", "", "", series=given, **fields)


def labels(picture) -> list[str]:
    return [line.label for line in picture.panels[0].lines]


def legends(picture) -> list[str]:
    return [line.legend for line in picture.panels[0].lines]


def test_the_picture_shows_what_the_sentence_speaks_of():
    rows = (1.0, 2.0, 3.0, 4.0)
    one = series(
        "sda",
        await_ms=rows,
        util_pct=(1.0, 99.0, 99.0, 1.0),
        kb_per_s=rows,
        ios_per_s=rows,
        write_kb_per_s=rows,
        write_await_ms=rows,
    )
    for summary, title in (
        ("99 % busy", "Utilisation, %"),
        ("4 ms", "Latency (await), ms"),
        ("held by a rate limit: 48 MiB/s, 4 ms each", "Throughput, kB/s"),
        ("held by a rate limit: 48 MiB/s of writes, 4 ms each", "Throughput of writes, kB/s"),
        ("held by a rate limit: 6,004 IOPS, 4 ms each", "Requests per second"),
        ("something above holds requests back: 400 IOPS exactly, 4 ms each", "Requests per second"),
        (
            "writes of 4 kB take 4 ms with 3 in flight; reads of 4 kB take 1 ms",
            "Latency (await) of writes, ms",
        ),
        ("writes 45.6 MiB/s, and after 0.7 GiB only 3.38 MiB/s", "Throughput, kB/s"),
        ("takes 4 ms for a write since 05:27:34, 1 ms before", "Latency (await) of writes, ms"),
        ("", "Latency (await), ms"),
    ):
        found = overview.picture(report(one), finding("sda", summary=summary))
        assert found.panels[0].title == title


def test_a_finding_on_an_nfs_mount_is_drawn_with_its_operations_and_no_disk():
    """Beside a busy disk, and a mount whose name is a part of the other's."""
    rows = (1.0, 90.0, 95.0, 97.0)
    slow = series("/mnt/nfs", read_await_ms=rows, read_round_trip_ms=rows, write_round_trip_ms=UNKNOWN)
    beside = series("/mnt", read_await_ms=(1.0,) * 4, read_round_trip_ms=(1.0,) * 4)
    disk, cpus = series("sda", await_ms=rows, util_pct=rows), series("cpu", idle_pct=(50.0,) * 4)
    told = finding(
        summary="Each read of the NFS mount /mnt/nfs (nas:/write) takes 95 ms", samples=(1, 3), host=None
    )
    for given in ((disk, cpus, beside, slow), (slow, beside, cpus, disk)):
        found = overview.picture(report(*given), told)
        assert found.panels[0].title == "Each read, ms"
        assert labels(found) == ["in all (exe)", "round trip (RTT)"]
        assert max(found.panels[0].lines[0].y) == 97.0
        assert found.window == (1.5, 4.5)
        assert [one.label for one in overview.picture(report(*given), None).panels[0].lines] == ["sda"]


def test_a_strip_is_no_wider_than_a_terminal():
    long = Series(
        "nvme18c18n1p1-member", None, tuple(range(90)), (), {"await_ms": tuple(map(float, range(90)))}
    )
    chart = overview.picture(report(long), finding(long.name, summary="9 ms", samples=(40, 60)))
    assert max(map(len, overview.sparkline(chart))) <= 80


def test_marks_stand_below_the_cells_that_hold_the_samples_of_a_finding():
    inside = range(200, 236)
    rows = tuple(90.0 if at in inside else 1.0 for at in range(2000))
    long = Series("sda", None, tuple(range(2000)), (), {"await_ms": rows})
    chart = overview.picture(report(long), finding("sda", summary="90 ms", samples=(200, 235)))
    _, drawn, marks = overview.sparkline(chart)
    assert [at for at, char in enumerate(drawn) if char == "█"] == [
        at for at, char in enumerate(marks) if char == "^"
    ]


def test_peers_and_members_stand_beside_the_device_with_what_is_typical_of_them():
    given = [
        series(name, {"await_ms": at}, await_ms=(at, at, at, at))
        for at, name in enumerate(("md0", "sda", "sdb", "sdc"), 1)
    ]
    members = DeviceSummary("md0", None, (), "md", "raid5", ("sda",), 4, {})
    about = finding("md0", peers=("sdb",), samples=(1, 2))
    found = overview.picture(report(*given, devices=(members,)), about)
    assert legends(found) == ["md0 1", "sdb 3", "sda 2"]
    assert overview.sparkline(found) == (
        "Latency (await), ms, up to 3",
        "md0 1 ▃▃▃▃",
        "sdb 3 ████",
        "sda 2 ▆▆▆▆",
        "       ^^  samples 2 to 3",
        "Behind each name: its mean per request in that stretch.",
    )


def test_a_value_that_is_not_known_is_a_space_in_the_strip():
    one = series("sda", {"await_ms": 4.5}, await_ms=(math.nan, 8.0, math.nan, 1.0))
    assert overview.sparkline(overview.picture(report(one), finding("sda")))[1] == "sda 4.5  █ ▂"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "mean per request while at work"),
        ({"samples": (1, 2)}, "mean per request in that stretch"),
        (
            {"samples": (1, 2), "evidence": (Evidence("e", source="a", lines=(3,), rows=1),)},
            "mean per request in the cited samples",
        ),
        ({"samples": (1, 2), "summary": "99 % busy"}, "median in that stretch"),
    ],
)
def test_a_caption_says_of_which_samples_the_numbers_behind_the_names_are(fields, words):
    one = series("sda", {"await_ms": 4.5, "util_pct": 9.0}, await_ms=(1.0,) * 4, util_pct=(9.0,) * 4)
    assert overview.picture(report(one), finding("sda", **fields)).caption.endswith(f"its {words}.")


def test_no_number_is_promised_where_none_is_known():
    found = overview.picture(report(series("sda", await_ms=(1.0,) * 4)), finding("sda"))
    assert legends(found) == ["sda"]
    assert "Behind" not in found.caption


def test_without_a_finding_the_device_of_the_verdict_is_drawn():
    given = [series(name, {"await_ms": 1.5}, await_ms=(1.0, 2.0, 1.0, 2.0)) for name in ("sda", "sdb")]
    verdict = Verdict("open", devices=("sdb",))
    assert legends(overview.picture(report(*given, verdict=verdict), None)) == ["sdb 1.5"]


def test_nothing_is_drawn_of_nothing():
    assert overview.picture(empty_report(), None) is None
    assert overview.sparkline(None) == ()
    assert overview.picture(report(series("sda", await_ms=UNKNOWN)), finding("sda")) is None


def test_a_latency_whose_directions_are_empty_is_drawn_from_its_total():
    one = series("sda", await_ms=(1.0, 2.0, 3.0, 4.0), read_await_ms=UNKNOWN, write_await_ms=UNKNOWN)
    (chart,) = finding_charts.pictures(report(one), finding("sda"))
    assert [panel.title for panel in chart.panels] == ["Latency (await), ms"]


def test_a_stretch_without_samples_is_told_by_its_time():
    hosts = replace(
        raid5_report().findings[0], samples=None, start="2019-09-19T07:28:01", end="2019-09-19T07:40:01"
    )
    found = overview.picture(raid5_report(), hosts)
    assert "Shaded: 2019-09-19 07:28:01 to 07:40:01" in found.caption
    assert "whole capture" not in found.caption


def device(name: str, samples: int = 1, host: str | None = None, **medians: float) -> DeviceSummary:
    summary = {column: {"median": value, "p95": value, "max": value} for column, value in medians.items()}
    return DeviceSummary(name, host, (), None, None, (), samples, summary)


def test_a_latency_beside_no_busy_share_and_no_bytes_is_no_work():
    devices = (
        device("sda", util_pct=10.0, kb_per_s=80.0, await_ms=9.0),
        device("sdb", await_ms=219.0, util_pct=0.0),
    )
    assert overview.picture(report(devices=devices), None).labels == ("sda",)
    alone = device("sda", await_ms=219.0)
    assert overview.picture(report(devices=(alone,)), None).labels == ("sda",)


def test_devices_of_a_single_sample_stand_side_by_side():
    devices = (
        device(
            "sda", util_pct=10.0, read_await_ms=2.0, write_await_ms=8.0, read_kb_per_s=9.0, write_kb_per_s=1
        ),
        device("sdb", util_pct=99.0, await_ms=5.0, kb_per_s=100.0),
        device("idle", util_pct=0.0, await_ms=0.0, kb_per_s=0.0),
    )
    found = overview.picture(report(devices=devices), finding("sda"))
    assert found.labels == ("sda", "sdb")
    assert found.marked == (0,)
    assert [(panel.title, panel.groups[0][1]) for panel in found.panels] == [
        ("Busy, %", (10.0, 99.0)),
        ("Latency (await), ms", (8.0, 5.0)),
        ("Rate, kB/s", (10.0, 100.0)),
    ]
    assert "the only sample" in found.caption
    assert overview.sparkline(found) == (
        "                              Busy, %  Latency (await), ms  Rate, kB/s",
        "sda ██                             10                    8          10",
        "sdb ████████████████████████       99                    5         100",
    )


def test_bars_show_the_latency_of_the_direction_that_the_sentence_is_about():
    one = device("sda", read_await_ms=2.0, write_await_ms=2270.0, await_ms=460.0)
    about = finding("sda", summary="writes of 448 kB take 2.27 s with 66 in flight")
    found = overview.picture(report(devices=(one,)), about)
    assert [(panel.title, panel.groups[0][1]) for panel in found.panels] == [("Write latency, ms", (2270.0,))]


def test_a_zero_that_the_kernel_does_not_count_is_no_number():
    devices = (
        device("md0", util_pct=0.0, await_ms=0.0, kb_per_s=50.0),
        device("sda", util_pct=9.0, kb_per_s=50.0),
    )
    found = overview.picture(report(devices=devices), None)
    assert math.isnan(found.panels[0].groups[0][1][found.labels.index("md0")])
    assert [panel.title for panel in found.panels] == ["Busy, %", "Rate, kB/s"]


def test_an_average_is_said_to_be_one_and_more_devices_are_counted():
    devices = tuple(device(f"sd{at}", kb_per_s=1.0 + at) for at in range(9))
    table = HostTable("totals", None, 1, {}, is_average=True)
    found = overview.picture(report(devices=devices, host_tables=(table,)), None)
    assert found.labels[0] == "sd8"
    assert found.caption == "Side by side, an average since boot or over a run. 3 more devices not drawn."


def test_a_rate_in_another_unit_has_no_more_digits_than_were_printed():
    devices = device("sda", kb_per_s=20480.0), device("dm-0", read_kb_per_s=0.01, write_kb_per_s=0.01)
    (panel,) = overview.picture(report(devices=devices), None).panels
    assert (panel.title, panel.groups[0][1]) == ("Rate, MB/s", (20.0, 0.00002))


@pytest.mark.parametrize("columns", [{"await_ms": 900.0}, {"write_await_ms": 900.0}])
def test_the_slowest_device_is_drawn_however_many_are_busier(columns):
    devices = tuple(device(f"sd{at}", kb_per_s=10.0 + at, await_ms=1.0) for at in range(9))
    late = device("slow", kb_per_s=1.0, **columns)
    found = overview.picture(report(devices=(*devices, late)), None)
    assert found.labels == ("sd8", "sd7", "sd6", "sd5", "sd4", "slow")


def test_without_devices_the_processors_are_drawn():
    summary = {name: {"median": value} for name, value in (("user_pct", 5.0), ("idle_pct", 95.0))}
    found = overview.picture(report(host_tables=(HostTable("cpu", None, 1, summary),)), None)
    assert found.labels == ("user", "idle")
    assert overview.picture(report(devices=(device("sda", kb_per_s=0.0),)), None) is None


def test_of_one_sample_without_devices_that_is_drawn_which_the_sentence_speaks_of():
    summaries = (("cpu", "user_pct"), ("tasks", "blocked"), ("swap", "swap_in_kb_per_s"))
    tables = [HostTable(name, None, 1, {column: {"median": 5.0}}) for name, column in summaries]
    for summary, label in (("5 kB/s come in from swap", "swapped in"), ("5 tasks", "blocked"), ("", "user")):
        for given in (tables, tables[::-1]):
            found = overview.picture(report(host_tables=tuple(given)), finding(summary=summary))
            assert found.labels == (label,)


def test_the_number_of_a_legend_is_in_the_unit_of_its_axis():
    one = series("sda", {"kb_per_s": 20480.0}, kb_per_s=(20480.0,) * 4)
    found = overview.picture(report(one), finding("sda"))
    assert found.panels[0].title.startswith("Throughput, MB/s")
    assert legends(found) == ["sda 20"]


def test_each_device_can_take_the_place_of_the_first_picture():
    given = [series(name, await_ms=(1.0, 2.0, 1.0, 2.0), util_pct=(5.0,) * 4) for name in ("sda", "sdb")]
    about = finding("sda", samples=(1, 2))
    first = overview.picture(report(*given), about)
    found = overview.choices(report(*given), about, first)
    assert [name for name, _ in found] == ["sda", "sdb"]
    assert [len(chart.panels) for _, chart in found] == [2, 2]
    assert {chart.window for _, chart in found} == {first.window}


def test_a_share_is_drawn_of_the_whole_and_other_values_of_the_largest():
    assert BarPanel("Busy, %", (("", (19.5, math.nan)),)).top == 100
    assert BarPanel("Busy, %", (("", (131.0,)),)).top == 131
    assert BarPanel("Rate, kB/s", (("", (19.5, 4.0)),)).top == 19.5
