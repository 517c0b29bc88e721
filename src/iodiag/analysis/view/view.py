"""What a rule sees of one host: clean samples with derived columns, topology and outside facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from iodiag.model.capture import Fact
from iodiag.model.topology import Device, DeviceTopology
from iodiag.table.result_cache import cached
from iodiag.table.table import Mask, Table, numbered

if TYPE_CHECKING:
    import pandas as pd

SEGMENTS, REPORTS = 100_000, 10_000_000
"""More than a source has segments, and a segment reports: what numbers of them are multiplied by."""

IDLE_IOS_PER_S = 5.0
IDLE_KB_PER_S = 256.0
"""Below both a device is idle: nothing is concluded from its latency or its use."""


@dataclass(frozen=True, eq=False)
class DeviceSeries:
    """One device's samples, in order, and what the topology knows of it.

    `samples` holds the disk table's columns and those that request_columns adds: util (0..1, may
    exceed 1), depth, busy_depth and busy_ios_per_s (while the device was not empty), latency_ms,
    read_size_kb, write_size_kb, is_util_trusted, doubtful_util_pct (as printed, where latencies refute
    it), void_util_pct (as printed, where next to nothing was in flight), held_besides (1 where its counters
    hold a request that never completes), is_idle, stream, sample. What several rules derive from a device is
    `@cached` on it.
    """

    name: str
    samples: Table = field(repr=False)
    device: Device | None
    topology: DeviceTopology = field(repr=False)

    @property
    def frame(self) -> pd.DataFrame:
        """All samples as a DataFrame."""
        return self.samples.frame

    @cached_property
    def loaded(self) -> Table:
        """The samples in which the device was not idle."""
        is_idle: Mask = self.samples["is_idle"]
        return self.samples[~is_idle]

    @cached_property
    def leaves(self) -> tuple[Device, ...]:
        """The disks at the bottom, where the topology knows them."""
        return self.topology.leaves(self.name) if self.device else ()

    @cached_property
    def disks(self) -> int | None:
        """On how many disks the device stands; None when nothing says so."""
        if self.device is None or (not self.device.members and self.device.kind in ("lvm", "dm", "md", None)):
            return None
        return max(1, len(self.leaves))

    @cached_property
    def rotational(self) -> bool | None:
        """Whether it stands on spinning disks: from sysfs or lsblk, of itself or of its disks."""
        # the kernel says of every volume of ZFS that it does not spin
        known = [
            leaf.rotational
            for leaf in self.leaves
            if leaf.rotational is not None and not leaf.name.startswith("zd")
        ]
        if known:
            return any(known)
        if self.device is not None and self.device.rotational is not None and not self.name.startswith("zd"):
            return self.device.rotational
        return False if self.name.startswith("nvme") else None

    @cached_property
    def rotational_origin(self) -> str:
        """Where `rotational` is from, for evidence; empty when it is unknown."""
        for device in (*self.leaves, *([self.device] if self.device else [])):
            if device.rotational is not None:
                return device.provenance.get("rotational", "the topology")
        return "its name (nvme)" if self.name.startswith("nvme") else ""

    @property
    def is_stacked(self) -> bool:
        """Whether it is a device that others stand under: md, device-mapper, multipath, bcache, drbd."""
        if self.device is not None and self.device.kind in ("md", "lvm", "dm", "multipath", "crypt"):
            return True
        return self.name.startswith(("dm-", "md", "bcache", "drbd", "zd")) or (
            self.device is not None and bool(self.device.members)
        )

    @cached_property
    def is_untimed(self) -> bool:
        """Whether it serves requests and its columns of times are printed as zeros: md counts none."""
        timed = np.concatenate([self.samples.floats(column) for column in ("latency_ms", "depth", "util")])
        has_io = bool((self.samples.floats("ios_per_s") > 0).any())
        return has_io and bool((timed == 0).any()) and not (timed > 0).any()


@dataclass(frozen=True, eq=False)
class View:
    """One host's tables as rules see them: no since-boot rows, no averages, no group lines.

    `kernel_origin` is the input and line that state the kernel, as `Device.provenance` has them.
    `average_only` names the tables that had nothing but since-boot rows or averages, and show those:
    findings from them are capped. `cpus` and `kernel` are None where no banner or option tells, nor,
    of CPUs, a list of each. `left_out` are the disk samples that cannot be true, with the reason in
    `anomaly`; `odd_cpu` the CPU rows whose shares are far from adding up; `wrapped` the rows of other
    tables, as printed, with a rate that a counter below zero makes, which is NaN in `tables`;
    `since_boot` the rows of each table that were excluded as averages since boot. `samples_by_device` are
    the devices' samples.
    """

    host: str | None
    tables: Mapping[str, Table] = field(repr=False)
    topology: DeviceTopology = field(repr=False)
    facts: tuple[Fact, ...] = ()
    cpus: int | None = None
    kernel: str | None = None
    kernel_origin: str = ""
    average_only: frozenset[str] = frozenset()
    left_out: Table | None = field(default=None, repr=False)
    odd_cpu: Table | None = field(default=None, repr=False)
    wrapped: Mapping[str, Table] = field(default_factory=dict, repr=False)
    since_boot: Mapping[str, Table] = field(default_factory=dict, repr=False)
    samples_by_device: Mapping[str, Table] = field(default_factory=dict, repr=False)

    def samples(self, name: str) -> Table | None:
        """A table, or None when the capture has none of its rows."""
        found = self.tables.get(name)
        return found if found is not None and len(found) else None

    def table(self, name: str) -> pd.DataFrame | None:
        """The same as a DataFrame."""
        found = self.samples(name)
        return None if found is None else found.frame

    @cached
    def has(self, table: str, column: str) -> bool:
        """Whether any row of a table has a value in a column."""
        # each device's rows lie together, those of the whole table would have to be gathered
        parts = self.samples_by_device.values() if table == "disk" else (self.tables[table],)
        return any(part.has(column) for part in parts)

    @cached_property
    def devices(self) -> tuple[DeviceSeries, ...]:
        """Every device with samples, in the order of their first appearance."""
        return tuple(
            DeviceSeries(name, part, self.topology.find(name), self.topology)
            for name, part in self.samples_by_device.items()
        )

    @cached_property
    def _by_name(self) -> dict[str, DeviceSeries]:
        return {series.name: series for series in self.devices}

    def series(self, name: str) -> DeviceSeries | None:
        """A device's samples by any of its names."""
        return self._by_name.get(name) or self._by_name.get(self.topology.canonical(name))

    def members(self, series: DeviceSeries) -> tuple[DeviceSeries, ...]:
        """The samples of the devices it stands on directly, where the topology and the tables know them."""
        found = (self.series(member) for member in (series.device.members if series.device else ()))
        return tuple(member for member in found if member is not None)

    def arrays(self) -> Iterator[tuple[DeviceSeries, tuple[DeviceSeries, ...]]]:
        """Devices with samples that stand on two or more members with samples."""
        for series in self.devices:
            members = self.members(series)
            if len(members) >= 2:
                yield series, members

    def facts_of(self, *kinds: str) -> tuple[Fact, ...]:
        """Outside facts of the given kinds, in the order of the inputs."""
        return tuple(fact for fact in self.facts if fact.kind in kinds)

    def cpu_at(self, rows: Table) -> Table | None:
        """The host's CPU samples of the same reports as `rows`; of the same run when none are the same.

        Reports are the same when source, segment and report number are; vmstat beside iostat is
        a different source, and then what it captured of that run stands for the window. Samples of iostat
        in a later report than all devices do not: it prints the CPU above them, and those are lost. Nor do
        averages, of which only those of the same report are told.
        """
        cpu = self.cpu_all
        if cpu is None:
            return None
        same = same_reports(cpu, rows)
        if same.any():
            return cpu[same]
        if self.has_only_cpu_averages:
            return None
        window = cpu[~self._is_without_devices(cpu)]
        return self.of_same_run(window, rows) if len(window) else None

    def of_same_run(self, samples: Table, rows: Table) -> Table:
        """Those of a table's samples that are of the same runs as `rows` of another table of the same text.

        A text with the runs of one tool below those of another (vmstat a and b, then iostat a and b) has as
        many phases of either: the first is of the first. All samples where it is not like that.
        """
        if "phase" not in samples or "phase" not in rows:
            return samples
        own, wanted = np.unique(samples.floats("phase")), np.unique(rows.floats("phase"))
        texts = {*samples["source"].distinct(), *rows["source"].distinct()}
        for table in self.tables.values() if len(own) > 1 and len(texts) == 1 else ():
            runs = np.unique(table.floats("phase")) if "phase" in table else own
            if len(runs) == len(own) and np.isin(wanted, runs).all() and not np.isin(runs, own).any():
                found = np.isin(samples.floats("phase"), own[np.isin(runs, wanted)])
                return samples[found]
        return samples

    def _is_without_devices(self, cpu: Table) -> Mask:
        """Which samples iostat printed at the end of a text, whose devices are lost."""
        result = np.zeros(len(cpu), dtype=np.bool_)
        disk = self.samples("disk")
        # vmstat, which counts its own reports, has no share of niced work
        if disk is None or "nice_pct" not in cpu:
            return result
        for stream in np.unique(cpu["stream"]):
            devices = disk["report"][disk["stream"] == stream]
            if len(devices):
                result |= (cpu["stream"] == stream) & (cpu["report"] > devices.max())
        return result & ~np.isnan(cpu.floats("nice_pct"))

    @cached_property
    def cpu_all(self) -> Table | None:
        """The samples of the CPU `all`, or None."""
        cpu = self.samples("cpu")
        if cpu is None:
            return None
        found = cpu[np.asarray(cpu["cpu"] == "all")]
        return found if len(found) else None

    @property
    def has_only_cpu_averages(self) -> bool:
        """Whether all that the capture has of the CPUs are averages since boot or over a run."""
        return "cpu" in self.average_only

    @property
    def cpu_samples(self) -> Table | None:
        """As `cpu_all`, but None where it holds averages: they say nothing of any moment."""
        return None if self.has_only_cpu_averages else self.cpu_all


def same_reports(samples: Table, others: Table) -> Mask:
    """Which samples are of a report that `others` are of, too: source, segment and report are the same."""
    own, wanted = report_numbers(samples, others)
    return np.isin(own, wanted)


def report_numbers(*tables: Table) -> list[npt.NDArray[np.int64]]:
    """Per sample of each table a number that is the same in all tables for samples of one report."""
    numbers: dict[str, int] = {}
    keys = []
    for one in tables:
        codes, names = numbered(one["source"])
        own = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
        keys.append((own[codes] * SEGMENTS + one["segment"]) * REPORTS + one["report"])
    return keys
