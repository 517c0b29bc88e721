"""Requests per second on one layer say little about another.

What it detects: devices above and the ones they stand on, whose requests are in a ratio that spans a
tenfold range within the capture: sequential requests merge on their way down to a few large ones, small
writes on parity multiply. Where a limit in requests per second is stated for such a device
(io.max riops/wiops), one ratio far from one is enough. Where nothing tells what a mapped device stands on,
the only disk that moves its bytes in the same sample is taken for it.

Why it matters: a limit in requests per second at the top throttles harmless sequential work as hard as
it spares the random work that loads the disks.

When it is wrong: it is no trouble by itself, only a warning against a unit. Ratios near two are
ordinary mirrors and say nothing.

References: Documentation/admin-guide/cgroup-v2.rst (io.max, io.cost); libvirt's blkdeviotune.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes
from iodiag.analysis.array.members import arrays
from iodiag.analysis.array.side_by_side import first_row_per_report, report_keys, total_of
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, Weighs, cite, cite_fact, say
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table, numbered, stacked

MOST_BETWEEN = 4
WORTH_SAYING = 10.0
"""Per cent of requests that merge, from which on it is said."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for the host: the lowest ratio of requests between two layers, and the highest."""
    found = [extreme for pair in layers(view) for extreme in _extremes(pair, limits)]
    if not found:
        known = any(True for device in view.topology if device.members)
        reason = "no device with samples stands on others with samples, or hardly used"
        missing = () if known else ("topology",)
        yield Outcome(RULE.id, "clear" if known else "not_applicable", (), reason, missing)
        return
    found.sort(key=lambda extreme: extreme[0])
    low, high = found[0], found[-1]
    capped = _capped(view, (low[1], high[1]))
    spans = high[0] >= limits.span * low[0]
    if spans or (capped and (low[0] < limits.fewer or high[0] > limits.more)):
        yield _finding(found, capped, spans)
    else:
        names = tuple(dict.fromkeys(name for _, pair, _ in found for name in pair.upper))
        yield RULE.clear("the ratio of requests between layers hardly changes", *names)


def _extremes(pair: Layers, limits: Limits) -> Iterator[Extreme]:
    """The ratios that a tenth of the used samples stay below and above, with the samples beyond them."""
    rows = pair.rows
    lengths = weighted.seconds_or_one(rows)
    counted = rows.floats("upper_ios_per_s") + rows.floats("lower_ios_per_s")
    moved = [rows.floats(f"{layer}_kb_per_s") for layer in ("upper", "lower")]
    used = rows.floats("upper_ios_per_s") >= limits.least_ios
    used &= (counted * lengths >= limits.least_requests) & (rows.floats("lower_ios_per_s") > 0)
    used &= moved[1] <= limits.most_moved * moved[0]  # else something else moves the lower devices
    rows = rows[used]
    if not len(rows):
        return
    ratios = rows.floats("ratio")
    for share, side in ((0.1, np.less_equal), (0.9, np.greater_equal)):
        edge = float(np.quantile(ratios, share, method="lower" if share < 0.5 else "higher"))
        chosen = rows[side(ratios, edge)]
        yield weighted.ratio(chosen, "lower_ios_per_s", "upper_ios_per_s"), pair, chosen


def _capped(view: View, pairs: Sequence[Layers]) -> list[Fact]:
    """Limits in requests per second that are stated for devices of these layers."""
    names = {name for pair in pairs for name in (*pair.upper, *pair.lower)}
    return [
        fact
        for fact in view.facts_of("cgroup")
        if view.topology.canonical(fact.word("device")) in names
        and not np.isnan([fact.number(f"limit_{d}_per_s") for d in ("reads", "writes")]).all()
    ]


def _finding(found: Sequence[Extreme], capped: list[Fact], spans: bool) -> Finding:
    low, *between, high = found
    values: Values = {"low": low[0], "high": high[0], "span": high[0] / low[0]}
    devices = tuple(dict.fromkeys((*low[1].upper, *high[1].upper)))
    both = stacked([pair.samples(rows) for _, pair, rows in (low, high)])
    return RULE.finding(
        severity="info",
        confidence="high" if len(low[2]) + len(high[2]) >= 6 or capped else "medium",
        devices=devices,
        summary=say(_SPAN if spans else _CAPPED, values),
        evidence=_once(
            *_evidence(low),
            *_evidence(high),
            *([cite(both, _APART, values)] if spans else []),
            *(cite_fact(fact) for fact in capped),
            *(item for extreme in between[:MOST_BETWEEN] for item in _evidence(extreme, weighs="context")),
        ),
        refutes=("limits that are given in bytes per second or in device time, not in requests",),
    )


def _once(*evidence: Evidence) -> tuple[Evidence, ...]:
    """Evidence without what an earlier item said: layers may share their extremes."""
    first: dict[str, Evidence] = {}
    for item in evidence:
        first.setdefault(item.text, item)
    return tuple(first.values())


def _evidence(extreme: Extreme, weighs: Weighs = "for") -> Iterator[Evidence]:
    ratio, pair, rows = extreme
    samples = pair.samples(rows)
    present = set(numbered(samples["device"])[1])
    merges = weighted.mean(rows, "lower_read_merges_per_s") + weighted.mean(rows, "lower_write_merges_per_s")
    below = weighted.mean(rows, "lower_ios_per_s")
    merged = 100 * merges / (merges + below)
    values: Values = {
        "upper": ", ".join(name for name in pair.upper if name in present),
        "lower": ", ".join(pair.lower),
        "above": weighted.mean(rows, "upper_ios_per_s"),
        "below": below,
        "ratio": ratio,
        "merged": merged,
        "bios": merges + below,
    }
    yield cite(samples, _RATIO, values, weighs=weighs)
    if merged >= WORTH_SAYING:
        yield cite(samples, _MERGED, values, weighs="context")


_RATIO = "{above} requests/s on {upper} are {below} requests/s on {lower}: {ratio} each"
_MERGED = "{merged:.1f} % of the {bios} requests/s that reach {lower} merge into others"
_SPAN = (
    "One request at the top is {low} requests on one occasion and {high} on another, {span} times as many: "
    "limits and goals in requests per second do not bound what the disks do."
)
_CAPPED = (
    "A limit in requests per second is stated, but requests change their number on the way down, {low} to "
    "{high} each: it does not bound what the disks do."
)

_APART = "{low} requests below for one above here, {high} there: {span} times as many"


_SUMMED = ("ios_per_s", "kb_per_s", "read_merges_per_s", "write_merges_per_s")


@dataclass(frozen=True)
class Layers:
    """Devices and those they stand on; `rows` has a row per report, with sums as `upper_…` and `lower_…`.

    `parts` are the samples of each device of both layers, a report's first each.
    """

    upper: tuple[str, ...]
    lower: tuple[str, ...]
    rows: Table = field(repr=False)
    parts: tuple[Table, ...] = field(repr=False)

    def samples(self, rows: Table) -> Table:
        """The samples of both layers in some of the `rows`."""
        wanted = report_keys(rows)
        return stacked([part[np.isin(report_keys(part), wanted)] for part in self.parts])


Extreme = tuple[float, Layers, Table]


def layers(view: View) -> Iterator[Layers]:
    """Each array above its legs, all that stands on a set of disks above those disks, and what moves as much.

    That is a mapped device of which nothing is known and the only disk with its bytes, in their reports.
    """
    seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    pairs = [
        (view.series(array.name), array.legs) for array in arrays(view) if array.is_seen and array.leg_rows
    ]
    stacks = [([series], list(legs)) for series, legs in pairs if series is not None]
    for upper, lower in (*stacks, *_stacks(view)):
        names = tuple(s.name for s in upper), tuple(s.name for s in lower)
        if names not in seen:
            seen.add(names)
            yield _joined(upper, lower)
    known = {name for names in seen for name in names[0]}
    for top in (
        s
        for s in view.devices
        if s.is_stacked and s.name not in known and not (s.device and s.device.members)
    ):
        if (found := disk_by_bytes(view, top)) is not None:
            disk, _, below = found
            pair = _joined([top], [disk])
            yield replace(pair, rows=pair.rows[np.isin(report_keys(pair.rows), report_keys(below))])


def _stacks(view: View) -> Iterator[tuple[list[DeviceSeries], list[DeviceSeries]]]:
    """Topmost devices with the disks below them; those that share a disk go together."""
    groups: list[tuple[set[str], set[str]]] = []
    for series in view.devices:
        leaves = {leaf.name for leaf in view.topology.leaves(series.name)} - {series.name}
        is_topmost = not any(view.series(parent.name) for parent in view.topology.parents(series.name))
        if not leaves or not is_topmost or not all(view.series(leaf) for leaf in leaves):
            continue
        tops = {series.name}
        for group in [group for group in groups if group[1] & leaves]:
            groups.remove(group)
            tops, leaves = tops | group[0], leaves | group[1]
        groups.append((tops, leaves))
    for tops, leaves in groups:
        order = [series.name for series in view.devices]
        upper = [view.series(name) for name in sorted(tops, key=order.index)]
        lower = [view.series(name) for name in sorted(leaves, key=order.index)]
        yield [s for s in upper if s is not None], [s for s in lower if s is not None]


def _joined(upper: Sequence[DeviceSeries], lower: Sequence[DeviceSeries]) -> Layers:
    """Sums per report; a report needs all of the lower devices, and one of the upper."""
    above, below = (
        [first_row_per_report(series) for series in upper],
        [first_row_per_report(series) for series in lower],
    )
    rows = below[0]
    for part in below[1:]:
        rows = _shared(rows, [part])
    rows = _shared(rows, above)
    reports = report_keys(rows)
    sums = {
        f"{layer}_{column}": total_of(parts, column, reports)
        for layer, parts in (("upper", above), ("lower", below))
        for column in _SUMMED
    }
    ratio = sums["lower_ios_per_s"] / np.maximum(sums["upper_ios_per_s"], 1e-9)
    names = tuple(s.name for s in upper), tuple(s.name for s in lower)
    return Layers(*names, rows.with_columns(**sums, ratio=ratio), (*above, *below))


def _shared(rows: Table, parts: Sequence[Table]) -> Table:
    """The rows of reports that any of the parts has."""
    keys, others = report_keys(rows), [report_keys(part) for part in parts]
    if any(np.array_equal(keys, other) for other in others):
        return rows
    return rows[np.isin(keys, np.concatenate(others))]


RULE = Rule(
    id="layer-iops-mismatch",
    role="context",
    title="Requests per second on one layer say little about another",
    why="A limit in requests per second hits sequential work that costs nothing, and spares what does.",
    remedy=(
        "Limit bytes per second or device time: blkdeviotune --total-bytes-sec, io.max rbps/wbps, io.cost.",
        "Compare loads on one layer only, the disks' for capacity.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s|write_kb_per_s|kb_per_s",)},)),
    thresholds={
        "span": Threshold(
            10, "times", "from the lowest ratio to the highest", "a measured host showed 160 (0.024 and 3.84)"
        ),
        "fewer": Threshold(0.3, "per request", "ratio below which a cap misleads", "three and more merge"),
        "more": Threshold(1.8, "per request", "ratio above which a cap misleads", "a mirror doubles writes"),
        "least_ios": Threshold(20, "requests/s", "at the top", "judgement: less is housekeeping"),
        "least_requests": Threshold(100, "requests", "in a sample", "10 % of random error"),
        "most_moved": Threshold(6.5, "times", "the bytes, on the lower layer", "RAID6 moves six at most"),
    },
    confirm=("lsblk -o NAME,TYPE,SIZE", "iostat -xyt 1 30"),
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html",),
    pictures=("stack",),
    detect=detect,
)
