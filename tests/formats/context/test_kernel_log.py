"""The kernel's log: its clocks, its messages, and which disk an address of it is."""

from __future__ import annotations

import csv
import io
import json

import pandas as pd
import pytest

import iodiag
from command_line import program
from iodiag.formats.context.kernel_log import FORMAT
from iodiag.hosts.joining import join
from iodiag.model.columns import FAMILIES, KEY_COLUMNS, LABEL_COLUMNS
from reading import blocks_of
from writers.captures import iostat

ERROR = "blk_update_request: critical medium error, dev sdb, sector 1264871"


VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
"""


def read(text):
    return iodiag.read(io.BytesIO(text.encode()), name="log.txt")


def events(text):
    return read(text).tables["events"]


def told(*messages):
    """Device and kind of each event of some messages, long after boot."""
    found = events("".join(f"[{90000 + n}.000000] {text}\n" for n, text in enumerate(messages)))
    return list(zip(found["device"].astype(str), found["kind"].astype(str), strict=True))


STAMPS = {
    f"[93211.552391] {ERROR}": None,
    f"<3>[93211.552391] {ERROR}": None,
    f"kern  :err   : [93211.552391] {ERROR}": None,
    f"[93211.552391] [  T411] {ERROR}": None,
    f"[93211.552391] box kernel: {ERROR}": None,
    f"[  +0.000012] {ERROR}": None,
    f"[Mon Nov 23 10:00:00] {ERROR}": None,
    f"[Mon Nov 23 10:00:00 2026] {ERROR}": "2026-11-23 10:00:00",
    f"[Mon Nov  2 10:00:00 2026] {ERROR}": "2026-11-02 10:00:00",
    f"2026-11-23T10:00:00,250000+01:00 {ERROR}": "2026-11-23 09:00:00.250000+00:00",
    f"2026-11-23T10:00:00+0100 box kernel: {ERROR}": "2026-11-23 09:00:00+00:00",
    f"2026-11-23T10:00:00.5+01:00 box kernel: [93211.552391] {ERROR}": "2026-11-23 09:00:00.500000+00:00",
    f"1795428000.500000 box kernel: {ERROR}": "2026-11-23 10:00:00.500000+00:00",
    f"Mon 2026-11-23 10:00:00 UTC box kernel: {ERROR}": "2026-11-23 10:00:00+00:00",
    f"Nov 23 10:00:00 box kernel: {ERROR}": None,
    f"Nov  3 10:00:00 box kernel: : {ERROR}": None,
    f"Nov 23 10:00:00.123456 box kernel: {ERROR}": None,
    f"Nov 23 10:00:00 box kern.err kernel: [93211.552391] {ERROR}": None,
    f"Nov 23 10:00:00 kernel: {ERROR}": None,
}


@pytest.mark.parametrize(("line", "time"), STAMPS.items(), ids=STAMPS)
def test_every_clock_of_a_log(line, time):
    row = events(f"{line}\n").iloc[0]
    assert (row["device"], row["kind"], row["message"], row["line"]) == ("sdb", "media error", ERROR, 1)
    assert row.get("boot_s") == (93211.552391 if "93211" in line else None)
    assert ("utc_offset_s" in row) == ("+01" in line or " UTC " in line)
    assert pd.isna(row["time"]) if time is None else str(row["time"]) == time
    assert str(row["host"]) == ("box" if " box " in line else "")


def test_a_boot_clock_is_told_by_the_record_right_above():
    clocks = ((1000.0, 1795428000), (2000.0, 1795429010), (3000.0, 1795430000))
    lines = [f"[{at:.6f}] audit: type=1400 audit({epoch}.000:7): x" for at, epoch in clocks]
    lines += [f"[{at:.6f}] {ERROR}" for at in (500.0, 1999.0, 2000.0, 2500.0)]
    seconds = events("\n".join(lines))["time"].astype("int64") // 10**9
    assert list(seconds) == [1795427500, 1795428999, 1795429010, 1795429510]


def test_what_time_it_was_by_an_audit_record_or_the_setting_of_the_clock():
    audit = "[    1.500000] audit: type=2000 audit(1795428001.500:1): state=initialized\n"
    rtc = "[    1.500000] rtc_cmos 00:01: setting system clock to 2026-11-23T10:00:01 UTC (1795428001)\n"
    for tie, time in ((audit, "10:01:40"), (rtc, "10:01:39.500000")):
        assert str(events(f"{tie}[  100.000000] {ERROR}\n")["time"][0]) == f"2026-11-23 {time}+00:00"
    later = "[  200.000000] audit: type=1400 audit(1795428300.000:7): apparmor\n"
    assert str(events(f"{audit}{later}[  201.000000] {ERROR}\n")["time"][0]).startswith("2026-11-23 10:05:01")


MESSAGES = {
    "end_request: I/O error, dev sda, sector 5": ("sda", "I/O error"),
    "blk_update_request: I/O error, dev dm-3, sector 5 op 0x1:(WRITE) flags 0x0": ("dm-3", "I/O error"),
    "I/O error, dev vda, sector 5 op 0x0:(READ) flags 0x80700 phys_seg 1": ("vda", "I/O error"),
    "critical medium error, dev sdc, sector 5": ("sdc", "media error"),
    "Buffer I/O error on device sdb1, logical block 3": ("sdb1", "I/O error"),
    "Buffer I/O error on dev dm-0, logical block 3, lost async page write": ("dm-0", "I/O error"),
    "sd 0:0:0:0: [sda]  Sense Key : Medium Error [current] [descriptor]": ("sda", "media error"),
    "sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK": ("sda", "timeout"),
    "sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK": ("sda", "offline"),
    "sd 3:0:1:0: rejecting I/O to offline device": ("3:0:1:0", "offline"),
    "sd 0:0:3:0: attempting task abort! scmd(ffff880)": ("0:0:3:0", "timeout"),
    "sd 0:0:3:0: [sdd] tag#4 timing out command, waited 180s": ("sdd", "timeout"),
    "ata3.00: exception Emask 0x0 SAct 0x7 SErr 0x0 action 0x6 frozen": ("ata3", "I/O error"),
    "ata3.00: error: { UNC }": ("ata3", "media error"),
    "ata3: hard resetting link": ("ata3", "reset"),
    "ata3: link is slow to respond, please be patient (ready=0)": ("ata3", "timeout"),
    "ata3: limiting SATA link speed to 1.5 Gbps": ("ata3", "link speed"),
    "ata3: SATA link up 3.0 Gbps (SStatus 123 SControl 320)": ("ata3", "link speed"),
    "ata3: SATA link down (SStatus 0 SControl 300)": ("ata3", "link down"),
    "nvme nvme0: I/O 123 QID 4 timeout, aborting": ("nvme0n1", "timeout"),
    "nvme nvme0: I/O tag 12 (100c) opcode 0x2 (Read) QID 4 timeout, aborting req_op": ("nvme0n1", "timeout"),
    "nvme nvme0: I/O 123 QID 4 timeout, reset controller": ("nvme0n1", "reset"),
    "nvme nvme0: Device not ready; aborting reset": ("nvme0n1", "offline"),
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff": ("nvme0n1", "reset"),
    "mpt2sas0: sending diag reset !!": ("", "reset"),
    "megaraid_sas 0000:03:00.0: resetting fusion adapter scsi0.": ("host0", "reset"),
    "hpsa 0000:03:00.0: scsi 0:1:0:0: resetting logical  Direct-Access HP": ("0:1:0:0", "reset"),
    "qla2xxx [0000:05:00.0]-801c:2: Abort command issued nexus=2:0:1 -- 1 2002.": ("host2", "timeout"),
    "lpfc 0000:04:00.0: 0:1305 Link Down Event x2 received": ("", "link down"),
    " rport-1:0-2: blocked FC remote port time out: removing target": ("host1", "path down"),
    "sd 2:2:3:0: [sdd] megasas: RESET cmd=2a retries=0": ("sdd", "reset"),
    "megaraid_sas 0000:03:00.0: FW in FAULT state Fault code:0x10000 subcode:0x0": ("", "reset"),
    "megaraid_sas 0000:03:00.0: 77 (7s/0x0002/WARN) - Command timeout on PD 04(e0x20/s4)": ("", "timeout"),
    "mpt2sas3: attempting task abort! scmd(ffff88)": ("", "timeout"),
    "mptscsih: ioc1: attempting target reset! (sc=ffff88)": ("", "reset"),
    "mpt3sas_cm0: SAS host is non-operational !!!!": ("", "offline"),
    "smartpqi 0000:5c:00.0: resetting scsi 4:1:0:1": ("4:1:0:1", "reset"),
    "smartpqi 0000:5c:00.0: controller is offline: status code 0x6100c": ("", "offline"),
    "hpsa 0000:03:00.0: resetting device 0:0:0:3": ("0:0:0:3", "reset"),
    "aacraid: Host adapter abort request (0,1,2,0)": ("", "timeout"),
    "aacraid 0000:82:00.0: Issuing IOP reset": ("", "reset"),
    "hv_storvsc 1a2b3c4d-0001-8899-00000000: tag#7 cmd 0x2a status: scsi 0x2 srb 0x4 hv 0xc0000001": (
        "",
        "I/O error",
    ),
    "hv_storvsc vmbus_0_1: cmd 0x28 scsi status 0x0 srb status 0x89": ("", "timeout"),
    "hv_storvsc vmbus_0_1: cmd 0x88 status: scsi 0x0 srb 0x20 hv 0xc000000d": ("", "offline"),
    "hv_storvsc vmbus_0_1: cmd 0x8a status: scsi 0x0 srb 0xe hv 0xc0000001": ("", "reset"),
    "nvme nvme2: queue 4: timeout cid 0x1001 type 4 opcode 0x1 (Write)": ("nvme2n1", "timeout"),
    "nvme nvme2: Failed reconnect attempt 3": ("nvme2n1", "path down"),
    "nvme nvme2: Successfully reconnected (4 attempt)": ("nvme2n1", "path up"),
    "block nvme2n1: no usable path - requeuing I/O": ("nvme2n1", "path down"),
    "hdc: dma_intr: error=0x40 { UncorrectableError }, LBAsect=77": ("hdc", "media error"),
    "md/raid1:md0: active with 1 out of 2 mirrors": ("md0", "md"),
    "md/raid1:md0: sdb1: unrecoverable I/O read error for block 8": ("sdb1", "I/O error"),
    "JBD2: Detected IO errors while flushing file data on dm-1-8": ("dm-1", "file system"),
    "nfs: server nas1.example not responding, still trying": ("nas1.example", "server down"),
    "nfs: server nas1.example OK": ("nas1.example", "server up"),
    "CIFS: VFS: \\\\nas2 has not responded in 180 seconds. Reconnecting...": ("nas2", "server down"),
    "device-mapper: multipath: Failing path 8:16.": ("sdb", "path down"),
    "device-mapper: multipath: 253:3: Failing path 65:160.": ("sdaa", "path down"),
    "md/raid:md0: Disk failure on sdb1, disabling device.": ("sdb1", "md"),
    "raid5:md0: read error corrected (8 sectors at 264 on sdb1)": ("sdb1", "media error"),
    "md: recovery of RAID array md0": ("md0", "md resync"),
    "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls": ("sda1", "file system"),
    "EXT4-fs (dm-1): Remounting filesystem read-only": ("dm-1", "file system down"),
    "EXT3-fs (sdq2): error: remounting filesystem read-only": ("sdq2", "file system down"),
    "Remounting filesystem read-only": ("", "file system down"),
    "EXT3-fs error (device sdq2) in ext3_reserve_inode_write: IO failure": ("sdq2", "file system"),
    "XFS (dm-7): Filesystem has been shut down due to log error (0x2).": ("dm-7", "file system down"),
    "BTRFS info (device sdq2 state EA): forced readonly": ("sdq2", "file system down"),
    "batchd invoked oom-killer: gfp_mask=0x201da, order=0": ("", "oom-killer"),
    "Web Content invoked oom-killer: gfp_mask=0x100cca": ("", "oom-killer"),
    "Aborting journal on device dm-1-8.": ("dm-1", "file system"),
    "XFS (dm-0): metadata I/O error: block 0x12 (xlog) error 5": ("dm-0", "file system"),
    "BTRFS error (device sdc1): bdev /dev/sdc1 errs: wr 0, rd 1, flush 0": ("sdc1", "file system"),
    "INFO: task jbd2/sda1-8:345 blocked for more than 120 seconds.": ("", "hung task"),
    "Out of Memory: Killed process 957 (app).": ("", "out of memory"),
    "Out of memory: Kill process 957 (app) score 524 or sacrifice child": ("", "out of memory"),
    "Memory cgroup out of memory: Killed process 9 (java)": ("", "out of memory"),
    "CPU0: Core temperature above threshold, cpu clock throttled (total events = 1)": ("", "throttled"),
}


@pytest.mark.parametrize(("message", "event"), MESSAGES.items(), ids=MESSAGES)
def test_messages_of_kernels_from_2_6_on(message, event):
    assert told(message) == [event]


@pytest.mark.parametrize(
    "message",
    [
        "blk_update_request: I/O error, dev fd0, sector 0",
        "Buffer I/O error on dev sr0, logical block 0, async page read",
        "critical target error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x800",
        "usb 1-1: reset high-speed USB device number 2 using xhci_hcd",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro",
        "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "sd 0:0:0:0: [sda] Attached SCSI disk",
        "nvme nvme0: 8/0/0 default/read/poll queues",
        "hv_storvsc vmbus_0_1: cmd 0x85 status: scsi 0x2 srb 0x6 hv 0xc0000001",
        "hv_storvsc vmbus_0_1: cmd 0x28 status: scsi 0x8 srb 0x5 hv 0xc0000001",
        "md/raid1:md0: active with 2 out of 2 mirrors",
        "md/raid1:md0: redirecting sector 8 to other mirror: sdb1",
        "device veth0 entered promiscuous mode",
    ],
)
def test_ordinary_messages_are_read_and_no_events(message):
    capture = read(f"[90000.000000] {message}\n[90001.000000] {ERROR}\n")
    assert len(capture.tables["events"]) == 1
    assert dict(capture.ledgers[0].counts) == {"context": 2}


def test_a_process_that_was_killed_is_no_trouble_of_a_device():
    log = f"[90000.000000] {ERROR}\n[90001.000000] convert invoked oom-killer: gfp_mask=0x201da, order=0\n"
    text = "the kernel's log has 2 lines, 1 of them on trouble of a device, and 1 on other trouble"
    assert [fact.text for fact in read(log).evidence] == [text]


def test_a_boot_looks_for_what_is_there():
    boot = "[    1.0000] ata1: SATA link down (SStatus 0)\n[    2.0000] ata2: hard resetting link\n"
    assert "events" not in read(boot).tables
    assert read(boot).evidence[0].text.startswith("the kernel's log has 2 lines, 0 of")


def test_ports_and_controllers_become_disks_where_the_log_says_which():
    ports = (
        "scsi host4: ahci\n",
        "scsi host5: ahci\n",
        "ata1: SATA max UDMA/133 abar\n",
        "ata2: DUMMY\n",
        "sd 4:0:0:0: [sdc] 100 512-byte logical blocks\n",
        "scsi host7: usb-storage 1-1.4:1.0\n",
        "sd 7:0:0:0: [sde] 100 512-byte logical blocks\n",
        "nvme nvme1: pci function 0000:01:00.0\n",
    )
    start = "".join(f"[    1.{n:06}] {line}" for n, line in enumerate(ports))
    rest = (
        "ata1: hard resetting link",
        "usb 1-1.4: reset SuperSpeed USB device",
        "sd 4:0:0:0: device reset: ok",
    )
    rest += ("nvme 0000:01:00.0: I/O 3 QID 1 timeout, aborting",)
    found = events(start + "".join(f"[9000.00000{n}] {line}\n" for n, line in enumerate(rest)))
    assert list(found["device"]) == ["sdc", "sde", "sdc", "nvme1n1"]


def test_between_exception_and_end_a_port_s_disk_reports():
    lines = "ata3.00: exception Emask 0x0", "sd 2:0:0:0: [sdb] Unhandled error code", "ata3: EH complete"
    assert told(*lines, "ata3: hard resetting link") == [("sdb", "I/O error"), ("sdb", "reset")]


def test_a_request_that_the_hypervisor_refused_is_of_the_only_disk_it_has():
    hosts = "scsi host0: storvsc_host_t", "scsi host1: storvsc_host_t"
    disks = "sd 0:0:0:0: [sda] Attached SCSI disk", "sd 1:0:0:0: [sdb] Attached SCSI disk"
    failed = "hv_storvsc vmbus_0_1: cmd 0x2a status: scsi 0x0 srb 0x4 hv 0xc0000001"
    assert told(*hosts, disks[0], failed) == [("sda", "I/O error")]
    assert told(*hosts, *disks, failed) == [("", "I/O error")]


@pytest.mark.parametrize(
    "stamps",
    [
        ("[Fri Mar  5 08:00:0{} 2021] ", "[Fri Mar  5 21:13:07 2021] "),
        ("Mar  5 08:00:0{} db1 kernel: ", "Mar  5 21:13:07 db1 kernel: "),
        ("2021-03-05T08:00:0{},000001+01:00 ", "2021-03-05T21:13:07,000001+01:00 "),
    ],
    ids=["ctime", "classic", "iso"],
)
def test_long_after_the_boot_by_its_stamps_a_reset_is_none_of_the_boot(stamps):
    booting, later = stamps
    text = booting.format(0) + "Linux version 5.4.0 (builder) #1 SMP\n"
    text += booting.format(3) + "ata2: hard resetting link\n"
    text += later + "nvme nvme0: I/O 123 QID 4 timeout, aborting\n" + later + "ata3: hard resetting link\n"
    events = read(text).tables["events"]
    assert list(zip(events["line"], events["kind"], strict=True)) == [(3, "timeout"), (4, "reset")]


def test_names_change_with_a_boot():
    text = ""
    for name in ("sda", "sdb"):
        text += "Nov 23 10:00:00 box kernel: Linux version 6.1.0\n"
        text += f"Nov 23 10:00:01 box kernel: sd 2:0:0:0: [{name}] Attached SCSI disk\n"
        text += "Nov 23 10:00:02 box kernel: sd 2:0:0:0: rejecting I/O to offline device\n"
    assert list(events(text)["device"]) == ["sda", "sdb"]


def test_a_refused_request_names_its_disk_in_the_line_below():
    refused = "sd 0:0:0:0: rejecting I/O to offline device"
    failed = "blk_update_request: I/O error, dev {}, sector 5"
    assert told(refused, failed.format("sda")) == [("sda", "offline"), ("sda", "I/O error")]
    both = told(refused, failed.format("sda"), refused, failed.format("sdb"))
    assert [name for name, kind in both if kind == "offline"] == ["0:0:0:0"] * 2


def test_names_are_of_one_host():
    text = "Nov 23 10:00:01 web1 kernel: sd 2:0:0:0: [sda] Attached SCSI disk\n"
    text += "Nov 23 10:00:02 web2 kernel: sd 2:0:0:0: rejecting I/O to offline device\n"
    assert list(events(text)["device"]) == ["2:0:0:0"]


def test_daemons_that_watch_disks():
    text = (
        "Nov 23 10:00:04 box multipathd: Lun1: sdcr - tur checker reports path is down\n"
        "Nov 23 10:00:04 box multipathd[88]: checker failed path 69:240 in map Lun1\n"
        "Nov 23 10:00:05 box multipathd[88]: 69:240: reinstated\n"
        "Nov 23 10:00:05 box smartd[9]: Device: /dev/sdc [SAT], 8 Currently unreadable (pending) sectors\n"
        "Nov 23 10:00:05 box mdadm[9]: Fail event detected on md device /dev/md0, component device /dev/sdb1"
        "\n"
        "Nov 23 10:00:05 box app[9]: blk_update_request: I/O error, dev sdz, sector 5\n"
    )
    found = events(text)
    assert list(found["kind"]) == ["path down", "path down", "path up", "media error", "md"]
    assert list(found["device"]) == ["sdcr", "sdcr", "sdcr", "sdc", "sdb1"]


@pytest.mark.parametrize(
    ("counts", "kinds"),
    [
        ([5], []),
        ([5, 4, 4], ["path down"]),
        ([2, 0, 0, 1, 3], ["all paths down", "all paths down", "path up", "path up"]),
        ([0], ["all paths down"]),
    ],
    ids=["alone", "falls", "lost and back", "none"],
)
def test_a_count_of_paths_is_what_the_one_before_makes_it(counts, kinds):
    text = "".join(
        f"Nov 23 10:00:0{second} box multipathd[88]: {name}: remaining active paths: {count}\n"
        for second, count in enumerate(counts)
        for name, count in (("Lun1", count), ("Lun2", 7))
    )
    failed = "Nov 23 10:00:01 box multipathd[88]: checker failed path 69:240 in map Lun1\n"
    found = events(failed + text)
    assert list(found["kind"]) == ["path down", *kinds]
    assert set(found["device"]) == {"sdcr"} | ({"Lun1"} if kinds else set())


def test_a_log_with_the_newest_lines_first_tells_of_no_path_that_comes_back():
    text = "".join(
        f"Nov 23 10:00:0{9 - number} box multipathd[88]: Lun1: remaining active paths: {count}\n"
        for number, count in enumerate((1, 2, 3))
    )
    failed = "Nov 23 09:59:59 box multipathd[88]: checker failed path 69:240 in map Lun1\n"
    assert list(events(text + failed)["kind"]) == ["path down"]


def test_a_log_without_clocks_in_a_ticket():
    text = f"Help! I see\n\nend_request: I/O error, dev sda, sector 5\n{ERROR}\n\nThe drive is new.\n"
    (block,) = blocks_of(FORMAT, text)
    assert (block.used, len(block.tables[0].rows)) == (2, 2)


def test_other_lines_and_gaps_are_the_log_s_own():
    text = (
        "-- Logs begin at Mon 2026-11-09 08:00:11 CET. --\n"
        "Nov 23 10:00:00 box systemd[1]: Started Session 4.\n"
        f"Nov 23 10:00:00 box kernel: {ERROR}\n"
        "Nov 23 10:00:00 box last message repeated 3 times\n"
        "    res 40/00:00 Emask 0x4 (timeout)\n\n"
        "-- Reboot --\n"
        f"Nov 23 10:00:00 box kernel: {ERROR}\n"
    )
    assert dict(read(text).ledgers[0].counts) == {"context": 7}


@pytest.mark.parametrize("level", ["INFO", "NOTICE", "WARNING", "ERROR", "DEBUG"])
def test_the_level_of_an_application_s_line_is_no_host(level):
    lines = [f"2026-11-27T03:40:0{n}.123456+00:00 {level} 12: thread {n} is up" for n in range(9)]
    assert blocks_of(FORMAT, "\n".join(lines) + "\n") == []


def test_the_rows_of_a_sampler_are_no_log_s():
    assert blocks_of(FORMAT, "Nov 23 10:00:00 box iostat[9]: sda 1.00 2.00 3.00 4.00\n") == []


@pytest.mark.parametrize(
    "stamp", ["Nov 23 10:00:{:02} box kernel: ", "[{}.50] ", "2026-11-23T10:00:{:02},5+00:00 "]
)
def test_a_second_full_of_errors_is_counted(stamp):
    lines = [f"{stamp.format(second)}{ERROR}{n}\n" for second in (41, 42) for n in range(100)]
    lines += [f"{stamp.format(42)}{ERROR.replace('sdb', 'sdc')}\n"]
    found = events("".join(lines))
    counts = (1 + found["alike"]).groupby(found["device"]).sum()
    assert (counts["sdb"], counts["sdc"]) == (200, 1)
    assert len(found) < 60
    assert set(found["line"]) >= {1, 101, 201}
    assert "has 201 lines, 201 of them" in read("".join(lines)).evidence[0].text
    assert program("analyze", "-", stdin="".join(lines).encode()).stdout.count(b"200 lines on sdb") == 1


ORDINARY = (
    "systemd[1]: Started Session 4.",
    "app[7]: sd 2:0:0:0: [sdb] Sense Key : Medium Error",
    "kernel: docker0: port 1(veth7) entered forwarding state",
    "kernel: [93211.552391] IPv6: eth0: link becomes ready",
    "last message repeated 3 times",
)


@pytest.mark.parametrize("event", [ERROR, f"  {ERROR}", f"[93211.552391] {ERROR}"])
def test_an_event_among_thousands_of_ordinary_lines_is_found(event):
    lines = [f"Nov 23 10:00:00 {host} {ORDINARY[n % 5]}" for n in range(1200) for host in ("web1", "web2")]
    for place in (7, 1023, 1024, 2399):
        lines[place] = f"Nov 23 10:00:00 web1 kernel: {event}"
    capture = read("\n".join(lines))
    assert list(capture.tables["events"]["line"]) == [8, 1024, 1025, 2400]
    assert dict(capture.ledgers[0].counts) == {"context": 2400}
    lines_of = {fact.host: fact.text for fact in capture.evidence}
    assert "1203 lines, 4 of them" in lines_of["web1"]
    assert "1197 lines, 0 of them" in lines_of["web2"]


NOISE = f"[93211.552391] {ERROR}"


def with_noise(text, places):
    lines = text.splitlines()
    return "\n".join(line for at, own in enumerate(lines) for line in [NOISE] * (at in places) + [own])


@pytest.mark.parametrize("places", [(5,), (5, 6), (2, 3, 5), range(2, 12)], ids=str)
@pytest.mark.parametrize("tool", ["iostat", "vmstat"])
def test_a_console_s_messages_between_rows_take_none_of_them(tool, places):
    devices = {name: {"r/s": 9.0, "rkB/s": 72.0} for name in ("sda", "sdb")}
    rows = " 1  0      0 100000  20000 300000    0    0     1     2   10   20  1  1 98  0  0\n"
    text = iostat([devices] * 3) if tool == "iostat" else VMSTAT + rows * 12
    alone, among = read(text), read(with_noise(text, places))
    assert len(among.tables["events"]) == len(places)
    for family in ("disk",) if tool == "iostat" else ("queue", "paging", "cpu"):
        assert len(among.tables[family]) == len(alone.tables[family])
    assert not among.unparsed


@pytest.mark.parametrize(
    "stamp",
    [
        "Nov 23 10:00:10 box bench: ",
        "2026-11-23T10:00:10+00:00 bench: ",
        "[Mon Nov 23 10:00:10 2026] ",
        "[ 12.345] ",
    ],
)
def test_what_a_script_notes_between_reports_names_its_phases(stamp):
    reports = iostat([{"sda": {"r/s": 9.0, "rkB/s": 72.0}}] * 3).split("\n", 2)[2]
    text = "".join(f"{stamp}starting the {what} test\n{reports}\n" for what in ("read", "write", "idle"))
    capture = read(text)
    assert [section.format for section in capture.sections if section.is_context] == []
    assert len(set(capture.tables["disk"]["phase_label"])) == 3


def test_ordinary_lines_without_clocks_are_one_block():
    (block,) = blocks_of(FORMAT, "sd 2:0:0:0: [sda] Attached SCSI disk\n" * 40)
    assert (block.used, block.tables) == (40, ())


def test_lines_of_several_hosts_keep_their_hosts():
    text = "".join(f"Nov 23 10:00:00 {host} kernel: {ERROR}\n" for host in ("web1", "web2", "web1"))
    capture = read(text)
    assert list(capture.tables["events"]["host"]) == ["web1", "web2", "web1"]
    assert {fact.host for fact in capture.evidence} == {"web1", "web2"}


def test_the_table_has_the_columns_of_the_contract():
    table = events(f"[93211.552391] {ERROR}\n2026-11-23T10:00:00+0100 box kernel: {ERROR}\n")
    own = {KEY_COLUMNS["events"], *LABEL_COLUMNS["events"], *(column.name for column in FAMILIES["events"])}
    assert {"source", "line", "host", "time", *own} <= set(table.columns)


@pytest.mark.parametrize(
    "line",
    [
        "[93211.5] " + "a" * 100_000,
        "Nov 23 10:00:00 " + "x" * 5000 + " kernel: boom",
        "[99999999999.999999] sd " + "9" * 400 + ":0:0:0: [sda] Sense Key : Medium Error",
        "[93211.552391] I/O error, dev <script>alert(1)</script>, sector 5",
        "2026-99-99T10:00:00,250000+01:00 " + ERROR,
        "[Mon Nov 99 10:00:00 2026] " + ERROR,
    ],
)
def test_hostile_lines_name_nothing_that_is_no_name(line):
    try:
        found = read(f"{line}\n[93211.552391] {ERROR}\n").tables["events"]
    except iodiag.IodiagError:
        return
    assert set(found["device"]) <= {"sda", "sdb"}


def test_the_events_are_converted_as_other_tables_are(tmp_path):
    (tmp_path / "dmesg.txt").write_text(f"[Mon Nov 23 10:00:00 2026] {ERROR}\n", encoding="utf-8")
    done = program("convert", tmp_path / "dmesg.txt", "--table", "events")
    header, row = done.stdout.decode().splitlines()
    cells = dict(zip(header.split(","), next(csv.reader([row])), strict=True))
    assert (cells["device"], cells["kind"], cells["time"]) == ("sdb", "media error", "2026-11-23 10:00:00")


def test_a_report_s_logs_are_the_host_s(tmp_path):
    for name, text in {
        "sos_commands/kernel/dmesg": f"[93211.552391] {ERROR}\n",
        "var/log/messages": f"Nov 20 13:00:16 box kernel: [93211.552391] {ERROR}\n",
        "sos_commands/general/iostat": iostat([{"sdb": {"r/s": 9.0, "rkB/s": 72.0, "r_await": 5.0}}] * 3),
    }.items():
        place = tmp_path / "sosreport-box-2026-11-20" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    captures, problems = iodiag.read_many([tmp_path])
    table = join(captures).tables["events"]
    assert not problems
    assert set(table["host"]) == {"box"}
    assert [str(time) for time in table["time"]] == ["2026-11-20 13:00:16"] * 2


def test_anonymized_events_hold_no_names(tmp_path):
    place = tmp_path / "messages"
    line = "Nov 20 13:00:16 secretbox kernel: XFS (vgsecret-lvsecret): log I/O error -5\n"
    place.write_text(line, encoding="utf-8")
    for command in (["analyze", "--format", "json"], ["convert", "--table", "events"]):
        done = program(*command, "--anonymize", place)
        assert done.returncode == 0
        assert b"secret" not in done.stdout


def test_the_journal_as_json_is_read_as_its_text(tmp_path):
    message = {"_TRANSPORT": "kernel", "_HOSTNAME": "box", "PRIORITY": "3", "MESSAGE": ERROR}
    lines = [{"__REALTIME_TIMESTAMP": f"17636436{second}000000", **message} for second in (16, 17)]
    place = tmp_path / "journal.json"
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    table = iodiag.read(place).tables["events"]
    assert [str(time) for time in table["time"]] == ["2025-11-20 13:00:16+00:00", "2025-11-20 13:00:17+00:00"]
    assert set(table["host"]) == {"box"}
    assert table["line"].tolist() == [1, 2]


def test_a_log_among_the_inputs_of_a_fleet_makes_no_days(tmp_path):
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "iostat.txt").write_text(iostat([{"sdb": {"r/s": 9.0}}] * 3), encoding="utf-8")
    lines = "".join(f"[Mon Nov {day:2} 10:00:00 2026] {ERROR}\n" for day in range(2, 31, 7))
    (tmp_path / "box" / "dmesg.txt").write_text(lines, encoding="utf-8")
    done = program("fleet", tmp_path / "box", "-o", tmp_path / "out", "--quiet")
    assert done.returncode == 0
    days = {path.name for path in (tmp_path / "out").rglob("*day=*")}
    assert {day.partition("=")[2][:10] for day in days} == {"2026-11-20"}


def test_a_result_that_a_mail_program_put_on_a_line_of_its_own_is_read():
    text = "[650030.299205] sd 9:0:9:0: [sdj] tag#4818 FAILED Result:\nhostbyte=DID_NO_CONNECT driverbyte=X\n"
    found = events(text + text.replace("sdj", "sdc"))
    assert found["device"].tolist() == ["sdj", "sdc"]
    assert found["kind"].tolist() == ["offline"] * 2


def test_a_result_takes_in_no_line_that_the_log_begins_itself():
    head = "Nov 20 10:00:0{} db1 kernel: sd 0:0:0:0: [sda] "
    text = f"{head.format(0)}tag#0 FAILED Result:\n{head.format(1)}tag#0 Sense Key : Medium Error [current]\n"
    assert not any("Sense Key" in message for message in events(text)["message"] if "Result:" in message)
