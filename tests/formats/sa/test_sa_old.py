"""Files of sysstat before 8.1.3: each reads as its own release's `sar -A` prints it, or is refused."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.errors import FormatError
from iodiag.formats.sa._old_layouts import layout, parts, releases
from iodiag.formats.sa.sa_binary import FORMAT
from property_tests import examples
from writers.sa_cases import read

SAMPLES = Path(__file__).parents[3] / "samples"
OLD = sorted(path for path in (SAMPLES / "sa").glob("*-sysstat-[3-9].*-*.bin"))
PRINTED = {path: SAMPLES / "sar" / f"{path.stem.split('-sysstat-')[1]}-A.txt" for path in OLD}
PRINTED = {path: text for path, text in PRINTED.items() if text.exists()}

NOT_COMPARED = {
    "system": "two sections of text, one record",
    "interrupts": "a row per interrupt and CPU in text",
    "memory": "its rates are not taken from the counters",
}
KEYS = ("cpu", "device", "interface", "tty")
FRONT = {"source", "line", "host", "time", "interval_s", "segment", "report", "since_boot", "is_group", *KEYS}


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by segment, report and item, with the items' names as words."""
    keys = [key for key in KEYS if key in rows]
    rows = rows.assign(**{key: rows[key].astype(str) for key in keys})
    return rows.sort_values(["segment", "report", *keys], kind="stable", ignore_index=True)


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: path.stem)
def test_the_numbers_are_those_that_the_release_printed(path):
    binary, text = iodiag.read(path), iodiag.read(PRINTED[path])
    compared = 0
    for name, rows in text.tables.items():
        if name in NOT_COMPARED:
            continue
        printed, stored = in_order(rows), in_order(binary.tables[name])
        assert len(printed) == len(stored), name
        for column in printed.columns.intersection(stored.columns).difference(list(FRONT)):
            known = printed[column].notna()
            wanted, got = printed[column][known].to_numpy(), stored[column][known].to_numpy()
            # the oldest releases cut decimals off, and take the idle share as what is left
            slack = 0.04 if column == "idle_pct" else 0.0151
            assert np.allclose(got, wanted, rtol=2e-4, atol=slack), (name, column)
            compared += len(wanted)
    assert compared > 80


def test_every_format_has_its_layouts():
    assert len(releases()) == 21
    for magic in releases():
        assert layout("file_header", magic)
        assert layout("statistics", magic)
        assert layout("cpu", magic)
        assert (layout("disk", magic) is None) == (magic < 0x215D)
    named = {name for part in parts() for name in part.fields.split()}
    for magic in releases():
        for kind in ("statistics", "cpu", "serial_line", "interface", "disk"):
            structure = layout(kind, magic)
            if structure is None:
                continue
            ends = [run.at + run.step * len(run.names.split()) for run in structure.runs if run.code != "u8"]
            assert max(ends, default=0) <= structure.size + 7
            known = {name for run in structure.runs for name in run.names.split()}
            assert known - named <= {"uptime", "uptime_one", "time", "kind", "hour", "minute", "second"}


def first(pattern: str) -> bytes:
    return next((SAMPLES / "sa").glob(pattern)).read_bytes()


def test_a_comment_that_runs_over_its_own_time_is_kept_and_harms_nothing():
    capture = iodiag.read(next((SAMPLES / "sa").glob("*longcomment.bin")))
    words = [note.text for note in capture.notes if "comment" in note.reason]
    assert max(map(len, words)) > 44
    assert len(capture.tables["io"])


def test_a_file_of_rhel_6_5_and_wide_totals_are_read():
    for pattern in ("0x1170-*.bin", "0x2170-*io80-s390x.bin"):
        (path,) = (SAMPLES / "sa").glob(pattern)
        io = iodiag.read(path).tables["io"]
        assert (io["reads_per_s"] > 0).all()
        assert np.allclose(io["reads_per_s"] + io["writes_per_s"], io["ios_per_s"])


def test_a_file_without_disks_says_so():
    capture = iodiag.read(next((SAMPLES / "sa").glob("0x215a-*.bin")))
    assert any("no disks" in note.reason for note in capture.notes)
    assert "disk" not in capture.tables
    other = iodiag.read(next((SAMPLES / "sa").glob("0x2169-*s390x.bin")))
    assert not any("no disks" in note.reason for note in other.notes)


def test_a_head_that_fits_two_formats_is_refused():
    data = bytearray(first("0x2169-*s390x.bin"))
    struct.pack_into("<HH", data, 4, 0x2163, 288)
    assert FORMAT.recognise(bytes(data))
    with pytest.raises(FormatError, match="may be format 0x2163 and 0x2169; print it with"):
        read(bytes(data))


def test_a_magic_alone_is_no_file():
    data = bytearray(first("0x2169-*s390x.bin"))
    struct.pack_into(">H", data, 38, 465)
    assert not FORMAT.recognise(bytes(data))


@pytest.mark.parametrize(("at", "value"), [(41, 12), (40, 0), (40, 32), (12, 1), (24, 2**31)])
def test_impossible_numbers_in_the_head_are_refused(at, value):
    data = bytearray(first("0x2169-*s390x.bin"))
    struct.pack_into(">I" if at < 40 else "B", data, at, value)
    with pytest.raises(FormatError, match="impossible numbers in the header"):
        read(bytes(data))


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_cut_file_keeps_the_records_before_the_cut(path):
    data = path.read_bytes()
    whole = read(data).tables["io"]
    cut = read(data[:-9])
    assert len(cut.tables["io"]) == len(whole) - 1
    assert [note for note in cut.notes if note.is_unread]


@examples(80)
@given(st.data())
def test_any_damage_gives_rows_or_one_line(data):
    good = data.draw(st.sampled_from(OLD)).read_bytes()
    at = data.draw(st.integers(0, min(len(good) - 1, 900)))
    damaged = bytearray(good)
    damaged[at : at + 4] = data.draw(st.binary(min_size=1, max_size=4))
    with suppress(FormatError):
        read(bytes(damaged)[: data.draw(st.integers(8, len(good)))])
