from __future__ import annotations

import pytest

RULE = "memory-exhausted"
GB = 1024 * 1024
BANNER = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(8 CPU)\n"
FULL, ROOMY = (100000, 100.0), (90000, 90.0)


def capture(memory, swap, *, total=64 * GB, load=(), cpu=(), tps=()):
    """`sar -r -S -q -u -b`: free and cached kB, used kB and % of swap, load, system and iowait.

    Memory of three numbers has the available kB last.
    """
    parts = []
    rows = [
        " ".join((f"{free}", *map(str, available), f"{total - free} 99.00 500 {cached} 9000 10.00"))
        for free, cached, *available in memory
    ]
    names = "kbavail " * (len(memory[0]) > 2) + "kbmemused %memused kbbuffers kbcached kbcommit %commit"
    parts.append((f"kbmemfree {names}", rows))
    rows = [f"{100000 * (used > 0) - used} {used} {share:.2f} 0 0.00" for used, share in swap]
    parts.append(("kbswpfree kbswpused %swpused kbswpcad %swpcad", rows))
    parts.append(
        ("runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15", [f"2 300 {one:.2f} 9.00 5.00" for one in load])
    )
    shares = [f"all 1.00 0.00 {sy:.2f} {wa:.2f} 0.00 {99 - sy - wa:.2f}" for sy, wa in cpu]
    parts.append(("CPU %user %nice %system %iowait %steal %idle", shares))
    parts.append(("tps rtps wtps bread/s bwrtn/s", [f"{n:.2f} {n:.2f} 0.00 800.00 0.00" for n in tps]))
    text = BANNER
    for header, rows in parts:
        text += f"\n13:00:00 {header}\n" if rows else ""
        text += "".join(f"13:{n + 1:02}:00 {row}\n" for n, row in enumerate(rows))
    return text


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


GONE = (150000, 20000)
CALM = (30 * GB, 10 * GB)
PINNED = (GB, 20 * GB, 2 * GB)
"""Of 64 GB 20 are page cache, most of which is shared memory that cannot be dropped."""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"cpu": [(1, 0), (70, 1)], "load": [1, 210]}, ("critical", "high")),
        ({"load": [1, 210]}, ("critical", "high")),
        ({"cpu": [(2, 1), (5, 88)]}, ("critical", "high")),
        ({"cpu": [(2, 1), (3, 1)], "load": [1, 2]}, ("notice", "high")),
        ({}, ("warning", "high")),
    ],
    ids=["reclaim", "load", "iowait", "nobody waits", "nothing else is shown"],
)
def test_memory_and_swap_used_up_is_as_grave_as_what_it_costs(report_of, more, told):
    finding = only(report_of(capture([GONE] * 2, [FULL] * 2, **more), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told
    assert "swap is full, in 2 of 2 samples" in finding.summary


def test_the_verdict_is_not_storage_and_says_that_no_task_waits_for_disks(report_of):
    shown = {"cpu": [(1, 1), (70, 1.5)], "load": [1, 210], "tps": [400, 40]}
    report = report_of(capture([CALM, GONE], [(10, 0.01), FULL], **shown))
    assert (report.verdict.state, report.verdict.rule) == ("elsewhere", RULE)
    assert report.findings[0].severity == "critical"
    texts = [item.text for item in report.findings[0].evidence]
    assert any("do not wait for disks; these complete 40 to 400 requests/s" in text for text in texts)
    assert "150,000 kB are free, 20,000 kB page cache" in texts[0]
    assert texts[0].endswith("other samples have up to 40,960 MB free or in the page cache")


@pytest.mark.parametrize(
    ("memory", "swap", "total", "status"),
    [
        ([CALM] * 3, [FULL] * 3, 64 * GB, "clear"),
        ([GONE] * 3, [ROOMY] * 3, 64 * GB, "undetermined"),
        ([GONE] * 3, [(0, 0.0)] * 3, 64 * GB, "undetermined"),
        ([(30000, 60000)] * 3, [FULL] * 3, GB, "clear"),
        ([CALM], [FULL], 64 * GB, "undetermined"),
    ],
    ids=["cache is left", "swap has room", "no swap, no cost", "a small host with room", "one sample"],
)
def test_room_in_memory_or_swap_is_no_exhaustion(report_of, memory, swap, total, status):
    report = report_of(capture(memory, swap, total=total), rules=[RULE])
    assert only(report) is None
    assert [outcome.status for outcome in report.outcomes] == [status]


def test_what_is_left_is_told_with_its_amount(report_of):
    report = report_of(
        capture([(20480, 10240), *[(30720, 102400)] * 2], [FULL] * 3, total=GB // 8), rules=[RULE]
    )
    (outcome,) = report.outcomes
    assert "at least 30 MB of memory are free or page cache" in outcome.reason


def test_a_small_host_and_one_without_swap_are_told_with_their_cost(report_of):
    small = only(report_of(capture([(20000, 15000)] * 2, [FULL] * 2, total=GB), rules=[RULE]))
    assert small.severity == "warning"
    no_swap = capture([GONE], [(0, 0.0)], load=[95], cpu=[(80, 0)])
    finding = only(report_of(no_swap, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("critical", "medium")
    assert "there is no swap" in finding.summary


@pytest.mark.parametrize(
    ("memory", "swap", "cpu", "told"),
    [
        (PINNED, FULL, (33, 22), ("critical", "medium")),
        (PINNED, FULL, (5, 1), None),  # idle pages fill swap, or the ARC of ZFS takes memory
        (PINNED, FULL, (5, 60), None),
        (PINNED, ROOMY, (33, 22), None),
        ((GB, 20 * GB, 7 * GB), FULL, (33, 22), None),
        ((GB, 20 * GB, GB // 4), FULL, (5, 1), ("notice", "medium")),
        ((GB, 20 * GB, 0), FULL, (33, 22), ("critical", "medium")),
    ],
)
def test_cache_that_cannot_be_dropped_is_no_room(report_of, memory, swap, cpu, told):
    report = report_of(capture([memory, (*CALM, 40 * GB)], [swap] * 2, cpu=[cpu, (1, 1)]), rules=[RULE])
    finding = only(report)
    assert (finding and (finding.severity, finding.confidence)) == told
    if told:
        assert "GB are available and swap is full, in 1 of 2 samples" in finding.summary
        assert " kB available; " in finding.evidence[0].text


def test_an_estimate_that_is_0_in_all_samples_is_none(report_of):
    """Kernels before 3.14 have none: what is free or page cache stands for it."""
    cached = capture([(GB, 20 * GB, 0)] * 2, [FULL] * 2, cpu=[(33, 22)] * 2)
    assert only(report_of(cached, rules=[RULE])) is None
    finding = only(report_of(capture([(*GONE, 0)] * 2, [FULL] * 2, load=[1, 210]), rules=[RULE]))
    assert "free or page cache and swap is full" in finding.summary
    assert "available" not in finding.evidence[0].text


def test_an_estimate_that_is_0_in_a_whole_run_is_none_whatever_a_later_kernel_prints(report_of):
    old = capture([(GB, 20 * GB, 0)] * 3, [FULL] * 3)
    new = capture([(GB, 40 * GB, 22 * GB)] * 3, [ROOMY] * 3).replace("6.1.0", "6.2.0")
    assert only(report_of(old + "\n" + new, rules=[RULE])) is None


def test_the_memory_of_the_host_includes_the_cache_that_is_not_counted_as_used(report_of):
    used, cached = 42 * GB, 20 * GB
    text = capture([PINNED], [FULL], cpu=[(33, 22)]).replace(
        f"{63 * GB} 99.00", f"{used} {100 * used / (64 * GB):.2f}"
    )
    assert str(cached) in text
    assert "of 64.0 GB are available" in only(report_of(text, rules=[RULE])).summary


def top(used, free):
    screen = (
        "top - 10:00:0{} up 3 days,  1:01,  2 users,  load average: 61.20, 48.10, 20.00\n"
        "%Cpu(s):  2.2 us, 71.2 sy,  0.0 ni,  4.5 id, 22.0 wa,  0.0 hi,  0.1 si,  0.0 st\n"
        "KiB Mem : 65966492 total,   138232 free, 65765952 used,    62308 buff/cache\n"
        f"KiB Swap: {used + free} total, {free:8} free, {used:8} used.     2329 avail Mem \n\n"
    )
    return "".join(screen.format(second) for second in (1, 4, 7))


@pytest.mark.parametrize(
    ("used", "free", "said"),
    [(33030140, 0, "swap is full"), (0, 0, "there is no swap"), (16515070, 16515070, None)],
)
def test_the_share_of_swap_is_known_where_used_and_free_are(report_of, used, free, said):
    finding = only(report_of(top(used, free), rules=[RULE]))
    assert (said in finding.summary if finding else None) == (True if said else None)
    if said == "swap is full":
        assert "100.00 % of swap" in finding.evidence[0].text


def test_used_memory_without_a_share_does_not_say_how_much_there_is(report_of):
    text = capture([GONE] * 2, [FULL] * 2, load=[1, 210]).replace("%memused ", "").replace(" 99.00 ", " ")
    assert "MB are free or page cache and swap is full" in only(report_of(text, rules=[RULE])).summary
