import pytest

from iodiag.formats.context.mysql_variables import FORMAT
from reading import blocks_of

FLUSH = "innodb_flush_log_at_trx_commit"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            f"datadir\t/mnt/db/\n{FLUSH}\t1\nlog_bin\tON\nsync_binlog\t0\nversion\t10.11.18-MariaDB\n",
            {
                "datadir": "/mnt/db/",
                FLUSH: 1,
                "log_bin": "ON",
                "sync_binlog": 0,
                "version": "10.11.18-MariaDB",
            },
        ),
        (
            f"| Variable_name | Value |\n+----+----+\n| {FLUSH} | 2 |\n| wait_timeout | 9 |\n+----+----+\n",
            {FLUSH: 2},
        ),
        (
            f"mysql> select @@{FLUSH}; +---+ | @@{FLUSH} | +---+ | 1 | +---+ 1 row in set (0.00 sec)",
            {FLUSH: 1},
        ),
        (
            f"| @@global.sync_binlog | @@{FLUSH} |\n+---+---+\n|  1 | 0 |\n+---+---+\n",
            {"sync_binlog": 1, FLUSH: 0},
        ),
        (
            f"[mysqld]\n{FLUSH} = 1   # safe\ninnodb_flush_method=O_DIRECT\nskip-name-resolve\n",
            {FLUSH: 1, "innodb_flush_method": "O_DIRECT"},
        ),
        (f"Variable_name\tValue\n{FLUSH}\t1\n", {FLUSH: 1}),
        (f"taken again as I've set {FLUSH}=2 yesterday", {FLUSH: 2, "is_prose": 1}),
        (
            "mysqld --innodb-flush-log-at-trx-commit=0 --sync-binlog=0",
            {FLUSH: 0, "sync_binlog": 0, "is_prose": 1},
        ),
        ("we had sync_binlog set to 1, and", {"sync_binlog": 1, "is_prose": 1}),
    ],
)
def test_renderings(text, values):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values == values


def test_listing_ends_where_the_lines_look_otherwise():
    text = f"{FLUSH}\t1\nsync_binlog\t1\n"
    for other in ("procs ---memory---\n", "Device:   rrqm/s wrqm/s r/s w/s\n", "sda   0.00 0.70 3.0 1.2\n"):
        (block,) = blocks_of(FORMAT, text + other)
        assert block.used == 2
    assert block.facts[0].text == f"{FLUSH} = 1, sync_binlog = 1"


@pytest.mark.parametrize(
    "text",
    [
        f"what does {FLUSH} do?",
        "version\t\n",
    ],
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_listing_of_other_variables_says_nothing():
    (block,) = blocks_of(FORMAT, "| Variable_name | Value |\n+---+---+\n| Threads_running | 3 |\n+---+---+\n")
    assert block.facts == ()
    assert block.used == 4
