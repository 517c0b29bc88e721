import io
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.analysis.view.request_columns import enrich
from iodiag.formats.tables.pt_diskstats import layout
from iodiag.table.table import Table
from property_tests import examples

WORDS = [f"{way}_{word}" for way in ("rd", "wr") for word in ("s", "avkb", "mb_s", "mrg", "cnc", "rt")]
WORDS += ["busy", "in_prg", "io_s", "qtime", "stime"]
HEADER = "  #ts device    " + " ".join(WORDS) + "\n"
SDA = "sda  170.5 16.0 2.7 0% 1.9 11.0 194.5 12.3 2.3 68% 1.2 1.9 98% 6 365.0 2.7 1.3\n"
SDB = "sdb    5.0  4.0 0.0 0% 0.0  9.0   2.0  4.0 0.0  0% 0.0 5.0  5% 0   7.0 0.7 7.1\n"


def read(text):
    return iodiag.read(io.BytesIO(text.encode()))


def devices(disk):
    return disk["device"].astype(str).tolist()


def test_columns_and_units():
    row = read(HEADER + "  1.0 " + SDA).disk.iloc[0]
    assert (row["device"], row["line"]) == ("sda", 2)
    assert (row["reads_per_s"], row["read_request_size_kb"], row["read_kb_per_s"]) == (170.5, 16, 2.7 * 1024)
    assert (row["write_merges_pct"], row["write_queue_depth"], row["write_await_ms"]) == (68, 1.2, 1.9)
    assert (row["util_pct"], row["in_progress"], row["ios_per_s"]) == (98, 6, 365)
    assert not {"qtime_ms", "stime_ms", "svctm_ms"} & set(row.index)
    assert not row["is_group"]


@pytest.mark.parametrize(
    ("marks", "interval"),
    [
        (("1.0", "2.0", "3.1"), 1.0),
        (("10.0", "10.1", "9.9"), 10.0),
        (("127.0", "129.0", "131.0"), 2.0),
        (("18:39:56", "18:39:58", "18:40:00"), 2.0),
        (("{29}", "{29}", "{29}"), np.nan),
    ],
    ids=["elapsed", "lengths", "cut-off-start", "clocks", "counts"],
)
def test_what_stands_in_front_of_a_row(marks, interval):
    rows = (f"{mark} {SDA}{mark} {SDB}" for mark in marks)
    disk = read(HEADER + "\n".join(rows)).disk
    assert disk["report"].tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(disk["interval_s"], interval, atol=0.11)
    assert disk["time"].isna().all()
    assert not disk["since_boot"].any()


def test_a_disk_that_awakes_belongs_to_the_report_that_shows_it():
    disk = read(HEADER + f" 1.0 {SDA} 2.0 {SDA}\n 3.0 {SDA} 3.0 {SDB}").disk
    assert devices(disk) == ["sda", "sda", "sda", "sdb"]
    assert disk["report"].tolist() == [0, 1, 2, 2]
    assert disk["interval_s"].tolist() == [1, 1, 1, 1]


def test_headers_between_reports_make_no_difference():
    once = read(HEADER + f" 1.0 {SDA} 2.0 {SDA} 3.0 {SDA}").disk
    often = read(HEADER + f" 1.0 {SDA}" + HEADER + f" 2.0 {SDA}" + HEADER + HEADER + f" 3.0 {SDA}").disk
    columns = [name for name in once if name not in ("source", "line")]
    assert once[columns].equals(often[columns])


def test_many_devices_in_one_line_are_a_group():
    disk = read(HEADER + " 2.0 " + SDA.replace("sda", "{8}") + " 4.0 " + SDA.replace("sda", "{8}")).disk
    assert devices(disk) == ["{8}", "{8}"]
    assert disk["is_group"].all()


def test_requests_in_flight_are_finer_than_one_decimal():
    disk = read(HEADER + f" 1.0 {SDA} 1.0 {SDB}").disk
    sda, sdb = disk["queue_depth"]
    assert abs(sda - (1.9 + 1.2)) < 0.1
    assert abs(sda - (170.5 * 11.0 + 194.5 / 0.32 * 1.9) / 1000) < 1e-9
    assert abs(sdb - 0.055) < 1e-9


def test_requests_in_flight_are_unknown_where_digits_do_not_tell():
    fast = "nvme0n1 500.0 4.0 2.0 0% 0.0 0.0 100.0 4.0 0.4 0% 0.0 0.1 9% 0 600.0 0.0 0.1\n"
    idle = "sdc 0.0 0.0 0.0 0% 0.0 0.0 0.0 0.0 0.0 0% 0.0 0.0 0% 0 0.0 0.0 0.0\n"
    disk = read(HEADER + f" 1.0 {fast} 1.0 {idle}").disk
    assert np.isnan(disk["queue_depth"].iloc[0])
    assert not [f for f in iodiag.analyze(read(HEADER + f" 1.0 {fast} 2.0 {fast} 3.0 {fast}")).findings]


def test_little_s_law_holds_in_what_rules_see():
    frame = enrich(Table.of(read(HEADER + f" 1.0 {SDA}").disk)).frame
    row = frame.iloc[0]
    product = row["reads_per_s"] * row["read_await_ms"] + row["writes_per_s"] * row["write_await_ms"]
    assert row["depth"] == pytest.approx(product / 1000)
    assert row["write_await_ms"] == pytest.approx(1.9 / 0.32)


@pytest.mark.parametrize(
    "words",
    ["rd_s wr_s busy", " ".join(reversed(WORDS)), "wr_s wr_rt", " ".join(WORDS[:14])],
)
def test_any_columns_in_any_order(words):
    found = layout(("device", *words.split()))
    assert [column.raw for column in found.columns] == words.split()
    values = " ".join("1.0" for _ in words.split())
    assert len(read(f"#ts device {words}\n 1.0 sda {values}\n").disk) == 1


@pytest.mark.parametrize(
    "words", ["device", "device is busy", "device rd_s rd_s", "disk rd_s wr_s", "rd_s wr_s"]
)
def test_other_headers_are_left_alone(words):
    assert layout(tuple(words.split())) is None


DRESSED = {
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "indented": lambda text: "".join(f"\t{line}\n" for line in text.splitlines()),
    "html": lambda text: f"<pre>{text}</pre>",
    "coloured": lambda text: text.replace("98%", "\x1b[31m98%\x1b[0m"),
    "comment": lambda text: text.replace("#ts", "# #ts"),
    "prose": lambda text: f"This is what I see:\n{text}\nsda 0% . . . . \nAny idea?\n",
    "cut": lambda text: "".join(f"{line[:-4]}\n" for line in text.splitlines()),
}


@pytest.mark.parametrize("dress", DRESSED)
def test_dressed_captures(dress):
    capture = read(DRESSED[dress](HEADER + f" 1.0 {SDA} 1.0 {SDB}\n 2.0 {SDA} 2.0 {SDB}"))
    assert devices(capture.disk) == ["sda", "sdb"] * 2
    assert capture.disk["util_pct"].tolist() == [98, 5, 98, 5]
    assert capture.disk["report"].tolist() == [0, 0, 1, 1]
    assert not capture.unparsed


def test_rows_that_mail_wrapped():
    half = len("#ts device") + 40
    lines = (HEADER + f" 1.0 {SDA} 1.0 {SDB}").splitlines()
    wrapped = []
    for line in lines:
        at = line.index(" ", half)
        wrapped += [line[:at], line[at:].strip()]
    disk = read("\n".join(wrapped) + "\n").disk
    assert devices(disk) == ["sda", "sdb"]
    assert disk["util_pct"].tolist() == [98, 5]


def test_a_damaged_row_is_shown():
    capture = read(HEADER + f" 1.0 {SDA} 2.0 sda 170.5 16.0 ?? 0% 1.9 11.0\n 3.0 {SDA}")
    assert [note.line for note in capture.unparsed] == [3]
    assert len(capture.disk) == 2


def test_sar_below_it_keeps_its_clocks():
    sar = "12:00:01 AM DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n"
    rows = "".join(f"12:{n:02d}:01 AM sda 1.00 2.00 3.00 0.00 5.00 0.00 0.50 0.10\n" for n in (10, 20))
    capture = read(HEADER + f" 1.0 {SDA}\n{sar}{rows}")
    assert len(capture.disk) == 3
    assert capture.disk["interval_s"].tolist()[1:] == [600, 600]


@examples(30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3))
def test_round_trip(seed, reports, disks):
    source = random.Random(seed)
    rows, text = [], HEADER
    for report in range(1, reports + 1):
        for disk in range(disks):
            values = [round(source.uniform(0, 999), 1) for _ in WORDS]
            rows.append(values)
            cells = (
                f"{v:.1f}%" if w in ("rd_mrg", "wr_mrg", "busy") else f"{v:.1f}"
                for v, w in zip(values, WORDS, strict=True)
            )
            text += f"{report:5.1f} sd{'abc'[disk]} " + " ".join(cells) + "\n"
    disk = read(text).disk
    assert len(disk) == len(rows)
    for word, column in (("rd_s", "reads_per_s"), ("wr_rt", "write_await_ms"), ("busy", "util_pct")):
        assert disk[column].tolist() == [values[WORDS.index(word)] for values in rows]
    assert disk["line"].tolist() == list(range(2, len(rows) + 2))
