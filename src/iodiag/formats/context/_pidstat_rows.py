"""Rows of pidstat's text: blocks below headers, read as those of other tools' tables are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context._process_io import program
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.block_rows import rows_of
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.banners import banner
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Block, Blocks, Walk
from iodiag.formats.text.structure.headers import find_header
from iodiag.formats.types import Layout, LayoutColumn, Line, Lines
from iodiag.table.table import Bools, Column, Table
from iodiag.table.texts import NO_TEXT, Texts

_LEAD = (
    r"\s*(?P<lead>\d{1,2}[:.時时]\d\d[:.分]\d\d\S{0,3}(?:\s[AaPp]\.?\s?[Mm]\.?)?|\d{9,10}"
    r"|[^\W\d]{1,20}(?:\s[^\W\d]{1,20})?\s?[:：])\s+"
)
HEADER_LINE = (
    rf"(?:{_LEAD}|\s*#\s*Time\s+)"
    r"(?P<words>(?:(?:UID|USER)\s+)?(?:PID|TGID\s+TID)\s[^a-z]{0,3}\S.{0,300}\sCommand)\s*"
)
_ENDS_HEADER = re.compile(rb"Command[ \t]*$", re.M)
COLUMNS = {
    **{"UID": "uid", "USER": "user", "PID": "pid", "TGID": "pid", "TID": "tid"},
    **{"%usr": "user_pct", "%user": "user_pct", "%system": "system_pct", "%guest": "guest_pct"},
    **{"%wait": "run_wait_pct", "%CPU": "cpu_pct", "CPU": "cpu_number"},
    **{"minflt/s": "minor_faults_per_s", "majflt/s": "major_faults_per_s", "%MEM": "memory_pct"},
    **{"VSZ": "vsz_kb", "RSS": "rss_kb", "StkSize": "stack_kb", "StkRef": "stack_used_kb"},
    **{"kB_rd/s": "read_kb_per_s", "kB_wr/s": "write_kb_per_s", "kB_ccwr/s": "cancelled_write_kb_per_s"},
    **{"iodelay": "io_delay_ticks", "threads": "threads", "fd-nr": "open_files"},
    **{"cswch/s": "voluntary_switches_per_s", "nvcswch/s": "involuntary_switches_per_s"},
    **{"prio": "realtime_priority", "policy": "policy"},
    **{"usr-ms": "user_ms", "system-ms": "system_ms", "guest-ms": "guest_ms", "wait-ms": "run_wait_ms"},
    **{"minflt-nr": "minor_faults", "majflt-nr": "major_faults"},
}
TEXTS = ("user", "policy")
_POLICIES = ("NORMAL", "FIFO", "RR", "BATCH", "ISO", "IDLE", "DEADLN", "EXT", "?")
IO_WORDS = ("kB_rd/s", "kB_wr/s")
_EPOCH = "epoch_s"
_ONE_MORE = re.compile(r"-?\d[\d.,]*%?\s+\S")
"""How a command begins that has a number in front of it: the header may name one column too few."""
_COMMAND = re.compile(r"(?P<number>.*\S)\s+(?=Command\s*$)")
_LONGEST_HEADER = 500
_LONGEST_COMMAND = 4096
"""Characters of a command that pidstat prints, all its lines together."""


class Header(NamedTuple):
    """A header, its words, and the clock or label in front of it."""

    line: Line
    words: tuple[str, ...]
    lead: str

    @property
    def is_average(self) -> bool:
        return bool(self.lead) and not self.lead[0].isdigit()

    @property
    def begins_sample(self) -> bool:
        """Whether a table of I/O stands below it, which is a sample without rows, too."""
        return {*IO_WORDS} <= {*self.words} and not self.is_average

    @property
    def is_whole(self) -> bool:
        """Whether all its words are pidstat's, each of them there once."""
        return {*self.words} <= {*COLUMNS, "Command"} and len({*self.words}) == len(self.words)


@dataclass
class Listing:
    """All headers, and the rows below them as tables; the lines that were not understood.

    Of a row besides what pidstat prints: the place of its `header`, the `seconds` of its clock, whether it
    `is_average`, and whether it `is_refused`, as it has more cells than there are names.
    """

    headers: list[Header] = field(default_factory=list)
    parts: list[Table] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


def take_rows(listing: Listing, lines: Lines, begin: int, end: int) -> tuple[int, int | None]:
    """Add the rows of some lines; how far the listing reaches, and from where on to look further, if at all.

    The last header above stands in front of the lines.
    """
    above = [header.line for header in listing.headers[-1:]]
    body = "".join(f"{line.text}\n" for line in above) + lines.joined(begin, end)
    numbers = np.array([*(line.number for line in above), *lines.numbers(begin, end)], dtype=np.int64)
    text = Text(body.encode("utf-8", "replace"), numbers)
    headers = _headers(text)
    found = Walk(text, "", np.full(len(text), UNSEEN, dtype=np.uint8))
    found.classes[[*headers]] = CLASS["header"]
    found.blocks = Blocks(
        [_rows_below(found, headers[at], at, to) for at, to in pairwise([*headers, len(text)]) if to > at + 1]
    )
    all_rows = rows_of(found, "")
    stop, is_open = _end(listing, found, is_open=end < len(lines))
    if own := np.flatnonzero(_is_own(found)[:stop]).tolist():
        first = len(listing.headers) - len(above)
        new = [header for at, header in headers.items() if at < stop][len(above) :]
        listing.unread += [header.line.number for header in new if not header.is_whole]
        listing.headers += new
        number_of = {at: first + number for number, at in enumerate(headers)}
        parts = [rows.only(rows.lines < stop) for rows in all_rows if rows.lines[0] < stop]
        listing.parts += [_table_of(listing, found, rows, number_of) for rows in parts]
    shift = begin - len(above)
    return (own[-1] + 1 + shift if own else 0), (stop + shift if is_open else None)


def _is_own(found: Walk) -> Bools:
    """Which lines are headers and rows of the listing."""
    own: Bools = np.isin(found.classes, [CLASS[name] for name in ("header", "row", "summary")])
    return own


def _end(listing: Listing, found: Walk, is_open: bool) -> tuple[int, bool]:
    """Where the listing ends, and whether what stands further below decides.

    Between two of its lines, one that begins as a row does is a damaged row, and others below a whole row are
    the rest of its command (-l), which may have many lines. Anything else ends the listing.
    """
    text = found.text
    solid = np.flatnonzero(~text.is_blank)
    is_own = _is_own(found)[solid]
    edges = np.flatnonzero(np.diff(np.r_[True, is_own, True])).tolist()
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        between = [text.numbered(at) for at in solid[first:after].tolist()]
        is_damaged = [begins_as_row(line.text) for line in between]
        others = (line.text for line, own in zip(between, is_damaged, strict=True) if not own)
        is_command = _may_be_command(others)
        if after == len(solid):
            return int(solid[first]), is_open and is_command
        is_in_table = found.classes[solid[after]] != CLASS["header"]
        if not all(is_damaged) and not (is_in_table and is_command):
            return int(solid[first]), False
        # what stands below a damaged row may be the rest of it
        listing.unread += [line.number for line in between[(*is_damaged, True).index(True) :]]
    return len(text), is_open


def _may_be_command(lines: Iterable[str]) -> bool:
    """Whether lines may be the rest of a command, and not what another tool printed."""
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > _LONGEST_COMMAND or find_header(line.split()) or banner(line):
            return False
    return True


def begins_as_row(line: str) -> bool:
    """Whether a line begins with a clock or a label, as rows do."""
    return re.match(_LEAD, line) is not None


def _headers(text: Text) -> dict[int, Header]:
    """The headers of a text by their lines."""
    found = {}
    for match in _ENDS_HEADER.finditer(text.data):
        index = int(np.searchsorted(text.ends, match.start()))
        line = text.numbered(index)
        header = re.fullmatch(HEADER_LINE, line.text) if len(line.text) <= _LONGEST_HEADER else None
        if header:
            found[index] = Header(line, tuple(header["words"].split()), header["lead"] or "")
    return found


def _rows_below(found: Walk, header: Header, at: int, to: int) -> Block:
    """The lines between two headers; that of -h has no clock, and its rows have one or an epoch (-H)."""
    first = next((index for index in range(at + 1, to) if begins_as_row(found.text.line(index))), at)
    lead = len(header.lead.split()) or _clock.leading_time(found.text.words(first))[1]
    lead = 0 if header.lead.isdigit() else lead
    return Block(
        layout=_layout(header.words, "row" if lead else "none"),
        header=at,
        first=at + 1,
        last=to,
        origin=found.origins[0],
        report=0,
        clock=None,
        clock_tokens=lead,
        indent=0,
        is_label=header.is_average,
    )


@lru_cache(maxsize=256)
def _layout(words: tuple[str, ...], clock: Literal["row", "none"]) -> Layout:
    """The columns of a header. A word that stands there twice may be either."""
    names = [COLUMNS.get(word) if words.count(word) == 1 else None for word in words[:-1]]
    columns = [
        LayoutColumn(word, name, is_size=bool(re.search("_kb(_per_s)?$", name or "")), is_label=name in TEXTS)
        for word, name in zip(words, names, strict=False)
    ]
    epoch = [] if clock == "row" else [LayoutColumn("Time", _EPOCH)]
    return Layout(
        "pidstat",
        "pidstat",
        "process",
        (*epoch, *columns),
        "process",
        key_at="last",
        clock=clock,
        has_spaced_key=True,
    )


def _table_of(listing: Listing, found: Walk, rows: Rows, place: Mapping[int, int]) -> Table:
    """Rows with all that is known of them; `place` are those of the headers by their lines."""
    names = [column.column for column in rows.layout.columns]
    data: dict[str, Column] = {
        name: np.where(values < 0, np.nan, values)
        for name, values in zip(names, rows.numbers.T, strict=True)
        if name and name not in TEXTS
    }
    own = np.array([place[int(at)] for at in found.blocks.header], dtype=np.int64)[rows.block]
    is_more = np.array([bool(_ONE_MORE.match(name)) for name in rows.names], dtype=np.bool_)[rows.key]
    # which of two numbers is the process, where the header names it twice, is not known
    is_refused = np.full(len(own), "pid" not in data)
    data.setdefault("pid", np.full(len(own), np.nan))
    for number in np.flatnonzero(is_more).tolist():
        header = listing.headers[own[number]].line.text
        is_refused[number] = not _stands_below(found.text.line(int(rows.lines[number])), header)
    words = {name: Texts.of(cells) for name, cells in rows.labels.items()}
    if "policy" in words:
        # what stands in front of it has a cell too many, or the header a word too few
        is_refused |= ~words["policy"].isin(_POLICIES)
    lines = found.text.numbers[rows.lines]
    listing.unread += lines[is_refused].tolist()
    data |= {"line": lines, "header": own, "seconds": data.pop(_EPOCH, rows.seconds)}
    data |= {"is_average": rows.is_average, "is_refused": is_refused}
    # the bars in front of a thread's name are taken off as those of a table are
    is_thread = np.isnan(data["pid"])
    programs = [program(name) for name in (*rows.names, *(name.removeprefix("__") for name in rows.names))]
    data["process"] = Texts.coded(rows.key + len(rows.names) * is_thread, programs)
    return described(data | words)


def _stands_below(line: str, header: str) -> bool:
    """Whether a command that begins with a number stands below its word, and the number before it, too."""
    above = _COMMAND.match(header)
    if above is None or line[above.end("number") : above.end()].strip():
        return False
    last = above.end("number")
    return line[last - 1 : last].isdigit() and line[above.end() :][:1].isdigit()


def described(data: dict[str, Column]) -> Table:
    """Rows with numbers of processes and threads as texts, and guests among users, as in other tables."""
    for name in ("pid", "tid"):
        if name in data:
            known, codes = np.unique(np.nan_to_num(data[name]), return_inverse=True)
            words = ["" if number == 0 else f"{number:.0f}" for number in known.tolist()]
            data[name] = Texts.coded(np.where(known[codes] == 0, NO_TEXT, codes), words)
    if {"user_pct", "guest_pct"} <= data.keys():
        data["user_pct"] = data["user_pct"] + np.nan_to_num(data["guest_pct"])
    return Table.of_columns(data, len(data["line"]))
