"""Certificates by Bachoc and Vallentin's three-point bound: sums of squares, checked in integers.

Let a code of N points in R^d have no cosine above s. Summed over pairs, P_k(<x, y>) is not
negative; summed over triples, nor is the matrix Y_k(<x, y>, <x, z>, <y, z>) positive semidefinite
of degree k (Bachoc and Vallentin 2008, theorem 4.2). With a_k >= 0 and positive semidefinite b
(2 x 2) and F_0, ..., F_D this gives N <= 1 + sum a_k + b_11 + <F_0, Y_0(1, 1, 1)>, if

    r(u) = -1 - sum a_k P_k(u) - 2 b_12 - b_22 - 3 sum <F_k, S_k(u, u, 1)>   and
    R(u, v, t) = -b_22 - sum <F_k, S_k(u, v, t)>

are not negative for cosines u, v, t in [-1, s] of three points (1 + 2uvt - u^2 - v^2 - t^2 >= 0).
S_k is the mean of Y_k over the orders of its arguments. A bound below K excludes K points.

**Every matrix is given by a factor.** G = L L^T is positive semidefinite for any numbers in L, so
this needs no proof. Sums of squares show that r and R are not negative. Their multipliers are
1 - x^2, the determinant, and (1 - x)(1 - y)(1 - z), where x in [-1, 1] stands for the cosine
u = ((1 + s) x - (1 - s)) / 2. The remainders of r and R are small. In Chebyshev polynomials
T_i T_j T_k they are quadratic forms whose matrices are diagonally dominant.

In one variable R has degree D, and it is symmetric. So its values at whole numbers
0 <= i <= j <= k <= D determine it.

References:
    C. Bachoc and F. Vallentin, New upper bounds for kissing numbers from semidefinite programming,
    J. Amer. Math. Soc. 21 (2008).
    K. Gatermann and P. Parrilo, Symmetry groups, semidefinite programs, and sums of squares,
    J. Pure Appl. Algebra 192 (2004).
    J. Löfberg and P. Parrilo, From coefficients to samples: a new approach to SOS optimization,
    Proc. 43rd IEEE CDC (2004).
"""

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
from flint import fmpz_mat
from pydantic import FailFast, Field

from gnc_cli.known_codes.table import data_folder
from gnc_cli.limits.claim import BoundCertificate, RefutedError, UnresolvedError, poll
from gnc_cli.limits.orthogonal import chebyshev, gegenbauer
from gnc_cli.plain import read_plain
from gnc_cli.runtime.deadline import Deadline

MOST_DEGREE = 16
"""Largest degree that is checked: the time of a check grows with a high power of the degree."""
_MOST_LETTERS = 40
"""Characters of the cosine, and decimals of a number, at most."""
_WORD = 2**63
"""Bound of the absolute values of whole numbers: one machine word holds each."""
_POINTS = 64
"""Points that are evaluated between two polls of the deadline, a fraction of a second."""

Integers = Annotated[tuple[Annotated[int, Field(gt=-_WORD, lt=_WORD)], ...], FailFast()]
Exponents = tuple[int, int, int]
Values = dict[tuple[int, ...], Fraction]
Coefficients = dict[tuple[int, ...], int]
Degrees = tuple[int, int]
"""Largest degree in one variable, and largest total degree."""


@dataclass(frozen=True)
class Factor:
    """A matrix of numbers with finitely many decimals."""

    digits: Annotated[int, Field(ge=0, le=_MOST_LETTERS)]
    """Decimals: the numbers are the integers divided by 10^digits."""
    rows: tuple[Integers, ...]
    """Lower triangular matrix L, which stands for G = L L^T: row i has i + 1 integers."""

    @property
    def scale(self) -> Fraction:
        """Unit of a product of two of the integers."""
        return Fraction(1, 100**self.digits)

    def products(self, *vectors: np.ndarray) -> np.ndarray:
        """Multiply the integers of the transposed L with vectors, shape (n, points) each."""
        L = np.zeros((len(self.rows), len(self.rows)), dtype=object)
        for i, row in enumerate(self.rows):
            L[i, : i + 1] = row
        return np.array([L.T @ vector for vector in vectors])

    def form(self, *vectors: np.ndarray) -> np.ndarray:
        """Return the mean of v^T G v over vectors v, shape (n, points) each; shape (points,)."""
        squares = (self.products(*vectors) ** 2).sum(axis=(0, 1))
        return np.asarray(squares * (self.scale / len(vectors)))


@dataclass(frozen=True, kw_only=True)
class ThreePointCertificate(BoundCertificate):
    """A feasible point of the dual of the semidefinite program, with sums of squares."""

    kind: Literal["three-point"]
    """Method of the proof."""
    strict: Literal[True]
    """True: a three-point bound is strict."""
    degree: Annotated[int, Field(ge=5)]
    """D: the polynomials have degree 2 D."""
    a: Factor
    """One row of 2 D numbers, a_1 to a_2D."""
    b: Factor
    """Factor of b, order 2."""
    F: tuple[Factor, ...]
    """Factors of F_0 to F_D, orders D + 1 to 1, in the basis T_0(x), ..., T_(D-k)(x)."""
    p: tuple[Factor, Factor]
    """Factors of the squares of r in the basis T_0(x), ...: multiplier 1, order D + 1, and
    multiplier 1 - x^2, order D."""
    q: tuple[
        tuple[Factor, Factor, Factor],
        tuple[Factor, Factor, Factor],
        tuple[Factor, Factor, Factor],
    ]
    """Factors of the squares of R: multipliers 1, the determinant, and (1-x)(1-y)(1-z), each in
    the bases `trivial`, `sign` and `standard`."""

    @classmethod
    def from_bound(cls, bound: Any, d: int, K: int, deadline: Deadline) -> Self | None:
        """Return the computed certificate of a `ThreePointLimit`, or else the stored one."""
        if bound.certificate is not None:
            return cast("Self", bound.certificate)
        best = bound.best(d, K)
        path = data_folder() / "certificates" / f"d{best.d}-K{best.K}.json.gz"
        return cast("Self", read_plain(cls, json.loads(gzip.decompress(path.read_bytes()))))

    def check(self, deadline: Deadline) -> None:
        """Prove the claim as the module describes; see `Claim.check`."""
        if self.degree > MOST_DEGREE:
            raise UnresolvedError(f"its degree is above {MOST_DEGREE}")
        if len(self.cosine) > _MOST_LETTERS:
            raise UnresolvedError(f"its cosine has more than {_MOST_LETTERS} characters")
        self._check_shapes()
        if self.d < 3:
            raise UnresolvedError("three-point bounds begin in three dimensions")
        if min(self.a.rows[0]) < 0:
            raise RefutedError("a number of a is negative")
        if self.bound >= self.K:
            raise RefutedError(f"its bound is not below {self.K}")
        for coefficients, _ in (self.remainder(variables, deadline) for variables in (1, 3)):
            if not is_dominant(coefficients):
                raise RefutedError("a remainder is not shown to be a sum of squares")

    def remainder(self, variables: int, deadline: Deadline) -> tuple[Coefficients, int]:
        """Return r (one variable) or R (three variables) minus its sums of squares.

        Returns:
            Its coefficients in products of Chebyshev polynomials, as whole numbers, and the
            positive whole number by which they were multiplied.
        """
        degree, remainder = 2 * self.degree, self._pair_remainder
        if variables == 3:
            degree, remainder = self.degree, self._triple_remainder
        lattice = [*combinations_with_replacement(range(degree + 1), variables)]
        values: list[Fraction] = []
        for start in range(0, len(lattice), _POINTS):
            points = np.array(lattice[start : start + _POINTS], dtype=object).T
            values += [*remainder(points, deadline)]
        return _coefficients(dict(zip(lattice, values, strict=True)), degree)

    @property
    def bound(self) -> Fraction:
        """Upper bound of the number of points, if the certificate holds; below K by the claim."""
        at_one = chebyshev(self.degree, np.array([position(Fraction(1), Fraction(self.cosine))]))
        weights = Fraction(sum(self.a.rows[0]), 10**self.a.digits)
        return Fraction(1 + weights + self._b(0, 0) + self.F[0].form(at_one)[0])

    def _pair_remainder(self, points: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Evaluate r minus its sums of squares at points (1, m) of whole numbers; shape (m,)."""
        poll(deadline)
        (x,) = points
        s = Fraction(self.cosine)
        u = cosine_at(x, s)
        T = chebyshev(self.degree, x)
        weights = [Fraction(a, 10**self.a.digits) for a in self.a.rows[0]]
        rest = -1 - weights @ gegenbauer(self.d, 2 * self.degree, u)[1:]
        rest = rest - 2 * self._b(1, 0) - self._b(1, 1)
        for k, factor in enumerate(self.F):
            rest -= (1 - u * u) ** k * factor.form(T[: self.degree - k + 1])
        T_at_one = chebyshev(self.degree, np.array([position(Fraction(1), s)]))
        first, at_one = (self.F[0].products(vectors)[0] for vectors in (T, T_at_one))
        rest -= 2 * self.F[0].scale * (first * at_one).sum(axis=0)
        return np.asarray(rest - self.p[0].form(T) - (1 - x * x) * self.p[1].form(T[:-1]))

    def _triple_remainder(self, points: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Evaluate R minus its sums of squares at points (3, m) of whole numbers; shape (m,)."""
        s = Fraction(self.cosine)
        u = cosine_at(points, s)
        T = chebyshev(self.degree, points)
        rest = np.full(points.shape[1], -self._b(1, 1))
        for i, j, other in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
            kernels = triple_kernels(self.d, self.degree, u[i], u[j], u[other])
            for k, factor in enumerate(self.F):
                first, second = factor.products(*T[: self.degree - k + 1, [i, j]].swapaxes(0, 1))
                rest -= kernels[k] * (first * second).sum(axis=0) * (factor.scale / 3)
        for multiplier, degree, factors in zip(
            multipliers(points, u), half_degrees(self.degree), self.q, strict=True
        ):
            for factor, basis in zip(factors, BASES, strict=True):
                poll(deadline)
                rest -= multiplier * factor.form(*basis(T, degree))
        return rest

    def _b(self, i: int, j: int) -> Fraction:
        rows = self.b.rows
        return sum(x * y for x, y in zip(rows[i], rows[j], strict=False)) * self.b.scale

    def _check_shapes(self) -> None:
        D = self.degree
        orders = [(self.b, 2), *((F, D - k + 1) for k, F in enumerate(self.F))]
        orders += [(self.p[0], D + 1), (self.p[1], D)]
        for degree, factors in zip(half_degrees(D), self.q, strict=True):
            orders += zip(factors, basis_sizes(degree), strict=True)
        if len(self.F) != D + 1 or [len(row) for row in self.a.rows] != [2 * D]:
            raise ValueError(f"a has 2 D = {2 * D} numbers, and F has D + 1 matrices")
        for factor, order in orders:
            if [len(row) for row in factor.rows] != [*range(1, order + 1)]:
                raise ValueError(f"a triangular matrix has order {order} for degree {D}")


# Polynomials, exact at whole numbers and fractions (arrays of objects), in floating point otherwise


def cosine_at(x: Any, s: Any) -> Any:
    """Map x in [-1, 1], fractions or floats of any shape, to a cosine in [-1, s]."""
    return ((1 + s) * x - (1 - s)) / 2


def position(u: Any, s: Any) -> Any:
    """Map a cosine in [-1, s] to x in [-1, 1]: the inverse of `cosine_at`."""
    return (2 * u + 1 - s) / (1 + s)


def triple_kernels(d: int, degree: int, u: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the kernels Q_0 to Q_degree of triples of points, shape (degree + 1, m).

    Q_k = r^k P_k((t - u v) / r), r^2 = (1 - u^2)(1 - v^2), P_k of R^(d-1): P_k of two points with
    cosine t, after projection along a third, with which they have the cosines u and v.
    """
    return gegenbauer(d - 1, degree, t - u * v, (1 - u * u) * (1 - v * v))


def multipliers(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 1, the determinant of three points, and (1 - x)(1 - y)(1 - z), shape (m,) each.

    No multiplier is negative at cosines of three points that are at most s.

    Args:
        x: three variables in [-1, 1], shape (3, m).
        u: their cosines, shape (3, m).
    """
    determinant = 1 + 2 * u[0] * u[1] * u[2] - (u * u).sum(axis=0)
    return np.ones_like(x[0]), determinant, (1 - x[0]) * (1 - x[1]) * (1 - x[2])


def half_degrees(D: int) -> tuple[Degrees, Degrees, Degrees]:
    """Return the largest degrees whose squares, times the multipliers, stay within D and 2 D."""
    return (D // 2, D), (D // 2 - 1, D - 2), ((D - 1) // 2, D - 2)


# Bases of polynomials in x, y, z, by how permutations act on them. T has the shape
# (degree + 1, 3, m). A basis is an array (n, m), or three of them, one per place of z.


@cache
def exponents(degrees: Degrees) -> list[Exponents]:
    """Return all a >= b >= c >= 0 with a up to the first degree and a sum up to the second.

    They are ordered by their sum, then by a, then by b.
    """
    single, whole = degrees
    return [
        (a, b, total - a - b)
        for total in range(whole + 1)
        for a in range(min(total, single) + 1)
        for b in range(a + 1)
        if 0 <= total - a - b <= b
    ]


def trivial(T: np.ndarray, degrees: Degrees) -> list[np.ndarray]:
    """Return the symmetric basis: sums of the distinct permutations of T_a(x) T_b(y) T_c(z)."""
    rows = [
        sum(T[i, 0] * T[j, 1] * T[k, 2] for i, j, k in sorted({*permutations(abc)}))
        for abc in exponents(degrees)
    ]
    return [np.array(rows)]


def sign(T: np.ndarray, degrees: Degrees) -> list[np.ndarray]:
    """Return the alternating basis: sums with the signs of permutations, for a > b > c."""
    rows = [
        sum(
            T[i, 0] * (T[j, 1] * T[k, 2] - T[k, 1] * T[j, 2])
            for i, j, k in ((a, b, c), (b, c, a), (c, a, b))
        )
        for a, b, c in exponents(degrees)
        if a > b > c
    ]
    return [np.array(rows).reshape(len(rows), T.shape[2])]


def standard(T: np.ndarray, degrees: Degrees) -> list[np.ndarray]:
    """Return the basis S(a) - S(b) for a > b, and S(b) - S(c) for b > c; symmetric in x and y.

    S(c) = T_c(z) (T_a(x) T_b(y) + T_b(x) T_a(y)); likewise S(a), S(b).
    """
    arrays = []
    for x, y, z in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        rows = []
        for a, b, c in exponents(degrees):
            S = [
                T[i, z] * (T[j, x] * T[k, y] + T[k, x] * T[j, y])
                for i, j, k in ((a, b, c), (b, c, a), (c, a, b))
            ]
            if a > b:
                rows.append(S[0] - S[1])
            if b > c:
                rows.append(S[1] - S[2])
        arrays.append(np.array(rows))
    return arrays


BASES = (trivial, sign, standard)


def basis_sizes(degrees: Degrees) -> list[int]:
    """Return the sizes of the three bases."""
    distinct = [len({*abc}) for abc in exponents(degrees)]
    return [len(distinct), distinct.count(3), sum(distinct) - len(distinct)]


# A remainder as a sum of squares


def is_dominant(coefficients: Coefficients) -> bool:
    """Return whether a polynomial is a diagonally dominant form in Chebyshev products.

    Such a form is not negative.

    Args:
        coefficients: its coefficients in such products.
    """
    # Each pair of products of Chebyshev polynomials with its coefficient.
    form: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], int] = defaultdict(int)
    for index, coefficient in coefficients.items():
        for factor, row, column in _split(index):
            form[min(row, column), max(row, column)] += factor * coefficient
    margins: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for (row, column), coefficient in form.items():
        if row == column:
            margins[row] += 2 * coefficient
        else:
            margins[row] -= abs(coefficient)
            margins[column] -= abs(coefficient)
    return min(margins.values(), default=0) >= 0


def _coefficients(values: Values, degree: int) -> tuple[Coefficients, int]:
    """Return whole coefficients in products of Chebyshev polynomials, and their common factor.

    Args:
        values: a symmetric polynomial at the whole numbers 0 <= i <= j <= k <= degree.
        degree: its degree in one variable.
    """
    common = math.lcm(*(value.denominator for value in values.values()))
    variables = len(next(iter(values)))
    array = np.zeros((degree + 1,) * variables, dtype=object)
    for point, value in values.items():
        for place in {*permutations(point)}:
            array[place] = int(value * common)
    T = chebyshev(degree, np.arange(degree + 1).astype(object))
    inverse: Any = fmpz_mat(T.T.tolist()).inv()
    whole, multiple = inverse.numer_denom()
    change = np.array([[int(entry) for entry in row] for row in whole.tolist()], dtype=object)
    for axis in range(variables):
        array = np.moveaxis(np.tensordot(change, array, (1, axis)), 0, axis)
    coefficients = {index: c for index, c in np.ndenumerate(array) if c}
    return coefficients, common * int(multiple) ** variables


def _split(index: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Yield a product of Chebyshev polynomials as a sum of factors times two such products.

    T_n = 2 T_i T_j - T_(i-j), i and j the halves of n rounded up and down. The larger halves of odd
    n go to the two products in turn.
    """
    choices = []
    odd = 0
    for n in index:
        high, low = (n + 1) // 2, n // 2
        if n % 2 and odd % 2:
            high, low = low, high
        odd += n % 2
        choices.append([(1, high, low)] if n < 2 else [(2, high, low), (-1, n % 2, 0)])
    for choice in product(*choices):
        factors, rows, columns = zip(*choice, strict=True)
        yield math.prod(factors), rows, columns
