"""What is said of a host's reads and writes where no disk is shown."""

from __future__ import annotations

import numpy as np
import pytest

from iodiag.analysis.host.paging import dipped, moved, released, scanned, slowed
from iodiag.analysis.host.swapping import beside
from iodiag.analysis.host.who_waits import of_first_row
from iodiag.analysis.measure.evidence import say
from views import view_of
from writers.captures import vmstat


def said(rows, *, waited=None):
    view = view_of(vmstat(rows))
    paging = view.samples("paging")
    is_waited = None if waited is None else paging.floats("pgpgin_kb_per_s") >= 0
    return say(*moved(view, paging, is_waited))


STREAM, STILL = {"b": 1, "bi": 9000, "wa": 40}, {"b": 1, "wa": 0}


@pytest.mark.parametrize(
    ("meanwhile", "is_stalled"),
    [
        ({"cache": 4000}, True),
        ({"cache": 4000, "us": 15, "sy": 15}, False),
        ({"cache": lambda at: 4000 + 900 * at}, False),
        ({"free": lambda at: 90000 - 900 * at}, False),
        ({"cache": lambda at: 4000 + 40 * at}, True),
    ],
    ids=["nothing moves", "CPUs work", "the cache fills", "memory fills", "the cache hardly grows"],
)
def test_i_o_stalls_where_nothing_else_moves(meanwhile, is_stalled):
    def at(number):
        return {name: value(number) if callable(value) else value for name, value in meanwhile.items()}

    text = said([STREAM | at(0)] * 8 + [STILL | at(number) for number in range(1, 6)])
    assert ("I/O stalled" in text) == is_stalled
    assert "in the other 5 almost nothing is read or written" in text
    assert ("while the page cache grows by 4 MB" in text) == (at(1).get("cache") == 4900)


@pytest.mark.parametrize(("waited", "is_told"), [(True, True), (None, False)])
def test_a_standstill_from_first_to_last_is_told_unless_it_was_already(waited, is_told):
    text = said([STILL] * 6, waited=waited)
    assert ("while a task waits in 6 of 6 samples: I/O stalled, or a lock or NFS holds it" in text) == is_told


@pytest.mark.parametrize(
    ("last", "told"),
    [(74_000, " and mostly 350 kB/s, up to 72.27 MB/s, read"), (450, " and 360 kB/s read")],
)
def test_a_mean_of_a_few_large_samples_is_told_as_what_is_usual_and_the_most(last, told):
    rows = [{"bo": 150_000, "bi": 350}] * 9 + [{"bo": 150_000, "bi": last}]
    assert told in said(rows)


def test_a_direction_is_told_by_the_samples_that_it_moves_in():
    rows = [{"bi": 700}, {"bo": 900}, {"bo": 30000, "bi": 2000}, *[{}] * 9]
    text = (
        "15.09 MB/s are written (900 kB/s to 29.30 MB/s) in 2 of 12 samples and 1,350 kB/s read in 2; in 9 "
    )
    assert said(rows).startswith(text + "others almost nothing")


def test_a_row_that_counts_tasks_and_no_rates_is_explained():
    view = view_of(vmstat([{"b": 1, "bi": 4000}] * 6))
    queue, paging = view.samples("queue"), view.samples("paging")
    assert of_first_row(view, queue, paging) == " (of the first row only the rates are averages since boot)"
    assert of_first_row(view, queue[1:], paging) == ""


def tables(rows):
    view = view_of(vmstat(rows))
    return view, view.samples("paging"), view.samples("queue")


LOAD, LITTLE = {"b": 1, "bi": 8000, "wa": 20}, {"b": 1, "bi": 350, "wa": 48}


@pytest.mark.parametrize(
    ("rows", "is_told"),
    [
        ([LOAD] * 6 + [LITTLE] * 5 + [LOAD] * 6, True),
        ([LOAD] * 6 + [LITTLE] * 4 + [LOAD] * 6, False),
        ([LOAD] * 12 + [LITTLE] * 5, False),
        ([LOAD] * 6 + [LITTLE | {"b": 0, "wa": 0}] * 5 + [LOAD] * 6, False),
        ([LOAD] * 6 + [LITTLE | {"us": 30}] * 5 + [LOAD] * 6, False),
        ([LOAD] * 6 + [LITTLE | {"bi": 1600}] * 5 + [LOAD] * 6, False),
        ([LOAD | {"bi": 60_000}] * 6 + [LITTLE | {"bi": 900}] * 5 + [LOAD | {"bi": 60_000}] * 6, False),
    ],
    ids=[
        "a dip",
        "a short one",
        "another load follows",
        "nobody waits",
        "CPUs work",
        "a fifth",
        "small files",
    ],
)
def test_a_tenth_is_moved_while_a_task_waits(rows, is_told):
    found = dipped(*tables(rows))
    assert (found is not None) == is_told
    if found is not None:
        text = "in 5 samples in a row 350 kB/s are moved while a task waits, and 8,000 kB/s before and after"
        assert say(*found[1:]) == text


@pytest.mark.parametrize(
    ("column", "share", "is_told"),
    [("buff", 1.0, True), ("buff", 0.05, False), ("cache", 1.0, False)],
    ids=["metadata", "a part of it", "files"],
)
def test_buffers_that_grow_by_what_is_read_are_metadata(column, share, is_told):
    rows, kept = [], 10000.0
    for at in range(8):
        kept += share * (1500 + 100 * at)
        rows.append({"b": 1, "wa": 45, "bi": 1500 + 100 * at, column: kept})
    view, paging, _ = tables(rows)
    assert (scanned(view, paging) is not None) == is_told


@pytest.mark.parametrize(
    ("after", "is_told"),
    [
        ({"free": 900000, "cache": 700000, "b": 0}, True),
        ({"free": 900000, "cache": 50000, "b": 0}, False),
        ({"free": 900000, "cache": 700000, "b": 5}, False),
        ({"free": 90000, "cache": 700000, "b": 0}, False),
    ],
    ids=["a process ends", "the cache is dropped", "they still wait", "little"],
)
def test_memory_that_becomes_free_at_once_was_of_a_process(after, is_told):
    view, _, queue = tables([{"free": 8000, "cache": 700000, "b": 6}] * 6 + [after] * 4)
    assert (released(view, queue) is not None) == is_told


@pytest.mark.parametrize(
    ("few", "is_told"), [({"b": 1, "bi": 6000}, True), ({"bi": 6000}, False), ({"b": 1, "bi": 3000}, False)]
)
def test_more_tasks_that_wait_get_less(few, is_told):
    _, paging, queue = tables([few] * 4 + [{"b": 14, "bi": 2000}] * 5 + [few] * 4)
    assert (slowed(paging, queue) is not None) == is_told


@pytest.mark.parametrize(("cpus", "idle"), [(("all", 0), 60.0), ((0, 1), None)])
def test_a_cpu_by_itself_is_not_the_time_of_all(cpus, idle):
    rows = "".join(f"10:00:02 {name} 10.00 0.00 5.00 25.00 0.00 60.00\n" for name in cpus)
    banner = "Linux 6.1.0 (box) 11/20/26 _x86_64_ (2 CPU)\n\n"
    view = view_of(f"{banner}10:00:01 CPU %user %nice %system %iowait %steal %idle\n{rows}")
    found = beside(view, "cpu", "idle_pct", view.samples("cpu"))
    assert (found == idle).all() if idle else np.isnan(found).all()


def test_mean_and_range_are_of_the_same_samples_and_a_flat_rate_is_told_apart():
    text = said([{"b": 1, "wa": 20, "bo": bo} for bo in (30000, *[50000, 51000] * 4)])
    assert "47.09 MB/s are written (29.30 MB/s to 49.80 MB/s)" in text
    assert text.endswith(", at a flat rate of 49.32 MB/s in all samples but 1")


@pytest.mark.parametrize(("waiting", "is_flat"), [(9, True), (2, False)])
def test_a_rate_that_varies_is_a_ceiling_only_where_somebody_waits_most_of_the_time(waiting, is_flat):
    rates = (80000, 87000, 75000, 82000, 85500, 77000, 83000, 79000, 84000, 81000)
    view = view_of(vmstat([{"b": int(n < waiting), "wa": 1, "bo": bo} for n, bo in enumerate(rates)]))
    is_waited = np.arange(len(rates)) < waiting
    assert ("at a flat rate" in say(*moved(view, view.samples("paging"), is_waited))) == is_flat
