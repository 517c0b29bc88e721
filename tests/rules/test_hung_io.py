from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d, vmstat
from writers.loads import array, load

RULE = "hung-io"
STEADY = load(104, 38)
SILENT = {"%util": 100.0}
RELEASE = load(23, 1775, util=100)


@pytest.fixture
def run(report_of):
    return lambda rows, *context: report_of(iostat([{"sda": row} for row in rows]), *context, rules=[RULE])


def test_ten_seconds_without_an_answer(run):
    report = run([STEADY] * 10 + [SILENT] * 9 + [RELEASE] + [STEADY] * 10)
    (finding,) = report.findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.samples == (10, 18)
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["seconds"] == pytest.approx(9)
    assert numbers["booked"] == pytest.approx(40.8 - 3.95, abs=0.2)


def test_a_kernel_that_adds_the_time_at_the_end(run):
    late = {**RELEASE, "%util": 1000.0}
    (finding,) = run([STEADY] * 10 + [{}] * 9 + [late] + [STEADY] * 10).findings
    assert "9 s" in finding.summary


def test_still_silent_when_the_capture_ends(run):
    held = {"%util": 100.0, "aqu-sz": 4.0}
    (finding,) = run([STEADY] * 10 + [held] * 20, vmstat([{"b": 4}] * 30)).findings
    assert "until the end of the capture" in finding.summary
    assert (finding.severity, finding.confidence) == ("critical", "high")


@pytest.mark.parametrize(
    "rows",
    [
        [STEADY] * 10 + [SILENT] * 3 + [RELEASE] + [STEADY] * 10,  # three seconds
        [STEADY] * 10 + [{}] * 9 + [STEADY] * 10,  # simply idle
        [STEADY] * 10 + [{}] * 9 + [load(100, 40, util=104)] + [STEADY] * 10,  # idle, then skew
        [load(140, 450)] * 30,  # slow, but it answers
    ],
)
def test_near_misses_are_clear(run, rows):
    report = run(rows)
    assert not report.findings
    assert [o.status for o in report.outcomes] in (["clear"], ["undetermined"])


@pytest.mark.parametrize(
    ("stall", "release", "said"),
    [
        (
            [SILENT] * 2,
            load(150, 800, util=100),
            "completed nothing for 2 s though busy, no longer than a retry",
        ),
        (
            [SILENT] * 7,
            load(150, 20, util=100),
            "nothing for 7 s though busy, but no request that ended then",
        ),
    ],
    ids=["two seconds", "longer, and nothing was late"],
)
def test_a_silence_that_is_no_hang_is_told_with_its_length(run, stall, release, said):
    report = run([STEADY] * 10 + stall + [release] * 2 + [STEADY] * 10)
    assert [o.status for o in report.outcomes] == ["undetermined"]
    assert said in report.outcomes[0].reason


def test_flushes_that_fill_the_silence_are_another_matter(run):
    write = load(80, 150, size=1100, reads=0.0)
    flushed = {**load(150, 1200, size=1000, reads=0.0, util=100), "f/s": 1.0, "f_await": 20000.0}
    rows = [write] * 5 + [SILENT] * 19 + [flushed] + [write] * 5 + [SILENT] * 19 + [flushed] + [write] * 5
    report = run(rows)
    assert not report.findings
    assert "flush" in report.outcomes[0].reason


def test_writes_in_sar_may_hide_a_flush(report_of):
    def row(tps, wait):
        return {
            "tps": tps,
            "wkB/s": 1000 * tps,
            "areq-sz": 1000.0,
            "aqu-sz": tps * wait / 1000,
            "await": wait,
            "%util": 100.0,
        }

    rows = [row(60, 30)] * 5 + [SILENT] * 9 + [row(80, 1100)] + [row(60, 30)] * 5
    (finding,) = report_of(sar_d([{"sda": r} for r in rows]), rules=[RULE]).findings
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_half_an_hour_is_no_flush_and_a_quiet_device_no_stuck_counter(report_of):
    quiet = {"tps": 0.9, "wkB/s": 3.6, "areq-sz": 4.0, "aqu-sz": 0.05, "await": 55.0, "%util": 1.0}
    held = {"aqu-sz": 128.0, "%util": 100.0}
    rows = [{"dev7-0": row} for row in [quiet] * 6 + [held] * 3]
    (finding,) = report_of(sar_d(rows, step=300), rules=[RULE]).findings
    assert (finding.severity, finding.confidence) == ("critical", "high")
    assert not any(item.weighs == "against" for item in finding.evidence)


def test_repeated_silence_under_writes_stays_open_where_flushes_are_not_counted(report_of):
    def row(tps, wait):
        busy = {"tps": tps, "wkB/s": 1000 * tps, "areq-sz": 1000.0, "await": wait, "%util": 100.0}
        return busy | {"aqu-sz": tps * wait / 1000}

    rows = ([row(60, 30)] * 5 + [SILENT] * 9 + [row(80, 1100)]) * 2 + [row(60, 30)] * 5
    report = report_of(sar_d([{"sda": r} for r in rows]), rules=[RULE])
    assert not report.findings
    assert [o.status for o in report.outcomes] == ["undetermined"]
    assert "f_await" in report.outcomes[0].reason


def test_a_stuck_counter_is_a_hint_at_most(run):
    (finding,) = run([{"%util": 100.0, "aqu-sz": 2.0}] * 20).findings
    assert finding.confidence == "low"


def test_the_catch_up_after_a_stall_is_no_saturation(report_of):
    rows = [load(60, 10)] * 20 + [SILENT] * 9 + [load(30, 1500, util=100)] + [load(60, 10)] * 20
    report = report_of(iostat([{"sda": row} for row in rows]))
    assert "true-saturation" not in {finding.rule for finding in report.findings}


def test_a_long_sample_that_holds_the_beginning_of_a_stall(report_of):
    def row(tps, depth, util=100.0):
        wait = 1000 * depth / tps
        return {"tps": tps, "rkB/s": 16 * tps, "areq-sz": 16.0, "aqu-sz": depth, "await": wait, "%util": util}

    rows = [row(105, 3.95)] * 5 + [row(14, 0.52), row(21, 7.45)] + [row(105, 3.95)] * 5
    (finding,) = report_of(sar_d([{"sda": r} for r in rows], step=6), rules=[RULE]).findings
    assert finding.confidence == "medium"
    # fewer and larger requests are no stall
    large = [row(105, 3.95)] * 5 + [row(14, 2.0)] * 3 + [row(105, 3.95)] * 5
    assert not report_of(sar_d([{"sda": r} for r in large], step=6), rules=[RULE]).findings


def test_one_late_answer_leaves_it_open(run):
    late = {"w/s": 1.0, "wkB/s": 8.0, "w_await": 2283.0, "aqu-sz": 2.28, "%util": 100.0}
    report = run([{}] * 5 + [late] + [{}] * 5)
    assert [o.status for o in report.outcomes] == ["undetermined"]
    assert "took 2.3 s" in report.outcomes[0].reason
    queued = {**late, "w/s": 40.0, "wkB/s": 320.0, "aqu-sz": 91.3}
    assert [o.status for o in run([{}] * 5 + [queued] + [{}] * 5).outcomes] in (["clear"], ["undetermined"])


def test_one_sample_of_two_stacked_devices_without_a_completion_is_stuck(report_of):
    """From kernel 5.0 on what has not completed is not in flight: two counters do not stick at once."""
    held = {"%util": 100.0}
    report = report_of(iostat([{"dm-0": held, "md127": held, "sda": {}}]), rules=[RULE])
    assert [f.devices for f in report.findings] == [("md127", "dm-0")]
    assert {(f.severity, f.confidence) for f in report.findings} == {("warning", "medium")}


def test_bytes_without_requests_are_a_driver_that_does_not_count(report_of):
    row = {"wkB/s": 80000.0, "aqu-sz": 13000.0, "%util": 100.0}
    report = report_of(iostat([{"rd/c0d0": row}] * 5), rules=[RULE, "counter-anomaly"])
    assert [f.rule for f in report.findings] == ["counter-anomaly"]
    assert "counts no requests" in report.findings[0].summary


def test_a_counter_below_zero_is_no_stuck_request(report_of):
    row = {"aqu-sz": 42933903.02, "%util": 100.0}
    report = report_of(iostat([{"rd/c0d0": row}]), rules=[RULE, "counter-anomaly"])
    assert [f.rule for f in report.findings] == ["counter-anomaly"]


def test_what_is_in_flight_is_not_believed_beside_counts_that_cannot_be_true(report_of):
    stuck, wrapped = {"aqu-sz": 20.0, "%util": 100.0}, {"aqu-sz": 42933903.02, "%util": 100.0}
    assert report_of(iostat([{"sda": stuck}] * 3), rules=[RULE]).findings
    report = report_of(iostat([{"sda": stuck, "sdb": wrapped}] * 3), rules=[RULE])
    assert not report.findings
    assert any("cannot be true" in outcome.reason for outcome in report.outcomes)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([STEADY, SILENT, SILENT], ("warning", "medium")),  # it froze
        ([STEADY, {"%util": 95.0}, SILENT, SILENT], ("warning", "medium")),
        ([{}, SILENT, SILENT], None),  # a counter that leaked shows the same
        ([SILENT] * 3, None),
        ([STEADY, SILENT], None),  # one second
    ],
    ids=["froze", "after a moment's rest", "never served", "silent always", "one sample"],
)
def test_what_freezes_before_the_end_without_anything_held_in_flight(run, rows, told):
    found = run(rows).findings
    assert (found[0].severity, found[0].confidence) == told if told else not found


HELD, IDLE = {"%util": 100.0}, {}
DISKS = {"sda": IDLE, "sdb": IDLE, "sdc": IDLE}
MEMBERS = array("raid5", "sda", "sdb", "sdc")
IN_THE_STACK = "the hang is in the array or mapping layer"


@pytest.mark.parametrize(
    ("sample", "context", "place"),
    [
        ({"dm-0": HELD, "md127": HELD, **DISKS}, (), "the disks shown are idle"),
        ({"dm-0": HELD, "md0": HELD, **DISKS}, (MEMBERS,), "its members are idle"),
        # other disks may do what they like
        ({"dm-0": HELD, "md0": HELD, **DISKS, "sdd": load(100, 9)}, (MEMBERS,), "its members are idle"),
        (
            {"dm-0": HELD, "md127": HELD, **DISKS, "sdd": load(10, 9)},
            (),
            "the disks shown are hardly busy (3 of 4 idle)",
        ),
    ],
)
def test_a_stack_that_hangs_above_idle_disks_is_the_place(report_of, sample, context, place):
    report = report_of(iostat([sample]), *context, rules=[RULE])
    first = report.findings[0]
    assert first.severity == "critical"
    assert f"{place}: {IN_THE_STACK}" in report.headline
    assert "stack" in first.remedy[0]
    assert not any("cable" in text or "path" in text.split() for text in first.remedy[:1])
    assert any(command.startswith("grep . /sys/block/md") for command in first.confirm)


@pytest.mark.parametrize(
    ("sample", "context"),
    [
        ({"dm-0": HELD, "md0": HELD, **DISKS, "sdb": HELD}, (MEMBERS,)),
        ({"dm-0": HELD, "md0": HELD, **DISKS, "sdb": load(90, 9)}, (MEMBERS,)),
        ({"dm-0": HELD, "md127": HELD, **DISKS, "sdb": HELD}, ()),
        ({"dm-0": HELD, "md127": HELD, **DISKS, "sdb": load(90, 9)}, ()),
        ({"dm-0": HELD, "md127": HELD, "sda": IDLE}, ()),  # the members may not be shown
        ({"dm-0": HELD, "md0": HELD, "sdx": IDLE, "sdy": IDLE}, (MEMBERS,)),
        ({"sdd": HELD, "sde": HELD, **DISKS}, ()),
    ],
)
def test_a_hang_with_a_disk_that_may_hold_it_has_no_place(report_of, sample, context):
    report = report_of(iostat([sample]), *context, rules=[RULE])
    assert not any(IN_THE_STACK in f.summary for f in report.findings)
    assert not any(f.severity == "critical" for f in report.findings)


LISTED = (
    "$ cat /sys/block/sd*/inflight\n" + "       0        0\n" * 3 + "\n/sys/block/md127\n       0      52\n"
)


@pytest.mark.parametrize(
    ("listed", "sure"),
    [
        (LISTED, "high"),
        (LISTED.replace("52", "0"), "medium"),  # the array holds none either
        (LISTED.replace(" 0\n", " 7\n", 1), None),  # a disk may be the one that hangs
        (LISTED.replace("sd*", "vd*"), "medium"),  # of other disks
        (LISTED.replace("md127", "md3"), "medium"),
        ("", "medium"),
    ],
)
def test_what_is_in_flight_proves_where_a_stack_hangs(report_of, listed, sure):
    sample = {"dm-0": HELD, "md127": HELD, **DISKS}
    first = report_of(iostat([sample]), *[listed] * bool(listed), rules=[RULE]).findings[0]
    assert (first.confidence if IN_THE_STACK in first.summary else None) == sure
    assert any("md127 held 0 reads and 52 writes" in item.text for item in first.evidence) == (sure == "high")
    assert any("/inflight" in text for text in first.refutes) == (sure == "medium")


@pytest.mark.parametrize("samples", [[{"dm-0": HELD, "md127": HELD, **DISKS}], [{"sda": HELD}] * 20])
def test_a_queue_of_none_without_completions_is_not_told(report_of, samples):
    report = report_of(iostat(samples))
    said = " ".join([report.to_markdown(), report.to_json()])
    assert "0 in flight" not in said
    assert "leaked" not in said


WAITING = {"%iowait": 100.0}


@pytest.mark.parametrize(
    ("sample", "cpu", "is_sure"),
    [
        ({"vda": {"aqu-sz": 128.0, "%util": 100.0}}, WAITING, True),
        ({"vda": {"aqu-sz": 128.0, "%util": 100.0}, "vdb": {}}, WAITING, True),
        ({"vda": {"aqu-sz": 128.0, "%util": 100.0}, "vdb": load(90, 9)}, WAITING, False),
        ({"vda": {"aqu-sz": 128.0, "%util": 100.0}}, {"%iowait": 25.0, "%idle": 75.0}, False),
    ],
    ids=["alone", "beside an idle one", "another is waited for", "CPUs with time"],
)
def test_a_counter_that_leaked_makes_nobody_wait(report_of, sample, cpu, is_sure):
    finding = report_of(iostat([sample], cpu=cpu), rules=[RULE]).findings[0]
    assert finding.confidence == ("high" if is_sure else "medium")
    assert any("may have leaked" in item.text for item in finding.evidence) != is_sure


@pytest.mark.parametrize(
    ("beside", "iowait", "severity"),
    [({}, 4.6, "critical"), ({}, 1.2, "notice"), (load(40, 9), 4.6, "notice"), (None, 4.6, "notice")],
    ids=["a task of many CPUs", "next to nobody", "another is waited for", "nothing beside it"],
)
def test_a_task_that_waits_counts_however_many_cpus_are_idle(report_of, beside, iowait, severity):
    sample = {"sda": {"aqu-sz": 5.0, "%util": 100.0}} | ({"sdb": beside} if beside is not None else {})
    text = iostat([sample], {"%iowait": iowait, "%idle": 99.0 - iowait}, cpus=8)
    (finding,) = report_of(text, rules=[RULE]).findings
    assert finding.severity == severity
    assert any("may have leaked" in item.text for item in finding.evidence) == (severity == "notice")
    assert "grep . /sys/block/*/inflight" in finding.confirm


ONE = {"aqu-sz": 1.0, "%util": 100.0}


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ([STEADY, ONE], "warning"),
        ([STEADY, ONE, ONE], "critical"),
        ([STEADY, ONE | {"aqu-sz": 3.0}], "critical"),
        ([{}, ONE], None),
    ],
    ids=["one request in one second", "two seconds", "several requests", "a device that never answered"],
)
def test_one_request_in_one_second_is_no_standstill_yet(report_of, rows, severity):
    text = iostat([{"sda": row} for row in rows], {"%iowait": 25.0, "%idle": 74.0} if rows[0] else None)
    report = report_of(text, rules=[RULE])
    found = [f for f in report.findings if f.severity != "notice"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    if severity == "warning":
        assert "A second sample would tell" in found[0].summary
        assert "grep . /sys/block/*/inflight" in found[0].confirm


QUEUE, CALM = {"aqu-sz": 190.0, "%util": 100.0}, load(0.02, 2.1, util=0.01)
KEEPS = load(2.5, 0.2, util=100) | {"aqu-sz": 3.0}


@pytest.mark.parametrize(
    ("sample", "severity"),
    [
        ({"sda": QUEUE, "sdb": CALM}, "critical"),
        ({"sda": QUEUE, "sdb": load(7.0, 2.1, util=1)}, "warning"),  # a second makes such rates
        ({"sda": QUEUE, "sdc": KEEPS}, "critical"),
        ({"sda": QUEUE, "sdc": KEEPS | {"aqu-sz": 3.4}}, "warning"),
        ({"sda": ONE, "sdb": CALM}, "notice"),  # a counter that leaked
        ({"sda": ONE | {"aqu-sz": 2.0}, "sdb": CALM, "sdc": KEEPS}, "notice"),  # two of them
        ({"dm-3": QUEUE, "sdb": CALM}, "notice"),  # it may wait in line
        ({"sda": QUEUE, "sdb": {}}, "notice"),  # a host that was paused
    ],
    ids=[
        "queue",
        "unknown length",
        "another keeps some",
        "no whole number",
        "one",
        "two",
        "layer",
        "all stand",
    ],
)
def test_a_queue_that_nothing_leaves_beside_devices_that_serve_is_a_hang(report_of, sample, severity):
    """Rates of two decimals tell the least length of a report; counters leak one by one."""
    untimed = iostat([sample]).split("13:00:01\n")[-1]
    finding = report_of(untimed, rules=[RULE]).findings[0]
    assert finding.severity == severity
    assert ("by the digits of the rates" in finding.summary) is (CALM in sample.values())
    assert ("sdc has 3 in flight throughout" in finding.summary) is (sample == {"sda": QUEUE, "sdc": KEEPS})
    assert any("paused" in text for text in finding.refutes) is (sample.get("sdb") == {})


@pytest.mark.parametrize(("iowait", "severity"), [(0.0, "warning"), (5.0, "critical")])
def test_a_queue_that_nobody_is_seen_to_wait_for_is_no_critical_hang(report_of, iowait, severity):
    """More counters than one may leak: nobody feels a hang in a minute of idle CPUs without any iowait."""
    sample = {"sda": {"aqu-sz": 9.0, "%util": 100.0}, "sdb": load(20, 2.1, util=4)}
    text = iostat([sample] * 60, {"%iowait": iowait, "%idle": 97.0 - iowait}, cpus=16)
    assert report_of(text, rules=[RULE]).findings[0].severity == severity


def test_a_silence_no_longer_than_requests_take_is_no_hang(report_of):
    """A full disk whose requests take a second may complete none in one; it stays full."""
    full = {"w/s": 80.0, "wkB/s": 1280.0, "w_await": 280.0, "aqu-sz": 22.4, "%util": 100.0}
    slower = {"w/s": 28.0, "wkB/s": 448.0, "w_await": 1080.0, "aqu-sz": 30.2, "%util": 100.0}
    silent = {"aqu-sz": 0.0, "%util": 100.0}
    report = report_of(iostat([{"sda": one} for one in [full] * 30 + [slower] + [full] * 20 + [silent]]))
    assert report.findings[0].rule == "true-saturation"
    assert not [f for f in report.findings if f.rule == RULE]
    (outcome,) = [o for o in report.outcomes if o.rule == RULE]
    assert (outcome.status, "no longer than its requests took" in outcome.reason) == ("undetermined", True)


def test_a_short_hang_does_not_hide_what_fills_the_device_for_longer(report_of):
    full = {"w/s": 80.0, "wkB/s": 1280.0, "w_await": 280.0, "aqu-sz": 22.4, "%util": 100.0}
    silent = {"aqu-sz": 4.0, "%util": 100.0}
    report = report_of(iostat([{"sda": one} for one in [full] * 40 + [silent] * 3]))
    assert {"hung-io", "true-saturation"} <= {f.rule for f in report.findings}


def test_how_long_samples_of_unknown_length_stand_still_is_not_said(report_of):
    text = iostat([{"sda": STEADY}] * 10 + [{"sda": SILENT}] * 3 + [{"sda": STEADY}] * 4)
    untimed = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("11/20/26"))
    report = report_of(untimed.replace("11/20/26", ""), rules=["hung-io"])
    reason = next(outcome.reason for outcome in report.outcomes if outcome.devices == ("sda",))
    assert "in 3 samples" in reason
    assert "retry" not in reason


FULL = load(4000, 30, size=64, reads=0, util=100)


@pytest.mark.parametrize(
    ("depth", "disk", "samples", "is_told"),
    [
        (3200.0, FULL, 1, False),
        (1.0, FULL, 1, True),
        (3200.0, load(4000, 0.1, size=64, reads=0, util=30), 1, True),
        (3200.0, FULL, 9, True),
    ],
    ids=["in line", "one request", "the disk has time", "for longer than that takes"],
)
def test_what_a_layer_holds_above_a_full_disk_may_wait_in_line(report_of, depth, disk, samples, is_told):
    held = {"aqu-sz": depth, "%util": 100.0}
    report = report_of(iostat([{"dev8-0": disk, "dev253-3": held}] * samples), rules=[RULE])
    assert bool(report.findings) is is_told
    if not is_told:
        (reason,) = [o.reason for o in report.outcomes if o.devices == ("dev253-3",)]
        assert "3,200 in flight, while dev8-0 is full" in reason.replace("3200", "3,200")


def test_a_layer_above_a_disk_that_is_stuck_too_is_no_line(report_of):
    held = {"aqu-sz": 3200.0, "%util": 100.0}
    report = report_of(iostat([{"sda": held, "sdb": FULL, "dm-3": held}]), rules=[RULE])
    assert {name for f in report.findings for name in f.devices} == {"sda", "dm-3"}


def test_a_mapped_device_by_number_has_no_smart_data(report_of):
    held = {"aqu-sz": 3200.0, "%util": 100.0}
    report = report_of(iostat([{"dev8-0": load(100, 1), "dev253-3": held}] * 9), rules=[RULE])
    assert not any("smartctl" in command for command in report.findings[0].confirm)


@pytest.mark.parametrize(("logged", "severity"), [("sdl", "critical"), ("sdm", "notice"), (None, "notice")])
def test_errors_in_the_kernel_s_log_are_of_no_counter_that_leaked(report_of, logged, severity):
    held = {"r/s": 0.0, "w/s": 0.0, "aqu-sz": 42.0, "%util": 100.0}
    log = "Nov 20 13:00:02 box kernel: : end_request: I/O error, dev {}, sector 2476596991\n\n"
    text = (log.format(logged) if logged else "") + iostat([{"sdl": held}] * 3)
    (finding,) = report_of(text, rules=[RULE]).findings
    assert finding.severity == severity
    assert any("errors of it in the kernel's log: 1" in item.text for item in finding.evidence) == (
        logged == "sdl"
    )
    assert any("may have leaked" in item.text for item in finding.evidence) == (logged != "sdl")
