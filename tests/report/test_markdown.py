from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import iodiag
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.report import DeviceSummary, Report, Verdict
from iodiag.report import as_markdown, finding_sections, wording
from iodiag.report.as_json import from_json
from property_tests import examples
from report.builders import HOSTILE, empty_report, hostile_report, raid5_report
from sample_files import SAMPLES, analyzed
from writers.captures import iostat
from writers.loads import load

COMMONMARK = MarkdownIt("commonmark").enable("table")
GITHUB = MarkdownIt("js-default", {"html": True}).enable("strikethrough")


def analyzed_text(text: str) -> Report:
    return iodiag.analyze([iodiag.read(io.BytesIO(text.encode()))])


def skeleton(text: str) -> list[str]:
    """The block structure of a document: what a reader sees but for the words."""
    return [token.type for token in COMMONMARK.parse(text)]


def inline_kinds(text: str) -> set[str]:
    tokens = COMMONMARK.parse(text)
    return {child.type for token in tokens for child in token.children or ()}


def words(text: str) -> str:
    """All that a rendering shows, markup apart."""
    found = []
    for token in GITHUB.parse(text):
        if token.type == "fence":
            found.append(token.content)
        found += [child.content for child in token.children or () if child.content]
    return " ".join(found)


def test_the_realistic_report_is_as_agreed(golden):
    golden("raid5.md", raid5_report().to_markdown())
    golden("raid5-full.md", raid5_report().to_markdown(full=True))


def test_the_empty_report_is_as_agreed(golden):
    golden("empty.md", empty_report().to_markdown())


@pytest.mark.parametrize("report", [raid5_report(), empty_report()], ids=["raid5", "empty"])
def test_it_reads_the_same_in_commonmark_and_on_github(report):
    text = report.to_markdown()
    assert COMMONMARK.render(text) == GITHUB.render(text)
    assert not {"html_inline", "html_block", "image"} & (inline_kinds(text) | set(skeleton(text)))


def test_sections_stand_in_order():
    tokens = COMMONMARK.parse(raid5_report().to_markdown(full=True))
    headings = [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == [
        "Findings",
        "What each device was doing",
        "Evidence",
        "Notes on reading the numbers",
        "Clear",
        "Could not be judged, and why",
        "Devices",
        "What was read",
    ]
    found = [
        tokens[at + 1].content for at, t in enumerate(tokens) if t.type == "heading_open" and t.tag == "h3"
    ]
    numbered = [title.split(":")[0] for title in found if title[0].isdigit()]
    assert numbered == ["1. Warning", "2. Warning", "3. Notice", "4. Info"]


def test_a_short_report_has_the_first_steps_and_names_what_it_leaves_out():
    text = raid5_report().to_markdown()
    assert len(text.encode()) <= 6000
    lines = text.splitlines()
    assert lines.index("**What to do first**") < 24
    assert (
        "- Move this volume to RAID10: it would write 2.0 kB per kB instead of moving 3.12. To confirm it:"
        in lines
    )
    assert (
        "- Warning: One disk of the array answers later than its peers (`sdd`, `sdb`, `sdc` and 1 more)"
        in lines
    )
    rest = lines[lines.index("## In the full report") + 2]
    for words in ("notes on reading the numbers (1 finding)", "clear (4 rules)", "2 lines not understood"):
        assert words in rest


@pytest.mark.parametrize(
    ("command", "is_load"), [("fio --name=log --rw=write --bs=8k", True), ("iostat -xyt 1 30", False)]
)
def test_a_command_that_makes_load_is_told_to(command, is_load):
    report = raid5_report()
    lead = replace(report.findings[0], confirm=(command,))
    text = replace(report, findings=(lead, *report.findings[1:])).to_markdown(full=True)
    assert command in text
    assert ("fio makes load of its own" in text) == is_load


def test_each_line_is_quoted_once_in_the_order_of_the_capture():
    for full in (False, True):
        text = raid5_report().to_markdown(full=full)
        assert text.count("175: 07:40:01") == 1
        assert text.index("172: 07:40:01") < text.index("175: 07:40:01")


@pytest.mark.parametrize(("cut", "where"), [(1, "(line 25)"), (2, "(lines 25-26)")])
def test_where_lines_were_not_read_is_told(cut, where):
    lines = iostat([{"sda": load(140, 450)}] * 5).splitlines(keepends=True)
    text = "".join([*lines[:24], *["sda 1.00 2.00 3.00\n"] * cut])
    assert where in analyzed_text(text).to_markdown()


def test_a_capture_without_times_is_not_called_undated():
    """Its banner has the date; what it lacks is the time of each report."""
    text = re.sub(r"(?m)^11/20/26 .*\n", "", iostat([{"sda": load(140, 450)}] * 5))
    assert "11/20/26" in text
    page = analyzed_text(text).to_markdown()
    assert page.startswith("# Storage report: `box`, 2026-11-20, no clock times\n")


@pytest.mark.parametrize(
    ("day", "clocks", "is_other"),
    [
        ("11/20/26", ("14:03:01", "14:03:02"), False),
        ("11/18/26", ("14:03:01", "14:03:02"), True),
        ("11/19/26", ("14:03:01", "14:03:02"), True),
        ("11/19/26", ("00:03:01", "00:03:02"), False),  # a run from before midnight
        ("11/21/26", ("23:59:01", "23:59:02"), False),
    ],
)
def test_samples_of_another_day_are_not_told_as_the_same_moment(day, clocks, is_other):
    disks = re.sub(r"(?m)^11/20/26 .*\n", "", iostat([{"sda": load(140, 450)}] * 5))
    banner = "Linux 6.14.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    header = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"
    rows = (f"{clock} all 3.00 0.00 2.00 0.00 0.00 0.00 0.00 0.00 0.00 95.00\n" for clock in clocks)
    cpus = f"{banner}{clocks[0][:-1]}0 {header}\n{''.join(rows)}\n"
    page = analyzed_text(f"{cpus}{disks.replace('11/20/26', day)}").to_markdown(full=True)
    assert page.startswith(f"# Storage report: `box`, 2026-11-20 {clocks[0]} to {clocks[1]}")
    assert (f"; iostat of 2026-11-{day[3:5]}" in page) == is_other
    assert ("iostat ran on another day than the rest: not the same moment" in page) == is_other


@pytest.mark.parametrize(("day", "is_other"), [("11/21/26", False), ("11/19/26", True)])
def test_a_clock_without_a_zone_may_be_of_the_day_after_that_of_one_in_utc(day, is_other):
    top = "Fri Nov 20 22:00:01 UTC 2026\ntop - 22:00:01 up 1 day, 1 user, load average: 1.00, 1.00, 1.00\n"
    top += "%Cpu(s): 5.0 us, 5.0 sy, 0.0 ni, 90.0 id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st\n\n"
    disks = iostat([{"sda": load(140, 450)}] * 5).replace("11/20/26", day)
    assert (f"; iostat of 2026-11-{day[3:5]}" in analyzed_text(top + disks).to_markdown()) == is_other


def test_the_title_has_the_days_and_times_of_all_that_was_read():
    """Of a screen of top without a date, of banners, and of processes that alone have both."""
    top = "top - 22:00:01 up 1 day, 1 user, load average: 1.00, 1.00, 1.00\n"
    top += "%Cpu(s): 5.0 us, 5.0 sy, 0.0 ni, 90.0 id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st\n\n"
    disks = re.sub(r"(?m)^11/20/26 .*\n", "", iostat([{"sda": load(140, 450)}] * 5))
    processes = "\n$ pidstat -d 1\nLinux 6.1.0 (box) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n"
    header = "UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command"
    processes += "".join(f"10:00:0{n} {header}\n10:00:0{n + 1} 0 77 0.00 90.00 0.00 0 dd\n\n" for n in (1, 2))
    title = analyzed_text(top + disks + processes).to_markdown().splitlines()[0]
    assert "22:00:01, no date; iostat of 2026-11-20; pidstat 2026-11-21 10:00:02 to 10:00:03" in title


@pytest.mark.parametrize(("clock", "is_told"), [("14:03:02", False), ("19:40:02", True)])
def test_the_title_has_times_of_day_that_the_dated_clocks_do_not_cover(clock, is_told):
    banner = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    rows = "".join(f"14:0{n}:00 all 3.00 0.00 2.00 0.00 0.00 95.00\n" for n in range(1, 6))
    cpu = f"{banner}14:00:00 CPU %user %nice %system %iowait %steal %idle\n{rows}\n"
    top = f"top - {clock} up 1 day, 1 user, load average: 1.00, 1.00, 1.00\n"
    top += "%Cpu(s): 5.0 us, 5.0 sy, 0.0 ni, 90.0 id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st\n\n"
    title = analyzed_text(top + cpu).to_markdown().splitlines()[0]
    assert (f"; top {clock}, no date" in title) == is_told


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (["23:50:01 00:00:01 00:10:01"], "23:50:01 to 00:10:01, no date"),
        (["09:10:01"], "09:10:01, no date"),
        (["09:10:01 09:20:01", "07:10:01 07:20:01"], "07:10:01 to 09:20:01, no date"),
        (["09:10:01 09:20:01", "23:50:01 00:00:01"], "no clock times with a date"),
    ],
    ids=["past midnight", "one", "two runs", "two, one past midnight"],
)
def test_the_times_of_day_are_told_where_there_is_no_date(runs, told):
    header = "DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"
    row = "dev252-8    360.63   1739.05   1139.02      7.98     52.81    146.31     33.01"
    blocks = [
        f"$ sar -d\n{clocks[:8]} {header}\n" + "".join(f"{clock} {row}\n" for clock in clocks.split())
        for clocks in runs
    ]
    page = analyzed_text("\n".join(blocks)).to_markdown(full=True)
    assert page.splitlines()[0].endswith(f", {told}")
    # what iodiag wrote itself is no capture
    with pytest.raises(iodiag.IodiagError, match="is a report that iodiag wrote"):
        iodiag.read(io.BytesIO(page.encode()))


def test_the_times_of_day_are_those_of_all_tables_of_a_run():
    cpu = (
        "11:40:01 CPU %user %nice %system %iowait %steal %idle\n11:50:01 all 7.00 0.00 3.00 2.50 0.00 87.50\n"
    )
    queue = "02:30:01 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n02:40:01 1 300 0.02 0.05 0.05\n"
    page = analyzed_text(f"{cpu}\n{queue}").to_markdown(full=True)
    assert page.splitlines()[0].endswith(", 02:40:01 to 11:50:01, no date")


def test_only_thresholds_that_were_changed_are_listed():
    report = raid5_report()
    assert "hreshold" not in report.to_markdown(full=True)
    changed = replace(report, changed_thresholds={"slow-member": {"persistence": 0.5}})
    assert "- `slow-member`: persistence 0.5" in changed.to_markdown(full=True)
    assert "changed thresholds (1 threshold)" in changed.to_markdown()


def test_the_state_of_the_verdict_leads_the_sentence():
    assert raid5_report().to_markdown().splitlines()[2].startswith("**Trouble. Small writes to")
    without = replace(raid5_report(), verdict=None, states=())
    assert without.to_markdown().splitlines()[2].startswith("**Small writes to")
    assert "## What each device was doing" not in without.to_markdown()


@pytest.mark.parametrize(
    ("rule", "severity", "counted"),
    [(None, "notice", "1 notice, 1 info;"), ("svctm-misread", "info", "1 info;"), (None, None, "1 info;")],
)
def test_what_a_report_begins_with_is_counted_though_no_rule_found_it(rule, severity, counted):
    note = Finding(rule="svctm-misread", severity="info", confidence="high", title="svctm is no time")
    report = replace(empty_report(), findings=(note,), verdict=Verdict("open", rule, (), severity))
    text = report.to_markdown(full=True)
    assert f"- **Result:** {counted}" in text
    assert "no proof of health" not in text


def test_devices_of_the_verdict_are_shown_first_and_the_others_counted():
    report = raid5_report()
    disk = report.states[-1]
    many = tuple(replace(disk, device=f"sd{at:02}", requests=1e9) for at in range(30))
    text = replace(report, states=(*many, *report.states), findings=()).to_markdown(full=True)
    rows = [line for line in text.splitlines() if "samples" in line and line.startswith("| `")]
    assert rows[0].startswith("| `dm-89` | 30 of 60 samples")
    assert "24 more devices in the JSON report." in text


def test_the_slowest_device_is_shown_however_many_are_busier():
    report = raid5_report()
    disk = report.states[-1]
    many = tuple(replace(disk, device=f"sd{at:02}", latency_ms=5.0) for at in range(30))
    late = replace(disk, device="slow", busy_pct=1.0, latency_ms=9000.0, text="1 write/s, 9 s each")
    text = replace(report, states=(*many, late), findings=()).to_markdown()
    assert "| `slow` | 1 write/s, 9 s each |" in text
    assert "26 more devices in the JSON report." in text


@pytest.mark.parametrize(
    ("depth", "latency", "is_shown"),
    [(150.0, 300.0, True), (150.0, 140.0, False), (20.0, 300.0, False)],
    ids=["worse in both", "hardly slower", "a shorter queue"],
)
def test_the_worst_state_is_not_left_out_for_the_longest(depth, latency, is_shown):
    report = raid5_report()
    disk = replace(report.states[-1], device="sda", in_flight=100.0, latency_ms=130.0, text="the longest")
    worst = replace(disk, in_flight=depth, latency_ms=latency, requests=10.0, text="the worst")
    text = replace(report, states=(disk, worst), findings=()).to_markdown()
    assert "| `sda` | the longest |" in text
    assert ("| `sda` | the worst |" in text) is is_shown


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_no_structure(text):
    rendered = hostile_report(text).to_markdown(full=True)
    harmless = hostile_report("harmless" if text.strip() else text).to_markdown(full=True)
    assert skeleton(rendered) == skeleton(harmless)
    kinds = inline_kinds(rendered)
    assert not {"html_inline", "image", "em", "s_open", "em_open"} & kinds
    assert "html_block" not in skeleton(rendered)
    assert ("link_open" in kinds) == wording.is_link(text)
    assert rendered.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.isprintable() and text.strip()])
def test_hostile_text_is_still_shown_as_it_is(text):
    assert text.strip() in words(hostile_report(text).to_markdown(full=True))


@pytest.mark.parametrize(
    "text",
    [
        "www.evil.example",
        "@everyone",
        "root@evil.example",
        "x (https://evil.example/).",
        "$evil$",
        "$a evil b$",
        ":evil:",
        "(:evil:)",
    ],
)
def test_no_bare_word_is_left_for_github_to_link(text):
    report = replace(raid5_report(), headline=text)
    line = report.to_markdown().splitlines()[2]
    found = COMMONMARK.parse(line)[1].children
    left = "".join(t.content if t.type == "text" else "`" for t in found)
    assert not re.search(r"[$@]|evil\.|:evil:", left)
    assert any(t.type == "code_inline" for t in found)


@examples(60)
@given(st.text(alphabet="`|\\*_<>[]()#-+=~!&:.@/ 1ax\n\t\u202e\u3000", max_size=14))
def test_any_text_leaves_the_structure_alone(text):
    rendered = hostile_report(text).to_markdown(full=True)
    kinds = inline_kinds(rendered)
    assert not {"html_inline", "image", "em_open", "s_open", "link_open"} & kinds
    assert sorted(set(skeleton(rendered)) - {"paragraph_open", "paragraph_close", "inline"}) == sorted(
        set(skeleton(hostile_report("x").to_markdown(full=True)))
        - {"paragraph_open", "paragraph_close", "inline"}
    )
    cells = [len(row.split("<td")) for row in GITHUB.render(rendered).split("<tr>")]
    assert cells == [len(row.split("<td")) for row in COMMONMARK.render(rendered).split("<tr>")]


@examples(200)
@given(st.text(alphabet="`|\\ ax*", min_size=1, max_size=12).filter(str.strip))
def test_a_code_span_shows_its_text(text):
    children = COMMONMARK.parse(as_markdown.code(text))[1].children
    assert [child.type for child in children] == ["code_inline"]
    assert children[0].content.strip() == text.strip()
    table = f"| a | b |\n| --- | --- |\n| {as_markdown.code(text, in_table=True)} | end |"
    cells = [t.children for t in COMMONMARK.parse(table) if t.type == "inline"][2:]
    assert len(cells) == 2
    assert cells[0][0].content.strip() == text.replace("\\|", "\\‹U+007C›").strip()


def test_the_fence_is_longer_than_what_it_holds():
    assert as_markdown.fenced(["a ``` b", "`````"])[0] == "``````text"


def test_what_is_left_out_is_counted():
    report = raid5_report()
    crowd = tuple(
        DeviceSummary(f"sd{at}", None, (), None, None, (), 1, {"util_pct": {"median": 1.0}})
        for at in range(200)
    )
    many = tuple(replace(report.findings[0], title=f"finding {at}") for at in range(120))
    outcome = Outcome("volume-cap", "clear", tuple(device.name for device in crowd))
    text = replace(report, devices=crowd, findings=many, outcomes=(outcome,)).to_markdown(full=True)
    assert "140 more devices in the JSON report." in text
    assert "The first 100 findings are shown in full" in text
    assert "and 188 more" in text
    assert text.count("\n### ") == 100 + 2


def test_a_binary_file_is_addressed_in_bytes():
    report = raid5_report()
    first = report.sources[0]
    binary = replace(first, section=replace(first.section, source="sa19", format="sa"))
    finding = replace(report.findings[0], evidence=(Evidence("one row", {}, "sa19", (1024,), 1),))
    text = replace(report, sources=(binary,), findings=(finding,)).to_markdown(full=True)
    assert "`sa19@1024`" in text


@pytest.mark.parametrize(
    ("name", "other", "address"),
    [
        ("/srv/case/web-1/sar-d.txt", "iostat.txt", "sar-d.txt:1"),
        ("/srv/case/web-1/sar-d.txt", "/srv/case/web-2/sar-d.txt", "web-1/sar-d.txt:1"),
        ("sar-d.txt", "web-2/sar-d.txt", "sar-d.txt:1"),
    ],
    ids=["alone", "in another folder too", "in a folder too"],
)
def test_an_address_has_as_much_of_the_name_as_tells_it_apart(name, other, address):
    report = raid5_report()
    one = report.sources[0]
    sources = tuple(replace(one, section=replace(one.section, source=of)) for of in (name, other))
    finding = replace(report.findings[0], evidence=(Evidence("one row", {}, name, (1,), 1),))
    text = replace(report, sources=sources, findings=(finding,)).to_markdown(full=True)
    assert f"one row (`{address}`)" in text


def test_several_hosts_are_told_apart():
    report = raid5_report()
    other = replace(report.sources[1], section=replace(report.sources[1].section, host="db02"))
    text = replace(report, sources=(report.sources[0], other)).to_markdown(full=True)
    assert text.startswith("# Storage report: `backup01`, `db02`, 2019")
    assert "| # | Severity | Confidence | Finding | Host | Devices |" in text
    assert "- **Host:** `backup01`" in text


def test_the_worst_comes_first_and_what_is_explained_after_its_like():
    base = raid5_report().findings[0]
    findings = (
        replace(base, severity="notice", confidence="high", title="N"),
        replace(base, severity="warning", confidence="high", title="W explained", explained_by="x"),
        replace(base, severity="warning", confidence="medium", title="W"),
        replace(base, severity="critical", confidence="low", title="C"),
    )
    text = replace(raid5_report(), findings=findings).to_markdown(full=True)
    order = [
        line.split(": ")[1] for line in text.splitlines() if line.startswith("### ") and line[4].isdigit()
    ]
    assert order == ["C", "W", "W explained", "N"]


def test_a_report_read_back_renders_the_same():
    report = raid5_report()
    assert from_json(report.to_json()).to_markdown(full=True) == report.to_markdown(full=True)


def test_markdown_needs_no_heavy_library():
    code = (
        "import sys; from iodiag.model.report import Report; Report('0', '', 'x').to_markdown();"
        "bad = {'matplotlib', 'jinja2', 'pandas', 'numpy', 'rich'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_row_of_a_table_is_one_line():
    lines = analyzed(SAMPLES / "cases" / "slow-member" / "iostat.txt").to_markdown(full=True).split("\n")
    ends = [after for line, after in pairwise(lines) if line.startswith("| ") and not after.startswith("| ")]
    assert len(ends) > 5
    assert not any(ends)


def test_findings_of_hosts_that_are_called_the_same_are_one_line_with_their_count():
    base = raid5_report().findings[0]
    mounts = [
        replace(base, rule="nfs-wait", title="Mounts wait", devices=(), host=host, severity="warning")
        for host in ("alpha", "alpha", "beta")
    ]
    report = replace(raid5_report(), findings=(base, *mounts))
    assert "Mounts wait (3 findings" in report.to_markdown()


@pytest.mark.parametrize(
    ("cause", "severity", "twin", "does_follow"),
    [
        ("lead", "warning", None, True),
        ("another", "warning", None, False),
        ("lead", "critical", None, False),
        ("lead", "warning", "sdz", False),
    ],
    ids=["explained by it", "by another", "graver", "by another of its rule"],
)
def test_what_follows_from_the_verdict_stands_below_it_and_not_beside_it(cause, severity, twin, does_follow):
    report = raid5_report()
    first = finding_sections.lead(report)
    explained = first.rule if cause == "lead" else cause
    effect = replace(first, rule="b", title="Requests wait", devices=("sdx",), severity=severity)
    effects = [replace(effect, devices=(name,), explained_by=explained) for name in ("sdx", "sdy")]
    others = [replace(first, devices=(twin,))] if twin else []
    text = replace(report, findings=(first, *others, *effects)).to_markdown()
    assert ("- **Effects:** Requests wait (`sdx`, `sdy`)" in text) == does_follow
    assert (": Requests wait (`sdx`)\n" in text) == (not does_follow)


def test_a_finding_of_another_time_than_the_verdicts_says_when():
    report = raid5_report()
    first = finding_sections.lead(report)
    other = replace(first, rule="b", title="Reads wait", start="2019-09-19T07:10:01+02:00")
    text = replace(report, findings=(first, other)).to_markdown()
    assert re.search(r"Reads wait \(.*\), 2019-09-19 07:10:01 to 07:57:01\n", text)


def test_notes_are_named_in_one_line():
    report = raid5_report()
    first = finding_sections.lead(report)
    notes = [
        replace(first, rule=f"note-{title}", title=title, devices=(name,), severity="info")
        for title, name in (("Late", "sda"), ("Odd", "sdb"), ("Odd", "sdc"))
    ]
    assert ", 3 info. Info: Late; Odd\n" in replace(report, findings=(first, *notes)).to_markdown()


def test_an_array_that_moves_most_is_shown_though_its_busy_time_is_not_counted():
    report = raid5_report()
    disk = replace(report.states[-1], size_kb=8.0, per_s=2.0)
    little = tuple(replace(disk, device=f"sd{at:02}", busy_pct=float(at)) for at in range(30))
    array = replace(disk, device="md9", busy_pct=0.0, per_s=9000.0, latency_ms=None, text="9,000 writes/s")
    text = replace(report, states=(*little, array), findings=()).to_markdown()
    assert "| `md9` | 9,000 writes/s |" in text


def test_what_is_not_sure_is_listed_as_possible():
    report = raid5_report()
    sure = report.findings
    guesses = tuple(replace(one, confidence="low") for one in sure[1:])
    text = replace(report, findings=(sure[0], *guesses)).to_markdown()
    assert "- Warning, possibly: One disk of the array" in text
    assert "- Warning: One disk of the array" in report.to_markdown()


def test_no_clear_rule_is_not_counted():
    report = raid5_report()
    healthy = replace(report, findings=(), verdict=Verdict("healthy"))
    lacking = tuple(one for one in report.outcomes if one.status == "undetermined")
    assert "rules clear" in healthy.to_markdown()
    text = replace(healthy, outcomes=lacking).to_markdown()
    assert re.search(r"0 findings; \d+ rules? not judged", text)


def test_what_is_inferred_below_a_device_is_marked():
    report = raid5_report()
    device = replace(report.devices[0], members=("sdz",), provenance={"members": "inferred: equal bytes"})
    assert "`sdz` (inferred)" in replace(report, devices=(device,)).to_markdown(full=True)
    stated = replace(device, provenance={"members": "lsblk"})
    assert "(inferred)" not in replace(report, devices=(stated,)).to_markdown(full=True)


def test_samples_of_a_device_that_some_reports_leave_out_are_numbered_apart():
    full = load(1250, 100, size=4.2, depth=125, util=98)
    idle = load(3, 10, size=1, util=3)
    beside = load(200, 0.5, size=8)
    both = [{"sda": idle, "sdb": beside}, {"sdb": beside}, {"sda": full, "sdb": beside}]
    text = analyzed_text(iostat(both)).to_markdown(full=True)
    assert "sample 2 of 2 of this device (others have 3: equal numbers are not of one time)" in text
    whole = [both[0], {"sda": idle, "sdb": beside}, both[2]]
    assert "of this device (others" not in analyzed_text(iostat(whole)).to_markdown(full=True)
