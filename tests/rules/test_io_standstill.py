from __future__ import annotations

import pytest

from writers.captures import banner, iostat, vmstat
from writers.loads import load

RULE = "io-standstill"
MOVES = {"bo": 300000, "us": 5}
STILL = {"bo": 0, "b": 1, "us": 3}
WAITING = {"%iowait": 74.0, "%idle": 0.0, "%system": 25.0, "%user": 1.0}


@pytest.fixture
def run(report_of):
    return lambda *texts: report_of(*texts, rules=[RULE])


def told(report):
    found = [(f.severity, f.confidence) for f in report.findings if f.rule == RULE]
    return found or [o.status for o in report.outcomes if o.rule == RULE]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([MOVES] * 5 + [STILL] * 3, [("warning", "high")]),
        ([MOVES] * 5 + [STILL] * 8, [("critical", "high")]),
        ([MOVES] * 4 + [STILL] * 8 + [MOVES] * 4, [("warning", "high")]),
        ([MOVES] * 4 + [STILL] * 6 + [MOVES] * 4 + [STILL], [("warning", "high")]),
        ([MOVES] * 5 + [STILL] * 2, ["undetermined"]),
        ([MOVES] * 5 + [STILL], ["clear"]),
        ([MOVES] * 5 + [{"us": 3}] * 2, ["clear"]),
        ([{"bo": 500, "b": 2, "wa": 40}] * 5 + [STILL | {"b": 2, "wa": 45}] * 2, ["undetermined"]),
        ([MOVES] * 5 + [{"us": 3}] * 8, ["clear"]),  # the load ended, and nobody waits
        ([MOVES | {"b": 1}] * 5 + [STILL] * 8, ["undetermined"]),  # one that never wakes up
        ([MOVES | {"b": 1, "wa": 40}] * 5 + [STILL | {"wa": 40}] * 8, [("warning", "medium")]),
        ([MOVES | {"b": 1, "wa": 40}] * 5 + [STILL | {"wa": 40}] * 8 + [MOVES | {"b": 1}], ["undetermined"]),
        ([MOVES | {"b": 1, "wa": 90}] * 5 + [STILL | {"wa": 20}] * 8, ["undetermined"]),
        ([MOVES | {"b": b} for b in (20, 9, 20)] + [STILL | {"b": 20}] * 8, [("critical", "high")]),
        ([MOVES | {"b": b} for b in (20, 15, 20)] + [STILL | {"b": 20}] * 8, ["undetermined"]),
        ([STILL] * 8, ["clear"]),
        ([STILL] * 5 + [MOVES] * 5, ["clear"]),
        ([MOVES] * 5 + [STILL | {"sy": 95, "us": 4}] * 8, ["undetermined"]),
        ([MOVES, STILL] * 6, ["clear"]),
    ],
    ids=[
        "seen",
        "now",
        "over",
        "over, and one more",
        "two samples, too few to tell",
        "a pause",
        "ended just now",
        "a trickle, and then nothing",
        "ended",
        "always blocked",
        "always blocked, by iowait for I/O",
        "always blocked, and moves again",
        "always blocked, but fewer wait for I/O",
        "a crowd that data set free",
        "a crowd that hangs",
        "never moved",
        "before a load",
        "no CPU",
        "in turns",
    ],
)
def test_a_host_that_moves_nothing_while_somebody_waits(run, rows, expected):
    assert told(run(vmstat(rows))) == expected


def test_what_was_moved_before_is_of_the_samples_before(run):
    """The burst is what filled the queue: what trickles once it has gone is no part of it."""
    rows = [{"bo": 90}] * 6 + [{"bo": 130000}] * 2 + [STILL] * 9 + [{"bo": 2000}] * 8
    (finding,) = run(vmstat(rows)).findings
    assert "127.0 MB/s were moved in 2 samples, and then 0 kB/s" in finding.summary


CROWD = {"b": 20, "in": 100, "cs": 50}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([CROWD] * 3, [("critical", "medium")]),
        ([CROWD | {"b": 20 + n} for n in range(6)], [("critical", "medium")]),
        ([CROWD | {"b": 20, "wa": 98}] * 3, [("critical", "medium")]),
        ([CROWD | {"b": 20 - 3 * n} for n in range(4)], ["undetermined"]),
        ([CROWD | {"us": 30}] * 4, ["undetermined"]),
        ([CROWD] * 3 + [CROWD | {"bi": 4000}], ["undetermined"]),
        ([CROWD | {"b": 3}] * 8, ["undetermined"]),
        ([CROWD | {"b": 2}] * 8, ["clear"]),
        ([CROWD | {"bi": 4000}] * 8, ["clear"]),
    ],
    ids=["still", "grows", "waits", "shrinks", "works", "moves", "few", "habit", "busy"],
)
def test_a_crowd_that_waits_before_the_capture_begins_while_nothing_moves(run, rows, expected):
    report = run(vmstat(rows))
    assert told(report) == expected
    assert all("from before the capture to its end" in found.summary for found in report.findings)


@pytest.mark.parametrize(
    ("before", "severity"),
    [([300, 310, 305] * 4, "critical"), ([300, 310, 305] * 2, "warning"), ([300, 100, 500] * 4, "warning")],
    ids=["steady", "briefly", "by turns"],
)
def test_three_samples_that_end_a_steady_load_stand_still_now(run, before, severity):
    rows = [MOVES | {"bo": 1000 * mb} for mb in before]
    assert told(run(vmstat([*rows, *[STILL] * 3]))) == [(severity, "high")]
    assert told(run(vmstat([*rows, *[STILL] * 3, MOVES]))) == [("warning", "high")]


@pytest.mark.parametrize(
    ("row", "cpu", "expected"),
    [
        ({}, WAITING, [("warning", "high")]),
        ({}, WAITING | {"%idle": 60.0, "%system": 5.0, "%iowait": 34.0}, ["clear"]),
        (load(100, 8), WAITING, ["clear"]),
        ({"wkB/s": 5000.0, "%util": 90.0}, WAITING, ["clear"]),
    ],
    ids=["nothing completes", "some CPU is idle", "a device works", "a driver counts no requests"],
)
def test_cpus_that_wait_while_no_device_completes_anything(run, row, cpu, expected):
    assert told(run(iostat([{"sda": row, "sdb": {}}] * 3, cpu=cpu))) == expected


def test_one_sample_of_disks_is_enough_to_say_it(run):
    report = run(iostat([{"sda": {}}], cpu=WAITING))
    assert told(report) == [("warning", "medium")]
    assert "in the only sample" in report.findings[0].summary


def test_a_request_now_and_then_is_not_called_none(run):
    [found] = run(iostat([{"sda": load(0.5, 8), "sdb": {}}] * 3, cpu=WAITING)).findings
    assert "0.5 requests/s in all at most" in found.summary


def test_it_stands_above_the_tasks_that_it_explains(report_of):
    report = report_of(vmstat([MOVES] * 5 + [STILL | {"b": 6}] * 8))
    assert report.findings[0].rule == RULE
    assert report.verdict.state == "open"


def dirty(rows, step):
    """sar -B and -r: kB/s written and MB that stay dirty, in samples of `step` seconds."""
    clocks = [
        f"{13 + n * step // 3600}:{n * step // 60 % 60:02}:{n * step % 60:02}" for n in range(len(rows) + 1)
    ]
    names = (
        "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact kbdirty"
    )
    lines = [f"{clocks[0]} pgpgin/s pgpgout/s fault/s majflt/s"]
    lines += [f"{clock} 0.00 {row[0]:.2f} 100.00 0.00" for clock, row in zip(clocks[1:], rows, strict=True)]
    lines += ["", f"{clocks[0]} {names}"]
    lines += [
        f"{clock} 80000 8000000 900000 90.0 1000 800000 9000 1.0 100 100 {1024 * row[1]}"
        for clock, row in zip(clocks[1:], rows, strict=True)
    ]
    return banner() + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("rows", "step", "is_told"),
    [
        ([(120000, 1000)] * 4 + [(80, 4400)] * 8, 60, True),
        ([(120000, 1000)] * 4 + [(9000, 4400)] * 8, 60, False),
        ([(120000, 4400)] * 4 + [(80, 1)] * 8, 60, False),
        ([(120000, 4400)] * 4 + [(80, 1000)] * 8, 60, False),
        ([(120000, 1000)] * 4 + [(80, 4400)] * 8, 5, False),
        ([(80, 4400)] * 8 + [(120000, 4400)] * 4, 60, False),
        ([(2_000_000, 2500)] * 10 + [(39_000, 1400)] * 8, 60, False),
    ],
    ids=["collapsed", "slower", "all is written", "most is written", "not due yet", "before", "kept pace"],
)
def test_much_that_stays_dirty_while_hardly_any_is_written_is_held_above_the_disks(run, rows, step, is_told):
    (outcome,) = told(run(dirty(rows, step)))
    assert (outcome == ("warning", "medium")) is is_told
