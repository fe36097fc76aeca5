"""The largest cosine of a code against a rational number, exactly: what a claim of a record needs.

Coordinates that are written down, as floats or decimals, are exact numbers whose rows are merely
not quite of unit length. A float64 is an integer times a power of two and a decimal text one times
a power of ten; neither scale matters to a cosine. So the code of their directions can be compared
with a rational number in integers, with no rounding anywhere: for rows x, y, their product p, and t

    p <= t |x| |y|   <=>   p |p| <= t |t| |x|^2 |y|^2.

Floating point decides all pairs that its proved error bound can decide; integers are for the
others.
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
_MOST_EXACT = 2_000_000
"""Pairs that are worth deciding in integers, some ten seconds."""
_BLOCK = 1 << 19
"""Integer products held at once."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Ceiling:
    """A decimal number that the largest cosine provably does not exceed."""

    value: Fraction
    text: str
    """With all its decimals."""
    tight: bool
    """No smaller number of as many decimals would do; False where that was too much to decide."""


class ExactRows:
    """K rows with exact directions in R^d: integer vectors, each with a scale of its own.

    Attributes:
        units: the directions, unit rows rounded to float64, shape (K, d).
        error: the cosine of any two rows is their float64 product `units[i] @ units[j]`, formed in
            any order, within this. Higham's gamma for 3 d + 16 roundings: d + 5 for each row's
            normalisation, d for the product, the rest to spare.
    """

    def __init__(self, units: np.ndarray, source: np.ndarray) -> None:
        self.units = units
        self.error = gamma(3 * units.shape[1] + 16) + 4.0 * UNIT
        self._source = source

    @classmethod
    def of_floats(cls, W: np.ndarray) -> "ExactRows":
        """The rows of a float64 matrix, to the last bit; they need not be of unit length."""
        W = as_points(W)
        return cls(normalise(W), W)

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
        integers = np.array(scaled, dtype=object)
        if integers.ndim != 2 or len(integers) < 2:
            raise DataError(f"rows have shape {integers.shape}; expected (K, d), K >= 2")
        largest = np.abs(integers).max(axis=1, keepdims=True)
        if not (largest > 0).all():
            raise DataError(f"row {int(np.argmin(largest))} is zero: it has no direction")
        # Python divides integers of any size with a single rounding.
        return cls(normalise((integers / largest).astype(np.float64)), integers)

    def exceed(self, i: np.ndarray, j: np.ndarray, t: Fraction) -> np.ndarray:
        """Which of these pairs of rows have a cosine above t, exactly; Booleans, shape (m,)."""

        def above(product: int, square: int) -> bool:
            bound = t.numerator * abs(t.numerator) * square
            return product * abs(product) * t.denominator**2 > bound

        return np.array(self._each(i, j, above), dtype=bool)

    def ceilings(self, i: np.ndarray, j: np.ndarray, decimals: int) -> int:
        """The smallest integer n such that none of these pairs has a cosine above n / 10^decimals.

        Exact: the ceiling of a root of a rational number, by integer square roots.
        """

        def ceiling(product: int, square: int) -> int:
            ours = product**2 * 10 ** (2 * decimals)
            if product > 0:
                return math.isqrt(-(-ours // square) - 1) + 1
            return -math.isqrt(ours // square)

        return max(self._each(i, j, ceiling))

    def integers(self, rows: np.ndarray) -> np.ndarray:
        """Exact multiples of these rows, shape (m, d): int64 where products fit, else objects."""
        chosen = self._source[rows]
        return chosen if chosen.dtype == object else _integers(chosen)

    def _each(
        self, i: np.ndarray, j: np.ndarray, decide: Callable[[int, int], _Answer]
    ) -> list[_Answer]:
        """`decide(<x, y>, |x|^2 |y|^2)` for each pair; codes of algebra repeat few arguments."""
        answer = cache(decide)
        answers: list[_Answer] = []
        rows, where = np.unique(np.concatenate([i, j]), return_inverse=True)
        X = self.integers(rows)
        squares = (X * X).sum(axis=1).tolist()
        step = max(1, _BLOCK // X.shape[1])
        for s in range(0, len(i), step):
            first, second = where[: len(i)][s : s + step], where[len(i) :][s : s + step]
            products = (X[first] * X[second]).sum(axis=1).tolist()
            for p, a, b in zip(products, first.tolist(), second.tolist(), strict=True):
                answers.append(answer(p, squares[a] * squares[b]))
        return answers


def verify_below(W: np.ndarray | ExactRows, t: Fraction) -> bool | None:
    """Decide exactly whether every two rows have a cosine of at most t; None where undecided.

    Then too many pairs lie within rounding of t to decide each. Floats, rows (K, d) that stand for
    directions, are taken to the last bit.

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
        near = 0 < len(first) and exact_pairs <= _MOST_EXACT
        if near and rows.exceed(first + r, second + c, t).any():
            return False
    return None if exact_pairs > _MOST_EXACT else True


def largest_cosine_above(
    W: np.ndarray | ExactRows, decimals: int = 12, *, deadline: Deadline | None = None
) -> Ceiling:
    """The largest cosine rounded up: the smallest decimal that it provably does not exceed.

    The public tables have 12 decimals.

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
        near = _near(rows, top - 2.0 * rows.error, deadline)
        if near is not None:
            highest, tight = rows.ceilings(*near, decimals), True
    return Ceiling(Fraction(highest, 10**decimals), decimal_text(highest, decimals), tight)


def rounded_coordinates(
    W: np.ndarray | Sequence[Sequence[str]],
    decimals: int,
    *,
    cosine_decimals: int,
    deadline: Deadline | None,
) -> tuple[list[list[str]], Ceiling]:
    """Coordinates of floats or longer texts to some decimals, verified as they are printed.

    One row per point, not exactly of unit length; the largest cosine is that of their directions.

    Raises:
        DataError, TimeoutError: as `largest_cosine_above`.
    """
    scale = 10**decimals
    if isinstance(W, np.ndarray):
        rows = [[f"{x:.{decimals}f}" for x in row] for row in W.astype(np.float64).tolist()]
    else:
        rows = [[decimal_text(round(Fraction(x) * scale), decimals) for x in row] for row in W]
    return rows, largest_cosine_above(ExactRows.of_texts(rows), cosine_decimals, deadline=deadline)


def decimal_text(n: int, decimals: int) -> str:
    """`n / 10^decimals` written out.

    >>> decimal_text(-1500, 3), decimal_text(7, 0)
    ('-1.500', '7')
    """
    digits = str(abs(n)).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{text}" if n < 0 else text


def _exact(W: np.ndarray | ExactRows) -> ExactRows:
    return W if isinstance(W, ExactRows) else ExactRows.of_floats(W)


def _near(
    rows: ExactRows, low: float, deadline: Deadline | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """All pairs whose computed cosine is at least `low`; None where they are too many."""
    first, second, count = [], [], 0
    for tile, r, c in _tiles(rows.units, deadline):
        i, j = np.nonzero(tile >= low)
        first.append(i + r)
        second.append(j + c)
        count += len(i)
        if count > _MOST_EXACT:
            return None
    return np.concatenate(first), np.concatenate(second)


def _tiles(units: np.ndarray, deadline: Deadline | None) -> Iterator[tuple[np.ndarray, int, int]]:
    """Tiles of float64 products of different rows, i < j, with their corner; -2 elsewhere."""
    for rows, columns in gram_tiles(len(units), _SIDE, deadline=deadline):
        tile = units[rows] @ units[columns].T
        if rows == columns:
            tile[np.tril_indices(len(tile))] = -2.0
        yield tile, rows.start, columns.start


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
