"""A rule that fails is fenced: the report says so and the others go on. Our own tests notice it."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from iodiag.rules import all_rules
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
