"""Rows that came without their header: the layout that their count, shape and arithmetic settle.

A guess is accepted only when the numbers themselves prove it (a CPU line sums to 100, a request
size times the requests gives the throughput) and no other layout passes the same proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from iodiag.errors import ConfigError
from iodiag.formats import _clock
from iodiag.formats._body import odd_number
from iodiag.formats._types import Layout
from iodiag.formats._walk import Block, Origin, Walk, layout_of

_IOSTAT = (
    "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    *(
        f"Device: rrqm/s wrqm/s r/s w/s r{unit}/s w{unit}/s avgrq-sz avgqu-sz await {waits}svctm %util"
        for unit in ("sec", "kB", "MB")
        for waits in ("", "r_await w_await ")
    ),
    *(
        f"Device r/s w/s r{unit}/s w{unit}/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"
        for unit in ("kB", "MB")
    ),
    *(
        f"Device r/s r{unit}/s rrqm/s %rrqm r_await rareq-sz w/s w{unit}/s wrqm/s %wrqm w_await wareq-sz "
        f"d/s d{unit}/s drqm/s %drqm d_await dareq-sz {flush}aqu-sz %util"
        for unit in ("kB", "MB")
        for flush in ("", "f/s f_await ")
    ),
)
_SAR = (
    "DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util",
    "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
    "CPU %user %nice %system %iowait %steal %idle",
    "CPU %user %nice %system %iowait %idle",
)
_VMSTAT = (
    "r b swpd free buff cache si so bi bo in cs us sy id wa st gu",
    "r b swpd free buff cache si so bi bo in cs us sy id wa st",
    "r b swpd free buff cache si so bi bo in cs us sy id wa",
    "r b w swpd free buff cache si so bi bo in cs us sy id",
)
_KERNEL = re.compile(r"(\d+)\.(\d+)")
_FIRST_KERNEL_OF_NEW_SAR = (4, 13)  # sysstat 11.5.7, which turned sectors into kB, is of July 2017


@dataclass(frozen=True)
class _Run:
    """Neighbouring loose lines of one shape: their words without the clock."""

    lines: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]
    has_clock: bool
    clock_tokens: int


def adopt(found: Walk, columns: str | None) -> None:
    """Turn loose rows into blocks where their layout is settled, by `columns` or by proof."""
    stated = _stated(columns) if columns else None
    for run in _runs(found):
        origin = _origin_at(found, run.lines[0])
        words = stated if stated and _fits(layout_of(stated), run) else _settle(run, origin)
        layout = layout_of(words) if words else None
        if layout is None:
            continue
        block = Block(
            layout=layout,
            header=run.lines[0],
            first=run.lines[0],
            last=run.lines[-1] + 1,
            origin=origin,
            report=0,
            clock=None,
            clock_tokens=run.clock_tokens,
            indent=0,
        )
        found.blocks.append(block)
        if run.clock_tokens == 2:
            found.has_half = True
        taken = set(run.lines)
        found.loose = [line for line in found.loose if line not in taken]
    found.blocks.sort(key=lambda block: block.first)


def _stated(columns: str) -> tuple[str, ...]:
    words = tuple(columns.split())
    if layout_of(words) is None:
        raise ConfigError(
            f"--columns {columns!r}: not a header that iodiag knows; give it as the tool prints it, "
            'for example --columns "Device: rrqm/s wrqm/s r/s w/s …"'
        )
    return words


def _runs(found: Walk) -> list[_Run]:
    runs: list[_Run] = []
    lines: list[int] = []
    cells: list[tuple[str, ...]] = []
    shape: tuple[int, int] | None = None
    for index in found.loose:
        words = found.text.line(index).split()
        taken = _clock_tokens(words)
        this = (taken, len(words))
        if lines and (this != shape or index - lines[-1] > 3):
            runs.append(_Run(tuple(lines), tuple(cells), bool(shape and shape[0]), shape[0] if shape else 0))
            lines, cells = [], []
        shape = this
        lines.append(index)
        cells.append(tuple(words[taken:]))
    if lines:
        runs.append(_Run(tuple(lines), tuple(cells), bool(shape and shape[0]), shape[0] if shape else 0))
    return runs


def _clock_tokens(words: list[str]) -> int:
    if not words[0][0].isdigit() or _clock.parse_time(words[0]) is None:
        return 0
    return 2 if len(words) > 1 and re.fullmatch(r"[AaPp]\.?[Mm]\.?", words[1]) else 1


def _origin_at(found: Walk, line: int) -> Origin:
    return [origin for origin in found.origins if origin.line <= line or origin.index == 0][-1]


def _fits(layout: Layout | None, run: _Run) -> bool:
    return layout is not None and len(run.cells[0]) == len(layout.columns) + (layout.key is not None)


def _settle(run: _Run, origin: Origin) -> tuple[str, ...] | None:
    """The only header whose arithmetic all rows obey, or None."""
    candidates = _SAR if run.has_clock else (*_IOSTAT, *_VMSTAT)
    passed = []
    for header in candidates:
        words = tuple(header.split())
        if len(words) != len(run.cells[0]):
            continue
        has_key = words[0] in ("Device:", "Device", "DEV", "CPU")
        if has_key and any(not odd_number(row[0], True)[2] and words[0] != "CPU" for row in run.cells):
            continue
        rows = [_numbers(words[has_key:], row[has_key:]) for row in run.cells]
        if all(row is not None and _obeys(row) for row in rows):
            passed.append(words)
    if len(passed) == 1:
        return passed[0]
    if len(passed) == 2 and "rd_sec/s" in passed[0] and "svctm" in passed[1]:
        return passed[0] if _is_old_kernel(origin) else None
    return None


def _is_old_kernel(origin: Origin) -> bool:
    """Whether the banner's kernel is older than the first sar that printed kB for sectors."""
    match = _KERNEL.match(origin.banner.kernel) if origin.banner else None
    return bool(match) and (int(match[1]), int(match[2])) < _FIRST_KERNEL_OF_NEW_SAR if match else False


def _numbers(words: tuple[str, ...], cells: tuple[str, ...]) -> dict[str, float] | None:
    result = {}
    for word, cell in zip(words, cells, strict=True):
        value, _, is_bad = odd_number(cell, True)
        if is_bad:
            return None
        result[word] = value
    return result


def _obeys(row: dict[str, float]) -> bool:
    checks: tuple[Callable[[dict[str, float]], bool], ...] = (_cpu_sums, _sizes_agree, _busy_agrees, _is_plausible)
    return all(check(row) for check in checks)


def _cpu_sums(row: dict[str, float]) -> bool:
    shares = [row[word] for word in ("us", "sy", "id", "wa", "st") if word in row]
    shares = shares or [row[word] for word in row if word.startswith("%") and "%idle" in row]
    return not shares or abs(sum(shares) - 100) <= 2.5


def _sizes_agree(row: dict[str, float]) -> bool:
    """Throughput is requests times their mean size, in the unit that the header claims."""
    per_sector = {"sec": 1.0, "kB": 2.0, "MB": 2048.0}
    if "tps" in row:
        names = [w for w in ("rd_sec/s", "wr_sec/s", "rkB/s", "wkB/s", "dkB/s") if w in row]
        size = row.get("avgrq-sz", row.get("areq-sz", 0.0))
        return _near(sum(row[w] for w in names), size * row["tps"], row["tps"] * 0.006 + 0.1)
    if "avgrq-sz" in row:
        requests = row["r/s"] + row["w/s"]
        for unit, factor in per_sector.items():
            if f"r{unit}/s" in row:
                moved = (row[f"r{unit}/s"] + row[f"w{unit}/s"]) * factor
                if not _near(moved, row["avgrq-sz"] * requests, factor * 0.012 + row["avgrq-sz"] * 0.012):
                    return False
        return True
    for letter in "rwd":
        if f"{letter}areq-sz" in row:
            rate, factor = next(((row[f"{letter}{u}/s"], f / 2) for u, f in per_sector.items() if f"{letter}{u}/s" in row), (0, 1))
            if not _near(rate * factor, row[f"{letter}areq-sz"] * row[f"{letter}/s"], factor * 0.012 + row[f"{letter}areq-sz"] * 0.012):
                return False
    return True


def _busy_agrees(row: dict[str, float]) -> bool:
    """Busy time is requests times svctm."""
    if "svctm" not in row or "%util" not in row:
        return True
    requests = row["tps"] if "tps" in row else row["r/s"] + row["w/s"]
    return _near(row["%util"], row["svctm"] * requests / 10, requests * 0.0006 + row["svctm"] * 0.002 + 0.2)


def _is_plausible(row: dict[str, float]) -> bool:
    return all(value >= 0 for value in row.values()) and row.get("%util", 0.0) <= 2500


def _near(a: float, b: float, slack: float) -> bool:
    return abs(a - b) <= slack + 0.005 * max(abs(a), abs(b))
