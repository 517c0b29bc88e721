"""What a fleet's inputs hold, without reading all of it: whose samples, of which days, and what is context.

Runs where the jobs run, an input at a time. Of sa files only the heads of the records are read; every
other input is read as `iodiag.read` would, and only the account of it is kept.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from iodiag.errors import IodiagError, SourceError, UnknownFormat
from iodiag.formats.sa import sa_binary
from iodiag.hosts.same_name import DeviceFact, facts_of
from iodiag.model.capture import EVENTS, Capture, Source
from iodiag.reading.captures import is_known, read_source
from iodiag.sources.archives import Contents, HostName, find
from iodiag.sources.files import expand, in_utf8, open_input
from iodiag.sources.limits import in_units, limits, raising
from iodiag.sources.remote import is_remote, list_remote, shown_address

UNDATED = "undated"
"""The day of samples without a date."""

_MOST_KEPT_BYTES = 32 << 20
_HEAD = 4096


@dataclass(frozen=True)
class Input:
    """One file to read: `name` as reports show it, `address` where a worker finds it, and the place given."""

    name: str
    address: str
    root: str


@dataclass(frozen=True)
class Part:
    """One file of samples or of context inside an input (the input itself, or an archive's member).

    `named` are the hosts that it names, `days` the pairs of host ("" where it names none) and day
    that it has samples of. `zone_s` is what its host's clock was ahead of UTC, by which an sa file's days go.
    `facts` are what it states of devices.
    """

    name: str
    folder: str
    sha256: str
    named: tuple[str, ...]
    days: tuple[tuple[str, str], ...]
    zone_s: int = 0
    facts: tuple[DeviceFact, ...] = ()


@dataclass(frozen=True)
class Scan:
    """The account of one input. `stated` are pairs of folder and the host that a report says it is of.

    `failures` are lines on what could not be read; `is_unknown` where nothing in it is of a known format.
    """

    item: Input
    sha256: str = ""
    size_bytes: int = 0
    parts: tuple[Part, ...] = ()
    stated: tuple[tuple[str, str], ...] = ()
    failures: tuple[str, ...] = ()
    is_unknown: bool = False


def inputs_of(places: Iterable[str], out: str = "") -> tuple[list[Input], list[IodiagError]]:
    """The files at the given places, each once, in the order of their names; and what could not be listed.

    What lies in the data set itself, at `out`, is no input of it.
    """
    own = f"{out.rstrip('/')}/"
    found: dict[str, Input] = {}
    problems: list[IodiagError] = []
    for place in places:
        try:
            for item in _files(place):
                if not out or not item.address.startswith(own):
                    found.setdefault(item.address, item)
        except IodiagError as problem:
            problems.append(problem)
    return sorted(found.values(), key=lambda item: (item.name, item.address)), problems


def _files(place: str) -> Iterator[Input]:
    if is_remote(place):
        shown, listed = shown_address(place), list_remote(place)
        if listed is None:
            yield Input(shown, place, shown.rpartition("/")[0])
            return
        for path, _ in listed:
            yield Input(f"{shown.rstrip('/')}/{path}", f"{place.rstrip('/')}/{path}", shown.rstrip("/"))
        return
    top = Path(place)
    if not os.path.lexists(top):
        raise SourceError(f"{place}: there is no such file; check the name")
    if os.path.exists(top) and not (os.path.isdir(top) or os.path.isfile(top)):
        raise SourceError(f"{place}: is no file; give files and directories, which can be read again")
    root = os.path.abspath(top if top.is_dir() else top.parent)
    for file in expand(top):
        yield Input(in_utf8(str(file)), os.path.abspath(file), root)


def scan(item: Input) -> Scan:
    """What one input holds. Never raises for what is in it: that stands in the account."""
    try:
        sha256, size, data = _checked(item)
    except IodiagError as problem:
        return Scan(item, failures=(str(problem),))
    account = Scan(item, sha256, size)
    parts: list[Part] = []
    stated: list[tuple[str, str]] = []
    failures: list[str] = []
    unknown: list[str] = []
    try:
        place = item.address if data is None else io.BytesIO(data)
        for found in find(place, is_known, item.name):
            if isinstance(found, Contents):
                failures += found.lost
            elif isinstance(found, HostName):
                stated.append((_folder(item, found.folder), found.host))
            else:
                _look(item, found, parts, failures, unknown)
    except IodiagError as problem:
        failures.append(str(problem))
    if not parts and not failures:
        nothing = unknown[:1] or [f"{item.name}: holds nothing that iodiag knows; leave it out"]
        return replace(account, failures=tuple(nothing), is_unknown=True)
    return replace(account, parts=tuple(parts), stated=tuple(stated), failures=tuple(failures))


def _look(item: Input, source: Source, parts: list[Part], failures: list[str], unknown: list[str]) -> None:
    """Add what one file inside the input is to one of the lists."""
    try:
        parts.append(replace(_part(source), folder=_folder(item, source.folder)))
    except UnknownFormat as problem:
        unknown.append(str(problem))
    except IodiagError as problem:
        failures.append(str(problem))
    except Exception as error:  # the fence around one input: recorded, the others go on
        failures.append(f"{source.name}: cannot be read ({type(error).__name__}: {error}); report this file")


def _folder(item: Input, folder: str) -> str:
    """A folder by its address, so that files given by different spellings of a path meet."""
    address = item.name if is_remote(item.address) else item.address
    if not folder:
        return address.rpartition("/")[0]
    return address + folder.removeprefix(item.name) if folder.startswith(item.name) else folder


def _checked(item: Input) -> tuple[str, int, bytes | None]:
    """An input's checksum, size and, where it is small, its bytes: so that they are fetched once."""
    digest, size, most = hashlib.sha256(), 0, limits().streamed
    kept: list[bytes] = []
    stream = open_input(item.address, item.name).stream
    for piece in stream.pieces():
        digest.update(piece)
        size += len(piece)
        if size > most:
            stream.close()
            raise SourceError(
                f"{item.name}: holds more than {in_units(most)}; split it ({raising('streamed')})"
            )
        kept = [*kept, piece] if size <= _MOST_KEPT_BYTES else []
    if stream.damage:
        raise SourceError(f"{item.name}: {stream.damage.reason}")
    return digest.hexdigest(), size, b"".join(kept) if size <= _MOST_KEPT_BYTES else None


def _part(source: Source) -> Part:
    if sa_binary.FORMAT.recognise(source.data[:_HEAD]):
        part = _part_of_sa(source)
        if part.days:
            return part
    capture = read_source(source)
    named = dict.fromkeys(section.host for section in capture.sections if section.host)
    return Part(
        source.name,
        source.folder,
        source.sha256,
        tuple(named),
        tuple(_days(capture)),
        facts=facts_of(capture.topology),
    )


def _part_of_sa(source: Source) -> Part:
    host, dates, zone_s = sa_binary.outline(source)
    named = (host,) if host else ()
    return Part(source.name, source.folder, source.sha256, named, tuple((host, day) for day in dates), zone_s)


def _days(capture: Capture) -> Iterator[tuple[str, str]]:
    """The pairs of host and day that the tables have samples of, averages where there is nothing else."""
    found: dict[tuple[str, str], None] = {}
    samples = {name: frame for name, frame in capture.tables.items() if name != EVENTS}
    for frame in (samples or capture.averages).values():
        pairs = pd.DataFrame({"host": hosts_of(frame), "day": days_of(frame, 0)}).drop_duplicates()
        found |= dict.fromkeys(pairs.itertuples(index=False, name=None))
    dated = {host for host, day in found if day != UNDATED}
    # a table without clocks (a summary) is of the day that the others of its host tell
    yield from (pair for pair in found if pair[1] != UNDATED or pair[0] not in dated)


def hosts_of(frame: pd.DataFrame) -> pd.Series:
    """The host of each row, "" where the source names none."""
    return frame["host"].astype(object).fillna("").astype(str)


def days_of(frame: pd.DataFrame, zone_s: int) -> pd.Series:
    """The day of each row: the one that the middle of its sample lies in, by the clock of its host.

    So the sample that ends at midnight belongs to the day before. UNDATED where the row has no date.
    """
    times = frame["time"]
    if times.dt.tz is not None:
        times = times.dt.tz_localize(None)
    moments = times.to_numpy(dtype="datetime64[ns]")
    halves = np.nan_to_num(frame["interval_s"].to_numpy(dtype=np.float64)) / 2
    shifts = ((zone_s - halves) * 1e9).astype("timedelta64[ns]")
    days = (moments + shifts).astype("datetime64[D]")
    distinct, place = np.unique(days, return_inverse=True)
    names = [UNDATED if np.isnat(day) else str(day) for day in distinct]
    return pd.Series(np.array(names, dtype=object)[place], index=frame.index)
