"""A JSON report is rendered again as it was at first, whoever wrote it, and a broken one is refused."""

from __future__ import annotations

import copy
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.cli import cli
from iodiag.errors import FormatError, ReportGiven
from iodiag.model.report import Report
from iodiag.report import as_html, as_json
from iodiag.report.as_terminal import console, show
from iodiag.report.charts.finding_charts import pictures
from property_tests import examples
from report.builders import HOSTILE, hostile_report
from sample_files import CASES, FILES, SAMPLES, first_of_each_format, name_of

STORED = Path(__file__).parent / "report" / "stored"
LADDER = SAMPLES / "seeds" / "util-ladder.txt"


@cache
def stored(name: str) -> Any:
    return json.loads((STORED / name).read_text())


def terminal(report: Report) -> str:
    text = io.StringIO()
    show(report, console(text, width=100), full=True)
    return text.getvalue()


def run(*arguments: object, stdin: bytes | None = None):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


@pytest.mark.parametrize("path", [*first_of_each_format(FILES), *CASES], ids=name_of)
def test_every_sample_is_rendered_from_its_json_as_from_its_captures(path):
    captures, _ = iodiag.read_many([path])
    report = iodiag.analyze(captures)
    again = as_json.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    assert again.to_markdown() == report.to_markdown()
    assert as_html.render(again, with_charts=False) == as_html.render(report, with_charts=False)
    assert terminal(again) == terminal(report)
    # NaN is unlike itself, its repr is not
    assert repr([pictures(again, f) for f in again.findings]) == repr(
        [pictures(report, f) for f in report.findings]
    )


@pytest.mark.parametrize("ending", ["md", "html", "json"])
def test_a_report_is_recognised_by_its_content_and_rendered_in_any_format(tmp_path, ending):
    # charts beside a report are called after it
    for folder in ("first", "again"):
        (tmp_path / folder).mkdir()
    first, again, written = (
        tmp_path / name for name in (f"first/r.{ending}", f"again/r.{ending}", "notes.txt")
    )
    assert run("analyze", LADDER, "-o", first, "-o", tmp_path / "r.json").exit_code == 0
    (tmp_path / "r.json").rename(written)
    done = run("analyze", written, "-o", again, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert again.read_bytes() == first.read_bytes()


def test_a_comparison_is_rendered_again(tmp_path):
    sides = [SAMPLES / "seeds" / f"{name}-table-scan.txt" for name in ("fragmented", "restored")]
    report = iodiag.compare(*map(iodiag.read, sides))
    (tmp_path / "c.json").write_text(report.to_json())
    assert run("analyze", tmp_path / "c.json", "-o", tmp_path / "c.html").exit_code == 0
    assert (tmp_path / "c.html").read_text() == report.to_html()
    assert run("analyze", tmp_path / "c.json").stdout == report.to_markdown()


def test_a_report_comes_through_a_pipe_and_compressed(tmp_path):
    import gzip

    text = (STORED / "analysis.json").read_bytes()
    expected = as_json.from_json(text).to_markdown()
    assert run("analyze", "-", stdin=text).stdout == expected
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf \n" + text))
    assert run("analyze", tmp_path / "x.gz").stdout == expected


def test_fail_on_holds_for_a_report_too():
    assert run("analyze", STORED / "analysis.json", "--fail-on", "warning").exit_code == 1


@pytest.mark.parametrize("name", sorted(path.name for path in STORED.iterdir()))
def test_reports_of_earlier_releases_are_still_rendered(name):
    document = stored(name)
    report = as_json.from_dict(document)
    assert [f.rule for f in report.findings] == [f["rule"] for f in document["findings"]] != []
    assert [f.role for f in report.findings] == [f.get("role") for f in document["findings"]]
    for text in (report.to_markdown(full=True), report.to_html(), terminal(report)):
        assert all(finding.rule in text for finding in report.findings)
        assert all(device.name in text for device in report.devices)


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", STORED / "analysis.json", STORED / "comparison.json"),
        ("analyze", LADDER, STORED / "analysis.json"),
        ("compare", STORED / "analysis.json", LADDER),
        ("convert", STORED / "analysis.json"),
        ("inspect", STORED / "analysis.json"),
    ],
    ids=lambda words: " ".join(map(str, words)).replace(str(SAMPLES.parent), ""),
)
def test_a_report_where_it_does_not_belong_is_one_line(command):
    done = run(*command)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert "analysis.json: is a report that iodiag wrote, no capture" in done.stderr


@pytest.mark.parametrize("options", [("--full",), ("--format", "html")])
def test_a_page_that_iodiag_wrote_is_no_capture(options, tmp_path):
    page = run("analyze", *options, LADDER).stdout
    capture = LADDER.read_text()
    (tmp_path / "page").write_text(page)
    alone = run("inspect", tmp_path / "page")
    assert alone.exit_code != 0
    assert "is a report that iodiag wrote, no capture" in alone.stderr
    (tmp_path / "io.txt").write_text(capture)
    beside = run("analyze", tmp_path)
    assert "page: is a report that iodiag wrote" in beside.stderr
    assert "of 3 samples" in beside.stdout
    pasted = iodiag.read(io.BytesIO(f"{capture}\n{page}".encode()), name="x")
    assert len(pasted.tables["disk"]) == 3
    assert "it is no capture and was not read" in pasted.notes[-1].reason


def test_a_report_beside_captures_in_a_directory_is_passed_over(tmp_path):
    (tmp_path / "r.json").write_text((STORED / "analysis.json").read_text())
    (tmp_path / "capture.txt").write_text(LADDER.read_text())
    report = iodiag.analyze(iodiag.read(tmp_path))
    assert [summary.section.format for summary in report.sources if not summary.section.is_context]
    assert not [s for s in report.sources if s.section.source.endswith("r.json")]


@pytest.mark.parametrize(
    "option", [("--device", "sda"), ("--rule", "svctm-misread"), ("--set", "a.b=1"), ("--tz", "UTC")]
)
def test_options_for_captures_are_refused(option):
    done = run("analyze", STORED / "analysis.json", *option)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"iodiag: {option[0]}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": "iodiag-report/2", "new": []}', "'iodiag-report/2' is not 'iodiag-report/1'"),
        ('{"schema": "iodiag-report/1"}', "report.iodiag: missing"),
        ('{"schema": "iodiag-report/1", "iodiag": NaN}', "NaN is no number of JSON"),
        ('{"schema": "iodiag-report/1", "iodiag": "1", "gener', "the report is not JSON"),
        ('{"schema": "iodiag-report/1", "findings": ' + "[" * 200_000, "nested too deeply"),
        ('{"schema": "iodiag-report/1", "x": ' + "9" * 9_000 + "}", "the report is not JSON"),
    ],
)
def test_a_report_that_cannot_be_read_is_one_line(text, said):
    done = run("analyze", "-", stdin=text.encode())
    assert (done.exit_code, done.stdout) == (3, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 300


def test_json_of_others_that_mentions_the_schema_is_no_report():
    with pytest.raises(iodiag.UnknownFormat) as refused:
        iodiag.read(io.BytesIO(b'{"log": {"schema": "iodiag-report/1"}}'), name="x")
    assert not isinstance(refused.value, ReportGiven)


def test_a_column_without_a_median_is_drawn_as_unknown():
    document = copy.deepcopy(stored("analysis.json"))
    for device in document["devices"]:
        device["summary"] = {column: {} for column in device["summary"]}
    assert as_json.from_json(json.dumps(document)).to_markdown()


@pytest.mark.parametrize("odd", [True, 7, "a", [1]])
def test_a_comparison_that_is_none_is_refused(odd):
    with pytest.raises(FormatError, match="comparison"):
        as_json.from_json(json.dumps(stored("comparison.json") | {"comparison": odd}))


NUMBERS = [None, True, -1, 0, 7, 2**62, 2**70, 1e308, -1e308, 1e-320]
LISTS = [[], [[]], [None], ["a"], [1, 2], [5, 3], [-5, 2**62], [{}]]
OBJECTS = [{}, {"a": None}, {"a": 1}, {"a": {"b": 1.5}}]
ODD = st.sampled_from([*NUMBERS, *LISTS, *OBJECTS, "", "x" * 9999, *HOSTILE[:8]]).map(copy.deepcopy)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a document, of a list's first two only."""
    if isinstance(data, dict):
        return [w for key, value in data.items() for w in ((*path, key), *places(value, (*path, key)))]
    if isinstance(data, list):
        return [w for at, value in enumerate(data[:2]) for w in ((*path, at), *places(value, (*path, at)))]
    return []


@examples(120)
@given(st.sampled_from(["analysis.json", "comparison.json"]), st.data())
def test_a_report_with_anything_anywhere_is_refused_or_rendered(name, data):
    document = copy.deepcopy(stored(name))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(document)))
        inner = document
        for key in way:
            inner = inner[key]
        inner[last] = data.draw(ODD)
    try:
        report = as_json.from_json(json.dumps(document))
    except FormatError:
        return
    report.to_markdown()
    terminal(report)
    as_html.render(report, with_charts=data.draw(st.integers(0, 9)) == 0)
    assert as_json.from_json(report.to_json()).to_json() == report.to_json()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_report_stays_inert_when_it_is_rendered_again(text):
    report = hostile_report(text)
    again = as_json.from_json(report.to_json())
    assert as_html.render(again, with_charts=False) == as_html.render(report, with_charts=False)
    assert again.to_markdown() == report.to_markdown()
