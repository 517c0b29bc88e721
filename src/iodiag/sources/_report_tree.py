"""What the paths inside a collection say: which files matter, and whose host it is.

Known are the trees of sosreport (Red Hat, Debian, Ubuntu), SUSE's supportconfig and copies of a host's
own tree; any other collection is looked at file by file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from iodiag.sources.limits import limits

_MAX_PATH = 1024
MAX_VALUE_BYTES = 4096
"""A file of /sys holds one page at most."""

_TREE = re.compile(
    r"(?:^|/)((?:sos_commands|sos_logs|sos_reports|proc|sys|etc|run|boot|dev|usr|lib|opt|root|var/\w+)/)"
)
_VALUE = re.compile(
    r"sys/(?:class/|devices/(?:[^/]+/)+)?block/(?:[^/]+/){1,2}"
    r"(?:(?:queue|md|dm|bcache)/[a-z_]+|size|dev|ro|removable|device/model)"
    r"|sys/fs/cgroup/.*/(?:io\.(?:max|low|latency|weight|bfq\.weight|prio\.class)|blkio\.throttle\.\w+_device)"
)
_HOST = re.compile(
    r"(?P<hostname>(?:(?:sos_commands/\w+/)?hostname|proc/sys/kernel/hostname)(?:\.txt|\.out)?)"
    r"|(?P<uname>(?:sos_commands/\w+/)?uname(?:[_-]+a)?(?:\.txt|\.out)?)"
    r"|(?P<etc>etc/(?:hostname|HOSTNAME))"
)
_KERNEL_TREE = re.compile(
    r"sys/(?:block|bus|class|dev|devices|firmware|fs|hypervisor|kernel|module|power)/"
    r"|proc/(?:\d+|acpi|asound|bus|driver|fs|irq|net|scsi|sys|sysvipc|tty)/"
)
_SOS_PLUGINS = (
    "(?:ata|block|cgroups|devicemapper|filesys|general|hardware|host|hpssm|kernel|logs|lvm2|mariadb|md|megacli"
    "|memory|multipath|mysql|nfs|nvme|pcp|postgresql|process|sar|scsi|storage|storcli|sysstat|system)"
)
_SUPPORTCONFIG_TEXTS = (
    "(?:basic-environment|basic-health-check|boot|env|fs-[a-z]+|hardware|iostat|lvm|md|memory|messages|mpio|nfs|nvme"
    "|plugin-[^/]*|proc|sam|sar|sysfs|vmstat)"
)
_MATTERS = re.compile(
    rf"sos_commands/{_SOS_PLUGINS}/"
    r"|proc/(?:mdstat|diskstats|mounts|self/mounts|meminfo|swaps|partitions|pressure/\w+)$"
    r"|var/log/(?:sa|sar|sysstat|atop)/|sar/|sa/"
    r"|var/log/(?:dmesg|messages|syslog|kern\.log)(?:[-.][\w.-]{1,40})?$"
    rf"|{_SUPPORTCONFIG_TEXTS}\.txt$|[a-z_]{{2,20}}$"
    r"|(?:.*/)?[^/]*(?:iostat|vmstat|mpstat|pidstat|sysstat|sadf|diskstats|mdstat|lsblk|dmsetup|iotop"
    r"|sysbench|pgbench|processlist|innodb|[^a-z]fio|(?<![a-z])sar?\d)[^/]*$"
)
_REPORT = re.compile(r"(?:sosreport|sos-collector|scc|nts)[-_]")
_REPORT_MARK = re.compile(r"sos_(?:commands|logs|reports)/|(?:basic-environment|supportconfig)\.txt$")
_FOLDER_HOST = re.compile(
    r"sosreport-(?P<sos>[\w.]+?(?:-[\w.]+)*?)(?:[-.]\d{5,20})?-(?:20\d\d-\d\d-\d\d|\d{8,18})(?:-.*)?"
    r"|(?:scc|nts)_(?P<suse>[\w.-]+?)_\d{6}_\d{4}.*"
)
_HOST_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}")
_UNAME = re.compile(r"^Linux (\S{1,253}) \d", re.MULTILINE)
_SUPPORTCONFIG_UNAME = re.compile(
    rb"^# \S{0,80}uname -a[ \t]*\n(Linux \S{1,253} \d[^\n]{0,300})", re.MULTILINE
)

_SETTING = "/queue/"

Role = Literal["value", "host", "look", "skip"]
_RANKS = ("hostname", "uname", "etc", "folder")


class Place(NamedTuple):
    """Where a file lies: the top of its host's tree, and its path from there."""

    root: str
    inner: str


class HostStatement(NamedTuple):
    """A host's name, how it was learnt (an entry of _RANKS) and from which file."""

    host: str
    origin: str
    source: str


def place_of(path: str) -> Place:
    """The place of a file inside a collection, by its path with / between the parts."""
    path = path[-_MAX_PATH:]
    if tree := _TREE.search(path):
        return Place(path[: tree.start(1)].rstrip("/"), path[tree.start(1) :])
    root, _, inner = path.rpartition("/")
    folder = root.rpartition("/")
    return Place(folder[0], f"{folder[2]}/{inner}") if folder[2] in ("sa", "sar") else Place(root, inner)


def role_of(place: Place, is_report: bool) -> Role:
    """What to do with a file: `value` of /sys, name of the `host`, `look` into it, or `skip` it.

    In a known report only what can matter is looked at; anywhere else everything is.
    """
    if _VALUE.fullmatch(place.inner):
        return "value"
    if _HOST.fullmatch(place.inner):
        return "host"
    if _MATTERS.match(place.inner):
        return "look"
    return "skip" if is_report or _KERNEL_TREE.match(place.inner) else "look"


def stated_host(place: Place, data: bytes) -> tuple[str, str] | None:
    """The host that a `hostname` or `uname -a` file names, and which of the two told."""
    match = _HOST.fullmatch(place.inner)
    text = data.decode("utf-8", "replace").strip()
    if not match:
        return None
    if match["uname"]:
        found = _UNAME.match(text)
        return (found[1], "uname") if found else None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    is_name = len(lines) == 1 and _HOST_NAME.fullmatch(lines[0].strip())
    return (lines[0].strip(), match.lastgroup or "") if is_name else None


def supportconfig_host(data: bytes) -> str | None:
    """The host that the `uname -a` of a supportconfig text names."""
    found = _SUPPORTCONFIG_UNAME.search(data[: 1 << 18])
    return found[1].split()[1].decode("utf-8", "replace") if found else None


@dataclass
class Trees:
    """What was learnt of the hosts in one collection, tree by tree.

    `name` is what the collection is called, its last part without the ending; `reports` are the
    tops of those trees that are known reports.
    """

    name: str
    reports: set[str] = field(default_factory=set)
    hosts: dict[str, dict[str, HostStatement]] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    count: int = 0

    def know_report(self, place: Place) -> bool:
        """Whether a file lies in a known report; a file that only reports have makes its tree known."""
        if _REPORT_MARK.match(place.inner) or _REPORT.match(self._title(place.root)):
            self.reports.add(place.root)
        return place.root in self.reports

    def add_host(self, root: str, host: str, origin: str, source: str) -> None:
        """Note a host's name; the first of each origin counts."""
        self.hosts.setdefault(root, {}).setdefault(origin, HostStatement(host, origin, source))

    def add_value(self, place: Place, data: bytes) -> bool:
        """Note a file of /sys; False when there are too many."""
        if self.count >= limits().values:
            return False
        text = data.decode("utf-8", "replace").replace("\0", "")
        if text.strip():
            self.values.setdefault(place.root, {})[place.inner] = text
            self.count += 1
        return True

    def statements(self) -> Iterator[tuple[str, HostStatement]]:
        """The host of each tree, by the best of what was found; the report's own name comes last."""
        for root in sorted(self.reports):
            if named := _FOLDER_HOST.fullmatch(self._title(root)):
                self.add_host(root, named["sos"] or named["suse"], "folder", "")
        for root, found in self.hosts.items():
            known = sorted(found.values(), key=lambda statement: _RANKS.index(statement.origin))
            told = (statement for statement in known if not statement.host.startswith("localhost"))
            if best := next(told, None):
                yield root, best

    def value_texts(self) -> Iterator[tuple[str, str]]:
        """The values of each tree as `grep . /sys/…` would print them: /path:value."""
        for root, values in self.values.items():
            # a device's number and size say whose they are only beside its queue's settings
            ordered = sorted(values, key=lambda path: _SETTING not in path)
            lines = (
                f"/{path}:{line}\n" for path in ordered for line in values[path].splitlines() if line.strip()
            )
            yield root, "".join(lines)

    def _title(self, root: str) -> str:
        return (root.rpartition("/")[2] or self.name)[:255]
