"""btt of blktrace: what requests did between being asked for (Q), dispatched (D) and completed (C).

Read is the table `All Devices`: least, mean and longest time, in seconds. Q2C is the whole time, D2C that of
the device; Q2D, what is between them, was spent in the kernel. The device is named where only one has a row
of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from iodiag.formats.context._common import Values, fact, kernel_name, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.percentiles import sentence

_TITLE = r"^=+ All Devices =+\s*$"
_SECTION = r"^=+ [\w .!:/()#-]{3,60} =+\s*$"
_HEAD = r"^\s*ALL\s+MIN\s+AVG\s+MAX\s+N\s*$"
_TIME = r"(\d{1,9}\.\d{1,9})"
_ROW = rf"^(?P<what>[QGIMDCS]2[QGIMDCS])(?:dm)?\s+{_TIME}\s+{_TIME}\s+{_TIME}\s+(?P<count>\d{{1,15}})\s*$"
_DEVICE = r"^\s*\(\s*(?P<major>\d{1,4}),\s*(?P<minor>\d{1,8})\)\s*\|"
_OWN = (
    r"^[-|\s]+$|^\s*(?:DEV|Overall|Average|Total Sys|# of|Total Queued).*$"
    r"|^\s*\S.{0,60}\|[-\s\d.%|#a-zA-Z>]+$"
)
_BETWEEN = rf"{_HEAD}|{_SECTION}|{_OWN}"
_NAMES = {"Q2C": "whole", "D2C": "device", "Q2D": "kernel"}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    steps: dict[str, _Times] = {}
    rows: list[Line] = []
    devices: set[tuple[str, str]] = set()
    used = 0
    for at, line in solid(lines):
        text = line.text
        if row := re.match(_ROW, text):
            if row["what"] not in steps:
                least, mean, most = (1000 * float(row[n]) for n in (2, 3, 4))
                steps[row["what"]] = _Times(least, mean, most, float(row["count"]))
                rows.append(line)
        elif device := re.match(_DEVICE, text):
            devices.add((device["major"], device["minor"]))
        elif at > 1 and (re.match(_TITLE, text) or not re.match(_BETWEEN, text)):
            break
        used = at
    return ContextBlock(used, facts=_facts(steps, devices, source, rows), layout="btt")


class _Times(NamedTuple):
    """How long a step took, in ms, and of how many requests."""

    least: float
    mean: float
    most: float
    requests: float


def _facts(
    steps: Mapping[str, _Times], devices: Collection[tuple[str, str]], source: str, lines: Sequence[Line]
) -> tuple[Fact, ...]:
    """The fact of the whole trace; none where no request completed."""
    known = {step: steps[step] for step in _NAMES if step in steps}
    if "Q2C" not in known and "D2C" not in known:
        return ()
    values: Values = {}
    if len(devices) == 1:
        values["device"] = kernel_name(":".join(next(iter(devices))))
    count = max(times.requests for times in known.values())
    values["requests"] = count
    for step, times in known.items():
        name = _NAMES[step]
        values |= {
            f"{name}_mean_ms": times.mean,
            f"{name}_least_ms": times.least,
            f"{name}_most_ms": times.most,
        }
    if "Q2D" not in known and len({times.requests for times in known.values()}) == 1 and len(known) == 2:
        values["kernel_mean_ms"] = round(known["Q2C"].mean - known["D2C"].mean, 6)
    text = sentence("btt", values, " of {device}" if "device" in values else " of all traced devices")
    return (fact("btt", text, values, source, lines),)


FORMAT = ContextFormat(
    id="btt",
    title="btt: times of requests in the kernel and on the device",
    example=(
        "==================== All Devices ====================\n"
        "\n"
        "            ALL           MIN           AVG           MAX           N\n"
        "--------------- ------------- ------------- ------------- -----------\n"
        "\n"
        "Q2Q               0.000000072   0.000086313   5.453721801       12686\n"
        "D2C               0.000363719   0.034028080   0.708048174       12687\n"
        "Q2C               0.000395336   0.037609824   0.708064315       12687\n"
    ),
    starts=re.compile(_TITLE),
    read=_read,
    releases="btt 0.99 to 3",
    not_read="seeks, merges, plugs and processes; its data files",
    most_lines=2_000,
)
