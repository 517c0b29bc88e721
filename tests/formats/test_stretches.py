"""Long texts: structure taken in repeats and rows in stretches give what a look at every line gives."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows import aligned as _aligned
from iodiag.formats.text.rows import block_rows as _rows
from iodiag.formats.text.rows import row_store as _sheet
from iodiag.formats.text.rows.numbers import Tokens
from iodiag.formats.text.structure import candidates as _candidates
from iodiag.formats.text.structure import walk as _walk
from text_reading import Reading, reading

SAMPLES = Path(__file__).parents[2] / "samples"
TEXTS = sorted(
    path
    for tool in ("iostat", "sar", "vmstat", "mpstat", "cases")
    for path in (SAMPLES / tool).rglob("*.txt")
)
CLOCKS = ("%m/%d/%Y %I:%M:%S %p", "%Y-%m-%dT%H:%M:%S+0200", "%m/%d/%y %H:%M:%S", "Time: %H:%M:%S", "")
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    2.00    3.00    0.00   94.00\n\n"
DISK = "Device            r/s     w/s     rkB/s     wkB/s  %util\n"
LIVE_SAR = "\n{t}        DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n{u}        sda {a:9.2f}      8.00      0.00      4.00      0.00      0.10      0.20\n"


def quick(data: bytes, stretch: int = 1 << 19) -> Reading:
    """What is read when every text counts as a long one, and two rows as aligned."""
    with (
        patch.object(_candidates, "_FEW_LINES", 0),
        patch.object(_rows, "_STRETCH", stretch),
        patch.object(_sheet, "_FEWEST_ALIKE", 1),
    ):
        return reading(data)


def careful(data: bytes) -> Reading:
    """What is read when the tokens of every row are looked for."""
    with patch.object(_sheet, "_FEWEST_ALIKE", len(data) + 1):
        return reading(data)


def assert_same(data: bytes, stretch: int = 1 << 19) -> Reading:
    """Both ways of reading end in the same tables, lines, notes and account."""
    return assert_alike(careful(data), quick(data, stretch))


def assert_alike(slow: Reading, other: Reading) -> Reading:
    for ours, theirs in ((slow.tables, other.tables), (slow.averages, other.averages)):
        assert list(ours) == list(theirs)
        for family, frame in ours.items():
            pd.testing.assert_frame_equal(frame, theirs[family], check_exact=True)
    assert slow.notes == other.notes
    assert slow.sections == other.sections
    assert slow.counts == other.counts
    return other


def reports(clock: str, count: int, step_s: int = 61) -> str:
    """iostat -xt of two disks, over hours, noons and midnights."""
    parts = ["Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"]
    for moment in pd.date_range("2026-11-20 21:00:07", periods=count, freq=f"{step_s}s"):
        shown = f"{moment.strftime(clock)}\n" if clock else ""
        rows = "".join(f"{name:<13}{moment.second:8.2f} 1.00 2.00 3.00 4.00\n" for name in ("sda", "nvme0n1"))
        parts.append(f"{shown}{CPU}{DISK}{rows}\n\n")
    return "".join(parts)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_samples(path: Path):
    assert_same(path.read_bytes(), stretch=997)


@pytest.mark.parametrize("stretch", [1, 2, 7, 64, 300, 1000])
def test_stretches_of_every_size(stretch: int):
    assert_same(reports(CLOCKS[0], 12).encode(), stretch)
    assert_same((SAMPLES / "sar" / "12.7.7-dx.txt").read_bytes(), stretch)


@pytest.mark.parametrize("clock", CLOCKS)
def test_repeats_are_taken_together_and_keep_their_clocks(clock: str):
    text = reports(clock, 400)
    visits = 0

    def counted(*args):
        nonlocal visits
        visits += 1
        return visit(*args)

    visit = _walk._visit
    assert_same(text.encode())
    with patch.object(_walk, "_visit", counted):
        read = quick(text.encode())
    assert visits < text.count("\n") / 20
    assert len(read.disk) == 800
    assert read.disk["report"].tolist() == [n for n in range(400) for _ in range(2)]


def test_live_sar_repeats_its_header_with_a_new_clock():
    parts = ["Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n"]
    for n, moment in enumerate(pd.date_range("2026-11-20 22:30:00", periods=300, freq="30s")):
        later = moment + pd.Timedelta("30s")
        parts.append(LIVE_SAR.format(t=f"{moment:%H:%M:%S}", u=f"{later:%H:%M:%S}", a=float(n)))
    disk = assert_same("".join(parts).encode()).disk
    assert disk["time"].diff().dropna().unique().tolist() == [pd.Timedelta("30s")]
    assert str(disk["time"].iloc[-1]) == "2026-11-21 01:00:00"


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(CLOCKS), st.integers(1, 4))
@example(219, CLOCKS[3], 2)  # a clock without a report's header below it ends a round of lines
def test_damage_anywhere(seed: int, clock: str, damages: int):
    lines = reports(clock, 30).split("\n")
    choose = random.Random(seed)
    for _ in range(damages):
        at = choose.randrange(len(lines))
        other = choose.randrange(len(lines))
        lines[at : at + 1] = choose.choice(
            [
                [],
                [lines[at], lines[other]],
                [lines[at][: choose.randrange(len(lines[at]) + 1)]],
                [lines[at].replace(".", ",")],
                [f"{lines[at]}\r"],
                ["Then the backup began."],
                [lines[at].replace("0", "x", 1)],
                ["", lines[at]],
            ]
        )
    assert_same("\n".join(lines).encode(), stretch=choose.choice([64, 500, 1 << 19]))


ALIGNED = "Device            r/s     rkB/s   f/s   w/s     wkB/s  %util\n"
ROW = "{:<10}{:>11}{:>10}{:>6}{:>6}{:>10}{:>7}\n"
NUMBER = st.one_of(
    st.floats(0, 1e5).map(lambda value: f"{value:.2f}"),
    st.sampled_from(["0.00", ".05", "100.00", "123456.78", "1234567.00", "99999999.99", "7", "12345678"]),
)
NAME = st.sampled_from(["sda", "nvme0n1", "dm-10", " vg", "sd a", "3", "", "mapper-long"])
DAMAGE = st.tuples(st.integers(0, 10_000), st.sampled_from([*" \t.,-x018", "\x01", "\xa0", "\u2212", ""]))


@settings(max_examples=300)
@given(
    st.lists(st.tuples(NAME, *[NUMBER] * 6), min_size=1, max_size=12),
    st.lists(DAMAGE, max_size=4),
    st.booleans(),
)
def test_rows_in_columns_are_read_as_others_are(
    rows: list[tuple[str, ...]], damages: list[tuple[int, str]], has_comma: bool
):
    body = "".join(ROW.format(*row) for row in rows)
    body = body.replace(".", ",") if has_comma else body
    for place, char in damages:
        at = place % len(body)
        body = body[:at] + char + body[at + 1 :]
    sound = ROW.format("sdz", *["12.34"] * 6)
    data = f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n{CPU}{ALIGNED}{sound}{body}\n".encode()
    with patch.object(_sheet, "_FEWEST_ALIKE", 1):
        assert_alike(careful(data), reading(data))


SAR_HEADERS = {
    "cpu": "        CPU     %user     %nice   %system   %iowait    %steal     %idle",
    "tasks": "       proc/s   cswch/s",
    "disk at the end": "         tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV",
}
HALVES = ("", " AM", " PM")
CLOCK = st.tuples(st.integers(0, 24), st.integers(0, 60), st.integers(0, 62), st.sampled_from(HALVES))
SAR_NAME = st.sampled_from(["all", "0", "17", "sda", "nvme0n1", "a b", "", "12.5"])


@settings(max_examples=300)
@given(
    st.sampled_from(list(SAR_HEADERS)),
    st.sampled_from(HALVES[:2]),
    st.lists(st.tuples(CLOCK, SAR_NAME, *[NUMBER] * 8), min_size=1, max_size=12),
    st.lists(DAMAGE, max_size=4),
    st.integers(0, 2),
)
def test_rows_with_clocks_are_read_as_others_are(
    section: str, half: str, rows: list[tuple], damages: list[tuple[int, str]], averages: int
):
    header = SAR_HEADERS[section]
    size = len(header.split()) - (section != "tasks")

    def row(lead: str, name: str, values: tuple[str, ...]) -> str:
        cells = "".join(f"{value:>10}" for value in values[:size])
        front = f"{name:>10}" if section == "cpu" else ""
        return f"{lead:<11}{front}{cells}{f' {name}' if section == 'disk at the end' else ''}\n"

    lines = [row("10:00:01" + half, "all", ("1.00",) * 8)]
    for (hours, minutes, seconds, own), name, *values in rows:
        shown = own if half and own else half
        lines.append(row(f"{hours:02}:{minutes:02}:{seconds:02}{shown}", name, tuple(values)))
    lines += [row("Average:", name, ("2.00",) * 8) for name in ("all", "0")[:averages]]
    body = "".join(lines)
    for place, char in damages:
        at = place % len(body)
        body = body[:at] + char + body[at + 1 :]
    data = f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n10:00:00{half} {header}\n{body}\n".encode()
    with patch.object(_sheet, "_FEWEST_ALIKE", 1):
        assert_alike(careful(data), reading(data))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("mapper-longer12345.78      2.00  1.00  3.00     4 .00   5.00", id="a name in a number"),
        pytest.param(
            "sda              1.00      2.00  1.00  3.00     4 .00   5.00", id="a blank in a number"
        ),
        pytest.param(
            "sd a             1.00      2.00  1.00  3.00      4.00   5.00", id="a name of two words"
        ),
        pytest.param("                 1.00      2.00  1.00  3.00      4.00   5.00", id="no name"),
        pytest.param(
            "                 1.00      2.00  1.00  3.00     4 .00   5.00", id="no name and a blank"
        ),
        pytest.param("sda       123456789012     2.00  1.00  3.00      4.00   5.00", id="a long number"),
        pytest.param("sda              1,00      2.00  1.00  3.00      4.00   5.00", id="another sign"),
        pytest.param("sda              1.00      2.00  1.00  3.0       4.00   5.00", id="a digit less"),
    ],
)
def test_a_line_that_nearly_stands_in_columns(line: str):
    sound = ROW.format("sdz", *["12.34"] * 6)
    assert len(line) + 1 == len(sound)
    body = f"{sound * 3}{line}\n{sound}{line}\n"
    assert_same(f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n{CPU}{ALIGNED}{body}\n".encode())


def test_names_that_do_not_come_again_are_looked_up_one_by_one():
    rows = "".join(ROW.format(f"dm-{number}", *["12.34"] * 6) for number in range(40))
    data = f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n{CPU}{ALIGNED}{rows}\n".encode()
    with patch.object(_aligned, "_MOST_CELLS", 9):
        read = assert_same(data, stretch=300)
    assert read.disk["device"].tolist() == [f"dm-{number}" for number in range(40)]


def test_what_rows_were_held_against_in_vain_leaves_nothing_behind():
    elsewhere = "{:<10}{:>11}{:>11}{:>5}{:>6}{:>10}{:>7}\n"  # in rows of the same length
    nothing = elsewhere.format("sda", "12.34", "12.34", *["0.00"] * 4)
    rows = ROW.format("sda", *["12.34"] * 6) * 12 + nothing * 12
    data = f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n{CPU}{ALIGNED}{rows}\n".encode()
    assert assert_same(data, stretch=300).disk["flushes_per_s"].tolist() == [12.34] * 12 + [0.0] * 12


@pytest.mark.parametrize(
    "clock", ["10:00:05 AX", "10:00:05xAM", "10:00:05 XM", "13:00:05 AM", "1:000:05 PM", "10.00:05 AM"]
)
def test_a_clock_that_is_nearly_one(clock: str):
    rows = [
        f"{lead}       all      1.00      2.00\n"
        for lead in ("10:00:03 AM", "10:00:04 AM", clock, "10:00:06 AM")
    ]
    header = "10:00:02 AM       CPU     %user     %idle\n"
    data = f"Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n{header}{''.join(rows)}\n".encode()
    with patch.object(_sheet, "_FEWEST_ALIKE", 1):
        assert_alike(careful(data), reading(data))


PRINTED = st.one_of(
    st.from_regex(r"[0-9]{1,18}", fullmatch=True),
    st.from_regex(r"[0-9]{0,16}[.][0-9]{1,6}", fullmatch=True),
    st.floats(0, 1e13).map(lambda value: f"{value:.2f}"),
    st.sampled_from(["-0.50", "-", "nan", "1e5", "1.", ".", "5%", "1.2.3", "12:00", "0x1"]),
)


@given(st.lists(PRINTED, min_size=1, max_size=40), st.booleans())
def test_every_printed_number_is_float_s(words: list[str], has_comma: bool):
    if has_comma:
        words = [word.replace(".", ",") if len(word.partition(".")[2]) <= 2 else word for word in words]
    text = Text.of(f"{' '.join(words)}\n".encode())
    printed = Tokens(text, np.array([0])).printed(np.arange(len(words)))
    for place, word in enumerate(words):
        plain = word.removesuffix("%").replace(",", ".")
        if plain.replace(".", "", 1).removeprefix("-").isdigit() and not plain.endswith("."):
            assert printed.value[place] == float(plain), word
            assert not printed.is_bad[place]
            if printed.is_plain[place]:
                assert printed.decimals[place] == len(plain.partition(".")[2])
                assert (printed.has_comma[place], printed.has_point[place]) == ("," in word, "." in word)
        else:
            assert np.isnan(printed.value[place])
            assert printed.is_bad[place] == (word not in ("-", "nan"))


@pytest.mark.parametrize(
    ("between", "tokens"),
    [
        pytest.param("Device r/s w/s", 9, id="a header is looked at with the rows around it"),
        pytest.param("x " * 10_000, 6, id="a long line between two rows is not taken apart"),
    ],
)
def test_tokens_of_some_lines_are_theirs_whatever_stands_between(between, tokens):
    text = Text.of(f"sda 1.00 2.00\n{between}\nsdb 3.00 4.00\n".encode())
    lines = np.array([0, 2])
    found = Tokens(text, lines)
    assert found.counts(lines).tolist() == [3, 3]
    assert found.words(found.begins(lines)) == ["sda", "sdb"]
    assert len(found.starts) == tokens
