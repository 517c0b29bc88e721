"""A thin pool is nearly full, or is full: of its data or of its metadata.

What it detects: a thin pool of LVM whose Data% or Meta% (lvs) is 90 % or more.

Why it matters: thin volumes are promised more than the pool holds. When its data is full, writes to space
that was not used before wait for a minute and then fail; when its metadata is full, the pool becomes
read-only and needs a repair. Either stops every volume of the pool at once, whatever space their file
systems show.

When it is wrong: lvs may be older than the capture. A pool that LVM extends by itself
(thin_pool_autoextend_threshold below 100) is safe while its volume group has free space. A pool that nobody
writes new data to stays as full as it is. Data% of a thin volume says only how much of it is mapped: it
is not judged.

References: lvmthin(7), "Data space exhaustion", "Metadata space exhaustion"; Linux
Documentation/admin-guide/device-mapper/thin-provisioning.rst (no_space_timeout of 60 s).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from iodiag.analysis.measure.evidence import Values, cite_fact, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear

_PARTS = {"data": "-L +10G", "metadata": "--poolmetadatasize +1G"}
"""What of a pool can be full, and what lvextend is told to make more of it."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per pool that is nearly full, by the last listing of it."""
    pools = {fact.word("device"): fact for fact in view.facts_of("thin-pool")}
    for name, fact in pools.items():
        shares = {part: fact.number(f"{part}_pct") for part in _PARTS}
        if full := {part: share for part, share in shares.items() if share >= limits.full}:
            yield _finding(name, fact, full)
        elif any(map(math.isnan, shares.values())):
            yield RULE.undetermined("Meta% of the thin pool is not listed: lvs -a would", name)
        else:
            yield RULE.clear("the thin pool has room for data and metadata", name)
    if not pools:
        yield RULE.not_applicable("no thin pool is listed: lvs -a would", missing=("topology",))


def _finding(name: str, fact: Fact, full: dict[str, float]) -> Finding:
    values: Values = {"device": name, **full}
    is_stopped = max(full.values()) >= 100
    parts = " and ".join(f"{{{part}:g}} % of its {part}" for part in full)
    then = (
        "writes to new space wait, then fail" if is_stopped else "when it is full, writes to new space fail"
    )
    path = f"/dev/mapper/{name}"
    return RULE.finding(
        # before it is full nobody waits for it: it must not stand above what somebody waits for now
        severity="critical" if is_stopped else "notice",
        confidence="high",
        devices=(name,),
        summary=say(f"Thin pool {{device}} uses {parts}: {then}.", values),
        evidence=(cite_fact(fact),),
        remedy=(
            *(
                f"Extend it: lvextend {_PARTS[part]} {path}; vgs shows whether its group has room."
                for part in full
            ),
            *RULE.remedy,
        ),
        refutes=("a newer lvs: the one given may be older than the capture",),
        cannot_know=("how fast it fills, and whether LVM extends it by itself",),
    )


RULE = Rule(
    id="thin-pool-exhaustion",
    title="A thin pool is nearly full",
    why="Writes to new space stop when it is, on all of its volumes at once.",
    remedy=(
        "Give space back: delete snapshots that nobody needs, then fstrim the file systems above it.",
        "Let LVM extend it: thin_pool_autoextend_threshold = 80 in lvm.conf, with room in the group.",
    ),
    needs=Needs(),
    thresholds={
        "full": Threshold(
            90, "%", "of the pool's data or metadata in use", "lvmthin(7): extend before it is full"
        )
    },
    confirm=("lvs -a -o +data_percent,metadata_percent", "vgs", "dmsetup status /dev/DEVICE"),
    references=("https://man7.org/linux/man-pages/man7/lvmthin.7.html",),
    # lvs tells, no sample does
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
