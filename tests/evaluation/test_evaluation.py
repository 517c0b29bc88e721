"""The measuring itself is right: intervals, counts, labels, and a run over the samples."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import iodiag
from evaluation import generated, measure, perturbed, run, simulator, verified
from evaluation.corpus import TROUBLE, cases
from evaluation.said import listen
from evaluation.scores import Counts, wilson
from iodiag.rules import all_rules

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_wilson_s_interval(hits, total, low, high):
    assert wilson(hits, total) == pytest.approx((low, high), abs=1e-4)


def test_counts_make_f1_and_youden_s_index():
    counts = Counts.of(True, True) + Counts.of(True, False) + Counts.of(False, True) + Counts.of(False, False)
    assert counts == Counts(1, 1, 1, 1)
    assert counts.f1 == pytest.approx(0.5)
    assert counts.youden == 0
    assert Counts(3, 0, 1, 4).f1 == pytest.approx(6 / 7)


def test_labels_of_an_experiment(tmp_path):
    truth = {
        "device_of_interest": "md0",
        "expected_verdicts": ["raid-partial-stripe-write"],
        "may_flag": ["true-saturation"],
        "must_not_flag": ["slow-member", "healthy", "write-cache-flush"],
        "verdict_sources": {"raid-partial-stripe-write": ["iostat-x-t.txt"]},
    }
    for name in ("iostat-x-t.txt", "sar.bin", "sar-A.txt", "vmstat.txt", "lsblk.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (case,) = cases([tmp_path])
    assert {route: [p.name for p in files] for route, files in case.routes.items()} == {
        "iostat-x-t.txt": ["iostat-x-t.txt", "vmstat.txt", "lsblk.txt"],
        "sar.bin": ["sar.bin", "lsblk.txt"],
    }
    assert case.trouble is True
    assert case.excluded == {"slow-member", "writeback-burst", "flush-latency"}
    assert case.expected_in("iostat-x-t.txt") == {"raid-partial-stripe-write"}
    assert case.expected_in("sar.bin") == set()


@pytest.mark.parametrize(
    ("verdicts", "confidence", "expected", "any_of", "trouble"),
    [
        (["slow-member"], "high", {"slow-member"}, {"slow-member"}, True),
        (["slow-member"], "low", set(), set(), None),
        (["slow-member", "util-false-alarm"], "high", set(), {"slow-member", "util-false-alarm"}, None),
        (["util-false-alarm"], "high", {"util-false-alarm"}, {"util-false-alarm"}, False),
        (["healthy"], "high", set(), set(), False),
        (["healthy", "unclear"], "high", set(), set(), None),
        (["true-saturation", "healthy"], "high", set(), set(), None),
    ],
)
def test_labels_of_a_posted_capture(tmp_path, verdicts, confidence, expected, any_of, trouble):
    label = {"tool": "iostat", "verdicts": verdicts, "not_expected": [], "confidence": confidence}
    (tmp_path / "label.json").write_text(json.dumps(label))
    (case,) = cases([tmp_path])
    assert (case.expected, case.any_of, case.trouble) == (expected, any_of, trouble)
    if verdicts == ["healthy"]:
        assert case.excluded == TROUBLE


def test_the_samples_are_told_rightly():
    said = list(listen(cases([SAMPLES])))
    assert len(said) >= 5
    for item in said:
        assert item.case.expected <= item.fired_here(), item.case.name
        assert not item.case.excluded & item.fired(), item.case.name
        assert not (item.case.trouble is False and item.is_warned), item.case.name
    own, _, *alerts = measure.alarm_figures(said)
    assert own.counts.f1 == 1
    assert all(own.counts.f1 >= alert.counts.f1 for alert in alerts)
    page = run.figures(said, [], with_plateaus=False)
    assert "| `slow-member` |" in page


def test_precision_and_f1_follow_from_the_prevalence():
    # recall 0.8, one false alarm in ten
    counts = Counts(8, 9, 2, 81)
    assert counts.precision_at(0.5) == pytest.approx(0.4 / 0.45)
    assert counts.precision_at(0.1) == pytest.approx(0.08 / 0.17)
    f1, low, high = counts.f1_at(0.1)
    assert f1 == pytest.approx(2 * (0.08 / 0.17) * 0.8 / (0.08 / 0.17 + 0.8))
    assert low < f1 < high
    # where the cases are mixed as they were measured, nothing is to be weighted
    assert counts.f1_at(0.1)[0] == pytest.approx(counts.f1)
    assert counts.f1_at(0.5)[0] > counts.f1


def test_the_simulator_counts_what_happens():
    arrived = np.array([0.5, 0.6, 1.9, 2.0])
    served = simulator.serve(
        arrived, np.array([0.2, 0.2, 0.6, 0.1]), 1, np.full(4, 8.0), np.array([True, False, True, True])
    )
    assert served.begun == pytest.approx([0.5, 0.7, 1.9, 2.5])
    rows = simulator.counted(served, 3)
    assert [(row.reads, row.writes) for row in rows] == [(1, 1), (0, 0), (2, 0)]
    assert [row.read_ms for row in rows] == pytest.approx([200, 0, 600])
    assert rows[0].write_ms == pytest.approx(300)
    assert [row.read_kb for row in rows] == [8, 0, 16]
    assert [row.util for row in rows] == pytest.approx([0.4, 0.1, 0.6])
    # two requests are there from 0.6 to 0.7 and from 2.0 to 2.5
    assert [row.in_flight for row in rows] == pytest.approx([0.5, 0.1, 1.1])


def test_two_servers_serve_two():
    served = simulator.serve(np.zeros(3), np.ones(3), 2, np.ones(3), np.ones(3, dtype=bool))
    assert sorted(served.begun) == [0, 0, 1]
    assert served.wait == pytest.approx(1 / 3)


def test_generated_cases_are_healthy_by_their_own_queue_and_labelled_as_generated(tmp_path):
    generated.write(tmp_path, 1)
    found = list(cases([tmp_path]))
    assert {case.origin for case in found} == {f"generated: {kind}" for kind in generated.KINDS}
    assert all(case.trouble is False and case.excluded == TROUBLE for case in found)
    said = list(listen(found))
    page = run.figures(said[:1], said[1:], with_plateaus=False)
    assert "| a network volume | 1 | 0 | 0 | 1 |" in page, "util is above 80 %, nothing is wrong"
    assert "4 of 4 cases are healthy (100 %)" in page


def test_a_busy_queue_is_no_healthy_case():
    rng = np.random.default_rng(1)
    served = simulator.serve(
        np.sort(rng.random(90) * 32), np.full(90, 0.3), 1, np.ones(90), np.ones(90, bool)
    )
    assert not generated.Drawn(served, 1, {}, "").is_healthy


def test_a_folder_without_cases_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run.main([str(tmp_path)])
    assert "no case" in capsys.readouterr().err


CASES = sorted(path.parent for path in (SAMPLES / "cases").glob("*/case.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_a_disturbed_capture_never_gets_an_all_clear_or_another_cause(folder):
    found = list(perturbed.outcomes([folder]))
    assert len(found) >= 25
    # silence that flushes explain is a full queue where none are counted
    found = [one for one in found if not (one.change.startswith("without flush") and "saturated" in one.said)]
    assert not [(one.change, one.said) for one in found if one.became not in ("kept", "weaker")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", ["misaligned partition", "failing disk", "slow NFS mount", "write cliff"]
)
def test_a_disturbed_capture_of_the_exam_does_neither(mechanism):
    found = list(perturbed.of_exam(41, [mechanism]))
    assert len(found) >= 10
    assert not [(one.change, one.said) for one in found if one.became not in ("kept", "weaker")]
    assert not list(perturbed.of_exam(41, ["thin pool nearly full"])), "no trouble yet, whatever is disturbed"


def test_a_verdict_that_turns_round_is_noticed():
    busy = iodiag.analyze(SAMPLES / "cases" / "raid5-small-writes")
    calm = iodiag.analyze(SAMPLES / "cases" / "healthy")
    slow = iodiag.analyze(SAMPLES / "cases" / "slow-member")
    assert perturbed.became(busy, calm, frozenset()) == "all-clear"
    assert perturbed.became(busy, slow, frozenset({"raid-partial-stripe-write"})) == "other cause"
    assert perturbed.became(busy, slow, frozenset({"slow-member"})) == "weaker"
    assert perturbed.became(busy, busy, frozenset({"raid-partial-stripe-write"})) == "kept"


def test_a_rule_is_verified_by_what_shows_it():
    posts, lab = verified.in_captures(listen(cases([SAMPLES / "cases" / "slow-member"])))
    assert (posts, lab) == ({}, {"slow-member": {"slow-member"}})
    assert verified.in_simulation(["slow member"]) == {"slow-member": {"slow member"}}
    # a cause that one host cannot be sure of leads a verdict that is left open
    led = verified.in_simulation(["slower at the same load"])
    assert led == {"backend-latency-shift": {"slower at the same load"}}
    assert [verified.verdict(*counts) for counts in ((2, 1, 1), (0, 1, 1), (0, 0, 1), (0, 0, 0))] == [
        *("real posts", "lab", "simulation", "literature only")
    ]


def test_the_page_lists_every_rule_with_what_verifies_it():
    """What the samples show is a part of what the page was made from."""
    text = (SAMPLES.parent / "docs" / "evaluation.md").read_text(encoding="utf-8")
    made = text.partition(verified.BEGIN)[2].partition(verified.END)[0]
    rows = re.findall(
        r"^\| \[`([\w-]+)`\]\(rules/\1\.md\) \| ([\w ]+) \| (\S+) \| (\S+) \| (.+) \|$", made, re.M
    )
    assert [rule for rule, *_ in rows] == list(all_rules())
    for _, word, *counts, simulated in rows:
        posts, in_lab = (0 if count == "–" else int(count) for count in counts)
        assert word == verified.verdict(posts, in_lab, simulated != "–")
    wanted = {rule for case in cases([SAMPLES / "cases"]) for rule in case.expected}
    assert wanted <= {rule for rule, _, _, in_lab, _ in rows if in_lab != "–"}
