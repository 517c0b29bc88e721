from __future__ import annotations

from pathlib import Path

import pytest

from writers.captures import iostat, vmstat
from writers.loads import load, lsblk

RULE = "throttled-above-device"
FLASH = lsblk(("sda", False), ("sdb", False))
STEADY = load(400, 2.1, size=4, util=13)
WAITING = vmstat([{"b": 8, "bi": 1600}] * 20)


@pytest.fixture
def run(report_of):
    return lambda *texts: report_of(*texts, rules=[RULE])


def status(report, device="sda"):
    return {o.status for o in report.outcomes if device in o.devices}


def test_a_steady_trickle_that_tasks_wait_for(run):
    (finding,) = run(iostat([{"sda": STEADY}] * 20), FLASH, WAITING).findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    # vmstat's first row counts too: its tasks are of the moment, and there it had none
    assert numbers["blocked"] == pytest.approx(8 * 20 / 21)


def test_the_control_group_s_limit_makes_it_certain(run):
    group = "io.max:8:0 rbps=max wbps=max riops=400 wiops=max\n"
    (finding,) = run(iostat([{"sda": STEADY}] * 20), FLASH, WAITING, group).findings
    assert finding.confidence == "high"
    other = "io.max:8:0 rbps=max wbps=max riops=900 wiops=max\n"
    assert not run(iostat([{"sda": STEADY}] * 20), FLASH, other).findings


def test_iowait_that_the_device_does_not_explain_is_a_witness(run):
    waiting, patient = (
        iostat([{"sda": STEADY}] * 20, {"%iowait": share, "%idle": 100 - share}) for share in (80.0, 30.0)
    )
    (finding,) = run(waiting, FLASH).findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert any("CPUs waited for I/O 80 % of their time" in item.text for item in finding.evidence)
    assert status(run(patient, FLASH)) == {"undetermined"}


def test_without_a_witness_from_above_it_stays_open(run):
    assert status(run(iostat([{"sda": STEADY}] * 20), FLASH)) == {"undetermined"}
    patient = vmstat([{"b": 0, "bi": 1600}] * 20)
    assert status(run(iostat([{"sda": STEADY}] * 20), FLASH, patient)) == {"undetermined"}


def test_tasks_that_wait_for_another_disk_are_no_witness(run):
    rows = [{"sda": STEADY, "sdb": load(900, 60)}] * 20
    report = run(iostat(rows), FLASH, WAITING)
    assert not report.findings
    assert status(report) == {"undetermined"}


@pytest.mark.parametrize(
    "row",
    [
        load(400, 8, size=4, util=90),  # the device is busy
        load(400, 20, size=4, util=60),  # a queue of eight
    ],
)
def test_a_busy_device_is_clear(run, row):
    assert status(run(iostat([{"sda": row}] * 20), FLASH, WAITING)) == {"clear"}


def test_a_rate_that_moves_is_clear(run):
    rows = [{"sda": load(300 + 40 * (n % 5), 2.1, size=4, util=13)} for n in range(20)]
    assert status(run(iostat(rows), FLASH, WAITING)) == {"clear"}


@pytest.mark.parametrize(
    ("size", "rate", "expected"),
    [(900, 10, "undetermined"), (900, 200, "clear"), (16, 10, "clear")],
    ids=["large", "many", "small"],
)
def test_a_rate_of_few_large_requests_is_not_cleared_as_it_cannot_look_steady(run, size, rate, expected):
    rates = [rate * share for share in (0.8, 0.9, 1.2, 1.1, 0.9, 1.0, 0.8, 1.1, 1.0, 1.2)]
    rows = [load(rate, 7, reads=0, size=size, util=4, depth=0.08) for rate in rates]
    assert status(run(iostat([{"sda": row} for row in rows]))) == {expected}


def test_a_mean_of_fio_is_held_against_all_that_the_device_did_meanwhile(run):
    """What stood in a queue for half of the run has a long mean, and is calm for the rest."""
    fio = (Path(__file__).parents[2] / "samples/fio/random-reads.json").read_text()
    calm, busy = ([{"sda": row}] * 20 for row in (STEADY, load(400, 400, size=4, util=100)))
    (finding,) = run(iostat(calm), FLASH, fio).findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert not run(iostat([*calm, *busy]), FLASH, fio).findings


TICKS = load(1000, 0.08, size=8, util=100)


@pytest.mark.parametrize(
    ("row", "samples", "blocked", "sure"),
    [
        (STEADY, 1, 8, "medium"),
        (STEADY, 2, 8, "medium"),
        (load(431, 2.1, size=4, util=13), 3, 8, "medium"),
        (TICKS, 3, 9, "medium"),
        (load(431, 2.1, size=4, util=13), 1, 8, None),
        (load(431, 2.1, size=4, util=13), 2, 8, None),
        (STEADY, 3, 1, None),
        (load(1000, 1.3, size=8, util=98), 3, 9, None),
    ],
    ids=[
        "one sample of a limit's number",
        "two of them",
        "three of any number",
        "util counted in ticks",
        "one of any number",
        "two of any number",
        "one patient reader",
        "a device that may be the limit",
    ],
)
def test_what_few_samples_tell(run, row, samples, blocked, sure):
    waiting = vmstat([{"b": blocked, "bi": 1600}] * (samples + 1))
    found = run(iostat([{"sda": row}] * samples), FLASH, waiting).findings
    assert [(f.severity, f.confidence) for f in found] == ([("warning", sure)] if sure else [])


def test_a_calm_sample_of_a_busy_device_is_no_state_of_it(run):
    rows = [{"sda": STEADY}, *[{"sda": load(9000 + 300 * n, 1.4, size=4, util=100)} for n in range(5)]]
    assert not run(iostat(rows), FLASH, vmstat([{"b": 12}] * 7)).findings


def test_it_says_more_than_that_one_request_is_in_flight(report_of):
    row = load(1000, 0.65, size=4, util=65)
    report = report_of(iostat([{"sda": row}] * 3), FLASH, vmstat([{"b": 12}] * 4))
    assert [f.rule for f in report.findings if f.role == "cause"] == [RULE]


def test_blocked_tasks_and_iowait_are_one_witness(run):
    waiting = iostat([{"sda": STEADY}] * 20, {"%iowait": 80.0, "%idle": 20.0})
    (finding,) = run(waiting, FLASH, WAITING).findings
    assert finding.confidence == "medium"
    assert sum("waited for I/O" in item.text or "blocked" in item.text for item in finding.evidence) == 1
