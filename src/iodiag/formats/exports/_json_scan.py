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
_STRICT = json.JSONDecoder(strict=False, parse_int=float)


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


def scan(data: bytes) -> Iterator[Event]:
    """The events of every `{"sysstat": …` document in the data."""
    at = 0
    while begin := _DOCUMENT.search(data, at):
        at = yield from _document(data, begin.start())


def _document(data: bytes, start: int) -> Generator[Event, None, int]:
    """One document's events; returns where it ended."""
    yield Event("document", (), start, start)
    stack: list[tuple[bytes, tuple[str, ...]]] = []
    path: tuple[str, ...] = ()
    key: str | None = None
    at = start
    while not (complete := at > start and not stack):
        token = _TOKEN.match(data, at)
        kind = token.lastgroup if token else None
        if token is None or (key is None and kind in ("string", "number", "word")):
            resume = _RESUME.search(data, at + 1)
            if resume is None or _DOCUMENT.match(data, resume.end()):
                break
            yield Event("broken", path, at, resume.start())
            at, key = resume.start(), None
            continue
        if kind == "key":
            key = _text(token["key"])
        elif kind in ("string", "number", "word"):
            yield Event("scalar", (*path, key or ""), at, token.end(), _value(token))
            key = None
        elif kind == "open":
            here = path if key is None else (*path, key)
            if (stack and _DOCUMENT.match(data, at)) or len(stack) == _DEEPEST:
                break
            key = None
            if token["open"] == b"{":
                if flat := _flat(data, at):
                    end, members = flat
                    yield Event("object", here, max(at, data.find(b'"', at, end)), end, None, members)
                    at = end
                    continue
                yield Event("open", here, at, token.end())
            stack.append((token["open"], path))
            path = here
        elif kind == "close":
            path, key = _close(stack, path, b"{" if token["close"] == b"}" else b"["), None
        at = token.end()
    yield Event("end", (), at, at, float(complete))
    return at


def _close(stack: list[tuple[bytes, tuple[str, ...]]], path: tuple[str, ...], kind: bytes) -> tuple[str, ...]:
    """Close the innermost open bracket of this kind, and those inside that were left open."""
    if all(opened != kind for opened, _ in stack):
        return path
    while True:
        opened, path = stack.pop()
        if opened == kind:
            return path


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
        return float(token["number"].replace(b",", b"."))
    return None if token["word"].lower() in (b"null", b"true", b"false") else math.nan


def _text(quoted: bytes) -> str:
    plain = quoted.decode("utf-8", "replace")
    try:
        return str(_STRICT.decode(plain))
    except ValueError:
        return plain[1:-1]
