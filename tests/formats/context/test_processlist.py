import pytest

from iodiag.formats.context.processlist import FORMAT
from reading import blocks_of

HEADER = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
SESSIONS = [
    ("1", "system user", "", "NULL", "Connect", "99", "Waiting for master to send event", "NULL"),
    ("2", "repl", "10.0.0.2:1", "NULL", "Binlog Dump", "9999", "Master has sent all binlog to slave", "NULL"),
    ("3", "app", "localhost", "shop", "Sleep", "5", "", "NULL"),
    ("4", "app", "localhost", "shop", "Query", "2", "Commit", "UPDATE t SET a=1"),
    ("5", "app", "localhost", "shop", "Query", "1", "starting", "COMMIT"),
    (
        "6",
        "app",
        "localhost",
        "shop",
        "Execute",
        "3",
        "waiting for handler commit",
        "INSERT INTO t VALUES (1)",
    ),
    ("7", "app", "localhost", "shop", "Query", "0", "Sending data", "SELECT 1"),
    (
        "8",
        "app",
        "localhost",
        "shop",
        "Query",
        "0",
        "committing alter table to storage engine",
        "ALTER TABLE t",
    ),
    ("9", "event_scheduler", "localhost", "NULL", "Daemon", "9", "Waiting on empty queue", "NULL"),
    ("10", "root", "localhost", "NULL", "Query", "0", "init", "SHOW FULL PROCESSLIST"),
]


def box(rows, header=HEADER):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows]
    head = "| " + " | ".join(c.ljust(w) for c, w in zip(header, widths, strict=True)) + " |"
    return "\n".join([border, head, border, *lines, border, f"{len(rows)} rows in set (0.00 sec)", ""])


def vertical(rows, header=HEADER):
    out = []
    for number, row in enumerate(rows, 1):
        out.append(f"{'*' * 27} {number}. row {'*' * 27}")
        out += [f"{name:>13}: {cell}" for name, cell in zip(header, row, strict=True)]
    return "\n".join([*out, f"{len(rows)} rows in set (0.00 sec)", ""])


def batch(rows, header=HEADER):
    return "\n".join("\t".join(row) for row in [header, *rows]) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        box(SESSIONS),
        "mysql> show processlist; " + " ".join(box(SESSIONS).split()),
        vertical(SESSIONS),
        batch(SESSIONS),
        "\n".join("    " + line for line in box(SESSIONS).split("\n")),
        box(SESSIONS, tuple(word.upper() for word in HEADER)),
        box(SESSIONS).replace("UPDATE t SET a=1", "UPDATE t\n SET a=1"),
        box(SESSIONS).replace("UPDATE t SET a=1", "UPDATE t SET a='x|y'"),
        box(SESSIONS).replace("SHOW FULL PROCESSLIST", "select * from information_schema.processlist"),
    ],
    ids=["box", "one line", "vertical", "batch", "indented", "upper case", "line break", "pipe", "select"],
)
def test_renderings(text):
    (block,) = blocks_of(FORMAT, "before\n" + text + "\nprocs -----------memory----------\n r  b\n")
    (fact,) = block.facts
    assert fact.values["active_sessions"] == 5
    assert fact.values["sessions_in_commit"] == 3
    assert fact.values["commit_share_pct"] == 60
    assert fact.values["longest_commit_s"] == 3
    assert fact.text == "3 of 5 active sessions were in COMMIT"


@pytest.mark.parametrize("render", [box, batch, vertical])
def test_each_of_two_listings_in_a_row_has_its_own_sessions(render):
    text = render(SESSIONS) + render(SESSIONS[3:6]) + render([("11", *HEADER[1:4], *SESSIONS[4][4:])])
    lists = blocks_of(FORMAT, "\n".join(line for line in text.split("\n") if "in set" not in line))
    counts = [
        (block.facts[0].values["active_sessions"], block.facts[0].values["sessions"]) for block in lists
    ]
    # a session of a user who is called User is one
    assert counts == [(5, 10), (3, 3), (1, 1)]


def test_block_ends_with_its_count():
    text = box(SESSIONS)
    (block,) = blocks_of(FORMAT, text + "mysql> quit\n")
    assert block.used == text.count("\n") - 1


ELIDED = (
    "mysql> show processlist; +-----+------+ | Id | User | Host | db | Command | Time | State | Info | "
    "Rows_sent | +-----+------+ | 1 | root | a:39624 | NULL | Sleep | 0 | | NULL | 0 | | ... | 32 | root "
    "| a | s | Execute | 0 | NULL | COMMIT | 0 | | 33 | root | a | s | Execute | 0 | NULL | COMMIT | 0 | "
    "... | 89 | root | a | s | Execute | 0 | Writing to net | DELETE from t | 0 | | 268 | root | a | NULL "
    "| Query | 0 | NULL | show processlist | 0 | +-----+------+ 68 rows in set (0.00 sec)"
)


def test_rows_left_out_are_told():
    (block,) = blocks_of(FORMAT, ELIDED)
    assert block.facts[0].values["active_sessions"] == 3
    assert block.facts[0].values["sessions_in_commit"] == 2
    assert block.facts[0].text == "2 of 3 active sessions were in COMMIT (5 of 68 rows shown)"


@pytest.mark.parametrize("cut", range(0, len(ELIDED), 17))
def test_cut_line_never_invents_sessions(cut):
    for block in blocks_of(FORMAT, ELIDED[:cut]):
        assert block.facts[0].values["sessions"] <= 5


def test_nobody_active_gives_no_share():
    (block,) = blocks_of(FORMAT, box([SESSIONS[2]]))
    assert block.facts[0].values == {
        "sessions": 1,
        "active_sessions": 0,
        "sessions_in_commit": 0,
        "rows_claimed": 1,
    }


def test_batch_whose_tabs_became_blanks():
    text = "Id User Host db Command Time State Info\n5 app localhost shop Query 2 Commit UPDATE t\n"
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values["sessions_in_commit"] == 1


@pytest.mark.parametrize(
    "state", ["query end", "Writing to binlog", "Waiting for prior transaction to commit"]
)
def test_states_of_a_commit(state):
    row = ("4", "app", "localhost", "shop", "Query", "2", state, "UPDATE t SET a=1")
    (block,) = blocks_of(FORMAT, box([row]))
    assert block.facts[0].values["sessions_in_commit"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "************* 1. row *************\n  Type: InnoDB\n  Name: \nStatus: \n",
        "*************************** 1. row ***************************\n",
        "| Command | Time | State |\n",
        "Id User Host db Command Time State Info\n\n",
    ],
)
def test_other_tables_are_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_lists_of_several_moments_are_several_facts():
    stars = "*************************** {}. row ***************************\n"
    row = "     Id: {}\n   User: app\n   Host: localhost\n     db: shop\n"
    row += "Command: Query\n   Time: 2\n  State: {}\n   Info: {}\n"
    moments = [
        "TS 1795435200.000 2026-11-23 12:00:00\n"
        + stars.format(1)
        + row.format(8, "Commit", "COMMIT")
        + stars.format(2)
        + row.format(9, "starting", "SELECT 1\n  FROM t"),
        "TS 1795435201.000 2026-11-23 12:00:01\n" + stars.format(1) + row.format(8, "Commit", "COMMIT"),
    ]
    facts = [fact for block in blocks_of(FORMAT, "".join(moments)) for fact in block.facts]
    assert [fact.values["active_sessions"] for fact in facts] == [2, 1]
    assert [fact.values["sessions_in_commit"] for fact in facts] == [1, 1]
