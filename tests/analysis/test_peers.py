from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.analysis.array.member_comparison import comparisons, peer_groups
from iodiag.analysis.view.make_views import Selection, views
from iodiag.api import join
from writers.captures import iostat, sar_d

DISKS = ("sda", "sdb", "sdc")
TREE = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid0\n" for disk in DISKS)
VOLUME = """\
NAME              TYPE
sda               disk
`-vg-data_rimage_0 lvm
  `-vg-data        lvm
sdb               disk
`-vg-data_rimage_1 lvm
  `-vg-data        lvm
"""


def view_of(text, *context):
    captures = [
        iodiag.read(io.BytesIO(body.encode()), name=f"{n}") for n, body in enumerate((text, *context))
    ]
    return views(join(captures), Selection())[0]


def reads(wait, rate=80.0):
    return {"r/s": rate, "rkB/s": 16 * rate, "r_await": wait, "aqu-sz": rate * wait / 1000}


def test_legs_and_the_disks_below_them_are_peers_and_other_disks_by_their_rates():
    sample = {"vg-data": reads(10, 160)} | dict.fromkeys(("vg-data_rimage_0", "vg-data_rimage_1"), reads(10))
    sample |= dict.fromkeys(("sda", "sdb"), reads(9)) | dict.fromkeys(("sdx", "sdy", "sdz"), reads(5, 300))
    groups = list(peer_groups(view_of(iostat([sample] * 5), VOLUME)))
    names = [tuple(device.name for device in group.devices) for group in groups]
    assert names == [("vg-data_rimage_0", "vg-data_rimage_1"), ("sda", "sdb"), ("sdx", "sdy", "sdz")]
    assert [group.is_stated for group in groups] == [True, True, False]


def test_latencies_are_compared_sample_by_sample():
    run = [
        {"md0": reads(20, 240), "sda": reads(10), "sdb": reads(wait), "sdc": reads(10)}
        for wait in (20, 40, 30)
    ]
    (peers,) = peer_groups(view_of(iostat(run), TREE))
    found = next(comparisons(peers, 1.75, 0.8))
    assert peers.devices[found.slow].name == "sdb"
    assert list(found.ratios) == pytest.approx([2.0, 4.0, 3.0], rel=0.01)
    assert found.slowest_share == 1.0
    assert found.is_equal_load
    assert found.requests == 240


def test_a_mixed_latency_compares_only_like_mixtures():
    leg = {"tps": 160.0, "rkB/s": 320.0, "wkB/s": 320.0, "areq-sz": 4.0, "aqu-sz": 2.0, "await": 12.0}
    other = leg | {"rkB/s": 600.0, "wkB/s": 40.0}
    (peers,) = peer_groups(view_of(sar_d([{"md0": leg, "sda": leg, "sdb": other, "sdc": leg}] * 5), TREE))
    assert not list(comparisons(peers, 1.75, 0.8))


def test_each_capture_counts_by_itself_where_loads_differ():
    first = iostat([{"md0": reads(30, 240), "sda": reads(10), "sdb": reads(30), "sdc": reads(10)}] * 4)
    second = first.replace("11/20/26", "11/21/26").replace("30.00", "10.00")
    (peers,) = peer_groups(view_of(first + second, TREE))
    spans = [(len(found.window), peers.devices[found.slow].name) for found in comparisons(peers, 1.75, 0.8)]
    assert (4, "sdb") in spans
