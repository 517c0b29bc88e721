"""Reports as JSON: one of captures (schema iodiag-report/1) and back, one of a fleet (iodiag-fleet/1).

What is not known (None, NaN, an infinity) is null. Characters beyond ASCII are escaped, so that
the text is harmless on a terminal whatever the captures held.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from iodiag.errors import FormatError
from iodiag.model.report import SCHEMA, Report
from iodiag.report.json_codec import from_plain, to_plain

if TYPE_CHECKING:
    from iodiag.model.fleet import FleetReport


def render(report: Report) -> str:
    """The report as indented JSON text, a list of numbers on one line."""
    text = json.dumps(to_dict(report), indent=2, allow_nan=False)
    # a line end never stands inside a JSON string, so "[" before one always opens a list
    return re.sub(r'\[\n[^\[\]{}"]*\]', lambda found: " ".join(found[0].split()), text) + "\n"


def render_fleet(report: FleetReport) -> str:
    """A fleet's report as indented JSON text."""
    return json.dumps(to_dict(report), indent=2, allow_nan=False) + "\n"


def to_dict(report: Report | FleetReport) -> dict[str, Any]:
    """The report as dicts, lists, strings, numbers and None, keys as the schema has them."""
    content: dict[str, Any] = to_plain(report)
    if isinstance(report, Report):
        for side in _sides(content):
            side["outcomes"] = _by_status(side["outcomes"])
    return content


def _sides(content: dict[str, Any]) -> list[dict[str, Any]]:
    """A report and, where it compares, that of the earlier side."""
    comparison = content.get("comparison")
    before = comparison.get("before") if isinstance(comparison, dict) else None
    return [content, before] if isinstance(before, dict) else [content]


def _by_status(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An entry per host, rule and status; `parts` has the devices of each reason where there are several."""
    groups: dict[tuple[str, str, str | None], list[dict[str, Any]]] = {}
    for one in outcomes:
        groups.setdefault((one["rule"], one["status"], one["host"]), []).append(one)
    return [parts[0] if len(parts) == 1 else _one_of(parts) for parts in groups.values()]


def _one_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    every = ("devices", "missing")
    said = {key: list(dict.fromkeys(word for one in parts for word in one[key])) for key in every}
    reason = "; ".join(
        f"{', '.join(one['devices'])}: {one['reason']}" if one["devices"] else one["reason"] for one in parts
    )
    own = [{key: one[key] for key in ("devices", "reason", "missing")} for one in parts]
    return parts[0] | said | {"reason": reason, "parts": own}


def _by_reason(data: dict[str, Any]) -> None:
    """Undo `_by_status` in a report that was written with it."""
    for side in _sides(data):
        outcomes = side.get("outcomes")
        if isinstance(outcomes, list):
            side["outcomes"] = [part for one in outcomes for part in _parts(one)]


def _parts(outcome: Any) -> list[Any]:
    match outcome:
        case {"parts": [*parts]}:
            return [outcome | part for part in parts if isinstance(part, dict)]
    return [outcome]


def from_json(text: str | bytes) -> Report:
    """Read a JSON report. Raises FormatError when it is none, or of another schema."""
    try:
        data = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise FormatError("the report is nested too deeply; give one that iodiag wrote") from None
    except ValueError as error:
        raise FormatError(f"the report is not JSON ({error}); write it again") from None
    return from_dict(data)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def from_dict(data: Any) -> Report:
    """Build a Report from `to_dict`'s form; additions that are absent take their defaults.

    Raises FormatError that names the key that is missing or of a wrong type.
    """
    _check_schema(data, "report")
    match data:
        case {"comparison": {"before": {**before}} as comparison}:
            _check_schema(before, "report.comparison.before")
            # the other side is a report without a comparison of its own, whatever stands there
            before.pop("comparison", None)
            data = data | {"comparison": comparison | {"before": before}}
    if isinstance(data, dict):
        _by_reason(data)
    report = from_plain(Report, data, "report")
    _check_series(report, "report")
    if report.comparison:
        _check_series(report.comparison.before, "report.comparison.before")
    return report


def _check_schema(data: Any, path: str) -> None:
    """Raise FormatError for a report of another schema, before its keys are read in vain."""
    if isinstance(data, dict) and data.get("schema") != SCHEMA:
        raise FormatError(
            f"{path}.schema: {str(data.get('schema'))[:40]!r} is not {SCHEMA!r}, which this iodiag reads; "
            "use the iodiag that wrote it"
        )


def _check_series(report: Report, path: str) -> None:
    for at, series in enumerate(report.series):
        samples = len(series.position)
        if len(series.time) not in (0, samples) or any(len(y) != samples for y in series.columns.values()):
            raise FormatError(f"{path}.series[{at}]: expected a value of every column for each position")
