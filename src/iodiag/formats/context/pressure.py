"""/proc/pressure (Linux 4.20 and later): the share of time in which tasks waited for a resource.

`some avg10=… avg60=… avg300=… total=µs` and `full …`, under a path (`grep . /proc/pressure/*`,
`==> path <==`, `== path ==`, `-- output of path --`, `cat path`, or the paths of one `cat`, in its order) or
with the seconds since 1970 in front of each sample. Some logs leave `total` out. The share of an interval is
the change of `total` over its length
(Documentation/accounting/psi.rst). Where neither path nor input's name says which resource it was, nothing is
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from iodiag.formats.context._common import MAX_BLOCK_LINES
from iodiag.formats.front_columns import columns_of, front_columns
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import SampleTable
from iodiag.table.table import Table
from iodiag.table.times import Times

_AVERAGES = (
    r"(?P<state>some|full) avg10=(?P<a10>[\d.]{1,8}) avg60=(?P<a60>[\d.]{1,8}) avg300=(?P<a300>[\d.]{1,8})"
    r"(?: total=(?P<total>\d{1,20}))?"
)
_LINE = (
    r"^\s*(?:(?P<epoch>\d{9,10}(?:\.\d{1,9})?)\s+)?"
    r"(?:\S*?(?P<resource>io|cpu|memory)(?:\.pressure)?\s*[: ]\s*)?"
    rf"{_AVERAGES.replace('?P<', '?P<_')}(?:\s+full .*)?\s*$"
)
_HEADING = r"(?:^|[\s/])(?:proc/pressure/(io|cpu|memory)|(io|cpu|memory)\.pressure)\b[\s<=#*:-]*$"
_PATH = r"/proc/pressure/(io|cpu|memory)\b"
_ALL = r"\bcat /proc/pressure/\*\s*$"
_EPOCH = r"^\s*(\d{10}(?:\.\d{1,9})?)\s*$"
_NAMED = r"(?i)(?:^|[^a-z])(io|cpu|mem(?:ory)?)(?:[^a-z]|$)"


@dataclass
class _Sample:
    line: Line
    epoch: float | None
    averages: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    hint = re.search(_NAMED, re.split(r"[/:\\]", source)[-1])
    resource = {"mem": "memory"}.get(hint[1].lower(), hint[1].lower()) if hint else ""
    printed: list[str] = []  # by one command, in this order; each begins with `some`
    state = ""
    samples: list[_Sample] = []
    epoch: float | None = None
    used = 0
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        heading, alone = re.search(_HEADING, line.text), re.match(_EPOCH, line.text)
        if match := re.match(_LINE, line.text):
            epoch = float(match["epoch"]) if match["epoch"] else epoch
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
            _take(samples, line, epoch, resource)
        elif heading and len(line.text) < 300:
            named = re.findall(_PATH, line.text)
            resource, printed = heading[1] or heading[2], named if len(named) > 1 else []
        elif re.search(_ALL, line.text):
            printed = ["cpu", "io", "memory"]
        elif alone:
            epoch = float(alone[1])
        elif line.text.strip():
            break
        elif not samples and at:
            return None
    if not samples:
        return None
    table = SampleTable("pressure", _table(samples, source))
    return ContextBlock(used, tables=(table,), layout="pressure")


def _take(samples: list[_Sample], line: Line, epoch: float | None, resource: str) -> None:
    """Add a line's halves to the open sample, or to a new one where it has them already."""
    for half in re.finditer(_AVERAGES, line.text):
        key = f"{resource}_{half['state']}"
        is_open = samples and samples[-1].epoch == epoch and key not in samples[-1].totals
        if not is_open:
            samples.append(_Sample(line, epoch))
        last = samples[-1]
        last.totals[key] = float(half["total"] or "nan")
        for span, group in (("10s", "a10"), ("60s", "a60"), ("300s", "a300")):
            if re.fullmatch(r"\d+(\.\d+)?", half[group]):
                last.averages[f"{key}_{span}_pct"] = float(half[group])


def _table(samples: Sequence[_Sample], source: str) -> Table:
    """A row per sample; `time` is in UTC where epochs were given, unknown otherwise."""
    epochs = np.array([np.nan if s.epoch is None else s.epoch for s in samples], dtype=np.float64)
    front = front_columns(
        source,
        [sample.line.number for sample in samples],
        "",
        Times.of(epochs, is_moment=bool((~np.isnan(epochs)).any())),
        np.diff(epochs, prepend=np.nan),
        report=np.arange(len(samples)),
    )
    return Table.of_columns(front | columns_of(list(_rows(samples))), len(samples))


def _rows(samples: Sequence[_Sample]) -> Iterator[dict[str, float]]:
    """Each sample's values with the share of its interval; the first of a series has none."""
    before: _Sample | None = None
    for sample in samples:
        row = dict(sample.averages)
        has_clock = before and before.epoch is not None and sample.epoch is not None
        if before and has_clock and (length := (sample.epoch or 0) - (before.epoch or 0)) > 0:
            for key, total in sample.totals.items():
                change = total - before.totals.get(key, float("nan"))
                # epochs are whole seconds: a share above 100 is their rounding, below 0 a reboot
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
        r"\b(?:some|full) avg10=[\d.]+ avg60=|/proc/pressure/(?:io|cpu|memory)\b[\s<=#*:-]{0,80}$"
        r"|/proc/pressure/\*\s*$"
        r"|^==> \S*(?:io|cpu|memory)\.pressure <=="
    ),
    read=_read,
    releases="Linux 4.20 and later",
    not_read="samples of which nothing says whether they are of I/O, memory or CPU",
)
