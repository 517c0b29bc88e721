"""Numbers written as a tool prints them, and read again: equal, each at its line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.tables.iostat_text import layout
from iodiag.formats.tables.sar_text import layout as sar_layout
from text_reading import reading
from writers import iostat_writer, sar_writer, vmstat_writer

BANNER = "Linux 5.14.0 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)"
NUMBER = st.one_of(
    st.integers(0, 2_000_000).map(lambda n: n / 100),
    st.just(0.0),
    st.integers(0, 10**13).map(lambda n: n / 100),
)
NAME = st.from_regex(
    r"(?:sd[a-z]{1,2}|nvme\d{1,2}n1|dm-\d{1,3}|md\d{1,3}|vg\d-[a-z_]{1,20}|cciss/c0d\d)", fullmatch=True
)
NAMES = st.lists(NAME, min_size=1, max_size=4, unique=True)
SHAPES = {
    "first": iostat_writer.Shape((), device="Device:"),
    "last": iostat_writer.Shape((), is_last=True),
    "comma": iostat_writer.Shape((), decimal=","),
    "alone": iostat_writer.Shape((), name_alone=True),
    "parts": iostat_writer.Shape((), is_last=True, is_in_parts=True),
}
CASES = [
    (name, shape) for name in iostat_writer.LAYOUTS for shape in SHAPES if shape != "parts" or name == "X6"
]
SECTIONS = [
    "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
    "DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil",
    "CPU %user %nice %system %iowait %steal %idle",
    "tps rtps wtps bread/s bwrtn/s",
    "pgpgin/s pgpgout/s fault/s majflt/s",
]


@given(data=st.data())
def test_iostat(data: st.DataObject):
    name, shape = data.draw(st.sampled_from(CASES))
    unit = data.draw(st.sampled_from(["sec", "kB", "MB"]))
    words = iostat_writer.words(name, unit)
    devices = data.draw(NAMES)
    reports = [
        [
            (
                device,
                dict(
                    zip(
                        words,
                        data.draw(st.lists(NUMBER, min_size=len(words), max_size=len(words))),
                        strict=True,
                    )
                ),
            )
            for device in devices
        ]
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    clocks = [f"11/20/2026 12:00:{5 * number:02}" for number in range(len(reports))]
    text, lines = iostat_writer.write(reports, replace(SHAPES[shape], words=words), clocks, BANNER)
    read = reading(text)
    disk = read.disk
    assert disk["device"].tolist() == devices * len(reports)
    assert disk["line"].tolist() == lines
    assert disk["report"].tolist() == [number for number in range(len(reports)) for _ in devices]
    assert disk["time"].iloc[-1] == pd.Timestamp("2026-11-20 12:00") + pd.Timedelta(
        seconds=5 * (len(reports) - 1)
    )
    found = layout(("Device", *words))
    assert found is not None
    # X1 prints throughput in sectors and in kB: the later one is kept
    kept = {column.column: (word, column) for word, column in zip(words, found.columns, strict=True)}
    for word, column in kept.values():
        if column.column is not None:
            is_total = word.endswith(("_read", "_wrtn", "_dscd"))
            printed = [round(row[word]) if is_total else row[word] for report in reports for _, row in report]
            np.testing.assert_allclose(disk[column.column], np.array(printed) * column.factor, rtol=1e-12)
    assert not read.unread


@given(data=st.data())
def test_sar(data: st.DataObject):
    words = data.draw(st.sampled_from(SECTIONS))
    is_last, is_american = data.draw(st.booleans()), data.draw(st.booleans())
    names = tuple(words.split())
    key = names[0] if names[0].isupper() else ""
    values = names[1:] if key else names
    items = data.draw(NAMES) if key else [""]
    began, step = data.draw(st.integers(0, 86399)), data.draw(st.sampled_from([1, 10, 600]))
    times = [began + step * number for number in range(1, data.draw(st.integers(2, 5)))]
    shares = {place for place, word in enumerate(values) if word[0] == "%"}
    most = 4.0 if key == "CPU" else 100.0  # those of a CPU's time are of one whole, idle for the most part
    row = st.lists(NUMBER, min_size=len(values), max_size=len(values)).map(
        lambda cells: tuple(
            min(cell, most) + 60 * (key == "CPU" and values[place] == "%idle") if place in shares else cell
            for place, cell in enumerate(cells)
        )
    )
    samples = tuple(
        (sar_writer.clock(time, is_american), item, data.draw(row)) for time in times for item in items
    )
    decimal = data.draw(st.sampled_from([".", ","]))
    label = data.draw(st.sampled_from(["Average:", "Moyenne :", "平均时间:", "Durchschn.:"]))
    section = sar_writer.Section(values, samples, key, is_last and bool(key), label)
    text, lines = sar_writer.write([section], sar_writer.clock(began, is_american), BANNER, decimal)
    read = reading(text)
    found = sar_layout((key, *values) if key else values)
    assert found is not None
    table = read.tables[found.family]
    assert table["line"].tolist() == lines[0]
    day = pd.Timestamp("2026-11-20")
    assert table["time"].tolist() == [day + pd.Timedelta(seconds=time) for time in times for _ in items]
    assert (table["interval_s"] == step).all()
    for place, column in enumerate(found.columns):
        if column.column is not None:
            expected = [sample[2][place] * column.factor for sample in samples]
            np.testing.assert_allclose(table[column.column], expected, rtol=1e-12)
            assert read.averages[found.family][column.column].tolist() == pytest.approx(expected[-1:])
    if found.key:
        assert table[found.key].tolist() == [sample[1] for sample in samples]
    assert not read.unread


@given(data=st.data())
def test_vmstat(data: st.DataObject):
    generation = data.draw(st.sampled_from(list(vmstat_writer.WORDS)))
    words = vmstat_writer.WORDS[generation].split()
    shares = ("us", "sy", "id", "wa", "st", "gu")
    row = st.tuples(*(st.integers(0, 100 if word in shares else 10**9) for word in words)).map(list)
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    clocks = (
        [f"2026-11-20 12:00:{number:02}" for number in range(len(rows))] if data.draw(st.booleans()) else []
    )
    text, lines = vmstat_writer.write(
        rows, words, data.draw(st.integers(2, 9)), clocks, "CET" if clocks else ""
    )
    read = reading(text)
    assert read.tables["queue"]["line"].tolist() == lines
    assert read.tables["queue"]["run_queue"].tolist() == [row[0] for row in rows]
    assert read.tables["cpu"]["idle_pct"].tolist() == [row[words.index("id")] for row in rows]
    assert read.tables["paging"]["pgpgout_kb_per_s"].tolist() == [row[words.index("bo")] for row in rows]
    assert read.tables["queue"]["time"].notna().all() == bool(clocks)
    assert not read.unread


@given(st.lists(st.sampled_from(["iostat", "sar", "vmstat", "prose"]), min_size=1, max_size=6))
def test_captures_of_several_tools_in_one_text(kinds: list[str]):
    words = iostat_writer.words("X6")
    iostat, _ = iostat_writer.write(
        [[("sda", dict.fromkeys(words, 1.0))]], iostat_writer.Shape(words), banner=BANNER
    )
    section = sar_writer.Section(
        ("pswpin/s", "pswpout/s"), (("12:00:10", "", (1.0, 2.0)),), average="Average:"
    )
    sar, _ = sar_writer.write([section], "12:00:00", BANNER)
    vmstat, _ = vmstat_writer.write([[1] * 17], vmstat_writer.WORDS["3.0"].split())
    texts = {
        "iostat": iostat,
        "sar": sar,
        "vmstat": f"$ vmstat 1\n{vmstat}",
        "prose": "And then it was slow.\n\n",
    }
    read = reading("".join(texts[kind] for kind in kinds))
    counts = {"iostat": len(read.tables.get("disk", ())), "vmstat": len(read.tables.get("queue", ()))}
    assert counts == {kind: kinds.count(kind) for kind in counts}
    assert len(read.averages.get("swapping", ())) == kinds.count("sar")
    assert not read.unread
