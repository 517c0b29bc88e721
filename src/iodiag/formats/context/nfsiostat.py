"""nfsiostat of nfs-utils: operations, round trips and retransmissions of every NFS mount.

Versions 1.2 (`op/s`) to 2.8 (with queue times from 2.5 and errors from 2.6 on). The reports of -a, -d and -s
show other operations and cache statistics: those lines are taken and not kept. `avg exe` is from a request's
birth to its end, `avg RTT` from sending it to the answer, so that exe - RTT is waiting on the client
(nfsiostat(8)). The first of each mount is the mean since then: it is flagged `since_boot`, as it is no sample
of the present either, and all that leaves out reports since boot must leave it out, too. One that stands
alone is a sample where its rates are whole operations over a few seconds, which those of a mean since the
mount are by chance alone. Numbers whose mount was left out are of one without a name; where they are no whole
operations, nothing tells that they are of a later report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import MAX_BLOCK_LINES
from iodiag.formats.front_columns import columns_of, front_columns
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import SampleTable
from iodiag.table.table import Table
from iodiag.table.texts import Texts
from iodiag.table.times import Times

_EXAMPLE = """\
nas1:/export/home mounted on /home:

           ops/s       rpc bklog
          70.500           0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                  60.000        3840.000          64.000        0 (0.0%)           4.200           4.300
write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                  10.500         672.000          64.000        1 (0.3%)          12.000          55.100
"""
_MOUNT = r"\s*(?P<export>\S{3,700}) mounted on (?P<mount>/\S{0,700}):\s*"
_JOINED = r"mounted on /\S{0,700}: ops?/s\s+rpc bklog\s.{0,90}read:\s+ops?/s"
_TOTAL_HEADER = r"\s*ops?/s\s+rpc bklog\s*"
_PHRASES = {
    "ops/s": "s_per_s",
    "kB/s": "_kb_per_s",
    "kB/op": "_request_size_kb",
    "retrans": "_retransmissions",
    "avg RTT (ms)": "_round_trip_ms",
    "avg exe (ms)": "_await_ms",
    "avg queue (ms)": "_queue_ms",
    "errors": "_errors",
}
_PHRASE = "|".join(map(re.escape, _PHRASES))
_OPERATION = rf"\s*(?P<name>[a-z_]{{2,20}}):\s+(?P<phrases>(?:(?:{_PHRASE})\s*){{3,8}})"
_WRAPPED = rf"\s*(?:{_PHRASE})(?:\s+(?:{_PHRASE})){{0,7}}\s*"
_VALUE = r"(-?\d{1,15}(?:\.\d{1,6})?)(?:\s{1,10}\(\s{0,5}(\d{1,6}(?:\.\d{1,3})?)%\)?)?(?:\s+|$)"
_DETAIL = (
    r"\s*\(?\s?-?\d[\d.]{0,15}%?\s.{0,60}\b"
    r"(?:VFS|GETATTRs?|cache|invalidations|revalidations|lookups|opens?|pages?|calls?|READDIR\w*|dir\w*|truncated)\b.{0,80}"
    r"|\s*[.…]{1,20}\s*"
)
_HEADER_WORDS = "op/s ops/s rpc bklog kB/s kB/op retrans avg RTT exe queue (ms) errors read: write:"
_WORDS = frozenset(_HEADER_WORDS.split())
_OTHER_WORDS = 2
_DAMAGED = (
    r"\s*\S{1,200} mounted on /\S{0,200}\s*"
    r"|\s*\S{1,200}:/\S{0,200}(?:\s{1,3}\S{1,100}){1,3}:\s*"
)
"""What is left of the line of a mount."""

_MOST_BLANK = 3
_KEPT = ("read", "write")
_UNNAMED = "(unnamed)"
_RATES = ("ops_per_s", "reads_per_s", "writes_per_s")
_LONGEST_SAMPLE_S, _BY_CHANCE = 60, 1e-3
_Value = tuple[float, float | None, float]
"""A number, the share in parentheses behind it, and its last place."""


@dataclass
class _Row:
    """The numbers of one mount in one report.

    `line` is that of the values of the direction whose operations took longest in all, which is `took_ms`
    per second. `places` are the last places that the rates of operations are printed with.
    """

    line: Line
    export: str
    mount: str
    report: int
    seconds: float
    numbers: dict[str, float] = field(default_factory=dict)
    places: dict[str, float] = field(default_factory=dict)
    took_ms: float = -1.0

    def take(self, named: dict[str, float], line: Line) -> None:
        """Add the columns whose values stand on a line."""
        took = max(named.get(f"{way}s_per_s", 0) * named.get(f"{way}_await_ms", 0) for way in _KEPT)
        self.numbers.update(named)
        if took > self.took_ms:
            self.line, self.took_ms = line, took


def _is_header_left(text: str) -> bool:
    """Whether a line is what damage left of a header: its own words, and few others."""
    words = text[:400].split()
    known = sum(word in _WORDS for word in words)
    return len(words) >= 2 and known >= len(words) - known <= _OTHER_WORDS


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    """A block; where the page that showed it took its line breaks, they are put back first."""
    joined = list(takewhile(lambda line: re.search(_JOINED, line.text), lines[:MAX_BLOCK_LINES]))
    if not joined:
        return _read_lines(lines, source)
    cut = [Line(text, line.number) for line in joined for text in _with_breaks(line.text).split("\n")]
    block = _read_lines(cut, source)
    return block and block._replace(used=len(joined))


def _with_breaks(text: str) -> str:
    """A line of whole reports with the breaks that nfsiostat prints."""
    text = re.sub(r"\s(?=\S{3,700} mounted on /|ops?/s\s+rpc|[a-z_]{2,20}:\s+ops?/s)", "\n", text.strip())
    return re.sub(r"(bklog|\(ms\)|errors)\s+(?=-?\d)", r"\1\n", text)


def _read_lines(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows, unread = list[_Row](), list[int]()
    seconds, report, used, at = np.nan, 0, 0, 0
    order, seen = dict[str, int](), set[int]()
    is_headless = is_lost = False
    while at < min(len(lines), MAX_BLOCK_LINES):
        text = lines[at].text
        mount = re.fullmatch(_MOUNT, text) if len(text) < 1500 else None
        if mount and ":" in mount["export"]:
            place = order.setdefault(mount["mount"], len(order))
            if place in seen or (is_lost and place < max(seen, default=0)):
                report, seen = report + 1, set()
            seen.add(place)
            is_headless = False
            rows.append(_Row(lines[at], mount["export"], mount["mount"], report, seconds))
        elif (clock := _clock.parse_line(text)) is not None:
            seconds = _clock.moment(clock._replace(offset_s=None), "mdy")
            at += 1
            continue
        elif (heading := _heading(lines, at)) is not None:
            names, size = heading
            values, taken = _values_below(lines, at + size, len(names))
            if values:
                named = _named(names, values)
                is_again = not (rows and rows[-1].numbers.keys().isdisjoint(named))
                # below a mount's own numbers: those of another that lost its heading, or a copy
                is_headless = is_headless or bool(is_again and rows and rows[-1].export)
                if is_headless:
                    unread += [line.number for line in lines[at : at + size + taken]]
                elif named:
                    rows += [_Row(lines[at], "", _UNNAMED, report, seconds)] if is_again else []
                    rows[-1].take(named, lines[at + size])
                    rows[-1].places |= {n: v[2] for n, v in zip(names, values, strict=True) if n in _RATES}
            elif taken or _goes_on(lines, at + size):
                first = at + size if taken else at
                unread += [line.number for line in lines[first : at + size + taken]]
            at += size + taken - 1
        elif text.strip() and not re.fullmatch(_DETAIL, text):
            if not (rows and (_is_header_left(text) or re.fullmatch(rf"[\d.()%\s]+|{_DAMAGED}", text[:400]))):
                break
            unread.append(lines[at].number)  # values whose header is lost, or a damaged line
            is_lost = True  # perhaps a mount's: from here on their order tells where a report begins
        at += 1
        used = at if text.strip() else used
    unread += [row.line.number for row in rows[:-1] if not row.numbers]  # lines of mounts alone
    rows = [row for row in rows if row.numbers]
    unread += _nobodys(rows)
    if not rows:
        return None
    table = SampleTable("nfs_mounts", _table(rows, source))
    return ContextBlock(used, tables=(table,), unread=tuple(unread), layout="nfsiostat")


def _nobodys(rows: Sequence[_Row]) -> list[int]:
    """The lines of numbers whose mount was lost: beside it, others have theirs."""
    is_any_named = any(row.export for row in rows)
    return [row.line.number for row in rows if is_any_named and not row.export]


def _goes_on(lines: Sequence[Line], at: int) -> bool:
    """Whether the input goes on at a line; what is cut off at its end was not passed over."""
    return any(line.text.strip() for line in lines[at : at + _MOST_BLANK])


def _heading(lines: Sequence[Line], at: int) -> tuple[list[str], int] | None:
    """The columns that a header announces, and the lines that it takes: a narrow page wraps it."""
    text, size = lines[at].text, 1
    if len(text) <= 400 and re.match(r"\s*[a-z_]{2,20}:", text):
        while at + size < len(lines) and size < len(_PHRASES):
            following = lines[at + size].text
            if len(following) > 400 or not re.fullmatch(_WRAPPED, following):
                break
            text, size = f"{text} {following}", size + 1
    names = _names(text if size == 1 else " ".join(text.split()))
    return None if names is None else (names, size)


def _values_below(lines: Sequence[Line], at: int, count: int) -> tuple[list[_Value] | None, int]:
    """The values below a header, which may stand on a line each, and how many lines those take.

    None where they are not as many: with 0 lines where none of values stands there.
    """
    text, size = "", 0
    for line in lines[at : at + count]:
        if not re.match(_VALUE, line.text.strip()[:400]):
            break
        text, size = f"{text} {line.text.strip()[:400]}", size + 1
        if (values := _values(text, count)) is not None:
            return values, size
    return None, size


def _names(text: str) -> list[str] | None:
    """The columns that a header line announces, "" for those that are not kept; None for no header."""
    if len(text) > 400:
        return None
    if re.fullmatch(_TOTAL_HEADER, text):
        return ["ops_per_s", "backlog"]
    match = re.fullmatch(_OPERATION, text)
    if match is None:
        return None
    kept = match["name"] in _KEPT
    return [
        f"{match['name']}{_PHRASES[phrase]}" if kept else ""
        for phrase in re.findall(_PHRASE, match["phrases"])
    ]


def _named(names: Sequence[str], values: Sequence[_Value]) -> dict[str, float]:
    """The columns of a line, with the share of what was sent again: no count of operations is printed."""
    named = {}
    for name, (value, share, _) in zip(names, values, strict=True):
        if name:
            named[name] = value
        if name.endswith("_retransmissions") and share is not None:
            named[name.replace("retransmissions", "retransmitted_pct")] = share
    return named


def _values(text: str, count: int) -> list[_Value] | None:
    """The numbers of a line; None unless there are `count`."""
    text = text.strip()[:400]
    numbers, at = list[_Value](), 0
    value = re.compile(_VALUE)
    while match := value.match(text, at):
        place = 10.0 ** -len(match[1].partition(".")[2])
        numbers.append((float(match[1]), float(match[2]) if match[2] else None, place))
        at = match.end()
    return numbers if at == len(text) and len(numbers) == count else None


def _table(rows: Sequence[_Row], source: str) -> Table:
    """One row per mount and report; numbers that the version does not print are absent."""
    is_mean = rows[-1].report > 0 or not _is_sample(rows)
    # what is mounted meanwhile has its first report later
    first = {row.mount: row.report for row in reversed(rows)}
    front = front_columns(
        source,
        [row.line.number for row in rows],
        "",
        Times.of(np.array([row.seconds for row in rows])),
        np.array(list(_lengths(rows))),
        report=np.array([row.report for row in rows], dtype=np.int64),
        since_boot=np.array(
            [is_mean and (row.report == first[row.mount] or not row.export) for row in rows], dtype=np.bool_
        ),
    )
    front["mount"] = Texts.of(row.mount for row in rows)
    front["export"] = Texts.of(row.export for row in rows)
    return Table.of_columns(front | columns_of([row.numbers for row in rows]), len(rows))


def _is_sample(rows: Sequence[_Row]) -> bool:
    """Whether all rates of operations are whole numbers over the same few seconds, and not by chance."""
    rates = {(name, row.numbers[name], place) for row in rows for name, place in row.places.items()}
    # where no other operations are counted the sum says nothing that its parts do not
    sums = [row.numbers.get("reads_per_s", 0) + row.numbers.get("writes_per_s", 0) for row in rows]
    told = [(rate, place) for name, rate, place in rates if rate > 0]
    free = [
        place
        for name, rate, place in rates
        # each of the three is rounded
        if rate > 0 and not (name == _RATES[0] and any(abs(rate - own) <= 1.51 * place for own in sums))
    ]
    chance = 0.0
    for seconds in range(1, _LONGEST_SAMPLE_S + 1):
        chance += math.prod(min(1.0, seconds * place) for place in free)
        if chance >= _BY_CHANCE:
            break
        counts = ((rate * seconds, 0.51 * place * seconds) for rate, place in told)
        if all(abs(count - round(count)) <= half for count, half in counts):
            return True
    return False


def _lengths(rows: Sequence[_Row]) -> Iterator[float]:
    """The time since the report before, where clocks between the reports tell."""
    times = {row.report: row.seconds for row in rows}
    for row in rows:
        length = row.seconds - times.get(row.report - 1, np.nan)
        yield length if length > 0 else np.nan


FORMAT = ContextFormat(
    id="nfsiostat",
    title="nfsiostat: NFS mounts",
    example=_EXAMPLE,
    starts=re.compile(
        r" mounted on /\S{0,700}:\s*(?:$|ops?/s\s+rpc bklog)|^\s*ops?/s\s+rpc bklog\s*$"
        r"|^\s*(?:read|write):(?:\s+ops/s\s+kB/s\s.*)?\s*$"
    ),
    read=_read,
    releases="nfs-utils 1.2 to 2.8",
    not_read="operations other than reads and writes; statistics of the caches",
)
