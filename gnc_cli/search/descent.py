"""Descents of one start after the other: L-BFGS at rising sharpness, and long ones by Adam.

Quick descents are L-BFGS on the smoothed maximum at rising sharpness, in NumPy and SciPy alone. A
start takes a fifth of a second at (10, 100), over orbits of a group a few hundredths, and torch
and geoopt need not be loaded for it: the first candidates of a search come from here. The gradients
are those of `geometry.smoothing`, of which this is the Tammes case in float64. Half-way, where the
smallest distances already stand apart from the others, estimates have the order of the ends
(correlation 0.99 at (10, 100)): the best quarter goes on, at nearly half the time for all.

Long descents are Adam on rows in float32, while the sharpness grows with every step: for codes of
many unknowns, whose ends differ little from start to start and fall with the length of the descent.
One second moment per row, so that every row moves as far. At (100, 300) 1,000 steps take 0.45 s and
end where 2,000 steps of L-BFGS do in 1.2 s; at (48, 100) all starts end at rho 0.9715, which L-BFGS
misses from most.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import Parametrisation, free
from gnc_cli.search.starts import unit

MOST_POINTS = 1000
"""Beyond, a free descent of this kind is not quick."""
STAGES, STEPS = 16, 120
"""Sharpnesses of a free descent, and the most L-BFGS steps at each of them."""
_LEAST = 0.5
"""The least share of the steps, in the first rounds."""
_RANKED_FROM = 0.03
"""Descents are ranked once the sharpness exceeds this share of its final value: from there on the
order of their estimates no longer changes."""
_CONTINUED = 4
"""One in this many starts is continued."""
_WHOLE = 0.65
"""Mean length of a descent, as a share of a whole one: most end half-way."""
_SECONDS = 1.0
"""All descents of a call together aim at this, on one core."""
_PER_PAIR, _PER_PAIR_AND_DIMENSION = 1.0e-8, 2.0e-10
_PER_ENTRY = 1.2e-9
"""Of the matrices that make a code from its unknown rows."""
_MOMENT = 0.95
"""Memory of both moments of a long descent."""
_LENGTH, _LONGEST = 0.5, 0.3
"""Length of its steps: over `sharpness / sqrt(d)`, and at most, radians."""
_TAIL, _TAIL_SHARPER = 0.2, 100.0
"""Last share of its steps, in which the sharpness grows by this factor beyond the end: as good as
300 steps of L-BFGS at higher sharpness, at a tenth of the time."""
_NO_SIZE = 1e-20
_FLOOR = -60.0
_COARSE = 300.0
"""Below this sharpness float32 has the digits that exponents need, at half the time."""
_COUNTED, _LISTED = 25.0, 40.0
"""Exponents below that of the nearest pair: of pairs that count, and of those that are listed."""
_LISTED_FROM, _LISTED_TO, _SHARP_ENOUGH, _FEW = 250, 24, 100.0, 0.1
"""Pairs are listed from this many rows on, up to this many dimensions and from this sharpness on,
where they are fewer than this share of all entries of the matrix: a step at (9, 786) takes a third
of the time. In more dimensions the matrix product is faster, and the list takes gigabytes."""


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
    """L-BFGS (scipy) on rows parametrised as x / |x| (`on_sphere`), or on free rows.

    Args:
        function: value and Euclidean gradient (P, d) at points (P, d).
        tolerance: gradient size (largest component) to reach.
        deadline: polled at each evaluation.
        report: called as report(step, best value) after each iteration.

    Returns:
        The best point evaluated (the start where there was no time), and the iterations made.
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


def descend_stage(
    parametrisation: Parametrisation,
    rows: np.ndarray,
    sharpness: float,
    steps: int,
    deadline: Deadline,
) -> tuple[np.ndarray, int]:
    """Unknown rows (M, d) after L-BFGS at one sharpness, and the steps made, at most `steps`."""
    return lbfgs(
        smoothed_cosine(parametrisation, sharpness),
        rows,
        on_sphere=True,
        max_steps=steps,
        memory=10,
        tolerance=1e-12,
        deadline=deadline,
    )


@dataclass(frozen=True)
class QuickEnd:
    """Where one of several descents led to."""

    start: int
    """Its place among the starts."""
    rows: np.ndarray
    """The unknown rows, shape (M, d)."""
    value: float
    """An estimate of where the basin leads."""


def quick_descents(
    parametrisation: Parametrisation,
    starts: np.ndarray,
    sharpness: np.ndarray,
    end: float,
    deadline: Deadline,
    stages: int,
    steps: int,
) -> tuple[list[QuickEnd], int, int]:
    """Descend from each start (R, M, d) while the sharpness grows from `sharpness` (R,) to `end`.

    Args:
        parametrisation: free, or the orbits of a group; no given rows.
        stages, steps: sharpnesses, and steps at each of them at most.

    Returns:
        The ends of the best quarter of the starts, or of the best one; how many starts time allowed
        (one at least); the steps made.
    """
    total = 0

    def descend(rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
        nonlocal total
        for beta in grid:
            rows, made = descend_stage(parametrisation, rows, beta, steps, deadline)
            total += made
        return rows

    half_way: list[QuickEnd] = []
    middle = _RANKED_FROM * end
    grids = [np.geomspace(first, end, stages) for first in sharpness]
    for at, (rows, grid) in enumerate(zip(starts, grids, strict=True)):
        rows = descend(rows, grid[grid < middle])
        half_way.append(QuickEnd(at, rows, estimate(parametrisation, rows, middle)))
        if deadline.expired:
            break
    half_way.sort(key=lambda each: each.value)
    ends = []
    for each in half_way[: -(-len(half_way) // _CONTINUED)]:
        grid = grids[each.start]
        rows = descend(each.rows, grid[grid >= middle])
        ends.append(QuickEnd(each.start, rows, estimate(parametrisation, rows, end)))
    return ends, len(half_way), total


def long_descent(
    rows: np.ndarray, first: float, end: float, steps: int, deadline: Deadline
) -> tuple[np.ndarray, int]:
    """Descend from unit rows (K, d) while the sharpness grows from `first` to `end` and beyond.

    The growth follows the share of the steps made, or of the time left where that is larger: a
    deadline shortens the descent, and its end is as sharp.

    Returns:
        Unit rows, float64; the steps made.
    """
    (K, d), made, share = rows.shape, 0, 0.0
    begun, seconds = deadline.elapsed, deadline.remaining
    whole, rows = free(d, K), rows.astype(np.float32)
    course = np.log([first, end, _TAIL_SHARPER * end])
    momentum, size = np.zeros_like(rows), np.zeros((K, 1), dtype=np.float32)
    while share < 1.0 and not deadline.expired:
        beta = float(np.exp(np.interp(share, (0.0, 1.0 - _TAIL, 1.0), course)))
        _, _, _, weights = _weights(whole, rows, beta)
        gradient = _tangent(rows, weights @ rows / weights.sum())
        momentum += (1.0 - _MOMENT) * (gradient - momentum)
        size += (1.0 - _MOMENT) * ((gradient**2).sum(axis=1, keepdims=True) - size)
        made += 1
        length = min(_LONGEST, _LENGTH * d**0.5 / beta) / (1.0 - _MOMENT**made) ** 0.5
        rows = unit(rows - length * momentum / (np.sqrt(size) + _NO_SIZE))
        momentum = _tangent(rows, momentum)
        share = max(made / steps, (deadline.elapsed - begun) / seconds)
    return unit(rows.astype(np.float64)), made


def _tangent(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the tangent part of vectors (K, d) at unit rows (K, d)."""
    return vectors - np.einsum("kd,kd->k", rows, vectors)[:, None] * rows


def steps_of_a_stage(share: float) -> int:
    """Steps at each sharpness for a share of the whole effort."""
    return max(1, round(max(_LEAST, share) * STEPS))


def evaluation_seconds(d: int, rows: int, K: int) -> float:
    """Of one value and gradient, roughly; a code of fewer unknown `rows` than K has a symmetry."""
    images = K * d * d * _PER_ENTRY if rows < K else 0.0
    return 5e-5 + rows * K * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION) + images


def number_of_starts(d: int, K: int, share: float) -> int:
    """How many free descents a second holds; one to sixteen."""
    one = _WHOLE * STAGES * max(_LEAST, share) * STEPS * evaluation_seconds(d, K, K)
    return int(np.clip(_SECONDS / one, 1, 16))


def _weights(
    parametrisation: Parametrisation, rows: np.ndarray, beta: float
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """The whole code, its largest cosine, the cosines (M, K) of the unknown rows, and the weights
    exp(beta (cosine - largest)) of all pairs, a row for its whole orbit; none for a row itself.
    """
    code = parametrisation.code(rows)
    own = np.arange(len(rows)), parametrisation.representatives
    gram = rows @ code.T
    gram[own] = -2.0
    top = float(gram.max())
    weights = beta * (gram - top)
    np.exp(np.maximum(weights, _FLOOR, out=weights), out=weights)
    weights[own] = 0.0
    if parametrisation.source is not None:
        weights *= np.bincount(parametrisation.source)[:, None]
    return code, top, gram, weights


def smoothed_cosine(
    parametrisation: Parametrisation, beta: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The smoothed largest cosine of unknown rows (M, d), with its Euclidean gradient."""
    listed = (
        parametrisation.is_free
        and parametrisation.K >= _LISTED_FROM
        and parametrisation.d <= _LISTED_TO
        and beta >= _SHARP_ENOUGH
    )
    near: NearPairs | None = None

    def value_and_gradient(rows: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal listed, near
        if listed and (near is None or not near.hold(rows)):
            near = NearPairs(rows, beta)
            listed = near.hold(rows)
        if near is not None and listed:
            return near.value_and_gradient(rows)
        rows = rows.astype(np.float32 if beta < _COARSE else np.float64)
        code, top, _, weights = _weights(parametrisation, rows, beta)
        total = float(weights.sum())
        # Each pair counts for both of its rows, and the images of a row move with it.
        gradient = (2.0 / total) * (weights @ code)
        if parametrisation.projections is not None:
            gradient = np.einsum("mab,mb->ma", parametrisation.projections, gradient)
        return top + np.log(total) / beta, gradient

    return value_and_gradient


class NearPairs:
    """The smoothed largest cosine of unit rows over the pairs that have weight at one sharpness.

    The list holds while no row is far from `home`, where it was made: a cosine changes by no more
    than both of its rows move. What is left out is below exp(-25) of the largest weight.
    """

    def __init__(self, home: np.ndarray, beta: float) -> None:
        self.home, self.beta = home, beta
        gram = home @ home.T
        np.fill_diagonal(gram, -2.0)
        self.level = float(gram.max()) - _LISTED / beta
        self.pairs = csr_matrix(np.triu(gram > self.level), dtype=np.float64)
        self.first = np.repeat(np.arange(len(home)), np.diff(self.pairs.indptr))

    def hold(self, rows: np.ndarray) -> bool:
        """Whether the pairs are few, and all that count at these rows."""
        self.cosines = np.einsum("md,md->m", rows[self.first], rows[self.pairs.indices])
        moved = np.linalg.norm(rows - self.home, axis=1).max()
        return len(self.cosines) < _FEW * len(rows) ** 2 and bool(
            self.cosines.max() - self.level - 2 * moved >= _COUNTED / self.beta
        )

    def value_and_gradient(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """At the rows for which the list was last known to hold."""
        top = float(self.cosines.max())
        self.pairs.data = np.exp(self.beta * (self.cosines - top))
        total = 2.0 * float(self.pairs.data.sum())
        gradient = (2.0 / total) * (self.pairs @ rows + self.pairs.T @ rows)
        return top + np.log(total) / self.beta, gradient


def estimate(parametrisation: Parametrisation, rows: np.ndarray, beta: float) -> float:
    """Where unknown rows (M, d) lead that are descended to sharpness beta: the weighted cosine."""
    _, _, gram, weights = _weights(parametrisation, rows, beta)
    return float((weights * gram).sum() / weights.sum())
