"""What is wrong with the clocks of a text: rows without one, rows out of order, lost ticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import CLASS, Walk
from iodiag.formats.text.times import report_times as _report_times
from iodiag.formats.text.times.row_clocks import asked_interval
from iodiag.formats.text.times.timing import Timing
from iodiag.model.capture import ParseNote

_MOST_UNTIMED = 20

_ONE_S = 1.0
"""How far the times of one report's rows may be apart: they are printed one after the other."""

_MAY_AVERAGE = "the first report may be the average since boot: neither its numbers nor a banner tell"


def clock_notes(found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing]) -> Iterator[ParseNote]:
    """What is wrong with clocks: rows without one, rows out of order, reports below another's clock."""
    yield from _may_average(found, all_rows, result)
    for rows, timing in zip(all_rows, result, strict=True):
        is_untimed = rows.is_average | np.isnan(timing.local)
        if rows.layout.clock == "tail" and not is_untimed.all():
            for line in rows.lines[is_untimed][:_MOST_UNTIMED].tolist():
                yield _note(found, line, "the time behind this row is missing or damaged: the row has none")
            is_other = np.abs(rows.epoch - timing.local) > _ONE_S
            for line in rows.lines[is_other][:_MOST_UNTIMED].tolist():
                yield _note(
                    found, line, "the time behind this row is not that of its report; lines may be lost"
                )
        if rows.layout.clock == "line":
            yield from _without_own_clock(found, rows)
            yield from _with_lost_ticks(found, rows, timing)
        at = np.flatnonzero(~is_untimed)
        # the sections of sar begin again at the first sample, and so do runs one below the other
        group = rows.block if rows.layout.clock == "row" else timing.segment
        # one without a date tells nothing beside one that has it, nor one without a zone beside one with it
        group = 2 * np.where(timing.is_dated, group, -1 - group) + np.isnan(timing.offset)
        back = _clock.first_back(timing.absolute[at], group[at])
        if back >= 0:
            yield _note(found, int(rows.lines[at[back]]), _clock.GOES_BACK)


def _may_average(found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing]) -> Iterator[ParseNote]:
    """A note on each of the first reports that may be averages since boot, at the first of its rows."""
    lines: dict[tuple[int, int], int] = {}
    for rows, timing in zip(all_rows, result, strict=True):
        for row in (row for row in timing.doubtful if not timing.since_boot[row]):
            report = int(timing.segment[row]), int(timing.report[row])
            lines[report] = min(int(rows.lines[row]), lines.get(report, len(found.text)))
    for line in sorted(lines.values())[:_MOST_UNTIMED]:
        yield _note(found, line, _MAY_AVERAGE)


def _without_own_clock(found: Walk, rows: Rows) -> Iterator[ParseNote]:
    """A note where reports lack the clock line that most of a run have above each report."""
    used = np.unique(rows.block)
    blocks = found.blocks
    segment = blocks.each(lambda block: block.origin.index, np.int64)[used]
    reports = np.unique(np.stack((segment, blocks.report[used])), axis=1, return_index=True)[1]
    used = used[np.sort(reports)]
    clock_lines = np.cumsum(found.classes == CLASS["clock"])[blocks.header[used]]
    is_clocked = blocks.clock_at[used] >= 0
    is_again = np.append(False, np.diff(clock_lines) == 0) & is_clocked
    if is_again.any() and 2 * is_again.sum() < is_clocked.sum():
        line = int(blocks.header[used[np.argmax(is_again)]])
        count = int(is_again.sum())
        lacking = f"{count} of {len(used)} reports have no clock line of their own"
        yield _note(found, line, f"{lacking}: they bear the time of the report above")


def _with_lost_ticks(found: Walk, rows: Rows, timing: Timing) -> Iterator[ParseNote]:
    """A note where a host counted less time than its command asked for, as `report_times` found it."""
    asked = found.blocks.each(lambda block: asked_interval(block) or np.nan, np.float64)[rows.block]
    # whole seconds are another command's
    is_short = (timing.interval < _report_times.SHORTER * asked) & (timing.interval % 1 > 0)
    if rows.layout.key is not None and is_short.any():
        counted, asked = timing.interval[is_short], asked[is_short]
        told = " to ".join(dict.fromkeys(f"{length:.2f}" for length in (counted.min(), counted.max())))
        lost = f"{told} s were counted where {asked[0]:g} s were asked for: the host's clock lost ticks"
        reason = f"{lost}, and rates and %util read up to {(asked / counted).max():.1f} times too high"
        yield _note(found, int(rows.lines[np.argmax(is_short)]), reason)


def _note(found: Walk, line: int, reason: str) -> ParseNote:
    return ParseNote(found.name, int(found.text.numbers[line]), reason, found.text.line(line)[:200])
