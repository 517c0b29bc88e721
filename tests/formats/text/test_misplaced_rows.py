"""Rows that fit the places of a header that is not theirs, and numbers at which an input is cut off."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

import iodiag
from iodiag.formats.text.reader import read_text
from iodiag.model.capture import ParseNote, SampleTable, Source

SAMPLES = Path(__file__).parents[3] / "samples"
BANNER = "Linux 5.14.0 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
PLAIN = BANNER + (
    "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    "sda              12.30      1776.39       100.00    1776392     100000\n"
    "sdb              12.30      1776.39       100.00    1776392    1776392"
)
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    " 1  0      0 212000  12000 900000    0    0     5     9  100  200  1  1 86 12  0\n"
    " 1  0      0 212000  12000 900000    0    0     5     9  100  200  1  1 76 12 10"
)
SAR = BANNER + (
    "12:00:01      DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util\n"
    "12:10:01      sda      3.00      4.00      5.00      0.00      6.00      0.10      0.20      1.00\n"
    "12:10:01     {name}      9.00      8.00      7.00      6.00      0.00      0.00      0.00      0.00\n"
)


def read(text: str) -> tuple[dict[str, list[dict]], list[int]]:
    items = list(read_text(Source("x", text.encode())))
    tables = {i.family: i.frame.to_dict("records") for i in items if isinstance(i, SampleTable)}
    return tables, [i.line for i in items if isinstance(i, ParseNote) and i.is_unread]


@pytest.mark.parametrize("lost", range(6, 16, 3))
def test_a_row_of_devices_whose_header_is_lost_is_no_row_of_cpus(lost: int) -> None:
    lines = (SAMPLES / "iostat" / "12.7.7-x-pretty.txt").read_text().split("\n")
    whole, _ = read("\n".join(lines))
    tables, unread = read("\n".join([*lines[: lost - 1], *lines[lost:]]))
    shares = [row["user_pct"] for row in whole["cpu"]]
    assert [row["user_pct"] for row in tables["cpu"]] == shares
    assert lost in unread


def test_a_number_that_ends_before_its_column_is_left_out() -> None:
    lines = f"{PLAIN}\n".splitlines()
    tables, unread = read("\n".join([*lines[:3], lines[3][:-4], *lines[3:], ""]))
    assert [row["write_kb"] for row in tables["disk"]][1:] == [100000, 1776392]
    assert math.isnan(tables["disk"][0]["write_kb"])
    assert unread == [4]


@pytest.mark.parametrize(("line", "cut", "is_kept"), [(3, 1, False), (5, 1, False), (5, 0, True)])
def test_a_cut_name_behind_a_row_is_no_device(line: int, cut: int, is_kept: bool) -> None:
    header = "12:00:01       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV\n"
    row = "12:{}0:01      3.00      4.00      5.00      0.00      6.00      0.10      0.20      1.00 sda"
    rows = [row.format(number) for number in (1, 2, 3)]
    lines = (BANNER + header + "\n".join(rows)).split("\n")
    lines[line] = lines[line][: len(lines[line]) - cut]
    tables, unread = read("\n".join(lines))
    assert {row["device"] for row in tables["disk"]} == {"sda"}
    assert bool(unread) != is_kept


def test_no_cpu_takes_more_than_its_time() -> None:
    header = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    tables, unread = read(BANNER + header + "          326.00    1.00   20.00    5.00    0.20   50.40\n")
    assert "cpu" not in tables
    assert unread == [4]


@pytest.mark.parametrize(
    "name", ["eth0", "lo", "ens192", "enp3s0f1", "wlp2s0", "bond0", "docker0", "br-1a2b3c"]
)
def test_an_interface_is_no_disk(name: str) -> None:
    tables, unread = read(SAR.format(name=name))
    assert [row["device"] for row in tables["disk"]] == ["sda"]
    assert unread == [5]


@pytest.mark.parametrize("name", ["emcpowera", "loop0", "vg-lo", "ibdisk", "brick1", "dm-0", "enc1"])
def test_a_disk_that_is_called_nearly_so_is_one(name: str) -> None:
    tables, unread = read(SAR.format(name=name))
    assert [row["device"] for row in tables["disk"]] == ["sda", name]
    assert not unread


@pytest.mark.parametrize(
    ("text", "family", "column", "cut", "value"),
    [
        (PLAIN, "disk", "write_kb", 0, 1776392.0),
        (PLAIN, "disk", "write_kb", 1, math.nan),
        (PLAIN, "disk", "write_kb", 3, math.nan),
        (PLAIN + "\n", "disk", "write_kb", 0, 1776392.0),
        (VMSTAT, "cpu", "steal_pct", 0, 10.0),
        (VMSTAT, "cpu", "steal_pct", 1, math.nan),
    ],
)
def test_a_number_at_which_the_input_ends(
    text: str, family: str, column: str, cut: int, value: float
) -> None:
    tables, unread = read(text[: len(text) - cut])
    found = tables[family][-1][column]
    assert found == value or (math.isnan(value) and math.isnan(found))
    assert bool(unread) == math.isnan(value)


@pytest.mark.parametrize(
    ("words", "row", "column", "value"),
    [
        (
            "tps GB_read/s GB_wrtn/s GB_dscd/s GB_read GB_wrtn GB_dscd",
            "3.00 0.50 0.25 0.00 2 1 0",
            "read_kb",
            2 * 1024.0**2,
        ),
        ("tps GB_read/s GB_wrtn/s GB_read GB_wrtn", "3.00 0.50 0.25 2 1", "write_kb_per_s", 0.25 * 1024**2),
        (
            "r/s rGB/s rrqm/s %rrqm r_await rareq-sz w/s wGB/s wrqm/s %wrqm w_await wareq-sz "
            "d/s dGB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util",
            "3.00 0.50 0 0 1 4 5.00 0.25 0 0 1 4 2.00 0.01 0 0 1 4 1.00 2.00 0.10 9.00",
            "discard_kb_per_s",
            0.01 * 1024**2,
        ),
        (
            "tps GB/s rqm/s await areq-sz aqu-sz %util",
            "3.00 0.50 0.00 1.00 4.00 0.10 9.00",
            "kb_per_s",
            0.5 * 1024**2,
        ),
    ],
)
def test_gigabytes(words: str, row: str, column: str, value: float) -> None:
    tables, unread = read(f"{BANNER}Device {words}\nsda {row}\n")
    assert tables["disk"][0][column] == value
    assert not unread


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param("5.1.2-x86_64-A.txt", 5, id="processes"),
        pytest.param("5.1.2-x86_64-A.txt", 31, id="interrupts"),
        pytest.param("5.1.2-x86_64-A.txt", 47, id="swapping"),
        pytest.param("5.1.2-x86_64-A.txt", 65, id="terminals below memory"),
        pytest.param("5.1.2-x86_64-A.txt", 136, id="kernel tables below swap"),
    ],
)
def test_a_section_of_sar_without_its_header_is_said(name: str, line: int) -> None:
    lines = (SAMPLES / "sar" / name).read_text().split("\n")
    whole, none = read("\n".join(lines))
    tables, unread = read("\n".join([*lines[: line - 1], *lines[line:]]))
    assert line in unread
    assert line not in none
    assert all(len(rows) <= len(whole[family]) for family, rows in tables.items())


def test_a_header_cut_within_its_clock_leaves_its_rows_without_a_header() -> None:
    text = (SAMPLES / "sar" / "7.0.4-x86_64-A.txt").read_text()
    tables, _ = read(text)
    cut, unread = read(text.replace("00:05:06      cswch/s", "00:05:"))
    rates = [{row["processes_per_s"] for row in found["system"]} - {None} for found in (tables, cut)]
    assert {n for n in rates[1] if n == n} <= {n for n in rates[0] if n == n}
    assert unread


def test_a_row_below_averages_that_is_older_than_the_table_is_none_of_it() -> None:
    lines = (SAMPLES / "sar" / "5.0.6-ppc-A.txt").read_text().split("\n")
    moved = lines[130]
    assert moved.split()[0] == "00:15:06"
    tables, unread = read("\n".join([*lines[:236], moved, *lines[237:]]))
    assert 465495.0 not in [row["files"] for row in tables["kernel_tables"]]
    assert unread == [237]


PT = """\
  #ts device    rd_s rd_mrg    wr_s wr_mrg wr_cnc   wr_rt busy in_prg    io_s
  1.0 sda      120.5     0%   184.5   6 8%    1.2     1.9  98%      6   305.0
  1.0 sdb      120.5     0%   184.5    68%    1.2     1.9  98%      6   305.0
"""


SECTIONS = BANNER + (
    "12:00:01       proc/s\n"
    "12:10:01         4.42\n"
    "12:20:01         4.06\n"
    "Average:         4.24\n"
    "\n"
    "12:00:01      cswch/s\n"
    "12:10:01       379.60\n"
    "12:20:01       683.36\n"
    "Average:       531.48\n"
    "\n"
    "12:00:01    kbswpfree kbswpused  %swpused  kbswpcad   %swpcad\n"
    "12:10:01       391714    656854     62.64      5751      0.88\n"
    "12:20:01       756860    291708     27.82      8151      2.79\n"
    "Average:       574287    474281     45.23      6951      1.84\n"
    "\n"
    "12:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15\n"
    "12:10:01            6       251      2.06      9.60      0.75\n"
    "12:20:01            2       250      1.16      8.50      0.71\n"
    "Average:            4       250      1.61      9.05      0.73\n"
)


@pytest.mark.parametrize("size", [3, 6, 9, 12])
@pytest.mark.parametrize("first", range(3, 20))
def test_sections_of_sar_that_stand_twice_give_no_other_rows(first: int, size: int) -> None:
    """As where two pages were copied that overlap, the second of which begins within a section."""
    lines = SECTIONS.split("\n")
    once, _ = read(SECTIONS)
    tables, _ = read("\n".join([*lines[: first + size], *lines[first:]]))
    for family, rows in tables.items():
        numbers = [{k: v for k, v in row.items() if isinstance(v, float)} for row in once[family]]
        for row in rows:
            known = {k: v for k, v in row.items() if isinstance(v, float) and v == v and k != "interval_s"}
            assert any(known.items() <= each.items() for each in numbers), (family, row)


QUEUE = (
    "\n12:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15\n"
    "12:10:01            {0}       251      2.06      9.60      0.75\n"
)


def test_idle_rows_of_another_host_are_no_copies() -> None:
    of_disks = (
        "12:00:01          DEV       tps  {}   await     %util\n"
        "12:10:01          sda      {}.00      9.00      7.00      6.00      5.00      2.00      1.00\n"
        "12:10:01          sdb      0.00      0.00      0.00      0.00      0.00      0.00      0.00\n"
    )
    old, new = "rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz", "rkB/s     wkB/s   areq-sz    aqu-sz"
    hosts = [BANNER + of_disks.format(old, 3), BANNER.replace("vm", "db") + of_disks.format(new, 4)]
    tables, unread = read("\n".join(host + QUEUE.format(n) for n, host in enumerate(hosts)))
    assert [row["device"] for row in tables["disk"]] == ["sda", "sdb"] * 2
    assert not unread


def test_a_page_that_ends_behind_a_restart_is_of_the_same_host() -> None:
    proc, swap = (
        "12:00:01 proc/s cswch/s\n12:10:01 4.42 379.60\n",
        "12:20:01 pswpin/s pswpout/s\n12:30:01 1.00 0.00\n",
    )
    first = f"{proc}{QUEUE.format(3)}\n12:20:00 LINUX RESTART\n\n{swap}"
    tables, unread = read(f"{BANNER}{first}{proc.splitlines()[1]}\n{QUEUE.format(3)}")
    assert [row["pages_in_per_s"] for row in tables["swapping"]] == [1]
    assert unread


@pytest.mark.parametrize("swapped_in", ["0.00", "1.00"])
def test_idle_rows_of_another_section_are_no_copies(swapped_in: str) -> None:
    rows = "12:10:01         {}      0.00\n12:20:01         0.00      0.00\n"
    text = f"12:00:01     pswpin/s pswpout/s\n{rows.format(swapped_in)}{QUEUE.format(3)}\n"
    text += f"12:00:01       proc/s   cswch/s\n{rows.format('0.00')}{QUEUE.format(4)}"
    tables, unread = read(BANNER + text)
    assert [row["context_switches_per_s"] for row in tables["system"]] == [0, 0]
    assert not unread


@pytest.mark.parametrize("first", [0, 1])
def test_rows_of_a_page_without_its_header_are_refused_where_the_whole_page_follows(first: int) -> None:
    lines = ["12:10:01         5.00      6.00\n", "12:20:01         7.00      8.00\n"]
    page = "".join(lines[first:]) + QUEUE.format(3)
    whole = f"\n12:00:01       proc/s   cswch/s\n{''.join(lines)}{QUEUE.format(3)}"
    swapping = (
        "12:00:01     pswpin/s pswpout/s\n12:10:01         0.00      0.00\n12:20:01         0.00      0.00\n"
    )
    tables, _ = read(BANNER + swapping + page + whole)
    assert [row["pages_in_per_s"] for row in tables["swapping"]] == [0, 0]
    assert [row["context_switches_per_s"] for row in tables["system"]] == [6, 8]


def test_of_rows_right_below_two_headers_none_is_read() -> None:
    """A page ends at a header, and the next begins behind another: nothing tells which."""
    rows = f"12:10:01         5.00      6.00\n{QUEUE.format(3)}\n"
    text = f"12:00:01     pswpin/s pswpout/s\n{rows}12:00:01       proc/s   cswch/s\n{rows}"
    tables, unread = read(BANNER + text)
    assert tables.keys() == {"queue"}
    assert len(unread) == 2


@pytest.mark.parametrize(
    ("above", "row"),
    [
        ("ldavg-15", "12:30:01       756860    291708     27.82      8151      2.79"),
        ("kbswpfree", "12:30:01         4.42      9.31      1.00      2.17      0.62"),
        ("cswch/s", "12:30:01          683"),
    ],
    ids=["a fraction of a task", "a fraction of a kilobyte", "no decimals"],
)
def test_a_row_behind_averages_whose_decimals_are_not_its_headers_is_none(above: str, row: str) -> None:
    lines = SECTIONS.split("\n")
    at = next(n for n, line in enumerate(lines) if above in line) + 4
    once, _ = read(SECTIONS)
    tables, unread = read("\n".join([*lines[:at], row, *lines[at:]]))
    assert unread == [at + 1]
    assert {name: len(rows) for name, rows in tables.items()} == {n: len(rows) for n, rows in once.items()}


def test_rows_of_one_time_with_other_decimals_are_no_rows_of_a_section_without_items() -> None:
    header = "12:00:01    kbmemfree kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit\n"
    rows = "".join(
        f"12:10:01            {n}     84.08     35.03     31.30     85.20      9.11     49.22\n"
        for n in (0, 1)
    )
    tables, unread = read(BANNER + header + rows)
    assert "memory" not in tables
    assert unread == [4, 5]


def test_an_interface_is_no_cpu() -> None:
    header = "12:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    rows = "12:10:01          all      1.00      2.00      3.00      4.00      0.00     90.00\n"
    tables, unread = read(BANNER + header + rows + rows.replace(" all", "eth0").replace("10:01", "20:01"))
    assert [row["cpu"] for row in tables["cpu"]] == ["all"]
    assert unread == [5]


@pytest.mark.parametrize(
    ("header", "printed", "typed", "family"),
    [
        (
            "CPU %user %nice %system %iowait %steal %idle",
            "all 5.10 0.00 2.00 1.00 0.00 91.90",
            "all 5.00 0 2 1 0 92",
            "cpu",
        ),
        (
            "DEV tps rkB/s wkB/s areq-sz aqu-sz await %util",
            "sda 12.50 100.00 50.10 15.00 1.00 5.00 1.00",
            "sda 12 100 50 15 1 5 1",
            "disk",
        ),
        (
            "runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked",
            "2 234 0.40 0.30 0.20 1",
            "1.5 234 1 0.40 0.30 1",
            "queue",
        ),
        (
            "kbmemfree kbmemused %memused kbbuffers kbcached",
            "123456 234567 65.50 1000 20000",
            "123456.5 234567.5 65.50 1000.0 20000.5",
            "memory",
        ),
    ],
    ids=["shares", "rates", "tasks", "means of memory"],
)
def test_rows_that_were_typed_or_computed_are_read(
    header: str, printed: str, typed: str, family: str
) -> None:
    times = [f"12:{minute}:01" for minute in (10, 20, 30, 40)]
    rows = [f"{time} {typed if time == times[2] else printed}\n" for time in times]
    tables, unread = read(f"{BANNER}12:00:01 {header}\n{''.join(rows)}")
    assert len(tables[family]) == 4
    assert not unread
    tables, unread = read(f"{BANNER}12:00:01 {header}\n{''.join(rows[:2])}Average: {typed}\n")
    assert not unread


@pytest.mark.parametrize(
    ("header", "own", "other"),
    [
        ("tps rtps wtps bread/s bwrtn/s", "12.00 2.10 9.90 80.32 200.64", "1500000 597148 28.47 12000 2.01"),
        ("tps rtps wtps bread/s bwrtn/s", "12.00 2.10 9.90 80.32 200.64", "5 400 3.10 2.90 2.50"),
        ("runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15", "2 234 0.40 0.30 0.20", "12.07 2.10 9.97 80.32 200.64"),
    ],
    ids=["swap", "queue", "requests"],
)
@pytest.mark.parametrize("is_other", ["00001111", "00111111", "00001100"])
def test_rows_of_a_section_that_lost_its_header_are_refused_though_their_clocks_go_on(
    header: str, own: str, other: str, is_other: str
) -> None:
    rows = [f"{12 + n}:10:01 {other if each == '1' else own}\n" for n, each in enumerate(is_other)]
    tables, unread = read(f"{BANNER}12:00:01 {header}\n{''.join(rows)}")
    assert [len(rows) for rows in tables.values()] == [is_other.count("0")]
    assert unread == [4 + n for n, each in enumerate(is_other) if each == "1"]


def test_the_shares_of_a_cpu_do_not_add_up_to_more_than_its_time() -> None:
    header = "12:00:01     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    rows = (
        "12:10:01       0     17.93      0.67      7.80      0.10      0.20     73.30\n"
        "12:20:01       1     46.50     92.77     95.70     51.56     45.95     37.87\n"
    )
    tables, unread = read(BANNER + header + rows)
    assert [row["cpu"] for row in tables["cpu"]] == ["0"]
    assert unread == [5]


def test_digits_of_two_columns_are_no_thousands() -> None:
    tables, unread = read(PT)
    assert [row["device"] for row in tables["disk"]] == ["sdb"]
    assert unread == [2]


def test_what_is_left_of_a_row_between_rows_is_said() -> None:
    lines = (SAMPLES / "vmstat-disk" / "4.0.2-dt.txt").read_text().split("\n")
    assert lines[19].startswith("loop5")
    _, unread = read("\n".join([*lines[:19], "loop5      0", *lines[20:]]))
    assert unread == [20]
    lines = (SAMPLES / "sar" / "3.3.6-i386-A.txt").read_text().split("\n")
    assert lines[137].split()[1] == "dev8-1"
    _, unread = read("\n".join([*lines[:137], "4" + lines[137], *lines[138:]]))
    assert unread == [138]


def test_a_row_that_is_joined_to_its_header_names_no_device() -> None:
    header = "Device            r/s     w/s     rkB/s     wkB/s  aqu-sz  %util"
    row = "sda              1.00    2.00      8.00     16.00    0.01   0.10\n"
    tables, unread = read(f"{BANNER}{header}{row}{row}")
    assert [row["device"] for row in tables.get("disk", [])] in ([], ["sda"], ["sda", "sda"])
    assert unread or len(tables["disk"]) == 2


DAMAGED = "sda 1.10 10.00 5.50 100 55\n{}\nsdc 1.10 10.00 5.50 100 55\n"


@pytest.mark.parametrize(
    ("line", "is_unread"),
    [
        ("sdb 1.10 10.00", True),
        ("sdb 1.10 garbage 5.50", True),
        ("sdb 1.10", True),
        ("nvme0n1 1.10 10.00 5.50 100", True),
        ("sdb is the disk with 2 partitions", False),
        ("sdb 100 % busy here", False),
        ("sdb", True),
        ("I waited for 5 minutes, then:", False),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_what_is_left_of_a_row_is_told_and_prose_is_not(line: str, is_unread: bool, is_last: bool) -> None:
    header = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    text = DAMAGED.format(line)
    text = text if not is_last else "".join(text.splitlines(keepends=True)[:2])
    _, unread = read(BANNER + header + text)
    assert bool(unread) == is_unread


@pytest.mark.parametrize("rest", ["sdb", "sdb 1.10 0.00 8.80", "sdb 1.10 0.00 garb 8.00 0.00 1.00"])
def test_what_is_left_of_a_row_of_sar_is_no_row_without_a_header(rest: str) -> None:
    text = (
        "Linux 5.14.0 (h1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
        "12:00:01 AM DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"
        "12:10:01 AM sda 1.10 0.00 8.80 8.00 0.00 1.00 1.00 0.01\n"
        f"12:10:01 AM {rest}\n"
        "12:20:01 AM sda 1.20 0.00 9.60 8.00 0.00 1.00 1.00 0.01\n"
    )
    capture = iodiag.read(io.BytesIO(text.encode()), name="cut.txt")
    assert [(note.line, note.reason) for note in capture.unparsed] == [
        (5, "not a whole row of the table above it")
    ]
