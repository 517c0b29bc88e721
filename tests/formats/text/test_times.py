"""Times, lengths of samples, reports and averages since boot."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iodiag.formats.text.reader import read_text
from iodiag.model.capture import ParseNote, Source
from text_reading import reading
from writers.captures import vmstat

BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
HEADER = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"


def report(reads: float, device: str = "sda") -> str:
    return f"{HEADER}{device} 0.00 0.00 {reads:.2f} 1.40 {reads * 8:.2f} 8.00 19.40 1.02 5.90 5.62 97.22\n\n"


def stamps(read: object) -> list[str]:
    return read.disk["time"].astype(str).tolist()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("clocks", "zone"),
    [
        (["11/20/26 23:59:50", "11/20/26 23:59:55", "11/21/26 00:00:00"], None),
        (["11/20/2026 11:59:50 PM", "11/20/2026 11:59:55 PM", "11/21/2026 12:00:00 AM"], None),
        (["20.11.2026 23:59:50", "20.11.2026 23:59:55", "21.11.2026 00:00:00"], None),
        (["2026-11-20T18:59:50-0500", "2026-11-20T18:59:55-0500", "2026-11-20T19:00:00-0500"], "UTC"),
        (["1795219190", "1795219195", "1795219200"], "UTC"),
        (
            ["Fri Nov 20 18:59:50 EST 2026", "Fri Nov 20 18:59:55 EST 2026", "Fri Nov 20 19:00:00 EST 2026"],
            "UTC",
        ),
        ([f"Fri Nov 20 {clock} -0500 2026" for clock in ("18:59:50", "18:59:55", "19:00:00")], "UTC"),
        ([f"21 Nov 2026 {clock} +03" for clock in ("02:59:50", "02:59:55", "03:00:00")], "UTC"),
        (["Time: 23:59:50", "Time: 23:59:55", "Time: 00:00:00"], None),
        (["23:59:50", "23:59:55", "00:00:00"], None),
    ],
)
def test_a_clock_above_every_report(clocks: list[str], zone: str | None):
    read = reading(BANNER + "".join(f"{clock}\n{report(n * 7.2)}" for n, clock in enumerate(clocks, 1)))
    times = read.disk["time"]
    assert (str(times.dt.tz) if times.dt.tz else None) == zone
    assert times.dt.tz_localize(None).tolist() == [
        pd.Timestamp("2026-11-20 23:59:50"),
        pd.Timestamp("2026-11-20 23:59:55"),
        pd.Timestamp("2026-11-21 00:00:00"),
    ]
    assert read.disk["interval_s"].fillna(-1).tolist() == [-1, 5, 5]
    assert read.disk["since_boot"].tolist() == [True, False, False]
    assert read.disk["report"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("clocks", "hours"),
    [
        (["11/20/26 12:58:00", "11/20/26 12:59:00", "11/20/26 01:00:00"], [12, 12, 13]),
        (["11/20/26 11:59:00", "11/20/26 12:00:00", "11/20/26 12:01:00"], [11, 12, 12]),
        (
            ["11/20/26 12:59:00", "11/20/26 01:00:00", "11/20/26 01:01:00", "11/20/26 01:02:00"],
            [12, 13, 13, 13],
        ),
        (["11/20/26 12:58:00", "11/20/26 12:59:00", "11/20/26 09:00:00"], [12, 12, 9]),
        (["Time: 12:58:00", "Time: 12:59:00", "Time: 01:00:00"], [12, 12, 13]),
        (["11/20/26 09:56:49 AM", "11/20/26 09:50:44 AM"], [9, 9]),
        (["11/20/26 09:56:49 PM", "11/20/26 09:50:44 PM"], [21, 21]),
    ],
    ids=["at one", "at noon", "behind one", "another run", "without a date", "AM", "PM"],
)
def test_a_clock_of_twelve_hours_goes_on_at_one(clocks: list[str], hours: list[int]):
    read = reading(BANNER + "".join(f"{clock}\n{report(n * 7.2)}" for n, clock in enumerate(clocks, 1)))
    assert read.disk["time"].dt.hour.tolist() == hours


def test_without_a_date_times_are_unknown_but_lengths_are_not():
    read = reading("".join(f"Time: 12:00:{s:02}\n{report(s)}" for s in (0, 30)))
    assert read.disk["time"].isna().all()
    assert read.disk["interval_s"].tolist() == [30, 30]


def test_a_date_with_a_zone_in_figures_is_a_clock_between_rows_of_a_table_too():
    row = "1 2 0 90000 1000 50000 0 0 200 310 500 900 7 3 80 10 0\n"
    clocks = "".join(f"Fri Nov 20 12:00:{s:02} +0545 2026\n{row}" for s in (0, 10, 20))
    queue = reading(f"r b swpd free buff cache si so bi bo in cs us sy id wa st\n{clocks}").tables["queue"]
    assert queue["time"].astype(str).str[11:19].tolist() == ["06:15:00", "06:15:10", "06:15:20"]


def test_a_zone_that_one_clock_names_holds_for_all():
    read = reading(f"Fri Nov 20 12:00:00 CET 2026\n{report(1)}11/20/26 12:00:30\n{report(2)}")
    assert stamps(read) == ["2026-11-20 11:00:00+00:00", "2026-11-20 11:00:30+00:00"]


CPU_ROWS = "12:00:00 CPU %user %sys %iowait %idle\n12:00:01 all 1.00 1.00 0.00 98.00\n12:00:01 0 1.00 1.00 0.00 98.00\n\n"


LATER_ROWS = "".join(
    f"12:00:00 {names}\n12:00:01 1.00 0.00\n12:00:02 1.00 0.00\n\n"
    for names in ("pswpin/s pswpout/s", "proc/s cswch/s")
)


@pytest.mark.parametrize(
    ("above", "time"),
    [
        ("zzz ***Fri Nov 20 12:00:00 EST 2026", "2026-11-20 17:00:01+00:00"),
        ("2026-11-20T11:59:58+0100", "2026-11-20 11:00:01+00:00"),
        ("Fri Nov 20 17:00:00 UTC 2026", "2026-11-20 12:00:01"),  # date -u
        ("Sat Nov 21 12:00:00 EST 2026", "2026-11-20 12:00:01"),  # sar -f of the day before
        ("Fri Nov 20 12:00:00 2026", "2026-11-20 12:00:01"),
    ],
)
def test_rows_with_clocks_that_begin_at_the_clock_above_are_of_its_zone(above: str, time: str):
    read = reading(f"{above}\n{BANNER}{CPU_ROWS}{LATER_ROWS}")
    assert read.tables["cpu"]["time"].astype(str).tolist() == [time, time]
    for family in ("swapping", "system"):
        assert read.tables[family]["time"].astype(str).tolist() == [time, time.replace(":01", ":02", 1)]


def test_tables_with_and_without_clocks_in_their_rows_share_the_clock_of_oswatcher():
    snapshot = "zzz ***Fri Nov 20 12:00:00 EST 2026\n" + BANNER
    read = reading(snapshot + CPU_ROWS + snapshot + report(0.37) + report(33.33))
    assert stamps(read)[0] == "2026-11-20 17:00:00+00:00"
    assert read.tables["cpu"]["time"].astype(str).tolist() == ["2026-11-20 17:00:01+00:00"] * 2


@pytest.mark.parametrize("first", ["Fri Nov 20 23:59:50 2026", "zzz <11/20/2026 23:59:50> Count:720"])
def test_clocks_without_a_date_go_on_from_one_with_it(first: str):
    clocks = [first, "23:59:55", "00:00:00", "Sat Nov 21 12:00:00 2026", "12:00:05"]
    read = reading("".join(f"{clock}\n{report(n * 7.2)}" for n, clock in enumerate(clocks, 1)))
    days = ["2026-11-20 23:59:50", "2026-11-20 23:59:55", "2026-11-21 00:00:00"]
    assert stamps(read) == [*days, "2026-11-21 12:00:00", "2026-11-21 12:00:05"]
    assert not any("before that of the row above" in note.reason for note in read.notes)


@pytest.mark.parametrize("own", ["10:00", "09:30", "23:15", "15:15"])
def test_clocks_without_a_date_are_of_no_day_where_the_dated_one_is_of_another_zone(own: str):
    clocks = ["Fri Nov 20 15:00:00 UTC 2026", f"{own}:05", f"{own}:10"]
    read = reading("".join(f"{clock}\n{report(n * 7.2)}" for n, clock in enumerate(clocks, 1)))
    assert read.disk["time"].isna().tolist() == [False, True, True]


def test_a_table_of_two_zones_stands_in_local_time():
    sar = "12:00:00 CPU %user %nice %system %iowait %steal %idle\n12:10:00 all 1.00 0.00 1.00 0.00 0.00 98.00\n\n"
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 1.00 0.00 0.00 98.00\n\n"
    read = reading(f"{BANNER}{sar}2026-11-20T12:20:00+0100\n{cpu}{report(1)}")
    assert read.tables["cpu"]["time"].tolist() == [
        pd.Timestamp("2026-11-20 12:10"),
        pd.Timestamp("2026-11-20 12:20"),
    ]
    assert stamps(read) == ["2026-11-20 11:20:00+00:00"]


@pytest.mark.parametrize(
    ("command", "length"),
    [("$ iostat -x 5\n", 5), ("$ iostat -x 5 3\n", 5), ("$ iostat -x\n", None), ("$ vmstat 5\n", None)],
)
def test_the_length_that_the_command_states(command: str, length: float | None):
    read = reading(command + report(0.37) + report(0.61))
    assert read.disk["interval_s"].iloc[1] == length or (
        length is None and np.isnan(read.disk["interval_s"].iloc[1])
    )


def test_the_length_that_the_rates_betray():
    events = [(3, 7), (11, 23), (101, 57), (999, 4), (1234, 17)]
    rows = "".join(
        f"{HEADER}sda {r / 5 + 1:.2f} {w / 5 + 2:.2f} {r / 5:.2f} {w / 5:.2f} 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
        for r, w in events
    )
    read = reading(BANNER + report(0.37) + rows)
    assert read.disk["interval_s"].tolist()[1:] == [5] * 5
    assert read.disk["since_boot"].tolist() == [True] + [False] * 5


def test_a_first_report_on_the_grid_of_a_second_is_not_since_boot():
    rows = "".join(
        f"{HEADER}sda {n}.00 {n + 8}.00 {n * 7}.00 {n * 3}.00 {n * 9}.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
        for n in (1, 30, 900)
    )
    read = reading(BANNER + rows)
    assert not read.disk["since_boot"].any()
    assert read.disk["interval_s"].tolist() == [1, 1, 1]


OLD = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"


@pytest.mark.parametrize(
    ("command", "row", "is_since_boot"),
    [
        # 342.6 and 0.4 requests, 39996.6 sectors: fifths, all of them
        ("iostat -dx 5", "0.00 0.00 342.60 0.40 39996.60 3.20", False),
        ("iostat -dx 5", "0.00 0.00 342.61 0.40 39996.60 3.20", True),
        ("iostat -dx 5", "0.00 0.00 342.60 0.40 39996.70 3.20", True),
        # tenths, by chance or not, are no fifths
        ("iostat -dx 7", "0.00 0.00 342.60 0.40 39996.60 3.20", True),
        # two numbers are too few, but for a second
        ("iostat -dx 1", "0.00 0.00 0.00 64.00 0.00 65536.00", False),
        ("iostat -dx 1", "0.00 0.00 0.00 64.00 0.00 65536.30", True),
        ("iostat -dx 5", "0.00 0.00 0.00 0.40 0.00 3.20", True),
        ("iostat -dx", "0.00 0.00 342.60 0.40 39996.60 3.20", True),
        # whole requests over 10.01 s, which is what a sleep of 10 s takes
        ("iostat -dx 10", "3.10 412.29 190.11 62.14 3041.76 994.21", False),
        ("iostat -dx 10", "3.10 412.29 190.17 62.14 3041.76 994.21", True),
    ],
)
def test_one_report_on_the_grid_of_the_stated_interval_is_not_since_boot(command, row, is_since_boot):
    text = f"$ {command}\n{BANNER}\n{OLD}sdb {row} 116.62 1.50 4.40 2.90 99.00\n"
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot]


@pytest.mark.parametrize(
    ("command", "merged", "is_since_boot"),
    [
        # 21,350, 12,104 and 9,037 requests, 210,512 sectors: thirds, all of them
        ("iostat -dx 5", "3012.33", False),
        ("iostat -dx 5", "3012.34", True),
        # which is the only report that this one prints
        ("iostat -dx", "3012.33", True),
    ],
)
def test_one_report_on_the_grid_of_another_interval_than_stated_is_not_since_boot(
    command, merged, is_since_boot
):
    rows = f"sdb 0.00 {merged} 1.00 4034.67 4.00 35085.33 17.38 1.50 4.40 2.90 99.00\n"
    rows += "dm-0 0.00 0.00 1.00 7116.67 4.00 35085.33 9.86 1.50 4.40 2.90 99.00\n"
    assert reading(f"$ {command}\n{HEADER}{rows}").disk["since_boot"].tolist() == [is_since_boot] * 2


def steady(*reads: float) -> str:
    row = "sd{} 0.00 0.00 {:.2f} {:.2f} {:.2f} 8.00 19.40 1.02 5.90 5.62 37.22"
    return "".join(
        HEADER
        + "\n".join(row.format(disk, rate * n, rate + n, 8 * rate) for n, disk in enumerate("abc", 1))
        + "\n\n"
        for rate in reads
    )


@pytest.mark.parametrize(
    ("command", "reads", "is_since_boot"),
    [
        ("$ iostat -x 30 4\n", [48.03, 49.03, 50.07, 47.9], True),  # all that it prints
        ("$ iostat -x 30 5\n", [48.03, 49.03, 50.07, 47.9], False),  # the first may have been left out
        ("$ iostat -xy 30 4\n", [48.03, 49.03, 50.07, 47.9], False),
        ("$ iostat -x 1 9\n", [48.37, 49, 50, 47], True),  # no sample of a second has such rates
        ("$ iostat -x 1 9\n", [48, 49, 50, 47], False),
    ],
)
def test_a_first_report_of_a_steady_load_is_since_boot_where_the_command_tells(command, reads, is_since_boot):
    read = reading(command + BANNER + steady(*reads))
    assert read.disk["since_boot"].tolist() == [is_since_boot] * 3 + [False] * 9


SIZED = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n"


@pytest.mark.parametrize(
    ("command", "device", "size", "is_since_boot"),
    [
        ("iostat -dx 5", "sda", "0.00", False),
        ("iostat -dx 5", "sda", "18.91", True),  # has read something, less than once in 200 s
        ("iostat -dx 5", "dm-3", "0.00", True),  # has no partitions that the kernel reads
        ("iostat -dx", "sda", "0.00", True),
    ],
)
def test_one_report_of_a_disk_that_wrote_and_never_read_is_of_a_sample(command, device, size, is_since_boot):
    row = f"{device} 0.00 41.37 0.00 412.13 0.00 3.19 0.00 7.16 0.00 1.13 0.05 {size} 9.96 0.40 1.65\n"
    assert reading(f"$ {command}\n{SIZED}{row}").disk["since_boot"].tolist() == [is_since_boot]


@pytest.mark.parametrize(
    ("first", "is_since_boot"),
    [
        ("342.60 0.40 39996.60 3.20 116.62 1.50 4.40 2.90 99.00", False),  # as the one that follows
        ("342.60 0.40 39996.60 3.20 116.62 1.52 4.45 2.91 8.40", False),  # but for a broken %util
        ("12.60 0.40 1471.00 3.20 116.62 1.50 4.40 2.90 99.00", True),  # another rate
        ("342.60 0.40 19996.60 9.20 58.62 9.50 44.40 1.10 55.00", True),
        (
            "12.61 0.40 1471.00 3.20 116.62 1.50 4.40 2.90 111.00",
            False,
        ),  # nothing is busy for longer than it is up
        ("12.61 0.40 1471.00 3.20 116.62 128.00 50.00 2.90 100.00", False),
    ],
)
def test_a_first_report_before_one_other_is_since_boot_unless_it_is_equal_or_impossible(first, is_since_boot):
    other = "342.60 0.40 39996.60 3.20 116.62 1.50 4.40 2.90 99.00"
    text = f"$ iostat -dx 5\n{BANNER}\n{OLD}sdb 0.00 0.00 {first}\n\n{OLD}sdb 0.00 0.00 {other}\n\n"
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot, False]


def test_without_a_banner_the_grid_of_the_others_tells_the_first_report():
    rows = "".join(
        f"{HEADER}sda {n}.50 {n + 8}.00 {n * 7}.50 {n * 3}.00 {n * 9}.50 0 0 0 0 0 0\n" for n in (1, 30, 90)
    )
    first = f"{HEADER}sda 1.68 5.18 5.77 1.69 84.92 0.00 0.00 0.00 0.00 0.00 0.00\n"
    assert reading(first + rows).disk["since_boot"].tolist() == [True, False, False, False]
    live = f"{HEADER}sda 1.50 5.00 5.50 2.00 84.50 0.00 0.00 0.00 0.00 0.00 0.00\n"
    assert not reading(live + rows).disk["since_boot"].any()


NARROW = "Device r/s rkB/s w/s wkB/s r_await w_await aqu-sz %util\n"


@pytest.mark.parametrize(("kb", "is_since_boot"), [("1090.67", True), ("1090.51", False)])
def test_sectors_of_large_requests_prove_the_interval_of_a_few_rates(kb, is_since_boot):
    """Four rates are thirds by chance once in 74,000 times; 1,090.67 kB/s are 6,544 sectors in 3 s."""
    first = f"{NARROW}sda 11.48 243.71 29.38 1741.02 9.70 8.25 0.31 5.21\n\n"
    rows = "2.33 71.00 7.67 {kb}", "1.33 52.00 0.67 {kb}"
    later = "".join(f"{NARROW}sda {row.format(kb=kb)} 8.00 1.11 0.01 1.23\n\n" for row in rows)
    assert reading(first + later).disk["since_boot"].tolist() == [is_since_boot, False, False]


@pytest.mark.parametrize(
    ("second", "is_copy"),
    [
        ("0  0 7100 9100  250  570   37   12   66   29    0    0  3  1 93  3  0", True),
        ("0  0 7100 9100  250  570   37   12   66   30    0    0  3  1 93  3  0", False),
    ],
)
def test_a_second_row_of_vmstat_that_repeats_the_first_is_since_boot_too(second, is_copy):
    head = "procs ---memory--- ---swap-- ---io--- --system-- ---cpu---\n"
    head += "r b swpd free buff cache si so bi bo in cs us sy id wa st\n"
    first = "1  0 7300 8800  250  570   37   12   66   29    0    0  3  1 93  3  0\n"
    later = "0  0 7100 9100  250  570   90    0   90    0  900 1100  1  0 98  1  0\n"
    found = reading(f"$ vmstat 4\n{head}{first}{second}\n{later * 4}").tables["cpu"]["since_boot"]
    assert found.tolist() == [True, is_copy] + [False] * 4


@pytest.mark.parametrize(
    ("first", "others", "is_since_boot"),
    [
        ("0.00 0.00 0.00 0.00 0.00 0.00 7.99 0.00 0.40 0.30 0.00", 1, True),  # a size of no requests
        ("0.00 0.00 0.00 0.00 0.00 0.00 7.99 0.00 0.40 0.30 0.00", 0, True),
        ("0.00 0.00 0.00 0.01 0.00 0.08 7.99 0.00 0.40 0.30 0.00", 1, False),
        ("0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00", 1, False),
    ],
)
def test_requests_that_round_to_none_are_of_a_long_average(first, others, is_since_boot):
    later = f"{OLD}sdb 0.00 2.00 11.00 3.00 176.00 40.00 15.43 0.10 7.14 7.00 9.80\n\n" * others
    found = reading(f"{OLD}sdb {first}\n\n{later}").disk["since_boot"]
    assert found.tolist() == [is_since_boot] + [False] * others


BASIC = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"


@pytest.mark.parametrize(
    ("seconds", "head", "is_since_boot"),
    [
        (2587, "", True),
        (2_000_000, "", True),
        (1800, "", False),
        (5, "", False),
        (5, BANNER, False),
        (2587, BANNER, True),
    ],
)
def test_totals_and_rates_tell_the_length_of_a_first_report(seconds, head, is_since_boot):
    rows = "".join(
        f"{name} 6.07 {n:.2f} {n / 3:.2f} {n * seconds:.0f} {n / 3 * seconds:.0f}\n"
        for name, n in (("sda", 117.4), ("sdb", 12.43))
    )
    assert reading(head + BASIC + rows).disk["since_boot"].tolist() == [is_since_boot] * 2


@pytest.mark.parametrize(("total", "is_since_boot"), [("0", False), ("4148", True)])
def test_totals_of_nothing_are_of_a_sample_for_an_unused_disk_has_read_its_partitions(total, is_since_boot):
    text = f"$ iostat 1\n{BANNER}{BASIC}sda 0.00 0.00 0.00 0 0\nsdb 0.00 0.00 0.00 {total} 0\n"
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot] * 2


@pytest.mark.parametrize(
    ("command", "device", "unit", "reports", "is_since_boot"),
    [
        ("", "sdb", "kB", 4, False),
        ("", "md0", "kB", 4, True),  # has no partitions that the kernel reads
        ("", "sdb", "MB", 4, True),  # may be less than half of one
        ("$ iostat -k sdb 1\n", "sdb", "kB", 4, True),
        ("$ iostat -k 1\n", "md0", "kB", 1, True),
        ("$ iostat -m 1\n", "sdb", "MB", 1, True),
        ("$ iostat -k\n", "sdb", "kB", 1, True),
    ],
)
def test_totals_of_nothing_below_a_command_are_of_the_time_since_boot(
    command, device, unit, reports, is_since_boot
):
    head = f"Device tps {unit}_read/s {unit}_wrtn/s {unit}_read {unit}_wrtn\n"
    later = f"\n{head}{device} 300.00 1.20 4.40 1 4\n" * (reports - 1)
    text = f"{command}{BANNER}{head}{device} 0.00 0.00 0.00 0 0\n{later}"
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot] + [False] * (reports - 1)


def test_totals_of_nothing_above_the_shares_of_the_next_report_are_of_a_sample():
    shares = "\navg-cpu: %user %nice %system %iowait %steal %idle\n 0.10 0.00 0.10 0.50 0.00 99.30\n"
    assert not reading(f"iostat 1:\n{BASIC}sda 0.00 0.00 0.00 0 0\n{shares}").disk["since_boot"].any()


FORGETFUL = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"


@pytest.mark.parametrize(
    ("command", "unused", "is_since_boot"),
    [
        ("iostat -dmx 60 2\n\n", ("md0", "dm-4"), False),
        ("iostat -dmx 60 2\n\n", ("md0",), True),
        ("iostat -dmx 60 2\n\n", ("loop3", "loop4"), True),
        ("Linux 5.14.0 (other) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n", ("md0", "dm-4"), True),
    ],
)
def test_a_report_that_forgets_the_use_of_several_devices_averages_no_time_since_boot(
    command, unused, is_since_boot
):
    rows = [("sda", "12.31 40.07 311.43 602.11 17.44 0.31 5.92 0.71 3.72")]
    rows += [(name, "0.00 0.00 0.01 0.02 8.00 0.00 11.31 5.20 0.00") for name in ("md0", "dm-4")]
    rows += [(name, "0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00") for name in ("loop3", "loop4")]
    above = FORGETFUL + "".join(f"{name} 0.00 0.00 {numbers}\n" for name, numbers in rows)
    below = FORGETFUL.replace("rsec/s wsec/s", "rMB/s wMB/s") + (
        "sda 0.00 0.00 0.00 31.63 0.00 0.52 33.67 0.19 6.03 0.77 2.43\n"
        + "".join(f"{name} {'0.00 ' * 11}\n" for name in unused)
    )
    read = reading(f"{BANNER}{above}\n{command}{below}")
    assert read.disk["since_boot"].tolist() == [True] * len(rows) + [is_since_boot] * (1 + len(unused))


def totals(rate, seconds):
    return f"mmcblk0 6.07 {rate:.2f} {rate / 3:.2f} {rate * seconds:.0f} {rate / 3 * seconds:.0f}\n"


@pytest.mark.parametrize(
    ("command", "lengths", "old"),
    [
        ("$ iostat 10\n", (13.8, 10, 10, 10), [0]),
        ("", (13.8, 10, 10, 10), [0]),
        ("", (10, 10, 13.8, 10), []),  # a report that came late is none
        ("", (11, 10, 10, 10), []),
        ("", (13.8, 10), [0]),
        ("", (60, 10, 10, 10), []),  # what somebody asked for
        ("", (13.8,), []),  # nothing tells the usual length
        ("$ iostat 10\n", (13.8,), [0]),
    ],
)
def test_totals_of_another_length_than_the_others_make_an_average_since_boot(command, lengths, old):
    rows = [totals(200.0 + 37 * n, seconds) for n, seconds in enumerate(lengths)]
    found = reading(command + "\n".join(BASIC + row for row in rows)).disk["since_boot"]
    assert found.to_numpy().nonzero()[0].tolist() == old


def test_each_run_below_a_header_of_its_own_begins_with_its_average():
    run = BASIC + totals(8771.13, 13.8) + totals(138.4, 10) + totals(92, 10) + totals(211.6, 10)
    assert reading(f"{run}\n{run}").disk["since_boot"].tolist() == [True, False, False, False] * 2


def test_whole_numbers_of_dec_0_betray_nothing():
    rows = f"{HEADER}sda 0 0 {{}} 14 99 8 19 1 6 6 97\n\n"
    read = reading(BANNER + "".join(rows.format(n) for n in (172, 33, 871, 12, 95)))
    assert read.disk["interval_s"].isna().all()


@pytest.mark.parametrize(
    ("head", "is_since_boot"),
    [
        (BANNER, True),
        ("$ iostat -x 1\n", True),
        ("$ iostat -xy 1\n", False),
        (f"$ iostat -y -x 1\n{BANNER}", False),
        ("", False),
        ("$ sar -d 1\n", False),
    ],
)
def test_what_makes_a_first_report_since_boot(head: str, is_since_boot: bool):
    read = reading(head + report(0.37) + report(33.33))
    assert read.disk["since_boot"].tolist() == [is_since_boot, False]


@pytest.mark.parametrize(
    ("head", "is_since_boot"),
    [
        ("$ iostat -dx\n..\n", True),
        ("$ iostat -dx 1\n..\n", False),
        ("$ iostat -dxy 1 1\n..\n", False),
        ("iostat -dx (excerpt)\n", False),
    ],
)
def test_dots_above_one_report_hide_none_of_a_command_without_an_interval(head: str, is_since_boot: bool):
    read = reading(head + report(0.37))
    assert read.disk["since_boot"].tolist() == [is_since_boot]


def test_a_first_report_like_all_others_is_not_since_boot():
    read = reading(BANNER + "".join(report(reads) for reads in (100.37, 101.33, 99.61, 100.11, 98.93)))
    assert not read.disk["since_boot"].any()


def test_the_time_of_the_start_counts_on():
    command = "Fri Nov 20 12:00:00 UTC 2026\n$ iostat -x 10\n"
    read = reading(command + BANNER + report(0.37) + report(33.33) + report(12.93))
    assert stamps(read) == [f"2026-11-20 12:00:{s:02}+00:00" for s in (0, 10, 20)]
    skipped = reading(command.replace("-x", "-xy") + BANNER + report(0.37) + report(33.33))
    assert stamps(skipped) == [f"2026-11-20 12:00:{s:02}+00:00" for s in (10, 20)]
    watched = reading(
        f"Every 2.0s: iostat -x 1 2      db1: Fri Nov 20 12:00:01 2026\n\n{BANNER}{report(0.37)}{report(3.0)}"
    )
    assert stamps(watched) == ["2026-11-20 12:00:01", "2026-11-20 12:00:02"]


def test_snapshots_of_oswatcher():
    snapshot = "zzz ***Fri Nov 20 12:{:02}:00 UTC 2026\n" + BANNER + report(0.37) + report(33.33)
    read = reading(snapshot.format(0) + snapshot.format(30))
    assert read.disk["segment"].tolist() == [0, 0, 1, 1]
    assert read.disk["since_boot"].tolist() == [True, False, True, False]
    assert stamps(read)[0::2] == ["2026-11-20 12:00:00+00:00", "2026-11-20 12:30:00+00:00"]


def test_dates_that_could_be_read_both_ways_are_remarked():
    read = reading(f"11/10/26 12:00:00\n{report(1)}11/10/26 12:00:05\n{report(2)}")
    assert "may be month/day" in read.remarks
    assert read.disk["time"].iloc[0] == pd.Timestamp("2026-11-10 12:00")
    days = reading(f"09/11/26 23:59:55\n{report(1)}10/11/26 00:00:00\n{report(2)}")
    assert days.disk["time"].iloc[1] == pd.Timestamp("2026-11-10")


@pytest.mark.parametrize("clock", ["11/20/9999 12:00:00", "13/32/26 12:00:00", "2026-02-30T00:00:00"])
def test_impossible_times_are_unknown(clock: str):
    read = reading(f"{clock}\n{report(1)}")
    assert read.disk["time"].isna().all()


def test_many_segments_each_count_their_own():
    read = reading("".join(f"{BANNER}{report(n)}" for n in range(1, 300)))
    assert read.disk["segment"].tolist() == list(range(299))
    assert (read.disk["report"] == 0).all()


@pytest.mark.parametrize(
    ("command", "first", "others", "is_since_boot"),
    [
        # whole numbers each second, before others that are whole: a sample, however unlike
        ("iostat -x 1", "1.00 2.00 8.00 16.00", ("24.00 6.00 61.00 9.00", "164.00 9.00 482.00 7.00"), False),
        ("iostat -x 1", "1.03 2.00 8.24 16.00", ("24.00 6.00 61.00 9.00", "164.00 9.00 482.00 7.00"), True),
        # a whole rate and whole sectors of large requests; those of small ones follow from the rate
        ("iostat -x 1", "0.00 178.00 0.00 179136.00", ("0.00 91.00 0.00 88856.00",) * 2, False),
        ("iostat -x 1", "0.00 178.00 0.00 179136.37", ("0.00 91.00 0.00 88856.00",) * 2, True),
        ("iostat -x 1", "0.00 178.00 0.00 1424.00", ("0.00 91.00 0.00 2856.00",) * 2, True),
        # without a command, two rates that no second holds
        ("", "0.02 1478.70 0.16 5913.00", ("3.00 1611.00 0.00 9.00", "0.00 1307.00 0.00 7.00"), True),
        ("", "2.00 1478.00 0.16 5913.00", ("3.00 1611.00 0.00 9.00", "0.00 1307.00 0.00 7.00"), False),
        # a first sample that took 1.1 s is one all the same
        ("", "10.91 1477.27 0.16 5913.00", ("3.00 1611.00 0.00 9.00", "0.00 1307.00 0.00 7.00"), False),
    ],
)
def test_the_grid_of_the_others_tells_an_average_from_a_sample(command, first, others, is_since_boot):
    rows = "".join(
        f"{OLD}sdb 0.00 0.00 {each} 8.00 0.50 4.40 2.90 55.00\n\n" for each in (first, *others, others[0])
    )
    text = f"$ {command}\n{rows}" if command else rows
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot, False, False, False]


@pytest.mark.parametrize(("first", "is_since_boot"), [("3490.00", False), ("1490.00", True)])
def test_a_whole_rate_at_the_load_of_the_others_is_a_sample_below_a_banner(first, is_since_boot):
    row = "0.00 27920.00 8.00 15.20 4.36 0.27 95.60"
    text = f"$ iostat -dx 1\n{BANNER}{OLD}sdb 0.00 0.00 0.00 {first} {row}\n\n{OLD}sdb 0.00 0.00 0.00 3560.00 {row}\n\n"
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot, False]


@pytest.mark.parametrize(
    ("first", "others", "is_since_boot"),
    [
        # two whole counts of a second, busier than those below: `iostat -xy 1` into a file
        ("0.00 164.00 219.00", ("0.00 11.00 18.00", "0.00 13.00 17.00"), False),
        ("0.00 164.00 219.00", ("0.00 91.00 180.00",), False),
        # seconds that took a hundredth more, three counts
        (
            "63.37 155.45 179.21",
            ("0.00 100.00 120.00", "0.00 80.20 31.68", "0.00 72.28 44.55", "0.00 61.39 29.70"),
            False,
        ),
        ("0.00 164.02 219.00", ("0.00 11.00 18.00", "0.00 13.00 17.00"), True),
        (
            "63.37 155.45 179.47",
            ("0.00 100.00 120.00", "0.00 80.20 31.68", "0.00 72.28 44.55", "0.00 61.39 29.70"),
            True,
        ),
    ],
)
def test_two_whole_counts_below_a_banner_are_of_a_sample(first, others, is_since_boot):
    reports = [
        f"{OLD}sdb 0.00 {each} 1280.00 1760.00 8.00 0.50 4.40 2.90 55.00\n\n" for each in (first, *others)
    ]
    read = reading(BANNER + "".join(reports)).disk
    assert read["since_boot"].tolist() == [is_since_boot, *[False] * len(others)]


ROWS = [
    f"{HEADER}sda 44.00 21.81 139.31 12.54 3064.82 358.40 45.09 1.44 9.46 2.06 31.30\n\n",
    f"{HEADER}sda 44.00 21.81 61.01 12.54 1342.22 358.40 46.24 0.70 9.46 2.12 15.60\n\n",
]


@pytest.mark.parametrize(
    ("above", "since_boot"),
    [
        # the command has no interval; the rates of another boot are less than half
        ("$ iostat -xd\n", [True, True]),
        ("$ iostat -xd\nLinux 5.0.0-13-generic  06/05/19  _x86_64_ (4 CPU)\n\n", [True, True]),
        ("Linux 5.0.0-13-generic  06/05/19  _x86_64_ (4 CPU)\n\n", [True, True]),
        # the date of the banner was cut off
        ("Linux 5.0.0-13-generic\n", [True, True]),
        ("Linux 5.0.0-13-generic (db1) _x86_64_ (4 CPU)\n\n", [True, True]),
        # a version in a sentence, or far above the header, is no banner
        ("It runs Linux 5.0.0-13-generic\n", [False, False]),
        ("Linux 5.0.0-13-generic\nand PostgreSQL\n", [False, False]),
    ],
)
def test_runs_below_their_own_banner_or_command_over_a_restart_of_the_host(above, since_boot):
    read = reading("\nAnd once more:\n".join(above + row for row in ROWS))
    assert read.disk["since_boot"].tolist() == since_boot


@pytest.mark.parametrize(
    ("step", "first", "others", "since_boot", "is_noted"),
    [
        # clocks tell the interval where too few rates prove it
        (1, "17.46 3.18 8.23", ("0.00 0.00 0.00", "0.00 2.00 0.00"), [True, False, False], False),
        (5, "17.46 3.18 8.23", ("0.20 0.00 1.60", "0.00 0.40 0.00"), [True, False, False], False),
        # cut out of a run: a sample of the same interval
        (1, "17.00 3.00 8.00", ("0.00 0.00 0.00", "0.00 2.00 0.00"), [False] * 3, False),
        # samples of 1.01 s, of a collector every 5 s: they may be samples, which so few rates do not prove
        (1, "16.83 2.97 7.92", ("0.00 0.00 0.00", "0.00 1.98 0.00"), [False] * 3, True),
        (5, "16.83 2.97 7.92", ("0.99 0.00 1.98", "0.00 2.97 0.00"), [False] * 3, True),
        # too long for two decimals, or without clocks: open, but said
        (60, "17.46 3.18 8.23", ("0.02 0.03 0.00", "0.00 0.05 0.02"), [False] * 3, True),
        (None, "17.46 3.18 8.23", ("0.00 0.00 0.00", "0.00 2.00 0.00"), [False] * 3, True),
        # next to those that follow nothing is to be said
        (None, "0.41 1.37 0.13", ("0.00 0.00 0.00", "0.00 2.00 0.00"), [False] * 3, False),
    ],
)
def test_without_a_banner_clocks_tell_the_grid_of_a_first_report(step, first, others, since_boot, is_noted):
    rows = ""
    for n, rates in enumerate((first, *others)):
        at = pd.Timestamp("2026-11-20 10:00:00") + pd.Timedelta(seconds=n * (step or 0))
        rows += f"{at:%m/%d/%Y %H:%M:%S}\n" if step else ""
        rows += f"{HEADER}sda 0.00 {rates} 37.41 9.40 12.00 0.40 4.10 2.90 9.00\n\n"
    read = reading(rows)
    assert read.disk["since_boot"].tolist() == since_boot
    assert ("may be the average since boot" in read.remarks) == is_noted
    assert ("may_be_since_boot" in read.disk) == is_noted
    assert not is_noted or read.disk["may_be_since_boot"].tolist() == [True, False, False]
    for above in ("$ iostat -dxy 1\n", BANNER):
        read = reading(above + rows)
        assert "may be the average since boot" not in read.remarks
        assert "-dxy" not in above or not read.disk["since_boot"].any()


@pytest.mark.parametrize(
    ("rates", "may_be"),
    [
        ("0.73 0.60 0.56", True),
        ("36475.00 660.00 3.00", False),
        ("3.30 12.60 0.90", False),
        ("0.73 0 0", False),
    ],
    ids=["of no usual interval", "of a second", "of ten", "too few"],
)
def test_a_report_that_stands_alone_may_be_since_boot_where_its_counts_fit_no_interval(rates, may_be):
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 0.42 0.00 0.16 0.74 0.00 98.67\n\n"
    read = reading(f"{cpu}{HEADER}sda 0.00 {rates} 37.41 9.40 12.00 0.40 4.10 2.90 9.00\n")
    assert ("may_be_since_boot" in read.disk) == may_be
    assert read.remarks.count("may be the average since boot") == may_be
    for above in ("- iostat -x\n", BANNER):
        assert (
            reading(above + f"{cpu}{HEADER}sda 0.00 0.73 0.60 0.56 37.41 9.40 12.00 0.40 4.10 2.90 9.00\n")
            .disk["since_boot"]
            .all()
        )


@pytest.mark.parametrize(
    ("rates", "is_since_boot"),
    [
        ("0.00 5.00 0.13", True),
        ("0.00 5.00 480.00", False),
        ("0.00 5.00 0.00", False),
        ("0.20 5.00 0.13", False),
    ],
    ids=["one in 200 s", "a driver that counts kB alone", "none", "some"],
)
def test_a_read_that_came_less_than_once_in_200_s_proves_a_long_average(rates, is_since_boot):
    reads, writes, read = rates.split()
    row = f"sda 0.00 0.00 {reads} {writes} {read} 40.00 8.00 0.01 1.20 0.30 0.15\n"
    header = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"
    assert reading(header + row).disk["since_boot"].tolist() == [is_since_boot]


def test_the_host_of_a_banner_without_a_date_is_known():
    read = reading(f"Linux 5.0.0-13-generic (db1) _x86_64_ (4 CPU)\n\n{ROWS[0]}")
    assert read.disk["host"].tolist() == ["db1"]


@pytest.mark.parametrize(("first", "is_since_boot"), [("10.18 195.55", True), ("10.00 195.00", False)])
def test_a_later_phase_begins_anew_where_only_its_first_report_is_off_the_grid(first, is_since_boot):
    rows = [
        f"{OLD}sda 0.00 0.00 {rates} 800.00 80.00 12.00 0.50 4.40 2.90 55.00\n\n"
        for rates in (
            "24.00 6.00",
            "61.00 9.00",
            "82.00 7.00",
            first,
            "33.00 4.00",
            "55.00 91.00",
            "72.00 13.00",
        )
    ]
    read = reading("Map:\n" + "".join(rows[:3]) + "Reduce:\n" + "".join(rows[3:]))
    assert read.disk["since_boot"].tolist() == [False] * 3 + [is_since_boot] + [False] * 3
    assert (read.disk["interval_s"].dropna() == 1.0).all()


@pytest.mark.parametrize("skipped", [0, 1])
def test_without_a_banner_samples_of_a_few_hundredths_more_tell_the_first_report(skipped):
    counts = [(3, 8, 21, 9, 27), (14, 22, 98, 42, 126), (90, 31, 630, 117, 333), (55, 13, 411, 71, 205)]
    rows = [
        " ".join(f"{n / length:.2f}" for n in count)
        for count, length in zip(counts, (1.0, 1.01, 0.99, 1.02), strict=True)
    ]
    reports = ["1.68 5.18 5.77 1.69 84.92", *rows][skipped:]
    text = "".join(f"{HEADER}sda {row} 0.00 0.00 0.00 0.00 0.00 0.00\n" for row in reports)
    assert reading(text).disk["since_boot"].tolist() == [not skipped] + [False] * (len(reports) - 1)


FIRST = "0.41 13.24", "26.21 104.86", "28.63 3076.37", "95.89 14286.49", "44.14 4468.68"
LATER = "109.50 11710.00", "180.50 20682.00", "127.00 5636.00", "28.50 114.00", "49.50 614.00"


def _of_disks(reports, writes):
    header = "Device            r/s     rkB/s     w/s     wkB/s  r_await  w_await  aqu-sz  %util\n"
    return "\n".join(
        header
        + "".join(
            f"sd{'abcde'[n]} {reads} {put} 40.00 2.10 3.30 0.40 12.00\n"
            for n, (reads, put) in enumerate(zip(report, wrote, strict=True))
        )
        for report, wrote in zip(reports, writes, strict=True)
    )


@pytest.mark.parametrize(
    ("first", "writes", "above", "since_boot", "intervals"),
    [
        # the rates of one later report prove its grid, and the first lies off it
        (FIRST, ("0.08", "31.31", "292.87", "1261.48", "506.51"), "", [True, False], [None, 2.0]),
        # the command is another tool's: neither its -d nor its interval are of these rows
        (
            FIRST,
            ("0.08", "31.31", "292.87", "1261.48", "506.51"),
            "$ pidstat -dy 5 10\n\n[...]\n",
            [True, False],
            [None, 2.0],
        ),
        # few rates lie off it
        (("0.41 13.24", *LATER[1:]), ("8.00", "3.00", "29.00", "12.00", "5.50"), "", [False] * 2, [2.0] * 2),
        # a run of five seconds lies on a grid of its own, a sample of 2.01 s on that of its length
        (
            ("0.40 13.20", "26.20 104.80", "28.60 3076.40", "95.80 14286.40", "44.20 4468.60"),
            ("0.20", "31.40", "292.80", "1261.40", "506.60"),
            "",
            [False] * 2,
            [5.0, 2.0],
        ),
        (
            ("108.46 11710.45", "179.60 20682.09", "126.37 5636.32", "28.36 114.43", "49.25 614.43"),
            ("3.48", "11.44", "61.69", "7.46", "21.39"),
            "",
            [False] * 2,
            [2.0] * 2,
        ),
        # -y leaves the average out
        (
            FIRST,
            ("0.08", "31.31", "292.87", "1261.48", "506.51"),
            "$ iostat -dxy 2\n\n",
            [False] * 2,
            [2.0] * 2,
        ),
    ],
)
def test_a_first_report_off_the_grid_of_the_one_that_follows(first, writes, above, since_boot, intervals):
    later = "41.00", "164.50", "275.00", "43.00", "11.50"
    disk = reading(above + _of_disks((first, LATER), (writes, later))).disk
    assert disk["since_boot"].tolist()[::5] == since_boot
    assert [None if np.isnan(s) else s for s in disk["interval_s"].tolist()[::5]] == intervals


def test_a_command_of_another_tool_is_no_label_of_rows():
    command = "$ pidstat -d 2 10\n\n"
    read = reading(
        command + _of_disks([LATER], [["1.00"] * 5]) + "\nAnd then:\n" + _of_disks([LATER], [["2.00"] * 5])
    )
    assert not read.disk["phase_label"].str.contains("pidstat").any()


QUEUES = "00:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
MARKS = [".\n.", "...", "[...]", "snip", "<snip>", "-- snip --", "[ ... snipped ... ]", ": :", "⋮"]


@pytest.mark.parametrize("mark", MARKS)
def test_a_row_below_lines_left_out_is_as_long_as_its_neighbours(mark):
    rows = [
        f"{clock}:00 2 140 1.62 2.28 2.30 {n}\n"
        for n, clock in enumerate(("20:27", "20:28", "20:29", "21:31", "21:32"))
    ]
    read = reading(f"{QUEUES}{''.join(rows[:3])}{mark}\n{''.join(rows[3:])}")
    queue = read.tables["queue"]
    assert queue["interval_s"].dropna().tolist() == [60.0] * 4
    assert queue["report"].tolist() == [0, 1, 2, 3, 4]
    assert queue["blocked"].tolist() == [0, 1, 2, 3, 4]
    assert read.remarks == "rows are left out here: the time between is in none"
    # without a mark the collector stood still, and the sample is an average over all of it
    without = reading(f"{QUEUES}{''.join(rows)}").tables["queue"]
    assert without["interval_s"].dropna().tolist() == [60.0, 60.0, 3720.0, 60.0]


@pytest.mark.parametrize("mark", MARKS)
def test_rows_of_disks_below_lines_left_out_are_of_their_own_sample(mark):
    header = "12:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"
    rows = [
        f"12:0{n}:00 sd{disk} {n}.00 8.00 8.00 8.00 0.10 2.00 1.00 5.00\n"
        for n in (1, 2, 7, 8)
        for disk in "ab"
    ]
    disk = reading(f"{header}{''.join(rows[:5])}{mark}\n{''.join(rows[5:])}").disk
    assert disk["interval_s"].dropna().tolist()[-3:] == [60.0] * 3


def test_rows_of_vmstat_below_lines_left_out_have_their_own_time():
    header = "r b swpd free buff cache si so bi bo in cs us sy id wa st UTC\n"
    rows = [
        f"1 2 0 90000 1000 50000 0 0 200 31{n} 500 900 7 3 80 10 0 2026-01-01 {clock}\n"
        for n, clock in enumerate(("00:00:00", "00:00:10", "00:00:20", "00:50:20", "00:50:30"))
    ]
    queue = reading(f"{header}{''.join(rows[:3])}[...]\n{''.join(rows[3:])}").tables["queue"]
    assert queue["interval_s"].tolist() == [10.0] * 5
    assert queue["time"].dt.strftime("%M:%S").tolist() == ["00:00", "00:10", "00:20", "50:20", "50:30"]
    assert queue["report"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("header", "clocks", "lengths"),
    [
        # rows were cut out below the header: how long the first sample is, nothing tells
        ("12:00:01 AM", ["02:50:02 AM", "03:00:07 AM", "03:10:07 AM", "03:20:06 AM"], [None, 605, 600, 599]),
        ("12:00:01 AM", ["02:50:02 AM", "03:00:02 AM"], [None, 600]),
        ("02:40:02 AM", ["02:50:02 AM", "03:00:02 AM"], [600, 600]),
        # a collector that began late, and one whose samples differ anyway
        ("02:45:02 AM", ["02:50:02 AM", "03:00:02 AM"], [300, 600]),
        ("12:00:01 AM", ["12:30:01 AM", "12:40:01 AM", "01:30:01 AM"], [1800, 600, 3000]),
        # the first row was lost, or two: a step of one second is of no longer sample
        ("12:00:01 AM", ["12:00:03 AM", "12:00:04 AM"], [1, 1]),
        ("12:00:01 AM", ["12:00:04 AM", "12:00:05 AM"], [None, 1]),
    ],
)
def test_a_first_row_far_below_the_clock_of_its_header(header, clocks, lengths):
    rows = "".join(f"{clock} 2 140 1.62 2.28 2.30 1\n" for clock in clocks)
    queue = reading(QUEUES.replace("00:00:00", header) + rows).tables["queue"]
    assert queue["interval_s"].fillna(-1).tolist() == [length or -1 for length in lengths]


def test_clocks_of_sar_that_name_their_half_do_not_change_it_where_they_go_back():
    rows = "".join(f"{clock} AM 2 140 1.62 2.28 2.30 1\n" for clock in ("09:56:49", "09:50:44"))
    queue = reading(BANNER + QUEUES.replace("00:00:00", "09:40:01 AM") + rows).tables["queue"]
    assert sorted(queue["time"].dt.strftime("%H:%M").tolist()) == ["09:50", "09:56"]


def notes_on(text: str) -> list[tuple[int, str]]:
    items = read_text(Source("x", text.encode()))
    return [(item.line, item.reason) for item in items if isinstance(item, ParseNote)]


CLOCKS = [f"11/20/2026 12:00:{second:02}\n" for second in (1, 6, 11, 16)]


def test_a_report_without_the_clock_that_others_have_is_said():
    whole = [clock + report(number) for number, clock in enumerate(CLOCKS)]
    assert not notes_on(BANNER + "".join(whole))
    whole[2] = report(2)
    assert notes_on(BANNER + "".join(whole)) == [
        (11, "1 of 4 reports have no clock line of their own: they bear the time of the report above")
    ]


def test_a_collector_that_prints_one_clock_for_several_reports_is_not_questioned():
    runs = [clock + report(1.2) + report(2.4) + report(3.6) for clock in CLOCKS]
    assert not notes_on(BANNER + "".join(runs))


def test_rows_out_of_order_are_said():
    rows = [
        f"14:0{minute}:00     sda   3.00   4.00   5.00   6.00   0.10   0.20   0.10   1.00\n"
        for minute in "2143"
    ]
    header = "14:00:00     DEV   tps   rd_sec/s   wr_sec/s   avgrq-sz   avgqu-sz   await   svctm   %util\n"
    assert [line for line, reason in notes_on(BANNER + header + "".join(rows)) if "before" in reason] == [5]
    assert not notes_on(BANNER + header + "".join(sorted(rows)))


@pytest.mark.parametrize(
    ("clocks", "is_said"),
    [
        (["2026-11-01T01:59:50-0400", "2026-11-01T01:00:00-0500", "2026-11-01T01:00:10-0500"], False),
        (["Sun Nov 1 01:59:50 EDT 2026", "Sun Nov 1 01:00:00 EST 2026"], False),
        (["2026-11-01T01:59:50-0500", "2026-11-01T01:00:00-0500"], True),
        (["2026-11-01T01:59:50-0500", "2026-11-01T02:00:00-0400"], True),
    ],
)
def test_a_clock_whose_zone_alone_changes_does_not_go_back(clocks: list[str], is_said: bool):
    read = reading(BANNER + "".join(f"{clock}\n{report(n * 7.2)}" for n, clock in enumerate(clocks)))
    assert any("before that of the row above" in note.reason for note in read.notes) == is_said


def test_a_row_whose_own_time_is_damaged_is_said():
    header = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n"
    row = " 1  0      0 212000  12000 900000    0    0     5     9  100  200  1  1 86 12  0 2026-11-20 12:00:0{}\n"
    rows = [row.format(second) for second in range(4)]
    assert not notes_on(header + "".join(rows))
    rows[2] = rows[2].replace("12:00:02", "12:00:")
    assert [line for line, _ in notes_on(header + "".join(rows))] == [4]


@pytest.mark.parametrize(
    ("rows", "length"),
    [
        ("sda 4.23 28.83 26.43 3460 3172\nsdb 0.42 0.00 5.87 0 704\n", 120),
        ("sda 4.23 28.83 26.43 3460 3172\nsdb 0.42 0.00 5.87 0 352\n", None),
        ("sda 4.23 0.28 0.43 34 52\n", None),
        ("sda 4.00 8.00 1.00 8 1\n", None),
    ],
    ids=["they agree", "they disagree", "rounding hides it", "a few kB"],
)
def test_totals_beside_rates_tell_how_long_each_report_lasted(rows, length):
    head = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    boot = "sda 14.51 137.26 60.82 101565107 45004104\nsdb 123.05 8035.58 135.54 5946055216 100293749\n"
    disk = reading(head + boot + "\n" + head + rows + "\n" + head + rows).disk
    lengths = disk.loc[~disk["since_boot"].astype(bool), "interval_s"]
    assert lengths.isna().all() if length is None else (lengths == length).all()
    assert disk["interval_s"].isna()[:2].all()


def test_totals_that_are_cut_to_whole_megabytes_make_no_sample_shorter():
    head = "Device tps MB_read/s MB_wrtn/s MB_read MB_wrtn\n"
    boot = f"{head}sda 29.52 2.77 0.90 158467 51287\nsdb 532.93 0.77 16.80 44046 962107\n\n"
    rows = f"{head}sda 0.70 0.00 0.01 0 0\nsdb 624.20 0.07 14.17 1 424\n\n"
    disk = reading(f"$ iostat -m -d 30\n{BANNER}{boot}{rows}{rows}").disk
    assert disk.loc[~disk["since_boot"].astype(bool), "interval_s"].tolist() == [30.0] * 4


def test_totals_tell_a_sample_behind_a_gap():
    text = "".join(
        f"11/20/26 {clock}\n{BASIC}sda 9.00 {kb / 2:.2f} 4.00 {kb} 8\nsdb 1.00 0.00 2.00 0 4\n\n"
        for clock, kb in (("12:00:02", 40), ("12:00:04", 36), ("12:10:00", 44), ("12:10:02", 30))
    )
    assert reading(text).disk["interval_s"].dropna().unique().tolist() == [2.0]


def timed(clock: str, *rows: tuple[float, float]) -> str:
    """A report of disks of so many writes per second that are busy for so many per cent."""
    lines = (
        f"sd{'abcd'[n]} 0.00 0.00 0.00 {w:.2f} 0.00 {8 * w:.2f} 16.00 0.20 1.00 1.00 {u:.2f}\n"
        for n, (w, u) in enumerate(rows)
    )
    return f"11/20/26 {clock}\n{HEADER}{''.join(lines)}\n"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        # whole numbers per second, and whole ms: rows above are left out
        (timed("12:00:12", (640.0, 3.1), (515.0, 12.4)), [1, 1, 1]),
        (timed("12:00:12", (634.65, 3.07), (511.88, 12.28)), [1, 1, 1]),
        # counts of ten seconds, and ms of them
        (timed("12:00:12", (640.3, 3.14), (515.0, 12.4)), [1, 1, 10]),
        (timed("12:00:12", (640.0, 3.14), (0.0, 0.0)), [1, 1, 10]),
        # one number that lies on both grids proves nothing, nor do disks that are busy all the time
        (timed("12:00:12", (640.0, 100.0), (0.0, 100.0)), [1, 1, 10]),
        (timed("12:00:04", (640.0, 3.1), (515.0, 12.4)), [1, 1, 1]),  # a clock of whole seconds
        (timed("12:00:05", (640.0, 3.1), (515.3, 12.4)), [1, 1, 3]),
    ],
)
def test_a_gap_between_clocks_is_no_length_where_rates_are_those_of_the_interval_asked_for(
    last: str, expected: list[float]
):
    above = timed("12:00:01", (700.0, 4.0)) + timed("12:00:02", (612.0, 3.3))
    lengths = reading("$ iostat -tyx 1\n" + above + last).disk.groupby("report")["interval_s"].first()
    assert lengths.tolist() == expected


def test_the_first_of_few_samples_is_as_long_as_asked_for():
    clocks = ("12:00:00", "12:00:01", "12:00:11")
    text = "$ iostat -tyx 1\n" + "".join(timed(clock, (640.3, 3.14), (0.3, 0.1)) for clock in clocks)
    assert reading(text).disk["interval_s"].iloc[::2].tolist() == [1, 1, 10]


def counted(writes: list[int], ticks: list[int], length: float) -> str:
    shares = " ".join(f"{100 * tick / sum(ticks):.2f}" for tick in ticks)
    rows = "".join(
        f"sd{'abcd'[n]} 0.00 0.00 0.00 {w / length:.2f} 0.00 {8 * w / length:.2f} 16.00 0.20 1.00 1.00 9.00\n"
        for n, w in enumerate(writes)
    )
    return f"avg-cpu: %user %nice %system %iowait %steal %idle\n{shares}\n\n{HEADER}{rows}\n"


@pytest.mark.parametrize(
    ("report_below", "expected"),
    [
        (counted([4, 7, 9], [2, 0, 1, 4, 0, 61], 0.68), 0.68),  # 68 ticks of one CPU
        (counted([4, 7, 9], [2, 0, 1, 4, 0, 193], 2.0), 2.0),
        (counted([4, 7, 9], [2, 0, 1, 4, 0, 194], 2.01), 2.0),  # a little late, as any is
        (counted([4, 8, 10], [2, 0, 2, 4, 0, 212], 2.2), 2.0),  # later: even counts are no proof of 1.1 s
        (counted([4, 7], [2, 0, 0, 0, 0, 66], 0.68), 2.0),  # few numbers
        (counted([4, 7, 9], [3, 0, 1, 4, 0, 61], 0.68), 2.0),  # shares on another grid
    ],
)
def test_rates_and_shares_off_the_grid_of_the_interval_asked_for_tell_what_was_counted(
    report_below: str, expected: float
):
    read = reading(
        "$ iostat -x 2 2\n"
        + BANNER
        + counted([40, 733, 9212], [812, 3, 77, 1, 0, 9107], 9123.4)
        + report_below
    )
    assert read.disk["interval_s"].iloc[-1] == expected
    assert read.tables["cpu"]["interval_s"].iloc[-1] == expected
    assert ("0.68 s were counted where 2 s were asked for" in read.remarks) == (expected == 0.68)


_PAGES = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1598]


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ([4 * pages for pages in _PAGES], 1),
        ([4 * pages for pages in _PAGES[:-1]] + [6391], 1),  # one that the swap or a raw device moved
        ([4 * pages / 2 for pages in _PAGES], None),
        ([4 * pages / 5 for pages in _PAGES], None),
        ([16 * pages / 5 for pages in _PAGES], None),
        ([8 * pages for pages in _PAGES], None),  # in units of 512 bytes over a second
        ([64 * pages / 2 for pages in _PAGES], None),  # pages of 64 kB over two
        ([pages for pages in _PAGES], None),  # blocks of 1 kB
        ([4 * pages for pages in _PAGES[:9]], None),  # few: one in 500 by chance
        ([4 * pages for pages in (11, 32) for _ in range(20)], None),  # the same number is no other proof
    ],
)
def test_whole_pages_per_second_prove_a_second(moved: list[float], expected: float | None):
    text = vmstat([{"bi": round(moved[n]), "bo": round(moved[~n])} for n in range(len(moved))])
    found = reading(text).tables["cpu"]["interval_s"].iloc[-1]
    assert (None if np.isnan(found) else found) == expected


@pytest.mark.parametrize(
    ("clocks", "lengths"),
    [
        (["00:01:09", "07:32:57"], [None]),
        (["07:00:00", "07:30:00"], [1800]),  # as a command may ask for
        (["07:00:00", "07:00:37"], [37]),
        (["07:00:00", "07:00:05", "07:00:10", "09:12:31", "09:12:36"], [5, 5, None, 5]),
        (["07:00:00", "07:13:01", "07:26:02", "07:39:03"], [781, 781, 781]),
    ],
    ids=["two excerpts", "half an hour", "half a minute", "excerpts of a run", "an odd interval of a run"],
)
def test_the_time_between_two_excerpts_is_no_length_of_a_sample(clocks, lengths):
    read = reading(
        BANNER + "".join(f"Time: {clock}\n{report(n * 7.213)}" for n, clock in enumerate(clocks, 1))
    )
    found = read.disk["interval_s"].tolist()[1:]
    assert [None if np.isnan(length) else length for length in found] == lengths


@pytest.mark.parametrize(("total", "is_since_boot"), [(46, False), (46_000_000, True)])
def test_one_total_that_is_of_seconds_is_of_a_sample(total, is_since_boot):
    text = (
        f"iostat -m 2\n\nDevice: tps MB_read/s MB_wrtn/s MB_read MB_wrtn\nsdd 6515.00 0.00 23.10 0 {total}\n"
    )
    assert reading(text).disk["since_boot"].tolist() == [is_since_boot]
