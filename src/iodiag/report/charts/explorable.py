"""What a page's script needs to draw charts over time anew: their numbers, each series of them once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import Any

from iodiag.report.charts.chart import Heatmap, Line, Timeline, is_drawable
from iodiag.report.charts.layout import heatmap_frame
from iodiag.report.charts.shapes import WIDTH


class Explorable:
    """Collects charts over time; `text` holds all of them as JSON that may stand in a `<script>`.

    A series is written once, whatever charts it stands in: times as the first one and the steps after
    it, in seconds, numbers to four digits.
    """

    def __init__(self) -> None:
        self.size = 0
        self._charts: list[str] = []
        self._pool: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._charts)

    def add(self, picture: Timeline, choices: Iterable[tuple[str, Timeline]] = (), room: int = 0) -> int:
        """The number of a chart here; `choices` are others, by what they show, that may take its place.

        None is added once these hold `room` bytes.
        """
        numbered = [(name, self.add(other)) for name, other in choices if self.size < room]
        panels = [
            {
                "title": panel.title,
                "top": panel.top,
                "stacked": panel.is_stacked,
                "lines": [
                    [line.label, line.colour, *self._series(line), _digits(line.typical)]
                    for line in panel.lines
                ],
            }
            for panel in picture.panels
        ]
        every = [at for panel in picture.panels for line in panel.lines for at in line.x]
        chart = {
            "panels": panels,
            "window": [_rounded(at) for at in picture.window or ()],
            "about": picture.window_words if picture.window else "",
            "offsets": _offsets(every, picture.zone) if picture.zone else [],
            "axis": picture.x_label,
            "choices": numbered,
        }
        text = _json(chart)
        self.size += len(text)
        self._charts.append(text)
        return len(self._charts) - 1

    def add_cells(self, picture: Heatmap) -> int:
        """The number of a heatmap here: its values, and where in its drawing they are."""
        frame = heatmap_frame(picture)
        chart = {
            "cells": [[_digits(value) for value in row] for row in picture.rows],
            "labels": picture.labels,
            "unit": picture.unit,
            "frame": [round(edge / WIDTH, 4) for edge in (frame.left, frame.right, frame.top, frame.bottom)],
            "ends": [_rounded(picture.start), _rounded(picture.end)],
            "offsets": _offsets(_edges(picture), picture.zone) if picture.zone else [],
        }
        text = _json(chart)
        self.size += len(text)
        self._charts.append(text)
        return len(self._charts) - 1

    def text(self) -> str:
        """The collection; nothing in it can end the element that it stands in."""
        return f'{{"charts":[{",".join(self._charts)}],"series":[{",".join(self._pool)}]}}'

    def _series(self, line: Line) -> tuple[int, int]:
        places = [_rounded(at) for at in _apart(line)]
        steps = [places[0], *(_rounded(later - earlier) for earlier, later in pairwise(places))]
        return self._pooled(_json(steps)), self._pooled(_json([_digits(value) for value in line.y]))

    def _pooled(self, text: str) -> int:
        if text not in self._pool:
            self.size += len(text) + 1
        return self._pool.setdefault(text, len(self._pool))


def _edges(picture: Heatmap) -> list[float]:
    """The times between the cells of a heatmap."""
    count = len(picture.rows[0])
    return [picture.start + (picture.end - picture.start) * at / count for at in range(count + 1)]


def _apart(line: Line) -> list[float]:
    """The places of a line; that of a break, which is its neighbour's, halfway to the next."""
    found = list(line.x)
    for at in range(1, len(found) - 1):
        if found[at] == found[at - 1]:
            found[at] = (found[at - 1] + found[at + 1]) / 2
    return found


def _offsets(places: Sequence[float], zone: tzinfo) -> list[list[float]]:
    """From which time on the zone's clocks are how many seconds ahead of UTC."""
    found: list[list[float]] = []
    for at in sorted(set(places)):
        offset = datetime.fromtimestamp(at, zone).utcoffset()
        seconds = offset.total_seconds() if offset else 0.0
        if not found or found[-1][1] != seconds:
            found.append([_rounded(at), seconds])
    return found


def _rounded(value: float) -> float:
    found = round(value, 3)
    return int(found) if found == int(found) else found


def _digits(value: float) -> float | None:
    """A number as finely as reports print it; none for what no axis can show."""
    if not is_drawable(value) or math.isnan(value):
        return None
    found = float(f"{value:.4g}") if abs(value) < 1000 else round(value)
    return int(found) if found == int(found) else found


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
