"""What a report says of each rule's finding, word for word, as a person read and passed it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import iodiag
from iodiag.model.report import Report, Verdict
from iodiag.report.first_screen import first_commands
from iodiag.rules import all_rules
from writers import archives, capture_writer, captures
from writers.loads import load, lsblk

SAMPLES = Path(__file__).parents[2] / "samples"
FLASH, SPINS = lsblk(("sda", False)), lsblk(("sda", True))


def of(rows: list[dict[str, float]]) -> str:
    return captures.iostat([{"sda": row} for row in rows])


def held(rate: float, depth: float, size: float = 4.0) -> dict[str, float]:
    """A queue of `depth` at a rate that something fixes."""
    return load(rate, 1000 * depth / rate, size=size, util=100)


def backlog() -> list[str]:
    rows = [load(100, 100, depth=10 + 4 * n) for n in range(20)]
    return [of(rows).replace("Linux 6.1.0", "Linux 2.6.32-431.el6")]


def lost_merges() -> list[str]:
    def writes(merged: float) -> dict[str, float]:
        return {
            "w/s": 2000 * (1 - merged),
            "wrqm/s": 2000 * merged,
            "%wrqm": 100 * merged,
            "wkB/s": 8000,
            "%util": 50,
        }

    return [of([writes(0.98)] * 20 + [writes(0.1)] * 20), SPINS]


def cut_stream() -> list[str]:
    queue = "/sys/block/sda/queue/max_sectors_kb:128\n/sys/block/sda/queue/max_hw_sectors_kb:4096\n"
    return [of([load(900, 4.4, size=127.2, util=99)] * 10), SPINS, queue]


def discards() -> list[str]:
    def reads(wait: float) -> dict[str, float]:
        return {"r/s": 200, "rkB/s": 1600, "r_await": wait, "aqu-sz": 0.3, "%util": 30}

    beside = {"d/s": 40, "dkB/s": 40960, "d_await": 20}
    noise = [0.9, 1.0, 1.1, 1.05, 0.95] * 4
    return [of([reads(1.5 * n) for n in noise] + [reads(9 * n) | beside for n in noise]), FLASH]


def micro_bursts() -> list[str]:
    shares = [0.1 + 0.08 * (n % 9) for n in range(27)]
    return [of([load(1000 * s, 20, size=4, util=100 * s) for s in shares]), FLASH]


def pinned_queue() -> list[str]:
    sysfs = "/sys/block/sda/queue/nr_requests:128\n/sys/block/sda/queue/rotational:0\n"
    return [of([load(900, 1, size=4)] * 10 + [load(2560, 50, size=4)] * 20), sysfs]


def small_windows() -> list[str]:
    sysfs = "/sys/block/sda/queue/read_ahead_kb:128\n/sys/block/sda/queue/rotational:0\n"
    return [of([load(500, 2, size=128)] * 20), sysfs]


def reset_disk() -> list[str]:
    """A disk that stands still until the kernel resets it, and the kernel's log of that minute."""
    calm = {"r/s": 100.0, "rkB/s": 800.0, "r_await": 5.0, "aqu-sz": 0.5, "%util": 40.0}
    late = {"r/s": 40.0, "rkB/s": 320.0, "r_await": 700.0, "aqu-sz": 28.0, "%util": 95.0}
    still = {"aqu-sz": 1.0, "%util": 100.0}
    rows = [calm] * 10 + [still] * 6 + [late] + [calm] * 10
    log = (
        "Nov 20 13:00:16 box kernel: sd 2:0:0:0: [sdb] tag#1 timing out command, waited 30s\n"
        "Nov 20 13:00:16 box kernel: sd 2:0:0:0: [sdb] tag#1 Sense Key : Medium Error [current]\n"
        "Nov 20 13:00:16 box kernel: blk_update_request: critical medium error, dev sdb, sector 1264871\n"
        "Nov 20 13:00:17 box kernel: sd 2:0:0:0: device reset: SUCCESS\n"
    )
    return [captures.iostat([{"sda": calm, "sdb": row} for row in rows]), log]


def hot_drive() -> list[str]:
    fast, slow = held(7200, 8, 128), held(3200, 8, 128)
    return [of([*[fast] * 4, *[slow] * 3] * 6), FLASH]


def stolen() -> list[str]:
    cpu = {"%user": 20.0, "%steal": 40.0, "%idle": 40.0}
    return [captures.iostat([{"sda": load(100, 2)}] * 20, cpu)]


def rising_queue() -> list[str]:
    return [of([held(3000 * (1 + 0.002 * ((n * 7) % 5 - 2)), 8 + 2 * n) for n in range(20)]), FLASH]


def waiting_process():
    return [
        "10:15:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
        "10:15:06     1000      4127      0.00    940.80      0.00     487  rsync\n"
    ]


def pressure() -> list[str]:
    clocks = [f"13:00:{second:02}" for second in range(2, 42, 2)]
    text = captures.banner() + "\n13:00:00 %sio-10 %sio-60 %sio-300 %sio %fio-10 %fio-60 %fio-300 %fio\n"
    text += "".join(f"{clock} 84.0 80.0 60.0 84.0 72.0 70.0 50.0 72.0\n" for clock in clocks)
    text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    return [text + "".join(f"{clock} 1 90 8.0 7.5 6.0 7\n" for clock in clocks)]


def slow_night() -> list[str]:
    disk = archives.disk(6, step=1200.0, slower=archives.between(98, 105, 5.0))
    return [capture_writer.iostat(archives.load_of(disk))]


def beside(rate: float, wait: float, size: float = 8.0) -> dict[str, float]:
    """Reads whose queue and use follow from Little's law."""
    depth = rate * wait / 1000
    util = min(100.0, 100 * depth)
    return {"r/s": rate, "rkB/s": rate * size, "r_await": wait, "aqu-sz": depth, "%util": util}


def encrypted() -> list[str]:
    tree = "NAME MAJ:MIN TYPE\nsda 8:0 disk\n`-vault 253:0 crypt\n"
    return [captures.iostat([{"dm-0": beside(200, 12.5), "sda": beside(200, 1.8)}] * 10), tree]


def full_path() -> list[str]:
    spells = [
        ((480, 16), (480, 16), (0, 0)),
        ((320, 25), (400, 20), (240, 16)),
        ((640, 12), (0, 0), (320, 12)),
    ]
    rows = [{f"sd{d}": beside(*load, 62.5) for d, load in zip("abc", spell, strict=True)} for spell in spells]
    return [captures.iostat(rows * 6)]


def sick_disk() -> list[str]:
    return [captures.iostat([{"sda": beside(25, 5600)}] * 3)]


def no_memory() -> list[str]:
    """Memory and swap used up while the kernel takes the CPUs."""
    rows = (
        ("kbmemfree kbmemused %memused kbbuffers kbcached", "91000 16686216 99.46 400 21000"),
        ("kbswpfree kbswpused %swpused kbswpcad %swpcad", "0 1048572 100.00 90 0.01"),
        ("runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15", "31 640 88.20 40.10 15.00"),
        ("CPU %user %nice %system %iowait %steal %idle", "all 1.10 0.00 71.30 1.60 0.00 26.00"),
    )
    lines = [f"\n13:00:00 {header}\n13:10:00 {row}\n13:20:00 {row}" for header, row in rows]
    return ["\n".join(["Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(8 CPU)", *lines, ""])]


def no_idle_time() -> list[str]:
    cpu = {"%user": 60.0, "%system": 39.0, "%idle": 1.0}
    return [captures.iostat([{"sda": load(20, 0.5)}] * 20, cpu)]


def one_full_cpu() -> list[str]:
    return [captures.iostat([{"nvme0n1": load(24000, 1.2)}] * 8), captures.mpstat([(1.0, 17.0, 80.0)] * 8)]


def sar(header: str, row: str) -> list[str]:
    clocks = [f"13:00:{second:02}" for second in range(2, 12, 2)]
    rows = "".join(f"{clock} {row}\n" for clock in clocks)
    return [f"{captures.banner()}\n13:00:00 {header}\n{rows}"]


def waits_for_memory() -> list[str]:
    shares = "%smem-10 %smem-60 %smem-300 %smem %fmem-10 %fmem-60 %fmem-300 %fmem"
    return sar(shares, "31.0 25.0 12.0 30.0 13.0 9.0 4.0 12.0")


def pages_read_again() -> list[str]:
    header = "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff"
    return sar(header, "6000.00 0.00 3200.00 1400.00 2000.00 1500.00 30.00 1500.00 98.04")


def stopped() -> list[str]:
    moves, still = {"bo": 300000, "us": 5}, {"b": 2, "us": 3}
    return [captures.vmstat([moves] * 6 + [still] * 6)]


def misaligned() -> list[str]:
    tree = (
        "NAME   TYPE ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA\n"
        "sda    disk         0   4096      0    4096     512    1\n"
        "`-sda1 part       512   4096      0    4096     512    1\n"
    )
    row = load(45, 60, size=4, reads=0.1, util=98)
    return [captures.iostat([{"sda1": row}] * 10), tree]


def nightly_backup() -> list[str]:
    return [
        capture_writer.iostat(
            archives.load_of(archives.disk(6, step=1200.0, demand=archives.nightly(2, 4, 9.0)))
        )
    ]


CAPTURES: dict[str, str | Callable[[], list[str]]] = {
    "approaching-saturation": "seeds/ssd-two-loads.txt",
    "backend-latency-shift": "cases/emptied-burst-bucket",
    "backlog-drift": backlog,
    "blocked-tasks": "cases/writeback-burst",
    "burst-bucket-empty": "cases/emptied-burst-bucket",
    "coalescing-loss": lost_merges,
    "common-cause-stall": "cases/stall-of-all-disks",
    "copy-on-write-penalty": "cases/snapshot-writes",
    "counter-anomaly": "cases/slow-member",
    "cpu-exhausted": no_idle_time,
    "device-errors": reset_disk,
    "device-health": "smartctl/ata-pending.txt",
    "discard-stall": discards,
    "extreme-latency": sick_disk,
    "filesystem-full": "mounts/df.txt",
    "first-report-since-boot": "cases/commit-stall",
    "first-touch-penalty": "cases/first-touch",
    "flush-latency": "cases/commit-stall",
    "fragmentation-sized-reads": "seeds/fragmented-table-scan.txt",
    "hung-io": "cases/hung-disk",
    "interval-too-long": "seeds/raid5-small-writes-sar.txt",
    "io-standstill": stopped,
    "iowait-misread": "seeds/fragmented-table-scan.txt",
    "latency-above-baseline": slow_night,
    "layer-added-latency": encrypted,
    "layer-iops-mismatch": "seeds/raid5-layers-iostat.txt",
    "low-concurrency-bound": "seeds/util-1-thread.txt",
    "memory-exhausted": no_memory,
    "memory-pressure": waits_for_memory,
    "micro-burst-throttle": micro_bursts,
    "misaligned-io": misaligned,
    "mixed-await": "cases/emptied-burst-bucket",
    "nfs-wait": "cases/slow-nfs",
    "one-cpu-bound": one_full_cpu,
    "page-cache-thrash": pages_read_again,
    "path-imbalance": "cases/slow-path",
    "process-waits": waiting_process,
    "psi-io-pressure": pressure,
    "queue-limit": pinned_queue,
    "queue-settings": cut_stream,
    "raid-degraded": "mdadm/raid5-degraded.txt",
    "raid-partial-stripe-write": "cases/raid5-small-writes",
    "raid-resync-load": "seeds/raid5-layers-iostat.txt",
    "readahead-bound": small_windows,
    "recurring-window": nightly_backup,
    "serialized-commit": "cases/commit-stall",
    "shared-ceiling": full_path,
    "slow-member": "cases/slow-member",
    "stack-double-count": "cases/raid5-small-writes",
    "steal-noisy-neighbour": stolen,
    "sustained-write-cliff": "cases/full-write-cache",
    "svctm-misread": "iostat/11.5.4-x.txt",
    "swap-thrash": "vmstat/4.0.2-swap-thrash.txt",
    "thermal-throttle": hot_drive,
    "thin-pool-exhaustion": "lvs/thin-pool.txt",
    "throttled-above-device": "cases/cgroup-limit",
    "true-saturation": "seeds/util-ladder.txt",
    "util-false-alarm": "cases/ssd-two-in-flight",
    "util-sampling-bias": "sar/9.0.4-io80-1170-i386-A.txt",
    "volume-cap": rising_queue,
    "write-cache-lost": "cases/lost-write-cache",
    "writeback-burst": "cases/writeback-burst",
}
"""Where each rule's finding is shown: a sample, or the texts of one that is written here."""


@cache
def analyzed(place: str | Callable[[], list[str]]) -> Report:
    if isinstance(place, str):
        found, problems = iodiag.read_many([SAMPLES / place])
        assert not problems
    else:
        found = [
            iodiag.read(io.BytesIO(text.encode()), name=f"capture-{number}.txt")
            for number, text in enumerate(place(), 1)
        ]
    return iodiag.analyze(found)


def test_every_rule_has_a_golden_finding():
    assert set(CAPTURES) == set(all_rules())


@pytest.mark.parametrize("rule", CAPTURES)
def test_a_finding_reads_as_it_was_passed(golden, monkeypatch, rule):
    monkeypatch.chdir(SAMPLES)
    report = analyzed(CAPTURES[rule])
    finding = next(found for found in report.findings if found.rule == rule)
    shown = replace(
        report,
        iodiag="0",
        generated="2026-01-02T03:04:05+00:00",
        headline="",
        verdict=Verdict("open", rule, finding.devices),
        states=(),
        devices=(),
        findings=(finding,),
        outcomes=(),
        thresholds={rule: report.thresholds[rule]},
    )
    text = shown.to_markdown(full=True).replace(f"{SAMPLES}/", "samples/")
    golden(f"findings/{rule}.md", text[text.index("### ") : text.index("\n## Clear")])


def test_the_first_command_answers_the_first_remedy_unless_it_needs_filling_in():
    of_device = ["blockdev --getra /dev/sda", "btrace -w 10 /dev/sda"]
    assert first_commands(["pidstat -d 1 10", *of_device], ["sda"]) == ("pidstat -d 1 10", of_device[0])
    alike = ["smartctl -x /dev/sda", "pidstat -d 1", "smartctl -x /dev/sdb"]
    assert first_commands(alike, ["sda"]) == ("smartctl -x /dev/sda", "pidstat -d 1", "smartctl -x /dev/sdb")
    assert first_commands(["kill -STOP PID", "iostat -xt 1 5", *of_device], ["sda"]) == tuple(of_device)
