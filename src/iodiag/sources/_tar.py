"""The members of a tar archive, one after the other, from bytes that are read forward only.

Old, ustar, GNU and pax headers. Every header is bounded, nothing is written anywhere, and a member's
name is only a name, so links, devices and paths that climb out of the archive are harmless.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from iodiag.sources._stream import ByteStream, DamageError, part_of

_BLOCK = 512
_MAX_HEADER_BYTES = 1 << 20
_REGULAR = b"0\x007"
_BODILESS = b"123456"  # links, devices, directories: whatever size they state
_GNU_LONG_NAME, _PAX, _GNU_SPARSE = b"L", b"x", b"S"
_ABOUT_OTHERS = b"gK"  # global pax headers and the targets of links: the next member is still to come


class Member(NamedTuple):
    """One file of an archive. `refusal` says why its bytes cannot be had; "" where they can."""

    name: str
    body: ByteStream
    refusal: str = ""


class _Header(NamedTuple):
    name: str
    kind: bytes
    size: int
    is_extended: bool


def is_tar(head: bytes) -> bool:
    """Whether bytes begin with a tar header, told by its checksum."""
    return len(head) >= _BLOCK and _header(head[:_BLOCK]) is not None


def tar_members(stream: ByteStream) -> Iterator[Member]:
    """The regular files, in order. Raises DamageError where the archive is cut off or broken.

    What a caller leaves of a body is skipped. Links, devices and directories have no bytes of
    their own and are passed over.
    """
    extended: dict[str, str] = {}
    while header := _next_header(stream):
        size = 0 if header.kind in _BODILESS else _size(extended.get("size"), header.size)
        end = stream.position + size + -size % _BLOCK
        if header.kind == _GNU_LONG_NAME:
            extended["path"] = _text(_small(stream, size).split(b"\0")[0])
        elif header.kind == _PAX:
            extended |= _pax_records(_small(stream, size))
        elif header.kind in _REGULAR or header.kind == _GNU_SPARSE:
            end += _skip_sparse_map(stream) if header.is_extended else 0
            is_sparse = header.kind == _GNU_SPARSE or any(key.startswith("GNU.sparse") for key in extended)
            name = extended.get("GNU.sparse.name") or extended.get("path") or header.name
            if not name.endswith("/"):
                refusal = "is stored as a sparse file" if is_sparse else ""
                yield Member(name, ByteStream(part_of(stream, size)), refusal)
            extended = {}
        elif header.kind not in _ABOUT_OTHERS:
            extended = {}
        missing = end - stream.position
        if stream.skip(missing) < missing:
            raise stream.damage or DamageError("is cut off", is_cut=True)


def _next_header(stream: ByteStream) -> _Header | None:
    """The header at hand; None at the archive's end."""
    block = stream.read(_BLOCK)
    if len(block) < _BLOCK:
        if block or stream.damage:
            raise stream.damage or DamageError("is cut off", is_cut=True)
        return None
    if not block.strip(b"\0"):
        return None
    header = _header(block)
    if header is None:
        raise DamageError(f"is broken at byte {stream.position - _BLOCK}", is_cut=True)
    return header


def _header(block: bytes) -> _Header | None:
    """A header block taken apart; None when its checksum or a number is wrong."""
    stated = _number(block[148:156])
    plain = block[:148] + b" " * 8 + block[156:]
    # old tars summed signed bytes
    signed = sum(plain) - 256 * sum(byte > 127 for byte in plain)
    size = _number(block[124:136])
    if stated is None or stated not in (sum(plain), signed) or size is None or not block[:1].strip(b"\0"):
        return None
    name = _text(block[:100].split(b"\0")[0])
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500].split(b"\0")[0])):
        name = f"{prefix}/{name}"
    kind = block[156:157]
    return _Header(name, kind, size, is_extended=kind == _GNU_SPARSE and block[482] == 1)


def _number(field: bytes) -> int | None:
    """An octal number, or one in base 256 as GNU tar writes large ones."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits:
        return 0
    return int(digits, 8) if all(byte in b"01234567" for byte in digits) else None


def _size(stated: str | None, plain: int) -> int:
    return int(stated) if stated and stated.isascii() and stated.isdigit() and len(stated) < 20 else plain


def _small(stream: ByteStream, size: int) -> bytes:
    """The body of a header that says more about the next member."""
    if size > _MAX_HEADER_BYTES:
        raise DamageError(f"has a header of {size} bytes at byte {stream.position}", is_cut=True)
    return stream.read(size)


def _pax_records(data: bytes) -> dict[str, str]:
    """The records `length key=value` of a pax header."""
    records: dict[str, str] = {}
    at = 0
    while at < len(data):
        blank = data.find(b" ", at, at + 20)
        length = data[at:blank] if blank > 0 else b""
        if not length.isdigit() or int(length) <= len(length) + 1:
            break
        key, _, value = data[blank + 1 : at + int(length)].removesuffix(b"\n").partition(b"=")
        records[_text(key)] = _text(value)
        at += int(length)
    return records


def _skip_sparse_map(stream: ByteStream) -> int:
    """Pass over the further blocks of an old GNU sparse map; how many bytes those were."""
    skipped = 0
    while len(block := stream.read(_BLOCK)) == _BLOCK:
        skipped += _BLOCK
        if block[504] != 1:
            break
    return skipped


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
