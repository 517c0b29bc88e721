"""What the binary files hold per CPU: shares of time, interrupts, network packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.sa._rates import Pairs, Stored, keys_of, pair
from iodiag.formats.sa._tables import ActivityRows, Context, columns_of, spell_cpu, spell_text, spelled, table
from iodiag.table.table import Bools, Floats, Ints
from iodiag.table.texts import Texts

_PARTS = ("user", "nice", "system", "idle", "iowait", "steal", "irq", "softirq")
"""These make up all time of a CPU; guest time is inside user and nice."""
_LEAST_PARTS = _PARTS[:4]
_GUESTS = ("guest", "guest_nice")
_FIRST_TO_ADD_UP = (11, 7, 3)


def cpu_rows(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    """Shares per CPU and for all.

    A counter that went back counts as unchanged (the kernel's idle and iowait do that). A CPU
    whose counters are all zero is offline, and has no row; nor has one without an earlier sample.
    From 0x2175 on the whole is the sum of the parts, before it is the uptime; and from 11.7.3 on
    the line of all CPUs is the sum of theirs, before it is the kernel's own.
    """
    # files before 8.1.3 know fewer kinds of time
    parts = [name for name in _PARTS if stored.has(name)]
    if not stored.has(*_LEAST_PARTS):
        return
    samples = _with_last(stored.where(_is_online(stored, parts)), context)
    ticks = {name: _forward(samples, name) for name in (*parts, *_GUESTS) if stored.has(name)}
    item, record = samples.now.item, samples.now.record
    whole = _whole(samples, ticks, context)
    if not context.is_self_describing:
        whole = np.where(item == 0, context.ticks[record - 1], whole)
    elif context.header.version >= _FIRST_TO_ADD_UP:
        ticks = {name: _with_sum(values, item, record) for name, values in ticks.items()}
        whole = _with_sum(whole, item, record)
    yield table(
        section.family, samples, _shares(ticks, whole), {"cpu": spelled(item, spell_cpu, samples.now.period)}
    )


def _is_online(stored: Stored, counters: Iterable[str]) -> Bools:
    """All CPUs together (item 0), and those that have counted anything."""
    is_online: Bools = stored.item == 0
    for counter in counters:
        is_online = is_online | (stored.values[counter] > 0)
    return is_online


def _with_last(stored: Stored, context: Context) -> Pairs:
    """Each CPU with its last sample, however long ago; those without one are left out."""
    samples = pair(stored, stored.item, context.seconds, across_gaps=True)
    return samples.take(~samples.is_new) if samples.is_new.any() else samples


def _whole(samples: Pairs, ticks: dict[str, Floats], context: Context) -> Floats:
    """All time of each CPU, in ticks.

    Guest time that user time did not follow (the kernel may count one before the other) is time as
    well: sysstat takes it as user time that went back.
    """
    stored = [part for part in _PARTS if part in ticks]
    parts = [ticks[part] if context.is_self_describing else _signed(samples, part) for part in stored]
    whole: Floats = np.sum(parts, axis=0)
    for host, guest in (("user", "guest"), ("nice", "guest_nice")):
        if samples.now.has(guest):
            whole = whole + np.maximum(_signed(samples, guest) - _signed(samples, host), 0.0)
    return whole


def _forward(samples: Pairs, name: str) -> Floats:
    return np.maximum(_signed(samples, name), 0.0)


def _signed(samples: Pairs, name: str) -> Floats:
    now, before = samples.now.values[name], samples.before[name]
    size: Floats = (np.maximum(now, before) - np.minimum(now, before)).astype(np.float64)
    return np.where(now >= before, size, -size)


def _with_sum(values: Floats, item: Ints, record: Ints) -> Floats:
    """The values with those of item 0 replaced by the sum of the others of its record, if any."""
    is_single = item > 0
    length = int(record.max(initial=0)) + 1
    total = np.bincount(record[is_single], weights=values[is_single], minlength=length)
    has_single = np.bincount(record[is_single], minlength=length) > 0
    return np.where(~is_single & has_single[record], total[record], values)


def _shares(ticks: dict[str, Floats], whole: Floats) -> dict[str, Floats]:
    """Per cent of the whole. A CPU that did not tick at all was idle: its clock was stopped."""
    has_ticked = whole > 0
    percent = {
        name: np.divide(100.0 * values, whole, out=np.zeros_like(whole), where=has_ticked)
        for name, values in ticks.items()
    }
    percent["idle"] = np.where(has_ticked, percent["idle"], 100.0)
    for part in ("irq", "softirq"):
        percent["system"] = percent["system"] + percent.get(part, 0.0)
    return {f"{name}_pct": values for name, values in percent.items()}


def softnet_rows(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    """Packets that each CPU took from the network; the line of all CPUs is their sum.

    Up to 11.7.2 the file held that sum as item 0; later releases leave it zero and add up. From
    0x2175 on a CPU that never took a packet counts as offline and has no row.
    """
    if context.is_self_describing:
        stored = stored.where(_is_online(stored, [token for token in section.columns if stored.has(token)]))
    samples = _with_last(stored, context)
    item, record = samples.now.item, samples.now.record
    columns = {name: _with_sum(v, item, record) for name, v in columns_of(section, samples).items()}
    yield table(section.family, samples, columns, {"cpu": spelled(item, spell_cpu, samples.now.period)})


def interrupt_rows(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    """Interrupts per second: up to 12.5.5 of all CPUs together, later per CPU as well.

    Of a single CPU only those interrupts have rows that reached it at least once in the segment:
    most are bound to one CPU, and a large host has hundreds of CPUs times hundreds of interrupts.
    """
    if not stored.has("intr/s"):
        return
    if stored.has("name"):
        yield from _matrix(section, stored, context)
        return
    samples = pair(stored, stored.item, context.seconds)
    words = {"interrupt": spelled(samples.now.item, _spell_interrupt)}
    words["cpu"] = Texts.same("all", len(samples.now.item))
    yield table(section.family, samples, {"interrupts_per_s": samples.rate("intr/s")}, words)


def _spell_interrupt(item: object) -> str:
    return "sum" if item == 0 else str(int(str(item)) - 1)


def _matrix(section: SarSection, stored: Stored, context: Context) -> Iterator[ActivityRows]:
    names = _interrupt_names(stored)
    key = keys_of((stored.item, names.codes), stored.period)
    samples = pair(stored, key, context.seconds)
    is_sample = stored.record > 0
    names, key = names[is_sample], key[is_sample]
    rate = samples.rate("intr/s")
    item = samples.now.item
    kept = np.flatnonzero((item == 0) | _ever(rate > 0, key))
    words = {"interrupt": names[kept], "cpu": spelled(item, spell_cpu, samples.now.period)[kept]}
    numbers = {"interrupts_per_s": rate[kept]}
    yield ActivityRows(section.family, samples.now.record[kept], samples.seconds[kept], numbers, words)


def _interrupt_names(stored: Stored) -> Texts:
    """The name of each structure: only those of all CPUs (item 0), which come first in a record, hold it."""
    period, stored_names = stored.period, stored.values["name"]
    if period:
        subitems = int(stored.subitem[:period].max()) + 1
        in_record = stored_names.reshape(-1, period)[:, :subitems]
        if (in_record == in_record[:1]).all():
            first = spelled(stored_names[:subitems], spell_text)
            return first[np.tile(stored.subitem[:period], len(stored_names) // period)]
    first_of = np.searchsorted(stored.record, np.arange(stored.record.max(initial=0) + 1))
    return spelled(stored_names[first_of[stored.record] + stored.subitem], spell_text, period)


def _ever(holds: Bools, key: Ints) -> Bools:
    """For each row, whether it holds in any row of the same key."""
    ever = np.zeros(int(key.max(initial=0)) + 1, dtype=np.bool_)
    ever[key[holds]] = True
    return ever[key]
