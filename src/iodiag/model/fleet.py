"""What a fleet report says: plain data about many hosts over many days; every rendering is made from it.

Days are ISO dates as text. Lists are cut at the caps that `Totals` and `left_out` fields count, so that
the report of ten thousand hosts stays readable; the Parquet tables hold the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from iodiag.model.finding import Confidence, Severity

SCHEMA = "iodiag-fleet/1"

CellState = Literal["found", "clear", "unjudged"]


@dataclass(frozen=True)
class HarmedHost:
    """One host, by its leading trouble: the one that adds most to its harm.

    `others` are its other troubles, the most harmful first; the other fields are those of `AffectedHost`.
    """

    host: str
    harm: float
    rule: str
    severity: Severity
    confidence: Confidence
    title: str
    devices: tuple[str, ...]
    since: str
    last: str
    is_older: bool
    days: int
    days_read: int
    in_undated: bool = False
    change: int | None = None
    others: tuple[str, ...] = ()
    evidence: str = ""
    address: str = ""
    day: str = ""
    report: str = ""


@dataclass(frozen=True)
class AffectedHost:
    """One host with one trouble.

    `since` is the first day of the unbroken run of days that ends with the trouble's last day;
    `is_older` says that this is the host's first day with data, so that it may have begun before.
    `days` counts the days with the trouble, `days_read` those with data. Captures without a date, and
    listings without one beside dated samples, are no day: what was found in nothing else is since `undated`
    on 0 days; `in_undated` says that it was found in them. `change` is the number (from 1) of the common
    change that the trouble began in. `evidence` is from the worst day, whose report is `report`, an address
    relative to the fleet report ("" where there is none).
    """

    host: str
    harm: float
    severity: Severity
    confidence: Confidence
    devices: tuple[str, ...]
    since: str
    last: str
    is_older: bool
    days: int
    days_read: int
    in_undated: bool = False
    change: int | None = None
    evidence: str = ""
    address: str = ""
    day: str = ""
    report: str = ""


@dataclass(frozen=True)
class Trouble:
    """One rule over the whole fleet: on how many of the hosts that it could judge, since when.

    `hosts_hurt` are those with a `warning` or worse. `first` and `last` are the days on which it was found,
    `since` is the earliest `since` of its hosts, of those alone that have it on the last day where there are
    any, with the `is_older` of that host. `affected` are the hosts, the worst first; `title`, `remedy` and
    `confirm` are those of the finding on the worst.
    """

    rule: str
    severity: Severity
    hosts: int
    hosts_hurt: int
    hosts_judged: int
    host_days: int
    first: str
    last: str
    harm: float
    since: str = ""
    is_older: bool = False
    title: str = ""
    remedy: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    affected: tuple[AffectedHost, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One rule on one host: found on so many days with its worst severity, clear, or never judged."""

    state: CellState
    severity: Severity | None = None
    days: int = 0


@dataclass(frozen=True)
class MatrixRow:
    """One host of the matrix, a cell for each of its rules."""

    host: str
    cells: tuple[Cell, ...]
    report: str = ""


@dataclass(frozen=True)
class Matrix:
    """The most harmful rules against the most harmed hosts."""

    rules: tuple[str, ...] = ()
    rows: tuple[MatrixRow, ...] = ()
    rules_left_out: int = 0


@dataclass(frozen=True)
class DayCell:
    """One host on one day: its worst unexplained severity, and the rules that found something then.

    `report` is the address of the host-day's page; a day without trouble has none.
    """

    state: CellState
    severity: Severity | None = None
    rules: tuple[str, ...] = ()
    report: str = ""


@dataclass(frozen=True)
class HeatmapRow:
    """One host of the heatmap, a cell for each of its days; None where it has no data."""

    host: str
    cells: tuple[DayCell | None, ...]


@dataclass(frozen=True)
class Heatmap:
    """The most harmed hosts, then the others by name, against the last days."""

    days: tuple[str, ...] = ()
    rows: tuple[HeatmapRow, ...] = ()
    days_left_out: int = 0
    hosts_left_out: int = 0


@dataclass(frozen=True)
class Beginning:
    """One rule on one kind of device that began on many hosts on one day.

    `hosts` of the `at_risk` hosts, which had been clear of it the day before; `expected` is how many
    it would be if it began as often as on the other days. `p_value` is the hypergeometric chance of so
    many or more, `q_value` the same after control of the false discoveries (Benjamini and Hochberg 1995).
    """

    rule: str
    kind: str
    severity: Severity
    hosts: int
    at_risk: int
    expected: float
    p_value: float
    q_value: float


@dataclass(frozen=True)
class Shared:
    """What the hosts of a common change share beyond chance: `value` on `hosts` of `of_hosts`.

    `elsewhere` of `of_elsewhere` are the other hosts that could have begun that day. `before` is the
    value of the day before, where it changed on that very day.
    """

    attribute: str
    value: str
    hosts: int
    of_hosts: int
    elsewhere: int
    of_elsewhere: int
    before: str | None = None


@dataclass(frozen=True)
class CommonChange:
    """Troubles that began together on many hosts: one cause is likelier than many."""

    day: str
    hosts: tuple[str, ...]
    beginnings: tuple[Beginning, ...]
    shared: tuple[Shared, ...] = ()


@dataclass(frozen=True)
class Onset:
    """A trouble that began on one host: found on `day`, clear on `before`, the last day judged."""

    host: str
    rule: str
    kind: str
    severity: Severity
    day: str
    before: str
    days: int


@dataclass(frozen=True)
class Outlier:
    """A device whose latency at its load stands out from that of its peers.

    `ratio` is its latency over what its peers would show at the same requests in flight and request
    size; `z` the robust z of its median residual. `share` of its `windows` (device, hour, direction)
    stand out by themselves. `p_value` and `q_value` are NaN in groups too small for a test.
    """

    host: str
    device: str
    direction: str
    group: str
    peers: int
    ratio: float
    z: float
    share: float
    windows: int
    latency_ms: float
    expected_ms: float
    p_value: float
    q_value: float
    confidence: Confidence
    report: str = ""


@dataclass(frozen=True)
class Departure:
    """Hours in which a device was not as it used to be at that hour and load.

    `start` and `end` are ISO times of the clock that the samples show, `hours` those in between that
    departed. `latency_ms` is in them, `baseline_ms` what the same load used to take, learned from
    `baseline_hours` hours, `basis` which of them: of the hour of the week, of the day, or the whole
    archive. `is_lasting` says that it still departed when the data ended.
    """

    host: str
    device: str
    direction: str
    start: str
    end: str
    hours: int
    ratio: float
    latency_ms: float
    baseline_ms: float
    baseline_hours: int
    basis: str
    is_lasting: bool
    report: str = ""


@dataclass(frozen=True)
class DailyWindow:
    """Hours of the day or the week in which devices of a host do several times what they usually do.

    `begin` and `end` are of the clock that the samples show, `days` says which days were counted: "days" or
    a day of the week. It stood out on `seen` of `of` of them. `value` is in those hours and `usual` what half
    of all hours show: kB/s of the `direction` where `quantity` is kb_per_s, else ms per request. `chance` is
    how many windows of this length would agree as often by chance on the host. `report` is of the last day.
    """

    host: str
    devices: tuple[str, ...]
    direction: str
    quantity: str
    begin: str
    end: str
    days: str
    seen: int
    of: int
    value: float
    usual: float
    chance: float
    report: str = ""


@dataclass(frozen=True)
class FailedInputs:
    """Inputs that could not be used, or only in part, all for one reason."""

    status: str
    reason: str
    inputs: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Unjudged:
    """A rule that never reached a verdict on some hosts, with the reason that is given most often."""

    rule: str
    hosts: int
    of_hosts: int
    reason: str


@dataclass(frozen=True)
class SilentHost:
    """A host without data on the fleet's last day."""

    host: str
    last: str


@dataclass(frozen=True)
class Totals:
    """Counts over the whole fleet, before any list was cut.

    `begun_last_day` counts troubles of hosts that began on the last day, of hosts with data before it.
    """

    hosts: int = 0
    host_days: int = 0
    first: str = ""
    last: str = ""
    findings: int = 0
    inputs: Mapping[str, int] = field(default_factory=dict)
    harmed: int = 0
    by_severity: Mapping[str, int] = field(default_factory=dict)
    onsets: int = 0
    outliers: int = 0
    departures: int = 0
    windows: int = 0
    failed: int = 0
    silent: int = 0
    changes: int = 0
    begun_last_day: int = 0


@dataclass(frozen=True)
class FleetReport:
    """Everything that the fleet report shows. No clock of the run stands in it: same data, same bytes.

    `by_severity` of the totals counts hosts by their worst unexplained finding. `remarks` say what was not
    compared and why; `limits` are the numbers that decided.
    """

    schema: str = field(default=SCHEMA, kw_only=True)
    iodiag: str
    headline: str
    totals: Totals
    hosts: tuple[HarmedHost, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    matrix: Matrix = field(default_factory=Matrix)
    heatmap: Heatmap = field(default_factory=Heatmap)
    changes: tuple[CommonChange, ...] = ()
    onsets: tuple[Onset, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    departures: tuple[Departure, ...] = ()
    windows: tuple[DailyWindow, ...] = ()
    failed: tuple[FailedInputs, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    silent: tuple[SilentHost, ...] = ()
    remarks: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The JSON report as plain data."""
        from iodiag.report.as_json import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The report as JSON."""
        from iodiag.report.as_json import render_fleet

        return render_fleet(self)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from iodiag.report.fleet.as_markdown import render

        return render(self)

    def to_html(self) -> str:
        """The report as one self-contained HTML page."""
        from iodiag.report.fleet.as_html import render

        return render(self)
