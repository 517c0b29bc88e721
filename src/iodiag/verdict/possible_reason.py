"""What the rows alone say of a device that holds requests back, where no finding names the cause."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.equal_rates import are_alike, disks_of, without_parts
from iodiag.analysis.array.quick_neighbours import quicker_neighbour
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.host.who_waits import does_nobody_wait, is_wait_unknown
from iodiag.analysis.load.plateaus import Plateau, likeness, max_over_min, of_rate
from iodiag.analysis.load.queueing import kept_up_ms, page_kb
from iodiag.analysis.load.rate_limits import QUANTITIES
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import (
    ADJACENT_KB,
    FASTER_THAN_SEEKS,
    RANDOM_KB,
    SERVICE,
    class_of,
    inferred_class,
    is_adjacent_stream,
    usual_ms,
)
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.device_traits import is_guest, is_optical, is_spread, is_virtual
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.units import KB_PER_MB
from iodiag.verdict.health import is_late_on_any_class
from iodiag.verdict.state_health import FULL_UTIL, USED_UTIL, waited
from iodiag.verdict.waiting_tasks import somebody_waits

LONG_S, MOSTLY = 60.0, 0.7
"""Samples of this length are means over bursts, unless the device was busy for most of them."""

NEVER_IDLE, LARGE_KB = 0.95, 256.0
"""Busy share of a device without idle time, and the size from which requests are a stream's."""

LEAST_SEEK_MS, MOST_SEEK_MS, HEAD_KB_PER_MS = 4.0, 25.0, 100.0
"""Busy time per request of a disk that moves its heads for each, in ms, and what they transfer in one."""

LONGER_THAN_ALL = 1.1
"""Times what requests take in all from which busy time is not theirs: none is served for longer."""

FEW = 2.0
"""Requests in flight while busy below which they are no burst."""


def likely(view: View, series: DeviceSeries, state: State) -> str:
    """What may be so, as a clause that begins with a comma or a colon; empty where the rows tell nothing."""
    values = _numbers_of(state)
    length, merges = float(values["length"]), float(values["merges"])
    if is_late_on_any_class(series):
        values["spinning"] = SERVICE["spinning"].usual(state.size_kb)
        text = (
            ": far longer than on any class, as such a request alone takes a spinning disk {spinning:ms} at "
        )
        text += "most: its cache or a limit holds them"
    elif length >= LONG_S and state.util < MOSTLY:
        text = ": a mean over {length:g} s, busy for {busy:.0f} % of them: bursts, not a device that is full"
    elif state.kind == "writes" and merges >= 1 and state.util < MOSTLY:
        text = ": buffered writes that are flushed ({merges:.0f} merged into each); it was idle {idle:.0f} %"
        text += " of the time"
    elif _is_flushed_in_bursts(view, state):
        text = _IN_BURSTS
    elif 2 * state.samples < len(series.samples) and (piece := page_kb(state.rows)) > 0:
        values |= {"pages": merges + 1, "piece": piece}
        text = (
            ": meanwhile memory is written back in a burst ({pages:.0f} pages of {piece:.1f} kB merged into "
        )
        text += "each write)"
    elif beside := neighbour_clause(view, series, state):
        return f": {beside}"
    elif (state.util >= NEVER_IDLE and state.size_kb >= LARGE_KB) or _is_at_speed(series, state):
        text = ": a stream of {mb:.0f} MB/s, which may be all that its medium or its link gives"
        if state.kind == "writes" and (copied := copy_clause(view, state.device)):
            return say(text, values) + copied + ", bound by where it writes"
    elif state.util >= NEVER_IDLE and _seeks(series, state, float(values["per_request"])):
        text = (
            ": never idle at {rate} requests/s of {size:.0f} kB, with {per_request:.1f} ms of busy time per "
        )
        text += "request; this is typical of a spinning disk that is full"
    elif state.util < MOSTLY and state.at_once < FEW:
        text = ": one or two requests at a time, each waited for in turn, and idle {idle:.0f} % of the time"
    elif state.util < MOSTLY:
        text, others = _of_bursts(view, state)
        values |= others
    elif state.latency_ms <= kept_up_ms(state.rows):
        text = ": it did more in some samples than in others, in the same time for each: slow, yet not full"
    else:
        return ""
    if (
        state.mean("doubtful_util_pct") <= 100 * state.util
    ):  # it was busy for as long as they wait at the least
        text = text.replace("idle {idle", "idle at most {idle")
    return say(text, values)


def carrier_clause(view: View, series: DeviceSeries, state: State) -> str:
    """That a device waits for the one that it alone stands on, which is as busy meanwhile; else empty.

    Most of the wait has to be there: by latency where requests merge, by those in flight where they split.
    """
    members = series.device.members if series.device else ()
    below = view.series(members[0]) if len(members) == 1 else None
    rows = below.samples[same_reports(below.samples, state.rows)] if below else None
    if below is None or rows is None or not len(rows):
        return ""
    values: Values = {"name": below.name, "busy": 100 * weighted.mean(rows, "util")}
    values["latency"] = weighted.mean(rows, "latency_ms")
    if not abs(float(values["busy"]) - 100 * state.util) <= _AS_BUSY * 100 * state.util:
        return ""
    is_most = float(values["latency"]) > _MOST_OF_IT * state.latency_ms
    if not (is_most or weighted.mean(rows, "depth") > _MOST_OF_IT * state.depth):
        return ""
    values["kind"] = " (an optical drive)" if is_optical(below) else ""
    text = ": it waits for {name}{kind} below it, which is as busy ({busy:.0f} %) and takes {latency:ms} each"
    return say(text, values)


_AS_BUSY, _MOST_OF_IT = 0.1, 0.5
"""How far apart the busy shares of one I/O are, and the share of a wait above which that is most of it."""


def turns_clause(series: DeviceSeries, state: State) -> str:
    """That bulk reads of several streams keep a disk busy, by what it needs for each; else empty.

    Much of what was asked was merged, and each takes less than a seek, and more than flash does.
    """
    reads, merges = state.mean("reads_per_s"), state.mean("read_merges_per_s")
    each = 1000 * state.util / state.ios if state.ios > 0 else math.nan
    is_bulk = state.kind == "reads" and state.size_kb >= ADJACENT_KB and merges >= _MERGED * (reads + merges)
    is_bulk &= state.util >= FULL_UTIL and class_of(series) in ("unknown", "spinning")
    if not (is_bulk and 2 * state.size_kb / FASTEST_FLASH_KB_PER_MS < each < LEAST_SEEK_MS):
        return ""
    values: Values = {"each": each, "mb": state.rate * state.size_kb / KB_PER_MB}
    text = ": bulk reads of several streams by turns, {mb:.0f} MB/s at {each:.2f} ms of busy time each, less "
    return say(
        text + "than a seek: each waits in line for the others; `pidstat -d 1` shows who reads", values
    )


_MERGED, FASTEST_FLASH_KB_PER_MS = 0.2, 500.0
"""Share of what is asked that is merged where it is adjacent, and what SATA transfers (data sheets)."""


def kept_clause(view: View, series: DeviceSeries) -> str:
    """That disks alike hold one whole number of requests each while they are busy: a client keeps so many."""
    like = [one for one in disks_of(view) if one is series or are_alike(series, one)]
    many = [max(states(one), key=waited).at_once for one in like]
    number = round(many[0]) if many and many[0] >= FEW - _WHOLE else 0
    if len(like) < _SEVERAL or not number or any(not abs(one - number) <= _WHOLE for one in many):
        return ""
    values: Values = {"disks": len(like), "number": number}
    return say("; all {disks} hold {number} at once: whoever asks keeps so many on each", values)


_SEVERAL, _WHOLE = 3, 0.05
"""Disks, and how near each is to a whole number: one in ten is by chance, three in a thousand."""


def own_load(view: View, state: State) -> str:
    """That a load generator asks for all that is in flight, and gets all that is moved; else empty."""
    for fact in view.facts_of("fio"):
        own, size = fact.number("kb_per_s"), fact.number("block_size_kb")
        moved = [state.mean(f"{fact.word('direction')}_kb_per_s"), state.rate * state.size_kb]
        asked = fact.number("jobs") * fact.number("iodepth")
        is_all = all(abs(kb - own) <= _ALL_OF_IT * own for kb in moved)
        if (
            is_all
            and state.depth >= FEW
            and asked * max(1.0, size / state.size_kb) >= MOSTLY_ITS * state.depth
        ):
            values: Values = {"asked": asked, "size": size, "depth": state.depth, "moved": moved[0]}
            text = "fio asks for {asked:.0f} requests of {size:g} kB at once and gets all that is moved, "
            return say(text + "{moved:kb}: the {depth:.0f} in flight are its own queue", values)
    return ""


_ALL_OF_IT, MOSTLY_ITS = 0.05, 0.9
"""How far apart its rate and the device's are that are one, and the share of the queue that it explains."""


def limit_clause(view: View, series: DeviceSeries, state: State) -> str:
    """That a device which does not spin keeps to a rate near one that limits have; empty where it does not.

    It does under a load that changes more than its rate; or where limits are usual: of what a hypervisor
    serves, or under a queue that its client keeps. One sample tells nothing, and some media keep to a rate.
    """
    rows = series.loaded
    rows = rows[~(rows.floats("util") < MOSTLY) & (rows.floats("kb_per_s") > 0)]
    is_fast = inferred_class(series, state.size_kb, state.rate) in ("nvme", "solid", "network")
    is_late = state.latency_ms > usual_ms(series, state.size_kb, state.rate)
    if len(rows) < 2 or not (is_fast and is_late) or series.is_stacked:
        return ""
    requests, moved = (
        of_rate(rows, each, weighted.mean(rows, each), rows.floats(each)) for each in QUANTITIES
    )
    at_once = rows.floats("depth") / np.clip(rows.floats("util"), MOSTLY, 1.0)
    least = np.fmin.reduce(at_once)
    is_kept = least >= _DEEP and np.fmax.reduce(at_once) <= _KEPT * least
    is_usual = is_virtual(series) or is_guest(view.kernel) or is_kept
    for top, other in ((requests, moved), (moved, requests)):
        # a device of one speed keeps to its rate as well, though not as exactly: many samples show it
        is_exact = (
            top.variation <= _METER if len(rows) >= _MANY else max_over_min(rows, top.quantity) <= _FLAT
        )
        is_held = len(rows) >= _MANY and _FURTHER * top.variation <= other.variation
        is_its = is_usual and top.is_bytes == (state.size_kb >= ADJACENT_KB)
        if is_exact and (is_held or is_its) and (top.cap or top.round_rate):
            return _limit_sentence(top, other, is_held)
    return ""


def _limit_sentence(top: Plateau, other: Plateau, is_held: bool) -> str:
    values: Values = {"rate": top.in_unit(top.rate), "unit": top.unit, "samples": len(top.rows)}
    values |= top.extent
    values |= {"ranged": 100 * (other.rates.max() / other.rates.min() - 1), "other": other.unit}
    text = "it keeps to {rate:.4g} {unit} ({least:.4g} to {most:.4g} in {samples} samples)"
    text += ", while {other} ranged over {ranged:.0f} %" if is_held else ""
    # of one whose provider is not known a round number says more than the name of another's volume
    named = replace(top, cap=None) if top.round_rate else top
    return say(text, values) + f", and {next(likeness(named)).text}: {MAY_BE_A_LIMIT}"


MAY_BE_A_LIMIT = "a limit may hold it, or it is its own speed"
"""The end of a clause on a rate that limits have."""

_DEEP, _KEPT = 8.0, 1.1
"""Requests in flight that are demand, and how far they range where a client keeps so many (volume-cap)."""

_FLAT, _METER, _FURTHER, _MANY = 1.03, 0.005, 3.0, 5
"""How far a rate ranges that is one, and its variation that no disk keeps to (volume-cap); times as much that
the other varies, and samples in which that is chance once in thirty (F test) and which show a variation."""


def _numbers_of(state: State) -> Values:
    return {
        "length": state.seconds / state.samples,
        "busy": 100 * state.util,
        "idle": 100 * (1 - state.util),
        "merges": weighted.ratio(state.rows, "write_merges_per_s", "writes_per_s"),
        "rate": state.rate,
        "size": state.size_kb,
        "mb": state.rate * state.size_kb / 1024,
        "per_request": 1000 * state.util / state.ios if state.ios > 0 else math.nan,
    }


def _is_flushed_in_bursts(view: View, state: State) -> bool:
    """Whether a device gets writes alone, many at once and seldom, for which nobody is seen to wait."""
    is_seen = not (is_wait_unknown(view, state.rows) or somebody_waits(view))
    return is_seen and _writes_in_bursts(state) and does_nobody_wait(view, state.rows)


def _may_be_flushed_in_bursts(view: View, state: State) -> bool:
    """Whether a device gets writes alone, many at once and seldom, and nothing counts who waits."""
    is_known = bool(somebody_waits(view)) or not is_wait_unknown(view, state.rows)
    return not is_known and _writes_in_bursts(state)


def _writes_in_bursts(state: State) -> bool:
    """Whether writes alone are in flight, by the counter or by rate times latency, many at once and seldom.

    A burst across the end of a sample is in one of them.
    """
    at_once = max(state.depth, state.held) / state.util if 0 < state.util < USED_UTIL else 0.0
    return state.kind == "writes" and state.mean("reads_per_s") == 0 and at_once >= LEAST_BURST


def _of_bursts(view: View, state: State) -> tuple[str, Values]:
    """What a device that is idle for a part of the time has been asked for in bursts, and its numbers."""
    if _may_be_flushed_in_bursts(view, state):
        return _LIKE_BURSTS, {}
    rate, size, wait = (state.mean(f"write{name}") for name in ("s_per_s", "_size_kb", "_await_ms"))
    values: Values = {"held": rate * wait / 1000, "in_all": state.held, "read": state.mean("read_await_ms")}
    is_most = float(values["held"]) >= MOST_HELD * state.held and state.held >= LEAST_BURST * state.util
    is_quick = state.mean("reads_per_s") > 0 and float(values["read"]) <= wait / APART
    if is_most and is_quick and size >= LARGE_KB:
        return _ALONE, values
    return ": bursts, as it was idle {idle:.0f} % of the time", {}


MOST_HELD, APART = 0.9, 10.0
"""Share of those in flight that writes are which alone wait, and times as long as reads that they take then
(judgement)."""

_ALONE = (
    ": they look like buffered writes that are written back in a burst, and they alone wait ({held:.1f} of "
    "the {in_all:.1f} in flight): a read beside them takes {read:ms}; it was idle {idle:.0f} % of the time"
)


def volume_clause(view: View, disk: DeviceSeries, state: State) -> str:
    """That a full disk limits the volume that alone is at work beside it and moves about as much; else empty.

    A cache, or requests at the ends of a sample, set them apart; of several disks a sum may match by chance.
    """
    moved = {
        one: [weighted.or_zero(weighted.mean(one.samples, f"{way}_kb_per_s")) for way in DIRECTIONS]
        for one in without_parts(view.devices)
    }
    at_work = [one for one, kb in moved.items() if sum(kb) > 0]
    volume = next((one for one in at_work if one.is_stacked), None)
    if volume is None or len(at_work) != 2 or disk not in at_work:
        return ""  # one whose driver counts no bytes is not among them
    if disk.is_stacked or not state.util >= NEVER_IDLE:
        return ""
    way = int(np.argmax(moved[disk]))
    values: Values = {"volume": volume.name, "name": disk.name}
    values |= {"above": moved[volume][way], "below": moved[disk][way], "verb": f"{[*DIRECTIONS][way]}s"}
    if not abs(moved[volume][way] / moved[disk][way] - 1) <= _ABOUT or way != int(np.argmax(moved[volume])):
        return ""
    text = (
        ": nothing but {volume} is at work beside it, and {verb} {above:kb}, where {name} {verb} {below:kb}: "
    )
    return say(text + "the same I/O, which {name} limits", values)


_ABOUT = 0.15
"""How far apart the kB/s of a volume and of its disk are."""

WAIT_NOT_SHOWN = "whether a task waits for them is not shown"
"""The end of a clause on writes of which no column counts who waits."""

_LIKE_BURSTS = (
    ": they look like buffered writes that are flushed in bursts, as it was idle {idle:.0f} % of the time; "
    + WAIT_NOT_SHOWN
)

_IN_BURSTS = (
    ": buffered writes that are flushed in bursts, for which no task is seen to wait; it was idle {idle:.0f} "
    "% of the time, and a read or an fsync that falls into one waits as long"
)

LEAST_BURST = 16.0
"""Writes in flight while busy that no few tasks wait for, each for its own."""


def _seeks(series: DeviceSeries, state: State, each_ms: float) -> bool:
    """Whether it may be a disk that positions its heads for each request, as a transfer takes far less."""
    is_one = class_of(series) in ("unknown", "spinning") and not is_spread(series)
    is_long = LEAST_SEEK_MS <= each_ms <= MOST_SEEK_MS and 2 * state.size_kb / HEAD_KB_PER_MS <= each_ms
    is_one &= not each_ms > LONGER_THAN_ALL * state.latency_ms
    return is_one and state.rate < FASTER_THAN_SEEKS and (is_long or state.size_kb < RANDOM_KB)


def _is_at_speed(series: DeviceSeries, state: State) -> bool:
    return state.util >= MOSTLY and is_adjacent_stream(
        series, state.size_kb, state.rate * state.size_kb / state.util
    )


def copy_clause(view: View, target: str | None = None) -> str:
    """That some disks read what all others write in the same reports, as the end of a clause; else empty.

    `target` has to be one that writes it.
    """
    disks = disks_of(view)
    if len(disks) < 2:
        return ""
    each = zip(disks, side_by_side(disks), strict=True)
    moved = {s.name: [weighted.mean(own, f"{way}_kb_per_s") for way in DIRECTIONS] for s, own in each}
    sources = [name for name, (read, written) in moved.items() if read > max(written, KB_PER_MB)]
    targets = [name for name, (read, written) in moved.items() if written > max(read, KB_PER_MB)]
    read, written = sum(moved[name][0] for name in sources), sum(moved[name][1] for name in targets)
    if not targets or target not in (None, *targets) or not abs(read - written) <= _SAME * written:
        return ""
    names = [", ".join(group[:_NAMED]) + ", ..." * (len(group) > _NAMED) for group in (sources, targets)]
    values: Values = {"sources": names[0], "targets": names[1], "read": read / KB_PER_MB}
    return say("; what {sources} read and {targets} write is as much, {read:.0f} MB/s: a copy", values)


_SAME, _NAMED = 0.02, 6
"""How far what is read may be from what is written of it, by the edges of samples; devices that are named."""


def neighbour_clause(view: View, series: DeviceSeries, state: State) -> str:
    """That a device beside it takes a fraction of the time for like requests; empty where none does."""
    if (found := quicker_neighbour(view, series, state)) is None:
        return ""
    values: Values = {"name": found[0], "ms": found[1], "rate": found[2], "size": found[3]}
    return say("{name} beside it takes {ms} ms for requests of {size:.1f} kB, at {rate}/s", values)
