from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "process-waits"
HEADER = "UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command"


def pidstat(delay, kb=1120.0, step=5, samples=1, of="kB_wr"):
    """`pidstat -d` of one process that waits `delay` ticks in each sample of `step` seconds."""
    text, moved = "", (f"{kb:.2f} 0.00" if of == "kB_rd" else f"0.00 {kb:.2f}")
    for n in range(samples):
        text += f"13:00:{step * n:02}  {HEADER}\n"
        text += f"13:00:{step * (n + 1):02}  0  1687  {moved} 0.00 {delay} sftp\n\n"
    return text


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ("warning", "medium")),
        ({"samples": 3}, ("warning", "high")),
        ({"kb": 90_000.0}, ("notice", "medium")),
        ({"of": "kB_rd"}, ("warning", "medium")),
        ({"delay": 240}, None),
        ({"step": 10}, None),
    ],
    ids=[
        "a writer",
        "in three samples",
        "as much as a stream",
        "a reader",
        "less than half",
        "longer samples",
    ],
)
def test_a_process_that_waits_most_of_its_time_is_told(report_of, options, told):
    report = report_of(pidstat(**{"delay": 498} | options))
    finding = only(report)
    assert (finding and (finding.severity, finding.confidence)) == told
    if finding:
        assert finding.summary.startswith("sftp waits for I/O 100 % of its time while it")
        assert report.verdict.state == "open"


def test_beside_samples_of_disks_it_is_told_for_information(report_of):
    finding = only(report_of(iostat([{"sda": load(200, 0.6, size=8)}] * 5), pidstat(498)))
    assert finding.severity == "info"


def test_a_sample_of_unknown_length_shows_the_time_alone(report_of):
    report = report_of(pidstat(498).replace("13:00:05", "13:00:00"))
    assert only(report) is None
    (outcome,) = [o for o in report.outcomes if o.rule == RULE]
    assert outcome.status == "undetermined"
    assert "4.98 s" in outcome.reason
    assert "sftp read 0 kB/s and wrote 1120 kB/s, and waited 4.98 s" in report.headline.replace(",120", "120")


def test_without_a_column_of_waits_it_does_not_apply(report_of):
    text = pidstat(0).replace(" iodelay", "").replace(" 0 sftp", " sftp")
    (outcome,) = [o for o in report_of(text).outcomes if o.rule == RULE]
    assert outcome.status == "not_applicable"


def test_a_wait_longer_than_the_sample_is_told_as_it_is_and_as_no_share(report_of):
    """The kernel counts it when it ends; another process waits for most of each sample."""
    text = ""
    for second, delay in enumerate((91, 70, 108, 84)):
        text += f"13:00:{second:02}  {HEADER}\n13:00:{second + 1:02}  0  77  0.00 43960.00 0.00 {delay} tar\n"
        text += f"13:00:{second + 1:02}  0  31  0.00 0.00 0.00 2846 jbd2/sda1-8\n\n" * (second == 3)
    summary = only(report_of(text)).summary
    assert summary == (
        "tar waits for I/O 88 % of its time while it writes 43,960 kB/s; "
        "waits of jbd2/sda1-8 for I/O that ended in one sample add up to 28.5 s: one lasted 26.5 s or more."
    )
    short = only(report_of(pidstat(190, kb=4.0, step=1)))  # two waits of half a second each, or one
    assert short.summary == "Waits of sftp for I/O that ended in one sample add up to 1.9 s."
    alone = only(report_of(pidstat(2846, kb=4.0, step=1)))
    told = "aits of sftp for I/O that ended in one sample add up to 28.5 s: one lasted 26.5 s or more"
    assert alone.summary == f"W{told}."
    assert f"w{told}" in alone.evidence[0].text
    assert alone.severity == "warning"


SUMS = """\
Total DISK READ :     310.00 K/s | Total DISK WRITE :     {asked}
Actual DISK READ:     310.00 K/s | Actual DISK WRITE:     {written}
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
"""


def iotop(command, share, read="310.00 K/s", write="720.00 K/s", asked="900.00 K/s", written="800.00 K/s"):
    """One sample of `iotop -b` of a process that waits for a share of its time."""
    row = f"   2871 be/4 root      {read}  {write}  0.00 % {share:.2f} % {command}\n"
    return SUMS.format(asked=asked, written=written) + row


@pytest.mark.parametrize("command", ["rsync -a /srv /mnt", "[btrfs-transacti]", "[jbd2/sdb1-8]"])
def test_iotop_s_share_of_waiting_is_told_with_both_rates(report_of, command):
    report = report_of(iotop(command, 97.4))
    finding = only(report)
    assert (finding.severity, report.verdict.state) == ("warning", "open")
    assert finding.summary == (
        f"{command.split(' -')[0]} waits for I/O 97 % of its time "
        "while it reads 310 kB/s and writes 720 kB/s."
    )
    lack = "no statistics of single disks; all disks together read 310 kB/s and wrote 800 kB/s. To settle it"
    assert f" The capture has {lack}" in report.headline


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ((("rsync", 98.0),), "; 1 more of that name waits 98 %"),
        ((("rsync", 40.0), ("tar", 98.0)), "; about as long wait tar"),
    ],
)
def test_threads_of_one_name_that_wait_alike_are_told_together(report_of, others, told):
    text = iotop("rsync", 99.0)
    for number, (command, share) in enumerate(others, 2872):
        text += iotop(command, share).splitlines()[-1].replace("2871", str(number)) + "\n"
    finding = only(report_of(text))
    assert finding.summary.endswith(f"writes 720 kB/s{told}.")
    assert sum(one.weighs == "for" for one in finding.evidence) == 1 + ("of that name" in told) * len(others)


@pytest.mark.parametrize(
    ("command", "share", "write"),
    [
        ("[kworker/u8:2]", 99.0, "0.00 B/s"),
        ("[kworker/u8:2+flush-8:0]", 99.0, "0.00 B/s"),
        ("[txg_sync]", 58.0, "0.00 B/s"),
        ("rsync -a /srv /mnt", 74.0, "720.00 K/s"),
        ("[jbd2/sdb1-8]", 0.23, "8.00 K/s"),
        ("dd if=/dev/zero of=/srv/a", 92.0, "144.00 M/s"),
    ],
    ids=["a worker", "a flusher", "a thread of the kernel", "a moment", "hardly at all", "a stream"],
)
def test_who_is_not_waited_for_or_moves_what_a_disk_streams_is_no_finding(report_of, command, share, write):
    report = report_of(iotop(command, share, write=write))
    assert only(report) is None
    assert report.verdict.state == "unknown"
    assert (f"waited for I/O {share:.0f} % of its time" in report.headline) == (share > 10)


@pytest.mark.parametrize(("used", "is_told"), [(6100000, True), (900000, False), (0, False)])
def test_swap_that_is_used_for_the_most_part_is_told_beside_it(report_of, used, is_told):
    top = "KiB Mem :  8100000 total,  200000 free,  6800000 used,  1100000 buff/cache\n"
    top += f"KiB Swap:  8400000 total,  {8400000 - used} free,  {used} used.   900000 avail Mem\n"
    finding = only(report_of(iotop("rsync -a /srv /mnt", 97.4) + "\n" + top))
    assert any("5.8 GB of 8.0 GB of swap are used" in one.text for one in finding.evidence) == is_told


@pytest.mark.parametrize(
    ("asked", "written", "told"),
    [
        (
            "600.00 K/s",
            "7.50 M/s",
            "the disks wrote 7,680 kB/s, 12.8 times the 600 kB/s that processes wrote",
        ),
        ("0.00 B/s", "7.50 M/s", "the disks wrote 7,680 kB/s, processes nothing meanwhile"),
        ("6.00 M/s", "7.50 M/s", ""),
        ("7.50 M/s", "600.00 K/s", ""),
        ("90.00 M/s", "60.00 M/s", ""),
    ],
)
def test_what_disks_write_beyond_processes_is_told(report_of, asked, written, told):
    """Of one sample with why it may be of earlier writes."""
    one = iotop("rsync", 3.0, asked=asked, written=written)
    for text, is_one in ((one, True), (one * 2, False)):
        headline = report_of(text).headline
        assert told in headline
        assert ("the disks wrote" in headline) == bool(told)
        assert ("writing is delayed" in headline) == (bool(told) and is_one)


@pytest.mark.parametrize(
    ("command", "is_of_kernel"),
    [
        ("[txg_sync]", True),
        ("[xfsaild/sdb1]", True),
        ("[md7_raid5]", True),
        ("postgres: checkpointer", False),
    ],
)
def test_a_thread_that_writes_for_others_is_not_said_to_wait_for_no_volume(report_of, command, is_of_kernel):
    report = report_of(iotop(command, 63.0, "0.00 B/s", "0.00 B/s", "410.00 K/s", "8.20 M/s"))
    assert ("not for volume" in report.headline) != is_of_kernel
    assert ("what it writes for others is counted as theirs" in report.headline) == is_of_kernel
    assert "the disks wrote 8,397 kB/s, 20.5 times the 410 kB/s" in report.headline
    assert report.headline.count(" for I/O 63 % of its time") == 1


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (
            "   2872 be/4 root      0.00 B/s  2.00 M/s  0.00 % 4.00 % rsync",
            "2 threads of rsync read 310 kB/s",
        ),
        (
            "   2872 be/4 root      0.00 B/s  2.00 M/s  0.00 % 4.00 % tar",
            "tar read 0 kB/s and wrote 2,048 kB/s",
        ),
    ],
)
def test_threads_of_one_program_are_told_together_and_what_fills_the_cache(report_of, second, told):
    headline = report_of(iotop("rsync", 3.0, asked="90.00 M/s", written="30.00 M/s") + second + "\n").headline
    assert f"; {told}" in headline
    assert "meanwhile processes wrote 92,160 kB/s in all and the disks 30,720 kB/s: the rest" in headline


def rows_of(program, *shares, read="300.00 K/s"):
    """Rows of `iotop -b`, a thread of a program for each share of its time that it waits."""
    return "".join(
        f"  {4100 + n} be/4 app      {read}    0.00 B/s  0.00 % {share:.2f} % {program}\n"
        for n, share in enumerate(shares)
    )


def test_threads_that_wait_two_at_a_time_are_told_together(report_of):
    """None of them waits for nearly all of its time, and only five of them are facts of their own."""
    text = SUMS.format(asked="0.00 B/s", written="0.00 B/s")
    report = report_of(text + rows_of("ingest --all", *[40.0] * 7) + rows_of("backup", 70.0))
    finding = only(report)
    assert finding.summary == "7 threads of ingest wait for I/O, 2.8 at a time, while they read 2,100 kB/s."
    assert (finding.severity, report.verdict.state) == ("warning", "open")
    assert only(report_of(text + rows_of("ingest", *[27.0] * 7))) is None


def test_who_waits_stands_with_the_cause_where_disks_are_shown(report_of):
    """Beside samples of disks it is information: the finding that explains it says who waits."""
    disks = iostat([{"sda": load(120, 160.0, size=8)}] * 6)
    text = SUMS.format(asked="0.00 B/s", written="0.00 B/s") + rows_of("ingest", *[70.0] * 8)
    report = report_of(disks, text)
    assert (only(report).severity, only(report).explained_by) == ("info", report.findings[0].rule)
    frees = report_of(disks, text + rows_of("[kswapd0]", 80.0, read="0.00 B/s"))
    assert only(frees).severity == "notice"  # disks show nothing of memory
    # nothing tells that its sums are of the time of those samples: they are no evidence of theirs
    assert not any("8 threads of ingest" in item.text for item in report.findings[0].evidence)


@pytest.mark.parametrize(("share", "is_told"), [(88.0, True), (53.0, True), (20.0, False)])
def test_the_thread_that_frees_memory_shows_that_memory_is_short(report_of, share, is_told):
    report = report_of(iotop("[kswapd0]", share, read="0.00 B/s", write="0.00 B/s"))
    finding = only(report)
    assert (finding is not None) == is_told
    if finding:
        assert finding.summary.startswith(
            f"kswapd0 waits for I/O {share:.0f} % of its time: the kernel frees"
        )
        assert finding.severity == "notice"
        assert finding.confirm[0] == "vmstat 1"
    beside = only(report_of(iotop("rsync -a /srv", 97.0) + rows_of("[kswapd0]", share, read="0.00 B/s")))
    assert ("kswapd0" in beside.summary) == is_told
    assert any("free -m" in remedy for remedy in beside.remedy) == is_told


def test_a_device_that_is_slow_for_no_cause_is_told_with_the_thread_that_frees_memory(report_of):
    mixed = {"r/s": 180.0, "w/s": 1600.0, "rkB/s": 1240.0, "wkB/s": 12900.0, "r_await": 14.5}
    disks = iostat([{"sda": mixed | {"w_await": 0.2, "aqu-sz": 2.9, "%util": 99.8}}] * 3)
    assert "kswapd" not in report_of(disks).headline
    report = report_of(disks, iotop("[kswapd0]", 88.0, read="0.00 B/s", write="0.00 B/s"))
    assert report.verdict.state == "open"
    assert "kswapd0 waits for I/O 88 % of its time: the kernel frees memory" in report.headline
    assert "`free -m`" in report.headline


def threads(*rows):
    """One sample of `iotop -b` of threads of java: their priority, and kB/s that each reads."""
    total = f"{sum(kb for _, kb in rows):.2f} K/s"
    text = SUMS.format(asked="0.00 B/s", written="0.00 B/s").replace("310.00 K/s", total)
    for number, (priority, kb) in enumerate(rows, 170):
        text += f"   {number} {priority} root  {kb:.2f} K/s  0.00 B/s  0.00 % 98.65 % java -client -cp /srv\n"
    return text


def test_two_runs_are_not_told_in_one_sentence_and_classes_of_priority_are_told(report_of):
    first = threads(("be/4", 900.0), ("be/0", 1100.0))
    second = threads(("be/4", 6.0), ("rt/0", 2000.0), ("rt/0", 2200.0))
    report = report_of(f"#### Test1\n{first}\n#### Test2\n{second}\n")
    assert "3 threads of java wait for I/O, 3.0 at a time, while they read 4,206 kB/s" in report.headline
    assert "; 2 of I/O class rt move 4,200 kB/s; 1 of I/O class be move 6 kB/s" in report.headline
    assert "all disks together read 4,206 kB/s and wrote 0 kB/s" in report.headline
    assert "ionice" in only(report).remedy[0]
    # levels of one class are no classes
    assert "class" not in report_of(first).headline


def test_processes_of_one_name_are_counted_beyond_those_that_move_most(report_of):
    rows = "".join(
        f"{2872 + n:>7} be/4 root      0.00 B/s  {1200 - n}.00 K/s  0.00 % 4.00 % worker\n" for n in range(9)
    )
    headline = report_of(iotop("rsync", 3.0, asked="6.00 M/s", written="6.00 M/s") + rows).headline
    assert "9 threads of worker read 0 kB/s and wrote 10,764 kB/s" in headline


NONE_MOVED = "0.00 B/s    0.00 B/s  0.00 %"
INIT = f"      1 be/4 root      {NONE_MOVED}  0.00 % init\n"


@pytest.mark.parametrize(("idle", "is_told"), [(INIT, True), ("", False)], ids=["a cut list", "iotop -o"])
def test_who_stands_in_one_of_several_cut_lists_waits_as_long_as_that_one_says(report_of, idle, is_told):
    """A list that shows who does nothing has all tasks: of what was cut off nothing is known.

    Threads of one program that stand in different lists do not wait at a time.
    """
    rows = ("4100", "99.99", "storer"), ("4207", "97.30", "storer"), ("390", "98.50", "[md7_raid1]")
    text = ""
    for tid, share, name in rows:
        text += SUMS.format(asked="0.00 B/s", written="0.00 B/s").replace("310.00 K/s", "0.00 B/s")
        text += f"   {tid} be/4 root      {NONE_MOVED} {share} % {name}\n{idle}"
    finding = only(report_of(text))
    if not is_told:
        assert finding is None
        return
    assert finding.summary.endswith(", in the 1 of 3 samples that list it; about as long wait storer.")
    assert finding.summary.startswith("[md7_raid1] waits for I/O 98 % of its time")
    assert finding.confidence == "medium"


IOTOP = """\
Total DISK READ :    1200.00 K/s | Total DISK WRITE :       {written:.2f} K/s
Actual DISK READ:    1200.00 K/s | Actual DISK WRITE:       {written:.2f} K/s
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
"""
TASK = "{tid:7d} be/4 root {read:8.2f} K/s {write:8.2f} K/s {swapin:5.2f} % {io:5.2f} % {name}\n"


def listing_of(*tasks, written=0.0):
    """One sample of iotop: a name and what is not 0 of each task."""
    rows = [
        TASK.format(**{"tid": 400 + n, "read": 0, "write": 0, "swapin": 0, "io": 0, "name": name} | task)
        for n, (name, task) in enumerate(tasks)
    ]
    return IOTOP.format(written=written) + "".join(rows)


@pytest.mark.parametrize(("swapin", "is_told"), [(21.9, True), (3.9, False)])
def test_pages_that_threads_wait_for_are_told_beside_what_else_they_wait_for(report_of, swapin, is_told):
    threads = [("k3s server", {"read": 100, "io": 60, "swapin": swapin})] * 4
    finding = only(report_of(listing_of(*threads)))
    assert finding.title == "Several threads of one program wait for I/O at a time"
    assert ("4 of these tasks wait for pages from swap as well, 22 %" in finding.summary) == is_told
    assert (finding.confirm[0] == "vmstat 1") == is_told


@pytest.mark.parametrize("name", ["[ksoftirqd/17]", "[khugepaged]", "[migration/3]", "[rcu_sched]"])
def test_what_is_counted_of_threads_that_ask_no_disk_is_an_artefact(report_of, name):
    report = report_of(listing_of((name, {"io": 99.99}), ("dd", {"read": 18_000, "write": 30_000})))
    assert only(report) is None
    assert name.strip("[]") not in report.headline


@pytest.mark.parametrize(
    ("last", "is_told"),
    [({"io": 32}, True), ({"io": 12}, False), ({"io": 32, "write": 100}, False)],
    ids=["three wait", "two wait", "one writes"],
)
def test_several_programs_that_read_at_once_may_miss_their_own_pages(report_of, last, is_told):
    tasks = (("openvpn", {"io": 99.8}), ("ntpd", {"io": 74}), ("irqbalance", last))
    finding = only(report_of(listing_of(*((name, {"read": 500} | task) for name, task in tasks))))
    assert ("3 programs read and wait at once" in finding.summary) == is_told
    assert (finding.confirm[0] == "vmstat 1") == is_told


def test_a_thread_that_names_a_device_is_told_beside_a_crowd(report_of):
    crowd = [("minio server", {"write": 20, "io": 70})] * 6
    finding = only(report_of(listing_of(*crowd, ("[xfsaild/sdl]", {"io": 99.99}))))
    assert finding.summary.startswith("6 threads of minio server wait for I/O")
    assert "nearly all the time wait [xfsaild/sdl]" in finding.summary


@pytest.mark.parametrize(("write", "is_told"), [(0.0, True), (300.0, False)])
def test_what_waits_and_moves_nothing_waits_for_no_volume(report_of, write, is_told):
    headline = report_of(listing_of(("kvm", {"io": 27.9, "write": write}), ("init", {"write": 9.0}))).headline
    assert ("for flushes (fsync, commits) or metadata" in headline) == is_told


@pytest.mark.parametrize(
    ("other", "said"), [(8830.85, "(pid 75537) read 0"), (90_000.0, "2 processes named")]
)
def test_a_process_that_does_nearly_all_of_its_name_is_told_with_its_number(report_of, other, said):
    text = f"Average:      {HEADER}\nAverage:  999 49010 0.00 {other} 0.00 0 postgres: walwriter \n"
    text += "Average:  999 75537 0.00 275627.86 0.00 0 postgres: user INSERT\n"
    headline = report_of(text).headline
    assert said in headline
    assert ("processes read" in headline) == ("pid" in said)
