"""The registry of canonical columns: what each is called, counted in, and how it aggregates.

Raw column names live in the formats, nowhere else. `kind` rules aggregation (analysis/measure/weighted):

- `rate`, `gauge`, `share`: the mean weighted by the length of the interval; a reading of a moment weighs
  the same in each sample, however long ago the one before was taken
- `mean`: the mean weighted by the column named in `weight` (latencies by their requests)
- `count`: the sum
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iodiag.model.network_columns import NETWORK_EVENTS

Kind = Literal["rate", "gauge", "share", "mean", "count"]


@dataclass(frozen=True)
class Column:
    """One canonical column. `unit` is the one that the name ends in, spelled out for people."""

    name: str
    unit: str
    kind: Kind
    meaning: str
    weight: str | None = None
    trust: str = ""


KEYS = {
    "source": "the input's name",
    "line": "1-based line of the row that holds the values; byte offset for a binary file",
    "host": "host name, empty where the input does not say",
    "time": "end of the sample; with a time zone where the source says it, NaT where it has no clock",
    "interval_s": "length of the sample in seconds; NaN where unknown",
    "segment": "0-based; a new one begins at a banner, a RESTART, a visible command or a collector's clock",
    "report": "0-based number of the report within its segment",
    "since_boot": "true for a first report that averages everything since boot (nfsiostat: since the mount)",
}
"""Columns that every table has, beside the key of its family."""

PHASE_KEYS = {
    "phase": "0-based, where a text has several: begins where other words or commands stand above a report",
    "phase_label": "those words, cut to 60 characters, else the command; empty for none",
}
"""Columns that the tables of a text have where it has several phases, such as "Before:" and "After:"."""

OF_THE_MOMENT = frozenset(("queue", "memory", "swap"))
"""Families whose columns, but for rates, are readings of a moment: tasks and memory at the sample's end."""

_DIRECTIONS = ("read", "write", "discard", "flush")


_IN_FLIGHT = [
    Column("queue_depth", "requests", "gauge", "mean number of requests in flight (avgqu-sz, aqu-sz)"),
    Column("read_queue_depth", "requests", "gauge", "mean number of reads in flight"),
    Column("write_queue_depth", "requests", "gauge", "mean number of writes in flight"),
    Column("in_progress", "requests", "gauge", "requests in flight at the end of the sample"),
]


def _disk() -> list[Column]:
    columns = [
        Column("ios_per_s", "requests/s", "rate", "completed requests of all directions"),
        Column("kb_per_s", "kB/s", "rate", "bytes moved in all directions"),
        Column("merges_per_s", "merges/s", "rate", "requests merged into others, all directions"),
    ]
    for direction in _DIRECTIONS[:3]:
        plural = f"{direction}s_per_s"
        columns += [
            Column(plural, "requests/s", "rate", f"{direction} requests completed, after merging"),
            Column(f"{direction}_kb_per_s", "kB/s", "rate", f"bytes of completed {direction}s"),
            Column(f"{direction}_merges_per_s", "merges/s", "rate", f"{direction}s merged into queued ones"),
            Column(f"{direction}_merges_pct", "%", "mean", f"share of {direction}s that were merged", plural),
            Column(
                f"{direction}_await_ms",
                "ms",
                "mean",
                f"mean time of a {direction} from the block layer to completion",
                plural,
            ),
            Column(
                f"{direction}_request_size_kb", "kB", "mean", f"mean size of a {direction} request", plural
            ),
            Column(
                f"{direction}_kb", "kB", "count", f"bytes of {direction}s during the interval (plain report)"
            ),
        ]
    columns += [
        Column("flushes_per_s", "flushes/s", "rate", "cache flushes executed"),
        Column("flush_await_ms", "ms", "mean", "mean time of a cache flush", "flushes_per_s"),
        Column("await_ms", "ms", "mean", "mean time of a request, all directions mixed", "ios_per_s"),
        Column("request_size_kb", "kB", "mean", "mean request size, all directions mixed", "ios_per_s"),
        *_IN_FLIGHT,
        Column(
            "svctm_ms",
            "ms",
            "mean",
            "busy time divided by requests",
            "ios_per_s",
            trust="not a service time: wrong on anything that overlaps requests",
        ),
        Column(
            "util_pct",
            "%",
            "share",
            "share of time with at least one request in flight",
            trust="not a share of capacity on anything that overlaps requests; may exceed 100",
        ),
    ]
    return columns


_CPU = [
    Column("user_pct", "%", "share", "user time, guest included"),
    Column("nice_pct", "%", "share", "niced user time, guest_nice included"),
    Column("system_pct", "%", "share", "kernel time, irq and softirq included"),
    Column(
        "iowait_pct",
        "%",
        "share",
        "idle with a task of this CPU blocked on I/O",
        trust="no measure of I/O trouble",
    ),
    Column("steal_pct", "%", "share", "time the hypervisor ran something else"),
    Column("irq_pct", "%", "share", "hardware interrupts, part of system_pct"),
    Column("softirq_pct", "%", "share", "software interrupts, part of system_pct"),
    Column("guest_pct", "%", "share", "running a guest, part of user_pct"),
    Column("guest_nice_pct", "%", "share", "running a niced guest, part of nice_pct"),
    Column("idle_pct", "%", "share", "idle with nothing blocked on I/O"),
]

_QUEUE = [
    Column("run_queue", "tasks", "gauge", "runnable tasks (vmstat r, runq-sz)"),
    Column("tasks", "tasks", "gauge", "tasks in the task list"),
    Column("load_1m", "tasks", "gauge", "load average over 1 minute"),
    Column("load_5m", "tasks", "gauge", "load average over 5 minutes"),
    Column("load_15m", "tasks", "gauge", "load average over 15 minutes"),
    Column("blocked", "tasks", "gauge", "tasks blocked on I/O (vmstat b)"),
]

_PAGING = [
    Column("pgpgin_kb_per_s", "kB/s", "rate", "paged in from block devices (vmstat bi)"),
    Column("pgpgout_kb_per_s", "kB/s", "rate", "paged out to block devices (vmstat bo)"),
    Column("faults_per_s", "faults/s", "rate", "page faults"),
    Column("major_faults_per_s", "faults/s", "rate", "page faults that needed I/O"),
    Column("pages_freed_per_s", "pages/s", "rate", "pages placed on the free list"),
    Column("scan_kswapd_per_s", "pages/s", "rate", "pages scanned by kswapd"),
    Column("scan_direct_per_s", "pages/s", "rate", "pages scanned directly by allocators"),
    Column("steal_per_s", "pages/s", "rate", "pages reclaimed"),
    Column("reclaim_efficiency_pct", "%", "share", "pages reclaimed of those scanned"),
    Column("pages_promoted_per_s", "pages/s", "rate", "pages promoted to faster memory"),
    Column("pages_demoted_per_s", "pages/s", "rate", "pages demoted to slower memory"),
    Column("active_pages", "pages", "gauge", "active pages (2.4 kernels)"),
    Column("inactive_dirty_pages", "pages", "gauge", "inactive dirty pages (2.4 kernels)"),
    Column("inactive_clean_pages", "pages", "gauge", "inactive clean pages (2.4 kernels)"),
    Column("inactive_target_pages", "pages", "gauge", "inactive target pages (2.4 kernels)"),
]

_SWAPPING = [
    Column("pages_in_per_s", "pages/s", "rate", "pages swapped in"),
    Column("pages_out_per_s", "pages/s", "rate", "pages swapped out"),
    Column("swap_in_kb_per_s", "kB/s", "rate", "swapped in (vmstat si)"),
    Column("swap_out_kb_per_s", "kB/s", "rate", "swapped out (vmstat so)"),
]

_IO = [
    Column("ios_per_s", "requests/s", "rate", "requests to physical devices"),
    Column("reads_per_s", "requests/s", "rate", "reads from physical devices"),
    Column("writes_per_s", "requests/s", "rate", "writes to physical devices"),
    Column("discards_per_s", "requests/s", "rate", "discards to physical devices"),
    Column("read_kb_per_s", "kB/s", "rate", "read from physical devices"),
    Column("write_kb_per_s", "kB/s", "rate", "written to physical devices"),
    Column("discard_kb_per_s", "kB/s", "rate", "discarded on physical devices"),
]

_MEMORY = [
    Column("free_kb", "kB", "gauge", "free memory"),
    Column("available_kb", "kB", "gauge", "memory available without swapping"),
    Column("used_kb", "kB", "gauge", "used memory", trust="three meanings across sysstat releases"),
    Column("used_pct", "%", "gauge", "share of memory used", trust="as used_kb"),
    Column("shared_kb", "kB", "gauge", "shared memory"),
    Column("buffers_kb", "kB", "gauge", "buffers"),
    Column("cached_kb", "kB", "gauge", "page cache"),
    Column("commit_kb", "kB", "gauge", "memory promised to the current workload"),
    Column("commit_pct", "%", "gauge", "the same as a share of memory and swap"),
    Column("active_kb", "kB", "gauge", "active memory"),
    Column("inactive_kb", "kB", "gauge", "inactive memory"),
    Column("dirty_kb", "kB", "gauge", "waiting to be written to disk"),
    Column("anonymous_kb", "kB", "gauge", "anonymous pages"),
    Column("slab_kb", "kB", "gauge", "kernel slab"),
    Column("kernel_stack_kb", "kB", "gauge", "kernel stacks"),
    Column("page_tables_kb", "kB", "gauge", "page tables"),
    Column("vmalloc_used_kb", "kB", "gauge", "vmalloc area in use"),
    Column("free_change_pages_per_s", "pages/s", "rate", "change of free memory (sar -R)"),
    Column("buffers_change_pages_per_s", "pages/s", "rate", "change of buffers (sar -R)"),
    Column("shared_change_pages_per_s", "pages/s", "rate", "change of shared memory (sar -R, before 6.1)"),
    Column("cached_change_pages_per_s", "pages/s", "rate", "change of page cache (sar -R)"),
]

_SWAP = [
    Column("free_kb", "kB", "gauge", "free swap"),
    Column("used_kb", "kB", "gauge", "used swap"),
    Column("used_pct", "%", "gauge", "share of swap used"),
    Column("cached_kb", "kB", "gauge", "swap that is also in memory"),
    Column("cached_pct", "%", "gauge", "the same as a share of used swap"),
]

_SYSTEM = [
    Column("interrupts_per_s", "interrupts/s", "rate", "interrupts (vmstat in)"),
    Column("context_switches_per_s", "switches/s", "rate", "context switches (vmstat cs)"),
    Column("processes_per_s", "processes/s", "rate", "processes created"),
]


def _rates(unit: str, **meanings: str) -> tuple[Column, ...]:
    """Event rates: each keyword's name becomes `<name>_per_s`."""
    return tuple(Column(f"{name}_per_s", f"{unit}/s", "rate", text) for name, text in meanings.items())


def _gauges(unit: str, **meanings: str) -> tuple[Column, ...]:
    """Readings at the end of the sample, under exactly the keyword's name."""
    return tuple(Column(name, unit, "gauge", text) for name, text in meanings.items())


def _pressure(resource: str, waits: str, *states: str) -> list[Column]:
    columns = []
    for state in states:
        who = f"{'some' if state == 'some' else 'all'} tasks waited for {waits}"
        columns += [
            Column(f"{resource}_{state}_10s_pct", "%", "gauge", f"share of time {who}, mean over 10 s"),
            Column(f"{resource}_{state}_60s_pct", "%", "gauge", f"share of time {who}, mean over 60 s"),
            Column(f"{resource}_{state}_300s_pct", "%", "gauge", f"share of time {who}, mean over 300 s"),
            Column(f"{resource}_{state}_pct", "%", "share", f"share of the interval {who}"),
        ]
    return columns


_PRESSURE = [
    *_pressure("cpu", "a CPU", "some"),
    *_pressure("io", "I/O", "some", "full"),
    *_pressure("memory", "memory", "some", "full"),
]

_HUGEPAGES = (
    *_gauges(
        "kB",
        free_kb="huge pages not allocated",
        used_kb="huge pages allocated",
        reserved_kb="huge pages promised but not yet allocated",
        surplus_kb="huge pages above the configured pool",
    ),
    Column("used_pct", "%", "gauge", "share of huge pages allocated"),
)

_KERNEL_TABLES = _gauges(
    "entries",
    unused_dentries="unused entries of the directory cache",
    files="file handles in use",
    inodes="inode handlers in use",
    ptys="pseudo-terminals in use",
    superblocks="super block handlers (up to 8.0)",
    quota_entries="disk quota entries (up to 8.0)",
    realtime_signals="queued real-time signals (up to 8.0)",
) + _gauges(
    "%",
    superblocks_pct="share of super block handlers (up to 8.0)",
    quota_entries_pct="share of disk quota entries (up to 8.0)",
    realtime_signals_pct="share of queued real-time signals (up to 8.0)",
)

_NETWORK = (
    *_rates(
        "packets",
        rx_packets="packets received",
        tx_packets="packets sent",
        rx_compressed="compressed packets received",
        tx_compressed="compressed packets sent",
        rx_multicast="multicast packets received",
    ),
    *_rates("kB", rx_kb="data received", tx_kb="data sent"),
    Column("util_pct", "%", "share", "share of the link's speed in use"),
)

_SOCKETS = _gauges(
    "sockets",
    total_sockets="sockets in use",
    tcp_sockets="TCP sockets in use",
    udp_sockets="UDP sockets in use",
    raw_sockets="raw sockets in use",
    tcp_time_wait_sockets="TCP sockets in TIME_WAIT",
    ip_fragments="IP fragments being queued",
)

_SOFTNET = _rates(
    "packets",
    processed="network frames processed",
    dropped="network frames dropped because the backlog was full",
    squeezed="times the softirq ran out of budget or time with work left",
    rps_wakeups="times this CPU was woken to process packets (RPS)",
    flow_limited="times the flow limit was reached",
) + _gauges("packets", backlog="length of the network backlog")

_SERIAL = _rates(
    "events",
    rx_interrupts="receive interrupts",
    tx_interrupts="transmit interrupts",
    frame_errors="frame errors",
    parity_errors="parity errors",
    breaks="breaks",
    overruns="overrun errors",
)

_CPU_FREQUENCY = _gauges(
    "MHz",
    frequency_mhz="clock frequency",
    weighted_frequency_mhz="clock frequency weighted by time in each state",
)

_FAN = _gauges("rpm", speed_rpm="fan speed", margin_rpm="fan speed above its low limit")

_TEMPERATURE = (
    Column("temperature_c", "°C", "gauge", "temperature"),
    Column("range_pct", "%", "gauge", "temperature within its limits"),
)

_VOLTAGE = (
    Column("voltage_v", "V", "gauge", "voltage input"),
    Column("range_pct", "%", "gauge", "voltage within its limits"),
)

_USB = (Column("max_power_ma", "mA", "gauge", "the most that the device may draw"),)

_BATTERY = (
    Column("capacity_pct", "%", "gauge", "charge left"),
    Column("capacity_pct_per_min", "%/min", "rate", "change of the charge"),
)

_FILESYSTEM = (
    *_gauges("kB", free_kb="free space, reserved blocks included", used_kb="used space"),
    *_gauges(
        "%",
        used_pct="share of space used",
        unprivileged_used_pct="share of space used as seen by an unprivileged user",
        inodes_used_pct="share of inodes used",
    ),
    *_gauges("inodes", inodes_free="free inodes", inodes_used="used inodes"),
)

_PROCESS = (
    *_rates(
        "faults", minor_faults="page faults that needed no I/O", major_faults="page faults that needed I/O"
    ),
    Column("user_pct", "%", "share", "user time"),
    Column("system_pct", "%", "share", "kernel time"),
    *_rates("pages", swapped="pages swapped out"),
)

_OF_NFS: tuple[tuple[str, str, Kind, str], ...] = (
    ("kb_per_s", "kB/s", "rate", "bytes exchanged with the server for {}s"),
    ("buffered_kb_per_s", "kB/s", "rate", "{} by applications through the page cache"),
    ("direct_kb_per_s", "kB/s", "rate", "{} by applications with O_DIRECT"),
    ("request_size_kb", "kB", "mean", "mean size of a {}"),
    ("round_trip_ms", "ms", "mean", "mean time from sending a {} to its answer (avg RTT)"),
    ("await_ms", "ms", "mean", "mean time of a {} with its wait on the client (avg exe)"),
    ("queue_ms", "ms", "mean", "mean wait of a {} before it was sent"),
    ("retransmissions", "requests", "count", "{}s that were sent again"),
    ("retransmitted_pct", "%", "mean", "share of {}s that were sent again"),
    ("errors", "requests", "count", "{}s that ended in an error"),
)

_NFS_MOUNTS = [
    Column("ops_per_s", "requests/s", "rate", "RPC requests sent for the mount"),
    Column(
        "backlog",
        "requests",
        "gauge",
        "requests that wait for a slot (rpc bklog)",
        trust="nfsiostat divides the mean length of the queue by the seconds of the interval",
    ),
    *(Column(f"{d}s_per_s", "requests/s", "rate", f"{d} operations") for d in _DIRECTIONS[:2]),
    *(
        Column(f"{d}_{name}", unit, kind, meaning.format(d), f"{d}s_per_s" if kind == "mean" else None)
        for d in _DIRECTIONS[:2]
        for name, unit, kind, meaning in _OF_NFS
    ),
]

_CIFS_MOUNTS = (
    *(Column(f"{d}s_per_s", "requests/s", "rate", f"{d} operations") for d in _DIRECTIONS[:2]),
    *(Column(f"{d}_kb_per_s", "kB/s", "rate", f"bytes of {d}s") for d in _DIRECTIONS[:2]),
    *_rates("files", opens="files opened", closes="files closed", deletes="files deleted"),
)

_TAPES = (
    *(Column(f"{d}s_per_s", "requests/s", "rate", f"{d} requests completed") for d in _DIRECTIONS[:2]),
    *(Column(f"{d}_kb_per_s", "kB/s", "rate", f"bytes of completed {d}s") for d in _DIRECTIONS[:2]),
    *(
        Column(
            f"{name}wait_pct",
            "%",
            "share",
            f"time waited for {what}",
            trust="ended ones count whole: above 100",
        )
        for name, what in (("read_", "reads"), ("write_", "writes"), ("", "requests of any kind"))
    ),
    *_rates("requests", residuals="requests that moved less than asked", others="rewinds and ioctl calls"),
)

_DISK_COUNTERS = [
    *(
        Column(name, unit, "count", f"{what} since boot")
        for direction in _DIRECTIONS[:3]
        for name, unit, what in (
            (f"{direction}s", "requests", f"{direction}s completed"),
            (f"{direction}_merges", "merges", f"{direction}s merged"),
            (f"{direction}_kb", "kB", f"{direction} bytes"),
            (f"{direction}_ms", "ms", f"time of all {direction}s"),
        )
    ),
    Column("in_flight", "requests", "gauge", "requests in flight now"),
    Column("busy_ms", "ms", "count", "time with at least one request in flight, since boot"),
    Column("busy_s", "s", "count", "the same in whole seconds (vmstat -d)"),
    Column("weighted_ms", "ms", "count", "time of all requests, summed, since boot"),
    Column("flushes", "flushes", "count", "cache flushes since boot"),
    Column("flush_ms", "ms", "count", "time of all cache flushes since boot"),
]

_EVENTS = (
    Column("boot_s", "s", "gauge", "time since boot that the line states"),
    Column("alike", "lines", "count", "further lines of the kind on the device in the same second, not kept"),
    Column("utc_offset_s", "s", "gauge", "how far the clock of the line was ahead of UTC, where it says so"),
)

FAMILIES: dict[str, tuple[Column, ...]] = {
    "events": _EVENTS,
    "disk_counters": tuple(_DISK_COUNTERS),
    "nfs_mounts": tuple(_NFS_MOUNTS),
    "cifs_mounts": _CIFS_MOUNTS,
    "tapes": _TAPES,
    "disk": tuple(_disk()),
    "cpu": tuple(_CPU),
    "queue": tuple(_QUEUE),
    "paging": tuple(_PAGING),
    "swapping": tuple(_SWAPPING),
    "io": tuple(_IO),
    "memory": tuple(_MEMORY),
    "swap": tuple(_SWAP),
    "system": tuple(_SYSTEM),
    "interrupts": tuple(_SYSTEM[:1]),
    "pressure": tuple(_PRESSURE),
    "hugepages": _HUGEPAGES,
    "kernel_tables": _KERNEL_TABLES,
    "network": _NETWORK,
    "sockets": _SOCKETS,
    "sockets6": _SOCKETS,
    "softnet": _SOFTNET,
    "serial": _SERIAL,
    "cpu_frequency": _CPU_FREQUENCY,
    "fan": _FAN,
    "temperature": _TEMPERATURE,
    "voltage": _VOLTAGE,
    "usb": _USB,
    "battery": _BATTERY,
    "filesystem": _FILESYSTEM,
    "process": _PROCESS,
    **{
        family: tuple(column for unit, meanings in events.items() for column in _rates(unit, **meanings))
        for family, events in NETWORK_EVENTS.items()
    },
}
"""Columns by table. A table that is not here (an unknown section) has its own header's words."""

KEY_COLUMNS: dict[str, str] = {
    "events": "device",
    "disk_counters": "device",
    "nfs_mounts": "mount",
    "cifs_mounts": "mount",
    "tapes": "tape",
    "disk": "device",
    "cpu": "cpu",
    "interrupts": "interrupt",
    "network": "interface",
    "network_errors": "interface",
    "fibre_channel": "fc_host",
    "softnet": "cpu",
    "serial": "tty",
    "cpu_frequency": "cpu",
    "fan": "fan",
    "temperature": "sensor",
    "voltage": "input",
    "usb": "bus",
    "battery": "battery",
    "filesystem": "filesystem",
    "process": "pid",
}
"""The column that tells the rows of one report apart, where a table has several per report."""

LABEL_COLUMNS: dict[str, tuple[str, ...]] = {
    "events": ("kind", "stamp", "message"),
    "interrupts": ("cpu",),
    "fan": ("chip",),
    "temperature": ("chip",),
    "voltage": ("chip",),
    "usb": ("vendor_id", "product_id", "manufacturer", "product"),
    "battery": ("status",),
    "filesystem": ("mountpoint",),
    "nfs_mounts": ("export",),
}
"""Columns of words beside the key, by table; the rows of `interrupts` need both to be told apart."""


def find(family: str, name: str) -> Column | None:
    """The registry's entry for a column of a table, or None where it has none."""
    return _BY_NAME.get((family, name))


_BY_NAME = {(family, column.name): column for family, columns in FAMILIES.items() for column in columns}
