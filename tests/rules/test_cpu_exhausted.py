from __future__ import annotations

import pytest

from writers.captures import iostat, mpstat, vmstat
from writers.loads import load

RULE = "cpu-exhausted"
OUT = {"r": 9, "us": 34, "sy": 66, "id": 0, "wa": 0}
CALM = {"r": 1, "us": 10, "sy": 5, "id": 85, "wa": 0}


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([OUT], ("warning", "medium")),
        ([OUT] * 5, ("warning", "high")),
        ([CALM] * 9 + [OUT], ("notice", "medium")),
        ([CALM] * 10 + [OUT], ("info", "medium")),
    ],
)
def test_no_time_left_is_told_from_one_sample(report_of, rows, told):
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told
    assert "user 34 %, system 66 %" in finding.summary
    assert any("9 tasks want to run" in item.text for item in finding.evidence)


@pytest.mark.parametrize(
    ("tasks", "switches", "cpus", "severity"),
    [
        (900, 300, None, "critical"),
        (900, 90_000, None, "warning"),
        (200, 100, None, "warning"),  # so many CPUs may run one task each
        (200, 100, 8, "critical"),
        (200, 100, 192, "warning"),
    ],
)
def test_a_turn_that_takes_seconds_to_come_is_a_host_that_hardly_answers(
    report_of, tasks, switches, cpus, severity
):
    rows = vmstat([OUT | {"r": tasks, "cs": switches}] * 5 + [OUT | {"cs": 9000}])
    finding = only(report_of(rows, rules=[RULE], cpus=cpus))
    assert finding.severity == severity
    assert ("s or longer for a turn" in finding.summary) is (severity == "critical")


WAITING = {"r": 0, "us": 1, "sy": 2, "id": 0, "wa": 97}


@pytest.mark.parametrize(("waiting", "is_told"), [(3, False), (2, False), (1, True), (0, True)])
def test_a_moment_between_samples_that_wait_for_io_is_no_lasting_lack(report_of, waiting, is_told):
    report = report_of(vmstat([WAITING] * waiting + [OUT]), rules=[RULE])
    assert (only(report) is not None) == is_told
    assert is_told or f"in 1 of {waiting + 1} samples" in report.outcomes[0].reason


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"id": 10, "us": 44, "sy": 46}, "undetermined"),
        ({"wa": 20, "us": 14}, "undetermined"),
        ({"us": 5, "sy": 5, "st": 90}, "clear"),
        ({"us": 4, "sy": 4}, "undetermined"),
    ],
    ids=["idle", "waiting", "stolen", "nothing adds up"],
)
def test_other_shares_are_none(report_of, changes, status):
    report = report_of(vmstat([OUT | changes] * 5), rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == [status]


ONE = {"r": 1, "us": 1, "sy": 50, "wa": 1}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "one CPU of 2, if it has so many, may be full in the kernel: 51 % busy in 5 of 5 samples"),
        ({"us": 24, "sy": 2}, "one CPU of 4, if it has so many, may be full: 26 %"),
        ({"r": 6, "sy": 40, "us": 12}, ""),
        ({"us": 20, "sy": 20}, ""),
        ({"wa": 30}, ""),
    ],
    ids=["the kernel", "a quarter", "many tasks", "no CPU's share", "waiting"],
)
def test_one_cpu_that_may_be_full_is_not_cleared(report_of, changes, said):
    (outcome,) = report_of(vmstat([ONE | changes] * 5), rules=[RULE]).outcomes
    assert outcome.status == ("undetermined" if said else "clear")
    assert said in outcome.reason


@pytest.mark.parametrize(("cpus", "is_told"), [(2, True), (8, False)])
def test_the_share_of_one_is_that_of_the_known_number(report_of, cpus, is_told):
    report = report_of(vmstat([ONE] * 5), rules=[RULE], cpus=cpus)
    assert report.outcomes[0].reason.startswith("one CPU of 2 may be full") == is_told


def test_work_that_gives_way_does_not_count(report_of):
    shares = {"%user": 10.0, "%nice": 80.0, "%system": 10.0, "%idle": 0.0}
    assert only(report_of(iostat([{"sda": {}}] * 5, shares), rules=[RULE])) is None


def test_a_full_device_is_never_hidden_by_it(report_of):
    full = {"r/s": 130.0, "rkB/s": 1040.0, "r_await": 190.0, "aqu-sz": 24.0, "%util": 99.9}
    report = report_of(iostat([{"sda": full}] * 10, {"%user": 60.0, "%system": 40.0, "%idle": 0.0}))
    assert only(report)
    assert report.verdict.state != "elsewhere"


KERNEL = {"r": 7, "us": 17, "sy": 61, "id": 19, "wa": 3}


@pytest.mark.parametrize(
    ("rows", "cpus", "told"),
    [
        ([KERNEL] * 3, None, "high"),
        ([KERNEL] * 3 + [CALM] * 3, None, None),
        ([KERNEL], 4, "medium"),
        ([KERNEL], 8, None),
        ([KERNEL], None, None),
        ([KERNEL | {"wa": 20, "id": 2}] * 3, None, None),
    ],
    ids=["most samples", "half of them", "a run queue", "no run queue", "CPUs unknown", "tasks wait"],
)
def test_work_in_the_kernel_is_told_with_time_left(report_of, rows, cpus, told):
    finding = only(report_of(vmstat(rows), rules=[RULE], cpus=cpus))
    assert (finding.confidence if finding else None) == told
    if finding:
        assert finding.severity == "notice"
        assert finding.summary.startswith("The CPUs work in the kernel, more than they wait: system 61 %")


ALONE, QUIET = {"sy": 42, "us": 2}, {"us": 1}


@pytest.mark.parametrize(
    ("changes", "samples", "is_told"),
    [
        ({}, 3, True),
        ({}, 2, False),
        ({"bo": 4000}, 3, False),
        ({"b": 1}, 3, False),
        ({"us": 15}, 3, False),
        ({"wa": 5}, 3, False),
    ],
    ids=["the kernel alone", "a moment", "writes", "a task waits", "programs", "iowait"],
)
def test_a_stretch_of_kernel_work_without_io_is_told(report_of, changes, samples, is_told):
    rows = [QUIET] * 12 + [ALONE | changes] * samples + [QUIET] * 12
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert (finding is not None) == is_told
    if finding is not None:
        told = "system 42 %, user 2 %, idle 56 %, iowait 0.0 %, next to nothing is read or written, in 3 of "
        assert told in finding.summary


def sar_u(host, system, idle):
    head = f"Linux 6.1.0 ({host}) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
    head += "13:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    user = 100 - system - idle
    row = f"        all     {user:.2f}      0.00     {system:.2f}      0.00      0.00     {idle:.2f}\n"
    return head + "".join(f"13:00:{2 * number:02d}{row}" for number in range(1, 5))


def test_each_of_two_hosts_without_time_is_named(report_of):
    report = report_of(sar_u("one", 80, 14), sar_u("two", 95, 0))
    assert "Not storage: the CPUs have no time left: user 5 %, system 95 %" in report.headline
    first, second = report.headline.split(" Also found: ")
    assert first.endswith("(`two`).")
    assert "The CPUs work in the kernel" in second
    assert "(`one`)" in second


def test_few_samples_with_blocked_tasks_do_not_head_a_report_of_busy_cpus(report_of):
    rows = [KERNEL | {"b": 4 if n in (3, 7) else 0, "bo": 90_000} for n in range(12)]
    report = report_of(vmstat(rows))
    assert report.headline.startswith("The CPUs work in the kernel")
    assert {f.severity for f in report.findings if f.rule == "blocked-tasks"} == {"info"}


def test_busy_cpus_are_never_no_visible_trouble(report_of):
    shares = {"%user": 52.0, "%system": 37.0, "%iowait": 0.2, "%idle": 10.8}
    row = {"r/s": 40.0, "rkB/s": 900.0, "r_await": 90.0, "aqu-sz": 3.6, "%util": 20.0}
    report = report_of(iostat([{"sda": row}], shares))
    assert "No trouble is visible" not in report.headline
    assert report.headline.startswith("The CPUs are 89 % busy.")


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ((0.0, 1.0, 99.0), "CPU 3 spends 99 % of its time in interrupts"),
        ((1.0, 1.0, 91.0), "CPU 3 spends 91 % of its time in interrupts"),
        ((0.0, 60.0, 40.0), "CPU 3 is 100 % busy, while all CPUs together are"),
        ((90.0, 0.0, 10.0), "CPU 3 is 100 % busy, while all CPUs together are"),
        ((1.0, 10.0, 88.0), "CPU 3 spends 88 % of its time in interrupts"),
        ((80.0, 0.0, 10.0), ""),
        ((10.0, 2.0, 75.0), ""),
    ],
    ids=[
        "interrupts",
        "nearly all interrupts",
        "a task in the kernel",
        "a program",
        "interrupts and the rest of the kernel",
        "not full",
        "interrupts, and not full",
    ],
)
@pytest.mark.parametrize(("calm", "is_half"), [(0, True), (2, True), (4, False)])
def test_one_full_cpu_is_told_however_idle_the_others(report_of, last, told, calm, is_half):
    report = report_of(mpstat([last] * 3 + [(2.0, 6.0, 4.0)] * calm))
    finding = only(report)
    assert (finding is not None) == (bool(told) and is_half)
    if finding:
        assert told in finding.summary
        assert told in report.headline.replace("cPU", "CPU")
        assert finding.severity == ("warning" if "interrupts" in told else "notice")
        # the kernel's share holds that of interrupts: two numbers would read as 198 %
        assert "in the kernel" not in finding.summary


def test_time_that_the_hypervisor_takes_is_no_work_of_a_cpu(report_of):
    head = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(8 CPU)\n"
    for number in range(4):
        text += f"\n13:00:0{number} {head}"
        for cpu in ("all", *range(8)):
            shares = "20.00 0.00 2.40 0.00 0.00 0.00 73.60 0.00 0.00 4.00"
            quiet = "3.00 0.00 1.00 0.00 0.00 0.00 0.50 0.00 0.00 95.50"
            text += f"13:00:0{number + 1} {cpu} {shares if cpu == 7 else quiet}\n"
    assert "CPU 7 is" not in report_of(text).to_markdown()


def soft(share, iowait=0.0, system=20.0, samples=3):
    """`mpstat`: soft interrupts and iowait of all CPUs together beside user work of 12 %."""
    head = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
    for number in range(samples):
        idle = 100 - 12 - system - iowait - share
        row = f"all 12.00 0.00 {system:.2f} {iowait:.2f} 0.00 {share:.2f} 0.00 0.00 0.00 {idle:.2f}\n"
        text += f"13:00:0{number} {head}13:00:0{number + 1} {row}\n"
    return text


@pytest.mark.parametrize(("samples", "confidence"), [(1, "medium"), (3, "high")])
def test_soft_interrupts_of_all_cpus_are_told_apart_from_other_kernel_work(report_of, samples, confidence):
    report = report_of(soft(44.0, samples=samples), rules=[RULE])
    finding = only(report)
    assert (finding.role, finding.severity, finding.confidence) == ("elsewhere", "notice", confidence)
    assert (
        "Soft interrupts take 44 % of the CPUs' time, the rest of the kernel 20 %, user work 12 %"
        in finding.summary
    )
    assert finding.confirm[0] == "cat /proc/softirqs"
    assert "cat /proc/softirqs" in report.verdict.asks
    assert any("iSCSI" in text for text in finding.refutes)


@pytest.mark.parametrize(
    "capture",
    [soft(20.0), soft(44.0, iowait=5.0), vmstat([{"r": 2, "us": 12, "sy": 40, "wa": 0}] * 3)],
    ids=["few", "beside iowait", "not counted apart"],
)
def test_other_soft_interrupts_are_not_told(report_of, capture):
    assert only(report_of(capture, rules=[RULE])) is None


def test_completions_of_very_many_requests_are_told_beside_soft_interrupts(report_of):
    cpus = soft(44.0)
    disk = "DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    row = "nvme0n1 160000.00 640000.00 0.00 4.00 16.00 0.10 100.00\n"
    for number in range(3):
        cpus += f"13:00:0{number} {disk}13:00:0{number + 1} {row}\n"
    finding = only(report_of(cpus, rules=[RULE]))
    (told,) = [item for item in finding.evidence if "160,000 requests/s" in item.text]
    assert told.weighs == "against"


def test_cpus_without_time_say_how_much_of_the_kernel_are_soft_interrupts(report_of):
    finding = only(report_of(soft(50.0, system=36.0), rules=[RULE]))
    assert "system 86 % (50 of these soft interrupts)" in finding.summary


CROWD = {"r": 15, "us": 72, "sy": 17, "id": 11, "wa": 0, "cs": 900_000}


@pytest.mark.parametrize(
    ("changes", "cpus", "samples", "is_told"),
    [
        ({}, 8, 5, True),
        ({}, 8, 2, False),
        ({}, None, 5, False),
        ({"r": 8}, 8, 5, False),
        ({"b": 1}, 8, 5, False),
        ({"us": 67, "wa": 5, "sy": 15}, 8, 5, False),
        ({"us": 60, "st": 12}, 8, 5, False),
    ],
    ids=["a queue", "a moment", "CPUs unknown", "one task for each", "blocked", "little work", "stolen"],
)
def test_more_tasks_than_cpus_with_little_idle_time_are_told(report_of, changes, cpus, samples, is_told):
    report = report_of(vmstat([CROWD | changes] * samples), cpus=cpus)
    finding = only(report)
    assert (finding is not None) == is_told
    if is_told:
        assert (finding.severity, report.verdict.state) == ("warning", "elsewhere")
        assert "hardly any time left" in finding.summary
        assert any("15 tasks want to run on 8 CPUs" in item.text for item in finding.evidence)
        assert finding.confirm[0] == "pidstat -wt 1 10"


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"r": 8, "us": 22, "id": 14}, "warning"),
        ({"r": 7, "us": 22, "id": 14}, "notice"),
        ({"r": 8}, "notice"),
    ],
)
def test_work_in_the_kernel_is_a_warning_where_two_tasks_want_each_cpu(report_of, changes, severity):
    finding = only(report_of(vmstat([KERNEL | changes] * 3), rules=[RULE], cpus=4))
    assert finding.severity == severity
    assert finding.confirm[0] == "perf top"


@pytest.mark.parametrize("idle", ["2.50", "70.50"])
def test_cpus_whose_system_time_is_not_shown_are_not_judged(report_of, idle):
    """The header above all CPUs together is damaged, that above single ones is whole."""
    text = "Linux 2.4.0 (db1) \t01/15/01\n"
    for header, cpu in (("%nice ystem", "all"), ("%nice   %system", "0")):
        text += f"\n00:05:06          CPU     %user     {header}     %idle\n"
        text += "".join(
            f"00:{n}5:06        {cpu:>5}     21.17      0.68      7.65     {idle}\n" for n in (1, 2, 3)
        )
    (outcome,) = report_of(text, rules=[RULE]).outcomes
    assert outcome.status == "undetermined"


def sar_q(rows):
    """`sar -q` of a host with two CPUs: tasks that want to run, blocked ones and the load average."""
    head = "Linux 5.4.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    head += "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    return head + "".join(
        f"13:0{n // 6}:{n % 6}5 {tasks} 160 {load:.2f} 0.5 0.3 {blocked}\n"
        for n, (tasks, load, blocked) in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("rows", "is_told"),
    [
        ([(0, 0.2, 0)] * 4 + [(9, 4.5, 0)] * 3, True),
        ([(0, 0.2, 0)] * 4 + [(9, 4.5, 0)] * 2 + [(9, 4.5, 2)], False),  # somebody waits for I/O
        ([(0, 0.2, 0)] * 4 + [(9, 3.5, 0)] * 3, False),  # for moments
        ([(0, 0.2, 0)] * 5 + [(9, 4.5, 0)] * 2, False),
        ([(9, 4.5, 0)] * 4, False),
    ],
    ids=["most want to run", "one is blocked", "a low load average", "seldom", "few samples"],
)
def test_a_load_of_tasks_that_want_to_run_is_told_without_the_cpus_time(report_of, rows, is_told):
    report = report_of(sar_q(rows))
    assert (only(report) is not None) is is_told
    assert (
        "The load is of tasks that want to run: 9 tasks want to run on 2 CPUs" in report.headline
    ) is is_told
    assert report.verdict.state == "unknown"


IDLE = {"r": 1, "us": 0, "sy": 4, "id": 96, "wa": 0}


@pytest.mark.parametrize(
    ("rows", "is_told"),
    [
        ([IDLE] * 6 + [KERNEL | {"r": 21}] * 4, True),
        ([IDLE] * 6 + [KERNEL | {"r": 21}] * 2, False),
        ([IDLE] * 2 + [KERNEL | {"r": 21}, IDLE] * 4, False),
        ([IDLE] * 6 + [KERNEL | {"r": 6}] * 4, False),
    ],
    ids=["a phase", "a moment", "now and then", "no crowd"],
)
def test_the_calm_before_does_not_outvote_a_stretch_in_the_kernel(report_of, rows, is_told):
    report = report_of(vmstat(rows), rules=[RULE])
    assert (only(report) is not None) == is_told
    if is_told:
        assert "in 4 of 10 samples" in only(report).summary
        assert "No trouble is visible" not in report.headline


def test_a_run_without_cpu_time_is_not_outvoted_by_one_that_waits(report_of):
    rows = [vmstat([row] * count) for row, count in ((WAITING, 9), (OUT, 5))]
    report = report_of("First run:\n{}\nSecond run:\n{}".format(*rows), rules=[RULE])
    assert only(report) is not None
    assert 'in 5 of 5 samples. This is the run "Second run"' in report.headline


@pytest.mark.parametrize(("out", "is_told"), [(3, True), (2, False)])
def test_a_stretch_without_cpu_time_is_a_note_where_tasks_wait_in_the_rest(report_of, out, is_told):
    report = report_of(vmstat([*[WAITING | {"b": 9, "bo": 8000}] * 9, *[OUT] * out]))
    found = [finding for finding in report.findings if finding.rule == RULE]
    assert bool(found) == is_told
    assert report.verdict.state == "open"
    assert "tasks are blocked" in report.headline
    assert all(one.severity == "notice" and f"in {out} of {9 + out} samples" in one.summary for one in found)


@pytest.mark.parametrize(("tasks", "status"), [(9, "undetermined"), (2, "clear")])
def test_a_run_queue_beside_idle_time_of_long_samples_is_no_all_clear(report_of, tasks, status):
    rows = [{"r": tasks, "us": 50, "sy": 10, "wa": 2, "id": 38}] * 6
    report = report_of("Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n" + vmstat(rows), rules=[RULE])
    assert [outcome.status for outcome in report.outcomes if outcome.rule == RULE] == [status]


def test_several_runs_without_cpu_time_are_counted_together(report_of):
    runs = [vmstat([row] * 6) for row in (OUT, OUT, WAITING)]
    text = "".join(f"Run {number}:\n{run}\n" for number, run in enumerate(runs))
    # runs of disks below stand for those of the text
    text += "".join(f"Disks {n}:\n{iostat([{'sda': load(9, 5, size=16, depth=1)}] * 3)}\n" for n in "ab")
    assert "samples of 2 runs" in only(report_of(text, rules=[RULE])).title


_TOP = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
_PIDSTAT = "09:10:01  UID  PID  %usr %system  %guest   %wait  %CPU  CPU  Command\n09:10:03  0  3990  "


@pytest.mark.parametrize(
    ("listing", "told"),
    [
        (
            _TOP + "   3990 app  20  0 1466688 173192  62468 R  97.0  0.7  0:06.51 gzip\n",
            "97 % of a CPU by top.",
        ),
        (_TOP + "   3990 app  20  0 1466688 173192  62468 R  41.0  0.7  0:06.51 gzip\n", None),
        (_PIDSTAT + "3.00 95.00 0.00 0.00 98.00 1 gzip\n", "98 % of a CPU by pidstat, 95 % in the kernel."),
        (_PIDSTAT + "95.00 3.00 0.00 0.00 98.00 1 gzip\n", "98 % of a CPU by pidstat."),
        (_PIDSTAT + "30.00 3.00 0.00 0.00 33.00 1 gzip\n", None),
    ],
)
def test_a_process_that_uses_all_of_a_cpu_is_named(report_of, listing, told):
    finding = only(report_of(vmstat([OUT] * 5), listing, rules=[RULE]))
    assert ("gzip" in finding.summary) == (told is not None)
    if told:
        assert finding.summary.endswith(f"; gzip uses {told}")
        assert "See what gzip does" in finding.remedy[0]
        assert not any(command.startswith(("pidstat", "top")) for command in finding.confirm)


def screen(shares, rows, *, up="3 days,  4:10", load="17.30, 16.80, 12.20", running=6):
    """One screen of top: the CPUs' shares, and processes as (number, user time share, TIME+, command)."""
    text = f"top - 11:02:40 up {up},  1 user,  load average: {load}\n"
    text += f"Tasks: 240 total,  {running:2} running, {240 - running} sleeping,   0 stopped,   0 zombie\n"
    text += (
        f"%Cpu(s): {shares}\nKiB Mem : 65942988 total, 35771312 free,  3017167 used, 27154509 buff/cache\n"
    )
    for pid, (share, spent, command) in enumerate(rows, 301):
        text += ("\n" + _TOP) * (pid == 301)
        text += f"{pid:7} root      20   0       0      0      0 R {share:>5}   0.0 {spent:>9} {command}\n"
    return text


IDLE = " 0.3 us,  2.7 sy,  0.0 ni, 94.0 id,  3.0 wa,  0.0 hi,  0.0 si,  0.0 st"
SPINNING = [(share, f"{minutes}:10.00", "[lockd]") for share, minutes in ((94.0, 41), (91.5, 37), (88.0, 52))]


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        (SPINNING, {}, ("warning", "medium")),
        (SPINNING, {"load": "4.00, 3.10, 0.90"}, ("notice", "medium")),
        (SPINNING, {"up": "40 min"}, None),
        (SPINNING[:1], {}, None),
    ],
    ids=["for long", "for a moment", "as much since boot", "one thread"],
)
def test_several_threads_of_the_kernel_that_use_a_cpu_each_are_told(report_of, rows, options, told):
    report = report_of(screen(IDLE, rows, **options))
    finding = only(report)
    assert (finding and (finding.severity, finding.confidence)) == told
    if told:
        assert "3 threads of the kernel ([lockd]) use 2.7 CPUs, and 130 minutes" in finding.summary
        assert finding.confirm[0] == "perf top -g"
        assert "average since boot" not in finding.summary
    if told == ("warning", "medium"):
        assert report.verdict.state == "elsewhere"
        assert "6 tasks run at that moment, and about 11 wait" in report.headline


def test_tasks_of_one_name_that_are_none_of_the_kernel_are_summed_and_no_finding(report_of):
    rows = [(share, spent, "java") for share, spent, _ in SPINNING]
    text = screen(IDLE, rows).replace("       0      0      0 R", " 1466688 173192  62468 R")
    report = report_of(text)
    assert only(report) is None
    assert "; 3 tasks named java use 2.7 CPUs by top" in report.headline


@pytest.mark.parametrize(
    ("spent", "shares", "state"),
    [
        ("21:40.00", "95.1 us,  2.2 sy,  0.0 ni,  2.7 id,  0.0 wa", "elsewhere"),
        ("59:40.00", "95.1 us,  2.2 sy,  0.0 ni,  2.7 id,  0.0 wa", "unknown"),
        ("21:40.00", "55.1 us,  2.2 sy,  0.0 ni, 42.7 id,  0.0 wa", "unknown"),
    ],
    ids=["of now", "as much since boot", "CPUs of another time"],
)
def test_a_first_screen_is_of_now_where_its_processes_use_far_more_than_since_boot(
    report_of, spent, shares, state
):
    """1 h up and 2 CPUs, of which the process has used 18 or 50 %."""
    rows = [(192.5, spent, "indexd"), (1.3, "0:04.10", "sshd")]
    report = report_of(screen(shares, rows, up="1:00", load="2.80, 2.60, 2.40"))
    assert report.verdict.state == state
    notes = [one for one in report.findings if one.rule == "first-report-since-boot"]
    assert (not notes) == (state == "elsewhere")
    if state == "elsewhere":
        assert "since boot" not in report.headline


def test_cpus_of_which_no_sample_shows_all_are_not_said_to_be_unread(report_of):
    rows = "".join(
        f"%Cpu{n}  :  2.0 us,  1.0 sy,  0.0 ni, 90.0 id,  7.0 wa,  0.0 hi,  0.0 si,  0.0 st\n" for n in "01"
    )
    text = f"top - 09:14:00 up 12 days,  3:41,  2 users,  load average: 1.31, 1.20, 1.87\n{rows}"
    shown = report_of(text, iostat([{"sda": load(9, 5, size=16, depth=1)}] * 3), rules=[RULE])
    (outcome,) = [one for one in shown.outcomes if one.rule == RULE]
    assert "no table" not in outcome.reason


FIRST = {"us": 73, "sy": 7, "id": 20}


@pytest.mark.parametrize(
    ("tasks", "shares", "cpus", "told"),
    [
        (60, FIRST, 1, True),
        (60, FIRST, None, True),
        (9, FIRST, None, False),
        (60, FIRST, 16, False),
        (60, {"us": 20, "sy": 7, "id": 73}, 1, False),
    ],
    ids=["one CPU", "CPUs not counted", "no crowd on a few CPUs", "enough CPUs", "idle CPUs"],
)
def test_a_crowd_in_the_only_row_is_told(report_of, tasks, shares, cpus, told):
    """The first row of vmstat: its shares are averages since boot, its tasks are of the moment."""
    names = "r b swpd free buff cache si so bi bo in cs us sy id wa"
    row = {"r": tasks, "free": 90000, "cache": 70000, "bi": 79, "bo": 32, "in": 90, "cs": 45} | shares
    text = f"procs ---memory---\n{names}\n{' '.join(str(row.get(name, 0)) for name in names.split())}\n"
    report = report_of(text, rules=[RULE], cpus=cpus)
    assert bool(only(report)) == told
    if told:
        assert (only(report).severity, only(report).confidence) == ("notice", "low")
        assert "60 tasks want to run" in report.headline
        assert "at one moment; the CPUs were 80 % busy on average" in only(report).summary


def test_a_crowd_on_busy_cpus_is_a_cost_where_they_are_counted(report_of):
    rows = [{"r": 40, "us": 70, "sy": 10, "id": 20, "wa": 0}] * 2
    finding = only(report_of(vmstat(rows), rules=[RULE], cpus=2))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "40 tasks want to run on 2 CPUs, at 2 of 3 moments" in finding.summary


@pytest.mark.parametrize(
    ("load_one", "idle", "samples", "is_told"),
    [(11.2, 6, 3, True), (7.5, 6, 3, False), (11.2, 16, 3, False), (11.2, 6, 2, False)],
    ids=["two and more for each", "fewer", "idle time", "too few samples"],
)
def test_the_load_average_counts_tasks_where_nothing_else_does(report_of, load_one, idle, samples, is_told):
    cpu = {"%user": 97.0 - idle - 25, "%system": 25.0, "%iowait": 2.0, "%idle": idle}
    uptime = f" 18:07:07 up 95 days,  3:05,  4 users,  load average: {load_one:.2f}, 8.32, 5.12\n\n"
    text = uptime + iostat([{"sda": load(500, 1.1, reads=0.0)}] * samples, cpu)
    finding = only(report_of(text, rules=[RULE], cpus=4))
    assert (finding is not None) == is_told
    if is_told:
        assert any("11.2 tasks run or wait" in item.text for item in finding.evidence)
