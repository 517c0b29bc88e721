"""Which findings are trouble in a fleet, and how much harm each does.

Harm is severity × confidence × the share of the day that it lasted. One trouble on several devices of a
host counts once a day, by its worst finding: four slow legs are one slow array.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.model.finding import HARMLESS, SEVERITIES
from iodiag.rules import of_role

SEVERITY_WEIGHTS = {"info": 0.0, "notice": 1.0, "warning": 10.0, "critical": 100.0}
CONFIDENCE_WEIGHTS = {"low": 0.3, "medium": 0.6, "high": 1.0}

LEAST_SHARE = 1 / 24
"""A trouble counts for an hour at least: sar's ten-minute means show little of what is shorter. One without
a clock is a state that a listing shows (an array without a member), and counts for its whole day."""


def is_trouble(findings: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which findings do harm, and are the effect of no other."""
    is_root = findings["explained_by"].isna() & (findings["severity"] != "info")
    return (is_root & ~findings["rule"].isin(list(of_role(*HARMLESS)))).to_numpy(dtype=bool)


def scored(findings: pd.DataFrame) -> pd.DataFrame:
    """One row per host, day and rule with harm: its worst unexplained finding, `harm` and `rank` added.

    `rank` is the severity as a number, 0 for `info`.
    """
    rows = findings[is_trouble(findings)].copy()
    start, end = _instants(rows["start"]), _instants(rows["end"])
    share = ((end - start).dt.total_seconds() / 86400).clip(LEAST_SHARE, 1.0).fillna(1.0)
    rows["rank"] = rows["severity"].map({name: at for at, name in enumerate(SEVERITIES)}).astype(np.int64)
    rows["harm"] = (
        rows["severity"].map(SEVERITY_WEIGHTS).astype(np.float64)
        * rows["confidence"].map(CONFIDENCE_WEIGHTS).astype(np.float64)
        * share
    )
    rows = rows.sort_values(
        ["host", "day", "rule", "harm", "rank", "page", "title"],
        ascending=[True, True, True, False, False, False, True],
        kind="stable",
    )
    return rows.drop_duplicates(["host", "day", "rule"]).reset_index(drop=True)


def _instants(column: pd.Series) -> pd.Series:
    return pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
