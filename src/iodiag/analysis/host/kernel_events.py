"""What the kernel's log tells of a host: its events on the clock of the samples, each once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.view.device_traits import is_guest
from iodiag.analysis.view.view import View
from iodiag.model.capture import EVENTS
from iodiag.model.finding import Evidence
from iodiag.model.report import KernelEvent
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Mask, Table
from iodiag.table.times import Times

SAME_S = 2.0
"""Two logs of one host have a message within this time of each other: daemons write it a little later."""

MOST_LISTED = 200
"""Events that a report lists; the table has all."""

OF_ZONES_S = 14 * 3600.0
"""How far a clock may be from UTC."""


@cached
def kernel_events(view: View) -> Table | None:
    """The events of a host, what several logs say of it once; None where no log tells of any."""
    found = view.samples(EVENTS)
    if found is None:
        return None
    seconds, boots = found["time"].seconds(), found.floats("boot_s")
    sources = list(found["source"])
    keys = zip(found["device"], found["kind"], found["message"], strict=True)
    seen: dict[tuple[str, str, str], list[int]] = {}
    kept = np.ones(len(found), dtype=np.bool_)
    for place, key in enumerate(keys):
        earlier = seen.setdefault(key, [])
        kept[place] = not any(
            sources[other] != sources[place]
            and (abs(seconds[other] - seconds[place]) <= SAME_S or boots[other] == boots[place])
            for other in earlier[-20:]
        )
        if kept[place]:
            earlier.append(place)
    return found if kept.all() else found[kept]


@cached
def shows_guest(view: View) -> bool:
    """Whether a host is a virtual machine by its kernel, or by drivers of a hypervisor's disks in its log."""
    events = kernel_events(view)
    messages = [] if events is None else events["message"].distinct()
    return is_guest(view.kernel) or any(re.search(_OF_HYPERVISORS, text) for text in messages)


_OF_HYPERVISORS = r"\b(?:hv_storvsc|storvsc|virtio(?:_blk|_scsi|\d+)|vmw_pvscsi|(?:xen-)?blkfront)\b"


def on_clock_of(samples: Table, events: Table) -> Floats:
    """When events were, in seconds of the clock of some samples; NaN where that is not known."""
    seconds, offset = events["time"].seconds(), events.floats("utc_offset_s")
    if _are_moments(samples).any():
        return np.asarray(np.where(_are_moments(events), seconds, seconds - offset))
    return np.asarray(np.where(_are_moments(events), seconds + offset, seconds))


def are_elsewhen(samples: Table, events: Table) -> Mask:
    """Which events were before or after all samples for certain, whatever the zones of the clocks are."""
    ends, length = samples["time"].seconds(), sample_length(samples)
    if not np.isfinite(ends).any():
        return np.zeros(len(events), dtype=np.bool_)
    first, last = float(np.nanmin(ends)) - 2 * length, float(np.nanmax(ends)) + length
    known, printed = on_clock_of(samples, events), events["time"].seconds()
    is_far = (printed < first - OF_ZONES_S) | (printed > last + OF_ZONES_S)
    return np.where(np.isnan(known), is_far, (known < first) | (known > last))


def sample_length(samples: Table) -> float:
    """The usual length of samples in seconds; 1 where nothing tells."""
    lengths = samples.floats("interval_s")
    if not np.isfinite(lengths).any():
        lengths = np.diff(samples["time"].seconds())
    known = lengths[np.isfinite(lengths) & (lengths > 0)]
    return float(np.median(known)) if len(known) else 1.0


def event_summaries(view: View) -> Iterator[KernelEvent]:
    """The first MOST_LISTED events, for the report."""
    events = kernel_events(view)
    for place in range(min(len(events), MOST_LISTED) if events is not None else 0):
        assert events is not None
        time = events["time"][place]
        words = {name: events[name][place] for name in ("device", "stamp", "kind", "source")}
        yield KernelEvent(
            host=view.host,
            time=time.isoformat() if time else None,
            text=events["message"][place],
            line=int(events["line"][place]),
            **words,
        )


def _are_moments(table: Table) -> Mask:
    if "clock" in table:
        return np.asarray(table["clock"] == "UTC")
    times = table["time"]
    assert isinstance(times, Times)
    return np.full(len(table), times.zone is not None)


def of_kind(events: Table | None, kind: str, samples: Table | None) -> Table | None:
    """The events of a kind, but for those of another time than the samples; None without any."""
    rows = None if events is None else events[np.asarray(events["kind"] == kind)]
    if rows is not None and samples is not None and len(rows):
        rows = rows[~are_elsewhen(samples, rows)]
    return rows or None


def line_count(events: Table) -> int:
    """How many lines of logs say some events, each once where it is about several devices."""
    lines = zip(events["source"], events["line"].tolist(), strict=True)
    return sum(
        1 + int(alike)
        for alike in dict(zip(lines, np.nan_to_num(events.floats("alike")), strict=True)).values()
    )


def logged(view: View, kind: str, samples: Table, text: str) -> Iterator[Evidence]:
    """Evidence on the events of a kind, but for those of another time; `text` may name their {count}."""
    rows = of_kind(kernel_events(view), kind, samples)
    if rows:
        is_timed = bool(np.isfinite(on_clock_of(samples, rows)).all())
        values: Values = {
            "count": line_count(rows),
            "clock": "" if is_timed else ", at times that are not known",
        }
        yield cite(rows, text + "{clock}", values, weighs="for" if is_timed else "context")
