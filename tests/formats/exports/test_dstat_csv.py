"""dstat's CSV: units, the first row, times without a year, rows that are not whole."""

from __future__ import annotations

import pandas as pd
import pytest

import iodiag
from iodiag.formats.exports.dstat_csv import FORMAT
from iodiag.model.capture import Source

HEAD = """\
"Dstat 0.7.3 CSV output"
"Author:","Dag Wieers <dag@wieers.com>",,,,"URL:","http://dag.wieers.com/home-made/dstat/"
"Host:","db1",,,,"User:","root"
"Cmdline:","{command}",,,,"Date:","31 Dec 2026 23:59:50 CET"
"""
GROUPS = '"system","total cpu usage",,,,,,"dsk/sda",,"io/sda",,"sda","procs",,,"paging",\n'
NAMES = (
    '"time","usr","sys","idl","wai","hiq","siq","read","writ","read","writ","util","run","blk","new",'
    '"in","out"\n'
)
ROW = "{},2.0,1.0,60.0,36.5,0.25,0.25,1048576.0,4096.0,64.0,1.0,97.5,3.0,2.0,0.4,2048.0,0.0\n"
CLOCKS = ("31-12 23:59:50", "31-12 23:59:55", "01-01 00:00:00")
TEXT = HEAD.format(command="dstat -tcd --output out.csv 5") + "\n" + GROUPS + NAMES


def read(text: str) -> iodiag.Capture:
    return iodiag.read(Source("out.csv", text.encode()))


def test_values_and_units():
    capture = read(TEXT + "".join(map(ROW.format, CLOCKS)))
    disk = capture.tables["disk"]
    assert disk["device"].tolist() == ["sda"] * 3
    row = disk.iloc[1]
    assert (row["read_kb_per_s"], row["write_kb_per_s"]) == (1024.0, 4.0)
    assert (row["reads_per_s"], row["writes_per_s"], row["util_pct"]) == (64.0, 1.0, 97.5)
    assert capture.tables["cpu"]["system_pct"].tolist() == [1.5] * 3
    assert capture.tables["queue"]["blocked"].tolist() == [2.0] * 3
    assert capture.tables["swapping"]["swap_in_kb_per_s"].tolist() == [2.0] * 3
    assert list(capture.hosts) == ["db1"]


def test_the_first_row_is_since_boot_and_the_year_goes_on():
    capture = read(TEXT + "".join(map(ROW.format, CLOCKS)))
    disk = capture.tables["disk"]
    assert disk["since_boot"].tolist() == [True, False, False]
    assert not capture.tables["queue"]["since_boot"].any()
    assert disk["interval_s"].tolist()[1:] == [5.0, 5.0]
    assert disk["time"].tolist()[1:] == [pd.Timestamp("2026-12-31 23:59:55"), pd.Timestamp("2027-01-01")]


@pytest.mark.parametrize(
    ("command", "length"),
    [("dstat -d", 1.0), ("dstat -d 5", 5.0), ("dstat -d 5 9", 5.0), ("dstat -d -C 0", 1.0)],
)
def test_without_a_clock_the_delay_is_the_length(command: str, length: float):
    text = HEAD.format(command=command) + '"dsk/total",\n"read","writ"\n' + "10.5,20.25\n2048.0,1024.0\n" * 2
    rows = read(text).tables["io"]
    assert rows["interval_s"].tolist()[1:] == [length] * 3
    assert rows["read_kb_per_s"].tolist()[1] == 2.0


@pytest.mark.parametrize("broken", ["01-01 00:00:05,2.0,1.0\n", ROW.format(CLOCKS[2]).replace("60.0", "6x")])
def test_a_row_that_is_not_whole_is_told(broken: str):
    capture = read(TEXT + "".join(map(ROW.format, CLOCKS)) + broken)
    assert len(capture.tables["disk"]) == 3
    assert [note.line for note in capture.unparsed] == [11]


def test_a_run_appended_to_another_is_a_segment():
    run = TEXT + "".join(map(ROW.format, CLOCKS))
    disk = read(run + run).tables["disk"]
    assert disk["segment"].tolist() == [0, 0, 0, 1, 1, 1]
    assert disk["since_boot"].tolist() == [True, False, False] * 2


def test_the_example_is_read_by_it_alone():
    head = FORMAT.example.encode()
    assert [form.id for form in iodiag.formats.file_formats() if form.recognise(head)] == ["dstat-csv"]
    assert not FORMAT.recognise(b'"pcp-dstat 5.0.3 CSV Output"\n')


def test_a_last_row_without_a_line_feed_is_left_out():
    capture = read((TEXT + "".join(map(ROW.format, CLOCKS)))[:-3])
    assert len(capture.tables["disk"]) == 2
    assert [note.line for note in capture.unparsed] == [10]


def test_a_column_that_nobody_knows_is_told():
    notes = [
        note.reason
        for note in read(TEXT.replace('"writ","util"', '"wriX","util"') + ROW.format(CLOCKS[0])).notes
    ]
    assert notes == ["columns that iodiag does not know are left out: io/sda wriX"]
    assert not read(TEXT + ROW.format(CLOCKS[0])).notes


@pytest.mark.parametrize(
    "broken", ['"Host:"\n', "31-12 23:59:59,\x1d1.0" + ",1.0" * 15 + "\n", '"\0\n', "\r\n"]
)
def test_hostile_lines(broken: str):
    assert len(read(TEXT + ROW.format(CLOCKS[0]) + broken + ROW.format(CLOCKS[1])).tables["disk"]) == 2


@pytest.mark.parametrize("clock", ["31-12 23:9:55", "31-12 23:69:55", "32-12 23:59:55", ""])
def test_a_damaged_clock_leaves_the_times_of_the_others(clock: str):
    capture = read(TEXT + "".join(map(ROW.format, (CLOCKS[0], clock, CLOCKS[2]))))
    assert capture.tables["disk"]["time"].tolist() == [
        pd.Timestamp("2026-12-31 23:59:50"),
        pd.Timestamp("2027-01-01"),
    ]
    assert [(note.line, note.reason) for note in capture.unparsed] == [(9, "its time is no time")]


def test_rows_out_of_order_are_told():
    clocks = ("30-12 10:00:00", "30-12 10:00:10", "30-12 10:00:05", "30-12 10:00:15")
    notes = read(TEXT + "".join(map(ROW.format, clocks))).notes
    assert [note.line for note in notes] == [10]
    assert "its clock is before that of the row above" in notes[0].reason


def test_a_lost_group_makes_no_disk():
    capture = read(TEXT.replace(',"sda","procs"', ',,"procs"') + ROW.format(CLOCKS[0]))
    assert capture.tables["disk"]["device"].tolist() == ["sda"]
    assert [note.reason for note in capture.notes] == [
        "columns that iodiag does not know are left out: io/sda util"
    ]


def test_a_disk_whose_name_is_damaged_above_one_group_is_no_disk():
    capture = read(TEXT.replace('"io/sda"', '"io/sd"') + "".join(map(ROW.format, CLOCKS)))
    assert set(capture.tables["disk"]["device"]) == {"sda"}
    assert "reads_per_s" not in capture.tables["disk"]
    assert [note.reason for note in capture.notes] == [
        "columns that iodiag does not know are left out: io/sd read, io/sd writ"
    ]
    assert "disk" not in read(TEXT.replace('"io/sda",,"sda"', '"io/sd",,"sa"') + ROW.format(CLOCKS[0])).tables


def test_disks_may_have_no_use_and_a_sum_no_disk():
    groups = GROUPS.replace('"sda","procs"', '"sdb","procs"').replace("/sda", "/total")
    capture = read(HEAD.format(command="dstat -d 5") + "\n" + groups + NAMES + ROW.format(CLOCKS[0]))
    assert capture.tables["disk"]["device"].tolist() == ["sdb"]
    assert not capture.notes
