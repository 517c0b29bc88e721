"""What one execution may cost: processor time and memory, measured from inside."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path

SECONDS_PER_MB = 2.0
SECONDS_PER_LINE = 4e-4
"""Lines of a few bytes cost by the line: each may begin a block of some format, and is looked at as such."""

LEAST_SECONDS = 1.0
"""So much is granted to the smallest input: a collection of garbage, a grammar that is built."""

LEAST_BYTES = 200 << 20
BYTES_PER_BYTE = 20
BYTES_PER_LINE = 250
"""A line costs its place, its number and, where a text is laid out again, an object of its own."""

_MOST_UNPACKED = 1 << 28
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class TooExpensive(AssertionError):
    """An execution took more time or memory than its input may cost."""


def measured(run: Callable[[bytes], None], data: bytes, text: bytes | None = None) -> None:
    """Run, and raise TooExpensive when it took more time or memory than the size of its input allows.

    `text` is what the input holds where that is more: a compressed one, unpacked.
    """
    text = data if text is None else text
    started = time.process_time()
    grown = memory_of(run, data)
    seconds = time.process_time() - started
    lines = text.count(b"\n")
    if seconds > LEAST_SECONDS + SECONDS_PER_MB * len(text) / 2**20 + SECONDS_PER_LINE * lines:
        raise TooExpensive(f"took {seconds:.1f} s of processor time for {len(text)} bytes")
    if grown > LEAST_BYTES + BYTES_PER_BYTE * len(text) + BYTES_PER_LINE * lines:
        raise TooExpensive(f"took {grown >> 20} MiB for {len(text)} bytes")


def unpacked(data: bytes) -> bytes:
    """What gzip-compressed data unpacks to, within what iodiag takes by default and a test machine has."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return max(zlib.decompressobj(31).decompress(data, _MOST_UNPACKED), data, key=len)
    except zlib.error:
        return data


def memory_of(run: Callable[[bytes], None], data: bytes) -> int:
    """By how many bytes this process grew at most while it ran."""
    _RESET.write_text("5")  # the highest memory so far is forgotten: the next one is this execution's
    before = _kilobytes("VmRSS")
    run(data)
    return (_kilobytes("VmHWM") - before) << 10


def _kilobytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0
