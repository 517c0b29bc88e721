from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "svctm-misread"
HEAD = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"


def row(rate, latency, util=100.0, name="sdd"):
    depth = rate * latency / 1000
    svctm = 10 * util / rate
    return (
        f"{name} 0.00 0.00 {rate:.2f} 0.00 {4 * rate:.2f} 0.00 8.00 {depth:.2f} {latency:.2f} "
        f"{latency:.2f} 0.00 "
        f"{svctm:.2f} {util:.2f}\n"
    )


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_svctm_falls_while_requests_take_longer(report_of):
    text = HEAD + row(1000, 0.9, 90) + "\n" + HEAD + row(8000, 2)
    (finding,) = found(report_of(text, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "high")
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert (numbers["low"], numbers["high"]) == (pytest.approx(0.9), pytest.approx(0.125, abs=0.01))
    assert "fell" in finding.summary


def test_overlapping_requests_are_enough(report_of):
    (finding,) = found(report_of(HEAD + row(72914, 0.21), rules=[RULE]))
    assert "read" in finding.summary


def test_one_finding_names_all_devices(report_of):
    text = HEAD + "".join(row(8000, 2, name=f"sd{letter}") for letter in "abcdefgh")
    (finding,) = found(report_of(text, rules=[RULE]))
    assert len(finding.devices) == 8
    assert len(finding.evidence) == 5


def test_one_request_at_a_time_is_clear(report_of):
    report = report_of(HEAD + row(120, 8, 95), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["clear"]


@pytest.mark.parametrize(
    ("sample", "status"),
    [
        (row(4.5, 434), "undetermined"),
        (row(100, 17, 100), "undetermined"),
        (row(100, 10.5, 100), "clear"),
        (row(60, 8, 50), "clear"),
        (row(586000, 0.05), "undetermined"),
        (row(80, 4, 1), "undetermined"),
    ],
    ids=[
        "twice its svctm",
        "nearly two in flight",
        "one in flight",
        "half idle",
        "svctm rounds to none",
        "a printed queue too small",
    ],
)
def test_overlap_is_never_cleared(report_of, sample, status):
    report = report_of(HEAD + sample, rules=[RULE])
    assert {o.status for o in report.outcomes if "sdd" in o.devices} == {status}


def test_on_a_single_spinning_disk_it_is_a_fair_measure(report_of):
    assert not found(report_of(HEAD + row(140, 60), lsblk(("sdd", True)), rules=[RULE]))


def test_a_layout_without_svctm_is_not_applicable(report_of):
    report = report_of(iostat([{"sda": load(8000, 2)}] * 5), rules=[RULE])
    assert [(o.status, o.missing) for o in report.outcomes] == [("not_applicable", ("disk.svctm_ms",))]


@pytest.mark.parametrize(
    ("row", "context", "status"),
    [
        ("0.0 0.0 750.0 0.0 3000.0 0.0 8.0 0.06 0.08 1.07 80.0", "", "undetermined"),
        ("0.0 0.0 100.0 0.0 800.0 0.0 16.0 0.80 8.00 8.00 80.0", "", "clear"),
        ("0.0 0.0 140.0 0.0 1120.0 0.0 16.0 9.80 70.00 7.14 100.0", "NAME ROTA TYPE\nsda 1 disk\n", "clear"),
    ],
    ids=["longer than the latency", "one at a time", "a single spinning disk"],
)
def test_it_is_clear_only_where_it_is_so(report_of, row, context, status):
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"
    text = f"{header}\nsda {row}\n\n" * 4
    report = report_of(text, *([context] if context else []), rules=["svctm-misread"], interval=1.0)
    assert [(o.status) for o in report.outcomes] == [status]
    assert ("one request at a time" in report.outcomes[0].reason) == bool(context)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("750.0 0.0 3000.0 0.0 8.0 0.06 0.08 1.07 80.0", "svctm exceeds the latency"),
        ("150.0 0.0 153000000000000000.0 0.0 2040000000000000.0 8.40 56.00 5.40 81.0", "requests overlap"),
    ],
)
def test_of_two_reasons_it_gives_the_one_that_holds(report_of, row, reason):
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"
    report = report_of(f"{header}\nsda 0.0 0.0 {row}\n", rules=["svctm-misread"], interval=1.0)
    assert [o.reason.startswith(reason) for o in report.outcomes] == [True]
