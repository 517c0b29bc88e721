from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d, vmstat
from writers.loads import array, load

RULE = "low-concurrency-bound"


@pytest.fixture
def run(report_of):
    return lambda *texts, **options: report_of(*texts, rules=[RULE], **options)


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_one_reader(run):
    (finding,) = found(run(iostat([{"sda": load(120, 8, util=95)}] * 20)))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["ceiling"] == pytest.approx(125)


@pytest.mark.parametrize("reads", [0, 16])
def test_the_requests_in_flight_while_busy_are_those_in_flight_over_the_busy_share(run, reads):
    """A few reads, which are left out of the rate, are in flight and keep the device busy as well."""
    row = load(341, 2.78, size=8, reads=0, util=95.4) | {"r/s": reads, "rkB/s": 4 * reads, "r_await": 2.4}
    (finding,) = found(run(iostat([{"sda": row | {"aqu-sz": 0.99}}] * 8)))
    told = finding.evidence[0].values
    assert told["depth"] / told["util"] * 100 == pytest.approx(told["at_once"], rel=0.02)


@pytest.mark.parametrize(
    ("iowait", "idle", "util", "severity"),
    [
        (95.0, 2.0, 93, "warning"),
        (48.0, 50.0, 93, "notice"),
        (55.0, 40.0, 93, "notice"),
    ],
)
def test_one_request_that_the_whole_host_waits_for_is_a_cost(run, iowait, idle, util, severity):
    cpu = {"%iowait": iowait, "%idle": idle, "%user": 100 - iowait - idle}
    (finding,) = found(run(iostat([{"sda": load(3577, 0.26, size=4, reads=0, util=util)}] * 3, cpu)))
    assert finding.severity == severity


@pytest.mark.parametrize(("iowait", "idle", "severity"), [(84.8, 0.0, "warning"), (60.0, 0.0, "notice")])
def test_so_is_one_whose_busy_time_is_all_that_the_host_waits(run, iowait, idle, severity):
    cpu = {"%iowait": iowait, "%idle": idle, "%user": 100 - iowait - idle}
    row = load(1150, 0.73, size=5, reads=0, util=84.0)
    (finding,) = found(run(iostat([{"vda": row}] * 3, cpu, cpus=1)))
    assert finding.severity == severity


def test_somebody_who_waits_makes_it_surer(run):
    text = iostat([{"sda": load(120, 8, util=95)}] * 20)
    (finding,) = found(run(text, vmstat([{"b": 1, "wa": 45}] * 20)))
    assert finding.confidence == "high"
    (finding,) = found(run(iostat([{"sda": load(120, 8, util=95)}] * 20, {"%iowait": 48.0, "%idle": 50.0})))
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    ("latency", "size", "blocked", "severity"),
    [
        (8, 16, 1, "warning"),
        (8, 16, 0, "notice"),
        (2, 16, 1, "notice"),
        (8, 128, 1, "notice"),  # a stream behind its readahead
        (80, 16, 0, "notice"),
        (80, 16, None, "warning"),
    ],
)
def test_a_task_that_nearly_always_waits_for_slow_reads_is_a_warning(run, latency, size, blocked, severity):
    text = iostat([{"sda": load(950 / latency, latency, size=size, util=95)}] * 20)
    waits = [] if blocked is None else [vmstat([{"b": blocked, "wa": 12}] * 20)]
    (finding,) = found(run(text, *waits))
    assert finding.severity == severity


@pytest.mark.parametrize(
    "row",
    [
        load(120, 8, util=50),  # the caller's pace
        load(240, 8, util=90),  # two in flight, and idle in between
        load(300, 8, util=96),  # two and a half
        load(240, 8, size=128, util=96),  # a stream's readahead
        load(30, 60, util=96),  # slower than any: the device
        load(60, 1),
    ],
)
def test_near_misses_stay_clear(run, row):
    report = run(iostat([{"sda": row}] * 20))
    assert not found(report)
    assert [o.status for o in report.outcomes] == ["clear"]


@pytest.mark.parametrize(("busy", "is_found"), [((92, 91, 57), True), ((67, 62, 44), False)])
def test_a_caller_that_ends_within_a_sample_is_as_alone_in_it(run, busy, is_found):
    """What it asks for at its own pace in most of the time is not bound by the device."""
    rows = [load(24 * util, 0.42, size=4, util=util) for util in busy]
    assert bool(found(run(iostat([{"sda": row} for row in rows])))) == is_found


def test_the_one_busy_member_of_an_array_speaks_for_it(run):
    text = iostat([{"md0": load(120, 8, util=95), "sda": load(118, 8, util=93), "sdb": load(2, 8)}] * 20)
    (finding,) = found(run(text, array("raid0", "sda", "sdb")))
    assert finding.devices == ("sda", "md0")


def test_timer_skew_is_no_second_request(run):
    assert found(run(iostat([{"sda": load(240, 3.9, util=96)}] * 20)))


def test_sar_is_enough(run):
    row = {"tps": 120.0, "rkB/s": 960.0, "areq-sz": 8.0, "aqu-sz": 0.96, "await": 8.0, "%util": 95.5}
    assert found(run(sar_d([{"sda": row}] * 10)))


WRITER = load(36, 27.7, reads=0.0, size=33, util=99.4)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_one_slow_writer_is_a_warning_from_one_sample(run, samples):
    (finding,) = found(run(iostat([{"sda": load(165, 6, reads=0.0, size=16, util=98)}] * samples)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "fsync" in finding.remedy[0]
    assert not any("setra" in command for command in finding.confirm)


def test_what_most_samples_agree_on_is_not_hidden_by_the_odd_one(run):
    flood = load(59, 275, reads=0.0, size=250, util=99.4)
    rows = [WRITER] * 8 + [flood] + [WRITER] * 9
    (finding,) = found(run(iostat([{"sda": row} for row in rows])))
    assert "in 17 of 18 samples" in finding.summary
    assert finding.severity == "warning"
    assert any("1 of 18 samples: 59 writes/s" in item.text for item in finding.evidence)


def test_quick_writes_one_at_a_time_are_no_warning(run):
    (finding,) = found(run(iostat([{"sda": load(1900, 0.5, reads=0.0, size=8, util=95)}] * 3)))
    assert finding.severity == "notice"


@pytest.mark.parametrize(
    ("depth", "util", "status"), [(1.65, 99, "undetermined"), (5, 99, "clear"), (1.65, 70, "clear")]
)
def test_one_or_two_at_a_time_without_idle_time_are_no_reason_to_clear_it(run, depth, util, status):
    report = run(iostat([{"sda": load(596, 1000 * depth / 596, size=9.7, util=util)}]))
    assert [o.status for o in report.outcomes] == [status]


def test_counters_that_contradict_each_other_clear_nothing(run):
    row = load(492, 1.76, reads=0.0, size=5.4) | {"aqu-sz": 0.0, "%util": 0.0}
    report = run(iostat([{"sda": row}] * 3))
    assert [o.status for o in report.outcomes] == ["undetermined"]


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [({}, False), ({"aqu-sz": 0.98}, True), ({"rkB/s": 1500.0, "wkB/s": 690_000.0}, True)],
    ids=["many by its counter", "one by both", "writes, which may wait for flushes"],
)
def test_reads_of_which_another_counter_tells_many_are_not_one_at_a_time(run, changes, is_told):
    row = {"tps": 7500, "rkB/s": 690_000.0, "wkB/s": 1500.0, "areq-sz": 92.0, "aqu-sz": 27.0, "await": 0.13}
    report = run(sar_d([{"sdv": row | {"%util": 98.0} | changes}] * 6))
    assert bool(found(report)) == is_told
    if not is_told:
        assert "far more requests in flight than rate times latency" in report.outcomes[0].reason


def readers(count, rates, latency=None):
    """Rows of so many callers that each wait for their own request, at several rates."""
    return [load(rate, latency or 1000 * count / rate, size=8, util=100) for rate in rates]


@pytest.mark.parametrize(
    ("device", "rows", "says"),
    [
        ("xvda", readers(4, (1160, 1319, 1525)), "4 callers wait for one request each"),
        ("xvda", [*readers(4, (1160, 1319)), *readers(8.12, (1300,)), *readers(4.71, (1525,))], "4 callers"),
        ("xvda", readers(4, (1160,)), ""),
        ("xvda", readers(4, (1300, 1305, 1310)), ""),
        ("xvda", readers(4.4, (1160, 1319, 1525)), ""),
        ("xvda", readers(8, (1160, 1319, 1525)), ""),
        ("sda", readers(4, (1160, 1319, 1525)), ""),
    ],
    ids=[
        "four callers",
        "half of the samples",
        "one sample",
        "a rate that is kept",
        "no whole number",
        "longer than usual: full",
        "of unknown class",
    ],
)
def test_a_queue_that_callers_pin(report_of, device, rows, says):
    report = report_of(iostat([{device: row} for row in rows]), rules=["low-concurrency-bound"])
    assert [says in f.summary for f in report.findings] == ([True] if says else [])
    assert all((f.severity, f.confidence) == ("notice", "medium") for f in report.findings)


@pytest.mark.parametrize(
    ("device", "rows", "says"),
    [
        ("vda", [load(240, 8, util=96)], "two callers"),
        ("vda", [load(404, 4.9, util=99)] * 3, "two callers"),
        ("sda", [load(240, 8, util=96)], ""),
        ("vda", [load(180, 8, util=96)] * 3, "two callers"),
        ("vda", [load(240, 8, util=96)] * 2 + [load(596, 12, util=99)] * 3, ""),
        ("vda", [load(643, 2.66, util=98)], ""),
        ("vda", [load(40, 45, util=96)], ""),
    ],
    ids=["two", "three samples", "maybe a full disk", "one and a half", "a queue", "within a tick", "slow"],
)
def test_few_callers_keep_a_device_busy_without_a_queue(report_of, device, rows, says):
    report = report_of(iostat([{device: row} for row in rows]), rules=["low-concurrency-bound"])
    assert [says in f.summary for f in report.findings] == ([True] if says else [])


@pytest.mark.parametrize(
    "rows",
    [
        [{"r/s": 0.2, "rkB/s": 0.8, "r_await": 3400.0, "aqu-sz": 1.0, "%util": 100.0}] * 3,
        [load(120, 8, util=95)] + [load(240, 8, util=96)] * 9,
        [load(140, 8.5, util=93)] * 5,
        [load(600, 0.1, util=45, depth=1.36) | {"w/s": 90.0, "wkB/s": 2700.0, "w_await": 14.5}] * 5,
    ],
    ids=["few requests", "in one sample", "mostly one", "a slow writer beside quick reads"],
)
def test_what_shows_one_request_at_a_time_somewhere_is_not_cleared_of_it(run, rows):
    report = run(iostat([{"sda": row} for row in rows]))
    assert not found(report)
    assert [o.status for o in report.outcomes] == ["undetermined"]


@pytest.mark.parametrize(("samples", "is_told"), [(3, True), (9, False)])
def test_an_odd_sample_is_not_what_bounds_the_throughput(run, samples, is_told):
    rows = [load(120, 8, util=95)] + [load(12000, 5.3, size=32, reads=0.1)] * samples
    assert bool(found(run(iostat([{"sda": row} for row in rows])))) == is_told


def lockstep(count, apart=0.0):
    rows = {}
    for number in range(count):
        rate = 21480.0 * (1 + apart * number)
        rows[f"nvme{number}n1"] = load(rate, 0.0475, size=4, util=99.0)
    return iostat([rows])


@pytest.mark.parametrize(
    ("count", "apart", "is_set"), [(10, 0.0001, True), (3, 0, True), (2, 0, False), (4, 0.05, False)]
)
def test_disks_in_lockstep_are_told_as_the_set_that_they_are(run, count, apart, is_set):
    told = found(run(lockstep(count, apart)))
    assert any(len(f.devices) == count and "in lockstep" in f.summary for f in told) is is_set


def test_what_a_set_does_is_told_of_the_samples_with_its_size_alone(run):
    def row(rate, size, wait):
        return {f"nvme{n}n1": load(rate, wait, size=size, util=99.0) for n in range(4)}

    found_in = found(run(iostat([row(320, 512, 3.1)] * 5 + [row(20_000, 4, 0.05)] * 5)))
    (told,) = [f.summary for f in found_in if "in lockstep" in f.summary]
    assert any(
        f"4 disks serve {what} kB each" in told for what in ("320 reads/s of 512.0", "20,000 reads/s of 4.0")
    )


def test_no_bound_is_below_what_was_measured(run):
    (finding,) = found(run(iostat([{"sda": load(120, 8.5, util=99.5)}] * 20)))
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["ceiling"] >= numbers["rate"]


def test_busy_with_less_than_one_in_flight_is_not_cleared(run):
    report = run(iostat([{"sda": load(21480, 0.035, size=4, util=99.0)}] * 5))
    assert [o.status for o in report.outcomes] == ["undetermined"]


READS = """Device      r/s     r_await  rareq-sz  aqu-sz  %util
nvme1n1   {rate:.2f}   {wait:.2f}   32.00   {depth:.2f}   {util:.2f}
"""


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("rate", "wait", "depth", "util", "fires"),
    [
        (1200, 0.70, 0.84, 84.4, True),
        (1200, 0.70, 0.87, 86.0, True),
        (1200, 0.70, 1.40, 84.4, False),
        (1200, 0.70, 0.84, 41.0, False),
        (3600, 0.70, 2.52, 84.4, False),
    ],
    ids=["reads are the queue", "in all digits", "something else queues", "the caller's pace", "three"],
)
def test_reads_that_are_all_of_the_queue_need_no_column_of_writes(run, rows, rate, wait, depth, util, fires):
    text = READS.format(rate=rate, wait=wait, depth=depth, util=util)
    findings = found(run("\n".join([text] * rows)))
    assert [f.severity for f in findings] == ["notice"] * fires
    assert not fires or "1,200 reads/s" in findings[0].evidence[0].text


PIDSTAT = """12:04:11      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
12:04:12      999     27458  {rate:.2f}      0.00      0.00       0  mysqld
12:04:12        0     27617      4.00      4.00      0.00       3  python
"""


@pytest.mark.parametrize(("share", "is_named"), [(1.0, True), (0.95, True), (0.5, False)])
def test_the_process_that_moves_as_much_as_the_device_is_who_asks(run, share, is_named):
    text, listing = iostat([{"sda": load(120, 8, util=95)}] * 3), PIDSTAT.format(rate=share * 1920)
    (finding,) = found(run(text, listing))
    assert any("mysqld" in item.text for item in finding.evidence) == is_named
    assert any("which program" in text for text in finding.cannot_know) != is_named


def test_a_queue_that_rate_times_latency_of_reads_alone_denies_is_no_request_at_a_time(report_of):
    """The client sets the pace: the device is idle for most of the time that %util counts."""
    row = {"r/s": 420.0, "rkB/s": 53760.0, "r_await": 0.3, "aqu-sz": 1.04, "%util": 99.87}
    report = report_of(iostat([{"nvme0n1": row}] * 3), rules=["low-concurrency-bound"])
    assert not report.findings
    assert [outcome.status for outcome in report.outcomes] == ["undetermined"]
