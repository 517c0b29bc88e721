"""No input makes a regular expression quadratic: twice the length takes about twice the time, for each."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, product
from types import ModuleType
from typing import Any

import pytest

import iodiag
from fuzz.bombs import LONG_LINES, MANY_LINES
from fuzz.targets import fuzz_one
from iodiag.formats import context_formats

SHORT, FACTOR = 1_500, 4
MOST_GROWTH = 2.2 * FACTOR
"""Linear is FACTOR, quadratic its square; the rest is for noise, of which the least of runs has little."""

_SEARCHED = re.compile(r"(\w+)(?:\[\w+\])?\.(?:search|finditer|findall|subn?|split)\(")
_GIVEN_TO_RE = re.compile(
    r"\bre\.(?:compile|match|fullmatch|(search|finditer|findall|subn?|split))\(\s*(_?[A-Za-z]\w*)[,)]"
)
_IS_PATTERN = re.compile(r"\\[sSdwb({]|\(\?")
"""What only a pattern has: context formats keep theirs as text, and `re` compiles each that is used."""
UNITS = (
    " ",
    "a",
    "0",
    "9 ",
    "a ",
    "\t",
    ".",
    ":",
    "-",
    "_",
    "/",
    "[",
    "<",
    "&",
    '"',
    "(",
    ",",
    "|",
    "=",
    "%",
    "0:",
    "a=1 ",
)
ENDS = ("", "!", " x!")


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(iodiag.__path__, "iodiag."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


Search = Callable[[str], object]


def searches() -> dict[str, tuple[str, Search]]:
    """Every use of a compiled pattern that a module holds (in tables as well): what it is, how it is applied.

    All are matched; those that a module searches with are searched with.
    """
    result: dict[str, tuple[str, Search]] = {}
    for module in modules():
        source = inspect.getsource(module)
        given = _GIVEN_TO_RE.findall(source)
        searched = {*_SEARCHED.findall(source), *(name for is_searched, name in given if is_searched)}
        # a name in lower case goes through a table of patterns
        are_tables_searched = any(is_searched and name.islower() for is_searched, name in given)
        for name, value in vars(module).items():
            for number, pattern in enumerate(_inside(value, 0)):
                place = f"{module.__name__}.{name}[{number}]"
                is_searched = name in searched or (are_tables_searched and not isinstance(value, str))
                uses = [pattern.fullmatch, *([pattern.search] if is_searched else [])]
                for use in uses:
                    result[f"{place}.{use.__name__}"] = (_text(pattern), _taking_text(pattern, use))
    for form in context_formats():
        result[f"{form.id}.starts.search"] = (form.starts.pattern, form.starts.search)
    return result


def _text(pattern: re.Pattern[Any]) -> str:
    return pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")


def _taking_text(pattern: re.Pattern[Any], use: Callable[[Any], object]) -> Search:
    return use if isinstance(pattern.pattern, str) else lambda text: use(text.encode())


def _inside(value: object, depth: int) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, str) and _IS_PATTERN.search(value):
        with suppress(re.error):  # a docstring, or the piece of a pattern
            yield re.compile(value)
    elif depth < 4 and isinstance(value, dict):
        yield from chain.from_iterable(_inside(part, depth + 1) for part in value.values())
    elif depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
        yield from chain.from_iterable(_inside(part, depth + 1) for part in value)


def seconds(run: Callable[[], object]) -> float:
    """The least processor time of three runs."""
    least = float("inf")
    for _ in range(3):
        started = time.process_time()
        run()
        least = min(least, time.process_time() - started)
    return least


def growth(search: Search, unit: str, end: str) -> float:
    """How many times longer a search takes in a text FACTOR times longer; 0 where both take no time."""
    least, short, long = (
        unit * (size // len(unit)) + end for size in (SHORT // FACTOR, SHORT, SHORT * FACTOR)
    )
    # a linear search of so little takes far less: most need no second look
    if took(search, short) >= SOME:
        # one that is slow already is not tried with more
        found = seconds(lambda: search(short)) / max(seconds(lambda: search(least)), 1e-5)
        if found > MOST_GROWTH:
            return found
    if took(search, long) < SOME:
        return 0.0
    return seconds(lambda: search(long)) / max(seconds(lambda: search(short)), 1e-5)


SOME = 4e-3
"""Seconds of processor time that a linear search of a few kB does not take."""


def took(search: Search, text: str) -> float:
    started = time.process_time()
    search(text)
    return time.process_time() - started


def test_patterns_are_found():
    found = searches()
    assert len(found) > 350
    assert any(name.startswith("iodiag.formats.clock.") for name in found)
    assert any(name.endswith("].search") for name in found)


def test_patterns_that_are_kept_as_text_are_found():
    found = searches()
    missed = []
    for module in modules():
        for _, name in _GIVEN_TO_RE.findall(inspect.getsource(module)):
            is_kept = isinstance(vars(module).get(name), str)
            if is_kept and f"{module.__name__}.{name}[0].fullmatch" not in found:
                missed.append(f"{module.__name__}.{name}")
    assert not missed
    assert "iodiag.formats.context.dmsetup._DEPS[0].fullmatch" in found


def test_a_quadratic_pattern_would_be_noticed():
    # whatever else runs may hide it now and then
    assert any(growth(re.compile(r"\s+$").search, " ", "x") > MOST_GROWTH for _ in range(5))


BOUNDED = {
    "iodiag.formats.text.structure.open_table._HEADING_WORD[0].fullmatch": "it gets single words",
}
"""Searches that may be quadratic, and what bounds the text that they get."""


@pytest.mark.slow
def test_no_search_is_quadratic():
    slow = {}
    for name, (pattern, search) in searches().items():
        # a pattern's own words, over and over, may begin it at every place
        own = list(dict.fromkeys(re.findall(r"(?<![\\(?<])[A-Za-z#=%/:<>-]{2,12}", pattern)))[:3]
        for unit, end in product((*UNITS, *own), ENDS):
            if name not in slow and growth(search, unit, end) > MOST_GROWTH:
                slow[name] = (unit, end, pattern)
    assert set(slow) == set(BOUNDED), slow


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*LONG_LINES, *(f"lines of {name}" for name in MANY_LINES)])
def test_no_text_is_read_in_more_than_linear_time(shape: str):
    make = MANY_LINES[shape.removeprefix("lines of ")] if shape.startswith("lines of ") else LONG_LINES[shape]
    sizes = (8_000, 32_000) if shape.startswith("lines of ") else (60_000, 240_000)
    short, long = (make(size) for size in sizes)
    fuzz_one("text", short)
    # what else runs makes it more at times, and never less
    assert any(reading_growth(short, long) <= MOST_GROWTH for _ in range(3))


def reading_growth(short: bytes, long: bytes) -> float:
    """How many times longer the longer text is read; 5 ms in both is what reading costs once."""
    first, second = (seconds(lambda text=text: fuzz_one("text", text)) + 5e-3 for text in (short, long))
    return second / first
