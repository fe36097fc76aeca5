"""From a good start to a stationary point of the unconstrained feature model: L-BFGS, then Newton.

L-BFGS descends until its line search drowns in the last bits of the objective, at gradients near
1e-8. Newton steps on the gradient alone then reach the rounding floor in two to five iterations.
Rows that barely matter (rattlers, whose share of the loss is exp(-gap / tau)) are brought to the
scale of the others first, so they are placed as precisely as the rest. Where the Hessian shows a
direction of descent, the point was a saddle: it is left along that direction.
"""

import itertools
from collections.abc import Callable

import numpy as np

from gnc_cli.geometry.active_pairs import tangent_bases
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import lbfgs
from gnc_cli.search.ufm_descent import UfmObjective

DENSE_UNKNOWNS = 700
"""Up to this many tangent unknowns the Hessian is decomposed; beyond, MINRES on products."""
_MAX_NEWTON = 60
_LONGEST_MOVE = 0.2
_MAX_ESCAPES = 4
_SADDLE = -1e-6
"""Smallest relative eigenvalue that still passes for rounding."""


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
    """A local minimiser near x (K + N, d), and the number of steps used.

    Args:
        tolerance: gradient size (largest component) to reach.
        max_steps: limit for all L-BFGS iterations together.
        report: called with (step, value) after each L-BFGS iteration.
        finish: False leaves Newton's steps out where they are costly (no dense Hessian): enough
            to rank starts.
    """
    steps = 0

    def report_total(step: int, value: float) -> None:
        report(steps + step, value)

    x = objective.retract(x)
    for _ in range(_MAX_ESCAPES + 1):
        if max_steps > steps:
            x, used = lbfgs(
                objective.value_and_gradient,
                x,
                on_sphere=objective.on_sphere,
                max_steps=max_steps - steps,
                memory=int(np.clip(2**28 // (16 * x.size), 3, 30)),
                tolerance=tolerance,
                deadline=deadline,
                report=report_total,
            )
            steps += used
        if not finish and not _is_dense(objective, x):
            break
        x, used, downhill = _newton(objective, x, deadline)
        steps += used
        if downhill is None or deadline.expired or steps >= max_steps:
            break
        x = _escape(objective, x, downhill)
    return x, steps


def _newton(
    objective: UfmObjective, x: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Newton's method on the gradient while it shrinks; a direction of descent if x is a saddle."""
    for step in range(_MAX_NEWTON):
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
        before = _residual(objective, x, scale)
        for move in moves:
            longest = float(np.linalg.norm(move, axis=-1).max())
            if longest > _LONGEST_MOVE:
                move = move * (_LONGEST_MOVE / longest)
            trial = objective.retract(x + move)
            if _residual(objective, trial, scale) < before:
                x = trial
                break
        else:
            return x, step, None
    return x, _MAX_NEWTON, None


def _is_dense(objective: UfmObjective, x: np.ndarray) -> bool:
    return len(x) * (x.shape[1] - objective.on_sphere) <= DENSE_UNKNOWNS


def _row_scale(objective: UfmObjective, gradient: np.ndarray) -> np.ndarray:
    """(K + N, 1) factors that bring the rows of the Hessian to one scale."""
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
    """Newton's step and shorter ones, each (K + N, d); or a direction of negative curvature."""
    basis = tangent_bases(x) if objective.on_sphere else np.eye(len(x[0]))[None].repeat(len(x), 0)
    hessian = _scaled_hessian(objective, x, basis, scale)
    # Rotating W and H together changes nothing: those directions are made stiff, so that they
    # neither mix with the flat ones nor pass for saddles.
    turns = _rotations(x, basis, scale)
    hessian -= turns @ (turns.T @ hessian)
    hessian -= (hessian @ turns) @ turns.T
    largest = float(np.linalg.norm(hessian, 2))
    hessian += largest * turns @ turns.T
    values, vectors = np.linalg.eigh(hessian)
    if values[0] < _SADDLE * largest:
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
    """Hessian in tangent coordinates, (P f, P f), rows and columns scaled."""
    P, d, f = basis.shape
    columns = []
    for p in range(P):
        directions = np.zeros((f, P, d))
        directions[:, p] = scale[p] * basis[p].T
        bent = objective.curvature(x, directions) * scale
        columns.append(np.einsum("mpd,pdf->mpf", bent, basis).reshape(f, P * f))
    hessian = np.concatenate(columns)
    return 0.5 * (hessian + hessian.T)


def _rotations(x: np.ndarray, basis: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Orthonormal coordinates, (P f, r), of the common rotations of all rows."""
    P, d, f = basis.shape
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    turned = np.zeros((d * (d - 1) // 2, P, d))
    for row, (i, j) in zip(turned, itertools.combinations(range(d), 2), strict=True):
        row[:, i], row[:, j] = inverse[:, 0] * x[:, j], -inverse[:, 0] * x[:, i]
    coordinates = np.einsum("rpd,pdf->rpf", turned, basis).reshape(len(turned), P * f)
    vectors, sizes, _ = np.linalg.svd(coordinates.T, full_matrices=False)
    return vectors[:, sizes > 1e-10 * sizes[0]]


def _expand(flat: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return np.einsum("pf,pdf->pd", flat.reshape(basis.shape[0], -1), basis)


def _iterative_move(
    objective: UfmObjective,
    x: np.ndarray,
    gradient: np.ndarray,
    scale: np.ndarray,
    deadline: Deadline,
) -> np.ndarray:
    """Newton's step by MINRES on Hessian products; zero where the deadline passed on the way."""
    from scipy.sparse.linalg import LinearOperator, minres

    def product(flat: np.ndarray) -> np.ndarray:
        if deadline.expired:
            raise TimeoutError
        direction = objective.project(x, scale * flat.reshape(x.shape))
        bent = objective.curvature(x, direction[None])[0]
        return (scale * bent).ravel()

    operator = LinearOperator((x.size, x.size), matvec=product, dtype=np.float64)
    try:
        solved, _ = minres(operator, -(scale * gradient).ravel(), rtol=1e-5, maxiter=300)
    except TimeoutError:
        return np.zeros_like(x)
    return objective.project(x, scale * solved.reshape(x.shape))


def _escape(objective: UfmObjective, x: np.ndarray, downhill: np.ndarray) -> np.ndarray:
    """The lowest of a few points along +-downhill."""
    unit = downhill / np.linalg.norm(downhill, axis=-1).max()
    trials = [objective.retract(x + t * unit) for t in (-0.3, -0.1, -0.03, 0.03, 0.1, 0.3)]
    return min(trials, key=objective.value)
