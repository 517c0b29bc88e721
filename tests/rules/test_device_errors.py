from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "device-errors"
CALM = {"r/s": 100.0, "rkB/s": 800.0, "r_await": 5.0, "aqu-sz": 0.5, "%util": 40.0}
STILL = {"aqu-sz": 1.0, "%util": 100.0}
LATE = {"r/s": 40.0, "rkB/s": 320.0, "r_await": 700.0, "aqu-sz": 28.0, "%util": 95.0}
LSBLK = "NAME HCTL       TYPE SIZE\nsda  1:0:0:0    disk 1T\nsdb  2:0:0:0    disk 1T\n"
PATHS = """\
mpatha (360a98000572d5765636f69746a6d4e75) dm-3 NETAPP,LUN
size=100G features='0' hwhandler='0' wp=rw
`-+- policy='round-robin 0' prio=50 status=active
  |- 1:0:0:1 sdb 8:16 active ready running
  `- 2:0:0:1 sdc 8:32 active ready running
"""
RESET = "sd 2:0:0:0: [sdb] tag#1 FAILED Result: hostbyte=DID_RESET driverbyte=DRIVER_OK"
MEDIUM = "blk_update_request: critical medium error, dev sdb, sector 1264871"


def capture(hit="sdb", others=("sda",), before=10, still=6, step=1, **options):
    """Calm samples, in which one device stands still from second `before` on and then completes late."""
    samples = [CALM] * before + [STILL] * still + [LATE] * bool(still) + [CALM] * 10
    return iostat([{**dict.fromkeys(others, CALM), hit: row} for row in samples], step=step, **options)


def log(*lines, host="box", day="Nov 20", clock="13:00:16"):
    return "".join(f"{day} {clock} {host} kernel: {line}\n" for line in lines)


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def outcomes(report):
    return {(outcome.status, outcome.reason) for outcome in report.outcomes if outcome.rule == RULE}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (RESET, "resets"),
        (MEDIUM, "medium errors"),
        ("sd 2:0:0:0: [sdb] tag#1 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK", "timeouts"),
        ("end_request: I/O error, dev sdb, sector 5", "I/O errors"),
        ("EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2", "file system errors"),
        ("device-mapper: multipath: Failing path 8:16.", "a lost path"),
        (
            "bcache: bch_count_backing_io_errors() sdb: IO error on backing device, unrecoverable",
            "unrecoverable I/O errors",
        ),
        ("bcache: sdb: IO error on reading data from cache, recovering.", "I/O errors"),
        ("bcache: cached_dev_status_update() sdb: device offline for 5 seconds", "a device taken offline"),
    ],
)
def test_an_event_within_a_stall_is_its_cause(report_of, line, kind):
    report = report_of(capture(), log(line))
    (finding,) = found(report)
    assert report.findings[0] is finding
    assert (finding.severity, finding.confidence, finding.samples) == ("warning", "high", (10, 16))
    assert (
        finding.summary
        == f"sdb completed nothing for 6 s when the kernel logged {kind} for sdb (2026-11-20 13:00:16)."
    )
    assert finding.evidence[0].quotes[0].text.endswith(line)
    assert (finding.evidence[0].source, finding.evidence[0].lines) == ("context-1.txt", (1,))
    assert {f.explained_by for f in report.findings if f.rule in ("hung-io", "extreme-latency")} == {RULE}
    assert (report.verdict.state, report.verdict.rule) == ("trouble", RULE)


def test_several_kinds_say_so(report_of):
    (finding,) = found(report_of(capture(), log(RESET, MEDIUM)))
    assert "medium errors and resets for sdb" in finding.summary
    assert "smartctl -x /dev/sdb" in finding.confirm
    assert finding.remedy[0].startswith("Save what is on it")


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_few_samples_suffice(report_of, samples):
    rows = [{"sdb": CALM}] * (samples - 1) + [{"sdb": LATE | {"r_await": 4000.0, "aqu-sz": 160.0}}]
    (finding,) = found(report_of(iostat(rows), log(RESET, clock=f"13:00:0{samples}")))
    assert finding.samples == (samples - 1, samples - 1)
    # nothing shows what is usual
    assert finding.evidence[1].text == "up to 4 s per request"


UNTIED = {
    "the latency ended before": (
        log(RESET, clock="13:00:20"),
        "no latency of the capture goes with it",
        "notice",
    ),
    "of another day": (log(RESET, day="Nov 18"), "not during the capture", "info"),
    "medium errors of another day": (log(MEDIUM, day="Nov 18"), "not during the capture", "warning"),
    "a boot clock alone": (f"[93211.500000] {RESET}\n", "is not known", "notice"),
    "no clock at all": (f"{MEDIUM}\n", "is not known", "warning"),
    "a moment, and samples of no zone": (
        f"1795179616.000000 box kernel: {RESET}\n",
        "is not known",
        "notice",
    ),
}


@pytest.mark.parametrize(("text", "said", "severity"), UNTIED.values(), ids=UNTIED)
def test_what_did_not_happen_then_for_certain_is_a_fact_that_explains_nothing(
    report_of, text, said, severity
):
    report = report_of(capture(), text)
    (finding,) = found(report)
    assert said in finding.summary
    assert (finding.severity, finding.samples) == (severity, None)
    assert RULE not in {f.explained_by for f in report.findings}


def test_a_log_of_another_host_is_not_joined(report_of):
    report = report_of(capture(), log(RESET, host="other"))
    assert [(f.host, f.samples) for f in found(report)] == [("other", None)]
    assert report.findings[0].rule == "hung-io"
    assert not any("other" in (f.host or "") for f in report.findings if f.rule != RULE)


@pytest.mark.parametrize("host", ["box", "box.example.com", "localhost"])
def test_a_host_with_its_domain_is_the_same(report_of, host):
    (finding,) = found(report_of(capture(), log(RESET, host=host)))
    assert (finding.host, finding.samples) == ("box", (10, 16))


def test_a_zone_makes_moments_comparable(report_of):
    moment = f"2026-11-20T12:00:16+0000 box kernel: {RESET}\n"
    assert found(report_of(capture(), moment))[0].samples is None
    assert found(report_of(capture(), moment.replace("12:00:16+0000", "13:00:16+0100")))[0].samples
    assert found(report_of(capture(), moment, tz="Europe/Berlin"))[0].samples == (10, 16)


def test_logs_with_and_without_a_zone_are_each_taken_as_they_are(report_of):
    moment = f"2026-11-20T13:00:16+0100 box kernel: {RESET}\n"
    (finding,) = found(report_of(capture(), moment, log(MEDIUM)))
    assert "medium errors and resets for sdb" in finding.summary
    (finding,) = found(report_of(capture(), moment.replace("sdb", "sda"), log(MEDIUM.replace("sdb", "sda"))))
    assert finding.samples is None
    far = moment.replace("13:00:16+0100", "12:00:16+0000")
    (finding,) = found(report_of(capture(), far, log(MEDIUM)))
    assert "logged medium errors for sdb" in finding.summary, "the other one was an hour before"


def test_another_log_ties_a_boot_clock_to_the_time(report_of):
    lines = [MEDIUM, "end_request: I/O error, dev sdb, sector 77"]
    dmesg = "".join(f"[93211.{n}00000] {line}\n" for n, line in enumerate(lines))
    report = report_of(capture(), dmesg, log(*lines))
    (finding,) = found(report)
    assert finding.samples == (10, 16)
    assert "2 lines" in finding.evidence[0].text  # each once, though both logs have it
    assert found(report_of(capture(), dmesg))[0].samples is None


def test_medium_errors_in_a_calm_capture_are_no_health(report_of):
    report = report_of(capture(still=0), log(MEDIUM))
    assert (report.verdict.state, report.verdict.rule) == ("trouble", RULE)
    assert report_of(capture(still=0)).verdict.state == "healthy"


def test_a_path_that_came_back_is_less_than_one_that_did_not(report_of):
    lost = log("device-mapper: multipath: Failing path 8:16.", clock="13:00:02")
    back = log("device-mapper: multipath: Reinstating path 8:16.", clock="13:00:05")
    (gone,), (again,) = (found(report_of(capture(still=0), text)) for text in (lost, lost + back))
    assert (gone.severity, again.severity) == ("warning", "notice")
    assert not found(report_of(capture(still=0), back))


def test_a_lost_path_is_the_cause_of_its_map_s_stall(report_of):
    paths = log("device-mapper: multipath: Failing path 8:16.")
    report = report_of(capture(hit="dm-3", others=("sdb", "sdc")), paths, PATHS)
    (finding,) = found(report)
    assert finding.devices == ("dm-3", "sdb")
    assert "dm-3 completed nothing for 6 s" in finding.summary
    assert "multipath -ll" in finding.confirm


def test_an_address_is_a_disk_where_a_listing_says_so(report_of):
    offline = log("sd 2:0:0:0: rejecting I/O to offline device")
    assert found(report_of(capture(), offline, LSBLK))[0].devices == ("sdb",)
    (guess,) = found(report_of(capture(), offline))
    assert (guess.devices, guess.confidence) == (("sdb",), "medium")


def test_an_adapter_s_reset_is_one_finding_and_explains_the_common_stall(report_of):
    names = ("sda", "sdb", "sdc", "sdd")
    disks = "".join(f"sd 0:0:{n}:0: [{name}] Attached SCSI disk\n" for n, name in enumerate(names))
    boot = "".join(f"Nov 20 11:00:00 box kernel: {line}\n" for line in disks.splitlines())
    reset = log("megaraid_sas 0000:03:00.0: resetting fusion adapter scsi0.")
    rates = dict(zip(names, (1.0, 1.3, 1.7, 2.3), strict=True))
    parts = [CALM] * 10 + [STILL] * 3 + [LATE] + [CALM | {"r/s": 250.0, "rkB/s": 2000.0}] + [CALM] * 10
    grown = [
        {n: {k: v * (rates[n] if k in ("r/s", "rkB/s") else 1) for k, v in row.items()} for n in names}
        for row in parts
    ]
    report = report_of(iostat(grown), boot + reset.replace("13:00:16", "13:00:12"))
    (finding,) = found(report)
    assert set(finding.devices) == set(names)
    (common,) = [f for f in report.findings if f.rule == "common-cause-stall"]
    assert common.explained_by == RULE


def test_what_falls_into_a_slow_sample_by_chance_is_not_sure(report_of):
    rows = [{"sdb": CALM}, {"sdb": LATE}, {"sdb": CALM}, {"sdb": CALM}] * 6
    (finding,) = found(report_of(iostat(rows), log(RESET, clock="13:00:06")))
    assert finding.confidence == "medium"


def test_hung_tasks_are_told_where_none_are_counted(report_of):
    hung = log("INFO: task postgres:2211 blocked for more than 120 seconds.")
    (finding,) = found(report_of(capture(still=0), hung))
    assert (finding.devices, finding.severity) == ((), "warning")
    assert finding.summary.startswith("The kernel found tasks hung for minutes, once: postgres")
    assert not found(report_of(capture(still=0), log("x", "y") + hung.replace("Nov 20", "Nov 12")))


def test_a_hung_task_is_told_beside_few_blocked_ones(report_of):
    hung = "[Fri Nov 20 13:00:05 2026] INFO: task postgres:2211 blocked for more than 120 seconds.\n"
    (finding,) = found(report_of(vmstat([{"b": 1, "wa": 3}] * 5), hung))
    assert "postgres" in finding.summary


WRITERS = (
    "[  720.39] INFO: task flush-253:1:3826 blocked for more than 120 seconds.\n"
    "[  840.39] INFO: task jbd2/dm-1-8:3823 blocked for more than 120 seconds.\n"
)
USERS = WRITERS.replace("flush-253:1", "rsync").replace("jbd2/dm-1-8", "rsync")


@pytest.mark.parametrize(
    ("hung", "severity", "devices"),
    [
        (WRITERS, "critical", ("dm-1",)),
        (WRITERS.splitlines(keepends=True)[1], "warning", ("dm-1",)),
        (WRITERS.replace("jbd2/dm-1-8", "xfsaild/dm-1"), "critical", ("dm-1",)),
        (WRITERS.replace("jbd2/dm-1-8", "kworker/u8:2+flush-253:7"), "critical", ()),
        (USERS, "warning", ()),
    ],
    ids=["journal and flusher", "seen once", "xfs", "a device that is not here", "users of a file server"],
)
def test_hung_tasks_that_write_out_a_file_system_are_of_its_device_and_graver(
    report_of, hung, severity, devices
):
    report = report_of(capture(hit="dm-1", still=0), hung)
    (finding,) = found(report)
    assert (finding.severity, finding.devices) == (severity, devices)
    assert ("They write out a file system" in finding.summary) == (hung != USERS)


def test_a_rule_is_not_cleared_under_its_own_finding(report_of):
    report = report_of(capture(still=0), log("INFO: task postgres:2211 blocked for more than 120 seconds."))
    assert found(report)
    assert "clear" not in {status for status, _ in outcomes(report)}


def test_averages_of_disks_do_not_soften_what_the_log_says(report_of):
    averages = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\ndm-1 12.00 48.00 0.00 4800 0\n"
    (finding,) = found(report_of(averages, WRITERS))
    assert (finding.severity, finding.confidence, finding.devices) == ("critical", "high", ("dm-1",))


def test_hung_tasks_are_evidence_of_blocked_ones(report_of):
    hung = "[Fri Nov 20 13:00:05 2026] INFO: task postgres:2211 blocked for more than 120 seconds.\n"
    report = report_of(vmstat([{"b": 9, "wa": 60}] * 5), hung, rules=["blocked-tasks"])
    assert any("tasks hung" in item.text for finding in report.findings for item in finding.evidence)


def test_killed_processes_are_evidence_of_memory_pressure(report_of):
    pressure = "some avg10=45.00 avg60=40.00 avg300=9.00 total=99\n"
    pressure += "full avg10=30.00 avg60=20.00 avg300=5.00 total=88\n"
    killed = "[93211.500000] Out of memory: Kill process 957 (app) score 524 or sacrifice child\n"
    report = report_of("==> /proc/pressure/memory <==\n" + pressure, killed, rules=["memory-pressure"])
    assert any("killed 1 process to" in item.text for finding in report.findings for item in finding.evidence)


def test_without_a_log_it_does_not_apply_and_a_quiet_log_clears(report_of):
    assert {status for status, _ in outcomes(report_of(capture()))} == {"not_applicable"}
    quiet = log("sd 2:0:0:0: [sdb] Attached SCSI disk")
    ((status, reason),) = outcomes(report_of(capture(), quiet))
    assert status == "clear"
    assert "lines read: 1" in reason


def test_the_report_lists_the_events(report_of):
    report = report_of(capture(), log(RESET))
    (event,) = report.events
    assert (event.device, event.kind, event.time, event.line) == ("sdb", "reset", "2026-11-20T13:00:16", 1)
    assert report.as_dict()["events"][0]["text"] == RESET


@pytest.mark.parametrize("name", ["vg0-$(reboot)", "a'b", "sdb;id"])
def test_no_name_of_a_log_becomes_a_command(report_of, name):
    (finding, *_) = found(report_of(capture(still=0), log(f"XFS ({name}): log I/O error -5", MEDIUM)))
    assert not any(sign in command for command in finding.confirm for sign in ("$(", ";id", "a'b"))


def test_a_server_that_does_not_respond_is_named_and_no_disk(report_of):
    down, up = "nfs: server nas1 not responding, still trying", "nfs: server nas1 OK"
    (finding,) = found(report_of(capture(still=0), log(down, up)))
    assert (finding.severity, finding.devices) == ("notice", ("nas1",))
    assert "unanswered requests for nas1" in finding.summary
    assert not any("smartctl" in command for command in finding.confirm)
    (finding,) = found(report_of(capture(still=0), log(up, down)))
    assert finding.severity == "warning"


def test_lines_of_a_flood_are_all_counted(report_of):
    (finding,) = found(report_of(capture(), log(*[RESET] * 500)))
    assert "500 lines of the kernel's log on sdb then" in finding.evidence[0].text


LOST = "Nov 20 13:00:14 box multipathd: lunb: remaining active paths: "


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (LOST + "0\n", "critical"),
        (LOST + "0\n" + LOST + "3\n", "notice"),
        (log("EXT3-fs (sdb1): error: remounting filesystem read-only"), "critical"),
        (log("EXT3-fs (sdb1): error: remounting filesystem read-only", day="Nov 18"), "warning"),
    ],
)
def test_where_nothing_is_written_any_more_is_critical(report_of, text, severity):
    (finding,) = found(report_of(iostat([{"sdb": CALM}] * 20), text))
    assert finding.severity == severity


def test_one_path_of_several_that_is_left_is_no_trouble_by_itself(report_of):
    assert found(report_of(capture(), LOST + "3\n")) == []


def test_a_log_of_which_nothing_is_known_clears_nothing(report_of):
    ((status, reason),) = outcomes(report_of(capture(), log(*["eth3: link becomes ready"] * 9)))
    assert status == "undetermined"
    assert "none of the 9 lines" in reason


def test_a_lost_disk_below_a_cache_goes_before_the_cache_that_is_full(report_of):
    """Reads keep the cache busy; its backing disk has no row of its own and fails a flush."""
    full = {"r/s": 20000.0, "rkB/s": 1_000_000.0, "r_await": 4.0, "aqu-sz": 80.0, "%util": 100.0}
    lines = ["sdc: IO error on backing device, unrecoverable", "Can't flush sdc: returned bi_status 10"]
    boot = "".join(f"[ 7150{n}.113027] bcache: {line}\n" for n, line in enumerate(lines))
    report = report_of(boot, iostat([{"nvme0n1": full}] * 5))
    (finding,) = found(report)
    assert (finding.severity, finding.devices) == ("warning", ("sdc",))
    assert (report.verdict.rule, report.verdict.devices) == (RULE, ("sdc",))
    assert "dirty_data" in finding.confirm[0]


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("sd 2:0:0:0: Power-on or device reset occurred", "sdb|sd 2:0:0:0"),
        ("device-mapper: multipath: Failing path 8:16.", "sdb|device-mapper"),
        ("blk_update_request: I/O error, dev sdb, sector 12", "sdb"),
    ],
)
def test_the_command_on_the_log_finds_each_line_that_is_cited(report_of, line, begins):
    finding = found(report_of(capture(), log(line, MEDIUM), LSBLK))[0]
    assert finding.evidence[0].lines == (1, 2)
    assert f"dmesg -T | grep -E '{begins}'" in finding.confirm
