"""Semidefinite programs whose conditions are those of sums of squares: an interior-point method.

Minimise <C, X> under <A_i, X> = b_i with X positive semidefinite, in blocks. If an identity of
polynomials is imposed at as many points as there are coefficients, then every square is v^T X v
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
"""Start of the interior-point method, as a multiple of the identity."""
_MOST_STEPS = 80
"""Steps of the interior-point method, at most."""
_FEASIBILITY = 1e-10
"""Violation of a condition that rounding to a certificate compensates."""
_PRIMAL_TOLERANCE = 1e-5
"""Violation of a condition of the program below which the objective is looked at."""
_DUAL_TOLERANCE = 1e-6
"""Violation of a condition of the dual program below which the objective is looked at."""
_MIN_EIGENVALUE = 1e-15
"""Least eigenvalue of a scaled system; smaller ones are rounding errors."""
_REFINEMENTS = 3
"""Iterative refinements of the solution of a linear system."""
_GRADIENTS = 25
"""Steps of conjugate gradients, at most."""
_REDUCTION, _RESIDUAL = 1e-3, 1e-12
"""Violation of the conditions at which conjugate gradients end: a share of that before, and an
absolute one."""
_BOUNDARY_SHARE = 0.95
"""Length of a step, as a share of the step to the boundary."""
_TRACE = 1e-5
"""Weight of the trace of squares in the objective, without which they grow needlessly."""
_COEFFICIENT_WEIGHT = 1e-3
"""Weight of coefficients relative to values at the points, in the bases of squares."""


class Dense:
    """A matrix variable X with conditions of any rank, for small matrices.

    X and the inverse of Z are both large. Only extended precision keeps the conditions satisfied.
    """

    def __init__(self, A: np.ndarray, C: np.ndarray, basis: np.ndarray) -> None:
        """Change the basis of the conditions.

        Args:
            A: matrices of the conditions <A_i, X>, shape (m, n, n).
            C: matrix of the part <C, X> of the objective, shape (n, n).
            basis: new basis, shape (n, n): X stands for `basis` X `basis`^T in the old one.
        """
        self.basis = basis
        self.C = basis.T @ C @ basis
        self._A = basis.T @ A @ basis
        self._flat = self._A.reshape(len(A), -1)
        self._extended = self._flat.astype(np.longdouble)

    def conditions(self, X: np.ndarray) -> np.ndarray:
        """Return <A_i, X> for all i, shape (m,)."""
        return np.asarray(self._extended @ X.ravel())

    def combination(self, y: np.ndarray) -> np.ndarray:
        """Return the sum of y_i A_i, shape (n, n)."""
        return np.asarray((y @ self._extended).reshape(self.C.shape))

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return R, shape (n^2, m): (R^T R)_ij = tr(A_i X A_j Y), X and Y positive definite."""
        products = np.linalg.cholesky(X).T @ self._A @ np.linalg.cholesky(Y)
        return np.asarray(products.reshape(self._flat.shape).T)


class Squares:
    """A matrix variable whose conditions are sums of squares v^T X v, at each of some points.

    Its basis makes the vectors v nearly orthonormal over the points. X stands for
    `basis` X `basis`^T in the basis of v.
    """

    def __init__(self, vectors: Sequence[np.ndarray], places: slice, m: int) -> None:
        """Choose the basis.

        Args:
            vectors: one or three arrays of vectors v, shape (n, points) each.
            places: places of the conditions at the points among all conditions.
            m: number of all conditions.
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
        """Return <A_i, X> for all i, shape (m,)."""
        result = np.zeros(self._m)
        squares = ((self._rows @ X) * self._rows).sum(axis=1)
        result[self._places] = squares.reshape(self._copies, -1).sum(axis=0)
        return result

    def combination(self, y: np.ndarray) -> np.ndarray:
        """Return the sum of y_i A_i, shape (n, n)."""
        return np.asarray((self._rows.T * np.tile(y[self._places], self._copies)) @ self._rows)

    def root(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the root of `Dense.root`, shape (n^2, m)."""
        X_root, Y_root = (
            (self._rows @ np.linalg.cholesky(matrix)).reshape(self._copies, -1, len(matrix))
            for matrix in (X, Y)
        )
        result = np.zeros((X.size, self._m))
        result[:, self._places] = np.einsum("gmi,gmj->ijm", X_root, Y_root).reshape(X.size, -1)
        return result

    def schur(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return R^T R of `root` in less time, shape (m, m)."""
        products = (self._rows @ X @ self._rows.T) * (self._rows @ Y @ self._rows.T)
        c, n = self._copies, len(self._rows) // self._copies
        result = np.zeros((self._m, self._m))
        result[self._places, self._places] = products.reshape(c, n, c, n).sum(axis=(0, 2))
        return result


Cone = Dense | Squares


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """Return the basis in which the mean of v v^T over the rows v is the identity.

    Args:
        rows: vectors v, shape (number, n).

    Returns:
        Upper triangular matrix, shape (n, n), with which rows are multiplied from the right.
    """
    triangle = np.linalg.qr(rows, mode="r")
    return np.linalg.inv(triangle) * math.sqrt(len(rows))


@dataclass
class Solution:
    """A point of a program, and of its dual."""

    X: list[np.ndarray]
    """Matrix of each cone, shape (n, n)."""
    y: np.ndarray
    """Point of the dual, shape (m,)."""
    primal: float
    """Objective of the program."""
    dual: float
    """Objective of the dual."""
    feasible: bool
    """True if the objective is below the goal, and all conditions are satisfied."""


def solve_program(
    cones: Sequence[Cone], b: np.ndarray, goal: float, gap: float, deadline: Deadline
) -> Solution:
    """Return a point near the central path with an objective below `goal`, or an optimum.

    Args:
        cones: the matrix variables.
        b: right-hand sides, shape (m,).
        goal: objective at which to end.
        gap: gap between the objectives at which to end.
        deadline: polled at each step.

    Raises:
        UnresolvedError: the deadline has expired.
    """
    X = [np.eye(len(cone.C)) * _START for cone in cones]
    Z = [np.eye(len(cone.C)) * _START for cone in cones]
    y = np.zeros(len(b))
    best = Solution(X, y, math.inf, -math.inf, feasible=False)
    for _ in range(_MOST_STEPS):
        poll(deadline)
        missing = b - conditions(cones, X)
        slack = _doubles(
            [cone.C - cone.combination(y) - z for cone, z in zip(cones, Z, strict=True)]
        )
        primal = _inner([cone.C for cone in cones], X)
        violation = float(np.abs(missing).max())
        close = (
            violation < _PRIMAL_TOLERANCE
            and max(float(np.abs(s).max()) for s in slack) < _DUAL_TOLERANCE
        )
        reached = close and primal < goal
        if close:
            best = Solution(
                X, y, primal, float(b @ y), feasible=reached and violation < _FEASIBILITY
            )
            if best.feasible or (not reached and _inner(X, Z) < gap):
                break
        try:
            X, y, Z = _step(cones, X, y, Z, missing, slack, central=reached)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):  # no finite step exists
            break
    return best


def complete(
    cones: Sequence[Cone], X: Sequence[np.ndarray], b: np.ndarray, caps: np.ndarray
) -> list[np.ndarray]:
    """Change X so that it meets all conditions, by the least change relative to X.

    Args:
        cones: the matrix variables.
        X: matrix of each cone, shape (n, n).
        b: right-hand sides, shape (m,).
        caps: cap of the eigenvalues that weigh a change, in the basis of certificates, for each
            cone.

    Raises:
        LinAlgError: the conditions depend on each other, within rounding errors.
    """
    capped = [
        _symmetric(np.linalg.inv(np.linalg.inv(x) + cone.basis.T @ cone.basis / cap))
        for cone, x, cap in zip(cones, X, caps, strict=True)
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
    """Sum <A_i, X> over all cones, for all i; shape (m,).

    Args:
        cones: the matrix variables.
        X: matrix of each cone, shape (n, n).
    """
    terms = [cone.conditions(x) for cone, x in zip(cones, X, strict=True)]
    return np.asarray(np.sum(terms, axis=0), dtype=float)


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
    """Take a predictor-corrector step from (X, y, Z).

    Args:
        cones: the matrix variables.
        X: matrix of each cone.
        y: point of the dual, shape (m,).
        Z: slack matrix of the dual, for each cone.
        missing: violation of the conditions, shape (m,).
        slack: violation of the conditions of the dual, for each cone.
        central: aim at the central path alone, without lowering the objective.

    Raises:
        LinAlgError: rounding errors are larger than the distance to the boundary.
    """
    inverses = [_symmetric(np.linalg.inv(z)) for z in Z]
    blocks = [*zip(cones, X, inverses, strict=True)]
    # The entries of small cones are far larger than those of squares, which a sum of all would
    # lose: M = R^T R is never formed.
    roots = [cone.root(x, w) for cone, x, w in blocks if isinstance(cone, Dense)]
    squares = np.sum([cone.schur(x, w) for cone, x, w in blocks if isinstance(cone, Squares)], 0)
    scale = np.sqrt(np.diag(squares))
    # Small eigenvalues are rounding errors, and may be negative.
    values, vectors = np.linalg.eigh(squares / scale / scale[:, None])
    roots.append((vectors * np.sqrt(np.maximum(values, _MIN_EIGENVALUE))).T * scale)
    solve = _solver(roots)

    def schur_product(y: np.ndarray) -> np.ndarray:
        """Return the change of the conditions under a change of the dual point by y."""
        return conditions(cones, [_symmetric(x @ c.combination(y) @ w) for c, x, w in blocks])

    def direction(
        mu: float, corrections: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
        """Return the step towards X Z = mu I, of second order with the corrections dX dZ."""
        fixed = [
            _symmetric(mu * w - x - (x @ s + c) @ w)
            for x, w, s, c in zip(X, inverses, slack, corrections, strict=True)
        ]
        tolerance = _RESIDUAL + _REDUCTION * float(np.abs(missing).max())
        dy = _conjugate_gradients(
            schur_product, solve, missing - conditions(cones, fixed), tolerance
        )
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
    predicted = _inner(_move(X, alpha, dX), _move(Z, beta, dZ)) / order
    share = max(1e-3, min(1.0, (predicted / mu) ** 2)) if min(alpha, beta) > 0.1 else 0.5
    if central:
        share = 1.0
    dX, dy, dZ = direction(share * mu, [a @ b for a, b in zip(dX, dZ, strict=True)])
    alpha = min(1.0, _BOUNDARY_SHARE * _reach(X, dX))
    beta = min(1.0, _BOUNDARY_SHARE * _reach(Z, dZ))
    return _move(X, alpha, dX), y + beta * dy, _move(Z, beta, dZ)


def _conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    solve: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Solve a linear system by conjugate gradients, preconditioned by an approximate solver."""
    y, missing = np.zeros(len(right)), right
    direction, last = np.zeros(len(right)), math.inf
    for _ in range(_GRADIENTS):
        preconditioned = solve(missing)
        power = float(missing @ preconditioned)
        direction = preconditioned + power / last * direction
        last = power
        change = product(direction)
        step = power / float(direction @ change)
        y, missing = y + step * direction, missing - step * change
        if np.abs(missing).max() < tolerance:
            break
    return y


def _solver(roots: Sequence[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a solver of (the sum of R^T R) y = r over all roots R, by QR of the stacked roots."""
    stacked = np.concatenate(roots)
    norms = np.linalg.norm(stacked, axis=0)
    R = np.linalg.qr(stacked / norms, mode="r")
    return lambda r: np.asarray(linalg.cho_solve((R, False), r / norms) / norms)


def _reach(X: Sequence[np.ndarray], dX: Sequence[np.ndarray]) -> float:
    """Return the largest step along dX that stays positive semidefinite."""
    slope = min(float(linalg.eigvalsh(dx, x)[0]) for x, dx in zip(X, dX, strict=True))
    return -1.0 / slope if slope < 0.0 else math.inf


def _doubles(matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [matrix.astype(float) for matrix in matrices]


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.asarray((matrix + matrix.T) / 2.0)


def _inner(X: Sequence[np.ndarray], Y: Sequence[np.ndarray]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(X, Y, strict=True))


def _move(X: Sequence[np.ndarray], step: float, dX: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [x + step * dx for x, dx in zip(X, dX, strict=True)]
