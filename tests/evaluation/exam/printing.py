"""A captured scene as the text that somebody posts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from evaluation.exam.scene import Sample, Scene
from writers import iostat_writer, sar_writer, vmstat_writer
from writers.capture_writer import Row, cells_of

CPU = ("%user", "%nice", "%system", "%iowait", "%steal", "%idle")
SCALES: Mapping[str, float] = {"sec": 2.0, "kB": 1.0, "MB": 1 / 1024}
SAR: Mapping[str, tuple[str, ...]] = {
    "sar 9": ("tps", "rd_sec/s", "wr_sec/s", "avgrq-sz", "avgqu-sz", "await", "svctm", "%util"),
    "sar 11": ("tps", "rkB/s", "wkB/s", "areq-sz", "aqu-sz", "await", "svctm", "%util"),
    "sar 12": ("tps", "rkB/s", "wkB/s", "dkB/s", "areq-sz", "aqu-sz", "await", "%util"),
}
KERNELS = {True: "5.15.0-91-generic", False: "3.10.0-1160.el7.x86_64"}


def text(scene: Scene, samples: Sequence[Sample]) -> str:
    """Everything that is posted of a scene, in one text."""
    how = scene.printing
    parts = [*_topology(scene)]
    if how.has_vmstat:
        parts.append(f"$ vmstat {scene.step} {len(samples) + 1}\n" + _vmstat(scene, samples))
    if how.has_paging:
        parts.append(_paging(scene, samples))
    if how.has_disks:
        parts.append(_sar(scene, samples) if how.layout in SAR else _iostat(scene, samples))
    whole = "\n".join([*parts, *(made(samples) for made in scene.beside)])
    if how.is_quoted:
        whole = "".join(f"> {line}\n" for line in whole.splitlines())
    return whole


def _banner(scene: Scene) -> str:
    kernel = scene.printing.kernel or KERNELS[scene.is_modern]
    return f"Linux {kernel} (db7) \t11/20/2026 \t_x86_64_\t({scene.cpus} CPU)"


def _clock(scene: Scene, number: int) -> str:
    return sar_writer.clock(scene.start + number * scene.step, is_american=True)


def _iostat(scene: Scene, samples: Sequence[Sample]) -> str:
    how = scene.printing
    shown = [name for name in scene.devices if name not in scene.hidden]
    reports = [_history(scene, samples[0]), *samples] if how.has_first else list(samples)
    if how.is_since_boot_only:
        reports = reports[:1]
    heads, tables = [], []
    for number, sample in enumerate(reports):
        day = 20 + (scene.start + number * scene.step) // 86400
        lines = [f"11/{day}/2026 {_clock(scene, number)}"] if how.has_clock else []
        if how.has_cpu:
            lines.append("avg-cpu:  " + " ".join(f"{word:>7}" for word in CPU))
            lines.append("          " + " ".join(f"{sample.cpu[word]:7.2f}" for word in CPU) + "\n")
        heads.append("\n".join(lines))
        tables.append([(name, _cells(sample.rows[name], how.unit, scene.step)) for name in shown])
    device = "Device" if how.layout in ("X4", "X5", "X6") else "Device:"
    shape = iostat_writer.Shape(iostat_writer.words(how.layout, how.unit), device)
    clocks = heads if any(heads) else ()
    # a lone report below a banner is the one since boot
    has_banner = how.has_banner and (len(tables) > 1 or how.is_since_boot_only)
    return iostat_writer.write(tables, shape, clocks, _banner(scene) if has_banner else "")[0]


def _cells(row: Row, unit: str, step: float) -> dict[str, float]:
    """Every word of every layout with its number; what was moved in all is printed by plain reports."""
    cells = {name.replace("{U}", unit): value for name, value in cells_of(row, SCALES[unit]).items()}
    block = iostat_writer.BLOCK[unit]
    read, written = row.read_kb * SCALES[unit], row.write_kb * SCALES[unit]
    cells |= {"tps": row.reads + row.writes, f"{block}_read/s": read, f"{block}_wrtn/s": written}
    return cells | {f"{block}_read": read * step, f"{block}_wrtn": written * step}


def _history(scene: Scene, now: Sample) -> Sample:
    """Averages since boot: a host that mostly had a share of today's load, with shorter queues."""
    share = scene.rng.uniform(0.02, 0.2)
    rows = {name: _calmer(row, share, scene.rng) for name, row in now.rows.items()}
    cpu = {word: value * share for word, value in now.cpu.items()}
    return Sample(rows, cpu | {"%idle": 100 - sum(cpu.values()) + cpu["%idle"]}, 0, 0, Row())


def _calmer(row: Row, share: float, rng: Random) -> Row:
    faster, larger = rng.uniform(0.1, 0.6), rng.uniform(0.8, 1.5)
    rates = ("reads", "writes", "read_merges", "write_merges", "flushes", "util")
    values = {name: getattr(row, name) * share for name in rates}
    sizes = {name: getattr(row, name) * share * larger for name in ("read_kb", "write_kb")}
    times = {name: getattr(row, name) * faster for name in ("read_ms", "write_ms", "flush_ms")}
    return replace(row, **values, **sizes, **times, depth=row.in_flight * share * faster)


def _sar(scene: Scene, samples: Sequence[Sample]) -> str:
    how = scene.printing
    shown = [name for name in scene.devices if name not in scene.hidden]
    disks = []
    for number, sample in enumerate(samples, 1):
        for name in shown:
            cells = _cells(sample.rows[name], "kB", scene.step)
            cells |= {"areq-sz": cells["avgrq-sz"] / 2, "dkB/s": 0.0}
            cells |= {"rd_sec/s": cells["rsec/s"], "wr_sec/s": cells["wsec/s"]}
            disks.append((_clock(scene, number), name, tuple(cells[word] for word in SAR[how.layout])))
    sections = [sar_writer.Section(SAR[how.layout], tuple(disks), key="DEV")]
    if how.has_cpu:
        rows = ((_clock(scene, n), "all", tuple(s.cpu[w] for w in CPU)) for n, s in enumerate(samples, 1))
        sections.insert(0, sar_writer.Section(CPU, tuple(rows), key="CPU"))
    return sar_writer.write(sections, _clock(scene, 0), _banner(scene))[0]


def _leaf_kb(scene: Scene, sample: Sample) -> tuple[float, float]:
    rows = [sample.rows[name] for name in scene.leaves()]
    return sum(row.read_kb for row in rows), sum(row.write_kb for row in rows)


def _vmstat(scene: Scene, samples: Sequence[Sample]) -> str:
    memory, rng = scene.memory, scene.rng
    rows = []
    for number, sample in enumerate([samples[0], *samples]):
        share = 0.08 if number == 0 else 1.0  # rates of the first row are averages since boot
        read, written = (value * share for value in _leaf_kb(scene, sample))
        turned = share * (800 + sum(row.reads + row.writes for row in sample.rows.values()))
        counted = (
            sample.swap.read_kb * share,
            sample.swap.write_kb * share,
            read,
            written,
            turned,
            2.2 * turned,
        )
        cpu = [round(share * sample.cpu[word]) for word in ("%user", "%system", "%iowait", "%steal")]
        grown = memory.swapped + (sample.swap.write_kb - sample.swap.read_kb) * scene.step * number
        cache = memory.cache * rng.uniform(0.97, 1.03) if scene.cached is None else scene.cached(number)
        kept = (max(0.0, grown), memory.free * rng.uniform(0.9, 1.1), memory.buffers, cache)
        cells = (sample.runnable, sample.blocked, *kept, *counted)
        times = (cpu[0], cpu[1], max(0, 100 - sum(cpu)), cpu[2], cpu[3])
        rows.append([*(round(cell) for cell in cells), *times])
    return vmstat_writer.write(rows, vmstat_writer.WORDS["3.0"].split())[0]


def _paging(scene: Scene, samples: Sequence[Sample]) -> str:
    """`sar -B`: what is paged in is scanned for and freed again."""
    words = (
        "pgpgin/s",
        "pgpgout/s",
        "fault/s",
        "majflt/s",
        "pgfree/s",
        "pgscank/s",
        "pgscand/s",
        "pgsteal/s",
        "%vmeff",
    )
    rows = []
    for number, sample in enumerate(samples, 1):
        read, written = _leaf_kb(scene, sample)
        reads = sum(sample.rows[name].reads for name in scene.leaves())
        major = reads * scene.memory.major_faults_per_io
        freed = read / 4 * scene.rng.uniform(0.9, 1.1) if major else 0.0
        scanned = freed * scene.rng.uniform(1.0, 1.6)
        faults = major + scene.rng.uniform(200, 900)
        cells = (
            read,
            written,
            faults,
            major,
            freed + faults,
            scanned,
            0.0,
            freed,
            100 * freed / scanned if scanned else 0,
        )
        rows.append((_clock(scene, number), "", cells))
    return sar_writer.write([sar_writer.Section(words, tuple(rows))], _clock(scene, 0), _banner(scene))[0]


def _topology(scene: Scene) -> Iterator[str]:
    arrays = {name: layer for name, layer in scene.layers.items() if layer.kind.startswith("raid")}
    if scene.printing.has_mdstat and arrays:
        lines = ["$ cat /proc/mdstat", "Personalities : [raid1] [raid6] [raid5] [raid4] [raid0] [raid10]"]
        for name, layer in arrays.items():
            members = " ".join(f"{member}[{number}]" for number, member in enumerate(layer.members))
            count = len(layer.members)
            state = "" if layer.kind == "raid0" else f" [{count}/{count}] [{'U' * count}]"
            lines += [
                f"{name} : active {layer.kind} {members}",
                f"      976630464 blocks super 1.2{state}",
                "",
            ]
        yield "\n".join([*lines, "unused devices: <none>", ""])
    if scene.printing.has_lsblk:
        lines = ["$ lsblk -o NAME,KNAME,ROTA,SIZE,TYPE", f"{'NAME':<12} KNAME   ROTA   SIZE TYPE"]
        for name in scene.leaves():
            spins = int(scene.spins[name])
            lines.append(f"{name:<12} {name:<8} {spins:>3} 931.5G disk")
            for above, layer in scene.layers.items():
                if name in layer.members:
                    lines.append(f"{'└─' + above:<12} {above:<8} {spins:>3} 931.4G {layer.kind}")
        yield "\n".join([*lines, ""])
