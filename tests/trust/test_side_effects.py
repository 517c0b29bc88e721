"""What a run does besides reading its inputs: all that Python's audit hooks tell of it is looked at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
CASE = SAMPLES / "cases" / "slow-member"
ELSEWHERE = "http://iodiag.invalid/x"

SITE = """
import os, sys

NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")
PROCESSES = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "os.startfile")
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
log = os.open(os.environ["IODIAG_TEST_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def hook(event, args):
    if event.startswith(NETWORK):
        kind, what = "network", event
    elif event.startswith(PROCESSES):
        kind, what = "process", args[0]
    elif event == "pickle.find_class":
        kind, what = "pickle", args[0]
    elif not isinstance(args[0] if args else None, str):
        return  # a pipe to a process of its own
    elif event.startswith(CHANGES) or (event == "open" and isinstance(args[2], int) and args[2] & WRITING):
        kind, what = "written", os.path.abspath(args[0])
    elif event == "open":
        kind, what = "read", os.path.abspath(args[0])
    else:
        return
    os.write(log, f"{kind} {what!r}\\n".encode("utf-8", "replace"))

sys.addaudithook(hook)
"""
"""Python runs a module of this name before anything else, also in the processes that a run starts."""

COMMANDS = {
    "analyze": ["analyze", "in", "-o", "out/r.html", "-o", "out/r.json", "-o", "out/r.md"],
    "addresses": ["analyze", "in/links.txt", "--rule-pages", ELSEWHERE, "-o", "out/r.sarif"],
    "compare": ["compare", "in", CASE, "-o", "out/c.html"],
    "convert": ["convert", "in", "--table", "disk", "-o", "out/t.parquet"],
    "inspect": ["inspect", "in"],
    "fleet": ["fleet", "in", "-o", "out/fleet", "--jobs", "2"],
}


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A case; an export of sadf, whose DOCTYPE is an address; what refers to a file beside the folder."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    (tmp_path / "out").mkdir()
    (tmp_path / "canary").write_text("secret")
    folder = tmp_path / "in"
    shutil.copytree(CASE, folder)
    shutil.copy(SAMPLES / "sadf-xml" / "12.7.7-x.xml", folder / "sadf.xml")
    entity = f'<!DOCTYPE s [<!ENTITY e SYSTEM "file://{tmp_path}/canary"><!ENTITY f SYSTEM "{ELSEWHERE}">]>'
    (folder / "entity.xml").write_text(f'<?xml version="1.0"?>\n{entity}\n<sysstat>&e;&f;</sysstat>\n')
    (folder / "link.txt").symlink_to(tmp_path / "canary")
    text = (CASE / "iostat.txt").read_text()
    (folder / "links.txt").write_text(text.replace("md0", f"![x]({ELSEWHERE})<img/src={ELSEWHERE}>"))
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_fetches_nothing_starts_nothing_and_writes_its_outputs_alone(name: str, given: Path):
    """matplotlib, which draws, keeps a list of fonts in a folder of its own and asks `fc-list` for them."""
    log, fonts = given / "log", str(given / "fonts")
    path = os.pathsep.join([str(given / "site"), *sys.path])
    env = {"PYTHONPATH": path, "IODIAG_TEST_LOG": str(log), "MPLCONFIGDIR": fonts, "TMPDIR": str(given)}
    command = [sys.executable, "-B", "-m", "iodiag", *map(str, COMMANDS[name])]
    done = subprocess.run(command, cwd=given, env=os.environ | env, capture_output=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        kind, _, what = line.partition(" ")
        found.setdefault(kind, set()).add(what.strip("'"))
    assert any(path.startswith(str(given / "in")) for path in found["read"])
    assert str(given / "canary") not in found["read"]
    assert "network" not in found
    assert found.get("process", set()) <= {"fc-list"}
    own = (str(given / "out"), fonts)
    assert {path for path in found.get("written", ()) if not path.startswith(own)} == set()
    # processes of one run tell each other what to do and what they did: nothing else is unpickled
    of_processes = {"iodiag", "concurrent", "multiprocessing"} if name == "fleet" else set()
    assert {module.partition(".")[0] for module in found.get("pickle", ())} <= of_processes
