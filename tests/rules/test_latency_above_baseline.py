from __future__ import annotations

import io
from dataclasses import replace

import pytest

import iodiag
from writers import capture_writer as writer
from writers.archives import between, disk, load_of, nightly
from writers.scenarios import lsblk

RULE = "latency-above-baseline"


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcomes(report):
    return {(o.status, o.devices): o.reason for o in report.outcomes if o.rule == RULE}


def archive(days=6, **options):
    return writer.iostat(load_of(disk(days, step=1200.0, **options)))


SLOW = archive(slower=between(98, 105, 5.0), devices=("sda", "sdb"))
"""Friday from two to nine; the archive begins on Friday the week before, as the writer dates it."""


def test_a_slow_night_fires_with_its_hours_and_both_figures(report_of):
    report = report_of(SLOW, rules=[RULE])
    assert [f.devices for f in report.findings] == [("sda", "sdb")]
    finding = report.findings[0]
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    values = finding.evidence[0].values
    assert (values["start"], values["end"], values["hours"]) == ("2026-11-24 02:00", "2026-11-24 09:00", 7)
    # against requests that waited for as many others
    assert 3.0 < values["ratio"] < 5.2
    assert finding.start == "2026-11-24T02:20:00"
    assert finding.end == "2026-11-24T09:00:00"
    assert finding.evidence[1].values["windows"] >= 3
    assert finding.evidence[1].rows >= 5 * 7 * 3, "what is normal rests on the same hours of other days"


def test_what_lasts_to_the_end_has_none(report_of):
    finding = only(report_of(archive(slower=between(138, 200, 4.0)), rules=[RULE]))
    assert "until" not in finding.summary
    assert "From 2026-11-25 18:00 sda took" in finding.summary


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"slower": between(98, 106, 1.4)},
        {"slower": between(98, 99, 4.0)},
        {"demand": between(98, 106, 2.5)},
        {"slower": nightly(1, 4, 4.0)},
        {"slower": nightly(1, 4, 4.0, since=72)},
    ],
    ids=["healthy", "near miss", "one hour", "the load grew", "a backup every night", "half of the nights"],
)
def test_what_is_normal_or_explained_stays_clear(report_of, options):
    report = report_of(archive(**options), rules=[RULE])
    assert only(report) is None
    assert set(outcomes(report)) == {("clear", ("sda",))}


def test_what_recurs_is_said_to_be_taken_as_normal(report_of):
    report = report_of(archive(8, slower=nightly(1, 4, 4.0, since=120)), rules=[RULE])
    assert "several days" in outcomes(report)["clear", ("sda",)]
    assert "01:00" in outcomes(report)["clear", ("sda",)]


def test_two_nights_are_no_habit(report_of):
    assert only(report_of(archive(slower=nightly(1, 4, 4.0, since=96)), rules=[RULE])) is not None


def test_four_days_teach_nothing(report_of):
    report = report_of(archive(4, slower=between(50, 58, 4.0)), rules=[RULE])
    ((status, _),) = outcomes(report)
    assert status == "not_applicable"
    assert "5 days" in outcomes(report)[status, ()]


def test_a_device_without_hours_of_work_is_undetermined(report_of):
    busy = load_of(disk(6, step=1200.0))
    report = report_of(writer.iostat(busy.beside("sdx")), rules=[RULE])
    assert set(outcomes(report)) == {("clear", ("sda",)), ("undetermined", ("sdx",))}


def test_seeks_on_a_spinning_disk_are_an_alternative(report_of):
    plain = only(report_of(archive(slower=between(98, 106, 4.0)), rules=[RULE]))
    spinning = only(
        report_of(archive(slower=between(98, 106, 4.0)), lsblk(["sda"], spins=True), rules=[RULE])
    )
    assert [e.weighs for e in plain.evidence].count("against") == 0
    assert [e.weighs for e in spinning.evidence].count("against") == 1


def test_it_takes_the_place_of_a_step_that_knows_no_hours(report_of):
    slow = load_of(disk(6, step=1200.0, slower=between(100, 200, 3.0)))
    flat = [{"sda": replace(row["sda"], reads=900.0, read_kb=14400.0)} for row in slow.samples]
    report = report_of(writer.iostat(replace(slow, samples=flat)))
    rules = {f.rule for f in report.findings}
    assert RULE in rules
    assert "backend-latency-shift" not in rules


def test_an_archive_of_sadc_says_the_same():
    load = load_of(disk(6, step=1200.0, slower=between(98, 105, 5.0)))
    capture = iodiag.read(io.BytesIO(writer.sar(load, {"sda": (8, 0)})), name="sa")
    finding = only(iodiag.analyze([capture], rules=[RULE]))
    assert finding.devices == ("dev8-0",)
    assert finding.evidence[0].values["hours"] == 7
    assert finding.evidence[0].values["ratio"] > 2.5


def test_what_changed_is_said_to_the_sample(report_of):
    finding = only(report_of(SLOW, rules=[RULE], devices=["sda"]))
    (began,) = [item for item in finding.evidence if item.text.startswith("it began")]
    assert began.text.startswith("it began at 02:20:00: sda answers more slowly")
    assert began.weighs == "context"
