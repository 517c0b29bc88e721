"""The numbers that a page's script draws: the same as in the chart, and each series once."""

from __future__ import annotations

import json
import math
from datetime import UTC
from zoneinfo import ZoneInfo

from iodiag.report.charts.chart import Line, Panel, Timeline
from iodiag.report.charts.explorable import Explorable

AT = 1_700_000_000.0


def timeline(*lines: Line, zone=UTC, window=None, title="Latency (await), ms") -> Timeline:
    return Timeline("c", "d", (Panel(title, lines),), window, zone, "time (UTC)", "samples 2 to 3")


def line(label="sda", x=(AT, AT + 1, AT + 2.5), y=(1.0, math.nan, 1234.5678), colour=0, **fields) -> Line:
    return Line(label, x, y, colour, **fields)


def numbers(kept: Explorable) -> dict:
    return json.loads(kept.text())


def drawn(data: dict, chart: int, at: int) -> tuple[list[float], list[float | None]]:
    """The places and values of a line, as the script reads them."""
    _, _, places, values, _ = data["charts"][chart]["panels"][0]["lines"][at]
    total, found = 0.0, []
    for step in data["series"][places]:
        total += step
        found.append(total)
    return found, data["series"][values]


def test_a_line_keeps_its_places_and_its_numbers_as_finely_as_they_are_printed():
    kept = Explorable()
    assert kept.add(timeline(line(y=(0.123456, math.nan, 1234.5678), typical=0.5))) == 0
    data = numbers(kept)
    assert drawn(data, 0, 0) == ([AT, AT + 1, AT + 2.5], [0.1235, None, 1235])
    assert data["charts"][0]["panels"][0]["lines"][0][4] == 0.5


def test_a_series_is_written_once_whatever_charts_it_stands_in():
    kept = Explorable()
    kept.add(timeline(line(), line("sdb", y=(1.0, 2.0, 3.0))))
    size = kept.size
    assert kept.add(timeline(line(), title="another")) == 1
    assert len(numbers(kept)["series"]) == 3
    assert kept.size - size < 200
    assert kept.size <= len(kept.text())


def test_a_break_stands_between_its_neighbours():
    kept = Explorable()
    kept.add(timeline(line(x=(AT, AT, AT + 100), y=(1.0, math.nan, 2.0))))
    assert drawn(numbers(kept), 0, 0) == ([AT, AT + 50, AT + 100], [1, None, 2])


def test_clocks_that_change_are_told_where_they_do():
    change = 1_729_990_800.0  # 2024-10-27 01:00 UTC, when Berlin leaves summer time
    kept = Explorable()
    kept.add(timeline(line(x=(change - 60, change, change + 60)), zone=ZoneInfo("Europe/Berlin")))
    kept.add(timeline(line(x=(1.0, 2.0, 3.0)), zone=None))
    first, second = numbers(kept)["charts"]
    assert first["offsets"] == [[change - 60, 7200], [change, 3600]]
    assert second["offsets"] == []


def test_choices_stop_where_their_room_ends():
    many = [(f"sd{at}", timeline(line(y=(at, 2.0, 3.0)))) for at in range(20)]
    kept = Explorable()
    place = kept.add(timeline(line()), many, 1_000)
    choices = numbers(kept)["charts"][place]["choices"]
    assert 0 < len(choices) < 20
    assert [name for name, _ in choices] == [f"sd{at}" for at in range(len(choices))]
    assert all(drawn(numbers(kept), chart, 0)[1][0] == at for at, (_, chart) in enumerate(choices))


def test_nothing_in_it_ends_the_element_that_holds_it():
    kept = Explorable()
    kept.add(timeline(line("</script><!--")))
    assert "<" not in kept.text()
    assert numbers(kept)["charts"][0]["panels"][0]["lines"][0][0] == "</script><!--"
