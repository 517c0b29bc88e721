"""Exact factors between the units that sysstat prints and the canonical ones.

Canonical: kB are 1024 bytes (as sysstat has it), times are milliseconds, shares are per cent.
"""

from __future__ import annotations

KB_PER_SECTOR = 0.5
KB_PER_MB = 1024.0
KB_PER_GB = 1024.0**2
KB_PER_PAGE = 4.0
KB_PER_BYTE = 1 / 1024

HALF_DIGIT = 0.005
"""sysstat prints two decimals: a printed value stands for ± half of the last."""

# Suffixes of `iostat --human` and `sar --human`, as factors to bytes. "s" is a sector.
HUMAN_BYTES = {
    "s": 512.0,
    "B": 1.0,
    "k": 1024.0,
    "K": 1024.0,
    "M": 1024.0**2,
    "G": 1024.0**3,
    "T": 1024.0**4,
    "P": 1024.0**5,
}
