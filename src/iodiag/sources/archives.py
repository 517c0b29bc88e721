"""Archives, directories and remote folders, read in place: which files matter, and whose host they are of.

Nothing is unpacked to disk. Members come one after the other through bounded memory; what is left out
for a limit or for damage is said in a line, and what came before is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from iodiag.errors import SourceError
from iodiag.model.capture import Source
from iodiag.sources._compressed import unpacked
from iodiag.sources._mdiag import is_mdiag
from iodiag.sources._report_tree import (
    MAX_VALUE_BYTES,
    Place,
    Trees,
    place_of,
    role_of,
    stated_host,
    supportconfig_host,
)
from iodiag.sources._stream import ByteStream, DamageError, pieces_of, rest_of
from iodiag.sources._supportconfig import is_supportconfig
from iodiag.sources._tar import Member, is_tar, tar_members
from iodiag.sources._zip import is_zip, zip_members
from iodiag.sources.files import Opened, decoded, expand, in_utf8, open_input, source_of, whole
from iodiag.sources.limits import in_units, limits, raising
from iodiag.sources.remote import is_remote, list_remote, shown_address

MAX_LOST = 20
"""So many lines on what could not be read are kept of one input."""

SMALL_BYTES = 1 << 20
"""A file up to this size is read whole, wherever in it a capture may stand."""

HEAD_BYTES = 1 << 18
"""Of a larger file, this much must hold something that iodiag knows, or it is left out."""

IsKnown = Callable[[bytes], bool]
"""Whether a text's beginning, or a binary file's, holds something worth reading."""


class HostName(NamedTuple):
    """The host that everything below a folder is of, and the file (or the folder's name) that told."""

    folder: str
    host: str
    origin: str
    source: str


class Contents(NamedTuple):
    """The account of a container: how many files it has, how many were kept, and what was not.

    `lost` are lines on what could not be read and why; `passed` are large files in whose beginning
    nothing was recognised.
    """

    name: str
    kind: Literal["tar", "zip", "directory"]
    files: int
    kept: int
    lost: tuple[str, ...]
    passed: tuple[str, ...]


Found = Source | HostName | Contents


@dataclass
class _Tally:
    """What one input has held so far."""

    files: int = 0
    kept: int = 0
    kept_bytes: int = 0
    streamed_bytes: int = 0
    names: set[str] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)
    lost_more: int = 0
    passed: list[str] = field(default_factory=list)

    def lose(self, line: str) -> None:
        """Note what could not be read; after MAX_LOST lines only how many more there are."""
        if len(self.lost) < MAX_LOST:
            self.lost.append(line)
        else:
            self.lost_more += 1

    def counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The pieces as they come, until there were too many in all."""
        for piece in pieces:
            self.streamed_bytes += len(piece)
            self.check()
            yield piece

    def check(self) -> None:
        most = limits().streamed
        if self.streamed_bytes > most:
            raise DamageError(f"unpacks to more than {in_units(most)} ({raising('streamed')})", is_cut=True)

    def account(self, name: str, kind: Literal["tar", "zip", "directory"]) -> Contents:
        """What an input held in all."""
        more = (f"{name}: {self.lost_more:,} more files could not be read",) if self.lost_more else ()
        return Contents(name, kind, self.files, self.kept, (*self.lost, *more), tuple(self.passed))

    def count_file(self) -> None:
        self.check()
        most = limits().members
        if self.files == most:
            raise DamageError(f"holds more than {most:,} files ({raising('members')})")
        self.files += 1

    def keep(self, name: str, size: int) -> str:
        """Count a member that is kept; gives a name that no other has."""
        self.kept_bytes += size
        most = limits().kept
        if self.kept_bytes > most:
            raise DamageError(f"holds captures of more than {in_units(most)} ({raising('kept')})")
        self.kept += 1
        number = 2
        unique = name
        while unique in self.names:
            unique, number = f"{name}#{number}", number + 1
        self.names.add(unique)
        return unique


@dataclass
class _Container:
    """An archive or a directory that is being looked through; `depth` counts archives, it included."""

    prefix: str
    depth: int
    tally: _Tally
    is_known: IsKnown
    trees: Trees = field(init=False)

    def __post_init__(self) -> None:
        self.trees = Trees(_title(self.prefix))


def find(place: str | Path | BinaryIO, is_known: IsKnown, name: str | None = None) -> Iterator[Found]:
    """Everything worth reading in an input, whatever it is: one Source for a plain file.

    Of a directory, a remote folder or an archive: the Sources in order, then the host names that
    were found and the Contents. Raises SourceError when the input cannot be opened.
    """
    if isinstance(place, str) and is_remote(place):
        if (listed := list_remote(place)) is not None:
            shown = shown_address(place).rstrip("/")
            yield from _directory(_closing(listed), f"{shown}/", shown, is_known)
            return
    elif isinstance(place, (str, Path)) and str(place) != "-" and os.path.isdir(place):
        top = Path(place)
        files = ((path.relative_to(top).as_posix(), ByteStream(_file(path))) for path in expand(top))
        name = in_utf8(str(top))
        prefix = "" if name == "." else f"{name.rstrip('/')}/"
        yield from _directory(_closing(files), prefix, name, is_known)
        return
    yield from _file_or_archive(open_input(place, name), is_known)


def _closing(files: Iterable[tuple[str, ByteStream]]) -> Iterator[Member]:
    """Files as members, each closed before the next is opened."""
    for path, stream in files:
        yield Member(path, stream)
        stream.close()


def _directory(members: Iterator[Member], prefix: str, name: str, is_known: IsKnown) -> Iterator[Found]:
    tally = _Tally()
    yield from _search(members, _Container(prefix, 0, tally, is_known))
    yield tally.account(name, "directory")


def _file_or_archive(opened: Opened, is_known: IsKnown) -> Iterator[Found]:
    tally = _Tally()
    stream = unpacked(opened.stream)
    kind = _kind_of(stream)
    if kind is None:
        if opened.may_be_endless or stream is not opened.stream:
            _refuse_bomb(opened, stream, is_known)
        yield whole(opened, stream)
        return
    members = _members(ByteStream(tally.counted(rest_of(stream))), kind, tally)
    yield from _search(members, _Container(f"{opened.name}:", 1, tally, is_known))
    opened.stream.close()
    yield tally.account(opened.name, kind)


def _refuse_bomb(opened: Opened, stream: ByteStream, is_known: IsKnown) -> None:
    """Raise SourceError when what may have no end is large and its beginning tells nothing."""
    start = stream.peek(SMALL_BYTES + 1)
    if (
        len(start) <= SMALL_BYTES
        or is_supportconfig(start)
        or is_mdiag(start)
        or is_known(decoded(start[:HEAD_BYTES]))
    ):
        return
    most = limits().unknown
    if len(stream.peek(most + 1)) > most:
        stream.close()
        opened.stream.close()
        does, do = ("holds", "save") if stream is opened.stream else ("unpacks to", "unpack")
        raise SourceError(
            f"{opened.name}: {does} more than {in_units(most)}, and its beginning holds nothing that "
            f"iodiag knows; {do} it, and give the captures in it ({raising('unknown')})"
        )


def _kind_of(stream: ByteStream) -> Literal["tar", "zip"] | None:
    head = stream.peek(512)
    return "tar" if is_tar(head) else "zip" if is_zip(head) else None


def _members(stream: ByteStream, kind: str, tally: _Tally) -> Iterator[Member]:
    return tar_members(stream) if kind == "tar" else zip_members(stream, tally.counted)


def _file(path: Path) -> Iterator[bytes]:
    if path.is_dir():
        raise DamageError("cannot be listed; check the rights")
    try:
        with path.open("rb") as handle:
            yield from pieces_of(handle.read)
    except OSError as error:
        raise DamageError(f"cannot be read ({error.strerror or error}); check the rights") from None


def _search(members: Iterator[Member], here: _Container) -> Iterator[Source | HostName]:
    """What matters among the members of one container, those of archives in it included."""
    before = here.tally.files
    try:
        for member in members:
            here.tally.count_file()
            yield from _look(member, here)
    except DamageError as damage:
        where = here.prefix.rstrip(":/") or "."
        looked_at = f"the {here.tally.files - before:,} files before that were looked at, the rest is lost"
        here.tally.lose(f"{where}: {damage.reason}; {looked_at}")
    for root, text in here.trees.value_texts():
        folder = here.prefix + root
        yield Source(here.tally.keep(_below(folder, "sys"), len(text)), text.encode(), folder=folder)
    for root, stated in here.trees.statements():
        folder = here.prefix + root
        yield HostName(folder, stated.host, stated.origin, stated.source or folder.rstrip(":/"))


def _look(member: Member, here: _Container) -> Iterator[Source | HostName]:
    path = _printable(member.name)
    place = place_of(path)
    role = role_of(place, here.trees.know_report(place))
    if role == "skip":
        return
    label = here.prefix + path
    if member.refusal:
        here.tally.lose(f"{label}: {member.refusal}; unpack it first")
    elif role == "value":
        if not here.trees.add_value(place, member.body.read(MAX_VALUE_BYTES)):
            raise DamageError(f"holds too many files of /sys ({raising('values')})")
    elif role != "host" or not _names_host(member.body, place, label, here.trees):
        yield from _open(member.body, path, place, here)


def _names_host(body: ByteStream, place: Place, label: str, trees: Trees) -> bool:
    head = body.peek(MAX_VALUE_BYTES)
    stated = stated_host(place, head) if len(head) < MAX_VALUE_BYTES else None
    if stated:
        trees.add_host(place.root, *stated, label)
    return stated is not None


def _open(body: ByteStream, path: str, place: Place, here: _Container) -> Iterator[Source | HostName]:
    """The capture that a member is, or those in the archive that it is."""
    stream = unpacked(body)
    if stream is not body:
        stream = ByteStream(here.tally.counted(rest_of(stream)))
    kind = _kind_of(stream)
    label = here.prefix + path
    if kind and here.depth >= limits().depth:
        reason = f"is an archive inside {limits().depth} others"
        here.tally.lose(f"{label}: {reason}; give it by itself ({raising('depth')})")
    elif kind:
        inside = _Container(f"{label}:", here.depth + 1, here.tally, here.is_known)
        yield from _search(_members(stream, kind, here.tally), inside)
    elif (source := _capture(stream, body, path, here)) is not None:
        if is_supportconfig(source.data[: 1 << 16]) and (host := supportconfig_host(source.data)):
            here.trees.add_host(place.root, host, "uname", f"{source.name} (uname -a)")
        yield source


def _capture(stream: ByteStream, body: ByteStream, path: str, here: _Container) -> Source | None:
    """A member as a Source; None when nothing in its beginning is known or it cannot be had."""
    label = here.prefix + path
    start = stream.peek(SMALL_BYTES + 1)
    if not start and stream.damage is None:
        return None
    head = decoded(start[:HEAD_BYTES])
    if len(start) > SMALL_BYTES and not (is_supportconfig(head) or is_mdiag(head) or here.is_known(head)):
        here.tally.passed.append(label)
        return None
    most = limits().member
    data = stream.read_all(most)
    damage = stream.damage
    if len(data) > most:
        here.tally.lose(f"{label}: holds more than {in_units(most)}; split it ({raising('member')})")
        return None
    if damage and (not damage.is_cut or not data):
        here.tally.lose(f"{label}: {damage.reason}")
        return None
    if damage and body.damage is None:
        here.tally.lose(f"{label}: {damage.reason}; what came before that was read")
    name = here.tally.keep(label, len(data))
    try:
        return source_of(name, data, here.prefix + path.rpartition("/")[0], damage)
    except SourceError as too_long:
        here.tally.lose(str(too_long))
        return None


def _printable(name: str) -> str:
    """A member's name as it may be shown: no leading ./ or /, nothing that drives a terminal."""
    bare = name.lstrip("/")
    while bare.startswith("./"):
        bare = bare[2:].lstrip("/")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in bare[-1024:])


def _below(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder.endswith((":", "/")) or not folder else f"{folder}/{name}"


def _title(prefix: str) -> str:
    """What a container is called, for the host that its name may tell."""
    name = prefix.rstrip(":/").rpartition("/")[2].rpartition(":")[2]
    for ending in (".xz", ".gz", ".bz2", ".zst", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".zip"):
        name = name.removesuffix(ending)
    return name
