"""/proc/mdstat of Linux 2.6 and later: the md arrays, their members and what they are busy with.

An array is a line with its name, state, level and members (`sdc1[4](F)`: slot 4, failed; `(S)`
spare, `(W)` write-mostly, `(J)` journal, `(R)` replacement), a line with its geometry (`level
5, 64k chunk, algorithm 2 [4/3] [UU_U]`), and where it applies lines with progress and bitmap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import pyparsing as pp

from iodiag.formats.context._common import MAX_BLOCK_LINES, describe, fact, level_of, origin, parse_number
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_HEAD = r"md[\w/.-]*\s*:\s*(?:active|inactive|clear|readonly)\b"
_FIRST = rf"(?:^|\s)Personalities\s+:|^\s*{_HEAD}"
_LINE = (
    rf"^\s*(?:Personalities\s*:|read_ahead |{_HEAD}|\d+ blocks\b|bitmap:|unused devices:"
    r"|\[[=>.]+\]|(?:resync|recovery|reshape|check|repair)\s*=|journal:|ppl:)"
)
_CONTINUED = (
    r"^\s*(?:(?:\S+\[\d+\](?:\([A-Z]\))*|super|external:\S+|level|algorithm|chunks?,?|blocks|near-copies|"
    r"far-copies|offset-copies|rounding|pages|finish=\S+|speed=\S+|\[\d+/\d+\]|\[[U_]+\]|[\d.]+[kKMGB%]*,?|"
    r"\([\d/]+\)|=|raid\d+)(?:\s+|$)){1,200}$"
)

# the facts among the words behind an array's members, each under its own name
_DETAILS = re.compile(
    r"""
    (?<!\d)(?P<blocks>\d{1,18})\s*blocks
    | (?<!\d)(?P<chunk>\d{1,18})\s*[kK][ ]chunks?\b
    | (?<!\d)(?P<copies>\d{1,18})\s*(?P<arrangement>(?:near|far|offset)-copies)
    | \[(?P<slots>\d{1,5})/(?P<active>\d{1,5})\]
    | \[(?P<health>[U_]{1,4096})\]
    | (?P<activity>resync|recovery|reshape|check|repair)\s*=\s*
      (?:(?P<pending>DELAYED|PENDING|REMOTE)|(?P<progress>[\d.]{1,8})\s*%)
    | finish=\s*(?P<finish>[\d.]{1,12})\s*min
    | speed=\s*(?P<speed>\d{1,12})\s*K/sec
    """,
    re.VERBOSE,
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    used = _extent(lines)
    text = "\n".join(line.text for line in lines[:used])
    arrays = tuple(_arrays(text, lines))
    if not arrays and "Personalities" not in lines[0].text:
        return None
    devices = tuple(_device(array, source) for array in arrays)
    facts = tuple(_fact(array, source) for array in arrays)
    if not arrays:
        facts = (fact("mdstat", "no md array was running", {"arrays": 0}, source, lines[:used]),)
    return ContextBlock(used, devices, facts, layout="mdstat")


def _extent(lines: Sequence[Line]) -> int:
    """How many lines belong to the block; blank ones only where more of it follows."""
    used = 1
    for at, line in enumerate(lines[1:MAX_BLOCK_LINES], 1):
        if re.match(_LINE, line.text) or (used == at and re.match(_CONTINUED, line.text)):
            if line.text.lstrip().startswith("Personalities"):
                break
            used = at + 1
        elif line.text.strip():
            break
    return used


class _Array(NamedTuple):
    head: pp.ParseResults
    details: dict[str, Any]
    line: Line


@cache
def _head_grammar() -> pp.ParserElement:
    """`md0 : active (auto-read-only) raid1 sdb1[1] sda1[0](W)`."""
    flag = pp.Regex(r"\(([A-Z])\)")
    member = pp.Group(
        pp.Regex(r"[\w!/.:+-]+(?=\[\d)")("name")
        + pp.Suppress("[")
        + pp.Regex(r"\d{1,6}")("role")
        + pp.Suppress("]")
        + pp.ZeroOrMore(flag)("flags")
    )
    state = pp.Regex(r"active|inactive|clear|readonly") + pp.ZeroOrMore(
        pp.Regex(r"\((?:auto-)?read-only\)|broken")
    )
    level = pp.Regex(r"raid(?:10|[014-6])|linear|multipath|faulty|container")
    return (
        pp.Regex(r"md[\w/.-]*")("name")
        + pp.Suppress(":")
        + state("state")
        + pp.Optional(level)("level")
        + pp.ZeroOrMore(member)("members")
    )


def _arrays(text: str, lines: Sequence[Line]) -> Iterator[_Array]:
    heads = [m.start() for m in re.finditer(rf"(?<!\S){_HEAD}", text)]
    for begin, end in zip(heads, [*heads[1:], len(text)], strict=False):
        body = text[begin:end]
        head, head_end = next(((t, e) for t, _, e in _head_grammar().scan_string(body)), (None, 0))
        if head is None:
            continue
        details: dict[str, Any] = {}
        for found in _DETAILS.finditer(body, head_end):
            for key, value in found.groupdict().items():
                if value is not None:
                    details.setdefault(key, value)
        yield _Array(head, details, lines[text.count("\n", 0, begin)])


def _legs(array: _Array) -> list[pp.ParseResults]:
    """The members that hold data, by slot: no spare, failed, journal or replacement device."""
    members = [m for m in array.head.members if not set(m.flags) & {"(S)", "(F)", "(J)", "(R)"}]
    return sorted(members, key=lambda member: int(member.role))


def _copies(array: _Array) -> int | None:
    if array.head.level == "raid1" and "slots" in array.details:
        return int(array.details["slots"])
    copies = array.details.get("copies")
    return int(copies) if copies else None


def _activity(array: _Array) -> str | None:
    details = array.details
    if "activity" not in details:
        return None
    rest = f"{details['progress']}%" if "progress" in details else details.get("pending", "").lower()
    return f"{details['activity']} {rest}".strip()


def _device(array: _Array, source: str) -> Device:
    details = array.details
    slots, active = details.get("slots"), details.get("active")
    return describe(
        array.head.name,
        origin("mdstat", source, array.line),
        kind="md",
        level=level_of(array.head.level),
        chunk_kb=parse_number(details.get("chunk")) or None,
        copies=_copies(array),
        members=tuple(member.name for member in _legs(array)),
        slots=int(slots) if slots else None,
        active_slots=int(active) if active else None,
        activity=_activity(array),
        size_kb=parse_number(details.get("blocks")),
    )


def _fact(array: _Array, source: str) -> Fact:
    head, details = array.head, array.details
    flags = [flag for member in head.members for flag in member.flags]
    slots, active = parse_number(details.get("slots")), parse_number(details.get("active"))
    activity = _activity(array)
    said = [f"{{array}} was {' '.join(head.state)}"]
    said += [f"with {active:g} of {slots:g} members"] if slots is not None and active is not None else []
    said += [f"({activity})"] if activity else []
    if "speed" in details and "finish" in details:
        said += [f"at {details['speed']} kB/s, {details['finish']} minutes from its end"]
    values = {
        "array": head.name,
        "state": head.state[0],
        "level": level_of(head.level),
        "slots": slots,
        "active_slots": active,
        "health": details.get("health"),
        "failed_members": flags.count("(F)"),
        "spare_members": flags.count("(S)"),
        "activity": details.get("activity"),
        "progress_pct": parse_number(details.get("progress")),
        "speed_kb_per_s": parse_number(details.get("speed")),
        "finish_minutes": parse_number(details.get("finish")),
    }
    return fact("mdstat", " ".join(said), values, source, [array.line])


FORMAT = ContextFormat(
    id="mdstat",
    title="/proc/mdstat: md arrays, members and resync",
    example=(
        "Personalities : [raid6] [raid5] [raid4]\n"
        "md0 : active raid5 sdd[3] sdc[2](F) sdb[1] sda[0]\n"
        "      12567552 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/3] [UU_U]\n"
        "      [=======>.............]  check = 38.7% (1625860/4189184) finish=0.7min speed=54195K/sec\n"
        "\n"
        "unused devices: <none>\n"
    ),
    starts=re.compile(_FIRST),
    read=_read,
    releases="Linux 2.6 and later",
)
