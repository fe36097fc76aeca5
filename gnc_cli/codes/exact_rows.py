"""Rows whose directions are known exactly: integer vectors, each with a scale of its own.

A float64 is an integer times a power of two and a decimal text one times a power of ten; neither
scale matters to a cosine. So any code that is written down can be compared with a rational number
in integers, with no rounding anywhere: for rows x, y and t >= 0

    <x, y> <= t |x| |y|   <=>   <x, y> <= 0  or  <x, y>^2 <= t^2 |x|^2 |y|^2,

and for t < 0 the same with both signs turned. Floating point decides all pairs that its proved
error bound can decide; integers are for the others.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.rounding import UNIT, gamma
from gnc_cli.numerics.sphere import as_points, normalise

__all__ = ["ExactRows"]

_BLOCK = 1 << 19
"""Integer products held at once."""
_Answer = TypeVar("_Answer")


class ExactRows:
    """K rows with exact directions in R^d.

    Attributes:
        units: the directions, unit rows rounded to float64, shape (K, d).
        error: the cosine of any two rows is their float64 product `units[i] @ units[j]`, formed in
            any order, within this. Higham's gamma for 3 d + 16 roundings: d + 5 for each row's
            normalisation, d for the product, the rest to spare.
    """

    def __init__(self, units: np.ndarray, integers: np.ndarray | None, source: np.ndarray) -> None:
        self.units = units
        self.error = gamma(3 * units.shape[1] + 16) + 4.0 * UNIT
        self._integers = integers
        self._source = source

    @classmethod
    def of_floats(cls, W: np.ndarray) -> "ExactRows":
        """The rows of a float64 matrix, to the last bit; they need not be of unit length.

        Raises:
            DataError: not a matrix of at least two finite nonzero rows.
        """
        W = as_points(W)
        return cls(normalise(W), None, W)

    @classmethod
    def of_integers(cls, rows: np.ndarray) -> "ExactRows":
        """Rows of integers of any size, shape (K, d), dtype object or an integer one.

        Raises:
            DataError: fewer than two rows, or a zero row.
        """
        rows = rows.astype(object)
        if rows.ndim != 2 or len(rows) < 2:
            raise DataError(f"rows have shape {rows.shape}; expected (K, d), K >= 2")
        largest = np.abs(rows).max(axis=1, keepdims=True)
        if not (largest > 0).all():
            raise DataError(f"row {int(np.argmin(largest))} is zero: it has no direction")
        # Python divides integers of any size with a single rounding.
        return cls(normalise((rows / largest).astype(np.float64)), rows, rows)

    @classmethod
    def of_texts(cls, rows: Iterable[Sequence[str]]) -> "ExactRows":
        """Rows of decimal numbers as they are written: `0.25`, `-1e-3`, `1/3`.

        Raises:
            DataError: no number, rows of unequal length, or a zero row.
        """
        scaled = []
        for k, row in enumerate(rows):
            try:
                values = [Fraction(word) for word in row]
            except (ValueError, ZeroDivisionError) as error:
                raise DataError(
                    f"row {k} holds no exact number ({error}); write decimals"
                ) from error
            common = math.lcm(*(v.denominator for v in values))
            scaled.append([int(v * common) for v in values])
        if len({len(row) for row in scaled}) > 1:
            raise DataError("rows have different lengths; each must hold one point")
        return cls.of_integers(np.array(scaled, dtype=object))

    def exceed(self, i: np.ndarray, j: np.ndarray, t: Fraction) -> np.ndarray:
        """Which of these pairs of rows have a cosine above t, exactly; Booleans, shape (m,)."""

        def above(product: int, square: int) -> bool:
            ours, bound = (product * t.denominator) ** 2, t.numerator**2 * square
            if t.numerator >= 0:
                return product > 0 and ours > bound
            return product >= 0 or ours < bound

        return np.array(self._ask(i, j, above), dtype=bool)

    def ceilings(self, i: np.ndarray, j: np.ndarray, decimals: int) -> int:
        """The smallest integer n such that none of these pairs has a cosine above n / 10^decimals.

        Exact: the ceiling of a root of a rational number, by integer square roots.
        """

        def ceiling(product: int, square: int) -> int:
            ours = product**2 * 10 ** (2 * decimals)
            if product > 0:
                return math.isqrt(-(-ours // square) - 1) + 1
            return -math.isqrt(ours // square)

        return max(self._ask(i, j, ceiling))

    def integers(self, rows: np.ndarray) -> np.ndarray:
        """Exact multiples of these rows, shape (m, d): int64 where products fit, else objects."""
        if self._integers is not None:
            return self._integers[rows]
        return _integers(self._source[rows])

    def _ask(
        self, i: np.ndarray, j: np.ndarray, question: Callable[[int, int], _Answer]
    ) -> list[_Answer]:
        """Each pair's answer, from `<x, y>` and `|x|^2 |y|^2`; codes of algebra repeat few."""
        answers: dict[tuple[int, int], _Answer] = {}
        found = []
        rows, where = np.unique(np.concatenate([i, j]), return_inverse=True)
        X = self.integers(rows)
        squares = (X * X).sum(axis=1).tolist()
        step = max(1, _BLOCK // X.shape[1])
        for s in range(0, len(i), step):
            first, second = where[: len(i)][s : s + step], where[len(i) :][s : s + step]
            products = (X[first] * X[second]).sum(axis=1).tolist()
            for p, a, b in zip(products, first.tolist(), second.tolist(), strict=True):
                key = p, squares[a] * squares[b]
                if key not in answers:
                    answers[key] = question(*key)
                found.append(answers[key])
        return found


def _integers(W: np.ndarray) -> np.ndarray:
    """Each row of floats times a power of two of its own, so that all entries are integers."""
    fraction, exponent = np.frexp(W)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    zero = mantissa == 0
    lowest[zero] = 0
    mantissa >>= lowest
    exponent = exponent - 53 + lowest
    exponent[zero] = np.iinfo(exponent.dtype).max
    shift = exponent - exponent.min(axis=1, keepdims=True)
    shift[zero] = 0
    bits = int((np.frexp(mantissa.astype(np.float64))[1] + shift).max())
    if 2 * bits + W.shape[1].bit_length() < 63:
        return np.asarray(mantissa << shift)
    return np.asarray(mantissa.astype(object) << shift.astype(object))
