"""Small captures as iostat, sar and vmstat print them, for tests of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Numbers = Mapping[str, float]

_IOSTAT = (
    *("r/s", "rkB/s", "rrqm/s", "%rrqm", "r_await", "rareq-sz"),
    *("w/s", "wkB/s", "wrqm/s", "%wrqm", "w_await", "wareq-sz"),
    *("d/s", "dkB/s", "drqm/s", "%drqm", "d_await", "dareq-sz"),
    *("f/s", "f_await", "aqu-sz", "%util"),
)
_CPU = ("%user", "%nice", "%system", "%iowait", "%steal", "%idle")
_VMSTAT = ("r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs")
_VMSTAT_CPU = ("us", "sy", "id", "wa", "st")


def banner(cpus: int = 2, kernel: str = "6.1.0", host: str = "box") -> str:
    return f"Linux {kernel} ({host}) \t11/20/26 \t_x86_64_\t({cpus} CPU)\n\n"


def clock(second: int) -> str:
    return f"13:{second // 60 % 60:02}:{second % 60:02}"


def iostat(
    samples: Sequence[Mapping[str, Numbers]], cpu: Numbers | None = None, step: int = 1, cpus: int = 2
) -> str:
    """`iostat -x -t` of sysstat 12.6; each sample maps devices to columns, what is absent is 0.

    A first report since boot goes before the samples, as the tool prints one.
    """
    parts = [banner(cpus)]
    for number, sample in enumerate([{device: {} for device in samples[0]}, *samples]):
        parts.append(f"11/20/26 {clock(number * step)}\n")
        if cpu is not None:
            parts.append(_table("avg-cpu:", _CPU, {"": {"%idle": 100.0} if number == 0 else cpu}))
        seen = {device: {"r/s": 0.5, "rkB/s": 9.5} if number == 0 else row for device, row in sample.items()}
        parts.append(_table("Device", _IOSTAT, {device: _sized(row) for device, row in seen.items()}))
    return "".join(parts)


def sar_d(samples: Sequence[Mapping[str, Numbers]], step: int = 2) -> str:
    """`sar -d -p` of sysstat 12.6: both directions counted together, no flushes."""
    names = ("tps", "rkB/s", "wkB/s", "dkB/s", "areq-sz", "aqu-sz", "await", "%util")
    parts = [banner(), f"{clock(0)}  " + " ".join(f"{name:>9}" for name in names) + " DEV\n"]
    for number, sample in enumerate(samples, 1):
        for device, row in sample.items():
            cells = " ".join(f"{row.get(name, 0.0):9.2f}" for name in names)
            parts.append(f"{clock(number * step)}  {cells} {device}\n")
    return "".join(parts)


def mpstat(samples: Sequence[tuple[float, float, float]], cpus: int = 4) -> str:
    """`mpstat -P ALL`: a sample is user, system and softirq of the last CPU; the others are idle."""
    parts = [banner(cpus)]
    for number, last in enumerate(samples, 1):
        parts.append(
            f"{clock(number - 1)} CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
        )
        each = {
            "all": tuple(share / cpus for share in last),
            **{str(n): (0.0, 0.0, 0.0) for n in range(cpus)},
        }
        for name, (user, system, soft) in (each | {str(cpus - 1): last}).items():
            shares = (user, 0, system, 0, 0, soft, 0, 0, 0, 100 - user - system - soft)
            parts.append(f"{clock(number)} {name} " + " ".join(f"{share:.2f}" for share in shares) + "\n")
        parts.append("\n")
    return "".join(parts)


def vmstat(rows: Sequence[Numbers]) -> str:
    """`vmstat 1`, its first row since boot included; columns that are absent are 0, but id is the rest."""
    names = (*_VMSTAT, *_VMSTAT_CPU)
    lines = [
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----",
        " ".join(f"{name:>6}" for name in names),
    ]
    for number, row in enumerate([{"us": 7, "in": 900, "cs": 1000, "bi": 3, "bo": 5}, *rows]):
        busy = sum(row.get(name, 0) for name in ("us", "sy", "wa", "st"))
        full = {"in": 2000 + number, "cs": 20000 + number, "id": 100 - busy, "free": 9000, **row}
        lines.append(" ".join(f"{full.get(name, 0):6.0f}" for name in names))
    return "\n".join(lines) + "\n"


def _sized(row: Numbers) -> Numbers:
    sizes = {}
    for direction in "rwd":
        rate = row.get(f"{direction}/s", 0.0)
        sizes[f"{direction}areq-sz"] = row.get(f"{direction}kB/s", 0.0) / rate if rate else 0.0
    return {**sizes, **row}


def _table(head: str, names: Sequence[str], rows: Mapping[str, Numbers]) -> str:
    lines = [f"{head:<12}" + " ".join(f"{name:>8}" for name in names)]
    for key, row in rows.items():
        lines.append(f"{key:<12}" + " ".join(f"{row.get(name, 0.0):8.2f}" for name in names))
    return "\n".join(lines) + "\n\n"
