from __future__ import annotations

import re

import pytest

from iodiag.analysis.measure.quoting import places_told, quote
from iodiag.model.capture import Source
from iodiag.model.finding import Evidence, Quote
from iodiag.report import excerpts

HEADER = "Device            r/s     rkB/s  r_await rareq-sz     w/s     wkB/s  w_await  aqu-sz  %util"
ROW = "sdd             15.00    240.00   946.40    16.00    0.00      0.00     0.00   14.20  98.00"
OLD = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"


def shown(width: int | None, *pairs: tuple[str, Quote]) -> list[str]:
    evidence = [Evidence(text, quotes=(one,)) for text, one in pairs]
    return [
        text
        for excerpt in excerpts.excerpts(evidence, set())
        for line in excerpts.lines(excerpt, width)
        for text in (f"{line.address}{line.text}", line.carets)
        if text
    ]


def row(line: int, text: str = ROW, header: str = HEADER) -> Quote:
    return Quote("a.txt", line, text, header)


def test_a_cited_cell_is_marked_below_its_header():
    header, text, marks = shown(None, ("it takes 946.4 ms", row(7)))
    assert header.strip() == HEADER
    assert text == f"7: {ROW}"
    assert text[marks.index("^") :].startswith("946.40")
    assert marks.count("^") == len("946.40")


def test_a_zero_is_marked_only_where_nothing_else_tells():
    quiet = ROW.replace("946.40", "  0.00")
    *_, marks = shown(None, ("writes answer in 0.00 ms", row(7, quiet)))
    assert marks.split() == ["^^^^"]


def test_a_sentence_marks_the_columns_of_its_quantities_and_of_its_direction():
    both = row(7, ROW.replace("0.00", "5.00"))
    for sentence, cited in (
        ("from 45.6 to 3.38 MiB/s written", {"wkB/s"}),
        ("reads became 3.0 times slower", {"r_await"}),
        ("each kB waits 14.0 times as long", {"r_await", "w_await"}),
        ("600 requests/s (reads of 16 kB)", {"r/s", "w/s", "rareq-sz"}),
    ):
        ((found,),) = [one.rows for one in excerpts.excerpts([Evidence(sentence, quotes=(both,))], set())]
        names = HEADER.split()
        assert {names[at] for at in found.cited} == cited, sentence


def test_a_column_named_by_an_english_word_is_not_marked_for_it():
    header = " r  b   swpd   free   si   so    bi    bo   in   cs us sy id wa st"
    told = "On average 3 tasks are blocked on I/O, in 3 of 3 samples, so nothing helps us"
    quoted = row(3, " 1  3      0 123456    0    0  5000   300 1200 2400  5  3 52 40  0", header)
    ((found,),) = [one.rows for one in excerpts.excerpts([Evidence(told, quotes=(quoted,))], set())]
    assert {header.split()[at] for at in found.cited} == {"b"}


def test_each_line_stands_once_in_the_order_of_the_capture():
    lines = shown(None, ("a", row(9)), ("b", row(7)), ("c", row(9)))
    assert [line.split(":")[0] for line in lines[1:]] == ["7", "9"]
    assert len([line for line in lines if "%util" in line]) == 1


def test_what_was_quoted_before_is_not_quoted_again():
    seen: set[tuple[str, int]] = set()
    evidence = [Evidence("a", quotes=(row(7),))]
    assert excerpts.excerpts(evidence, seen)
    assert not excerpts.excerpts(evidence, seen)


def test_columns_that_nothing_speaks_of_give_way_and_cited_ones_never():
    lines = shown(60, ("946.4 ms with 14.2 in flight and 98 % busy", row(7)))
    assert max(map(len, lines)) <= 60
    for word in ("sdd", "946.40", "14.20", "98.00"):
        assert word in lines[1]
    assert "…" in lines[1]
    assert lines[2].count("^") == len("946.40" + "14.20" + "98.00")


@pytest.mark.parametrize("text", ["`-md0   9:0    0  16G  0 raid0", "", "x" * 500])
def test_a_line_that_is_no_row_of_its_header_is_quoted_as_it_is(text):
    lines = shown(40, ("99 % busy", row(3, text)))
    assert lines[-1].startswith("3: " + text[:300])
    assert not any("^" in line for line in lines)


def source(*lines: str) -> Source:
    return Source("a.txt", "\n".join(lines).encode())


def test_a_row_wrapped_behind_its_name_is_quoted_whole():
    found = quote(
        source(
            OLD,
            "/dev/cciss/c0d0",
            "                0.00  4.00  1.00 2.00 8.00 48.00 4.00 24.00 18.67 0.01 3.33 3.33 1.00",
        ),
        3,
    )
    assert found.text.split()[0] == "/dev/cciss/c0d0"
    assert len(found.text.split()) == len(found.header.split()) == 14


@pytest.mark.parametrize(
    ("lines", "at", "header"),
    [
        ((HEADER, ROW), 2, HEADER),
        (("avg-cpu:  %user %iowait %idle", "   1.00 2.00 97.00", "", HEADER, ROW), 5, HEADER),
        (("avg-cpu:  %user %iowait %idle", "   1.00 2.00 97.00"), 2, "avg-cpu:  %user %iowait %idle"),
        (("12:00:01 AM  DEV  tps  await", "12:10:01 AM  sda  1.0  2.0"), 2, "12:00:01 AM  DEV  tps  await"),
        (("no header", "sda 1.0 2.0 3.0"), 2, ""),
        (("one two three", "a line of prose"), 2, ""),
    ],
)
def test_a_row_comes_with_the_header_of_its_columns(lines, at, header):
    assert quote(source(*lines), at).header == header


def test_a_row_that_somebody_marked_in_a_mail_stands_below_its_header_and_loses_no_column():
    mailed = source(f"> {HEADER}", f"> {ROW}", f"> <KEY> {ROW}")
    lines = shown(60, *(("946.4 ms in flight", quote(mailed, line)) for line in (2, 3)))
    assert len(lines) == 5
    assert "r_await" in lines[0]
    assert [line.split()[1] for line in lines[1::2]] == ["sdd", "sdd"]
    assert all(marks.count("^") == len("946.40" + "14.20") for marks in lines[2::2])


PARTS = (
    "avg-cpu:  %user %iowait %idle",
    "   1.0% 2.0% 97.0%",
    "     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device",
    "    0.00      0.0k     0.00   0.0%    0.00     0.0k sdb",
    "    3.00     12.0k     0.00   0.0%    4.00     4.0k sdc",
    "     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device",
    "  700.00     11.2M     0.00   0.0%    0.70    16.4k sdb",
    "    0.00      0.0k     0.00   0.0%    0.00     0.0k sdc",
    "     f/s f_await  aqu-sz  %util Device",
    "  350.00    2.10    1.20  97.0% sdb",
    "    0.00    0.00    0.01   1.0% sdc",
)


@pytest.mark.parametrize(
    ("line", "sentence", "told"),
    [
        (4, "sdb: 700 writes/s of 16.4 kB at 0.7 ms", (7,)),
        (4, "sdb: 350 flushes/s at 2.10 ms each", (10,)),
        (4, "97 % busy at 700 writes/s", (7, 10)),
        (5, "sdc: 3 reads/s take 4 ms each", (5,)),
        (4, "nothing is said of columns", (4,)),
    ],
)
def test_a_row_that_is_spread_over_tables_is_cited_where_its_numbers_stand(line, sentence, told):
    # the next report has a row of the same device, which is another's
    assert places_told(source(*PARTS, *PARTS), line, sentence) == told


def test_both_lines_of_a_pressure_file_are_those_of_its_sample():
    lines = (
        "some avg10=9.00 avg60=8.00 avg300=7.00 total=1",
        "full avg10=5.00 avg60=4.00 avg300=3.00 total=1",
    )
    found = source("/proc/pressure/io", *lines, "", "a line of prose", *lines)
    assert places_told(found, 2, "some tasks waited 9 % of the time, all 5 %") == (2, 3)


@pytest.mark.parametrize("at", [1, 6])
def test_a_row_of_vmstat_that_a_mail_wrapped_is_quoted_with_all_its_values(at):
    rows = ("> 0  2      0  87000  14000 800000    0    0     0 30000 1400  1300  4 6", "> 0 90")
    head = ("> r  b   swpd   free   buff  cache   si   so    bi    bo   in    cs us", "> sy id wa", *rows)
    # of lines whose header is cut off those below have the names
    found = quote(source(*rows, "> I ran some tests", *head) if at == 1 else source("", "", "x", *head), at)
    assert found.text.split()[1:] == " ".join(rows).replace(">", "").split()
    assert found.header.split()[-4:] == ["us", "sy", "id", "wa"]


def test_a_count_of_cpus_marks_no_share_of_their_time():
    header = " r  b   swpd   free   si   so    bi    bo   in   cs us sy id wa st"
    quoted = row(3, " 8  0      0 123456    0    0  5000   300 1200 2400  5  3 52 40  0", header)
    evidence = [Evidence("8 tasks want to run on 4 CPUs", quotes=(quoted,))]
    ((found,),) = [one.rows for one in excerpts.excerpts(evidence, set())]
    assert {header.split()[at] for at in found.cited} == {"r"}


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (
            (
                "Device: r/s w/s rkB/s wkB/s",
                "avgqu-sz await %util",
                "sdc 1.00 2.00 30.00 40.00",
                "5.00 6.00 70.00",
            ),
            3,
        ),
        (
            (
                "> Device: r/s w/s rkB/s wkB/s av=",
                "gqu-sz await %util",
                "> sdc 1.00 2.00 30.00 40.00 5=",
                ".00 6.00 70.00",
            ),
            3,
        ),
        (
            (
                "Device: r/s w/s rkB/s wkB/s avgqu-sz await %util",
                "sdb 0.00 0.00 0.00 0.00 0.00",
                "0.00 0.00",
                "sdc 1.00 2.00 30.00 40.00",
                "5.00 6.00 70.00",
            ),
            4,
        ),
    ],
    ids=["header as well", "within a word", "the rows alone"],
)
def test_a_row_of_a_device_that_a_mail_wrapped_shows_the_cited_half_below_its_own_header(lines, at):
    header, text, marks = shown(None, ("70 % busy, 6 ms each, 5 in flight", quote(source(*lines), at)))
    assert header.split()[-3:] == ["avgqu-sz", "await", "%util"]
    assert text.split()[-3:] == ["5.00", "6.00", "70.00"]
    assert [text[found.start() : found.end()] for found in re.finditer(r"\^+", marks)] == [
        "5.00",
        "6.00",
        "70.00",
    ]


def test_a_row_above_another_table_is_not_taken_for_a_wrapped_one():
    found = quote(source(OLD, "sda 0 4 1 2 8 48 4 24 18 1 3 3 9", "", "1.00 2.00"), 2)
    assert found.text == "sda 0 4 1 2 8 48 4 24 18 1 3 3 9"
