from __future__ import annotations

import pytest

from sample_files import SAMPLES
from writers.captures import iostat, sar_d
from writers.loads import lsblk

RULE = "write-cache-lost"


def disk(write=1.0, read=12.0, writes=40.0, reads=20.0, size=8.0, **others):
    depth = (writes * write + reads * read) / 1000
    return {
        **{"w/s": writes, "wkB/s": writes * size, "w_await": write},
        **{"r/s": reads, "rkB/s": reads * 16, "r_await": read},
        **{"aqu-sz": depth, "%util": min(100.0, 90 * depth)},
        **others,
    }


def capture(after, before=None, count=8, name="sda"):
    return iostat([{name: before or disk()}] * count + [{name: after}] * count, step=2)


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def status(report):
    return {outcome.status for outcome in report.outcomes if outcome.rule == RULE}


@pytest.mark.parametrize(("count", "sure"), [(4, "high"), (8, "high"), (30, "high")])
def test_writes_that_step_up_alone_are_a_lost_cache(report_of, count, sure):
    (finding,) = found(report_of(capture(disk(write=14), count=count), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", sure)
    assert "takes 14 ms for a write since 13:0" in finding.summary
    assert "smartctl -g wcache /dev/sda" in finding.confirm


@pytest.mark.parametrize(
    "after",
    [
        disk(write=2.5),
        disk(write=14, read=60),
        disk(write=14, writes=120),
        disk(write=14, size=64),
        disk(write=14, **{"f/s": 30.0, "f_await": 8.0}),
        disk(write=14, reads=80),
        disk(write=14, writes=8),
    ],
    ids=[
        "hardly slower",
        "reads slow as well",
        "more writes",
        "larger writes",
        "a writer that flushes",
        "more reads",
        "writes that wait for each other",
    ],
)
def test_what_else_makes_writes_slow_does_not(report_of, after):
    report = report_of(capture(after), rules=[RULE])
    assert not found(report)
    assert status(report) == {"clear"}


@pytest.mark.parametrize(("write", "severity"), [(4, "notice"), (5, "notice"), (7, "warning")])
def test_a_step_that_is_less_is_noted(report_of, write, severity):
    (finding,) = found(report_of(capture(disk(write=write), before=disk(write=1.1)), rules=[RULE]))
    assert finding.severity == severity


def test_reads_may_wait_behind_the_slower_writes(report_of):
    before, after = disk(**{"%util": 20.0}), disk(write=14, read=18, **{"%util": 48.0})
    (finding,) = found(report_of(capture(after, before), rules=[RULE]))
    assert "waiting behind slow writes" in finding.evidence[2].text


@pytest.mark.parametrize(("context", "sure"), [((), "low"), ((lsblk(("sda", True)),), "medium")])
def test_without_reads_only_writes_faster_than_a_disk_show_that_there_was_a_cache(report_of, context, sure):
    text = capture(disk(write=14, reads=0), disk(reads=0))
    (finding,) = found(report_of(text, *context, rules=[RULE]))
    assert finding.confidence == sure


def test_a_mirror_whose_legs_are_not_shown_may_have_a_slow_one(report_of):
    (finding,) = found(report_of(capture(disk(write=14), name="md0"), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_one_slow_leg_is_not_the_array_s_cache(report_of):
    def sample(leg):
        return {"md0": disk(write=leg), "sda": disk(reads=10), "sdb": disk(write=leg, read=leg, reads=10)}

    mdstat = "md0 : active raid1 sdb[1] sda[0]\n      976630464 blocks super 1.2 [2/2] [UU]\n"
    text = iostat([sample(1.0)] * 8 + [sample(30.0)] * 8, step=2)
    assert not found(report_of(text, mdstat, rules=[RULE]))


def test_a_flush_of_a_few_seconds_is_no_lost_cache(report_of):
    samples = [{"sda": disk()}] * 8 + [{"sda": disk(write=14)}] * 4 + [{"sda": disk()}] * 8
    assert not found(report_of(iostat(samples, step=2), rules=[RULE]))


def test_a_cache_that_comes_back_is_still_found(report_of):
    samples = [{"sda": disk()}] * 10 + [{"sda": disk(write=14)}] * 30 + [{"sda": disk()}] * 10
    assert found(report_of(iostat(samples, step=2), rules=[RULE]))


@pytest.mark.parametrize(
    ("often", "is_told"), [(12, True), (3, False)], ids=["a stall", "every third sample"]
)
def test_a_wild_sample_hides_no_step_and_many_of_them_are_none(report_of, often, is_told):
    slow = disk(write=14)
    samples = [{"sda": slow if n >= 24 or n % often == 2 else disk()} for n in range(48)]
    assert bool(found(report_of(iostat(samples, step=2), rules=[RULE]))) is is_told


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_clear_nothing(report_of, count):
    report = report_of(capture(disk(), count=count), rules=[RULE])
    assert not found(report)
    assert status(report) == {"undetermined"}


def test_where_directions_are_not_told_apart_nothing_is_said(report_of):
    row = {"tps": 60.0, "rkB/s": 320.0, "wkB/s": 320.0, "areq-sz": 10.7, "aqu-sz": 0.3, "%util": 25.0}
    samples = [{"sda": row | {"await": 4.7}}] * 10 + [{"sda": row | {"await": 13.3, "aqu-sz": 0.8}}] * 10
    report = report_of(sar_d(samples), rules=[RULE])
    assert not found(report)
    assert status(report) == {"undetermined"}


SLOW_WRITES = {"r/s": 20.0, "rkB/s": 160.0, "r_await": 6.0, "w/s": 200.0, "wkB/s": 1600.0, "w_await": 9.0}
STORCLI = (SAMPLES / "raid-controller/storcli.txt").read_text()
GOOD_BATTERY = ("iBBU08 Failed ", "iBBU08 Optimal")
SET_SO = ("Write Cache(initial setting) = WriteBack", "Write Cache(initial setting) = WriteThrough")


@pytest.mark.parametrize(
    ("listing", "latency", "severity"),
    [
        (STORCLI, 9.0, "warning"),
        (STORCLI, 0.4, "notice"),
        # it writes back without a battery: that is a risk, and no cache that is lost
        (STORCLI.replace("RWTD", "RWBD"), 9.0, None),
        (STORCLI.replace(*GOOD_BATTERY), 9.0, "warning"),
        (STORCLI.replace(*SET_SO), 9.0, "warning"),
        # somebody wanted it so
        (STORCLI.replace(*GOOD_BATTERY).replace(*SET_SO), 9.0, None),
        ((SAMPLES / "raid-controller/megacli.txt").read_text(), 9.0, "warning"),
        ((SAMPLES / "raid-controller/ssacli.txt").read_text(), 9.0, "warning"),
    ],
)
def test_a_controller_that_states_it_confirms_it(report_of, listing, latency, severity):
    samples = iostat(
        [{"sda": SLOW_WRITES | {"w_await": latency, "aqu-sz": 0.2 * latency + 0.1, "%util": 60.0}}] * 10
    )
    found = [f for f in report_of(samples, listing, rules=["write-cache-lost"]).findings]
    assert [(f.severity, f.confidence, f.devices) for f in found] == (
        [(severity, "high", ("sda",))] if severity else []
    )


@pytest.mark.parametrize("row", [{}, {"tps": 60.0, "rkB/s": 320.0, "wkB/s": 320.0, "await": 9.0}])
def test_a_cache_off_is_told_where_nothing_shows_how_long_writes_take(report_of, row):
    (finding,) = found(report_of(sar_d([{"sda": row}] * 5), STORCLI, rules=[RULE]))
    assert finding.severity == "notice"
    assert finding.summary.endswith("states that its write cache is off.")
