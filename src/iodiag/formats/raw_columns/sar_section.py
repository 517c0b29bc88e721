"""The shape of an entry in the table of sar's sections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Columns = Mapping[str, tuple[str, float] | None]


class Spread(NamedTuple):
    """Tokens that are items themselves: one printed row becomes a row per such token.

    `token` matches those tokens; its group 1, or else the whole token, is the item's name, kept in
    the column `key`; the values stand in `column`.
    """

    token: re.Pattern[str]
    key: str
    column: str

    def item(self, token: str) -> str | None:
        """The item that this token names, or None where it names none."""
        match = self.token.fullmatch(token)
        return None if match is None else match[1] or match[0]


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


def named(pairs: str, factor: float = 1.0) -> dict[str, tuple[str, float] | None]:
    """Columns from words of the form `token=column`, all with the same factor."""
    return {token: (column, factor) for token, column in (pair.split("=") for pair in pairs.split())}
