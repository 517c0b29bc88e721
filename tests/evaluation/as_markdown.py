"""The figures as a page of Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from evaluation.measure import AlarmFigures, OriginFigures, Plateau, RuleFigures
from evaluation.scores import wilson


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def share(hits: int, total: int) -> str:
    """A proportion with its interval, as `12/13 (67–99)`, the per cents of Wilson's 95 % interval."""
    if not total:
        return "–"
    low, high = wilson(hits, total)
    return f"{hits}/{total} ({100 * low:.0f}–{100 * high:.0f})"


def rules_table(figures: Iterable[RuleFigures]) -> str:
    rows = []
    for f in figures:
        every, sure = f.any_confidence, f.sure
        if every.right + every.wrong + every.missed + every.silent == 0:
            continue
        rows.append(
            (
                f"`{f.rule}`",
                share(every.right, every.right + every.missed),
                share(sure.right, sure.right + sure.missed),
                share(sure.right, sure.right + sure.wrong),
                share(every.right, every.right + every.wrong),
                share(every.wrong, every.wrong + every.silent),
                f"{f.wrong_cause}/{f.troubled}",
                f"{f.abstained}/{f.asked}",
            )
        )
    head = (
        *("rule", "recall", "recall, medium or surer", "precision, medium or surer"),
        *("precision", "false where excluded", "wrong cause", "abstained"),
    )
    return table(head, rows)


def alarms_table(figures: Sequence[AlarmFigures]) -> str:
    own = figures[0].counts.f1
    rows = []
    for f in figures:
        c = f.counts
        apart = "" if f is figures[0] else f"{own - c.f1:+.2f}"
        rows.append(
            (
                f.name,
                share(c.right, c.right + c.missed),
                share(c.right, c.right + c.wrong),
                share(c.wrong, c.wrong + c.silent),
                f"{c.f1:.2f}",
                apart,
                f"{c.youden:.2f}",
            )
        )
    head = ("told by", "recall", "precision", "false alarms", "F1", "iodiag above it", "Youden's J")
    return table(head, rows)


def controls_table(figures: Sequence[tuple[str, int, Mapping[str, int]]]) -> str:
    """False alarms on generated healthy cases, by kind; the ways that cannot differ are left out."""
    names = [name for name in figures[0][2] if name != "saying so always"]
    rows = [(kind, str(count), *(str(told[name]) for name in names)) for kind, count, told in figures]
    total = sum(count for _, count, _ in figures)
    sums = (share(sum(told[name] for _, _, told in figures), total) for name in names)
    return table(("kind", "captures", *names), [*rows, ("all", str(total), *sums)])


PREVALENCES = (0.5, 0.1)


def prevalence_table(figures: Sequence[AlarmFigures]) -> str:
    """Precision and F1 of each way of telling trouble, where half and a tenth of the cases have it."""
    rows = []
    for f in figures:
        c = f.counts
        cells = [f.name, share(c.right, c.right + c.missed), share(c.wrong, c.wrong + c.silent)]
        for prevalence in PREVALENCES:
            f1, low, high = c.f1_at(prevalence)
            own = figures[0].counts.f1_at(prevalence)[0]
            apart = "" if f is figures[0] else f"{own - f1:+.2f}"
            cells += [f"{c.precision_at(prevalence):.2f}", f"{f1:.2f} ({low:.2f}–{high:.2f})", apart]
        rows.append(cells)
    head = ["told by", "recall", "false alarms"]
    for prevalence in PREVALENCES:
        at = f"{100 * prevalence:.0f} %"
        head += [f"precision at {at}", f"F1 at {at}", "iodiag above it"]
    return table(head, rows)


def origins_table(figures: Iterable[OriginFigures]) -> str:
    rows = [
        (
            f.origin,
            f"`{f.route}`",
            str(f.captures),
            share(f.found, f.due),
            share(f.given, f.forbidden),
            share(f.wrong_cause, f.troubled),
        )
        for f in figures
    ]
    head = ("origin", "route", "captures", "verdicts found", "excluded verdicts given", "wrong cause")
    return table(head, rows)


def plateaus_table(figures: Sequence[Plateau]) -> str:
    """The thresholds that move F1 at all, those off a plateau first; the rest is counted."""
    moved = [f for f in figures if any(change and not math.isnan(change) for change in f.changes)]
    moved.sort(key=lambda f: -max(abs(change) for change in f.changes))
    rows = [
        (
            f.name,
            f"{f.default:g} {f.unit}".strip(),
            f"{f.f1:.2f}",
            *(f"{change:+.3f} ({cases})" for change, cases in zip(f.changes, f.cases, strict=True)),
            "yes" if f.is_flat else "**no**",
        )
        for f in moved
    ]
    text = table(("threshold", "default", "F1", "below it (cases)", "above it (cases)", "plateau"), rows)
    return f"{text}\n{len(figures) - len(moved)} of {len(figures)} thresholds move nothing at all.\n"
