"""Rows without their header: what settles a layout, and what leaves it open."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.errors import ConfigError, UnknownFormat
from text_reading import reading

OLD_BANNER = "Linux 2.6.32-431.el6.x86_64 (h)     01/13/2016     _x86_64_    (24 CPU)\n"
NEW_BANNER = OLD_BANNER.replace("2.6.32-431.el6", "5.14.0-427.el9")
X3 = "sdb 0.00 0.00 439.00 0.00 1756.00 0.00 8.00 7.31 16.59 16.59 0.00 2.28 100.00\n"
SAR = "11:54:32 AM dev8-0 5338.00 162784.00 1394.00 30.76 5.24 0.98 0.19 100.00\n"
VMSTAT = " 0  2   1232  82384     40 503416    0    0     0     8  705  692  3  6  0 91\n"


@pytest.mark.parametrize(
    ("text", "column", "value"),
    [
        (X3 * 3, "read_kb_per_s", 1756),
        (X3.replace("1756.00", "3512.00") * 3, "read_kb_per_s", 1756),
        (X3.replace("439.00", "409600.00").replace("1756.00", "1600.00").replace("2.28 100.00", "0.00 100.00") * 2, "read_kb_per_s", 1600 * 1024),
        (OLD_BANNER + SAR * 2, "read_kb_per_s", 81392),
    ],
)  # fmt: skip
def test_arithmetic_settles_layout_and_unit(text: str, column: str, value: float):
    read = reading(text)
    assert read.disk[column].tolist()[0] == value
    assert "without a header" in read.remarks
    assert not read.unread


def test_rows_of_vmstat():
    read = reading(VMSTAT * 3)
    assert read.tables["cpu"]["iowait_pct"].tolist() == [91] * 3


@pytest.mark.parametrize(
    "text",
    [
        NEW_BANNER + SAR * 2,  # sectors or kB: the numbers do not tell
        SAR * 2,
        "sdb 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n" * 3,
        X3.replace("8.00", "9.00") * 3,
        "a b 1 2 3 4 5\n1 2 3 4 5 6 7\n",
    ],
)
def test_what_is_not_settled_is_shown(text: str):
    read = reading(text)
    assert not read.tables
    assert read.unread


def test_rows_that_several_headers_fit_are_refused_with_these_headers():
    asked = r'^x\.txt:1: 2 rows without a header, which several fit; .*"DEV tps rd_sec/s .*" or --columns "DEV tps rkB/s '
    with pytest.raises(UnknownFormat, match=asked):
        iodiag.read(io.BytesIO((SAR * 2).encode()), name="x.txt")
    printed = SAR.replace("AM ", "AM=A0 ").replace("0.98 ", "=\n0.98 ")
    with pytest.raises(UnknownFormat, match=asked):
        iodiag.read(io.BytesIO((printed * 2).encode()), name="x.txt")
    both = reading(f"{SAR * 2}\n{VMSTAT * 3}")
    assert list(both.tables) == list(reading(VMSTAT * 3).tables)
    assert "2 rows without a header, which several fit" in both.remarks


def test_a_stated_header_settles_it():
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
    zeros = "sdb " + " ".join(["0.00"] * 13) + "\n"
    read = reading(zeros * 2, columns=header)
    assert read.disk["report"].tolist() == [0, 1]
    assert (
        reading(SAR * 2, columns="DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util")
        .disk["read_kb_per_s"]
        .tolist()
        == [162784] * 2
    )
    assert reading("sda 1.50 2 3.25\n", columns="Device: tps kB_read/s kB_wrtn/s").disk[
        "ios_per_s"
    ].tolist() == [1.5]


def test_a_stated_header_that_nobody_knows():
    with pytest.raises(ConfigError, match="--columns"):
        reading(X3, columns="name a b c")


def test_the_cut_head_of_a_log_is_read_by_the_table_below():
    header = "Device:  r/s w/s rkB/s wkB/s\n"
    rows = "sda 1.00 2.00 3.00 4.00\nsdb 0.00 0.00 0.00 0.00\n"
    read = reading(f"{rows}\n{header}{rows}")
    assert read.disk["line"].tolist() == [1, 2, 5, 6]
    assert read.disk["report"].tolist() == [0, 0, 1, 1]
    assert "the header of line 4 fits them" in read.remarks
    assert "alone fits" in reading(X3 * 3).remarks
    other = reading(f"{rows.replace('sd', 'x')}\n{header}{rows}")
    assert other.disk["line"].tolist() == [5, 6]


def test_rows_above_a_part_of_a_report_are_those_of_another_part():
    parts = """\
     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Dev?c?
 1290.51      8.8M    14.80   1.1%    0.22     7.0k vda

     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device
  284.75     11.2M   160.16  36.0%    0.48    40.4k vda
"""
    read = reading(parts)
    assert read.disk["line"].tolist() == [5]
    assert read.disk["writes_per_s"].tolist() == [284.75]
    assert [note.line for note in read.notes if note.is_unread] == [2]


def test_reports_stay_apart_from_those_with_a_header():
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    read = reading(f"{header}{X3}\n$ top\n\nmean 1 2 3 4\n{X3}\n{header}{X3}")
    assert read.disk["report"].tolist() == [0, 1, 2]


def test_many_shapes_take_no_time():
    text = "".join(f"x{n} " + "1.00 " * (5 + n % 7) + "\n" for n in range(5000))
    assert not reading(text).tables


@pytest.mark.parametrize(
    ("shown", "unread"), [("pts/0 08:15 2:10 0.02s 0.01s -bash", 0), ("xvdz 8 2 0.2 1 9", 1)]
)
def test_a_row_of_other_words_as_wide_as_the_table_is_none_of_it(shown, unread):
    table = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 4.41 45.93 70.48 11227226 17228552\n"
    read = reading(f"USER TTY FROM LOGIN@ IDLE JCPU PCPU WHAT\n{shown}\n\n{table}")
    assert sum(note.is_unread for note in read.notes) == unread


CALM = (
    "".join(f"23:{n}5:01 0 {311 + n} 0.4{n} 0.2{n} 0.1{n}\n" for n in range(2, 6))
    + "00:00:02 1 314 0.08 0.11 0.12\n"
)
QUEUE = "00:00:02 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n" + "".join(
    f"00:{n}5:01 0 {322 + n} 11.{n}0 9.{n}0 4.{n}0\n" for n in range(5)
)
MEAN = "Average: 0 312 0.44 0.24 0.14\n"


@pytest.mark.parametrize("between", ["\n", MEAN + "\nand this is the next day:\n\n"], ids=["blank", "a day"])
def test_rows_at_whose_last_clock_the_next_header_goes_on_are_of_its_table(between: str):
    read = reading(CALM + between + QUEUE)
    assert read.tables["queue"]["load_1m"].tolist() == [
        0.42,
        0.43,
        0.44,
        0.45,
        0.08,
        11,
        11.1,
        11.2,
        11.3,
        11.4,
    ]
    assert "rows without a header, read under that of line" in read.remarks
    assert not read.unread


@pytest.mark.parametrize(
    "text",
    [
        CALM.replace("00:00:02", "00:00:01") + "\n" + QUEUE,
        CALM.replace(" 0.", " ") + "\n" + QUEUE,
        CALM.replace(" 31", " 9931") + "\n" + QUEUE,
        CALM.replace(" 0 ", " 0.00 ").replace(" 1 ", " 1.00 ").replace(" 31", " 3.1") + "\n" + QUEUE,
        CALM + "\n" + QUEUE + "\n00:00:02 tps rtps wtps bread/s bwrtn/s\n00:05:02 1.00 1.00 0.00 8.00 0.00\n",
        CALM.splitlines()[-1] + "\n\n" + QUEUE,
        CALM + "\nLinux 5.10.0 (db2) 11/20/2026 _x86_64_ (4 CPU)\n\n" + QUEUE,
        CALM.replace(" 314 ", " 31² ") + "\n" + QUEUE,
    ],
    ids=["another clock", "whole numbers", "far more", "other kinds", "two tables", "one row", "a host", "no digit"],
)  # fmt: skip
def test_rows_above_another_header_stay_unread(text: str):
    read = reading(text)
    assert read.unread
    assert "read under that of line" not in read.remarks


def test_a_header_of_context_as_columns_is_told_apart_from_an_unknown_one():
    with pytest.raises(ConfigError, match="a header of iotop, which needs none"):
        reading("1 2 3\n", columns="TID PRIO USER DISK READ DISK WRITE SWAPIN IO> COMMAND")
