"""Remote addresses (s3://, sftp://, https://, …) through fsspec, which is loaded only for them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from iodiag.errors import SourceError
from iodiag.sources._stream import PIECE_BYTES, ByteStream, DamageError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"(?<=://)[^/@]*@")
_WEB = re.compile(r"https?://", re.IGNORECASE)
# what the libraries below fsspec raise that is no OSError
_FOREIGN_ERRORS = (
    ("aiohttp", "ClientError"),
    ("aiohttp", "InvalidURL"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("paramiko", "SSHException"),
    ("gcsfs.retry", "HttpError"),
    ("azure.core.exceptions", "AzureError"),
)


class _Place(NamedTuple):
    """An address with its file system, and the path there."""

    shown: str
    system: Any
    path: str


def is_remote(place: str) -> bool:
    """Whether an input is an address, not a path."""
    return _ADDRESS.match(place) is not None


def shown_address(address: str) -> str:
    """An address as it may stand in a report: without user, password and signed query."""
    bare = address.partition("?")[0] if _WEB.match(address) else address
    return _SECRET.sub("", bare)


def open_remote(address: str) -> tuple[str, ByteStream]:
    """What to call a remote file, and its bytes. Raises SourceError when it cannot be opened."""
    place = _place(address)
    stream = ByteStream(_pieces(place))
    stream.peek(1)
    if stream.damage and not stream.peek(1):
        raise SourceError(f"{place.shown}: {stream.damage.reason}")
    return place.shown, stream


def list_remote(address: str) -> list[tuple[str, ByteStream]] | None:
    """The files below a remote folder, by their paths from there; None when it is no folder.

    On the web a folder is what ends in a slash. The files open when they are read.
    """
    place = _place(address)
    try:
        is_folder = address.endswith("/") if _WEB.match(address) else place.system.isdir(place.path)
        if not is_folder:
            return None
        paths: list[str] = sorted(place.system.find(place.path))
    except remote_errors() as error:
        raise SourceError(
            f"{place.shown}: cannot be listed ({_said(error)}); check address and rights"
        ) from None
    top = place.path.rstrip("/") + "/"
    return [
        (path.removeprefix(top), ByteStream(_pieces(place._replace(path=path))))
        for path in paths
        if not any(part.startswith(".") for part in path.removeprefix(top).split("/"))
    ]


def file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path there. Raises SourceError without one."""
    place = _place(address)
    return place.system, place.path


def _place(address: str) -> _Place:
    shown = shown_address(address)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise SourceError(f"{shown}: remote addresses need fsspec; install iodiag[remote]") from None
    try:
        system, path = url_to_fs(address)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"{shown}: needs another package for fsspec ({reason}); install it") from None
    except remote_errors(ValueError) as error:
        raise SourceError(f"{shown}: cannot be opened ({_said(error)}); check the address") from None
    return _Place(shown, system, str(path))


def _pieces(place: _Place) -> Iterator[bytes]:
    try:
        with place.system.open(place.path, "rb") as handle:
            while piece := handle.read(PIECE_BYTES):
                yield bytes(piece)
    except remote_errors() as error:
        raise DamageError(f"cannot be read ({_said(error)}); check address and rights", is_cut=True) from None


def _said(error: BaseException) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())[:300]


def remote_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """The errors that a remote file system may raise, of the libraries that are loaded."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in _FOREIGN_ERRORS)
    return (OSError, EOFError, TimeoutError, *others, *(error for error in found if error is not None))
