from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

import iodiag
from writers import capture_writer as writer
from writers.archives import between, disk, load_of, nightly, same

RULE = "recurring-window"
SAMPLES_A_DAY = 72


def steady(days, *, demand=same, **options):
    """A disk that reads 6 MB/s all day; `archives.disk` by itself has full afternoons."""

    def level(hours):
        by_day = np.clip(np.sin((hours % 24 / 24 - 0.3) * 2 * np.pi), 0, None)
        return 0.04 / (0.1 + 0.4 * by_day) * demand(hours)

    return load_of(disk(days, step=1200.0, demand=level, **options))


def at(first, last, factor=9.0, days=lambda day: True, period=24):
    """The factor in some hours of the day, or of the week, on the days that count."""

    def of_hours(hours):
        is_day = np.array([days(int(day)) for day in hours // 24])
        inside = (hours % period >= first) & (hours % period < last)
        return np.where(inside & is_day, factor, 1.0)

    return of_hours


def written(load):
    """The same load with writes in place of reads."""
    none = {"reads": 0.0, "read_kb": 0.0, "read_ms": 0.0}
    rows = [
        {
            n: replace(r, writes=r.reads, write_kb=r.read_kb, write_ms=r.read_ms, **none)
            for n, r in each.items()
        }
        for each in load.samples
    ]
    return replace(load, samples=rows)


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def outcomes(report):
    return {(o.status, o.devices) for o in report.outcomes if o.rule == RULE}


def of_files(*texts):
    captures = [iodiag.read(io.BytesIO(text.encode()), name=f"sa{n}") for n, text in enumerate(texts)]
    return iodiag.analyze(captures, rules=[RULE])


def test_a_backup_every_night_is_named_with_its_hours(report_of):
    (finding,) = found(report_of(writer.iostat(steady(7, demand=at(2, 4))), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "high")
    values = finding.evidence[0].values
    assert (values["begin"], values["end"], values["count"], values["of"]) == ("02:00", "04:00", 7, 7)
    assert values["value"] == pytest.approx(9 * values["usual"], rel=0.2)
    assert "sda reads" in finding.summary
    assert "raid-check" in finding.cannot_know[0]
    assert finding.start.startswith("2026-11-26T02"), "the last night, for which the journal is asked"
    assert "systemctl list-timers --all" in finding.confirm


def test_writes_across_midnight_are_one_window(report_of):
    late = written(steady(6, demand=lambda hours: at(23, 24)(hours) * at(0, 1)(hours)))
    (finding,) = found(report_of(writer.iostat(late), rules=[RULE]))
    values = finding.evidence[0].values
    assert (values["begin"], values["end"]) == ("23:00", "01:00")
    assert "sda writes" in finding.summary
    assert "dump" in finding.cannot_know[0]


def test_the_same_hour_of_a_weekday_takes_four_weeks(report_of):
    # the archive begins on a Friday
    (finding,) = found(report_of(writer.iostat(steady(28, demand=at(25, 27, period=168))), rules=[RULE]))
    assert "Between 01:00 and 03:00 on 4 of 4 Saturdays sda reads" in finding.summary
    assert not found(report_of(writer.iostat(steady(21, demand=at(25, 27, period=168))), rules=[RULE]))


def test_what_only_takes_long_at_that_hour_is_a_notice(report_of):
    slow = steady(7, slower=nightly(2, 4, 20.0))
    (finding,) = found(report_of(writer.iostat(slow), rules=[RULE]))
    assert finding.severity == "notice"
    assert "ms a request, usually 0.4 ms" in finding.summary
    assert "another host" in finding.cannot_know[0]


def test_two_windows_of_a_day_are_two_findings_and_two_disks_of_one_window_are_one(report_of):
    both = steady(7, demand=lambda h: at(2, 4)(h) * at(14, 15)(h), devices=("sda", "sdb"))
    first, second = found(report_of(writer.iostat(both), rules=[RULE]))
    assert {*first.devices} == {*second.devices} == {"sda", "sdb"}
    assert {f.evidence[0].values["begin"] for f in (first, second)} == {"02:00", "14:00"}


@pytest.mark.parametrize(
    ("days", "on", "count", "of"),
    [(4, lambda day: day > 0, 3, 4), (14, lambda day: day % 7 < 5, 10, 14)],
    ids=["three of four", "working days"],
)
def test_most_days_are_enough(report_of, days, on, count, of):
    (finding,) = found(report_of(writer.iostat(steady(days, demand=at(2, 3, days=on))), rules=[RULE]))
    values = finding.evidence[0].values
    assert (values["count"], values["of"]) == (count, of)


def test_a_gap_in_the_archive_counts_neither_way():
    """The days of an archive are files of their own, and one night nobody collected."""
    load = steady(7, demand=at(2, 4))
    parts = [load.part(day * SAMPLES_A_DAY, (day + 1) * SAMPLES_A_DAY) for day in range(7)]
    parts[3] = parts[3].part(15, SAMPLES_A_DAY)
    (finding,) = found(of_files(*map(writer.iostat, parts)))
    assert (finding.evidence[0].values["count"], finding.evidence[0].values["of"]) == (6, 6)
    # the file of sadc has the same
    capture = iodiag.read(io.BytesIO(writer.sar(load, {"sda": (8, 0)})), name="sa")
    assert "7 days dev8-0 reads" in found(iodiag.analyze([capture], rules=[RULE]))[0].summary


@pytest.mark.parametrize(
    "load",
    [
        load_of(disk(7, step=1200.0)),
        steady(7, demand=at(8, 18)),
        steady(7, demand=between(50, 52, 9.0)),
        steady(7, demand=at(2, 4, days=lambda day: day in (1, 4))),
        steady(7, demand=at(2, 4, factor=2.0)),
        steady(7, demand=between(80, 999, 9.0)),
        steady(7, slower=nightly(2, 4, 4.0)),
    ],
    ids=["a daily curve", "working hours", "one night", "two nights", "twice", "a growing load", "not felt"],
)
def test_what_else_happens_in_a_week_is_clear(report_of, load):
    report = report_of(writer.iostat(load), rules=[RULE])
    assert not found(report)
    assert outcomes(report) == {("clear", ("sda",))}


def test_hours_at_random_agree_by_chance_alone(report_of):
    rng = np.random.default_rng(5)
    for _ in range(4):
        busy = rng.random(24 * 7) < 0.15
        load = steady(7, demand=lambda hours, busy=busy: np.where(busy[hours.astype(int)], 9.0, 1.0))
        assert not found(report_of(writer.iostat(load), rules=[RULE]))


def test_three_days_show_no_habit(report_of):
    report = report_of(writer.iostat(steady(3, demand=at(2, 4))), rules=[RULE])
    assert outcomes(report) == {("not_applicable", ())}
