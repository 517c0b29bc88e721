"""Long texts in stretches: what is made of one stays in the processor's cache."""

from __future__ import annotations

STRETCH_BYTES = 1 << 19
"""Bytes of a text that are looked at together."""


def line_ends(data: bytes, end: int = ord("\n"), stretch: int = STRETCH_BYTES) -> list[int]:
    """How many bytes of a value there are in each stretch of so many bytes.

    `bytes.count` looks at each byte by itself and takes thrice as long.
    """
    # whoever reads nothing needs no numpy
    import numpy as np

    array = np.frombuffer(data, dtype=np.uint8)
    places = range(0, len(array), stretch)
    return [int(np.count_nonzero(array[place : place + stretch] == end)) for place in places]
