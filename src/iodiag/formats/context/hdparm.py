"""hdparm(8): sequential read speed (-t, -T), write cache (-W) and identity (-I) of a disk.

Also prose that reports such a measurement ("hdparm -t showed nearly 50 MB/s"): that is evidence
at second hand, so `is_prose` is 1. hdparm's MB are 1024 × 1024 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import bare_name, describe, fact, origin
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_PATH = r"^\s*(/dev/[\w/.:-]{1,100}):\s*$"
_SPEED = r"(?P<speed>\d{1,9}(?:\.\d{1,4})?)\s*(?P<unit>[kMG])i?B/s(?:ec)?"
_TIMING = r"(?i)^\s*Timing (?P<what>[\w_ -]{1,40}?) ?(?:reads?|read):\s.{0,120}?=\s*" + _SPEED
_PROSE = (
    r"(?i)\bhdparm\b(?=[^.\n]{0,40}\s-{0,2}[tT]\b|[^\n]{0,200}\bread)[^\n]{0,200}?(?<![\d.])"
    rf"(?!\S{{1,12}}\s*(?-i:[Gg]b)){_SPEED}"
)
_SETTING = r"^\s*(?P<key>write-caching|readahead|multcount|readonly)\s*=\s*(?P<value>.+)$"
_IDENTITY = (
    r"^\s*(?P<key>Model Number|Nominal Media Rotation Rate|Logical\s+Sector size|"
    r"Logical/Physical Sector size)"
    r":\s*(?P<value>.+)$"
)
_NOISE = (
    r"^\s*(?:HDIO_|SG_IO|ATA device|ATAPI device|setting |Serial Number|Firmware|Transport|Standards|Used:|"
    r"Supported:|Configuration:|Logical|Physical|CHS|LBA|cache/buffer|device size|Capabilities|Queue depth|"
    r"Form Factor|Commands/features|Enabled|IO_support|geometry|using_dma|unmaskirq|keepsettings|Media)"
)
_MB_OF = {"k": 1 / 1024, "m": 1.0, "g": 1024.0}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    path = re.match(_PATH, lines[0].text)
    if not path and not re.match(_TIMING, lines[0].text):
        return _read_prose(lines[0], source)
    device = bare_name(path[1]) if path else ""
    timings: list[tuple[re.Match[str], Line]] = []
    settings: dict[str, tuple[str, Line]] = {}
    used = int(bool(path))
    for at, line in enumerate(lines[used:200], used):
        timing = re.match(_TIMING, line.text)
        setting = re.match(_SETTING, line.text) or re.match(_IDENTITY, line.text)
        if timing:
            timings.append((timing, line))
        elif setting:
            settings.setdefault(" ".join(setting["key"].split()), (setting["value"].strip(), line))
        elif line.text.strip() and not (re.match(_NOISE, line.text) and (settings or timings or at <= 2)):
            break
        if line.text.strip():
            used = at + 1
        elif at - used > 1:
            break
    if not timings and not settings:
        return None
    devices = (_device(device, settings, source),) if device else ()
    facts = (_fact(device, timings, source),) if timings else ()
    return ContextBlock(used, devices, facts, layout="hdparm")


def _megabytes(match: re.Match[str]) -> float:
    return round(float(match["speed"]) * _MB_OF[match["unit"].lower()], 3)


def _device(name: str, settings: dict[str, tuple[str, Line]], source: str) -> Device:
    caching, _ = settings.get("write-caching", ("", None))
    rate, _ = settings.get("Nominal Media Rotation Rate", ("", None))
    line = next(iter(settings.values()))[1] if settings else None
    is_spinning = bool(re.match(r"\d{4,5}\b", rate))
    return describe(
        name,
        origin("hdparm", source, line) if line else "",
        write_cache={"1": "write back", "0": "write through"}.get(caching[:1]),
        rotational=is_spinning if is_spinning or "Solid State" in rate else None,
        model=settings.get("Model Number", ("", None))[0],
    )


def _fact(device: str, timings: Sequence[tuple[re.Match[str], Line]], source: str) -> Fact:
    speeds: dict[str, float] = {}
    for timing, _ in timings:
        is_cached = "cache" in timing["what"].lower()
        speeds["cached_read_mb_per_s" if is_cached else "sequential_read_mb_per_s"] = _megabytes(timing)
    said = ", ".join(f"{name.split('_')[0]} reads of {value:g} MB/s" for name, value in speeds.items())
    values = {"device": device or None, **speeds, "is_prose": 0}
    text = f"hdparm measured {said}" + (" on {device}" if device else "")
    return fact("hdparm", text, values, source, [line for _, line in timings])


def _read_prose(line: Line, source: str) -> ContextBlock | None:
    match = re.search(_PROSE, line.text)
    if not match:
        return None
    speed = _megabytes(match)
    values = {"sequential_read_mb_per_s": speed, "is_prose": 1}
    evidence = fact("hdparm", f"the text reports {speed:g} MB/s of reads with hdparm", values, source, [line])
    return ContextBlock(1, facts=(evidence,), layout="prose")


FORMAT = ContextFormat(
    id="hdparm",
    title="hdparm -tT: sequential read speed",
    example=(
        "/dev/sda:\n"
        " Timing cached reads:   21870 MB in  1.99 seconds = 10986.53 MB/sec\n"
        " Timing buffered disk reads: 428 MB in  3.01 seconds = 142.20 MB/sec\n"
    ),
    starts=re.compile(
        r"^\s*/dev/[\w/.:-]{1,100}:\s*$|^\s*Timing [\w_ -]{1,40}reads?:|\bhdparm\b.{0,300}\d\s*[kMG]i?B/s",
        re.IGNORECASE,
    ),
    read=_read,
    releases="6 to 9",
)
