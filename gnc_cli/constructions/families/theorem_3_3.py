"""Theorem 3.3 (arXiv 2310.05351): Softmax Codes in closed form, optimal for Tammes as well.

| range | code | rho | max_cosine |
|---|---|---|---|
| K <= d + 1 | simplex ETF | K / (K - 1) | -1 / (K - 1) |
| d + 1 < K <= 2 d | K points of the orthoplex | 1 | 0 |
| d = 2 | regular K-gon | 1 - cos(2 pi / K) | cos(2 pi / K) |

As constructions they have names, and a check in exact integers or angles.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import cos, gcd, pi, sin

import numpy as np

from gnc_cli.constructions.construction import (
    SCHLAEFLI,
    CodeRows,
    Construction,
    Cosine,
    Family,
    Verification,
    transitive_code,
)
from gnc_cli.constructions.integer_rows import IntegerRows

_RANKIN = "Rankin 1955, The closest packing of spherical caps in n dimensions"
_ELEMENTARY = "elementary"
_MAX_COUNTED_CORNERS = 4096
"""Number of corners up to which the pairs of a polygon are counted, so that lists stay short."""
_RATIONAL_TURNS = {
    1: Fraction(1),
    2: Fraction(-1),
    3: Fraction(-1, 2),
    4: Fraction(0),
    6: Fraction(1, 2),
}
"""Cosine of a turn divided by n, for each n with a rational one (Niven 1956)."""


@dataclass(frozen=True)
class ClosedForm:
    """Optimal code with its exact values; its points are made when they are first read."""

    name: str
    """Name of the code: `simplex ETF`, `orthoplex` or `regular polygon`."""
    d: int
    K: int

    @property
    def optimality(self) -> str:
        """Source of the proof that no cosine is smaller."""
        return _ELEMENTARY if self.name == "regular polygon" else _RANKIN

    @property
    def rho(self) -> float:
        """Largest possible one-vs-rest distance."""
        if self.name == "simplex ETF":
            return self.K / (self.K - 1)
        if self.name == "orthoplex" or self.K == 4:
            return 1.0
        return 2.0 * sin(pi / self.K) ** 2

    @property
    def cosine(self) -> Cosine:
        """Smallest possible largest cosine."""
        if self.name == "simplex ETF":
            return Cosine.rational(Fraction(-1, self.K - 1))
        return Cosine.rational(0) if self.name == "orthoplex" else turn_cosine(1, self.K)

    @cached_property
    def weights(self) -> np.ndarray:
        """Unit rows, shape (K, d)."""
        if self.name == "simplex ETF":
            return _simplex_points(self.d, self.K)
        if self.name == "orthoplex":
            return np.concatenate([np.eye(self.d), -np.eye(self.d)])[: self.K]
        return np.asarray(PolygonRows(self.K))


def closed_form(d: int, K: int) -> ClosedForm | None:
    """Return the code of theorem 3.3 for (d, K), or None if the theorem does not apply.

    Example:
        >>> closed_form(3, 4).name, closed_form(3, 7)
        ('simplex ETF', None)
    """
    if K <= d + 1:
        return ClosedForm("simplex ETF", d, K)
    if d == 2:
        return ClosedForm("regular polygon", d, K)
    return ClosedForm("orthoplex", d, K) if K <= 2 * d else None


def simplex_vertices(K: int) -> np.ndarray:
    """Return unit vectors with all inner products -1/(K-1), shape (K, K - 1)."""
    return _simplex_points(K - 1, K)


def _simplex_points(d: int, K: int) -> np.ndarray:
    """Return the simplex of K points in d dimensions, shape (K, d), by recursion on coordinates."""
    rows = np.zeros((K, d))
    for k in range(K - 1):
        rows[k, k] = np.sqrt(1.0 - rows[k, :k] @ rows[k, :k])
        rows[k + 1 :, k] = (-1.0 / (K - 1) - rows[k + 1 :, :k] @ rows[k, :k]) / rows[k, k]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def turn_cosine(m: int, K: int) -> Cosine:
    """Return the exact cosine of the angle 2 pi m / K; its double is right to two ulp."""
    m = min(m % K, -m % K)
    m, K = m // gcd(m, K), K // gcd(m, K)
    if K in _RATIONAL_TURNS:
        return Cosine.rational(_RATIONAL_TURNS[K])
    # Close to a quarter turn the sine of the small complement keeps all digits.
    middle = abs(4 * m - K) < K / 2
    value = sin(pi * (K - 4 * m) / (2 * K)) if middle else cos(2 * pi * m / K)
    return Cosine(f"cos({2 * m}*pi/{K})", value)


class PolygonRows(CodeRows):
    """Corners of the regular K-gon in their order."""

    def __init__(self, K: int) -> None:
        self.shape = (K, 2)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        angles = 2 * np.pi * np.arange(start, stop) / len(self)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def verify(self) -> Verification:
        """Count exact angles: each corner has one at m turns of K to either side."""
        K = len(self)
        turns = range(1, K // 2 + 1) if K <= _MAX_COUNTED_CORNERS else ()
        distribution = [(turn_cosine(m, K), K // 2 if 2 * m == K else K) for m in turns]
        return Verification(K, True, turn_cosine(1, K), tuple(distribution) or None)


def _member(kind: str, n: int) -> Construction | None:
    """Return the simplex or orthoplex in n dimensions, or the regular n-gon."""
    if n < (3 if kind == "polygon" else 2):
        return None
    if kind == "simplex":
        return transitive_code(
            f"simplex-{n}",
            f"regular simplex in {n} dimensions",
            n,
            SCHLAEFLI,
            partial(_simplex_rows, n),
            (Fraction(-1, n), n),
            optimality=_RANKIN,
        )
    if kind == "orthoplex":
        return orthoplex(n)
    return Construction(
        f"polygon-{n}",
        f"regular {n}-gon",
        2,
        n,
        turn_cosine(1, n),
        _ELEMENTARY,
        _ELEMENTARY,
        partial(PolygonRows, n),
        transitive=True,
    )


def orthoplex(d: int) -> Construction:
    """Return the orthoplex in d >= 2 dimensions."""
    return transitive_code(
        f"orthoplex-{d}",
        f"orthoplex in {d} dimensions: +- a basis",
        d,
        SCHLAEFLI,
        partial(_orthoplex_rows, d),
        (0, 2 * d - 2),
        (-1, 1),
        optimality=_RANKIN,
    )


def _simplex_rows(d: int) -> IntegerRows:
    """Return K e_k - (1, .., 1) in K = d + 1 coordinates, embedded as rows of the closed form."""
    K = d + 1
    vectors = K * np.eye(K, dtype=np.int32) - 1
    # The rows W sum to zero and W W^T = (K/d) (I - J/K): W scaled so is a frame of that space,
    # and the vectors times it are again W, K sqrt(d/K) times.
    return IntegerRows(vectors, frame=simplex_vertices(K) * np.sqrt(d / K))


def _orthoplex_rows(d: int) -> IntegerRows:
    if d == 2:  # the order of the polygon, as in theorem 3.3
        return IntegerRows(np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.int8))
    return IntegerRows(ClosedForm("orthoplex", d, 2 * d).weights.astype(np.int8))


FAMILIES: tuple[Family, ...] = (
    Family(
        "simplex-d",
        "regular simplex",
        "d = 2, 3, ..",
        "d",
        "d+1",
        "-1/d",
        SCHLAEFLI,
        partial(_member, "simplex"),
        lambda d: [(d,)],
    ),
    Family(
        "orthoplex-d",
        "+- a basis",
        "d = 2, 3, ..",
        "d",
        "2*d",
        "0",
        SCHLAEFLI,
        partial(_member, "orthoplex"),
        lambda d: [(d,)],
    ),
    # There are infinitely many polygons in the plane: they are available by name only.
    Family(
        "polygon-K",
        "regular polygon",
        "K = 3, 4, ..",
        "2",
        "K",
        "cos(2*pi/K)",
        _ELEMENTARY,
        partial(_member, "polygon"),
        lambda d: [],
    ),
)
