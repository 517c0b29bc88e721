import pytest

from iodiag.formats.context.iotop import FORMAT
from reading import blocks_of

RUN = """\
Total DISK READ :       0.00 B/s | Total DISK WRITE :       0.00 B/s
Actual DISK READ:       0.00 B/s | Actual DISK WRITE:       0.00 B/s
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
Total DISK READ :       1.50 M/s | Total DISK WRITE :     100.00 K/s
Actual DISK READ:       1.50 M/s | Actual DISK WRITE:      90.00 K/s
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
   2871 be/4 mysql       1.50 M/s    0.00 B/s  0.00 % 91.20 % mysqld --password=x
    410 be/3 root        0.00 B/s  100.00 K/s  0.00 %  3.10 % [jbd2/sda1-8]
Total DISK READ :       0.50 M/s | Total DISK WRITE :       0.00 B/s
Actual DISK READ:       0.50 M/s | Actual DISK WRITE:       0.00 B/s
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
   2871 be/4 mysql     512.00 K/s    0.00 B/s  0.00 % 41.20 % mysqld --password=x
"""
TIMED = """\
15:12:07 Total DISK READ:         0.00 K/s | Total DISK WRITE:         3.99 K/s
15:12:07 Current DISK READ:       0.00 K/s | Current DISK WRITE:       0.00 K/s
    TIME  TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND
15:12:08  1285 be/4 root        0.00 K/s    3.99 K/s ?unavailable?  python3 /usr/sbin/iotop -btoqk -n 2
"""
TOTALS = """\
Total DISK READ:         0.00 B/s | Total DISK WRITE:         3.99 K/s
Current DISK READ:       0.00 B/s | Current DISK WRITE:       0.00 B/s
  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND
 1286 be/4 root          0.00 B      4.00 K ?unavailable?  rsync -a
Total DISK READ:         0.00 B/s | Total DISK WRITE:         3.99 K/s
Current DISK READ:       0.00 B/s | Current DISK WRITE:       0.00 B/s
 1286 be/4 root          0.00 B      2.00 M ?unavailable?  rsync -a
"""


def facts_of(text):
    (block,) = blocks_of(FORMAT, text)
    assert block.used == text.rstrip("\n").count("\n") + 1
    return [dict(fact.values) for fact in block.facts if "disks_read_kb_per_s" not in fact.values]


def test_means_leave_out_the_first_sample_which_is_always_zero():
    total, mysqld, journal = facts_of(RUN)
    assert (total["samples"], total["processes"], total["read_kb_per_s"]) == (2, 2, 1024)
    assert (mysqld["process"], mysqld["tid"], mysqld["read_kb_per_s"]) == ("mysqld", "2871", 1024)
    assert (mysqld["read_rank"], journal["write_rank"]) == (1, 1)
    assert (journal["process"], journal["write_kb_per_s"]) == ("[jbd2/sda1-8]", 50)


def test_the_share_of_time_that_a_process_waited_is_a_mean_over_all_samples():
    _, mysqld, journal = facts_of(RUN)
    assert (mysqld["io_pct"], journal["io_pct"]) == (66.2, 1.55)
    assert "io_pct" not in facts_of(TIMED)[1]


@pytest.mark.parametrize("where", ["  0.00 % 91.20 %", "  0.00 %", " mysqld"])
def test_a_row_that_a_mail_broke_is_read_as_one(where):
    row = next(line for line in RUN.splitlines(keepends=True) if "mysqld" in line)
    before, after = row.split(where)
    broken = (
        f"{before}\n{where.strip()}{after}" if where == "  0.00 %" else f"{before}{where}\n{after.strip()}\n"
    )
    (block,) = blocks_of(FORMAT, RUN.replace(row, broken))
    assert [fact.values for fact in block.facts] == [fact.values for fact in blocks_of(FORMAT, RUN)[0].facts]
    assert block.unread == ((8,) if where == " mysqld" else ())


def test_a_row_without_a_command_is_no_process():
    header = next(line for line in RUN.splitlines(keepends=True) if "COMMAND" in line)
    row = "   31 be/4 root        0.00 B/s    8.00 K/s  0.00 % 97.00 %\n"
    (block,) = blocks_of(FORMAT, RUN + row + "\nThat is all.\n")
    assert block.unread == (13,)
    assert [fact.values for fact in block.facts] == [fact.values for fact in blocks_of(FORMAT, RUN)[0].facts]
    assert not [fact for one in blocks_of(FORMAT, header + row) for fact in one.facts]


def test_clocks_and_missing_delays():
    total, process = facts_of(TIMED)
    assert (process["process"], process["write_kb_per_s"], process["read_kb_per_s"]) == ("python3", 3.99, 0)
    assert total["samples"] == 1


def test_accumulated_numbers_are_no_rates():
    total, process = facts_of(TOTALS)
    assert process == {
        "process": "rsync",
        "pid": "1286",
        "read_kb": 0,
        "write_kb": 2048,
        "write_rank": 1,
        "samples": 2,
    }
    assert "write_kb_per_s" not in total


def test_a_run_of_one_sample_has_moved_nothing():
    (total,) = facts_of("".join(RUN.splitlines(keepends=True)[:3]))
    assert (total["processes"], total["read_kb_per_s"]) == (0, 0)


def test_sums_stand_for_all_processes_where_no_row_is_left():
    lines = RUN.splitlines(keepends=True)
    (cut,) = blocks_of(FORMAT, "".join([*lines[3:6], lines[6][:34]]))
    everybody, disks = cut.facts
    assert everybody.values == {"read_kb_per_s": 1536, "write_kb_per_s": 100, "samples": 1}
    assert everybody.text == "all processes read 1536 kB/s and wrote 100 kB/s (one sample)"
    assert (disks.values["disks_write_kb_per_s"], cut.unread) == (90, (4,))
    (sums,) = blocks_of(FORMAT, "".join(line for line in lines if line.startswith("Total")))
    assert [dict(fact.values) for fact in sums.facts] == [
        {"read_kb_per_s": 1024, "write_kb_per_s": 50, "samples": 2}
    ]


def test_a_last_sample_whose_rows_were_cut_off_counts_for_nothing():
    (cut,) = blocks_of(FORMAT, RUN[: RUN.rindex("512")])
    total, *_, disks = (dict(fact.values) for fact in cut.facts)
    assert (total["samples"], total["read_kb_per_s"], total["processes"]) == (1, 1536, 2)
    assert (disks["samples"], disks["disks_read_kb_per_s"]) == (1, 1536)
    lines = RUN.splitlines(keepends=True)
    idle = "".join([*lines[:8], *lines[:3]])
    assert facts_of(idle)[0]["read_kb_per_s"] == 768


def test_a_damaged_row_is_listed_and_ends_no_run():
    (block,) = blocks_of(FORMAT, RUN.replace("100.00 K/s  0.00 %", "100.0"))
    assert (block.unread, block.facts[0].values["samples"]) == ((8,), 2)


def test_what_the_disks_moved_is_what_iotop_calls_actual():
    (block,) = blocks_of(FORMAT, RUN)
    (disks,) = [fact for fact in block.facts if "disks_read_kb_per_s" in fact.values]
    assert disks.values == {
        "disks_read_kb_per_s": 1024,
        "disks_write_kb_per_s": 45,
        "asked_read_kb_per_s": 1024,
        "asked_write_kb_per_s": 50,
        "samples": 2,
    }
    asked = "for 1024 kB/s and 50.0 kB/s that processes asked for (mean of 2 samples)"
    assert disks.text == f"the disks read 1024 kB/s and wrote 45.0 kB/s, {asked}"
    # under -a it is a rate all the same
    (of_totals,) = blocks_of(FORMAT, TOTALS)
    (disks,) = [fact for fact in of_totals.facts if "disks_read_kb_per_s" in fact.values]
    assert disks.text.endswith("(mean of 2 samples)")


@pytest.mark.parametrize(
    "text", ["Total DISK READ: lots\n", "  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_samples_with_a_clock_are_kept_and_others_are_not():
    timed = TIMED + TIMED.replace("15:12:08", "15:12:09").replace("15:12:07", "15:12:08")
    (block,) = blocks_of(FORMAT, timed)
    (table,) = (one.rows for one in block.tables if one.family == "process")
    assert list(table["pid"]) == ["1285", "1285", "all", "all"]
    assert list(table["clock_s"]) == [54727, 54728, 54727, 54728]
    assert list(table["write_kb_per_s"]) == [3.99] * 4
    assert [block.tables for block in blocks_of(FORMAT, RUN)] == [()]


def test_a_row_that_stands_twice_counts_once():
    (block,) = blocks_of(FORMAT, TIMED + TIMED.splitlines(keepends=True)[-1])
    (table,) = block.tables
    assert table.rows["write_kb_per_s"].tolist() == [3.99, 3.99]


def test_sums_that_changed_places_leave_rows_unread_and_give_no_other_numbers():
    later = TIMED.replace("15:12:08", "15:12:09").replace("15:12:07", "15:12:08").replace("3.99", "7.98")
    latest = later.replace("15:12:09", "15:12:10").replace("15:12:08", "15:12:09")
    lines = (TIMED + later + latest).splitlines(keepends=True)
    lines[0], lines[8] = lines[8], lines[0]
    (block,) = blocks_of(FORMAT, "".join(lines))
    (table,) = (one.rows for one in block.tables if one.family == "process")
    assert block.unread == (1, 2, 4, 9, 10, 12)
    assert table["clock_s"].tolist() == [54728.0] * 2
    assert table["write_kb_per_s"].tolist() == [7.98] * 2


@pytest.mark.parametrize(
    "later", ["14:12:07", "15:12:05", "10:00:00"], ids=["summer", "set back", "next day"]
)
def test_a_clock_that_goes_back_begins_another_listing(later):
    sample = TIMED.replace("15:12:08", "15:12:07")
    first, second = blocks_of(FORMAT, sample + sample.replace("15:12:07", later).replace("3.99", "7.98"))
    assert (first.used, second.used, first.unread, second.unread) == (4, 4, (), ())
    (table,) = (one.rows for one in second.tables if one.family == "process")
    assert table["write_kb_per_s"].tolist() == [7.98] * 2
    assert len(set(table["clock_s"].tolist())) == 1


def test_a_header_above_rows_of_another_shape_says_nothing_of_what_was_moved():
    header = next(line for line in RUN.splitlines(keepends=True) if "COMMAND" in line)
    assert not blocks_of(FORMAT, header + "1234 be/4 postgres 0.00 B/s 45.2 MB/s 0.00% 99.8% postgres\n")


@pytest.mark.parametrize("number", ["TID", "PID"])
def test_numbers_without_a_header_are_of_threads_and_others_as_it_says(number):
    header = next(line for line in TIMED.splitlines(keepends=True) if "COMMAND" in line)
    sample, later = TIMED.replace("TID", number), TIMED.replace(header, "").replace("15:12:0", "14:12:0")
    first, second = blocks_of(FORMAT, sample + later)
    assert number.lower() in first.facts[1].values
    assert "tid" in second.facts[1].values


@pytest.mark.parametrize("between", ["# iotop -b -n 2\n", "and again:\n", "Fri Nov 20 12:00:00 UTC 2026\n"])
def test_a_line_between_two_runs_is_no_rest_of_a_command(between):
    first, second = blocks_of(FORMAT, RUN + between + RUN)
    assert [dict(fact.values) for fact in first.facts] == [dict(fact.values) for fact in second.facts]


def test_a_banner_below_a_row_that_was_cut_is_no_command():
    cut = RUN[: RUN.rindex("%") + 1] + "\nLinux 5.10.0 (db7) 11/20/2026 _x86_64_ (4 CPU)\n"
    (block,) = blocks_of(FORMAT, cut)
    assert not any("Linux" in str(fact.values.get("process")) for fact in block.facts)


ALONE = """\
 4059 be/4 root        0.00 B/s  107.18 K/s  0.00 % 99.99 % perl -w /usr/bin/list -i
19404 be/7 root        0.00 B/s   12.00 K/s  0.00 % 80.00 % python3 /usr/lib/check
   77 idle backup      1.00 M/s    0.00 B/s  0.00 %  5.00 % tar -c /
"""


def test_rows_without_the_lines_above_them_are_known_by_their_shape():
    (block,) = blocks_of(FORMAT, f"here is what I see:\n\n{ALONE}")
    assert "without the lines above" in block.layout
    total, *processes = [dict(fact.values) for fact in block.facts]
    assert (total["processes"], total["write_kb_per_s"]) == (3, 119.18)
    assert {process["tid"] for process in processes} == {"4059", "19404", "77"}


@pytest.mark.parametrize(
    "row", ["root 0.00 B/s 107.18 K/s 0.00 % 99.99 % perl", "4059 be/4 root 1 2 3 4 perl"]
)
def test_a_row_of_another_shape_is_not_taken_for_one(row):
    assert not FORMAT.starts.search(row)


@pytest.mark.parametrize(("total", "means"), [("1.00 M/s", (1024, 66.0, 1)), ("64.00 K/s", (512, 33.0, 2))])
def test_a_sample_whose_rows_hold_less_than_its_total_says_nothing_of_tasks_without_a_row(total, means):
    """By `head` or by hand it was cut: a task that moved the rest may be any."""
    first, *_ = RUN.partition("Total DISK READ :       0.50")
    row = "   512 be/4 root       64.00 K/s    0.00 B/s  0.00 %  9.00 % cron\n"
    second = first.replace("1.50 M/s", "1.00 M/s").replace("91.20", "66.00").partition("    410")[0]
    second = second[second.index("Total DISK READ :       1.00") :].replace("100.00 K/s", "0.00 B/s")
    third = second.replace("1.00 M/s", total)
    third = third[: third.index("   2871")] + row
    sums, mysqld, _ = facts_of(second + third)
    assert (mysqld["read_kb_per_s"], mysqld["io_pct"], mysqld["samples"]) == means
    assert sums["read_kb_per_s"] == 512 + 32
