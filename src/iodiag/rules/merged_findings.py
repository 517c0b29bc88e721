"""One trouble is one finding: five full disks are told once, and so is a volume with the disk below it.

Devices are alike where their requests come at like rates and take a like time, or where all stand still;
members of one array, all of which have the trouble, where what waits is of one direction and as long.
Those of a stack are one where no layer takes much longer; then the disk is told, and the chain is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from iodiag.analysis.array.equal_rates import are_alike
from iodiag.analysis.array.side_by_side import are_beside
from iodiag.analysis.array.topmost_devices import are_related, representatives, topmost
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import cite_origin
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.view.device_names import is_md, is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import CONFIDENCES, HARMLESS, SEVERITIES, Evidence, Finding
from iodiag.table.table import stacked

_MOST_TOLD = 6
_OF_SEVERAL = {"stack", "peers"}
"""Pictures of findings that hold devices against each other, which each tell of something else."""


def merged(findings: Iterable[Finding], view: View, relatives: Mapping[str, frozenset[str]]) -> list[Finding]:
    """Findings of one rule taken together where their devices are alike, or layers of one stack.

    What is like one that is like the first is so as well; a longer chain would end far from where it begins.
    """

    findings = list(findings)
    sets = _whole_sets(findings, view)

    def belongs(finding: Finding, group: Sequence[Finding]) -> bool:
        first, near = group[0], (one for one in group if _belongs(finding, one, view, relatives, sets))
        return any(one is first or _belongs(one, first, view, relatives, sets) for one in near)

    groups: list[list[Finding]] = []
    for finding in _by_stack(findings, view):
        group = next((g for g in groups if belongs(finding, g)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return [_with_chain(_one(group, view, sets), view) for group in groups]


Sets = Mapping[str, frozenset[frozenset[str]]]
"""By rule the names of the members of each array all of which it found."""


def _whole_sets(findings: Sequence[Finding], view: View) -> Sets:
    found: dict[str, set[str]] = {}
    for finding in findings:
        found.setdefault(finding.rule, set()).update(finding.devices[:1])
    arrays = [frozenset(leg.name for leg in legs) for _, legs in view.arrays()]
    return {rule: frozenset(legs for legs in arrays if legs <= names) for rule, names in found.items()}


def _by_stack(findings: Sequence[Finding], view: View) -> Iterator[Finding]:
    """The findings, those of one rule on layers of one stack as one."""
    of_rule: dict[str, dict[str, Finding]] = {}
    for finding in findings:
        if finding.devices and not _OF_SEVERAL & set(finding.pictures):
            of_rule.setdefault(finding.rule, {}).setdefault(finding.devices[0], finding)
    others_of = {
        (rule, lead): others
        for rule, by_device in of_rule.items()
        if len(by_device) > 1
        for lead, others in representatives(view, by_device).items()
    }
    is_told = {(rule, name) for (rule, _), others in others_of.items() for name in others}
    for finding in findings:
        key = finding.rule, finding.devices[0] if finding.devices else ""
        if of_rule.get(key[0], {}).get(key[1]) is not finding or key not in is_told:
            yield _joined(finding, [of_rule[key[0]][name] for name in others_of.get(key, ())])


def _joined(lead: Finding, others: Sequence[Finding]) -> Finding:
    """The finding of a stack: its lead's, as grave as the gravest."""
    gravest = max(
        (lead, *others), key=lambda f: (SEVERITIES.index(f.severity), CONFIDENCES.index(f.confidence))
    )
    names = dict.fromkeys(name for finding in (lead, *others) for name in finding.devices)
    severity, confidence = gravest.severity, gravest.confidence
    return replace(lead, devices=tuple(names), severity=severity, confidence=confidence)


def _belongs(
    finding: Finding, first: Finding, view: View, relatives: Mapping[str, frozenset[str]], sets: Sets
) -> bool:
    same = (finding.rule, finding.severity, finding.explained_by) == (
        *(first.rule, first.severity, first.explained_by),
    )
    if not same or len(finding.devices) != 1 or len(first.devices) != 1:
        return False
    one, other = finding.devices[0], first.devices[0]
    # what a listing states of one disk is not so of another that has a like load
    is_stated = finding.samples is None and "disk" not in view.average_only
    if is_stated and finding.summary.replace(one, "") != first.summary.replace(other, ""):
        return False
    found = [series for name in (one, other) if (series := view.series(name)) is not None]
    if (finding.confidence, finding.samples) != (first.confidence, first.samples):
        return False
    if one == other or one in relatives.get(other, ()) or len(found) != 2:
        return False
    is_of_set = any({one, other} <= legs for legs in sets[finding.rule])
    return are_alike(*found) or (is_of_set and _wait_alike(*found))


def _wait_alike(one: DeviceSeries, other: DeviceSeries) -> bool:
    """Whether the requests that wait longest are of the same direction on both, and take a like time."""
    waits = [
        [weighted.or_zero(weighted.mean(s.loaded, f"{way}_await_ms")) for way in DIRECTIONS]
        for s in (one, other)
    ]
    (reads, writes), (other_reads, other_writes) = waits
    is_same = (reads > writes) == (other_reads > other_writes)
    least, most = sorted(max(pair) for pair in waits)
    return is_same and 0 < most <= _LIKE_WAIT * least and are_beside(one, other)


_LIKE_WAIT = 2.0
"""Times that members of one array differ in what their slow direction takes where they share its cause."""


def _one(group: Sequence[Finding], view: View, sets: Sets) -> Finding:
    first, *others = sorted(group, key=lambda finding: (_layer(finding), -_wait_ms(finding, view)))
    if not others:
        return first
    names = [finding.devices[0] for finding in others]
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    alike = f" The same holds for {', '.join(names[:_MOST_TOLD])}{more}."
    if first.role == "symptom" and frozenset((first.devices[0], *names)) in sets[first.rule]:
        alike += _SHARED
    evidence = [*first.evidence]
    for finding in others[:_MOST_TOLD]:
        evidence += [item for item in finding.evidence if item.weighs == "for"][:1]
    of_others = (text for finding in others for text in finding.confirm if "/dev/" in text)
    return replace(
        first,
        devices=(*first.devices, *names),
        summary=first.summary + alike,
        evidence=tuple(evidence),
        confirm=tuple(dict.fromkeys((*first.confirm, *of_others))),
    )


_SHARED = (
    " These are all members of one array: look at what they share (the host, a controller, the load) before "
    "any of them."
)


def _wait_ms(finding: Finding, view: View) -> float:
    """What requests take under load on its device: the worst of those that are alike is told."""
    series = view.series(finding.devices[0]) if finding.devices else None
    return weighted.or_zero(weighted.mean(series.loaded, "latency_ms")) if series is not None else 0.0


def _layer(finding: Finding) -> int:
    """How high a device stands by its name: disks, md, device-mapper, where no input says it."""
    name = finding.devices[0] if finding.devices else ""
    return 0 if is_physical(name) else 1 if is_md(name) else 2


def _with_chain(finding: Finding, view: View) -> Finding:
    """The finding with the chain of its devices named, where all of them are of one."""
    lead, *others = finding.devices or ("",)
    if finding.role in HARMLESS or not others or not all(are_related(view, lead, name) for name in others):
        return finding
    stack, why = _stack(view, finding.devices)
    rows = stacked([series.samples for name in finding.devices if (series := view.series(name))])
    if len(stack) < 2 or not set(finding.devices) <= {name for layer in stack for name in layer}:
        return finding
    layers = " on ".join(", ".join(layer) for layer in stack)
    equal = "bytes" if all("as many bytes as" in one for one in why) else "rates"
    inferred = f", as equal {equal} show" if why else ""
    text = f" The stack: {layers}{inferred}; the same requests pass through each layer."
    evidence: tuple[Evidence, ...] = tuple(
        cite_origin(rows, "{why}", {"why": text}, weighs="context") for text in why
    )
    return replace(finding, summary=finding.summary + text, evidence=(*finding.evidence, *evidence))


def _stack(view: View, names: Sequence[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The layers from the topmost of some devices downwards, and what of it is inferred.

    Several share the uppermost layer where they stand on the same one.
    """
    tops = tuple(topmost(view, names))
    chains = [_chain(view, top) for top in tops]
    below = chains[0][1:]
    if any(chain[1:] != below for chain in chains):
        return [], []
    found = [view.topology.find(name) for name in (*tops, *below)]
    origins = [device.provenance.get("members", "") for device in found if device is not None]
    inferred = [origin for origin in origins if origin.startswith("inferred")]
    return [tops, *((name,) for name in below)], list(dict.fromkeys(inferred))


def _chain(view: View, name: str) -> list[str]:
    """The devices from one downwards while each stands on one."""
    chain = [name]
    while len(below := view.topology.members(chain[-1])) == 1 and below[0].name not in chain:
        chain.append(below[0].name)
    return chain
