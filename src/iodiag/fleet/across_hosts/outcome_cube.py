"""What each rule said of each host on each day, as one dense array: the ground that counting stands on."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

NO_DATA, UNJUDGED, CLEAR, FOUND = range(4)

_DATE = re.compile(r"\d{4}-\d\d-\d\d")

_CODES = {
    "not_applicable": UNJUDGED,
    "undetermined": UNJUDGED,
    "error": UNJUDGED,
    "clear": CLEAR,
    "finding": CLEAR,
    "info": CLEAR,
    "notice": FOUND,
    "warning": FOUND,
    "critical": FOUND,
}
"""Of an outcome's status and a finding's severity. A finding counts as judged; whether there was trouble
its severity says."""


@dataclass(frozen=True)
class OutcomeCube:
    """`cube[host, day, rule]` is NO_DATA, UNJUDGED, CLEAR or FOUND (a finding of at least `notice`).

    Days are those on which any host has data, in order. One byte per cell: 10 000 hosts × 30 days ×
    40 rules take 12 MB.
    """

    hosts: tuple[str, ...]
    days: tuple[str, ...]
    rules: tuple[str, ...]
    cube: npt.NDArray[np.int8]

    @property
    def observed(self) -> npt.NDArray[np.bool_]:
        """Whether a host has data on a day."""
        return np.asarray(self.cube.max(axis=2, initial=NO_DATA) > NO_DATA)

    def dated(self) -> OutcomeCube:
        """The same without what is of no date: it has no place in the order of days."""
        places = [at for at, day in enumerate(self.days) if is_date(day)]
        return replace(self, days=tuple(self.days[at] for at in places), cube=self.cube[:, places, :])

    def history(self, host: str, rule: str) -> npt.NDArray[np.int8]:
        """What a rule said of a host, day by day."""
        return np.asarray(self.cube[bisect_left(self.hosts, host), :, bisect_left(self.rules, rule)])


def is_date(day: str) -> bool:
    """Whether a day is a date, and not `undated`."""
    return _DATE.fullmatch(day) is not None


def outcome_cube(outcomes: Sequence[pd.DataFrame], findings: Sequence[pd.DataFrame]) -> OutcomeCube:
    """The cube of all outcomes, with the findings of at least `notice` on top."""
    tables = (*outcomes, *findings)
    hosts, days, rules = (_names(frame[name] for frame in tables) for name in ("host", "day", "rule"))
    cube = np.zeros((len(hosts), len(days), len(rules)), dtype=np.int8)
    flat = cube.reshape(-1)
    for frame in tables:
        places = [
            _codes(frame[name], {word: at for at, word in enumerate(index)})
            for name, index in (("host", hosts), ("day", days), ("rule", rules))
        ]
        said = frame["status"] if "status" in frame else frame["severity"]
        at = (places[0] * len(days) + places[1]) * len(rules) + places[2]
        np.maximum.at(flat, at, _codes(said, _CODES).astype(np.int8))
    return OutcomeCube(hosts, days, rules, cube)


def _codes(column: pd.Series, numbers: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """The number of each word; a column of many rows has few words, so each is looked up once."""
    words = pd.Categorical(column)
    of_words = np.array([numbers[str(word)] for word in words.categories], dtype=np.int64)
    return of_words[words.codes] if len(words) else np.zeros(0, dtype=np.int64)


def _names(columns: Iterable[pd.Series]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for column in columns for value in column.drop_duplicates()}))
