from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "thermal-throttle"
FLASH = lsblk(("sda", False))


def row(mb, depth=8.0, reads=1.0, size=128.0):
    rate = 1024 * mb / size
    return load(rate, 1000 * depth / rate, size=size, reads=reads, util=100)


def waves(*lengths, fast=None, slow=None):
    """Samples that are fast and slow in turns of the given lengths."""
    levels = (fast or row(900), slow or row(400))
    return [levels[n % 2] for n, length in enumerate(lengths) for _ in range(length)]


EVEN = waves(*(4, 3) * 6)


def judged(report_of, rows, *context):
    return report_of(iostat([{"sda": each} for each in rows], step=2), *context, rules=[RULE])


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def test_equal_turns_of_fast_and_slow_reads_are_heat(report_of):
    (finding,) = found(judged(report_of, EVEN, FLASH))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "from 900 to 400 MiB/s and back every 14 s, 5 times" in finding.summary
    assert "smartctl -x /dev/sda | grep -i temp" in finding.confirm


def test_writes_alone_may_fill_a_cache(report_of):
    rows = waves(*(4, 3) * 6, fast=row(900, reads=0), slow=row(400, reads=0))
    (finding,) = found(judged(report_of, rows, FLASH))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "or to empty its cache" in finding.summary
    uneven = waves(*(4, 3, 5, 3, 3, 3) * 3, fast=row(900, reads=0), slow=row(400, reads=0))
    (finding,) = found(judged(report_of, uneven, FLASH))
    assert (finding.severity, finding.confidence) == ("notice", "low")


@pytest.mark.parametrize(
    "rows",
    [
        waves(8, 2, 3, 7, 2, 2, 9, 3, 4, 2, 3, 6),
        waves(*(4, 3) * 3, 10),
        waves(*(4, 3) * 6, slow=row(700)),
        waves(*(4, 3) * 6, slow=row(400, depth=3)),
        waves(*(4, 3) * 6, slow=row(400, size=32)),
        waves(*(4, 3) * 6, slow=row(400, reads=0.5)),
        waves(*(1, 1) * 15),
        [row(900 - 20 * (n % 20)) for n in range(80)],
    ],
    ids=[
        "uneven",
        "three turns",
        "hardly slower",
        "less demand",
        "smaller",
        "another mix",
        "sample by sample",
        "a ramp",
    ],
)
def test_what_are_no_waves_of_heat(report_of, rows):
    report = judged(report_of, rows, FLASH)
    assert not found(report)
    assert {o.status for o in report.outcomes if o.rule == RULE} == {"clear"}


@pytest.mark.parametrize(
    ("context", "samples", "status"),
    [
        ((lsblk(("sda", True)),), 42, "not_applicable"),
        ((), 42, "not_applicable"),
        ((FLASH,), 3, "undetermined"),
    ],
    ids=["a spinning disk", "nothing says that it is flash", "three samples"],
)
def test_it_applies_to_flash_and_needs_time(report_of, context, samples, status):
    report = judged(report_of, EVEN[:samples], *context)
    assert {o.status for o in report.outcomes if o.rule == RULE} == {status}
