"""Every number that a report prints can be checked by hand, from `values` and the cited lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import iodiag
from iodiag.api import join
from iodiag.model.capture import Capture
from iodiag.model.finding import Evidence, Finding
from iodiag.model.report import Report
from sample_files import FILES, SAMPLES, name_of, read

SEEDS = SAMPLES / "seeds"


def _groups() -> dict[str, list[Path]]:
    """The inputs that belong together: a case's folder, the ladder's rungs, every other sample alone."""
    groups: dict[str, list[Path]] = {}
    for path in FILES:
        is_case = path.parent.parent.name == "cases"
        groups.setdefault(name_of(path.parent if is_case else path), []).append(path)
    groups["seeds: commit stall"] = sorted(SEEDS.glob("commit-stall-*.txt"))
    groups["seeds: three captures of one array"] = sorted(SEEDS.glob("raid*-iostat.txt"))
    return groups


@cache
def judged() -> dict[str, tuple[Capture, Report]]:
    """What was read and what was found, by group."""
    found = {}
    for name, paths in _groups().items():
        captures = [read(path) for path in paths]
        found[name] = join(captures), iodiag.analyze(captures)
    return found


def findings() -> Iterator[tuple[str, Capture, Report, Finding]]:
    for name, (capture, report) in judged().items():
        for finding in report.findings:
            yield name, capture, report, finding


def evidence() -> Iterator[tuple[tuple[str, str, str], Capture, Report, Evidence]]:
    """Every piece of evidence, behind the words that name it in a message."""
    for name, capture, report, finding in findings():
        for item in finding.evidence:
            yield (name, finding.rule, item.text), capture, report, item


# A number stands free: no letter, and no hyphen or slash of a name or version, holds on to it.
NUMBER = re.compile(
    r"(?<![\w.,/:+-])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])"
    r"|(?<![\w.,/:+-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?=[x%]?(?![\w-]))"
)
ADDRESS = re.compile(r"\S+:\d+(?:-\d+)?")
TERMS = re.compile(
    r"(?:RAID|raid)\d+|(?:near|above|exceeds|as|of) 100 %|\b\d{4}-\d\d-\d\d\b|\b[A-Z][a-z]{2} [ \d]\d\b"
)
"""Words with digits that are no measured numbers: levels of RAID, 100 % as the whole, and dates."""


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


def is_known(printed: str, text: str, values: list[float]) -> bool:
    """Whether one of the values is printed; kB/s may be said in MB/s, ms in seconds."""
    units = [
        1.0,
        *([1024.0] if f"{printed} MB/s" in text else []),
        *([1e3] if re.search(rf"{re.escape(printed)} s\b", text) else []),
    ]
    return any(stands_for(printed, value / unit) for value in values for unit in units)


def numeric(values: dict[str, float | str]) -> list[float]:
    """The numbers among the values; a list of numbers is as many."""
    found = [float(v) for v in values.values() if isinstance(v, (int, float)) and not math.isnan(v)]
    for series in (v.split(", ") for v in values.values() if isinstance(v, str)):
        if all(NUMBER.fullmatch(entry) for entry in series):
            found += map(float, series)
    return found


def test_no_rule_fails():
    errors = [
        (name, outcome)
        for name, (_, report) in judged().items()
        for outcome in report.outcomes
        if outcome.status == "error"
    ]
    assert not errors


def test_what_does_not_apply_names_what_is_missing():
    unnamed = [
        (name, outcome.rule, outcome.reason)
        for name, (_, report) in judged().items()
        for outcome in report.outcomes
        if outcome.status == "not_applicable" and not outcome.missing
    ]
    assert not unnamed


def test_no_sentence_prints_what_is_no_number():
    texts = []
    for name, (_, report) in judged().items():
        told = [report.headline, *(outcome.reason for outcome in report.outcomes)]
        told += [text for f in report.findings for text in (f.title, f.summary, *f.cannot_know, *f.refutes)]
        texts += [(name, text) for text in told]
    texts += [(place, item.text) for place, _, _, item in evidence()]
    assert not [one for one in texts if re.search(r"(?<![\w/.-])-?(nan|inf)(?![\w/.-]*\w)", one[1])]


def test_every_number_of_a_sentence_stands_in_its_values():
    unknown = [
        (*place, number)
        for place, _, report, item in evidence()
        for number in printed_numbers(item.text, names_of(report, item.values))
        if not is_known(number, item.text, numeric(item.values))
    ]
    assert not unknown


def test_every_number_of_a_summary_stands_in_the_evidence():
    unknown = []
    for name, _, report, finding in findings():
        values = [value for item in finding.evidence for value in numeric(item.values)]
        values += [float(limit) for limit in finding.thresholds.values()]
        words = {str(n): v for n, v in enumerate(v for i in finding.evidence for v in i.values.values())}
        values += [len(finding.devices), len(finding.devices) - 1]
        for text in (finding.title, finding.summary, *finding.cannot_know, *finding.refutes):
            for number in printed_numbers(text, names_of(report, words)):
                if not is_known(number, text, values):
                    unknown.append((name, finding.rule, text, number))
    assert not unknown


def test_every_quote_is_the_line():
    wrong = []
    for place, capture, _, item in evidence():
        for quote in item.quotes:
            lines = capture.sources[quote.source].data.decode("utf-8", "replace").split("\n")
            above, own = lines[quote.line - 2], lines[quote.line - 1].rstrip("\r")
            # a row that is wrapped behind its name is quoted whole
            whole = f"{above} {own.lstrip()}", above + own[len(above) :]
            if not quote.text.strip() or quote.text not in (own, *whole):
                wrong.append((*place, quote))
    assert not wrong


def lines_read(capture: Capture) -> dict[str, set[int]]:
    """The lines of each input that rows, facts, topology and a kernel's version were read from."""
    known: dict[str, set[int]] = {}
    for frame in (*capture.tables.values(), *capture.averages.values()):
        for source, lines in frame.groupby(frame["source"].astype(str), observed=True)["line"]:
            known.setdefault(str(source), set()).update(int(line) for line in lines)
    # the rows of further tables, over which iostat -h -x spreads a device's numbers, end in its name
    names = (
        {device.encode() for device in capture.tables["disk"]["device"]} if "disk" in capture.tables else ()
    )
    for name, source in capture.sources.items():
        words = [line.split() for line in source.data.split(b"\n")]
        ends = {n for n, one in enumerate(words, 1) if one[1:] and one[-1] in names and one[0][:1].isdigit()}
        known.setdefault(name, set()).update(ends)
    for fact in capture.evidence:
        known.setdefault(fact.ref.source, set()).update(range(fact.ref.first, fact.ref.last + 1))
    for device in capture.topology:
        for origin in device.provenance.values():
            _, _, address = origin.partition(" ")
            source, _, line = address.rpartition(":")
            if line.isdecimal():
                known.setdefault(source, set()).add(int(line))
    for section in capture.sections:
        lines = capture.sources[section.source].data.split(b"\n") if section.kernel else []
        first = next((n for n, line in enumerate(lines, 1) if section.kernel.encode() in line), 0)
        known.setdefault(section.source, set()).add(first)
    return known


def test_every_cited_line_holds_what_was_read_from_it():
    known = {name: lines_read(capture) for name, (capture, _) in judged().items()}
    wrong = [
        place
        for place, _, _, item in evidence()
        if not set(item.lines) <= known[place[0]].get(item.source, set())
        or not (item.rows >= len(item.lines) > 0 or not item.source)
    ]
    assert not wrong


def test_all_evidence_has_an_address():
    assert not [place for place, _, _, item in evidence() if not (item.source and item.lines)]


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


def cited(capture: Capture, item: Evidence) -> list[Any]:
    """The rows of every table that stand on the cited lines."""
    frames = (*capture.tables.values(), *capture.averages.values())
    on_lines = (frame[frame["line"].isin(item.lines)] for frame in frames)
    return [frame[frame["source"].astype(str) == item.source] for frame in on_lines]


def bounds(rows: list[Any], columns: tuple[str, ...]) -> tuple[float, float] | None:
    """Least and most of columns over some rows; None where they have none of them."""
    found = [
        frame[column].dropna().to_numpy(float) for frame in rows for column in columns if column in frame
    ]
    data = np.concatenate(found) if found else np.array([])
    return (float(data.min()), float(data.max())) if len(data) else None


def test_values_named_like_columns_come_from_the_cited_rows():
    """Between the least and the most of the rows, so equal to it where one row is cited."""
    outside = []
    for place, capture, _, item in evidence():
        if item.rows > len(item.lines):
            continue  # too many rows to list, or rows of several inputs
        rows = cited(capture, item)
        for name, value in item.values.items():
            if isinstance(value, str) or math.isnan(value):
                continue
            # a column by its own name, or by the plain name that sentences use
            between = bounds(rows, COLUMNS.get(name, (name,)))
            if between is not None:
                low, high = between
                slack = 1e-6 * max(1.0, abs(high))
                if not low - slack <= value <= high + slack:
                    outside.append((*place, name, value, between))
    assert not outside


def test_every_report_is_strict_json():
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    for _, report in judged().values():
        json.loads(report.to_json(), parse_constant=refuse)
