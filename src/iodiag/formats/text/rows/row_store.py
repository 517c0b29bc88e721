"""The plain rows of a kind of block: room for all of them, filled one stretch of the text after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.aligned import DECIMALS, AlignedRows, Cells, Shape, rows_in, shape_of
from iodiag.formats.text.rows.category_codes import slice_if_contiguous, words_at
from iodiag.formats.text.rows.numbers import Numbers, Tokens
from iodiag.formats.text.rows.repaired_rows import RepairedRow
from iodiag.formats.text.rows.row_clocks import row_clocks, tail_clocks
from iodiag.formats.text.rows.single_row_parser import bare_name, is_fraction, is_item
from iodiag.formats.text.structure.blocks import Block
from iodiag.formats.types import Layout
from iodiag.model.units import KB_PER_BYTE
from iodiag.table.table import Bools, Floats, Ints, repeated

Objects = npt.NDArray[np.object_]

_MOST_SHAPES = 8  # of rows besides the commonest; each is looked for among the lines that are left
_FEWEST_ALIKE = 32  # rows of one shape: of fewer the tokens are found sooner
_SCATTERED = 1 << 12  # rows that are taken together where they are no neighbours
_LONGEST_ROW = 1000  # in bytes
_NO_NAME = -1
_NO_DECIMALS, _DECIMALS, _MOST_DECIMALS = -1, 2, 9
_LEAST_FRACTION = 1e-6
_BASE = 10  # of numbers: so many digits there are
_OF_EACH_ROW = (
    "lines",
    "block",
    "key",
    "numbers",
    "seconds",
    "gaps",
    "is_average",
    "epoch",
    "is_fine",
    "is_odd",
    "is_mixed",
)
_LABELS = np.frombuffer(b"Average:Summary:", dtype="<u8")  # as lines begin with them


@dataclass
class Rows:
    """Rows of one layout in the order of the text.

    `numbers` is rows x columns in canonical units, a column's values next to each other; `block` the index
    of each row's block among `Walk.blocks`; `key` the place of its item's name in `names`; `seconds` the
    row's own clock (NaN without); `epoch` its own full time, where it has one; `gaps` the blanks in front
    of the item's name; `is_fine` marks rows whose values have two decimals, `is_odd` those that have decimals
    where their columns have none, or none where they have some, `is_mixed` those of them that no one typed;
    `labels` are the cells of columns of words.
    """

    layout: Layout
    lines: Ints
    block: Ints
    key: Ints
    names: Sequence[str]
    numbers: Floats
    seconds: Floats
    gaps: npt.NDArray[np.int32]
    is_average: Bools
    epoch: Floats
    is_fine: Bools
    is_odd: Bools
    is_mixed: Bools
    labels: dict[str, Objects] = field(default_factory=dict)

    def only(self, chosen: Bools) -> Rows:
        """Some of the rows."""
        parts = {name: getattr(self, name)[chosen] for name in _OF_EACH_ROW}
        labels = {name: cells[chosen] for name, cells in self.labels.items()}
        return replace(self, labels=labels, **parts)


class RowStore:
    """The open lines of the blocks of one kind, and the rows that those of them are which are whole.

    `lines` and the `block` of each are in the order of the text; `begins` is where each block of it begins.
    """

    def __init__(self, first: Block, lines: Ints, block: Ints, begins: Ints) -> None:
        layout, size = first.layout, len(lines)
        self.first, self.lines, self.block, self._begins = first, lines, block, begins
        self._factors = np.array([column.factor for column in layout.columns])
        self._is_size = np.array([column.is_size for column in layout.columns], dtype=np.bool_)
        self._is_rate = np.array([is_fraction(column) for column in layout.columns], dtype=np.bool_)
        self._is_whole = np.array([column.is_whole for column in layout.columns], dtype=np.bool_)
        self._is_scaled = bool((self._factors != 1.0).any())
        self._is_label = np.array([column.is_label for column in layout.columns], dtype=np.bool_)
        self._has_labels = bool(self._is_label.any())
        # a label in front of the rows may be several words, too
        self._ends_in_name = layout.has_spaced_key and layout.key_at == "last" and not first.is_label
        # where nothing will be written, one value stands for a column: touching memory takes its time
        self._numbers = np.zeros((len(layout.columns), size))
        self._key = np.full(size, _NO_NAME)
        self._names: dict[str, int] = {}
        self._shapes: dict[int, tuple[Shape, Cells]] = {}
        # of rows whose tokens were looked for: how many lines above they begin, and where their names stand
        self._lines_above = np.zeros(size, dtype=np.int8)
        self._key_start, self._key_end = np.zeros((2, size), dtype=np.int64)
        self._has_gaps = layout.has_groups and layout.key is not None
        self._gap = np.zeros(size, np.int32) if self._has_gaps else repeated(np.int32(0), size)
        unknown = repeated(np.nan, size)
        self._seconds = unknown.copy() if layout.clock == "row" else unknown
        self._epoch = unknown.copy() if layout.clock == "tail" else unknown
        self._last_decimals, self._usual_decimals = np.zeros((2, size), dtype=np.int8)
        self._is_fine, self._is_last_plain, self._is_fitting = np.zeros((3, size), dtype=np.bool_)
        self._is_odd, self._is_mixed, self._is_row, self._is_average = np.zeros((4, size), dtype=np.bool_)
        self._decimals: list[tuple[Ints | slice, npt.NDArray[np.int8]]] = []
        self._has_suffix = False
        labels = {n: column.column for n, column in enumerate(layout.columns) if column.is_label}
        self._label_at = {n: name for n, name in labels.items() if name}
        self._labels: dict[str, Objects] = {
            name: np.full(size, None, dtype=np.object_) for name in self._label_at.values()
        }

    @property
    def has_name_above(self) -> bool:
        """Whether a row's name may stand on a line of its own above the values."""
        layout = self.first.layout
        return layout.key is not None and layout.key_at == "first" and layout.clock == "line"

    @property
    def names(self) -> Collection[str]:
        """The items of the rows so far."""
        return self._names.keys()

    def take(self, text: Text, tokens: Tokens, places: Ints) -> None:
        """Take the rows among some lines: those with as many tokens as their header, each of its kind.

        Stretches may be taken in any order, and side by side.
        """
        layout = self.first.layout
        if self._has_labels and not self._ends_in_name:
            return
        size, has_key = len(layout.columns), layout.key is not None
        ahead = self._ahead
        width = ahead + has_key + size + (2 if layout.clock == "tail" else 0)
        if self._ends_in_name:
            # where the end is open, a label of several words would make a row of an average
            begun = tokens.starts[tokens.begins(self.lines[places])]
            places = places[text.bytes[begun] - np.uint8(ord("0")) < _BASE]
        places, begins = self._whole(tokens, places, width)
        if not len(places):
            return
        at = tokens.begins(begins)
        begin = ahead + (has_key and layout.key_at == "first")
        cells = (at + begin)[:, None] + np.arange(size)
        # in the place of a word the row's first number is looked at, and kept nowhere
        first = self._is_label.argmin()
        looked_at = np.where(self._is_label, cells[:, [first]], cells) if self._has_labels else cells
        printed = tokens.printed(looked_at)
        seconds = epoch = None
        is_timed: Bools = np.ones(len(at), dtype=np.bool_)
        if ahead:
            seconds = row_clocks(text, tokens, at[:, None] + np.arange(ahead))
            is_timed = ~np.isnan(seconds)
        elif layout.clock == "tail":
            epoch = tail_clocks(tokens, at[:, None] + np.arange(width - 2, width))
            is_timed = ~np.isnan(epoch)
        here, is_good = self._put(places, printed, is_timed)
        self._lines_above[here] = self.lines[here] - begins[is_good]
        if seconds is not None:
            self._seconds[here] = seconds[is_good]
        if epoch is not None:
            self._epoch[here] = epoch[is_good]
        if has_key:
            is_first = layout.key_at == "first"
            key_at = (at + (begin - 1 if is_first else width - 1))[is_good]
            last = (at + tokens.counts(begins) - 1)[is_good] if self._ends_in_name else key_at
            self._key_start[here], self._key_end[here] = tokens.starts[key_at], tokens.ends[last]
            if self._has_gaps:
                before = text.starts[begins[is_good]] if is_first else tokens.ends[np.maximum(key_at - 1, 0)]
                self._gap[here] = tokens.starts[key_at] - before
        self._take_words(text, tokens, cells[is_good], here)

    def _take_words(self, text: Text, tokens: Tokens, cells: Ints, here: Ints | slice) -> None:
        """Put the words of rows, whose tokens `cells` are, in their places."""
        for number, name in self._label_at.items():
            own = cells[:, number]
            codes, words = words_at(text, tokens.starts[own], tokens.ends[own])
            self._labels[name][here] = np.array([*words, ""], dtype=np.object_)[codes]

    def take_aligned(self, text: Text, bounds: Sequence[int]) -> Ints:
        """Take rows that stand in columns, and the places of the lines that may be other rows.

        They are what `take` makes of the same lines, in a third of the time. The commonest shape of the
        places between two of `bounds` is taken first, rarer ones from many of them at once.
        """
        size = len(self.lines)
        if not self._is_alignable:
            return np.arange(size)
        parts = [self._take_commonest(text, slice(*edge)) for edge in pairwise(bounds) if edge[0] < edge[1]]
        left = np.concatenate(parts) if parts else np.arange(size)
        begins = range(0, len(left), _SCATTERED)
        parts = [self._take_rarer(text, left[begin : begin + _SCATTERED]) for begin in begins]
        return np.concatenate(parts) if parts else left

    def _take_commonest(self, text: Text, part: slice) -> Ints:
        """Take the rows of the commonest shape among neighbouring lines; the places of the others."""
        places = np.arange(part.start, part.stop)
        if len(places) < _FEWEST_ALIKE:
            return places
        starts, sizes = self._extents(text, part)
        is_alike = sizes == np.bincount(sizes).argmax()
        if self._ahead:
            is_alike &= ~self._is_labelled(text, part)
            if not is_alike.any():
                return places
        # a row for every line, as most are: what is none is written over later, or never looked at
        own = starts if is_alike.all() else np.where(is_alike, starts, starts[is_alike.argmax()])
        for shape, cells in self._shapes_for(text, own[0], sizes[is_alike.argmax()]):
            rows = rows_in(shape, text, own, cells, self._numbers[:, part])
            fits = rows.fits & is_alike
            if fits.any():
                self._is_row[part] = self._is_fitting[part] = fits
                self._describe(part, shape, cells, rows._replace(fits=fits))
                left: Ints = places[~fits]
                return left
            self._numbers[:, part] = 0.0
        return places

    def _take_rarer(self, text: Text, places: Ints) -> Ints:
        """Take rows of further shapes among some lines; the places of those that may be rows of none."""
        if self._ahead:
            places = places[~self._is_labelled(text, places)]
        for _ in range(_MOST_SHAPES):
            if len(places) < _FEWEST_ALIKE:
                break
            starts, sizes = self._extents(text, places)
            alike = np.flatnonzero(sizes == np.bincount(sizes).argmax())
            for shape, cells in self._shapes_for(text, starts[alike[0]], sizes[alike[0]]):
                values = np.zeros((len(self._numbers), len(alike)))
                rows = rows_in(shape, text, starts[alike], cells, values)
                if rows.fits.any():
                    break
            else:
                break
            kept = np.flatnonzero(rows.fits)
            here = places[alike[kept]]
            self._fill(here, values[:, kept])
            self._is_row[here] = self._is_fitting[here] = True
            self._describe(here, shape, cells, rows.only(kept))
            places = np.delete(places, alike[kept])
        return places

    def _is_labelled(self, text: Text, places: Ints | slice) -> Bools:
        """Which lines are averages, which have a word where a row has its clock."""
        heads = text.heads[slice_if_contiguous(self.lines[places])]
        result: Bools = (heads == _LABELS[0]) | (heads == _LABELS[1])
        return result

    def _extents(self, text: Text, places: Ints | slice) -> tuple[Ints, Ints]:
        """Where lines begin, and how long they are, up to the longest of a row and one."""
        lines = slice_if_contiguous(self.lines[places])
        starts = text.starts[lines]
        return starts, np.minimum(text.ends[lines] - starts, _LONGEST_ROW + 1)

    def _shapes_for(self, text: Text, start: int, size: int) -> Iterator[tuple[Shape, Cells]]:
        """The shape that rows of a size had before, and then that of the line that begins at `start`."""
        if size in self._shapes:
            yield self._shapes[size]
        shape = self._shape_of(text.data[start : start + size]) if size <= _LONGEST_ROW else None
        if shape is not None:
            self._shapes[size] = shape, Cells()
            yield self._shapes[size]

    @cached_property
    def _is_alignable(self) -> bool:
        return not self._has_labels and self.first.layout.clock != "tail"

    @cached_property
    def _ahead(self) -> int:
        """How many words of a clock stand in front of a row."""
        return self.first.clock_tokens if self.first.layout.clock == "row" and not self.first.is_label else 0

    def _shape_of(self, line: bytes) -> Shape | None:
        layout = self.first.layout
        name: Literal["first", "last"] = "first" if layout.key_at == "first" else "last"
        return shape_of(line, len(layout.columns), self._ahead, None if layout.key is None else name)

    def _describe(self, here: Ints | slice, shape: Shape, cells: Cells, rows: AlignedRows) -> None:
        """Keep what besides the numbers is known of rows of a shape."""
        if self._is_scaled:
            self._numbers[:, here] *= self._factors[:, None]
        if rows.name is not None and shape.name is not None:
            self._key[here] = np.array([self._number_of(word) for word in cells.words])[rows.name]
            if self._has_gaps:
                in_front = shape.name[0] if self.first.layout.key_at == "first" else 0
                self._gap[here] = np.array(cells.before)[rows.name] + in_front
        if rows.seconds is not None:
            self._seconds[here] = rows.seconds
        decimals = np.where(shape.has_sign, DECIMALS, 0).astype(np.int8)[None, :]
        self._note_decimals(here, decimals, True)
        # the lines between them that are no such rows have decimals of their own
        own = here if rows.fits.all() else np.arange(len(self.lines))[here][rows.fits]
        self._decimals.append((own, decimals))
        self._is_fine[here] = shape.has_sign.any()

    def _number_of(self, word: str) -> int:
        return self._names.setdefault(bare_name(word), len(self._names))

    def _put(self, places: Ints, printed: Numbers, is_timed: Bools) -> tuple[Ints | slice, Bools]:
        """Put rows in their places, those of them that are good; where these are, and which."""
        values, is_good = self._canonical(printed)
        decimals = printed.decimals
        # mostly they are the same in all rows
        decimals = decimals[:1] if (decimals == decimals[:1, :1]).all() else decimals
        self._is_fitting[places] = True
        self._note_decimals(places, decimals, printed.is_plain[:, -1])
        is_told = ~np.isnan(printed.value)
        if printed.suffix is not None:
            is_told &= np.isnan(printed.suffix)
            self._has_suffix = True
        told = np.where(is_told, np.minimum(printed.decimals, _MOST_DECIMALS), _NO_DECIMALS)
        self._decimals.append((places, told[:1] if (told == told[:1]).all() else told))
        is_fine = np.broadcast_to((decimals == DECIMALS).any(axis=1), is_good.shape)
        is_good &= is_timed
        if not is_good.all():
            values, places, is_fine = values[is_good], places[is_good], is_fine[is_good]
        here = slice_if_contiguous(places)
        self._fill(here, values.T)
        self._is_row[here], self._is_fine[here], self._key[here] = True, is_fine, _NO_NAME
        return here, is_good

    def _fill(self, here: Ints | slice, values: Floats) -> None:
        """Put numbers (columns x rows) in their places; memory that holds zeros anyway is left alone."""
        for column, own in zip(self._numbers, values, strict=True):
            if own.any() or column[here].any():
                column[here] = own

    def _whole(self, tokens: Tokens, places: Ints, width: int) -> tuple[Ints, Ints]:
        """The places of the lines that end a row of so many tokens, and the lines on which these rows begin.

        iostat -h up to 11.7.1 prints the name on a line of its own above the values.
        """
        layout, lines = self.first.layout, self.lines[places]
        counts = tokens.counts(lines)
        fits, begins = (counts >= width if self._ends_in_name else counts == width), lines
        if self.has_name_above and not fits.all():
            above = np.maximum(lines - 1, 0)
            has_above = lines > self._begins[self.block[places]]
            is_below_name = ~fits & has_above & (counts == len(layout.columns))
            is_below_name[is_below_name] = tokens.counts(above[is_below_name]) == 1
            begins = np.where(is_below_name, above, lines)
            fits = fits | is_below_name
        return places[fits], begins[fits]

    def _canonical(self, printed: Numbers) -> tuple[Floats, Bools]:
        """Values in canonical units, and the rows whose cells are all numbers of one kind.

        No row has decimal commas and points, and no column but a size has a suffix.
        """
        values, is_bad = printed.value, printed.is_bad
        if printed.suffix is not None:
            has_suffix = ~np.isnan(printed.suffix)
            sizes = values * printed.suffix * KB_PER_BYTE
            values = np.where(has_suffix, sizes, values * self._factors)
            is_bad = is_bad | (has_suffix & ~self._is_size)
        elif self._is_scaled:
            values = values * self._factors
        is_good: Bools = np.ones(len(values), dtype=np.bool_)
        if is_bad.any():
            is_good &= ~is_bad.any(axis=1)
        if printed.has_comma.any():
            is_good &= ~(printed.has_comma.any(axis=1) & printed.has_point.any(axis=1))
        return values, is_good

    def _note_decimals(
        self, places: Ints | slice, decimals: npt.NDArray[np.int8], is_last_plain: Bools | bool
    ) -> None:
        """Keep what tells that a row's last number was cut off; a single row of decimals is that of all."""
        self._last_decimals[places] = decimals[:, -1]
        self._is_last_plain[places] = is_last_plain
        if decimals.shape[1] > 2 and is_fraction(self.first.layout.columns[-1]):
            others = decimals[:, :-1]
            is_alike = (others == others[:, :1]).all(axis=1)
            self._usual_decimals[places] = np.where(is_alike, others[:, 0], 0)

    def keeps_zeros(self) -> bool:
        """Whether numbers end in zeros behind the point, which spreadsheets and other programs drop."""
        usual = self._usual_by_column
        for places, decimals in self._decimals if usual.any() else ():
            last_digits = np.rint(self._printed(places) * 10.0**usual) % 10
            is_kept = (last_digits == 0) & (decimals == usual) & (usual > 0)
            if (is_kept & self._is_row[places][:, None]).any():
                return True
        return False

    def take_back_damaged(self) -> Ints:
        """Take back rows in which one number lacks the decimals of its column: it may have lost its point.

        Returns their lines. A tool prints a fixed number of decimals. Whoever types a row leaves them out
        more than once; where zeros are dropped, nothing is lost.
        """
        usual, damaged = self._usual_by_column, [np.empty(0, dtype=np.int64)]
        for places, decimals in self._decimals if usual.any() else ():
            is_usual = (decimals == usual) & (usual > 0)
            is_whole = (decimals == 0) & (usual > 0)
            is_few = (is_whole.sum(axis=1) == 1) & (is_usual.sum(axis=1) > 2)
            here = np.arange(len(self.lines))[places]
            damaged.append(here[np.broadcast_to(is_few, here.shape)])
        taken = np.concatenate(damaged)
        taken = taken[self._is_row[taken]]
        if not len(taken) or not self.keeps_zeros():
            return taken[:0]
        self._is_row[taken] = False
        return self.lines[taken]

    def mark_odd(self, *, keeps_zeros: bool) -> None:
        """Mark the rows of sar that have decimals in other columns than sar prints them: another section's.

        Alone it is evidence only at a place of doubt: who types or computes a row may write others, too. But
        they drop all decimals or have a number of their own; rows that are `is_mixed` have sar's and none.
        `keeps_zeros` says that no zeros are dropped, and so no decimals.
        """
        usual = self._usual_by_column
        # rows of the other section may be most; who writes a whole table may leave them out of a column
        most = np.max([decimals.max(axis=0) for _, decimals in self._decimals], axis=0, initial=0)
        has_decimals = ((usual > 0) | (self._is_rate & (most > 0))) & ~self._is_whole
        of_sar = usual.max() or _DECIMALS
        for places, decimals in self._decimals:
            is_bare = (decimals == 0) & has_decimals & keeps_zeros
            is_fine = (decimals > 0) & self._is_whole
            if is_bare.any() or is_fine.any():
                printed = self._printed(places)
                is_fraction = np.abs(printed - np.rint(printed)) > _LEAST_FRACTION
                is_odd = ((is_bare & (printed != 0)) | (is_fine & is_fraction)).any(axis=1)
                is_of_sar = ((decimals == 0) | (decimals == of_sar)).all(axis=1) & (decimals > 0).any(axis=1)
                self._is_odd[places], self._is_mixed[places] = is_odd, is_odd & is_of_sar

    def _printed(self, places: Ints | slice) -> Floats:
        """The numbers of some rows in the units in which they are printed, rows x columns."""
        printed: Floats = self._numbers[:, places].T / self._factors
        return printed

    @cached_property
    def _usual_by_column(self) -> Ints:
        """The commonest number of decimals in each column; between two that of all rates and shares.

        A lone row's rates and shares are held against each other. To be asked once all rows are taken.
        """
        counts = np.zeros((_MOST_DECIMALS + 1, len(self._numbers)))
        for places, decimals in self._decimals:
            rows = np.count_nonzero(self._is_row[places])
            for number in range(_MOST_DECIMALS + 1):
                counts[number] += (decimals == number).sum(axis=0) * (rows if len(decimals) == 1 else 1)
        is_lone = counts.sum(axis=0).max(initial=0) == 1 and not self._has_suffix
        commonest = counts[:, self._is_rate].sum(axis=1).argmax()
        counts[commonest] += np.where(self._is_rate & is_lone, 1.5, 0.5)
        usual: Ints = counts.argmax(axis=0)
        return usual

    def settle(self, text: Text) -> Ints:
        """Take back rows whose last number is cut off or whose item has no name; all lines of the others."""
        is_row = self._is_row & ~self._is_cut_off()
        if self.first.layout.key is None:
            self._key, names = np.zeros(len(is_row), dtype=np.int64), [""]
        else:
            self._key, names = self._named(text, is_row)
            is_name = np.array([*(is_item(self.first.layout, name) for name in names), False], dtype=np.bool_)
            is_row &= is_name[self._key]
        self._is_row, self._names = is_row, {name: number for number, name in enumerate(names)}
        own = self.lines if is_row.all() else self.lines[is_row]
        above = np.flatnonzero(is_row & (self._lines_above > 0))
        return np.concatenate((own, self.lines[above] - self._lines_above[above])) if len(above) else own

    def add(self, others: Sequence[RepairedRow]) -> None:
        """Put further rows where their lines stand."""
        if not others:
            return
        here = np.searchsorted(self.lines, [other.line for other in others])
        self._is_row[here] = True
        self._key[here] = [self._names.setdefault(other.row.key, len(self._names)) for other in others]
        self._numbers[:, here] = np.array([other.row.values for other in others]).T
        if self.first.layout.clock == "row":
            self._seconds[here] = [other.row.seconds for other in others]
        self._is_average[here] = [bool(other.row.label) for other in others]
        epoch = np.array([other.epoch for other in others])
        if not np.isnan(epoch).all():
            self._epoch = np.array(self._epoch)
            self._epoch[here] = epoch
        self._is_fine[here] = [other.is_fine for other in others]
        if self._has_gaps:
            self._gap[here] = 0
        words = [column.column for column in self.first.layout.columns if column.is_label]
        for number, name in enumerate(words):
            if name:
                self._labels[name][here] = [other.row.labels[number] for other in others]

    def rows(self) -> Rows:
        """All rows, in the order of the text."""
        kept = slice(None) if self._is_row.all() else np.flatnonzero(self._is_row)
        return Rows(
            layout=self.first.layout,
            lines=self.lines[kept],
            block=self.block[kept],
            key=self._key[kept],
            names=[*self._names],
            numbers=self._numbers[:, kept].T,
            seconds=self._seconds[kept],
            gaps=self._gap[kept],
            is_average=self._is_average[kept],
            epoch=self._epoch[kept],
            is_fine=self._is_fine[kept],
            is_odd=self._is_odd[kept],
            is_mixed=self._is_mixed[kept],
            labels={name: cells[kept] for name, cells in self._labels.items()},
        )

    def _named(self, text: Text, is_row: Bools) -> tuple[Ints, list[str]]:
        """The number of each row's name, and the names in the order of their first appearance."""
        rest = np.flatnonzero(is_row & (self._key == _NO_NAME))
        if len(rest):
            codes, words = words_at(text, self._key_start[rest], self._key_end[rest])
            self._key[rest] = np.array([self._number_of(word) for word in words])[codes]
        rows = np.flatnonzero(is_row)[::-1]
        first = np.full(len(self._names), len(is_row))
        first[self._key[rows]] = rows  # of several the last is kept
        order = np.argsort(first, kind="stable")
        order = order[first[order] < len(is_row)]
        names = [*self._names]
        rank = np.full(len(names) + 1, -1)
        rank[order] = np.arange(len(order))
        return rank[self._key], [names[place] for place in order.tolist()]

    def _is_cut_off(self) -> Bools:
        """Lines whose last number has lost digits at a right margin.

        It has fewer decimals than the column's others in its block, or, being no count, than all other
        columns of its row.
        """
        last, fitting = self._last_decimals, self._is_fitting
        if (last == last[:1]).all():
            most: npt.NDArray[np.int8] = last
        else:
            usual = np.zeros(int(self.block.max()) + 1, dtype=np.int8)
            np.maximum.at(usual, self.block[fitting], last[fitting])
            most = usual[self.block]
        return (last < np.maximum(most, self._usual_decimals)) & self._is_last_plain
