"""The library's face: read captures, join what belongs together, analyze, compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from iodiag.errors import FormatError, UnknownFormat
from iodiag.formats import file_formats
from iodiag.formats._text import read_text
from iodiag.formats._types import Item
from iodiag.model.capture import Capture, Fact, Ledger, ParseNote, SampleTable, Section, Source
from iodiag.model.topology import Device, DeviceTopology, merge
from iodiag.sources.files import load

_HEAD = 4096


def read(
    source: str | Path | BinaryIO | Source,
    *,
    strict: bool = False,
    columns: str | None = None,
    name: str | None = None,
) -> Capture:
    """Read one input: a path, `-` for standard input, or an open binary file.

    `columns` is the header of rows that came without one. Raises SourceError when it cannot be
    opened, UnknownFormat when it holds nothing that iodiag knows, FormatError when it is broken
    (under `strict`: when any line of a capture in it was not understood).
    """
    opened = source if isinstance(source, Source) else load(source, name)
    items = list(_items(opened, columns))
    capture = _capture({opened.name: opened}, items)
    if strict and capture.unparsed:
        first = capture.unparsed[0]
        raise FormatError(
            f"{first.source}:{first.line}: {first.reason} ({len(capture.unparsed)} such lines); "
            "mend the input or leave --strict out"
        )
    if not (capture.tables or capture.averages or capture.topology or capture.evidence):
        raise UnknownFormat(_nothing_known(opened))
    return capture


def _items(source: Source, columns: str | None) -> Iterable[Item]:
    head = source.data[:_HEAD]
    for fmt in file_formats():
        if fmt.recognise(head):
            return fmt.read(source)
    if b"\0" in head and head.count(b"\0") > len(head) // 20:
        raise UnknownFormat(f"{source.name}: is a binary file that iodiag does not know; give a capture as text or a sadc file")
    return read_text(source, columns)


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
    tables: dict[tuple[str, bool], list[pd.DataFrame]] = {}
    devices: list[Device] = []
    for item in items:
        if isinstance(item, SampleTable):
            tables.setdefault((item.family, item.is_average), []).append(item.frame)
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
    for (family, is_average), frames in tables.items():
        target = capture.averages if is_average else capture.tables
        target[family] = concat(frames)
    capture.topology = merge(devices)
    return capture


def concat(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames of one family below each other; a column that some lack is NaN there."""
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def join(captures: Iterable[Capture]) -> Capture:
    """All captures as one; sources keep their rows apart by the `source` column."""
    whole = Capture()
    tables: dict[tuple[str, bool], list[pd.DataFrame]] = {}
    devices: list[Device] = []
    for capture in captures:
        whole.sources.update(capture.sources)
        whole.sections += capture.sections
        whole.notes += capture.notes
        whole.ledgers += capture.ledgers
        whole.evidence += capture.evidence
        devices += list(capture.topology)
        for is_average, group in ((False, capture.tables), (True, capture.averages)):
            for family, frame in group.items():
                tables.setdefault((family, is_average), []).append(frame)
    for (family, is_average), frames in tables.items():
        (whole.averages if is_average else whole.tables)[family] = concat(frames)
    whole.topology = merge(devices)
    return whole


__all__ = ["DeviceTopology", "Mapping", "concat", "join", "read"]
