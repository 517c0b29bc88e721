"""What a change moved: everything that both sides show, quantity by quantity, and the findings' fates.

The order of a class's fields is that of the keys in the JSON report (`report/json_codec.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from iodiag.model.finding import Confidence, Evidence, Severity

if TYPE_CHECKING:
    from iodiag.model.report import Report

ChangeVerdict = Literal[
    "changed", "minor", "unchanged", "bunched", "indicated", "unclear", "negligible", "appeared", "ceased"
]
"""What is said of one quantity.

`changed`: the interval leaves out "no change", and the change is large enough to count. `minor`: the
interval leaves it out, but the change is small. `unchanged`: nothing could be detected. `bunched`:
it differs while there is load, yet not over the whole time: the same work in other portions.
`indicated`: too few samples for an interval, but no value of one side is among those of the other.
`unclear`: too few samples, and not told apart. `negligible`: next to nothing on either side.
`appeared` and `ceased`: none at all on one side.
"""

Shift = Literal[
    "faster",
    "slower",
    "capacity_loss",
    "more_load",
    "less_load",
    "workload",
    "unchanged",
    "mixed",
    "unknown",
]
"""How rate, requests in flight and latency moved together.

More or less load moves rate and depth alike; a faster or slower device moves the latency without the
depth, or against the rate; `workload` says that the requests themselves are of another size or
direction; `mixed` that the three tell no single story, `unknown` that one of them is missing.
"""

Kind = Literal["device", "cpu", "host", "application"]
Fate = Literal["went", "came", "stayed"]


@dataclass(frozen=True)
class Change:
    """One quantity on both sides.

    `quantity` is a column of the registry (or an application's own name for it). `ratio` is after
    over before, NaN where one side is zero; `low` and `high` its 95 % interval, NaN with too few
    samples. `detectable_pct` is the smallest change that samples like these would show in four
    cases of five. `samples` are those of each side; `overall` the values with the idle samples
    between the loaded ones counted in, where that differs.
    """

    quantity: str
    before: float
    after: float
    ratio: float = field(default=math.nan, kw_only=True)
    low: float = field(default=math.nan, kw_only=True)
    high: float = field(default=math.nan, kw_only=True)
    verdict: ChangeVerdict
    confidence: Confidence
    detectable_pct: float = field(default=math.nan, kw_only=True)
    samples: tuple[int, int]
    overall: tuple[float, float] | None = None

    @property
    def is_change(self) -> bool:
        """Whether the two sides differ by enough to speak of, as far as their samples tell."""
        return self.verdict in ("changed", "indicated", "appeared", "ceased")


@dataclass(frozen=True)
class MatchedLoad:
    """Requests of one direction and size at a like depth, found on both sides.

    `direction` is `read`, `write` or `request` (where the source mixes them); sizes, depths and the
    number of requests are those before and after.
    """

    direction: str
    size_kb: tuple[float, float]
    queue_depth: tuple[float, float]
    requests: tuple[float, float]
    latency: Change
    rate: Change


@dataclass(frozen=True)
class Subject:
    """One thing that both sides show: a device, a host's processors, an application's own measure.

    Where no device can be compared, `host` stands for its tasks and paging.

    `basis` says why the two were taken for one. `reading` says in one sentence what the numbers
    mean together; `evidence` has the rows that they rest on, before and after. `at_matched_load`
    combines the `matched` loads of each direction. `is_part` says that it stands
    below another device that works, `share` which part of its host's work it carries, the larger of
    the two sides.
    """

    kind: Kind
    before: str
    after: str
    host_before: str | None = None
    host_after: str | None = None
    basis: str = ""
    is_part: bool = False
    share: float = math.nan
    shift: Shift = "unknown"
    reading: Evidence | None = None
    changes: tuple[Change, ...] = ()
    at_matched_load: tuple[Change, ...] = ()
    matched: tuple[MatchedLoad, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    remarks: tuple[str, ...] = ()

    def change(self, quantity: str) -> Change | None:
        """The change of a quantity, or None where it was not compared."""
        return next((change for change in self.changes if change.quantity == quantity), None)


@dataclass(frozen=True)
class FindingChange:
    """What became of one finding: it went, came, or stayed.

    Severity and confidence are None on the side without it. `is_judged` says whether its rule
    looked on that side and found nothing; else `reason` says why it could not.
    """

    fate: Fate
    rule: str
    title: str = ""
    host: str | None = None
    devices: tuple[str, ...] = ()
    severity_before: Severity | None = None
    severity_after: Severity | None = None
    confidence_before: Confidence | None = None
    confidence_after: Confidence | None = None
    is_judged: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """What differs between two analyses. The report that carries it is the analysis of after.

    `before` is the whole analysis of the other side, `verdict` the headline with its numbers and
    `confidence` that of the surest change in it. `subjects` come with the most telling first.
    `settings` are those that the two sides state differently; `uncompared` says in sentences what
    stands on one side alone. `limits` are the numbers that decided what counts as a change.
    """

    verdict: Evidence = field(default_factory=lambda: Evidence(""), kw_only=True)
    confidence: Confidence = field(default="low", kw_only=True)
    subjects: tuple[Subject, ...] = field(default=(), kw_only=True)
    findings: tuple[FindingChange, ...] = field(default=(), kw_only=True)
    settings: tuple[Evidence, ...] = field(default=(), kw_only=True)
    uncompared: tuple[str, ...] = field(default=(), kw_only=True)
    limits: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    before: Report
