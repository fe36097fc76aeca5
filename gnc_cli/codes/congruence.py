"""Are two codes equal up to rotation, reflection and relabelling? Yes with the rotation, or no.

Rows of A that span its space are sent one after the other to rows of B with the same inner
products. After each, the rows of both codes are coloured anew by what is known of them
(`matching`), which shows most wrong guesses at once. Once each colour has a single row the
relabelling is known, and the rotation is the least-squares one.

No K x K matrix is held. A guess costs O(K (d^2 + log K)): codes of 10^5 rows go through.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.matching import REFINING, Match, MatchingSearch, SearchEnd, agreement
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_ALL_PAIRS = 6000
"""Up to this many rows a search may begin with a look at every inner product."""
_EFFORT = 1e8
"""Rows that the search may sort: some ten seconds."""
_OVERHEAD = 1000
"""Rows that could be sorted in the time that a sorting takes even of few."""


@dataclass(frozen=True, eq=False)
class Congruence:
    """The proof that two codes are one: `A @ rotation` is B relabelled, up to `deviation`."""

    permutation: np.ndarray
    """Row k of A goes to row `permutation[k]` of B, shape (K,)."""
    rotation: np.ndarray
    """Shape (d of A, d of B); orthogonal where these are equal."""
    deviation: float
    """Largest distance between a row of `A @ rotation` and its partner."""


@dataclass(frozen=True)
class Undecided:
    """The search was given up: nothing is claimed."""

    reason: str


def congruence(
    A: np.ndarray,
    B: np.ndarray,
    *,
    tolerance: float = 1e-7,
    effort: float = _EFFORT,
    deadline: Deadline | None = None,
) -> Congruence | Undecided | None:
    """Match the rows of two codes.

    Args:
        A, B: rows that stand for directions, shapes (K, d) and (K', d'); the dimensions may differ
            (a code may lie in a subspace).
        tolerance: largest distance of corresponding rows under the least-squares rotation; beyond
            6e-4 nothing can be matched.
        effort: rows that the search may sort, counted each time; 1e7 take about a second.
        deadline: polled at each guess.

    Returns:
        The matching; None where there is none (this is proved, up to rounding); `Undecided` where
        the search was cut short, rows lie too close together to tell apart, or a matching is a
        little wider than the tolerance.

    Raises:
        DataError: not matrices of at least two finite nonzero rows.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> turned = square @ np.array([[0.6, 0.8], [-0.8, 0.6]])
        >>> found = congruence(square, turned[::-1])
        >>> isinstance(found, Congruence) and found.deviation < 1e-12
        True
        >>> congruence(square[:3], np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])) is None
        True
    """
    A, B = normalise(as_points(A, "A")), normalise(as_points(B, "B"))
    if len(A) != len(B):
        return None
    d = max(A.shape[1], B.shape[1])
    X, Y = (np.pad(Z, ((0, 0), (0, d - Z.shape[1]))) for Z in (A, B))
    # Singular values, at most sqrt(K), move by at most the norm of the difference (Weyl).
    squares = [np.linalg.eigvalsh(Z.T @ Z) for Z in (X, Y)]
    if np.abs(squares[0] - squares[1]).max() > 2.0 * agreement(tolerance) * len(X):
        return None
    found = _search(X, Y, tolerance, effort / (len(X) + _OVERHEAD), deadline or Deadline())
    if isinstance(found, SearchEnd):
        return None if found.reason is None else Undecided(found.reason)
    rotation = found.rotation[: A.shape[1], : B.shape[1]]
    return Congruence(found.partner, rotation, found.deviation)


def _search(
    X: np.ndarray, Y: np.ndarray, tolerance: float, labels: float, deadline: Deadline
) -> Match | SearchEnd:
    """Match X with Y; from the other side where this side takes long."""
    search = MatchingSearch(X, Y, tolerance)
    # Most codes that agree are matched by the first guesses; every pair is looked at only if not.
    found = search.run(min(labels, 2.0 * REFINING * (X.shape[1] + 8)), deadline)
    if isinstance(found, Match) or not found.cut_short:
        return found
    thorough = len(X) <= _ALL_PAIRS
    found = search.run(labels / 2.0, deadline, thorough=thorough)
    if isinstance(found, Match) or not found.cut_short:
        return found
    # The symmetries of the second code are the ones that spare work: try the other for second.
    found = MatchingSearch(Y, X, tolerance).run(labels / 2.0, deadline, thorough=thorough)
    if isinstance(found, Match):
        return Match(np.argsort(found.partner), found.rotation.T, found.deviation)
    return found
