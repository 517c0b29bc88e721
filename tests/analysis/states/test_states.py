"""What a device did, as few states: what most samples agree on, and the outliers beside it."""

from __future__ import annotations

import io
import math

import pytest

import iodiag
from iodiag.analysis.states.service_times import SERVICE, class_of, relative_error, sane_limit_ms, usual_ms
from iodiag.analysis.states.state_sentences import state_summaries, text_of
from iodiag.analysis.states.states import MOST_STATES, State, states
from views import view_of
from writers.captures import banner, iostat, sar_d
from writers.loads import load, lsblk

WRITES = load(36, 27.8, size=33, reads=0)
FLOOD = load(58, 275, size=400, reads=0, util=100.0)
STUCK = {"aqu-sz": 3.0, "%util": 100.0}


def found(samples, device="sda", **options) -> tuple[State, ...]:
    """The states of one device, one row a sample."""
    series = view_of(iostat([{device: sample} for sample in samples], **options)).series(device)
    assert series is not None
    return states(series)


def kinds(samples, **options) -> list[tuple[str, int]]:
    return [(state.kind, state.samples) for state in found(samples, **options)]


def test_an_outlier_is_a_state_of_its_own():
    usual, flood = found([*[WRITES] * 9, FLOOD, *[WRITES] * 8])
    assert (usual.kind, usual.samples, usual.share) == ("writes", 17, pytest.approx(17 / 18))
    assert (flood.kind, flood.samples, flood.places.tolist()) == ("writes", 1, [9])
    assert usual.latency_ms == pytest.approx(27.8)
    assert usual.at_once == pytest.approx(1.0)
    assert usual.util == pytest.approx(1.0, abs=0.01)
    assert usual.size_kb == pytest.approx(33)
    assert flood.latency_ms == pytest.approx(275)


def test_what_most_samples_agree_on_is_one_sentence():
    usual, _ = found([*[WRITES] * 9, FLOOD, *[WRITES] * 8])
    assert text_of(usual, 18) == (
        "17 of 18 samples: 36 writes/s of 33.0 kB, 1 in flight while busy, 27.80 ms each, 100 % busy"
    )


def test_a_state_is_not_contiguous():
    assert kinds([WRITES, {}, WRITES, {}, WRITES]) == [("writes", 3), ("idle", 2)]


@pytest.mark.parametrize(
    ("reads", "kind"),
    [(1.0, "reads"), (0.97, "reads"), (0.5, "reads and writes"), (0.03, "writes"), (0.0, "writes")],
)
def test_directions_are_told_apart(reads, kind):
    assert kinds([load(100, 5, reads=reads)] * 3) == [(kind, 3)]


def test_reads_and_writes_by_turns_are_two_states():
    reads, writes = load(100, 5), load(100, 5, reads=0)
    assert sorted(kinds([reads, writes] * 3)) == [("reads", 3), ("writes", 3)]


def test_discards_are_a_state():
    assert kinds([{"d/s": 50.0, "dkB/s": 5000.0, "d_await": 3.0, "w/s": 5.0, "wkB/s": 20.0}] * 3) == [
        ("discards", 3)
    ]


def test_both_directions_counted_together_have_no_direction():
    text = sar_d([{"sda": {"tps": 100.0, "areq-sz": 8.0, "aqu-sz": 0.5, "await": 5.0, "%util": 50.0}}] * 3)
    (state,) = states(view_of(text).series("sda"))
    assert state.kind == "reads and writes"


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (STUCK, "stuck"),
        ({"aqu-sz": 1.0}, "stuck"),
        ({"%util": 100.0}, "stuck"),
        ({"aqu-sz": 0.1, "%util": 10.0}, "idle"),
        ({}, "idle"),
        ({"aqu-sz": 3.0, "%util": 100.0, "w/s": 0.2, "wkB/s": 1.0, "w_await": 4000.0}, "writes"),
        ({"aqu-sz": 3.0, "%util": 100.0, "wkB/s": 900.0}, "idle"),
    ],
    ids=["full", "in flight", "busy", "little", "nothing", "one completed", "not counted"],
)
def test_stuck_is_what_holds_requests_back(sample, kind):
    assert kinds([load(100, 5), sample, load(100, 5)])[1:] == [(kind, 1)]


def test_a_stuck_device_is_told_without_latency():
    stuck = found([load(100, 5), STUCK, load(100, 5)])[1]
    assert text_of(stuck, 3) == "1 of 3 samples: nothing completed, 3 in flight, 100 % busy"
    assert math.isnan(stuck.latency_ms)


PLAIN = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"


def plain(*rows: tuple[float, float, float]) -> list[str]:
    """What plain iostat, which times nothing, tells of a device: tps, kB read and kB written per second."""
    text = "".join(f"{PLAIN}sdc {tps:.2f} {r:.2f} {w:.2f} 0 0\n\n" for tps, r, w in rows)
    samples = view_of("$ iostat -y 1\n" + text).series("sdc")
    return [text_of(state, len(rows)) for state in states(samples)]


def test_without_times_samples_of_other_sizes_are_other_states():
    small, large = [(340, 0, 1850), (150, 0, 800)], [(60, 0, 27000), (40, 0, 20000), (135, 0, 67000)]
    assert plain(*small, *large) == [
        "3 of 5 samples: 78.33 writes/s of 485.1 kB",
        "2 of 5 samples: 245 writes/s of 5.4 kB",
    ]


def test_bytes_tell_a_direction_that_has_no_part_in_the_requests_either():
    assert plain((139, 10, 16000), (100, 0, 11500)) == ["2 of 2 samples: 119.5 writes/s of 115.1 kB"]
    # 400 kB/s in blocks may be most of 110 requests/s
    assert plain((110, 400, 10000)) == ["110 requests/s of 94.5 kB"]


@pytest.mark.parametrize(("read_kb", "writes"), [(0, 20000), (100, 20000), (101, None), (5000, None)])
def test_a_direction_of_few_bytes_leaves_the_other_nearly_all_requests(read_kb, writes):
    text = f"$ iostat -y 1\n{PLAIN}sdc 20000.00 {read_kb:.2f} 80000.00 0 0\n\n"
    (found,) = view_of(text).series("sdc").samples.floats("writes_per_s")
    assert (None if math.isnan(found) else found) == writes


def test_a_few_requests_are_one_state_whatever_their_latency():
    few = [load(1, latency, size=4, reads=0) for latency in (0.1, 1.0, 10.0, 90.0)]
    assert sorted(kinds([*[WRITES] * 5, *few])) == [("writes", 4), ("writes", 5)]


def test_a_few_requests_that_wait_are_no_little_load():
    waiting = load(3, 3900, size=4, reads=0, depth=11.0, util=100.0)
    assert [one.latency_ms for one in found([load(1, 0.5, reads=0), waiting, load(1, 0.5, reads=0)])] == [
        pytest.approx(0.5),
        pytest.approx(3900),
    ]


def test_requests_are_counted_over_the_interval():
    (state,) = found([load(160, 6)] * 4, step=30)
    assert state.seconds == 120
    assert state.requests == pytest.approx(160 * 120)
    assert state.error == pytest.approx(1 / math.sqrt(160 * 120))


@pytest.mark.parametrize(("reads", "writes", "seconds"), [("0.37", "97.31", 8.17), ("0.00", "97.00", 1)])
def test_an_unknown_interval_counts_the_least_that_its_rates_allow(reads, writes, seconds):
    text = (
        "Device: rrqm/s wrqm/s  r/s   w/s  rkB/s  wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
        f"sda 0.00 0.00 {reads} {writes} {11 * float(reads)} 811.77 16.71 0.88 8.97 1.00 9.00 8.91 87.00\n"
    )
    view = view_of(text)
    (state,) = states(view.series("sda"))
    assert math.isnan(state.seconds)
    assert state.requests == pytest.approx(seconds * (float(reads) + float(writes)))
    (summary,) = state_summaries(view)
    assert summary.seconds is None
    assert summary.text.startswith(f"{float(writes):g} writes/s"), "the only sample needs no count"


def test_no_request_has_no_error_bound():
    assert relative_error(0) == math.inf


def test_many_different_samples_are_few_states():
    samples = [
        load(20 + 7 * (at % 40), 0.2 * 1.9 ** (at % 19), reads=(at % 5) / 4, size=4 + at % 60)
        for at in range(1500)
    ]
    some = found(samples)
    assert len(some) <= MOST_STATES
    assert sorted(place for state in some for place in state.places.tolist()) == list(range(1500))
    assert sum(state.share for state in some) == pytest.approx(1)
    assert some[0].share >= some[1].share >= some[2].share


def test_an_average_is_called_one():
    (summary,) = state_summaries(view_of(f"{banner()}{PLAIN}sdc 9.00 0.00 800.00 0 9000000\n"))
    assert summary.text.startswith("average since boot: ")


def test_idle_devices_have_no_summary():
    view = view_of(iostat([{"sda": load(100, 5), "sdb": {}}] * 3))
    assert {summary.device for summary in state_summaries(view)} == {"sda"}


def test_a_summary_names_the_lines_it_stands_on():
    text = iostat([{"sda": WRITES}] * 5)
    (summary,) = state_summaries(view_of(text))
    lines = text.splitlines()
    assert len(summary.lines) == 3
    assert all(lines[number - 1].startswith("sda") for number in summary.lines)
    assert (summary.direction, summary.samples, summary.share_of_time) == ("writes", 5, 1.0)


def test_in_flight_while_busy_needs_a_util_that_tells_how_long():
    (state,) = found([load(40, 0.2, util=0.5)] * 3)
    assert not state.is_busy_known
    assert "while busy" not in text_of(state, 3)
    assert state.at_once == state.depth


@pytest.mark.parametrize(
    ("depth", "util", "said"),
    [
        (0.4, 100.0, "100 % busy by %util, 40 % by what is in flight"),
        (1.4, 100.0, "100 % busy"),
        (0.96, 100.0, "100 % busy"),
        (0.02, 2.2, "2 % busy"),
    ],
    ids=["cannot be", "may be", "the skew of a clock", "rounding"],
)
def test_a_util_beyond_what_is_in_flight_is_told_as_that(depth, util, said):
    (state,) = found([load(1000 * depth / 2, 2, size=8, util=util)] * 3)
    assert text_of(state, 3).endswith(f" each, {said}")


def test_what_the_counter_rounds_to_none_in_flight_is_told_by_rate_and_latency():
    (state,) = found([load(210, 0.1, size=8, depth=0.0, util=60.0)] * 3)
    assert ", 0.021 in flight, 0.1 ms each" in text_of(state, 3)
    assert text_of(state, 3).endswith("60 % busy by %util, 2 % by what is in flight")


@pytest.mark.parametrize(("depth", "samples", "is_told"), [(0.8, 3, True), (0.8, 1, False), (0.4, 1, True)])
def test_one_sample_whose_util_is_little_beyond_what_is_in_flight_shows_nothing(depth, samples, is_told):
    (state,) = found([load(1000 * depth / 2, 2, size=8, util=100.0)] * samples)
    assert ("by what is in flight" in text_of(state, samples)) == is_told


@pytest.mark.parametrize(
    ("device", "context", "expected"),
    [
        ("nvme0n1", (), "nvme"),
        ("mmcblk0", (), "memory card"),
        ("mmcblk0p2", (), "memory card"),
        ("vda", (), "network"),
        ("xvdf", (), "network"),
        ("sda", (), "unknown"),
        ("sda", (lsblk(("sda", True)),), "spinning"),
        ("sda", (lsblk(("sda", False)),), "solid"),
    ],
)
def test_the_class_of_a_device(device, context, expected):
    series = view_of(iostat([{device: load(100, 5)}] * 3), *context).series(device)
    assert class_of(series) == expected


def test_no_sane_latency_is_above_the_slowest():
    for device in ("nvme0n1", "mmcblk0", "vda", "sda"):
        series = view_of(iostat([{device: load(100, 5)}] * 3)).series(device)
        for size in (0.5, 4, 64, 1024, math.nan):
            assert usual_ms(series, size) <= sane_limit_ms(series, size)
    assert all(service.source for service in SERVICE.values())


def test_a_device_faster_than_seeks_is_solid():
    series = view_of(iostat([{"sda": load(100, 5)}] * 3)).series("sda")
    assert usual_ms(series, 8, rate=2000) < usual_ms(series, 8, rate=100)
    assert usual_ms(series, 512, rate=2000) == usual_ms(series, 512, rate=100), "large ones may be in order"


def test_of_states_about_as_long_the_one_that_waits_most_is_shown_first():
    rows = [load(100, 1, util=10)] * 10 + [load(100, 9, util=90)] * 7 + [load(100, 90, util=100)] * 2
    shown = state_summaries(view_of(iostat([{"sda": row} for row in rows])))
    assert [round(summary.latency_ms or 0) for summary in shown] == [9, 1, 90]


def test_a_direction_s_name_goes_with_its_own_rate_size_and_latency():
    """Of 1,000 requests/s 970 are reads: the few writes are not told as reads."""
    mostly = {"r/s": 970.0, "rkB/s": 9700.0, "r_await": 1.0, "w/s": 30.0, "wkB/s": 900.0, "w_await": 2.0}
    (state,) = found([mostly | {"aqu-sz": 1.03, "%util": 80.0}] * 3)
    assert (state.kind, state.rate, state.size_kb, state.latency_ms) == ("reads", 970, 10, 1.0)
    assert (state.ios, state.held) == (1000, pytest.approx(1.03))
    assert text_of(state, 3).startswith("3 of 3 samples: 970 reads/s of 10.0 kB, 1.29 in flight")
    (summary,) = state_summaries(view_of(iostat([{"sda": mostly | {"aqu-sz": 1.03, "%util": 80.0}}] * 3)))
    assert (summary.direction, summary.per_s, summary.size_kb) == ("reads", 970, 10)


def test_without_rates_of_a_direction_those_of_all_are_told():
    row = {"tps": 100.0, "rkB/s": 1600.0, "areq-sz": 16.0, "aqu-sz": 0.5, "await": 5.0, "%util": 50.0}
    series = view_of(sar_d([{"sda": row}] * 3)).series("sda")
    assert series is not None
    assert [(state.rate, state.size_kb, state.latency_ms) for state in states(series)] == [(100, 16, 5)]


def test_the_queue_adds_no_flushes_to_a_printed_latency():
    row = {"r/s": 3.0, "r_await": 35.0, "w/s": 964.0, "wkB/s": 35000.0, "w_await": 0.37}
    flushed = row | {"f/s": 2.0, "f_await": 38.0, "aqu-sz": 0.54, "%util": 61.2}
    (state,) = found([flushed])
    assert state.mean("latency_ms") == pytest.approx((3 * 35 + 964 * 0.37) / 967)


def test_a_layer_that_is_not_timed_is_said_to_be_so_however_little_it_does():
    head = "Device rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
    row = "md0 0.00 0.00 0.15 0.01 0.00 0.00 89.55 0.00 0.00 0.00 0.00 0.00 0.00\n"
    report = iodiag.analyze([iodiag.read(io.BytesIO((head + row).encode()), name="x")])
    (state,) = report.states
    assert (state.in_flight, state.busy_pct) == (None, None)
    assert "times not measured" in state.text


def test_without_times_no_mean_is_of_rates_far_apart():
    burst = [(7067, 0, 134000), (2439, 0, 32000), (3173, 0, 57000)]
    quiet = [(rate, 0, 10 * rate) for rate in (5, 3, 4, 2, 6, 4, 5, 19, 400)]
    assert "3 of 12 samples: 4,226 writes/s of 17.6 kB" in plain(*burst, *quiet)


def test_without_times_what_is_summed_up_is_where_the_fewest_requests_are():
    rates = [5.0 * 5**n for n in range(10)]
    assert plain(*((rate, 0, 8 * rate) for rate in rates))[0].startswith("3 of 10 samples: 51.67 writes/s")


@pytest.mark.parametrize(("size", "counts"), [(80, [4, 3]), (33, [7])])
def test_a_state_does_not_mix_runs_of_other_requests(size, counts):
    runs = [iostat([{"sda": load(36, 27.8, size=own, reads=0)}] * n) for own, n in ((33, 4), (size, 3))]
    series = view_of(f"First run:\n{runs[0]}\nSecond run:\n{runs[1]}").series("sda")
    assert [state.samples for state in states(series)] == counts


MEANS = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"


@pytest.mark.parametrize(
    ("writes", "write_kb", "expected"),
    [
        (
            4000,
            96,
            "16,000 reads/s of 1.5 kB; 4,000 writes/s of 96.0 kB; in all 5 in flight while busy, 0.25 ms "
            "each on average, 100 % busy",
        ),
        (
            400,
            96,
            "19,600 reads/s of 1.5 kB, 0.25 ms each; 400 writes/s of 96.0 kB; in all 5 in flight while "
            "busy, 100 % busy",
        ),
        (4000, 2, "20,000 requests/s of 1.6 kB, 5 in flight while busy, 0.25 ms each, 100 % busy"),
    ],
    ids=["of other sizes", "nearly all reads", "alike"],
)
def test_requests_of_two_sizes_are_told_apart_without_a_latency_for_each(writes, write_kb, expected):
    reads = 20000 - writes
    size = (3 * reads + 2 * writes * write_kb) / 20000
    row = f"xvdb 0 0 {reads} {writes} {3 * reads} {2 * writes * write_kb} {size:.2f} 5.00 0.25 0.05 100.00"
    (state,) = states(view_of(f"{MEANS}{row}\n\n").series("xvdb"))
    assert text_of(state, 1) == expected


@pytest.mark.parametrize(("rate", "wait", "is_told"), [(12, 80.0, True), (100, 0.1, False), (0, 0.0, False)])
def test_flushes_that_take_a_good_part_of_the_time_are_told_as_well(rate, wait, is_told):
    (state,) = found([WRITES | {"f/s": rate, "f_await": wait}] * 3)
    assert text_of(state, 3).endswith(f"; {rate} flushes/s, {wait:g} ms each") == is_told
    assert ("flush" in text_of(state, 3)) == is_told


def test_a_counter_less_its_flushes_is_not_told_as_the_counter():
    row = {"r/s": 0.5, "rkB/s": 2.0, "r_await": 5.0, "w/s": 8.0, "wkB/s": 64.0, "w_await": 120.0}
    (state,) = found([row | {"f/s": 6.0, "f_await": 150.0, "aqu-sz": 3.0, "%util": 90.0}] * 6)
    assert "in all 2.33 in flight while busy by its own counter less its flushes" in text_of(state, 6)


def test_flushes_are_not_counted_as_in_flight_while_busy():
    """The counter of the queue has them, and %util does not: 3 of 5 in flight are reads and writes."""
    row = load(60, 50, reads=0.0) | {"f/s": 20.0, "f_await": 100.0, "aqu-sz": 5.0, "%util": 60.0}
    (state,) = found([row])
    assert state.transfers_at_once == pytest.approx(5.0)
    assert "5 in flight while busy" in text_of(state, 1)


@pytest.mark.parametrize("depth", [2.0, 0.5])
def test_without_flushes_no_less_is_in_flight_than_rate_times_latency(depth):
    row = load(60, 20, reads=0.0) | {"f/s": 20.0, "f_await": 100.0, "aqu-sz": depth, "%util": 60.0}
    (state,) = found([row])
    assert state.transfers_at_once >= min(state.held, state.depth) / state.util - 1e-9


def test_discards_are_told_beside_the_requests_whose_size_is_told():
    row = load(40, 3, size=20, reads=0.5) | {"d/s": 10.0, "dkB/s": 4000.0, "d_await": 1.0}
    (state,) = found([row] * 4)
    assert "40 requests/s of 20.0 kB and 10 discards/s" in text_of(state, 4)


def test_a_printed_size_goes_before_one_of_rates_with_few_digits():
    header = (
        "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util"
    )
    row = "sda 0.24 4.70 0.00 0.00 0.10 19.22 {} 0.00 0.00 3.00 {} 0.00 0.02"
    text = "Linux 6.1.0 (h) \t03/21/26 \t_x86_64_\t(4 CPU)\n\n" + header + "\n"
    (series,) = view_of(text + row.format("0.00 0.00", "0.00") + "\n").devices
    assert states(series)[0].size_kb == pytest.approx(19.22)
    (series,) = view_of(text + row.format("0.01 0.01", "2.00") + "\n").devices
    assert "writes/s of 2.0 kB" in text_of(states(series)[0], 1)


PAIR = {"r/s": 3102.0, "w/s": 3102.0, "rkB/s": 12408.0, "wkB/s": 12408.0, "r_await": 0.14, "w_await": 0.14}


@pytest.mark.parametrize(
    ("change", "is_paired"),
    [
        ({}, True),
        ({"w/s": 3140.0, "wkB/s": 12560.0}, False),
        ({"wkB/s": 12808.0}, False),
        ({"r/s": 0.0}, False),
    ],
    ids=["paired", "as chance parts a mix", "other sizes", "writes alone"],
)
def test_blocks_that_are_read_before_they_are_written_are_told(change, is_paired):
    (state,) = found([PAIR | {"aqu-sz": 0.87, "%util": 100.0} | change])
    assert ("as many reads as writes" in text_of(state, 1)) == is_paired


def test_few_that_come_in_pairs_may_do_so_by_chance():
    (state,) = found([PAIR | {"r/s": 40, "w/s": 40, "rkB/s": 160, "wkB/s": 160, "aqu-sz": 0.1, "%util": 9}])
    assert "as many reads as writes" not in text_of(state, 1)


@pytest.mark.parametrize(("printed", "told"), [(101.5, ""), (138.0, " (%util is printed as 138 %)")])
def test_a_busy_share_above_all_the_time_says_what_was_printed(printed, told):
    (state,) = found([load(900, 3, size=64, util=printed)] * 4)
    assert text_of(state, 4).endswith(f"100 % busy{told}")
