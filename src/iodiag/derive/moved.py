"""One sentence that says what a change moved, by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iodiag.derive.changes import AFTER
from iodiag.derive.evidence import say
from iodiag.model.comparison import Change, FindingChange, Subject
from iodiag.model.finding import CONFIDENCES, SEVERITIES, Confidence, Evidence
from iodiag.model.units import KB_PER_MB

LEAST_MB = 10 * KB_PER_MB
"""From so many kB/s on people speak of MB/s."""

ABOUT_NUMBERS = frozenset(
    {
        "first-report-since-boot",
        "counter-anomaly",
        "interval-too-long",
        "util-sampling-bias",
        "util-false-alarm",
        "svctm-misread",
        "iowait-misread",
        "mixed-await",
    }
)
"""Rules that say how to read numbers, not what ails the host: no change is about them."""

Values = dict[str, float | str]


@dataclass(frozen=True)
class _Wording:
    """How a change of one quantity is said: who does it, its unit, and more, less or times of what."""

    does: str
    unit: str
    more: str = "more"
    less: str = "less"
    times: str = "times as much"


_REQUESTS = _Wording("{subject} does", "requests/s", "more requests", "fewer requests", "times the requests")
_AMOUNTS = {
    "transactions_per_s": _Wording(
        "{subject} does",
        "transactions/s",
        "more transactions",
        "fewer transactions",
        "times the transactions",
    ),
    "iops": _REQUESTS,
    "read_kb_per_s": _Wording("{subject} reads", "kB/s"),
    "write_kb_per_s": _Wording("{subject} writes", "kB/s"),
    "kb_per_s": _Wording("{subject} moves", "kB/s"),
    "ios_per_s": _REQUESTS,
}
"""Quantities of work done, the most telling first."""

_WAITS = {
    "read_await_ms": "a read of {subject} takes",
    "write_await_ms": "a write of {subject} takes",
    "await_ms": "a request of {subject} takes",
    "latency_ms": "a request of {subject} takes",
    "flush_await_ms": "a flush of {subject} takes",
}

_SHARES = ("available_pct", "iowait_pct", "user_pct", "system_pct")


@dataclass(frozen=True)
class _Clause:
    """A piece of the sentence with its numbers, the change that it says, and what that is about."""

    template: str
    values: Values
    change: Change
    subject: Subject


def verdict(
    subjects: Sequence[Subject], findings: Sequence[FindingChange], uncompared: Sequence[str]
) -> tuple[Evidence, Confidence]:
    """The headline, and the confidence of the surest change that it names."""
    told = _findings(findings)
    if not subjects:
        reason = uncompared[0] if uncompared else "the two sides hold no samples of the same kind"
        return Evidence(f"Nothing could be compared: {reason}. {told}".strip()), "low"
    clauses = _chosen(subjects)
    if not clauses:
        return _nothing(subjects, told)
    values: Values = {}
    texts = []
    for at, clause in enumerate(clauses):
        texts.append(say(clause.template, clause.values))
        numbers = {name: value for name, value in clause.values.items() if isinstance(value, float)}
        values |= {f"{name}_{at}": value for name, value in numbers.items() if not math.isnan(value)}
    doubt = "" if any(not math.isnan(clause.change.low) for clause in clauses) else _doubt(clauses[0].change)
    text = " ".join(filter(None, (f"{_capital('; '.join(texts))}.", doubt, told)))
    rows = clauses[0].subject.evidence[AFTER]
    best = max((clause.change.confidence for clause in clauses), key=CONFIDENCES.index)
    return Evidence(text, values, rows.source, rows.lines, rows.rows), best


def _chosen(subjects: Sequence[Subject]) -> list[_Clause]:
    """What the application did, then the first device with a change, else the processors.

    Of all but the busiest device only changes with an interval count: where many are looked at, some
    differ by chance.
    """
    work = next((c for s in subjects if s.kind == "application" and (c := _work(s)) is not None), None)
    told = [work] if work else []
    devices = [subject for subject in subjects if subject.kind == "device"]
    for subject in sorted(devices, key=lambda one: one.is_part):
        found = [None if work else _work(subject), _wait(subject)]
        is_busiest = subject is devices[0]
        clauses = [c for c in found if c is not None and (is_busiest or not math.isnan(c.change.low))]
        if clauses:
            return [*told, *clauses]
    shares = [clause for s in subjects if s.kind == "cpu" for clause in _cpu(s)]
    return [*told, *shares[: 1 if told else 2]]


def _work(subject: Subject) -> _Clause | None:
    """By how much more or less is done."""
    change = next((c for q in _AMOUNTS if (c := subject.change(q)) and _is_telling(c, subject)), None)
    if change is None:
        return None
    words = _AMOUNTS[change.quantity]
    if change.verdict == "appeared":
        text = f"{words.does} {{after}} {{unit_after}}, before none"
    elif change.verdict == "ceased":
        text = f"{words.does} nothing any more, before {{before}} {{unit_before}}"
    else:
        text = f"{words.does} {_by(change, words.more, words.less, words.times)}"
        text += f": {{after}} {{unit_after}} against {{before}} {{unit_before}} before{_interval(change)}"
    return _Clause(text, _values(subject, change, words.unit), change, subject)


def _is_telling(change: Change, subject: Subject) -> bool:
    """Whether a change of work is worth a clause: the bytes only of the direction that has most."""
    direction, _, rest = change.quantity.partition("_")
    other = subject.change(f"{'write' if direction == 'read' else 'read'}_{rest}")
    is_lesser = other is not None and max(change.before, change.after) < max(other.before, other.after)
    return change.is_change and not (direction in ("read", "write") and is_lesser)


def _wait(subject: Subject) -> _Clause | None:
    """By how much longer or shorter requests wait: at matched load where there is one."""
    matched = [one for one in subject.at_matched_load if one.is_change]
    if not matched and (subject.at_matched_load or subject.shift == "workload"):
        return None
    every = matched or [c for q in _WAITS if (c := subject.change(q)) and c.is_change]
    if not every:
        return None
    change = max(every, key=lambda one: min(one.samples))
    where = " at the same load" if matched else ""
    text = f"{_WAITS[change.quantity]} {_by(change, 'more time', 'less time', 'times as long')}{where}"
    text += f": {{after}} ms against {{before}} ms{_interval(change)}"
    return _Clause(text, _values(subject, change, "ms"), change, subject)


def _cpu(subject: Subject) -> list[_Clause]:
    changes = [c for q in _SHARES if (c := subject.change(q)) and c.is_change]
    text = "{share} CPU time went from {before:.1f} to {after:.1f} %"
    return [
        _Clause(text, _values(subject, c, "%") | {"share": c.quantity.removesuffix("_pct")}, c, subject)
        for c in changes
    ]


def _name(subject: Subject) -> str:
    if subject.before == subject.after:
        return f"`{subject.after}`"
    return f"`{subject.after}` (before: `{subject.before}`)"


def _by(change: Change, more: str, less: str, times: str) -> str:
    """By how much, as people say it."""
    if change.ratio >= 2:
        return f"{{ratio:.1f}} {times}"
    return f"{{percent:.0f}} % {more if change.ratio >= 1 else less}"


def _interval(change: Change) -> str:
    """The interval in the same terms; nothing where there is none."""
    if math.isnan(change.low):
        return ""
    if change.ratio >= 2:
        return " (95 % interval {low:.1f} to {high:.1f} times)"
    least, most = ("low", "high") if change.ratio >= 1 else ("high", "low")
    return f" (95 % interval {{{least}_percent:.0f}} to {{{most}_percent:.0f}} %)"


def _values(subject: Subject, change: Change, unit: str) -> Values:
    """The numbers of a clause; percentages are of the way that the change went."""
    way = 1 if change.ratio >= 1 else -1
    values: Values = {
        "subject": _name(subject),
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "percent": 100 * way * (change.ratio - 1),
        "low_percent": 100 * way * (change.low - 1),
        "high_percent": 100 * way * (change.high - 1),
    }
    for side, value in (("before", change.before), ("after", change.after)):
        is_large = unit == "kB/s" and value >= LEAST_MB
        values[side] = value / KB_PER_MB if is_large else value
        values[f"unit_{side}"] = "MB/s" if is_large else unit
    return values


def _doubt(change: Change) -> str:
    """Why a change without an interval is only possible."""
    before, after = change.samples
    if (before, after) == (1, 1):
        return "There is one sample on each side: this is possible, not proven."
    return f"With {before} and {after} samples there is no interval: this is possible, not proven."


def _nothing(subjects: Sequence[Subject], told: str) -> tuple[Evidence, Confidence]:
    """Nothing moved: what would have shown, or that too little is there to tell."""
    subject = next((s for s in subjects if s.kind == "device" and not s.is_part), subjects[0])
    judged = [c for c in subject.changes if c.verdict in ("unchanged", "minor", "bunched")]
    kinds = (
        ("work", "the work done", [c for c in judged if c.quantity in _AMOUNTS]),
        ("wait", "latency", [*subject.at_matched_load, *(c for c in judged if c.quantity in _WAITS)]),
        ("share", "the CPU time", [c for c in judged if subject.kind == "cpu"]),
    )
    values: Values = {"subject": _name(subject)}
    parts = []
    sureness: list[Confidence] = []
    for name, noun, changes in kinds:
        known = [change for change in changes if change.detectable_pct > 0]
        if known:
            surest = min(known, key=lambda change: change.detectable_pct)
            values[name] = surest.detectable_pct
            sureness.append(surest.confidence)
            parts.append(f"one of {{{name}:.0f}} % in {noun}")
    if not parts:
        text = "No change could be told from chance: too few samples, or too little load."
        return Evidence(f"{text} {told}".strip()), "low"
    text = say(f"No detectable change on {{subject}}; {' or '.join(parts)} would have shown.", values)
    return Evidence(f"{text} {told}".strip(), values), min(sureness, key=CONFIDENCES.index)


def _findings(findings: Sequence[FindingChange]) -> str:
    """Which findings that matter went and came, and which of them the other side could not judge."""
    parts = (
        ("Gone", _rules(findings, "went", is_judged=True)),
        ("No longer found, but not judged after", _rules(findings, "went", is_judged=False)),
        ("New", _rules(findings, "came", is_judged=True)),
        ("Found after, but not judged before", _rules(findings, "came", is_judged=False)),
    )
    return " ".join(f"{label}: {rules}." for label, rules in parts if rules)


def _rules(findings: Sequence[FindingChange], fate: str, is_judged: bool) -> str:
    found = [
        f"`{one.rule}`"
        for one in findings
        if (one.fate, one.is_judged) == (fate, is_judged) and is_of_note(one)
    ]
    return ", ".join(dict.fromkeys(found))


def is_of_note(finding: FindingChange) -> bool:
    """Whether a finding is about the host and at least an inefficiency."""
    severity = finding.severity_after or finding.severity_before or "info"
    return finding.rule not in ABOUT_NUMBERS and SEVERITIES.index(severity) >= SEVERITIES.index("notice")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
