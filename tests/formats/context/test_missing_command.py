import pytest

from iodiag.formats.context.missing_command import FORMAT
from reading import blocks_of


@pytest.mark.parametrize(
    "line",
    [
        "bash: iostat: command not found",
        "-bash: iostat: command not found...",
        "sh: 1: iostat: not found",
        "ksh: iostat:  not found",
        "-bash: /usr/bin/iostat: No such file or directory",
        "script.sh: line 3: iostat: command not found",
        "env: ‘iostat’: No such file or directory",
        "nohup: failed to run command 'iostat': No such file or directory",
        "zsh: command not found: iostat",
        "Command 'iostat' not found, but can be installed with:",
    ],
)
def test_a_tool_that_a_shell_does_not_find_is_known(line):
    ((fact,),) = (block.facts for block in blocks_of(FORMAT, line + "\n"))
    assert fact.word("tool") == "iostat"


@pytest.mark.parametrize(
    "line",
    [
        "iostat: device sdq not found",
        "iostat -x sdq",
        "bash: fooctl: command not found",
        "cat: iostat: No such file or directory",
    ],
)
def test_other_lines_are_no_missing_tool(line):
    assert not any(block.facts for block in blocks_of(FORMAT, line + "\n"))
