"""A text input as lines: what mail, terminals and browsers added is taken off, numbers are kept.

Cleaning never changes what a line says, only how it is dressed: quoting (`> `), colour, NUL
bytes, carriage returns, HTML tags, Markdown escapes, quoted-printable line ends. A capture
that somebody flattened onto one line is laid out again, its lines sharing one number.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from iodiag.formats._types import Line

Ints = npt.NDArray[np.int64]

_DRESS = (b"\0", b"\x1b", b"\r", b">", b"<", b"\\", b"&", b"\xc2\xa0", b"\xe2\x80", b"=\n", b"\x08", b"\x0c", b"\x0b")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[()][0-9A-B]")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_ESCAPE = re.compile(r"\\([_%*#\[\]<>|`~-])")
_SPACES = re.compile("[\u00a0\u202f\u2007\u2009\u3000\x0b\x0c]")
_ENTITY = re.compile(r"&(?:#?\w{1,8});")


class Text:
    """The lines of a cleaned text.

    `data` are the cleaned bytes; `starts` and `ends` the offsets of each line (line end left
    out); `numbers` the 1-based original line of each, `spans` how many original lines it holds.
    """

    def __init__(self, data: bytes, numbers: Ints | None = None, spans: Ints | None = None) -> None:
        self.data = data
        self.bytes = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero(self.bytes == 10)
        if len(data) and not data.endswith(b"\n"):
            breaks = np.append(breaks, len(data))
        self.ends: Ints = breaks
        self.starts: Ints = np.concatenate(([0], breaks[:-1] + 1)) if len(breaks) else breaks
        count = len(self.ends)
        self.numbers: Ints = np.arange(1, count + 1) if numbers is None else numbers
        self.spans = spans

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, index: int) -> str:
        return self.data[self.starts[index] : self.ends[index]].decode("utf-8", "replace")

    def lines(self, first: int, last: int) -> list[Line]:
        return [Line(self.line(i), int(self.numbers[i])) for i in range(first, min(last, len(self)))]

    @cached_property
    def is_blank(self) -> npt.NDArray[np.bool_]:
        """True for lines of nothing but blanks and tabs."""
        counts = np.concatenate(([0], np.cumsum(~np.isin(self.bytes, (32, 9, 10)))))
        blank: npt.NDArray[np.bool_] = counts[self.ends] == counts[self.starts]
        return blank


def clean(data: bytes, unflatten: Callable[[str], list[str]]) -> Text:
    """The text without what its way here added. `unflatten` lays a flattened line out again."""
    has_long_line = len(data) > 600 and max(map(len, data[: 1 << 20].split(b"\n"))) > 600
    if not has_long_line and not any(mark in data for mark in _DRESS):
        return Text(data)
    raw = data.decode("utf-8", "replace").replace("\0", "").split("\n")
    if raw and raw[-1] == "":
        raw.pop()
    is_printable = sum(line.endswith("=") for line in raw) >= 2
    texts: list[str] = []
    numbers: list[int] = []
    spans: list[int] = []
    position = 0
    while position < len(raw):
        text, span = raw[position].rstrip("\r"), 1
        while is_printable and text.endswith("=") and position + span < len(raw) and len(text) < 1000:
            text = text[:-1] + raw[position + span].rstrip("\r")
            span += 1
        text = undress(text)
        laid_out = unflatten(text) if len(text) > 300 else [text]
        for part in laid_out:
            texts.append(part)
            numbers.append(position + 1)
            spans.append(span)
        position += span
    joined = "\n".join(texts).encode("utf-8", "replace")
    return Text(joined + b"\n" if texts else b"", np.array(numbers, dtype=np.int64), np.array(spans, dtype=np.int64))


def undress(text: str) -> str:
    """One line without quoting, colour, tags and escapes."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "\x08" in text:
        text = re.sub(r"[^\x08]\x08", "", text).replace("\x08", "")
    # a process list or a tree may hold the same characters: only a leading > is quoting
    text = _QUOTE.sub("", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return _SPACES.sub(" ", text).replace("\r", " ")
