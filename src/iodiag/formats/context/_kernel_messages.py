"""What the kernel, and the daemons that watch disks for it, write of a device in trouble: kinds by message.

A message is found by the letters that it begins with, then by its patterns in order. The groups of a pattern
say of what it is: `dev` a kernel's name (sda, dm-0), `nums` device numbers (8:16), `hctl` an address of
SCSI, `host` a SCSI host, `ata` a port, `ctrl` an NVMe controller, `pci` the address of one, `usb` a port.
"""

from __future__ import annotations

import re
from functools import lru_cache

Message = tuple[str, str]
"""A kind of event ("" for none: ordinary, whatever follows says), and the pattern of its text."""

_DEV = r"(?P<dev>[a-z][\w!-]{1,31})"
_HCTL = r"(?P<hctl>\d{1,5}:\d{1,5}:\d{1,5}:\d{1,9})"
_PCI = r"\[?(?P<pci>[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d)\]?"
_ATA = r"ata(?P<ata>\d{1,3})(?:\.\d\d)?: "
_SD = rf"(?:sd|scsi)[a-z]? {_HCTL}: (?:\[(?P<dev>\w{{1,32}})\] {{0,2}})?(?:tag#\d{{1,6}} )?.{{0,80}}?"
_BLOCK = rf", dev {_DEV}, (?:logical block|sector)"
_ON = r"\(?(?:device )?(?P<dev>[\w!-]{2,64})\)?"

_QLA = rf"qla\w{{1,10}} {_PCI}(?:-\w{{4}})?:(?P<host>\d{{1,5}})?:? "
_SMARTD = r"smartd Device: /dev/(?P<dev>\w{2,32}).{0,60}?"
_SYNC = "recovery|resync|reshape|data-check|requested-resync"

_BLOCK_ERRORS = (
    # what a device does not offer is no fault of it
    (
        "",
        r"(?:\w{1,30}: )?(?:critical target|operation not supported) error.{1,120}?\((?:DISCARD|WRITE_)",
    ),
    ("media error", rf"(?:\w{{1,30}}: )?critical medium error{_BLOCK}"),
    ("timeout", rf"(?:\w{{1,30}}: )?timeout error{_BLOCK}"),
    ("path down", rf"(?:\w{{1,30}}: )?(?:recoverable transport|critical nexus) error{_BLOCK}"),
    (
        "I/O error",
        rf"(?:\w{{1,30}}: )?(?:I/O|critical [a-z ]{{1,40}}|device resource|protection) error{_BLOCK}",
    ),
)
_SCSI = (
    ("media error", _SD + r"(?:Sense Key ?: (?:Medium|Hardware) Error|Add\. Sense: Unrecovered read error)"),
    ("I/O error", _SD + r"Sense Key ?: Aborted Command"),
    ("timeout", _SD + r"Result: hostbyte=(?:DID_TIME_OUT|DID_\w{1,30} driverbyte=DRIVER_TIMEOUT)"),
    ("offline", _SD + r"Result: hostbyte=DID_(?:NO_CONNECT|BAD_TARGET)"),
    ("reset", _SD + r"Result: hostbyte=DID_RESET"),
    ("path down", _SD + r"Result: hostbyte=DID_TRANSPORT_"),
    (
        "I/O error",
        _SD + r"Result: hostbyte=DID_(?:ERROR|SOFT_ERROR|ABORT|BUS_BUSY|PARITY|BAD_INTR|PASSTHROUGH)",
    ),
    ("offline", _SD + r"(?:rejecting I/O to (?:offline|dead) device|[Dd]evice offlined|killing request)"),
    ("timeout", _SD + r"(?:attempting task abort|task abort|timing out command|uas_eh_abort|abort: FAILED)"),
    ("reset", _SD + r"(?:attempting (?:device|target|bus|host) reset|(?:device|target|bus|host) reset: )"),
    ("reset", _SD + r"Power-on or device reset occurred"),
    ("reset", r"scsi host(?P<host>\d{1,5}): (?:uas_eh_device_reset_handler start|reset\b)"),
)
_ADAPTERS = (
    ("reset", rf"hpsa {_PCI}: scsi {_HCTL}:? (?:resetting|reset )"),
    ("timeout", rf"hpsa {_PCI}: scsi {_HCTL}:? [Aa]bort"),
    ("reset", r"megaraid_sas .{0,60}?resetting fusion adapter scsi(?P<host>\d{1,5})"),
    ("timeout", r"(?:megaraid_sas|megasas).{0,60}?waiting for \d{1,6} commands to complete"),
    ("reset", r"megasas: .{0,40}?RESET"),
    ("media error", r"megaraid_sas .{0,200}?Sense: 3/"),
    ("md", r"megaraid_sas .{0,120}?VD .{1,30} is now (?:\w{1,20} )?(?:DEGRADED|OFFLINE)"),
    ("reset", r"mpt\dsas(?:_cm)?\d{1,3}: (?:attempting host reset|sending diag reset|fault_state)"),
    ("timeout", r"mpt(?:scsih|base): ioc\d{1,3}: (?:attempting )?task abort"),
    ("reset", r"mpt(?:scsih|base): ioc\d{1,3}: attempting (?:target|bus|host) reset"),
    ("timeout", r"aacraid: Host adapter abort request"),
    ("reset", r"aacraid: Host (?:adapter|bus) reset request"),
    ("link down", _QLA + r".{0,20}?LOOP DOWN"),
    ("timeout", _QLA + r".{0,40}?Abort command issued"),
    (
        "reset",
        _QLA + r".{0,40}?(?:DEVICE|TARGET|BUS|ADAPTER) RESET",
    ),
    ("link down", rf"lpfc {_PCI}: .{{0,30}}?Link Down Event"),
    ("path down", rf"lpfc {_PCI}: .{{0,60}}?Devloss timeout"),
    ("reset", rf"lpfc {_PCI}: .{{0,60}}?SCSI layer issued \w{{1,10}} [Rr]eset"),
    ("timeout", rf"lpfc {_PCI}: .{{0,60}}?abort (?:handler )?timed out"),
    ("path down", r"rport-(?P<host>\d{1,5}):\d{1,5}-\d{1,5}: blocked FC remote port time out"),
    ("path down", r"session\d{1,6}: session recovery timed out"),
    ("path down", r"connection\d{1,6}:\d{1,6}: (?:ping timeout|detected conn error)"),
    ("reset", r"target(?P<host>\d{1,5}):\d{1,5}:\d{1,5}: (?:attempting )?target reset"),
)
_ATA_PORTS = (
    ("media error", _ATA + r"error: \{ .{0,40}?UNC"),
    ("I/O error", _ATA + r"(?:exception Emask|failed command:|NCQ disabled due to excessive errors)"),
    ("reset", _ATA + r"(?:(?:hard|soft) resetting (?:link|port)|COMRESET failed|SRST failed)"),
    ("timeout", _ATA + r"(?:link is slow to respond|qc timeout|lost interrupt|failed to IDENTIFY)"),
    ("link speed", _ATA + r"(?:limiting (?:SATA link )?speed to|SATA link up .{1,40}SControl 3[12]0)"),
    ("link down", _ATA + r"SATA link down"),
    ("offline", _ATA + r"(?:disabled$|detaching \(SCSI)"),
)
_NVME_CTRL = rf"nvme (?:(?P<ctrl>nvme\d{{1,4}})|{_PCI}): "
_NVME = (
    ("reset", _NVME_CTRL + r"I/O .{1,80}? timeout, (?:reset|disable) controller"),
    ("timeout", _NVME_CTRL + r"(?:I/O .{1,80}? timeout|Timeout I/O|timeout I/O)"),
    ("reset", _NVME_CTRL + r"(?:controller is down; will reset|resetting controller)"),
    (
        "offline",
        _NVME_CTRL
        + r"(?:Device not ready; aborting|Removing after probe failure|Disabling device after reset)",
    ),
    ("path down", _NVME_CTRL + r"(?:starting error recovery|Reconnecting in |failed to connect)"),
    ("media error", rf"{_DEV}: .{{1,120}}?\(sct 0x2 / sc 0x8[1-6]\)"),
    ("I/O error", rf"{_DEV}: .{{1,80}}? @ LBA \d{{1,20}}, .{{1,80}}\(sct 0x"),
)
_ARRAYS = (
    (
        "media error",
        r"(?:md/)?raid.{0,20}?: read error (?:corrected|not correctable) .{0,60}? on (?P<dev>\w{2,32})",
    ),
    ("md", r"(?:md/)?raid.{0,20}?: ?Disk failure on (?P<dev>\w{2,32}), disabling"),
    (
        "I/O error",
        r"(?:md/)?raid\d{0,2}:\w{1,20}: (?P<dev>[a-z]\w{1,31}): (?:rescheduling|redirecting) sector",
    ),
    ("md", r"md: kicking non-fresh (?P<dev>\w{2,32}) from array"),
    ("I/O error", r"md: super_written gets error"),
    (
        "md resync",
        rf"md: (?:{_SYNC}|syncing) (?:of )?RAID array (?P<dev>md\w{{1,20}})",
    ),
    (
        "md resync",
        rf"md: (?P<dev>md\w{{1,20}}): (?:{_SYNC})\b.{{0,20}}?(?:done|interrupted)",
    ),
    ("path down", r"device-mapper: multipath: (?:\d{1,4}:\d{1,7}: )?Failing path (?P<nums>\d{1,4}:\d{1,7})"),
    (
        "path up",
        r"device-mapper: multipath: (?:\d{1,4}:\d{1,7}: )?Reinstating path (?P<nums>\d{1,4}:\d{1,7})",
    ),
    (
        "I/O error",
        r"device-mapper: thin: (?P<nums>\d{1,4}:\d{1,7}): switching pool to (?:out-of-data|read-only|fail)",
    ),
)
_FILE_SYSTEMS = (
    ("file system", rf"EXT[234]-fs error {_ON}: "),
    ("file system", rf"EXT[234]-fs warning {_ON}: .{{0,80}}?I/O error"),
    (
        "file system",
        rf"EXT[234]-fs {_ON}: (?:Remounting filesystem read-only|previous I/O error|error count since)",
    ),
    (
        "file system",
        rf"XFS {_ON}: (?:(?:metadata |log )?I/O [Ee]rror|(?:Metadata )?[Cc]orruption|Internal error|"
        r"xfs_do_force_shutdown|.{0,60}?[Ss]hutting down)",
    ),
    ("file system", r"xfs_force_shutdown\((?P<dev>[\w!-]{2,64}),"),
    ("file system", rf"BTRFS:? (?:error|critical):? {_ON}"),
    ("file system", rf"BTRFS warning {_ON}: (?:.{{0,60}}?csum failed|checksum|lost page write|i/o error)"),
    ("file system", rf"BTRFS info {_ON}: forced readonly"),
    ("file system", r"Aborting journal on device (?P<dev>dm-\d{1,7}|[a-z][\w!]{1,31})"),
    ("file system", r"(?:JBD2?|journal): .{0,60}?I/O error.{0,40}? on (?P<dev>dm-\d{1,7}|[a-z][\w!]{1,31})"),
    ("I/O error", rf"Buffer I/O error on (?:dev|device) {_DEV},"),
    ("I/O error", rf"lost page write due to I/O error on {_DEV}"),
)
_HOST_WIDE = (
    ("hung task", r"INFO: task .{1,64}? blocked (?:for more than|in I/O wait for more than) \d{1,5} seconds"),
    ("out of memory", r"(?:Out of memory|Memory cgroup out of memory): Kill"),
    ("throttled", r"(?:mce: )?CPU\d{1,4}: (?:Core|Package) temperature above threshold"),
    ("throttled", r"CPU\d{1,4}: Temperature above threshold"),
    ("reset", r"usb (?P<usb>\d{1,3}-[\d.]{1,20}): reset \S{0,20}[sS]peed\b"),
    ("I/O error", r"(?P<dev>mmcblk\d{1,3}): (?:error -\d|timed out sending|recovery failed)"),
)
_DAEMONS = (
    (
        "path down",
        r"multipathd (?:(?P<nums>\d{1,4}:\d{1,7})|(?P<dev>sd\w{1,5}|nvme\w{1,12})): mark as failed",
    ),
    ("path down", r"multipathd checker failed path (?P<nums>\d{1,4}:\d{1,7}) in map"),
    ("path down", rf"multipathd [\w.-]{{1,128}}: {_DEV} - .{{1,60}}? path is down"),
    ("path up", r"multipathd (?:(?P<nums>\d{1,4}:\d{1,7})|(?P<dev>sd\w{1,5}|nvme\w{1,12})): reinstated"),
    ("path up", rf"multipathd [\w.-]{{1,128}}: {_DEV} - .{{1,60}}? path is up"),
    (
        "media error",
        _SMARTD + r"(?:unreadable \(pending\)|[Oo]ffline uncorrectable) sectors",
    ),
    ("media error", _SMARTD + r"FAILED SMART self-check"),
    ("I/O error", _SMARTD + r"ATA error count increased"),
    ("md", r"mdadm Fail event detected on md device .{1,60}?component device /dev/(?P<dev>\w{2,32})"),
    ("md", r"mdadm DegradedArray event detected on md device /dev/(?:md/)?(?P<dev>\w{2,32})"),
)

DAEMONS = frozenset({"multipathd", "smartd", "mdadm"})
"""Programs besides the kernel whose lines are events; their name stands in front of the text here."""

BEGINS: dict[str, tuple[Message, ...]] = {
    **dict.fromkeys(("blk_update_request", "end_request", "print_req_error"), _BLOCK_ERRORS),
    **dict.fromkeys(("I/O", "critical", "timeout", "recoverable", "device", "protection"), _BLOCK_ERRORS),
    **dict.fromkeys(("sd", "scsi"), _SCSI),
    **dict.fromkeys(("hpsa", "megaraid_sas", "megasas", "mpt", "mptscsih", "mptbase", "aacraid"), _ADAPTERS),
    **dict.fromkeys(("qla", "lpfc", "rport-", "session", "connection", "target"), _ADAPTERS),
    "ata": _ATA_PORTS,
    "nvme": _NVME,
    **dict.fromkeys(("md/raid", "raid", "md", "device-mapper"), _ARRAYS),
    **dict.fromkeys(
        ("EXT", "XFS", "xfs_force_shutdown", "BTRFS", "Aborting", "JBD", "journal"), _FILE_SYSTEMS
    ),
    **dict.fromkeys(("Buffer", "lost"), _FILE_SYSTEMS),
    **dict.fromkeys(("INFO", "Out", "Memory", "CPU", "mce", "usb", "mmcblk"), _HOST_WIDE),
    **dict.fromkeys(DAEMONS, _DAEMONS),
}
UNSTAMPED = (
    r"(?:end_request: |blk_update_request: |print_req_error: |Buffer I/O error on |ata\d{1,3}(?:\.\d\d)?: |"
    r"sd \d{1,5}:\d{1,5}:\d{1,5}:\d{1,9}: |nvme nvme\d{1,4}: |device-mapper: multipath: |md/raid|"
    r"EXT[234]-fs |XFS \(|BTRFS |INFO: task |Out of memory: Kill)"
)
"""What lines of a log without any clock begin with: those that say something of a device."""


@lru_cache(maxsize=64)
def _compiled(begin: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern)) for kind, pattern in BEGINS.get(begin, ()))


def kind_of(begin: str, text: str) -> tuple[str, dict[str, str]] | None:
    """The kind of a message and what it is about, by the names of groups; None for any other message.

    `begin` are the letters that the text begins with.
    """
    for kind, pattern in _compiled(begin):
        if match := pattern.match(text):
            about = {name: word for name, word in match.groupdict().items() if word}
            return (kind, about) if kind else None
    return None
