"""Rows with exact coordinates in a real number field, for codes that have no rational ones.

Numbers are a + b t + c t^2 with integers: equality is equality of integers (the polynomial of t is
irreducible, so the powers of t are independent), and `<` is decided by enclosing t ever closer.
That ends, because two different numbers of the field are a positive distance apart.

Each number is written in one way, so that stated values and values computed from rows can be
compared as text.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, cmp_to_key
from math import isqrt, lcm
from typing import Any

import numpy as np

from gnc_cli.constructions.construction import CodeRows, Cosine, Verification

Element = tuple[Fraction | int, ...]
"""Coefficients of 1, t, t^2."""

_FIRST_BITS = 64
"""Bits of precision of the first enclosure of t; each retry doubles them."""


class RealField:
    """Field of a real number t with `t^D = r_0 + r_1 t + .. + r_(D-1) t^(D-1)`.

    The relation is r_0 .. r_(D-1), integers; the fractions `enclosure` enclose t and no other root.

    Raises:
        ValueError: the polynomial is reducible, or `enclosure` does not hold exactly one root;
            raised by the first method that needs exact values.
    """

    def __init__(
        self, relation: tuple[int, ...], enclosure: tuple[Fraction | int, Fraction | int]
    ) -> None:
        self.relation = relation
        self.degree = len(relation)
        self.enclosure = (Fraction(enclosure[0]), Fraction(enclosure[1]))

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return products of elements with integer coefficients, shape (.., D)."""
        D = self.degree
        powers = np.zeros((*np.broadcast_shapes(x.shape, y.shape)[:-1], 2 * D - 1), np.int64)
        for a in range(D):
            powers[..., a : a + D] += x[..., a, None] * y
        return self.reduce(powers)

    def reduce(self, powers: np.ndarray) -> np.ndarray:
        """Reduce coefficients of 1 .. t^(2D-2), shape (.., 2D-1), to 1 .. t^(D-1), (.., D)."""
        D = self.degree
        powers = powers.copy()
        for top in range(powers.shape[-1] - 1, D - 1, -1):
            powers[..., top - D : top] += powers[..., top, None] * np.array(self.relation)
        return powers[..., :D]

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return integer elements, shape (.., D), as doubles, shape (..).

        They are right to a few ulp unless terms cancel.
        """
        return np.asarray(x @ self._powers, dtype=np.float64)

    @cached_property
    def _powers(self) -> np.ndarray:
        """Powers 1, t, .. in extended precision where the machine has it, shape (D,)."""
        t = np.longdouble(self._root().str(30, radius=False))
        return np.asarray(t ** np.arange(self.degree))

    def sign(self, x: Element) -> int:
        """Return the exact sign of an element: -1, 0 or 1."""
        if not any(x):
            return 0
        return next(1 if low > 0 else -1 for low, high in self._enclosures(x) if low * high > 0)

    def cosine(self, x: Element, y: Element) -> Cosine:
        """Return x / y as a cosine, with its unique text and the nearest double; y is not zero."""
        _, inverse, _ = _polynomial(y).xgcd(self._modulus)
        coefficients = (_polynomial(x) * inverse % self._modulus).coeffs()
        zeros = [Fraction(0)] * (self.degree - len(coefficients))
        quotient = (*(Fraction(int(c.p), int(c.q)) for c in coefficients), *zeros)
        return Cosine(self._text(quotient), self._value(quotient))

    def _value(self, x: tuple[Fraction, ...]) -> float:
        """Return the nearest double."""
        if not any(x[1:]):
            return float(x[0])
        # An irrational number is never halfway between two doubles, so the ends agree in the end.
        return next(float(low) for low, high in self._enclosures(x) if float(low) == float(high))

    def _enclosures(self, x: Element) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the ends of ever narrower intervals around a number."""
        from flint import arb_poly, ctx

        bits = _FIRST_BITS
        while True:
            with ctx.workprec(bits):
                number = arb_poly(_polynomial(x))(self._root())
                low, high = (end.fmpq() for end in (number.lower(), number.upper()))
            yield Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))
            bits *= 2

    def _root(self) -> Any:
        """Return t to the working precision of flint, as `flint.arb`."""
        low, high = (_rational(end) for end in self.enclosure)
        roots = [root.real for root, _ in self._modulus.numer().complex_roots() if root.imag == 0]
        enclosed = [root for root in roots if low < root < high]
        if len(enclosed) != 1:
            raise ValueError(f"{self.enclosure} does not isolate one root of {self._modulus}")
        return enclosed[0]

    @cached_property
    def _modulus(self) -> Any:
        """Monic polynomial of t, as `flint.fmpq_poly`."""
        modulus = _polynomial((*(-r for r in self.relation), 1))
        _, factors = modulus.numer().factor()
        if len(factors) != 1 or factors[0][1] != 1:
            raise ValueError(f"the polynomial {modulus} is reducible")
        return modulus

    def _text(self, x: tuple[Fraction, ...]) -> str:
        """Return the unique formula of a number: with a square root for degree 2, else in t."""
        if not any(x[1:]):
            return str(x[0])
        if self.degree == 2:
            constant, linear = self.relation
            # t = (linear +- sqrt(discriminant)) / 2, the sign that of the derivative at t.
            discriminant = Fraction(linear**2 + 4 * constant, 4)
            side = self.sign((-linear, 2))
            return _surd_text(x[0] + x[1] * Fraction(linear, 2), side * x[1], discriminant)
        low, high = self.enclosure
        relation = f"t^{self.degree}={_polynomial_text(self.relation)}"
        return f"{_polynomial_text(x)}, {relation}, {low}<t<{high}"


def _rational(x: Fraction | int) -> Any:
    from flint import fmpq

    return fmpq(x.numerator, x.denominator)


def _polynomial(coefficients: Element) -> Any:
    from flint import fmpq_poly

    return fmpq_poly([_rational(c) for c in coefficients])


def _surd_text(rational: Fraction, factor: Fraction, square: Fraction) -> str:
    """Return `rational + factor * sqrt(square)` in lowest terms; `square` > 0 is not a square."""
    if rational == 0:
        size = Cosine.root(factor**2 * square)
        return (size if factor > 0 else -size).text
    # sqrt(n/m) = sqrt(n m)/m = f sqrt(r)/m with r free of squares.
    radicand = square.numerator * square.denominator
    root_factor = max(f for f in range(1, isqrt(radicand) + 1) if radicand % (f * f) == 0)
    factor, radicand = (
        factor * Fraction(root_factor, square.denominator),
        radicand // root_factor**2,
    )
    denominator = lcm(rational.denominator, factor.denominator)
    u, v = int(rational * denominator), int(factor * denominator)
    root = f"{'+' if v > 0 else '-'}{'' if abs(v) == 1 else f'{abs(v)}*'}sqrt({radicand})"
    return f"{u}{root}" if denominator == 1 else f"({u}{root})/{denominator}"


def _polynomial_text(coefficients: tuple[Fraction | int, ...]) -> str:
    """Return a polynomial in t with one denominator, highest power first: `(t^2+2*t-2)/7`."""
    denominator = lcm(*(c.denominator for c in coefficients))
    terms = [
        f"{int(c * denominator):+}" + ("", "*t", f"*t^{power}")[min(power, 2)]
        for power, c in reversed([*enumerate(coefficients)])
        if c
    ]
    text = re.sub(r"\b1\*t", "t", "".join(terms)).removeprefix("+") or "0"
    if denominator == 1:
        return text
    return f"({text})/{denominator}" if len(terms) > 1 else f"{text}/{denominator}"


class AlgebraicRows(CodeRows):
    """Rows of one length over a real number field.

    Coordinates may carry a positive weight from the field, `<x, y> = sum_j weight_j x_j y_j`: a
    code whose Gram matrix lies in the field need not have all its coordinates there. Vectors are
    integer coefficients of 1, t, .., of each coordinate, shape (K, n, D), weights (n, D).

    Raises:
        ValueError: the lengths differ, a row is zero, a weight is not positive, or the
            coefficients are too large for exact 64-bit products.
    """

    def __init__(
        self, field: RealField, vectors: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        self.field = field
        self.vectors = vectors.astype(np.int64)
        n, D = self.vectors.shape[1:]
        unit = np.eye(1, D, dtype=np.int64).repeat(n, axis=0)
        self.weights = unit if weights is None else weights.astype(np.int64)
        if (field.values(self.weights) <= 0).any():
            raise ValueError("a weight is not positive")
        self._check_size()
        self._weighted = field.multiply(self.vectors, self.weights)
        squares = field.multiply(self.vectors, self._weighted).sum(axis=1)
        if (squares != squares[0]).any() or not squares[0].any():
            raise ValueError("the vectors have different lengths, or are zero")
        self.square = tuple(squares[0].tolist())
        """Common squared length, an element of the field."""
        self.shape = (len(vectors), n)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        rows = self.field.values(self.vectors[start:stop])
        rows *= np.sqrt(self.field.values(self.weights))
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def verify(self) -> Verification:
        """Count every pair by its product in integers, and order the products."""
        field, K, D = self.field, len(self), self.field.degree
        powers = np.zeros((K, K, 2 * D - 1), dtype=np.int64)
        for a in range(D):
            for b in range(D):
                powers[..., a + b] += self.vectors[..., a] @ self._weighted[..., b].T
        products = field.reduce(powers)[np.triu_indices(K, 1)]
        values, pairs = np.unique(products, axis=0, return_counts=True)
        counts = dict(zip(map(tuple, values.tolist()), pairs.tolist(), strict=True))

        def compare(x: tuple[int, ...], y: tuple[int, ...]) -> int:
            return field.sign(tuple(a - b for a, b in zip(x, y, strict=True)))

        order = sorted(counts, key=cmp_to_key(compare), reverse=True)
        distribution = tuple((field.cosine(x, self.square), counts[x]) for x in order)
        return Verification(K, self.square not in counts, distribution[0][0], distribution)

    def _check_size(self) -> None:
        """Check that the Gram matrix is computed without overflow in 64 bits."""
        n, D = self.vectors.shape[1:]
        # A product of elements has D terms per power, and D - 1 reductions multiply by `step` each.
        step = 1 + sum(abs(r) for r in self.field.relation)
        growth = D * step ** (D - 1)
        largest, weight = int(np.abs(self.vectors).max()), int(np.abs(self.weights).max())
        if largest**2 * weight * n * growth**2 >= 2**62:
            raise ValueError("coefficients too large for exact products")
