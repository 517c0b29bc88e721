"""/proc/pressure (Linux 4.20 and later): the share of time in which tasks waited for a resource.

`some avg10=… avg60=… avg300=… total=µs` and `full …`, under a path (`grep . /proc/pressure/*`,
`==> path <==`, `== path ==`, `-- output of path --`, `cat path` alone or in a loop, or the paths of one
`cat`, in its order). A time stands above each sample or in front of its lines. Some logs leave `total` out.
The files of a control group below the root are `cgroup`'s. The share of an interval is the change of
`total` over its length (Documentation/accounting/psi.rst). Where neither path nor input's name says which
resource it was, nothing is read. Files below two folders (`host1/pressure/io`) have no interval in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.context._common import MAX_BLOCK_LINES
from iodiag.formats.front_columns import columns_of, front_columns
from iodiag.formats.text.times.report_times import ends_of
from iodiag.formats.types import ContextBlock, ContextFormat, Line, Lines
from iodiag.model.capture import SampleTable
from iodiag.table.table import Floats, Table
from iodiag.table.times import Times

_AVERAGES = (
    r"(?P<state>some|full) avg10=(?P<a10>[\d.]{1,8}) avg60=(?P<a60>[\d.]{1,8}) avg300=(?P<a300>[\d.]{1,8})"
    r"(?: total=(?P<total>\d{1,20}))?"
)
_LINE = (
    r"^\s*(?:(?P<clock>\d[\d:./ T+Z-]{7,35}?)\s+)?"
    r"(?:(?:(?:\S*proc/)?pressure/|/sys/fs/cgroup/|\./)?(?P<resource>io|cpu|memory)(?:\.pressure)?"
    r"\s*[: ]\s*)?"
    rf"{_AVERAGES.replace('?P<', '?P<_')}(?:\s+full .*)?\s*$"
)
_IN_A_LOOP = r"\b\s*[;|&].{0,200}"
_HEADING = (
    rf"(?:^|[\s/])(?:pressure/(io|cpu|memory){_IN_A_LOOP}|pressure/(io|cpu|memory)\b[\s<=#*:-]*"
    r"|(?<!\S/)(?:/sys/fs/cgroup/)?(io|cpu|memory)\.pressure\b[\s<=#*:-]*)$"
)
_GROUP = r"\bcgroup/[^/]+/"
_PATH = r"/proc/pressure/(io|cpu|memory)\b"
_FOLDER = r"(?:^|(?<=\s))(\S*?)/?(?:proc/)?pressure/"
_ALL = r"\bcat /proc/pressure/\*\s*$"
_NAMED = r"(?i)(?:^|[^a-z])(io|cpu|mem(?:ory)?)(?:[^a-z]|$)"


@dataclass
class _Sample:
    line: Line
    clock: Clock | None
    folder: str = ""
    averages: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)


def _read(lines: Lines, source: str) -> ContextBlock | None:
    hint = None if re.search(_GROUP, source) else re.search(_NAMED, re.split(r"[/:\\]", source)[-1])
    resource = {"mem": "memory"}.get(hint[1].lower(), hint[1].lower()) if hint else ""
    printed: list[str] = []  # by one command, in this order; each begins with `some`
    state = ""
    samples: list[_Sample] = []
    clock = _clock.parse_line(lines.above)
    used, folder = 0, ""
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        heading, alone = re.search(_HEADING, line.text), _clock.parse_line(line.text)
        if below := re.search(_FOLDER, line.text[:300]):
            folder = below[1]
        if match := re.match(_LINE, line.text):
            clock = _clock.parse_line(match["clock"]) if match["clock"] else clock
            before, state = state, match["_state"]
            used = at + 1
            if printed and state == "some":
                resource = printed[0]
                printed = [*printed[1:], resource]
            elif printed and before == "full":
                continue  # of the file irq, which has no `some`
            resource = match["resource"] or resource
            if not resource:
                return None
            _take(samples, line, clock, folder, resource)
        elif heading and len(line.text) < 300:
            named = re.findall(_PATH, line.text)
            resource, printed = next(filter(None, heading.groups())), named if len(named) > 1 else []
        elif re.search(_ALL, line.text):
            printed = ["cpu", "io", "memory"]
        elif alone:
            clock = alone
        elif line.text.strip():
            break
        elif not samples and at:
            return None
    if not samples:
        return None
    table = SampleTable("pressure", _table(samples, source))
    return ContextBlock(used, tables=(table,), layout="pressure")


def _take(samples: list[_Sample], line: Line, clock: Clock | None, folder: str, resource: str) -> None:
    """Add a line's halves to the open sample, or to a new one where it has them already."""
    for half in re.finditer(_AVERAGES, line.text):
        key = f"{resource}_{half['state']}"
        is_open = samples and (samples[-1].clock, samples[-1].folder) == (clock, folder)
        is_open = is_open and key not in samples[-1].totals
        if not is_open:
            samples.append(_Sample(line, clock, folder))
        last = samples[-1]
        last.totals[key] = float(half["total"] or "nan")
        for span, group in (("10s", "a10"), ("60s", "a60"), ("300s", "a300")):
            if re.fullmatch(r"\d+(\.\d+)?", half[group]):
                last.averages[f"{key}_{span}_pct"] = float(half[group])


def _table(samples: Sequence[_Sample], source: str) -> Table:
    """A row per sample; `time` is unknown where no clock has a date, or one that may be of two days."""
    clocks = [sample.clock for sample in samples]
    order, guess = _clock.day_order(filter(None, clocks), has_am_pm=False)
    ends = ends_of(clocks, None, order)
    # 12-hour clocks are of locales that write the month in front
    is_dated = ends.is_dated and (not guess or any(clock and clock.has_am_pm for clock in clocks))
    is_same = [False, *(one.folder == other.folder for one, other in pairwise(samples))]
    lengths = np.where(is_same, np.diff(ends.seconds, prepend=np.nan), np.nan)
    front = front_columns(
        source,
        [sample.line.number for sample in samples],
        "",
        Times.of(ends.seconds if is_dated else np.full(len(samples), np.nan), is_moment=ends.is_aware),
        lengths,
        report=np.arange(len(samples)),
    )
    return Table.of_columns(front | columns_of(list(_rows(samples, lengths))), len(samples))


def _rows(samples: Sequence[_Sample], lengths: Floats) -> Iterator[dict[str, float]]:
    """Each sample's values with the share of its interval; the first of a series has none."""
    before: _Sample | None = None
    for sample, length in zip(samples, lengths.tolist(), strict=True):
        row = dict(sample.averages)
        if before and length > 0:
            for key, total in sample.totals.items():
                change = total - before.totals.get(key, float("nan"))
                # clocks show whole seconds: a share above 100 is their rounding, below 0 a reboot
                row[f"{key}_pct"] = min(change / 1e4 / length, 100.0) if change >= 0 else float("nan")
        yield row
        before = sample


FORMAT = ContextFormat(
    id="pressure",
    title="/proc/pressure: shares of time lost to I/O, memory and CPU",
    example=(
        "==> /proc/pressure/io <==\n"
        "some avg10=6.57 avg60=5.67 avg300=1.75 total=6053862\n"
        "full avg10=3.69 avg60=3.10 avg300=0.93 total=3306258\n"
    ),
    starts=re.compile(
        r"\b(?:some|full) avg10=[\d.]+ avg60=|(?:^|[\s/])pressure/(?:io|cpu|memory)\b[\s<=#*:-]{0,80}$"
        rf"|(?:^|[\s/])pressure/(?:io|cpu|memory){_IN_A_LOOP}$|/proc/pressure/\*\s*$"
        r"|^==> \S*(?:io|cpu|memory)\.pressure <=="
    ),
    read=_read,
    releases="Linux 4.20 and later",
    not_read="samples of which nothing says whether they are of I/O, memory or CPU",
)
