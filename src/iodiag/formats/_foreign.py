"""Tools of other systems whose reports look like sysstat's: told by their headers, never read."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BANNER = re.compile(r"\s*(SunOS|AIX|HP-UX|Darwin|FreeBSD|NetBSD|OpenBSD)\s+\S+\s+\S.*\d[/.-]\d")

# the words that must all stand in a header, and whose header that is
_HEADERS: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(words.split()), tool)
    for words, tool in (
        ("kr/s kw/s qlen", "iostat of FreeBSD"),
        ("kr/s kw/s ms/r", "iostat of FreeBSD"),
        ("kr/s kw/s actv", "iostat of Solaris or illumos"),
        ("kr/s kw/s %b", "iostat of Solaris or illumos"),
        ("KB/t MB/s", "iostat of macOS or a BSD"),
        ("KB/t tps", "iostat of macOS or a BSD"),
        ("kps tps serv", "iostat of Solaris or illumos"),
        ("tin tout", "iostat of AIX, Solaris or a BSD"),
        ("bps sps msps", "iostat of HP-UX"),
        ("Disks: Kbps tps", "iostat of AIX"),
        ("avm fre re pi po", "vmstat of AIX or a BSD"),
        ("avm fre flt re pi po", "vmstat of a BSD"),
        ("swap free re mf pi po", "vmstat of Solaris or illumos"),
        ("device %busy avque r+w/s", "sar of Solaris, AIX or HP-UX"),
        ("%usr %sys %wio %idle", "sar of Solaris, AIX or HP-UX"),
    )
)
_ANY_WORD = frozenset(word for words, _ in _HEADERS for word in words)


def foreign_tool(line: str, words: Sequence[str]) -> str | None:
    """Which tool of another system prints a line as its banner or header; None for all others."""
    if banner := _BANNER.match(line[:200]):
        return f"sysstat's namesakes of {banner[1]}"
    if len(words) > 60 or _ANY_WORD.isdisjoint(words):
        return None
    known = set(words)
    return next((tool for needed, tool in _HEADERS if needed <= known), None)
