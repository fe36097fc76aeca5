"""Spherical codes with many points: the smooth Tammes descent that fits in memory and in time.

Minimises the largest cosine of K unit rows in R^d through the log-sum-exp over pairs, annealed
while geoopt's Riemannian Adam moves the rows. The second moment of that optimizer is one number a
row, so every row moves about one learning rate a step, however far below the maximum it stands.
Small d relative to K works on lists of close pairs (`numerics.neighbours`), the rest on full passes
(`numerics.blocked`). Whatever happened before, one exact pass in float64 has the last word; it also
certifies rho_one_vs_rest >= 1 - max_cosine.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.large_descent import Descent, Progress
from gnc_cli.errors import DataError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.workers import Workers
from gnc_cli.results import Outcome

__all__ = ["LargeSolution", "solve_large"]


@dataclass(frozen=True)
class LargeSolution:
    """A code with many points, certified from below by its own largest cosine."""

    weights: np.ndarray
    """Unit rows, shape (K, d), float64; given rows come first, as they were given."""
    max_cosine: float
    """Exact: from a float64 pass over all pairs of `weights`."""
    row_maxima: np.ndarray
    """Each row's largest cosine with another row, shape (K,), from the same pass."""
    history: np.ndarray
    """Step and largest cosine seen there, shape (T, 2)."""
    steps: int
    """Steps taken."""
    outcome: Outcome
    """MAX_STEPS_REACHED, TIME_LIMIT, INTERRUPTED or NONFINITE."""


def solve_large(
    d: int,
    K: int,
    *,
    seed: int,
    init: np.ndarray | None = None,
    steps: int | None = None,
    deadline: Deadline | None = None,
    device: str = "cpu",
    threads: int | None = None,
    progress: Progress | None = None,
    fixed: np.ndarray | None = None,
) -> LargeSolution:
    """Spread K points over the unit sphere of R^d; the same seed gives the same code.

    Args:
        d: dimension, at least 2.
        K: number of points, at least 2.
        seed: of the start and of the samples that choose thresholds.
        init: start, nonzero rows, shape (K, d) or, beside `fixed`, its last K - len(fixed) rows.
        steps: descent steps; None for a number by size, or, with a time limit, as many as fit.
        deadline: the solution, its exact pass included, is returned before it expires; only that
            pass itself, about K^2 d flops, is never left out. None for no limit.
        device: of torch.
        threads: workers on a CPU; None for all cores.
        progress: told after each step.
        fixed: rows that stay where they are, shape (F, d), F < K.

    Raises:
        DataError: an array has the wrong shape, or a row of it is zero or not finite.

    Example:
        >>> solution = solve_large(3, 40, seed=0, steps=200, threads=1)
        >>> solution.weights.shape, solution.max_cosine < 0.9
        ((40, 3), True)
    """
    given = _unit_rows("fixed", fixed, d) if fixed is not None else np.zeros((0, d))
    if len(given) >= K:
        raise DataError(f"fixed has {len(given)} rows; K = {K} leaves no row to place")
    start = _start(d, K - len(given), seed, init)
    with Workers(threads, device) as workers:
        descent = Descent(np.concatenate([given, start]), len(given), seed, workers)
        outcome = descent.run(steps, deadline or Deadline(), progress)
        weights, maxima = descent.certified_best(given)
    return LargeSolution(
        weights=weights,
        max_cosine=float(maxima.max()),
        row_maxima=maxima,
        history=np.array(descent.history, dtype=np.float64).reshape(-1, 2),
        steps=len(descent.history),
        outcome=outcome,
    )


def _start(d: int, count: int, seed: int, init: np.ndarray | None) -> np.ndarray:
    """`count` unit rows: the last ones of `init`, or uniform ones from the seed."""
    if init is None:
        # Stacked orthogonal frames end no lower: the first steps equalise any frame anyway.
        rows = np.random.default_rng(seed).standard_normal((count, d))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = _unit_rows("init", init, d)
    if len(rows) < count:
        raise DataError(f"init has {len(rows)} rows, but {count} are to be placed")
    return rows[len(rows) - count :]


def _unit_rows(name: str, rows: np.ndarray, d: int) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != d:
        raise DataError(f"{name} has shape {rows.shape}; expected rows of length d = {d}")
    norms = np.linalg.norm(rows, axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0.0))
    if len(bad):
        raise DataError(f"{name} has {len(bad)} zero or non-finite rows, the first is row {bad[0]}")
    return rows / norms[:, None]
