"""The listings of the tools of RAID controllers: storcli, perccli, MegaCli, ssacli, hpacucli and arcconf.

Each reader gives how many lines are its tool's, and what they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from iodiag.formats.context._common import json_object, solid
from iodiag.formats.types import Line


class Said(NamedTuple):
    """One value of a listing and whose it is: `part` is "" (the controller), `volume 0` or `disk 252:3`."""

    controller: str
    part: str
    key: str
    words: str
    line: Line


_RULER = r"\s*(?P<of_table>-{5,})\s*|\s*={3,}\s*"
_HEADER = r"\s*(?:DG/VD|EID:Slt|Ctl Model)\s"
_EQUALS = r"\s*(?P<key>[A-Z][\w .()/:-]{0,60}?)\s*= ?(?P<words>.{0,200})"
_HEADING = r"\s*(?P<title>\S.{0,100}?)\s*:\s*"
_LEGEND = r"\s*\S.*=.*|\s*Check Consistency\s*|Generating detailed summary of .*"


def storcli(lines: Sequence[Line]) -> tuple[int, list[Said]]:
    """storcli and perccli: pairs behind `=`, headings before `:`, tables between three rulers."""
    found: list[Said] = []
    controller = part = ""
    header: list[str] = []
    used = rulers = 0
    for at, line in solid(lines):
        text = line.text
        if ruler := re.fullmatch(_RULER, text):
            rulers = (rulers + 1) % 3 if ruler["of_table"] else 0
        elif rulers == 1 or re.match(_HEADER, text):
            header, rulers = text.split(), 1
        elif rulers == 2:
            found += _row(header, text.split(), controller, line)
        elif pair := re.fullmatch(_EQUALS, text):
            controller = pair["words"].strip() if pair["key"] == "Controller" else controller
            found.append(Said(controller, part, pair["key"], pair["words"].strip(), line))
        elif heading := re.fullmatch(_HEADING, text):
            part = _part(heading["title"])
        elif not re.fullmatch(_LEGEND, text):
            break
        used = at
    return used, found


STORCLI_JSON = r'^\s*(?:\{\s*)?"Controllers"\s*:\s*\['
_DEEPEST = 8
_NEAR = 500


def storcli_json(lines: Sequence[Line]) -> tuple[int, list[Said]]:
    """The JSON (J) of storcli and perccli: the keys and tables of the text, below a status of the command."""
    decoded = json_object(lines, "Controllers")
    found: list[Said] = []
    for answer in decoded.items("Controllers") if decoded else ():
        status = answer.get("Command Status") if isinstance(answer, dict) else None
        if isinstance(status, dict):
            found += _said_in(answer.get("Response Data"), "", str(status.get("Controller", "")), lines[0])
    return (decoded.used if decoded else 0), _with_lines(found, lines[: decoded.used] if decoded else ())


def _said_in(value: Any, title: str, controller: str, line: Line, depth: int = 0) -> Iterator[Said]:
    """What an object, and the objects and tables in it, say of the part that a title names."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inside in value.items():
            if isinstance(inside, dict | list):
                yield from _said_in(inside, key if _part(key) else title, controller, line, depth + 1)
            else:
                yield Said(controller, _part(title), key, str(inside).strip(), line)
    for row in value if isinstance(value, list) else ():
        if isinstance(row, dict):
            yield from _row(list(row), [str(cell).strip() for cell in row.values()], controller, line)


def _with_lines(found: Sequence[Said], lines: Sequence[Line]) -> list[Said]:
    """What was said, with the lines that hold it: each stands behind the one before."""
    result: list[Said] = []
    at = 0
    for said in found:
        words = json.dumps(said.words)[1:-1]
        there = [n for n in range(at, min(at + _NEAR, len(lines))) if words and words in lines[n].text]
        at = next((n for n in there if said.key in lines[n].text), there[0] if there else at)
        result.append(said._replace(line=lines[at]))
    return result


def _part(title: str) -> str:
    """Which part a heading is of: `/c0/v1`, `VD1 Properties`, `Drive /c0/e252/s3 State`."""
    if volume := re.fullmatch(r"(?:/c\d{1,3}/v|VD)(\d{1,4})(?: Properties)?", title):
        return f"volume {volume[1]}"
    disk = re.match(r"Drive /c\d{1,3}(?:/e(\d{1,4}))?/s(\d{1,4})\b", title)
    return f"disk {disk[1] or ''}:{disk[2]}" if disk else ""


def _row(header: list[str], cells: list[str], controller: str, line: Line) -> Iterator[Said]:
    """The cells that say a state; behind a model of several words they are counted from the end."""
    if header[:1] == ["Ctl"] and "BBU" in header and len(cells) >= len(header):
        yield Said(cells[0], "", "Battery State", cells[header.index("BBU") - len(header)], line)
    elif header[:2] == ["Model", "State"] and len(cells) > 1:
        yield Said(controller, "", "Battery State", cells[1], line)
    elif header[:2] == ["Property", "Value"] and re.match(r"(?:Battery )?State ", " ".join(cells)):
        yield Said(controller, "", "Battery State", cells[-1], line)
    elif kind := {"DG/VD": "volume", "EID:Slt": "disk"}.get(header[0] if header else ""):
        part = f"{kind} {cells[0].rpartition('/')[2]}"
        for key, words in zip(header, cells, strict=False):
            if key in ("DID", "TYPE", "State", "Cache"):
                yield Said(controller, part, key, words, line)


_COLON = r"(?P<indent>\s*)(?P<key>[A-Z][\w .#'/()-]{0,60}?)\s*:\s?(?P<words>.{0,200})"
_ADAPTER = r"\s*(?:Adapter #?(?P<first>\d{1,3})\b.*|BBU status for Adapter: (?P<second>\d{1,3})\s*)"
_SAMPLES = r"\s*(?:Device:?\s.*\b(?:tps|\S+/s)\b|avg-cpu)"


def megacli(lines: Sequence[Line]) -> tuple[int, list[Said]]:
    """MegaCli -LDInfo, -PDList, -AdpBbuCmd: pairs behind `:`; the keys that begin a part name it."""
    found: list[Said] = []
    controller = part = enclosure = ""
    used = 0
    for at, line in solid(lines):
        text = line.text
        if adapter := re.fullmatch(_ADAPTER, text):
            controller, part = adapter["first"] or adapter["second"], ""
        elif (pair := re.fullmatch(_COLON, text)) and not re.match(_SAMPLES, text):
            key, words = pair["key"], pair["words"].strip()
            if key in ("Virtual Drive", "CacheCade Virtual Drive"):
                part = f"volume {words.split(' ')[0]}"
            elif key == "Enclosure Device ID":
                enclosure, part = words, ""
            elif key == "Slot Number":
                part = f"disk {enclosure}:{words}"
            found.append(Said(controller, part, key, words, line))
        else:
            break
        used = at
    return used, found


SSACLI_TITLE = (
    r"\s{0,3}(?:HPE?|MSCC|Smart|SmartRAID|Dynamic|Microchip)\b.{0,60} in Slot (?P<slot>\d{1,4})\b.{0,60}"
)
_SHORT = r"\s+(?P<kind>logicaldrive|physicaldrive) (?P<name>\S{1,20}) \((?P<words>.{1,200})\)\s*"
_NAMED = r"\s+(?:(?P<volume>Logical Drive: \d{1,4})|physicaldrive (?P<disk>\S{1,20}))\s*"


def ssacli(lines: Sequence[Line]) -> tuple[int, list[Said]]:
    """ssacli and hpacucli `ctrl all show [config [detail]]`: an indented tree below each controller."""
    found: list[Said] = []
    controller = part = ""
    used = 0
    for at, line in solid(lines):
        text = line.text
        if title := re.fullmatch(SSACLI_TITLE, text):
            controller, part = title["slot"], ""
        elif short := re.fullmatch(_SHORT, text):
            kind = "volume" if short["kind"] == "logicaldrive" else "disk"
            level = re.search(r"RAID [\d+]+", short["words"])
            named = f"{kind} {short['name']}"
            found.append(Said(controller, named, "Status", short["words"].rpartition(",")[2].strip(), line))
            if level:
                found.append(Said(controller, named, "Fault Tolerance", level.group(), line))
        elif named_part := re.fullmatch(_NAMED, text):
            disk, volume = named_part["disk"], (named_part["volume"] or "").rpartition(" ")[2]
            part = f"disk {disk}" if disk else f"volume {volume}"
        elif pair := re.fullmatch(_COLON, text):
            if not pair["indent"]:
                break
            part = "" if re.match("Array", pair["key"]) else part
            found.append(Said(controller, part, pair["key"], pair["words"].strip(), line))
        elif not text[:1].isspace():
            break
        used = at
    return used, found


ARCCONF_TITLE = r"Controllers found: \d{1,3}\s*|Logical [Dd]evice [Nn]umber (?P<volume>\d{1,4})\b.{0,60}"
_ARCCONF_SECTION = (
    r"(?:[A-Z][\w ./]{2,50} (?:[Ii]nformation|[Nn]umber \d{1,4})|Command completed successfully\.)\s*"
)
_ARCCONF_NAMES = {
    "Overall Backup Unit Status": "Battery State",
    "Status of logical device": "State",
    "RAID level": "RAID Level",
    "Write-cache mode": "Current Cache Policy",
    "Write-cache status": "Current Cache Policy",
    "Write-cache setting": "Default Cache Policy",
    "S.M.A.R.T.": "Drive has flagged a S.M.A.R.T alert",
}
"""arcconf's names of what the other tools call otherwise, by their spelling since 2005."""


def arcconf(lines: Sequence[Line]) -> tuple[int, list[Said]]:
    """arcconf getconfig (Adaptec): pairs behind `:` below titles, volumes and disks by their numbers."""
    found: list[Said] = []
    part = section = ""
    used = 0
    for at, line in solid(lines):
        text = line.text
        if title := re.fullmatch(ARCCONF_TITLE, text):
            part = f"volume {title['volume']}" if title["volume"] else ""
        elif re.fullmatch(_ARCCONF_SECTION, text):
            part = ""
        elif disk := re.fullmatch(r"\s+Device #(\d{1,4})\s*", text):
            part = f"disk {disk[1]}"
        elif pair := re.fullmatch(r"\s+(?P<key>\S.{0,60}?)\s*: (?P<words>.{1,200})", text):
            key = pair["key"].replace("Logical Device", "logical device")
            is_battery = key == "Status" and re.search("Battery|ZMM", section)
            key = "Battery State" if is_battery else _ARCCONF_NAMES.get(key, key)
            words = re.sub(r"^(?:(On)|Off)\b", lambda on: "Enabled" if on[1] else "Disabled", pair["words"])
            found.append(Said("", part, key, words.strip(), line))
        elif text[:1].isspace():
            section = section if re.fullmatch(r"\s*-{5,}\s*", text) else text
        elif not re.fullmatch(r"-{5,}\s*", text):
            break
        used = at
    return used, found
