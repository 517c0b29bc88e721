"""What each rule said of each host on each day, as one dense array: the ground that counting stands on."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

NO_DATA, UNJUDGED, CLEAR, FOUND = range(4)

_CODES = {
    "not_applicable": UNJUDGED,
    "undetermined": UNJUDGED,
    "error": UNJUDGED,
    "clear": CLEAR,
    "finding": CLEAR,
}
"""A finding counts as judged; whether there was trouble the findings themselves say (`FOUND`)."""


@dataclass(frozen=True)
class States:
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

    def history(self, host: str, rule: str) -> npt.NDArray[np.int8]:
        """What a rule said of a host, day by day."""
        return np.asarray(self.cube[bisect_left(self.hosts, host), :, bisect_left(self.rules, rule)])


def states(outcomes: pd.DataFrame, findings: pd.DataFrame) -> States:
    """The cube of all outcomes, with the findings of at least `notice` on top."""
    hosts = _names(outcomes["host"], findings["host"])
    days = _names(outcomes["day"], findings["day"])
    rules = _names(outcomes["rule"], findings["rule"])
    cube = np.zeros((len(hosts), len(days), len(rules)), dtype=np.int8)
    flat = cube.reshape(-1)
    troubles = findings[findings["severity"] != "info"]
    codes = outcomes["status"].map(_CODES).to_numpy(dtype=np.int8)
    for frame, code in (
        (findings, np.full(len(findings), CLEAR, dtype=np.int8)),
        (outcomes, codes),
        (troubles, np.full(len(troubles), FOUND, dtype=np.int8)),
    ):
        keys = (("host", hosts), ("day", days), ("rule", rules))
        places = [pd.Index(index).get_indexer(pd.Index(frame[name])) for name, index in keys]
        np.maximum.at(flat, (places[0] * len(days) + places[1]) * len(rules) + places[2], code)
    return States(hosts, days, rules, cube)


def _names(*columns: pd.Series) -> tuple[str, ...]:
    return tuple(sorted({str(value) for column in columns for value in column.drop_duplicates()}))
