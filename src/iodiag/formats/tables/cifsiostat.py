"""cifsiostat: the mounts of CIFS (SMB) shares.

sysstat 9.1.3 to 12.8. `-k`, `-m` and `-G` change the units (bytes without them), `-h` puts every name on a
line of its own, `--pretty` puts it last, and `--human` gives sizes a suffix.
"""

from __future__ import annotations

import re

from iodiag.formats.raw_columns.iostat import DIRECTION, UNIT
from iodiag.formats.tables._items import layout_of_items
from iodiag.formats.types import Layout, LayoutColumn, TableFormat
from iodiag.model.units import KB_PER_BYTE

_EXAMPLE = """\
Filesystem                    rkB/s        wkB/s    rops/s    wops/s         fo/s         fc/s         fd/s
\\\\nas1\\projects             2048.00        16.00     32.00      1.00         2.00         2.00         0.00
"""
_BYTES = re.compile(r"([rw])(k|M|G|)B/s")
_OPERATIONS = {
    **dict.fromkeys(("rops/s", "rop/s"), "reads_per_s"),
    **dict.fromkeys(("wops/s", "wop/s"), "writes_per_s"),
    "fo/s": "opens_per_s",
    "fc/s": "closes_per_s",
    "fd/s": "deletes_per_s",
}
_NAMES = ("Filesystem:", "Filesystem")


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of the header of shares."""
    if "fo/s" not in words:
        return None
    found = layout_of_items(
        words, _NAMES, column_of, Layout(FORMAT.id, FORMAT.id, "cifs_mounts", (), "mount")
    )
    sizes = [column for column in found.columns if column.is_size] if found else []
    if found is None or len({column.factor for column in sizes}) < 2:
        return found
    # one run has one unit: nothing tells which of the words is damaged
    columns = tuple(column._replace(column=None) if column in sizes else column for column in found.columns)
    return found._replace(columns=columns, unknown=tuple(column.raw for column in sizes))


def column_of(word: str) -> LayoutColumn | None:
    """The column of a word in the header, or of a key in JSON."""
    if word in _OPERATIONS:
        return LayoutColumn(word, _OPERATIONS[word])
    match = _BYTES.fullmatch(word)
    if match is None:
        return None
    factor = UNIT[f"{match[2]}B"] if match[2] else KB_PER_BYTE
    return LayoutColumn(word, f"{DIRECTION[match[1]]}_kb_per_s", factor, is_size=True)


FORMAT = TableFormat(
    id="cifsiostat",
    title="cifsiostat: CIFS mounts",
    example=_EXAMPLE,
    layout=layout,
    releases="sysstat 9.1.3 to 12.8",
)
