"""The tables of a host: CPU, tasks, memory and swap as they are, and each byte of the disks once."""

from __future__ import annotations

import io

import pytest

import iodiag
from writers.captures import iostat, sar_d, vmstat


def tables_of(*texts):
    inputs = [iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate(texts)]
    report = iodiag.analyze(inputs)
    return {table.name: table for table in report.host_tables}, report


def load(rate, kb=8.0, util=10.0):
    return {"r/s": rate, "rkB/s": rate * kb, "r_await": 1.0, "aqu-sz": rate / 1000, "%util": util}


LSBLK = "NAME KNAME TYPE\nsda sda disk\n`-sda1 sda1 part\n  `-vg-lv dm-0 lvm\nsdb sdb disk\n"
STACK = {"sda": load(100), "sda1": load(100), "dm-0": load(100), "sdb": load(50)}


@pytest.mark.parametrize(
    ("sample", "context", "leaves", "rate"),
    [
        ({"sda": load(100), "sdb": load(50)}, (), ("sda", "sdb"), 150),
        (STACK, (LSBLK,), ("sda", "sdb"), 150),
        ({"md0": load(100), "sda": load(100), "sdb": load(100)}, (), ("sda", "sdb"), 200),
        ({"dm-0": load(70)}, (), ("dm-0",), 70),
        ({"sda": load(100), "zram0": load(500)}, (), ("sda",), 100),
        ({"sda": load(100), "dm-0": load(70), "drbd1": load(30)}, (), ("sda",), 100),
        (
            {"dev8-0": load(100), "dev7-0": load(9), "dev253-0": load(70), "dev253-1": load(30)},
            (),
            ("sda",),
            100,
        ),
        ({"dev252-0": load(100), "dev253-0": load(70), "dev253-1": load(30)}, (), ("dev252-0",), 100),
    ],
    ids=[
        "disks",
        "a stack",
        "an array by its name",
        "nothing but a layer",
        "memory is no disk",
        "volumes by their names",
        "volumes and files by their numbers",
        "a disk by a number that the kernel gives out",
    ],
)
def test_totals_count_each_byte_once(sample, context, leaves, rate):
    tables, _ = tables_of(iostat([sample] * 3), *context)
    totals = tables["totals"]
    assert (totals.devices, totals.samples) == (leaves, 3)
    assert totals.summary["reads_per_s"]["median"] == pytest.approx(rate)
    assert totals.summary["read_kb_per_s"]["median"] == pytest.approx(8 * rate)


def test_without_a_disk_the_totals_are_those_that_sar_counts():
    rows = "".join(f"13:0{n}:00 {90.0 * n:.2f} 60.00 30.00 800.00 400.00\n" for n in (1, 2, 3))
    tables, report = tables_of(f"13:00:00 tps rtps wtps bread/s bwrtn/s\n{rows}")
    assert (tables["totals"].devices, tables["totals"].samples) == ((), 3)
    assert tables["totals"].summary["ios_per_s"]["median"] == 180
    assert tables["totals"].summary["read_kb_per_s"]["max"] == 400
    assert "### All disks" in report.to_markdown(full=True)


def test_volumes_without_a_disk_are_not_added_up():
    tables, _ = tables_of(iostat([{"dm-0": load(70), "dm-1": load(70)}] * 3))
    assert "totals" not in tables


def test_a_full_disk_is_not_hidden_in_a_mean_of_busy_shares():
    tables, _ = tables_of(iostat([{"sda": load(100, util=99.0), "sdb": load(0, util=0.0)}] * 3))
    assert "util_pct" not in tables["totals"].summary


def test_a_disk_that_a_report_leaves_out_moved_nothing_in_it():
    row = {"tps": 100.0, "rkB/s": 800.0, "await": 1.0}
    tables, _ = tables_of(sar_d([{"sda": row, "sdb": row}, {"sda": row}, {"sda": row}]))
    extent = tables["totals"].summary["ios_per_s"]
    assert (extent["median"], extent["max"]) == (100, 200)


def test_a_sum_is_unknown_where_a_disk_at_work_does_not_show_its_part():
    row = {"tps": 120.0, "rkB/s": 500.0, "wkB/s": 3800.0, "areq-sz": 35.8, "await": 9.0, "%util": 25.0}
    tables, _ = tables_of(sar_d([{"sda": row, "sdb": {}}] * 3))
    assert tables["totals"].summary["ios_per_s"]["median"] == 120
    assert "reads_per_s" not in tables["totals"].summary


def test_vmstat_tells_of_tasks_memory_and_swap():
    rows = [{"r": 3, "b": 2, "free": 5000, "so": 40, "us": 20, "wa": 30}] * 4
    tables, report = tables_of(vmstat(rows))
    assert tables["tasks"].summary["blocked"]["max"] == 2
    assert tables["memory"].summary["free_kb"]["median"] == 5000
    assert tables["swap"].summary["swap_out_kb_per_s"]["median"] == 40
    assert tables["cpu"].summary["iowait_pct"]["median"] == 30
    assert "totals" not in tables
    text = report.to_markdown(full=True)
    assert all(f"### {heading}" in text for heading in ("CPU", "Tasks", "Memory", "Swap"))
    assert '"host_tables"' in report.to_json()


def test_flushes_and_discards_are_shown_where_there_are_any():
    busy = load(100) | {"f/s": 50.0, "f_await": 4.0, "d/s": 3.0, "dkB/s": 96.0, "d_await": 7.0}
    text = tables_of(iostat([{"sda": busy}] * 3))[1].to_markdown(full=True)
    assert "flushes/s" in text
    assert "discard await ms" in text
    text = tables_of(iostat([{"sda": load(100)}] * 3))[1].to_markdown(full=True)
    assert "flush await" not in text
    assert "discard await" not in text


@pytest.mark.parametrize(
    ("shown", "samples", "median"),
    [
        (("sda sdb sdc", "sda sdb sdc", "sda sdb"), 2, 30),
        (("sda sdb sdc", "sda sdb sdc", "sda sdb sdc"), 3, 30),
        (("sda sdb", "sda sdc", "sda"), 3, 20),
        (("sda sdb sdc", "sda sdb", "sda sdb sdc"), 3, 30),
    ],
    ids=["cut in the last", "whole", "idle rows left out", "less in between"],
)
def test_a_last_report_that_is_cut_is_no_sum_of_all_disks(shown, samples, median):
    text = iostat([{name: load(10) for name in names.split()} for names in shown])
    totals = tables_of(text)[0]["totals"]
    assert totals.samples == samples
    assert totals.summary["reads_per_s"]["median"] == pytest.approx(median)
