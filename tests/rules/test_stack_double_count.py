from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "stack-double-count"
MIRROR = "NAME TYPE\nsda disk\n`-md0 raid1\nsdb disk\n`-md0 raid1\n"


def row(kb):
    return {"w/s": kb / 16, "wkB/s": kb}


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def test_three_layers_of_sums(report_of):
    capture = iostat([{"md0": row(800.0), "sda": row(800.0), "sdb": row(800.0)}] * 5)
    (finding,) = findings(report_of(capture, MIRROR, rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("info", "high", ("md0",))
    values = finding.evidence[0].values
    assert values["all"] == pytest.approx(2400)
    assert values["tops"] == pytest.approx(800)
    assert values["leaves"] == pytest.approx(1600)


def test_a_partition_beside_its_disk_is_the_same_load(report_of):
    capture = iostat(
        [{"sda": row(800.0), "sda1": row(800.0), "nvme0n1": row(80.0), "nvme0n1p1": row(80.0)}] * 5
    )
    (finding,) = findings(report_of(capture, rules=[RULE]))
    assert finding.devices == ("sda", "nvme0n1")
    assert finding.evidence[0].values["ratio"] == pytest.approx(2.0)


def test_the_names_beside_a_sum_are_of_those_that_move_the_most_of_it(report_of):
    names = [f"sd{letter}" for letter in "abcdefgh"]
    sample = {name: row(0.0) for name in ("sdy", "sdz")} | {
        name: row(8.0 * n) for n, name in enumerate(names, 1)
    }
    (finding,) = findings(report_of(iostat([sample | {"sdh1": row(64.0)}] * 5), rules=[RULE]))
    assert "Add up sdh, sdg, sdf, sde, sdd, sdc and 2 more alone." in finding.summary
    assert "Some of the 11 devices listed are layers" in finding.summary


@pytest.mark.parametrize(
    "sample",
    [
        {"sda": row(800.0), "sdb": row(800.0)},
        {"sda": row(800.0), "sda1": row(80.0), "sdb": row(800.0)},
    ],
    ids=["disks alone", "a small partition"],
)
def test_sums_that_do_not_mislead_are_clear(report_of, sample):
    report = report_of(iostat([sample] * 5), MIRROR, rules=[RULE])
    assert {o.status for o in report.outcomes} == {"clear"}


def test_next_to_nothing_is_no_sum(report_of):
    sample = {"md0": row(10.0), "sda": row(10.0), "sdb": row(10.0)}
    report = report_of(iostat([sample] * 5), MIRROR, rules=[RULE])
    assert {o.status for o in report.outcomes} == {"undetermined"}


def test_a_mapped_device_of_which_nothing_is_known_makes_no_sum(report_of):
    sample = {"md0": row(800.0), "sda": row(800.0), "sdb": row(800.0), "dm-7": row(790.0), "dm-8": row(10.0)}
    report = report_of(iostat([sample] * 5), MIRROR, rules=[RULE])
    assert not report.findings
    assert report.outcomes[0].devices == ("dm-7", "dm-8")


DISKS = {"sda": row(800.0), "sdb": row(800.0)}


@pytest.mark.parametrize(
    ("last", "ratio"),
    [
        (DISKS, 3.0),
        ({"md0": row(800.0)}, 3.0),
        (DISKS | {"md0": row(400.0)}, 3.67),
        (dict.fromkeys(DISKS, row(0.0)), 3.0),
    ],
    ids=["the layer is cut off", "the disks are", "it moved less", "it is left out as idle"],
)
def test_a_report_that_lacks_a_layer_is_not_summed(report_of, last, ratio):
    samples = [DISKS | {"md0": row(800.0)}] * 3 + [last] * 3
    (finding,) = findings(report_of(iostat(samples), MIRROR, rules=[RULE]))
    assert finding.evidence[0].values["ratio"] == pytest.approx(ratio, rel=0.01)


def test_disks_alone_in_all_reports_make_no_sum(report_of):
    samples = [DISKS] * 3 + [dict.fromkeys(DISKS, row(0.0)) | {"md0": row(1.0)}]
    assert not findings(report_of(iostat(samples), MIRROR, rules=[RULE]))


def test_arrays_that_are_small_beside_a_check_are_no_part_of_a_sum(report_of):
    """Half of what the disks write is asked of md2, whose members nothing states; a check reads the rest."""
    disk = {"r/s": 40.0, "rkB/s": 2500.0, "w/s": 10.0, "wkB/s": 260.0}
    sample = {"sda": disk, "sda1": disk, "sdb": disk, "sdb1": disk}
    report = report_of(iostat([sample | {"md2": row(240.0), "md1": row(7.0)}] * 5), rules=[RULE])
    assert not report.findings
    assert [(o.status, o.devices) for o in report.outcomes] == [("undetermined", ("md2", "md1"))]


def test_a_layer_of_next_to_nothing_that_nothing_places_is_not_added(report_of):
    sample = {"sda": row(800.0), "sda1": row(800.0), "dm-7": row(2.0)}
    (finding,) = findings(report_of(iostat([sample] * 5), rules=[RULE]))
    assert finding.devices == ("sda",)
    assert finding.evidence[0].values["tops"] == pytest.approx(800)


def test_what_moves_nothing_is_no_part_of_it(report_of):
    sample = {"md0": row(800.0), "sda": row(800.0), "sdb": row(800.0), "sdc": {}}
    (finding,) = findings(report_of(iostat([sample] * 5), MIRROR + "sdc disk\n", rules=[RULE]))
    assert finding.devices == ("md0",)
    assert finding.evidence[0].rows == 15
