"""Lines of a capture that a program stored as strings: JSON logs of containers and services, lists of lines.

Docker, the journal, cloud logs and log shippers write an object per line, on one line or over several;
configuration tools and scripts print a list of strings. Lines are taken out of them where one is a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.text.structure.headers import find_header

_STRING = r'"(?:[^"\\]|\\.){0,10000}"'
_LINE_KEYS = ("log", "MESSAGE", "message", "@message", "msg", "line", "textPayload")
_MEMBER = re.compile(rf'"(?:{"|".join(_LINE_KEYS)})"\s*:\s*({_STRING}),?')
_ELEMENT = re.compile(rf"(?:- )?({_STRING}),?")
_REST = re.compile(rf"[{{}}\[\],\s]*|{_STRING}\s*:.*")
_BEGINNING = re.compile(r'"[^"]{0,100}"\s{0,100}:\s{0,100}"')
_QUOTED = re.compile(r"'((?:[^'\\]|\\.){0,10000})'|\"((?:[^\"\\]|\\.){0,10000})\"")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts")
_LONGEST_OBJECT = 100_000
_FEWEST = 3  # lines in a list
_MOST_HEADER_WORDS = 60


def unwrapped(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The lines that were strings in objects or lists, and what is around them."""
    listed = [line for piece in pieces for line in _listed(piece)]
    if _has_header(listed):
        return listed
    told = {at: line for at, piece in enumerate(pieces) if (line := _logged(piece)) is not None}
    if not _has_header(told.values()):
        return pieces
    first, last = min(told), max(told)
    # what stands in one string as well, with its line feeds as two characters, counts once
    whole = {line for piece in pieces if _is_whole(piece) for line in _lines_of(piece)}
    return [
        told.get(at, piece)
        for at, piece in enumerate(pieces)
        if not (told[at].text in whole if at in told else first <= at <= last and _is_rest(piece))
    ]


def _is_whole(piece: Piece) -> bool:
    """Whether a line holds many lines, their line feeds as two characters each."""
    return piece.text.count("\\n") >= _FEWEST


def _is_rest(piece: Piece) -> bool:
    """Whether a line is nothing but brackets or another member."""
    return not _is_whole(piece) and _REST.fullmatch(piece.text.strip()) is not None


def _has_header(lines: Iterable[Piece]) -> bool:
    texts = (piece.text.split() for piece in lines)
    return any(find_header(words) for words in texts if 1 < len(words) <= _MOST_HEADER_WORDS)


def _lines_of(piece: Piece) -> Iterator[str]:
    """The lines of a string that holds line feeds as two characters each."""
    text = piece.text.strip()
    begun = _BEGINNING.match(text)
    text = text[begun.end() if begun else 0 :].removesuffix(",").removesuffix('"')
    yield from text.replace("\\t", "\t").split("\\n")


def _logged(piece: Piece) -> Piece | None:
    """The line that a line of JSON holds; None where it holds none."""
    text = piece.text.strip()
    if text[:1] == "{" and text.rstrip(",")[-1:] == "}" and len(text) <= _LONGEST_OBJECT:
        try:
            members = json.loads(text.rstrip(","))
        except (ValueError, RecursionError):
            return None
        line = next((members[key] for key in _LINE_KEYS if isinstance(members.get(key), str)), None)
        return None if line is None else piece._replace(text=line.rstrip("\r\n"), stamp=_stamp_of(members))
    found = _MEMBER.fullmatch(text) or _ELEMENT.fullmatch(text)
    if found is None:
        return None
    try:
        return piece._replace(text=json.loads(found[1]).rstrip("\r\n"))
    except ValueError:
        return None


def _stamp_of(members: dict[str, object]) -> Clock | None:
    """When a line was logged, by the members beside it."""
    micros = members.get("__REALTIME_TIMESTAMP")
    if isinstance(micros, str) and micros.isdigit() and len(micros) == 16:
        return Clock(epoch=int(micros) / 1e6)
    told = next((members[key] for key in _TIME_KEYS if key in members), None)
    return _clock.find_stamp(told) if isinstance(told, str) else None


def _listed(piece: Piece) -> Iterator[Piece]:
    """The strings of a list on one line as lines; the line itself where it is none."""
    start, end = piece.text.find("["), piece.text.rfind("]")
    if 0 <= start < end and piece.text[start + 1 : start + 2] in ("'", '"'):
        strings = [one or other for one, other in _QUOTED.findall(piece.text, start, end)]
        if len(strings) >= _FEWEST:
            yield from (piece._replace(text=line.replace("\\t", "\t").rstrip("\\n")) for line in strings)
            return
    yield piece
