"""How many decimals the numbers of the disk table were printed with: `iostat --dec=0` prints none."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from iodiag.model.capture import Source
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Mask, Table, numbered

_ANY = ("ios_per_s", "reads_per_s", "writes_per_s")
_ROUNDED_AWAY: dict[str, tuple[str, ...]] = dict.fromkeys(("queue_depth", "await_ms", "svctm_ms"), _ANY)
_ROUNDED_AWAY |= {f"{way}_await_ms": (f"{way}s_per_s",) for way in ("read", "write")}
_PRINTED = (*_ROUNDED_AWAY, "util_pct")
_DECIMALS = re.compile(r"\d[.,](\d{1,9})")
_LINES, _ROWS, _SAME = 5, 1000, 1e-6


def with_half_digit(disk: Table, sources: Mapping[str, Source]) -> Table:
    """The disk table with `half_digit`, half of the last printed digit, where a source prints less than two.

    There a column of which a device with requests has zeros, and nothing else than the last digit's one, is
    unknown: any zero is as likely near that one.
    """
    codes, names = numbered(disk["source"])
    halves = np.array([_half_digit(disk, codes == at, sources.get(name)) for at, name in enumerate(names)])
    if not (halves > HALF_DIGIT).any():
        return disk
    half = halves[codes]
    devices, names = numbered(disk["device"])
    columns = {"half_digit": half}
    for column, counted in _ROUNDED_AWAY.items():
        if column not in disk:
            continue
        values, most = disk.floats(column), np.zeros((2, len(names)))
        is_rounded = (values == 0) & (half > HALF_DIGIT)
        is_rounded &= np.any([disk.floats(name) > 0 for name in counted], axis=0)
        np.fmax.at(most[0], devices, values - 2 * half)
        np.fmax.at(most[1], devices, is_rounded)
        is_unknown = (most[0] < _SAME) & (most[1] > 0)
        columns[column] = np.where(is_unknown[devices] & (half > HALF_DIGIT), np.nan, values)
    return disk.with_columns(**columns)


def _half_digit(disk: Table, is_own: Mask, source: Source | None) -> float:
    """By the values first, which need no text: whole tenths throughout; then by some lines of the source."""
    rows = disk[np.flatnonzero(is_own)[:_ROWS]]
    tenths = 10 * np.concatenate([rows.floats(column) for column in _PRINTED])
    tenths = tenths[~np.isnan(tenths)]
    is_whole = tenths.any() and np.abs(tenths - np.rint(tenths)).max() < _SAME
    if source is None or source.pos_unit != "line" or not is_whole:
        return HALF_DIGIT
    rows = rows[~np.equal(rows["is_omitted"], True).astype(np.bool_)] if "is_omitted" in rows else rows
    texts = [source.quote(int(line)) for line in np.asarray(rows["line"])[:_LINES]]
    digits = max((len(part) for text in texts for part in _DECIMALS.findall(text)), default=0)
    return 0.5 / 10**digits if digits < 2 and any(texts) else HALF_DIGIT
