"""DRBD: what each node of a replicated device holds, by `drbdsetup status --statistics` and /proc/drbd.

Of a node's own role are read, in requests at the moment: those of its users that are not yet answered
(`upper_pending`), at its own disk (`lower_pending`), sent to peers that have not acknowledged them
(`peer_pending`), and received from a peer and not yet acknowledged (`unacked`); and `out_of_sync_kb`. Of
several volumes and peers they are added up. `peer` is "away" where no other node is connected, "not waited
for" under protocol A, "copying" while the nodes are brought in step. Meanings of the fields: drbdsetup(8);
DRBD 8.4 User's Guide, "Performance indicators" (ap, lo, pe, ua, oos).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iodiag.formats.context._common import Values, fact, parse_number
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_ROLE = r"(?P<role>Primary|Secondary|Unknown)\b"
_PROC = rf"^\s*(?P<minor>\d{{1,7}}):\s+cs:\w+\s+(?:ro|st):{_ROLE}"
_STATUS = rf"^\s*[\w.-]+\s+(?:node-id:\d+\s+)?role:{_ROLE}"
_AWAY = (
    r"(?:cs|connection):(?:StandAlone|Disconnecting|Unconnected|Timeout|BrokenPipe|NetworkFailure|\w*Error|"
)
_AWAY += r"TearDown|WFConnection|WFReportParams|Connecting)\b"
_THERE = r"cs:(?!\w*Error)\w+|connection:Connected|\n\s+[\w.-]+\s+(?:connection:Connected\s+)?role:[PS]"
_FIELD = r"(?P<key>[a-z]{1,20}(?:-[a-z]{1,20}){0,3}):(?P<value>\S{1,100})"
_OF_PART = rf"^\s+(?:[\w.-]+\s+)?{_FIELD}(?:\s+{_FIELD.replace('?P<key>', '').replace('?P<value>', '')})*\s*$"
_COUNTS = {
    **{"upper-pending": "upper_pending", "lower-pending": "lower_pending", "pending": "peer_pending"},
    **{"ap": "upper_pending", "lo": "lower_pending", "pe": "peer_pending"},
    **{"unacked": "unacked", "ua": "unacked", "out-of-sync": "out_of_sync_kb", "oos": "out_of_sync_kb"},
}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    match = re.match(_PROC, lines[0].text) or re.match(_STATUS, lines[0].text)
    if match is None:
        return None
    used = 1 + sum(1 for _ in _parts(lines))
    values: Values = {"role": match["role"]}
    for field in re.finditer(_FIELD, "\n".join(line.text for line in lines[:used])):
        number = parse_number(field["value"])
        if field["key"] == "minor" and "device" not in values:
            values["device"] = f"drbd{field['value']}"
        if number is not None and (name := _COUNTS.get(field["key"])):
            values[name] = number + float(values.get(name) or 0)
    if "minor" in match.groupdict():
        values["device"] = f"drbd{match['minor']}"
    if peer := _peer("\n".join(line.text[:2000] for line in lines[:used])):
        values["peer"] = peer
    text = "{device}" if "device" in values else "a replicated device (DRBD)"
    text += " is {role} on this node"
    if "upper_pending" in values and "lower_pending" in values:
        held = (
            f"{values['upper_pending']:g} requests of its users, {values['lower_pending']:g} at its own disk"
        )
        text += f"; it held {held}"
    return ContextBlock(used, facts=(fact("drbd", text, values, source, lines[:used]),), layout="drbd")


def _peer(text: str) -> str:
    """What the state of the connection says of the other node, see above; empty where it is there."""
    if re.search(_AWAY, text) and not re.search(_THERE, re.sub(_AWAY, "", text)):
        return "away"
    if re.search(r"\bds:\S{1,40}\s+A\b", text):
        return "not waited for"
    return "copying" if re.search(r"(?:cs|replication):(?:Paused)?Sync(?:Source|Target|S|T)\b", text) else ""


def _parts(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines of a resource below its first: indented further, and of nothing but fields."""
    indent = len(lines[0].text) - len(lines[0].text.lstrip())
    for line in lines[1:200]:
        is_further = len(line.text) - len(line.text.lstrip()) > indent
        if not is_further or not re.match(_OF_PART, line.text) or re.match(_PROC, line.text):
            return
        yield line


FORMAT = ContextFormat(
    id="drbd",
    title="drbdsetup status, /proc/drbd: which node of a replicated device holds requests",
    example=(
        "mail role:Primary suspended:no\n"
        "  volume:0 minor:3 disk:UpToDate\n"
        "      read:1200 written:88012 upper-pending:2 lower-pending:0 al-suspended:no blocked:no\n"
        "  node-b connection:Connected role:Secondary congested:no\n"
        "    volume:0 replication:Established peer-disk:UpToDate\n"
        "        received:0 sent:88012 out-of-sync:0 pending:2 unacked:0\n"
    ),
    starts=re.compile(rf"{_PROC}|{_STATUS}".replace("?P<role>", "").replace("?P<minor>", "")),
    read=_read,
    releases="DRBD 8.3 to 9",
    not_read="versions, and the progress of a resynchronisation",
)
