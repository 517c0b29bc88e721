"""What bounds reads where a source counts both directions together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from iodiag.derive.reads import with_reads

rates = st.floats(5, 500)


@given(rates, st.floats(4, 64), st.floats(0, 0.04), st.floats(4, 64))
def test_the_bound_holds_for_writes_of_a_block_and_more(reads, size, share, write_size):
    writes = share * reads
    frame = pd.DataFrame(
        {
            "ios_per_s": [reads + writes],
            "reads_per_s": [np.nan],
            "read_kb_per_s": [reads * size],
            "write_kb_per_s": [writes * write_size],
            "util": [0.9],
            "depth": [0.8],
        }
    )
    found = with_reads(frame, disks=1)
    bounded = found["reads_per_s"].iloc[0]
    if found["is_bounded"].iloc[0]:
        # never fewer reads than a twentieth off, never more than all requests
        assert 0.95 * (reads + writes) - 1e-9 <= bounded <= reads + writes
    assert found["busy"].iloc[0] == 0.8


@given(rates, st.floats(0, 100))
def test_counted_reads_are_kept(reads, written):
    frame = pd.DataFrame(
        {
            "ios_per_s": [reads],
            "reads_per_s": [reads],
            "read_kb_per_s": [8 * reads],
            "write_kb_per_s": [written],
        }
    )
    found = with_reads(frame, disks=1)
    assert found["reads_per_s"].iloc[0] == reads
    assert not found["is_bounded"].iloc[0]
