"""The structures inside files of sysstat before 8.1.3, out of old_layouts.toml, by magic."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from iodiag.formats.sa._layout import FieldRun


class Part(NamedTuple):
    """What an activity finds in each record: fields of a structure that stands there once or many times.

    `number` names a number of the head, "" for the host's totals. `flags` say in the head that it was
    collected, up to 0x215f and from 0x2160 on; without any it always was. `continues`: its items
    come after that of the host.
    """

    id: int
    structure: str
    fields: str = ""
    number: str = ""
    flags: tuple[int, int] | None = None
    continues: bool = False


class Layout(NamedTuple):
    """A structure: its length in bytes as it is written, and its fields."""

    size: int
    runs: tuple[FieldRun, ...]

    def only(self, names: str) -> tuple[FieldRun, ...]:
        """The runs, one field each, of those of the named fields that the structure has."""
        wanted = set(names.split())
        return tuple(
            FieldRun(run.code, run.at + number * run.step, run.step, name)
            for run in self.runs
            for number, name in enumerate(run.names.split())
            if name in wanted
        )


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("old_layouts.toml").read_text(encoding="utf-8"))


@cache
def releases() -> Mapping[int, str]:
    """The magics of these files, and which releases of sysstat wrote each."""
    return {int(magic, 16): text for magic, text in _table()["releases"].items()}


@cache
def parts() -> tuple[Part, ...]:
    """What a record holds, in this order; two parts of one structure share its place."""
    found = _table()["activity"]
    return tuple(Part(**entry | {"flags": tuple(entry.get("flags", ())) or None}) for entry in found)


@cache
def layout(kind: str, magic: int) -> Layout | None:
    """A structure (`statistics`, `disk`, …) of files with this magic; None where they have none."""
    for entry in _table()[kind]:
        if entry["first"] <= magic <= entry["last"]:
            return Layout(entry["size"], tuple(map(_run, entry["fields"].split("\n")[:-1])))
    return None


def _run(line: str) -> FieldRun:
    code, at, step, names = line.split(" ", 3)
    return FieldRun(code, int(at), int(step), names)
