"""Reports to render: a realistic one, the smallest one, and one out of hostile captures."""

from __future__ import annotations

import math
import statistics

from iodiag.model.capture import Section
from iodiag.model.finding import Edge, Evidence, Finding, Outcome, Quote
from iodiag.model.report import (
    DeviceSummary,
    PhaseSummary,
    Report,
    Series,
    SourceSummary,
    StateSummary,
    UnparsedLine,
    Verdict,
)

MEMBERS = ("dm-82", "dm-84", "dm-86", "dm-88")
DISKS = ("sdb", "sdc", "sdd", "sde")
HOST = "backup01"
SAMPLES = 60
BUSY = (18, 47)
FIRST_CLOCK = 1568869801  # 2019-09-19 05:10:01 UTC
MEAN_AWAIT = {"dm-82": 146.3, "dm-84": 206.8, "dm-86": 144.3, "dm-88": 90.9, "dm-89": 1107.8}
HEADER = (
    "07:10:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util"
)


def _wave(at: int, seed: int) -> float:
    """A repeatable wobble between about 0.75 and 1.25."""
    return 1 + 0.15 * math.sin(at * 0.9 + seed) + 0.1 * math.sin(at * 2.3 + seed * 1.7)


def _load(at: int) -> float:
    """The share of the full load at a sample: quiet, then the nightly backup, then quiet."""
    if BUSY[0] <= at <= BUSY[1]:
        return 1.0
    return 0.12 if at < BUSY[0] else 0.18


def _series(name: str, seed: int) -> Series:
    columns: dict[str, list[float]] = {key: [] for key in COLUMNS}
    await_ms = MEAN_AWAIT.get(name, {"sdd": 33.1, "sdb": 19.2, "sdc": 9.8, "sde": 7.7}.get(name, 5.0))
    is_volume = name == "dm-89"
    for at in range(SAMPLES):
        load = _load(at) * _wave(at, seed)
        ios = (375.29 if is_volume else 360.0 if name.startswith("dm") else 146.0) * load
        slow = await_ms * (0.1 + 0.9 * load**1.5)
        columns["ios_per_s"].append(ios)
        columns["read_kb_per_s"].append((1748.3 if is_volume else 862.9) * load)
        columns["write_kb_per_s"].append((1279.5 if is_volume else 573.2) * load)
        columns["request_size_kb"].append(8.07 if is_volume else 3.99)
        columns["await_ms"].append(slow)
        columns["queue_depth"].append(ios * slow / 1000)
        columns["util_pct"].append(min(100.0, (58.64 if is_volume else 33.0) * (0.2 + 0.8 * load) * 1.1))
    return Series(
        name=name,
        host=HOST,
        position=tuple(range(SAMPLES)),
        time=tuple(float(FIRST_CLOCK + 60 * at) for at in range(SAMPLES)),
        columns={key: tuple(round(value, 3) for value in values) for key, values in columns.items()},
        typical={"kb_per_s": 3027.8 if is_volume else 1436.1},
    )


COLUMNS = (
    "ios_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
    "request_size_kb",
    "await_ms",
    "queue_depth",
    "util_pct",
)


def _summary(series: Series) -> dict[str, dict[str, float]]:
    found = {}
    for column, values in series.columns.items():
        ordered = sorted(values)
        p95 = ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)]
        found[column] = {"median": statistics.median(ordered), "p95": p95, "max": ordered[-1]}
    return found


def _device(series: Series) -> DeviceSummary:
    name = series.name
    level = {"dm-89": "raid5"}.get(name, "linear" if name.startswith("dm") else None)
    at = MEMBERS.index(name) if name in MEMBERS else None
    return DeviceSummary(
        name=name,
        host=HOST,
        aliases=("vg0-backup", "dev253-89")
        if name == "dm-89"
        else (f"dev253-{name[3:]}",)
        if at is not None
        else (),
        kind="lvm" if name.startswith("dm") else "disk",
        level=level,
        members=MEMBERS if name == "dm-89" else (DISKS[at],) if at is not None else (),
        samples=SAMPLES,
        summary=_summary(series),
        provenance={"level": "lvs lvs.txt:3", "members": "lvs lvs.txt:3"} if name == "dm-89" else {},
    )


def _cpu() -> Series:
    return Series(
        name="all",
        host=HOST,
        position=tuple(range(SAMPLES)),
        time=tuple(float(FIRST_CLOCK + 60 * at) for at in range(SAMPLES)),
        columns={
            "user_pct": tuple(round(8.8 * _wave(at, 1), 2) for at in range(SAMPLES)),
            "system_pct": tuple(round(7.2 * _wave(at, 2), 2) for at in range(SAMPLES)),
            "iowait_pct": tuple(round(38 * _load(at) * _wave(at, 3), 2) for at in range(SAMPLES)),
        },
    )


_LEG = {"read_kb_per_s": 862.9, "write_kb_per_s": 573.2, "ios_per_s": 360.0}


def _partial_stripe() -> Finding:
    row = "07:40:01    dev253-89    375.29   3496.57   2559.05     16.14    423.86   1107.75   1.56     58.64"
    member = (
        "07:40:01    dev253-84    359.86   1725.34   1146.51      7.98     75.11    206.84   1.03     37.04"
    )
    return Finding(
        rule="raid-partial-stripe-write",
        role="cause",
        severity="warning",
        confidence="high",
        title="Parity RAID reads and rewrites parity for small writes",
        summary=(
            "`dm-89` (RAID5 over 4 members) wrote 1,280 kB/s in requests of 8.07 kB; its members wrote "
            "1.79 times that and read 1.33 kB beyond what was asked for every kB written. About two thirds "
            "of the writes took the read-modify-write path."
        ),
        devices=("dm-89", *MEMBERS),
        host=HOST,
        start="2019-09-19T07:28:01+02:00",
        end="2019-09-19T07:57:01+02:00",
        samples=BUSY,
        evidence=(
            Evidence(
                text="write amplification: members wrote 2,293 kB/s for 1,280 kB/s at `dm-89` = 1.79x; "
                "full stripes on 4 members need 1.33x, read-modify-write 2x",
                values={"member_write_kb_per_s": 2292.68, "write_kb_per_s": 1279.525, "alpha": 1.7918},
                source="sar-d.txt",
                lines=(171, 172, 173, 174, 175, 301, 302, 303),
                rows=150,
                quotes=(
                    Quote("sar-d.txt", 172, member, HEADER),
                    Quote("sar-d.txt", 175, row, HEADER),
                ),
            ),
            Evidence(
                text="extra reads: members read 1,704 kB/s more than `dm-89` was asked for = 1.33 per kB "
                "written; full stripes need none",
                values={"extra_read_kb_per_s": 1703.565, "rho": 1.3314},
                source="sar-d.txt",
                lines=(171, 172, 173, 174, 175),
                rows=150,
                quotes=(Quote("sar-d.txt", 175, row, HEADER),),
            ),
            Evidence(
                text="two independent shares agree: 69 % of writes from the write amplification, "
                "67 % from the reads",
                values={"share_from_writes": 0.688, "share_from_reads": 0.666},
                source="sar-d.txt",
                lines=(171, 172, 173, 174, 175),
                rows=150,
            ),
            Evidence(
                text="the volume is RAID5 with 4 members and 64 kB chunks, so a full stripe is 192 kB",
                values={"members": 4.0, "chunk_kb": 64.0},
                source="lvs.txt",
                lines=(3,),
                rows=1,
                quotes=(
                    Quote(
                        "lvs.txt",
                        3,
                        "  backup vg0 rwi-aor--- 5.40t raid5 4 64.00k backup_rimage_0(0),backup_rimage_1(0)",
                    ),
                ),
            ),
            Evidence(
                text="the stripe cache may have absorbed some reads: the share from reads is 2 points lower",
                values={"difference": 0.022},
                source="sar-d.txt",
                lines=(175,),
                rows=1,
                weighs="against",
            ),
        ),
        thresholds={"min_write_kb_per_s": 256.0, "rho": 0.4, "agree": 0.2},
        remedy=(
            "Move this volume to RAID10: it would write 2.0 kB per kB instead of moving 3.12.",
            "Make writes as large as a stripe (192 kB) and align them: set `su` and `sw` of the file system.",
            "Raise `stripe_cache_size` (md default 256) so that neighbouring writes meet in the cache.",
        ),
        confirm=(
            "lvs -a -o+segtype,stripes,stripesize,devices vg0",
            "cat /proc/mdstat",
            "cat /sys/block/md*/md/stripe_cache_size",
        ),
        refutes=(
            "A resync or a reshape ran in the window: `cat /proc/mdstat` or `lvs -o+sync_percent` shows it.",
        ),
        cannot_know=(
            "Which process wrote, and whether the writes could be larger.",
            "Whether single requests were slower than the sample means.",
        ),
        references=("https://docs.kernel.org/admin-guide/md.html", "lvmraid(7)"),
        supersedes=("layer-iops-mismatch",),
        pictures=("stack",),
        edges=(
            Edge(None, "dm-89", {"read_kb_per_s": 1748.3, "write_kb_per_s": 1279.5, "ios_per_s": 375.29}),
            *(Edge("dm-89", leg, _LEG) for leg in MEMBERS),
            *(Edge(leg, disk, _LEG) for leg, disk in zip(MEMBERS, DISKS, strict=True)),
        ),
    )


def _slow_member() -> Finding:
    return Finding(
        rule="slow-member",
        role="cause",
        severity="warning",
        confidence="medium",
        title="One disk of the array answers later than its peers",
        summary=(
            "`sdd` took 33.1 ms per request where `sde` took 7.7 ms at the same load (4.3 times as long); "
            "reads of the array wait for the slowest member."
        ),
        devices=("sdd", "sdb", "sdc", "sde"),
        host=HOST,
        start="2019-09-19T07:28:01+02:00",
        end="2019-09-19T07:57:01+02:00",
        samples=BUSY,
        evidence=(
            Evidence(
                text="await 33.06 ms on `sdd`, 19.15 on `sdb`, 9.83 on `sdc`, 7.7 on `sde`, at 136.6, 128.6, "
                "127 and 129.2 requests/s",
                values={
                    "sdd_await_ms": 33.06,
                    "sdb_await_ms": 19.15,
                    "sdc_await_ms": 9.83,
                    "sde_await_ms": 7.7,
                },
                source="iostat.txt",
                lines=(9, 10, 11, 12),
                rows=4,
                quotes=(
                    Quote(
                        "iostat.txt",
                        9,
                        "sdd            1390.60  1791.20   72.60   64.00  6576.00  7355.50   203.98     4.54"
                        "   33.06   28.29   38.47   7.05  96.36",
                    ),
                    Quote(
                        "iostat.txt",
                        10,
                        "sde            1396.00  1791.20   71.40   57.80  6577.60  7333.90   215.35     1.00"
                        "    7.70    5.43   10.50   2.90  37.50",
                    ),
                ),
            ),
            Evidence(
                text="`sdb` is second in every sample, so two disks are slow and two are fast: a port or a "
                "model may be the cause rather than one failing disk",
                values={"rank_of_sdb": 2.0},
                source="iostat.txt",
                lines=(12,),
                rows=1,
                weighs="against",
            ),
            Evidence(
                text="all four disks read 6,571 to 6,578 kB/s",
                weighs="context",
                source="iostat.txt",
                lines=(9, 12),
            ),
        ),
        thresholds={"ratio": 1.75, "persistence": 0.8},
        remedy=(
            "Compare model, firmware, port and cable of `sdd` and `sdb` with `sdc` and `sde`.",
            "Replace the slow disk if its log confirms it.",
        ),
        confirm=("smartctl -x /dev/sdd", "lsblk -t /dev/sd{b,c,d,e}"),
        refutes=("The slow disks carry a partition that no sample shows.",),
        cannot_know=("Why the disk is slow: media, cable, or firmware.",),
        references=("https://www.usenix.org/conference/fast23/presentation/lu",),
        pictures=("peers",),
        peers=("sdb", "sdc", "sdd", "sde"),
        edges=tuple(
            Edge(None, name, {"await_ms": await_ms, "read_kb_per_s": 6575.0})
            for name, await_ms in (("sdb", 19.15), ("sdc", 9.83), ("sdd", 33.06), ("sde", 7.7))
        ),
    )


def _findings() -> tuple[Finding, ...]:
    interval = Finding(
        rule="interval-too-long",
        role="reading",
        severity="notice",
        confidence="high",
        title="The interval hides bursts",
        summary="`dm-89` was busy 58.6 % of the time with 424 requests in flight on average: 723 whenever "
        "it was busy.",
        devices=("dm-89",),
        host=HOST,
        samples=(30, 30),
        start="2019-09-19T07:40:01+02:00",
        end="2019-09-19T07:40:01+02:00",
        evidence=(
            Evidence(
                text="423.86 in flight / 58.64 % busy = 723 in flight while busy",
                values={"queue_depth": 423.86, "util_pct": 58.64, "busy_queue_depth": 722.8},
                source="sar-d.txt",
                lines=(175,),
                rows=1,
            ),
        ),
        remedy=("Capture again with `iostat -xyt 1` while the backup runs.",),
        confirm=("iostat -xyt 1 60 dm-89",),
        cannot_know=("How long each burst lasted.",),
        explained_by="raid-partial-stripe-write",
    )
    iowait = Finding(
        rule="iowait-misread",
        role="context",
        severity="info",
        confidence="medium",
        title="%iowait says little here",
        summary="%iowait stood at 40.67 % at 43.31 % idle: it counts idle CPUs with a waiting task, no harm.",
        host=HOST,
        evidence=(
            Evidence(
                text="idle 43.31 + iowait 40.67 = 83.98 % of the CPU time is available",
                values={"idle_pct": 43.31, "iowait_pct": 40.67},
                source="iostat.txt",
                lines=(5,),
                rows=1,
                quotes=(Quote("iostat.txt", 5, "           8.80    0.00    7.22   40.67    0.00   43.31"),),
            ),
        ),
        references=("proc_stat(5)",),
    )
    return iowait, interval, _slow_member(), _partial_stripe()


def _outcomes() -> tuple[Outcome, ...]:
    fired = [Outcome(f.rule, "finding", f.devices, host=HOST) for f in _findings()]
    return (
        *fired,
        Outcome("true-saturation", "clear", ("dm-89", *DISKS), host=HOST),
        Outcome("volume-cap", "clear", ("dm-89", *DISKS), host=HOST),
        Outcome("svctm-misread", "clear", host=HOST),
        Outcome("swap-thrash", "clear", reason="no page was swapped in or out", host=HOST),
        Outcome(
            "low-concurrency-bound",
            "undetermined",
            ("dm-89",),
            reason="only one load level; a capture of a quieter hour would settle it",
            host=HOST,
        ),
        Outcome(
            "flush-latency",
            "not_applicable",
            DISKS,
            "the captures have no flush columns",
            ("flush_await_ms",),
            HOST,
        ),
        Outcome(
            "discard-stall",
            "not_applicable",
            DISKS,
            "the captures have no discard columns",
            ("discard_await_ms",),
            HOST,
        ),
        Outcome(
            "serialized-commit", "not_applicable", (), "no process list was given", ("processlist",), HOST
        ),
        Outcome("acme-san-latency", "error", (), "KeyError: 'lun' (a third party's rule)", (), HOST),
    )


def _sources() -> tuple[SourceSummary, ...]:
    sar = Section(
        source="sar-d.txt",
        format="sar",
        layout=HEADER[18:],
        host=HOST,
        kernel="3.10.0-957.10.1.el7.x86_64",
        cpus=4,
        start="2019-09-19T07:10:01+02:00",
        end="2019-09-19T08:09:01+02:00",
        reports=SAMPLES,
        rows=SAMPLES * 9,
        first_line=1,
    )
    iostat = Section(
        "iostat.txt",
        "iostat",
        "iostat -x (sysstat 9.1.2 to 11)",
        HOST,
        "3.10.0-957.10.1.el7.x86_64",
        4,
        reports=1,
        rows=5,
        first_line=1,
    )
    lvs = Section("lvs.txt", "lvs", "lvs -a -o+devices", HOST, rows=2, is_context=True, first_line=1)
    bad = (
        UnparsedLine(88, "07:2", "the line breaks off: 1 of 10 values"),
        UnparsedLine(401, "07:51:01    dev253-82    36", "the line breaks off: 3 of 10 values"),
    )
    return (
        SourceSummary(sar, ledger={"banner": 1, "header": 60, "row": 540, "unread": 0}),
        SourceSummary(iostat, bad, ledger={"banner": 1, "header": 2, "row": 5, "noise": 3, "unread": 2}),
        SourceSummary(
            lvs,
            notes=(UnparsedLine(0, "", "context without a host name was given to the only host"),),
            ledger={"context": 3},
        ),
    )


def _states() -> tuple[StateSummary, ...]:
    """Five states of the volume, and one of a disk whose samples have no length."""
    texts = (
        ("reads and writes", 30, "30 of 60 samples: 375 requests/s of 8.1 kB, 723 in flight, 1108 ms each"),
        ("writes", 18, "18 of 60 samples: 45 writes/s of 8.1 kB, 2 in flight, 40.0 ms each"),
        ("idle", 8, "8 of 60 samples: no I/O"),
        ("stuck", 3, "3 of 60 samples: nothing completed, 424 in flight, 100 % busy"),
        ("reads", 1, "1 of 60 samples: 12 reads/s of 4.0 kB, 1 in flight, 5.0 ms each"),
    )
    of_volume = (
        StateSummary(
            "dm-89", HOST, count, 60.0 * count, count / SAMPLES, 6000.0 * count, kind, 8.07, 100.0, 2.0, 40.0,
            58.6, text, "sar-d.txt", (171, 175),
        )
        for kind, count, text in texts
    )  # fmt: skip
    disk = StateSummary(
        "sdd", HOST, SAMPLES, None, 1.0, 8196.0, "reads", None, 136.6, None, 33.06, None,
        "136.6 reads/s, 33.06 ms each", "iostat.txt", (9,),
    )  # fmt: skip
    return (*of_volume, disk)


def raid5_report() -> Report:
    """A RAID5 volume under a nightly backup, with findings of every severity but critical."""
    series = tuple(_series(name, seed) for seed, name in enumerate(("dm-89", *MEMBERS, *DISKS)))
    idle = DeviceSummary(
        "sda", HOST, (), "disk", None, (), SAMPLES, {"ios_per_s": {"median": 0.0, "p95": 0.0, "max": 0.0}}
    )
    return Report(
        iodiag="0.1.0",
        generated="2026-01-02T03:04:05+00:00",
        headline=(
            "Small writes to the RAID5 volume `dm-89` hold `backup01` back: two thirds of them made the "
            "array read and rewrite parity."
        ),
        verdict=Verdict("trouble", "raid-partial-stripe-write", ("dm-89",), "warning", "high"),
        states=_states(),
        sources=_sources(),
        devices=(*(_device(one) for one in series), idle),
        findings=_findings(),
        outcomes=_outcomes(),
        thresholds={
            "raid-partial-stripe-write": {"min_write_kb_per_s": 256.0, "rho": 0.4, "agree": 0.2},
            "slow-member": {"ratio": 1.75, "persistence": 0.8},
        },
        series=(*series, _cpu()),
    )


def empty_report() -> Report:
    """What an input without a single finding gives."""
    section = Section("quiet.txt", "vmstat", "vmstat 1", reports=1, rows=1)
    return Report(
        "0.1.0",
        "2026-01-02T03:04:05+00:00",
        "",
        (SourceSummary(section),),
        outcomes=(Outcome("volume-cap", "clear"),),
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "a|b\\|c",
    "```\n# owned",
    "`` ` ``",
    "\u202egpj.exe\u2066",
    "[click](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<https://evil.example>",
    "https://evil.example/?q=1",
    "www.evil.example",
    "@everyone #1 GH-1 root@evil.example",
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "[bold red]markup[/bold red] :skull:",
    "$\\frac{1}{0}$",
    "&lt;b&gt; &amp; &#x3c;",
    "line\r\nbreak\x00\x7f",
    "' onload='alert(1)\" style=\"x",
    "---",
    "# heading",
    "1. one",
    "> quote",
    "{{ 7*7 }}{% raw %}",
    "_a_ *b* ~~c~~ **d**",
    "]]></style></svg><img src=x onerror=alert(1)>",
    "\ud800lone",
    "日本語",
    "-->",
    "\\",
    "    indented",
    "| --- | --- |",
    "",
)


def hostile_report(text: str) -> Report:
    """Every free text of a report set to `text`."""
    quote = Quote(text, 7, text, text)
    evidence = tuple(
        Evidence(text, {text: text, "n": math.nan}, text, (1, 2, 9), 9, (quote, quote), weighs)
        for weighs in ("for", "against", "context")
    )
    finding = Finding(
        text, "critical", "low", text, text, evidence, {text: math.inf},
        (text, text), (text,), (text,), (text,), (text,), (text,), text,
        ("stack", "peers", "ladder", "cpu"), (text, "sda"),
        (Edge(None, text, {"await_ms": 1.0}), Edge(text, "sda", {text: 1.0, "await_ms": 2.0})),
        devices=(text, "sda", text), host=text, start=text, end=text, samples=(0, 2),
    )  # fmt: skip
    section = Section(text, text, text, text, text, 2, text, text, 3, 3, False, 4)
    line = UnparsedLine(3, text, text)
    summary = {"await_ms": {"median": 1.0, "p95": math.nan, "max": 2.0}, "util_pct": {"max": 1.0}}
    series = Series(
        text, text, (0, 1, 2), (), {"await_ms": (1.0, math.nan, 2.0), "queue_depth": (1.0, 1.0, 1.0)}
    )
    return Report(
        iodiag=text,
        generated=text,
        headline=text,
        verdict=Verdict("open", text, (text,), "critical", "low"),
        phases=tuple(
            PhaseSummary(text, text, text, at, text, 3, None, {text: 1.0 + at, "await_ms": 2.0})
            for at in range(2)
        ),
        states=(
            StateSummary(
                text, text, 3, math.nan, 1.0, 9.0, text, None, 1.0, None, 2.0, None, text, text, (7,)
            ),
        ),
        sources=(SourceSummary(section, (line,), (line,), {text: 3}),),
        devices=(DeviceSummary(text, text, (text,), text, text, (text, text), 3, summary, {text: text}),),
        findings=(finding, finding),
        outcomes=tuple(
            Outcome(text, s, (text,), text, (text,), text)
            for s in ("clear", "undetermined", "not_applicable", "error")
        ),
        thresholds={text: {text: 1.5}},
        series=(series,),
        timezone=text,
    )
