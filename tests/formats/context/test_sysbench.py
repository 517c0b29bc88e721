import pytest

from iodiag.formats.context.sysbench import FORMAT
from reading import blocks_of

RUN = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 6
Report intermediate results every 5 second(s)
Initializing random number generator from current time


Initializing worker threads...

Threads started!

[ 5s ] thds: 6 tps: 5.00 qps: 111.82 (r/w/o: 78.27/22.36/11.18) lat (ms,95%): 161.51 err/s: 0.00 reconn/s: 0.00
[ 5s ] queue length: 0, concurrency: 0
[ 10s ] thds: 6 tps: 7.00 qps: 128.12 (r/w/o: 89.68/25.62/12.81) lat (ms,95%): 142.49 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            4676
        write:                           1336
        other:                           668
        total:                           6680
    transactions:                        334    (5.55 per sec.)
    queries:                             6680   (110.95 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          60.2074s
    total number of events:              334

Latency (ms):
         min:                                   24.31
         avg:                                   84.04
         max:                                  260.26
         99th percentile:                      155.80
         sum:                                28070.33

Threads fairness:
    events (avg/stddev):           55.6667/0.75
    execution time (avg/stddev):   4.6784/0.23
"""  # noqa: E501


def test_run_gives_its_intervals_and_its_summary():
    (block,) = blocks_of(FORMAT, RUN + "\nroot@x:~# iostat\n")
    assert block.used == RUN.count("\n")
    interval, summary = block.facts
    assert interval.values == {
        "threads": 6,
        "transactions_per_s": 6,
        "queries_per_s": 119.97,
        "reads_per_s": 83.975,
        "writes_per_s": 23.99,
        "response_ms": 152,
        "percentile": 95,
        "intervals": 2,
    }
    assert (interval.ref.first, interval.ref.last) == (13, 15)
    assert summary.values["latency_ms"] == 84.04
    assert summary.values["response_ms"] == 155.8
    assert summary.values["percentile"] == 99
    assert summary.values["transactions_per_s"] == 5.55
    assert summary.values["threads"] == 6


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[ 80s] threads: 1, tps: 9.30, reads/s: 130.20, writes/s: 0.00 response time: 171.82ms (95%)",
            {"threads": 1, "transactions_per_s": 9.3, "reads_per_s": 130.2, "response_ms": 171.82},
        ),
        (
            "[ 10s] threads: 4, tps: 21.10, reads: 295.40, writes: 1.50, response time: 312.09ms (99%), er",
            {"reads_per_s": 295.4, "writes_per_s": 1.5, "percentile": 99},
        ),
        (
            "[ 1s ] reads: 23.42 MiB/s writes: 15.61 MiB/s fsyncs: 4996.39/s latency (ms,95%): 0.351",
            {
                "read_mb_per_s": 23.42,
                "written_mb_per_s": 15.61,
                "fsyncs_per_s": 4996.39,
                "response_ms": 0.351,
            },
        ),
        (
            "[   2s] reads: 10.20 MB/s writes: 6.80 MB/s fsyncs: 1391.50/s response time: 0.336ms (95%)",
            {"read_mb_per_s": 10.2, "fsyncs_per_s": 1391.5, "response_ms": 0.336},
        ),
        ("[ 1s ] thds: 2 eps: 1000.00 lat (ms,95%): 1.10", {"events_per_s": 1000, "response_ms": 1.1}),
    ],
)
def test_interval_lines(line, expected):
    (block,) = blocks_of(FORMAT, "    " + line + "\nDevice: r/s\n")
    values = block.facts[0].values
    assert {name: values[name] for name in expected} == expected
    assert block.used == 1
    assert ("reads_per_s" in values) == ("reads_per_s" in expected or "threads: 1" in line)


def test_change_of_threads_begins_a_new_fact():
    line = "[ {0}s] threads: {1}, tps: {1}.0, reads/s: 1.0 response time: 10.0ms (95%)"
    (block,) = blocks_of(FORMAT, "\n".join(line.format(10 * i, n) for i, n in enumerate([1, 1, 4])))
    assert [fact.values["threads"] for fact in block.facts] == [1, 4]
    assert [fact.values["intervals"] for fact in block.facts] == [2, 1]


def test_old_file_test():
    text = (
        "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\n"
        "Running the test with following options:\nNumber of threads: 16\n\n"
        "Extra file open flags: 0\n128 files, 16Mb each\n2Gb total file size\nBlock size 16Kb\n"
    )
    text += (
        "Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total\n"
        "Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (15.625Mb/sec)\n"
        " 1000.02 Requests/sec executed\n\n"
        "Test execution summary:\n    total time:                          10.0s\n"
        "    per-request statistics:\n         min:                                  0.01ms\n"
        "         avg:                                 12.60ms\n"
        "         approx.  95 percentile:              40.25ms\n"
    )
    facts = [fact for block in blocks_of(FORMAT, text) for fact in block.facts]
    assert facts[0].values["requests_per_s"] == 1000.02
    assert facts[0].values["response_ms"] == 40.25
    assert facts[0].values["threads"] == 16


@pytest.mark.parametrize("text", ["[ 80s] something: 1\n", "sysbench 1.0 is nice\n", "General statistics:\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
