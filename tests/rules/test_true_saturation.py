from __future__ import annotations

import re

import pytest

from writers.captures import banner, iostat, sar_d, vmstat
from writers.loads import array, load, lsblk

RULE = "true-saturation"
DISKS = ("sda", "sdb", "sdc", "sdd")


@pytest.fixture
def run(report_of):
    return lambda *texts, **options: report_of(*texts, rules=[RULE], **options)


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def values(finding):
    return {name: value for item in finding.evidence for name, value in item.values.items()}


def test_a_disk_with_a_queue(run):
    (finding,) = found(run(iostat([{"sda": load(140, 450)}] * 20), lsblk(("sda", True))))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert values(finding)["inflation"] == pytest.approx(63)
    assert finding.samples == (0, 19)


def test_two_load_levels_need_no_topology(run):
    rows = [load(900, 1)] * 20 + [load(1500, 12)] * 20
    (finding,) = found(run(iostat([{"sda": row} for row in rows])))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.samples == (20, 39)
    numbers = values(finding)
    assert numbers["inflation"] == pytest.approx(12, rel=0.01)
    assert numbers["gain"] == pytest.approx(100 / 11, rel=0.02)
    assert numbers["elasticity"] <= 0.3


def test_throughput_that_grows_is_no_saturation(run):
    rows = [load(900, 1)] * 20 + [load(6000, 4)] * 20
    assert not found(run(iostat([{"sda": row} for row in rows])))


def test_without_baseline_and_class_it_stays_open(run):
    report = run(iostat([{"sda": load(400, 20)}] * 20))
    assert not found(report)
    assert {o.status for o in report.outcomes if "sda" in o.devices} == {"undetermined"}


def test_longer_than_any_class_takes_is_full(run):
    report = run(iostat([{"sda": load(70, 700)}] * 20))
    (finding,) = found(report)
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert {o.status for o in report.outcomes if "sda" in o.devices} == {"finding"}


def test_the_array_is_reported_once_with_its_disks(run):
    text = iostat([{"md0": load(400, 40), **dict.fromkeys(DISKS, load(100, 40))}] * 20)
    (finding,) = found(run(text, array("raid5", *DISKS)))
    assert finding.devices == ("md0", *DISKS)
    assert values(finding)["count"] == 4


def test_a_few_seconds_are_not_enough_for_a_warning(run):
    rows = [load(20, 9)] * 20 + [load(140, 450)] * 2 + [load(20, 9)] * 20
    (finding,) = found(run(iostat([{"sda": row} for row in rows]), lsblk(("sda", True))))
    assert finding.severity == "notice"


def test_writes_that_nobody_waits_for_are_no_warning(run):
    text = iostat([{"sda": load(140, 450, reads=0.0, size=512)}] * 20)
    (patient,) = found(run(text, lsblk(("sda", True)), vmstat([{"b": 0, "bo": 70000}] * 20)))
    assert patient.severity == "notice"
    assert any(item.weighs == "against" for item in patient.evidence)
    (waiting,) = found(run(text, lsblk(("sda", True)), vmstat([{"b": 3, "bo": 70000}] * 20)))
    assert waiting.severity == "warning"


@pytest.mark.parametrize(
    ("size", "reads", "first"),
    [(8, 0.0, "Spread the load"), (8, 0.1, "Where these are"), (200, 0.0, "Where")],
)
def test_small_writes_beside_no_reads_are_not_flushed_earlier_first(run, size, reads, first):
    rows = load(29000, 8, reads=reads, size=size)
    (finding,) = found(run(iostat([{"sda": rows}] * 20), lsblk(("sda", False))))
    assert finding.remedy[0].startswith(first)


@pytest.mark.parametrize(("size", "depth"), [(200, 17), (200, 50), (16, 17)])
def test_a_full_disk_is_a_warning_unless_it_is_seen_that_nobody_waits(run, size, depth):
    rows = load(140, 1000 * depth / 140, reads=0.0, size=size)
    (finding,) = found(run(iostat([{"sda": rows}] * 20), lsblk(("sda", True))))
    assert finding.severity == "warning"
    assert any("vm.dirty_bytes" in text for text in finding.remedy)


def test_a_standstill_is_critical(run):
    lines = [
        f"{1795182148 + n} some avg10=95.00 avg60=50.00 avg300=9.00 total={n * 950000} " for n in range(20)
    ]
    psi = "\n".join(
        f"{s}full avg10=90.00 avg60=50.00 avg300=9.00 total={n * 900000}" for n, s in enumerate(lines)
    )
    (finding,) = found(
        run(
            iostat([{"sda": load(140, 450)}] * 20),
            lsblk(("sda", True)),
            "==> /proc/pressure/io <==\n" + psi + "\n",
        )
    )
    assert finding.severity == "critical"


STILL = {"%user": 0.5, "%system": 1.5, "%iowait": 97.9, "%idle": 0.1}


@pytest.mark.parametrize(
    ("row", "cpu", "cpus", "severity"),
    [
        (load(90, 900, reads=0.7), STILL, 1, "critical"),
        (load(90, 200, reads=0.7), STILL, 1, "warning"),
        (load(90, 900, reads=0.7), STILL | {"%iowait": 55, "%idle": 43}, 1, "warning"),
        (load(90, 900, reads=0.0), STILL, 1, "warning"),
        (load(90, 900, reads=0.0), STILL, 4, "critical"),
    ],
    ids=[
        "no work done",
        "a fifth of a second",
        "idle time is left",
        "one task may write it",
        "four CPUs wait",
    ],
)
def test_a_queue_of_seconds_while_cpus_only_wait_is_a_standstill(run, row, cpu, cpus, severity):
    text = re.sub(r"\(\d+ CPU\)", f"({cpus} CPU)", iostat([{"sda": row}] * 2, cpu))
    (finding,) = found(run(text, lsblk(("sda", True))))
    assert finding.severity == severity
    assert ("iowait is 97.9 %" in finding.summary) == (cpu == STILL)


@pytest.mark.parametrize(
    ("context", "severity"),
    [([], "critical"), ([vmstat([{"b": 0, "bo": 9000}] * 2)], "notice")],
    ids=["not shown who waits", "nobody does"],
)
def test_writes_that_take_many_seconds_are_a_standstill_unless_nobody_waits(run, context, severity):
    row = load(20, 15000, reads=0.0, size=400)
    (finding,) = found(run(iostat([{"sda": row}] * 2, None), lsblk(("sda", True)), *context))
    assert finding.severity == severity


@pytest.mark.parametrize(("most", "severity"), [(430.0, "critical"), (40.0, "warning")])
def test_hundreds_of_tasks_in_the_load_average_are_a_standstill(run, most, severity):
    queue = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    queue += f"13:00:05 1 900 {most:.2f} 9.00 9.00 40\n"
    report = run(iostat([{"sda": load(90, 900, reads=0.7)}] * 2), lsblk(("sda", True)), queue)
    (finding,) = found(report)
    assert finding.severity == severity


def test_steal_takes_from_the_confidence(run):
    cpu = {"%user": 40.0, "%steal": 30.0, "%idle": 30.0}
    text = iostat([{"sda": load(140, 450)}] * 20, cpu)
    (finding,) = found(run(text, lsblk(("sda", True))))
    assert finding.confidence == "low"


def test_a_healthy_ssd_under_load_is_quiet(run):
    rows = [load(2000 + 500 * (n % 5), 0.3 + 0.02 * (n % 4), size=8) for n in range(40)]
    assert not found(run(iostat([{"nvme0n1": row} for row in rows])))


def test_hardly_a_request_on_a_busy_disk_is_not_called_idle(report_of):
    slow = {"r/s": 0.5, "rkB/s": 60.8, "w/s": 0.8, "wkB/s": 3.2, "r_await": 1786.0, "w_await": 1786.0}
    report = report_of(
        iostat([{"sdb": {**slow, "aqu-sz": 2.3, "%util": 99.4}}] * 5), rules=["true-saturation"]
    )
    assert [o.reason for o in report.outcomes] == [
        "busy at times, but nothing that completed then tells of its limit"
    ]


@pytest.mark.parametrize(
    ("disk", "is_full"),
    [
        (load(3740, 5.0, reads=0.0, size=256), False),
        (load(374, 300.0, reads=0.0, size=2560), True),
        (load(3, 5.0, reads=0.0, size=256, util=2), True),
    ],
    ids=["merged, and quick", "merged, and full", "on disks that are not shown"],
)
def test_what_is_counted_before_it_is_merged_fills_no_device(run, disk, is_full):
    """A mapped device that nothing places, with as many requests in flight as no controller takes at once."""
    layer = load(120000, 5.3, reads=0.0, size=8)
    report = run(iostat([{"dm-1": layer, "dm-2": layer, "sdc": disk, "sdd": disk}] * 2))
    assert any("dm-1" in finding.devices for finding in found(report)) is is_full


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_a_full_disk_of_unknown_class_is_told_from_one_sample(run, samples):
    report = run(iostat([{"sdg": load(158, 165, reads=0.0, size=252)}] * samples))
    (finding,) = found(report)
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "is saturated" in finding.summary


@pytest.mark.parametrize(
    "row",
    [
        load(1200, 7, util=97),  # eight in flight on what may be a network volume
        load(427, 17),  # seven in flight, as quick as a disk that seeks
        load(24, 5700, reads=0.0, size=4.5),  # 42 ms busy for each: a sick disk
    ],
)
@pytest.mark.parametrize("samples", [1, 3])
def test_queues_that_tell_of_no_limit_stay_open(run, row, samples):
    report = run(iostat([{"sda": row}] * samples))
    assert not found(report)
    assert {o.status for o in report.outcomes} == {"undetermined"}


@pytest.mark.parametrize(
    ("row", "is_full"),
    [
        (load(712, 16.9, size=26), True),
        (load(1500, 8, size=8), False),  # what an array of disks takes for one alone
        (load(712, 14, size=26), False),
        (load(400, 30, size=26), False),  # one disk that sorts its queue
        (load(1200, 16.9, size=64), False),  # larger requests take longer
    ],
)
def test_an_unknown_class_means_the_slowest_however_many_requests_it_serves(run, row, is_full):
    findings = found(run(iostat([{"sda": row}])))
    assert bool(findings) == is_full
    for finding in findings:
        text = " ".join(item.text for item in finding.evidence)
        assert "no single spinning disk serves 712.0/s of 26.0 kB: the class is unknown" in text
        assert "times" not in text
        assert "judged as a spinning disk" not in text


@pytest.mark.parametrize(("waits", "devices"), [((16.9, 14, 12.5), 3), ((16.9, 14, 5), 2)])
def test_of_equal_devices_that_no_single_disk_can_be_all_are_told(run, waits, devices):
    rows = {name: load(712, wait, size=26) for name, wait in zip(DISKS, waits, strict=False)}
    findings = found(run(iostat([rows])))
    assert len({name for finding in findings for name in finding.devices}) == devices


@pytest.mark.parametrize(("blocked", "is_own"), [(12, True), (60, False), (3, False)])
def test_a_caller_behind_each_request_is_not_told_to_ask_for_fewer(run, blocked, is_own):
    cpu = {"%iowait": 50.0, "%idle": 20.0}
    (finding,) = found(
        run(iostat([{"sda": load(712, 16.9, size=26)}] * 4, cpu), vmstat([{"b": blocked}] * 4))
    )
    assert ("each caller waits" in finding.title) == is_own
    assert ("Limit concurrency" in " ".join(finding.remedy)) != is_own


SILENT = {"r/s": 0.0, "w/s": 0.0, "aqu-sz": 0.0, "%util": 100.0}


@pytest.mark.parametrize(
    ("after", "is_full"),
    [
        pytest.param([load(300, 90)] * 2, False, id="what was left of it"),
        pytest.param([load(300, 90)] * 6, True, id="for longer than it stood still"),
        pytest.param([load(900, 90)] * 2, True, id="more than it usually does"),
    ],
)
def test_what_a_standstill_left_makes_no_device_full(run, after, is_full):
    calm = [load(100, 5)] * 12
    report = run(
        iostat([{"sda": row} for row in (*calm, *[SILENT] * 4, *after, *calm)]), lsblk(("sda", True))
    )
    assert bool(found(report)) == is_full
    assert any("a standstill had left" in o.reason for o in report.outcomes) == (not is_full)


@pytest.mark.parametrize(("iowait", "is_full"), [(60.0, True), (1.0, False)])
def test_what_a_standstill_left_is_told_where_somebody_waits_for_it(run, iowait, is_full):
    rows = ([load(110, 5, util=45)] * 11 + [SILENT] * 2 + [load(150, 1700, util=100)] * 2) * 3
    cpu = {"%user": 5.0, "%iowait": iowait, "%idle": 95.0 - iowait}
    report = run(iostat([{"sda": row} for row in rows], cpu), lsblk(("sda", True)))
    assert bool(found(report)) == is_full
    assert any("a standstill had left" in o.reason for o in report.outcomes) == (not is_full)


@pytest.mark.parametrize(("latency", "is_full"), [(38, False), (60, True)])
def test_a_hang_and_the_sample_that_ends_it_are_no_queue(run, latency, is_full):
    rows = [load(3800 / latency, latency, size=16)] * 20
    rows = [*rows, *[SILENT] * 9, load(23, 1775, size=16), *rows]
    told = found(run(iostat([{"sda": row} for row in rows])))
    assert bool(told) == is_full
    for finding in told:
        assert "63.33 reads/s of 16.0 kB: 3.80 in flight, 60.00 ms each" in finding.evidence[0].text
        assert "40 of 50 samples" in finding.summary


def test_the_numbers_of_a_level_are_of_the_samples_that_are_cited(run):
    rows = [SILENT, SILENT, load(30, 800, reads=0.0, size=512)] * 6
    (finding,) = found(run(iostat([{"sda": row} for row in rows])))
    assert "at 10 writes/s of 512.0 kB: 8 in flight, 800 ms each" in finding.evidence[0].text
    assert finding.evidence[0].rows == 18
    assert "18 of 18 samples" in finding.summary


RATES = (210, 260, 235, 280, 225, 250)


@pytest.mark.parametrize(
    ("rows", "is_full"),
    [
        pytest.param([load(rate, 40) for rate in RATES] * 5, False, id="each takes as long, however many"),
        pytest.param([load(rate, 40) for rate in RATES] * 3, True, id="too few samples"),
        pytest.param(
            [load(rate, 10_000 / rate) for rate in RATES] * 5, True, id="ten in flight all the time"
        ),
        pytest.param([load(250, wait) for wait in (30, 40, 50, 45, 35)] * 6, True, id="one rate"),
        pytest.param(
            [load(rate, 40, size=10_000 / rate) for rate in RATES] * 5, True, id="as many bytes all the time"
        ),
        pytest.param(
            [load(rate, 40) for rate in RATES] * 5 + [load(250, 400)] * 3, True, id="waits at other times"
        ),
    ],
)
def test_what_does_more_in_the_same_time_is_not_full(run, rows, is_full):
    report = run(iostat([{"sda": row} for row in rows]), lsblk(("sda", False)))
    assert bool(found(report)) == is_full
    assert ("slow, yet not full" in report.headline) == (not is_full)


@pytest.mark.parametrize(
    ("util", "said"), [(78, "78 % busy, with a queue whenever it is"), (99, "99 % busy, in")]
)
def test_a_full_device_with_idle_time_is_one_in_bursts(run, util, said):
    row = load(1100, 80, size=128, reads=0.0) | {"%util": util}
    (finding,) = found(run(iostat([{"sda": row}]), lsblk(("sda", False))))
    assert said in finding.summary


def test_more_in_flight_than_any_disk_takes_at_once(run):
    (finding,) = found(run(iostat([{"sda": load(29000, 4.8, reads=0.0, size=12)}] * 3)))
    assert finding.severity == "warning"
    assert not found(run(iostat([{"nvme0n1": load(290000, 0.5, reads=0.0, size=12)}] * 3)))


def test_a_longer_queue_of_smaller_requests_that_moves_no_more(run):
    rows = [load(259, 19.4, size=265), load(420, 34, size=158)]
    (finding,) = found(run(iostat([{"sdc": row} for row in rows])))
    assert "67.0 MB/s" in finding.summary
    assert not found(run(iostat([{"sdc": row} for row in (rows[0], load(700, 20, size=158))])))


def test_less_than_it_moved_with_a_shorter_queue_is_no_ceiling(run):
    """Another size of requests on an array: what it can do is what it did before."""
    rows = [load(1231, 6.03, reads=0.0, size=1024), load(3738, 5.7, reads=0.0, size=256)]
    assert not found(run(iostat([{"sdc": row} for row in rows])))


def test_the_odd_flood_of_a_busy_disk_is_not_what_it_is_busy_with(run):
    writer, flood = load(36, 27.7, reads=0.0, size=33), load(59, 275, reads=0.0, size=250)
    report = run(iostat([{"sda": row} for row in [writer] * 8 + [flood] + [writer] * 9]))
    assert not found(report)
    assert {o.status for o in report.outcomes} == {"undetermined"}


def test_an_array_over_calm_disks_is_not_full(run):
    text = iostat([{"md0": load(400, 120), **dict.fromkeys(DISKS, load(100, 6, util=40))}] * 5)
    assert not found(run(text, array("raid5", *DISKS, rota=False)))
    assert not found(run(text, array("raid5", *DISKS)))


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_a_memory_card_serves_one_request_at_a_time(run, samples):
    (finding,) = found(run(iostat([{"mmcblk0": load(204, 88, size=128)}] * samples)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "queue on 1 memory card" in finding.summary
    assert not found(run(iostat([{"mmcblk0": load(800, 1.2, util=96)}] * samples)))


@pytest.mark.parametrize(
    ("row", "is_full"),
    [
        (load(76, 92, size=4), True),  # seven in flight, longer each than any disk takes for one alone
        (load(114, 44, size=16), True),  # five
        (load(174, 28.8, size=29), False),  # five that a slow disk each might take as long for
        (load(54, 44, size=16), False),  # hardly two
    ],
)
@pytest.mark.parametrize("samples", [1, 3])
def test_a_short_queue_is_one_where_no_disk_takes_as_long_for_one_alone(run, row, is_full, samples):
    assert bool(found(run(iostat([{"sdc": row}] * samples)))) == is_full


@pytest.mark.parametrize(
    ("row", "is_full"),
    [
        (load(185500, 2.4, size=16), True),
        (load(60000, 0.8, size=16), False),  # as quick as flash is
        (load(25600, 2.5, size=16), False),  # 64 in flight: it may serve as many at once
    ],
)
def test_nvme_takes_many_at_once_yet_not_any_number(run, row, is_full):
    assert bool(found(run(iostat([{"nvme0n1": row}] * 2)))) == is_full


def test_an_array_over_disks_that_are_counted_in_ticks_is_not_full(run):
    text = iostat([{"md0": load(320, 50, size=10), **dict.fromkeys(DISKS, load(80, 0.08, util=47))}] * 3)
    assert not found(run(text, array("raid10", *DISKS, rota=False)))


def two_ways(reads, writes, util=97.0):
    """A row of reads and writes, each (rate, kB, ms)."""
    depth = (reads[0] * reads[2] + writes[0] * writes[2]) / 1000
    row = {"r/s": reads[0], "rkB/s": reads[0] * reads[1], "r_await": reads[2]}
    row |= {"w/s": writes[0], "wkB/s": writes[0] * writes[1], "w_await": writes[2]}
    return row | {"aqu-sz": depth, "%util": util}


@pytest.mark.parametrize(
    ("reads", "writes", "said"),
    [
        ((127, 4.6, 280), (107, 365, 42), "reads of 5 kB take 280 ms with 35.56 in flight"),
        ((100, 4.6, 20), (107, 365, 420), "writes of 365 kB take 420 ms with 44.94 in flight"),
        ((100, 16, 200), (100, 16, 220), "mixed requests of 16 kB take 210 ms with 42 in flight"),
        ((20, 4.6, 3), (300, 128, 200), "writes of 128 kB take 200 ms with 60 in flight"),
    ],
    ids=["reads wait", "writes wait", "alike", "hardly any reads"],
)
def test_the_direction_that_waits_is_told(run, reads, writes, said):
    (finding,) = found(run(iostat([{"sda": two_ways(reads, writes)}])))
    assert said in finding.summary
    numbers = values(finding)
    usual = 15 + numbers["size"] / 50
    assert numbers["inflation"] == pytest.approx(numbers["latency"] / usual, rel=0.01)


FLOOD = two_ways((100, 100, 3.5), (715, 140, 89), 73)
CALM = two_ways((40, 200, 3), (300, 17, 1), 30)


@pytest.mark.parametrize(
    ("rows", "said", "severity"),
    [
        ([CALM] * 4 + [FLOOD] + [CALM] * 5, "is saturated: writes", "notice"),
        ([CALM] + [FLOOD] + [CALM] * 2, "is saturated: writes", "notice"),
        ([{}] + [FLOOD] * 2 + [{}] * 2, "is saturated in a burst of about 2 s: writes", "notice"),
        ([CALM] * 2 + [FLOOD] * 5, "is saturated: writes", "warning"),
        ([CALM, FLOOD], "is saturated: writes", "warning"),
        ([FLOOD], "is saturated: writes", "warning"),
    ],
    ids=["one of ten", "one of four", "between idle ones", "lasting", "up to the end", "the only sample"],
)
def test_a_burst_between_calm_samples_is_called_one(run, rows, said, severity):
    (finding,) = found(run(iostat([{"vdb": row} for row in rows])))
    assert said in finding.summary
    assert finding.severity == severity
    assert (finding.title == "A burst fills the device") is ("burst" in said)


def test_what_a_class_stands_in_for_is_said_of_such_requests_alone(run):
    (finding,) = found(run(iostat([{"vdb": row} for row in [*[CALM] * 4, FLOOD, *[CALM] * 5]])))
    (against,) = [item.text for item in finding.evidence if item.weighs == "against"]
    assert against.startswith("the capture has no sample of writes of ")


DRAINED = two_ways((660, 16.5, 1.3), (380, 118, 254), 70)


@pytest.mark.parametrize(
    ("rows", "said", "severity"),
    [
        ([DRAINED | {"aqu-sz": 48.6}], "while a backlog drains for about 1 s: writes of 118 kB", "notice"),
        ([DRAINED | {"aqu-sz": 90}], "is saturated: writes of 118 kB take 254 ms with 90", "warning"),
        ([DRAINED | {"aqu-sz": 48.6, "%util": 99}], "is saturated: writes", "warning"),
        ([DRAINED | {"aqu-sz": 48.6}] * 3, "writes of 118 kB take 254 ms with 96.52", "warning"),
    ],
    ids=["drains", "the queue agrees", "no idle time", "a backlog drains once"],
)
def test_a_backlog_that_drains_is_told_by_the_printed_queue(run, rows, said, severity):
    (finding,) = found(run(iostat([{"xvdj": row} for row in rows])))
    assert said in finding.summary
    assert finding.severity == severity


MEAN_ONLY = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"


@pytest.mark.parametrize(
    ("reads", "writes", "said"),
    [
        ((17, 6), (9, 512), "mixed requests of 181 kB take 1.03 s"),  # few large writes, many small reads
        ((3, 64), (97, 128), "writes of 128 kB take 1.03 s"),  # nearly all requests, nearly all bytes
        ((60, 64), (60, 64), "mixed requests of 64 kB take 1.03 s"),
    ],
)
def test_a_mean_latency_is_that_of_a_direction_with_nearly_all_bytes_and_requests(run, reads, writes, said):
    rate, moved = reads[0] + writes[0], reads[0] * reads[1] + writes[0] * writes[1]
    row = (
        f"sdb 0.00 0.00 {reads[0]:.2f} {writes[0]:.2f} {reads[0] * reads[1]:.2f} {writes[0] * writes[1]:.2f} "
    )
    row += f"{2 * moved / rate:.2f} {rate * 1.033:.2f} 1033.43 {1000 / rate:.2f} 100.00\n"
    (finding,) = found(run(MEAN_ONLY + row))
    assert said in finding.summary


def test_a_burst_without_a_clock_has_its_numbers(run):
    calm = [CALM | {"rrqm/s": 0.37 * n} for n in range(9)]
    timed = iostat([{"vdb": row} for row in [*calm[:4], FLOOD, FLOOD | {"rrqm/s": 0.37}, *calm[4:]]])
    (finding,) = found(run(re.sub(r"(?m)^11/20/26 .*\n", "", timed)))
    assert "is saturated in a burst: writes of" in finding.summary


def test_ten_minutes_are_no_burst(run):
    (finding,) = found(run(iostat([{"vdb": row} for row in [CALM] * 9 + [FLOOD] + [CALM] * 9], step=600)))
    assert "is saturated: writes" in finding.summary


@pytest.mark.parametrize("writes", [(146, 108, 28), (146, 108, 28.4)])
def test_a_few_slow_writes_beside_quick_reads_fill_no_device(run, writes):
    assert not found(run(iostat([{"vda": two_ways((1154, 8, 3.4), writes, 100)}] * 4)))


def test_a_mean_of_two_directions_is_told_with_both(run):
    rows = [two_ways((50, 8, 5), (50, 8, 12), 80)] * 20 + [two_ways((60, 8, 400), (60, 8, 90))] * 20
    (finding,) = found(run(iostat([{"sda": row} for row in rows])))
    assert "245 ms with 29.40 requests in flight" in finding.summary
    assert "reads of 8.0 kB take 400 ms and writes of 8.0 kB take 90.00 ms" in finding.summary


@pytest.mark.parametrize(
    ("cpu", "state"),
    [({"%system": 99.0, "%idle": 0.5}, "notice"), ({"%system": 49.0, "%idle": 0.5}, "warning")],
    ids=["tasks ran all the time", "they waited"],
)
def test_writes_in_line_cost_nothing_where_tasks_run_all_the_time(report_of, cpu, state):
    """Then the CPUs are what there is too little of, and go first."""
    full = {"w/s": 110.0, "wkB/s": 1800.0, "w_await": 400.0, "aqu-sz": 44.0, "%util": 99.0}
    report = report_of(iostat([{"sda": full}] * 2, {"%iowait": 100 - sum(cpu.values())} | cpu))
    (found,) = (f for f in report.findings if f.rule == "true-saturation")
    assert found.severity == state
    head = {"notice": "cpu-exhausted", "warning": "true-saturation"}[state]
    assert (report.verdict.state, report.verdict.rule) == ("trouble", head)


def test_flushed_writes_in_line_are_waited_for_however_busy_the_cpus(run):
    full = {"w/s": 110.0, "wkB/s": 1800.0, "w_await": 400.0, "aqu-sz": 44.0, "%util": 99.0}
    spent = {"%user": 70.0, "%system": 29.5, "%iowait": 0.3, "%idle": 0.2}
    for flushes, severity in ((0.0, "notice"), (40.0, "warning")):
        row = full | {"f/s": flushes, "f_await": 15.0 * (flushes > 0)}
        (finding,) = found(run(iostat([{"sda": row}] * 6, spent)))
        assert finding.severity == severity


MERGED = {"w/s": 640.0, "wkB/s": 40_000.0}
"""Writes of 62 kB: larger than a database's page, and smaller than what a disk takes at once."""


@pytest.mark.parametrize(
    ("changes", "calm", "cpu", "severity"),
    [
        ({}, 2, None, "notice"),
        ({}, 1, None, "notice"),
        ({"r/s": 20.0, "rkB/s": 80.0, "r_await": 90.0}, 2, None, "warning"),
        ({"w/s": 5000.0, "wkB/s": 80_000.0}, 2, None, "warning"),
        ({}, 2, {"%iowait": 2.0, "%idle": 90.0}, "notice"),
        (MERGED | {"wrqm/s": 1500.0}, 2, {"%iowait": 0.0, "%idle": 90.0}, "notice"),
        (MERGED | {"wrqm/s": 20.0}, 2, {"%iowait": 0.0, "%idle": 90.0}, "warning"),
    ],
    ids=["one of three", "one of two", "readers", "small writes", "nobody waits", "merged", "not merged"],
)
def test_a_flush_that_hurts_no_reader_costs_nobody(run, changes, calm, cpu, severity):
    flush = {"w/s": 640.0, "wkB/s": 307_000.0, "w_await": 194.0, "aqu-sz": 127.0, "%util": 100.0} | changes
    fine = {"w/s": 40.0, "wkB/s": 19_000.0, "w_await": 12.0, "aqu-sz": 0.5, "%util": 20.0}
    fine |= {name: value for name, value in changes.items() if name.startswith("r")}
    flush |= {name: 0.0 for name in changes if name.startswith("r")}
    (finding,) = found(run(iostat([{"vdc": one} for one in [fine] * calm + [flush]], cpu)))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("row", "is_full"),
    [
        (load(33800, 2.27, size=49, util=100), True),
        (load(33800, 1.5, size=49, util=100), False),  # as such a device may take
        (load(9000, 2.27, size=49, util=100), False),  # no more than a controller takes at once
        (load(33800, 2.27, size=49, util=60), False),
        (load(33800, 2.27, size=8, util=100), False),  # far from what such a device transfers
    ],
)
def test_an_nvme_device_with_many_in_flight_that_wait_twice_as_long_as_they_may_is_full(
    report_of, row, is_full
):
    report = report_of(iostat([{"nvme0n1": row}]), rules=["true-saturation"])
    assert bool(report.findings) == is_full


# what is full though no sample of its own shows it without a queue: somebody has to wait

BUSY = load(196, 43, size=63, reads=0.2)
WAITED = {"%user": 1.0, "%iowait": 30.0, "%idle": 69.0}


@pytest.mark.parametrize(
    ("row", "cpu", "blocked", "severity"),
    [
        (BUSY, WAITED, None, "warning"),
        (BUSY, {}, 3, "warning"),
        (BUSY, WAITED, 1, None),
        (BUSY, {"%user": 1.0, "%iowait": 5.0, "%idle": 94.0}, None, None),
        (load(196, 43, size=63, reads=0.2, util=90.0), WAITED, None, None),
        (load(75, 43, size=63, reads=0.2), WAITED, None, None),
        (load(300, 16, size=63), WAITED, None, None),
    ],
    ids=["iowait of cpus", "tasks", "one task", "a stream", "idle time", "no queue", "as its class"],
)
def test_a_device_that_several_wait_for_is_full_without_a_baseline(run, row, cpu, blocked, severity):
    tasks = [] if blocked is None else [vmstat([{"b": blocked, "bo": 7000}] * 2)]
    report = run(iostat([{"sda": row}] * 2, cpu, cpus=16), *tasks)
    assert [(f.severity, f.confidence) for f in found(report)] == ([(severity, "medium")] if severity else [])


NEVER_IDLE = load(150, 40, size=64, reads=0.2)


@pytest.mark.parametrize(
    ("row", "cpu", "severity"),
    [
        (NEVER_IDLE, None, "warning"),
        (NEVER_IDLE, {"%user": 30.0, "%iowait": 68.0, "%idle": 2.0}, "warning"),
        (NEVER_IDLE, {"%user": 3.0, "%iowait": 3.0, "%idle": 94.0}, None),
        (load(150, 40, size=64, reads=0.0), None, None),
        (load(150, 40, size=64, reads=0.2, util=85.0), None, None),
        (load(75, 40, size=64, reads=0.2), None, None),
        (load(250, 20, size=64, reads=0.2), None, None),
        (load(180, 28, size=512), None, None),
    ],
    ids=["no CPU", "no idle CPU", "idle CPUs", "writeback", "idle time", "no queue", "a disk's", "a stream"],
)
def test_long_for_every_class_in_a_queue_is_full_or_slow(run, row, cpu, severity):
    report = run(iostat([{"sda": row}] * 2, cpu, cpus=1))
    assert [(f.severity, f.confidence) for f in found(report)] == ([(severity, "medium")] if severity else [])
    assert all("is full, or slow: " in f.summary for f in found(report))


@pytest.mark.parametrize(
    ("calm", "is_full"),
    [
        (load(60, 2, size=230), True),
        (load(60, 6, size=230), False),
        (load(60, 0.1, size=230), False),
        (load(60, 2, size=230, reads=0.0), False),
        (load(180, 20, size=860), False),
    ],
    ids=["calm", "its size explains it", "cached", "writes", "not calm"],
)
def test_a_calm_sample_of_another_size_is_a_baseline(run, calm, is_full):
    text = iostat([{"sdb": calm}] * 3 + [{"sdb": load(200, 38, size=860)}] * 3, WAITED, cpus=16)
    assert [(f.severity, f.confidence) for f in found(run(text))] == [("warning", "medium")] * is_full


@pytest.mark.parametrize(
    ("row", "cpu", "severities"),
    [
        (load(16000, 5, size=86), {}, ["notice"]),
        (load(16000, 5, size=86), WAITED, ["warning"]),
        (load(16000, 3, size=86), WAITED, []),
        (load(3000, 13, size=86), {}, []),
    ],
    ids=["nobody waits", "iowait", "prompt", "as an array of disks may"],
)
def test_more_than_a_disk_with_heads_moves_is_held_against_one_without(run, row, cpu, severities):
    assert [f.severity for f in found(run(iostat([{"sdb": row}] * 2, cpu, cpus=16)))] == severities


def stream(util, wait, merges=24000.0, rate=190.0):
    return load(rate, wait, size=500, reads=0.0, util=util) | {"wrqm/s": merges}


@pytest.mark.parametrize(
    ("others", "devices"),
    [
        ([(87, 65), (84, 55), (81, 52)], {"sda", "sdb", "sdc", "sdd"}),
        ([(87, 65), (75, 55), (81, 30)], {"sda", "sdb"}),
    ],
    ids=["a set", "less busy, and quicker"],
)
def test_of_an_equal_set_none_is_singled_out_by_a_hair(run, others, devices):
    rows = [stream(93, 90), *(stream(*other) for other in others)]
    findings = found(run(iostat([dict(zip(DISKS, rows, strict=True))])))
    assert {name for finding in findings for name in finding.devices} == devices
    assert findings[0].devices[0] == "sda"


def test_what_is_far_slower_is_told_apart_however_many_are_between(run):
    row = {f"sd{letter}": load(100, 60 * 1.4**n) for n, letter in enumerate("abcdef")}
    findings = found(run(iostat([row] * 3, WAITED, cpus=16)))
    assert len(findings) > 1
    assert not any({"sda", "sdf"} <= set(finding.devices) for finding in findings)


READ = {"r/s": 2.0, "rkB/s": 8.0, "r_await": 90.0}
FLUSHED = {"f/s": 1.5, "f_await": 60.0}


@pytest.mark.parametrize(
    ("row", "cpu", "severity"),
    [
        (stream(100, 90), None, "notice"),
        (stream(100, 90, merges=0.0), None, "notice"),
        (stream(100, 450), None, "notice"),
        (stream(100, 450), {"%iowait": 30.0, "%idle": 55.0}, "notice"),
        (stream(100, 450), {"%iowait": 60.0, "%idle": 30.0}, "warning"),
        (stream(100, 560), None, "warning"),
        (stream(100, 450) | READ, None, "warning"),
        (stream(100, 450) | FLUSHED, None, "warning"),
        (stream(100, 450, rate=80.0), None, "warning"),
        (load(400, 200, size=240, reads=0.0), None, "warning"),
    ],
    ids=[
        *("merged", "sent as they are", "a long queue", "some iowait", "iowait of half the time and more"),
        *("half a second", "a reader", "flushes", "slower than a stream", "smaller writes"),
    ],
)
def test_a_stream_of_large_writes_alone_is_no_warning_while_nobody_is_seen_to_wait(run, row, cpu, severity):
    (finding,) = found(run(iostat([{"sda": row}], cpu)))
    assert finding.severity == severity
    assert ("it is a stream of 93 MB/s" in finding.summary) == (severity == "notice")


@pytest.mark.parametrize(
    ("rate", "words"), [(190.0, "judged as a spinning disk"), (1200.0, "no single spin")]
)
def test_what_moves_more_than_any_spindle_is_not_judged_as_one_in_words(run, rate, words):
    (finding,) = found(run(iostat([{"sda": stream(100, 90, rate=rate)}])))
    assert any(words in item.text for item in finding.evidence)


@pytest.mark.parametrize(("iowait", "severity"), [(50.0, "warning"), (2.0, "notice")])
def test_a_stream_in_all_samples_is_not_held_against_itself(run, iowait, severity):
    cpu = {"%user": 5.0, "%iowait": iowait, "%idle": 95 - iowait}
    (finding,) = found(run(iostat([{"sda": stream(100, 90)}] * 3, cpu, cpus=16)))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("other", "words", "severity"),
    [
        (load(990, 7, size=83, util=100), "with deadline:", "notice"),
        (load(990, 7, size=83, util=100), "", "warning"),
        (load(990, 7, size=83, util=60), "with deadline:", "warning"),
        (load(300, 7, size=300, util=100), "with deadline:", "warning"),
    ],
    ids=["another run", "the same run", "not as busy", "fewer requests"],
)
def test_another_run_that_moves_far_more_refutes_a_limit(run, other, words, severity):
    waits = iostat([{"sda": load(740, 90, size=24)}] * 3)
    text = f"with anticipatory:\n\n{waits}\n{words}\n\n" + iostat([{"sda": other}] * 3).split("\n\n", 1)[1]
    if not words:
        text = iostat([{"sda": load(740, 90, size=24)}] * 3 + [{"sda": other}] * 3)
    finding = next(f for f in found(run(text)) if "of 24 kB" in f.summary)
    assert (finding.severity, "not its capacity" in finding.summary) == (severity, severity == "notice")


MIXED = load(500, 150, size=32, util=100)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [MIXED, MIXED, load(500, 400, size=36, util=100)],
            "233.3 ms with 116.7 in flight; it is 100 % busy, in 3 of 3 samples, 150 ms to 400 ms",
        ),
        (
            [MIXED, MIXED, load(500, 200, size=36, util=100)],
            "166.7 ms with 83.33 in flight; it is 100 % busy, in 3 of 3 samples.",
        ),
        ([MIXED, MIXED, {}], "150 ms with 75 in flight; it is 100 % busy, in 2 of 3 samples."),
        (
            [MIXED, MIXED, load(500, 400, size=280, util=100)],
            "take 150 ms with 75 in flight; it is 100 % busy, in 2 of its 3 saturated samples; 400 ms in",
        ),
        (
            [MIXED, MIXED, load(500, 400, reads=0, size=32, util=100)],
            "150 ms with 75 in flight; it is 100 % busy, in 2 of its 3 saturated samples; its 166.7 writes",
        ),
    ],
    ids=["slower ones", "about as slow", "one without I/O", "larger requests", "another direction"],
)
def test_of_one_kind_of_request_all_saturated_samples_are_told_together(run, rows, words):
    (finding,) = found(run(iostat([{"sdb": row} for row in rows])))
    assert words in finding.summary


@pytest.mark.parametrize(("reads", "direction"), [(0.92, "reads"), (0.85, "mixed requests")])
def test_nine_in_ten_requests_name_a_direction(run, reads, direction):
    row = (
        f"sda 0.00 0.00 {100 * reads:.2f} {100 - 100 * reads:.2f} {800 * reads:.2f} {800 - 800 * reads:.2f} "
    )
    (finding,) = found(run(MEAN_ONLY + row + "16.00 18.00 180.00 10.00 100.00\n"))
    assert f"saturated: {direction} of 8 kB take 180 ms" in finding.summary


def test_a_sentence_on_reads_has_the_latency_and_the_queue_of_reads(run):
    """93 % of the requests are reads, of 200 ms; with the writes the mean is 195 ms."""
    row = {"r/s": 93.0, "w/s": 7.0, "rkB/s": 930.0, "wkB/s": 63.0, "r_await": 200.0, "w_await": 130.0}
    (finding,) = found(run(iostat([{"sda": {**row, "aqu-sz": 19.5, "%util": 99.0}}])))
    assert "reads of 10 kB take 200 ms with 18.60 in flight" in finding.summary


QUEUED, CALM_ONE = load(24000, 2.5, size=12, util=100), load(9000, 0.3, size=12, util=60)


@pytest.mark.parametrize(
    ("queued", "calm", "is_told"),
    [
        (QUEUED, CALM_ONE, True),
        (load(800, 2.5, size=12, util=100), CALM_ONE, False),
        (load(5000, 2.5, size=12, util=100), CALM_ONE, False),
        (QUEUED, load(9000, 0.3, size=24, util=60), False),
        (QUEUED, load(9000, 0.3, size=12, reads=0, util=60), False),
        (QUEUED, load(9000, 0.3, size=12, util=95), False),
    ],
    ids=["like requests", "two in flight", "fewer requests", "larger ones", "writes", "itself busy"],
)
def test_a_device_of_its_kind_beside_it_shows_what_requests_take_without_the_queue(
    run, queued, calm, is_told
):
    told = found(run(iostat([{"sdb": queued, "sdc": calm}])))
    assert [f.devices for f in told if "times as long as on sdc" in f.summary] == [("sdb",)] * is_told
    assert len(told) == is_told


FIO = """\
w: (g=0): rw=randwrite, bs=(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB, ioengine=ENGINE, iodepth=64
fio-3.33
w: (groupid=0, jobs=4): err= 0: pid=51: Fri Nov 20 13:06:35 2026
  write: IOPS=3005, BW=47.0MiB/s (49.2MB/s)(2817MiB/60016msec)
     lat (msec): min=3, max=300, avg=LATENCY, stdev=42.46

Disk stats (read/write):
  sdb: ios=0/180300, merge=0/0, ticks=0/1, in_queue=1, util=99.61%
"""


@pytest.mark.parametrize(
    ("device", "engine", "latency", "rate", "is_own", "is_flat"),
    [
        ("sdb", "libaio", "85.20", 3010, True, True),
        ("sdb", "libaio", "85.20", 2400, True, False),
        ("sdb", "psync", "85.20", 3010, True, True),
        ("sdb", "libaio", "0.30", 3010, False, False),  # it holds one, and others the rest
        ("sdc", "libaio", "85.20", 3010, False, False),
    ],
)
def test_the_queue_of_a_load_generator_is_told_as_its_own(
    run, device, engine, latency, rate, is_own, is_flat
):
    text = iostat([{device: load(rate, 60, size=16, reads=0, util=100.0)}])
    (finding,) = found(run(text, FIO.replace("ENGINE", engine).replace("LATENCY", latency)))
    assert ("fio keeps 256 requests in flight by itself" in finding.summary) == is_own
    assert any("a flat rate" in item.text for item in finding.evidence) == is_flat
    assert any("buffered" in one for one in finding.remedy) != (is_own and engine == "libaio")


@pytest.mark.parametrize(("wait", "is_told"), [(1800.0, True), (700.0, False)])
def test_the_direction_that_waits_far_longer_is_told_however_few_its_requests(run, wait, is_told):
    row = {"r/s": 3.0, "rkB/s": 24.0, "r_await": wait, "w/s": 220.0, "wkB/s": 2200.0, "w_await": 624.0}
    (finding,) = found(run(iostat([{"sda": row | {"aqu-sz": 142.0, "%util": 100.0}}])))
    assert ("its 3 reads/s take 1.8 s" in finding.summary) == is_told


def test_a_load_named_for_a_direction_has_its_rate_and_size(run):
    """97 of 100 requests are reads of 16 kB; the writes are of 512 kB."""
    few = {"w/s": 6.0, "wkB/s": 3072.0, "w_await": 60.0}
    rows = load(194, 100, size=16) | few | {"aqu-sz": 19.8, "%util": 100.0}
    (finding,) = found(run(iostat([{"sda": rows}] * 20), lsblk(("sda", True))))
    (state,) = [item for item in finding.evidence if "% util at" in item.text]
    assert "194 reads/s of 16.0 kB" in state.text


@pytest.mark.parametrize(
    ("rates", "is_flat"), [((500, 450, 530), True), ((500, 250, 700), False)], ids=["flat", "varied"]
)
def test_a_rate_that_stays_under_a_deep_queue_is_a_ceiling(run, rates, is_flat):
    rows = [{"xvdf": load(rate, 120, util=100.0)} for rate in rates]
    (finding,) = found(run(iostat(rows)))
    told = [item.text for item in finding.evidence if "at a ceiling" in item.text]
    assert (
        told
        == ["it completes 450 to 530 requests/s with 54 to 64 in flight: its rate is at a ceiling"] * is_flat
    )


@pytest.mark.parametrize(("device", "is_first"), [("xvdf", True), ("vda", True), ("sda", False)])
def test_of_a_saturated_guest_s_volume_its_limits_are_asked_first(run, device, is_first):
    (finding,) = found(run(iostat([{device: load(140, 450)}] * 20)))
    assert ("IOPS and throughput limits and the burst credit" in finding.remedy[0]) is is_first


@pytest.mark.parametrize(
    ("banner_words", "device", "model", "is_told"),
    [
        (("6.1.0", "6.1.0-1030-aws"), "nvme1n1", "", True),
        (("6.1.0", "6.1.0-1030-aws"), "nvme1n1", "Amazon EC2 NVMe Instance Storage", False),
        (("6.1.0", "6.1.0-1030-aws"), "sdb", "", False),
        (("6.1.0", "6.1.0"), "nvme1n1", "", False),
    ],
    ids=["its kernel", "a local disk by its model", "no NVMe", "a machine of one's own"],
)
def test_an_nvme_device_of_a_provider_s_host_may_be_a_volume(run, banner_words, device, model, is_told):
    text = iostat([{device: load(1040, 60, size=128, reads=0)}] * 4).replace(*banner_words)
    listed = f'NAME="{device}" TYPE="disk" MODEL="{model}"\n'
    (finding,) = found(run(text, *([listed] if model else [])))
    assert any("may be a volume of the host" in item.text for item in finding.evidence) == is_told
    assert ("throughput limits" in finding.remedy[0]) == is_told


def hidden(wait=37.0, quick=1.5, util=88.0, rate=70.0, **columns):
    writes = 3 * rate
    depth = (rate * wait + writes * quick) / 1000
    row = {
        "r/s": rate,
        "rkB/s": 60 * rate,
        "r_await": wait,
        "w/s": writes,
        "wkB/s": 15000.0,
        "w_await": quick,
    }
    return row | {"aqu-sz": depth, "%util": util} | columns


@pytest.mark.parametrize(
    ("rows", "context", "severity"),
    [
        ([hidden(rate=rate) for rate in (66, 72, 70)], [], "notice"),
        ([hidden(rate=rate) for rate in (66, 72, 70)], [lsblk(("sda", True))], "warning"),
        ([hidden(rate=rate) for rate in (66, 72, 70)], [vmstat([{"b": 3, "bo": 15000}] * 3)], "warning"),
        ([hidden(rate=rate) for rate in (66, 72, 70)], [vmstat([{"b": 0, "bo": 15000}] * 3)], None),
        ([hidden(rate=rate) for rate in (66, 72)], [], None),
        ([hidden(rate=rate, quick=6) for rate in (66, 72, 70)], [], None),
        ([hidden(rate=rate, util=70) for rate in (66, 72, 70)], [], None),
        ([hidden(rate=rate, wait=28) for rate in (66, 72, 70)], [], None),
        ([hidden(rate=rate, wait=60) for rate in (22, 24, 23)], [], None),
        ([hidden()] * 3, [], None),
    ],
    ids=[
        "reads wait",
        "it spins",
        "tasks wait",
        "nobody waits",
        "two samples",
        "slow writes",
        "idle time",
        "as a disk",
        "few",
        "a cap",
    ],
)
def test_reads_that_quick_writes_hide_in_the_mean_are_told(run, rows, context, severity):
    report = run(iostat([{"sda": row} for row in rows]), *context)
    assert [f.severity for f in found(report)] == ([severity] if severity else [])
    assert all("behind writes that a cache takes" in f.summary for f in found(report))


@pytest.mark.parametrize(("count", "told"), [(1, ("notice", "low")), (2, ("warning", "medium"))])
def test_an_average_since_boot_hardly_shows_a_device_that_is_full_or_slow(run, count, told):
    rows = "Device r/s w/s rkB/s wkB/s await aqu-sz %util\nsda 30.17 120.31 1931 7702 40.00 6.02 98.41\n\n"
    report = run(banner() + rows * count)
    assert [(f.severity, f.confidence) for f in found(report)] == [told]
    assert (report.verdict.state == "unknown") == (count == 1)


@pytest.mark.parametrize(
    ("read_kb", "iowait", "severity"),
    [(900.0, 60, "critical"), (9000.0, 40, "warning")],
    ids=["several wait", "a writer and its flush"],
)
def test_sar_tells_by_iowait_that_a_second_each_is_a_standstill(run, read_kb, iowait, severity):
    """Reads and writes are counted together: their kB are not."""
    row = {"tps": 900, "rkB/s": read_kb, "wkB/s": 18000 - read_kb, "areq-sz": 20, "aqu-sz": 1400}
    disk = sar_d([{"sda": row | {"await": 1555, "%util": 98}}] * 4)
    cpu = "".join(
        f"13:00:{2 * n:02d} all 10.00 0.00 3.00 {iowait}.00 0.00 {87 - iowait}.00\n" for n in (1, 2, 3, 4)
    )
    cpu = f"13:00:00 CPU %user %nice %system %iowait %steal %idle\n{cpu}"
    text = (disk + "\n" + cpu).replace("(2 CPU)", "(4 CPU)")
    (finding,) = found(run(text, lsblk(("sda", True))))
    assert finding.severity == severity


def pidstat(*processes):
    """`pidstat -d`: kB/s that each process writes in one second."""
    text = "13:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    return text + "".join(
        f"13:00:02        0 {n:>9}      0.00 {kb:>9.2f}      0.00       0  {name}\n"
        for n, (name, kb) in enumerate(processes, 200)
    )


def test_one_row_of_another_tool_does_not_show_that_nobody_waits_for_writes(run):
    """iowait of one moment is the same in all samples of the disk: that it adds none says nothing."""
    full = {"w/s": 360.0, "wkB/s": 172_000.0, "w_await": 406.0, "aqu-sz": 136.0, "%util": 100.0}
    full |= {"r/s": 5.5, "rkB/s": 26.0, "r_await": 78.0}
    calm = {"r/s": 3.1, "rkB/s": 12.4, "r_await": 15.3, "aqu-sz": 0.05, "%util": 4.0}
    top = "top - 23:54:37 up 805 days,  8:27,  4 users,  load average: 2.94, 1.90, 0.85\n"
    top += "Tasks:  93 total,   2 running,  91 sleeping,   0 stopped,   0 zombie\n"
    top += "%Cpu(s):  7.6 us, 40.2 sy,  0.0 ni,  0.0 id, 52.2 wa,  0.0 hi,  0.0 si,  0.0 st\n\n"
    (finding,) = found(run(top + iostat([{"sda": calm}, {"sda": full}], cpus=1)))
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("processes", "is_named"),
    [
        ([("python3", 70_000.0), ("jbd2/sda1-8", 80.0)], True),
        ([("python3", 30_000.0)], False),
        ([("python3", 70_000.0), ("rsync", 20_000.0)], False),
        ([("kworker/u8:1", 70_000.0)], False),
    ],
    ids=["one", "far from as much", "two", "a task of the kernel"],
)
def test_the_process_that_alone_writes_is_named(run, processes, is_named):
    (finding,) = found(run(iostat([{"sda": stream(100, 450)}]), pidstat(*processes)))
    assert ("python3 writes 68 MB/s by pidstat" in finding.summary) == is_named
    assert any("python3" in item.text for item in finding.evidence) == is_named


def test_iotop_names_the_process_as_well(run):
    text = "Total DISK READ :  0.00 B/s | Total DISK WRITE :  68.50 M/s\n"
    text += "    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n"
    text += "   2871 be/4 root         0.00 B/s   68.40 M/s  0.00 % 91.20 % dd if=/dev/zero of=/srv/file\n"
    (finding,) = found(run(iostat([{"sda": stream(100, 450)}]), text))
    assert "dd writes 68 MB/s by iotop" in finding.summary


@pytest.mark.parametrize(("taken", "is_told"), [("45.00 M/s", True), ("90.00 M/s", False)])
def test_what_fills_the_page_cache_is_told_of_writes(run, taken, is_told):
    text = "Total DISK READ :  0.00 B/s | Total DISK WRITE :  150.00 M/s\nActual DISK READ: 0.00 B/s | "
    text += f"Actual DISK WRITE:  {taken}\n    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    "
    text += "COMMAND\n    310 be/4 root         0.00 B/s   0.00 B/s  0.00 % 91.20 % [kworker/u8:1]\n"
    (finding,) = found(run(iostat([{"sda": stream(100, 450)}]), text))
    told = "programs write 150 MB/s and the disks take 45 MB/s: the page cache fills"
    assert (told in finding.summary) == is_told


def test_a_queue_that_builds_up_and_drains_is_told_as_printed_and_is_no_baseline(run):
    """Each sample's queue disagrees with rate and latency; over the run they agree."""
    waits = ((2900, 60), (3300, 15), (280, 110), (560, 150))
    rows = [load(52, wait, reads=0.0, size=512, depth=depth, util=98) for wait, depth in waits]
    (finding,) = found(run(iostat([{"sda": row} for row in rows])))
    depths = {float(item.values["depth"]) for item in finding.evidence if "depth" in item.values}
    assert depths == {130.0}
    assert "times as long as with" not in finding.summary
    assert not any("quickest tenth" in item.text for item in finding.evidence)


def test_the_latency_that_it_is_held_against_is_called_a_percentile(run):
    """Single samples of about that size are quicker."""
    waits = (420, 220, 340, 320, 270, 330, 220, 240, 290, 160, 170, 200, 260, 210, 220)
    rows = [stream(100, wait, rate=180 + n) for n, wait in enumerate(waits)]
    (finding,) = found(run(iostat([{"sda": row} for row in [*rows, *[stream(100, 745)] * 13]])))
    texts = [item.text for item in finding.evidence]
    assert any("ms that its quickest tenth takes at most, with" in text for text in texts), texts


WAITS_A_LITTLE = {"%user": 10, "%iowait": 9, "%idle": 81}
STACKED = "NAME KNAME ROTA TYPE\nsda sda 1 disk\n`-sda2 sda2 1 part\n  `-vg-lv dm-3 1 lvm\n"
JOURNAL = "13:00:01  UID  PID  kB_rd/s  kB_wr/s kB_ccwr/s iodelay  Command\n"
JOURNAL += "13:00:02  0  31  0.00 0.00 0.00 {ticks} jbd2/sda1-8\n"


@pytest.mark.parametrize(
    ("reads", "cpus", "context", "severity"),
    [
        (0.5, None, [], "critical"),
        (0.5, 2, [], "warning"),
        (0.5, 16, [], "critical"),
        (0.1, None, [], "warning"),
        (0.1, 16, [], "warning"),
        (0.1, 32, [], "critical"),
        (0.1, None, [JOURNAL.format(ticks=2846)], "critical"),
        (0.1, None, [JOURNAL.format(ticks=60)], "warning"),
        (0.1, None, [JOURNAL.format(ticks=2846).replace("sda1", "sdb1")], "warning"),
        (0.1, None, [JOURNAL.format(ticks=2846).replace("sda1", "dm-3"), STACKED], "critical"),
        (0.1, None, [JOURNAL.format(ticks=2846).replace("sda1", "dm-4"), STACKED], "warning"),
    ],
    ids=[
        "reads",
        "nobody waits",
        "CPUs wait",
        "a flush",
        "one writer and its flush",
        "CPUs wait for writes",
        "a journal is held up",
        "a journal",
        "of another disk",
        "of a volume on it",
        "of a volume elsewhere",
    ],
)
def test_a_second_each_is_a_standstill_where_others_than_a_flush_wait(run, reads, cpus, context, severity):
    """The levels apart hold few samples each; the state is what lasts, and its mean is a second."""
    waits = ((800, 190), (1100, 260), (1500, 400), (1000, 240), (760, 180))
    rows = [load(240, wait, reads=reads, size=200, depth=depth, util=100) for wait, depth in waits]
    text = re.sub(
        r"\(\d+ CPU\)", f"({cpus} CPU)" if cpus else "", iostat([{"sda": r} for r in rows], WAITS_A_LITTLE)
    )
    (finding,) = found(run(text, lsblk(("sda", True)), *context))
    assert finding.severity == severity
    is_held = any(
        "for I/O that ended in one sample add up to 28.5 s" in item.text for item in finding.evidence
    )
    assert is_held == (severity == "critical" and bool(context))


@pytest.mark.parametrize(
    ("util", "blocked", "severity"),
    [(60.0, None, "warning"), (5.0, None, "critical"), (5.0, 2, "warning"), (5.0, 4, "critical")],
)
def test_who_waits_may_wait_for_another_disk_or_be_a_flusher_and_a_journal(run, util, blocked, severity):
    rows = {"sda": load(60, 2400, reads=0.0, size=400, util=100), "sdb": load(90, 9, util=util)}
    counted = [vmstat([{"b": blocked}] * 3)] if blocked else []
    (finding,) = found(run(iostat([rows] * 3, WAITS_A_LITTLE, cpus=32), *counted))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("merges", "size", "is_told"),
    [(4100, 208, True), (1000, 208, False), (0, 208, False), (1360, 72, True)],
    ids=["pages", "pieces of 16 kB", "as large as they were asked for", "a few pages each"],
)
def test_writes_that_were_merged_from_pages_are_told_as_written_back(run, merges, size, is_told):
    """A flood of the page cache with reads beside it, 190 in flight; the remedy is of memory."""
    flood = load(80, 900, size=size, reads=0, depth=190, util=100) | {"wrqm/s": float(merges)}
    rows = [{"sda": flood | {"r/s": 60.0, "rkB/s": 900.0, "r_await": 900.0}}] * 4
    (finding,) = found(run(iostat(rows), lsblk(("sda", True))))
    assert ("pages of 4.0 kB: memory is written back" in finding.summary) is is_told
    assert (finding.remedy[0].startswith("Where these are buffered writes")) is is_told
    assert (finding.confirm[0] == "pidstat -d 1 10") is is_told


@pytest.mark.parametrize(
    ("merges", "size", "swapping", "is_told"),
    [(1200, 20, False, True), (1200, 24, False, False), (9300, 128, False, False), (1200, 20, True, False)],
    ids=["pages", "no pages", "read ahead", "vmstat tells"],
)
def test_single_pages_both_ways_may_be_of_swap(run, merges, size, swapping, is_told):
    row = load(600, 180, size=size, reads=0.5, depth=108, util=100)
    row |= {"r/s": 300.0, "rkB/s": 300.0 * size, "rrqm/s": float(merges)}
    row |= {"w/s": 400.0, "wkB/s": 2000.0, "wrqm/s": 100.0}
    (finding,) = found(run(iostat([{"sda": row}] * 4), lsblk(("sda", True)), *[vmstat([{}] * 4)] * swapping))
    assert ("it may be swap, which si and so of vmstat show" in finding.summary) is is_told
    assert (finding.confirm[0] == "vmstat -t 1 30") is is_told


@pytest.mark.parametrize(("reads", "severity"), [(0.0, "notice"), (1.0, "warning")], ids=["writes", "reads"])
def test_one_report_without_cpu_time_shows_that_nobody_waits_for_writes(run, reads, severity):
    text = iostat(
        [{"sda": load(126, 120, size=14, reads=reads)}], {"%system": 98.0, "%iowait": 1.1, "%idle": 0.9}
    )
    (finding,) = found(run(text))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("wait", "util", "status"),
    [(86.0, 65.0, "undetermined"), (18.0, 65.0, "clear"), (86.0, 30.0, "undetermined")],
)
def test_reads_in_line_behind_quick_writes_are_not_cleared(run, wait, util, status):
    row = {"r/s": 203.0, "rkB/s": 8187.0, "r_await": wait, "w/s": 340.0, "wkB/s": 16172.0, "w_await": 10.0}
    row |= {"aqu-sz": 0.203 * wait + 3.4, "%util": util}
    (outcome,) = run(iostat([{"sda": row}] * 3)).outcomes
    assert outcome.status == status
    assert ("reads in flight whenever it was" in outcome.reason) == (status == "undetermined")


@pytest.mark.parametrize(
    ("beside", "largest", "severity"),
    [(0.8, 128, "notice"), (6.0, 128, "warning"), (0.8, 16, "warning")],
    ids=["reads that nothing hurts", "reads that wait", "nothing shows how large requests are"],
)
def test_writes_of_all_that_a_device_takes_at_once_are_made_of_many(run, beside, largest, severity):
    """A flush of the page cache on NVMe, whose requests are no larger than 128 kB, as its reads show."""
    flush = load(12_000, 7.5, size=124, reads=0, util=100) | {"r/s": 12.0, "rkB/s": 48.0, "r_await": beside}
    rows = [flush, load(2000, 0.1, size=largest, util=90)]
    (finding,) = found(run(iostat([{"nvme0n1": row} for row in rows])))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("rate", "others", "is_told"), [(35, 4, True), (35, 2, False), (70, 4, False), (2, 4, False)]
)
def test_the_one_disk_that_takes_most_of_the_load_is_said_to(report_of, rate, others, is_told):
    calm = {f"sd{letter}": load(rate, 8, util=0.8 * rate) for letter in "cdef"[:others]}
    report = report_of(iostat([{"sdb": load(140, 110, util=99.5)} | calm] * 8), rules=["true-saturation"])
    (finding,) = report.findings
    told = f"it serves 140 requests/s, each of {others} other disks on average at most {rate} and 28 % busy"
    assert (told in finding.summary, "not spread" in finding.summary) == (is_told, is_told)


def streams(way, rate, size):
    return {
        f"{way}/s": rate,
        f"{way}kB/s": rate * size,
        f"{way}_await": 4.0,
        "aqu-sz": rate / 250,
        "%util": 80.0,
    }


@pytest.mark.parametrize(
    ("beside", "is_told"),
    [
        ({"sdb": streams("r", 265, 426)}, True),
        ({"sdb": streams("r", 120, 426), "sdc": streams("r", 180, 426), "sdd": {}}, True),
        ({"sdb": streams("r", 200, 426)}, False),
        ({"sdb": streams("r", 900, 426)}, False),
        ({"sdb": streams("r", 14000, 8)}, False),
        ({"sdb": streams("r", 265, 426), "sdc": streams("w", 60, 426)}, False),
        ({"sdb": {}}, False),
    ],
    ids=["ahead of it", "two", "less than it", "far more", "small reads", "others are written", "no reads"],
)
def test_a_full_disk_that_takes_what_others_read_is_told_as_of_a_copy(run, beside, is_told):
    full = streams("w", 219, 479) | {"w_await": 604.0, "aqu-sz": 132.0, "%util": 100.0}
    (finding,) = found(run(iostat([{"sda": full} | beside])))
    assert ("as in a copy" in finding.summary) is is_told


@pytest.mark.parametrize(("depth", "severity"), [(1100, "critical"), (465, "warning"), (600, "warning")])
def test_a_line_that_grows_is_as_long_as_it_takes_to_serve_it(run, depth, severity):
    """What completes waited for 7 s; what comes now waits for all that is in line."""
    row = load(64, 7270, size=512, reads=0, depth=depth, util=99.2)
    (finding,) = found(run(iostat([{"sda": row}], {"%user": 2.0, "%iowait": 5.0, "%idle": 93.0}, cpus=16)))
    assert finding.severity == severity


def large_reads(rate, depth, size=512.0):
    """Large reads of a device that is never idle, `depth` of them in flight."""
    return load(rate, 1000 * depth / rate, size=size)


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (large_reads(2040, 40), True),
        (large_reads(2040, 12), False),
        (large_reads(1500, 40), False),
        (large_reads(4080, 40, size=256.0), False),
        (large_reads(2040, 40) | {"%util": 80.0}, False),
    ],
    ids=["as much", "a short queue", "less", "other requests", "idle at times"],
)
def test_a_disk_at_the_throughput_of_a_saturated_one_is_at_its_ceiling(run, beside, told):
    findings = found(run(iostat([{"sda": large_reads(2100, 140), "sdb": beside}])))
    assert ({"sdb"} in [set(finding.devices) for finding in findings]) is told
    (first,) = (finding for finding in findings if "sda" in finding.devices)
    assert ("sdb beside it, with shorter queues, move as much: a ceiling" in first.summary) is told


def test_legs_that_answer_as_if_alone_are_at_no_ceiling(run):
    """One slow leg holds the rate of a stripe: those beside it move as much, and promptly."""
    slow, quick = load(50_000, 40, size=64), load(50_200, 0.8, size=64)
    report = run(iostat([{"nvme0n1": slow, "nvme1n1": quick, "nvme2n1": quick}]))
    assert [finding.devices for finding in found(report)] == [("nvme0n1",)]


@pytest.mark.parametrize(("size", "is_large"), [(512.0, True), (248.0, True), (64.0, False)])
def test_no_larger_requests_are_advised_for_the_largest(run, size, is_large):
    (finding,) = found(run(iostat([{"sda": large_reads(2100, 140, size)}])))
    assert any("larger requests" in text for text in finding.remedy) is not is_large


@pytest.mark.parametrize(
    ("samples", "iowait", "severity"),
    [
        ([load(700, 200, reads=0.4)] * 3, 60.0, "critical"),
        ([load(700, 200, reads=0.4)] * 3, 40.0, "warning"),
        ([load(700, 200, reads=0.4)] * 2, 60.0, "warning"),
        ([*[load(700, 200, reads=0.4)] * 3, load(100, 3, reads=0.4)], 60.0, "warning"),
        ([load(700, 100, reads=0.4)] * 3, 60.0, "warning"),
    ],
    ids=["nothing better", "CPUs mostly do not wait", "two samples", "a calm sample", "six times as long"],
)
def test_a_full_device_for_which_cpus_wait_in_every_sample_is_critical(run, samples, iowait, severity):
    cpu = {"%system": 2.0, "%iowait": iowait, "%idle": 98.0 - iowait}
    (finding,) = found(run(iostat([{"sda": row} for row in samples], cpu)))
    assert finding.severity == severity
    assert ("iowait is 60.0 %" in finding.summary) is (iowait == 60.0)


@pytest.mark.parametrize(
    ("since_boot", "iowait", "severity"),
    [
        (load(90, 430, reads=0.9, util=80), 77.0, "critical"),
        (load(90, 430, reads=0.9, util=80), 12.0, "warning"),
        (load(90, 12, reads=0.9, util=30), 77.0, "warning"),
    ],
    ids=["the same", "CPUs did not wait", "prompt since boot"],
)
def test_one_sample_that_is_as_bad_as_the_time_since_boot_is_no_passing_flood(
    run, since_boot, iowait, severity
):
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 2.00 0.00 1.00 {} 0.00 {}\n\n"
    text = "Device: r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util\nsda {}\n\n"
    names = ("r/s", "w/s", "rkB/s", "wkB/s", "aqu-sz", "r_await", "w_await", "%util")
    reports = ((since_boot, iowait), (load(95, 190, reads=0.9, util=99), 96.0))
    printed = banner(cpus=1)
    for row, waited in reports:
        one = {name: row.get(name, 0.0) for name in names}
        wait = 1000 * one["aqu-sz"] / (one["r/s"] + one["w/s"])
        cells = (*(one[name] for name in names[:4]), 20, one["aqu-sz"], wait, wait, wait, one["%util"])
        printed += cpu.format(waited, 97 - waited) + text.format(" ".join(f"{cell:.2f}" for cell in cells))
    (finding,) = found(run(printed))
    assert finding.severity == severity


def split(reads, read_ms, writes, write_ms, util=100.0):
    """Reads of 77 kB behind quick writes of 16 kB, as a cache takes them."""
    depth = (reads * read_ms + writes * write_ms) / 1000
    row = {"r/s": reads, "w/s": writes, "rkB/s": 77.0 * reads, "wkB/s": 16.0 * writes, "r_await": read_ms}
    return row | {"w_await": write_ms, "aqu-sz": depth, "%util": util}


def test_what_is_said_of_a_direction_is_all_of_that_direction(run):
    """The mean over both, the range of the other one, and a mean that does not bear it out are none of it."""
    rows = [(300.0, 48.0, 2300.0, 0.5), (480.0, 31.0, 2800.0, 0.3), (430.0, 17.0, 2100.0, 0.5)]
    rows.append((800.0, 15.0, 2000.0, 0.2))
    (finding,) = found(run(iostat([{"sda": split(*row)} for row in rows])))
    reads = (300 * 48 + 480 * 31) / 780
    assert f"reads of 77 kB take {reads:.2f} ms" in finding.summary
    assert "in 2 of its 4" in finding.summary
    assert "writes" not in finding.summary
    numbers = finding.evidence[0].values
    assert (numbers["direction"], numbers["rate"]) == ("reads", pytest.approx(390))
    assert numbers["depth"] * 1000 / numbers["rate"] == pytest.approx(numbers["latency"])


def test_a_range_stands_beside_the_latency_that_it_is_of(run):
    rows = [split(150.0, wait, 150.0, 10.0) for wait in (60.0, 60.0, 200.0)]
    (finding,) = found(run(iostat([{"sda": row} for row in rows]), lsblk(("sda", True))))
    assert re.search(r"58.33 ms each.* 105 ms.*; reads of 77.0 kB take [\d.]+ ms and writes", finding.summary)


def test_a_load_of_some_of_the_saturated_samples_is_told_as_theirs(report_of):
    """Two loads fill a card: the sentence on one of them is not on both."""
    reads = load(1900, 66, size=4, depth=124.0, util=99.0)
    writes = load(810, 44, size=4.8, reads=0, depth=34.0, util=94.0)
    report = report_of(iostat([{"mmcblk0": writes}] * 3 + [{"mmcblk0": reads}] * 3), rules=[RULE])
    (finding,) = report.findings
    assert "in 3 of its 6 saturated samples" in finding.summary
