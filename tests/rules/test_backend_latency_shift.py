from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "backend-latency-shift"


def load(wait, rate, depth, size=4.0, direction="r"):
    other = "w" if direction == "r" else "r"
    return {
        f"{direction}/s": rate,
        f"{direction}kB/s": rate * size,
        f"{direction}_await": wait,
        f"{other}/s": 0.0,
        "aqu-sz": depth,
        "%util": 99.0,
    }


def capture(before, after, cpu=None, count=40):
    return iostat([{"sda": before}] * count + [{"sda": after}] * count, cpu)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


STEADY = load(10.0, 1600.0, 16.0)


def test_a_lasting_step_at_the_same_demand_fires(report_of):
    finding = only(report_of(capture(STEADY, load(40.0, 400.0, 16.0)), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert finding.evidence[0].values["ratio"] == pytest.approx(4.0)
    assert "13:00:41" in finding.summary
    assert finding.samples == (40, 79)


def test_the_samples_of_a_stall_are_on_no_side_of_a_step(report_of):
    def rows(wait, late):
        return [load(wait, 120.0, 0.12 * wait)] * 20 + [load(late, 40.0, 0.04 * late)] * 2

    for after, late, is_told in ((3.0, 1500.0, False), (3.0, 15.0, False), (8.0, 1500.0, True)):
        samples = [{"sda": row} for row in (*rows(2.0, 600.0), *rows(after, late))]
        finding = only(report_of(iostat(samples), rules=[RULE]))
        assert bool(finding) == is_told
        assert finding is None or "2 ms before, 8 ms after" in finding.summary


@pytest.mark.parametrize(
    ("reads", "is_apart"), [(3.2, True), (6.0, False)], ids=["of writes alone", "of both alike"]
)
def test_a_step_of_one_direction_is_told_of_it(report_of, reads, is_apart):
    def row(read, write):
        rates = {"r/s": 60.0, "rkB/s": 480.0, "w/s": 50.0, "wkB/s": 200.0, "%util": 30.0}
        return rates | {"r_await": read, "w_await": write, "aqu-sz": (60 * read + 50 * write) / 1000}

    finding = only(report_of(capture(row(2.6, 2.0), row(reads, 6.0)), rules=[RULE]))
    told = "reads 2.60 and 3.20 ms, writes 2 and 6 ms"
    assert (told in finding.summary) == is_apart


@pytest.mark.parametrize(
    ("after", "cpu"),
    [
        (load(15.0, 1066.0, 16.0), None),
        (load(40.0, 1600.0, 64.0), None),
        (load(5.0, 3200.0, 16.0), None),
        (load(40.0, 400.0, 16.0, size=128.0), None),
        (load(40.0, 400.0, 16.0, direction="w"), None),
        (load(40.0, 400.0, 16.0), {"%user": 20.0, "%steal": 20.0, "%idle": 60.0}),
    ],
    ids=["too small", "deeper queue", "quicker", "larger requests", "other direction", "steal"],
)
def test_other_changes_do_not(report_of, after, cpu):
    assert only(report_of(capture(STEADY, after, cpu), rules=[RULE])) is None


def test_a_spike_is_no_step(report_of):
    text = iostat([{"sda": STEADY}] * 40 + [{"sda": load(40.0, 400.0, 16.0)}] * 6 + [{"sda": STEADY}] * 40)
    assert only(report_of(text, rules=[RULE])) is None


def since_boot(average, now, devices=("sda", "sdb"), count=3):
    """A capture whose first report, since boot, has a row of each device."""
    text = iostat([dict.fromkeys(devices, average)] + [dict.fromkeys(devices, now)] * count)
    banner, _, rest = text.partition("11/20/26 13:00:00\n")
    _, _, rows = rest.partition("11/20/26 13:00:01\n")
    return f"{banner}11/20/26 13:00:00\n{rows}"


AVERAGE = {"r/s": 95.3, "rkB/s": 10483.0, "r_await": 2.2, "w/s": 640.7, "wkB/s": 6407.0, "w_await": 0.6}
AVERAGE |= {"aqu-sz": 0.59, "%util": 41.7}
NOW = {"r/s": 160.0, "rkB/s": 16000.0, "r_await": 10.0, "w/s": 120.0, "wkB/s": 960.0, "w_await": 0.8}
NOW |= {"aqu-sz": 1.7, "%util": 78.0}


@pytest.mark.parametrize(
    ("average", "now", "devices", "is_told"),
    [
        ({}, {}, ("sda", "sdb"), True),
        ({}, {}, ("sda",), False),
        ({}, {"r_await": 5.0}, ("sda", "sdb"), False),
        ({}, {"rkB/s": 2560.0}, ("sda", "sdb"), False),
        ({}, {"w/s": 900.0, "wkB/s": 9000.0}, ("sda", "sdb"), False),
        ({}, {"aqu-sz": 6.0}, ("sda", "sdb"), False),
        ({"r_await": 9.0}, {"r_await": 30.0}, ("sda", "sdb"), False),
        ({}, {"r/s": 8.0, "rkB/s": 800.0}, ("sda", "sdb"), False),
    ],
    ids=["slower", "one device", "a little", "other sizes", "more asked", "a queue", "a spindle", "few"],
)
def test_devices_that_are_slower_than_on_average_since_boot(report_of, average, now, devices, is_told):
    finding = only(report_of(since_boot(AVERAGE | average, NOW | now, devices), rules=[RULE]))
    assert (finding is not None) == is_told
    if is_told:
        assert (finding.severity, finding.confidence) == ("notice", "low")
        assert finding.devices == ("sda", "sdb")
        assert "reads of 100 kB take 10 ms, and 2.20 ms on average since boot" in finding.summary


def of_both(wait, rate=80.0, reads=0.5, util=None):
    """Reads and writes of 8 kB that share one latency, as sar and older iostat print it."""
    row = {"tps": rate, "rkB/s": 8 * rate * reads, "wkB/s": 8 * rate * (1 - reads), "areq-sz": 8.0}
    return row | {"aqu-sz": rate * wait / 1000, "await": wait, "%util": util or 0.09 * rate * wait}


def of_both_capture(before, after, count=7):
    wobble = (0.97, 1.0, 1.04, 0.99, 1.02, 0.96, 1.03)
    rows = [
        of_both(**(kind | {"wait": kind["wait"] * wobble[n % 7]})) for kind in before for n in range(count)
    ]
    rows += [
        of_both(**(kind | {"wait": kind["wait"] * wobble[n % 7]})) for kind in after for n in range(count)
    ]
    return sar_d([{"sda": row} for row in rows])


@pytest.mark.parametrize("util", [None, 60.0], ids=["util exact", "util by ticks"])
def test_a_step_in_the_latency_of_reads_and_writes_together_leaves_the_verdict_open(report_of, util):
    text = of_both_capture([{"wait": 1.1, "util": util}], [{"wait": 3.0, "util": util}])
    report = report_of(text)
    finding = only(report)
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert report.verdict.state == "open"
    assert "sda became slower" in report.headline
    assert any("one latency for both" in text for text in finding.cannot_know)


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (0.1, 0.31, "open"),
        (0.1, 0.2, "healthy"),
        (4.0, 7.5, "open"),
        (4.0, 5.4, "open"),
        (4.0, 4.8, "healthy"),
    ],
    ids=["three times", "twice, below the quickest class", "nearly twice", "by a third", "less"],
)
def test_a_step_to_three_times_at_the_same_load_is_never_healthy(report_of, before, after, state):
    assert report_of(of_both_capture([{"wait": before}], [{"wait": after}])).verdict.state == state


def test_more_in_flight_at_the_rate_that_left_time_to_spare_is_the_device(report_of):
    slow = load(4.3, 380.0, 1.7) | {"%util": 80.0}
    calm = load(1.45, 380.0, 0.55) | {"%util": 42.0}
    assert only(report_of(capture(calm, slow, count=7))).severity == "notice"
    full = load(1.45, 380.0, 0.55) | {"%util": 99.0, "aqu-sz": 4.0, "r_await": 10.5}
    assert only(report_of(capture(full, full | {"aqu-sz": 16.0, "r_await": 42.0}, count=7))) is None


@pytest.mark.parametrize(
    "after",
    [{"wait": 3.3, "rate": 190.0}, {"wait": 3.3, "reads": 0.75}],
    ids=["more requests", "another mix"],
)
def test_a_step_with_another_load_is_none_of_the_device(report_of, after):
    assert only(report_of(of_both_capture([{"wait": 1.1}], [after]))) is None


def test_a_step_by_half_within_what_samples_scatter_by_is_none_and_two_latencies_need_more(report_of):
    wobble = (0.8, 1.25, 0.9, 1.1, 0.7, 1.3, 0.95)
    rows = [of_both(wait * part) for wait in (4.0, 5.6) for part in wobble]
    assert only(report_of(sar_d([{"sda": row} for row in rows]))) is None
    apart = report_of(capture(load(4.0, 80.0, 0.32), load(6.0, 80.0, 0.48), count=7))
    assert only(apart) is None


def test_a_small_step_counts_at_an_equal_rate_alone(report_of):
    fewer = {"wait": 5.6, "rate": 60.0}
    assert only(report_of(of_both_capture([{"wait": 4.0}], [fewer]))) is None
    assert only(report_of(of_both_capture([{"wait": 4.0}], [fewer | {"wait": 8.0}])))


def test_a_rate_that_chance_makes_greater_is_no_more_load(report_of):
    text = of_both_capture([{"wait": 4.0, "rate": 15.0}], [{"wait": 7.0, "rate": 17.5}])
    assert only(report_of(text)).severity == "notice"


def test_samples_that_scatter_as_much_as_they_step_show_none(report_of):
    rows = [of_both(wait) for wait in (2, 6, 3, 9, 2.5, 7, 3, 8, 4, 11, 5, 12, 6, 4)]
    assert only(report_of(sar_d([{"sda": row} for row in rows]))) is None
