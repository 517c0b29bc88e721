"""Commands can be pasted as they stand, name real devices, and ask no disk tool about what is no disk."""

from __future__ import annotations

import re
import shlex

import pytest

from iodiag.analysis.view.device_names import controller_of, logged_as, node_of
from iodiag.rules import all_rules
from iodiag.rules.confirm_commands import PLACEHOLDERS, adapt_commands
from iodiag.rules.selection import chosen_rules
from sample_files import FILES, analyzed
from views import view_of
from writers.captures import iostat, vmstat
from writers.loads import load

PROGRAMS = re.compile(
    r"arcconf|biolatency|biosnoop|blockdev|btrace|cat|ceph|cryptsetup|dd|df|dmesg|dmsetup|drbdadm|echo|find|findmnt|fio|"
    r"grep|hdparm|head|iostat|journalctl|losetup|lsblk|lspci|lsscsi|lvs|mdadm|mountstats|mpstat|multipath|mysql|nfsiostat|"
    r"nfsstat|nvme|perf|pg_test_fsync|pidstat|ps|psql|sar|sdparm|sleep|smartctl|smem|ss|ssacli|storcli64|swapon|"
    r"sysctl|systemctl|top|uname|uptime|vgs|vmstat|zpool"
)
NEED_A_DEVICE = re.compile(
    r"(smartctl |hdparm |blockdev |cryptsetup |nvme |mdadm --detail (?!--scan)|dmsetup status )"
)
EXAMPLE = re.compile(r"\b(sd|md|dm-|nvme)X|\b(FILE|UNIT|PID|SCRATCH|DIRECTORY)\b")
RULES = chosen_rules((), ()).values()


def assert_runs(command: str) -> None:
    assert not EXAMPLE.search(command), command
    assert "(" not in re.sub(r"'[^']*'|\$\([^)]*\)+", "", command), "a remark is no part of a command"
    for part in re.split(r"[|;]", re.sub(r"'[^']*'", "quoted", command)):
        words = shlex.split(part)
        assert PROGRAMS.fullmatch(words[0]), command


def test_what_a_rule_says_to_type_can_be_typed():
    for rule in RULES:
        for command in rule.confirm:
            assert_runs(command)


def test_commands_of_findings_name_their_devices():
    for finding in (finding for path in FILES for finding in analyzed(path).findings):
        for command in finding.confirm:
            assert_runs(command)
            assert not PLACEHOLDERS.search(command)
            if NEED_A_DEVICE.match(command):
                assert "/dev/" in command or command.endswith("--scan")
        assert not any(re.search(r"\b(DEVICE|(sd|md|dm-)X)\b", text) for text in finding.remedy)


STUCK = {"r/s": 3.0, "rkB/s": 12.0, "r_await": 4000.0, "aqu-sz": 12.0, "%util": 100.0}
LAYERS = {
    "md0": ("NAME TYPE\nsdb disk\n`-md0 raid1\nsdc disk\n`-md0 raid1\n", "mdadm --detail /dev/md0"),
    "dm-0": ("NAME KNAME TYPE\nsdb sdb disk\n`-vg-lv dm-0 lvm\n", "lvs "),
    "dm-1": ("NAME KNAME TYPE\nsdb sdb disk\n`-luks dm-1 crypt\n", "cryptsetup status /dev/dm-1"),
    "dm-2": ("NAME KNAME TYPE\nsdb sdb disk\n`-mpatha dm-2 mpath\n", "multipath -ll dm-2"),
}


def advice(report_of, device, *context):
    report = report_of(iostat([{device: STUCK}] * 3), *context)
    finding = next(f for f in report.findings if f.rule == "extreme-latency")
    return " ".join(finding.remedy), finding.confirm


def test_a_disk_gets_disk_tools_with_its_name(report_of):
    remedy, confirm = advice(report_of, "sdb")
    assert "SMART" in remedy
    assert "smartctl -x /dev/sdb" in confirm


def test_a_partition_is_read_at_its_disk(report_of):
    assert "smartctl -x /dev/sdb" in advice(report_of, "sdb3")[1]


@pytest.mark.parametrize(
    ("device", "folder"),
    [
        ("sdb3", "sdb"),
        ("nvme0n1p2", "nvme0n1"),
        ("vdc1", "vdc"),
        ("dasda1", "dasda"),
        ("nbd0p1", "nbd0"),
        ("rbd3p2", "rbd3"),
        ("cciss/c0d1p1", "cciss!c0d1"),
        ("nvme0n1", "nvme0n1"),
        ("sr0", "sr0"),
        ("rbd3", "rbd3"),
        ("xvda1", "xvda1"),
    ],
)
def test_only_whole_disks_have_a_folder_of_their_own(device, folder):
    stated = all_rules()["flush-latency"].finding(
        severity="warning",
        confidence="high",
        devices=(device,),
        summary="",
        confirm=("cat /sys/block/DEVICE/queue/write_cache",),
    )
    adapted = adapt_commands(stated, view_of(iostat([{device: STUCK}] * 3)))
    assert adapted.confirm[0] == f"cat /sys/block/{folder}/queue/write_cache"


@pytest.mark.parametrize("device", LAYERS)
def test_a_layer_gets_its_own_tool_and_its_disks_theirs(report_of, device):
    lsblk, own = LAYERS[device]
    confirm = advice(report_of, device, lsblk)[1]
    assert any(command.startswith(own) for command in confirm)
    assert "smartctl -x /dev/sdb" in confirm
    assert f"smartctl -x /dev/{device}" not in confirm


@pytest.mark.parametrize(
    ("device", "context", "asks"),
    [
        ("vda", (), "lsblk -o NAME,MODEL,SERIAL,SIZE /dev/vda"),
        ("xvdf", (), "lsblk -o NAME,MODEL,SERIAL,SIZE /dev/xvdf"),
        ("rbd0", (), "ceph osd perf"),
        ("drbd1", (), "drbdadm status"),
        ("nbd0", (), "ss -tin"),
        ("loop3", (), "losetup -l"),
        ("dev7-0", (), "losetup -l"),
        (
            "nvme1n1",
            ('NAME="nvme1n1" TYPE="disk" MODEL="Amazon Elastic Block Store"\n',),
            "lsblk -o NAME,MODEL,SERIAL,SIZE /dev/nvme1n1",
        ),
        (
            "dm-0",
            ("NAME KNAME TYPE\nvda vda disk\n`-vg-lv dm-0 lvm\n",),
            "lsblk -o NAME,MODEL,SERIAL,SIZE /dev/vda",
        ),
    ],
)
def test_what_a_network_serves_has_no_smart_data_and_no_cable(report_of, device, context, asks):
    remedy, confirm = advice(report_of, device, *context)
    assert not re.search("SMART|cable|slot", remedy)
    assert not any("smartctl" in command for command in confirm)
    assert asks in confirm


HUNG = [{"aqu-sz": 3.0, "%util": 100.0}] * 6


@pytest.mark.parametrize(("device", "first"), [("loop3", "the file behind it"), ("rbd0", "Ceph cluster")])
def test_what_is_known_to_serve_a_hung_device_is_looked_at_first(report_of, device, first):
    calm = load(100, 1)
    report = report_of(iostat([{device: row} for row in [calm] * 4 + HUNG]))
    finding = next(f for f in report.findings if f.rule == "hung-io")
    assert first in finding.remedy[0]
    assert not any(text.startswith("On a network volume") for text in finding.remedy)


def test_no_limit_is_the_first_suspect_of_a_virtual_disk_that_stands_still(report_of):
    calm = load(100, 1)
    report = report_of(iostat([{"vda": row} for row in [calm] * 4 + HUNG]))
    finding = next(f for f in report.findings if f.rule == "hung-io")
    assert finding.remedy[0].startswith("Look at what serves the disk")
    assert not any("burst credit" in text for text in finding.remedy)


@pytest.mark.parametrize(
    "lsblk", ['NAME="sdb" TYPE="disk" TRAN="usb"\n', 'NAME="sdb" TYPE="disk" MODEL="USB Flash"\n']
)
def test_a_stick_gets_the_kernel_log_alone(report_of, lsblk):
    confirm = advice(report_of, "sdb", lsblk)[1]
    assert [command.split()[0] for command in confirm] == ["dmesg"]


def test_memory_and_files_get_no_disk_tools(report_of):
    remedy, confirm = advice(report_of, "loop3")
    assert not re.search("SMART|cable", remedy)
    assert not any("/dev/" in command for command in confirm)


@pytest.mark.parametrize("name", ["pci-0000:03:00.0-ata-1", "a:b", "99999:1"])
def test_a_name_with_a_colon_is_a_name(report_of, name):
    assert f"smartctl -x /dev/{name}" in advice(report_of, name)[1]


def test_a_name_that_a_shell_would_take_apart_is_in_no_command(report_of):
    confirm = advice(report_of, "sd;reboot")[1]
    assert not any("reboot" in command for command in confirm)


@pytest.mark.parametrize(
    ("kernel", "traced"),
    [
        ("3.13.0-48-generic", "btrace -w 10 /dev/sda"),
        ("4.0.9", "btrace -w 10 /dev/sda"),
        ("4.1.0", "biolatency -D 1 10"),
        ("6.1.0", "biolatency -D 1 10"),
    ],
)
def test_a_kernel_without_bpf_is_traced_without_it(report_of, kernel, traced):
    full = {"r/s": 140.0, "rkB/s": 2240.0, "r_await": 450.0, "aqu-sz": 63.0, "%util": 100.0}
    capture = iostat([{"sda": full}] * 20).replace("Linux 6.1.0", f"Linux {kernel}")
    finding = next(f for f in report_of(capture).findings if f.rule == "true-saturation")
    assert finding.confirm[:2] == ("iostat -xyt 1 30 sda", traced)


@pytest.mark.parametrize(("kernel", "limit"), [("3.10.0-327", "blkio.throttle"), ("5.14.0", "io.max")])
def test_limits_are_those_of_the_kernel_s_control_groups(report_of, kernel, limit):
    rows = vmstat([{"b": 5, "wa": 60, "us": 2, "bi": 3000}] * 5)
    banner = f"Linux {kernel} (box) 11/20/2026 _x86_64_ (2 CPU)\n\n"
    (finding,) = report_of(banner + rows, rules=["blocked-tasks"]).findings
    assert any(f"{limit} of its control group" in text for text in finding.remedy)


@pytest.mark.parametrize("disk", ["sda", "sdb"])
def test_counters_of_a_disk_that_are_in_the_capture_are_not_asked_for(report_of, disk):
    listing = (
        f"# smartctl -a /dev/{disk}\nsmartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n\n"
    )
    listing += "SMART overall-health self-assessment test result: PASSED\n\n"
    listing += (
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
    )
    listing += "  5 Reallocated_Sector_Ct   0x0012   100   100   000    Old_age   Always       -       0\n"
    rows = {"sda": STUCK, "sdb": {"r/s": 9.0, "rkB/s": 90.0, "r_await": 5.0, "aqu-sz": 0.1, "%util": 5.0}}
    (finding,) = report_of(iostat([rows] * 5), listing, rules=["extreme-latency"]).findings
    assert ("smartctl -x /dev/sda" in finding.confirm) == (disk == "sdb")


def test_a_histogram_ends_by_itself_and_no_database_is_taken_for_granted():
    for rule in RULES:
        assert not any(re.fullmatch(r"biolatency( -D)?( 1)?", command) for command in rule.confirm)
        assert not re.match("pg_test_fsync|filefrag|.*exec filefrag", rule.confirm[0] if rule.confirm else "")


def test_a_volume_of_a_pool_is_no_disk(report_of):
    report = report_of(iostat([{"zd16": STUCK}] * 5), rules=["extreme-latency"])
    (finding,) = report.findings
    assert "zpool iostat -vly 1 10" in finding.confirm
    assert not any("smartctl" in text for text in (*finding.confirm, *finding.remedy))


def test_a_name_that_is_printed_with_its_folder_has_it_once(report_of):
    (finding,) = [
        f for f in report_of(iostat([{"/dev/sdb": STUCK}] * 4)).findings if f.rule == "extreme-latency"
    ]
    assert "smartctl -x /dev/sdb" in finding.confirm
    assert not any("/dev//dev" in command for command in finding.confirm)


STORVSC = (
    "Nov 20 13:00:01 box kernel: [ 2873.6] hv_storvsc vmbus_0_1: cmd 0x2a scsi status 0x2 srb status 0x4\n"
)
KERNELS = {"driver": ("6.1.0", STORVSC), "kernel": ("3.2.0-67-virtual", "")}


@pytest.mark.parametrize("shown", KERNELS)
def test_in_a_virtual_machine_its_host_is_asked_and_no_disk(report_of, shown):
    kernel, log = KERNELS[shown]
    capture = iostat([{"sda": STUCK}] * 3).replace("6.1.0", kernel)
    report = report_of(capture, *[log] * bool(log))
    for finding in report.findings:
        assert not re.search(r"SMART|\bcables?\b|\bslot\b", " ".join(finding.remedy)), finding.rule
        assert not [command for command in finding.confirm if "smartctl" in command], finding.rule
    slow = next(f for f in report.findings if f.rule == "extreme-latency")
    assert "ask who runs" in slow.remedy[0]
    logged = [f for f in report.findings if f.rule == "device-errors"]
    assert len(logged) == bool(log)
    assert all(f.remedy[0].startswith("Ask who runs the host") for f in logged)


@pytest.mark.parametrize(
    ("name", "node", "controller", "logged"),
    [
        ("nvme3c5n2", "/dev/nvme3n2", "/dev/nvme5", "nvme5[n:]|nvme3n"),
        ("nvme3c3n1", "/dev/nvme3n1", "/dev/nvme3", "nvme3[n:]"),
        ("nvme3n1", "/dev/nvme3n1", "/dev/nvme3n1", "nvme3[n:]"),
        ("sdb", "/dev/sdb", "/dev/sdb", "sdb"),
    ],
)
def test_what_is_asked_of_a_path_of_nvme_exists(name, node, controller, logged):
    assert (node_of(name), controller_of(name), logged_as(name)) == (node, controller, logged)
