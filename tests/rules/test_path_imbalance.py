from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "path-imbalance"
MAP = "NAME MAJ:MIN TYPE\nsda 8:0 disk\n`-mpatha 253:0 mpath\nsdb 8:16 disk\n`-mpatha 253:0 mpath\n"


def row(rate, wait, size=8.0):
    return {
        **{"r/s": rate, "rkB/s": rate * size, "r_await": wait},
        **{"aqu-sz": rate * wait / 1000, "%util": min(100.0, rate * wait / 10)},
    }


def paths(slow_ms, fast_ms=1.2, slow_rate=200.0, fast_rate=200.0, samples=3, size=8.0):
    top = row(slow_rate + fast_rate, (slow_ms + fast_ms) / 2)
    sample = {"dm-0": top, "sda": row(fast_rate, fast_ms), "sdb": row(slow_rate, slow_ms, size)}
    return iostat([sample] * samples)


def outcome(report):
    assert not [f for f in report.findings if f.rule == RULE]
    return next(o for o in report.outcomes if o.rule == RULE)


@pytest.mark.parametrize("samples", [1, 2, 12])
def test_a_path_that_takes_ten_times_as_long_for_as_many_requests_is_named(report_of, samples):
    report = report_of(paths(15.0, samples=samples), MAP)
    first = report.findings[0]
    assert (first.rule, first.severity, first.confidence) == (RULE, "warning", "high")
    assert first.devices == ("sdb",)
    assert first.peers == ("sda",)
    assert "fail path" not in first.remedy[0], "what is left has to be healthy first"
    (drops,) = [text for text in first.remedy if "`multipathd fail path sdb`" in text]
    assert "multipath -ll" in drops
    assert "`multipathd reinstate path sdb`" in drops
    assert "slow-member" not in {f.rule for f in report.findings}


def test_a_small_difference_costs_little_and_is_a_notice(report_of):
    (finding,) = report_of(paths(4.5), MAP, rules=[RULE]).findings
    assert finding.severity == "notice"


@pytest.mark.parametrize(
    ("capture", "status", "words"),
    [
        (paths(3.0), "clear", "no path takes much longer"),
        (paths(1.0, fast_ms=0.2), "clear", "no path takes much longer"),
        (paths(15.0, slow_rate=60.0), "undetermined", "carries less"),
        (paths(15.0, size=64.0), "undetermined", "another size"),
        (paths(15.0, slow_rate=3.0, samples=1), "undetermined", "stand by"),
        (paths(5.0, slow_rate=7.0, fast_rate=8.0, samples=1), "undetermined", "too few requests"),
    ],
    ids=[
        "twice",
        "below a millisecond",
        "selector spares it",
        "larger requests",
        "stands by",
        "few requests",
    ],
)
def test_what_does_not_show_it(report_of, capture, status, words):
    said = outcome(report_of(capture, MAP, rules=[RULE]))
    assert said.status == status
    assert words in said.reason


def test_paths_that_stand_by_are_no_part_of_it(report_of):
    tree = "NAME TYPE\n" + "".join(f"sd{x} disk\n`-mpatha mpath\n" for x in "abcd")
    sample = {
        "mpatha": row(400.0, 8.0),
        "sda": row(200.0, 1.2),
        "sdb": row(200.0, 15.0),
        "sdc": {},
        "sdd": {},
    }
    (finding,) = report_of(iostat([sample] * 3), tree, rules=[RULE]).findings
    assert finding.devices == ("sdb",)
    alone = sample | {"sdb": {}, "mpatha": row(200.0, 1.2)}
    assert outcome(report_of(iostat([alone] * 3), tree, rules=[RULE])).status == "undetermined"


def test_a_map_is_known_by_its_name_and_its_paths_by_their_bytes(report_of):
    sample = {"mpathb": row(400.0, 8.0), "sda": row(200.0, 1.2), "sdb": row(200.0, 15.0)}
    (finding,) = report_of(iostat([sample] * 5), rules=[RULE]).findings
    assert (finding.devices, finding.confidence) == (("sdb",), "medium")
    assert finding.confirm[-1] == "dmsetup table /dev/mapper/mpathb"
    assert any("no input names the paths" in e.text for e in finding.evidence)


def test_a_latency_printed_as_zero_divides_nothing(report_of):
    (finding,) = report_of(paths(15.0, fast_ms=0.0, fast_rate=200.0), MAP, rules=[RULE]).findings
    assert finding.devices == ("sdb",)


def test_a_striped_volume_without_a_name_is_left_to_the_slow_disk(report_of):
    report = report_of(paths(15.0, samples=5))
    assert not [f for f in report.findings if f.rule == RULE]
    assert report.findings[0].rule == "slow-member"


def test_members_of_a_mirror_are_no_paths(report_of):
    mirror = MAP.replace("mpatha 253:0 mpath", "vg-lv 253:0 lvm")
    assert outcome(report_of(paths(15.0), mirror, rules=[RULE])).status == "not_applicable"


def test_sar_shows_it_too(report_of):
    slow = {"tps": 200.0, "rkB/s": 1600.0, "areq-sz": 8.0, "await": 15.0, "aqu-sz": 3.0, "%util": 99.0}
    fast = {**slow, "await": 1.2, "aqu-sz": 0.24, "%util": 24.0}
    both = {**slow, "tps": 400.0, "await": 8.1, "aqu-sz": 3.2}
    report = report_of(sar_d([{"dm-0": both, "sda": fast, "sdb": slow}] * 4), MAP)
    assert report.findings[0].rule == RULE
