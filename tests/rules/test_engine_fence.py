"""A rule that fails is fenced: the report says so and the others go on. Our own tests notice it."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from iodiag.model.rule import Needs, Rule
from iodiag.rules import all_rules
from iodiag.rules.engine import run
from views import view_of
from writers.captures import iostat


@pytest.mark.rules_may_fail
def test_a_rule_that_fails_is_an_outcome_and_is_noticed(report_of, monkeypatch, caplog):
    def failing(view, limits):
        raise ZeroDivisionError("kB without requests")
        yield

    broken = dataclasses.replace(all_rules()["mixed-await"], detect=failing)
    monkeypatch.setitem(all_rules(), "mixed-await", broken)
    with caplog.at_level(logging.DEBUG, "iodiag.rules.engine"):
        outcomes = report_of(iostat([{"sda": {"r/s": 10.0}}] * 3)).outcomes
    assert [o.rule for o in outcomes if o.status == "error"] == ["mixed-await"]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "rule mixed-await failed"
    ]


def test_what_is_taken_into_another_finding_names_the_one_on_its_devices():
    def rule(name, *devices, **relations):
        def detect(view, limits):
            for device in devices:
                yield own.finding(severity="warning", confidence="high", devices=(device,), summary=name)

        own = Rule(name, name, "", (), Needs(), detect, role="cause", **relations)
        return own

    rules = [
        rule("effect", "sda", "sdb"),
        rule("first", "sda", replaces=("effect",)),
        rule("second", "sdb", replaces=("effect",)),
    ]
    view = view_of(iostat([{"sda": {"r/s": 9.0}, "sdb": {"r/s": 70.0}}] * 3))
    found, outcomes = run(rules, view, {}, {})
    assert sorted(f.rule for f in found) == ["first", "second"]
    assert {o.devices: o.reason.split(",")[0] for o in outcomes if o.rule == "effect"} == {
        ("sda",): "taken into first",
        ("sdb",): "taken into second",
    }


def test_devices_with_several_layers_between_them_are_of_one_stack():
    def rule(name, device, **relations):
        def detect(view, limits):
            yield own.finding(severity="warning", confidence="high", devices=(device,), summary=name)

        own = Rule(name, name, "", (), Needs(), detect, role="cause", **relations)
        return own

    tree = "NAME KNAME TYPE\nsda sda disk\n`-pv dm-1 crypt\n  `-vg-pool dm-2 lvm\n    `-vg-thin dm-3 lvm\n"
    found, _ = run(
        [rule("effect", "dm-3"), rule("cause", "dm-1", explains=("effect",))], view_of(tree), {}, {}
    )
    assert {f.rule: f.explained_by for f in found} == {"effect": "cause", "cause": None}
