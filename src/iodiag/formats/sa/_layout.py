"""C structures as data: where each field stands, and numpy's view of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np


class FieldRun(NamedTuple):
    """Fields of one kind in a row: the first at `at`, then one every `step` bytes.

    `code` is a numpy type without byte order; `ulong` is as wide as the writer's.
    """

    code: str
    at: int
    step: int
    names: str


def fields_of(runs: Iterable[FieldRun]) -> Iterator[tuple[str, str, int]]:
    """Name, code and offset of each field."""
    for run in runs:
        for number, name in enumerate(run.names.split()):
            yield name, run.code, run.at + number * run.step


def width(code: str) -> int:
    """Bytes that a field takes; an unsigned long has a slot of 8 wherever it was written."""
    return 8 if code == "ulong" else np.dtype(code).itemsize


def view(
    fields: Collection[tuple[str, str, int]], order: str, long_bytes: int, size: int
) -> np.dtype[np.void]:
    """These fields of a structure of so many bytes."""
    return np.dtype(
        {
            "names": [name for name, _, _ in fields],
            "formats": [order + (f"u{long_bytes}" if code == "ulong" else code) for _, code, _ in fields],
            "offsets": [at for _, _, at in fields],
            "itemsize": size,
        }
    )
