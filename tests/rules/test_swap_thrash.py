from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "swap-thrash"
THRASH = {"r": 1, "b": 2, "si": 4000, "so": 4200, "bi": 4100, "bo": 4200, "us": 2, "sy": 16, "wa": 80}
LSBLK = "NAME TYPE MOUNTPOINT\nsda  disk [SWAP]\n"
IOSTAT = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 900.0 4000.0 4100.0 4000 4100\n"


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_a_flood_beside_a_thrash_belongs_to_it_and_who_waits_is_told(report_of):
    both = THRASH | {"si": 12_000, "so": 30_000, "bi": 40_000, "bo": 31_000, "b": 11, "cache": 14_000_000}
    out = both | {"si": 170, "so": 38_000, "bi": 22_000, "bo": 39_000, "b": 37}
    finding = only(report_of(vmstat([both] * 2 + [out]), rules=[RULE]))
    assert "in 3 of 3 samples; up to 37 tasks are blocked" in finding.summary
    # what else is written then may be what waits
    copied = out | {"bo": 200_000}
    finding = only(report_of(vmstat([both] * 2 + [copied]), rules=[RULE]))
    assert "in 2 of 3 samples; up to 11 tasks are blocked" in finding.summary


def test_swapping_both_ways_fires(report_of):
    finding = only(report_of(vmstat([THRASH] * 20), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "medium", ())
    assert finding.evidence[0].values == {
        "in_kb": 4000,
        "out_kb": 4200,
        "most": 8200,
        "count": 20,
        "samples": 20,
    }
    assert "98 %" in finding.evidence[1].text


@pytest.mark.parametrize(
    ("waits", "severity"),
    [((95, 100, 86, 0), "critical"), ((95, 30, 20, 20), "warning"), ((95, 95), "warning")],
    ids=["three of four", "one of four", "two"],
)
def test_nothing_but_waiting_for_swap_is_a_standstill(report_of, waits, severity):
    large = THRASH | {"si": 15000, "so": 12000, "bi": 15000, "bo": 12000, "sy": 1}
    rows = [large | {"wa": wait, "us": 99 - wait} for wait in waits]
    assert only(report_of(vmstat(rows), rules=[RULE])).severity == severity


@pytest.mark.parametrize(
    ("log", "severity"),
    [
        ("Jan  9 21:27:28 db kernel: Out of Memory: Killed process 6276 (app).\n", "critical"),
        ("Jan  9 21:27:28 db kernel: EXT3-fs error (device sda1): bad entry in directory\n", "warning"),
    ],
)
def test_processes_that_were_killed_for_memory_are_lost_work(report_of, log, severity):
    finding = only(report_of(log + "\n$ vmstat 2\n" + vmstat([THRASH] * 20), rules=[RULE]))
    assert finding.severity == severity
    assert any("killed 1 process" in item.text for item in finding.evidence) == (severity == "critical")


def test_the_swap_device_is_named_where_known(report_of):
    assert only(report_of(vmstat([THRASH] * 20), IOSTAT, LSBLK, rules=[RULE])).devices == ("sda",)


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"si": 0}, "undetermined", "4,200 kB/s go out to swap and 0 kB/s come back"),
        ({"si": 0, "so": 400, "bi": 0}, "clear", "harmless"),
        ({"so": 0, "b": 0, "wa": 5}, "clear", "no longer"),
        ({"si": 10, "so": 10}, "clear", "next to nothing"),
    ],
)
def test_one_way_or_little_is_no_thrash(report_of, changes, status, reason):
    report = report_of(vmstat([THRASH | changes] * 20), rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == status
    assert reason in outcome(report).reason


CALM = {"swpd": 90_000, "free": 190_000, "buff": 2_000_000, "cache": 10_800_000}
COPY = CALM | {"b": 1, "si": 100, "so": 15_000, "bi": 350_000, "bo": 15_000, "us": 4, "sy": 16, "wa": 8}
SMALL = {"swpd": 700_000, "free": 3_000, "buff": 1_000, "cache": 9_000}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([COPY] * 4, "clear"),
        ([COPY | {"so": 60_000}] * 4, "clear"),  # a flood, of which the copy is ten times as much
        ([COPY | {"bi": 0, "bo": 350_000, "b": 3, "wa": 40}] * 4, "clear"),
        # dirty pages of a file, none of which is written yet
        ([COPY | {"si": 0, "bi": 0, "b": 3, "wa": 40}] * 4, "clear"),
        ([COPY] * 3 + [COPY | {"si": 4_500}], "undetermined"),  # one sample of four
        ([COPY | {"si": 5_000}] * 4, "finding"),  # a quarter comes back
        ([COPY | {"si": 4_000, "so": 600}] * 4, "finding"),  # faults wait, whatever else is read
        ([COPY | SMALL | {"bi": 0}] * 4, "undetermined"),  # nobody waits
        ([COPY | SMALL | {"bi": 0, "wa": 60}] * 4, "finding"),
        ([COPY | SMALL] * 4, "undetermined"),  # the copy may be what waits
        ([COPY | SMALL | {"so": 60_000}] * 4, "finding"),
        # memory that a program takes: the cache is given up first
        ([COPY | {"buff": 0, "cache": 10_800_000 // 40**n, "bi": 0, "wa": 60} for n in range(4)], "finding"),
    ],
)
def test_pages_that_make_room_for_a_copy_are_no_shortage(report_of, rows, found):
    report = report_of(vmstat([CALM] * 6 + rows), rules=[RULE])
    finding = only(report)
    assert (finding is not None) == (found == "finding")
    if finding is None:
        assert outcome(report).status == found


@pytest.mark.parametrize(
    ("grows", "falls", "out", "is_taken"),
    [
        (150_000, 150_000, 0, True),  # shared memory becomes swap
        (150_000, 150_000, 100, True),
        (150_000, 0, 0, False),  # the cache stays
        (0, 150_000, 0, False),  # the cache goes elsewhere
        (500, 500, 0, False),  # little
    ],
)
def test_cache_that_becomes_swap_makes_no_room(report_of, grows, falls, out, is_taken):
    rows = [
        {"swpd": 35_000 + grows * n, "free": 505_000, "cache": 13_000_000 - falls * n, "so": out}
        for n in range(20)
    ]
    rows[-1] |= {"so": 30_000, "bo": 30_000}
    report = report_of(vmstat(rows), rules=[RULE])
    assert outcome(report).status == ("undetermined" if is_taken else "clear")
    assert ("fall by 2,783 MB" in outcome(report).reason) == is_taken
    # where the kernel takes the CPUs it is what the work is slow for
    report = report_of(vmstat([row | {"r": 25, "us": 10, "sy": 90} for row in rows]))
    finding = only(report)
    assert (finding and finding.severity) == ("warning" if is_taken else None)
    if finding is not None:
        assert "fall by 2,783 MB and system time is 90 %" in report.headline
        assert any(other.rule == "cpu-exhausted" for other in report.findings)


@pytest.mark.parametrize(("paged_in", "is_found"), [(500_000, False), (20_000, True)])
def test_a_flood_beside_a_copy_tells_nothing_where_memory_is_not_shown(report_of, paged_in, is_found):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for header, row in (
        ("pswpin/s pswpout/s", "2.00 15000.00"),
        ("pgpgin/s pgpgout/s fault/s majflt/s", f"{paged_in}.00 60000.00 2400.00 0.00"),
    ):
        text += f"\n13:00:00 {header}\n" + "".join(f"13:00:{n:02} {row}\n" for n in range(1, 9))
    report = report_of(text, rules=[RULE])
    assert (only(report) is not None) == is_found
    assert is_found or outcome(report).status == "undetermined"


def test_why_pages_went_out_is_said_in_numbers(report_of):
    reason = outcome(report_of(vmstat([CALM] * 6 + [COPY] * 4), rules=[RULE])).reason
    assert "4 of 10 samples" in reason
    assert "15,000 kB/s" in reason
    assert "12.4 GB" in reason


def test_a_little_both_ways_is_neither_thrash_nor_clear(report_of):
    report = report_of(vmstat([THRASH | {"si": 200, "so": 300, "bi": 90000, "bo": 90000}] * 20), rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "undetermined"


def test_two_samples_of_little_are_neither(report_of):
    report = report_of(vmstat([THRASH] * 2 + [THRASH | {"si": 0}] * 10), rules=[RULE])
    assert only(report) is None
    assert (outcome(report).status, "2 of 12" in outcome(report).reason) == ("undetermined", True)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "changes",
    [
        {"si": 131000, "so": 4_200_000, "bi": 0, "bo": 0},  # a flood
        {"si": 27800, "so": 200, "bi": 41420, "bo": 236},  # pages that come back
        {"si": 27800, "so": 0, "bi": 41420, "bo": 236},
        {"si": 0, "so": 134_000, "bi": 0, "bo": 140_000},
    ],
)
def test_large_amounts_are_believed_from_one_sample(report_of, changes, count):
    calm = {"si": 0, "so": 0, "bi": 0, "bo": 0, "wa": 0}
    finding = only(report_of(vmstat([calm] * 3 + [THRASH | changes] * count), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert f"{count} of {3 + count} samples" in finding.summary
    assert any("zram" in item.text for item in finding.evidence) == (changes["bi"] + changes["bo"] == 0)


def test_ways_that_take_turns_are_thrash(report_of):
    rows = [THRASH | ({"si": 0} if n % 2 else {"so": 0}) for n in range(12)]
    assert only(report_of(vmstat(rows), rules=[RULE])).confidence == "medium"


def test_little_traffic_that_is_mostly_swap_is_only_possible(report_of):
    rows = [THRASH | {"si": 300, "so": 300, "bi": 310, "bo": 320, "wa": 10}] * 20
    finding = only(report_of(vmstat(rows), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_sar_counts_pages_and_its_witnesses_make_it_sure(report_of):
    clocks = [f"13:00:{n:02}" for n in range(2, 42, 2)]
    sections = {
        "pswpin/s pswpout/s": "1200.00 1100.00",
        "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff": (
            "5000.00 4500.00 2400.00 1150.00 2700.00 3800.00 0.00 2300.00 60.50"
        ),
        "%fmem-10 %fmem-60 %fmem-300 %fmem": "40.0 30.0 10.0 45.00",
    }
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n"
    for header, row in sections.items():
        text += f"\n13:00:00 {header}\n" + "".join(f"{clock} {row}\n" for clock in clocks)
    finding = only(report_of(text, rules=[RULE]))
    assert finding.evidence[0].values["in_kb"] == pytest.approx(4800)
    assert (finding.severity, finding.confidence) == ("critical", "high")


def test_the_traffic_of_the_swap_device_tells_without_counters(report_of):
    disk = {"r/s": 1000.0, "rkB/s": 4000.0, "w/s": 1050.0, "wkB/s": 4200.0, "aqu-sz": 2.0, "%util": 99.0}
    finding = only(report_of(iostat([{"sda": disk}] * 5), LSBLK, rules=[RULE]))
    assert (finding.devices, finding.severity, finding.confidence) == (("sda",), "warning", "medium")
    report = report_of(iostat([{"sda": disk}] * 5), "NAME TYPE MOUNTPOINT\nsda  disk /data\n", rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]


def test_without_swap_counters_it_does_not_apply(report_of):
    report = report_of(IOSTAT, rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]


def test_a_slow_disk_that_swaps_little_is_felt_all_the_same(report_of):
    """vmstat of a host that waits 80 % of its time while half of what is paged is swap."""
    row = THRASH | {"si": 511, "so": 312, "bi": 1060, "bo": 500, "wa": 80}
    assert only(report_of(vmstat([row] * 13), rules=[RULE])).severity == "warning"
    assert only(report_of(vmstat([row | {"wa": 10}] * 13), rules=[RULE])).severity == "notice"


SOME = {"r": 0, "b": 5, "si": 1898, "so": 1588, "bi": 1898, "bo": 1588, "us": 4, "sy": 1, "wa": 46}


@pytest.mark.parametrize(
    ("changes", "samples", "is_found"),
    [
        ({}, 1, True),
        ({}, 2, True),
        ({"wa": 5}, 1, True),  # five tasks of many CPUs
        ({"wa": 5, "b": 0}, 1, False),  # nobody waits
        ({"bi": 5000}, 1, False),  # the disk does something else as well
        ({"so": 100, "bo": 100}, 1, False),  # pages come back
        ({"si": 0, "bi": 0, "so": 11000, "bo": 11000}, 1, True),  # out as fast as the disk takes them
        ({"si": 0, "bi": 0, "so": 11000, "bo": 30000}, 1, False),
        ({"si": 0, "bi": 0, "so": 11000, "bo": 11000, "wa": 5, "b": 0}, 1, False),
    ],
)
def test_little_swapping_is_believed_where_tasks_wait_for_nothing_else(report_of, changes, samples, is_found):
    finding = only(report_of(vmstat([SOME | changes] * samples), rules=[RULE]))
    assert bool(finding) == is_found
    if finding:
        assert (finding.severity, finding.confidence) == ("warning", "medium")


@pytest.mark.parametrize(("step", "is_said"), [(400, True), (2, False)])
def test_swap_that_grows_between_averages_since_boot_is_not_cleared(report_of, step, is_said):
    rows = [{"swpd": 49_000 + step * n, "si": 2, "so": 2, "bi": 81, "wa": 1} for n in range(8)]
    head, last = vmstat([]).splitlines(keepends=True)[:2], [vmstat([row]).splitlines()[-1] for row in rows]
    report = report_of("".join("".join(head) + line + "\n" for line in last))
    assert outcome(report).status == "undetermined"
    assert ("grows from 47.9 to 50.6 MB" in outcome(report).reason) == is_said
    assert "its rates are averages since boot" in report.headline
    assert any(f.rule == "first-report-since-boot" for f in report.findings)


BACK = {"b": 7, "swpd": 118000, "free": 1200, "buff": 32000, "cache": 10000, "si": 700, "bi": 710}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [({}, True), ({"b": 0}, False), ({"cache": 400000}, False), ({"bi": 9000}, False)],
    ids=["nothing else is read", "nobody waits", "there is room", "files are read"],
)
def test_pages_that_only_come_back_are_missed_where_tasks_wait_for_nothing_else(report_of, changes, is_found):
    finding = only(report_of(vmstat([BACK | changes] * 9), rules=[RULE]))
    assert (finding is not None and finding.severity == "warning") == is_found
    assert not is_found or finding.severity == "warning"


def paged(name, reads, writes, size=4.0, merged=(0.0, 0.0), util=94.0):
    """A row of requests that were asked for and, of them, the merged ones (shares)."""
    row = {}
    for way, rate, part in (("r", reads, merged[0]), ("w", writes, merged[1])):
        row |= {f"{way}/s": rate * (1 - part), f"{way}rqm/s": rate * part, f"{way}kB/s": rate * size}
    return {
        name: row | {"r_await": 2.0, "w_await": 4.0, "aqu-sz": (reads * 2 + writes * 4) / 1000, "%util": util}
    }


MERGED = (0.02, 0.87)


@pytest.mark.parametrize(
    ("rows", "context", "is_told"),
    [
        (paged("dm-2", 2280, 4500) | paged("sda", 2280, 4500, merged=MERGED), (), True),
        (paged("dm-2", 2280, 4500, 4.4) | paged("sda", 2280, 4500, 4.4, MERGED), (), False),
        (paged("dm-2", 2280, 40) | paged("sda", 2280, 40, merged=MERGED), (), False),
        (paged("dm-2", 60, 90) | paged("sda", 60, 90, merged=MERGED), (), False),
        (paged("dm-2", 2280, 4500) | paged("sda", 2280, 4500, merged=(0.6, 0.87)), (), False),
        (paged("dm-2", 2280, 4500) | paged("sda", 2280, 4500), (), False),
        (paged("dm-2", 2280, 4500) | paged("sda", 9000, 4500, merged=MERGED), (), False),
        (paged("dm-2", 2280, 4500), (), False),
        (paged("dm-2", 2280, 4500) | paged("sda", 2280, 4500, merged=MERGED), (vmstat([{}] * 3),), False),
    ],
    ids=[
        "swap",
        "other sizes",
        "one way",
        "little",
        "reads merge",
        "a database",
        "others read",
        "alone",
        "vmstat",
    ],
)
def test_single_pages_both_ways_are_possibly_swap(report_of, rows, context, is_told):
    finding = only(report_of(iostat([rows] * 2), *context, rules=[RULE]))
    assert (finding is not None) is is_told
    if finding is not None:
        assert (finding.severity, finding.confidence, finding.devices) == ("notice", "low", ("dm-2",))
        assert finding.confirm == ("swapon -s", "vmstat 1")


FULL = {"swpd": 5_200_000, "free": 60_000, "buff": 9_000, "cache": 71_000, "si": 130, "bi": 140, "us": 3}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({}, True),
        ({"si": 12, "bi": 12}, False),
        ({"cache": 4_000_000}, False),
        ({"swpd": 200_000}, False),
    ],
    ids=["it holds many times what memory could take", "hardly any comes back", "there is room", "little"],
)
def test_swap_that_stays_full_while_pages_come_back_is_overcommitted(report_of, changes, is_found):
    report = report_of(vmstat([FULL | changes] * 9), rules=[RULE])
    assert (only(report) is not None) == is_found
    if is_found:
        finding = only(report)
        assert (finding.severity, finding.confidence) == ("notice", "medium")
        assert "5.0 GB lie in swap, 0.1 GB of memory are free or cache" in finding.summary


FREE = {"free": 240_000, "buff": 500_000, "cache": 70_000}


def _sent(*kb, **changes):
    rows, used = [], 40_000
    for out in kb:
        used += out
        rows.append(FREE | {"swpd": used, "so": out, "bo": out, "bi": 7_000, "b": 1, "wa": 30} | changes)
    return rows


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [({}, True), ({"free": 21_000}, False), ({"buff": 5_000_000}, False), ({"si": 5_000}, False)],
    ids=["much is free", "it would not fit", "free memory is at the watermarks", "pages are missed"],
)
def test_pages_that_go_out_though_memory_is_free_are_no_shortage(report_of, changes, is_found):
    rows = _sent(18_000, 7_000, 5_000, 3_500, 9_000, 6_000, **changes)
    finding = only(report_of(vmstat([FREE | {"swpd": 40_000}] * 6 + rows), rules=[RULE]))
    told = finding is not None and "though at least 234 MB were free" in finding.summary
    assert told == is_found
    if is_found:
        assert finding.severity == "notice"
        assert not any("more memory" in text for text in finding.remedy)


RETURN = FREE | {"swpd": 90_000, "si": 2_000, "bi": 4_000, "b": 1, "wa": 8}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"si": 900}, False),
        ({"bi": 20_000}, False),
        ({"b": 0}, False),
        ({"b": 0, "wa": 20}, True),
    ],
    ids=["seen", "a trickle", "other reads", "nobody waits", "iowait"],
)
def test_pages_that_come_back_while_tasks_wait_are_told_with_what_went_out_and_without(
    report_of, changes, is_told
):
    rest = [FREE | {"swpd": 90_000}] * 20
    finding = only(report_of(vmstat([*rest, *[RETURN | changes] * 5, *rest]), rules=[RULE]))
    assert (finding and finding.title) == (
        "Tasks wait for pages that come back from swap" if is_told else None
    )
    sent = _sent(18_000, 7_000, 5_000, 3_500, 9_000, 6_000)
    finding = only(
        report_of(vmstat([FREE | {"swpd": 40_000}] * 6 + sent + [RETURN | changes] * 5), rules=[RULE])
    )
    assert finding.severity == ("warning" if is_told else "notice")
    assert ("2,000 kB/s come back from swap in 5 of 17 samples" in finding.summary) == is_told
    assert "though at least 234 MB were free: this is no shortage of memory" in finding.summary


def places(used, cached, out):
    """`sar -r -W` of sysstat 8: what of 4 GB of swap is used, what of it is cached, and pages that go out."""
    head = "13:00:00 kbmemfree kbmemused %memused kbbuffers kbcached kbswpfree kbswpused %swpused kbswpcad\n"
    rows = [
        f"13:{10 * n}:00 900000 7100000 88.75 2000 150000 {4000000 - kb} {kb} {kb / 40000:.2f} {kept}\n"
        for n, (kb, kept) in enumerate(zip(used, cached, strict=True), 1)
    ]
    swapped = [f"13:{10 * n}:00 0.50 {out:.2f}\n" for n in range(1, len(used) + 1)]
    return head + "".join(rows) + "\n13:00:00 pswpin/s pswpout/s\n" + "".join(swapped)


@pytest.mark.parametrize(
    ("used", "cached", "out", "is_found"),
    [
        ((100000, 1500000, 3900000), (10000, 1400000, 3700000), 0.0, True),
        ((100000, 1500000, 3900000), (10000, 20000, 30000), 0.0, False),
        ((100000, 1500000, 3900000), (10000, 1400000, 3700000), 250.0, False),
        ((3600000, 3800000, 3900000), (3400000, 3600000, 3700000), 0.0, False),
    ],
    ids=["places alone", "not in memory", "written", "long since"],
)
def test_swap_that_fills_without_writes_is_told(report_of, used, cached, out, is_found):
    report = report_of(places(used, cached, out), rules=[RULE])
    finding = only(report)
    assert (finding is not None and finding.title.startswith("Swap fills")) == is_found
    if is_found:
        assert "grows from 0.1 to 3.7 GB (98 %), of which 3.5 GB are in memory as well" in finding.summary
    elif not out and cached[0] > 10000:
        assert outcome(report).reason == "next to nothing is swapped, though 98 % of swap is in use"


OF_FREE = "       total   used   free  shared  buffers  cached\nMem: {0} {0} 0 0 0 0\nSwap: {1} 9000 {1}\n\n"
COMES_BACK = {
    "r": 0,
    "b": 1,
    "swpd": 70_000,
    "si": 14_000,
    "so": 90,
    "bi": 14_300,
    "bo": 100,
    "us": 0,
    "sy": 2,
}


@pytest.mark.parametrize(
    ("changes", "swap", "told"),
    [
        ({}, 900_000, ("critical", "again", "held")),
        ({}, 90_000, ("critical", "again", "")),  # swap is nearly full
        ({"us": 12}, 900_000, ("warning", "again", "held")),  # a program runs
        ({"cache": 400_000}, 900_000, ("warning", "again", "held")),  # there is room
        ({"bi": 30_000}, 900_000, ("warning", "again", "held")),  # files are read
        ({"swpd": 300_000}, 900_000, ("critical", "", "")),  # once, as after a night
    ],
)
def test_pages_that_come_in_again_and_again_while_nothing_goes_out(report_of, changes, swap, told):
    severity, again, held = told
    text = OF_FREE.format(600_000, swap) + "$ vmstat 5\n" + vmstat([COMES_BACK | changes] * 4)
    finding = only(report_of(text, rules=[RULE]))
    assert finding.severity == severity
    assert (
        ("comes in 4.0 times in 20 s" in finding.summary)
        is ("again and again" in finding.title)
        is bool(again)
    )
    assert (
        ("what fills memory is not swapped" in finding.summary)
        is ("slabtop" in finding.remedy[0])
        is bool(held)
    )
    assert not any("of swap was in use" in item.text for item in finding.evidence)


def test_samples_of_unknown_length_are_counted_and_not_timed(report_of):
    finding = only(report_of(vmstat([COMES_BACK] * 20), rules=[RULE]))
    assert "comes in 4.0 times or more in 20 samples" in finding.summary


WORK = {"r": 3, "free": 2_000, "buff": 3_000, "cache": 30_000, "swpd": 9_000, "bi": 8_000, "us": 30, "sy": 40}
LEAVES = WORK | {"b": 1, "so": 1_400, "bi": 1_900, "bo": 1_400, "us": 15, "sy": 10}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({}, True),
        ({"bi": 7_000}, False),  # idle pages that are put away
        ({"b": 0}, False),  # a load that ends
        ({"us": 35, "sy": 30}, False),
        ({"cache": 900_000}, False),  # room for all that leaves
    ],
)
def test_pages_that_leave_are_missed_where_less_is_done_meanwhile(report_of, changes, is_found):
    leaving = [LEAVES | {"swpd": 9_000 + 1_400 * n, "cache": 30_000 + 1_350 * n} | changes for n in range(9)]
    finding = only(report_of(vmstat([WORK] * 6 + leaving), rules=[RULE]))
    assert (finding is not None) == is_found
    if finding:
        assert finding.severity == "warning"
        assert "to make room for the page cache" in finding.summary
        assert "4.2 times less is read" in finding.summary


AREAS = paged("sda5", 130, 40, merged=(0.75, 0.0)) | paged("sda6", 95, 60, merged=(0.75, 0.0))
IN_USE = "       total   used   free  shared  buffers  cached\nMem: 7900000 7850000 50000 0 100 200\n"
IN_USE += "Swap: 8000000 {} 1000\n\n"


@pytest.mark.parametrize(
    ("rows", "used", "iowait", "severity"),
    [
        (AREAS, 3_900_000, 75, "warning"),
        (AREAS, 3_900_000, 20, "notice"),
        (AREAS, 90_000, 75, "notice"),
        ({"sda5": AREAS["sda5"]}, 3_900_000, 75, ""),  # a file system of single blocks
        (AREAS | paged("sda6", 95, 60, merged=(0.75, 0.0), size=6), 3_900_000, 75, ""),
        ({"sda5": AREAS["sda5"], "sdb6": AREAS["sda6"]}, 3_900_000, 75, ""),  # members of an array
        (paged("sda5", 130, 40) | paged("sda6", 95, 60), 3_900_000, 75, ""),  # a database
        (AREAS | paged("sda6", 900, 60, merged=(0.75, 0.0)), 3_900_000, 75, ""),
    ],
)
def test_partitions_that_take_turns_at_single_pages_are_swap_areas(report_of, rows, used, iowait, severity):
    text = iostat([rows] * 2, cpu={"%iowait": iowait, "%idle": 90 - iowait, "%user": 10})
    finding = only(report_of(IN_USE.format(used) + text, rules=[RULE]))
    assert (finding.severity if finding else "") == severity


@pytest.mark.parametrize(
    ("changes", "is_unused"),
    [({}, True), ({"free": 20_000}, False), ({"cache": 400_000}, False), ({"so": 60_000}, False)],
    ids=["free", "short", "a cache", "a minute of it"],
)
def test_swapping_beside_free_memory_is_no_shortage_of_the_whole_host(report_of, changes, is_unused):
    row = THRASH | {"free": 1_600_000, "buff": 0, "cache": 3000} | changes
    finding = only(report_of(vmstat([row] * 5), rules=[RULE]))
    assert ("Memory is short" in finding.summary) != is_unused
    assert ("1.5 GB of memory are free all the while" in finding.summary) == is_unused
    assert any("zone_reclaim_mode" in text for text in finding.remedy) == is_unused
