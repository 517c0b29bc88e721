"""What the tables of NFS mounts tell where a capture has nothing else of its storage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.view.view import View


def of_mount_samples(views: Sequence[View]) -> str:
    """What the NFS mount that was asked most did in its samples, as a clause; empty without any."""
    live = [view for view in views if "nfs_mounts" not in view.average_only]
    mounts = next((found for view in live if (found := view.samples("nfs_mounts")) is not None), None)
    if mounts is None:
        return ""
    rates = {
        name: weighted.mean(mounts[mounts["mount"] == name], "ops_per_s", "nfs_mounts")
        for name in mounts["mount"].distinct()
    }
    name = max(rates, key=lambda one: weighted.or_zero(rates[one]))
    own = mounts[mounts["mount"] == name]
    values: Values = {"name": name, "ops": rates[name], "samples": len(own)}
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
