"""What the readers and writers of JSON reports share: typed access to objects, numbers, evidence."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

from iodiag.errors import FormatError
from iodiag.model.finding import Evidence, Quote

T = TypeVar("T")
LARGEST = 2**63
"""No count, line or number of samples is beyond this."""

Weighs = Literal["for", "against", "context"]


def plain(value: Any) -> Any:
    """JSON's own types; numpy scalars become Python numbers, what is no finite number null."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "__index__"):
        return operator.index(value)
    number = float(value)
    return number if math.isfinite(number) else None


class Entry:
    """One JSON object with its path, read key by key with the type that the schema wants."""

    def __init__(self, data: Any, path: str) -> None:
        if not isinstance(data, dict):
            raise FormatError(f"{path}: expected an object, found {type(data).__name__}")
        self._data = data
        self.path = path

    def _get(self, key: str, kinds: type | tuple[type, ...], *default: Any) -> Any:
        value = self._data.get(key)
        if value is None:
            if default:
                return default[0]
            raise FormatError(f"{self.path}.{key}: missing")
        return self._fit(key, value, kinds)

    def _fit(self, key: str, value: Any, kinds: type | tuple[type, ...]) -> Any:
        # JSON's true is an int to Python, and never a number to us
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise FormatError(f"{self.path}.{key}: {type(value).__name__} is not what belongs here")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise FormatError(f"{self.path}.{key}: the number is too large")
        return value

    def has(self, key: str) -> bool:
        """Whether a key is there and not null."""
        return self._data.get(key) is not None

    def number(self, key: str) -> float:
        """A number; null and what is absent are NaN."""
        return float(self._get(key, (int, float), math.nan))

    def text(self, key: str, *default: str) -> str:
        """Text; the default where the key is absent or null."""
        return str(self._get(key, str, *default))

    def maybe_text(self, key: str) -> str | None:
        """Text, or None."""
        value = self._get(key, str, None)
        return None if value is None else str(value)

    def whole(self, key: str) -> int:
        """A whole number; 0 where it is absent."""
        return int(self._get(key, int, 0))

    def maybe_whole(self, key: str) -> int | None:
        """A whole number, or None."""
        value = self._get(key, int, None)
        return None if value is None else int(value)

    def flag(self, key: str) -> bool:
        """Whether a key says true."""
        return bool(self._get(key, bool, False))

    def choice(self, key: str, allowed: Any, *default: str) -> Any:
        """One of the words that a Literal allows."""
        value = self.text(key, *default)
        if value not in get_args(allowed):
            raise FormatError(f"{self.path}.{key}: {value!r} is none of {', '.join(get_args(allowed))}")
        return value

    def at(self, key: str) -> Entry:
        """The object below a key."""
        return Entry(self._get(key, dict, {}), f"{self.path}.{key}")

    def keys_of(self, key: str) -> list[str]:
        """The keys of the object below a key."""
        return list(self._get(key, dict, {}))

    def each(self, key: str, build: Callable[[Entry], T]) -> tuple[T, ...]:
        """Every object of a list, built."""
        items = self._get(key, list, [])
        return tuple(build(Entry(item, f"{self.path}.{key}[{at}]")) for at, item in enumerate(items))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._typed(key, self._get(key, list, []), str))

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        return tuple(self._typed(key, self._get(key, list, []), int))

    def floats(self, key: str) -> tuple[float, ...]:
        """A list of numbers, null being NaN."""
        found = self._typed(key, self._get(key, list, []), (int, float, type(None)))
        return tuple(math.nan if item is None else item for item in found)

    def numbers(self, key: str) -> dict[str, float]:
        """An object of numbers, null being NaN."""
        return {name: math.nan if v is None else v for name, v in self._pairs(key, (int, float, type(None)))}

    def values(self, key: str) -> dict[str, float | str]:
        """An object of numbers and words, null being NaN."""
        kinds = (int, float, str, type(None))
        return {name: math.nan if v is None else v for name, v in self._pairs(key, kinds)}

    def words(self, key: str) -> dict[str, str]:
        """An object of texts."""
        return dict(self._pairs(key, str))

    def counts(self, key: str) -> dict[str, int]:
        """An object of whole numbers."""
        return dict(self._pairs(key, int))

    def _pairs(self, key: str, kinds: type | tuple[type, ...]) -> Iterable[tuple[str, Any]]:
        found = self._get(key, dict, {})
        return zip(found, self._typed(key, found.values(), kinds), strict=True)

    def _typed(self, key: str, items: Iterable[Any], kinds: type | tuple[type, ...]) -> list[Any]:
        return [self._fit(key, item, kinds) for item in items]


def from_evidence(evidence: Evidence) -> dict[str, Any]:
    """Evidence as the schema has it."""
    return {
        "text": evidence.text,
        "values": plain(evidence.values),
        "source": evidence.source,
        "lines": plain(evidence.lines),
        "rows": plain(evidence.rows),
        "quotes": [{"source": q.source, "line": plain(q.line), "text": q.text} for q in evidence.quotes],
        "weighs": evidence.weighs,
    }


def to_evidence(entry: Entry) -> Evidence:
    """Evidence from the schema's form."""
    return Evidence(
        text=entry.text("text"),
        values=entry.values("values"),
        source=entry.text("source", ""),
        lines=entry.wholes("lines"),
        rows=entry.whole("rows"),
        quotes=entry.each("quotes", _to_quote),
        weighs=entry.choice("weighs", Weighs, "for"),
    )


def _to_quote(entry: Entry) -> Quote:
    return Quote(source=entry.text("source"), line=entry.whole("line"), text=entry.text("text", ""))
