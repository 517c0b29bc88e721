from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "copy-on-write-penalty"
TABLE = """vg-data: 0 2097152 snapshot-origin 253:1
vg-data-real: 0 2097152 linear 8:0 2048
vg-snap: 0 2097152 snapshot 253:1 253:2 P 256
vg-snap-cow: 0 1228800 linear 8:0 2099200
"""
BLOCKS = """NAME MAJ:MIN TYPE
sda 8:0 disk
|-vg-data-real 253:1 lvm
| |-vg-data 253:0 lvm
| `-vg-snap 253:3 lvm
`-vg-snap-cow 253:2 lvm
  `-vg-snap 253:3 lvm
"""


def row(reads=0.0, read_size=0.0, writes=0.0, write_size=0.0, wait=5.0):
    return {
        **{"r/s": reads, "rkB/s": reads * read_size, "r_await": wait if reads else 0.0},
        **{"w/s": writes, "wkB/s": writes * write_size, "w_await": wait if writes else 0.0},
        **{"aqu-sz": (reads + writes) * wait / 1000, "%util": 30.0},
    }


def stack(copied=0.8, chunk=128.0, wait=25.0, writes=16.0, snapshot_reads=0.0, samples=20):
    copies = copied * writes
    disk = row(copies + snapshot_reads, chunk, writes + 2 * copies, chunk * 0.7)
    if not copied:
        disk = row(snapshot_reads, chunk, writes, 4.0)
    sample = {
        "dm-0": row(writes=writes, write_size=4.0, wait=wait),
        "dm-1": row(copies + snapshot_reads, chunk, writes, 4.0),
        "dm-2": row(writes=2 * copies, write_size=90.0),
        "dm-3": row(snapshot_reads, chunk),
        "sda": disk,
    }
    return [sample] * samples


def outcome(report):
    assert not [f for f in report.findings if f.rule == RULE]
    return next(o for o in report.outcomes if o.rule == RULE)


def test_small_writes_that_copy_chunks_are_named(report_of):
    report = report_of(iostat(stack()), BLOCKS, TABLE)
    first = report.findings[0]
    assert (first.rule, first.severity, first.confidence) == (RULE, "warning", "high")
    assert first.devices == ("dm-0",)
    assert first.peers == ("sda",)
    assert any("of 128 kB, a chunk each" in e.text for e in first.evidence)


def test_one_sample_of_few_writes_shows_so_large_an_effect(report_of):
    (finding,) = report_of(iostat(stack(samples=1)), BLOCKS, TABLE, rules=[RULE]).findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_copies_that_cost_no_time_are_a_notice(report_of):
    (finding,) = report_of(iostat(stack(wait=6.0)), BLOCKS, TABLE, rules=[RULE]).findings
    assert finding.severity == "notice"


@pytest.mark.parametrize(
    ("samples", "status"),
    [
        (stack(copied=0.0), "clear"),
        (stack(copied=0.1), "clear"),
        (stack(copied=0.0, snapshot_reads=40.0), "clear"),
        (stack(samples=1, writes=4.0), "undetermined"),
    ],
    ids=["all copied", "mostly copied", "a backup reads the snapshot", "few writes"],
)
def test_what_does_not_show_it(report_of, samples, status):
    assert outcome(report_of(iostat(samples), BLOCKS, TABLE, rules=[RULE])).status == status


def test_without_any_table_three_devices_tell_by_their_rates(report_of):
    report = report_of(iostat(stack()))
    finding = report.findings[0]
    assert (finding.rule, finding.confidence, finding.devices) == (RULE, "medium", ("dm-0",))
    assert finding.peers == ("dm-1", "dm-2")
    assert any("no input names" in e.text and e.weighs == "against" for e in finding.evidence)


def mirror_in_sync(writes=16.0, synced=30.0, wait=5.0):
    below = row(synced, 128.0, writes, 4.0, wait)
    kept = row(writes=writes + synced, write_size=(synced * 128 + writes * 4) / (writes + synced), wait=wait)
    return [{"dm-4": row(writes=writes, write_size=4.0, wait=wait), "dm-1": below, "dm-3": kept}] * 20


@pytest.mark.parametrize(
    "samples",
    [
        stack(copied=0.1),
        stack(copied=0.0),
        stack(copied=0.0, snapshot_reads=40.0),
        mirror_in_sync(),
        mirror_in_sync(writes=60.0),
    ],
    ids=["mostly copied", "all copied", "a backup", "a mirror in sync", "a mirror that is written much"],
)
def test_other_devices_with_like_rates_are_no_snapshot(report_of, samples):
    assert outcome(report_of(iostat(samples), rules=[RULE])).status == "not_applicable"


def test_lvm_names_the_hidden_volume(report_of):
    samples = stack()
    report = report_of(iostat(samples), BLOCKS, rules=[RULE])
    assert (report.findings[0].confidence, report.findings[0].peers) == ("high", ("sda",))


def test_lvs_says_which_volume_is_an_origin(report_of):
    lvs = (
        "  LV   VG Attr       LSize   Origin Data%  Devices     Type\n"
        "  data vg owi-a-s---   1.00g               /dev/sda(0)   linear\n"
        "  snap vg swi-a-s--- 600.00m data   20.00  /dev/sda(256) linear\n"
    )
    names = {
        "dm-0": "vg-data",
        "dm-1": "vg-data-real",
        "dm-2": "vg-snap-cow",
        "dm-3": "vg-snap",
        "sda": "sda",
    }
    samples = [{names[name]: one for name, one in sample.items()} for sample in stack()]
    (finding,) = report_of(iostat(samples), lvs, rules=[RULE]).findings
    assert finding.devices == ("vg-data",)


def test_parity_below_a_thin_volume_reads_for_itself(report_of):
    tree = "NAME TYPE\n" + "".join(f"sd{x} disk\n`-md0 raid5\n  `-vg-data lvm\n" for x in "abc")
    table = "vg-data: 0 2097152 thin 253:9 1\n"
    writes = row(writes=30.0, write_size=4.0, wait=30.0)
    members = {f"sd{x}": row(20.0, 4.0, 20.0, 4.0) for x in "abc"}
    said = outcome(
        report_of(iostat([{"vg-data": writes, "md0": writes, **members}] * 10), tree, table, rules=[RULE])
    )
    assert said.status == "clear"


def test_without_the_disk_it_stays_open(report_of):
    samples = [{name: one for name, one in sample.items() if name != "sda"} for sample in stack()]
    assert outcome(report_of(iostat(samples), BLOCKS, TABLE, rules=[RULE])).status == "undetermined"


@pytest.mark.parametrize("first_reads", [0.0, 4.0], ids=["writes alone", "reads in one sample"])
def test_sar_which_counts_no_direction_shows_it_by_bytes(report_of, first_reads):
    # where nothing was read all requests are writes: then some samples tell directions apart, others do not
    def printed(columns):
        rate, kb = columns["r/s"] + columns["w/s"], columns["rkB/s"] + columns["wkB/s"]
        return {
            **{"tps": rate, "rkB/s": columns["rkB/s"], "wkB/s": columns["wkB/s"]},
            **{"areq-sz": kb / max(rate, 1), "await": columns["w_await"], "aqu-sz": columns["aqu-sz"]},
        }

    reading = {name: row(first_reads, 8.0, 13.0, 4.0, 25.0) for name in ("dm-0",) if first_reads}
    first, second = stack(samples=2, writes=13.0)
    samples = [{name: printed(one) for name, one in sample.items()} for sample in (first | reading, second)]
    assert report_of(sar_d(samples), BLOCKS, TABLE, rules=[RULE]).findings[0].rule == RULE
