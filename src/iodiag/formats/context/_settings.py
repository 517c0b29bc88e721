"""Settings of a database server: listings of the client, configuration files, and prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iodiag.formats.context._common import MAX_BLOCK_LINES, Values, fact, parse_number
from iodiag.formats.context._result_tables import Record, aligned, boxed, tabbed
from iodiag.formats.types import ContextBlock, Line

_LISTED = r"^\s*(?:#\s?)?(?P<name>[A-Za-z][\w.-]{1,63})(?:[ \t]*[=:][ \t]*|\t[ \t]*|[ ]{2,})(?P<value>\S.*)?$"
_SECTION = r"^\s*\[[\w.-]{1,40}\]\s*$|^\s*[#;!]"
_NAME_COLUMNS = ("variable_name", "name")
_VALUE_COLUMNS = ("value", "setting", "variable_value")


def settings_block(lines: Sequence[Line], source: str, kind: str, wanted: str) -> ContextBlock | None:
    """The settings whose name `wanted` matches, from a listing that begins in the first line.

    A line of prose that says `name=value` is taken too; its fact has `is_prose` 1.
    """
    values: Values = {}
    said: dict[str, str] = {}
    own: list[Line] = []
    used, pairs, layout = _pairs(lines, wanted)
    for name, value, line in pairs:
        key = (
            name.lower().replace("-", "_").removeprefix("@@").removeprefix("global.").removeprefix("session.")
        )
        if value and re.fullmatch(wanted, key) and key not in values:
            plain = parse_number(value)
            said[key] = value[:200]
            values[key] = said[key] if plain is None else plain
            own.append(line)
    if not values:
        return ContextBlock(used, layout=layout) if pairs and layout in ("table", "batch") else None
    text = ", ".join(
        f"{name} = {{{name}}}" if isinstance(value, str) else f"{name} = {said[name]}"
        for name, value in values.items()
    )
    if layout == "prose":
        values["is_prose"] = 1
    return ContextBlock(used, facts=(fact(kind, text, values, source, own),), layout=layout)


Pairs = list[tuple[str, str, Line]]


def _pairs(lines: Sequence[Line], wanted: str) -> tuple[int, Pairs, str]:
    first = lines[0].text
    records = (
        boxed(lines) if ("|" in first and "+-" in first) or first.lstrip().startswith("|") else aligned(lines)
    )
    if records is None and re.match(r"(?i)\s*variable_name\t", first):
        records = tabbed(lines)
    if records is not None:
        pairs = [pair for row in records.rows for pair in _record_pairs(row)]
        return records.used, pairs, records.layout
    if shown := _shown(lines):
        return shown
    listed = list(_listed(lines, wanted))
    if listed:
        used = 1 + max(at for at, _ in listed)
        return used, [pair for _, pair in listed], "listing"
    return 1, list(_prose(lines[0], wanted)), "prose"


def _record_pairs(row: Record) -> Iterator[tuple[str, str, Line]]:
    name = next((row.values[c] for c in _NAME_COLUMNS if c in row.values), None)
    value = next((row.values[c] for c in _VALUE_COLUMNS if c in row.values), None)
    if name is not None and value is not None:
        yield name, value, row.line
    else:
        yield from ((column, cell, row.line) for column, cell in row.values.items())


def _shown(lines: Sequence[Line]) -> tuple[int, Pairs, str] | None:
    """psql's answer to SHOW: the name, a rule, the value, (1 row)."""
    if len(lines) < 3 or not re.fullmatch(r"\s*-{2,}\s*", lines[1].text):
        return None
    name, value = lines[0].text.strip(), lines[2].text.strip()
    footer = len(lines) > 3 and lines[3].text.strip() == "(1 row)"
    return 3 + footer, [(name, value, lines[2])] if " " not in name else [], "psql"


def _listed(lines: Sequence[Line], wanted: str) -> Iterator[tuple[int, tuple[str, str, Line]]]:
    """`name = value`, `name<TAB>value`, one per line; the block ends where the lines look otherwise."""
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        match = re.match(_LISTED, line.text)
        is_comment = line.text.lstrip().startswith(("#", ";"))
        value = re.sub(r"\s+#.*$", "", match["value"] or "").strip("'\" \t") if match else ""
        is_loose = not re.search(r"[=\t]", line.text)
        if not match or is_comment:
            if line.text.strip() and not re.match(_SECTION, line.text):
                return
        elif (is_loose and (len(value.split()) > 3 or not match["name"].islower())) or (
            at == 0 and not re.fullmatch(wanted, match["name"].lower().replace("-", "_"))
        ):
            return
        else:
            yield at, (match["name"], value, line)


def _prose(line: Line, wanted: str) -> Iterator[tuple[str, str, Line]]:
    pattern = rf"\b({wanted})\s{{0,3}}(?:=|:|to|is set to|set to)\s{{0,3}}[\"'`]?([\w.]{{1,40}})"
    text = re.sub(r"(?<=\w)-(?=\w)", "_", line.text)
    for match in re.finditer(pattern, text, re.IGNORECASE):
        yield match[1], match[match.lastindex or 2].rstrip("."), line
