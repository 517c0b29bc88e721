"""One file as a capture: its format reads it, and what that gives is sorted into tables and facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from iodiag.errors import FormatError, ReportGiven, UnknownFormat
from iodiag.formats import file_formats
from iodiag.formats.text.reader import read_text
from iodiag.formats.text.rows.numbers import is_figure
from iodiag.formats.text.structure.banners import command
from iodiag.formats.text.structure.foreign_tools import binary_refusal
from iodiag.formats.types import Item
from iodiag.hosts.captures_to_hosts import topologies_of
from iodiag.hosts.counters import add_paired
from iodiag.hosts.time_zones import stacked_all_columns
from iodiag.model.capture import Capture, Fact, Ledger, ParseNote, SampleTable, Section, Source
from iodiag.model.report import is_report
from iodiag.model.topology import Device, merge
from iodiag.table.table import Table

_HEAD = 4096
_WRITTEN = re.compile(
    rb"^(?:# |<title>)(?:Storage before and after: |(?:Storage|Fleet) report: "
    # a title of somebody's has no such end
    rb"(?=[^\n]*(?:\d{4}-\d\d-\d\d|undated|no clock|no date|\d hosts?)))",
    re.MULTILINE,
)
_RESTART = re.compile(
    rb"LINUX[ -]RESTART|^[^;\t\n]{1,255}[;\t]-1[;\t][^;\t\n]{1,40}[;\t]COM "
    rb'|^\d\d:\d\d:\d\d(?: [AP]M)? {1,12}COM |<boot date="|"boot": ?\{ ?"date"',
    re.MULTILINE,
)
_ENDS = b"</html>"
_REACH = 1 << 20
"""So much of an input is searched for a page."""


def read_source(
    source: Source, *, strict: bool = False, columns: str | None = None, tables: Collection[str] | None = None
) -> Capture:
    """What one file holds, by the options of `iodiag.read`, which says what is raised."""
    capture = _read(source, columns, tables)
    if strict and capture.unparsed:
        first = capture.unparsed[0]
        raise FormatError(
            f"{first.source}:{first.line}: {first.reason} ({len(capture.unparsed)} such lines); "
            "fix the input or drop --strict"
        )
    return capture


def is_known(head: bytes, columns: str | None = None) -> bool:
    """Whether a file's beginning holds anything that some format reads."""
    if any(form.recognise(head[:_HEAD]) for form in file_formats()):
        return True
    if _is_binary(head[:_HEAD]):
        return False
    # the last line may be cut
    items = read_text(Source("", head[: head.rfind(b"\n") + 1]), columns)
    return any(isinstance(item, (SampleTable, Device, Fact)) for item in items)


def _read(opened: Source, columns: str | None, tables: Collection[str] | None) -> Capture:
    # its quotes would be read as captures
    if is_report(opened.data):
        raise ReportGiven(opened.name, opened.data)
    opened = _without_pages(opened)
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
        raise UnknownFormat(_nothing_known(opened, capture.notes))
    if tables is not None:
        for kept in (capture.tables, capture.averages):
            for family in kept.keys() - set(tables):
                del kept[family]
    return capture


def _without_pages(opened: Source) -> Source:
    """An input without the Markdown or HTML that iodiag wrote: the lines that it quotes are no new samples.

    A page of HTML ends where it says so, Markdown with the input. Raises FormatError where nothing else is
    there.
    """
    data = opened.data
    found = (
        _WRITTEN.search(data, 0, _REACH)
        if data.find(b"Storage ", 0, _REACH) >= 0 or data.find(b"Fleet ", 0, _REACH) >= 0
        else None
    )
    if found is None:
        return opened
    is_page = found[0].startswith(b"<")
    begin = data.rfind(b"<!DOCTYPE", 0, found.start()) if is_page else found.start()
    end = (
        data.find(_ENDS, found.end()) + len(_ENDS) if is_page and _ENDS in data[found.end() :] else len(data)
    )
    line = data.count(b"\n", 0, max(begin, 0)) + 1
    rest = data[: max(begin, 0)] + b"\n" * data.count(b"\n", max(begin, 0), end) + data[end:]
    if not rest.strip():
        raise FormatError(f"{opened.name}: is a report that iodiag wrote, no capture; give the captures")
    told = f"line {line} begins a report that iodiag wrote: it is no capture and was not read"
    return replace(opened, data=rest, counted=None, remark="; ".join(filter(None, (opened.remark, told))))


def _text_items(source: Source, columns: str | None) -> Iterator[Item]:
    if _is_binary(source.data[:_HEAD]):
        raise UnknownFormat(f"{source.name}: {binary_refusal(source.data[:_HEAD])}")
    return read_text(source, columns)


def _is_binary(head: bytes) -> bool:
    """Whether bytes are no text: many control characters (a few NULs are iostat 11.5.7's)."""
    controls = len(head) - len(
        head.translate(None, bytes(range(1, 7)) + bytes(range(14, 27)) + bytes(range(28, 32)))
    )
    return controls > len(head) // 50 or head.count(b"\0") > len(head) // 5


def _nothing_known(source: Source, notes: Iterable[ParseNote]) -> str:
    if not source.data.strip():
        return f"{source.name}: is empty; give a capture of iostat, sar, vmstat or sadc"
    if _RESTART.search(source.data[:_HEAD]):
        return (
            f"{source.name}: holds restarts of the host or comments of sar, and no samples; give a file that "
            "has samples"
        )
    if asking := next((note for note in notes if '--columns "' in note.reason), None):
        return f"{source.name}:{asking.line}: {asking.reason}"
    if tool := _tool_above_numbers(source.data[:_HEAD].decode(errors="replace").splitlines()):
        return (
            f"{source.name}: holds rows of {tool} without a header; give its output with the header line "
            "(or name the columns of a disk table with --columns)"
        )
    return (
        f"{source.name}: holds nothing that iodiag knows; give a capture of iostat -x, sar, vmstat, "
        "nfsiostat or sadc (for rows without a header: --columns)"
    )


def _tool_above_numbers(lines: Sequence[str]) -> str:
    """The tool of the first command of sysstat that a text shows, if numbers stand below; else empty."""
    shown = next(((at, found) for at, line in enumerate(lines) if (found := command(line))), None)
    if shown is None or not any(sum(map(is_figure, line.split())) >= _ROW for line in lines[shown[0] + 1 :]):
        return ""
    return shown[1].tool


_ROW = 4
"""Numbers of a line that is a row of some table."""


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
        target[family] = stacked_all_columns(parts)
    capture.topology = merge(devices)
    capture.topologies = topologies_of(devices, capture.sections)
    add_paired(capture)
    return capture
