"""Of a text with several runs the worst: what the rules find on it, and what the others did beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from iodiag.analysis.host.runs import Run, beside, runs
from iodiag.analysis.view.view import View
from iodiag.model.capture import Source
from iodiag.model.finding import SEVERITIES, Finding, Outcome
from iodiag.model.report import Verdict
from iodiag.model.rule import Rule
from iodiag.rules.engine import run, with_quotes
from iodiag.verdict.verdict import verdict


class Ran(NamedTuple):
    """What the rules found on a host, or on the worst run of its text, and a `note` on its runs."""

    findings: Sequence[Finding]
    outcomes: Sequence[Outcome]
    note: str = ""


def worst_run(
    view: View,
    rules: Sequence[Rule],
    changed: Mapping[str, Mapping[str, float]],
    sources: Mapping[str, Source],
) -> tuple[View, Ran]:
    """The worst run of a host's text, as the host, with what the rules found; else all of it.

    Its first finding has what the other runs did beside it.
    """
    found = [(part, *run(rules, part.view, changed, sources)) for part in runs(view)]
    if not found:
        return view, Ran(*run(rules, view, changed, sources))
    own = max(found, key=lambda one: (*_badness(one[1], one[0].view), one[0].waiting))
    others = [one for one in found if one is not own]
    told = with_quotes(tuple(beside(own[0], other) for other, *_ in others), sources)
    note = f" This is the run {own[0].name}" + "".join(f"; {item.text}" for item in told[:1])
    note += f"; {len(told) - 1} more are told below." if len(told) > 1 else "."
    first = [replace(one, evidence=(*one.evidence, *told)) for one in own[1][:1]]
    findings = [*first, *own[1][1:], *_of_others(own[1], others)]
    return own[0].view, Ran(findings, [*_of_all(own[2], others)], note)


_STATES = ("healthy", "unknown", "elsewhere", "open", "trouble")


def _badness(findings: Sequence[Finding], view: View) -> tuple[bool, int, int]:
    """How bad a run is by its verdict: whether storage is waited for, by severity, then by state."""
    said, _ = verdict(findings, [view])
    severity = SEVERITIES.index(said.severity) if said.severity else -1
    return said.state in ("open", "trouble"), severity, _STATES.index(said.state)


_Found = tuple[Run, Sequence[Finding], Sequence[Outcome]]


def _of_others(own: Sequence[Finding], others: Sequence[_Found]) -> Iterator[Finding]:
    """The findings of the other runs by rules that found nothing in this one, or nothing as severe."""
    known: dict[str, int] = {}
    for one in own:
        known[one.rule] = max(known.get(one.rule, -1), SEVERITIES.index(one.severity))
    for other, findings, _ in others:
        # that CPUs were full in another run is nothing against tasks that wait in this one
        here = [one for one in findings if one.role != "elsewhere"]
        new = [one for one in here if SEVERITIES.index(one.severity) > known.get(one.rule, -1)]
        yield from (replace(one, summary=f"In the run {other.name}: {one.summary}") for one in new)


def _of_all(own: Sequence[Outcome], others: Sequence[_Found]) -> Iterator[Outcome]:
    """The outcomes of a run, and the findings of the others; clear is what no other run leaves open."""
    of_others = [one for _, _, outcomes in others for one in outcomes]
    known = {one.rule for one in own if one.status == "finding"}
    found = {one.rule: one for one in of_others if one.status == "finding" and one.rule not in known}
    left_open = {one.rule: one for one in of_others if one.status == "undetermined"}
    for one in own:
        if one.rule not in found:
            yield left_open.get(one.rule, one) if one.status == "clear" else one
    yield from found.values()


def with_notes(headline: str, said: Verdict, ran: Sequence[Ran]) -> str:
    """A verdict's sentence with the notes on runs, above what to run next."""
    before, asks, after = headline.partition(f" {said.asks}") if said.asks else (headline, "", "")
    return before + "".join(one.note for one in ran) + asks + after
