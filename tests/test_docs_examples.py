"""The examples of the pages: commands print what the page shows, Python runs and its results hold.

In a `console` block each line after `$ ` is run and its output compared with the lines below it; a line `…`
stands for any lines, and `…` at a line's end for the rest of that line. `$ echo $?` shows the exit status.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from iodiag.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "cases").glob("*.md")),
]


@dataclass(frozen=True)
class Step:
    """One command of a block, and the output that the page shows."""

    command: str
    shown: tuple[str, ...]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def steps(block: str) -> list[Step]:
    parts = re.split(r"^\$ ", block, flags=re.M)
    assert not parts[0].strip(), "a console block begins with a command"
    found = []
    for part in parts[1:]:
        command, _, shown = part.replace("\\\n", "").partition("\n")
        found.append(Step(command.strip(), tuple(shown.rstrip("\n").split("\n")) if shown.strip() else ()))
    return found


def matches(shown: tuple[str, ...], printed: list[str]) -> str:
    """Empty where the output is as shown, else the first shown line that is missing."""
    at, is_elided = 0, False
    for line in shown:
        if line.strip() == "…":
            is_elided = True
            continue
        candidates = range(at, len(printed) if is_elided else min(at + 1, len(printed)))
        place = next((n for n in candidates if is_same(line, printed[n])), None)
        if place is None:
            return line
        at, is_elided = place + 1, False
    rest = [line for line in printed[at:] if line.strip()]
    return "" if is_elided or not rest else f"(nothing more), but there is: {rest[0]}"


def is_same(shown: str, printed: str) -> bool:
    if shown.endswith("…"):
        return printed.startswith(shown[:-1].rstrip())
    return printed.rstrip() == shown.rstrip()


OWN_TESTS = {"fleet-report"}
"""Pages whose Python needs a data set first; tests/fleet/test_publish.py makes one and runs it."""

CONSOLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "console"), 1)
]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder of one's own that has the samples at hand."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("block", CONSOLES)
def test_a_console_block_prints_what_it_shows(block):
    status = 0
    for step in steps(block):
        if step.command == "echo $?":
            assert step.shown == (str(status),)
            continue
        program, *words = shlex.split(step.command)
        assert program == "iodiag", step.command
        done = CliRunner().invoke(cli, words, prog_name="iodiag")
        status = done.exit_code
        missing = matches(step.shown, done.output.splitlines())
        assert not missing, f"{step.command}\nlacks: {missing}\nprints:\n{done.output}"


def test_pages_have_console_blocks():
    assert len(CONSOLES) >= 15


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "python") and p.stem not in OWN_TESTS], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs_in_order(page, capsys):
    """Blocks share their names, as cells of a notebook do; `# >` lines are what the cell prints."""
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)
        shown = tuple(line.removeprefix("# > ") for line in block.splitlines() if line.startswith("# > "))
        printed = capsys.readouterr().out.splitlines()
        missing = matches(shown, printed) if shown else ""
        assert not missing, f"{block}\nlacks: {missing}\nprints: {printed}"


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (("a", "b"), ["a", "b"], ""),
        (("a",), ["a", "b"], "(nothing more), but there is: b"),
        (("a", "…"), ["a", "b"], ""),
        (("…", "b"), ["a", "b"], ""),
        (("a", "c"), ["a", "b"], "c"),
        (("a…",), ["abc"], ""),
    ],
)
def test_the_comparison_of_output_can_fail(shown, printed, missing):
    assert matches(shown, printed) == missing
