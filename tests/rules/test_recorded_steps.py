"""Recorded captures of changes, changed a little: the cause stays the same and comes first."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from random import Random

import pytest

import iodiag
from iodiag.model.finding import CONFIDENCES
from writers import capture_writer as writer
from writers.capture_writer import Load, Row, Style
from writers.recorded import load_of, merged, scaled, without

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[2] / "samples" / "cases"
RULES = {
    "lost-write-cache": "write-cache-lost",
    "full-write-cache": "sustained-write-cliff",
    "first-touch": "first-touch-penalty",
    "stall-of-all-disks": "common-cause-stall",
}
MINORS = {"sda": (8, 0), "sdb": (8, 16), "sdc": (8, 32), "sdd": (8, 48), "vda": (254, 0)}


@cache
def recorded(case: str) -> Load:
    return load_of(iodiag.read(CASES / case / "iostat.txt"))


def dropped(load: Load, seed: int) -> Load:
    rng = Random(seed)
    return without(load, [n for n in range(len(load.samples)) if rng.random() < 0.2])


def middle(load: Load) -> Load:
    return load.part(len(load.samples) // 8, len(load.samples) * 7 // 8)


CHANGES = {
    "half the latency": lambda load: scaled(load, 0.5),
    "twice the latency": lambda load: scaled(load, 2),
    "the middle": middle,
    "every 2 s": lambda load: merged(load, 2),
    "every 5 s": lambda load: merged(load, 5),
    "samples missing": lambda load: dropped(load, 1),
    "other samples missing": lambda load: dropped(load, 2),
    "twice as slow, every 3 s": lambda load: merged(scaled(load, 2), 3),
}


def assert_named(rule: str, capture: bytes) -> None:
    report = iodiag.analyze([iodiag.read(io.BytesIO(capture), name="capture")], tz="UTC")
    said = [finding for finding in report.findings if finding.rule in RULES.values()]
    assert [finding.rule for finding in said] == [rule]
    assert report.findings[0].rule == rule
    assert CONFIDENCES.index(said[0].confidence) >= CONFIDENCES.index("medium")


@pytest.mark.parametrize("case", RULES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_recording_has_the_same_cause(case, change):
    assert_named(RULES[case], writer.iostat(CHANGES[change](recorded(case))).encode())


@pytest.mark.parametrize("case", RULES)
def test_sadc_s_file_names_it_as_well(case):
    load = merged(recorded(case), 2)
    minors = {name: MINORS[name] for name in load.samples[0]}
    assert_named(RULES[case], writer.sar(load, minors))


@pytest.mark.parametrize("case", RULES)
@pytest.mark.parametrize("layout", ["X3", "X4", "X5"])
def test_old_layouts_with_latencies_by_direction_name_it(case, layout):
    assert_named(RULES[case], writer.iostat(recorded(case), Style(layout)).encode())


@pytest.mark.parametrize("case", RULES)
def test_before_it_happened_none_of_them_is_named(case):
    load = recorded(case)
    calm = load.part(0, 14) if case != "first-touch" else load.part(len(load.samples) // 2, len(load.samples))
    report = iodiag.analyze([iodiag.read(io.BytesIO(writer.iostat(calm).encode()), name="capture")])
    assert not {finding.rule for finding in report.findings} & set(RULES.values())


def noisy(seed: int, devices: int, samples: int) -> Load:
    """Loads and latencies that go up and down at random, each device by itself."""
    rng = Random(seed)

    def row() -> Row:
        reads, writes = rng.uniform(5, 60), rng.uniform(5, 60)
        read, write = rng.lognormvariate(1, 0.8), rng.lognormvariate(0.5, 0.8)
        util = min(1.0, (reads * read + writes * write) / 1500)
        return Row(reads, writes, reads * 16, writes * 256, read, write, util=util)

    return Load([{f"sd{chr(97 + n)}": row() for n in range(devices)} for _ in range(samples)], step=600)


@pytest.mark.parametrize(("devices", "samples"), [(20, 8), (20, 20), (20, 144), (2, 4000)])
def test_noise_has_none_of_these_causes(devices, samples):
    text = writer.iostat(noisy(samples, devices, samples))
    report = iodiag.analyze([iodiag.read(io.BytesIO(text.encode()), name="capture")], rules=[*RULES.values()])
    assert not report.findings
