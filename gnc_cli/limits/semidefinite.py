"""Semidefinite programmes whose conditions are those of sums of squares: an interior-point method.

Minimise <C, X> under <A_i, X> = b_i with X positive semidefinite, in blocks. If an identity of
polynomials is asked for at as many points as there are coefficients, then every square is v^T X v
there. So every condition is a matrix of rank one or three, and a step costs little more than
products of matrices (Löfberg and Parrilo 2004). The direction is that of Helmberg, Kojima and
Monteiro, with Mehrotra's predictor.

References:
    C. Helmberg, F. Rendl, R. Vanderbei, H. Wolkowicz, An interior-point method for semidefinite
    programming, SIAM J. Optim. 6 (1996).
    J. Löfberg and P. Parrilo, From coefficients to samples: a new approach to SOS optimization,
    Proc. 43rd IEEE CDC (2004).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from gnc_cli.limits.claim import poll
from gnc_cli.runtime.deadline import Deadline

_START = 10.0
"""Of the interior-point method: this multiple of the identity."""
_MOST_STEPS = 80
_FEASIBLE = 1e-10
"""Violation of a condition that rounding makes up for."""
_PRIMAL_TOLERANCE = 1e-5
"""Violation from which on what is left is removed beside the central path."""
_DUAL_TOLERANCE = 1e-6
"""Violation of a condition of the dual programme."""
_LEAST = 1e-15
"""Eigenvalues of a scaled system are at least this large."""
_REFINEMENTS = 3
"""Of the solution of a linear system."""
_GRADIENTS = 25
"""Most steps of conjugate gradients."""
_REDUCTION, _EXACT = 1e-3, 1e-12
"""What they may leave of the violation of the conditions: a share, and a number."""
_BOUNDARY_SHARE = 0.95
"""Share of the step to the boundary."""
_TRACE = 1e-5
"""Of the squares, this multiple counts in the objective; else they grow without need."""
_COEFFICIENT_WEIGHT = 1e-3
"""Weight of coefficients beside values at the points, in the bases of squares."""


class Dense:
    """A matrix variable X with conditions of any rank, for small matrices.

    X and the inverse of Z are both large here: only in extended precision do steps keep the
    conditions satisfied.
    """

    def __init__(self, A: np.ndarray, C: np.ndarray, basis: np.ndarray) -> None:
        """
        Args:
            A: of the conditions <A_i, X>, shape (m, n, n).
            C: of the share <C, X> of the objective, shape (n, n).
            basis: in the basis of A and C, X is `basis` X `basis`^T.
        """
        self.basis = basis
        self.C = basis.T @ C @ basis
        self._A = basis.T @ A @ basis
        self._flat = self._A.reshape(len(A), -1)
        self._extended = self._flat.astype(np.longdouble)

    def conditions(self, X: np.ndarray) -> np.ndarray:
        """<A_i, X> for all i."""
        return self._extended @ X.ravel()

    def combination(self, y: np.ndarray) -> np.ndarray:
        """The sum of y_i A_i."""
        return (y @ self._extended).reshape(self.C.shape)

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """R of m columns with (R^T R)_ij = tr(A_i X A_j Y), X and Y positive definite."""
        products = np.linalg.cholesky(X).T @ self._A @ np.linalg.cholesky(Y)
        return products.reshape(self._flat.shape).T


class Squares:
    """A matrix variable whose conditions are sums of squares v^T X v, at each of some points.

    In the basis of v, X is `basis` X `basis`^T: v is nearly orthonormal over the points in its own.
    """

    def __init__(self, vectors: Sequence[np.ndarray], places: slice, m: int) -> None:
        """
        Args:
            vectors: one or three, of shape (n, points) each.
            places: of the points' conditions among all m.
        """
        rows = np.concatenate([v.T for v in vectors])
        self._copies, n = len(vectors), rows.shape[1]
        self.basis = orthonormal(
            np.concatenate([rows, _COEFFICIENT_WEIGHT * math.sqrt(len(rows)) * np.eye(n)])
        )
        self.C = _TRACE * self.basis.T @ self.basis
        self._rows = rows @ self.basis
        self._places, self._m = places, m

    def conditions(self, X: np.ndarray) -> np.ndarray:
        """As `Dense.conditions`."""
        result = np.zeros(self._m)
        squares = ((self._rows @ X) * self._rows).sum(axis=1)
        result[self._places] = squares.reshape(self._copies, -1).sum(axis=0)
        return result

    def combination(self, y: np.ndarray) -> np.ndarray:
        """As `Dense.combination`."""
        return (self._rows.T * np.tile(y[self._places], self._copies)) @ self._rows

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """As `Dense.root`."""
        left, right = (
            (self._rows @ np.linalg.cholesky(matrix)).reshape(self._copies, -1, len(matrix))
            for matrix in (X, Y)
        )
        result = np.zeros((X.size, self._m))
        result[:, self._places] = np.einsum("gmi,gmj->ijm", left, right).reshape(X.size, -1)
        return result

    def schur(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """R^T R of the root R, which takes less time."""
        products = (self._rows @ X @ self._rows.T) * (self._rows @ Y @ self._rows.T)
        c, n = self._copies, len(self._rows) // self._copies
        result = np.zeros((self._m, self._m))
        result[self._places, self._places] = products.reshape(c, n, c, n).sum(axis=(0, 2))
        return result


Cone = Dense | Squares


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """The basis in which the mean of v v^T over the rows v is the identity."""
    triangle = np.linalg.qr(rows, mode="r")
    return np.linalg.inv(triangle) * math.sqrt(len(rows))


@dataclass
class Solution:
    """A point of a programme, and of its dual."""

    X: list[np.ndarray]
    y: np.ndarray
    primal: float
    dual: float
    feasible: bool
    """Whether the objective is below what was wanted, and all conditions are satisfied."""


def solve_program(
    cones: Sequence[Cone], b: np.ndarray, goal: float, gap: float, deadline: Deadline
) -> Solution:
    """A point near the central path with an objective below `goal`, or an optimum.

    Args:
        b: right-hand sides, shape (m,).
        goal: of the objective.
        gap: between the objectives, at which to end.

    Raises:
        UnresolvedError: the deadline has expired.
    """
    X = [np.eye(len(cone.C)) * _START for cone in cones]
    Z = [np.eye(len(cone.C)) * _START for cone in cones]
    y = np.zeros(len(b))
    best = Solution(X, y, math.inf, -math.inf, False)
    for _ in range(_MOST_STEPS):
        poll(deadline)
        missing = b - conditions(cones, X)
        slack = _doubles(
            [cone.C - cone.combination(y) - z for cone, z in zip(cones, Z, strict=True)]
        )
        primal = _inner([cone.C for cone in cones], X)
        violation = float(np.abs(missing).max())
        near = (
            violation < _PRIMAL_TOLERANCE
            and max(float(np.abs(s).max()) for s in slack) < _DUAL_TOLERANCE
        )
        reached = near and primal < goal
        if near:
            best = Solution(X, y, primal, float(b @ y), reached and violation < _FEASIBLE)
            if best.feasible or (not reached and _inner(X, Z) < gap):
                break
        try:
            X, y, Z = _step(cones, X, y, Z, missing, slack, central=reached)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):  # no finite step is left
            break
    return best


def complete(
    cones: Sequence[Cone], X: Sequence[np.ndarray], b: np.ndarray, most: np.ndarray
) -> list[np.ndarray]:
    """X with the change that meets all conditions and is least relative to X.

    Args:
        most: eigenvalues above this, in the basis of certificates, count as if they were this
            large; of each block.

    Raises:
        LinAlgError: the conditions depend on each other, within rounding errors.
    """
    capped = [
        _symmetric(np.linalg.inv(np.linalg.inv(x) + cone.basis.T @ cone.basis / cap))
        for cone, x, cap in zip(cones, X, most, strict=True)
    ]
    solve = _solver([cone.root(x, x) for cone, x in zip(cones, capped, strict=True)])
    result = list(X)
    for _ in range(_REFINEMENTS):
        y = solve(b - conditions(cones, result))
        result = [
            r + _symmetric(x @ cone.combination(y) @ x)
            for cone, x, r in zip(cones, capped, result, strict=True)
        ]
    return result


def conditions(cones: Sequence[Cone], X: Sequence[np.ndarray]) -> np.ndarray:
    """<A_i, X> for all i, over all blocks; shape (m,)."""
    total = np.sum([cone.conditions(x) for cone, x in zip(cones, X, strict=True)], axis=0)
    return total.astype(float)


def _step(
    cones: Sequence[Cone],
    X: list[np.ndarray],
    y: np.ndarray,
    Z: list[np.ndarray],
    missing: np.ndarray,
    slack: list[np.ndarray],
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
    blocks = [*zip(cones, X, inverses, strict=True)]
    # The entries of small cones are larger by far than those of squares, which would be lost in
    # the sum of all: M = R^T R is never formed.
    roots = [cone.root(x, w) for cone, x, w in blocks if isinstance(cone, Dense)]
    squares = np.sum([cone.schur(x, w) for cone, x, w in blocks if isinstance(cone, Squares)], 0)
    scale = np.sqrt(np.diag(squares))
    # Its small eigenvalues are rounding errors, and may be negative.
    values, vectors = np.linalg.eigh(squares / scale / scale[:, None])
    roots.append((vectors * np.sqrt(np.maximum(values, _LEAST))).T * scale)
    solve = _solver(roots)

    def changed(y: np.ndarray) -> np.ndarray:
        """What a change of the dual solution by y changes in the conditions."""
        return conditions(cones, [_symmetric(x @ c.combination(y) @ w) for c, x, w in blocks])

    def direction(
        mu: float, corrections: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
        """Towards X Z = mu I, of second order with the corrections dX dZ."""
        fixed = [
            _symmetric(mu * w - x - (x @ s + c) @ w)
            for x, w, s, c in zip(X, inverses, slack, corrections, strict=True)
        ]
        tolerance = _EXACT + _REDUCTION * float(np.abs(missing).max())
        dy = _gradients(changed, solve, missing - conditions(cones, fixed), tolerance)
        parts = [cone.combination(dy) for cone in cones]
        dX = [
            a + _symmetric(x @ part @ w)
            for a, x, part, w in zip(fixed, X, parts, inverses, strict=True)
        ]
        return _doubles(dX), dy, _doubles([s - part for s, part in zip(slack, parts, strict=True)])

    order = sum(map(len, X))
    mu = _inner(X, Z) / order
    dX, dy, dZ = direction(0.0, [np.zeros_like(x) for x in X])
    alpha, beta = min(1.0, _reach(X, dX)), min(1.0, _reach(Z, dZ))
    ahead = _inner(_move(X, alpha, dX), _move(Z, beta, dZ)) / order
    share = max(1e-3, min(1.0, (ahead / mu) ** 2)) if min(alpha, beta) > 0.1 else 0.5
    if central:
        share = 1.0
    dX, dy, dZ = direction(share * mu, [a @ b for a, b in zip(dX, dZ, strict=True)])
    alpha = min(1.0, _BOUNDARY_SHARE * _reach(X, dX))
    beta = min(1.0, _BOUNDARY_SHARE * _reach(Z, dZ))
    return _move(X, alpha, dX), y + beta * dy, _move(Z, beta, dZ)


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


def _solver(roots: Sequence[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Solves (the sum of R^T R) y = r over all roots R, by QR: the sum is not formed."""
    stacked = np.concatenate(roots)
    norms = np.linalg.norm(stacked, axis=0)
    R = np.linalg.qr(stacked / norms, mode="r")
    return lambda r: linalg.cho_solve((R, False), r / norms) / norms


def _reach(X: Sequence[np.ndarray], dX: Sequence[np.ndarray]) -> float:
    """The largest step along dX that stays positive semidefinite."""
    least = min(float(linalg.eigvalsh(dx, x)[0]) for x, dx in zip(X, dX, strict=True))
    return -1.0 / least if least < 0.0 else math.inf


def _doubles(matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [matrix.astype(float) for matrix in matrices]


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2.0


def _inner(X: Sequence[np.ndarray], Y: Sequence[np.ndarray]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(X, Y, strict=True))


def _move(X: Sequence[np.ndarray], step: float, dX: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [x + step * dx for x, dx in zip(X, dX, strict=True)]
