"""Which lines stand beside a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from iodiag.analysis.measure.evidence import best_matching_lines, cite, say
from iodiag.table.table import Table
from iodiag.table.texts import Texts


@pytest.mark.parametrize(
    ("text", "lines", "quoted"),
    [
        (
            "sync_binlog = 1, flush_log = 2",
            ["datadir /srv", "flush_log 2", "other 7", "sync_binlog 1"],
            [1, 3],
        ),
        ("35.02 transactions/s", ["threads: 64", "transactions: 2139 (35.02 per sec.)", "x 35.02"], [1, 2]),
        ("1,670 kB/s of reads", ["writes 5", "moved 1670"], [1]),
        ("9 of 11 sessions were in COMMIT", ["| Id |", "| 3 | COMMIT |", "| 4 | sort |"], [1]),
        ("nothing in common", ["a", "b", "c", "d"], [0, 1, 2]),
        ("the same word", ["the same word", "the same word"], [0, 1]),
        ("no lines", [], []),
    ],
)
def test_the_lines_that_share_most_with_a_sentence_are_quoted(text, lines, quoted):
    assert best_matching_lines(text, lines) == quoted


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{device}: {rate} requests/s", "sda: 1,234 requests/s"),
        ("{share:.1f} % of {{all}}", "3.1 % of {all}"),
        ("{is_known} and {few}", "True and 2"),
        ("{device} is busy, {unknown} of {few}; {share:.1f} %.", "sda is busy; 3.1 %."),
        ("{few} are in flight, {endless:.0f} ms each.", "2 are in flight."),
        ("{few} (of {share:.1f}, {unknown} lost)", "2 (of 3.1, unknown lost)"),
        ("{unknown:.1f} ms and {endless} s", "unknown ms and unbounded s"),
        ("no number", "no number"),
        (
            "in {one} samples, {one} spinning disks, {one} of {few} samples",
            "in 1 sample, 1 spinning disk, 1 of 2 samples",
        ),
        ("{one} requests/s, sda{one:g} lines, {point:.1f} tasks", "1 requests/s, sda1 lines, 0.1 tasks"),
    ],
)
def test_a_sentence_has_its_values(template, sentence):
    values = {
        "device": "sda",
        "rate": 1234.4,
        "share": 3.14159,
        "is_known": True,
        "few": 2,
        "one": 1.0,
        "point": 0.1,
        "unknown": np.nan,
        "endless": np.inf,
    }
    assert say(template, values) == sentence


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (24.96, 25.14, "with 25 to 25.1 in flight"),
        (24.951, 24.952, "with 25 in flight"),
        (2.0, 20.0, "with 2 to 20 in flight"),
    ],
)
def test_a_range_whose_ends_print_alike_is_one_number(low, high, sentence):
    text = "with {low:.3g} to {high:.3g} in flight"
    assert say(text, {"low": low, "high": high}) == sentence


def test_a_step_between_numbers_that_print_alike_remains_a_step():
    assert say("from {a} to {a}; sda1 to 10", {"a": 3}) == "from 3 to 3; sda1 to 10"


def test_a_sentence_without_a_value_for_its_name_is_refused():
    with pytest.raises(KeyError, match="rate"):
        say("{rate} requests/s", {})


@pytest.mark.parametrize(
    ("waits", "quoted"),
    [
        ([1.0, 9.0, 9.0, 2.0], [20, 10, 40]),
        ([np.nan, 3.0, np.nan, 2.0], [20, 10, 40]),
        ([np.nan, -np.inf, np.nan, np.nan], [20, 10, 40]),
        ([np.nan, np.nan, np.nan, np.nan], [10, 40]),
        ([7.0, 3.0, np.nan, 2.0], [10, 40]),
    ],
)
def test_the_first_of_the_worst_known_rows_is_quoted_and_the_first_and_the_last(waits, quoted):
    columns = {"source": Texts.same("a.txt", 4), "line": np.array([10, 20, 30, 40]), "wait": np.array(waits)}
    evidence = cite(Table.of_columns(columns, 4), "rows wait", worst="wait")
    assert [quote.line for quote in evidence.quotes] == quoted
