"""What the kernel, and the daemons that watch disks for it, write of a device in trouble: kinds by message.

A message is found by the letters that it begins with, then by its patterns in order. The groups of a pattern
say of what it is: `dev` a kernel's name (sda, dm-0), `nums` device numbers (8:16), `hctl` an address of
SCSI, `host` a SCSI host, `ata` a port, `ctrl` an NVMe controller, `pci` the address of one, `usb` a port.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count
from string import ascii_lowercase

Message = tuple[str, str]
"""A kind of event ("" for none: ordinary, whatever follows says), and the pattern of its text."""

Messages = tuple[str, tuple[Message, ...]]
"""What messages begin with, and how they go on: the first that fits, at the first place where one does."""

_DEV = r"(?P<dev>[a-z][\w!-]{1,31})"
_HCTL = r"(?P<hctl>\d{1,5}:\d{1,5}:\d{1,5}:\d{1,9})"
_PCI = r"\[?(?P<pci>[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d)\]?"
_ATA = r"ata(?P<ata>\d{1,3})(?:\.\d\d)?: "
# what follows stands at the beginning of a word
_SD = rf"(?:sd|scsi)[a-z]? {_HCTL}: (?:\[(?P<dev>\w{{1,32}})\] |(?!\[))(?:[^ ]{{0,80}} ){{0,14}}?"
_BLOCK = rf", dev {_DEV}, (?:logical block|sector)"
_ON = r"\(?(?:device )?(?P<dev>[\w!-]{2,64})(?: state \w{1,8})?\)?"

_QLA = rf"qla\w{{1,10}} {_PCI}(?:-\w{{4}})?:(?P<host>\d{{1,5}})?:? "
_SMARTD = r"smartd Device: /dev/(?P<dev>\w{2,32}).{0,60}?"
_SYNC = "recovery|resync|reshape|data-check|requested-resync"


def _messages(head: str, *tails: Message) -> Messages:
    return head, tails


_BLOCK_ERRORS = _messages(
    r"(?:\w{1,30}: )?",
    # what a device does not offer is no fault of it
    ("", r"(?:critical target|operation not supported) error.{1,120}?\((?:DISCARD|WRITE_)"),
    ("media error", rf"critical medium error{_BLOCK}"),
    ("timeout", rf"timeout error{_BLOCK}"),
    ("path down", rf"(?:recoverable transport|critical nexus) error{_BLOCK}"),
    ("I/O error", rf"(?:I/O|critical [a-z ]{{1,40}}|device resource|protection) error{_BLOCK}"),
    ("file system", r"I/O [Ee]rror in filesystem \(\"(?P<dev>[\w!-]{2,64})\"\)"),
)
_SCSI = _messages(
    _SD,
    ("media error", r"(?:Sense Key ?: (?:Medium|Hardware) Error|Add\. Sense: Unrecovered read error)"),
    ("I/O error", r"Sense Key ?: Aborted Command"),
    ("timeout", r"Result: hostbyte=(?:DID_TIME_OUT|DID_\w{1,30} driverbyte=DRIVER_TIMEOUT)"),
    ("offline", r"Result: hostbyte=DID_(?:NO_CONNECT|BAD_TARGET)"),
    ("reset", r"Result: hostbyte=DID_RESET"),
    ("path down", r"Result: hostbyte=DID_TRANSPORT_"),
    ("I/O error", r"Result: hostbyte=DID_(?:ERROR|SOFT_ERROR|ABORT|BUS_BUSY|PARITY|BAD_INTR|PASSTHROUGH)"),
    ("offline", r"(?:rejecting I/O to (?:offline|dead) device|[Dd]evice offlined|killing request)"),
    ("timeout", r"(?:attempting task abort|task abort|timing out command|uas_eh_abort|abort: FAILED)"),
    ("reset", r"(?:attempting (?:device|target|bus|host) reset|(?:device|target|bus|host) reset: )"),
    ("reset", r"(?:Power-on or device reset occurred|megasas: RESET)"),
)
_SCSI_HOSTS = _messages(
    r"scsi host(?P<host>\d{1,5}): ", ("reset", r"(?:uas_eh_device_reset_handler start|reset\b)")
)
_SMART_ARRAYS = _messages(
    rf"(?:hpsa|smartpqi) {_PCI}: ",
    ("reset", rf"(?:scsi {_HCTL}:? (?:resetting|reset )|resetting (?:scsi|device) {_HCTL})"),
    ("timeout", rf"scsi {_HCTL}:? [Aa]bort"),
    ("offline", r"(?:controller is offline|[Cc]ontroller lockup detected)"),
)
_MEGARAID = _messages(
    r"(?:megaraid_sas|megasas)\b",
    ("reset", r".{0,60}?resetting fusion adapter scsi(?P<host>\d{1,5})"),
    ("timeout", r".{0,60}?waiting for \d{1,6} commands to complete"),
    ("reset", r".{0,60}?(?:RESET|FW in FAULT state|[Ff]atal (?:firmware )?error)"),
    ("media error", r".{0,200}?(?:Sense: 3/|[Cc]orrected medium error|Predictive failure: PD)"),
    ("timeout", r".{0,120}?Command timeout on PD"),
    ("md", r".{0,120}?(?:VD .{1,30} is now (?:\w{1,20} )?(?:DEGRADED|OFFLINE)|to FAILED\()"),
)
_FUSION = _messages(
    r"mpt(?:\dsas(?:_cm)?\d{1,3}|(?:scsih|base): ioc\d{1,3}): ",
    ("reset", r"(?:attempting (?:device|target|bus|host) reset|sending diag reset|fault_state)"),
    ("timeout", r"(?:attempting )?task abort"),
    ("offline", r"SAS host is non-operational"),
)
_STORVSC = _messages(
    r"hv_storvsc (?P<vmbus>[\w-]{5,40}): (?:tag#\d{1,6} )?cmd 0x(?:0?[8a]|[28a][8a]|35|91) "
    r"(?:status: )?scsi (?:status )?0x[\da-f]{1,2} srb (?:status )?",
    # what the adapter says of a request, below two bits that say more; then what the hypervisor says
    ("", r"0x(?:[048c]?5|[159d]2)\b"),
    ("timeout", r"0x(?:[048c]?[9b]\b|\w{1,2} hv 0xc00000b5)"),
    ("reset", r"0x[048c]?e\b"),
    ("offline", r"0x(?:[048c]?8\b|[26ae]0\b|\w{1,2} hv 0xc000009d)"),
    ("I/O error", r"0x[\da-f]{1,2}\b"),
)
_OTHER_ADAPTERS = _messages(
    "",
    ("timeout", rf"aacraid(?: {_PCI})?:.{{0,20}}?(?:Host adapter abort request|Timeout detected on cmd)"),
    ("reset", r"aacraid.{0,20}?: (?:Host (?:adapter|bus) reset request|Issuing IOP reset)"),
    ("timeout", r"arcmsr\d{1,3}: abort device command"),
    ("timeout", r"sas: Enter sas_scsi_recover_host busy: [1-9]"),
    ("link down", _QLA + r".{0,20}?LOOP DOWN"),
    ("timeout", _QLA + r".{0,40}?Abort command issued"),
    ("reset", _QLA + r".{0,40}?(?:DEVICE|TARGET|BUS|ADAPTER) RESET"),
    ("link down", rf"lpfc {_PCI}: .{{0,30}}?Link Down Event"),
    ("path down", rf"lpfc {_PCI}: .{{0,60}}?Devloss timeout"),
    ("reset", rf"lpfc {_PCI}: .{{0,60}}?SCSI layer issued \w{{1,10}} [Rr]eset"),
    ("timeout", rf"lpfc {_PCI}: .{{0,60}}?abort (?:handler )?timed out"),
    ("path down", r"rport-(?P<host>\d{1,5}):\d{1,5}-\d{1,5}: blocked FC remote port time out"),
    ("path down", r"session\d{1,6}: session recovery timed out"),
    ("path down", r"connection\d{1,6}:\d{1,6}: (?:ping timeout|detected conn error)"),
    ("reset", r"target(?P<host>\d{1,5}):\d{1,5}:\d{1,5}: (?:attempting )?target reset"),
)
_ATA_PORTS = _messages(
    _ATA,
    ("media error", r"error: \{ .{0,40}?UNC"),
    ("I/O error", r"(?:exception Emask|failed command:|NCQ disabled due to excessive errors)"),
    ("reset", r"(?:(?:hard|soft) resetting (?:link|port)|COMRESET failed|SRST failed)"),
    ("timeout", r"(?:link is slow to respond|qc timeout|lost interrupt|failed to IDENTIFY)"),
    ("link speed", r"(?:limiting (?:SATA link )?speed to|SATA link up .{1,40}SControl 3[12]0)"),
    ("link down", r"SATA link down"),
    ("offline", r"(?:disabled$|detaching \(SCSI|reset failed, giving up)"),
)
_IDE_DISKS = _messages(
    r"(?P<dev>hd[a-t]): ",
    ("media error", r"\w{1,30}: error=.{1,20}UncorrectableError"),
    ("timeout", r"(?:lost interrupt|DMA timeout|.{0,30}?timeout waiting for DMA)"),
)
_NVME = _messages(
    rf"nvme (?:(?P<ctrl>nvme\d{{1,4}})|{_PCI}): ",
    ("reset", r"I/O .{1,80}? timeout, (?:reset|disable) controller"),
    ("timeout", r"(?:I/O .{1,80}? timeout|[Tt]imeout I/O|queue \d{1,5}: timeout )"),
    ("reset", r"(?:controller is down; will reset|resetting controller|Failed status: .{1,20}, reset)"),
    ("offline", r"(?:Device not ready; aborting|Removing after probe failure|Disabling device after reset)"),
    ("path down", r"(?:starting error recovery|Reconnecting in |failed to connect|Failed reconnect)"),
    ("path up", r"Successfully reconnected"),
    ("I/O error", r"(?:AER: )?PCIe Bus Error: severity=Uncorrect"),
)
_NVME_DISKS = _messages(
    rf"(?:block )?{_DEV}: ",
    ("media error", r".{1,120}?\(sct 0x2 / sc 0x8[1-6]\)"),
    ("I/O error", r".{1,80}? @ LBA \d{1,20}, .{1,80}\(sct 0x"),
    ("path down", r"no (?:usable|available) path - "),
)
_MD = _messages(
    r"(?:md/)?raid.{0,20}?: ?",
    ("media error", r"read error (?:corrected|not correctable) .{0,60}? on (?P<dev>\w{2,32})"),
    ("md", r"Disk failure on (?P<dev>\w{2,32}), disabling"),
    (
        "I/O error",
        r"(?P<dev>(?!md\d)[a-z]\w{1,31}): (?:(?:rescheduling|redirecting) sector|unrecoverable I/O)",
    ),
)
_ARRAYS = _messages(
    "",
    ("md", r"md/raid\d{0,2}:(?P<dev>md\w{1,20}): .{0,20}?active with (?P<n>\d{1,4}) out of (?!(?P=n)\b)\d"),
    ("md", r"md: kicking non-fresh (?P<dev>\w{2,32}) from array"),
    ("I/O error", r"md: super_written gets error"),
    ("md resync", rf"md: (?:{_SYNC}|syncing) (?:of )?RAID array (?P<dev>md\w{{1,20}})"),
    ("md resync", rf"md: (?P<dev>md\w{{1,20}}): (?:{_SYNC})\b.{{0,20}}?(?:done|interrupted)"),
)
_MAPPER = _messages(
    r"device-mapper: (?:multipath|thin): (?:(?P<nums>\d{1,4}:\d{1,7}): )?",
    ("path down", r"Failing path (?P<nums>\d{1,4}:\d{1,7})"),
    ("path up", r"Reinstating path (?P<nums>\d{1,4}:\d{1,7})"),
    ("I/O error", r"switching pool to (?:out-of-data|read-only|fail)"),
)
_CACHES = _messages(
    r"bcache: (?:\w{1,64}\(\) )?",
    ("unrecoverable", rf"{_DEV}: IO error on backing device, unrecoverable"),
    ("unrecoverable", rf"Can't flush {_DEV}: returned bi_status [1-9]"),
    ("I/O error", rf"{_DEV}: (?:IO error on|too many IO errors) "),
    ("offline", rf"{_DEV}: device offline for \d{{1,9}} seconds"),
)
_FILE_SYSTEMS = _messages(
    "",
    ("file system down", rf"(?:EXT[234]-fs:? (?:{_ON}: )?(?:error: )?[Rr]|R)emounting filesystem read-only"),
    ("file system down", rf"BTRFS (?:info|error|critical):? {_ON}: forced readonly"),
    ("file system down", rf"XFS {_ON}: (?:xfs_do_force_shutdown|.{{0,60}}?(?:[Ss]hutting|been shut) down)"),
    ("file system down", r"xfs_force_shutdown\((?P<dev>[\w!-]{2,64}),"),
    ("file system", rf"EXT[234]-fs error {_ON}(?:: | in )"),
    ("file system", rf"EXT[234]-fs (?:warning )?{_ON}: .{{0,80}}?I/O error"),
    ("file system", rf"EXT[234]-fs {_ON}: (?:error count since|failed to convert)"),
    (
        "file system",
        rf"XFS {_ON}: (?:(?:[Mm]etadata |log )?I/O [Ee]rror|writeback error|(?:Metadata )?[Cc]orruption|"
        r"Internal error)",
    ),
    ("file system", rf"BTRFS:? (?:error|critical):? {_ON}"),
    ("file system", rf"BTRFS warning {_ON}: (?:.{{0,60}}?csum failed|checksum|lost page write|i/o error)"),
    ("file system", r"BTRFS: lost page write due to I/?O error on /dev/(?P<dev>[\w!-]{2,64})"),
    ("file system", r"Aborting journal on device (?P<dev>dm-\d{1,7}|[a-z][\w!]{1,31})"),
    (
        "file system",
        r"(?:JBD2?|journal): .{0,60}?I/?O errors? .{0,60}? on (?P<dev>dm-\d{1,7}|[a-z][\w!]{1,31})",
    ),
    ("I/O error", rf"Buffer I/O error on (?:dev|device) {_DEV},"),
    ("I/O error", rf"lost page write due to I/O error on {_DEV}"),
)
_SERVERS = _messages(
    "",
    ("server down", r"nfs4?: server (?P<dev>[\w.:\[\]-]{1,128}) not responding"),
    ("server up", r"nfs4?: server (?P<dev>[\w.:\[\]-]{1,128}) OK"),
    ("server down", r"CIFS:? VFS: (?:\\{1,4}|Server )(?P<dev>[\w.-]{1,128}) has not responded in"),
)
INVOKED = r"[^\s:]{1,16}(?: \S{1,15})? invoked oom-killer: "
"""A task that needs a page which nothing can be reclaimed for: its name comes first."""

_HOST_WIDE = _messages(
    "",
    ("hung task", r"INFO: task .{1,64}? blocked (?:for more than|in I/O wait for more than) \d{1,5} seconds"),
    ("out of memory", r"(?:Out of [Mm]emory|Memory cgroup out of memory): Kill"),
    ("oom-killer", INVOKED),
    ("throttled", r"(?:mce: )?CPU\d{1,4}: (?:Core|Package) temperature above threshold"),
    ("throttled", r"CPU\d{1,4}: Temperature above threshold"),
    ("reset", r"usb (?P<usb>\d{1,3}-[\d.]{1,20}): reset \S{0,20}[sS]peed\b"),
    ("I/O error", r"(?P<dev>mmcblk\d{1,3}): (?:error -\d|timed out sending|recovery failed)"),
)
ACTIVE_PATHS = "active paths"
"""A count of what is left: which event it is, the count before tells."""

_DAEMONS = _messages(
    "",
    (
        "path down",
        r"multipathd (?:(?P<nums>\d{1,4}:\d{1,7})|(?P<dev>sd\w{1,5}|nvme\w{1,12})): mark as failed",
    ),
    ("path down", r"multipathd checker failed path (?P<nums>\d{1,4}:\d{1,7}) in map"),
    ("path down", rf"multipathd [\w.-]{{1,128}}: {_DEV} - .{{1,60}}? path is down"),
    (ACTIVE_PATHS, r"multipathd (?P<dev>[\w.-]{1,128}): remaining active paths: (?P<paths>\d{1,4})"),
    ("path up", r"multipathd (?:(?P<nums>\d{1,4}:\d{1,7})|(?P<dev>sd\w{1,5}|nvme\w{1,12})): reinstated"),
    ("path up", rf"multipathd [\w.-]{{1,128}}: {_DEV} - .{{1,60}}? path is up"),
    ("media error", _SMARTD + r"(?:unreadable \(pending\)|[Oo]ffline uncorrectable) sectors"),
    ("media error", _SMARTD + r"FAILED SMART self-check"),
    ("I/O error", _SMARTD + r"ATA error count increased"),
    ("md", r"mdadm Fail event detected on md device .{1,60}?component device /dev/(?P<dev>\w{2,32})"),
    ("md", r"mdadm DegradedArray event detected on md device /dev/(?:md/)?(?P<dev>\w{2,32})"),
)

DAEMONS = frozenset({"multipathd", "smartd", "mdadm"})
"""Programs besides the kernel whose lines are events; their name stands in front of the text here."""

BEGINS: dict[str, tuple[Messages, ...]] = {
    **dict.fromkeys(("blk_update_request", "end_request", "print_req_error"), (_BLOCK_ERRORS,)),
    **dict.fromkeys(("I/O", "critical", "timeout", "recoverable", "device", "protection"), (_BLOCK_ERRORS,)),
    "sd": (_SCSI,),
    "scsi": (_SCSI, _SCSI_HOSTS),
    **dict.fromkeys(("hpsa", "smartpqi"), (_SMART_ARRAYS,)),
    **dict.fromkeys(("megaraid_sas", "megasas"), (_MEGARAID,)),
    **dict.fromkeys(("mpt", "mptscsih", "mptbase"), (_FUSION,)),
    "hv_storvsc": (_STORVSC,),
    **dict.fromkeys(
        ("aacraid", "arcmsr", "sas", "qla", "lpfc", "rport-", "session", "connection", "target"),
        (_OTHER_ADAPTERS,),
    ),
    "ata": (_ATA_PORTS,),
    **dict.fromkeys((f"hd{letter}" for letter in ascii_lowercase[:20]), (_IDE_DISKS,)),
    "nvme": (_NVME, _NVME_DISKS),
    "block": (_NVME_DISKS,),
    **dict.fromkeys(("md/raid", "raid", "md"), (_MD, _ARRAYS)),
    "device-mapper": (_MAPPER,),
    "bcache": (_CACHES,),
    **dict.fromkeys(
        (
            "EXT",
            "XFS",
            "xfs_force_shutdown",
            "BTRFS",
            "Aborting",
            "JBD",
            "journal",
            "Buffer",
            "lost",
            "Remounting",
        ),
        (_FILE_SYSTEMS,),
    ),
    **dict.fromkeys(("nfs", "CIFS"), (_SERVERS,)),
    **dict.fromkeys(("INFO", "Out", "invoked", "Memory", "CPU", "mce", "usb", "mmcblk"), (_HOST_WIDE,)),
    **dict.fromkeys(DAEMONS, (_DAEMONS,)),
}
UNSTAMPED = (
    r"(?:end_request: |blk_update_request: |print_req_error: |Buffer I/O error on |ata\d{1,3}(?:\.\d\d)?: |"
    r"sd \d{1,5}:\d{1,5}:\d{1,5}:\d{1,9}: |nvme nvme\d{1,4}: |device-mapper: multipath: |md/raid|"
    r"EXT[234]-fs |XFS \(|BTRFS |INFO: task |Out of [Mm]emory: Kill)"
)
"""What lines of a log without any clock begin with: those that say something of a device."""


@lru_cache(maxsize=64)
def _compiled(begin: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern of all messages that begin so, and the kinds that its outermost groups stand for."""
    kinds, numbers, parts = dict[str, str](), count(), list[str]()
    for head, tails in BEGINS[begin]:
        groups = {f"kind_{next(numbers)}": tail for tail in tails}
        kinds |= {group: kind for group, (kind, _) in groups.items()}
        parts.append(
            head + "(?:" + "|".join(f"(?P<{name}>{tail})" for name, (_, tail) in groups.items()) + ")"
        )
    # a name may stand in several of them
    pattern = re.sub(r"\(\?P<([a-z]{2,})>", lambda name: f"(?P<{name[1]}_{next(numbers)}>", "|".join(parts))
    return re.compile(pattern), kinds


def kind_of(begin: str, text: str) -> tuple[str, dict[str, str]] | None:
    """The kind of a message and what it is about, by the names of groups; None for any other message.

    `begin` are the letters that the text begins with.
    """
    if begin not in BEGINS:
        return None
    pattern, kinds = _compiled(begin)
    match = pattern.match(text)
    if match is None or not (kind := kinds[match.lastgroup or ""]):
        return None
    words = ((name.partition("_")[0], word) for name, word in match.groupdict().items() if word)
    return kind, {name: word for name, word in words if name not in ("kind", "n")}
