"""A rate limiter, not the medium, fixes what the volume moves.

What it detects: a device with four and more requests in flight whose IOPS or throughput stay within 3 %
of one value while the queue doubles; or, on a device that does not spin and holds eight and more, a steady
rate that is a published or round limit. In few samples (two where the number is a limit's): a rate that moves
less than a tenth as much as what is asked of it: the sizes, or the queue where the number is one that limits
have, or a hypervisor serves the device, or reads and writes together are held to 0.5 %. In one sample of a
device that a hypervisor serves: a published or round number to 0.15 %, under a queue that makes requests take
twice as long as they usually do; of an NVMe device to 0.1 %, and of any other where a second device runs at
the same number with half the queue or less. In three samples of a volume that a provider meters, by its
model: a rate that is held to 0.5 % under such a queue, whatever the number.

A layer that moves the same bytes in the same samples with a quarter of the requests, or less, is named: what
it asks for is split on its way, and the pieces use up a limit in IOPS.

Why it matters: more requests only wait longer; the limit is a setting or a price, not a repair. Where fio
measured nearly all that is in flight, at that rate, and the capture shows nothing else, it waits for its own
queue: a notice.

When it is wrong: a device's own flat top looks alike, though it moves with the size and mix of the
requests; spinning disks and memory cards pass for flat in every second window and are left out. One rate in
fifty is a round number by chance, one in eighty to 0.1 %, one in eight a number of two digits: these are a
hint of what a hypervisor serves, if they are a step of 100 IOPS or 10 MiB/s. A client
that asks at a steady pace has no queue. A layer that delays requests makes round rates as well. Links have
ceilings, and are named as such, but not of what a hypervisor serves; a rate above a limit is not held by
it. Vendors change their limits: the list is dated. Members of a stripe share one rate, and the one with
the queue may be the slow one: equal rates alone are no evidence.

References: Amazon EBS volume types; Azure managed disk types and bursting; Google persistent disk
performance; see rate_limits.toml.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes
from iodiag.analysis.array.topmost_devices import are_related, once_per_stack
from iodiag.analysis.load.benchmarks import benchmarks_of, is_all_of, own_queue
from iodiag.analysis.load.plateaus import (
    Plateau,
    likeness,
    max_over_min,
    of_rate,
    plateau,
    queue_range,
    throughput_of_sizes,
)
from iodiag.analysis.load.queueing import ALONE, Level, level_samples, load_levels, unloaded
from iodiag.analysis.load.rate_limits import DIRECTED, QUANTITIES, Directed, is_exact, link_near, quantity_of
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_origin, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.measure.quantiles import low_and_high
from iodiag.analysis.measure.windows import DENSE, WINDOW_EXIT_SHARE
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS, RANDOM_KB, Class, class_of, usual_ms
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_traits import cloud_model, is_card, is_spinning, is_virtual
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Mask, Table

SOLID: tuple[Class, ...] = ("nvme", "solid", "network")

LIKE_SIZE = math.log(4)
"""How far (ln) sizes may be apart of requests that take about as long on what does not spin."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a device whose rate a limiter seems to fix."""
    found: dict[str, Plateau] = {}
    others: list[tuple[DeviceSeries, Outcome]] = []
    for series in view.devices:
        verdict = _judge(view, series, limits)
        if isinstance(verdict, Outcome):
            others.append((series, verdict))
        else:
            found[series.name] = verdict
    for series, outcome in others:
        tops = (top for name, top in found.items() if _is_twin(view, name, series, top, limits))
        if outcome.status == "clear" and any(True for _ in tops):
            outcome = replace(outcome, status="undetermined", reason=_TWIN)
        yield outcome
    for series, told, below in once_per_stack(view, found):
        twins = [other for other in view.devices if _is_twin(view, series.name, other, told, limits)]
        yield _finding(view, series, told, below, twins, limits)


_TWIN = "it runs at the number at which another device is held: the same limit may hold it"


def _is_twin(view: View, held: str, other: DeviceSeries, top: Plateau, limits: Limits) -> bool:
    """Whether a device that is none of the same stack runs at the rate at which one is held."""
    rate = weighted.mean(other.samples, top.quantity)
    is_same = abs(rate / top.rate - 1) <= limits.once / 100
    return is_same and other.name != held and not are_related(view, held, other.name)


def _judge(view: View, series: DeviceSeries, limits: Limits) -> Plateau | Outcome:
    if is_spinning(series) or is_card(series):
        return RULE.clear("disks and cards have flat tops of their own", series.name)
    samples = _once_each(level_samples(series))
    demand = samples.floats("at_once") >= WINDOW_EXIT_SHARE * limits.least_depth
    demand &= samples.floats("util") >= limits.least_util / 100
    demand &= ~(samples.floats("interval_s") > limits.longest)
    count = int(np.count_nonzero(demand))
    if not count and _is_queued_otherwise(series, limits):
        reason = (
            "the samples with a queue show no rate: they are too long, stalled, or at the edge of the load"
        )
        return RULE.undetermined(reason, series.name)
    if not count:
        return RULE.clear("it never has a queue that a limit could hold", series.name)
    found = [top for top in _tops(samples, demand, limits) if _holds(view, series, top, demand, limits)]
    if found:
        return max(found, key=lambda top: _likelihood(top, limits))
    if (same := throughput_of_sizes(series)) is not None:
        return RULE.undetermined(same.text, series.name)
    is_long = count >= limits.least_samples
    if is_long and not any(True for _ in _tops(samples, demand, limits)):
        return RULE.clear("its rate is not flat while it has a queue", series.name)
    few = {"count": count, "samples": limits.least_samples, "plural": "" if count == 1 else "s"}
    reason = _OPEN if is_long else say(_FEW, few)
    return RULE.undetermined(reason, series.name)


def _once_each(samples: Table) -> Table:
    """The samples without those that equal an earlier one in each number: a paste has them again."""
    names = ("ios_per_s", "kb_per_s", "latency_ms", "depth", "util_pct")
    numbers = np.nan_to_num(np.stack([samples.floats(name) for name in names], axis=1))
    return samples[np.sort(np.unique(numbers, axis=0, return_index=True)[1])]


def _is_queued_otherwise(series: DeviceSeries, limits: Limits) -> bool:
    """Whether it has a queue in samples that are no steady load."""
    util, depth = (series.loaded.floats(name) for name in ("util", "depth"))
    is_used = util >= limits.least_util / 100
    return bool((is_used & (depth >= limits.least_depth * np.fmin(util, 1.0))).any())


def _tops(samples: Table, demand: Mask, limits: Limits) -> Iterator[Plateau]:
    """The flat tops of every quantity, and samples too few for a top at the rate that they have."""
    count = int(np.count_nonzero(demand))
    least = int(min(limits.least_flat, max(limits.few, math.ceil(DENSE * count))))
    if count < limits.few:
        rows = samples[demand]
        for either in QUANTITIES:
            rates = rows.floats(either)
            if rates.mean() > 0:
                yield of_rate(rows, either, float(rates.mean()), rates)
        return
    width = limits.flat / 100
    every: tuple[Directed, ...] = (*QUANTITIES, *DIRECTED)
    for quantity in every:
        for while_busy in (False, True):
            top = plateau(samples, quantity, demand, width=width, least=least, while_busy=while_busy)
            # one of two directions that are both there
            if top is not None and (quantity in QUANTITIES or _is_part(top)):
                yield top


def _is_part(top: Plateau) -> bool:
    """Whether the direction that is held is most of what is moved, and not as good as all."""
    whole = weighted.mean(top.rows, "kb_per_s" if top.is_bytes else "ios_per_s")
    return bool(0.5 * whole <= top.rate <= 0.95 * whole)


def _holds(view: View, series: DeviceSeries, top: Plateau, demand: Mask, limits: Limits) -> bool:
    """Whether a flat top is a limit's: what was asked ranged, or its number is one that limits have."""
    level, count = top.level, int(np.count_nonzero(demand))
    if level.busy_depth < limits.least_depth:
        return False
    times = level.latency_ms / _alone_ms(series, level)
    is_long = count >= limits.least_samples or (
        count >= limits.least_flat and float(weighted.lengths(top.rows).sum()) >= limits.long_enough
    )
    if is_long and top.quantity in QUANTITIES:
        is_deep = level.busy_depth >= limits.steady_depth and times >= limits.waits
        if is_deep and class_of(series) in SOLID and (top.cap or _is_odd(series, top)):
            return True
        if queue_range(series, top, limits.flat / 100) >= limits.queue_grows:
            return True
    is_deep = level.busy_depth >= limits.few_depth or (count > 1 and is_virtual(series))
    is_queued = times > (1 if is_deep else limits.waits) and _is_solid(series, top, limits)
    is_limit = (
        top.is_number
        if is_virtual(series)
        else top.is_exact and (count > 1 or _is_once(view, series, top, limits))
    )
    # one sample shows no constancy: its number must be a step of limits, of what requests of its size use up;
    # one in six whole numbers of two digits is round
    is_large = top.is_bytes or top.rate >= limits.least_number
    is_limit &= count > 1 or (_fits(top, limits) and is_large and (top.is_exact or top.is_step))
    # a provider meters each of its volumes: what keeps to one rate under a queue there is at a limit of it
    is_limit |= bool(cloud_model(series)) and len(top.rows) >= limits.few and top.quantity in QUANTITIES
    # a layer has no limit of its own, and a delay of one makes numbers as round
    if is_queued and top.variation <= limits.meter / 100 and is_limit and not series.is_stacked:
        return True
    # two rates that agree to a few in a thousand, with sizes that do not agree at all, are no chance
    is_same = top.variation <= limits.same / 100 and top.other_range >= limits.varies
    is_told = top.is_exact or (is_virtual(series) and bool(top.cap or top.is_number or is_same))
    is_most = len(top.rows) >= max(2 if is_told else limits.few, DENSE * count)
    # a meter makes requests wait; a medium that no network is before has a ceiling of its own
    is_most &= is_virtual(series) or level.latency_ms >= limits.answers
    return is_most and _asked(series, top, limits) >= limits.asked and _is_stiff(series, top, limits)


def _is_once(view: View, series: DeviceSeries, top: Plateau, limits: Limits) -> bool:
    """Whether one sample shows a limit where no hypervisor is known: by its number, and by what has it.

    No NVMe device of the machine itself waits at so low a rate; of any other one a second device at the same
    number is to show it, at another queue.
    """
    if not is_exact(top.rate, quantity_of(top.quantity), limits.once / 100):
        return False
    own = weighted.mean(series.samples, "depth")
    twins = (other for other in view.devices if _is_twin(view, series.name, other, top, limits))
    depths = [weighted.mean(other.samples, "depth") for other in twins]
    return class_of(series) == "nvme" or any(depth * limits.queue_grows <= own for depth in depths)


def _is_odd(series: DeviceSeries, top: Plateau) -> bool:
    """Whether its number is one that limits have: of two digits only where no flash serves by itself."""
    return top.is_exact or (top.is_number and (is_virtual(series) or class_of(series) == "unknown"))


def _alone_ms(series: DeviceSeries, level: Level) -> float:
    """What one request takes: as this device was seen to serve those of like size, or by its class."""
    calm = [
        state.latency_ms * (1 + state.error)
        for state in states(series)
        if state.depth <= ALONE
        and min(state.size_kb, level.size_kb) > 0
        and abs(math.log(state.size_kb / level.size_kb)) <= LIKE_SIZE
    ]
    return min([usual_ms(series, level.size_kb, level.rate), *(each for each in calm if each > 0)])


def _asked(series: DeviceSeries, top: Plateau, limits: Limits) -> float:
    """How far what was asked ranged: the sizes; and the queue, where no medium keeps its rate like that."""
    is_metered = top.variation <= limits.meter / 100
    is_named = is_metered and bool(top.cap or top.round_rate)
    if not is_named and not _is_solid(series, top, limits):
        return 1.0
    is_odd = _is_odd(series, top) or is_virtual(series) or _is_mixed(top, limits)
    is_deep = is_odd and is_metered
    return max(top.other_range, max_over_min(top.rows, "at_once") if is_deep else 1.0)


def _is_stiff(series: DeviceSeries, top: Plateau, limits: Limits) -> bool:
    """Whether the rate kept its value, while what was asked ranged at least ten times as far."""
    held = max_over_min(top.rows, top.quantity)
    return math.log(held) <= limits.stiff * math.log(_asked(series, top, limits))


def _is_solid(series: DeviceSeries, top: Plateau, limits: Limits) -> bool:
    """Whether it is no spinning disk: by its class, or none serves so many small or mixed requests."""
    level = top.level
    is_fast = level.busy_rate >= FASTER_THAN_SEEKS
    return class_of(series) in SOLID or (is_fast and (level.size_kb < RANDOM_KB or _is_mixed(top, limits)))


def _is_mixed(top: Plateau, limits: Limits) -> bool:
    """Whether reads and writes together are held to what no medium keeps: each costs another time there."""
    is_flat = len(top.rows) >= limits.few and top.variation <= limits.meter / 100
    return is_flat and 0.1 <= top.level.reads_per_s / top.level.rate <= 0.9


def _likelihood(top: Plateau, limits: Limits) -> tuple[bool | float, ...]:
    is_named = bool(top.cap), bool(top.round_rate)
    is_meter = top.variation <= limits.meter / 100
    return (_fits(top, limits), top.is_exact, is_meter, *is_named, len(top.rows), -top.variation)


def _fits(top: Plateau, limits: Limits) -> bool:
    """Whether a limit of its quantity is the likelier one: of throughput for large requests of one size."""
    is_large = top.level.size_kb >= limits.large
    return top.other_range >= limits.varies or top.is_bytes == is_large


_OPEN = (
    "a flat rate under a steady queue: a limit, or what the device can do; another queue or another size of "
    "request would tell"
)


_FEW = (
    "{count} sample{plural} with a queue; {samples:.0f} may tell whether a limit holds it, and requests of "
    "another size would"
)


def _finding(
    view: View,
    series: DeviceSeries,
    top: Plateau,
    below: tuple[str, ...],
    twins: Sequence[DeviceSeries],
    limits: Limits,
) -> Finding:
    witnesses = (*_witnesses(series, top, limits), *(_at_same_rate(other, top) for other in twins[:3]))
    level, split = top.level, _split(view, series, top, limits)
    points = 1 + sum(item.weighs == "for" for item in witnesses) - (not _is_solid(series, top, limits))
    # a meter is exact where a medium varies by a per cent and more
    is_meter = len(top.rows) > 1 and top.variation <= limits.meter / 100
    sure = confidence(points + is_meter + top.is_exact, at_most="medium")
    own = tuple(own_queue(benchmarks := benchmarks_of(view, series, level), level.direction_load))
    # what it does at other rates may meet the limit as well
    is_all = float(np.ptp(series.loaded.floats(top.quantity))) <= limits.flat / 100 * top.rate
    is_own = is_all and any(is_all_of(each, level) for each in benchmarks)
    low, high = low_and_high(top.rows.floats("at_once"))
    values: Values = {
        "device": series.name,
        "rate": top.in_unit(top.rate),
        "unit": top.unit,
        "count": len(top.rows),
        "samples": len(series.samples),
        "low": low,
        "high": high,
        "depth": level.busy_depth,
    }
    values |= _each(level) | top.extent
    by = _limiter(series, top)
    values["plural"] = "" if len(series.samples) == 1 else "s"
    values["of"] = f" of {len(series.samples)}" if len(series.samples) > len(top.rows) else ""
    many = " ({least} to {most}), with {low} to {high} in flight"
    text = "{rate} {unit} in {count}{of} sample{plural}"
    text += many if len(top.rows) > 1 else ", with {depth} in flight"
    return RULE.finding(
        severity="notice" if is_own else _severity(series, top, sure, limits),
        confidence=sure,
        devices=(series.name, *below),
        **time_fields(top.rows),
        summary=say("{device} seems to be held by " + by + _held(top, limits, high / low), values)
        + "".join(say(_SPLIT, item.values) for item in split)
        + "".join(f"; {item.text}" for item in own[:1])
        + ".",
        evidence=(
            cite(top.rows, text + " ({size:.1f} kB per {one})", values, worst="queue_depth"),
            *split,
            *witnesses,
            *own,
        ),
        remedy=(*(_OF_SPLIT if split else ()), *(_OF_LINK if "link" in by else ()), *RULE.remedy),
        confirm=(*(_SHOW_SPLIT if split else ()), *(_SHOW_LINK if "link" in by else ()), *RULE.confirm),
        cannot_know=("who limits: the volume, the instance, the hypervisor or the array",),
    )


def _each(level: Level) -> Values:
    """Size and latency of the requests that wait, and whose they are: the rate of all is told beside."""
    said = level.direction_load
    values: Values = {"size": said.size_kb, "latency": said.latency_ms, "one": "request", "each": "each"}
    if said.rate < level.rate and not math.isclose(said.rate, level.rate):
        values |= {"one": (one := said.direction[:-1]), "each": f"for each {one}"}
    return values


def _severity(series: DeviceSeries, top: Plateau, sure: Confidence, limits: Limits) -> Severity:
    is_hint = top.cap is not None or (is_virtual(series) and top.is_number)
    if sure == "low":
        return "notice" if is_hint else "info"
    return "warning" if top.level.latency_ms >= limits.least_harm else "notice"


def _limiter(series: DeviceSeries, top: Plateau) -> str:
    """What may hold it, in words; what a hypervisor serves has a limit of its own before a link."""
    if top.cap is not None and top.cap.is_link and not is_virtual(series):
        return "the ceiling of its link"
    is_wired = top.is_bytes and not is_virtual(series) and not series.name.startswith("nvme")
    link = link_near(top.rate) if is_wired else None
    return f"a rate limit or by its link ({link.name})" if link else "a rate limit"


def _held(top: Plateau, limits: Limits, ranged: float) -> str:
    """At which rate, and under which queue, as the end of a template; `ranged` is how far the queue did."""
    if len(top.rows) >= limits.few and ranged >= limits.asked:
        text = ": {rate} {unit} in {count}{of} samples, whatever the queue ({low} to {high} in flight), "
        return text + "{latency} ms {each}"
    return ": {rate} {unit} with {depth} in flight, {latency} ms {each} (seen in {count}{of} sample{plural})"


_SPLIT = "; {upper} asks for {asked:.0f} kB at a time, and each is split into {pieces:.0f} of {size:.1f} kB"
_OF_SPLIT = (
    "Find out why large requests arrive in pieces, which use up the limit: what the layer above is (a "
    "snapshot splits by its chunk size), and whether the disk may merge them (nomerges, max_sectors_kb).",
)
_OF_LINK = ("If the link is the limit, move the disk to a faster port, or spread the load over more disks.",)
_SHOW_LINK = ("grep -H . /sys/class/ata_link/*/sata_spd", "lspci -vv | grep LnkSta")
_SHOW_SPLIT = ("grep -H . /sys/block/DEVICE/queue/nomerges /sys/block/DEVICE/queue/max_sectors_kb",)


def _split(view: View, series: DeviceSeries, top: Plateau, limits: Limits) -> tuple[Evidence, ...]:
    """The layer above whose requests reach a disk in the most pieces, by equal bytes in the same samples."""
    best: tuple[float, tuple[Evidence, ...]] = (limits.split, ())
    for other in (one for one in view.devices if one.is_stacked and not top.is_bytes):
        disk, above, below = disk_by_bytes(view, other) or (None, series.samples[:0], series.samples[:0])
        is_held = np.isin(below["sample"], top.rows["sample"])
        above, below = above[is_held], below[is_held]
        pieces = weighted.mean(below, "ios_per_s") / max(weighted.mean(above, "ios_per_s"), 1e-9)
        if disk is series and 2 * len(above) > len(top.rows) and pieces >= best[0]:
            values: Values = {"upper": other.name, "device": series.name, "pieces": pieces}
            values |= {"above": weighted.mean(above, "ios_per_s"), "kb": weighted.mean(above, "kb_per_s")}
            values |= {"below": weighted.mean(below, "ios_per_s"), "size": weighted.mean(below, "size_kb")}
            values["asked"] = weighted.mean(above, "size_kb")
            text = (
                "{upper} moves the same {kb} kB/s in {above} requests/s of {asked:.0f} kB: each is "
                "{pieces:.0f} of those on {device}"
            )
            best = (pieces, (cite(above, text, values),))
    return best[1]


def _witnesses(series: DeviceSeries, top: Plateau, limits: Limits) -> Iterator[Evidence]:
    depths = queue_range(series, top, limits.flat / 100)
    if depths >= limits.queue_grows:
        text = "the queue ranged over {depths:.1f}x meanwhile and moved nothing more"
        yield cite(top.rows, text, {"depths": depths})
    elif len(top.rows) > 1 and (asked := _asked(series, top, limits)) >= limits.asked:
        other = "throughput (by the size of requests)"
        other = f"{top.way or 'request'}s/s (by their size)" if top.is_bytes else other
        ranged = other if asked <= top.other_range else "the queue"
        text = f"the rate kept to {{held:.1f}} %, while {ranged} ranged over {{asked:.1f}} %"
        held = max_over_min(top.rows, top.quantity)
        yield cite(top.rows, text, {"held": 100 * (held - 1), "asked": 100 * (asked - 1)})
    is_unseen_link = top.cap is not None and top.cap.is_link and is_virtual(series)
    yield from likeness(replace(top, cap=None) if is_unseen_link else top)
    if top.other_range >= limits.varies:
        text = "the other of IOPS and throughput ranged over {others:.1f}x meanwhile: only one is held"
        yield cite(top.rows, text, {"others": top.other_range})
    if model := cloud_model(series):
        yield cite_origin(top.rows, "its model is {model} ({origin})", model)
    longest, kinds = float(top.rows.floats("cost_ms").max()), set(top.rows["kind"].tolist())
    for kind in load_levels(series):
        alone = unloaded(series, kind) if kind[0].kind in kinds else None
        if alone is not None and alone.is_measured and longest >= 3 * alone.latency_ms:
            text = "requests wait up to {longest} ms where one alone takes {alone} ms"
            yield cite(top.rows, text, {"longest": longest, "alone": alone.latency_ms})
            return


def _at_same_rate(other: DeviceSeries, top: Plateau) -> Evidence:
    values: Values = {"name": other.name, "depth": weighted.mean(other.samples, "depth"), "unit": top.unit}
    values["rate"] = top.in_unit(weighted.mean(other.samples, top.quantity))
    text = "{name} runs at the same number, with {depth} in flight: {rate} {unit}"
    return cite(other.samples, text, values, worst="queue_depth")


RULE = Rule(
    id="volume-cap",
    explains=SYMPTOMS_AND_SATURATION,
    # more devices, or less at once, do nothing about a meter
    replaces=("true-saturation",),
    title="A rate limit holds the volume",
    why="Requests wait for a meter, not for a device.",
    remedy=(
        "Raise the provisioned IOPS or throughput, or the size of the instance, or the quality-of-service "
        "setting.",
        "See the volume's type and limits and what the provider measures (VolumeIOPSExceededCheck, disk IOPS "
        "consumed percentage). With fio at two sizes a cap keeps IOPS or MB/s; a link and a drive at its "
        "ceiling keep MB/s, too.",
        "Bound by IOPS: send larger requests; bound by throughput: send less.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_depth": Threshold(
            4, "requests", "depth while busy that is demand", "judgement: a steady client keeps 1.5 at most"
        ),
        "least_util": Threshold(70, "%", "util that goes with it", "judgement; below: micro-burst-throttle"),
        "steady_depth": Threshold(8, "requests", "depth under which a steady queue is demand", "judgement"),
        "few_depth": Threshold(
            32, "requests", "depth under which one sample shows demand", "the depth of a SATA queue"
        ),
        "waits": Threshold(
            2, "x", "latency over the longest that a healthy device of its class takes", "a real queue"
        ),
        "large": Threshold(
            64, "kB", "size from which throughput is the likelier limit", "half the default readahead"
        ),
        "same": Threshold(0.3, "%", "spread at which two rates are one number", "counts of a second: 3 %"),
        "once": Threshold(
            0.1, "%", "distance from such a number in one sample, and of two rates that are one", "1 in 80"
        ),
        "least_number": Threshold(
            100,
            "IOPS",
            "least number that one sample shows to be a limit's",
            "1 in 60 is round; below, 1 in 6",
        ),
        "few": Threshold(3, "samples", "samples that show a flat top by their spread", "two are no level"),
        "asked": Threshold(1.1, "x", "range of the queue or of the sizes that is a change", "judgement"),
        "stiff": Threshold(0.1, "", "growth of the rate per growth asked (both ln)", "a meter's is 0"),
        "meter": Threshold(0.5, "%", "variation that only a meter keeps to", "disks vary by 1 % and more"),
        "least_samples": Threshold(8, "samples", "samples with demand", "capacity rules need eight"),
        "long_enough": Threshold(30, "s", "demand that needs fewer samples", "five samples of sar at 6 s"),
        "least_flat": Threshold(5, "samples", "consecutive samples on the flat top", "judgement"),
        "flat": Threshold(3, "%", "variation on a flat top", "buckets are exact; sampling edges make 1 %"),
        "queue_grows": Threshold(2, "x", "range of the depth on the flat top", "elasticity 0.04 at the most"),
        "varies": Threshold(1.5, "x", "range of the other rate that shows which one is held", "judgement"),
        "split": Threshold(
            4, "times", "requests below for one above, of equal bytes", "beyond a mirror's two"
        ),
        "answers": Threshold(
            0.2, "ms", "least latency of what a network serves", "io2 Block Express: 0.25 ms and more"
        ),
        "longest": Threshold(60, "s", "sample length that shows a limit", "longer means hide it"),
        "least_harm": Threshold(2, "ms", "latency from which the limit hurts", "judgement"),
    },
    confirm=(
        "fio --name=small --filename=/dev/DEVICE --readonly --rw=randread --direct=1 --ioengine=libaio "
        "--iodepth=32 --bs=4k --runtime=10 --time_based",
        "fio --name=large --filename=/dev/DEVICE --readonly --rw=randread --direct=1 --ioengine=libaio "
        "--iodepth=32 --bs=64k --runtime=10 --time_based",
    ),
    references=(
        "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html",
        "https://learn.microsoft.com/azure/virtual-machines/disks-types",
    ),
    pictures=("ladder",),
    to_clear=ToClear(samples=8, busy_pct=70, columns=("kb_per_s", "queue_depth", "util_pct")),
    detect=detect,
)
