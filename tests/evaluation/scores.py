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

    def f1_at(self, prevalence: float) -> tuple[float, float, float]:
        """F1 where a share of all cases has the trouble: as measured, and at the worse and the better end.

        With recall s and share of false alarms f, precision is p = πs / (πs + (1 - π)f), and F1 is
        2ps / (p + s). The ends take both shares at the ends of their Wilson intervals.
        """
        positives, negatives = self.right + self.missed, self.wrong + self.silent
        recall, alarms = wilson(self.right, positives), wilson(self.wrong, negatives)
        measured = (self.right / max(positives, 1), self.wrong / max(negatives, 1))
        pairs = (measured, (recall[0], alarms[1]), (recall[1], alarms[0]))
        worked = [_f1(share, false, prevalence) for share, false in pairs]
        return worked[0], worked[1], worked[2]

    def precision_at(self, prevalence: float) -> float:
        """The share of alarms that are right where a share of all cases has the trouble."""
        recall = self.right / max(self.right + self.missed, 1)
        return _precision(recall, self.wrong / max(self.wrong + self.silent, 1), prevalence)

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


def _precision(recall: float, alarms: float, prevalence: float) -> float:
    said = prevalence * recall + (1 - prevalence) * alarms
    return prevalence * recall / said if said else math.nan


def _f1(recall: float, alarms: float, prevalence: float) -> float:
    precision = _precision(recall, alarms, prevalence)
    return 2 * precision * recall / (precision + recall) if recall else 0.0
