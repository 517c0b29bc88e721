"""One sentence that says what a change moved, by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from iodiag.analysis.measure.before_after import AFTER
from iodiag.analysis.measure.evidence import say
from iodiag.analysis.measure.load_or_speed import BLIND_PCT
from iodiag.model.comparison import Change, FindingChange, Subject
from iodiag.model.finding import CONFIDENCES, HARMLESS, SEVERITIES, Confidence, Evidence
from iodiag.model.units import KB_PER_MB
from iodiag.rules import of_role

LEAST_MB = 10 * KB_PER_MB
"""From so many kB/s on people speak of MB/s."""

LEAST_SHARE = 0.1
"""A device with less of its host's work is not what a change was about (judgement)."""

Values = dict[str, float | str]


class _Wording(NamedTuple):
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
    "pgpgin_kb_per_s": _Wording("{subject} reads", "kB/s"),
    "pgpgout_kb_per_s": _Wording("{subject} writes", "kB/s"),
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


class _Clause(NamedTuple):
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
    shares = [clause for subject in subjects if subject.kind == "cpu" for clause in _cpu(subject)]
    if not clauses and any(subject.kind in ("device", "host") for subject in subjects):
        return _nothing(subjects, shares[:1], told)
    has_device = any(clause.subject.kind in ("device", "host") for clause in clauses)
    said = clauses if has_device else [*clauses, *shares[: 1 if clauses else 2]]
    if not said:
        return _nothing(subjects, [], told)
    doubt = "" if any(not math.isnan(clause.change.low) for clause in said) else _doubt(said[0].change)
    text = " ".join(filter(None, (f"{_sentence(said)}.", doubt, told)))
    rows = said[0].subject.evidence[AFTER]
    best = max((clause.change.confidence for clause in said), key=CONFIDENCES.index)
    return Evidence(text, _numbers(said), rows.source, rows.lines, rows.rows), best


def _sentence(clauses: Sequence[_Clause]) -> str:
    return _capital("; ".join(say(clause.template, clause.values) for clause in clauses))


def _numbers(clauses: Sequence[_Clause]) -> Values:
    """The numbers of all clauses, each name with the number of its clause."""
    return {
        f"{name}_{at}": value
        for at, clause in enumerate(clauses)
        for name, value in clause.values.items()
        if isinstance(value, float) and not math.isnan(value)
    }


def _chosen(subjects: Sequence[Subject]) -> list[_Clause]:
    """What the application did, and the first device with a change that carries enough of the work.

    Of all but the busiest device only changes with an interval count: where many are looked at, some
    differ by chance.
    """
    work = next((c for s in subjects if s.kind == "application" and (c := _work(s)) is not None), None)
    told = [work] if work else []
    devices = [subject for subject in subjects if subject.kind in ("device", "host")]
    # parts speak only where there is no whole
    for subject in [one for one in devices if not one.is_part] or devices:
        if subject.share < LEAST_SHARE:  # false for what has no share
            continue
        found = [None if work else _work(subject), _wait(subject)]
        is_busiest = subject is devices[0]
        clauses = [c for c in found if c is not None and (is_busiest or not math.isnan(c.change.low))]
        if clauses:
            return [*told, *clauses]
    return told


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
    values = _values(subject, change, words.unit)
    size = subject.change(change.quantity.replace("kb_per_s", "request_size_kb"))
    if size is not None and size is not change and size.is_change:
        text += ", in requests of {size_after} kB instead of {size_before} kB"
        values |= {"size_before": size.before, "size_after": size.after}
    return _Clause(text, values, change, subject)


def _is_telling(change: Change, subject: Subject) -> bool:
    """Whether a change of work is worth a clause: the bytes only of the direction that has most."""
    direction, _, rest = change.quantity.partition("_")
    other = subject.change(f"{'write' if direction == 'read' else 'read'}_{rest}")
    is_lesser = other is not None and max(change.before, change.after) < max(other.before, other.after)
    return change.is_change and not (direction in ("read", "write") and is_lesser)


def _wait(subject: Subject) -> _Clause | None:
    """By how much longer or shorter requests wait: at matched load where that is known well."""
    matched = list(subject.at_matched_load)
    overall = [c for q in _WAITS if (c := subject.change(q))] if subject.shift != "workload" else []
    sure = [one for one in matched if not math.isnan(one.low)]
    for every in (sure,) if sure else ([c for c in overall if not math.isnan(c.low)], matched, overall):
        changed = [change for change in every if change.is_change]
        if changed:
            change = max(changed, key=lambda one: min(one.samples))
            where = " at the same load" if change in matched else ""
            text = (
                f"{_WAITS[change.quantity]} {_by(change, 'more time', 'less time', 'times as long')}{where}"
            )
            text += f": {{after}} ms against {{before}} ms{_interval(change)}"
            return _Clause(text, _values(subject, change, "ms"), change, subject)
    return None


def _cpu(subject: Subject) -> list[_Clause]:
    changes = [c for q in _SHARES if (c := subject.change(q)) and c.is_change]
    text = "{share} CPU time went from {before:.1f} to {after:.1f} %"
    return [
        _Clause(text, _values(subject, c, "%") | {"share": c.quantity.removesuffix("_pct")}, c, subject)
        for c in changes
    ]


def _name(subject: Subject) -> str:
    if subject.kind in ("cpu", "host"):
        return "the processors" if subject.kind == "cpu" else "the host"
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


def _nothing(
    subjects: Sequence[Subject], shares: Sequence[_Clause], told: str
) -> tuple[Evidence, Confidence]:
    """No device moved: what would have shown, or that too little is there to tell; then the CPU."""
    subject = next((s for s in subjects if s.kind in ("device", "host") and not s.is_part), subjects[0])
    judged = [c for c in subject.changes if c.verdict in ("unchanged", "minor", "bunched")]
    kinds = (
        ("work", "the work done", [c for c in judged if c.quantity in _AMOUNTS]),
        ("wait", "latency", [*subject.at_matched_load, *(c for c in judged if c.quantity in _WAITS)]),
        ("share", "the CPU time", [c for c in judged if subject.kind == "cpu"]),
    )
    values: Values = {"subject": _name(subject)}
    parts: dict[bool, list[str]] = {False: [], True: []}
    sureness: list[Confidence] = []
    for name, noun, changes in kinds:
        known = [change for change in changes if change.detectable_pct > 0]
        if known:
            surest = min(known, key=lambda change: change.detectable_pct)
            is_factor = surest.detectable_pct > BLIND_PCT
            values[name] = 1 + surest.detectable_pct / 100 if is_factor else surest.detectable_pct
            sureness.append(surest.confidence)
            size = f"by a factor of {{{name}:.1f}}" if is_factor else f"of {{{name}:.0f}} %"
            parts[is_factor].append(f"{size} in {noun}")
    also = f"{_sentence(shares)}." if shares else ""
    fine, coarse = (" or ".join(parts[is_factor]) for is_factor in (False, True))
    if not fine and not coarse:
        text = "No change could be told from chance: too few samples, or too little load."
        return Evidence(" ".join(filter(None, (text, also, told)))), "low"
    # where only a multiple would show, nothing shows that all is as before
    text = f"Inconclusive for {{subject}}: only a change {coarse} would have shown."
    if fine:
        text = f"No detectable change on {{subject}}; one {fine} would have shown"
        text += f", but only one {coarse}." if coarse else "."
    text = say(text, values)
    numbers = {name: value for name, value in values.items() if name != "subject"} | _numbers(shares)
    text = " ".join(filter(None, (text, also, told)))
    return Evidence(text, numbers), min(sureness, key=CONFIDENCES.index)


def _findings(findings: Sequence[FindingChange]) -> str:
    """Which findings that matter went and came, and which of them the other side could not judge."""
    went, came = (
        {one.title or one.rule: one.is_judged for one in findings if one.fate == fate and is_of_note(one)}
        for fate in ("went", "came")
    )
    elsewhere = [title for title in went if title in came]
    parts = (
        ("Gone", [title for title, is_judged in went.items() if is_judged and title not in came]),
        (
            "No longer found, but not judged after",
            [title for title, is_judged in went.items() if not is_judged and title not in came],
        ),
        ("New", [title for title, is_judged in came.items() if is_judged and title not in went]),
        (
            "Found after, but not judged before",
            [title for title, is_judged in came.items() if not is_judged and title not in went],
        ),
        ("Now on other devices", elsewhere),
    )
    return " ".join(f"{label}: {'; '.join(titles)}." for label, titles in parts if titles)


def is_of_note(finding: FindingChange) -> bool:
    """Whether a finding is about trouble of the host, and at least an inefficiency."""
    severity = finding.severity_after or finding.severity_before or "info"
    return finding.rule not in of_role(*HARMLESS) and SEVERITIES.index(severity) >= SEVERITIES.index("notice")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
