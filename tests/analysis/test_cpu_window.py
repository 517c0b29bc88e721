"""Which CPU samples are of the reports of a device's samples, and which stand for the window."""

from __future__ import annotations

import pytest

from views import view_of

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
