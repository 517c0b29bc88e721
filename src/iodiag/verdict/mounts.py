"""What the tables of NFS mounts tell where a capture has nothing else of its storage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.states.service_times import SERVICE
from iodiag.analysis.view.view import View


def answer_promptly(views: Sequence[View]) -> bool:
    """Whether samples of NFS mounts are all that the captures have, and each is answered as a network's disk.

    Nothing waits on this host before it is sent, nothing is sent again, and no mount falls silent. Reads and
    writes have to be most of what is asked: nothing times the rest.
    """
    is_alone = all(
        view.tables.keys() == {"nfs_mounts"} and not view.average_only and not view.facts for view in views
    )
    return is_alone and bool(views) and all(map(_are_prompt, views))


def _are_prompt(view: View) -> bool:
    mounts = view.samples("nfs_mounts")
    if mounts is None:
        return False
    ops, reports = mounts.floats("ops_per_s"), mounts.floats("report")
    moved = np.sum([mounts.floats(f"{way}s_per_s") for way in _WAYS], axis=0)
    # mounts of one server may share a connection, and each prints its operations
    asked = sum(np.unique(ops[reports == report]).sum() for report in np.unique(reports))
    lasts = [ops[mounts["mount"] == name] for name in mounts["mount"].distinct()]
    if not moved.sum() >= asked / 2 > 0 or any(own[-1] == 0 and (own > 0).any() for own in lasts):
        return False
    return all(_is_prompt(view, way) for way in _WAYS)


def _is_prompt(view: View, way: str) -> bool:
    """Whether all samples with such operations are prompt; what is not shown is not."""
    mounts = view.samples("nfs_mounts")
    if mounts is None:
        return False
    is_used = ~(mounts.floats(f"{way}s_per_s") == 0)
    trip, whole, size = (
        mounts.floats(f"{way}_{name}")[is_used] for name in ("round_trip_ms", "await_ms", "request_size_kb")
    )
    usual = np.array([SERVICE["network"].usual(kb) for kb in np.nan_to_num(size)])
    is_prompt = (trip <= usual) & (whole <= np.maximum(_NO_WAIT * trip, trip + _NO_WAIT_MS))
    again = mounts.floats(f"{way}_retransmissions")[is_used], mounts.floats("backlog")[is_used]
    return bool((is_prompt & ~np.nan_to_num(again).any(axis=0)).all())


_WAYS, _NO_WAIT, _NO_WAIT_MS = ("read", "write"), 1.2, 0.5
"""Times the round trip, or ms more, that is no wait here."""


def of_mount_samples(views: Sequence[View]) -> str:
    """What the NFS mount that was asked most did in its samples, as a clause; empty without any."""
    live = [view for view in views if "nfs_mounts" not in view.average_only]
    mounts = next((found for view in live if (found := view.samples("nfs_mounts")) is not None), None)
    if mounts is None:
        return ""
    # mounts of one server may share a connection, and each prints its operations
    asked = np.nansum([mounts.floats(f"{way}s_per_s") for way in _WAYS], axis=0)
    each = [(asked[mounts["mount"] == name].mean(), name) for name in mounts["mount"].distinct()]
    name = max(each)[1]
    own = mounts[mounts["mount"] == name]
    values: Values = {"name": name, "ops": weighted.mean(own, "ops_per_s", "nfs_mounts"), "samples": len(own)}
    text = "{name}, in {samples} samples: {ops:.0f} operations/s"
    for way in ("read", "write"):
        rate, size, trip, whole = (
            weighted.mean(own, f"{way}{column}", "nfs_mounts")
            for column in ("s_per_s", "_request_size_kb", "_round_trip_ms", "_await_ms")
        )
        if rate > 0 and trip > 0:
            text += f"; {{{way}s:.0f}} {way}s/s of {{{way}_kb:.0f}} kB, {{{way}:.2f}} ms each to the "
            text += "server and back"
            text += f", {{{way}_whole:.2f}} ms in all" if whole > 0 else ""
            values |= {f"{way}s": rate, f"{way}_kb": size, way: trip, f"{way}_whole": whole}
    return say(text, values)


def of_mounts(views: Sequence[View]) -> str:
    """What the NFS mount that was asked most did on average since it was mounted; empty without one."""
    mounts = next((found for view in views if (found := view.samples("nfs_mounts")) is not None), None)
    if mounts is None:
        return ""
    asked = np.nansum([mounts.floats("reads_per_s"), mounts.floats("writes_per_s")], axis=0)
    one = mounts[int(np.argmax(asked)) :][:1]
    values: Values = {"name": str(one["mount"][0]), "ops": float(one.floats("ops_per_s")[0])}
    sharing = len(mounts[mounts.floats("ops_per_s") == values["ops"]]["mount"].distinct())
    text = "{name} since its mount: {ops:.2f} operations/s"
    if sharing > 1:  # mounts of one server have one connection, whose operations each prints
        values["sharing"] = sharing
        text = "{name} since its mount: its connection, which {sharing} mounts share, {ops:.2f} operations/s"
    for way in ("read", "write"):
        rate, trip, whole = (
            float(one.floats(f"{way}{name}")[0]) for name in ("s_per_s", "_round_trip_ms", "_await_ms")
        )
        if trip > 0:
            text += f"; {{{way}s:.3f}} {way}s/s, {{{way}:.2f}} ms each to the server and back"
            text += f", {{{way}_whole:.2f}} ms in all" if whole > 0 else ""
            values |= {f"{way}s": rate, way: trip, f"{way}_whole": whole}
    return f" ({say(text, values)})"
