"""How a load was printed changes no verdict: less information may weaken one, never turn it round."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import iodiag
from iodiag.model.report import Report
from iodiag.rules import of_role
from property_tests import examples
from writers import capture_writer as writer
from writers.capture_writer import Load, Row, Style
from writers.recorded import load_of
from writers.scenarios import SCENARIOS, Scenario, lsblk, steady, together

READING = {*of_role("reading"), "stack-double-count"}
"""Rules on how to read a layout or an interval: what they say belongs to the printing, not to the load."""

LOAD_CLASSES = {"util-false-alarm", "approaching-saturation", "true-saturation"}

Verdicts = dict[tuple[str, str], tuple[str, str]]


def report_of(*captures: str | bytes, context: tuple[str, ...] = ()) -> Report:
    """The report on captures and texts, each an input of its own."""
    inputs = {f"capture-{n}": body for n, body in enumerate(captures)}
    inputs |= {f"context-{n}": body for n, body in enumerate(context)}
    read = [
        iodiag.read(io.BytesIO(body if isinstance(body, bytes) else body.encode()), name=name)
        for name, body in inputs.items()
    ]
    report = iodiag.analyze(read)
    assert not [outcome for outcome in report.outcomes if outcome.status == "error"]
    return report


def verdicts(report: Report, names: Mapping[str, str] | None = None) -> Verdicts:
    """Severity and confidence by rule and device, devices by their names before a renaming."""
    back = {new: old for old, new in (names or {}).items()}
    return {
        (finding.rule, back.get(device, device)): (finding.severity, finding.confidence)
        for finding in report.findings
        if finding.rule not in READING
        for device in finding.devices or ("",)
    }


def superseded(report: Report) -> set[tuple[str, str]]:
    return {(rule, device) for f in report.findings for rule in f.supersedes for device in f.devices}


BASE: dict[str, Report] = {}


def base(name: str) -> Report:
    if name not in BASE:
        scenario = SCENARIOS[name]
        BASE[name] = report_of(writer.iostat(scenario.load), context=scenario.context)
    return BASE[name]


def assert_not_turned(name: str, report: Report, names: Mapping[str, str] | None = None) -> None:
    """Every verdict on the variant stands in the full capture too, or was taken into one there."""
    allowed = set(verdicts(base(name))) | superseded(base(name))
    assert set(verdicts(report, names)) <= allowed


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_earns_its_verdicts(name):
    found = {rule for rule, _ in verdicts(base(name))}
    assert SCENARIOS[name].rules <= found
    if not SCENARIOS[name].rules:
        assert not found


RENAMED = {"sda": "sdk", "sdb": "sdl", "sdc": "sdm", "sdd": "sdn", "md0": "md9"}


def renamed_text(text: str) -> str:
    for old, new in RENAMED.items():
        text = (
            text.replace(f'"{old}"', f'"{new}"').replace(f"{old} ", f"{new} ").replace(f"{old}[", f"{new}[")
        )
    return text


EXACT: dict[str, Callable[[Scenario], Report]] = {
    "sectors": lambda s: report_of(writer.iostat(s.load, Style(unit="sec")), context=s.context),
    "columns reversed": lambda s: report_of(writer.iostat(s.load, Style(reverse=True)), context=s.context),
    "device last": lambda s: report_of(writer.iostat(s.load, Style(device_last=True)), context=s.context),
    "decimal comma": lambda s: report_of(writer.iostat(s.load, Style(comma=True)), context=s.context),
    "idle devices beside": lambda s: report_of(
        writer.iostat(s.load.beside("sdx", "sdy", "sdz")), context=s.context
    ),
    "given twice": lambda s: report_of(*[writer.iostat(s.load)] * 2, context=s.context),
    "given twice, once with a remark": lambda s: report_of(
        writer.iostat(s.load), f"Here it is again:\n\n{writer.iostat(s.load)}", context=s.context
    ),
    "later in the day": lambda s: report_of(
        writer.iostat(replace(s.load, start=s.load.start + 7000)), context=s.context
    ),
    "Windows line ends": lambda s: report_of(writer.iostat(s.load).replace("\n", "\r\n"), context=s.context),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("change", EXACT)
def test_the_same_facts_give_the_same_verdicts(name, change):
    assert verdicts(EXACT[change](SCENARIOS[name])) == verdicts(base(name))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_names_of_devices_do_not_matter(name):
    scenario = SCENARIOS[name]
    context = tuple(renamed_text(text) for text in scenario.context)
    report = report_of(writer.iostat(scenario.load.renamed(RENAMED)), context=context)
    assert verdicts(report, RENAMED) == verdicts(base(name))


LOSSY = {
    "megabytes": Style(unit="MB"),
    "X5, no flushes": Style("X5"),
    "X4": Style("X4"),
    "X3": Style("X3"),
    "X2": Style("X2"),
    "X1": Style("X1"),
    "no merges": Style(without=("rrqm/s", "%rrqm", "wrqm/s", "%wrqm")),
    "no sizes": Style(without=("rareq-sz", "wareq-sz")),
    "no latencies": Style(without=("r_await", "w_await", "f_await")),
    "no queue": Style(without=("aqu-sz",)),
    "no util": Style(without=("%util",)),
    "no rates of bytes": Style(without=("r{U}/s", "w{U}/s")),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("style", LOSSY)
def test_less_to_go_by_never_turns_a_verdict_round(name, style):
    scenario = SCENARIOS[name]
    assert_not_turned(name, report_of(writer.iostat(scenario.load, LOSSY[style]), context=scenario.context))


@pytest.mark.parametrize("name", SCENARIOS)
def test_context_only_adds(name):
    """Without lsblk and mdstat a verdict may go, or be less sure; none turns round."""
    report = report_of(writer.iostat(SCENARIOS[name].load))
    assert_not_turned(name, report)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_window_split_in_two_files(name):
    scenario = SCENARIOS[name]
    cut = len(scenario.load.samples) // 2
    parts = (scenario.load.part(0, cut), scenario.load.part(cut, len(scenario.load.samples)))
    assert_not_turned(name, report_of(*map(writer.iostat, parts), context=scenario.context))
    for part in parts:
        assert_not_turned(name, report_of(writer.iostat(part), context=scenario.context))


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_routes_of_one_load_agree(name):
    """iostat's text and sadc's file: the binary knows less, and says nothing else."""
    scenario = SCENARIOS[name]
    report = report_of(writer.sar(scenario.load, scenario.minors), context=scenario.context)
    names = {name: "dev{}-{}".format(*number) for name, number in scenario.minors.items()}
    assert_not_turned(name, report, {} if scenario.context else names)


@pytest.mark.parametrize("name", ["ladder", "full disk", "small writes on RAID5", "slow leg", "commits"])
@pytest.mark.parametrize("factor", [2, 3])
def test_all_times_multiplied_give_the_same_verdicts(name, factor):
    """A device that does everything at a fraction of the speed has the same trouble.

    It may be slower than any healthy one then, which is about seconds.
    """
    scenario = SCENARIOS[name]
    slower = report_of(writer.iostat(scenario.load.slowed(factor)), context=scenario.context)
    rules = SCENARIOS[name].rules
    assert rules <= {rule for rule, _ in verdicts(slower)}
    kept = tuple(finding for finding in slower.findings if finding.rule != "extreme-latency")
    assert_not_turned(name, replace(slower, findings=kept))


CASES = sorted(path.parent for path in (Path(__file__).parents[1] / "samples" / "cases").glob("*/case.toml"))


RECORDED: dict[str, tuple[Load, tuple[str, ...], Verdicts]] = {}


def recorded(folder: Path) -> tuple[Load, tuple[str, ...], Verdicts]:
    """A case of the samples: its load, the texts beside it, and its verdicts as it was recorded."""
    if folder.name not in RECORDED:
        texts = tuple(
            path.read_text() for path in sorted(folder.glob("*.txt")) if not path.name.startswith("iostat")
        )
        text = (folder / "iostat.txt").read_text()
        load = load_of(iodiag.read(io.BytesIO(text.encode())))
        RECORDED[folder.name] = load, texts, verdicts(report_of(text, context=texts))
    return RECORDED[folder.name]


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_a_recorded_capture_printed_again_says_the_same(folder):
    load, texts, said = recorded(folder)
    for style in (Style(), Style(unit="sec", comma=True, reverse=True)):
        assert set(verdicts(report_of(writer.iostat(load, style), context=texts))) == set(said)


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
@pytest.mark.parametrize(
    "layout", ["X1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("X2", "X3", "X4", "X5"))]
)
def test_a_recorded_capture_in_an_old_layout_turns_nothing_round(folder, layout):
    load, texts, said = recorded(folder)
    # a column less may lose the cause that has replaced what it does to the device
    effects = superseded(report_of(writer.iostat(load), context=texts))
    # silence that flushes explain is a queue where none are counted
    effects |= {("true-saturation", device) for rule, device in said if rule == "flush-latency"}
    assert set(verdicts(report_of(writer.iostat(load, Style(layout)), context=texts))) <= set(said) | effects


SEEDS = sorted((Path(__file__).parents[1] / "samples" / "seeds").glob("*.txt"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_a_seed_given_twice_says_the_same(path):
    assert verdicts(report_of(path.read_text(), path.read_text())) == verdicts(report_of(path.read_text()))


def classes(report: Report, device: str = "sda") -> list[tuple[str, tuple[int, int] | None]]:
    return [(f.rule, f.samples) for f in report.findings if f.rule in LOAD_CLASSES and device in f.devices]


DEPTHS = st.floats(0.3, 200)
RATES = st.floats(20, 20_000)


@st.composite
def steady_loads(draw: st.DrawFn) -> Load:
    """One steady load on one device, reads of one size, util no more than the queue allows."""
    rate, depth = draw(RATES), draw(DEPTHS)
    util = min(1.0, depth) * draw(st.floats(0.7, 1.0))
    size = draw(st.sampled_from([4.0, 16.0, 128.0]))
    row = Row(reads=rate, read_kb=size * rate, read_ms=1000 * depth / rate, util=util)
    return Load(together({"sda": steady(row, 6, draw(st.integers(0, 99)), 0.01)}), step=5)


CONTEXTS = st.sampled_from([(), (lsblk(["sda"], spins=True),), (lsblk(["sda"], spins=False),)])


@examples(25)
@given(steady_loads(), CONTEXTS)
def test_one_load_gets_one_class(load, context):
    """A steady load is a false alarm, near the limit, or beyond it; or none of them, and then it says why."""
    report = report_of(writer.iostat(load), context=context)
    found = classes(report)
    assert len(found) <= 1
    if min(row.util for sample in load.samples for row in sample.values()) >= 0.71 and not found:
        said = {
            outcome.status
            for outcome in report.outcomes
            if outcome.rule in LOAD_CLASSES and "sda" in outcome.devices
        }
        assert said & {"undetermined", "clear"}


@examples(25)
@given(RATES, st.floats(0.3, 2.9), st.floats(0.7, 1.0), CONTEXTS)
def test_util_alone_saturates_nothing(rate, depth, util, context):
    """util says how long a device was not empty: full use of a short queue is no saturation.

    Unless each request takes longer than on any disk: that is harm, whatever util says.
    """
    assume(1000 * depth / rate <= 30)
    row = Row(reads=rate, read_kb=8 * rate, read_ms=1000 * depth / rate, util=util)
    load = Load(together({"sda": steady(row, 6, 1, 0.005)}), step=5)
    assert "true-saturation" not in {
        rule for rule, _ in classes(report_of(writer.iostat(load), context=context))
    }


@examples(25)
@given(st.floats(0.1, 10), st.floats(2, 64), st.floats(1, 2.8), st.floats(0.7, 1.0))
def test_util_does_not_saturate_what_answers_nearly_as_fast_as_alone(alone_ms, depth, inflation, util):
    """With the latency of one request measured, that of many decides, whatever util says."""
    inflation = min(inflation, depth)
    one = Row(reads=900 / alone_ms, read_kb=7200 / alone_ms, read_ms=alone_ms, util=0.9)
    rate = 1000 * depth / (inflation * alone_ms)
    many = Row(reads=rate, read_kb=8 * rate, read_ms=inflation * alone_ms, util=util)
    load = Load(together({"sda": steady(one, 6, 1, 0.005) + steady(many, 6, 2, 0.005)}), step=5)
    assert "true-saturation" not in {rule for rule, _ in classes(report_of(writer.iostat(load)))}
