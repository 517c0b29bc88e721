"""Many devices over time: the peaks of each in stretches of equal length, and the picture of them."""

from __future__ import annotations

import io
import json

import iodiag
from iodiag.report.as_json import from_json
from iodiag.report.charts import activity_chart
from writers.captures import iostat


def analyzed(devices: int, samples: int) -> iodiag.Report:
    rows = [
        {
            f"sd{chr(97 + n)}": {"r/s": 10, "rkB/s": 40, "r_await": 1, "%util": 10 * n + (at == 50) * 9}
            for n in range(devices)
        }
        for at in range(samples)
    ]
    return iodiag.analyze(iodiag.read(io.BytesIO(iostat(rows).encode()), name="many.txt"))


def test_each_device_has_the_peak_of_each_stretch():
    report = analyzed(9, 200)
    assert [one.device for one in report.activity] == [f"sd{letter}" for letter in "abcdefghi"]
    first, last = report.activity[0], report.activity[-1]
    assert {len(one.peaks) for one in report.activity} == {96}
    assert (last.column, last.has_clock) == ("util_pct", True)
    assert max(last.peaks) == 89, "that one sample among others of its stretch"
    assert sorted(last.peaks)[-2] == 80
    assert max(first.peaks) == 9
    assert last.end - last.start == 199


def test_few_devices_and_a_single_sample_have_none():
    assert analyzed(8, 20).activity == ()
    assert analyzed(12, 1).activity == ()


def test_the_picture_has_a_row_for_each_and_comes_back_from_json():
    report = analyzed(10, 5)  # the first is idle
    (picture,) = activity_chart.heatmaps(report)
    assert picture.labels == tuple(one.device for one in report.activity)
    assert picture.title == "Busy, %"
    assert "sdj 90" in picture.description
    assert '"peaks": [' in report.to_json()
    page = report.to_html()
    assert from_json(report.to_json().encode()).to_html() == page
    cells = [chart for chart in numbers(page)["charts"] if "cells" in chart]
    assert [row[-1] for row in cells[0]["cells"]] == [10 * n for n in range(1, 10)]


def numbers(page: str) -> dict:
    start = page.index('id="chart-data">') + len('id="chart-data">')
    return json.loads(page[start : page.index("</script>", start)])
