"""What sar's words mean: header tokens of every section to tables and canonical columns.

The one place for sar's raw names: sar's text, sadf's exports and the binary files share it, so
that a number has one name wherever it was read. Tokens are those that sysstat 4.0 to 12.7 print;
variants of one section stand in one entry, as no token means two things within a section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iodiag.formats.raw_columns.sar_network import NETWORK_SECTIONS
from iodiag.formats.raw_columns.sar_section import SarSection, Spread, sections
from iodiag.table.table import Floats, Table
from iodiag.table.texts import Texts

_SPREADS = {
    "interrupts": Spread(re.compile(r"all|CPU(\d{1,5})"), "cpu", "interrupts_per_s"),
    "interrupts per cpu": Spread(re.compile(r"i0{0,2}(\d{1,5})/s"), "interrupt", "interrupts_per_s"),
}
_SECTIONS = {
    "cpu": """
        CPU:cpu %user=user_pct %usr=user_pct %nice=nice_pct %system=system_pct %sys=system_pct
        %iowait=iowait_pct %steal=steal_pct %irq=irq_pct %soft=softirq_pct %guest=guest_pct
        %gnice=guest_nice_pct %idle=idle_pct
    """,
    "tasks: system": "proc/s=processes_per_s cswch/s=context_switches_per_s",
    # up to 12.5.5 a row per interrupt; later a matrix with a column per CPU
    "interrupts": "INTR:interrupt intr/s=interrupts_per_s",
    # up to 8.1 the other way round: a row per CPU, a column per interrupt (i000/s, i011/s, …)
    "interrupts per cpu: interrupts": "CPU:cpu",
    "swapping": "pswpin/s=pages_in_per_s pswpout/s=pages_out_per_s",
    "paging": """
        pgpgin/s=pgpgin_kb_per_s pgpgout/s=pgpgout_kb_per_s fault/s=faults_per_s majflt/s=major_faults_per_s
        pgfree/s=pages_freed_per_s pgscank/s=scan_kswapd_per_s pgscand/s=scan_direct_per_s
        pgsteal/s=steal_per_s %vmeff=reclaim_efficiency_pct pgprom/s=pages_promoted_per_s
        pgdem/s=pages_demoted_per_s activepg=active_pages inadtypg=inactive_dirty_pages
        inaclnpg=inactive_clean_pages inatarpg=inactive_target_pages
    """,
    "io": """
        tps=ios_per_s rtps=reads_per_s wtps=writes_per_s dtps=discards_per_s bread/s=read_kb_per_s*sector
        bwrtn/s=write_kb_per_s*sector bdscd/s=discard_kb_per_s*sector
    """,
    "memory changes: memory": """
        frmpg/s=free_change_pages_per_s shmpg/s=shared_change_pages_per_s bufpg/s=buffers_change_pages_per_s
        campg/s=cached_change_pages_per_s
    """,
    "swap": "kbswpfree=free_kb kbswpused=used_kb %swpused=used_pct kbswpcad=cached_kb %swpcad=cached_pct",
    # up to 8.1.4 memory and swap are one section, so the swap tokens stand here too
    "memory": """
        kbmemfree=free_kb kbavail=available_kb kbmemused=used_kb %memused=used_pct kbmemshrd=shared_kb
        kbbuffers=buffers_kb kbcached=cached_kb kbcommit=commit_kb %commit=commit_pct kbactive=active_kb
        kbinact=inactive_kb kbdirty=dirty_kb kbshmem=shared_kb kbanonpg=anonymous_kb kbslab=slab_kb
        kbkstack=kernel_stack_kb kbpgtbl=page_tables_kb kbvmused=vmalloc_used_kb kbswpfree=swap.free_kb
        kbswpused=swap.used_kb %swpused=swap.used_pct kbswpcad=swap.cached_kb %swpcad=swap.cached_pct
    """,
    "hugepages": """
        kbhugfree=free_kb kbhugused=used_kb %hugused=used_pct kbhugrsvd=reserved_kb kbhugsurp=surplus_kb
    """,
    "kernel tables": """
        dentunusd=unused_dentries file-nr=files file-sz=files inode-nr=inodes inode-sz=inodes pty-nr=ptys
        super-sz=superblocks %super-sz=superblocks_pct dquot-sz=quota_entries %dquot-sz=quota_entries_pct
        rtsig-sz=realtime_signals %rtsig-sz=realtime_signals_pct
    """,
    "queue": """
        runq-sz=run_queue plist-sz=tasks ldavg-1=load_1m ldavg-5=load_5m ldavg-15=load_15m blocked=blocked
    """,
    "disk": """
        DEV:device tps=ios_per_s rkB/s=read_kb_per_s wkB/s=write_kb_per_s dkB/s=discard_kb_per_s
        areq-sz=request_size_kb avgqu-sz=queue_depth aqu-sz=queue_depth await=await_ms svctm=svctm_ms
        %util=util_pct sect/s=kb_per_s*sector rd_sec/s=read_kb_per_s*sector wr_sec/s=write_kb_per_s*sector
        dc_sec/s=discard_kb_per_s*sector avgrq-sz=request_size_kb*sector
    """,
    "pressure cpu: pressure": """
        %scpu-10=cpu_some_10s_pct %scpu-60=cpu_some_60s_pct %scpu-300=cpu_some_300s_pct %scpu=cpu_some_pct
    """,
    "pressure io: pressure": """
        %sio-10=io_some_10s_pct %sio-60=io_some_60s_pct %sio-300=io_some_300s_pct %sio=io_some_pct
        %fio-10=io_full_10s_pct %fio-60=io_full_60s_pct %fio-300=io_full_300s_pct %fio=io_full_pct
    """,
    "pressure memory: pressure": """
        %smem-10=memory_some_10s_pct %smem-60=memory_some_60s_pct %smem-300=memory_some_300s_pct
        %smem=memory_some_pct %fmem-10=memory_full_10s_pct %fmem-60=memory_full_60s_pct
        %fmem-300=memory_full_300s_pct %fmem=memory_full_pct
    """,
    "filesystem": """
        FILESYSTEM:filesystem MOUNTPOINT:filesystem MBfsfree=free_kb*MB MBfsused=used_kb*MB %fsused=used_pct
        %ufsused=unprivileged_used_pct Ifree=inodes_free Iused=inodes_used %Iused=inodes_used_pct
    """,
    "cpu frequency": "CPU:cpu MHz=frequency_mhz",
    "weighted cpu frequency: cpu_frequency": "CPU:cpu wghMHz=weighted_frequency_mhz",
    "fan": "FAN:fan DEVICE~chip rpm=speed_rpm drpm=margin_rpm",
    "temperature": "TEMP:sensor DEVICE~chip degC=temperature_c %temp=range_pct",
    "voltage": "IN:input DEVICE~chip inV=voltage_v %in=range_pct",
    "usb": """
        BUS:bus idvendor~vendor_id idprod~product_id manufact~manufacturer product~product
        maxpower=max_power_ma
    """,
    "battery": "BAT:battery status~status %cap=capacity_pct cap/min=capacity_pct_per_min",
    # per-process sections ended with 8.0; the CPU that a process last ran on is not kept
    "process": """
        PID:pid minflt/s=minor_faults_per_s majflt/s=major_faults_per_s %user=user_pct %system=system_pct
        nswap/s=swapped_per_s CPU=
    """,
}

SECTIONS = tuple(
    replace(section, spread=_SPREADS.get(section.name)) for section in sections(_SECTIONS | NETWORK_SECTIONS)
)
"""Every section of `sar -A`, and those that only old releases print."""

_KEY_TOKENS = frozenset(token for section in SECTIONS for token in section.key_tokens)


def find_section(tokens: Sequence[str]) -> SarSection | None:
    """The section that prints these header tokens, or None where no section does.

    Order does not matter. A section with items is meant only where its item token stands; among
    those left it is the one that knows most of the words, and at least half of them.
    """
    words = set(tokens)
    items = words & _KEY_TOKENS
    best, most = None, 0
    for section in SECTIONS:
        if any(not section.knows(item) for item in items):
            continue
        if section.key_tokens and not words & section.key_tokens.keys():
            continue
        known = sum(section.knows(word) for word in words - items)
        if known > most:
            best, most = section, known
    return best if 2 * most >= len(words - items) else None


def combine_long_cpu(rows: Table) -> Table:
    """CPU shares of the long form (`-u ALL`, mpstat) in the one meaning of the `cpu` table.

    The long form prints system time without interrupts and user and nice time without guests;
    rows that have those parts (`irq_pct` … not NaN) get them added. Other rows come back as they are.
    """
    if "irq_pct" not in rows:
        return rows
    whole = {
        "system_pct": ("irq_pct", "softirq_pct"),
        "user_pct": ("guest_pct",),
        "nice_pct": ("guest_nice_pct",),
    }
    sums = {}
    for column, parts in whole.items():
        if column in rows:
            present = [np.nan_to_num(rows.floats(part), nan=0.0) for part in parts if part in rows]
            sums[column] = sum(present, start=rows.floats(column))
    return rows.with_columns(**sums)


def unfolded(rows: Table, key: str, items: Sequence[str], column: str, values: Floats) -> Table:
    """A row per item where a section prints an item per column: `values` is rows x `items`."""
    count = len(items)
    long = rows[np.repeat(np.arange(len(rows)), count)]
    names = Texts.coded(np.tile(np.arange(count), len(rows)), items)
    return long.with_columns(**{key: names, column: values.ravel()})
