from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d, vmstat

RULE = "serialized-commit"
COMMIT = {
    "w/s": 8.0,
    "wkB/s": 42.0,
    "w_await": 149.0,
    "f/s": 6.0,
    "f_await": 174.0,
    "aqu-sz": 2.3,
    "%util": 95.0,
}
FREE = {"%user": 8.0, "%system": 4.0, "%iowait": 13.0, "%idle": 75.0}
BUSY = {"%user": 80.0, "%system": 15.0, "%iowait": 1.0, "%idle": 4.0}
SESSIONS = """
| Id | User | Host | db | Command | Time | State | Info |
| 8 | app | localhost | shop | Query | 2 | {state} | UPDATE t SET a=1 |
| 9 | app | localhost | shop | Query | 2 | {state} | UPDATE t SET a=1 |
| 10 | app | localhost | shop | Query | 2 | {state} | UPDATE t SET a=1 |
| 11 | app | localhost | shop | Query | 2 | {state} | UPDATE t SET a=1 |
"""
WAITING, WORKING = SESSIONS.format(state="Commit"), SESSIONS.format(state="Updating")
DURABLE = "innodb_flush_log_at_trx_commit\t1\nsync_binlog\t1\n"
RELAXED = "innodb_flush_log_at_trx_commit\t2\nsync_binlog\t0\n"
CROWDS = vmstat(
    [{"r": r, "us": 39, "sy": 10, "wa": 5, "bo": 1700} for r in (0, 15, 0, 17, 0, 23, 49, 10, 0, 0)]
)


def run(changes=None, cpu=FREE, samples=20):
    return iostat([{"sda": COMMIT | (changes or {})}] * samples, cpu)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


@pytest.mark.parametrize(
    ("context", "confidence"),
    [((), "medium"), ((WAITING,), "high"), ((DURABLE,), "high"), ((RELAXED,), "low")],
)
def test_a_busy_flush_chain_beside_a_free_cpu_fires(report_of, context, confidence):
    finding = only(report_of(run(), *context, rules=[RULE]))
    assert finding.devices == ("sda",)
    assert finding.confidence == confidence
    assert finding.severity == ("notice" if confidence == "low" else "warning")
    assert finding.evidence[0].values["occupancy"] == pytest.approx(6 * 0.174)


@pytest.mark.parametrize(
    ("await_ms", "iowait", "severity", "says"),
    [
        (120.0, 13.0, "notice", "flushing 72 % of the time"),
        (120.0, 40.0, "warning", "flushing 72 % of the time"),
        (150.0, 13.0, "warning", "flushing 90 % of the time"),
        (174.0, 13.0, "warning", "flushing all the time"),
    ],
)
def test_flushes_with_time_between_them_are_a_notice_unless_a_task_waits_as_long(
    report_of, await_ms, iowait, severity, says
):
    cpu = FREE | {"%iowait": iowait, "%idle": 88.0 - iowait}
    finding = only(report_of(run({"f_await": await_ms}, cpu), rules=[RULE]))
    assert finding.severity == severity
    assert says in finding.summary
    # how much more work fits is known where the flushes are what limits
    assert any("times the work fits" in item.text for item in finding.evidence) is (severity == "warning")


SYNCS = {"w/s": 420.0, "wkB/s": 2100.0, "w_await": 1.5, "f/s": 210.0, "f_await": 2.4, "aqu-sz": 1.13}


@pytest.mark.parametrize(
    ("changes", "second", "iowait", "is_found"),
    [
        ({}, {}, 42.0, True),
        ({}, {"w/s": 630.0, "wkB/s": 3150.0}, 42.0, False),
        ({"w/s": 515.0, "wkB/s": 2575.0}, {}, 42.0, False),
        ({"w/s": 2520.0, "wkB/s": 12600.0}, {}, 42.0, False),
        ({"w_await": 0.1, "f_await": 0.3}, {}, 42.0, False),
        ({"w_await": 6.0}, {}, 42.0, False),
        ({}, {}, 12.0, False),
        ({}, {}, 89.0, False),
    ],
    ids=[
        "one task",
        "two numbers",
        "no whole number",
        "write-back",
        "quick",
        "several at once",
        "hardly anybody waits",
        "a crowd",
    ],
)
def test_a_task_that_syncs_each_write_waits_for_write_and_flush(report_of, changes, second, iowait, is_found):
    row = SYNCS | {"%util": 94.0} | changes
    cpu = {"%user": 5.0, "%iowait": iowait, "%idle": 95.0 - iowait}
    text = iostat([{"sda": row}, {"sda": row | second}], cpu)
    finding = only(report_of(text, rules=[RULE]))
    assert bool(finding) == is_found
    if finding:
        assert (finding.severity, finding.confidence) == ("notice", "medium")
        assert "once per 2 writes" in finding.summary
        assert finding.evidence[0].values["occupancy"] == pytest.approx(0.21 * 3.9)
        assert finding.confirm[0] == "pidstat -d 1"


def test_without_flush_columns_littles_law_tells_them(report_of):
    row = {"tps": 8.4, "wkB/s": 44.0, "areq-sz": 5.24, "aqu-sz": 2.35, "await": 149.0, "%util": 96.0}
    cpu = "\n".join(f"13:00:{2 * n:02}  all  8.00 0.00 4.00 13.00 0.00 75.00" for n in range(1, 11))
    text = sar_d([{"sda": row}] * 10)
    text += f"\n13:00:00  CPU  %user %nice %system %iowait %steal %idle\n{cpu}\n"
    finding = only(report_of(text, rules=[RULE]))
    assert finding.confidence == "medium"
    assert finding.evidence[0].values["occupancy"] == pytest.approx(2.35 - 8.4 * 0.149, abs=0.01)


@pytest.mark.parametrize(
    ("changes", "cpu", "reason"),
    [
        (
            {"f_await": 5.0, "f/s": 20.0, "w_await": 35.0, "aqu-sz": 0.4},
            FREE,
            "no device's flush chain is busy",
        ),
        ({"wkB/s": 16000.0}, FREE, "no log"),
        ({"r/s": 50.0, "rkB/s": 800.0}, FREE, "no log"),
        ({}, BUSY, "so is the CPU"),
    ],
    ids=["quick flushes", "bulk writes", "reads", "CPU-bound"],
)
def test_near_misses_stay_clear(report_of, changes, cpu, reason):
    report = report_of(run(changes, cpu), rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "clear"
    assert reason in outcome(report).reason


def test_a_background_log_writer_is_told_by_sessions_and_settings(report_of):
    report = report_of(run(), WORKING, RELAXED, rules=[RULE])
    assert only(report) is None
    assert "no commit waits" in outcome(report).reason


def test_sessions_in_commit_beside_a_quiet_disk_point_elsewhere(report_of):
    report = report_of(run({"f/s": 0.0, "w/s": 1.0, "aqu-sz": 0.1}), WAITING, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "undetermined"
    assert "replication" in outcome(report).reason


@pytest.mark.parametrize(
    ("context", "confidence"), [((), "low"), ((WAITING,), "high"), ((WAITING, DURABLE), "high")]
)
def test_vmstat_with_crowds_of_runnable_tasks_is_possible_alone(report_of, context, confidence):
    finding = only(report_of(CROWDS, *context, rules=[RULE]))
    assert (finding.devices, finding.confidence) == ((), confidence)
    values = finding.evidence[0].values | finding.evidence[1].values
    assert values["available"] == pytest.approx(51)
    assert values["dispersion"] == pytest.approx(20.72, abs=0.05)
    assert values["empty"] + values["crowded"] == pytest.approx(100)


@pytest.mark.parametrize(
    "changes", [{"bi": 900}, {"wa": 40}, {"us": 80}, {"r": 3}], ids=["reads", "iowait", "CPU", "no crowds"]
)
def test_other_vmstat_patterns_are_none(report_of, changes):
    counts = (0, 15, 0, 17, 0, 23, 49, 10, 0, 0)
    rows = [{"r": r, "us": 39, "sy": 10, "wa": 5, "bo": 1700} | changes for r in counts]
    report = report_of(vmstat(rows), rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "undetermined"


def test_sessions_outweigh_iowait_and_earlier_reads(report_of):
    rows = [{"us": 12, "wa": 28, "bi": 4000 if n < 3 else 0, "bo": 400} for n in range(20)]
    finding = only(report_of(vmstat(rows), WAITING, DURABLE, rules=[RULE]))
    assert (finding.confidence, finding.severity) == ("high", "warning")


def test_slow_writes_one_at_a_time_need_no_flushes_to_be_told(report_of):
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 8.0 0.0 4.0 9.0 0.0 79.0\n"

    def capture(kb, wait=9.0, rate=110.0):
        reports = [
            f"{cpu}\n{header}\nsda 0.0 1.0 0.0 {rate} 0.0 {kb + n / 10} 6.0 0.99 {wait} 8.90 97.9\n\n"
            for n in range(21)
        ]
        return "Linux 2.6.32-431.el6.x86_64 (box) \t01/13/2016 \t_x86_64_\t(4 CPU)\n\n" + "".join(reports)

    for kb in (330.0, 880.0):
        finding = only(report_of(capture(kb), rules=[RULE], interval=1.0))
        assert (finding.confidence, finding.severity) == ("medium", "warning")
        assert any("other synchronous writes" in text for text in finding.cannot_know)
    quick = report_of(capture(8000.0, wait=1.0, rate=990.0), rules=[RULE], interval=1.0)
    assert only(quick) is None
    assert outcome(quick).status == "undetermined"
    assert only(report_of(capture(880.0), WAITING, DURABLE, rules=[RULE], interval=1.0)).confidence == "high"


@pytest.mark.parametrize("samples", [1, 2, 20])
def test_counted_flushes_one_after_the_other_are_told_from_one_sample(report_of, samples):
    finding = only(report_of(run(cpu=None, samples=samples), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


@pytest.mark.parametrize(
    ("kernel", "told"),
    [("6.1.0", "medium"), ("5.4.0", None), ("3.10.0-1160.el7.x86_64", None), ("", "low")],
    ids=["counts flushes", "just before", "old", "unknown"],
)
def test_what_littles_law_leaves_over_is_flushes_where_the_kernel_counts_them(report_of, kernel, told):
    row = "sda 0.0 8.4 0.0 44.0 0.0 0.0 0.0 0.0 0.0 149.0 0.0 5.24 2.35 9.0 96.0\n"
    header = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await "
    header += "rareq-sz wareq-sz aqu-sz svctm %util"
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 8.0 0.0 4.0 13.0 0.0 75.0\n"
    reports = f"{cpu}\n{header}\n{row}\n" * 6
    banner = f"Linux {kernel} (box) \t01/13/2026 \t_x86_64_\t(4 CPU)\n\n" if kernel else ""
    finding = only(report_of(banner + reports, rules=[RULE], interval=1.0))
    assert (finding.confidence if finding else None) == told
    assert finding is None or "always" not in finding.summary


def test_reads_that_outlive_a_sample_are_no_flushes(report_of):
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util"
    rows = ["0.4 0.0 4.0 0.0 20.0 1.0 2654.8 2500.0", "0.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0"] * 3
    reports = "".join(f"{header}\nsda 0.0 0.0 {row} 100.0\n\n" for row in rows)
    assert only(report_of(reports, rules=[RULE], interval=5.0)) is None


def test_a_slow_synchronous_writer_is_told_without_flushes(report_of):
    row = {"w/s": 118.0, "wkB/s": 944.0, "w_await": 8.4, "aqu-sz": 0.99, "%util": 99.0}
    flood = {"w/s": 60.0, "wkB/s": 14000.0, "w_await": 270.0, "aqu-sz": 16.2, "%util": 99.0}
    for rows in ([row], [row] * 3, [row] * 6 + [flood] + [row] * 5):
        finding = only(report_of(iostat([{"sda": one} for one in rows], None), rules=[RULE]))
        assert (finding.severity, finding.confidence) == ("warning", "medium")
        assert "or other synchronous writes" in finding.summary
    deep = report_of(iostat([{"sda": flood}] * 3, None), rules=[RULE])
    assert only(deep) is None


@pytest.mark.parametrize(
    ("rate", "wait", "util", "severity"),
    [
        (96.0, 8.4, 81.0, "warning"),
        (94.0, 8.4, 79.0, "notice"),
        (74.0, 8.4, 62.0, "notice"),
        (40.0, 8.4, 34.0, None),
        (94.0, 8.4, 40.0, None),  # two at a time
        (2400.0, 0.33, 79.0, None),  # as of flash
    ],
)
def test_how_busy_slow_writes_one_at_a_time_keep_a_device_is_their_severity(
    report_of, rate, wait, util, severity
):
    row = {"w/s": rate, "wkB/s": 6 * rate, "w_await": wait, "aqu-sz": rate * wait / 1000, "%util": util}
    finding = only(report_of(iostat([{"sda": row}] * 2, None), rules=[RULE]))
    assert (finding.severity if finding else None) == severity


@pytest.mark.parametrize(("wait", "is_one"), [(8.4, True), (11.4, False)])
def test_writes_are_called_one_at_a_time_where_they_are(report_of, wait, is_one):
    row = {"w/s": 118.0, "wkB/s": 354.0, "w_await": wait, "aqu-sz": 0.118 * wait, "%util": 99.0}
    finding = only(
        report_of(iostat([{"sda": row}], {"%user": 1.0, "%iowait": 90.0, "%idle": 9.0}), rules=[RULE])
    )
    assert ("one at a time" in finding.summary) is is_one
    assert ("with 1.35 in flight" in finding.summary) is not is_one
    # it takes no more, however idle the CPU is
    assert not any("times the work fits" in item.text for item in finding.evidence)


SYNC = {
    "w/s": 110.0,
    "wkB/s": 330.0,
    "w_await": 8.2,
    "f/s": 0.0,
    "f_await": 0.0,
    "aqu-sz": 0.9,
    "%util": 90.0,
}


def test_no_flush_at_all_does_not_clear_small_writes_one_at_a_time(report_of):
    report = report_of(run(SYNC), rules=[RULE])
    assert only(report) is not None
    calm = report_of(run(SYNC | {"w_await": 0.5, "aqu-sz": 0.06, "%util": 6.0}), rules=[RULE])
    assert only(calm) is None
    assert outcome(calm).status == "clear"


@pytest.mark.parametrize("context", ["", "NAME KNAME PKNAME TYPE\nsda sda  disk\nvg-log dm-1 sda lvm\n"])
def test_a_layer_is_not_cleared_where_the_disk_with_the_same_writes_is_not(report_of, context):
    header = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    numbers = "0.00 0.00 0.00 500.00 0.00 15000.00 60.00 14.00 28.00 0.00 28.00 1.94 97.00\n"
    text = "\n".join([f"{header}sda {numbers}dm-1 {numbers}"] * 5)
    report = report_of(text, *([context] if context else []), rules=[RULE], interval=1.0)
    assert {o.devices: o.status for o in report.outcomes} == {("sda", "dm-1"): "undetermined"}


def test_devices_that_count_no_flush_are_named_in_the_order_of_the_capture(report_of):
    names = [f"sd{letter}" for letter in "bcdefghi"]
    uncounted = SYNC | {"w_await": 0.95, "%util": 90.0, "w/s": 950.0, "wkB/s": 3800.0}
    report = report_of(iostat([{"sda": COMMIT, **dict.fromkeys(names, uncounted)}] * 20, FREE), rules=[RULE])
    untold = next(o for o in report.outcomes if o.status == "undetermined")
    assert list(untold.devices) == names


@pytest.mark.parametrize(
    ("upper", "devices"),
    [(4.0, ("dm-1",)), (3.9999, ("dm-1",)), (3.6, ("dm-1", "bcache0"))],
    ids=["whole pages", "whole pages, rounded", "a log above as well"],
)
def test_of_two_layers_the_slow_one_with_empty_writes_is_named(report_of, upper, devices):
    quick = {"w/s": 34241.0, "wkB/s": upper * 34241, "w_await": 0.034, "aqu-sz": 1.17, "%util": 100.0}
    slow = {"w/s": 1320.0, "wkB/s": 1320 * 3.58, "w_await": 0.757, "aqu-sz": 1.0, "%util": 99.0}
    finding = only(report_of(iostat([{"dm-1": slow, "bcache0": quick}] * 3, None), rules=[RULE]))
    assert finding.devices == devices
    assert "dm-1 takes 1,320 writes/s" in finding.summary


@pytest.mark.parametrize(
    ("kernel", "rows", "occupancy"),
    [
        ("6.8.0", [(234, 4.08, 1.89)], 0.93),
        ("6.8.0", [(352, 1.96, 1.34), (234, 4.08, 1.89)], 0.93),
        ("6.8.0", [(234, 4.08, 0.96)], None),
        ("6.8.0", [(20, 4.08, 0.30)], None),
        ("4.18.0", [(234, 4.08, 1.89)], None),
    ],
    ids=["one report", "the one that waits more", "no flush", "a flush now and then", "an old kernel"],
)
def test_flushes_are_told_where_reads_and_writes_are_not_apart(report_of, kernel, rows, occupancy):
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 4.06 0.00 5.15 90.78 0.00 0.01\n\n"
    head = "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n"
    reports = [
        f"$ iostat -s 1 -x\nLinux {kernel} (db) \t03/04/26 \t_x86_64_\t(1 CPU)\n\n{cpu}{head}"
        f"sda {rate:.2f} {rate * 6.5:.2f} 10.00 {wait:.2f} 6.50 {depth:.2f} 94.70\n\n"
        for rate, wait, depth in rows
    ]
    finding = only(report_of("".join(reports), DURABLE, rules=[RULE]))
    assert (finding is None) == (occupancy is None)
    if finding is not None:
        assert (finding.severity, finding.confidence) == ("warning", "medium")
        assert finding.evidence[0].values["occupancy"] == pytest.approx(occupancy, abs=0.01)
        assert "requests/s of 6.5" in finding.evidence[1].text


WITHOUT_FLUSHES = "Device: r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
CPU_FREE = "avg-cpu: %user %nice %system %iowait %steal %idle\n 40.1 0.0 18.2 11.3 0.0 30.4\n\n"


def old_iostat(rates, devices=("sda",)):
    reports = []
    for rate in rates:
        rows = (
            f"{name} 0.00 {rate:.2f} 0.00 {14 * rate:.2f} 28.00 3.60 1.70 0.43 91.00\n" for name in devices
        )
        reports.append(f"{CPU_FREE}{WITHOUT_FLUSHES}{''.join(rows)}sdz" + " 0.00" * 9 + "\n\n")
    return "".join(reports)


@pytest.mark.parametrize(("rates", "is_flat"), [((2100, 2112, 2095), True), ((2000, 2300, 2700), False)])
def test_sessions_in_commit_name_the_disk_that_takes_the_writes(report_of, rates, is_flat):
    finding = only(report_of(old_iostat(rates), WAITING, rules=[RULE]))
    assert finding.devices == ("sda",)
    assert "sda takes nearly all writes" in finding.summary
    assert ("as at a ceiling" in finding.summary) is is_flat
    # a disk that is full at a flat rate has no room for more, however idle the CPU is
    assert any("times the work fits" in item.text for item in finding.evidence) is not is_flat


def test_of_two_disks_that_write_none_is_named(report_of):
    finding = only(report_of(old_iostat((2100, 2112, 2095), ("sda", "sdb")), WAITING, rules=[RULE]))
    assert finding.devices == ()


def legs(*writes, size=72.0, unseen=0.8):
    """One report of a layout without flushes: writes/s of each disk, with `unseen` more in flight."""
    names = "r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz"
    text = f"Device {names} svctm %util\n"
    for number, rate in enumerate(writes, 1):
        depth = rate * 4.5 / 1000 + 0.001 + unseen
        text += f"nvme{number}n1 2.00 {rate:.2f} 200.00 {rate * size:.2f} 0.00 0.00 0.00 0.00 0.40 4.50 "
        text += f"{depth:.2f} 100.00 {size:.2f} 4.00 85.00\n"
    return text


@pytest.mark.parametrize(
    ("writes", "is_alike"),
    [((180.0, 200.0, 190.0, 185.0), True), ((180.0, 200.0), False), ((90.0, 200.0, 195.0, 210.0), False)],
    ids=["a set", "two", "not equal"],
)
def test_what_no_column_shows_on_equal_devices_is_told_once(report_of, writes, is_alike):
    finding = only(report_of(legs(*writes), rules=[RULE]))
    assert ("alike have 0.80 requests" in finding.summary) is is_alike


@pytest.mark.parametrize("writes", [(180.0, 200.0, 190.0, 185.0), (180.0, 200.0)])
@pytest.mark.parametrize(("size", "is_commit"), [(12.0, True), (72.0, False)])
def test_what_no_column_shows_beside_large_writes_is_not_called_commits(report_of, writes, size, is_commit):
    finding = only(report_of(legs(*writes, size=size), rules=[RULE]))
    texts = [finding.summary, *finding.remedy, *finding.confirm, *(item.text for item in finding.evidence)]
    assert any("commit" in text for text in texts) is is_commit
    assert any("small log writes" in text for text in texts) is is_commit
    assert any("-w discard" in text for text in finding.confirm) is not is_commit
    assert finding.severity == "notice"


def test_what_no_column_shows_is_not_refuted_by_sessions_that_wait(report_of):
    finding = only(report_of(legs(180.0, 200.0, 190.0, size=72.0), rules=[RULE]))
    assert not any("sessions" in text for text in finding.refutes)
    assert "their writes take 4.50 ms." in finding.summary


def test_who_writes_and_waits_by_the_capture_is_told_and_not_asked_for(report_of):
    header = "UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command"
    processes = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n" + "".join(
        f"10:00:0{n} {header}\n10:00:0{n + 1} 0 77 0.00 90.00 0.00 0 journal-app\n"
        f"10:00:0{n + 1} 0 12 0.00 400.00 0.00 0 jbd2/sda1-8\n\n"
        for n in (1, 2)
    )
    finding = only(report_of(run(), processes))
    assert any("journal-app writes most: 90 kB/s" in item.text for item in finding.evidence)
    assert not any(command.startswith("pidstat -d") for command in finding.confirm)
    alone = only(report_of(run()))
    assert not any("writes most" in item.text for item in alone.evidence)


MARIA = "innodb_flush_log_at_trx_commit\t1\nlog_bin\t{}\nsync_binlog\t1\nversion\t10.6.9-MariaDB-log\n"
MYSQL = "innodb_flush_log_at_trx_commit\t1\nlog_bin\tON\nsync_binlog\t0\nversion\t8.0.31\n"
PG = "synchronous_commit = on\nfsync = on\n"


@pytest.mark.parametrize(
    ("settings", "told", "others"),
    [
        (MARIA.format("ON"), ("binlog_commit_wait_count", "sync_binlog=0"), ("binlog_group", "commit_delay")),
        (MARIA.format("OFF"), ("commit=2.",), ("commit_wait", "sync_binlog", "binlog_group", "commit_delay")),
        (
            MYSQL,
            ("binlog_group_commit_sync_delay", "commit=2."),
            ("wait_count", "commit_delay", "sync_binlog"),
        ),
        (PG, ("commit_delay", "synchronous_commit=off"), ("innodb", "binlog")),
        ("", ("commit_delay", "wait_count", "sync_delay", "synchronous_commit=off", "commit=2"), ()),
    ],
    ids=["MariaDB", "no binary log", "MySQL", "PostgreSQL", "not known"],
)
def test_the_advice_is_of_the_database_that_the_capture_names(report_of, settings, told, others):
    advice = " ".join(only(report_of(run(), *filter(None, [settings]), rules=[RULE])).remedy)
    assert [word for word in told if word not in advice] == []
    assert [word for word in others if word in advice] == []
