from __future__ import annotations

import bz2
import gzip
import io
import lzma
from contextlib import nullcontext

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from iodiag.sources._compressed import unpacked
from iodiag.sources._stream import ByteStream, DamageError, part_of, pieces_of, rest_of
from iodiag.sources.limits import InputLimits

COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}
TEXT = b"".join(b"Device sda %d %d\n" % (n, n * n) for n in range(40_000))


def stream_of(*pieces: bytes) -> ByteStream:
    return ByteStream(iter([piece for piece in pieces if piece]))


STEPS = st.tuples(st.sampled_from(["peek", "read", "skip", "unread", "pieces"]), st.integers(0, 40))


@given(st.lists(st.binary(max_size=30), max_size=8), st.lists(STEPS, max_size=8))
def test_whatever_is_read_and_peeked_is_the_bytes_in_order(pieces, steps):
    whole, stream, at = b"".join(pieces), stream_of(*pieces), 0
    for step, size in steps:
        ahead = whole[at : at + size]
        match step:
            case "peek":
                assert stream.peek(size) == ahead
            case "read":
                assert stream.read(size) == ahead
                at += len(ahead)
            case "skip":
                with pytest.raises(DamageError) if len(ahead) < size else nullcontext():
                    stream.skip(size)
                at += len(ahead)
            case "pieces":
                assert b"".join(stream.pieces(size)) == ahead
                at += len(ahead)
            case "unread":
                back = min(size, at)
                stream.unread(whole[at - back : at])
                at -= back
        assert stream.position == at
    assert stream.read_all(len(whole)) == whole[at:]


def test_too_much_shows_as_one_byte_more():
    assert stream_of(b"abc", b"def").read_all(4) == b"abcde"


def test_what_came_before_damage_is_given_and_the_reason_kept():
    def pieces():
        yield b"abc"
        raise DamageError("is cut off", is_cut=True)

    stream = ByteStream(pieces())
    assert stream.read(10) == b"abc"
    assert stream.damage is not None
    assert (stream.damage.reason, stream.damage.is_cut) == ("is cut off", True)
    with pytest.raises(DamageError):
        list(rest_of(stream))


def test_a_part_that_ends_early_is_cut_off():
    part = ByteStream(part_of(stream_of(b"abc"), 5))
    assert part.read_all(9) == b"abc"
    assert part.damage is not None
    assert part.damage.is_cut


@pytest.mark.parametrize("name", COMPRESS)
@given(parts=st.lists(st.binary(max_size=2000), min_size=1, max_size=3), cut=st.integers(1, 50))
def test_compressed_streams_behind_each_other_are_one(name, parts, cut):
    parts = [b"." + part for part in parts]  # bytes that look compressed would be unpacked further
    packed = b"".join(map(COMPRESS[name], parts))
    pieces = [packed[at : at + cut] for at in range(0, len(packed), cut)]
    stream = unpacked(stream_of(*pieces))
    assert stream.read_all(10_000) == b"".join(parts)
    assert stream.damage is None


@pytest.mark.parametrize("name", COMPRESS)
def test_of_data_that_is_cut_off_the_beginning_is_given(name):
    packed = COMPRESS[name](TEXT)
    stream = unpacked(stream_of(packed[: len(packed) * 2 // 3]))
    data = stream.read_all(len(TEXT))
    assert TEXT.startswith(data)
    assert len(data) > 0 or name == "bzip2", "bzip2 gives nothing before the end of its first block"
    assert stream.damage is not None
    assert stream.damage.is_cut


@pytest.mark.parametrize("name", COMPRESS)
@given(changes=st.lists(st.tuples(st.integers(4, 10_000), st.integers(0, 255)), min_size=1, max_size=5))
def test_broken_compressed_data_never_raises(name, changes):
    packed = bytearray(COMPRESS[name](TEXT[:3000]))
    for at, value in changes:
        packed[4 + at % (len(packed) - 4)] = value
    unpacked(stream_of(bytes(packed))).read_all(1 << 20)


def test_padding_behind_compressed_data_is_passed_over():
    assert unpacked(stream_of(gzip.compress(b"abc") + bytes(2000))).read_all(9) == b"abc"


def test_what_is_compressed_more_often_than_the_limit_is_said():
    data = b"abc"
    for _ in range(InputLimits().layers + 1):
        data = gzip.compress(data)
    stream = unpacked(stream_of(data))
    assert stream.read_all(9) == b""
    assert "more than 3 times" in stream.damage.reason
    assert unpacked(stream_of(gzip.decompress(data))).read_all(9) == b"abc"


def test_other_data_behind_what_is_compressed_is_said():
    stream = unpacked(stream_of(gzip.compress(b"abc") + b"junk"))
    assert stream.read_all(9) == b"abc"
    assert stream.damage.is_cut


@pytest.mark.parametrize("name", COMPRESS)
def test_a_bomb_is_taken_in_small_pieces(name):
    stream = unpacked(stream_of(COMPRESS[name](bytes(80 << 20))))
    largest = max(map(len, stream.pieces()))
    assert largest <= 48 << 20
    assert stream.position == 80 << 20


def test_an_xz_file_that_wants_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setenv("IODIAG_LIMITS", "xz_memory=64k")
    stream = unpacked(stream_of(lzma.compress(TEXT)))
    assert stream.read_all(10) == b""
    assert "memory" in str(stream.damage).lower()


def test_an_error_of_the_file_below_ends_the_bytes():
    blocks = iter([b"abc"])

    def read(size):
        if block := next(blocks, b""):
            return block
        raise OSError(5, "Input/output error")

    stream = ByteStream(pieces_of(read))
    assert stream.read_all(10) == b"abc"
    assert "Input/output error" in str(stream.damage)


def test_closing_lets_go_of_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    handle = path.open("rb")

    def pieces():
        with handle:
            yield from pieces_of(handle.read)

    stream = ByteStream(pieces())
    assert stream.peek(1) == b"a"
    stream.close()
    assert handle.closed
    stream_of(b"a").close()
    assert ByteStream(pieces_of(io.BytesIO(b"ab").read)).read(2) == b"ab"
