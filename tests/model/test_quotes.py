"""A line is quoted word for word, wherever the stretches in which lines are looked for begin."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.model import byte_positions as model_lines
from iodiag.model.capture import Source


@given(
    st.lists(st.binary(max_size=6).filter(lambda b: not set(b) & {10, 13}), max_size=12), st.integers(1, 9)
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_and_none_beyond(end, lines, stretch):
    with patch.object(model_lines, "STRETCH_BYTES", stretch):
        source = Source("input", end.join(lines))
        quotes = [source.quote(number) for number in range(1, len(lines) + 1)]
        assert quotes == [line.decode("utf-8", "replace") for line in lines]
        assert source.quote(0) == source.quote(len(lines) + 1 + (not lines)) == ""
