"""What the words of sadf's headers mean: one section's (-d), or several side by side (-dh)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from iodiag.formats.raw_columns.sar import SECTIONS, find_section
from iodiag.formats.raw_columns.sar_section import SarSection

MATRIX = "CPU*"
"""The word that 12.5.6 and later print for any number of columns, one per CPU."""

_MOST_SECTIONS = 200
_MOST_WORDS = 5000


@dataclass(frozen=True, eq=False)
class Plan:
    """One section of a header: where its words and its values stand among its columns.

    `words_at` goes by canonical names; `key` is the place of the item's name, None without items.
    `is_matrix` says that any number of values may follow the first, which stands for all CPUs.
    """

    section: SarSection
    tokens: tuple[str, ...]
    values_at: tuple[int, ...]
    words_at: dict[str, int]
    key: int | None
    width: int
    is_matrix: bool


def plan_of(words: Sequence[str]) -> Plan | None:
    """The plan of one section's words, wherever sadf put the item and the labels among them."""
    section = find_section(["all" if word == MATRIX else word for word in words])
    if section is None:
        return None
    columns = {**section.key_tokens, **section.label_tokens}
    words_at = {columns[word]: place for place, word in enumerate(words) if word in columns}
    values_at = tuple(place for place, word in enumerate(words) if word not in columns)
    keys = [place for place, word in enumerate(words) if word in section.key_tokens]
    return Plan(
        section=section,
        tokens=tuple("all" if words[place] == MATRIX else words[place] for place in values_at),
        values_at=values_at,
        words_at=words_at,
        key=keys[0] if keys else None,
        width=len(words),
        is_matrix=MATRIX in words,
    )


def plans_of(header: str) -> list[Plan] | None:
    """The sections of a wide header (-dh) in their order; None where one of them is unknown.

    `[...]` stands behind a section with items; sections without any follow each other unmarked.
    """
    plans: list[Plan] = []
    for piece in header.split("[...]"):
        words = [word for word in re.split("[;,]", piece) if word]
        if len(words) > _MOST_WORDS or len(plans) > _MOST_SECTIONS:
            return None
        at = 0
        while at < len(words):
            size = max(_known(section, words, at) for section in SECTIONS)
            plan = plan_of(words[at : at + size]) if size else None
            if plan is None:
                return None
            plans.append(plan)
            at += size
    return plans or None


def _known(section: SarSection, words: Sequence[str], at: int) -> int:
    """How many words from `at` on can be one row of the section: all known, none of them twice."""
    size, has_key = 0, not section.key_tokens
    seen: set[str] = set()
    for word in words[at:]:
        if word in seen or not (section.knows(word) or (word == MATRIX and section.name == "interrupts")):
            break
        seen.add(word)
        size += 1
        has_key |= word in section.key_tokens
    return size if has_key else 0
