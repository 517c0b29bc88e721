"""Long texts in stretches: what is made of one stays in the processor's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

STRETCH_BYTES = 1 << 19
"""Bytes of a text that are looked at together."""


def places_of(byte: bytes, data: bytes, most: int | None = None) -> npt.NDArray[np.int64]:
    """Where a byte stands in some bytes; with `most` it is enough to know that it stands at more places."""
    # whoever reads nothing needs no numpy
    import numpy as np

    array, wanted = np.frombuffer(data, dtype=np.uint8), ord(byte)
    found, count = [np.empty(0, dtype=np.int64)], 0
    for begin in range(0, len(array), STRETCH_BYTES):
        if most is not None and count > most:
            break
        found.append(np.flatnonzero(array[begin : begin + STRETCH_BYTES] == wanted))
        found[-1] += begin
        count += len(found[-1])
    return np.concatenate(found)
