import io

import pytest

import iodiag
from iodiag.formats.tables.vmstat_disk import layout

DECORATION = "disk- ------------reads------------ ------------writes----------- -----IO------\n"
HEADER = "       total merged sectors      ms  total merged sectors      ms    cur    sec\n"
FIRST = "sda     1000     10   80000    5000    200     20    4000     900      0      6\nsdb        0      0       0       0      0      0       0       0      0      0\n"  # noqa: E501
SECOND = "sda     1500     30  120000    9000    300     20   12000    1900      0      9\nsdb        0      0       0       0      0      0       0       0      0      0\n"  # noqa: E501
PAIR = DECORATION + HEADER + FIRST + DECORATION + HEADER + SECOND


def read(text):
    return iodiag.read(io.BytesIO(text.encode()))


def test_counters_stand_as_they_are_printed():
    counters = read(PAIR).tables["disk_counters"]
    assert counters["device"].astype(str).tolist() == ["sda", "sdb"] * 2
    assert counters["report"].tolist() == [0, 0, 1, 1]
    first = counters.iloc[0]
    assert (first["reads"], first["read_merges"], first["read_kb"], first["read_ms"]) == (
        1000,
        10,
        40000,
        5000,
    )
    assert (first["writes"], first["write_kb"], first["busy_s"], first["line"]) == (200, 2000, 6, 3)
    assert "in_flight" not in counters
    assert not counters["since_boot"].any()
    assert read(PAIR).ledgers[0].counts == {"header": 4, "row": 4}


def test_two_reports_of_a_stated_interval_make_rates():
    disk = read("$ vmstat -d 10 2\n" + PAIR).disk
    sda = disk[disk["device"].astype(str) == "sda"].iloc[0]
    assert (sda["interval_s"], sda["reads_per_s"], sda["read_kb_per_s"]) == (10, 50, 2000)
    assert (sda["read_await_ms"], sda["write_await_ms"], sda["queue_depth"]) == (8, 10, 0.5)


def test_busy_time_in_whole_seconds_says_nothing_of_a_short_interval():
    assert "util_pct" not in read("$ vmstat -d 10 2\n" + PAIR).disk
    assert read("$ vmstat -d 100 2\n" + PAIR).disk["util_pct"].tolist() == [3, 0]


def test_clocks_behind_the_values():
    def timed(rows, clock):
        return HEADER.rstrip("\n") + "                 UTC\n" + rows.replace("\n", f" 2026-11-20 {clock}\n")

    capture = read(DECORATION + timed(FIRST, "15:10:56") + DECORATION + timed(SECOND, "15:11:06"))
    assert str(capture.tables["disk_counters"]["time"].iloc[-1]) == "2026-11-20 15:11:06+00:00"
    assert capture.disk["reads_per_s"].tolist() == [50, 0]


def test_a_header_in_the_middle_begins_no_report():
    first, second = FIRST.splitlines(keepends=True)
    counters = read(HEADER + first + HEADER + second + HEADER + SECOND).tables["disk_counters"]
    assert counters["report"].tolist() == [0, 0, 1, 1]


def test_a_disk_that_comes_later_and_a_line_that_is_missing_shift_no_report():
    third = SECOND.replace("1500", "1600")
    late = FIRST.splitlines(keepends=True)[1].replace("sdb", "sdc")
    counters = read(HEADER + FIRST + SECOND + late + third.splitlines(keepends=True)[1] + late).tables[
        "disk_counters"
    ]
    assert counters["report"].tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_a_line_that_stands_twice_makes_one_row():
    disk = read(
        "$ vmstat -d 10 2\n" + PAIR.replace(SECOND, SECOND + SECOND.splitlines(keepends=True)[1])
    ).disk
    assert disk["reads_per_s"].tolist()[:2] == [50, 0]


def test_one_report_alone_makes_no_rates():
    assert read(DECORATION + HEADER + FIRST).disk is None


@pytest.mark.parametrize(
    "words",
    [
        "total merged sectors ms total merged sectors ms cur sec",
        "disk total merged sectors ms total merged sectors ms cur s",
        "total merged sectors ms total merged sectors ms cur sec CET",
    ],
)
def test_headers(words):
    found = layout(tuple(words.split()))
    assert [column.column for column in found.columns][-2:] == [None, "busy_s"]
    assert (found.clock == "tail") == words.endswith("CET")


@pytest.mark.parametrize(
    "words",
    ["sda1 reads read sectors writes requested writes", "r b swpd free", "total used free shared", "disk"],
)
def test_other_headers_are_left_alone(words):
    assert layout(tuple(words.split())) is None


OTHERS = {
    "-D": "    10 disks\n    0 partitions\n    172715 total reads\n     17911 merged reads\n",
    "-p": "sda1    reads   read sectors  writes    requested writes\n        23561  1204338  9120  81344\n",
    "-s": "     24684084 K total memory\n       591776 K used memory\n   197177 non-nice user cpu ticks\n",
    "-m": "Cache             Num  Total   Size  Pages\ndentry          97289  97335    192     21\n",
}


@pytest.mark.parametrize("option", OTHERS)
def test_other_reports_of_vmstat_are_not_misread(option):
    capture = read(PAIR + "\n" + OTHERS[option])
    assert len(capture.tables["disk_counters"]) == 4
    assert set(capture.tables) == {"disk_counters"}
    with pytest.raises(iodiag.IodiagError):
        read(OTHERS[option])


def test_the_marks_of_added_lines_are_no_part_of_names() -> None:
    text = "".join(f"+{line}\n" for line in PAIR.splitlines())
    assert read(text).tables["disk_counters"]["device"].tolist() == ["sda", "sdb", "sda", "sdb"]


def test_a_row_whose_time_is_not_that_of_its_report_is_said():
    """The end of one report and the beginning of the next, twice."""
    head = DECORATION + HEADER.replace("sec\n", "sec                 UTC\n")
    first, second = (
        [f"{row} 2026-11-20 15:26:{time}\n" for row in rows.splitlines()]
        for rows, time in ((FIRST, 26), (SECOND, 28))
    )
    pasted = [head, *first, head, second[0], first[1], head, *second]

    def said(lines):
        return [note.line for note in read("".join(lines)).notes if "not that of its report" in note.reason]

    assert said(pasted) == [8]
    assert said([head, *first, head, *second]) == []
