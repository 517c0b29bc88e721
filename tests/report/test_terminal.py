from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

import iodiag
from iodiag.model.report import Verdict
from iodiag.report import as_terminal
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report


def printed(report, width=100, no_color=True, full=False) -> str:
    file = io.StringIO()
    as_terminal.show(report, as_terminal.console(file, no_color=no_color, width=width), full)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_but_a_command_to_copy_is_wider_than_the_terminal(width):
    commands = {f"    {line}" for finding in raid5_report().findings for line in finding.confirm}
    for full in (False, True):
        lines = printed(raid5_report(), width, full=full).splitlines()
        assert {line for line in lines if len(line) > width} <= commands
        assert commands & set(lines)


def test_the_verdict_and_each_finding_are_there():
    text = printed(raid5_report(), full=True)
    assert "Small writes to the RAID5 volume dm-89 hold backup01 back" in text
    assert "1. Warning: Parity RAID reads and rewrites parity" in text
    assert "172: 07:40:01" in text
    assert "lvs -a -o+segtype" in text
    assert "flush_await_ms" in text


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("trouble", "Trouble. "),
        ("open", "Open. "),
        ("healthy", "Healthy. "),
        ("elsewhere", "Elsewhere. "),
        ("unknown", "Unknown. "),
    ],
)
def test_the_state_of_the_verdict_is_told_in_a_word(state, word):
    text = printed(replace(raid5_report(), verdict=Verdict(state)))
    assert f"{word}Small writes to" in text
    assert "Trouble" not in printed(replace(raid5_report(), verdict=None))


def test_what_each_device_was_doing_is_there():
    text = printed(raid5_report(), width=200, full=True)
    assert "30 of 60 samples: 375 requests/s" in text
    assert "1 more state in 1 sample: 6,000 requests" in text
    headings = [text.index(f"{name} ──") for name in ("What each device was doing", "Evidence", "Clear")]
    assert [text.index("1. Warning"), *headings] == sorted([text.index("1. Warning"), *headings])


def test_a_terminal_shows_the_verdict_and_the_first_step_on_a_screen():
    lines = printed(raid5_report()).splitlines()
    assert len(lines) <= 25
    assert "What to do first" in lines
    assert any(line.startswith("dm-89 ") and "█" in line for line in lines)
    assert any("--full prints all evidence" in line for line in lines)


def test_the_empty_report_is_printed():
    assert "No rule found anything." in printed(empty_report())


@pytest.mark.parametrize("text", HOSTILE)
def test_captures_cannot_drive_the_terminal(text):
    shown = printed(hostile_report(text)) + printed(hostile_report(text), full=True)
    assert shown.replace("\n", "").isprintable()


def test_markup_of_rich_in_a_capture_is_only_text():
    assert "[bold red]markup[/bold red] :skull:" in printed(
        hostile_report("[bold red]markup[/bold red] :skull:")
    )


def test_colours_only_where_they_are_wanted(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    colour = re.compile(r"\x1b\[[\d;]*3\dm")
    assert colour.search(printed(raid5_report(), no_color=None))
    assert not colour.search(printed(raid5_report(), no_color=True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(printed(raid5_report(), no_color=None))


def test_tables_of_numbers_fit_80_columns_whole():
    """What does not fit stands in a second table; no number is broken or cut off."""
    report = iodiag.analyze(Path(__file__).parents[2] / "samples" / "cases" / "slow-member")
    lines = printed(report, width=80, full=True).splitlines()
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("Devices ──")) :]
    heads = [at for at, line in enumerate(table) if line.startswith(" Device ")]
    assert max(map(len, table)) <= 80
    assert "util %" in table[heads[1]]
    assert table[heads[1] - 2].split()[:2] == ["read", "write"]
    (of_sdd,) = (line.split() for line in table[heads[1] : heads[1] + 12] if line.startswith(" sdd "))
    (device,) = (device for device in report.devices if device.name == "sdd")
    shown = [float(word) for word in of_sdd[1:] if word != "–"]
    assert shown[0] == pytest.approx(device.summary["await_ms"]["median"], rel=1e-3)
    assert shown[-1] == pytest.approx(device.summary["util_pct"]["median"], rel=1e-3)


def test_the_readme_shows_the_first_screen_as_it_is():
    root = Path(__file__).parents[2]
    told = re.search(r"\$ iodiag analyze (\S+)\n(.*?)\n…\n", (root / "README.md").read_text(), re.S)
    assert told
    captures = [iodiag.read(path) for path in sorted((root / told[1]).glob("*.txt"))]
    lines = [line.rstrip() for line in printed(iodiag.analyze(captures), width=96).splitlines()]
    assert lines[: len(told[2].splitlines())] == told[2].splitlines()
