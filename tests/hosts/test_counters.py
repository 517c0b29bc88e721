"""Pairs of /proc/diskstats snapshots give the rates that iostat prints from the same counters."""

from __future__ import annotations

import io

import pytest

import iodiag

FIRST = "TS 1795178680.0\n   8       0 sda 1000 10 80000 5000 200 20 4000 900 0 6000 5900 0 0 0 0 7 70\n"
SECOND = (
    "TS 1795178690.0\n   8       0 sda 1500 30 120000 9000 300 20 12000 1900 1 9000 10900 0 0 0 0 17 570\n"
)


def read(text: str, name: str = "diskstats") -> iodiag.Capture:
    return iodiag.read(io.BytesIO(text.encode()), name=name)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("interval_s", 10),
        ("reads_per_s", 50),
        ("read_kb_per_s", 2000),
        ("read_merges_per_s", 2),
        ("read_await_ms", 8),
        ("read_request_size_kb", 40),
        ("writes_per_s", 10),
        ("write_kb_per_s", 400),
        ("write_await_ms", 10),
        ("flushes_per_s", 1),
        ("flush_await_ms", 50),
        ("queue_depth", 0.5),
        ("util_pct", 30),
        ("line", 4),
    ],
)
def test_one_file_of_two_snapshots(column, value):
    disk = read(FIRST + SECOND).disk
    assert disk is not None
    assert disk[column].tolist() == [value]


def test_two_files_are_paired_by_analyze():
    report = iodiag.analyze([read(SECOND, "end"), read(FIRST, "start")])
    assert report.devices[0].summary["reads_per_s"]["max"] == 50


def test_snapshots_without_a_time_need_the_interval():
    captures = [read(text.split("\n", 1)[1], name) for text, name in ((FIRST, "start"), (SECOND, "end"))]
    assert captures[0].disk is None
    assert not iodiag.analyze(captures).devices
    for given in (captures, captures[::-1]):
        assert iodiag.analyze(given, interval=10).devices[0].summary["reads_per_s"]["max"] == 50


def test_a_replaced_device_makes_no_row():
    disk = read(SECOND.replace("1795178690", "1795178670") + FIRST).disk
    assert disk is not None
    assert len(disk) == 0


def test_the_loop_that_the_documentation_shows_is_a_dated_capture():
    """A line of `date +%s` above each snapshot; a single snapshot has no rates and is context."""
    text = (FIRST + SECOND).replace("TS ", "").replace(".0\n", "\n")
    (section,) = read(text).sections
    assert (section.reports, section.start, section.end) == (2, "2026-11-20 12:44:40", "2026-11-20 12:44:50")
    report = iodiag.analyze(read(text, "diskstats.txt"))
    words = report.to_markdown()
    assert "2026-11-20 12:44:40 to 12:44:50" in words
    assert "**Read:** `diskstats.txt` (10 s)" in words
    (alone,) = read(FIRST).sections
    assert (alone.reports, alone.start) == (0, None)
