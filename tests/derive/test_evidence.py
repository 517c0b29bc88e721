"""Which lines stand beside a sentence."""

from __future__ import annotations

import pytest

from iodiag.derive.evidence import telling


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
    assert telling(text, lines) == quoted
