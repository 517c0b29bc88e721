"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("src", "tests", "samples", "docs")
FILE = re.compile(r"`((?:src|samples|tests)/[\w/.]+)`:(?:(?!```).)*?```\w+\n(.*?)^```", re.S | re.M)


LINE = re.compile(r"below `(\[[^`]+\])` in `([^`]+)`:\s+```text\n(.*?)```", re.S)


def recipe(heading: str) -> dict[str, str]:
    """The files that a recipe says to write, by path."""
    section = TEXT.split(f"## Recipe: {heading}\n")[1].split("\n## ")[0]
    return dict(FILE.findall(section))


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> Path:
    """A copy of the project in which all recipes were followed."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / path, folder / path)
    for heading in ("a format", "a rule"):
        for path, text in recipe(heading).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    for section, path, line in LINE.findall(TEXT.split("## Recipe: a column\n")[1].split("\n## ")[0]):
        place = folder / path
        place.write_text(place.read_text().replace(f"\n{section}\n", f"\n{section}\n{line}", 1))
    done = python(folder, "docs/_generate.py")
    assert done.returncode == 0, done.stderr
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
    )


def test_the_recipes_write_what_they_promise():
    assert set(recipe("a format")) == {
        "src/iodiag/formats/context/ioping.py",
        "samples/ioping/disk.txt",
        "samples/ioping/disk.toml",
    }
    assert set(recipe("a rule")) == {
        "src/iodiag/rules/causes/sub_block_writes.py",
        "tests/rules/test_sub_block_writes.py",
    }


def test_the_new_format_is_read_and_the_rule_is_listed(followed):
    done = python(followed, "-m", "iodiag", "inspect", "samples/ioping/disk.txt")
    assert "ioping" in done.stdout, done.stderr
    assert "sub-block-writes" in python(followed, "-m", "iodiag", "rules").stdout
    assert (followed / "docs" / "rules" / "sub-block-writes.md").exists()


def test_the_new_column_is_read_and_described(followed):
    capture = followed / "paging.txt"
    capture.write_text("10:00:01 pgpgin/s pgrefill/s\n10:00:02 4.00 17.00\n")
    done = python(followed, "-m", "iodiag", "convert", "paging.txt", "--table", "paging")
    assert "pages_refilled_per_s" in done.stdout, done.stderr
    assert "17.0" in done.stdout
    assert "pages_refilled_per_s" in (followed / "docs" / "columns.md").read_text()


@pytest.mark.parametrize(
    "tests",
    [
        ("tests/test_samples.py", "-k", "ioping or came_from"),
        ("tests/rules/test_sub_block_writes.py",),
        pytest.param(
            ("tests/test_house.py", "-k", "not without_pandas and not help"), marks=pytest.mark.slow
        ),
    ],
    ids=["samples", "rule", "house"],
)
def test_the_project_s_own_tests_pass_with_both(followed, tests):
    done = python(followed, "-m", "pytest", "-p", "no:cacheprovider", *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"[1-9]\d* passed", done.stdout)
