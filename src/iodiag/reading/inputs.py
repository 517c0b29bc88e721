"""All captures of one input: of a file, of each file that matters in a directory or an archive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import BinaryIO

from iodiag.errors import IodiagError, SourceError, UnknownFormat
from iodiag.hosts.captures_to_hosts import STATEMENT
from iodiag.hosts.joining import has_samples
from iodiag.model.capture import Capture, ParseNote, Section, Source
from iodiag.reading.captures import is_known, read_source
from iodiag.sources.archives import Contents, HostName, find
from iodiag.sources.copies import Seen


def read_input(
    place: str | Path | BinaryIO,
    strict: bool,
    columns: str | None,
    name: str | None,
    seen: Seen,
    tables: Collection[str] | None = None,
    on_file: Callable[[str], None] | None = None,
) -> tuple[list[Capture], list[IodiagError]]:
    """The captures of one input, whatever it is; `seen` are the sources read before.

    `on_file` is called with the name of each file before it is read.
    """
    captures: list[Capture] = []
    others: list[Capture] = []
    problems: list[IodiagError] = []
    unknown: IodiagError | None = None
    cut: list[IodiagError] = []
    is_repeated = False
    try:
        for found in find(place, lambda head: is_known(head, columns), name):
            if isinstance(found, Contents):
                cut = [SourceError(line) for line in found.lost]
                reason = (
                    f"{found.name}: no file in this {found.kind} holds a capture that iodiag knows; "
                    "put captures of iostat -x, sar, vmstat or sadc there"
                )
                unknown = UnknownFormat(reason)
                others += _account(found, [*problems, *cut])
            elif isinstance(found, HostName):
                others.append(_stated_host(found))
            elif _is_repeat(found, seen):
                is_repeated = True
            else:
                if on_file:
                    on_file(found.name)
                try:
                    capture = read_source(found, strict=strict, columns=columns, tables=tables)
                except UnknownFormat as problem:
                    unknown = problem
                except IodiagError as problem:
                    problems.append(problem)
                else:
                    captures.append(capture)
                    seen.add(found, capture)
                    cut = [SourceError(f"{found.name}: {found.remark}")] if found.remark else []
    except IodiagError as problem:
        problems.append(problem)
    problems += cut
    if captures or is_repeated:
        return [*captures, *others], problems
    return [], problems if unknown is None else [*problems, unknown]


def _is_repeat(source: Source, seen: Seen) -> bool:
    """Whether an input is the copy of one before; the first gets a note.

    Equal samples are copies wherever they lie. Equal context of two hosts is none: both have it.
    """
    first = seen.copy_of(source)
    if first is None:
        return False
    original = next(iter(first.sources.values()))
    is_copy = has_samples(first) or original.folder == source.folder
    if is_copy:
        reason = f"{source.name} holds the same bytes and was not read again"
        first.notes.append(ParseNote(original.name, 0, reason))
    return is_copy


def _stated_host(found: HostName) -> Capture:
    """The name of a host that a report states, as a capture of its own."""
    source = Source(found.source, f"{found.host}\n".encode(), folder=found.folder)
    section = Section(
        source=source.name,
        format=STATEMENT,
        layout=f"{found.host}, by its {found.origin}",
        host=found.host,
        rows=1,
        first_line=1,
        is_context=True,
    )
    return Capture(sources={source.name: source}, sections=[section])


def _account(contents: Contents, problems: Iterable[IodiagError]) -> list[Capture]:
    """What an archive holds and what of it could not be read, as an entry of the list of sources."""
    reasons = [str(problem).removeprefix(f"{contents.name}: ") for problem in problems]
    if contents.passed:
        names = ", ".join(contents.passed[:3]) + (", …" if len(contents.passed) > 3 else "")
        count = len(contents.passed)
        reasons.append(f"{count} large files whose beginning holds nothing known were passed over: {names}")
    if contents.kind == "directory" and not reasons:
        return []
    layout = f"{contents.kept} of {contents.files} files read"
    folder = contents.name if contents.kind == "directory" else f"{contents.name}:"
    source = Source(contents.name, b"", folder=folder)
    section = Section(source=source.name, format=contents.kind, layout=layout, is_context=True)
    notes = [ParseNote(source.name, 0, reason) for reason in reasons]
    return [Capture(sources={source.name: source}, sections=[section], notes=notes)]
