import re

import pandas as pd
import pytest

from iodiag.formats.context.pressure import FORMAT
from reading import blocks_of, lines_of

SERIES = """\
1795178384 some avg10=6.57 avg60=5.67 avg300=1.75 total=6000000 full avg10=3.69 avg60=3.10 avg300=0.93 total=3000000
1795178394 some avg10=4.40 avg60=5.30 avg300=1.73 total=8000000 full avg10=2.47 avg60=2.90 avg300=0.92 total=3500000
1795178395 some avg10=4.40 avg60=5.30 avg300=1.73 total=9100000 full avg10=2.47 avg60=2.90 avg300=0.92 total=4000000
"""  # noqa: E501


def read(text, name="psi-io.txt"):
    return FORMAT.read(lines_of(text), name)


def test_series_gives_shares_of_its_intervals():
    block = read(SERIES + "\nDevice r/s\n")
    assert block.used == 3
    (table,) = block.tables
    frame = table.frame
    assert table.family == "pressure"
    assert frame["io_some_pct"].tolist()[1:] == [20, 100]
    assert frame["io_full_pct"].tolist()[1:] == [5, 50]
    assert pd.isna(frame["io_some_pct"][0])
    assert frame["io_some_10s_pct"].tolist() == [6.57, 4.4, 4.4]
    assert frame["io_full_300s_pct"][0] == 0.93
    assert frame["interval_s"].tolist()[1:] == [10, 1]
    assert str(frame["time"][0]) == "2026-11-20 12:39:44+00:00"
    assert frame["line"].tolist() == [1, 2, 3]
    assert not frame["since_boot"].any()


LINES = "some avg10=1.00 avg60=2.00 avg300=3.00 total=10\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=5\n"


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("==> /proc/pressure/io <==\n" + LINES, "io"),
        ("== /proc/pressure/cpu ==\n" + LINES, "cpu"),
        ("---- Output of /proc/pressure/memory ----\n" + LINES, "memory"),
        ("*** /proc/pressure/io ***\n" + re.sub(" total=.*", "", LINES), "io"),
        ("root@x:~# cat /proc/pressure/memory\n" + LINES, "memory"),
        ("root@x:/proc# cat pressure/memory\n" + LINES, "memory"),
        ("==> pressure/io <==\n" + LINES, "io"),
        ("".join(f"pressure/cpu:{line}\n" for line in LINES.splitlines()), "cpu"),
        ("".join(f"/proc/pressure/io:{line}\n" for line in LINES.splitlines()), "io"),
        ("".join(f"io.pressure:{line}\n" for line in LINES.splitlines()), "io"),
    ],
)
def test_snapshots(text, resource):
    (block,) = blocks_of(FORMAT, text)
    frame = block.tables[0].frame
    assert len(frame) == 1
    assert frame[f"{resource}_some_10s_pct"][0] == 1
    assert frame[f"{resource}_full_10s_pct"][0] == 0.5
    assert f"{resource}_some_pct" not in frame
    assert frame["time"].isna().all()


def test_all_resources_share_a_row():
    text = "".join(f"==> /proc/pressure/{name} <==\n{LINES}\n" for name in ("cpu", "io", "memory"))
    (block,) = blocks_of(FORMAT, text)
    frame = block.tables[0].frame
    assert len(frame) == 1
    assert {"cpu_some_10s_pct", "io_full_60s_pct", "memory_some_300s_pct"} <= set(frame.columns)


def test_epochs_on_lines_of_their_own():
    more = [LINES.replace("total=10", f"total={total}") for total in (1000010, 2000010)]
    block = read(f"{LINES}1795178384\n{more[0]}1795178386\n{more[1]}")
    assert block.used == 8
    assert block.tables[0].frame["io_some_pct"].tolist()[2] == 50
    assert pd.isna(block.tables[0].frame["io_some_pct"][1])


@pytest.mark.parametrize(
    ("clocks", "first"),
    [
        (("Fri Nov 20 12:00:00 UTC 2026", "Fri Nov 20 12:00:10 UTC 2026"), "2026-11-20 12:00:00+00:00"),
        (("2026-11-20 12:00:00", "2026-11-20 12:00:10"), "2026-11-20 12:00:00"),
        (("23:59:55", "00:00:05"), "NaT"),
        (("13/04/2026 10:00:00", "13/04/2026 10:00:10"), "2026-04-13 10:00:00"),
        (("04/13/2026 10:00:00", "04/13/2026 10:00:10"), "2026-04-13 10:00:00"),
        (("03/04/2026 10:00:00", "03/04/2026 10:00:10"), "NaT"),
        (("03/04/2026 23:59:55", "04/04/2026 00:00:05"), "NaT"),
    ],
)
@pytest.mark.parametrize("is_in_front", [False, True])
def test_a_loop_prints_a_clock_with_each_sample(clocks, first, is_in_front):
    samples = [LINES, LINES.replace("total=10", "total=4000010")]
    text = "$ while true; do date; cat /proc/pressure/io; sleep 10; done\n"
    for clock, sample in zip(clocks, samples, strict=True):
        in_front = "".join(f"{clock} {line}\n" for line in sample.splitlines())
        text += in_front if is_in_front and clock[0].isdigit() else f"{clock}\n{sample}"
    (block,) = blocks_of(FORMAT, text)
    frame = block.tables[0].frame
    assert (frame["interval_s"][1], frame["io_some_pct"][1], str(frame["time"][0])) == (10, 40, first)


@pytest.mark.parametrize("heading", ["== /proc/pressure/io ==\n", ""], ids=["heading", "paths"])
def test_a_clock_above_the_heading_is_that_of_the_first_sample(heading):
    lines = LINES if heading else "".join(f"/proc/pressure/io:{line}\n" for line in LINES.splitlines())
    later = lines.replace("total=10", "total=4000010")
    (block,) = blocks_of(FORMAT, f"10:00:00\n{heading}{lines}10:00:10\n{heading}{later}")
    assert block.tables[0].frame["io_some_pct"].tolist()[1:] == [40]


GROUP = "/sys/fs/cgroup/system.slice/mysqld.service"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{GROUP}/memory.pressure:{line}\n" for line in LINES.splitlines()),
        f"==> {GROUP}/io.pressure <==\n{LINES}",
        f"==> {GROUP}/io.pressure <==\n12:00:00 {LINES}",
        f"$ cat {GROUP}/memory.pressure\n{LINES}",
        f"$ while true; do cat {GROUP}/io.pressure; sleep 10; done\n{LINES}",
    ],
)
def test_the_pressure_of_a_control_group_is_not_the_host_s(text):
    assert blocks_of(FORMAT, text) == []
    assert read(LINES, f"sos{GROUP}/io.pressure") is None


@pytest.mark.parametrize("path", ["/sys/fs/cgroup/io.pressure", "io.pressure"])
def test_the_pressure_of_the_root_group_is_the_host_s(path):
    (block,) = blocks_of(FORMAT, f"==> {path} <==\n{LINES}")
    assert block.tables[0].frame["io_some_10s_pct"][0] == 1


@pytest.mark.parametrize("name", ["paste.txt", "/io/paste.txt"])
def test_nothing_says_which_resource_it_was(name):
    assert read(LINES, name) is None


@pytest.mark.parametrize("text", ["some avg10=1\n", "cat /proc/pressure/io\nNo such file\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


@pytest.mark.parametrize(
    "command",
    [
        "$ cat /proc/pressure/cpu /proc/pressure/io /proc/pressure/memory",
        "root@db1:~# cat /proc/pressure/*",
        "$ head -n 2 -q /proc/pressure/cpu /proc/pressure/io /proc/pressure/memory",
    ],
)
def test_files_that_one_command_prints_without_their_names(command):
    irq = "full avg10=9.00 avg60=9.00 avg300=9.00 total=9\n" if "*" in command else ""
    parts = [
        LINES.replace("avg10=1.00", f"avg10={n}.00").replace("total=10", f"total={n}") for n in (1, 2, 3)
    ]
    (block,) = blocks_of(FORMAT, f"{command}\n{parts[0]}{parts[1]}{irq}{parts[2]}")
    frame = block.tables[0].frame
    assert [frame[f"{name}_some_10s_pct"].dropna().tolist() for name in ("cpu", "io", "memory")] == [
        [1.0],
        [2.0],
        [3.0],
    ]
    assert frame["io_full_10s_pct"].dropna().tolist() == [0.5]
    assert block.used == 7 + bool(irq)


@pytest.mark.parametrize("path", ["{}/pressure/io", "{}/proc/pressure/io"])
@pytest.mark.parametrize(("other", "share"), [("db2", None), ("db1", 50)])
def test_files_below_several_folders_have_no_interval_in_common(path, other, share):
    later = LINES.replace("total=10", "total=50000010")
    text = "".join(
        f"17951{at}00\n==> {path.format(host)} <==\n{lines}\n"
        for at, host, lines in ((38, "db1", LINES), (39, other, later))
    )
    frame = read(text).tables[0].frame
    assert len(frame) == 2
    assert frame["interval_s"].tolist()[1:] == [100] if share else frame["interval_s"].isna().all()
    assert not share or frame["io_some_pct"].tolist()[1:] == [share]


def test_resources_below_one_folder_share_a_row():
    text = f"==> /proc/pressure/io <==\n{LINES}\n==> proc/pressure/cpu <==\n{LINES}"
    assert [len(table.frame) for table in read(text).tables] == [1]


@pytest.mark.parametrize(("half", "hour"), [(" PM", 23), ("", None)])
def test_a_twelve_hour_clock_tells_the_order_of_its_date_and_another_does_not(half, hour):
    text = "".join(f"11/05/2026 11:00:{n}0{half}\n/proc/pressure/io:\n{LINES}" for n in range(2))
    frame = read(text).tables[0].frame
    assert frame["interval_s"].tolist()[1:] == [10]
    assert [None if pd.isna(time) else time.hour for time in frame["time"]] == [hour] * 2
