"""What one execution may cost: processor time and memory, measured from inside."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

SECONDS_PER_MB = 2.0
SECONDS_PER_LINE = 4e-4
"""Lines of a few bytes cost by the line: each may begin a block of some format, and is looked at as such."""

LEAST_SECONDS = 1.0
"""So much is granted to the smallest input: a collection of garbage, a grammar that is built."""

LEAST_BYTES = 200 << 20
BYTES_PER_BYTE = 20

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class TooExpensive(AssertionError):
    """An execution took more time or memory than its input may cost."""


def measured(run: Callable[[bytes], None], data: bytes) -> None:
    """Run, and raise TooExpensive when it took more than the size of its input allows."""
    _RESET.write_text("5")  # the highest memory so far is forgotten: the next one is this execution's
    before, started = _kilobytes("VmRSS"), time.process_time()
    run(data)
    seconds, grown = time.process_time() - started, (_kilobytes("VmHWM") - before) << 10
    if seconds > LEAST_SECONDS + SECONDS_PER_MB * len(data) / 2**20 + SECONDS_PER_LINE * data.count(b"\n"):
        raise TooExpensive(f"took {seconds:.1f} s of processor time for {len(data)} bytes")
    if grown > LEAST_BYTES + BYTES_PER_BYTE * len(data):
        raise TooExpensive(f"took {grown >> 20} MiB for {len(data)} bytes")


def _kilobytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0
