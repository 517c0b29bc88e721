"""When the events of a kernel's log were, by the other inputs of its host."""

from __future__ import annotations

import io
from datetime import datetime, timedelta

import numpy as np
import pytest

import iodiag
from iodiag.analysis.host.kernel_events import on_clock_of
from iodiag.hosts.joining import join
from sample_files import SAMPLES
from writers.captures import iostat

ERROR = "blk_update_request: critical medium error, dev sdb, sector 1264871"
SAMPLE = iostat([{"sdb": {"r/s": 9.0, "rkB/s": 72.0, "r_await": 5.0}}] * 3)


def joined(*texts, tz=None):
    captures = [iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate(texts)]
    return join(captures, tz)


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("Nov 20 13:00:16", "2026-11-20 13:00:16"),
        ("Jun  1 13:00:16", "2026-06-01 13:00:16"),
        ("Apr  1 13:00:16", "2027-04-01 13:00:16"),
        ("Feb 29 13:00:16", None),
        ("Nov 31 13:00:16", None),
    ],
)
def test_a_stamp_without_a_year_is_of_the_one_nearest_to_the_samples(stamp, time):
    events = joined(SAMPLE, f"{stamp} box kernel: {ERROR}\n").tables["events"]
    assert [str(one) for one in events["time"]] == [time or "NaT"]
    assert list(events["stamp"]) == [stamp]


def test_without_samples_or_for_another_host_no_year_is_guessed():
    line = f"Nov 20 13:00:16 {{}} kernel: {ERROR}\n"
    for texts in ([line.format("box")], [SAMPLE, line.format("other")]):
        assert joined(*texts).tables["events"]["time"].isna().all()


def test_times_of_the_samples_stay_as_they_are_beside_a_log_with_a_zone():
    whole = joined(SAMPLE, f"2026-11-20T13:00:16+0100 box kernel: {ERROR}\n")
    assert "clock" not in whole.disk
    assert whole.disk["time"].dt.tz is None
    assert str(whole.tables["events"]["time"][0]) == "2026-11-20 12:00:16+00:00"


def test_a_boot_clock_is_not_tied_by_messages_of_another_boot():
    other = f"Nov 20 13:00:16 box kernel: [ 500.000000] {ERROR}\n"
    assert joined(SAMPLE, f"[93211.500000] {ERROR}\n", other).tables["events"]["time"].isna().tolist() == [
        1,
        0,
    ]


def test_a_file_of_sadc_tells_the_zone_of_a_log():
    path = next(one for one in sorted((SAMPLES / "sa").glob("0x2175*.bin")))
    capture = iodiag.read(path)
    section = capture.sections[0]
    assert section.utc_offset_s is not None
    start = datetime.fromisoformat(section.start).replace(tzinfo=None)
    stamp = start + timedelta(seconds=section.utc_offset_s + 20)
    text = f"{stamp:%b} {stamp.day:2} {stamp:%H:%M:%S} {section.host} kernel: {ERROR}\n"
    whole = join([capture, iodiag.read(io.BytesIO(text.encode()), name="messages")])
    events, samples = (whole.tables.samples(name) for name in ("events", "disk"))
    assert on_clock_of(samples, events).tolist() == [
        start.timestamp() - datetime(1970, 1, 1).timestamp() + 20
    ]
    assert not np.isnan(events.floats("utc_offset_s")).any()
