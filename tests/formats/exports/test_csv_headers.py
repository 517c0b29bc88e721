"""A row of `sadf -d` whose own header is lost, or changed places with it, is not read under another one."""

from __future__ import annotations

import io

import iodiag

FRONT = "# hostname;interval;timestamp;"
DISK = FRONT + "DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util"
NETWORK = FRONT + "IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;rxcmp/s;txcmp/s;rxmcst/s;%ifutil"


def rows(name: str, start: int = 0) -> list[str]:
    return [
        f"db1;600;2026-11-20 12:{minute}:01 UTC;{name};{100 + minute}.00;1.00;2.00;0.00;4.00;0.01;0.10;2.00"
        for minute in range(start, 60, 10)
    ]


def read(lines: list[str]) -> iodiag.Capture:
    return iodiag.read(io.BytesIO(("\n".join(lines) + "\n").encode()), name="sa.csv")


def test_rows_below_a_lost_header_are_not_read_under_the_one_before():
    whole = read([DISK, *rows("sda", 10), NETWORK, *rows("eth0", 10)])
    assert len(whole.tables["network"]) == 5
    lost = read([DISK, *rows("sda", 10), *rows("eth0", 10)])
    assert list(lost.disk["device"].unique()) == ["sda"]
    assert len(lost.disk) == 5
    assert len(lost.unparsed) == 5
    assert "header is lost" in lost.unparsed[0].reason


def test_a_row_that_changed_places_with_the_next_header_is_left_out():
    disk, network = rows("sda", 10), rows("eth0", 10)
    capture = read([DISK, *disk[:-1], NETWORK, disk[-1], *network])
    assert len(capture.disk) == 4
    assert set(capture.tables["network"]["interface"]) == {"eth0"}
    assert len(capture.unparsed) == 1


def test_several_devices_and_a_clock_that_stands_are_no_damage():
    both = [row for pair in zip(rows("sda", 10), rows("sdb", 10), strict=True) for row in pair]
    capture = read([DISK, *both, NETWORK, *rows("eth0", 10)])
    assert not capture.unparsed
    assert len(capture.disk) == 10
