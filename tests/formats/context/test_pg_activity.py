import pytest

from iodiag.formats.context.pg_activity import FORMAT
from reading import blocks_of

LISTING = """\
 pid |        state        | wait_event_type | wait_event |      since       |             q
-----+---------------------+-----------------+------------+------------------+---------------------------
 314 | idle in transaction |                 |            | -00:00:00.089514 | UPDATE pgbench_accounts
 315 | active              |                 |            | -00:00:00.130559 | SELECT a | b FROM t
 316 | active              | LWLock          | WALWrite   | -00:00:00.130128 | END;
 318 | active              | IO              | WALSync    | -00:00:00.128862 | INSERT INTO t
 319 | active              |                 |            | 00:00:00.087874  | COMMIT
 320 | idle                | Client          | ClientRead | 00:00:00.087874  | COMMIT
 351 | active              |                 |            | 00:00:00         | select wait_event_type
(7 rows)
"""


def test_listing():
    (block,) = blocks_of(FORMAT, LISTING + "\npostgres=# \n")
    assert block.used == LISTING.count("\n")
    assert block.facts[0].values == {
        "sessions": 6,
        "active_sessions": 4,
        "sessions_in_commit": 3,
        "sessions_waiting_for_log": 2,
        "commit_share_pct": 75,
    }
    assert block.facts[0].text == "3 of 4 active sessions were in COMMIT, 2 waited for the log"


def test_each_of_two_listings_in_a_row_has_its_own_sessions():
    rows = LISTING.removesuffix("(7 rows)\n")
    counts = [block.facts[0].values["sessions"] for block in blocks_of(FORMAT, rows + rows)]
    assert counts == [6, 6]


@pytest.mark.parametrize(
    ("text", "active", "commits"),
    [
        (
            " wait_event_type | wait_event | count \n-----------------+------------+-------\n"
            " LWLock          | WALWrite   |     9\n IO              | WALSync    |     1\n"
            " Client          | ClientRead |    50\n"
            "                 |            |     2\n(4 rows)\n",
            12,
            10,
        ),
        (
            "-[ RECORD 1 ]---+--------\nstate           | active\nwait_event      | WALWrite\n"
            "-[ RECORD 2 ]---+--------\nstate           | idle\nwait_event      | ClientRead\n",
            1,
            1,
        ),
        (
            " pid | waiting | state  | query \n-----+---------+--------+-------\n"
            "   1 | f       | active | COMMIT\n",
            1,
            1,
        ),
    ],
)
def test_other_listings(text, active, commits):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values["active_sessions"] == active
    assert block.facts[0].values["sessions_in_commit"] == commits


@pytest.mark.parametrize(
    "text", ["-[ RECORD 1 ]-\nname | x\n", "a | waiting | b\nno rule\n", " | wait_event\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_counts_by_event_alone_leave_out_who_waits_for_its_client_or_for_work():
    events = {"[null]": 11, "WALRead": 1, "DataFileRead": 2, "BgWriterMain": 1, "WALWrite": 40}
    events |= {"ClientRead": 385, "WalSenderMain": 3, "WalSenderWaitForWAL": 2, "LogicalLauncherMain": 1}
    rows = "".join(f" {event:19} | {count:5}\n" for event, count in events.items())
    (block,) = blocks_of(FORMAT, f"     wait_event      | count\n---------------------+-------\n{rows}")
    values = dict(block.facts[0].values)
    assert (values["active_sessions"], values["sessions_waiting_for_log"]) == (54, 40)
    assert values["sessions_in_commit"] == 40
