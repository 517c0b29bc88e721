"""One sentence that says what holds the host back, or plainly that nothing does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import say
from iodiag.analysis.view.view import View
from iodiag.model.finding import SEVERITIES, Finding, Outcome, Severity
from iodiag.model.rule import Rule

SINCE_BOOT = "first-report-since-boot"
"""The reading that is the verdict where a capture holds nothing but averages since boot."""

TOO_LONG = "interval-too-long"
"""The reading that limits an all-clear: samples so long hide bursts."""

_NO_CAUSE = " No rule could name the cause."

BUSY_CPU, STOLEN_CPU = 90.0, 10.0
"""Shares of CPU time (in per cent) from which a host is bound by its CPUs, or by its hypervisor."""


def headline(
    findings: Sequence[Finding],
    outcomes: Sequence[Outcome],
    views: Sequence[View],
    rules: Iterable[Rule],
    ignored: int = 0,
) -> str:
    """The verdict of a whole report: the gravest cause, what follows it, or what points elsewhere.

    `findings` come in order of harm. A cause weighs as much as the gravest of what it explains.
    Readings are no verdict, and symptoms come after causes. `rules` are those that ran; `ignored`
    counts the findings that the configuration takes out, which no verdict may hide.
    """
    readings = {rule.id for rule in rules if rule.role == "reading"}
    said = _verdict_of_all(findings, outcomes, views, readings)
    if ignored:
        said += f" The configuration ignores {ignored} finding{'s' if ignored > 1 else ''}, listed below."
    return said


def _verdict_of_all(
    findings: Sequence[Finding], outcomes: Sequence[Outcome], views: Sequence[View], readings: Set[str]
) -> str:
    told = [f for f in findings if f.role != "reading" or f.rule == SINCE_BOOT]
    causes = [f for f in told if f.explained_by is None and f.role != "elsewhere"]
    causes.sort(key=lambda f: (f.role == "symptom", -_weight(f, told)))
    loud = [f for f in causes if _weight(f, told) >= SEVERITIES.index("warning")]
    if loud:
        return _verdict(loud, len(views))
    if elsewhere := _elsewhere(told, views):
        return f"Not storage: {elsewhere}"
    noted = [f for f in causes if f.severity == "notice"]
    if noted:
        return _noted(noted[0])
    said = _nothing(outcomes, views, readings)
    averaged = [f.summary for f in findings if f.rule == TOO_LONG and f.severity == "notice"]
    if averaged:
        said += f" But these samples would hide trouble: {averaged[0]}"
    hints = [f.summary for f in causes if f.rule != SINCE_BOOT]
    return said + (f" Worth a look: {hints[0]}" if hints else "")


def _noted(first: Finding) -> str:
    if first.rule == SINCE_BOOT:
        return first.summary
    if first.role == "symptom":
        return first.summary + _NO_CAUSE
    if first.confidence == "low":
        return f"Nothing certain; possibly: {first.summary}"
    return f"Nobody is seen to suffer, but note: {first.summary}"


def _weight(finding: Finding, findings: Sequence[Finding]) -> int:
    below: list[Severity] = [
        f.severity for f in findings if f.explained_by == finding.rule and f.host == finding.host
    ]
    return max(SEVERITIES.index(severity) for severity in (finding.severity, *below))


def _verdict(loud: Sequence[Finding], hosts: int) -> str:
    first = loud[0]
    where = f" ({first.host})" if hosts > 1 and first.host else ""
    said = f"Likely: {first.summary}" if first.confidence == "medium" else first.summary
    if first.role == "symptom":
        said += _NO_CAUSE
    others = list(dict.fromkeys(f.title for f in loud[1:] if f.role != "symptom" and f.rule != first.rule))
    if not others:
        return said + where
    more = f", and {len(others) - 2} more" if len(others) > 2 else ""
    return f"{said}{where} Then: {'; '.join(others[:2])}{more}."


def _elsewhere(findings: Sequence[Finding], views: Sequence[View]) -> str:
    """What holds the first such host back that is no storage; empty where nothing does."""
    stolen = next((f for f in findings if f.role == "elsewhere"), None)
    for view in views:
        if said := _of_cpu(view):
            return said + (f" ({view.host})" if len(views) > 1 and view.host else "")
    return stolen.summary if stolen and stolen.confidence != "low" else ""


def _of_cpu(view: View) -> str:
    """Whether the host's CPUs were taken or busy in most samples."""
    cpu = view.cpu_all
    if cpu is None:
        return ""
    shares = [weighted.values(cpu, f"{name}_pct") for name in ("user", "nice", "system")]
    values: dict[str, float | str] = {
        "busy": float(np.nanmedian(np.nansum(shares, axis=0))),
        "steal": float(np.median(np.nan_to_num(weighted.values(cpu, "steal_pct")))),
    }
    if float(values["steal"]) >= STOLEN_CPU:
        return say("the hypervisor withholds {steal:.0f} % of the CPU.", values)
    if float(values["busy"]) >= BUSY_CPU:
        return say("the CPUs are {busy:.0f} % busy.", values)
    return ""


def _nothing(outcomes: Sequence[Outcome], views: Sequence[View], readings: Set[str]) -> str:
    looked = {outcome.rule for outcome in outcomes if outcome.status == "clear"}
    undecided = sorted({o.rule for o in outcomes if o.status == "undetermined"} - looked)
    if looked <= readings or not any(view.tables for view in views):
        return "Nothing could be judged from this capture; below is what each rule lacked."
    count = f"{len(looked)} rule{'s' if len(looked) > 1 else ''}"
    if undecided:
        return f"No trouble is proven: {count} looked and found nothing, but open is {_first_few(undecided)}."
    return f"No storage trouble found: {count} looked and found nothing{_open_for(outcomes)}."


def _open_for(outcomes: Sequence[Outcome]) -> str:
    """For which devices some rule could not tell, while it could for others."""
    unsure = [outcome for outcome in outcomes if outcome.status == "undetermined" and outcome.devices]
    if not unsure:
        return ""
    rules = dict.fromkeys(outcome.rule for outcome in unsure)
    devices = dict.fromkeys(name for outcome in unsure for name in outcome.devices)
    return f"; open for {_first_few([*devices])} is {_first_few([*rules])}"


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
