"""Is a first-order point of a minimax problem on spheres a local minimum? The second-order test.

At the point x let f = max_p c_p, with convex multipliers lambda (`sum lambda_p grad c_p = 0`) and
strictly active pairs S (lambda_p > 0). L = sum lambda_p c_p is at most f everywhere and equal to it
at x. A first-order change of f vanishes along the critical cone alone: `J_p u = 0` for p in S, and
`J_p u <= 0` for the other active pairs. So

- x is a local minimum where `u^T H u > 0` for every u != 0 with `J_S u = 0`, H the Hessian of L in
  tangent coordinates (the sphere's curvature included). By Finsler's lemma that is:
  `H + r J_S^T J_S` is positive definite for some r > 0, which one Cholesky factorisation tells. No
  rank is decided.
- x is none where a step along a critical direction, corrected to second order by a linear
  programme, lowers f itself, at two lengths and in proportion to their squares.

What moves nothing is taken out first: rotations, and rows without a strictly active pair
(rattlers). S may fall into components without a common row. Each is a problem of its own, rotates
by itself, and a local minimum in one of them is enough: f is at least the maximum over that
component.

References: J. Nocedal and S. J. Wright, Numerical Optimization, 2006, theorems 12.5 and 12.6;
H. Cohn, Y. Jiao, A. Kumar, S. Torquato, Rigidity of spherical codes, Geometry & Topology 15, 2011.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, eigh
from scipy.sparse.csgraph import connected_components

from gnc_cli.geometry.active_pairs import ActivePairs, linearise, retracted
from gnc_cli.runtime.deadline import Deadline

YES, NO, UNDECIDED = "yes", "no", "undecided"

_STATIONARY = 1e-9
"""First-order conditions must hold to this, relative to the scale."""
_STRICT = 1e-6
"""Multipliers below this share of the largest are taken for 0, which can only cost a `yes`."""
_PENALTY = 1e8
"""r, in units of a row's share of H: it counts movements of rows along the sphere as movements of
the pairs where singular values of the Jacobian are below 1e-4."""
_FLAT = 1e-6
"""Eigenvalues this near to 0, in the same units, decide nothing."""
_MOST_ENTRIES = 2_000_000
"""Linear programmes with more entries than this are not solved."""
_SECONDS = 5.0
"""Time limit of the linear programmes: those of highly degenerate codes would take minutes."""
_DIRECTIONS = 3
"""Eigenvectors of the smallest eigenvalues that are tried as directions of descent."""
_LENGTHS = (1e-3, 1e-2)
"""The test takes steps of these lengths, as shares of the spacing."""
_CORRECTIONS = 6
"""Linear programmes after a step: the first corrects it, the others turn it where the second
derivatives depend on the choice of multipliers."""
_FALL = 1e-6
"""A decrease counts from this multiple of the squared step on."""


@dataclass(frozen=True)
class SecondOrder:
    """The verdict on one configuration."""

    local_minimum: str
    """`yes`, `no` or `undecided`."""
    reason: str
    """What decided, in a few words."""
    lower: np.ndarray | None = None
    """Of `no`: unit rows nearby with a lower maximum, shape (P, d)."""


def second_order(
    points: np.ndarray,
    pairs: ActivePairs,
    multipliers: np.ndarray,
    free: np.ndarray,
    active_pairs: Callable[[np.ndarray, float], ActivePairs],
    *,
    scale: float,
    deadline: Deadline,
    most_coordinates: int = 3000,
) -> SecondOrder:
    """Decide whether polished rows are a local minimum, modulo rotations and rattlers.

    Args:
        points: unit rows, shape (P, d).
        pairs: those near the largest value; multipliers: convex weights, shape (m,).
        free: which rows may move, shape (P,), bool.
        active_pairs: `(points, threshold)` -> the pairs whose value is at least the threshold.
        scale: distance of the value from its trivial end (1 - max_cosine).
        deadline: polled between factorisations.
        most_coordinates: beyond it no direction of descent is looked for, as eigenvectors cost ten
            factorisations.

    Cost: one Cholesky factorisation; where that fails, some eigenvectors and linear programmes.
    """
    values = pairs.values(points)
    slack = values.max() - values
    residual = float(np.abs(linearise(pairs, points, free).adjoint(multipliers)).max(initial=0.0))
    off = max(residual, float(multipliers @ slack))
    if not off <= _STATIONARY * scale:
        return SecondOrder(UNDECIDED, f"first-order conditions hold only to {off:.1e}")
    strict = (multipliers > _STRICT * multipliers.max()) & (slack <= _STATIONARY * scale)
    blocks = []
    for part in _components(pairs.take(strict), multipliers[strict], len(points)):
        if deadline.expired:
            return SecondOrder(UNDECIDED, "no time was left for the second-order test")
        block = _Block(points, free, *part, scale)
        if block.is_positive():
            return SecondOrder(YES, "second-order sufficient conditions hold")
        blocks.append(block)
    if max(block.linear.size for block in blocks) > most_coordinates:
        return SecondOrder(
            UNDECIDED, f"above {most_coordinates} coordinates no descent is looked for"
        )
    if deadline.expired:
        return SecondOrder(UNDECIDED, "no time was left for the second-order test")
    lowest = [block.lowest() for block in blocks]
    deadline = deadline.limited(min(_SECONDS, 0.5 * deadline.remaining))
    falling = min(int((bends < -_FLAT).sum()) for bends, _ in lowest)
    for j in range(falling):
        move = np.sum([moves[j] for _, moves in lowest], axis=0)
        for sign in (1.0, -1.0):
            lower = _descended(points, sign * move, free, active_pairs, scale, deadline)
            if lower is not None:
                return SecondOrder(NO, "a direction of descent exists", lower)
    if falling:
        return SecondOrder(UNDECIDED, "multipliers are not unique, or a contact without force")
    return SecondOrder(UNDECIDED, "the reduced Hessian is singular: a family of equal values")


def _components(
    pairs: ActivePairs, multipliers: np.ndarray, count: int
) -> Iterator[tuple[ActivePairs, np.ndarray]]:
    """Pairs and convex multipliers of each set of rows that pairs connect."""
    others = [pairs.b] if pairs.e is None else [pairs.b, pairs.e]
    i, j = np.tile(pairs.a, len(others)), np.concatenate(others)
    graph = sparse.coo_matrix((np.ones(len(i)), (i, j)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    for part in np.unique(label[pairs.a]):
        inside = label[pairs.a] == part
        yield pairs.take(inside), multipliers[inside] / multipliers[inside].sum()


class _Block:
    """`H + r J^T J` of one component, rotations made stiff, rows scaled to their multipliers."""

    def __init__(
        self,
        points: np.ndarray,
        free: np.ndarray,
        pairs: ActivePairs,
        multipliers: np.ndarray,
        scale: float,
    ) -> None:
        load = np.zeros(len(points))
        for rows in (pairs.a, pairs.b) if pairs.e is None else (pairs.a, pairs.b, pairs.e):
            load += np.bincount(rows, multipliers, minlength=len(points))
        loose = free & (load > 0.0)
        self.linear = linearise(pairs, points, loose)
        self._unit = np.repeat(1.0 / np.sqrt(load[loose]), points.shape[1] - 1)
        # Derivatives of values are of the size of the spacing, whose square is twice the scale.
        stiff = _PENALTY / min(1.0, 2.0 * scale)
        matrix = self.linear.normal(multipliers, stiff * multipliers)
        matrix *= self._unit[:, None]
        matrix *= self._unit
        turns = _rotations(points, self.linear.bases, loose, (load > 0.0) & ~free)
        turns /= self._unit[:, None]
        if turns.size:
            basis, sizes, _ = np.linalg.svd(turns, full_matrices=False)
            basis = basis[:, sizes > 1e-6 * sizes.max(initial=0.0)]
            matrix += _PENALTY * (basis @ basis.T)
        self._matrix = matrix

    def is_positive(self) -> bool:
        """No direction is flat or falling."""
        if not self.linear.size:
            return True
        matrix = self._matrix.copy()
        matrix[np.diag_indices_from(matrix)] -= _FLAT
        try:
            cho_factor(matrix, check_finite=False, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def lowest(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The smallest eigenvalues and their moves of all rows, (P, d), the longest of length 1."""
        last = min(_DIRECTIONS, self.linear.size) - 1
        bends, vectors = eigh(self._matrix, subset_by_index=[0, last], check_finite=False)
        moves = [self.linear.moves(vector) for vector in (vectors * self._unit[:, None]).T]
        return bends, [move / np.linalg.norm(move, axis=1).max() for move in moves]


def _rotations(
    points: np.ndarray, bases: np.ndarray, free: np.ndarray, fixed: np.ndarray
) -> np.ndarray:
    """Tangent coordinates of the infinitesimal rotations that keep the fixed rows, (n, g)."""
    _, sizes, axes = np.linalg.svd(points[fixed])
    rank = int((sizes > 1e-9).sum())
    i, j = np.triu_indices(len(axes) - rank, 1)
    across = axes[rank:]
    inside = points[free] @ across.T  # (F, e)
    along = np.einsum("kdq,ed->kqe", bases[free], across)
    moved = along[:, :, i] * inside[:, None, j] - along[:, :, j] * inside[:, None, i]
    return moved.reshape(bases.shape[2] * len(inside), len(i))


def _descended(
    points: np.ndarray,
    move: np.ndarray,
    free: np.ndarray,
    active_pairs: Callable[[np.ndarray, float], ActivePairs],
    scale: float,
    deadline: Deadline,
) -> np.ndarray | None:
    """Points along the move and corrected, where the largest value falls as the square of steps."""
    start = active_pairs(points, -np.inf).largest(points)
    spacing, falls = float(np.sqrt(2.0 * scale)), []
    for share in _LENGTHS:
        step = share * spacing
        reach = 0.5 * step
        # No pair below can rise to the largest value within a step of the programme.
        window = 4.0 * (step + reach * np.sqrt(points.shape[1])) * spacing + 4.0 * step**2
        last = retracted(points + step * move, free)
        fall = (start - active_pairs(last, -np.inf).largest(last)) / step**2
        for _ in range(_CORRECTIONS):
            near = active_pairs(last, start - window)
            linear = linearise(near, last, free)
            if deadline.expired or sum(g.size for g in linear.gradients) > _MOST_ENTRIES:
                return None
            correction = linear.best_move(near.values(last), reach, deadline, unit=step**2)
            if correction is None:
                return None
            trial = retracted(last + linear.moves(correction), free)
            reached = (start - active_pairs(trial, -np.inf).largest(trial)) / step**2
            if reached > fall:
                last, fall = trial, reached
            else:
                reach *= 0.3
            if fall > _FALL:
                break
        if fall <= _FALL:
            return None
        falls.append(fall)
    return last if falls[1] > 0.1 * falls[0] else None
