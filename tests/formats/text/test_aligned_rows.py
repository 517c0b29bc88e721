"""Rows that stand in columns are read as all others are, whose tokens are looked for."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.numbers import Tokens
from iodiag.formats.text.rows.row_store import RowStore
from property_tests import examples
from sample_files import TEXTS, first_of_each_format
from text_reading import Reading, assert_alike, reading

BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    2.00    3.00    0.00   94.00\n\n"
ENOUGH = 40
"""Rows of one length that are worth a look at their columns."""


def assert_same(text: str) -> Reading:
    """Rows in columns end in the same tables, lines, notes and account as rows of tokens."""
    found = reading(text)
    with patch.object(RowStore, "take_aligned", lambda store, *_: np.arange(len(store.lines))):
        return assert_alike(found, reading(text))


@pytest.mark.parametrize("path", first_of_each_format(TEXTS))
def test_samples(path):
    assert_same(path.read_text(encoding="utf-8", errors="replace") * ENOUGH)


ALIGNED = "Device            r/s     rkB/s   f/s   w/s     wkB/s  %util\n"
ROW = "{:<10}{:>11}{:>10}{:>6}{:>6}{:>10}{:>7}\n"
NUMBER = st.one_of(
    st.floats(0, 1e5).map(lambda value: f"{value:.2f}"),
    st.sampled_from(["0.00", ".05", "100.00", "123456.78", "1234567.00", "99999999.99", "7", "12345678"]),
)
NAME = st.sampled_from(["sda", "nvme0n1", "dm-10", " vg", "sd a", "3", "", "mapper-long"])
DAMAGE = st.tuples(st.integers(0, 10_000), st.sampled_from([*" \t.,-x018", "\x01", "\xa0", "\u2212", ""]))


@examples(300)
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
    assert_same(f"{BANNER}{CPU}{ALIGNED}{sound * ENOUGH}{body}\n")


SAR_HEADERS = {
    "cpu": "        CPU     %user     %nice   %system   %iowait    %steal     %idle",
    "tasks": "       proc/s   cswch/s",
    "disk at the end": "         tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV",
}
HALVES = ("", " AM", " PM")
CLOCK = st.tuples(st.integers(0, 24), st.integers(0, 60), st.integers(0, 62), st.sampled_from(HALVES))
SAR_NAME = st.sampled_from(["all", "0", "17", "sda", "nvme0n1", "a b", "", "12.5"])


@examples(300)
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

    lines = [row("10:00:01" + half, "all", ("1.00",) * 8)] * ENOUGH
    for (hours, minutes, seconds, own), name, *values in rows:
        shown = own if half and own else half
        lines.append(row(f"{hours:02}:{minutes:02}:{seconds:02}{shown}", name, tuple(values)))
    lines += [row("Average:", name, ("2.00",) * 8) for name in ("all", "0")[:averages]]
    body = "".join(lines)
    for place, char in damages:
        at = place % len(body)
        body = body[:at] + char + body[at + 1 :]
    assert_same(f"{BANNER}10:00:00{half} {header}\n{body}\n")


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
        pytest.param("sda              1.75      1.75  1.75   .05         7    .05", id="no decimals in one"),
    ],
)
def test_a_line_that_nearly_stands_in_columns(line: str):
    sound = ROW.format("sdz", *["12.34"] * 6)
    assert len(line) + 1 == len(sound)
    body = f"{sound * ENOUGH}{line}\n{sound}{line}\n"
    assert_same(f"{BANNER}{CPU}{ALIGNED}{body}\n")


def test_names_that_do_not_come_again_are_looked_up_one_by_one():
    names = [f"dm-{number}" for number in range(40_000)]
    rows = "".join(ROW.format(name, *["12.34"] * 6) for name in names)
    assert assert_same(f"{BANNER}{CPU}{ALIGNED}{rows}\n").disk["device"].tolist() == names


def test_what_rows_were_held_against_in_vain_leaves_nothing_behind():
    elsewhere = "{:<10}{:>11}{:>11}{:>5}{:>6}{:>10}{:>7}\n"  # in rows of the same length
    nothing = elsewhere.format("sda", "12.34", "12.34", *["0.00"] * 4)
    count = 20_000  # so many that parts of both are read apart
    rows = ROW.format("sda", *["12.34"] * 6) * count + nothing * count
    found = assert_same(f"{BANNER}{CPU}{ALIGNED}{rows}\n")
    assert found.disk["flushes_per_s"].tolist() == [12.34] * count + [0.0] * count


@pytest.mark.parametrize(
    "clock", ["10:00:05 AX", "10:00:05xAM", "10:00:05 XM", "13:00:05 AM", "1:000:05 PM", "10.00:05 AM"]
)
def test_a_clock_that_is_nearly_one(clock: str):
    rows = [
        f"{lead}       all      1.00      2.00\n"
        for lead in (*["10:00:03 AM"] * ENOUGH, "10:00:04 AM", clock, "10:00:06 AM")
    ]
    header = "10:00:02 AM       CPU     %user     %idle\n"
    assert_same(f"{BANNER}{header}{''.join(rows)}\n")


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
