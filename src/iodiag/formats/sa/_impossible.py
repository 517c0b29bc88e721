"""What no host stores as a device or a counter: the record that holds it is out of alignment or damaged."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from iodiag.formats.sa._rates import Stored
from iodiag.table.table import Bools, Ints

MOST_MAJOR, MOST_MINOR = 2**12 - 1, 2**20 - 1
"""The kernel's dev_t has 12 and 20 bits (include/linux/kdev_t.h)."""

_AVERAGE_PRESSURE = re.compile(r"%[sf](?:cpu|io|mem)-\d+")
MOST_PRESSURE = 10_100
"""In hundredths of a per cent, with one per cent for an average that is rounded."""

_MOST_MEMORY_KB = 2**42
"""What 52 bits address, as many as a physical address has. What is promised or only mapped may be more."""

_MEMORY = ("kbmemfree", "kbbuffers", "kbcached", "kbswpfree", "total_kb", "swap_total_kb")

_LONGEST_INTERFACE = 15
"""Letters of an interface's name (IFNAMSIZ in include/uapi/linux/if.h counts the NUL)."""


class ImpossibleError(Exception):
    """Some records hold what cannot be; `records` are their indices in the segment."""

    def __init__(self, what: str, records: Ints) -> None:
        super().__init__(what)
        self.records = records


def check(stored: Stored) -> None:
    """Raise ImpossibleError for structures that name, or count, what no host can have."""
    if not len(stored.values):
        return
    if stored.has("major", "minor"):
        major, minor = stored.values["major"], stored.values["minor"]
        is_impossible = (major > MOST_MAJOR) | (minor > MOST_MINOR) | ((major == 0) & (minor > 0))
        _refuse("numbers that are no disk's", stored, is_impossible)
    if stored.has("name", "rxpck/s") or stored.has("name", "coll/s"):
        _refuse("a name that is no interface's", stored, _names_nothing(stored.values["name"]))
    if stored.has("blocks", "name"):
        name = _letters(stored.values["name"])
        is_impossible = (name[:, 0] == 0) & name.any(axis=1)
        if stored.has("mountpoint"):
            place = _letters(stored.values["mountpoint"])
            is_impossible |= (place[:, 0] != ord("/")) & place.any(axis=1)
        _refuse("names that are no file system's", stored, is_impossible)
    for field in stored.values.dtype.names or ():
        if _AVERAGE_PRESSURE.fullmatch(field):
            _refuse("a pressure above 100 %", stored, stored.values[field] > MOST_PRESSURE)
        elif field in _MEMORY:
            _refuse("more memory than can be addressed", stored, stored.values[field] > _MOST_MEMORY_KB)


def _refuse(what: str, stored: Stored, is_impossible: Bools) -> None:
    if is_impossible.any():
        raise ImpossibleError(what, np.unique(stored.record[is_impossible]))


def _names_nothing(names: npt.NDArray[np.bytes_]) -> Bools:
    """Which names are empty and go on, or hold what no name of one may: blanks, controls, slashes, odd bytes.

    The oldest files pad names with blanks in front.
    """
    letters = _letters(names)
    is_end = letters == 0
    ends = np.where(is_end.any(axis=1), is_end.argmax(axis=1), letters.shape[1])
    begins = (letters != ord(" ")).argmax(axis=1)
    places = np.arange(letters.shape[1])
    is_inside = (places >= begins[:, None]) & (places < ends[:, None])
    is_bad = (letters <= ord(" ")) | (letters == 127) | (letters == ord("/"))
    is_empty = (ends == begins) & letters.any(axis=1)
    is_odd: Bools = (is_inside & is_bad).any(axis=1) | is_empty | (ends > _LONGEST_INTERFACE)
    for place in np.flatnonzero(((letters > 127) & is_inside).any(axis=1)):
        is_odd[place] |= not _is_utf8(bytes(letters[place, : ends[place]]))
    return is_odd


def _letters(names: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint8]:
    """Names of one length as a row of bytes each."""
    return np.ascontiguousarray(names).view(np.uint8).reshape(len(names), -1)


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
