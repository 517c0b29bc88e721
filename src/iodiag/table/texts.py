"""Texts: a column of texts that repeat, as a number per row and the texts that the numbers stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, final, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Codes = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]

NO_TEXT: Final = -1
"""The code of a row without a text."""


@final
class Texts:
    """Texts by row: `categories[codes[row]]`, or none where the code is NO_TEXT.

    `words[3]` is a word, "" where there is none; `words[mask]`, `words[places]` and `words[2:9]` are parts;
    `words == "sda"` is a mask. Nobody changes the codes.
    """

    __slots__ = ("categories", "codes")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # equality is by row

    def __init__(self, codes: Codes, categories: tuple[str, ...]) -> None:
        self.codes, self.categories = codes, categories

    @classmethod
    def coded(cls, codes: Codes, words: Sequence[str]) -> Texts:
        """The words that codes stand for, some of them perhaps for the same; the categories are sorted."""
        known = sorted({words[code] for code in _used(codes, len(words))})
        place = {word: number for number, word in enumerate(known)}
        number = [*(place.get(word, NO_TEXT) for word in words), NO_TEXT]
        return cls(np.array(number, dtype=least_type(len(known)))[codes], tuple(known))

    @classmethod
    def of(cls, words: Iterable[object]) -> Texts:
        """Texts one by one; whatever is no str is none."""
        place: dict[str, int] = {}
        codes = [place.setdefault(w, len(place)) if isinstance(w, str) else NO_TEXT for w in words]
        return cls.coded(np.array(codes, dtype=np.intp), tuple(place))

    @classmethod
    def same(cls, word: str, count: int) -> Texts:
        """The same word in every row."""
        return cls(np.zeros(count, dtype=np.int8), (word,))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        named = (*self.categories, "")
        return (named[code] for code in self.codes.tolist())

    @overload
    def __getitem__(self, wanted: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, wanted: slice | Mask | Codes) -> Texts: ...
    def __getitem__(self, wanted: int | np.integer[Any] | slice | Mask | Codes) -> str | Texts:
        if isinstance(wanted, (slice, np.ndarray)):
            return Texts(self.codes[wanted], self.categories)
        code = int(self.codes[wanted])
        return "" if code == NO_TEXT else self.categories[code]

    def take(self, places: Codes) -> Texts:
        """The words of some rows."""
        return Texts(self.codes.take(places), self.categories)

    def __eq__(self, word: object) -> Mask:  # type: ignore[override]
        """Which rows have a word."""
        return self.isin((word,))

    def __ne__(self, word: object) -> Mask:  # type: ignore[override]
        return ~self.isin((word,))

    def is_missing(self) -> Mask:
        """Which rows have no word."""
        result: Mask = self.codes < 0
        return result

    def isin(self, words: Collection[object]) -> Mask:
        """Which rows have one of some words."""
        is_wanted = np.array([*(word in words for word in self.categories), False], dtype=np.bool_)
        result: Mask = is_wanted[self.codes]
        return result

    def distinct(self) -> list[str]:
        """The words that there are."""
        return [self.categories[code] for code in _used(self.codes, len(self.categories))]

    def compact(self) -> Texts:
        """The same texts, with those as categories that there are, in their order."""
        used, codes = np.unique(self.codes, return_inverse=True)
        known = tuple(self.categories[code] for code in used.tolist() if code != NO_TEXT)
        missing = len(used) - len(known)
        return Texts((codes - missing).astype(least_type(len(known))), known)

    def numbered(self) -> tuple[npt.NDArray[np.intp], list[str]]:
        """Numbers in the order of the words' first appearance, and the words by number; no row lacks one."""
        codes, count = self.codes, len(self.codes)
        if count and (codes == codes[0]).all():
            return np.zeros(count, dtype=np.intp), [self.categories[codes[0]]]
        places: npt.NDArray[np.intp] = codes.astype(np.intp)
        first = np.full(len(self.categories), count)
        first[places[::-1]] = np.arange(count)[::-1]  # of places that are named twice the last one holds
        order = np.argsort(first, kind="stable")[: int((first < count).sum())]
        names = [self.categories[code] for code in order.tolist()]
        if (order == np.arange(len(order))).all():
            return places, names
        number = np.zeros(len(first), dtype=np.intp)
        number[order] = np.arange(len(order))
        return number[places], names

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """One part below the other; the categories are those that are used, sorted."""
        if all(part.categories == parts[0].categories for part in parts):
            return cls(np.concatenate([part.codes for part in parts]), parts[0].categories)
        first = np.cumsum([0, *(len(part.categories) for part in parts)])
        codes = [
            np.where(part.is_missing(), NO_TEXT, at + part.codes.astype(np.intp))
            for at, part in zip(first, parts, strict=False)
        ]
        return cls.coded(np.concatenate(codes), [word for part in parts for word in part.categories])

    def in_pandas(self) -> pd.Categorical[str]:
        """The words as pandas has them."""
        import pandas as pd

        # as codes come from nobody else, whether there are such words need not be looked at again
        return pd.Categorical.from_codes(self.codes, dtype=_dtype_of(self.categories), validate=False)


def _used(codes: Codes, count: int) -> list[int]:
    """Which codes below `count` there are."""
    known = codes if codes.min(initial=0) >= 0 else codes[codes >= 0]
    return np.flatnonzero(np.bincount(known, minlength=count)).tolist()


@lru_cache(maxsize=256)
def _dtype_of(categories: tuple[str, ...]) -> pd.CategoricalDtype[Any]:
    """One for all columns of the same words: making it takes longer than making the column."""
    import pandas as pd

    return pd.CategoricalDtype(pd.Index(categories, dtype="str"))


def least_type(count: int) -> np.dtype[Any]:
    """The smallest type for so many codes."""
    return np.min_scalar_type(-max(count, 1))
