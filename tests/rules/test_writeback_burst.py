from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d, vmstat

RULE = "writeback-burst"
CALM = {
    "r/s": 50.0,
    "rkB/s": 800.0,
    "r_await": 2.0,
    "w/s": 5.0,
    "wkB/s": 100.0,
    "w_await": 1.0,
    "aqu-sz": 0.1,
    "%util": 9.0,
}
FLOOD = CALM | {"w/s": 400.0, "wkB/s": 90000.0, "w_await": 60.0, "aqu-sz": 24.0, "%util": 99.0}


READS_WAIT = {"r/s": 60.0, "rkB/s": 240.0, "w/s": 90.0, "wkB/s": 33_000.0, "w_await": 30.0, "aqu-sz": 19.5}
"""A flood by its kB; but reads hold the queue, and of writes no more than three are in flight."""
LONG_CALM = {"tps": 60.0, "wkB/s": 900.0, "areq-sz": 15.0, "aqu-sz": 0.3, "await": 5.0, "%util": 20.0}
LONG_LOAD = {
    "tps": 230.0,
    "rkB/s": 40_000.0,
    "wkB/s": 50_000.0,
    "aqu-sz": 180.0,
    "await": 770.0,
    "%util": 99.0,
}


def capture(read_wait=30.0, bursts=4, flood=FLOOD, apart=14):
    one = [{"sda": CALM}] * apart + [{"sda": flood | {"r_await": read_wait}}] * 2
    return iostat(one * bursts)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_reads_behind_floods_of_writes(report_of):
    finding = only(report_of(capture(), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "high", ("sda",))
    values = {k: v for item in finding.evidence for k, v in item.values.items()}
    assert values["count"] == 4
    assert values["harm"] == pytest.approx(15.0)
    assert values["period"] == pytest.approx(16.0)


def test_floods_that_nobody_waits_for_are_only_told(report_of):
    finding = only(report_of(capture(read_wait=2.0), vmstat([{"b": 0}] * 60), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "medium")


def test_a_burst_of_reads_and_writes_alike_is_load_and_no_flood(report_of):
    """Reads that grow with the writes wait for themselves as well."""
    burst = FLOOD | {"r/s": 200.0, "rkB/s": 3200.0, "w_await": 4.0}
    assert only(report_of(capture(read_wait=6.0, flood=burst), rules=[RULE])) is None


def test_one_flood_is_enough_where_reads_plainly_wait(report_of):
    finding = only(
        report_of(iostat([{"sda": CALM}] * 3 + [{"sda": FLOOD | {"r_await": 30.0}}]), rules=[RULE])
    )
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "one flood of writes (in 1 of 4 samples" in finding.summary


def test_floods_in_most_samples_are_held_against_the_calm_ones(report_of):
    """A paste: three samples of quick reads, then four in which 30,000 writes/s fill the queue."""
    calm = {"r/s": 6300.0, "w/s": 337.0, "rkB/s": 52000.0, "wkB/s": 4400.0, "r_await": 0.2, "w_await": 2.6}
    calm |= {"aqu-sz": 2.1, "%util": 90.0}
    flood = {"r/s": 60.0, "w/s": 29000.0, "rkB/s": 900.0, "wkB/s": 340000.0, "r_await": 28.0, "w_await": 5.0}
    flood |= {"aqu-sz": 140.0, "%util": 100.0}
    finding = only(report_of(iostat([{"sda": calm}] * 3 + [{"sda": flood}] * 4), rules=[RULE]))
    assert finding.severity == "warning"
    assert "times fewer are served" in finding.summary


QUICK = {"r/s": 3000.0, "rkB/s": 33_000.0, "r_await": 0.3, "w/s": 200.0, "wkB/s": 19_000.0, "w_await": 0.4}
QUICK |= {"aqu-sz": 1.1, "%util": 92.0}
STORM = {"r/s": 430.0, "rkB/s": 4800.0, "r_await": 2.0, "w/s": 15_000.0, "wkB/s": 200_000.0, "w_await": 7.0}
STORM |= {"aqu-sz": 112.0, "%util": 99.0}


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, "warning"),
        ({"%util": 70.0}, "info"),
        ({"r/s": 1500.0, "rkB/s": 16_500.0}, "info"),
    ],
    ids=["reads are crowded out", "the device has time left", "half of the reads go on"],
)
def test_reads_that_are_crowded_out_are_a_cost_at_any_latency(report_of, changes, severity):
    report = report_of(iostat([{"vdc": QUICK}] * 5 + [{"vdc": STORM | changes}]))
    assert only(report).severity == severity
    assert (report.verdict.rule == RULE) == (severity == "warning")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (capture(read_wait=2.0, flood=FLOOD | {"w_await": 3.0}), "clear"),
        (capture(flood=FLOOD | {"aqu-sz": 2.0, "w_await": 5.0}), "clear"),
        (capture(read_wait=280.0, flood=FLOOD | READS_WAIT), "clear"),
        (sar_d([{"sda": LONG_CALM}] * 9 + [{"sda": LONG_CALM | LONG_LOAD}], step=600), "undetermined"),
        (iostat([{"sda": FLOOD}] * 40), "undetermined"),
    ],
    ids=[
        "no harm",
        "no queue",
        "reads hold the queue",
        "ten minutes of more load",
        "a flood in every sample",
    ],
)
def test_other_patterns_do_not(report_of, text, status):
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == status


def memory(dirty, blocked):
    clocks = [f"13:00:{second:02}" for second in range(2, 42, 2)]
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += (
        "13:00:00 kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact"
    )
    text += " kbdirty\n"
    text += "".join(f"{c} 80000 800000 900000 90.0 1000 800000 9000 1.0 100 100 {dirty}\n" for c in clocks)
    text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    return text + "".join(f"{c} 1 90 1.0 1.0 1.0 {blocked}\n" for c in clocks)


@pytest.mark.parametrize(
    ("dirty", "blocked", "fires"), [(154000, 4, True), (154000, 0, False), (20000, 4, False)]
)
def test_writers_are_braked_where_too_much_is_dirty(report_of, dirty, blocked, fires):
    finding = only(report_of(memory(dirty, blocked), rules=[RULE]))
    assert bool(finding) is fires
    if finding:
        assert "throttled" in finding.summary
        assert finding.severity == "warning"
        assert finding.evidence[0].values["share"] == pytest.approx(19.25)


def test_without_writes_or_dirty_memory_it_does_not_apply(report_of):
    text = vmstat([{"bo": 9}] * 3)
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["undetermined"]
    plain = sar_d([{"sda": {"tps": 9.0, "wkB/s": 90.0, "await": 1.0, "aqu-sz": 0.1}}] * 25)
    assert [o.status for o in report_of(plain, rules=[RULE]).outcomes] == ["clear"]
    few = sar_d([{"sda": {"tps": 9.0, "wkB/s": 90.0, "await": 1.0, "aqu-sz": 0.1}}] * 5)
    assert [o.status for o in report_of(few, rules=[RULE]).outcomes] == ["undetermined"]


def test_a_flood_in_sar_is_told_by_all_requests(report_of):
    """sar -d does not tell the latencies of reads and writes apart."""
    calm = {"tps": 31.0, "rkB/s": 496.0, "areq-sz": 16.0, "aqu-sz": 0.31, "await": 10.0, "%util": 26.0}
    flood = {"tps": 37.0, "rkB/s": 296.0, "wkB/s": 21760.0, "areq-sz": 596.0, "aqu-sz": 14.1, "await": 380.8}
    rows = [calm] * 12 + [flood | {"%util": 66.0}] + [calm] * 8
    alone = only(report_of(sar_d([{"sda": row} for row in rows]), rules=[RULE]))
    assert (alone.severity, alone.confidence) == ("info", "low")
    assert "requests wait 38.1 times as long" in alone.summary
    assert only(report_of(sar_d([{"sda": row} for row in [calm] * 12 + [flood | {"await": 60.0}]]))) is None


@pytest.mark.parametrize(("calm", "floods"), [(1, 9), (2, 3), (1, 1)])
def test_a_flood_that_goes_on_is_told_by_the_few_samples_before_it(report_of, calm, floods):
    busy = CALM | {"r/s": 800.0, "rkB/s": 8000.0}
    flood = FLOOD | {"r/s": 80.0, "rkB/s": 800.0, "r_await": 55.0}
    rows = [{"sda": busy}] * calm + [{"sda": flood}] * floods
    finding = only(report_of(iostat(rows), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


@pytest.mark.parametrize(("calm", "beside", "severity"), [(0.1, 0.9, "info"), (2.0, 30.0, "warning")])
def test_reads_that_wait_longer_by_less_than_a_ms_are_no_harm(report_of, calm, beside, severity):
    one = [{"sda": CALM | {"r_await": calm}}] * 14 + [{"sda": FLOOD | {"r_await": beside}}] * 2
    assert only(report_of(iostat(one * 4), rules=[RULE])).severity == severity


def drained(**changes):
    cache, rows = 0, [{"bo": 40}] * 4
    for grown in (150_000, 260_000):
        cache += grown
        rows = [*rows, {"cache": cache, "bo": 31_000, "b": 1, "wa": 8, "sy": 30}]
    last = {"cache": cache, "bo": 36_000, "b": 1, "wa": 93, "us": 2} | changes
    return vmstat([*rows, *[last] * 9, {"cache": cache}])


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [({}, True), ({"bi": 20_000}, False), ({"wa": 12}, False), ({"bo": 1_500}, False)],
    ids=["the cache drains", "as much is read", "nobody waits", "hardly anything goes out"],
)
def test_a_cache_that_fills_and_drains_is_told_without_disks(report_of, changes, is_told):
    finding = only(report_of(drained(**changes), rules=[RULE]))
    assert (finding is not None) == is_told
    if finding:
        assert (finding.severity, finding.confidence) == ("notice", "medium")
        assert "400 MB that nobody read came into the page cache" in finding.summary
        assert "in 9 of 16 samples" in finding.summary


def test_it_heads_what_says_that_tasks_are_blocked(report_of):
    report = report_of(drained())
    assert report.headline.endswith("with iowait at 93 % and hardly any read.")


@pytest.mark.parametrize(
    ("reads", "title"),
    [(0.0, "Writes come in floods"), (50.0, "Floods of writeback make others wait")],
    ids=["nothing else", "reads beside them"],
)
def test_floods_beside_nothing_else_are_not_said_to_make_others_wait(report_of, reads, title):
    calm, flood = (row | {"r/s": reads, "rkB/s": 16 * reads} for row in (CALM, FLOOD))
    rows = ([{"sda": calm | {"w/s": 30.0}}] * 14 + [{"sda": flood}] * 2) * 3
    finding = only(report_of(iostat(rows), rules=[RULE]))
    assert (finding.severity, finding.title) == ("info", title)


READS = {"b": 0, "bi": 2000, "bo": 0, "us": 90, "sy": 8, "wa": 2}
STARVED = {"b": 2, "bi": 300, "bo": 9000, "us": 12, "sy": 2, "wa": 86}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"bi": 1900}, False),  # who reads gets as much
        ({"bi": 0}, False),  # nobody reads: another phase of the work
        ({"b": 0}, False),  # nobody waits
        ({"us": 90, "wa": 2}, False),  # the CPUs work on
        ({"bo": 200}, False),  # next to nothing is written
    ],
    ids=["starved", "reads on", "reads none", "nobody waits", "works", "little"],
)
def test_bursts_that_starve_who_reads_are_told_without_disks(report_of, changes, is_told):
    rows = ([READS] * 6 + [STARVED | changes] * 3) * 3
    report = report_of(vmstat(rows))
    finding = only(report)
    assert (finding is not None) is is_told
    if finding is not None:
        assert (finding.severity, report.verdict.state) == ("notice", "open")
        assert "9,000 kB/s are written in 9 of 27 samples, and 0 kB/s in the others" in finding.summary
        assert "6.7 times less is read, 2.0 tasks wait instead of 0.0" in report.headline


def test_writes_that_do_not_stand_out_are_no_bursts(report_of):
    rows = [READS | {"bo": 6000}] * 6 + [STARVED | {"bo": 15000}] * 3
    assert only(report_of(vmstat(rows * 3), rules=[RULE])) is None


def test_a_load_of_writes_after_one_of_reads_is_no_burst(report_of):
    assert only(report_of(vmstat([READS] * 12 + [STARVED] * 4), rules=[RULE])) is None
    one, other = vmstat([READS] * 12), vmstat([STARVED] * 4)
    assert only(report_of(one, other, one, rules=[RULE])) is None
    assert only(report_of(vmstat([READS] * 6 + [STARVED] * 4 + [READS] * 6), rules=[RULE])) is not None
