"""sadf -x: XML of sysstat 9.1 to 12.7, in every version of its DTD and schema.

Elements are known by their local names, so that neither DOCTYPE nor name space matters, and
attributes by the names that sadf -j uses too. Entities are refused, nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from iodiag.errors import FormatError
from iodiag.formats.exports._sadf_tables import tables
from iodiag.formats.text.structure.blocks import CLASS, Classes
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account, line_starts, undress, unseen
from iodiag.model.capture import Source
from iodiag.table.table import Ints

if TYPE_CHECKING:
    from iodiag.formats.exports._sadf_json_xml import Gathered, Value

_EXAMPLE = """\
<?xml version="1.0" encoding="UTF-8"?>
<sysstat><host nodename="db1"><release>5.14.0</release><number-of-cpus>4</number-of-cpus><statistics>
<timestamp date="2026-11-20" time="00:10:01" utc="1" interval="600">
<disk per="second"><disk-device dev="sda" tps="337.00" rd_sec="6208.00" wr_sec="7344.00" util-percent="2.00"/>
</disk>
</timestamp>
</statistics></host></sysstat>
"""

_BEGIN = re.compile(rb"<\?xml|<!DOCTYPE|<sysstat[\s>]")
_END = re.compile(rb"</sysstat\s*>")
_DEEPEST = 64
_CHUNK = 1 << 20
_NO_VALUES = ("per", "unit")
_STRAY = "what stands here is no whole element of a sample: a tag is damaged, or lines changed places"
_NESTED = ("io", "memory", "hugepages")
"""Elements whose values stand in elements inside them."""


class _Reader:
    """One document on its way through the parser; places are 1-based lines of the input.

    `stray` are the lines of what sadf prints nowhere: words between elements, a row outside a sample.
    """

    def __init__(self, samples: Gathered, lines_before: int, classes: Classes) -> None:
        self._samples = samples
        self._before = lines_before
        self._classes = classes
        self._path: list[str] = []
        self._nested: dict[str, Value] | None = None
        self._nested_line = 0
        self._text: list[str] = []
        self.stray: set[int] = set()
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.EntityDeclHandler = self._refuse_entity

    def feed(self, data: bytes, first: int, last: int) -> tuple[int, str] | None:
        """Read a document; where it is no well-formed XML, the line that is lost first, and why."""
        try:
            for begin in range(first, last, _CHUNK):
                self._parser.Parse(data[begin : min(begin + _CHUNK, last)], False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as fault:
            line = self._nested_line if self._nested else self._before + fault.lineno
            return line, expat.errors.messages[fault.code]
        return None

    @property
    def _line(self) -> int:
        return self._before + self._parser.CurrentLineNumber

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise FormatError(
            f"line {self._line}: declares the entity {name[:40]!r}, which sadf never does; not read"
        )

    def _start(self, full_name: str, attributes: dict[str, str]) -> None:
        name = full_name.rpartition(" ")[2]
        if len(self._path) == _DEEPEST:
            raise FormatError(f"line {self._line}: elements nest deeper than sadf's ever do; not read")
        self._take_stray()
        self._path.append(name)
        members: Mapping[str, Value] = {
            key.rpartition(" ")[2]: value for key, value in attributes.items() if key not in _NO_VALUES
        }
        self._mark(self._take(name, members))

    def _take_stray(self) -> None:
        """Note words that stand where sadf prints none; a text's last line is that of the tag behind it."""
        text = "".join(self._text).rstrip(" \t")
        self._text.clear()
        if "statistics" in self._path and text.strip():
            below = len(text) - len(text.rstrip("\n"))
            last = self._line - below
            self.stray.update(range(last - text.strip().count("\n"), last + 1))

    def _take(self, name: str, members: Mapping[str, Value]) -> str:
        """What an element's beginning says; the class of its line."""
        if name == "host":
            self._samples.begin_host()
            self._samples.set_fact("nodename", members.get("nodename"))
            return "banner"
        if name == "timestamp":
            self._samples.begin_sample()
            self._samples.set_time(members)
            return "clock"
        if name == "boot":
            self._samples.add_restart(members)
            return "banner"
        if name == "comment":
            return "banner"
        if "timestamp" not in self._path:
            if members and "statistics" in self._path:
                self.stray.add(self._line)
            return "header"
        if self._nested is None and name in _NESTED:
            self._nested = {}
        elif self._nested is not None:
            self._nest(members)
            return "row"
        elif members:
            return "row" if self._samples.add(name, members, self._line) else "header"
        return "header"

    def _nest(self, members: Mapping[str, Value]) -> None:
        """Values inside an element whose row is not whole yet."""
        if self._nested is not None and not self._nested:
            self._nested_line = self._line
        self._nested = (self._nested or {}) | dict(members)

    def _end(self, _: str) -> None:
        text = "".join(self._text).strip()
        if self._nested is None or self._path[-1] in _NESTED:
            self._take_stray()
        name = self._path.pop()
        self._text.clear()
        if self._nested is not None and name in _NESTED:
            if self._nested:
                self._samples.add(name, self._nested, self._nested_line)
            self._nested = None
        elif self._nested is not None and text:
            self._nested[name] = text
        elif text and self._samples.set_fact(name, text):
            self._mark("banner")

    def _mark(self, name: str) -> None:
        if self._classes[self._line - 1] != CLASS["row"]:
            self._classes[self._line - 1] = CLASS[name]


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes.

    `line` is where a row's values begin. Raises FormatError where the XML declares entities or is
    no sadf output at all.
    """
    from iodiag.formats.exports._sadf_json_xml import Gathered, export

    # a comment may hold bytes of any encoding, on which the parser would stop
    data = undress(source.data).decode("utf-8", "replace").encode()
    starts = line_starts(data)
    classes = unseen(len(starts))
    reasons: dict[int, str] = {}
    samples = Gathered()
    at = 0
    while begin := _BEGIN.search(data, at):
        end = _END.search(data, begin.start())
        at = end.end() if end else len(data)
        first = int(np.searchsorted(starts, begin.start(), "right"))
        last = int(np.searchsorted(starts, at - 1, "right"))
        classes[first - 1 : last] = CLASS["header"]
        reader = _Reader(samples, first - 1, classes)
        try:
            fault = reader.feed(data, begin.start(), at)
        except FormatError as error:
            raise FormatError(f"{source.name}: {error}") from None
        classes[[line - 1 for line in reader.stray]] = CLASS["unread"]
        reasons |= dict.fromkeys([line - 1 for line in reader.stray], _STRAY)
        if fault:
            line, words = min(fault[0], last), fault[1]
            classes[line - 1 : last] = CLASS["unread"]
            reason = f"no well-formed XML from line {line} on ({words})"
            reasons |= dict.fromkeys(range(line - 1, last), reason)
    found, notes = export(source, FORMAT.id, samples, _as_they_are)
    yield from notes
    yield from tables(found)
    yield from account(source, classes, reasons)


def _as_they_are(lines: Ints) -> Ints:
    return lines


def _recognise(head: bytes) -> bool:
    return (
        re.search(rb"<sysstat[\s>]", head) is not None
        or re.search(rb"<!DOCTYPE\s+(?:sysstat|Configure)\s", head) is not None
    )


FORMAT = FileFormat(
    id="sadf-xml",
    title="sadf -x",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 9.1 to 12.7",
    not_read="entities: refused",
)
