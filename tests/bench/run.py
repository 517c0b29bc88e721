"""Measures iodiag and its yardsticks in turn and prints the ratios as Markdown.

    python tests/bench/run.py [--size MB] [--turns N] [--only GROUP] [--page docs/performance.md]

Before anything is timed, every way of reading the same numbers must end in the same sums.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import agreement, curve
from bench.groups import GROUPS, Comparison, Files, Group, chosen
from bench.inputs import MB
from bench.timing import Ratio, Taken, in_turn
from iodiag import __version__

BEGIN, END = "<!-- begin of figures: made by tests/bench/run.py --page -->", "<!-- end of figures -->"
CURVE = "curve"
Results = Mapping[str, list[Taken]]


def figures(folder: Path, options: argparse.Namespace) -> str:
    """All tables, with a line that says when and on what."""
    files = Files(folder, int(options.size * MB), int(options.size * MB / 10))
    agreed = list(agreement.check(files))
    measured = [(group, taken(group, options.turns)) for group in chosen(options.only, files)]
    curves = curve.table(curve.points(folder, options.size, options.turns)) if _wants_curve(options) else ""
    load = os.getloadavg()[0]
    parts = [
        f"iodiag {__version__}, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores; inputs of {options.size:g} MB, small ones of {options.size / 10:g} MB; "
        f"{options.turns} turns; load of the machine after the run {load:.1f}.\n",
        comparisons_table(measured),
        times_table(measured),
        curves,
        paths_table(agreed),
    ]
    return "\n".join(filter(None, parts))


def _wants_curve(options: argparse.Namespace) -> bool:
    return not options.only or CURVE in options.only


def taken(group: Group, turns: int) -> Results:
    """The results of every measure of a group whose tool is there."""
    measures = {name: measure for name, measure in group.measures.items() if measure is not None}
    results = dict(zip(measures, in_turn(list(measures.values()), turns), strict=True))
    print(f"{group.name}: measured", file=sys.stderr)
    return results


def comparisons_table(measured: Iterable[tuple[Group, Results]]) -> str:
    """Ratios on the clock and of processor time, with the goals."""
    lines = [
        "| What | Ratio: median (least to most) | … of processor time | Goal | Reached |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for group, results in measured:
        for comparison in group.comparisons:
            if comparison.yardstick in results:
                lines.append(_comparison(comparison, results))
            else:
                lines.append(f"| {comparison.what} | {comparison.yardstick} is not installed | | | |")
        for name, most in group.memory.items():
            peak = max(one.peak_mb or 0.0 for one in results[name])
            reached = _reached(peak, most, is_cost=True)
            lines.append(f"| peak memory, {name} | {peak:.0f} MB | | ≤ {most:.0f} MB | {reached} |")
        for name, least in group.rates.items():
            rate = group.sizes[name] / MB / statistics.median(one.wall_s for one in results[name])
            lines.append(
                f"| {name} | {rate:.0f} MB/s | | ≥ {least:.0f} MB/s | {_reached(rate, least, False)} |"
            )
    return "\n".join(lines) + "\n"


def _comparison(comparison: Comparison, results: Results) -> str:
    wall, cpu = ratio(comparison, results, "wall_s"), ratio(comparison, results, "cpu_s")
    sign = "≤" if comparison.is_cost else "≥"
    goal = f"{sign} {comparison.goal:.3g}" if comparison.goal else ""
    reached = _reached(wall.median, comparison.goal, comparison.is_cost)
    unit = "x its time" if comparison.is_cost else "x as fast"
    spread = f"{wall.median:.2f}{unit} ({wall.least:.2f} to {wall.most:.2f})"
    return f"| {comparison.what} | {spread} | {cpu.median:.2f} | {goal} | {reached} |"


def ratio(comparison: Comparison, results: Results, kind: str) -> Ratio:
    """Ours against the yardstick, turn by turn."""
    ours = [getattr(one, kind) for one in results[comparison.ours]]
    yardstick = [getattr(one, kind) * comparison.per_byte for one in results[comparison.yardstick]]
    return Ratio.of(ours, yardstick) if comparison.is_cost else Ratio.of(yardstick, ours)


def _reached(value: float, goal: float | None, is_cost: bool) -> str:
    if goal is None:
        return ""
    return "yes" if (value <= goal if is_cost else value >= goal) else "no"


def times_table(measured: Iterable[tuple[Group, Results]]) -> str:
    """The medians themselves: they hold for the machine alone."""
    lines = [
        "| Group | Measured | Seconds: median (least to most) | Of processor | MB/s of input | Peak MB |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for group, results in measured:
        for name, turns in results.items():
            wall = [one.wall_s for one in turns]
            middle, cpu = statistics.median(wall), statistics.median(one.cpu_s for one in turns)
            rate = f"{group.sizes[name] / MB / middle:.0f}" if name in group.sizes else ""
            peaks = [one.peak_mb for one in turns if one.peak_mb is not None]
            peak = f"{max(peaks):.0f}" if peaks else ""
            spread = f"{middle:.3f} ({min(wall):.3f} to {max(wall):.3f})"
            lines.append(f"| {group.name} | {name} | {spread} | {cpu:.3f} | {rate} | {peak} |")
    return "\n".join(lines) + "\n"


def paths_table(agreed: Iterable[agreement.Agreed]) -> str:
    """Which path of the parser read each input; all of them came to the same sums."""
    lines = ["| Read | Rows | Python calls per row | Path |", "| --- | ---: | ---: | --- |"]
    for one in agreed:
        calls = "" if one.calls_per_row is None else f"{one.calls_per_row:.3f}"
        lines.append(f"| {one.way} | {one.rows} | {calls} | {one.path} |")
    return "\n".join(lines) + "\n"


def put_into(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page}: lacks the marks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=float, default=100.0, metavar="MB", help="of the large inputs (100)")
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="how often each is measured (5)")
    parser.add_argument(
        "--only", action="append", default=[], choices=[*GROUPS, CURVE], help="measure this group"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the inputs here, and keep them")
    parser.add_argument("--page", type=Path, help="put the figures between the marks of this page")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        text = figures(folder, options)
    if options.page is None:
        print(text)
    else:
        put_into(options.page, text)


if __name__ == "__main__":
    main()
