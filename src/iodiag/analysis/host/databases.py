"""Which database a capture shows, and the settings of it that decide how often a commit waits for a flush."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact

OF_MYSQL, OF_PG = ("mysql-variables", "processlist", "innodb-status"), ("pg-settings", "pg-activity")
"""What prints facts of MySQL or MariaDB, and of PostgreSQL."""

_PG_SHARES, _MYSQL_SHARES = "commit_delay (PostgreSQL)", "binlog_group_commit_sync_delay (MySQL)"
_MARIADB_SHARES = "binlog_commit_wait_count with binlog_commit_wait_usec (MariaDB)"
_PG_RELAXES = "synchronous_commit=off (PostgreSQL)"
_LOG = "innodb_flush_log_at_trx_commit=2"
_BOTH_LOGS = f"{_LOG} together with sync_binlog=0 or above 1, as either syncs each group of commits"
ALL_SHARE = f"{_PG_SHARES}, {_MYSQL_SHARES}, {_MARIADB_SHARES}"
ALL_RELAX = f"{_LOG}, with a binary log sync_binlog=0 or above 1 as well (MySQL, MariaDB); {_PG_RELAXES}"


def sharing_settings(view: View) -> str:
    """The settings by which commits share a flush, of the databases shown; of all where none is."""
    variables, is_mysql, is_pg = view.facts_of("mysql-variables"), *shown(view)
    if not (is_mysql or is_pg):
        return ALL_SHARE
    of_mysql = dict.fromkeys(name for fact in variables for name in _shares(fact))
    if is_mysql and not variables:
        of_mysql = dict.fromkeys((_MYSQL_SHARES, _MARIADB_SHARES))
    return ", ".join((*of_mysql, *((_PG_SHARES,) if is_pg else ())))


def relaxing_settings(view: View) -> str:
    """The settings by which commits wait for no flush, of the databases shown; of all where none is."""
    variables, is_mysql, is_pg = view.facts_of("mysql-variables"), *shown(view)
    if not (is_mysql or is_pg):
        return ALL_RELAX
    is_synced = any(fact.number("sync_binlog") == 1 and _has_binlog(fact) for fact in variables)
    return "; ".join((*((_BOTH_LOGS if is_synced else _LOG,) * is_mysql), *((_PG_RELAXES,) * is_pg)))


def shown(view: View) -> tuple[bool, bool]:
    """Whether the capture has facts of MySQL or MariaDB, and of PostgreSQL."""
    return bool(view.facts_of(*OF_MYSQL)), bool(view.facts_of(*OF_PG))


def _shares(variables: Fact) -> Iterator[str]:
    """The settings of the server's kind; which delay the flush of the binary log alone."""
    if not _has_binlog(variables):
        return
    version = variables.word("version")
    if "mariadb" in version.lower():
        yield _MARIADB_SHARES
    elif version:
        yield _MYSQL_SHARES
    else:
        yield from (_MYSQL_SHARES, _MARIADB_SHARES)


def _has_binlog(variables: Fact) -> bool:
    """Whether a server writes a binary log, as far as its settings say."""
    return variables.word("log_bin").lower() not in ("off", "0")
