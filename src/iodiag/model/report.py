"""The result of an analysis as plain data; every rendering is made from this alone.

The order of a class's fields is that of the keys in the JSON report (`report/json_codec.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from iodiag.model.capture import Section
from iodiag.model.finding import SEVERITIES, Confidence, Finding, Ignored, Outcome, Severity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from iodiag.model.comparison import Comparison

SCHEMA = "iodiag-report/1"
_ANY_SCHEMA = re.compile(rb'"schema"\s*:\s*"iodiag-report/')


@dataclass(frozen=True)
class UnparsedLine:
    """A line that was not understood, or that a note is about (line 0: the whole input)."""

    line: int
    text: str = ""
    reason: str = ""


@dataclass(frozen=True)
class SourceSummary:
    """One capture or context block of an input, with the lines that were not understood."""

    section: Section = field(metadata={"json_inline": True})
    unparsed: tuple[UnparsedLine, ...] = ()
    notes: tuple[UnparsedLine, ...] = ()
    ledger: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceSummary:
    """One device: what it is, and median, p95 and max of its columns over its samples.

    The p95 is of sample means, not of requests. `provenance` says where each topology fact is from.
    """

    name: str
    host: str | None
    aliases: tuple[str, ...]
    kind: str | None
    level: str | None
    members: tuple[str, ...]
    samples: int
    summary: Mapping[str, Mapping[str, float]]
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen:
    """What of its captures a report is about, as it was asked for; empty and None: all there is."""

    devices: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What a whole report says in a word, and of what; `rule` is the finding's that the sentence is about.

    `trouble`: somebody waits, and a mechanism explains it. `open`: somebody waits, and no mechanism is sure.
    `healthy`: every device with traffic was seen to answer as its class does. `elsewhere`: somebody waits,
    and not for the storage. `unknown`: the capture cannot tell.

    `asks` and `also` are parts of the headline: what to run next, and what else was found. `cost` is what the
    first device did in the samples that the finding cites; empty where it cites none of that device.
    """

    state: Literal["trouble", "open", "healthy", "elsewhere", "unknown"]
    rule: str | None = None
    devices: tuple[str, ...] = ()
    severity: Severity | None = None
    confidence: Confidence | None = None
    asks: str = ""
    also: str = ""
    cost: str = ""

    def finding(self, findings: Iterable[Finding]) -> Finding | None:
        """The one of some findings that it is about."""
        same = [finding for finding in findings if finding.rule == self.rule]
        return next((f for f in same if f.devices == self.devices), same[0] if same else None)


@dataclass(frozen=True)
class StateSummary:
    """What a device was doing in some of its samples, which need not follow each other.

    `seconds` is None where no sample's length is known; `share_of_time` is of the device's samples,
    `requests` are those counted. `lines` are those of `source` that its first, middle and last sample stand
    on.
    """

    device: str
    host: str | None
    samples: int
    seconds: float | None
    share_of_time: float
    requests: float
    direction: str
    size_kb: float | None
    per_s: float | None
    in_flight: float | None
    latency_ms: float | None
    busy_pct: float | None
    text: str
    source: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class HostTable:
    """What a host did as a whole: median, p95 and max of the columns of one table over its samples.

    `name` is cpu, tasks, memory, swap or totals; the last sums over the `devices` that stand on no other
    listed one. `is_average`: there is only an average since boot or of a run.
    """

    name: str
    host: str | None
    samples: int
    summary: Mapping[str, Mapping[str, float]]
    devices: tuple[str, ...] = ()
    is_average: bool = False


@dataclass(frozen=True)
class PhaseSummary:
    """What a device did in one phase of a text: reports under the same words, such as "Before:".

    `phase` counts from 0 in `source`; `label` is what the text calls it, empty where it has no name.
    `seconds` is None where the length of a sample is unknown. `means` are by canonical column, weighted as
    the registry of columns says.
    """

    device: str
    host: str | None
    source: str
    phase: int
    label: str
    samples: int
    seconds: float | None
    means: Mapping[str, float]


@dataclass(frozen=True)
class KernelEvent:
    """A line of the kernel's log that says that something happened to a device ("" where it names none).

    `time` is None where only a boot clock, or no year, is known; `stamp` is what the line states.
    """

    device: str
    host: str | None
    time: str | None
    stamp: str
    kind: str
    text: str
    source: str
    line: int


@dataclass(frozen=True)
class MeasuredLatency:
    """What a tool (`kind`) measured of single requests of a device ("": it names none), in its own time.

    Percentiles are of requests, not of samples. Where `is_bucket` they are the upper edges of a histogram's
    buckets. `requests_of` says which requests, where not all. None: not known, or of too few requests.
    """

    device: str
    host: str | None
    kind: str
    requests_of: str
    requests: float | None
    mean_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    slowest_ms: float | None
    is_bucket: bool
    text: str
    source: str
    line: int


class Thinned(Mapping[str, tuple[float, ...]]):
    """Columns of arrays as tuples, each made when it is asked for: what draws no charts needs none."""

    def __init__(self, columns: Mapping[str, npt.NDArray[np.float64]]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> tuple[float, ...]:
        return tuple(self._columns[name].tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True)
class Series:
    """A device's (or the CPU's) samples, thinned, for the charts.

    `position` counts the samples (0-based, the same count as `Finding.samples`); `time` is epoch
    seconds where the capture has clocks, else empty. NaN marks a value the source lacks.

    `typical` has a number for a column of a device: the mean of its requests for a latency, for others the
    median, of all samples between those of the verdict's finding, or of those that it cites where all of
    them are listed. Without a finding it is of the samples with work.
    """

    name: str
    host: str | None
    position: tuple[int, ...]
    time: tuple[float, ...]
    columns: Mapping[str, tuple[float, ...]]
    typical: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceActivity:
    """The largest value of a column in stretches of equal length, the same ones for all devices of a host.

    `start` and `end` bound them: epoch seconds, or numbers of samples from 0 where `has_clock` is false.
    NaN: no sample in that stretch. Only hosts with many devices have it.
    """

    device: str
    host: str | None
    column: str
    has_clock: bool
    start: float
    end: float
    peaks: tuple[float, ...]


@dataclass(frozen=True)
class Report:
    """Everything a report shows. `headline` is one sentence: what holds this host back.

    `ignored` are findings that the configuration takes out: they are listed, and count for nothing.
    `thresholds` are those in force, `changed_thresholds` those of them that are not their rules' defaults.
    `names` are what captures call their things in one word each, so that a sentence can be told to hold one.
    `rule_texts` say of each rule with a finding what it detects, why that matters and when it is wrong.

    With a `comparison` it is the analysis of the later side, and the headline says what moved.
    """

    schema: str = field(default=SCHEMA, kw_only=True)
    iodiag: str
    generated: str
    headline: str = ""
    verdict: Verdict | None = field(default=None, kw_only=True)
    states: tuple[StateSummary, ...] = field(default=(), kw_only=True)
    host_tables: tuple[HostTable, ...] = field(default=(), kw_only=True)
    phases: tuple[PhaseSummary, ...] = field(default=(), kw_only=True)
    events: tuple[KernelEvent, ...] = field(default=(), kw_only=True)
    latencies: tuple[MeasuredLatency, ...] = field(default=(), kw_only=True)
    activity: tuple[DeviceActivity, ...] = field(default=(), kw_only=True)
    timezone: str | None = field(default=None, kw_only=True)
    chosen: Chosen = field(default=Chosen(), kw_only=True)
    sources: tuple[SourceSummary, ...] = ()
    devices: tuple[DeviceSummary, ...] = ()
    findings: tuple[Finding, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    changed_thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict, kw_only=True)
    rule_texts: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    series: tuple[Series, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    comparison: Comparison | None = field(default=None, metadata={"json_omit_none": True})
    names: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def hosts(self) -> list[str]:
        """Host names, in the order of their first appearance."""
        named = [summary.section.host for summary in self.sources if summary.section.host]
        return list(dict.fromkeys(named))

    def worst(self) -> str | None:
        """The highest severity among the findings, or None without findings."""
        present = {finding.severity for finding in self.findings}
        return next((s for s in reversed(SEVERITIES) if s in present), None)

    def is_undated(self, finding: Finding) -> bool:
        """Whether a finding states no time and its first evidence is a listing's, beside dated samples.

        A listing such as /proc/mdstat may be older or newer than the samples beside it; in one input with
        captures of at most a day it is of that day.
        """
        sections = [summary.section for summary in self.sources]
        captures = [section for section in sections if not section.is_context]
        if finding.start is not None or finding.samples or not any(section.start for section in captures):
            return False
        listings = {section.source for section in sections if section.is_context and not section.reports}
        listings -= {section.source for section in captures if not _is_long(section)}
        first = next((e.source for e in finding.evidence if e.weighs == "for"), "")
        return first in listings if first else bool(listings)

    def as_dict(self) -> dict[str, Any]:
        """The JSON report as plain data."""
        from iodiag.report.as_json import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The report as JSON."""
        from iodiag.report.as_json import render

        return render(self)

    def to_sarif(self) -> str:
        """The findings as SARIF 2.1.0, for pipelines."""
        from iodiag.report.as_sarif import render

        return render(self)

    def to_markdown(self, full: bool = False) -> str:
        """The report as Markdown: what a reader needs first, or in `full` everything."""
        from iodiag.report.as_markdown import render

        return render(self, full=full)

    def to_ticket(self) -> str:
        """The report as text of less than 4 kB, to paste into a ticket or a mail."""
        from iodiag.report.as_ticket import render

        return render(self)

    def to_html(self, rule_pages: str = "") -> str:
        """The report as one self-contained HTML page with charts.

        With the address `rule_pages` each rule's id leads to its page below it.
        """
        from iodiag.report.as_html import render

        return render(self, rule_pages=rule_pages)


def _is_long(section: Section) -> bool:
    """Whether a capture covers more than a day, which has 25 hours where summer time ends."""
    try:
        length = datetime.fromisoformat(section.end or "") - datetime.fromisoformat(section.start or "")
    except (ValueError, TypeError):
        return False
    return length > timedelta(hours=25)


def is_report(data: bytes) -> bool:
    """Whether the bytes of an input are a JSON report of any schema, broken ones included."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{") or not _ANY_SCHEMA.search(data):
        return False
    try:
        return str(json.loads(data).get("schema")).startswith("iodiag-report/")
    except (ValueError, RecursionError):
        return True
