"""The members of a zip archive, one after the other, from bytes that are read forward only.

The headers in front of the members are enough; the directory at the end is not needed, so that a pipe
can be read, an archive that is cut off, and one whose directory lies.
"""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from iodiag.sources._compressed import Deflate, Unpacker, Zstandard, inflated
from iodiag.sources._stream import PIECE_BYTES, ByteStream, DamageError, part_of, rest_of
from iodiag.sources._tar import Member

_LOCAL, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
_ENDS = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x08")
_HEADER = struct.Struct(
    "<4xHHH4xIIIHH"
)  # version, flags, method, crc, packed, size, length of name, of extra
_UNKNOWN_SIZE = 0xFFFFFFFF
_STORED, _DEFLATED, _BZIP2, _ZSTD = 0, 8, 12, 93


class _Header(NamedTuple):
    name: str
    method: int
    packed_bytes: int
    crc: int | None
    is_encrypted: bool
    has_descriptor: bool


def is_zip(head: bytes) -> bool:
    """Whether bytes begin with a member's header, or the end of an empty archive."""
    return head[:4] in (_LOCAL, b"PK\x05\x06")


def zip_members(
    stream: ByteStream, counted: Callable[[Iterator[bytes]], Iterator[bytes]]
) -> Iterator[Member]:
    """The files, in order. Raises DamageError where the archive is cut off or broken.

    `counted` is put around what each member unpacks to; it raises DamageError when that is too much.
    """
    while stream.peek(4) == _LOCAL:
        header = _next_header(stream)
        refusal = _refusal(header)
        body = ByteStream(counted(_contents(stream, header)))
        start = stream.position
        if not header.name.endswith("/") and (not header.has_descriptor or not refusal):
            yield Member(header.name, body, refusal)
        if not header.has_descriptor:
            stream.skip(start + header.packed_bytes - stream.position)
        elif refusal:
            raise DamageError(f"holds {header.name[-200:]!r}, which {refusal} and has no size", is_cut=True)
        else:
            for _ in body.pieces():
                pass
            if body.damage:
                raise body.damage
            _pass_descriptor(stream)
    if stream.peek(4) not in _ENDS:
        broken = DamageError(f"is broken at byte {stream.position}", is_cut=True)
        raise (stream.damage or broken) if stream.peek(1) else stream.cut_off()


def _refusal(header: _Header) -> str:
    if header.is_encrypted:
        return "is encrypted"
    if header.method not in (_STORED, _DEFLATED, _BZIP2, _ZSTD):
        return f"is compressed with zip's method {header.method}"
    return ""


def _next_header(stream: ByteStream) -> _Header:
    fixed = stream.read(_HEADER.size)
    if len(fixed) < _HEADER.size:
        raise stream.cut_off()
    _, flags, method, crc, packed, size, name_bytes, extra_bytes = _HEADER.unpack(fixed)
    name = stream.read(name_bytes)
    extra = stream.read(extra_bytes)
    if packed == _UNKNOWN_SIZE or size == _UNKNOWN_SIZE:
        packed = _large_size(extra, packed, size)
    return _Header(
        name=_text(name, is_utf8=bool(flags & 0x800)).replace("\\", "/"),
        method=method,
        packed_bytes=packed,
        # the checksum stands in front only where the member was not written to a pipe
        crc=None if flags & 8 else crc,
        is_encrypted=bool(flags & 1),
        # a size that is stated all the same can be relied on
        has_descriptor=bool(flags & 8) and packed == 0,
    )


def _large_size(extra: bytes, packed: int, size: int) -> int:
    """The packed size from the zip64 field; sizes stand there in the order size, packed."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        place = at + 4 + (8 if size == _UNKNOWN_SIZE else 0)
        if kind == 1 and packed == _UNKNOWN_SIZE and place + 8 <= len(extra):
            (packed,) = struct.unpack_from("<Q", extra, place)
            return int(packed)
        at += 4 + length
    return packed


def _text(name: bytes, is_utf8: bool) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("utf-8", "replace") if is_utf8 else name.decode("cp437")


def _contents(stream: ByteStream, header: _Header) -> Iterator[bytes]:
    """The bytes of a member, checked against the checksum that its header states."""
    checksum = 0
    for piece in _plain_pieces(stream, header):
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if header.crc is not None and checksum != header.crc:
        raise DamageError("does not match its checksum")


def _plain_pieces(stream: ByteStream, header: _Header) -> Iterator[bytes]:
    if not header.has_descriptor:
        packed = ByteStream(part_of(stream, header.packed_bytes))
        if header.method == _STORED:
            yield from rest_of(packed)
        elif header.packed_bytes:
            yield from inflated(packed, _unpacker(header.method))
        return
    if header.method == _STORED:
        yield from _until_descriptor(stream)
        return
    unpacker = _unpacker(header.method)
    yield from inflated(stream, unpacker)
    stream.unread(unpacker.unused_data)


def _unpacker(method: int) -> Unpacker:
    if method == _BZIP2:
        return bz2.BZ2Decompressor()
    return Zstandard() if method == _ZSTD else Deflate(-zlib.MAX_WBITS)


def _until_descriptor(stream: ByteStream) -> Iterator[bytes]:
    """Stored bytes whose size only the descriptor behind them tells: it must agree with what came."""
    size = 0
    while window := stream.peek(PIECE_BYTES):
        at = window.find(_DESCRIPTOR)
        if at < 0:
            piece = stream.read(max(len(window) - 3, 1))
        elif int.from_bytes(stream.peek(at + 12)[at + 8 :], "little") == (size + at) & 0xFFFFFFFF:
            yield stream.read(at)
            return
        else:
            piece = stream.read(at + 4)
        size += len(piece)
        yield piece
    raise stream.cut_off()


def _pass_descriptor(stream: ByteStream) -> None:
    """Pass over what follows a member of unknown size: with or without a signature, sizes of 4 or 8 bytes."""
    ahead = stream.peek(28)
    start = 4 if ahead.startswith(_DESCRIPTOR) else 0
    for size in (start + 12, start + 20):
        if ahead[size : size + 2] == b"PK":
            stream.read(size)
            return
    raise stream.damage or DamageError(f"is broken at byte {stream.position}", is_cut=len(ahead) < 28)
