"""What pytest says at its end of the tests that did not run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """\
import pytest

@pytest.mark.parametrize("number", range(3))
def test_with_a_program(number):
    pytest.skip("no chromium on this machine")

@pytest.mark.skipif(True, reason="sar: not installed")
def test_with_another():
    pass

@pytest.mark.slow
def test_slow():
    pass

def test_quick():
    pass
"""


@pytest.mark.parametrize(
    ("options", "ran", "is_told"),
    [
        ((), "1 passed, 4 skipped", True),
        pytest.param(("-n", "2"), "1 passed, 4 skipped", True, marks=pytest.mark.slow),
        (("-m", ""), "2 passed", False),
    ],
    ids=["one process", "two", "slow ones, too"],
)
def test_skips_are_listed_by_reason_and_slow_tests_are_named(tmp_path, monkeypatch, options, ran, is_told):
    monkeypatch.delenv("IODIAG_SKIPS_FAIL", raising=False)
    for name in ("conftest.py", "property_tests.py"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\naddopts = -q -m 'not slow'\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 tests: no chromium on this machine\n1 test: sar: not installed\n" in done.stdout
    assert ran in done.stdout
    assert ("\nthe slow tests: " in done.stdout) == is_told
