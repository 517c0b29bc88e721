"""Where rate times latency contradicts the counter of the queue, no rule rests on the counter."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from iodiag.rules import all_rules
from property_tests import examples
from rules.conftest import analyzed
from writers.captures import iostat

OF_COUNTERS = ("counter-anomaly", "util-sampling-bias", "svctm-misread")
RULES = [rule for rule in all_rules() if rule not in OF_COUNTERS]
WAY = st.tuples(st.floats(1, 3000), st.sampled_from([4, 16, 128, 512]), st.floats(0.1, 900))


def row(reads, writes, util, counted=1.0):
    held = (reads[0] * reads[2] + writes[0] * writes[2]) / 1000
    found = {"aqu-sz": counted * held, "%util": min(100.0, max(util, 0.0), 100 * held)}
    for name, (rate, size, wait) in (("r", reads), ("w", writes)):
        found |= {f"{name}/s": rate, f"{name}kB/s": rate * size, f"{name}_await": wait}
    return found


def said(samples):
    report = analyzed(iostat(samples), rules=RULES)
    return [(f.rule, f.severity, f.confidence, f.devices) for f in report.findings], report


# a lone sample may be of a backlog that drains, whose queue is less than rate times latency
@examples(40)
@given(st.lists(st.tuples(WAY, WAY, st.floats(5, 100)), min_size=2, max_size=5), st.floats(0.01, 0.5))
def test_a_counter_that_is_too_low_adds_no_finding_and_hides_none_in_silence(rows, counted):
    right, _ = said([{"sda": row(*one)} for one in rows])
    wrong, report = said([{"sda": row(*one, counted)} for one in rows])
    assert not set(wrong) - set(right)
    status = {outcome.rule: outcome.status for outcome in report.outcomes}
    assert {status[lost] for lost, *_ in set(right) - set(wrong)} <= {"undetermined"}
    assert "error" not in status.values()


@pytest.mark.parametrize("counted", [1.0, 0.03])
def test_a_card_whose_kernel_loses_most_of_its_queue_is_full(counted):
    """Kernels 4.19 and 4.20: 97 writes wait 2.9 s each, and the counter shows two or three."""
    one = {"mmcblk0": row((0, 4, 0), (33, 512, 2900), 99.0, counted)}
    report = analyzed(iostat([one] * 4))
    first = report.findings[0]
    assert (first.rule, first.severity, first.devices) == ("true-saturation", "warning", ("mmcblk0",))
    assert "95.70 requests queue" in first.summary
    others = [f.summary for f in report.findings if f.rule not in OF_COUNTERS]
    assert not any("2.87 in flight" in text or "throughput is left" in text for text in others)


def test_one_sample_that_ends_a_stall_is_left_as_it_is():
    """Requests that waited before their sample make more by rate times latency than were ever in flight."""
    stall = [{"sda": {"aqu-sz": 32.0, "%util": 100.0}}] * 6
    end = {"sda": {"r/s": 32, "rkB/s": 128, "r_await": 6500, "aqu-sz": 16.0, "%util": 60.0}}
    report = analyzed(iostat([{"sda": row((100, 4, 5), (1, 4, 1), 50)}] * 5 + [*stall, end]))
    assert not any("208.0 in flight" in f.summary for f in report.findings)


OF_LOAD = ("true-saturation", "approaching-saturation", "volume-cap", "queue-limit", "low-concurrency-bound")


@examples(40)
@given(st.lists(st.tuples(WAY, WAY, st.just(97.0)), min_size=1, max_size=5), st.floats(20, 200))
def test_a_counter_that_is_far_too_high_makes_no_device_full(rows, counted):
    rows = [((a[0], a[1], a[2] % 2), (b[0], b[1], b[2] % 2), util) for a, b, util in rows]
    # less than one more may be flushes that are not printed
    assume(all(row(*one, counted - 3)["aqu-sz"] > 1.1 for one in rows))
    # of a busy share that rate times latency nearly bears out either may be the one that is a little off
    assume(not any(0.8 < row(*one)["aqu-sz"] < 0.95 for one in rows))
    right, _ = said([{"sda": row(*one) | {"%util": 97.0}} for one in rows])
    wrong, _ = said([{"sda": row(*one, counted) | {"%util": 97.0}} for one in rows])
    assert {found for found in wrong if found[0] in OF_LOAD} <= set(right)


@pytest.mark.parametrize(
    ("counted", "in_flight", "is_biased"),
    [
        (0.58, 1.0, False),  # rate times latency bears the busy share out: the queue is the wrong one
        (0.95, 0.95, False),  # as near as two counters are
    ],
)
def test_of_three_numbers_the_one_is_wrong_that_both_others_contradict(counted, in_flight, is_biased):
    text = iostat([{"sdk": row((0, 4, 0), (400, 12, 2.5), 100.0, counted)}] * 2)
    report = analyzed(text, rules=["util-sampling-bias", "low-concurrency-bound"])
    assert ("util-sampling-bias" in {f.rule for f in report.findings}) == is_biased
    assert "low-concurrency-bound" in {f.rule for f in report.findings}
    assert report.states[0].in_flight == pytest.approx(in_flight, abs=0.01)


def test_a_busy_share_that_both_others_contradict_stays_the_wrong_one():
    text = iostat([{"sdk": row((0, 4, 0), (400, 12, 1.0), 100.0) | {"%util": 100.0}}] * 3)
    report = analyzed(text, rules=["util-sampling-bias"])
    assert [f.rule for f in report.findings] == ["util-sampling-bias"]


@pytest.mark.parametrize(
    ("mixed", "queue", "util", "latency"),
    [
        (0.2, 0.2, 70.0, 1.28),  # neither is possible beside the parts and so busy a device
        (0.2, 0.2, 15.0, 0.2),  # the queue and the busy share bear it out: a part is the misprint
        (1.28, 1.28, 70.0, 1.28),
    ],
)
def test_a_latency_of_all_requests_outside_of_its_parts_is_made_of_them(mixed, queue, util, latency):
    head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    line = "sdk 0.00 0.00 800.00 200.00 32000.00 16000.00 96.00 "
    line += f"{queue:.2f} {mixed:.2f} 0.60 4.00 0.70 {util:.2f}\n\n"
    report = analyzed("$ iostat -xy 1\n\n" + (head + line) * 3, rules=["counter-anomaly"])
    assert report.states[0].latency_ms == pytest.approx(latency, abs=0.01)
    assert report.states[0].in_flight * min(1, report.states[0].busy_pct / 100) >= 0.149
    assert bool(report.findings) == (mixed == 0.2)
