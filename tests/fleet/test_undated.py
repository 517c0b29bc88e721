"""What a listing without a time shows beside many days of samples: told once for its host, on no day."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import iodiag
from fleet.conftest import run_here
from report.test_html import Page
from writers.fleet_writer import ROLES, day_name, sa_day

SAMPLES = Path(__file__).parents[2] / "samples"
DEGRADED = SAMPLES / "mdstat" / "raid5-degraded.txt"
DATED = SAMPLES / "iostat" / "12.6.1-xt-iso-ny.txt"
DAYS = 14


@pytest.fixture(scope="module")
def data_set(tmp_path_factory) -> Path:
    """Fourteen days of two hosts; one listing without a date says that an array of db1 lacks a member."""
    folder = tmp_path_factory.mktemp("undated")
    roles = {role.name: role for role in ROLES}
    for host, name in (("db1", "db"), ("web1", "web")):
        (folder / "in" / host).mkdir(parents=True)
        for day in range(DAYS):
            (folder / "in" / host / f"sa{day + 2:02}").write_bytes(sa_day(host, roles[name], day, ""))
    shutil.copy(DEGRADED, folder / "in" / "db1" / "mdstat")
    run_here(folder / "in", folder / "out")
    return folder / "out"


def test_it_is_found_once_on_no_day(data_set):
    findings = pd.read_parquet(data_set / "findings.parquet")
    assert findings.loc[findings["rule"] == "raid-degraded", "is_undated"].tolist() == [True] * DAYS
    report = json.loads((data_set / "fleet.json").read_text())
    (trouble,) = report["troubles"]
    (host,) = trouble["affected"]
    assert (trouble["rule"], trouble["first"], trouble["since"], trouble["host_days"]) == (
        "raid-degraded",
        "undated",
        "undated",
        1,
    )
    assert (host["since"], host["last"], host["days"], host["days_read"]) == ("undated", "undated", 0, DAYS)
    assert (report["totals"]["host_days"], report["totals"]["begun_last_day"]) == (2 * DAYS, 0)
    of_db, of_web = (row["cells"] for row in report["heatmap"]["rows"])
    assert [cell["state"] for cell in of_db] == ["clear"] * DAYS + ["found"]
    assert of_web[-1] is None


def test_no_text_says_since_when_or_on_how_many_days(data_set):
    page = "".join(Page((data_set / "fleet.html").read_text()).words)
    for text in (page, (data_set / "fleet.md").read_text()):
        assert "on 1 of 1 host judged, undated" in text
        assert "undated: the capture or listing that shows it states no time" in text
        assert not re.search(rf"still so|or before|since 20|{DAYS} of {DAYS}", text)


def test_the_page_of_the_last_day_says_that_it_may_be_of_another(data_set):
    (page,) = (data_set / "reports").rglob("*.html")
    assert page.name == f"{day_name(DAYS - 1)}.html"
    text = page.read_text()
    assert "undated: the capture or listing that shows it states no time" in text
    assert f'href="reports/db1/{page.name}"' in (data_set / "fleet.html").read_text()


def test_a_listing_in_a_dated_capture_is_of_its_day(tmp_path):
    pasted, apart = tmp_path / "pasted.txt", tmp_path / "mdstat"
    pasted.write_text(DATED.read_text() + "\n$ cat /proc/mdstat\n" + DEGRADED.read_text())
    shutil.copy(DEGRADED, apart)
    for inputs, is_undated in (([pasted], False), ([DATED, apart], True), ([apart], False)):
        report = iodiag.analyze([iodiag.read(path) for path in inputs])
        (finding,) = (one for one in report.findings if one.rule == "raid-degraded")
        assert report.is_undated(finding) is is_undated
        for text in (report.to_markdown(), report.to_ticket()):
            assert ("states no time" in text) is is_undated
