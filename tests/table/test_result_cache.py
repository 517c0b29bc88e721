"""What is cached is computed once per object and arguments."""

from __future__ import annotations

import dataclasses

from iodiag.table.result_cache import cached


@dataclasses.dataclass(frozen=True, eq=False)
class Thing:
    size: int


def test_a_result_is_computed_once_per_object_and_arguments():
    asked = []

    @cached
    def scaled(thing: Thing, factor: int = 1) -> int | None:
        asked.append((thing.size, factor))
        return thing.size * factor or None

    thing = Thing(2)
    assert [scaled(thing), scaled(thing), scaled(thing, 3), scaled(thing, 3)] == [2, 2, 6, 6]
    assert [scaled(thing, 0), scaled(thing, 0)] == [None, None]
    assert asked == [(2, 1), (2, 3), (2, 0)]


def test_a_copy_begins_anew_and_functions_are_kept_apart():
    @cached
    def size(thing: Thing) -> int:
        return thing.size

    @cached
    def double(thing: Thing) -> int:
        return 2 * thing.size

    thing = Thing(2)
    assert (size(thing), double(thing)) == (2, 4)
    assert size(dataclasses.replace(thing, size=5)) == 5
