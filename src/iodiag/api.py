"""The library's functions: read captures, join what belongs together, analyze, compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from iodiag.errors import ConfigError, IodiagError, SourceError
from iodiag.hosts.captures_to_hosts import assign_hosts
from iodiag.hosts.joining import join
from iodiag.judging.options import Names, Options
from iodiag.judging.run import check_selected, judged, prepared
from iodiag.model.capture import Capture, Source
from iodiag.model.columns import FAMILIES
from iodiag.reading.captures import read_source
from iodiag.reading.inputs import read_input
from iodiag.sources.copies import Seen

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.anonymize.pseudonyms import Pseudonyms
    from iodiag.model.finding import Ignore
    from iodiag.model.report import Report

__all__ = ["analyze", "compare", "join", "read", "read_many"]

Given = str | Path | Capture
"""What can be analyzed: a capture, or where one lies."""


def read(
    source: str | Path | BinaryIO | Source,
    *,
    strict: bool = False,
    columns: str | None = None,
    name: str | None = None,
    tables: Collection[str] | None = None,
) -> Capture:
    """Read one input: a path, `-` for standard input, a remote address, or an open binary file.

    What is in an archive or a directory is read as one, each host's devices and facts kept apart.

    `columns` is the header of rows that came without one. With `tables` only those tables are kept; of a
    binary file nothing else is decoded then. Raises SourceError when it cannot be opened, UnknownFormat
    when it holds nothing that iodiag knows, FormatError when it is broken (under `strict`: when any
    line of a capture in it was not understood), ConfigError for tables that there are not.
    """
    if unknown := sorted(set(tables or ()) - FAMILIES.keys()):
        raise ConfigError(f"tables: there is no table {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    if not isinstance(source, str | Path | Source) and (
        isinstance(source, TextIOBase) or not hasattr(source, "read")
    ):
        raise SourceError(f"{source!r} is neither a path nor an open binary file; open files with mode 'rb'")
    if isinstance(source, Source):
        return read_source(source, strict=strict, columns=columns, tables=tables)
    captures, problems = read_input(source, strict, columns, name, Seen(), tables)
    if problems and (strict or not captures):
        raise problems[0]
    return captures[0] if len(captures) == 1 else join(captures)


def read_many(
    inputs: Iterable[str | Path],
    *,
    strict: bool = False,
    columns: str | None = None,
    on_file: Callable[[str], None] | None = None,
) -> tuple[list[Capture], list[IodiagError]]:
    """Read files, directories, archives and remote addresses; what fails is returned, not raised.

    Of a directory or an archive every file that holds something known is read; one that holds nothing
    known is no failure, but a directory or an archive without any capture is. The same file given
    again is read once, with a note. `on_file` is called with the name of each file before it is read.
    """
    captures: list[Capture] = []
    problems: list[IodiagError] = []
    seen = Seen()
    for place in inputs:
        found, failed = read_input(place, strict, columns, None, seen, on_file=on_file)
        captures += found
        problems += failed
    return assign_hosts(captures), problems


def analyze(
    captures: Given | Iterable[Given],
    *,
    limits: Mapping[str, float] | None = None,
    rules: Iterable[str] | None = None,
    skip_rules: Iterable[str] = (),
    ignore: Iterable[Ignore] = (),
    devices: Iterable[str] = (),
    since: str | pd.Timestamp | None = None,
    until: str | pd.Timestamp | None = None,
    tz: str | None = None,
    cpus: int | None = None,
    interval: float | None = None,
    names: Pseudonyms | None = None,
) -> Report:
    """Run the rules on captures, or on what lies at some paths, joined by host, and return the report.

    `limits` maps `rule.threshold` to a value. `since` and `until` take a date and time, or a time
    of day. Findings that `ignore` means are listed apart and count for nothing. With `names` the report has
    pseudonyms: every sentence is composed of them. Raises ConfigError for
    an unknown rule, threshold, time or zone, and for devices or a time of which there are no samples.
    """
    options = Options(
        limits=limits or {},
        rules=tuple(rules or ()),
        skip_rules=tuple(skip_rules),
        ignore=tuple(ignore),
        devices=tuple(devices),
        since=since,
        until=until,
        tz=tz,
        cpus=cpus,
        interval=interval,
        names=_judged_under(names),
    )
    joined, hosts = prepared(_read_all(captures), options)
    check_selected(joined, hosts, options)
    return _said(judged(joined, hosts, options), names)


def compare(
    before: Given | Iterable[Given],
    after: Given | Iterable[Given],
    *,
    limits: Mapping[str, float] | None = None,
    rules: Iterable[str] | None = None,
    skip_rules: Iterable[str] = (),
    ignore: Iterable[Ignore] = (),
    devices: Iterable[str] = (),
    since: str | pd.Timestamp | None = None,
    until: str | pd.Timestamp | None = None,
    tz: str | None = None,
    cpus: int | None = None,
    interval: float | None = None,
    names: Pseudonyms | None = None,
) -> Report:
    """Analyze the captures, or paths, of two times alike and say what moved between them.

    The report is the analysis of `after`, its `comparison` holds that of `before` and what differs.
    The options are those of `analyze` and apply to both sides. Raises ConfigError as `analyze` does.
    """
    from iodiag.comparison.run import compare as run

    options = Options(
        limits=limits or {},
        rules=tuple(rules or ()),
        skip_rules=tuple(skip_rules),
        ignore=tuple(ignore),
        devices=tuple(devices),
        since=since,
        until=until,
        tz=tz,
        cpus=cpus,
        interval=interval,
        names=_judged_under(names),
    )
    return _said(run(_read_all(before), _read_all(after), options), names)


def _judged_under(names: Pseudonyms | None) -> Names | None:
    if names is None:
        return None
    from iodiag.anonymize.before_judging import JudgedUnder

    return JudgedUnder(names)


def _said(report: Report, names: Pseudonyms | None) -> Report:
    if names is None:
        return report
    from iodiag.anonymize.rewriting import anonymous_report

    return anonymous_report(report, names)


def _read_all(given: Given | Iterable[Given]) -> list[Capture]:
    """The captures as they are, and those at the paths, read."""
    every = [given] if isinstance(given, (str, Path, Capture)) else list(given)
    if not every:
        raise ConfigError("there is no capture to analyze; give one at least")
    return [each if isinstance(each, Capture) else read(each) for each in every]
