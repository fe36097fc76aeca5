"""Is a code jammed as it stands? Nothing is moved, except to check a motion that was predicted.

Points touch if their cosine is the largest, t. A motion v, tangent to the sphere at every point,
changes the cosines of the m contacts at the rates J v. It opens the contacts where the rate is
negative, and is allowed where no rate is positive. A stress is a vector of weights >= 0 of the
contacts with `J^T stress = 0`. By Farkas's lemma a contact is opened by an allowed motion, or
carries a stress, and never both. One linear programme finds both sets:

    maximise sum(e)   subject to   J v + e <= 0,   0 <= e <= 1,

whose multipliers are a stress of all contacts that do not open. So

- every contact opens: the code opens, and its minimal distance grows at once;
- the contacts with a stress leave their points no motion but rotations, even as bars: they are
  infinitesimally jammed, and so jammed;
- else second derivatives, weighted by the stress, decide whether it opens or is jammed
  (`geometry.second_order`).

Points without a stressed contact are set aside: they are free to move. A code is also not jammed
where a point moves while all others stay.

References: A. Donev, S. Torquato, F. H. Stillinger, R. Connelly, A linear programming algorithm to
test for jamming in hard-sphere packings, J. Comput. Phys. 197, 2004; H. Cohn, Y. Jiao, A. Kumar,
S. Torquato, Rigidity of spherical codes, Geometry & Topology 15, 2011.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components

from gnc_cli.codes.description import Jamming, Rigidity
from gnc_cli.geometry.active_pairs import ActivePairs, Linearisation, linearise
from gnc_cli.geometry.second_order import UNDECIDED, second_order
from gnc_cli.runtime.deadline import Deadline

_MOST_COORDINATES = 3000
"""Codes of more coordinates, K (d - 1), are not examined: their eigenvectors take minutes."""
_FLAT = 1e-10
"""Squared singular values of J below this share of the largest count as 0."""
_STRICT = 1e-6
"""A stress below this share of its mean counts as 0."""
_FASTEST = 1e5
"""Largest coordinate of a motion that opens contacts at rate 1: a slower one is rounding."""
_OPEN = 0.99
"""Contacts that open at this rate or faster open at 1, but for the solver's tolerance."""
_SECONDS = 30.0
"""Time limit of a linear programme."""


def rigidity(W: np.ndarray, contact_pairs: np.ndarray, deadline: Deadline) -> Rigidity | str:
    """Decide whether the contacts hold a code in place.

    Args:
        W: unit rows, shape (K, d).
        contact_pairs: the pairs at the smallest distance, integers, shape (m, 2), m >= 1.
        deadline: it limits the linear programmes.

    Returns:
        The verdict; or, of a code that is too large, the reason why there is none.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> corners = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
        >>> rigidity(square, corners, Deadline()).verdict.value
        'infinitesimally_jammed'
    """
    K, d = W.shape
    if K * (d - 1) > _MOST_COORDINATES:
        return f"more than {_MOST_COORDINATES} coordinates"
    pairs = ActivePairs(*contact_pairs.T)
    linear = linearise(pairs, W, np.isin(np.arange(K), contact_pairs))
    jacobian = linear.jacobian()
    stress, rank = _balanced(jacobian, np.ones(len(pairs)))
    strict = stress > _STRICT
    motion = np.zeros(0)
    if not strict.all():
        solution = _programme(jacobian, deadline.within(_SECONDS))
        if solution is None:
            return "the linear programme was not solved in time"
        motion, rates, stress = solution
        strict = rates < _OPEN
    loaded = np.unique(contact_pairs[strict])
    if len(loaded):
        verdict, reason, direction = _backbone(W, pairs, stress, strict, deadline)
    else:
        verdict, reason = Jamming.OPENS, "a motion opens every contact; --json has it"
        direction = linear.moves(motion)
    if verdict is Jamming.UNDECIDED:
        alone = _movable(W, linear, pairs, loaded)
        if alone is not None:
            verdict, reason = Jamming.FLEXIBLE, f"point {alone}, counted from 0, moves alone"
    if direction is not None:
        direction /= np.linalg.norm(direction, axis=1).max()
    return Rigidity(
        verdict=verdict,
        reason=reason,
        stressed=int(strict.sum()),
        free_points=K - len(loaded),
        rank=rank,
        degrees_of_freedom=_freedom(W[linear.place >= 0]),
        direction=None if direction is None else tuple(map(tuple, direction.tolist())),
    )


def _backbone(
    W: np.ndarray, pairs: ActivePairs, stress: np.ndarray, strict: np.ndarray, deadline: Deadline
) -> tuple[Jamming, str, np.ndarray | None]:
    """The verdict on the points with stressed contacts, the reason, and how they open, (K, d)."""
    bars = pairs.take(strict)
    loaded = np.isin(np.arange(len(W)), [bars.a, bars.b])
    stress, rank = _balanced(linearise(bars, W, loaded).jacobian(), stress[strict])
    if rank == _freedom(W[loaded]) and stress.min() > 0.0:
        return Jamming.INFINITESIMALLY_JAMMED, "a stress, and no motion but rotations", None
    second = second_order(
        W,
        bars,
        np.maximum(stress, 0.0) / np.maximum(stress, 0.0).sum(),
        np.ones(len(W), dtype=bool),
        _pairs_above,
        scale=1.0 - bars.largest(W),
        deadline=deadline.within(_SECONDS),
    )
    if second.lower is not None:
        along = np.einsum("kd,kd->k", second.lower, W)[:, None] * W
        return (
            Jamming.OPENS,
            "second derivatives fall along a motion; --json has it",
            second.lower - along,
        )
    if second.local_minimum == UNDECIDED:
        return Jamming.UNDECIDED, second.reason, None
    # One part that is a local minimum is enough for the distance, not for the others.
    graph = sparse.coo_matrix((np.ones(len(bars)), (bars.a, bars.b)), shape=(len(W), len(W)))
    if connected_components(graph, directed=False)[0] > 1 + (~loaded).sum():
        return Jamming.UNDECIDED, "the stressed contacts fall into parts", None
    return Jamming.JAMMED, "second derivatives under the stress are positive", None


def _balanced(jacobian: sparse.csr_matrix, weights: np.ndarray) -> tuple[np.ndarray, int]:
    """The stress nearest to some weights of the contacts, of any sign, (m,); the rank of J."""
    sizes, vectors = np.linalg.eigh((jacobian.T @ jacobian).toarray())
    large = sizes > _FLAT * sizes.max()
    solution = vectors[:, large] @ (vectors[:, large].T @ (jacobian.T @ weights) / sizes[large])
    return weights - jacobian @ solution, int(large.sum())


def _programme(
    jacobian: sparse.csr_matrix, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """A motion (n,), at what rates it opens contacts (m,), and a stress of the others (m,).

    The stress is at least 1 where the rate is below 1. None: no time.
    """
    m, n = jacobian.shape
    solution = linprog(
        np.concatenate([np.zeros(n), -np.ones(m)]),
        sparse.hstack([jacobian, sparse.identity(m)], format="csr"),
        np.zeros(m),
        bounds=[(-_FASTEST, _FASTEST)] * n + [(0.0, 1.0)] * m,
        method="highs",
        options={"time_limit": max(deadline.remaining, 0.0)},
    )
    solved = solution.status == 0
    return (solution.x[:n], solution.x[n:], -solution.ineqlin.marginals) if solved else None


def _freedom(W: np.ndarray) -> int:
    """Dimension of the motions of rows (P, d), without that of the rotations, on their span."""
    rank, d = int(np.linalg.matrix_rank(W, tol=1e-9)), W.shape[1]
    return len(W) * (d - 1) - (rank * d - rank * (rank + 1) // 2)


def _pairs_above(points: np.ndarray, least: float) -> ActivePairs:
    return ActivePairs(*np.nonzero(np.triu(points @ points.T >= least, 1)))


def _movable(
    W: np.ndarray, linear: Linearisation, pairs: ActivePairs, rows: np.ndarray
) -> int | None:
    """One of some rows that moves while all others stay, and comes nearer to none that it touches.

    A step along a great circle multiplies a cosine that it leaves at first order by less than 1,
    so that rows of cosines below 0 are not looked at.
    """
    if pairs.largest(W) < -1e-9:
        return None
    for row in rows.tolist():
        near = np.concatenate([pairs.b[pairs.a == row], pairs.a[pairs.b == row]])
        rates = W[near] @ linear.bases[row]
        loose = np.linalg.matrix_rank(rates, tol=1e-7) < rates.shape[1]
        room = linprog(rates.sum(axis=0), rates, np.zeros(len(near)), bounds=(-1.0, 1.0))
        if loose or (room.status == 0 and room.fun < -1e-6):
            return row
    return None
