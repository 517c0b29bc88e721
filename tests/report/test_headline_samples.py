"""What the first screen says beside the headline is of the samples that the headline is about."""

from __future__ import annotations

import io
import re

import pytest

import iodiag
from iodiag.report import as_terminal
from iodiag.report.finding_sections import lead
from iodiag.report.first_screen import screen
from iodiag.report.wording import plain
from sample_files import FILES, analyzed, name_of
from writers.captures import iostat
from writers.loads import load, lsblk

LATENCY = re.compile(r"(?<![\d.,])(?<!for )(?<!of )(\d[\d,]*\.?\d*) (m?)s\b(?! of| after)")
COUNTED = re.compile(r"in (\d[\d,]*) of (\d[\d,]*) samples")
SPREAD = 2.5
"""Times by which a state's mean and that of all samples of a finding are apart: states are no wider."""


def milliseconds(text):
    return [float(found.replace(",", "")) * (1 if unit else 1000) for found, unit in LATENCY.findall(text)]


def facts(report):
    return {word: plain(spans) for word, spans in screen(report).facts.pairs}


def assert_is_of_one(report):
    first, shown = lead(report), facts(report)
    if first is None or not first.devices or "Cost" not in shown:
        return
    stated, cost = milliseconds(first.summary), milliseconds(shown["Cost"])
    if stated and cost:
        assert any(1 / SPREAD <= a / b <= SPREAD for a in stated for b in cost), (
            first.summary,
            shown["Cost"],
        )


def test_nearly_every_report_takes_25_lines_of_a_terminal():
    lengths = []
    for report in map(analyzed, FILES):
        file = io.StringIO()
        as_terminal.show(report, as_terminal.console(file, no_color=True, width=80))
        lengths.append(file.getvalue().count("\n"))
    assert sum(length <= 25 for length in lengths) >= 0.95 * len(lengths)
    assert max(lengths) <= 30


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_cost_is_of_what_the_headline_says(path):
    assert_is_of_one(analyzed(path))


def test_samples_counted_in_a_sentence_are_there():
    for report in map(analyzed, FILES):
        samples = {(one.host, one.name): one.samples for one in report.devices}
        for finding in report.findings:
            for some, every in COUNTED.findall(finding.summary):
                assert 0 < int(some) <= int(every), finding.summary
            if finding.devices and finding.samples and (finding.host, finding.devices[0]) in samples:
                last = samples[finding.host, finding.devices[0]]
                assert 0 <= finding.samples[0] <= finding.samples[1] < last, finding.summary


CALM, FULL, FLOOD = load(90, 8, size=16), load(150, 90, size=8, depth=13.5, util=100), load(300, 300, size=64)
ALONE = {
    name: load(600, 3.3, size=256, depth=2, util=100) if name == "sda" else {}
    for name in ("sda", "sdb", "sdc")
}
LATE, LATER, LAST = (load(4, latency, size=64, util=100) for latency in (600, 2500, 5500))
SHORT, LONG = (load(400, latency, size=8, util=100) for latency in (150, 600))
BESIDE = {name: load(170, 11.7, size=256, depth=2, util=100) for name in ALONE}


@pytest.mark.parametrize(
    ("samples", "cost"),
    [
        ([{"sda": row} for row in [CALM] * 9 + [FULL] * 6], "90 ms"),
        ([{"sda": row} for row in [FULL] * 6 + [FLOOD] + [CALM] * 3], "90 ms"),
        ([ALONE] * 3 + [BESIDE] * 3, "11.7"),
        ([{"sda": row} for row in [LATE] * 2 + [LATER] * 3 + [LAST]], "2.37 s"),
        ([{"sda": row} for row in [SHORT, SHORT, LONG]], "300 ms"),
    ],
    ids=[
        *(
            "calm most of the time",
            "one flood beside it",
            "what it is compared with",
            "the mean beside the most",
        ),
        "states apart that one finding is about",
    ],
)
def test_the_cost_is_that_of_the_samples_in_question(samples, cost):
    text, disks = iostat(samples), lsblk(*((name, True) for name in samples[0]))
    report = iodiag.analyze([iodiag.read(io.BytesIO(part.encode()), name="a") for part in (text, disks)])
    assert_is_of_one(report)
    assert cost in facts(report)["Cost"]


def doing(rows):
    text = iodiag.analyze(
        [iodiag.read(io.BytesIO(iostat([{"sda": row} for row in rows]).encode()), name="x")]
    )
    return text.to_markdown().split("## What each device was doing")[1].split("\n\n")[1]


def test_a_device_is_shown_in_the_state_in_which_its_requests_waited_longest_however_few_they_are():
    assert "2 writes/s" in doing([load(2, 900, reads=0)] * 3 + [load(20, 8, reads=0)])
    assert "20 writes/s" in doing([load(2, 9, reads=0)] * 3 + [load(20, 8, reads=0)])


def test_a_device_that_is_mostly_idle_has_its_requests_in_flight_for_no_longer_than_it_is_busy():
    full, light = (
        load(n, latency, reads=0, size=1100, util=util) for n, latency, util in ((156, 40, 100), (71, 33, 40))
    )
    assert "156 writes/s" in doing([full, light, light])
