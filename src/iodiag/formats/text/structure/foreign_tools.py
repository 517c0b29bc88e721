"""Tools whose reports are not read, told by their headers: sysstat's namesakes elsewhere, ps and such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BANNER = re.compile(r"\s*(SunOS|AIX|HP-UX|Darwin|FreeBSD|NetBSD|OpenBSD)\s+\S+\s+\S.*\d[/.-]\d")

# the words that must all stand in a header, and whose header that is
_HEADERS: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(words.split()), tool)
    for words, tool in (
        ("L(q) ops/s ms/r %busy", "the gstat of FreeBSD"),
        ("kr/s kw/s qlen", "the iostat of FreeBSD"),
        ("kr/s kw/s ms/r", "the iostat of FreeBSD"),
        ("kr/s kw/s actv", "the iostat of Solaris or illumos"),
        ("kr/s kw/s %b", "the iostat of Solaris or illumos"),
        ("KB/t MB/s", "the iostat of macOS or a BSD"),
        ("KB/t tps", "the iostat of macOS or a BSD"),
        ("kps tps serv", "the iostat of Solaris or illumos"),
        ("tin tout", "the iostat of AIX, Solaris or a BSD"),
        ("bps sps msps", "the iostat of HP-UX"),
        ("Disks: Kbps tps", "the iostat of AIX"),
        ("xfer: %tm_act bps tps", "the iostat of AIX"),
        ("avm fre re pi po", "the vmstat of AIX or a BSD"),
        ("avm fre flt re pi po", "the vmstat of a BSD"),
        ("avm free re at pi po", "the vmstat of HP-UX"),
        ("swap free re mf pi po", "the vmstat of Solaris or illumos"),
        ("device %busy avque r+w/s", "the sar of Solaris, AIX or HP-UX"),
        ("%usr %sys %wio %idle", "the sar of Solaris, AIX or HP-UX"),
        ("PID USERNAME STATE TIME COMMAND", "the top of a BSD or Solaris"),
        ("USER PID %CPU %MEM VSZ RSS", "ps"),
        ("UID PID PPID C STIME", "ps"),
        ("COMMAND PID USER FD TYPE", "lsof"),
        ("OBJS ACTIVE USE SLABS", "slabtop"),
        ("Iface MTU RX-OK RX-ERR", "netstat"),
        ("Proto Recv-Q Send-Q", "netstat"),
        ("face |bytes packets errs drop", "/proc/net/dev"),
        ("State Recv-Q Send-Q", "ss"),
        ("CONTAINER ID NAME CPU MEM", "docker stats"),
        ("ID CLASS WEIGHT REWEIGHT", "ceph osd df"),
        ("loadavg memory swap io system cpu", "PCP"),
        ("DAVG/cmd KAVG/cmd GAVG/cmd", "esxtop"),
        ("osd commit_latency(ms) apply_latency(ms)", "ceph osd perf"),
        ("KBytes Merged IOs QLen SvcTim", "collectl"),
        ("capacity operations bandwidth", "zpool iostat"),
        ("pool alloc free read write", "zpool iostat"),
        ("pool used avail read write", "zpool iostat"),
        ("NAME STATE READ WRITE CKSUM", "zpool status"),
        ("NAME SIZE ALLOC FREE CAP", "zpool list"),
        ("NAME SIZE USED AVAIL CAP", "zpool list"),
        ("NAME USED AVAIL REFER", "zfs list"),
    )
)
_ANY_WORD = frozenset(word for words, _ in _HEADERS for word in words)
_LINES = tuple(
    (re.compile(pattern), tool)
    for pattern, tool in (
        (r"\s*-{1,9}(?:total-)?cpu-usage-{1,9}\s|.{0,80}\s-{1,9}dsk/\S|\"?[Dd]stat \d", "dstat"),
        (r'"?pcp-dstat \d', "pcp-dstat"),
        (
            r"(?:AAA,(?:progname|command|version|host|time|date)|ZZZZ,T\d{4,6}),|.{0,3}nmon[-─].{0,60}Hostname=",
            "nmon",
        ),
        (r"\s*ATOP - \S{1,80}\s+\d{4}/\d\d/\d\d\s", "atop"),
        (
            r"\s*#<-{2,20}(?:CPU|Disks|Memory|Network)(?:-{2}|\[)|\s*#\s?DISK STATISTICS \(/sec\)|"
            r"### RECORD\s+\d|# Collectl:\s+V\d",
            "collectl",
        ),
        (r"Log Label \(Log Format Version \d\)|(?:\s{1,20}(?:[a-z]\.){1,5}[a-z]\w{0,30}){2,40}\s*$", "PCP"),
        (r'"\(PDH-CSV \d\.\d\)', "esxtop or the Performance Monitor of Windows"),
        (r"\s*(?:Client|Server) (?:rpc stats|nfs v[2-4]):?\s*$", "nfsstat"),
        (r"\s*Mach Virtual Memory Statistics:", "the vm_stat of macOS"),
    )
)
_OF_LINUX = frozenset(
    (
        *("ps", "dstat", "pcp-dstat", "nmon", "atop", "collectl", "nfsstat", "PCP"),
        *("lsof", "slabtop", "netstat", "ss", "/proc/net/dev"),
        *("docker stats", "ceph osd df", "ceph osd perf"),
        *("zpool iostat", "zpool list", "zpool status", "zfs list"),
    )
)
_LISTINGS = frozenset(
    (
        *("ps", "lsof", "slabtop", "netstat", "ss", "/proc/net/dev"),
        *("docker stats", "nfsstat", "ceph osd df"),
        *("zpool list", "zpool status", "zfs list"),
    )
)
_BINARY = (
    (re.compile(rb"\xef\xbe\xed\xfe"), "a file of atop"),
    (re.compile(rb"\0\0\0.\x50\x05\x26[\x01-\x03]", re.DOTALL), "an archive of PCP"),
)
_EXPORTS = {
    "dstat": "give the CSV that dstat --output writes",
    "PCP": "give the output of `pcp -a ARCHIVE iostat -x t`",
    "esxtop": "iodiag reads captures of Linux guests, best of iostat -xt 1 in the guest",
}
_LONGEST_LINE = 400


def foreign_tool(line: str, words: Sequence[str]) -> str | None:
    """Which tool that is not read prints a line as its banner or header; None for all others."""
    if len(words) > 60 or len(line) > _LONGEST_LINE:
        return None
    if banner := _BANNER.match(line):
        return f"a tool of {banner[1]}"
    if not _ANY_WORD.isdisjoint(words):
        known = set(words)
        if tool := next((tool for needed, tool in _HEADERS if needed <= known), None):
            return tool
    return next((tool for pattern, tool in _LINES if pattern.match(line)), None)


def unread_note(tool: str) -> str:
    """The note on such a tool in a capture: where it takes samples, these may show what no other does."""
    return f"this is {tool}: {'it is' if tool in _LISTINGS else 'its samples are'} not read"


def binary_refusal(head: bytes) -> str:
    """What to say of a binary file that no reader knows, by its first bytes."""
    for pattern, what in _BINARY:
        if pattern.match(head):
            instead = _EXPORTS.get(what.split()[-1], "run iostat -xt 1 on that host instead")
            return f"this is {what}, which iodiag does not read; {instead}"
    return "is a binary file of no known kind; give a capture as text, or a sadc file"


def most_telling(tools: Iterable[str]) -> str:
    """The first tool that another system has alone, else the first: pools of ZFS are on Linux, too."""
    return min(tools, key=lambda tool: tool in _OF_LINUX)


def refusal(tool: str) -> str:
    """What to say of a tool that is not read, and what to capture instead."""
    if tool in _OF_LINUX or tool.startswith("esxtop"):
        instead = _EXPORTS.get(tool.split()[0], "run iostat -xt 1 on that host instead")
        return f"this is {tool}, which iodiag does not read; {instead}"
    return (
        f"this is {tool}, whose columns mean other things than on Linux; "
        "iodiag reads captures of Linux hosts, best of iostat -xt 1"
    )
