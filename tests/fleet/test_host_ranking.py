"""Who is harmed most, by what, and since when."""

from __future__ import annotations

import pandas as pd
import pytest

from fleet.tables import days_from, finding, findings_table, outcomes_table
from iodiag.fleet.across_hosts.summarise import summarise

DAYS = days_from(5)


def report(rows, hosts=("a", "b", "c"), days=DAYS, drop=None, **tables):
    findings = findings_table(rows)
    outcomes = outcomes_table(list(hosts), days, findings)
    if drop is not None:
        outcomes = outcomes[~drop(outcomes)]
    return summarise({"findings": findings, "outcomes": outcomes, **tables})


@pytest.mark.parametrize(
    ("changes", "harm"),
    [
        ({}, 10 * 0.6 * 0.25),
        ({"severity": "critical", "confidence": "high"}, 100 * 1.0 * 0.25),
        ({"severity": "notice", "confidence": "low"}, 1 * 0.3 * 0.25),
        ({"start": f"{DAYS[0]}T00:00:00", "end": f"{DAYS[0]}T23:59:59"}, 10 * 0.6 * 86399 / 86400),
        ({"start": f"{DAYS[0]}T06:00:00+02:00", "end": f"{DAYS[0]}T12:00:00+02:00"}, 10 * 0.6 * 0.25),
        # a burst, and what ends before it starts, count an hour
        ({"end": f"{DAYS[0]}T06:00:10"}, 10 * 0.6 / 24),
        ({"end": f"{DAYS[0]}T01:00:00"}, 10 * 0.6 / 24),
        # a state without a clock holds for its day, and no day is longer than a day
        ({"start": None, "end": None}, 10 * 0.6),
        ({"start": "nonsense"}, 10 * 0.6),
        ({"end": "2026-04-01T00:00:00"}, 10 * 0.6),
    ],
)
def test_harm_is_severity_times_confidence_times_share_of_the_day(changes, harm):
    (host,) = report([finding("a", DAYS[0], "hung-io", **changes)]).hosts
    assert host.harm == pytest.approx(harm)


def test_effects_and_further_devices_are_not_counted_twice():
    rows = [
        finding("a", DAYS[0], "slow-member", devices=["sda"]),
        finding("a", DAYS[0], "slow-member", devices=["sdb"], confidence="low"),
        finding("a", DAYS[0], "true-saturation", "critical", explained_by="slow-member"),
        finding("a", DAYS[0], "interval-too-long", "info"),
    ]
    (host,) = report(rows).hosts
    assert host.harm == pytest.approx(1.5)
    assert (host.rule, host.severity, host.others) == ("slow-member", "warning", ())


def test_advice_on_reading_the_numbers_is_no_harm():
    rules = ("util-false-alarm", "mixed-await", "first-report-since-boot")
    rows = [finding("a", day, rule, "notice") for day in DAYS for rule in rules]
    found = report(rows)
    assert found.hosts == ()
    assert found.headline == "No trouble was found on 3 hosts."
    assert found.totals.findings == 15


def test_two_troubles_and_two_days_add_up():
    rows = [finding("a", day, rule) for day in DAYS[:2] for rule in ("hung-io", "swap-thrash")]
    (host,) = report(rows).hosts
    assert host.harm == pytest.approx(6.0)
    assert host.others == ("swap-thrash",)
    assert host.days == 2


def test_the_most_harmed_host_stands_first_and_names_decide_between_equals():
    rows = [finding(host, DAYS[0], "volume-cap") for host in "cab"]
    rows.append(finding("b", DAYS[1], "volume-cap"))
    assert [host.host for host in report(rows).hosts] == ["b", "a", "c"]
    assert report(rows[::-1]) == report(rows)


@pytest.mark.parametrize(
    ("found_on", "without", "since", "is_older"),
    [
        ([2, 3, 4], [], 2, False),
        ([0, 1, 4], [], 4, False),
        ([0, 1, 2], [], 0, True),
        # a day without data does not end a run, and none lies before the second
        ([1, 3, 4], [2], 1, False),
        ([1, 2], [0], 1, True),
    ],
)
def test_since_is_the_first_day_of_the_run_that_lasts(found_on, without, since, is_older):
    rows = [finding("a", DAYS[at], "volume-cap") for at in found_on]
    gone = [DAYS[at] for at in without]
    (host,) = report(rows, drop=lambda t: (t["host"] == "a") & t["day"].isin(gone)).hosts
    assert (host.since, host.is_older) == (DAYS[since], is_older)
    assert host.days_read == len(DAYS) - len(gone)


def test_a_day_on_which_the_rule_could_not_judge_does_not_end_a_run():
    rows = [finding("a", DAYS[at], "volume-cap") for at in (1, 3)]
    findings = findings_table(rows)
    outcomes = outcomes_table(["a"], DAYS, findings)
    unsure = (outcomes["day"] == DAYS[2]) & (outcomes["rule"] == "volume-cap")
    outcomes.loc[unsure, "status"] = "undetermined"
    (host,) = summarise({"findings": findings, "outcomes": outcomes}).hosts
    assert host.since == DAYS[1]


@pytest.mark.parametrize(
    ("severities", "lead"),
    [
        (("notice", "notice"), "swap-thrash"),
        (("notice", "warning"), "swap-thrash"),
        (("warning", "notice"), "blocked-tasks"),
    ],
)
def test_a_symptom_leads_only_over_causes_that_are_less_severe(severities, lead):
    whole_day = {"start": None, "end": None, "confidence": "high"}
    rows = [
        finding("a", DAYS[0], "blocked-tasks", severities[0], **whole_day),
        finding("a", DAYS[0], "swap-thrash", severities[1], confidence="low"),
    ]
    (host,) = report(rows).hosts
    assert host.rule == lead
    assert {host.rule, *host.others} == {"blocked-tasks", "swap-thrash"}


def test_evidence_is_from_the_worst_day_with_its_address():
    rows = [finding("a", DAYS[0], "hung-io"), finding("a", DAYS[2], "hung-io", "critical")]
    linked = summarise(
        {"findings": findings_table(rows), "outcomes": outcomes_table(["a"], DAYS, findings_table(rows))},
        link=lambda host, day: f"{host}/{day}",
    )
    (host,) = linked.hosts
    assert (host.day, host.report) == (DAYS[2], f"a/{DAYS[2]}")
    assert host.evidence == "hung-io: 41.2 ms at 12.4 in flight."
    assert host.address == "sa02:96"


@pytest.mark.parametrize(
    "evidence", [None, "", "{", "[]", "7", '["x"]', '[{"text": 3}]', '[{"weighs": "against"}]']
)
def test_without_usable_evidence_the_summary_stands_in(evidence):
    (host,) = report([finding("a", DAYS[0], "hung-io", evidence=evidence)]).hosts
    assert host.evidence in ("What hung-io found on sda.", "3")


def test_the_matrix_tells_clear_from_not_judged():
    findings = findings_table(
        [finding("a", DAYS[0], "hung-io"), finding("b", DAYS[0], "volume-cap", "critical")]
    )
    outcomes = outcomes_table(["a", "b"], DAYS, findings)
    outcomes.loc[(outcomes["host"] == "b") & (outcomes["rule"] == "hung-io"), "status"] = "not_applicable"
    matrix = summarise({"findings": findings, "outcomes": outcomes}).matrix
    assert matrix.rules == ("volume-cap", "hung-io")
    words = {
        (row.host, rule): cell.state
        for row in matrix.rows
        for rule, cell in zip(matrix.rules, row.cells, strict=True)
    }
    assert words == {
        ("b", "volume-cap"): "found",
        ("b", "hung-io"): "unjudged",
        ("a", "volume-cap"): "clear",
        ("a", "hung-io"): "found",
    }


def test_troubles_count_hosts_among_those_that_could_be_judged():
    findings = findings_table(
        [finding("a", day, "hung-io", "critical") for day in DAYS]
        + [finding("b", DAYS[1], "hung-io", "notice")]
    )
    outcomes = outcomes_table(["a", "b", "c", "d"], DAYS, findings)
    outcomes.loc[(outcomes["host"] == "d") & (outcomes["rule"] == "hung-io"), "status"] = "undetermined"
    (trouble,) = summarise({"findings": findings, "outcomes": outcomes}).troubles
    assert (trouble.hosts, trouble.hosts_hurt, trouble.hosts_judged, trouble.host_days) == (2, 1, 3, 6)


def test_one_trouble_on_many_hosts_is_one_entry_with_the_worst_host_first():
    rows = [finding(host, day, "hung-io") for host in "abc" for day in DAYS[2:]]
    rows.append(finding("c", DAYS[4], "hung-io", "critical", remedy=["Look."], confirm=["dmesg"]))
    rows += [finding("b", DAYS[0], "volume-cap"), finding("d", DAYS[0], "hung-io", "notice")]
    (hung, cap) = report(rows, hosts="abcde").troubles
    assert (hung.rule, hung.title, hung.severity) == ("hung-io", "hung-io on sda", "critical")
    assert (hung.hosts, hung.hosts_hurt, hung.hosts_judged) == (4, 3, 5)
    assert [one.host for one in hung.affected] == ["c", "a", "b", "d"]
    assert (hung.remedy, hung.confirm) == (("Look.",), ("dmesg",))
    assert (hung.first, hung.since, hung.last, hung.is_older) == (DAYS[0], DAYS[2], DAYS[4], False)
    assert [one.host for one in cap.affected] == ["b"]


def test_the_most_severe_trouble_stands_first_and_a_symptom_behind_causes():
    whole_day = {"start": None, "end": None, "confidence": "high"}
    rows = [finding(host, day, "cpu-exhausted", "notice", **whole_day) for host in "abc" for day in DAYS]
    rows += [finding("a", DAYS[0], "blocked-tasks", **whole_day), finding("b", DAYS[0], "swap-thrash")]
    rows.append(finding("c", DAYS[0], "hung-io", "critical", confidence="low"))
    assert [one.rule for one in report(rows).troubles] == [
        "hung-io",
        "swap-thrash",
        "blocked-tasks",
        "cpu-exhausted",
    ]


def test_what_began_on_the_last_day_is_counted():
    rows = [finding("a", day, "hung-io") for day in DAYS[3:]]
    rows += [finding("b", DAYS[4], "hung-io"), finding("c", DAYS[4], "hung-io")]
    found = report(rows, drop=lambda table: (table["host"] == "c") & (table["day"] < DAYS[4]))
    # c has no data before: nobody knows when it began
    assert found.totals.begun_last_day == 1


def test_the_heatmap_has_a_cell_for_each_host_and_day():
    findings = findings_table(
        [
            finding("b", DAYS[0], "hung-io"),
            finding("b", DAYS[0], "volume-cap", "critical"),
            finding("c", DAYS[1], "mixed-await", "notice"),
        ]
    )
    outcomes = outcomes_table(["a", "b", "c"], DAYS[:2], findings)
    outcomes.loc[(outcomes["host"] == "a") & (outcomes["day"] == DAYS[0]), "status"] = "undetermined"
    outcomes = outcomes[(outcomes["host"] != "c") | (outcomes["day"] == DAYS[1])]
    found = summarise(
        {"findings": findings, "outcomes": outcomes}, link=lambda host, day: f"{host}/{day}.html"
    ).heatmap
    assert found.days == tuple(DAYS[:2])
    words = {
        row.host: [cell and (cell.state, cell.severity, cell.rules, cell.report) for cell in row.cells]
        for row in found.rows
    }
    # a day without trouble has no page; advice on reading the numbers is no trouble
    assert words == {
        "b": [
            ("found", "critical", ("volume-cap", "hung-io"), f"b/{DAYS[0]}.html"),
            ("clear", None, (), ""),
        ],
        "a": [
            ("unjudged", None, (), ""),
            ("clear", None, (), ""),
        ],
        "c": [None, ("clear", None, (), "")],
    }
    assert list(words) == ["b", "a", "c"]


def test_the_heatmap_is_cut_at_the_last_days_and_says_so():
    days = days_from(40)
    found = report([finding("b", days[39], "hung-io")], hosts=[f"h{at:02}" for at in range(60)], days=days)
    assert (found.heatmap.days[-1], found.heatmap.days_left_out) == (days[39], 9)
    assert found.heatmap.rows[0].host == "b"
    assert len(found.heatmap.rows) + found.heatmap.hosts_left_out == 61


def test_without_any_table_there_is_a_report():
    empty = summarise({})
    assert empty.headline == "No host could be read."
    assert empty.totals.hosts == 0
    assert (
        summarise({"outcomes": outcomes_table(["a"], DAYS, pd.DataFrame())}).headline
        == "No trouble was found on 1 host."
    )
