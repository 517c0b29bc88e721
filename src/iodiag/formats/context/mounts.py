"""Mounted file systems: /proc/mounts, mountinfo, mount(8), findmnt(8) and df(1).

Only what lies on a block device (or the network) is kept: proc, tmpfs and their like hold no data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import (
    MAX_BLOCK_LINES,
    bare_name,
    describe,
    fact,
    origin,
    parse_number,
    size_kb,
    volume_aliases,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_OPTIONS = r"(?P<options>(?:rw|ro)(?:,[^\s()]{0,2000})?)"
_TYPE = r"(?P<type>[a-z][\w.]{1,31})"
_LINES = (
    rf"^\s*(?P<source>\S+) (?P<target>/\S*) {_TYPE} {_OPTIONS} \d \d\s*$",
    rf"^\s*(?P<source>\S+) on (?P<target>/.{{0,400}}?) type {_TYPE} \({_OPTIONS}\)(?: \[.*\])?\s*$",
    (
        rf"^\s*\d+ \d+ (?P<numbers>\d+:\d+) \S+ (?P<target>/\S*) (?P<local>\S+) (?:\S+:\d+ ){{0,4}}- {_TYPE} "
        rf"(?P<source>\S+) {_OPTIONS}\s*$"
    ),
    rf"^[\s│├└─|`-]*(?P<target>/\S*)\s+(?P<source>\S+)\s+{_TYPE}\s+{_OPTIONS}\s*$",
)
_DF = (
    r"^\s*(?P<source>/\S+)\s+(?:(?P<type>[a-z]\w{1,15})\s+)?(?P<size>[\d.]+[KMGTP]?i?)\s+[\d.]+[KMGTP]?i?\s+"
    r"(?P<free>[\d.]+[KMGTP]?i?)\s+(?P<used>\d{1,3})%\s+(?P<target>/.*?)\s*$"
)
_DF_OTHER = (
    r"^\s*\S.{0,200}?(?:\s{1,80}(?:-?[\d.]{1,20}[KMGTPE]?i?|-)){3}"
    r"\s{1,80}(?:\d{1,3}%|-)\s{1,80}/.{0,400}$"
)
"""A row of what lies on no block device: its totals may be nonsense, or be missing."""
_DF_HEAD = (
    r"^\s*Filesystem\s+(?:Type\s+)?(?:(?:\d{1,4}[KMGB]?-blocks|Size)\s+Used|(?P<inodes>Inodes)\s+IUsed)"
    r"\s+.*Mounted on\s*$"
)
_DF_ROW = r"^\s*/dev/\S+\s+(?:[a-z]\w{1,15}\s+)?[\d.]+[GTP]i?(?:\s+[\d.]+[KMGTP]?i?){2}\s+\d{1,3}%\s+/\S*\s*$"
"""A row whose header was cut off: what is counted in G is space, where smaller numbers may be of inodes."""
_FIND_HEAD = r"^\s*TARGET\s+SOURCE\s+FSTYPE(?:\s+OPTIONS)?\s*$"
_NETWORK = r"^(?:nfs\d?|cifs|smb3|ceph|glusterfs|fuse\.(?:glusterfs|sshfs|s3fs)|lustre|beegfs|gpfs|9p)$"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    first = lines[0].text
    head = re.match(_DF_HEAD, first)
    has_header = bool(head or re.match(_FIND_HEAD, first))
    is_df = bool(head or re.match(_DF_ROW, first))
    patterns = (_DF,) if is_df else _LINES
    found: list[tuple[re.Match[str], Line]] = []
    used = int(has_header)
    for line in lines[used:MAX_BLOCK_LINES]:
        match = next((m for pattern in patterns if (m := re.match(pattern, line.text))), None)
        if match:
            found.append((match, line))
        elif not (is_df and re.match(_DF_OTHER, line.text)):
            break
        used += 1
    if not found and not (head and used > 1):
        return None
    devices = tuple(_device(m, origin("mounts", source, ln)) for m, ln in found if _is_block_device(m))
    is_kept = [(m, ln) for m, ln in found if _is_block_device(m) or re.match(_NETWORK, m["type"] or "")]
    used_as = "inodes_used_pct" if head and head["inodes"] else "used_pct"
    facts = tuple(_fact(match, source, line, used_as) for match, line in is_kept)
    return ContextBlock(used, devices, facts, layout="df" if is_df else "mounts")


def _is_block_device(match: re.Match[str]) -> bool:
    return match["source"].startswith("/dev/") and match["type"] not in ("devtmpfs", "tmpfs", "devpts")


def _device(match: re.Match[str], stated: str) -> Device:
    name = bare_name(match["source"].partition("[")[0])
    aliases = [*volume_aliases(name)] if match["source"].startswith("/dev/mapper/") else []
    aliases += [match["numbers"]] if match.groupdict().get("numbers") else []
    return describe(name, stated, aliases, mountpoints=(match["target"],))


def _fact(match: re.Match[str], source: str, line: Line, used_as: str) -> Fact:
    found = match.groupdict()
    device = bare_name(found["source"])
    text = "{device} was mounted on {mountpoint}"
    text += " as {filesystem}" if found["type"] else ""
    text += " ({options})" if found.get("options") else ""
    if found.get("used"):
        text += f", {found['used']} % of its {'inodes' if used_as == 'inodes_used_pct' else 'space'} in use"
    values = {
        "device": device,
        "mountpoint": found["target"],
        "filesystem": found["type"],
        "options": found.get("options"),
        used_as: parse_number(found.get("used")),
        "free_pct": _free_pct(found.get("free"), found.get("size")),
    }
    return fact("mounts", text, values, source, [line])


def _free_pct(free: str | None, size: str | None) -> float | None:
    """What is left of the whole in %, which df's share in use, rounded up, does not tell of a full one."""
    left, whole = size_kb(free), size_kb(size)
    return 100 * left / whole if left is not None and whole else None


FORMAT = ContextFormat(
    id="mounts",
    title="mounted file systems: /proc/mounts, mount, findmnt, df",
    example=(
        "/dev/mapper/vg0-root / ext4 rw,relatime,errors=remount-ro 0 0\n/dev/sda1 /boot xfs rw,noatime 0 0\n"
    ),
    starts=re.compile(
        r"^\s*\S+ /\S* [a-z][\w.]+ r[wo]\b\S* \d \d\s*$|^\s*\S+ on /.{0,400} type [a-z][\w.]+ \(r[wo]\b"
        r"|^\s*\d+ \d+ \d+:\d+ /\S* /\S* (?:rw|ro)\b|^\s*/\S*\s+/dev/\S+\s+[a-z]\w+\s+r[wo]\b\S*\s*$"
        r"|^\s*Filesystem\s.*\sMounted on\s*$|^\s*TARGET\s+SOURCE\s+FSTYPE"
        rf"|{_DF_ROW}"
    ),
    read=_read,
    releases="util-linux and coreutils of any release",
)
