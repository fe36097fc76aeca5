"""Symmetries, strength as a design, covering radius and energies of a code.

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

References: P. Delsarte, J. M. Goethals, J. J. Seidel, Spherical codes and designs, Geom. Dedicata
6, 1977; G. Fazekas, V. I. Levenshtein, On upper bounds for code distance and covering radius of
designs in polynomial metric spaces, J. Combin. Theory A 70, 1995.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist
from scipy.special import roots_jacobi

from gnc_cli.codes.automorphisms import CodeSymmetries
from gnc_cli.codes.description import Description, Design, Energies, Symmetry
from gnc_cli.codes.rigidity import rigidity
from gnc_cli.errors import UsageError
from gnc_cli.geometry.min_norm_point import min_norm_point
from gnc_cli.records import Bracket
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
        figure = _LATE if deadline.expired else compute()
        if not isinstance(figure, str):
            figures[key] = figure
            continue
        left_out.append(f"{key}: {figure}")
        if deadline.expired:
            undecided.append(f"description.{key}")
    return Description(**figures, left_out=tuple(left_out)), tuple(undecided)


def symmetry(W: np.ndarray, deadline: Deadline, tolerance: float) -> Symmetry | str:
    """Order and orbits of the symmetry group of rows (K, d), or why they are not known."""
    try:
        group = CodeSymmetries(W, tolerance=tolerance, most_rows=_MOST_SYMMETRIC, deadline=deadline)
    except UsageError as error:
        return str(error)
    _, sizes = np.unique(group.orbits(), return_counts=True)
    return Symmetry(str(group.order), tuple(sorted(sizes.tolist(), reverse=True)))


def design(W: np.ndarray, deadline: Deadline, tolerance: float = 1e-6) -> Design | str:
    """Strength of unit rows (K, d) as a spherical design; or why it is not known.

    It is finite: the number of points bounds it (Delsarte, Goethals and Seidel).
    """
    d = W.shape[1]
    cosines = W @ W.T
    before, now = np.ones_like(cosines), cosines
    k = 1
    while now.mean() <= tolerance**2:
        if deadline.expired:
            return _LATE
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
            averages = design(W, deadline)
            least = 0.0 if isinstance(averages, str) else _design_cosine(averages.strength, d)
            reached = max(_deepest_hole(W, deadline.within(_SECONDS)), least)
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
            hole = linprog(
                -direction,
                W,
                np.ones(K),
                bounds=(None, None),
                method="highs",
                options={"time_limit": max(deadline.remaining, 0.0)},
            )
            if hole.status == 3:  # unbounded: the centre lies on the boundary of the hull
                return 0.0
            if hole.status != 0:
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
