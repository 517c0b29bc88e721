import pytest

from iodiag.formats.context.pgbench import FORMAT
from reading import blocks_of

RUN = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
starting vacuum...end.
progress: 10.0 s, 27.0 tps, lat 354.800 ms stddev 68.127, 0 failed
progress: 20.0 s, 26.0 tps, lat 373.000 ms stddev 75.124, 0 failed
transaction type: <builtin: simple update>
scaling factor: 10
query mode: simple
number of clients: 10
number of threads: 2
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 1629
number of failed transactions: 0 (0.000%)
latency average = 364.581 ms
latency stddev = 70.844 ms
initial connection time = 296.196 ms
tps = 27.190238 (without initial connection time)
statement latencies in milliseconds and failures:
         0.002           0  \\set aid random(1, 100000 * :scale)
         1.500           0  BEGIN;
       360.123           0  END;
"""


def test_run():
    (block,) = blocks_of(FORMAT, RUN + "\nroot@x:~# vmstat 1\n12.000 3 x\n")
    assert block.used == RUN.count("\n")
    progress, summary = block.facts
    assert progress.values["transactions_per_s"] == 26.5
    assert progress.values["latency_ms"] == 363.9
    assert progress.values["intervals"] == 2
    assert summary.values["clients"] == 10
    assert summary.values["latency_ms"] == 364.581
    assert summary.values["commit_ms"] == 360.123
    assert summary.values["transactions_per_s"] == 27.190238


@pytest.mark.parametrize(
    ("text", "rate", "commit"),
    [
        (
            "transaction type: TPC-B (sort of)\nnumber of clients: 8\nlatency average: 14.1 ms\n"
            "tps = 565.16 (including connections establishing)\n"
            "tps = 566.20 (excluding connections establishing)\n"
            "statement latencies in milliseconds:\n\t0.003\t\\set x 1\n\t11.25\tINSERT\n\t12.250\tEND;\n",
            566.2,
            None,
        ),
        ("number of clients: 1\ntps = 85.1 (including connections establishing)\n", 85.1, None),
    ],
)
def test_old_releases(text, rate, commit):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[-1].values["transactions_per_s"] == rate
    assert block.facts[-1].values.get("commit_ms") == commit


@pytest.mark.parametrize(
    "text", ["pgbench (see above) is slow\n", "progress: 10 s\n", "number of clients: 3\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
