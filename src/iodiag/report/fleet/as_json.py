"""The fleet report as JSON (schema iodiag-fleet/1): the fields of `model.fleet`, by their names."""

from __future__ import annotations

import json
from typing import Any

from iodiag.model.fleet import FleetReport
from iodiag.report.json_codec import to_plain


def render(report: FleetReport) -> str:
    """The report as indented JSON text; what is not known is null."""
    return json.dumps(to_dict(report), indent=2, allow_nan=False) + "\n"


def to_dict(report: FleetReport) -> dict[str, Any]:
    """The report as dicts, lists, strings, numbers and None, the schema first."""
    content: dict[str, Any] = to_plain(report)
    return content
