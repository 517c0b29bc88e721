from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat
from writers.loads import load

RULE = "blocked-tasks"
STUCK = {"aqu-sz": 6.0, "%util": 100.0}


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("blocked", "options", "expected"),
    [
        ([6] * 20, {}, "medium"),
        ([6] * 20, {"cpus": 4}, "medium"),
        ([6] * 20, {"cpus": 8}, "medium"),
        ([2] * 20, {}, None),
        ([0] * 10 + [6, 6], {}, "medium"),
        ([3, 4, 5, 8, 8], {}, "medium"),
        ([8], {}, "medium"),
    ],
    ids=["six", "on four CPUs", "on eight CPUs", "two", "a moment", "rising", "one sample"],
)
def test_blocked_tasks_by_number(report_of, blocked, options, expected):
    finding = only(report_of(vmstat([{"b": b, "wa": 0} for b in blocked]), rules=[RULE], **options))
    assert (finding.confidence if finding else None) == expected
    if finding:
        assert finding.severity == "notice"


@pytest.mark.parametrize(
    ("blocked", "told"),
    [
        ([6] * 20, ("warning", "medium")),
        ([6, 6], ("notice", "medium")),
        ([0] * 17 + [6] * 3, ("notice", "medium")),
        ([6, 6, 1, 6, 6, 0, 6] + [0] * 8, ("warning", "medium")),
        ([6, 0, 0] * 5, ("notice", "medium")),
    ],
)
def test_tasks_that_wait_most_of_the_time_beside_iowait_are_a_cost(report_of, blocked, told):
    finding = only(report_of(vmstat([{"b": b, "wa": 10 * b} for b in blocked]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told
    assert "iowait is 60 %" in finding.evidence[1].text


@pytest.mark.parametrize(
    ("load", "row", "cpus", "is_told"),
    [
        ("5.03, 4.87, 3.10", {}, 4, True),
        ("5.03, 4.87, 3.10", {"r": 2}, 4, False),
        ("5.03, 4.87, 3.10", {"b": 1}, 4, False),
        ("3.10, 4.87, 5.03", {}, 4, False),
        ("1.20, 1.10, 0.90", {}, 4, False),
        ("5.03, 4.87, 3.10", {"us": 20}, 4, False),
        ("5.03, 4.87, 3.10", {"us": 4}, 64, False),
    ],
    ids=["steady", "a task runs", "one is blocked", "falls", "few", "CPUs work", "of many CPUs some work"],
)
def test_a_steady_load_average_of_tasks_that_no_sample_sees_is_a_note(report_of, load, row, cpus, is_told):
    uptime = f" 11:02:40 up 3 days, 4:10,  1 user,  load average: {load}\n\n"
    finding = only(report_of(uptime + vmstat([row] * 3), rules=[RULE], cpus=cpus))
    assert bool(finding) == is_told
    if finding:
        assert (finding.severity, finding.confidence) == ("notice", "low")
        assert "About 5 tasks sleep uninterruptibly" in finding.summary
        assert finding.title == "Tasks sleep uninterruptibly, for no I/O that is counted"


def test_reads_that_starve_behind_writes_are_said(report_of):
    rows = [{"b": 0, "bi": 90000, "bo": 200}] * 6 + [{"b": 6, "bi": 9000, "bo": 41000}] * 6
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert any("from 87.89 MB/s to 9,000 kB/s while 40.04 MB/s" in item.text for item in finding.evidence)


@pytest.mark.parametrize(
    ("blocked", "status"),
    [([0] * 5, "clear"), ([0, 0, 2, 0, 0], "clear"), ([1] * 5, "undetermined"), ([0], "undetermined")],
)
def test_few_blocked_tasks_are_clear_only_where_nobody_waits(report_of, blocked, status):
    report = report_of(vmstat([{"b": b} for b in blocked]), rules=[RULE])
    assert [o.status for o in report.outcomes] == [status]


def test_nothing_is_clear_without_the_column(report_of):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(f"13:00:{second:02} 1 90 0.5 0.5 0.5\n" for second in range(1, 40))
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["undetermined"]


@pytest.mark.parametrize(
    ("depth", "weighs", "text"),
    [(6.0, "for", "wait for their own"), (90.0, "against", "background"), (0.0, "context", "NFS")],
)
def test_requests_in_flight_tell_who_they_are(report_of, depth, weighs, text):
    disk = {"w/s": 90.0, "wkB/s": 9000.0, "w_await": depth / 0.09, "aqu-sz": depth, "%util": 99.0}
    finding = only(report_of(vmstat([{"b": 6}] * 20), iostat([{"sda": disk}] * 20), rules=[RULE]))
    assert finding.evidence[1].weighs == weighs
    assert text in finding.evidence[1].text


def test_a_load_average_alone_is_weak(report_of):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(f"13:00:{second:02} 1 90 9.0 9.0 3.0\n" for second in range(1, 40))
    assert only(report_of(text, rules=[RULE])).confidence == "low"


def test_a_load_average_is_held_against_the_tasks_that_run_and_not_against_the_cpus(report_of):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5\n"
    text += "".join(f"13:00:{second:02} 20 90 33.0 31.0\n" for second in range(1, 40))
    summary = only(report_of(text, rules=[RULE])).summary
    assert "13 tasks more than the 20 that are runnable on 2 CPUs" in summary


@pytest.mark.parametrize(("queue", "is_counted"), [("", False), ("0.00", True)], ids=["not counted", "none"])
def test_requests_in_flight_are_told_only_where_a_column_counts_them(report_of, queue, is_counted):
    name = "avgqu-sz" if is_counted else ""
    text = "Linux 2.6.32 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    text += "".join(f"13:{minute}:00 1 311 9.1 8.4 6.2 9\n" for minute in (10, 20, 30, 40))
    text += f"\n13:00:00 DEV tps rd_sec/s wr_sec/s {name}\n"
    text += "".join(
        f"13:{minute}:00 sda 190.{minute} 1600.00 11000.00 {queue}\n" for minute in (10, 20, 30, 40)
    )
    told = [item.text for item in only(report_of(text, rules=[RULE])).evidence]
    assert any("requests were in flight" in text for text in told) is is_counted


CALM = (1, 0.31, 0.3)


@pytest.mark.parametrize(
    ("rows", "severity", "told"),
    [
        ([CALM] * 4 + [(0, 9.8, 3.1)] + [(1, 17.2, 12.4)] * 4, "warning", "it rises from 0.31 to 9.80"),
        ([(0, 12.6, 3.4)] + [(0, 17.2, 12.4)] * 4, "warning", "it had just begun"),
        ([(0, 17.2, 15.9)] * 4, "warning", "15 minutes the load average is 16 in 4 samples in a row: no"),
        ([CALM] * 4 + [(0, 17.2, 2.4), (0, 9.4, 2.6)], "notice", None),
        ([(0, 17.2, 2.4)] * 6, "notice", None),
        ([(0, 17.2, 15.9)] * 2, "notice", None),
        ([(16, 17.2, 15.9)] * 6, None, None),
        ([(0, 17.2, 15.9)] * 3 + [(18, 17.2, 15.9)] * 3, "notice", None),
        ([(0, 4.1, 4.0)] * 6, "notice", None),
        ([(0, 2.1, 2.0)] * 6, None, None),
    ],
    ids=[
        *("begins", "had begun", "from before", "a moment", "of a minute alone", "two samples", "runnable"),
        *("runnable at times", "drivers", "two drivers"),
    ],
)
def test_a_crowd_that_load_averages_alone_count_is_a_cost_where_it_lasts(report_of, rows, severity, told):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(
        f"{13 + n // 6}:{n % 6}9:02 {runnable} 310 {one} {one} {fifteen}\n"
        for n, (runnable, one, fifteen) in enumerate(rows)
    )
    finding = only(report_of(text, rules=[RULE]))
    assert (finding and finding.severity) == severity
    if finding:
        assert finding.confidence == ("medium" if told else "low")
        assert (told or "") in finding.summary
        assert ("no moment" in finding.summary) is bool(told)


def test_a_load_average_of_cpus_that_work_is_no_crowd_that_sleeps(report_of):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(f"13:{n}0:00 0 310 17.2 17.2 15.9\n" for n in range(1, 6))
    text += "\n13:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(f"13:{n}0:00 all 71.0 0.0 11.0 0.0 0.0 18.0\n" for n in range(1, 6))
    assert only(report_of(text, rules=[RULE])).severity == "notice"


@pytest.mark.parametrize(
    ("late", "is_told"),
    [((0, 31, 12, 44, 20, 3, 38), True), ((0, 1, 0, 2, 1, 0, 1), False), ((0, 60, 0, 120, 60, 0, 60), False)],
    ids=["delayed", "on time", "whole minutes"],
)
def test_a_recorder_that_misses_its_grid_is_told_beside_the_crowd(report_of, late, is_told):
    clocks = [600 * n for n in range(1, 9)] + [600 * n + more for n, more in enumerate(late, 9)]
    text = "00:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(
        f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02} 0 310 {load} {load} {load}\n"
        for at, load in zip(clocks, [0.2] * 8 + [19.5] * 7, strict=True)
    )
    told = [item for item in only(report_of(text, rules=[RULE])).evidence if "the recorder" in item.text]
    assert bool(told) is is_told
    assert all(item.weighs == "context" for item in told)


def queue_of(loads, run_queue=4, blocked=1, cpus=8):
    text = f"Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t({cpus} CPU)\n\n"
    text += "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    rows = (
        f"13:{n:02}:00 {run_queue} 900 {load:.2f} 9.00 5.00 {blocked}\n" for n, load in enumerate(loads, 1)
    )
    return text + "".join(rows)


@pytest.mark.parametrize(
    ("loads", "options", "severity"),
    [
        ([3, 3, 26, 40, 52, 60, 66, 70, 71, 72], {}, "warning"),
        ([20] * 10, {}, "notice"),
        ([80 * 0.9**n for n in range(10)], {}, "warning"),
        ([80] * 4 + [5] * 6, {}, None),
        ([100 * 0.368**n + 5 for n in range(4)] * 2, {}, None),
        ([66, 65, 66, 65, 66, 65], {"run_queue": 60}, None),
        ([20] * 10, {"cpus": 32}, None),
    ],
    ids=["grows", "a few", "falls slowly", "four samples", "decays", "runnable", "fewer than CPUs"],
)
def test_a_load_average_beyond_all_tasks_that_are_counted_is_told(report_of, loads, options, severity):
    finding = only(report_of(queue_of(loads, **options), rules=[RULE]))
    assert (finding and finding.severity) == severity
    if finding:
        assert finding.confidence == "medium"
        assert "sleep uninterruptibly and are not counted as waiting for I/O" in finding.summary
        assert finding.title == "Tasks sleep uninterruptibly, for no I/O that is counted"


def test_a_crowd_that_is_counted_as_blocked_is_told_before_the_rest_of_the_load_average(report_of):
    finding = only(report_of(queue_of([60] * 12, blocked=40, cpus=4), rules=[RULE]))
    assert "40 tasks are blocked on I/O" in finding.summary


def test_a_load_average_that_only_falls_counts_nobody(report_of):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    text += "".join(
        f"13:{n // 6:02}:{n % 6}0 1 900 {300 * 0.8465**n:.2f} 9.00 5.00 0\n" for n in range(1, 19)
    )
    assert only(report_of(text, rules=[RULE])) is None


def test_iowait_tells_who_waits_and_since_when_where_nothing_else_is_shown(report_of):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "08:20:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(
        f"08:{m}:00 all 1 0 1 {wait} 0 {98 - wait}\n" for m, wait in ((30, 0), (40, 16.69), (50, 58.75))
    )
    finding = only(report_of(text, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert "58.8 % at most, in 2 of 3 samples, from 08:30:00 on" in finding.summary


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ((1, 1, 22, 2, 1, 1), "in 1 of 6 samples, between 08:40:00 and 08:50:00."),
        ((1, 1, 22, 4.5, 8, 1, 1), "between 08:40:00 and 08:50:00, and 8.00 % in 1 more (until 09:10:00)."),
        ((1, 7, 22, 9, 1, 1, 1), "and 7.00 to 9.00 % in 2 more (until 08:40:00, 09:00:00)."),
        ((4, 4, 22, 9, 4, 4), "in 1 of 6 samples, between 08:40:00 and 08:50:00."),
        ((1, 1, 1, 1, 1, 22), "in 1 of 6 samples, from 09:10:00 on."),
    ],
    ids=["alone", "one more", "beside it", "within the usual", "at the end"],
)
def test_iowait_that_passes_is_told_from_its_start_to_its_end_with_what_else_stands_out(
    report_of, waits, told
):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "08:20:00 CPU %user %nice %system %iowait %steal %idle\n"
    for n, wait in enumerate(waits, 3):
        text += f"{8 + n // 6:02}:{n % 6}0:00 all 1 0 1 {wait} 0 {98 - wait}\n"
    assert only(report_of(text, rules=[RULE])).summary.endswith(told)


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ([(1, 50), (0, 100), (2, 16), (1, 52), (4, 9), (1, 41), (0, 50)], "warning"),
        ([(1, 50), (0, 100)], "warning"),
        ([(1, 20)] * 7, "notice"),
        ([(40, 45)] * 7, "notice"),
        ([(1, 50), (1, 5)] * 4, "notice"),
    ],
    ids=["it mostly waits", "for two minutes", "little", "it works as long", "half of the time"],
)
def test_iowait_that_lasts_on_a_host_that_hardly_works_is_a_cost(report_of, rows, severity):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "08:20:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(
        f"08:{21 + n}:00 all {work} 0 0 {wait} 0 {100 - work - wait}\n" for n, (work, wait) in enumerate(rows)
    )
    assert only(report_of(text, rules=[RULE])).severity == severity


def test_without_a_queue_it_does_not_apply(report_of):
    report = report_of(iostat([{"sda": {}}] * 3), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]


@pytest.mark.parametrize(
    ("device", "rate", "wait", "severity"),
    [
        ("nvme0n1", 70000.0, 0.1, "info"),
        ("sdc", 5900.0, 0.9, "info"),
        ("sdc", 300.0, 22.0, "warning"),
        ("nvme0n1", 3500.0, 2.0, "warning"),
    ],
    ids=["flash", "a quick volume", "a queue", "flash that is slow"],
)
def test_tasks_whose_requests_are_answered_at_once_are_no_harm(report_of, device, rate, wait, severity):
    disk = iostat([{device: load(rate, wait, size=12)}] * 5)
    finding = only(report_of(disk, vmstat([{"b": 6, "wa": 58}] * 5), rules=[RULE]))
    assert finding.severity == severity
    said = [item for item in finding.evidence if "are answered in" in item.text]
    assert bool(said) == (severity == "info")


@pytest.mark.parametrize(
    ("odd", "severity"),
    [(load(30000.0, 0.2, size=12), "info"), (load(40.0, 2500.0, size=12), "warning"), (STUCK, "warning")],
    ids=["a little slower", "seconds", "nothing completes"],
)
def test_one_sample_of_five_with_a_wait_of_seconds_is_harm(report_of, odd, severity):
    disk = iostat([{"nvme0n1": load(70000.0, 0.1, size=12)}] * 4 + [{"nvme0n1": odd}])
    finding = only(report_of(disk, vmstat([{"b": 6, "wa": 58}] * 5), rules=[RULE]))
    assert finding.severity == severity


def test_a_hung_task_is_harm_however_promptly_the_devices_answer(report_of):
    disk = iostat([{"nvme0n1": load(70000.0, 0.1, size=12)}] * 5)
    hung = "[Fri Nov 20 13:00:05 2026] INFO: task postgres:2211 blocked for more than 120 seconds.\n"
    finding = only(report_of(disk, vmstat([{"b": 6, "wa": 58}] * 5), hung, rules=[RULE]))
    assert finding.severity == "warning"


@pytest.mark.parametrize(("b", "wa", "is_told"), [(7, 1, False), (7, 20, True), (1, 0, False)])
def test_a_moment_of_one_sample_without_iowait_is_no_pile(report_of, b, wa, is_told):
    rows = [{"r": 40, "b": int(n % 3 == 0), "us": 40, "wa": 0} for n in range(10)]
    rows[4] |= {"b": b, "wa": wa}
    assert (only(report_of(vmstat(rows))) is not None) == is_told


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ([18000, 18300, 17900, 18200, 18100, 18000], "at a flat rate"),
        ([18000, 100, 0, 18200, 18100, 9000], "in 2 of these 6 samples almost nothing is read or written"),
    ],
)
def test_without_disks_it_is_said_what_was_moved_meanwhile(report_of, written, said):
    finding = only(report_of(vmstat([{"b": 9, "wa": 60, "bo": bo, "bi": 5} for bo in written]), rules=[RULE]))
    assert "MB/s are written" in finding.summary
    assert said in finding.summary


@pytest.mark.parametrize(
    ("written", "is_flat"),
    [
        ([15000, 14700, 15300, 15900, 14400], True),
        ([15000, 14700, 15300, 15900], False),  # four samples
        ([15000, 14700, 15300, 15900, 9000, 14400], True),  # one that asks for less
        ([15000, 14700, 15300, 15900, 22000, 14400], False),  # one that gets more: there is no ceiling
        ([15000, 14700, 9000, 15300, 15900, 22000, 14400], False),  # two of seven
        ([12000, 18000, 12000, 18000, 12000, 18000], False),
    ],
)
def test_a_flat_rate_of_a_host_that_waits_is_a_ceiling(report_of, written, is_flat):
    rows = [{"b": 5, "wa": 60, "us": 40, "bo": kb, "cache": 25_000 * n} for n, kb in enumerate(written)]
    finding = only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE]))
    assert ("at a flat rate" in finding.summary) == ("takes no more" in finding.summary) == is_flat
    if is_flat:
        assert finding.summary.count("14.7 MB/s") + finding.summary.count("14.71 MB/s") == 1
        assert ("in all samples but 1" in finding.summary) == (9000 in written)
    told = [item for item in finding.evidence if "page cache takes 24.41 MB/s or more" in item.text]
    assert len(told) == (len(written) > 5)  # one more to grow from


@pytest.mark.parametrize(
    ("between", "read", "is_told"), [(60, 4, True), (40000, 4, False), (60, 60000, False)]
)
def test_writes_that_come_with_the_blocked_tasks_alone_are_flushed_in_bursts(
    report_of, between, read, is_told
):
    rows = [{"b": 0, "wa": 1, "bo": between, "bi": read} for _ in range(12)]
    for n in (3, 7, 11):
        rows[n] = {"b": 7, "wa": 60, "bo": 88000, "bi": read}
    finding = only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE]))
    assert ("buffered writes are flushed in bursts" in finding.summary) is is_told


def test_writes_that_are_pages_for_swap_are_no_buffered_writes(report_of):
    rows = [{"b": 0, "wa": 1, "bo": 60, "bi": 4} for _ in range(12)]
    for n in (3, 7, 11):
        rows[n] = {"b": 7, "wa": 60, "bo": 88000, "bi": 4, "so": 80000}
    finding = only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE]))
    assert "in the other samples 60 kB/s: 78.12 MB/s of it go out to swap" in finding.summary
    assert "buffered" not in finding.summary
    assert "dirty" not in "".join((*finding.remedy, *finding.confirm)).lower()


BURST = [{"b": 1, "wa": 40 + n, "bi": 128, "bo": 8000 + 100 * n} for n in range(12)]
PAUSE = [{"b": 0, "wa": 0, "bi": 128, "bo": 0}] * 4


WRITERS, SOMEBODY = (
    "Writers wait for the disk: 1 task is blocked",
    "Somebody waits for I/O: 1 task is blocked",
)


@pytest.mark.parametrize(("before", "severity"), [(38, "warning"), (4, "notice")])
def test_one_task_that_always_waits_is_a_cost_where_cpus_waited_as_much_since_boot(
    report_of, before, severity
):
    first = {"b": 1, "wa": before, "us": 6, "bi": 4586, "bo": 231}
    rows = [{"b": 1, "wa": wa, "us": 12, "bi": 11000 + 100 * wa, "bo": 400} for wa in (39, 36, 37)]
    *head, _, average, one, two, three, _ = vmstat([first, *rows]).split("\n")
    text = "\n".join([*head, average, one, two, three, ""])
    assert only(report_of("$ vmstat 5\n" + text)).severity == severity


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (BURST + PAUSE, WRITERS),
        ([row | {"bo": 8000} for row in BURST], WRITERS),  # at a flat rate
        ([row | {"bi": 8000} for row in BURST + PAUSE], SOMEBODY),  # reads may be what is waited for
        ([row | {"wa": 5} for row in BURST] + PAUSE, None),
        ([row | {"bo": 200} for row in BURST] + PAUSE, SOMEBODY),
        (BURST[:4] + [PAUSE[0]] * 8, None),  # seldom
        ([row | {"bo": kb} for row, kb in zip(BURST, [9000, 100, 4000] * 4, strict=True)], SOMEBODY),
        (BURST[:2], None),  # a hiccup
    ],
    ids=["bursts", "flat", "reads", "no iowait", "little", "seldom", "by chance", "two samples"],
)
def test_few_tasks_that_wait_most_of_the_time_as_cpus_do_are_told(report_of, rows, told):
    report = report_of(vmstat(rows))
    finding = only(report)
    assert (finding is not None) == (told is not None)
    if finding:
        assert (finding.severity, finding.confidence, report.verdict.state) == ("notice", "medium", "open")
        assert report.headline.startswith(told)


@pytest.mark.parametrize(("wa", "severity"), [(75, "warning"), (40, "notice")])
def test_a_task_that_waits_while_no_time_is_left_is_a_cost(report_of, wa, severity):
    rows = [row | {"wa": wa, "us": 20} for row in BURST] + PAUSE
    assert only(report_of(vmstat(rows), rules=[RULE])).severity == severity


@pytest.mark.parametrize(("share", "is_copy"), [(1.02, True), (0.7, False)])
def test_as_much_read_as_written_in_each_sample_is_told_as_a_copy(report_of, share, is_copy):
    kb = [17000, 4600, 20500, 12700, 18400]
    rows = [{"b": 1, "wa": 25, "bi": each, "bo": share * each} for each in kb]
    assert (
        "as much of either in each sample, as where data is copied" in only(report_of(vmstat(rows))).summary
    ) is is_copy


@pytest.mark.parametrize(
    ("tasks", "kb", "severity"),
    [
        ([200] * 16, [44000 / 1.3**n for n in range(16)], "critical"),
        ([200] * 16, [44000 - 1500 * n for n in range(16)], "warning"),  # half is left
        (
            [200 - 12 * n for n in range(16)],
            [44000 / 1.3**n for n in range(16)],
            "warning",
        ),  # a load that ends
        ([200] * 16, [44000] * 8 + [900] * 8, "warning"),  # another phase of a benchmark
        ([5] * 16, [44000 / 1.3**n for n in range(16)], "warning"),  # no crowd
    ],
    ids=["falls", "by half", "ends", "two phases", "few"],
)
def test_a_crowd_that_stays_and_gets_a_fraction_comes_to_a_stand(report_of, tasks, kb, severity):
    rows = [(b, int(each), 90) for b, each in zip(tasks, kb, strict=True)]
    finding = only(report_of(old_vmstat(rows), rules=[RULE]))
    assert finding.severity == severity
    assert ("what is moved falls from" in finding.summary) is (severity == "critical")


def test_what_is_moved_is_of_the_samples_in_which_tasks_wait(report_of):
    """The first row counts tasks of now, and its rates are averages since boot."""
    head, names, first, *rows = vmstat([{"b": 1, "bi": 11_000, "wa": 20}] * 4).splitlines()
    text = "\n".join([head, names, first.replace("0      0", "0      4", 1), *rows])
    finding = only(report_of(f"$ vmstat 5\n{text}\n", rules=[RULE]))
    assert "4 tasks are blocked on I/O, in 1 of 5 samples" in finding.summary
    assert "meanwhile" not in finding.summary


ONE_STRETCH = "one stretch of writes, buffered ones that are flushed or those of a job that waits for each"
TWO_STRETCHES = ONE_STRETCH.replace("one stretch", "2 stretches")
FILLS = [row | {"cache": 900_000 + 40_000 * n} for n, row in enumerate(BURST)]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (BURST[:6] + PAUSE[:2] + BURST[6:] + PAUSE[:2], "buffered writes are flushed in bursts"),
        ([row | {"free": 5_000_000} for row in BURST[:6] + PAUSE[:2] + BURST[6:] + PAUSE], TWO_STRETCHES),
        (FILLS + PAUSE, "buffered writes are flushed,"),  # the page cache takes more than the disk
        (BURST + PAUSE, ONE_STRETCH),  # as of direct I/O: the page cache does not move
        (BURST + [row | {"bo": 2000} for row in PAUSE], None),
    ],
    ids=["bursts", "the cache does not move", "the cache fills", "one stretch", "others write as well"],
)
def test_one_stretch_of_writes_shows_no_flushes_unless_the_page_cache_does(report_of, rows, told):
    finding = only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE]))
    assert (told or "are written") in finding.summary
    assert ("in the other samples" in finding.summary) is (told is not None)
    assert ("vm.dirty" in finding.remedy[0]) is ("buffered writes are" in str(told))
    assert ("/proc/meminfo" in finding.confirm[0]) is (told in (ONE_STRETCH, TWO_STRETCHES))


def test_a_lone_writer_at_a_flat_rate_does_not_show_what_the_disk_takes(report_of):
    finding = only(report_of(vmstat([row | {"bo": 8000} for row in BURST]), rules=[RULE]))
    assert "flat rate" in finding.summary
    assert "takes no more" not in finding.summary


@pytest.mark.parametrize(("little", "severity"), [(350, "warning"), (700, "notice"), (2000, "notice")])
def test_a_task_that_gets_a_fraction_amid_a_load_is_a_cost(report_of, little, severity):
    rows = [{"b": 1, "bi": bi, "wa": 30} for bi in [8000] * 6 + [little] * 5 + [8000] * 6]
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert finding.severity == severity
    assert ("in 5 samples in a row 350 kB/s are moved" in finding.summary) == (severity == "warning")


STANDS = [{"b": 20, "wa": 60, "bo": 0, "bi": 0}] * 8


def test_a_stretch_that_stands_still_is_no_part_of_what_is_moved(report_of):
    rows = [{"b": 20, "wa": 60, "bo": 9000}] * 3 + [{"b": 12, "wa": 60, "bo": 20000}] + STANDS
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    text = " ".join((finding.summary, *(item.text for item in finding.evidence)))
    assert "in the other 8 almost nothing is read or written" in text
    assert "11.47 MB/s are written (9,000 kB/s to 19.53 MB/s) in 4 of 12 samples" in text
    assert "the more tasks wait, the less is moved" not in text


@pytest.mark.parametrize(
    ("row", "seconds", "severity"),
    [
        ({}, 1, "critical"),
        ({}, 0, "warning"),  # nothing tells how long
        ({"bi": 40}, 1, "warning"),  # a slow reader gets on
        ({"bo": 40}, 1, "warning"),
        ({"b": 0}, 1, "warning"),  # nobody waits for it
        ({"wa": 60, "us": 40}, 1, "warning"),  # whoever computes asks for nothing
    ],
)
def test_seconds_in_which_nobody_is_given_anything_are_critical(report_of, row, seconds, severity):
    load = [{"b": 1, "bi": bi, "bo": 20, "wa": 96} for bi in (5200, 7100, 4400)]
    burst = {"b": 1, "bi": 6000, "bo": 7777, "wa": 96}
    rows = [*load, burst, *[{"b": 2, "wa": 98} | row] * 6, *load]
    finding = only(report_of(f"$ vmstat {seconds}\n" * bool(seconds) + vmstat(rows), rules=[RULE]))
    assert finding.severity == severity
    told = "almost nothing written for 6 s on end while a task waits, after 7,777 kB were written at once"
    assert (told in finding.summary) == (severity == "critical")


def test_a_stand_amid_reads_alone_follows_no_burst_of_writes(report_of):
    load = [{"b": 1, "bi": bi, "wa": 96} for bi in (5200, 7100, 4400)]
    finding = only(
        report_of("$ vmstat 1\n" + vmstat([*load, *[{"b": 2, "wa": 98}] * 6, *load]), rules=[RULE])
    )
    assert finding.severity == "critical"
    assert "for 6 s on end while a task waits." in finding.summary


def test_iowait_of_one_sample_has_no_range(report_of):
    text = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  1.00  0.00  3.00  45.25  0.00  50.75\n"
    finding = only(report_of("$ iostat -cy 5 1\n" + text, rules=[RULE]))
    assert finding.evidence[0].text == "iowait is 45.25 %"
    assert "iowait is 45.25 %, in" in finding.summary


@pytest.mark.parametrize(
    ("floods", "calm", "is_told"),
    [
        ([9000] * 5, [32000] * 20, True),
        ([9000, 2300], [32000] * 2 + [19000, 12000, 6000, 900] * 5, False),  # two of 24, by chance
        ([900, 1000], [33000, 32000, 31000, 30000], True),  # falls throughout as the other rises
    ],
)
def test_a_fall_of_few_samples_is_told_where_chance_gives_none(report_of, floods, calm, is_told):
    rows = [{"b": 4, "wa": 40, "bo": bo, "bi": 12 * n % 97} for n, bo in enumerate(calm)]
    rows += [{"b": 4, "wa": 40, "bo": bo, "bi": 39000 - bo} for bo in floods]
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert any("writes fall" in item.text for item in finding.evidence) == is_told


@pytest.mark.parametrize(("rows", "is_told"), [([3] + [0] * 9, False), ([3, 3] + [0] * 8, True)])
def test_three_tasks_in_one_sample_of_ten_are_a_moment(report_of, rows, is_told):
    report = report_of(vmstat([{"b": b, "wa": 10, "bi": 40000} for b in rows]), rules=[RULE])
    assert (only(report) is not None) == is_told
    assert is_told or "no disk statistics; 39.06 MB/s are read" in report.headline


def test_writes_that_fall_as_reads_begin_are_told(report_of):
    rows = [{"b": 4, "wa": 40, "bo": 32000, "bi": 0}] * 4 + [{"b": 4, "wa": 40, "bo": 128, "bi": 39000}] * 4
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert "writes fall from 31.25 MB/s to 128 kB/s while 38.09 MB/s are read" in " ".join(
        e.text for e in finding.evidence
    )


HELD = {"b": 3, "bi": 600, "bo": 26_000, "us": 0, "sy": 4, "wa": 94}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([HELD] * 8, ("warning", "high")),
        ([HELD], ("warning", "medium")),
        ([HELD | {"b": 1, "bi": 900, "bo": 0, "us": 20, "sy": 28, "wa": 52}] * 8, ("warning", "high")),
        ([HELD] * 7 + [HELD | {"wa": 40}], ("warning", "high")),
        # flusher and journal are two: whether anybody else waits does not show
        ([HELD | {"b": 2, "bi": 0}] * 8, ("warning", "medium")),
        ([HELD | {"bi": 0, "bo": 20}] * 8, ("warning", "high")),  # nothing moves
        ([HELD | {"b": 1, "wa": 48}] * 8, ("notice", "medium")),  # one of two CPUs
        ([HELD | {"b": 1}] * 3 + [HELD | {"b": 0, "wa": 0}] * 5, None),  # a moment
        ([HELD | {"b": 1, "wa": 20, "us": 76}] * 8, ("notice", "medium")),  # the CPUs work
    ],
)
def test_a_host_without_idle_time_waits_for_its_disks(report_of, rows, told):
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert (finding and (finding.severity, finding.confidence)) == told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "The disks slow the host down: 25.39 MB/s are written and 600 kB/s read"),
        ({"bi": 18_000, "bo": 0}, "The disks slow the host down: 17.58 MB/s are read"),
        ({"bi": 0, "bo": 0}, "Tasks wait for I/O: nothing at all is read or written"),
    ],
)
def test_what_vmstat_proves_of_the_disks_heads_the_report(report_of, changes, told):
    report = report_of(vmstat([HELD | changes] * 8))
    assert report.headline.startswith(told)
    assert "iowait is 94 %, idle 2 %, in 8 of 8 samples; 3 tasks are blocked." in report.headline
    assert "The capture has no disk statistics." in report.headline
    moves = "iostat" if "slow the host" in told else "ps"
    assert f"To settle it, run: `{moves}" in report.headline
    assert report.verdict.state == "open"


@pytest.mark.parametrize(
    ("changes", "said", "is_said"),
    [
        ({}, "far below what a disk streams", False),
        ({"bi": 900, "bo": 0}, "far below what a disk streams", True),
        ({}, "none of it is swap", True),
        ({"si": 400}, "none of it is swap", False),
        ({"si": 400}, "400 kB/s of it is swap", True),
    ],
)
def test_rates_tell_what_the_disks_are_busy_with(report_of, changes, said, is_said):
    finding = only(report_of(vmstat([HELD | changes] * 8), rules=[RULE]))
    assert any(said in item.text for item in finding.evidence) == is_said


def test_disks_that_are_shown_are_judged_by_their_own_numbers(report_of):
    quick = iostat([{"sda": load(3500, 0.26, size=4)}] * 3, {"%iowait": 95.0, "%idle": 3.0, "%user": 2.0})
    assert only(report_of(quick, rules=[RULE])) is None


OLD = "   procs                      memory    swap          io     system         cpu\n"
OLD += " r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n"


def old_vmstat(rows):
    """vmstat of kernel 2.4, which counts no iowait: blocked tasks, kB/s read, idle time."""
    return OLD + "".join(
        f" 0 {b} 4   1940  103{n:02}  10548 828296  0  0 {bi} 180 8{n:02}  10{n:02}  1 {99 - idle} {idle}\n"
        for n, (b, bi, idle) in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(5, 20_000, 90)] * 9, ("warning", "medium")),
        ([(5, 0, 90)] * 9, ("notice", "medium")),  # locks and NFS sleep so, too
        ([(5, 20_000, 5)] * 9, ("notice", "medium")),  # the CPUs work
        ([(5, 20_000, 90)] * 3 + [(0, 0, 99)] * 9, ("notice", "medium")),
        ([(200, 1000, 98)] * 2 + [(0, 0, 99)] * 8, ("warning", "medium")),  # a crowd
        ([(9, 1000, 98)] * 2 + [(0, 0, 99)] * 8, ("notice", "medium")),
    ],
)
def test_many_blocked_tasks_are_a_cost_without_a_column_of_iowait(report_of, rows, told):
    finding = only(report_of(old_vmstat(rows), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told


def test_that_more_tasks_move_less_is_said(report_of):
    rows = [(200, 1054, 96), (200, 1042, 98), (101, 17594, 88), (56, 32598, 90), (30, 33102, 92), (0, 0, 100)]
    finding = only(report_of(old_vmstat(rows), rules=[RULE]))
    assert any("the more tasks wait, the less is moved" in item.text for item in finding.evidence)
    even = only(report_of(old_vmstat([(b, 20_000, 90) for b, _, _ in rows]), rules=[RULE]))
    assert not any("the more tasks wait" in item.text for item in even.evidence)


def test_rates_since_boot_say_nothing_of_the_tasks_that_wait_now(report_of):
    text = "$ vmstat\n" + vmstat([]).replace(" 0      0 ", " 0    110 ", 1)
    finding = only(report_of(text, rules=[RULE]))
    assert finding.severity == "warning"
    assert "kB/s" not in finding.summary


def test_sar_shows_a_host_that_waits_without_vmstat(report_of):
    sections = {
        "CPU %user %nice %system %iowait %steal %idle": "all 2 0 3 91 0 4",
        "pswpin/s pswpout/s": "0.00 25.00",
        "pgpgin/s pgpgout/s fault/s majflt/s": "5000.00 400.00 2400.00 0.00",
        "runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15": "1 90 9.0 9.0 9.0",
    }
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for header, row in sections.items():
        text += f"\n13:00:00 {header}\n" + "".join(f"13:00:{n:02} {row}\n" for n in range(1, 9))
    finding = only(report_of(text, rules=[RULE]))
    assert finding.summary.startswith(
        "The disks slow the host down: 5,000 kB/s are read and 400 kB/s written"
    )
    assert any("100 kB/s of it is swap" in item.text for item in finding.evidence)


PLAIN = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           4.00    0.00    3.00   {iowait:.2f}    0.00   {idle:.2f}

Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn
sdb               1.00         8.00         0.00          8          0
sda        {rate:11.2f} {kb:12.2f}         0.00      48000          0

"""


def plain(rates, iowait=83.0, size=16.0):
    """The plain report of iostat, which shows neither latency nor a queue."""
    return "".join(PLAIN.format(iowait=iowait, idle=93 - iowait, rate=rate, kb=size * rate) for rate in rates)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((3012, 2996, 3001), "give or take 0.2 %: a rate limit may hold it (3,000 IOPS is the limit of"),
        ((3012, 2996), "sda completes 3,004 requests/s of 16.0 kB (46.94 MB/s read)."),
        ((2996, 2012, 3001), "sda completes 2,670 requests/s of 16.0 kB (41.71 MB/s read)."),
        ((142, 141, 142), "sda completes 141.7 requests/s of 16.0 kB."),
    ],
    ids=["a limit's number", "two samples", "not flat", "no more than seeks"],
)
def test_devices_without_times_are_told_beside_iowait(report_of, rates, said):
    report = report_of(plain(rates))
    assert said in only(report).summary
    assert report.verdict.state == "open"


@pytest.mark.parametrize(
    ("rates", "size", "is_asked"),
    [
        ((14, 14.2), 148.0, True),
        ((14, 14.2), 16.0, False),
        ((14, 15), 148.0, False),
        ((200, 201), 148.0, False),
    ],
    ids=["flat and little", "small requests", "not flat", "as a disk moves"],
)
def test_a_small_flat_rate_of_large_requests_asks_for_limits(report_of, rates, size, is_asked):
    finding = only(report_of(plain(rates, iowait=23.0, size=size)))
    assert ("a limit above the device (io.max) would look like this" in finding.summary) == is_asked
    assert ("io.max" in finding.confirm[0]) == is_asked


def test_devices_without_times_and_iowait_are_no_symptom(report_of):
    assert only(report_of(plain((142, 141, 142), iowait=3.0))) is None


def test_rates_of_all_disks_without_bytes_have_no_size(report_of):
    text = "13:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(f"13:00:{n:02} all 1 0 1 40 0 58\n" for n in range(1, 4))
    text += "\n13:00:00 tps\n13:00:01 500.00\n13:00:02 510.00\n13:00:03 490.00\n"
    summary = only(report_of(text, rules=[RULE])).summary
    assert "0.0 kB" not in summary
    assert "unknown" not in summary


def test_all_disks_together_are_told_beside_iowait(report_of):
    text = """\
02:10:01 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
02:20:01 PM     all      1.00      0.00      1.00     25.00      0.00     73.00
02:30:01 PM     all      1.00      0.00      1.00     25.00      0.00     73.00

02:10:01 PM       tps      rtps      wtps   bread/s   bwrtn/s
02:20:01 PM    112.00      0.00    112.00      0.00   1792.00
02:30:01 PM    110.00      0.00    110.00      0.00   1760.00
"""
    assert "all disks together complete 111 requests/s of 8.0 kB" in only(report_of(text)).summary


@pytest.mark.parametrize(("cached", "is_told"), [(120_000, True), (900_000, False)])
def test_a_page_cache_smaller_than_what_is_read_in_a_second_is_told(report_of, cached, is_told):
    row = {"b": 30, "bi": 180_000, "sy": 30, "wa": 70, "free": 200_000, "cache": cached}
    finding = only(report_of(vmstat([row] * 4), rules=[RULE]))
    assert ("less than is read in a second" in finding.summary) == is_told
    assert ("grep workingset_refault /proc/vmstat" in finding.confirm) == is_told


TOP = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"


def listed(*states):
    rows = (
        f"   {pid} app       20   0 1466688 173192  62468 {state}   1.2   0.7   0:06.51 job{pid}\n"
        for pid, state in enumerate(states)
    )
    return "\n" + TOP + "".join(rows)


HALF_WAITED = "avg-cpu: %user %nice %system %iowait %steal %idle\n 0.31 0.00 0.12 48.77 0.00 50.80\n\n"
WITH_TOTALS = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"


def test_iowait_alone_counts_no_tasks_and_a_paste_of_iostat_is_asked_for_more_of_it(report_of):
    finding = only(report_of(HALF_WAITED, rules=[RULE]))
    assert finding.title == "CPUs are idle while tasks wait for I/O"
    assert finding.confirm[0] == "iostat -xt 1 30"
    recorded = "".join(f"13:{n}0:01 all 0.31 0.00 0.12 48.77 0.00 50.80\n" for n in range(1, 5))
    recorded = f"13:00:01 CPU %user %nice %system %iowait %steal %idle\n{recorded}"
    assert only(report_of(recorded, rules=[RULE])).confirm[0] == "sar -d -p"


@pytest.mark.parametrize(
    ("cpu", "is_timed", "severity"),
    [
        ("9.31 0.00 12.12 45.77 0.00 32.80", True, "warning"),
        ("9.31 0.00 12.12 45.77 0.00 32.80", False, "notice"),
        ("19.31 0.00 12.12 45.77 0.00 22.80", True, "notice"),
    ],
    ids=["waits longer than it works", "of unknown length", "works nearly as long"],
)
def test_one_sample_of_known_length_that_waits_longer_than_it_works_is_a_cost(
    report_of, cpu, is_timed, severity
):
    text = f"avg-cpu: %user %nice %system %iowait %steal %idle\n {cpu}\n\n"
    if is_timed:
        text += WITH_TOTALS + "sda 60.00 904.00 152.00 904 152\nsdb 9.00 36.00 0.00 36 0\n"
    assert only(report_of(text, rules=[RULE])).severity == severity


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("nvme0n1 7100.00 612352.00 2822144.00 612352 2822144", "of 483.7 kB (3,354 MB/s)."),
        ("nvme0n1 7100.00 28400.00 10.00 28400 10", "of 4.0 kB (27.73 MB/s read)."),
        ("nvme0n1 7100.00 10.00 28400.00 10 28400", "of 4.0 kB (27.73 MB/s written)."),
        ("nvme0n1 710.00 2840.00 0.00 2840 0", "of 4.0 kB."),
    ],
    ids=["large requests", "small reads", "small writes", "few small ones"],
)
def test_what_is_moved_while_tasks_wait_is_told_with_its_direction(report_of, row, told):
    report = report_of(HALF_WAITED + WITH_TOTALS + row + "\n", rules=[RULE])
    assert "meanwhile nvme0n1 completes 7" in only(report).summary
    assert f"0 requests/s {told}" in only(report).summary


@pytest.mark.parametrize(
    ("row", "cpus", "told"),
    [
        ("sda 2.10 30.40 40.20 3652130 4829480", "", "would take 232.2 ms or more: look for NFS"),
        ("sda 12.10 30.40 40.20 3652130 4829480", " (16 CPU)", "would take 644.9 ms or more: look for NFS"),
        ("sda 12.10 30.40 40.20 3652130 4829480", "", None),
        ("sda 24.10 30.40 40.20 3652130 4829480", " (16 CPU)", None),
        ("sda 2.10 30.40 40.20 3652130 4829480", " (1 CPU)", None),
    ],
    ids=["hardly any", "few for many CPUs", "few for one CPU", "some", "a slow disk of one CPU"],
)
def test_iowait_that_the_requests_of_the_disks_hardly_explain_is_told_with_its_arithmetic(
    report_of, row, cpus, told
):
    text = f"Linux 5.4.0 (box) 11/20/26 _x86_64_{cpus}\n\n{HALF_WAITED}{WITH_TOTALS}{row}\n"
    summary = only(report_of(text, rules=[RULE])).summary
    assert "iowait is 48.77 %, as an average over 33.37 h; meanwhile" in summary
    assert (told or "") in summary
    assert ("would take" in summary) is (told is not None)


def test_who_is_listed_asleep_stands_in_the_sentence_of_blocked_tasks(report_of):
    text = vmstat([{"b": 6, "wa": 60}] * 5) + listed(*"DSD")
    assert only(report_of(text, rules=[RULE])).summary.endswith(
        "in state D (uninterruptible sleep): job0, job2."
    )


def shares(iowait):
    return {"%user": 2.0, "%iowait": iowait, "%idle": 98.0 - iowait}


def test_processes_that_top_lists_asleep_while_disks_idle_wait_for_no_disk(report_of):
    text = iostat([{"sda": load(2, 1)}] * 4, shares(0.5)) + listed(*"DDSD")
    finding = only(report_of(text, rules=[RULE], cpus=4))
    assert finding.title == "Tasks wait in the kernel, not for a disk"
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert "job0, job1, job3" in finding.summary
    assert "cat /proc/PID/stack" in finding.confirm


@pytest.mark.parametrize(
    ("reads", "iowait", "cpus", "states", "title"),
    [
        (90, 0.5, 4, "DDSD", "Processes sleep uninterruptibly"),
        (2, 30.0, 4, "DDSD", "Processes sleep uninterruptibly"),
        (2, 0.5, None, "DDSD", "Processes sleep uninterruptibly"),
        (2, 0.5, 4, "DDSR", None),
    ],
    ids=["a busy disk", "CPUs wait", "CPUs not counted", "two are no crowd"],
)
def test_what_such_processes_wait_for_is_open_else(report_of, reads, iowait, cpus, states, title):
    text = iostat([{"sda": load(reads, 8)}] * 4, shares(iowait)).replace("(2 CPU)", "") + listed(*states)
    finding = only(report_of(text, rules=[RULE], cpus=cpus))
    assert (finding.title if finding else None) == title


def test_top_names_tasks_that_vmstat_counts(report_of):
    finding = only(report_of(vmstat([{"b": 6, "wa": 60}] * 6) + listed(*"DS"), rules=[RULE]))
    assert [item.weighs for item in finding.evidence if "job0 (pid 0 of app)" in item.text] == ["context"]


LOADED = (
    "top - 15:53:42 up 7 days, 10:01,  2 users,  load average: 159.47, 149.89, 160.80\n"
    "%Cpu(s):  2.0 us,  2.0 sy,  0.0 ni,  0.0 id, 95.6 wa,  0.0 hi,  0.4 si,  0.0 st\n"
)


def test_the_load_average_is_told_where_nothing_else_counts_tasks(report_of):
    finding = only(report_of(LOADED))
    assert "159.47 tasks run or wait by the load average of a minute" in finding.summary
    assert any("159.47" in item.text for item in finding.evidence)
    assert finding.confirm[0].startswith("ps -eo state")
    assert "load average" not in only(report_of(LOADED, vmstat([{"b": 9, "wa": 95}] * 4))).summary


@pytest.mark.parametrize(
    ("load", "shares", "told"),
    [
        ("159.47, 149.89, 160.80", "2.0 us, 0.0 id, 95.6 wa", ("critical", "medium")),
        ("44.10, 45.89, 39.80", "21.0 us, 7.0 id, 70.0 wa", ("warning", "medium")),
        ("159.47, 49.89, 3.80", "2.0 us, 0.0 id, 95.6 wa", ("notice", "low")),  # a moment
        ("0.50, 0.40, 0.30", "2.0 us, 2.0 id, 95.6 wa", ("notice", "low")),  # long ago
        ("159.47, 149.89, 160.80", "65.0 us, 3.0 id, 30.0 wa", ("notice", "low")),  # they run
    ],
)
def test_a_first_screen_of_top_is_of_now_where_the_load_average_is_a_crowd_that_waits(
    report_of, load, shares, told
):
    text = LOADED.replace("159.47, 149.89, 160.80", load)
    text = text.replace("2.0 us", shares.split(", ")[0]).replace("0.0 id", shares.split(", ")[1])
    report = report_of(text.replace("95.6 wa", shares.split(", ")[2]))
    finding = only(report)
    assert (finding.severity, finding.confidence) == told
    assert "as an average since boot or over a run" in finding.summary
    assert ("possibly" in report.headline) is (told[1] == "low")


@pytest.mark.parametrize(
    ("load", "running", "shares", "told"),
    [
        ("31.20, 30.40, 31.90", 3, "7.0 us, 20.0 id, 71.0 wa", ("warning", "medium")),
        ("31.20, 30.40, 31.90", 19, "7.0 us, 20.0 id, 71.0 wa", ("notice", "low")),
        ("31.20, 9.40, 2.90", 3, "7.0 us, 20.0 id, 71.0 wa", ("notice", "low")),
        ("31.20, 30.40, 31.90", 3, "57.0 us, 20.0 id, 21.0 wa", ("notice", "low")),
    ],
    ids=["for 15 minutes", "they run", "a moment", "CPUs that work"],
)
def test_a_load_of_which_next_to_none_runs_waits_though_cpus_are_idle_as_well(
    report_of, load, running, shares, told
):
    counted = f"Tasks: 410 total,  {running} running, 391 sleeping,   0 stopped,   0 zombie\n%Cpu(s)"
    text = LOADED.replace("159.47, 149.89, 160.80", load).replace("%Cpu(s)", counted)
    for old, new in zip(("2.0 us", "0.0 id", "95.6 wa"), shares.split(", "), strict=True):
        text = text.replace(old, new)
    finding = only(report_of(text))
    assert (finding.severity, finding.confidence) == told
    assert f"; {running} of 410 processes run at that moment" in finding.summary
    assert ("about 28 tasks wait, and have for 15 minutes" in finding.summary) is (told[0] == "warning")


def test_what_two_runs_did_is_told_of_each_and_is_no_effect_of_how_many_wait(report_of):
    many = [{"b": 90 + n, "wa": 80, "bi": 120_000} for n in range(6)]
    few = [{"b": 30 + n, "wa": 20, "bi": 500_000} for n in range(6)]
    text = f"First run:\n{vmstat(many)}\nSecond run:\n{vmstat(few)}"
    finding = only(report_of(text, rules=[RULE]))
    assert finding.summary.startswith("90 to 95 tasks are blocked on I/O, in 6 of 7 samples")
    assert not any("the more tasks wait" in item.text for item in finding.evidence)
    # runs of disks below stand for those of the text
    disks = "".join(f"Disks {n}:\n{iostat([{'sda': load(9, 5, size=16, depth=1)}] * 3)}\n" for n in "ab")
    finding = only(report_of(f"{text}\n{disks}", rules=[RULE]))
    assert "92.5 in the first run, 32.5 in the second run" in finding.summary
    assert not any("the more tasks wait" in item.text for item in finding.evidence)
    # of one run it is
    finding = only(report_of(vmstat([*many, *few]), rules=[RULE]))
    assert any("the more tasks wait" in item.text for item in finding.evidence)
    assert "first run" not in finding.summary


@pytest.mark.parametrize(
    ("depth", "says"), [(0.7, "wait for something else"), (8.0, "about as many as tasks")]
)
def test_many_tasks_beside_few_requests_wait_for_something_else(report_of, depth, says):
    disk = iostat([{"sda": load(100, 10 * depth, size=16, depth=depth, util=70.0)}] * 5)
    finding = next(
        f for f in report_of(disk, vmstat([{"b": 10, "wa": 30, "id": 60}] * 5)).findings if f.rule == RULE
    )
    assert any(says in item.text for item in finding.evidence)


def test_the_verdict_is_of_the_worst_run_and_names_it(report_of):
    runs = [vmstat([{"b": blocked, "wa": 40, "id": 55}] * 5) for blocked in (0, 3, 9)]
    text = "".join(f"Run {number}:\n{run}\n" for number, run in enumerate(runs))
    report = report_of(text, rules=[RULE])
    finding = only(report)
    assert finding.summary.startswith("9 tasks are blocked on I/O, in 5 of 6 samples")
    assert 'This is the run "Run 2" (lines 24 to 29); in the run "Run 0" (lines 4 to 9), ' in report.headline
    assert "no task is blocked" in report.headline
    assert "nothing at all is read or written" in finding.summary


@pytest.mark.parametrize(
    ("rows", "is_told"),
    [
        ([{"b": 1, "wa": 24, "id": 75, "bi": 51_000}] * 4, True),
        ([{"b": 0, "wa": 0, "id": 75, "bi": 51_000}] * 4, False),  # nobody asks for more
        ([{"b": 1, "wa": 24, "id": 5, "us": 71, "bi": 51_000}] * 4, False),  # the CPUs may be what is slow
        ([{"b": 1, "wa": 24, "id": 75, "bi": 510_000}] * 4, False),
    ],
    ids=["slow", "not asked", "CPUs", "alike"],
)
def test_a_run_that_moves_a_fraction_while_tasks_wait_is_compared(report_of, rows, is_told):
    fast = [{"b": 1, "wa": 14, "id": 75, "bi": 918_000}] * 4
    text = f"Old driver:\n{vmstat(fast)}\nNew driver:\n{vmstat(rows)}"
    report = report_of(text)
    assert ("18 times as much is moved there" in report.headline) == is_told
    assert "469" not in report.headline  # the mean of both


FULL_CPUS = [{"b": 0, "us": 85, "sy": 15, "wa": 0, "id": 0}] * 8


def test_full_cpus_of_one_run_are_nothing_against_tasks_that_wait_in_another(report_of):
    waits = [{"b": 2, "wa": 50, "id": 45}] * 8
    report = report_of(f"Before:\n{vmstat(FULL_CPUS)}\nAfter:\n{vmstat(waits)}")
    assert report.verdict.state == "open"
    assert 'This is the run "After"' in report.headline


def test_of_two_runs_as_bad_the_one_in_which_nothing_moves_is_worse(report_of):
    moves = [{"b": 10, "wa": 40, "id": 50, "bo": 80_000 + 900 * n} for n in range(8)]
    stands = [{"b": 6, "wa": 40, "id": 50, "bo": 60_000 + 900 * n, "bi": 0} for n in range(8)]
    stands[3:6] = [{"b": 6, "wa": 40, "id": 50, "bo": 0, "bi": 0}] * 3
    report = report_of(f"Old (2.4\n3):\n{vmstat(moves)}\nNew:\n{vmstat(stands)}")
    assert 'This is the run "New"' in report.headline
    assert "in the run of lines" in report.headline  # half of a bracket is no name


def test_a_worse_finding_of_another_run_is_kept(report_of):
    swaps = [
        {"b": 3, "si": 9000, "so": 9000, "bi": 9000, "bo": 9000, "wa": 5, "id": 5, "us": 60, "sy": 30}
    ] * 8
    crowd = [{"b": 60, "wa": 80, "id": 12}] * 8
    report = report_of(f"One:\n{vmstat(swaps)}\nTwo:\n{vmstat(crowd)}")
    told = [finding.summary for finding in report.findings if finding.rule == RULE]
    assert any("60 tasks are blocked" in text for text in told)


def test_a_text_that_shows_a_disk_is_judged_whole(report_of):
    """What is known of a disk is known of all of it: no run is told without."""
    disk = iostat([{"sda": load(100, 30, size=512, depth=3, util=99.0)}] * 6)
    calm = [{"b": 0, "wa": 2, "id": 90}] * 6
    report = report_of(f"Before:\n{vmstat(FULL_CPUS)}\nAfter:\n{vmstat(calm)}\n{disk}")
    assert "This is the run" not in report.headline
    assert [device.name for device in report.devices] == ["sda"]


def test_rows_of_one_run_stay_one(report_of):
    calm, busy = [{"b": 0, "bo": 300}] * 5, [{"b": 6, "wa": 40, "bo": 90_000}] * 5
    groups, names, *body = vmstat([*calm, *busy]).split("\n")
    noted = "\n".join([groups, names, *body[:6], "*** here the copy begins", *body[6:]])
    repeated = "\n".join([groups, names, *body[:6], groups, names, *body[6:]])
    restarted = "\n".join(vmstat([{"b": 4, "wa": 40, "id": 50}] * 2) for _ in range(4))
    for text, samples in ((noted, 11), (repeated, 11), (restarted, 12)):
        report = report_of(text, rules=[RULE])
        assert "This is the run" not in report.headline
        assert f"of {samples} samples" in only(report).summary


TRICKLE = [{"b": 2, "wa": 45, "us": 2, "sy": 2, "bi": 0, "bo": 600}] * 9


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        (TRICKLE, "warning"),
        ([*TRICKLE, {"b": 3, "wa": 45, "bi": 0, "bo": 600}, *TRICKLE], "warning"),  # three once
        ([row | {"bo": 60_000} for row in TRICKLE], "notice"),  # a stream may fill the disk
        ([row | {"bi": 600} for row in TRICKLE], "notice"),  # who reads waits for his own
        ([row | {"us": 30} for row in TRICKLE], "notice"),  # they work for as long
        (TRICKLE[:6] + [row | {"b": 0} for row in TRICKLE[:4]], "notice"),
    ],
    ids=["always", "three in one sample", "a stream", "reads", "working", "not always"],
)
def test_who_always_waits_while_hardly_anything_is_written_waits_for_each_write(report_of, rows, severity):
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert finding.severity == severity
    assert ("these are synchronous" in finding.summary) is (severity == "warning")


def averages(busy, iowait):
    """`iostat -x` without an interval: a disk that is `busy` on average, and CPUs that wait."""
    first = iostat([{"sda": {}}], {}, cpus=8).split("11/20/26 13:00:01")[0]
    rows = first.replace("100.00 ", f"{100 - iowait:.2f} ", 1).splitlines()
    head = next(n for n, line in enumerate(rows) if "%iowait" in line)
    rows[head + 1] = f"  0.00 0.00 0.00 {iowait:.2f} 0.00 {100 - iowait:.2f}"
    disk = next(n for n, line in enumerate(rows) if line.startswith("sda"))
    cells = rows[disk].split()
    rows[disk] = " ".join([*cells[:-1], f"{busy:.2f}"])
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("busy", "iowait", "told"),
    [
        (
            72.0,
            15.4,
            "iowait is 15.40 %, as an average since boot or over a run; meanwhile sda was 72 % busy",
        ),
        (
            72.0,
            13.1,
            "iowait is 13.10 %, as an average since boot or over a run; meanwhile sda was 72 % busy",
        ),
        (30.0, 18.0, None),  # a task that waits, and no disk that is busy for it
        (72.0, 9.1, None),  # less than a task on eight CPUs
    ],
)
def test_averages_tell_of_a_wait_beside_a_disk_that_was_busy(report_of, busy, iowait, told):
    report = report_of("$ iostat -x\n" + averages(busy, iowait))
    finding = only(report)
    assert (finding is not None) is (told is not None)
    if finding:
        assert told in finding.summary
        assert (finding.severity, finding.confidence, report.verdict.state) == ("notice", "low", "open")


def _with_a_stall(reads: list[int], blocked: int = 5, written: int = 1100, tasks: int = 0) -> str:
    """Forty seconds in which reads trickle, with a stall of eight in the midst."""
    calm = [{"b": tasks, "id": 70, "bi": 0 if n % 3 else 120, "bo": 80} for n in range(16)]
    stall = [{"b": blocked, "id": 80, "bi": kb, "bo": written} for kb in reads]
    return "$ vmstat 1\n" + vmstat([*calm, *stall, *calm])


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"reads": [0, 4, 0, 0, 0, 4, 0, 0]}, "warning"),
        ({"reads": [0, 120, 0, 0, 120, 0, 0, 120]}, "notice"),  # reads go on: flushers alone may wait
        ({"reads": [0, 0, 0]}, "notice"),  # a hiccup
        ({"reads": [0] * 8, "written": 90}, "notice"),  # no flush
        ({"reads": [0] * 8, "tasks": 1}, "notice"),  # one waits at all times
    ],
)
def test_a_stall_in_the_midst_of_calm_is_a_cost_where_reads_wait_behind_a_flush(report_of, changes, severity):
    finding = only(report_of(_with_a_stall(**changes), rules=[RULE]))
    assert finding.severity == severity
    assert ("who reads waits behind these writes" in finding.summary) == (severity == "warning")


@pytest.mark.parametrize(
    ("reads", "after", "severity"),
    [
        ((90, 0, 130, 0, 60, 0, 0, 120), (330, 410, 380, 300, 460), "warning"),
        ((330, 290, 130, 0, 260, 310, 0, 120), (330, 410, 380, 300, 460), "notice"),
        ((90, 0, 130, 0, 60, 0, 0, 120), (0, 0, 130, 0, 0), "notice"),
    ],
    ids=["they starve", "they go on", "they ended"],
)
def test_reads_of_a_load_that_starve_behind_a_flush_are_held_against_the_load(
    report_of, reads, after, severity
):
    """Most of the time nothing is read: only the samples in which a task waits tell what it was given."""
    rows = [{"b": 0, "id": 78}] * 24
    rows += [{"b": 1, "id": 40, "bi": kb} for kb in (350, 420, 290, 380, 310, 400)]
    rows += [{"b": 4 if n > 5 else 1, "id": 70, "bi": kb, "bo": 900} for n, kb in enumerate(reads)]
    rows += [{"b": int(kb > 200), "id": 45, "bi": kb} for kb in after]
    finding = only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE]))
    assert finding.severity == severity
    assert ("who reads waits behind these writes" in finding.summary) == (severity == "warning")


def test_reads_that_end_with_the_flush_were_not_held_up_by_it(report_of):
    rows = [{"b": 0, "id": 70, "bi": 0 if n % 3 else 120, "bo": 80} for n in range(16)]
    rows += [{"b": 5, "id": 80, "bi": 0, "bo": 1100}] * 8 + [{"b": 0, "id": 90, "bi": 0, "bo": 80}] * 16
    assert only(report_of("$ vmstat 1\n" + vmstat(rows), rules=[RULE])).severity == "notice"


def ps(*commands: str) -> str:
    rows = (
        f"root {100 + n:8}  0.4  0.0      0     0 ?        D    09:02   0:11 {command}\n"
        for n, command in enumerate(commands)
    )
    return "\n" + "".join(rows) + "\n"


@pytest.mark.parametrize("changes", [{}, {"id": 0, "wa": 60, "us": 40}], ids=["idle CPUs", "none idle"])
@pytest.mark.parametrize(
    ("commands", "is_told"),
    [(["[pdflush]"] * 5, True), (["postgres"] * 5, False)],
    ids=["flushers", "callers"],
)
def test_flushers_among_the_tasks_that_wait_are_told_apart(report_of, commands, is_told, changes):
    rows = [{"b": 6, "bo": 18000, "bi": 4, "wa": 20} | changes] * 8
    finding = only(report_of(ps(*commands) + vmstat(rows), rules=[RULE]))
    said = "5 of 5 listed in state D write the page cache back: callers are about 1 of the 6 that are blocked"
    assert (said in finding.summary) is is_told
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("commands", "is_told"), [(["[flush-8:0]"] * 4, False), (["cp", "mysqld", "tar"], True)]
)
def test_flushers_alone_in_a_listing_are_no_crowd(report_of, commands, is_told):
    text = iostat([{"sda": load(90, 8)}] * 4, shares(0.5)) + ps(*commands)
    assert (only(report_of(text, rules=[RULE])) is not None) is is_told


def test_a_flat_rate_that_several_wait_for_is_all_that_the_disk_takes(report_of):
    rows = [{"b": 6, "bo": 18000 + 90 * n, "bi": 4, "wa": 60, "us": 40, "id": 0} for n in range(8)]
    assert "takes no more" in only(report_of(vmstat(rows), rules=[RULE])).summary
    alone = [row | {"b": 1} for row in rows]
    assert "takes no more" not in only(report_of(vmstat(alone), rules=[RULE])).summary


def test_the_disks_are_asked_for_first_where_nothing_shows_what_is_moved(report_of):
    head = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    bare = only(
        report_of((head + "           1.00    0.00    3.00   96.00    0.00    0.00\n\n") * 6, rules=[RULE])
    )
    assert bare.confirm[0] == "iostat -xt 1 30"
    still = {"b": 9, "us": 1, "sy": 3, "wa": 96, "bi": 0, "bo": 0}
    held = only(report_of(vmstat([still] * 6), rules=[RULE]))
    assert held.confirm[0].startswith("ps "), "nothing moves: a lock or NFS may hold them"


@pytest.mark.parametrize(("others", "is_told"), [(1, True), (0, False)])
def test_tasks_that_wait_in_other_samples_are_counted_beside_a_moment_of_more(report_of, others, is_told):
    rows = [{"b": others, "wa": 2}] * 12 + [{"b": 3, "wa": 2}]
    (outcome,) = [o for o in report_of(vmstat(rows), rules=[RULE]).outcomes if o.rule == RULE]
    assert ("and at least one in 13" in outcome.reason) == is_told


def test_listed_sleepers_are_told_where_no_column_counts_them(report_of):
    """What waits for NFS counts as no blocked task."""
    listed = "".join(f"D {4100 + n} nfs_wait_bit_killable /usr/bin/java -jar app.jar\n" for n in range(9))
    text = "STATE   PID WCHAN                            CMD\n" + listed
    report = report_of(vmstat([{"b": 0, "wa": 0}] * 9), text)
    assert "sleep uninterruptibly" in only(report).summary
    assert "No trouble is visible" not in report.headline


@pytest.mark.parametrize(
    ("load", "idle", "has_queue", "severity"),
    [
        ("40.20, 39.80, 38.00", 97.0, False, "warning"),
        ("40.20, 39.80, 38.00", 97.0, True, "warning"),
        ("20.00, 39.80, 38.00", 97.0, False, None),  # a load that ended
        ("40.20, 39.80, 38.00", 60.0, False, None),  # they may run now and then
        ("6.00, 5.00, 4.00", 97.0, False, None),  # a few, of which nothing is known
    ],
    ids=["no queue", "a queue", "ended", "CPUs at work", "few"],
)
def test_a_crowd_that_only_the_load_average_counts_beside_idle_cpus_sleeps(
    report_of, load, idle, has_queue, severity
):
    uptime = f"10:00:00 up 200 days,  3:00,  2 users,  load average: {load}\n"
    cpu = {"%user": 100 - idle, "%iowait": 0.0, "%idle": idle}
    samples = [iostat([{"sda": {"w/s": 1.0, "wkB/s": 8.0}}] * 5, cpu, cpus=8)]
    samples += [vmstat([{"r": 0, "b": 0, "us": round(100 - idle), "wa": 0}] * 5)] if has_queue else []
    report = report_of(uptime, *samples)
    finding = only(report)
    assert (finding.severity if finding else None) == severity
    if finding:
        assert (
            "About 40 tasks sleep uninterruptibly: a lock, a driver or NFS may hold them" in report.headline
        )
        assert "No trouble is visible" not in report.headline


def sar_u(*iowait):
    """`sar -u 2` of a host whose CPUs work for 6 % of the time and wait for the shares given."""
    text = "Linux 6.1.0 (box)  11/20/2026  _x86_64_  (2 CPU)\n\n"
    text += "10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    for n, share in enumerate(iowait, 1):
        text += f"10:00:{2 * n:02}  all  4.00  0.00  2.00  {share:.2f}  0.00  {94 - share:.2f}\n"
    return text


@pytest.mark.parametrize(
    ("iowait", "told", "severity"),
    [
        ([70.0, 80.0, 90.0, 60.0], "iowait is 75 % in 4 samples beside these (60 to 90 %)", "warning"),
        ([3.0, 2.0, 4.0, 3.0], "", "notice"),
        ([30.0], "", "notice"),
    ],
    ids=["more samples", "calm ones", "fewer"],
)
def test_iowait_of_another_tool_with_more_samples_is_told_and_counts(report_of, iowait, told, severity):
    vm = vmstat([{"b": 3, "wa": 20, "us": 2, "bi": 900}, {"b": 4, "wa": 24, "us": 2, "bi": 900}])
    finding = only(report_of(f"$ sar -u 2\n{sar_u(*iowait)}\n$ vmstat 1\n{vm}", rules=[RULE]))
    assert finding.severity == severity
    assert ("samples beside these" in finding.summary) == bool(told)
    assert told in finding.summary
