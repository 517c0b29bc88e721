from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.text.structure.walk import Window
from iodiag.formats.types import Line

BOUNDS = st.one_of(st.none(), st.integers(-12, 12))


def window(size, seen=None):
    def line_at(index):
        if seen is not None:
            seen.append(index)
        return Line(f"line {index}", index + 1)

    return Window(line_at, 5, 5 + size)


@given(st.integers(0, 9), st.slices(9), BOUNDS, BOUNDS)
def test_window_slices_as_a_list_does(size, cut, begin, end):
    lines = window(size)
    assert list(lines[cut]) == list(lines)[cut]
    assert list(lines[begin:end]) == list(lines)[begin:end]
    assert list(lines[begin:][:end]) == list(lines)[begin:][:end]
    assert [line.number for line in reversed(lines)] == [*range(5 + size, 5, -1)]


def test_only_what_is_looked_at_is_made():
    seen = []
    lines = window(1_000, seen)
    assert lines[1:][0].text == "line 6"
    assert lines[-1].number == 1_005
    assert seen == [6, 1_004]
