"""Whose is what names no host: the only host's in the call, or the one's whose folder or archive it lies in.

iostat, sar and sadc name their host in the first line; vmstat, lsblk, /proc/mdstat and settings do not.
They belong to the host of the nearest place that names one: their report's (its `hostname` or `uname -a`),
their folder's, or their archive's. What stays between several hosts is given to none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from iodiag.model.capture import Capture, Fact, ParseNote, Section
from iodiag.model.topology import Device, DeviceTopology, merge
from iodiag.table.table import Table
from iodiag.table.tables import Tables
from iodiag.table.texts import Texts

Parts = tuple[str, ...]
Owners = Mapping[str, str | None]
Names = dict[str | None, None]

STATEMENT = "hostname"
"""The format of a section that names the host of everything below its source's folder."""


def settle(captures: Iterable[Capture]) -> list[Capture]:
    """The captures, every row, section, fact and device with its host where that is certain."""
    captures = _agreed(list(captures))
    places = _places(captures)
    hosts = list(dict.fromkeys(host for capture in captures for host in capture.hosts))
    only = hosts[0] if len(hosts) == 1 else None
    return [_owned(capture, _owners(capture, places, only), only) for capture in captures]


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


def _parts(folder: str) -> Parts | None:
    """A folder's parts, those of archives with their colon; None for what lies in none (a pipe)."""
    if not folder:
        return None
    return tuple(part for part in re.split(r"[/\\]", folder.replace(":", ":/")) if part not in ("", "."))


def _is_same(one: str, other: str) -> bool:
    """Whether two names may be one host's: equal, or one is the other without its domain."""
    short, long = sorted((one, other), key=len)
    return short == long or long.startswith(f"{short}.")


def _agreed(captures: list[Capture]) -> list[Capture]:
    """The captures with stated host names as the captures below that place have them.

    A report's `hostname` may lack the domain, or be newer than the captures: where those name one host
    alone, that is the one.
    """
    below: dict[Parts, Names] = {}
    for capture in captures:
        for section in capture.sections:
            if section.host and section.format != STATEMENT:
                parts = _parts_of(capture, section.source) or ()
                for depth in range(len(parts) + 1):
                    below.setdefault(parts[:depth], {})[section.host] = None
    result = []
    for capture in captures:
        sections = [
            replace(
                s, host=_spelled(s.host, below.get(_parts_of(capture, s.source) or (), {}), below.get((), {}))
            )
            if s.format == STATEMENT and s.host
            else s
            for s in capture.sections
        ]
        result.append(replace(capture, sections=sections) if sections != capture.sections else capture)
    return result


def _spelled(host: str, below: Names, anywhere: Names) -> str:
    if host in below:
        return host
    if len(below) == 1:
        return next(iter(below)) or host
    fitting = [other for other in below or anywhere if other and _is_same(host, other)]
    return fitting[0] if len(fitting) == 1 and host not in anywhere else host


def _parts_of(capture: Capture, source: str) -> Parts | None:
    found = capture.sources.get(source)
    return _parts(found.folder) if found else None


class _Places:
    """Which hosts the places of a call name: stated for a whole tree, by captures right there, or below."""

    def __init__(self) -> None:
        self.stated: dict[Parts, str] = {}
        self.right_there: dict[Parts, Names] = {}
        self.below: dict[Parts, Names] = {}

    def add(self, parts: Parts, host: str | None) -> None:
        """Note a host (None: a disk capture of some host without a name) for a folder and those above."""
        self.right_there.setdefault(parts, {})[host] = None
        for depth in range(len(parts) + 1):
            self.below.setdefault(parts[:depth], {})[host] = None

    def owner(self, parts: Parts, has_disk: bool) -> str | None:
        """The host of something in a folder that names none itself; None where that is not certain.

        What has samples of disks is not given away to a neighbouring folder's host, except in an
        archive: those disks may be another host's.
        """
        for depth in range(len(parts), -1, -1):
            place = parts[:depth]
            if place in self.stated:
                return self.stated[place]
            near = self.right_there.get(place, {})
            is_archive = any(part.endswith(":") for part in place)
            found = near or (self.below.get(place, {}) if is_archive or not has_disk else {})
            named = [host for host in found if host is not None]
            if named:
                return named[0] if len(named) == 1 and (near or None not in found or is_archive) else None
            if found and not has_disk:
                return None
        return None


def _places(captures: Sequence[Capture]) -> _Places:
    places = _Places()
    for capture in captures:
        for name, hosts in _named_in(capture).items():
            parts = _parts_of(capture, name)
            if parts is None:
                continue
            for host in hosts:
                places.add(parts, host)
            if not hosts and _has_disk(capture, name):
                places.add(parts, None)
        for section in capture.sections:
            if section.format == STATEMENT and section.host:
                places.stated[_parts_of(capture, section.source) or ()] = section.host
    return places


def _named_in(capture: Capture) -> dict[str, list[str]]:
    """The hosts that each input names itself."""
    named: dict[str, list[str]] = {name: [] for name in capture.sources}
    for section in capture.sections:
        hosts = named.setdefault(section.source, [])
        if section.host and section.host not in hosts:
            hosts.append(section.host)
    return named


def _has_disk(capture: Capture, source: str) -> bool:
    tables = (group.samples("disk") for group in (capture.tables, capture.averages))
    return any(table is not None and bool((table["source"] == source).any()) for table in tables)


def _owners(capture: Capture, places: _Places, only: str | None) -> Owners:
    """The host of what names none, by input."""
    owners: dict[str, str | None] = {}
    for name, hosts in _named_in(capture).items():
        parts = _parts_of(capture, name)
        if only is not None or len(hosts) == 1:
            owners[name] = only or hosts[0]
        elif hosts or parts is None:
            owners[name] = None
        else:
            owners[name] = places.owner(parts, _has_disk(capture, name))
    return owners


def _owned(capture: Capture, owners: Owners, only: str | None) -> Capture:
    """The capture with its rows, sections, facts and devices given to their owners."""
    sections = [
        section
        if section.host or section.source not in owners
        else replace(section, host=owners[section.source])
        for section in capture.sections
    ]
    return replace(
        capture,
        tables=_given(capture.tables, owners),
        averages=_given(capture.averages, owners),
        sections=sections,
        evidence=[_fact_of(fact, capture.sections, owners) for fact in capture.evidence],
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


def _fact_of(fact: Fact, sections: Sequence[Section], owners: Owners) -> Fact:
    host = fact.host or _host_at(sections, fact.ref.source, fact.ref.first) or owners.get(fact.ref.source)
    return replace(fact, host=host) if host != fact.host else fact


def _host_at(sections: Sequence[Section], source: str, line: int) -> str | None:
    """The host of the context section that a line stands in, where an input shows several hosts."""
    above = [s for s in sections if s.source == source and s.is_context and s.first_line <= line]
    return max(above, key=lambda section: section.first_line).host if above else None


def topologies_of(devices: Iterable[Device], sections: Sequence[Section]) -> dict[str | None, DeviceTopology]:
    """The devices of an input that shows several hosts, by host; empty for any other input.

    A device is of the host whose listing it was found in.
    """
    if len({section.host for section in sections if section.host}) < 2:
        return {}
    grouped: dict[str | None, list[Device]] = {}
    for device in devices:
        grouped.setdefault(_stated_host(device, sections), []).append(device)
    return {host: merge(found) for host, found in grouped.items()}


_ADDRESS = re.compile(r"\S+ (?P<source>.+):(?P<line>\d+)")


def _stated_host(device: Device, sections: Sequence[Section]) -> str | None:
    for origin in device.provenance.values():
        if address := _ADDRESS.fullmatch(origin):
            return _host_at(sections, address["source"], int(address["line"]))
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
