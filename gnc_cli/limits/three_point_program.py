"""The semidefinite programme of three-point bounds: the search for s, and rounding to integers.

Its conditions are that two polynomials are sums of squares (`three_point_certificate`). They are
asked for at as many points as there are coefficients (`semidefinite`).

The largest s whose bound is below K is approached. There the feasible points of the programme have
an interior, and a point near its central path stays feasible when it is rounded:

- every matrix but those of the squares of multiplier 1 is replaced by its rounded Cholesky factor;
- these take up what is missing then, by the change that is least relative to themselves, less a
  small multiple of the identity;
- their factors are rounded to more decimals; the identity's multiple makes what remains a
  diagonally dominant form, which the certificate's own check confirms in whole numbers.
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
"""The largest s is approached to this."""
_UNIT = 10**6
"""Cosines are multiples of 1 / this."""
_CANDIDATES = 30
"""Points among which those of a condition are chosen, for each."""
_ROUNDS = 3
"""Of rounding and of taking up what is missing then."""
_CAP = 1e4
"""Eigenvalues of squares that are larger than this times what they can lose are not changed more
than this one."""
_DECADE = 6.0
"""Degrees after which a multiple of the identity is divided by ten."""
_FIRST_DEGREE = 6
"""Of the programmes that the search for s begins with."""
_SEARCHES = 8
_ATTEMPTS = 6
_DIGITS = 12
"""Decimals of a, b and F."""
_SQUARE_DIGITS = 5
"""Decimals of the squares with a multiplier, at first."""
_EXTRA_DIGITS = 2
"""Decimals of the other squares beyond those of what they can lose, at first."""


def _programme(d: int, s: float, D: int) -> tuple[list[Cone], np.ndarray, np.ndarray]:
    """Of degree D, for cosines up to s in R^d: 1 + its optimum is the bound.

    Returns:
        The cones of a_1 to a_2D, b, F_0 to F_D, p_2, q_2, q_3, p_1 and q_1; the right-hand sides,
        shape (m,); what multiples of the identity in the squares of multiplier 1, those of p_1 and
        q_1, add to the conditions, shape (2, m).
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
    inside = zip(multipliers(points, triples), half_degrees(D), strict=True)
    for multiplier, degree in list(inside)[1:]:
        for basis in BASES:
            vectors = basis(T3, degree)
            root = np.sqrt(np.maximum(multiplier, 0.0) / len(vectors))
            cones.append(Squares([v * root for v in vectors], triple, m))
    b = np.zeros(m)
    b[pair] = -1.0
    free, reserves = _free_squares(D, T, T3)
    return [*cones, *free], b, reserves


def _sample(D: int, s: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Points for the polynomials of one variable, and of three: shape (2 D + 1,), (3, m).

    The latter are chosen by QR with pivots among random points.

    Args:
        s: only cosines of three points, up to s, are taken; None for the whole cube.
    """
    degrees = D, 2 * D
    m = len(exponents(degrees))
    x = np.cos(np.pi * np.random.default_rng(0).random((3, _CANDIDATES * m)))
    if s is not None:
        x = x[:, np.flatnonzero(multipliers(x, cosine_at(x, s))[1] >= 0.0)]
    (values,) = trivial(chebyshev(D, x), degrees)
    orthonormal, _ = np.linalg.qr(values.T)
    _, pivots = linalg.qr(orthonormal.T, mode="r", pivoting=True)
    ends = np.cos(np.pi * (np.arange(2 * D + 1) + 0.5) / (2 * D + 1))
    return ends, x[:, pivots[:m]]


def _free_squares(D: int, T: np.ndarray, T3: np.ndarray) -> tuple[list[Squares], np.ndarray]:
    """The squares of multiplier 1, those of p_1 and q_1, and what they add (see `_programme`).

    Args:
        T, T3: Chebyshev polynomials at the points, shapes (D + 1, points), (D + 1, 3, points).
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
    """Weights of the identity, for each polynomial of the three bases: high degrees cost more."""
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
    """A feasible point near a solution, in whole numbers; not yet checked.

    Args:
        matrices: as the cones of `_programme`.
        halves: of the multiples of the identity that the squares of multiplier 1 can lose, (2,).
        digits: of the factors of other multipliers, and of these.

    Raises:
        LinAlgError: rounding has made a matrix indefinite.
        UnresolvedError: the deadline has expired.
    """
    few, many = digits
    weights = tuple(math.ceil(float(x[0, 0]) * 10**_DIGITS) for x in matrices[: 2 * D])
    b, *F = [_round(matrix, _DIGITS) for matrix in matrices[2 * D : 3 * D + 2]]
    p_2, *q = [_round(matrix, few) for matrix in matrices[3 * D + 2 : 3 * D + 9]]
    # What is missing at the programme's points alone may be large elsewhere in the cube.
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
            _round(cone.basis @ form @ cone.basis.T, many)
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
        forms = complete(free, forms, conditions(free, forms) + missing, _CAP * half)
    return certificate


def _values(coefficients: Coefficients, multiple: int, x: np.ndarray) -> np.ndarray:
    """A polynomial at points (variables, m), from its coefficients as `remainder` has them."""
    T = chebyshev(max(map(max, coefficients), default=0), x)
    values = np.zeros(x.shape[1])
    for index, c in coefficients.items():
        values += c / multiple * np.prod([T[n, i] for i, n in enumerate(index)], axis=0)
    return values


def _round(matrix: np.ndarray, digits: int) -> Factor:
    """The Cholesky factor of a positive definite matrix, rounded.

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
    """The certificate of the largest s that the programme of a degree excludes K points for.

    Args:
        d: no certificate has less than 3.
        K: number of points, above 2 d.
        degree: at least 6 and even: larger degrees exclude more, and take longer.
        deadline: of the search.
        progress: called with `(done, total, nan)` after each programme.

    Returns:
        It, checked; None where no point of the programme could be rounded.

    Raises:
        UnresolvedError: the deadline has expired.
    """
    deadline = deadline or Deadline()
    start = LEVENSHTEIN.evaluate(d, K)
    if d < 3 or start is None:
        return None
    s, slope = 1.0 - start.value, K * (d - 1) / (2.0 * start.value)
    total = (degree - _FIRST_DEGREE) // 2 + 2
    for done, D in enumerate(range(_FIRST_DEGREE, degree + 1, 2)):
        if progress is not None:
            progress(done, total, math.nan)
        loss = _ACCURACY * slope
        end = _search(d, s, D, K - loss, slope, loss * (0.1 if D == degree else 3.0), deadline)
        if end is None:
            return None
        s, slope, y = end
    for attempt in range(_ATTEMPTS):
        cosine = Fraction(math.floor(s * _UNIT), _UNIT)
        certificate = _prove(d, K, cosine, degree, y, loss, deadline)
        if certificate is not None:
            return certificate
        s -= _ACCURACY * 2**attempt
    return None


def _search(
    d: int, s: float, D: int, target: float, slope: float, tolerance: float, deadline: Deadline
) -> tuple[float, float, np.ndarray] | None:
    """Where the bound of degree D is the target: s, the slope there, and the dual solution."""
    last: tuple[float, float] | None = None
    for _ in range(_SEARCHES):
        cones, b, _ = _programme(d, s, D)
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
    """The certificate at s with the fewest digits that the check accepts; None without one."""
    cones, b, reserves = _programme(d, float(s), D)
    epsilon = loss / 4.0 / np.maximum(-(reserves @ y), 1.0)
    goal = K - 1.0 - loss / 10.0
    solution = solve_program(cones, b - epsilon @ reserves, goal, 0.0, deadline)
    if not solution.feasible:
        return None
    matrices = [c.basis @ x @ c.basis.T for c, x in zip(cones, solution.X, strict=True)]
    few, many = _SQUARE_DIGITS, _EXTRA_DIGITS + math.ceil(-math.log10(epsilon[1]))
    for _ in range(_ATTEMPTS):
        try:
            certificate = _certificate(d, K, s, D, matrices, epsilon / 2.0, (few, many), deadline)
            certificate.check(deadline)
            return certificate
        except (np.linalg.LinAlgError, ValueError):  # SciPy refuses what is not finite
            few += 1
        except RefutedError:
            many += 1
    return None
