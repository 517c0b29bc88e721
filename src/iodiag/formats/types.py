"""The shapes that a format can have: blocks of samples, context blocks, whole files.

Every format says which `releases` of its tool it reads and what is `not_read`, and why; the
documentation's table of formats is made from that.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from iodiag.model.capture import Fact, Ledger, ParseNote, SampleTable, Section, Source
from iodiag.model.topology import Device
from iodiag.table.table import Ints, Table

if TYPE_CHECKING:
    from iodiag.formats.text.clean.lines import Piece

Item = SampleTable | Device | Fact | ParseNote | Section | Ledger
"""What reading an input yields."""


Finish = Callable[[dict[str, Table]], dict[str, Table]]
"""What is left to do with the rows of a layout, by table."""


class Line(NamedTuple):
    """A line of a text input after cleaning (quoting, colour and such taken off).

    `number` is where it stands in the original input; several cleaned lines may share one.
    """

    text: str
    number: int


class Lines(Sequence[Line]):
    """Lines of a text one after the other, from the place where a context block may begin."""

    @property
    @abstractmethod
    def above(self) -> str:
        """The text of the line above the first; empty where there is none."""

    @abstractmethod
    def joined(self, first: int, last: int) -> str:
        """The texts of the lines `first` to `last` (exclusive), each with a line feed behind it."""

    @abstractmethod
    def numbers(self, first: int, last: int) -> Ints:
        """The numbers of these lines."""


class LayoutColumn(NamedTuple):
    """One column of a header. `column` None means: known, and not kept.

    raw value × `factor` = value in the canonical unit. `is_size` marks a column that
    `--human` prints with a suffix: such a value is in bytes, whatever the header's unit. The cells
    of an `is_label` column are words, kept as they are. One that `is_whole` is printed without decimals.
    """

    raw: str
    column: str | None
    factor: float = 1.0
    family: str = ""
    is_size: bool = False
    is_label: bool = False
    is_whole: bool = False


class Scaling(NamedTuple):
    """Columns that a tool prints in another unit where its command says so.

    `unit` gives their unit in the usual one from the options of a command, None where these do not say;
    `raw` are their words in a header. Rows whose `whole`, a few of the columns added up, stays below `least`
    everywhere may be scaled without a command that says so: then `remark` is said of them. Where most of its
    values are no multiples of `multiple_of`, they are not in the usual unit, and all of `raw` is left out.
    """

    unit: Callable[[Sequence[str]], float | None]
    raw: frozenset[str]
    whole: tuple[str, ...]
    least: float
    multiple_of: int
    remark: str


FirstReport = Literal["since boot", "since boot below its banner", "since boot under its clock", "a sample"]
"""What the first report of a run may be.

An average since boot in any case; only where a banner or the command shows that the run begins there; only
where its rows have the clock of their header; or a sample as all others are.
"""


class Layout(NamedTuple):
    """The meaning of one distinct header.

    `family` is the table of columns that name none. `key` is the column for the item of a row
    (device, cpu, …) and `key_at` where it stands among the tokens. `clock` tells where the time
    is: `line` (a line of its own before the report), `row` (in front of every row, as sar has
    it), `tail` (behind the values, as vmstat -t has it) or `none`. `name` says in a few words
    what was recognised (X5, narrow, sar -d, …). `unknown` are the header's words that nobody knows;
    `is_cut` tells that its last word is cut off and left out, so that rows may have a number more;
    `has_spaced_key` allows blanks in the item's name (a mount point).

    How the tool prints its reports: what the `first_report` is; at which `place` of a report the table
    stands (-1: anywhere), so that one of a lower place begins the next; whether the run `is_apart` from those
    of other tools that no banner or command parts from it; whether it `is_part_of_table`, which others go on
    with; whether items that `has_groups` marks by a blank in front are groups of others; the
    `scaling` of some columns. `remark` is said of every table of it.
    """

    format: str
    name: str
    family: str
    columns: tuple[LayoutColumn, ...]
    key: str | None = None
    key_at: Literal["first", "last"] = "first"
    clock: Literal["line", "row", "tail", "none"] = "none"
    finish: Finish | None = None
    note: str = ""
    unknown: tuple[str, ...] = ()
    is_cut: bool = False
    has_spaced_key: bool = False
    first_report: FirstReport = "since boot below its banner"
    place: int = -1
    is_apart: bool = False
    is_part_of_table: bool = False
    has_groups: bool = False
    scaling: Scaling | None = None
    remark: str = ""


class TableFormat(NamedTuple):
    """Sample blocks inside any text: a header line, then rows.

    `layout` turns the words of a header line (clock and colon taken off) into a Layout, or
    returns None when the header is not this format's. It is called once per distinct header.
    `rewrite` lays the lines of a text out so that this holds, where the tool prints them otherwise.

    `unknown_layout` gives a Layout to a header that no release prints so far, from its words and those of its
    first row. `headers` are those under which rows without a header are looked at; of several that fit,
    `preferred` may name one, from their Layouts and the banner's kernel ("" without one).
    """

    id: str
    title: str
    example: str
    layout: Callable[[tuple[str, ...]], Layout | None]
    releases: str = ""
    not_read: str = ""
    rewrite: Callable[[Sequence[Piece]], Sequence[Piece]] | None = None
    unknown_layout: Callable[[tuple[str, ...], Sequence[str]], Layout | None] | None = None
    headers: tuple[str, ...] = ()
    preferred: Callable[[Sequence[Layout], str], Layout | None] | None = None


class ContextBlock(NamedTuple):
    """What a context format read: how many lines from its start it took, and what it found.

    `unread` are the numbers of lines inside the block that were not understood. `host` is whose it is, where
    it says so itself.
    """

    used: int
    devices: tuple[Device, ...] = ()
    facts: tuple[Fact, ...] = ()
    tables: tuple[SampleTable, ...] = ()
    unread: tuple[int, ...] = ()
    layout: str = ""
    host: str = ""


class ContextFormat(NamedTuple):
    """Context inside any text (lsblk, mdstat, a process list, …): starts, then a grammar.

    `starts` is searched in single lines and should match only where a block can begin;
    `read` gets all lines from there on and the input's name, and returns None when the start
    was a false one. Its patterns are texts that it gives to `re`, which compiles those that an input
    needs and keeps them: to compile all takes as long as to read a small capture. It gets no more than
    `most_lines`. `is_between_rows`: a console shows such lines between the rows of a table, which goes on.
    """

    id: str
    title: str
    example: str
    starts: re.Pattern[str]
    read: Callable[[Lines, str], ContextBlock | None]
    releases: str = ""
    not_read: str = ""
    most_lines: int = 20_000
    is_between_rows: bool = False


class FileFormat(NamedTuple):
    """A format that owns its whole input: JSON, XML, CSV, binary.

    `recognise` looks at the first 4 KiB, is cheap and never raises. `read` yields items, at
    least one Section among them, and raises FormatError when nothing can be read. `pos_unit` is
    what the `line` column counts. `read_some` reads the named tables alone (None: all), where that
    saves work.
    """

    id: str
    title: str
    example: str | bytes
    recognise: Callable[[bytes], bool]
    read: Callable[[Source], Iterator[Item]]
    read_some: Callable[[Source, Collection[str] | None], Iterator[Item]] | None = None
    pos_unit: Literal["line", "byte"] = "line"
    releases: str = ""
    not_read: str = ""


Format = TableFormat | ContextFormat | FileFormat
