"""The words of iostat's headers and JSON keys, as a small grammar: direction, unit, quantity."""

from __future__ import annotations

from functools import cache, lru_cache

import pyparsing as pp

from iodiag.formats.types import LayoutColumn
from iodiag.model.units import KB_PER_GB, KB_PER_MB, KB_PER_SECTOR

DIRECTION = {"r": "read", "w": "write", "d": "discard", "f": "flush"}
UNIT = {"sec": KB_PER_SECTOR, "Blk": KB_PER_SECTOR, "kB": 1.0, "KB": 1.0, "MB": KB_PER_MB, "GB": KB_PER_GB}
_PLAIN = {"read": "read", "wrtn": "write", "dscd": "discard"}

CPU_WORDS = {
    "%user": "user_pct",
    "%usr": "user_pct",
    "%nice": "nice_pct",
    "%sys": "system_pct",
    "%system": "system_pct",
    "%iowait": "iowait_pct",
    "%steal": "steal_pct",
    "%idle": "idle_pct",
}

_FIXED = {
    "tps": ("ios_per_s", 1.0),
    "rqm/s": ("merges_per_s", 1.0),
    "avgrq-sz": ("request_size_kb", KB_PER_SECTOR),
    "areq-sz": ("request_size_kb", 1.0),
    "avgqu-sz": ("queue_depth", 1.0),
    "aqu-sz": ("queue_depth", 1.0),
    "await": ("await_ms", 1.0),
    "svctm": ("svctm_ms", 1.0),
    "%util": ("util_pct", 1.0),
}


@cache
def _word_grammar() -> pp.ParserElement:
    """One header word → [kind, direction, unit]; directions and units are read, not listed."""

    def tag(kind: str) -> pp.ParserElement:
        return pp.Empty().set_parse_action(pp.replace_with(kind))("kind")

    direction = pp.one_of(list(DIRECTION))("direction")
    unit = pp.one_of(list(UNIT))("unit")
    plain = pp.one_of([*_PLAIN, "w+d"])("plain")
    shapes = [
        tag("merges") + direction + "rqm/s",
        tag("merged_share") + "%" + direction + "rqm",
        tag("count") + direction + "/s",
        tag("rate") + direction + unit + "/s",
        tag("await") + direction + "_await",
        tag("size") + direction + "areq-sz",
        tag("plain_rate") + unit + "_" + plain + "/s",
        tag("plain_total") + unit + "_" + plain,
        tag("all_rate") + unit + "/s",
    ]
    word = pp.MatchFirst([pp.And([shape, pp.StringEnd()]) for shape in shapes])
    return word.leave_whitespace()


@lru_cache(maxsize=2048)
def column_of(word: str) -> LayoutColumn | None:
    """The canonical column of a word in iostat's device header, or None when it is not one."""
    if word in _FIXED:
        name, factor = _FIXED[word]
        return LayoutColumn(word, name, factor, "disk", is_size=name == "request_size_kb")
    try:
        found = _word_grammar().parse_string(word)
    except pp.ParseException:
        return None
    parts = found.as_dict()
    direction = DIRECTION.get(parts.get("direction", ""), "")
    factor = UNIT.get(parts.get("unit", ""), 1.0)
    plain = _PLAIN.get(parts.get("plain", ""))
    plural = "flushes_per_s" if direction == "flush" else f"{direction}s_per_s"
    by_kind: dict[str, tuple[str | None, float]] = {
        "merges": (f"{direction}_merges_per_s", 1.0),
        "merged_share": (f"{direction}_merges_pct", 1.0),
        "count": (plural, 1.0),
        "rate": (f"{direction}_kb_per_s", factor),
        "await": (f"{direction}_await_ms", 1.0),
        "size": (f"{direction}_request_size_kb", 1.0),
        # "w+d" adds writes and discards up: it is neither, so it is known and not kept
        "plain_rate": (f"{plain}_kb_per_s" if plain else None, factor),
        "plain_total": (f"{plain}_kb" if plain else None, factor),
        "all_rate": ("kb_per_s", factor),
    }
    name_and_factor = by_kind[found["kind"]]
    is_size = found["kind"] in ("rate", "size", "plain_rate", "plain_total", "all_rate")
    return LayoutColumn(word, name_and_factor[0], name_and_factor[1], "disk", is_size=is_size)


@cache
def _all_words() -> tuple[str, ...]:
    """Every word of a device header."""
    by_direction = [
        f"{letter}{rest}" for letter in DIRECTION for rest in ("rqm/s", "/s", "_await", "areq-sz")
    ]
    shares = [f"%{letter}rqm" for letter in DIRECTION]
    rates = [f"{letter}{unit}/s" for letter in (*DIRECTION, "") for unit in UNIT]
    plain = [f"{unit}_{word}{per}" for unit in UNIT for word in (*_PLAIN, "w+d") for per in ("/s", "")]
    return (*_FIXED, *by_direction, *shares, *rates, *plain)


def is_cut_word(word: str) -> bool:
    """Whether a word is the beginning of a column's name, as a cut right margin leaves it."""
    return column_of(word) is None and any(whole.startswith(word) for whole in _all_words())
