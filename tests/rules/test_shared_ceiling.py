from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "shared-ceiling"


def disk(mb, depth, size=64.0, util=100.0):
    rate = 1000 * mb / size
    wait = 1000 * depth / rate if rate else 0.0
    return {"r/s": rate, "rkB/s": 1000 * mb, "r_await": wait, "aqu-sz": depth, "%util": util if mb else 0.0}


def shares(splits, total=60.0):
    """Samples of three disks; each split is (MB/s, in flight) of sda and sdb, sdc has the rest of the sum."""
    return [
        {"sda": disk(a, 8), "sdb": disk(b, 8 if b else 0), "sdc": disk(total - a - b, c)}
        for a, b, c in splits
    ]


SPELLS = [
    (30, 30, 0),
    (20, 25, 4),
    (40, 0, 4),
    (30, 30, 0),
    (21, 24, 4),
    (41, 0, 4),
    (20, 24, 4),
    (30, 30, 0),
]


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE)


@pytest.mark.parametrize(("times", "sure"), [(1, "medium"), (5, "high")])
def test_one_sum_with_changing_shares_is_a_shared_path(report_of, times, sure):
    (finding,) = found(report_of(iostat(shares(SPELLS * times)), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", sure)
    assert finding.devices == ("sda", "sdb", "sdc")
    assert "58.6 MB/s in" in finding.summary
    assert finding.confirm[0].startswith("dd if=/dev/sda ")


def requests(splits, total=360.0, deep=(14, 8, 6)):
    """Samples of three disks with requests of 8, 4 and 16 kB; a split is the requests/s of the last two."""
    samples = []
    for b, c in splits:
        rates = zip((total - b - c, b, c), (8.0, 4.0, 16.0), deep, strict=True)
        samples.append(
            {
                f"sd{n}": disk(rate * kb / 1000, d if rate else 0, kb)
                for n, (rate, kb, d) in zip("abc", rates, strict=True)
            }
        )
    return samples


TURNS = [(120, 90), (0, 160), (140, 0), (110, 95), (0, 155), (150, 0)]


def test_a_limit_on_requests_shows_in_their_sum_though_no_bytes_are_held(report_of):
    """Counts of few requests scatter: ±5 % of 360 in a second."""
    noise = [1.0, 0.96, 1.03, 0.98, 1.04, 0.99]
    samples = [s for n, f in enumerate(noise * 3) for s in requests(TURNS[n % 6 : n % 6 + 1], 360 * f)]
    (finding,) = found(report_of(iostat(samples), rules=[RULE]))
    assert (finding.severity, finding.devices) == ("warning", ("sda", "sdb", "sdc"))
    assert "together complete 358 requests/s" in finding.summary
    assert "MB/s" not in finding.summary


@pytest.mark.parametrize(
    "samples",
    [
        [s for n in range(18) for s in requests(TURNS[n % 6 : n % 6 + 1], 300 + 7 * n)],
        requests([(120, 90)] * 18),
        [
            s
            for n in range(18)
            for s in requests(TURNS[n % 6 : n % 6 + 1], deep=(8, 8, 8) if 0 in TURNS[n % 6] else (6, 5, 5))
        ],
    ],
    ids=["a load that grows", "constant shares", "as many in flight whoever asks"],
)
def test_requests_that_no_limit_holds(report_of, samples):
    assert not found(report_of(iostat(samples), rules=[RULE]))


def volume(rate, depth, size):
    return disk(rate * size / 1000, depth, size=size)


BY_COUNT = [
    {"sda": volume(a, 14, 8), "sdb": volume(b, 8 if b else 0, 4), "sdc": volume(360 - a - b, c, 16)}
    for a, b, c in ((185, 175, 0), (105, 135, 8), (190, 0, 8), (170, 190, 0), (95, 150, 8), (200, 0, 8))
]


@pytest.mark.parametrize(
    ("samples", "kinds", "is_found"),
    [
        (BY_COUNT * 4, "0", True),
        (BY_COUNT * 4, "1", False),
        ([{n: volume(r["r/s"], 0.5, 8) for n, r in row.items()} for row in BY_COUNT] * 4, "0", False),
    ],
    ids=["volumes with a queue", "disks that turn", "a steady pace without a queue"],
)
def test_one_sum_of_requests_is_a_shared_limit_of_volumes(report_of, samples, kinds, is_found):
    context = "NAME ROTA TYPE\n" + "".join(f"{name}     {kinds} disk\n" for name in ("sda", "sdb", "sdc"))
    findings = found(report_of(iostat(samples), context, rules=[RULE]))
    assert bool(findings) is is_found
    if findings:
        assert findings[0].devices == ("sda", "sdb", "sdc")
        assert "together complete 360 requests/s in 24 of the 24 samples" in findings[0].summary


def test_it_explains_the_cap_that_each_disk_seems_to_have(report_of):
    report = report_of(iostat(shares(SPELLS * 5)))
    assert not [f for f in report.findings if f.rule == "true-saturation" and f.explained_by is None]


@pytest.mark.parametrize(
    "samples",
    [
        [{"sda": disk(30, d), "sdb": disk(30, d)} for d in (4, 8, 12, 16) * 3],
        [{"sda": disk(a, 8 * a / 60), "sdb": disk(60 - a, 8 - 8 * a / 60)} for a in (15, 30, 45) * 4],
        [
            {"sda": disk(a, 8), "sdb": disk(b, c)}
            for a, b, c in ((30, 20, 4), (40, 45, 9), (20, 60, 8), (50, 30, 5)) * 3
        ],
        [{"sda": disk(a, 8), "sdb": disk(60 - a, b)} for a, b in ((10, 8), (40, 24))],
    ],
    ids=["a stripe", "one client with a constant depth", "sums that vary", "two samples"],
)
def test_what_is_no_shared_path(report_of, samples):
    assert not found(report_of(iostat(samples), rules=[RULE]))


def test_streams_that_are_all_full_are_a_suspicion_from_one_sample(report_of):
    rates = (34, 37, 43, 46, 33, 39, 44, 45)
    sample = {f"sd{letter}": disk(rate, 1.9, 128) for letter, rate in zip("abcdefgh", rates, strict=True)}
    (finding,) = found(report_of(iostat([sample]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert "313 MB/s in sum" in finding.summary


def streams(*rates, size=128, util=100.0, depth=1.9):
    return {
        f"sd{letter}": disk(rate, depth, size, util) for letter, rate in zip("abcdefgh", rates, strict=False)
    }


@pytest.mark.parametrize(
    "sample",
    [
        {"md0": disk(320, 16, 128)} | streams(*[40] * 8),
        streams(30, 35, 40, 45, util=60),
        streams(3, 3.5, 4, 4.5, size=4),
        streams(30, 40),
    ],
    ids=["equal rates below an array", "not full", "small requests", "two disks"],
)
def test_streams_that_tell_nothing(report_of, sample):
    assert not found(report_of(iostat([sample]), rules=[RULE]))


def test_equal_streams_without_an_array_are_a_suspicion_too(report_of):
    (finding,) = found(report_of(iostat([streams(40, 40, 40)]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def beside(alone, *company, size=256):
    """Samples of sda alone, and of all disks together."""
    idle = {name: disk(0, 0) for name in list(streams(*company))[1:]}
    return [streams(alone, size=size, depth=2) | idle, streams(*company, depth=2)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_disk_that_is_faster_alone_shares_a_path(report_of, count):
    one, all_of_them = beside(98, 39, 39.2, 39.1)
    (finding,) = found(report_of(iostat([one] * count + [all_of_them] * count), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.devices == ("sda", "sdb", "sdc")
    assert "sda streams 95.7 MB/s alone and 38.1 MB/s beside sdb, sdc (115 MB/s in sum" in finding.summary
    assert finding.confirm[0].startswith("dd if=/dev/sdb ")


def test_alone_and_beside_may_be_two_pastes(report_of):
    one, all_of_them = (iostat([sample]) for sample in beside(98, 39, 39.2, 39.1))
    report = report_of(f"Before:\n\n{one}\nAfter:\n\n{all_of_them}")
    assert report.findings[0].rule == RULE
    assert report.verdict.state == "trouble"


@pytest.mark.parametrize(
    "samples",
    [
        beside(50, 39, 39, 39),
        [beside(98, 39, 39)[0], streams(39, 39, 39, depth=3.5)],
        [beside(98, 39, 39)[0], streams(39, 39, 39, size=4)],
        [streams(98), {"sda": disk(39, 2, 128), "sdb": disk(3, 0.1, 128, util=5)}],
    ],
    ids=["little faster", "more in flight", "other requests", "hardly any company"],
)
def test_what_was_no_slower_for_the_company(report_of, samples):
    assert all(f.confidence == "low" for f in found(report_of(iostat(samples), rules=[RULE])))


def test_full_cpus_may_bound_the_sum_as_well(report_of):
    one, all_of_them = beside(98, 39, 39.2, 39.1)
    full = {"%user": 20.0, "%system": 75.0, "%iowait": 5.0, "%idle": 0.0}
    (finding,) = found(report_of(iostat([one, all_of_them], full), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_one_disk_shares_nothing(report_of):
    report = report_of(iostat([{"sda": disk(60, 8)}] * 8), rules=[RULE])
    assert (outcome(report).status, outcome(report).missing) == ("not_applicable", ("topology",))


def test_sums_that_vary_clear_it_and_two_samples_do_not(report_of):
    varied = [{"sda": disk(a, 8), "sdb": disk(b, 4)} for a, b in ((30, 20), (40, 45), (20, 60), (50, 30)) * 3]
    assert outcome(report_of(iostat(varied), rules=[RULE])).status == "clear"
    assert outcome(report_of(iostat(varied[:2]), rules=[RULE])).status == "undetermined"


def test_one_sum_with_one_number_in_flight_is_not_clear(report_of):
    samples = [{"sda": disk(a, a / 4), "sdb": disk(60 - a, 15 - a / 4)} for a in (20, 45, 30, 15, 50, 35) * 3]
    told = outcome(report_of(iostat(samples), rules=[RULE]))
    assert told.status == "undetermined"
    assert "one disk alone would tell" in told.reason
