"""DRBD: what each node of a replicated device holds, by `drbdsetup status --statistics` and /proc/drbd.

Of a node's own role are read for each volume, in requests at the moment: those of its users that are not yet
answered (`upper_pending`), at its own disk (`lower_pending`), sent to peers that have not acknowledged them
(`peer_pending`), and received from a peer and not yet acknowledged (`unacked`); and `out_of_sync_kb`. Of
several peers they are added up. `peer` is "away" where no other node is connected, "not waited for" under
protocol A, "copying" while the nodes are brought in step. `suspended` tells that requests are held until
it is resumed, and why (`user`, `fencing`, `quorum`; `yes` in /proc/drbd): those in flight then are at neither
disk nor peer, and those that come are not counted. Meanings of the fields: drbdsetup(8); DRBD 8.4 User's
Guide, "I/O state flags" and "Performance indicators" (ap, lo, pe, ua, oos).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iodiag.formats.context._common import Values, fact, parse_number
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_ROLE = r"(?P<role>Primary|Secondary|Unknown)"
_KEY = r"[a-z][a-z0-9]{0,19}(?:[-_][a-z0-9]{1,20}){0,3}"
_FIELD = rf"({_KEY}):(\S{{1,100}})"
_NEXT = rf"(?:\s+{_KEY}:\S{{1,100}})"
_PROC = rf"^\s*(?P<minor>\d{{1,7}}):\s+cs:\w+\s+(?:ro|st):{_ROLE}\b"
_STATUS = rf"^\s*[\w.][\w.-]*\s+(?:node-id:\d+\s+)?role:{_ROLE}{_NEXT}*\s*$"
_OF_PART = rf"^(?:\s+[\w.-]+)?{_NEXT}+\s*$"
_AWAY = re.compile(
    "StandAlone|Disconnecting|Unconnected|Timeout|BrokenPipe|NetworkFailure|.*Error|TearDown|Connecting"
    "|WFConnection|WFReportParams"
)
_COUNTS = {
    **{"upper-pending": "upper_pending", "lower-pending": "lower_pending", "pending": "peer_pending"},
    **{"ap": "upper_pending", "lo": "lower_pending", "pe": "peer_pending"},
    **{"unacked": "unacked", "ua": "unacked", "out-of-sync": "out_of_sync_kb", "oos": "out_of_sync_kb"},
}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    match = re.match(_PROC, lines[0].text) or re.match(_STATUS, lines[0].text)
    if match is None:
        return None
    read = [lines[0], *_parts(lines)]
    rows: list[dict[str, str]] = [dict(re.findall(_FIELD, line.text[:2000])) for line in read]
    rows[0] |= match.groupdict()
    of_all: Values = {"role": match["role"]}
    if _is_away(rows):
        of_all["peer"] = "away"
    elif re.search(r"\bds:\S{1,40}\s+A\b", read[0].text[:2000]):
        of_all["peer"] = "not waited for"
    if (why := rows[0].get("suspended", "no")) != "no":
        of_all["suspended"] = why
    elif re.search(r"\bds:\S{1,40}\s+[ABC]\s+s", read[0].text[:2000]):
        of_all["suspended"] = "yes"
    facts = [fact("drbd", _said(one), one, source, read) for one in (v | of_all for v in _volumes(rows))]
    return ContextBlock(len(read), facts=tuple(facts), layout="drbd")


def _volumes(rows: Sequence[dict[str, str]]) -> Sequence[Values]:
    """What is told of each volume; of none where the status has neither counts nor minors."""
    volumes: dict[str, Values] = {}
    number = "0"  # a single one is not numbered
    for row in rows:
        number = row.get("volume", number)
        values = volumes.setdefault(number, {})
        if "minor" in row:
            values["device"] = f"drbd{row['minor']}"
        if re.match("(?:Paused)?Sync(?:Source|Target|S|T)$", row.get("cs", row.get("replication", ""))):
            values["peer"] = "copying"
        for key, text in row.items():
            if key in _COUNTS and (count := parse_number(text)) is not None:
                values[_COUNTS[key]] = count + float(values.get(_COUNTS[key]) or 0)
    return [values for values in volumes.values() if values] or [{}]


def _is_away(rows: Sequence[dict[str, str]]) -> bool:
    """Whether other nodes are told of and none is there; of one that is, some print the role alone."""
    links = [row.get("connection", "Connected") for row in rows[1:] if row.keys() & {"connection", "role"}]
    links += [row["cs"] for row in rows if "cs" in row]
    return bool(links) and all(_AWAY.fullmatch(link) for link in links)


def _said(values: Values) -> str:
    text = ("{device}" if "device" in values else "a replicated device (DRBD)") + " is {role} on this node"
    if "upper_pending" in values and "lower_pending" in values:
        text += f"; it held {values['upper_pending']:g} requests of its users, "
        text += f"{values['lower_pending']:g} at its own disk"
    return text + "; it is suspended ({suspended})" * ("suspended" in values)


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
