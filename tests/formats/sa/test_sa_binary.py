"""sysstat's binary files: real ones, written ones of every generation, and records of every kind."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.errors import FormatError
from iodiag.formats.sa.sa_binary import FORMAT
from iodiag.model.columns import FAMILIES, KEY_COLUMNS, LABEL_COLUMNS
from property_tests import examples
from writers import sa_writer as w
from writers.sa_cases import START, disk, item, one_table, read, record

SAMPLES = Path(__file__).parents[3] / "samples" / "sa"
BASE = ("source", "line", "host", "time", "interval_s", "segment", "report", "since_boot")


# --- files that sysstat wrote ---------------------------------------------------------------------

# Of each file: the second sample of its disk 254:0 and of all CPUs, as that release's sadf printed it.
PRINTED = {
    "0x2171-sysstat-10.1.5.bin": (274.0, 3096.0, 3444.0, 0.04, 0.11, 4.4, 0.51, 56.06),
    "0x2173-sysstat-10.3.1.bin": (257.84, 4588.24, 3517.65, 0.03, 0.11, 2.35, 43.35, 17.73),
    "0x2175-sysstat-12.6.1.bin": (397.0, 3088.0, 50384.0, 0.71, 1.80, 6.0, 14.07, 85.43),
}


@pytest.mark.parametrize("name", PRINTED)
def test_numbers_are_those_that_sadf_printed(name: str) -> None:
    tables = read((SAMPLES / name).read_bytes()).tables
    row = tables["disk"].iloc[1]
    cpu = tables["cpu"][tables["cpu"]["cpu"] == "all"].iloc[1]
    columns = ["ios_per_s", "read_kb_per_s", "write_kb_per_s", "queue_depth", "await_ms", "util_pct"]
    got = [*row[columns], cpu["user_pct"], cpu["system_pct"]]
    assert got == pytest.approx(PRINTED[name], abs=0.006)
    assert row["device"] == "dev254-0"


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.bin")), ids=lambda path: path.stem)
def test_every_row_has_the_columns_of_the_contract(path: Path) -> None:
    data = path.read_bytes()
    assert FORMAT.recognise(data[:4096])
    reading = read(data)
    wanted = {"cpu", "disk", "io", "paging", "memory", "queue", "network"}
    # up to 3.3.5 neither disks nor the run queue were kept
    assert wanted - ({"disk", "queue"} if "-3.3.2-" in path.stem else set()) <= reading.tables.keys()
    for family, frame in reading.tables.items():
        words = {KEY_COLUMNS.get(family), *LABEL_COLUMNS.get(family, ())} & set(frame.columns)
        numbers = set(frame.columns) - set(BASE) - words
        assert set(BASE) <= set(frame.columns)
        assert numbers
        assert numbers <= {column.name for column in FAMILIES[family]}, family
        assert (frame[sorted(numbers)].dtypes == "float64").all()
        assert str(frame["time"].dt.tz) == "UTC"
        assert not frame["since_boot"].any()
        assert frame["line"].between(1, len(data) - 1).all()
    assert sum(section.rows for section in reading.sections) == sum(map(len, reading.tables.values()))


def test_a_restart_begins_a_segment_and_its_baseline_has_no_row() -> None:
    reading = read((SAMPLES / "0x2175-sysstat-12.6.1.bin").read_bytes())
    assert [(s.layout, s.host, s.kernel, s.cpus, s.reports) for s in reading.sections] == [
        ("0x2175 12.6.1", "vm", "6.18.44-fc-v657", 2, 3),
        ("0x2175 12.6.1", "vm", "6.18.44-fc-v657", 2, 2),
    ]
    assert [s.start for s in reading.sections] == ["2026-11-20T12:26:20+00:00", "2026-11-20T12:26:23+00:00"]
    disk_rows = reading.tables["disk"]
    assert disk_rows["segment"].tolist() == [0, 0, 0, 1, 1]
    assert disk_rows["report"].tolist() == [0, 1, 2, 0, 1]
    assert [str(t)[:19] for t in disk_rows["time"][[0, 4]]] == ["2026-11-20 12:26:21", "2026-11-20 12:26:25"]
    assert [(note.text, note.is_unread) for note in reading.notes] == [("backup started; iodiag", False)]


# --- every generation, byte order and width -------------------------------------------------------

GENERATIONS = {
    "0x2170": (0x2170, w.CPU_OLDEST, w.DISK_OLDEST, w.MEMORY_OLDEST, None),
    "0x2171": (0x2171, w.CPU_OLD, w.DISK_OLD, w.MEMORY_OLDEST, w.NET_OLD),
    "0x2173": (0x2173, w.CPU_OLD, w.DISK_OLD, w.MEMORY_OLDEST, w.NET_OLD),
    "0x2175 before discards": (0x2175, w.CPU, w.DISK_BEFORE_DISCARDS, w.MEMORY, w.NET),
    "0x2175": (0x2175, w.CPU, w.DISK, w.MEMORY, w.NET),
}
steps = st.integers(0, 50_000)


@st.composite
def files(draw: st.DrawFn) -> tuple[w.SaFile, list[dict[str, int]]]:
    """A file of some generation, and by how much each disk counter grew in each sample."""
    magic, cpu, disks, memory, net = GENERATIONS[draw(st.sampled_from(sorted(GENERATIONS)))]
    names = [n for n in ("ios", "read", "write", "discard") if n in disks.names.split()]
    ticks = [n for n in disks.names.split() if n.endswith("_ms")]
    long_bytes = draw(st.sampled_from((4, 8)))
    growth = draw(st.lists(st.fixed_dictionaries({n: steps for n in names + ticks}), min_size=1, max_size=5))
    # Tick counters start below the 32-bit edge, so that some of them wrap on the way.
    totals = dict.fromkeys(names, 70_000) | dict.fromkeys(ticks, 2**32 - draw(st.integers(1, 60_000)))
    totals |= {"user": 10, "idle": 10, "rx_bytes": 10}
    stats = []
    for number, step in enumerate([{}, *growth]):
        for name, value in step.items():
            totals[name] = (totals[name] + value) % 2**32
        both = {"user": 10 + 400 * number, "idle": 10 + 600 * number}
        items: dict[int, list[w.Item]] = {
            1: [
                item(cpu, user=2 * both["user"], idle=2 * both["idle"]),
                item(cpu, **both),
                item(cpu, **both),
            ],
            11: [disk(disks, **{n: totals[n] for n in names + ticks})],
            7: [item(memory, free=300, total=1000, commit=500)],
        }
        if net:
            items[12] = [item(net, name=b"eth0", rx_bytes=10_240 * number)]
        # Before 0x2175 the uptime is in clock ticks of all CPUs, of which two were busy.
        ticks_of_all = 500_000 + number * 1000 * (1 if magic == 0x2175 else 2)
        stats.append(w.Stats(START + 10 * number, ticks_of_all, items, uptime_one=500_000 + number * 1000))
    layouts = [layout for layout in (cpu, memory, disks, net) if layout]
    file = w.SaFile(
        draw(st.permutations(layouts)),
        stats,
        magic=magic,
        order=draw(st.sampled_from("<>")),
        long_bytes=long_bytes,
        has_extra_next=draw(st.booleans()),
        has_zone=draw(st.booleans()),
        record_padding=draw(st.sampled_from((0, 8))) if magic == 0x2175 else 0,
        zone_seconds=draw(st.sampled_from((0, 5400, -18_000))),
        slots={11: 4} if magic != 0x2175 else {},
    )
    return file, growth


@given(files())
@examples(150)
def test_what_is_written_is_read(case: tuple[w.SaFile, list[dict[str, int]]]) -> None:
    file, growth = case
    reading = read(file)
    assert reading.notes == []
    rows = reading.tables["disk"]
    assert len(rows) == len(growth)
    assert rows["interval_s"].tolist() == [10.0] * len(growth)
    assert rows["time"].tolist() == [
        pd.Timestamp(START + 10 * (i + 1), unit="s", tz="UTC") for i in range(len(growth))
    ]
    for row, step in zip(rows.to_dict("records"), growth, strict=True):
        sectors = step["read"] + step["write"] + step.get("discard", 0)
        assert row["device"] == "dev8-0"
        assert row["ios_per_s"] == pytest.approx(step["ios"] / 10)
        assert row["read_kb_per_s"] == pytest.approx(step["read"] / 20)
        assert row["write_kb_per_s"] == pytest.approx(step["write"] / 20)
        waited = step["read_ms"] + step["write_ms"] + step.get("discard_ms", 0)
        assert row["await_ms"] == pytest.approx(waited / step["ios"] if step["ios"] else 0)
        assert row["request_size_kb"] == pytest.approx(sectors / 2 / step["ios"] if step["ios"] else 0)
        assert row["queue_depth"] == pytest.approx(step["queue_ms"] / 10_000)
        assert row["util_pct"] == pytest.approx(step["busy_ms"] / 100)
        assert ("discard_kb_per_s" in row) == ("discard" in step)
        assert ("svctm_ms" in row) == ("discard" not in step)
    cpu = reading.tables["cpu"]
    assert cpu["cpu"].tolist() == ["all", "0", "1"] * len(growth)
    assert cpu["user_pct"].tolist() == pytest.approx([40.0] * len(cpu))
    assert cpu["idle_pct"].tolist() == pytest.approx([60.0] * len(cpu))
    assert set(reading.column("memory", "used_pct")) == {70.0}
    if "network" in reading.tables:
        assert reading.column("network", "rx_kb_per_s") == pytest.approx([1.0] * len(growth))


# --- records that are no statistics, and what is not known ----------------------------------------


@pytest.mark.parametrize("magic", [0x2171, 0x2173, 0x2175])
@pytest.mark.parametrize("extras", [0, 1, 3])
def test_restarts_comments_and_extra_structures(magic: int, extras: int) -> None:
    layout = w.DISK if magic == 0x2175 else w.DISK_OLD
    records: list[w.Record] = [record(n, {11: [disk(layout, ios=n * 50)]}) for n in range(5)]
    records[2:2] = [w.Comment(START + 15, b"na\xc3\xafve; \x07bell\0rest"), w.Restart(START + 16, cpus=8)]
    if magic == 0x2175:
        records.append(w.Extra(START + 60))
    file = w.SaFile([layout], records, magic=magic, extras=extras if magic == 0x2175 else 0)
    reading = read(file)
    rows = reading.tables["disk"]
    assert rows[["segment", "report"]].to_numpy().tolist() == [[0, 0], [1, 0], [1, 1]]
    assert rows["ios_per_s"].tolist() == [5.0, 5.0, 5.0]
    assert [note.text for note in reading.notes] == ["naïve; .bell"]
    assert [section.reports for section in reading.sections] == [1, 2]
    if magic == 0x2175:
        assert [section.cpus for section in reading.sections] == [2, 8]


def test_an_unknown_activity_is_skipped_by_its_size_and_named() -> None:
    foreign = [item(w.FOREIGN, a=1, c=b"xyz")] * 3
    later = w.DISK._replace(id=1, magic=0x99)
    stats = [record(n, {200: foreign[: n + 1], 1: [disk()], 11: [disk(ios=n * 10)]}) for n in range(3)]
    reading = read(w.SaFile([w.FOREIGN, later, w.DISK], stats))
    assert reading.column("disk", "ios_per_s") == [1.0, 1.0]
    (note,) = reading.notes
    assert "200 (revision 0x8a" in note.reason
    assert "1 (revision 0x99" in note.reason


def test_fields_that_a_later_release_appends_are_passed_over() -> None:
    names = w.DISK.names.replace("read write", "a read write").replace("read_ms", "b read_ms") + " d"
    longer = w.DISK._replace(code="4Q4L9I4x", names=names)
    row = one_table(longer, "disk", [disk(longer)], [disk(longer, ios=40, write=80, busy_ms=500)]).iloc[0]
    assert row[["ios_per_s", "write_kb_per_s", "util_pct"]].tolist() == [4.0, 4.0, 5.0]


def test_11_7_1_has_new_structures_under_old_revisions() -> None:
    layout = w.DISK_BEFORE_DISCARDS._replace(magic=0x8B)
    rows = one_table(layout, "disk", [disk(layout)], [disk(layout, ios=40)], version=(11, 7, 1))
    assert rows["ios_per_s"].tolist() == [4.0]


def test_an_uptime_that_went_back_is_a_restart_that_nobody_recorded() -> None:
    stats = [record(n, {11: [disk(ios=10 * n)]}, uptime=u) for n, u in enumerate((90_000, 91_000, 500, 1500))]
    reading = read(w.SaFile([w.DISK], stats))
    assert reading.tables["disk"]["segment"].tolist() == [0, 1]
    assert [note.reason for note in reading.notes] == ["the uptime went back without a RESTART record"]


def test_clocks_that_disagree_are_noted() -> None:
    stats = [record(n, {11: [disk()]}) for n in range(2)]
    (note,) = read(w.SaFile([w.DISK], stats, zone_seconds=421)).notes
    assert "two clocks disagree" in note.reason


@pytest.mark.parametrize("records", [[], [w.Restart(START)], [record(0, {11: [disk()]})]], ids=len)
def test_a_file_without_a_sample_is_refused(records: list[w.Record]) -> None:
    with pytest.raises(FormatError, match=r"sa15@\d+: the file holds no sample, .* give one that sadc"):
        read(w.SaFile([w.DISK], records))
