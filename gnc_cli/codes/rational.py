"""The largest cosine of a code against a rational number, exactly: what a claim of a record needs.

Coordinates that are written down, as floats or decimals, are exact numbers whose rows are merely
not quite of unit length; the code of their directions has a largest cosine that can be compared
with any rational number without rounding (`exact_rows`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gnc_cli.codes.exact_rows import ExactRows
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline

__all__ = [
    "Below",
    "Ceiling",
    "RoundedCode",
    "largest_cosine_above",
    "rounded_coordinates",
    "verify_below",
]

_SIDE = 1024
_MOST_EXACT = 2_000_000
"""Pairs that are worth deciding in integers, some ten seconds."""


@dataclass(frozen=True)
class Below:
    """Whether no two rows have a cosine above `t`."""

    t: Fraction
    holds: bool | None
    """Proved, disproved, or (None) too many pairs lie within rounding of t to decide each."""
    pair: tuple[int, int] | None
    """Two rows whose cosine is above t, where it does not hold."""
    exact_pairs: int
    """Pairs that floating point could not decide, and integers did."""


@dataclass(frozen=True)
class Ceiling:
    """A decimal number that the largest cosine provably does not exceed."""

    value: Fraction
    text: str
    """With all its decimals."""
    tight: bool
    """It is the smallest of so many decimals; False where that was too much to decide."""


@dataclass(frozen=True)
class RoundedCode:
    """A code in decimals, with the proof of those very decimals."""

    rows: list[list[str]]
    """One row a point, shape (K, d); not exactly of unit length."""
    cosine: Ceiling
    """Of the directions of these rows."""


def verify_below(
    W: np.ndarray | ExactRows, t: Fraction, *, deadline: Deadline | None = None
) -> Below:
    """Decide exactly whether every two rows have a cosine of at most t.

    Args:
        W: rows that stand for directions, shape (K, d), float64 taken to the last bit; or any
            `ExactRows`.
        t: the rational number.
        deadline: polled at each tile.

    Raises:
        DataError: not a matrix of at least two finite nonzero rows.
        TimeoutError: the deadline expired first.

    Example:
        >>> square = np.array([[2.0, 0.0], [0.0, 3.0], [-0.5, 0.0], [0.0, -1.0]])
        >>> verify_below(square, Fraction(0)).holds
        True
        >>> verify_below(square, Fraction(-1, 10**30)).holds
        False
    """
    rows = _exact(W)
    exact_pairs, open_question = 0, False
    low, high = float(t) - rows.error, float(t) + rows.error
    for tile, r, c in _tiles(rows.units, deadline):
        top = int(tile.argmax())
        if tile.flat[top] < low:
            continue
        i, j = divmod(top, tile.shape[1])
        if tile[i, j] > high:
            return Below(t, False, (r + i, c + j), exact_pairs)
        near = np.nonzero(tile >= low)
        exact_pairs += len(near[0])
        open_question |= exact_pairs > _MOST_EXACT
        if not open_question:
            first, second = near[0] + r, near[1] + c
            above = np.flatnonzero(rows.exceed(first, second, t))
            if len(above):
                return Below(t, False, (int(first[above[0]]), int(second[above[0]])), exact_pairs)
    return Below(t, None if open_question else True, None, exact_pairs)


def largest_cosine_above(
    W: np.ndarray | ExactRows, decimals: int = 12, *, deadline: Deadline | None = None
) -> Ceiling:
    """The largest cosine rounded up: the smallest decimal that it provably does not exceed.

    Args:
        W, deadline: as `verify_below`.
        decimals: digits after the point; 12 in the public tables.

    Raises:
        UsageError: fewer than one decimal.
        DataError, TimeoutError: as `verify_below`.

    Example:
        >>> largest_cosine_above(np.array([[3.0, 4.0], [5.0, 12.0]]), 6).text  # 63/65
        '0.969231'
    """
    if decimals < 1:
        raise UsageError(f"{decimals} decimals: at least one is needed")
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
    return Ceiling(Fraction(highest, 10**decimals), _decimal(highest, decimals), tight)


def rounded_coordinates(
    W: np.ndarray | Sequence[Sequence[str]],
    decimals: int,
    *,
    cosine_decimals: int = 12,
    deadline: Deadline | None = None,
) -> RoundedCode:
    """Coordinates with so many decimals, verified as they are printed.

    Args:
        W: unit rows, float64, or rows of decimal texts of more digits.
        decimals: digits after the point.
        cosine_decimals: of the figure that is proved for them.

    Raises:
        UsageError, DataError, TimeoutError: as `largest_cosine_above`.
    """
    scale = 10**decimals
    if isinstance(W, np.ndarray):
        rows = [[f"{x:.{decimals}f}" for x in row] for row in W.astype(np.float64).tolist()]
    else:
        rows = [[_decimal(round(Fraction(x) * scale), decimals) for x in row] for row in W]
    cosine = largest_cosine_above(ExactRows.of_texts(rows), cosine_decimals, deadline=deadline)
    return RoundedCode(rows, cosine)


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
    for r in range(0, len(units), _SIDE):
        for c in range(r, len(units), _SIDE):
            if deadline is not None and deadline.expired:
                raise TimeoutError("the deadline expired before every pair of rows was seen")
            tile = units[r : r + _SIDE] @ units[c : c + _SIDE].T
            if r == c:
                tile[np.tril_indices(len(tile))] = -2.0
            yield tile, r, c


def _decimal(n: int, decimals: int) -> str:
    """`n / 10^decimals` written out."""
    digits = str(abs(n)).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{text}" if n < 0 else text
