"""Settings of PostgreSQL that decide when a commit waits for the disk, and related ones.

From pg_settings, SHOW, postgresql.conf and prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._settings import settings_block
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_WANTED = (
    r"(?:synchronous_commit|synchronous_standby_names|fsync|full_page_writes|wal_(?:sync_method|buffers|writer_delay"
    r"|level|compression)|commit_(?:delay|siblings)|checkpoint_\w+|max_wal_size|min_wal_size|shared_buffers"
    r"|effective_io_concurrency|random_page_cost|data_directory|server_version|bgwriter_\w+|backend_flush_after)"
)
_DISTINCT = (
    r"synchronous_commit|wal_sync_method|full_page_writes|commit_(?:delay|siblings)|wal_writer_delay|max_wal_size"
    r"|checkpoint_(?:timeout|completion_target|segments|flush_after)"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    return settings_block(lines, source, "pg-settings", _WANTED)


FORMAT = ContextFormat(
    id="pg-settings",
    title="PostgreSQL settings: durability of commits and I/O",
    example="synchronous_commit = on\nfsync = on\ncommit_delay = 0\n",
    starts=re.compile(
        rf"\b(?:{_DISTINCT})(?:\s{{0,40}}[=|]|\s{{0,3}}:|[ ]{{2,80}}\S|\t|\s+(?:is |was )?(?:set )?to\s)"
        rf"|^\s*(?:{_DISTINCT})\s*$|^\s*fsync\s*=|^\s*name\s+\|\s+setting\b",
        re.IGNORECASE,
    ),
    read=_read,
    releases="PostgreSQL 8.3 and later",
    not_read="settings that have no bearing on storage",
)
