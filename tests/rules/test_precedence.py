from __future__ import annotations

from dataclasses import replace

import pytest

from iodiag.model.finding import Evidence, Finding, by_harm
from iodiag.model.rule import Needs, Rule
from iodiag.rules import all_rules
from iodiag.rules.precedence import order
from writers.captures import iostat


def finding(rule, confidence="medium", severity="warning", devices=(), role=None):
    role = role or all_rules()[rule].role
    return Finding(rule, severity, confidence, rule, rule, devices=devices, role=role)


def ordered(findings, rules=()):
    return order(findings, {}, [*all_rules().values(), *rules])


def nothing(view, limits):
    yield from ()


def rule(name, **relations):
    return Rule(name, name, "", (), Needs(), nothing, **relations)


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
    found = ordered([symptom, finding(cause, confidence)])
    assert found[0].explained_by == (cause if nested else None)


def test_the_gravest_cause_is_named():
    causes = [
        finding("fragmentation-sized-reads", severity="notice"),
        finding("swap-thrash", severity="critical"),
    ]
    found = ordered([finding("blocked-tasks", "high", "notice"), *causes])
    assert found[0].explained_by == "swap-thrash"


@pytest.mark.parametrize(("sample", "is_explained"), [(13, True), (14, False)])
def test_what_completes_in_the_sample_that_ends_a_stall_is_the_stalls(sample, is_explained):
    stall = replace(finding("hung-io", devices=("sda",)), samples=(5, 12))
    late = replace(finding("extreme-latency", devices=("sda",)), samples=(sample, sample))
    assert (ordered([stall, late])[1].explained_by == "hung-io") == is_explained


@pytest.mark.parametrize(
    ("times", "is_told"),
    [
        ((None, None), False),
        (("2026-01-01T10:00", "2026-01-01T10:05"), False),
        (("2026-01-01T10:08",) * 2, True),
    ],
    ids=["no clock", "before it", "meanwhile"],
)
def test_who_waited_at_another_time_or_nobody_knows_when_is_no_evidence(times, is_told):
    waits = finding("blocked-tasks", "high", "info")
    waits = replace(waits, start=times[0], end=times[1], evidence=(Evidence("4 tasks are blocked"),))
    cause = finding("nfs-wait", "high")
    cause = replace(cause, samples=(9, 20), start="2026-01-01T10:07", end="2026-01-01T10:11")
    told = next(one for one in ordered([cause, waits]) if one.rule == "nfs-wait")
    assert bool(told.evidence) == is_told


@pytest.mark.parametrize(("confidence", "kept"), [("low", 2), ("medium", 1), ("high", 1)])
def test_a_guess_replaces_nothing(confidence, kept):
    found = ordered(
        [
            finding("hung-io", confidence, devices=("sda",)),
            finding("true-saturation", "low", devices=("sda",)),
        ]
    )
    assert len(found) == kept


@pytest.mark.parametrize("cause", ["hung-io", "common-cause-stall"])
def test_no_busy_share_is_explained_away_where_a_device_stood_still(cause):
    stall = replace(finding(cause, "high", devices=("sda", "sdb")), samples=(10, 14))
    busy = replace(finding("util-false-alarm", "high", "info", devices=("sda",)), samples=(10, 80))
    assert [one.rule for one in ordered([busy, stall])] == [cause]


@pytest.mark.parametrize(("severity", "kept"), [("info", 2), ("notice", 1), ("warning", 1)])
def test_what_nobody_pays_for_hides_no_cost(severity, kept):
    slow = finding("slow-member", "high", severity, devices=("sda",))
    seeks = finding("fragmentation-sized-reads", devices=("sda",))
    assert len(ordered([slow, seeks])) == kept
    broken = finding("device-errors", "high", severity, devices=("sda",))
    [_, effect] = ordered([replace(broken, samples=(0, 3)), finding("slow-member", devices=("sda",))])
    assert effect.explained_by == (None if severity == "info" else "device-errors")


@pytest.mark.parametrize(
    ("devices", "kept"),
    [
        (("sda",), ["slow-member"]),
        (("sda", "md0"), ["slow-member"]),
        (("sda", "sdb"), ["fragmentation-sized-reads", "slow-member"]),
        (("sdb",), ["fragmentation-sized-reads", "slow-member"]),
    ],
)
def test_no_finding_is_hidden_that_is_about_another_device_as_well(devices, kept):
    findings = [
        finding("fragmentation-sized-reads", devices=devices),
        finding("slow-member", devices=("sda",)),
    ]
    relatives = {"sda": frozenset({"md0"}), "md0": frozenset({"sda", "sdb"}), "sdb": frozenset({"md0"})}
    assert [f.rule for f in order(findings, relatives, all_rules().values())] == kept


def test_what_a_replaced_finding_had_replaced_goes_with_it():
    rules = ("fragmentation-sized-reads", "slow-member", "path-imbalance")
    (left,) = ordered([finding(name, devices=("sda",)) for name in rules])
    assert left.supersedes == ("fragmentation-sized-reads", "slow-member")


@pytest.mark.parametrize(
    ("cause", "effect", "nested"), [("medium", "high", True), ("low", "medium", False), ("low", "low", True)]
)
def test_a_likely_cause_explains_what_is_surer(cause, effect, nested):
    found = ordered(
        [
            finding("discard-stall", cause, devices=("sda",)),
            finding("true-saturation", effect, devices=("sda",)),
        ]
    )
    assert found[1].explained_by == ("discard-stall" if nested else None)


@pytest.mark.parametrize(
    ("cause", "confidence", "raised"),
    [("warning", "high", "critical"), ("warning", "medium", "critical"), ("critical", "medium", "critical")],
)
def test_no_symptom_outranks_its_cause(cause, confidence, raised):
    said = Evidence("all of them 45 %", {"full": 45.0})
    symptom = replace(finding("psi-io-pressure", "high", "critical"), evidence=(said,))
    _, found = ordered([symptom, finding("throttled-above-device", confidence, cause)])
    assert found.severity == raised
    # the line that says how grave it is goes along with the severity
    assert [(e.text, e.weighs) for e in found.evidence] == (
        [(said.text, "context")] if cause != raised else []
    )


def test_harm_reaches_the_cause_of_a_cause():
    symptom = finding("psi-io-pressure", "high", "critical")
    full = finding("true-saturation", "high", devices=("sda",))
    freed = finding("discard-stall", "medium", "notice", devices=("sda",))
    found = {f.rule: f for f in ordered([symptom, full, freed])}
    assert found["true-saturation"].severity == "critical"
    assert found["true-saturation"].explained_by == "discard-stall"
    assert found["discard-stall"].severity == "notice", "a cause without a cost of its own is not made grave"
    grave = {f.rule: f for f in ordered([symptom, full, replace(freed, severity="warning")])}
    assert grave["discard-stall"].severity == "critical"


def test_every_cause_of_a_grave_effect_ranks_above_it():
    full = finding("true-saturation", "medium", "critical", devices=("md0", "sdc"))
    causes = [
        finding("raid-partial-stripe-write", "medium", "warning", devices=("md0",)),
        finding("slow-member", "medium", "warning", devices=("sdc",)),
    ]
    found = sorted(ordered([full, *causes]), key=by_harm)
    assert found[-1].rule == "true-saturation"
    assert [f.severity for f in found] == ["critical"] * 3


def test_what_the_host_suffers_from_is_not_the_harm_of_every_cause():
    symptom = finding("psi-io-pressure", "high", "critical")
    likely = finding("true-saturation", "high", "warning", devices=("sda",))
    other = finding("slow-member", "medium", "warning", devices=("sdb",))
    found = {f.rule: f.severity for f in ordered([symptom, likely, other])}
    assert found == {
        "psi-io-pressure": "critical",
        "true-saturation": "critical",
        "slow-member": "warning",
    }


@pytest.mark.parametrize(
    ("symptom", "cause", "nested"),
    [
        ("critical", "notice", False),
        ("warning", "notice", False),
        ("notice", "notice", True),
        ("info", "notice", True),
        ("critical", "warning", True),
    ],
)
def test_an_inefficiency_does_not_stop_the_host(symptom, cause, nested):
    found = ordered([finding("psi-io-pressure", "high", symptom), finding("slow-member", "high", cause)])
    assert bool(found[0].explained_by) == nested


def test_a_symptom_of_another_package_goes_below_the_causes_of_symptoms_on_its_devices():
    slow = rule("slow-pages", role="symptom")
    seen = finding("slow-pages", devices=("sda",), role="symptom")
    found = ordered([seen, finding("volume-cap", devices=("sda",))], [slow])
    assert found[0].explained_by == "volume-cap"
    assert ordered([seen, finding("volume-cap", devices=("sdb",))], [slow])[0].explained_by is None


def test_a_rule_of_another_package_explains_and_replaces_what_it_names():
    ours = rule("ours", explains=("true-saturation", "no-such-rule"), replaces=("backlog-drift", "nor-this"))
    effects = [
        finding(name, devices=("sda",)) for name in ("true-saturation", "backlog-drift", "misaligned-io")
    ]
    found = ordered([*effects, finding("ours", devices=("sda",), role="cause")], [ours])
    assert [(f.rule, f.explained_by) for f in found] == [
        ("true-saturation", "ours"),
        ("misaligned-io", None),
        ("ours", None),
    ]
    assert found[-1].supersedes == ("backlog-drift",)


@pytest.mark.parametrize("relation", ["explains", "replaces"])
def test_of_rules_that_name_each_other_in_a_circle_one_stays_on_top(relation):
    names = ("first", "second", "third")
    circle = [
        rule(name, **{relation: (other,)})
        for name, other in zip(names, ("second", "third", "first"), strict=True)
    ]
    found = ordered([finding(name, role="cause") for name in names], circle)
    assert [f.rule for f in found if f.explained_by is None][:1] == ["first"]
    assert len([f for f in found if f.explained_by is None]) == 1
    alone = rule("alone", role="symptom", explains=("symptom", "alone"))
    assert ordered([finding("alone", role="symptom")], [alone])[0].explained_by is None


def test_a_device_that_fails_gets_no_advice_to_load_it_however_short_its_trouble(report_of):
    def deep(depth):
        row = {"r/s": 250.0 * depth, "rkB/s": 4000.0 * depth, "r_await": 4.0}
        return row | {"aqu-sz": float(depth), "%util": 100.0}

    still = {"aqu-sz": 8.0, "%util": 100.0}
    rows = [*[deep(1)] * 20, *[deep(8)] * 20, *[still] * 4, *[deep(8)] * 6]
    text = iostat([{"sda": deep(1), "sdb": row} for row in rows])
    log = "Nov 20 13:00:42 box kernel: blk_update_request: critical medium error, dev sdb, sector 99\n"
    report = report_of(text, log)
    assert "device-errors" in {finding.rule for finding in report.findings}
    assert "util-false-alarm" not in {finding.rule for finding in report.findings}
    assert not any("fio" in text for finding in report.findings for text in finding.confirm)
