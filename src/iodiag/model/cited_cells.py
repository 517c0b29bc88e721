"""Which cells of a quoted row a sentence speaks of, by the header words of every tool's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

_QUANTITIES: tuple[tuple[str, str], ...] = (
    (r"\d m?s\b|latency|await|times (as long|slower)", r"await|svctm"),
    (r"in flight|queue", r"qu-sz|qusz"),
    (r"util|busy|\bidle time", r"%?util|%busy"),
    (r"(request|read|write|discard|flushe)s/s|IOPS", r"[rwdf]/s|r?w?tps"),
    (
        r"[kMG]i?B/s|kB written|kB read|\bbytes\b",
        r"[a-z_]{0,3}([kM]B|sec|blk)/s|([kM]B|Blk)_\w{1,9}/s|bi|bo|bread/s|bwrtn/s",
    ),
    (r"(?<!each )\d kB(?!/s| written| on)", r"\w{0,4}r(e)?q-?sz"),
    (r"iowait", r"%?iowait|wa"),
    (r"\bidle\b", r"%?idle|id"),
    (r"stolen|steal", r"%?steal|st"),
    (r"\bsystem\b|(?<!\d )CPU", r"%?sys(tem)?|sy"),
    (r"\buser\b|(?<!\d )CPU", r"%?us(e?r)?"),
    (r"blocked", r"b|blocked"),
    (r"runnable|run queue|want(ed)? to run", r"r|runq-sz"),
    (r"swap", r"s[io]|pswp(in|out)/s|%swpused"),
    (r"load average", r"ldavg-1"),
    (r"kB are free", r"kbmemfree|%memused|free"),
    (r"page cache", r"kbcached|cache"),
)
"""What a sentence speaks of, and the columns that hold it, as every tool's header words call them."""

_DIRECTIONS = (
    (r"\breads?\b", r"r(_await|/s|[kM]B/s|sec/s|d_sec/s|areq-sz|tps)|(kB|MB|Blk)_read(/s)?|bread/s|bi"),
    (
        r"\bwr(ites?|ote|itten)\b",
        r"w(_await|/s|[kM]B/s|sec/s|r_sec/s|areq-sz|tps)|(kB|MB|Blk)_wrtn(/s)?|bwrtn/s|bo",
    ),
    (r"\bdiscards?\b", r"d(_await|/s|[kM]B/s|areq-sz)|(kB|MB)_dscd(/s)?"),
    (r"\bflush(es)?\b", r"f(_await|/s)"),
)
"""The directions that a sentence may speak of alone, and the columns of each."""

_ENGLISH = frozenset({"in", "so", "us"})
"""Columns of vmstat whose names are words that any sentence has."""


def cited_cells(header: Sequence[str], row: Sequence[str], sentences: Iterable[str]) -> frozenset[int]:
    """The cells (0-based) whose column a sentence speaks of; of those, cells of zero only where all are."""
    extra = len(header) - len(row)
    if not header or extra not in (0, 1):
        return frozenset()
    told = list(map(_columns_of, sentences))
    found = [at for at in range(len(row)) if any(is_cited(header[at + extra]) for is_cited in told)]
    telling = [at for at in found if row[at].strip("0.,") != ""]
    return frozenset(telling or found)


def _columns_of(sentence: str) -> Callable[[str], bool]:
    """Whether a sentence speaks of a column, by the column's header word."""
    words = set(re.findall(r"[^\s,;:()]+", sentence)) - _ENGLISH
    columns = [wanted for spoken, wanted in _QUANTITIES if re.search(spoken, sentence)]
    spoken_of = [bool(re.search(spoken, sentence)) for spoken, _ in _DIRECTIONS]
    is_one_way = any(spoken_of) and "requests" not in words and "requests/s" not in words
    others = [of for is_spoken, (_, of) in zip(spoken_of, _DIRECTIONS, strict=True) if not is_spoken]

    def is_cited(name: str) -> bool:
        if name in words:
            return True
        if is_one_way and any(re.fullmatch(one, name) for one in others):
            return False
        return any(re.fullmatch(f"([rwdf]_)?(avg|aq?)?({one})", name) for one in columns)

    return is_cited
