"""Exact comparison of the largest cosine of a code with a rational number, for records.

Coordinates that are written down, as floats or decimals, are exact numbers whose rows are only
nearly of unit length. A float64 is an integer times a power of two, and a decimal text is one times
a power of ten; a cosine does not depend on either scale. So the code of their directions can be
compared with a rational number in integers, with no rounding anywhere: for rows x, y, their product
p, and t

    p <= t |x| |y|   <=>   p |p| <= t |t| |x|^2 |y|^2.

Floating point decides all pairs that its proved error bound can decide; integers decide the rest.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import gram_tiles
from gnc_cli.geometry.rounding import UNIT, gamma
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_SIDE = 1024
"""Side of a tile of the Gram matrix."""
_MAX_EXACT_PAIRS = 2_000_000
"""Largest number of pairs that are decided in integers: some ten seconds."""
_BLOCK_PRODUCTS = 1 << 19
"""Number of integer products in memory at once."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Ceiling:
    """Decimal number that the largest cosine provably does not exceed."""

    value: Fraction
    """Value of the number."""
    text: str
    """Number with all its decimals."""
    tight: bool
    """True if no smaller number of as many decimals is one; False if that was not decided."""


class ExactRows:
    """Rows, K of them, with exact directions in R^d: integer vectors, each with its own scale.

    Attributes:
        units: the directions, unit rows rounded to float64, shape (K, d).
        error: largest difference between the cosine of two rows and their float64 product
            `units[i] @ units[j]`, formed in any order. Higham's gamma for 3 d + 16 roundings: d + 5
            for each row's normalisation, d for the product, the rest as a margin.
    """

    def __init__(self, units: np.ndarray, source: np.ndarray) -> None:
        self.units = units
        self.error = gamma(3 * units.shape[1] + 16) + 4.0 * UNIT
        self._source = source

    @classmethod
    def from_floats(cls, W: np.ndarray) -> "ExactRows":
        """Read the rows of a float64 matrix (K, d) to the last bit; any lengths."""
        W = as_points(W)
        return cls(normalise(W), W)

    @classmethod
    def from_texts(cls, rows: Iterable[Sequence[str]]) -> "ExactRows":
        """Read rows of decimal numbers as they are written: `0.25`, `-1e-3`, `1/3`.

        Raises:
            DataError: a text is not a number, rows of unequal length, or a zero row.
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
        integers = np.array(scaled, dtype=object)
        if integers.ndim != 2 or len(integers) < 2:
            raise DataError(f"rows have shape {integers.shape}; expected (K, d), K >= 2")
        largest = np.abs(integers).max(axis=1, keepdims=True)
        if not (largest > 0).all():
            raise DataError(f"row {int(np.argmin(largest))} is zero: it has no direction")
        # Python divides integers of any size with a single rounding.
        return cls(normalise((integers / largest).astype(np.float64)), integers)

    def exceed(self, i: np.ndarray, j: np.ndarray, t: Fraction) -> np.ndarray:
        """Mark the pairs of rows i, j (m,) whose cosine is above t, exactly; shape (m,), bool."""

        def exceeds(product: int, square: int) -> bool:
            bound = t.numerator * abs(t.numerator) * square
            return product * abs(product) * t.denominator**2 > bound

        return np.array(self._decide_pairs(i, j, exceeds), dtype=bool)

    def ceilings(self, i: np.ndarray, j: np.ndarray, decimals: int) -> int:
        """Return the smallest integer n with no cosine of pairs i, j (m,) above n / 10^decimals.

        It is exact: the ceiling of a root of a rational number, by integer square roots.
        """

        def ceiling(product: int, square: int) -> int:
            numerator = product**2 * 10 ** (2 * decimals)
            if product > 0:
                return math.isqrt(-(-numerator // square) - 1) + 1
            return -math.isqrt(numerator // square)

        return max(self._decide_pairs(i, j, ceiling))

    def integers(self, rows: np.ndarray) -> np.ndarray:
        """Return exact multiples of rows, shape (m, d): int64 if products fit, else objects."""
        source = self._source[rows]
        return source if source.dtype == object else _integers(source)

    def _decide_pairs(
        self, i: np.ndarray, j: np.ndarray, decide: Callable[[int, int], _Answer]
    ) -> list[_Answer]:
        """Call `decide(<x, y>, |x|^2 |y|^2)` for each pair; algebraic codes repeat arguments."""
        answer = cache(decide)
        answers: list[_Answer] = []
        rows, places = np.unique(np.concatenate([i, j]), return_inverse=True)
        X = self.integers(rows)
        squares = (X * X).sum(axis=1).tolist()
        step = max(1, _BLOCK_PRODUCTS // X.shape[1])
        for s in range(0, len(i), step):
            first, second = places[: len(i)][s : s + step], places[len(i) :][s : s + step]
            products = (X[first] * X[second]).sum(axis=1).tolist()
            for p, a, b in zip(products, first.tolist(), second.tolist(), strict=True):
                answers.append(answer(p, squares[a] * squares[b]))
        return answers


def verify_below(W: np.ndarray | ExactRows, t: Fraction) -> bool | None:
    """Decide exactly whether every two rows have a cosine of at most t.

    None if too many pairs lie within rounding of t. Floats, rows (K, d) that represent directions,
    are read to the last bit.

    Raises:
        DataError: not a matrix of at least two finite nonzero rows.

    Example:
        >>> square = np.array([[2.0, 0.0], [0.0, 3.0], [-0.5, 0.0], [0.0, -1.0]])
        >>> verify_below(square, Fraction(0)), verify_below(square, Fraction(-1, 10**30))
        (True, False)
    """
    rows = _exact(W)
    exact_pairs = 0
    for tile, r, c in _tiles(rows.units, None):
        if tile.max() > float(t) + rows.error:
            return False
        first, second = np.nonzero(tile >= float(t) - rows.error)
        exact_pairs += len(first)
        decidable = 0 < len(first) and exact_pairs <= _MAX_EXACT_PAIRS
        if decidable and rows.exceed(first + r, second + c, t).any():
            return False
    return None if exact_pairs > _MAX_EXACT_PAIRS else True


def largest_cosine_above(
    W: np.ndarray | ExactRows, decimals: int = 12, *, deadline: Deadline | None = None
) -> Ceiling:
    """Round the largest cosine of rows (K, d) up to a decimal that it provably does not exceed.

    Public tables have 12 decimals.

    Raises:
        DataError: as `verify_below`.
        TimeoutError: the deadline expired first.

    Example:
        >>> largest_cosine_above(np.array([[3.0, 4.0], [5.0, 12.0]]), 6).text  # 63/65
        '0.969231'
    """
    rows = _exact(W)
    top = max(float(tile.max()) for tile, _, _ in _tiles(rows.units, deadline))
    lowest, highest = (
        math.ceil((Fraction(top) + s * Fraction(rows.error)) * 10**decimals) for s in (-1, 1)
    )
    tight = lowest == highest
    if not tight:
        pairs = _close_pairs(rows, top - 2.0 * rows.error, deadline)
        if pairs is not None:
            highest, tight = rows.ceilings(*pairs, decimals), True
    return Ceiling(Fraction(highest, 10**decimals), decimal_text(highest, decimals), tight)


def rounded_coordinates(
    W: np.ndarray | Sequence[Sequence[str]],
    decimals: int,
    *,
    cosine_decimals: int,
    deadline: Deadline | None,
) -> tuple[list[list[str]], Ceiling]:
    """Round coordinates (K, d), floats or texts, to some decimals, and verify them as printed.

    There is one row per point, not exactly of unit length; the largest cosine is that of their
    directions.

    Raises:
        DataError, TimeoutError: as `largest_cosine_above`.
    """
    scale = 10**decimals
    if isinstance(W, np.ndarray):
        rows = [[f"{x:.{decimals}f}" for x in row] for row in W.astype(np.float64).tolist()]
    else:
        rows = [[decimal_text(round(Fraction(x) * scale), decimals) for x in row] for row in W]
    return rows, largest_cosine_above(
        ExactRows.from_texts(rows), cosine_decimals, deadline=deadline
    )


def decimal_text(n: int, decimals: int) -> str:
    """Format `n / 10^decimals`.

    >>> decimal_text(-1500, 3), decimal_text(7, 0)
    ('-1.500', '7')
    """
    digits = str(abs(n)).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{text}" if n < 0 else text


def _exact(W: np.ndarray | ExactRows) -> ExactRows:
    return W if isinstance(W, ExactRows) else ExactRows.from_floats(W)


def _close_pairs(
    rows: ExactRows, low: float, deadline: Deadline | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """List the pairs whose computed cosine is at least `low`; None if they are too many."""
    first, second, count = [], [], 0
    for tile, r, c in _tiles(rows.units, deadline):
        i, j = np.nonzero(tile >= low)
        first.append(i + r)
        second.append(j + c)
        count += len(i)
        if count > _MAX_EXACT_PAIRS:
            return None
    return np.concatenate(first), np.concatenate(second)


def _tiles(units: np.ndarray, deadline: Deadline | None) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield tiles of float64 products of rows i < j, -2 elsewhere, with their corners."""
    for rows, columns in gram_tiles(len(units), _SIDE, deadline=deadline):
        tile = units[rows] @ units[columns].T
        if rows == columns:
            tile[np.tril_indices(len(tile))] = -2.0
        yield tile, rows.start, columns.start


def _integers(W: np.ndarray) -> np.ndarray:
    """Multiply each row of floats by a power of two that makes all its entries integers."""
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
