import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.context._latency import Bucket, of_histogram, of_times
from iodiag.formats.context.biolatency import FORMAT
from property_tests import examples
from reading import blocks_of, lines_of
from sample_files import SAMPLES


def facts_of(name):
    (block,) = blocks_of(FORMAT, (SAMPLES / "biolatency" / name).read_text())
    return {(fact.values.get("device"), fact.values.get("requests_of")): fact for fact in block.facts}


def test_a_histogram_per_disk():
    facts = facts_of("per-disk.txt")
    assert list(facts) == [("sda", None), ("nvme0n1", None)]
    sda = facts["sda", None]
    assert (sda.values["requests"], sda.values["p50_from_ms"], sda.values["p50_ms"]) == (300, 0.512, 1.024)
    assert (sda.values["p99_ms"], sda.values["max_ms"]) == (16.384, 16.384)
    assert "p999_ms" not in sda.values  # of 300 requests none is beyond it
    said = "p50 at most 1.02 ms, p99 at most 16.4 ms, slowest at most 16.4 ms"
    assert sda.text == f"biolatency timed 300 requests of sda: {said}"
    assert (sda.ref.first, sda.ref.last) == (7, 14)


def test_sets_of_flags_in_milliseconds_and_intervals_added_up():
    facts = facts_of("flags-m-T.txt")
    reads = facts[None, "Read"].values
    assert (reads["requests"], reads["p50_ms"], reads["p99_ms"]) == (1000, 4, 1024)
    assert reads["span"] == "time queued in the kernel included"
    assert facts[None, "Sync-Write"].values["max_ms"] == 2


def test_bpftrace_and_dictionaries():
    (fact,) = facts_of("bpftrace.txt").values()
    assert (fact.values["requests"], fact.values["p50_ms"], fact.values["max_ms"]) == (883, 4.096, 262.144)
    (fact,) = facts_of("dictionary.txt").values()
    assert (fact.values["device"], fact.values["requests"], fact.values["p99_ms"]) == ("sda", 203, 8.192)


def test_one_disk_that_was_asked_for():
    table = (SAMPLES / "biolatency/per-disk.txt").read_text().split("disk = b'sda'\n")[1].split("\ndisk")[0]
    command = "$ sudo biolatency -d /dev/sdc 10 1\nTracing block device I/O... Hit Ctrl-C to end.\n\n"
    (block,) = blocks_of(FORMAT, command + table)
    assert block.facts[0].values["device"] == "sdc"


@pytest.mark.parametrize("start", ["", "Tracing run queue latency... Hit Ctrl-C to end.\n", "$ runqlat 1\n"])
def test_tables_of_other_tools_are_left_alone(start):
    text = (
        start
        + "     usecs               : count     distribution\n         2 -> 3          : 9        |***|\n"
    )
    assert blocks_of(FORMAT, text) == []
    if not start:
        assert FORMAT.read(lines_of(text), "host/biolatency.txt") is not None


def test_flags_that_no_kernel_has_may_be_names():
    text = (SAMPLES / "biolatency/flags-m-T.txt").read_text().replace("Sync-Write", "ExampleCorp-Write")
    (block,) = blocks_of(FORMAT, text)
    assert [fact.values["requests_of"] for fact in block.facts] == ["Read", "Unknown"]


TIMES = st.lists(st.floats(0.001, 1e5), min_size=1, max_size=400)


@examples(300)
@given(TIMES)
def test_a_percentile_of_a_histogram_holds_the_exact_one(times):
    def low(time):
        return 2.0 ** math.floor(math.log2(time))

    exact, rough = of_times(times), of_histogram([Bucket(low(t), 2 * low(t), 1) for t in times])
    assert exact["requests"] == rough["requests"] == len(times)
    for name in ("p50", "p90", "p99", "max"):
        assert (f"{name}_ms" in exact) == (f"{name}_ms" in rough)
        if f"{name}_ms" in exact:
            assert rough[f"{name}_from_ms"] * 0.9999 <= exact[f"{name}_ms"] <= rough[f"{name}_ms"] * 1.0001
            share = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1}[name]
            assert sum(t <= exact[f"{name}_ms"] * 1.0001 for t in times) >= share * len(times) - 1e-9
    assert ("p99_ms" in exact) == (len(times) >= 100)
