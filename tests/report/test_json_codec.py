"""Any dataclass of plain values becomes JSON and comes back; what does not fit is refused with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from iodiag.errors import FormatError
from iodiag.report.json_codec import from_plain, to_plain

Colour = Literal["red", "blue"]


@dataclass(frozen=True)
class Address:
    street: str = field(metadata={"json_key": "road"})
    number: int = 0


@dataclass(frozen=True)
class House:
    address: Address = field(metadata={"json_inline": True})
    height_m: float
    rooms: tuple[str, ...] = ()
    colour: Colour | None = None
    trim: tuple[Colour, ...] = ()
    size: tuple[int, int] | None = None
    prices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    neighbour: Address | None = field(default=None, metadata={"json_omit_none": True})


WHOLE = House(
    Address("Main", 3), 7.5, ("hall",), "red", ("blue",), (3, 4), {"low": (1.0, 2.0)}, Address("Main", 5)
)


def test_fields_are_written_in_their_order_and_read_again():
    data = to_plain(WHOLE)
    assert data == {
        "road": "Main",
        "number": 3,
        "height_m": 7.5,
        "rooms": ["hall"],
        "colour": "red",
        "trim": ["blue"],
        "size": [3, 4],
        "prices": {"low": [1.0, 2.0]},
        "neighbour": {"road": "Main", "number": 5},
    }
    assert list(data)[:3] == ["road", "number", "height_m"]
    assert from_plain(House, data, "house") == WHOLE


def test_what_is_absent_or_null_takes_its_default():
    least = from_plain(House, {"road": "Main", "rooms": None}, "house")
    assert math.isnan(least.height_m)
    assert (least.rooms, least.size, least.neighbour) == ((), None, None)
    assert "neighbour" not in to_plain(least)
    assert to_plain(least)["height_m"] is None


def test_words_of_a_later_release_are_skipped_in_a_list():
    assert from_plain(House, {"road": "Main", "trim": ["green", "red"]}, "house").trim == ("red",)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("road", None, "house.road: missing"),
        ("road", 3, "house.road: int is not what belongs here"),
        ("number", True, "house.number: bool is not what belongs here"),
        ("number", 2**70, "house.number: the number is too large"),
        ("rooms", ["hall", 3], "house.rooms: int is not what belongs here"),
        ("rooms", "hall", "house.rooms: str is not what belongs here"),
        ("colour", "green", "house.colour: 'green' is none of red, blue"),
        ("colour", ["red"], "house.colour: list is not what belongs here"),
        ("size", [1], "house.size: expected 2 values, found 1"),
        ("prices", {"low": ["a"]}, "house.prices.low: str is not what belongs here"),
        ("neighbour", {"number": 1}, "house.neighbour.road: missing"),
        ("neighbour", [], "house.neighbour: expected an object, found list"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(key, value, message):
    with pytest.raises(FormatError) as raised:
        from_plain(House, {"road": "Main", key: value}, "house")
    assert str(raised.value) == message
