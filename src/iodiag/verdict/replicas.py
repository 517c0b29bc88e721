"""What DRBD tells of requests that wait for the other node, which no disk of this one shows."""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.report import Verdict

_ASKS = "To settle it, on the other node under this load: `iostat -xyt 1 30`; to it: `ping -c 20 OTHER_NODE`"
_ASKS_WHY = (
    "Why, the kernel's log and the state of the nodes tell: `dmesg -T | grep -i drbd`, `drbdadm status`"
)


def of_the_peer(views: Sequence[View]) -> tuple[Verdict, str] | None:
    """What quick disks do not show where they hold a replicated device: writes may wait for the other node.

    None where DRBD's own device was timed, or no node is seen to serve one and to wait for another. One that
    is suspended takes no request: its own rows show none either. Of several looks at a device the last tells
    whether it still is, and any of them what it held.
    """
    facts = [fact for view in views for fact in view.facts_of("drbd")]
    primary = [fact for fact in facts if fact.word("role") == "Primary"]
    if text := _of_suspended(primary, facts):
        return Verdict("open", asks=_ASKS_WHY), f"But {text}. {_ASKS_WHY}"
    # requests that are sent and not answered wait all the same: for a full link, or one that just broke
    served = [one for one in primary if one.word("peer") not in _WAITED_FOR_BY_NONE or _beyond_disk(one)]
    devices = (one for view in views for one in view.devices if one.name.startswith("drbd"))
    if not served or any(not one.is_untimed for one in devices):
        return None
    held = max(served, key=_beyond_disk)
    if _beyond_disk(held):
        return Verdict("open", asks=_ASKS), f"But {_of_held(held, facts)}. {_ASKS}"
    text = (
        f"But {_name(held)} stands on a disk of the other node, too: a write may wait for it, and the capture"
    )
    return Verdict("unknown", asks=_ASKS), f"{text} does not show it. {_ASKS}"


def _of_suspended(primary: Sequence[Fact], facts: Sequence[Fact]) -> str:
    """A device that is suspended, else one that was, with what another one holds; empty without."""
    last = {(one.host, one.word("device") or one.ref): one for one in primary}
    looks = [(last[one.host, one.word("device") or one.ref], one) for one in primary if one.word("suspended")]
    if not looks:
        return ""
    now, frozen = max(looks, key=lambda look: bool(look[0].word("suspended")))
    text = "{name} is suspended (line {line}): what its users ask for waits until it is resumed"
    if not now.word("suspended"):
        text = (
            "{name} was suspended (line {line}), and no longer is (line {now}): its users waited until then"
        )
    others = [one for one in primary if not one.word("suspended")]
    held = max(others, key=_beyond_disk, default=None)
    also = f". {_of_held(held, facts)}" if held and _beyond_disk(held) else ""
    return say(text, {"name": _name(frozen), "line": frozen.ref.first, "now": now.ref.first}) + also


def _of_held(held: Fact, facts: Sequence[Fact]) -> str:
    """The requests that a device holds, with what the other node tells of it where it was read, too."""
    values: Values = {"name": _name(held), "line": held.ref.first}
    for key in ("upper_pending", "lower_pending", "peer_pending", "out_of_sync_kb"):
        values[key] = weighted.or_zero(held.number(key))
    text = (
        "{name} holds {upper_pending:.0f} requests of its users, {lower_pending:.0f} at its own disk and "
        "{peer_pending:.0f} sent to the other node (line {line}): they wait for that node, or for the link "
        "to it"
    )
    device = held.word("device")
    others = [one for one in facts if one.word("role") == "Secondary" and one.word("device") == device]
    there = max((weighted.or_zero(one.number("lower_pending")) for one in others), default=0.0)
    if device and there > 0:
        text, values["there"] = text + ", where {there:.0f} are at its disk", there
    if held.number("out_of_sync_kb") > 0:
        text += "; {out_of_sync_kb:.0f} kB are out of sync"
        text += ", and copied meanwhile" * (held.word("peer") == "copying")
    return say(text + ". How long they wait, that one look does not show", values)


def _name(fact: Fact) -> str:
    return fact.word("device") or "the replicated device (DRBD)"


_WAITED_FOR_BY_NONE = ("away", "not waited for")
"""What a peer is that delays no write, unless requests are seen to be held."""


def _beyond_disk(fact: Fact) -> float:
    """Requests of its users that are sent to the other node and not at the own disk; 0 where not counted."""
    beyond = fact.number("upper_pending") - fact.number("lower_pending")
    return max(0.0, weighted.or_zero(min(beyond, fact.number("peer_pending"))))
