"""Files, standard input and compressed files as Sources; nothing is written to disk."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from functools import partial
from io import FileIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from iodiag.errors import SourceError
from iodiag.model.byte_positions import places_of
from iodiag.model.capture import Source
from iodiag.sources._mail import is_mail, with_plain_attachments
from iodiag.sources._mdiag import is_mdiag, with_plain_outputs
from iodiag.sources._stream import ByteStream, DamageError, pieces_of
from iodiag.sources._supportconfig import is_supportconfig, with_plain_parts
from iodiag.sources.limits import in_units, limits, raising
from iodiag.sources.remote import is_remote, open_remote


class Opened(NamedTuple):
    """An input that is open: what to call it, its bytes, the folder it lies in.

    `size` is that of a plain file. `may_be_endless` tells of pipes, devices and addresses that nothing says
    when they end.
    """

    name: str
    stream: ByteStream
    folder: str = ""
    size: int | None = None
    may_be_endless: bool = False


def open_input(source: str | Path | BinaryIO, name: str | None = None) -> Opened:
    """An input, open to be read forward. Raises SourceError when it cannot be opened."""
    if not isinstance(source, (str, Path)):
        label = name or in_utf8(str(getattr(source, "name", "(stream)")))
        return Opened(label, ByteStream(pieces_of(source.read)))
    if str(source) == "-":
        pieces = pieces_of(sys.stdin.buffer.read, ends_short=True)
        return Opened(name or "(stdin)", ByteStream(pieces), may_be_endless=True)
    if isinstance(source, str) and is_remote(source):
        label, stream = open_remote(source)
        return Opened(name or label, stream, folder=label.rpartition("/")[0], may_be_endless=True)
    path = Path(source)
    try:
        handle = path.open("rb", buffering=0)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"{path}: cannot be read ({reason}); check the name and the rights") from None
    stream = ByteStream(_pieces_of_file(handle), partial(_rest_of_file, handle))
    status = os.fstat(handle.fileno())
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    stream.peek(1)  # from here on closing the stream closes the file
    return Opened(name or in_utf8(str(source)), stream, in_utf8(str(path.parent)), size, size is None)


def in_utf8(name: str) -> str:
    """A file's name as it can be written: bytes that are no UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def whole(opened: Opened, stream: ByteStream) -> Source:
    """All bytes of an input as a Source; `stream` is what its bytes unpack to."""
    most = limits().input
    too_large = SourceError(f"{opened.name}: holds more than {in_units(most)}; split it ({raising('input')})")
    if stream is opened.stream and opened.size is not None and opened.size > most:
        stream.close()
        raise too_large
    data = stream.read_all(most)
    opened.stream.close()
    if len(data) > most:
        raise too_large
    damage = stream.damage
    if damage and (not damage.is_cut or not data):
        # a reason that says what to do has nothing to add to it
        advice = "" if ";" in damage.reason else "; fetch it again"
        raise SourceError(f"{opened.name}: {damage.reason}{advice}")
    return source_of(opened.name, data, opened.folder, damage)


def source_of(name: str, data: bytes, folder: str, damage: DamageError | None = None) -> Source:
    """Bytes as a Source: in UTF-8, and without the half line that a cut leaves at the end.

    Raises SourceError when they are more lines than the limits allow.
    """
    remark = ""
    if damage is not None:
        data = data if b"\0" in data[-512:] else data[: data.rfind(b"\n") + 1]
        remark = f"{damage.reason}: what came before that was read, the rest is lost"
    plain = decoded(data)
    most, line_feeds = limits().lines, None
    if len(plain) > most:
        line_feeds = places_of(b"\n", plain, most)
        if len(line_feeds) > most:
            raise SourceError(f"{name}: holds more than {most:,} lines; split it ({raising('lines')})")
    if is_supportconfig(plain[: 1 << 16]):
        plain, line_feeds = with_plain_parts(plain), None
    elif is_mdiag(plain[: 1 << 16]):
        plain, line_feeds = with_plain_outputs(plain), None
    elif is_mail(plain[: 1 << 16]) and (text := with_plain_attachments(plain)) is not plain:
        plain, line_feeds = text, None
        remark = remark or "its parts in base64 were decoded; lines are counted in the text that they hold"
    return Source(name, plain, folder=folder, remark=remark, counted=line_feeds)


def expand(path: str | Path) -> Iterator[Path]:
    """The files of a directory tree in the order of their names; a file is itself.

    Hidden files and links are left out. A directory that cannot be listed stands for its files.
    """
    path = Path(path)
    if not path.is_dir():
        yield path
        return
    try:
        entries = sorted(path.iterdir())
    except OSError:
        yield path
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from expand(entry)
        elif entry.is_file():
            yield entry


def decoded(data: bytes) -> bytes:
    """Text in UTF-16 as UTF-8, without a byte order mark, its lines ended by line feeds."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    # an old Mac's text; what has NUL bytes near its beginning is binary
    if b"\n" not in data and b"\r" in data and b"\0" not in data.lstrip(b"\0")[:64]:
        return data.replace(b"\r", b"\n")
    return data


def _pieces_of_file(handle: FileIO) -> Iterator[bytes]:
    with handle:
        yield from pieces_of(handle.read)


def _rest_of_file(handle: FileIO, position: int, most: int) -> bytes | None:
    """What a plain file holds from a position on; None, and nothing is read, where it is more than `most`."""
    if handle.closed:  # its last piece was looked at
        return None
    status = os.fstat(handle.fileno())
    if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= position + most:
        return None
    reached = handle.tell()
    try:
        handle.seek(position)
        return handle.readall()
    except OSError:  # its pieces give what comes before that
        handle.seek(reached)
        return None
