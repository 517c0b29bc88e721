"""What is posted beside the samples: listings, settings, logs, and tables of CPUs and of NFS mounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.exam import counters
from evaluation.exam.engine import Log
from evaluation.exam.scene import Sample, Scene
from evaluation.simulator import Floats, elapsed, merged
from writers import sar_writer
from writers.capture_writer import Row

SHARES = ("%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle")
NFS = "              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)"
HOST = "db7"


def mpstat(scene: Scene, samples: Sequence[Sample], full: Mapping[str, float]) -> str:
    """`mpstat -P ALL`: the last CPU has the shares `full`, and the others split what is left of the whole."""
    lines = [f"$ mpstat -P ALL {scene.step}"]
    for number, sample in enumerate(samples, 1):
        jitter = scene.rng.uniform(0.985, 1.0)
        last = {word: share * jitter for word, share in full.items()}
        done = {"%usr": last.get("%usr", 0.0), "%sys": last.get("%sys", 0.0) + last.get("%soft", 0.0)}
        whole = {"%usr": sample.cpu["%user"], "%sys": sample.cpu["%system"]}
        rest = {w: max(0.0, v * scene.cpus - done[w]) / (scene.cpus - 1) for w, v in whole.items()}
        free = 100 - sum(rest.values())
        rest["%iowait"] = min(free, sample.cpu["%iowait"] * scene.cpus / (scene.cpus - 1))
        each = {str(place): rest for place in range(scene.cpus - 1)} | {str(scene.cpus - 1): last}
        every = {
            word: sum(shares.get(word, 0.0) for shares in each.values()) / scene.cpus for word in SHARES[:-1]
        }
        begin, end = (
            sar_writer.clock(scene.first_second + place * scene.step) for place in (number - 1, number)
        )
        lines += ["", f"{begin}  CPU  {'  '.join(SHARES)}"]
        for name, shares in {"all": every, **each}.items():
            cells = [shares.get(word, 0.0) for word in SHARES[:-1]]
            cells.append(max(0.0, 100 - sum(cells)))
            lines.append(f"{end} {name:>4} " + " ".join(f"{cell:7.2f}" for cell in cells))
    return "\n".join([*lines, ""])


def alignment(disk: str, part: str, offset: int, spins: bool) -> str:
    """`lsblk -t` of a disk with one partition."""
    head = "NAME   TYPE ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA"
    sizes = f"  4096      0    4096     512    {int(spins)}"
    names = f"{disk:<8} disk         0 {sizes}", f"└─{part:<6} part {offset:>9} {sizes}"
    return "\n".join(["$ lsblk -o NAME,TYPE,ALIGNMENT,MIN-IO,OPT-IO,PHY-SEC,LOG-SEC,ROTA", head, *names, ""])


def queue(device: str, settings: Mapping[str, float]) -> str:
    """`grep . /sys/block/*/queue/*`, as far as it matters."""
    lines = [f"/sys/block/{device}/queue/{name}:{value:.0f}" for name, value in settings.items()]
    return "\n".join(["$ grep . /sys/block/*/queue/*", *lines, ""])


def df(rows: Sequence[tuple[str, str, int, int, str]]) -> str:
    """`df -T` of file systems: device, type, size and use in 1K blocks, and where each is mounted."""
    lines = ["$ df -T", "Filesystem Type 1K-blocks Used Available Use% Mounted on"]
    for name, kind, size, used, place in rows:
        lines.append(f"{name} {kind} {size} {used} {size - used} {-(-100 * used // size)}% {place}")
    return "\n".join([*lines, ""])


def lvs(data: float, metadata: float) -> str:
    """`lvs -a` of a thin pool and a volume that it holds."""
    return "\n".join(
        [
            "$ lvs",
            "  LV     VG  Attr       LSize   Pool   Origin Data%  Meta%  Move Log Cpy%Sync Convert",
            f"  pool0  vg0 twi-aotz-- 100.00g               {data:6.2f} {metadata:6.2f}",
            "  thin1  vg0 Vwi-aotz--  80.00g pool0         99.90",
            "",
        ]
    )


def smartctl(disk: str, counted: Mapping[int, int]) -> str:
    """`smartctl -a` of a disk that passes, with the raw values of some attributes."""
    names = {
        5: "Reallocated_Sector_Ct",
        197: "Current_Pending_Sector",
        198: "Offline_Uncorrectable",
        199: "UDMA_CRC_Error_Count",
    }
    lines = [
        f"# smartctl -a /dev/{disk}",
        "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)",
        "",
        "SMART overall-health self-assessment test result: PASSED",
        "",
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE",
    ]
    for number, raw in counted.items():
        what = (
            f"{number:3} {names[number]:<23} 0x0012   100   100   000    Old_age   Always       -       {raw}"
        )
        lines.append(what)
    return "\n".join([*lines, ""])


def mdstat(array: str, level: str, members: Sequence[str], gone: int) -> str:
    """/proc/mdstat of one array, the last members of which are gone."""
    legs = " ".join(f"{name}[{number}]" for number, name in enumerate(members))
    slots = len(members) + gone
    state = f"[{slots}/{len(members)}] [{'U' * len(members)}{'_' * gone}]"
    lines = ["$ cat /proc/mdstat", "Personalities : [raid1] [raid6] [raid5] [raid4] [raid10]"]
    lines += [f"{array} : active {level} {legs}", f"      976630464 blocks super 1.2 {state}", ""]
    return "\n".join([*lines, "unused devices: <none>", ""])


def memory(scene: Scene, samples: Sequence[Sample], room: float, swap: float) -> str:
    """`sar -r -S`: a share of the memory that is free or page cache, and the % of the swap used."""
    total, swap_kb = 32 * 1024 * 1024, 4 * 1024 * 1024
    held, left = [], []
    for number in range(1, len(samples) + 1):
        free, cache = (round(0.5 * room * total * scene.rng.uniform(0.9, 1.1)) for _ in range(2))
        clock = sar_writer.clock(scene.start + number * scene.step)
        used = total - free
        held.append((clock, "", (free, used, 100 * used / total, 500.0, cache, 1.2 * total // 1, 110.0)))
        gone = swap_kb * swap / 100
        left.append((clock, "", (swap_kb - gone, gone, swap, 0.0, 0.0)))
    of_memory = ("kbmemfree", "kbmemused", "%memused", "kbbuffers", "kbcached", "kbcommit", "%commit")
    of_swap = ("kbswpfree", "kbswpused", "%swpused", "kbswpcad", "%swpcad")
    sections = [sar_writer.Section(of_memory, tuple(held)), sar_writer.Section(of_swap, tuple(left))]
    return sar_writer.write(sections, sar_writer.clock(scene.start), "")[0]


def pressure(scene: Scene, samples: Sequence[Sample]) -> str:
    """`sar -q IO`: the share of each sample in which some task waits, and in which none of them runs."""
    words = ("%sio-10", "%sio-60", "%sio-300", "%sio", "%fio-10", "%fio-60", "%fio-300", "%fio")
    edges = scene.began + scene.window * np.arange(len(samples) + 1)
    begun, ended = np.array(scene.waiters.begun), np.array(scene.waiters.ended)
    order = np.argsort(begun, kind="stable")
    union = merged(begun[order], ended[order]) if len(order) else (begun, ended)
    waited = 100 * np.diff(elapsed(*union, edges)) / scene.window
    rows = []
    for number, (share, sample) in enumerate(zip(waited.tolist(), samples, strict=True), 1):
        # a CPU that is at work runs one of the tasks that could
        idle = 1 - (sample.cpu["%user"] + sample.cpu["%system"]) / 100
        some, full = min(100.0, share), min(100.0, share) * idle**scene.cpus
        clock = sar_writer.clock(scene.start + number * scene.step)
        rows.append((clock, "", (some,) * 4 + (full,) * 4))
    sections = [sar_writer.Section(words, tuple(rows))]
    return sar_writer.write(sections, sar_writer.clock(scene.start), "")[0]


def kernel_log(day: str, seconds: Sequence[float], lines: Sequence[str]) -> str:
    """The lines of a syslog, each at a second of a day."""
    clocks = (sar_writer.clock(int(second)) for second in seconds)
    told = [f"{day} {clock} {HOST} kernel: {line}" for clock, line in zip(clocks, lines, strict=True)]
    return "\n".join([*told, ""])


def nfsiostat(trips: Log, calls: Log, edges: Floats, step: float) -> str:
    """`nfsiostat` of one mount: round trips and whole calls; the first report is since the mount."""
    rows = [counters.rows(log, edges, step, None) for log in (trips, calls)]
    waiting = counters.mean_present(calls, edges) - counters.mean_present(trips, edges)
    mounted = "\nnas:/export mounted on /data:\n\n           ops/s       rpc bklog\n"
    text = ""
    for trip, call, backlog in zip(*rows, waiting, strict=True):
        for share in (0.1, 1.0) if not text else (1.0,):  # before all this the mount did little
            rate = share * (call.reads + call.writes)
            text += f"{mounted}   {rate:.3f}   {max(0.0, share * backlog):.3f}\n\n"
            text += _operation("read", trip, call, share) + _operation("write", trip, call, share)
    return text


def _operation(way: str, trip: Row, call: Row, share: float) -> str:
    rate, kb = share * getattr(call, f"{way}s"), share * getattr(call, f"{way}_kb")
    waits = (getattr(row, f"{way}_ms") for row in (trip, call))
    cells = (rate, kb, kb / rate if rate else 0.0, "0 (0.0%)", *waits)
    return f"{way}:{NFS}\n   " + "  ".join(c if isinstance(c, str) else f"{c:.3f}" for c in cells) + "\n"
