from __future__ import annotations

import pytest

RULE = "page-cache-thrash"
BANNER = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
HEADER = "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff"


def capture(rows, swapping=None):
    clocks = [f"13:00:{2 * n + 2:02}" for n in range(len(rows))]
    text = f"{BANNER}\n13:00:00 {HEADER}\n"
    text += "".join(f"{clock} {row}\n" for clock, row in zip(clocks, rows, strict=True))
    if swapping:
        text += "\n13:00:00 pswpin/s pswpout/s\n" + "".join(f"{clock} {swapping}\n" for clock in clocks)
    return text


def row(read=6000, faults=3200, major=1400, direct=30, stolen=1500):
    return f"{read}.00 0.00 {faults}.00 {major}.00 2000.00 1500.00 {direct}.00 {stolen}.00 99.00"


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


@pytest.mark.parametrize(("count", "sure"), [(1, "medium"), (2, "medium"), (3, "high")])
def test_pages_that_push_out_each_other_fire_from_one_sample(report_of, count, sure):
    finding = only(report_of(capture([row()] * count), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", sure)
    assert "1,400 page faults/s" in finding.summary


@pytest.mark.parametrize(
    ("rows", "swapping"),
    [
        ([row(read=200_000)], None),  # a sequential scan: 143 kB a fault
        ([row(stolen=100)], None),  # memory fills for the first time
        ([row(major=20, read=400)], None),
        ([row(read=1000, major=1400)], None),
        ([row()], "1200.00 1100.00"),  # swap is what is read
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_other_reads_are_none(report_of, rows, swapping, count):
    report = report_of(capture(rows * count, swapping), rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == ["clear" if count == 3 else "undetermined"]


def test_without_counts_of_reclaim_it_does_not_apply(report_of):
    text = f"{BANNER}\n13:00:00 pgpgin/s pgpgout/s fault/s majflt/s\n13:00:02 6000.00 0.00 3200.00 1400.00\n"
    text += "\n13:00:00 kbmemfree kbmemused %memused kbbuffers kbcached\n"
    text += "13:00:02 90000 900000 90.91 9000 400000\n"
    text += "\n13:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    text += "13:00:02 sda 40.00 6000.00 0.00 150.00 0.30 7.50 29.00\n"
    (outcome,) = report_of(text, rules=[RULE]).outcomes
    assert (outcome.status, outcome.missing) == ("not_applicable", ("paging.steal_per_s",))
    assert outcome.reason == "no column shows how many pages are reclaimed (pgsteal)"


def test_large_readaheads_leave_it_open(report_of):
    """Faults that wait for a megabyte each are those of a scan, or of little memory and a large readahead."""
    report = report_of(capture([row(read=700_000, major=640, stolen=180_000)] * 3), rules=[RULE])
    (outcome,) = report.outcomes
    assert outcome.status == "undetermined"
    assert "640 faults/s wait for 1,094 kB each" in outcome.reason


def beside(stream, others, rows):
    """The rows of paging, and beside them what a device streams and what two others read: (tps, kB/s)."""
    text = capture(rows) + "\n13:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    for n in range(len(rows)):
        for name, (tps, kb) in {"sdc": stream, "sda": others, "sdb": others}.items():
            text += (
                f"13:00:{2 * n + 2:02} {name} {tps}.00 {kb}.00 0.00 {kb / max(tps, 1):.2f} 1.00 9.00 80.00\n"
            )
    return text


PUSHED = row(read=712_000, major=640, stolen=180_000)


@pytest.mark.parametrize(
    ("stream", "others", "is_told"),
    [
        ((7000, 700_000), (330, 6000), True),
        ((35000, 700_000), (330, 6000), False),
        ((7000, 700_000), (40, 6000), False),
        ((7000, 700_000), (330, 900), False),
        ((3000, 300_000), (330, 206_000), False),
    ],
    ids=["pushed out", "small requests", "fewer than faults", "read from nowhere", "a scan of all"],
)
def test_a_stream_that_pushes_out_what_other_disks_read_again_is_named(report_of, stream, others, is_told):
    finding = only(report_of(beside(stream, others, [PUSHED] * 3), rules=[RULE]))
    assert (finding is not None) == is_told
    if is_told:
        assert (finding.severity, finding.confidence) == ("warning", "medium")
        assert set(finding.devices) == {"sda", "sdb"}
        assert finding.summary.startswith("Memory is given to a stream: 640 page faults/s")
        assert "a reader of sdc, which takes 700000 kB/s" in finding.summary.replace(",000 kB/s", "000 kB/s")
        assert finding.confirm[0] == "pidstat -d 1"


def test_a_stream_of_other_samples_has_no_part_in_it(report_of):
    rows = [row(read=700_000, major=2, stolen=180_000)] * 2 + [row()] * 3
    text = beside((7000, 690_000), (2, 20), rows)
    quiet = "\n".join(
        line.replace("690000", "0").replace("7000.00", "0.00")
        if " sdc " in line and line >= "13:00:06"
        else line
        for line in text.splitlines()
    )
    finding = only(report_of(quiet, rules=[RULE]))
    assert finding.summary.startswith("Memory is short: 1,400 page faults/s")
    assert "a reader of" not in finding.summary


def memory(cached, free, start=0):
    """What sar -r shows from a second of the same hour on: kB of page cache, and the kB that are free."""
    clocks = [f"13:{start // 60:02}:{start % 60 + 2 * n + 2:02}" for n in range(len(cached))]
    text = f"\n13:{start // 60:02}:{start % 60:02} kbmemfree kbmemused %memused kbbuffers kbcached\n"
    return text + "".join(
        f"{clock} {free} {60_000_000 - free} 70.00 4000 {kb}\n"
        for clock, kb in zip(clocks, cached, strict=True)
    )


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (
            memory([120_000] * 3, 20_000_000),
            "19.1 GB of memory are free and the page cache holds 117 MB meanwhile",
        ),
        (memory([120_000] * 3, 900_000), None),  # memory is used
        (memory([19_000_000] * 3, 20_000_000), None),  # the cache has its share
        (
            memory([19_000_000] + [120_000] * 3, 20_000_000, 1800),
            "holds 117 MB, of 18.1 GB before, in 3 samples of another time",
        ),
        (memory([120_000] * 2, 20_000_000, 1800), None),  # a moment of another time
    ],
    ids=["free meanwhile", "used", "cache", "free at another time", "a moment"],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_neither_a_stream_nor_a_shortage_empties_the_cache_while_memory_is_free(
    report_of, shown, told, is_stream
):
    text = beside((7600, 700_000), (310, 7000), [PUSHED] * 3) if is_stream else capture([row()] * 3)
    finding = only(report_of(text + shown, rules=[RULE]))
    claims = "Memory is given to a stream" if is_stream else "Memory is short"
    assert finding.summary.startswith(claims) is (told is None)
    if told:
        assert f"{told}: something empties the page cache or bounds it" in finding.summary
        assert "drop_caches" in finding.remedy[0]
        assert ("beside 700,000 kB/s" in finding.summary) is is_stream
        assert finding.confidence == "medium"


def test_the_disk_that_reads_most_is_the_first_of_those_that_read_again(report_of):
    text = beside((7600, 700_000), (310, 7000), [PUSHED] * 3)
    text = "\n".join(
        line.replace("7000.00", "9000.00") if " sdb " in line else line for line in text.split("\n")
    )
    assert only(report_of(text, rules=[RULE])).devices == ("sdb", "sda")


FREED = """\
Mem: 241420K used, 14336K free, 1448K shrd, 116K buff, {cached}K cached
CPU:   1% usr  15% sys   0% nic  {idle}% idle  {iowait}% io   0% irq   0% sirq

Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)

13:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
13:00:02        0        31    0.00   61.35    0.00    0.00   61.35     0  {busiest}
13:00:02        0       469    0.00    9.20    0.00    0.00    9.20     0  app

Device            r/s     rkB/s   r_await     w/s     wkB/s  w_await  aqu-sz  %util
mmcblk0       1200.00  46000.00   24.00   {writes:.2f}   {writes:.2f}    2.00   29.00  100.00
"""


def test_a_cache_that_the_kernel_empties_while_all_wait_for_reads_is_told_without_counts_of_faults(report_of):
    text = FREED.format(cached=1136, idle=0, iowait=84, busiest="kswapd0", writes=1)
    report = report_of(text)
    finding = report.findings[0]
    assert (finding.rule, finding.severity, finding.devices) == (RULE, "critical", ("mmcblk0",))
    assert "1,136 kB of page cache" in report.headline
    full = next(f for f in report.findings if f.rule == "true-saturation")
    assert full.explained_by == RULE


@pytest.mark.parametrize(
    "change",
    [{"cached": 90136}, {"idle": 60, "iowait": 24}, {"busiest": "java"}, {"writes": 900}],
    ids=["a cache", "idle CPUs", "another process", "writes"],
)
def test_each_of_its_witnesses_is_needed(report_of, change):
    text = FREED.format(
        **{"cached": 1136, "idle": 0, "iowait": 84, "busiest": "kswapd0", "writes": 1} | change
    )
    report = report_of(text, rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]
