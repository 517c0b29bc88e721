"""Text as iostat prints it, from numbers: every layout and unit, with the line that each row stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = tuple[str, dict[str, float]]

_X3 = "rrqm/s wrqm/s r/s w/s r{U}/s w{U}/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
_X4 = "r/s w/s r{U}/s w{U}/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"
_X5 = (
    "r/s r{U}/s rrqm/s %rrqm r_await rareq-sz w/s w{U}/s wrqm/s %wrqm w_await wareq-sz "
    "d/s d{U}/s drqm/s %drqm d_await dareq-sz aqu-sz %util"
)
LAYOUTS = {
    "X1": "rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    "X2": "rrqm/s wrqm/s r/s w/s r{U}/s w{U}/s avgrq-sz avgqu-sz await svctm %util",
    "X3": _X3,
    "X4": _X4,
    "X5": _X5,
    "X6": _X5.replace("aqu-sz %util", "f/s f_await aqu-sz %util"),
    "narrow": "tps {U}/s rqm/s await aqu-sz areq-sz %util",
    "narrow 12.1.2": "tps {U}/s rqm/s await areq-sz aqu-sz %util",
    "plain": "tps {B}_read/s {B}_wrtn/s {B}_read {B}_wrtn",
    "plain 12.1.2": "tps {B}_read/s {B}_wrtn/s {B}_dscd/s {B}_read {B}_wrtn {B}_dscd",
    "narrow plain 12.1.2": "tps {B}_read/s {B}_w+d/s {B}_read {B}_w+d",
}
BLOCK = {"sec": "Blk", "kB": "kB", "MB": "MB"}
PARTS = (("r/s", "rareq-sz"), ("w/s", "wareq-sz"), ("d/s", "dareq-sz"), ("f/s", "%util"))


@dataclass(frozen=True)
class Shape:
    """How a release prints: its columns, the device's place, the decimal sign, the parts of -h -x."""

    words: tuple[str, ...]
    device: str = "Device"
    is_last: bool = False
    decimal: str = "."
    is_in_parts: bool = False
    name_alone: bool = False


def words(layout: str, unit: str = "kB") -> tuple[str, ...]:
    """The header words of a layout in a unit (sec, kB or MB)."""
    return tuple(LAYOUTS[layout].format(U=unit, B=BLOCK[unit]).split())


def write(
    reports: Sequence[Sequence[Row]], shape: Shape, clocks: Sequence[str] = (), banner: str = ""
) -> tuple[str, list[int]]:
    """The text of some reports, and the 1-based line of every row in it."""
    lines = [banner, ""] if banner else []
    stands: list[int] = []
    for number, report in enumerate(reports):
        lines += [clocks[number]] if clocks else []
        first = True
        for part in _parts(shape):
            lines.append(_header(part, shape))
            for device, numbers in report:
                lines += _row(device, [numbers[word] for word in part], part, shape)
                if first:
                    stands.append(len(lines))
            lines.append("")
            first = False
    return "\n".join(lines) + "\n", stands


def _parts(shape: Shape) -> list[tuple[str, ...]]:
    if not shape.is_in_parts:
        return [shape.words]
    edges = [shape.words.index(first) for first, _ in PARTS]
    return [shape.words[a:b] for a, b in zip(edges, [*edges[1:], len(shape.words)], strict=True)]


def _header(part: Sequence[str], shape: Shape) -> str:
    cells = " ".join(f"{word:>9}" for word in part)
    return f"{cells} {shape.device}" if shape.is_last else f"{shape.device:<13}{cells}"


def _row(device: str, numbers: Sequence[float], part: Sequence[str], shape: Shape) -> list[str]:
    cells = " ".join(f"{_printed(n, word, shape):>9}" for n, word in zip(numbers, part, strict=True))
    if shape.is_last:
        return [f"{cells} {device}"]
    return [device, f"{'':13}{cells}"] if shape.name_alone else [f"{device:<13} {cells}"]


def _printed(number: float, word: str, shape: Shape) -> str:
    is_total = word.endswith(("_read", "_wrtn", "_dscd", "_w+d"))
    return f"{number:.0f}" if is_total else f"{number:.2f}".replace(".", shape.decimal)
