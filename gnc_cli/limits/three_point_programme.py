"""The semidefinite programme of three-point bounds: solved in floating point, rounded, proved.

Its conditions are that two polynomials are sums of squares (`three_point_certificate`). They are
asked for at as many points as there are coefficients. At a point every square is v^T G v, so that
every condition is a matrix of rank one or three, and a step of the interior-point method costs
little more than products of matrices (Löfberg and Parrilo 2004): that of Helmberg, Kojima and
Monteiro, with Mehrotra's predictor.

The largest s whose bound is below K is approached to `accuracy`. There the feasible points of the
programme have an interior, and a point near its central path stays feasible when it is rounded:

- every matrix but those of the squares of multiplier 1 is replaced by its rounded Cholesky factor;
- these take up what is missing then, by the change that is least relative to themselves, less a
  small multiple of the identity;
- their factors are rounded to more decimals; the identity's multiple makes what remains a
  diagonally dominant form, which the certificate's own check confirms in whole numbers.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy import linalg

from gnc_cli.limits.certificate import Refuted, poll
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.three_point_certificate import (
    BASES,
    Degrees,
    Factor,
    ThreePointCertificate,
    chebyshev,
    cosine_at,
    exponents,
    gegenbauer,
    half_degrees,
    multipliers,
    position,
    triple_kernels,
    trivial,
)
from gnc_cli.runtime.deadline import Deadline, StageProgress

_CANDIDATES = 30
"""Points among which those of a condition are chosen, for each."""
_START = 10.0
"""Of the interior-point method: this multiple of the identity."""
_MOST_STEPS = 80
_FEASIBLE = 1e-10
"""Violation of a condition that rounding makes up for."""
_NEARLY = 1e-5
"""Violation from which on what is left is removed beside the central path."""
_CONSISTENT = 1e-6
"""Violation of a condition of the dual programme."""
_SHIFTS = tuple(10.0**-n for n in range(15, 6, -1))
"""Multiples of the identity, the first of which makes a scaled system definite in rounding."""
_REFINEMENTS = 3
"""Of the solution of a linear system."""
_ROUNDS = 3
"""Of rounding and of taking up what is missing then."""
_GRADIENTS = 25
"""Most steps of conjugate gradients."""
_REDUCTION, _EXACT = 1e-3, 1e-12
"""What they may leave of the violation of the conditions: a share, and a number."""
_BACK = 0.95
"""Share of the step to the boundary."""
_CAP = 1e4
"""Eigenvalues of squares that are larger than this times what they can lose are not changed more
than this one."""
_TRACE = 1e-5
"""Of the squares, this multiple counts in the objective; else they grow without need."""
_WHOLE = 1e-3
"""Weight of Chebyshev coefficients beside values on the domain, in the bases of squares."""
_DECADE = 6.0
"""Degrees after which a multiple of the identity is divided by ten."""
_FIRST_DEGREE = 6
"""Of the programmes that the search for s begins with."""
_SEARCHES = 8
_ATTEMPTS = 6
_DIGITS = 12
"""Decimals of a, b and F."""
_FEW = 5
"""Decimals of the squares with a multiplier, at first."""
_MANY = 2
"""Decimals of the other squares beyond those of what they can lose, at first."""


class _Cone(Protocol):
    """A matrix variable X with its conditions <A_i, X> and its share <C, X> of the objective."""

    C: np.ndarray
    basis: np.ndarray
    """X in the basis of certificates is `basis` X `basis`^T."""

    def conditions(self, X: np.ndarray) -> np.ndarray:
        """<A_i, X> for all i."""
        ...

    def combination(self, y: np.ndarray) -> np.ndarray:
        """The sum of y_i A_i."""
        ...

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """R of m columns with (R^T R)_ij = tr(A_i X A_j Y), X and Y positive definite."""
        ...


class _Dense:
    """Conditions of any rank, for small matrices.

    X and the inverse of Z are both large here: only in extended precision do steps keep the
    conditions satisfied.
    """

    def __init__(self, A: np.ndarray, C: np.ndarray, basis: np.ndarray) -> None:
        self.basis = basis
        self.C = basis.T @ C @ basis
        self._A = basis.T @ A @ basis
        self._flat = self._A.reshape(len(A), -1)
        self._extended = self._flat.astype(np.longdouble)

    def conditions(self, X: np.ndarray) -> np.ndarray:
        return self._extended @ X.ravel()

    def combination(self, y: np.ndarray) -> np.ndarray:
        return (y @ self._extended).reshape(self.C.shape)

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        products = np.linalg.cholesky(X).T @ self._A @ np.linalg.cholesky(Y)
        return products.reshape(self._flat.shape).T


class _Squares:
    """Conditions that are sums of squares v^T X v, one or three of them at each of some points."""

    def __init__(self, vectors: Sequence[np.ndarray], places: slice, m: int, basis: bool) -> None:
        """
        Args:
            vectors: of shape (n, points) each.
            places: of the points' conditions among all m.
            basis: whether to choose a basis that is orthonormal on the points.
        """
        rows = np.concatenate([v.T for v in vectors])
        self._copies, n = len(vectors), rows.shape[1]
        self.basis = np.eye(n)
        if basis:
            self.basis = _orthonormal(
                np.concatenate([rows, _WHOLE * math.sqrt(len(rows)) * np.eye(n)])
            )
        self.C = _TRACE * self.basis.T @ self.basis
        self._rows = rows @ self.basis
        self.places, self._m = places, m

    def conditions(self, X: np.ndarray) -> np.ndarray:
        result = np.zeros(self._m)
        squares = ((self._rows @ X) * self._rows).sum(axis=1)
        result[self.places] = squares.reshape(self._copies, -1).sum(axis=0)
        return result

    def combination(self, y: np.ndarray) -> np.ndarray:
        return (self._rows.T * np.tile(y[self.places], self._copies)) @ self._rows

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        left, right = (
            (self._rows @ np.linalg.cholesky(matrix)).reshape(self._copies, -1, len(matrix))
            for matrix in (X, Y)
        )
        result = np.zeros((X.size, self._m))
        result[:, self.places] = np.einsum("gmi,gmj->ijm", left, right).reshape(X.size, -1)
        return result

    def schur(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """R^T R of the root R, at its points alone."""
        products = (self._rows @ X @ self._rows.T) * (self._rows @ Y @ self._rows.T)
        c, n = self._copies, len(self._rows) // self._copies
        return products.reshape(c, n, c, n).sum(axis=(0, 2))


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    """The basis in which the mean of v v^T over the rows v is the identity."""
    triangle = np.linalg.qr(rows, mode="r")
    return np.linalg.inv(triangle) * math.sqrt(len(rows))


def _weights(degrees: Degrees) -> list[np.ndarray]:
    """Weights of the identity, for each polynomial of the three bases: high degrees cost more."""
    weights = [10.0 ** (-sum(abc) / _DECADE) for abc in exponents(degrees)]
    distinct = [len({*abc}) for abc in exponents(degrees)]
    repeats = (np.ones_like(distinct), np.equal(distinct, 3).astype(int), np.subtract(distinct, 1))
    return [np.repeat(weights, counts) for counts in repeats]


@dataclass
class _Programme:
    """Minimise <C, X> under <A_i, X> = b_i with X positive semidefinite."""

    cones: list[_Cone]
    """Of a_1 to a_2D, b, F_0 to F_D, p, and q by multipliers and bases."""
    b: np.ndarray
    reserves: np.ndarray
    """What multiples of the identity in the squares of multiplier 1 add to the conditions, of one
    variable and of three; shape (2, m)."""


@dataclass
class _Solution:
    X: list[np.ndarray]
    y: np.ndarray
    primal: float
    dual: float
    feasible: bool


def _sample(D: int, s: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Points for the polynomials of one variable, and of three: shape (2 D + 1,), (3, m).

    The latter are chosen by QR with pivots among random points.

    Args:
        s: only cosines of three points, up to s, are taken; None for the whole cube.
    """
    degrees = D, 2 * D
    m = len(exponents(degrees))
    rng = np.random.default_rng(0)
    x = np.cos(np.pi * rng.random((3, _CANDIDATES * m)))
    if s is not None:
        x = x[:, multipliers(x, cosine_at(x, s))[1] >= 0.0]
    (values,) = trivial(chebyshev(D, x), degrees)
    orthonormal, _ = np.linalg.qr(values.T)
    _, pivots = linalg.qr(orthonormal.T, mode="r", pivoting=True)
    ends = np.cos(np.pi * (np.arange(2 * D + 1) + 0.5) / (2 * D + 1))
    return ends, x[:, pivots[:m]]


def _programme(d: int, s: float, D: int) -> _Programme:
    """The programme of degree D for cosines up to s in R^d."""
    x, points = _sample(D, s)
    u, triples = cosine_at(x, s), cosine_at(points, s)
    m = len(x) + points.shape[1]
    pair, triple = slice(0, len(x)), slice(len(x), m)
    T, T3 = chebyshev(D, x), chebyshev(D, points)
    at_one = chebyshev(D, np.array([position(1.0, s)]))
    cones: list[_Cone] = []
    for P in gegenbauer(d, 2 * D, u)[1:]:
        A = np.zeros((m, 1, 1))
        A[pair, 0, 0] = P
        cones.append(_Dense(A, np.ones((1, 1)), np.eye(1)))
    A = np.zeros((m, 2, 2))
    A[pair, 0, 1] = A[pair, 1, 0] = A[:, 1, 1] = 1.0
    cones.append(_Dense(A, np.diag([1.0, 0.0]), np.eye(2)))
    orders = ((0, 1, 2), (0, 2, 1), (1, 2, 0))
    kernels = [triple_kernels(d, D, triples[i], triples[j], triples[k]) for i, j, k in orders]
    for k in range(D + 1):
        n = D - k + 1
        A = np.zeros((m, n, n))
        A[pair] = np.einsum("im,jm,m->mij", T[:n], T[:n], (1.0 - u * u) ** k)
        rows = T[:n].T * ((1.0 - u * u) ** (k / 2.0))[:, None]
        C = np.zeros((n, n))
        if k == 0:
            one = at_one[:, 0]
            A[pair] += np.einsum("im,j->mij", T, one) + np.einsum("i,jm->mij", one, T)
            rows = np.concatenate([rows, [one]])
            C = np.outer(one, one)
        for (i, j, _), kernel in zip(orders, kernels, strict=True):
            A[triple] += np.einsum("im,jm,m->mij", T3[:n, i], T3[:n, j], kernel[k] / 6.0)
            A[triple] += np.einsum("im,jm,m->mij", T3[:n, j], T3[:n, i], kernel[k] / 6.0)
        cones.append(_Dense(A, C, _orthonormal(rows)))
    cones += [_Squares([vectors], pair, m, True) for vectors in (T, T[:-1] * np.sqrt(1.0 - x * x))]
    for multiplier, degree in zip(multipliers(points, triples), half_degrees(D), strict=True):
        for basis in BASES:
            vectors = basis(T3, degree)
            root = np.sqrt(np.maximum(multiplier, 0.0) / len(vectors))
            cones.append(_Squares([v * root for v in vectors], triple, m, True))
    b = np.zeros(m)
    b[pair] = -1.0
    reserves = np.zeros((2, m))
    reserves[0, pair] = (T * T).sum(axis=0)
    free = half_degrees(D)[0]
    reserves[1, triple] = _weights(free)[0] @ trivial(T3 * T3, free)[0]
    return _Programme(cones, b, reserves)


# Interior-point method


def _solve(
    programme: _Programme, b: np.ndarray, goal: float, gap: float, deadline: Deadline
) -> _Solution:
    """A point near the central path with an objective below `goal`, or an optimum.

    Args:
        b: right-hand sides.
        goal: `feasible` says whether it was reached with all conditions satisfied.
        gap: between the objectives, at which to end.

    Raises:
        Unresolved: the deadline has expired.
    """
    cones = programme.cones
    X = [np.eye(len(cone.C)) * _START for cone in cones]
    Z = [np.eye(len(cone.C)) * _START for cone in cones]
    y = np.zeros(len(b))
    order = sum(len(cone.C) for cone in cones)
    best = _Solution(X, y, math.inf, -math.inf, False)
    for _ in range(_MOST_STEPS):
        poll(deadline)
        missing = b - _conditions(cones, X)
        slack = _doubles(
            [cone.C - cone.combination(y) - z for cone, z in zip(cones, Z, strict=True)]
        )
        primal = 1.0 + _inner([cone.C for cone in cones], X)
        dual = 1.0 + float(b @ y)
        consistent = max(float(np.abs(s).max()) for s in slack) < _CONSISTENT
        violation = float(np.abs(missing).max())
        reached = False
        if consistent and violation < _NEARLY:
            best = _Solution(X, y, primal, dual, primal < goal and violation < _FEASIBLE)
            reached = primal < goal
            if best.feasible or (not reached and _inner(X, Z) < gap):
                break
        try:
            X, y, Z = _step(cones, X, y, Z, missing, slack, order, central=reached)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):  # no finite step is left
            break
    return best


def _step(
    cones: Sequence[_Cone],
    X: list[np.ndarray],
    y: np.ndarray,
    Z: list[np.ndarray],
    missing: np.ndarray,
    slack: list[np.ndarray],
    order: int,
    *,
    central: bool,
) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
    """Predictor and corrector from (X, y, Z).

    Args:
        central: whether only to approach the central path where it is.

    Raises:
        LinAlgError: rounding errors are larger than the distance to the boundary.
    """
    inverses = [_symmetric(np.linalg.inv(z)) for z in Z]
    solve = _solver(cones, X, inverses, precise=False)

    def changed(y: np.ndarray) -> np.ndarray:
        """What a change of the dual solution by y changes in the conditions."""
        parts = [x @ c.combination(y) @ w for x, c, w in zip(X, cones, inverses, strict=True)]
        return _conditions(cones, [_symmetric(part) for part in parts])

    def direction(
        mu: float, corrections: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
        """Towards X Z = mu I, of second order with the corrections dX dZ."""
        fixed = [
            _symmetric(mu * w - x - (x @ s + c) @ w)
            for x, w, s, c in zip(X, inverses, slack, corrections, strict=True)
        ]
        tolerance = _EXACT + _REDUCTION * float(np.abs(missing).max())
        dy = _gradients(changed, solve, missing - _conditions(cones, fixed), tolerance)
        parts = [cone.combination(dy) for cone in cones]
        dX = [
            a + _symmetric(x @ part @ w)
            for a, x, part, w in zip(fixed, X, parts, inverses, strict=True)
        ]
        return _doubles(dX), dy, _doubles([s - part for s, part in zip(slack, parts, strict=True)])

    mu = _inner(X, Z) / order
    dX, dy, dZ = direction(0.0, [np.zeros_like(x) for x in X])
    alpha, beta = min(1.0, _reach(X, dX)), min(1.0, _reach(Z, dZ))
    ahead = _inner(_moved(X, alpha, dX), _moved(Z, beta, dZ)) / order
    share = max(1e-3, min(1.0, (ahead / mu) ** 2)) if min(alpha, beta) > 0.1 else 0.5
    if central:
        share = 1.0
    dX, dy, dZ = direction(share * mu, [a @ b for a, b in zip(dX, dZ, strict=True)])
    alpha, beta = min(1.0, _BACK * _reach(X, dX)), min(1.0, _BACK * _reach(Z, dZ))
    return _moved(X, alpha, dX), y + beta * dy, _moved(Z, beta, dZ)


def _gradients(
    product: Callable[[np.ndarray], np.ndarray],
    solve: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Solve a linear system by conjugate gradients, with what nearly solves it."""
    y, missing = np.zeros(len(right)), right
    direction, last = np.zeros(len(right)), math.inf
    for _ in range(_GRADIENTS):
        near = solve(missing)
        power = float(missing @ near)
        direction = near + power / last * direction
        last = power
        change = product(direction)
        step = power / float(direction @ change)
        y, missing = y + step * direction, missing - step * change
        if np.abs(missing).max() < tolerance:
            break
    return y


def _conditions(cones: Sequence[_Cone], X: Sequence[np.ndarray]) -> np.ndarray:
    total = np.sum([cone.conditions(x) for cone, x in zip(cones, X, strict=True)], axis=0)
    return total.astype(float)


def _doubles(matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [matrix.astype(float) for matrix in matrices]


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2.0


def _inner(X: Sequence[np.ndarray], Y: Sequence[np.ndarray]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(X, Y, strict=True))


def _moved(X: Sequence[np.ndarray], step: float, dX: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [x + step * dx for x, dx in zip(X, dX, strict=True)]


def _reach(X: Sequence[np.ndarray], dX: Sequence[np.ndarray]) -> float:
    """The largest step along dX that stays positive semidefinite."""
    least = 0.0
    for x, dx in zip(X, dX, strict=True):
        L = np.linalg.cholesky(x)
        half = linalg.solve_triangular(L, dx, lower=True)
        whole = linalg.solve_triangular(L, half.T, lower=True)
        least = min(least, float(np.linalg.eigvalsh(_symmetric(whole))[0]))
    return -1.0 / least if least < 0.0 else math.inf


def _completed(
    cones: Sequence[_Cone], X: Sequence[np.ndarray], b: np.ndarray, most: float
) -> list[np.ndarray]:
    """X with the change that meets all conditions and is least relative to X.

    Args:
        most: eigenvalues above this count as if they were this large.

    Raises:
        LinAlgError: the conditions depend on each other, within rounding errors.
    """
    capped = [_symmetric(np.linalg.inv(np.linalg.inv(x) + np.eye(len(x)) / most)) for x in X]
    solve = _solver(cones, capped, capped, precise=True)
    result = list(X)
    for _ in range(_REFINEMENTS):
        y = solve(b - _conditions(cones, result))
        result = [
            r + _symmetric(x @ cone.combination(y) @ x)
            for cone, x, r in zip(cones, capped, result, strict=True)
        ]
    return _doubles(result)


def _solver(
    cones: Sequence[_Cone],
    X: Sequence[np.ndarray],
    Y: Sequence[np.ndarray],
    *,
    precise: bool,
) -> Callable[[np.ndarray], np.ndarray]:
    """Solves M y = r, M_ij = sum of tr(A_i X A_j Y) over all cones.

    The entries of small cones are larger by far than those of squares. M = R^T R is factored by
    QR, without forming the sum, so that the latter are not lost.

    Args:
        precise: never to form a part of M, which takes longer.

    Raises:
        LinAlgError: rounding errors make it singular.
    """
    squares: dict[tuple[int, int], np.ndarray] = {}
    roots = []
    for cone, x, y in zip(cones, X, Y, strict=True):
        if isinstance(cone, _Squares) and not precise:
            place = cone.places.start, cone.places.stop
            squares[place] = squares.get(place, 0.0) + cone.schur(x, y)
        else:
            roots.append(cone.root(x, y))
    for (start, stop), matrix in squares.items():
        root = np.zeros((stop - start, max(end for _, end in squares)))
        scale = np.sqrt(np.diag(matrix))
        scaled = matrix / scale / scale[:, None]
        root[:, start:stop] = _cholesky(scaled).T * scale
        roots.append(root)
    stacked = np.concatenate(roots)
    norms = np.linalg.norm(stacked, axis=0)
    R = np.linalg.qr(stacked / norms, mode="r")
    return lambda r: linalg.cho_solve((R, False), r / norms) / norms


def _cholesky(matrix: np.ndarray) -> np.ndarray:
    """The factor of a matrix with diagonal 1 that is definite but for rounding errors."""
    for shift in _SHIFTS:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(matrix + shift * np.eye(len(matrix)))
    raise np.linalg.LinAlgError("the conditions depend on each other")


# Rounding


def _rounded(matrix: np.ndarray, digits: int) -> Factor:
    """The Cholesky factor of a positive definite matrix, rounded.

    Raises:
        LinAlgError: it is not positive definite.
    """
    L = np.linalg.cholesky(matrix)
    rows = [tuple(round(float(n) * 10**digits) for n in L[i, : i + 1]) for i in range(len(L))]
    return Factor(digits, tuple(rows))


def _certificate(
    claim: ThreePointCertificate,
    programme: _Programme,
    solution: _Solution,
    epsilon: np.ndarray,
    digits: tuple[int, int],
    deadline: Deadline,
) -> ThreePointCertificate:
    """A feasible point near a solution, in whole numbers; not yet checked.

    Args:
        epsilon: multiples of the identity that the squares of multiplier 1 can lose, (2,).
        digits: of the factors of other multipliers, and of these.

    Raises:
        LinAlgError: rounding has made a matrix indefinite.
        Unresolved: the deadline has expired.
    """
    D = claim.degree
    few, many = digits
    matrices = [c.basis @ x @ c.basis.T for c, x in zip(programme.cones, solution.X, strict=True)]
    first, second = 3 * D + 2, 3 * D + 4
    others = {
        i: _rounded(matrices[i], _DIGITS if i < first else few)
        for i in (*range(2 * D, first), first + 1, *range(second + 3, second + 9))
    }
    a = tuple(math.ceil(float(x[0, 0]) * 10**_DIGITS) for x in matrices[: 2 * D])
    halves = epsilon / 2.0
    free = half_degrees(D)[0]
    forms = {
        1: [matrices[first] + halves[0] * np.eye(len(matrices[first]))],
        3: [
            x + halves[1] * np.diag(weights)
            for x, weights in zip(matrices[second : second + 3], _weights(free), strict=True)
        ],
    }
    x, points = _sample(D, None)
    T, T3 = chebyshev(D, x), chebyshev(D, points)
    bases = [basis(T3, free) for basis in BASES]
    m = points.shape[1]
    cones = {
        1: [_Squares([T], slice(0, len(x)), len(x), False)],
        3: [
            _Squares([v / math.sqrt(len(basis)) for v in basis], slice(0, m), m, False)
            for basis in bases
        ],
    }
    values = {1: chebyshev(2 * D, x), 3: trivial(T3, (D, 2 * D))[0]}
    reserves = {1: (T * T).sum(axis=0), 3: _weights(free)[0] @ trivial(T3 * T3, free)[0]}
    lattices: dict[int, Sequence[tuple[int, ...]]] = {
        1: [(i,) for i in range(2 * D + 1)],
        3: exponents((D, 2 * D)),
    }
    for step in range(_ROUNDS + 1):
        squares = [_rounded(form, many) for form in (*forms[1], *forms[3])]
        factors = others | dict(zip((first, *range(second, second + 3)), squares, strict=True))
        ordered = [factors[i] for i in range(2 * D, len(matrices))]
        claim = replace(
            claim,
            a=Factor(_DIGITS, (a,)),
            b=ordered[0],
            F=tuple(ordered[1 : D + 2]),
            p=(ordered[D + 2], ordered[D + 3]),
            q=tuple(tuple(ordered[i : i + 3]) for i in range(D + 4, D + 13, 3)),  # type: ignore
        )
        if step == _ROUNDS:
            break
        for n, half in zip((1, 3), halves, strict=True):
            coefficients, multiple = claim.remainder(n, deadline)
            exact = [coefficients.get(index, 0) / multiple for index in lattices[n]]
            missing = np.array(exact) @ values[n] - half * reserves[n]
            forms[n] = _completed(
                cones[n], forms[n], _conditions(cones[n], forms[n]) + missing, _CAP * half
            )
    return claim


# The search for s


def three_point_certificate(
    d: int,
    K: int,
    degree: int,
    accuracy: float = 3e-5,
    deadline: Deadline | None = None,
    progress: StageProgress | None = None,
) -> ThreePointCertificate | None:
    """The certificate of the largest s that the programme of a degree excludes K points for.

    Args:
        d: at least 3.
        K: above 2 d.
        degree: at least 6 and even: larger degrees exclude more, and take longer.
        accuracy: that s is approached to.
        deadline: of the search.
        progress: called with `(done, total, nan)` after each programme.

    Returns:
        It, checked; None where no point of the programme could be rounded.

    Raises:
        Unresolved: the deadline has expired.
    """
    deadline = deadline or Deadline()
    start = LEVENSHTEIN.at(d, K)
    if start is None:
        return None
    s, slope = 1.0 - start.value, K * (d - 1) / (2.0 * start.value)
    total = (degree - _FIRST_DEGREE) // 2 + 2
    for done, D in enumerate(range(_FIRST_DEGREE, degree + 1, 2)):
        if progress is not None:
            progress(done, total, math.nan)
        loss = accuracy * slope
        searched = _search(d, s, D, K - loss, slope, loss * (0.1 if D == degree else 3.0), deadline)
        if searched is None:
            return None
        s, slope, y = searched
    for attempt in range(_ATTEMPTS):
        scale = 10 ** (1 + math.ceil(-math.log10(accuracy)))
        cosine = Fraction(math.floor(s * scale), scale)
        certificate = _proved(d, K, cosine, degree, y, loss, deadline)
        if certificate is not None:
            return certificate
        s -= accuracy * 2**attempt
    return None


def _search(
    d: int, s: float, D: int, target: float, slope: float, tolerance: float, deadline: Deadline
) -> tuple[float, float, np.ndarray] | None:
    """Where the optimum of degree D is the target: s, the slope there, and the dual solution."""
    last: tuple[float, float] | None = None
    for _ in range(_SEARCHES):
        programme = _programme(d, s, D)
        solution = _solve(programme, programme.b, -math.inf, tolerance / 2.0, deadline)
        if not math.isfinite(solution.primal):
            return None
        value = (solution.primal + solution.dual) / 2.0
        if last is not None and abs(s - last[0]) > 1e-9 and (value - last[1]) / (s - last[0]) > 0.0:
            slope = (value - last[1]) / (s - last[0])
        if abs(value - target) < tolerance:
            break
        last = s, value
        s += max(-0.2, min(0.1, (target - value) / slope))
        s = min(s, (1.0 + last[0]) / 2.0)
    return s, slope, solution.y


def _proved(
    d: int, K: int, s: Fraction, D: int, y: np.ndarray, loss: float, deadline: Deadline
) -> ThreePointCertificate | None:
    """The certificate at s with the fewest digits that the check accepts; None without one."""
    programme = _programme(d, float(s), D)
    epsilon = loss / 4.0 / np.maximum(-(programme.reserves @ y), 1.0)
    b = programme.b - epsilon @ programme.reserves
    solution = _solve(programme, b, K - loss / 10.0, 0.0, deadline)
    if not solution.feasible:
        return None
    none = Factor(0, ())
    claim = ThreePointCertificate(
        certificate="gnc/1",
        kind="three-point",
        d=d,
        K=K,
        cosine=str(s),
        strict=True,
        degree=D,
        a=none,
        b=none,
        F=(),
        p=(none, none),
        q=((none, none, none),) * 3,
    )
    few, many = _FEW, _MANY + math.ceil(-math.log10(epsilon[1]))
    for _ in range(_ATTEMPTS):
        try:
            certificate = _certificate(claim, programme, solution, epsilon, (few, many), deadline)
            certificate.check(deadline)
            return certificate
        except np.linalg.LinAlgError:
            few += 1
        except Refuted:
            many += 1
    return None
