"""What a rule says: findings with evidence, and outcomes for everything that is not a finding.

The order of a class's fields is that of the keys in the JSON report (`report/json_codec.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["critical", "warning", "notice", "info"]
Confidence = Literal["high", "medium", "low"]
Role = Literal["symptom", "cause", "reading", "elsewhere", "context"]
Status = Literal["finding", "clear", "undetermined", "not_applicable", "error"]

ROLES: dict[Role, str] = {
    "symptom": "it measures who waits, whatever the cause",
    "cause": "it names a mechanism",
    "reading": "it says how to read the numbers of the capture",
    "elsewhere": "it shows a cause outside the storage",
    "context": "it says what only looks wrong, or what to know beside the findings",
}
"""What the findings of a rule are, by its role."""

HARMLESS: tuple[Role, ...] = ("reading", "context")
"""Roles of rules whose findings name no trouble of the host."""

PictureKind = Literal["stack", "peers", "ladder", "cpu"]
"""What explains a finding: the layers' traffic, peers side by side, load levels, the CPU left over."""

SEVERITIES: tuple[Severity, ...] = ("info", "notice", "warning", "critical")
"""Harm, rising: reading advice; an inefficiency; a real cost with a remedy; work stands still."""

CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(frozen=True)
class Quote:
    """One row of an input, word for word, and the header line that names its columns ("" where none does).

    A row that was wrapped over several lines is one line here; `line` is that of its values.
    """

    source: str
    line: int
    text: str = ""
    header: str = ""


_LEAD = re.compile(r"\s*(?:(?:[>|*]+|<\w{1,20}>)\s+)*")


def cells(text: str) -> list[str]:
    """The words of a quoted line, without what mail and notes put before it (`>`, `|`, `*`, `<KEY>`)."""
    return _LEAD.sub("", text, count=1).split()


@dataclass(frozen=True)
class Evidence:
    """One fact behind a finding.

    `text` is the sentence; every number in it stands in `values` under a plain name. `lines`
    are the lines (bytes of a binary file) of `source` that the numbers rest on: all of them up
    to a stated cap, `rows` being how many there are. `quotes` shows up to three of them.
    `weighs` is `for`, `against` or `context`: evidence against a finding is printed too.
    """

    text: str
    values: Mapping[str, float | str] = field(default_factory=dict)
    source: str = ""
    lines: tuple[int, ...] = ()
    rows: int = 0
    quotes: tuple[Quote, ...] = ()
    weighs: Literal["for", "against", "context"] = "for"


@dataclass(frozen=True)
class Edge:
    """What a device asks of one that it stands on: column → mean over a finding's samples.

    `upper` None is all that comes from above. What several devices ask of one cannot be told apart:
    such an edge has no means where none of them asks only this one.
    """

    upper: str | None
    lower: str
    means: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Move:
    """A column of another table or device that stepped in a finding's samples, and hardly by chance.

    `table` and `quantity` are names of tables and columns; `name` is the device, interface or mount, empty
    where the table has one row per report. `beside` and `during` are its medians right beside the samples
    and in them, `size` the step in scatters of its steps elsewhere in the capture.
    """

    table: str
    name: str
    quantity: str
    beside: float
    during: float
    size: float


@dataclass(frozen=True)
class Finding:
    """A rule's verdict on some devices over some samples.

    `samples` are the first and last index into the samples of the first device (the rows of
    its series, 0-based). `refutes` says what would prove the finding wrong; `cannot_know` what
    the counters do not tell. `supersedes` names the rules whose findings on the same devices
    it replaced (`Rule.replaces`). `role` is its rule's; None in a report that was stored without.
    `pictures` are the charts that it asks for beside its samples over time; `peers` the devices that it
    compares its own with, `edges` the traffic through its devices' stack, for them. `moved` is what else
    stepped in its samples, where they are a part of a longer capture.
    """

    rule: str
    role: Role | None = field(default=None, kw_only=True)
    severity: Severity
    confidence: Confidence
    devices: tuple[str, ...] = field(default=(), kw_only=True)
    host: str | None = field(default=None, kw_only=True)
    start: str | None = field(default=None, kw_only=True)
    end: str | None = field(default=None, kw_only=True)
    samples: tuple[int, int] | None = field(default=None, kw_only=True)
    title: str
    summary: str = ""
    evidence: tuple[Evidence, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    remedy: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()
    cannot_know: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    explained_by: str | None = None
    pictures: tuple[PictureKind, ...] = ()
    peers: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    moved: tuple[Move, ...] = ()

    def cited_samples(self) -> tuple[str, frozenset[int]]:
        """The input and all lines that its first evidence rests on; no lines where some are not listed."""
        first = next((e for e in self.evidence if e.weighs == "for"), Evidence(""))
        return first.source, frozenset(first.lines if len(first.lines) == first.rows else ())


def by_harm(finding: Finding) -> tuple[bool, int, bool, bool, int]:
    """The key that puts the most harmful first, causes before effects, readings of the numbers last."""
    return (
        finding.role in HARMLESS,
        -SEVERITIES.index(finding.severity),
        finding.explained_by is not None,
        finding.role != "cause",
        -CONFIDENCES.index(finding.confidence),
    )


@dataclass(frozen=True)
class Ignore:
    """Findings that somebody has decided to live with, and why.

    `device` and `host` are names, or patterns as a shell has them (`sd*`); None is any.
    """

    rule: str
    reason: str
    device: str | None = None
    host: str | None = None


@dataclass(frozen=True)
class Ignored:
    """A finding that an `Ignore` took out of the list, with its reason."""

    reason: str
    finding: Finding


@dataclass(frozen=True)
class Outcome:
    """What became of one rule on some devices, finding or not."""

    rule: str
    status: Status
    devices: tuple[str, ...] = ()
    reason: str = ""
    missing: tuple[str, ...] = ()
    host: str | None = None
