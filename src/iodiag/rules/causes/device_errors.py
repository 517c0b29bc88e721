"""The kernel's log names errors of a device.

What it detects: lines of the kernel's log (dmesg, journalctl -k, messages) on a device: a medium error, an
I/O error, a command that timed out, a reset, a link that went down or became slower, a path that was lost, a
member that left its array, an error that the cache in front of it (bcache) cannot recover from, an error of a
file system, a file server that did not respond. Where one falls
into a stretch in which the device, or one above or below it, completed nothing or took several times its
usual latency, give or take one sample, it is the cause of that stretch. Tasks that the kernel found hung are
told by themselves.

Why it matters: while a command times out (30 s by default) and the device is reset, everything that needs it
waits. A disk with medium errors loses data next.

When it is wrong: a log without a wall clock, one of another day, or of a zone that nothing states, says what
happened and not that it happened then: such lines are told as facts. Where a device is slow for much of the
capture, an event meets a slow sample by chance: then the confidence is medium. A latency that ended more
than a sample before the event has another cause. Errors of a drive without a medium (DVD, floppy) are left
out. A disk that was pulled on purpose logs the same.

References: Linux drivers/scsi/scsi_error.c and sd.c, drivers/ata/libata-eh.c, drivers/nvme/host/pci.c,
block/blk-core.c, drivers/md (dm-mpath.c, raid5.c, bcache), fs/ext4/super.c, fs/xfs/xfs_error.c.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.host.kernel_events import (
    are_elsewhen,
    kernel_events,
    line_count,
    of_kind,
    on_clock_of,
    sample_length,
)
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.quantiles import percentiles
from iodiag.analysis.measure.windows import windows
from iodiag.analysis.states.service_times import usual_ms
from iodiag.analysis.view.device_names import whole_of
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import EVENTS
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table, stacked

OF_DEVICES = {
    "media error": "medium errors",
    "unrecoverable": "unrecoverable I/O errors",
    "offline": "a device taken offline",
    "all paths down": "the loss of all paths",
    "file system down": "a file system made read-only or shut down",
    "md": "a failed array member",
    "file system": "file system errors",
    "I/O error": "I/O errors",
    "timeout": "timeouts",
    "reset": "resets",
    "path down": "a lost path",
    "link down": "a lost link",
    "link speed": "a slower link",
    "server down": "unanswered requests",
}
"""Kinds of events that are trouble of a device, the gravest first, and what the log is said to have."""

LOSING = ("media error", "unrecoverable", "offline", "md", "file system", "file system down")
"""Kinds after which data is lost or the next failure loses it, however long ago they were."""

_LEAST_FOR_MEDIAN = 4
_ADDRESS = re.compile(r"\d+:\d+:\d+:\d+|(?:ata|host)\d+|")


@dataclass(frozen=True)
class Trouble:
    """The events of some devices that the log names in the same lines; `names` "" where it names none."""

    names: tuple[str, ...]
    rows: Table = field(repr=False)

    @property
    def kinds(self) -> list[str]:
        """Their kinds, the gravest first."""
        present = set(self.rows["kind"])
        return [kind for kind in OF_DEVICES if kind in present]

    @property
    def named(self) -> tuple[str, ...]:
        """The devices; what is named by the address of an adapter or port may be any disk of the host."""
        return tuple(name for name in self.names if not _ADDRESS.fullmatch(name))

    @property
    def label(self) -> str:
        """What to call them in a sentence."""
        named = [name for name in self.names if name]
        return ", ".join(named[:4]) + (", …" if len(named) > 4 else "") or "an adapter"


@dataclass(frozen=True)
class Stretch:
    """Samples of a device that stood still or was slow, one after the other, and events within a sample."""

    series: DeviceSeries = field(repr=False)
    rows: Table = field(repr=False)
    events: Table = field(repr=False)
    share: float
    calm_ms: float

    @property
    def still_s(self) -> float:
        """For how many seconds nothing completed."""
        return float(np.count_nonzero(stalled(self.rows))) * sample_length(self.series.samples)

    @property
    def latency_ms(self) -> float:
        """The longest latency of a sample; 0 where none completed a request."""
        return weighted.or_zero(*percentiles(self.rows.floats("latency_ms"), 100))


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device, or group of them, that the log names."""
    logs, events = view.facts_of("kernel-log"), kernel_events(view)
    if events is None and not logs:
        reason = "no log of the kernel is here: dmesg -T, or journalctl -k -o short-iso, of the same time"
        yield RULE.not_applicable(reason, missing=(EVENTS,))
        return
    troubles = [] if events is None else list(_troubles(view, events))
    for trouble in troubles:
        is_sampled = "disk" not in view.average_only
        stretches = list(_stretches(view, trouble, limits)) if is_sampled else []
        yield _cause(trouble, stretches, limits) if stretches else _fact(view, trouble)
    if hung := _hung(view, events):
        yield hung
    elif not troubles:
        lines, known = (sum(log.number(name) for log in logs) for name in ("lines", "known"))
        text = "no line of the kernel's log names trouble of a device (lines read: {lines:.0f})"
        if not known:
            text = "none of the {lines:.0f} lines of the kernel's log says anything that is known of devices"
        said = say(text, {"lines": lines})
        yield RULE.clear(said) if known else RULE.undetermined(said)


def _troubles(view: View, events: Table) -> Iterator[Trouble]:
    """The events by device; devices that the same lines name, as those of an adapter, together."""
    events = events[np.asarray(events["kind"].isin([*OF_DEVICES, "path up", "server up"]))]
    places: dict[str, list[int]] = {}
    shown = {*events["device"], *view.topology.devices, *(series.name for series in view.devices)}
    for place, name in enumerate(events["device"]):
        places.setdefault(_disk(view, name, shown), []).append(place)
    sources, lines = list(events["source"]), events["line"].tolist()
    alike: dict[frozenset[tuple[str, int]], list[str]] = {}
    for name, own in places.items():
        alike.setdefault(frozenset((sources[n], lines[n]) for n in own), []).append(name)
    for names in alike.values():
        trouble = Trouble(tuple(names), events[np.array(places[names[0]])])
        if trouble.kinds:
            yield trouble


def _disk(view: View, name: str, shown: Collection[str]) -> str:
    """The device that a name in the log is of: a partition without samples is its disk, if `shown`."""
    known = view.topology.canonical(name)
    if view.series(known) is not None:
        return known
    return whole_of(name, shown) or known


def _stretches(view: View, trouble: Trouble, limits: Limits) -> Iterator[Stretch]:
    """Where the devices, or those above and below, were slow while something was logged of them."""
    near = list(view.devices)
    if trouble.named:
        names = [other for name in trouble.names for other in _stack(view, name)]
        near = [series for name in dict.fromkeys(names) if (series := view.series(name)) is not None]
    for series in near:
        samples, calm = series.samples, _calm_ms(series)
        seconds, length = on_clock_of(samples, trouble.rows), sample_length(samples)
        found = list(windows(samples, _is_slow(series, calm, limits)))
        share = sum(len(rows) + 2 for rows in found) / len(samples)
        for rows in found:
            # NaN where no clock tells
            first, last = percentiles(rows["time"].seconds(), 0, 100)
            is_near = (seconds >= first - 2 * length) & (seconds <= last + length)
            if is_near.any():
                yield Stretch(series, rows, trouble.rows[is_near], share, calm)


def _stack(view: View, name: str) -> list[str]:
    others = (*view.topology.above(name), *view.topology.below(name))
    return [name, *(device.name for device in others)]


def _calm_ms(series: DeviceSeries) -> float:
    """What its requests usually take; NaN where too few samples show it."""
    loaded = series.loaded.floats("latency_ms")
    (calm,) = percentiles(loaded[loaded > 0], 25)
    return calm if np.count_nonzero(loaded > 0) >= _LEAST_FOR_MEDIAN else math.nan


def _is_slow(series: DeviceSeries, calm: float, limits: Limits) -> Mask:
    """Samples in which a device completed nothing, or took several times its usual latency."""
    samples = series.samples
    sane = usual_ms(series, weighted.or_zero(weighted.ratio(samples, "kb_per_s", "ios_per_s")))
    least = limits.slower * sane if math.isnan(calm) else max(limits.slower * calm, sane)
    return np.asarray(stalled(samples) | (samples.floats("latency_ms") >= least))


def _cause(trouble: Trouble, stretches: Sequence[Stretch], limits: Limits) -> Finding:
    """The events as the cause of the stretches that they fall into."""
    worst = max(stretches, key=lambda one: (one.still_s, one.latency_ms))
    own = [one for one in stretches if one.series is worst.series]
    then = Trouble(trouble.names, stacked([one.events for one in own]))
    values: Values = {
        "device": worst.series.name,
        "count": len(own),
        **_said(then),
        "still": worst.still_s,
        "latency": worst.latency_ms,
        "calm": worst.calm_ms,
    }
    did = "completed nothing for {still:.0f} s" if worst.still_s else "took up to {latency:ms} per request"
    often = " ({count} such stretches)" if len(own) > 1 else ""
    slow = "up to {latency:ms} per request, where {calm:ms} is usual" if worst.latency_ms > 0 else did
    return RULE.finding(
        severity=_severity(then, is_other=False) if "file system down" in then.kinds else "warning",
        confidence="high" if trouble.named and worst.share <= limits.share / 100 else "medium",
        devices=tuple(
            dict.fromkeys((worst.series.name, *(s.series.name for s in stretches), *trouble.named))
        ),
        **time_fields(worst.rows),
        summary=say(
            "{device} " + did + " when the kernel logged {kinds} for {of} ({at})" + often + ".", values
        ),
        evidence=(
            _cited(then, "{lines} lines of the kernel's log on {of} then: {kinds}"),
            cite(worst.rows, slow, values, worst="latency_ms"),
        ),
        remedy=_remedies(then),
        confirm=tuple(_commands(trouble, then.kinds)),
        refutes=("a log of another host, or a clock of it that is off by more than a sample",),
        cannot_know=("whether the device, its cable, its slot or its adapter is at fault",),
    )


def _cited(trouble: Trouble, text: str) -> Evidence:
    """The events as evidence; of their lines those of the gravest kind are quoted."""
    ranks = {kind: float(len(OF_DEVICES) - place) for place, kind in enumerate(OF_DEVICES)}
    grave = np.array([ranks.get(kind, 0.0) for kind in trouble.rows["kind"]])
    return cite(trouble.rows.with_columns(grave=grave), text, _said(trouble), worst="grave")


def _fact(view: View, trouble: Trouble) -> Finding:
    """The events alone, where no latency of the samples goes with them."""
    samples, values = view.samples("disk"), _said(trouble)
    is_other = samples is not None and bool(are_elsewhen(samples, trouble.rows).all())
    if samples is None:
        then = ""
    elif is_other:
        then = ", not during the capture"
    elif np.isfinite(on_clock_of(samples, trouble.rows)).any():
        then = "; no latency of the capture goes with it"
    else:
        then = "; whether that was during the capture is not known, as the clocks cannot be compared"
    where = " ({at})" if values["at"] else ""
    return RULE.finding(
        severity=_severity(trouble, is_other=is_other),
        confidence="high" if trouble.named else "medium",
        devices=trouble.named,
        **time_fields(trouble.rows, of_host=True),
        summary=say("The kernel's log has {kinds} for {of}" + where + then + ".", values),
        evidence=(_cited(trouble, "{lines} lines on {of}: {kinds}"),),
        remedy=_remedies(trouble),
        confirm=tuple(_commands(trouble, trouble.kinds)),
        refutes=("a log of another host", "a disk that was pulled, or a link that was reset, on purpose"),
        cannot_know=("whether anybody waited for it", "what happened after the log's last line"),
    )


def _severity(trouble: Trouble, *, is_other: bool) -> Severity:
    paths = [kind for kind in trouble.rows["kind"] if kind.startswith(("path", "all paths", "server"))]
    if not is_other and ("file system down" in trouble.kinds or "all paths down" in paths[-1:]):
        # nothing is written there any more, until somebody acts
        return "critical"
    if set(trouble.kinds) & set(LOSING) or (paths and paths[-1].endswith("down") and not is_other):
        return "warning"
    return "info" if is_other else "notice"


def _said(trouble: Trouble) -> Values:
    """What sentences name of it: the devices, the gravest kinds as words, and the lines."""
    *others, last = [OF_DEVICES[kind] for kind in trouble.kinds[:4]]
    kinds = f"{', '.join(others)} and {last}" if others else last
    return {"of": trouble.label, "kinds": kinds, **_lines(trouble.rows)}


def _lines(rows: Table) -> Values:
    """How many lines of a log there are, and the times of the first and the last, else what they state."""
    first, last, boots = rows["time"].min(), rows["time"].max(), rows.floats("boot_s")
    values: Values = {"lines": line_count(rows)}
    if first is not None and last is not None:
        zone = " UTC" if first.tzinfo is not None else ""
        stamps = [f"{time:%Y-%m-%d %H:%M:%S}{zone}" for time in (first, last)]
    elif np.isfinite(boots).any():
        values |= {"after_boot": round(float(np.nanmin(boots))), "until": round(float(np.nanmax(boots)))}
        stamps = [f"{values[name]} s after boot" for name in ("after_boot", "until")]
    else:
        stamps = [stamp for stamp in rows["stamp"] if stamp] or [""]
    return values | {"at": stamps[0] + (f" to {stamps[-1]}" if stamps[-1] != stamps[0] else "")}


_WRITES_OUT = re.compile(r"^jbd2/([\w-]{1,64})-\d+$|^xfsaild/([\w-]{1,64})$|\bflush-(\d{1,4}:\d{1,7})$")
"""Tasks of the kernel that write out a journal, the metadata or cached pages of one file system."""

_AGAIN_S = 100.0
"""Seconds after which a task is told again that is still hung: the kernel looks every two minutes."""


def _written(view: View, matches: Sequence[re.Match[str]]) -> Iterator[str]:
    """The devices that such tasks write to, those that the capture knows."""
    shown = {*view.topology.devices, *(series.name for series in view.devices)}
    found = (match[match.lastindex or 0] for match in matches)
    names = ("dev" + name.replace(":", "-") if ":" in name else name for name in found)
    yield from (name for name in dict.fromkeys(_disk(view, one, shown) for one in names) if name in shown)


def _span(seconds: Floats) -> float:
    """How far apart the first and the last of some times are; 0 where none is known."""
    known = seconds[np.isfinite(seconds)]
    return float(np.ptp(known)) if len(known) else 0.0


def _hung(view: View, events: Table | None) -> Finding | None:
    """Tasks that the kernel found hung: those that wait for so long need not be many."""
    rows = of_kind(events, "hung task", view.samples("disk"))
    if not rows:
        return None
    names = [
        match[1] if (match := re.search(r"task (\S{1,64}):\d", text)) else "" for text in rows["message"]
    ]
    tasks = Counter(name for name in names if name)
    values: Values = {"tasks": ", ".join(name for name, _ in tasks.most_common(3)), **_lines(rows)}
    # without the names of things a log has no messages
    who = ": {tasks}" if tasks else ""
    often = "once" if values["lines"] == 1 else "{lines} times"
    writing = [_WRITES_OUT.search(name) for name in names]
    of_writing = rows[np.array([match is not None for match in writing])]
    is_lasting = max(_span(of_writing["time"].seconds()), _span(of_writing.floats("boot_s"))) >= _AGAIN_S
    devices = tuple(_written(view, [match for match in writing if match]))
    values["devices"] = ", ".join(devices)
    of = " on {devices}" if devices else ""
    stands = f" They write out a file system{of}: whoever waits for a write there stands still."
    return RULE.finding(
        severity="critical" if is_lasting else "warning",
        confidence="high",
        title="The kernel's log names hung tasks",
        devices=devices,
        **time_fields(rows, of_host=True),
        summary=say(
            "The kernel found tasks hung for minutes, " + often + who + " ({at})." + stands * any(writing),
            values,
        ),
        evidence=(cite(rows, "{lines} lines on hung tasks" + who, values),),
        remedy=("See what they wait in: cat /proc/PID/stack of the tasks in state D.",),
        confirm=("ps -eo state,pid,wchan:32,cmd | grep ^D", "dmesg -T | grep -A 20 'blocked for more than'"),
        cannot_know=() if devices else ("which device they waited for",),
    )


_REMEDIES = {
    "media error": "Save what is on it, read its SMART data (reallocated, pending and uncorrectable "
    "sectors), and replace it when they grow.",
    "unrecoverable": "Check its power, slot and cable, and leave the cache device in place: what a writeback "
    "cache holds for it is nowhere else.",
    "offline": "Check its power, slot and cable, then replace it; a rescan brings it back for a test alone.",
    "md": "Replace the member and let the array rebuild, after a look at its SMART data and cable.",
    "all paths down": "Bring a path back (adapter, cable, SFP, zoning, port of the storage); then check the "
    "file system, as writes were lost.",
    "file system down": "Repair the device or path below first; then unmount the file system, check it and "
    "mount it again: until then nothing is written to it.",
    "file system": "Repair the device below first; then check the backups, and the unmounted file system.",
    "link speed": "Replace or reseat the cable, or use another slot: the link became slower after errors.",
    "link down": "Reseat the cable or the drive, check its power, or use another slot or port.",
    "path down": "Look at the other side of the path: adapter, cable, SFP, zoning and port of the storage.",
    "timeout": "Look at cable, slot and power, then at the firmware of drive and adapter, and at SMART data.",
    "reset": "Look at cable, slot and power, then at the firmware of drive and adapter, and at SMART data.",
    "I/O error": "Look at cable, slot and power, and at SMART data; what asked got an error, not late data.",
    "server down": "Look at the load and the log of the file server, and at the network between.",
}


def _remedies(trouble: Trouble) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_REMEDIES[kind] for kind in trouble.kinds))


def _pattern(trouble: Trouble) -> str:
    """What finds its lines in the log: the devices, and how those lines begin that name none of them."""
    names = [name for name in trouble.names if re.fullmatch(r"[\w.-]+", name)]
    pattern = "|".join(names[:_MOST_NAMED]) or "ata|scsi|reset|timeout"
    others = (text for text in trouble.rows["message"] if not re.search(pattern, text))
    begins = dict.fromkeys(match[0] for text in others if (match := _SUBJECT.match(text)))
    return "|".join((pattern, *list(begins)[:_MOST_NAMED]))


_MOST_NAMED = 4
_SUBJECT = re.compile(r"[\w .:/-]{2,40}?(?=: )")
"""What a line of the kernel says it is about: `sd 2:0:0:0`, `ata3.00`, `nvme nvme0`."""


def _commands(trouble: Trouble, kinds: Sequence[str]) -> Iterator[str]:
    if "unrecoverable" in kinds:
        yield "grep . /sys/block/bcache*/bcache/state /sys/block/bcache*/bcache/dirty_data"
    yield f"dmesg -T | grep -E '{_pattern(trouble)}'"
    if set(kinds) != {"server down"}:
        yield from ("smartctl -x /dev/DEVICE", "nvme smart-log /dev/DEVICE")
    if "server down" in kinds:
        yield "nfsiostat 5 3"
    if {"path down", "all paths down"} & set(kinds):
        yield "multipath -ll"
    if "link speed" in kinds or "link down" in kinds:
        yield "grep . /sys/class/ata_link/link*/sata_spd"
    if {"file system", "file system down"} & set(kinds):
        rows = trouble.rows[np.asarray(trouble.rows["kind"].isin(["file system", "file system down"]))]
        if re.fullmatch(r"[\w-]+", rows["device"][0]):
            yield f"findmnt -o TARGET,FSTYPE,OPTIONS /dev/{rows['device'][0]}"


RULE = Rule(
    id="device-errors",
    explains=(
        *("symptom", "common-cause-stall", "hung-io", "slow-member", "latency-above-baseline"),
        *("backend-latency-shift", "path-imbalance", "layer-added-latency"),
    ),
    explains_samples=True,
    replaces=("util-false-alarm",),  # no more load for a device that fails, nor for one that is slow
    title="The kernel's log names errors of a device",
    why="While a command times out and a device is reset, everything that needs it waits.",
    remedy=tuple(dict.fromkeys(_REMEDIES.values())),
    needs=Needs(),
    thresholds={
        "slower": Threshold(
            5, "x", "latency over the usual one that is slow", "judgement: no queue of chance"
        ),
        "share": Threshold(
            50, "%", "of the samples slow, or next to such, up to which no chance", "judgement"
        ),
    },
    confirm=("dmesg -T", "smartctl -x /dev/DEVICE"),
    references=(
        "https://docs.kernel.org/scsi/scsi_eh.html",
        "https://docs.kernel.org/driver-api/libata.html",
    ),
    # the log tells, no sample does
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
