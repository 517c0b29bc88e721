from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "micro-burst-throttle"
FLASH = lsblk(("sda", False))


def burst(share, rate=1000.0, depth=20.0):
    """A limit of `rate` that is hit for a share of the time, with `depth` waiting then."""
    return load(rate * share, 1000 * depth / rate, size=4, util=100 * share)


ROWS = [burst(0.1 + 0.08 * (n % 9)) for n in range(27)]


def test_the_rate_while_busy_is_the_limit(report_of):
    (finding,) = report_of(iostat([{"sda": row} for row in ROWS]), FLASH, rules=[RULE]).findings
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert finding.evidence[0].values["rate"] == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "context", "expected"),
    [
        (ROWS, lsblk(("sda", True)), "clear"),
        (ROWS, "", "undetermined"),
        ([burst(0.5)] * 20, FLASH, "clear"),  # one steady load
        ([burst(0.1 + 0.08 * (n % 9), depth=2) for n in range(27)], FLASH, "clear"),  # nobody waits
        ([burst(0.1 + 0.08 * (n % 9), rate=500 + 200 * (n % 4)) for n in range(27)], FLASH, "clear"),
    ],
)
def test_near_misses(report_of, rows, context, expected):
    report = report_of(iostat([{"sda": row} for row in rows]), *([context] if context else []), rules=[RULE])
    assert [o.status for o in report.outcomes] == [expected]
