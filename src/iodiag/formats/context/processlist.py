"""SHOW [FULL] PROCESSLIST of MySQL, MariaDB and Percona Server: who is active, who is in COMMIT.

Read as the client's box, as \\G, in batch mode, and flattened onto one line. A session counts as
active when its command is no sleep and no replication thread and it is not the listing itself;
as in commit when its statement is COMMIT or its state says so (MySQL manual, "General Thread
States"; MariaDB's `Commit`; `query end` and `Writing to binlog` hold the commit of 5.x).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import fact, parse_number
from iodiag.formats.context._result_tables import STAR, Record, Records, boxed, tabbed, vertical
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_KEYS = """
id user host db command time state info progress rows_sent rows_examined rows_read time_ms stage max_stage
memory_used max_memory_used examined_rows sent_rows query_id info_binary tid
"""
_IDLE = frozenset(
    [
        *("sleep", "daemon", "binlog dump", "binlog dump gtid", "connect", "connect out"),
        *("slave_io", "slave_sql", "slave_worker", "delayed insert", "table dump"),
    ]
)
_SYSTEM_USERS = frozenset(["system user", "event_scheduler"])
_COMMENT = r"(?:/\*.{0,400}?\*/\s*)?"
_COMMIT_STATEMENT = rf"(?i)^\s*{_COMMENT}(?:commit|xa\s+commit)\b"
_COMMIT_STATE = r"(?i)\bcommit|^query end$|^writing to binlog$|binlog write|semi-?sync ack|redo_log_flush"
_OTHER_COMMIT = r"(?i)^committing alter table"
_LISTING = rf"(?is)^\s*{_COMMENT}(?:show\s+(?:full\s+)?processlist|select\b.{{0,2000}}\bprocesslist\b)"
_ROW = (
    r"^\s*(?P<id>\d{1,20})\s+(?P<user>\S+)\s+(?P<host>\S+)\s+(?P<db>\S+)\s+"
    r"(?P<command>Sleep|Query|Execute|Prepare|Daemon|Connect|Binlog Dump(?: GTID)?|Killed|Fetch|Init DB)\s+"
    r"(?P<time>\d{1,12})\s(?P<rest>.*)$"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    records = _records(lines)
    if records is None:
        return None
    rows = [row for row in records.rows if row.values.get("command")]
    if not rows:
        return None
    active = [row for row in rows if _is_active(row)]
    commits = [row for row in active if _is_in_commit(row)]
    text = f"{len(commits)} of {len(active)} active sessions were in COMMIT"
    if records.claimed is not None and records.claimed > len(rows):
        text += f" ({len(rows)} of {records.claimed} rows shown)"
    times = [t for row in commits if (t := parse_number(row.values.get("time"))) is not None]
    values = {
        "sessions": len(rows),
        "active_sessions": len(active),
        "sessions_in_commit": len(commits),
        "commit_share_pct": round(100 * len(commits) / len(active), 1) if active else None,
        "rows_claimed": records.claimed,
        "longest_commit_s": max(times) if times else None,
    }
    evidence = fact("processlist", text, values, source, [lines[0], lines[records.used - 1]])
    return ContextBlock(records.used, facts=(evidence,), layout=records.layout)


def _records(lines: Sequence[Line]) -> Records | None:
    first = lines[0].text
    if STAR.match(first):
        found = vertical(lines, frozenset(_KEYS.split()))
        has_sessions = found and any("command" in row.values and "user" in row.values for row in found.rows)
        return found if has_sessions else None
    if "|" in first:
        return boxed(lines)
    if "\t" in first:
        return tabbed(lines)
    return _loose(lines)


def _loose(lines: Sequence[Line]) -> Records | None:
    """Batch output whose tabs became blanks: the command's word tells where the free text begins."""
    rows = []
    for line in lines[1:]:
        match = re.match(_ROW, line.text)
        if not match:
            break
        rows.append(Record({**match.groupdict(), "state": match["rest"], "info": match["rest"]}, line))
    return Records(rows, len(rows) + 1, None, "batch") if rows else None


def _is_active(row: Record) -> bool:
    values = row.values
    return (
        values["command"].lower() not in _IDLE
        and values.get("user", "").lower() not in _SYSTEM_USERS
        and not re.match(_LISTING, values.get("info", ""))
    )


def _is_in_commit(row: Record) -> bool:
    state, info = row.values.get("state", ""), row.values.get("info", "")
    if "rest" in row.values:
        return bool(re.match(r"(?i)\s*(?:\S+ )?commit\b", state))
    return bool(
        re.match(_COMMIT_STATEMENT, info)
        or (re.search(_COMMIT_STATE, state) and not re.match(_OTHER_COMMIT, state))
    )


FORMAT = ContextFormat(
    id="processlist",
    title="SHOW PROCESSLIST: active sessions and those in COMMIT",
    example=(
        "+----+------+-----------+------+---------+------+----------+------------------+\n"
        "| Id | User | Host      | db   | Command | Time | State    | Info             |\n"
        "+----+------+-----------+------+---------+------+----------+------------------+\n"
        "|  8 | app  | localhost | shop | Query   |    2 | Commit   | COMMIT           |\n"
        "|  9 | app  | localhost | shop | Sleep   |    0 |          | NULL             |\n"
        "| 14 | root | localhost | NULL | Query   |    0 | starting | SHOW PROCESSLIST |\n"
        "+----+------+-----------+------+---------+------+----------+------------------+\n"
    ),
    starts=re.compile(
        r"\|\s{0,40}command\s{0,40}\|\s{0,40}time\s{0,40}\|\s{0,400}state\s{0,400}\|"
        r"|^\s*id\s+user\s+host\s+db\s+command\s+time\s+state\s+info\b"
        r"|^\s*\*{10,} ?1\. row ?\*{10,}\s*$",
        re.IGNORECASE,
    ),
    read=_read,
    releases="MySQL 4.1 and later, MariaDB, Percona Server",
)
