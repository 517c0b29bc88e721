"""Records taken in many at a time are read as if one by one."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.formats.sa import _rates as _sa_rates
from iodiag.formats.sa import _records as _sa_records
from property_tests import examples
from writers import sa_writer as w
from writers.sa_cases import Reading, disk, item, read, record

SAMPLES = Path(__file__).parents[3] / "samples" / "sa"


def one_by_one(data: bytes) -> Reading:
    """The same without a look at what follows a record, and without the short cut for equal records."""
    with patch.object(_sa_records, "_FIRST_LOOK", 0), patch.object(_sa_rates, "repeats", lambda *_: False):
        return read(data)


def assert_same(data: bytes) -> None:
    at_once, apart = read(data), one_by_one(data)
    assert at_once.tables.keys() == apart.tables.keys()
    for family, frame in at_once.tables.items():
        pd.testing.assert_frame_equal(frame, apart.tables[family], obj=family)
    assert at_once.sections == apart.sections
    assert at_once.notes == apart.notes


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.bin")), ids=lambda path: path.stem)
def test_real_files(path):
    assert_same(path.read_bytes())


stretches = st.lists(
    st.tuples(
        st.integers(1, 30),  # records
        st.lists(st.integers(0, 5), max_size=4, unique=True),  # minor numbers of the disks, in their order
        st.sampled_from(["goes on", "restart", "clock back", "comment", "counters fall"]),
    ),
    min_size=1,
    max_size=5,
)


@examples(60)
@given(stretches, st.sampled_from([(0x2175, "<", 8), (0x2175, ">", 4), (0x2173, "<", 8)]), st.integers(0, 1))
def test_written_files(parts, kind, extras):
    magic, order, long_bytes = kind
    layout = w.DISK if magic == 0x2175 else w.DISK_OLD
    records: list[w.Record] = []
    number, uptime, total = 0, 500_000, 0
    for count, minors, change in parts:
        if change == "restart":
            records.append(w.Restart(records[-1].time if records else 1_700_000_000))
        elif change == "comment":
            records.append(w.Comment(1_700_000_000 + 10 * number, b"a word"))
        uptime = 1_000 if change in ("restart", "clock back") else uptime
        total = 0 if change == "counters fall" else total
        for _ in range(count):
            number, uptime, total = number + 1, uptime + 1_000, total + 7
            disks = [disk(layout, minor, ios=total * (1 + minor), read=8 * total) for minor in minors]
            cpus = [item(w.CPU if magic == 0x2175 else w.CPU_OLD, user=total, idle=uptime)] * 3
            records.append(record(number, {layout.id: disks, 1: cpus}, uptime=uptime))
    layouts = [w.CPU if magic == 0x2175 else w.CPU_OLD, layout]
    file = w.SaFile(
        layouts, records, magic, order, long_bytes, extras=extras if magic == 0x2175 else 0, slots={11: 6}
    )
    data = file.write()
    if number > 2 and sum(count > 1 for count, _, _ in parts):
        assert_same(data)


def test_a_record_that_cannot_be_one_ends_a_stretch_at_the_same_byte():
    stats = [record(n, {11: [disk(ios=n)]}) for n in range(40)]
    data = bytearray(w.SaFile([w.DISK], stats).write())
    whole = read(bytes(data))
    at = int(whole.tables["disk"]["line"].iloc[24])
    data[at + 20] = 77  # the kind of record
    broken = read(bytes(data))
    assert len(broken.tables["disk"]) == 24
    assert broken.notes[-1].line == at
    assert_same(bytes(data))


def test_some_tables_alone_are_the_same(tmp_path):
    path = SAMPLES / "0x2175-sysstat-12.6.1.bin"
    whole = iodiag.read(path)
    for wanted in (["disk"], ["swap", "memory"], ["cpu", "tapes"]):
        some = iodiag.read(path, tables=wanted)
        assert some.tables.keys() == whole.tables.keys() & set(wanted)
        for family, frame in some.tables.items():
            pd.testing.assert_frame_equal(frame, whole.tables[family])
    text = tmp_path / "iostat.txt"
    text.write_bytes((SAMPLES.parent / "iostat" / "12.7.7-x-g.txt").read_bytes())
    assert set(iodiag.read(text, tables=["cpu"]).tables) == {"cpu"}
    assert not iodiag.read(text, tables=["network"]).tables
