from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "thin-pool-exhaustion"
IDLE = iostat([{"sda": load(20, 1)}] * 3)


def lvs(data="97.10", metadata="12.34", attr="twi-aotz--"):
    return (
        "  LV     VG  Attr       LSize   Pool   Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
        f"  pool0  vg0 {attr} 100.00g               {data:6} {metadata:6}\n"
        "  thin1  vg0 Vwi-aotz--  80.00g pool0         99.90\n"
    )


def judged(report_of, *context, text=IDLE):
    report = report_of(text, *context, rules=[RULE])
    return [f for f in report.findings if f.rule == RULE], [o for o in report.outcomes if o.rule == RULE]


def test_a_pool_nearly_full_of_data_is_told_with_the_command_that_extends_it(report_of):
    (finding,), _ = judged(report_of, lvs())
    assert (finding.severity, finding.confidence, finding.devices) == ("notice", "high", ("vg0-pool0",))
    assert finding.summary.startswith("Thin pool vg0-pool0 uses 97.1 % of its data")
    assert "lvextend -L +10G /dev/mapper/vg0-pool0" in finding.remedy[0]
    assert finding.evidence[0].quotes[0].text.split()[0] == "pool0"


def test_metadata_is_extended_by_its_own_option(report_of):
    (finding,), _ = judged(report_of, lvs(data="40.00", metadata="93.00"))
    assert "93 % of its metadata" in finding.summary
    assert "--poolmetadatasize" in finding.remedy[0]
    assert not any("lvextend -L" in text for text in finding.remedy)


def test_a_full_pool_is_critical(report_of):
    (finding,), _ = judged(report_of, lvs(data="100.00"))
    assert finding.severity == "critical"


@pytest.mark.parametrize("text", [lvs(data="89.90"), lvs(data="50.00")])
def test_a_pool_with_room_is_clear(report_of, text):
    found, (outcome,) = judged(report_of, text)
    assert not found
    assert (outcome.status, outcome.devices) == ("clear", ("vg0-pool0",))


def test_a_pool_whose_metadata_is_not_listed_is_not_clear(report_of):
    found, (outcome,) = judged(report_of, lvs(data="50.00", metadata=""))
    assert not found
    assert outcome.status == "undetermined"


def test_a_thin_volume_that_is_all_mapped_and_a_cache_harm_nobody(report_of):
    for attr in ("Vwi-aotz--", "Cwi-aoC---"):
        found, (outcome,) = judged(report_of, lvs(attr=attr))
        assert not found
        assert outcome.status == "not_applicable"


def test_without_lvs_it_says_what_would_tell(report_of):
    found, (outcome,) = judged(report_of)
    assert not found
    assert "lvs" in outcome.reason


def test_a_pool_that_will_be_full_is_not_why_a_disk_waits_now(report_of):
    text = iostat([{"sda": load(80, 400, depth=32, util=100)}] * 20)
    report = report_of(text, lvs(), "NAME ROTA TYPE\nsda 1 disk\n")
    assert {f.rule for f in report.findings} >= {RULE}
    assert report.verdict.rule != RULE
