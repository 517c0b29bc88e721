"""How much an input may hold, whoever sent it; the environment variable IODIAG_LIMITS changes any of it.

What is beyond a limit is refused or left out with one line that names the limit; nothing is cut short in
silence.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from iodiag.errors import ConfigError

VARIABLE = "IODIAG_LIMITS"
_SETTING = re.compile(r"([a-z_]{1,20})=(\d{1,15})([kMGT]?)")
_SUFFIX = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class InputLimits:
    """What one input may hold, in bytes where nothing else is said.

    `input`: a file, after decompression. `lines`: lines of a text. `unknown`: what a compressed file may
    unpack to, and a pipe, a device or an address may hold, when nothing in its beginning is known.
    `members`: files in an archive or a directory (a sosreport of a large host has about 50,000). `depth`:
    archives in archives (a ticket's zip, the sosreport in it, a dump in that). `member`: one file of an
    archive; a larger one is left out. `kept`: those that are read, together. `streamed`: what may be
    unpacked in all, to be read or passed over (a sosreport of 2 GB holds about 20 GiB). `values`: files of
    /sys of one host (2,000 disks have about 150,000). `layers`: compression on compression. `xz_memory`:
    what an xz stream may ask for its dictionary (`xz -9`: 65 MiB).
    """

    input: int = 4 << 30
    lines: int = 30_000_000
    unknown: int = 64 << 20
    members: int = 500_000
    depth: int = 3
    member: int = 512 << 20
    kept: int = 2 << 30
    streamed: int = 32 << 30
    values: int = 400_000
    layers: int = 3
    xz_memory: int = 256 << 20


def limits() -> InputLimits:
    """The limits in force. Raises ConfigError when IODIAG_LIMITS cannot be understood."""
    return _changed(os.environ.get(VARIABLE, ""))


def raising(name: str) -> str:
    """How to raise a limit, for the end of the line that says it was met."""
    return f"{VARIABLE}={name}=… raises this limit"


def in_units(size: int) -> str:
    """A number of bytes in the largest unit that leaves it whole."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and not size % (1 << shift):
            return f"{size >> shift} {unit}"
    return f"{size:,} bytes"


@lru_cache(maxsize=4)
def _changed(text: str) -> InputLimits:
    known = {field.name for field in fields(InputLimits)}
    values: dict[str, int] = {}
    for setting in text.replace(",", " ").split():
        found = _SETTING.fullmatch(setting)
        if not found or found[1] not in known:
            names = ", ".join(sorted(known))
            raise ConfigError(
                f"{VARIABLE}: {setting!r} is no limit; write NAME=NUMBER[kMGT], with one of {names}"
            )
        values[found[1]] = int(found[2]) * _SUFFIX[found[3]]
    return replace(InputLimits(), **values)
