from __future__ import annotations

import pandas as pd
import pytest

from iodiag.analysis.view.view import View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.topology import DeviceTopology
from iodiag.rules import all_rules
from iodiag.table.table import Table
from iodiag.verdict.headline import SINCE_BOOT, TOO_LONG, headline

RULES = all_rules()


def finding(rule, severity="warning", confidence="high", explained_by=None, host=None):
    said = f"{rule} happens."
    title, role = f"Title of {rule}", RULES[rule].role
    return Finding(rule, severity, confidence, title, said, host=host, explained_by=explained_by, role=role)


def view(host="box", **shares):
    whole = {
        "user_pct": 5.0,
        "system_pct": 5.0,
        "iowait_pct": 0.0,
        "idle_pct": 90.0,
        "steal_pct": 0.0,
    } | shares
    cpu = pd.DataFrame({"cpu": ["all"] * 3, "interval_s": [1.0] * 3} | {k: [v] * 3 for k, v in whole.items()})
    return View(host, {"cpu": Table.of(cpu)}, DeviceTopology())


def said(*findings, outcomes=(), views=None):
    return headline(findings, outcomes, views or [view()], RULES.values())


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding("slow-member")], "slow-member happens."),
        ([finding("slow-member", confidence="medium")], "Likely: slow-member happens."),
        (
            [finding("psi-io-pressure", "critical"), finding("volume-cap")],
            "volume-cap happens.",
        ),
        (
            [finding("psi-io-pressure", "critical")],
            "psi-io-pressure happens. No rule could name the cause.",
        ),
        (
            [finding("true-saturation", explained_by="volume-cap"), finding("volume-cap", "notice")],
            "volume-cap happens.",
        ),
        (
            [finding(rule) for rule in ("swap-thrash", "slow-member", "volume-cap", "hung-io")],
            "swap-thrash happens. Then: Title of slow-member; Title of volume-cap, and 1 more.",
        ),
        ([finding("swap-thrash", "notice", "low")], "Nothing certain; possibly: swap-thrash happens."),
        ([finding("flush-latency", "notice")], "Nobody is seen to suffer, but note: flush-latency happens."),
        ([finding("blocked-tasks", "notice")], "blocked-tasks happens. No rule could name the cause."),
        ([finding("first-report-since-boot", "notice")], "first-report-since-boot happens."),
    ],
)
def test_the_cause_comes_before_the_symptom_and_harm_before_advice(findings, expected):
    assert said(*findings) == expected


def test_of_several_hosts_the_one_is_named():
    views = [view("web1"), view("db1")]
    assert said(finding("hung-io", host="db1"), views=views) == "hung-io happens. (db1)"


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"user_pct": 93.0, "idle_pct": 2.0}, "Not storage: the CPUs are 98 % busy."),
        ({"steal_pct": 60.0, "idle_pct": 30.0}, "Not storage: the hypervisor withholds 60 % of the CPU."),
    ],
)
def test_trouble_elsewhere_is_said_so(shares, expected):
    outcomes = [Outcome("true-saturation", "clear")]
    assert said(outcomes=outcomes, views=[view(**shares)]) == expected
    assert said(finding("flush-latency", "notice"), views=[view(**shares)]) == expected
    assert said(finding("true-saturation"), views=[view(**shares)]) == "true-saturation happens."


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (
            [Outcome("a", "clear"), Outcome("b", "clear")],
            "No storage trouble found: 2 rules looked and found nothing.",
        ),
        (
            [Outcome("a", "clear"), Outcome("b", "undetermined")],
            "No trouble is proven: 1 rule looked and found nothing, but open is b.",
        ),
        (
            [Outcome("a", "clear", ("sda",)), Outcome("a", "undetermined", ("sdb", "sdb1"))],
            "No storage trouble found: 1 rule looked and found nothing; open for sdb, sdb1 is a.",
        ),
        ([Outcome("a", "not_applicable")], "Nothing could be judged from this capture"),
    ],
)
def test_silence_is_told_from_health(outcomes, expected):
    assert said(outcomes=outcomes).startswith(expected)


def test_advice_on_numbers_is_no_verdict_and_a_hint_comes_last():
    outcomes = [Outcome("a", "clear")]
    assert "svctm" not in said(finding("svctm-misread", "notice"), outcomes=outcomes)
    hint = said(finding("fragmentation-sized-reads", "info", "low"), outcomes=outcomes)
    assert hint.endswith("found nothing. Worth a look: fragmentation-sized-reads happens.")


def test_that_nothing_was_found_in_samples_that_hide_bursts_is_no_all_clear():
    outcomes = [Outcome("a", "clear")]
    bursts = finding("interval-too-long", "notice")
    told = said(bursts, outcomes=outcomes)
    assert told.endswith("found nothing. But these samples would hide trouble: interval-too-long happens.")
    # and a hint is not lost beside it
    hint = finding("fragmentation-sized-reads", "info", "low")
    assert said(bursts, hint, outcomes=outcomes).endswith("Worth a look: fragmentation-sized-reads happens.")
    # long samples of a calm device are context, and what is found comes first
    assert "hide" not in said(finding("interval-too-long", "info"), outcomes=outcomes)
    assert said(bursts, finding("volume-cap"), outcomes=outcomes) == "volume-cap happens."


def test_a_capture_without_samples_judges_nothing():
    empty = View(None, {}, DeviceTopology())
    assert said(outcomes=[Outcome("a", "clear")], views=[empty]).startswith("Nothing could be judged")


def test_nothing_is_judged_where_readings_alone_looked():
    outcomes = [Outcome(rule.id, "clear") for rule in RULES.values() if rule.role == "reading"]
    assert said(outcomes=outcomes).startswith("Nothing could be judged")


def test_the_readings_that_it_names_exist():
    assert {RULES[name].role for name in (SINCE_BOOT, TOO_LONG)} == {"reading"}
