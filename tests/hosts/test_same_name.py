"""Captures under one host name whose folders contradict each other are of several hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

import iodiag
from writers.captures import iostat
from writers.loads import load

CALM, FULL = load(200, 0.6, size=8), load(150, 90, size=8, reads=0.5, depth=13.5, util=100.0)
LSBLK = 'NAME="sda" TYPE="disk" ROTA="{rota}" SIZE="{size}"\n'


def folder(place: Path, loads: dict[str, float], rota: int = 1, size: str = "100G") -> None:
    place.mkdir()
    (place / "iostat.txt").write_text(iostat([{"sda": loads}] * 6))
    (place / "lsblk.txt").write_text(LSBLK.format(rota=rota, size=size))


def test_two_hosts_of_one_name_are_named_with_their_folders(tmp_path):
    folder(tmp_path / "one", CALM, rota=0)
    folder(tmp_path / "two", FULL, rota=1)
    report = iodiag.analyze(tmp_path)
    assert len(report.hosts) == 2
    assert sorted(host.partition(" ")[2] for host in report.hosts) == ["(one)", "(two)"]
    assert {finding.host for finding in report.findings if finding.severity == "warning"} == {
        host for host in report.hosts if host.endswith("(two)")
    }
    assert "the rotational flag of sda is" in " ".join(
        note.reason for s in report.sources for note in s.notes
    )


@pytest.mark.parametrize("size", ["100G", "107.4G"])
def test_one_host_in_two_folders_stays_one(tmp_path, size):
    folder(tmp_path / "one", CALM)
    folder(tmp_path / "two", FULL, size=size)
    report = iodiag.analyze(tmp_path)
    assert len(report.hosts) == 1


def test_a_disk_that_was_replaced_later_leaves_one_host(tmp_path):
    folder(tmp_path / "one", CALM, rota=1)
    folder(tmp_path / "two", FULL, rota=0)
    text = (tmp_path / "two" / "iostat.txt").read_text()
    (tmp_path / "two" / "iostat.txt").write_text(
        text.replace("11/20/26", "12/20/26").replace("11/20/2026", "12/20/2026")
    )
    assert len(iodiag.analyze(tmp_path).hosts) == 1


def test_the_first_screen_shows_the_numbers_of_the_host_in_trouble(tmp_path):
    folder(tmp_path / "one", FULL | {"r/s": 10.0, "aqu-sz": 99.0}, rota=0)
    folder(tmp_path / "two", FULL, rota=1)
    report = iodiag.analyze(tmp_path)
    text = report.to_markdown()
    lead = report.findings[0].host
    state = next(s for s in report.states if s.host == lead)
    assert state.text.rpartition(": ")[2] in text
