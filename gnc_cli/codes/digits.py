"""Fifty digits of a code: Newton's method on its contacts, or on the conditions of its optimum.

Contacts and unit lengths decide most codes up to rotation. Where they leave the code room to move,
the first-order equations of the optimum decide instead (see `contact_equations`).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.codes.contact_equations import ContactEquations, ContactState, OptimumEquations
from gnc_cli.codes.digit_newton import (
    LARGEST,
    REACH,
    DigitNewton,
    Inverse,
    Obstacle,
    Refused,
    contact_inverse,
    symmetric_inverse,
)
from gnc_cli.codes.fixed_point import FixedPoint
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import as_points, normalise

__all__ = ["Digits", "Obstacle", "Refused", "many_digits", "touching_pairs"]

_GUARD = 15
"""Decimal digits carried beyond those asked for."""
_GUESSES = 3
"""Lists of contacts to try, where none is given."""
_ROUNDING = 2e-15
"""Cosines nearer than this are equal."""
_APART = 1e-13
"""Other pairs must stay below the contacts by this much."""


@dataclass(frozen=True, eq=False)
class Digits:
    """A code to many digits."""

    cosine: str
    """The largest cosine, rounded to nearest in its last decimal."""
    decimals: int
    how: str
    """What decided: `contacts` or `first-order conditions`."""
    contacts: np.ndarray
    """Pairs of rows at this cosine, shape (m, 2)."""
    moved: float
    """Largest change of a coordinate."""
    residual: float
    """Largest residual of the equations, as log10; minus infinity for none."""
    _x: np.ndarray = field(repr=False)
    _number: FixedPoint = field(repr=False)

    def coordinates(self, decimals: int | None = None) -> list[list[str]]:
        """Decimal texts, one row a point, rounded to nearest; rattlers stay where they were."""
        places = self.decimals if decimals is None else decimals
        return [[self._number.text(value, places) for value in row] for row in self._x]


def touching_pairs(W: np.ndarray, guesses: int = 1) -> list[np.ndarray]:
    """The contacts of a polished code, told from other pairs by a gap in the list of cosines.

    Pairs are ranked by how far their cosine lies below the largest. From one pair to the next this
    distance grows by some factor; where the factor is largest the contacts are likely to end.

    Args:
        W: unit rows, shape (K, d).
        guesses: so many of the largest factors, the largest first.

    Returns:
        For each guess index pairs i < j, shape (m, 2), sorted.
    """
    i, j = np.triu_indices(len(W), 1)
    cosines = (W @ W.T)[i, j]
    order = np.argsort(-cosines, kind="stable")
    below = np.maximum(cosines[order[0]] - cosines[order], _ROUNDING)
    last = int(np.searchsorted(below, REACH))
    growth = np.append(below, 4.0)[1 : last + 1] / below[:last]
    ends = np.argsort(-growth, kind="stable")[:guesses]
    found = []
    for end in ends.tolist():
        chosen = np.sort(order[: end + 1])
        found.append(np.stack([i[chosen], j[chosen]], axis=1))
    return found


def many_digits(
    W: np.ndarray,
    decimals: int = 50,
    *,
    contacts: np.ndarray | None = None,
    deadline: Deadline | None = None,
) -> Digits | Refused:
    """The code near W whose contacts are exact, to so many decimals.

    Args:
        W: rows of a polished code, shape (K, d). Where they span fewer dimensions, the result is
            turned into the first of d coordinates.
        decimals: digits after the point, of the cosine and of coordinates.
        contacts: pairs of rows at the largest cosine, shape (m, 2); None to find them by
            `touching_pairs`. Rows without contacts (rattlers) do not move.
        deadline: polled at each step.

    Returns:
        The digits, or why there are none.

    Raises:
        DataError: W is not a matrix of at least two finite nonzero rows.
        UsageError: fewer than one decimal.

    Example:
        >>> found = many_digits(np.array([[1.0, 0.0], [-0.5, 0.8660254], [-0.5, -0.8660254]]), 20)
        >>> isinstance(found, Digits) and found.cosine
        '-0.50000000000000000000'
    """
    if decimals < 1:
        raise UsageError(f"{decimals} digits: at least one is needed")
    W = normalise(as_points(W))
    d, W = W.shape[1], _within_span(W)
    if len(W) > LARGEST:
        return Refused(Obstacle.TOO_LARGE, f"{len(W)} rows")
    given = [] if contacts is None else [np.asarray(contacts, dtype=np.intp).reshape(-1, 2)]
    first: Refused | None = None
    for pairs in given or touching_pairs(W, _GUESSES):
        found = _with_contacts(W, pairs, decimals, deadline or Deadline())
        if isinstance(found, Digits):
            return replace(found, _x=np.pad(found._x, ((0, 0), (0, d - W.shape[1]))))
        first = first or found
    assert first is not None  # there is at least one guess
    return first


def _with_contacts(
    W: np.ndarray, pairs: np.ndarray, decimals: int, deadline: Deadline
) -> Digits | Refused:
    """As `many_digits`, for one list of contacts."""
    d, rows = W.shape[1], np.unique(pairs)
    if len(pairs) == 0:
        return Refused(Obstacle.NO_CONTACTS, "the list of contacts is empty")
    if len(rows) * d + 1 > LARGEST:
        return Refused(Obstacle.TOO_LARGE, f"{len(rows)} rows in {d} dimensions")
    number = FixedPoint(int((decimals + _GUARD) * 3.3219280948873623) + 32)
    newton = DigitNewton(number, decimals + _GUARD - 5, deadline)
    X, inner = W[rows], np.searchsorted(rows, pairs)
    equations = ContactEquations(inner)
    solve, freedom = contact_inverse(equations, X)
    t = float(np.einsum("md,md->m", X[inner[:, 0]], X[inner[:, 1]]).mean())
    none = np.empty(0, dtype=object)
    start = ContactState(number.of(X), number.of(np.array([t])), none, none)
    if freedom <= _rotations(X):
        how = "contacts"
        end = newton.run(equations, start, lambda x, _: contact_inverse(equations, x)[0], solve)
    else:
        how = "first-order conditions"
        end = _optimum(newton, OptimumEquations(inner), start, X)
    if isinstance(end, Refused):
        return end
    x = number.of(W)
    x[rows] = end.x
    return _checked(W, pairs, x, end, how, newton, decimals)


def _optimum(
    newton: DigitNewton, equations: OptimumEquations, start: ContactState, X: np.ndarray
) -> ContactState | Refused:
    """Solve the first-order equations from estimated multipliers; these must not be negative."""
    m, number = len(equations.i), newton.number
    unknowns = X.size + 1 + m + len(X)
    if unknowns > LARGEST:
        return Refused(Obstacle.TOO_LARGE, f"{unknowns} unknowns with the multipliers")
    multipliers, pulls, force = equations.estimate(X)
    if force > 1e-5:
        return Refused(Obstacle.NOT_STATIONARY, f"a force of {force:.1e} is left")

    def refresh(x: np.ndarray, state: ContactState) -> Inverse:
        lam, nu = number.floats(state.multipliers), number.floats(state.pulls)
        return symmetric_inverse(equations.hessian(x, lam, nu))

    start = ContactState(start.x, start.t, number.of(multipliers), number.of(pulls))
    end = newton.run(equations, start, refresh, refresh(X, start))
    if isinstance(end, ContactState):
        least = float(number.floats(end.multipliers).min())
        if least < -1e-9:
            return Refused(Obstacle.NOT_STATIONARY, f"a contact has multiplier {least:.1e}")
    return end


def _rotations(X: np.ndarray) -> int:
    """Dimension of the orbit of X under rotations: d (d-1) / 2, less those that fix its span."""
    d, rank = X.shape[1], int(np.linalg.matrix_rank(X, tol=1e-6))
    idle = d - rank
    return d * (d - 1) // 2 - idle * (idle - 1) // 2


def _within_span(W: np.ndarray) -> np.ndarray:
    """The code turned into the first coordinates where its rows span fewer; else W itself."""
    _, sizes, axes = np.linalg.svd(W, full_matrices=False)
    rank = int((sizes > 1e-6 * sizes[0]).sum())
    return W if rank == W.shape[1] else normalise(W @ axes[:rank].T)


def _checked(
    W: np.ndarray,
    pairs: np.ndarray,
    x: np.ndarray,
    end: ContactState,
    how: str,
    newton: DigitNewton,
    decimals: int,
) -> Digits | Refused:
    """The result, unless the code has changed its nature on the way."""
    number = newton.number
    points = number.floats(x)
    moved = float(np.abs(points - W).max())
    if moved > REACH:
        return Refused(Obstacle.LEFT_NEIGHBOURHOOD, f"a coordinate moved by {moved:.1e}")
    gram = points @ points.T
    np.fill_diagonal(gram, -2.0)
    gram[pairs[:, 0], pairs[:, 1]] = gram[pairs[:, 1], pairs[:, 0]] = -2.0
    excess = float(gram.max()) - float(number.floats(end.t)[0])
    if excess > -_APART:
        i, j = np.unravel_index(int(gram.argmax()), gram.shape)
        return Refused(Obstacle.CLOSER_PAIR, f"rows {i} and {j}, by {excess:.1e}")
    return Digits(
        number.text(end.t[0], decimals), decimals, how, pairs, moved, newton.residual, x, number
    )
