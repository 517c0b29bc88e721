"""iostat text: every layout and unit of its headers, and what its options change in the rows."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import numpy as np
import pytest

from iodiag.errors import UnknownFormat
from iodiag.formats.tables.iostat_text import layout
from text_reading import reading
from writers.iostat_writer import LAYOUTS, Shape, words, write

BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
PCP = """\
# Timestamp              Device        rrqm/s  wrqm/s    r/s    w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await %util
Fri Nov 20 12:00:01 2026 sda              0.0     2.0   12.0   30.0    100.0    300.0     9.52     0.50    11.9     2.0    15.9  23.0
Fri Nov 20 12:00:01 2026 sdb              0.0     0.0    0.0    0.0      0.0      0.0     0.00     0.00     0.0     0.0     0.0   0.0
Fri Nov 20 12:00:11 2026 sda              0.0     2.0   10.0   30.0    100.0    300.0    10.00     0.50    11.9     2.0    15.9  23.0
Fri Nov 20 12:00:11 2026 sdb              0.0     0.0    0.0    0.0      0.0      0.0     0.00     0.00     0.0     0.0     0.0   0.0
"""
X3 = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util"
X3_ROW = "sda               0.00     0.70  172.00    1.00  1670.00     8.00    19.40     1.02    5.90    5.90    6.00   5.62  97.22"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           2.30    0.00    1.30   96.40    0.00    0.00\n\n"
# the meaning of every word, apart from the unit of throughput
MEANING = {
    **{f"{c}rqm/s": (f"{d}_merges_per_s", 1.0) for c, d in (("r", "read"), ("w", "write"), ("d", "discard"))},
    **{f"%{c}rqm": (f"{d}_merges_pct", 1.0) for c, d in (("r", "read"), ("w", "write"), ("d", "discard"))},
    **{
        f"{c}areq-sz": (f"{d}_request_size_kb", 1.0)
        for c, d in (("r", "read"), ("w", "write"), ("d", "discard"))
    },
    **{
        f"{c}_await": (f"{d}_await_ms", 1.0)
        for c, d in (("r", "read"), ("w", "write"), ("d", "discard"), ("f", "flush"))
    },
    "r/s": ("reads_per_s", 1.0),
    "w/s": ("writes_per_s", 1.0),
    "d/s": ("discards_per_s", 1.0),
    "f/s": ("flushes_per_s", 1.0),
    "tps": ("ios_per_s", 1.0),
    "rqm/s": ("merges_per_s", 1.0),
    "avgrq-sz": ("request_size_kb", 0.5),
    "areq-sz": ("request_size_kb", 1.0),
    "avgqu-sz": ("queue_depth", 1.0),
    "aqu-sz": ("queue_depth", 1.0),
    "await": ("await_ms", 1.0),
    "svctm": ("svctm_ms", 1.0),
    "%util": ("util_pct", 1.0),
}
PER_UNIT = {"sec": 0.5, "Blk": 0.5, "kB": 1.0, "MB": 1024.0}
DIRECTION = {"r": "read", "w": "write", "d": "discard", "read": "read", "wrtn": "write", "dscd": "discard"}


def meaning(word: str) -> tuple[str | None, float]:
    if word in MEANING:
        return MEANING[word]
    if "w+d" in word:
        return None, PER_UNIT[word.split("_")[0]]
    if "_" in word:
        unit, rest = word.split("_")
        return f"{DIRECTION[rest.removesuffix('/s')]}_kb{'_per_s' if rest.endswith('/s') else ''}", PER_UNIT[
            unit
        ]
    unit = next(unit for unit in PER_UNIT if word.endswith(f"{unit}/s"))
    direction = word.removesuffix(f"{unit}/s")
    return f"{DIRECTION[direction]}_kb_per_s" if direction else "kb_per_s", PER_UNIT[unit]


@pytest.mark.parametrize(
    ("header", "is_one"),
    [
        (X3.replace(":         rrqm/s", ":rrqm/s"), True),
        ("avg-cpu:%user   %nice %system %iowait  %steal   %idle", True),
        ("Device:sda 0.00 full of writes", False),
        ("Disk:rrqm/s wrqm/s r/s w/s", False),
    ],
)
def test_a_header_whose_first_word_lost_the_blank_behind_it_is_one(header: str, is_one: bool):
    found = layout(tuple(header.split()))
    assert (found is not None) is is_one
    assert found is None or found == layout(tuple(header.replace(":", ": ").split()))


@pytest.mark.parametrize("unit", ["sec", "kB", "MB"])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("device", ["Device:", "Device"])
def test_every_layout_in_every_unit(name: str, unit: str, device: str):
    found = layout((device, *words(name, unit)))
    assert found is not None
    assert (found.key, found.key_at, found.clock, found.unknown) == ("device", "first", "line", ())
    assert [(column.column, column.factor) for column in found.columns] == [
        meaning(w) for w in words(name, unit)
    ]
    last = layout((*words(name, unit), "Device"))
    assert last is not None
    assert (last.key_at, last.columns) == ("last", found.columns)


@pytest.mark.parametrize(
    "header",
    [
        "avg-cpu:  %user   %nice    %sys   %idle",
        "avg-cpu:  %user   %nice    %sys %iowait   %idle",
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
        "CPU平均:  %user   %nice    %sys %iowait   %idle",
    ],
)
def test_cpu_lines_of_all_ages(header: str):
    found = layout(tuple(header.split()))
    assert found is not None
    names = [column.column for column in found.columns]
    assert names[0] == "user_pct"
    assert "system_pct" in names
    assert names[-1] == "idle_pct"


@pytest.mark.parametrize(
    "header",
    [
        "Device Boot Start End Sectors Size Id Type",
        "device r/s w/s kr/s kw/s wait actv svc_t %w %b",
        "Filesystem: rBlk_nor/s wBlk_nor/s rBlk_dir/s wBlk_dir/s",
        "Device",
        "Device is sda",
    ],
)
def test_headers_of_others(header: str):
    assert layout(tuple(header.split())) is None


def test_a_word_of_a_later_release_is_left_out_and_told():
    text = BANNER + "Device r/s rkB/s zones/s w/s wkB/s\nsda 1.00 2.00 3.00 4.00 5.00\n"
    read = reading(text)
    assert read.disk[
        ["reads_per_s", "read_kb_per_s", "writes_per_s", "write_kb_per_s"]
    ].to_numpy().tolist() == [[1, 2, 4, 5]]
    assert "zones/s" in read.remarks
    assert not read.unread


def test_a_header_cut_at_the_right_margin_gives_its_whole_columns():
    text = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-s\nsda 0.00 0.00 1.00 2.00 3.00 4.00 8\nsdb 0.00 0.00 1.00 2.00 3.00 4.00\n"
    read = reading(text)
    assert read.disk["write_kb_per_s"].tolist() == [4, 4]
    assert "request_size_kb" not in read.disk

    assert "last column's name is cut off" in read.remarks


@pytest.mark.parametrize("lost", ["kB/s", "rqm/s"])
def test_a_word_beside_its_own_of_a_direction_has_lost_its_letter(lost: str):
    header = " ".join(("Device", *words("X5"))).replace(f"r{lost}", lost)
    read = reading(f"{BANNER}{header}\nsda {' '.join(['1.00'] * (len(header.split()) - 1))}\n")
    assert lost in read.remarks
    assert not {"kb_per_s", "merges_per_s"} & {*read.disk}


@pytest.mark.parametrize("lost", range(2, 6))
def test_a_report_that_lost_a_row_of_a_part_is_told(lost: int):
    rows = [[(device, dict.fromkeys(words("X6"), 1.0)) for device in ("sda", "sdb")]] * 2
    text, _ = write(rows, Shape(words("X6"), is_last=True, is_in_parts=True), banner=BANNER.strip())
    lines = text.split("\n")
    places = [n for n, line in enumerate(lines) if line.endswith("sdb")]
    read = reading("\n".join(line for n, line in enumerate(lines) if n != places[lost]))
    assert len(read.unread) == 1


def test_parts_of_xh_become_one_row_per_device():
    rows = [
        [
            (device, {w: float(i + n) for n, w in enumerate(words("X6"))})
            for i, device in enumerate(("sda", "dm-0"))
        ]
    ]
    shape = Shape(words("X6"), is_last=True, is_in_parts=True)
    text, lines = write([*rows, *rows], shape, banner=BANNER.strip())
    read = reading(text)
    assert read.disk["device"].tolist() == ["sda", "dm-0", "sda", "dm-0"]
    assert read.disk["report"].tolist() == [0, 0, 1, 1]
    assert read.disk["line"].tolist() == lines
    assert read.disk["util_pct"].tolist() == [21, 22, 21, 22]
    assert layout(("r/s", "rkB/s", "Device")).is_part_of_table  # type: ignore[union-attr]
    assert not layout(("tps", "kB_read/s", "kB_wrtn/s", "Device")).is_part_of_table  # type: ignore[union-attr]


def test_parts_stand_beside_a_whole_table_of_the_same_input():
    whole, _ = write([[("sda", dict.fromkeys(words("X3"), 1.0))]], Shape(words("X3")), banner=BANNER.strip())
    parts, _ = write(
        [[("sda", dict.fromkeys(words("X6"), 2.0))]],
        Shape(words("X6"), is_last=True, is_in_parts=True),
        banner=BANNER.strip(),
    )
    read = reading(whole + parts)
    assert read.disk["util_pct"].tolist() == [1, 2]
    assert read.disk["segment"].tolist() == [0, 1]


def test_a_name_on_a_line_of_its_own_is_no_line_of_values():
    rows = [
        [
            ("sda", dict.fromkeys(words("X3"), 1.0)),
            ("mapper-with-a-long-name", dict.fromkeys(words("X3"), 2.0)),
        ]
    ]
    text, lines = write(rows, Shape(words("X3"), device="Device:", name_alone=True), banner=BANNER.strip())
    read = reading(text)
    assert read.disk["device"].tolist() == ["sda", "mapper-with-a-long-name"]
    assert read.disk["line"].tolist() == lines == [5, 7]
    assert not read.unread


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (["sda 1.00 2.00 3.00", "sdb 1.00 2.00 3.00", " grp 2.00 4.00 6.00"], [False, False, True]),
        ([" grp 2.00 4.00 6.00"], [True]),
        # a paste whose rows are one blank further in than the header says nothing of groups
        ([" sda 1.00 2.00 3.00", " vg0-root 2.00 4.00 6.00"], [False, False]),
        (["  sda 1.00 2.00 3.00"], [False]),
    ],
)
def test_group_lines_begin_with_a_blank(rows: list[str], groups: list[bool]):
    read = reading("\n".join(["Device tps kB_read/s kB_wrtn/s", *rows, ""]))
    assert read.disk["is_group"].tolist() == groups


def test_groups_with_the_name_last_stand_two_blanks_off():
    read = reading("tps kB_read/s kB_wrtn/s Device\n1.00 2.00 3.00 sda\n1.00 2.00 3.00  grp\n")
    assert read.disk["is_group"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("cell", "kb"),
    [
        ("4.4M", 4.4 * 1024),
        ("13.8k", 13.8),
        ("2.0G", 2 * 1024**2),
        ("512.0B", 0.5),
        ("3.0s", 1.5),
        ("5", 5.0),
    ],
)
def test_human_sizes_are_in_bytes_whatever_the_header_says(cell: str, kb: float):
    read = reading(f"Device tps MB_read/s\nsda 1.0 {cell}\n")
    expected = kb if cell != "5" else 5 * 1024.0
    assert read.disk["read_kb_per_s"].tolist() == pytest.approx([expected])


def test_a_suffix_where_no_size_can_be_is_not_read():
    read = reading(f"{X3}\n{X3_ROW.replace('172.00', '172k')}\n")
    assert read.unread == [2]


@pytest.mark.parametrize("cell", ["nan", "-nan", "inf"])
def test_broken_counters_are_missing_values(cell: str):
    read = reading(f"{X3}\n{X3_ROW.replace('5.62', cell)}\n")
    assert np.isnan(read.disk["svctm_ms"]).all()
    assert not read.unread


def test_absurd_counters_are_read_as_printed():
    read = reading(f"{X3}\n{X3_ROW.replace('172.00', '18446744073709551616.00')}\n")
    assert read.disk["reads_per_s"].tolist() == pytest.approx([2.0**64])


@pytest.mark.parametrize(
    "name",
    ["cciss/c0d0", "vg0-root", "dm-0", "nvme0n1p1", "emcpowera", "ata-WDC_WD40-EZ_WD-1", "36001405b1", "8:16", "3600507680",
     "é-disk", "naa.6001/x"],
)  # fmt: skip
def test_names_of_all_kinds(name: str):
    read = reading(f"{X3}\n{name} {X3_ROW.split(None, 1)[1]}\n")
    assert read.disk["device"].tolist() == [name]


@pytest.mark.parametrize("name", ["12", "0.00", "1,5", "---"])
def test_a_number_is_no_device(name: str):
    read = reading(f"{X3}\n{name} {X3_ROW.split(None, 1)[1]}\n")
    assert "disk" not in read.tables


def test_two_devices_of_one_name_are_two_reports():
    read = reading(f"{X3}\n{X3_ROW}\n{X3_ROW}\n")
    assert read.disk["report"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b", "Solaris"),
        ("    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device", "Solaris"),
        ("device     r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b", "FreeBSD"),
        ("    KB/t  tps  MB/s  us sy id   1m   5m   15m", "macOS"),
        ("tty:      tin         tout    avg-cpu: % user % sys % idle % iowait", "AIX"),
    ],
)
def test_iostat_of_other_systems_is_refused_by_name(line: str, tool: str):
    row = " ".join(["1.0"] * (len(line.split()) - 1))
    with pytest.raises(UnknownFormat, match=tool):
        reading(f"{line}\nsd0 {row}\nsd1 {row}\n")
    read = reading(f"{X3}\n{X3_ROW}\n\n{line}\nsda {row}\n")
    assert read.disk["line"].tolist() == [2]
    assert tool in read.remarks


def test_c_alone_and_d_alone():
    cpu = reading(BANNER + CPU * 2)
    assert cpu.tables["cpu"]["report"].tolist() == [0, 1]
    assert set(cpu.tables) == {"cpu"}
    disk = reading(f"{BANNER}{X3}\n{X3_ROW}\n\n{X3}\n{X3_ROW}\n")
    assert disk.disk["report"].tolist() == [0, 1]


def test_z_may_leave_a_header_without_rows():
    read = reading(f"{BANNER}{CPU}{X3}\n\n{CPU}{X3}\n{X3_ROW}\n")
    assert read.disk["report"].tolist() == [1]
    assert read.tables["cpu"]["report"].tolist() == [0, 1]
    assert not read.unread


def test_devices_before_their_cpu_line_and_the_next_reports_of_one_header():
    read = reading(
        f"{X3}\n{X3_ROW}\n{X3_ROW.replace('sda', 'sdb')}\n{X3_ROW}\n{X3_ROW.replace('sda', 'sdb')}\n"
    )
    assert read.disk["report"].tolist() == [0, 0, 1, 1]


def test_a_report_whose_first_part_is_damaged_takes_none_of_the_next_one():
    """`iostat -x -h` prints a report in parts; without clocks their order tells where one begins."""
    text = (
        "     w/s     wkB/s Device\n    4.00      5.0k sda\n\n"
        "     r/s     rkB/s Device\n    6.00      7.0k sda\n\n"
        "     w/s     wkB/s Device\n    8.00      9.0k sda\n"
    )
    disk = reading(text).disk
    assert disk["report"].tolist() == [0, 1]
    assert disk["writes_per_s"].tolist() == [4, 8]
    assert disk["reads_per_s"].isna().tolist() == [True, False]


def test_pcp_iostat_prints_the_size_of_requests_in_kilobytes() -> None:
    read = reading(PCP)
    assert read.disk["request_size_kb"].tolist() == [9.52, 0, 10, 0]
    assert read.disk["interval_s"].tolist() == [10] * 4
    assert str(read.disk["time"].iloc[-1]) == "2026-11-20 12:00:11"
    assert not read.unread


def test_names_that_lost_their_ends_in_a_narrow_page_are_known():
    header = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq avgqu await svctm %util\n"
    text = header + "sda 3.81 0.03 6.51 0.09 1569.01 14.28 239.79 0.07 10.21 3.88 2.56\n"
    disk = reading(text).tables["disk"]
    assert disk["request_size_kb"].tolist() == pytest.approx([239.79 / 2])
    assert disk["queue_depth"].tolist() == [0.07]
