"""Rows that are no plain lines of numbers, and lines that only look like rows."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.text.rows.numbers import is_value, odd_number
from text_reading import reading

HEADER = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"
NUMBERS = "0.00 0.70 172.00 1.00 1670.00 8.00 19.40 1.02 5.90 5.62 97.22"
ROW = f"sda {NUMBERS}"
SAR = "12:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util"
SAR_ROW = "12:10:00 sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20"
VMSTAT = " r b swpd free buff cache si so bi bo in cs us sy id wa"
VMSTAT_ROW = " 2 0 0 1413456 1408 23048 0 0 685 4 348 256 13 51 32 4"


def test_a_number_with_decimals_is_no_cpu():
    header = "12:00:00     CPU     %user     %nice   %system   %iowait    %steal     %idle"
    good = "12:10:00     all      1.00      0.00      2.00      0.00      0.00     97.00"
    other = "12:20:00  5076.00   3204.00   1872.00  72489.00 164053.00      0.00      0.00"
    capture = reading("\n".join([header, good, other, ""]))
    assert list(capture.tables["cpu"]["cpu"]) == ["all"]
    assert capture.unread == [3]


@pytest.mark.parametrize(
    "row",
    [
        f"=> {ROW}",
        f"* {ROW}",
        f"- {ROW}",
        f"<KEY> {ROW}",
        f"the bad one: {ROW}",
        f"{ROW}   <-- look here",
        f"{ROW} # 100% busy since 12:00",
        f"`sda` {NUMBERS}",
        f"*sda* {NUMBERS}",
        f"{ROW}*",
        f"*{ROW}*",
        f"`{ROW}`",
        f"**{ROW}**",
        f"{ROW}.",
        f"Fri Nov 20 12:00:01 UTC 2026 {ROW}",
        f"12:00:01 db1 {ROW}",
    ],
)
def test_marked_and_commented_rows(row: str):
    read = reading(f"{HEADER}\n{row}\n")
    assert read.disk["device"].tolist() == ["sda"]
    assert read.disk["util_pct"].tolist() == [97.22]
    assert not read.unread


@pytest.mark.parametrize("row", [f"*{SAR_ROW}*", f"_{SAR_ROW}_", f"`12:10:00` {SAR_ROW[9:]};"])
def test_marks_at_both_ends_of_a_row_with_a_clock_are_none_of_its_numbers(row: str):
    read = reading(f"{SAR}\n{row}\n")
    assert read.disk["util_pct"].tolist() == [0.2]
    assert not read.unread
    assert reading(f"{VMSTAT}\n*{VMSTAT_ROW.strip()}*\n").tables["cpu"]["iowait_pct"].tolist() == [4]


def test_a_mark_behind_a_number_that_lost_digits_does_not_make_it_whole():
    assert reading(f"{HEADER}\n{ROW[:-1]}*\n").unread == [2]


def test_a_time_in_front_of_a_row_is_its_own():
    read = reading(f"{HEADER}\nFri Nov 20 12:00:01 UTC 2026 {ROW}\nFri Nov 20 12:00:31 UTC 2026 {ROW}\n")
    assert read.disk["time"].astype(str).tolist() == ["2026-11-20 12:00:01", "2026-11-20 12:00:31"]
    assert read.disk["interval_s"].tolist() == [30, 30]


@pytest.mark.parametrize(
    "row",
    [
        f"sda {NUMBERS.rsplit(' ', 1)[0]}",  # one number short
        f"{ROW} 3.00",  # one too many
        f"17 {ROW}",  # a number in front, which could be anything
        f"sda {NUMBERS.replace('1.00 1670.00', '1.00167.00')}",  # two grown together, and a digit gone
        f"sda {NUMBERS.replace('172.00', '1,72.00')}",
        f"sda {NUMBERS.replace('172.00', '172,00')}",  # both decimal signs in one row
        f"sda {NUMBERS.replace('172.00', '1,720')}",
        f"sda {NUMBERS.replace('97.22', '97.')}",
        f"sda {NUMBERS.replace('97.22', '97.2')}",  # cut off at a margin
        f"sda {NUMBERS.replace('172.00', '1e3')}",
        f"sda {NUMBERS.replace('172.00', '0x1')}",
    ],
)
def test_damaged_rows_are_shown_and_not_read(row: str):
    read = reading(f"{HEADER}\n{row}\n{ROW.replace('sda', 'sdb')}\n")
    assert read.disk["line"].tolist() == [3]
    assert read.unread == [2]


@pytest.mark.parametrize(
    ("header", "row", "family"),
    [
        (HEADER, ROW, "disk"),
        (SAR, SAR_ROW, "disk"),
        (VMSTAT, VMSTAT_ROW, "queue"),
        (SAR, SAR_ROW.replace("12:10:00", "Average:"), "disk"),
    ],
)
@pytest.mark.parametrize("at", [4, 6, 7])
def test_wrapped_rows_stand_where_they_begin(header: str, row: str, family: str, at: int):
    words = row.split()
    text = f"{header}\n{' '.join(words[:at])}\n   {' '.join(words[at:])}\n{row}\n"
    read = reading(text)
    table = read.averages.get(family, read.tables.get(family))
    assert table is not None
    assert table["line"].tolist() == [2, 4]
    assert not read.unread
    columns = [name for name in table.columns if name.endswith(("_s", "_pct", "_kb", "_ms", "queue"))]
    assert table[columns].iloc[0].drop("interval_s").equals(table[columns].iloc[1].drop("interval_s"))


@pytest.mark.parametrize(
    ("below", "unread"),
    [
        (f"sdb\n\n{HEADER}\n{ROW}\n", [3]),
        (f"/dev/mapper/vg-data\n\n{HEADER}\n{ROW}\n", [3]),
        (f"\n/dev/sdb\n{HEADER}\n{ROW}\n", []),  # the heading of what stands below it
    ],
)
def test_a_name_alone_right_below_a_row_is_that_of_a_row_that_lost_its_values(below: str, unread: list[int]):
    read = reading(f"{HEADER}\n{ROW}\n{below}")
    assert read.disk["device"].tolist() == ["sda", "sda"]
    assert read.unread == unread


def test_halves_of_two_rows_are_not_one():
    words = VMSTAT_ROW.split()
    read = reading(f"{VMSTAT}\n{' '.join(words[:8])}\n{' '.join(words[:8])}\n{VMSTAT_ROW}\n")
    assert read.tables["queue"]["line"].tolist() == [4]
    assert read.unread == [2, 3]


@pytest.mark.parametrize(
    "prose", ["Thanks", "sda is slow", "see http://example.com/1", "12 of 24 disks", "100 %"]
)
def test_prose_between_rows_is_noise(prose: str):
    read = reading(f"{HEADER}\n{ROW}\n{prose}\n{ROW}\n")
    assert read.disk["line"].tolist() == [2, 4]
    assert (read.counts["noise"], read.unread) == (1, [])


def test_rows_of_both_decimal_signs_in_one_input():
    read = reading(f"{HEADER}\n{ROW}\n{ROW.replace('.', ',')}\n")
    assert read.disk["util_pct"].tolist() == [97.22, 97.22]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1234.56", 1234.56),
        ("1234,56", 1234.56),
        ("-0.50", -0.5),
        ("5.8%", 5.8),
        ("12", 12.0),
        (".5", 0.5),
        ("18446744073709551615.99", 2.0**64),
    ],
)
def test_numbers(word: str, value: float):
    assert odd_number(word)[0] == pytest.approx(value)
    assert is_value(word)


@pytest.mark.parametrize(
    "word", ["", ".", "1.", "1.2.3", "1,234", "1e5", "sda", "12:00", "0x1", "--5", "5%%", "٣", "²", "1_000"]
)
def test_no_numbers(word: str):
    assert not is_value(word)


LINES = [
    HEADER, ROW, SAR, SAR_ROW, VMSTAT, VMSTAT_ROW, "", "prose of some words", "12 34 56 78 90", "sda", NUMBERS, "Average: sda 1.00",
    "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)", "$ iostat -x 1", "11/20/26 12:00:00", "...", "> " + ROW, "| a | b | c | d |",
    "12:00:01 LINUX RESTART (2 CPU)", "12:00:01     COM hello", "avg-cpu: %user %nice %system %iowait %idle", "1.00 2.00 3.00 4.00 90.00",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=25))
def test_every_line_of_any_mixture_is_counted_once_and_every_row_holds_its_values(lines: list[str]):
    text = "\n".join(lines)
    read = reading(text)
    assert sum(read.counts.values()) == sum(bool(line.strip()) for line in lines)
    # what iostat -z leaves out stands nowhere
    tables = [
        table[table["is_omitted"].isna()] if "is_omitted" in table else table
        for table in (*read.tables.values(), *read.averages.values())
    ]
    for table in tables:
        for number in table["line"].tolist():
            assert any(map(str.isdigit, lines[number - 1]))
    for row in (row for table in tables if "util_pct" in table for row in table.to_dict("records")):
        # iostat -h of old prints the name on a line of its own, above the values; a paste may put a blank between
        assert row["device"] in "\n".join(lines[max(row["line"] - 3, 0) : row["line"]])
        assert f"{row['util_pct']:.2f}" in "\n".join(lines[row["line"] - 1 :])
    assert all(1 <= line <= len(lines) for line in read.unread)


@pytest.mark.parametrize(
    ("last", "service"),
    [
        ("sdb 0.00 2.00 0.00 400.00 0.00 1600.00 8.00 0.41 1.02 0.25", 0.25),
        ("sdb 0.00 2.00 0.00 400.00 0.00 1600.00 8.00 0.41 1.02 0.2", None),  # a number that may be cut
        ("sdb 0.00 2.00 0.00 400.00 0.00 1600.00 8.00 0.41", "unread"),  # no latency
    ],
)
def test_a_last_line_that_is_cut_off_is_read_as_far_as_it_goes(last, service):
    capture = reading("\n".join([HEADER, ROW, last]))
    disk = capture.tables["disk"]
    assert (capture.unread == [3]) == (service == "unread")
    assert ("read as far as it goes" in capture.remarks) == (service != "unread")
    if service != "unread":
        assert disk["writes_per_s"].tolist() == [1.0, 400.0]
        assert disk["util_pct"].isna().tolist() == [False, True]
        assert disk["await_ms"].tolist() == [5.90, 1.02]
        assert disk["svctm_ms"].isna().tolist() == [False, service is None]
    inside = reading("\n".join([HEADER, ROW, last, "", HEADER, ROW]))
    assert inside.unread == [3]


@pytest.mark.parametrize(
    "line",
    [
        "Mem: 15888 2200 9312 100 4375 13307 200 300 400 500",
        "total 4096 12 34 56 78 90 12 34 56 78",
        "/dev/sdq1 41152736 1024 2048 12 34 56 78 90 12 34",
        "\nsdb 0.00 2.00 0.00 400.00 0.00 1600.00 8.00 0.41 1.02 0.25",
        "cache1 0.00 2.00 0.00 400.00 0.00 1600.00 8.00 0.41 1.02 0.25",
    ],
    ids=["free", "ls", "df", "below a blank line", "an unknown name"],
)
def test_a_last_line_of_another_tool_is_no_cut_row(line):
    assert reading("\n".join([HEADER, ROW, line])).tables["disk"]["device"].astype(str).tolist() == ["sda"]


def test_a_last_line_that_is_cut_off_within_a_number_is_said_once():
    rows = ["sda 1 2 3 4 5", "sda 1 2 3 4 15", "sda 1 2 3 4"]
    capture = reading("\n".join(["Device r/s rkB/s r_await %util aqu-sz", *rows]))
    assert capture.disk["read_await_ms"].tolist() == [3, 3, 3]
    assert capture.disk["util_pct"].isna().tolist() == [False, False, True]
    assert capture.remarks.count("cut off") == 1


def test_a_last_row_whose_name_stands_above_it_is_whole():
    assert not reading(f"{HEADER}\n{ROW}\nvg_data-lv_mysql_binlogs\n   {NUMBERS}\n").notes


@pytest.mark.parametrize("last", ["nan", "-nan", "-"])
@pytest.mark.parametrize("name", ["sdb ", "vg_data-lv_mysql_binlogs\n   "])
def test_a_last_row_whose_last_number_is_none_is_whole(name: str, last: str):
    capture = reading(f"{HEADER}\n{ROW}\n{name}{NUMBERS.rsplit(None, 1)[0]} {last}\n")
    assert capture.tables["disk"]["util_pct"].isna().tolist() == [False, True]
    assert not capture.notes


def test_a_last_line_that_is_cut_off_may_be_of_a_device_with_rows():
    last = "cache1" + ROW[3:]
    rows = reading("\n".join([HEADER, ROW, last, HEADER, ROW, last.rsplit(None, 2)[0]])).tables["disk"]
    assert rows["device"].astype(str).tolist() == ["sda", "cache1"] * 2


@pytest.mark.parametrize(
    ("glued", "is_read"),
    [("55.20   0.37", True), ("55.200.37", True), ("5.200.37", False), ("55.2000.37", False)],
    ids=["apart", "without a blank", "a digit is gone", "not two"],
)
def test_two_numbers_that_lost_their_blank_are_read_where_the_row_proves_them(glued, is_read):
    head = "Device      r/s     w/s   rkB/s   wkB/s r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\n"
    first = "sdb        1.74    0.35   84.11   19.53    0.89    1.32   0.00    48.34    55.80   0.19   0.04\n"
    text = f"{head}{first}sda        0.74    0.35   35.77   19.32    0.89    8.32   0.00    48.34    {glued}   0.04\n"
    disk = reading(text).disk
    row = disk[disk["device"] == "sda"]
    assert row["write_await_ms"].tolist() == [8.32] * is_read
    assert row["svctm_ms"].tolist() == [0.37] * is_read
