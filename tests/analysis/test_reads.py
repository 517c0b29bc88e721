"""What bounds reads where a source counts both directions together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iodiag.rules.causes.fragmentation_sized_reads import with_reads
from iodiag.table.table import Table

rates = st.floats(5, 500)


@given(rates, st.floats(4, 64), st.floats(0, 0.04), st.floats(4, 64))
def test_the_bound_holds_for_writes_of_a_block_and_more(reads, size, share, write_size):
    writes = share * reads
    found = with_reads(
        _sample(
            ios_per_s=reads + writes,
            reads_per_s=np.nan,
            read_kb_per_s=reads * size,
            write_kb_per_s=writes * write_size,
            util=0.9,
            depth=0.8,
        ),
        disks=1,
    )
    bounded = found["reads_per_s"][0]
    if found["is_bounded"][0]:
        # never fewer reads than a twentieth off, never more than all requests
        assert 0.95 * (reads + writes) - 1e-9 <= bounded <= reads + writes
        assert found["read_size_kb"][0] == reads * size / bounded
    assert found["busy"][0] == 0.8


@given(rates, st.floats(0, 100))
def test_counted_reads_are_kept(reads, written):
    counted = _sample(ios_per_s=reads, reads_per_s=reads, read_kb_per_s=8 * reads, write_kb_per_s=written)
    found = with_reads(counted, disks=1)
    assert found["reads_per_s"][0] == reads
    assert not found["is_bounded"][0]


def _sample(**values: float) -> Table:
    return Table.of_columns({name: np.array([value]) for name, value in values.items()}, 1)
