"""Lines of a capture that a program stored as strings: JSON logs of containers and services, lists of lines.

Docker, the journal, cloud logs and log shippers write an object per line, on one line or over several;
configuration tools and scripts print a list of strings. Lines are taken out of them where one is a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain

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
_OF_KERNEL = re.compile(r'\s*\{.*"_TRANSPORT"\s*:\s*"kernel"')
"""A message of the kernel in the journal (journalctl -k -o json), which is read as its text prints it."""

_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts")
_LONGEST_OBJECT = 100_000
_FEWEST = 3  # lines in a list
_MOST_HEADER_WORDS = 60


def unwrapped(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The lines that were strings in objects or lists, and what is around them."""
    listed = [line for piece in pieces for line in _listed(piece)]
    if _has_header(listed):
        return listed
    told = {at: lines for at, piece in enumerate(pieces) if (lines := _logged(piece))}
    is_of_kernel = any(_OF_KERNEL.match(pieces[at].text) for at in told)
    if not is_of_kernel and not _has_header(chain.from_iterable(told.values())):
        return pieces
    first, last = min(told), max(told)
    # what stands in one string as well, with its line feeds as two characters, counts once
    others = (piece for at, piece in enumerate(pieces) if at not in told and _is_whole(piece))
    whole = {line for piece in others for line in _lines_of(piece)}
    result: list[Piece] = []
    for at, piece in enumerate(pieces):
        if at in told:
            result += [line for line in told[at] if line.text not in whole]
        elif not (first <= at <= last and _is_rest(piece)):
            result.append(piece)
    return result


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


def _logged(piece: Piece) -> list[Piece]:
    """The lines that a line of JSON holds, one as a rule; none where it holds none."""
    text, stamp = piece.text.strip(), None
    try:
        if text[:1] == "{" and text.rstrip(",")[-1:] == "}" and len(text) <= _LONGEST_OBJECT:
            members = json.loads(text.rstrip(","))
            told = next((members[key] for key in _LINE_KEYS if isinstance(members.get(key), str)), None)
            stamp = _stamp_of(members)
            host = "".join(str(members.get("_HOSTNAME") or "").split())
            if told and host and stamp and stamp.epoch and _OF_KERNEL.match(text):
                begun = datetime.fromtimestamp(stamp.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
                told = f"{begun} {host} kernel: {told}"
        else:
            found = _MEMBER.fullmatch(text) or _ELEMENT.fullmatch(text)
            told = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return []
    if told is None:
        return []
    lines = (line.rstrip("\r") for line in told.rstrip("\r\n").split("\n"))
    return [piece._replace(text=line, stamp=stamp or piece.stamp) for line in lines]


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
