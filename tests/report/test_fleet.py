"""The fleet report in its three formats: whole, inert, linked, and as its schema says."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fleet import tables
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import summarise
from iodiag.fleet.publish import page_address
from iodiag.model import fleet as model
from iodiag.model.fleet import FleetReport
from report.builders import HOSTILE
from report.test_html import Page

DOCS = Path(__file__).parents[2] / "docs"


def fleet_report(link=page_address) -> FleetReport:
    hosts = tables.host_names(40)
    roles = {host: {"role": host.split("-")[0], "site": "AB"[at % 2]} for at, host in enumerate(hosts)}
    return summarise(tables.fleet(), Inventory(roles), link)


def hostile_fleet() -> FleetReport:
    """Every name and text of captures and of the inventory is out to break something."""

    # a lone surrogate cannot stand in Parquet
    texts = [text for text in HOSTILE if "\ud800" not in text]

    def evil(count: int) -> list[str]:
        return [f"{texts[at % len(texts)]}{at}" for at in range(count)]

    frames = tables.fleet(24, 5)
    names = dict(zip(tables.host_names(24), evil(24), strict=True))
    rules = dict(zip(tables.RULES, evil(len(tables.RULES)), strict=True))
    for name, frame in frames.items():
        frame["host"] = frame["host"].map(names).fillna(HOSTILE[0])
        for column in ("title", "summary", "reason", "input", "model", "firmware"):
            if column in frame:
                frame[column] = evil(len(frame))
        if name in ("findings", "outcomes"):
            frame["rule"] = frame["rule"].map(rules)
        if "device" in frame:
            frame["device"] = frame["host"]
    findings, outcomes = frames["findings"], frames["outcomes"]
    findings["devices"] = [[text] for text in evil(len(findings))]
    findings["evidence"] = [
        json.dumps([{"text": text, "source": text, "lines": [1]}]) for text in evil(len(findings))
    ]
    outcomes.loc[outcomes["rule"] == rules["flush-latency"], "status"] = "undetermined"
    frames["devices"]["model"] = frames["devices"]["firmware"] = HOSTILE[1]
    entries = {host: {"role": HOSTILE[0], "site": HOSTILE[at % 2]} for at, host in enumerate(names.values())}
    return summarise(frames, Inventory(entries, tuple(evil(20))), page_address)


@pytest.fixture(scope="module")
def planted() -> FleetReport:
    return fleet_report()


@pytest.fixture(scope="module")
def hostile() -> FleetReport:
    return hostile_fleet()


def test_the_page_needs_nothing_else(planted):
    text = planted.to_html()
    page = Page(text)
    assert not {"link", "iframe", "object", "embed", "form", "base", "img"} & set(page.tags)
    assert page.tags.count("style") == page.tags.count("script") == 1
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    script = text[text.index("<script>") + 8 : text.index("</script>")]
    own, filters = (b64encode(sha256(part.encode()).digest()).decode() for part in (style, script))
    allowed = f"default-src 'none'; style-src-elem 'sha256-{own}'; script-src 'sha256-{filters}'; "
    assert any(value.startswith(allowed) for value in page.values("content"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.tags.count("main") == page.tags.count("header") == page.tags.count("nav") == 1
    assert page.tags.count("table") == page.tags.count("caption")
    assert all(scope in ("col", "row") for scope in page.values("scope"))
    assert page.tags.count("th") == len(page.values("scope"))


def test_ids_are_unique_and_links_lead_to_them_or_to_pages(planted):
    page = Page(planted.to_html())
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    inner = {value[1:] for value in page.values("href") if value.startswith("#")}
    assert inner
    assert inner <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)
    outer = {value for value in page.values("href") if not value.startswith("#")}
    assert "reports/db-00000/2026-03-08.html" in outer
    assert all(re.fullmatch(r"reports/[\w.%-]+/[\w.%-]+\.html", value) for value in outer)


def test_what_hurts_stands_in_words_in_both_texts(planted):
    page = "".join(Page(planted.to_html()).words)
    for text in (page, planted.to_markdown().replace("`", "")):
        for words in (
            "21 of 40 hosts pay a real cost",
            "hung-io: 41.2 ms at 12.4 in flight.",
            "true-saturation on 20 of 40 hosts judged (50 %), since 2026-03-05, still so",
            "hung-io on 2 of 40 hosts judged (5 %), 1 of them warning or worse, since 2026-03-07, still so",
            "true-saturation began on 20 hosts",
            "6.12.4 became 6.12.9 on that day on 20 of these 20 hosts, and on 0 of the 20 others",
            "9 peers: role web, model SSD 960, solid-state disk",
            "still so when the data ends",
            "the file ends in the middle of a record at byte 4812",
            "not the chance that the device is healthy",
            "no trouble found",
        ):
            assert words in text


def test_hostile_names_stay_text_in_html(hostile):
    assert min(map(len, (hostile.hosts, hostile.changes, hostile.outliers, hostile.departures))) > 0
    assert min(map(len, (hostile.onsets, hostile.failed, hostile.unjudged, hostile.remarks))) > 0
    page = Page(hostile.to_html())
    assert not {"img", "b", "iframe"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert all(value.startswith(("#", "reports/")) for value in page.values("href"))
    words = "".join(page.words)
    assert all(char.isprintable() or char == "\n" for char in words)


def test_hostile_names_stay_text_in_markdown(hostile):
    text = hostile.to_markdown()
    assert all(char.isprintable() or char == "\n" for char in text)
    tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert not [token for token in [*tokens, *inline] if token.type.startswith("html")]
    links = [token.attrs["href"] for token in inline if token.type == "link_open"]
    assert links
    assert all(str(href).startswith("reports/") for href in links)
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    assert rows
    assert len(cells) > 4 * len(rows)


def test_a_trouble_on_many_hosts_is_told_once_and_opens_to_its_hosts(planted):
    text = planted.to_html()
    page = Page(text)
    assert page.values("class").count("group finding critical") == 1
    assert text.count("true-saturation on sda</h3>") == 1
    part = text[text.index('id="trouble-2-true-saturation"') :]
    part = part[: part.index("</details>")]
    rows = re.findall(r'<th scope="row"><a href="(reports/[^"]+)"', part)
    assert len(rows) == len(set(rows)) == 20
    assert part.count('href="#change-1"') == 20


def test_the_remedy_and_the_commands_of_a_trouble_stand_there_once():
    frames = tables.fleet()
    frames["findings"]["remedy"] = [["Do this.", "Then that."]] * len(frames["findings"])
    frames["findings"]["confirm"] = [["iostat -x 1 9 sda"]] * len(frames["findings"])
    report = summarise(frames, link=page_address)
    page = report.to_html()
    assert page.count("Do this.") == page.count("iostat -x 1 9 sda") == len(report.troubles) + 1
    text = report.to_markdown()
    # in Markdown the first screen has those of the first trouble
    assert text.count("Do this.") == sum(one.hosts_hurt > 0 for one in report.troubles)


def test_the_first_screen_says_what_is_worst_and_what_to_do_on_which_host():
    rows = [tables.finding("a", tables.FIRST_DAY, "hung-io", remedy=["Do this."], confirm=["cat sda"])]
    findings = tables.findings_table(rows)
    outcomes = tables.outcomes_table(["a", "b"], [tables.FIRST_DAY], findings)
    found = summarise({"findings": findings, "outcomes": outcomes}, link=page_address)
    head = found.to_html().partition("</header>")[0]
    for said in ("hung-io on sda</a>, on 1 of 2 hosts judged", "41.2 ms", "Do this.", "cat sda"):
        assert said in head
    assert 'href="reports/a/2026-03-02.html"' in head
    guess = findings.assign(confidence="low")
    words = "".join(Page(summarise({"findings": guess, "outcomes": outcomes}).to_html()).words)
    assert "Confirm it before acting on it, on a:" in words


def test_undated_captures_are_not_a_day_in_any_text():
    rows = [tables.finding("a", "undated", "hung-io", start=None, end=None)]
    findings = tables.findings_table(rows)
    days = [tables.FIRST_DAY, "undated"]
    report = summarise({"findings": findings, "outcomes": tables.outcomes_table(["a"], days, findings)})
    for text in (report.to_html(), report.to_markdown()):
        assert "hosts judged, undated" in text or "host judged, undated" in text
        assert not re.search("(on|since|before|to) undated", text)


def test_a_page_s_address_names_the_file_and_nothing_else():
    assert page_address("a/../b", "2026-03-02") == "reports/a%252F..%252Fb/2026-03-02.html"
    assert page_address("a (b)", "undated") == "reports/a%20%28b%29/undated.html"
    assert page_address('"><x', "..") == "reports/%2522%253E%253Cx/%252E%252E.html"


def test_json_is_plain_and_has_the_schema_first(planted):
    data = json.loads(planted.to_json(), parse_constant=lambda word: pytest.fail(word))
    assert next(iter(data)) == "schema"
    assert data["schema"] == "iodiag-fleet/1"
    assert data["totals"]["hosts"] == 40
    assert data["changes"][0]["beginnings"][0]["rule"] == "true-saturation"
    assert planted.as_dict() == data


def test_every_field_of_the_schema_is_documented():
    text = (DOCS / "fleet-report.md").read_text()
    documented = set(re.findall(r"`(\w+)`", text))
    for cls in vars(model).values():
        if dataclasses.is_dataclass(cls) and cls.__module__ == model.__name__:
            for field in dataclasses.fields(cls):
                assert field.name in documented, f"{cls.__name__}.{field.name} is not in docs/fleet-report.md"
    assert typing.get_args(model.CellState) == ("found", "clear", "unjudged")


def test_an_empty_fleet_has_a_report():
    empty = summarise({})
    Page(empty.to_html())
    assert "No host could be read." in empty.to_markdown()
    assert json.loads(empty.to_json())["hosts"] == []
