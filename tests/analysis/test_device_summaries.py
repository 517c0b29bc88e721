"""What a device's columns come to, and which samples a chart keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.view.device_summaries import MOST_POINTS, _each, device_summaries, series_for
from iodiag.model.finding import Evidence, Finding
from views import view_of
from writers.captures import iostat, sar_d
from writers.loads import load


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.inf]), min_size=1, max_size=40), st.integers(1, 9))
def test_the_least_and_the_greatest_of_each_stretch_are_the_first_of_them(numbers, width):
    values = np.array(numbers)
    for extreme in (np.argmin, np.argmax):
        assert _each(values, width, extreme).tolist() == [
            at + int(extreme(values[at : at + width])) for at in range(0, len(values), width)
        ]


def test_a_sample_without_a_request_has_no_latency_and_no_size():
    read = load(1, 900, size=4)
    view = view_of(iostat([{"sda": load(50, 30, size=64, reads=0)}, {"sda": read}, {"sda": {}}]))
    (device,) = device_summaries(view)
    assert device.summary["read_await_ms"] == {"median": 900, "p95": 900, "max": 900}
    assert device.summary["read_request_size_kb"]["median"] == 4
    assert device.summary["write_await_ms"]["median"] == 30
    assert device.summary["reads_per_s"]["median"] == 0


def test_a_row_without_requests_and_bytes_has_none_of_either_direction():
    written = {"tps": 1.0, "wkB/s": 4.0, "areq-sz": 4.0, "aqu-sz": 0.01, "await": 3.0}
    (device,) = device_summaries(view_of(sar_d([{"sda": written}, {"sda": {}}, {"sda": {}}])))
    assert device.summary["ios_per_s"] == pytest.approx(device.summary["writes_per_s"])
    assert device.summary["writes_per_s"]["median"] == 0


def typical(samples, lead=None):
    view = view_of(iostat(samples))
    return {one.name: one.typical for one in series_for(view, [d.name for d in view.devices], lead)}, view


def test_what_is_typical_is_of_the_samples_that_the_finding_cites_and_of_the_same_reports_elsewhere():
    pairs = [(load(100, 1), load(100, 2)), (load(10, 30), load(100, 4)), (load(30, 10), load(50, 8))]
    samples = [{"sda": one, "sdb": other} for one, other in [*pairs, *pairs[:1] * 3]]
    _, view = typical(samples)
    rows = view.series("sda").samples
    lines = tuple(rows["line"][[1, 2]].tolist())
    cited = (Evidence("e", source=str(rows["source"][0]), lines=lines, rows=2),)
    found, _ = typical(
        samples, Finding("r", "warning", "high", "t", devices=("sda",), samples=(0, 5), evidence=cited)
    )
    # (10 x 30 + 30 x 10) / 40 and (100 x 4 + 50 x 8) / 150 requests
    assert found["sda"]["await_ms"] == pytest.approx(15)
    assert found["sdb"]["await_ms"] == pytest.approx(800 / 150)
    assert found["sda"]["ios_per_s"] == 20
    # where lines are missing it is of all samples between the first and the last
    cut = (replace(cited[0], rows=3),)
    found, _ = typical(
        samples, Finding("r", "warning", "high", "t", devices=("sda",), samples=(1, 2), evidence=cut)
    )
    assert found["sda"]["await_ms"] == pytest.approx(15)


def test_what_is_typical_does_not_depend_on_the_samples_that_a_chart_keeps():
    count = MOST_POINTS + 200
    samples = [{"sda": load(100, 1 if n % 5 else 50)} for n in range(count)]
    found, view = typical(samples)
    assert len(series_for(view, ["sda"])[0].position) < count
    assert found["sda"]["await_ms"] == pytest.approx((4 * 1 + 50) / 5)
    assert found["sda"]["queue_depth"] == pytest.approx(0.1)


def test_a_direction_without_requests_has_no_latency():
    head = "Average: DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
    view = view_of(head + "Average: sda 0.00 0.00 0.00 8.00 0.00 219.00 219.00 0.00\n")
    assert not view.devices[0].samples.has("read_await_ms")


@pytest.mark.parametrize(("rate", "is_told"), [(350.0, False), (90.0, True)])
def test_a_maximum_leaves_out_no_greater_one_whose_direction_is_not_known(rate, is_told):
    """A few bytes read among the writes of one sample: which of its requests were reads nothing tells."""
    head = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    rows = [f"sda {rate:.2f} 40.00 1800.00 400 18000\n", "sda 148.00 0.00 800.00 0 8000\n"]
    view = view_of("".join(head + row + "\n" for row in rows))
    (summary,) = device_summaries(view)
    assert ("writes_per_s" in summary.summary) is is_told
    assert summary.summary["ios_per_s"]["max"] == max(rate, 148.0)
