"""What a shell is told when somebody presses Tab, and the versions in a bug report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from iodiag.cli import cli, command_names
from iodiag.rules import all_rules

MAN = Path(__file__).parents[1] / "docs" / "man"


def completed(*words: str) -> list[str]:
    *before, last = words
    return [item.value for item in ShellComplete(cli, {}, "iodiag", "_X").get_completions(before, last)]


def test_commands_options_and_rules_complete():
    assert completed("an") == ["analyze"]
    assert "--skip-rule" in completed("analyze", "x.txt", "--sk")
    assert completed("rules", "raid-p") == ["raid-partial-stripe-write"]
    assert completed("analyze", "--rule", "") == list(all_rules())


@pytest.mark.parametrize(
    "words", [("analyze", ""), ("compare", ""), ("convert", ""), ("fleet", ""), ("analyze", "-o", "")]
)
def test_inputs_and_outputs_complete_as_files(words):
    *before, last = words
    items = ShellComplete(cli, {}, "iodiag", "_X").get_completions(list(before), last)
    assert [item.type for item in items] == ["file"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_calls_iodiag(shell):
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_IODIAG_COMPLETE={shell}_complete" in done.output


def test_bash_takes_the_script_and_completes(tmp_path):
    program = tmp_path / "iodiag"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m iodiag "$@"\n')
    program.chmod(0o755)
    script = f"""
        PATH={tmp_path}:$PATH
        source <(iodiag completion bash)
        COMP_WORDS=(iodiag rules raid-p) COMP_CWORD=2
        _iodiag_completion iodiag raid-p rules
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["raid-partial-stripe-write"], done.stderr


def test_the_version_names_what_a_bug_report_needs():
    lines = CliRunner().invoke(cli, ["--version"]).output.splitlines()
    assert lines[0].startswith("iodiag ")
    assert lines[1].startswith("Python ")
    assert {line.split()[0] for line in lines[2:]} >= {"pandas", "numpy"}


def test_every_command_has_a_manual_page():
    assert {path.name for path in MAN.iterdir()} == {
        "iodiag.1",
        *(f"iodiag-{name}.1" for name in command_names()),
    }
