"""The structure of texts: what ends a table, what goes on with it, and what stands between."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import pytest

from text_reading import reading

BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
HEADER = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
ROW = "sda 0.00 0.70 172.00 1.00 1670.00 8.00 19.40 1.02 5.90 5.62 97.22\n"
ZERO = "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
CPU_ROW = " 2.30 0.00 1.30 96.40 0.00 0.00\n"
VMSTAT = " r b swpd free buff cache si so bi bo in cs us sy id wa\n"
VMSTAT_ROW = " 2 0 0 1413456 1408 23048 0 0 685 4 348 256 13 51 32 4\n"
PROSE = "Then I started the backup and it got much worse.\n"


@pytest.mark.parametrize(
    "row",
    [
        ROW,  # a device that the table has shown
        ROW.replace("sda", "vg0-new"),  # the numbers prove themselves
        ZERO.replace("sda", "nvme1n1"),  # a name that only the kernel gives
    ],
)
def test_rows_below_prose_that_prove_themselves_are_the_table_s(row: str):
    read = reading(HEADER + ROW + PROSE + row)
    assert read.disk["line"].tolist() == [2, 4]
    assert read.counts["noise"] == 1


@pytest.mark.parametrize(
    "row",
    [
        "mem 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00 9.00 10.00 11.00\n",
        "eth0 10.00 20.00 30.00 40.00 50.00 60.00 70.00 80.00 90.00 100.00 110.00\n",
        ROW.replace("sda", "vg0-new").replace("19.40", "55.00"),
    ],
)
def test_rows_below_prose_that_do_not_are_not(row: str):
    read = reading(HEADER + ROW + PROSE + row)
    assert read.disk["line"].tolist() == [2]
    assert read.unread == [4]


@pytest.mark.parametrize(
    "heading",
    [
        "Device: rBlk_nor/s wBlk_nor/s rBlk_dir/s wBlk_dir/s rBlk_svr/s wBlk_svr/s rops/s wops/s x/s y/s z/s\n",
        "Filesystem: rBlk_nor/s wBlk_nor/s rBlk_dir/s wBlk_dir/s rBlk_svr/s\n",
        "DISK %busy await/1 q_len reads_s writes_s read_kb write_kb merged_r merged_w err/s\n",
    ],
)
def test_another_table_s_header_ends_the_table(heading: str):
    read = reading(HEADER + ROW + heading + ROW.replace("172.00", "999.00"))
    assert read.disk["line"].tolist() == [2]
    assert read.unread == [4]


@pytest.mark.parametrize("line", ["...", "[...]", "…", "<snip>", "[snip]", "-----", "~", "|"])
def test_what_was_left_out_does_not_end_a_table(line: str):
    row = ROW.replace("sda", "other")
    read = reading(f"{HEADER}{ROW}{line}\n{row}")
    assert read.disk["line"].tolist() == [2, 4]


def test_lines_left_out_above_the_first_table_are_no_start():
    text = f"$ iostat -x 5\n{BANNER}"
    assert reading(text + HEADER + ROW).disk["since_boot"].tolist() == [True]
    assert reading(f"{text}...\n\n{HEADER}{ROW}").disk["since_boot"].tolist() == [False]


def test_a_resumed_table_is_a_further_report_where_a_device_comes_again():
    read = reading(HEADER + ROW + PROSE + ROW.replace("sda", "sdb") + PROSE + ROW)
    assert read.disk["report"].tolist() == [0, 0, 1]


def test_rows_of_sar_below_prose_have_no_length_across_the_gap():
    sar = "12:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n12:10:00 sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20\n"
    read = reading(
        sar
        + PROSE
        + "14:20:00 sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20\n14:30:00 sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20\n"
    )
    assert read.disk["line"].tolist() == [2, 4, 5]
    assert read.disk["interval_s"].fillna(-1).tolist() == [600, -1, 600]


def test_cpu_rows_below_prose_must_add_up():
    assert reading(CPU + CPU_ROW + PROSE + CPU_ROW).tables["cpu"]["line"].tolist() == [2, 4]
    assert reading(CPU + CPU_ROW + PROSE + " 1.00 2.00 3.00 4.00 5.00 6.00\n").tables["cpu"][
        "line"
    ].tolist() == [2]
    assert reading(VMSTAT + VMSTAT_ROW + PROSE + VMSTAT_ROW).tables["queue"]["line"].tolist() == [2, 4]


def test_segments_begin_at_banners_commands_and_restarts():
    text = BANNER + HEADER + ROW + BANNER + HEADER + ROW + "$ iostat -x 1\n" + HEADER + ROW
    read = reading(text)
    assert read.disk["segment"].tolist() == [0, 1, 2]
    assert read.disk["report"].tolist() == [0, 0, 0]
    assert read.disk["host"].tolist() == ["db1", "db1", ""]
    assert len([section for section in read.sections if section.format == "iostat"]) == 3


def test_a_banner_below_its_command_is_the_same_segment():
    read = reading(f"$ iostat -x 5\n{BANNER}{HEADER}{ROW}\n{HEADER}{ROW}")
    assert read.disk["segment"].tolist() == [0, 0]
    assert read.disk["interval_s"].tolist()[1:] == [5]
    assert read.disk["host"].tolist() == ["db1"] * 2


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s\navgrq-sz avgqu-sz await svctm %util\n", ROW),
        ("r b swpd free buff cache si so bi bo in cs us\nsy id wa\n", VMSTAT_ROW),
        (
            "12:00:00 PM DEV tps rkB/s wkB/s\nareq-sz aqu-sz\nawait %util\n",
            "12:10:00 PM sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20\n",
        ),
        (
            "12:00:00 tps rkB/s wkB/s areq-sz aqu-sz await\n%util DEV\n",
            "12:10:00 1.00 2.00 2.00 4.00 0.00 0.10 0.20 sda\n",
        ),
        (
            "Average: DEV tps rkB/s wkB/s areq-sz\naqu-sz await %util\n",
            "Average: sda 1.00 2.00 2.00 4.00 0.00 0.10 0.20\n",
        ),
    ],
)
def test_wrapped_headers(header: str, rows: str):
    whole = reading(header.replace("\n", " ") + "\n" + rows)
    read = reading(header + rows)
    assert set(read.tables) == set(whole.tables)
    assert read.counts["header"] == header.count("\n")
    for tables, others in ((whole.tables, read.tables), (whole.averages, read.averages)):
        for family, table in tables.items():
            assert others[family].drop(columns="line").equals(table.drop(columns="line"))


def test_a_table_cut_in_two_by_its_columns():
    left = "Device: rrqm/s wrqm/s r/s w/s\nsda 0.00 1.00 2.00 3.00\nsdb 0.00 4.00 5.00 6.00\n"
    right = "        rkB/s wkB/s %util\n        7.00 8.00 9.00\n        10.00 11.00 12.00\n"
    read = reading(f"{left}\n{right}\n{left}\n{right}")
    assert read.disk["util_pct"].tolist() == [9, 12] * 2
    assert read.disk["device"].tolist() == ["sda", "sdb"] * 2
    assert read.disk["line"].tolist() == [2, 3, 10, 11]
    assert not read.unread


def test_halves_of_different_length_are_not_put_together():
    read = reading(
        "Device: r/s w/s\nsda 2.00 3.00\nsdb 5.00 6.00\n\n        rkB/s wkB/s\n        7.00 8.00\n"
    )
    assert "read_kb_per_s" not in read.disk
    assert read.unread == [6]


def test_context_ends_a_table():
    mdstat = "Personalities : [raid1]\nmd0 : active raid1 sdb1[1] sda1[0]\n      1048576 blocks super 1.2 [2/2] [UU]\n\nunused devices: <none>\n"
    read = reading(HEADER + ROW + mdstat + PROSE)
    assert read.disk["line"].tolist() == [2]
    assert [section.format for section in read.sections if section.is_context] == ["mdstat"]


@pytest.mark.parametrize(
    ("line", "is_clock"),
    [("Time: 12:24:01", True), ("12:24:01", True), ("11/20/2026 12:24", True)],
)
def test_an_unsure_clock_counts_above_a_report_alone(line: str, is_clock: bool):
    assert reading(f"{line}\n{HEADER}{ROW}").counts.get("clock", 0) == is_clock
    assert reading(f"{line}\n{PROSE}").counts == {"noise": 2}


def test_a_clock_between_rows_begins_a_report():
    read = reading(f"{HEADER}Fri Nov 20 12:00:00 UTC 2026\n{ROW}Fri Nov 20 12:00:30 UTC 2026\n{ROW}")
    assert read.disk["report"].tolist() == [0, 1]
    assert read.disk["interval_s"].tolist() == [30, 30]
    assert str(read.disk["time"].dt.tz) == "UTC"


def test_long_texts_are_read_as_short_ones():
    reports = "".join(
        f"11/20/26 {12 + n // 3600}:{n // 60 % 60:02}:{n % 60:02}\n{CPU}{CPU_ROW}\n{HEADER}{ROW}{ROW.replace('sda', 'dm-1')}\n"
        for n in range(3000)
    )
    comment = "12:00:00 COM 1 2 3 4 5\n"
    read = reading(BANNER + reports.replace("\n\n", "\n") + PROSE + comment + ROW * 3)
    assert len(read.disk) == 6003
    assert read.disk["report"].nunique() == 3003
    assert read.disk["time"].iloc[5998] == read.disk["time"].iloc[5999]
    assert (read.counts["clock"], read.counts["banner"], read.counts["noise"]) == (3000, 2, 1)
    assert not read.unread


def test_comments_of_sar_are_seen_in_long_texts():
    rows = "".join(f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} 1.00 2.00\n" for n in range(25_000))
    comment = "06:56:40 COM 1 2\n"
    read = reading(f"{BANNER}00:00:00 pswpin/s pswpout/s\n{rows}{comment}")
    assert len(read.tables["swapping"]) == 25_000
    assert read.counts["banner"] == 2


def test_a_banner_that_mail_wrapped_keeps_its_cpus():
    wrapped = "Linux 4.15.0-117-generic (db1)      03/10/21\n_x86_64_        (88 CPU)\n\n"
    read = reading(wrapped + HEADER + ROW)
    assert [section.cpus for section in read.sections] == [88]
    assert read.counts == {"banner": 2, "header": 1, "row": 1}
