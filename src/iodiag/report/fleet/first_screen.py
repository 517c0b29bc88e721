"""The first screen of the fleet report: how bad, the worst trouble with its number, and what to do first."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.model.fleet import FleetReport, Trouble
from iodiag.report import first_screen, wording
from iodiag.report.document import Block, Bullets, Commands, Facts, Paragraph, Screen, said
from iodiag.report.fleet import groups
from iodiag.report.wording import Span, Spans

STATES = {"critical": "Trouble", "warning": "Trouble", "notice": "Inefficient"}


def screen(report: FleetReport) -> Screen:
    """The first screen of a fleet report."""
    worst = next((name for name in STATES if report.totals.by_severity.get(name)), "")
    tone = worst or ("healthy" if report.totals.hosts else "unknown")
    lead = report.troubles[0] if report.troubles else None
    return Screen(
        title=(Span(f"Fleet report: {wording.plural(report.totals.hosts, 'host')}{_period(report)}"),),
        state=STATES.get(worst, "Nothing found" if report.totals.hosts else "Unknown"),
        tone=tone,
        sentence=wording.prose(report.headline),
        facts=Facts(tuple(_facts(report, lead))),
        actions=tuple(_actions(lead)),
        picture=None,
    )


def _period(report: FleetReport) -> str:
    first, last = report.totals.first, report.totals.last
    if not first:
        return ", no day stated"
    return f", {first}" if first == last else f", {first} to {last}"


def _facts(report: FleetReport, lead: Trouble | None) -> Iterator[tuple[str, Spans]]:
    totals = report.totals
    if lead is not None:
        words = tuple(
            Span(span.text, span.is_code, f"#{groups.anchor(1, lead)}") for span in wording.prose(lead.title)
        )
        yield "Worst", (*words, Span(f", on {groups.share(lead)}"))
        yield "Measured", groups.measured(lead.affected[0])
        when = groups.when(lead, totals.last)
        why = ": the capture or listing that shows it states no time"
        yield "When", (Span(f"{when}{why if when == groups.UNDATED else ''}"),)
    if totals.begun_last_day:
        began = f"{wording.plural(totals.begun_last_day, 'trouble')} began on {totals.last}"
        yield "New", (Span(f"{began}, the last day"),)
    yield "Hosts", (Span(_hosts(report)),)
    inputs = ", ".join(f"{wording.count(n)} {name}" for name, n in totals.inputs.items()) or "none"
    days = wording.plural(totals.host_days, "host-day")
    silent = wording.plural(totals.silent, "host")
    gap = f"; {silent} without data on the last day" if totals.silent else ""
    yield "Data", (Span(wording.visible(f"{days}{gap}; inputs: {inputs}")),)


def _hosts(report: FleetReport) -> str:
    """How many hosts have which severity as their worst."""
    totals = report.totals
    counted = [f"{wording.count(number)} {name}" for name, number in totals.by_severity.items() if number]
    quiet = totals.hosts - sum(totals.by_severity.values())
    listed = ", ".join([*counted, f"{wording.count(quiet)} with no trouble found"])
    return wording.visible(f"{listed} (each host by its worst finding)")


def _actions(lead: Trouble | None) -> Iterator[Block]:
    """The first step against the worst trouble, and commands to paste on the worst host."""
    if lead is None:
        yield Paragraph((Span("Nothing."),))
        return
    worst = lead.affected[0]
    commands = first_screen.first_commands(lead.confirm, worst.devices)
    if lead.remedy and worst.confidence != "low":
        yield Bullets((said(lead.remedy[0]),))
    if commands:
        before = "Confirm it before acting on it, on " if worst.confidence == "low" else "Confirm on "
        yield Paragraph((Span(before), wording.name(worst.host), Span(":")))
        yield Commands(commands)
