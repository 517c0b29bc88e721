"""Blank lines between the rows of a table, as pages and mails put them there, change no row."""

from __future__ import annotations

import pytest

from sample_files import SAMPLES
from text_reading import Reading, reading

SAR = (
    "00:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util\n"
)
ROW = "{} {:>12}    516.66 262494.64   6582.34    520.80     23.54     45.57      1.79     92.37\n"


def values(read: Reading) -> list[object]:
    tables = (*read.tables.items(), *read.averages.items())
    return [(family, frame.drop(columns="line").to_dict("list")) for family, frame in tables]


@pytest.mark.parametrize(
    "name",
    [
        "sar/12.*.txt",
        "sar/[4-9]*-A.txt",
        "sar/9.1.7-dubqrBSW-en_US.txt",
        "iostat/12.7.7-*.txt",
        "iostat/9.1.7-x.txt",
        "vmstat/4.0.2-*e.txt",
    ],
)
def test_below_every_row_they_change_none(name: str):
    paths = sorted(SAMPLES.glob(name))
    assert paths
    for path in paths[-4:]:
        text = path.read_text(encoding="utf-8")
        whole = reading(text)
        frames = (*whole.tables.values(), *whole.averages.values())
        rows = {line for frame in frames for line in frame["line"]}
        lines = enumerate(text.split("\n"), 1)
        apart = reading("\n".join(f"{line}\n" if at in rows else line for at, line in lines))
        assert repr(values(apart)) == repr(values(whole)), path
        assert len(apart.unread) == len(whole.unread)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_devices_of_one_time_go_on_below_them(step: int):
    rows = [ROW.format(f"00:{m}0:01", f"dev8-{n}") for m in (1, 2) for n in (0, 16, 32, 48)]
    parts = ["".join(rows[at : at + step]) for at in range(0, len(rows), step)]
    read = reading(SAR + "\n" + "\n".join(parts))
    assert read.disk["device"].tolist() == ["dev8-0", "dev8-16", "dev8-32", "dev8-48"] * 2
    assert read.disk["report"].tolist() == [0] * 4 + [1] * 4
    assert not read.unread


def test_an_item_that_the_time_has_shown_is_of_the_next_section():
    read = reading(SAR + "\n".join(ROW.format("00:10:01", "dev8-0") for _ in range(2)))
    assert read.disk["line"].tolist() == [2]
    assert read.unread == [4]


def test_rows_of_another_kind_are_of_the_next_section():
    block = "".join(ROW.format("00:10:01", name) for name in ("sda", "sdb"))
    other = "".join(ROW.format("00:10:01", name) for name in ("alpha", "beta"))
    read = reading(f"{SAR}{block}\n{other}")
    assert read.disk["device"].tolist() == ["sda", "sdb"]
    assert read.unread == [5, 6]


def test_a_row_of_an_earlier_time_below_averages_is_of_another_section():
    rows = [ROW.format(clock, "sda") for clock in ("00:10:01", "00:20:01", "Average:")]
    read = reading(SAR + "".join(rows) + ROW.format("00:10:01", "alpha"))
    assert read.disk["device"].tolist() == ["sda", "sda"]
    assert read.unread == [5]
