"""Is a first-order point of a minimax problem on spheres a local minimum? The second-order test.

At the point x let f = max_p c_p, with convex multipliers lambda (`sum lambda_p grad c_p = 0`) and
strictly active pairs S (lambda_p > 0). L = sum lambda_p c_p is at most f everywhere and equal to it
at x. A first-order change of f vanishes along the critical cone alone: `J_p u = 0` for p in S, and
`J_p u <= 0` for the other active pairs. So

- x is a local minimum where `u^T H u > 0` for every u != 0 with `J_S u = 0`, H the Hessian of L in
  tangent coordinates (the sphere's curvature included). By Finsler's lemma that is:
  `H + r J_S^T J_S` is positive definite for some r > 0, which one Cholesky factorisation decides.
  No rank is decided.
- x is not a local minimum where a step along a critical direction, corrected to second order by a
  linear program, lowers f itself, at two lengths and in proportion to their squares.

Motions that change no value are excluded first: rotations, and rows without a strictly active pair
(rattlers). S may fall into components without a common row. Each is a separate problem with its
own rotations, and a local minimum in one of them is enough: f is at least the maximum over that
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
"""Largest error of the first-order conditions, relative to the scale."""
_MIN_MULTIPLIER = 1e-6
"""Smallest multiplier that counts as positive, as a share of the largest; a smaller one is taken
for 0, which can only turn a `yes` into `undecided`."""
_PENALTY = 1e8
"""Penalty r, in units of a row's share of H. Movements of rows along the sphere count as movements
of the pairs where singular values of the Jacobian are below 1e-4."""
_MIN_EIGENVALUE = 1e-6
"""Smallest absolute eigenvalue that decides, in the same units: rounding of the penalty, 1e8 times
1e-16, with a margin of 100."""
_MAX_PROGRAM_ENTRIES = 2_000_000
"""Largest number of entries of a linear program that is solved."""
_PROGRAM_SECONDS = 5.0
"""Time limit of the linear programs, in seconds: those of highly degenerate codes would take
minutes."""
_DIRECTIONS = 3
"""Number of eigenvectors, of the smallest eigenvalues, that are tried as directions of descent."""
_STEP_LENGTHS = (1e-3, 1e-2)
"""Lengths of the steps of descent, as shares of the spacing."""
_CORRECTIONS = 6
"""Number of linear programs after a step: the first corrects it, the others turn it if the second
derivatives depend on the choice of multipliers."""
_MIN_FALL = 1e-6
"""Smallest decrease that counts, as a multiple of the squared step."""


@dataclass(frozen=True)
class SecondOrder:
    """Verdict on one configuration."""

    local_minimum: str
    """`yes`, `no` or `undecided`."""
    reason: str
    """Reason of the verdict, a few words."""
    lower: np.ndarray | None = None
    """Unit rows nearby with a lower maximum, shape (P, d), if the verdict is `no`."""


def second_order(
    points: np.ndarray,
    pairs: ActivePairs,
    multipliers: np.ndarray,
    free: np.ndarray,
    active_pairs: Callable[[np.ndarray, float], ActivePairs],
    *,
    scale: float,
    deadline: Deadline,
    max_coordinates: int = 3000,
) -> SecondOrder:
    """Decide whether polished rows are a local minimum, modulo rotations and rattlers.

    Args:
        points: unit rows, shape (P, d).
        pairs: m pairs near the largest value.
        multipliers: their convex weights, shape (m,).
        free: mask of the rows that may move, shape (P,), bool.
        active_pairs: `(points, threshold)` -> the pairs whose value is at least the threshold.
        scale: distance of the value from its trivial end (1 - max_cosine).
        deadline: polled between factorisations.
        max_coordinates: largest number of coordinates for which directions of descent are looked
            for, as eigenvectors cost ten factorisations.

    Cost: one Cholesky factorisation; if that fails, some eigenvectors and linear programs.
    """
    values = pairs.values(points)
    slack = values.max() - values
    residual = float(np.abs(linearise(pairs, points, free).adjoint(multipliers)).max(initial=0.0))
    error = max(residual, float(multipliers @ slack))
    if not error <= _STATIONARY * scale:
        return SecondOrder(UNDECIDED, f"first-order conditions hold only to {error:.1e}")
    strict = (multipliers > _MIN_MULTIPLIER * multipliers.max()) & (slack <= _STATIONARY * scale)
    blocks = []
    for part in _components(pairs.take(strict), multipliers[strict], len(points)):
        if deadline.expired:
            return SecondOrder(UNDECIDED, "no time was left for the second-order test")
        block = _Block(points, free, *part, scale)
        if block.is_positive():
            return SecondOrder(YES, "second-order sufficient conditions hold")
        blocks.append(block)
    if max(block.linear.size for block in blocks) > max_coordinates:
        return SecondOrder(
            UNDECIDED, f"above {max_coordinates} coordinates no descent is looked for"
        )
    if deadline.expired:
        return SecondOrder(UNDECIDED, "no time was left for the second-order test")
    lowest = [block.lowest() for block in blocks]
    deadline = deadline.limited(min(_PROGRAM_SECONDS, 0.5 * deadline.remaining))
    falling = min(int((bends < -_MIN_EIGENVALUE).sum()) for bends, _ in lowest)
    for j in range(falling):
        move = np.sum([moves[j] for _, moves in lowest], axis=0)
        for sign in (1.0, -1.0):
            lower = _descend(points, sign * move, free, active_pairs, scale, deadline)
            if lower is not None:
                return SecondOrder(NO, "a direction of descent exists", lower)
    if falling:
        return SecondOrder(UNDECIDED, "multipliers are not unique, or a contact without force")
    return SecondOrder(UNDECIDED, "the reduced Hessian is singular: a family of equal values")


def _components(
    pairs: ActivePairs, multipliers: np.ndarray, count: int
) -> Iterator[tuple[ActivePairs, np.ndarray]]:
    """Yield the pairs and convex multipliers of each set of rows that pairs connect."""
    others = [pairs.b] if pairs.e is None else [pairs.b, pairs.e]
    i, j = np.tile(pairs.a, len(others)), np.concatenate(others)
    graph = sparse.coo_matrix((np.ones(len(i)), (i, j)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    for part in np.unique(label[pairs.a]):
        mask = label[pairs.a] == part
        yield pairs.take(mask), multipliers[mask] / multipliers[mask].sum()


class _Block:
    """Matrix `H + r J^T J` of a component: rotations stiff, rows scaled to their multipliers."""

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
        movable = free & (load > 0.0)
        self.linear = linearise(pairs, points, movable)
        self._unit = np.repeat(1.0 / np.sqrt(load[movable]), points.shape[1] - 1)
        # Derivatives of values are of the size of the spacing, whose square is twice the scale.
        stiff = _PENALTY / min(1.0, 2.0 * scale)
        matrix = self.linear.normal(multipliers, stiff * multipliers)
        matrix *= self._unit[:, None]
        matrix *= self._unit
        turns = _rotations(points, self.linear.bases, movable, (load > 0.0) & ~free)
        turns /= self._unit[:, None]
        if turns.size:
            basis, sizes, _ = np.linalg.svd(turns, full_matrices=False)
            basis = basis[:, sizes > 1e-6 * sizes.max(initial=0.0)]
            matrix += _PENALTY * (basis @ basis.T)
        self._matrix = matrix

    def is_positive(self) -> bool:
        """Return True if every direction curves upwards."""
        if not self.linear.size:
            return True
        matrix = self._matrix.copy()
        matrix[np.diag_indices_from(matrix)] -= _MIN_EIGENVALUE
        try:
            cho_factor(matrix, check_finite=False, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def lowest(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the smallest eigenvalues and their moves of all rows, (P, d), longest row 1."""
        last = min(_DIRECTIONS, self.linear.size) - 1
        bends, vectors = eigh(self._matrix, subset_by_index=[0, last], check_finite=False)
        moves = [self.linear.moves(vector) for vector in (vectors * self._unit[:, None]).T]
        return bends, [move / np.linalg.norm(move, axis=1).max() for move in moves]


def _rotations(
    points: np.ndarray, bases: np.ndarray, free: np.ndarray, fixed: np.ndarray
) -> np.ndarray:
    """Return tangent coordinates of the infinitesimal rotations that fix some rows, (n, g)."""
    _, sizes, axes = np.linalg.svd(points[fixed])
    rank = int((sizes > 1e-9).sum())
    i, j = np.triu_indices(len(axes) - rank, 1)
    complement = axes[rank:]
    inside = points[free] @ complement.T  # (F, e)
    components = np.einsum("kdq,ed->kqe", bases[free], complement)
    moved = components[:, :, i] * inside[:, None, j] - components[:, :, j] * inside[:, None, i]
    return np.asarray(moved.reshape(bases.shape[2] * len(inside), len(i)))


def _descend(
    points: np.ndarray,
    move: np.ndarray,
    free: np.ndarray,
    active_pairs: Callable[[np.ndarray, float], ActivePairs],
    scale: float,
    deadline: Deadline,
) -> np.ndarray | None:
    """Step along a move and correct the points (P, d); None unless the fall is quadratic."""
    start = active_pairs(points, -np.inf).largest(points)
    spacing, falls = float(np.sqrt(2.0 * scale)), []
    for share in _STEP_LENGTHS:
        step = share * spacing
        reach = 0.5 * step
        # No pair below can rise to the largest value within a step of the linear program.
        window = 4.0 * (step + reach * np.sqrt(points.shape[1])) * spacing + 4.0 * step**2
        last = retracted(points + step * move, free)
        fall = (start - active_pairs(last, -np.inf).largest(last)) / step**2
        for _ in range(_CORRECTIONS):
            close_pairs = active_pairs(last, start - window)
            linear = linearise(close_pairs, last, free)
            if deadline.expired or sum(g.size for g in linear.gradients) > _MAX_PROGRAM_ENTRIES:
                return None
            correction = linear.best_move(close_pairs.values(last), reach, deadline, unit=step**2)
            if correction is None:
                return None
            trial = retracted(last + linear.moves(correction), free)
            reached = (start - active_pairs(trial, -np.inf).largest(trial)) / step**2
            if reached > fall:
                last, fall = trial, reached
            else:
                reach *= 0.3
            if fall > _MIN_FALL:
                break
        if fall <= _MIN_FALL:
            return None
        falls.append(fall)
    return last if falls[1] > 0.1 * falls[0] else None
