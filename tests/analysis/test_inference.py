from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.view.inferred_topology import infer
from iodiag.model.topology import Device, DeviceTopology, merge
from iodiag.table.table import Table

NONE = DeviceTopology()
_WRITES = ("writes_per_s", "write_merges_per_s")


def table(*reports, streams=None):
    """A disk table: each report maps a device to (read_kb, write_kb), latency, and writes and merges/s."""
    rows = [
        {
            "device": device,
            "read_kb_per_s": float(moved[0]),
            "write_kb_per_s": float(moved[1]),
            "await_ms": float(moved[2]) if len(moved) > 2 else 10.0,
            "ios_per_s": (moved[0] + moved[1]) / 4,
            **(dict(zip(_WRITES, map(float, moved[3:]), strict=True)) if len(moved) > 3 else {}),
            "interval_s": 5.0,
            "report": number,
            "stream": streams[number] if streams else 0,
        }
        for number, report in enumerate(reports)
        for device, moved in report.items()
    ]
    return pd.DataFrame(rows)


def found(*reports, topology=NONE, streams=None):
    return merge(infer(Table.of(table(*reports, streams=streams)), topology)).devices


def legs(names, moved):
    return dict.fromkeys(names, moved)


LEGS = ("dm-1", "dm-3", "dm-5", "dm-7")
DISKS = ("sda", "sdb", "sdc", "sdd")


@pytest.mark.parametrize(
    ("parent", "leg", "level", "copies"),
    [
        ((24000, 0), (6000, 0), None, None),
        ((0, 24000), (0, 6000), "raid0", None),
        ((0, 24000), (0, 12000), "raid10", 2),
        ((0, 24000), (0, 8000), "raid5", None),
        ((300, 480), (315, 240), "raid5", None),
        ((1748, 1280), (863, 573), "raid5", None),
    ],
    ids=["reads", "stripe", "mirrors", "full stripes", "small writes", "a measured mixture"],
)
def test_a_group_of_equal_rates_that_conserves_bytes_are_the_legs(parent, leg, level, copies):
    devices = found({"dm-8": parent} | legs(LEGS, leg))
    assert devices["dm-8"].members == LEGS
    assert (devices["dm-8"].level, devices["dm-8"].copies) == (level, copies)
    assert (
        devices["dm-8"]
        .provenance["members"]
        .startswith("inferred: the bytes of dm-1, dm-3, dm-5, dm-7 add up")
    )


@pytest.mark.parametrize(
    "report",
    [
        {"dm-8": (24000, 0)} | legs(LEGS, (5800, 0)),
        {"dm-0": (24000, 0)} | legs(LEGS, (6000, 0)),
        {"dm-8": (20, 0)} | legs(LEGS, (5, 0)),
        {"sde": (24000, 0)} | legs(DISKS, (6000, 0)),
        {"md0": (24000, 0), "sda": (24000, 0), "sdb": (0, 0)},
    ],
    ids=[
        "3 % are missing",
        "numbered below its legs",
        "next to nothing",
        "no array by its name",
        "the other disk idles",
    ],
)
def test_what_proves_nothing_is_left_alone(report):
    assert found(report) == {}


def test_what_an_input_states_is_never_touched():
    stated = merge([Device("dm-8", members=("sdx", "sdy"), level="raid1")])
    assert found({"dm-8": (0, 24000)} | legs(LEGS, (0, 12000)), topology=stated) == {}
    claimed = merge([Device("md9", members=("dm-1", "dm-3"), level="raid1")])
    assert found({"dm-8": (0, 24000)} | legs(LEGS, (0, 12000)), topology=claimed) == {}


def test_the_lowest_of_devices_with_the_same_traffic_is_the_array():
    devices = found({"dm-1": (24000, 0), "dm-0": (24000, 0), "md0": (24000, 0)} | legs(DISKS, (6000, 0)))
    assert {name: device.members for name, device in devices.items() if device.members} == {
        "md0": DISKS,
        "dm-0": ("md0",),
        "dm-1": ("dm-0",),
    }


CHAIN = {"dm-2": (0, 24000), "dm-1": (0, 24000), "dm-0": (0, 24000), "sda": (0, 24000)}


@pytest.mark.parametrize(
    ("reports", "members"),
    [
        ([CHAIN], {"dm-2": ("dm-1",), "dm-1": ("dm-0",), "dm-0": ("sda",)}),
        (
            [{"dm-8": (24000, 0), "sda": (24000, 0), "sda1": (24000, 0)}],
            {"dm-8": ("sda1",), "sda1": ("sda",)},
        ),
        ([{"sda": (24000, 0), "sda2": (9000, 0)}], {"sda2": ("sda",)}),
        (
            [{"dm-0": (300, 0), "dm-1": (0, 700), "sda": (300, 700), "sdb": (50, 20)}],
            {"dm-0": ("sda",), "dm-1": ("sda",)},
        ),
        ([{"dm-0": (300, 0), "sda": (300, 0)}, {"dm-0": (800, 0), "sda": (300, 0)}], {}),
        ([{"dm-0": (1000, 0), "sda": (1010, 0)}], {}),
        ([{"dm-0": (24000, 0), "sda": (24000, 0), "sdb": (24000, 0)}], {}),
        ([{"dm-0": (30, 0), "sda": (30, 0)}], {}),
    ],
    ids=[
        "volumes on each other",
        "a volume on a partition",
        "a partition by its name",
        "two volumes that share a disk",
        "equal once, then not",
        "nearly equal in one sample",
        "two disks as equal",
        "next to nothing",
    ],
)
def test_what_moves_as_many_bytes_as_one_disk_in_each_sample_stands_on_it(reports, members):
    devices = found(*reports)
    assert {name: device.members for name, device in devices.items() if device.members} == members
    for name in members:
        is_named = devices[name].kind == "partition"
        assert devices[name].provenance["members"].startswith("its name" if is_named else "inferred: in ")


SHARE = {"dm-0": (440, 0), "dm-1": (0, 12), "sda": (404, 40)}


@pytest.mark.parametrize(
    ("reports", "members"),
    [
        ([SHARE], {"dm-0": ("sda",), "dm-1": ("sda",)}),
        (
            [{"dev253-0": (440, 0), "dev253-1": (0, 12), "dev252-0": (404, 40), "dev252-16": (0, 0)}],
            {"dev253-0": ("dev252-0",), "dev253-1": ("dev252-0",)},
        ),
        ([SHARE | {"sdb": (9, 0)}], {}),
        ([SHARE | {"sda": (404, 70)}], {}),
        ([SHARE | {"sda": (140, 310)}], {}),
        ([SHARE | {"sda": (0, 0)}], {}),
    ],
    ids=[
        "requests at the ends of the sample",
        "the disks of a driver with numbers of its own",
        "another disk with traffic",
        "more bytes than they move",
        "as many bytes, of another load",
        "a disk without traffic",
    ],
)
def test_volumes_that_together_move_as_much_as_the_only_disk_at_work_stand_on_it(reports, members):
    devices = found(*reports)
    assert {name: device.members for name, device in devices.items() if device.members} == members


BIOS = (0, 702_000, 890, 113_800, 0)


@pytest.mark.parametrize(
    ("report", "members"),
    [
        ({"dm-2": (0, 543_600, 99, 135_900, 0), "sdb": (0, 552_000, 99, 1_081, 134_830)}, {"dm-2": ("sdb",)}),
        (
            {"dm-1": BIOS, "dm-0": (0, 566_700, 846, 164, 113_100), "sda": (0, 566_700, 220, 156, 0)},
            {"dm-1": ("dm-0",), "dm-0": ("sda",)},
        ),
        (
            {
                "dm-2": (0, 540_000, 99, 90_000, 0),
                "dm-3": (0, 5_000, 99, 45_900, 0),
                "sdb": (0, 552_000, 99, 1_081, 134_830),
            },
            {"dm-2": ("sdb",), "dm-3": ("sdb",)},
        ),
        ({"dm-2": (0, 543_600, 99, 131_000, 0), "sdb": (0, 552_000, 99, 1_081, 134_830)}, {}),
        ({"dm-2": (0, 143_600, 99, 135_900, 0), "sdb": (0, 552_000, 99, 1_081, 134_830)}, {}),
        ({"dm-2": (0, 4_000, 9, 100, 0), "sdb": (0, 4_090, 9, 98, 2)}, {}),
        (
            {
                "dm-2": (0, 543_600, 99, 135_900, 0),
                "sdb": (0, 552_000, 99, 1_081, 134_830),
                "sdc": (0, 552_000, 99, 1_081, 134_830),
            },
            {},
        ),
    ],
    ids=[
        "a disk that merges what it is asked for",
        "a multipath device that merges, above its path",
        "two volumes whose requests one disk merges",
        "fewer requests than the disk was asked for",
        "a quarter of the bytes",
        "hardly anything merged: equal by chance",
        "two disks that merge as many",
    ],
)
def test_what_is_asked_for_as_often_as_a_disk_merges_and_writes_stands_on_it(report, members):
    devices = found(report)
    assert {name: device.members for name, device in devices.items() if device.members} == members
    for name in members:
        assert devices[name].provenance["members"].startswith("inferred: in ")


def test_two_pairs_of_mirrors_are_not_taken_for_stripes():
    # each pair alone sums to what the array writes
    reports = [
        {"md0": (0, 2 * a)} | legs(DISKS[:2], (0, a * 1.01)) | legs(DISKS[2:], (0, a * 0.99))
        for a in (500, 700)
    ]
    devices = found(*reports)
    assert devices["md0"].members == DISKS
    assert devices["md0"].level == "raid10"


def test_dev_numbers_are_dm_numbers_only_where_both_namings_show_the_array():
    numbered = {f"dev253-{n}": (6000, 0) for n in (1, 3, 5, 7)} | {"dev253-8": (24000, 0)}
    named = {"dm-8": (2400, 0)} | legs(LEGS, (600, 0))
    both = found(numbered, named, streams=[0, 1])
    assert "dev253-8" in both["dm-8"].aliases
    assert "dev253-3" in both["dm-3"].aliases
    alone = found(numbered)
    assert "dm-8" not in alone
    assert alone["dev253-8"].members == ("dev253-1", "dev253-3", "dev253-5", "dev253-7")


def test_legs_are_mapped_to_disks_by_bytes_and_the_order_of_latencies():
    waits = dict(zip(LEGS, (32.6, 18.7, 9.8, 7.0), strict=True))
    disks = dict(zip(DISKS, (5.4, 28.3, 7.9, 15.9), strict=True))
    report = {"dm-8": (24000, 0)}
    report |= {leg: (6000, 0, wait) for leg, wait in waits.items()}
    report |= {disk: (6010, 0, wait) for disk, wait in disks.items()}
    devices = found(report)
    assert {leg: devices[leg].members for leg in LEGS} == {
        "dm-1": ("sdb",),
        "dm-3": ("sdd",),
        "dm-5": ("sdc",),
        "dm-7": ("sda",),
    }
    assert "by latency dm-1 stands among the legs" in devices["dm-1"].provenance["members"]


@pytest.mark.parametrize("disk_kb", [6010, 9000])
def test_legs_that_take_alike_or_disks_that_move_more_are_not_mapped(disk_kb):
    apart = disk_kb == 9000
    report = {"dm-8": (24000, 0)}
    report |= {leg: (6000, 0, 10 * (n if apart else 1)) for n, leg in enumerate(LEGS, 1)}
    report |= {disk: (disk_kb, 0, 10 * (n if apart else 1)) for n, disk in enumerate(DISKS, 1)}
    assert not any(device.members for name, device in found(report).items() if name in LEGS)


def test_names_that_lvm_gives_tell_the_legs():
    devices = found({"vg-data": (0, 0), "vg-data_rimage_0": (0, 0), "vg-data_rimage_1": (0, 0)})
    assert devices["vg-data"].members == ("vg-data_rimage_0", "vg-data_rimage_1")


@given(
    count=st.integers(3, 24),
    loads=st.lists(st.floats(500, 5e5), min_size=5, max_size=40),
    parity=st.sampled_from([0, 1]),
)
def test_full_stripes_are_found_whatever_the_number_of_legs_and_the_load(count, loads, parity):
    names = tuple(f"sd{chr(97 + n)}" for n in range(count))
    reports = [{"md0": (0, load)} | legs(names, (0, load / (count - parity))) for load in loads]
    devices = found(*reports)
    assert set(devices["md0"].members) == set(names)


def test_a_hundred_devices_and_many_reports_stay_bounded():
    chance = np.random.default_rng(1)
    rows = table({f"dm-{n}": (0, 0) for n in range(60)} | {f"sd{n}": (0, 0) for n in range(60)})
    rows = pd.concat([rows.assign(report=number) for number in range(600)], ignore_index=True)
    rows["read_kb_per_s"] = chance.uniform(0, 1e5, len(rows))
    assert infer(Table.of(rows), NONE) == ()


@pytest.mark.parametrize(
    ("late", "count", "stands_on"),
    [(40.0, 12, ("sda",)), (40.0, 5, ()), (900.0, 12, ())],
    ids=["requests at the ends of samples", "too few samples", "another load"],
)
def test_a_layer_whose_bytes_add_up_stands_on_the_disk(late, count, stands_on):
    """A row of the disk is cut off, and some requests count in the next sample there."""
    moved = [(100.0 * n, 400.0 + 30 * n) for n in range(1, count + 1)]
    reports = [{"dm-1": (read, write), "sda": (read, write)} for read, write in moved]
    reports[1]["sda"] = (moved[1][0], moved[1][1] - late)
    reports[2]["sda"] = (moved[2][0], moved[2][1] + late)
    del reports[-1]["sda"]
    devices = found(*reports)
    assert (devices["dm-1"].members if "dm-1" in devices else ()) == stands_on


@pytest.mark.parametrize(
    ("above", "below", "other_kb", "stands_on"),
    [
        ((20, 50), (21, 52), 0, ("sr0",)),
        ((20, 50), (35, 52), 0, ()),
        ((20, 25), (20, 25), 0, ()),
        ((20, 50), (21, 52), 9000, ()),
    ],
    ids=["as busy", "busier once", "hardly varies", "another disk moves as much"],
)
def test_a_layer_stands_on_the_only_disk_that_moves_as_much_and_is_as_busy(above, below, other_kb, stands_on):
    reports = [{"dm-0": (200, 0), "sr0": (260, 0), "sda": (other_kb, 0)}] * 2
    rows = table(*reports)
    busy = {"dm-0": above, "sr0": below, "sda": (90, 10)}
    rows["util_pct"] = [float(busy[one.device][one.report]) for one in rows.itertuples()]
    devices = merge(infer(Table.of(rows), NONE)).devices
    assert (devices["dm-0"].members if "dm-0" in devices else ()) == stands_on
