from __future__ import annotations

import pytest

from writers.captures import banner, iostat, vmstat

RULE = "iowait-misread"
HDD = "NAME ROTA TYPE\nsda     1 disk\n"
READER = {"r/s": 460.0, "rkB/s": 1840.0, "r_await": 2.0, "aqu-sz": 0.92, "%util": 94.0}
QUEUE = {"r/s": 130.0, "rkB/s": 1040.0, "r_await": 90.0, "aqu-sz": 11.7, "%util": 99.9}
COMMIT = {
    "w/s": 8.0,
    "wkB/s": 42.0,
    "w_await": 149.0,
    "f/s": 6.0,
    "f_await": 174.0,
    "aqu-sz": 2.3,
    "%util": 95.0,
}


def cpu(iowait, idle):
    return {"%user": 100.0 - iowait - idle, "%iowait": iowait, "%idle": idle}


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_one_patient_reader_is_no_trouble(report_of):
    text = iostat([{"sda": READER}] * 20, cpu(44.0, 47.0))
    finding = only(report_of(text, vmstat([{"b": 1, "wa": 44}] * 20), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("notice", "medium", ("sda",))
    tasks = next(item for item in finding.evidence if "waiting tasks" in item.text)
    assert tasks.values["tasks"] == pytest.approx(0.88)


@pytest.mark.parametrize(
    ("samples", "context"),
    [
        ([{"sda": READER | {"aqu-sz": 4.0, "r_await": 9.0}}] * 20, ()),
        ([{"sda": READER}] * 20, (vmstat([{"b": 8, "wa": 44}] * 20),)),
        ([{"sda": READER | {"%util": 14.0}}] * 20, ()),
        ([{"sda": READER | {"d/s": 40.0, "dkB/s": 40000.0}}] * 20, ()),
    ],
    ids=["a queue", "a crowd of blocked tasks", "many at once at times", "discards"],
)
def test_high_iowait_with_a_reason_is_none(report_of, samples, context):
    report = report_of(iostat(samples, cpu(44.0, 47.0)), *context, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "clear"


@pytest.mark.parametrize(
    ("busy", "scale", "is_found"),
    [((96, 90, 62), 1.0, False), ((90, 91, 90), 1.0, True), ((96, 90, 62), 0.8, True)],
    ids=["it follows", "one level", "more wait than it holds"],
)
def test_iowait_that_follows_what_is_in_flight_misleads_nobody(report_of, busy, scale, is_found):
    texts = []
    for util in busy:
        row = READER | {"r/s": 4.9 * util, "rkB/s": 19.6 * util, "aqu-sz": 0.01 * util, "%util": util}
        texts.append(iostat([{"sda": row}], cpu(util / 2 / scale, 95.0 - util / 2 / scale)))
    head, *rest = (text.split("\n\n", 1)[1].split("11/20/26")[1:] for text in texts)
    reports = [*head, *(samples[1] for samples in rest)]
    text = banner() + "".join(f"11/20/26 13:00:0{n}{one[9:]}" for n, one in enumerate(reports))
    assert bool(only(report_of(text, rules=[RULE]))) == is_found


@pytest.mark.parametrize(
    ("cpus", "row", "share"),
    [
        (8, READER, "12 %"),  # 7.5 tasks wait at least, and one of them for the disk
        (1, READER, ""),
        (2, {"r/s": 310.0, "rkB/s": 4960.0, "r_await": 0.45, "aqu-sz": 0.14, "%util": 21.0}, "7 %"),
    ],
)
def test_what_all_devices_hold_is_the_most_that_can_wait_for_them(report_of, cpus, row, share):
    text = iostat([{"sda": row, "dm-0": row}] * 20, cpu(94.0, 2.0), cpus=cpus)
    finding = only(report_of(text, rules=[RULE]))
    assert ("hardly time of the devices shown" in finding.summary) == bool(share)
    assert share in finding.summary
    assert bool(finding.devices) != bool(share)
    assert finding.severity == ("warning" if share else "notice")


def test_what_a_layer_holds_back_is_held_by_a_device_shown(report_of):
    layer = READER | {"r_await": 12.5, "aqu-sz": 2.6}
    text = iostat([{"sda": READER | {"r_await": 0.65, "aqu-sz": 0.3}, "dm-0": layer}] * 20, cpu(90.0, 0.0))
    assert only(report_of(text, rules=[RULE])) is None


def test_what_waits_for_no_device_shown_is_harm_where_the_host_mostly_waits(report_of):
    mostly, partly = (
        only(report_of(iostat([{"sda": READER}] * 20, cpu(iowait, 99.0 - iowait), cpus=8), rules=[RULE]))
        for iowait in (60.0, 40.0)
    )
    assert (mostly.severity, partly.severity) == ("warning", "notice")


FEW = {"r/s": 210.0, "rkB/s": 1680.0, "r_await": 9.0, "aqu-sz": 1.9, "%util": 97.0}


@pytest.mark.parametrize(
    ("row", "kind", "blocked", "is_found"),
    [
        (FEW, "0", 2, True),
        (FEW, "1", 2, False),
        (FEW, "0", 6, False),
        (FEW | {"r/s": 60.0, "rkB/s": 480.0, "r_await": 32.0}, "0", 2, False),
        (FEW | {"r/s": 660.0, "rkB/s": 5280.0, "aqu-sz": 6.0}, "0", 2, False),
    ],
    ids=["each its own request", "a disk that turns", "a crowd", "slower than flash ever is", "a queue"],
)
def test_a_few_readers_of_a_parallel_device_make_no_queue(report_of, row, kind, blocked, is_found):
    context = (HDD.replace("     1", f"     {kind}"), vmstat([{"b": blocked, "wa": 70}] * 20))
    finding = only(report_of(iostat([{"sda": row}] * 20, cpu(70.0, 18.0)), *context, rules=[RULE]))
    assert bool(finding) is is_found
    if finding:
        assert (finding.severity, finding.devices) == ("notice", ("sda",))
        assert "a few tasks that each wait" in finding.summary


@pytest.mark.parametrize(
    "text",
    [
        iostat([{"sda": {}, "sdb": {}}] * 20, cpu(90.0, 0.0)),
        vmstat([{"b": 2, "wa": 94, "bi": 236 if n == 1 else 0} for n in range(10)]),
    ],
    ids=["iostat", "vmstat"],
)
def test_iowait_without_any_io(report_of, text):
    finding = only(report_of(text, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "or for a request that does not complete" in finding.summary


def test_busy_cpus_hide_a_saturated_disk(report_of):
    finding = only(report_of(iostat([{"sda": QUEUE}] * 20, cpu(0.3, 0.2)), HDD, rules=[RULE]))
    assert (finding.severity, finding.devices) == ("notice", ("sda",))
    assert "Busy CPUs hide" in finding.summary


def test_low_iowait_beside_a_saturated_disk_is_only_told(report_of):
    finding = only(report_of(iostat([{"sda": QUEUE}] * 20, cpu(0.0, 90.0)), HDD, rules=[RULE]))
    assert finding.severity == "info"


@pytest.mark.parametrize(("iowait", "fires"), [(5.0, True), (25.0, False)])
def test_low_iowait_beside_commits_in_line(report_of, iowait, fires):
    finding = only(report_of(iostat([{"sda": COMMIT}] * 20, cpu(iowait, 46.0)), rules=[RULE]))
    assert bool(finding) is fires
    if finding:
        values = finding.evidence[0].values
        assert values["available"] == pytest.approx(51)
        assert values["without_iowait"] == pytest.approx((49 + 5) / 49)
        assert values["ceiling"] == pytest.approx(100 / 49)


def test_a_quiet_host_is_clear(report_of):
    text = iostat([{"sda": {"r/s": 40.0, "rkB/s": 320.0, "aqu-sz": 0.1, "%util": 5.0}}] * 20, cpu(0.2, 94.0))
    report = report_of(text, HDD, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "clear"


def test_iowait_alone_settles_nothing(report_of):
    text = "13:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    text += "".join(f"13:00:{n:02} all 1.0 0.0 3.0 75.0 0.0 21.0\n" for n in range(1, 20))
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "undetermined"
    traffic = report_of(vmstat([{"wa": 50, "bo": 40000}] * 10), rules=[RULE])
    assert outcome(traffic).status == "undetermined"


def test_without_cpu_shares_it_does_not_apply(report_of):
    report = report_of(iostat([{"sda": READER}] * 3), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]


def test_tasks_that_wait_beside_idle_devices_are_told_as_such(report_of):
    finding = only(
        report_of(iostat([{"sda": {"w/s": 0.3, "w_await": 1.0}}] * 5, cpu(93.7, 0.0)), rules=[RULE])
    )
    assert finding.title == "Tasks wait, mostly not for the devices shown"


@pytest.mark.parametrize(("iowait", "status"), [(0.0, "undetermined"), (25.0, "clear")])
def test_a_busy_queue_without_iowait_is_not_the_same_story(report_of, iowait, status):
    row = {"w/s": 380.0, "wkB/s": 22000.0, "w_await": 57.0, "aqu-sz": 21.7, "%util": 97.0}
    report = report_of(iostat([{"sda": row}] * 5, cpu(iowait, 90.0 - iowait)), rules=[RULE])
    assert outcome(report).status == status
