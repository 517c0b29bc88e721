from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d
from writers.loads import load

RULE = "layer-added-latency"
CRYPT = "NAME MAJ:MIN TYPE\nsda 8:0 disk\n`-vault 253:0 crypt\n"
RAID6 = "NAME ROTA TYPE\n" + "".join(f"sd{letter} 1 disk\n`-md0 1 raid6\n" for letter in "abcd")


def row(rate, wait, size=8.0, way="r", **more):
    depth = rate * wait / 1000
    columns = {f"{way}/s": rate, f"{way}kB/s": rate * size, f"{way}_await": wait}
    return {**columns, "aqu-sz": depth, "%util": min(100.0, 100 * depth), **more}


def only(report):
    (finding,) = [f for f in report.findings if f.rule == RULE]
    return finding


def silent(report):
    assert not [f for f in report.findings if f.rule == RULE]
    return next(o for o in report.outcomes if o.rule == RULE)


def stack(upper, lower, rate=200.0, samples=20, **more):
    return [{"dm-0": row(rate, upper), "sda": row(rate, lower, **more)}] * samples


def test_a_mapped_device_over_a_fast_disk_is_named(report_of):
    finding = only(report_of(iostat(stack(12.5, 1.8)), CRYPT, rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "high", ("dm-0",))
    assert "sda" in finding.summary
    assert "encryption" in finding.summary
    assert finding.confirm[0] == "dmsetup table /dev/dm-0"


@pytest.mark.parametrize(("way", "other"), [("r", "w"), ("w", "r")])
def test_a_layer_that_holds_one_direction_alone_is_named_by_it(report_of, way, other):
    quick = row(100, 2.0, way=other)
    slow, disk = ({**quick, **row(100, wait, way=way), "aqu-sz": 0.2 + wait / 10} for wait in (9.0, 2.2))
    finding = only(report_of(iostat([{"dm-0": slow, "sda": disk}] * 20), CRYPT, rules=[RULE]))
    assert f"9 ms per {'read' if way == 'r' else 'write'}" in finding.summary
    both = {**slow, f"{way}_await": 5.0}
    assert silent(report_of(iostat([{"dm-0": both, "sda": disk}] * 20), CRYPT, rules=[RULE]))


@pytest.mark.parametrize("reads", ["none", "as above"])
def test_reads_that_no_disk_or_one_as_slow_served_are_no_latency_of_the_layer(report_of, reads):
    writes = row(150, 9.0, way="w")
    read = {"r/s": 0.5, "rkB/s": 0.0, "r_await": 48.0}
    served = {**writes, **read}
    disks = {"sda": writes, "sdb": writes if reads == "none" else served}
    assert silent(report_of(iostat([{"dm-0": served, **disks}] * 2), rules=[RULE])).status == "clear"


def test_each_disk_that_carries_all_of_a_layer_is_told_to(report_of):
    quick = row(150, 0.5, way="w", **{"f/s": 0.0})
    sample = {"dm-0": row(150, 30.0, way="w"), "sda": quick, "sdb": quick}
    finding = only(report_of(iostat([sample] * 20), rules=[RULE]))
    assert any("only sda, sdb carry the same" in e.text for e in finding.evidence)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_one_sample_of_many_requests_is_enough_without_any_topology(report_of, samples):
    finding = only(report_of(iostat(stack(50.0, 0.2, rate=2560, samples=samples)), rules=[RULE]))
    assert finding.confidence == "medium"
    assert any("no input says" in e.text and e.weighs == "against" for e in finding.evidence)


@pytest.mark.parametrize(
    ("upper", "lower"), [(5.0, 1.8), (0.9, 0.1)], ids=["below three times", "below one more ms"]
)
def test_what_any_layer_costs_is_clear(report_of, upper, lower):
    assert silent(report_of(iostat(stack(upper, lower)), CRYPT, rules=[RULE])).status == "clear"


@pytest.mark.parametrize(("late", "status"), [(3, "undetermined"), (1, "clear")])
def test_a_layer_that_is_slow_in_some_samples_is_not_said_to_keep_up(report_of, late, status):
    disk = row(300, 1.8) | {"%util": 60.0}
    rows = [{"dm-0": row(200, wait), "sda": disk} for wait in (*[12.5] * late, *[2.0] * 20)]
    outcome = silent(report_of(iostat(rows), CRYPT, rules=[RULE]))
    assert outcome.status == status
    assert ("up to 6.9 times as long" in outcome.reason) == (status == "undetermined")


def test_seconds_in_an_array_over_calm_members_is_the_array(report_of):
    members = {f"sd{letter}": row(1.6, 12, way="w") for letter in "abcd"}
    sample = {"md0": row(3.8, 3670, 5.7, "w", **{"aqu-sz": 13.9, "%util": 12.0}), **members}
    for context in ((RAID6,), ()):
        finding = only(report_of(iostat([sample], step=10), *context, rules=[RULE]))
        assert finding.devices == ("md0",)
        assert finding.severity == "warning"
        assert any("stripe_cache_size" in step for step in finding.remedy)
        assert "mdadm --detail /dev/md0" in finding.confirm


def test_a_queue_over_an_idle_disk_counts_where_no_latency_is_printed(report_of):
    cache = row(1325, 0.24, 128.0)
    stuck = {"r/s": 1.0, "rkB/s": 4.0, "aqu-sz": 39.54, "%util": 100.0}
    finding = only(report_of(iostat([{"sdb": cache, "bcache0": stuck}]), rules=[RULE]))
    assert finding.devices == ("bcache0",)
    assert "39.5 s" in finding.summary


def test_sar_shows_it_in_its_mixed_latency(report_of):
    leg = {"tps": 200.0, "rkB/s": 800.0, "areq-sz": 4.0, "aqu-sz": 0.4, "await": 2.0, "%util": 30.0}
    sample = {"sda": leg, "dm-0": {**leg, "await": 20.0, "aqu-sz": 4.0, "%util": 99.0}}
    assert only(report_of(sar_d([sample] * 10), CRYPT, rules=[RULE])).devices == ("dm-0",)


def test_a_member_at_seconds_is_no_layer(report_of):
    members = {"sda": row(2.5, 16, way="w"), "sdb": row(2.5, 2307, way="w")}
    sample = {"md0": row(2.5, 9000, way="w"), **members}
    tree = "NAME ROTA TYPE\nsda 1 disk\n`-md0 1 raid1\nsdb 1 disk\n`-md0 1 raid1\n"
    outcome = silent(report_of(iostat([sample]), tree, rules=[RULE]))
    assert outcome.status == "undetermined"


def test_a_full_disk_below_is_no_layer(report_of):
    busy = stack(400.0, 40.0, rate=800.0)
    assert silent(report_of(iostat(busy), CRYPT, rules=[RULE])).status == "undetermined"


def test_a_write_may_wait_for_flushes_of_the_disk(report_of):
    lower = row(30.0, 2.0, way="w", **{"f/s": 30.0, "f_await": 12.0})
    sample = {"dm-0": row(30.0, 26.0, way="w"), "sda": lower}
    silent(report_of(iostat([sample] * 10), CRYPT, rules=[RULE]))


def test_writes_without_printed_flushes_are_not_judged(report_of):
    leg = {"tps": 30.0, "wkB/s": 240.0, "areq-sz": 8.0, "aqu-sz": 0.06, "await": 2.0, "%util": 70.0}
    sample = {"sda": leg, "dm-0": {**leg, "await": 26.0, "aqu-sz": 0.8, "%util": 80.0}}
    outcome = silent(report_of(sar_d([sample] * 10), CRYPT, rules=[RULE]))
    assert outcome.status == "undetermined"
    assert "flushes" in outcome.reason


def test_merged_requests_need_more_than_a_plug_costs(report_of):
    sample = {"dm-0": row(2000, 10.0, 4.0, "w"), "sda": row(50, 2.0, 160.0, "w")}
    silent(report_of(iostat([sample] * 10), CRYPT, rules=[RULE]))


@pytest.mark.parametrize(
    ("wait", "merged", "is_told"),
    [(60.0, 900.0, True), (20.0, 900.0, False), (60.0, 300.0, False)],
    ids=["far longer", "less than twenty times as long", "requests of others"],
)
def test_requests_that_a_busy_disk_merges_are_the_same_as_above(report_of, wait, merged, is_told):
    disk = row(1100, 1.2, 4 * 2000 / 1100, "w", **{"wrqm/s": merged, "%util": 96.0})
    report = report_of(iostat([{"dm-0": row(2000, wait, 4.0, "w"), "sda": disk}]), rules=[RULE])
    assert bool([f for f in report.findings if f.rule == RULE]) is is_told
    if is_told:
        finding = only(report)
        assert finding.confidence == "medium"
        assert "above the disks, in the device-mapper layer or on the way into their queue" in finding.summary
        assert any("900 a second that the disks merged into others" in e.text for e in finding.evidence)
    else:
        assert "split or merge its requests" in silent(report).reason


def test_one_slow_sample_of_many_is_no_layer(report_of):
    capture = iostat(stack(2.0, 1.8, samples=19) + stack(20.0, 1.8, samples=1))
    assert silent(report_of(capture, CRYPT, rules=[RULE])).status != "finding"


def test_disks_alone_have_no_layer(report_of):
    outcome = silent(report_of(iostat([{"sda": row(100, 5)}] * 5), rules=[RULE]))
    assert (outcome.status, outcome.missing) == ("not_applicable", ("topology",))


def test_the_layer_explains_the_extreme_latency(report_of):
    sample = {"md127": row(3.8, 3670, way="w"), "sdb": row(1.6, 12, way="w"), "sdc": row(1.6, 14, way="w")}
    report = report_of(iostat([sample], step=10))
    (symptom,) = [f for f in report.findings if f.rule == "extreme-latency"]
    assert symptom.explained_by == RULE
    assert report.findings[0].rule == RULE


@pytest.mark.parametrize(
    ("beside", "count"),
    [({}, 1), (row(3, 4), 1), (row(90, 300, way="w"), 0)],
    ids=["an idle disk", "a calm disk", "a disk that is slow itself"],
)
def test_without_topology_every_disk_must_be_calm(report_of, beside, count):
    members = {"sda": row(1.6, 12, way="w"), "sdb": row(1.6, 14, way="w"), "sdc": beside}
    report = report_of(iostat([{"md0": row(3.8, 3670, way="w"), **members}] * 2, step=10), rules=[RULE])
    assert len([f for f in report.findings if f.rule == RULE]) == count


def test_layers_above_the_slow_one_are_in_one_finding(report_of):
    tree = "NAME TYPE\nsda disk\n`-vault crypt\n  `-vg-data lvm\n"
    sample = {"sda": row(200, 1.8), "vault": row(200, 12.5), "vg-data": row(200, 12.7)}
    finding = only(report_of(iostat([sample] * 5), tree, rules=[RULE]))
    assert finding.devices == ("vault", "vg-data")


def test_a_member_that_the_capture_does_not_show_lowers_the_confidence(report_of):
    sample = {"md0": row(3.8, 3670, way="w"), "sda": row(1.6, 12, way="w")}
    finding = only(report_of(iostat([sample] * 3, step=10), RAID6, rules=[RULE]))
    assert finding.confidence == "medium"
    assert any("not in the capture: sdb, sdc, sdd" in e.text for e in finding.evidence)


@pytest.mark.parametrize("copies", [1, 2], ids=["striped", "mirrored"])
def test_writes_that_a_mirror_doubles_are_the_same_requests(report_of, copies):
    members = {f"sd{letter}": row(80.0 * copies, 0.08, 10.0, "w") for letter in "abcd"}
    sample = {"md0": row(320.0, 50.5, 10.0, "w"), **members}
    finding = only(report_of(iostat([sample] * 3), rules=[RULE]))
    assert (finding.devices, finding.severity) == (("md0",), "warning")


def test_writes_that_cost_more_than_a_copy_are_not_held_against_the_disks(report_of):
    members = {f"sd{letter}": row(240.0, 0.08, 10.0, "w") for letter in "abcd"}
    sample = {"md0": row(320.0, 50.5, 10.0, "w"), **members}
    assert silent(report_of(iostat([sample] * 3), rules=[RULE])).status == "undetermined"


@pytest.mark.parametrize("upper", ["drbd0", "dm-0", "bcache0"])
def test_a_stacked_device_is_no_peer_of_its_disk_and_not_its_own_base(report_of, upper):
    slow = row(90, 28, way="w") | {"%util": 100.0}
    report = report_of(iostat([{upper: slow, "sda": row(90, 1, way="w")}] * 8))
    assert only(report).devices == (upper,)
    assert not [f for f in report.findings if f.rule == "slow-member"]
    alone = report_of(iostat([{upper: slow}] * 8))
    assert not [o for o in alone.outcomes if o.rule == RULE and o.status == "clear"]


def test_a_major_number_that_may_be_a_disks_is_held_against_no_disk(report_of):
    slow = {"tps": 90.0, "await": 28.0, "aqu-sz": 2.5, "%util": 90.0}
    quick = {"tps": 90.0, "await": 1.0, "aqu-sz": 0.1, "%util": 5.0}
    report = report_of(sar_d([{"dev252-0": slow, "dev8-0": quick}] * 8))
    silent(report)


def _capped(*sizes, latency=lambda size: 1000 * size / 1024, below=0.0):
    return [
        {
            "sdb": load(1024 / size, 0.0, size=size, reads=0, util=below),
            "dm-0": load(1024 / size, latency(size), size=size, reads=0, util=100),
        }
        for size in sizes
    ]


@pytest.mark.parametrize(
    ("samples", "is_limit"),
    [
        (_capped(1024.0, 1024.0, 1024.0), True),
        (_capped(1024.0, 512.0, 256.0), True),  # the time goes with the bytes
        (_capped(1024.0), False),  # one request in one sample is no rate
        (_capped(1000.0, 1240.0, 900.0, latency=lambda _: 1000.0, below=40.0), False),  # disks in use
    ],
    ids=["a number that limits have", "whatever the size", "one sample", "busy disks"],
)
def test_a_pinned_rate_over_idle_disks_is_likely_a_limit(report_of, samples, is_limit):
    report = report_of(iostat(samples), rules=["layer-added-latency", "low-concurrency-bound"])
    told = [f for f in report.findings if f.rule == "layer-added-latency"]
    assert any("io.max" in f.summary for f in told) == is_limit
    if is_limit:
        assert "io.max" in told[0].confirm[0]
        assert [f.rule for f in report.findings] == ["layer-added-latency"]


@pytest.mark.parametrize(("util", "is_told"), [(0.02, False), (2.0, True)])
def test_tens_of_thousands_in_flight_while_busy_are_counters_that_contradict_each_other(
    report_of, util, is_told
):
    upper = row(4.1, 3950, 8.0, "w") | {"%util": util}
    text = iostat([{"dm-0": upper, "sda": row(4.1, 2.0, 8.0, "w")}] * 20)
    report = report_of(text, CRYPT, rules=[RULE])
    if is_told:
        assert only(report).devices == ("dm-0",)
    else:
        outcome = silent(report)
        assert outcome.status == "undetermined"
        assert "80,950 requests in flight while busy" in outcome.reason


def test_memory_alone_limits_what_a_layer_holds_of_buffered_writes(report_of):
    both = {"r/s": 2.0, "rkB/s": 16.0, "r_await": 7.0, "w/s": 4.0, "wkB/s": 60.0}
    upper = both | {"w_await": 3950.0, "aqu-sz": 16.0, "%util": 0.02}
    disk = both | {"w_await": 9.0, "aqu-sz": 0.05, "%util": 0.2}
    finding = only(report_of(iostat([{"dm-5": upper, "sda": disk}] * 20), rules=[RULE]))
    assert "80,000 requests are in flight while it is busy: buffered writes" in finding.summary


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"r_await": 700.0}, False),
        ({"%util": 40.0}, False),
        ({"r/s": 0.0, "r_await": 0.0}, False),
    ],
    ids=["writes alone", "reads as well", "fewer at once", "no reads"],
)
def test_floods_of_writes_above_quick_disks_are_flushes_of_the_page_cache(report_of, changes, is_told):
    both = {"r/s": 20.0, "rkB/s": 160.0, "r_await": 9.0, "w/s": 80.0, "wkB/s": 4000.0}
    upper = both | {"w_await": 1100.0, "aqu-sz": 88.0, "%util": 4.0} | changes
    disk = both | {"w_await": 5.0, "aqu-sz": 0.6, "%util": 4.0} | {"r/s": upper["r/s"]}
    finding = only(report_of(iostat([{"dm-3": upper, "sda": disk}] * 5, step=600), rules=[RULE]))
    assert ("buffered writes that are flushed in floods wait there" in finding.summary) is is_told
    assert ("vm.dirty_background_bytes" in finding.remedy[0]) is is_told
    assert ("dmsetup table /dev/dm-3" in finding.confirm) is True


@pytest.mark.parametrize(
    ("size", "reads", "is_told"),
    [(46.0, 25.5, True), (46.0, 60.0, False), (52.0, 24.0, False)],
    ids=["a few more reads", "more than twice the reads", "other writes"],
)
def test_a_disk_that_has_a_few_reads_of_others_carries_the_same_writes(report_of, size, reads, is_told):
    upper = row(60, 56.0, 46.0, "w") | {"r/s": 24.0, "rkB/s": 810.0, "r_await": 2.0}
    disk = row(60, 4.3, size, "w") | {"r/s": reads, "rkB/s": 34 * reads, "r_await": 1.8, "%util": 60.0}
    report = report_of(iostat([{"dm-0": upper, "sda": disk}] * 3), rules=[RULE])
    assert bool([f for f in report.findings if f.rule == RULE]) is is_told


@pytest.mark.parametrize(("below", "is_compared"), [(30, False), (130, True)])
def test_volumes_that_move_more_than_all_disks_shown_are_held_against_none_of_them(
    report_of, below, is_compared
):
    sample = {"dm-0": row(200, 300.0), "dm-1": row(45, 0.5), "sda": row(below, 1.8)}
    report = report_of(iostat([sample] * 20), rules=[RULE])
    assert bool(report.findings) is is_compared
    assert ("totals" in {table.name for table in report.host_tables}) is is_compared
    reasons = {o.reason for o in report.outcomes if o.rule == RULE and "dm-1" in o.devices}
    assert any("others are below them" in reason for reason in reasons) is not is_compared


def test_a_volume_of_zfs_that_its_cache_serves_has_its_disks(report_of):
    sample = {"zd0": row(900, 1.0), "dm-1": row(90, 0.5), "sda": row(60, 0.4)}
    assert "totals" in {table.name for table in report_of(iostat([sample] * 20)).host_tables}


@pytest.mark.parametrize(
    ("rate", "upper", "is_told"), [(50, 1.4, False), (50, 4.0, True), (500, 1.4, True), (5, 9.0, True)]
)
def test_what_a_layer_adds_is_told_by_its_effect(report_of, rate, upper, is_told):
    """1.2 ms of 50 requests/s are 6 % of one caller's time, of 500/s 60 %; a seek somebody pays for."""
    report = report_of(iostat(stack(upper, 0.2, rate=rate, samples=40)), CRYPT, rules=[RULE])
    if is_told:
        only(report)
    else:
        assert "6 % of the time" in silent(report).reason


@pytest.mark.parametrize(
    ("beside", "is_told"),
    [({"sda": {}}, True), ({}, False), ({"sdb": {}}, False), ({"sdb": row(9, 1.0)}, False)],
    ids=["an idle row", "no row at all", "an idle disk beside", "one that works beside"],
)
def test_a_disk_without_a_row_is_not_known_to_answer_quickly(report_of, beside, is_told):
    """Below the layer one sample has a slow disk; of the others only the rows of the layer were taken."""
    slow = row(200.0, 300.0)
    samples = [{"dm-0": slow, "sda": row(200.0, 290.0)}] + [{"dm-0": slow, **beside}] * 9
    tree = CRYPT + "sdb 8:16 disk\n" if "sdb" in beside else CRYPT
    report = report_of(sar_d(list(map(sar_row, samples))), tree, rules=[RULE])
    if is_told:
        only(report)
    else:
        assert silent(report).status == "clear"


def sar_row(sample):
    """The columns of `sar -d` of a sample of iostat's."""
    return {
        name: {
            "tps": one.get("r/s", 0.0),
            "rkB/s": one.get("rkB/s", 0.0),
            "await": one.get("r_await", 0.0),
            **{column: one[column] for column in ("aqu-sz", "%util") if column in one},
        }
        for name, one in sample.items()
    }


def test_a_disk_that_is_left_out_as_idle_is_known_to_be(report_of):
    """Of a volume over two disks -z leaves out the idle one; where both are left out nothing is known."""
    tree = "NAME TYPE\nsda disk\n`-v0 lvm\nsdb disk\n`-v0 lvm\n"
    samples = [{"dm-0": row(50, 900.0), "sda": row(50, 2.0)}, {"dm-0": row(50, 900.0)}] * 5
    samples += [{"dm-0": row(50, 2.0), "sdb": row(50, 1.9)}]
    finding = only(report_of(iostat(samples), tree.replace("v0", "dm-0"), rules=[RULE]))
    assert "in 5 of 11 samples" in finding.summary
