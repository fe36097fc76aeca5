"""One-vs-rest distances with proofs: how far each row lies from the convex hull of all the others.

Lemma C.4 of arXiv 2310.05351: any unit h gives the lower bound `min_j <w_k - w_j, h>`, any convex
combination of the other rows an upper bound; column generation (`hull_search.py`) closes the two
on each other. Rounding is bounded and added outward, so every bracket is a proof for the float64
rows as given.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.hull_search import HullSearch
from gnc_cli.numerics.sphere import as_points
from gnc_cli.results import Bracket

__all__ = ["OneVsRest", "minimum_one_vs_rest", "one_vs_rest"]


@dataclass(frozen=True)
class OneVsRest:
    """Certified one-vs-rest distances of m classes of a code (K, d)."""

    lower: np.ndarray
    """Proved lower ends, shape (m,); 0 where the row lies in the hull of the others."""
    upper: np.ndarray
    """Proved upper ends, shape (m,)."""
    directions: np.ndarray
    """Unit h that give the lower ends, shape (m, d); the best features of theorem 3.5."""
    classes: np.ndarray
    """Which rows of the code they belong to, integers, shape (m,)."""
    supports: tuple[np.ndarray, ...]
    """For each class the rows that carry its projection on the hull, or its first upper end."""
    weights: tuple[np.ndarray, ...]
    """Their convex weights: `w_k - weights @ W[support]` has length `upper`, to rounding."""


def one_vs_rest(
    W: np.ndarray,
    classes: np.ndarray | None = None,
    *,
    directions: np.ndarray | None = None,
    tolerance: float = 1e-12,
    block_bytes: int = 64 << 20,
    deadline: Deadline | None = None,
) -> OneVsRest:
    """Bracket the distance of each row to the convex hull of all the other rows.

    Args:
        W: the code, shape (K, d); distances are those of the rows as given, unit or not.
        classes: rows asked for, integers, shape (m,); all by default.
        directions: guesses of the best h, shape (m, d), by default the rows themselves.
        tolerance: width at which a bracket is closed (absolute; never below rounding).
        block_bytes: working memory for products with all K rows.
        deadline: polled for each class; brackets are valid whenever it strikes, only wider.

    Raises:
        DataError: W is not a finite matrix of two rows or more, or the other shapes disagree.

    Example:
        >>> result = one_vs_rest(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        >>> print(result.upper.round(12), (result.upper - result.lower).max() < 1e-12)
        [1. 1. 1. 1.] True
    """
    W = as_points(W)
    classes = np.arange(len(W)) if classes is None else np.asarray(classes, dtype=np.intp)
    if classes.ndim != 1 or (classes.size and not (0 <= classes).all() & (classes < len(W)).all()):
        raise DataError(f"classes must be row indices between 0 and {len(W) - 1}, shape (m,)")
    search = HullSearch(W, classes, directions, tolerance, block_bytes, deadline)
    search.close_all(np.arange(len(classes)))
    return OneVsRest(
        *search.ends(),
        search.directions,
        classes,
        tuple(search.supports),
        tuple(search.weights),
    )


def minimum_one_vs_rest(
    W: np.ndarray,
    *,
    directions: np.ndarray | None = None,
    tolerance: float = 1e-9,
    block_bytes: int = 64 << 20,
    deadline: Deadline | None = None,
    max_exact: int | None = None,
) -> tuple[Bracket, int, np.ndarray]:
    """Bracket rho_one_vs_rest(W), the smallest distance, working only where it can be attained.

    A blocked pass with the directions gives every class a lower bound. Classes are then refined,
    the lowest first, until each lower bound is above the least upper bound less `tolerance`.

    Args:
        W: the code, shape (K, d).
        directions: guesses of the best h, shape (K, d); by default the rows themselves, for which
            the pass gives `1 - (largest cosine)` on unit rows.
        tolerance: width at which the bracket is closed.
        block_bytes: working memory for products with all K rows.
        deadline: when it strikes, the bracket reached so far is returned; it is valid, only wider.
        max_exact: refine at most so many classes.

    Returns:
        The bracket; the class with the least upper bound; and each class's lower bound, shape (K,).

    Raises:
        DataError: as `one_vs_rest`.

    Example:
        >>> bracket, _, _ = minimum_one_vs_rest(np.eye(3))
        >>> print(round(bracket.lower, 12), bracket.width < 1e-12)
        1.224744871392 True
    """
    W = as_points(W)
    K = len(W)
    search = HullSearch(W, np.arange(K), directions, tolerance, block_bytes, deadline)
    search.first_bounds(own=directions is None)
    search.minimum(tolerance, None if max_exact is None else max(0, max_exact))
    lower, upper = search.ends()
    return Bracket(float(lower.min()), float(upper.min())), int(upper.argmin()), lower
