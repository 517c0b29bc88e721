"""What the counters of binary files come to: wraps, devices that come and go, CPUs, units."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from writers import sa_writer as w
from writers.sa_cases import START, disk, item, one_table, read, record

# --- counters: wraps, restarts, devices that come and go ------------------------------------------


def disk_file(*records: Sequence[w.Item], layout: w.Layout = w.DISK, **options: object) -> w.SaFile:
    stats = [record(number, {11: disks}) for number, disks in enumerate(records)]
    return replace(w.SaFile([layout], stats), **options)


def test_devices_are_followed_by_number_not_by_place() -> None:
    reading = read(
        disk_file(
            [disk(minor=0, ios=1000), disk(minor=16, ios=5000)],
            [disk(minor=16, ios=5100), disk(minor=32, ios=70), disk(minor=0, ios=1030)],
            [disk(minor=16, ios=5150)],
        )
    )
    rows = reading.tables["disk"]
    got = list(zip(rows["report"], rows["device"], rows["ios_per_s"], strict=True))
    # dev8-32 was not there before: as sysstat has it, it counts from zero.
    assert got == [(0, "dev8-16", 10.0), (0, "dev8-32", 7.0), (0, "dev8-0", 3.0), (1, "dev8-16", 5.0)]


@pytest.mark.parametrize(
    ("before", "after", "ios_per_s", "read_kb_per_s"),
    [
        ({"ios": 900, "read": 8000, "write": 10}, {"ios": 300, "read": 800, "write": 5}, 30.0, 40.0),
        ({"ios": 900, "read": 8000, "write": 0}, {"ios": 300, "read": 800, "write": 50}, 30.0, 40.0),
        (
            {"ios": 2**32 - 9, "read": 2**32 - 9, "write": 5},
            {"ios": 300, "read": 800, "write": 1},
            30.0,
            40.0,
        ),
        ({"ios": 900, "read": 8000, "write": 0}, {"ios": 900, "read": 8000, "write": 50}, 0.0, 0.0),
    ],
    ids=["all fell", "one was zero", "all fell as if they wrapped", "none fell"],
)
def test_a_disk_that_was_registered_anew_counts_from_zero(
    before: dict[str, int], after: dict[str, int], ios_per_s: float, read_kb_per_s: float
) -> None:
    row = read(disk_file([disk(**before)], [disk(**after)])).tables["disk"].iloc[0]
    assert (row["ios_per_s"], row["read_kb_per_s"]) == (ios_per_s, read_kb_per_s)


def test_a_tick_counter_that_went_back_gives_nothing() -> None:
    row = read(disk_file([disk(ios=10, busy_ms=900)], [disk(ios=20, busy_ms=800)])).tables["disk"].iloc[0]
    assert math.isnan(row["util_pct"])
    assert row["ios_per_s"] == 1.0


def test_sectors_of_a_32_bit_writer_wrap_at_32_bits() -> None:
    file = disk_file([disk(ios=10, read=2**32 - 100)], [disk(ios=20, read=100)], long_bytes=4)
    assert read(file).column("disk", "read_kb_per_s") == [10.0]


def test_spare_places_of_old_files_are_no_disks() -> None:
    layout = w.DISK_OLD
    for magic in (0x2171, 0x2173):
        file = disk_file([disk(layout)], [disk(layout, ios=10)], layout=layout, magic=magic, slots={11: 6})
        assert read(file).tables["disk"]["device"].tolist() == ["dev8-0"]


def test_the_same_name_twice_in_a_record_stays_two_rows() -> None:
    file = disk_file([disk(ios=10), disk(ios=500)], [disk(ios=20), disk(ios=600)])
    assert read(file).column("disk", "ios_per_s") == [1.0, 10.0]


# --- CPUs -----------------------------------------------------------------------------------------


def cpus(*entries: dict[str, int]) -> dict[int, Sequence[w.Item]]:
    return {1: [item(w.CPU, **entry) for entry in entries]}


def cpu_rows(*records: dict[int, Sequence[w.Item]], **options: object) -> list[tuple[int, str, float, float]]:
    stats = [record(number, items) for number, items in enumerate(records)]
    rows = read(replace(w.SaFile([w.CPU], stats), **options)).tables["cpu"]
    return list(zip(rows["report"], rows["cpu"], rows["user_pct"], rows["idle_pct"], strict=True))


def test_all_cpus_are_the_sum_of_the_cpus_from_11_7_3_on() -> None:
    # The kernel's own line (the first entry) lags one tick behind.
    records = (
        cpus({"user": 20, "idle": 20}, {"user": 10, "idle": 10}, {"user": 10, "idle": 10}),
        cpus({"user": 59, "idle": 80}, {"user": 40, "idle": 30}, {"user": 20, "idle": 50}),
    )
    assert cpu_rows(*records)[0] == (0, "all", 40.0, 60.0)
    assert cpu_rows(*records, version=(11, 7, 1))[0] == (
        0,
        "all",
        pytest.approx(39.39, abs=0.01),
        pytest.approx(60.61, abs=0.01),
    )


def test_an_offline_cpu_has_no_row_and_goes_on_from_its_last_sample() -> None:
    rows = cpu_rows(
        cpus({}, {"user": 10, "idle": 10}, {"user": 10, "idle": 10}),
        cpus({}, {"user": 20, "idle": 20}, {}),
        cpus({}, {"user": 30, "idle": 30}, {"user": 20, "idle": 40}),
    )
    assert rows == [
        (0, "all", 50.0, 50.0),
        (0, "0", 50.0, 50.0),
        (1, "all", 100 * 20 / 60, 100 * 40 / 60),
        (1, "0", 50.0, 50.0),
        (1, "1", 25.0, 75.0),
    ]


def test_a_cpu_without_an_earlier_sample_is_left_out() -> None:
    rows = cpu_rows(
        cpus({}, {"user": 10, "idle": 10}, {}),
        cpus({}, {"user": 20, "idle": 20}, {"user": 900, "idle": 1}),
    )
    assert rows == [(0, "all", 50.0, 50.0), (0, "0", 50.0, 50.0)]


def test_a_cpu_whose_clock_stood_still_was_idle() -> None:
    same = {"user": 10, "idle": 10}
    assert cpu_rows(cpus({}, same), cpus({}, same))[1] == (0, "0", 0.0, 100.0)


def test_system_time_includes_interrupts_and_counters_that_went_back_count_nothing() -> None:
    before = {"user": 10, "iowait": 50, "idle": 0, "guest": 5}
    after = {"user": 40, "system": 10, "irq": 20, "softirq": 30, "iowait": 45, "idle": 10, "guest": 15}
    stats = [record(n, {1: [item(w.CPU), item(w.CPU, **e)]}) for n, e in enumerate((before, after))]
    row = read(w.SaFile([w.CPU], stats, cpus=1)).tables["cpu"].iloc[1]
    assert row[["user_pct", "guest_pct", "iowait_pct", "idle_pct"]].tolist() == [30.0, 10.0, 0.0, 10.0]
    assert row[["system_pct", "irq_pct", "softirq_pct"]].tolist() == [60.0, 20.0, 30.0]


def test_guest_time_that_user_time_did_not_follow_is_time_too() -> None:
    # What sadf 12.7.7 makes of such ticks: 54 of user time are 27 % of 200, not of 199.
    rows = cpu_rows(
        cpus({}, {"user": 100, "system": 100}, {"user": 100, "system": 100}),
        cpus({}, {"user": 154, "system": 146}, {"user": 100, "system": 199, "guest": 1}),
    )
    assert rows[0] == (0, "all", 27.0, 0.0)


def test_hot_plugged_cpus_of_0x2173_change_the_number_of_entries() -> None:
    def stats(number: int, entries: int) -> w.Stats:
        ticks = 500_000 + 1000 * number
        items = {1: [item(w.CPU_OLD, user=10 * number + 1, idle=10 * number + 1)] * entries}
        return w.Stats(START + number * 10, ticks * 2, items, uptime_one=ticks)

    records = [stats(0, 3), stats(1, 3), w.Restart(START + 15, cpus=4), stats(2, 5), stats(3, 5)]
    head = w.SaFile([w.CPU_OLD], records[:2], magic=0x2173, slots={1: 3})
    tail = replace(head, records=records[2:], slots={1: 5})
    # The list of activities is that of the file's creation, with three entries.
    data = bytearray(head.write() + tail.write()[len(replace(tail, records=[]).write()) :])
    struct.pack_into("<I", data, 76 + 16, 1)
    reading = read(bytes(data))
    assert reading.notes == []
    assert [section.cpus for section in reading.sections] == [2, 4]
    assert len(reading.tables["cpu"]) == 3 + 5


# --- the other activities that need more than their counters --------------------------------------


def test_interrupts_of_single_cpus_are_listed_where_they_fired() -> None:
    layout = w.IRQ_MATRIX._replace(subitems=2)

    def matrix(*counts: int) -> list[w.Item]:
        names = [b"sum", b"NMI"] + [b""] * 4
        return [{"count": count, "name": name} for count, name in zip(counts, names, strict=True)]

    rows = one_table(layout, "interrupts", matrix(0, 0, 0, 0, 0, 0), matrix(90, 30, 60, 0, 30, 30))
    got = list(zip(rows["interrupt"], rows["cpu"], rows["interrupts_per_s"], strict=True))
    assert got == [
        ("sum", "all", 9.0),
        ("NMI", "all", 3.0),
        ("sum", "0", 6.0),
        ("sum", "1", 3.0),
        ("NMI", "1", 3.0),
    ]


def test_interrupts_before_the_matrix() -> None:
    rows = one_table(w.IRQ, "interrupts", [{"count": 0}, {"count": 0}], [{"count": 50}, {"count": 20}])
    assert list(zip(rows["interrupt"], rows["cpu"], rows["interrupts_per_s"], strict=True)) == [
        ("sum", "all", 5.0),
        ("0", "all", 2.0),
    ]


@pytest.mark.parametrize(("duplex", "util"), [(2, 16.0), (1, 24.0), (0, 24.0)])
def test_a_full_duplex_link_is_as_busy_as_its_busier_direction(duplex: int, util: float) -> None:
    before = item(w.NET, name=b"eth0", speed=100, duplex=duplex)
    after = before | {"rx_bytes": 10_000_000, "tx_bytes": 20_000_000}
    assert one_table(w.NET, "network", [before], [after])["util_pct"].tolist() == pytest.approx([util])


@pytest.mark.parametrize(
    ("version", "used"),
    [
        ((11, 7, 3), 900.0),
        ((11, 6, 4), 400.0),
        ((11, 4, 10), 400.0),
        ((11, 5, 7), 900.0),
        ((12, 6, 1), 400.0),
    ],
)
def test_used_memory_is_what_that_release_called_used(version: tuple[int, int, int], used: float) -> None:
    values = item(w.MEMORY, total=1000, free=100, buffers=50, cached=350, slab=100, available=600)
    assert one_table(w.MEMORY, "memory", [values], [values], version=version)["used_kb"].tolist() == [used]


def test_load_averages_filesystems_and_pressure_come_in_their_units() -> None:
    queue = item(w.QUEUE, load1=448, tasks=150, blocked=2, running=3)
    row = one_table(w.QUEUE, "queue", [queue], [queue]).iloc[0]
    assert row[["load_1m", "tasks", "blocked", "run_queue"]].tolist() == [4.48, 150, 2, 3]
    disk_space = item(
        w.FILESYSTEM,
        blocks=4096,
        free=1024,
        available=512,
        files=10,
        files_free=4,
        name=b"/dev/sda1",
        mount=b"/",
    )
    row = one_table(w.FILESYSTEM, "filesystem", [disk_space], [disk_space]).iloc[0]
    assert row[["filesystem", "mountpoint"]].tolist() == ["/dev/sda1", "/"]
    assert row[["free_kb", "used_kb", "used_pct", "unprivileged_used_pct", "inodes_used_pct"]].tolist() == [
        1.0, 3.0, 75.0, 87.5, 60.0,
    ]  # fmt: skip
    waits = item(w.PRESSURE_IO, some10=1250), item(w.PRESSURE_IO, some=5_000_000, full=1_000_000, some10=1250)
    row = one_table(w.PRESSURE_IO, "pressure", *([wait] for wait in waits)).iloc[0]
    assert row[["io_some_10s_pct", "io_some_pct", "io_full_pct"]].tolist() == [12.5, 50.0, 10.0]


def test_pressure_that_a_32_bit_writer_did_not_pad() -> None:
    packed = w.PRESSURE_IO._replace(code="QQ6I")
    stats = [record(n, {41: [item(packed, some=n * 5_000_000, full300=300)]}) for n in range(2)]
    data = bytearray(w.SaFile([packed], stats, long_bytes=4).write())
    entry = 76 + 336 + 24
    assert struct.unpack_from("<3I", data, entry) == (2, 0, 6)
    struct.pack_into("<3I", data, entry, 2, 6, 0)  # which it declared as unsigned longs
    row = read(bytes(data)).tables["pressure"].iloc[0]
    assert (row["io_some_pct"], row["io_full_300s_pct"]) == (50.0, 3.0)


def test_packets_of_all_cpus_are_summed_and_batteries_drain() -> None:
    before = [item(w.SOFTNET), item(w.SOFTNET, processed=5), item(w.SOFTNET, processed=5), item(w.SOFTNET)]
    after = [item(w.SOFTNET), item(w.SOFTNET, processed=25), item(w.SOFTNET, processed=15), item(w.SOFTNET)]
    rows = one_table(w.SOFTNET, "softnet", before, after)
    assert list(zip(rows["cpu"], rows["processed_per_s"], strict=True)) == [
        ("all", 3.0),
        ("0", 2.0),
        ("1", 1.0),
    ]
    charge = [[{"number": 0, "capacity": 80 - n, "status": 2}] for n in range(2)]
    row = one_table(w.BATTERY, "battery", *charge).iloc[0]
    assert row[["battery", "status", "capacity_pct", "capacity_pct_per_min"]].tolist() == [
        "0",
        "discharging",
        79.0,
        -6.0,
    ]
