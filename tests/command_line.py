"""The program as a user calls it, in this process: its exit status and the bytes that it prints.

Only what a process alone shows (signals, closed pipes, full disks, what is imported) needs one of its own.
"""

from __future__ import annotations

import io
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import Mock, patch

import pytest

import iodiag.cli

UNTOUCHED = ((iodiag.cli, "gc", Mock()), (iodiag.cli, "signal", Mock()))


class Done(NamedTuple):
    """What subprocess.run would say of it."""

    returncode: int
    stdout: bytes
    stderr: bytes


def program(*arguments: object, stdin: bytes = b"") -> Done:
    """Run `iodiag` with its own handling of errors; signals and the collector stay as the tests have them."""
    words, given = ["iodiag", *map(str, arguments)], io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    printed, said = io.BytesIO(), io.BytesIO()
    with ExitStack() as around:
        out = around.enter_context(redirect_stdout(io.TextIOWrapper(printed, encoding="utf-8")))
        err = around.enter_context(redirect_stderr(io.TextIOWrapper(said, encoding="utf-8")))
        for target, name, value in ((sys, "argv", words), (sys, "stdin", given), *UNTOUCHED):
            around.enter_context(patch.object(target, name, value))
        ended = around.enter_context(pytest.raises(SystemExit))
        iodiag.cli.main()
    out.flush()
    err.flush()
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, printed.getvalue(), said.getvalue())
