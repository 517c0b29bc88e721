"""A rule from another package runs, is listed, and is accounted for like those of the house."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import iodiag
from writers.captures import iostat, vmstat

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "docs" / "examples" / "third-party-rule"
CAPTURE = ROOT / "samples" / "cases" / "slow-member" / "iostat.txt"
RULE = "latency-objective"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package as an installer lays it out: its module, and what its pyproject.toml says as metadata."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    for module in PACKAGE.glob("*.py"):
        (folder / module.name).write_text(module.read_text())
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    place = os.pathsep.join([str(site), str(Path(iodiag.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, "-m", "iodiag", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": place},
    )


def test_it_is_listed_with_its_page(installed):
    assert RULE in run(installed, "rules").stdout
    page = run(installed, "rules", RULE).stdout
    assert "When it is wrong" in page
    assert "objective = 20 ms" in page


def test_its_finding_stands_in_the_report(installed):
    report = json.loads(run(installed, "analyze", str(CAPTURE), "--format", "json").stdout)
    findings = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert {device for finding in findings for device in finding["devices"]} == {"md0", "sdd"}
    for finding in findings:
        evidence = finding["evidence"][0]
        assert evidence["lines"]
        assert evidence["values"]["latency"] > finding["thresholds"]["objective"] == 20
    rules = {outcome["rule"] for outcome in report["outcomes"]}
    assert rules > {RULE, "slow-member"}


def test_its_threshold_can_be_set(installed):
    options = ("--rule", RULE, "--set", f"{RULE}.objective=5000", "--format", "json")
    report = json.loads(run(installed, "analyze", str(CAPTURE), *options).stdout)
    assert report["findings"] == []
    assert {one["status"] for one in report["outcomes"] if one["rule"] == RULE} == {"clear"}


def test_a_rule_that_cannot_be_loaded_is_one_line(installed, tmp_path):
    for path in installed.rglob("*.txt"):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_text(path.read_text())
        (tmp_path / path.parent.name / "METADATA").write_text((path.parent / "METADATA").read_text())
    done = run(tmp_path, "rules")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert RULE in done.stderr


def explained(installed: Path, *inputs: Path) -> dict[str, tuple[str, str | None]]:
    """The role and the explanation of the findings of each rule."""
    report = json.loads(run(installed, "analyze", *map(str, inputs), "--format", "json").stdout)
    return {f["rule"]: (f["role"], f["explained_by"]) for f in report["findings"]}


def test_a_built_in_cause_explains_it(installed):
    found = explained(installed, CAPTURE.parent)
    assert found[RULE] == ("symptom", "slow-member")
    assert found["slow-member"] == ("cause", None)
    page = run(installed, "rules", "slow-member").stdout
    assert RULE in next(line for line in page.splitlines() if line.startswith("Explains: "))


def test_it_explains_a_built_in_symptom(installed, tmp_path):
    slow = {"r/s": 40.0, "rkB/s": 2560.0, "r_await": 50.0, "aqu-sz": 2.0, "%util": 60.0}
    (tmp_path / "iostat.txt").write_text(iostat([{"sda": slow}] * 20))
    (tmp_path / "vmstat.txt").write_text(vmstat([{"b": 6, "wa": 60}] * 20))
    found = explained(installed, tmp_path)
    assert found[RULE] == ("symptom", None)
    assert found["blocked-tasks"] == ("symptom", RULE)
    lines = run(installed, "rules", RULE).stdout.splitlines()
    assert "Role: symptom" in lines
    assert "Explains: blocked-tasks, psi-io-pressure" in lines
