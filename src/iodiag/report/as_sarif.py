"""The findings as SARIF 2.1.0, for pipelines that show results beside what was checked.

What the configuration ignores is there too, as suppressed, with its reason. Characters beyond ASCII
are escaped, so that the text is harmless on a terminal whatever the captures held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from iodiag.model.finding import Evidence, Finding
from iodiag.model.report import Report
from iodiag.report import wording
from iodiag.report.finding_sections import by_severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"critical": "error", "warning": "warning", "notice": "note", "info": "none"}
PLACES = 20
"""Addresses per finding; the JSON report has them all."""


def render(report: Report) -> str:
    """The report's findings as one SARIF run, in order of harm."""
    binary = {s.section.source for s in report.sources if s.section.format == "sa"}
    found = [(finding, None) for finding in by_severity(report.findings)]
    ignored = [(one.finding, one.reason) for one in report.ignored]
    results = [_result(finding, reason, binary) for finding, reason in [*found, *ignored]]
    titles = {finding.rule: finding.title for finding, _ in [*ignored, *found]}
    rules = [{"id": rule, "shortDescription": {"text": titles[rule]}} for rule in sorted(titles)]
    driver = {"name": "iodiag", "semanticVersion": report.iodiag, "rules": rules}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(log, indent=2) + "\n"


def _result(finding: Finding, reason: str | None, binary: set[str]) -> dict[str, Any]:
    proof = "; ".join(e.text for e in finding.evidence if e.weighs == "for")
    said = f"{finding.summary} Evidence: {proof}." if proof else finding.summary
    places = [place for e in finding.evidence for place in _places(e, e.source in binary)]
    suppressed = {"suppressions": [{"kind": "external", "justification": reason}]}
    return {
        "ruleId": finding.rule,
        "level": LEVELS[finding.severity],
        # info has the level that SARIF keeps for what is no failure
        "kind": "informational" if finding.severity == "info" else "fail",
        "message": {"text": wording.visible(said)},
        "locations": places[:PLACES],
        "partialFingerprints": {"ruleHostDevices/v1": _fingerprint(finding)},
        "properties": {
            "confidence": finding.confidence,
            "host": finding.host,
            "devices": list(finding.devices),
            "remedy": list(finding.remedy),
        },
        **(suppressed if reason is not None else {}),
    }


def _places(evidence: Evidence, is_binary: bool) -> Iterator[dict[str, Any]]:
    """The first address of each run of lines that a piece of evidence rests on."""
    where = {"uri": quote(evidence.source)}
    last = -2
    for line in evidence.lines:
        if line != last + 1:
            region = {"byteOffset": line} if is_binary else {"startLine": line}
            yield {"physicalLocation": {"artifactLocation": where, "region": region}}
        last = line


def _fingerprint(finding: Finding) -> str:
    """The same for the same rule on the same devices, so that a result is known again in a later run."""
    named = "\0".join([finding.rule, finding.host or "", *sorted(finding.devices)])
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:32]
