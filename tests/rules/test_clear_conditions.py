"""Clear is a claim: it is said only of what the capture could have shown."""

from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Needs, Rule, ToClear
from iodiag.rules.clear_conditions import not_ruled_out, revoke_unproven_clear
from views import view_of
from writers.captures import iostat, vmstat
from writers.loads import load

BUSY = load(100, 8, size=8)


def rule(role="cause", needs=None, **needed) -> Rule:
    table = needs or {"disk": ("await_ms|read_await_ms",)}
    return Rule(
        "r",
        "R",
        "",
        (),
        Needs((table,)),
        lambda view, limits: iter(()),
        role=role,
        to_clear=ToClear(**needed),
    )


def cleared(text: str, rule: Rule, *devices: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Status, devices and reason of what becomes of a clear."""
    outcome = Outcome("r", "clear", devices, "nothing seen")
    return [
        (one.status, one.devices, one.reason) for one in revoke_unproven_clear(outcome, rule, view_of(text))
    ]


def undetermined(text: str, rule: Rule) -> str:
    """Why the device is not cleared."""
    ((status, devices, reason),) = cleared(text, rule, "sda")
    assert (status, devices) == ("undetermined", ("sda",))
    return reason


def test_enough_samples_clear():
    assert cleared(iostat([{"sda": BUSY}] * 3), rule(), "sda") == [("clear", ("sda",), "nothing seen")]


@pytest.mark.parametrize(
    ("samples", "reason"),
    [(1, "too few samples: 1; at least 3 are needed"), (2, "too few samples: 2; at least 3 are needed")],
)
def test_a_sample_or_two_clear_nothing_that_changes(samples, reason):
    assert undetermined(iostat([{"sda": BUSY}] * samples), rule()) == reason


def test_one_sample_clears_what_one_sample_shows():
    assert cleared(iostat([{"sda": BUSY}]), rule(samples=1), "sda")[0][0] == "clear"


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([{}] * 5, "too few requests completed to judge"),
        (
            [BUSY, {}, {}, {}, BUSY],
            "too few samples with load: 2 of 5; at least 3 are needed",
        ),
    ],
)
def test_an_idle_device_clears_nothing(samples, reason):
    assert undetermined(iostat([{"sda": one} for one in samples]), rule()) == reason


@pytest.mark.parametrize(("column", "is_clear"), [("svctm_ms", False), ("svctm_ms|read_await_ms", True)])
def test_a_missing_column_clears_nothing(column, is_clear):
    text = iostat([{"sda": BUSY}] * 3)
    assert (cleared(text, rule(columns=(column,)), "sda")[0][0] == "clear") == is_clear
    if not is_clear:
        assert undetermined(text, rule(columns=(column,))) == "the capture lacks svctm_ms of it"


def test_few_requests_clear_nothing():
    text = iostat([{"sda": load(6, 8, size=8)}] * 3)
    assert undetermined(text, rule()) == "too few requests: it completed 18; at least 50 are needed"


def test_requests_are_counted_over_the_interval():
    assert cleared(iostat([{"sda": load(6, 8, size=8)}] * 3, step=10), rule(), "sda")[0][0] == "clear"


def test_a_limit_is_not_cleared_of_a_device_that_was_not_used():
    text = iostat([{"sda": load(100, 2, size=8)}] * 3)
    assert undetermined(text, rule(busy_pct=80)).startswith("it was at most 20 % busy")
    assert cleared(text, rule(busy_pct=20), "sda")[0][0] == "clear"


def test_averages_since_boot_clear_nothing():
    text = iostat([{"sda": BUSY}])
    alone = text[: text.rindex("11/20/26 13:")].replace("0.50", "9.50")
    assert "only averages" in undetermined(alone, rule(samples=1))


def test_each_device_is_cleared_by_itself():
    text = iostat([{"sda": BUSY, "sdb": {}}] * 3)
    assert {(status, devices) for status, devices, _ in cleared(text, rule(), "sda", "sdb")} == {
        ("clear", ("sda",)),
        ("undetermined", ("sdb",)),
    }


def test_what_is_no_clear_stays_as_it_is():
    outcome = Outcome("r", "undetermined", ("sda",), "why")
    assert list(revoke_unproven_clear(outcome, rule(), view_of(iostat([{"sda": BUSY}])))) == [outcome]


@pytest.mark.parametrize(("rows", "status"), [(1, "undetermined"), (2, "clear")])
def test_the_host_is_cleared_by_the_moments_of_its_tables(rows, status):
    # the tasks of vmstat's first row are of the moment: it counts as one more
    needs = {"queue": ("blocked",)}
    assert cleared(vmstat([{"b": 0}] * rows), rule(needs=needs))[0][0] == status


def test_many_devices_of_one_moment_are_one_moment():
    text = iostat([{name: BUSY for name in ("sda", "sdb", "sdc", "sdd")}])
    assert cleared(text, rule()) == [("undetermined", (), "too few samples: 1; at least 3 are needed")]


# a symptom that nothing explains


def symptom(**fields) -> Finding:
    return Finding("slow", "warning", "high", "t", "s", devices=("sda",), role="symptom", **fields)


@pytest.mark.parametrize(
    ("role", "explained_by", "expected"),
    [
        ("cause", None, [("clear", ("sdb",)), ("undetermined", ("sda",))]),
        ("cause", "known", [("clear", ("sda", "sdb"))]),
        ("reading", None, [("clear", ("sda", "sdb"))]),
    ],
)
def test_no_cause_is_cleared_of_a_device_whose_symptom_nothing_explains(role, explained_by, expected):
    outcome = Outcome("r", "clear", ("sda", "sdb"), "nothing seen")
    rules = {"r": rule(role), "slow": rule("symptom")}
    left = list(not_ruled_out([outcome], [symptom(explained_by=explained_by)], rules))
    assert [(one.status, one.devices) for one in left] == expected


@pytest.mark.parametrize("samples", [1, 2, 3, 8])
def test_no_cause_is_cleared_of_a_device_that_takes_seconds(samples):
    slow = load(3, 3900, size=4, reads=0, depth=12.0, util=100.0)
    report = iodiag.analyze([iodiag.read(io.BytesIO(iostat([{"sda": slow}] * samples).encode()), name="a")])
    roles = {name: one.role for name, one in iodiag.rules.all_rules().items()}
    unexplained = any(f.rule == "extreme-latency" and f.explained_by is None for f in report.findings)
    clear = [o.rule for o in report.outcomes if o.status == "clear" and "sda" in o.devices]
    assert not unexplained or [name for name in clear if roles[name] == "cause"] == []
    if samples == 1:
        assert clear == []


@pytest.mark.parametrize(("step", "is_clear"), [(10, True), (600, False)])
def test_long_samples_clear_nothing_that_lasts_for_seconds(step, is_clear):
    outcomes = cleared(iostat([{"sda": BUSY}] * 3, step=step), rule(longest_s=60), "sda")
    assert (outcomes[0][0] == "clear") == is_clear
