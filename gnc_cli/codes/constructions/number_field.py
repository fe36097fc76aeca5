"""Real number fields of degree 2 and 3: numbers a + b t + c t^2 with integers, and their order.

Codes with fivefold, eightfold or snub symmetry have no rational coordinates. Here equality is
equality of integers (the defining polynomial is irreducible, so the powers of t are independent),
and `<` is decided by enclosing t between ever closer fractions: that ends, because two different
numbers of the field are a positive distance apart.
"""

from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine
from gnc_cli.codes.constructions.formulas import polynomial_text, surd_text

__all__ = ["Element", "RealField"]

Element = tuple[Fraction, ...]
"""Coefficients of 1, t, t^2."""

_FIRST_BITS = 64
"""Enclosures of t start this narrow; each retry doubles the number of bits."""


class RealField:
    """The field of a real number t with `t^D = r_0 + r_1 t + .. + r_(D-1) t^(D-1)`, D = 2 or 3.

    Args:
        relation: the integers r_0 .. r_(D-1).
        between: fractions that enclose t and no other root.

    Raises:
        ValueError: the polynomial has a rational root (so it is reducible, as its degree is at most
            three), or `between` does not show that it encloses exactly one root.

    Example:
        >>> golden = RealField((1, 1), (1, 2))  # t^2 = 1 + t
        >>> golden.cosine((0, 1), (2, 0)).text
        '(1+sqrt(5))/4'
    """

    def __init__(
        self, relation: tuple[int, ...], between: tuple[Fraction | int, Fraction | int]
    ) -> None:
        self.relation = relation
        self.degree = len(relation)
        self._monic = (*(-r for r in relation), 1)
        self._ends = (Fraction(between[0]), Fraction(between[1]))
        self._roots: dict[int, tuple[Fraction, Fraction]] = {}
        if self.degree not in (2, 3):
            raise ValueError(f"degree {self.degree}: the fields here have degree 2 or 3")
        if any(self._at(Fraction(r)) == 0 for r in self._divisors()):
            raise ValueError(f"the polynomial {self._monic} has an integer root")
        slope = _times_interval(
            [Fraction(k * c) for k, c in enumerate(self._monic)][1:], *self._ends
        )
        if self._at(self._ends[0]) * self._at(self._ends[1]) > 0 or slope[0] * slope[1] <= 0:
            raise ValueError(f"{self._ends} does not isolate one root of {self._monic}")

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Products of elements with integer coefficients on the last axis, (.., D)."""
        D = self.degree
        powers = np.zeros((*np.broadcast_shapes(x.shape, y.shape)[:-1], 2 * D - 1), np.int64)
        for a in range(D):
            powers[..., a : a + D] += x[..., a, None] * y
        return self.reduce(powers)

    def reduce(self, powers: np.ndarray) -> np.ndarray:
        """Coefficients of 1 .. t^(2D-2) brought to 1 .. t^(D-1); last axis."""
        D = self.degree
        powers = powers.copy()
        for top in range(powers.shape[-1] - 1, D - 1, -1):
            powers[..., top - D : top] += powers[..., top, None] * np.array(self.relation)
        return powers[..., :D]

    def divide(self, x: tuple[Fraction | int, ...], y: tuple[Fraction | int, ...]) -> Element:
        """x / y, exactly.

        Raises:
            ZeroDivisionError: y is zero.
        """
        D = self.degree
        # Column b of the system holds the coefficients of y t^b.
        columns = [[Fraction(c) for c in y]]
        for _ in range(1, D):
            last = columns[-1]
            columns.append([r * last[-1] + low for r, low in zip(
                self.relation, [Fraction(0), *last[:-1]], strict=True)])
        rows = [[column[a] for column in columns] + [Fraction(x[a])] for a in range(D)]
        return _solve(rows)

    def sign(self, x: tuple[Fraction | int, ...]) -> int:
        """-1, 0 or 1."""
        if not any(x):
            return 0
        bits = _FIRST_BITS
        while True:
            low, high = _times_interval([Fraction(c) for c in x], *self._root(bits))
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2

    def value(self, x: tuple[Fraction | int, ...]) -> float:
        """The nearest double."""
        if not any(x[1:]):
            return float(x[0])
        bits = _FIRST_BITS
        while True:
            low, high = _times_interval([Fraction(c) for c in x], *self._root(bits))
            # An irrational number lies in the middle of no two doubles, so the ends must agree.
            if float(low) == float(high):
                return float(low)
            bits *= 2

    def values(self, x: np.ndarray) -> np.ndarray:
        """The nearest doubles of integer elements, (.., D) -> (..)."""
        flat, back = np.unique(x.reshape(-1, self.degree), axis=0, return_inverse=True)
        found = np.array([self.value(tuple(int(c) for c in row)) for row in flat])
        return np.asarray(found[back.ravel()].reshape(x.shape[:-1]))

    def cosine(self, x: tuple[Fraction | int, ...], y: tuple[Fraction | int, ...]) -> Cosine:
        """The quotient x / y as a cosine, in its canonical text."""
        quotient = self.divide(x, y)
        return Cosine(self.text(quotient), self.value(quotient))

    def text(self, x: Element) -> str:
        """The one formula of a number: in a square root for degree 2, else in t."""
        if not any(x[1:]):
            return str(x[0])
        if self.degree == 2:
            constant, linear = self.relation
            # t = (linear +- sqrt(discriminant)) / 2, the sign that of the derivative at t.
            discriminant = Fraction(linear**2 + 4 * constant, 4)
            side = self.sign((-linear, 2))
            return surd_text(x[0] + x[1] * Fraction(linear, 2), side * x[1], discriminant)
        return f"{polynomial_text(x)}, {self.definition}"

    @cached_property
    def definition(self) -> str:
        """What t is, in words that leave one number: `t^3=t^2+t+1, 3/2<t<2`."""
        relation = polynomial_text(tuple(Fraction(r) for r in self.relation))
        return f"t^{self.degree}={relation}, {self._ends[0]}<t<{self._ends[1]}"

    def _at(self, x: Fraction) -> Fraction:
        return sum((c * x**k for k, c in enumerate(self._monic)), Fraction(0))

    def _divisors(self) -> list[int]:
        constant = abs(self._monic[0])
        return [0] if constant == 0 else [
            sign * r for r in range(1, constant + 1) if constant % r == 0 for sign in (1, -1)
        ]

    def _root(self, bits: int) -> tuple[Fraction, Fraction]:
        """t between fractions 2^-bits apart or less, found once."""
        if bits not in self._roots:
            low, high = self._ends
            # Integers only: t lies between a and b in units of 2^-bits over the ends' denominators.
            units = lcm(low.denominator, high.denominator) << bits
            a, b = int(low * units), int(high * units)
            rising = self._at(high) > 0
            while b - a > 1:
                middle = (a + b) // 2
                value = sum(
                    c * middle**k * units ** (self.degree - k) for k, c in enumerate(self._monic)
                )
                a, b = (a, middle) if (value > 0) == rising else (middle, b)
            self._roots[bits] = Fraction(a, units), Fraction(b, units)
        return self._roots[bits]


def _times_interval(
    coefficients: list[Fraction], low: Fraction, high: Fraction
) -> tuple[Fraction, Fraction]:
    """Ends of a polynomial over [low, high], by Horner's rule in interval arithmetic."""
    bottom = top = Fraction(0)
    for c in reversed(coefficients):
        corners = (bottom * low, bottom * high, top * low, top * high)
        bottom, top = min(corners) + c, max(corners) + c
    return bottom, top


def _solve(rows: list[list[Fraction]]) -> Element:
    """The solution of a small square system in fractions, augmented rows."""
    size = len(rows)
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k] != 0), None)
        if pivot is None:
            raise ZeroDivisionError("division by zero in a number field")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return tuple(row[-1] for row in rows)
