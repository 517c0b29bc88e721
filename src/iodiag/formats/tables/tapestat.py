"""tapestat: tape drives of the st driver.

sysstat 11.1.7 to 12.8. `-m` and `-G` change the units, `--human` gives sizes a suffix. A share of time counts
what has ended in the interval, so it may be far above 100 behind a rewind.
"""

from __future__ import annotations

import re

from iodiag.formats.raw_columns.iostat import UNIT
from iodiag.formats.tables._items import layout_of_items
from iodiag.formats.types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
Tape:     r/s     w/s   kB_read/s   kB_wrtn/s  %Rd  %Wr  %Oa    Rs/s    Ot/s
st0         0     512           0      131072    0   41   41       0       0
"""
_BYTES = re.compile(r"([kMG]B)_(read|wrtn)/s")
_PLAIN = {
    "r/s": "reads_per_s",
    "w/s": "writes_per_s",
    "%Rd": "read_wait_pct",
    "%Wr": "write_wait_pct",
    "%Oa": "wait_pct",
    "Rs/s": "residuals_per_s",
    "Ot/s": "others_per_s",
}
_NAMES = ("Tape:", "Tape")


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of the header of drives."""
    return layout_of_items(words, _NAMES, column_of, Layout(FORMAT.id, FORMAT.id, "tapes", (), "tape"))


def column_of(word: str) -> LayoutColumn | None:
    """The column of a word in the header, or of a key in JSON, where shares have no sign."""
    if name := _PLAIN.get(word) or _PLAIN.get(f"%{word}"):
        return LayoutColumn(word, name)
    match = _BYTES.fullmatch(word)
    if match is None:
        return None
    direction = "read" if match[2] == "read" else "write"
    return LayoutColumn(word, f"{direction}_kb_per_s", UNIT[match[1]], is_size=True)


FORMAT = TableFormat(
    id="tapestat",
    title="tapestat: tape drives",
    example=_EXAMPLE,
    layout=layout,
    releases="sysstat 11.1.7 to 12.8",
)
