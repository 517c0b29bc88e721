"""What DRBD tells of requests that wait for the other node, which no disk of this one shows."""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.report import Verdict

_ASKS = "To settle it, on the other node under this load: `iostat -xyt 1 30`; to it: `ping -c 20 OTHER_NODE`"


def of_the_peer(views: Sequence[View]) -> tuple[Verdict, str] | None:
    """What quick disks do not show where they hold a replicated device: writes may wait for the other node.

    None where DRBD's own device was timed, or no node is seen to serve one and to wait for another.
    """
    facts = [fact for view in views for fact in view.facts_of("drbd")]
    primary = [fact for fact in facts if fact.word("role") == "Primary"]
    # requests held beyond the own disk wait all the same: for a full link, or frozen until the peer is back
    served = [one for one in primary if one.word("peer") not in _WAITED_FOR_BY_NONE or _beyond_disk(one)]
    devices = (one for view in views for one in view.devices if one.name.startswith("drbd"))
    if not served or any(not one.is_untimed for one in devices):
        return None
    held = max(served, key=_beyond_disk)
    name = held.word("device") or "the replicated device (DRBD)"
    if not _beyond_disk(held):
        text = f"But {name} stands on a disk of the other node, too: a write may wait for it, and the capture"
        return Verdict("unknown", asks=_ASKS), f"{text} does not show it. {_ASKS}"
    values: Values = {
        key: weighted.or_zero(held.number(key))
        for key in ("upper_pending", "lower_pending", "peer_pending", "out_of_sync_kb")
    }
    text = "But {name} holds {upper_pending:.0f} requests of its users, {lower_pending:.0f} at its own disk "
    text += (
        "and {peer_pending:.0f} sent to the other node (line {line}): they wait for that node, or for the "
    )
    text += "link to it"
    values["line"] = held.ref.first
    others = (fact.number("lower_pending") for fact in facts if fact.word("role") == "Secondary")
    if (there := max(map(weighted.or_zero, others), default=0.0)) > 0:
        text, values["there"] = text + ", where {there:.0f} are at its disk", there
    if float(values["out_of_sync_kb"]) > 0:
        text += "; {out_of_sync_kb:.0f} kB are out of sync"
        text += ", and copied meanwhile" * (held.word("peer") == "copying")
    text += ". How long they wait, that one look does not show"
    return Verdict("open", asks=_ASKS), f"{say(text, values | {'name': name})}. {_ASKS}"


_WAITED_FOR_BY_NONE = ("away", "not waited for")
"""What a peer is that delays no write, unless requests are seen to be held."""


def _beyond_disk(fact: Fact) -> float:
    """Requests of its users that are sent to the other node and not at the own disk; 0 where not counted."""
    beyond = fact.number("upper_pending") - fact.number("lower_pending")
    return max(0.0, weighted.or_zero(min(beyond, fact.number("peer_pending"))))
