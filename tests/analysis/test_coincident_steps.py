"""Columns that stepped in some samples: shown where they did, and hardly ever where they did not."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest

import iodiag
from iodiag.analysis.host.other_changes import MOST_MOVES, with_moves
from iodiag.analysis.measure.coincident_steps import coincident_steps
from iodiag.model.finding import Finding
from views import view_of
from writers.captures import banner, clock, iostat
from writers.loads import load

OTHERS = 50


def wandering(kind, random, count):
    """A column that has nothing to do with anything else."""
    noise = random.normal(size=count)
    if kind == "memory":
        for at in range(1, count):
            noise[at] += 0.8 * noise[at - 1]
    shapes = {
        "even": 10 + noise,
        "memory": noise,
        "walk": np.cumsum(noise),
        "drift": np.arange(count) / 2 + noise,
        "skewed": np.exp(noise),
        "rounded": np.round(2 + 0.3 * noise),
        "bursts": (random.random(count) < 0.05) * random.exponential(50, count),
        "level": 10 + noise / 2 + 8 * (np.arange(count) >= random.integers(count)),
        "daily": 10 + 5 * np.sin(np.arange(count) * 2 * np.pi / count) + noise / 2,
    }
    return shapes[kind]


QUIET = ("even", "memory", "walk", "drift", "rounded", "daily")
RESTLESS = (*QUIET, "skewed", "bursts", "level")


def trial(seed, kinds, count, runs, size=12):
    """What is said of one column that steps in some runs of samples and fifty that do not."""
    random = np.random.default_rng(seed)
    hit = np.zeros(count, dtype=bool)
    for length in runs:
        first = random.integers(5, count - length - 5)
        hit[first : first + length] = True
    others = [wandering(kinds[n % len(kinds)], random, count) for n in range(OTHERS)]
    true = 10 + random.normal(size=count) + size * hit
    return [step.column for step in coincident_steps(np.array([*others, true]), hit)]


@pytest.mark.parametrize(
    ("kinds", "count", "runs", "least"),
    [
        (QUIET, 144, (10,), 0.95),
        (QUIET, 144, (1,), 0.95),
        (RESTLESS, 144, (5,), 0.0),
        (RESTLESS, 60, (6,), 0.0),
        pytest.param(QUIET, 600, (60,), 0.95, marks=pytest.mark.slow),
        pytest.param(RESTLESS, 600, (60,), 0.9, marks=pytest.mark.slow),
        pytest.param(RESTLESS, 400, (4, 9, 30), 0.9, marks=pytest.mark.slow),
    ],
)
def test_over_200_seeds_hardly_a_row_is_false(kinds, count, runs, least):
    said = [trial(seed, kinds, count, runs) for seed in range(200)]
    true = sum(OTHERS in columns for columns in said)
    false = sum(column != OTHERS for columns in said for column in columns)
    assert true >= least * 200
    assert false <= max(0.02 * (true + false), 2)


def jobs(seed, count, length, programs):
    """What is said of programs that run once, of any length, and of a last one that runs exactly then."""
    random = np.random.default_rng(seed)
    first = random.integers(5, count - length - 5)
    data = np.zeros((programs + 1, count))
    for row in data[:-1]:
        long = random.integers(1, count // 4)
        at = random.integers(1, count - long)
        row[at : at + long] = random.uniform(1, 100)
    data[-1, first : first + length] = 50
    return [step.column for step in coincident_steps(data, data[-1] > 0)]


@pytest.mark.parametrize(
    ("count", "length", "programs", "least"), [(60, 10, 1, 0.7), (150, 8, 3, 0.5), (300, 20, 10, 0.9)]
)
def test_a_program_that_runs_exactly_then_is_shown_and_hardly_ever_another(count, length, programs, least):
    said = [jobs(seed, count, length, programs) for seed in range(100)]
    assert sum(programs in columns for columns in said) >= least * 100
    assert sum(column != programs for columns in said for column in columns) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("runs", [(10,), (4, 9, 30)])
def test_without_any_step_next_to_nothing_is_said(runs):
    said = [trial(seed, RESTLESS, 300, runs, size=0) for seed in range(200)]
    assert sum(map(bool, said)) <= 4


def test_the_level_and_the_size_are_those_of_the_step():
    random = np.random.default_rng(1)
    data = np.array([100 + random.normal(size=200), random.normal(size=200)])
    hit = np.arange(200) // 8 == 10
    data[0, hit] -= 60
    (step,) = coincident_steps(data, hit)
    assert step.column == 0
    assert step.inside == pytest.approx(40, abs=2)
    assert step.beside == pytest.approx(100, abs=2)
    assert step.size < -20


@pytest.mark.parametrize(
    "hit",
    [np.ones(100, bool), np.zeros(100, bool), np.arange(100) < 60, np.arange(100) % 2 == 0],
    ids=["all", "none", "most", "every other"],
)
def test_samples_that_leave_nothing_to_compare_with_say_nothing(hit):
    random = np.random.default_rng(1)
    assert coincident_steps(random.normal(size=(5, 100)) + 50 * hit, hit) == []


def test_a_series_too_short_and_columns_with_gaps_say_nothing():
    hit = np.arange(11) == 5
    assert coincident_steps(np.where(hit, 9.0, np.arange(11) % 2)[None, :], hit) == []
    data = np.random.default_rng(1).normal(size=(1, 200)) + 50 * (np.arange(200) == 90)
    data[0, 10] = np.nan
    assert coincident_steps(data, np.arange(200) == 90) == []


FIRST, LAST = 90, 99


def capture(steps=("sdb",)):
    """Disks that all answer in 1 ms but sda, which stalls; those of `steps` do ten times as much then."""
    random = np.random.default_rng(7)
    samples = []
    for at in range(200):
        is_then = FIRST <= at <= LAST
        rates = {disk: random.normal(100, 5) for disk in ("sda", "sdb", "sdc")}
        rates |= {disk: 10 * rates[disk] for disk in steps if is_then}
        samples.append(
            {
                disk: load(rate, 40.0 if disk == "sda" and is_then else random.normal(1, 0.05))
                for disk, rate in rates.items()
            }
        )
    return iostat(samples, cpu={"%user": 5.0, "%idle": 95.0})


def moved(text, **changes):
    about = Finding("r", "warning", "high", "t", "s", role="cause", devices=("sda",), samples=(FIRST, LAST))
    ((found,), _) = with_moves(view_of(text), [dataclasses.replace(about, **changes)])
    return found.moved


def test_another_disk_that_stepped_then_is_shown_with_its_levels():
    moves = moved(capture())
    assert {(m.table, m.name) for m in moves} == {("disk", "sdb")}
    assert {"ios_per_s", "kb_per_s"} <= {m.quantity for m in moves}
    rate = next(m for m in moves if m.quantity == "ios_per_s")
    assert (rate.beside, rate.during) == (pytest.approx(100, rel=0.1), pytest.approx(1000, rel=0.1))


def test_columns_of_another_input_are_found_by_their_times():
    names = "r b swpd free buff cache si so bi bo in cs us sy id wa st"
    random = np.random.default_rng(3)
    groups = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
    lines = [f"{groups} -----timestamp-----", f" {names}                 UTC"]
    for at in range(2, 200):
        switches = random.normal(2000, 40) * (8 if FIRST <= at <= LAST else 1)
        when = f"2026-11-20 13:{(at + 1) // 60:02}:{(at + 1) % 60:02}"
        lines.append(f"1 0 0 9000 0 0 0 0 0 0 900 {switches:.0f} 5 1 94 0 0 {when}")
    vmstat = "\n".join(lines) + "\n"
    about = Finding("r", "warning", "high", "t", "s", role="cause", devices=("sda",), samples=(FIRST, LAST))
    ((found,), _) = with_moves(view_of(capture(steps=()), vmstat), [about])
    assert [(m.table, m.quantity) for m in found.moved] == [("system", "context_switches_per_s")]


def pidstat():
    """Samples of processes beside those of `capture`: a server at all times, and a copy that runs then."""
    lines = []
    for at in range(200):
        began, ended = (clock(second) for second in (at, at + 1))
        lines.append(f"{began}      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command")
        lines.append(
            f"{ended}      112      2871   {3200 + at % 7:.2f}   {800 + at % 5:.2f}      0.00       1  mysqld"
        )
        if FIRST <= at <= LAST:
            lines += [
                f"{ended}        0      {pid}  45000.00      0.00      0.00      40  rsync" for pid in (7, 8)
            ]
        lines.append("")
    return banner() + "\n".join(lines)


def test_processes_of_one_name_that_ran_then_are_shown_together_by_the_clock_of_their_listing():
    about = Finding("r", "warning", "high", "t", "s", role="cause", devices=("sda",), samples=(FIRST, LAST))
    ((found,), drawn) = with_moves(view_of(capture(steps=()), pidstat()), [about])
    (move,) = found.moved
    assert (move.table, move.name, move.quantity) == ("process", "rsync", "read_kb_per_s")
    assert (move.beside, move.during) == (0, 90000)
    (series,) = drawn
    assert sum(value > 0 for value in series.columns["read_kb_per_s"]) == LAST - FIRST + 1


def test_kinds_of_event_that_began_then_are_shown_with_their_count():
    log = [
        f"Nov 20 13:01:{second} box kernel: [  90{second}.0] ata3: hard resetting link" for second in (32, 35)
    ]
    log += [
        f"Nov 20 13:0{minute}:10 box kernel: [  9{minute}00.0] nvme nvme0: I/O 3 QID 2 timeout, aborting"
        for minute in (0, 1, 2, 3)
    ]
    about = Finding("r", "warning", "high", "t", "s", role="cause", devices=("sda",), samples=(FIRST, LAST))
    ((found,), drawn) = with_moves(view_of(capture(steps=()), "\n".join(sorted(log)) + "\n"), [about])
    assert [(m.table, m.name, m.quantity, m.beside, m.during) for m in found.moved] == [
        ("events", "ata3", "reset", 0, 2)
    ]
    assert sum(drawn[0].columns["reset"]) == 2


def test_the_findings_own_device_and_what_did_not_step_are_not_shown():
    assert moved(capture(steps=())) == ()
    assert moved(capture(), devices=("sda", "sdb")) == ()


def test_readings_and_troubles_of_the_whole_capture_have_no_moment():
    assert moved(capture(), role="reading") == ()
    assert moved(capture(), samples=(0, 199)) == ()
    assert moved(capture(), samples=None) == ()


def test_a_trouble_of_the_host_is_found_by_its_times():
    view = view_of(capture())
    times = view.devices[0].samples["time"]
    span = {"start": times[FIRST].isoformat(), "end": times[LAST].isoformat()}
    about = Finding("r", "warning", "high", "t", "s", role="symptom", **span)
    ((found,), _) = with_moves(view, [about])
    assert "sdb" in {move.name for move in found.moved}
    assert len(found.moved) <= MOST_MOVES


def test_a_report_shows_them_and_keeps_names_to_itself():
    capture_read = iodiag.read(io.BytesIO(capture().encode()), name="c.txt")
    report = iodiag.analyze([capture_read])
    finding = next(f for f in report.findings if f.moved)
    assert "What else moved then" in report.to_html()
    (stored,) = [f for f in json.loads(report.to_json())["findings"] if f["rule"] == finding.rule]
    assert stored["moved"] == [dataclasses.asdict(move) for move in finding.moved]
    hidden = iodiag.anonymized(report, [capture_read])
    assert "sdb" not in hidden.to_json()
    assert [m.quantity for f in hidden.findings for m in f.moved][: len(finding.moved)]
