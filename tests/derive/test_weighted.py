"""Columns of frames that are finished: looked up once, the same numbers, and nobody's to change."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest

from iodiag.derive import weighted
from iodiag.derive.prepare import _are_sorted


def test_a_finished_frame_has_the_same_values():
    frame = pd.DataFrame({"ios_per_s": [1, 2], "interval_s": [1.0, np.nan]})
    plain = [weighted.values(frame, name) for name in ("ios_per_s", "absent")] + [weighted.lengths(frame)]
    weighted.finished(frame)
    kept = [weighted.values(frame, name) for name in ("ios_per_s", "absent")] + [weighted.lengths(frame)]
    for one, other in zip(plain, kept, strict=True):
        np.testing.assert_array_equal(one, other)
    assert weighted.values(frame, "ios_per_s") is weighted.values(frame, "ios_per_s")
    with pytest.raises(ValueError, match="read-only"):
        weighted.values(frame, "absent")[0] = 1


def test_what_is_made_from_a_finished_frame_is_looked_up_anew():
    frame = weighted.finished(pd.DataFrame({"util": [0.1, 0.2, 0.3]}))
    assert weighted.values(frame, "util").sum() == pytest.approx(0.6)
    assert weighted.values(frame.assign(util=1.0), "util").sum() == 3
    assert weighted.values(frame[frame["util"] > 0.15], "util").tolist() == [0.2, 0.3]


def test_nothing_is_kept_of_a_frame_that_is_gone():
    before = len(weighted._FINISHED)
    frame = weighted.finished(pd.DataFrame({"util": [0.1]}))
    assert len(weighted._FINISHED) == before + 1
    del frame
    gc.collect()
    assert len(weighted._FINISHED) <= before


@pytest.mark.parametrize(
    ("first", "second", "are"),
    [
        ([1, 1, 2], [3, 4, 0], True),
        ([1, 1, 2], [4, 3, 0], False),
        ([1, 2, 1], [0, 0, 0], False),
        ([1, 1], [0, 0], True),
        ([], [], True),
    ],
)
def test_order_by_the_first_key_then_the_next(first, second, are):
    assert _are_sorted([np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)]) is are
