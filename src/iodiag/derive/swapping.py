"""How much a host swaps, in kB/s whatever the source counts, and onto what."""

from __future__ import annotations

import pandas as pd

from iodiag.derive import weighted
from iodiag.derive.facts import word
from iodiag.derive.view import View
from iodiag.model.units import KB_PER_PAGE


def swapped(view: View) -> pd.DataFrame | None:
    """The swapping table with `in_kb` and `out_kb` per second, and `both_kb` their sum.

    sar counts pages; they are taken for 4 kB, their size on all but some arm64 and POWER hosts.
    """
    table = view.table("swapping")
    if table is None:
        return None
    frame = table.copy()
    for direction in ("in", "out"):
        pages = weighted.values(frame, f"pages_{direction}_per_s") * KB_PER_PAGE
        frame[f"{direction}_kb"] = pd.Series(
            weighted.values(frame, f"swap_{direction}_kb_per_s"), index=frame.index
        ).fillna(pd.Series(pages, index=frame.index))
    frame["both_kb"] = frame["in_kb"] + frame["out_kb"]
    return frame


def swap_devices(view: View) -> tuple[str, ...]:
    """The devices with samples that swap lies on, or that such a partition is a part of."""
    named = [name for fact in view.facts_of("swaps") for name in word(fact, "devices").split()]
    named += [device.name for device in view.topology if "[SWAP]" in device.mountpoints]
    found = []
    for name in named:
        below = [leaf.name for leaf in view.topology.leaves(name)]
        found += [s.name for n in (name, *below) if (s := view.series(n.removeprefix("/dev/")))]
    return tuple(dict.fromkeys(found))
