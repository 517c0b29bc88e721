"""Before and after, end to end: what moved, how sure, and which findings went, came and stayed."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import iodiag
from command_line import program
from iodiag.cli import cli
from iodiag.model.comparison import Comparison, Subject
from iodiag.model.report import Report
from iodiag.report import as_json
from iodiag.rules.selection import NOT_CHOSEN
from writers import captures
from writers.capture_writer import Load, Row, Style, iostat
from writers.loads import load

SAMPLES = Path(__file__).parents[2] / "samples"
SEEDS = SAMPLES / "seeds"
CASES = SAMPLES / "cases"
FRAGMENTED, RESTORED = SEEDS / "fragmented-table-scan.txt", SEEDS / "restored-table-scan.txt"
RAID5, RAID10 = CASES / "raid5-small-writes", CASES / "raid10-small-writes"
STALL, RELAXED = CASES / "commit-stall", CASES / "relaxed-commit"


def compared(before: Path, after: Path, **options) -> Report:
    sides = []
    for place in (before, after):
        captures, problems = iodiag.read_many([place])
        assert not problems
        sides.append(captures)
    return iodiag.compare(*sides, **options)


def comparison(report: Report) -> Comparison:
    assert report.comparison is not None
    return report.comparison


def device(report: Report, name: str) -> Subject:
    return next(s for s in comparison(report).subjects if s.kind == "device" and s.after == name)


def fates(report: Report) -> dict[str, str]:
    return {one.rule: one.fate for one in comparison(report).findings}


def of_texts(before: str, after: str, **options) -> Report:
    sides = [
        iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate((before, after))
    ]
    return iodiag.compare(*sides, **options)


def steady(count: int, *, rate=100.0, size=16.0, wait=8.0, depth=None, util=0.7, name="sda") -> Load:
    """Reads of one kind, each sample a few per cent off the mean in its own way."""
    samples = []
    for at in range(count):
        wobble = 1 + 0.05 * math.sin(at * 1.7) + 0.03 * math.cos(at * 0.6)
        reads = rate * wobble
        row = Row(reads=reads, read_kb=reads * size, read_ms=wait / wobble**0.5, util=util, depth=depth)
        samples.append({name: row})
    return Load(samples)


def test_the_restored_table_is_read_25_times_as_fast():
    report = compared(FRAGMENTED, RESTORED)
    read = device(report, "sda").change("read_kb_per_s")
    assert read.before == 1670
    assert read.after == pytest.approx(40.62 * 1024)
    assert read.ratio == pytest.approx(24.9, abs=0.05)
    assert math.isnan(read.low)
    assert (read.verdict, read.confidence) == ("indicated", "low")
    size = device(report, "sda").change("read_request_size_kb")
    assert (size.before, size.after) == (pytest.approx(9.68, abs=0.01), pytest.approx(109.85, abs=0.01))
    assert fates(report)["fragmentation-sized-reads"] == "went"
    assert comparison(report).confidence == "low"
    for words in (
        "24.9 times",
        "40.62 MB/s",
        "1,670 kB/s",
        "not proven",
        "Gone: Small unmerged reads make the disk seek.",
    ):
        assert words in report.headline


def test_from_raid5_to_raid10_the_partial_stripe_penalty_is_gone():
    report = compared(RAID5, RAID10)
    md0 = device(report, "md0")
    assert md0.shift == "faster"
    assert md0.change("write_kb_per_s").verdict == "changed"
    assert md0.change("write_kb_per_s").ratio == pytest.approx(2.0, abs=0.1)
    cost = md0.change("member_kb_per_kb")
    assert cost.verdict == "changed"
    assert cost.before > 3.5
    assert cost.after == pytest.approx(2.0, abs=0.15)
    assert md0.change("queue_depth").verdict == "unchanged"
    (matched,) = [change for change in md0.at_matched_load if change.quantity == "write_await_ms"]
    assert matched.verdict == "changed"
    assert matched.high < 0.6
    assert "level: raid5 before, raid10 after" in md0.remarks
    assert fates(report)["raid-partial-stripe-write"] == "went"
    assert "Gone: Parity RAID pays read-modify-write for small writes." in report.headline
    assert all(device(report, name).is_part for name in ("sda", "sdb", "sdc", "sdd"))


def test_with_relaxed_commits_the_serialized_commit_is_gone():
    report = compared(STALL, RELAXED)
    assert fates(report)["serialized-commit"] == "went"
    (application,) = [s for s in comparison(report).subjects if s.kind == "application"]
    done = application.change("transactions_per_s")
    assert (done.before, done.after) == (35.02, 491.81)
    assert "14.0 times the transactions" in report.headline
    settings = [item.text for item in comparison(report).settings]
    assert "`innodb_flush_log_at_trx_commit`: 1 before, 2 after" in settings
    assert "`sync_binlog`: 1 before, 0 after" in settings
    assert not [text for text in settings if "buffer_pool" in text]
    cpu = next(s for s in comparison(report).subjects if s.kind == "cpu")
    assert cpu.change("iowait_pct").verdict == "changed"


def test_identical_inputs_show_no_change_and_say_what_would_have_shown():
    report = compared(RAID5, RAID5)
    for subject in comparison(report).subjects:
        for change in (*subject.changes, *subject.at_matched_load):
            assert not change.is_change, change
            assert change.ratio == 1 or math.isnan(change.ratio)
    assert device(report, "md0").change("write_kb_per_s").detectable_pct > 15
    assert "No detectable change on `md0`" in report.headline
    assert re.search(r"one of \d+ % in the work done", report.headline)
    assert set(fates(report).values()) == {"stayed"}


BURSTS = [40, 900, 45, 52, 1600, 41, 70, 44, 1300, 48]
EVEN = [400, 404, 398, 401, 399, 402, 400, 397, 403, 401]


@pytest.mark.parametrize(
    ("rates", "waits", "said"),
    [
        (BURSTS, BURSTS, r"^Inconclusive for `sda`: only a change by a factor of \d.* would have shown\."),
        (
            BURSTS,
            EVEN,
            r"^No detectable change on `sda`; one of .* in latency .*, but only one by a factor of",
        ),
        (
            EVEN,
            EVEN,
            r"^No detectable change on `sda`; one of \d+ % in the work done or .* would have shown\.",
        ),
    ],
    ids=["bursts", "bursts as quick", "an even load"],
)
def test_what_only_a_multiple_would_show_is_not_said_to_be_unchanged(rates, waits, said):
    rows = [{"sda": load(rate, wait / 1000)} for rate, wait in zip(rates, waits, strict=True)]
    texts = [captures.iostat(way) for way in (rows, rows[::-1])]
    sides = [[iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt")] for n, text in enumerate(texts)]
    assert re.search(said, iodiag.compare(*sides).headline)


@pytest.mark.parametrize(
    ("before", "after", "shift"),
    [
        (steady(30), steady(30, wait=20), "slower"),
        (steady(30), steady(30, wait=3), "faster"),
        (steady(30), steady(30, rate=300), "more_load"),
        (steady(30, rate=300), steady(30), "less_load"),
        (steady(30), steady(30, rate=60, wait=40, util=1.0), "capacity_loss"),
        (steady(30), steady(30, size=64), "workload"),
        (steady(30), steady(40), "unchanged"),
        (steady(30), steady(3, wait=20), "unknown"),
    ],
)
def test_load_and_service_are_told_apart(before, after, shift):
    assert device(of_texts(iostat(before), iostat(after)), "sda").shift == shift


@pytest.mark.parametrize(("rate", "said"), [(100, "does no more"), (50, "does less")])
def test_a_slower_device_that_does_half_is_not_said_to_do_no_more(rate, said):
    after = steady(20, rate=rate, wait=16)
    sda = device(of_texts(iostat(steady(20, rate=100, wait=8)), iostat(after)), "sda")
    assert (sda.shift, said in sda.reading.text) == ("slower", True)


def test_more_load_is_no_slower_device_and_matched_load_says_so():
    """Twice the requests in flight wait longer; at the depth that both sides show they do not."""
    light = [*steady(20).samples, *steady(20, rate=150, wait=26.7).samples]
    heavy = [*steady(20, rate=150, wait=26.7).samples, *steady(20, rate=160, wait=100).samples]
    sda = device(of_texts(iostat(Load(light)), iostat(Load(heavy))), "sda")
    assert sda.change("read_await_ms").is_change
    assert sda.change("read_await_ms").ratio > 2
    assert sda.shift == "more_load"
    (matched,) = sda.at_matched_load
    assert matched.verdict == "unchanged"


def test_idle_samples_are_left_out():
    idle = [{"sda": Row()}] * 20
    busy = steady(20).samples
    with_idle = Load([*idle, *busy, *idle])
    report = of_texts(iostat(Load(busy)), iostat(with_idle))
    assert device(report, "sda").shift == "unchanged"
    assert "20 samples of 60" in device(report, "sda").evidence[1].text


def test_the_same_work_in_bursts_is_no_more_work():
    """A flusher that writes all at once does no more than one that writes steadily."""
    even = Load([{"sda": Row(writes=20, write_kb=1000, write_ms=5, util=0.1)}] * 40)
    burst = Row(writes=100, write_kb=5000, write_ms=5, util=0.5)
    lumpy = Load([{"sda": burst if at % 5 == 0 else Row()} for at in range(41)])
    report = of_texts(iostat(even), iostat(lumpy))
    change = device(report, "sda").change("write_kb_per_s")
    assert change.verdict == "bunched"
    assert change.overall == (pytest.approx(1000), pytest.approx(1000, rel=0.15))
    assert "times as much" not in report.headline


def test_the_layout_and_unit_of_a_side_change_nothing():
    sides = steady(30), steady(30, wait=20)
    plain = device(of_texts(*map(iostat, sides)), "sda").change("read_await_ms")
    other = of_texts(iostat(sides[0], Style("X3", "sec")), iostat(sides[1], Style("X5", "MB", comma=True)))
    found = device(other, "sda").change("read_await_ms")
    assert found.ratio == pytest.approx(plain.ratio, rel=1e-3)
    assert found.verdict == plain.verdict == "changed"
    assert found.low == pytest.approx(plain.low, rel=1e-2)


def test_a_finding_that_could_not_be_judged_after_is_not_gone():
    """The array's members are missing after: that the rule is silent proves nothing."""
    _, after = (iodiag.read_many([place])[0] for place in (RAID5, RAID10))
    only_md0 = iodiag.read(io.BytesIO(_only("md0", (RAID5 / "iostat.txt").read_text())), name="after.txt")
    report = iodiag.compare(iodiag.read_many([RAID5])[0], [only_md0])
    fate = next(f for f in comparison(report).findings if f.rule == "raid-partial-stripe-write")
    assert (fate.fate, fate.is_judged) == ("went", False)
    assert fate.reason
    assert "not judged after: Parity RAID pays read-modify-write" in report.headline
    assert "Gone" not in report.headline
    assert after


def _only(name: str, text: str) -> bytes:
    others = re.compile(rf"^(?!{name} )(sd|vd|md|dm-)\S* .*\n", re.M)
    return others.sub("", text).encode()


def test_hosts_are_paired_by_name_and_the_lonely_are_named():
    def capture(*hosts: str) -> list[iodiag.Capture]:
        text = iostat(steady(12))
        return [
            iodiag.read(
                io.BytesIO(re.sub(r"\(\w+\)", f"({host})", text, count=1).encode()), name=f"{host}.txt"
            )
            for host in hosts
        ]

    report = iodiag.compare(capture("a", "b"), capture("b", "c"))
    assert {s.host_after for s in comparison(report).subjects} == {"b"}
    assert comparison(report).uncompared == ("only before: host `a`", "only after: host `c`")
    moved = iodiag.compare(capture("a"), capture("c"))
    assert comparison(moved).uncompared[0] == "two hosts are compared: `a` before, `c` after"
    assert device(moved, "sda").shift == "unchanged"


def test_sides_without_anything_in_common_say_so():
    vmstat = iodiag.read(SEEDS / "commit-stall-vmstat.txt")
    report = iodiag.compare([iodiag.read(RAID5 / "lsblk.txt")], [vmstat])
    assert report.headline.startswith("Nothing could be compared")
    assert report.to_markdown()
    assert report.to_html()


def test_hosts_without_disks_are_compared_by_paging_and_cpu():
    text = (SEEDS / "commit-stall-vmstat.txt").read_text()
    report = of_texts(text, text)
    assert {s.kind for s in comparison(report).subjects} == {"host", "cpu"}
    assert "No" in report.headline


def test_every_number_of_the_headline_and_of_a_reading_stands_in_its_values():
    for before, after in ((FRAGMENTED, RESTORED), (RAID5, RAID10), (STALL, RELAXED), (RAID5, RAID5)):
        found = comparison(compared(before, after))
        told = [found.verdict, *(s.reading for s in found.subjects if s.reading)]
        for evidence in told:
            numbers = [v for v in evidence.values.values() if isinstance(v, (int, float))]
            words = re.sub(r"`[^`]*`|95 % interval", "", evidence.text)
            for word in re.findall(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?", words):
                value, decimals = float(word.replace(",", "")), len(word.partition(".")[2])
                slack = 0.5 * 10**-decimals * 1.001
                assert any(abs(number - value) <= slack for number in numbers), (word, evidence.text)


def test_what_a_subject_rests_on_is_quoted_from_its_own_side():
    md0 = device(compared(RAID5, RAID10), "md0")
    for evidence, place in zip(md0.evidence, (RAID5, RAID10), strict=True):
        assert evidence.source == str(place / "iostat.txt")
        lines = Path(evidence.source).read_text().splitlines()
        assert evidence.quotes
        for quote in evidence.quotes:
            assert lines[quote.line - 1].rstrip() == quote.text.rstrip()
            assert quote.text.startswith("md0")


def test_json_has_the_comparison_and_reads_back():
    report = compared(RAID5, RAID10)
    data = json.loads(report.to_json())
    assert data["schema"] == "iodiag-report/1"
    assert data["comparison"]["before"]["schema"] == "iodiag-report/1"
    assert {"kind", "shift", "changes", "matched"} <= data["comparison"]["subjects"][0].keys()
    assert as_json.from_json(report.to_json()).to_json() == report.to_json()
    # the report is the analysis of after, with another headline
    alone = iodiag.analyze(iodiag.read_many([RAID10])[0])
    assert [f.rule for f in report.findings] == [f.rule for f in alone.findings]
    assert "comparison" not in json.loads(alone.to_json())


def test_the_markdown_of_a_pair(golden, monkeypatch):
    monkeypatch.chdir(SAMPLES)
    report = compared(Path("cases/raid5-small-writes"), Path("cases/raid10-small-writes"))
    before = replace(comparison(report).before, generated="2026-11-20T16:00:00Z", iodiag="0")
    fixed = replace(comparison(report), before=before)
    text = replace(report, generated="2026-11-20T16:00:00Z", iodiag="0", comparison=fixed).to_markdown()
    golden("compare-raid5-raid10.md", text.split("\n## Findings before and after\n")[0] + "\n")
    for heading in ("What moved", "Findings before and after", "In the full report"):
        assert f"\n## {heading}\n" in text


def run(*arguments: str, stdin: str | None = None):
    return CliRunner().invoke(cli, ["compare", *arguments], input=stdin)


def test_the_command_writes_every_format(tmp_path):
    places = [tmp_path / name for name in ("r.md", "r.html", "r.json")]
    done = run(str(FRAGMENTED), str(RESTORED), *(w for p in places for w in ("-o", str(p))), "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert "24.9 times" in places[0].read_text()
    assert "24.9 times" in places[1].read_text()
    assert json.loads(places[2].read_text())["comparison"]["confidence"] == "low"


def test_a_side_may_be_standard_input_and_only_one():
    done = run("-", str(RESTORED), "--format", "json", "--quiet", stdin=FRAGMENTED.read_text())
    assert "24.9 times" in json.loads(done.stdout)["headline"]
    done = run("-", "-")
    assert done.exit_code == 2


def test_the_options_apply_to_both_sides():
    done = run(str(RAID5), str(RAID10), "--device", "sdb", "--rule", "svctm-misread", "--format", "json")
    data = json.loads(done.stdout)
    assert {s["after"] for s in data["comparison"]["subjects"] if s["kind"] == "device"} == {"sdb"}
    for side in (data, data["comparison"]["before"]):
        ran = (outcome["rule"] for outcome in side["outcomes"] if outcome["reason"] != NOT_CHOSEN)
        assert set(ran) == {"svctm-misread"}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((str(RAID5), str(RAID10)), 0),
        ((str(RAID10), str(RAID5), "--fail-on", "warning"), 1),
        ((str(RAID5), str(RAID10), "--fail-on", "warning"), 1),  # its disks are full after as well
        ((str(FRAGMENTED), str(RESTORED), "--fail-on", "warning"), 0),  # the finding is gone after
        ((str(RAID5),), 2),
        ((str(RAID5), str(RAID10), "--rule", "nonsense"), 2),
        ((str(RAID5), "/nonexistent"), 3),
        (("/nonexistent", str(RAID5)), 3),
    ],
)
def test_the_exit_status_is_that_of_analyze(arguments, status):
    done = program("compare", *arguments, "--quiet")
    assert done.returncode == status
    if status > 1:
        assert done.stderr.count(b"\n") == 1


def test_a_side_after_that_is_older_than_before_is_said():
    words = "AFTER is older than BEFORE"
    assert words in compared(RAID5, RAID10).to_markdown()
    assert words not in compared(RAID10, RAID5).to_markdown()
    assert words not in compared(RAID5, RAID5).to_markdown(), "captures that overlap have no order"
