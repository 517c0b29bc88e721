"""Where a data set lies: a folder of this machine, or a remote address. What is written is whole or absent.

A local file is written under a temporary name and renamed. Object stores (S3 and its like) show a new
object only when its last byte is there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from iodiag.errors import OutputError

TEMPORARY = ".iodiag-tmp-"
"""What the names of files begin with that are not whole yet."""


class OutputStore(Protocol):
    """A data set's root. Paths are relative to it, with `/` between their parts."""

    @property
    def name(self) -> str:
        """What to call it."""

    def writing(self, path: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """A file to write; it appears under its name when the block ends without an error."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None when there is none."""

    def files(self) -> dict[str, int]:
        """All files with their sizes, those that are not whole included."""

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty without it."""


def write(place: OutputStore, path: str, data: bytes) -> None:
    """Write a file whole."""
    with place.writing(path) as handle:
        handle.write(data)


@dataclass(frozen=True)
class Folder:
    """A data set in a folder of this machine, or of one that all machines see under this path."""

    root: str

    @property
    def name(self) -> str:
        """What to call it."""
        return self.root

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """A file to write; it appears under its name when the block ends without an error."""
        target = Path(self.root, path)
        name = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(dir=target.parent, prefix=TEMPORARY)
            with os.fdopen(number, "wb") as handle:
                yield handle
            os.chmod(name, 0o644)
            os.replace(name, target)
        except OSError as error:
            raise _unwritable(f"{self.root}/{path}", error) from None
        finally:
            if name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(name)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None when there is none, or only a device, which may have no end."""
        whole = Path(self.root, path)
        try:
            return whole.read_bytes() if whole.is_file() else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unwritable(f"{self.root}/{path}", error) from None

    def files(self) -> dict[str, int]:
        """All files with their sizes, those that are not whole included."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.root).replace(os.sep, "/")] = os.lstat(path).st_size
        return found

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty without it."""
        target = Path(self.root, path)
        with contextlib.suppress(FileNotFoundError):
            target.unlink()
        for folder in target.parents:
            if folder == Path(self.root):
                break
            try:
                folder.rmdir()
            except OSError:
                break


@dataclass(frozen=True)
class Bucket:
    """A data set at a remote address, through fsspec."""

    address: str

    @property
    def name(self) -> str:
        """What to call it."""
        from iodiag.sources.remote import shown_address

        return shown_address(self.address).rstrip("/")

    @cached_property
    def _at(self) -> tuple[Any, str]:
        from iodiag.sources.remote import file_system

        system, path = file_system(self.address)
        return system, path.rstrip("/")

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """A file to write; it appears under its name when the block ends without an error."""
        from iodiag.sources.remote import remote_errors

        system, root = self._at
        try:
            with system.transaction, system.open(f"{root}/{path}", "wb") as handle:
                yield handle
        except remote_errors() as error:
            raise _unwritable(f"{self.name}/{path}", error) from None

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None when there is none."""
        from iodiag.sources.remote import remote_errors

        system, root = self._at
        try:
            return bytes(system.cat_file(f"{root}/{path}"))
        except FileNotFoundError:
            return None
        except remote_errors() as error:
            raise _unwritable(f"{self.name}/{path}", error) from None

    def files(self) -> dict[str, int]:
        """All files with their sizes, those that are not whole included."""
        from iodiag.sources.remote import remote_errors

        system, root = self._at
        try:
            system.invalidate_cache()
            found = system.find(root, detail=True)
        except remote_errors() as error:
            raise _unwritable(self.name, error) from None
        return {path.removeprefix(f"{root}/"): int(entry["size"] or 0) for path, entry in found.items()}

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty without it."""
        from iodiag.sources.remote import remote_errors

        system, root = self._at
        try:
            system.rm_file(f"{root}/{path}")
        except FileNotFoundError:
            return
        except remote_errors() as error:
            raise _unwritable(f"{self.name}/{path}", error) from None


def _unwritable(where: str, error: BaseException) -> OutputError:
    reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
    return OutputError(
        f"{where}: cannot be written ({reason}); fix that and give the same command again: "
        "what is done stays done"
    )
