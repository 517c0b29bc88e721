"""Any text: captures of several tools, context and prose in one input, every line accounted for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from iodiag.formats import _clock
from iodiag.formats._body import uses_decimal_comma
from iodiag.formats._flat import unflatten
from iodiag.formats._headerless import adopt
from iodiag.formats._lines import Text, clean
from iodiag.formats._rows import Rows, rows_of
from iodiag.formats._times import Timing, timings
from iodiag.formats._types import Item
from iodiag.formats._walk import CLASS, UNSEEN, Walk, walk
from iodiag.model.capture import LINE_CLASSES, Ledger, ParseNote, SampleTable, Section, Source

_SAMPLE_BYTES = 200_000
_MOST_NOTES = 200


def read_text(source: Source, columns: str | None = None) -> Iterator[Item]:
    """Everything that a text holds. `columns` is the header of rows that came without one."""
    text = clean(source.data, unflatten)
    found = walk(text, source.name)
    adopt(found, columns)
    sample = source.data[:_SAMPLE_BYTES].decode("utf-8", "replace")
    all_rows = rows_of(found, uses_decimal_comma(sample))
    order, sentence = _clock.day_order(found.clocks, found.has_half)
    if sentence and all_rows:
        yield ParseNote(source.name, 0, sentence)
    all_timings = timings(found, all_rows, order)
    for is_average in (False, True):
        yield from _tables(source, found, all_rows, all_timings, is_average)
    yield from _sections(source, found, all_rows, all_timings)
    for context in found.contexts:
        yield from context.block.devices
        yield from context.block.facts
        yield from context.block.tables
    yield from _account(source, text, found)


def _tables(
    source: Source, found: Walk, all_rows: list[Rows], all_timings: list[Timing], is_average: bool
) -> Iterator[SampleTable]:
    frames: dict[str, list[pd.DataFrame]] = {}
    for rows, timing in zip(all_rows, all_timings, strict=True):
        keep = rows.is_average == is_average
        if not keep.any():
            continue
        for family, frame in _frames(source, found, rows, timing, keep).items():
            frames.setdefault(family, []).append(frame)
    for family, parts in frames.items():
        whole = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
        if family == "disk" and len(parts) > 1:
            whole = _join_parts(whole, parts)
        yield SampleTable(family, whole.sort_values("line", kind="stable", ignore_index=True), is_average)


def _frames(
    source: Source, found: Walk, rows: Rows, timing: Timing, keep: np.ndarray
) -> dict[str, pd.DataFrame]:
    """One frame per family that the layout's columns belong to."""
    layout = rows.layout
    places = np.flatnonzero(keep)
    hosts = np.array([b.origin.banner.host if b.origin.banner else "" for b in found.blocks], dtype=object)
    seconds = np.where(timing.is_dated, timing.absolute, np.nan)[places]
    time = pd.to_datetime(pd.Series(seconds), unit="s").astype("datetime64[ns]")
    if timing.offset_s is not None:
        time = time.dt.tz_localize("UTC")
    base = {
        "source": pd.Categorical.from_codes(np.zeros(len(places), dtype=np.int8), categories=[source.name]),
        "line": found.text.numbers[rows.lines[places]],
        "host": pd.Categorical(hosts[rows.block[places]]),
        "time": time,
        "interval_s": timing.interval[places],
        "segment": timing.segment[places],
        "report": timing.report[places],
        "since_boot": timing.since_boot[places],
    }
    frames: dict[str, pd.DataFrame] = {}
    for family in dict.fromkeys(column.family or layout.family for column in layout.columns):
        data = dict(base)
        if family == layout.family and layout.key is not None:
            data[layout.key] = pd.Categorical(rows.keys[places])
        if family == "cpu" and layout.key is None:
            data["cpu"] = pd.Categorical(["all"] * len(places))
        for number, column in enumerate(layout.columns):
            if column.column is not None and (column.family or layout.family) == family:
                data[column.column] = rows.values[places, number]
        if family == "disk" and layout.format == "iostat":
            indents = np.array([b.indent for b in found.blocks], dtype=np.int64)[rows.block[places]]
            is_named_first = layout.key_at == "first"
            data["is_group"] = (rows.indent[places] == indents + 1) & is_named_first
        frames[family] = pd.DataFrame(data)
    return layout.finish(frames) if layout.finish else frames


def _join_parts(whole: pd.DataFrame, parts: list[pd.DataFrame]) -> pd.DataFrame:
    """One row per device and report where `-h -x` spread it over several tables.

    Tables belong together when they hold no column twice. The n-th row of a device in each
    of a report's tables is one row; it stands where the first of them stands.
    """
    columns = [set(part.columns) - set(_BASE) for part in parts]
    if not all(a.isdisjoint(b) for i, a in enumerate(columns) for b in columns[i + 1 :]):
        return whole
    keys = ["segment", "report", "device"]
    for part in parts:
        part["_nth"] = part.groupby(keys, observed=True, sort=False).cumcount()
    stacked = pd.concat(parts, ignore_index=True).sort_values("line", kind="stable")
    joined = stacked.groupby([*keys, "_nth"], observed=True, sort=False).first().reset_index()
    return joined[list(whole.columns)]


_BASE = ("source", "line", "host", "time", "interval_s", "segment", "report", "since_boot", "device", "is_group")


def _sections(source: Source, found: Walk, all_rows: list[Rows], all_timings: list[Timing]) -> Iterator[Section]:
    merged: dict[tuple[int, str], Section] = {}
    for rows, timing in zip(all_rows, all_timings, strict=True):
        for number in np.unique(timing.segment).tolist():
            here = timing.segment == number
            block = found.blocks[int(rows.block[here][0])]
            banner = block.origin.banner
            times = timing.absolute[here & timing.is_dated]
            span = [str(pd.Timestamp(t, unit="s")) for t in (times.min(), times.max())] if len(times) else [None, None]
            old = merged.get((number, rows.layout.format))
            section = Section(
                source=source.name,
                format=rows.layout.format,
                layout=rows.layout.name,
                host=(banner.host or None) if banner else None,
                kernel=banner.kernel if banner else None,
                cpus=banner.cpus if banner else None,
                start=span[0],
                end=span[1],
                reports=int(timing.report[here].max()) + 1,
                rows=int(here.sum()),
                first_line=int(found.text.numbers[rows.lines[here].min()]),
            )
            merged[number, rows.layout.format] = _join_sections(old, section) if old else section
    for context in found.contexts:
        banner = context.origin.banner
        yield Section(
            source=source.name,
            format=context.format,
            layout=context.block.layout,
            host=(banner.host or None) if banner else None,
            is_context=True,
            rows=context.block.used,
            first_line=int(found.text.numbers[context.first]),
        )
    yield from merged.values()


def _join_sections(old: Section, new: Section) -> Section:
    layouts = dict.fromkeys([*old.layout.split("; "), new.layout])
    starts = [t for t in (old.start, new.start) if t]
    ends = [t for t in (old.end, new.end) if t]
    return Section(
        source=old.source,
        format=old.format,
        layout="; ".join(layouts),
        host=old.host or new.host,
        kernel=old.kernel or new.kernel,
        cpus=old.cpus or new.cpus,
        start=min(starts, default=None),
        end=max(ends, default=None),
        reports=max(old.reports, new.reports),
        rows=old.rows + new.rows,
        first_line=min(old.first_line, new.first_line),
    )


def _account(source: Source, text: Text, found: Walk) -> Iterator[Item]:
    """The ledger, and a note for every line inside a capture that was not understood."""
    classes = found.classes
    open_lines = np.flatnonzero((classes == UNSEEN) & ~text.is_blank)
    classes[open_lines] = CLASS["noise"]
    classes[found.loose] = np.where(classes[found.loose] == CLASS["noise"], CLASS["unread"], classes[found.loose])
    unread = np.flatnonzero(classes == CLASS["unread"])
    is_loose = set(found.loose)
    for index in unread[:_MOST_NOTES].tolist():
        reason = (
            "a row without a header; name its columns with --columns"
            if index in is_loose
            else "not a whole row of the table above it"
        )
        yield ParseNote(source.name, int(text.numbers[index]), reason, text.line(index)[:200], is_unread=True)
    if len(unread) > _MOST_NOTES:
        rest = len(unread) - _MOST_NOTES
        yield ParseNote(source.name, int(text.numbers[unread[_MOST_NOTES]]), f"{rest} further lines not understood", "", rest, True)
    yield Ledger(source.name, _count(source, text, classes))


def _count(source: Source, text: Text, classes: np.ndarray) -> dict[str, int]:
    """Original lines by class; a line that was laid out again counts once, as the best of its parts."""
    kept = ~text.is_blank
    if text.spans is None:
        counts = np.bincount(classes[kept], minlength=len(LINE_CLASSES))
    else:
        rank = np.array([LINE_CLASSES.index(name) for name in _BEST_FIRST])
        best: dict[int, int] = {}
        for number, span, code in zip(
            text.numbers[kept].tolist(), text.spans[kept].tolist(), classes[kept].tolist(), strict=True
        ):
            for line in range(number, number + span):
                place = int(np.flatnonzero(rank == code)[0])
                best[line] = min(best.get(line, len(rank)), place)
        raw = source.data.split(b"\n")
        dressed_only = sum(1 for i, line in enumerate(raw, 1) if i not in best and line.strip(b" \t\r\0"))
        counts = np.bincount(rank[list(best.values())] if best else [], minlength=len(LINE_CLASSES))
        counts[CLASS["noise"]] += dressed_only
    return {name: int(count) for name, count in zip(LINE_CLASSES, counts, strict=True) if count}


_BEST_FIRST = ("row", "summary", "header", "banner", "clock", "context", "unread", "noise")

