"""A comparison in every rendering: nothing breaks out of it, nothing is invented, all of it comes back."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from iodiag.errors import FormatError
from iodiag.model.comparison import Change, Comparison, FindingChange, MatchedLoad, Subject
from iodiag.model.finding import Evidence, Quote
from iodiag.model.report import Report, Series
from iodiag.report import as_json, as_terminal, comparison_sections
from iodiag.report.charts import comparison_charts
from iodiag.report.charts.chart import Bars, Intervals, RateByDepth, Timeline
from property_tests import examples
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report
from report.test_html import Page

COMMONMARK = MarkdownIt("commonmark").enable("table")
GITHUB = MarkdownIt("js-default", {"html": True}).enable("strikethrough")
VERDICTS = (
    "changed", "minor", "unchanged", "bunched", "indicated", "unclear", "negligible", "appeared", "ceased",
)  # fmt: skip
SHIFTS = (
    "faster", "slower", "capacity_loss", "more_load", "less_load", "workload", "unchanged", "mixed",
    "unknown",
)  # fmt: skip


def change(quantity="reads_per_s", verdict="changed", **numbers) -> Change:
    numbers = {"before": 100.0, "after": 200.0, "ratio": 2.0, "low": 1.9, "high": 2.1} | numbers
    return Change(
        quantity=quantity,
        verdict=verdict,
        confidence="high",
        samples=(30, 31),
        detectable_pct=17.2,
        **numbers,
    )


def subject(text="sda", **fields) -> Subject:
    every = tuple(change(name, verdict) for name, verdict in zip(_NAMES, VERDICTS, strict=False))
    latency = change("read_await_ms", ratio=0.5, low=0.4, high=0.6, before=8.0, after=4.0)
    evidence = tuple(Evidence(text, {text: 1.0}, text, (3, 4), 2, (Quote(text, 3, text),)) for _ in range(2))
    return Subject(
        **{
            "kind": "device",
            "before": text,
            "after": text,
            "basis": text,
            "changes": (*every, change(text)),
            "host_before": text,
            "host_after": text,
            "shift": "faster",
            "reading": Evidence(text, {text: 1.0}, text, (3,), 1),
            "matched": (MatchedLoad("read", (4.0, 4.1), (1.0, 1.1), (500.0, 600.0), latency, latency),) * 9,
            "at_matched_load": (latency,),
            "evidence": evidence,
            "remarks": (text,),
        }
        | fields
    )


_NAMES = (
    "reads_per_s", "writes_per_s", "read_kb_per_s", "write_kb_per_s", "read_request_size_kb",
    "write_request_size_kb", "read_merges_pct", "queue_depth", "util_pct",
)  # fmt: skip


def compared(text="sda", report=None) -> Report:
    """A report with a comparison, every free text of it set to `text`."""
    before = hostile_report(text)
    series = Series(text, text, (0, 1, 2), (), {"queue_depth": (1.0, 2.0, 3.0), "ios_per_s": (9.0, 8.0, 7.0)})
    fates = tuple(
        FindingChange(fate, text, text, text, (text,), "notice", None, "low", None, is_judged, text)
        for fate in ("went", "came", "stayed")
        for is_judged in (True, False)
    )
    cpu = subject(text, kind="cpu", changes=(change("user_pct"), change("iowait_pct")), matched=())
    subjects = (
        subject(text, kind="application", changes=(change("transactions_per_s"),)),
        subject(text),
        subject(text, is_part=True),
        cpu,
    )
    found = Comparison(
        before=replace(before, series=(series,)),
        subjects=subjects,
        findings=fates,
        confidence="medium",
        verdict=Evidence(text, {text: 2.0}, text, (1,), 1),
        settings=(Evidence(text, {"before": text, "after": 2.0}, text, (1,), 1),),
        uncompared=(text,),
        limits={text: 1.0, "least_change_pct": 15.0},
    )
    return replace(report or hostile_report(text), comparison=found, series=(series,))


def printed(report: Report, full: bool = False) -> str:
    file = io.StringIO()
    as_terminal.show(report, as_terminal.console(file, no_color=True, width=100), full)
    return file.getvalue()


def structure(text: str) -> list[str]:
    return [token.type for token in COMMONMARK.parse(text)]


@cache
def shapes(text):
    """The structure of a comparison's Markdown, and the tags of its page."""
    report = compared(text)
    # a name that takes more room leaves an axis fewer numbers
    extra = {"a", "b", "code", "span", "text"}
    return structure(report.to_markdown()), [t for t in Page(report.to_html()).tags if t not in extra]


@pytest.mark.parametrize("text", HOSTILE)
def test_captures_cannot_add_markup_to_any_rendering(text):
    assert shapes(text) == shapes("harmless" if text.strip() else text)
    hostile = compared(text)
    kinds = {c.type for token in COMMONMARK.parse(hostile.to_markdown()) for c in token.children or ()}
    assert not {"html_inline", "image"} & kinds
    assert printed(hostile).replace("\n", "").isprintable()
    rendered = hostile.to_json()
    assert rendered.isascii()
    assert json.loads(rendered, parse_constant=pytest.fail)["comparison"]["uncompared"] == [text]


def test_markdown_reads_the_same_everywhere():
    text = compared(report=raid5_report()).to_markdown()
    assert COMMONMARK.render(text) == GITHUB.render(text)


def test_the_page_keeps_its_promises():
    page = Page(compared(report=raid5_report()).to_html())
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    inner = [v[1:] for v in page.values("href") if v.startswith("#")]
    assert {"moved", "fates", "findings", "read"} <= set(inner) <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)
    levels = [int(tag[1]) for tag in page.tags if tag in ("h1", "h2", "h3", "h4")]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_rendering_says_the_same():
    report = compared("sda", raid5_report())
    page = " ".join(" ".join(Page(report.to_html()).words).split())
    terminal = " ".join(printed(report, full=True).split())
    markdown = " ".join(report.to_markdown(full=True).split())
    for words in (
        "no detectable change; 18 % would show",
        "differs, without an interval (30 and 31 samples)",
        "Next to nothing on both sides",
        "none before",
        "1 more load in the JSON report",
        "not judged after",
    ):
        for text in (page, terminal, markdown):
            assert words in text or all(word in text for word in words.split()), words


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("overall", [None, (10.0, 11.0)])
def test_each_verdict_has_words(verdict, overall):
    words = comparison_sections.verdict(change(verdict=verdict, overall=overall))
    assert words
    assert verdict == "changed" or words != verdict


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (24.907, "×24.9"), (2.0, "×2"), (1.95, "+95 %"), (1.0, "±0 %"), (0.99999, "±0 %"), (0.5, "−50 %"),
        (0.998, "−0.2 %"), (0.01, "−99 %"), (123456.0, "×123,000"), (math.nan, "–"),
    ],
)  # fmt: skip
def test_a_ratio_is_said_as_people_say_it(ratio, words):
    assert comparison_sections.ratio_text(ratio) == words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"ratio": 2.0, "low": 1.8, "high": 2.25}, "×1.8 to ×2.25"),
        ({"ratio": 1.1, "low": 0.9, "high": 1.3}, "−10 % to +30 %"),
        ({"ratio": 0.5, "low": 0.4, "high": 0.62}, "−60 % to −38 %"),
        ({"low": math.nan, "high": math.nan}, "–"),
    ],
)
def test_an_interval_is_said_in_the_terms_of_its_change(numbers, words):
    assert comparison_sections.interval(change(**numbers)) == words


def test_what_cannot_be_seen_is_called_so_and_not_no_change():
    blind = replace(change(verdict="unchanged"), detectable_pct=250.0)
    assert (
        comparison_sections.verdict(blind) == "inconclusive: only a change of ×3.5 or more would be visible"
    )


def test_totals_give_way_to_their_parts():
    found = comparison_sections.changes(
        subject(changes=(change("ios_per_s"), change("reads_per_s"), change("kb_per_s")))
    )
    assert [row[0][0].text for row in found.rows][:2] == ["reads/s", "kB/s"]


def test_parts_of_others_have_a_row_and_no_section():
    report = compared("sda", raid5_report())
    kinds = [subject.kind for subject in comparison_sections.shown_subjects(report.comparison)]
    assert kinds == ["application", "device", "cpu"]
    assert len(comparison_sections.others(report.comparison).rows) == 1


def test_a_finding_on_many_devices_is_one_row():
    fates = tuple(FindingChange("went", "r", "t", None, (name,), "info", None, "low", None) for name in "abc")
    found = replace(compared("x").comparison, findings=fates)
    assert len(comparison_sections.fates(empty_report(), found).rows) == 1


def test_the_charts_of_a_comparison():
    report = compared("sda", raid5_report())
    found = report.comparison
    charts = [comparison_charts.pictures(report, found, one) for one in found.subjects]
    assert [[type(chart) for chart in each] for each in charts] == [
        [],
        [Intervals, RateByDepth, Timeline],
        [Intervals, RateByDepth, Timeline],
        [Bars],
    ]
    intervals = charts[1][0]
    assert intervals.band == (0.85, 1.15)
    assert len(intervals.labels) == len(intervals.ratios) == len(intervals.lows)
    assert "<svg" in report.to_html()


@pytest.mark.parametrize(
    "series",
    [
        Series("sda", None, (), (), {}),
        Series("sda", None, (0,), (), {"queue_depth": (1.0,), "ios_per_s": (math.nan,)}),
        Series(
            "sda", None, (0, 1), (), {"queue_depth": (math.nan, math.inf), "ios_per_s": (1e300, math.nan)}
        ),
    ],
)
def test_charts_are_left_out_where_the_series_do_not_carry_one(series):
    report = replace(compared("sda", raid5_report()), series=(series,))
    odd = change(ratio=math.nan, low=math.nan, high=math.nan)
    wide = change(ratio=1.0, low=1e-20, high=1e20)
    one = subject(host_before=None, host_after=None, changes=(odd, wide), at_matched_load=())
    found = replace(report.comparison, subjects=(one,), before=replace(report, comparison=None))
    assert comparison_charts.pictures(report, found, one) == []
    assert replace(report, comparison=found).to_html()


texts = st.text(max_size=6)
numbers = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.tuples(numbers, numbers)
whole = st.integers(0, 10**6)
changes = st.builds(
    Change,
    quantity=texts,
    before=numbers,
    after=numbers,
    verdict=st.sampled_from(VERDICTS),
    confidence=st.sampled_from(["high", "medium", "low"]),
    samples=st.tuples(whole, whole),
    ratio=numbers,
    low=numbers,
    high=numbers,
    detectable_pct=numbers,
    overall=st.none() | pairs,
)
evidence = st.builds(Evidence, texts, st.dictionaries(texts, numbers, max_size=2), texts)
subjects = st.builds(
    Subject,
    kind=st.sampled_from(["device", "cpu", "host", "application"]),
    before=texts,
    after=texts,
    basis=texts,
    changes=st.lists(changes, max_size=2).map(tuple),
    host_before=st.none() | texts,
    host_after=st.none() | texts,
    shift=st.sampled_from(SHIFTS),
    reading=st.none() | evidence,
    matched=st.lists(st.builds(MatchedLoad, texts, pairs, pairs, pairs, changes, changes), max_size=1).map(
        tuple
    ),
    at_matched_load=st.lists(changes, max_size=1).map(tuple),
    evidence=st.lists(evidence, max_size=2).map(tuple),
    remarks=st.lists(texts, max_size=2).map(tuple),
    is_part=st.booleans(),
    share=numbers,
)
severities = st.none() | st.sampled_from(["critical", "warning", "notice", "info"])
confidences = st.none() | st.sampled_from(["high", "medium", "low"])
fates = st.builds(
    FindingChange,
    fate=st.sampled_from(["went", "came", "stayed"]),
    rule=texts,
    title=texts,
    devices=st.lists(texts, max_size=2).map(tuple),
    host=st.none() | texts,
    severity_before=severities,
    severity_after=severities,
    confidence_before=confidences,
    confidence_after=confidences,
    is_judged=st.booleans(),
    reason=texts,
)
comparisons = st.builds(
    Comparison,
    before=st.just(empty_report()),
    subjects=st.lists(subjects, max_size=2).map(tuple),
    findings=st.lists(fates, max_size=2).map(tuple),
    confidence=st.sampled_from(["high", "medium", "low"]),
    verdict=evidence,
    settings=st.lists(evidence, max_size=1).map(tuple),
    uncompared=st.lists(texts, max_size=2).map(tuple),
    limits=st.dictionaries(texts, numbers, max_size=2),
)


@examples(40)
@given(comparisons)
def test_any_comparison_survives_json_and_is_rendered(found):
    report = replace(empty_report(), comparison=found)
    assert as_json.from_json(as_json.render(report)) == report
    assert report.to_markdown()
    assert printed(report)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("subjects", [{"kind": "planet", "before": "a", "after": "b"}]),
        ("subjects", [{"kind": "cpu", "before": "a", "after": "b", "changes": [{"quantity": "x"}]}]),
        ("findings", [{"fate": "lost", "rule": "r"}]),
        ("before", 3),
        ("limits", {"x": "many"}),
    ],
)
def test_a_broken_comparison_is_refused_with_its_place(key, value):
    data = json.loads(compared("x", empty_report()).to_json())
    data["comparison"][key] = value
    with pytest.raises(FormatError, match=r"report\.comparison"):
        as_json.from_dict(data)


def test_a_comparison_inside_the_other_side_is_not_read():
    data = json.loads(compared("x", empty_report()).to_json())
    data["comparison"]["before"]["comparison"] = {"nonsense": 1}
    assert as_json.from_dict(data).comparison.before.comparison is None
