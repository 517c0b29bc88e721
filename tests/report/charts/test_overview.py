from __future__ import annotations

import math
from dataclasses import replace

from iodiag.model.finding import Finding
from iodiag.model.report import DeviceSummary, Report, Series, Verdict
from iodiag.report.charts import finding_charts, overview
from report.builders import empty_report, raid5_report

UNKNOWN = (math.nan,) * 4


def series(name: str, **columns: tuple[float, ...]) -> Series:
    return Series(name, None, (0, 1, 2, 3), (), columns)


def finding(*devices: str, summary: str = "", **fields: object) -> Finding:
    return Finding("r", "warning", "high", "t", summary, devices=devices, **fields)


def report(*given: Series, **fields: object) -> Report:
    return Report("0", "", "", series=given, **fields)


def labels(picture) -> list[str]:
    return [line.label for line in picture.panels[0].lines]


def test_the_picture_shows_what_the_sentence_speaks_of():
    one = series("sda", await_ms=(1.0, 2.0, 3.0, 4.0), util_pct=(1.0, 99.0, 99.0, 1.0))
    for summary, title in (
        ("99 % busy", "Utilisation, %"),
        ("4 ms", "Latency (await), ms"),
        ("", "Latency (await), ms"),
    ):
        found = overview.picture(report(one), finding("sda", summary=summary))
        assert found.panels[0].title == title


def test_peers_and_members_stand_beside_the_device_with_their_medians():
    given = [
        series(name, await_ms=(at, at, at, at)) for at, name in enumerate(("md0", "sda", "sdb", "sdc"), 1)
    ]
    members = DeviceSummary("md0", None, (), "md", "raid5", ("sda",), 4, {})
    about = finding("md0", peers=("sdb",), samples=(1, 2))
    found = overview.picture(report(*given, devices=(members,)), about)
    assert labels(found) == ["md0 1", "sdb 3", "sda 2"]
    assert overview.strip(found) == (
        "Latency (await), ms, up to 3",
        "md0 1 ▃▃▃▃",
        "sdb 3 ████",
        "sda 2 ▆▆▆▆",
        "       ^^  samples 2 to 3",
    )


def test_a_value_that_is_not_known_is_a_space_in_the_strip():
    one = series("sda", await_ms=(math.nan, 8.0, math.nan, 1.0))
    assert overview.strip(overview.picture(report(one), finding("sda")))[1] == "sda 4.5  █ ▂"


def test_without_a_finding_the_device_of_the_verdict_is_drawn():
    given = [series(name, await_ms=(1.0, 2.0, 1.0, 2.0)) for name in ("sda", "sdb")]
    verdict = Verdict("open", devices=("sdb",))
    assert labels(overview.picture(report(*given, verdict=verdict), None)) == ["sdb 1.5"]


def test_nothing_is_drawn_of_nothing():
    assert overview.picture(empty_report(), None) is None
    assert overview.strip(None) == ()
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
