"""Dataclasses as plain JSON data, and back: their fields are the schema.

Each field is written under its name, in the order of the class, and read as its annotation says. What
differs is said once, in the field's metadata: `json_key` is another name, `json_inline` puts the fields
of an object among those of the object that holds it, `json_omit_none` writes nothing in place of None.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import count
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from iodiag.errors import FormatError
from iodiag.model.comparison import Comparison
from iodiag.model.report import Report

T = TypeVar("T")
LARGEST = 2**63
"""No count, line or number of samples is beyond this."""

_TYPES: Mapping[type, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    bool: (bool,),
    float: (float, int, NoneType),
}
"""What JSON has for each type of a field; an unknown number is null."""

_ABSENT = {float: math.nan, int: 0}


def to_plain(value: Any) -> Any:
    """JSON's own types; numpy scalars become Python numbers, what is no finite number null."""
    if value is None or isinstance(value, str | bool):
        return value
    if is_dataclass(value):
        return _to_object(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if hasattr(value, "__index__"):
        return operator.index(value)
    number = float(value)
    return number if math.isfinite(number) else None


def _to_object(value: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    kind: Any = type(value)
    for field in _fields(kind):
        content = to_plain(getattr(value, field.name))
        if field.metadata.get("json_inline"):
            entry |= content
        elif content is not None or not field.metadata.get("json_omit_none"):
            entry[_key(field)] = content
    return entry


def from_plain(kind: Callable[..., T], data: Any, path: str) -> T:
    """A dataclass from its JSON object; `path` is where that stands, for messages.

    What is absent or null takes the field's default, else None, NaN, 0, or an empty list or object where
    the annotation allows it. Raises FormatError that names the key that is missing or of a wrong type.
    """
    if not isinstance(data, dict):
        raise FormatError(f"{path}: expected an object, found {type(data).__name__}")
    hints = _hints(kind)
    values = {}
    for field in _fields(kind):
        hint, key = hints[field.name], _key(field)
        is_inline = field.metadata.get("json_inline")
        given, where = (data, path) if is_inline else (data.get(key), f"{path}.{key}")
        values[field.name] = _absent(field, hint, where) if given is None else _read(hint, given, where)
    return kind(**values)


@cache
def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    # a report and its comparison hold each other, so only one can import the other
    return get_type_hints(kind, localns={"Report": Report, "Comparison": Comparison})


def _key(field: Field[Any]) -> str:
    return str(field.metadata.get("json_key", field.name))


def _absent(field: Field[Any], hint: Any, path: str) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    if NoneType in get_args(hint):
        return None
    if hint in _ABSENT:
        return _ABSENT[hint]
    if get_origin(hint) is Mapping:
        return {}
    if get_args(hint)[1:] == (...,):
        return ()
    raise FormatError(f"{path}: missing")


def _read(hint: Any, value: Any, path: str) -> Any:
    """A value as its annotation says."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, value, path)
    if origin in (Union, UnionType) and NoneType in args:
        return _read(args[0], value, path)
    if origin is Literal:
        _check({str}, [value], path)
        if value not in args:
            raise FormatError(f"{path}: {value[:40]!r} is none of {', '.join(args)}")
        return value
    if origin is tuple:
        _check({list}, [value], path)
        if args[1] is not ... and len(value) != len(args):
            raise FormatError(f"{path}: expected {len(args)} values, found {len(value)}")
        return tuple(_each(args[0], value, (f"{path}[{at}]" for at in count()), path))
    if origin is Mapping:
        _check({dict}, [value], path)
        items = _each(args[1], value.values(), (f"{path}.{key}" for key in value), path)
        return dict(zip(value, items, strict=True))
    return _each(hint, [value], (), path)[0]


def _each(hint: Any, items: Collection[Any], places: Iterable[str], path: str) -> list[Any]:
    """The values of a list or an object; numbers and texts are checked all at once."""
    if get_origin(hint) is Literal:
        _check({str}, items, path)
        # a later release may have more words than this one knows
        return [item for item in items if item in get_args(hint)]
    types = _types_of(hint)
    if not types:
        return [_read(hint, item, place) for item, place in zip(items, places, strict=False)]
    _check(types, items, path)
    return [math.nan if item is None else item for item in items]


@cache
def _types_of(hint: Any) -> frozenset[type]:
    """The types of JSON for numbers and texts; none for a list or an object."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return frozenset(kind for one in kinds for kind in _TYPES.get(one, ()))


def _check(types: Collection[type], items: Collection[Any], path: str) -> None:
    for item in items:
        if type(item) not in types:
            raise FormatError(f"{path}: {type(item).__name__} is not what belongs here")
        if type(item) is int and abs(item) > LARGEST:
            raise FormatError(f"{path}: the number is too large")
