"""Labelled captures, wherever they lie: a case is a folder with truth.json, label.json or case.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READING = frozenset({"util-false-alarm", "svctm-misread", "iowait-misread", "mixed-await"})
"""Rules that say how a number is to be read: where they are all that is expected, storage is fine."""

TROUBLE = frozenset(
    {
        *("true-saturation", "volume-cap", "burst-bucket-empty", "throttled-above-device", "queue-limit"),
        *("raid-partial-stripe-write", "slow-member", "hung-io", "fragmentation-sized-reads"),
        *("serialized-commit", "writeback-burst", "flush-latency", "swap-thrash", "discard-stall"),
        *("write-cache-lost", "sustained-write-cliff", "first-touch-penalty", "common-cause-stall"),
        *("path-imbalance", "copy-on-write-penalty", "nfs-wait", "one-cpu-bound", "device-errors"),
    }
)
"""Rules whose finding is a trouble that somebody should hear of."""

FAMILIES = {"write-cache-flush": ("writeback-burst", "flush-latency")}
"""Words of labels that stand for several rules."""

NO_RULES = frozenset({"healthy", "unclear", "cpu-bound"})


@dataclass(frozen=True)
class Case:
    """One labelled experiment or posted capture.

    `routes` maps a way of capturing it to the files that are given together; each route is analysed
    by itself. `expected` must be found, unless `only_in` names routes that alone can show it; of
    `any_of`, one; `excluded` must not be; whatever is in none of them counts neither way. `trouble` is
    None where the label does not settle whether there is trouble worth a warning.
    """

    name: str
    origin: str
    routes: Mapping[str, tuple[Path, ...]]
    expected: frozenset[str]
    any_of: frozenset[str]
    excluded: frozenset[str]
    trouble: bool | None
    device: str | None = None
    only_in: Mapping[str, tuple[str, ...]] | None = None

    def expected_in(self, route: str) -> frozenset[str]:
        only = self.only_in or {}
        return frozenset(rule for rule in self.expected if route in only.get(rule, (route,)))


def cases(folders: Iterable[Path]) -> Iterator[Case]:
    """Every case in or below the folders, in the order of their names."""
    readers = {"truth.json": _experiment, "label.json": _posted, "case.toml": _sample}
    for folder in folders:
        for path in sorted(p for name in readers for p in folder.rglob(name)):
            case = readers[path.name](path)
            if case is not None:
                yield case


def _rules(words: Iterable[str]) -> frozenset[str]:
    return frozenset(rule for word in words if word not in NO_RULES for rule in FAMILIES.get(word, (word,)))


def _experiment(path: Path) -> Case:
    """A lab experiment; truth.json says what must, may and must not be found."""
    truth: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    folder = path.parent
    files = sorted(p for p in folder.iterdir() if p.is_file() and p != path)
    context = tuple(p for p in files if not p.name.startswith(("iostat", "sar", "vmstat")))
    beside = tuple(p for p in files if p.name == "vmstat.txt")
    routes = {}
    for name, more in (("iostat-x-t.txt", beside), ("sar.bin", ())):
        if (folder / name).exists():
            routes[name] = (folder / name, *more, *context)
    words = set(truth["expected_verdicts"])
    expected, may = _rules(words), _rules(truth["may_flag"])
    excluded = _rules(truth["must_not_flag"])
    if "healthy" in words:
        excluded |= TROUBLE - may
    if expected & TROUBLE:
        trouble: bool | None = True
    elif "healthy" in words or expected & READING:
        trouble = False
    else:
        trouble = None
    return Case(
        name=folder.name,
        origin=truth.get("origin", "lab, older sysstat" if re.search(r"-sysstat-\d", folder.name) else "lab"),
        routes=routes,
        expected=expected,
        any_of=frozenset(),
        excluded=excluded,
        trouble=trouble,
        device=truth.get("device_of_interest"),
        only_in={rule: tuple(names) for rule, names in truth.get("verdict_sources", {}).items()},
    )


def _posted(path: Path) -> Case | None:
    """A posted capture; label.json names acceptable verdicts, the first preferred, and wrong ones."""
    label: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if label["tool"] == "foreign":
        return None
    words = list(label["verdicts"])
    rules = _rules(words)
    is_settled = label["confidence"] != "low" and "unclear" not in words
    is_one = is_settled and len(words) == 1
    excluded = _rules(label["not_expected"])
    if is_one and words == ["healthy"]:
        excluded |= TROUBLE
    trouble = None
    if is_settled and "healthy" not in words and rules <= TROUBLE:
        trouble = True
    elif is_settled and rules <= READING:
        trouble = False
    return Case(
        name=path.parent.name,
        origin="posted",
        routes={"capture.txt": (path.parent / "capture.txt",)},
        expected=rules if is_one and len(rules) == 1 else frozenset(),
        any_of=rules if is_settled and "healthy" not in words else frozenset(),
        excluded=excluded - rules,
        trouble=trouble,
    )


def _sample(path: Path) -> Case:
    """A case of samples/cases: its findings are all that it shows; `or_else` are right with less context."""
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    expected, also = frozenset(case["findings"]), frozenset(case.get("or_else", ()))
    files = tuple(sorted(p for p in path.parent.iterdir() if p.is_file() and p.suffix != ".toml"))
    return Case(
        name=path.parent.name,
        origin="sample",
        routes={"all": files},
        expected=expected,
        any_of=expected | also if also else frozenset(),
        excluded=TROUBLE - expected if not expected else frozenset(),
        trouble=bool(expected & TROUBLE),
    )
