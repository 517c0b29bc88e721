"""SUSE supportconfig's texts: many outputs in one file, each below a `#==[ Command ]===#` line.

A file stays one text with its line numbers. Logs and settings that are copied into it, where anything may
stand, are emptied, and the title of a file of /sys becomes the `cat` that would have printed it.
"""

from __future__ import annotations

import re

_SEPARATOR = re.compile(rb"^#==\[ ([^\]\n]{1,60}) \]=+#?[ \t]*\r?$", re.MULTILINE)
_TITLE = re.compile(rb"\n# (?P<title>[^\n]{1,400})")
_HEAD_BYTES = 1 << 16
_COPIES = (b"Log File", b"Configuration File", b"Verification", b"System Logs")
_TELLING_COPY = re.compile(rb"/(?:proc|sys)/\S+\s*$")


def is_supportconfig(head: bytes) -> bool:
    """Whether a text's beginning holds supportconfig's separators."""
    return b"#==[ " in head and _SEPARATOR.search(head[:_HEAD_BYTES]) is not None


def with_plain_parts(data: bytes) -> bytes:
    """The text with copied logs and settings emptied; every line keeps its number."""
    separators = list(_SEPARATOR.finditer(data))
    if not separators:
        return data
    ends = [found.start() for found in separators[1:]] + [len(data)]
    parts = [data[: separators[0].start()]]
    for found, end in zip(separators, ends, strict=True):
        title = _TITLE.match(data, found.end(), end)
        is_copy = found[1].startswith(_COPIES)
        if not is_copy or title is None:
            parts.append(data[found.start() : end])
        elif _TELLING_COPY.match(title["title"]):
            command = b"cat " if title["title"].startswith(b"/sys/") else b""
            start = title.start("title")
            parts += [data[found.start() : start], command, data[start:end]]
        else:
            kept = data[found.start() : title.end()]
            parts += [kept, b"\n" * data.count(b"\n", title.end(), end)]
    return b"".join(parts)
