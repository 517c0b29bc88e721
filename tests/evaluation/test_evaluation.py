"""The measuring itself is right: intervals, counts, labels, and a run over the samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation import measure, run
from evaluation.corpus import TROUBLE, cases
from evaluation.said import listen
from evaluation.scores import Counts, wilson

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
    page = run.figures(said, with_plateaus=False)
    assert "| `slow-member` |" in page


def test_a_folder_without_cases_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run.main([str(tmp_path)])
    assert "no case" in capsys.readouterr().err
