"""Whose is what names no host: the only host's in the call, or the one's whose folder or archive it lies in.

iostat, sar and sadc name their host in the first line; vmstat, lsblk, /proc/mdstat and settings do not.
They belong to the host of the nearest place that names one: their report's (its `hostname` or `uname -a`),
their folder's, or their archive's. What stays between several hosts is given to none of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from iodiag.hosts.host_folders import HostFolders, Parts, may_be_same_host, parts_of
from iodiag.hosts.same_name import split_same_named_hosts
from iodiag.model.capture import EVENTS, Capture, Fact, ParseNote, Section
from iodiag.model.topology import Device, DeviceTopology, merge
from iodiag.table.table import Table
from iodiag.table.tables import Tables
from iodiag.table.texts import Texts

Owners = Mapping[str, str | None]

_HostsByLine = Mapping[str, tuple[Sequence[int], Sequence[str | None]]]
"""The first lines of each input's context sections, upwards, and the hosts of these."""

STATEMENT = "hostname"
"""The format of a section that names the host of everything below its source's folder."""

LOG = "kernel-log"
"""The format of a section that names its own host alone, often without the domain."""


def assign_hosts(captures: Iterable[Capture]) -> list[Capture]:
    """The captures, every row, section, fact and device with its host where that is certain."""
    captures = _with_logs_named(list(captures))
    folders = _folders(captures)
    captures = [_agreed(capture, folders) for capture in captures]
    hosts = _hosts_but_of_logs(captures) or list(dict.fromkeys(h for one in captures for h in one.hosts))
    only = hosts[0] if len(hosts) == 1 else None
    return split_same_named_hosts(
        _owned(capture, _owners(capture, folders, only), only) for capture in captures
    )


def _hosts_but_of_logs(captures: Iterable[Capture]) -> list[str]:
    sections = (section for capture in captures for section in capture.sections)
    return list(dict.fromkeys(one.host for one in sections if one.host and one.format != LOG))


def _with_logs_named(captures: Sequence[Capture]) -> list[Capture]:
    """The captures; a log's host is spelled as the one host of the others that it may be."""
    hosts = _hosts_but_of_logs(captures)
    result = []
    for capture in captures:
        own = {section.host for section in capture.sections if section.host and section.format == LOG}
        fitting = {name: [host for host in hosts if may_be_same_host(name, host)] for name in own - {*hosts}}
        for name, found in fitting.items():
            capture = _renamed(capture, name, found[0]) if len(found) == 1 else capture
        result.append(capture)
    return result


def _renamed(capture: Capture, name: str, host: str) -> Capture:
    """The capture with another spelling of a host that its log names."""
    tables = dict(capture.tables.each())
    if EVENTS in tables:
        words = tables[EVENTS]["host"]
        spelled = Texts.of(host if word == name else word for word in words)
        tables[EVENTS] = tables[EVENTS].with_columns(host=spelled)
    return replace(
        capture,
        tables=Tables(tables),
        sections=[replace(one, host=host) if one.host == name else one for one in capture.sections],
        evidence=[replace(fact, host=host) if fact.host == name else fact for fact in capture.evidence],
    )


def without_host(captures: Iterable[Capture]) -> list[ParseNote]:
    """A note for each context that several hosts in the call could own."""
    captures = list(captures)
    hosts = list(dict.fromkeys(host for capture in captures for host in capture.hosts))
    if len(hosts) < 2:
        return []
    listed = ", ".join(hosts[:4]) + (", …" if len(hosts) > 4 else "")
    reason = (
        f"names no host, and its place does not tell which of {listed} it is of; put it beside its captures"
    )
    homeless = {
        section.source: ParseNote(section.source, section.first_line, reason)
        for capture in captures
        for section in capture.sections
        if section.is_context and section.host is None and section.format not in ("tar", "zip", "directory")
    }
    known = {(note.source, note.reason) for capture in captures for note in capture.notes}
    return [note for note in homeless.values() if (note.source, note.reason) not in known]


def _parts_of(capture: Capture, source: str) -> Parts | None:
    """The folder of an input; None for what lies in none (a pipe)."""
    found = capture.sources.get(source)
    return parts_of(found.folder) if found and found.folder else None


def _folders(captures: Iterable[Capture]) -> HostFolders:
    """What the captures' folders name, by the captures themselves and by what reports state."""
    folders = HostFolders()
    for capture in captures:
        for name, hosts in _named_in(capture).items():
            parts = _parts_of(capture, name)
            for host in hosts:
                folders.add(parts, host)
            if not hosts and parts is not None and _has_disk(capture, name):
                folders.add(parts, None)
        for section in capture.sections:
            if section.format == STATEMENT and section.host:
                folders.state(_parts_of(capture, section.source) or (), section.host)
    folders.agree()
    return folders


def _agreed(capture: Capture, folders: HostFolders) -> Capture:
    """The capture with stated host names as the captures below that place have them."""
    sections = [
        replace(section, host=folders.stated(_parts_of(capture, section.source) or ()))
        if section.format == STATEMENT and section.host
        else section
        for section in capture.sections
    ]
    return replace(capture, sections=sections) if sections != capture.sections else capture


def _named_in(capture: Capture) -> dict[str, list[str]]:
    """The hosts that each input names itself, but for what a report states of a whole folder."""
    named: dict[str, list[str]] = {name: [] for name in capture.sources}
    for section in capture.sections:
        hosts = named.setdefault(section.source, [])
        is_own = section.format == LOG and any(other.format != LOG for other in capture.sections)
        if section.host and section.host not in hosts and section.format != STATEMENT and not is_own:
            hosts.append(section.host)
    return named


def _has_disk(capture: Capture, source: str) -> bool:
    tables = (group.samples("disk") for group in (capture.tables, capture.averages))
    return any(table is not None and bool((table["source"] == source).any()) for table in tables)


def _owners(capture: Capture, folders: HostFolders, only: str | None) -> Owners:
    """The host of what names none, by input."""
    owners: dict[str, str | None] = {}
    for name, hosts in _named_in(capture).items():
        parts = _parts_of(capture, name)
        if only is not None or len(hosts) == 1:
            owners[name] = only or hosts[0]
        elif hosts or parts is None:
            owners[name] = None
        else:
            owners[name] = folders.owner(parts, _has_disk(capture, name))
    return owners


def _owned(capture: Capture, owners: Owners, only: str | None) -> Capture:
    """The capture with its rows, sections, facts and devices given to their owners."""
    sections = [
        section
        if section.host or section.source not in owners
        else replace(section, host=owners[section.source])
        for section in capture.sections
    ]
    stated = _hosts_by_line(capture.sections)
    return replace(
        capture,
        tables=_given(capture.tables, owners),
        averages=_given(capture.averages, owners),
        sections=sections,
        evidence=[_fact_of(fact, stated, owners) for fact in capture.evidence],
        topologies=_topologies(capture, owners, only),
    )


def _given(tables: Tables, owners: Owners) -> Tables:
    """Tables whose rows without a host have that of their input."""
    if not any(owners.values()):
        return tables
    return Tables({family: _with_owners(table, owners) for family, table in tables.each()})


def _with_owners(table: Table, owners: Owners) -> Table:
    hosts, sources = table["host"], table["source"]
    if all(hosts.distinct()) and not hosts.is_missing().any():
        return table
    words = (*hosts.categories, *(owners.get(source) or "" for source in sources.categories))
    given = len(hosts.categories) + sources.codes.astype(np.intp)
    codes = np.where((hosts == "") | hosts.is_missing(), given, hosts.codes)
    return table.with_columns(host=Texts.coded(codes, words))


def _fact_of(fact: Fact, stated: _HostsByLine, owners: Owners) -> Fact:
    host = fact.host or _host_at(stated, fact.ref.source, fact.ref.first) or owners.get(fact.ref.source)
    return replace(fact, host=host) if host != fact.host else fact


def _hosts_by_line(sections: Iterable[Section]) -> _HostsByLine:
    begins: dict[str, dict[int, str | None]] = {}
    for section in sections:
        if section.is_context:
            begins.setdefault(section.source, {}).setdefault(section.first_line, section.host)
    return {
        source: (sorted(hosts), [hosts[line] for line in sorted(hosts)]) for source, hosts in begins.items()
    }


def _host_at(stated: _HostsByLine, source: str, line: int) -> str | None:
    """The host of the context section that a line stands in, where an input shows several hosts."""
    lines, hosts = stated.get(source, ((), ()))
    at = bisect_right(lines, line)
    return hosts[at - 1] if at else None


def topologies_of(devices: Iterable[Device], sections: Sequence[Section]) -> dict[str | None, DeviceTopology]:
    """The devices of an input that shows several hosts, by host; empty for any other input.

    A device is of the host whose listing it was found in.
    """
    if len({section.host for section in sections if section.host}) < 2:
        return {}
    stated = _hosts_by_line(sections)
    grouped: dict[str | None, list[Device]] = {}
    for device in devices:
        grouped.setdefault(_stated_host(device, stated), []).append(device)
    return {host: merge(found) for host, found in grouped.items()}


_ADDRESS = re.compile(r"\S+ (?P<source>.+):(?P<line>\d+)")


def _stated_host(device: Device, stated: _HostsByLine) -> str | None:
    for origin in device.provenance.values():
        if address := _ADDRESS.fullmatch(origin):
            return _host_at(stated, address["source"], int(address["line"]))
    return None


def _topologies(capture: Capture, owners: Owners, only: str | None) -> dict[str | None, DeviceTopology]:
    """The devices by host: those that are sorted already, or all for the one owner of the input."""
    if not capture.topologies:
        found = set(owners.values())
        return {found.pop() if len(found) == 1 else only: capture.topology} if capture.topology else {}
    grouped: dict[str | None, list[Device]] = {}
    for host, topology in capture.topologies.items():
        given = set(owners.values()) if host is None else {host}
        grouped.setdefault(given.pop() if len(given) == 1 else only, []).extend(topology)
    return {host: merge(devices) for host, devices in grouped.items()}
