"""The semidefinite program of three-point bounds: the search for s, and rounding to integers.

Its conditions say that two polynomials are sums of squares (`three_point_certificate`). They are
imposed at as many points as there are coefficients (`semidefinite`).

The search approaches the largest s whose bound is below K. There the feasible set of the program
has an interior, and a point near its central path stays feasible when it is rounded:

- every matrix is replaced by its rounded Cholesky factor, except those of the free squares, whose
  multiplier is 1;
- the free squares absorb the resulting residual, by the change that is least relative to
  themselves, less a small multiple of the identity;
- their factors are rounded to more decimals. The multiple of the identity makes the last residual
  a diagonally dominant form, which the check of the certificate confirms in whole numbers.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import linalg

from gnc_cli.limits.claim import RefutedError
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.orthogonal import chebyshev, gegenbauer
from gnc_cli.limits.semidefinite import (
    Cone,
    Dense,
    Squares,
    complete,
    conditions,
    orthonormal,
    solve_program,
)
from gnc_cli.limits.three_point_certificate import (
    BASES,
    Coefficients,
    Degrees,
    Factor,
    ThreePointCertificate,
    cosine_at,
    exponents,
    half_degrees,
    multipliers,
    position,
    triple_kernels,
    trivial,
)
from gnc_cli.runtime.deadline import Deadline, StageProgress

_ACCURACY = 3e-5
"""Distance from the largest s at which the search ends."""
_COSINE_UNIT = 10**6
"""Denominator of the cosines of certificates."""
_CANDIDATES = 30
"""Random points per condition, among which QR chooses one."""
_ROUNDS = 3
"""Corrections of the free squares, each followed by rounding."""
_EIGENVALUE_CAP = 1e4
"""Cap of the eigenvalues that weigh a correction, in multiples of the reserve of a square."""
_DECADE = 6.0
"""Degrees over which a multiple of the identity falls by a factor of ten."""
_FIRST_DEGREE = 6
"""Degree of the program that the search for s begins with; the next ones are 2 higher each."""
_SEARCHES = 8
"""Secant steps per degree, at most."""
_ATTEMPTS = 6
"""Cosines that are tried, each farther from the largest s; and precisions that are tried for each.
"""
_DIGITS = 12
"""Decimals of a, b and F."""
_MULTIPLIED_DIGITS = 5
"""Decimals of the squares with a multiplier in the first attempt."""
_EXTRA_DIGITS = 2
"""Decimals of the free squares in the first attempt, beyond those of their reserve."""


def _program(d: int, s: float, D: int) -> tuple[list[Cone], np.ndarray, np.ndarray]:
    """Return the program of degree D for cosines up to s in R^d: 1 + its optimum is the bound.

    Returns:
        The cones of a_1 to a_2D, b, F_0 to F_D, p_2, q_2, q_3, p_1 and q_1; the right-hand sides of
        the m conditions, shape (m,); and the reserves: the left-hand sides of the identity in the
        free squares of one and of three variables, p_1 and q_1, shape (2, m).
    """
    x, points = _sample(D, s)
    u, triples = cosine_at(x, s), cosine_at(points, s)
    m = len(x) + points.shape[1]
    pair, triple = slice(0, len(x)), slice(len(x), m)
    T, T3 = chebyshev(D, x), chebyshev(D, points)
    cones: list[Cone] = []
    for P in gegenbauer(d, 2 * D, u)[1:]:
        A = np.zeros((m, 1, 1))
        A[pair, 0, 0] = P
        cones.append(Dense(A, np.ones((1, 1)), np.eye(1)))
    A = np.zeros((m, 2, 2))
    A[pair, 0, 1] = A[pair, 1, 0] = A[:, 1, 1] = 1.0
    cones.append(Dense(A, np.diag([1.0, 0.0]), np.eye(2)))
    orders = ((0, 1, 2), (0, 2, 1), (1, 2, 0))
    kernels = [triple_kernels(d, D, triples[i], triples[j], triples[k]) for i, j, k in orders]
    for k in range(D + 1):
        n = D - k + 1
        A = np.zeros((m, n, n))
        A[pair] = np.einsum("im,jm,m->mij", T[:n], T[:n], (1.0 - u * u) ** k)
        rows = T[:n].T * ((1.0 - u * u) ** (k / 2.0))[:, None]
        C = np.zeros((n, n))
        if k == 0:
            at_one = chebyshev(D, np.array(position(1.0, s)))
            A[pair] += 2.0 * np.einsum("im,j->mij", T, at_one)
            rows = np.concatenate([rows, [at_one]])
            C = np.outer(at_one, at_one)
        for (i, j, _), kernel in zip(orders, kernels, strict=True):
            A[triple] += np.einsum("im,jm,m->mij", T3[:n, i], T3[:n, j], kernel[k] / 3.0)
        cones.append(Dense((A + A.swapaxes(1, 2)) / 2.0, C, orthonormal(rows)))
    cones.append(Squares([T[:-1] * np.sqrt(1.0 - x * x)], pair, m))
    weighted = zip(multipliers(points, triples), half_degrees(D), strict=True)
    for multiplier, degree in list(weighted)[1:]:
        for basis in BASES:
            vectors = basis(T3, degree)
            root = np.sqrt(np.maximum(multiplier, 0.0) / len(vectors))
            cones.append(Squares([v * root for v in vectors], triple, m))
    b = np.zeros(m)
    b[pair] = -1.0
    free, reserves = _free_squares(D, T, T3)
    return [*cones, *free], b, reserves


def _sample(D: int, s: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return points for the polynomials of one and of three variables, (2 D + 1,) and (3, m).

    QR with pivots chooses the latter among random points.

    Args:
        D: degree.
        s: restricts them to the cosines, up to s, of three points; None for the whole cube.
    """
    degrees = D, 2 * D
    m = len(exponents(degrees))
    x = np.cos(np.pi * np.random.default_rng(0).random((3, _CANDIDATES * m)))
    if s is not None:
        x = x[:, multipliers(x, cosine_at(x, s))[1] >= 0.0]
    (values,) = trivial(chebyshev(D, x), degrees)
    columns, _ = np.linalg.qr(values.T)
    _, pivots = linalg.qr(columns.T, mode="r", pivoting=True)
    roots = np.cos(np.pi * (np.arange(2 * D + 1) + 0.5) / (2 * D + 1))
    return roots, x[:, pivots[:m]]


def _free_squares(D: int, T: np.ndarray, T3: np.ndarray) -> tuple[list[Squares], np.ndarray]:
    """Return the squares of multiplier 1, those of p_1 and q_1, and the reserves of `_program`.

    Args:
        D: degree of the program.
        T: Chebyshev polynomials at the points of one variable, shape (D + 1, points).
        T3: Chebyshev polynomials at the points of three variables, shape (D + 1, 3, points).
    """
    pairs, m = T.shape[1], T.shape[1] + T3.shape[2]
    pair, triple = slice(0, pairs), slice(pairs, m)
    degrees = half_degrees(D)[0]
    squares = [Squares([T], pair, m)]
    for basis in BASES:
        vectors = basis(T3, degrees)
        squares.append(Squares([v / math.sqrt(len(vectors)) for v in vectors], triple, m))
    reserves = np.zeros((2, m))
    reserves[0, pair] = (T * T).sum(axis=0)
    reserves[1, triple] = _weights(degrees)[0] @ trivial(T3 * T3, degrees)[0]
    return squares, reserves


def _weights(degrees: Degrees) -> list[np.ndarray]:
    """Return the diagonals of the identity in the three bases, which fall with the degree."""
    weights = [10.0 ** (-sum(abc) / _DECADE) for abc in exponents(degrees)]
    distinct = [len({*abc}) for abc in exponents(degrees)]
    repeats = (np.ones_like(distinct), np.equal(distinct, 3).astype(int), np.subtract(distinct, 1))
    return [np.repeat(weights, counts) for counts in repeats]


# Rounding


def _certificate(
    d: int,
    K: int,
    s: Fraction,
    D: int,
    matrices: Sequence[np.ndarray],
    halves: np.ndarray,
    digits: tuple[int, int],
    deadline: Deadline,
) -> ThreePointCertificate:
    """Round a solution to a certificate, a feasible point in whole numbers; it is not checked yet.

    Args:
        d: dimension.
        K: number of points.
        s: cosine of the claim.
        D: degree.
        matrices: the solution, in the order of the cones of `_program`.
        halves: half of each reserve, as multiples of the identity, shape (2,).
        digits: decimals of the squares with a multiplier, and of the free ones.
        deadline: polled while residuals are evaluated.

    Raises:
        LinAlgError: rounding has made a matrix indefinite.
        UnresolvedError: the deadline has expired.
    """
    multiplied_digits, free_digits = digits
    weights = tuple(math.ceil(float(x[0, 0]) * 10**_DIGITS) for x in matrices[: 2 * D])
    b, *F = [_round(matrix, _DIGITS) for matrix in matrices[2 * D : 3 * D + 2]]
    p_2, *q = [_round(matrix, multiplied_digits) for matrix in matrices[3 * D + 2 : 3 * D + 9]]
    # A residual that is small at the points of the program may be large elsewhere in the cube.
    x, points = _sample(D, None)
    free, reserves = _free_squares(D, chebyshev(D, x), chebyshev(D, points))
    half = halves[[0, 1, 1, 1]]
    identities = [np.eye(D + 1), *map(np.diag, _weights(half_degrees(D)[0]))]
    forms = [
        np.linalg.inv(cone.basis) @ (matrix + share * identity) @ np.linalg.inv(cone.basis).T
        for cone, matrix, share, identity in zip(
            free, matrices[3 * D + 9 :], half, identities, strict=True
        )
    ]
    for step in range(_ROUNDS + 1):
        p_1, *q_1 = [
            _round(cone.basis @ form @ cone.basis.T, free_digits)
            for cone, form in zip(free, forms, strict=True)
        ]
        certificate = ThreePointCertificate(
            certificate="gnc/1",
            kind="three-point",
            d=d,
            K=K,
            cosine=str(s),
            strict=True,
            degree=D,
            a=Factor(_DIGITS, (weights,)),
            b=b,
            F=tuple(F),
            p=(p_1, p_2),
            q=(tuple(q_1), tuple(q[:3]), tuple(q[3:])),  # type: ignore[arg-type]
        )
        if step == _ROUNDS:
            break
        remainders = [
            _values(*certificate.remainder(len(place), deadline), place)
            for place in (x[None], points)
        ]
        missing = np.concatenate(remainders) - halves @ reserves
        forms = complete(free, forms, conditions(free, forms) + missing, _EIGENVALUE_CAP * half)
    return certificate


def _values(coefficients: Coefficients, multiple: int, x: np.ndarray) -> np.ndarray:
    """Evaluate a polynomial, given as `remainder` returns it, at points, shape (variables, m)."""
    T = chebyshev(max(map(max, coefficients), default=0), x)
    values = np.zeros(x.shape[1])
    for index, c in coefficients.items():
        values += c / multiple * np.prod([T[n, i] for i, n in enumerate(index)], axis=0)
    return values


def _round(matrix: np.ndarray, digits: int) -> Factor:
    """Return the Cholesky factor of a positive definite matrix, rounded to decimals.

    Raises:
        LinAlgError: it is not positive definite.
    """
    L = np.linalg.cholesky(matrix)
    rows = [tuple(round(float(n) * 10**digits) for n in L[i, : i + 1]) for i in range(len(L))]
    return Factor(digits, tuple(rows))


# The search for s


def three_point_certificate(
    d: int,
    K: int,
    degree: int,
    deadline: Deadline | None,
    progress: StageProgress | None = None,
) -> ThreePointCertificate | None:
    """Return a certificate that excludes K points up to the largest s that a degree allows.

    Args:
        d: dimension; below 3 there is no certificate.
        K: number of points, above 2 d.
        degree: at least 6 and even: larger degrees exclude more, and take longer.
        deadline: deadline of the search; none by default.
        progress: called with `(done, total, nan)` before each degree.

    Returns:
        The checked certificate; None if no solution could be rounded.

    Raises:
        UnresolvedError: the deadline has expired.
    """
    deadline = deadline or Deadline()
    start = LEVENSHTEIN.evaluate(d, K)
    if d < 3 or start is None:
        return None
    s, slope = 1.0 - start.value, K * (d - 1) / (2.0 * start.value)
    total = (degree - _FIRST_DEGREE) // 2 + 2
    for step, D in enumerate(range(_FIRST_DEGREE, degree + 1, 2)):
        if progress is not None:
            progress(step, total, math.nan)
        loss = _ACCURACY * slope
        end = _search(d, s, D, K - loss, slope, loss * (0.1 if D == degree else 3.0), deadline)
        if end is None:
            return None
        s, slope, y = end
    for attempt in range(_ATTEMPTS):
        cosine = Fraction(math.floor(s * _COSINE_UNIT), _COSINE_UNIT)
        certificate = _prove(d, K, cosine, degree, y, loss, deadline)
        if certificate is not None:
            return certificate
        s -= _ACCURACY * 2**attempt
    return None


def _search(
    d: int, s: float, D: int, target: float, slope: float, tolerance: float, deadline: Deadline
) -> tuple[float, float, np.ndarray] | None:
    """Find the s whose bound of degree D is the target, the slope and the dual solution there."""
    last: tuple[float, float] | None = None
    for _ in range(_SEARCHES):
        cones, b, _ = _program(d, s, D)
        solution = solve_program(cones, b, -math.inf, tolerance / 2.0, deadline)
        if not math.isfinite(solution.primal):
            return None
        value = 1.0 + (solution.primal + solution.dual) / 2.0
        if last is not None and abs(s - last[0]) > 1e-9 and (value - last[1]) / (s - last[0]) > 0.0:
            slope = (value - last[1]) / (s - last[0])
        if abs(value - target) < tolerance:
            break
        last = s, value
        s += max(-0.2, min(0.1, (target - value) / slope))
        s = min(s, (1.0 + last[0]) / 2.0)
    return s, slope, solution.y


def _prove(
    d: int, K: int, s: Fraction, D: int, y: np.ndarray, loss: float, deadline: Deadline
) -> ThreePointCertificate | None:
    """Return the certificate at s with the fewest digits that passes its check, or None."""
    cones, b, reserves = _program(d, float(s), D)
    epsilon = loss / 4.0 / np.maximum(-(reserves @ y), 1.0)
    goal = K - 1.0 - loss / 10.0
    solution = solve_program(cones, b - epsilon @ reserves, goal, 0.0, deadline)
    if not solution.feasible:
        return None
    matrices = [c.basis @ x @ c.basis.T for c, x in zip(cones, solution.X, strict=True)]
    digits = (_MULTIPLIED_DIGITS, _EXTRA_DIGITS + math.ceil(-math.log10(epsilon[1])))
    for _ in range(_ATTEMPTS):
        try:
            certificate = _certificate(d, K, s, D, matrices, epsilon / 2.0, digits, deadline)
            certificate.check(deadline)
            return certificate
        except (np.linalg.LinAlgError, ValueError):  # ValueError of SciPy: not finite
            digits = (digits[0] + 1, digits[1])
        except RefutedError:
            digits = (digits[0], digits[1] + 1)
    return None
