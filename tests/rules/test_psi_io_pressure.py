from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "psi-io-pressure"


def pressure(some, full, blocked=None, samples=20):
    clocks = [f"13:00:{second:02}" for second in range(2, 2 + 2 * samples, 2)]
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "13:00:00 %sio-10 %sio-60 %sio-300 %sio %fio-10 %fio-60 %fio-300 %fio\n"
    text += "".join(f"{clock} {some} 1.0 1.0 {some} {full} 1.0 1.0 {full}\n" for clock in clocks)
    if blocked is not None:
        text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
        text += "".join(f"{clock} 1 90 1.0 1.0 1.0 {blocked}\n" for clock in clocks)
    return text


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("some", "full", "blocked", "severity"),
    [
        (84.0, 72.0, 7, "critical"),
        (40.0, 15.0, 4, "warning"),
        (30.0, 2.0, 4, "notice"),
        (45.0, 42.0, 1, "info"),
        (45.0, 42.0, None, "notice"),
        (15.0, 14.0, 0, None),
        (3.0, 2.0, 0, None),
    ],
    ids=["standstill", "cost", "some", "one reader", "unknown waiters", "a scan", "quiet"],
)
def test_severity_goes_with_time_lost_and_who_waits(report_of, some, full, blocked, severity):
    finding = only(report_of(pressure(some, full, blocked), rules=[RULE]))
    assert (finding.severity if finding else None) == severity
    if finding:
        assert finding.confidence == "high"
        assert finding.evidence[0].values["some"] == pytest.approx(some)


def test_moments_are_told_and_are_no_harm(report_of):
    lines = pressure(0.1, 0.0, 3).split("\n")
    lines[9:11] = [line.replace(" 0.1 ", " 90.0 ") for line in lines[9:11]]
    finding = only(report_of("\n".join(lines), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "medium")
    assert "in 2 of 20 samples" in finding.summary


@pytest.mark.parametrize(("samples", "confidence"), [(1, "medium"), (2, "medium"), (3, "high")])
def test_one_sample_tells_it(report_of, samples, confidence):
    finding = only(report_of(pressure(40.0, 15.0, 4, samples), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", confidence)


def test_quiet_devices_point_elsewhere(report_of):
    finding = only(report_of(pressure(84.0, 72.0, 7), iostat([{"sda": {}}] * 20), rules=[RULE]))
    assert any("NFS" in item.text for item in finding.evidence)


def test_without_pressure_it_does_not_apply(report_of):
    assert [o.status for o in report_of(vmstat([{}] * 3), rules=[RULE]).outcomes] == ["not_applicable"]


@pytest.mark.parametrize(
    ("minute", "five", "severity"),
    [(80.0, 74.0, "warning"), (80.0, 30.0, "notice"), (30.0, 74.0, "notice")],
    ids=["five minutes", "a minute", "over"],
)
def test_minutes_in_which_nothing_gets_done_are_a_cost(report_of, minute, five, severity):
    text = "$ cat /proc/pressure/io\nsome avg10=84.5 avg60=84.7 avg300=81.7 total=269\n"
    text += f"full avg10=81.8 avg60={minute} avg300={five} total=9\n"
    finding = only(report_of(text, rules=[RULE]))
    assert finding.severity == severity
    assert ("over the last five minutes" in finding.summary) == (severity == "warning")
    alone = only(report_of(text, vmstat([{"b": 1, "wa": 6}] * 5), rules=[RULE]))
    assert alone.severity == ("notice" if severity == "warning" else "info")


@pytest.mark.parametrize(("iowait", "severity"), [(35.0, "critical"), (2.0, "warning")])
def test_iowait_of_several_tasks_shows_that_no_single_reader_waits(report_of, iowait, severity):
    psi = "".join(f"{kind} avg10=84.50 avg60=80.00 avg300=78.00 total=26\n" for kind in ("some", "full"))
    host = AVERAGED.replace("(2 CPU)", "(16 CPU)").replace("30.00", f"{iowait:.2f}")
    finding = only(report_of(f"cat /proc/pressure/io\n{psi}\n{host}", rules=[RULE]))
    assert finding.severity == severity
    told = any("counts 5.6 tasks that wait, on average since boot" in item.text for item in finding.evidence)
    assert told is (severity == "critical")


AVERAGED = """\
Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          12.00    0.00    4.00   30.00    0.00   54.00

Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn
nvme0n1          24.30       130.20       172.60   68052100   90213400
sda             231.00      6200.00      3100.00  324000000  162000000
"""


def test_what_the_capture_holds_is_not_asked_again_and_who_asks_most_is_told(report_of):
    psi = "".join(
        f"{kind} avg10=84.50 avg60=80.00 avg300=78.00 total=269336601043\n" for kind in ("some", "full")
    )
    report = report_of(f"cat /proc/pressure/io\n{psi}\n{AVERAGED}")
    finding = only(report)
    assert "cat /proc/pressure/io" not in finding.confirm
    assert finding.confirm[0] == "iostat -xyt 1 30"
    assert "sda: 231 requests/s of 40.3 kB" in report.headline
    assert "No rule found the cause" not in report.headline
