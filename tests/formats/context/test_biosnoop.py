import pytest

from iodiag.formats.context.biosnoop import FORMAT
from reading import blocks_of
from sample_files import SAMPLES


def facts_of(text):
    (block,) = blocks_of(FORMAT, text)
    found = {
        (f.values["device"], f.values.get("requests_of"), "span" in f.values): f.values for f in block.facts
    }
    return block, found


BCC = (SAMPLES / "biosnoop/bcc.txt").read_text()


def test_requests_by_device_and_direction():
    block, facts = facts_of(BCC + "prose\n")
    assert block.used == BCC.count("\n")
    assert list(facts) == [
        *(("xvda1", way, False) for way in (None, "writes", "reads")),
        *((name, None, False) for name in ("xvdc", "xvdb")),
    ]
    whole = facts["xvda1", None, False]
    assert (whole["requests"], whole["p50_ms"], whole["max_ms"]) == (6, 0.93, 1.24)
    assert whole["mean_ms"] == pytest.approx(0.931667)
    # its command has blanks
    assert facts["xvda1", "reads", False]["requests"] == 2
    assert "p99_ms" not in whole


def test_time_in_the_queue_is_a_measurement_of_its_own():
    _, facts = facts_of((SAMPLES / "biosnoop/queued.txt").read_text())
    assert facts["nvme1n1", None, False]["max_ms"] == 0.61
    assert facts["nvme1n1", None, True]["max_ms"] == pytest.approx(40.62)


def test_columns_of_bpftrace():
    _, facts = facts_of((SAMPLES / "biosnoop/bpftrace.txt").read_text())
    assert {name: values["max_ms"] for (name, _, _), values in facts.items()} == {"nvme0n1": 10, "sda": 23}


def test_a_request_of_no_disk_is_of_none():
    header = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n"
    rows = "0.000004    mysqld         1203   sda     W 12345678   16384     5.20\n"
    rows += "3.677557    ?              0              R -1         8         0.23\n"
    block, facts = facts_of(header + rows)
    assert (list(facts), block.unread) == ([("sda", None, False)], ())


def test_a_damaged_line_is_listed():
    block, facts = facts_of(BCC.replace("0.61", "0.6x"))
    assert block.unread == (3,)
    assert facts["xvda1", None, False]["requests"] == 5


@pytest.mark.parametrize(
    "header",
    ["TIME(s) COMM, DISK T LAT(ms)", "TIME(s) COMM PID DISK T SECTOR BYTES", "TIME(s) PID DISK LAT(ms)"],
)
def test_other_headers_are_left_alone(header):
    assert blocks_of(FORMAT, header + "\n" + BCC.split("\n", 1)[1]) == []
