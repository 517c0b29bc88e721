"""vmstat text: all generations of its columns, from `r b w … us sy id` of 2.4 to `… wa st gu`.

procps 2.0 to 4.0; -w (wide), -a (active and inactive instead of buff and cache), -t (a clock behind the
values, its zone behind the header), -S (another unit of memory, which only the command tells). The first
row is the mean since boot. The reports of -d, -D, -p, -s and -m are other tables and not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.types import Layout, LayoutColumn, Scaling, TableFormat

_EXAMPLE = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 1413456   1408  23048    0    0   685     4  348  256 13 51 32  4  0
"""

# the guests' share of the CPU's time (gu) is already part of us
_WORDS = """
r=queue.run_queue b=queue.blocked w=queue. swpd=swap.used_kb free=memory.free_kb buff=memory.buffers_kb
cache=memory.cached_kb inact=memory.inactive_kb active=memory.active_kb si=swapping.swap_in_kb_per_s
so=swapping.swap_out_kb_per_s bi=paging.pgpgin_kb_per_s bo=paging.pgpgout_kb_per_s in=system.interrupts_per_s
cs=system.context_switches_per_s us=cpu.user_pct sy=cpu.system_pct id=cpu.idle_pct wa=cpu.iowait_pct
st=cpu.steal_pct gu=cpu.
"""
_COLUMNS = {word: target.split(".") for word, target in (pair.split("=") for pair in _WORDS.split())}
_ZONE = re.compile(r"[A-Z]{2,5}|[+-]\d{2,4}|timestamp-*")
_HEADERS = (
    "r b swpd free buff cache si so bi bo in cs us sy id wa st gu",
    "r b swpd free buff cache si so bi bo in cs us sy id wa st",
    "r b swpd free buff cache si so bi bo in cs us sy id wa",
    "r b w swpd free buff cache si so bi bo in cs us sy id",
)
_FIRST_COLUMNS = 4
_UNIT_KB = {"k": 1000 / 1024, "K": 1.0, "m": 1e6 / 1024, "M": 1024.0}


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of vmstat's second header line; a zone's name may follow it (-t)."""
    if words[:2] != ("r", "b") or "swpd" not in words:
        return None
    has_clock = words[-1] not in _COLUMNS and bool(_ZONE.fullmatch(words[-1]))
    values = words[:-1] if has_clock else words
    # the column w stands third, at the end it is the beginning of wa
    is_whole = values[-1] in _COLUMNS and (values[-1] != "w" or len(values) <= _FIRST_COLUMNS)
    is_cut = not is_whole and any(word.startswith(values[-1]) for word in _COLUMNS)
    values = values[:-1] if is_cut else values
    # behind its place w is what is left of wa
    unknown = tuple(word for word in values if word not in _COLUMNS or word == "w" != values[2])
    if 2 * len(unknown) > len(values) or len(set(values)) < len(values):
        return None
    found = [_COLUMNS.get(word, ("queue", "")) for word in values]
    return Layout(
        format="vmstat",
        name=f"vmstat, {len(values)} columns",
        family="queue",
        columns=tuple(
            LayoutColumn(word, column or None, 1.0, family)
            for word, (family, column) in zip(values, found, strict=True)
        ),
        clock="tail" if has_clock else "none",
        note=words[-1] if has_clock else "",
        unknown=unknown,
        is_cut=is_cut,
        first_report="since boot",
        scaling=_SCALING,
    )


def memory_unit_kb(options: Sequence[str]) -> float | None:
    """kB per printed unit of memory under a command's `-S k|K|m|M`, 1 without; None for an unknown unit."""
    for option, value in zip(options, (*options[1:], ""), strict=False):
        match = re.fullmatch(r"-(?:[a-zA-Z]*)S([kKmM])?|--unit(?:=([kKmM]))?", option)
        if match:
            return _UNIT_KB.get(match[1] or match[2] or value)
    return 1.0


_SCALING = Scaling(
    unit=memory_unit_kb,
    raw=frozenset(("swpd", "free", "buff", "cache", "inact", "active", "si", "so")),
    whole=("used_kb", "free_kb", "buffers_kb", "cached_kb"),
    least=65_536.0,
    multiple_of=4,  # Linux counts memory in pages of 4 kB and more
    remark="swpd, free, buff and cache make less than 64 MB together, or are left out as no multiples of a "
    "page of 4 kB; if it was vmstat -S M, give the command's line with the capture",
)
FORMAT = TableFormat(
    id="vmstat",
    title="vmstat text",
    example=_EXAMPLE,
    layout=layout,
    headers=_HEADERS,
    releases="procps 2.0 to 4.0",
    not_read="-s, -m and -f, which are totals and no samples",
)
