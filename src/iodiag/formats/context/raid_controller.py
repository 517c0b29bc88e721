"""RAID controllers by their tools: storcli and perccli (text and JSON), MegaCli, ssacli, hpacucli, arcconf.

Read are the battery or capacitor behind the write cache, each volume's state and write policy, and the state
and errors of each disk. The system's name of a volume is known where the tool prints it (OS Drive Name, Disk
Name). A capacitor counts as a battery.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from iodiag.formats.context._common import Values, fact, level_of
from iodiag.formats.context._controller_tools import (
    ARCCONF_TITLE,
    SSACLI_TITLE,
    STORCLI_JSON,
    Said,
    arcconf,
    megacli,
    ssacli,
    storcli,
    storcli_json,
)
from iodiag.formats.context._health import counter, disk_name
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.health_counters import sentence

_STORCLI = r"^\s*(?:CLI Version = \d|Controller = \d{1,3}\s*$|DG/VD\s+TYPE\s+State\s|Ctl Model\s.*\bBBU\b)"
_MEGACLI = r"^\s*(?:Adapter #?\d{1,3}(?: -- Virtual Drive Information:)?\s*$|BBU status for Adapter: \d)"
_MEGACLI_PART = r"^\s*(?:Virtual Drive: \d{1,4} \(Target Id|Enclosure Device ID: \d{1,4}\s*$)"

_BATTERIES = (
    ("failed", r"(?i)fail|fld|degraded|dgd|replac|bad|non.?operational|needs? attention"),
    ("missing", r"(?i)missing|msng|not present|not installed|absent"),
    ("learning", r"(?i)learn|charg"),
    ("good", r"(?i)opt|ok|operational|good|healthy|^ready"),
)
_STATES = (
    ("optimal", r"(?i)optl$|(?<!sub)optimal|ok$"),
    ("degraded", r"(?i)dgrd|pdgd|(?:partially )?degraded|interim recovery|suboptimal|impacted"),
    ("rebuilding", r"(?i)rec\b|recover|rebuild|ready for rebuild"),
    ("failed", r"(?i)ofln|offline|offln|fail"),
)
_GONE = r"(?i)fail|offln|offline|ubad|unconfigured\(bad\)|msng|missing|predictive"
_COUNTS = {
    "Media Error Count": "uncorrected_errors",
    "Other Error Count": "other_errors",
    "Predictive Failure Count": "predicted_failures",
}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    ways: tuple[tuple[str, Callable[[Sequence[Line]], tuple[int, list[Said]]]], ...] = (
        (_STORCLI, storcli),
        (STORCLI_JSON, storcli_json),
        (rf"{_MEGACLI}|{_MEGACLI_PART}", megacli),
        (rf"^{SSACLI_TITLE}$", ssacli),
        (rf"^(?:{ARCCONF_TITLE})$", arcconf),
    )
    tool = next((read for starts, read in ways if re.match(starts, lines[0].text)), None)
    if tool is None:
        return None
    used, said = tool(lines)
    parts: dict[tuple[str, str], dict[str, Said]] = {}
    for one in said:
        parts.setdefault((one.controller, one.part), {}).setdefault(one.key, one)
    facts = tuple(found for (of, part), named in parts.items() if (found := _fact(of, part, named, source)))
    return ContextBlock(used, facts=facts, layout=tool.__name__) if facts else None


def _fact(controller: str, part: str, said: Mapping[str, Said], source: str) -> Fact | None:
    """What one part of a controller is and does; None where the listing says nothing that counts."""
    words = {key: one.words for key, one in said.items()}
    kind = part.partition(" ")[0]
    read = {"": _controller, "volume": _volume, "disk": _disk}[kind]
    values = {key: value for key, value in read(words) if value is not None}
    if values.keys() <= {"device", "level", "device_id"}:
        return None
    named = f"controller {controller}".strip() + (f" {part}" if part else "")
    whose: Values = {
        "controller": controller,
        "part": part or None,
        "number": part.partition(" ")[2] or None,
        "behind": named if kind == "disk" else None,
    }
    told = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in values.items())
    text = sentence(named, values) if kind == "disk" else f"{named}: {told}"
    lines = sorted({one.line for one in said.values()}, key=lambda line: line.number)
    return fact("raid-controller", text, whose | values, source, lines)


Found = Iterator[tuple[str, float | str | None]]


def _controller(words: Mapping[str, str]) -> Found:
    """The state of what keeps the cache's content without power, and whether the cache is off."""
    if words.get("Battery Replacement required") == "Yes":
        yield "battery", "failed"
    elif words.get("Learn Cycle Active") == "Yes":
        yield "battery", "learning"
    else:
        state = words.get("Battery State", words.get("Battery/Capacitor Status", ""))
        yield "battery", _first(_BATTERIES, state)
    if re.search("(?i)disabled", cache := words.get("Cache Status", "")):
        yield "cache", cache.lower()


def _volume(words: Mapping[str, str]) -> Found:
    yield (
        "device",
        disk_name(words.get("OS Drive Name", words.get("Disk Name", "")).split(" (")[0].strip()) or None,
    )
    words_of_level = words.get("TYPE", words.get("Fault Tolerance", words.get("RAID Level", "")))
    level = re.match(r"(?:RAID ?|Primary-)?(\d)(?:[+]?(\d))?", words_of_level)
    yield "level", level_of(f"raid{level[1]}{level[2] or ''}") if level else None
    yield "state", _first(_STATES, words.get("State", words.get("Status", "")))
    policy = words.get("Cache", words.get("Current Cache Policy", words.get("Caching", "")))
    yield "write_policy", _policy(policy)
    configured = words.get("Default Cache Policy", words.get("Write Cache(initial setting)", ""))
    yield "configured_policy", _policy(configured)


def _policy(words: str) -> str | None:
    found = re.match(
        r"(?:N?R|RA)?(?:F|A)?(WB|WT)[CD]?\b|(Write ?Back|Enabled)|(Write ?Through|Disabled)", words
    )
    return ("write back" if found[1] == "WB" or found[2] else "write through") if found else None


def _disk(words: Mapping[str, str]) -> Found:
    state = words.get("Firmware state", words.get("State", words.get("Status", "")))
    yield "disk_state", state[:60] if re.match(_GONE, state) else None
    number = re.match(r"\d{1,5}$", words.get("Device Id", words.get("DID", "")))
    yield "device_id", number[0] if number else None
    for key, name in _COUNTS.items():
        if key in words:
            yield name, counter(words[key])
    flagged = words.get("S.M.A.R.T alert flagged by drive", words.get("Drive has flagged a S.M.A.R.T alert"))
    yield "health", "FAILED" if flagged == "Yes" or re.match("Predictive", state) else None
    if warmth := re.search(r"(\d{1,3}) ?C\b", words.get("Drive Temperature", "")):
        yield "temperature_c", float(warmth[1])


def _first(named: Sequence[tuple[str, str]], words: str) -> str | None:
    return next((name for name, pattern in named if re.search(pattern, words)), None)


FORMAT = ContextFormat(
    id="raid-controller",
    title="storcli, perccli, MegaCli, ssacli, arcconf: battery, write policy and state of RAID controllers",
    example=(
        "Controller = 0\n"
        "Status = Success\n"
        "\n"
        "VD LIST :\n"
        "=======\n"
        "\n"
        "---------------------------------------------------------------\n"
        "DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name \n"
        "---------------------------------------------------------------\n"
        "0/0   RAID5 Optl  RW     Yes     RWTD  -   ON   10.914 TB data \n"
        "---------------------------------------------------------------\n"
    ),
    starts=re.compile(
        rf"{_STORCLI}|{STORCLI_JSON}|{_MEGACLI}|{_MEGACLI_PART}|^{SSACLI_TITLE}$|^(?:{ARCCONF_TITLE})$"
    ),
    read=_read,
    releases="storcli and perccli 1.0 and later, MegaCli 8, hpacucli 9 and ssacli 2 and later, arcconf",
    not_read="enclosures, event logs",
)
