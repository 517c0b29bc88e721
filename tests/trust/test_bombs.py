"""What is small to send and large to read is read within bounds, or refused in one clear line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
from dataclasses import fields
from pathlib import Path

import pytest
import zstandard

import iodiag
from fuzz.bombs import DEEP, ENTITIES, LONG_LINES, MANY_LINES
from fuzz.limits import BYTES_PER_BYTE, BYTES_PER_LINE, LEAST_BYTES, memory_of
from iodiag.errors import ConfigError, IodiagError
from iodiag.sources.limits import InputLimits, in_units, limits
from writers.reports import busy_iostat, tar, zipped

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
SHAPES = {
    **{f"one line of {k}": v for k, v in LONG_LINES.items()},
    **{f"lines of {k}": v for k, v in MANY_LINES.items()},
}


def outcome(data: bytes) -> str:
    """What reading said: nothing, or the one line of the error."""
    said = ""
    try:
        iodiag.read(io.BytesIO(data), name="x")
    except IodiagError as error:
        said = str(error)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_without_end_are_read_in_bounded_memory(shape: str):
    outcome(busy_iostat("a"))
    data = SHAPES[shape](1 << (18 if shape.startswith("one") else 15))
    allowed = LEAST_BYTES // 4 + BYTES_PER_BYTE * len(data) + BYTES_PER_LINE * data.count(b"\n")
    assert memory_of(lambda data: outcome(data) and None, data) <= allowed


@pytest.mark.parametrize("shape", DEEP)
def test_depth_is_no_danger(shape: str):
    outcome(DEEP[shape](100_000))


@pytest.mark.parametrize("name", ENTITIES)
def test_entities_are_refused_unread(name: str):
    assert outcome(ENTITIES[name]) == "x: line 1: declares the entity 'a', which sadf never does; not read"


@pytest.mark.parametrize("packing", PACK)
def test_a_bomb_is_refused_by_its_beginning(packing: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IODIAG_LIMITS", "unknown=2M")
    said = outcome(PACK[packing](bytes(20 << 20)))
    assert said.startswith("x: unpacks to more than 2 MiB")
    assert "IODIAG_LIMITS=unknown=" in said


@pytest.mark.parametrize("packing", PACK)
def test_a_bomb_that_begins_as_a_capture_ends_at_the_limit(packing: str, monkeypatch: pytest.MonkeyPatch):
    data = PACK[packing](busy_iostat("a") + b"\n" * (1 << 20))
    assert outcome(data) == ""
    monkeypatch.setenv("IODIAG_LIMITS", "lines=64k")
    assert "holds more than 65,536 lines" in outcome(data)
    monkeypatch.setenv("IODIAG_LIMITS", "input=64k")
    assert "holds more than 64 KiB" in outcome(data)


def test_members_without_end_are_counted_and_end_at_the_limit(monkeypatch: pytest.MonkeyPatch):
    data = tar({"a.txt": busy_iostat("a"), **{f"f{number}": b"" for number in range(3000)}})
    assert outcome(data) == ""
    monkeypatch.setenv("IODIAG_LIMITS", "members=2000")
    captures = iodiag.read(io.BytesIO(data), name="x")
    assert captures.disk is not None, "what came before the limit is kept"
    assert any(
        "holds more than 2,000 files (IODIAG_LIMITS=members=" in note.reason for note in captures.notes
    )


def test_entries_of_a_zip_that_overlap_are_read_once():
    """A directory may point ten thousand times at one member; the members are read where they stand."""
    data = zipped({"a.txt": busy_iostat("a")})
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entries = 10_000
    fields = list(struct.unpack_from("<4s4H2LH", data, end))
    fields[3] = fields[4] = entries
    fields[5] = (end - start) * entries
    overlapping = data[:start] + data[start:end] * entries + struct.pack("<4s4H2LH", *fields)
    assert len(zipfile.ZipFile(io.BytesIO(overlapping)).namelist()) == entries
    capture = iodiag.read(io.BytesIO(overlapping), name="x")
    assert len(capture.sources) == 2, "the member, and the account of the archive"


def test_archives_that_hold_archives_that_hold_bombs_end_at_the_limit(monkeypatch: pytest.MonkeyPatch):
    bomb = zipped({f"{n}": bytes(1 << 20) for n in range(10)})
    data = zipped({"a.txt": busy_iostat("a"), **{f"{n}.zip": zipped({"in.zip": bomb}) for n in range(10)}})
    monkeypatch.setenv("IODIAG_LIMITS", "streamed=4M")
    capture = iodiag.read(io.BytesIO(data), name="x")
    assert capture.disk is not None
    assert any("unpacks to more than 4 MiB (IODIAG_LIMITS=streamed=" in note.reason for note in capture.notes)


def test_every_limit_can_be_changed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IODIAG_LIMITS", "members=7, input=8G lines=2k")
    assert (limits().members, limits().input, limits().lines) == (7, 8 << 30, 2048)
    assert limits().depth == InputLimits().depth
    monkeypatch.delenv("IODIAG_LIMITS")
    assert limits() == InputLimits()


@pytest.mark.parametrize(
    "text", ["members", "members=", "members=-1", "members=many", "member_s=1", "members=1e9"]
)
def test_a_limit_that_cannot_be_understood_is_one_line(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IODIAG_LIMITS", text)
    with pytest.raises(ConfigError, match=r"IODIAG_LIMITS: .* is no limit; write NAME=NUMBER"):
        limits()


@pytest.mark.parametrize(
    ("size", "said"), [(4 << 30, "4 GiB"), (3 << 20, "3 MiB"), (1 << 14, "16 KiB"), (1000, "1,000 bytes")]
)
def test_sizes_are_said_in_whole_units(size: int, said: str):
    assert in_units(size) == said


def test_the_limits_are_documented():
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    for field in fields(InputLimits):
        value = field.default
        said = in_units(value) if value >= 1 << 20 and not value % (1 << 20) else f"{value:,}"
        assert f"| `{field.name}` | {said} |" in text, field.name
