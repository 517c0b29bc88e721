"""Settings of MySQL and MariaDB that decide when a commit waits for the disk, and related ones.

From SHOW VARIABLES (box, batch, flattened), `select @@name`, my.cnf and prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._settings import settings_block
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_WANTED = (
    r"(?:innodb_(?:flush\w*|doublewrite\w*|log_(?:file|buffer)\w*|buffer_pool_(?:size|instances)|io_capacity\w*"
    r"|read_io_threads|write_io_threads|read_ahead\w*|page_size|use_native_aio|redo_log_capacity|fast_shutdown"
    r"|file_per_table|adaptive_flushing\w*|max_dirty_pages_pct\w*|support_xa|thread_concurrency)"
    r"|sync_binlog|binlog_(?:format|group_commit\w*|commit_wait\w*|order_commits)|log_bin|datadir|key_buffer_size"
    r"|rpl_semi_sync\w*enabled|version|tmpdir|myisam_use_mmap|read_rnd_buffer_size|read_buffer_size|rocksdb_\w*sync\w*)"
)
_DISTINCT = (
    "innodb[_-](?:flush|doublewrite|log[_-]file|buffer[_-]pool[_-]size|io[_-]capacity)"
    r"[\w-]{0,40}|sync[_-]binlog"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    return settings_block(lines, source, "mysql-variables", _WANTED)


FORMAT = ContextFormat(
    id="mysql-variables",
    title="MySQL settings: durability of commits and I/O",
    example=(
        "| Variable_name                  | Value |\n"
        "+--------------------------------+-------+\n"
        "| innodb_flush_log_at_trx_commit | 1     |\n"
        "| sync_binlog                    | 1     |\n"
        "+--------------------------------+-------+\n"
    ),
    starts=re.compile(
        r"\|\s{0,80}Variable_name\s{0,80}\|\s{0,80}Value\s{0,400}\|"
        rf"|(?:@@(?:global\.)?|^\s*|\b)(?:{_DISTINCT})"
        r"(?:\s{0,40}[=|:]|[ ]{2,80}\S|\t|\s+(?:is |was )?(?:set )?to\s)"
        r"|^(?:datadir|log_bin|version)\t|^Variable_name\tValue",
        re.IGNORECASE,
    ),
    read=_read,
    releases="MySQL 5.0 and later, MariaDB, Percona Server",
    not_read="settings that have no bearing on storage",
)
