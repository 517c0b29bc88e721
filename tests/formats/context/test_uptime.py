import io

import pytest

import iodiag
from iodiag.formats.context.uptime import FORMAT
from reading import blocks_of
from writers.captures import iostat
from writers.loads import load


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        (" 09:14:02 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87", "09:14:02"),
        ("top - 09:14:02 up 41 min,  1 user,  load average: 6.31, 4.20, 1.87", None),
        (" 9:14am  up 12 days  3:41,  2 users,  load average: 6.31, 4.20, 1.87", "9:14am"),
        ("09:14:02 up 3:41, 0 users, load average: 6,31, 4,20, 1,87", "09:14:02"),
        ("Load average: 6.31, 4.20, 1.87, 4 cores", None),
        ("load average: 6.31 4.20 1.87", None),
    ],
    ids=["uptime", "top", "old", "decimal comma", "stated beside", "alone"],
)
def test_a_load_average_is_a_fact_of_its_time(text, clock):
    ((fact,),) = (block.facts for block in blocks_of(FORMAT, text + "\nTasks: 190 total\n"))
    assert (fact.number("load_one"), fact.number("load_fifteen")) == (6.31, 1.87)
    # the screen of top is one moment; beside any other capture the clock tells that it may be another one
    assert fact.values.get("clock") == clock
    assert fact.text.endswith(f", at {clock}" if clock else "by that of 15")


@pytest.mark.parametrize(
    ("head", "up_s", "running"),
    [
        ("top - 09:14:02 up 41 min,  1 user,  load average: 6.31, 4.20, 1.87", 2460, 3),
        ("top - 09:14:02 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87", 1050060, 3),
        ("top - 09:14:02 up 1 day,  8 min,  2 users,  load average: 6.31, 4.20, 1.87", 86880, 3),
        (" 09:14:02 up  3:41,  2 users,  load average: 6.31, 4.20, 1.87", 13260, None),
    ],
)
def test_top_counts_what_runs_at_that_moment(head, up_s, running):
    tasks = "Tasks: 190 total,   3 running, 187 sleeping,   0 stopped,   0 zombie"
    (block,) = (one for one in blocks_of(FORMAT, f"{head}\n{tasks}\n") if one.facts)
    (fact,) = block.facts
    assert (fact.number("up_s"), fact.values.get("running")) == (up_s, running)
    assert block.used == (1 if running is None else 2)
    assert ("; 3 of 190 processes run at that moment" in fact.text) == (running is not None)


@pytest.mark.parametrize("text", ["load average: high", "09:14 up, then down: load average: 6.31"])
def test_prose_about_it_is_none(text):
    assert not any(block.facts for block in blocks_of(FORMAT, text + "\n"))


@pytest.mark.parametrize("cpu", [None, {"%idle": 94.0, "%user": 3.0, "%iowait": 3.0}], ids=["no CPU", "idle"])
def test_it_is_told_beside_a_full_device_where_nothing_counts_who_waits(cpu):
    text = iostat([{"sda": load(150, 120, size=64, reads=0.2)}] * 2, cpu)
    quoted = "> 09:14:02 up 12 days,  3:41,  2 users,  load average: 21.31, 14.20, 1.87\n>\n"
    text = quoted + "".join(f"> {line}\n" for line in text.splitlines())
    (found, *_) = iodiag.analyze([iodiag.read(io.BytesIO(text.encode()))]).findings
    assert found.rule == "true-saturation"
    told = [item for item in found.evidence if "21.31 tasks run or wait" in item.text]
    assert [item.lines for item in told] == ([(1,)] if cpu is None else [])
