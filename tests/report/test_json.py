from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.errors import FormatError
from iodiag.model.capture import Section
from iodiag.model.finding import Edge, Evidence, Finding, Outcome, Quote
from iodiag.model.report import (
    Chosen,
    DeviceSummary,
    PhaseSummary,
    Report,
    Series,
    SourceSummary,
    StateSummary,
    UnparsedLine,
    Verdict,
)
from iodiag.report import as_json
from property_tests import examples
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report

texts = st.text(max_size=8)
maybe = st.none() | texts
whole = st.integers(0, 10**9)
numbers = st.floats(allow_nan=False, allow_infinity=False)
many = st.lists(texts, max_size=3).map(tuple)
lines = st.builds(UnparsedLine, whole, texts, texts)
sections = st.builds(
    Section,
    texts,
    texts,
    texts,
    maybe,
    maybe,
    st.none() | whole,
    maybe,
    maybe,
    whole,
    whole,
    st.booleans(),
    whole,
)
evidence = st.builds(
    Evidence,
    texts,
    st.dictionaries(texts, numbers | texts, max_size=3),
    texts,
    st.lists(whole, max_size=4).map(tuple),
    whole,
    st.lists(st.builds(Quote, texts, whole, texts), max_size=2).map(tuple),
    st.sampled_from(["for", "against", "context"]),
)
findings = st.builds(
    Finding,
    rule=texts,
    severity=st.sampled_from(["critical", "warning", "notice", "info"]),
    confidence=st.sampled_from(["high", "medium", "low"]),
    title=texts,
    summary=texts,
    devices=many,
    host=maybe,
    start=maybe,
    end=maybe,
    samples=st.none() | st.tuples(whole, whole),
    evidence=st.lists(evidence, max_size=2).map(tuple),
    thresholds=st.dictionaries(texts, numbers, max_size=2),
    remedy=many,
    confirm=many,
    refutes=many,
    cannot_know=many,
    references=many,
    supersedes=many,
    explained_by=maybe,
    role=st.sampled_from([None, "symptom", "cause", "reading", "elsewhere", "context"]),
    pictures=st.sampled_from([(), ("stack",), ("stack", "cpu")]),
    peers=many,
    edges=st.lists(
        st.builds(Edge, maybe, texts, st.dictionaries(texts, numbers, max_size=2)), max_size=2
    ).map(tuple),
)


def series_of(samples: int) -> st.SearchStrategy[Series]:
    values = st.lists(numbers, min_size=samples, max_size=samples).map(tuple)
    return st.builds(
        Series,
        texts,
        maybe,
        st.lists(whole, min_size=samples, max_size=samples).map(tuple),
        st.just(()) | values,
        st.dictionaries(texts, values, max_size=2),
    )


reports = st.builds(
    Report,
    iodiag=texts,
    generated=texts,
    headline=texts,
    verdict=st.none()
    | st.builds(
        Verdict,
        st.sampled_from(["trouble", "open", "healthy", "elsewhere", "unknown"]),
        maybe,
        many,
        st.none() | st.sampled_from(["critical", "warning", "notice", "info"]),
        st.none() | st.sampled_from(["high", "medium", "low"]),
        texts,
        texts,
    ),
    states=st.lists(
        st.builds(
            StateSummary,
            device=texts,
            host=maybe,
            samples=whole,
            seconds=st.none() | numbers,
            share_of_time=numbers,
            requests=numbers,
            direction=texts,
            size_kb=st.none() | numbers,
            per_s=st.none() | numbers,
            in_flight=st.none() | numbers,
            latency_ms=st.none() | numbers,
            busy_pct=st.none() | numbers,
            text=texts,
            source=texts,
            lines=st.lists(whole, max_size=3).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    phases=st.lists(
        st.builds(
            PhaseSummary,
            device=texts,
            host=maybe,
            source=texts,
            phase=whole,
            label=texts,
            samples=whole,
            seconds=st.none() | numbers,
            means=st.dictionaries(texts, numbers, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    sources=st.lists(
        st.builds(
            SourceSummary,
            sections,
            st.lists(lines, max_size=2).map(tuple),
            st.lists(lines, max_size=2).map(tuple),
            st.dictionaries(texts, whole, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    devices=st.lists(
        st.builds(
            DeviceSummary,
            texts,
            maybe,
            many,
            maybe,
            maybe,
            many,
            whole,
            st.dictionaries(texts, st.dictionaries(texts, numbers, max_size=2), max_size=2),
            st.dictionaries(texts, texts, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    findings=st.lists(findings, max_size=2).map(tuple),
    outcomes=st.lists(
        st.builds(
            Outcome,
            texts,
            st.sampled_from(["finding", "clear", "undetermined", "not_applicable", "error"]),
            many,
            texts,
            many,
            maybe,
        ),
        max_size=2,
    ).map(tuple),
    thresholds=st.dictionaries(texts, st.dictionaries(texts, numbers, max_size=2), max_size=2),
    series=st.lists(st.integers(0, 3).flatmap(series_of), max_size=2).map(tuple),
    timezone=maybe,
    chosen=st.builds(Chosen, many, maybe, maybe),
)


@examples(40)
@given(reports)
def test_a_report_survives_json(report):
    assert as_json.from_json(as_json.render(report)) == report


def test_an_outcome_of_several_reasons_is_one_entry_and_comes_back_as_it_was():
    outcomes = (
        Outcome("mixed-await", "clear", ("sda", "sdb"), "reads take no longer"),
        Outcome("mixed-await", "clear", ("sdc",), "it writes alone"),
        Outcome("mixed-await", "undetermined", ("sdd",), "too few samples"),
    )
    report = replace(raid5_report(), outcomes=outcomes)
    entries = report.as_dict()["outcomes"]
    assert [(one["rule"], one["status"], one["devices"]) for one in entries] == [
        ("mixed-await", "clear", ["sda", "sdb", "sdc"]),
        ("mixed-await", "undetermined", ["sdd"]),
    ]
    assert entries[0]["reason"] == "sda, sdb: reads take no longer; sdc: it writes alone"
    assert as_json.from_json(report.to_json()).outcomes == outcomes


def test_the_realistic_report_is_as_agreed(golden):
    text = raid5_report().to_json()
    golden("raid5.json", text)
    assert as_json.from_json(text) == raid5_report()


CONTRACT = {
    "": {
        "schema", "iodiag", "generated", "headline", "verdict", "states", "phases", "sources", "devices",
        "findings", "outcomes",
    },
    "states": {
        "device", "host", "samples", "seconds", "share_of_time", "requests", "direction", "size_kb", "per_s",
        "in_flight", "latency_ms", "busy_pct", "text", "source", "lines",
    },
    "phases": {"device", "host", "source", "phase", "label", "samples", "seconds", "means"},
    "sources": {
        "name", "format", "layout", "host", "kernel", "cpus", "start", "end", "reports", "rows", "is_context",
        "unparsed",
    },
    "devices": {"name", "aliases", "kind", "members", "samples", "summary"},
    "findings": {
        "rule", "role", "severity", "confidence", "devices", "host", "start", "end", "samples", "title",
        "summary", "evidence", "thresholds", "remedy", "confirm", "references", "supersedes",
    },
    "outcomes": {"rule", "status", "devices", "reason", "missing"},
}  # fmt: skip


def test_every_promised_key_is_there():
    data = raid5_report().as_dict()
    assert data["schema"] == "iodiag-report/1"
    for part, keys in CONTRACT.items():
        for entry in data[part] if part else [data]:
            assert keys <= set(entry), part
    verdict = {"state", "rule", "devices", "severity", "confidence", "asks", "also", "cost"}
    assert set(data["verdict"]) == verdict
    assert {"text", "values", "source", "lines"} <= set(data["findings"][0]["evidence"][0])
    assert {"line", "text", "reason"} <= set(data["sources"][1]["unparsed"][0])
    assert set(data["devices"][0]["summary"]["await_ms"]) == {"median", "p95", "max"}


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_strict_and_harmless_on_a_terminal(text):
    rendered = hostile_report(text).to_json()
    assert rendered.isascii()
    assert rendered.replace("\n", "").isprintable()
    data = json.loads(rendered, parse_constant=pytest.fail)
    assert data["headline"] == text
    assert data["findings"][0]["thresholds"] == {text: None}
    assert data["series"][0]["columns"]["await_ms"] == [1.0, None, 2.0]


def test_what_is_unknown_comes_back_as_nan():
    again = as_json.from_json(hostile_report("x").to_json())
    assert math.isnan(again.series[0].columns["await_ms"][1])
    assert math.isnan(again.devices[0].summary["await_ms"]["p95"])
    assert again.findings[0].samples == (0, 2)


def test_numpy_scalars_become_plain_numbers():
    report = Report(
        "0",
        "",
        "",
        devices=(
            DeviceSummary(
                "sda", None, (), None, None, (), np.int64(3), {"await_ms": {"max": np.float32(0.5)}}
            ),
        ),
        findings=(
            Finding(
                "r",
                "info",
                "low",
                "t",
                "s",
                samples=(np.int64(1), np.int64(2)),
                evidence=(Evidence("e", {"n": np.float64("nan")}, "f", (np.int64(4),)),),
            ),
        ),
    )
    data = json.loads(report.to_json())
    assert data["devices"][0]["samples"] == 3
    assert data["devices"][0]["summary"] == {"await_ms": {"max": 0.5}}
    assert data["findings"][0]["samples"] == [1, 2]
    assert data["findings"][0]["evidence"][0]["lines"] == [4]
    assert data["findings"][0]["evidence"][0]["values"] == {"n": None}


def test_states_and_the_verdict_come_back():
    report = raid5_report()
    again = as_json.from_json(report.to_json())
    assert (again.verdict, again.states) == (report.verdict, report.states)
    assert json.loads(report.to_json())["states"][-1]["seconds"] is None


@pytest.mark.parametrize("state", ["trouble", "open", "healthy", "elsewhere", "unknown"])
def test_every_state_of_the_verdict_is_read(state):
    data = raid5_report().as_dict() | {"verdict": {"state": state}}
    assert as_json.from_dict(data).verdict == Verdict(state)


def test_a_report_without_additions_is_still_read():
    data = {"schema": "iodiag-report/1", "iodiag": "0.1.0", "generated": "x", "sources": [], "devices": []}
    data |= {
        "findings": [{"rule": "a", "severity": "info", "confidence": "low", "title": "t"}],
        "outcomes": [],
    }
    report = as_json.from_dict(data)
    assert report.findings[0].evidence == ()
    assert (report.verdict, report.states) == (None, ())
    assert report.to_markdown().startswith("# Storage report")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "iodiag-report/2", "report.schema: 'iodiag-report/2' is not 'iodiag-report/1'"),
        (("iodiag",), None, "report.iodiag: missing"),
        (("findings",), {}, "report.findings: dict"),
        (("findings", 0), 3, r"report.findings\[0\]: expected an object, found int"),
        (("schema",), "9" * 5000, "report.schema: '9{40}' is not 'iodiag-report/1'"),
        (("findings", 0, "severity"), "f" * 5000, r"report.findings\[0\].severity: 'f{40}' is none of"),
        (("findings", 0, "severity"), "fatal", r"report.findings\[0\].severity: 'fatal' is none of"),
        (("verdict", "state"), "ill", "report.verdict.state: 'ill' is none of trouble, open, healthy"),
        (("states", 0, "lines"), [None], r"states\[0\].lines: NoneType"),
        (("findings", 0, "samples"), [1], r"report.findings\[0\].samples: expected 2 values, found 1"),
        (("findings", 0, "evidence", 0, "lines"), ["1"], r"evidence\[0\].lines: str"),
        (("findings", 0, "evidence", 0, "weighs"), "up", r"evidence\[0\].weighs: 'up' is none of"),
        (("devices", 0, "samples"), True, r"devices\[0\].samples: bool"),
        (("thresholds",), {"a": {"b": "c"}}, "report.thresholds.a: str"),
        (("series", 0, "columns"), {"a": 1}, r"series\[0\].columns.a: int"),
    ],
)
def test_what_is_no_report_is_one_error_that_says_where(path, value, message):
    data = json.loads(raid5_report().to_json())
    entry = data
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    with pytest.raises(FormatError, match=message):
        as_json.from_dict(data)


@pytest.mark.parametrize("text", ["", "[", "3", "null", "[" * 100_000])
def test_text_that_is_no_report_is_an_error(text):
    with pytest.raises(FormatError):
        as_json.from_json(text)


def test_the_empty_report_survives():
    assert as_json.from_json(empty_report().to_json()) == empty_report()
