"""Headers and exports that lost a word, a letter or a line: what is not proven is left out, and told."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import iodiag
from iodiag.formats.text.structure.headers import layout_of
from sample_files import SAMPLES

BANNER = "Linux 5.14.0 (h1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"


def read(text: str, name: str = "damaged.txt") -> iodiag.Capture:
    return iodiag.read(io.BytesIO(text.encode()), name=name)


def told(capture: iodiag.Capture) -> list[int]:
    return [note.line for note in capture.notes]


PART = (
    "  r/s {:>9} {:>8}  %rrqm r_await {:>8} Device\n41.00    328.00     3.00   6.82    1.50     8.00 sdk\n\n"
)


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (("kB/s", "rrqm/s", "rareq-sz"), "read_kb_per_s"),
        (("rkB/s", "rqm/s", "rareq-sz"), "read_merges_per_s"),
        (("rkB/s", "rrqm/s", "areq-sz"), "read_request_size_kb"),
    ],
)
def test_a_word_that_lost_its_direction_is_none_of_both_directions(words: tuple[str, ...], lost: str) -> None:
    capture = read(BANNER + PART.format("rkB/s", "rrqm/s", "rareq-sz") + PART.format(*words))
    first, second = (row for _, row in capture.disk.iterrows())
    assert not np.isnan(first[lost])
    assert np.isnan(second[lost])
    assert capture.disk.columns.isin(["kb_per_s", "merges_per_s", "request_size_kb"]).sum() == 0
    assert [note.line for note in capture.notes if words[0] in note.reason or "left out" in note.reason] == [
        6
    ]


def test_words_without_a_direction_are_right_where_none_has_one() -> None:
    capture = read(
        f"{BANNER}Device tps kB/s rqm/s await areq-sz aqu-sz %util\nsdk 9.00 72.00 1.00 2.00 8.00 0.02 1.80\n"
    )
    assert capture.disk[["kb_per_s", "merges_per_s", "request_size_kb"]].to_numpy().tolist() == [[72, 1, 8]]
    assert not capture.notes


SHARES = (
    "Filesystem {} {} rops/s wops/s fo/s fc/s fd/s\n//nas7/home 512.00 64.00 8.00 2.00 1.00 1.00 0.00\n\n"
)


def test_one_run_of_cifsiostat_has_one_unit() -> None:
    capture = read(BANNER + SHARES.format("rkB/s", "wkB/s") + SHARES.format("rB/s", "wkB/s"))
    assert capture.tables["cifs_mounts"]["reads_per_s"].tolist() == [8, 8]
    np.testing.assert_equal(capture.tables["cifs_mounts"]["read_kb_per_s"].tolist(), [512, np.nan])
    assert told(capture) == [6]
    assert not read(BANNER + SHARES.format("rB/s", "wB/s")).notes


def test_the_rest_of_wa_is_no_queue() -> None:
    row = "1 2 0 81924 4100 90112 0 0 64 128 300 400 5 6 {} 20 0\n"
    header = "r b swpd free buff cache si so bi bo in cs us sy id {} st\n"
    capture = read(header.format("w") + row.format(69))
    assert "iowait_pct" not in capture.tables["cpu"]
    assert told(capture) == [1]
    old = "r b w swpd free buff cache si so bi bo in cs us sy id\n"
    assert not read(old + "1 2 0 0 81924 4100 90112 0 0 64 128 300 400 5 6 89\n").notes


DRIVES = "Tape: {} w/s kB_read/s kB_wrtn/s %Rd %Wr %Oa Rs/s Ot/s\nst4 7 96 448 24576 3 31 34 0 1\n\n"


def test_a_header_of_fewer_names_than_cells_makes_no_item_of_a_number() -> None:
    capture = read(BANNER + DRIVES.format("r/s") + DRIVES.format(""))
    assert capture.tables["tapes"]["tape"].tolist() == ["st4"]
    assert told(capture) == [7]


PROCESSES = """\
11:02:{:02}      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
11:02:{:02}      104      5120    640.00     96.00      0.00       3  {}

"""


def test_a_process_is_not_called_by_a_number_and_its_name() -> None:
    damaged = PROCESSES.format(1, 2, "copy").replace(" kB_ccwr/s", "")
    capture = read(PROCESSES.format(0, 1, "copy") + damaged + PROCESSES.format(2, 3, "copy"))
    process = capture.tables["process"]
    assert process.loc[process["pid"] == "5120", "process"].tolist() == ["copy"] * 2
    assert process.loc[process["pid"] == "all", "write_kb_per_s"].tolist() == [96, 96]  # none of the second
    assert capture.evidence[0].values["write_kb_per_s"] == 96
    assert told(capture) == [5]


def test_a_command_may_begin_with_a_digit() -> None:
    assert not read(PROCESSES.format(0, 1, "7z")).notes
    assert not read(PROCESSES.format(0, 1, "3")).notes


def test_a_word_that_pidstat_does_not_print_is_told_and_nothing_summed() -> None:
    capture = read(
        PROCESSES.format(0, 1, "copy").replace("kB_rd/s", "kBrd/s") + PROCESSES.format(1, 2, "copy")
    )
    process = capture.tables["process"]
    np.testing.assert_equal(process.loc[process["pid"] == "5120", "read_kb_per_s"].tolist(), [np.nan, 640])
    assert process.loc[process["pid"] == "all", "read_kb_per_s"].tolist() == [640]
    assert told(capture) == [1]


MOUNTS = "nas7:/v/{0} mounted on /m/{0}:\n\n  ops/s  rpc bklog\n  {1}.000  0.100\n\n{2}"
WAYS = """\
read: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)
 6.250 50.000 8.000 0 (0.0%) 2.000 2.500
write: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)
 1.750 7.000 4.000 0 (0.0%) 3.000 3.500

"""


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [
        ("rpc bklog", "rp bklog"),
        ("rpc bklog", "rpcbklog"),
        ("kB/op retrans", "kB/op retras"),
        (" mounted on", " mouted on"),
        (" on /m", "  /m"),
        ("nas7:/v/a", "nas7/v/a"),
    ],
)
def test_a_damaged_line_of_nfsiostat_makes_no_mount_and_no_other_report(whole: str, damaged: str) -> None:
    reports = [MOUNTS.format("a", 8, WAYS) + MOUNTS.format("b", 9, WAYS) for _ in range(3)]
    reports[1] = reports[1].replace(whole, damaged, 1)
    capture = read("".join(reports))
    mounts = capture.tables["nfs_mounts"]
    assert set(mounts["mount"]) == {"/m/a", "/m/b"}
    assert mounts.groupby("mount")["report"].max().tolist() == [2, 2]
    assert mounts["since_boot"].sum() == 2
    assert capture.unparsed
    assert not read("".join([reports[0]] * 3)).unparsed


def test_numbers_whose_mount_is_lost_are_told_beside_those_of_others() -> None:
    lost = MOUNTS.format("a", 8, WAYS).replace(" mounted on", " mouted on")
    assert told(read(lost + MOUNTS.format("b", 9, WAYS))) == [7]
    assert told(read(WAYS)) == []


def test_a_header_of_nfsiostat_without_a_row_is_told() -> None:
    capture = read(MOUNTS.format("a", 8, WAYS.replace(" 6.250 50.000 8.000 0 (0.0%) 2.000 2.500\n", "")))
    assert told(capture) == [6]


def test_a_line_of_a_mount_without_numbers_below_it_is_told() -> None:
    name, rest = MOUNTS.format("a", 8, WAYS).split("\n", 1)
    capture = read(f"{rest}{name}\n{name}\n{rest}")
    assert told(capture) == [6, 10]  # and the numbers whose mount nothing tells, beside those of another


COUNTERS = (
    "disk- ---reads--- ---writes--- ---IO---\n total merged sectors ms total merged sectors ms cur sec\n"
)


def test_what_is_left_of_a_header_begins_no_phase() -> None:
    rows = "".join(f"sd{letter} 100 0 800 50 200 0 1600 70 0 1\n" for letter in "ab")
    capture = read(
        COUNTERS + rows + COUNTERS.replace("total", "otal", 1) + rows.replace("100", "150") + COUNTERS + rows
    )
    assert "phase" not in capture.tables["disk_counters"]
    assert [note.line for note in capture.unparsed] == [6]


def test_words_of_a_header_in_a_sentence_are_prose() -> None:
    header = "Device r/s w/s rkB/s wkB/s aqu-sz %util\nsda 1.00 2.00 8.00 16.00 0.01 0.10\n"
    text = f"{BANNER}{header}\nlook at r/s w/s rkB/s now:\n\n{header}"
    assert not read(text).unparsed


def test_rows_of_usb_are_read_without_their_names() -> None:
    header = "12:26:14        BUS  idvendor    idprod  maxpower manufact                product\n"
    row = "12:26:15          2      1d6b         3       100 ACME             Keyboard\n"
    bare = "12:26:15          4      8087        36         0                         {}\n"
    capture = read(BANNER + header + row + bare.format("Some Hub") + bare.format("Hub") + bare.format(""))
    assert capture.tables["usb"]["manufacturer"].tolist() == ["ACME", "", "", ""]
    assert capture.tables["usb"]["product"].tolist() == ["Keyboard", "Some Hub", "Hub", ""]
    assert not capture.unparsed


def test_an_average_is_one_where_a_maximum_above_it_changed_places() -> None:
    disk = " sda 3.00 8.00 16.00 8.00 0.01 1.00 0.10\n"
    header = " DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    samples = f"12:00:01{header}12:10:01{disk}Maximum:{disk}12:30:01{disk}\n"
    capture = read(f"{BANNER}{samples}Summary:{header}Minimum:{disk}12:20:01{disk}Average:{disk}")
    assert len(capture.averages["disk"]) == 1


CSV = (
    "# hostname;interval;timestamp;{};rtps;wtps;bread/s;bwrtn/s\n"
    "h1;60;2026-11-20 12:30:00 UTC;30.00;10.00;20.00;80.00;160.00\n"
)


def test_a_name_that_stands_twice_names_neither_column() -> None:
    assert not read(CSV.format("tps"), "a.csv").notes
    both = CSV.format("tps") + CSV.format("tps").replace("rtps", "tps").replace("30:00", "31:00")
    capture = read(both, "b.csv")
    assert capture.tables["io"]["ios_per_s"].tolist() == [30]
    assert told(capture) == [4]


TWICE = {
    "iostat": (
        f"{BANNER}avg-cpu: %user %nice %system %iowait %steal %idle\n 11.00 0.00 5.00 30.00 0.00 54.00\n",
        ("%iowait", "%system"),
        ("cpu", "system_pct", "iowait_pct", "idle_pct"),
    ),
    "iostat -x": (
        f"{BANNER}Device r/s w/s rkB/s wkB/s await aqu-sz %util\nsdk 9.00 7.00 72.00 28.00 2.00 0.02 1.80\n",
        ("rkB/s", "wkB/s"),
        ("disk", "read_kb_per_s", "write_kb_per_s", "util_pct"),
    ),
    "iostat -n": (
        f"{BANNER}Filesystem: rkB_nor/s wkB_nor/s rkB_dir/s wkB_dir/s rkB_svr/s wkB_svr/s "
        "ops/s rops/s wops/s\nnas7:/home 512.00 64.00 0.00 0.00 256.00 32.00 44.00 9.00 3.00\n",
        (" rops/s", " ops/s"),
        ("nfs_mounts", "ops_per_s", "reads_per_s", "writes_per_s"),
    ),
    "cifsiostat": (
        f"{BANNER}Filesystem rkB/s wkB/s rops/s wops/s fo/s fc/s fd/s\n"
        "//nas7/home 512.0 64.0 8.0 2.0 1.0 1.0 0.0\n",
        ("wkB/s", "rkB/s"),
        ("cifs_mounts", "read_kb_per_s", "write_kb_per_s", "reads_per_s"),
    ),
    "tapestat": (
        f"{BANNER}Tape: r/s w/s kB_read/s kB_wrtn/s %Rd %Wr %Oa Rs/s Ot/s\nst0 3 512 96 9072 1 41 42 2 5\n",
        ("%Oa", "Rs/s"),
        ("tapes", "wait_pct", "residuals_per_s", "others_per_s"),
    ),
}


@pytest.mark.parametrize("tool", TWICE)
def test_of_columns_of_one_name_neither_is_read_and_the_others_are(tool: str) -> None:
    text, (word, other), (name, *columns) = TWICE[tool]
    whole = read(text)
    assert not whole.notes
    damaged = read(text.replace(word, other, 1))
    (note,) = damaged.notes
    assert note.reason.endswith(f"which is which: {other.strip()}")
    assert damaged.tables[name].reindex(columns=columns[:2]).isna().to_numpy().all()
    assert damaged.tables[name][columns[2]].tolist() == whole.tables[name][columns[2]].tolist()


def test_a_header_of_nothing_but_one_name_is_none() -> None:
    assert layout_of(("Device", "r/s", "r/s")) is None
    assert layout_of(("Device", "r/s", "w/s")) is not None


RAW = "12:24:{} UTC; tps; {}; {}; rtps; 10; 20; wtps; 40; 60; bread/s; 80; 160; bwrtn/s; 4; 8;\n"


def test_a_row_of_raw_counters_whose_clock_is_damaged_is_told() -> None:
    text = (
        RAW.format("44", 50, 80)
        + RAW.format("45", 80, 90).replace("24:45", "2445")
        + RAW.format("46", 90, 95)
    )
    assert [note.line for note in read(text, "raw").unparsed] == [2]


XML = (SAMPLES / "sadf-xml" / "12.7.7-x.xml").read_text()


@pytest.mark.parametrize("tag", ["<disk-device", "<paging", "<tps>", "<cpu "])
def test_an_element_whose_tag_is_lost_is_told(tag: str) -> None:
    lines = XML.split("\n")
    at = next(number for number, line in enumerate(lines) if tag in line)
    lines[at] = lines[at].replace(tag, "").replace(f"</{tag[1:]}", "")
    capture = read("\n".join(lines), "x.xml")
    assert at + 1 in [note.line for note in capture.unparsed]


def test_elements_above_their_time_are_told() -> None:
    lines = XML.split("\n")
    at = [number for number, line in enumerate(lines) if "<timestamp " in line][-1]
    moved = [*lines[:at], *lines[at + 1 : at + 4], lines[at], *lines[at + 4 :]]
    assert [note.line for note in read("\n".join(moved), "x.xml").unparsed]
    assert not read(XML, "x.xml").unparsed


def disks(*names: str, **more: object) -> dict[str, object]:
    keys = ("tps", "kB_read/s", "kB_wrtn/s", "kB_read", "kB_wrtn")
    return {"disk": [{"disk_device": name, **dict.fromkeys(keys, 8.5)} for name in names], **more}


def export(*reports: dict[str, object]) -> iodiag.Capture:
    host = {
        "nodename": "h1",
        "sysname": "Linux",
        "release": "6.1",
        "machine": "x86_64",
        "number-of-cpus": 2,
        "date": "11/20/26",
    }
    return read(json.dumps({"sysstat": {"hosts": [host | {"statistics": [*reports]}]}}, indent=1), "x.json")


def test_a_device_that_stands_twice_in_a_report_is_of_the_next() -> None:
    capture = export(disks("sda", "sdb", "sda", "sdb", "sdc"), disks("sda", "sdb", "sdc"))
    assert capture.disk["device"].tolist() == ["sda", "sdb", "sda", "sdb", "sdc"]
    assert capture.disk["report"].tolist() == [0, 0, 1, 1, 1]
    assert any("comes twice" in note.reason for note in capture.unparsed)


def test_a_device_may_be_in_two_groups() -> None:
    assert not export(
        disks("sda", "sdb", " all", "sda", " one"), disks("sda", "sdb", " all", "sda", " one")
    ).unparsed


PLAIN = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn{}vdk 31.00 640.00 96.00 640 96\n\n"
CPU = "avg-cpu: %user %nice %system %iowait %steal %idle{}11.00 0.00 5.00 30.00 0.00 54.00\n\n"
SWAP = "12:00:01 pswpin/s pswpout/s{}12:10:01 4.00 7.00\n12:20:01 5.00 6.00\n\n"
SHARE = SHARES.format("rkB/s", "wkB/s").replace("fd/s\n", "fd/s{}")


@pytest.mark.parametrize("report", [PLAIN, CPU, SWAP, SHARE], ids=["devices", "cpu", "sar", "shares"])
def test_a_row_glued_to_its_header_is_told(report: str) -> None:
    whole = report.format("\n")
    capture = read(BANNER + whole + report.format("") + whole)
    assert 3 + whole.count("\n") in [note.line for note in capture.unparsed]
    for table in capture.tables.values():
        assert not {"kB_wrtnvdk", "fd/s//nas7/home"} & {*table.get("device", ()), *table.get("mount", ())}


def test_a_name_that_holds_a_word_of_the_header_is_one() -> None:
    capture = read(BANNER + PLAIN.format("\n").replace("vdk", "vg-kB_wrtn"))
    assert capture.disk["device"].tolist() == ["vg-kB_wrtn"]


@pytest.mark.parametrize(
    "prose", ["proc/s rose to 9.00", "tps kB_read/s kB_wrtn/s kB_read and kB_wrtn of disk 2"]
)
def test_words_of_headers_before_a_number_are_no_row(prose: str) -> None:
    capture = read(BANNER + PLAIN.format("\n") + "12:00:01 proc/s\n12:10:01 3.00\n\n" + prose)
    assert not capture.unparsed


@pytest.mark.parametrize(
    ("header", "row"),
    [("proc/s", "3.00"), ("pswpin/s pswpout/s", "4.00 7.00"), ("frmpg/s bufpg/s campg/s", "9.00 -4.00 5.00")],
)
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_row_of_sar_without_its_clock_is_told(header: str, row: str, lost: int) -> None:
    lines = [f"12:00:01 {header}", *(f"12:{minute}:01 {row}" for minute in (10, 20, 30))]
    lines[lost] = " " * 9 + row
    assert [note.line for note in read(BANNER + "\n".join(lines) + "\n").unparsed] == [3 + lost]


def test_the_number_of_a_page_is_no_row_of_sar() -> None:
    assert not read(f"{BANNER}12:00:01 proc/s\n12:10:01 3.00\n12:20:01 4.00\n17\n").unparsed


def test_rows_below_a_header_with_a_glued_row_are_not_of_the_section_above() -> None:
    tasks = "12:00:01 proc/s cswch/s\n12:10:01 1.00 900.00\nAverage: 1.00 900.00\n\n"
    swap = f"{SWAP.format('')[:-1]}Average: 4.50 6.50\n"
    capture = read(BANNER + tasks + swap)
    assert [len(table) for table in capture.averages.values()] == [1]
    assert [note.line for note in capture.unparsed] == [7, 8, 9]


def test_labels_above_statistics_are_no_lines_of_numbers() -> None:
    shares = "12:00:01 CPU %user %nice %system %iowait %steal %idle\n"
    shares += "Average: all 61.00 2.00 5.00 4.00 1.00 27.00\n"
    words = "%user %nice %system %iowait %steal %idle"
    told = f"\n{words} min:\n1.00 0.00 2.00 0.00 0.00 3.00\n{words} max:\n88.00 9.00 7.00 41.00 2.00 96.00\n"
    assert [note.line for note in read(BANNER + shares + told).unparsed] == [7, 9]
