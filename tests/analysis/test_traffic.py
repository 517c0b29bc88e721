from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

import iodiag
from iodiag.analysis.array.stack_traffic import MOST_EDGES, with_traffic
from iodiag.analysis.view.make_views import Selection, views
from iodiag.api import join
from iodiag.model.finding import Finding
from writers.captures import iostat

SAMPLES = Path(__file__).parents[2] / "samples"
CASES = SAMPLES / "cases"
DISKS = ("sda", "sdb", "sdc")
RAID = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid5\n" for disk in DISKS)
VOLUMES = "NAME TYPE\nsda disk\n|-sda1 part\n| `-vg-a lvm\n`-sda2 part\n  `-vg-b lvm\n"


def row(write_kb, rate=10.0):
    return {"r/s": 0.0, "rkB/s": 0.0, "w/s": rate, "wkB/s": write_kb}


def edges(reports, tree, *devices, samples=None, **fields):
    captures = [
        iodiag.read(io.BytesIO(text.encode()), name=f"{n}") for n, text in enumerate((iostat(reports), tree))
    ]
    (view,) = views(join(captures), Selection())
    fields = {"pictures": ("stack",)} | fields
    about = Finding("r", "notice", "low", "t", "s", devices=devices, samples=samples, **fields)
    (found,) = with_traffic(view, [about])
    return [(edge.upper, edge.lower, edge.means.get("write_kb_per_s")) for edge in found.edges]


def both(parent, leg):
    return {"md0": row(parent)} | dict.fromkeys(DISKS, row(leg))


def test_each_leg_is_an_edge_below_the_array():
    assert edges([both(600, 300)] * 3, RAID, "md0") == [
        (None, "md0", 600.0),
        *(("md0", disk, 300.0) for disk in DISKS),
    ]


def test_means_are_over_the_findings_samples_in_all_layers():
    reports = [both(0, 0), both(600, 300), both(800, 500), both(0, 0)]
    assert edges(reports, RAID, "md0", samples=(1, 2))[:2] == [(None, "md0", 700.0), ("md0", "sda", 400.0)]


def test_a_leg_shows_the_stack_that_it_is_part_of():
    assert edges([both(600, 300)] * 3, RAID, "sdb")[0] == (None, "md0", 600.0)


def test_what_two_volumes_ask_of_one_disk_is_each_ones_own():
    reports = [{"vg-a": row(100), "vg-b": row(50), "sda": row(150)}] * 3
    assert edges(reports, VOLUMES, "vg-a") == [
        (None, "vg-a", 100.0),
        (None, "sda", 150.0),
        ("vg-a", "sda", 100.0),
    ]
    assert sorted(edges(reports, VOLUMES, "sda"), key=str) == [
        ("vg-a", "sda", 100.0),
        ("vg-b", "sda", 50.0),
        (None, "sda", 150.0),
        (None, "vg-a", 100.0),
        (None, "vg-b", 50.0),
    ]


def test_peers_that_no_stack_joins_have_an_edge_from_above():
    reports = [dict.fromkeys(DISKS, row(300))] * 3
    assert edges(reports, "NAME TYPE\nsda disk\n", "sda", pictures=("peers",), peers=DISKS) == [
        (None, disk, 300.0) for disk in DISKS
    ]


@pytest.mark.parametrize("fields", [{"pictures": ()}, {"pictures": ("ladder", "cpu")}])
def test_only_a_finding_that_asks_for_it_gets_traffic(fields):
    assert edges([both(600, 300)] * 3, RAID, "md0", **fields) == []


def test_a_finding_about_no_device_with_samples_has_none():
    assert edges([both(600, 300)] * 3, RAID) == []
    assert edges([both(600, 300)] * 3, RAID, "sdz") == []


def test_a_wide_stack_is_cut():
    disks = [f"sd{a}{b}" for a in "abcdefgh" for b in "abcdefghijkl"]
    tree = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid0\n" for disk in disks)
    found = edges([{"md0": row(960)} | dict.fromkeys(disks, row(10))] * 2, tree, "md0")
    assert len(found) == MOST_EDGES + 1


@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("raid5-small-writes", {"Stack", "Timeline"}),
        ("slow-member", {"Bars", "Timeline"}),
        ("commit-stall", {"Timeline"}),
        ("ssd-two-in-flight", {"RateByDepth", "Timeline"}),
    ],
)
def test_the_first_finding_of_a_sample_is_explained_by_its_picture(case, kinds):
    from iodiag.report.charts.finding_charts import pictures

    captures, _ = iodiag.read_many([CASES / case])
    report = iodiag.analyze(captures)
    found = pictures(report, report.findings[0])
    assert {type(picture).__name__ for picture in found} == kinds
    assert len(found) == 2


@pytest.mark.parametrize(
    ("sample", "alone_ms"),
    [
        ("seeds/util-ladder.txt", 7.83),
        # never less than two in flight: what one takes alone is not known
        ("cases/ssd-two-in-flight", math.nan),
    ],
)
def test_a_ladder_is_bound_by_what_a_request_took_alone(sample, alone_ms):
    from iodiag.report.charts.finding_charts import pictures

    captures, _ = iodiag.read_many([SAMPLES / sample])
    report = iodiag.analyze(captures)
    finding = next(finding for finding in report.findings if "ladder" in finding.pictures)
    chart = pictures(report, finding)[0]
    assert chart.alone_ms == pytest.approx(alone_ms, nan_ok=True)
