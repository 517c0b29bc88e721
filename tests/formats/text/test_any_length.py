"""What stands before and after a block, however long, changes neither its rows nor its account."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iodiag.errors import UnknownFormat
from iodiag.formats.text.clean.lines import Text, clean
from iodiag.formats.text.structure import walk as _walk
from iodiag.formats.text.structure.banners import TOOLS, names_tool
from iodiag.formats.text.structure.candidates import certain_rows
from iodiag.formats.text.structure.headers import numeric_share
from property_tests import examples
from sample_files import SAMPLES, TEXTS, first_of_each_format
from text_reading import Reading, assert_alike, reading

CLOCKS = ("%m/%d/%Y %I:%M:%S %p", "%Y-%m-%dT%H:%M:%S+0200", "%m/%d/%y %H:%M:%S", "Time: %H:%M:%S", "")
BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    2.00    3.00    0.00   94.00\n\n"
DISK = "Device            r/s     w/s     rkB/s     wkB/s  %util\n"
LIVE_SAR = "\n{t}        DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n{u}        sda {a:9.2f}      8.00      0.00      4.00      0.00      0.10      0.20\n"
IN_TWO_PARTS = "Device: r/s w/s\nsda 2.00 3.00\n\n        rkB/s wkB/s\n        7.00 8.00\n"


def reports(clock: str, count: int, step_s: int = 61) -> str:
    """iostat -xt of two disks, over hours, noons and midnights."""
    parts = [BANNER]
    for moment in pd.date_range("2026-11-20 21:00:07", periods=count, freq=f"{step_s}s"):
        shown = f"{moment.strftime(clock)}\n" if clock else ""
        rows = "".join(f"{name:<13}{moment.second:8.2f} 1.00 2.00 3.00 4.00\n" for name in ("sda", "nvme0n1"))
        parts.append(f"{shown}{CPU}{DISK}{rows}\n\n")
    return "".join(parts)


def solid(text: Text) -> np.ndarray:
    return np.flatnonzero(~text.is_blank)


def assert_as_visited(text: str) -> Reading:
    """What is read is what a visit of every line finds."""
    found = reading(text)
    with patch.object(_walk, "candidates", solid):
        return assert_alike(found, reading(text))


DRESSES: dict[str, Callable[[str], str]] = {
    "plain": lambda line: line,
    "mail": lambda line: f"> {line}",
    "a collector's prefix": lambda line: f"Nov 20 12:00:01 web1 iostat[712]: {line}",
    "a host's prefix": lambda line: f"web1: {line}",
    "line numbers": lambda line: f"17 {line}",
    "a list of strings": lambda line: f'    "{line}",',
    "a page": lambda line: f"{line.replace('<', '&lt;')}<br>",
    "a wiki's table": lambda line: "| " + " | ".join(line.split()) + " |" if line.strip() else line,
    "a terminal": lambda line: f"\x1b[1m{line}\x1b[0m\r",
    "printable": lambda line: line.replace("=", "=3D") + "=20",
}


def damaged(text: str, seed: int, damages: int) -> str:
    """A text with lines replaced, doubled, cut, said between and spoiled."""
    lines = text.split("\n")
    choose = random.Random(seed)
    for _ in range(damages):
        at, other = choose.randrange(len(lines)), choose.randrange(len(lines))
        lines[at : at + 1] = choose.choice(
            [
                [lines[other]],
                [lines[at], lines[other]],
                [lines[at][: choose.randrange(len(lines[at]) + 1)]],
                [lines[at].replace(".", ",")],
                [f"{lines[at]}\r"],
                ["Then the backup began."],
                [lines[at].replace("0", "x", 1)],
                ["", lines[at]],
                [f"   {lines[at]}"],
            ]
        )
    return "\n".join(lines)


PROSE = "Then the backup began, and all of us waited for it.\n"
AROUND: dict[str, Callable[[int], str]] = {
    "a capture": lambda size: f"\n{reports(CLOCKS[2], size)}\n{PROSE}\n",
    "prose": lambda size: f"\n{PROSE * size}\n",
    "a capture and prose": lambda size: f"\n{reports(CLOCKS[3], size)}\n{PROSE * size}\n",
}


def rows_of(found: Reading, first: int, last: int) -> dict[tuple[str, bool], list[tuple]]:
    """The rows of some lines by table, without the columns that count what is around them."""
    result = {}
    for is_average, tables in ((False, found.tables), (True, found.averages)):
        for family, frame in tables.items():
            own = frame[frame["line"].between(first, last)]
            front = ["source", "host", "time", "interval_s", "segment", "report", "since_boot"]
            front += ["phase", "phase_label"]
            rows = (
                own.drop(columns=front, errors="ignore")
                .assign(line=own["line"] - first)
                .dropna(axis=1, how="all")
            )
            if len(rows):
                result[family, is_average] = [tuple(rows.columns), *map(str, rows.itertuples(index=False))]
    return result


def noted(found: Reading, first: int, last: int) -> list[tuple[int, str]]:
    return [
        (note.line - first, note.text)
        for note in found.notes
        if note.is_unread and first <= note.line <= last
    ]


@lru_cache(maxsize=4)
def around(kind: str, size: int) -> tuple[str, dict[str, int]]:
    """A text to stand around a block, and its account alone."""
    text = AROUND[kind](size)
    return text, reading(text).counts


def assert_lengths_do_not_matter(block: str, kind: str, short: int, long: int, after: int) -> None:
    """A block has the same rows, notes and share of the account between short texts and long ones."""
    lines = block.count("\n") + 1
    seen = []
    for size, rest in ((short, short), (long, after)):
        (before, first_alone), (behind, last_alone) = around(kind, size), around(kind, rest)
        found = reading(f"{before}{block}\n{behind}")
        first = before.count("\n") + 1
        account = Counter(found.counts)
        account.subtract(first_alone)
        account.subtract(last_alone)
        counts = {name: count for name, count in account.items() if count}
        seen.append((rows_of(found, first, first + lines), noted(found, first, first + lines), counts))
    assert seen[0] == seen[1]


def test_a_table_in_two_parts_below_a_long_capture_and_prose():
    before = reports(CLOCKS[0], 1800) + PROSE * 5000
    disk = reading(before + IN_TWO_PARTS).disk
    last = disk.iloc[-1]
    assert (last["reads_per_s"], last["read_kb_per_s"], last["write_kb_per_s"]) == (2.0, 7.0, 8.0)


SHORT = [path for path in TEXTS if path.read_bytes().count(b"\n") < 400]


@pytest.mark.parametrize("path", first_of_each_format(SHORT))
def test_samples_between_texts_of_any_length(path: Path):
    block = path.read_text(encoding="utf-8", errors="replace")
    assert_lengths_do_not_matter(block, "a capture and prose", 3, 600, 200)


@pytest.mark.slow
@examples(40)
@given(
    path=st.sampled_from(TEXTS),
    dress=st.sampled_from(list(DRESSES)),
    kind=st.sampled_from(list(AROUND)),
    seed=st.integers(0, 2**32),
    damages=st.integers(0, 4),
    long=st.integers(100, 4000),
    after=st.integers(1, 300),
)
def test_dressed_and_damaged_blocks_between_texts_of_any_length(
    path: Path, dress: str, kind: str, seed: int, damages: int, long: int, after: int
):
    text = damaged(path.read_text(encoding="utf-8", errors="replace")[:20_000], seed, damages)
    block = "\n".join(map(DRESSES[dress], text.split("\n")))
    assert_lengths_do_not_matter(block, kind, 2, long, after)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_visit_of_every_line_finds_nothing_else_in_samples(path: Path):
    try:
        assert_as_visited(path.read_text(encoding="utf-8", errors="replace"))
    except UnknownFormat:
        return


@examples(100)
@given(
    st.sampled_from(TEXTS),
    st.sampled_from(list(DRESSES)),
    st.integers(0, 2**32),
    st.integers(1, 6),
)
# blank lines of a block that is not read whole
@example(SAMPLES / "nfsiostat" / "2.6.2-page-cache.txt", "printable", 1, 1)
def test_a_visit_of_every_line_finds_nothing_else_in_damaged_samples(
    path: Path, dress: str, seed: int, damages: int
):
    text = damaged(path.read_text(encoding="utf-8", errors="replace")[:20_000], seed, damages)
    assert_as_visited("\n".join(map(DRESSES[dress], text.split("\n"))))


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from(CLOCKS), st.integers(1, 4))
@example(219, CLOCKS[3], 2)  # a clock without a report's header below it ends a round of lines
def test_a_visit_of_every_line_finds_nothing_else_in_damaged_reports(seed: int, clock: str, damages: int):
    assert_as_visited(damaged(reports(clock, 30), seed, damages))


WORDS = st.one_of(
    st.sampled_from(
        [
            "sda",
            "12:00:01",
            "PM",
            "COM",
            "LINUX",
            "RESTART",
            "iostat",
            "/usr/bin/sar",
            "r",
            "Device",
            "1.5",
            "0",
            "7,5",
        ]
    ),
    st.sampled_from(
        [".", ".5", ",", "-3", "12k", "5%", "1..2", "1" * 40, "\x1c", "1\x1c2", "\x85", "a\u2028b", "ü", "é1"]
    ),
    st.floats(0, 1e5).map(lambda value: f"{value:.2f}"),
    st.text(max_size=6),
)


@given(st.lists(st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\t"])), max_size=12), max_size=6))
def test_certain_rows_are_rows_to_the_walk(lines: list[list[tuple[str, str]]]):
    text = clean("\n".join("".join(map("".join, line)) for line in lines).encode("utf-8", "replace"))
    for index in np.flatnonzero(certain_rows(text)).tolist():
        line = text.line(index)
        words = line.split()
        assert len(words) >= 3
        assert numeric_share(words) >= 0.5
        assert not names_tool(line)
        assert not _walk._RESTART.match(line)
        assert not _walk._COMMENT.match(line)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("rest", ["", " 1 2 3"])
def test_a_line_that_names_a_tool_is_no_certain_row(tool: str, place: int, rest: str):
    words = ["1", "2", "3", "4"]
    words.insert(place, tool)
    text = Text.of(f"{' '.join(words)}{rest}\n1 2 3\n".encode())
    assert certain_rows(text).tolist() == [False, True]


@pytest.mark.parametrize("clock", CLOCKS)
def test_repeats_are_taken_together_and_keep_their_clocks(clock: str):
    text = reports(clock, 400)
    visits = 0

    def counted(*args):
        nonlocal visits
        visits += 1
        return visit(*args)

    visit = _walk._visit
    with patch.object(_walk, "_visit", counted):
        read = reading(text)
    assert visits < text.count("\n") / 20
    assert_as_visited(text)
    assert len(read.disk) == 800
    assert read.disk["report"].tolist() == [n for n in range(400) for _ in range(2)]


def test_live_sar_repeats_its_header_with_a_new_clock():
    parts = ["Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n"]
    for n, moment in enumerate(pd.date_range("2026-11-20 22:30:00", periods=300, freq="30s")):
        later = moment + pd.Timedelta("30s")
        parts.append(LIVE_SAR.format(t=f"{moment:%H:%M:%S}", u=f"{later:%H:%M:%S}", a=float(n)))
    disk = assert_as_visited("".join(parts)).disk
    assert disk["time"].diff().dropna().unique().tolist() == [pd.Timedelta("30s")]
    assert str(disk["time"].iloc[-1]) == "2026-11-21 01:00:00"


def test_rows_in_some_rounds_only():
    """A header with no row below it in one round of many has none to be the left half of."""
    with_rows = f"Time: 10:00:00\n{DISK}\n\n\n\nsda 1.00 2.00 3.00 4.00 5.00\n\naqu-sz\n1.50\n\n"
    without = f"Time: 10:00:00\n{DISK}\n\n\n\n\naqu-sz\n1.50\n\n"
    assert_as_visited(BANNER + with_rows * 6 + without + with_rows * 6)


def test_a_name_alone_is_a_row_by_the_numbers_below_it():
    sure = f"Time: 10:00:00\n{DISK}sda\n   1.00 2.00 3.00 4.00 5.00\n\n"
    unsure = f"Time: 10:00:00\n{DISK}sda\n   some 2.00 3.00 4.00 5.00\n\n"
    assert_as_visited(BANNER + sure * 8 + unsure * 2 + sure * 4)
