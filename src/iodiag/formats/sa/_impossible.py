"""What no host stores as a device: the record that holds it is out of alignment or damaged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iodiag.formats.sa._header import SaHeader
from iodiag.formats.sa._rates import Stored
from iodiag.table.table import Bools, Ints

MOST_MAJOR, MOST_MINOR = 2**12 - 1, 2**20 - 1
"""The kernel's dev_t has 12 and 20 bits (include/linux/kdev_t.h)."""

_LONGEST_INTERFACE = 15
"""Letters of an interface's name (IFNAMSIZ in include/uapi/linux/if.h counts the NUL)."""


class ImpossibleError(Exception):
    """Some records hold what cannot be; `records` are their indices in the segment."""

    def __init__(self, what: str, records: Ints) -> None:
        super().__init__(what)
        self.records = records


def check(stored: Stored, header: SaHeader) -> None:
    """Raise ImpossibleError for structures that name no device or interface that a host can have."""
    if not len(stored.values):
        return
    if stored.has("major", "minor"):
        major, minor = stored.values["major"], stored.values["minor"]
        is_impossible = (major > MOST_MAJOR) | (minor > MOST_MINOR)
        if not header.old:
            is_impossible |= (major == 0) & (minor > 0)
        _refuse("numbers that are no disk's", stored, is_impossible)
    # the spare places of old files may hold anything
    if not header.old and (stored.has("name", "rxpck/s") or stored.has("name", "coll/s")):
        _refuse("a name that is no interface's", stored, _names_nothing(stored.values["name"]))


def _refuse(what: str, stored: Stored, is_impossible: Bools) -> None:
    if is_impossible.any():
        raise ImpossibleError(what, np.unique(stored.record[is_impossible]))


def _names_nothing(names: npt.NDArray[np.generic]) -> Bools:
    """Which names are empty and go on, or hold what no name of one may: blanks, controls, slashes."""
    letters = np.ascontiguousarray(names).view(np.uint8).reshape(len(names), -1)
    is_end = letters == 0
    ends = np.where(is_end.any(axis=1), is_end.argmax(axis=1), letters.shape[1])
    is_inside = np.arange(letters.shape[1]) < ends[:, None]
    is_bad = (letters <= ord(" ")) | (letters == 127) | (letters == ord("/"))
    is_empty = (ends == 0) & letters.any(axis=1)
    is_odd: Bools = (is_inside & is_bad).any(axis=1) | is_empty | (ends > _LONGEST_INTERFACE)
    return is_odd
