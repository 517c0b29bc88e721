from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d
from writers.loads import load, lsblk

RULE = "volume-cap"
FLASH = lsblk(("sda", False))


@pytest.fixture
def run(report_of):
    return lambda *texts: report_of(*texts, rules=[RULE])


def held(rate, depth, size=4.0, jitter=0.0):
    """A queue of `depth` at a rate that a limiter fixes."""
    rate = rate * (1 + jitter)
    return load(rate, 1000 * depth / rate, size=size, util=100)


def jitter(number):
    return 0.004 * ((number * 7) % 5 - 2) / 2


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def status(report):
    return {o.status for o in report.outcomes}


def test_a_flat_rate_under_a_growing_queue(run):
    rows = [held(3000, 8 + 2 * n, jitter=jitter(n)) for n in range(20)]
    (finding,) = found(run(iostat([{"sda": r} for r in rows]), FLASH))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "3,000 IOPS is the limit of Amazon EBS gp3" in " ".join(e.text for e in finding.evidence)


def test_a_known_rate_under_a_steady_queue_is_likely(run):
    rows = [held(3000, 32, jitter=jitter(n)) for n in range(20)]
    (finding,) = found(run(iostat([{"sda": r} for r in rows]), FLASH))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


METERED = "NAME    MAJ:MIN RM SIZE RO TYPE MODEL\nnvme1n1 259:0    0   1T  0 disk {}\n"


@pytest.mark.parametrize(
    ("model", "changes", "is_found"),
    [
        ("Amazon Elastic Block Store", (0, 0.003, -0.002, 0.001), True),
        ("Amazon Elastic Block Store", (0, 0.03, -0.02, 0.01), False),
        ("Amazon Elastic Block Store", (0, 0.003), False),
        ("Samsung SSD 980 PRO 1TB", (0, 0.003, -0.002, 0.001), False),
    ],
    ids=["metered", "it moves", "two samples", "a drive of the machine"],
)
def test_what_a_provider_meters_is_held_at_any_steady_rate(run, model, changes, is_found):
    rows = [{"nvme1n1": held(2770, 31, 16, change)} for change in changes]
    told = found(run(iostat(rows), METERED.format(model)))
    assert ["a rate limit: 2,77" in finding.summary for finding in told] == [True] * is_found


def test_throughput_is_held_whatever_the_size(run):
    rows = [held(125 * 1024 / size, 16, size) for size in (64.0, 128.0, 256.0) * 7]
    (finding,) = found(run(iostat([{"sda": r} for r in rows]), FLASH))
    assert "125 MiB/s" in finding.summary
    assert finding.confidence == "medium"


@pytest.mark.parametrize(
    ("row", "context", "expected"),
    [
        (held(3137, 32), FLASH, "undetermined"),  # neither published nor round
        (held(300, 32), "", "undetermined"),  # of unknown class, and no faster than a disk that seeks
        (held(140, 64), lsblk(("sda", True)), "clear"),  # a spinning disk
        (load(3000, 0.4), FLASH, "clear"),  # a steady client
        (load(3000, 4, util=50), FLASH, "undetermined"),  # no demand
    ],
)
def test_near_misses(run, row, context, expected):
    report = run(iostat([{"sda": row}] * 20), *([context] if context else []))
    assert not found(report)
    assert status(report) == {expected}


def test_a_rate_that_moves_is_no_cap(run):
    rows = [held(2000 + 150 * (n % 7), 32 + n / 10) for n in range(20)]
    report = run(iostat([{"sda": r} for r in rows]), FLASH)
    assert status(report) == {"clear"}


@pytest.mark.parametrize(
    ("device", "samples"), [("vdb", 1), ("vdb", 2), ("vdb", 3), ("sda", 2), ("sda", 3), ("sda", 5)]
)
def test_few_samples_tell_an_exact_number_under_a_queue(run, device, samples):
    rows = [{device: held(6004, 39 + n)} for n in range(samples)]
    (finding,) = found(run(iostat(rows), FLASH))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


@pytest.mark.parametrize(
    ("depths", "summary", "evidence"),
    [
        ((40, 80), "with 60 in flight", "with 40 to 80 in flight"),
        ((60,), "with 60 in flight", "with 60 in flight"),
    ],
)
def test_of_few_samples_it_shows_what_was_measured(run, depths, summary, evidence):
    """The queue beside a mean latency is the mean; percentiles of two samples are no measured numbers."""
    (finding,) = found(run(iostat([{"vdb": held(6004, depth)} for depth in depths])))
    assert summary in finding.summary
    assert evidence in finding.evidence[0].text


@pytest.mark.parametrize(
    "row",
    [held(6040, 39), held(6137, 39), held(6004, 8), held(200, 39), held(5500, 39)],
    ids=["near a round number", "no round number", "a short queue", "may be a spindle", "two digits"],
)
@pytest.mark.parametrize("samples", [1, 2])
def test_few_samples_of_anything_else_stay_open(run, row, samples):
    report = run(iostat([{"sda": row}] * samples))
    assert not found(report)
    assert status(report) == {"undetermined"}


@pytest.mark.parametrize(
    ("device", "mib", "says", "limit"),
    [
        ("vda", 114.7, "a rate limit: 114.7", "120 MB/s is a round number"),  # faster than a gigabit network
        ("vda", 111.5, "a rate limit", ""),  # no link is seen behind a hypervisor
        ("vda", 110.05, "a rate limit", "110 MiB/s is a round number"),
        ("sda", 111.5, "the ceiling of its link", "112 MiB/s is the limit of a gigabit network"),
        ("sda", 257.0, "a rate limit or by its link (SATA-2): 257", ""),
        ("sda", 513.0, "a rate limit or by its link (SATA-3): 513", ""),
        ("sda", 437.3, "a rate limit: 437", ""),
        ("vda", 115.8, "a rate limit", ""),  # no number of either unit
        ("vda", 124.0, "a rate limit", "125 MiB/s is the limit of Amazon EBS gp3"),
    ],
)
def test_a_rate_above_a_limit_is_not_held_by_it(run, device, mib, says, limit):
    rows = [
        held(mib * 1024 / size, 40 * (1 + n % 2), size) for n, size in enumerate((256.0, 384.0, 512.0) * 4)
    ]
    (finding,) = found(run(iostat([{device: row} for row in rows]), FLASH))
    assert says in finding.summary
    shown = [e.text for e in finding.evidence if "is the limit of" in e.text or "round number" in e.text]
    assert len(shown) == bool(limit)
    assert limit in " ".join(shown)


WRITES = ((984, 47.93, 4.41), (913, 48.0, 3.69), (805, 47.9, 4.35), (1015, 48.01, 3.3), (916, 48.07, 3.54))


def mixed(writes, mb, wait, reads=200.0):
    depth = (writes * wait + reads * 2) / 1000
    row = {"r/s": reads, "rkB/s": reads * (30 + writes / 40), "r_await": 2.0, "w/s": writes, "w_await": wait}
    return row | {"wkB/s": mb * 1024, "aqu-sz": depth + 0.3, "%util": 96.0}


@pytest.mark.parametrize("count", [3, 4, 5])
def test_writes_alone_may_be_held_whatever_their_size(run, count):
    (finding,) = found(run(iostat([{"sda": mixed(*row)} for row in WRITES[:count]])))
    assert "MiB/s of writes" in finding.summary
    assert finding.confidence == "medium"
    assert not found(run(iostat([{"sda": mixed(*row)} for row in WRITES[:2]])))


def test_reads_and_writes_may_be_held_together(run):
    rows = []
    for n in range(10):
        reads = 464 + 9 * (n % 5)
        rest = 960 - reads
        row = {
            "r/s": reads,
            "rkB/s": reads * 64,
            "w/s": rest,
            "wkB/s": rest * 64,
            "r_await": 12,
            "w_await": 12,
        }
        rows.append({"sda": row | {"aqu-sz": 11.5 + n / 100, "%util": 100.0}})
    (finding,) = found(run(iostat(rows), FLASH))
    assert "60 MiB/s" in finding.summary or "960 IOPS" in finding.summary


def mix(mb, depth, share, size=64.0):
    """Reads and writes of `size` kB that are held to `mb` MiB/s together."""
    rate = mb * 1024 / size
    return load(rate, 1000 * depth / rate, size=size, reads=share, util=100)


TOGETHER = [mix(60, depth, share) for depth, share in ((9, 0.52), (16, 0.47), (9.1, 0.49))]


@pytest.mark.parametrize(
    ("device", "rows", "says"),
    [
        ("sdc", TOGETHER, "60 MiB/s in 3 samples"),
        (
            "sdc",
            [mix(287, depth, share) for depth, share in ((37, 0.7), (45, 0.68), (60, 0.73))],
            "287 MiB/s in 3 samples",
        ),
        ("sdc", [held(1120, depth, 128) for depth in (15, 14.06, 8.03)], "140 MiB/s"),
        ("vdb", [held(768, depth, 64) for depth in (12, 13.1)], "48 MiB/s"),
        ("vdb", [held(300, depth, 18) for depth in (5, 6, 8)], "300 IOPS in 3 samples"),
        ("vdb", [held(3000, 21), held(3000, 22)], "3,000 IOPS"),
        ("vdb", [held(16030, 129), held(16040, 159)], "16,035 IOPS"),
        ("xvdf", [held(100, 5, 9)], "100 IOPS"),
        ("vda", [mix(60, 13.9, 0.5, 75)], "60 MiB/s"),
        ("vda", [load(60, 1, size=8), held(3000, 12, 8)], "3,000 IOPS"),
    ],
    ids=[
        "reads and writes together",
        "together, no number at all",
        "two digits and a queue that ranges",
        "two samples of two digits",
        "a small limit",
        "two samples of one number",
        "near a published one",
        "one sample of a published one",
        "one sample of bytes",
        "one sample, and the device's own calm one",
    ],
)
def test_what_few_samples_tell(run, device, rows, says):
    (finding,) = found(run(iostat([{device: row} for row in rows])))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert says in finding.summary


@pytest.mark.parametrize(
    ("device", "rows"),
    [
        ("sdc", [held(300, 11, 8)]),
        ("sdc", [held(768, 12, 64)]),
        ("sdb", [load(3000, 0.14, size=10), held(7500, 64, 31)]),
        ("hda", [held(262, 5, 10), held(259, 116, 31), held(260.5, 134, 31), held(251, 132, 31)]),
        ("vdb", [held(1000, 9)]),
        ("nvme0n1", [held(397250, depth, 8) for depth in (506, 540, 572)]),
        ("nvme0n1", [load(3000, 1.5)] * 3),
        ("sdc", [held(2996, 4.76)] * 3),
        ("dm-3", [held(2560, 128)]),
        ("sdc", [held(2000 * factor, 20 * factor) for factor in (1, 1.05, 1.1)]),
    ],
    ids=[
        "may be a disk",
        "may be a stream",
        "a flood at a round rate by chance",
        "a full disk at about one rate",
        "no longer than volumes may take",
        "flash at its own limit",
        "a steady client",
        "a steady client of an unknown device",
        "a layer's delay",
        "a rate that grows with the queue",
    ],
)
def test_what_few_samples_do_not_tell(run, device, rows):
    assert not [f for f in found(run(iostat([{device: row} for row in rows]))) if f.confidence != "low"]


@pytest.mark.parametrize("device", ["vdb", "xvdf"])
def test_a_number_of_two_digits_in_one_sample_is_a_hint(run, device):
    (finding,) = found(run(iostat([{device: held(1600, 24)}])))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_a_card_is_no_volume(run):
    report = run(iostat([{"mmcblk0": held(48, 12, 512)}] * 5))
    assert status(report) == {"undetermined"}


def test_a_stream_that_is_flat_by_nature_stays_open(run):
    rows = [
        held(rate, 20, kb / rate) for rate, kb in ((240, 121100), (265, 122800), (250, 120400), (281, 123900))
    ]
    report = run(iostat([{"sda": row} for row in rows], None))
    assert not any(f.severity == "warning" for f in found(report))


def test_sar_is_enough(run):
    row = {"tps": 3000.0, "rkB/s": 8000.0, "wkB/s": 4000.0, "areq-sz": 4.0, "%util": 100.0, "await": 10.7}
    assert found(run(sar_d([{"sda": row | {"aqu-sz": 32 + n / 10}} for n in range(20)]), FLASH))


@pytest.mark.parametrize("flat", [0.5, 1.0, 2.0, 3.0, 3.3, 3.6, 4.0, 5.0, 8.0, 12.0])
def test_what_is_flat_in_a_narrow_band_is_flat_in_a_wider_one(report_of, flat):
    # a step of a ladder: the last sample of one depth, and half of a sample between them
    rows = [held(3000, 16, jitter=jitter(n)) for n in range(11)] + [held(2900, 16), load(580, 60, util=15)]
    rows += [held(3000, 64, jitter=jitter(n)) for n in range(12)]
    text = iostat([{"sda": row} for row in rows])
    report = report_of(text, FLASH, rules=[RULE], limits={f"{RULE}.flat": flat})
    assert found(report)


@pytest.mark.parametrize(
    ("name", "second", "named"), [("vda", 1246.0, True), ("vda", 1290.0, False), ("sda", 1246.0, False)]
)
def test_two_samples_of_one_rate_and_other_sizes_name_the_limit_of_a_virtual_disk(
    report_of, name, second, named
):
    def reads(rate, size, wait):
        return {
            **{"r/s": rate, "rkB/s": rate * size, "r_await": wait},
            **{"aqu-sz": rate * wait / 1000, "%util": 100.0},
        }

    report = report_of(iostat([{name: reads(1245.0, 16.6, 62.0)}, {name: reads(second, 4.4, 38.0)}]))
    found = [f for f in report.findings if f.rule == "volume-cap" and f.confidence != "low"]
    assert bool(found) == named


@pytest.mark.parametrize("row", [held(72, 159.5, size=500.0), held(73, 40), held(100, 60, size=500.0)])
def test_one_sample_of_any_whole_number_is_no_limit(run, row):
    assert not found(run(iostat([{"vda": row}])))


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ({"nvme1n1": held(3000, 16, 16)}, ["nvme1n1"]),
        ({"nvme1n1": held(3008, 16, 16)}, []),  # a quarter of a per cent off
        ({"nvme1n1": held(3000, 4.2, 16)}, []),  # no longer than such a device may take
        ({"sda": held(4000, 40)}, []),  # one number in eighty is as round by chance
        ({"sda": held(4000, 40), "sdb": held(3999, 3)}, ["sda"]),
        ({"sda": held(4000, 40), "sdb": held(3999, 30)}, []),  # one load on both
        ({"sda": held(4133, 40), "sdb": held(4132, 3)}, []),  # a stripe keeps them equal, too
    ],
    ids=[
        "NVMe",
        "not round",
        "prompt",
        "round alone",
        "a twin",
        "a twin that waits as long",
        "not round, twins",
    ],
)
def test_one_sample_tells_where_a_local_device_would_not_wait(run, rows, names):
    assert [name for f in found(run(iostat([rows]))) for name in f.devices] == names


def test_what_runs_at_the_rate_of_a_device_that_is_held_is_not_cleared(report_of):
    rows = {"nvme1n1": held(3000, 16, 16), "nvme2n1": held(2999, 2.7, 16), "nvme3n1": held(900, 1.7, 16)}
    report = report_of(iostat([rows] * 8), rules=[RULE, "true-saturation", "approaching-saturation"])
    (finding,) = found(report)
    assert "nvme2n1 runs at the same number, with 2.70 in flight" in " ".join(
        e.text for e in finding.evidence
    )
    cleared = {(o.rule, name) for o in report.outcomes if o.status == "clear" for name in o.devices}
    assert not {name for _, name in cleared} & {"nvme2n1"}
    assert (RULE, "nvme3n1") in cleared


READS_ALONE = "Device: r/s rkB/s avgrq-sz avgqu-sz await r_await svctm %util\n"
PLAIN = (
    "nvme0n1 611.30 78246.40 256.00 0.33 0.91 0.91 0.41 25.10\n"
    "dm-0 611.30 78246.40 256.00 0.52 0.91 0.91 0.41 25.20\n"
    "dm-2 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
)
SPLIT = (
    "nvme0n1 5000.00 20000.00 8.00 41.20 8.24 8.24 0.20 100.00\n"
    "dm-0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
    "dm-2 156.40 20019.20 256.00 1.93 12.30 12.30 6.39 100.00\n"
)


def test_requests_that_a_layer_splits_use_up_the_limit(report_of):
    """No topology is stated: equal bytes in the same sample pair the layer with the disk."""
    text = (
        f"A copy from the volume:\n\n{READS_ALONE}{PLAIN}\nNow from its snapshot:\n\n{READS_ALONE}{SPLIT}\n"
    )
    report = report_of(text)
    (finding,) = found(report)
    assert "5,000 IOPS" in finding.summary
    assert "dm-2 asks for 128 kB at a time, and each is split into 32 of 4.0 kB" in finding.summary
    assert "nomerges" in finding.remedy[0]
    assert "nomerges" in finding.confirm[0]
    # the only sample of its run is no burst, and the limit is what is full
    assert not any("burst" in f"{one.title} {one.summary}" for one in report.findings)


@pytest.mark.parametrize(
    "above", [SPLIT.replace("20019.20", "14019.20"), SPLIT.replace("dm-2 156.40", "dm-2 4990.00")]
)
def test_other_bytes_or_as_many_requests_are_no_split(run, above):
    (finding,) = found(run(f"From the snapshot:\n\n{READS_ALONE}{above}\n"))
    assert "split" not in finding.summary


@pytest.mark.parametrize(
    ("size", "rate", "depth", "is_told"),
    [
        (16, 2500, 90, True),  # 39 MB/s, as in requests of 256 kB
        (16, 2500, 2, False),  # no queue: as much as was asked for
        (16, 1600, 90, False),  # a third less in small ones
        (128, 312, 90, False),  # about as large
    ],
)
def test_as_much_in_requests_of_quite_another_size_is_a_limit_of_throughput(
    report_of, size, rate, depth, is_told
):
    noise = (-0.2, 0.1, 0.2, -0.1)
    samples = [{"sdk": held(156, 60, size=256, jitter=each)} for each in noise]
    samples += [{"sdk": held(rate, depth, size=size, jitter=-each)} for each in noise]
    report = report_of(iostat(samples), rules=[RULE, "true-saturation"])
    (outcome,) = [o for o in report.outcomes if o.rule == RULE]
    assert ("throughput is what is limited" in outcome.reason) == is_told
    told = [e.text for f in report.findings for e in f.evidence]
    assert any("throughput is what is limited" in text for text in told) == is_told


@pytest.mark.parametrize(("rate", "is_told"), [(20, False), (90, False), (300, True)])
def test_a_small_number_is_round_by_chance_in_one_sample(run, rate, is_told):
    assert bool(found(run(iostat([{"vda": held(rate, 40)}])))) == is_told


@pytest.mark.parametrize(("wait", "device", "is_told"), [(0.045, "nvme0n1", False), (0.9, "nvme0n1", True)])
def test_no_meter_holds_what_answers_faster_than_a_network(run, wait, device, is_told):
    rate = 27 / wait * 1000
    rows = [held(rate, 27), *(held(rate * (1 + n / 9000), 27) for n in range(3))]
    odd = held(rate * 0.8, 27, size=5.0)
    report = run(iostat([{device: row} for row in (odd, *rows)]))
    assert bool(found(report)) == is_told
    if is_told:
        text = "requests/s (by their size) ranged over"
        assert any(text in item.text for item in found(report)[0].evidence)


FIO = """\
w: (g=0): rw=randread, bs=(R) 8192B-8192B, (W) 8192B-8192B, ioengine=psync, iodepth=1
fio-3.33
w: (groupid=0, jobs=24): err= 0: pid=51: Fri Nov 20 13:06:35 2026
  read: IOPS=RATE, BW=39.0MiB/s (40.9MB/s)(2340MiB/60016msec)
     lat (msec): min=3, max=300, avg=4.80, stdev=2.46
"""


@pytest.mark.parametrize(
    ("rate", "depth", "other", "severity"),
    [
        (4960, 24, [], "notice"),
        (4960, 40, [], "warning"),
        (4600, 24, [], "warning"),
        (4960, 24, [load(900, 1.0, size=8)], "warning"),
    ],
    ids=["all of it", "others wait as well", "others ask as well", "other work"],
)
def test_a_limit_that_only_a_load_generator_meets_is_a_notice(report_of, rate, depth, other, severity):
    text = iostat([{"nvme1n1": row} for row in [held(5000, depth, 8)] * 2 + other])
    report = report_of(text, FIO.replace("RATE", str(rate)), rules=[RULE, "true-saturation"])
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == (RULE, severity)
    is_told = "fio keeps 24 requests in flight by itself" in finding.summary
    assert is_told == (severity == "notice" or bool(other))
    assert finding.supersedes == (() if other else ("true-saturation",))


@pytest.mark.parametrize(("depths", "is_held"), [((18,) * 2, False), ((18,) * 5, False), ((18, 19), True)])
def test_one_sample_that_a_paste_has_again_shows_no_constancy(run, depths, is_held):
    rows = [{"vdb": held(130, depth, 9)} for depth in depths]
    assert bool(found(run(iostat(rows)))) is is_held


def test_a_latency_of_one_direction_is_not_told_as_that_of_all(run):
    """The rate that a limit holds is of all requests, what waits are its reads."""
    row = {"r/s": 2880.0, "w/s": 120.0, "rkB/s": 11520.0, "wkB/s": 480.0, "w_await": 1.0, "%util": 100.0}
    rows = [{**row, "r_await": 4.0 + 0.5 * n, "aqu-sz": 2.88 * (4 + 0.5 * n) + 0.12} for n in range(20)]
    (finding,) = found(run(iostat([{"sda": row} for row in rows]), FLASH))
    assert "3,000 IOPS" in finding.summary
    assert " ms for each read" in finding.summary
    assert "kB per read" in finding.evidence[0].text
