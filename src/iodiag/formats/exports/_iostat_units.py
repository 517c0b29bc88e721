"""The unit of throughput in iostat's JSON, where the keys cannot be trusted.

Up to 11.5.6 the keys say kB whatever was asked for (-m, POSIXLY_CORRECT). 12.1.2 to 12.2.0 print
512-byte sectors under keys that say kB or MB; 12.2.1 mended that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.formats.clock import Floats

_TRUE_UNITS = {2.0: "512-byte sectors", 2048.0: "512-byte sectors", 1024.0: "kB", 1 / 1024: "MB"}
"""What the keys' unit divided by the true one tells: sectors under kB, sectors under MB, …"""

_PRODUCTS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("reads_per_s",), "read_request_size_kb", ("read_kb_per_s",)),
    (("writes_per_s",), "write_request_size_kb", ("write_kb_per_s",)),
    (("discards_per_s",), "discard_request_size_kb", ("discard_kb_per_s",)),
    (("reads_per_s", "writes_per_s"), "request_size_kb", ("read_kb_per_s", "write_kb_per_s")),
    (("ios_per_s",), "request_size_kb", ("kb_per_s",)),
)
"""Rates of requests, their size, and the throughput that the two make."""


_NOTHING_TELLS = (
    "taken in the unit that the keys name; iostat 12.1.2 to 12.2.0 prints 512-byte sectors under them, and "
    "without -x nothing tells these releases from later ones"
)


def mend_unit(names: Sequence[str | None], numbers: Floats) -> str:
    """Correct throughput in place where request counts and sizes prove that the keys' unit is wrong.

    Requests per second times their mean size is the throughput, by definition; sizes are in kB in
    every release. Returns what to tell the reader, "" where the keys' unit is right.
    """
    at = {name: place for place, name in enumerate(names)}
    known = [p for p in _PRODUCTS if p[1] in at and all(name in at for name in (*p[0], *p[2]))]
    if not known and "discard_kb" in at:
        return _NOTHING_TELLS
    implied = stated = 0.0
    for rates, size, throughput in known:
        requests = numbers[:, [at[name] for name in rates]].sum(axis=1)
        implied += float(np.nansum(requests * numbers[:, at[size]]))
        stated += float(np.nansum(numbers[:, [at[name] for name in throughput]]))
    if not (implied > 0 and stated > 0):
        return ""
    wrong = next((ratio for ratio in _TRUE_UNITS if abs(stated / implied / ratio - 1) < 0.1), None)
    if wrong is None:
        return ""
    for name, place in at.items():
        if name and name.endswith("kb_per_s"):
            numbers[:, place] /= wrong
    return (
        f"by the sizes of requests throughput is in {_TRUE_UNITS[wrong]} per second, not in the unit that "
        "the keys name (a fault of iostat 11.5.1-11.5.6 and 12.1.2-12.2.0); corrected"
    )
