"""Options and fixtures that every test can use."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

# no test may depend on how busy the machine is
settings.register_profile("iodiag", deadline=None)
settings.load_profile("iodiag")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files; review the diff before committing",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with golden/<name> beside the test, or write it there under --update-golden."""
    folder = request.path.parent / "golden"

    def check(name: str, text: str) -> None:
        path: Path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; --update-golden rewrites it"

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where every program is promised to be there (IODIAG_SKIPS_FAIL), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("IODIAG_SKIPS_FAIL"):
        report.outcome = "failed"
        report.longrepr = f"skipped where no skip is allowed: {report.longrepr}"
    return report
