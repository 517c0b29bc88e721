"""vmstat text: all generations of its columns, from `r b w … us sy id` of 2.4 to `… wa st gu`.

procps 2.0 to 4.0; -w (wide), -a (active and inactive instead of buff and cache), -t (a clock
behind the values), -S is not told by the header: kB are assumed, as by default.
The first row is the mean since boot.
"""

from __future__ import annotations

from iodiag.formats._types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 1413456   1408  23048    0    0   685     4  348  256 13 51 32  4  0
"""

_COLUMNS = {
    "r": ("queue", "run_queue"),
    "b": ("queue", "blocked"),
    "w": ("queue", None),
    "swpd": ("swap", "used_kb"),
    "free": ("memory", "free_kb"),
    "buff": ("memory", "buffers_kb"),
    "cache": ("memory", "cached_kb"),
    "inact": ("memory", "inactive_kb"),
    "active": ("memory", "active_kb"),
    "si": ("swapping", "swap_in_kb_per_s"),
    "so": ("swapping", "swap_out_kb_per_s"),
    "bi": ("paging", "pgpgin_kb_per_s"),
    "bo": ("paging", "pgpgout_kb_per_s"),
    "in": ("system", "interrupts_per_s"),
    "cs": ("system", "context_switches_per_s"),
    "us": ("cpu", "user_pct"),
    "sy": ("cpu", "system_pct"),
    "id": ("cpu", "idle_pct"),
    "wa": ("cpu", "iowait_pct"),
    "st": ("cpu", "steal_pct"),
    "gu": ("cpu", None),  # already part of us
}
_ZONE_AFTER = "UTC"


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of vmstat's second header line; a zone's name may follow it (-t)."""
    if words[:2] != ("r", "b") or "id" not in words:
        return None
    has_clock = words[-1] not in _COLUMNS
    values = words[:-1] if has_clock else words
    if any(word not in _COLUMNS for word in values):
        return None
    columns = tuple(LayoutColumn(word, _COLUMNS[word][1], 1.0, _COLUMNS[word][0]) for word in values)
    return Layout(
        format="vmstat",
        name=f"vmstat, {len(values)} columns",
        family="queue",
        columns=columns,
        clock="tail" if has_clock else "none",
        note=words[-1] if has_clock else "",
    )


FORMAT = TableFormat(id="vmstat", title="vmstat text", example=_EXAMPLE, layout=layout)
