"""Polish of the unconstrained feature model to a stationary point: L-BFGS, then Newton.

L-BFGS descends until rounding of the objective stops its line search, at gradients of about 1e-8.
Newton steps on the gradient alone then reach the rounding floor in two to five iterations. Rows
that barely matter (rattlers, whose share of the loss is exp(-gap / tau)) are first brought to the
scale of the others, so that they are placed as precisely. Where the Hessian shows a
direction of descent, the point was a saddle, and the descent continues along that direction.
"""

import itertools
from collections.abc import Callable

import numpy as np

from gnc_cli.geometry.active_pairs import tangent_bases
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import lbfgs
from gnc_cli.search.ufm_descent import UfmObjective

DENSE_UNKNOWNS = 700
"""Largest number of tangent unknowns whose Hessian is decomposed; beyond, MINRES on products."""
_MAX_NEWTON_STEPS = 60
"""Newton steps of a polish, of which two to five are usual."""
_MAX_MOVE = 0.2
"""Longest move of a row in a Newton step: the quadratic model holds close to the point only."""
_MAX_ESCAPES = 4
"""Saddles that a polish escapes from."""
_MIN_EIGENVALUE = -1e-6
"""Smallest eigenvalue, relative to the largest, that may be rounding; below, x is a saddle."""


def polish_ufm(
    objective: UfmObjective,
    x: np.ndarray,
    *,
    tolerance: float,
    max_steps: int,
    deadline: Deadline,
    report: Callable[[int, float], None],
    finish: bool,
) -> tuple[np.ndarray, int]:
    """Return a local minimiser close to x, shape (K + N, d), and the number of steps.

    Args:
        objective: objective to minimise.
        x: start, shape (K + N, d).
        tolerance: largest component of the gradient to reach.
        max_steps: limit of the L-BFGS iterations in total.
        deadline: end of the time, a signal included.
        report: called with (step, value) after each L-BFGS iteration.
        finish: False omits Newton steps where they are costly (no dense Hessian), which is
            sufficient to rank starts.
    """
    steps = 0

    def report_total(step: int, value: float) -> None:
        report(steps + step, value)

    x = objective.retract(x)
    for _ in range(_MAX_ESCAPES + 1):
        if max_steps > steps:
            x, iterations = lbfgs(
                objective.value_and_gradient,
                x,
                on_sphere=objective.on_sphere,
                max_steps=max_steps - steps,
                memory=int(np.clip(2**28 // (16 * x.size), 3, 30)),
                tolerance=tolerance,
                deadline=deadline,
                report=report_total,
            )
            steps += iterations
        if not finish and not _is_dense(objective, x):
            break
        x, iterations, downhill = _newton(objective, x, deadline)
        steps += iterations
        if downhill is None or deadline.expired or steps >= max_steps:
            break
        x = _escape(objective, x, downhill)
    return x, steps


def _newton(
    objective: UfmObjective, x: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Apply Newton's method while the gradient shrinks; return point, steps, direction of descent.

    The direction, shape (K + N, d), is that of a saddle; None at other points.
    """
    for step in range(_MAX_NEWTON_STEPS):
        if deadline.expired:
            return x, step, None
        gradient = objective.value_and_gradient(x)[1]
        scale = _row_scale(objective, gradient)
        gradient = objective.project(x, gradient)
        if _is_dense(objective, x):
            moves, downhill = _newton_moves(objective, x, gradient, scale)
            if downhill is not None:
                return x, step, downhill
        else:
            move = _iterative_move(objective, x, gradient, scale, deadline)
            moves = [move * s for s in (1.0, 0.25, 0.05)]
        residual = _residual(objective, x, scale)
        for move in moves:
            longest = float(np.linalg.norm(move, axis=-1).max())
            if longest > _MAX_MOVE:
                move = move * (_MAX_MOVE / longest)
            trial = objective.retract(x + move)
            if _residual(objective, trial, scale) < residual:
                x = trial
                break
        else:
            return x, step, None
    return x, _MAX_NEWTON_STEPS, None


def _is_dense(objective: UfmObjective, x: np.ndarray) -> bool:
    return len(x) * (int(x.shape[1]) - objective.on_sphere) <= DENSE_UNKNOWNS


def _row_scale(objective: UfmObjective, gradient: np.ndarray) -> np.ndarray:
    """Return factors, shape (K + N, 1), that bring the rows of the Hessian to one scale."""
    if not objective.on_sphere:
        return np.ones((len(gradient), 1))
    size = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return np.where(size > 1e-280, 1.0 / np.sqrt(np.maximum(size, 1e-280)), 0.0)


def _residual(objective: UfmObjective, x: np.ndarray, scale: np.ndarray) -> float:
    gradient = objective.riemannian_gradient(x)
    size = float(np.linalg.norm(scale**2 * gradient, axis=-1).max())
    return size if np.isfinite(size) else np.inf


def _newton_moves(
    objective: UfmObjective, x: np.ndarray, gradient: np.ndarray, scale: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return Newton's step and shorter ones, each (K + N, d), or a direction of descent."""
    basis = tangent_bases(x) if objective.on_sphere else np.eye(len(x[0]))[None].repeat(len(x), 0)
    hessian = _scaled_hessian(objective, x, basis, scale)
    # Rotations of W and H together leave the objective unchanged: these directions become stiff, so
    # that they neither mix with flat ones nor count as saddles.
    turns = _rotations(x, basis, scale)
    hessian -= turns @ (turns.T @ hessian)
    hessian -= (hessian @ turns) @ turns.T
    largest = float(np.linalg.norm(hessian, 2))
    hessian += largest * turns @ turns.T
    values, vectors = np.linalg.eigh(hessian)
    if values[0] < _MIN_EIGENVALUE * largest:
        return [], _expand(vectors[:, 0], basis) * scale
    downhill = -vectors.T @ np.einsum("pd,pdf->pf", gradient * scale, basis).ravel()
    sizes = np.abs(values)
    moving = sizes > 1e-15 * len(sizes) * largest
    # Damping, for optima so flat that the quadratic model holds only nearby.
    solved = [
        vectors[:, moving] @ (downhill[moving] / (sizes[moving] + damping * largest))
        for damping in (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
    ]
    return [_expand(flat, basis) * scale for flat in solved], None


def _scaled_hessian(
    objective: UfmObjective, x: np.ndarray, basis: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Return the Hessian in tangent coordinates, (P f, P f), with rows and columns scaled."""
    P, d, f = basis.shape
    columns = []
    for p in range(P):
        directions = np.zeros((f, P, d))
        directions[:, p] = scale[p] * basis[p].T
        bent = objective.curvature(x, directions) * scale
        columns.append(np.einsum("mpd,pdf->mpf", bent, basis).reshape(f, P * f))
    hessian = np.concatenate(columns)
    return np.asarray(0.5 * (hessian + hessian.T))


def _rotations(x: np.ndarray, basis: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return orthonormal coordinates, (P f, r), of the common rotations of all rows."""
    P, d, f = basis.shape
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    rotated = np.zeros((d * (d - 1) // 2, P, d))
    for row, (i, j) in zip(rotated, itertools.combinations(range(d), 2), strict=True):
        row[:, i], row[:, j] = inverse[:, 0] * x[:, j], -inverse[:, 0] * x[:, i]
    coordinates = np.einsum("rpd,pdf->rpf", rotated, basis).reshape(len(rotated), P * f)
    vectors, sizes, _ = np.linalg.svd(coordinates.T, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-10 * sizes[0]])


def _expand(flat: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("pf,pdf->pd", flat.reshape(basis.shape[0], -1), basis))


def _iterative_move(
    objective: UfmObjective,
    x: np.ndarray,
    gradient: np.ndarray,
    scale: np.ndarray,
    deadline: Deadline,
) -> np.ndarray:
    """Compute Newton's step by MINRES on Hessian products; zero where the deadline passes."""
    from scipy.sparse.linalg import LinearOperator, minres

    def product(flat: np.ndarray) -> np.ndarray:
        if deadline.expired:
            raise TimeoutError
        direction = objective.project(x, scale * flat.reshape(x.shape))
        bent = objective.curvature(x, direction[None])[0]
        return np.asarray((scale * bent).ravel())

    operator = LinearOperator((x.size, x.size), matvec=product, dtype=np.float64)
    try:
        solved, _ = minres(operator, -(scale * gradient).ravel(), rtol=1e-5, maxiter=300)
    except TimeoutError:
        return np.zeros_like(x)
    return objective.project(x, scale * solved.reshape(x.shape))


def _escape(objective: UfmObjective, x: np.ndarray, downhill: np.ndarray) -> np.ndarray:
    """Return the point of the lowest value among a few along +-downhill, shape (K + N, d)."""
    unit = downhill / np.linalg.norm(downhill, axis=-1).max()
    trials = [objective.retract(x + t * unit) for t in (-0.3, -0.1, -0.03, 0.03, 0.1, 0.3)]
    return min(trials, key=objective.value)
