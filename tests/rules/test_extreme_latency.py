from __future__ import annotations

import pytest

from iodiag.model.finding import Finding
from iodiag.rules import all_rules
from iodiag.rules.precedence import order
from writers.captures import banner, iostat, vmstat
from writers.loads import array, load, lsblk

RULE = "extreme-latency"
HDD = lsblk(("sda", True))
SSD = lsblk(("sda", False))


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def found(report_of, samples, *context, device="sda"):
    return only(report_of(iostat([{device: one} for one in samples]), *context, rules=[RULE]))


STUCK = load(3.4, 3900, size=4, reads=0, depth=13.0, util=100.0)


@pytest.mark.parametrize("context", [(), (HDD,), (SSD,)], ids=["unknown", "spinning", "solid"])
def test_one_sample_of_three_requests_per_second_is_enough(report_of, context):
    finding = found(report_of, [STUCK], *context)
    assert (finding.role, finding.severity) == ("symptom", "critical")
    assert finding.devices == ("sda",)
    assert "3.9 s" in finding.summary
    assert "in the only sample" in finding.summary


def test_a_size_that_is_not_printed_is_not_told(report_of):
    rows = "Device r/s w/s await aqu-sz %util\nsda 0.00 3.40 3900.00 13.00 100.00\n\n"
    finding = only(report_of(banner() + rows * 3, rules=[RULE]))
    assert finding.summary.startswith("sda takes up to 3.9 s for requests with 13 in flight")
    assert not any("kB" in item.text for item in finding.evidence)


@pytest.mark.parametrize(
    ("row", "count", "calm", "severity"),
    [
        (load(10, 600, depth=3, util=100), 1, 40, "notice"),
        (load(10, 600, depth=3, util=100), 1, 2, "warning"),
        (load(10, 600, depth=3, util=100), 6, 40, "warning"),
        (load(3, 2500, depth=3, util=100), 1, 40, "warning"),
    ],
    ids=["a moment", "half of the samples", "many requests", "seconds"],
)
def test_few_slow_requests_in_few_samples_are_a_moment(report_of, row, count, calm, severity):
    rows = [load(80, 10)] * calm + [row] * count + [load(80, 10)] * 2
    assert found(report_of, rows, HDD).severity == severity


@pytest.mark.parametrize(
    ("rate", "samples", "confidence"), [(3.4, 1, "medium"), (3.4, 5, "high"), (200.0, 1, "high")]
)
def test_confidence_follows_the_requests_counted(report_of, rate, samples, confidence):
    sample = load(rate, 3900, size=4, reads=0, depth=13.0, util=100.0)
    assert found(report_of, [sample] * samples).confidence == confidence


@pytest.mark.parametrize(
    ("sample", "context", "device"),
    [
        (load(200, 5, size=8), (HDD,), "sda"),
        (load(120, 250, size=8, reads=0, depth=30.0, util=100.0), (HDD,), "sda"),
        (load(40, 190, size=8, reads=0, depth=1.0, util=100.0), (HDD,), "sda"),
        (load(100, 480, size=512, reads=0, depth=48.0, util=100.0), (HDD,), "sda"),
        (load(30, 250, size=64, reads=0, depth=1.0, util=100.0), (), "mmcblk0"),
        (load(4, 320, size=512, reads=0, depth=1.2, util=100.0), (), "mmcblk0"),
        ({}, (HDD,), "sda"),
    ],
    ids=[
        "calm",
        "a deep queue on a healthy spinning disk",
        "nobody notices",
        "large writes in a deep queue",
        "a memory card that erases",
        "a memory card writing large requests",
        "idle",
    ],
)
def test_what_a_healthy_device_of_the_class_may_take(report_of, sample, context, device):
    assert found(report_of, [sample] * 5, *context, device=device) is None


@pytest.mark.parametrize(
    ("device", "fires"),
    [("nvme0n1", True), ("vda", True), ("mmcblk0", False), ("scd0", False), ("dev179-0", False)],
)
def test_the_class_decides(report_of, device, fires):
    sample = load(10, 280, size=4, reads=0, depth=2.8, util=100.0)
    slow = {**sample, "aqu-sz": 1.0}
    assert (found(report_of, [slow] * 3, device=device) is not None) == fires


def test_one_direction_is_enough(report_of):
    mixed = {
        "r/s": 400.0, "rkB/s": 3200.0, "r_await": 0.4,
        "w/s": 4.0, "wkB/s": 16.0, "w_await": 2500.0, "aqu-sz": 10.0, "%util": 100.0,
    }  # fmt: skip
    finding = found(report_of, [mixed] * 3, SSD)
    assert "2.5 s for writes" in finding.summary


@pytest.mark.parametrize(("late", "severity"), [(2, "critical"), (1, "warning")])
def test_samples_without_requests_do_not_outvote_those_that_hang(report_of, late, severity):
    hung = load(1, 2000, size=8, reads=0, depth=2.0, util=100.0)
    samples = [load(4, 20, size=8, reads=0), *[hung] * late, *[load(0, 0, util=0.0)] * 6]
    assert found(report_of, samples, device="rbd1").severity == severity


def test_one_sample_of_many_is_told_as_such(report_of):
    finding = found(report_of, [*[load(100, 5, size=4)] * 17, STUCK], HDD)
    assert "in 1 of 18 samples" in finding.summary
    assert finding.samples == (17, 17)


def test_a_paste_of_unknown_length_fires(report_of):
    text = (
        "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n"
        "sda       0.00   0.00 0.00 3.4  0.00 13.60     8.00    13.00 3900.00    0.00 3900.00 294.12 100.00\n"
    )
    finding = only(report_of(text, rules=[RULE]))
    assert finding.severity == "critical"
    assert "3.9 s" in finding.summary


def test_the_queue_is_no_longer_than_what_was_counted(report_of):
    # 0.5 % busy with 0.3 in flight would be 60 in line, where two requests were counted at all
    sample = {"w/s": 2.0, "wkB/s": 8.0, "w_await": 900.0, "aqu-sz": 1.8, "%util": 6.0}
    assert found(report_of, [sample], SSD) is not None


@pytest.mark.parametrize("latency", [0.0, float("nan")])
def test_without_latency_it_says_nothing_of_the_device(report_of, latency):
    text = (
        "Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
        "sda              85.00       800.00       120.00       8000       1200\n"
    )
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == ["not_applicable"]


@pytest.mark.parametrize(
    ("size", "flushes", "latency", "fires"),
    [
        (4.0, 2.0, 392.0, False),
        (4.0, 0.1, 392.0, True),
        (0.0, 0.0, 392.0, False),
        (4.0, 2.0, 3900.0, True),
        (0.0, 0.0, 3900.0, True),
    ],
    ids=["flushes counted", "hardly any flushes", "empty writes", "slow flushes", "stuck empty writes"],
)
def test_a_write_that_comes_with_flushes_takes_as_long_as_they_do(report_of, size, flushes, latency, fires):
    sample = {"w/s": 2.0, "wkB/s": 2 * size, "w_await": latency, "aqu-sz": 1.4, "%util": 46.0}
    flushed = sample | {"f/s": flushes, "f_await": 0.8 * latency if flushes else 0.0}
    assert (found(report_of, [flushed] * 3) is not None) == fires


def test_without_a_queue_column_the_latency_tells_how_many_are_in_line(report_of):
    deep = load(120, 250, size=8, reads=0, depth=30.0, util=100.0)
    text = iostat([{"sda": deep}] * 3).replace("aqu-sz", "unknown")
    assert only(report_of(text, HDD, rules=[RULE])) is None


def test_a_healthy_device_is_clear(report_of):
    report = report_of(iostat([{"sda": load(100, 5)}] * 3), rules=[RULE])
    assert [(o.status, o.devices) for o in report.outcomes] == [("clear", ("sda",))]


@pytest.mark.parametrize(("confidence", "explained_by"), [("medium", "hung-io"), ("low", None)])
def test_a_likely_cause_on_the_device_explains_it(report_of, confidence, explained_by):
    seen = found(report_of, [STUCK] * 3, HDD)
    cause = Finding(
        "hung-io", "warning", confidence, "t", "s", devices=("sda",), host=seen.host, role="cause"
    )
    kept = {one.rule: one.explained_by for one in order([seen, cause], {}, all_rules().values())}
    assert kept == {RULE: explained_by, "hung-io": None}


def test_the_device_above_is_named_once(report_of):
    text = iostat([{"md0": STUCK, "sda": STUCK, "sdb": STUCK}] * 3)
    finding = only(report_of(text, array("raid1", "sda", "sdb"), rules=[RULE]))
    assert finding.devices == ("md0", "sda", "sdb")


def flood(latency, **reads):
    row = {"r/s": 720.0, "rkB/s": 2880.0, "r_await": 1.3} | reads
    return row | {
        "w/s": 15.0,
        "wkB/s": 1800.0,
        "w_await": latency,
        "aqu-sz": 0.015 * latency + 0.9,
        "%util": 100.0,
    }


@pytest.mark.parametrize("samples", [1, 2, 8])
def test_seconds_per_write_are_harm_however_long_the_queue_and_quick_the_reads(report_of, samples):
    finding = found(report_of, [flood(9600.0)] * samples)
    assert finding.severity == "warning"
    assert "9.6 s for writes" in finding.summary
    assert "no healthy device" not in finding.summary
    # the line explains it: the device is not sick
    assert (finding.title, finding.confirm) == ("Requests wait in line for seconds", ("pidstat -d 1",))


def test_seconds_in_a_queue_that_nobody_waits_for_are_a_note(report_of):
    calm = vmstat([{"b": 0, "wa": 1}] * 5)
    report = report_of(iostat([{"sda": flood(9600.0)}] * 5), calm, rules=[RULE])
    assert only(report).severity == "notice"


@pytest.mark.parametrize(
    ("row", "device", "status"),
    [
        (
            {"w/s": 128.0, "wkB/s": 11264.0, "w_await": 28.0, "aqu-sz": 3.6, "%util": 50.0},
            "nvme0n1",
            "undetermined",
        ),
        ({"w/s": 128.0, "wkB/s": 11264.0, "w_await": 2.0, "aqu-sz": 0.25, "%util": 20.0}, "nvme0n1", "clear"),
        ({"w/s": 1500.0, "wkB/s": 7200.0}, "md3", "undetermined"),
    ],
    ids=["long for its class", "prompt", "not timed"],
)
def test_it_is_clear_only_where_the_latency_was_seen_to_be_fine(report_of, row, device, status):
    report = report_of(iostat([{device: row}] * 8), rules=[RULE])
    assert [o.status for o in report.outcomes] == [status]


STARVED = load(8, 500, size=5.5, depth=4.0, util=100.0)


@pytest.mark.parametrize(
    ("device", "context", "kind"),
    [
        ("vda", (), "virtual disk"),
        ("xvda", (), "virtual disk"),
        ("dm-0", ("NAME KNAME ROTA TYPE\nvda vda 1 disk\n`-vg-lv dm-0 1 lvm\n",), "virtual disk"),
        ("rbd0", (), "network block device"),
        ("dasdb", (), "volume of a storage server"),
        ("sda", (), ""),
        ("sda", (HDD,), ""),
    ],
)
def test_of_a_virtual_disk_the_backend_is_asked_and_no_hardware(report_of, device, context, kind):
    finding = found(report_of, [STARVED] * 3, *context, device=device)
    told = f"It is a {kind}: look for a shared backend, a cap, or a failing disk behind it"
    assert (told in finding.summary) == bool(kind)
    told = " ".join((*finding.remedy, *finding.confirm))
    assert ("slot" in told, "smartctl" in told) == (not kind, not kind)


@pytest.mark.parametrize(
    ("layer", "count"),
    [(STARVED, 1), (load(1, 2500, size=5.5, depth=4.0, util=100.0), 2)],
    ids=["the same load", "another load"],
)
def test_a_layer_that_a_cut_paste_lacks_once_is_told_with_its_disk(report_of, layer, count):
    text = iostat([{"sda": STARVED, "dm-0": layer}, {"sda": load(12, 380, size=6, depth=4.6, util=100.0)}])
    findings = [f for f in report_of(text, rules=[RULE]).findings]
    assert len(findings) == count
    assert findings[0].devices[0] == "sda" or count == 2


SERVED = load(120, 900, size=8, reads=0, depth=108.0, util=100.0)


@pytest.mark.parametrize(
    ("samples", "cpu", "severity"),
    [
        ([STUCK], None, "critical"),
        ([STUCK, STUCK, load(3, 5, size=4)], None, "critical"),
        ([STUCK, *[load(90, 5, size=4)] * 4], None, "warning"),
        ([load(4.5, 434, size=128, depth=2.0, util=100.0)], None, "critical"),
        ([load(5.5, 240, size=128, depth=1.3, util=100.0)], None, "warning"),
        ([STUCK | {"%util": 60.0}], None, "warning"),
        ([SERVED | {"w_await": 2300.0, "aqu-sz": 276.0}], None, "warning"),
        ([STUCK] * 2, {"%iowait": 60.0, "%idle": 40.0}, "critical"),
        ([STUCK] * 2, {"%user": 10.0, "%iowait": 0.0, "%idle": 90.0}, "warning"),
        ([STUCK, STUCK, *[load(0, 0, size=4)] * 4], None, "critical"),
        ([STUCK, STUCK, *[load(0, 0, size=4)] * 40], None, "warning"),
    ],
    ids=[
        "the only sample",
        "most samples",
        "one of five",
        "few reads at twice what is sane",
        "beyond what is sane by less",
        "idle at times",
        "a load that explains it",
        "somebody waits",
        "nobody waits",
        "all that had requests, a third of all",
        "all that had requests, a rare event",
    ],
)
def test_a_device_that_hardly_answers_is_work_that_stands_still(report_of, samples, cpu, severity):
    report = report_of(iostat([{"sda": one} for one in samples], cpu), rules=[RULE])
    assert only(report).severity == severity
    assert report.verdict.state == ("trouble" if severity == "critical" else "open")
    assert ("slow rather than full" in only(report).summary) == (severity == "critical")
    waits = severity == "critical" and cpu is not None and cpu["%iowait"] > 0
    assert ("Meanwhile iowait is 60 %." in only(report).summary) == waits


CALM = load(3, 7, size=14, util=1.6)
LATE = load(1.9, 2600, size=13, depth=5.0, util=47.0)


@pytest.mark.parametrize(
    ("others", "late", "cpu", "severity"),
    [
        ([CALM] * 6, LATE, None, "critical"),
        ([CALM] * 6, LATE, {"%user": 10.0, "%iowait": 0.0, "%idle": 90.0}, "warning"),
        ([CALM] * 20, LATE, None, "warning"),
        ([load(0.3, 7, size=14, util=0.2)] * 6, LATE, None, "warning"),
        ([load(3, 7, size=2, util=1.6)] * 6, LATE, None, "warning"),
        ([load(3, 400, size=14, util=40.0)] * 6, LATE, None, "warning"),
        ([CALM] * 6, load(1.9, 2600, size=13, depth=5.0, util=4.0), None, "warning"),
        ([load(3, 7, size=14, util=25.0)] * 6, LATE, None, "warning"),
    ],
    ids=[
        "quick at a like load",
        "nobody waits",
        "a rare event",
        "fewer requests",
        "smaller requests",
        "slow always",
        "a disk that spins up",
        "as long busy for each",
    ],
)
def test_stalls_that_a_mean_over_minutes_hides_are_work_that_stands_still(
    report_of, others, late, cpu, severity
):
    samples = [{"sda": one} for one in [*others, late, late, late]]
    finding = only(report_of(iostat(samples, cpu, step=600), rules=[RULE]))
    assert finding.severity == severity
    assert ("at another time 3 requests/s took 7 ms each" in finding.summary) == (severity == "critical")


@pytest.mark.parametrize(
    ("header", "told"),
    [("13:00:01", "Meanwhile"), ("01:00:01", "In other reports")],
)
def test_what_cpus_of_other_times_counted_is_told_as_such(report_of, header, told):
    hour = header[:2]
    text = "13:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    text += "".join(f"13:{n}0:01 sda 1.40 9.00 9.00 12.86 9.80 7000.00 97.00\n" for n in (1, 2, 3))
    text += f"\n{header} CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(f"{hour}:{n}0:01 all 1.00 0.00 1.00 {86 + n}.00 0.00 {12 - n}.00\n" for n in (1, 2, 3))
    finding = only(report_of(text, rules=[RULE]))
    assert f" {told} iowait is 88 %." in finding.summary
    said = f"3 samples of the CPUs, {told.lower()}: iowait is 88 %, idle time 10 %"
    assert said in [item.text for item in finding.evidence]


def test_cpus_without_iowait_add_nothing(report_of):
    finding = only(report_of(iostat([{"sda": STUCK}] * 3, {"%user": 2.0, "%idle": 98.0}), rules=[RULE]))
    assert not any("iowait" in item.text for item in finding.evidence)


@pytest.mark.parametrize(("util", "is_told"), [(0.02, False), (0.0, False), (40.0, True)])
def test_averages_of_a_device_that_was_hardly_ever_busy_tell_no_latency(report_of, util, is_told):
    """Its mean queue is that of all the time, and of bursts it was thousands."""
    row = f"dm-5  0.00 4.00 0.00 60.00 16.20 0.00 3945.0 30.0 15.0 {util}\n"
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "Device r/s w/s rkB/s wkB/s aqu-sz r_await w_await rareq-sz wareq-sz %util\n" + row
    assert bool(only(report_of(text, rules=[RULE]))) == is_told


@pytest.mark.parametrize(("wait", "is_told"), [(3200.0, False), (30_000.0, True)])
def test_what_may_stand_on_a_device_that_takes_longer_is_its_victim(report_of, wait, is_told):
    above = {"w/s": 0.3, "wkB/s": 27.0, "w_await": wait, "aqu-sz": 0.0003 * wait, "%util": 20.0}
    report = report_of(iostat([{"sda": STUCK, "dm-2": above}]), rules=[RULE])
    assert ("dm-2" in {name for f in report.findings for name in f.devices}) == is_told
    assert any("sda" in f.devices for f in report.findings)


@pytest.mark.parametrize(
    ("beside", "severity"),
    [
        ({}, "critical"),
        ({"vda": load(23, 375, size=19, depth=9.9, util=100.0)}, "warning"),
        ({"vda": load(23, 3, size=19, depth=0.1, util=6.0)}, "critical"),
    ],
    ids=["alone", "a busier device that may be below", "an idle one"],
)
def test_one_volume_of_many_on_a_busy_disk_is_not_what_is_slow(report_of, beside, severity):
    sample = {"dm-0": load(4.0, 222, size=56, depth=1.1, util=99.8), **beside}
    assert only(report_of(iostat([sample]), rules=[RULE])).severity == severity


HEADER = "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await wareq-sz aqu-sz %util\n"


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ("sdq 6.31 504.80 260.00 80.00 0.00 0.00 0.00 0.00 1.64 3.10", "undetermined"),
        ("sdq 0.63 50.40 900.00 80.00 0.00 0.00 0.00 0.00 0.57 30.00", "notice"),
        ("sdq 0.63 50.40 2400.00 80.00 0.00 0.00 0.00 0.00 1.51 99.00", "critical"),
        ("sdq 6.31 504.80 4260.00 80.00 0.00 0.00 0.00 0.00 26.88 3.10", "notice"),
    ],
    ids=["a burst", "hardly any requests", "not since boot", "seconds"],
)
def test_a_lone_report_of_an_idle_device_may_be_bursts_or_since_boot(report_of, row, status):
    report = report_of(HEADER + row + "\n", rules=[RULE, "first-report-since-boot"])
    finding = only(report)
    told = [o for o in report.outcomes if o.rule == RULE]
    assert (finding.severity if finding else told[0].status) == status
    if status == "undetermined":
        assert "53 in flight while busy, 3.10 % of the time" in told[0].reason
    assert not any(o.rule == "first-report-since-boot" and o.status == "clear" for o in report.outcomes)


def test_a_burst_in_samples_that_are_idle_otherwise_clears_nothing(report_of):
    burst = {"r/s": 10.0, "rkB/s": 400.0, "r_await": 320.0, "aqu-sz": 3.2, "%util": 4.0}
    report = report_of(iostat([{"sda": load(80, 8)}] * 6 + [{"sda": burst}]), HDD, rules=[RULE])
    assert only(report) is None
    assert [(o.status, "bursts" in o.reason) for o in report.outcomes] == [("undetermined", True)]


def test_a_layer_that_waits_names_the_only_disk_that_moves_its_bytes(report_of):
    disk = {"r/s": 110.0, "rkB/s": 8800.0, "r_await": 82.0, "aqu-sz": 9.02, "%util": 97.0}
    layer = {"r/s": 1100.0, "rkB/s": 8800.0, "r_await": 2600.0, "aqu-sz": 2860.0, "%util": 88.0}
    other = {"r/s": 9.0, "rkB/s": 90.0, "r_await": 0.6, "aqu-sz": 0.01, "%util": 0.4}
    text = iostat([{"dm-4": layer, "sdq": disk, "sdr": other}] * 2)
    finding = only(report_of(text, rules=[RULE]))
    assert finding.devices == ("sdq", "dm-4")
    assert "dm-4 takes up to 2.6 s" in finding.summary
    assert "with 3,250 in flight while busy" in finding.summary
    assert "sdq carries these bytes in 110 requests/s of 80.0 kB, which take 82 ms each" in finding.summary


def test_an_idle_disk_that_moves_the_bytes_of_a_layer_is_told_and_not_named(report_of):
    layer = {"w/s": 1.0, "wkB/s": 1100.0, "w_await": 990.0, "aqu-sz": 0.99, "%util": 99.0}
    disk = {"w/s": 4.0, "wkB/s": 1100.0, "w_await": 3.5, "aqu-sz": 0.01, "%util": 1.4}
    finding = only(report_of(iostat([{"dm-1": layer, "sdb": disk}] * 3), rules=[RULE]))
    assert finding.devices == ("dm-1",)
    assert "sdb carries these bytes in 4 requests/s of 275.0 kB, which take 3.50 ms each" in finding.summary


def one_at_a_time(rate, wait, **columns):
    return load(rate, wait, size=6, reads=0, util=rate * wait / 10) | columns


@pytest.mark.parametrize(
    ("slow", "others", "told"),
    [
        (one_at_a_time(4, 90), one_at_a_time(15, 9), ("notice", "low")),
        (one_at_a_time(12, 80), one_at_a_time(15, 9), ("notice", "medium")),
        (one_at_a_time(4, 90), one_at_a_time(15, 60), None),
        (one_at_a_time(1, 90), one_at_a_time(15, 9), None),
        (one_at_a_time(4, 30), one_at_a_time(15, 9), None),
        (load(4, 90, size=6, reads=0, util=20.0), one_at_a_time(15, 9), None),
        (one_at_a_time(4, 90), load(15, 9, size=6, util=13.5), None),
        (one_at_a_time(4, 90) | {"f/s": 4.0, "f_await": 60.0}, one_at_a_time(15, 9), None),
    ],
    ids=["slow once", "more", "slow always", "seldom", "as a disk", "a queue", "quick reads", "flushes"],
)
def test_one_request_alone_that_takes_long_at_times_is_told(report_of, slow, others, told):
    finding = found(report_of, [others, slow, others, others])
    assert (finding and (finding.severity, finding.confidence)) == told
    if finding:
        assert finding.summary.startswith("One writer waits for each of its small writes to sda")
        assert "9 ms each, but" in finding.summary
        assert any("--fdatasync=1" in command for command in finding.confirm)
        assert any("smartctl" in command for command in finding.confirm) == (told == ("notice", "medium"))


@pytest.mark.parametrize(
    "other", [one_at_a_time(15, 9) | {"wkB/s": 900.0}, load(15, 9, size=6, util=13.5)], ids=["large", "reads"]
)
def test_what_is_no_log_has_no_one_writer(report_of, other):
    finding = found(report_of, [one_at_a_time(15, 9), one_at_a_time(4, 90), other, other])
    told = "one at a time and without a queue, in 1 of 4 samples; at other times one takes 9 ms"
    assert told in finding.summary


def test_what_stands_on_a_disk_that_is_slow_alone_is_no_second_device(report_of):
    rows = [{"sda": one_at_a_time(15, 9), "dm-0": one_at_a_time(15, 9)}] * 3
    rows.insert(1, {"sda": one_at_a_time(4, 90), "dm-0": one_at_a_time(6, 60)})
    finding = only(report_of(iostat(rows), rules=[RULE]))
    assert finding.devices[0] == "sda"


STALL = load(7, 1600, size=4, reads=0, depth=11.2, util=16.0)


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        (load(9, 3, size=4, reads=0, util=2.0), True),
        (load(9, 300, size=4, reads=0, util=15.0), False),
        (load(90, 3, size=4, reads=0, util=20.0), False),
    ],
    ids=["quick at the same rate", "slow always", "another rate"],
)
def test_few_requests_in_a_long_line_are_a_stall_where_a_like_load_took_far_less(report_of, other, is_told):
    finding = only(report_of(iostat([{"sda": other}, {"sda": STALL}], step=600), rules=[RULE]))
    assert bool(finding) == is_told
    assert not finding or "takes 1.6 s for" in finding.summary


def test_a_latency_without_requests_or_busy_time_is_no_symptom(report_of):
    stray = {"r/s": 0.0, "w/s": 0.0, "w_await": 950.0, "aqu-sz": 0.0, "%util": 0.0}
    assert found(report_of, [stray] * 2, device="loop3") is None
    busy = stray | {"w/s": 0.5, "wkB/s": 2.0, "aqu-sz": 0.48, "%util": 48.0}
    assert found(report_of, [busy] * 2, device="loop3")


def evidence(finding):
    return " ".join(item.text for item in finding.evidence)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (load(60, 3000, size=500, reads=0, depth=140, util=100), "at 60/s with 140 in flight"),
        (
            load(60, 3000, size=500, reads=0.5, depth=140, util=100) | {"r_await": 20.0},
            "at 30/s; rate times latency makes 90 in flight",
        ),
    ],
    ids=["a queue of one direction", "the queue of both directions"],
)
def test_the_printed_queue_is_told_where_it_is_of_these_requests(report_of, row, told):
    assert told in evidence(found(report_of, [row]))


def test_the_longest_time_of_a_healthy_device_is_of_that_size_and_told_once(report_of):
    report = report_of(iostat([{"vda": load(60, 3000, size=500, reads=0, depth=140, util=100)}] * 3))
    finding = only(report)
    assert "one alone of 500.0 kB takes a healthy device (of class: network) at most 55 ms" in evidence(
        finding
    )
    (full,) = (f for f in report.findings if f.rule == "true-saturation")
    assert "times the 10 ms that one such request alone usually takes at most (network)" in evidence(full)


def test_a_lone_read_leads_no_finding_and_each_direction_counts_its_own_samples(report_of):
    slow = load(50, 3000, size=500, reads=0, depth=150, util=100)
    one_read = slow | {"r/s": 1.0, "rkB/s": 4.0, "r_await": 6000.0}
    summary = found(report_of, [slow, one_read, slow, load(50, 20, reads=0)]).summary
    assert " 6 s " not in summary
    assert "requests of" in summary
    assert "in 3 of 4 samples" in summary
    reads = one_read | {"r/s": 5.0, "rkB/s": 20.0}
    summary = found(report_of, [slow, reads, slow, load(50, 20, reads=0)]).summary
    assert "6 s for reads of 4.0 kB" in summary
    assert "in 1 of 4 samples" in summary


@pytest.mark.parametrize(("cpus", "severity"), [("", "critical"), ("(2 CPU)", "warning")])
def test_iowait_shows_that_nobody_waits_only_where_cpus_are_counted(report_of, cpus, severity):
    """20 % of two CPUs are no task on average; of 64 they are a dozen."""
    text = iostat([{"sda": STUCK}] * 5, cpu={"%iowait": 20.0, "%idle": 70.0, "%user": 10.0})
    (finding,) = report_of(text.replace("(2 CPU)", cpus), rules=["extreme-latency"]).findings
    assert finding.severity == severity


def test_what_was_in_flight_is_told_as_measured_not_as_the_limit_allows(report_of):
    """The limit is for one request at the least, and for no more than were counted in the sample."""
    rows = [load(0.3, 300, size=6, reads=0, depth=0.09, util=3.4)] * 9
    summary = found(report_of, rows).summary
    assert "with 0.09 in flight, in 9 of 9 samples" in summary
    assert "for one alone" in summary
    rows = "Device r/s w/s rkB/s wkB/s await aqu-sz %util\nsdb 0.00 1.50 0.00 8.00 670.00 1.01 14.00\n\n"
    summary = only(report_of(banner() + rows, rules=[RULE])).summary
    assert "with 7.21 in flight while busy" in summary


@pytest.mark.parametrize(
    ("row", "severity"),
    [
        (load(0.3, 300, size=6, reads=0, depth=0.09, util=3.4), "notice"),
        (load(0.3, 300, size=6, reads=0.5, depth=0.09, util=3.4), "warning"),
        (load(0.07, 1300, size=6, reads=0, depth=0.09, util=3.4), "warning"),
        (load(0.5, 300, size=6, reads=0, depth=0.15, util=4.5), "warning"),
    ],
    ids=["a trickle of writes", "reads", "seconds", "more in flight"],
)
def test_late_writes_that_are_hardly_ever_in_flight_are_a_notice(report_of, row, severity):
    finding = only(report_of(iostat([{"sda": row}] * 300, CALM), rules=[RULE]))
    assert finding.severity == severity
    assert ("lsblk -o NAME,TRAN,ROTA,MODEL" in finding.confirm) is (severity == "notice")


CALM = {"%user": 5.0, "%iowait": 0.2, "%idle": 94.8}


@pytest.mark.parametrize(
    ("device", "cpu", "severity"),
    [
        ("sdb", CALM, "notice"),
        ("sdb", None, "warning"),
        ("nvme0n1", CALM, "warning"),
        ("rbd0", CALM, "warning"),
    ],
    ids=["a stick", "nothing tells who waits", "flash that never takes as long", "a network"],
)
def test_a_trickle_is_excused_where_it_is_a_disk_and_seen_that_nobody_waits(report_of, device, cpu, severity):
    row = load(0.2, 450, size=8, reads=0, depth=0.09, util=9.0)
    assert only(report_of(iostat([{device: row}] * 12, cpu), rules=[RULE])).severity == severity


@pytest.mark.parametrize(("depth", "is_told"), [(0.41, False), (0.38, True)])
def test_a_limit_is_not_exceeded_by_what_the_printed_queue_is_rounded(report_of, depth, is_told):
    row = {"r/s": 1.26, "rkB/s": 26.78, "r_await": 322.5, "aqu-sz": depth, "%util": 5.2}
    assert bool(only(report_of(iostat([{"dm-2": row}], step=600), rules=[RULE]))) == is_told


@pytest.mark.parametrize(
    ("name", "spins"), [("sda", True), ("nvme0n1", False), ("rbd4", False), ("vda", False)]
)
@pytest.mark.parametrize(("util", "sure"), [(100.0, "high"), (147.0, "medium")])
def test_what_cannot_be_true_or_cannot_spin_is_not_relied_on(report_of, name, spins, util, sure):
    row = {"w/s": 21, "wkB/s": 2688, "w_await": 2500, "aqu-sz": 52.5, "%util": util}
    (finding,) = [f for f in report_of(iostat([{name: row}] * 2)).findings if f.rule == "extreme-latency"]
    assert finding.confidence == sure
    assert ("spun down" in finding.refutes[0]) == spins


def test_tasks_of_another_run_do_not_wait_for_a_trickle(report_of):
    quick, trickle = (
        load(30, 2, size=10, reads=0, util=5),
        load(0.4, 250, size=10, reads=0, depth=0.08, util=6),
    )
    runs = [vmstat([{"b": 6, "wa": 30, "id": 66}] * 5), iostat([{"sda": quick}] * 7)]
    later = [vmstat([{"b": 0, "wa": 0, "id": 96}] * 5), iostat([{"sda": trickle}] * 7)]
    text = "".join(f"Before:\n{one}\nAfter:\n{two}\n" for one, two in zip(runs, later, strict=True))
    assert only(report_of(text, rules=[RULE])).severity == "notice"


def test_a_read_and_a_write_do_not_lead_as_their_mean(report_of):
    one_each = {"r/s": 1, "rkB/s": 4, "r_await": 0.0, "w/s": 1, "wkB/s": 4, "w_await": 656.0}
    calm = {"r/s": 5, "rkB/s": 20, "r_await": 1.0, "w/s": 98, "wkB/s": 290, "w_await": 3.0}
    rows = [one_each | {"aqu-sz": 0.66, "%util": 65.7}, *[calm | {"aqu-sz": 0.3, "%util": 29.0}] * 4]
    found = [f for f in report_of(iostat([{"sda": row} for row in rows])).findings if f.rule == RULE]
    assert "656 ms for writes of 4.0 kB" in found[0].summary


def test_a_stall_before_the_commits_is_not_explained_by_them(report_of):
    stall = {"w/s": 30, "wkB/s": 120, "w_await": 900.0, "aqu-sz": 27.0, "%util": 100.0}
    commits = {"w/s": 120, "wkB/s": 360, "w_await": 8.0, "aqu-sz": 0.96, "%util": 95.0}
    cpu = {"%iowait": 12.0, "%idle": 80.0}
    report = report_of(iostat([{"sda": stall}, *[{"sda": commits}] * 5], cpu))
    by_rule = {finding.rule: finding for finding in report.findings}
    assert by_rule[RULE].explained_by != "serialized-commit"


@pytest.mark.parametrize(
    ("rate", "util", "size", "is_told"),
    [(20, 100.0, 4, True), (60, 100.0, 4, False), (20, 50.0, 4, False), (20, 100.0, 90, False)],
    ids=["50 ms each", "17 ms each", "idle for half of the time", "requests that take as long"],
)
def test_a_device_that_each_request_keeps_busy_for_too_long_is_slow_whatever_its_line(
    report_of, rate, util, size, is_told
):
    """300 ms is less than a line of ten may take; what completed is all that it did without idle time."""
    finding = found(report_of, [load(rate, 300, size=size, depth=10.0, util=util)] * 3)
    assert (finding is not None) == is_told
    if finding:
        assert "keeps it busy for 50 ms, a healthy device for at most 32 ms" in finding.summary
        virtual = found(report_of, [load(rate, 300, size=size, depth=10.0, util=util)] * 3, device="vda")
        assert "look for a shared backend" in virtual.summary


def test_what_waits_above_a_slow_disk_is_its_victim_and_not_saturated(report_of):
    """The bytes of the layers add up to those of the only disk: nothing else says what they stand on."""
    sample = {
        "dm-0": load(40, 520, size=4, depth=21.0, util=100.0),
        "dm-1": load(5, 240, size=40, depth=1.2, util=99.0),
        "sda": load(20, 375, size=18, depth=10.0, util=100.0),
    }
    report = report_of(iostat([sample]))
    assert "true-saturation" not in {f.rule for f in report.findings}
    assert only(report).devices == ("sda", "dm-1")
    assert report.headline.startswith("sda takes 375 ms")


def test_an_average_without_latencies_is_none_of_those_that_may_be_late(report_of):
    """The same average since boot, printed by a plain report and by one with times."""
    head = "Linux 2.6.18 (box) \t11/20/26\n\n"
    plain = "Device: tps Blk_read/s Blk_wrtn/s Blk_read Blk_wrtn\nxvda 1.20 3.06 13.86 724734 3284648\n\n"
    names = "rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util"
    times = f"Device: {names}\nxvda 0.02 0.69 0.15 1.05 3.06 13.86 14.10 0.27 222.70 72.60 8.71\n"
    finding = only(report_of(f"$ iostat\n{head}{plain}$ iostat -x\n{head}{times}", rules=[RULE]))
    assert "as an average since boot" in finding.summary
    assert " of 2 " not in finding.summary
