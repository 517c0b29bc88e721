"""What speaks for and against small writes on parity RAID, in sentences whose numbers can be checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.members import Array, quotient
from iodiag.analysis.array.parity import SmallWrites
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.model.finding import Evidence

RESYNC_KB = 64.0
"""md resyncs in units of 64 kB (RESYNC_BLOCK_SIZE in drivers/md/md.h); neighbours merge to more."""


def is_paged(found: SmallWrites) -> bool:
    """Whether the array was written in less than pages, so that pages are what is counted."""
    return found.paid.paged_write_kb > 1.05 * found.paid.write_kb


def template_values(array: Array, found: SmallWrites) -> dict[str, float]:
    """The account of an array that pays for small writes, under plain names."""
    paid, geometry, share = found.paid, found.geometry, found.share
    depths = [weighted.mean(found.rows, "depth"), float(np.mean(array.leg_mean(found.rows, "depth")))]
    return {
        "legs": float(geometry.members),
        "write": paid.write_kb,
        "write_size": quotient(paid.write_kb, weighted.mean(found.rows, "writes_per_s")),
        "pages": paid.paged_write_kb,
        "legs_write": paid.legs_write_kb,
        "amplification": paid.amplification,
        "full": geometry.full_stripe,
        "read": paid.read_kb,
        "excess": paid.excess_read_kb,
        "extra": paid.extra_reads,
        "by_writes": 100 * share.by_writes,
        "by_reads": 100 * share.by_reads,
        "cost": paid.amplification + paid.extra_reads,
        "mirror": 2.0,
        "resync": RESYNC_KB,
        "leg_size": quotient(paid.legs_read_kb + paid.legs_write_kb, paid.legs_ios),
        "waiting": float(np.nanmax([*depths, 0.0])),
    }


def evidence(
    array: Array, found: SmallWrites, values: Values, *, agrees: bool, is_page_sized: bool
) -> Iterator[Evidence]:
    """The account: both counts, whether they agree, what else it could be, who states the layout."""
    both = array.both_layers(found.rows)
    yield cite(both, _PAGED if is_paged(found) else _WRITES, values, worst="write_kb_per_s")
    yield cite(both, _READS, values, worst="read_kb_per_s")
    yield cite(found.rows, _AGREE if agrees else _DIFFER, values, weighs="for" if agrees else "against")
    yield cite(found.rows, _COST, values, weighs="context")
    yield cite(
        both, _SMALL if is_page_sized else _LARGE, values, weighs="for" if is_page_sized else "against"
    )
    said = {name: array.device.provenance.get(name, "the topology") for name in ("members", "level")}
    if not array.is_stated:
        text = "nothing states the members of {device}; {members}"
        yield cite(None, text, {**values, **said}, weighs="against")
    elif array.is_level_stated:
        text = "{level} states that {device} is {layout} on {legs} members"
        yield cite(None, text, {**values, "level": said["level"]})
    else:
        text = "{members} states the {legs} members of {device}, but no level"
        yield cite(None, text, {**values, "members": said["members"]})
    if array.shared:
        shared: Values = {"shared": ", ".join(array.shared)}
        yield cite(
            None, "{shared} stand in for members and carry other traffic too", shared, weighs="against"
        )


_PAGED = (
    "{device} was written in requests of {write_size} kB, which touch {pages} kB/s of whole pages, and its "
    "members wrote {legs_write} kB/s, {amplification} times as much; full stripes on {legs} members would "
    "need {full} times"
)
_WRITES = (
    "{device} wrote {write} kB/s and its members {legs_write} kB/s, {amplification} times as much; "
    "full stripes on {legs} members would need {full} times"
)
_READS = (
    "the members read {excess} kB/s beyond the {read} kB/s that {device} was asked for: {extra} kB for "
    "each {unit}, where full stripes read nothing"
)
_AGREE = (
    "{by_writes:.0f} % of what was written took the slow path judging by write traffic, {by_reads:.0f} % "
    "judging by read traffic: two independent counts agree"
)
_DIFFER = (
    "{by_writes:.0f} % of what was written took the slow path judging by write traffic, {by_reads:.0f} % "
    "judging by read traffic: the two counts differ, as they do where the stripe cache spares reads"
)
_COST = "each {unit} costs {cost:.1f} kB on the members; RAID10 would need {mirror:.1f}"
_SMALL = "the members' requests average {leg_size} kB; a resync moves {resync} kB and more at once"
_LARGE = "the members' requests average {leg_size} kB: a resync would look the same"
