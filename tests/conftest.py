"""Options and fixtures that every test can use."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test

from property_tests import load_profile

WITHOUT_SLOW = "not slow"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files; review the diff before committing",
    )


class _FailedRules(logging.Handler):
    """Keeps what the engine notes of rules that failed: the analysis goes on, a test must not."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.failed: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.failed.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


_FAILED_RULES = _FailedRules()


def pytest_configure(config: pytest.Config) -> None:
    load_profile(is_whole=config.getoption("markexpr") != WITHOUT_SLOW)
    # from the start: fixtures of a session analyse captures too
    engine = logging.getLogger("iodiag.rules.engine")
    engine.setLevel(logging.DEBUG)
    engine.addHandler(_FAILED_RULES)


@pytest.fixture(autouse=True)
def no_rule_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """No rule fails on anything that a test analyses, unless the test makes it (`rules_may_fail`)."""
    yield
    failed = _FAILED_RULES.failed[:]
    _FAILED_RULES.failed.clear()
    assert not failed or request.node.get_closest_marker("rules_may_fail"), failed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Property tests are in both runs: with all their examples they are slow."""
    if config.getoption("markexpr") == "slow":
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker("slow")


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what did not run and why, each reason once: what is skipped has shown nothing."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    is_without_slow = config.getoption("markexpr") == WITHOUT_SLOW
    if reasons or is_without_slow:
        terminalreporter.section("not run", sep="-")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} {'test' if count == 1 else 'tests'}: {reason}")
    if is_without_slow:
        terminalreporter.line("the slow tests: `pytest -m slow` runs them, `pytest -m ''` all tests")
        terminalreporter.line("three of four examples of property tests: with the slow tests all are tried")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    *_, text = report.longrepr if isinstance(report.longrepr, tuple) else (str(report.longrepr),)
    return text.removeprefix("Skipped: ")


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
