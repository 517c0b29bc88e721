"""MongoDB mdiag's JSON: the output of many commands, each line of it a text on a line of its own.

A file stays one text with its line numbers: lines of output become what the command printed. Above them is
the command, or the `cat` of a file of /sys; all else is emptied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION = re.compile(rb'^\s{0,9}"section" : "', re.MULTILINE)
_TAG = re.compile(rb'^\s{0,9}"(?:ref|host|tag)" : ', re.MULTILINE)
_COMMAND = re.compile(rb'\s{0,9}"command" : \[ (.{1,400}) \],?\s*')
_FILE = re.compile(rb'\s{0,9}"filename" : "(/.{1,400})",?\s*')
_OPENS = re.compile(rb'\s{0,9}"(?:output|content)" : \[\s*')
_LINE = re.compile(rb'\s{0,9}"(?P<text>.*)"(?P<ends> \])?,?\r?')
_ESCAPE = re.compile(rb"\\(.)")
_ESCAPED = {b"t": b"\t", b"r": b""}
_TELLING = re.compile(rb"/sys/.*|/proc/(?:mdstat|mounts|meminfo|swaps|diskstats|pressure/\w+)")


def is_mdiag(head: bytes) -> bool:
    """Whether a text's beginning is that of mdiag's JSON."""
    return head.lstrip()[:1] == b"[" and all(mark.search(head[:4096]) for mark in (_SECTION, _TAG))


def with_plain_outputs(data: bytes) -> bytes:
    """The text with the output of its commands as they printed it; every line keeps its number."""
    return b"\n".join(_plain(data.split(b"\n")))


def _plain(lines: list[bytes]) -> Iterator[bytes]:
    title, is_kept, is_inside = b"", True, False
    for line in lines:
        plain = b""
        if is_inside and (found := _LINE.fullmatch(line)):
            plain = _ESCAPE.sub(_unescaped, found["text"]) if is_kept else b""
            is_inside = not found["ends"]
        elif command := _COMMAND.fullmatch(line):
            title, is_kept = b"# " + command[1].replace(b'", "', b" ").strip(b'"'), True
        elif file := _FILE.fullmatch(line):
            is_kept = _TELLING.fullmatch(file[1]) is not None
            title = b"cat " + file[1] if file[1].startswith(b"/sys/") else b""
        elif _OPENS.fullmatch(line):
            plain, is_inside = title if is_kept else b"", True
        elif line.strip() == b"{":
            title, is_kept, is_inside = b"", True, False
        yield plain


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(match[1], match[1])
