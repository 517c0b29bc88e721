from __future__ import annotations

import pytest

from writers.captures import banner, iostat
from writers.loads import load

RULE = "counter-anomaly"
HEAD = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def said(report):
    return " ".join(item.text for f in found(report) for item in f.evidence)


def test_a_counter_that_ran_backwards(report_of):
    rows = [load(100, 5)] * 10
    bad = {**load(100, 5), "r/s": 18446744073709.0}
    (finding,) = found(report_of(iostat([{"sda": r} for r in [*rows, bad]]), rules=[RULE]))
    assert finding.severity == "info"
    assert "1 of 11 samples left out" in finding.evidence[0].text
    many = iostat([{"sda": r} for r in [bad] * 5 + rows])
    assert found(report_of(many, rules=[RULE]))[0].severity == "notice"


@pytest.mark.parametrize(
    ("unit", "changes", "is_told"),
    [
        ("kB", {}, True),
        ("MB", {}, True),
        ("kB", {"wkB": 0.5}, False),
        ("kB", {"wrqm": 0.0}, False),
        ("MB", {"w": 7.0}, False),
    ],
    ids=["merged writes", "in MB", "bytes", "flushes without data", "too few to show in MB"],
)
def test_requests_with_data_and_without_bytes_are_of_a_driver_that_counts_none(
    report_of, unit, changes, is_told
):
    row = {"rrqm": 0.0, "wrqm": 1.3, "r": 0.0, "w": 24.0, "rkB": 0.0, "wkB": 0.0} | changes
    numbers = [*row.values(), 0.0, 4.1, 170.0, 39.5, 96.0]
    text = HEAD.replace("kB", unit) + "sda " + " ".join(f"{number:.2f}" for number in numbers) + "\n"
    report = report_of(text)
    assert ("its driver counts no bytes" in said(report)) == is_told
    assert ("its driver counts no bytes" in report.headline) == is_told
    assert ("blktrace -d /dev/sda" in report.verdict.asks) == is_told


def test_util_beyond_all_time_is_said_and_kept(report_of):
    report = report_of(iostat([{"sda": load(100, 5, util=155)}] * 5), rules=[RULE])
    assert "maximum 155 %" in said(report)


@pytest.mark.parametrize(
    ("row", "is_void"),
    [
        (load(4, 0.5, depth=0.0, util=146.2), True),
        (load(4, 0.5, depth=7.0, util=146.2), False),  # its queue may have lasted
        (load(600, 1.1, depth=0.0, util=146.2), False),  # rate times latency is 0.66
        (load(4, 0.5, depth=0.0, util=101.2), False),  # skew of timers
    ],
)
def test_util_beyond_all_time_with_nothing_in_flight_is_no_measurement(report_of, row, is_void):
    report = report_of(iostat([{"sdb": row, "sda": load(900, 0.3, util=20)}] * 3))
    assert any("it is left out" in item.text for f in found(report) for item in f.evidence) is is_void
    (device,) = (one for one in report.devices if one.name == "sdb")
    assert ("util_pct" in device.summary) is not is_void
    assert not (is_void and "sdb" in report.headline)


def test_requests_that_outlive_a_sample_explain_util_beyond_all_time(report_of):
    late = {"w/s": 1.0, "wkB/s": 8.0, "w_await": 2283.0, "aqu-sz": 2.28, "%util": 228.4}
    assert "requests that took 2,283 ms ended then" in said(
        report_of(iostat([{}, {"sda": {}}, {"sda": late}]), rules=[RULE])
    )
    short = {**late, "w_await": 1100.0, "aqu-sz": 1.1}
    assert "ended then" not in said(report_of(iostat([{}, {"sda": {}}, {"sda": short}]), rules=[RULE]))


def test_timer_skew_is_no_anomaly(report_of):
    report = report_of(iostat([{"sda": load(140, 45, util=101.6)}] * 5), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["clear"]


def test_depth_below_what_rate_and_latency_make(report_of):
    report = report_of(iostat([{"sda": load(400, 20, depth=4)}] * 5), rules=[RULE])
    assert "4 in flight where rate times latency makes 8" in said(report)
    # time of flushes is in the depth, and old layouts have no column for it
    assert not found(report_of(iostat([{"sda": load(400, 20, depth=16)}] * 5), rules=[RULE]))


def test_a_depth_that_rounds_to_none_contradicts_nothing(report_of):
    rounded = load(20, 0.37, depth=0.0, util=2.0)
    assert not found(report_of(iostat([{"sda": rounded}] * 5), rules=[RULE]))
    assert found(report_of(iostat([{"sda": load(20, 1.5, depth=0.0, util=2.0)}] * 5), rules=[RULE]))


@pytest.mark.parametrize("device", ["md0", "dm-3"])
def test_stacked_devices_are_not_held_against_little_s_law(report_of, device):
    assert not found(report_of(iostat([{device: load(400, 20, depth=4)}] * 5), rules=[RULE]))


def test_before_kernel_5_a_queue_may_drain(report_of):
    text = iostat([{"sda": load(400, 20, depth=4)}] * 5).replace("Linux 6.1.0", "Linux 3.10.0")
    assert not found(report_of(text, rules=[RULE]))


def test_sizes_that_contradict_bytes(report_of):
    rows = [
        f"sda 0.00 0.00 {rate}.00 0.00 {32 * rate}.00 0.00 128.00 0.50 5.00 5.00 50.00\n"
        for rate in (100, 101, 99)
    ]
    report = report_of(banner() + "\n".join(HEAD + row for row in rows), rules=[RULE])
    assert "64 kB per request where bytes by requests make 32" in said(report)


@pytest.mark.parametrize(
    ("writes", "size", "service", "said"),
    [
        (9.0, 123.79, 13.17, "26 requests/s are printed (such samples: 1)"),
        (59.0, 123.79, 13.17, ""),  # all three agree
        (9.0, 361.85, 13.17, ""),  # svctm alone is off
        (9.0, 123.79, 38.5, "61.89 kB per request"),  # the size alone is off
        (9.0, 123.79, 5.0, "61.89 kB per request"),  # both are off, and not alike
    ],
    ids=["rate is odd", "sound", "svctm is odd", "size is odd", "nothing agrees"],
)
def test_a_rate_that_size_and_svctm_contradict_is_not_believed(report_of, writes, size, service, said):
    row = f"sdb 0.00 0.00 17.00 {writes:.2f} 96.00 4608.00 {size} 137.23 1033.43 {service} 100.10\n"
    report = report_of(HEAD + row)
    assert said in " ".join(item.text for f in found(report) for item in f.evidence)
    assert bool(said) is bool(found(report))
    (told,) = [f.summary for f in report.findings if f.rule == "true-saturation"]
    assert ("of 62 kB take 1.03 s with 137.2 in flight" in told) is ("requests/s" in said or writes == 59)
    assert "2.99 s" not in told


def test_a_request_in_a_hundred_seconds_is_no_rate_that_anything_contradicts(report_of):
    row = "sdb 0.00 0.00 0.00 0.01 0.00 0.00 1.00 0.00 0.40 0.40 0.00\n"
    assert not found(report_of((HEAD + row) * 3, rules=[RULE]))


@pytest.mark.parametrize(
    ("counted", "wait", "is_told"),
    [(0.32, 0.7, True), (1.3, 0.7, False), (20.0, 80.0, False)],
    ids=["quick requests", "the queue agrees", "a backlog may drain"],
)
def test_a_queue_far_below_quick_requests_is_told_of_any_kernel(report_of, counted, wait, is_told):
    row = load(1400 / wait if wait < 1 else 400, wait, depth=counted, util=30)
    text = iostat([{"nvme0n1": row}]).replace("Linux 6.1.0", "Linux 3.10.0")
    assert bool(found(report_of(text, rules=[RULE]))) is is_told


WAITS = "Device: r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"


@pytest.mark.parametrize(
    ("waits", "is_told"),
    [
        ("0.49 18.31 25.28", True),
        ("31.00 18.31 25.28", True),
        ("20.63 18.31 25.28", False),
        ("18.30 18.31 25.28", False),
        # what no request waited for is printed as nothing
        ("18.31 18.31 0.00", False),
        # seen on md: time of writes of which none completed in this sample
        ("43.12 18.31 0.00", False),
    ],
)
def test_all_requests_take_as_long_as_some_of_them(report_of, waits, is_told):
    writes = "0.00 40.00 0.00" if waits.endswith(" 0.00") else "10.00 40.00 40.00"
    text = banner() + WAITS + f"sda 20.00 {writes} 5.33 0.62 {waits} 4.00 12.00\n"
    report = report_of(text, rules=[RULE])
    assert ("reads take 18.3" in said(report)) is is_told


@pytest.mark.parametrize(("discards", "is_told"), [("0.00 0.00", True), ("5.00 640.00", False)])
def test_all_requests_may_take_longer_where_discards_do(report_of, discards, is_told):
    head = "Device: r/s w/s d/s rkB/s wkB/s dkB/s aqu-sz await r_await w_await d_await %util\n"
    rate, kb = discards.split()
    row = f"sda 20.00 10.00 {rate} 40.00 40.00 {kb} 1.00 31.00 18.31 25.28 90.00 12.00\n"
    assert ("all requests take" in said(report_of(banner() + head + row, rules=[RULE]))) is is_told


def test_cpu_shares_that_do_not_add_up(report_of):
    cpu = {"%user": 40.0, "%idle": 10.0}
    report = report_of(iostat([{"sda": load(60, 1)}] * 3, cpu), rules=[RULE])
    assert "add up" in said(report)


def test_a_capture_of_nothing_but_impossible_numbers_is_not_called_healthy(report_of):
    bad = {**load(100, 5), "r/s": 18446744073709.0}
    report = report_of(iostat([{"sda": bad}]))
    assert [f.summary for f in found(report)] == ["sda: none of its samples (1) can be true."]
    assert report.verdict.state == "unknown"
    reasons = {o.reason for o in report.outcomes if o.missing == ("disk",)}
    assert reasons == {"none of its disk samples can be true"}


def test_one_cause_that_leaves_several_devices_without_a_true_sample_is_told_once(report_of):
    bad = {**load(100, 5), "r/s": 18446744073709.0}
    report = report_of(iostat([{name: bad for name in ("sdb", "sdc", "sda")} | {"sdd": load(100, 0.2)}]))
    (finding,) = found(report)
    assert finding.summary == "sdb, sdc, sda: none of their samples (3) can be true."
    assert finding.devices == ("sdb", "sdc", "sda")
    assert "current sysstat" in report.verdict.asks


def test_partitions_are_held_against_their_disk_in_the_reports_that_have_both(report_of):
    """Another report without them, as of another host in the same text, halves the disk's mean alone."""
    both = {"sda": load(900, 1, size=400), "sda1": load(900, 1, size=400)}
    assert "its partitions move" not in said(report_of(iostat([both, both, *[{"sda": load(1, 1)}] * 2])))


def test_a_depth_that_rate_and_latency_contradict_proves_no_inflated_util(report_of):
    """A paste: 1,632 reads/s of 1.09 ms are 1.8 in flight, where 0.08 is printed beside 100 % util."""
    row = {"r/s": 1632.0, "rkB/s": 16600.0, "r_await": 1.09, "aqu-sz": 0.08, "%util": 100.0}
    report = report_of(iostat([{"sda": row}]), rules=[RULE, "util-sampling-bias"])
    assert [f.rule for f in report.findings] == ["counter-anomaly"]


@pytest.mark.parametrize(("parts", "is_told"), [(900.0, True), (200.0, False), (240.0, False)])
def test_partitions_that_move_more_than_their_disk(report_of, parts, is_told):
    rows = {"sda": load(50, 1, size=4), "sda1": load(50, 1, size=parts / 50)}
    report = report_of(iostat([rows] * 5))
    assert ("its partitions move" in said(report)) == is_told
    sums = next(o for o in report.outcomes if o.rule == "stack-double-count")
    assert (sums.status == "undetermined") == is_told


@pytest.mark.parametrize(
    ("user", "idle", "is_told"), [(0.01, 0.35, True), (4.0, 0.36, False), (0.2, 0.1, False)]
)
def test_steal_that_leaves_nothing_to_work_with_is_no_neighbour(report_of, user, idle, is_told):
    cpu = {"%user": user, "%idle": idle, "%steal": 100 - user - idle}
    report = report_of(iostat([{"sda": load(600, 0.9)}] * 5, cpu=cpu))
    stolen = any(f.rule == "steal-noisy-neighbour" for f in report.findings)
    assert ("steal of" in said(report)) == is_told
    assert stolen != is_told


def hasty(rate, latency, util, factor=1.0):
    """A disk whose rates, queue and %util are all `factor` times too high."""
    return load(factor * rate, latency, util=factor * util)


HASTY = {"sda": hasty(8, 90, 35, 9.0), "sdb": hasty(24, 55, 80, 9.0), "sdc": hasty(10, 9, 9, 9.0)}
SOUND = {"sda": load(8, 90, util=35), "sdb": load(24, 55, util=80), "sdc": load(10, 9)}


@pytest.mark.parametrize("count", [1, 5])
def test_a_report_whose_length_is_wrong_fills_no_disk(report_of, count):
    report = report_of(iostat([HASTY] * count))
    assert [f.rule for f in report.findings if f.severity != "info"] == [RULE]
    (finding,) = found(report)
    assert "at least 7.2 times too high" in finding.summary
    assert report.verdict.state == "unknown"
    assert "length is wrong" in report.headline


def test_the_reports_beside_one_of_wrong_length_are_judged(report_of):
    report = report_of(iostat([*[SOUND] * 6, HASTY, *[SOUND] * 6]), rules=[RULE])
    (finding,) = found(report)
    assert "in 1 of 13 samples" in finding.summary
    assert finding.devices == ("sda", "sdb", "sdc")


@pytest.mark.parametrize(
    "samples",
    [
        [{"sda": hasty(24, 55, 80, 9.0), "sdc": load(10, 9)}] * 3,  # one device alone
        [{"sda": hasty(24, 55, 80, 9.0), "dm-0": hasty(24, 55, 80, 9.0), "md0": hasty(24, 55, 80, 9.0)}] * 3,
        # one counter of time alone is wrong, as the queue is smaller than it
        [{"sda": load(24, 55, util=720), "sdb": load(24, 55, util=800)}] * 3,
        # the time of a silence is booked in the sample that ends it
        [
            *[SOUND] * 3,
            *[{"sda": {}, "sdb": {}}] * 9,
            {"sda": load(23, 1775, util=1000), "sdb": load(20, 1900, util=1000)},
        ],
        [{"sda": load(3, 2000, util=220), "sdb": load(2, 2500, util=240)}] * 3,
        [{"sda": load(60, 40, util=101.6), "sdb": load(60, 40, util=101.6)}] * 3,
    ],
)
def test_util_beyond_all_time_of_other_causes_leaves_no_report_out(report_of, samples):
    report = report_of(iostat(samples), rules=[RULE])
    assert not any("times too high" in finding.summary for finding in report.findings)


OLD_HEAD = (
    "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
    "sdq 1.20 0.00 88.00 0.00 9223372036854775808.00 0.00 4611686018427387904.00 0.00 104811045873349725.00 "
)


@pytest.mark.parametrize(
    ("others", "is_kept"),
    [
        ("5.02 57.00 8.20 72.16", True),
        ("5.02 97.00 8.20 72.16", False),
        ("5.02 57.00 2.20 72.16", False),
        ("5.02 57.00 8.20 -72.16", False),
    ],
    ids=["all agree", "the latency is another", "the busy share is another", "it is below zero"],
)
def test_a_wrapped_counter_of_bytes_spoils_bytes_alone_where_the_others_agree(report_of, others, is_kept):
    report = report_of(OLD_HEAD + others + "\n")
    assert ("57 ms each, 72 % busy" in report.headline) == is_kept
    told = [f.summary for f in report.findings if f.rule == "counter-anomaly"]
    assert any("bytes and sizes are left out" in text for text in told) == is_kept


@pytest.mark.parametrize(("kb", "is_told"), [(1900000.0, True), (81000.0, False)])
def test_a_layer_that_moves_far_more_than_its_only_disk(report_of, kb, is_told):
    equal = {"nvme0n1": load(500, 1, size=128), "dm-1": load(500, 1, size=128)}
    beyond = {"nvme0n1": load(620, 1, size=128), "dm-1": load(20000, 1, size=4) | {"rkB/s": kb}}
    report = report_of(iostat([equal] * 3 + [beyond]), rules=[RULE])
    assert ("the only disk below it" in said(report)) is is_told


def test_a_latency_of_all_a_tenth_of_a_millisecond_below_both_ways_is_told_of_averages_too(report_of):
    head = "Linux 3.16.0-4-amd64 (db1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
    head += "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    report = report_of(
        head + "sda 0.10 85.57 31.18 615.85 2428.85 7423.82 30.46 0.09 0.13 4.73 0.24 0.21 13.86\n"
    )
    told = [item.text for f in report.findings if f.rule == "counter-anomaly" for item in f.evidence]
    assert any(
        "all requests take 0.13 ms where reads take 4.73 ms and writes 0.24 ms" in text for text in told
    )


@pytest.mark.parametrize(
    ("rate", "is_told"), [(130.07, True), (330.07, False)], ids=["merged", "before merging"]
)
def test_partitions_that_wait_for_longer_than_their_disk_since_boot(report_of, rate, is_told):
    """The disk holds their time: 220.1 requests of 7 ms and 260.3 of 10 ms in its 500.2 are 8.28 ms each."""
    text = banner() + HEAD.replace("kB/s", "sec/s")
    rows = (("sdc", 300.11, 200.13, 2.0), ("sdc1", rate, 90.03, 7.0), ("sdc2", 160.19, 100.13, 10.0))
    for name, reads, writes, wait in rows:
        ios = reads + writes
        text += f"{name} 5.03 9.01 {reads} {writes} {16 * reads:.2f} {16 * writes:.2f} 16.00 "
        text += f"{ios * wait / 1000:.2f} {wait:.2f} 1.00 {ios / 10:.2f}\n"
    report = report_of(text)
    assert ("await is printed as 2 ms; its partitions show at least 8.28 ms" in said(report)) == is_told
    (state,) = (one.text for one in report.states if one.device == "sdc")
    assert ("8.28 ms each (await is printed as 2 ms)" in state) == is_told
    assert [f.severity for f in found(report)] == ["notice"] * is_told


def test_a_printed_latency_that_reads_and_writes_make_far_from_true_is_a_notice(report_of):
    head = HEAD.replace("await svctm", "await r_await w_await svctm")
    row = "sdd 0.00 1.00 70.00 30.00 9000.00 3000.00 240.00 0.05 0.50 18.00 25.00 4.00 40.00\n"
    report = report_of(head + row)
    assert [f.severity for f in found(report)] == ["notice"]
    assert "20.10 ms each (await is printed as 0.5 ms)" in report.headline


def test_util_beyond_all_time_is_counted_from_all_time_on(report_of):
    rows = [{"sda": load(100, 5, util=util)} for util in (99.0, 101.0, 101.7, 102.4)]
    assert "%util exceeds 100 % in 3 of 4 samples (maximum 102.4 %)" in said(
        report_of(iostat(rows), rules=[RULE])
    )
    assert not found(report_of(iostat(rows[:3]), rules=[RULE]))


def test_what_is_printed_beside_what_is_in_flight_is_of_one_sample(report_of):
    text = "Linux 5.2.0 (box) \t11/20/26 \t_x86_64_\t(64 CPU)\n\n"
    text += "13:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"
    for second, rate, util in ((2, 25000, "12.50"), (4, 200000, "100.00")):
        text += f"13:00:0{second} nvme0n1 {rate}.00 {4 * rate}.00 0.00 4.00 0.00 0.02 0.00 {util}\n"
    told = " ".join(item.text for finding in found(report_of(text)) for item in finding.evidence)
    assert "0.00 in flight and 100.00 % busy are printed" in told
    assert "56.25 %" not in told


@pytest.mark.parametrize(
    ("kb", "size", "is_told"),
    [("98765432109876543.00", "2136028725038430.00", True), ("98000.00", "1306.67", False)],
)
def test_bytes_that_are_left_out_are_told_beside_what_is_kept(report_of, kb, size, is_told):
    head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
    row = f"sda 0.00 0.00 150.00 0.00 {kb} 0.00 {size} 9.00 60.00 5.60 84.00\n"
    report = report_of("$ iostat -xky 1\n" + f"{head}{row}\n" * 2)
    assert ("size unknown as the counter of bytes ran backwards" in report.headline) is is_told


VMSTAT = (
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    " 1  0      0 933060  51336 479708    0    0     2     3   50   50  1  0 99  0  0\n"
)
SAR_B = "\n10:00:00 AM  pgpgin/s pgpgout/s   fault/s  majflt/s\n"


@pytest.mark.parametrize("step_s", [1, 5])
def test_a_counter_of_vmstat_below_zero_is_left_out_and_told(report_of, step_s):
    row = " 1  0      0 933060  51336 479708    0    0 {:5.0f}     8  250  150  1  1 98  0  0\n"
    rates = [(2**32 - 3) / step_s if number in (4, 9) else 40 for number in range(20)]
    report = report_of(VMSTAT + "".join(map(row.format, rates)))
    assert "in 2 of 20 samples is beyond any host: left out" in said(report)
    assert "almost nothing is read or written" in report.headline
    assert "MB/s" not in report.headline


def test_a_counter_of_sar_below_zero_leaves_the_rest_of_its_row(report_of):
    rows = [f"10:0{n}:00 AM {4294967295 / 60 if n == 3 else 12:.2f} 700.00 90.00 0.00\n" for n in range(1, 9)]
    report = report_of("Linux 5.14.0 (h) 03/04/2024 _x86_64_ (4 CPU)\n" + SAR_B + "".join(rows))
    assert "beyond any host" in said(report)


def test_a_host_that_moves_a_lot_has_no_counter_below_zero(report_of):
    row = " 1  9      0 933060  51336 479708    0    0 {:.0f}     8  250  150  1  1 50 48  0\n"
    report = report_of(VMSTAT + "".join(row.format(4e7 + 1e6 * number) for number in range(8)))
    assert not found(report)
