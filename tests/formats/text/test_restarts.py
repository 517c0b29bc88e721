"""Tools that a collector starts again for each sample: what is since boot, how long samples are, and when."""

from __future__ import annotations

import re

import numpy as np
import pytest

from text_reading import Reading, reading
from writers import collectors
from writers.collectors import CPU, HEADER, Host, loop, oswatcher


def shown(read: Reading, device: str = "sda") -> list[tuple[str, float, bool]]:
    rows = read.disk[read.disk["device"] == device]
    times = rows["time"].dt.strftime("%H:%M:%S").fillna("-")
    lengths = rows["interval_s"].fillna(0.0)
    return list(zip(times.tolist(), lengths.tolist(), rows["since_boot"].tolist(), strict=True))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("has_banner", [True, False])
@pytest.mark.parametrize("mark", ["{date}", "zzz ***{date}", "TS {epoch} 2026-11-23 12:00:00", "{epoch:.0f}"])
def test_the_first_report_of_every_run_is_since_boot(seed: int, count: int, has_banner: bool, mark: str):
    read = reading(loop(Host(seed=seed), count=count, has_banner=has_banner, mark=mark))
    found = np.array(shown(read)).reshape(-1, count, 3)
    assert (found[:, 0, 2] == "True").all()
    assert (found[:, 1:, 2] == "False").all()
    assert (found[:, 1:, 1].astype(float) == 1.0).all()
    assert read.disk["segment"].nunique() == 12
    if "2026" not in mark:
        start, step = 12 * 3600, count - 1 + 28
        for run, reports in enumerate(found[:, :, 0].tolist()):
            seconds = [start + run * step + n for n in range(count)]
            assert reports == [f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_with_y_no_report_is_since_boot(seed: int, count: int):
    read = reading(loop(Host(seed=seed), count=count, skips_first=True))
    found = shown(read)
    assert [row[1:] for row in found] == [(1.0, False)] * 12 * count
    assert found[0][0] == "12:00:01"


@pytest.mark.parametrize("prompt", ["$ ", "[root@db1 ~]# ", "# "])
@pytest.mark.parametrize("runs", [3, 4, 12])
def test_a_loop_that_is_visible_tells_of_each_of_its_runs(prompt: str, runs: int):
    text = loop(Host(seed=runs), runs=runs, count=1, skips_first=True, interval=5.0, pause=0)
    command = "while true; do date; iostat -xy 5 1; done"
    found = shown(reading(f"{prompt}{command}\n{text}"))
    assert [row[1:] for row in found] == [(5.0, False)] * runs
    assert "phase" not in reading(f"{prompt}{command}\n{text}").disk, "its runs are no phases"
    without = shown(reading(f"{prompt}{command.replace('xy', 'x')}\n{loop(Host(), runs=runs, count=2)}"))
    assert [row[2] for row in without] == [True, False] * runs


def test_a_clock_that_goes_back_with_the_end_of_summer_time_is_not_of_twelve_hours():
    marks = ("Sun Oct 25 02:59:58 CEST 2020", "Sun Oct 25 02:00:00 CET 2020")
    text = "$ while true; do date; iostat -x 1 2; done\n"
    text += "".join(loop(Host(seed=3), runs=1, mark=mark) for mark in marks)
    times = reading(text).disk["time"].dt.strftime("%H:%M:%S").unique().tolist()
    assert times == ["00:59:58", "00:59:59", "01:00:00", "01:00:01"]


def test_runs_that_somebody_typed_on_two_hosts_begin_since_boot():
    runs = [loop(Host(seed=seed), runs=1, count=3, has_banner=False, mark="") for seed in (1, 2)]
    text = "".join(f"[root@db{n} ~]# iostat -x 1 3\n{run}\n" for n, run in enumerate(runs))
    assert [row[2] for row in shown(reading(text))] == [True, False, False] * 2


def test_runs_of_a_host_that_has_just_booted():
    read = reading(loop(Host(uptime=900.0), runs=20))
    assert read.disk["since_boot"].tolist() == [True, True, False, False] * 20
    assert (read.disk["interval_s"].dropna() == 1.0).all()


@pytest.mark.parametrize("interval", [2.0, 5.0])
def test_runs_with_longer_samples(interval: float):
    read = reading(loop(Host(), runs=40, interval=interval, pause=20))
    assert (read.disk["interval_s"].dropna() == interval).all()
    assert read.disk["since_boot"].mean() == 0.5


def test_vmstat_of_a_collector():
    text = next(text for path, text in oswatcher(Host(), runs=20).items() if "oswvmstat" in path)
    swapping = reading(text).tables["swapping"]
    assert swapping["since_boot"].tolist() == [True, False, False] * 20
    assert swapping["segment"].nunique() == 20


def test_clocks_that_stand_above_every_report_begin_no_run():
    text = "".join(f"{host.date}\n{host.iostat(1.0, 2)[1]}" for host in [Host()] for _ in range(10))
    read = reading(text)
    assert read.disk["segment"].nunique() == 1
    assert not read.disk["since_boot"].any()


@pytest.mark.parametrize(("runs", "count"), [(3, 2), (3, 4), (9, 3)])
def test_a_clock_of_the_loop_above_the_tool_s_own_begins_a_run(runs: int, count: int):
    host, text = Host(), ""
    for _ in range(runs):
        text += f"{host.date}\n\n"
        for report in host.iostat(1.0, count):
            text += f"11/20/26 12:00:00\n{report}"
        host.wait(1.0)
    stamps = iter(range(60))
    text = re.sub("12:00:00(?=\n)", lambda _: f"12:00:{next(stamps):02}", text)
    read = reading(text).disk
    assert read["segment"].nunique() == runs
    assert read["since_boot"].tolist() == ([True] * 2 + [False] * 2 * (count - 1)) * runs


@pytest.mark.parametrize("wanted", [(2,), (2, 5, 6)])
def test_another_clock_above_some_reports_begins_no_run(wanted: tuple[int, ...]):
    host = Host()
    reports = host.iostat(1.0, 9)[1:]
    text = "".join(
        (f"{host.date}\n" if n in wanted else "") + f"11/20/26 12:00:{n:02}\n{report}"
        for n, report in enumerate(reports)
    )
    read = reading(text).disk
    assert read["segment"].nunique() == 1
    assert not read["since_boot"].any()


def test_a_tool_without_an_interval_started_again_and_again():
    for has_banner in (True, False):
        read = reading(loop(Host(), runs=20, count=1, has_banner=has_banner))
        assert read.disk["since_boot"].all()
        assert read.disk["interval_s"].isna().all()


def test_a_steady_load_is_no_average_since_boot():
    host = Host()
    text = ""
    for n in range(20):
        text += (
            f"{host.date}\n{CPU}\n 4{n % 7}.00 0.00 {n % 5}.50 1{n % 3}.00 0.00 {30 - n % 9}.00\n\n{HEADER}\n"
        )
        text += "sda 0.00 0.00 3000.00 0.00 12000.00 0.00 8.00 32.00 10.67 0.33 100.00\n\n"
        host.wait(5.0)
    assert not reading(text).disk["since_boot"].any()


@pytest.mark.parametrize("busy", [0.2, 2.0, 2000.0])
@pytest.mark.parametrize("skips_first", [False, True])
def test_idle_and_busy_hosts(busy: float, skips_first: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(collectors, "BUSY", busy)
    for seed in range(1, 4):
        read = reading(loop(Host(seed=seed, devices=("sda",)), runs=20, skips_first=skips_first))
        assert read.disk["since_boot"].tolist() == [not skips_first, False] * 20


@pytest.mark.parametrize("has_banner", [True, False])
def test_a_line_less_breaks_nothing(has_banner: bool):
    lines = loop(Host(devices=("sda",)), runs=3, has_banner=has_banner).splitlines(keepends=True)
    for n in range(len(lines)):
        disk = reading("".join(lines[:n] + lines[n + 1 :])).disk
        assert len(disk) >= 5
        assert set(disk["interval_s"].dropna()) <= {1.0}


@pytest.mark.parametrize("pace", [2.0, 4.0, 10.0])
def test_samples_without_a_pause_keep_the_length_of_their_clocks(pace: float):
    for seed in range(20):
        host = Host(seed=seed, devices=("sda",), jitter=0.0)
        text = "".join(f"{host.date}\n{host.iostat(pace, 2)[1]}" for _ in range(6))
        assert set(reading(text).disk["interval_s"].dropna()) == {pace}


def test_one_run_of_equal_reports_is_samples():
    host = Host()
    report = host.iostat(1.0, 2)[1]
    disk = reading(f"{host.banner}\n{report * 20}").disk
    assert not disk["since_boot"].any()


VMSTAT = """procs -----------memory---------- ---swap-- -----io---- --system-- ----cpu----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in    cs us sy id wa
"""


def vmstat_row(n: int, rates: str) -> str:
    return f" 1  {n % 3}  {49220 + 90 * n}  {3000 + 7 * n}  1856  {45936 - 300 * n}  {rates}\n"


OLD, NOW = "2 2 81 70 {547} 17 59 2 38 1", "0 {90} 8{n} {700} {1200} 4{n} 2{n} 7 3{n} 1"


def a_loop(count: int, each: tuple[str, ...], mark: str = "") -> str:
    """vmstat started again and again, a header each; numbers in braces differ by a few from row to row."""
    text = ""
    for n in range(count):
        text += mark.format(n=n) + VMSTAT
        for place, rates in enumerate(each):
            found = rates.replace("{547}", str(547 + n // 3)).replace("{n}", str((3 * n + place) % 10))
            for number in (90, 700, 1200):
                found = found.replace(f"{{{number}}}", str(number + 31 * n % 100))
            text += vmstat_row(n, found)
    return text


@pytest.mark.parametrize("mark", ["", "-----\n", "Thu Apr  3 17:11:{n:02} CEST 2003\n"])
@pytest.mark.parametrize(
    ("count", "each", "since_boot"),
    [
        (20, (OLD,), [True]),
        (3, (OLD,), [True]),
        (6, (OLD, NOW), [True, False]),
        (6, (OLD, NOW, NOW), [True, False, False]),
        (6, (NOW,), [False]),  # rows that somebody chose, each with its header
    ],
)
def test_a_header_above_every_row_begins_anew(mark: str, count: int, each: tuple[str, ...], since_boot):
    read = reading(a_loop(count, each, mark))
    assert read.tables["cpu"]["since_boot"].tolist() == since_boot * count
    assert not read.tables["queue"]["since_boot"].any(), "tasks and memory are of the moment"


def test_a_header_above_every_screen_begins_nothing():
    idle = "0 0 0 0 101 7 0 0 100 0"
    text = "".join(VMSTAT + "".join(vmstat_row(n, idle) for n in range(20)) for _ in range(4))
    assert not reading(text).tables["cpu"]["since_boot"].any()
