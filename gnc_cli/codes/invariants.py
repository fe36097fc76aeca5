"""What a code is: its symmetries, strength as a design, covering radius, energies and rigidity.

Strength: the points are a design of strength t if the sums of all harmonics of degree 1 to t over
them vanish. By the addition theorem these are, for degree k, the averages over all ordered pairs of
points of the Gegenbauer polynomial P_k of the cosine, with P_k(1) = 1: the square of the mean
harmonic, which is never negative.

Covering radius: the largest angle between a direction and the nearest point. With P the hull of the
points, its cosine is the smallest distance of a facet of P from the centre, if that lies inside;
minus the distance of P if it lies outside; and else 0. For d > 4 it lies between two numbers:

- below every hole that is reached. The vectors y with <w_k, y> <= 1 for all points form the polar
  body, whose longest has length 1 / cosine; linear programmes climb from vertex to vertex;
- above what a design allows. If a design of strength 2 e - 1 had all cosines with a direction below
  a, the largest zero of P_e, the average of `P_e(s)^2 / (s - a)` over it would be negative, but it
  is that over the sphere, 0. At strength 2 e the same holds with the zeros of the Jacobi polynomial
  of weight (1 + s).

Rigidity: is the code jammed as it stands? Nothing is moved, except to check a motion that was
predicted. Points touch if their cosine is the largest, t. A motion v, tangent to the sphere at
every point, changes the cosines of the m contacts at the rates J v. It opens the contacts where the
rate is negative, and is allowed where no rate is positive. A stress is a vector of weights >= 0 of
the contacts with `J^T stress = 0`. By Farkas's lemma a contact is opened by an allowed motion, or
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

References: P. Delsarte, J. M. Goethals, J. J. Seidel, Spherical codes and designs, Geom. Dedicata
6, 1977; G. Fazekas, V. I. Levenshtein, On upper bounds for code distance and covering radius of
designs in polynomial metric spaces, J. Combin. Theory A 70, 1995; A. Donev, S. Torquato, F. H.
Stillinger, R. Connelly, A linear programming algorithm to test for jamming in hard-sphere packings,
J. Comput. Phys. 197, 2004; H. Cohn, Y. Jiao, A. Kumar, S. Torquato, Rigidity of spherical codes,
Geometry & Topology 15, 2011.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist
from scipy.special import roots_jacobi

from gnc_cli.brackets import Bracket
from gnc_cli.codes.congruence import CodeSymmetries
from gnc_cli.codes.description import Description, Design, Energies, Jamming, Rigidity, Symmetry
from gnc_cli.errors import UsageError
from gnc_cli.geometry.active_pairs import ActivePairs, Linearisation, linearise
from gnc_cli.geometry.linear_program import solve_linear_program
from gnc_cli.geometry.min_norm_point import min_norm_point
from gnc_cli.geometry.second_order import UNDECIDED, second_order
from gnc_cli.runtime.deadline import Deadline

_MOST_SYMMETRIC = 300
"""Symmetries are looked for up to this number of points."""
_HULL_DIMENSION = 4
"""Up to it the covering radius is computed from all facets."""
_TINY = 1e-9
"""Lengths below it are 0: of the hull's distance from the centre, of a step to a hole."""
_DIRECTIONS = 20
"""Random directions from which a hole is looked for."""
_SECONDS = 10.0
"""Time limit of that."""
_LATE = "not solved in the time given"

THOMSON = (
    *(0.5, 1.732050808, 3.674234614, 6.474691495, 9.985281374, 14.452977414, 19.675287861),
    *(25.759986531, 32.716949460, 40.596450508, 49.165253058, 58.853230612, 69.306363297),
    *(80.670244114, 92.911655303, 106.050404829, 120.084467447, 135.089467557, 150.881568334),
    *(167.641622399, 185.287536149, 203.930190663, 223.347074052, 243.812760299, 265.133326317),
    *(287.302615033, 310.491542358, 334.634439920, 359.603945904, 385.530838063, 412.261274651),
)
"""Smallest known Coulomb energies of K = 2, 3, ..., 32 points for d = 3, to nine decimals: D. J.
Wales and S. Ulker, Phys. Rev. B 74, 212101, 2006 (Cambridge Cluster Database), recomputed here.
Proved for K = 2 to 6 and 12."""
_MOST_COORDINATES = 8000
"""Codes of more coordinates, d - 1 for each point with a contact, are not examined: the matrix of
their second derivatives is dense."""
_DENSE = 3000
"""Beyond it the eigenvectors of J^T J take minutes, and sparse factors a few seconds."""
_FLAT = 1e-10
"""Squared singular values of J below this share of the largest count as 0."""
_STRICT = 1e-6
"""A stress below this share of its mean counts as 0."""
_FASTEST = 1e5
"""Largest coordinate of a motion that opens contacts at rate 1: a slower one is rounding."""
_OPEN = 0.99
"""Contacts that open at this rate or faster open at 1, but for the solver's tolerance."""
_PROGRAMME_SECONDS = 30.0
"""Time limit of a linear programme."""


class Unexamined(Exception):
    """A figure of a code is not known; the message says why."""


def describe(
    W: np.ndarray, contact_pairs: np.ndarray, deadline: Deadline, *, tolerance: float = 1e-6
) -> tuple[Description, tuple[str, ...]]:
    """Describe a code of different points, as far as the deadline allows.

    Args:
        W: unit rows, shape (K, d).
        contact_pairs: the pairs at the smallest distance, integers, shape (m, 2).
        tolerance: mean harmonics up to this size count as 0, and points at this distance as equal
            where one is the image of the other under a symmetry.

    Returns:
        The description, and the keys of the figures for which no time was left.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> contacts = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
        >>> description, _ = describe(square, contacts, Deadline())
        >>> description.symmetry, description.design.strength
        (Symmetry(order='8', orbits=(4,)), 3)
    """
    parts: dict[str, Callable[[], Any]] = {
        "symmetry": partial(symmetry, W, deadline, tolerance),
        "design": partial(design, W, deadline, tolerance),
        "covering_radius_deg": partial(covering_radius, W, deadline),
        "energies": partial(energies, W),
        "contact_graph_rank": partial(graph_rank, len(W), contact_pairs),
        "rigidity": partial(rigidity, W, contact_pairs, deadline),
    }
    figures: dict[str, Any] = {}
    left_out, undecided = [], []
    for key, compute in parts.items():
        try:
            if deadline.expired:
                raise Unexamined(_LATE)
            figures[key] = compute()
        except Unexamined as reason:
            left_out.append(f"{key}: {reason}")
            if deadline.expired:
                undecided.append(f"description.{key}")
    return Description(**figures, left_out=tuple(left_out)), tuple(undecided)


def symmetry(W: np.ndarray, deadline: Deadline, tolerance: float) -> Symmetry:
    """Order and orbits of the symmetry group of rows (K, d).

    Raises:
        Unexamined: the code has too many rows, or the deadline came first.
    """
    try:
        group = CodeSymmetries(W, tolerance=tolerance, most_rows=_MOST_SYMMETRIC, deadline=deadline)
    except UsageError as error:
        raise Unexamined(str(error)) from error
    _, sizes = np.unique(group.orbits(), return_counts=True)
    return Symmetry(str(group.order), tuple(sorted(sizes.tolist(), reverse=True)))


def design(W: np.ndarray, deadline: Deadline, tolerance: float = 1e-6) -> Design:
    """Strength of unit rows (K, d) as a spherical design.

    It is finite: the number of points bounds it (Delsarte, Goethals and Seidel).

    Raises:
        Unexamined: the deadline came first.
    """
    d = W.shape[1]
    cosines = W @ W.T
    before, now = np.ones_like(cosines), cosines
    k = 1
    while now.mean() <= tolerance**2:
        if deadline.expired:
            raise Unexamined(_LATE)
        # The recurrence of Gegenbauer's polynomials, normalised to 1 at 1.
        following = ((2 * k + d - 2) * cosines * now - k * before) / (k + d - 2)
        before, now = now, following
        k += 1
    return Design(k - 1, math.sqrt(float(now.mean())), tolerance)


def covering_radius(W: np.ndarray, deadline: Deadline) -> Bracket:
    """The covering radius of unit rows (K, d), degrees.

    For d <= 4 both ends are the same number, good to 1e-7 degrees.
    """
    d = W.shape[1]
    outside = float(np.linalg.norm(min_norm_point(W)[0]))
    least = reached = -outside if outside > _TINY else 0.0
    if least == 0.0 and np.linalg.matrix_rank(W, tol=_TINY) == d:
        if d <= _HULL_DIMENSION:
            # Facets are n x + offset <= 0, n of unit length.
            least = reached = max(0.0, float((-ConvexHull(W).equations[:, -1]).min()))
        else:
            with suppress(Unexamined):
                least = _design_cosine(design(W, deadline).strength, d)
            reached = max(_deepest_hole(W, deadline.limited(_SECONDS)), least)
    return Bracket(math.degrees(math.acos(reached)), math.degrees(math.acos(least)))


def _design_cosine(strength: int, d: int) -> float:
    """What the largest cosine of any direction with the points of a design is at least."""
    if strength == 0:
        return 0.0
    zeros, _ = roots_jacobi((strength + 1) // 2, (d - 3) / 2, (d - 3) / 2 + 1 - strength % 2)
    return max(0.0, float(zeros.max()))


def _deepest_hole(W: np.ndarray, deadline: Deadline) -> float:
    """Cosine of the deepest hole that was reached in time, of rows around the centre."""
    K, d = W.shape
    cosine = 1.0
    for direction in np.random.default_rng(0).standard_normal((_DIRECTIONS, d)):
        length, longer = 0.0, 1.0
        while longer > length + _TINY:
            length = longer
            hole = solve_linear_program(-direction, W, np.ones(K), (None, None), deadline)
            if hole is not None and hole.status == 3:
                return 0.0  # unbounded: the centre lies on the boundary of the hull
            if hole is None or hole.status != 0:
                return cosine
            direction, longer = hole.x, float(np.linalg.norm(hole.x))
            cosine = min(cosine, float((W @ direction).max()) / longer)
    return cosine


def energies(W: np.ndarray) -> Energies:
    """Energies of different unit rows (K, d)."""
    K, d = W.shape
    distances = pdist(W)
    return Energies(
        coulomb=float((1.0 / distances).sum()),
        thomson=THOMSON[K - 2] if d == 3 and K - 2 < len(THOMSON) else None,
        logarithmic=-float(np.log(distances).sum()),
        harmonic=None if d == 2 else float((distances ** (2.0 - d)).sum()),
    )


def graph_rank(vertices: int, edges: np.ndarray) -> int:
    """Rank of the adjacency matrix of a graph with edges (m, 2)."""
    graph = np.zeros((vertices, vertices))
    graph[edges[:, 0], edges[:, 1]] = 1.0
    return int(np.linalg.matrix_rank(graph + graph.T, hermitian=True))


def rigidity(W: np.ndarray, contact_pairs: np.ndarray, deadline: Deadline) -> Rigidity:
    """Decide whether the contacts hold a code in place.

    Args:
        W: unit rows, shape (K, d).
        contact_pairs: the pairs at the smallest distance, integers, shape (m, 2), m >= 1.
        deadline: it limits the linear programmes.

    Raises:
        Unexamined: the code is too large, or a linear programme was not solved.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> corners = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
        >>> rigidity(square, corners, Deadline()).verdict.value
        'infinitesimally_jammed'
    """
    K = len(W)
    pairs = ActivePairs(*contact_pairs.T)
    linear = linearise(pairs, W, np.isin(np.arange(K), contact_pairs))
    if linear.size > _MOST_COORDINATES:
        raise Unexamined(f"more than {_MOST_COORDINATES} coordinates")
    jacobian = linear.jacobian()
    stress, rank = _balanced(jacobian, np.ones(len(pairs)))
    strict = stress > _STRICT
    motion = np.zeros(0)
    if not strict.all():
        solution = _programme(jacobian, deadline.limited(_PROGRAMME_SECONDS))
        if solution is None:
            raise Unexamined("the linear programme was not solved, for lack of time or of digits")
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
        deadline=deadline.limited(_PROGRAMME_SECONDS),
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
    normal = (jacobian.T @ jacobian).tocsc()
    if normal.shape[0] > _DENSE:
        return weights - jacobian @ _least_squares(jacobian, weights), _rank(normal)
    sizes, vectors = np.linalg.eigh(normal.toarray())
    large = sizes > _FLAT * sizes.max()
    solution = vectors[:, large] @ (vectors[:, large].T @ (jacobian.T @ weights) / sizes[large])
    return weights - jacobian @ solution, int(large.sum())


def _least_squares(matrix: sparse.csr_matrix, target: np.ndarray) -> np.ndarray:
    """The shortest x with the least `|matrix x - target|`, by Krylov's method."""
    from scipy.sparse.linalg import lsmr

    steps = 10 * sum(matrix.shape)
    return np.asarray(lsmr(matrix, target, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=steps)[0])


def _rank(normal: sparse.csc_matrix) -> int:
    """Rank of a large sparse matrix without negative eigenvalues, by its smallest ones.

    Raises:
        Unexamined: more than a quarter of them are 0.
    """
    from scipy.sparse.linalg import eigsh

    size, number = normal.shape[0], 64
    flat = _FLAT * float(eigsh(normal, 1, return_eigenvectors=False)[0])
    while number < size // 4:
        zeros = eigsh(normal, number, sigma=-flat, return_eigenvectors=False) <= flat
        if not zeros.all():
            return size - int(zeros.sum())
        number *= 2
    raise Unexamined("the contacts leave too much freedom")


def _programme(
    jacobian: sparse.csr_matrix, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """A motion (n,), at what rates it opens contacts (m,), and a stress of the others (m,).

    The stress is at least 1 where the rate is below 1. None: no time, or too few digits.
    """
    m, n = jacobian.shape
    solution = solve_linear_program(
        np.concatenate([np.zeros(n), -np.ones(m)]),
        sparse.hstack([jacobian, sparse.identity(m)], format="csr"),
        np.zeros(m),
        [(-_FASTEST, _FASTEST)] * n + [(0.0, 1.0)] * m,
        deadline,
    )
    solved = solution is not None and solution.status == 0
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
