"""A short fuzzing run over every family of readers, and every input that a long one failed on."""

from __future__ import annotations

import random
import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fuzz.mutate import mutated
from fuzz.targets import CORPUS, FAMILIES, fuzz_one, sa_files
from property_tests import examples

KEPT = sorted(path for path in CORPUS.rglob("*") if path.is_file())
HEADER_BYTES = 700


@cache
def seeds(family: str) -> list[bytes]:
    return FAMILIES[family].seeds()


@pytest.mark.parametrize("family", FAMILIES)
def test_seeds_pass_their_own_checks(family: str):
    for data in seeds(family)[:8]:
        fuzz_one(family, data)


@pytest.mark.parametrize("family", FAMILIES)
@examples(150, suppress_health_check=list(HealthCheck))
@given(number=st.integers(0, 2**32))
def test_no_change_of_a_sample_breaks_a_promise(family: str, number: int):
    shape, chance = FAMILIES[family], random.Random(number)
    start = chance.choice(seeds(family))
    fuzz_one(family, mutated(start, chance, seeds(family), shape.changes, shape.most_bytes))


@pytest.mark.parametrize("family", ["text", "json", "xml", "csv", "sa", "archive"])
@examples(100, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=600))
def test_bytes_of_no_kind_at_all_break_no_promise(family: str, data: bytes):
    fuzz_one(family, data)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.relative_to(CORPUS)))
def test_what_failed_once_passes(path: Path):
    fuzz_one(path.parent.name, path.read_bytes())


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4, 6))])
def test_every_field_of_a_binary_header_may_hold_anything(number: int):
    """Each field in turn becomes 0, 1, the most that it holds, or a random number."""
    data, chance = sa_files()[number], random.Random(number)
    for place in range(0, min(HEADER_BYTES, len(data) - 4), 4):
        value = (0, 1, 2**32 - 1, chance.randrange(2**32))[place // 4 % 4]
        changed = bytearray(data)
        struct.pack_into("<I", changed, place, value)
        fuzz_one("sa", bytes(changed))
