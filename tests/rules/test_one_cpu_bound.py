from __future__ import annotations

import pytest

from writers.captures import banner, clock, iostat, mpstat

RULE = "one-cpu-bound"
FULL, CALM = (1.0, 17.0, 80.0), (2.0, 6.0, 4.0)


def sar(samples, cpus=4):
    """`sar -u ALL -P ALL -d`: a sample is the last CPU's shares and the disk's (rate, latency, size)."""
    shares = "%usr %nice %sys %iowait %steal %irq %soft %guest %gnice %idle"
    disk = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"
    text = banner(cpus)
    for number, ((user, system, soft), (rate, wait, size)) in enumerate(samples, 1):
        each = [(2.0, 1.0, 0.0)] * cpus
        each[-1] = (user, system, soft)
        rows = {"all": [sum(column) / cpus for column in zip(*each, strict=True)]}
        rows |= {str(place): row for place, row in enumerate(each)}
        text += f"{clock(number - 1)} CPU {shares}\n"
        for name, (usr, own, soft_pct) in rows.items():
            idle = 100 - usr - own - soft_pct
            text += (
                f"{clock(number)} {name} {usr:.2f} 0.00 {own:.2f} 0.00 0.00 0.00 {soft_pct:.2f} 0.00 0.00 "
            )
            text += f"{idle:.2f}\n"
        text += (
            f"\n{clock(number - 1)} {disk}\n{clock(number)} nvme0n1 {rate:.2f} {rate * size:.2f} 0.00 0.00 "
        )
        text += f"{size:.2f} {rate * wait / 1000:.2f} {wait:.2f} 99.00\n\n"
    return text


BOUND = (24000.0, 1.2, 4.0)


def only(report):
    (finding,) = [f for f in report.findings if f.rule == RULE]
    return finding


def status(report):
    assert not [f for f in report.findings if f.rule == RULE]
    return next(o for o in report.outcomes if o.rule == RULE)


def test_interrupts_that_fill_one_cpu_hold_the_rate(report_of):
    finding = only(report_of(sar([(FULL, BOUND)] * 8)))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "high", ("nvme0n1",))
    assert "CPU 3 is 97 % busy in the kernel" in finding.summary
    assert "24,000 requests/s" in finding.summary


@pytest.mark.parametrize(("count", "sure"), [(1, "medium"), (2, "medium"), (6, "high")])
def test_a_cpu_full_of_interrupts_needs_no_second_sample(report_of, count, sure):
    finding = only(report_of(sar([(FULL, BOUND)] * count), rules=[RULE]))
    assert finding.confidence == sure
    assert ("±" in finding.evidence[1].text) == (count > 1)


def test_one_sample_without_a_queue_does_not_hide_the_others(report_of):
    """Such as averages since boot that nothing marks."""
    finding = only(report_of(sar([(FULL, (3600.0, 0.4, 4.0)), *[(FULL, BOUND)] * 8]), rules=[RULE]))
    assert finding.samples == (1, 8)


def test_two_samples_of_a_kernel_thread_are_a_suspicion(report_of):
    finding = only(report_of(sar([((1.0, 97.0, 0.0), BOUND)] * 2), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_a_kernel_thread_is_less_sure_since_it_may_poll(report_of):
    finding = only(report_of(sar([((1.0, 97.0, 0.0), BOUND)] * 8)))
    assert finding.confidence == "medium"
    assert any("may poll" in e.text and e.weighs == "against" for e in finding.evidence)


def test_mpstat_beside_iostat_tells_when_the_cpu_is_always_full(report_of):
    row = {"r/s": 24000.0, "rkB/s": 96000.0, "r_await": 1.2, "aqu-sz": 28.8, "%util": 100.0}
    disk = iostat([{"nvme0n1": row}] * 8)
    assert only(report_of(disk, mpstat([FULL] * 8))).devices == ("nvme0n1",)
    assert status(report_of(disk, mpstat([FULL, CALM] * 4))).status == "undetermined"


@pytest.mark.parametrize(
    ("samples", "expected", "words"),
    [
        ([(CALM, BOUND)] * 8, "clear", "no CPU by itself"),
        ([(FULL, (24000.0, 0.1, 4.0))] * 8, "undetermined", "no device"),
        ([(FULL, (100.0, 90.0, 4.0))] * 8, "undetermined", "no device"),
        ([(FULL, BOUND)] * 3 + [(FULL, (24000.0, 0.1, 4.0))] * 5, "undetermined", "no device"),
        ([(FULL, BOUND), (FULL, (12000.0, 1.2, 4.0))] * 4, "undetermined", "polls"),
        ([(FULL, BOUND)] * 4 + [(CALM, BOUND)] * 4, "undetermined", "something else"),
    ],
    ids=["calm", "no queue", "few requests", "a queue at times", "a poller", "a limit"],
)
def test_what_does_not_show_it(report_of, samples, expected, words):
    outcome = status(report_of(sar(samples), rules=[RULE]))
    assert outcome.status == expected
    assert words in outcome.reason


def test_a_host_of_one_cpu_has_no_other(report_of):
    assert status(report_of(sar([(FULL, BOUND)] * 8, cpus=1), rules=[RULE])).status == "not_applicable"


def test_without_single_cpus_nothing_is_said(report_of):
    row = {"r/s": 24000.0, "rkB/s": 96000.0, "r_await": 1.2, "aqu-sz": 28.8, "%util": 100.0}
    cpu = {"%user": 2.0, "%system": 25.0, "%idle": 73.0}
    assert status(report_of(iostat([{"nvme0n1": row}] * 8, cpu), rules=[RULE])).status == "not_applicable"


@pytest.mark.parametrize(
    ("full", "told"),
    [((11.0, 89.0, 0.0), "undetermined"), ((60.0, 40.0, 0.0), "clear"), ((2.0, 80.0, 0.0), "clear")],
    ids=["no time left", "user work", "time left"],
)
def test_a_cpu_without_idle_time_that_is_mostly_in_the_kernel_is_not_cleared(report_of, full, told):
    outcome = status(report_of(sar([(full, BOUND)] * 3), rules=[RULE]))
    assert outcome.status == told
    assert ("CPU 3 was 89 % in the kernel and had no idle time" in outcome.reason) is (told == "undetermined")
