import pytest

from iodiag.formats.context.innodb_status import FORMAT
from reading import blocks_of

STATUS = """\
*************************** 1. row ***************************
  Type: InnoDB
  Name: 
Status: 
=====================================
2026-11-20 12:52:18 0x773a488be6c0 INNODB MONITOR OUTPUT
=====================================
Per second averages calculated from the last 1 seconds
------------
TRANSACTIONS
------------
Trx id counter 2461
History list length 146
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 2369, ACTIVE (PREPARED) 1 sec
mysql tables in use 1, locked 1
MariaDB thread id 45, OS thread handle 131092217231040, query id 1454 localhost root Commit
UPDATE sbtest3 SET c='91499485683' WHERE id=10068
---TRANSACTION 2370, ACTIVE 0 sec
MySQL thread id 46, OS thread handle 131092217231041, query id 1455 localhost root Updating
---TRANSACTION (0x7fea08976280), not started
--------
FILE I/O
--------
Pending flushes (fsync) log: 1; buffer pool: 2
2439 OS file reads, 2287 OS file writes, 815 OS fsyncs
13.99 reads/s, 16384 avg bytes/read, 7.50 writes/s, 5.99 fsyncs/s
---
LOG
---
Log sequence number 23727288
Log flushed up to   23727000
1 pending log flushes, 0 pending chkp writes
Pending reads 3
Pending writes: LRU 0, flush list 4
Buffer pool hit rate 965 / 1000, young-making rate 0 / 1000 not 0 / 1000
----------------------------
END OF INNODB MONITOR OUTPUT
============================
"""


def test_status():
    (block,) = blocks_of(FORMAT, STATUS + "\nprocs ---\n")
    assert block.used == STATUS.count("\n") - 1
    (fact,) = block.facts
    assert fact.text == (
        "InnoDB had 2 active transactions, 1 prepared to commit, 5.99 fsyncs/s, pending flushes: 1 of the "
        "log, 2 of the buffer pool"
    )
    assert fact.values == {
        "averaged_over_s": 1,
        "history_list_length": 146,
        "pending_fsyncs": 1,
        "pending_buffer_pool_fsyncs": 2,
        "reads_per_s": 13.99,
        "read_size_bytes": 16384,
        "writes_per_s": 7.5,
        "fsyncs_per_s": 5.99,
        "log_sequence_number": 23727288,
        "log_flushed_up_to": 23727000,
        "pending_log_flushes": 1,
        "pending_reads": 3,
        "pending_lru_writes": 0,
        "pending_flush_list_writes": 4,
        "hit_rate_per_mille": 965,
        "active_transactions": 2,
        "prepared_transactions": 1,
        "threads_in_commit": 1,
    }


def test_cut_status_ends_at_what_was_known():
    cut = STATUS[: STATUS.index("2439 OS")]
    (block,) = blocks_of(FORMAT, cut + "\n[root@x ~]# iostat\nDevice: r/s\n")
    assert block.used == cut.count("\n") - 1
    assert block.facts[0].values["pending_fsyncs"] == 1


@pytest.mark.parametrize(
    "text", ["see INNODB MONITOR OUTPUT below\n", "  Type: InnoDB\n\n", "Type: InnoDB\n" * 40]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
