"""vmstat text: its generations, units, clocks, and the reports that are another table's."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import pandas as pd
import pytest

from iodiag.errors import UnknownFormat
from iodiag.formats.tables.vmstat_text import layout, memory_unit_kb
from text_reading import reading
from writers.vmstat_writer import WORDS, write

ROW = {
    **{
        "r": 2,
        "b": 1,
        "w": 0,
        "swpd": 10,
        "free": 2000,
        "buff": 30,
        "cache": 400,
        "inact": 30,
        "active": 400,
    },
    **{
        "si": 5,
        "so": 6,
        "bi": 7,
        "bo": 8,
        "in": 9,
        "cs": 11,
        "us": 20,
        "sy": 30,
        "id": 40,
        "wa": 9,
        "st": 1,
        "gu": 0,
    },
}


def row_of(generation: str) -> list[int]:
    return [ROW[word] for word in WORDS[generation].split()]


@pytest.mark.parametrize("generation", WORDS)
def test_every_generation(generation: str):
    text, lines = write([row_of(generation)] * 3, WORDS[generation].split())
    read = reading(text)
    queue = read.tables["queue"]
    assert queue["line"].tolist() == lines
    assert queue["report"].tolist() == [0, 1, 2]
    assert (queue[["run_queue", "blocked"]].iloc[0] == [2, 1]).all()
    assert read.tables["swapping"]["swap_in_kb_per_s"].tolist() == [5, 5, 5]
    assert read.tables["paging"]["pgpgout_kb_per_s"].tolist() == [8, 8, 8]
    assert read.tables["cpu"]["cpu"].tolist() == ["all"] * 3
    assert read.tables["system"]["context_switches_per_s"].iloc[0] == 11
    assert ("iowait_pct" in read.tables["cpu"]) == ("wa" in WORDS[generation].split())
    assert not read.unread
    assert read.counts == {"header": 2, "row": 3}


def test_headers_again_every_screen():
    text, lines = write([row_of("3.0")] * 50, WORDS["3.0"].split(), every=7)
    queue = reading(text).tables["queue"]
    assert queue["line"].tolist() == lines
    assert queue["report"].tolist() == list(range(50))


def test_the_first_row_is_since_boot_unless_it_is_like_all_others():
    busy = row_of("3.0")
    idle = [1, 0, 10, 5000, 30, 400, 0, 0, 1, 2, 3, 4, 1, 1, 98, 0, 0]
    text, _ = write([idle, busy, busy, busy, busy], WORDS["3.0"].split())
    tables = reading(text).tables
    for family in ("paging", "swapping", "system", "cpu"):
        assert tables[family]["since_boot"].tolist() == [True, False, False, False, False]
    for family in ("queue", "memory", "swap"):  # of the moment, also in the first row
        assert not tables[family]["since_boot"].any()
    for count in (2, 3, 6):
        text, _ = write([busy] * count, WORDS["3.0"].split())
        assert not reading(text).tables["paging"]["since_boot"].any()


@pytest.mark.parametrize(
    ("row", "is_since_boot"),
    [
        ([4, 0, 296, 7336348, 441296, 4546304, 64, 57, 340, 193, 2725, 374, 12, 15, 71, 2, 0], True),
        ([3, 5, 303916, 60372, 328, 43864, 27828, 200, 41420, 236, 6984, 11138, 11, 47, 6, 23, 14], False),
    ],
)
def test_a_lone_row_is_since_boot_unless_it_says_what_the_moment_says(row, is_since_boot):
    text, _ = write([row], WORDS["3.0"].split())
    assert reading(text).tables["swapping"]["since_boot"].tolist() == [is_since_boot]
    assert reading("$ vmstat\n" + text).tables["swapping"]["since_boot"].tolist() == [True]


@pytest.mark.parametrize(
    ("zone", "first"),
    [
        ("UTC", "2026-11-20 12:00:01+00:00"),
        ("CET", "2026-11-20 11:00:01+00:00"),
        ("+03", "2026-11-20 09:00:01+00:00"),
    ],
)
def test_t_puts_a_clock_behind_the_values(zone: str, first: str):
    clocks = [f"2026-11-20 12:00:{s:02}" for s in (1, 6, 11)]
    text, lines = write([row_of("3.0")] * 3, WORDS["3.0"].split(), clocks=clocks, zone=zone)
    queue = reading(text).tables["queue"]
    assert queue["time"].iloc[0] == pd.Timestamp(first)
    assert queue["interval_s"].tolist()[1:] == [5, 5]
    assert queue["line"].tolist() == lines


@pytest.mark.parametrize("zone", ["CST", "IST"])
def test_a_zone_of_several_meanings_stays_unknown(zone: str):
    text, _ = write([row_of("3.0")] * 2, WORDS["3.0"].split(), clocks=["2026-11-20 12:00:01"] * 2, zone=zone)
    assert reading(text).tables["queue"]["time"].iloc[0] == pd.Timestamp("2026-11-20 12:00:01")


@pytest.mark.parametrize(
    ("options", "kb"),
    [
        (["-S", "M", "1"], 1024),
        (["-SM"], 1024),
        (["-wS", "m"], 1e6 / 1024),
        (["--unit=K"], 1),
        (["-S", "k"], 1000 / 1024),
        (["1", "5"], 1),
        (["-S", "X"], None),
    ],
)
def test_the_unit_that_a_command_asks_for(options: list[str], kb: float | None):
    assert memory_unit_kb(options) == (pytest.approx(kb) if kb else None)


def test_s_scales_memory_and_swap_but_not_blocks():
    text, _ = write([row_of("3.0")] * 2, WORDS["3.0"].split())
    read = reading(f"$ vmstat -S M 1\n{text}")
    assert read.tables["memory"]["free_kb"].tolist() == [2000 * 1024] * 2
    assert read.tables["swapping"]["swap_out_kb_per_s"].tolist() == [6 * 1024] * 2
    assert read.tables["paging"]["pgpgin_kb_per_s"].tolist() == [7, 7]
    assert "vmstat -S M" not in read.remarks


def test_a_memory_too_small_to_be_kb_is_remarked():
    text, _ = write([row_of("3.0")] * 2, WORDS["3.0"].split())
    assert "vmstat -S M" in reading(text).remarks
    assert "vmstat -S M" in reading(f"$ iostat -x 1\n\n{text}").remarks
    assert "vmstat -S M" not in reading(f"$ vmstat 1 2\n{text}").remarks


ODD = "procs ---memory---\n r b swpd free {} si so bi bo in cs us sy id wa st\n 1 0 3 {} 1001 2003 0 0 7 8 9 10 1 2 97 0 0\n"


@pytest.mark.parametrize("words", ["buff cache", "inact active"])
def test_memory_that_is_left_out_is_remarked(words: str):
    read = reading(ODD.format(words, 90001))
    assert read.tables["memory"]["free_kb"].isna().all()
    assert "vmstat -S M" in read.remarks


def test_memory_without_s_is_in_kb():
    read = reading("$ vmstat 1 3\n" + ODD.format("buff cache", 90001))
    assert read.tables["memory"]["free_kb"].tolist() == [90001]
    assert "vmstat -S M" not in read.remarks


def test_each_run_has_a_unit_of_its_own():
    """Whose memory is in MB does not tell what another's is in."""
    banner = "Linux 5.14.0 ({}) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    other = ODD.format("inact active", 90000).replace(" 3 90000 1001 2003 ", " 8 90000 1004 2008 ")
    runs = [banner.format("a") + ODD.format("inact active", 90001), banner.format("b") + other]
    for order in (runs, runs[::-1]):
        free = reading("\n".join(order)).tables["memory"]["free_kb"]
        assert sorted(free.dropna()) == [90000]
        assert free.isna().sum() == 1


@pytest.mark.parametrize(
    "header",
    [
        "r b w swap free re mf pi po fr de sr",
        "r b avm fre re pi po fr sr cy in sy cs us sy id wa",
        "r b",
        "r b swpd x y z q",
    ],
)
def test_headers_of_others(header: str):
    assert layout(tuple(header.split())) is None


def test_vmstat_of_other_systems_is_refused_by_name():
    text = " kthr      memory            page            disk          faults      cpu\n r b w   swap  free  re  mf pi po fr de sr\n"
    with pytest.raises(UnknownFormat, match="Solaris"):
        reading(text + " 0 0 0 1024 2048 1 2 3 4 5 6 7\n")


OTHER_REPORTS = {
    "-s": "     16266316 K total memory\n      1024000 K used memory\n         1234 pages paged in\n",
    "-p": "sda1          reads   read sectors  writes    requested writes\n               12345     123456       1234        12345\n",
    "-m": "Cache                       Num  Total   Size  Pages\next4_inode_cache          12345  12345   1080     30\n",
}


@pytest.mark.parametrize("option", OTHER_REPORTS)
def test_other_reports_are_no_rows_of_the_main_table(option: str):
    text, lines = write([row_of("3.0")] * 2, WORDS["3.0"].split())
    read = reading(f"{text}{OTHER_REPORTS[option]}")
    assert read.tables["queue"]["line"].tolist() == lines


def test_columns_are_found_by_their_words_in_any_order():
    text = "procs ---memory---\n r b free buff swpd cache si so bi bo in cs us sy id wa st\n 1 0 9000000 3 0 4 0 0 7 8 9 10 1 2 97 0 0\n"
    read = reading(text)
    assert read.tables["memory"]["free_kb"].tolist() == [9000000]
    assert read.tables["swap"]["used_kb"].tolist() == [0]


def test_a_column_of_a_later_release_is_left_out_and_told():
    text = "procs ---memory---\n r b swpd free buff cache si so bi bo in cs us sy id wa st zz\n 1 0 0 9000000 3 4 0 0 7 8 9 10 1 2 97 0 0 5\n"
    read = reading(text)
    assert read.tables["cpu"]["idle_pct"].tolist() == [97]
    assert "zz" in read.remarks


@pytest.mark.parametrize("lost", range(1, 16))
def test_lines_cut_at_a_margin_lose_their_last_columns_and_no_more(lost: int):
    header = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
    rows = [
        " 2  0      0 141345   1408  23048    0    0   685     4  348  256 13 51 32  4  0",
        " 3  1      0 141300   1408  23048    0    0   700    40  340  250 10 50 36 14 10",
    ]
    read = reading("".join(f"{line[:-lost]}\n" for line in (header, *rows)))
    kept = {"user_pct": 12, "system_pct": 9, "idle_pct": 6, "iowait_pct": 3, "steal_pct": 0}
    whole = reading("\n".join((header, *rows, ""))).tables["cpu"]
    for column, end in kept.items():
        if lost <= end:
            assert read.tables["cpu"][column].tolist() == whole[column].tolist()
        else:
            assert column not in read.tables.get("cpu", {})
    assert read.tables["paging"]["pgpgout_kb_per_s"].tolist() == [4.0, 40.0]


@pytest.mark.parametrize(("free", "is_left_out"), [(799, True), (800, False)])
def test_what_is_no_multiple_of_a_page_is_not_in_kb(free: int, is_left_out: bool):
    row = dict(ROW) | {"swpd": 0, "free": free, "buff": 120_111 + is_left_out, "cache": 633, "si": 0, "so": 0}
    row |= {} if is_left_out else {"buff": 120_112, "cache": 632}
    text, _ = write([[row[word] for word in WORDS["3.0"].split()]] * 2, WORDS["3.0"].split())
    read = reading(text)
    assert read.tables["memory"]["free_kb"].isna().all() == is_left_out
    assert ("vmstat -S M" in read.remarks) == is_left_out
    told = reading(f"$ vmstat -S M 1\n{text}")
    assert told.tables["memory"]["free_kb"].tolist() == [free * 1024] * 2
