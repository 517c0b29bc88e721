from __future__ import annotations

import pytest

from writers.captures import banner, iostat
from writers.loads import load

RULE = "filesystem-full"
IDLE = iostat([{"sda": load(20, 1)}] * 3)


def df(used=98, name="/dev/sda2", place="/var", kind="ext4", free=20000):
    return (
        "Filesystem Type 1K-blocks Used Available Use% Mounted on\n"
        f"{name} {kind} 1000000 980000 {free} {used}% {place}\n"
        "/dev/sda1 ext4 500000 100000 400000 20% /boot\n"
    )


def inodes(used=100):
    return (
        "Filesystem Inodes IUsed IFree IUse% Mounted on\n"
        f"/dev/sda2 65536 65536 0 {used}% /var\n/dev/sda1 0 0 0 - /boot/efi\n"
    )


def sar_f(shares, step=600):
    """`sar -F`: a sample per share of space in use."""
    parts = [banner()]
    for number, share in enumerate(shares, 1):
        second = number * step
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        parts.append(
            f"{clock}   MBfsfree  MBfsused   %fsused  %ufsused     Ifree     Iused    %Iused FILESYSTEM\n"
        )
        parts.append(
            f"{clock}  {1000 - 10 * share:9.0f} {10 * share:9.0f} {share:9.2f} {share:9.2f}"
            "    900000    100000     10.00 /dev/sda2\n\n"
        )
    return "".join(parts)


def judged(report_of, *texts):
    report = report_of(*(texts or (IDLE,)), rules=[RULE])
    return [f for f in report.findings if f.rule == RULE], [o for o in report.outcomes if o.rule == RULE]


def test_df_says_which_file_system_is_nearly_full(report_of):
    (finding,), outcomes = judged(report_of, IDLE, df())
    assert [o.devices for o in outcomes if o.status == "clear"] == [("sda1",)]
    assert (finding.severity, finding.confidence, finding.devices) == ("notice", "high", ("sda2",))
    assert finding.summary == "/var (sda2) has 98 % of its space in use."
    assert "allocates slowly" in finding.cannot_know[0]


def test_inodes_run_out_beside_free_space(report_of):
    (finding,), _ = judged(report_of, IDLE, df(used=40), inodes())
    assert (
        finding.summary
        == "/var (sda2) has 100 % of its inodes in use: none are left, and no file can be created."
    )
    assert finding.confirm[0].startswith("df -i")
    assert finding.remedy[0].startswith("Where inodes are short")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (df(used=100, free=0), "warning"),
        (df(used=100, free=90), "warning"),
        (df(used=100, free=9000), "notice"),  # 0.9 %, which df rounds up
        (df(used=99, free=0), "notice"),
        (df(used=100, free="0K"), "warning"),
        (inodes(), "warning"),
        (sar_f([100.0] * 3), "warning"),
        (sar_f([99.9] * 3), "notice"),
    ],
)
def test_a_full_one_is_a_cost_and_heads_the_report_of_calm_disks(report_of, text, severity):
    report = report_of(IDLE, text)
    (finding,) = (f for f in report.findings if f.rule == RULE)
    assert finding.severity == severity
    heads = (report.verdict.state, report.verdict.rule) == ("elsewhere", RULE)
    assert heads == (severity == "warning")
    assert (
        report.headline == f"Not the speed of the devices: {finding.summary[0].lower()}{finding.summary[1:]}"
    ) == heads


def test_a_device_in_trouble_heads_before_a_full_file_system(report_of):
    slow = iostat([{"sda": load(150, 90, size=8, depth=13.5, util=100.0)}] * 8)
    report = report_of(slow, df(used=100, free=0))
    assert report.verdict.rule != RULE
    assert RULE in [f.rule for f in report.findings]


@pytest.mark.parametrize(
    "text",
    [
        df(used=96),
        inodes(used=50),
        df(used=100, name="/dev/loop3", place="/snap/core/9", kind="squashfs"),
        df(used=100, name="/dev/sr0", place="/mnt", kind="iso9660"),
    ],
    ids=["near miss", "inodes left", "snap", "medium"],
)
def test_room_and_what_is_full_on_purpose_are_no_finding(report_of, text):
    found, (outcome,) = judged(report_of, IDLE, text)
    assert not found
    assert outcome.status == "clear"


def test_without_a_listing_it_says_what_would_tell(report_of):
    found, (outcome,) = judged(report_of)
    assert not found
    assert (outcome.status, "df" in outcome.reason) == ("not_applicable", True)


def test_a_file_system_that_fills_along_a_line_has_a_date(report_of):
    shares = [70 + 0.5 * n for n in range(36)]
    (finding,), _ = judged(report_of, sar_f(shares))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    # 12.5 % are left at 3 % an hour, from 06:00 on
    assert "full about 2026-11-20 10:10" in finding.summary


@pytest.mark.parametrize(
    "shares",
    [
        [70 + 0.5 * n for n in range(10)],
        [70 + 0.05 * n for n in range(36)],
        [70 + (15 if n >= 18 else 0) for n in range(36)],
        [70 + 0.8 * min(n, 36 - n) for n in range(36)],
        [90 - 0.5 * n for n in range(36)],
    ],
    ids=["too few samples", "far from full", "one step", "written and deleted", "emptied"],
)
def test_what_is_no_trend_has_no_date(report_of, shares):
    found, _ = judged(report_of, sar_f(shares))
    assert not found


def test_the_last_sample_counts_not_the_worst(report_of):
    found, _ = judged(report_of, sar_f([99.0] * 20 + [60.0] * 20))
    assert not found
    (finding,), _ = judged(report_of, sar_f([60.0] * 20 + [99.0] * 20))
    assert "99 %" in finding.summary
