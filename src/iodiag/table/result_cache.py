"""Results that are kept on the object that they are about, so that whoever asks again does not wait again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

About = TypeVar("About")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")

_KEPT = "_remembered"


def cached(
    function: Callable[Concatenate[About, Rest], Result],
) -> Callable[Concatenate[About, Rest], Result]:
    """Compute a result once per first argument and values of the others, and keep it on the first.

    The first argument is an object that nobody changes (a Table, a DeviceSeries, a View); the others are
    hashable. Nobody changes the result. It lives as long as the object; a copy of that begins anew.
    """

    @wraps(function)
    def look_up(about: About, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        kept: dict[Any, Result] = vars(about).setdefault(_KEPT, {})
        key = (function, rest, *named.items())
        if key not in kept:
            kept[key] = function(about, *rest, **named)
        return kept[key]

    return cast(Callable[Concatenate[About, Rest], Result], look_up)
