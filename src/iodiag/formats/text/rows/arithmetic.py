"""Arithmetic that holds in every true row, whatever the load: the proof of a layout that nothing else tells.

sysstat computes some columns from others of the same row: a request size is throughput by requests, busy
time is requests by svctm, and the shares of a CPU add up to 100.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from iodiag.formats.text.rows.numbers import is_figure, odd_number

_SECTORS_PER = {"sec": 1.0, "kB": 2.0, "MB": 2048.0, "GB": 2048.0 * 1024}
_CPU_SLACK = 2.5
_HIGHEST_UTIL = 2500.0
_VMSTAT_CPU = ("us", "sy", "id", "wa", "st")


def obeys(names: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether the cells under these header words can stand in one row."""
    return False not in _judge(names, cells)


def proves(names: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether the cells prove their header: they obey it, and at least one rule had something to say."""
    results = _judge(names, cells)
    return False not in results and True in results


def _judge(names: Sequence[str], cells: Sequence[str]) -> list[bool | None]:
    """What each rule says: True, False, or None where it has nothing to go by."""
    if len(names) != len(cells):
        return [False]
    row = {}
    for name, cell in zip(names, cells, strict=True):
        value, suffix, is_bad = odd_number(cell)
        if is_bad or not math.isnan(suffix):
            return [False if is_bad else None]
        row[name] = value
    # half of the last printed digit, and a little; --dec=0 prints none behind the point
    has_decimals = any("." in cell or "," in cell for cell in cells if is_figure(cell))
    rounding = 0.006 if has_decimals else 0.6
    is_plausible = not any(value < 0 for value in row.values()) and not row.get("%util", 0.0) > _HIGHEST_UTIL
    rules = (_mixed_size_agrees(row, rounding), *_sizes_agree(row, rounding), _busy_agrees(row, rounding))
    # vmstat prints whole numbers, and to print a row it had to be switched to
    is_plausible &= not ("cs" in row and (has_decimals or (row["cs"] == 0 and row.get("in", 0.0) > 0)))
    return [None if is_plausible else False, _cpu_adds_up(row), *rules]


def _cpu_adds_up(row: Mapping[str, float]) -> bool | None:
    shares = [row[word] for word in _VMSTAT_CPU if word in row] if "us" in row else []
    if "%idle" in row:
        shares = [value for word, value in row.items() if word.startswith("%")]
    return abs(sum(shares) - 100) <= _CPU_SLACK if shares else None


def _requests(row: Mapping[str, float]) -> float:
    return row.get("tps", row.get("r/s", math.nan) + row.get("w/s", math.nan) + row.get("d/s", 0.0))


def _mixed_size_agrees(row: Mapping[str, float], rounding: float) -> bool | None:
    """avgrq-sz (sectors) or areq-sz (kB) times the requests is the throughput of all directions."""
    size, requests = row.get("avgrq-sz", row.get("areq-sz", math.nan)), _requests(row)
    if math.isnan(size) or math.isnan(requests) or not size * requests:
        return None
    per_sector = 1.0 if "avgrq-sz" in row else 0.5
    for unit, sectors in _SECTORS_PER.items():
        names = [f"r{unit}/s", f"w{unit}/s", f"d{unit}/s", f"{unit}/s"]
        names += ["rd_sec/s", "wr_sec/s"] if unit == "sec" else []
        moved = [row[name] for name in names if name in row]
        factor = sectors * per_sector
        slack = rounding * (factor * len(moved) + requests + 2 * size)
        if moved and not _near(sum(moved) * factor, size * requests, slack):
            return False
    return True


def _sizes_agree(row: Mapping[str, float], rounding: float) -> Iterator[bool]:
    """rareq-sz (kB) and its like, times their requests, are the throughput of their direction."""
    for letter in "rwd":
        size, requests = row.get(f"{letter}areq-sz", math.nan), row.get(f"{letter}/s", math.nan)
        for unit, sectors in _SECTORS_PER.items():
            rate = row.get(f"{letter}{unit}/s", math.nan)
            if not any(map(math.isnan, (size, requests, rate))) and size * requests:
                slack = rounding * (sectors / 2 + size + requests)
                yield _near(rate * sectors / 2, size * requests, slack)


def _busy_agrees(row: Mapping[str, float], rounding: float) -> bool | None:
    """%util is requests times svctm."""
    requests, busy, service = _requests(row), row.get("%util", math.nan), row.get("svctm", math.nan)
    if any(map(math.isnan, (requests, busy, service))) or not busy * service * requests:
        return None
    return _near(busy, service * requests / 10, rounding * (requests + service) / 10 + 0.2)


def _near(a: float, b: float, slack: float) -> bool:
    return abs(a - b) <= slack + 0.005 * max(abs(a), abs(b))
