from __future__ import annotations

import dataclasses
import io
import math
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import iodiag
from iodiag.analysis.load import queueing
from iodiag.analysis.load.load_sentences import disks_below, template_values
from iodiag.analysis.load.queueing import (
    LEVEL_GAP,
    LEVEL_SPAN,
    Level,
    _tenth,
    elasticity,
    fan_out,
    gain_left,
    level_of,
    level_samples,
    load_levels,
    load_levels_where,
    overlapped,
    unloaded_baseline,
)
from iodiag.analysis.load.saturation.classify import classify
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS
from iodiag.analysis.load.stalls import bridged
from iodiag.analysis.view.make_views import Selection, views
from iodiag.analysis.view.view import DeviceSeries
from iodiag.api import join
from iodiag.model.rule import Limits
from iodiag.model.topology import DeviceTopology
from iodiag.table.table import Table
from property_tests import examples
from writers.captures import iostat, sar_d
from writers.loads import array, load, lsblk

LIMITS = Limits({name: threshold.default for name, threshold in THRESHOLDS.items()})

OLD = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"
ONE_THREAD = "dm-0 0.00 0.00 127.90 0.70 4070.40 28.00 31.87 1.01 7.83 7.52 96.68\n"
FOUR_THREADS = "dm-0 0.00 0.00 295.40 0.90 9372.80 35.20 31.75 4.06 13.69 3.38 100.01\n"
MANY_THREADS = "dm-0 0.00 0.00 601.20 0.80 19065.60 33.60 31.73 65.98 108.72 1.66 100.00\n"
SSD = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n"
SSD_LIGHT = "sdd 0.00 0.00 13823.00 0.00 55292.00 0.00 8.00 0.78 0.06 0.06 0.00 0.06 78.40\n"
SSD_DEEP = "sdd 0.00 0.00 72914.67 0.00 291658.67 0.00 8.00 15.27 0.21 0.21 0.00 0.01 100.00\n"


def view_of(*texts):
    captures = [
        iodiag.read(io.BytesIO(text.encode()), name=f"{number}.txt") for number, text in enumerate(texts)
    ]
    return views(join(captures), Selection())[0]


def series_of(*texts):
    return view_of(*texts).devices[0]


def verdicts(*texts, device=None):
    view = view_of(*texts)
    series = view.series(device) if device else view.devices[0]
    return [found.verdict for found in classify(view, series, LIMITS)]


def ladder(*rows):
    return "\n".join(OLD + row for row in rows)


def test_three_threads_counts_make_three_levels():
    (kind,) = load_levels(series_of(ladder(ONE_THREAD, FOUR_THREADS, MANY_THREADS)))
    one, four, many = kind
    unloaded = unloaded_baseline(kind)
    assert unloaded.is_measured
    assert unloaded.latency_ms == pytest.approx(7.83)
    assert one.busy_depth == pytest.approx(1.01 / 0.9668)
    assert one.size_kb == pytest.approx((4070.4 + 28) / 2 / 128.6)
    # the model's parallelism, and the least that the rate at the deepest queue needs
    assert fan_out(one, four) == pytest.approx(4.0, abs=0.01)
    assert overlapped(many, unloaded) == pytest.approx(4.71, abs=0.01)
    assert elasticity(one, four) == pytest.approx(0.59, abs=0.005)
    assert elasticity(four, many) == pytest.approx(0.25, abs=0.005)


def test_a_latency_of_few_digits_is_taken_from_depth_and_rate():
    light, deep = load_levels(series_of(SSD + SSD_LIGHT + "\n" + SSD + SSD_DEEP))[0]
    assert light.latency_ms == pytest.approx(1000 * 0.78 / 13823)
    assert deep.latency_ms / light.latency_ms == pytest.approx(3.71, abs=0.005)
    assert fan_out(light, deep) == pytest.approx(5.3, abs=0.05)


with_samples_as_prepared = patch.object(queueing, "level_samples", lambda series: series.samples)


def prepared_of(kinds, depths, rates, keep):
    """A device with these prepared samples, where `with_samples_as_prepared`."""
    count = len(kinds)
    depth, rate = np.array(depths), np.array(rates)
    columns = {
        "kind": np.array(kinds, dtype=np.float64),
        "at_once": depth,
        "busy": np.full(count, 0.5),
        "depth": depth / 2,
        "util": np.full(count, 0.5),
        "ios_per_s": rate,
        "reads_per_s": rate,
        "kb_per_s": 4 * rate,
        "cost_ms": 500 * depth / rate,
        "span": np.ones(count),
        "interval_s": np.ones(count),
    }
    samples = Table.of_columns(columns, count)
    series = DeviceSeries("sda", samples, None, DeviceTopology())
    return series, samples, np.array(keep, dtype=np.bool_)


def levels_by_sorting(depths):
    """The depths of each level: cut at gaps, and between these into as few equal parts as may be."""
    in_order = sorted(depths.tolist())
    cuts = [n for n in range(1, len(in_order)) if in_order[n] > LEVEL_GAP * in_order[n - 1]]
    found = []
    for begin, end in pairwise([0, *cuts, len(in_order)]):
        low, high = in_order[begin], in_order[end - 1]
        parts = math.ceil(math.log2(high / low) - 1e-9)
        edges = [low * (high / low) ** (part / parts) for part in range(1, parts)] + [high]
        for edge in edges:
            found.append([depth for depth in in_order[begin:end] if depth <= edge])
            begin += len(found[-1])
    return found


LOAD = st.tuples(
    st.sampled_from([10.0, 105.0, 410.0]),
    # chains of neighbours, too, that only their length cuts
    st.one_of(st.floats(0.05, 500), st.integers(0, 12).map(lambda n: 1.25**n)),
    st.floats(5, 5000),
    st.booleans(),
)


@with_samples_as_prepared
@given(st.lists(LOAD, min_size=1, max_size=60))
def test_every_sample_is_in_one_level_of_its_kind_and_depth(loads):
    series, samples, _ = prepared_of(*zip(*loads, strict=True))
    depth, kind = samples["at_once"], samples["kind"]
    found = load_levels(series)
    together = [level for kind in found for level in kind]
    places = np.concatenate([level.places for level in together])
    assert sorted(places.tolist()) == list(range(len(loads)))
    assert [one[0].kind for one in found] == list(dict.fromkeys(kind.tolist()))
    for own in found:
        assert len({level.kind for level in own}) == 1
        expected = levels_by_sorting(depth[kind == own[0].kind])
        assert [sorted(depth[level.places].tolist()) for level in own] == expected
        for low, high in pairwise(own):
            assert depth[low.places].max() < depth[high.places].min()
    for level in together:
        own = np.sort(depth[level.places])
        assert own[-1] <= LEVEL_SPAN * own[0] * (1 + 1e-9)
        assert (own[1:] <= LEVEL_GAP * own[:-1]).all()
        assert (np.diff(level.places) > 0).all()
        assert set(kind[level.places]) == {level.kind}
        rate, latency = samples["ios_per_s"][level.places], samples["cost_ms"][level.places]
        assert level.rate == pytest.approx(math.fsum(rate) / len(rate))
        assert level.latency_ms == pytest.approx(math.fsum(rate * latency) / math.fsum(rate))
        assert level.size_kb == pytest.approx(4)


@with_samples_as_prepared
@pytest.mark.parametrize("depth", np.linspace(1, 2, 33))
@pytest.mark.parametrize(("apart", "count"), [(0.9999, 1), (1.0001, 2)])
def test_a_gap_is_one_wherever_it_lies(depth, apart, count):
    depths = [depth, depth * LEVEL_GAP * apart]
    series, _, _ = prepared_of([10.0] * 2, depths, [100.0] * 2, [True] * 2)
    assert [len(kind) for kind in load_levels(series)] == [count]


@with_samples_as_prepared
@given(st.lists(LOAD, min_size=1, max_size=60))
def test_a_part_of_the_levels_is_what_its_samples_make(loads):
    series, samples, keep = prepared_of(*zip(*loads, strict=True))
    for whole, part in zip(load_levels(series), load_levels_where(series, keep), strict=True):
        kept = [level.places[keep[level.places]] for level in whole]
        assert [level.places.tolist() for level in part] == [own.tolist() for own in kept if len(own)]
        for level in part:
            alone = level_of(samples[level.places])
            # the very same numbers: what is compared with itself must not differ in the last digit
            assert [getattr(level, name) for name in MEANS] == [getattr(alone, name) for name in MEANS]


MEANS = [field.name for field in dataclasses.fields(Level) if field.name not in ("samples", "places")]


@given(
    st.floats(1.5, 64),
    st.floats(0.05, 20),
    st.floats(1, 8),
    st.floats(2, 20),
)
def test_the_fan_out_of_the_model_is_found_again(servers, alone, shallow, times):
    def level(depth):
        rate = 1000 * servers * depth / ((depth + servers - 1) * alone)
        return Level(
            None, None, "reads", depth, rate, rate, depth, rate, 1000 * depth / rate, 1.0, 4.0, 1e6, 1.0
        )

    low, high = level(shallow), level(shallow * times)
    found = fan_out(low, high)
    assert math.isnan(found) or found == pytest.approx(servers, rel=1e-3)
    # what is left by the latency alone bounds what is left by the model
    inflation = high.latency_ms / alone
    if inflation > 1.001:
        most = high.rate * (1 + gain_left(inflation))
        assert most >= 1000 * servers / alone * 0.999 or inflation < 1.001


def test_a_fan_out_needs_twice_the_depth_and_less_than_twice_the_rate():
    def level(depth, rate):
        return Level(None, None, "reads", depth, rate, rate, depth, rate, 1.0, 1.0, 4.0, 1e6, 1.0)

    assert math.isnan(fan_out(level(4, 100), level(6, 120)))
    assert math.isnan(fan_out(level(1, 100), level(4, 500)))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((ladder(ONE_THREAD),), ["indeterminate"]),
        ((ladder(FOUR_THREADS),), ["indeterminate"]),
        ((ladder(ONE_THREAD, FOUR_THREADS, MANY_THREADS),), ["false alarm", "false alarm", "saturated"]),
        ((SSD + SSD_LIGHT + "\n" + SSD + SSD_DEEP,), ["false alarm", "approaching"]),
        ((SSD + SSD_DEEP,), ["indeterminate"]),
        # quiet: 40 requests at 1 ms
        ((iostat([{"sda": load(40, 1)}] * 20),), []),
        # a spinning disk with one request, a few, many
        ((iostat([{"sda": load(80, 12)}] * 20), lsblk(("sda", True))), ["indeterminate"]),
        ((iostat([{"sda": load(100, 25)}] * 20), lsblk(("sda", True))), ["approaching"]),
        ((iostat([{"sda": load(120, 90)}] * 20), lsblk(("sda", True))), ["saturated"]),
        # flash with one and with two requests in flight; deeper nothing tells
        ((iostat([{"sda": load(240, 3.9)}] * 20), lsblk(("sda", False))), ["false alarm"]),
        ((iostat([{"sda": load(520, 3.7)}] * 20), lsblk(("sda", False))), ["false alarm"]),
        ((iostat([{"sda": load(3000, 4)}] * 20), lsblk(("sda", False))), ["indeterminate"]),
        # a disk that calls itself rotational but hides what is behind it: none takes that long unloaded
        ((iostat([{"vda": load(120, 90)}] * 20), lsblk(("vda", True))), ["saturated"]),
        (
            (iostat([{"sda": load(120, 90)}] * 20), lsblk(("sda", True), model="PERC H730P Mini")),
            ["saturated"],
        ),
        # of unknown class: no unloaded disk takes two seconds
        ((iostat([{"sda": load(70, 2000)}] * 20),), ["saturated"]),
    ],
)
def test_every_busy_level_gets_one_verdict(texts, expected):
    assert verdicts(*texts) == expected


@pytest.mark.parametrize(
    ("level", "depth", "reads", "expected"),
    [
        ("raid5", 16, 1.0, "saturated"),  # (16 + 3) / 4
        ("raid5", 4, 1.0, "false alarm"),
        ("raid10", 4, 0.0, "approaching"),  # a write goes to two of four disks: (4 + 1) / 2
        ("raid10", 4, 1.0, "false alarm"),
        ("raid5", 4, 0.0, "indeterminate"),  # parity: what a write costs is not in the capture
        ("linear", 4, 1.0, "indeterminate"),  # the data may lie on one of the disks
    ],
)
def test_spindles_count_by_what_the_layout_does(level, depth, reads, expected):
    text = iostat([{"md0": load(100, 10 * depth, reads=reads)}] * 20)
    assert verdicts(text, array(level, "sda", "sdb", "sdc", "sdd"), device="md0") == [expected]


@pytest.mark.parametrize(
    ("others", "is_full"),
    [
        ([], True),
        ([load(45, 22, util=99)] * 3, False),  # one alone takes as long: a slow device, not a queue
        ([load(500, 2, util=99)] * 3, True),
        ([load(1300, 6, util=99)] * 3, False),  # it can do four times as much, and quicker
    ],
    ids=["nothing else", "slow alone", "quick alone", "far more at other times"],
)
def test_a_latency_beyond_the_class_is_no_queue_where_other_samples_deny_it(others, is_full):
    text = iostat([{"sda": load(330, 27, util=97)}] * 20 + [{"sda": row} for row in others])
    assert ("saturated" in verdicts(text, lsblk(("sda", False)))) == is_full


def test_a_disk_without_idle_time_below_an_array_forbids_the_false_alarm():
    calm = load(25, 10)
    hot = load(25, 40)
    legs = {"sda": hot, "sdb": calm, "sdc": calm, "sdd": calm}
    text = iostat([{"md0": load(100, 20), **legs}] * 20)
    context = array("raid0", "sda", "sdb", "sdc", "sdd")
    assert verdicts(text, context, device="md0") == ["indeterminate"]
    text = iostat([{"md0": load(100, 20), **legs, "sda": calm}] * 20)
    assert verdicts(text, context, device="md0") == ["false alarm"]


@pytest.mark.parametrize(
    ("depth", "disk", "expected"),
    [
        (4, load(120, 4, util=30), "approaching"),  # a small write takes two of four disks: (4 + 1) / 2
        (16, load(120, 18, util=76), "approaching"),  # the disks have some time left
        (16, load(120, 60, util=98), "saturated"),
        (16, load(120, 25, util=88), "saturated"),  # quick disks with more than three in line
        (1.6, load(120, 5, util=33), "false alarm"),
        (1.6, load(120, 7, util=66), "indeterminate"),  # less than twice as much is left
    ],
)
def test_a_write_with_parity_takes_several_of_the_disks_that_are_seen(depth, disk, expected):
    legs = dict.fromkeys(("sda", "sdb", "sdc", "sdd"), disk)
    text = iostat([{"md0": load(100, 10 * depth, reads=0.0, util=99), **legs}] * 20)
    context = array("raid5", *legs)
    assert verdicts(text, context, device="md0") == [expected]
    view = view_of(text, context)
    (found,) = classify(view, view.series("md0"), LIMITS)
    values = template_values(view.series("md0"), found)
    assert values["spread_over"] == 4
    if expected == "approaching":
        # no more than the busiest disk has left
        assert values["gain"] == pytest.approx(min(100 * (100 / disk["%util"] - 1), 200 / (depth - 1)))
    (told,) = disks_below(found)
    assert told.text.startswith("the 4 disks below")
    lower = tuple(one._replace(name=f"dm-{n}") for n, one in enumerate(found.below))
    (told,) = disks_below(found._replace(below=lower))
    assert told.text.startswith("the 4 devices below")


def test_latency_of_larger_requests_is_not_compared():
    small, large = load(200, 5, size=4), load(200, 40, size=512)
    assert verdicts(iostat([{"sda": small}] * 10 + [{"sda": large}] * 10)) == [
        "indeterminate",
        "indeterminate",
    ]
    same = load(200, 40, size=4)
    assert "saturated" in verdicts(iostat([{"sda": small}] * 10 + [{"sda": same}] * 10))


def test_a_request_slower_than_its_queue_explains_proves_no_saturation():
    # one and a half in flight cannot make a request forty times as long
    rows = [{"sda": load(900, 1)}] * 10 + [{"sda": load(37, 40)}] * 10
    assert "saturated" not in verdicts(iostat(rows))


def test_mixed_latency_of_sar_is_compared_at_the_same_mix():
    def row(tps, wait, read_share):
        kb = tps * 16
        depth = tps * wait / 1000
        return {
            "tps": tps,
            "rkB/s": kb * read_share,
            "wkB/s": kb * (1 - read_share),
            "areq-sz": 16.0,
            "aqu-sz": depth,
            "await": wait,
            "%util": min(100, 100 * depth),
        }

    deep = [{"sda": row(250, 100, 0.5)}] * 10
    light = [{"sda": row(125, 8, 0.5)}] * 10
    other = [{"sda": row(125, 8, 1.0)}] * 10

    def bases(text):
        view = view_of(text)
        return [
            found.basis for found in classify(view, view.devices[0], LIMITS) if found.verdict == "saturated"
        ]

    assert bases(sar_d(light + deep)) == ["measured"]
    assert bases(sar_d(other + deep)) == ["class"]


def test_util_above_what_is_in_flight_is_a_matter_of_ticks():
    inflated = load(250, 0.1, util=80)
    assert verdicts(iostat([{"sda": inflated}] * 10)) == ["false alarm"]
    # beyond 100 % it is the time of an earlier request
    assert verdicts(iostat([{"sda": load(250, 0.1, util=180)}] * 10)) == []


def test_a_stall_goes_into_the_sample_that_ends_it():
    steady, silent = load(100, 38), {"%util": 100.0}
    release = load(23, 1775)
    frame = series_of(
        iostat([{"sda": r} for r in [steady] * 5 + [silent] * 9 + [release] + [steady] * 5])
    ).frame
    joined = bridged(Table.of(frame)).frame
    assert len(joined) == len(frame) - 9
    assert joined["depth"].max() == pytest.approx(4.08, abs=0.01)
    assert joined["interval_s"].sum() == pytest.approx(frame["interval_s"].sum())
    held = (frame["depth"] * frame["interval_s"]).sum()
    assert (joined["depth"] * joined["span"]).sum() == pytest.approx(held)


def test_a_stall_that_never_ends_is_left_out():
    frame = series_of(iostat([{"sda": load(100, 38)}] * 5 + [{"sda": {"%util": 100.0}}] * 4)).frame
    assert len(bridged(Table.of(frame))) == 5


@examples(30)
@given(st.integers(1, 40), st.floats(50, 3000))
def test_scaling_util_alone_never_saturates(count, rate):
    text = iostat([{"sda": load(rate, 300 / rate, util=20)}] * count)
    busier = text.replace("   20.00\n", "   99.00\n")
    assert "saturated" not in verdicts(text)
    assert "saturated" not in verdicts(busier)


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.floats(5, 5000),
            st.floats(0.05, 400),
            st.sampled_from([4, 16, 512]),
            st.sampled_from([0, 0.5, 1]),
        ),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([None, True, False]),
    st.booleans(),
)
def test_no_sample_has_two_verdicts(loads, spins, is_ticked):
    rows = [load(rate, wait, size=size, reads=reads) for rate, wait, size, reads in loads]
    if is_ticked:
        rows = [row | {"%util": 95.0} for row in rows]
    context = () if spins is None else (lsblk(("sda", spins)),)
    view = view_of(iostat([{"sda": row} for row in rows]), *context)
    found = classify(view, view.devices[0], LIMITS)
    samples = [sample for one in found for sample in one.level.rows["sample"]]
    assert len(samples) == len(set(samples))
    for one in found:
        # of few that each took long it is said that what the device can do is not shown
        assert (one.verdict == "indeterminate" or one.headroom == ("slow few",)) == bool(one.reason)
        if one.verdict == "false alarm":
            assert one.headroom
            assert one.spindles != 1


def test_idle_devices_beside_it_change_no_verdict():
    rows = [load(900, 1)] * 10 + [load(1500, 12)] * 10
    alone = verdicts(iostat([{"sda": row} for row in rows]))
    crowd = iostat([{"sda": row, "sdb": {}, "loop0": {}} for row in rows])
    assert verdicts(crowd, device="sda") == alone


COST = st.one_of(st.sampled_from([1.0, 1.5, 2.0, 7.0]), st.integers(1, 1000).map(float))


@given(st.lists(st.tuples(COST, st.integers(1, 400)), min_size=1, max_size=120))
@example([(float(n), 10 if n < 33 else 45) for n in range(99)])  # the cheapest third has it to the hair
@example([(float(n), 1 if n < 33 else 45) for n in range(99)])  # it has less
@example([(float(n), 5 if n < 40 else 30) for n in range(100)])  # a tenth ends beyond the third
def test_the_tenth_of_the_requests_is_reached_by_the_first_of_like_samples(loads):
    cost, requests = (np.array(column, dtype=float) for column in zip(*loads, strict=True))
    order = np.argsort(cost, kind="stable")
    done = np.cumsum(requests[order])
    assert _tenth(cost, requests) == order[int(np.argmax(done >= 0.1 * done[-1]))]


def test_samples_that_do_not_say_what_they_moved_are_of_no_kind():
    told = series_of(ladder(ONE_THREAD, FOUR_THREADS))
    unknown = told.samples.with_columns(size_kb=np.array([np.nan, told.samples["size_kb"][1]]))
    assert level_samples(dataclasses.replace(told, samples=unknown))["sample"].tolist() == [1]
