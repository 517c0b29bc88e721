from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "process-waits"
HEADER = "UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command"


def pidstat(delay, kb=1120.0, step=5, samples=1, of="kB_wr"):
    """`pidstat -d` of one process that waits `delay` ticks in each sample of `step` seconds."""
    text, moved = "", (f"{kb:.2f} 0.00" if of == "kB_rd" else f"0.00 {kb:.2f}")
    for n in range(samples):
        text += f"13:00:{step * n:02}  {HEADER}\n"
        text += f"13:00:{step * (n + 1):02}  0  1687  {moved} 0.00 {delay} sftp\n\n"
    return text


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ("warning", "medium")),
        ({"samples": 3}, ("warning", "high")),
        ({"kb": 90_000.0}, ("notice", "medium")),
        ({"of": "kB_rd"}, ("warning", "medium")),
        ({"delay": 240}, None),
        ({"step": 10}, None),
    ],
    ids=[
        "a writer",
        "in three samples",
        "as much as a stream",
        "a reader",
        "less than half",
        "longer samples",
    ],
)
def test_a_process_that_waits_most_of_its_time_is_told(report_of, options, told):
    report = report_of(pidstat(**{"delay": 498} | options))
    finding = only(report)
    assert (finding and (finding.severity, finding.confidence)) == told
    if finding:
        assert finding.summary.startswith("sftp waits for I/O 100 % of its time while it")
        assert report.verdict.state == "open"


def test_beside_samples_of_disks_it_is_told_for_information(report_of):
    finding = only(report_of(iostat([{"sda": load(200, 0.6, size=8)}] * 5), pidstat(498)))
    assert finding.severity == "info"


def test_a_sample_of_unknown_length_shows_the_time_alone(report_of):
    report = report_of(pidstat(498).replace("13:00:05", "13:00:00"))
    assert only(report) is None
    (outcome,) = [o for o in report.outcomes if o.rule == RULE]
    assert outcome.status == "undetermined"
    assert "4.98 s" in outcome.reason
    assert "sftp read 0 kB/s and wrote 1120 kB/s, and waited 4.98 s" in report.headline.replace(",120", "120")


def test_without_a_column_of_waits_it_does_not_apply(report_of):
    text = pidstat(0).replace(" iodelay", "").replace(" 0 sftp", " sftp")
    (outcome,) = [o for o in report_of(text).outcomes if o.rule == RULE]
    assert outcome.status == "not_applicable"


def test_a_wait_longer_than_the_sample_is_told_as_it_is_and_as_no_share(report_of):
    """The kernel counts it when it ends; another process waits for most of each sample."""
    text = ""
    for second, delay in enumerate((91, 70, 108, 84)):
        text += f"13:00:{second:02}  {HEADER}\n13:00:{second + 1:02}  0  77  0.00 43960.00 0.00 {delay} tar\n"
        text += f"13:00:{second + 1:02}  0  31  0.00 0.00 0.00 2846 jbd2/sda1-8\n\n" * (second == 3)
    summary = only(report_of(text)).summary
    assert summary == (
        "tar waits for I/O 88 % of its time while it writes 43,960 kB/s; "
        "one wait of jbd2/sda1-8 for I/O lasted 28.5 s."
    )
    alone = only(report_of(pidstat(2846, kb=4.0, step=1)))
    assert alone.summary == "One wait of sftp for I/O lasted 28.5 s."
    assert "one wait of sftp for I/O lasted 28.5 s" in alone.evidence[0].text
    assert alone.severity == "warning"
