"""Counts, and what follows from them: precision, recall, F1, Wilson's intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959964


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion (E. B. Wilson, 1927); (0, 1) without a trial."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    spread = Z95 * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    scale = 1 + Z95**2 / total
    middle = share + Z95**2 / (2 * total)
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True)
class Counts:
    """How often something was said rightly, wrongly, and not said though it was so."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    silent: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.right + other.right,
            self.wrong + other.wrong,
            self.missed + other.missed,
            self.silent + other.silent,
        )

    @property
    def f1(self) -> float:
        total = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / total if total else math.nan

    def apart(self, other: Counts) -> int:
        """How many trials at least came out otherwise."""
        return abs(self.right - other.right) + abs(self.wrong - other.wrong)

    @property
    def youden(self) -> float:
        """Recall less the share of false alarms (W. J. Youden, 1950): whatever the mix of cases is."""
        positives, negatives = self.right + self.missed, self.wrong + self.silent
        return self.right / positives - self.wrong / negatives if positives and negatives else math.nan

    @classmethod
    def of(cls, said: bool, holds: bool) -> Counts:
        return cls(
            int(said and holds), int(said and not holds), int(holds and not said), int(not (said or holds))
        )
