"""Descents of many starts at once, and L-BFGS.

`descend_batch` is Adam on rows in float32 while the sharpness of the smoothed maximum grows with
every step, in NumPy alone: the starts of a batch share the calls into NumPy, and torch and geoopt
need not be loaded. A start of 1,000 steps takes 26 ms at (10, 100), where 2,000 steps of L-BFGS in
float64 took 238 ms to ends of the same quality, and 2 ms over orbits of ten matrices. One second
moment per row, so that every row moves as far. Half-way, where the smallest distances already
differ from the others, estimates have the order of the ends (correlation 0.99 at (10, 100)). The
best quarter is continued, at nearly half the time for all.

The gradients are those of `geometry.smoothing`, of which this is the Tammes case. It serves all
descents without given rows on the CPU.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import Parametrisation
from gnc_cli.search.starts import unit

_RANKED_FROM = 0.03
"""Share of its final value that the sharpness has half-way: from there on the order of estimates no
longer changes."""
_HALF = 0.5
"""Share of the steps after which starts are ranked."""
STARTS_PER_END = 4
"""Number of starts for each that is continued from half-way."""
MEAN_LENGTH = 0.65
"""Mean length of a descent, as a share of a complete one: most end half-way."""
_PER_STEP, _PER_PAIR, _PER_PAIR_AND_DIMENSION = 1e-4, 2.2e-9, 4e-11
_PER_ENTRY = 1e-10
"""Seconds of a step: of a batch, and of each start per pair, per pair and dimension, and per entry
of the matrices that make a code from its unknown rows."""
_MOMENT = 0.9
"""Share of both moments that a step keeps."""
_LENGTH, _MAX_LENGTH = 1.0, 0.3
"""Length of a step times `sharpness / sqrt(d)`, and the largest at low sharpness, in radians."""
_TAIL, LAST_SHARPENING = 0.2, 100.0
"""Last share of the steps, in which the sharpness may grow further, and the factor: as good as 300
steps of L-BFGS at higher sharpness, at a tenth of the time."""
_MIN_SIZE = 1e-20
"""Size added to that of a gradient, which may be 0."""
_MIN_EXPONENT = -60.0
"""Smallest exponent of a weight: lower ones have no effect, and give denormal numbers in float32,
which are slow."""


def lbfgs(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    on_sphere: bool,
    max_steps: int,
    memory: int,
    tolerance: float,
    deadline: Deadline,
    report: Callable[[int, float], None] | None = None,
) -> tuple[np.ndarray, int]:
    """Minimise by SciPy's L-BFGS over rows parametrised as x / |x| (`on_sphere`), or free rows.

    Args:
        function: returns the value and the Euclidean gradient (P, d) at points (P, d).
        start: rows, shape (P, d).
        on_sphere: True for unit rows.
        max_steps: largest number of iterations.
        memory: number of gradients in the approximation of the Hessian.
        tolerance: gradient size (largest component) to reach.
        deadline: polled at each evaluation.
        report: called as report(step, best value) after each iteration.

    Returns:
        The best point evaluated (the start where there was no time), and the number of iterations.
    """
    from scipy.optimize import minimize

    best_value, best_point, steps = np.inf, start, 0

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best_value, best_point
        if deadline.expired:
            raise TimeoutError  # leaves scipy's loop
        point = flat.reshape(start.shape)
        norms = np.linalg.norm(point, axis=-1, keepdims=True)
        if on_sphere:
            point = point / norms
        value, gradient = function(point)
        if value < best_value:
            best_value, best_point = value, point
        if on_sphere:
            gradient = gradient - np.sum(gradient * point, axis=-1, keepdims=True) * point
            gradient = gradient / norms
        return value, gradient.ravel()

    def count(_: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if report is not None:
            report(steps, best_value)

    with contextlib.suppress(TimeoutError):
        minimize(
            evaluate,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=count,
            options={
                "maxiter": max_steps,
                "maxfun": 4 * max_steps + 20,
                "maxcor": memory,
                "ftol": 0.0,
                "gtol": tolerance,
            },
        )
    return best_point, steps


@dataclass(frozen=True)
class End:
    """End of one of several descents."""

    start: int
    """Index of its start."""
    rows: np.ndarray
    """Unknown unit rows, shape (M, d), float64."""
    value: float
    """Estimate of the largest cosine that the basin leads to."""


def descend_batch(
    parametrisation: Parametrisation,
    starts: np.ndarray,
    sharpness: np.ndarray,
    end: float,
    steps: int,
    deadline: Deadline,
    *,
    sharpening: float = 1.0,
    starts_per_end: int = STARTS_PER_END,
) -> tuple[list[End], int]:
    """Descend from all starts while the sharpness grows to `end`.

    The growth follows the share of the steps so far, or of the time of the deadline where that is
    larger: a deadline shortens descents, and their ends are as sharp.

    Args:
        parametrisation: free, or the orbits of a group; no given rows.
        starts: unknown unit rows, shape (R, M, d).
        sharpness: the first of each start, shape (R,).
        end: the last sharpness, of the estimates.
        steps: number of steps of a complete descent.
        deadline: polled at each step.
        sharpening: factor by which the sharpness of the last steps grows above `end`.
        starts_per_end: the best one in this many starts is continued from half-way.

    Returns:
        The ends of the starts that were continued, best first; the number of steps of all starts.
    """
    numbers, rows = np.arange(len(starts)), starts.astype(np.float32)
    single = replace(
        parametrisation,
        images=_float32(parametrisation.images),
        projections=_float32(parametrisation.projections),
    )
    begin, seconds, length = deadline.elapsed, deadline.remaining, _LENGTH * starts.shape[2] ** 0.5
    first, last = np.log(sharpness), np.log(end)
    middle = np.maximum(first, last + np.log(_RANKED_FROM))
    tail = _TAIL if sharpening > 1.0 else 0.0
    momentum, size = np.zeros_like(rows), np.zeros_like(rows[..., :1])
    count, share, num_ends = 0, 0.0, -(-len(starts) // starts_per_end)
    while share < 1.0 and not deadline.expired:
        if share >= _HALF and len(numbers) > num_ends:
            values = estimates(parametrisation, rows, _RANKED_FROM * end)
            best = np.argsort(values, kind="stable")[:num_ends]
            numbers, rows, momentum, size = numbers[best], rows[best], momentum[best], size[best]
        rise = np.interp(share, (0.0, _HALF), (0.0, 1.0))
        second_rise = np.interp(share, (_HALF, 1.0 - tail), (0.0, 1.0))
        log_beta = first + (middle - first) * rise + (last - middle) * second_rise
        if share > 1.0 - tail:
            log_beta = log_beta + np.log(sharpening) * (share - 1.0 + tail) / tail
        beta = np.exp(log_beta[numbers])
        beta = beta.astype(np.float32)[:, None, None]
        codes, _, weights = _weights(single, rows, beta)
        gradient = weights @ codes / weights.sum(axis=(1, 2), keepdims=True)
        gradient = _tangent(rows, _projected(single, gradient))
        momentum += (1.0 - _MOMENT) * (gradient - momentum)
        size += (1.0 - _MOMENT) * ((gradient**2).sum(axis=-1, keepdims=True) - size)
        count += 1
        step = np.minimum(_MAX_LENGTH, length / beta) / np.float32((1.0 - _MOMENT**count) ** 0.5)
        rows = unit(rows - step * momentum / (np.sqrt(size) + np.float32(_MIN_SIZE)))
        momentum = _tangent(rows, momentum)
        share = max(count / steps, (deadline.elapsed - begin) / seconds)
    rows = unit(_projected(parametrisation, rows.astype(np.float64)))
    values = estimates(parametrisation, rows, end)
    order = np.argsort(values, kind="stable")[:num_ends]
    return [End(int(numbers[i]), rows[i], float(values[i])) for i in order], count * len(starts)


def _float32(matrices: np.ndarray | None) -> np.ndarray | None:
    return None if matrices is None else matrices.astype(np.float32)


def _projected(parametrisation: Parametrisation, vectors: np.ndarray) -> np.ndarray:
    """Return vectors (R, M, d) at the unknown rows, projected to the space of each row."""
    if parametrisation.projections is None:
        return vectors
    return np.asarray((parametrisation.projections @ vectors.transpose(1, 2, 0)).transpose(2, 0, 1))


def _tangent(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the tangent parts of vectors (..., d) at unit rows (..., d)."""
    return np.asarray(vectors - np.einsum("...d,...d->...", rows, vectors)[..., None] * rows)


def step_seconds(d: int, rows: int, K: int, starts: int = 1) -> float:
    """Return roughly the seconds of one step of a batch; fewer unknown `rows` than K are orbits."""
    images = K * d * d * _PER_ENTRY if rows < K else 0.0
    return _PER_STEP + starts * (rows * K * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION) + images)


def _weights(
    parametrisation: Parametrisation, rows: np.ndarray, beta: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes (R, K, d) of unknown rows (R, M, d), their largest cosines, and pairs' weights.

    The weights exp(beta (cosine - largest)), shape (R, M, K), are those of a row's whole orbit, and
    0 for a row with itself.
    """
    codes = rows
    if parametrisation.images is not None:
        orbits = rows[:, parametrisation.source].transpose(1, 2, 0)
        codes = np.ascontiguousarray((parametrisation.images @ orbits).transpose(2, 0, 1))
    weights = rows @ codes.transpose(0, 2, 1)
    selves = np.arange(rows.shape[1]), parametrisation.representatives
    weights[:, *selves] = -2.0
    largest = weights.max(axis=(1, 2), keepdims=True)
    weights -= largest
    weights *= beta
    np.exp(np.maximum(weights, _MIN_EXPONENT, out=weights), out=weights)
    weights[:, *selves] = 0.0
    if parametrisation.source is not None:
        counts = np.bincount(parametrisation.source)
        weights *= counts[:, None].astype(weights.dtype)
    return codes, largest, weights


def smoothed_cosine(
    parametrisation: Parametrisation, beta: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the smoothed largest cosine of unknown rows (M, d), with its Euclidean gradient."""

    def value_and_gradient(rows: np.ndarray) -> tuple[float, np.ndarray]:
        (code,), top, (weights,) = _weights(parametrisation, rows[None], beta)
        total = float(weights.sum())
        # Each pair counts for both of its rows, and the images of a row move with it.
        gradient = (2.0 / total) * (weights @ code)
        (gradient,) = _projected(parametrisation, gradient[None])
        return top.item() + np.log(total) / beta, gradient

    return value_and_gradient


def estimates(parametrisation: Parametrisation, rows: np.ndarray, beta: float) -> np.ndarray:
    """Return the weighted cosines (R,) of unknown rows (R, M, d) at sharpness beta.

    They estimate the largest cosines of the basins that a descent to this sharpness has reached.
    """
    rows = rows.astype(np.float64)
    codes, _, weights = _weights(parametrisation, rows, beta)
    cosines = rows @ codes.transpose(0, 2, 1)
    return np.asarray((weights * cosines).sum(axis=(1, 2)) / weights.sum(axis=(1, 2)))
