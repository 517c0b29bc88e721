"""Decompression in bounded steps: gzip, bzip2, xz and zstd, told by their first bytes."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from iodiag.sources._stream import PIECE_BYTES, ByteStream, DamageError
from iodiag.sources.limits import limits, raising

_ZSTD_STEP = 1 << 10  # a block of zstd is at least 3 bytes and makes up to 128 KiB: 43 MiB at most a step


class Unpacker(Protocol):
    """One compressed stream, as bz2 and lzma have it."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed stream was reached."""

    @property
    def unused_data(self) -> bytes:
        """What came behind that end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take bytes and give at most `max_length` of what they make; the rest stays for a later call."""


class Deflate:
    """zlib with its unconsumed input kept inside."""

    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed stream was reached."""
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        """What came behind that end."""
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take bytes and give at most `max_length` of what they make."""
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class Zstandard:
    """zstd in steps so small that what they make is bounded."""

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError:
            raise DamageError("is zstd-compressed; install iodiag[zstd], or unpack it first") from None
        self._object = zstandard.ZstdDecompressor().decompressobj()
        self._error = zstandard.ZstdError
        self._waiting = bytearray()

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed stream was reached."""
        return bool(self._object.eof)

    @property
    def unused_data(self) -> bytes:
        """What came behind that end."""
        return bytes(self._object.unused_data) + bytes(self._waiting)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take bytes and give what a first part of them makes; `max_length` is only a hint."""
        self._waiting += data
        made: list[bytes] = []
        while self._waiting and not self.eof and sum(map(len, made)) < max_length:
            step = bytes(self._waiting[:_ZSTD_STEP])
            del self._waiting[:_ZSTD_STEP]
            try:
                made.append(self._object.decompress(step))
            except self._error as error:
                raise zlib.error(str(error)) from None
        return b"".join(made)


class _Kind(NamedTuple):
    """How data of a kind of compression begins, and what unpacks it."""

    start: re.Pattern[bytes]
    make: Callable[[], Unpacker]


_KINDS = (
    _Kind(re.compile(rb"\x1f\x8b\x08"), lambda: Deflate(31)),
    _Kind(re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),
    _Kind(
        re.compile(rb"\xfd7zXZ\x00"),
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits().xz_memory),
    ),
    _Kind(re.compile(rb"\x28\xb5\x2f\xfd"), Zstandard),
)
_LONGEST_START = 10


def unpacked(stream: ByteStream) -> ByteStream:
    """The stream itself, or what is compressed in it, through as many layers as the limits allow."""
    for _ in range(limits().layers):
        start = stream.peek(_LONGEST_START)
        kind = next((kind for kind in _KINDS if kind.start.match(start)), None)
        if kind is None:
            return stream
        stream = ByteStream(_contents(stream, kind))
    start = stream.peek(_LONGEST_START)
    return ByteStream(_too_deep()) if any(kind.start.match(start) for kind in _KINDS) else stream


def _too_deep() -> Iterator[bytes]:
    """In place of what is compressed more often than the limits allow."""
    raise DamageError(f"is compressed more than {limits().layers} times; unpack it ({raising('layers')})")
    yield b""


def _contents(stream: ByteStream, kind: _Kind) -> Iterator[bytes]:
    """What is compressed; several compressed streams behind each other (logs appended to) are one."""
    while kind.start.match(stream.peek(_LONGEST_START)):
        unpacker = kind.make()
        yield from inflated(stream, unpacker)
        stream.unread(unpacker.unused_data)
        while (padding := stream.peek(512)) and not padding.strip(b"\0"):
            stream.read(len(padding))
    if stream.peek(1):
        raise DamageError("has data that is not compressed behind what is", is_cut=True)
    if stream.damage:
        raise stream.damage


def inflated(stream: ByteStream, unpacker: Unpacker) -> Iterator[bytes]:
    """What one compressed stream makes, in pieces."""
    data = b""
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(data, PIECE_BYTES)
        except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
            raise DamageError(f"is damaged compressed data ({error})") from None
        data = b""
        if piece:
            yield piece
        elif not unpacker.eof and not (data := stream.read(PIECE_BYTES)):
            raise stream.damage or DamageError("is damaged compressed data (cut off)", is_cut=True)
