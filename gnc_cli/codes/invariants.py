"""Description of a code: symmetries, strength as a design, covering radius, energies, rigidity.

Strength: the points are a design of strength t if the sums of all harmonics of degree 1 to t over
them vanish. By the addition theorem these are, for degree k, the averages over all ordered pairs of
points of the Gegenbauer polynomial P_k of the cosine, with P_k(1) = 1: the square of the mean
harmonic, which is never negative.

Covering radius: the largest angle between a direction and the nearest point. With P the hull of the
points, its cosine is the smallest distance of a facet of P from the centre, if that lies inside;
minus the distance of P if it lies outside; and else 0. For d > 4 the cosine lies between two
numbers:

- It is at most that of each hole that was found. The vectors y with <w_k, y> <= 1 for all points
  form the polar body, whose longest has length 1 / cosine; linear programs climb from vertex to
  vertex.
- It is at least a bound for designs. If a design of strength 2 e - 1 had all cosines with a
  direction below a, the largest zero of P_e, the average of `P_e(s)^2 / (s - a)` over it would be
  negative, but it is that over the sphere, 0. At strength 2 e the same holds with the zeros of the
  Jacobi polynomial of weight (1 + s).

Rigidity: is the code jammed? Points are moved only to check a motion that was predicted. Points
touch if their cosine is the largest, t. A motion v, tangent to the sphere at every point, changes
the cosines of the m contacts at the rates J v. It opens the contacts where the rate is negative,
and is allowed where no rate is positive. A stress is a vector of weights >= 0 of the contacts with
`J^T stress = 0`. By Farkas's lemma a contact is opened by an allowed motion, or carries a stress,
and never both. One linear program finds both sets:

    maximise sum(e)   subject to   J v + e <= 0,   0 <= e <= 1,

whose multipliers are a stress of all contacts that do not open. So

- every contact opens: the code opens, and its minimal distance grows at once;
- the contacts with a stress leave their points no motion but rotations, even as bars: they are
  infinitesimally jammed, and so jammed;
- else second derivatives, weighted by the stress, decide whether it opens or is jammed
  (`geometry.second_order`).

Points without a stressed contact are excluded: they are free to move. A code is also not jammed if
a point moves while all others are fixed.

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

_MAX_SYMMETRY_POINTS = 300
"""Largest number of points of a code whose symmetries are computed."""
_MAX_HULL_DIMENSION = 4
"""Largest dimension in which the covering radius is computed from all facets."""
_ZERO_LENGTH = 1e-9
"""Largest length that counts as 0: of the hull's distance from the centre, of a step to a hole."""
_DIRECTIONS = 20
"""Number of random directions from which a hole is searched."""
_HOLE_SECONDS = 10.0
"""Time limit of the search for holes, in seconds."""
_TIMEOUT_REASON = "not solved in the time given"
"""Reason of each value that the deadline excludes."""

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
_MAX_COORDINATES = 8000
"""Largest number of coordinates, d - 1 per point with a contact, of a code whose rigidity is
decided: the matrix of its second derivatives is dense, 512 MB."""
_MAX_DENSE_COORDINATES = 3000
"""Largest number of coordinates for dense eigenvectors of J^T J: with more they take minutes, and
sparse factors a few seconds."""
_ZERO_SQUARE = 1e-10
"""Largest squared singular value of J that counts as 0, relative to the largest."""
_ZERO_STRESS = 1e-6
"""Largest stress that counts as 0, relative to its mean."""
_MAX_SPEED = 1e5
"""Largest coordinate of a motion that opens contacts at rate 1: a slower one is rounding."""
_OPENING_RATE = 0.99
"""Smallest rate of a contact that opens: rates are 0 or 1 up to the solver's tolerance."""
_PROGRAM_SECONDS = 30.0
"""Time limit of a linear program, in seconds."""


class UnexaminedError(Exception):
    """Reason why a value of a code is not known."""


def describe(
    W: np.ndarray, contact_pairs: np.ndarray, deadline: Deadline, *, tolerance: float = 1e-6
) -> tuple[Description, tuple[str, ...]]:
    """Describe a code of different points, as far as the deadline allows.

    Args:
        W: unit rows, shape (K, d).
        contact_pairs: the pairs at the smallest distance, integers, shape (m, 2).
        deadline: polled before each value.
        tolerance: largest mean harmonic that counts as 0, and largest distance between a point and
            its image under a symmetry.

    Returns:
        The description, and the keys of the values that the deadline excluded.

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
    values: dict[str, Any] = {}
    left_out, undecided = [], []
    for key, compute in parts.items():
        try:
            if deadline.expired:
                raise UnexaminedError(_TIMEOUT_REASON)
            values[key] = compute()
        except UnexaminedError as reason:
            left_out.append(f"{key}: {reason}")
            if deadline.expired:
                undecided.append(f"description.{key}")
    return Description(**values, left_out=tuple(left_out)), tuple(undecided)


def symmetry(W: np.ndarray, deadline: Deadline, tolerance: float) -> Symmetry:
    """Compute order and orbits of the symmetry group of rows (K, d).

    Raises:
        UnexaminedError: the code has too many rows, or the deadline came first.
    """
    try:
        group = CodeSymmetries(
            W, tolerance=tolerance, max_rows=_MAX_SYMMETRY_POINTS, deadline=deadline
        )
    except UsageError as error:
        raise UnexaminedError(str(error)) from error
    _, sizes = np.unique(group.orbits(), return_counts=True)
    return Symmetry(str(group.order), tuple(sorted(sizes.tolist(), reverse=True)))


def design(W: np.ndarray, deadline: Deadline, tolerance: float = 1e-6) -> Design:
    """Compute the strength of unit rows (K, d) as a spherical design.

    It is finite: the number of points bounds it (Delsarte, Goethals and Seidel).

    Raises:
        UnexaminedError: the deadline came first.
    """
    d = W.shape[1]
    cosines = W @ W.T
    previous, current = np.ones_like(cosines), cosines
    k = 1
    while current.mean() <= tolerance**2:
        if deadline.expired:
            raise UnexaminedError(_TIMEOUT_REASON)
        # The recurrence of Gegenbauer's polynomials, normalised to 1 at 1.
        following = ((2 * k + d - 2) * cosines * current - k * previous) / (k + d - 2)
        previous, current = current, following
        k += 1
    return Design(k - 1, math.sqrt(float(current.mean())), tolerance)


def covering_radius(W: np.ndarray, deadline: Deadline) -> Bracket:
    """Compute the covering radius of unit rows (K, d), in degrees.

    For d <= 4 both ends are the same number, accurate to 1e-7 degrees.
    """
    d = W.shape[1]
    outside = float(np.linalg.norm(min_norm_point(W)[0]))
    lowest = reached = -outside if outside > _ZERO_LENGTH else 0.0
    if lowest == 0.0 and np.linalg.matrix_rank(W, tol=_ZERO_LENGTH) == d:
        if d <= _MAX_HULL_DIMENSION:
            # Facets are n x + offset <= 0, n of unit length.
            lowest = reached = max(0.0, float((-ConvexHull(W).equations[:, -1]).min()))
        else:
            with suppress(UnexaminedError):
                lowest = _design_cosine(design(W, deadline).strength, d)
            reached = max(_deepest_hole(W, deadline.limited(_HOLE_SECONDS)), lowest)
    return Bracket(math.degrees(math.acos(reached)), math.degrees(math.acos(lowest)))


def _design_cosine(strength: int, d: int) -> float:
    """Bound the largest cosine of any direction with the points of a design from below."""
    if strength == 0:
        return 0.0
    zeros, _ = roots_jacobi((strength + 1) // 2, (d - 3) / 2, (d - 3) / 2 + 1 - strength % 2)
    return max(0.0, float(zeros.max()))


def _deepest_hole(W: np.ndarray, deadline: Deadline) -> float:
    """Return the cosine of the deepest hole that was found in time, for rows around the centre."""
    K, d = W.shape
    cosine = 1.0
    for direction in np.random.default_rng(0).standard_normal((_DIRECTIONS, d)):
        length, longer = 0.0, 1.0
        while longer > length + _ZERO_LENGTH:
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
    """Compute energies of different unit rows (K, d)."""
    K, d = W.shape
    distances = pdist(W)
    return Energies(
        coulomb=float((1.0 / distances).sum()),
        thomson=THOMSON[K - 2] if d == 3 and K - 2 < len(THOMSON) else None,
        logarithmic=-float(np.log(distances).sum()),
        harmonic=None if d == 2 else float((distances ** (2.0 - d)).sum()),
    )


def graph_rank(vertices: int, edges: np.ndarray) -> int:
    """Compute the rank of the adjacency matrix of a graph with edges (m, 2)."""
    graph = np.zeros((vertices, vertices))
    graph[edges[:, 0], edges[:, 1]] = 1.0
    return int(np.linalg.matrix_rank(graph + graph.T, hermitian=True))


def rigidity(W: np.ndarray, contact_pairs: np.ndarray, deadline: Deadline) -> Rigidity:
    """Decide whether the contacts hold a code in place.

    Args:
        W: unit rows, shape (K, d).
        contact_pairs: the pairs at the smallest distance, integers, shape (m, 2), m >= 1.
        deadline: time limit of the linear programs.

    Raises:
        UnexaminedError: the code is too large, or a linear program was not solved.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> corners = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
        >>> rigidity(square, corners, Deadline()).verdict.value
        'infinitesimally_jammed'
    """
    K = len(W)
    pairs = ActivePairs(*contact_pairs.T)
    linear = linearise(pairs, W, np.isin(np.arange(K), contact_pairs))
    if linear.size > _MAX_COORDINATES:
        raise UnexaminedError(f"more than {_MAX_COORDINATES} coordinates")
    jacobian = linear.jacobian()
    stress, rank = _balanced(jacobian, np.ones(len(pairs)))
    loaded_contacts = stress > _ZERO_STRESS
    motion = np.zeros(0)
    if not loaded_contacts.all():
        solution = _solve_motion(jacobian, deadline.limited(_PROGRAM_SECONDS))
        if solution is None:
            raise UnexaminedError(
                "the linear program was not solved, for lack of time or of digits"
            )
        motion, rates, stress = solution
        loaded_contacts = rates < _OPENING_RATE
    loaded = np.unique(contact_pairs[loaded_contacts])
    if len(loaded):
        verdict, reason, direction = _backbone(W, pairs, stress, loaded_contacts, deadline)
    else:
        verdict, reason = Jamming.OPENS, "a motion opens every contact; --json has it"
        direction = linear.moves(motion)
    if verdict is Jamming.UNDECIDED:
        movable = _movable(W, linear, pairs, loaded)
        if movable is not None:
            verdict, reason = Jamming.FLEXIBLE, f"point {movable}, counted from 0, moves alone"
    if direction is not None:
        direction /= np.linalg.norm(direction, axis=1).max()
    return Rigidity(
        verdict=verdict,
        reason=reason,
        stressed=int(loaded_contacts.sum()),
        free_points=K - len(loaded),
        rank=rank,
        degrees_of_freedom=_freedom(W[linear.place >= 0]),
        direction=None if direction is None else tuple(map(tuple, direction.tolist())),
    )


def _backbone(
    W: np.ndarray, pairs: ActivePairs, stress: np.ndarray, strict: np.ndarray, deadline: Deadline
) -> tuple[Jamming, str, np.ndarray | None]:
    """Decide on the points with stressed contacts: verdict, reason, and opening motion (K, d)."""
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
        deadline=deadline.limited(_PROGRAM_SECONDS),
    )
    if second.lower is not None:
        radial = np.einsum("kd,kd->k", second.lower, W)[:, None] * W
        return (
            Jamming.OPENS,
            "second derivatives fall along a motion; --json has it",
            second.lower - radial,
        )
    if second.local_minimum == UNDECIDED:
        return Jamming.UNDECIDED, second.reason, None
    # A part that is a local minimum decides the distance, not the other parts.
    graph = sparse.coo_matrix((np.ones(len(bars)), (bars.a, bars.b)), shape=(len(W), len(W)))
    if connected_components(graph, directed=False)[0] > 1 + (~loaded).sum():
        return Jamming.UNDECIDED, "the stressed contacts fall into parts", None
    return Jamming.JAMMED, "second derivatives under the stress are positive", None


def _balanced(jacobian: sparse.csr_matrix, weights: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the stress, of any sign, nearest to weights of the contacts (m,); the rank of J."""
    normal = (jacobian.T @ jacobian).tocsc()
    if normal.shape[0] > _MAX_DENSE_COORDINATES:
        return weights - jacobian @ _least_squares(jacobian, weights), _rank(normal)
    sizes, vectors = np.linalg.eigh(normal.toarray())
    large = sizes > _ZERO_SQUARE * sizes.max()
    solution = vectors[:, large] @ (vectors[:, large].T @ (jacobian.T @ weights) / sizes[large])
    return weights - jacobian @ solution, int(large.sum())


def _least_squares(matrix: sparse.csr_matrix, target: np.ndarray) -> np.ndarray:
    """Return the shortest x with the least `|matrix x - target|`, by Krylov's method."""
    from scipy.sparse.linalg import lsmr

    steps = 10 * sum(matrix.shape)
    return np.asarray(lsmr(matrix, target, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=steps)[0])


def _rank(normal: sparse.csc_matrix) -> int:
    """Compute the rank of a large sparse matrix, with no negative eigenvalue, by its smallest ones.

    Raises:
        UnexaminedError: more than a quarter of them are 0.
    """
    from scipy.sparse.linalg import eigsh

    size, number = normal.shape[0], 64
    flat = _ZERO_SQUARE * float(eigsh(normal, 1, return_eigenvectors=False)[0])
    while number < size // 4:
        zeros = eigsh(normal, number, sigma=-flat, return_eigenvectors=False) <= flat
        if not zeros.all():
            return int(size - zeros.sum())
        number *= 2
    raise UnexaminedError("the contacts leave too much freedom")


def _solve_motion(
    jacobian: sparse.csr_matrix, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Solve for a motion (n,), its rates at contacts (m,), and a stress of the other contacts (m,).

    The stress is at least 1 if the rate is below 1. None for lack of time or digits.
    """
    m, n = jacobian.shape
    solution = solve_linear_program(
        np.concatenate([np.zeros(n), -np.ones(m)]),
        sparse.hstack([jacobian, sparse.identity(m)], format="csr"),
        np.zeros(m),
        [(-_MAX_SPEED, _MAX_SPEED)] * n + [(0.0, 1.0)] * m,
        deadline,
    )
    solved = solution is not None and solution.status == 0
    return (solution.x[:n], solution.x[n:], -solution.ineqlin.marginals) if solved else None


def _freedom(W: np.ndarray) -> int:
    """Return the dimension of the motions of rows (P, d), less the rotations of their span."""
    rank, d = int(np.linalg.matrix_rank(W, tol=1e-9)), W.shape[1]
    return int(len(W) * (d - 1) - (rank * d - rank * (rank + 1) // 2))


def _pairs_above(points: np.ndarray, threshold: float) -> ActivePairs:
    return ActivePairs(*np.nonzero(np.triu(points @ points.T >= threshold, 1)))


def _movable(
    W: np.ndarray, linear: Linearisation, pairs: ActivePairs, rows: np.ndarray
) -> int | None:
    """Find one of some rows (n,) that can move alone, without approaching those that it touches.

    A step along a great circle multiplies a cosine of derivative 0 by less than 1, so rows of
    cosines below 0 are not examined.
    """
    if pairs.largest(W) < -1e-9:
        return None
    for row in rows.tolist():
        touching = np.concatenate([pairs.b[pairs.a == row], pairs.a[pairs.b == row]])
        rates = W[touching] @ linear.bases[row]
        free = np.linalg.matrix_rank(rates, tol=1e-7) < rates.shape[1]
        motion = linprog(rates.sum(axis=0), rates, np.zeros(len(touching)), bounds=(-1.0, 1.0))
        if free or (motion.status == 0 and motion.fun < -1e-6):
            return int(row)
    return None
