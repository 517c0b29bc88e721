"""SHOW ENGINE INNODB STATUS: transactions in commit, pending flushes, rates of reads and fsyncs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact, first_numbers
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_NUMBER = r"(\d{1,20}(?:\.\d{1,6})?)"
_VALUES = {
    "averaged_over_s": (rf"^Per second averages calculated from the last {_NUMBER} seconds"),
    "history_list_length": (rf"^History list length {_NUMBER}"),
    "pending_fsyncs": (rf"^Pending flushes \(fsync\)(?: log)?: {_NUMBER}"),
    "pending_buffer_pool_fsyncs": (rf"^Pending flushes \(fsync\) log: \d+; buffer pool: {_NUMBER}"),
    "reads_per_s": (rf"^{_NUMBER} reads/s, {_NUMBER} avg bytes/read"),
    "read_size_bytes": (rf"^\d[\d.]* reads/s, {_NUMBER} avg bytes/read"),
    "writes_per_s": (rf"^\d[\d.]* reads/s, .*?{_NUMBER} writes/s, [\d.]+ fsyncs/s"),
    "fsyncs_per_s": (rf"^\d[\d.]* reads/s, .*?, {_NUMBER} fsyncs/s"),
    "log_sequence_number": (rf"^Log sequence number\s+(?:\d+ )?{_NUMBER}"),
    "log_flushed_up_to": (rf"^Log flushed up to\s+(?:\d+ )?{_NUMBER}"),
    "last_checkpoint_at": (rf"^Last checkpoint at\s+(?:\d+ )?{_NUMBER}"),
    "pending_log_flushes": (rf"^{_NUMBER} pending log (?:flushes|writes)"),
    "log_ios_per_s": (rf"^\d+ log i/o's done, {_NUMBER} log i/o's/second"),
    "modified_pages": (rf"^Modified db pages\s+{_NUMBER}"),
    "buffer_pool_pages": (rf"^Buffer pool size\s+{_NUMBER}$"),
    "pending_reads": (rf"^Pending reads\s+{_NUMBER}"),
    "pending_lru_writes": (rf"^Pending writes: LRU {_NUMBER}"),
    "pending_flush_list_writes": (rf"^Pending writes: LRU \d+, flush list {_NUMBER}"),
    "hit_rate_per_mille": (rf"^Buffer pool hit rate {_NUMBER} / 1000"),
    "queries_inside": (rf"^{_NUMBER} queries inside InnoDB"),
    "queries_queued": (rf"^\d+ queries inside InnoDB, {_NUMBER} queries in queue"),
}
_ACTIVE = r"^-{2,3}TRANSACTION .{1,80}?\bACTIVE\b(?P<state> \((?:PREPARED|COMMITTED IN MEMORY)\))?"
_THREAD = r"^(?:MySQL|MariaDB) thread id \d+, .{0,400}\bquery id \d+ .{0,400}$"
_COMMIT = r"\b(?:Commit|query end|handler commit|commit lock|to commit|COMMIT)\s*$"
_MONITOR = "INNODB MONITOR OUTPUT"
_END = f"END OF {_MONITOR}"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    """The block up to its end mark; where that is cut off, up to the last line that was known."""
    values: Values = {}
    own: list[Line] = []
    active = prepared = commits = used = 0
    is_seen = False
    for at, line in enumerate(lines):
        text = line.text.strip()
        if _END in text:
            used = at + 1
            used += int(used < len(lines) and lines[used].text.strip().startswith("===="))
            break
        if _MONITOR in text:
            if is_seen:
                break
            is_seen = True
        elif at > 12 and not is_seen:
            return None
        transaction = re.match(_ACTIVE, text)
        active += bool(transaction)
        prepared += bool(transaction and transaction["state"])
        commits += bool(re.match(_THREAD, text) and re.search(_COMMIT, text))
        found, here = first_numbers({n: p for n, p in _VALUES.items() if n not in values}, [line])
        values |= found
        own += here
        used = at + 1 if found or transaction else used
    if not own or not is_seen:
        return None
    values |= {
        "active_transactions": active,
        "prepared_transactions": prepared,
        "threads_in_commit": commits,
    }
    said = (
        f"InnoDB had {active} active transaction{'' if active == 1 else 's'}, {prepared} prepared to commit"
    )
    if values.get("fsyncs_per_s") is not None:
        said += f", {values['fsyncs_per_s']} fsyncs/s"
    if (values.get("pending_fsyncs") or 0, values.get("pending_buffer_pool_fsyncs") or 0) != (0, 0):
        waits = (values.get(name) or 0 for name in ("pending_fsyncs", "pending_buffer_pool_fsyncs"))
        said += ", pending flushes: {:g} of the log, {:g} of the buffer pool".format(*waits)
    evidence = fact("innodb-status", said, values, source, own)
    return ContextBlock(used, facts=(evidence,), layout="innodb-status")


FORMAT = ContextFormat(
    id="innodb-status",
    title="SHOW ENGINE INNODB STATUS: transactions in commit, fsyncs, pending I/O",
    example=(
        "2026-11-20 13:58:30 0x77ea002306c0 INNODB MONITOR OUTPUT\n"
        "=====================================\n"
        "---TRANSACTION 575, ACTIVE (PREPARED) 0 sec\n"
        "13.99 reads/s, 16384 avg bytes/read, 0.00 writes/s, 5.99 fsyncs/s\n"
        "END OF INNODB MONITOR OUTPUT\n"
    ),
    starts=re.compile(r"^\s*Type: InnoDB\s*$|^(?!.*\bEND OF\b).*\bINNODB MONITOR OUTPUT\b"),
    read=_read,
    releases="InnoDB of MySQL 5.0 and later, MariaDB",
    not_read="semaphores, deadlocks, insert buffer",
)
