"""What rules see of several inputs: aligned where that is sound, kept apart where it is not."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import iodiag
from iodiag.analysis.view import make_views
from iodiag.analysis.view.make_views import Selection, views
from iodiag.analysis.view.request_columns import anomalies
from iodiag.analysis.view.view import View
from iodiag.api import join
from iodiag.table.table import Table

BANNER = "Linux 5.14.0 (db1) \t11/{day} \t_x86_64_\t(4 CPU)\n\n"
SAR = BANNER + (
    "10:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util\n"
    "10:10:01          sda    100.00    800.00      0.00      8.00      0.50      5.00      5.00     50.00\n"
    "10:20:01          sda    110.00    880.00      0.00      8.00      0.55      5.00      5.00     55.00\n"
)
IOSTAT_ROW = "sda 0.00 0.00 {reads} 0.00 {kb} 0.00 8.00 {depth} 5.00 5.00 0.00 5.00 50.00\n"
FIRST = {"reads": "1.37", "kb": "5.48", "depth": "0.01"}
LATER = {"reads": "112.37", "kb": "449.48", "depth": "0.56"}
IOSTAT = BANNER + "".join(
    f"11/{{day}} 10:{minute}:00\n"
    "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    + IOSTAT_ROW.format(**(LATER if minute > 10 else FIRST))
    + "\n"
    for minute in (10, 12, 14, 16)
)
AGAIN = "This is the row that I mean:\n\n"


def read(text: str, name: str, day: str = "20/26") -> iodiag.Capture:
    return iodiag.read(io.BytesIO(text.replace("{day}", day).encode()), name=name)


def view_of(*captures: iodiag.Capture, **options: object) -> View:
    (view,) = views(join(captures), Selection(**options))
    return view


def rows(view: View) -> dict[str, int]:
    disk = view.table("disk")
    assert disk is not None
    return disk.groupby("source").size().to_dict()


def test_two_tools_over_the_same_minutes_count_a_load_once():
    view = view_of(read(SAR, "sar"), read(IOSTAT, "iostat"))
    assert rows(view) == {"iostat": 3}, "the one with reads and writes apart; its first report is since boot"


def test_the_days_of_an_archive_stand_side_by_side():
    view = view_of(read(SAR, "sa20"), read(SAR, "sa21", day="21/26"))
    assert rows(view) == {"sa20": 2, "sa21": 2}
    (series,) = view.devices
    assert list(series.frame["sample"]) == [0, 1, 2, 3]
    assert series.frame["stream"].nunique() == 2


def test_vmstat_without_a_clock_stays_beside_iostat():
    vmstat = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        " 2  0      0 141345   1408  23048    0    0   685     4  348  256 13 51 32  4  0\n"
        " 1  3      0 141345   1408  23048    0    0   400     0 1348 3256  3 11 32 54  0\n"
    )
    view = view_of(read(IOSTAT, "iostat"), read(vmstat, "vmstat"))
    queue = view.table("queue")
    assert queue is not None
    assert queue["blocked"].tolist() == [0, 3], "tasks are of the moment in the first row as well"
    assert rows(view) == {"iostat": 3}


def test_zoned_and_unzoned_clocks_are_never_compared():
    """A zone and none may be hours apart: the two inputs count as one load, and one is kept."""
    zoned = IOSTAT.replace("11/{day} 10", "2026-11-20T22").replace(":00\nDevice", ":00+0000\nDevice")
    both = (read(SAR, "sar"), read(zoned, "iostat"))
    assert rows(view_of(*both)) == {"iostat": 3}
    (told,) = views(join(both, "UTC"), Selection())
    assert rows(told) == {"iostat": 3, "sar": 2}, "with --tz they are hours apart, and both stay"


@pytest.mark.parametrize(("device", "count"), [("sda", 2), ("sdz", 0)])
def test_a_device_that_is_not_there_leaves_nothing(device, count):
    (view,) = views(join([read(SAR, "sar")]), Selection(devices=(device,)))
    disk = view.table("disk")
    assert (0 if disk is None else len(disk)) == count


def test_a_load_that_is_quoted_twice_counts_once():
    header, row = IOSTAT.split("\n")[3:5]
    view = view_of(read(f"{header}\n{row}\n\nas I said:\n\n{header}\n{row}\n", "ticket"))
    assert rows(view) == {"ticket": 1}


def test_a_device_that_stays_as_it_was_keeps_its_samples():
    header, row = IOSTAT.split("\n")[3:5]
    busy = IOSTAT_ROW.format(**LATER).replace("sda", "sdb")
    text = f"Before:\n{header}\n{row}\n{busy}\nAfter:\n{header}\n{row}\n{busy.replace('5.00', '7.00')}"
    assert [len(series.samples) for series in view_of(read(text, "ticket")).devices] == [2, 2]


def test_a_part_of_a_report_that_is_quoted_again_counts_once():
    header, row = IOSTAT.split("\n")[3:5]
    others = IOSTAT_ROW.format(**LATER).replace("sda", "sdb"), row.replace("sda", "sdc")
    idle = "sdd" + " 0.00" * (len(row.split()) - 1)
    report = f"{header}\n{row}\n{others[0]}{others[1]}\n{idle}\n"
    view = view_of(read(f"{report}\nas I said:\n\n{header}\n{others[0]}{idle}\n", "ticket"))
    assert [len(series.samples) for series in view.devices] == [1, 1, 1, 1]


def test_averages_alone_are_shown_as_a_last_resort():
    text = BANNER + SAR.split("\n")[2] + "\nAverage: sda 100.00 800.00 0.00 8.00 0.50 5.00 5.00 50.00\n"
    view = view_of(read(text, "sar"))
    assert view.average_only == {"disk"}


def test_rows_turned_by_device_are_those_that_are_fetched(monkeypatch):
    two = SAR.replace("sda    100.00", "sdb      7.00").replace("sda    110.00", "sdb      9.00")
    text = SAR + "".join(line for line in two.splitlines(keepends=True) if "sdb" in line)
    lines = sorted(text.splitlines(keepends=True)[3:])
    capture = read("".join([*text.splitlines(keepends=True)[:3], *lines]), "sar")
    fetched = view_of(capture)
    monkeypatch.setattr(make_views, "_MANY", 1)
    turned = view_of(capture)
    assert [series.name for series in turned.devices] == ["sda", "sdb"]
    for one, other in zip(turned.devices, fetched.devices, strict=True):
        pd.testing.assert_frame_equal(one.frame, other.frame)
    assert rows(turned) == rows(fetched)


def test_the_number_of_an_input_is_no_rate():
    many = Table.of_columns({"stream": np.array([2_000_000_000]), "ios_per_s": np.array([1.0])}, 1)
    assert anomalies(many).tolist() == [0]


@pytest.mark.parametrize(
    ("kb", "reason"),
    [(5.0, 0), (1.1e9, 1), (-0.5, 1), (np.nan, 0)],
)
def test_what_no_device_does_is_seen_beside_what_is_known_and_unknown(kb, reason):
    for other in (1.0, np.nan):
        rows = Table.of_columns(
            {"ios_per_s": np.ones(3), "await_ms": np.ones(3), "read_kb_per_s": np.array([1.0, kb, other])}, 3
        )
        assert anomalies(rows).tolist() == [0, reason, 0]


@pytest.mark.parametrize(
    ("shares", "is_measured", "is_told"),
    [
        ("20.00 0.00 10.00 30.00 0.00 40.00", True, False),
        ("20.00 0.00 10.00 30.00 0.00 60.00", True, True),  # clocks: 120 %
        ("0.00 0.00 0.00 0.00 0.00 0.00", False, False),
        ("30.00 0.00 20.00 3.00 0.00 10.00", False, True),
        ("20.00 0.00 10.00 3.00 0.00 10.00", False, False),  # less than half of the time: it is not read
        ("0.00 0.00 50.00 0.00 0.00 97.00", False, True),
        ("20.00 0.00 10.00 95.00 0.00 95.00", False, False),  # no row of these columns: it is not read
    ],
)
def test_cpu_rows_whose_shares_are_far_from_the_whole_are_no_measurement(shares, is_measured, is_told):
    text = BANNER + "10:00:01  CPU %user %nice %system %iowait %steal %idle\n"
    text += f"10:10:01  all {shares}\n10:20:01  all 5.00 0.00 5.00 0.00 0.00 90.00\n"
    view = view_of(read(text, "sar"))
    assert view.cpu_all is not None
    assert len(view.cpu_all) == 1 + is_measured
    findings = iodiag.analyze([read(text, "sar")], rules=["counter-anomaly"]).findings
    assert [f.rule for f in findings] == ["counter-anomaly"] * is_told


def test_cpu_rows_without_a_column_of_iowait_need_not_add_up():
    text = "r b swpd free buff cache si so bi bo in cs us sy id\n"
    for number, user, idle in ((1, 20, 70), (2, 5, 45), (3, 20, 70)):
        text += f"1 0 0 900{number} 10 9000 0 0 5 9 100 200 {user} 10 {idle}\n"
    cpu = view_of(read(text, "vmstat")).cpu_all
    assert cpu is not None
    assert len(cpu) == 3


@pytest.mark.parametrize(
    ("iowait", "between", "samples"),
    [((25.0, 24.5), "", 2), ((25.0, 25.0), "", 2), ((25.0, 24.5), AGAIN, 2), ((25.0, 25.0), AGAIN, 1)],
)
def test_equal_tables_are_samples_in_one_run_or_where_their_cpu_rows_differ(iowait, between, samples):
    table = (
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "           1.00    0.00    1.00   {:.2f}    0.00   73.00\n\n"
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm"
        "  %util\n"
        "sda               0.00     5.00    3.00   10.00    12.00  1060.00   212.00     1.08  109.00  10.00"
        " 100.00\n\n"
    )
    text = between.join(map(table.format, iowait))
    view = view_of(iodiag.read(io.BytesIO(text.encode()), name="a.txt"))
    assert len(view.series("sda").samples) == samples


ONE_WAY = "Device: {way}/s {way}kB/s avgrq-sz avgqu-sz await {way}_await svctm %util\n"


@pytest.mark.parametrize(("way", "rates"), [("r", "reads_per_s"), ("w", "writes_per_s")])
@pytest.mark.parametrize(
    ("row", "total"),
    [
        (
            "sda 380.00 48640.00 256.00 0.17 0.93 0.93 0.45 17.10",
            380.0,
        ),  # its size and latency are all requests'
        ("sda 380.00 48640.00 256.00 0.17 0.93 0.70 0.45 17.10", None),  # others have another latency
    ],
)
def test_a_total_is_never_below_one_of_its_parts(way, rates, row, total):
    disk = view_of(read(ONE_WAY.replace("{way}", way) + row + "\n", "iostat")).table("disk")
    assert disk[rates].tolist() == [380.0]
    assert disk["ios_per_s"].tolist() == [total if total else pytest.approx(np.nan, nan_ok=True)]


ROUNDED = (
    "Device r/s w/s {unit} rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n"
    "sda 2.00 8.40 {moved} 1.60 2.40 44.44 22.22 4.80 17.05 0.15 7.60 4.23 9.08 9.44\n"
)


@pytest.mark.parametrize(
    ("unit", "moved", "reads", "writes"),
    [
        ("rMB/s wMB/s", "0.01 0.03", 15.2, 35.532),
        ("rMB/s wMB/s", "0.05 0.09", 51.2, 92.16),  # no hundredth that the sizes round to
        ("rkB/s wkB/s", "10.50 30.20", 10.5, 30.2),
        ("rkB/s wkB/s", "15.20 35.53", 15.2, 35.53),
    ],
    ids=["hundredths of MB", "other bytes", "bytes of others", "kB"],
)
def test_a_printed_size_tells_the_bytes_that_hundredths_of_mb_round_away(unit, moved, reads, writes):
    samples = view_of(read(ROUNDED.format(unit=unit, moved=moved), "iostat")).series("sda").samples
    found = [samples.floats(f"{way}kb_per_s")[0] for way in ("read_", "write_", "")]
    assert found == pytest.approx([reads, writes, reads + writes])


OLD_VMSTAT = "   procs                      memory      swap          io     system      cpu\n"
OLD_VMSTAT += " r b w swpd free buff cache si so bi bo in cs us sy id\n"


@pytest.mark.parametrize(
    ("ratios", "are_blocks"),
    [
        ((4.0, 3.99, 4.0, 3.95, 4.0, 4.0), True),
        ((4.0, 3.99, 0.8, 1.2, 1.0, 4.0), False),  # written late, at the edges of samples
        ((1.0, 0.98, 1.0, 0.99, 1.0, 0.97), False),
        ((40.0, 90.0, 25.0, 400.0, 60.0, 33.0), False),  # swap in memory
        ((4.0, 4.0, 4.0), False),
    ],
)
def test_bo_below_a_fixed_part_of_so_is_in_no_kb(ratios, are_blocks):
    pages = [(0, 20), *((1200 + 80 * n, (1200 + 80 * n) / ratio) for n, ratio in enumerate(ratios))]
    table = [f" 1 1 0 9000 1656 3276 25128 0 {so} 640 {bo:.0f} 300 280 20 34 46\n" for so, bo in pages]
    tables = view_of(read(OLD_VMSTAT + "".join(table), "vmstat")).tables
    assert ("paging_in_blocks" in tables, "paging" in tables) == (are_blocks, not are_blocks)
    # later releases count kB
    new = OLD_VMSTAT.replace(" b w ", " b ").replace("sy id", "sy id wa") + "".join(
        row.replace(" 1 1 0 ", " 1 1 ").replace("46\n", "40 6\n") for row in table
    )
    assert "paging" in view_of(read(new, "vmstat")).tables
