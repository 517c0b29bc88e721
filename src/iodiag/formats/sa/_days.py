"""Of which days a binary file has samples, told by the heads of its records alone."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from iodiag.formats.sa._header import read_header
from iodiag.formats.sa._records import Segment, walk
from iodiag.model.capture import Source

_QUARTER_S, _DAY_S = 900, 86_400


class SampledDays(NamedTuple):
    """The host that a file names ("": none), its clock's distance from UTC, and the days by that clock."""

    host: str
    zone_s: int
    days: tuple[str, ...]


def sampled_days(source: Source) -> SampledDays:
    """The days that the middles of the samples lie in. Raises FormatError where the head is not readable."""
    header = read_header(source.name, source.data)
    segments, _ = walk(header, source.data)
    zone_s = _zone_s(segments)
    days: dict[str, None] = {}
    for segment in segments:
        middles = [(before + after) // 2 for before, after in pairwise(segment.time.tolist())]
        numbers = sorted({(middle + zone_s) // _DAY_S for middle in middles})
        days |= dict.fromkeys(str(np.datetime64(number, "D")) for number in numbers)
    return SampledDays(header.host, zone_s, tuple(days))


def _zone_s(segments: list[Segment]) -> int:
    """How far the host's clock is ahead of UTC, by the two clocks of the first record.

    Zones lie whole quarters of an hour apart, from 12 h behind UTC to 12 h before it; the few
    zones beyond (+13, +14) come out a day behind.
    """
    if not segments:
        return 0
    first = segments[0]
    ahead = (first.seconds_of_day - int(first.time[0]) % _DAY_S + _DAY_S // 2) % _DAY_S - _DAY_S // 2
    return round(ahead / _QUARTER_S) * _QUARTER_S
