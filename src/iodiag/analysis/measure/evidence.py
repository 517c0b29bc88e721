"""Sentences with addresses: every number in one stands in `values` and rests on cited lines."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Quote
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Table

Weighs = Literal["for", "against", "context"]

Values = dict[str, float | str]
"""What the names in a sentence stand for: numbers, and words."""

LARGE_MB_PER_S = 10.0
"""From here on a rate is said in MB/s, below it in kB/s."""

MOST_TOLD = 5
"""Devices whose numbers a finding of many tells; the others are named."""

MOST_LINES = 1000
"""Lines listed per piece of evidence; with more rows the exemplars stand for them."""


def number(value: float) -> str:
    """A number as people read it: at least three significant digits, none invented."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "unbounded"
    size = abs(value)
    if size >= 999.95 or (size == int(size) and size < 1e15):
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"


def duration(milliseconds: float) -> str:
    """A time as people read it: in ms below one second, in s above; a printed 0.00 is said to be one."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds:.3g} ms" if milliseconds > 0 else "0.00 ms as printed"


def say(template: str, values: Mapping[str, float | str]) -> str:
    """A sentence with its values filled in: `{name}` by `number`, `{name:.1f}` as told, words as they are.

    `{name:ms}` has its unit, s from one second on, and `{name:kb}` kB/s, MB/s from 10 of them on.

    What stands behind a comma or semicolon and has a number that is not finite is left out. Nouns that are
    counted are plural in a template; behind a 1 they become singular.
    """
    first, *others = _clauses(template)
    told = [
        clause for clause in others if not clause.may_go or all(_is_known(values[n]) for n in clause.names)
    ]
    text = "".join(
        words if name is None else words + _shown(values[name], spec)
        for clause in (first, *told)
        for words, name, spec in clause.pieces
    )
    text = _ALIKE.sub(r"\1", _ONE.sub(r"\1", text))
    return text if not template.endswith(".") or text.endswith(".") else text + "."


_ONE = re.compile(
    r"(?<![\w.,:-])(1 (?:[a-z]+ )?(?:sample|report|request|task|line|device|disk|card|burst|process))"
    r"(?:s|es)\b(?!/)"
)


_ALIKE = re.compile(r"(?<![\w.,:-])(?<!from )(\d[\d,]*(?:\.\d+)?(?: m?s\b)?) to \1(?![\d.,]*\d)")
"""A range whose ends print alike."""


ONLY_SAMPLE = "in the only sample"
_OF_SAMPLES = re.compile(r"(in \d[\d,]* of \d[\d,]*) samples")


def in_samples(samples: int, count: str = "count", of: str = "samples") -> str:
    """How often something was seen, as a part of a template with the names of both counts."""
    return ONLY_SAMPLE if samples == 1 else f"in {{{count}}} of {{{of}}} samples"


def of_averages(text: str, over: str = "") -> str:
    """A sentence on averages, which are no samples of now, and must not be called so; `over` how long."""
    text = text.replace(ONLY_SAMPLE, f"as an average{over or ' since boot or over a run'}")
    return _OF_SAMPLES.sub(r"\1 averages", text)


class _Clause(NamedTuple):
    """A part of a template in pieces, each with the name behind it and how that is told.

    It may go where no parenthesis begins or ends in it.
    """

    pieces: tuple[tuple[str, str | None, str], ...]
    names: tuple[str, ...]
    may_go: bool


@lru_cache(maxsize=1024)
def _clauses(template: str) -> tuple[_Clause, ...]:
    found = []
    for part in re.split(r"(?=[,;] )", template):
        pieces = tuple((words, name, spec or "") for words, name, spec, _ in string.Formatter().parse(part))
        names = tuple(name for _, name, _ in pieces if name is not None)
        found.append(_Clause(pieces, names, part.count("(") == part.count(")")))
    return tuple(found)


def _is_known(value: float | str) -> bool:
    return not isinstance(value, (int, float)) or math.isfinite(value)


def _shown(value: float | str, spec: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if spec == "ms":
        return duration(value) if value >= 1000 else f"{number(float(value))} ms"
    if spec == "kb":
        is_large = value >= LARGE_MB_PER_S * KB_PER_MB
        return f"{number(value / KB_PER_MB)} MB/s" if is_large else f"{number(float(value))} kB/s"
    return format(value, f",{spec}") if spec and math.isfinite(value) else number(float(value))


def cite(
    rows: Table | None,
    template: str,
    values: Mapping[str, float | str] | None = None,
    *,
    weighs: Weighs = "for",
    worst: str | None = None,
) -> Evidence:
    """Evidence that rests on `rows` of any table.

    `template` names its numbers as `{name}`; they go into `values`. Quoted are the row with the largest
    `worst`, the first and the last. Where rows come from several inputs the first one is cited. Without
    rows, a value that is a topology's provenance ("lsblk capture.txt:3") gives the address.
    """
    values = values or {}
    text = say(template, values)
    if rows is None or not len(rows):
        source, lines = _stated_at(values)
        quotes = tuple(Quote(source, line, "") for line in lines)
        return Evidence(text, values, source, lines, len(lines), quotes, weighs)
    sources, lines = rows["source"], rows["line"]
    source = str(sources[0])
    is_one = (sources.codes == sources.codes[0]).all()
    own = lines if is_one else lines[sources == sources[0]]
    picked = [0, len(rows) - 1]
    if worst is not None and (place := _largest(rows.floats(worst))) is not None:
        picked.insert(0, place)
    places = dict.fromkeys((str(sources[place]), int(lines[place])) for place in picked)
    quotes = tuple(Quote(name, line, "") for name, line in places)
    if _are_many(own):
        cited = tuple(sorted({line for name, line in places if name == source}))
    else:
        cited = tuple(dict.fromkeys(own.tolist()))
    return Evidence(text, values, source, cited, len(rows), quotes, weighs)


def cite_origin(
    rows: Table, template: str, values: Mapping[str, float | str], *, weighs: Weighs = "for"
) -> Evidence:
    """Evidence on what a topology has: the line that states it, else the `rows` that it is inferred from."""
    return cite(None if _stated_at(values)[1] else rows, template, values, weighs=weighs)


def _largest(data: Floats) -> int | None:
    """Where the first of the largest known numbers is; None where none is known."""
    place = int(data.argmax())  # of the first unknown one, if any
    if not math.isnan(data[place]):
        return place
    known = np.flatnonzero(~np.isnan(data))
    return int(known[data[known].argmax()]) if len(known) else None


def _are_many(lines: npt.NDArray[np.int64]) -> bool:
    """Whether they are more than MOST_LINES different ones, which a few thousand of them mostly show."""
    return len(lines) > MOST_LINES and any(
        len(np.unique(some)) > MOST_LINES for some in (lines[: 2 * MOST_LINES], lines)
    )


_ADDRESS = re.compile(r"[\w-]+ (.+):(\d{1,9})")


def _stated_at(values: Mapping[str, float | str]) -> tuple[str, tuple[int, ...]]:
    """The input and line of a topology's provenance ("lsblk capture.txt:3") among the values."""
    for value in values.values():
        if isinstance(value, str) and (match := _ADDRESS.fullmatch(value)):
            return match[1], (int(match[2]),)
    return "", ()


def cite_fact(fact: Fact, template: str | None = None, *, weighs: Weighs = "for") -> Evidence:
    """Evidence from an application's log, a setting or a process list.

    Which of its lines are quoted is settled where their text is at hand (`best_matching_lines`).
    """
    text = say(template, fact.values) if template else fact.text
    lines = tuple(range(fact.ref.first, min(fact.ref.last, fact.ref.first + MOST_LINES) + 1))
    return Evidence(text, dict(fact.values), fact.ref.source, lines, len(lines), (), weighs)


_TELLING = re.compile(r"[^\W\d]\w{3,}|\d[\d.]{2,}")


def best_matching_lines(text: str, lines: Sequence[str], count: int = 3) -> list[int]:
    """Which lines to quote for a sentence: those that share most words and numbers with it, in their order.

    Words that every line has tell nothing; where no line shares any, the first lines do.
    """
    wanted = {word.lower() for word in _TELLING.findall(text.replace(",", ""))}
    shared = [wanted & {word.lower() for word in _TELLING.findall(line)} for line in lines]
    common = set.intersection(*shared) if len(shared) > 1 else set()
    points = [len(words - common) for words in shared]
    best = sorted(range(len(lines)), key=lambda at: -points[at])[:count]
    told = [at for at in best if points[at]]
    return sorted(told) if told else list(range(min(count, len(lines))))
