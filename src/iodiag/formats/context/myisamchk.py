"""myisamchk(1) of MySQL and MariaDB: how far the rows of a MyISAM table are fragmented.

`-e -i`, `-r -i` and `-dvv` print `Blocks/Record`: a row of several blocks was split, and reading
it takes as many disk accesses (MySQL manual, "Obtaining Table Information with myisamchk").
The line is also read where it stands alone in prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact, parse_number
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_NUMBER = r"(\d{1,20}(?:\.\d{1,6})?)"
_BLOCKS = rf"\bBlocks/Record\b\s*:?\s*{_NUMBER}"
_VALUES = {
    "records": (rf"(?:^\s*|\b)(?:Data records|Records):\s+{_NUMBER}"),
    "mean_record_bytes": (rf"\bM\.\s?recordlength:\s+{_NUMBER}"),
    "packed_pct": (rf"\bPacked:\s+{_NUMBER}%"),
    "recordspace_used_pct": (rf"\bRecordspace used:\s+{_NUMBER}%"),
    "empty_space_pct": (rf"\bEmpty space:\s+{_NUMBER}%"),
    "record_blocks": (rf"\bRecord blocks:\s+{_NUMBER}"),
    "deleted_blocks": (rf"\bDeleted? blocks:\s+{_NUMBER}"),
    "lost_space_bytes": (rf"\bLost space:\s+{_NUMBER}"),
    "blocks_per_record": _BLOCKS,
}
_TABLE = r"^\s*(?:(?:Checking )?MyISAM file:|- recovering .{0,60}MyISAM-table)\s+'?(\S+?)'?\s*$"
_KNOWN = (
    r"^\s*(?:-{10,}|- (?:check|recovering|Fixing)|MyISAM file|Checking MyISAM|MyISAM-table|Record format|"
    r"Character set|File-version|Creation time|Recover time|Status:|Auto increment|Data records|Checksum|"
    r"Datafile|Keyfile|Max (?:datafile|keyfile)|Recordlength|table description|Key Start|Records:|"
    r"Recordspace|Record blocks|Record data|Lost space|Linkdata|Key:|Keyblocks|User|Maximum resident|"
    r"Non-physical|Physical pagefaults|Blocks in|Messages in|Voluntary|Involuntary|Signals|Swaps|Number\s+|"
    r"Field Start|No recover|\d+\s+\d+\s+\d+\b|Data file|warning:|myisamchk:)"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    used = 1
    for at, line in enumerate(lines[1:500], 1):
        if re.match(_KNOWN, line.text):
            used = at + 1
        elif line.text.strip() or at - used > 2:
            break
    values: Values = {}
    own: list[Line] = []
    for line in lines[:used]:
        found = {name: match[1] for name, p in _VALUES.items() if (match := re.search(p, line.text))}
        for name, text in found.items():
            values.setdefault(name, parse_number(text))
        if found:
            own.append(line)
        table = re.match(_TABLE, line.text)
        if table:
            values.setdefault("table", table[1])
    if not {"blocks_per_record", "deleted_blocks"} & set(values):
        return None
    evidence = fact("myisamchk", _sentence(values), values, source, own)
    return ContextBlock(used, facts=(evidence,), layout="myisamchk")


def _sentence(values: Values) -> str:
    whose = "the rows of {table}" if "table" in values else "the table's rows"
    if values.get("blocks_per_record") is not None:
        return f"{whose} lay in {values['blocks_per_record']} blocks per record"
    return f"{values['deleted_blocks']} blocks were deleted among {whose}"


FORMAT = ContextFormat(
    id="myisamchk",
    title="myisamchk: fragmentation of MyISAM tables",
    example=(
        "Checking MyISAM file: orders\n"
        "Records:           1403698   M.recordlength:      226   Packed:              0%\n"
        "Recordspace used:      100%   Empty space:           0%  Blocks/Record:   1.34\n"
        "Record blocks:     1880955   Delete blocks:         0\n"
    ),
    starts=re.compile(
        r"^\s*(?:Checking )?MyISAM file:\s|^\s*- recovering .{0,60}MyISAM-table"
        r"|^\s*Records:\s+\d+\s+M\.\s?record|\bBlocks/Record\b\s*:?\s*\d"
    ),
    read=_read,
    releases="MySQL 3.23 and later, MariaDB",
)
