"""What stands around whole tables: prefixes of log collectors, cell borders, cut and broken margins.

All of it is told by the header: where the words behind or between something make a header that a format
knows, that something is dress, and the lines that are dressed alike are undressed alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.text.structure.headers import find_header, is_number

_BANNER = re.compile(r"Linux\s\S{1,80}\s+\([^()]{0,80}\)\s")
_NFSIOSTAT = re.compile(r"ops?/s\s{1,80}rpc bklog\b|(?:read|write):\s{1,80}ops/s\s{1,80}kB/s\b")
_MOUNTED = re.compile(r"[\w\[]\S{0,700} mounted on /\S{0,700}:\s{0,9}$")
_ANCHOR = re.compile(
    r"Device\b|avg-cpu[:：]|r\s+b\s+(?:w\s+)?swpd|total\s+merged\s+sectors|\d{1,2}[:.]\d\d[:.]\d\d(?:\s[AaPp]\.?[Mm]\.?)?\s+[A-Za-z%]"
    rf"|{_BANNER.pattern}|{_NFSIOSTAT.pattern}"
)
"""What a line may begin with that tells how lines are dressed: a banner, a header."""

_START = re.compile(r"(?<=[\s:|│┃║¦>\]})+#*;\"-])[^\s:|│┃║¦>\]})+#*;\"-]")
_ZONED = re.compile(
    r"(?P<lead>\s*)(?P<clock>(?P<hour>\d\d)(?P<rest>:\d\d:\d\d))"
    r"(?P<half> [AP]M)?\s+(?P<zone>[A-Z]{3,4})(?=\s)"
)
_LONGEST_PREFIX = 160
_LONGEST_LINE = 4000
_MOST_PREFIXES = 16
_DAY_OR_MONTH = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
_VARYING = re.compile(rf"(?P<day>{_DAY_OR_MONTH})|(?P<digits>\d+)|(?P<blank>\s+)")
_STRONG = re.compile(r"[^\W\d_]|\d:\d\d")
_BORDERS = (re.compile(r"[|│┃║¦]"), re.compile(r";"), re.compile(r","))
_FEWEST_BORDERS = 3
_TIMES = ("datetime", "date", "time", "timestamp")
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)",?\s*')
_CUT_MARK = re.compile(r"(?<!\S)\S*[>…$]$")
_HEADING = re.compile(r"/s\b|%[a-z]|-sz\b|\bswpd\b|\bkb[a-z]")
_LISTED = re.compile(r"^\s{0,8}(?:[-*#]|\d{1,5}[.)])(?:\s|$)")
_FEWEST_LISTED = 5
_FEWEST_CUT = 3
_NARROWEST = 40


class _Prefix(NamedTuple):
    """What stands in front of lines; a weak one (digits and signs alone) may be numbers elsewhere."""

    pattern: re.Pattern[str]
    is_strong: bool


def unlisted(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines without the mark of a list or a comment that each of them has: `- `, `# `, `  1. `."""
    solid = [piece.text for piece in pieces if piece.text.strip()]
    if len(solid) < _FEWEST_LISTED or not all(map(_LISTED.match, solid)):
        return pieces
    if len({text.split()[0].lstrip("0123456789") for text in solid}) > 1:
        return pieces
    return [piece._replace(text=_LISTED.sub("", piece.text, count=1)) for piece in pieces]


def unprefixed(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines without the prefix that a header shows: `12:00:01 host iostat[7]: `, `web1: `, `17 `, `: `.

    A prefix that no line below its header has is the end of a sentence or a command: it gets a line of
    its own. A weak one holds only for the lines right below its header.
    """
    cuts = {n: cut for n, piece in enumerate(pieces) if (cut := _prefix_length(piece.text))}
    if not cuts:
        return pieces
    shared: dict[int, _Prefix] = {}
    for n, cut in cuts.items():
        prefix = _prefix_of(pieces[n].text[:cut])
        if any(prefix.pattern.match(pieces[k].text) for k in _below(n, len(pieces)) if k not in cuts):
            shared[n] = prefix
    if mixed := _mixed_hosts(pieces, [pieces[n].text[: cuts[n]] for n in shared]):
        raise MixedHosts(mixed)
    strong = list(dict.fromkeys(prefix for prefix in shared.values() if prefix.is_strong))[:_MOST_PREFIXES]
    result: list[Piece] = []
    weak: list[_Prefix] = []
    for n, piece in enumerate(pieces):
        if n in cuts and n not in shared:
            text, cut = piece.text, cuts[n]
            result += [piece._replace(text=text[:cut]), piece._replace(text=text[cut:])]
            continue
        if n in shared:
            weak = [] if shared[n].is_strong else [shared[n]]
        found = next((m for prefix in (*strong, *weak) if (m := prefix.pattern.match(piece.text))), None)
        if found is not None:
            piece = piece._replace(text=piece.text[found.end() :], stamp=_stamp(found[0]))
        elif piece.text.strip():
            weak = []
        result.append(piece)
    return result


class MixedHosts(Exception):
    """Lines of several hosts stand among each other, so that rows stand below another host's header."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__(labels)
        self.labels = labels


def _mixed_hosts(pieces: Sequence[Piece], prefixes: Sequence[str]) -> tuple[str, ...]:
    """The words in front of the lines of several hosts, as pdsh sets them, if those lines are mixed.

    They are where rows follow a line of another host, or a host's output goes on without a banner, again.
    """
    labels = dict.fromkeys(match[1] for text in prefixes if (match := _LABEL.fullmatch(text)))
    if len(labels) < 2:
        return ()
    last, seen, strays = "", set[str](), 0
    for piece in pieces:
        match = _LABEL.match(piece.text)
        rest = piece.text[match.end() :] if match else ""
        if match is None or match[1] not in labels or not rest.strip():
            continue
        words = rest.split()
        is_row = len(words) > 3 and sum(map(is_number, words)) >= len(words) / 2
        goes_on = is_row or (match[1] in seen and not _BANNER.match(rest))
        strays += goes_on and last not in ("", match[1])
        last = match[1]
        seen.add(last)
    return tuple(labels) if strays >= _FEWEST_STRAYS else ()


_LABEL = re.compile(r"\s*([A-Za-z][\w.-]{0,63})\s{0,2}[:|](?:\s+|$)")
_FEWEST_STRAYS = 2


def _below(index: int, count: int) -> range:
    """The lines below a header that may show that its prefix is theirs, too."""
    return range(index + 1, min(index + 6, count))


def _prefix_length(text: str) -> int:
    """How many characters stand in front of the header or banner that a line ends in; 0 for none."""
    if len(text) > _LONGEST_LINE or not (_ANCHOR.search(text) or " mounted on /" in text):
        return 0
    words = text.split()
    # the mark of an added line stands apart from a header that begins with blanks, and not from its rows
    is_header = words[0] != "+" and find_header(words) is not None
    if is_number(words[-1]) or is_header or _is_head(text.lstrip()):
        return 0
    for match in _START.finditer(text, 0, _LONGEST_PREFIX):
        start = match.start()
        if not (_ANCHOR.match(text, start) or _MOUNTED.match(text, start)):
            continue
        rest = text[start:]
        if _is_head(rest) or find_header(rest.split()) or _zone_of(rest):
            return start
    return 0


def _is_head(text: str) -> bool:
    """Whether a line is one that what stands below it belongs to, and no header of a table."""
    return bool(_BANNER.match(text) or _NFSIOSTAT.match(text) or _MOUNTED.match(text))


@lru_cache(maxsize=256)
def _prefix_of(text: str) -> _Prefix:
    """What matches a prefix and its like: digits, days and months may differ."""
    parts, at = [r"\s*"], 0
    body = text.strip()
    for match in _VARYING.finditer(body):
        parts.append(re.escape(body[at : match.start()]))
        parts.append({"day": "[A-Z][a-z]{2}", "digits": r"\d+", "blank": r"\s+"}[match.lastgroup or ""])
        at = match.end()
    ending = r"\s?" if text[-1].isspace() else ""
    pattern = re.compile("".join(parts) + re.escape(body[at:]) + ending)
    return _Prefix(pattern, bool(_STRONG.search(body)))


@lru_cache(maxsize=4096)
def _stamp(prefix: str) -> Clock | None:
    return _clock.find_stamp(prefix)


@dataclass
class Unzoned:
    """Lines of sar without the zone that some locales print behind the clock: `02:00:46  IST         1`.

    India's has twelve hours and neither AM nor PM: where no hour is beyond twelve (`is_of_twelve`, known
    when it was called), clocks that go back within a table have passed noon or midnight, and get their
    hours of the day; the first one of a table is taken as before noon.
    """

    is_of_twelve: bool = False

    def __call__(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """The lines without the column."""
        headers = {n: zone for n, piece in enumerate(pieces) if (zone := _zone_of(piece.text))}
        if not headers:
            return pieces
        zones = {*headers.values()}
        found = ((n, match) for n, piece in enumerate(pieces) if (match := _ZONED.match(piece.text)))
        zoned = {n: match for n, match in found if match["zone"] in zones}
        if zoned.keys() == headers.keys():
            return pieces  # what no row has is no zone
        hours = [int(match["hour"]) for match in zoned.values()]
        has_am_pm = any(match["half"] for match in zoned.values())
        self.is_of_twelve = not has_am_pm and 1 <= min(hours) <= max(hours) <= 12
        result, before, halves = [*pieces], -1, 0
        for n, match in zoned.items():
            hour, now = match["hour"], _seconds_of_half(match)
            if self.is_of_twelve:
                if now != before and n in headers:
                    before, halves = -1, 0  # a table that does not go on where the last one ended
                halves += now < before
                before = now
                hour = f"{now // 3600 + 12 * (halves % 2):02d}"
            clock = f"{match['lead']}{hour}{match['rest']}{match['half'] or ''}"
            text = clock.ljust(match.end()) + pieces[n].text[match.end() :]
            result[n] = pieces[n]._replace(text=text)
        return result


def _zone_of(text: str) -> str:
    """The word behind the clock of a header that is none of its columns; empty where there is none."""
    match = _ZONED.match(text)
    if match is None or is_number(text.split()[-1]):
        return ""
    whole, without = find_header(text.split()), find_header([match["clock"], *text[match.end() :].split()])
    is_column = whole is not None and match["zone"] not in whole.layout.unknown
    return "" if is_column or without is None else match["zone"]


def _seconds_of_half(match: re.Match[str]) -> int:
    """Seconds since midnight or noon of a clock of twelve hours."""
    minutes, seconds = map(int, match["rest"][1:].split(":"))
    return int(match["hour"]) % 12 * 3600 + minutes * 60 + seconds


def unquoted(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines that are strings of a list, as JSON and Ansible print it, without quotes and comma."""
    result: list[Piece] = []
    is_list = False
    for piece in pieces:
        may_be_quoted = '"' in piece.text and len(piece.text) <= _LONGEST_LINE
        quoted = _QUOTED.fullmatch(piece.text) if may_be_quoted else None
        if quoted and not is_list:
            words = quoted[1].split()
            is_list = bool(words) and (find_header(words) is not None or bool(_BANNER.match(quoted[1])))
        elif not quoted and piece.text.strip():
            is_list = False
        result.append(piece._replace(text=quoted[1].replace("\\t", "\t")) if quoted and is_list else piece)
    return result


def unbordered(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Tables without the borders of their cells: pipes of wikis, bars of tmux, semicolons, commas."""
    result: list[Piece] = []
    border: re.Pattern[str] | None = None
    for piece in pieces:
        text = piece.text
        if header := _bordered_header(text):
            border, text = header
            piece = piece._replace(text=text)
        elif border is not None and len(border.findall(text)) >= _FEWEST_BORDERS:
            piece = piece._replace(text=border.sub(" ", text))
        elif any(map(str.isalnum, text)):
            border = None
        result.append(piece)
    return result


def _bordered_header(text: str) -> tuple[re.Pattern[str], str] | None:
    """What parts the cells of a header line, where something other than blanks does, and its words."""
    if len(text) > _LONGEST_LINE:
        return None
    for border in _BORDERS:
        if len(border.findall(text)) >= _FEWEST_BORDERS:
            plain = border.sub(" ", text)
            words = plain.split()
            if words and find_header(words):
                return border, plain
            # a script's file has the time of its rows in a column of its own
            if words and words[0].lower() in _TIMES:
                named = ["Device", *words[2:]] if words[1:2] in (["device"], ["Device"]) else words[1:]
                if find_header(named):
                    return border, plain
                if find_header(["avg-cpu:", *words[1:]]):
                    return border, f"{words[0]} avg-cpu: {' '.join(words[1:])}"
    return None


def uncut(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines without the mark of a cut right margin (`less -S`: >), nor the word that it cuts.

    Where lines of any length end in a dollar, `cat -A` marks their ends, and tabs by ^I.
    """
    ends = [n for n, piece in enumerate(pieces) if piece.text[-1:] in (">", "…", "$")]
    if len(ends) < _FEWEST_CUT:
        return pieces
    if len({len(pieces[n].text) for n in ends if pieces[n].text[-1] == "$"}) > 1:
        return [
            piece._replace(text=piece.text[:-1].replace("^I", "\t")) if piece.text[-1:] == "$" else piece
            for piece in pieces
        ]
    width = max(len(pieces[n].text) for n in ends)
    marked = {n for n in ends if len(pieces[n].text) == width}
    if len(marked) < _FEWEST_CUT or width < _NARROWEST:
        return pieces
    return [
        piece._replace(text=_CUT_MARK.sub("", piece.text)) if n in marked else piece
        for n, piece in enumerate(pieces)
    ]


def unbroken(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines that a terminal broke inside a word, whole again; the broken header gives the width."""
    result: list[Piece] = []
    at, width, tokens = 0, 0, 0
    while at < len(pieces):
        if broken := _broken_header(pieces, at):
            width, tokens = len(pieces[at].text), broken
        used = _whole_row(pieces, at, width, tokens) if width and len(pieces[at].text) == width else 1
        parts = pieces[at : at + used]
        span = parts[-1].number + parts[-1].span - parts[0].number
        result.append(parts[0]._replace(text="".join(part.text for part in parts), span=span))
        at += used
    return result


def _broken_header(pieces: Sequence[Piece], at: int) -> int:
    """The number of words of the header that begins on a line and goes on, unspaced, on the next; else 0."""
    text = pieces[at].text
    if not _NARROWEST <= len(text) <= _LONGEST_LINE or not _HEADING.search(text):
        return 0
    alone = find_header(text.split())
    whole = text
    for piece in pieces[at + 1 : at + 4]:
        whole += piece.text
        found = find_header(whole.split())
        if found is not None and not (found.layout.is_cut or found.layout.unknown):
            is_longer = alone is None or len(found.layout.columns) > len(alone.layout.columns)
            return len(whole.split()) if is_longer else 0
        if len(piece.text) != len(text):
            return 0
    return 0


def _whole_row(pieces: Sequence[Piece], at: int, width: int, tokens: int) -> int:
    """How many lines from `at` on make a row of so many tokens, all but the last `width` wide; else 1."""
    whole = pieces[at].text
    words = whole.split()
    for used in range(2, 5):
        if at + used > len(pieces):
            return 1
        whole += pieces[at + used - 1].text
        words += pieces[at + used - 1].text.split()
        missing = tokens - len(whole.split())
        # below a clock of two words (12:24:01 PM) an average has one word less
        if not missing or (missing == 1 and not whole.lstrip()[:1].isdigit()):
            return used
        # a row that lacks a value would pass for whole with the halves of a number as two
        if len(words) == tokens:
            return used
        if len(pieces[at + used - 1].text) != width:
            return 1
    return 1
