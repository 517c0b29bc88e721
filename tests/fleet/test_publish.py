"""The fleet report beside a data set of sa files, and the questions that the documentation asks of it."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from fleet.conftest import Fleet, everything, run_here
from report.test_html import Page

PAGE = (Path(__file__).parents[2] / "docs" / "fleet-report.md").read_text()
SQL = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def data_set(fleet, tmp_path_factory) -> Path:
    """The shared fleet's, with an input more that cannot be read."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(fleet.out, folder / "out")
    (folder / "torn").write_bytes(b"\x96\xd5\x75\x21torn")
    judge(fleet, folder / "out")
    return folder / "out"


def judge(fleet: Fleet, out: Path) -> None:
    run_here([str(fleet.inputs), str(out.parent / "torn")], out)


def pages(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in (out / "reports").rglob("*.html")}


def test_every_page_that_the_report_leads_to_is_there_and_no_other(data_set):
    page = Page((data_set / "fleet.html").read_text())
    linked = {unquote(value) for value in page.values("href") if value.startswith("reports/")}
    assert linked == pages(data_set)
    for name in linked:
        Page((data_set / name).read_text())


def test_a_page_is_made_once_again_only_when_it_is_lost(fleet, data_set):
    whole = everything(data_set)
    made = {name: (data_set / name).stat().st_mtime_ns for name in sorted(pages(data_set))}
    lost = data_set / min(made)
    lost.unlink()
    (data_set / "reports" / "stale.html").write_text("of an earlier run")
    judge(fleet, data_set)
    assert everything(data_set) == whole
    again = {name: (data_set / name).stat().st_mtime_ns for name in sorted(pages(data_set))}
    assert [name for name in made if made[name] != again[name]] == [min(made)]


def test_the_report_says_what_the_tables_say(fleet, data_set):
    report = json.loads((data_set / "fleet.json").read_text())
    assert report["totals"]["hosts"] == report["totals"]["host_days"] == 5
    assert {one["host"] for one in report["hosts"]} >= {one.host for one in fleet.planted}
    assert report["failed"][0]["inputs"] == 1


def test_a_file_whose_name_is_no_text_is_a_line_like_any_other(fleet, data_set, tmp_path):
    odd = tmp_path / os.fsdecode(b"b\xffd")
    odd.write_bytes(b"\x00\x01 holds nothing")
    shutil.copytree(data_set, tmp_path / "out")
    run_here([str(fleet.inputs), str(odd)], tmp_path / "out")
    manifest = pd.read_parquet(tmp_path / "out" / "manifest.parquet")
    assert manifest.set_index("input").loc[f"{tmp_path}/b\\udcffd", "status"] == "unknown"


@pytest.mark.parametrize("statement", SQL, ids=range(len(SQL)))
def test_every_question_in_sql_has_an_answer(statement, data_set, monkeypatch):
    import duckdb

    monkeypatch.chdir(data_set)
    rows = duckdb.connect().execute(statement).fetchall()
    # no disk of this fleet is full for an hour
    assert rows or "util_pct >= 90" in statement


@pytest.mark.parametrize("program", PYTHON, ids=range(len(PYTHON)))
def test_every_question_in_python_has_an_answer(program, data_set, monkeypatch, capsys):
    monkeypatch.chdir(data_set)
    exec(compile(program, "docs/fleet-report.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_the_page_has_questions():
    assert len(SQL) >= 8
    assert len(PYTHON) >= 3


def test_rules_lead_to_their_pages_and_another_address_makes_the_pages_again(fleet, data_set, tmp_path):
    shutil.copytree(data_set, tmp_path / "out")
    (name, *_) = sorted(pages(data_set))
    for address, host in (("https://a.example/rules/", "a"), ("https://b.example", "b"), ("", "")):
        run_here([str(fleet.inputs), str(data_set.parent / "torn")], tmp_path / "out", rule_pages=address)
        page = (tmp_path / "out" / name).read_text()
        assert set(re.findall(r'href="https://([ab])\.example/(?:rules/)?[\w.-]+"', page)) == set(host)
    assert everything(tmp_path / "out") == everything(data_set)
