"""The fleet report as one HTML file that needs nothing else, in the look of the report of one host.

What comes out of captures passes `wording.visible` and jinja2's escaping; nothing else is put in. The page is
whole without its script, which only filters.
"""

from __future__ import annotations

from iodiag.model.fleet import FleetReport
from iodiag.report import templates, wording
from iodiag.report.document import Block
from iodiag.report.fleet import first_screen, heatmap, sections
from iodiag.report.fleet.groups import groups

ROWS_SHOWN = 50


def render(report: FleetReport) -> str:
    """The whole report as a page; its size depends on the caps alone, not on the fleet."""
    script = templates.filter_script() if report.troubles else ""
    return templates.template("fleet.html").render(
        css=templates.css(),
        script=script,
        policy=templates.policy(templates.css(), script),
        plain=wording.plain,
        kind=_kind,
        address=str,
        drawn={},
        full=False,
        screen=first_screen.screen(report),
        groups=groups(report),
        heatmap=heatmap.drawn(report),
        changes=sections.changes(report),
        changes_left_out=wording.prose(sections.changes_left_out(report)),
        change_note=sections.CHANGE_NOTE,
        tables=[
            ("outliers", "Unlike their peers", sections.outliers(report, ROWS_SHOWN), sections.PEER_NOTE),
            (
                "departures",
                "Unlike their own past",
                sections.departures(report, ROWS_SHOWN),
                sections.BASELINE_NOTE,
            ),
            ("windows", "At the same hour", sections.windows(report, ROWS_SHOWN), sections.WINDOW_NOTE),
        ],
        folded=[
            ("failed", "Inputs that were not read whole", sections.failed(report)),
            ("unjudged", "Could not be judged, and why", sections.unjudged(report)),
        ],
        silent=sections.silent(report),
        remarks=list(sections.remarks(report)),
        limits=list(sections.limits(report)),
        harm_note=sections.HARM_NOTE,
        version=report.iodiag,
    )


def _kind(block: Block) -> str:
    return type(block).__name__.lower()
