"""Parity RAID pays read-modify-write for small writes.

What it detects: a RAID4, 5 or 6 whose members read and write more than the array's own traffic
explains. A write smaller than a stripe reads old data and parity before it writes both anew: two
reads and two writes on RAID5, three and three on RAID6. Bytes are compared, layer against layer,
because requests are split and merged on the way; below 4 kB they are counted in pages. Members
that nothing states may be inferred from their rates. Where the array itself was not captured, members
that move nothing but pages are a sign, and so are the host's totals of sar -b beside those of sar -B.

Why it matters: each kB costs three or four on the members, at random places, where RAID10 needs two.

When it is wrong: a resync or reshape reads on the members too (its large requests tell it apart);
caches and snapshots copy on write; reads of a degraded array cost more as well, without writes.
btrfs and ZFS rewrite on their own. Hardware RAID shows no members, and is never judged.

References: Linux Documentation/admin-guide/md.rst (stripe_cache_size), drivers/md/raid5.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.array_commands import array_commands, is_lvm
from iodiag.analysis.array.hidden_parity import HostAccount, PageTraffic, host_account, page_traffic
from iodiag.analysis.array.member_comparison import peer_groups
from iodiag.analysis.array.members import Array, arrays, quotient
from iodiag.analysis.array.parity import SmallWrites, Traffic, geometries, small_writes
from iodiag.analysis.array.resync import resyncing
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import grading, weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_origin, say
from iodiag.analysis.measure.parity_costs import Share
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked

_MEMBERS = (
    "{names} move pages alone, as much in as out and in step: so do members of a parity array that is "
    "written in small pieces."
)
_PAGES = (
    "each of the {legs} makes {reads} reads of {read_size} kB and {writes} writes of {write_size} kB per "
    "second before merging, {pairs:.2f} reads per write"
)
_UNSTATED = "nothing states an array on {names}; a copy between volumes on the same disks looks the same"
_TOTALS = (
    "the disks of the host write {disks_write} kB/s where {write} kB/s are submitted, {amplification} times "
    "as much, and read {disks_read} kB/s where {read} kB/s are asked for: {extra} kB more per kB written"
)
_BOTH_FIT = (
    "{by_writes:.0f} % of what is written takes the slow path judging by write traffic, {by_reads:.0f} % "
    "judging by read traffic: both counts fit parity RAID"
)
_HOST = (
    "For each kB submitted to be written the host's disks write {amplification} kB and read {extra} kB more "
    "than is asked for, as under small writes to parity RAID."
)


RESYNC_KB = 64.0
"""md resyncs in units of 64 kB (RESYNC_BLOCK_SIZE in drivers/md/md.h); neighbours merge to more."""


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


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per parity array that pays for small writes; the other arrays are named."""
    hidden: list[str] = []
    known = list(arrays(view))
    for array in known:
        if array.missing and geometries(array):
            reason = "its members have no samples: capture the disks beside the array"
            yield RULE.not_applicable(reason, array.name, missing=array.missing)
        elif not array.is_seen:
            hidden.append(array.name)
        elif array.leg_rows and (found := _best(array, limits)) is not None:
            yield _finding(array, found, limits)
        else:
            reason = "no parity, nothing written, or writes that cost what full stripes cost"
            yield RULE.clear(reason, array.name)
    unseen = list(_unseen(view, known, limits))
    yield from unseen
    if hidden and not unseen:
        reason = "the array itself was not captured: without its line nobody knows what was asked of it"
        yield RULE.undetermined(reason, *hidden)
    if not known and not unseen:
        reason = "no array is known here: give lsblk, /proc/mdstat, lvs or dmsetup table"
        yield RULE.not_applicable(reason, missing=("topology",))


def _best(array: Array, limits: Limits) -> SmallWrites | None:
    """The layout that explains most samples outside a resync; unless stated, both counts must agree on it."""
    traffic = Traffic(
        limits.least_write_kb, limits.least_writes, limits.least_share / 100, limits.least_excess / 100
    )
    quiet = array.rows[~resyncing(array)]
    candidates = [small_writes(quiet, geometry, traffic) for geometry in geometries(array)]
    found = [c for c in candidates if c and (array.level or _agrees(c, limits))]
    return max(found, key=lambda c: (len(c.rows), -c.share.disagreement), default=None)


def _agrees(found: SmallWrites, limits: Limits) -> bool:
    return found.share.disagreement <= limits.most_disagreement / 100


def _finding(array: Array, found: SmallWrites, limits: Limits) -> Finding:
    is_known = array.is_level_stated
    agrees, counted = _agrees(found, limits), _template_values(array, found)
    is_page_sized = counted["leg_size"] <= limits.most_leg_size
    layout = array.layout if array.level else f"by its traffic RAID{4 + found.geometry.parity}"
    unit = "kB of pages touched" if _is_paged(found) else "kB written"
    values: Values = {**counted, "device": array.name, "layout": layout, "unit": unit}
    sustained = is_sustained(found.rows)
    points = 1 + 2 * agrees + 2 * is_known - (not array.is_stated)
    points += is_page_sized + (sustained or found.is_repeated)
    # a ratio of sums is no sample of anything: one sample that counts enough proves as much as many
    is_enough = sustained or found.paid.requests >= limits.least_requests
    most: Confidence = "high" if is_known else "medium"
    sure = grading.confidence(points, at_most=most if is_enough and not array.shared else "low")
    is_cost = counted["waiting"] >= limits.least_depth and not _waits_for_one(array, found, limits)
    return RULE.finding(
        severity="warning" if sure != "low" and is_cost else "notice",
        confidence=sure,
        **grading.device_fields(found.rows, array.name),
        summary=say(
            "{device} ({layout} on {legs} members) pays for small writes with reads and rewrites of parity: "
            "each {unit} costs {cost:.1f} kB on the members, where RAID10 would need {mirror:.1f}.",
            values,
        ),
        evidence=tuple(_evidence(array, found, values, agrees=agrees, is_page_sized=is_page_sized)),
        refutes=(
            "mdadm --detail or lvs showing that the array has no parity",
            "a resync, a reshape or a copy between volumes of the same disks during these samples",
        ),
        cannot_know=(
            "which of the writes were small, and the chunk size: the members see pages whatever was asked",
        ),
        remedy=_LVM_REMEDY if is_lvm(array.device) else RULE.remedy,
        confirm=array_commands(array.device, "stripe_cache_size", "stripe_cache_active"),
    )


def _waits_for_one(array: Array, found: SmallWrites, limits: Limits) -> bool:
    """Whether one member is never idle while most have time left: what parity costs is then no one's wait."""
    busy = [weighted.mean(rows[found.rows["place"]], "util_pct") for rows in array.leg_rows]
    return max(busy) >= limits.full_util and median(np.array(busy)) < limits.full_util / 2


_LVM_REMEDY = (
    "Put write-heavy volumes on RAID10: two writes and no reads for each (a new LV with --type raid10).",
    "Write larger and aligned: align the file system to the stripe (su/sw, stride), batch the writes.",
    "A cache in front (lvconvert --type writecache) gathers writes into full stripes.",
)


def _is_paged(found: SmallWrites) -> bool:
    """Whether the array was written in less than pages, so that pages are what is counted."""
    return found.paid.paged_write_kb > 1.05 * found.paid.write_kb


def _template_values(array: Array, found: SmallWrites) -> dict[str, float]:
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
        "by_reads_least": 100 * share.by_reads_least,
        "cost": paid.amplification + paid.extra_reads,
        "mirror": 2.0,
        "resync": RESYNC_KB,
        "leg_size": quotient(paid.legs_read_kb + paid.legs_write_kb, paid.legs_ios),
        "waiting": float(np.nanmax([*depths, 0.0])),
    }


def _evidence(
    array: Array, found: SmallWrites, values: Values, *, agrees: bool, is_page_sized: bool
) -> Iterator[Evidence]:
    """The account: both counts, whether they agree, what else it could be, who states the layout."""
    both = array.both_layers(found.rows)
    yield cite(both, _PAGED if _is_paged(found) else _WRITES, values, worst="write_kb_per_s")
    yield cite(both, _READS, values, worst="read_kb_per_s")
    text = _of_reads(_AGREE if agrees else _DIFFER, found.share)
    if found.share.by_writes > 1 + _ROUNDED:  # no more than all was written
        text = text.replace("{by_writes:.0f} %", "all", 1).replace(
            "write traffic", "write traffic ({by_writes:.0f} %)"
        )
    yield cite(found.rows, text, values, weighs="for" if agrees else "against")
    yield cite(found.rows, _COST, values, weighs="context")
    yield cite(
        both, _SMALL if is_page_sized else _LARGE, values, weighs="for" if is_page_sized else "against"
    )
    said = {name: array.device.provenance.get(name, "the topology") for name in ("members", "level")}
    if not array.is_stated:
        text = "nothing states the members of {device}; {members}"
        yield cite(both, text, {**values, **said}, weighs="against")
    elif array.is_level_stated:
        text = "{level} states that {device} is {layout} on {legs} members"
        yield cite_origin(both, text, {**values, "level": said["level"]})
    else:
        text = "{members} states the {legs} members of {device}, but no level"
        yield cite_origin(both, text, {**values, "members": said["members"]})
    if array.shared:
        shared: Values = {"shared": ", ".join(array.shared)}
        yield cite(
            both, "{shared} stand in for members and carry other traffic too", shared, weighs="against"
        )


def _of_reads(text: str, share: Share) -> str:
    """The text with the least share by reads where only the dearer way to read leaves it below all."""
    if not share.by_reads_least <= 1 < share.by_reads - _ROUNDED:
        return text
    text = text.replace("two independent counts agree", "that allows as much, and does not show it")
    return text.replace("{by_reads:.0f} %", "{by_reads_least:.0f} % or more")


_ROUNDED = 0.005
"""Share beyond all that is written, which is not printed."""


def _unseen(view: View, known: Sequence[Array], limits: Limits) -> Iterator[Finding]:
    """Of arrays without a line: members that move pages alone, else the host's totals if they tell."""
    account = host_account(view, limits.least_write_kb)
    told = account is not None and _tells(account, limits)
    count = 0
    is_plain = account is not None and account.is_plain
    for devices, array in _candidates(view, known):
        if array is None and is_plain:
            continue
        rows = side_by_side(devices)
        writes = np.sum([own.floats("write_kb_per_s") for own in rows], axis=0)
        rows = [own[writes >= limits.least_write_kb] for own in rows]
        found = page_traffic(rows)
        if found is not None:
            count += 1
            yield _of_members(devices, array, rows, found)
    if not count and told and account is not None and not any(array.is_seen for array in known):
        yield _of_host(account, limits)


def _tells(account: HostAccount, limits: Limits) -> bool:
    apart = limits.most_disagreement / 100
    fit = account.parity(apart)
    return fit is not None and fit[1].smaller >= limits.least_share / 100 and fit[1].by_writes <= 1 + apart


def _candidates(
    view: View, known: Sequence[Array]
) -> Iterator[tuple[tuple[DeviceSeries, ...], Array | None]]:
    """Members of stated parity arrays that were not captured, then disks of equal rates without an array."""
    for array in known:
        if not array.is_seen and array.leg_rows and geometries(array):
            yield array.legs, array
    for peers in peer_groups(view):
        if peers.array is None:
            yield peers.devices, None


def _of_members(
    devices: Sequence[DeviceSeries],
    array: Array | None,
    rows: Sequence[Table],
    found: PageTraffic,
) -> Finding:
    names = tuple(device.name for device in devices)
    values: Values = {
        "legs": float(len(names)),
        "names": ", ".join(names),
        "reads": found.reads,
        "writes": found.writes,
        "read_size": found.read_size_kb,
        "write_size": found.write_size_kb,
        "pairs": found.reads / found.writes,
    }
    both = stacked(rows)
    evidence = [cite(both, _PAGES, values, worst="write_kb_per_s")]
    points = 1 + is_sustained(rows[0])
    if array is not None:
        origin: Values = {"origin": array.device.provenance.get("level", "the topology"), "array": array.name}
        evidence.append(cite_origin(both, f"{{origin}} states that {{array}} is {array.layout}", origin))
        points += 2
    else:
        evidence.append(cite(both, _UNSTATED, values, weighs="against"))
    return RULE.finding(
        confidence=grading.confidence(points, at_most="low" if array is None else "medium"),
        severity="notice",
        **grading.device_fields(rows[0], *names),
        summary=say(_MEMBERS, values),
        evidence=tuple(evidence),
        refutes=("lsblk or mdadm showing that these disks are no members of a parity array",),
        cannot_know=("what was asked of an array above them: capture its line as well",),
    )


def _totals(account: HostAccount) -> Evidence:
    values: Values = {
        "disks_write": account.disks_write,
        "write": account.submitted_write,
        "amplification": account.amplification,
        "disks_read": account.disks_read,
        "read": account.submitted_read,
        "extra": account.extra_reads,
    }
    return cite(account.rows, _TOTALS, values, worst="write_kb_per_s")


def _of_host(account: HostAccount, limits: Limits) -> Finding:
    fit = account.parity(limits.most_disagreement / 100)
    shares = {name: 100 * share for name, share in fit[1]._asdict().items()} if fit else {}
    values: Values = {"amplification": account.amplification, "extra": account.extra_reads}
    return RULE.finding(
        confidence="low",
        severity="info",
        **grading.time_fields(account.rows, of_host=True),
        summary=say(_HOST, values),
        evidence=(
            _totals(account),
            cite(account.rows, _of_reads(_BOTH_FIT, fit[1]) if fit else _BOTH_FIT, shares),
            cite(account.rows, "old releases of sar -b count md and dm beside their disks", weighs="against"),
        ),
        refutes=("lsblk showing no parity array on this host",),
        cannot_know=("which device it is: sar -d, or iostat -x of the array and its members, would tell",),
    )


RULE = Rule(
    id="raid-partial-stripe-write",
    explains=SYMPTOMS_AND_SATURATION,
    title="Parity RAID pays read-modify-write for small writes",
    why="Each small write becomes reads and rewrites at random places of several disks.",
    remedy=(
        "Put write-heavy volumes on RAID10: two writes and no reads for each.",
        "Write larger and aligned: align the file system to the stripe (su/sw, stride), batch the writes.",
        "Raise stripe_cache_size (default 256) so that neighbouring writes meet in one stripe.",
        "A write-back journal or a battery-backed cache gathers full stripes.",
    ),
    needs=Needs(
        one_of=(
            {"disk": ("read_kb_per_s", "write_kb_per_s")},
            {"io": ("read_kb_per_s", "write_kb_per_s"), "paging": ("pgpgin_kb_per_s", "pgpgout_kb_per_s")},
        )
    ),
    thresholds={
        "least_share": Threshold(
            20,
            "%",
            "share of writes on the slow path, by both counts",
            "judgement: a measured RAID5 showed 67 and 69 %, full stripes 0",
        ),
        "most_disagreement": Threshold(
            20,
            "% points",
            "between the two counts when they agree",
            "measured 2; the stripe cache spares reads",
        ),
        "least_write_kb": Threshold(256, "kB/s", "enough is written", "judgement: less moves no disk"),
        "least_writes": Threshold(
            20, "writes/s", "enough is written, in small writes", "judgement: a quarter of a spinning disk"
        ),
        "least_excess": Threshold(
            5,
            "%",
            "of the reads asked for, that the members read more",
            "judgement: edges of samples, twofold",
        ),
        "most_leg_size": Threshold(
            16, "kB", "mean member request that excludes a resync", "md resyncs in 64 kB, merged to more"
        ),
        "least_depth": Threshold(
            1, "requests", "in flight, for a warning: someone always waits", "below one nothing queues"
        ),
        "full_util": Threshold(
            90, "%", "util of a member without idle time; half of it leaves twice as much", "judgement"
        ),
        "least_requests": Threshold(
            500, "requests", "in a single sample that stands alone", "judgement: 4 % of random error"
        ),
    },
    confirm=(
        "cat /proc/mdstat",
        "lvs -a -o +segtype,stripes,stripesize,devices",
        "mdadm --detail --scan -v",
        "grep . /sys/block/md*/md/stripe_cache_size /sys/block/md*/md/stripe_cache_active",
    ),
    references=("https://docs.kernel.org/admin-guide/md.html",),
    pictures=("stack",),
    detect=detect,
)
