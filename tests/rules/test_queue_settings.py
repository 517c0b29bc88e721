from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "queue-settings"
DISK = lsblk(("sda", True))


def queue(largest=128, hardware=4096, nomerges=0, device="sda"):
    settings = {"max_sectors_kb": largest, "max_hw_sectors_kb": hardware, "nomerges": nomerges}
    return "".join(f"/sys/block/{device}/queue/{name}:{value}\n" for name, value in settings.items())


def judged(report_of, row, settings, context=DISK):
    report = report_of(iostat([{"sda": row}] * 10), context, settings, rules=[RULE])
    return [f for f in report.findings if f.rule == RULE], [o for o in report.outcomes if o.rule == RULE]


STREAM = load(900, 4.4, size=127.2, util=99)
SMALL = load(3000, 1.0, size=8, reads=0, util=99)


def test_a_stream_that_is_cut_to_the_limit_is_told_with_what_it_costs(report_of):
    (finding,), _ = judged(report_of, STREAM, queue())
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert "cut to 128 kB (max_sectors_kb): 900 requests/s in 10 of 10 samples" in finding.summary
    assert "in requests of 1,024 kB they would be 112/s" in finding.summary
    assert any("max_sectors_kb:128" in q.text for e in finding.evidence for q in e.quotes)
    (remedy,) = finding.remedy
    assert "echo 1024 > /sys/block/sda/queue/max_sectors_kb" in remedy


def test_neighbours_that_nomerges_keeps_apart_are_told(report_of):
    (finding,), _ = judged(report_of, SMALL, queue(largest=1280, nomerges=2))
    assert "3,000 writes/s" in finding.evidence[0].text
    assert "merges none of them" in finding.summary
    assert "nomerges is 2" in finding.evidence[1].text


@pytest.mark.parametrize(
    ("row", "settings"),
    [
        (STREAM, queue(hardware=128)),
        (STREAM, queue(largest=1280)),
        (load(900, 1.05, size=127.2, util=95), queue()),
        (load(900, 4.4, size=100, util=99), queue()),
        (load(9000, 4.4, size=512, util=99), queue(largest=512)),
        (SMALL, queue(largest=1280)),
        (load(150, 30, size=8, reads=0, util=99), queue(largest=1280, nomerges=2)),
        (SMALL | {"wrqm/s": 900.0}, queue(largest=1280, nomerges=1)),
    ],
    ids=[
        "hardware takes no more",
        "a larger limit",
        "one at a time",
        "smaller than the limit",
        "large enough",
        "merging is allowed",
        "it seeks",
        "merged all the same",
    ],
)
def test_what_costs_nothing_is_clear(report_of, row, settings):
    found, (outcome,) = judged(report_of, row, settings)
    assert not found
    assert outcome.status == "clear"


@pytest.mark.parametrize("context", [lsblk(("sda", False)), lsblk(("sdz", True))])
def test_flash_and_what_is_not_known_are_not_judged(report_of, context):
    found, (outcome,) = judged(report_of, STREAM, queue(), context)
    assert not found
    assert outcome.status == "not_applicable"


def test_an_idle_device_clears_nothing(report_of):
    found, (outcome,) = judged(report_of, load(20, 4.4, size=127.2), queue())
    assert not found
    assert outcome.status == "undetermined"
