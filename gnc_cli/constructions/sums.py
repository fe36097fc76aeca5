"""Codes in orthogonal subspaces: the most rows at a largest cosine, and the least cosine of a size.

Rows of different parts are orthogonal, so a sum has the largest cosine of its parts, at least 0. A
dimension that no part takes holds two opposite rows. How many rows there are at most is an
unbounded knapsack over the dimensions.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

_EXACT = 2**53
"""Whole numbers up to here are exact in float64."""
P = TypeVar("P", bound=Any)
"""A code with its d and K."""


@dataclass(frozen=True, eq=False)
class Summands(Generic[P]):
    """The parts that sums are made of; each has more rows than an orthoplex."""

    parts: Sequence[P]
    """By largest cosine."""
    cosines: Sequence[float]
    """The largest cosine of each part."""

    @cached_property
    def densest(self) -> np.ndarray:
        """The most rows per dimension up to each cosine, shape (number of parts,)."""
        # A sum of equal parts has as many rows per dimension as they: to spare for the division.
        return np.maximum.accumulate([part.K / part.d * (1.0 + 1e-12) for part in self.parts])

    def least(self, d: int, K: int, bar: float) -> float | None:
        """Return the least largest cosine below `bar` of K > 2 d rows in R^d, or None."""
        # No sum has more rows per dimension than the densest of its parts: that excludes most.
        first, last = int(np.count_nonzero(self.densest * d < K)), bisect_left(self.cosines, bar)
        # More cosine allows more rows, so the least that is enough can be bisected.
        at = bisect_left(
            self.cosines, True, first, last, key=lambda cosine: self.fullest(d, cosine)[0] >= K
        )
        return self.cosines[at] if at < last else None

    def fullest(self, d: int, cosine: float) -> tuple[int, list[P]]:
        """Return the most rows of a sum in R^d whose largest cosine is at most `cosine`, and its
        parts, which may leave dimensions idle.
        """
        rows, parts = _knapsack(self, d, cosine)
        chosen, e = list[P](), d
        while e > 0:
            taken = [p for p in parts if p.d <= e and rows[e - p.d] + p.K == rows[e]]
            chosen += taken[:1] if rows[e] > rows[e - 1] + 2.0 else []
            e -= taken[0].d if rows[e] > rows[e - 1] + 2.0 else 1
        return int(rows[d]), chosen

    def dimension(self, K: int, cosine: float, most: int) -> int | None:
        """Return the least number of dimensions, `most` at most, in which a sum of this cosine has
        K rows; None where there is none, or an orthoplex has as many.
        """
        some = self.parts[: bisect_right(self.cosines, cosine)]
        if K > most * max((part.K / part.d for part in some), default=0.0):
            return None
        enough = min(-(-K // part.K) * part.d for part in some)  # copies of one part
        first = int(np.searchsorted(_knapsack(self, min(most, enough), cosine)[0], K))
        return first if first <= min(most, enough) and K > 2 * first else None


@lru_cache(maxsize=32)
def _knapsack(summands: Summands[P], d: int, cosine: float) -> tuple[np.ndarray, list[P]]:
    """Return the most rows in 0, .., d dimensions, and the parts that count, by dimension.

    A part of which copies have more rows than floats count exactly is left out.
    """
    parts: list[P] = []
    some = summands.parts[: bisect_right(summands.cosines, cosine)]
    for part in sorted(some, key=lambda part: (part.d, -part.K)):
        if part.d <= d <= _EXACT // part.K * part.d and part.K > max(
            2 * part.d, parts[-1].K if parts else 0
        ):
            parts.append(part)
    rows = 2.0 * np.arange(d + 1)
    for part in parts:
        # A row of the table for each further copy of the part; what copies add is taken off first.
        table = np.resize(rows, (d // part.d + 1, part.d))
        added = part.K * np.arange(len(table), dtype=float)[:, None]
        np.maximum.accumulate(table - added, axis=0, out=table)
        rows = (table + added).ravel()[: d + 1]
    return rows, parts
