"""What a report says of a question, beside the truth."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import iodiag
from evaluation.exam.questions import Question
from evaluation.exam.truth import Truth
from iodiag.model.finding import CONFIDENCES, SEVERITIES
from iodiag.rules import all_rules

Found = Mapping[str, Any]
"""A finding of the JSON report."""

CLAIMS = frozenset({"cause", "symptom"})
"""Roles of findings that say what is wrong; others are about reading numbers, other resources, or context."""

BEGINNINGS = {"No storage trouble found": "healthy", "Not storage": "elsewhere"}
"""How headlines of reports without a verdict begin."""


@dataclass(frozen=True)
class Mark:
    """One question's marks: `said` is the first finding's rule, `named` the rules that name the trouble, and
    `wrong` the claims that are not so.
    """

    question: Question
    state: str
    headline: str
    said: str
    named: frozenset[str]
    right: int
    wrong: tuple[str, ...]
    is_wrong_first: bool
    is_warned: bool
    cleared: frozenset[str]

    @property
    def truth(self) -> Truth:
        return self.question.truth

    @property
    def is_named(self) -> bool:
        return bool(self.named)

    @property
    def is_found(self) -> bool:
        """Recall: the trouble is named, medium or surer, or rightly put elsewhere or left open."""
        if self.truth.sort == "elsewhere":
            return self.state == "elsewhere"
        return self.is_named or self.is_rightly_open

    @property
    def is_rightly_open(self) -> bool:
        """Whether the cause is left open where so few samples hide it, and the right device is named."""
        is_short = self.question.samples <= self.truth.open_up_to
        is_told = any(name in self.headline for name in self.truth.devices)
        return is_short and self.state == "open" and is_told and not self.wrong

    @property
    def is_all_clear(self) -> bool:
        return self.truth.sort == "trouble" and self.state in ("healthy", "elsewhere")

    @property
    def is_false_alarm(self) -> bool:
        return self.truth.sort == "healthy" and (self.is_warned or self.state == "trouble")

    @property
    def is_abstention(self) -> bool:
        """Nothing is claimed that is not so, nor that all is well; the truth may be guessed."""
        return self.is_named or (self.state in ("unknown", "open") and not self.wrong)

    @property
    def is_failed(self) -> bool:
        """Whether somebody should look at it."""
        if self.truth.sort == "unknowable":
            return not self.is_abstention
        if self.truth.sort in ("trouble", "elsewhere"):
            return not self.is_found or self.is_all_clear or self.is_wrong_first
        is_absent_told = bool(self.truth.absent & {*self.wrong})
        return self.is_false_alarm or self.is_wrong_first or is_absent_told


def marked(questions: Iterable[Question]) -> Iterator[Mark]:
    for question in questions:
        yield mark(question)


def mark(question: Question) -> Mark:
    """Analyse the capture as it was posted, and compare."""
    capture = iodiag.read(io.BytesIO(question.text.encode()), name="capture.txt")
    report = iodiag.analyze([capture]).as_dict()
    failed = [outcome for outcome in report["outcomes"] if outcome["status"] == "error"]
    assert not failed, failed
    truth, findings = question.truth, report["findings"]
    claims = [f for f in findings if _role(f) in CLAIMS]
    sure = [f for f in claims if _is_sure(f) and _is_at_least(f, "notice")]
    wrong = [f for f in sure if not _is_so(f, truth)]
    absent = tuple(f["rule"] for f in findings if f["rule"] in truth.absent and f not in wrong)
    first = findings[0] if findings else None
    return Mark(
        question=question,
        state=_state(report),
        headline=report["headline"],
        said=first["rule"] if first else "",
        named=frozenset(f["rule"] for f in findings if _is_sure(f) and _is_here(f, truth)) & truth.names,
        right=sum(f["rule"] in truth.names and _is_here(f, truth) for f in sure),
        wrong=(*(f["rule"] for f in wrong), *absent),
        # what is told for information is no claim that something is wrong
        is_wrong_first=first is not None
        and _role(first) in CLAIMS
        and _is_at_least(first, "notice")
        and not _is_so(first, truth),
        is_warned=any(_is_at_least(f, "warning") and _role(f) != "elsewhere" for f in findings),
        cleared=frozenset(_cleared(report["outcomes"], truth))
        - {f["rule"] for f in findings if _is_here(f, truth)},
    )


def _state(report: Found) -> str:
    """The verdict's state; of a report without a verdict, what its headline and its findings come to."""
    if "verdict" in report:
        return str(report["verdict"]["state"])
    headline = report["headline"]
    for beginning, state in BEGINNINGS.items():
        if headline.startswith(beginning):
            return state
    return "trouble" if any(_is_at_least(f, "warning") for f in report["findings"]) else "open"


def _is_sure(finding: Found) -> bool:
    return CONFIDENCES.index(finding["confidence"]) >= CONFIDENCES.index("medium")


def _is_at_least(finding: Found, severity: str) -> bool:
    return SEVERITIES.index(finding["severity"]) >= [*SEVERITIES].index(severity)  # type: ignore[arg-type]


def _is_here(finding: Found, truth: Truth) -> bool:
    return not (finding["devices"] and truth.devices) or bool(truth.devices & set(finding["devices"]))


def _is_so(finding: Found, truth: Truth) -> bool:
    return finding["rule"] in truth.also or (finding["rule"] in truth.names and _is_here(finding, truth))


def _cleared(outcomes: Iterable[Found], truth: Truth) -> Iterator[str]:
    """Rules that are clear on the device although their trouble is there."""
    for outcome in outcomes:
        if outcome["status"] == "clear" and outcome["rule"] in truth.present and _is_here(outcome, truth):
            yield outcome["rule"]


def _role(finding: Found) -> str:
    """What a finding is for; where the report does not say, the folder that its rule stands in does."""
    return str(finding["role"]) if "role" in finding else _folders().get(finding["rule"], "cause")


@cache
def _folders() -> Mapping[str, str]:
    """The role of each rule: `iodiag.rules.causes.…` is a cause."""
    words = {"causes": "cause", "symptoms": "symptom", "readings": "reading"}
    folders = {rule.id: rule.detect.__module__.split(".")[2] for rule in all_rules().values()}
    return {rule: words.get(folder, folder) for rule, folder in folders.items()}
