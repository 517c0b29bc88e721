"""The registry of canonical columns: what each is called, counted in, and how it aggregates.

The columns stand in columns.txt; raw column names live in the formats, nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

Kind = Literal["rate", "gauge", "share", "mean", "count"]
"""How a column is averaged; columns.txt says what each means (analysis/measure/weighted.py)."""


@dataclass(frozen=True)
class Column:
    """One canonical column. `unit` is the one that the name ends in, spelled out for people."""

    name: str
    unit: str
    kind: Kind
    meaning: str
    weight: str | None = None
    trust: str = ""


KEYS = {
    "source": "the input's name",
    "line": "1-based line of the row that holds the values; byte offset for a binary file",
    "host": "host name, empty where the input does not say",
    "time": "end of the sample; with a time zone where the source says it, NaT where it has no clock",
    "interval_s": "length of the sample in seconds; NaN where unknown",
    "segment": "0-based; a new one begins at a banner, a RESTART, a visible command or a collector's clock",
    "report": "0-based number of the report within its segment",
    "since_boot": "true for a first report that averages everything since boot (nfsiostat: since the mount)",
}
"""Columns that every table has, beside the key of its family."""

MAY_BE_SINCE_BOOT = "may_be_since_boot"
FIRST_REPORT_KEYS = {
    MAY_BE_SINCE_BOOT: "true for a first report that may average everything since boot or be a sample, where "
    "nothing proves which",
}
"""Columns that the tables of a text have where it has such a report."""

PHASE_KEYS = {
    "phase": "0-based, where a text has several: begins where other words or commands stand above a report",
    "phase_label": "those words, cut to 60 characters, else the command; empty for none",
    "clock_s": "time of day at the end of the sample in seconds, where rows show it and no date is known",
}
"""Columns that the tables of a text have where it has several phases, such as "Before:" and "After:"."""

RATES = ("ios_per_s", "reads_per_s", "writes_per_s")
KB_BY_WAY = ("read_kb_per_s", "write_kb_per_s")
SIZES = ("request_size_kb", "read_request_size_kb", "write_request_size_kb")
LATENCIES = ("await_ms", "read_await_ms", "write_await_ms")
"""Columns of the disk table that are mostly looked at together."""

OF_THE_MOMENT = frozenset(("queue", "memory", "swap"))
"""Families whose columns, but for rates, are readings of a moment: tasks and memory at the sample's end."""


def _registry() -> Iterator[tuple[str, tuple[Column, ...]]]:
    """The tables of columns.txt, which says how it is written."""
    text = Path(__file__).with_name("columns.txt").read_text(encoding="utf-8")
    for section in text.split("\n[")[1:]:
        names, *lines = section.strip().splitlines()
        columns = tuple(map(_column, lines))
        for name in names.rstrip("]").split(", "):
            yield name, columns


def _column(line: str) -> Column:
    name, unit, kind, meaning, *trust = line.split(" | ")
    kind, _, weight = kind.partition(" by ")
    return Column(name, unit, cast(Kind, kind), meaning, weight or None, *trust)


FAMILIES: dict[str, tuple[Column, ...]] = dict(_registry())
"""Columns by table. A table that is not here (an unknown section) has its own header's words."""

KEY_COLUMNS: dict[str, str] = {
    "events": "device",
    "disk_counters": "device",
    "nfs_mounts": "mount",
    "cifs_mounts": "mount",
    "tapes": "tape",
    "disk": "device",
    "cpu": "cpu",
    "node_cpu": "node",
    "interrupts": "interrupt",
    "network": "interface",
    "network_errors": "interface",
    "fibre_channel": "fc_host",
    "softnet": "cpu",
    "serial": "tty",
    "cpu_frequency": "cpu",
    "fan": "fan",
    "temperature": "sensor",
    "voltage": "input",
    "usb": "bus",
    "battery": "battery",
    "filesystem": "filesystem",
    "process": "pid",
}
"""The column that tells the rows of one report apart, where a table has several per report."""

LABEL_COLUMNS: dict[str, tuple[str, ...]] = {
    "events": ("kind", "stamp", "message"),
    "interrupts": ("cpu",),
    "fan": ("chip",),
    "temperature": ("chip",),
    "voltage": ("chip",),
    "usb": ("vendor_id", "product_id", "manufacturer", "product"),
    "battery": ("status",),
    "filesystem": ("mountpoint",),
    "nfs_mounts": ("export",),
    "process": ("process", "tid", "user", "policy"),
}
"""Columns of words beside the key, by table; the rows of `interrupts` need both to be told apart."""


def find(family: str, name: str) -> Column | None:
    """The registry's entry for a column of a table, or None where it has none."""
    return _BY_NAME.get((family, name))


_BY_NAME = {(family, column.name): column for family, columns in FAMILIES.items() for column in columns}
