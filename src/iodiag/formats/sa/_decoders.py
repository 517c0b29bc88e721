"""From each activity's structures to rows of a table, named and computed as sar prints them.

Most activities are rates of their counters and need no more than `raw_columns.sar`; the others have
a function here. All take the section, the stored structures and the context, and yield rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from iodiag.formats.raw_columns.sar import SECTIONS
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.sa._activities import NAMES
from iodiag.formats.sa._cpu import cpu_rows, interrupt_rows, softnet_rows
from iodiag.formats.sa._rates import Pairs, Stored, keys_of, pair
from iodiag.formats.sa._tables import (
    ActivityRows,
    Context,
    columns_of,
    only_item,
    share,
    spell_cpu,
    spell_text,
    spelled,
    table,
)
from iodiag.model.columns import KEY_COLUMNS
from iodiag.model.units import KB_PER_BYTE
from iodiag.table.table import Floats

Decoder = Callable[[SarSection, Stored, Context], Iterator[ActivityRows]]

_SECTIONS = {section.name: section for section in SECTIONS}
_BATTERY_STATUS = ("unknown", "charging", "discharging", "not charging", "full")
_FULL_DUPLEX = 2
_MBIT_PER_KB = 8 * 1024 / 1e6


def rows_of(activity: int, stored: Stored, context: Context) -> list[ActivityRows]:
    """The rows that the structures of this activity make."""
    decode = _DECODERS.get(activity, _single)
    with np.errstate(all="ignore"):  # readings of sensors are doubles and may be infinite
        return list(decode(_SECTIONS[NAMES[activity]], stored, context))


def families_of(activity: int) -> set[str]:
    """The tables that the structures of this activity may make rows of."""
    section = _SECTIONS[NAMES[activity]]
    return {section.family, *section.other_family.values()}


def _single(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    yield table(section.family, samples, columns_of(section, samples))


def _paging(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = columns_of(section, samples)
    # sar dropped the efficiency with 12.7.5, the release that began to count promotions.
    if stored.has("pgsteal/s", "pgscank/s", "pgscand/s") and not stored.has("pgprom/s"):
        scanned = samples.delta("pgscank/s") + samples.delta("pgscand/s")
        columns["reclaim_efficiency_pct"] = share(samples.delta("pgsteal/s"), scanned)
    yield table(section.family, samples, columns)


def _queue(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = columns_of(section, samples)
    hundredths = {name: values / 100.0 for name, values in columns.items() if name.startswith("load_")}
    yield table(section.family, samples, columns | hundredths)


def _memory(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = columns_of(section, samples)
    swap = columns_of(section, samples, "swap")
    if stored.has("total_kb"):
        total = samples.gauge("total_kb")
        columns["used_kb"] = np.maximum(total - _not_used(columns, context.header.version), 0.0)
        columns["used_pct"] = share(columns["used_kb"], total)
    if stored.has("swap_total_kb"):
        total_swap = samples.gauge("swap_total_kb")
        swap["used_kb"] = np.maximum(total_swap - swap["free_kb"], 0.0)
        swap["used_pct"] = share(swap["used_kb"], total_swap)
        if "cached_kb" in swap:
            swap["cached_pct"] = share(swap["cached_kb"], swap["used_kb"])
        if "commit_kb" in columns:
            columns["commit_pct"] = share(columns["commit_kb"], total + total_swap)
    yield table("memory", samples, columns)
    if swap:
        yield table("swap", samples, swap)


def _not_used(columns: dict[str, Floats], version: tuple[int, int, int]) -> Floats:
    """The memory that the release which wrote the file did not print as used.

    12.7.8, the first to store shared memory, prints all but what is available. From 11.7.4 on
    (11.6.4 and 11.4.10 on the old branches) buffers, page cache and slab were not used either.
    """
    if "shared_kb" in columns and "available_kb" in columns:
        return columns["available_kb"]
    leaves_cache_out = (
        version >= (11, 7, 4) or (11, 6, 4) <= version < (11, 7) or (11, 4, 10) <= version < (11, 5)
    )
    if leaves_cache_out and "slab_kb" in columns:
        return columns["free_kb"] + columns["buffers_kb"] + columns["cached_kb"] + columns["slab_kb"]
    return columns["free_kb"]


def _kernel_tables(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = columns_of(section, samples)
    for what in ("super", "dquot", "rtsig"):
        if stored.has(f"{what}-sz", f"{what}_max"):
            target = section.columns[f"%{what}-sz"]
            assert target is not None
            columns[target[0]] = share(samples.gauge(f"{what}-sz"), samples.gauge(f"{what}_max"))
    yield table(section.family, samples, columns)


def _hugepages(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = columns_of(section, samples)
    if stored.has("total_kb"):
        total = samples.gauge("total_kb")
        columns["used_kb"] = np.maximum(total - columns["free_kb"], 0.0)
        columns["used_pct"] = share(columns["used_kb"], total)
    yield table(section.family, samples, columns)


def _disk(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("major", "minor", "tps"):
        return
    # Up to 0x2173 the list of disks has spare places, which are all zero.
    stored = stored.where((stored.values["major"] > 0) | (stored.values["minor"] > 0))
    numbers = stored.values["major"].astype(np.int64) << 32 | stored.values["minor"].astype(np.int64)
    sectors = [name for name in ("sect/s", "rd_sec/s", "wr_sec/s", "dc_sec/s") if stored.has(name)]
    samples = pair(stored, keys_of((numbers,), stored.period), context.seconds, ("tps", *sectors))
    columns = columns_of(section, samples)
    requests, seconds = samples.delta("tps"), samples.seconds
    if sectors:  # a record that its header declares too short for them has none
        moved = np.sum([samples.delta(name) for name in sectors], axis=0)
        columns["request_size_kb"] = _per(moved / 2.0, requests)
    ticks = [name for name in ("rd_ticks", "wr_ticks", "dc_ticks") if stored.has(name)]
    if stored.has("rd_ticks", "wr_ticks"):
        columns["await_ms"] = _per(np.sum([samples.delta(name) for name in ticks], axis=0), requests)
        # sar prints neither: the file alone tells for how long requests of either direction waited
        for way, name in (("read", "rd_ticks"), ("write", "wr_ticks")):
            columns[f"{way}_queue_depth"] = samples.delta(name) / seconds / 1000.0
    if stored.has("rq_ticks"):
        columns["queue_depth"] = samples.delta("rq_ticks") / seconds / 1000.0
    if stored.has("tot_ticks"):
        busy_ms = samples.delta("tot_ticks")
        columns["util_pct"] = busy_ms / seconds / 10.0
        # svctm went when discards came (12.1.2); a newer sar does not print it.
        if not stored.has("dc_sec/s"):
            columns["svctm_ms"] = _per(busy_ms, requests)
    words = {"device": spelled(numbers[stored.record > 0], _spell_disk, stored.period)}
    yield table(section.family, samples, columns, words)


def _per(amount: Floats, requests: Floats) -> Floats:
    """The mean per request; 0 without requests, as sar prints it."""
    return np.divide(amount, requests, out=np.zeros_like(amount), where=requests != 0)


def _spell_disk(number: object) -> str:
    major, minor = divmod(int(str(number)), 1 << 32)
    return f"dev{major}-{minor}"


def _named(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    """Counters of items that have a name: interfaces, Fibre Channel hosts."""
    if not stored.has("name"):
        return
    # before 8.1.3 the list of interfaces has spare places of that name
    stored = stored.where((stored.values["name"] != b"") & (stored.values["name"] != b"?"))
    names = spelled(stored.values["name"], spell_text, stored.period)
    counters = [token for token in section.columns if stored.has(token)]
    samples = pair(stored, names.codes.astype(np.int64), context.seconds, counters)
    columns = columns_of(section, samples)
    if stored.has("speed", "duplex") and {"rx_kb_per_s", "tx_kb_per_s"} <= columns.keys():
        received, sent = columns["rx_kb_per_s"], columns["tx_kb_per_s"]
        is_full = samples.now.values["duplex"] == _FULL_DUPLEX
        used = np.where(is_full, np.maximum(received, sent), received + sent)
        columns["util_pct"] = share(used * _MBIT_PER_KB, samples.gauge("speed"))
    words = {KEY_COLUMNS[section.family]: names[stored.record > 0]}
    yield table(section.family, samples, columns, words)


def _serial(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("number"):
        return
    numbers = stored.values["number"]
    if context.header.old:
        # All bits mark a spare place.
        stored = stored.where(numbers != np.iinfo(numbers.dtype).max)
        numbers = stored.values["number"]
    elif not context.is_self_describing:
        # Lines were counted from 1 there, as 0 marked a spare place.
        stored = stored.where(numbers > 0)
        numbers = stored.values["number"] - 1
    counters = [token for token in section.columns if stored.has(token)]
    samples = pair(stored, keys_of((numbers,), stored.period), context.seconds, counters)
    words = {"tty": spelled(numbers[stored.record > 0], str)}
    yield table(section.family, samples, columns_of(section, samples), words)


def _cpu_frequency(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("frequency"):
        return
    # An offline CPU has no frequency.
    samples = _readings(stored.where(stored.values["frequency"] > 0), context)
    columns = {"frequency_mhz": samples.gauge("frequency") / 100.0}
    yield table(
        section.family, samples, columns, {"cpu": spelled(samples.now.item, spell_cpu, samples.now.period)}
    )


def _weighted_frequency(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    """Each CPU's frequency weighted by the time in each of its states, which are subitems."""
    if not stored.has("frequency", "time_in_state"):
        return
    samples = pair(stored, keys_of((stored.item, stored.subitem), stored.period), context.seconds)
    now = samples.now
    time = samples.delta("time_in_state")
    khz = samples.gauge("frequency")
    cpu = keys_of((now.record, now.item))
    total = np.bincount(cpu, weights=np.where(khz > 0, time, 0.0)).astype(np.float64)
    moved = np.bincount(cpu, weights=time * khz).astype(np.float64)
    first = now.subitem == 0
    mhz = _per(moved, total)[cpu[first]] / 1000.0
    words = {"cpu": spelled(now.item[first], spell_cpu)}
    yield table(section.family, samples.take(first), {"weighted_frequency_mhz": mhz}, words)


def _readings(stored: Stored, context: Context) -> Pairs:
    """Samples of items that only have gauges, so that nothing is compared with the sample before."""
    return pair(stored, np.arange(len(stored.record)), context.seconds)


def _sensor(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = _readings(stored, context)
    columns = columns_of(section, samples)
    if stored.has("rpm", "lowest"):
        columns["margin_rpm"] = samples.gauge("rpm") - samples.gauge("lowest")
    elif stored.has("lowest", "highest"):
        value = samples.gauge("degC" if stored.has("degC") else "inV")
        lowest = samples.gauge("lowest")
        columns["range_pct"] = share(value - lowest, samples.gauge("highest") - lowest)
    words = {KEY_COLUMNS[section.family]: spelled(samples.now.item + 1, str)}
    if stored.has("chip"):
        words["chip"] = spelled(samples.now.values["chip"], spell_text)
    yield table(section.family, samples, columns, words)


def _usb(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("bus", "vendor", "product_number", "power"):
        return
    samples = _readings(stored.where(stored.values["bus"] > 0), context)
    values = samples.now.values
    words = {
        "bus": spelled(values["bus"], str),
        "vendor_id": spelled(values["vendor"], _spell_hex),
        "product_id": spelled(values["product_number"], _spell_hex),
    }
    words |= {
        name: spelled(values[name], spell_text) for name in ("manufacturer", "product") if stored.has(name)
    }
    # USB states the current in units of 2 mA (bMaxPower of its configuration descriptor).
    yield table(section.family, samples, {"max_power_ma": 2.0 * samples.gauge("power")}, words)


def _spell_hex(value: object) -> str:
    return f"{int(str(value)):x}"


def _filesystem(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("blocks", "free", "available", "files", "files_free", "name"):
        return
    samples = _readings(stored.where(stored.values["name"] != b""), context)
    size, free = samples.gauge("blocks"), samples.gauge("free")
    files, files_free = samples.gauge("files"), samples.gauge("files_free")
    columns = {
        "free_kb": free * KB_PER_BYTE,
        "used_kb": (size - free) * KB_PER_BYTE,
        "used_pct": share(size - free, size),
        "unprivileged_used_pct": share(size - samples.gauge("available"), size),
        "inodes_free": files_free,
        "inodes_used": files - files_free,
        "inodes_used_pct": share(files - files_free, files),
    }
    words = {"filesystem": spelled(samples.now.values["name"], spell_text, samples.now.period)}
    if stored.has("mountpoint"):
        words["mountpoint"] = spelled(samples.now.values["mountpoint"], spell_text, samples.now.period)
    yield table(section.family, samples, columns, words)


def _pressure(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    samples = only_item(stored, context)
    columns = {}
    for token, target in section.columns.items():
        if target is not None and stored.has(token):
            is_average = "-" in token
            # Averages are in hundredths of a per cent; totals are microseconds of waiting.
            hundredths = samples.gauge(token) if is_average else samples.rate(token) / 100.0
            columns[target[0]] = hundredths / 100.0
    yield table(section.family, samples, columns)


def _battery(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    if not stored.has("name", "capacity"):
        return
    samples = pair(stored, keys_of((stored.values["name"],)), context.seconds)
    capacity = samples.gauge("capacity")
    change = capacity - samples.before["capacity"].astype(np.float64)
    columns = {
        "capacity_pct": capacity,
        "capacity_pct_per_min": np.where(samples.is_new, np.nan, change * 60.0 / samples.seconds),
    }
    words = {"battery": spelled(samples.now.values["name"], str)}
    if stored.has("status"):
        words["status"] = spelled(samples.now.values["status"], _spell_status)
    yield table(section.family, samples, columns, words)


def _spell_status(code: object) -> str:
    number = int(str(code))
    return _BATTERY_STATUS[number] if number < len(_BATTERY_STATUS) else _BATTERY_STATUS[0]


_DECODERS: dict[int, Decoder] = {
    **{1: cpu_rows, 3: interrupt_rows, 5: _paging, 7: _memory, 8: _kernel_tables, 9: _queue, 10: _serial},
    **{11: _disk, 12: _named, 13: _named, 30: _cpu_frequency, 31: _sensor, 32: _sensor, 33: _sensor},
    **{34: _hugepages, 35: _weighted_frequency, 36: _usb, 37: _filesystem, 38: _named, 39: softnet_rows},
    **{40: _pressure, 41: _pressure, 42: _pressure, 43: _battery},
}
