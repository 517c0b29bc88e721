"""`iodiag demo`: what it writes, what it never writes over, and when it opens a browser."""

from __future__ import annotations

import re
import shlex
import sys
import webbrowser
from pathlib import Path

import pytest

from command_line import program

SAMPLE = Path(__file__).parents[1] / "samples" / "cases" / "slow-member"


@pytest.fixture(autouse=True)
def opened(monkeypatch, tmp_path):
    """The addresses that were opened in a browser; the demo runs in an empty folder."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.chdir(tmp_path)
    return addresses


def on_a_desktop(monkeypatch):
    """Let standard output be a terminal of a desktop at the time when the demo asks for one."""
    import iodiag.cli.demo

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys, "platform", "linux")
    real = iodiag.cli.demo._has_browser

    def on_terminal():
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        return real()

    monkeypatch.setattr(iodiag.cli.demo, "_has_browser", on_terminal)


def test_the_demo_writes_the_sample_and_its_report(opened):
    done = program("demo")
    assert (done.returncode, done.stderr) == (0, b"")
    folder = Path("iodiag-demo")
    assert {path.name for path in folder.iterdir()} == {"capture", "report.html"}
    for path in (folder / "capture").iterdir():
        assert path.read_bytes() == (SAMPLE / path.name).read_bytes()
    assert "sdd takes" in (folder / "report.html").read_text()
    assert opened == [], "nobody looks at a pipe"


def test_the_commands_that_the_demo_prints_make_the_same_report():
    printed = program("demo", "a folder; of mine").stdout.decode()
    page = Path("a folder; of mine/report.html")
    written = page.read_bytes()
    page.unlink()
    commands = [line.strip() for line in printed.splitlines() if line.startswith("    iodiag analyze ")]
    assert len(commands) == 2
    for command in commands:
        assert program(*shlex.split(command)[1:]).returncode == 0
    assert page.read_bytes() == written
    assert program("demo", "a folder; of mine").returncode == 0, "a second run writes the same again"


@pytest.mark.parametrize("name", ["notes.txt", "capture.txt"])
def test_the_demo_writes_nothing_among_other_files(tmp_path, name):
    (tmp_path / name).write_text("mine")
    done = program("demo", tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(rb"iodiag: .*: holds other files; give a new folder\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = program("demo", tmp_path / "file" / "below")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


def test_a_desktop_s_terminal_opens_the_report_unless_told_not_to(monkeypatch, opened, tmp_path):
    on_a_desktop(monkeypatch)
    assert program("demo", "--no-open").returncode == 0
    assert opened == []
    assert program("demo").returncode == 0
    assert opened == [(tmp_path / "iodiag-demo" / "report.html").as_uri()]


def test_a_terminal_without_a_desktop_opens_nothing(monkeypatch, opened):
    on_a_desktop(monkeypatch)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert program("demo").returncode == 0
    assert opened == []
