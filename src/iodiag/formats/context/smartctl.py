"""smartctl -a, -x, -i, -H and -A of smartmontools, as text and as JSON (-j): a disk's own counters.

Read are ATA disks (attributes by name, since their numbers differ between vendors), SCSI and SAS disks
and NVMe drives. Counters are of the disk's whole life, but for pending and offline uncorrectable sectors,
which are those of now. A raw value of 2^32 and more packs several counts and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iodiag.formats.context._common import MAX_BLOCK_LINES, Values, json_object
from iodiag.formats.context._health import counter, disk_name, disk_of, health_block
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.units import KB_PER_BYTE

_TITLE = r"^\s*smartctl (?:version )?\d{1,2}\.\d{1,3}\b"
_COMMAND = r"\bsmartctl\s[^|;]{0,200}/dev/\S"
_JSON = "json_format_version"
_BEHIND = r"(?:sat\+)?(?:megaraid|cciss|3ware|areca|aacraid|hpt)[,\d/]{0,12}"
"""How a disk is reached through its controller: `megaraid,5`."""

_PARAGRAPH = (
    r"\s|#|=== START|SMART|General|Vendor|Error|Selective|If Selective|SCT|Device|Pending|SATA|Read |ID#|"
    r"Num|Supported|Self-test|Non-medium|Background|Protocol|Current|Elements|Manufactured|Long|Warning|"
    r"Note|Local|Index|Id|St |Please|The |Seagate|No |ATA|Drive|Temperature|Copyright|Percentage|Model|"
    r"Product|Serial|Critical|Grown|Power|Host|Number|Namespace|Form|Rotation|Firmware|User|Sector|Write|"
    r"Rd |AAM|APM|Security|Wt |DSN|Offline|Address|\[|\(|Accumulated|relative|Namespace"
)
_OTHER = (
    r"\s{0,80}(?:Linux \S+ \(|Device:?\s+\S+/s|Device:?\s.*\btps\b|avg-cpu|procs\b|smartctl \d"
    r"|.{0,200}?\bsmartctl\s{1,9}-|(?:\[?\w[\w.-]{0,80}@.{0,80})?[#$]\s+[a-z/])"
)
_PAIR = r"(?P<key>[A-Z#][\w .,/()-]{1,60}?)(?::\s{0,80}|\s+=\s+)(?P<value>\S.{0,400})"
_TOTALS = r"(?:read|write|verify):(?:\s{1,80}[\d.]{1,20}){6}\s{1,80}(?P<count>\d{1,15})\s*"
_ENDURANCE = r"\s*0x07\s.*\s(?P<count>\d{1,3})\s+\S+\s+Percentage Used Endurance Indicator"

_ATTRIBUTES = {
    r"Reallocated_Sector_C(?:oun)?t": "reallocated_sectors",
    r"(?:Current|Total)_Pending_Sectors?": "pending_sectors",
    r"Offline_Uncorrectable": "uncorrectable_sectors",
    r"Reported_Uncorrect|Uncorrectable_Error_C(?:oun|n)?t": "uncorrected_errors",
    r"(?:UDMA_|SATA_)?CRC_Error_Count": "crc_errors",
    r"Temperature_Celsius|Drive_Temperature|Airflow_Temperature_Cel": "temperature_c",
}
_ENDURANCE_LEFT = (
    "Media_Wearout_Indicator",
    "Percent_Lifetime_Remain",
    "SSD_Life_Left",
    "Wear_Leveling_Count",
)
_COUNTERS = {
    "Current Drive Temperature": "temperature_c",
    "Temperature": "temperature_c",
    "Elements in grown defect list": "reallocated_sectors",
    "Percentage used endurance indicator": "percentage_used",
    "Percentage Used": "percentage_used",
    "Media and Data Integrity Errors": "uncorrected_errors",
    "Error Information Log Entries": "error_log_entries",
    "ATA Error Count": "error_log_entries",
    "Device Error Count": "error_log_entries",
}
_MINUTES = ("Warning  Comp. Temperature Time", "Critical Comp. Temperature Time")
_HEALTH = ("SMART overall-health self-assessment test result", "SMART Health Status")


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if f'"{_JSON}"' in lines[0].text:
        return _read_json(lines, source)
    title = next((at for at, line in enumerate(lines[:4]) if re.match(_TITLE, line.text)), -1)
    if title < 0:
        return None
    used = _length(lines, title)
    block = lines[:used]
    pairs = _pairs(block)
    counters = Values(_of_pairs(pairs)) | Values(_of_tables(block[title:]))
    rate = pairs.get("Rotation Rate", "")
    command = lines[0].text if title else ""
    behind = re.search(rf"-d\s+({_BEHIND})", command)
    known = {
        "model": _model(pairs, "Vendor", "Product"),
        "rotational": "rpm" in rate if "rpm" in rate or "Solid State" in rate else None,
        "size_kb": _kilobytes(pairs.get("User Capacity", pairs.get("Namespace 1 Size/Capacity"))),
        "write_cache": _write_cache(pairs),
    }
    disk = disk_of(command, source)
    return health_block("smartctl", source, disk, counters, known, block, behind[1] if behind else "")


def _length(lines: Sequence[Line], title: int) -> int:
    """How many lines are smartctl's: a paragraph begins with one of its phrases and ends at a blank line."""
    used, is_behind_blank = title + 1, False
    for at, line in enumerate(lines[title + 1 : MAX_BLOCK_LINES], title + 1):
        if not line.text.strip():
            is_behind_blank = True
        elif re.match(_OTHER, line.text) or (is_behind_blank and not re.match(_PARAGRAPH, line.text)):
            break
        else:
            used, is_behind_blank = at + 1, False
    return used


def _pairs(lines: Sequence[Line]) -> dict[str, str]:
    """What stands behind a key and a colon, the first of each."""
    found: dict[str, str] = {}
    for line in lines:
        if pair := re.match(_PAIR, line.text.strip()):
            found.setdefault(pair["key"].strip(), pair["value"].strip())
    return found


def _of_pairs(pairs: Mapping[str, str]) -> Iterator[tuple[str, float | str | None]]:
    health = next((pairs[key] for key in _HEALTH if key in pairs), "")
    if health:
        yield from _health(re.match(r"PASSED|OK", health) is not None)
    for key, name in _COUNTERS.items():
        if key in pairs:
            yield name, counter(pairs[key])
    if warning := re.match(r"0x([\da-f]{2})", pairs.get("Critical Warning", "")):
        yield "critical_warning", _critical(int(warning[1], 16))
    if minutes := [value for key in _MINUTES if (value := counter(pairs.get(key)))]:
        yield "hot_minutes", sum(minutes)
    yield "firmware", pairs.get("Firmware Version", pairs.get("Revision"))


def _health(has_passed: bool) -> Iterator[tuple[str, str]]:
    yield "status", "passed" if has_passed else "failed"
    if not has_passed:
        yield "health", "FAILED"


def _critical(bits: int) -> str | None:
    return f"{bits:02x}" if bits else None


def _of_tables(lines: Sequence[Line]) -> Iterator[tuple[str, float | str | None]]:
    """The attributes of an ATA disk, and the last column of a SCSI disk's error counters."""
    words: list[str] = []
    uncorrected: list[float] = []
    failing: list[str] = []
    for line in lines:
        if line.text.lstrip().startswith("ID#"):
            words = line.text.split()
        elif totals := re.fullmatch(_TOTALS, line.text.strip()):
            uncorrected.append(float(totals["count"]))
        elif endurance := re.match(_ENDURANCE, line.text):
            yield "percentage_used", float(endurance["count"])
        elif words and len(cells := line.text.split(None, len(words) - 1)) == len(words):
            row = dict(zip(words, cells, strict=True))
            yield from _attribute(row.get("ATTRIBUTE_NAME", ""), row.get("VALUE"), row.get("RAW_VALUE"))
            if row.get("WHEN_FAILED", row.get("FAIL", "")) in ("FAILING_NOW", "NOW"):
                failing.append(row.get("ATTRIBUTE_NAME", "")[:64])
    if uncorrected:
        yield "uncorrected_errors", sum(uncorrected)
    yield "failing_attributes", ", ".join(failing) or None


def _attribute(name: str, value: Any, raw: Any) -> Iterator[tuple[str, float | None]]:
    for pattern, counted in _ATTRIBUTES.items():
        if re.fullmatch(pattern, name):
            yield counted, counter(raw)
    if name in _ENDURANCE_LEFT and (left := counter(value)) is not None and left <= 100:
        yield "percentage_used", 100 - left


def _kilobytes(count: Any) -> float | None:
    digits = re.match(r"\d{1,3}(?:,?\d{3}){1,6}(?!\d)", str(count))
    return float(digits.group().replace(",", "")) * KB_PER_BYTE if digits else None


def _model(values: Mapping[str, Any], vendor: str, product: str) -> str:
    ways = ("Device Model", "Model Number", "model_name")
    named = next((str(values[way]) for way in ways if values.get(way)), "")
    return (named or f"{values.get(vendor, '')} {values.get(product, '')}").strip()[:128]


def _write_cache(pairs: Mapping[str, str]) -> str | None:
    said = pairs.get("Write cache is", pairs.get("Writeback Cache is", ""))
    return {"Enabled": "write back", "Disabled": "write through"}.get(said)


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    decoded = json_object(lines, _JSON)
    if decoded is None:
        return None
    value = decoded.value
    asked = _at(value, "device", "name")
    kind = str(_at(value, "device", "type") or "")
    rate = value.get("rotation_rate")
    known = {
        "model": _model(value, "scsi_vendor", "scsi_product"),
        "rotational": rate > 0 if isinstance(rate, int) else None,
        "size_kb": _kilobytes(_at(value, "user_capacity", "bytes")),
    }
    disk = disk_name(asked[:100]) if isinstance(asked, str) else disk_of("", source)
    behind = re.match(_BEHIND, kind)
    counters = Values(_of_json(value))
    return health_block(
        "smartctl", source, disk, counters, known, lines[: decoded.used], behind[0] if behind else ""
    )


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**80 else None


_PATHS: Mapping[str, tuple[str, ...]] = {
    "temperature_c": ("temperature", "current"),
    "reallocated_sectors": ("scsi_grown_defect_list",),
    "error_log_entries": ("nvme_smart_health_information_log", "num_err_log_entries"),
    "uncorrected_errors": ("nvme_smart_health_information_log", "media_errors"),
    "percentage_used": ("nvme_smart_health_information_log", "percentage_used"),
}


def _of_json(value: Mapping[str, Any]) -> Iterator[tuple[str, float | str | None]]:
    has_passed = _at(value, "smart_status", "passed")
    if isinstance(has_passed, bool):
        yield from _health(has_passed)
    firmware = value.get("firmware_version", value.get("scsi_revision"))
    yield "firmware", firmware[:64] if isinstance(firmware, str) else None
    for name, path in _PATHS.items():
        if (count := _number(_at(value, *path))) is not None:
            yield name, count
    warning = _number(_at(value, "nvme_smart_health_information_log", "critical_warning"))
    yield "critical_warning", _critical(int(warning)) if warning is not None else None
    hot = [_number(_at(value, "nvme_smart_health_information_log", f"{way}_time")) for way in _HOT]
    yield "hot_minutes", sum(filter(None, hot)) or None
    ways = [_number(_at(value, "scsi_error_counter_log", way, "total_uncorrected_errors")) for way in _WAYS]
    if any(count is not None for count in ways):
        yield "uncorrected_errors", sum(filter(None, ways))
    errors = [_number(_at(value, "ata_smart_error_log", log, "count")) for log in ("summary", "extended")]
    if any(count is not None for count in errors):
        yield "error_log_entries", max(filter(None, errors), default=0.0)
    yield from _of_json_table(_at(value, "ata_smart_attributes", "table"))


_HOT = ("warning_temp", "critical_comp")
_WAYS = ("read", "write", "verify")


def _of_json_table(table: Any) -> Iterator[tuple[str, float | str | None]]:
    rows = [row for row in table if isinstance(row, dict)] if isinstance(table, list) else []
    for row in rows:
        raw = _at(row, "raw", "string")
        yield from _attribute(str(row.get("name")), row.get("value"), raw)
    failing = [str(row.get("name"))[:64] for row in rows if row.get("when_failed") == "now"]
    yield "failing_attributes", ", ".join(failing) or None


FORMAT = ContextFormat(
    id="smartctl",
    title="smartctl: what a disk counts and reports of itself",
    example=(
        "# smartctl -a /dev/sdb\n"
        "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"
        "\n"
        "=== START OF INFORMATION SECTION ===\n"
        "Device Model:     ST4000NM0035-1V4107\n"
        "Rotation Rate:    7200 rpm\n"
        "\n"
        "=== START OF READ SMART DATA SECTION ===\n"
        "SMART overall-health self-assessment test result: PASSED\n"
        "\n"
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
        "197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       24\n"
    ),
    starts=re.compile(rf"{_TITLE}|{_COMMAND}|\"{_JSON}\"\s*:"),
    read=_read,
    releases="smartmontools 5.40 and later; JSON of 7.0 and later",
    not_read="entries of its logs, device statistics but for endurance, the write cache in JSON",
)
