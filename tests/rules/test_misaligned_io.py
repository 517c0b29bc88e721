from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "misaligned-io"
SLOW = load(45, 60, size=4, reads=0.1, util=98)
QUICK = load(45, 6, size=4, reads=0.1, util=30)


def lsblk(offset, rota=1):
    return (
        "NAME   TYPE ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA\n"
        f"sda    disk         0   4096      0    4096     512    {rota}\n"
        f"`-sda1 part {offset:>9}   4096      0    4096     512    {rota}\n"
    )


def fdisk(start, size="7.3T", end=15628050431):
    return (
        "Disk /dev/sda: 7.3 TiB, 8001563222016 bytes, 15628053168 sectors\n"
        "Units: sectors of 1 * 512 = 512 bytes\n"
        "Sector size (logical/physical): 512 bytes / 4096 bytes\n"
        "I/O size (minimum/optimal): 4096 bytes / 4096 bytes\n\n"
        "Device     Start         End     Sectors  Size Type\n"
        f"/dev/sda1     {start} {end} {end - start + 1}  {size} Linux filesystem\n"
    )


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def status(report):
    return {o.status for o in report.outcomes if o.rule == RULE and o.status != "finding"}


@pytest.mark.parametrize(
    ("context", "row", "severity"),
    [
        (lsblk(512), {"sda1": SLOW}, "warning"),
        (fdisk(63) + "/sys/block/sda/queue/rotational:1\n", {"sda": SLOW}, "warning"),
        (
            "/sys/block/sda/sda1/alignment_offset:3584\n/sys/block/sda/queue/rotational:1\n",
            {"sda1": SLOW},
            "notice",
        ),
        (lsblk(-1, rota=0), {"sda1": SLOW}, "notice"),
        (lsblk(512), {"sda1": QUICK}, "info"),
    ],
    ids=["lsblk -t", "fdisk", "sysfs, class unknown", "flash", "nothing is felt"],
)
def test_a_start_off_a_boundary_is_named_by_whoever_states_it(report_of, context, row, severity):
    (finding,) = found(report_of(iostat([row] * 10), context, rules=[RULE]))
    assert (finding.severity, finding.devices) == (severity, ("sda1",))
    assert "sda1 begins" in finding.summary
    assert ("take 60 ms" in finding.summary) == (severity != "info")
    assert any("1MiB" in text for text in finding.remedy)


def test_it_stands_above_the_saturation_that_it_makes(report_of):
    report = report_of(iostat([{"sda": SLOW, "sda1": SLOW}] * 20), lsblk(512))
    assert report.findings[0].rule == RULE


@pytest.mark.parametrize(
    ("context", "row", "outcome"),
    [
        (lsblk(0), {"sda1": SLOW}, "clear"),
        (fdisk(2048), {"sda": SLOW}, "clear"),
        # a small partition that Windows reserved begins off a boundary, and nobody writes to it
        (fdisk(34, "16M", 32767), {"sda": SLOW}, "undetermined"),
        ("NAME TYPE ROTA\nsda disk 1\n", {"sda": SLOW}, "not_applicable"),
    ],
    ids=["aligned", "aligned, by fdisk", "another partition", "nothing states it"],
)
def test_what_is_aligned_or_not_stated_is_no_finding(report_of, context, row, outcome):
    report = report_of(iostat([row] * 10), context, rules=[RULE])
    assert not found(report)
    assert status(report) == {outcome}


@pytest.mark.parametrize(
    "row", [load(45, 60, size=512, reads=0.1), load(45, 60, size=4, reads=1.0)], ids=["large writes", "reads"]
)
def test_large_writes_and_slow_reads_are_not_its_doing(report_of, row):
    (finding,) = found(report_of(iostat([{"sda1": row}] * 10), lsblk(512), rules=[RULE]))
    assert finding.severity == "info"


def test_only_the_lowest_start_is_named(report_of):
    tree = lsblk(512) + "  `-vg-data lvm -1 4096 0 4096 512 1\n"
    report = report_of(iostat([{"sda1": SLOW, "vg-data": SLOW}] * 10), tree, rules=[RULE])
    assert [f.devices for f in found(report)] == [("sda1",)]
