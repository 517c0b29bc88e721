from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest

from iodiag.model.finding import Quote
from iodiag.model.report import Report, Series, UnparsedLine
from iodiag.report import as_html, templates, wording
from iodiag.report.charts import svg
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Tags, attributes and words of a page; asserts that every tag is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(scope="module")
def raid5() -> str:
    return raid5_report().to_html()


def test_the_page_needs_nothing_else(raid5):
    page = Page(raid5)
    assert not {"link", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert page.tags.count("style") == 1
    assert page.tags.count("script") == 2, "one holds numbers, the other draws them"
    script = raid5[raid5.rindex("<script>") + 8 : raid5.rindex("</script>")]
    assert not list(page.values("style"))
    assert all(value.startswith("data:") for value in page.values("src"))
    style = raid5[raid5.index("<style>") + 7 : raid5.index("</style>")]
    own, drawing = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    assert (
        f"default-src 'none'; style-src-elem 'sha256-{own}'; script-src 'sha256-{drawing}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    ) in page.values("content")
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "url(http" not in raid5
    assert "@import" not in raid5


def test_ids_are_unique_and_inner_links_lead_somewhere(raid5):
    page = Page(raid5)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    inner = [v[1:] for name in ("href", "xlink:href") for v in page.values(name) if v.startswith("#")]
    assert inner
    assert set(inner) <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", raid5)) <= set(ids)


def test_the_page_is_made_for_every_reader(raid5):
    page = Page(raid5)
    assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("nav") == 1
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert page.tags.count("th") == len(
        [1 for tag, name, _ in page.attributes if (tag, name) == ("th", "scope")]
    )
    assert page.values("lang") == ["en"]
    charts = [
        value for tag, name, value in page.attributes if name == "aria-label" and "Medians over" in value
    ]
    assert len(charts) == 5
    for severity in ("warning", "notice", "info"):
        assert f'<span class="badge">{severity}</span>' in raid5


def test_it_says_what_markdown_says(raid5):
    text = " ".join(" ".join(Page(raid5).words).split())
    for sentence in (
        "two thirds of them made the array read and rewrite parity",
        "sar-d.txt:171-175,301-303",
        "175: 07:40:01 dev253-89",
        "What would refute it",
        "only one load level; a capture of a quieter hour would settle it",
        "401: 07:51:01 dev253-82 36",
        "Rates of zero in all samples: sda.",
        "What to do first",
    ):
        assert sentence in text


def test_the_empty_report_is_a_page():
    assert "No rule found anything." in Page(empty_report().to_html()).words


@pytest.mark.parametrize("text", HOSTILE)
def test_captures_cannot_add_markup(text):
    page = Page(hostile_report(text).to_html())
    harmless = Page(hostile_report("harmless" if text.strip() else text).to_html())
    extra = {"a", "b", "code", "span"}
    assert [t for t in page.tags if t not in extra] == [t for t in harmless.tags if t not in extra]
    outside = [value for tag, name, value in page.attributes if name == "href" and not value.startswith("#")]
    assert set(outside) == ({text} if wording.is_link(text) else set())
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "".join(page.words).replace("\n", "").isprintable()


def test_charts_have_no_colours_of_their_own(raid5):
    drawn = re.findall(r"<svg.*?</svg>", raid5, re.DOTALL)
    assert len(drawn) == 7
    for chart in drawn:
        assert "var(--line-0)" in chart
        assert not set(re.findall(r"#[0-9a-f]{6}\b", chart))
        assert "<text" in chart
        ET.fromstring(chart)


def test_every_variable_is_defined_in_light_dark_and_print(raid5):
    css = raid5[raid5.index("<style>") : raid5.index("</style>")]
    _, dark, printed = re.split(r"@media \(prefers-color-scheme: dark\)|@media print", css)
    for variable in set(re.findall(r"var\((--[\w-]+)\)", raid5)) - {
        "--sans",
        "--mono",
        "--drawn",
        "--tone",
        "--clear",
    }:
        assert f"{variable}:" in css
        assert f"{variable}:" in dark
        assert f"{variable}:" in printed


def test_a_large_svg_becomes_a_png(monkeypatch):
    monkeypatch.setattr(as_html, "SVG_BYTES", 12_000)
    page = Page(raid5_report().to_html())
    assert "img" in page.tags
    assert page.tags.count("svg") > 0
    assert all(value.startswith("data:image/png;base64,iVBOR") for value in page.values("src"))
    assert all("Medians over" in v or "Means over" in v for v in page.values("alt"))


def test_the_page_keeps_its_size(monkeypatch):
    monkeypatch.setattr(as_html, "PAGE_BYTES", 80_000)
    text = raid5_report().to_html()
    assert len(text.encode()) <= 80_000 + 2_000
    assert "A chart was left out to keep this file small." in text


def test_the_same_chart_is_drawn_once():
    report = raid5_report()
    first = report.findings[1]
    text = replace(report, findings=(first, replace(first, rule="other", title="Other"))).to_html()
    assert text.count("<svg") == 2, "one of the first screen and one of both findings"
    assert text.count("A chart is the same as that of finding 1.") == 1


def test_the_same_report_gives_the_same_bytes(raid5):
    assert raid5_report().to_html() == raid5


def test_a_page_without_charts_needs_no_matplotlib_and_no_script(monkeypatch):
    monkeypatch.setattr(svg, "render", pytest.fail)
    page = Page(as_html.render(raid5_report(), with_charts=False))
    assert not {"svg", "script"} & set(page.tags)
    assert not [policy for policy in page.values("content") if "script-src" in policy]


def test_the_licence_of_what_a_page_holds_is_in_the_page(raid5):
    licence = (files("iodiag.report") / "uplot" / "LICENSE").read_text("utf-8").strip()
    assert "Permission is hereby granted" in licence
    assert raid5.count(licence) == 1
    assert len(templates.script().encode()) <= 70_000


def test_the_numbers_of_a_page_are_those_of_its_charts(raid5):
    numbers = json.loads(re.search(r'id="chart-data">(.*?)</script>', raid5, re.DOTALL)[1])
    shown = [int(place) for place in Page(raid5).values("data-chart")]
    assert len(shown) == len(set(shown)) == 5
    first = numbers["charts"][shown[0]]
    known = {series.name for series in raid5_report().series}
    assert {"dm-89", "dm-82"} <= {name for name, _ in first["choices"]} <= known
    assert {line[0] for panel in first["panels"] for line in panel["lines"]} >= {"dm-89", "dm-82"}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_ends_the_script(text):
    page = hostile_report(text).to_html()
    for numbers in re.findall(r'id="chart-data">(.*?)</script>', page, re.DOTALL):
        assert "<" not in numbers
        json.loads(numbers)


def test_each_rule_leads_to_its_text_in_the_page_or_to_its_page(raid5):
    rule = raid5_report().findings[0].rule
    report = replace(raid5_report(), rule_texts={rule: "Detects it.\n\nMatters\nmuch."})
    inside = report.to_html()
    assert f'<a href="#rule-{rule}"><code' in inside
    assert f'id="rule-{rule}"' in inside
    assert "<p>Matters much.</p>" in inside
    assert f'href="#rule-{rule}"' not in raid5, "without a text there is nothing to lead to"
    outside = report.to_html(rule_pages="https://example.org/rules/")
    assert f'href="https://example.org/rules/{rule}"' in outside
    assert f'href="#rule-{rule}"' not in outside


def test_each_finding_section_and_device_has_an_address(raid5):
    page = Page(raid5)
    ids = set(page.values("id"))
    report = raid5_report()
    named = {f"device-{state.device}" for state in report.states}
    assert named
    assert named <= ids
    assert {"findings", "states", "evidence", "clear", "unjudged", "devices", "read"} <= ids
    listed = raid5[raid5.index("<nav") : raid5.index("</nav>")]
    findings = {one for one in ids if one.startswith("finding-")}
    assert len(findings) == len(report.findings)
    in_contents = sum(f'href="#{one}"' in listed for one in findings)
    assert in_contents == sum(finding.severity != "info" for finding in report.findings)


def test_long_series_stay_small():
    at = tuple(range(5000))
    wild = tuple(float(n * 7919 % 1000) for n in at)
    columns = {"read_kb_per_s": wild, "await_ms": wild, "queue_depth": wild, "util_pct": wild}
    series = tuple(Series(f"sd{n}", None, at, (), columns) for n in "abcdef")
    finding = replace(
        raid5_report().findings[1], devices=tuple(s.name for s in series), host=None, samples=(100, 4000)
    )
    report = Report("0", "", "x", findings=(finding,), series=series)
    assert len(report.to_html()) < 1_000_000


def _many(count: int) -> Report:
    """A report with so much of everything that its lists have to be cut."""
    base = raid5_report()
    long = Quote("x.txt", 1, "x" * 400)
    evidence = tuple(
        replace(one, text="word " * 700, quotes=(long,) * 3) for one in base.findings[3].evidence
    )
    findings = (replace(base.findings[3], evidence=evidence, devices=(f"sd{n}",)) for n in range(count))
    outcomes = (
        replace(one, devices=(f"sd{n}",), reason=f"reason {n} " * 40)
        for n in range(count)
        for one in base.outcomes
    )
    lines = tuple(UnparsedLine(at, "y" * 400, f"reason {at}") for at in range(50))
    first = base.sources[0]
    sources = (
        replace(first, section=replace(first.section, source=f"{n}.txt"), unparsed=lines)
        for n in range(count)
    )
    return replace(base, findings=tuple(findings), outcomes=tuple(outcomes), sources=tuple(sources))


def test_no_capture_makes_a_page_larger_than_its_limit():
    text = _many(250).to_html()
    assert 1_000_000 < len(text.encode()) <= as_html.PAGE_BYTES
    page = Page(text)
    said = " ".join(" ".join(page.words).split())
    entries = re.search(r"each list ends after (\d+) entries; the JSON report has all of them", said)
    assert page.tags.count("article") == min(int(entries[1]), 100)
    assert f"{250 - int(entries[1])} more rows in the JSON report." in said
    assert set(page.values("aria-labelledby")) <= set(page.values("id"))
    assert {v[1:] for v in page.values("href") if v.startswith("#")} <= set(page.values("id"))


def test_a_page_that_fits_is_not_cut(raid5):
    assert "To keep this file small" not in raid5
