"""What an inventory says of the hosts: role, model, firmware, site; a CSV out of anyone's database.

Columns are found by the words of the header, in any order and language of separators. A line that
cannot be used is named with its number and left out; nothing of it is guessed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iodiag.errors import ConfigError

ATTRIBUTES = ("role", "model", "firmware", "site")
MOST_BYTES = 64 * 1024 * 1024
MOST_NOTES = 20
LONGEST_CELL = 200
MOST_LINES = 20
"""A row that goes on over more lines is taken for a quotation mark that nobody closed."""

_WORDS = {
    "host": ("host", "hostname", "fqdn", "server", "node", "nodename", "machine", "name"),
    "role": ("role", "function", "service", "tier", "class", "group", "purpose"),
    "model": ("model", "product", "hardware", "type"),
    "firmware": ("firmware", "fw", "revision", "rev"),
    "site": ("site", "datacenter", "datacentre", "dc", "location", "region", "zone", "rack"),
}
"""Header words of each column; of several that fit, the word that stands first here wins."""


@dataclass(frozen=True)
class Inventory:
    """What is known of each host, by attribute; `notes` name the lines that could not be used."""

    hosts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def match(self, names: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """The entry of each name that has one: spelled alike, else alike without case and domain.

        A short name that several entries share is nobody's.
        """
        short: dict[str, set[str]] = {}
        for host in self.hosts:
            short.setdefault(_short(host), set()).add(host)
        found = {}
        for name in names:
            near = short.get(_short(name), set())
            if name in self.hosts:
                found[name] = self.hosts[name]
            elif len(near) == 1:
                found[name] = self.hosts[next(iter(near))]
        return found


def _short(name: str) -> str:
    folded = name.strip().casefold()
    # an address is no name with a domain
    return folded if re.fullmatch(r"[\d.:a-f]+", folded) else folded.split(".", 1)[0]


def read_inventory(path: str | Path) -> Inventory:
    """Read a CSV of hosts.

    Comma, semicolon, tab and bar separate; UTF-8, UTF-16 with its mark and Latin-1 are read. Raises
    ConfigError where the file cannot be read or no column names the host.
    """
    try:
        with open(path, "rb") as handle:
            data = handle.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the name") from None
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{path}: larger than {MOST_BYTES >> 20} MiB; keep the columns of the hosts only")
    return parse_inventory(data, str(path))


def parse_inventory(data: bytes, where: str = "inventory") -> Inventory:
    """`read_inventory` of bytes; `where` is what errors call them."""
    lines = list(_rows(_decoded(data)))
    start = next((at for at, row in enumerate(lines) if "host" in _columns(row.cells)), None)
    if start is None:
        first = ", ".join(lines[0].cells[:8])[:LONGEST_CELL] if lines else "nothing"
        raise ConfigError(f"{where}:1: no column names the host (found: {first}); call one of them `host`")
    head = lines[start].cells
    columns = _columns(head)
    hosts: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    for row in lines[start + 1 :]:
        entry = {name: row.cells[at].strip() for name, at in columns.items() if at < len(row.cells)}
        problem = _problem(row, entry, len(head), hosts)
        if problem:
            notes.append(f"{where}:{row.first}: {problem}")
            continue
        host = entry.pop("host")
        hosts[host] = {key: value for key, value in entry.items() if value}
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"{where}: {len(notes) - MOST_NOTES} more lines were left out"]
    return Inventory(hosts, tuple(notes))


def _problem(row: _Row, entry: Mapping[str, str], headings: int, known: Mapping[str, object]) -> str:
    host = entry.get("host", "")
    spans = row.last - row.first + 1
    if spans > MOST_LINES or any("\n" in cell or "\r" in cell for cell in entry.values()):
        return f"a cell goes on over {spans} lines; is a quotation mark left open? They are left out"
    if any(len(cell) > LONGEST_CELL for cell in entry.values()):
        return f"a cell of more than {LONGEST_CELL} characters; the line is left out"
    if not host:
        return "no host in this line; it is left out"
    if any(cell.strip() for cell in row.cells[headings:]):
        return f"{len(row.cells)} cells under {headings} headings; the line is left out"
    return f"{host} stands here a second time; the first line counts" if host in known else ""


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


@dataclass(frozen=True)
class _Row:
    """The cells of one row, and the lines (from 1) that it stands on."""

    first: int
    last: int
    cells: list[str]


def _rows(text: str) -> Iterator[_Row]:
    """The rows that are not blank; one that the csv module refuses is a single cell, too long to be used."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t|", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            cells = ["?" * (LONGEST_CELL + 1)]
        if any(cell.strip() for cell in cells):
            yield _Row(first, reader.line_num, cells)


def _columns(cells: list[str]) -> dict[str, int]:
    """Which column is what, by the words of its heading; each column is one thing at most."""
    headings = [re.findall(r"[a-z]+", _split_case(cell).casefold()) for cell in cells]
    found: dict[str, int] = {}
    for name, words in _WORDS.items():
        ranked = [
            (rank, len(heading), at)
            for at, heading in enumerate(headings)
            if at not in found.values()
            for rank, word in enumerate(words)
            if word in heading
        ]
        if ranked:
            found[name] = min(ranked)[2]
    return found


def _split_case(heading: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading)
