"""Binary files that are cut, damaged, hostile or too old."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from iodiag.errors import FormatError
from iodiag.formats.sa.sa_binary import FORMAT
from property_tests import examples
from writers import sa_writer as w
from writers.sa_cases import disk, item, read, record

BOTH = [w.CPU, w.DISK]


def both(number: int) -> w.Stats:
    return record(number, {1: [item(w.CPU, user=number + 1, idle=1)] * 3, 11: [disk(ios=number * 10)]})


def test_a_cut_tail_costs_its_record_only() -> None:
    whole = w.SaFile(BOTH, [both(n) for n in range(4)]).write()
    last = len(w.SaFile(BOTH, [both(n) for n in range(3)]).write())
    assert len(read(whole).tables["disk"]) == 3
    for end in range(last + 1, len(whole)):
        reading = read(whole[:end])
        assert len(reading.tables["disk"]) == 2
        (note,) = reading.notes
        assert (note.line, note.is_unread) == (last, True)
        assert "ends inside a record" in note.reason


@pytest.mark.parametrize(
    ("at", "code", "value", "reason"),
    [
        (20, "B", 0, "no record of sysstat"),
        (20, "B", 16, "no record of sysstat"),
        (21, "B", 24, "no record of sysstat"),
        (8, "Q", 5, "impossible time"),
        (8, "Q", 2**60, "impossible time"),
        (24, "i", -1, "-1 items of activity 1"),
        (24, "i", 2**31 - 1, "2147483647 items"),
        (24, "i", 2**20, "ends inside a record"),
    ],
)
def test_a_damaged_record_ends_the_reading(at: int, code: str, value: int, reason: str) -> None:
    good = w.SaFile(BOTH, [both(n) for n in range(2)]).write()
    data = bytearray(
        good + w.SaFile(BOTH, [both(2)]).write()[-(len(good) - len(w.SaFile(BOTH, [both(0)]).write())) :]
    )
    struct.pack_into("<" + code, data, len(good) + at, value)
    reading = read(bytes(data))
    assert len(reading.tables["disk"]) == 1
    (note,) = reading.notes
    assert reason in note.reason
    assert note.line == len(good)
    assert note.is_unread


_OF_2_2 = b"\x5d\x01\x14\x0a\x62" + bytes(79) + b"Linux\0" + bytes(300)


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("<IHH", 7, 0x115A, 233),
        _OF_2_2.replace(b"Linux", b"Minix"),
        _OF_2_2.replace(b"\x14", b"\x20"),
    ],
    ids=["another length", "another system", "no day"],
)
def test_other_bytes_are_no_file_of_the_oldest_releases(head: bytes) -> None:
    assert not FORMAT.recognise(head)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack("<HH", 0xD596, 0x2172) + bytes(300), "sa15@2: format 0x2172 is unknown"),
        (struct.pack("<HH", 0xD596, 0x2199) + bytes(300), "sa15@2: format 0x2199 is unknown"),
        (struct.pack("<HH", 0xD596, 0x2175) + bytes(300), "sa15@8: a header of 0 bytes"),
        (struct.pack("<HH", 0xD596, 0x2175), "sa15@4: the file ends inside its header"),
        (b"\x96\xd5", "sa15@0: this is no sa file"),
        (struct.pack("<IHH", 7, 0x115A, 232) + bytes(300), "sa15@0: format 0x115a .sysstat 3.2.4 and before"),
        (struct.pack(">IHH", 7, 0x115A, 232) + bytes(300), "sa15@0: format 0x115a .sysstat 3.2.4 and before"),
        (_OF_2_2, "sa15@0: format 0x015d .sysstat 2.2. is not read; print it with the sar that wrote it"),
    ],
)
def test_other_magics_and_stumps_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(data)


@pytest.mark.parametrize(
    "text", [b"", b"\x96", b"Linux 6.1 (host)\t11/20/26\n", b"\x96\xd5", bytes(4096), b"Linux\0" * 99]
)
def test_other_files_are_not_recognised(text: bytes) -> None:
    assert not FORMAT.recognise(text)


EDGES = st.sampled_from((0, 1, 2, 4, 8, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1))
MIXED = {
    magic: w.SaFile(
        layouts,
        [
            record(
                n,
                {
                    i.id: [item(i, **({"name": b"a"} if "name" in i.names else {}))] * i.subitems
                    for i in layouts
                },
            )
            for n in range(3)
        ],
        magic=magic,
        extras=int(magic == 0x2175),
    ).write()
    for magic, layouts in {
        0x2170: [w.CPU_OLDEST, w.DISK_OLDEST, w.MEMORY_OLDEST],
        0x2171: [w.CPU_OLD, w.DISK_OLD, w.NET_OLD, w.QUEUE_OLD],
        0x2173: [w.CPU_OLD, w.DISK_OLD, w.NET_OLD, w.QUEUE_OLD],
        0x2175: [
            w.CPU,
            w.IRQ_MATRIX,
            w.DISK,
            w.NET,
            w.MEMORY,
            w.FILESYSTEM,
            w.SOFTNET,
            w.PRESSURE_IO,
            w.BATTERY,
            w.FOREIGN,
        ],
    }.items()
}


@given(
    magic=st.sampled_from(sorted(MIXED)),
    changes=st.lists(
        st.tuples(st.integers(1, 10_000), st.one_of(EDGES, st.integers(0, 2**32 - 1))), max_size=4
    ),
    flips=st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 40_000),
)
@examples(300, suppress_health_check=[HealthCheck.too_slow])
def test_no_damage_leads_to_more_than_a_format_error(
    magic: int, changes: list[tuple[int, int]], flips: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(MIXED[magic])
    for place, value in changes:
        struct.pack_into("<I", data, place * 4 % (len(data) - 4), value)
    for place, value in flips:
        data[place % len(data)] = value
    FORMAT.recognise(bytes(data[:4096]))
    try:
        reading = read(bytes(data[: end if end < len(data) else None]))
    except FormatError:
        return
    assert sum(map(len, reading.tables.values())) <= len(data)


ALIGNED = [w.CPU, w.DISK, w.NET, w.MEMORY]


def aligned(number: int) -> w.Stats:
    """A record of three disks and two interfaces."""
    disks = [disk(minor=16 * n, ios=number * 1000 + n) for n in range(3)]
    items = {1: [item(w.CPU, user=number, idle=number)] * 3, 11: disks}
    links = [item(w.NET, name=name) for name in (b"lo", b"eth0")]
    return record(number, {**items, w.NET.id: links, w.MEMORY.id: [item(w.MEMORY)]})


def devices(reading: object) -> set[str]:
    """Every disk and interface of the tables."""
    tables = reading.tables  # type: ignore[attr-defined]
    return {
        str(name)
        for family, column in (("disk", "device"), ("network", "interface"))
        if family in tables
        for name in tables[family][column]
    }


@examples(200)
@given(st.integers(0, 2000), st.sampled_from([-88, -40, -16, -8, -4, -1, 1, 4, 8, 16, 40]))
def test_bytes_lost_or_added_make_up_no_device(place: int, grown: int) -> None:
    whole = w.SaFile(ALIGNED, [aligned(n) for n in range(6)]).write()
    first = int(read(whole).tables["disk"]["line"].iloc[0])
    at = first + place % (len(whole) - first - 700)
    data = whole[:at] + bytes(max(grown, 0)) + whole[at + max(-grown, 0) :]
    try:
        reading = read(data)
    except FormatError:
        return
    assert devices(reading) <= {"dev8-0", "dev8-16", "dev8-32", "lo", "eth0"}
    assert reading.notes


@pytest.mark.parametrize(
    ("structure", "said"),
    [
        ({11: [disk(ios=1), item(w.DISK, major=262152, minor=0)]}, "numbers that are no disk's"),
        ({11: [disk(ios=1), item(w.DISK, major=0, minor=16)]}, "numbers that are no disk's"),
        ({11: [disk(ios=1), item(w.DISK, major=8, minor=2**20)]}, "numbers that are no disk's"),
        ({w.NET.id: [item(w.NET, name=b"et\x02h")]}, "a name that is no interface's"),
        ({w.NET.id: [item(w.NET, name=b"\0th0")]}, "a name that is no interface's"),
        ({w.NET.id: [item(w.NET, name=b"\xff\x81")]}, "a name that is no interface's"),
        (
            {w.FILESYSTEM.id: [item(w.FILESYSTEM, name=b"\0da1", mount=b"/")]},
            "names that are no file system's",
        ),
        (
            {w.FILESYSTEM.id: [item(w.FILESYSTEM, name=b"sda1", mount=b"t/")]},
            "names that are no file system's",
        ),
        ({w.PRESSURE_IO.id: [item(w.PRESSURE_IO, full300=2**40)]}, "a pressure above 100 %"),
        ({w.MEMORY.id: [item(w.MEMORY, cached=2**42 + 1)]}, "more memory than can be addressed"),
        ({w.MEMORY.id: [item(w.MEMORY, swap_total=2**60)]}, "more memory than can be addressed"),
    ],
)
def test_what_names_no_device_is_refused_with_its_record(structure: dict, said: str) -> None:
    good = {
        11: [disk(ios=1)],
        w.NET.id: [item(w.NET, name=b"lo")],
        w.FILESYSTEM.id: [item(w.FILESYSTEM, name=b"sda1", mount=b"/")],
        w.PRESSURE_IO.id: [item(w.PRESSURE_IO, full300=10_000)],
        # what is promised has no bound
        w.MEMORY.id: [item(w.MEMORY, total=2**42, commit=2**50)],
    }
    stats = [record(n, {1: [item(w.CPU)] * 2, **good, **(structure if n == 2 else {})}) for n in range(5)]
    reading = read(w.SaFile([w.CPU, w.DISK, w.NET, w.FILESYSTEM, w.PRESSURE_IO, w.MEMORY], stats))
    assert devices(reading) == {"dev8-0", "lo"}
    assert [len(set(reading.tables[name]["line"])) for name in ("cpu", "disk")] == [3, 3]
    assert reading.column("disk", "interval_s") == [10.0, 20.0, 10.0]
    (note,) = reading.notes
    assert note.is_unread
    assert note.reason == f"{said}: 1 record was not used"


@pytest.mark.parametrize("magic", [0x2170, 0x2171, 0x2173])
def test_old_files_name_no_more_than_new_ones(magic: int) -> None:
    oldest = magic == 0x2170
    kinds = [w.CPU_OLDEST, w.DISK_OLDEST] if oldest else [w.CPU_OLD, w.DISK_OLD, w.NET_OLD]
    stats = []
    for n in range(5):
        made = {kinds[0].id: [item(kinds[0])] * kinds[0].subitems}
        made[kinds[1].id] = [item(kinds[1], major=0 if oldest and n == 2 else 8, minor=16)]
        if not oldest:
            made[kinds[2].id] = [item(kinds[2], name=b"et\x02h" if n == 2 else b"  eth0")]
        stats.append(record(n, made))
    reading = read(w.SaFile(kinds, stats, magic=magic))
    assert devices(reading) <= {"dev8-16", "eth0"}
    (note,) = reading.notes
    assert note.is_unread
    assert "1 record was not used" in note.reason


def test_zeros_behind_the_last_record_cost_nothing() -> None:
    whole = w.SaFile(BOTH, [both(n) for n in range(4)]).write()
    assert len(read(whole + bytes(4097)).tables["disk"]) == 3


def test_an_uptime_that_goes_on_longer_than_the_clock_is_said() -> None:
    records = [both(number) for number in range(4)]
    assert not read(w.SaFile(BOTH, records).write()).notes
    records[2:] = [replace(each, uptime=each.uptime + 2**24) for each in records[2:]]
    (note,) = read(w.SaFile(BOTH, records).write()).notes
    assert "the uptime went on by 167782 s and the clock by 10 s" in note.reason
