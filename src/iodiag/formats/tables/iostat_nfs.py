"""iostat -n: the report of NFS mounts that sysstat 7.0.3 to 9.1.2 prints below the devices.

Also nfsiostat of sysstat 9.1.3 to 11. `-k` and `-m` change the units, `-h` puts every name on a line of
its own. `_nor` is what applications moved with read(2) and write(2), `_dir` what they moved with O_DIRECT,
`_svr` what the client exchanged with the server for them.
"""

from __future__ import annotations

import re

from iodiag.formats.raw_columns.iostat import DIRECTION, UNIT
from iodiag.formats.tables._items import layout_of_items
from iodiag.formats.types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
Filesystem:              rBlk_nor/s   wBlk_nor/s   rBlk_dir/s   wBlk_dir/s   rBlk_svr/s   wBlk_svr/s     ops/s
nas1:/export/home           2048.00       512.00         0.00         0.00      1024.00       512.00     70.00
"""
_BYTES = re.compile(r"([rw])(Blk|kB|MB)_(nor|dir|svr)/s")
_WAY = {"nor": "buffered_", "dir": "direct_", "svr": ""}
_NAMES = ("Filesystem:", "Filesystem", "Device:")
_OPERATIONS = {"ops/s": "ops_per_s", "rops/s": "reads_per_s", "wops/s": "writes_per_s"}


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of the header of mounts; 7.0 calls its first column Device."""
    if words[-1] in _NAMES or len(words) < 3 or not any(map(_BYTES.fullmatch, words)):
        return None
    shape = Layout("iostat", "iostat -n", "nfs_mounts", (), "mount", place=2)
    return layout_of_items(words, _NAMES, _column, shape)


def _column(word: str) -> LayoutColumn | None:
    if word in _OPERATIONS:
        return LayoutColumn(word, _OPERATIONS[word])
    match = _BYTES.fullmatch(word)
    if match is None:
        return None
    name = f"{DIRECTION[match[1]]}_{_WAY[match[3]]}kb_per_s"
    return LayoutColumn(word, name, UNIT[match[2]], is_size=True)


FORMAT = TableFormat(
    id="iostat-nfs",
    title="iostat -n: NFS mounts",
    example=_EXAMPLE,
    layout=layout,
    releases="sysstat 7.0.3 to 9.1.2, nfsiostat of sysstat to 11",
)
