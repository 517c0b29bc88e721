"""Tables as pages, scripts and translators leave them: each read as the bare table is, or refused with a note."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import io
import re

import pandas as pd
import pytest

import iodiag
from text_reading import reading

NAMES = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
VMSTAT_HEAD = f"procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n{NAMES}"
VMSTAT_ROWS = (
    " 2  0      0 1413456   1408  23048    0    0   685     4  348  256 13 51 32  4  0",
    " 1  3      0 1413400   1408  23050    0    0   100   200  348  256 13 51 22 14  0",
    " 1  2      0 1413200   1408  23052    0    0   120   210  358  266 12 50 24 14  0",
)
X3 = """Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
vda              12.63   147.12 1112.36  260.17  7803.18 10405.57    26.53     0.37    0.27    0.22    0.46   0.04   5.09
dm-0              0.00     0.00    1.27    2.12     7.86    91.97    58.82     0.00    0.95    0.36    1.30   0.26   0.09
"""
SAR_CPU = """12:24:54     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:24:55     all      0.10      0.00      0.10      0.00      0.00     99.80
12:24:56     all      0.20      0.00      0.10      0.00      0.00     99.70
Average:     all      0.15      0.00      0.10      0.00      0.00     99.75
"""
SAR_DISK = """12:24:54          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
12:24:55     dev254-0    266.00   3052.00   3136.00     23.26      0.03      0.13      0.11      2.80
12:24:56     dev254-0    466.00   4264.00   3316.00     16.27      0.11      0.24      0.06      2.80
Average:     dev254-0    366.00   3658.00   3226.00     18.81      0.07      0.20      0.08      2.80
"""
VMSTAT = VMSTAT_HEAD + "\n".join(VMSTAT_ROWS)
CLOCK = re.compile(r"(?m)^(\d\d):(\d\d):(\d\d)")


def stamped(shape: str) -> str:
    return VMSTAT_HEAD + "".join(f"{shape.format(n)}{row}\n" for n, row in enumerate(VMSTAT_ROWS, 1))


def in_cells(text: str) -> str:
    rows = ("".join(f"[td]{word}[/td]" for word in line.split()) for line in text.splitlines())
    return "[table]" + "".join(f"[tr]{row}[/tr]\n" for row in rows) + "[/table]"


CASES = {
    "time in front of rows": (VMSTAT, stamped("10:00:0{} ")),
    "date and time in front of rows": (VMSTAT, stamped("2019-06-02 10:00:0{} ")),
    "time in brackets": (VMSTAT, stamped("[10:00:0{}]")),
    "ts in front of rows": (VMSTAT, stamped("Jun 02 10:00:0{} ")),
    "time glued to a name": (X3, re.sub(r"(?m)^(?=vda|dm-0)", "[18:01:12]", X3)),
    "comments and a zone": (SAR_CPU, re.sub(r"(?m)^", "# ", CLOCK.sub(r"\1:\2:\3 IST", SAR_CPU)).removesuffix("# ")),
    "blanks in names of columns": (X3, X3.replace("%util", "% util").replace("/s", " / s")),
    "a blank in one name of a column": (X3, X3.replace("%util", "% util")),
    "a script's file with commas": (
        X3,
        "".join(
            f"{'2026-11-20 10:00:00' if n else 'datetime'},{','.join(line.split())}\n"
            for n, line in enumerate(X3.replace("Device:", "device").splitlines())
        ),
    ),
    "capitals": (X3, X3.replace("%util", "%Util")),
    "a translated column": (SAR_CPU, SAR_CPU.replace("%nice", "%Nice")),
    "blanks behind per cent": (SAR_CPU, SAR_CPU.replace("%", "% ")),
    "BBCode cells": (X3, in_cells(X3)),
    "BBCode colours": (X3, X3.replace("5.09", "[color=#ff0000]5.09[/color]").replace("1112.36", "[B]1112.36[/B]")),
    "full-width colons": (SAR_CPU, SAR_CPU.replace(":", "：")),
    "full-width per cent": (X3, X3.replace("%", "％").replace("Device:", "Device：")),
    "a Korean clock": (SAR_CPU, CLOCK.sub(r"오후 \1:\2:\3", SAR_CPU).replace("Average:", "평균값:")),
    "a Taiwanese clock": (SAR_CPU, CLOCK.sub(r"下午 \1時\2分\3秒", SAR_CPU).replace("Average:", "平均時間:")),
    "an interrupted average": (SAR_CPU, SAR_CPU.replace("Average:", "^CAverage:")),
    "an overwritten line": (SAR_CPU, SAR_CPU.replace("Average:", "12:24:57     all\rAverage:")),
    "no clock but an average": (SAR_DISK, CLOCK.sub("", SAR_DISK)),
    "no header": (SAR_CPU, SAR_CPU.split("\n", 1)[1]),
    "half a header": (SAR_CPU, SAR_CPU[SAR_CPU.index("%iowait") :]),
    "vmstat without its header": (VMSTAT, "\n".join(VMSTAT_ROWS)),
    "vmstat with times and no header": (VMSTAT, stamped("10:00:0{} ").removeprefix(VMSTAT_HEAD)),
    "vmstat in halves without names": (
        VMSTAT,
        "procs  memory  swap  io\n\n" + "".join(f"{row[:66]}\n{row[66:]}\n" for row in VMSTAT_ROWS),
    ),
    "vmstat in halves alone": (VMSTAT, "".join(f"{row[:66]}\n{row[66:]}\n" for row in VMSTAT_ROWS)),
}  # fmt: skip
IGNORED = ["line", "time", "interval_s", "since_boot", "segment", "report"]


@pytest.mark.parametrize("name", CASES)
def test_a_table_reads_as_the_bare_one(name: str):
    bare, dressed = (reading(text) for text in CASES[name])
    for tables, others in ((bare.tables, dressed.tables), (bare.averages, dressed.averages)):
        assert set(tables) == set(others)
        for family, table in tables.items():
            pd.testing.assert_frame_equal(
                others[family].drop(columns=IGNORED),
                table.drop(columns=IGNORED),
                check_categorical=False,
                check_like=True,
            )
    assert not dressed.unread
    solid = sum(bool(line.strip()) for line in CASES[name][1].split("\n"))
    assert sum(dressed.counts.values()) == solid, "every line is counted once"


def test_halves_of_which_the_shares_do_not_add_up_are_no_rows_of_vmstat():
    assert not reading("".join(f"{row[:66]}\n{row[66:-3]} 9\n" for row in VMSTAT_ROWS)).tables


@pytest.mark.parametrize("columns", [16, 17])
def test_epoch_seconds_on_a_line_above_each_row_of_vmstat_are_its_clock(columns: int):
    end = -3 if columns == 16 else None
    rows = "".join(f"{1583143200 + 10 * n}\n{row[:end]}\n" for n, row in enumerate(VMSTAT_ROWS))
    head = VMSTAT_HEAD.replace(" st\n", "\n") if end else VMSTAT_HEAD
    read = reading(head + rows)
    assert read.tables["cpu"]["time"].astype(str).str[11:19].tolist() == ["10:00:00", "10:00:10", "10:00:20"]
    assert read.tables["cpu"]["interval_s"].tolist()[1:] == [10, 10]
    assert not read.unread


def test_times_in_front_of_rows_are_those_of_the_samples():
    read = reading(stamped("2019-06-02 10:00:0{} "))
    assert read.tables["cpu"]["time"].astype(str).tolist() == [f"2019-06-02 10:00:0{n}" for n in (1, 2, 3)]
    assert read.tables["cpu"]["interval_s"].tolist()[1:] == [1, 1]


def test_times_in_front_of_rows_tell_more_than_the_clock_above_their_table():
    read = reading(f"zzz ***Sun Jun 2 10:00:00 UTC 2019\n{stamped('10:00:0{} ')}")
    assert read.tables["cpu"]["time"].astype(str).str[11:19].tolist() == ["10:00:01", "10:00:02", "10:00:03"]
    assert read.tables["cpu"]["interval_s"].tolist()[1:] == [1, 1]


def test_times_of_a_script_s_file_are_those_of_its_rows():
    read = reading(CASES["a script's file with commas"][1])
    assert read.tables["disk"]["time"].astype(str).tolist() == ["2026-11-20 10:00:00"] * 2


def test_times_are_taken_off_only_below_their_header():
    read = reading(f"{stamped('12:24:5{} ')}\n{SAR_CPU}\n{SAR_DISK}")
    assert len(read.tables["disk"]) == 2
    assert read.tables["cpu"]["idle_pct"].tolist() == [32, 22, 24, 99.8, 99.7]
    assert not read.unread


X6 = "09:0{0}:00 sdd 0.52 69.13 16.77 97.01 14.13 133.81 1.52 92.27 21.95 93.54 10.38 60.84 0.00 0.00 0.00 0.00 0.00 0.00 0.78 3.60 0.03 1.78\n"


def test_rows_of_iostat_behind_a_time_and_without_a_header():
    read = reading(X6.format(2) + X6.format(3))
    assert read.disk["report"].tolist() == [0, 1]
    assert read.disk["interval_s"].tolist()[1:] == [60]
    assert read.disk["flush_await_ms"].tolist() == [3.6, 3.6]
    assert "without a header" in read.remarks


MPSTAT = "10:00:0{} all 14.75 0.00 1.13 0.00 0.00 0.00 0.25 0.00 83.87\n"


def test_what_is_left_of_a_header_tells_shares_of_the_cpu_apart():
    rows = MPSTAT.format(1) + MPSTAT.format(2)
    read = reading(f"  %iowait    %steal      %irq     %soft    %guest     %idle\n{rows}")
    assert read.tables["cpu"]["idle_pct"].tolist() == [83.87, 83.87]
    bare = reading(rows)
    assert not bare.tables
    assert bare.unread == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(VMSTAT_ROWS).replace(" 13 51", " 13 11"),  # no shares of one CPU
        X6.format(2).replace("133.81", "13.81"),
        "\n".join(VMSTAT_ROWS)
        .replace(" 685 ", " 6.85 ")
        .replace(" 100 ", " 1.00 ")
        .replace(" 120 ", " 1.20 "),
        "procs  memory  swap  io\n" + "1 1 0 833460 33768 595768 0 0 0 459360 160 371 0\n51 40 0\n" * 3,
    ],
)
def test_what_the_numbers_contradict_is_shown(text: str):
    read = reading(text)
    assert not read.tables
    assert read.unread


def test_a_row_of_vmstat_that_two_layouts_fit_is_the_one_that_counts_switches():
    row = "0 3 0 668604 33928 759864 0 0 0 35196 140 31 0 30 10 60\n"
    assert reading(row * 3).tables["cpu"]["iowait_pct"].tolist() == [60] * 3


def test_lines_lost_without_a_blank():
    banner = "$ sar -u 5 2Linux 3.10.0 (h)      06/02/2019      _x86_64_        (2 CPU)"
    text = banner + "".join(SAR_CPU.splitlines()) + "\n"
    read = reading(text)
    assert read.tables["cpu"]["idle_pct"].tolist() == [99.8, 99.7]
    assert read.averages["cpu"]["idle_pct"].tolist() == [99.75]
    disks = reading(f"Linux 3.10.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU){''.join(X3.splitlines())}\n")
    assert disks.disk["util_pct"].tolist() == [5.09, 0.09]


@pytest.mark.parametrize(
    ("printed", "name"), [("sd*", "sd*"), ("sda*", "sda"), ("*sda*", "sda"), ("**sd**", "sd")]
)
def test_names_with_stars(printed: str, name: str):
    assert reading(X3.replace("vda ", f"{printed} ")).disk["device"].tolist()[0] == name


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
def test_blanks_between_thousands(blank: str):
    header = "Device            r/s     w/s     rkB/s     wkB/s  await aqu-sz  %util\n"
    rows = f"sda  1{blank}234,50  5,00  1{blank}012{blank}345,00  8,00  5,00  1,00 45,00\n"
    rows += "sdb  234,50  5,00  12,00  8,00  5,00  1,00 45,00\n"
    read = reading(header + rows)
    assert read.disk["reads_per_s"].tolist() == [1234.5, 234.5]
    assert read.disk["read_kb_per_s"].tolist() == [1012345.0, 12.0]
    assert not read.unread


@pytest.mark.parametrize(
    ("between", "total"), [("    ", 1776392.0), (" ", None)], ids=["wide columns", "a blank between columns"]
)
def test_blanks_between_thousands_of_whole_numbers(between: str, total: float | None):
    header = "Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    read = reading(
        header + "sda              12,50     1 234,50         0,50    1 776 392" + between + "352\n"
    )
    assert (read.disk["read_kb"].tolist() if total else read.unread) == ([total] if total else [2])


EPOCHS = [1795435200 + 10 * n for n in range(4)]
HEAD = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
ROW = "sda 0.00 0.00 {:.2f} 1.40 80.00 8.00 19.40 1.02 5.90 5.62 97.22\n"
VMSTAT = (
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    " 2  0      0 1413456   1408  23048    0    0   685     4  348  256 13 51 32  4  0\n"
)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (HEAD + "".join(f"{at} {ROW.format(n + 0.3)}" for n, at in enumerate(EPOCHS)), "disk"),
        ("".join(f"{at} {HEAD}{at} {ROW.format(n + 0.3)}" for n, at in enumerate(EPOCHS)), "disk"),
        (VMSTAT.split("\n")[0] + "\n" + "".join(f"{at} {VMSTAT.splitlines()[1]}\n" for at in EPOCHS), "cpu"),
    ],
)
def test_epoch_seconds_in_front_of_rows(text: str, family: str):
    rows = reading(text).tables[family]
    assert [stamp.timestamp() for stamp in rows["time"]] == EPOCHS
    assert set(rows["interval_s"].dropna()) == {10.0}


def whole(text: str) -> iodiag.Capture:
    return iodiag.read(io.BytesIO(text.encode()), name="posted.txt")


GLUED = (
    "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n"
    "sda               0.00     0.00    1.00    2.00     4.00     8.00     8.00     0.01    3.00   1.00   0.30\n"
    "sda1              0.00     0.00    0.00    0.00     0.00     0.00     0.00     0.00    0.00   0.00   0.00 "
    "sdb   0.00 134838.61  0.00   1081.19     0.00 552047.52  1021.19   105.60   99.01   0.92  99.21\n"
    "sdc               0.00     0.00    1.00    2.00     4.00     8.00     8.00     0.01    3.00   1.00   0.30\n"
)


def test_rows_that_lost_the_line_feed_between_them_are_two_rows():
    capture = whole(GLUED)
    assert capture.disk["device"].tolist() == ["sda", "sda1", "sdb", "sdc"]
    assert capture.disk["util_pct"].tolist() == [0.3, 0.0, 99.21, 0.3]
    assert capture.disk["line"].tolist() == [2, 3, 3, 4]
    assert not capture.unparsed


def test_a_row_with_a_broken_row_behind_it_is_not_read_as_one():
    capture = whole(GLUED.replace("   0.92  99.21", ""))
    assert capture.disk["device"].tolist() == ["sda", "sdc"]
    assert [note.line for note in capture.unparsed] == [3]


def headless(text, named=True):
    """A table whose header lost its first word, and its first row its item unless `named`."""
    header, first, *rest = text.splitlines()
    cells = first if named else "  ".join(first.split()[1:])
    return "\n".join([header.split(maxsplit=1)[1], cells, *(rest if named else [])]) + "\n"


def test_a_header_that_lost_its_first_word_is_known_by_the_others():
    read = reading("iostat:\n" + headless(X3))
    pd.testing.assert_frame_equal(read.disk.drop(columns="line"), reading(X3).disk.drop(columns="line"))
    assert not read.unread


def test_the_only_row_below_may_have_lost_its_item():
    read = reading("iostat:\n" + headless(X3, named=False))
    assert read.disk["device"].tolist() == ["unnamed"]
    assert read.disk["writes_per_s"].tolist() == [260.17]
    assert not read.unread


CUT_LEFT = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s\nsdb 0.00 4.00 30.00 20.00 480.00 640.00\n"
CUT_RIGHT = "avgrq-sz avgqu-sz await r_await w_await svctm %util\n44.80 0.60 12.00 10.00 15.00 4.00 20.00\n"


def test_a_table_cut_in_two_with_one_row_in_each_half_is_one_device():
    disk = reading("iostat -xk 5\n" + (CUT_LEFT + CUT_RIGHT) * 2).disk
    assert disk["device"].tolist() == ["sdb", "sdb"]
    assert disk["await_ms"].tolist() == [12.0, 12.0]
    assert disk["reads_per_s"].tolist() == [30.0, 30.0]


def test_left_halves_of_two_headers_go_on_with_like_right_halves():
    other = CUT_LEFT.replace("rrqm/s wrqm/s ", "").replace("0.00 4.00 ", "")
    read = reading(f"iostat -xk 5\n{CUT_LEFT}{CUT_RIGHT}\n{other}{CUT_RIGHT}")
    assert read.disk["device"].tolist() == ["sdb", "sdb"]
    assert read.disk["util_pct"].tolist() == [20.0, 20.0]
    assert not read.unread


def test_a_header_that_repeats_the_columns_above_is_no_right_half_of_them():
    plain = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 9.00 4.00 5.00 400 500\n\n"
    disk = reading("iostat 5\n" + plain + headless(X3, named=False)).disk
    assert disk["device"].tolist() == ["sda", "unnamed"]


def test_several_rows_without_items_are_of_nobody_known():
    header, first, *_ = X3.splitlines()
    row = "  ".join(first.split()[1:]) + "\n"
    read = reading(f"iostat:\n{header.split(maxsplit=1)[1]}\n{row}{row}")
    assert all("device" not in frame or set(frame["device"]) != {"unnamed"} for frame in read.tables.values())


def test_a_single_row_of_mpstat_without_its_cpu_is_of_all():
    text = "mpstat:\n%usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    read = reading(text + "5.00 0.00 4.00 11.00 0.00 1.00 0.00 0.00 0.00 79.00\n")
    assert read.tables["cpu"]["cpu"].tolist() == ["all"]
    assert read.tables["cpu"]["iowait_pct"].tolist() == [11]


@pytest.mark.parametrize(
    ("header", "values", "table", "column"),
    [
        (
            "datetime,%user,%nice,%system,%iowait,%steal,%idle",
            "3.07,0.0,0.66,10.09,0.0,86.18",
            "cpu",
            "iowait_pct",
        ),
        ("Time;CPU;%user;%nice;%system;%iowait;%steal;%idle", "all;3;0;1;10.09;0;85.91", "cpu", "iowait_pct"),
        (
            "timestamp,r,b,swpd,free,buff,cache,si,so,bi,bo,in,cs,us,sy,id,wa,st",
            "1,0,0,413456,1408,23048,0,0,685,10.09,348,256,13,51,32,4,0",
            "paging",
            "pgpgout_kb_per_s",
        ),
    ],
    ids=["iostat", "sar", "vmstat"],
)
def test_the_csv_of_a_script_has_the_time_of_a_row_of_cpus_in_front(header, values, table, column):
    day, border = ("", ";") if ";" in header else ("2026-11-23 ", ",")
    rows = "".join(f"{day}14:10:5{n}{border}{values}\n" for n in range(4))
    found = reading(f"{header}\n{rows}").tables[table]
    assert found[column].tolist() == [10.09] * 4
    if day:
        assert found["time"].astype(str).tolist()[-1] == "2026-11-23 14:10:53"
    assert found["interval_s"].tolist()[1:] == [1.0] * 3


@pytest.mark.parametrize("names", ["datetime,device", "Date,Device", "time,Device"])
def test_a_table_of_commas_with_the_time_in_its_first_column(names: str) -> None:
    rows = "".join(f"11/20/2026 12:00:0{n},sda,0.00,{n}.00,2.00,3.00,4.00,5.00,3.60,0.25\n" for n in (1, 2))
    disk = reading(f"{names},rrqm/s,wrqm/s,r/s,w/s,rkB/s,wkB/s,avgrq-sz,%util\n{rows}").disk
    assert disk["device"].tolist() == ["sda", "sda"]
    assert disk["write_merges_per_s"].tolist() == [1.0, 2.0]
    assert disk["time"].astype(str).tolist() == ["2026-11-20 12:00:01", "2026-11-20 12:00:02"]
