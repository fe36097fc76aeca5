"""Certificate of a code: proved distances, rattlers, contacts.

A rattler (definition 3.4 of arXiv 2310.05351) is a row whose distance exceeds the minimum. The
one-vs-one and the one-vs-rest distance have different rattlers; each function names its distance.
Tolerances are absolute and on distances, never on cosines.
"""

import math
from dataclasses import dataclass

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.gram import closest_pair, gram_tiles, one_vs_one_rattlers, row_maxima
from gnc_cli.geometry.one_vs_rest import own_row_bounds
from gnc_cli.geometry.rounding import gamma
from gnc_cli.geometry.sphere import (
    angle_from_chord,
    antipodes,
    chord,
    pair_chord_bounds,
    pair_chords,
)
from gnc_cli.metrics.gnc2 import EVERY_CLASS, Gnc2Detail, Rattlers, gnc2_detail
from gnc_cli.runtime.deadline import Deadline

_MAX_CONTACTS = 10**6
"""Largest number of contacts that are listed: 16 MB of indices."""
_MAX_OPTIMAL_WIDTH = 1e-9
"""Largest width of a bracket whose direction of the lower end counts as optimal."""
_SIDE = 1024
"""Side of a tile of the Gram matrix: 8 MB in float64."""


@dataclass(frozen=True)
class Certificate:
    """Measures of one code."""

    max_cosine: float
    """Largest cosine of two different rows."""
    min_angle: float
    """Minimal angle, in radians, from the chord."""
    rho_one_vs_one: float
    """Smallest chord."""
    rho_one_vs_rest: Bracket
    """Smallest distance of a row from the hull of the others."""
    rattlers: Rattlers
    """Numbers of rattlers."""
    contacts: int | None = None
    """Number of pairs at the smallest distance; None if there are too many to count."""
    contact_pairs: np.ndarray | None = None
    """Pairs at the smallest distance, i < j, shape (m, 2); None if they are too many to list."""
    rattles_one_vs_one: np.ndarray | None = None
    """Mask of the one-vs-one rattlers, shape (K,); None if it was not computed."""
    classes: Gnc2Detail | None = None
    """Bracket of each class; None if only the minimum was computed."""

    @property
    def undecided(self) -> bool:
        """True if the deadline came before the one-vs-rest rattlers were counted."""
        return self.classes is not None and self.classes.undecided

    @property
    def features(self) -> np.ndarray | None:
        """Optimal features (theorem 3.5), one row per class, shape (K, d).

        None if the bracket of some class is open.
        """
        classes = self.classes
        if classes is None or (classes.upper - classes.lower).max() > _MAX_OPTIMAL_WIDTH:
            return None
        return classes.directions


def certify_code(
    weights: np.ndarray,
    *,
    tolerance: float,
    deadline: Deadline | None = None,
    row_max: np.ndarray | None = None,
    upper_end: float | None = None,
) -> Certificate:
    """Certify a code: the distance of each class for K up to `EVERY_CLASS`, above it the minimum.

    Args:
        weights: unit rows, shape (K, d).
        tolerance: of rattlers and contacts, absolute on distances.
        deadline: bounds the work on the brackets, which are valid anyway.
        row_max: each row's largest cosine, shape (K,), if known exactly.
        upper_end: upper end of rho_one_vs_rest, if known: then no class is bracketed.

    Raises:
        DataError: rows are not finite or not unit.
    """
    lists_classes, maxima = len(weights) <= EVERY_CLASS, None
    if row_max is None:
        maxima = row_maxima(weights)
        row_max, shortest = maxima[0], closest_pair(weights, maxima)[2]
    else:
        shortest = float(chord(row_max.max()))
    rattling = one_vs_one_rattlers(row_max, tolerance)
    pairs = contact_pairs(weights, tolerance, shortest) if lists_classes else None
    pairs = pairs if pairs is not None and len(pairs) <= _MAX_CONTACTS else None
    # Bracket of the classes that the deadline excludes.
    rho, detail = simple_bracket(weights, row_max), None
    if upper_end is not None:
        rho = rho.narrowed(Bracket(0.0, upper_end))
    else:
        detail = gnc2_detail(
            weights,
            minimum_only=not lists_classes,
            rattler_tolerance=tolerance,
            maxima=maxima,
            deadline=deadline,
        )
        rho = rho.narrowed(detail.bracket)
    return Certificate(
        max_cosine=float(row_max.max()),
        min_angle=float(angle_from_chord(shortest)),
        rho_one_vs_one=shortest,
        rho_one_vs_rest=rho,
        rattlers=Rattlers(
            int(rattling.sum()), None if detail is None else detail.rattlers.one_vs_rest, tolerance
        ),
        contacts=None if pairs is None else len(pairs),
        contact_pairs=pairs,
        rattles_one_vs_one=rattling,
        classes=detail if lists_classes else None,
    )


def line_measures(
    weights: np.ndarray, tolerance: float, coherence: float | None = None
) -> tuple[float, float, np.ndarray | None]:
    """Return the coherence of lines, their minimal angle in degrees, and the contacts.

    Args:
        weights: one unit row per line, shape (K, d).
        tolerance: of contacts, absolute on distances.
        coherence: coherence of the lines, if known exactly.

    Returns:
        The contacts are pairs of rows of `antipodes(weights)`, two for each pair of lines, or four
        of orthogonal ones; None for K above `EVERY_CLASS`.
    """
    if coherence is not None and len(weights) > EVERY_CLASS:
        return coherence, math.degrees(math.acos(coherence)), None
    points = antipodes(weights)
    maxima = row_maxima(points)
    shortest = closest_pair(points, maxima)[2]
    lists_contacts = len(weights) <= EVERY_CLASS
    pairs = contact_pairs(points, tolerance, shortest) if lists_contacts else None
    return float(maxima[0].max()), float(np.degrees(angle_from_chord(shortest))), pairs


def line_contacts(pairs: np.ndarray | None) -> int | None:
    """Return the number of pairs of lines among contacts of the 2 K antipodal points."""
    return None if pairs is None else len(np.unique(np.sort(pairs // 2, axis=1), axis=0))


def simple_bracket(weights: np.ndarray, row_max: np.ndarray) -> Bracket:
    """Bound rho_one_vs_rest of unit rows (K, d) by largest cosines and the closest pair alone.

    The lower end is that of `own_row_lower_ends`; the upper end is the distance of the nearest
    vertex of a hull. `row_max` is each row's largest cosine, shape (K,).
    """
    k = int(row_max.argmax())
    products = weights @ weights[k]
    products[k] = -np.inf
    upper = pair_chord_bounds(weights, np.array([k]), np.array([products.argmax()]))
    return Bracket(float(own_row_lower_ends(weights, row_max).min()), float(upper[0]))


def own_row_lower_ends(weights: np.ndarray, row_max: np.ndarray) -> np.ndarray:
    """Bound each class's distance from below by the row's own direction, shape (K,).

    For rows (K, d) of norm 1 that is `1 - row_max` (`own_row_bounds`). Each row's largest cosine
    may be the product of the rows or `1 - chord**2 / 2`, which differ if norms are 1 to 1e-8 only.
    """
    d = weights.shape[1]
    norms = np.sqrt(np.einsum("kd,kd->k", weights, weights))
    # Half of |w_k|^2 + |w_j|^2 takes the place of the 1.
    excess = np.maximum((norms**2 + norms.max() ** 2) / 2.0 - 1.0, 0.0)
    rounding = 8.0 * gamma(d + 3) * (norms + norms.max())
    return own_row_bounds(norms, row_max + excess + rounding, d)


def contact_pairs(W: np.ndarray, tolerance: float, shortest: float | None = None) -> np.ndarray:
    """Return the pairs i < j of unit rows (K, d) at the smallest chord, shape (m, 2), sorted.

    Their chords exceed the smallest by at most `tolerance`; `shortest` is the smallest, if known.

    Example:
        >>> contact_pairs(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), 1e-7)
        array([[0, 1],
               [1, 2]])
    """
    limit = tolerance + (closest_pair(W)[2] if shortest is None else shortest)
    norms = np.einsum("kd,kd->k", W, W)
    error = 8.0 * gamma(W.shape[1] + 4)  # of a squared chord by products; differences are exact
    parts = []
    for rows, columns in gram_tiles(len(W), _SIDE):
        squares = norms[rows, None] + norms[columns] - 2.0 * (W[rows] @ W[columns].T)
        candidates = np.nonzero(squares <= limit**2 + error)
        i, j = candidates[0] + rows.start, candidates[1] + columns.start
        close = i < j
        unsure = np.flatnonzero(close & (squares[candidates] > limit**2 - error))
        close[unsure] = pair_chords(W, i[unsure], j[unsure]) <= limit
        parts.append(np.stack([i[close], j[close]], axis=1))
    pairs = np.concatenate(parts)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
