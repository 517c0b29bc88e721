"""The library's face: read captures, join what belongs together, analyze, compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from iodiag import __version__
from iodiag.errors import ConfigError, FormatError, IodiagError, ReportGiven, SourceError, UnknownFormat
from iodiag.formats import file_formats
from iodiag.formats.clock import parse_time
from iodiag.formats.text.reader import read_text
from iodiag.formats.types import Item
from iodiag.hosts.assignment import STATEMENT, settle, topologies_of, without_host
from iodiag.hosts.time_zones import below_each_other, in_zone, is_mixed, unzoned
from iodiag.model.capture import Capture, Fact, Ledger, ParseNote, SampleTable, Section, Source
from iodiag.model.finding import Finding, Ignore, Ignored, Outcome
from iodiag.model.report import DeviceSummary, Report, Series, SourceSummary, UnparsedLine, is_report
from iodiag.model.topology import Device, merge
from iodiag.sources.archives import Contents, HostName, find
from iodiag.sources.copies import Seen
from iodiag.table.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.analysis.view.view import View

_HEAD = 4096


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
    line of a capture in it was not understood).
    """
    if not isinstance(source, Source):
        captures, problems = _read_place(source, strict, columns, name, Seen(), tables)
        if problems and (strict or not captures):
            raise problems[0]
        return captures[0] if len(captures) == 1 else join(captures)
    capture = _read_source(source, columns, tables)
    if strict and capture.unparsed:
        first = capture.unparsed[0]
        raise FormatError(
            f"{first.source}:{first.line}: {first.reason} ({len(capture.unparsed)} such lines); "
            "mend the input or leave --strict out"
        )
    return capture


def _read_source(opened: Source, columns: str | None, tables: Collection[str] | None) -> Capture:
    # its quotes would be read as captures
    if is_report(opened.data):
        raise ReportGiven(opened.name, opened.data)
    form = next((fmt for fmt in file_formats() if fmt.recognise(opened.data[:_HEAD])), None)
    if form is not None:
        opened = replace(opened, pos_unit=form.pos_unit)
    if form is None:
        items = list(_text_items(opened, columns))
    else:
        items = list(form.read(opened) if form.read_some is None else form.read_some(opened, tables))
    capture = _capture({opened.name: opened}, items)
    if opened.remark:
        capture.notes.append(ParseNote(opened.name, 0, opened.remark))
    is_empty = not (capture.tables or capture.averages or capture.topology or capture.evidence)
    if is_empty and (tables is None or not capture.sections):
        raise UnknownFormat(_nothing_known(opened))
    if tables is not None:
        for kept in (capture.tables, capture.averages):
            for family in kept.keys() - set(tables):
                del kept[family]
    return capture


def _text_items(source: Source, columns: str | None) -> Iterator[Item]:
    if _is_binary(source.data[:_HEAD]):
        raise UnknownFormat(
            f"{source.name}: is a binary file of no known kind; give a capture as text, or a sadc file"
        )
    return read_text(source, columns)


def _is_binary(head: bytes) -> bool:
    """Whether bytes are no text: many control characters (a few NULs are iostat 11.5.7's)."""
    controls = len(head) - len(
        head.translate(None, bytes(range(1, 7)) + bytes(range(14, 27)) + bytes(range(28, 32)))
    )
    return controls > len(head) // 50 or head.count(b"\0") > len(head) // 5


def _nothing_known(source: Source) -> str:
    if not source.data.strip():
        return f"{source.name}: is empty; give a capture of iostat, sar, vmstat or sadc"
    return (
        f"{source.name}: holds nothing that iodiag knows; give a capture of iostat -x, sar, vmstat or sadc "
        "(for rows without a header: --columns)"
    )


def _capture(sources: dict[str, Source], items: Iterable[Item]) -> Capture:
    """Sort a reader's items into a Capture."""
    capture = Capture(sources=sources)
    tables: dict[tuple[str, bool], list[Table]] = {}
    devices: list[Device] = []
    for item in items:
        if isinstance(item, SampleTable):
            tables.setdefault((item.family, item.is_average), []).append(Table.of(item.rows))
        elif isinstance(item, Device):
            devices.append(item)
        elif isinstance(item, Fact):
            capture.evidence.append(item)
        elif isinstance(item, ParseNote):
            capture.notes.append(item)
        elif isinstance(item, Section):
            capture.sections.append(item)
        elif isinstance(item, Ledger):
            capture.ledgers.append(item)
    for (family, is_average), parts in tables.items():
        target = capture.averages if is_average else capture.tables
        target[family] = below_each_other(parts)
    capture.topology = merge(devices)
    capture.topologies = topologies_of(devices, capture.sections)
    _pair_counters(capture, None)
    return capture


def _pair_counters(capture: Capture, interval_s: float | None) -> None:
    """Add the disk rows that snapshots of /proc/diskstats make, unless they are there already."""
    counters = capture.tables.get("disk_counters")
    if counters is None:
        return
    from iodiag.hosts.counters import paired  # here, as it needs pandas

    made = paired(counters, interval_s)
    if made is None:
        return
    rows, disk = Table.of(made), capture.tables.samples("disk")
    if disk is None:
        capture.tables["disk"] = rows
    elif not set(rows["source"].distinct()) <= set(disk["source"].distinct()):
        capture.tables["disk"] = below_each_other([disk, rows])


def read_many(
    inputs: Iterable[str | Path], *, strict: bool = False, columns: str | None = None
) -> tuple[list[Capture], list[IodiagError]]:
    """Read files, directories, archives and remote addresses; what fails is returned, not raised.

    Of a directory or an archive every file that holds something known is read; one that holds nothing
    known is no failure, but a directory or an archive without any capture is. The same file given
    again is read once, with a note.
    """
    captures: list[Capture] = []
    problems: list[IodiagError] = []
    seen = Seen()
    for place in inputs:
        found, failed = _read_place(place, strict, columns, None, seen)
        captures += found
        problems += failed
    return settle(captures), problems


def _read_place(
    place: str | Path | BinaryIO,
    strict: bool,
    columns: str | None,
    name: str | None,
    seen: Seen,
    tables: Collection[str] | None = None,
) -> tuple[list[Capture], list[IodiagError]]:
    """The captures of one input, whatever it is; `seen` are the sources read before."""
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
                reason = f"{found.name}: no file in this {found.kind} holds a capture that iodiag knows"
                unknown = UnknownFormat(reason)
                others += _account(found, [*problems, *cut])
            elif isinstance(found, HostName):
                others.append(_stated_host(found))
            elif _is_repeat(found, seen):
                is_repeated = True
            else:
                try:
                    capture = read(found, strict=strict, columns=columns, tables=tables)
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


def is_known(head: bytes, columns: str | None) -> bool:
    """Whether a file's beginning holds anything that some format reads."""
    if any(form.recognise(head[:_HEAD]) for form in file_formats()):
        return True
    if _is_binary(head[:_HEAD]):
        return False
    # the last line may be cut
    items = read_text(Source("", head[: head.rfind(b"\n") + 1]), columns)
    return any(isinstance(item, (SampleTable, Device, Fact)) for item in items)


def _is_repeat(source: Source, seen: Seen) -> bool:
    """Whether an input is the copy of one before; the first gets a note.

    Equal samples are copies wherever they lie. Equal context of two hosts is none: both have it.
    """
    first = seen.copy_of(source)
    if first is None:
        return False
    original = next(iter(first.sources.values()))
    is_copy = _has_samples(first) or original.folder == source.folder
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


def join(captures: Iterable[Capture], tz: str | None = None) -> Capture:
    """All captures as one; sources keep their rows apart by the `source` column.

    Clocks without a zone are taken to be in `tz`. Where some are zoned, some are not, and no `tz`
    is given, a column `clock` keeps them apart: such times are never compared.
    """
    whole = Capture()
    tables: dict[tuple[str, bool], list[Table]] = {}
    devices: list[Device] = []
    captures = settle(_once(captures))
    by_host: dict[str | None, list[Device]] = {}
    for capture in captures:
        whole.sources.update(capture.sources)
        whole.sections += capture.sections
        whole.notes += capture.notes
        whole.ledgers += capture.ledgers
        whole.evidence += capture.evidence
        devices += list(capture.topology)
        for host, topology in capture.topologies.items():
            by_host.setdefault(host, []).extend(topology)
        for is_average, group in ((False, capture.tables), (True, capture.averages)):
            for family, rows in group.each():
                tables.setdefault((family, is_average), []).append(in_zone(rows, tz))
    has_both = is_mixed([rows for parts in tables.values() for rows in parts])
    for (family, is_average), parts in tables.items():
        alike = [unzoned(rows) for rows in parts] if has_both else parts
        (whole.averages if is_average else whole.tables)[family] = below_each_other(alike)
    whole.topology = merge(devices)
    whole.topologies = {host: merge(found) for host, found in by_host.items()}
    whole.notes += without_host(captures)
    return whole


def _once(captures: Iterable[Capture]) -> Iterator[Capture]:
    """The captures without those whose samples another one holds already."""
    every = list(captures)
    sizes = [tuple(sorted(len(source.data) for source in each.sources.values())) for each in every]
    counts, seen = Counter(sizes), set[tuple[str, ...]]()
    for capture, size in zip(every, sizes, strict=True):
        if _has_samples(capture) and counts[size] > 1:
            key = tuple(sorted(source.sha256 for source in capture.sources.values()))
            if key in seen:
                continue
            seen.add(key)
        yield capture


def _has_samples(capture: Capture) -> bool:
    return any(not section.is_context for section in capture.sections)


def analyze(
    captures: Capture | Iterable[Capture],
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
) -> Report:
    """Run the rules on captures (joined by host) and return the report.

    `limits` maps `rule.threshold` to a value. `since` and `until` take a date and time, or a time
    of day. Findings that `ignore` means are listed apart and count for nothing. Raises ConfigError for
    an unknown rule, threshold, time or zone.
    """
    joined, all_views = prepared(
        captures, devices=devices, since=since, until=until, tz=tz, cpus=cpus, interval=interval
    )
    return judged(joined, all_views, limits=limits, rules=rules, skip_rules=skip_rules, ignore=ignore, tz=tz)


def prepared(
    captures: Capture | Iterable[Capture],
    *,
    devices: Iterable[str],
    since: str | pd.Timestamp | None,
    until: str | pd.Timestamp | None,
    tz: str | None,
    cpus: int | None,
    interval: float | None,
) -> tuple[Capture, list[View]]:
    """Captures joined by host, and what rules see of each host, by the options of `analyze`."""
    # here, and not above: whoever only reads needs nothing of it
    from iodiag.analysis.view.prepare import Selection, views

    joined = join([captures] if isinstance(captures, Capture) else captures, _zone(tz))
    _pair_counters(joined, interval)
    selection = Selection(
        devices=tuple(devices),
        since=_bound(since, "since"),
        until=_bound(until, "until"),
        cpus=cpus,
        interval_s=interval,
    )
    return joined, views(joined, selection)


def judged(
    capture: Capture,
    hosts: Iterable[View],
    *,
    limits: Mapping[str, float] | None,
    rules: Iterable[str] | None,
    skip_rules: Iterable[str],
    ignore: Iterable[Ignore],
    tz: str | None,
) -> Report:
    """The report on what `prepared` made, by the options of `analyze`."""
    from iodiag.analysis.array.stack_traffic import with_traffic
    from iodiag.analysis.view.summary import device_summaries, series_for
    from iodiag.rules.choice import changed_limits, chosen_rules, without_ignored
    from iodiag.rules.engine import run
    from iodiag.verdict.headline import headline

    chosen = chosen_rules(rules, skip_rules)
    changed = changed_limits(limits or {})
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    summaries: list[DeviceSummary] = []
    series: list[Series] = []
    ignored: list[Ignored] = []
    hosts, ignore = list(hosts), list(ignore)
    for view in hosts:
        found, others = run(chosen.values(), view, changed, capture.sources)
        described = device_summaries(view)
        found, passed = without_ignored(found, ignore, {d.name: d.aliases for d in described})
        findings += with_traffic(view, found)
        ignored += passed
        outcomes += others
        summaries += described
        series += series_for(view, (name for finding in found for name in finding.devices))
    return Report(
        iodiag=__version__,
        generated=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        headline=headline(findings, outcomes, hosts, chosen.values(), len(ignored)),
        sources=_source_summaries(capture),
        devices=tuple(summaries),
        findings=tuple(findings),
        outcomes=tuple(outcomes),
        thresholds={rule.id: rule.limits(changed.get(rule.id)).as_dict() for rule in chosen.values()},
        series=tuple(series),
        timezone=tz,
        ignored=tuple(ignored),
    )


def check_options(
    limits: Mapping[str, float],
    rules: Iterable[str] | None,
    skip_rules: Iterable[str],
    ignore: Iterable[Ignore],
    tz: str | None,
) -> None:
    """Raise ConfigError for what `analyze` would: before a long run begins, not in the midst of it."""
    from iodiag.rules.choice import changed_limits, chosen_rules, without_ignored

    chosen_rules(rules, skip_rules)
    changed_limits(limits)
    without_ignored((), ignore, {})
    _zone(tz)


def _bound(text: str | pd.Timestamp | None, option: str) -> pd.Timestamp | None:
    """A bound in time; a time of day alone gets the date 1970-01-01, which means any day."""
    if text is None:
        return None
    import pandas as pd

    if isinstance(text, pd.Timestamp):
        return text
    if (seconds := parse_time(text)) is not None:
        return pd.Timestamp(seconds, unit="s")
    try:
        bound = pd.Timestamp(text)
    except ValueError:
        raise ConfigError(f"--{option} {text!r} is no time; write 14:30, or 2026-11-20T14:30") from None
    return bound.tz_convert("UTC").tz_localize(None) if bound.tz is not None else bound


def _zone(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"--tz {name!r} is no time zone; write UTC or a name such as Europe/Berlin"
        ) from None
    return name


def _source_summaries(capture: Capture) -> tuple[SourceSummary, ...]:
    ledgers = {ledger.source: dict(ledger.counts) for ledger in capture.ledgers}
    first = {section.source: number for number, section in reversed(list(enumerate(capture.sections)))}
    result = []
    for number, section in enumerate(capture.sections):
        is_first = first[section.source] == number
        of_source = [note for note in capture.notes if note.source == section.source] if is_first else []
        lines = [UnparsedLine(note.line, note.text, note.reason) for note in of_source]
        result.append(
            SourceSummary(
                section=section,
                unparsed=tuple(x for x, note in zip(lines, of_source, strict=True) if note.is_unread),
                notes=tuple(x for x, note in zip(lines, of_source, strict=True) if not note.is_unread),
                ledger=ledgers.get(section.source, {}) if is_first else {},
            )
        )
    return tuple(result)
