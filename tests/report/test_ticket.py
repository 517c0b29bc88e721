from __future__ import annotations

import pytest
from click.testing import CliRunner

import iodiag
from iodiag.cli import cli
from iodiag.report import as_ticket
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report
from report.test_html import _many
from report.test_terminal import printed
from sample_files import CASES


def run(*arguments: object):
    return CliRunner().invoke(cli, ["analyze", *map(str, arguments)])


def test_a_ticket_has_the_verdict_the_first_step_and_the_evidence():
    text = raid5_report().to_ticket()
    lines = text.splitlines()
    assert lines[0] == "Storage report: `backup01`, 2019-09-19 07:10:01 to 08:09:01 (UTC+02:00)"
    assert lines[2].startswith("Trouble. Small writes to the RAID5 volume `dm-89` hold")
    for heading in ("What to do first:", "Other findings:", "Evidence:"):
        assert heading in lines
    assert not [line for line in lines if line.startswith(("#", "|", "!", "**"))]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_ticket_is_short_and_printable(text):
    shown = hostile_report(text).to_ticket()
    assert len(shown.encode("utf-8", "replace")) <= as_ticket.MOST_BYTES
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "report", [raid5_report(), empty_report(), _many(250)], ids=["raid5", "empty", "many"]
)
def test_a_ticket_stays_below_its_limit(report):
    assert 0 < len(report.to_ticket().encode()) <= as_ticket.MOST_BYTES


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_the_first_screen_of_a_case_is_short_in_every_rendering(case):
    """Sizes of what a reader gets without asking for more; the first step stands near the top."""
    report = iodiag.analyze([case])
    markdown = report.to_markdown()
    assert len(markdown.encode()) <= 6000
    assert len(report.to_ticket().encode()) <= as_ticket.MOST_BYTES
    assert len(printed(report).splitlines()) <= 30
    assert markdown.splitlines().index("**What to do first**") <= 25


def test_the_command_line_writes_tickets_and_whole_reports(tmp_path):
    case = CASES[0]
    report = iodiag.analyze([case])
    assert run(case, "--format", "ticket").stdout.splitlines()[0] == report.to_ticket().splitlines()[0]
    assert run(case, "--format", "ticket", "-o", tmp_path / "a.txt", "--quiet").exit_code == 0
    assert len((tmp_path / "a.txt").read_bytes()) <= as_ticket.MOST_BYTES
    assert "## Clear" not in run(case).stdout
    assert "## Clear" in run(case, "--full").stdout
    for name, options in (("folded", ()), ("open", ("--full",))):
        run(case, "-o", tmp_path / f"{name}.html", *options)
    assert '<details class="fold" open>' not in (tmp_path / "folded.html").read_text()
    assert '<details class="fold" open>' in (tmp_path / "open.html").read_text()


@pytest.mark.parametrize(("height", "is_paged"), [(10, True), (500, False)])
def test_a_report_longer_than_the_terminal_goes_through_the_pager(monkeypatch, capsys, height, is_paged):
    from iodiag.cli import _options

    paged: list[str] = []
    monkeypatch.setenv("LINES", str(height))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(_options.click, "echo_via_pager", lambda text, color: paged.append(text))
    monkeypatch.delenv("LESS", raising=False)
    _options._print(raid5_report(), {"format_": None, "no_color": True, "full": False, "no_charts": False})
    assert bool(paged) is is_paged
    assert "What to do first" in "".join(paged) + capsys.readouterr().out
