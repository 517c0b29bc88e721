"""Disturbs labelled captures a little and looks whether the verdict holds; prints what it finds as Markdown.

    python tests/evaluation/perturbed.py [--exam SEED] FOLDER...

With --exam one capture of each trouble of the simulated exam is disturbed as well.

A sample is dropped or stands twice, one goes wild, an idle device stands beside, a table, a column or every
listing is missing, the capture is given twice. The verdict stays then, or becomes `open` or `unknown`; it
never becomes an all-clear, and never names a cause that neither the label accepts nor the undisturbed
capture shows.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd

import iodiag
from evaluation.corpus import cases
from evaluation.exam.questions import MECHANISMS, question
from iodiag.model.finding import SEVERITIES
from iodiag.model.report import Report
from iodiag.model.topology import DeviceTopology

Captures = Sequence[iodiag.Capture]
Rows = pd.DataFrame

KEYS = {
    "source",
    "line",
    "host",
    "time",
    "interval_s",
    "segment",
    "report",
    "since_boot",
    "is_group",
    "device",
}
BESIDE = ("cpu", "queue", "memory", "swap", "paging", "tasks")
ALL_CLEAR = ("healthy", "elsewhere")


EXAM_SAMPLES = 5


@dataclass(frozen=True)
class Outcome:
    """What became of one capture under one disturbance: `kept`, `weaker`, `all-clear` or `other cause`."""

    case: str
    route: str
    change: str
    became: str
    said: str


def outcomes(folders: Iterable[Path]) -> Iterator[Outcome]:
    """Every labelled capture with trouble that is recognised undisturbed, under every disturbance."""
    for case in cases(folders):
        for route, paths in case.routes.items():
            yield from _disturbed(case.name, route, list(_read(paths)), case.expected | case.any_of)


def of_exam(seed: int, mechanisms: Iterable[str] = MECHANISMS) -> Iterator[Outcome]:
    """The same of one simulated capture of each trouble."""
    for mechanism in mechanisms:
        asked = question(mechanism, EXAM_SAMPLES, seed, 0)
        if asked.truth.sort == "trouble":
            capture = iodiag.read(io.BytesIO(asked.text.encode()), name="capture.txt")
            yield from _disturbed(mechanism, "exam", [capture], asked.truth.names | asked.truth.also)


def _disturbed(name: str, route: str, captures: Captures, accepted: frozenset[str]) -> Iterator[Outcome]:
    if not captures:
        return
    base = iodiag.analyze(captures)
    for change, disturbed in disturbances(captures):
        report = iodiag.analyze(disturbed)
        yield Outcome(name, route, change, became(base, report, _causes(base) | accepted), report.headline)


def _read(paths: Iterable[Path]) -> Iterator[iodiag.Capture]:
    """What can be read of the files; what cannot is measured elsewhere."""
    for path in paths:
        with suppress(iodiag.IodiagError):
            yield iodiag.read(path)


def became(base: Report, report: Report, accepted: frozenset[str]) -> str:
    """How the verdict moved from that of the undisturbed capture."""
    was, state = base.verdict, report.verdict
    assert was is not None
    assert state is not None
    assert not [outcome for outcome in report.outcomes if outcome.status == "error"]
    if state.state in ALL_CLEAR and was.state not in (state.state, "unknown"):
        return "all-clear"
    if state.state == "trouble" and state.rule not in accepted:
        return "other cause"
    return "kept" if (state.state, state.rule) == (was.state, was.rule) else "weaker"


def _causes(report: Report) -> frozenset[str]:
    told = [f for f in report.findings if SEVERITIES.index(f.severity) >= SEVERITIES.index("notice")]
    return frozenset(f.rule for f in told)


def disturbances(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """Each change by its name, with the captures under it."""
    # one of them has the disks; the others stand beside it
    captures = sorted(captures, key=lambda capture: "disk" not in capture.tables)
    if not captures or "disk" not in captures[0].tables:
        return
    disk = captures[0].tables["disk"]
    for name, change in SAMPLES.items():
        changed = change(disk)
        if changed is not None:
            yield name, _with_disk(captures, changed)
    for table in BESIDE:
        if any(table in capture.tables for capture in captures):
            yield f"without {table}", [_without(capture, table) for capture in captures]
    for column in (c for c in disk.select_dtypes("number") if c not in KEYS and disk[c].notna().any()):
        yield f"without {column}", _with_disk(captures, disk.assign(**{column: np.nan}))
    if any(capture.topology for capture in captures):
        yield "without any listing", [replace(capture, topology=DeviceTopology()) for capture in captures]
    yield "given twice", [*captures, *captures]


def _with_disk(captures: Captures, disk: Rows) -> Captures:
    first = replace(captures[0], tables={**dict(captures[0].tables), "disk": disk})
    return [first, *captures[1:]]


def _without(capture: iodiag.Capture, table: str) -> iodiag.Capture:
    return replace(capture, tables={name: rows for name, rows in capture.tables.items() if name != table})


def _samples(disk: Rows) -> list[tuple[object, object]]:
    """The samples after boot, each as its segment and report."""
    rows = disk[~disk["since_boot"].astype(bool)]
    return list(rows.groupby(["segment", "report"], sort=False).groups)


def _is_of(disk: Rows, sample: tuple[object, object]) -> pd.Series:
    return (disk["segment"] == sample[0]) & (disk["report"] == sample[1])


def _dropped(which: Callable[[int], int]) -> Callable[[Rows], Rows | None]:
    def change(disk: Rows) -> Rows | None:
        samples = _samples(disk)
        # two samples less one are another capture, not a disturbed one
        return disk[~_is_of(disk, samples[which(len(samples))])] if len(samples) > 2 else None

    return change


def _twice(disk: Rows) -> Rows | None:
    """The last sample once more, at the end."""
    samples = _samples(disk)
    if not samples:
        return None
    last = disk[_is_of(disk, samples[-1])]
    moved = last.assign(
        report=last["report"] + 1,
        time=last["time"] + pd.to_timedelta(last["interval_s"].fillna(1), unit="s"),
    )
    return pd.concat([disk, moved], ignore_index=True)


def _wild(disk: Rows) -> Rows | None:
    """The middle one of many samples with thirty times the latency and the queue, at the same rates."""
    samples = _samples(disk)
    if len(samples) < 5:
        return None
    wild = disk.copy()
    columns = [c for c in disk.columns if c.endswith("await_ms") or c == "queue_depth"]
    wild.loc[_is_of(disk, samples[len(samples) // 2]), columns] *= 30
    return wild


def _beside_idle(disk: Rows) -> Rows:
    """Another device that does nothing."""
    name = disk["device"].astype(str).iloc[0]
    one = disk[disk["device"].astype(str) == name]
    numbers = [c for c in disk.select_dtypes("number").columns if c not in KEYS]
    idle = one.assign(device="sdzz", **{c: one[c] * 0.0 for c in numbers})
    order = ["segment", "report"]
    return pd.concat([disk.assign(device=disk["device"].astype(str)), idle]).sort_values(
        order, kind="stable", ignore_index=True
    )


SAMPLES: dict[str, Callable[[Rows], Rows | None]] = {
    "first sample dropped": _dropped(lambda _: 0),
    "middle sample dropped": _dropped(lambda count: count // 2),
    "last sample dropped": _dropped(lambda _: -1),
    "last sample twice": _twice,
    "one wild sample": _wild,
    "an idle device beside": _beside_idle,
}


def page(found: Sequence[Outcome]) -> str:
    """A table of what became of the verdicts, by disturbance, and each that turned round."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        counts.setdefault(one.change, Counter())[one.became] += 1
    words = ("kept", "weaker", "all-clear", "other cause")
    lines = [f"| Change | {' | '.join(words)} |", "| --- | ---: | ---: | ---: | ---: |"]
    total: Counter[str] = sum(counts.values(), Counter())
    lines += [
        f"| {name} | {' | '.join(str(count[word]) for word in words)} |"
        for name, count in [*counts.items(), ("together", total)]
    ]
    turned = [one for one in found if one.became in words[2:]]
    lines += ["", *(f"- {o.case} {o.route}, {o.change}: {o.became}: {o.said}" for o in turned)]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--exam", type=int, metavar="SEED", help="the simulated exam with this seed, too")
    options = parser.parse_args(arguments)
    simulated = of_exam(options.exam) if options.exam is not None else ()
    print(page([*outcomes(options.folders), *simulated]))


if __name__ == "__main__":
    main()
