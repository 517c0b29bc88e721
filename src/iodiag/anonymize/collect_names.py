"""The names that captures and reports hold, each with its kind and its other spellings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from iodiag.model.columns import FAMILIES, FIRST_REPORT_KEYS, KEY_COLUMNS, KEYS, PHASE_KEYS
from iodiag.model.finding import Evidence, Finding
from iodiag.model.topology import device_names
from iodiag.table.table import Table
from iodiag.table.texts import Texts

if TYPE_CHECKING:
    from iodiag.model.capture import Capture, Section
    from iodiag.model.report import KernelEvent, MeasuredLatency, PhaseSummary, Report, StateSummary
    from iodiag.table.tables import Tables


@dataclass(frozen=True)
class Name:
    """One thing's spellings, the first of which stands for it; `kind` is the word of its pseudonym.

    `parts` mean it as well, unless they are another's spelling: a host without its domain, a volume without
    its group. Only of a device a spelling may be the kernel's.
    """

    kind: str
    spellings: tuple[str, ...]
    parts: tuple[str, ...] = ()
    is_device: bool = False


KEPT_COLUMNS = frozenset({"cpu", "interrupt", "tty", "clock", "kind", "scope", "resource", "stamp", "policy"})
"""Keys of tables that number things of every host alike, or are words of the tool."""

HIDDEN_COLUMNS = frozenset({"phase_label", "message"})
"""Columns of sentences, which may hold anything."""

KIND_OF_COLUMN = {
    "host": "host",
    "source": "file",
    "device": "device",
    "filesystem": "device",
    "mountpoint": "volume",
    "mount": "volume",
    "export": "volume",
}
_KIND_OF_VALUE = {
    "device": "device",
    "devices": "device",
    "array": "device",
    "mountpoint": "volume",
    "worst_file": "file",
    "datadir": "file",
    "failed": "device",
    "disks": "device",
    "volume_group": "group",
    "group": "group",
    "process": "process",
    "table": "table",
    "job": "job",
    "user": "user",
}
BY_ITS = ", by its "
"""What stands between a host and the file that states it, where a section's layout is such a statement."""
_SETTINGS = ("mysql-variables", "pg-settings", "sysfs")
# they say nothing of whose they are
_OF_TOOLS = (
    "version",
    "tool",
    "tid",
    "pid",
    "state",
    "level",
    "activity",
    "direction",
    "rw",
    "requests_of",
    "span",
    "filesystem",
    "options",
)
_OF_CONTROLLERS = ("controller", "part", "behind", "battery", "cache", "write_policy", "configured_policy")
_OF_HEALTH = ("status", "health", "disk_state", "critical_warning", "failing_attributes")
_KEPT_VALUES = frozenset((*_OF_TOOLS, *_OF_CONTROLLERS, *_OF_HEALTH))
_STANDARD_FOLDERS = re.compile(r"/|/(boot|boot/efi|home|var|tmp|usr|opt|srv|mnt|media|proc|sys|dev|run)")
_KERNEL_DISK = re.compile(r"(?:sd|hd|vd|xvd|dasd)[a-z]+|nvme\d+(?:c\d+)?n\d+|mmcblk\d+|cciss/c\d+d\d+")
_KERNEL_PART = re.compile(rf"({_KERNEL_DISK.pattern})p?(\d+)")
_NUMBERED = r"(loop|zram|ram|sr|nbd|rbd|drbd|bcache|pmem|zd|fd|md|md_d|dm-|mmcblk|ublkb)\d+(p\d+|boot\d)?"
_OF_KERNEL = re.compile(
    rf"(sd[a-z]{{1,4}}|hd[a-z]{{1,2}}|(vd|xvd|dasd|mpath|emcpower)[a-z]{{1,4}}|cciss/c\d+d\d+)(p?\d+)?"
    rf"|nvme\d+(c\d+)?n\d+(p\d+)?|{_NUMBERED}|dev\d+-\d+|\d+:\d+"
)
"""Names that drivers and tools make of letters and numbers: they mean the same on every host."""
_LONE_WORD = re.compile(r"[^\W\d_][^\W_]*")
_SUFFIX = re.compile(
    r"(.+?)((?:_[rm]image_\d+|_rmeta_\d+|_(?:mlog|tmeta|cmeta|wmeta|pmspare|tdata|cdata|corig|cvol|wcorig|vdata)"
    r"|-(?:real|cow|tpool))+)"
)
"""What LVM adds to the name of a volume to call what lies below it."""
_TELLING_STARTS = ("nvme", "mmcblk", "bcache", "zram", "drbd", "loop", "ram", "md", "sr", "fd")
"""Beginnings by which rules take a device for one of a kind."""
_ARRAY = re.compile(r"md_?d?\d+(p\d+)?|md/.+|md-uuid-.+")
_KIND_OF_KERNEL = (
    ("disk", _KERNEL_DISK),
    ("partition", _KERNEL_PART),
    ("array", _ARRAY),
    ("volume", re.compile(r"dm-\d+")),
)
_KERNEL_NUMBER = re.compile(r"(loop|zram|ram|sr|nbd|rbd|drbd|bcache|pmem|zd|fd|md|dm)\d+")


def kind_of_device(name: str) -> str:
    """What a device's name alone says it is: disk, partition, array, volume, loop, … or device."""
    bare = name.removeprefix("/dev/")
    for kind, pattern in _KIND_OF_KERNEL:
        if pattern.fullmatch(bare):
            return kind
    if numbered := _KERNEL_NUMBER.fullmatch(bare):
        return numbered[1]
    if is_kernel_spelling(bare):
        return "disk" if re.match(r"sd", device_names(bare)[-1]) else "device"
    return "volume" if re.search(r"[a-zA-Z]", bare) else "device"


def is_kernel_name(name: str) -> bool:
    """Whether a name is one that is made of a driver's letters and a number, and so is nobody's own."""
    return _OF_KERNEL.fullmatch(name) is not None


def judged_kind(name: str, kind: str) -> str:
    """The word of a device's pseudonym: it begins like a name that rules take for one of a kind."""
    if name.startswith("dm-"):
        return "dm-volume"
    return next((start for start in _TELLING_STARTS if name.startswith(start) and name != start), kind)


def part_of(name: str, known: Collection[str]) -> tuple[str, str]:
    """The volume that a name is of a part of, and what the name adds to it; empty where it is of none."""
    if found := _SUFFIX.fullmatch(name):
        return found[1], found[2]
    found = re.fullmatch(r"(.*[a-z])(\d+)", name) or re.fullmatch(r"(.*\d)p(\d+)", name)
    return (found[1], found[2]) if found and found[1] in known else ("", "")


def is_kernel_spelling(name: str) -> bool:
    """Whether a name is one that the kernel or sysstat gives: sda, dm-3, dev8-16, 8:16."""
    return bool(
        re.fullmatch(r"dev\d+-\d+|\d+:\d+", name)
        or _KERNEL_NUMBER.fullmatch(name)
        or any(pattern.fullmatch(name) for _, pattern in _KIND_OF_KERNEL)
    )


def names_of_capture(capture: Capture) -> Iterator[Name]:
    """Every name that a capture holds as such, hosts first."""
    for section in capture.sections:
        yield from _of_section(section)
    for name in capture.sources:
        yield Name("file", (name,))
    for topology in (capture.topology, *capture.topologies.values()):
        for device in topology:
            yield of_device(device.name, device.aliases)
            yield from (of_device(member, ()) for member in device.members)
            yield from (Name("volume", (place,)) for place in device.mountpoints if is_telling(place))
    for tables in (capture.tables, capture.averages):
        for _, table in with_numbered_headers(tables):
            yield from _of_table(table)
    for fact in capture.evidence:
        yield from _of_values(fact.kind, fact.values)


def lone_words_of(capture: Capture) -> tuple[str, ...]:
    """The names of a capture that are one word each, as a sentence may hold them; none of the kernel's.

    And what a text calls its runs, where that holds a number: a number alone is hidden in no sentence.
    """
    topologies = (capture.topology, *capture.topologies.values())
    devices = [device for topology in topologies for device in topology]
    tables = [table for _, table in (*capture.tables.each(), *capture.averages.each())]
    found = [name for device in devices for name in (device.name, *device.aliases, *device.members)]
    found += [place.removeprefix("/") for device in devices for place in device.mountpoints]
    found += [word for table in tables for column in table.names for word in words_of(table, column)]
    found += [
        value
        for fact in capture.evidence
        for key, value in fact.values.items()
        if isinstance(value, str) and kind_of_value(fact.kind, key, value)
    ]
    lone = [word for word in found if _LONE_WORD.fullmatch(word) and not is_kernel_name(word)]
    labelled = (table["phase_label"] for table in tables if "phase_label" in table.names)
    labels = [label.rstrip(":") for column in labelled for label in column.categories]
    numbered = [label for label in labels if " " in label and re.search(r"\d", label)]
    return tuple(dict.fromkeys((*lone, *numbered)))


def names_of_report(report: Report) -> Iterator[Name]:
    """Every name that a report holds as such, hosts first."""
    for summary in report.sources:
        yield from _of_section(summary.section)
    for device in report.devices:
        yield from _hosts(device.host)
        yield of_device(device.name, device.aliases)
        yield from (of_device(member, ()) for member in device.members)
    yield from (of_device(name, ()) for name in report.chosen.devices)
    for series in report.series:
        yield from _hosts(series.host)
    for activity in report.activity:
        yield from _hosts(activity.host)
        yield of_device(activity.device, ())
    for table in report.host_tables:
        yield from _hosts(table.host)
        yield from (of_device(name, ()) for name in table.devices)
    placed: tuple[StateSummary | PhaseSummary | KernelEvent | MeasuredLatency, ...]
    placed = (*report.states, *report.phases, *report.events, *report.latencies)
    for told in placed:
        yield from _hosts(told.host)
        yield from of_kind("device", told.device) if told.device else ()
        yield Name("file", (told.source,))
    for finding in (*report.findings, *(one.finding for one in report.ignored)):
        yield from _of_finding(finding)
    for outcome in report.outcomes:
        yield from _hosts(outcome.host)
        yield from (of_device(name, ()) for name in outcome.devices)
    if report.comparison:
        yield from names_of_report(report.comparison.before)
        for subject in report.comparison.subjects:
            yield from _hosts(subject.host_before, subject.host_after)
            if subject.kind == "device":
                yield from (of_device(name, ()) for name in (subject.before, subject.after))
            yield from _of_evidence(subject.evidence)
        for fate in report.comparison.findings:
            yield from (of_device(name, ()) for name in fate.devices)


def _of_finding(finding: Finding) -> Iterator[Name]:
    yield from _hosts(finding.host)
    yield from (of_device(name, ()) for name in finding.devices)
    for move in finding.moved:
        column = KEY_COLUMNS.get(move.table, "")
        if move.name and column not in KEPT_COLUMNS:
            yield from of_kind(KIND_OF_COLUMN.get(column, column), move.name)
    yield from _of_evidence(finding.evidence)


def _of_evidence(evidence: Iterable[Evidence]) -> Iterator[Name]:
    for item in evidence:
        if item.source:
            yield Name("file", (item.source,))
        values = item.values
        known = {key: values[key] for key in _KIND_OF_VALUE if key in values}
        yield from _of_values("", known)


def _of_section(section: Section) -> Iterator[Name]:
    yield from _hosts(section.host)
    stated, is_statement, origin = section.layout.partition(BY_ITS)
    if is_statement:
        yield from _hosts(stated)
        yield Name("file", (origin,))
    yield Name("file", (section.source,))


def _hosts(*names: str | None) -> Iterator[Name]:
    """Hosts with and without their domain, and the domains; of those that share a name the folders, too."""
    for name in names:
        if not name:
            continue
        if shared := re.fullmatch(r"(.+) \((.+)\)", name):
            yield Name("host", (name,))
            yield from _hosts(shared[1])
            yield Name("file", (shared[2],), tuple(shared[2].split("/")))
            continue
        short, dot, domain = name.partition(".")
        if not dot or is_address(name):
            yield Name("host", (name,))
        else:
            yield Name("host", (name,), (short,))
            yield Name("domain", (domain,))


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def of_device(name: str, aliases: Iterable[str]) -> Name:
    """A device with all the spellings that its names have, volumes without their group included."""
    spellings = [name, *aliases]
    spellings += [other for spelling in tuple(spellings) for other in device_names(spelling)]
    parts = tuple(volume for spelling in spellings if (volume := _volume_of(spelling)))
    return Name(kind_of_device(name), tuple(dict.fromkeys(spellings)), parts, is_device=True)


def groups_of(name: Name) -> Iterator[str]:
    """The volume groups that a device's names state: vg0 of vg0/data and of vg0-data."""
    for spelling in name.spellings if name.is_device else ():
        if is_kernel_spelling(spelling) or spelling.startswith(("dm-", "md-", "md/", "cciss/")):
            continue
        bare = spelling.removeprefix("/dev/").removeprefix("mapper/")
        group = bare.split("/")[0] if bare.count("/") == 1 else _mapper_parts(bare)[0]
        if group and group != bare:
            yield group


def _volume_of(spelling: str) -> str:
    if is_kernel_spelling(spelling):
        return ""
    bare = spelling.removeprefix("/dev/").removeprefix("mapper/")
    volume = bare.split("/")[1] if bare.count("/") == 1 else _mapper_parts(bare)[1]
    return volume if re.search(r"[A-Za-z]", volume) else ""


def _mapper_parts(name: str) -> tuple[str, str]:
    """Group and volume of a device-mapper name, in which a doubled hyphen belongs to one of them."""
    found = re.fullmatch(r"((?:[^-]|--)+)-((?:[^-]|--)+)", name)
    return (found[1].replace("--", "-"), found[2].replace("--", "-")) if found else ("", "")


def with_numbered_headers(tables: Tables) -> Iterator[tuple[str, Table]]:
    """Families and their tables; one whose columns are called by words of the input has numbers instead."""
    unknown = 0
    for family, table in tables.each():
        if family in FAMILIES:
            yield family, table
            continue
        unknown += 1
        plain = KEYS | FIRST_REPORT_KEYS | PHASE_KEYS
        own = (name for name in table.names if name not in plain)
        columns = {name: table[name] for name in table.names if name in plain}
        columns |= {f"column_{number}": table[name] for number, name in enumerate(own, 1)}
        yield f"unknown_{unknown}", Table.of_columns(columns, len(table))


def _of_table(table: Table) -> Iterator[Name]:
    for column in table.names:
        if column not in HIDDEN_COLUMNS:
            for value in words_of(table, column):
                yield from of_kind(KIND_OF_COLUMN.get(column, column), value)


def words_of(table: Table, column: str) -> list[str]:
    """The different words of a column that may be names."""
    if column in KEPT_COLUMNS or not isinstance(table[column], Texts):
        return []
    return [value for value in table[column].distinct() if value]


def of_kind(kind: str, value: str) -> Iterator[Name]:
    """The names in a value whose kind is known."""
    if kind == "host":
        yield from _hosts(value)
    elif kind == "device":
        yield of_device(value, ())
    elif kind == "volume":
        server, colon, path = value.partition(":/")
        if colon:
            yield from _hosts(server)
            value = f"/{path}"
        if is_telling(value):
            yield Name("volume", (value,))
    else:
        yield Name(kind, (value,))


def is_telling(place: str) -> bool:
    """Whether a mount point is somebody's own, not a directory that every system has."""
    return not _STANDARD_FOLDERS.fullmatch(place)


def _of_values(fact_kind: str, values: Mapping[str, float | str]) -> Iterator[Name]:
    for key, value in values.items():
        kind = kind_of_value(fact_kind, key, value) if isinstance(value, str) and value else None
        if kind == "device":
            yield from (of_device(name, ()) for name in re.findall(r"[^\s,]+", str(value)))
        elif kind is not None:
            yield from of_kind(kind, str(value))


def kind_of_value(fact_kind: str, key: str, value: str) -> str | None:
    """The kind of the name that a fact states under a key; None for a word of the tool or the kernel."""
    if key in _KIND_OF_VALUE:
        return _KIND_OF_VALUE[key]
    if key in _KEPT_VALUES or (fact_kind in _SETTINGS and "/" not in value):
        return None
    return "file" if value.startswith("/") else key
