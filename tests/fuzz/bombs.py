"""Inputs that are small to send and large to read, of any size: lines without end, depth, expansion."""

from __future__ import annotations

from collections.abc import Callable

_SADF = b'{"sysstat": {"hosts": [{"nodename": "h", "statistics": ['
_IOSTAT = b'{"sysstat": {"hosts": [{"nodename": "h", "statistics": [{"disk": [{"disk_device": '
_XML = b'<?xml version="1.0"?>\n<sysstat><host nodename="h">'


def _filled(part: bytes, start: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: start + part * (size // len(part))


LONG_LINES: dict[str, Callable[[int], bytes]] = {
    "letters": _filled(b"a"),
    "digits": _filled(b"9"),
    "numbers": _filled(b"1.25 "),
    "blanks": _filled(b" ", b"Device r/s w/s"),
    "header words": _filled(b"Device r/s w/s "),
    "rows below a header": _filled(b"sda 1 2 3 4 ", b"Device r/s w/s await %util\n"),
    "line ends as escapes": _filled(rb"\nsda 1.00 2.00 3.00 4.00"),
    "brackets": _filled(b"["),
    "quoted-printable": _filled(b"=20"),
    "entities": _filled(b"&lt;"),
    "open tags": _filled(b"<"),
    "closed tags": _filled(b"<b>"),
    "quoting": _filled(b"> "),
    "overstrikes": _filled(b"a\x08"),
    "colours": _filled(b"\x1b[0m"),
    "csv cells": _filled(b"x;", b"# hostname;interval;timestamp;DEV;tps\ndb1;600;2026-11-20 00:10:01 UTC;"),
    "json strings": _filled(rb"\n", b'{"stdout": "'),
    "json records": _filled(b'{"disk": [{"disk_device": "sda", "r/s": 1.0, "util": 3.0}]}, ', _SADF),
    "pairs": _filled(b"DISK:sda tps:1>2 ", b"12:00:01 UTC "),
}
"""One line each, of about so many bytes."""

MANY_LINES: dict[str, Callable[[int], bytes]] = {
    "line feeds": _filled(b"\n"),
    "carriage returns": _filled(b"\r"),
    "one letter": _filled(b"a\n"),
    "quoting": _filled(b">\n"),
    "clocks": _filled(b"12:00:01\n"),
    "headers": _filled(b"Device r/s w/s\n"),
    "banners": _filled(b"Linux 6.1.0 (h) \t11/20/26 \t_x86_64_\t(2 CPU)\n"),
    "arrays": _filled(b"md0 : active raid5 sda1[0]\n"),
    "device lists": _filled(b"NAME SIZE TYPE\n"),
}
"""Lines as short as they can be, each of which may begin something."""

DEEP: dict[str, Callable[[int], bytes]] = {
    "sadf's lists": lambda depth: _SADF + b"[" * depth,
    "sadf's objects, closed": lambda depth: _SADF + b'{"a":' * depth + b"1" + b"}" * depth + b"]}]}}",
    "iostat's": lambda depth: _IOSTAT + b"[" * depth + b"]" * depth,
    "lsblk's children": lambda depth: b'{"blockdevices": [' + b'{"name":"sda","children":[' * depth,
    "fio's": lambda depth: b'{"fio version": "fio-3.36", "jobs": ' + b'[{"jobname":' * depth,
    "brackets alone": lambda depth: b"[" * depth,
    "elements": lambda depth: _XML + b"<a>" * depth,
    "elements, closed": lambda depth: _XML + b"<a>" * depth + b"</a>" * depth + b"</host></sysstat>",
}
"""JSON and XML that nest so deep."""


def _laughs() -> bytes:
    """Ten times ten times ten … letters."""
    levels = b"".join(
        b'<!ENTITY a%d "%s">' % (n, b"&a%s;" % (b"%d" % (n - 1) if n > 1 else b"") * 10) for n in range(1, 9)
    )
    return b'<!ENTITY a "aaaaaaaaaa">' + levels


def _with(declarations: bytes, use: bytes) -> bytes:
    return (
        b'<?xml version="1.0"?><!DOCTYPE s ['
        + declarations
        + b']><sysstat><host nodename="'
        + use
        + b'"/></sysstat>'
    )


ENTITIES: dict[str, bytes] = {
    "a billion laughs": _with(_laughs(), b"&a8;"),
    "quadratic": _with(b'<!ENTITY a "%s">' % (b"a" * 2000), b"&a;" * 100_000),
    "a file of this host": _with(b'<!ENTITY a SYSTEM "file:///etc/passwd">', b"&a;"),
    "a parameter entity": _with(b'<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;', b"h"),
}
"""XML whose entities expand, or fetch."""
