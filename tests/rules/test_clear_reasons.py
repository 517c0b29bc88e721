"""What a clear reason says in numbers is so in the raw table, by arithmetic of its own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest

import iodiag
from evaluation.exam.questions import questions
from iodiag.model.capture import Capture
from iodiag.model.report import Report
from sample_files import FILES, analyzed, name_of, read

ODD_SEED = 47
Rows = pd.DataFrame


def column(rows: Rows, *names: str) -> np.ndarray:
    """The sum of columns as floats; a column that the capture does not have is NaN."""
    parts = [rows[name] if name in rows else pd.Series(np.nan, rows.index) for name in names]
    return np.sum([part.to_numpy(dtype=float) for part in parts], axis=0)


def first_known(*columns: np.ndarray) -> np.ndarray:
    result = columns[0]
    for other in columns[1:]:
        result = np.where(np.isnan(result), other, result)
    return result


def requests(rows: Rows) -> np.ndarray:
    return first_known(column(rows, "ios_per_s"), column(rows, "reads_per_s", "writes_per_s"))


def at_once(rows: Rows) -> np.ndarray:
    return column(rows, "queue_depth") / np.fmax(np.fmin(column(rows, "util_pct") / 100, 1), 1e-9)


def never_busy(rows: Rows, percent: str) -> bool:
    busy = column(rows, "util_pct") >= float(percent)
    # counted in ticks, or shorter than the depth allows: no time that requests took
    return not (busy & (column(rows, "queue_depth") >= float(percent) / 100) & (requests(rows) > 5)).any()


def no_queue(rows: Rows) -> bool:
    return not ((column(rows, "util_pct") >= 75) & (at_once(rows) >= 5) & (requests(rows) > 5)).any()


def no_seconds(rows: Rows) -> bool:
    waits = [column(rows, name) for name in ("await_ms", "read_await_ms", "write_await_ms")]
    rates = [requests(rows), column(rows, "reads_per_s"), column(rows, "writes_per_s")]
    return not any(((wait > 2000) & (rate > 0)).any() for wait, rate in zip(waits, rates, strict=True))


def one_direction(rows: Rows, percent: str) -> bool:
    # samples that are next to idle are not judged
    is_used = requests(rows) > 5
    reads, writes = (np.nansum(column(rows, f"{way}s_per_s")[is_used]) for way in ("read", "write"))
    return bool(max(reads, writes) >= float(percent) / 100 * (reads + writes) - 0.01)


def like_latency(rows: Rows, times: str) -> bool:
    rates = [column(rows, f"{way}s_per_s") for way in ("read", "write")]
    waits = [column(rows, f"{way}_await_ms") for way in ("read", "write")]
    # samples that are next to idle are not judged
    is_used = requests(rows) > 5
    sums = [(np.nansum((r * w)[is_used]), np.nansum(r[is_used])) for r, w in zip(rates, waits, strict=True)]
    means = [waited / many if many > 0 else 0.0 for waited, many in sums]
    return bool(max(means) < 1.1 * float(times) * min(means)) or min(means) == 0


def no_stretch(rows: Rows) -> bool:
    still = (requests(rows) == 0) & (column(rows, "util_pct") >= 99) & (column(rows, "queue_depth") >= 1)
    longest = run = 0
    for one in still:
        run = run + 1 if one else 0
        longest = max(longest, run)
    return longest < 5


def no_small_reads(rows: Rows) -> bool:
    reads, kb = column(rows, "reads_per_s"), column(rows, "read_kb_per_s")
    is_small = (kb <= 26 * reads) & (kb >= 3 * reads) & (reads >= 0.95 * requests(rows)) & (reads > 5)
    is_busy = (column(rows, "util_pct") >= 75) & (column(rows, "queue_depth") >= 0.75)
    return not (is_small & is_busy).mean() > 0.5


def no_bursts(rows: Rows) -> bool:
    is_partly = (column(rows, "util_pct") >= 1) & (column(rows, "util_pct") <= 85)
    return not (is_partly & (at_once(rows) >= 40) & (requests(rows) > 5)).any()


def not_one_by_one(rows: Rows) -> bool:
    is_full = (column(rows, "util_pct") >= 98) & (np.abs(column(rows, "queue_depth") - 1) <= 0.02)
    small = column(rows, "read_kb_per_s", "write_kb_per_s") <= 32 * requests(rows)
    return not (is_full & small & (requests(rows) > 5)).mean() > 0.8


def util_within_depth(rows: Rows) -> bool:
    beyond = np.fmin(column(rows, "util_pct") / 100, 1) - column(rows, "queue_depth")
    return not ((beyond > 0.3) & (requests(rows) > 5)).mean() > 0.3


OF_DEVICES: dict[str, Callable[..., bool]] = {
    r"never (\d+) % busy, nor a queue": never_busy,
    r"it never has a queue that a limit could hold": no_queue,
    r"no mean latency exceeds": no_seconds,
    r"at least (\d+) % of its requests under load are of one direction": one_direction,
    r"neither direction takes ([\d.]+) times as long": like_latency,
    r"no stretch without an answer": no_stretch,
    r"no busy stretch of small reads": no_small_reads,
    r"no sign of bursts within a sample": no_bursts,
    r"not busy with one request at a time": not_one_by_one,
    r"%util hardly ever exceeds the requests in flight": util_within_depth,
    r"nothing was discarded": lambda rows: not np.nansum(column(rows, "discards_per_s")) > 0,
    r"few flushes, or quick ones": lambda rows: (
        not (column(rows, "flushes_per_s") * column(rows, "flush_await_ms") >= 900).all()
    ),
}
OF_HOSTS: dict[str, tuple[str, Callable[..., bool]]] = {
    r"at most (\d+) tasks? were blocked": (
        "queue",
        lambda rows, most: not (column(rows, "blocked") > float(most)).any(),
    ),
    r"next to nothing is swapped": (
        "swapping",
        lambda rows: not column(rows, "swap_in_kb_per_s", "swap_out_kb_per_s").mean() > 1000,
    ),
    r"hardly any CPU time is withheld": ("cpu", lambda rows: not column(rows, "steal_pct").mean() > 10),
    r"the CPUs have time left": (
        "cpu",
        lambda rows: not column(rows, "user_pct", "system_pct").mean() > 95,
    ),
}


def present(capture: Capture) -> dict[tuple[str, str], Rows]:
    """The samples of each table and device that are no averages, as pandas has them."""
    found = {}
    for family, table in capture.tables.each():
        if family != "disk" and family not in {name for name, _ in OF_HOSTS.values()}:
            continue
        rows = table.frame
        rows = rows[~rows["since_boot"]] if "since_boot" in rows else rows
        key = {"disk": "device", "cpu": "cpu"}.get(family)
        parts = rows.groupby(key, observed=True) if key else [("", rows)]
        found |= {(family, "" if item == "all" else str(item)): part for item, part in parts if len(part)}
    return found


def untrue(capture: Capture, report: Report) -> Iterator[str]:
    """Clear reasons that the raw tables contradict."""
    rows = present(capture)
    for outcome in report.outcomes:
        for words, holds in OF_DEVICES.items():
            match = re.match(words, outcome.reason) if outcome.status == "clear" else None
            for device in outcome.devices if match else ():
                own = rows.get(("disk", device))
                if own is not None and not holds(own, *match.groups()):
                    yield f"{outcome.rule}, {device}: {outcome.reason}"
        for words, (family, holds) in OF_HOSTS.items():
            match = re.match(words, outcome.reason) if outcome.status == "clear" else None
            if match and (family, "") in rows and not holds(rows[family, ""], *match.groups()):
                yield f"{outcome.rule}: {outcome.reason}"


# pt-diskstats counts what merged into others when it divides waiting by requests
RAW = [path for path in FILES if path.parent.name != "pt-diskstats"]


@pytest.mark.parametrize("path", RAW, ids=name_of)
def test_clear_reasons_are_true_of_samples(path):
    if len(analyzed(path).hosts) <= 1:
        assert list(untrue(read(path), analyzed(path))) == []


@pytest.mark.parametrize("samples", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 10, 14))])
def test_clear_reasons_are_true_of_the_exam(samples):
    # changes over time have 14 samples, whatever is asked for
    for question in questions(ODD_SEED, 1, samples=(min(samples, 10),)):
        if question.samples == samples:
            capture = iodiag.read(io.BytesIO(question.text.encode()))
            found = list(untrue(capture, iodiag.analyze(capture)))
            assert found == [], f"{question.mechanism}\n{question.text}"


@pytest.mark.parametrize(("rate", "wait"), [(120, 8), (700, 30)])
def test_without_the_size_of_requests_that_is_why_no_load_is_judged(report_of, rate, wait):
    row = f"sda {rate:.2f} 0.00 {wait:.2f} 0.00 {rate * wait / 1000:.2f} 97.00\n\n"
    report = report_of(20 * f"Device r/s w/s r_await w_await aqu-sz %util\n{row}")
    rules = (
        "true-saturation",
        "approaching-saturation",
        "util-false-alarm",
        "low-concurrency-bound",
        "volume-cap",
    )
    reasons = {o.reason for o in report.outcomes if o.rule in rules}
    assert reasons == {"the capture lacks kb_per_s of it"}
