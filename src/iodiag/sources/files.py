"""Files, standard input and compressed files as Sources; nothing is written to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from iodiag.errors import SourceError
from iodiag.model.capture import Source

MAX_BYTES = 4 * 1024**3
"""The most that one input may hold after decompression; more is refused, not truncated."""

_CHUNK = 1 << 20


def load(source: str | Path | BinaryIO, name: str | None = None) -> Source:
    """The bytes of one file (`-` is standard input), decompressed; UTF-16 becomes UTF-8.

    Raises SourceError when it cannot be opened or holds more than MAX_BYTES.
    """
    if not isinstance(source, (str, Path)):
        label = name or str(getattr(source, "name", "(stream)"))
        return _source(label, source.read(), folder="")
    if str(source) == "-":
        return _source(name or "(stdin)", sys.stdin.buffer.read(), folder="")
    path = Path(source)
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise SourceError(f"{path}: is a directory; give the files in it, or the directory to `analyze`") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror or error}); check the name and the rights") from None
    return _source(name or str(source), data, folder=str(path.parent))


def expand(path: str | Path) -> Iterator[Path]:
    """The files of a directory tree in the order of their names; a file is itself."""
    path = Path(path)
    if not path.is_dir():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from expand(entry)
        elif entry.is_file():
            yield entry


def _source(name: str, data: bytes, folder: str) -> Source:
    plain = _decode(_decompress(name, data))
    if len(plain) > MAX_BYTES:
        raise SourceError(f"{name}: holds more than {MAX_BYTES >> 30} GiB; split it")
    return Source.of(name, plain, folder)


def _decompress(name: str, data: bytes) -> bytes:
    try:
        if data[:2] == b"\x1f\x8b":
            return _bounded(name, gzip.GzipFile(fileobj=io.BytesIO(data)))
        if data[:3] == b"BZh":
            return _bounded(name, bz2.BZ2File(io.BytesIO(data)))
        if data[:6] == b"\xfd7zXZ\x00":
            return _bounded(name, lzma.LZMAFile(io.BytesIO(data)))
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return _zstandard(name, data)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise SourceError(f"{name}: is damaged compressed data ({error}); fetch it again") from None
    return data


def _bounded(name: str, stream: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile) -> bytes:
    parts, size = [], 0
    while part := stream.read(_CHUNK):
        size += len(part)
        if size > MAX_BYTES:
            raise SourceError(f"{name}: unpacks to more than {MAX_BYTES >> 30} GiB; unpack and split it first")
        parts.append(part)
    return b"".join(parts)


def _zstandard(name: str, data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise SourceError(f"{name}: is zstd-compressed; install iodiag[zstd], or unpack it first") from None
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
        return _bounded(name, reader)
    except zstandard.ZstdError as error:
        raise SourceError(f"{name}: is damaged compressed data ({error}); fetch it again") from None


def _decode(data: bytes) -> bytes:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf")
