"""The kinds of arrays that the reader of texts works with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Chars = npt.NDArray[np.uint8]
Eights = npt.NDArray[np.uint64]
"""Eight bytes in one number each, the first of them the lowest."""
