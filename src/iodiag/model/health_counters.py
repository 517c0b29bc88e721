"""What a disk counts and reports of itself: the names of these values in facts, and how to say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

HEALTH_FACTS = ("smartctl", "nvme-smart-log", "raid-controller")
"""Kinds of facts that hold such values, of one disk each."""

FAILING: Mapping[str, str] = {
    "disk_state": "state by its controller: {disk_state}",
    "health": "SMART status: {health}",
    "failing_attributes": "below their threshold: {failing_attributes}",
    "critical_warning": "critical warning: 0x{critical_warning}",
    "pending_sectors": "pending (unreadable) sectors: {pending_sectors:.0f}",
    "uncorrectable_sectors": "sectors unreadable in its own scan: {uncorrectable_sectors:.0f}",
    "predicted_failures": "failures predicted by its controller: {predicted_failures:.0f}",
}
"""What holds now and says that the disk fails: words, and numbers above 0."""

COUNTED: Mapping[str, str] = {
    "uncorrected_errors": "uncorrected errors: {uncorrected_errors:.0f}",
    "other_errors": "errors other than of the medium: {other_errors:.0f}",
    "crc_errors": "CRC errors on its link: {crc_errors:.0f}",
    "reallocated_sectors": "reallocated sectors: {reallocated_sectors:.0f}",
    "error_log_entries": "entries in its error log: {error_log_entries:.0f}",
    "hot_minutes": "minutes above its warning temperature: {hot_minutes:.0f}",
    "throttled_s": "seconds throttled for heat: {throttled_s:.0f}",
    "throttlings": "turns of throttling for heat: {throttlings:.0f}",
    "percentage_used": "endurance used: {percentage_used:.0f} %",
    "temperature_c": "temperature: {temperature_c:.0f} °C",
}
"""What it counted over its life, and how it is."""


def shown(values: Mapping[str, float | str], names: Iterable[str] = (*FAILING, *COUNTED)) -> list[str]:
    """The templates of those values that are there and not 0, in the order of `names`."""
    templates = {**FAILING, **COUNTED}
    return [templates[name] for name in names if values.get(name)]


def none(values: Mapping[str, float | str], names: Iterable[str]) -> list[str]:
    """Those of the named values that are 0, as words."""
    templates = {**FAILING, **COUNTED}
    return [templates[name].format(**values) for name in names if values.get(name) == 0]


def sentence(disk: str, values: Mapping[str, float | str]) -> str:
    """All that a disk reports of itself; `disk` is what it is called."""
    said = [template.format(**values) for template in shown(values)]
    return f"{disk} reports {', '.join(said) or 'no errors'}"
