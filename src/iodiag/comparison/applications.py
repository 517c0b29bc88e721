"""What load tools measured on both sides: one run each, so ratios without an interval."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure.before_after import AFTER, BEFORE, Sums, judged_change
from iodiag.analysis.measure.evidence import cite_fact
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.comparison import Subject

_APPLICATIONS = {
    "sysbench": ("transactions_per_s", "latency_ms", "response_ms"),
    "pgbench": ("transactions_per_s", "latency_ms"),
    "fio": ("iops", "kb_per_s", "latency_ms"),
}


def applications(before: View, after: View) -> Iterator[Subject]:
    """What a load tool measured on both sides: one run each, so ratios without an interval."""
    sides = _runs(before), _runs(after)
    has_jobs = len({key[0] for key in sides[BEFORE]}) > 1
    for key in sides[BEFORE]:
        one, other = sides[BEFORE][key], sides[AFTER].get(key)
        name = " ".join(word for word in (one.kind, key[1], key[0] if has_jobs else "") if word)
        if other is None:
            continue
        changes = [
            judged_change(name, _run(one, name), _run(other, name))
            for name in _APPLICATIONS[one.kind]
            if one.number(name) >= 0 and other.number(name) >= 0
        ]
        if changes:
            yield Subject(
                kind="application",
                before=name,
                after=name,
                basis="the same tool and job",
                changes=tuple(changes),
                host_before=before.host,
                host_after=after.host,
                evidence=(cite_fact(one), cite_fact(other)),
                remarks=tuple(_settings(one, other)),
            )


def _run(fact: Fact, name: str) -> Sums:
    return Sums(np.array([fact.number(name)]), np.ones(1))


Key = tuple[str, str, str]


def _runs(view: View) -> dict[Key, Fact]:
    """The one run of each tool and job; a summary stands for its intervals, several runs for none."""
    groups: dict[Key, list[Fact]] = {}
    for fact in view.facts_of(*_APPLICATIONS):
        key = fact.word("job"), fact.word("direction"), fact.kind
        groups.setdefault(key, []).append(fact)
    found = {}
    for key, facts in groups.items():
        whole = [fact for fact in facts if fact.number("is_summary") == 1] or facts
        if len(whole) == 1:
            found[key] = whole[0]
    return found


def _settings(one: Fact, other: Fact) -> Iterator[str]:
    """How the load tool was run differently."""
    for name in ("threads", "clients", "iodepth", "block_size_kb"):
        values = one.number(name), other.number(name)
        if not any(map(math.isnan, values)) and values[BEFORE] != values[AFTER]:
            yield f"`{name}`: {values[BEFORE]:g} before, {values[AFTER]:g} after, which alone may move it"
