"""The marks as pages of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from evaluation.as_markdown import share, table
from evaluation.exam.marks import Mark
from evaluation.exam.questions import SAMPLES

Tally = tuple[int, int]
"""Of how many it holds, and how many there are."""

Measure = Callable[[Sequence[Mark]], Tally]


def found(marks: Sequence[Mark]) -> Tally:
    return sum(mark.is_found for mark in marks), len(marks)


def precision(marks: Sequence[Mark]) -> Tally:
    right = sum(mark.right for mark in marks)
    return right, right + sum(len(mark.wrong) for mark in marks)


def wrong_first(marks: Sequence[Mark]) -> Tally:
    return sum(mark.is_wrong_first for mark in marks), len(marks)


def all_clear(marks: Sequence[Mark]) -> Tally:
    return sum(mark.is_all_clear for mark in marks), len(marks)


def false_alarm(marks: Sequence[Mark]) -> Tally:
    return sum(mark.is_false_alarm for mark in marks), len(marks)


def called_healthy(marks: Sequence[Mark]) -> Tally:
    return sum(mark.state == "healthy" for mark in marks), len(marks)


def abstained(marks: Sequence[Mark]) -> Tally:
    return sum(mark.is_abstention for mark in marks), len(marks)


ALL = ("trouble", "elsewhere", "pace", "healthy", "unknowable")
MEASURES: Sequence[tuple[str, tuple[str, ...], Measure]] = (
    ("Recall, medium confidence or surer", ("trouble", "elsewhere", "pace"), found),
    ("Precision of claims, medium confidence or surer", ALL, precision),
    ("Wrong cause as the first finding", ALL, wrong_first),
    ("False all-clear", ("trouble",), all_clear),
    ("False warnings on healthy hosts", ("healthy",), false_alarm),
    ("Healthy hosts called healthy", ("healthy",), called_healthy),
    ("Abstained where nobody could tell", ("unknowable",), abstained),
)


def page(marks: Sequence[Mark]) -> str:
    """All tables, with headings."""
    parts = [f"{len(marks)} captures, {len({mark.question.mechanism for mark in marks})} mechanisms.\n"]
    parts += ["### Summary\n", summary_table(marks)]
    for title, sorts, measure in MEASURES:
        chosen = [mark for mark in marks if mark.truth.sort in sorts]
        if chosen:
            parts += [f"### {title}\n", measure_table(chosen, measure)]
    parts += ["### Clear although it was there\n", clear_table(marks)]
    parts += ["### What the first finding says\n", first_table(marks)]
    return "\n".join(parts)


def summary_table(marks: Sequence[Mark]) -> str:
    """A row per measure, with intervals."""
    rows = []
    for title, sorts, measure in MEASURES:
        chosen = [mark for mark in marks if mark.truth.sort in sorts]
        sums = (share(*measure(_with_samples(chosen, samples))) for samples in SAMPLES)
        rows.append((title, *sums, share(*measure(chosen))))
    return table(("measure", *_heads(), "all"), rows)


def measure_table(marks: Sequence[Mark], measure: Measure) -> str:
    """A row per mechanism, a column per number of samples."""
    mechanisms = dict.fromkeys(mark.question.mechanism for mark in marks)
    rows = []
    for mechanism in mechanisms:
        part = [mark for mark in marks if mark.question.mechanism == mechanism]
        rows.append((mechanism, *_by_samples(part, measure), _cell(measure(part))))
    return table(("mechanism", *_heads(), "all"), rows)


def clear_table(marks: Sequence[Mark]) -> str:
    """Of each rule: how often it was clear on a device that had its trouble."""
    rows = []
    for rule in sorted({rule for mark in marks for rule in mark.truth.present}):
        part = [mark for mark in marks if rule in mark.truth.present]

        def cleared(chosen: Sequence[Mark], rule: str = rule) -> Tally:
            return sum(rule in mark.cleared for mark in chosen), len(chosen)

        rows.append((f"`{rule}`", *_by_samples(part, cleared), share(*cleared(part))))
    return table(("rule", *_heads(), "all"), rows)


def first_table(marks: Sequence[Mark]) -> str:
    """Of each mechanism: the rules that come first, and the states of the verdict."""
    rows = []
    for mechanism in dict.fromkeys(mark.question.mechanism for mark in marks):
        part = [mark for mark in marks if mark.question.mechanism == mechanism]
        firsts = Counter(f"`{mark.said}`" if mark.said else "nothing" for mark in part)
        states = Counter(mark.state for mark in part)
        rows.append((mechanism, _counts(firsts), _counts(states)))
    return table(("mechanism", "first finding", "verdict"), rows)


def failures(marks: Sequence[Mark], each: int) -> Iterator[str]:
    """Captures of each mechanism that somebody should look at, with what was said of them."""
    for mechanism in dict.fromkeys(mark.question.mechanism for mark in marks):
        failed = [m for m in marks if m.question.mechanism == mechanism and m.is_failed]
        for mark in failed[:each]:
            question = mark.question
            yield f"### {mechanism}, {question.samples} samples, number {question.number}\n"
            yield f"{mark.headline}\n"
            wanted = ", ".join(sorted(mark.truth.names)) or mark.truth.sort
            wrong = ", ".join(mark.wrong) or "none"
            cleared = ", ".join(sorted(mark.cleared)) or "none"
            yield f"Wanted: {wanted}. First: {mark.said or 'nothing'}. Wrong: {wrong}. Clear: {cleared}.\n"
            yield f"```\n{question.text}```\n"


def _with_samples(marks: Sequence[Mark], samples: int) -> list[Mark]:
    return [mark for mark in marks if mark.question.samples == samples]


def _by_samples(marks: Sequence[Mark], measure: Measure) -> Iterator[str]:
    return (_cell(measure(_with_samples(marks, samples))) for samples in SAMPLES)


def _cell(tally: Tally) -> str:
    return f"{tally[0]}/{tally[1]}" if tally[1] else "–"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common(5))


def _heads() -> tuple[str, ...]:
    return tuple("1 sample" if samples == 1 else f"{samples} samples" for samples in SAMPLES)
