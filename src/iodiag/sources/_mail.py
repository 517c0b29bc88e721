"""Mail whose texts and attachments are in base64: the same mail with what they hold in their place.

Lines are counted in that text. What holds no text stays as it is.
"""

from __future__ import annotations

import base64
import binascii
import re

_ENCODING = re.compile(rb"^content-transfer-encoding:[ \t]*base64[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_BODY = re.compile(rb"\r?\n[ \t]*\r?\n((?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|$))+)")
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n")
_LONGEST_HEADERS = 4000  # in bytes, behind that of the encoding


def is_mail(head: bytes) -> bool:
    """Whether a text's beginning has the headers of mail whose parts may be in base64."""
    return b"\n\n" in head.replace(b"\r", b"") and (
        b"MIME-Version:" in head or _ENCODING.search(head) is not None
    )


def with_plain_attachments(data: bytes) -> bytes:
    """The text with every part in base64 that holds text as that text."""
    parts, done = [], 0
    for header in _ENCODING.finditer(data):
        blank = _BLANK.search(data, header.end(), header.end() + _LONGEST_HEADERS)
        body = _BODY.match(data, blank.start()) if blank else None
        text = _text_of(body[1]) if body else b""
        if body and text:
            parts += [data[done : body.start(1)], text, b"\n" * (not text.endswith(b"\n"))]
            done = body.end(1)
    return b"".join([*parts, data[done:]]) if parts else data


def _text_of(encoded: bytes) -> bytes:
    """What a part in base64 holds, as far as it goes; nothing where that is no text."""
    digits = b"".join(encoded.split())
    try:
        text = base64.b64decode(digits[: len(digits) // 4 * 4])
    except binascii.Error:
        return b""  # padding inside it: no part, or two
    return b"" if b"\0" in text[:4096] else text
