"""A joined capture under pseudonyms, before anything is judged: every sentence is composed of them.

Names that the kernel gives (sda, dm-3) stay, since rules know what they mean; they are no words of any
sentence and nobody's own, and are replaced when the report is written. Any other is replaced here, by cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iodiag.anonymize.collect_names import (
    HIDDEN_COLUMNS,
    KIND_OF_COLUMN,
    is_telling,
    kind_of_value,
    names_of_capture,
    with_numbered_headers,
    words_of,
)
from iodiag.model.capture import Capture, Fact, Source, filled
from iodiag.model.topology import Device, DeviceTopology
from iodiag.table.table import Table
from iodiag.table.tables import Tables
from iodiag.table.texts import Texts

if TYPE_CHECKING:
    from iodiag.anonymize.pseudonyms import Pseudonyms


@dataclass(frozen=True)
class JudgedUnder:
    """What an analysis needs of pseudonyms (`judging.options.Names`)."""

    names: Pseudonyms

    def renamed(self, capture: Capture) -> Capture:
        """A joined capture without the real names."""
        return renamed(capture, self.names)

    def to_judge(self, name: str) -> str:
        """What a device is called in it."""
        return self.names.to_judge(name)

    def spellings(self, name: str) -> tuple[str, ...]:
        """The real names of what is called so in it."""
        return self.names.spellings(name)


def renamed(capture: Capture, names: Pseudonyms) -> Capture:
    """A joined capture whose names are pseudonyms, but for the kernel's; it keeps the bytes to quote."""
    names.add(names_of_capture(capture))
    names.is_judged_under = True
    return replace(
        capture,
        sources={
            names.name(name, "file"): _source(source, names.name(name, "file"))
            for name, source in capture.sources.items()
        },
        tables=renamed_tables(capture.tables, names.to_judge, names),
        averages=renamed_tables(capture.averages, names.to_judge, names),
        topology=_topology(capture.topology, names),
        topologies={
            host and names.name(host, "host"): _topology(topology, names)
            for host, topology in capture.topologies.items()
        },
        evidence=[_fact(fact, names) for fact in capture.evidence],
        sections=[
            replace(s, host=s.host and names.name(s.host, "host"), source=names.name(s.source, "file"))
            for s in capture.sections
        ],
        notes=[replace(note, source=names.name(note.source, "file")) for note in capture.notes],
        ledgers=[replace(ledger, source=names.name(ledger.source, "file")) for ledger in capture.ledgers],
    )


def _source(source: Source, name: str) -> Source:
    return Source(name, source.data, source.pos_unit, remark=source.remark)


def renamed_tables(tables: Tables, device: Callable[[str], str], names: Pseudonyms) -> Tables:
    """Tables with pseudonyms for all their words that may be names; `device` says what devices are called."""
    return Tables({family: _table(table, device, names) for family, table in with_numbered_headers(tables)})


def _table(table: Table, device: Callable[[str], str], names: Pseudonyms) -> Table:
    changed: dict[str, Texts] = {}
    for column in table.names:
        if column in HIDDEN_COLUMNS:
            changed[column] = Texts.same("", len(table))
        elif words := words_of(table, column):
            kind = KIND_OF_COLUMN.get(column, column)
            known = {word: device(word) if kind == "device" else names.name(word, kind) for word in words}
            texts: Texts = table[column]
            changed[column] = Texts.coded(texts.codes, [known.get(word, word) for word in texts.categories])
    return table.with_columns(**changed) if changed else table


def _topology(topology: DeviceTopology, names: Pseudonyms) -> DeviceTopology:
    found = [_device(device, names) for device in topology]
    return DeviceTopology({device.name: device for device in found})


def _device(device: Device, names: Pseudonyms) -> Device:
    return replace(
        device,
        name=names.to_judge(device.name),
        aliases=tuple(dict.fromkeys(map(names.to_judge, device.aliases))),
        members=tuple(map(names.to_judge, device.members)),
        mountpoints=tuple(_place(place, names) for place in device.mountpoints),
        provenance={field: _origin(stated, names) for field, stated in device.provenance.items()},
    )


def _place(place: str, names: Pseudonyms) -> str:
    """A mount point: still a path, and those that every system has as they are."""
    is_own = place.startswith("/") and is_telling(place)
    return f"/{names.name(place, 'volume')}" if is_own else place


def _origin(stated: str, names: Pseudonyms) -> str:
    """`lsblk capture.txt:12` with the pseudonym of the input."""
    format_id, _, place = stated.partition(" ")
    source, colon, line = place.rpartition(":")
    is_address = colon and line.isdigit() and not stated.startswith("inferred")
    return f"{format_id} {names.name(source, 'file')}:{line}" if is_address else stated


def _fact(fact: Fact, names: Pseudonyms) -> Fact:
    """A fact whose values and sentence have pseudonyms."""
    values = {key: _value(fact, key, value, names) for key, value in fact.values.items()}
    return replace(
        fact,
        values=values,
        text=filled(fact.template, values) if fact.template else names.remark(fact.text),
        ref=replace(fact.ref, source=names.name(fact.ref.source, "file")),
        host=fact.host and names.name(fact.host, "host"),
    )


def _value(fact: Fact, key: str, value: float | str, names: Pseudonyms) -> float | str:
    if not isinstance(value, str) or (kind := kind_of_value(fact.kind, key, value)) is None:
        return value
    if kind == "volume":
        return _place(value, names)
    if kind == "device":
        return " ".join(map(names.to_judge, value.split())) or value
    return names.name(value, kind)
