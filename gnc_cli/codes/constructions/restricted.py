"""What shortened and punctured codes of signs share: rows on fewer coordinates, and their check."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.differences import numbered, sums_of_pairs
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.walsh import walsh_block

__all__ = ["RestrictedRows"]

_ALL_PAIRS = 4096
"""Rows up to which every pair is multiplied."""
_MOST_SUMS = 1 << 18
"""Sums that are searched for a pair that attains the bound."""


class RestrictedRows(Rows):
    """Rows (+-1)/sqrt(d) that come in equal parts, one for each function of a set."""

    forms: FormSet
    """The functions on all coordinates."""
    part: int
    """Rows of each function."""

    @abstractmethod
    def signs(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop` (exclusive) in integers +-1, shape (stop - start, d), int8."""

    @abstractmethod
    def _largest_sum(self, functions: np.ndarray) -> int:
        """Largest inner product, in integers, of rows of two functions with these sums."""

    @abstractmethod
    def _bound(self) -> int:
        """Upper bound, in integers, of the inner products of rows of different functions."""

    @abstractmethod
    def _within(self) -> int:
        """Largest inner product, in integers, of different rows of one function."""

    def unit(self, start: int, stop: int) -> np.ndarray:
        scale = self.shape[1] ** -0.5
        return np.multiply(self.signs(start, stop), scale, dtype=np.float64)

    def verify(self) -> Verified:
        """All pairs where they are few; else the whole code's bound and a pair that attains it."""
        K, d = self.shape
        if K <= _ALL_PAIRS:
            return IntegerRows(self.signs(0, K).astype(np.int32)).verify()
        count = -(-K // self.part)
        bound, largest, exact = self._bound(), self._within(), count == 1 and K == self.part
        for blocks, complete in self._searches(count):
            for functions in blocks:
                largest = max(largest, self._largest_sum(functions))
                if largest >= bound:
                    break
            if exact := complete or largest >= bound:
                break
        how = "Walsh transforms of sums of two functions on the coordinates kept"
        largest = largest if exact else bound
        return Verified(
            K=K,
            distinct=largest < d,
            max_cosine=Cosine.of(Fraction(largest, d)),
            distribution=None,
            how=how if exact else f"{how}; an upper bound for the rows kept",
        )

    def _searches(self, count: int) -> Iterator[tuple[Iterable[np.ndarray], bool]]:
        """Sums of two of the first functions, and whether they are all there are."""
        if count == 1:
            return
        # In a linear set the differences of the first functions are the first functions up to a
        # power of two; elsewhere differences with the zero function are some of all.
        linear = len(self.forms.core) == 1
        size = 1 << (count - 1).bit_length() if linear else count
        blocks = _MOST_SUMS // walsh_block(self.forms.d)
        yield islice(numbered(self.forms, size), blocks), linear and size <= _MOST_SUMS
        pairs = count * (count - 1) // 2
        yield islice(sums_of_pairs(self.forms, count), blocks), pairs <= _MOST_SUMS
