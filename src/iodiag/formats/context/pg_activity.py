"""pg_stat_activity of PostgreSQL as psql prints it: who is active, who waits for the log.

A backend counts as in commit when its statement is COMMIT or END, or when it waits for the
write-ahead log (WALWrite, WALSync; before release 10 WALWriteLock) or a standby (SyncRep). Who reads that log
(WALRead) sends it to a standby.
Read are listings of sessions, `\\x` records, and counts by wait event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import MAX_BLOCK_LINES, fact, integer
from iodiag.formats.context._result_tables import Record, Records, aligned, boxed
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_LOG_WAIT = r"(?i)^(?:WAL(?!Read|Sender|Receiver|Writer|Summarizer)\w*|SyncRep|XactSync\w*)$"
_AWAITS_WORK = (
    r"(?:Client|SSLOpen|GSSOpen|LibPQWal|WalReceiverWait|WalSenderW)\w*$|(?:\w+Main|BgWriterHibernate)$"
)
"""The events of the types Client and Activity (PostgreSQL's table of wait events) by name alone."""
_COMMIT = r"(?i)^\s*(?:commit|end)\b"
_LISTING = r"(?is)^\s*select\b.*(?:pg_stat_activity|wait_event)"
_STATEMENTS = ("query", "q", "current_query", "left", "substr", "substring")
_RECORD = r"^-\[ RECORD \d{1,9} \][-+]*$"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    records = _records(lines)
    if records is None:
        return None
    rows = [row for row in records.rows if {"state", "wait_event", "waiting"} & set(row.values)]
    if not rows:
        return None
    own = [row for row in rows if not re.match(_LISTING, _statement(row))]
    active = [row for row in own if _is_active(row)]
    waiting = [row for row in active if re.match(_LOG_WAIT, row.values.get("wait_event", ""))]
    commits = [row for row in active if row in waiting or re.match(_COMMIT, _statement(row))]
    count, in_wait, in_commit = _count(active), _count(waiting), _count(commits)
    values = {
        "sessions": _count(own),
        "active_sessions": count,
        "sessions_in_commit": in_commit,
        "sessions_waiting_for_log": in_wait,
        "commit_share_pct": round(100 * in_commit / count, 1) if count else None,
    }
    text = f"{in_commit} of {count} active sessions were in COMMIT, {in_wait} waited for the log"
    evidence = fact("pg-activity", text, values, source, [lines[0], lines[records.used - 1]])
    return ContextBlock(records.used, facts=(evidence,), layout=records.layout)


def _records(lines: Sequence[Line]) -> Records | None:
    if re.match(_RECORD, lines[0].text.strip()):
        return _expanded(lines)
    return boxed(lines) if lines[0].text.lstrip().startswith("|") else aligned(lines)


def _expanded(lines: Sequence[Line]) -> Records | None:
    rows: list[Record] = []
    values: dict[str, str] = {}
    used = 0
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        name, bar, value = line.text.partition("|")
        if re.match(_RECORD, line.text.strip()):
            values = {}
            rows.append(Record(values, line))
        elif bar and re.fullmatch(r"\s*\w{0,63}\s*", name):
            values.setdefault(name.strip().lower(), value.strip())
        else:
            break
        used = at + 1
    return Records(rows, used, None, "expanded") if rows else None


def _is_active(row: Record) -> bool:
    """By the state; where there is none, whoever does not wait for its client or for work."""
    if "state" in row.values:
        return row.values["state"] == "active"
    if "wait_event_type" in row.values:
        return row.values["wait_event_type"] not in ("Client", "Activity")
    return not re.match(_AWAITS_WORK, row.values.get("wait_event", ""))


def _statement(row: Record) -> str:
    return next((row.values[name] for name in _STATEMENTS if name in row.values), "")


def _count(rows: Sequence[Record]) -> int:
    """How many sessions the rows stand for: a row with a count for that many."""
    return sum(n if (n := integer(row.values.get("count", ""))) is not None else 1 for row in rows)


FORMAT = ContextFormat(
    id="pg-activity",
    title="pg_stat_activity: active backends and those that wait for the log",
    example=(
        " pid | state  | wait_event_type | wait_event | query \n"
        "-----+--------+-----------------+------------+-------\n"
        " 314 | active | LWLock          | WALWrite   | END;\n"
        " 316 | active | IO              | WALSync    | END;\n"
        "(2 rows)\n"
    ),
    starts=re.compile(r"(?:^|\|)\s{0,40}(?:wait_event|waiting)\s{0,40}(?:\||$)|^-\[ RECORD 1 \]"),
    read=_read,
    releases="PostgreSQL 9.2 and later",
)
