"""Long texts in stretches: what is made of one stays in the processor's cache, and cores share them."""

from __future__ import annotations

import os
from collections.abc import Callable

STRETCH_BYTES = 1 << 19
"""Bytes of a text that are looked at together."""

_FEWEST_STRETCHES = 4
_MOST_THREADS = min(os.cpu_count() or 1, 4)


def side_by_side(work: Callable[[int], object], count: int) -> None:
    """Do a work for every number below `count`, few after each other and many on all cores, in any order.

    It pays where numpy does the work, which lets other threads run meanwhile. The caller's thread takes
    part, so that nobody has to be woken for each number that is done.
    """
    numbers = iter(range(count))

    def take() -> None:
        for number in numbers:
            work(number)

    if count < _FEWEST_STRETCHES or _MOST_THREADS < 2:
        take()
        return
    # reading a short text needs no threads
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MOST_THREADS - 1) as pool:
        others = [pool.submit(take) for _ in range(_MOST_THREADS - 1)]
        take()
        for other in others:
            other.result()


def line_ends(data: bytes, end: int = ord("\n"), stretch: int = STRETCH_BYTES) -> list[int]:
    """How many bytes of a value there are in each stretch of so many bytes.

    `bytes.count` looks at each byte by itself and takes thrice as long.
    """
    # whoever reads nothing needs no numpy
    import numpy as np

    array = np.frombuffer(data, dtype=np.uint8)
    places = range(0, len(array), stretch)
    counts = [0] * len(places)

    def count(number: int) -> None:
        place = places[number]
        counts[number] = int(np.count_nonzero(array[place : place + stretch] == end))

    if stretch < STRETCH_BYTES:  # threads would only wait for each other
        for number in range(len(places)):
            count(number)
    else:
        side_by_side(count, len(places))
    return counts
