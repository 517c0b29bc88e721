import io

from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.structure import walk
from iodiag.formats.text.structure.walk import Window

BOUNDS = st.one_of(st.none(), st.integers(-12, 12))


def window(size):
    return Window(Text.of("".join(f"line {n}\n" for n in range(5 + size)).encode()), 5, 5 + size)


@given(st.integers(0, 9), st.slices(9), BOUNDS, BOUNDS)
def test_window_slices_as_a_list_does(size, cut, begin, end):
    lines = window(size)
    assert list(lines[cut]) == list(lines)[cut]
    assert list(lines[begin:end]) == list(lines)[begin:end]
    assert list(lines[begin:][:end]) == list(lines)[begin:][:end]
    assert [line.number for line in reversed(lines)] == [*range(5 + size, 5, -1)]


@given(st.lists(st.sampled_from(["a", "", "\u00e9", "\ufffd"]), min_size=1, max_size=3000))
def test_lines_one_after_the_other_are_those_by_their_places(texts):
    text = Text.of("\n".join(texts).encode() + b"\n\xff\xc3\n")
    lines = Window(text, 0, len(text))
    assert list(lines) == [text.numbered(index) for index in range(len(text))]


def test_only_what_is_looked_at_is_made(monkeypatch):
    seen = []
    monkeypatch.setattr(Text, "line", lambda _, index: seen.append(index) or "")
    lines = window(1_000)
    assert lines[1:][0].number == 7
    assert lines[-1].number == 1_005
    assert seen == [6, 1_004]


def test_lines_at_which_many_blocks_could_begin_are_not_looked_at_over_and_over(monkeypatch):
    made, stretch = [], Text.stretch
    monkeypatch.setattr(walk, "_MOST_LOOKED", 5_000)
    monkeypatch.setattr(Text, "stretch", lambda text, a, b: made.append(b - a) or stretch(text, a, b))
    text = (
        "  --- Logical volume ---\n" * 1_000
        + "\nFilename  Type  Size  Used  Priority\n/dev/sda2  partition  9  1  -2\n"
    )
    capture = iodiag.read(io.BytesIO(text.encode()), name="x")
    assert [section.format for section in capture.sections] == ["swaps"]
    assert sum(made) < 20_000
