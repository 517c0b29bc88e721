from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.analysis.array.members import array_traffic, arrays, members_gone
from iodiag.analysis.view.make_views import Selection, views
from iodiag.api import join
from iodiag.model.topology import Device
from writers.captures import iostat

DISKS = ("sda", "sdb", "sdc")
TREE = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid5\n" for disk in DISKS)


def view_of(text, *context):
    captures = [
        iodiag.read(io.BytesIO(body.encode()), name=f"{n}") for n, body in enumerate((text, *context))
    ]
    return views(join(captures), Selection())[0]


def row(read_kb, write_kb=0.0, rate=10.0):
    return {"r/s": rate * bool(read_kb), "rkB/s": read_kb, "w/s": rate * bool(write_kb), "wkB/s": write_kb}


def sample(parent, leg, disks=DISKS):
    return {"md0": parent} | dict.fromkeys(disks, leg)


def test_sums_go_over_the_legs_of_the_same_reports():
    view = view_of(iostat([sample(row(0, 600), row(200, 300))] * 4), TREE)
    (array,) = arrays(view)
    assert [leg.name for leg in array.legs] == list(DISKS)
    paid = array_traffic(array.rows)
    assert (paid.write_kb, paid.legs_write_kb, paid.legs_read_kb) == (600, 900, 600)
    assert paid.amplification == pytest.approx(1.5)
    assert paid.extra_reads == pytest.approx(1.0)


def test_a_report_that_lacks_a_leg_is_left_out():
    whole = sample(row(0, 600), row(200, 300))
    part = {name: numbers for name, numbers in whole.items() if name != "sdb"}
    (array,) = arrays(view_of(iostat([whole, part, whole, part, whole]), TREE))
    assert len(array.rows) == 3
    assert [list(leg["report"]) for leg in array.leg_rows] == [list(array.rows["report"])] * 3


def test_a_leg_without_any_sample_is_named():
    (array,) = arrays(view_of(iostat([sample(row(0, 600), row(200, 300), DISKS[:2])] * 3), TREE))
    assert array.missing == ("sdc",)
    assert not len(array.rows)


def test_an_array_that_was_not_captured_has_its_legs_alone():
    (array,) = arrays(view_of(iostat([dict.fromkeys(DISKS, row(200, 300))] * 3), TREE))
    assert not array.is_seen
    assert array_traffic(array.rows).legs_write_kb == 900


@pytest.mark.parametrize(
    ("slots", "active", "activity", "gone"),
    [(4, 3, None, 1), (4, 4, None, 0), (4, None, None, 0), (4, 0, "resync 1%", 0), (4, 3, "recovery 5%", 1)],
)
def test_members_that_are_gone(slots, active, activity, gone):
    assert members_gone(Device("md0", slots=slots, active_slots=active, activity=activity)) == gone


def test_what_rebuilding_a_lost_member_reads_is_no_excess():
    mdstat = (
        "Personalities : [raid5]\nmd0 : active raid5 sdc[2] sdb[1] sda[0]\n"
        "      1000 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/3] [UUU_]\n\nunused devices: <none>\n"
    )
    (array,) = arrays(view_of(iostat([sample(row(1000), row(500))] * 3), mdstat))
    assert array.read_cost == pytest.approx(1.5)
    assert array_traffic(array.rows).excess_read_kb == pytest.approx(0.0)
