"""The shape of an entry in the table of sar's sections, and the reader of that table (sar.txt)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from iodiag.model.units import KB_PER_BYTE, KB_PER_MB, KB_PER_SECTOR

Columns = Mapping[str, tuple[str, float] | None]

_UNITS = {"": 1.0, "byte": KB_PER_BYTE, "sector": KB_PER_SECTOR, "MB": KB_PER_MB}
"""Units in which sar prints sizes, in kB."""


class Spread(NamedTuple):
    """Tokens that are items themselves: one printed row becomes a row per such token.

    `token` matches those tokens; its group 1, or else the whole token, is the item's name, kept in
    the column `key`; the values stand in `column`. `names` are items that other sections name otherwise.
    """

    token: re.Pattern[str]
    key: str
    column: str
    names: Mapping[str, str] = MappingProxyType({})

    def item(self, token: str) -> str | None:
        """The item that this token names, or None where it names none."""
        match = self.token.fullmatch(token)
        item = match and (match[1] or match[0])
        return self.names.get(item, item) if item else None


@dataclass(frozen=True)
class SarSection:
    """One of sar's sections: its table, and what each of its tokens means.

    `columns` gives each token's canonical column and the factor to its unit; None means known and
    not kept. `key_tokens` and `label_tokens` are columns of words: those that name the item of a
    row, and others. `other_family` lists tokens whose values belong to another table.
    """

    name: str
    family: str
    columns: Columns
    key_tokens: Mapping[str, str] = field(default_factory=dict)
    label_tokens: Mapping[str, str] = field(default_factory=dict)
    other_family: Mapping[str, str] = field(default_factory=dict)
    spread: Spread | None = None

    def knows(self, token: str) -> bool:
        """True for every token that this section may print."""
        return (
            token in self.columns
            or token in self.key_tokens
            or token in self.label_tokens
            or (self.spread is not None and self.spread.item(token) is not None)
        )

    def family_of(self, token: str) -> str:
        """The table that holds this token's values."""
        return self.other_family.get(token, self.family)


def sections(text: str) -> Iterator[SarSection]:
    """The sections of sar.txt, which says how it is written."""
    for part in re.sub("(?m)^#.*", "", text).split("\n[")[1:]:
        title, _, words = part.partition("]")
        name, _, family = title.partition(": ")
        columns: dict[str, tuple[str, float] | None] = {}
        kinds: dict[str, dict[str, str]] = {":": {}, "~": {}, ".": {}}
        for token, kind, target in (re.split("([=:~])", word) for word in words.split()):
            if kind == "=":
                column, _, unit = target.partition("*")
                other, _, column = column.rpartition(".")
                columns[token] = (column, _UNITS[unit]) if column else None
                kinds["."] |= {token: other} if other else {}
            else:
                kinds[kind][token] = target
        family = family or name.replace(" ", "_")
        yield SarSection(name, family, columns, kinds[":"], kinds["~"], kinds["."])
