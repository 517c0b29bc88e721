"""The documentation is true: generated pages are current, examples run, nothing is missing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import program

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_generated_pages_are_current():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "_generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ci_runs_the_readme_s_test_command():
    commands = [
        line for line in README.splitlines() if line.startswith("python3 -m venv") and "pytest" in line
    ]
    assert len(commands) == 1
    ran = (ROOT / ".ci" / "run").read_text().splitlines()
    assert commands[0] in ran
    assert [line for line in ran if line.startswith(".venv/bin/pytest") and line.endswith("-m slow")]


def examples() -> list[Any]:
    """Every `iodiag …` command of the README that names files of this repository."""
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", README, re.S)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    lines = [line.split("&& .venv/bin/")[-1] if "&& .venv/bin/" in line else line for line in lines]
    lines = [line for line in lines if line.startswith("iodiag ") and "samples/" in line]
    return [
        pytest.param(line, marks=pytest.mark.slow if line.startswith("iodiag fleet ") else ())
        for line in lines
    ]


def test_the_readme_has_examples():
    assert len(examples()) >= 2


@pytest.mark.parametrize("command", examples())
def test_the_readme_s_examples_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)[1:]
    words = [str(ROOT / word) if word.startswith("samples/") else word for word in words]
    done = program(*words)
    assert done.returncode == 0, done.stderr.decode()


def test_every_page_s_relative_links_exist():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", prose):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_architecture_gives_a_reason_for_every_dependency():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "docs" / "architecture.md").read_text()
    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert f"`{name}`" in text, name


def test_every_page_stands_in_the_navigation():
    """Rules are reached from their index, everything else from the side."""
    listed = set(re.findall(r":\s+([\w/-]+\.md)$", (ROOT / ".ci" / "mkdocs.yml").read_text(), re.M))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    hidden = {page for page in pages if page.startswith(("rules/", "examples/")) and page != "rules/index.md"}
    assert listed == pages - hidden


def test_the_glossary_has_each_term_once_in_order():
    terms = re.findall(r"^## (.+)$", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert terms == sorted(set(terms))


def keys_of(value: object) -> set[str]:
    """The keys of a JSON report, but those that name columns, rules and values."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    named = {
        "values",
        "summary",
        "thresholds",
        "limits",
        "ledger",
        "columns",
        "typical",
        "provenance",
        "means",
        "rule_texts",
    }
    return set(value) | set().union(*(keys_of(v) for k, v in value.items() if k not in named))


def test_the_page_on_json_names_every_key():
    import json

    import iodiag
    from iodiag.model.finding import Ignore

    cases = ROOT / "samples" / "cases"
    ignore = [Ignore("first-report-since-boot", "as documented")]
    before = iodiag.read(cases / "raid5-small-writes")
    reports = [
        iodiag.compare(before, iodiag.read(cases / "raid10-small-writes")),
        iodiag.analyze(iodiag.read(cases / "relaxed-commit"), ignore=ignore),
    ]
    assert reports[1].ignored
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page))
    assert set().union(*(keys_of(json.loads(report.to_json())) for report in reports)) <= documented


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_architecture_has_the_law_that_the_house_keeps():
    from test_house import LAW

    table = ARCHITECTURE.split("| room | may import |\n|---|---|\n")[1].split("\n\n")[0]
    stated = {}
    for row in table.splitlines():
        room, *may = re.findall(r"`(\w+)`", row)
        stated[room] = set(may)
    assert stated == {room: may for room, may in LAW.items() if not room.startswith("__")}


def test_architecture_names_every_room_and_files_that_exist():
    package = ROOT / "src" / "iodiag"
    files = [path for path in package.iterdir() if not path.name.startswith(("_", "py."))]
    rooms = {path.name.removesuffix(".py") for path in files}
    picture = ARCHITECTURE.split("```text\n")[1].split("```")[0]
    assert rooms <= set(re.findall(r"\w+", picture))
    named = set(re.findall(rf"`((?:{'|'.join(rooms)})/[\w/]+(?:\.py)?)`", ARCHITECTURE))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (package / name).exists()] == ["cli/count_up.py"]
