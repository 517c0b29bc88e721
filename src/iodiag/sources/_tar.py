"""The members of a tar archive, one after the other, from bytes that are read forward only.

The standard library's `TarInfo` reads the header blocks. Its `TarFile` is not used: its time and memory grow
with the square of an extended header (in Python 3.11.7, 64 KiB of digits take 8 s, 32 KiB of nested records
270 MB), and it ends silently at a header that is broken or cut off. Nothing is written anywhere, and a
member's name is only a name, so links, devices and paths that climb out of the archive are harmless.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import NamedTuple

from iodiag.sources._stream import ByteStream, DamageError, part_of

_BLOCK = tarfile.BLOCKSIZE
_MAX_HEADER_BYTES = 1 << 20
_LINKS, _DEVICES = (tarfile.LNKTYPE, tarfile.SYMTYPE), (tarfile.CHRTYPE, tarfile.BLKTYPE)
_BODILESS = (*_LINKS, *_DEVICES, tarfile.DIRTYPE, tarfile.FIFOTYPE)
_ABOUT_OTHERS = (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK)
"""Global pax headers and the targets of links: the member that was announced is still to come."""


class Member(NamedTuple):
    """One file of an archive. `refusal` says why its bytes cannot be had; "" where they can."""

    name: str
    body: ByteStream
    refusal: str = ""


def is_tar(head: bytes) -> bool:
    """Whether bytes begin with a tar header, told by its checksum."""
    return _header(head[:_BLOCK]) is not None


def tar_members(stream: ByteStream) -> Iterator[Member]:
    """The regular files, in order. Raises DamageError where the archive is cut off or broken.

    What a caller leaves of a body is skipped. Links, devices and directories have no bytes of
    their own and are passed over.
    """
    extended: dict[str, str] = {}
    while block := _next_block(stream):
        header = _header(block)
        if header is None:
            raise DamageError(f"is broken at byte {stream.position - _BLOCK}", is_cut=True)
        size = 0 if header.type in _BODILESS else _size(extended.get("size"), header.size)
        end = stream.position + size + -size % _BLOCK
        if header.type == tarfile.GNUTYPE_LONGNAME:
            extended["path"] = _text(_small(stream, size).split(b"\0")[0])
        elif header.type == tarfile.XHDTYPE:
            extended |= _pax_records(_small(stream, size))
        elif header.type in tarfile.REGULAR_TYPES:
            is_old_sparse = header.type == tarfile.GNUTYPE_SPARSE
            end += _skip_sparse_map(stream, block) if is_old_sparse else 0
            is_sparse = is_old_sparse or any(key.startswith("GNU.sparse") for key in extended)
            name = extended.get("GNU.sparse.name") or extended.get("path") or header.name
            if not name.endswith("/"):
                refusal = "is stored as a sparse file" if is_sparse else ""
                yield Member(name, ByteStream(part_of(stream, size)), refusal)
            extended = {}
        elif header.type not in _ABOUT_OTHERS:
            extended = {}
        stream.skip(end - stream.position)


def _next_block(stream: ByteStream) -> bytes:
    """The block of the next header; b"" at the archive's end."""
    block = stream.read(_BLOCK)
    if len(block) < _BLOCK:
        if block or stream.damage:
            raise stream.cut_off()
        return b""
    return block if block.strip(b"\0") else b""


def _header(block: bytes) -> tarfile.TarInfo | None:
    """A header block taken apart; None when its checksum or a number is wrong."""
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
    except tarfile.HeaderError:
        return None
    return header if header.name and header.size >= 0 else None


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


def _skip_sparse_map(stream: ByteStream, block: bytes) -> int:
    """Pass over the blocks in which an old GNU sparse header goes on; how many bytes those were."""
    skipped, flag = 0, block[482]
    while flag == 1 and len(block := stream.read(_BLOCK)) == _BLOCK:
        skipped, flag = skipped + _BLOCK, block[504]
    return skipped


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
