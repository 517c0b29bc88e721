from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.sources._stream import ByteStream, DamageError, pieces_of
from iodiag.sources._tar import is_tar, tar_members
from writers.reports import tar

TREE = {"top/a.txt": b"one\n", "top/b/" + "long" * 40 + ".txt": b"x" * 3000, "top/empty": b"", "ü/ñ": b"last"}
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=150)


def contents(data: bytes) -> dict[str, bytes]:
    """The members that can be had whole; damage ends the list."""
    found: dict[str, bytes] = {}
    try:
        for member in tar_members(ByteStream(pieces_of(io.BytesIO(data).read))):
            body = member.body.read_all(1 << 20)
            if member.body.damage is None and not member.refusal:
                found[member.name] = body
    except DamageError:
        pass
    return found


def entry(name: str, kind: bytes, size: int = 0, **values: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    for key, value in values.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("name", FORMATS)
@given(tree=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5))
def test_members_come_as_they_were_put_in(name, tree):
    fitting = {path: data for path, data in tree.items() if name != "ustar" or len(path.encode()) <= 100}
    assert contents(tar(fitting, form=FORMATS[name])) == fitting


@pytest.mark.parametrize("compression", ["", "gz"])
def test_a_tar_is_told_by_its_checksum(compression):
    assert is_tar(tar(TREE)[:512])
    assert not is_tar(tar(TREE)[:511])
    assert not is_tar(b"Linux 6.1.0 (host) 11/20/26\n" * 30)
    assert not is_tar(bytes(512))


@given(cut=st.integers(0, 8000))
def test_what_is_whole_before_a_cut_is_read(cut):
    found = contents(tar(TREE)[:cut])
    assert list(found.items()) == list(TREE.items())[: len(found)]


@pytest.mark.parametrize(
    ("cut", "is_cut"), [(100, True), (700, True), (514, True), (1024, False), (1030, True), (None, False)]
)
def test_a_cut_is_noticed(cut, is_cut):
    members = tar_members(ByteStream(pieces_of(io.BytesIO(tar(TREE)[:cut]).read)))
    if is_cut:
        with pytest.raises(DamageError):
            list(members)
    else:
        list(members)


CHANGES = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), min_size=1, max_size=6)


@given(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]), CHANGES)
def test_a_broken_archive_never_does_worse_than_end(form, changes):
    broken = bytearray(tar(TREE, form=form, links={"l": "t" * 200}))
    for at, value in changes:
        broken[at % len(broken)] = value
    contents(bytes(broken))


def test_links_devices_and_directories_have_no_bytes():
    kinds = (
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
    )
    odd = b"".join(
        entry(f"odd{n}", kind, size=999_999, linkname="../../etc/passwd") for n, kind in enumerate(kinds)
    )
    assert contents(odd + tar({"a": b"b"})) == {"a": b"b"}


def test_a_huge_header_of_a_name_is_refused_unread():
    longname = entry("././@LongLink", b"L", size=8 << 30)
    stream = ByteStream(iter([longname, b"a" * 1000]))
    with pytest.raises(DamageError, match="header of 8589934592 bytes"):
        list(tar_members(stream))


@pytest.mark.parametrize(
    "records",
    [
        b"11 path=xyz",
        b"99999999999999999999 a=b\n",
        b"0 path=x\n",
        b"x path=y\n",
        b" =\n",
        b"3 \n5 a=\n",
        b"\xff" * 90,
    ],
)
def test_broken_pax_records_leave_the_plain_name(records):
    header = entry("pax", b"x", size=len(records)) + records.ljust(512, b"\0")
    found = contents(header + tar({"plain": b"data"}))
    assert list(found.values()) == [b"data"]


def test_a_pax_header_gives_the_size_and_the_name():
    records = b"10 size=4\n" + b"18 path=real/name\n"
    header = entry("pax", b"x", size=len(records)) + records.ljust(512, b"\0")
    body = entry("short", b"0", size=0) + b"abcd".ljust(512, b"\0")
    assert contents(header + body + bytes(1024)) == {"real/name": b"abcd"}


def test_a_sparse_file_is_passed_over_with_a_reason():
    first = bytearray(entry("sparse", b"S", size=4))
    first[482] = 1
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first)
    more = bytes(504) + b"\1" + bytes(7) + bytes(512)
    data = bytes(first) + more + b"abcd".ljust(512, b"\0") + tar({"next": b"one"})
    members = list(tar_members(ByteStream(iter([data]))))
    assert [(m.name, bool(m.refusal)) for m in members] == [("sparse", True), ("next", False)]


def test_sizes_in_base_256_are_read():
    large = bytearray(entry("large", b"0"))
    large[124:136] = b"\x80" + (3).to_bytes(11, "big")
    large[148:156] = b" " * 8
    large[148:156] = b"%06o\0 " % sum(large)
    assert contents(bytes(large) + b"abc".ljust(512, b"\0") + bytes(1024)) == {"large": b"abc"}


def test_what_a_caller_leaves_of_a_member_is_skipped():
    members = tar_members(ByteStream(pieces_of(io.BytesIO(tar(TREE)).read)))
    assert [member.name for member in members] == list(TREE)
