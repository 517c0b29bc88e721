"""Which CPU samples are of the reports of a device's samples, and which stand for the window."""

from __future__ import annotations

import pytest

from iodiag.analysis.host.who_waits import blocked
from views import view_of
from writers.captures import iostat, vmstat
from writers.loads import load

CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          {:.2f}    0.00    1.04    2.84    0.00   {:.2f}\n\n"  # noqa: E501
DISK = (
    "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n"  # noqa: E501
    "sdb               0.00     0.00    0.00  168.00     0.00     2.76    33.62     1.02    6.12    0.00    6.12   5.83  97.90\n\n"  # noqa: E501
)
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + " 1  1      0 212000  12000 900000    0    0     5  2800  100  200  1  1 86 12  0\n"
    * 4
)

SINCE_BOOT = (
    "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    "avg-cpu:  %user %nice %system %iowait %steal %idle\n 6.11 0.00 3.21 48.00 0.00 42.68\n\n"
    "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\nsda 7.31 97.42 2.10 4.17 20.33 2.00 0.02 5.18\n"
)
PAGED = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n13:00:00 pgpgin/s pgpgout/s\n" + "".join(
    f"13:00:0{second} 700.00 800.00\n" for second in range(1, 7)
)


def cpu(user: float) -> str:
    return CPU.format(user, 96.12 - user)


@pytest.mark.parametrize(
    ("text", "users"),
    [
        (DISK + cpu(1), None),  # the devices of that report are lost
        (cpu(2) + DISK + cpu(1), [2.0]),
        (cpu(2) + DISK + cpu(3) + DISK.replace("168.00", "170.00") + cpu(1), [2.0, 3.0]),
        ("$ iostat -x\n" + DISK + "$ vmstat 1 4\n" + VMSTAT, [1.0] * 4),
    ],
    ids=["below", "between", "both", "vmstat"],
)
def test_a_cpu_line_is_of_the_devices_below_it(text: str, users: list[float] | None):
    view = view_of(text)
    found = view.cpu_at(view.devices[0].samples)
    assert (None if found is None else found.floats("user_pct").tolist()) == users


@pytest.mark.parametrize(
    ("texts", "iowait"),
    [
        ((SINCE_BOOT,), [48.0]),
        ((PAGED, SINCE_BOOT), None),
    ],
    ids=["the same report", "samples of another"],
)
def test_averages_since_boot_are_of_no_other_report(texts: tuple[str, ...], iowait: list[float] | None):
    view = view_of(*texts)
    assert view.has_only_cpu_averages
    rows = view.samples("disk" if len(texts) == 1 else "paging")
    found = view.cpu_at(rows)
    assert (None if found is None else found.floats("iowait_pct").tolist()) == iowait


def test_runs_of_one_tool_below_those_of_another_are_paired_in_order():
    runs = [vmstat([{"b": blocked + n} for n in range(3)]) for blocked in (20, 4)]
    runs += [iostat([{"sda": load(rate, 2)}] * 2) for rate in (100, 300)]
    names = ("1a. vmstat", "1b. vmstat", "2a. iostat", "2b. iostat")
    view = view_of("\n".join(f"{name}\n\n{run}" for name, run in zip(names, runs, strict=True)))
    rows = view.devices[0].samples
    parts = [rows[rows.floats("ios_per_s") == rate] for rate in (100, 300)]
    # the first row of vmstat is of now, and no task waits in it
    assert [blocked(view, part)[1] for part in (*parts, rows)] == [15.75, 3.75, 9.75]


def sar_u(times: str, head: str = "$ sar -u\n") -> str:
    shares = {"09:20:01": "30.00 0.00 4.00 22.00 0.00 44.00"}
    rows = [f"{time} all {shares.get(time, '2.00 0.00 1.00 0.10 0.00 96.90')}\n" for time in times.split()]
    return f"{head}09:00:01 CPU %user %nice %system %iowait %steal %idle\n{''.join(rows)}\n"


def sar_d(times: str, head: str = "$ sar -d\n") -> str:
    rows = [f"{time} sdb 700.00 0.00 84000.00 120.00 12.60 18.00 97.20\n" for time in times.split()]
    return f"{head}09:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n{''.join(rows)}\n"


BANNER = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
TIMES = "09:10:01 09:20:01 09:30:01"


@pytest.mark.parametrize(
    ("text", "iowait"),
    [
        (sar_u(TIMES) + sar_d("09:20:01"), [22.0]),
        (sar_d("09:20:01") + sar_u(TIMES), [22.0]),
        (sar_u(TIMES) + sar_d("09:20:01 09:30:01 09:40:01"), [22.0, 0.1]),
        (BANNER + sar_u(TIMES, "") + BANNER + sar_d("09:20:01", ""), [22.0]),
        # other moments, and another day: nothing is of the same sample
        (sar_u(TIMES) + sar_d("09:25:01"), [0.1, 22.0, 0.1]),
        (
            BANNER + sar_u(TIMES, "") + BANNER.replace("20/26", "21/26") + sar_d("09:20:01", ""),
            [0.1, 22.0, 0.1],
        ),
    ],
    ids=["undated", "below", "more of one", "dated", "other moments", "another day"],
)
def test_tables_of_two_commands_with_equal_clocks_are_of_the_same_samples(text: str, iowait: list[float]):
    view = view_of(text)
    assert view.cpu_at(view.devices[0].samples).floats("iowait_pct").tolist() == iowait


def test_runs_that_show_the_same_table_stay_apart():
    view = view_of(sar_d("09:10:01 09:20:01") + sar_d("09:20:01 09:30:01", "$ sar -d -f sa07\n"))
    assert len(set(view.samples("disk")["segment"].tolist())) == 2
