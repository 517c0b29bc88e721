from __future__ import annotations

import pytest

from iodiag.model.finding import Finding
from iodiag.rules._precedence import order


def finding(rule, confidence="medium", severity="warning", devices=()):
    return Finding(rule, severity, confidence, rule, rule, devices)


@pytest.mark.parametrize(
    ("cause", "confidence", "nested"),
    [
        ("serialized-commit", "medium", True),
        ("serialized-commit", "low", False),
        ("svctm-misread", "high", False),
    ],
)
def test_symptoms_go_below_a_likely_cause(cause, confidence, nested):
    symptom = finding("psi-io-pressure", "high", "critical")
    found = order([symptom, finding(cause, confidence)], {})
    assert found[0].explained_by == (cause if nested else None)


def test_the_gravest_cause_is_named():
    causes = [
        finding("fragmentation-sized-reads", severity="notice"),
        finding("swap-thrash", severity="critical"),
    ]
    found = order([finding("blocked-tasks", "high", "notice"), *causes], {})
    assert found[0].explained_by == "swap-thrash"


@pytest.mark.parametrize(("confidence", "kept"), [("low", 2), ("medium", 1), ("high", 1)])
def test_a_guess_replaces_nothing(confidence, kept):
    found = order(
        [
            finding("hung-io", confidence, devices=("sda",)),
            finding("true-saturation", "low", devices=("sda",)),
        ],
        {},
    )
    assert len(found) == kept


@pytest.mark.parametrize(
    ("cause", "effect", "nested"), [("medium", "high", True), ("low", "medium", False), ("low", "low", True)]
)
def test_a_likely_cause_explains_what_is_surer(cause, effect, nested):
    found = order(
        [
            finding("volume-cap", cause, devices=("sda",)),
            finding("true-saturation", effect, devices=("sda",)),
        ],
        {},
    )
    assert found[1].explained_by == ("volume-cap" if nested else None)
