"""A partition or volume does not begin on a boundary of what lies below it, and its small writes are slow.

What it detects: a partition, array or volume of which the capture states that it begins between two physical
sectors of its disk, or within a chunk (ALIGNMENT of lsblk -t, alignment_offset of sysfs, fdisk -l); and
whether its writes of 64 kB at the most take three times and more what its class of device usually takes.

The arithmetic: where a disk has sectors of 4 kB inside and the start misses them by 512 bytes, each block of
4 kB that a file system writes covers a part of two sectors. The disk reads both, changes them and writes both
back. On a disk that turns this is one more turn for each small write: 8 ms at 7,200 rpm, beside the 12 ms of
the seek and half a turn. A large write has two such ends among many whole sectors.

Why it matters: no counter shows it. The disk does it inside, and the host sees slow writes alone.

When it is wrong: a queue, a full disk or a missing write cache makes small writes slow as well. On flash,
whose pages are larger and mapped anyway, the start costs little: there it is a notice. USB bridges and RAID
controllers may state wrong sizes of sectors, or none. Reads of an array's members that nobody asked for are
measured by raid-partial-stripe-write.

References: Linux commit c72758f33784 on I/O topology; Documentation/ABI/stable/sysfs-block
(alignment_offset); lsblk(8), fdisk(8).
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.states.service_times import CALM, usual_ms
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.topology import MISALIGNED, Device


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per lowest device that begins off a boundary and has samples; aligned ones are clear."""
    stated = [device for device in view.topology if device.alignment is not None and _is_start(view, device)]
    if not stated:
        reason = "nothing says where partitions begin: lsblk -t would"
        yield RULE.not_applicable(reason, missing=("topology",))
    for device in stated:
        if not device.alignment:
            yield RULE.clear("it begins on a boundary of what lies below it", device.name)
        elif not any(below.alignment for below in view.topology.below(device.name)):
            series = _series(view, device)
            if series is None:
                reason = "it begins off a boundary, and no samples show what is written to it"
                yield RULE.undetermined(reason, device.name)
            else:
                yield _finding(device, series, _slow(series, limits))


def _is_start(view: View, device: Device) -> bool:
    """Whether data begins there: not on a disk whose partitions begin elsewhere."""
    return not any(parent.kind == "partition" for parent in view.topology.parents(device.name))


def _series(view: View, device: Device) -> DeviceSeries | None:
    """The samples of a device, of what stands on it, or of its disk where it is most of that."""
    for name in (device.name, *(above.name for above in view.topology.above(device.name))):
        if (series := view.series(name)) is not None:
            return series
    for disk in view.topology.members(device.name):
        if device.size_kb and disk.size_kb and 2 * device.size_kb > disk.size_kb:
            return view.series(disk.name)
    return None


def _slow(series: DeviceSeries, limits: Limits) -> State | None:
    """The longest state of many small writes that take much longer than its class of device usually does."""
    for state in states(series):
        size, wait = state.mean("write_size_kb"), state.mean("write_await_ms")
        count = state.requests * state.mean("writes_per_s") / state.ios if state.ios else 0.0
        if size <= limits.size and count >= limits.requests and wait >= CALM * usual_ms(series, size):
            return state
    return None


def _finding(device: Device, series: DeviceSeries, slow: State | None) -> Finding:
    values: Values = {
        "device": device.name,
        "series": series.name,
        "offset": device.alignment or 0.0,
        "stated": device.provenance.get("alignment", ""),
    }
    how = (
        "within a sector or chunk"
        if device.alignment == MISALIGNED
        else "{offset:.0f} bytes before the next boundary"
    )
    start = f"{{device}} begins {how} of what lies below it"
    evidence = [cite(None, start + ", by {stated}", values)]
    severity, then, fields = "info", ": a small write costs a read and another write inside the disk", {}
    if slow is not None:
        values |= {
            "size": slow.mean("write_size_kb"),
            "wait": slow.mean("write_await_ms"),
            "rate": slow.mean("writes_per_s"),
            "usual": usual_ms(series, slow.mean("write_size_kb")),
        }
        then = ", and its writes of {size} kB take {wait:ms}"
        text = "{series}: {rate} writes/s of {size} kB take {wait:ms}, where {usual:ms} is usual at most"
        evidence.append(cite(slow.rows, text, values, worst="write_await_ms"))
        severity = "notice"
        if series.rotational:
            # a turn for each: only there it is the likely cause of what else is seen at that time
            severity, fields = "warning", time_fields(slow.rows)
    return RULE.finding(
        severity=severity,
        confidence="high" if slow is None else "medium",
        devices=(device.name,),
        summary=say(start + then + ".", values),
        evidence=tuple(evidence),
        refutes=("writes as slow to a partition of the same disk that begins on a boundary",),
        cannot_know=("what the disk reads and writes inside for each of its writes",),
        **fields,
    )


RULE = Rule(
    id="misaligned-io",
    explains=("true-saturation", "approaching-saturation", "extreme-latency"),
    explains_samples=True,
    title="A partition begins between two physical sectors",
    why="Each small write makes the disk read, change and write back two sectors.",
    remedy=(
        "Back it up and create it again on a boundary of 1 MiB (parted -a optimal: mkpart ... 1MiB 100%); no "
        "setting moves its start.",
    ),
    needs=Needs(),
    thresholds={
        "size": Threshold(64, "kB", "of a small write", "two partial sectors of sixteen or fewer"),
        "requests": Threshold(50, "writes", "counted", "a mean of 50 is known to 14 %"),
    },
    confirm=("lsblk -t", "cat /sys/class/block/DEVICE/alignment_offset"),
    references=(
        "https://git.kernel.org/torvalds/c/c72758f33784e5e2a1a4bb9421ef3e6de8f9fcf3",
        "https://man7.org/linux/man-pages/man8/lsblk.8.html",
    ),
    # the topology tells, no sample does
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
