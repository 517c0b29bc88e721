"""What a command says while it works or waits, on a terminal alone."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from contextlib import redirect_stderr
from threading import Event

import pytest

from command_line import program
from iodiag.cli import _progress


class Terminal(io.StringIO):
    """A terminal that tells when something was drawn on it."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        self.drawn.set()
        return written


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(_progress, "_AFTER_S", 0.0)
    monkeypatch.setattr(_progress, "_EVERY_S", 0.001)
    monkeypatch.setenv("COLUMNS", "40")
    return screen


def test_a_slow_command_says_what_it_does_and_leaves_no_trace(terminal):
    with redirect_stderr(terminal), _progress.progress("reading", is_quiet=False) as say:
        say("reading file 2: " + "a long name " * 9)
        terminal.drawn.clear()
        assert terminal.drawn.wait(30)
        terminal.drawn.clear()
        assert terminal.drawn.wait(30)
    drawn = terminal.getvalue().split("\r")[1:]
    assert drawn[-1] == "\x1b[K", "the line is cleared at the end"
    assert drawn[-2].startswith("iodiag: reading file 2: a long name")
    assert max(len(line.removesuffix("\x1b[K")) for line in drawn) < 40, "no line wraps"


def test_a_fast_command_draws_nothing(terminal, monkeypatch):
    monkeypatch.setattr(_progress, "_AFTER_S", 1e9)
    with redirect_stderr(terminal), _progress.progress("reading", is_quiet=False):
        pass
    assert terminal.getvalue() == ""


def test_an_error_clears_the_line(terminal):
    def fail():
        with redirect_stderr(terminal), _progress.progress("judging", is_quiet=False):
            assert terminal.drawn.wait(30)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("is_quiet", [True, False])
def test_neither_quiet_runs_nor_pipes_are_told(is_quiet, monkeypatch, terminal):
    if not is_quiet:
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    with redirect_stderr(terminal), _progress.progress("reading", is_quiet) as say:
        say("reading file 1")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("options", "lines"), [((), 2), (("--quiet",), 1)])
def test_a_command_that_waits_for_a_terminal_says_for_what(options, lines):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "iodiag", "analyze", "-", *options]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE) as process:
        os.write(ours, b"nothing\n\x04")
        _, printed = process.communicate()
    os.close(ours)
    os.close(theirs)
    said = printed.decode().splitlines()
    assert len(said) == lines
    assert "nothing that iodiag knows" in said[-1]
    if not options:
        assert said[0].startswith("iodiag: waiting for a capture on standard input")
        assert "Ctrl-D" in said[0]
        assert "iostat -xt 1 60 | iodiag analyze -" in said[0]


def test_a_command_that_reads_a_pipe_waits_in_silence():
    assert b"waiting" not in program("analyze", "-", stdin=b"nothing\n").stderr
