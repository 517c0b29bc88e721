from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from iodiag.cli import cli
from iodiag.report import as_markdown
from iodiag.report.charts import png
from iodiag.report.charts import report_charts as charts
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report

CASE = Path(__file__).parents[3] / "samples" / "cases" / "slow-member"


def run(*arguments: object):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def images(markdown: str) -> list[tuple[str, str]]:
    """Address and words of each image, as a renderer sees them."""
    inner = (token.children or [] for token in MarkdownIt("commonmark").parse(markdown))
    return [(str(t.attrs["src"]), t.content) for row in inner for t in row if t.type == "image"]


def test_charts_lie_beside_the_report_that_shows_them(tmp_path):
    done = run("analyze", CASE, "--full", "-o", tmp_path / "my (first) report.md")
    written = sorted(path.name for path in tmp_path.iterdir())
    shown = images((tmp_path / "my (first) report.md").read_text())
    named = [name.replace("%20", " ").replace("%28", "(").replace("%29", ")") for name, _ in shown]
    assert sorted(set(named)) == written[:-1], "two findings may show the same chart"
    assert written[0] == "my (first) report-1-a-bars.png"
    assert written[-2] == "my (first) report-screen-a-timeline.png"
    assert all(words for _, words in shown)
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in written[:-1])
    assert f"and {len(written) - 1} charts beside it" in done.stderr


@pytest.mark.parametrize("arguments", [("-o", "r.md", "--no-charts"), ("-o", "r.json"), ()])
def test_no_chart_is_written_where_none_is_wanted(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(png, "render", pytest.fail)
    done = run("analyze", CASE, *arguments)
    assert done.exit_code == 0
    assert len(list(tmp_path.iterdir())) == len([word for word in arguments if word == "-o"])
    assert "![" not in done.stdout


def test_html_without_charts(tmp_path):
    for name, more in (("with.html", ()), ("without.html", ("--no-charts",))):
        assert run("analyze", CASE, "-o", tmp_path / name, *more).exit_code == 0
    assert "<svg" in (tmp_path / "with.html").read_text()
    assert "<svg" not in (tmp_path / "without.html").read_text()


def test_a_chart_that_cannot_be_written_leaves_no_report(tmp_path):
    (tmp_path / "r-screen-a-timeline.png").mkdir()
    done = run("analyze", CASE, "-o", tmp_path / "r.md")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"iodiag: {tmp_path / 'r-screen-a-timeline.png'}: cannot be written")
    assert not (tmp_path / "r.md").exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_of_a_capture_is_part_of_a_path_or_of_markup(text, monkeypatch):
    monkeypatch.setattr(png, "render", lambda _: b"")
    report = hostile_report(text)
    found = charts.chart_files(report, "r", full=True)
    names = [chart.name for files in found.values() for chart in files]
    first = "r-screen-a-timeline.png"
    assert sorted(set(names)) == ["r-1-a-stack.png", "r-1-b-bars.png", "r-1-c-timeline.png", first]
    shown = images(as_markdown.render(report, found, full=True))
    assert [name for name, _ in shown] == names


def test_a_report_without_findings_needs_no_matplotlib(monkeypatch):
    monkeypatch.setattr(png, "render", pytest.fail)
    assert charts.chart_files(empty_report(), "r") == {}


def test_the_same_picture_is_one_file_and_many_are_cut(monkeypatch):
    monkeypatch.setattr(png, "render", lambda _: b"")
    found = charts.chart_files(raid5_report(), "r", full=True)
    assert len({chart.name for files in found.values() for chart in files}) == 7
    monkeypatch.setattr(charts, "CHARTS_SHOWN", 2)
    found = charts.chart_files(raid5_report(), "r", full=True)
    assert [chart.name for files in found.values() for chart in files] == [
        "r-screen-a-timeline.png",
        "r-1-a-stack.png",
    ]


def test_a_short_report_has_the_picture_of_the_first_screen_alone(monkeypatch):
    monkeypatch.setattr(png, "render", lambda _: b"")
    assert list(charts.chart_files(raid5_report(), "r")) == [("screen", 0)]
