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

_MAX_EXACT_INTEGER = 2**53
"""Largest integer up to which all integers are exact in float64."""
P = TypeVar("P", bound=Any)
"""Code with the attributes d and K."""


@dataclass(frozen=True, eq=False)
class Summands(Generic[P]):
    """Parts of which sums consist; each has more rows than an orthoplex of its dimension."""

    parts: Sequence[P]
    """Parts in the order of their largest cosines."""
    cosines: Sequence[float]
    """Largest cosine of each part, rising."""

    @cached_property
    def densest(self) -> np.ndarray:
        """Largest number of rows per dimension up to each cosine, shape (number of parts,)."""
        # A sum of equal parts has as many rows per dimension as they: to spare for the division.
        return np.maximum.accumulate([part.K / part.d * (1.0 + 1e-12) for part in self.parts])

    def least_cosine(self, d: int, K: int, bar: float) -> float | None:
        """Return the least largest cosine below `bar` of K > 2 d rows in R^d, or None."""
        # No sum has more rows per dimension than the densest of its parts: that excludes most.
        first, last = int(np.count_nonzero(self.densest * d < K)), bisect_left(self.cosines, bar)
        # More cosine allows more rows, so the least that is enough can be bisected.
        index = bisect_left(
            self.cosines, True, first, last, key=lambda cosine: self.fullest(d, cosine)[0] >= K
        )
        return self.cosines[index] if index < last else None

    def fullest(self, d: int, cosine: float) -> tuple[int, list[P]]:
        """Return the most rows of a sum in R^d with cosines of at most `cosine`, and its parts.

        The parts may leave dimensions unused.
        """
        rows, parts = _knapsack(self, d, cosine)
        terms, e = list[P](), d
        while e > 0:
            fits = [p for p in parts if p.d <= e and rows[e - p.d] + p.K == rows[e]]
            terms += fits[:1] if rows[e] > rows[e - 1] + 2.0 else []
            e -= fits[0].d if rows[e] > rows[e - 1] + 2.0 else 1
        return int(rows[d]), terms

    def dimension(self, K: int, cosine: float, max_dimension: int) -> int | None:
        """Return the least number of dimensions in which a sum of this cosine has K rows.

        The result is None if that takes more than `max_dimension`, or if an orthoplex has as many
        rows.
        """
        parts = self.parts[: bisect_right(self.cosines, cosine)]
        if K > max_dimension * max((part.K / part.d for part in parts), default=0.0):
            return None
        sufficient = min(-(-K // part.K) * part.d for part in parts)  # copies of one part
        first = int(np.searchsorted(_knapsack(self, min(max_dimension, sufficient), cosine)[0], K))
        return first if first <= min(max_dimension, sufficient) and K > 2 * first else None


@lru_cache(maxsize=32)
def _knapsack(summands: Summands[P], d: int, cosine: float) -> tuple[np.ndarray, list[P]]:
    """Return the most rows in 0, .., d dimensions, and the parts that count, by dimension.

    Parts whose copies have more rows than float64 can count exactly are excluded.
    """
    parts: list[P] = []
    candidates = summands.parts[: bisect_right(summands.cosines, cosine)]
    for part in sorted(candidates, key=lambda part: (part.d, -part.K)):
        if part.d <= d <= _MAX_EXACT_INTEGER // part.K * part.d and part.K > max(
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
