"""iostat -z leaves out devices without I/O: a report of the CPUs alone says that all were idle."""

import io

import pytest

import iodiag
from text_reading import reading

BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t({cpus} CPU)\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    2.00 {iowait:7.2f}    0.00   88.00\n\n"  # noqa: E501
HEADER = "Device            r/s     rkB/s   r_await     w/s     wkB/s w_await  aqu-sz  %util\n"
ROWS = "".join(
    f"{name}             10.00    160.00    5.00    2.00      8.00    1.00    0.05   4.00\n"
    for name in ("sda", "sdb")
)
FULL = CPU.format(iowait=1.0) + HEADER + ROWS + "\n"


def report(iowait=1.0, below=HEADER):
    return CPU.format(iowait=iowait) + below + "\n"


def run(*reports, cpus=4, command=""):
    first = FULL.replace(" 10.00    160.00", "  0.53      9.17")
    return command + BANNER.format(cpus=cpus) + "".join([first, *reports])


def samples(text):
    disk = reading(text).disk
    return disk[disk["since_boot"] == False]  # noqa: E712


def test_every_device_of_the_run_was_idle():
    rows = samples(run(report(), FULL, report()))
    assert rows["device"].astype(str).tolist() == ["sda", "sdb"] * 3
    assert rows["report"].tolist() == [1, 1, 2, 2, 3, 3]
    assert rows["reads_per_s"].tolist() == [0, 0, 10, 10, 0, 0]
    assert rows["is_omitted"].fillna(False).tolist() == [True, True, False, False, True, True]
    columns = ["read_kb_per_s", "read_await_ms", "writes_per_s", "queue_depth", "util_pct"]
    assert not rows[rows["report"] != 2][columns].to_numpy().any()
    text = run(report(), FULL, report())
    assert {text.splitlines(keepends=True)[line - 1] for line in rows[rows["report"] != 2]["line"]} == {
        HEADER
    }


@pytest.mark.parametrize(
    ("reports", "options"),
    [
        ([report(iowait=12.0), FULL], {}),
        ([report(iowait=1.5), FULL], {"cpus": 64}),
        ([report(below=HEADER + "and so on, all idle here\n"), FULL], {}),
        ([report(below=HEADER + "sda             10.00    160.\n"), FULL], {}),
        ([report(below=HEADER + "...\n"), FULL], {}),
        ([report(below=""), FULL], {}),
        ([FULL, report(below="")], {"command": "$ iostat -xz 1\n"}),
        ([report(), FULL], {"command": "$ iostat -x 1\n"}),
        ([FULL, report()], {"command": "$ iostat -x 1 sda sdb\n"}),
        ([FULL, report()[:-1]], {}),
        ([FULL, report()[:-2]], {"command": "$ iostat -xz 1\n"}),
    ],
    ids=[
        *("CPUs wait", "a task may wait", "words", "a cut row", "left out", "no header", "cut at the end"),
        *("no option", "a device that is gone", "cut behind the header", "cut within the header"),
    ],
)
def test_what_else_a_missing_table_may_be(reports, options):
    rows = samples(run(*reports, **options))
    assert rows["report"].nunique() == 1
    assert "is_omitted" not in rows


def test_a_header_right_above_the_next_report_lost_its_rows():
    assert samples(run(FULL, report().removesuffix("\n"), FULL))["report"].tolist() == [1, 1, 3, 3]


def test_a_text_without_any_blank_line_still_tells_its_idle_reports():
    text = "".join(line for line in run(FULL, report(), FULL).splitlines(keepends=True) if line.strip())
    assert samples(text)["report"].tolist() == [1, 1, 2, 2, 3, 3]


def test_a_visible_option_tells_it_without_a_header():
    rows = samples(run(report(below=""), FULL, command="$ iostat -xz 1\n"))
    assert rows["report"].tolist() == [1, 1, 2, 2]


def test_each_run_has_its_own_devices():
    other = run(report()).replace("sdb", "sdc").replace("db1", "db2")
    rows = samples(run(report()) + other)
    assert rows["device"].astype(str).tolist() == ["sda", "sdb", "sda", "sdc"]


def test_a_run_that_was_idle_throughout_is_not_called_an_average():
    text = run(report(), report(), report())
    headline = iodiag.analyze([iodiag.read(io.BytesIO(text.encode()))]).headline
    assert "no device had any I/O" in headline
    assert "averages" not in headline


@pytest.mark.parametrize(
    ("empty", "command", "expected"),
    [
        (1, "", 0),
        (2, "", 2),
        (1, "$ iostat -xz 1\n", 1),
    ],
    ids=["a line may be lost", "twice", "the option is seen"],
)
def test_one_report_without_the_only_device_may_have_lost_its_line(empty, command, expected):
    alone = FULL.replace(ROWS.splitlines(keepends=True)[1], "")
    text = command + BANNER.format(cpus=4) + "".join([alone, alone, *[report()] * empty, alone])
    rows = samples(text)
    assert (rows["is_omitted"].sum() if "is_omitted" in rows else 0) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{HEADER}\n{HEADER}{ROWS}\n{HEADER}\n{HEADER}", "2 reports"),
        (f"{HEADER}{ROWS}\n{HEADER}\n{HEADER}{ROWS}", "1 report "),
        (f"{HEADER}{ROWS}\n{HEADER}{ROWS}\n", ""),
        (f"{HEADER}\n{ROWS}".replace("\n", "\n\n"), ""),
        (FULL + report(iowait=40.0), ""),
    ],
    ids=["before and behind", "between", "none", "blank lines everywhere", "with CPUs"],
)
def test_without_cpus_reports_without_a_device_are_remarked_alone(text, count):
    capture = iodiag.read(io.BytesIO(text.encode()), name="paste.txt")
    remarks = [note.reason for note in capture.notes if "without a device" in note.reason]
    assert [one.startswith(count) for one in remarks] == ([True] if count else [])
    assert "is_omitted" not in reading(text).disk


def test_a_header_of_the_cpus_without_its_row_is_said():
    lost = FULL.replace(CPU.format(iowait=1.0).split("\n")[1] + "\n", "")
    (note,) = [note for note in reading(FULL + lost + FULL).notes if "without a row" in note.reason]
    assert (note.line, note.is_unread) == (8, True)
    assert note.reason.startswith("1 header of the CPUs")
    assert not [note for note in reading(run(report())).notes if "without a row" in note.reason]


def test_a_table_of_single_cpus_that_lacks_one_is_noted():
    head = "16:33:20 {} %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    row = "16:33:21 {} 99.50 0.00 0.50 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
    every = head.format("CPU") + "".join(map(row.format, ("all", "0", "1"))) + "\n"
    # rows of CPUs and the header of the nodes are lost: the row of node 0 passes for CPU 0's
    met = head.format("CPU") + "".join(map(row.format, ("all", "0"))) + "\n"
    later = every.replace("16:33:2", "16:33:3")
    banner = BANNER.format(cpus=2)
    assert "lines are lost" in reading(banner + met + later).remarks
    assert "lines are lost" not in reading(banner + every + later).remarks


SDA, SDB = ROWS.splitlines(keepends=True)
IDLE = "sdb              0.00      0.00    0.00    0.00      0.00    0.00    0.00   0.00\n"
Z, X = "$ iostat -xz 1\n", "$ iostat -x 1\n"


@pytest.mark.parametrize(
    ("reports", "command", "expected"),
    [
        ([SDA, SDA + SDB, SDA], Z, [1, 3]),
        ([SDA, SDA + SDB, SDA], "", [1, 3]),
        ([SDA, SDB, SDA + SDB], "", [1, 2]),
        ([SDA + SDB, SDA, SDA], Z, [2, 3]),
        ([SDA + SDB, SDA, SDA], "", []),
        ([SDA, SDA + SDB], "", []),
        ([SDA, SDA + SDB, SDA], X, []),
        ([SDA, SDA + IDLE, SDA], Z, []),
        ([SDA, SDA + SDB, SDA + "..."], Z, [1]),
    ],
    ids=[
        *("told", "come and gone", "by turns", "told to the end", "cut from one on", "one line may be lost"),
        *("without the option", "shown while idle", "cut"),
    ],
)
def test_a_device_that_some_reports_leave_out_was_idle(reports, command, expected):
    rows = samples(run(*[report(below=HEADER + rows) for rows in reports], command=command))
    omitted = rows[rows["is_omitted"].fillna(False).astype(bool)] if "is_omitted" in rows else rows[:0]
    assert sorted(omitted["report"]) == expected
    assert not omitted[["reads_per_s", "util_pct", "queue_depth"]].to_numpy().any()


@pytest.mark.parametrize(("cpus", "queue", "expected"), [(4, "0.05", 0), (4, "9.00", 2), (64, "9.00", 0)])
def test_a_device_that_a_report_leaves_out_may_be_stuck_where_more_tasks_wait_than_are_shown(
    cpus, queue, expected
):
    waits = report(iowait=20.0, below=HEADER + SDA.replace("0.05", queue))
    rows = samples(run(waits, FULL, waits, command=Z, cpus=cpus))
    assert (rows["is_omitted"].sum() if "is_omitted" in rows else 0) == expected


def test_reports_that_leave_a_device_out_count_as_its_samples():
    full = SDB.replace("4.00\n", "100.00\n").replace("0.05", "64.0").replace("    5.00", "  500.00")
    text = run(
        *[report(below=HEADER + SDA)] * 3,
        report(below=HEADER + SDA + full),
        report(below=HEADER + SDA),
        command=Z,
    )
    assert "in 1 of 5 samples" in iodiag.analyze([iodiag.read(io.BytesIO(text.encode()))]).headline
