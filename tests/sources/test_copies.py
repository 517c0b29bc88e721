"""A source with the bytes of one before is told, whatever else has its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iodiag.model.capture import Capture, Source
from iodiag.sources.copies import Seen


@given(st.lists(st.binary(max_size=2), max_size=30))
def test_the_first_with_the_same_bytes_is_found(contents: list[bytes]):
    seen, first = Seen(), dict[bytes, Capture]()
    for number, data in enumerate(contents):
        source, capture = Source(str(number), data), Capture()
        assert seen.copy_of(source) is first.get(data)
        seen.add(source, capture)
        first.setdefault(data, capture)


def test_no_checksum_is_made_while_sizes_differ():
    seen = Seen()
    for size in range(3):
        source = Source(str(size), b"x" * size)
        assert seen.copy_of(source) is None
        seen.add(source, Capture())
        assert "sha256" not in vars(source)
