"""Every sample is read as its sidecar says, by one format alone, with every line accounted for."""

from __future__ import annotations

import tomllib

import pytest

import iodiag
from iodiag.formats import context_formats, file_formats
from iodiag.model.finding import SEVERITIES
from iodiag.model.report import Report
from sample_files import CASES, FILES, analyzed, name_of, read, sidecar

HEAD = 4096
FOUND_BY_TABLES = {"iostat", "sar", "vmstat", "mpstat", "pt-diskstats", "vmstat-disk", "top"}


def fired(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings}


def test_every_sample_says_where_it_came_from():
    assert [name_of(path) for path in FILES if not (sidecar(path)["origin"] and sidecar(path)["tool"])] == []
    assert [name_of(path) for path in FILES if sidecar(path)["licence"] != "CC0-1.0"] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_sample_is_read_as_its_sidecar_says(path):
    expect, capture = sidecar(path)["expect"], read(path)
    assert expect["format"] in {section.format for section in capture.sections}
    for table, rows in expect.get("tables", {}).items():
        assert len(capture.tables[table]) == rows, table
    known = {name for device in capture.topology for name in (device.name, *device.aliases)}
    if capture.disk is not None:
        known |= set(capture.disk["device"].astype(str))
    assert set(expect.get("devices", ())) <= known
    assert set(expect.get("facts", ())) <= {fact.kind for fact in capture.evidence}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_sample_s_verdicts_are_those_of_its_sidecar(path):
    expect = sidecar(path)["expect"]
    if not expect.keys() & {"findings", "absent", "worst"}:
        assert not [outcome for outcome in analyzed(path).outcomes if outcome.status == "error"]
        return
    report = analyzed(path)
    assert set(expect.get("findings", ())) <= fired(report)
    assert not fired(report) & set(expect.get("absent", ()))
    if "worst" in expect:
        assert SEVERITIES.index(report.worst() or "info") <= SEVERITIES.index(expect["worst"])


@pytest.mark.parametrize("folder", CASES, ids=name_of)
def test_a_case_gives_its_findings_with_all_its_context(folder):
    told = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    captures, problems = iodiag.read_many([folder])
    report = iodiag.analyze(captures)
    assert not problems
    assert set(told["findings"]) <= fired(report)
    if not told["findings"]:
        assert SEVERITIES.index(report.worst() or "info") <= SEVERITIES.index("notice")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_format_of_a_sample_claims_it_and_lines_of_it(path):
    """Context formats keep off samples of other tools: what they take is theirs by the sidecar."""
    head = path.read_bytes()[:HEAD]
    claims = [form.id for form in file_formats() if form.recognise(head)]
    wanted = sidecar(path)["expect"]["format"]
    owners = {form.id for form in file_formats()}
    assert claims == ([wanted] if wanted in owners else [])
    taken = {section.format for section in read(path).sections if section.is_context}
    contexts = {form.id for form in context_formats()}
    if wanted in FOUND_BY_TABLES:
        allowed = set(sidecar(path)["expect"].get("facts", ()))
        assert taken & contexts <= allowed
    elif wanted in contexts:
        assert wanted in taken


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_line_is_understood_and_counted_unless_it_is_blank(path):
    assert not read(path).unparsed
    if path.suffix != ".bin":
        (ledger,) = read(path).ledgers
        lines = path.read_bytes().replace(b"\0", b"").split(b"\n")
        assert ledger.total == sum(1 for line in lines if line.strip(b" \t\r"))
