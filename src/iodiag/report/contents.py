"""What a report holds, in its order: the first screen, the sections, and what is folded."""

from __future__ import annotations

from iodiag.model.report import Report
from iodiag.report import appendix, comparison_sections, finding_sections, first_screen
from iodiag.report.document import Document
from iodiag.report.phases_section import phases_section


def document(report: Report, is_full: bool = True) -> Document:
    """The whole report; where it is not full the findings are a line each, the devices a state each."""
    findings, evidence, notes = finding_sections.sections(report, is_full)
    comparison = report.comparison
    return Document(
        first_screen.screen(report),
        (
            *(comparison_sections.sections(report, comparison, is_full) if comparison else ()),
            *findings,
            *appendix.states_section(report, is_full),
            *phases_section(report),
            *evidence,
            *appendix.ignored_section(report),
            *notes,
            *appendix.folded_sections(report),
        ),
    )
