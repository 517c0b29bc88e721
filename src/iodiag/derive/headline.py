"""One sentence that says what holds the host back, or plainly that nothing does."""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.model.finding import SEVERITIES, Finding, Outcome


def headline(findings: Sequence[Finding], outcomes: Sequence[Outcome], hosts: int) -> str:
    """The verdict of a whole report, from its findings in order of harm."""
    causes = [finding for finding in findings if finding.explained_by is None]
    loud = [f for f in causes if SEVERITIES.index(f.severity) >= SEVERITIES.index("warning")]
    if loud:
        first = loud[0]
        more = (
            f" {len(loud) - 1} more finding{'s' if len(loud) > 2 else ''} of this weight follow."
            if len(loud) > 1
            else ""
        )
        where = f" ({first.host})" if hosts > 1 and first.host else ""
        return f"{first.summary}{where}{more}"
    # reading advice (info) is no verdict on the host
    noted = [finding for finding in causes if finding.severity != "info"]
    if noted:
        first = noted[0]
        return f"Nothing here holds this host back for certain. Worth knowing: {first.summary}"
    looked = sorted({outcome.rule for outcome in outcomes if outcome.status == "clear"})
    undecided = sorted({outcome.rule for outcome in outcomes if outcome.status == "undetermined"})
    if looked:
        rest = f" {len(undecided)} could not be decided; see below." if undecided else ""
        return f"No storage trouble found: {len(looked)} rules looked and found nothing.{rest}"
    return "Nothing could be judged from this capture; below is what each rule lacked."
