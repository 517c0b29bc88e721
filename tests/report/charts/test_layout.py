"""What a chart looks like: all of it on the sheet, no text on another, whatever is drawn."""

from __future__ import annotations

import io
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from itertools import combinations, pairwise

import pytest
from PIL import Image

import iodiag
from iodiag.report import contents
from iodiag.report.charts import axes, layout, png, report_charts, svg
from iodiag.report.charts.axes import Frame, Scale
from iodiag.report.charts.chart import (
    BarPanel,
    Bars,
    Heatmap,
    Intervals,
    Line,
    Link,
    Node,
    Panel,
    RateByDepth,
    Stack,
    Timeline,
)
from iodiag.report.charts.fonts import text_width
from iodiag.report.charts.shapes import COLOURS, INK, LINES, WIDTH, Box, Dots, Drawing, Fill, Stroke, Words
from sample_files import CASES, SAMPLES, name_of

AT = 1568876400.0
LONG = "a-name-of-twenty-eight-lette…"
HOSTS_ZONE = timezone(timedelta(hours=5, minutes=30))


def timeline(*panels, step=600.0, zone=UTC, window=None) -> Timeline:
    return Timeline("c", "d", panels, window, zone, "time (UTC)" if zone else "sample (the first is 1)")


def lines(count, *labels, step=600.0, top=1.0, start=AT) -> tuple[Line, ...]:
    x = tuple(start + step * at for at in range(count))
    return tuple(
        Line(label, x, tuple(top * (1 + (at * 7 + number) % 10) for at in range(count)), number)
        for number, label in enumerate(labels)
    )


def panel(count, *labels, title="Throughput, MB/s (1 MB = 1,024 kB)", **fields) -> Panel:
    return Panel(title, lines(count, *labels, **fields))


def rates(high, count, names) -> tuple[Line, ...]:
    x = tuple(high ** (at / count) for at in range(count))
    return tuple(Line(name, x, tuple(90 * v for v in x), at) for at, name in enumerate(names))


def heatmap(devices, count, label="sd", levels=(5.0, 25.0, 50.0, 75.0, 95.0), **changes) -> Heatmap:
    rows = tuple(
        tuple((math.nan, 7.0 * at * row % 101)[at % 7 > 0] for at in range(count)) for row in range(devices)
    )
    labels = tuple(f"{label}{at}" for at in range(devices))
    made = Heatmap("c", "d", "Busy, %", "%", labels, rows, levels, AT, AT + 86400, UTC, "time (UTC)", (0,))
    return replace(made, **changes)


SIX = ("dm-0", "sda", "nvme0n1", "mpathab", "dev253-89", LONG)
DEVICES = tuple(f"sd{letter}" for letter in "abcd")
PICTURES = {
    "one line": timeline(panel(20, "")),
    "one panel, six long names": timeline(panel(60, *[LONG] * 6)),
    "panels with one legend": timeline(panel(60, *SIX), panel(60, *SIX, title="Utilisation, %")),
    "panels with legends of their own": timeline(panel(60, *SIX), panel(60, "read", "write", title="ms")),
    "large numbers": timeline(panel(60, "", top=1.2e13)),
    "numbers next to nothing": timeline(panel(60, "", top=1e-8)),
    "many samples": timeline(panel(800, "", start=0.0, step=123456.0), zone=None, window=(1e6, 2e6)),
    "two samples": timeline(panel(2, "", start=1.0, step=1.0), zone=None),
    "half a second": timeline(panel(2, "", step=0.5)),
    "half an hour off": timeline(panel(50, ""), zone=HOSTS_ZONE),
    "months": timeline(panel(300, "", step=86400.0)),
    "centuries": timeline(panel(20, "", start=0.0, step=1e10)),
    "bars": Bars("c", "d", DEVICES, (BarPanel("CPU time, %", (("", (0.0, math.nan, 5.0, 123456.7)),)),)),
    "bars with long names": Bars(
        "c",
        "d",
        (LONG, "sda"),
        (
            BarPanel("Latency (await), ms", (("read", (1.0, 4e9)), ("write", (3.0, math.nan)))),
            BarPanel("Load, kB/s", (("read", (9e14, 1.0)), ("write", (2.0, 3.0)))),
        ),
        (0,),
    ),
    "heatmap": heatmap(24, 96),
    "heatmap with a long name and a large number": heatmap(
        2, 3, label=LONG, levels=(1.0, 2.0, 3.0, 4.0, 9e14)
    ),
    "heatmap of samples": heatmap(9, 2, zone=None, start=0.0, end=1.0),
    "ladder": RateByDepth("c", "d", rates(9, 6, ("sda",)), rates(12, 5, ("sdb", LONG)), 8.0, 2.1),
    "wide ladder": RateByDepth("c", "d", rates(300, 9, SIX), (), 7.83, 25.0),
    "widest ladder": RateByDepth("c", "d", rates(1e12, 9, SIX), (), 7.83, 25.0),
    "intervals": Intervals("c", "d", ("reads/s", LONG), (24.9, 1), (20, math.nan), (30, math.nan), None, "x"),
    "narrow intervals": Intervals("c", "d", ("a", "b"), (1.1, 0.9), (1, 0.8), (1.2, 1), (0.85, 1.15), "x"),
    "far intervals": Intervals("c", "d", ("a", "b"), (900, 0.002), (800, 0.001), (990, 0.003), None, "x"),
    "stack": Stack(
        "c",
        "d",
        (Node("md0", "RAID5", 0, 0.5), Node(LONG, LONG, 1, 0), Node("sdb", "", 1, 1), Node("x", "", 2, 0)),
        (
            Link(None, 0, "r 123,456,789, w 123,456,789 kB/s", "123,456,789 requests/s", 1.0),
            Link(0, 1, "w 0 kB/s", "", 0.0),
            Link(0, 2, "not told apart", "0 requests/s", 0.5),
            Link(1, 3, "w 0 kB/s", "", 0.0),
        ),
        (("written 123,456,789,123 → 123,456,789,123 kB/s", "requests ×4"), ("read ×1", "written ×2")),
    ),
}


@pytest.fixture(params=PICTURES.values(), ids=PICTURES.keys())
def drawn(request) -> Drawing:
    return layout.drawing(request.param)


def places(words: Words) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the letters."""
    width = text_width(words.text, words.size, words.is_bold)
    left = words.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor] * width
    return left, words.y - 0.76 * words.size, left + width, words.y + 0.24 * words.size


def test_no_text_stands_on_another_and_all_of_it_on_the_sheet(drawn):
    assert_apart(drawn)


@pytest.mark.parametrize("path", [*CASES, SAMPLES / "seeds" / "raid5-layers-iostat.txt"], ids=name_of)
def test_no_text_stands_on_another_in_any_chart_of_a_sample(path):
    report = iodiag.analyze(iodiag.read(path))
    pictures = [one for _, row in report_charts.wanted(report, contents.document(report)) for one in row]
    assert pictures
    for picture in pictures:
        assert_apart(layout.drawing(picture))


def assert_apart(drawn: Drawing) -> None:
    texts = [(shape.text, places(shape)) for shape in drawn.shapes if isinstance(shape, Words) and shape.text]
    assert texts
    for text, (left, top, right, bottom) in texts:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= drawn.width, text
        assert bottom <= drawn.height, text
    for (one, a), (other, b) in combinations(texts, 2):
        # letters without a part below the line may come as near as that
        is_apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] + 1.5 or b[3] <= a[1] + 1.5
        assert is_apart, (one, other)


def test_nothing_is_drawn_off_the_sheet(drawn):
    for shape in drawn.shapes:
        if isinstance(shape, Stroke | Fill | Dots):
            known = [(x, y) for x, y in zip(shape.x, shape.y, strict=True) if not math.isnan(x + y)]
            assert all(-0.1 <= x <= drawn.width + 0.1 and -0.1 <= y <= drawn.height + 0.1 for x, y in known)
        elif isinstance(shape, Box):
            assert 0 < shape.left < shape.left + shape.width < drawn.width


def test_an_svg_has_no_ids_no_colours_and_no_style_of_its_own(drawn):
    text = svg.render(drawn)
    root = ET.fromstring(text)
    assert root.attrib["viewBox"].split()[2:] == [f"{drawn.width:.6g}", f"{drawn.height:.6g}"]
    for tag in root.iter():
        assert tag.tag in {"svg", "path", "rect", "text"}
        assert "style" not in tag.attrib
        assert "id" not in tag.attrib
        assert not re.search(r"#|nan|inf|url", " ".join(tag.attrib.values()))
    said = [shape.text for shape in drawn.shapes if isinstance(shape, Words) and shape.text]
    assert [tag.text for tag in root.iter("text")] == said


@pytest.mark.parametrize(
    ("x", "y", "path"),
    [
        ((0, 1, 2, 3, 4), (5, 5, 5, 5, 6), "M0 5l3 0 1 1"),
        ((0, 3, 1), (5, 5, 5), "M0 5l3 0-2 0"),  # the way back is another
        ((0, 1, math.nan, 3, 4), (5, 5, math.nan, 5, 5), "M0 5l1 0M3 5l1 0"),
        ((0, 1, 2), (5, 6, 7), "M0 5l1 1 1 1"),
    ],
)
def test_steps_of_a_line_that_go_on_level_are_one(x, y, path):
    assert f'd="{path}"' in svg.render(Drawing(20, (Stroke(x, y, INK, 1),)))


def test_a_png_has_the_same_size_and_a_white_ground(drawn):
    image = Image.open(io.BytesIO(png.render(drawn)))
    assert image.size == (round(drawn.width * 2), round(drawn.height * 2))
    assert image.convert("RGB").getpixel((0, image.height - 1)) == (255, 255, 255)
    assert len(image.convert("RGB").getcolors(1 << 20)) > 2


def test_markup_in_a_text_stays_a_text():
    words = Words(10, 10, f'{INK} style="{LINES[0]}" 0.123456 <b> &amp; </text></svg>', 8, INK)
    (text,) = ET.fromstring(svg.render(Drawing(20, (words,)))).iter("text")
    assert text.text == words.text
    assert text.attrib["fill"] == "currentColor"


def test_dots_are_seen_in_a_png_wherever_they_are():
    # whole pixels and halves: what is rounded to pixels must not vanish
    dots = tuple(Dots((10.0 + 13.1 * at,), (10.0 + 0.13 * at,), LINES[0], 4.0) for at in range(20))
    image = Image.open(io.BytesIO(png.render(Drawing(20, dots)))).convert("RGB")
    colour = tuple(bytes.fromhex(COLOURS[LINES[0]].in_print[1:]))
    for one in dots:
        assert image.getpixel((round(one.x[0] * 2), round(one.y[0] * 2))) == colour


@pytest.mark.parametrize(
    ("scale", "value", "place"),
    [
        (Scale(0, 10, 0, 100), 5, 50),
        (Scale(0, 10, 100, 0), 10, 0),
        (Scale(0, 10, 0, 100), 10.0000001, 100),
        (Scale(0, 10, 0, 100), 11, None),
        (Scale(0, 10, 0, 100), -1, None),
        (Scale(0, 10, 0, 100), math.nan, None),
        (Scale(1, 100, 0, 100, is_log=True), 10, 50),
        (Scale(1, 100, 0, 100, is_log=True), 0, None),
        (Scale(1, 100, 0, 100, is_log=True), -5, None),
    ],
)
def test_a_scale_shows_what_is_on_it_and_nothing_else(scale, value, place):
    found = scale(value)
    assert math.isnan(found) if place is None else found == pytest.approx(place, abs=0.001)


def test_ticks_are_round_numbers():
    frame = Frame(0, 0, 400, 100)
    assert [label for _, label in axes.value_ticks(1234.0)] == ["0", "500", "1,000"]
    assert [label for _, label in axes.sample_ticks(frame.x(0.8, 21.2))][:3] == ["3", "6", "9"]
    narrow = axes.log_ticks(frame.x(0.7, 1.4, is_log=True), is_upright=False)
    assert [label for _, label in narrow] == ["0.7", "1", "1.2"]
    wide = axes.log_ticks(frame.x(0.2, 600, is_log=True), is_upright=False)
    assert [label for _, label in wide][:4] == ["0.2", "0.5", "1", "2"]


@pytest.mark.parametrize("high", [1.1, 3.0, 50.0, 1e4, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("is_upright", [False, True])
def test_a_logarithmic_axis_has_numbers_that_do_not_touch(high, is_upright):
    scale = Scale(0.9, high, 0, 400, is_log=True)
    ticks = axes.log_ticks(scale, is_upright=is_upright)
    assert ticks
    size = [axes.TICK if is_upright else text_width(label, axes.TICK) for _, label in ticks]
    ends = zip((scale(at) for at, _ in ticks), size, strict=True)
    assert all(b - a > (one + other) / 2 for (a, one), (b, other) in pairwise(ends))


def test_labels_of_time_are_in_the_zone_and_never_the_same_twice():
    scale = Scale(AT - 1, AT + 1.5, 0, 400)
    ticks, date = axes.time_ticks(scale, HOSTS_ZONE)
    assert [label for _, label in ticks] == ["12:29:59", "12:30:00", "12:30:01"]
    assert date == "2019-09-19"


def test_a_stacked_panel_reaches_over_the_sum_and_stops_where_a_part_is_unknown():
    idle, waiting = lines(5, "idle", "iowait", top=30.0)
    gap = replace(waiting, y=(*waiting.y[:2], math.nan, *waiting.y[3:]))
    shapes = layout.drawing(timeline(Panel("CPU", (idle, gap), 100.0, is_stacked=True))).shapes
    areas = [shape for shape in shapes if isinstance(shape, Fill)]
    # below the legend's two blocks: the first in one piece, the second in two
    assert [len(area.x) for area in areas] == [4, 4, 10, 4, 4]
    top = min(y for area in areas for y in area.y)
    assert top > 0


def test_drawing_takes_no_figure_and_no_axes():
    code = (
        "import sys; from iodiag.report.charts import chart, layout, png, svg; "
        "line = chart.Line('a', (1.0, 2.0), (1.0, 2.0), 0); "
        "picture = chart.Timeline('', '', (chart.Panel('t', (line,)),), None, None, ''); "
        "drawn = layout.drawing(picture); svg.render(drawn); png.render(drawn); "
        "bad = {'matplotlib.figure', 'matplotlib.axes', 'matplotlib.pyplot'} & set(sys.modules); "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("highest", "is_shown"), [(90.0, True), (60.0, True), (40.0, False)])
def test_a_ladder_shows_the_ceiling_that_is_in_reach(highest: float, is_shown: bool):
    # ten served at once at 100 ms each: 100 a second
    picture = RateByDepth(
        "c", "d", (Line("", (1.0, 12.0), (10.0, highest), 0),), (), alone_ms=100.0, servers=10.0
    )
    strokes = [shape for shape in layout.drawing(picture).shapes if isinstance(shape, Stroke)]
    level = [stroke for stroke in strokes if stroke.width == 1.2 and len(set(stroke.y)) == 1]
    # a legend's strokes are short
    ceilings = [stroke for stroke in level if stroke.x[-1] - stroke.x[0] > WIDTH / 2]
    assert len(ceilings) == is_shown


@pytest.mark.parametrize(
    "minutes", [2, 40, 209, 211, 250, 299, 301, 1500, 4200, 6000, 7100, 7300, 10**5, 10**6]
)
def test_a_clock_of_any_length_has_a_few_ticks_and_no_complaint(minutes):
    ticks, _ = axes.time_ticks(Scale(1423440600, 1423440600 + 60 * minutes, 0, 600), UTC)
    assert 2 <= len(ticks) <= 8


def test_a_cell_has_the_colour_of_its_level_and_neighbours_of_one_level_are_one():
    picture = heatmap(1, 4, levels=(5.0, 25.0, 50.0, 75.0, 95.0))
    drawn = layout.drawing(replace(picture, rows=((4.9, 30.0, 26.0, math.nan),)))
    cells = [shape for shape in drawn.shapes if isinstance(shape, Fill) and shape.colour.startswith("heat")]
    frame = layout.heatmap_frame(picture)
    quarter = (frame.right - frame.left) / 4
    places = [[x for x in shape.x if not math.isnan(x)] for shape in cells if len(shape.x) == 5]
    assert [shape.colour for shape in cells if len(shape.x) == 5] == ["heat-1"]
    assert (min(places[0]), max(places[0])) == pytest.approx((frame.left + quarter, frame.left + 3 * quarter))
