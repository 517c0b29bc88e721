"""A text input as lines: what mail, terminals, forums and browsers added is taken off, numbers are kept.

Cleaning never changes what a line says, only how it is dressed: quoting (`> `), colour, NUL bytes,
carriage returns, HTML and BBCode tags, Markdown escapes, quoted-printable. What only the lines around
tell is laid out again by rewrites; such lines may share a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats.clock import Clock
from iodiag.formats.text.array_types import Eights
from iodiag.formats.text.clean.word_counts import WordCounts, count_words
from iodiag.formats.types import Line
from iodiag.model.byte_positions import STRETCH_BYTES, places_of
from iodiag.table.table import Bools, Ints

# what a line can be dressed with, by its first byte; a text without any is taken as it is
_MARKS: dict[bytes, tuple[bytes, ...]] = {
    **{byte: (byte,) for byte in (b"<", b">", b"\\", b"&", b"\x08", b"\x0b", b"\x0c", b"\r")},
    b"*": (b"**",),
    b"`": (b"```",),
    b"=": (b"=\n", b"=20\n"),
    b"[": (
        *(b"[code", b"[CODE", b"[quote", b"[QUOTE", b"[pre", b"[b]", b"[B]"),
        *(b"[color", b"[COLOR", b"[td", b"[TD"),
    ),
    b"^": (b"^C",),
    b"{": (b"{noformat", b"{code", b"{panel"),
    b"\xe2": (b"\xe2\x80", b"\xe2\x81\xa0", b"\xe2\x88\x92"),
    b"\xef": (b"\xef\xbb\xbf", b"\xef\xbc"),
}
# no-break, figure, thin, narrow no-break and ideographic space
_SPACES = (b"\xc2\xa0", b"\xe2\x80\x87", b"\xe2\x80\x89", b"\xe2\x80\xaf", b"\xe3\x80\x80")
_PLAIN_MARKS = (b"\0", b"\x1b", b"\x07", b"\xc2", b"\xe3")
_COLOUR = re.compile(
    rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>]"
)
_BARE_COLOUR = re.compile(
    rb"(?:\^\[|\xef\xbf\xbd|\xe2\x90\x9b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[\d;]{0,20}m|\[\d{1,3}(?:;\d{1,3}){0,4}m"
)
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?){1,100}")  # bounded: each repetition is remembered
_OVERSTRUCK = re.compile(r"[^\x08]\x08")
_BREAK_TAG = re.compile(r"<(?:br|/p|/tr|/div|/li|/h\d)\b[^<>]{0,300}>", re.I)
_INLINE_TAG = re.compile(r"</?(?:a|b|i|u|s|em|strong|span|font|code|tt|kbd|mark)\b[^<>]{0,300}>", re.I)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|pre|table|thead|tbody|tr|td|th|li|ul|ol|blockquote|section|article|html|body|head|title"
    r"|h[1-6]|hr|img|xmp|nowiki|source|syntaxhighlight)\b[^<>]{0,300}>",
    re.I,
)
_MARKUP = re.compile(
    r"\[/?(?:code|quote|b|i|u|pre|size|color|font|spoiler)(?:=[^\[\]]{0,40})?\]|^\s*\^C(?=\S)"
    r"|\{(?:noformat|code|panel)[^{}]{0,80}\}|^\s*```(?!\w*\s*$)|(?<=\S)\s*```\s*$|(?<!\*)\*\*(?!\*)",
    re.I,
)
_MARKED = b"&*<>\\^`{" + bytes([*range(9), *range(11, 32), *range(127, 256)])
_DRESS = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f-\xff]|^[ \t]*>|</?[a-z]|\*\*|```|\^C|\{(?:noformat|code|panel)|&#?\w{1,8};"
    rb"|\\[_%*#\[\]<>|`~+.-]|=(?:[0-9A-F]{2}|$)",
    re.I | re.M,
)
_TAG = re.compile(rb"\[/?(?:code|quote|b|i|u|pre|size|color|font|spoiler|table|t[rdh])[=\]]", re.I)
"""What a line has that `undress` changes; what begins with a bracket, as many a log's lines do, apart."""

_OPENED = re.compile(r"(?:\[(?:size|color|font)=[^\[\]]{0,40}\]){1,5}\s*(?P<words>\S{1,40}\s+\S{1,40})", re.I)
_CELL = re.compile(r"\[/?(?:table|tr|td|th)(?:=[^\[\]]{0,40})?\]", re.I)
_ENTITY = re.compile(r"&#?\w{1,8};")
_ESCAPE = re.compile(r"\\([_%*#\[\]<>|`~+.-])")
_HEX = re.compile(r"(?:=[0-9A-F]{2})+")
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
_NOTHING = dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", "")
_LONE_MARK = re.compile("(?<=\\S )( *)[\u200b-\u200f\u2060\ufeff]+(?= +\\S)")
"""A cell that holds nothing to be seen: a number was there, and those behind it must not move up."""
_SPACE = dict.fromkeys("\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u200a\x0b\x0c", " ")
_SPACE |= {space.decode(): " " for space in _SPACES}  # those of entities
_FULL_WIDTH = {chr(0xFEE0 + ord(sign)): sign for sign in "%,-./:()"}
_WIDE_DIGITS = str.maketrans({chr(0xFEE0 + ord(sign)): sign for sign in "0123456789"})
_WIDE_NUMBER = re.compile("(?<!\\S)[^A-Za-z\\s]*[\uff10-\uff19][^A-Za-z\\s]*(?!\\S)")
"""A word with digits of full width and no letters: in a name they are part of it."""
_ODD_CHARACTERS = str.maketrans(_DASHES | _NOTHING | _SPACE | _FULL_WIDTH)
LONGEST_LINE = 10_000
"""In characters: no tool prints more into one line of text, but a single line may be all of an input."""

_HARD_BREAK = "=0A="
_LONGEST_JOINED = 1000
_MOST_LIKE = 4  # lines alike that are looked at
_LINES_NEXT = 7  # and so many of each with those below it
_LINES_FIRST = 8  # of a text that begins with rows
_MOST_IN_FRONT = 3
_ANY_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
_COLOURED = 1 << 22  # bytes whose colours are taken off together


class Piece(NamedTuple):
    """A cleaned line: its text, the 1-based line it began on, how many it took, and its time stamp."""

    text: str
    number: int
    span: int = 1
    stamp: Clock | None = None


Rewrite = Callable[[Sequence[Piece]], Sequence[Piece]]
"""Lines laid out again: all of them, those as they were where there is nothing to do."""


@dataclass(frozen=True)
class Text:
    """The lines of a cleaned text.

    `data` are the cleaned bytes; `numbers` the 1-based original line of each, `spans` how many original
    lines it holds (None: one each), `stamps` the times that a log collector put in front of some.
    """

    data: bytes
    numbers: Ints
    spans: Ints | None = None
    stamps: tuple[tuple[int, Clock], ...] = ()

    @classmethod
    def of(cls, data: bytes, line_feeds: Ints | None = None, behind: Eights | None = None) -> Text:
        """A text that needs no cleaning; `line_feeds` is where they stand, `behind` what follows each."""
        ends = _ends_of(data, line_feeds)
        text = cls(data, np.arange(1, len(ends) + 1))
        # where a cached_property keeps what it was asked for
        text.__dict__["ends"] = ends
        if behind is not None:
            text.__dict__["heads"] = text._heads(behind)
        return text

    @classmethod
    def of_pieces(cls, pieces: Iterable[Piece]) -> Text:
        """A text of cleaned lines."""
        kept = list(pieces)
        data = "".join(f"{piece.text}\n" for piece in kept).encode("utf-8", "replace")
        numbers = np.array([piece.number for piece in kept], dtype=np.int64)
        spans = np.array([piece.span for piece in kept], dtype=np.int64)
        stamps = tuple((index, piece.stamp) for index, piece in enumerate(kept) if piece.stamp)
        return cls(data, numbers, spans, stamps)

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def bytes(self) -> npt.NDArray[np.uint8]:
        """The cleaned bytes as an array."""
        return np.frombuffer(self.data, dtype=np.uint8)

    @cached_property
    def eights(self) -> Eights:
        """The eight bytes from each offset on, as one number with the first byte the lowest."""
        return _eights_of(self.data)

    def windows(self, size: int) -> npt.NDArray[np.uint8]:
        """So many bytes from each offset on, a row each; the offsets from which there are as many."""
        return np.ndarray((max(len(self.data) - size + 1, 0), size), np.uint8, self.data, strides=(1, 1))

    @cached_property
    def ends(self) -> Ints:
        """Offset of each line's end, the line feed left out."""
        return _ends_of(self.data)

    @cached_property
    def starts(self) -> Ints:
        """Offset of each line's first byte."""
        return np.concatenate(([0], self.ends[:-1] + 1)) if len(self) else self.ends

    @cached_property
    def heads(self) -> Eights:
        """The first eight bytes of each line, the first of them the lowest; line feeds from its end on."""
        return self._heads(None)

    def _heads(self, behind: Eights | None) -> Eights:
        fed = self.data[-8:] + b"\n" * 8
        heads = np.empty(len(self), dtype=np.uint64)
        inside = int(np.searchsorted(self.starts, len(self.data) - 8, "right"))
        if behind is None:
            heads[:inside] = self.eights[self.starts[:inside]]
        elif inside:
            heads[0], heads[1:inside] = self.eights[0], behind[: inside - 1]
        offsets = self.starts[inside:] - max(len(self.data) - 8, 0)
        heads[inside:] = [int.from_bytes(fed[at : at + 8], "little") for at in offsets.tolist()]
        sizes = self.ends - self.starts
        short = np.flatnonzero(sizes < 8)
        kept = (np.uint64(1) << sizes[short].astype(np.uint64) * np.uint64(8)) - np.uint64(1)
        heads[short] = (heads[short] & kept) | (np.uint64(0x0A0A0A0A0A0A0A0A) & ~kept)
        return heads

    @cached_property
    def is_blank(self) -> Bools:
        """True for lines of nothing but blanks and tabs."""
        result: Bools = self.starts == self.ends
        leading = np.flatnonzero(~result & ((self.heads & np.uint64(0xFF)) <= 32))
        # a row that is set in ends in a digit
        leading = leading[self.bytes[self.ends[leading] - 1] <= 32]
        heads = self.heads[leading].view(np.uint8).reshape(-1, 8)
        for index in leading[((heads == 32) | (heads == 9) | (heads == 10)).all(axis=1)].tolist():
            result[index] = self.data[self.starts[index] : self.ends[index]].isspace()
        return result

    @cached_property
    def word_counts(self) -> WordCounts:
        """How many words and other words than plain numbers each line has."""
        return count_words(self.bytes, self.starts, self.ends)

    def line(self, index: int) -> str:
        """The cleaned text of a line, by its index."""
        return self.data[self.starts[index] : self.ends[index]].decode("utf-8", "replace")

    def pieces(self) -> list[Piece]:
        """All lines, each with its number and span."""
        spans = [1] * len(self) if self.spans is None else self.spans.tolist()
        texts = self.data.decode("utf-8", "replace").split("\n")
        return list(map(Piece, texts, self.numbers.tolist(), spans))

    def words(self, index: int) -> list[str]:
        """The words of a line; of one that is longer than any tool's, those that it begins with.

        A line that is not blank has at least one: separators of files (\\x1c to \\x1f) alone are a word.
        """
        text = self.line(index)[:LONGEST_LINE]
        return text.split() or ([] if self.is_blank[index] else [text])

    def numbered(self, index: int) -> Line:
        """A cleaned line with its original number, as context formats take it."""
        return Line(self.line(index), int(self.numbers[index]))

    def stretch(self, first: int, last: int) -> Iterator[Line]:
        """The lines `first` to `last` (exclusive, at least one) as `numbered` gives each."""
        return map(Line, self.joined(first, last).split("\n"), self.numbers[first:last].tolist())

    def joined(self, first: int, last: int) -> str:
        """The cleaned lines `first` to `last` (exclusive, at least one), line feeds between them."""
        return self.data[self.starts[first] : self.ends[last - 1]].decode("utf-8", "replace")


def _ends_of(data: bytes, line_feeds: Ints | None = None) -> Ints:
    ends = places_of(b"\n", data) if line_feeds is None else line_feeds
    return ends if not data or data.endswith(b"\n") else np.append(ends, len(data))


def clean(data: bytes, rewrites: Sequence[Rewrite] = (), line_feeds: Ints | None = None) -> Text:
    """The text without what its way here added. Rewrites run where they find something to do.

    `line_feeds` is where they stand in the bytes, if that is known.
    """
    given = data
    special, behind = _looked_over(data, line_feeds)
    data = _plain_bytes(data, special)
    is_dressed = any(any(mark in data for mark in _MARKS[byte]) for byte in special & _MARKS.keys())
    if is_dressed:
        text = _undressed(Text.of(data))
    else:
        text = Text.of(data, line_feeds, behind) if data is given else Text.of(data)
    telling: Sequence[Piece] = _telling(text) if rewrites else ()
    needed: list[Rewrite] = []
    for rewrite in rewrites:
        # one may find something to do in what another left
        changed = rewrite(telling)
        needed += [rewrite] if changed != telling else []
        telling = changed
    if not needed:
        return text
    pieces: Sequence[Piece] = text.pieces()
    for rewrite in needed:
        pieces = rewrite(pieces)
    return Text.of_pieces(pieces)


def _telling(text: Text) -> list[Piece]:
    """The lines that may show how a text is dressed: of plain rows the first and those next to another line.

    A plain row is a clock, a name, or none, and numbers; of other lines alike, but for their digits, a few
    are enough.
    """
    counts = text.word_counts
    is_row = (counts.leading <= _MOST_IN_FRONT) & (counts.words >= 2 * counts.leading)
    seen: dict[bytes, int] = {}
    is_kept = np.arange(len(text)) < _LINES_FIRST
    others = np.flatnonzero(~is_row)
    edges = text.starts[others].tolist(), text.ends[others].tolist()
    for index, start, end in zip(others.tolist(), *edges, strict=True):
        shape = text.data[start:end].translate(_ANY_DIGIT)
        count = seen[shape] = seen.get(shape, 0) + 1
        if count <= _MOST_LIKE:
            is_kept[max(index - 1, 0) : index + _LINES_NEXT] = True
    return [Piece(text.line(index), index + 1) for index in np.flatnonzero(is_kept).tolist()]


def _looked_over(data: bytes, line_feeds: Ints | None) -> tuple[set[bytes], Eights | None]:
    """Which bytes occur that lines may be dressed with, and the eight bytes behind each line feed.

    A stretch is searched for all of them at once. In front of the end there may be fewer than eight.
    """
    array, wanted, found = np.frombuffer(data, dtype=np.uint8), [*_MARKS, *_PLAIN_MARKS], set[bytes]()
    bounds = range(0, len(data), STRETCH_BYTES)
    eights, behind = _eights_of(data), None
    if line_feeds is not None and len(eights):
        places = np.minimum(line_feeds + 1, len(eights) - 1)
        edges = [*np.searchsorted(line_feeds, bounds).tolist(), len(line_feeds)]
        behind = np.empty(len(line_feeds), dtype=np.uint64)
    for number, begin in enumerate(bounds):
        end = begin + STRETCH_BYTES
        highest = int(array[begin:end].max())
        found.update(
            [
                byte
                for byte in wanted
                if byte[0] <= highest and byte not in found and data.find(byte, begin, end) >= 0
            ]
        )
        if behind is not None:
            # while the stretch is in the cache
            own = slice(*edges[number : number + 2])
            behind[own] = eights[places[own]]
    return found, behind


def _eights_of(data: bytes) -> Eights:
    return np.ndarray((max(len(data) - 7, 0),), "<u8", data, strides=(1,))


def _plain_bytes(data: bytes, special: set[bytes]) -> bytes:
    """What can be taken off without looking at lines: NUL bytes, colour, line ends, odd spaces."""
    if b"\0" in special:
        data = without_nuls(data)
    if not special.isdisjoint((b"\x1b", b"\x07")):
        data = b"".join(_COLOUR.sub(b"", part) for part in _coloured_parts(data)).replace(b"\x07", b"")
    if b"[" in special:
        data = _without_bare_colours(data)
    if b"\r" in special:
        data = data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")
    if not special.isdisjoint(space[:1] for space in _SPACES):
        for space in _SPACES:
            data = data.replace(space, b" ")
    return data


def _without_bare_colours(data: bytes) -> bytes:
    """Bytes without colours whose escape a copy lost, or wrote as text: `[34;1m`, `^[[0m`."""
    return _BARE_COLOUR.sub(b"", data) if b"[0m" in data else data


def without_nuls(data: bytes) -> bytes:
    """Bytes without the NULs that 11.5.7 prints behind numbers.

    Within a number one stands for what was lost, not for nothing: it becomes a mark that no number has.
    """
    while b"\0\0" in data:
        data = data.replace(b"\0\0", b"\0")
    array = np.frombuffer(data, dtype=np.uint8)
    marked = np.array(array)
    for begin in range(1, len(data), STRETCH_BYTES):
        before, own, behind = (array[begin + off : begin + off + STRETCH_BYTES] for off in (-1, 0, 1))
        is_between = (own == 0)[: len(behind)]
        is_between &= np.isin(before[: len(behind)], _OF_NUMBERS)
        # what follows a number in JSON is a comma
        is_between &= np.isin(behind, _OF_NUMBERS[:-1])
        marked[begin + np.flatnonzero(is_between)] = ord("?")
    return marked.tobytes().replace(b"\0", b"")


_OF_NUMBERS = np.frombuffer(b"0123456789.,", dtype=np.uint8)


def _coloured_parts(data: bytes) -> Iterator[bytes]:
    """Parts of a text that no terminal's sequence reaches over: millions replaced at once take gigabytes."""
    begin = 0
    while begin < len(data):
        end = begin + _COLOURED
        if end < len(data):
            # one ends with its line, and none holds the beginning of a colour
            end = max(data.rfind(b"\n", begin, end) + 1, data.rfind(b"\x1b[", begin + 1, end))
        yield data[begin:] if end <= begin else data[begin:end]
        begin = end if end > begin else len(data)


def _undressed(text: Text) -> Text:
    """The lines without quoting and tags; soft line breaks of quoted-printable joined."""
    ends_soft = _ends_in(text, b"=") & ~_ends_in(text, b"==") & (text.ends - text.starts < _LONGEST_JOINED)
    is_printable = int(np.count_nonzero(ends_soft | _ends_in(text, b"=20"))) >= 2
    edges, counts = np.append(text.starts, len(text.data)), np.ones(len(text), dtype=np.int64)
    spans, parts, done = counts.copy(), list[bytes](), 0
    for first in np.flatnonzero(_may_be_dressed(text, is_printable)).tolist():
        if first < done:
            continue
        line, last = text.line(first), first + 1
        is_quoted = _QUOTE.match(line) is not None
        # the end of a line that is encoded as well joins nothing
        while is_printable and line.endswith("=") and not line.endswith(_HARD_BREAK):
            if len(line) >= _LONGEST_JOINED or last >= len(text):
                break
            # a mail that is quoted as it was sent has the mark before the second part, too
            rest = _unquoted(text.line(last)) if is_quoted else text.line(last)
            line, last = line[:-1] + rest, last + 1
        bare = undress(_HEX.sub(_decoded, line.removesuffix(_HARD_BREAK)) if is_printable else line)
        parts += [text.data[edges[done] : edges[first]], bare.encode("utf-8", "replace"), b"\n"]
        counts[first:last], spans[first] = 0, last - first
        counts[first], done = bare.count("\n") + 1, last
    data = b"".join([*parts, text.data[edges[done] :]])
    if (counts == 1).all():
        return Text(data, text.numbers)
    return Text(data, np.repeat(text.numbers, counts), np.repeat(spans, counts))


def _ends_in(text: Text, tail: bytes) -> Bools:
    """Which lines end in some bytes."""
    result: Bools = text.ends - text.starts >= len(tail)
    for offset, byte in enumerate(reversed(tail), 1):
        result &= text.bytes.take(text.ends - offset, mode="clip") == byte
    return result


def _may_be_dressed(text: Text, is_printable: bool) -> Bools:
    """Which lines hold a mark of what `undress` takes off, or of quoted-printable."""
    is_mark = np.isin(np.arange(256), [*_MARKED, *b"=" * is_printable])
    result: Bools = np.logical_or.reduceat(is_mark[text.bytes], text.starts)
    marked = np.flatnonzero(result)
    edges = text.starts[marked].tolist(), text.ends[marked].tolist()
    result[marked] = [_DRESS.search(text.data, *edge) is not None for edge in zip(*edges, strict=True)]
    tags = [tag.start() for tag in _TAG.finditer(text.data)]
    result[np.searchsorted(text.ends, tags)] = True
    return result


def _decoded(match: re.Match[str]) -> str:
    """The characters of a run of quoted-printable escapes."""
    data = bytes.fromhex(match[0].replace("=", ""))
    try:
        return data.decode().replace("\n", " ")
    except UnicodeDecodeError:  # a mail of Latin-1: =A0 is its no-break space
        return data.decode("latin-1").replace("\n", " ")


def _unquoted(text: str) -> str:
    """A line without the marks of a quotation that it begins with."""
    quote = _QUOTE.match(text)
    return text[quote.end() :] if quote else text


def _parted(text: str) -> str:
    """Rows that a forum left on one line, each on its own: they begin with a style and words that are alike.

    Alike are words of the same letters, whatever their digits. Numbers alone may be one row's in several
    styles.
    """
    if not (first := _OPENED.match(text)):
        return text
    begin = re.sub(r"\d+", "0", first["words"])
    if not any(map(str.isalpha, begin)):
        return text
    ends = (m.start() for m in _OPENED.finditer(text) if re.sub(r"\d+", "0", m["words"]) == begin)
    return "\n".join(text[start:end] for start, end in pairwise((*ends, len(text))))


def undress(text: str) -> str:
    """One line without quoting, tags and escapes; several lines where a tag breaks it."""
    # what a terminal wrote over is a line of its own
    text = text.rstrip("\r").replace("\r", "\n")
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text).replace("\x08", "")
    text = _unquoted(text) if ">" in text else text
    bare = text
    if "<" in bare:
        bare = _BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", _BREAK_TAG.sub("\n", bare)))
    bare = _MARKUP.sub("", _CELL.sub(" ", _parted(bare)) if "[" in bare else bare)
    # a tag that stands alone ends what is above it: it stays, as a line that says nothing
    text = bare if bare.strip(" \t") or not text.strip() else text
    if "&" in text:
        from html import unescape  # a table of two thousand names

        text = _ENTITY.sub(lambda match: unescape(match[0]), text)
        text = _unquoted(text) if ">" in text else text
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    text = _LONE_MARK.sub(r"\1?", text).translate(_ODD_CHARACTERS)
    if text.isascii():
        return text
    return _WIDE_NUMBER.sub(lambda match: match[0].translate(_WIDE_DIGITS), text)
