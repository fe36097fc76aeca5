"""What can be said of a finished code, with proof: distances, rattlers, contacts, margins.

A rattler (definition 3.4 of arXiv 2310.05351) is a row whose own distance exceeds the minimum. The
one-vs-one and the one-vs-rest distance have different rattlers; each function names its own.
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

_MOST_CONTACTS = 10**6
"""Contacts are listed up to this number."""
_CLOSED = 1e-9
"""Width of a bracket up to which the direction of its lower end counts as optimal."""
_SIDE = 1024
"""Rows whose products with as many others are looked at together."""


@dataclass(frozen=True)
class Certificate:
    """Measures of one code."""

    max_cosine: float
    min_angle: float
    """Radians, from the chord."""
    rho_one_vs_one: float
    rho_one_vs_rest: Bracket
    rattlers: Rattlers
    contacts: int | None = None
    """Pairs at the smallest distance; None where there are too many to count."""
    contact_pairs: np.ndarray | None = None
    """These, shape (m, 2); None where the code is too large to list."""
    rattles_one_vs_one: np.ndarray | None = None
    """Bool, shape (K,); None where not looked at."""
    classes: Gnc2Detail | None = None
    """The bracket of every class; None where only the minimum was looked at."""

    @property
    def undecided(self) -> bool:
        """The deadline came before the one-vs-rest rattlers were counted."""
        return self.classes is not None and self.classes.undecided

    @property
    def features(self) -> np.ndarray | None:
        """Optimal features (theorem 3.5), one row per class, shape (K, d); None where the bracket
        of some class is open.
        """
        classes = self.classes
        if classes is None or (classes.upper - classes.lower).max() > _CLOSED:
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
    """Measure a code: every class of it for K up to `EVERY_CLASS`, beyond the minimum alone.

    Args:
        weights: unit rows, shape (K, d).
        tolerance: of rattlers and contacts, absolute on distances.
        deadline: bounds the work on the brackets, which are valid anyway.
        row_max: each row's largest cosine, where already known exactly.
        upper_end: an upper end of rho known already; then no class is looked at.

    Raises:
        DataError: rows are not finite or not unit.
    """
    every, maxima = len(weights) <= EVERY_CLASS, None
    if row_max is None:
        maxima = row_maxima(weights)
        row_max, shortest = maxima[0], closest_pair(weights, maxima)[2]
    else:
        shortest = float(chord(row_max.max()))
    loose = one_vs_one_rattlers(row_max, tolerance)
    pairs = contact_pairs(weights, tolerance, shortest) if every else None
    pairs = pairs if pairs is not None and len(pairs) <= _MOST_CONTACTS else None
    # What holds of the classes that the deadline leaves undone.
    rho, detail = simple_bracket(weights, row_max), None
    if upper_end is not None:
        rho = rho.narrowed(Bracket(0.0, upper_end))
    else:
        detail = gnc2_detail(
            weights,
            minimum_only=not every,
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
            int(loose.sum()), None if detail is None else detail.rattlers.one_vs_rest, tolerance
        ),
        contacts=None if pairs is None else len(pairs),
        contact_pairs=pairs,
        rattles_one_vs_one=loose,
        classes=detail if every else None,
    )


def line_figures(
    weights: np.ndarray, tolerance: float, coherence: float | None = None
) -> tuple[float, float, np.ndarray | None]:
    """Return the coherence of lines, their minimal angle in degrees, and the contacts.

    Args:
        weights: one unit row per line, shape (K, d).
        tolerance: of contacts, absolute on distances.
        coherence: where it is known exactly.

    Returns:
        The contacts are pairs of rows of `antipodes(weights)`, two for each pair of lines, or four
        of orthogonal ones; None for K above `EVERY_CLASS`.
    """
    if coherence is not None and len(weights) > EVERY_CLASS:
        return coherence, math.degrees(math.acos(coherence)), None
    points = antipodes(weights)
    maxima = row_maxima(points)
    shortest = closest_pair(points, maxima)[2]
    few = len(weights) <= EVERY_CLASS
    pairs = contact_pairs(points, tolerance, shortest) if few else None
    return float(maxima[0].max()), float(np.degrees(angle_from_chord(shortest))), pairs


def line_contacts(pairs: np.ndarray | None) -> int | None:
    """Return the number of pairs of lines among contacts of the 2 K antipodal points."""
    return None if pairs is None else len(np.unique(np.sort(pairs // 2, axis=1), axis=0))


def simple_bracket(weights: np.ndarray, row_max: np.ndarray) -> Bracket:
    """What the closest pair alone proves of rho_one_vs_rest.

    Below, `own_row_lower_ends`; above, no hull is farther than its nearest vertex.
    """
    k = int(row_max.argmax())
    products = weights @ weights[k]
    products[k] = -np.inf
    upper = pair_chord_bounds(weights, np.array([k]), np.array([products.argmax()]))
    return Bracket(float(own_row_lower_ends(weights, row_max).min()), float(upper[0]))


def own_row_lower_ends(weights: np.ndarray, row_max: np.ndarray) -> np.ndarray:
    """Lower ends of every class's distance by the row's own direction (`own_row_bounds`), (K,).

    Of rows of norm 1, `1 - row_max`. Each row's largest cosine may be the product of the rows or
    `1 - chord**2 / 2`, which differ where norms are 1 to 1e-8 only.
    """
    d = weights.shape[1]
    norms = np.sqrt(np.einsum("kd,kd->k", weights, weights))
    # Half of |w_k|^2 + |w_j|^2 is what stands in place of the 1.
    short = np.maximum((norms**2 + norms.max() ** 2) / 2.0 - 1.0, 0.0)
    rounding = 8.0 * gamma(d + 3) * (norms + norms.max())
    return own_row_bounds(norms, row_max + short + rounding, d)


def contact_pairs(W: np.ndarray, tolerance: float, shortest: float | None = None) -> np.ndarray:
    """Pairs i < j of unit rows whose chord exceeds the smallest by at most `tolerance`; (m, 2).

    `shortest` is that smallest chord, where known.

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
        at = np.nonzero(squares <= limit**2 + error)
        i, j = at[0] + rows.start, at[1] + columns.start
        close = i < j
        unsure = np.flatnonzero(close & (squares[at] > limit**2 - error))
        close[unsure] = pair_chords(W, i[unsure], j[unsure]) <= limit
        parts.append(np.stack([i[close], j[close]], axis=1))
    pairs = np.concatenate(parts)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
