"""The verdict is never softer than the worst number on the page, and healthy only where that was shown."""

from __future__ import annotations

import gzip
import io
import re
from dataclasses import replace
from itertools import permutations

import pytest

import iodiag
from iodiag.analysis.states.states import states
from iodiag.model.finding import Finding, Ignore
from iodiag.model.report import Report
from iodiag.verdict.health import shown_health
from iodiag.verdict.possible_reason import carrier_clause
from iodiag.verdict.verdict import verdict
from views import view_of, views_of
from writers.captures import banner, iostat, sar_d, vmstat
from writers.loads import load, lsblk

CALM = load(200, 0.6, size=8)
FULL = load(150, 90, size=8, reads=0.5, depth=13.5, util=100.0)
STUCK = {"aqu-sz": 8.0, "%util": 100.0}
SLOW = load(3, 3900, size=4, reads=0, depth=12.0, util=100.0)
FLOODED = load(722, 0.8, size=127, util=52) | {
    "w/s": 168.0,
    "wkB/s": 82320.0,
    "w_await": 204.0,
    "aqu-sz": 34.9,
}
DISK = lsblk(("sda", True))
IDLE_CPU = {"%idle": 97.0, "%user": 2.0, "%system": 1.0}


def report_of(*texts: str, **options: object) -> Report:
    captures = [iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate(texts)]
    return iodiag.analyze(captures, **options)


def state_of(*texts: str, **options: object) -> str:
    found = report_of(*texts, **options).verdict
    assert found is not None
    return found.state


def finding(role, severity="warning", confidence="medium", device="sda", **fields):
    fields = {"title": f"{role} title", "summary": f"`{device}`: {role} in words.", **fields}
    devices = (device,) if device else ()
    return Finding(
        fields.pop("rule", f"some-{role}"), severity, confidence, devices=devices, role=role, **fields
    )


def judged(findings, *texts: str, ignored: int = 0):
    return verdict(findings, views_of(*(texts or (iostat([{"sda": CALM}] * 5),))), ignored=ignored)


# each state


def test_a_device_that_answers_as_its_class_is_healthy():
    report = report_of(iostat([{"sda": CALM}] * 5, cpu=IDLE_CPU))
    assert report.verdict.state == "healthy"
    assert (report.verdict.rule, report.verdict.severity, report.verdict.confidence) == (None, None, None)
    assert "the busiest is sda (5 of 5 samples: 200 reads/s" in report.headline


def test_the_busiest_is_the_device_that_is_busy_for_longest():
    many, large = load(300, 0.1, size=4, util=3.0), load(40, 5, size=256, util=20.0)
    report = report_of(iostat([{"sda": many, "sdb": large}] * 5, cpu=IDLE_CPU))
    assert report.verdict.state == "healthy"
    assert "the busiest is sdb (" in report.headline


def test_a_late_device_that_does_next_to_nothing_is_not_called_normal_for_its_class():
    report = report_of(iostat([{"xvda": load(1.2, 42, size=7, reads=0, util=4)}] * 5, cpu=IDLE_CPU))
    assert report.headline.startswith("Next to nothing is asked of the devices")


@pytest.mark.parametrize(
    ("confidence", "begin"), [("medium", "Likely: `sda`: cause"), ("high", "`sda`: cause")]
)
def test_a_cause_is_trouble(confidence, begin):
    found, text = judged([finding("cause", confidence=confidence)])
    assert (found.state, found.rule, found.devices) == ("trouble", "some-cause", ("sda",))
    assert (found.severity, found.confidence) == ("warning", confidence)
    assert text.startswith(begin)


def test_a_symptom_alone_is_open_with_guesses_and_a_command():
    guess = finding("cause", "notice", "low", title="Cable")
    found, text = judged([finding("symptom", confirm=("smartctl -x /dev/sda",)), guess])
    assert (found.state, found.rule) == ("open", "some-symptom")
    assert text == "`sda`: symptom in words. It may be: Cable. To settle it, run: `smartctl -x /dev/sda`"


def test_a_symptom_that_no_rule_explains_says_so():
    assert "No rule found the cause." in judged([finding("symptom")])[1]


def test_trouble_outside_the_storage_is_elsewhere():
    found, text = judged([finding("elsewhere", device=None)])
    assert found.state == "elsewhere"
    assert text.startswith("Not storage: ")


@pytest.mark.parametrize(
    "text",
    [
        iostat([{"sda": {}}] * 5),
        vmstat([{"us": 3}] * 5),
        "Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
        "sda              85.00       800.00       120.00       8000       1200\n",
    ],
    ids=["idle", "no disks", "no latency"],
)
def test_what_cannot_tell_is_unknown_and_says_what_to_capture(text):
    report = report_of(text)
    assert report.verdict.state == "unknown"
    assert "iostat -xt 1 60" in report.headline


def test_averages_since_boot_cannot_tell():
    text = iostat([{"sda": CALM}])
    report = report_of(text[: text.rindex("11/20/26 13:")])
    assert report.verdict.state == "unknown"
    assert "only averages" in report.headline


@pytest.mark.parametrize(
    ("cpu", "begins"),
    [(IDLE_CPU, "No visible impact. Note: "), (None, "Nothing shows who waits. Note: ")],
    ids=["idle CPUs", "disks alone"],
)
def test_a_likely_inefficiency_is_open_without_visible_impact(cpu, begins):
    found, text = judged([finding("cause", "notice")], iostat([{"sda": CALM}] * 5, cpu=cpu))
    assert (found.state, found.severity) == ("open", "notice")
    assert text.startswith(begins)


def test_a_guess_is_open():
    found, text = judged([finding("cause", "notice", "low", confirm=("lsblk -t",))])
    assert found.state == "open"
    assert text.startswith("Not determined; possibly: ")
    assert text.endswith("To settle it, run: `lsblk -t`")


@pytest.mark.parametrize("role", ["reading", "context"])
def test_how_to_read_the_numbers_is_no_verdict(role):
    assert judged([finding(role)])[0].state == "healthy"


def test_a_command_in_the_sentence_stands_below_it_as_one():
    command = "dmesg -T | grep -iE 'timeout|reset'"
    found, text = judged([finding("symptom", confirm=(command,))])
    report = replace(report_of(iostat([{"sda": CALM}] * 5)), headline=text, verdict=found)
    assert f"\n{command}\n" in report.to_markdown(), "no character of it is escaped"
    assert "To settle it, run: `" not in report.to_markdown()


def test_what_else_was_found_stands_in_the_sentence_or_below_it_once():
    one, other = finding("cause"), finding("cause", title="Cable", rule="other")
    found, text = judged([one, other])
    assert found.also == "Also found: Cable."
    assert text.endswith(found.also)
    whole = replace(
        report_of(iostat([{"sda": CALM}] * 5)), findings=(one, other), headline=text, verdict=found
    )
    assert "Also found" not in whole.to_markdown()
    plain = finding("cause", summary="Memory is short.")
    again = replace(whole, findings=(plain,), verdict=judged([plain])[0], headline=judged([plain])[1])
    assert again.headline == "Likely: memory is short."
    assert again.to_markdown(full=True).count("emory is short") == 1
    assert whole.to_markdown().count("Cable") == 1


@pytest.mark.parametrize("text", [iostat([{"sda": {}}] * 5), iostat([{"sda": SLOW}] * 5)])
def test_a_verdict_without_a_finding_asks_for_what_its_sentence_ends_with(text):
    found, sentence = judged([], text)
    assert found.asks.count("`") >= 2
    assert sentence.endswith(f" {found.asks}")


def test_the_busiest_device_is_the_one_with_the_most_requests_not_the_fastest_sample():
    samples = [{"sda": CALM, "sdb": load(900, 0.2, size=8) if at == 3 else {}} for at in range(20)]
    assert "the busiest is sda (20 of 20 samples" in report_of(iostat(samples)).headline


# never healthy


@pytest.mark.parametrize(
    "sample",
    [FULL, STUCK, SLOW, load(200, 40, size=8)],
    ids=["full", "stuck", "seconds of latency", "slower than its class"],
)
@pytest.mark.parametrize("samples", [1, 2, 5])
def test_no_device_in_trouble_is_healthy(sample, samples):
    assert state_of(iostat([{"sda": sample, "sdb": CALM}] * samples), DISK) in ("open", "trouble", "unknown")


@pytest.mark.parametrize(
    ("severity", "device", "state"),
    [
        ("critical", "sda", "trouble"),
        ("critical", None, "open"),
        ("warning", "sda", "open"),
        ("notice", "sda", "open"),
    ],
)
def test_no_symptom_is_healthy_and_a_device_that_hardly_answers_is_trouble(severity, device, state):
    assert judged([finding("symptom", severity, device=device)])[0].state == state


def test_cpus_without_time_are_trouble_above_a_device_that_costs_little():
    found, text = judged(
        [finding("elsewhere", device=None), finding("cause", "notice")], iostat([{"sda": FULL}] * 5)
    )
    assert found.state == "trouble"
    assert "Also found: " in text


def test_unknown_latency_is_not_healthy():
    sample = {**CALM, "r_await": 0.0, "aqu-sz": 0.0, "%util": 2.0}
    assert state_of(iostat([{"sda": sample}] * 5)) == "unknown"


@pytest.mark.parametrize("context", [(), (DISK,)], ids=["unknown class", "spinning"])
def test_full_with_a_queue_is_not_healthy_because_its_class_is_slow(context):
    busy = load(300, 10, size=8)
    assert state_of(iostat([{"sda": busy}] * 5), *context) != "healthy"


def test_iowait_is_not_healthy():
    waits = {"%idle": 40.0, "%iowait": 55.0, "%user": 4.0, "%system": 1.0}
    report = report_of(iostat([{"sda": CALM}] * 5, cpu=waits))
    assert report.verdict.state != "healthy"


@pytest.mark.parametrize(
    ("row", "iowait", "state"),
    [
        (load(1120, 13, size=128, util=100), 55.0, "open"),
        (load(1120, 13, size=128, util=100), 2.0, "unknown"),
        (load(312, 9.3, size=128, util=100), 55.0, "open"),
        (load(1695, 1.09, size=11, util=100), 99.9, "open"),
        (load(312, 4.5, size=128, util=70), 55.0, "unknown"),
    ],
    ids=["a queue", "nobody waits", "three in flight", "two in flight", "idle at times"],
)
def test_who_waits_waits_for_the_device_that_is_never_idle(row, iowait, state):
    report = report_of(iostat([{"sdc": row, "sda": CALM}], {"%idle": max(0, 90 - iowait), "%iowait": iowait}))
    assert report.verdict is not None
    assert report.verdict.state == state
    waits = re.search(r"sdc is (what tasks may wait for|never idle)", report.headline)
    assert bool(waits) == (state == "open")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (load(1600, 1.15, size=10, util=100.0), "its latency bounds what so few ask"),
        (load(900, 1.1, size=10), "its latency bounds what so few ask"),
        (load(312, 9.4, size=128, util=99.5), "is what tasks may wait for"),
        (load(1600, 1.15, size=10, util=80.0), "tasks wait for sda (1,600 reads/s of 10.0 kB"),
        (load(600, 1.3, size=10, util=70.0), "70 % busy), whose latency is normal. "),
        (load(40, 20.0, size=10, util=75.0), "and nothing shows whether that is normal for it"),
        (
            load(300, 1.1, size=10),
            "slow; those shown hold 0.33 requests in flight, which is 41 % of what waits",
        ),
    ],
    ids=["two at a time", "one at a time", "three", "idle time", "healthy", "late", "mostly idle"],
)
def test_who_waits_waits_for_the_latency_of_a_device_that_is_never_idle(row, said):
    cpu = {"%user": 9.0, "%iowait": 40.0, "%idle": 51.0}
    report = report_of(iostat([{"sda": row}], cpu), rules=["svctm-misread"])
    assert report.verdict.state in ("open", "unknown")
    assert said in report.headline


def test_without_a_queue_nothing_says_that_no_device_is_slow():
    head = "avg-cpu: %user %nice %system %iowait %steal %idle\n 3.40 0.00 2.90 41.90 0.00 51.80\n\n"
    head += "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    rows = "".join(f"{head}sda {70 + n}.00 {400 + n}.00 200.00 {400 + n} 200\n\n" for n in range(5))
    report = report_of("Linux 5.14.0 (box) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n" + rows)
    assert report.headline.startswith("Tasks wait for I/O: iowait is 41.90 %, in 5 of 5 samples")
    assert "sda completes 72 requests/s of 8.4 kB" in report.headline
    assert "seen to be slow" not in report.headline


def test_blocked_tasks_are_not_healthy():
    assert state_of(iostat([{"sda": CALM}] * 5), vmstat([{"b": 3, "us": 5}] * 5)) != "healthy"


def test_one_odd_sample_of_many_does_not_make_a_device_sick():
    series = view_of(iostat([{"sda": CALM}] * 30 + [{"sda": load(40, 20, size=8)}])).series("sda")
    assert shown_health(series) == "healthy"


def test_a_short_flood_in_which_requests_waited_most_is_not_healthy():
    flood = load(37, 380, size=600, reads=0, util=66.0)
    series = view_of(iostat([{"sda": load(31, 10)}] * 26 + [{"sda": flood}]), DISK).series("sda")
    assert shown_health(series) == "not shown"


# elsewhere


@pytest.mark.parametrize("sample", [FULL, STUCK])
def test_elsewhere_is_never_said_above_a_waiting_device(sample):
    found, _ = judged([finding("elsewhere", device=None)], iostat([{"sda": sample}] * 5))
    assert found.state == "open"


@pytest.mark.parametrize(("severity", "confidence"), [("notice", "high"), ("warning", "low")])
def test_elsewhere_needs_evidence_and_harm(severity, confidence):
    assert judged([finding("elsewhere", severity, confidence, device=None)])[0].state != "elsewhere"


@pytest.mark.parametrize(
    ("severity", "confidence", "is_told"),
    [
        ("warning", "medium", True),
        ("warning", "low", False),
        ("notice", "high", True),
        ("info", "high", False),
    ],
)
def test_what_another_host_has_elsewhere_is_told_from_a_notice_on(severity, confidence, is_told):
    first = finding("elsewhere", device=None, host="box")
    beside = finding("elsewhere", severity, confidence, device=None, host="db2", summary="No CPU is left.")
    found, text = judged([first, beside])
    assert found.state == "elsewhere"
    assert ("Also found: " in text) is is_told


def test_harm_in_the_storage_comes_before_elsewhere():
    found, _ = judged([finding("elsewhere", device=None), finding("symptom")])
    assert found.state == "open"


def test_a_waiting_device_without_any_finding_is_named():
    found, text = judged([], iostat([{"sda": FULL}] * 5))
    assert (found.state, found.rule, found.devices) == ("open", None, ("sda",))
    assert "5 of 5 samples: 150 requests/s" in text
    assert "To settle it, see what kind of disk it is, and run under this load and without: `lsblk" in text
    text = judged([], iostat([{"sda": FULL}] * 5), DISK)[1]
    assert "To settle it, run under this load and without load: `iostat" in text


# ignored findings


@pytest.mark.parametrize(("count", "said"), [(1, "ignores 1 finding,"), (2, "ignores 2 findings,")])
def test_what_is_ignored_is_counted(count, said):
    assert said in judged([], ignored=count)[1]
    assert "ignores" not in judged([])[1]


def test_ignoring_the_finding_does_not_make_a_sick_device_healthy():
    text = iostat([{"sda": SLOW}] * 3)
    every = tuple(Ignore(rule, "known") for rule in {f.rule for f in report_of(text, DISK).findings})
    assert every
    report = report_of(text, DISK, ignore=every)
    assert not report.findings
    assert report.verdict.state != "healthy"
    assert "The configuration ignores" in report.headline


# several hosts, several findings


def test_of_several_hosts_the_one_in_trouble_is_named():
    texts = [iostat([{"sda": CALM}] * 5), iostat([{"sda": CALM}] * 5).replace("(box)", "(other)")]
    _, text = judged([finding("cause", host="other")], *texts)
    assert "(`other`)" in text


def test_a_device_that_waits_is_told_with_the_numbers_of_its_own_host():
    texts = [iostat([{"sda": CALM}] * 5), iostat([{"sda": FULL}] * 5).replace("(box)", "(other)")]
    state, text = judged([], *texts)
    assert (state.state, state.devices) == ("open", ("sda",))
    assert "sda has requests waiting in its queue (5 of 5 samples: 150 requests/s" in text
    assert "(`other`)" in text
    _, text = judged([finding("symptom", device=None, host="box")], *texts)
    assert "has requests waiting" not in text, "tasks of one host do not wait for a disk of another"
    _, text = judged([finding("cause", severity="notice", host="box")], *texts)
    assert "cause in words" not in text, "nor is a guess about the one an answer for the other"


def test_averages_beside_a_symptom_are_of_its_own_host():
    """Both hosts have one moment of vmstat and averages of sda; tasks are blocked on the second alone."""
    vm = "procs ---memory--- ---swap-- -----io---- -system-- ----cpu----\n"
    vm += " r b swpd free buff cache si so bi bo in cs us sy id wa\n {} 9 9 9 9 0 0 9 9 9 9 5 5 90 0\n\n"
    disk = "Linux 6.1.0 ({}) 11/20/26 _x86_64_ (2 CPU)\n\nDevice tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    disk += "sda {} 90.00 40.00 100000 200000\n\n"
    first, second = (
        disk.format(host, rate) + vm.format(tasks)
        for host, rate, tasks in (("box", "44.33", "0 0"), ("other", "28.66", "0 4"))
    )
    report = report_of(first, second)
    assert "4 tasks are blocked" in report.headline
    assert "28.66" in report.headline
    assert "44.33" not in report.headline
    alone = vm.format("0 4").join(["Linux 6.1.0 (other) 11/20/26 _x86_64_ (2 CPU)\n\n", ""])
    text = report_of(first, alone).headline
    assert "Of this host the capture has no disk statistics" in text


def test_a_clause_on_one_of_several_hosts_names_it():
    """Averages since boot of two hosts: the busiest disk is of the first, the CPUs are of the second."""
    banner = "Linux 6.1.0 ({}) 11/20/26 _x86_64_ (2 CPU)\n\n"
    disk = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda {} 90.00 40.00 100000 200000\n"
    cpu = "avg-cpu: %user %nice %system %iowait %steal %idle\n 5.00 0.00 5.00 2.00 0.00 88.00\n\n"
    report = report_of(
        banner.format("box") + disk.format(44.33), banner.format("other") + cpu + disk.format(28.66)
    )
    assert "(sda of `box`: 44.33 requests/s" in report.headline
    assert "iowait 2.0 % (`other`)" in report.headline


def test_effects_are_not_named_beside_their_cause():
    effect = finding("symptom", title="Effect", explained_by="some-cause")
    _, text = judged([finding("cause"), effect, finding("cause", rule="another", title="Another")])
    assert "Also found: Another." in text
    assert "Effect" not in text


# perturbation: what changes the capture without changing the host never makes it healthy

SICK = {
    "full": [FULL] * 4,
    "stuck": [CALM, STUCK, STUCK, STUCK],
    "slow": [SLOW] * 4,
    "slow once": [CALM, CALM, SLOW, CALM],
}


@pytest.mark.parametrize("samples", SICK.values(), ids=SICK)
def test_repeating_a_sample_does_not_heal(samples):
    for at in range(len(samples)):
        changed = [*samples[: at + 1], *samples[at:]]
        assert state_of(iostat([{"sda": one} for one in changed]), DISK) != "healthy"


@pytest.mark.parametrize("samples", SICK.values(), ids=SICK)
def test_an_idle_or_a_healthy_device_beside_it_does_not_heal(samples):
    for other in ({}, CALM):
        assert state_of(iostat([{"sda": one, "sdb": other} for one in samples]), DISK) != "healthy"


@pytest.mark.parametrize("samples", SICK.values(), ids=SICK)
@pytest.mark.parametrize("column", ["r_await", "w_await", "aqu-sz", "%util", "rareq-sz", "f_await"])
def test_dropping_a_column_does_not_heal(samples, column):
    lines = iostat([{"sda": one} for one in samples]).splitlines()
    assert state_of("\n".join(without(column, line, lines) for line in lines) + "\n", DISK) != "healthy"


def without(column: str, line: str, lines: list[str]) -> str:
    """A line of the table of devices without a column."""
    head = next(line for line in lines if line.startswith("Device")).split()
    words = line.split()
    if len(words) != len(head):
        return line
    return " ".join(word for word, name in zip(words, head, strict=True) if name != column)


@pytest.mark.parametrize("samples", SICK.values(), ids=SICK)
def test_the_order_of_the_samples_does_not_heal(samples):
    for order in set(permutations(range(len(samples)))):
        assert state_of(iostat([{"sda": samples[at]} for at in order]), DISK) != "healthy"


@pytest.mark.parametrize(
    ("iowait", "count", "state"), [(60.0, 1, "open"), (20.0, 1, "healthy"), (0.0, 0, "healthy")]
)
def test_an_episode_of_waiting_is_not_hidden_by_the_mean(iowait, count, state):
    cpu = [{"b": 0, "wa": iowait, "us": 2}] * count + [{"b": 0, "wa": 0, "us": 2}] * (12 - count)
    found = state_of(iostat([{"sda": CALM}] * 12), DISK, vmstat(cpu))
    assert (found == "healthy") == (state == "healthy")


def test_beside_an_episode_stands_what_was_moved_in_it():
    rows = [{"bi": 9000}] * 3 + [{"bi": 700, "bo": 4000, "wa": 40}] + [{}] * 20
    text = "iowait is up to 40 % in 1 of 24 samples; meanwhile 4,000 kB/s are written and 700 kB/s read, and"
    assert text in report_of(vmstat(rows)).headline


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (load(31, 147, size=12, reads=0.5, util=89), "open"),
        (load(31, 147, size=12, reads=0.5, util=60), "unknown"),
        (load(60, 25, size=12, reads=0.5, util=78), "unknown"),
    ],
    ids=["a short queue, busy", "less busy", "as quick as a disk"],
)
def test_a_busy_device_far_slower_than_any_disk_is_waited_for(row, state):
    report = report_of(iostat([{"md0": row}] * 3))
    assert report.verdict.state == state
    assert ("md0 has requests waiting" in report.headline) == (state == "open")


@pytest.mark.parametrize(
    ("later", "said"),
    [(("sda",), "sdb, which had some since boot"), (("sda", "sdb"), "no device had any I/O")],
)
def test_a_device_that_is_not_listed_any_more_was_not_seen_idle(later, said):
    lines = iostat([{"sda": {}, "sdb": {}}] * 3).splitlines()
    first = lines.index("11/20/26 13:00:01")
    kept = [
        line for n, line in enumerate(lines) if n < first or not line.startswith("sd") or line[:3] in later
    ]
    report = report_of("\n".join(kept) + "\n")
    assert report.verdict.state == "unknown"
    assert said in report.headline


def both(reads, wait, writes=150, size=8, util=20):
    row = {
        "r/s": reads,
        "rkB/s": reads * size,
        "r_await": wait,
        "w/s": writes,
        "wkB/s": writes * 8,
        "w_await": 0.2,
    }
    return row | {"aqu-sz": (reads * wait + writes * 0.2) / 1000, "%util": util}


@pytest.mark.parametrize(
    ("row", "context", "state"),
    [
        (both(6, 32), "", "unknown"),
        (both(6, 32), DISK, "unknown"),
        (both(6, 14), DISK, "healthy"),  # what a disk takes that seeks
        (both(6, 32, size=512, util=21), DISK, "healthy"),  # as long as the transfer takes
        (both(6, 32, util=5), DISK, "healthy"),  # four in flight at a time
        (both(2, 32), DISK, "healthy"),  # too few to say
        (both(6, 0, writes=6) | {"w_await": 32, "aqu-sz": 0.2}, DISK, "healthy"),  # cache flushes
    ],
)
def test_slow_reads_are_not_hidden_by_quick_writes(row, context, state):
    assert state_of(iostat([{"sda": row}] * 5, cpu=IDLE_CPU), *([context] if context else [])) == state


def test_a_device_that_completes_nothing_is_not_said_to_be_busy():
    assert "sda completed no request" in judged([], iostat([{"sda": STUCK}] * 3))[1]


def test_tasks_that_wait_do_not_hide_the_device_they_wait_for():
    waits = finding("symptom", "notice", device="", rule="blocked-tasks")
    assert "sda has requests waiting" in judged([waits], iostat([{"sda": FULL}] * 3))[1]
    waits = replace(waits, severity="warning")
    _, text = judged([waits], iostat([{"sda": FULL}] * 3))
    assert text.startswith(waits.summary)
    assert "sda has requests waiting" in text


@pytest.mark.parametrize(("wait", "util", "named"), [(13.5, 100, "sda"), (0.4, 30, "dm-0")])
def test_the_disk_is_named_and_not_the_layer_above_it_that_counts_before_merging(wait, util, named):
    """Writes of 4 kB that a disk merges eight to one: 55 in flight above it, and 11 on it, if it is busy."""
    disk = load(840, wait, size=34, reads=0.25, util=util)
    layer = load(6240, 8.5, size=4.6, reads=0.035, util=100)
    disk |= {"wrqm/s": 5400.0, "rkB/s": 3600.0, "wkB/s": 25000.0}
    layer |= {"rkB/s": 3600.0, "wkB/s": 25000.0}
    text = judged([], iostat([{"sda": disk, "dm-0": layer}] * 3), vmstat([{"b": 7, "wa": 58}] * 3))[1]
    assert f"{named} is what tasks may wait for" in text


@pytest.mark.parametrize(
    ("rates", "is_told"),
    [([130000] * 4 + [80] * 4, True), ([130000] * 4 + [80] * 2, False), ([9000, 80, 80, 80], False)],
)
def test_a_device_without_latencies_that_moves_a_fraction_at_the_end_is_not_called_idle(rates, is_told):
    head = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    text = "\n".join(f"{head}md0 {rate / 20:.2f} 0.00 {rate:.2f} 0 {rate}\n" for rate in rates)
    found, said = judged([], text)
    assert found.state == "unknown"
    assert ("something above the disks holds it" in said) is is_told


def test_a_neighbour_whose_latency_is_not_timed_is_no_quicker_one():
    disk, untimed = (
        load(16856, 4.73, size=86, util=100),
        load(40203, 0, size=42) | {"r_await": 0.0, "%util": 0.0},
    )
    assert "takes 0" not in judged([], iostat([{"sdb": disk, "md0": untimed}] * 2))[1]


def test_flash_with_more_in_flight_than_it_takes_at_once_is_not_shown_healthy():
    deep = load(66000, 0.63, size=4)
    assert state_of(iostat([{"sda": deep}] * 3), lsblk(("sda", False))) == "open"
    assert state_of(iostat([{"nvme0n1": load(300000, 0.2, size=4)}] * 3)) == "healthy"


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (load(444, 2.76, size=46, reads=0, util=75), "open"),
        (load(444, 0.9, size=46, reads=0, util=40), "healthy"),  # as quick as its class is
        (load(100, 2.76, size=46, reads=0, util=20), "healthy"),  # seldom busy
        (load(2137, 2.76, size=46, reads=0, util=90), "healthy"),  # a queue explains it
        (load(700, 2.2, size=1024, reads=0, util=90), "healthy"),  # large writes take as long
    ],
    ids=["slow", "quick", "seldom busy", "a queue", "large"],
)
def test_flash_that_is_slow_with_one_or_two_in_flight_is_not_healthy(row, state):
    assert state_of(iostat([{"nvme0n1": row}] * 5, cpu=IDLE_CPU)) == state


def test_requests_whose_bytes_are_not_counted_are_not_called_small():
    row = load(31.8, 115.4, reads=0, util=96) | {"wkB/s": 0.0}
    report = report_of(iostat([{"cciss/c0d0": row}], cpu=None))
    assert report.verdict.state == "open"
    assert "31.80 writes/s, 3.8" in report.headline
    assert "small" not in report.headline
    assert "kB" not in report.headline


@pytest.mark.parametrize(("wait", "depth", "state"), [(43, 0.5, "unknown"), (14, 0.2, "healthy")])
def test_longer_than_any_healthy_disk_takes_is_not_healthy_without_a_queue(wait, depth, state):
    slow = load(12, wait, size=9.6, reads=0.5, util=100 * depth / 1.2)
    assert state_of(iostat([{"sda": slow}] * 10)) == state


def test_what_was_mostly_not_read_shows_no_health():
    rows = iostat([{"sda": CALM}] * 10).splitlines(keepends=True)
    places = [n for n, line in enumerate(rows) if line.startswith("sda")]
    few, many = list(rows), list(rows)
    for at, lines in ((places[5:6], few), (places[5:9], many)):
        for n in at:
            lines[n] = "sda  10.00 1.00 ?? @@ x y z\n"
    assert report_of("".join(few)).verdict.state == "healthy"
    report = report_of("".join(many))
    assert report.verdict.state == "unknown"
    assert "4 of 11 lines of numbers could not be read" in report.headline


def test_lines_of_numbers_that_were_read_elsewhere_count_too():
    rows = iostat([{"sda": CALM}] * 10).splitlines(keepends=True)
    for n in [n for n, line in enumerate(rows) if line.startswith("sda")][5:9]:
        rows[n] = "sda  10.00 1.00 ?? @@ x y z\n"
    listed = "".join(f"tmpfs  {n}G  1M  {n}G  1% /run/{n}\n" for n in range(1, 30))
    report = report_of("Filesystem Size Used Avail Use% Mounted on\n" + listed + "\n" + "".join(rows))
    assert report.verdict.state == "healthy"
    assert "could not be read" not in report.headline


def test_trouble_says_what_was_not_read():
    rows = iostat([{"sda": FULL}] * 10).splitlines(keepends=True)
    assert "could not be read" not in report_of("".join(rows)).headline
    for n in [n for n, line in enumerate(rows) if line.startswith("sda")][::2]:
        rows[n] = "sda  10.00 1.00 ?? @@ x y z\n"
    report = report_of("".join(rows))
    assert report.verdict.state == "trouble"
    assert "lines of numbers could not be read" in report.headline


def test_a_sample_is_not_the_only_one_where_rows_were_lost():
    text = iostat([{"sda": FULL}])
    assert "in the only sample" in report_of(text).headline
    report = report_of(text + "sda  10.00 1.00 ?? @@ x y z\n" * 2)
    assert "in the only sample that could be read" in report.headline
    assert ", the only sample that could be read\n" in report.to_markdown()


# what the rows tell where no rule names a cause

BULK = {"w/s": 90.0, "wkB/s": 34000.0, "wrqm/s": 9900.0, "w_await": 120.0, "aqu-sz": 12.0, "%util": 58.0}
STREAM = {"w/s": 145.0, "wkB/s": 167000.0, "w_await": 47.0, "aqu-sz": 6.9, "%util": 99.0}
SEEKS = {"r/s": 70.0, "w/s": 80.0, "rkB/s": 950.0, "wkB/s": 1080.0, "r_await": 36.0, "w_await": 36.0}


@pytest.mark.parametrize(
    ("row", "step", "beside", "said"),
    [
        (BULK, 1, {}, "buffered writes that are flushed (110 merged into each)"),
        (STREAM, 1, {}, "a stream of 163 MB/s"),
        (
            SEEKS | {"aqu-sz": 5.5, "%util": 99.8},
            1,
            {},
            "never idle at 150 requests/s of 14 kB, with 6.7 ms of busy time",
        ),
        (load(4500, 120, size=5, reads=0, util=39.0), 600, {}, "a mean over 600 s, busy for 39 % of them"),
        (load(19000, 3.9, size=14), 1, {"sdb": load(10000, 0.4, size=14)}, "sdb beside it takes 0.4 ms"),
    ],
)
def test_what_the_rows_tell_of_a_device_that_holds_requests(row, step, beside, said):
    report = report_of(iostat([{"sda": row} | beside], step=step), rules=["svctm-misread"])
    assert report.verdict.state == "open"
    assert said in report.headline


@pytest.mark.parametrize(
    "beside",
    [
        {"sdb": {"r/s": 9000.0, "rkB/s": 126000.0}},
        {"md0": load(10000, 0.4, size=14)},
        {"sdb": load(10000, 1.3, size=14)},
    ],
    ids=["times that are zeros", "a layer on disks", "not a fraction"],
)
def test_what_stands_elsewhere_or_is_not_timed_is_no_quicker_neighbour(beside):
    report = report_of(iostat([{"sda": load(19000, 3.9, size=14)} | beside]), rules=["svctm-misread"])
    assert report.verdict.state == "open"
    assert "beside it takes" not in report.headline


@pytest.mark.parametrize(
    ("at_once", "reads", "is_told"), [(True, 0.3, True), (False, 0.3, False), (True, 0.85, False)]
)
def test_a_neighbour_is_of_the_same_reports_and_has_as_many_reads(at_once, reads, is_told):
    slow, quick = (
        {"sda": load(19000, 3.9, size=14, reads=0.2)},
        {"sdb": load(10000, 0.4, size=14, reads=reads)},
    )
    samples = [slow | quick] * 4 if at_once else [slow] * 4 + [quick] * 4
    report = report_of(iostat(samples), rules=["svctm-misread"])
    assert ("beside it takes" in report.headline) == is_told


@pytest.mark.parametrize(
    ("wait", "beside", "state"),
    [
        (13.0, load(12, 0.15, size=10, reads=0.5), "unknown"),  # as much both ways: one of its kind
        (13.0, load(30, 0.15, size=10, reads=0.5), "healthy"),  # a spinning disk beside flash
        (33.0, load(30, 0.15, size=10, reads=0.5), "unknown"),  # longer than a spinning disk takes for one
        (33.0, load(12, 11.0, size=10, reads=0.5), "healthy"),
    ],
    ids=["a twin", "another load", "longer than one takes", "none is quicker"],
)
def test_no_class_that_is_not_known_excuses_what_a_neighbour_does_at_once(wait, beside, state):
    row = load(12, wait, size=10, reads=0.5, util=12 * wait / 10)
    report = report_of(iostat([{"sda": row, "sdb": beside}] * 3, cpu=IDLE_CPU), skip_rules=["slow-member"])
    assert report.verdict.state == state
    assert ("sdb beside it takes 0.15 ms" in report.headline) is (state == "unknown")


@pytest.mark.parametrize(
    ("size", "mb", "state"),
    [
        (520, 60, "healthy"),
        (477, 60, "healthy"),
        (256, 110, "healthy"),
        (256, 60, "unknown"),
    ],
)
def test_the_smaller_the_requests_of_a_stream_the_more_they_have_to_move(size, mb, state):
    """A queue of two, 85 % busy, on a disk of unknown class."""
    rate = 1024 * mb / size
    row = load(rate, 2000 * 0.85 / rate, size=size, reads=0, util=85)
    assert state_of(iostat([{"sda": row}] * 4)) == state


def test_a_queue_counter_that_is_too_low_hides_no_queue_that_the_latency_does_not_have():
    writes = load(307, 2.2, size=63, reads=0, depth=0.14, util=14.2)
    assert state_of(iostat([{"sda": writes}])) == "healthy"
    assert state_of(iostat([{"sda": writes | {"%util": 0.0, "aqu-sz": 0.0}}])) == "unknown"
    assert state_of(iostat([{"sda": writes | {"w_await": 40.0}}])) == "unknown"


@pytest.mark.parametrize(
    ("device", "row", "state"),
    [
        ("sda", load(65, 3.0, size=8, reads=0, depth=0.01, util=0.8), "healthy"),
        ("sda", load(65, 14.0, size=8, reads=0, depth=0.01, util=0.8), "unknown"),  # may be full
        ("dev179-0", load(6, 40.0, size=22, reads=0, depth=0.06, util=4.0), "healthy"),  # as a card does
        ("sda", load(6, 40.0, size=22, reads=0, depth=0.06, util=4.0), "unknown"),
        ("dev179-0", load(6, 140.0, size=22, reads=0, depth=0.06, util=4.0), "unknown"),
    ],
)
def test_where_counters_of_the_queue_lose_requests_the_worse_number_tells_of_health(device, row, state):
    assert state_of(iostat([{device: row}])) == state


# health by latency


@pytest.mark.parametrize(
    ("device", "row", "state"),
    [
        ("sda", load(56800, 0.41, size=4, util=100.0), "healthy"),
        ("vda", load(56800, 0.41, size=4, util=100.0), "healthy"),
        ("sda", load(1400, 2.4, size=7, util=97.0), "open"),
        ("drbd0", load(95, 28, size=8, reads=0.2, util=36.0), "unknown"),
        ("sda", load(95, 28, size=8, reads=0.2, util=36.0), "unknown"),
        ("sda", load(40, 9, size=8, util=30.0), "healthy"),
    ],
)
def test_latency_shows_health_where_the_class_is_unknown(device, row, state):
    assert report_of(iostat([{device: row}]), rules=["svctm-misread"]).verdict.state == state


@pytest.mark.parametrize(
    ("requests", "wait", "disks", "state"),
    [
        (18, 10.0, "", "unknown"),
        (36, 10.0, "", "healthy"),
        (18, 1.5, "", "healthy"),
        (18, 10.0, "1", "healthy"),
    ],
    ids=["few", "more", "quick on a network, too", "a spinning disk"],
)
def test_few_requests_that_only_a_spinning_disk_excuses_show_no_health(requests, wait, disks, state):
    text = iostat([{"sda": load(requests, wait, size=20, reads=0, util=14.0)}])
    listing = f"NAME ROTA TYPE\nsda {disks} disk\n\n" if disks else ""
    report = report_of(listing + text, rules=["svctm-misread"])
    assert report.verdict.state == state
    if state == "unknown":
        assert "it does not show whether the latency of sda is normal" in report.headline
        assert "lsblk" in report.headline


@pytest.mark.parametrize(
    ("iowait", "row", "state"),
    [
        (60.0, load(3000, 0.5, size=8, util=90.0), "healthy"),
        (60.0, load(300, 0.5, size=8, util=15.0), "open"),
        (60.0, load(60, 12.0, size=8, util=65.0), "unknown"),
        (60.0, load(4000, 4.2, size=64, util=100.0), "open"),
    ],
)
def test_iowait_speaks_against_health_unless_quick_devices_explain_it(iowait, row, state):
    cpu = {"%iowait": iowait, "%idle": 100 - iowait}
    assert report_of(iostat([{"sda": row}] * 5, cpu=cpu), rules=["svctm-misread"]).verdict.state == state


def test_averages_alone_are_never_open():
    rows = {f"sd{letter}": load(30, 20, size=86) for letter in "abcd"}
    first = iostat([rows | {"md0": load(1, 20, size=4)}]).split("11/20/26")
    assert report_of("11/20/26".join((first[0], first[2]))).verdict.state == "unknown"


STREAM = load(240, 11, size=1024, reads=0, util=92.0)


@pytest.mark.parametrize(
    ("name", "row", "state"),
    [
        ("sda", {}, "healthy"),
        ("sda", {"rrqm/s": 900.0}, "unknown"),
        ("sda", {"r_await": 2.9, "aqu-sz": 5.2}, "unknown"),
        ("sda", {"rkB/s": 122_880.0}, "unknown"),
        ("vda", {}, "unknown"),
    ],
    ids=["in order", "hardly merged", "slower than flash", "at a round number", "served by a hypervisor"],
)
def test_reads_that_are_nearly_all_merged_at_a_disk_s_full_speed_are_healthy(name, row, state):
    read = {
        "r/s": 1800.0,
        "rkB/s": 111_300.0,
        "rrqm/s": 91_000.0,
        "r_await": 1.5,
        "aqu-sz": 2.7,
        "%util": 98.0,
    }
    assert state_of(iostat([{name: read | row}])) == state


def test_a_stream_of_large_requests_at_the_rate_of_its_class_is_healthy():
    assert state_of(iostat([{"sdb": STREAM}] * 6)) == "healthy"
    assert state_of(iostat([{"sdb": load(2.4, 1100, size=1024, reads=0, util=92.0)}] * 6)) != "healthy"


def test_a_device_that_is_hardly_busy_is_healthy_though_one_direction_is_not_shown():
    head = "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz  %util\n"
    row = "nvme0n1         43.00      2.71     0.00   0.00    {wait}    64.56   {util}\n"
    assert state_of(head + row.format(wait="0.42", util="4.00")) == "healthy"
    assert state_of(head + row.format(wait="0.42", util="64.00")) != "healthy"
    assert state_of(head + row.format(wait="99.0", util="4.00")) != "healthy"


@pytest.mark.parametrize(("wait", "state"), [(0.1, "healthy"), (8.0, "unknown")])
def test_of_a_queue_and_a_latency_that_differ_the_latency_is_the_worse_number(wait, state):
    odd = load(6000, wait, size=4, depth=0.27, util=23.0)
    assert state_of(iostat([{"nvme0n1": odd}] * 3)) == state


def test_devices_that_answer_quickly_explain_iowait_by_the_requests_in_flight():
    busy = {"%iowait": 47.0, "%idle": 52.0, "%user": 1.0}
    quick = load(6000, 0.18, size=4, depth=0.27, util=23.0)
    assert state_of(iostat([{"nvme0n1": quick}] * 3, cpu=busy)) == "healthy"
    few = load(600, 0.18, size=4, depth=0.03, util=3.0)
    assert state_of(iostat([{"nvme0n1": few}] * 3, cpu=busy)) != "healthy"


FLUSH = load(200, 70, size=60, reads=0, depth=14.0, util=12.0)


RATES = (80000, 40000, 60000, 90000, 20000)


@pytest.mark.parametrize(
    ("texts", "is_calm"),
    [
        ((iostat([{"sda": FLUSH}] * 3, cpu=IDLE_CPU), DISK), True),
        ((iostat([{"sda": {**FLUSH, "%util": 60.0}}] * 3, cpu=IDLE_CPU), DISK), False),
        ((iostat([{"sda": FLUSH}] * 3, cpu={"%iowait": 40.0, "%idle": 55.0}), DISK), False),
        ((vmstat([{"us": 3, "b": 0, "bi": bi} for bi in RATES]),), True),
        ((vmstat([{"us": 3, "b": 0, "bi": 80000}] * 5),), False),
        (
            (vmstat([{"us": 3, "b": b, "bi": bi} for b, bi in zip((0, 0, 1, 0, 0), RATES, strict=True)]),),
            False,
        ),
        ((vmstat([{"us": 3, "bo": bo} for bo in (380, 290, 410, 206, 350, 300)]),), True),
        ((vmstat([{"us": 3, "bo": bo} for bo in (80000, 60000, 90000, 30, 40000, 50)]),), True),
        (
            (
                vmstat(
                    [
                        {"us": 3, "b": int(bo < 100), "wa": int(bo < 100), "bo": bo}
                        for bo in (*[80000, 60000] * 5, 30)
                    ]
                ),
            ),
            False,
        ),
        ((vmstat([{"us": 3, "b": int(n == 5), "bo": (0, 4000, 90)[n % 3]} for n in range(12)]),), True),
        ((vmstat([{"us": 3, "b": int(n == 3), "bo": 80000 + 9000 * (n % 4)} for n in range(9)]),), True),
        ((vmstat([{"us": 3, "bo": bo} for bo in (80000, 87000, 68000, 82000, 85500, 77000)]),), True),
        (
            (
                vmstat(
                    [
                        {"us": 30, "b": 2 * (n == 3) + (n == 7), "wa": int(n == 7), "bo": 80000 + bo}
                        for n, bo in enumerate((-19000, 0, 1000, -2000, 3000, 5000, -6000, 7000, 4000, 8000))
                    ]
                ),
            ),
            True,
        ),
    ],
    ids=[
        *("a flush", "a busy disk", "somebody waits", "nobody waits", "at a flat rate", "a task waits once"),
        *("a trickle", "a load with pauses", "a stall that is waited for", "a task that is met in a lull"),
        *("once in many", "on both sides of the usual rate", "busy CPUs and a task now and then"),
    ],
)
def test_no_trouble_is_seen_only_where_nobody_waits_and_queues_are_brief(texts, is_calm):
    report = report_of(*texts)
    assert report.verdict.state != "healthy"
    assert report.headline.startswith("No trouble is visible") == is_calm


RUN = """\
Linux 2.6.32-431.el6.x86_64 (db7)  09/09/2020  _x86_64_  (12 CPU)

08:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
Average:        all     56.60      0.00     10.60      7.00      0.00     25.80

08:00:01 AM       tps      rtps      wtps   bread/s   bwrtn/s
Average:      3950.00   2950.00   1000.00 120000.00   6000.00
"""


@pytest.mark.parametrize(
    ("util", "latency", "state"), [(21.5, 391, "open"), (21.5, 60, "unknown"), (6, 391, "unknown")]
)
def test_bursts_that_hold_most_requests_back_for_long_are_no_calm(util, latency, state):
    row = load(38.2, latency, size=7, reads=0, depth=0.0382 * latency, util=util)
    assert state_of(iostat([{"sda": row}])) == state


def test_what_is_moved_while_one_waits_is_told_without_disks():
    text = report_of(
        "$ vmstat 1\n" + vmstat([{"b": 1, "wa": 23, "us": 5, "bi": 150000, "bo": 40}] * 8)
    ).headline
    assert "146.5 MB/s are read, at a flat rate" in text
    assert "takes no more" not in text


def test_averages_over_a_run_without_disks_are_told():
    text = report_of(RUN).headline
    assert "it has only averages over a run" in text
    assert "served 3,950 requests/s and 61.5 MB/s" in text
    assert "the CPUs were 67 % busy on average, iowait 7.0 %" in text


def test_a_load_whose_phases_are_shown_is_not_asked_for_again():
    header = "Device: rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n"
    idle = "vda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
    full = "vdb 0.00 0.00 58.00 1251.00 0.45 556.54 871.45 26.69 20.39 0.72 94.32\n"
    calm = "vdb 0.00 0.00 214.80 0.40 1.68 0.00 15.99 0.33 1.54 1.54 33.12\n"
    text = f"with both writers:\n\n{header}{idle}{full}\nKill the writers:\n\n{header}{idle}{calm}"
    report = report_of(text)
    assert report.verdict.asks == "To settle it, capture more of each phase: `iostat -xt 1 30`"


def test_times_that_were_not_kept_are_no_calm():
    untimed = {"w/s": 30000.0, "wkB/s": 560000.0}
    report = report_of(iostat([{"sda": untimed}] * 5, cpu=IDLE_CPU))
    assert report.verdict.state == "unknown"
    assert not report.headline.startswith("No trouble is visible")


@pytest.mark.parametrize("rate", [1.5, 9.0])
def test_a_device_with_next_to_nothing_to_do_does_not_hide_a_healthy_one(rate):
    few = {"w/s": rate, "wkB/s": 8 * rate}
    report = report_of(iostat([{"sda": few, "nvme0n1": load(20000, 0.2, size=4)}] * 3, cpu=IDLE_CPU))
    assert report.verdict.state == "healthy"
    assert "the busiest is nvme0n1" in report.headline


def test_a_crowd_that_waits_for_quick_devices_is_no_health():
    busy = [{"nvme0n1": load(20000, 0.2, size=4)}] * 5
    report = report_of(iostat(busy), vmstat([{"b": 4, "us": 5, "wa": 30}] * 5))
    assert report.verdict.state == "unknown"
    assert "tasks are blocked on I/O on average, for the amount that they ask for" in report.headline


AVERAGED = iostat([{"sda": CALM}])[: iostat([{"sda": CALM}]).rindex("11/20/26 13:")]


@pytest.mark.parametrize(
    ("texts", "state", "says"),
    [
        ((AVERAGED, vmstat([{"us": 3}] * 4)), "unknown", "only averages since boot of its disks (sda"),
        ((AVERAGED, vmstat([{"us": 3}] * 4)), "unknown", "nobody waits for I/O in 4 samples"),
        (
            (vmstat([{"us": 3, "wa": 9}, {"us": 3}]),),
            "unknown",
            "no task is blocked on I/O in 2 samples (iowait is at most 9 %)",
        ),
        ((vmstat([{"us": 3, "wa": 12}, {"us": 3}]),), "unknown", "it has no disk statistics"),
        (
            (iostat([{"sda": load(580, 2.9, size=9.7, util=99)}]),),
            "open",
            "though one or two requests are in flight",
        ),
        (
            (iostat([{"sda": load(580, 5.8, size=9.7, util=99)}]),),
            "open",
            "requests waiting in its queue",
        ),
        (
            (iostat([{"sda": load(1200, 6.7, size=8, util=97)}]), lsblk(("sda", False))),
            "open",
            "sda takes longer per request than is usual for its class",
        ),
        (
            (iostat([{"sda": load(11, 7, size=900, reads=0, util=3)}] * 5),),
            "healthy",
            "a limit above the device (io.max, blkio.throttle) would not show",
        ),
        (
            (
                iostat(
                    [{name: load(55, 28, size=20, util=58) for name in ("sda", "sdb", "sdc")}],
                    cpu={"%iowait": 65.0, "%idle": 17.0, "%system": 14.0},
                ),
            ),
            "open",
            "iowait is 65 %, and sda (sdb, sdc alike)",
        ),
        (
            (iostat([{"sda": FLOODED}]),),
            "open",
            "168 writes/s of 490.0 kB, 204 ms each",
        ),
    ],
    ids=[
        *("averages beside live rows", "what is live is told", "nobody waits", "some iowait"),
        *(
            "one or two requesters",
            "more than two",
            "what serves several at once",
            "large writes alone",
            "disks alike",
            "floods beside reads",
        ),
    ],
)
def test_a_sentence_says_what_was_measured(texts, state, says):
    report = report_of(*texts)
    assert report.verdict.state == state
    assert says in report.headline


SHARES = "avg-cpu: %user %nice %system %iowait %steal %idle\n 2.00 0.00 1.00 {} 0.00 {}\n\n"
FEW_HEAD = "Device r/s w/s rkB/s wkB/s await r_await w_await aqu-sz %util\n"


@pytest.mark.parametrize(
    ("cpus", "since_boot", "now", "says"),
    [
        (
            12,
            (0.14, 96.86),
            (0.00, 97.00),
            "; nobody waits for I/O in 2 samples (iowait is 0, idle time 97 %).",
        ),
        (12, (0.00, 97.00), (0.00, 97.00), "0 % busy)."),
        (12, (0.14, 96.86), (0.03, 96.97), "0 % busy)."),
        (512, (0.14, 96.86), (0.00, 97.00), "0 % busy)."),
        (12, (0.14, 96.86), (0.00, 37.00), "0 % busy)."),
    ],
    ids=["nobody", "a kernel that counts none", "somebody at times", "so many CPUs", "no idle time"],
)
def test_iowait_of_0_shows_that_nobody_waits_where_the_host_counts_it(cpus, since_boot, now, says):
    text = banner(cpus=cpus) + SHARES.format(*since_boot)
    text += FEW_HEAD + "vda 1.85 72.14 48.17 2318.85 4.16 0.49 4.25 0.31 1.78\n\n"
    text += (SHARES.format(*now) + FEW_HEAD + "vda 0.00 8.00 0.00 88.00 0.00 0.00 0.00 0.00 0.00\n\n") * 2
    report = report_of(text)
    assert report.verdict.state == "unknown"
    what = "(2 of 2 samples: 8 writes/s of 11.0 kB, 0 in flight, 0.00 ms each as printed, 0 % busy)"
    assert f"next to nothing was asked of vda {what}{says.removeprefix('0 % busy)')}" in report.headline


def test_a_device_next_to_idle_in_a_table_without_times_does_not_hide_a_healthy_one():
    plain = "Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    text = iostat([{"sda": CALM}] * 3) + plain + "sdb 8.00 0.00 60.00 0 60\n"
    assert state_of(text) == "healthy"
    assert state_of(text.replace("8.00 0.00 60.00", "800.00 0.00 6000.00")) == "unknown"


def test_a_device_that_does_a_little_now_and_then_does_not_hide_a_healthy_one():
    odd = [load(rate, 0.4, size=size) for rate, size in ((3, 4), (40, 64), (12, 16), (150, 90), (20, 30))]
    rows = [{"sda": CALM, "vda": odd[n // 6] if n % 6 == 0 else {}} for n in range(30)]
    assert state_of(iostat(rows), DISK) == "healthy"
    slow = [row | {"vda": row["vda"] and load(20, 90 + n)} for n, row in enumerate(rows)]
    report = report_of(iostat(slow), DISK)
    assert report.verdict.state != "healthy"


def test_what_lasts_is_told_of_a_device_whose_health_is_not_shown():
    rows = [{"sda": load(89, 13.2, size=256, util=82)}] * 58 + [{"sda": load(9, 13.8, size=256, util=8)}]
    assert "(58 of 59 samples: 89 reads/s" in report_of(iostat(rows), DISK).headline


def test_an_idle_disk_is_not_like_one_that_completes_nothing():
    report = report_of(iostat([{"sda": {"%util": 100.0, "aqu-sz": 1.0}, "sdb": {}, "sdc": STUCK}] * 2))
    assert "sdb" not in report.headline


@pytest.mark.parametrize(
    ("row", "is_quick"),
    [
        (CALM, True),
        (load(300, 0.9, size=150, util=80), True),
        (load(100, 4.0, size=4), False),
        (load(2000, 0.9, size=4, util=95) | {"aqu-sz": 40.0}, False),
    ],
    ids=["quick on any class", "quick and busy", "between flash and disk", "more in flight"],
)
def test_a_row_without_a_name_shows_what_it_does_and_no_health_of_the_others(row, is_quick):
    text = iostat([{"sda": row}] * 2, cpu=IDLE_CPU).replace("Device ", "       ").replace("sda", "   ")
    report = report_of(text)
    assert report.verdict.state in ("unknown", "open")
    assert ("unnamed shows no trouble (2 of 2" in report.headline) is is_quick
    assert ("nothing is known of other devices" in report.headline) is is_quick


def test_all_disks_together_are_told_where_none_is_named():
    head = "Linux 3.10.0 (box) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
    clocks = [f"13:00:{second:02}" for second in (2, 4, 6, 8)]
    text = head + "13:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(f"{clock} all 7.00 0.00 3.00 2.50 0.00 87.50\n" for clock in clocks)
    text += "\n13:00:00 tps rtps wtps bread/s bwrtn/s\n"
    text += "".join(
        f"{clock} {ios}.00 0.00 {ios}.00 0.00 4096.00\n"
        for clock, ios in zip(clocks, (20, 60, 380, 20), strict=True)
    )
    text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(f"{clock} 1 300 0.02 0.05 0.05\n" for clock in clocks)
    said = iodiag.analyze([iodiag.read(io.BytesIO(text.encode()), name="sar.txt")]).headline
    assert "all of them together served 120 requests/s and 2.0 MB/s on average, up to 380 requests/s" in said
    assert "iowait is at most 2.5 %, and the load average 0.02" in said


RUN_CPU = (
    "10:20:30 AM CPU %user %nice %system %iowait %steal %idle\n"
    "Average: all {user} 9.10 3.20 {iowait} 0.00 {idle}\n\n"
)
RUN_DISK = (
    "10:20:30 AM DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"
    "Average: dev8-0 {rate} 9000.00 2000.00 91.67 0.21 {wait} 0.40 {util}\n"
)
RUN_QUEUE = (
    "10:20:30 AM runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    "10:20:31 AM 3 147 1.03 0.31 0.24 0\n10:20:32 AM 2 147 1.03 0.31 0.24 0\n\n"
)


@pytest.mark.parametrize(
    ("changes", "is_bounded"),
    [
        ({}, True),
        ({"util": 60.0}, False),
        ({"iowait": 22.0, "idle": 0.0}, False),
        ({"wait": 90.0}, False),
    ],
    ids=["little", "busy", "iowait", "slow"],
)
@pytest.mark.parametrize("queue", ["", RUN_QUEUE], ids=["averages alone", "beside samples of the run queue"])
def test_averages_of_a_run_bound_what_storage_took_of_it(changes, is_bounded, queue):
    numbers = {"user": 70.0, "iowait": 2.7, "idle": 15.0, "rate": 120.0, "wait": 1.75, "util": 4.8} | changes
    report = report_of((queue + RUN_CPU + RUN_DISK).format(**numbers))
    assert report.verdict.state == "unknown"
    assert ("Over the run storage was not the limit" in report.headline) is is_bounded
    assert f"the CPUs were {numbers['user'] + 12.3:.0f} % busy" in report.headline
    assert "say nothing about the present" not in report.headline


def test_averages_of_runs_in_which_a_disk_was_full_are_open():
    head = "Average:  DEV  tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz  await  svctm  %util\n"
    calm = "  83.00     96.00  46000.00    555.37      1.00     12.00      9.90     82.00"
    full = " 280.00     70.00 364000.00   1300.25    130.00    464.00      3.45     96.00"
    report = report_of("".join(f"{head}Average:          sda    {row}\n\n" for row in (calm, full)))
    assert (report.verdict.state, report.verdict.severity) == ("open", "notice")
    assert "sda is saturated" in report.headline
    assert "in 1 of 2 averages" in report.headline


def test_rows_since_boot_are_no_samples():
    since_boot = iostat([{"sda": CALM}]).split("11/20/26 13:00:01")[0]
    (device,) = report_of(since_boot, since_boot.replace("0.50", "0.90")).states
    assert "samples" not in device.text


def test_one_cut_row_of_a_list_of_processes_is_not_all_of_it():
    rows = "".join(
        f"{900 + n:5d} be/4 app         0.00 B/s   12.00 K/s  0.00 %  {n}.10 % worker\n" for n in range(15)
    )
    text = "Total DISK READ :       0.00 B/s | Total DISK WRITE :     180.00 K/s\n"
    text += "Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      90.00 K/s\n"
    text += (
        f"  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n{rows}  917 be/4 app   0.0"
    )
    assert "lines of numbers could not be read" not in report_of(text).headline


def test_lines_of_context_are_not_left_out_of_how_many_there_are():
    text = "nas:/export mounted on /data:\n\n  ops/s  rpc bklog\n 17.417  0.000\n\n"
    text += "read:  ops/s  kB/s  kB/op  retrans  avg RTT (ms)  avg exe (ms)\n 9.417  64.000\n"
    text += (
        "write:  ops/s  kB/s  kB/op  retrans  avg RTT (ms)  avg exe (ms)\n 8.0 64.0 8.0 0 (0.0%) 1.0 1.1\n"
    )
    report = report_of(text)
    assert "1 of 3 lines of numbers could not be read" in report.headline
    assert "1 line of numbers of `" in report.to_markdown()


def test_an_input_that_is_cut_off_is_not_healthy():
    text = iostat([{"sda": CALM}] * 30).encode()
    whole = gzip.compress(text)
    for data, state in ((whole, "healthy"), (whole[: len(whole) * 2 // 3], "unknown")):
        report = iodiag.analyze([iodiag.read(io.BytesIO(data))])
        assert (report.verdict.state, "cut off" in report.headline) == (state, state == "unknown")
        assert ("Not read" in report.to_markdown()) == (state == "unknown")


@pytest.mark.parametrize(
    ("waits", "options", "is_said"),
    [
        ([0, 4, 1, 0, 0, 2, 0, 0, 1, 0], {}, True),
        ([0, 4, 1, 0, 0, 2], {}, False),
        ([0, 12, 0, 0, 0, 0, 0, 0, 0, 0], {}, False),  # many waited once
        ([0, 4, 3, 2, 3, 2, 0, 0, 1, 0], {}, False),
        ([0, 4, 1, 0, 0, 2, 0, 0, 1, 0], {"cpus": 96}, False),  # a CPU's worth of time
    ],
    ids=["now and then", "few samples", "once many", "more often", "many CPUs"],
)
def test_hardly_anybody_waits_where_the_mean_of_many_samples_says_so(waits, options, is_said):
    rows = [{"us": 10, "wa": wa, "b": int(n == 3), "bo": 900 + 400 * n} for n, wa in enumerate(waits)]
    said = report_of("$ vmstat 1\n" + vmstat(rows), **options).headline
    assert ("No trouble is visible" in said and "hardly anybody waits for I/O" in said) is is_said


@pytest.mark.parametrize(
    ("waits", "util", "samples", "is_told"),
    [(20, 97.2, 5, True), (4, 97.2, 5, False), (20, 55.0, 5, False), (20, 97.2, 11, False)],
    ids=["waits", "hardly waits", "no full disk", "a moment"],
)
def test_iowait_of_the_samples_in_which_a_disk_is_full_is_told(waits, util, samples, is_told):
    text = "$ sar -u\n09:00:01 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(
        f"09:{4 * n:02}:01 all 9.00 0.00 1.00 {waits * (n == 3)}.00 0.00 {90 - waits * (n == 3)}.00\n"
        for n in range(1, samples + 1)
    )
    text += "\n$ sar -d\n09:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    text += f"09:12:01 sdb 700.00 0.00 84000.00 120.00 12.60 18.00 {util:.2f}\n"
    report = report_of(text)
    assert ("iowait is 20 % while sdb is 97 % busy, in 1 of 5 samples" in report.headline) is is_told
    assert report.verdict.state == "open" or not is_told


def test_what_is_at_a_ceiling_is_not_said_to_wait_for_nobody():
    said = report_of("$ vmstat 1\n" + vmstat([{"us": 10, "bo": 9000}] * 10)).headline
    assert said.startswith("This capture is not enough: it has no disk statistics")
    assert "waits for I/O" not in said
    assert "iowait was 0.0 %" in said
    assert "no task was blocked" in said


def test_a_capture_of_the_cpus_alone_says_what_they_did():
    text = "13:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(
        f"13:00:{n:02} all 10.00 0.00 4.00 {wa:.2f} 0.00 {86 - wa:.2f}\n" for n, wa in enumerate([0, 3, 0], 1)
    )
    said = report_of("$ sar -u 1\n" + text).headline
    assert "the CPUs were 14 % busy, and iowait was 1.0 %, at most 3.0 %" in said


def test_what_is_in_doubt_is_drawn():
    slow = {"w/s": 3.0, "wkB/s": 480.0, "w_await": 145.0, "aqu-sz": 0.44, "%util": 34.0}
    quick = {"r/s": 300.0, "rkB/s": 4800.0, "r_await": 0.4, "aqu-sz": 0.12, "%util": 12.0}
    report = report_of(iostat([{"sda": slow, "vda": quick}] * 30))
    assert report.verdict.state == "unknown"
    assert report.verdict.devices == ("sda",)
    assert "sda" in {series.name for series in report.series}


COUNTERS = (
    "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    " 252 0 vda 2000 32 132766 8000 50000 5277 7311292 25000 3 279930 33500 0 0 0 0 10000 500\n"
    " 252 1 vda1 65 0 520 18 0 0 0 0 0 36 18 0 0 0 0 0 0\n"
)


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({}, "No trouble is visible, but the capture cannot prove health: nobody waits for I/O in 4 samples"),
        ({"b": 2, "wa": 40}, "Somebody waits for I/O: at most 2 tasks are blocked on I/O"),
        ({"b": 0, "wa": 40}, "This capture is not enough: of the disks it has only averages"),
    ],
)
def test_disks_that_are_known_since_boot_alone_leave_what_the_samples_show(changes, begins):
    since_boot = iostat([{"sda": CALM}]).split("11/20/26 13:00:01")[0]
    rows = [{"us": 30, "bo": kb, "b": 0, "wa": 0} | changes for kb in (9000, 14000, 11000, 17000)]
    said = report_of(since_boot, "$ vmstat 10\n" + vmstat(rows)).headline
    assert said.startswith(begins)
    assert "averages since boot" in said


def test_one_snapshot_of_counters_tells_means_since_boot_and_how_to_get_rates():
    report = report_of(COUNTERS)
    assert report.verdict.state == "unknown"
    assert not report.findings
    assert "one snapshot of the disks: counters since boot, no rates (vda on average: 4.00 ms per read, " in (
        report.headline
    )
    assert "0.50 ms per write, 0.05 ms per flush, 3 in flight now" in report.headline
    # a counter of ms may have begun again, and one of busy time above the requests' is no share of time
    assert "a counter of ms begins again after 49.7 days" in report.headline
    assert "%" not in report.headline.split("To ")[0].split("`")[0]
    assert "no disk statistics" not in report.headline
    # what it says to run is read with its times
    again = COUNTERS.replace("50000 5277", "50100 5277").replace(" 25000 3", " 25100 3")
    told = report_of(f"1790000000\n{COUNTERS}1790000010\n{again}")
    assert "10 writes/s" in told.headline


def test_snapshots_without_a_time_between_make_no_rates():
    assert "and no time between them" in report_of(COUNTERS + COUNTERS).headline


def test_counters_of_kernels_without_flushes_tell_none():
    old = " 8 0 sda 2000 32 132766 8000 50000 5277 7311292 25000 0 27993 33500\n"
    assert "0.50 ms per write, 0 in flight now" in report_of(old).headline


def test_a_mount_with_averages_alone_is_told_with_its_numbers():
    text = (
        "nas1:/vol/www mounted on /srv/www:\n\n   op/s\t\trpc bklog\n   0.60 \t   0.00\n"
        "read:             ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
        "\t\t  0.013 \t  2.150 \t169.751 \t       0 (0.0%) \t 11.500 \t 11.960\n"
        "write:            ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
        "\t\t  0.100 \t  0.061 \t  0.600 \t       0 (0.0%) \t 97.000 \t120.760\n"
    )
    report = report_of(text)
    assert report.verdict.state == "unknown"
    assert (
        "/srv/www since its mount: 0.60 operations/s; 0.013 reads/s, 11.50 ms each to the server and back"
        in (report.headline)
    )
    assert "0.100 writes/s, 97.00 ms each to the server and back, 120.76 ms in all" in report.headline


def test_an_average_since_boot_alone_is_told_and_the_next_capture_leaves_it_out():
    text = (
        "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
        "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await wareq-sz aqu-sz %util\n"
        "vdb 0.00 0.00 0.31 28.42 627.13 11599.13 0.24 18.50 0.15 17.07\n"
    )
    headline = report_of(text).headline
    assert "627.1 writes/s of 18.5 kB" in headline
    assert "iostat -xyt 1 60" in headline


def test_idle_time_is_at_most_what_a_refuted_util_leaves():
    row = load(20, 450, size=98, reads=0, depth=9.0) | {"%util": 8.0, "wrqm/s": 100.0}
    said = report_of(iostat([{"sda": row}] * 8, cpu=IDLE_CPU)).headline
    assert "busy at the least by how long they wait" in said
    assert "it was idle at most 55 % of the time" in said


@pytest.mark.parametrize(
    ("runs", "cpus", "told"),
    [
        ((30, 64, 41), None, ""),  # a large host serves as many
        ((30, 64, 41), 8, "45 tasks wanted to run on 8 CPUs, in 3 of 4 samples"),
        ((30, 64, 41), 64, ""),
        ((30, 2, 41), None, ""),
        ((9, 12, 8), None, ""),
    ],
)
def test_more_tasks_that_want_to_run_than_the_cpus_serve_are_no_calm(runs, cpus, told):
    rows = [{"r": run, "us": 35, "sy": 15} for run in runs]
    first = banner(cpus=cpus) if cpus else ""
    found = report_of(first + vmstat(rows))
    assert told in found.headline
    assert ("No trouble is visible" in found.headline) == (not told)
    assert ("pidstat -wt 1" in found.verdict.asks) == bool(told)


def test_the_only_line_of_vmstat_counts_tasks_now_and_the_rest_since_boot():
    header = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    text = header + " 1  1      0  52608    936 3015432   95   95 42789  1962 1705  770 15 19 57  9  0\n"
    said = report_of(text).headline
    assert "1 task waited for I/O at that moment; on average since boot 41.79 MB/s are read" in said
    assert "meanwhile" not in said


OLD_X = "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await wareq-sz aqu-sz %util\n"
LINUX = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"


@pytest.mark.parametrize(("wait", "is_calm"), [("2.10", True), ("61.3", False)])
def test_averages_since_boot_of_a_calm_host_say_so_and_what_they_cannot_show(wait, is_calm):
    row = f"sda 3.41 60.37 {wait} 17.70 9.37 99.13 1.20 10.58 0.02 7.13\n"
    said = report_of(LINUX + OLD_X + row).headline
    assert ("on average nothing is slow" in said and "a moment they cannot show" in said) is is_calm


LOADED = " 09:14:02 up 12 days,  3:41,  2 users,  load average: {}, 0.20, 0.18\n\n"
HTOP = "  Swp[          0K/0K]   Load average: {} 0.20 0.18\n\n"


@pytest.mark.parametrize("seen", [LOADED, HTOP])
@pytest.mark.parametrize(("load_one", "wait", "is_calm"), [("0.07", "2.10", True), ("12.06", "61.3", False)])
def test_the_load_average_stands_beside_averages_since_boot(seen, load_one, wait, is_calm):
    row = f"sda 3.41 60.37 {wait} 17.70 9.37 99.13 1.20 10.58 0.02 7.13\n"
    said = report_of(seen.format(load_one) + LINUX + OLD_X + row).headline
    assert f"{float(load_one):g} tasks run or wait by the load average of a minute" in said
    assert ("on average nothing is slow" in said) is is_calm


@pytest.mark.parametrize(
    ("loads", "wait", "is_calm"),
    [
        ("0.07, 0.20, 0.18", "2.10", True),
        ("0.07, 0.20, 3.10", "2.10", False),
        ("0.07, 0.20, 0.18", "61.3", False),
    ],
    ids=["idle", "it was loaded", "slow on average"],
)
def test_load_averages_of_an_idle_host_beside_calm_averages_show_no_trouble(loads, wait, is_calm):
    seen = f" 09:14:02 up 12 days,  3:41,  2 users,  load average: {loads}\n\n"
    row = f"sda 3.41 60.37 {wait} 17.70 9.37 99.13 1.20 10.58 0.02 7.13\n"
    found = report_of(seen + LINUX + OLD_X + row)
    assert found.headline.startswith("No trouble is visible, but the capture cannot prove health") is is_calm
    assert found.verdict.state == "unknown"


def test_cpus_that_are_sampled_without_their_disks_are_told_beside_averages():
    cpu = "avg-cpu:  %user %nice %system %iowait %steal %idle\n {} 0.00 1.40 {} 0.00 {}\n\n"
    row = "sda 3.41 60.37 2.10 17.70 9.37 99.13 1.20 10.58 0.02 7.13\n\n"
    text = LINUX + cpu.format(22.1, 4.2, 72.3) + OLD_X + row + cpu.format(10.3, 0.3, 88.0)
    said = report_of(text).headline
    assert "in its samples the CPUs were 12 % busy, and iowait was 0.3 %" in said
    assert "on average nothing is slow" in said


def test_next_to_no_requests_that_take_longer_than_usual_are_calm():
    row = "sda 0.17 8.93 12.55 52.50 0.74 15.10 20.75 20.40 0.01 0.19\n"
    assert "on average nothing is slow" in report_of(LINUX + OLD_X + row).headline


def test_a_few_late_reads_among_quick_writes_are_no_calm_average():
    row = "sda 0.31 10.00 640.0 32.30 40.20 600.00 1.20 14.90 0.25 7.13\n"
    assert "on average nothing is slow" not in report_of(LINUX + OLD_X + row).headline


@pytest.mark.parametrize(("cpus", "is_calm"), [(8, True), (64, False)])
def test_iowait_of_a_calm_average_is_that_of_less_than_a_task(cpus, is_calm):
    cpu = "avg-cpu:  %user %nice %system %iowait %steal %idle\n 4.10 0.00 1.20 4.60 0.00 85.00\n\n"
    row = "sda 3.41 60.37 2.10 17.70 9.37 99.13 1.20 10.58 0.02 7.13\n"
    text = LINUX.replace("(8 CPU)", f"({cpus} CPU)") + cpu + OLD_X + row
    assert ("on average nothing is slow" in report_of(text).headline) is is_calm


@pytest.mark.parametrize(
    ("iowait", "reads", "wait", "is_told"),
    [
        ("0.06", "0.02 0.90 3.01", "23.10", True),
        ("1.60", "0.02 0.90 3.01", "23.10", False),
        ("0.00", "0.02 0.90 3.01", "23.10", False),
        ("0.06", "9.20 90.0 13.01", "23.10", False),
        ("0.06", "0.02 0.90 3.01", "640.0", False),
        ("0.06", "0.02 0.90 3.01", "95.0", False),
    ],
    ids=[
        *("nobody", "somebody", "a host that counts none", "readers wait", "writes that no device explains"),
        "asynchronous writes, as may be",
    ],
)
def test_averages_of_late_writes_that_nobody_waits_for_say_so(iowait, reads, wait, is_told):
    cpu = f"avg-cpu:  %user %nice %system %iowait %steal %idle\n 4.10 0.00 1.20 {iowait} 0.00 91.00\n\n"
    row = f"sda {reads} 45.00 6.20 44.30 {wait} 7.15 0.14 0.31\n"
    said = report_of(LINUX + cpu + OLD_X + row).headline
    assert ("on average nobody is seen to wait for I/O (sda: 6.20 writes/s" in said) is is_told


@pytest.mark.parametrize(
    ("iowait", "reads", "is_told"),
    [("0.11", "4.00", True), ("3.20", "4.00", False), ("0.11", "40.00", False)],
)
def test_an_idle_host_that_was_booted_minutes_ago_is_told_with_its_cpus(iowait, reads, is_told):
    cpu = f"avg-cpu:  %user %nice %system %iowait %steal %idle\n 2.10 0.00 1.20 {iowait} 0.00 92.00\n\n"
    table = "Device: tps MB_read/s MB_wrtn/s MB_read MB_wrtn\nvdb 22.00 0.00 1.50 2 1800\n"
    said = report_of(LINUX + cpu + table + f"vdc {reads} 0.12 0.00 145 0\n").headline
    assert ("on average over 20 min nobody is seen to wait for I/O (vdb: 22 writes/s" in said) is is_told
    assert f"the CPUs were 3 % busy on average, iowait {float(iowait):.1f} %" in said


@pytest.mark.parametrize(("written", "is_one"), [("55.21", True), ("73.90", False)])
def test_an_average_since_boot_that_two_forms_of_iostat_print_is_one(written, is_one):
    """The one with latencies is told; where they moved otherwise they are of two times."""
    plain = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    plain += f"sda 9.81 40.30 {written} 9865440 13515408\nsdb 0.52 2.10 1.30 514080 318240\n\n"
    rows = "sda 3.41 40.29 2.10 11.82 6.40 55.20 1.20 8.63 0.01 1.13\n"
    rows += "sdb 0.40 2.10 6.30 5.25 0.12 1.30 1.20 10.83 0.00 0.20\n"
    report = report_of(LINUX + plain + LINUX + OLD_X + rows)
    told = [one.text for one in report.states if one.device == "sda"]
    assert (told[0].startswith("average since boot: ") and len(told) == 1) is is_one
    assert {one.device for one in report.states} == {"sda", "sdb"}


@pytest.mark.parametrize(("iowait", "is_calm"), [("0.21", True), ("9.41", False)])
def test_totals_tell_over_how_long_hardly_anybody_waited_on_average(iowait, is_calm):
    cpu = "avg-cpu:  %user %nice %system %iowait %steal %idle\n 4.10 0.00 1.20 {} 0.00 85.00\n\n"
    table = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 2.41 21.50 55.20 5263200 13512960\n"
    said = report_of(LINUX + cpu.format(iowait) + table).headline
    calm = "on average over 68 h the CPUs hardly wait for I/O, and no latency is shown (sda: 2.41 requests/s"
    assert (calm in said) is is_calm
    assert "nothing is slow" not in said


def test_of_averages_the_layer_is_told_that_holds_what_its_disks_do_not_and_a_copy_is_named():
    rows = (
        "sda 128.75 61286.40 2.41 476.00 11.29 583.68 18.57 51.70 0.52 28.43\n"
        "sdb 8.90 481.28 4.47 54.10 132.39 61153.28 2.57 461.90 0.38 31.36\n"
    )
    said = report_of(
        LINUX + OLD_X + rows + "dm-0 21.31 194.56 14.68 9.10 38.93 153.60 101.98 3.90 4.28 3.31\n"
    )
    assert "(dm-0: " in said.headline
    assert "what sda read and sdb write is as much, 60 MB/s: a copy" in said.headline
    assert "(sdb: " not in said.headline


def test_a_guess_of_averages_is_named_as_one():
    table = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    rows = (
        "sda 60.68 2323.10 250.42 13612809201 1524521472\nsdb 60.65 2323.15 250.39 13612938949 1524438386\n"
    )
    said = report_of(LINUX + table + rows + "md2 62.39 4.94 247.75 28939449 1451526880\n")
    assert said.verdict.state == "unknown"
    assert "Possibly: sdb and sda read" in said.headline


@pytest.mark.parametrize(
    ("old", "is_told"),
    [
        ("3.07 90.13 15.02 139.87 3919.41 3.61 0.61 34.03", True),
        ("0.31 9.07 15.02 7.03 196.41 3.61 0.03 1.71", False),
        ("139.87 3919.41 3.61 3.07 90.13 15.02 0.61 34.03", False),
        ("0.11 3.03 15.02 15.03 4500.41 3.61 0.61 34.03", False),
        ("3.07 90.13 15.02 379.87 3919.41 3.61 0.61 34.03", False),
    ],
    ids=["larger requests", "an idle host that gets a job", "reads", "a stream", "requests of that size"],
)
def test_small_requests_that_cost_more_than_those_since_boot_are_named(old, is_told):
    head = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    now = "0.00 0.00 0.00 {} 2900.00 3.60 1.10 78.00"
    rows = (old, now.format("290.00"), now.format("295.00"))
    report = report_of(f"$ iostat -x 1\n{LINUX}" + "".join(f"{head}sda {row}\n\n" for row in rows))
    told = (report.verdict.state, report.verdict.severity)
    assert told == (("open", "notice") if is_told else ("unknown", None))
    text = "for each MB/s it is busy 28 % of the time, since boot it was 9 %, at 139.9/s of 28.0 kB"
    assert (text in report.headline) is is_told


@pytest.mark.parametrize(("util", "is_told"), [("61.60", True), ("9.61", False)])
def test_a_host_that_is_busier_at_other_times_is_healthy_now(util, is_told):
    rows = (
        "130.47 1141.93 2.10 371.29 4020.51 2.20 0.30 " + util,
        *["11.00 97.00 2.00 4.00 20.00 2.00 0.03 5.00"] * 2,
    )
    head = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    report = report_of(f"$ iostat -x 1\n{LINUX}" + "".join(f"{head}sda {row}\n\n" for row in rows))
    assert report.verdict.state == "healthy"
    assert ("busier at other times (sda: 62 % on average since boot, 5 %" in report.headline) is is_told


@pytest.mark.parametrize("printed", ["dm-0", "data-home"])
def test_averages_since_boot_are_of_a_device_by_any_of_its_names(printed):
    """`iostat -N` prints the names of device-mapper."""
    tree = "NAME KNAME TYPE ROTA\nsda sda disk 1\n`-data-home dm-0 lvm 1\n"
    rows = (
        "120.31 1100.62 2.10 350.17 4000.43 2.20 0.30 71.20",
        *["9.00 90.00 2.00 3.00 15.00 2.00 0.02 4.00"] * 3,
    )
    head = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    report = report_of(
        tree, f"$ iostat -x 1\n{LINUX}" + "".join(f"{head}{printed} {row}\n\n" for row in rows)
    )
    assert "busier at other times (dm-0: 71 % on average since boot, 4 %" in report.headline


# streams, and copies from one set of disks to another

WRITTEN = load(950, 8, size=127, reads=0, util=95.0)
READ = {"r/s": 320.0, "rkB/s": 40640.0, "r_await": 2.2, "aqu-sz": 0.7, "%util": 32.0}
WAITS = {"%user": 1.0, "%system": 30.0, "%iowait": 16.0, "%idle": 53.0}


@pytest.mark.parametrize(
    ("row", "sources", "is_copy"),
    [
        (WRITTEN, {"sdc": READ, "sdd": READ, "sde": {**READ, "rkB/s": 39370.0}}, True),
        (WRITTEN, {"sdc": READ}, False),
        (WRITTEN, {}, False),
    ],
    ids=["as much is read", "a third is read", "nothing is read"],
)
def test_a_stream_of_small_enough_requests_is_one_and_a_copy_is_bound_by_its_targets(row, sources, is_copy):
    report = report_of(iostat([{"sda": row} | sources], WAITS))
    assert "a stream of 118 MB/s" in report.headline
    assert ("and sda write is as much, " in report.headline) is is_copy


@pytest.mark.parametrize(
    "row", [load(300, 25, size=16, reads=0, util=99.0), load(500, 16, size=127, reads=0)]
)
def test_slower_writes_are_no_stream(row):
    assert "a stream of" not in report_of(iostat([{"sda": row, "sdc": READ}], WAITS)).headline


@pytest.mark.parametrize(
    ("row", "severity"),
    [(load(950, 9.5, size=127, reads=0), "notice"), (load(140, 150, size=16, reads=0), "warning")],
    ids=["a stream", "a queue of seeks"],
)
def test_a_spinning_disk_that_streams_at_its_speed_is_no_trouble(row, severity):
    report = report_of(iostat([{"sda": row}] * 5, WAITS), lsblk(("sda", True)), rules=["true-saturation"])
    assert [f.severity for f in report.findings] == [severity]


def test_a_volume_of_zfs_has_the_class_of_no_flash():
    row = {"r/s": 90.0, "rkB/s": 43900.0, "r_await": 10.7, "aqu-sz": 1.0, "%util": 92.0}
    view = view_of(iostat([{"sda": row, "zd48": row}]), lsblk(("sda", True), ("zd48", False)))
    assert [view.series(name).rotational for name in ("sda", "zd48")] == [True, None]


@pytest.mark.parametrize(
    "used", [{"tps": 60.0, "rkB/s": 480.0, "areq-sz": 8.0, "await": 0.2, "%util": 1.2}, {}]
)
def test_a_device_of_which_no_sample_can_be_true_is_not_healthy(used):
    broken = {"tps": 2.0**64 / 5, "rkB/s": 2.0**32 / 5, "%util": 0.08}
    report = report_of(sar_d([{"sda": used, "sdb": broken, "sdc": broken}]))
    assert report.verdict.state == "unknown"
    assert "nothing is known of sdb, sdc: a value beyond any device: a counter ran back" in report.headline
    assert "no device had any I/O" not in report.headline
    assert "Nothing at the disks" not in report.to_markdown()


def test_a_sample_that_cannot_be_true_among_others_leaves_a_device_healthy():
    used = {"tps": 60.0, "rkB/s": 480.0, "areq-sz": 8.0, "await": 0.2, "aqu-sz": 0.01, "%util": 1.2}
    broken = {"sda": used, "sdb": {"tps": 2.0**64 / 5, "rkB/s": 2.0**32 / 5, "%util": 0.08}}
    assert state_of(sar_d([*[{"sda": used, "sdb": used}] * 5, broken])) == "healthy"


def test_how_sure_a_symptom_is_says_nothing_of_its_cause():
    moves, still = {"bo": 300000, "us": 5}, {"bo": 0, "b": 1, "us": 3}
    report = report_of(vmstat([moves] * 12 + [still] * 3))
    assert (report.verdict.state, report.verdict.confidence) == ("open", "high")
    assert "high confidence that it is so; its cause is open" in report.to_markdown()


def test_a_volume_of_unknown_class_at_the_rate_of_a_limit_is_not_healthy():
    rows = load(2000, 3.9, size=64, util=100.0)
    assert state_of(iostat([{"vda": rows}] * 6)) != "healthy"


UNTIMED = {"w/s": 1500.0, "wkB/s": 7200.0}


@pytest.mark.parametrize(
    ("others", "is_idle"),
    [({}, False), ({"sda": load(5, 0.4, size=8)}, False), ({"sda": load(900, 0.4, size=8, reads=0)}, True)],
    ids=["alone", "beside a disk that moves next to nothing", "above the disk that moves it"],
)
def test_a_layer_that_is_not_timed_is_shown_by_the_disks_below_it_alone(others, is_idle):
    found, said = judged([], iostat([{"md3": UNTIMED, **others}] * 5))
    assert found.state == ("healthy" if is_idle else "unknown")
    assert "next to nothing" not in said
    assert "No trouble is visible" not in said
    assert ("capture its members" in said) != is_idle


def test_what_was_moved_while_nobody_waited_is_told():
    rows = [{"us": 40, "b": int(n == 3), "bo": 100_000 + 25_000 * (n % 4)} for n in range(9)]
    said = report_of(vmstat(rows)).headline
    assert "hardly anybody waits for I/O in 9 samples while" in said
    assert "are written" in said
    assert "though asynchronous I/O would not show" in said


@pytest.mark.parametrize(("moved", "much"), [(0, "nothing at all"), (16, "almost nothing")])
def test_a_host_that_moves_next_to_nothing_is_called_idle(moved, much):
    """Asynchronous I/O would be counted as it is handed on."""
    found = report_of(vmstat([{"bo": moved}] * 4))
    assert f"while {much} is read or written; it has no disk statistics" in found.headline
    assert found.verdict.state == "unknown"


def test_what_a_list_of_processes_shows_is_not_called_nothing_at_all():
    """Rates in whole kB round a commit away; one of sar counts nobody who is blocked."""
    iotop = (
        "Total DISK READ :       0.00 B/s | Total DISK WRITE :      12.00 K/s\n"
        "Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      24.00 K/s\n"
        "    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n"
        "    311 be/3 root        0.00 B/s   12.00 K/s  0.00 %  0.08 % [jbd2/vda1-8]\n"
    )
    sar = (
        "13:00:07 CPU %user %nice %system %iowait %steal %idle\n13:00:08 all 0.04 0.00 0.04 0.01 0.01 99.90\n"
    )
    said = report_of("\n".join((vmstat([{}] * 2), AVERAGED, iotop, sar))).headline
    assert "nobody waits for I/O in 2 samples while almost nothing is read or written" in said
    assert "; all disks together read 0 kB/s and wrote 24 kB/s; it has only averages since boot" in said


def test_a_single_sample_has_no_most():
    said = report_of(vmstat([{"bo": 300, "wa": 2, "id": 98}])).headline
    assert "at most" not in said


BURST = load(40, 24, size=120, depth=0.96, util=7.0)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "healthy"),
        ({"rkB/s": 900.0}, "unknown"),
        ({"%util": 40.0}, "unknown"),
        ({"r_await": 240.0, "aqu-sz": 9.6}, "unknown"),
    ],
    ids=["as a stream moves", "slow while busy", "busy for long", "slower than one at a time"],
)
def test_a_brief_burst_of_reads_is_healthy_where_it_moves_what_a_stream_does(changes, state):
    rows = [{"sda": load(100, 0.6, size=4)}] * 3 + [{"sda": BURST | changes}]
    assert judged([], iostat(rows))[0].state == state


QUIET = load(70, 33, size=1030, reads=0, depth=2.3, util=40.0)
FULL_SPEED = load(156, 40, size=1170, reads=0, depth=6.25, util=100.0)


@pytest.mark.parametrize(
    ("full", "calmer", "device", "state"),
    [
        (FULL_SPEED, QUIET, "sdb", "healthy"),
        (FULL_SPEED | {"wkB/s": 100_000.0, "w/s": 85.0, "w_await": 73.0}, QUIET, "sdb", "open"),
        (FULL_SPEED | {"r/s": 20.0, "rkB/s": 20_000.0, "r_await": 50.0}, QUIET, "sdb", "open"),
        (FULL_SPEED, QUIET, "vdb", "open"),
        (FULL_SPEED, FULL_SPEED, "sdb", "open"),
    ],
    ids=["one speed", "slower when full", "readers", "a virtual disk", "never calmer"],
)
def test_a_stream_of_large_writes_at_the_speed_of_a_calmer_state_is_healthy(full, calmer, device, state):
    rows = [{device: calmer}, {device: full}, {device: calmer}, {device: calmer}]
    assert judged([], iostat(rows))[0].state == state


def test_few_calmer_samples_do_not_show_what_a_full_device_of_unknown_class_gives():
    rows = [{"sdb": QUIET}, {"sdb": FULL_SPEED}, {"sdb": QUIET}]
    found, said = judged([], iostat(rows))
    assert (found.state, found.severity) == ("open", "notice")
    assert "1 of 3 samples: 156 writes/s" in said
    assert judged([], iostat(rows), lsblk(("sdb", True)))[0].state == "healthy"


@pytest.mark.parametrize("is_full", [False, True])
def test_an_open_verdict_gives_one_answer(is_full):
    found = finding("cause", "notice", "medium")
    said = judged([found], iostat([{"sda": FULL if is_full else CALM}] * 3))[1]
    assert "Likely" not in said
    assert "Note:" in said
    assert said.startswith("Nothing shows who waits") or not is_full


def test_a_steal_that_cannot_be_is_called_a_wrong_counter_in_the_verdict():
    averaged = iostat([{"sda": CALM}], cpu={"%user": 0.01, "%steal": 99.64, "%idle": 0.35})
    head = averaged[: averaged.rindex("11/20/26 13:")]
    odd = re.sub(
        r"(?m)^ +[\d.]+ +0.00 .*$", "           0.01    0.00    0.00    0.00   99.64    0.35", head, count=1
    )
    assert "steal of 99.64 % beside idle CPUs without work is a wrong counter" in judged([], odd)[1]
    assert "wrong counter" not in judged([], head)[1]


def _since_boot(seconds: float, kb: float, ios: float) -> str:
    """A lone report of plain iostat on a host that is up for so many seconds, of amounts since boot."""
    head = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
    head += "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    rows = (
        (name, share * ios / seconds, share * kb / seconds, share * kb)
        for name, share in (("sda", 1), ("sdb", 0.9))
    )
    return head + "".join(
        f"{name} {tps:.2f} {rate:.2f} 0.10 {total:.0f} {seconds / 10:.0f}\n"
        for name, tps, rate, total in rows
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        # 72,000 s with 343.8 kB/s read, 0.1 written, in 21.5 requests/s
        (
            (172_000, 64_753_600, 3_548_000),
            "20.0 h between its last two reports: 343.9 kB/s in 21.5 requests/s",
        ),
        # the host was started again, or it is another: the last report speaks for itself
        ((50_000, 64_753_600, 3_548_000), "sda: 70.96 reads/s of 18.3 kB"),
        ((172_000, 6_475_360, 354_800), "sda: 2.06 requests/s of 18.3 kB, reads by bytes"),
        # as long as the rounding of a rate
        ((100_001, 40_000_344, 2_000_022), "sda: 20 reads/s of 20.0 kB"),
    ],
    ids=["an interval", "another boot", "another host", "right away"],
)
def test_two_averages_since_boot_make_one_interval_and_never_a_mean(second, said):
    text = _since_boot(100_000, 40_000_000, 2_000_000) + "\n" + _since_boot(*second)
    assert said in report_of(text).headline


def test_a_process_s_mean_is_called_one_and_its_pauses_are_told():
    head = "13:52:41      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s  Command\n"
    rows = (0, 0, 120000, 180000, 0)
    text = "".join(
        f"13:52:{42 + n}        0      2512 {kb:.2f} 0.00 0.00  tar\n" for n, kb in enumerate(rows)
    )
    said = report_of(head + text).headline
    assert "tar read 60,000 kB/s and wrote 0 kB/s on average over 5 samples" in said
    assert "(2 of them with any, up to 180,000 kB/s read)" in said


def test_the_most_that_a_process_moved_is_of_one_direction():
    head = "13:52:41      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s  Command\n"
    rows = "13:52:42 0 2512 90.00 56000.00 0.00 lgwr\n13:52:43 0 2512 0.00 0.00 0.00 lgwr\n\n"
    assert "(1 of them with any, up to 56,000 kB/s written)" in report_of(head + rows).headline


def test_what_is_not_timed_is_not_passed_over_because_its_sizes_differ():
    head = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    rows = [(16, 60), (17, 900), *[(0.3, 2)] * 12, *[(0, 0)] * 10]
    text = "".join(f"{head}sdc {tps:.2f} 0.00 {kb:.2f} 0 0\n\n" for tps, kb in rows)
    assert "does not show whether the latency of sdc" in report_of("$ iostat -y 1\n" + text).headline


READERS = load(590, 2.75, size=9.7, reads=0.97, util=98.9)


@pytest.mark.parametrize(
    ("row", "severity"),
    [
        (READERS, "warning"),
        (READERS | {"r/s": 300.0, "w/s": 290.0}, "notice"),  # of writes nobody may wait for
        (READERS | {"%util": 80.0}, None),
        (load(150, 90, size=8, depth=13.5, util=100.0), "notice"),  # it may be a spinning disk that is full
    ],
)
def test_a_device_that_makes_readers_wait_all_the_time_is_a_cost_without_a_finding(row, severity):
    found, _ = judged([], iostat([{"sda": row}]))
    assert found.severity == severity
    if severity == "warning":
        assert found.state == "open"
        assert "**Severity:** warning" in report_of(iostat([{"sda": row}])).to_markdown()


@pytest.mark.parametrize(
    ("reads", "blocked", "told"),
    [(1.0, 2, ("open", "warning")), (1.0, 0, ("unknown", None)), (0.5, 2, ("open", "notice"))],
)
def test_slow_reads_of_an_unknown_disk_are_a_cost_where_a_task_is_seen_to_wait(reads, blocked, told):
    text = iostat([{"sda": load(23.3, 60, size=8, reads=reads, util=98.0)}] * 8)
    waits = vmstat([{"b": blocked, "wa": 12}] * 8)
    found = report_of(text, waits, rules=["svctm-misread"]).verdict
    assert (found.state, found.severity) == told


@pytest.mark.parametrize(
    ("count", "iowait", "severity"), [(3, 50.0, "warning"), (2, 50.0, "notice"), (3, 10.0, "notice")]
)
def test_a_late_disk_that_is_never_idle_is_a_cost_where_idle_cpus_wait(count, iowait, severity):
    cpu = {"%iowait": iowait, "%idle": 90 - iowait, "%user": 10.0}
    row = load(100, 22, size=100, reads=0.1, util=99.2)
    report = report_of(iostat([{"sda": row}] * count, cpu), rules=["svctm-misread"])
    assert (report.verdict.state, report.verdict.severity) == ("open", severity)
    assert ("iowait is" in report.headline) == (iowait >= 15)
    assert "100 requests/s of 100 kB, with 9.9 ms of busy time" in report.headline


@pytest.mark.parametrize(
    ("reads", "wait", "iowait", "severity"),
    [(0.8, 14.8, 30.0, "warning"), (0.3, 14.8, 30.0, "notice"), (0.8, 4.0, 30.0, "notice")],
    ids=["most are reads", "most are writes", "no queue"],
)
def test_reads_in_the_queue_of_a_never_idle_disk_are_a_cost_where_cpus_wait(reads, wait, iowait, severity):
    cpu = {"%iowait": iowait, "%idle": 80 - iowait, "%user": 20.0}
    row = load(330, wait, size=22, reads=reads, util=99.8)
    found = report_of(iostat([{"sda": row}], cpu), rules=["svctm-misread"]).verdict
    assert (found.state, found.severity) == ("open", severity)


@pytest.mark.parametrize(
    ("latency", "count", "told"),
    [(450, 2, ("open", "warning")), (450, 1, ("unknown", None)), (60, 2, ("unknown", None))],
)
def test_what_is_late_on_any_class_is_open_though_it_is_said_to_be_idle(latency, count, told):
    cpu = {"%iowait": 3.0, "%idle": 96.0, "%user": 1.0}
    row = load(600, latency, size=8, reads=0, util=9.0)
    report = report_of(iostat([{"sda": row}] * count, cpu, cpus=64), rules=["svctm-misread"])
    assert (report.verdict.state, report.verdict.severity) == told
    assert ("far longer than on any class" in report.headline) == (told[0] == "open")


@pytest.mark.parametrize(
    ("merged", "size", "floods", "is_told"),
    [(600.0, 41.5, 1, True), (600.0, 100.0, 1, False), (60.0, 7.75, 1, False), (600.0, 41.5, 5, False)],
    ids=["pages", "larger pieces", "few of them", "most of the time"],
)
def test_a_flush_of_pages_beside_reads_is_told(merged, size, floods, is_told):
    head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
    calm = head + "sda 0 0 60.00 0 6000.00 0 200.00 0.12 2.00 2.00 12.00\n"
    mean = (260 * 130 + 64 * size) / 324 * 2
    written = f"260.00 64.00 33800.00 {64 * size:.2f} {mean:.2f}"
    flood = head + f"sda 16.00 {merged:.2f} {written} 16.85 52.00 2.70 88.00\n"
    headline = report_of("\n".join([flood] * floods + [calm] * 4), rules=["svctm-misread"]).headline
    assert ("meanwhile memory is written back in a burst (10 pages of 4.0 kB" in headline) == is_told


def test_a_class_that_seeks_is_no_measure_of_many_small_requests():
    row = load(3300, 1.55, size=15, reads=0, util=89.0)
    headline = report_of(iostat([{"sda": row}] * 4), rules=["svctm-misread"]).headline
    assert "alone such a request takes flash 1.57 ms" in headline


@pytest.mark.parametrize(
    ("reads", "utils", "is_told"), [(56000, [100], True), (9000, [100, 99], True), (9000, [99, 94], False)]
)
def test_a_healthy_device_that_is_never_idle_is_not_said_to_have_room(reads, utils, is_told):
    text = iostat([{"sdb": load(reads, 0.41, size=4, util=float(util))} for util in utils])
    report = report_of(text, lsblk(("sdb", False)))
    assert report.verdict.state == "healthy"
    assert ("whether there is room for more is not shown" in report.headline) == is_told
    assert ("pidstat -d 1" in report.to_markdown()) == is_told


@pytest.mark.parametrize(
    ("process", "kb", "shown"),
    [
        ("cp", 200_000, "ls -l /proc/77/fd"),
        ("kworker/u16:4+io_ring-wq", 200_000, "cat /proc/77/stack"),
        ("cp", 2_000, "pidstat -d 1"),
    ],
    ids=["a program", "a thread of the kernel", "far less than the device moves"],
)
def test_who_asks_for_so_much_is_named_where_the_capture_lists_it(process, kb, shown):
    text = iostat([{"sdb": load(56000, 0.41, size=4, util=100.0)}])
    listed = f"13:00:02 0 77 {kb}.00 0.00 0.00 0 {process}\n13:00:02 0 78 0.00 9.00 0.00 0 bash\n"
    header = "13:00:01 UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n"
    report = report_of(text, lsblk(("sdb", False)), header + listed)
    assert shown in report.verdict.asks
    assert (f"see what {process} does, with" in report.verdict.asks.lower()) == (kb > 2_000)


@pytest.mark.parametrize(
    ("cpu", "share", "told"), [(97.0, 20, "uses 97 %"), (3.0, 85, "waits"), (3.0, 20, "")]
)
def test_a_process_that_uses_a_cpu_or_mostly_waits_is_told_where_the_capture_does_not_tell_more(
    cpu, share, told
):
    plain = "".join(
        f"\nDevice tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda {n}00 0 9000 0 9000\n" for n in "567"
    )
    top = "PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n"
    top += f"59 root 20 0 0 0 0 R {cpu} 0.0 891:45.42 mover\n"
    iotop = "Total DISK READ: 0.00 B/s | Total DISK WRITE: 900.00 K/s\n"
    iotop += "TID PRIO USER DISK READ DISK WRITE SWAPIN IO COMMAND\n"
    iotop += f"77 be/4 root 0.00 B/s 900.00 K/s 0.00 % {share}.00 % balance\n"
    report = report_of(plain, top, iotop)
    assert report.verdict.state == "unknown"
    assert ("mover uses" in report.headline) == (told == "uses 97 %")
    assert ("balance waits for I/O 85 % of its time by iotop" in report.headline) == (told == "waits")


def test_of_a_stack_that_is_never_idle_the_disk_is_the_busiest_and_the_full_one():
    row = load(9000, 0.8, size=8, util=99)
    assert "the busiest is nvme0n1 (" in (said := report_of(iostat([{"nvme0n1": row, "dm-0": row}])).headline)
    assert "nvme0n1 is never idle; it serves 7 requests at once" in said


@pytest.mark.parametrize(("share", "is_told"), [("370.0", True), ("45.0", False)])
def test_a_process_that_fills_cpus_is_told_and_asked_about_beside_healthy_devices(share, is_told):
    top = "  PID USER      PR  NI  VIRT  RES  SHR S %CPU %MEM    TIME+  COMMAND\n"
    top += f" 3067 root      20   0 20.0g  18g 4296 S {share} 60.4   1084:54 served\n"
    text = iostat([{"sdb": load(900, 0.2, size=4)}] * 3)
    report = report_of(text, lsblk(("sdb", False)), top)
    assert report.verdict.state == "healthy"
    assert ("served uses 370 % of a CPU by top" in report.headline) == is_told
    page = report.to_markdown()
    assert ("perf top -p 3067" in page, "a limit, a lock, the network" in page) == (is_told, not is_told)


def test_what_a_latency_is_held_against_is_told_and_asked_for():
    row = load(95, 17.7, size=100, depth=1.7, util=67.0)
    report = report_of(iostat([{"dm-12": row}]))
    assert "alone such a request takes a spinning disk up to 17 ms, flash 2 ms" in report.headline
    assert "`lsblk -o NAME,KNAME,ROTA" in report.headline
    assert "lsblk" not in report_of(iostat([{"nvme0n1": row}])).headline


ONE_WRITER = {
    "sda": load(118, 6.1, size=5.5, reads=0.35, util=63.0),
    "sdb": load(85, 5.4, size=9, reads=0.37, util=45.0),
}


@pytest.mark.parametrize(
    ("iowait", "cpus", "state"),
    [(8.7, 12, "unknown"), (8.7, 4, "healthy"), (8.7, None, "unknown"), (4.0, None, "healthy")],
    ids=["one of 12 CPUs", "a third of a task", "of an unknown number", "of more than 20"],
)
def test_a_task_that_always_waits_is_no_health_however_many_cpus_are_idle(iowait, cpus, state):
    text = iostat([ONE_WRITER], {"%iowait": iowait, "%idle": 99.8 - iowait}, cpus=cpus or 2)
    report = report_of(text if cpus else text.replace(" (2 CPU)", "").replace("\t(2 CPU)", ""))
    assert report.verdict.state == state
    told = (
        f"on {cpus} CPUs: on average 1 task waits for I/O"
        if cpus
        else "which may be a task that always waits, as nothing states how many CPUs"
    )
    assert (told in report.headline) is (state == "unknown")


@pytest.mark.parametrize(("cpus", "state"), [(32, "unknown"), (4, "healthy")])
def test_a_trickle_of_another_disk_hides_not_what_explains_the_waiting(cpus, state):
    """Seven tasks that wait are told, for as much as they ask; one is a reader."""
    busy = (
        load(4000, 0.06, size=4, util=24.0)
        if cpus == 4
        else load(120000, 0.058, size=4, depth=7.0, util=80.0)
    )
    rows = {"nvme0n1": busy, "sdb": load(3, 13.3, size=60, reads=0, util=4.0)}
    report = report_of(iostat([rows] * 2, {"%iowait": 22.0, "%idle": 70.0}, cpus=cpus))
    assert report.verdict.state == state
    assert ("owait is 22 %, for the amount that they ask for" in report.headline) is (cpus == 32)
    assert "normal for its class (but for sdb, of too few requests to tell)" in report.headline
    assert "while it is slow" not in report.headline


@pytest.mark.parametrize(("rate", "is_of_few"), [(3, True), (30, False)])
def test_a_disk_of_few_requests_says_nothing_of_the_class_of_the_others(rate, is_of_few):
    """60 requests in two samples are a mean, six are none."""
    rows = {"nvme0n1": load(4000, 0.06, size=4), "sdb": load(rate, 13.3, size=60, reads=0, util=4.0)}
    headline = report_of(iostat([rows] * 2, IDLE_CPU)).headline
    assert ("class unknown: sdb" not in headline) is is_of_few
    busiest = rows | {"nvme0n1": load(60, 0.06, size=4)}
    assert "class unknown: sdb" in report_of(iostat([busiest] * 2, IDLE_CPU)).headline


@pytest.mark.parametrize(
    ("util", "is_told"), [(14.4, True), (28.8, False)], ids=["as fast while busy", "half as fast"]
)
def test_a_latency_is_of_the_queue_where_a_shorter_one_is_served_as_fast(util, is_told):
    busy = load(40, 56, size=9, reads=0.4, depth=2.2, util=util)
    calm = load(52, 13.6, size=9, reads=0.4, depth=0.7, util=18.7)
    headline = report_of(iostat([{"sda": busy}, {"sda": calm}], step=60)).headline
    assert ("278/s with 3.7 in flight, 13.60 ms each: its queue makes the rest" in headline) is is_told


@pytest.mark.parametrize(("step", "is_told"), [(600, True), (60, False)])
def test_a_healthy_device_of_long_samples_may_still_be_slow_for_seconds(step, is_told):
    report = report_of(iostat([{"sda": load(25, 4, size=15, util=10.0)}] * 3, step=step))
    assert report.verdict.state == "healthy"
    assert (
        "each sample is a mean over at least 600 s, which hides what lasts seconds" in report.headline
    ) is is_told


@pytest.mark.parametrize(("util", "is_told"), [("9.04", True), ("40.50", False)])
def test_a_latency_that_is_not_shown_to_be_normal_may_be_of_bursts(util, is_told):
    row = f"xvdf 0.00 29.20 1.00 26.00 49.60 441.60 18.19 1.89 69.87 3.35 {util}\n"
    header = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"
    told = "bursts, as it was idle 91 % of the time: their queue may be most of it"
    assert (told in report_of(header + row).headline) is is_told


def test_a_mechanism_is_told_as_likely():
    bulk = load(380, 13.8, size=100, depth=5.0, util=93.0) | {"rrqm/s": 230.0}
    report = report_of(iostat([{"sdg": bulk}], {"%iowait": 40.0, "%idle": 54.0}))
    assert report.headline.startswith("Likely: iowait is 40 %")
    assert "bulk reads of several streams by turns" in report.headline


def test_moments_of_many_disks_are_no_task_that_always_waits():
    rows = {f"sd{name}": load(120 + 7 * at, 2.1, size=94, reads=0) for at, name in enumerate("abcdef")}
    report = report_of(iostat([rows], {"%iowait": 2.1, "%idle": 78.0, "%user": 19.9}, cpus=48))
    assert report.verdict.state == "healthy"


def test_reads_in_line_behind_quick_writes_name_the_disk_and_not_the_layer_above():
    disk = {"r/s": 203.0, "rkB/s": 8187.0, "r_await": 86.0, "w/s": 340.0, "wkB/s": 16172.0, "w_await": 10.0}
    layer = {"r/s": 49.0, "rkB/s": 1150.0, "r_await": 70.0, "w/s": 9.0, "wkB/s": 433.0, "w_await": 73.0}
    layer |= {"aqu-sz": 4.06, "%util": 30.0}
    report = report_of(iostat([{"sda": disk | {"aqu-sz": 21.0, "%util": 65.6}, "dm-0": layer}]))
    assert report.headline.startswith("Not determined: sda has requests waiting in its queue")
    large = disk | {"rkB/s": 203 * 2048.0, "aqu-sz": 21.0, "%util": 65.6}
    assert "sda has requests waiting" not in report_of(iostat([{"sda": large}])).headline


def test_of_averages_the_disk_is_told_that_is_busy_for_longest():
    rows = {"sda": load(3.37, 8.1, size=20), "sdb": load(20.41, 0.2), "dm-0": load(60.23, 0.9, size=4)}
    table = iostat([rows]).split("11/20/26")[3].partition("\n")[2]
    assert "(sda: 3.37 reads/s" in report_of(banner() + table).headline


def test_health_is_told_with_the_state_in_which_most_waited():
    rows = [{"xvdb": load(31, 0.65, size=10)}, {"xvdb": load(30, 6.4, size=10, util=11.0)}]
    assert "30 reads/s of 10.0 kB" in report_of(iostat(rows)).headline


def test_a_cut_last_line_leaves_healthy_devices_healthy_unless_it_says_too_little():
    text = iostat([{"sda": CALM, "sdb": CALM}] * 2).rstrip()
    line = text.splitlines()[-1]
    words = [*line.split()]
    for count, state in ((len(words) - 1, "healthy"), (3, "unknown")):
        cut = text[: len(text) - len(line)] + " ".join(words[:count])
        assert report_of(cut).verdict.state == state, cut


NFS = (
    "nas1:/vol/www mounted on /srv/www:\n\n   op/s\t\trpc bklog\n   {ops} \t   {backlog}\n"
    "read:             ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
    "\t\t  {reads:.3f} \t  {kb:.3f} \t1024.000 \t       {again} (0.0%) \t {trip:.3f} \t {whole:.3f}\n"
)
NFS_WRITES = (
    "write:            ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
    "\t\t  0.000 \t  0.000 \t  0.000 \t       0 (0.0%) \t 0.000 \t0.000\n\n"
)


@pytest.mark.parametrize(
    ("changes", "writes", "state"),
    [
        ({}, NFS_WRITES, "healthy"),
        ({}, "", "unknown"),  # a line that a paste lost
        ({"trip": 90.0, "whole": 90.2}, NFS_WRITES, "unknown"),
        ({"whole": 14.0}, NFS_WRITES, "unknown"),  # it waits here
        ({"again": 3}, NFS_WRITES, "unknown"),
        ({"backlog": "2.00"}, NFS_WRITES, "unknown"),
        (
            {"reads": 0.5, "trip": 30000.0, "whole": 30000.5},
            NFS_WRITES,
            "unknown",
        ),  # so slow that it is seldom
        ({"reads": 2.0, "kb": 2048.0}, NFS_WRITES, "unknown"),  # of what else it is asked nothing is timed
    ],
    ids=[
        *("prompt", "writes not shown", "a slow server", "a wait before it is sent", "sent again", "backlog"),
        *("a server that hardly answers", "other operations"),
    ],
)
def test_nfs_alone_is_told_with_its_numbers_and_healthy_where_each_is_answered(changes, writes, state):
    numbers = {"reads": 108.0, "kb": 110592.0, "trip": 9.5, "whole": 9.54, "again": 0, "backlog": "0.00"}
    first = NFS.format(ops="0.17", **numbers | {"reads": 0.077, "kb": 78.848}) + NFS_WRITES
    found = report_of(first + NFS.format(ops="163.00", **numbers | changes) + writes)
    assert found.verdict.state == state
    told = found.headline.replace("1,024", "1024")
    if not changes:
        assert "/srv/www, in 1 sample: 163 operations/s; 108 reads/s of 1024 kB, 9.50 ms each" in told
    assert ("nfsiostat 5 12" in told) is (state == "unknown")


@pytest.mark.parametrize(
    ("load", "asks"), [("17.07, 16.90, 16.00", "grep ^D"), ("1.07, 0.90, 1.00", "iostat")]
)
def test_a_load_average_alone_is_told_and_asks_what_tasks_wait_in(load, asks):
    text = f"top - 23:35:26 up  7:33,  1 user,  load average: {load}\n"
    text += "%Cpu(s):  1.3 us,  1.0 sy,  0.0 ni, 97.7 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n"
    verdict = report_of(
        text + "MiB Mem :   2866.4 total,    686.7 free,   1071.7 used,   1108.0 buff/cache\n"
    )
    assert f"{load.split(',')[0]} tasks run or wait by the load average" in verdict.headline
    assert asks in verdict.headline


@pytest.mark.parametrize(
    ("process", "state", "is_told"),
    [("scrubd", "D", True), ("scrubd", "S", False), ("[kworker/u8:1+flush-9:0]", "D", False)],
)
def test_what_sleeps_uninterruptibly_and_a_check_stand_beside_a_load_average(process, state, is_told):
    text = "top - 23:35:26 up  7:33,  1 user,  load average: 1.02, 1.00, 1.00\n"
    text += "%Cpu(s):  1.3 us,  1.0 sy,  0.0 ni, 97.7 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n"
    text += "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    text += f"   3990 root  20  0 1466688 173192  62468 {state}  6.0  0.7  0:06.51 {process}\n"
    array = "Personalities : [raid1]\nmd1 : active raid1 sdb2[1] sda2[0]\n      1364480 blocks [2/2] [UU]\n"
    array += "      [==>....]  check = 31.0% (422988/1364480) finish=9.5min speed=1650K/sec\n"
    headline = report_of(text, *[array] * is_told).headline
    assert ("in state D (uninterruptible sleep): scrubd" in headline) == is_told
    assert ("(check 31.0%) at 1650 kB/s, 9.5 minutes from its end" in headline) == is_told
    assert process in headline or not is_told


# what is replicated to another node

_REPLICATED = (
    "mail role:Primary suspended:no\n"
    "  volume:0 minor:3 disk:UpToDate\n"
    "      written:88012 upper-pending:{upper} lower-pending:{lower} blocked:no\n"
    "  node-b connection:Connected role:Secondary congested:no\n"
    "    volume:0 replication:Established peer-disk:UpToDate\n"
    "        received:0 sent:88012 out-of-sync:0 pending:{peer} unacked:0\n\n"
)
QUICK = iostat([{"sda": load(400, 0.2, size=8, reads=0, util=8)}] * 5, cpu=IDLE_CPU)


@pytest.mark.parametrize(
    ("upper", "lower", "peer", "state", "says"),
    [
        (
            3,
            0,
            3,
            "open",
            "drbd3 holds 3 requests of its users, 0 at its own disk and 3 sent to the other node",
        ),
        (3, 3, 0, "unknown", "drbd3 stands on a disk of the other node, too"),
        (0, 0, 0, "unknown", "drbd3 stands on a disk of the other node, too"),
    ],
    ids=["at the peer", "at the disk", "none"],
)
def test_a_quick_disk_below_a_replicated_device_is_no_health(upper, lower, peer, state, says):
    report = report_of(_REPLICATED.format(upper=upper, lower=lower, peer=peer) + QUICK)
    assert report.verdict.state == state
    assert says in report.headline


@pytest.mark.parametrize(("link", "protocol"), [("Connected", "A"), ("WFConnection", "C")])
@pytest.mark.parametrize(("held", "state"), [(0, "healthy"), (5, "open")])
def test_requests_held_beyond_the_disk_are_no_health_whatever_the_connection(link, protocol, held, state):
    text = f" 0: cs:{link} ro:Primary/Unknown ds:UpToDate/DUnknown {protocol} r-----\n"
    text += f"    ns:10 nr:0 dw:88012 dr:1200 lo:0 pe:{held} ua:0 ap:{held} ep:1 wo:f oos:0\n\n"
    assert state_of(text + QUICK) == state


@pytest.mark.parametrize("device", ["sda", "drbd0"])
def test_a_replicated_device_that_is_suspended_is_no_health_though_it_counts_no_requests(device):
    text = " 0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C s-----\n"
    text += "    ns:10 nr:0 dw:88012 dr:1200 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:0\n\n"
    report = report_of(text + QUICK.replace("sda", device))
    assert report.verdict.state == "open"
    assert "drbd0 is suspended (line 1)" in report.headline


FROZEN = (
    "mail role:Primary suspended:quorum\n  volume:0 minor:{minor} disk:UpToDate\n      upper-pending:4\n\n"
)


@pytest.mark.parametrize(
    ("minor", "upper", "says"),
    [
        (3, 0, "drbd3 was suspended (line 1), and no longer is (line 5): its users waited until then. Why"),
        (3, 5, "until then. drbd3 holds 5 requests of its users, 0 at its own disk and 5 sent"),
        (8, 0, "drbd8 is suspended (line 1): what its users ask for waits until it is resumed. Why"),
        (8, 5, "is resumed. drbd3 holds 5 requests of its users, 0 at its own disk and 5 sent"),
    ],
    ids=["resumed", "resumed and held", "another device", "another device that holds"],
)
def test_the_last_look_at_a_device_tells_whether_it_is_suspended_and_each_what_it_holds(minor, upper, says):
    later = _REPLICATED.format(upper=upper, lower=0, peer=upper)
    report = report_of(FROZEN.format(minor=minor) + later + QUICK)
    assert report.verdict.state == "open"
    assert says in report.headline


def test_only_the_same_device_of_another_node_has_requests_at_its_disk():
    other = " 7: cs:Connected ro:Secondary/Primary ds:UpToDate/UpToDate C r-----\n"
    other += "    ns:0 nr:9 dw:9 dr:0 lo:5 pe:0 ua:5 ap:0 ep:1 wo:f oos:0\n\n"
    text = _REPLICATED.format(upper=3, lower=0, peer=3)
    assert "at its disk" not in report_of(text + other + QUICK).headline
    assert "where 5 are at its disk" in report_of(text + other.replace("7:", "3:") + QUICK).headline


def test_the_node_that_only_keeps_a_replica_is_judged_by_its_disk():
    text = "mail role:Secondary\n  disk:UpToDate\n  node-a role:Primary\n    peer-disk:UpToDate\n\n"
    assert state_of(text + QUICK) == "healthy"


@pytest.mark.parametrize(("wait", "is_bounded"), [(26, True), (300, False)])
def test_late_requests_that_hold_next_to_nothing_over_a_run_are_no_limit(wait, is_bounded):
    head = "10:20:30 AM DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
    depth = 0.9 * wait / 1000
    row = f"Average: dev8-0 0.90 0.00 306.00 340.00 {depth:.2f} {wait}.00 1.50\n"
    assert ("Over the run storage was not the limit" in report_of(head + row).headline) is is_bounded


WRITE_FLOOD = load(1700, 26, size=18, reads=0, util=34)


@pytest.mark.parametrize(
    ("flood", "cpu", "state"),
    [
        (WRITE_FLOOD, {"%iowait": 0.6, "%idle": 66.0, "%user": 33.4}, "unknown"),
        (WRITE_FLOOD, {"%iowait": 9.0, "%idle": 66.0, "%user": 25.0}, "open"),
        (WRITE_FLOOD, {"%iowait": 0.6, "%idle": 20.0, "%user": 79.4}, "open"),
        (WRITE_FLOOD, None, "open"),
        (WRITE_FLOOD | {"%util": 60.0}, {"%iowait": 0.6, "%idle": 66.0, "%user": 33.4}, "open"),
        (
            WRITE_FLOOD | {"r/s": 9.0, "rkB/s": 90.0, "r_await": 40.0},
            {"%iowait": 0.6, "%idle": 66.0, "%user": 33.4},
            "open",
        ),
    ],
    ids=["nobody waits", "a task waits", "no CPU time to spare", "no CPUs", "busy", "reads"],
)
def test_floods_of_writes_that_nobody_is_seen_to_wait_for_are_brief_queues(flood, cpu, state):
    rows = [flood, flood, load(20, 0.4, size=5, reads=0)]
    report = report_of(iostat([{"vda": row} for row in rows], cpu=cpu, cpus=8))
    assert report.verdict.state == state
    assert ("vda had brief queues and was idle most of the time" in report.headline) is (state == "unknown")


@pytest.mark.parametrize(("iowait", "state"), [(70.0, "open"), (30.0, "unknown")])
def test_iowait_that_no_disk_explains_is_open_and_says_what_settles_it(iowait, state):
    idle = load(3, 2, size=8, reads=0, util=0.6)
    cpu = {"%user": 3.0, "%system": 1.0, "%iowait": iowait, "%idle": 96 - iowait}
    report = report_of(iostat([{"sda": idle, "sdb": idle}] * 6, cpu))
    assert report.verdict.state == state
    assert f"iowait is {iowait:.0f} %, and no device is seen to be slow" in report.headline
    assert all(word in report.headline for word in ("NFS", "a device that is not shown"))
    assert "ps -eo state,pid,wchan:32,cmd" in report.verdict.asks


def test_bursts_in_samples_of_unknown_length_are_not_late_on_any_class():
    row = load(100, 410, size=20, reads=0, util=30.0)
    text = iostat([{"sda": row}] * 3, {"%user": 3.0, "%iowait": 14.0, "%idle": 83.0}, cpus=8)
    untimed = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("11/20/26"))
    report = report_of(untimed, rules=["svctm-misread"])
    assert "far longer than on any class" not in report.headline
    assert report.verdict.severity == "notice"


@pytest.mark.parametrize(("depth", "severity"), [(0.95, "notice"), (0.05, "warning")])
def test_a_task_that_another_device_holds_does_not_wait_for_a_late_one(depth, severity):
    reader = load(2000, 1000 * depth / 2000, size=96, util=100 * min(depth, 0.93))
    late = load(60, 870, size=118, reads=0, util=61.0)
    cpu = {"%user": 8.0, "%iowait": 12.6, "%idle": 79.4}
    report = report_of(iostat([{"sda": reader, "sdc": late}] * 8, cpu, cpus=8), rules=["svctm-misread"])
    assert report.verdict.severity == severity


def test_the_sample_that_waited_longest_is_told_whatever_its_counter_of_the_queue_says():
    """Of two bursts the counter shows more in flight in the quicker one."""
    rows = (
        load(27, 58.2, size=269, reads=0, depth=9.0, util=18.0),
        load(47, 323.4, size=323, reads=0, depth=7.7, util=30.0),
    )
    headline = report_of(iostat([{"sdb": row} for row in rows])).headline
    assert "323.4 ms" in headline
    assert "58.2" not in headline


@pytest.mark.parametrize(("full", "state"), [(7, "open"), (1, "healthy")])
def test_a_disk_that_writes_at_its_own_speed_most_of_the_time_is_no_health(full, state):
    """A calmer sample shows what it gives while busy, and so its limit."""
    busy = load(150, 42, size=1170, reads=0, util=100.0)
    calm = load(60, 36, size=1170, reads=0, util=40.0)
    samples = [{"sdb": busy}] * full + [{"sdb": calm}] * (8 - full)
    report = report_of(iostat(samples), rules=["svctm-misread"])
    assert report.verdict.state == state
    assert ("which may be all that its medium or its link gives" in report.headline) is (state == "open")


BURST_BESIDE_READS = load(100, 210, size=450, reads=0, depth=24.0, util=45.0)
BURST_BESIDE_READS |= {"r/s": 500.0, "rkB/s": 60000.0, "r_await": 0.7, "aqu-sz": 21.4}
SOME_WAIT = {"%user": 4.0, "%iowait": 20.0, "%idle": 76.0}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [({}, True), ({"r_await": 60.0}, False), ({"w/s": 300.0, "wkB/s": 9600.0}, False)],
    ids=["quick reads", "reads wait as well", "small writes"],
)
def test_writes_that_alone_wait_in_a_burst_are_told_so(changes, is_told):
    text = report_of(iostat([{"sdb": BURST_BESIDE_READS | changes}] * 2, SOME_WAIT)).headline
    assert (
        "they alone wait (21.0 of the 21.4 in flight): a read beside them takes 0.7 ms" in text
    ) is is_told


@pytest.mark.parametrize(("kb", "is_asked"), [(400_000.0, False), (150_000.0, True)])
def test_the_kind_of_disk_is_not_asked_where_its_speed_is_no_spinning_disk_s(kb, is_asked):
    quick = load(1600, 0.8, size=kb / 1600, depth=1.3, util=99.0)
    text = report_of(iostat([{"sdb": BURST_BESIDE_READS}, {"sdb": quick}], SOME_WAIT)).headline
    assert text.startswith("Not determined: ")
    assert ("what kind of disk" in text) is is_asked


WRITES_IN_BURSTS = load(40, 320, size=300, reads=0, depth=8.0, util=30.0)


@pytest.mark.parametrize(
    ("changes", "iowait", "is_told"),
    [
        ({}, 0.2, True),
        ({}, 20.0, False),
        ({"r/s": 12.0, "rkB/s": 48.0, "r_await": 9.0}, 0.2, False),
        ({"%util": 90.0}, 0.2, False),
        ({"aqu-sz": 0.6, "w_await": 15.0}, 0.2, False),
    ],
    ids=["a flush", "tasks wait", "reads wait with it", "it is full", "two at a time"],
)
def test_bursts_of_writes_that_nobody_waits_for_are_a_flush(changes, iowait, is_told):
    cpu = {"%user": 20.0, "%iowait": iowait, "%idle": 80.0 - iowait}
    found = report_of(iostat([{"sdb": WRITES_IN_BURSTS | changes}] * 2, cpu))
    assert ("buffered writes that are flushed in bursts" in found.headline) is is_told
    if is_told:
        assert (found.verdict.state, found.verdict.severity) == ("open", "notice")


@pytest.mark.parametrize(
    ("seen", "is_missing"), [("$ iostat -x 1 5\nbash: iostat: command not found\n\n", True), ("", False)]
)
def test_what_a_host_does_not_have_is_not_advised(seen, is_missing):
    report = report_of(seen + "$ vmstat 2 5\n" + vmstat([{"b": 2, "wa": 80, "id": 0, "bi": 400}] * 5))
    finding = report.findings[0]
    said = " ".join((report.headline, report.verdict.asks, *finding.remedy, *finding.confirm))
    assert ("iostat -x" not in said and "pidstat" not in said) is is_missing
    assert ("cat /proc/diskstats; sleep 10" in said) is is_missing


def test_a_missing_iostat_beside_what_another_printed_is_no_matter():
    text = "bash: iostat: command not found\n\n" + iostat([{"sda": FULL}] * 5)
    assert "sleep 10; date" not in report_of(text).headline


@pytest.mark.parametrize(
    ("read", "written", "state"),
    [(45.0, 4.0, "open"), (9.0, 0.2, "healthy"), (45.0, 16.0, "healthy")],
    ids=["reads behind quick writes", "reads of a spindle beside a write cache", "one queue for both"],
)
def test_a_queue_does_not_excuse_reads_that_take_far_longer_than_writes(read, written, state):
    row = {"r/s": 12.0, "rkB/s": 36.0, "r_await": read, "w/s": 615.0, "wkB/s": 68_000.0, "w_await": written}
    depth = (12 * read + 615 * written) / 1000
    text = iostat([{"sda": row | {"aqu-sz": depth, "%util": 19.0}}] * 2, IDLE_CPU, step=5)
    report = report_of(text)
    assert report.verdict.state == state
    assert report.verdict.severity == ("notice" if state == "open" else None)


@pytest.mark.parametrize(
    ("others", "state"), [((), "open"), (((0, 300, "backup", 16_000.0),), "unknown")], ids=["one", "two"]
)
def test_one_process_that_reads_all_that_a_busy_device_gives_waits_for_it(others, state):
    disk = load(270, 7.9, size=119.0, util=97.0)
    head = "13:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s  Command\n"
    moved = 270 * 119.0 / (2 if others else 1)
    rows = [(999, 27458, "mysqld", moved), *others]
    text = head + "".join(f"13:00:02 {uid} {pid} {kb:.2f} 0.00 0.00 {name}\n" for uid, pid, name, kb in rows)
    report = report_of(iostat([{"sda": disk}] * 2), text)
    assert report.verdict.state == state
    if state == "open":
        assert report.verdict.severity == "warning"
        assert "mysqld reads 31.38 MB/s, all that sda gives" in report.headline


def test_what_the_cpus_did_is_told_beside_disks_that_are_not_timed():
    head = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 61.00 0.00 7.00 10.00 0.00 22.00\n\n"
    text = "".join(f"{cpu}{head}sda {139 + n}.00 7924.00 200.00 7924 200\n\n" for n in range(3))
    assert "the CPUs were 68 % busy, and iowait was 10.0 %" in report_of("$ iostat -y 1\n" + text).headline


@pytest.mark.parametrize(
    ("latency", "model", "state"),
    [
        (1.25, "Samsung PM9A3", "healthy"),  # within what a mean of so few classes tells
        (2.5, "Samsung PM9A3", "open"),
        (2.5, "Amazon Elastic Block Store", "healthy"),  # a volume with the name of NVMe
    ],
)
def test_one_write_at_a_time_on_nvme_is_held_against_what_serves_it(latency, model, state):
    row = load(470, latency, size=40.0, reads=0, depth=470 * latency / 1000, util=60.0)
    text = f"NAME    ROTA TYPE MODEL\nnvme0n1    0 disk {model}\n"
    assert state_of(iostat([{"nvme0n1": row}] * 4, IDLE_CPU), text, rules=["svctm-misread"]) == state


@pytest.mark.parametrize(
    ("changes", "cpu", "is_told"),
    [
        ({}, None, True),
        ({"r/s": 12.0, "rkB/s": 48.0, "r_await": 9.0}, None, False),
        ({"aqu-sz": 1.5, "w_await": 40.0}, None, False),
        ({}, {"%user": 20.0, "%iowait": 20.0, "%idle": 60.0}, False),
    ],
    ids=["writes alone", "reads wait with them", "a few at a time", "tasks are seen to wait"],
)
def test_bursts_of_writes_look_like_a_flush_where_nothing_counts_who_waits(changes, cpu, is_told):
    found = report_of(iostat([{"sdb": WRITES_IN_BURSTS | changes}] * 2, cpu))
    assert ("whether a task waits for them is not shown" in found.headline) is is_told
    assert ("`vmstat 1`, `pidstat -d 1`" in found.headline) is is_told


@pytest.mark.parametrize(
    ("samples", "minutes", "iowait", "idle", "is_calm"),
    [
        (12, 10, 0.07, 93.0, True),
        (6, 10, 0.07, 93.0, False),
        (12, 0, 0.07, 93.0, False),
        (12, 10, 0.4, 93.0, False),
        (12, 10, 0.07, 30.0, False),
    ],
    ids=["hours", "few samples", "short samples", "some wait", "busy CPUs"],
)
def test_hours_of_idle_cpus_that_wait_for_next_to_nothing_are_calm(samples, minutes, iowait, idle, is_calm):
    times = [
        f"{1 + n * minutes // 60:02}:{n * minutes % 60:02}:{0 if minutes else 2 * n:02}"
        for n in range(samples + 1)
    ]
    head = "     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    rows = [
        f"{time}     all  {100 - idle - iowait:8.2f} 0.00 0.00 {iowait:.2f} 0.00 {idle:.2f}\n"
        for time in times
    ]
    said = report_of(banner(16) + times[0] + head + "".join(rows[1:])).headline
    assert ("No trouble is visible" in said) is is_calm
    assert ("hardly anybody waits for I/O in 12 samples (iowait is at most 0.07 %" in said) is is_calm


def test_disk_rows_that_were_not_read_are_no_lack_of_disk_statistics():
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    cpu += "           1.00    0.00    1.00    0.50    0.00   97.50\n\n"
    rows = "Device            r/s     w/s     rkB/s     wkB/s  %util\nsda 1.0 2.0 3.0\nsdb 1.0 2.0 3.0\n"
    assert "it has no disk statistics that could be read; " in report_of(cpu + rows).headline
    assert "it has no disk statistics; " in report_of(cpu).headline


@pytest.mark.parametrize("beside", ["", "10:00:00 up 9 days, 1 user, load average: 40.20, 39.80, 38.00\n"])
def test_nfs_that_falls_silent_or_stands_beside_a_load_is_not_healthy(beside):
    numbers = {"reads": 108.0, "kb": 110592.0, "trip": 9.5, "whole": 9.54, "again": 0, "backlog": "0.00"}
    busy = NFS.format(ops="163.00", **numbers) + NFS_WRITES
    still = NFS.format(
        ops="0.00", **dict.fromkeys(("reads", "kb", "trip", "whole"), 0.0), again=0, backlog="0.00"
    )
    text = NFS.format(ops="0.17", **numbers | {"reads": 0.077, "kb": 78.848}) + NFS_WRITES + busy * 2
    assert (
        state_of(text + (busy if beside else still + NFS_WRITES), *([beside] if beside else [])) != "healthy"
    )
    assert state_of(text + busy) == "healthy"


@pytest.mark.parametrize(
    ("rate", "wait", "count", "severity"),
    [(12, 300.0, 5, "warning"), (12, 60.0, 5, "notice"), (12, 300.0, 2, "notice")],
    ids=["always", "most of the time", "two samples"],
)
def test_late_reads_that_are_in_flight_all_the_time_are_a_cost(rate, wait, count, severity):
    row = both(rate, wait, writes=800, util=35) | {"w_await": 0.5}
    assert report_of(iostat([{"sda": row}] * count)).verdict.severity == severity


def _of_processes(kb: float, samples: int = 4) -> str:
    head = "13:00:0{}      PID   kB_rd/s   kB_wr/s kB_ccwr/s  Command\n"
    row = "13:00:0{}     4711      0.00 {:9.2f}      0.00  collector\n\n"
    return "".join(head.format(n) + row.format(n + 1, kb) for n in range(samples))


@pytest.mark.parametrize(
    ("kb", "samples", "is_told"),
    [(90.0, 4, True), (90.0, 2, False), (21000.0, 4, False), (2600.0, 4, False)],
    ids=["next to nothing", "a moment", "all of it", "a part"],
)
def test_processes_that_account_for_next_to_nothing_are_told_beside_a_device(kb, samples, is_told):
    text = iostat([{"sda": load(600, 20.0, size=40, reads=0.5, util=90.0)}] * 2)
    report = report_of(text, _of_processes(kb, samples))
    assert report.verdict.state == "open"
    assert ("pidstat shows 90 kB/s of the 23.4" in report.headline) == is_told
    assert ("who asks is not in its list" in report.headline) == is_told


def test_processes_listed_beside_an_idle_device_account_for_it():
    assert "not in its list" not in report_of(iostat([{"sda": load(2, 1)}] * 4), _of_processes(0.5)).headline


@pytest.mark.parametrize(
    ("below", "is_told"),
    [
        (load(30, 70, size=4, util=97), True),
        (load(120, 22, size=1, util=97), True),
        (load(30, 22, size=4, util=97), False),
        (load(30, 70, size=4, util=60), False),
    ],
    ids=["most of the wait", "requests that it splits", "a quarter of it", "less busy"],
)
def test_a_layer_waits_for_the_disk_below_it_where_most_of_the_wait_is(below, is_told):
    stack = 'NAME="sda" KNAME="sda" PKNAME="" TYPE="disk" ROTA="1"\n'
    stack += 'NAME="vault" KNAME="dm-0" PKNAME="sda" TYPE="crypt" ROTA="1"\n'
    view = view_of(iostat([{"sda": below, "dm-0": load(30, 90, size=4, util=97)}]), stack)
    layer = view.series("dm-0")
    assert bool(carrier_clause(view, layer, states(layer)[0])) is is_told


UNCOUNTED = {"r/s": 110.0, "r_await": 9.0, "aqu-sz": 1.0, "%util": 100.0}


@pytest.mark.parametrize(
    ("beside", "is_told"),
    [
        ({"zd16": load(90, 9.0, size=480, util=90)}, True),
        ({"zd16": load(90, 9.0, size=300, util=90)}, False),
        ({"zd16": load(90, 9.0, size=480, util=90, reads=0)}, False),
        ({"zd16": load(90, 9.0, size=480, util=90), "sdb": load(90, 0.5)}, False),
        ({"sdb": load(90, 9.0, size=480, util=60)}, False),
        ({"zd16": load(90, 9.0, size=480), "sdb": load(90, 0.5), "sda": UNCOUNTED}, False),
    ],
    ids=["as much", "less", "the other way", "several disks", "no volume", "no bytes counted"],
)
def test_a_full_disk_that_moves_what_the_only_volume_does_limits_it(beside, is_told):
    cpu = {"%idle": 70.0, "%user": 5.0, "%iowait": 25.0}
    report = report_of(iostat([{"sda": load(400, 7.0, size=100, util=100)} | beside], cpu=cpu))
    assert report.verdict.state == "open"
    assert (
        "zd16 is at work beside it, and reads 42.19 MB/s, where sda reads 39.06 MB/s" in report.headline
    ) is is_told
    assert report.headline.startswith("Likely: " if is_told else "Not determined: ")


LATE_FLUSHES = load(20, 60, size=8, reads=0, util=60) | {"f/s": 12.0, "f_await": 90.0}


@pytest.mark.parametrize(
    ("before", "is_told"), [(load(90, 40, util=69), True), (load(20, 5, util=10), False)]
)
def test_trouble_that_the_average_since_boot_shows_as_well_is_told_in_the_headline(before, is_told):
    text, of_boot = (iostat([{"sda": row}] * 6) for row in (LATE_FLUSHES, before))
    day = "11/20/26 13:"
    head, first, *rest = text.split(day)
    average = of_boot.split(day)[2]
    first = first[: first.index("\n")] + average[average.index("\n") :]
    report = report_of(day.join([head, first, *rest]))
    assert report.verdict.state == "trouble"
    assert ("sda was 69 % busy on average since boot" in report.headline) is is_told


@pytest.mark.parametrize(("second", "is_told"), [(26_000, True), (900, False)])
def test_another_process_that_moves_a_part_of_all_is_named(second, is_told):
    head = banner() + "\n\n10:00:00 AM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    moved = {"lgwr": 56_000, "other": second, "small": 40}
    rows = "".join(
        f"10:00:02 AM     0      {n}      0.00  {kb:.2f}      0.00       0  {name}\n"
        for n, (name, kb) in enumerate(moved.items(), 100)
    )
    said = report_of(head + rows).headline
    assert "lgwr read 0 kB/s and wrote 56000 kB/s" in said.replace(",", "")
    assert ("other 26000 kB/s of that" in said.replace(",", "")) is is_told


def test_a_row_that_is_left_out_as_impossible_is_told_on_the_first_screen():
    head = "Device:            tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\n"
    rows = "sda 3.17 0.01 0.03 1536 8350\nsda 16090.13 7.85 7.83 9007199254739466 9007199254732696\n"
    text = report_of(head + rows).to_markdown()
    assert "**Not read:** a row of `sda` in `0.txt` (line 3: a counter ran below zero" in text


FIO = "w: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, "
FIO += "ioengine=sync, iodepth=1\n"
FIO += "...\nfio-3.12\nStarting 16 processes\n"
FIO += "Jobs: 16 (f=16): [W(16)][10.9%][w=3000MiB/s][w=3000 IOPS][eta 01h:17m:44s]\n\n"


@pytest.mark.parametrize(
    ("mb", "depth", "is_its"),
    [
        (3000, 62, True),
        (3600, 62, False),  # others ask as well
        (3000, 120, False),
        (300, 62, False),  # another device
    ],
)
def test_a_queue_that_a_load_generator_asks_for_is_no_trouble_by_itself(mb, depth, is_its):
    rate = 4.0 * mb
    row = load(rate, 1000 * depth / rate, size=256, reads=0, util=100)
    report = report_of(FIO + iostat([{"sda": row}], cpu={"%iowait": 90.0, "%idle": 5.0, "%user": 5.0}))
    assert ("in flight are its own queue" in report.headline) is is_its
    assert (report.verdict.state == "unknown" and report.verdict.severity is None) is is_its


@pytest.mark.parametrize(
    ("rates", "depth", "device", "kernel", "is_told"),
    [
        ((1490, 1505), (12, 12.2), "sdb", "6.1.0", True),
        ((1497,), (12,), "sdb", "6.1.0", False),  # one sample keeps to nothing
        ((1490, 1560), (12, 12.2), "sdb", "6.1.0", False),  # other rates
        ((1350, 1354), (12, 12.2), "sdb", "6.1.0", False),  # no number that limits have
        ((400, 403), (9, 9.1), "sdb", "6.1.0", False),  # may be the seeks of a disk
        ((1490, 1510) * 4, (12,) * 8, "sdb", "6.1.0", False),  # a meter is more exact
        ((1508, 1506, 1507, 1510, 1509), (12,) * 5, "sdb", "6.1.0", True),
        ((1490, 1505), (12, 15), "sdb", "6.1.0", False),  # nobody keeps so many
        ((1490, 1505), (12, 15), "sdb", "5.15.0-1041-azure", True),
        ((1490, 1505), (12, 15), "vdb", "6.1.0", True),
    ],
)
def test_a_rate_that_limits_have_is_suspected_where_they_are_usual_or_a_client_keeps_its_queue(
    rates, depth, device, kernel, is_told
):
    each = zip(rates, depth, strict=True)
    rows = [{device: load(rate, 1000 * held / rate, size=4, reads=0, util=99)} for rate, held in each]
    report = report_of(iostat(rows).replace("6.1.0", kernel))
    assert report.verdict.state == "open"
    assert (
        "1,500 IOPS is a round number, as settings are: a limit may hold it" in report.headline
    ) is is_told
    assert ("a limit keeps IOPS or MB/s" in report.verdict.asks) is is_told
    _, text = judged([finding("symptom", device=device)], iostat(rows).replace("6.1.0", kernel))
    assert ("No rule found the cause; it keeps to 1," in text) is is_told
    assert not any(f.role == "cause" for f in report.findings)


@pytest.mark.parametrize(
    ("sizes", "mib", "is_told"),
    [
        ((15.7, 16.0, 16.2, 15.5, 15.9, 16.3), 40.0, True),
        ((16.0,) * 6, 40.0, False),  # as many requests: what it can do, or what is asked
        ((15.7, 16.0, 16.2, 15.5, 15.9, 16.3), 43.3, False),
    ],
)
def test_bytes_that_two_runs_keep_to_while_requests_differ_are_suspected_of_a_limit(sizes, mib, is_told):
    kb = [1024 * mib * more for more in (1.001, 0.999, 1.0, 1.002, 0.998, 1.0)]
    each = list(zip(kb, sizes, strict=True))
    head = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    plain = [f"{head}sda {moved / size:.2f} 0.00 {moved:.2f} 0 {moved:.0f}\n" for moved, size in each[:3]]
    rows = [{"sda": load(moved / size, 2.6, size=size, reads=0, util=97)} for moved, size in each[3:]]
    report = report_of("$ iostat -y 1\n\n" + "\n".join(plain) + "\n$ iostat -xt 1\n" + iostat(rows))
    assert report.verdict.state == "open"
    assert ("in 6 samples), while IOPS ranged over" in report.headline) is is_told
    assert ("40 MiB/s is a round number" in report.headline) is is_told


@pytest.mark.parametrize(
    ("rate", "merged", "device", "is_told"),
    [
        (380, 230, "sdg", True),
        (380, 20, "sdg", False),  # not adjacent
        (150, 230, "sdg", False),  # a seek for each
        (380, 230, "nvme0n1", False),
    ],
)
def test_streams_that_take_turns_at_a_busy_disk_are_told_by_what_it_needs_for_each(
    rate, merged, device, is_told
):
    row = load(rate, 14, size=100, util=94, depth=0.014 * rate) | {"rrqm/s": merged}
    text = report_of(iostat([{device: row}] * 2, cpu={"%iowait": 45.0, "%idle": 50.0, "%user": 5.0})).headline
    assert ("bulk reads of several streams by turns" in text) is is_told


BARE = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"


@pytest.mark.parametrize(
    ("last", "state"), [("0.00 0.00 0.00 0.00", "unknown"), ("3.96 0.00 31.68 0.00", "healthy")]
)
def test_what_only_a_report_that_may_be_since_boot_shows_is_no_health(last, state):
    rows = ("4.87 3.18 81.02 20.06", "0.00 0.00 0.00 0.00", last)
    text = "".join(f"{BARE}sda {row} 0.40 0.30 {0.01 if row[0] != '0' else 0:.2f} 1.00\n\n" for row in rows)
    report = report_of(text, DISK)
    assert report.verdict.state == state
    assert ("may be the average since boot" in report.headline) == (state == "unknown")


BURSTS = [
    *[load(830, 106, size=4, reads=0, util=6.0)] * 4,
    *[load(2470, 68, size=4, reads=0, util=22.0)] * 2,
    load(5200, 106, size=4, reads=0, util=34.0),
    load(1340, 216, size=4, reads=0, util=8.6),
    load(2720, 225, size=7, reads=0.4, util=41.0),
]


def test_what_holds_in_all_states_of_a_device_is_told_of_all_of_them():
    state = max(
        states(view_of(iostat([{"dm-2": row} for row in BURSTS])).series("dm-2")), key=lambda s: s.held
    )
    assert state.samples == 1
    text = report_of(iostat([{"dm-2": row} for row in BURSTS])).headline
    assert "has requests waiting in its queue (9 of 9 samples: " in text
    assert "up to 225 ms in a sample)" in text
    calm = [load(200, 0.6, size=4, reads=0)] * 3
    text = report_of(iostat([{"dm-2": row} for row in (*BURSTS, *calm)])).headline
    assert "has requests waiting in its queue (9 of 12 samples: " in text


def test_a_state_of_most_samples_stands_for_what_holds_in_them():
    row = load(150, 90, size=8, reads=0.5, util=100.0)
    text = report_of(iostat([{"sda": row}] * 6 + [{"sda": load(150, 300, size=8, reads=0.5)}]), DISK).headline
    assert "in a sample)" not in text


@pytest.mark.parametrize(("depth", "is_told"), [(0.43, True), (1.2, False)])
def test_a_healthy_device_whose_util_cannot_be_true_is_not_called_busy_alone(depth, is_told):
    rows = [
        load(13500, 0.1, size=16, depth=1.4, util=100.0),
        load(4400, 0.1, size=16, depth=depth, util=100.0),
    ]
    report = report_of(iostat([{"nvme1n1": row} for row in rows]))
    assert report.verdict.state == "healthy"
    said = "its %util is inflated: it shows 100 % with 0.43 requests in flight, which is 43 % at the most"
    assert (said in report.headline) == is_told == ("inflated" in report.headline)


def test_of_disks_alike_the_one_that_holds_most_is_named_with_what_all_hold_at_once():
    """Three requests on each of five disks while they are busy, as a client keeps them."""
    busy = {"sda": 75.0, "sdb": 94.0, "sdc": 98.0, "sdd": 79.0, "sde": 96.0}
    row = {name: load(160, 17.5, size=36, depth=3 * util / 100, util=util) for name, util in busy.items()}
    headline = report_of(iostat([row], {"%iowait": 12.0, "%idle": 84.0})).headline
    assert "sdc (sda, sdb, sdd, and 1 more alike) has requests waiting" in headline
    assert "typical of a spinning disk that is full; all 5 hold 3 at once" in headline
    row["sda"] = load(160, 17.5, size=36, depth=2.6 * 0.75, util=75.0)
    assert "at once" not in report_of(iostat([row], {"%iowait": 12.0, "%idle": 84.0})).headline


def test_averages_of_processes_alone_are_of_a_run_and_say_who_moved_most():
    head = "Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    rows = "Average:        0       71      0.00  74142.00      0.00       0  archiver\n"
    headline = report_of(
        head + rows + rows.replace("71", "72").replace("74142", "   40").replace("archiver", "logger")
    ).headline
    assert "it has only averages over a run, and no disk statistics; archiver read 0 kB/s" in headline
    assert "wrote 74,142 kB/s" in headline
    assert "since boot" not in headline


@pytest.mark.parametrize(("day", "is_of_that_time"), [("04/21/2018", True), ("04/05/2018", False)])
def test_what_cpus_did_on_another_day_shows_nothing_of_the_disks(day, is_of_that_time):
    banner = "Linux 4.4.0 (client1) \t{}\t_x86_64_\t(4 CPU)\n\n"
    cpus = "02:35:{}  PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    tasks = "02:35:{}  PM   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n"
    disks = "02:35:11 PM DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
    text = banner.format(day) + cpus.format(11)
    text += "".join(f"02:35:{n} PM     all   0.00  0.00  0.25  0.00  0.00 99.75\n" for n in (13, 15))
    text += "\n" + tasks.format(11)
    text += "".join(
        f"02:35:{n} PM         0       246      0.01      0.02      0.00         0\n" for n in (13, 15)
    )
    text += "\n" + banner.format("04/21/2018") + disks
    text += "02:35:13 PM  dev253-0   1.50   0.00   428.00   285.33   0.26   174.67   174.67   26.20\n"
    text += "02:35:15 PM  dev253-0   7.00   0.00    56.00     8.00   0.00     0.00     0.00    0.00\n"
    headline = report_of(text).headline
    assert ("nobody waits for I/O" in headline) == is_of_that_time


@pytest.mark.parametrize(
    ("rate", "wait", "state"),
    [(7, 6.3, "healthy"), (20, 6.3, "unknown")],
    ids=["hardly ever one in flight", "now and then one in flight"],
)
def test_a_few_requests_on_an_idle_device_take_no_all_clear_away(rate, wait, state):
    row = load(rate, wait, size=51, util=rate * wait / 10)
    beside = load(rate * 51 / 128, 0.5, size=128)
    report = report_of(iostat([{"sda": row, "sdb": beside}] * 3, cpu=IDLE_CPU), skip_rules=["slow-member"])
    assert report.verdict.state == state
    # which are larger than those that took longer
    assert ("0.5 ms for requests of 128.0 kB" in report.headline) is (state == "unknown")


def test_whom_tasks_wait_for_is_of_a_report_that_counts_who_waits():
    even = load(72, 15, size=300, reads=0, depth=1.1, util=49)
    late = load(101, 30, size=174, reads=0, depth=3.1, util=60)
    waits = {"%iowait": 22.0, "%idle": 70.0, "%user": 8.0}
    text = iostat([{"sda": even, "sdb": even}, {"sda": late, "sdb": even}], cpu=waits)
    begin, _, last = text.rpartition("avg-cpu:")
    without = begin + last[last.index("Device") :]
    whole, cut = report_of(text), report_of(without)
    assert "sda is what tasks may wait for" in whole.headline
    assert "is what tasks may wait for" not in cut.headline
    assert "iowait is 22 %" in cut.headline


def test_alike_is_what_took_as_long_in_the_same_report():
    waits = {"%iowait": 22.0, "%idle": 70.0, "%user": 8.0}
    late, even = (load(90, ms, size=200, reads=0, depth=0.09 * ms, util=60) for ms in (40, 14))
    together = report_of(iostat([{"sda": late, "sdb": late}, {"sda": even, "sdb": even}], cpu=waits))
    by_turns = report_of(iostat([{"sda": late, "sdb": even}, {"sda": even, "sdb": late}], cpu=waits))
    assert "(sdb alike)" in together.headline
    assert "alike)" not in by_turns.headline


def test_a_layer_whose_disk_moves_as_much_is_told_as_one_stream():
    rows = {"dm-0": {"tps": 86653, "kB": 400992}, "nvme1n1": {"tps": 85854, "kB": 397796}}
    text = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n" + "".join(
        f"{name} {row['tps']}.00 0.00 {row['kB']}.00 0 {row['kB']}\n" for name, row in rows.items()
    )
    report = report_of(f"$ iostat -d -y 1 1\n\n{text}")
    assert "nvme1n1 moves as much within 1 %: it is probably the disk below it" in report.headline


LAYER = {"w/s": 2032.9, "wkB/s": 8131.6, "w_await": 161.4, "aqu-sz": 328.1, "%util": 9.5}
BELOW = {"w/s": 47.5, "wkB/s": 8131.6, "w_await": 34.05, "wrqm/s": 1985.4, "aqu-sz": 1.63, "%util": 9.5}


@pytest.mark.parametrize(
    ("layer", "below", "state"),
    [
        ({}, {}, "healthy"),
        ({"%util": 60.0}, {}, "open"),
        ({"w/s": 100.0, "aqu-sz": 16.1}, {}, "unknown"),
        ({}, {"w_await": 800.0, "aqu-sz": 38.0, "%util": 95.0}, "trouble"),
    ],
    ids=["merged", "longer than its disk", "hardly merged", "a disk that is full"],
)
def test_writes_that_the_disk_merges_tell_nothing_of_the_layer_above(layer, below, state):
    rows = {"sdy": BELOW | below, "dm-26": LAYER | layer}
    if "%util" in below:
        rows["dm-26"] = rows["dm-26"] | {"%util": below["%util"]}
    assert report_of(iostat([rows] * 3)).verdict.state == state
