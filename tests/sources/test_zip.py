from __future__ import annotations

import io
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.sources._stream import ByteStream, DamageError, pieces_of
from iodiag.sources._zip import is_zip, zip_members
from writers.reports import zipped

TREE = {
    "top/a.txt": b"one\n" * 50,
    "top/b": bytes(5000),
    "top/empty": b"",
    "ü/ñ": b"PK\x07\x08 is no end" * 3,
}
METHODS = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2}
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/\\"), min_size=1, max_size=60)


def members_of(data: bytes):
    return zip_members(ByteStream(pieces_of(io.BytesIO(data).read)), iter)


def contents(data: bytes) -> dict[str, bytes]:
    """The members that can be had whole; damage ends the list."""
    found: dict[str, bytes] = {}
    try:
        for member in members_of(data):
            body = member.body.read_all(1 << 20)
            if member.body.damage is None and not member.refusal:
                found[member.name] = body
    except DamageError:
        pass
    return found


@pytest.mark.parametrize("to_pipe", [False, True])
@pytest.mark.parametrize("method", METHODS)
@given(tree=st.dictionaries(NAMES, st.binary(max_size=600), max_size=5))
def test_members_come_as_they_were_put_in(method, to_pipe, tree):
    data = zipped(tree, METHODS[method], to_pipe)
    assert is_zip(data)
    assert contents(data) == tree


@pytest.mark.parametrize("to_pipe", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_what_a_caller_leaves_of_a_member_is_skipped(method, to_pipe):
    assert [m.name for m in members_of(zipped(TREE, METHODS[method], to_pipe))] == list(TREE)


@pytest.mark.parametrize("to_pipe", [False, True])
@given(cut=st.integers(0, 700))
def test_what_is_whole_before_a_cut_is_read_and_the_cut_noticed(to_pipe, cut):
    data = zipped(TREE, zipfile.ZIP_DEFLATED, to_pipe)
    found = contents(data[:cut])
    assert list(found.items()) == list(TREE.items())[: len(found)]
    if cut < data.index(b"PK\x01\x02"):
        with pytest.raises(DamageError):
            list(members_of(data[:cut]))


CHANGES = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), min_size=1, max_size=6)


@given(st.sampled_from(sorted(METHODS.values())), st.booleans(), CHANGES)
def test_a_broken_archive_never_does_worse_than_end(method, to_pipe, changes):
    broken = bytearray(zipped(TREE, method, to_pipe))
    for at, value in changes:
        broken[at % len(broken)] = value
    contents(bytes(broken))


def test_large_archives_state_their_sizes_in_an_extra_field():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, archive.open("big", "w", force_zip64=True) as member:
        member.write(b"xyz" * 1000)
    assert contents(buffer.getvalue()) == {"big": b"xyz" * 1000}


def test_an_encrypted_member_is_named_and_the_next_one_read():
    data = bytearray(zipped({"secret": b"abc", "open": b"def"}))
    data[6] |= 1
    members = [(m.name, m.refusal) for m in members_of(bytes(data))]
    assert members == [("secret", "is encrypted"), ("open", "")]


def test_an_unknown_method_is_named():
    data = bytearray(zipped({"odd": b"abc", "plain": b"def"}))
    data[8:10] = (14).to_bytes(2, "little")
    assert [m.refusal for m in members_of(bytes(data))] == ["is compressed with zip's method 14", ""]


def test_a_wrong_checksum_is_noticed():
    data = bytearray(zipped({"a": b"abc"}, zipfile.ZIP_STORED))
    at = data.index(b"abc")
    data[at] ^= 1
    (member,) = members_of(bytes(data))
    member.body.read_all(100)
    assert "checksum" in str(member.body.damage)


def test_the_directory_at_the_end_is_not_believed():
    data = zipped({"a": b"abc"})
    lying = data.replace(zlib.crc32(b"abc").to_bytes(4, "little"), bytes(4))
    lying = data[: data.index(b"PK\x01\x02")] + lying[data.index(b"PK\x01\x02") :]
    assert contents(lying) == {"a": b"abc"}


def test_an_empty_archive_has_no_members():
    assert is_zip(zipped({}))
    assert contents(zipped({})) == {}
