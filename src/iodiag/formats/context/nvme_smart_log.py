"""`nvme smart-log` of nvme-cli, as text and as JSON (-o json): the counters of an NVMe drive.

JSON has temperatures in kelvin and names no drive: its command or its file does. Text has them in the unit
of the locale, with kelvin behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iodiag.formats.context._common import Values, json_object
from iodiag.formats.context._health import counter, disk_name, disk_of, health_block
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_TITLE = r"^\s*Smart Log for NVME device:\s?(?P<device>[\w/]{1,64})\s+namespace-id:"
_COMMAND = r"\bnvme\s+smart-log\s[^|;]{0,200}/dev/\S"
_JSON = r'^\s{0,80}\{?\s{0,80}"critical_warning"\s*:'
_PAIR = r"^(?P<key>\S[\w ()-]{0,60}?)\s*:\s(?P<value>.{0,200})|^\s+(?P<bit>[\w .()\[\]:-]{0,80}:.{0,200})"
_KELVIN = 273

_NAMES = {
    "available_spare": "available_spare_pct",
    "avail_spare": "available_spare_pct",
    "percentage_used": "percentage_used",
    "percent_used": "percentage_used",
    "media_errors": "uncorrected_errors",
    "num_err_log_entries": "error_log_entries",
}
_SUMS = {
    "hot_minutes": r"warning_(?:composite_)?temp(?:erature)?_time|critical_comp(?:osite_temperature)?_time",
    "throttlings": r"thermal_management_t[12]_trans_count|thm_temp[12]_trans_count",
    "throttled_s": r"thermal_management_t[12]_total_time|thm_temp[12]_total_time",
}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if re.match(_JSON, lines[0].text):
        return _read_json(lines, source, "", lines)
    is_titled = re.match(_TITLE, lines[0].text) is not None
    title = 0 if is_titled else next((at for at, line in enumerate(lines[1:4], 1) if line.text.strip()), 0)
    if not is_titled and not title:
        return None
    found = re.match(_TITLE, lines[title].text)
    if not found:
        is_json = any(re.match(_JSON, line.text) for line in lines[title : title + 4])
        return _read_json(lines, source, lines[0].text, lines[title:]) if is_json else None
    values: dict[str, str] = {}
    used = title + 1
    for line in lines[used : title + 60]:
        pair = re.match(_PAIR, line.text)
        if not pair:
            break
        if pair["key"]:
            values.setdefault(re.sub(r"\s+", "_", pair["key"].strip().lower()), pair["value"])
        used += 1
    return _block(disk_name(found["device"]), values, counter, 0, lines[:used], source)


def _read_json(
    lines: Sequence[Line], source: str, command: str, inside: Sequence[Line]
) -> ContextBlock | None:
    decoded = json_object(inside[:4000], "critical_warning")
    if decoded is None or "num_err_log_entries" not in decoded.value:
        return None
    used = len(lines) - len(inside) + decoded.used if command else decoded.used
    return _block(disk_of(command, source), decoded.value, _number, _KELVIN, lines[:used], source)


def _number(value: Any) -> float | None:
    value = value.get("value") if isinstance(value, dict) else value
    return counter(value) if isinstance(value, int | float | str) else None


def _block(
    disk: str,
    values: Mapping[str, Any],
    count: Callable[[Any], float | None],
    above: float,
    lines: Sequence[Line],
    source: str,
) -> ContextBlock | None:
    """The block of one drive; `above` is what its temperature is counted from."""
    counters: Values = {name: count(values[key]) for key, name in _NAMES.items() if key in values}
    for name, pattern in _SUMS.items():
        stated = [count(value) for key, value in values.items() if re.fullmatch(pattern, key)]
        counters[name] = sum(filter(None, stated)) if stated else None
    bits = values.get("critical_warning")
    hexadecimal = re.match(r"0x([\da-fA-F]{1,8})\b", str(bits))
    warning = int(hexadecimal[1], 16) if hexadecimal else count(bits)
    counters["critical_warning"] = f"{int(warning):02x}" if warning else None
    kelvin = re.search(r"\((\d{1,4}) ?K", str(values.get("temperature")))
    warmth = float(kelvin[1]) if kelvin else count(values.get("temperature"))
    above = _KELVIN if kelvin else above
    counters["temperature_c"] = warmth - above if warmth and warmth > above else None
    return health_block("nvme-smart-log", source, disk, counters, {"transport": "nvme"}, lines)


FORMAT = ContextFormat(
    id="nvme-smart-log",
    title="nvme smart-log: what an NVMe drive counts and reports of itself",
    example=(
        "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\n"
        "critical_warning\t\t\t: 0\n"
        "temperature\t\t\t\t: 41 C (314 Kelvin)\n"
        "available_spare\t\t\t\t: 100%\n"
        "percentage_used\t\t\t\t: 3%\n"
        "media_errors\t\t\t\t: 0\n"
        "num_err_log_entries\t\t\t: 12\n"
        "Warning Temperature Time\t\t: 0\n"
    ),
    starts=re.compile(rf"{_TITLE}|{_COMMAND}|{_JSON}"),
    read=_read,
    releases="nvme-cli 1.0 and later",
    not_read="counts of commands and bytes, single sensors",
)
