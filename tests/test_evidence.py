"""Every number that a report prints can be checked by hand, from `values` and the cited lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import iodiag
from iodiag.api import join
from iodiag.model.capture import Capture
from iodiag.model.finding import Evidence, Finding
from iodiag.model.report import Report

SAMPLES = Path(__file__).parents[1] / "samples"
SEEDS = SAMPLES / "seeds"


def _groups() -> dict[str, list[Path]]:
    """The inputs that belong together: a case's folder, the ladder's rungs, every other sample alone."""
    groups = {}
    for path in sorted(SAMPLES.rglob("*")):
        if path.is_file() and path.suffix != ".toml":
            is_case = path.parent.parent.name == "cases"
            name = path.parent if is_case else path
            groups.setdefault(str(name.relative_to(SAMPLES)), []).append(path)
    groups["seeds: commit stall"] = sorted(SEEDS.glob("commit-stall-*.txt"))
    groups["seeds: three captures of one array"] = sorted(SEEDS.glob("raid*-iostat.txt"))
    return groups


GROUPS = _groups()


@cache
def captures(group: str) -> Capture:
    return join(iodiag.read(path) for path in GROUPS[group])


@cache
def analyzed(group: str) -> Report:
    return iodiag.analyze(iodiag.read(path) for path in GROUPS[group])


def evidence_of(report: Report) -> Iterator[tuple[Finding, Evidence]]:
    for finding in report.findings:
        for item in finding.evidence:
            yield finding, item


# A number stands free: no letter, and no hyphen or slash of a name or version, holds on to it.
NUMBER = re.compile(
    r"(?<![\w.,/:+-])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])"
    r"|(?<![\w.,/:+-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?=[x%]?(?![\w-]))"
)
ADDRESS = re.compile(r"\S+:\d+(?:-\d+)?")
TERMS = re.compile(r"(?:RAID|raid)\d+|(?:beyond|near|above|of) 100 %")
"""Words with digits that are no measured numbers: levels of RAID, and 100 % as the whole."""


def printed_numbers(text: str, names: list[str]) -> list[str]:
    """The numbers of a sentence; those in names of devices and files, and in addresses, are none."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text)
    return NUMBER.findall(TERMS.sub(" ", ADDRESS.sub(" ", text)))


def names_of(report: Report, values: dict[str, float | str]) -> list[str]:
    """Devices by any name, hosts, inputs, and the words (not sentences) among the values."""
    names = [n for device in report.devices for n in (device.name, *device.aliases, *device.members)]
    names += report.hosts + [summary.section.source for summary in report.sources]
    words = [v for v in values.values() if isinstance(v, str)]
    names += [word for text in words for word in text.split(", ") if " " not in word.strip()]
    return [name for name in names if re.search(r"\d", name) and re.search(r"\D", name)]


def stands_for(printed: str, value: float) -> bool:
    """Whether a printed number is the value, to the digits that are printed."""
    number = float(printed.replace(",", ""))
    mantissa, _, exponent = printed.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals)
    return abs(number - value) <= 0.501 * unit


def numeric(values: dict[str, float | str]) -> list[float]:
    """The numbers among the values; a list of numbers is as many."""
    found = [float(v) for v in values.values() if isinstance(v, (int, float)) and not math.isnan(v)]
    for series in (v.split(", ") for v in values.values() if isinstance(v, str)):
        if all(NUMBER.fullmatch(entry) for entry in series):
            found += map(float, series)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_no_rule_fails(group):
    assert not [outcome for outcome in analyzed(group).outcomes if outcome.status == "error"]


@pytest.mark.parametrize("group", GROUPS)
def test_no_sentence_prints_what_is_no_number(group):
    report = analyzed(group)
    texts = [report.headline, *(outcome.reason for outcome in report.outcomes)]
    texts += [text for f in report.findings for text in (f.title, f.summary, *f.cannot_know, *f.refutes)]
    texts += [item.text for _, item in evidence_of(report)]
    assert not [text for text in texts if re.search(r"(?<![\w/.-])-?(nan|inf)(?![\w/.-]*\w)", text)]


@pytest.mark.parametrize("group", GROUPS)
def test_every_number_of_a_sentence_stands_in_its_values(group):
    report = analyzed(group)
    unknown = [
        (finding.rule, item.text, number)
        for finding, item in evidence_of(report)
        for number in printed_numbers(item.text, names_of(report, item.values))
        if not any(stands_for(number, value) for value in numeric(item.values))
    ]
    assert not unknown


@pytest.mark.parametrize("group", GROUPS)
def test_every_number_of_a_summary_stands_in_the_evidence(group):
    report = analyzed(group)
    for finding in report.findings:
        values = [value for item in finding.evidence for value in numeric(item.values)]
        values += [float(limit) for limit in finding.thresholds.values()]
        words = {str(n): v for n, v in enumerate(v for i in finding.evidence for v in i.values.values())}
        values += [len(finding.devices), len(finding.devices) - 1]
        for text in (finding.title, finding.summary, *finding.cannot_know, *finding.refutes):
            for number in printed_numbers(text, names_of(report, words)):
                assert any(stands_for(number, value) for value in values), (finding.rule, text, number)


@pytest.mark.parametrize("group", GROUPS)
def test_every_quote_is_the_line(group):
    sources = captures(group).sources
    for finding, item in evidence_of(analyzed(group)):
        for quote in item.quotes:
            lines = sources[quote.source].data.decode("utf-8", "replace").split("\n")
            assert quote.text == lines[quote.line - 1].rstrip("\r"), finding.rule
            assert quote.text.strip(), finding.rule


@pytest.mark.parametrize("group", GROUPS)
def test_every_cited_line_holds_what_was_read_from_it(group):
    capture = captures(group)
    known: dict[str, set[int]] = {}
    for frame in (*capture.tables.values(), *capture.averages.values()):
        for source, lines in frame.groupby(frame["source"].astype(str), observed=True)["line"]:
            known.setdefault(str(source), set()).update(int(line) for line in lines)
    for fact in capture.evidence:
        known.setdefault(fact.ref.source, set()).update(range(fact.ref.first, fact.ref.last + 1))
    for device in capture.topology:
        for origin in device.provenance.values():
            _, _, address = origin.partition(" ")
            source, _, line = address.rpartition(":")
            if line.isdecimal():
                known.setdefault(source, set()).add(int(line))
    for finding, item in evidence_of(analyzed(group)):
        assert set(item.lines) <= known.get(item.source, set()), (finding.rule, item.text)
        assert item.rows >= len(item.lines) > 0 or not item.source, (finding.rule, item.text)


@pytest.mark.parametrize("group", GROUPS)
def test_numbers_have_an_address(group):
    report = analyzed(group)
    for finding, item in evidence_of(report):
        if printed_numbers(item.text, names_of(report, item.values)):
            assert item.source, (finding.rule, item.text)
            assert item.lines, (finding.rule, item.text)


# Names of values that stand for a column of the cited rows: any mean of it lies between its extremes.
COLUMNS = {
    "svctm": ("svctm_ms",),
    "flushes": ("flushes_per_s",),
    "flush_await": ("flush_await_ms",),
    "write_await": ("write_await_ms", "await_ms"),
    "idle": ("idle_pct",),
    "iowait": ("iowait_pct",),
    "steal": ("steal_pct",),
}


def bounds(capture: Capture, item: Evidence, columns: tuple[str, ...]) -> tuple[float, float] | None:
    """Least and most of columns over the rows on the cited lines; None where they have none of them."""
    found = []
    for frame in (*capture.tables.values(), *capture.averages.values()):
        is_cited = (frame["source"].astype(str) == item.source) & frame["line"].isin(item.lines)
        for column in columns:
            if column in frame:
                found.append(frame.loc[is_cited, column].dropna().to_numpy(dtype=float))
    data = np.concatenate(found) if found else np.array([])
    return (float(data.min()), float(data.max())) if len(data) else None


@pytest.mark.parametrize("group", GROUPS)
def test_values_named_like_columns_come_from_the_cited_rows(group):
    """Between the least and the most of the rows, so equal to it where one row is cited."""
    capture = captures(group)
    for finding, item in evidence_of(analyzed(group)):
        if item.rows > len(item.lines):
            continue  # too many rows to list, or rows of several inputs
        for name, value in item.values.items():
            if isinstance(value, str) or math.isnan(value):
                continue
            # a column by its own name, or by the plain name that sentences use
            between = bounds(capture, item, COLUMNS.get(name, (name,)))
            if between is not None:
                low, high = between
                slack = 1e-6 * max(1.0, abs(high))
                assert low - slack <= value <= high + slack, (finding.rule, item.text, name, value, between)


@pytest.mark.parametrize("group", GROUPS)
def test_a_report_is_strict_json(group):
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    json.loads(analyzed(group).to_json(), parse_constant=refuse)
