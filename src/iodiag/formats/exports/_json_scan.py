"""sysstat's JSON as a stream of events with places, however the tool or its death left it.

Releases print stray commas, leave commas out, write decimal commas and, when interrupted, no
closing brackets; files hold several documents and the prose around them. So commas are blanks
here, brackets close what they can, and every flat object goes to the standard parser first.
Time and memory are linear in the input; nothing recurses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Iterator
from typing import Literal, NamedTuple

Value = str | float | None

_DEEPEST = 32  # sysstat nests nine levels

_SPACE = rb"[\s\0]*+"
_STRING = rb'"(?:[^"\\\n]|\\.)*+"'
_DOCUMENT = re.compile(rb'\{%b"sysstat"%b:' % (_SPACE, _SPACE))
_FLAT = re.compile(rb"\{[^{}\[\]]*+\}")
_TOKEN = re.compile(
    rb"(?P<blank>[\s,\0]++)"
    rb"|(?P<key>%b)%b:"
    rb"|(?P<string>%b)"
    rb"|(?P<number>[-+]?\d++(?:[.,]\d++)?+(?:[eE][-+]?\d++)?+)"
    rb"|(?P<word>(?i:-?nan|-?inf(?:inity)?+|null|true|false)\b)"
    rb"|(?P<open>[{\[])"
    rb"|(?P<close>[}\]])" % (_STRING, _SPACE, _STRING)
)
_RESUME = re.compile(rb'^[ \t]*+(?=[{}\]]|"[^"\n]*+"[ \t]*+:)', re.MULTILINE)
_GOES_ON = re.compile(rb"[\s\0]*+([,\]}]|%b[ \t]*+:|(?<=[ \t])\{)" % _STRING)
"""What behind a document's last bracket shows that it was not the last."""

_PROSE = re.compile(rb'^(?![ \t]*+(?:[\[\]{},]|"[^"\n]*+"[ \t]*+:))[^\n]', re.MULTILINE)
_NO_NAME = "?"


class Whole(float):
    """A number that was printed without decimals."""


_STRICT = json.JSONDecoder(strict=False, parse_int=Whole)


class Event(NamedTuple):
    """One thing met on the way through the text, with its byte offsets.

    `document` and `end` stand around each top level object (`value` of the latter: 1.0 when its
    last bracket was there); `open` is the beginning of an object that holds others, `object` a
    whole flat one (`members`), `scalar` a member of an object that holds others; `broken` is
    what was skipped. `path` are the keys from the top; lists add nothing to it.
    """

    kind: Literal["document", "open", "object", "scalar", "broken", "end"]
    path: tuple[str, ...]
    start: int
    end: int
    value: Value = None
    members: dict[str, Value] | None = None


class _Open(NamedTuple):
    """An open bracket, the path around it and the keys met inside."""

    bracket: bytes
    around: tuple[str, ...]
    keys: set[str]


NOT_CLOSED = "the JSON ends before its brackets are closed; what follows may be lost"
"""What is said of a document whose `end` is not whole."""


def scan(data: bytes) -> Iterator[Event]:
    """The events of every `{"sysstat": …` document in the data.

    What does not fit together is said by a `broken` event, and mended where the brackets around tell how.
    """
    at = 0
    while begin := _DOCUMENT.search(data, at):
        at = yield from _Document(data, begin.start()).events()
        if rest := _GOES_ON.match(data, at):
            following = _DOCUMENT.search(data, at)
            last = following.start() if following else len(data)
            prose = _PROSE.search(data, rest.end(), last)
            yield Event("broken", (), rest.start(1), prose.start() if prose else last)


class _Document:
    """One document on its way through the scanner."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start
        self._stack: list[_Open] = []
        self._path: tuple[str, ...] = ()
        self._key: str | None = None

    def events(self) -> Generator[Event, None, int]:
        """The document's events; returns where it ended."""
        data, at = self._data, self._start
        yield Event("document", (), at, at)
        while not (complete := at > self._start and not self._stack):
            token = _TOKEN.match(data, at)
            kind = token.lastgroup if token else None
            if token is None or (self._key is None and kind in ("string", "number", "word")):
                resume = _RESUME.search(data, at + 1)
                if resume is None or _DOCUMENT.match(data, resume.end()):
                    break
                yield Event("broken", self._path, at, resume.start())
                at, self._key = resume.start(), None
                continue
            if kind == "open":
                if (self._stack and _DOCUMENT.match(data, at)) or len(self._stack) == _DEEPEST:
                    break
                at = yield from self._open(token["open"], at)
                continue
            if kind == "blank" and token[0].count(b",") > 1 - (data[at - 1 : at] == b"{"):
                yield Event("broken", self._path, at, token.end())
            elif kind == "key":
                yield from self._begin_member(_text(token["key"]), at, token.end())
            elif kind == "number" and token.end() == len(data):  # its other digits may be cut off
                yield Event("broken", self._path, at, token.end())
            elif kind in ("string", "number", "word"):
                yield Event("scalar", (*self._path, self._key or ""), at, token.end(), _value(token))
                self._key = None
            elif kind == "close":
                yield from self._close(b"{" if token["close"] == b"}" else b"[", at)
            at = token.end()
        yield Event("end", (), at, at, float(complete))
        return at

    def _push(self, bracket: bytes) -> None:
        self._stack.append(_Open(bracket, self._path, set()))
        self._path = self._path if self._key is None else (*self._path, self._key)
        self._key = None

    def _begin_member(self, key: str, at: int, end: int) -> Iterator[Event]:
        """A key: it stands in an object, once, and behind the value of the one before."""
        if self._stack[-1].bracket == b"[":  # the bracket before it is lost
            yield Event("broken", self._path, at, end)
            yield Event("open", self._path, at, at + 1)
            self._key = None
            self._push(b"{")
        elif self._key is not None or key in self._stack[-1].keys:
            yield Event("broken", self._path, at, end)
        self._stack[-1].keys.add(key)
        self._key = key

    def _open(self, bracket: bytes, at: int) -> Generator[Event, None, int]:
        """An opening bracket, and a whole flat object behind it; returns where that ends."""
        flat = _flat(self._data, at) if bracket == b"{" else None
        if self._stack and self._key is None and self._stack[-1].bracket == b"{":
            yield Event("broken", self._path, at, at + 1)
            if flat is None and any(each.bracket == b"[" for each in self._stack):
                while self._stack[-1].bracket == b"{":  # that object's end is lost
                    self._path = self._stack.pop().around
            else:  # the name of the list around it is lost
                self._key = _NO_NAME
                self._push(b"[")
        if bracket == b"[" and self._stack and self._key is None:
            yield Event("broken", self._path, at, at + 1)
        here = self._path if self._key is None else (*self._path, self._key)
        if flat is not None:
            end, members = flat
            self._key = None
            yield Event("object", here, max(at, self._data.find(b'"', at, end)), end, None, members)
            return end
        if bracket == b"{":
            yield Event("open", here, at, at + 1)
        self._push(bracket)
        return at + 1

    def _close(self, kind: bytes, at: int) -> Iterator[Event]:
        """Close the innermost open bracket of this kind, and those inside that were left open."""
        if self._key is not None or self._stack[-1].bracket != kind:
            yield Event("broken", self._path, at, at + 1)
        self._key = None
        if any(each.bracket == kind for each in self._stack):
            opened = b""
            while opened != kind:
                opened, self._path, _ = self._stack.pop()


def _flat(data: bytes, at: int) -> tuple[int, dict[str, Value]] | None:
    """The end and members of an object without others in it; None when it is not one, or damaged."""
    whole = _FLAT.match(data, at)
    if whole is None:
        return None
    try:
        members = _STRICT.decode(whole[0].decode("utf-8", "replace"))
    except ValueError:
        members = _tolerant(whole[0])
    return None if members is None else (whole.end(), members)


def _tolerant(text: bytes) -> dict[str, Value] | None:
    """Members of a flat object that is no JSON: decimal commas, nan, commas too many or too few."""
    members: dict[str, Value] = {}
    key, at = None, 1
    while at < len(text) - 1:
        token = _TOKEN.match(text, at, len(text) - 1)
        kind = token.lastgroup if token else None
        if token is None or kind in ("open", "close") or (key is None and kind not in ("key", "blank")):
            return None
        if kind == "key":
            key = _text(token["key"])
        elif key is not None and kind != "blank":
            members[key] = _value(token)
            key = None
        at = token.end()
    return members if key is None else None


def _value(token: re.Match[bytes]) -> Value:
    if token.lastgroup == "string":
        return _text(token["string"])
    if token.lastgroup == "number":
        number = token["number"].replace(b",", b".")
        return float(number) if b"." in number else Whole(number)
    return None if token["word"].lower() in (b"null", b"true", b"false") else math.nan


def _text(quoted: bytes) -> str:
    plain = quoted.decode("utf-8", "replace")
    try:
        return str(_STRICT.decode(plain))
    except ValueError:
        return plain[1:-1]
