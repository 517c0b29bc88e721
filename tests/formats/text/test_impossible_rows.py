"""Rows that stand where they should not be believed, and headers with a caption above the times of rows."""

from __future__ import annotations

import pytest

from text_reading import reading

VMSTAT = """procs -----------memory---------- ---swap-- -----io---- --system-- ----cpu----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in    cs us sy id wa
"""
SWAPPING = f"""{VMSTAT} 0  2 200000   3200   4400   3300  600  380   700   380 2400   180  0  5  0 95
 0  1 201000   3700   4450   3600  530  570   580   570 2300   170  0  6  0 94
"""
SAR = "DEV        tps      rkB/s    wkB/s      areq-sz   aqu-sz await      svctm     %util\n"
WRAPPED = """        Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s
kB_read    kB_wrtn    kB_dscd
18:21:11 md0            75.30         1.60      1146.40         0.00
16      11464          0
18:21:21 md0           236.20        18.40     13491.20         0.00
184     134912          0
"""


@pytest.mark.parametrize("caption", ["Time  ", "TIME ", "Timestamp ", "--time-- "])
def test_a_caption_above_the_times_of_sar(caption: str):
    read = reading(f"{caption}{SAR}08:57:34 drbd0 3.00 0.00 12.00 4.00 6.21 2069.33 333.33 100.00\n")
    assert read.disk["await_ms"].tolist() == [2069.33]
    assert read.unread == []


def test_a_caption_above_the_times_of_vmstat():
    row = "12:00:0{} 1 0 0 3200 4400 3300 0 0 700 380 2400 180 0 5 90 5\n"
    head = VMSTAT.splitlines()[1]
    read = reading(f"Time {head}\n{row.format(1)}{row.format(2)}")
    assert read.tables["paging"]["pgpgin_kb_per_s"].tolist() == [700, 700]


def test_wrapped_rows_behind_a_time():
    later = WRAPPED.replace("18:2", "18:4")
    read = reading(f"{WRAPPED}\nand later:\n\n{later}")
    assert read.disk["write_kb"].tolist() == [11464, 134912] * 2
    # the time between two captures is no part of a sample
    assert read.disk["interval_s"].tolist() == [10] * 4
    assert read.unread == []


@pytest.mark.parametrize(
    ("row", "is_longer"),
    [
        (" 0  1 190000   4200   4500   5300 127000 49900 129400 50000 405000 32900  0  4  0 95\n", True),
        # switches do not rise with the rest
        (" 0  1 190000   4200   4500   5300 127000 49900 129400 50000 405000 400  0  4  0 95\n", False),
        # the CPUs work for it
        (" 0  1 190000   4200   4500   5300 127000 49900 129400 50000 405000 32900  5 40  0 55\n", False),
        # a larger transfer, not a longer time
        (" 0  1 190000   4200   4500   5300 12700 4990 12940 5000 4050 329  0  4  0 95\n", False),
    ],
)
def test_a_row_of_vmstat_that_covers_longer_than_the_others(row: str, is_longer: bool):
    last = " 1  1 190000   4000   4500   5300   30    0    30     3  450   122  2  1 94  2\n"
    read = reading(SWAPPING + row + last)
    for family, column in (("swapping", "swap_in_kb_per_s"), ("system", "interrupts_per_s")):
        assert read.tables[family][column].isna().tolist() == [False, False, is_longer, False]
    assert read.tables["cpu"]["iowait_pct"].notna().all()
    assert ("longer time" in read.remarks) == is_longer


def test_a_total_below_zero_is_noted_and_left_out():
    head = "Device:            tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\n"
    read = reading(
        f"{head}sda 3.17 0.01 0.03 1536 8350\nsda 16090.13 7.85 7.83 9007199254739466 9007199254732696\n"
    )
    assert read.disk["ios_per_s"].tolist() == [3.17]
    assert "below zero" in read.remarks


@pytest.mark.parametrize(("interval", "is_since_boot"), [(" 5", False), ("", True)])
def test_a_lone_row_of_vmstat_in_which_nothing_but_waiting_goes_on(interval: str, is_since_boot: bool):
    row = " 0  6      0 181900 1714472  50148    0    0     0     0 1001    88  0  0  0 100\n"
    read = reading(f"# vmstat{interval}\n{VMSTAT}{row}")
    assert read.tables["cpu"]["since_boot"].tolist() == [is_since_boot]
    assert not read.tables["queue"]["since_boot"].any()


def test_rows_left_out_below_a_header():
    rows = " 0  1 0 181900 1714472  50148 0 0 10 20 1001 88 1 1 90 8\n" * 2
    assert not reading(f"# vmstat 5\n{VMSTAT}...\n{rows}...\n").tables["cpu"]["since_boot"].any()


@pytest.mark.parametrize("reads", ["351.80", "351.83"])
def test_a_first_report_on_the_grid_of_the_command(reads: str):
    head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
    row = "sda 0.00 {} {} {} 36560.40 8809.20 20.00 4.22 9.64 0.46 20.64\n"
    others = [("53.20", "341.60", "15.60"), ("42.90", "18.80", "17.50")]
    rows = "".join(row.format(*cells) for cells in [("399.20", reads, "196.90"), *others])
    read = reading(f"iostat -xk 10\n{head}{rows}")
    assert read.disk["since_boot"].tolist() == [reads == "351.83", False, False]


@pytest.mark.parametrize(
    "prose",
    ["Uptime: 55 minutes 6 seconds, load average 8.94, 4.98, 3.20.", "Uptime: 12345"],
)
def test_prose_with_numbers_is_no_row(prose: str):
    read = reading(f"{prose}\n\n{SAR}08:57:34 drbd0 3.00 0.00 12.00 4.00 6.21 2069.33 333.33 100.00\n")
    assert read.unread == []


CPUS = "09:50:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
CPU = "09:52:01  {:>9}      {:.2f}      0.00      0.50      0.00      {:.2f}     {:.2f}\n"


@pytest.mark.parametrize(
    ("user", "steal", "idle", "is_left_out"),
    [(0.0, 0.0, 30.0, True), (0.0, 80.0, 19.0, False), (9.0, 0.0, 90.0, False), (51.0, 0.0, 0.0, False)],
    ids=["a counter that went back", "stolen", "whole", "cut digits"],
)
def test_shares_of_a_cpu_that_leave_out_most_of_its_time_are_no_sample(user, steal, idle, is_left_out):
    rows = CPU.format("all", 2.0, 0.0, 97.0) + CPU.format("0", user, steal, idle)
    read = reading(CPUS + rows)
    assert read.tables["cpu"]["cpu"].tolist() == (["all"] if is_left_out else ["all", "0"])
    assert [note.line for note in read.notes if "shares of this CPU" in note.reason] == [3] * is_left_out


@pytest.mark.parametrize(("steal", "idle"), [(" %steal", "0.00"), ("", "0.00"), ("", "41.00")])
def test_without_a_column_of_steal_only_nothing_at_all_is_no_time(steal, idle):
    header = f"09:50:01  CPU  %user  %nice  %system  %iowait {steal}  %idle\n"
    row = "09:52:01  {}  0.00  0.00  0.00  0.00" + "  0.00" * bool(steal) + "  {}\n"
    read = reading(header + row.format("all", "97.00") + row.format("1", idle))
    assert len(read.tables["cpu"]) == 1 + (idle == "41.00")


def test_a_row_of_vmstat_without_shares_is_kept_for_what_else_it_has():
    read = reading(VMSTAT + " 0  1 190000   4200   4500   5300 0 0 900 500 405 320  0  0  0 0\n" * 2)
    assert len(read.tables["paging"]) == 2


def test_of_a_table_that_columns_were_cut_out_of_nobody_knows_the_rest():
    text = "12:00:01  CPU %user %iowait %steal %idle\n" + "12:10:01  all 4.00 3.00 0.00 12.00\n" * 3
    assert len(reading(text).tables["cpu"]) == 3
    whole = "12:00:01  CPU %user %nice %system %iowait %steal %idle\n"
    offline = "12:10:01  3 0.00 0.00 0.00 0.00 0.00 0.00\n12:20:01  3 0.00 0.00 0.00 0.00 0.00 0.00\n"
    found = reading(whole + offline + "12:10:01  all 4.00 0.00 3.00 3.00 0.00 90.00\n")
    assert len(found.tables["cpu"]) == 1
    (note,) = [note for note in found.notes if "offline" in note.reason]
    assert note.reason.endswith("this row is left out, and 1 more of its table")
