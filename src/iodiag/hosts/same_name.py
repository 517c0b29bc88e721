"""Hosts that share a name and cannot be one: their folders describe a device differently at one time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from iodiag.hosts.host_folders import Parts, parts_of
from iodiag.model.capture import Capture, ParseNote
from iodiag.model.topology import Device, merge
from iodiag.table.table import Table
from iodiag.table.tables import Tables
from iodiag.table.texts import Texts

ONE_TIME = timedelta(days=1)
"""Captures further apart may show one host before and after its disks were changed."""

SAME_SIZE = 1.1
"""Tools print one device's size in units of 1000 or 1024, rounded: up to this ratio it is one size."""

STATED = {
    "level": "RAID level",
    "rotational": "rotational flag",
    "slots": "number of members",
    "size_kb": "size in kB",
}
"""What a device does not change while it is in use, and what to call it."""

DeviceFact = tuple[str, str, Any]
"""A device's name, one of STATED, and what is stated."""


class FolderFacts(NamedTuple):
    """What a folder with samples of a host says of its devices, and of which time; no times: undated."""

    facts: tuple[DeviceFact, ...]
    times: tuple[datetime, ...]


def split_same_named_hosts(captures: Iterable[Capture]) -> list[Capture]:
    """The captures; hosts that share a name but not their devices are each named with their folder."""
    captures = list(captures)
    found: dict[str, dict[Parts, list[Capture]]] = {}
    for capture in captures:
        if (folder := _folder(capture)) is not None and len(capture.hosts) == 1:
            found.setdefault(capture.hosts[0], {}).setdefault(folder, []).append(capture)
    for host, folders in found.items():
        places = {folder: _place(own) for folder, own in folders.items() if any(map(_has_samples, own))}
        if why := contradiction(places):
            names = names_with_folders(host, places)
            captures = [_renamed(capture, host, names, why) for capture in captures]
    return captures


def contradiction(places: Mapping[Parts, FolderFacts]) -> str:
    """What two folders of one time state differently of one device; empty where none do."""
    known: dict[tuple[str, str], dict[object, Parts]] = {}
    for folder, place in places.items():
        for device, what, value in place.facts:
            values = known.setdefault((device, what), {})
            for other, there in values.items():
                if not _is_same(what, value, other) and _are_of_one_time(place.times, places[there].times):
                    told = f"{other} in {'/'.join(there)}, {value} in {'/'.join(folder)}"
                    return f"the {STATED[what]} of {device} is {told}"
            values.setdefault(value, folder)
    return ""


def names_with_folders(host: str, folders: Iterable[Parts]) -> dict[Parts, str]:
    """A name for the host of each folder: the shared one, and what tells the folder from the others."""
    folders = list(folders)
    longest = max(map(len, folders))
    shared = next((n for n in range(longest) if len({folder[: n + 1] for folder in folders}) > 1), 0)
    return {folder: f"{host} ({'/'.join(folder[shared:]) or '.'})" for folder in folders}


def facts_of(devices: Iterable[Device]) -> tuple[DeviceFact, ...]:
    """What is stated of devices that they do not change while they are in use."""
    return tuple(
        (device.name, what, value)
        for device in merge(devices)
        for what in STATED
        if (value := getattr(device, what)) is not None
    )


def _place(captures: Iterable[Capture]) -> FolderFacts:
    captures = list(captures)
    stated = (t for c in captures for s in c.sections for t in (s.start, s.end) if t and "-" in t)
    times = tuple(datetime.fromisoformat(text).replace(tzinfo=None) for text in stated)
    return FolderFacts(facts_of(device for capture in captures for device in capture.topology), times)


def _folder(capture: Capture) -> Parts | None:
    """The one folder that a capture lies in; None where there are several, or none."""
    folders = {source.folder for source in capture.sources.values()}
    return parts_of(folders.pop()) if len(folders) == 1 else None


def _has_samples(capture: Capture) -> bool:
    return any(not section.is_context for section in capture.sections)


def _is_same(what: str, one: Any, other: Any) -> bool:
    return bool(max(one, other) <= SAME_SIZE * min(one, other) if what == "size_kb" else one == other)


def _are_of_one_time(some: Iterable[datetime], others: Iterable[datetime]) -> bool:
    """Whether times lie within a day; taken to be so where there are none."""
    some, others = list(some), list(others)
    if not some or not others:
        return True
    return min(some) - ONE_TIME <= max(others) and min(others) - ONE_TIME <= max(some)


def _renamed(capture: Capture, host: str, names: Mapping[Parts, str], why: str) -> Capture:
    name = names.get(_folder(capture) or ())
    if name is None or capture.hosts != [host]:
        return capture
    reason = f"several hosts are called {host}, since {why}: each is named with its folder"
    return replace(
        capture,
        tables=Tables(dict(_of(capture.tables, name))),
        averages=Tables(dict(_of(capture.averages, name))),
        sections=[replace(section, host=name) for section in capture.sections],
        evidence=[replace(fact, host=name) for fact in capture.evidence],
        topologies={name: capture.topology} if capture.topology else {},
        notes=[*capture.notes, ParseNote(next(iter(capture.sources)), 0, reason)],
    )


def _of(tables: Tables, host: str) -> Iterator[tuple[str, Table]]:
    for family, table in tables.each():
        yield family, table.with_columns(host=Texts.coded(table["host"].codes * 0, (host,)))
