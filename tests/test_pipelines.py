"""What scripts and pipelines rest on: exit status, ignored findings with a reason, SARIF."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import iodiag
from iodiag.cli import cli
from iodiag.model.finding import Ignore
from iodiag.report.as_json import from_json
from iodiag.report.finding_sections import by_severity

CASES = Path(__file__).parents[1] / "samples" / "cases"
RAID5 = CASES / "raid5-small-writes"
RULE, EFFECT = "raid-partial-stripe-write", "true-saturation"


@pytest.fixture
def configured(tmp_path):
    """Runs `analyze` with a configuration, and gives the result."""

    def run(toml: str, *options: str):
        path = tmp_path / "iodiag.toml"
        path.write_text(toml)
        return CliRunner().invoke(
            cli, ["analyze", str(RAID5), "--config", str(path), "--quiet", "--format", "json", *options]
        )

    return run


def ignoring(**keys: str) -> str:
    return "[[tool.iodiag.ignore]]\n" + "".join(f"{key} = {json.dumps(v)}\n" for key, v in keys.items())


def found(report: dict) -> set[str]:
    return {finding["rule"] for finding in report["findings"]}


def test_an_ignored_finding_is_listed_apart_and_counts_for_nothing(configured):
    loud = configured("", "--fail-on", "warning")
    assert loud.exit_code == 1
    both = ignoring(rule=RULE, reason="replaced in May") + ignoring(rule=EFFECT, reason="full of it")
    quiet = configured(both, "--fail-on", "warning")
    assert quiet.exit_code == 0
    before, after = json.loads(loud.stdout), json.loads(quiet.stdout)
    assert RULE in found(before)
    assert found(after) == found(before) - {RULE, EFFECT}
    assert [(one["reason"], one["finding"]["rule"]) for one in after["ignored"]] == [
        ("replaced in May", RULE),
        ("full of it", EFFECT),
    ]
    assert after["headline"].endswith("The configuration ignores 2 findings, listed below.")


@pytest.mark.parametrize(
    ("keys", "is_ignored"),
    [
        ({"device": "md0"}, True),
        ({"device": "md*"}, True),
        ({"device": "sd*"}, False),
        ({"host": "labguest"}, True),
        ({"host": "lab?"}, False),
        ({"device": "md0", "host": "other"}, False),
    ],
)
def test_an_entry_names_devices_and_hosts_by_pattern(configured, keys, is_ignored):
    report = json.loads(configured(ignoring(rule=RULE, reason="known", **keys)).stdout)
    assert (RULE in found(report)) is not is_ignored
    assert bool(report["ignored"]) is is_ignored


def test_an_entry_may_name_a_device_by_an_alias():
    capture = iodiag.read(RAID5)
    alias = next(d.aliases[0] for d in iodiag.analyze(capture).devices if d.name == "md0" and d.aliases)
    report = iodiag.analyze(capture, ignore=[Ignore(RULE, "known", device=alias)])
    assert [one.finding.rule for one in report.ignored] == [RULE]


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        (ignoring(rule="raid-partial-stripe-writes", reason="x"), "did you mean raid-partial-stripe-write"),
        (ignoring(rule=RULE), "lacks its reason"),
        (ignoring(rule=RULE, reason="  "), "lacks its reason"),
        (ignoring(reason="x"), "lacks its rule"),
        (ignoring(rule=RULE, reason="x", disk="sda"), "unknown key 'disk'"),
        ("ignore = 'everything'", "write a list of tables"),
        ("[[ignore]]\nrule = 1\nreason = 'x'", "write a list of tables"),
    ],
)
def test_a_wrong_entry_is_one_line(configured, toml, says):
    done = configured(toml)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_format_tells_what_is_ignored_and_why():
    report = iodiag.analyze(iodiag.read(RAID5), ignore=[Ignore(RULE, "spare <array> | 2027")])
    assert "## Ignored by configuration" in report.to_markdown()
    assert "1 ignored by configuration" in report.to_markdown()
    assert "spare &lt;array&gt; | 2027" in report.to_html()
    assert from_json(report.to_json()).ignored == report.ignored


def test_a_comparison_ignores_on_both_sides():
    report = iodiag.compare(iodiag.read(RAID5), iodiag.read(RAID5), ignore=[Ignore(RULE, "known")])
    assert report.comparison is not None
    for side in (report, report.comparison.before):
        assert RULE in {one.finding.rule for one in side.ignored}
        assert RULE not in {finding.rule for finding in side.findings}


def test_sarif_has_each_finding_at_its_lines():
    report = iodiag.analyze(iodiag.read(RAID5))
    log = json.loads(report.to_sarif())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [result["ruleId"] for result in run["results"]] == [f.rule for f in by_severity(report.findings)]
    assert {r["id"] for r in run["tool"]["driver"]["rules"]} == {f.rule for f in report.findings}
    first, result = report.findings[0], run["results"][0]
    assert result["level"] == "warning"
    assert result["message"]["text"].startswith(first.summary)
    cited = {(e.source, line) for e in first.evidence for line in e.lines}
    places = [place["physicalLocation"] for place in result["locations"]]
    assert places
    assert {(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in places} <= cited


def test_sarif_suppresses_what_is_ignored_and_knows_it_again():
    capture = iodiag.read(RAID5)
    plain = json.loads(iodiag.analyze(capture).to_sarif())["runs"][0]["results"]
    ignored = json.loads(iodiag.analyze(capture, ignore=[Ignore(RULE, "known")]).to_sarif())
    (held,) = [r for r in ignored["runs"][0]["results"] if r["ruleId"] == RULE]
    assert held["suppressions"] == [{"kind": "external", "justification": "known"}]
    (loud,) = [r for r in plain if r["ruleId"] == RULE]
    assert "suppressions" not in loud
    assert held["partialFingerprints"] == loud["partialFingerprints"]


def test_sarif_addresses_a_binary_file_by_bytes():
    report = iodiag.analyze(iodiag.read(RAID5))
    binary = tuple(replace(one, section=replace(one.section, format="sa")) for one in report.sources)
    report = replace(report, sources=binary)
    regions = [
        place["physicalLocation"]["region"]
        for result in json.loads(report.to_sarif())["runs"][0]["results"]
        for place in result["locations"]
    ]
    assert regions
    assert all(set(region) == {"byteOffset"} for region in regions)


def test_sarif_is_a_format_of_the_command_line(tmp_path):
    path = tmp_path / "out.sarif"
    done = CliRunner().invoke(cli, ["analyze", str(RAID5), "-o", str(path), "--quiet"])
    assert done.exit_code == 0
    assert json.loads(path.read_text())["runs"][0]["results"]
