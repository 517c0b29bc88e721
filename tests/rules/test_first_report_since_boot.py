from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "first-report-since-boot"
BUSY = {"sda": {"r/s": 100.0, "rkB/s": 1000.0, "aqu-sz": 0.5, "%util": 40.0}}


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def test_the_first_report_is_told_from_the_rest(report_of):
    finding = only(report_of(vmstat([{"us": 40, "r": n} for n in range(10)]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "high")
    switches = next(item for item in finding.evidence if "context switches" in item.text)
    assert switches.values["value"] == 1000
    assert (switches.values["least"], switches.values["most"], switches.values["reports"]) == (
        20001,
        20010,
        10,
    )
    assert switches.lines == (3,)


def test_a_capture_of_nothing_else_is_said_so(report_of):
    finding = only(report_of(iostat([BUSY]).split("11/20/26 13:00:01")[0], rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert "disk" in finding.summary
    assert "nothing about the present" in finding.summary


SCREEN = """\
top - 09:14:0{second} up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87
%Cpu(s):  {user} us,  1.0 sy,  0.0 ni, {idle} id,  9.0 wa,  0.0 hi,  1.0 si,  0.0 st
"""


@pytest.mark.parametrize("screens", [1, 4])
def test_the_first_screen_of_top_may_be_a_sample(report_of, screens):
    shares = [{"user": 3.0, "idle": 86.0}, *([{"user": 41.0, "idle": 48.0}] * 3)]
    text = "\n".join(SCREEN.format(second=n, **shares[n]) for n in range(screens))
    finding = only(report_of(text, rules=[RULE]))
    said = " ".join((finding.title, *finding.remedy, *finding.refutes, *finding.confirm))
    assert "may average" in finding.title
    assert "top -b -n 2" in said
    assert not any(word in said for word in ("vmstat", "iostat", "-y"))
    assert "may average" in finding.summary
    assert ("Only" in finding.summary) == (screens == 1)


OLD_DISK = """\
Linux 5.4.0 (db1) \t11/20/26 \t_x86_64_\t(1 CPU)

Device   r/s  rkB/s  w/s  wkB/s  r_await  w_await  aqu-sz  %util
vda  0.41  11.27  1.93  30.21  3.31  9.62  0.02  {util}

"""
OLD_CPU = "$ iostat -c\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n     {}\n\n"


@pytest.mark.parametrize(
    ("beside", "is_sample"),
    [
        (OLD_DISK.format(util="0.40"), True),  # no task waited for a device that hardly worked
        (OLD_DISK.format(util="81.40"), False),
        (OLD_CPU.format("2.10 0.00 1.20 0.31 0.00 96.39"), True),
        (OLD_CPU.format("3.90 0.00 1.10 74.30 0.00 20.70"), False),
        # what waits for a server waits beside disks that are idle, and did so since boot
        (OLD_DISK.format(util="0.40") + OLD_CPU.format("3.00 0.00 2.00 82.00 0.00 13.00"), False),
    ],
    ids=["idle disk", "busy disk", "other shares", "like shares", "like shares beside an idle disk"],
)
def test_averages_of_other_tools_prove_that_top_shows_a_sample(report_of, beside, is_sample):
    screen = SCREEN.format(second=0, user=3.0, idle=13.0).replace(" 9.0 wa", "82.0 wa")
    report = report_of(screen + "\n" + beside, rules=[RULE])
    titles = [f.title for f in report.findings if "since boot" in f.summary]
    assert any("screen of top" in title for title in titles) is not is_sample
    # what is told of one tool is not told of the other
    assert all("iostat" not in " ".join(f.remedy) for f in report.findings if "top" in f.title)


@pytest.mark.parametrize(("idle", "is_sample"), [("3.0", True), ("96.0", False)])
def test_a_screen_with_each_cpu_is_held_against_an_average_by_their_mean(report_of, idle, is_sample):
    """One of the two CPUs alone is far off the average: an average may be of one that does more."""
    cpus = [
        f"%Cpu{n}  : 2.0 us, 1.0 sy, 0.0 ni,{shown} id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st"
        for n, shown in enumerate((idle, "80.0"))
    ]
    screen = "top - 09:15:00 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87\n" + "\n".join(cpus)
    report = report_of(screen + "\n\n" + OLD_CPU.format("2.10 0.00 1.20 0.31 0.00 96.39"), rules=[RULE])
    assert any("screen of top" in f.title for f in report.findings) is not is_sample


def test_processes_alone_have_no_average_since_boot_to_miss(report_of):
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += "09:10:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    text += "09:10:02        0        93      4.00     40.00      0.00       1  jbd2/sda1-8\n"
    report = report_of(text, rules=[RULE])
    assert [o.status for o in report.outcomes] == ["undetermined"]


BUSY_SCREEN = """\
top - 09:1{n}:00 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87
%Cpu(s): {shares},  0.0 hi,  0.0 si,  0.0 st
{unit} Mem :  15888.4 total,   9312.5 free,   2200.1 used,   4375.7 buff/cache

"""
FULL = ("60.0 us, 40.0 sy,  0.0 ni,  0.0 id,  0.0 wa", "61.0 us, 39.0 sy,  0.0 ni,  0.0 id,  0.0 wa")
CALM = ("2.0 us,  1.0 sy,  0.0 ni, 96.0 id,  1.0 wa", "2.0 us,  1.0 sy,  0.0 ni, 95.0 id,  2.0 wa")
STILL = ("5.0 us,  2.0 sy,  0.0 ni, 48.0 id, 45.0 wa",)
HUNG = ("0.0 us,  1.0 sy,  0.0 ni,  0.0 id, 99.0 wa",)


@pytest.mark.parametrize(
    ("shares", "unit", "is_dated", "said"),
    [
        (FULL * 3, "MiB", True, ("cpu-exhausted", "warning", "medium")),
        (FULL * 3, "MiB", False, ("cpu-exhausted", "warning", "high")),
        (FULL[:1] + CALM * 2, "MiB", False, None),
        (FULL[:1] * 6, "KiB", True, ("cpu-exhausted", "notice", "low")),
        (FULL[:1] * 6, "KiB", False, ("cpu-exhausted", "notice", "low")),
        (STILL * 6, "KiB", False, ("blocked-tasks", "notice", "low")),
        (HUNG * 6, "KiB", False, ("blocked-tasks", "warning", "medium")),
        (HUNG * 6, "KiB", True, ("blocked-tasks", "warning", "medium")),
    ],
    ids=["moments", "a run", "its first", "averages", "undated", "still", "hung", "hung in a loop"],
)
def test_screens_that_a_loop_may_have_started_say_less_than_a_run(report_of, shares, unit, is_dated, said):
    dates = [f"Fri Nov 20 09:1{n}:00 UTC 2026\n" * is_dated for n in range(len(shares))]
    screens = [BUSY_SCREEN.format(n=n, shares=share, unit=unit) for n, share in enumerate(shares)]
    report = report_of("".join(map("".join, zip(dates, screens, strict=True))))
    told = [f for f in report.findings if f.rule in ("cpu-exhausted", "blocked-tasks")]
    assert [(f.rule, f.severity, f.confidence) for f in told] == ([said] if said else [])
    assert (report.verdict.state == "elsewhere") is bool(
        said and said[0] == "cpu-exhausted" and said[2] != "low"
    )


def test_a_threefold_difference_is_told_of_two_reports_and_a_small_one_is_not(report_of):
    head = "Device r/s rkB/s w/s wkB/s r_await w_await aqu-sz %util\n"
    rows = ("130.47 1141.93 371.29 4020.51", "101.00 997.00 4.00 20.00", "103.00 981.00 9.00 40.00")
    text = "".join(f"{head}sda {row} 2.00 3.00 0.10 4.00\n\n" for row in rows)
    finding = only(report_of(f"$ iostat -x 1\n{text}", rules=[RULE]))
    assert finding.severity == "info"
    said = " ".join(item.text for item in finding.evidence)
    assert "371.3 requests/s since boot, 4 to 9 in the 2 reports after it" in said
    assert "130" not in said


def test_reports_of_unknown_length_are_not_judged(report_of):
    head = "Device r/s rkB/s w/s wkB/s r_await w_await aqu-sz %util\n"
    rows = ("3.41 90.20 1.37 20.51", "4.00 92.00 1.00 20.00", "5.00 99.00 2.00 22.00")
    report = report_of("".join(f"{head}sda {row} 2.00 3.00 0.10 4.00\n\n" for row in rows), rules=[RULE])
    assert [outcome.status for outcome in report.outcomes] == ["undetermined"]


def test_mpstat_of_old_shows_the_shares_of_top_and_averages(report_of):
    text = "12:00:01 CPU %user %nice %sys %iowait %irq %soft %steal %idle\n12:00:01 all 3.0 0.0 1.0 9.0 0.0 1.0 0.0 86.0\n"  # noqa: E501
    banner = "Linux 2.6.18 (db1) \t11/20/26\n\n"
    finding = only(report_of(banner + text, rules=[RULE]))
    assert finding.title == "The first report averages the time since boot"


@pytest.mark.parametrize(
    "text",
    [
        "$ iostat -xy 1\n" + iostat([BUSY] * 3).replace("0.50     9.50", "77.00  9.50"),
        "13:00:00  DEV  tps  rkB/s  wkB/s  areq-sz  aqu-sz  await  %util\n"
        "13:00:02  sda  9.0  90.0  0.0  10.0  0.1  5.0  4.0\n",
    ],
    ids=["-y", "sar"],
)
def test_nothing_since_boot_is_clear(report_of, text):
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == ["clear"]


def test_a_first_report_like_the_others_needs_no_contrast(report_of):
    text = iostat([{"sda": {"r/s": 0.5, "rkB/s": 9.5}}] * 5)
    finding = only(report_of(text, rules=[RULE]))
    assert finding is None or len(finding.evidence) == 1


def test_no_sentence_calls_an_average_a_sample(report_of):
    row = {"r/s": 100.37, "rkB/s": 1000.3, "r_await": 900.0, "aqu-sz": 90.0, "%util": 99.73}
    parts = iostat([{"sda": row}]).split("11/20/26")
    averages = "11/20/26".join(parts[:2]) + parts[3].partition("\n")[2]
    report = report_of(averages)
    assert only(report).severity == "notice"
    findings = [finding for finding in report.findings if finding.devices]
    assert findings
    for finding in findings:
        assert not any(
            "only sample" in text for text in (finding.summary, *(e.text for e in finding.evidence))
        )
        assert finding.samples is None


@pytest.mark.parametrize(
    ("since_boot", "told"),
    [
        # nice is a part of vmstat's us; 1.22 is 1 where no decimals are printed
        ("9.44  21.99  20.13  1.22  0.00  47.22", False),
        ("0.01  0.00  20.13  1.22  0.00  78.64", True),
    ],
)
def test_an_average_is_held_against_columns_of_like_meaning_and_digits(report_of, since_boot, told):
    text = "Linux 4.10.0 (db01) \t07/30/2017 \t_x86_64_\t(16 CPU)\n\n"
    text += f"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          {since_boot}\n\n"
    text += "Device:            tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\n"
    text += "sda              84.20         0.12         8.03        258      17858\n\n"
    same = {"in": 900, "cs": 1000, "bi": 3, "bo": 5, "wa": 1}  # as in the first row
    rows = [same | {"us": us, "sy": 20 + us % 2} for us in (29, 31, 36, 37)]
    report = report_of(text + "$ vmstat 10\n" + vmstat(rows), rules=[RULE])
    said = " ".join(item.text for finding in report.findings for item in finding.evidence)
    assert (f"guest included: {since_boot.split()[0]} % since boot" in said) is told
    assert "waiting for I/O" not in said


def test_small_shares_differ_by_chance_from_a_single_report(report_of):
    text = "$ iostat -x 5 2\nLinux 5.15.0 (h1) \t03/04/2024 \t_x86_64_\t(8 CPU)\n\n"
    for iowait in ("0.02", "0.10"):
        text += "avg-cpu:  %user %nice %system %iowait %steal %idle\n"
        text += f"          1.31 0.00 0.52 {iowait} 0.00 98.15\n\n"
    assert not [f for f in report_of(text, rules=[RULE]).findings]


HEAD = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
LATER = "sda 0.42 0.00 5.87 0 704\nsdb 0.42 0.00 5.87 0 704\nmd0 0.20 0.00 5.07 0 608\n"
LEGS = "sda 123.05 8035.58 135.54 602668500 10165500\nsdb 123.61 8055.11 135.54 604133250 10165500\n"
ARRAY = "md0 11.80 251.06 134.79 18829500 10109250\n"


@pytest.mark.parametrize(
    ("since_boot", "is_told"),
    [
        (LEGS + ARRAY, True),
        (LEGS + "md0 11.80 15251.06 134.79 1143829500 10109250\n", False),
        (LEGS + "md0 11.80 1.06 0.79 79500 59250\n", False),
        (LEGS.replace("8055.11", "6055.11") + ARRAY, False),
        (LEGS.replace("sdb", "sda1") + ARRAY, False),
        (LEGS.replace("sdb", "dm-0") + ARRAY, False),
    ],
    ids=["a check", "the array's own reads", "another use", "not alike", "a partition", "a volume"],
)
def test_a_mirror_that_was_read_whole_since_boot_is_said_so(report_of, since_boot, is_told):
    text = f"Linux 5.14.0 (db1) 11/20/26 _x86_64_ (8 CPU)\n\n{HEAD}{since_boot}\n"
    finding = only(report_of(text + 4 * f"{HEAD}{LATER}\n", rules=[RULE]))
    told = [item for item in finding.evidence if "read whole" in item.text]
    assert len(told) == is_told
    for item in told:
        assert item.lines == (4, 5)
        assert item.values["least"] == pytest.approx(8035.58)


STEADY = {"bi": 370, "bo": 71_000, "in": 160_000, "cs": 161_000, "us": 31, "sy": 4, "wa": 1}
TICKING = {"bo": 40, "cs": 900, "us": 20}


def without_average(rows):
    lines = vmstat(rows).splitlines(keepends=True)
    return "".join(lines[:2] + lines[3:])


@pytest.mark.parametrize(
    ("first", "later", "is_average"),
    [
        (STEADY | {"bo": 61_500, "in": 182_000}, STEADY, False),  # beside the range, within 15 % of it
        (STEADY, STEADY, False),
        (STEADY | {"bo": 900, "in": 1200, "cs": 2100, "us": 2}, STEADY, True),
        (TICKING | {"in": 580}, TICKING | {"in": 1004}, True),  # a timer of 1000 Hz ticks in every second
        (TICKING | {"in": 580}, TICKING | {"in": 760}, False),  # no timer keeps these up
        (TICKING | {"in": 950}, TICKING | {"in": 1004}, False),
    ],
    ids=["beside", "equal", "unlike", "below the tick", "no tick", "at the tick"],
)
def test_the_first_row_is_held_against_those_of_its_own_run(report_of, first, later, is_average):
    other = {"bi": 9, "bo": 5, "in": 5000, "cs": 9000, "us": 90}
    later = [later | {"cs": later["cs"] + 10 * number} for number in range(6)]
    own = without_average([first, *later])
    commented = f"# Collection Command: /usr/bin/vmstat 5 2\n{own}"
    for text in (own, commented, f"Before:\n{without_average([other] * 7)}\nAfter:\n{own}"):
        report = report_of(text, rules=[RULE])
        assert (only(report) is not None) == is_average


def test_reports_after_an_average_stand_below_it(report_of):
    above = without_average([STEADY] * 5)
    text = f"Before:\n{above}\nAfter:\n{vmstat([STEADY | {'bo': 900}] * 5)}"
    finding = only(report_of(text, rules=[RULE]))
    assert finding is None or all(item.values.get("reports", 5) == 5 for item in finding.evidence)
    assert "1 report)" in finding.summary


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("4.80 83.00 23.00 34.00 73.20", "busy on average since boot"),
        ("0.43 27.06 0.00 810.00 2.70", "21.92 requests in flight, 797.3 ms each"),
        ("20.00 0.50 0.34 44.00 2.00", ""),
        ("4.80 0.30 6.00 900.00 5.00", ""),
    ],
    ids=["busy for most of the time", "late and in flight", "flushes now and then", "a late one in a while"],
)
def test_what_was_slow_since_boot_is_told_where_what_follows_is_alike(report_of, old, said):
    head = "Device r/s w/s r_await w_await %util\n"
    text = f"$ iostat -x 1 2\nLinux 5.4.0 (box) 11/20/26 _x86_64_ (4 CPU)\n\n{head}sda {old}\n\n{head}"
    finding = only(report_of(f"{text}sda {old}\n", rules=[RULE]))
    assert bool(finding) is bool(said)
    assert finding is None or (finding.severity == "info" and said in finding.summary)


@pytest.mark.parametrize(
    ("totals", "confidence"),
    [((182400000, 91200000), "high"), ((182400000, 88000000), "low"), ((30400, 15200), "low")],
    ids=["weeks", "of two lengths", "minutes"],
)
def test_totals_over_rates_that_are_one_long_time_prove_an_average(report_of, totals, confidence):
    read, written = totals
    table = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    rows = f"vda 12.5 152.00 76.00 {read} {written}\nvdb 12.5 76.00 38.00 {written} {written // 2}\n"
    finding = only(report_of(f"Linux 5.14.0 (db1) \t11/20/26\n\n{table}{rows}", rules=[RULE]))
    assert (finding.confidence if finding else "low") == confidence
