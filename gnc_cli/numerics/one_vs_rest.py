"""One-vs-rest distances with proofs: how far each row lies from the convex hull of all the others.

Lemma C.4 of arXiv 2310.05351: any unit h gives the lower bound `min_j <w_k - w_j, h>`, any convex
combination of the other rows an upper bound. Column generation closes the two on each other: the
min-norm point of a small working set gives h and the upper bound, one blocked product with all K
rows the lower bound and the rows that violate it, which join the working set. Rounding is bounded
and added outward, so every bracket holds for the float64 rows as given.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.min_norm_point import (
    hull_distance_bound,
    interior_weights,
    min_norm_point,
    supporting_normal,
    wolfe,
)
from gnc_cli.numerics.rounding import gamma
from gnc_cli.numerics.sphere import as_points
from gnc_cli.results import Bracket

__all__ = ["OneVsRest", "minimum_one_vs_rest", "one_vs_rest"]

_MAX_ROUNDS = 60
_FIRST_BATCH = 8
"""Classes in the first batch of a pruned search: a good upper bound early prunes the rest."""


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
    """For each class the rows that carry its projection on the hull; empty where not reached."""
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
    search = _Search(W, classes, directions, tolerance, block_bytes, deadline)
    for s in range(0, len(classes), search.batch):
        search.close(np.arange(s, min(s + search.batch, len(classes))))
    return search.result()


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
    search = _Search(W, np.arange(K), directions, tolerance, block_bytes, deadline)
    for s in range(0, K, search.batch):
        if search.expired:
            break
        search.look(np.arange(s, min(s + search.batch, K)))
    order = np.argsort(search.lower, kind="stable")
    done, size = 0, _FIRST_BATCH
    limit = K if max_exact is None else min(K, max(0, max_exact))
    while done < limit and not search.expired:
        # Sorted by first bounds, so the classes that matter are always the next ones.
        bar = search.upper.min() - tolerance
        ahead = order[done : min(limit, done + min(size, search.batch))]
        ahead = ahead[search.lower[ahead] < bar]
        if not ahead.size:
            break
        search.close(ahead, prune=True)
        done, size = done + len(ahead), 2 * size
    lower, upper = float(search.lower.min()), float(search.upper.min())
    return Bracket(min(lower, upper), upper), int(search.upper.argmin()), search.lower


class _Search:
    """Brackets of some classes of one code, tightened batch by batch."""

    def __init__(
        self,
        W: np.ndarray,
        classes: np.ndarray,
        directions: np.ndarray | None,
        tolerance: float,
        block_bytes: int,
        deadline: Deadline | None,
    ) -> None:
        K, d = W.shape
        if directions is not None and np.shape(directions) != (len(classes), d):
            raise DataError(
                f"directions have shape {np.shape(directions)}; expected {(len(classes), d)}"
            )
        self.W, self.classes, self.deadline = W, classes, deadline
        self.norms = np.linalg.norm(W, axis=1)
        self.error = 1.01 * gamma(d + 3) * (self.norms[classes] + self.norms.max())
        self.tolerance = np.maximum(tolerance, 4.0 * self.error)
        self.batch = max(1, block_bytes // (2 * 8 * K))
        self.start = min(K - 1, max(40, min(2 * d, 96)))
        # In a simplex every row carries the projection: begin with all of them there.
        if self.start < K - 1 <= d and interior_weights(W[0] - W[1:]) is not None:
            self.start = K - 1
        self.directions = _unit(W[classes] if directions is None else directions)
        self.lower = np.zeros(len(classes))
        other = np.where(classes == 0, 1, 0)
        self.upper = np.linalg.norm(W[classes] - W[other], axis=1) * (1.0 + gamma(d + 4))
        self.supports = [np.empty(0, dtype=np.intp)] * len(classes)
        self.weights = [np.empty(0)] * len(classes)

    @property
    def expired(self) -> bool:
        return self.deadline is not None and self.deadline.expired

    def result(self) -> OneVsRest:
        lower = np.minimum(self.lower, self.upper)
        support, weights = tuple(self.supports), tuple(self.weights)
        return OneVsRest(lower, self.upper, self.directions, self.classes, support, weights)

    def look(self, at: np.ndarray, h: np.ndarray | None = None) -> np.ndarray:
        """Products `<h, w_j>`, -inf at the own row, shape (len(at), K); keeps better lower ends."""
        h = self.directions[at] if h is None else h
        own = self.classes[at]
        products = h @ self.W.T
        index = np.arange(len(at))
        mine = products[index, own]
        products[index, own] = -np.inf
        lowest = mine - products.max(axis=1) - self.error[at]
        # h is a unit vector to rounding only; a bound of 0 needs no h at all.
        lowest = np.maximum(lowest, 0.0) * (1.0 - gamma(self.W.shape[1] + 4))
        better = lowest > self.lower[at]
        self.lower[at[better]], self.directions[at[better]] = lowest[better], h[better]
        return products

    def open(self, at: np.ndarray, prune: bool) -> np.ndarray:
        """Which of the classes still need work."""
        wide = self.upper[at] - self.lower[at] > self.tolerance[at]
        if prune:
            wide &= self.lower[at] < self.upper.min() - self.tolerance[at] / 2.0
        return wide

    def close(self, at: np.ndarray, prune: bool = False) -> None:
        """Column generation on a batch of classes until each is closed (or pruned, or stuck)."""
        products = self.look(at)
        working = [_largest(row, self.start) for row in products]
        stuck = np.zeros(len(at), dtype=np.intp)
        for _ in range(_MAX_ROUNDS):
            normals = self.directions[at]
            before = self.upper[at] - self.lower[at]
            for i, k in enumerate(at):
                if self.expired:
                    return
                normals[i] = self.project(int(k), working[i], careful=bool(stuck[i]))
            products = self.look(at, normals)
            # A full working set that gains nothing is tried once more with care, then left.
            idle = self.upper[at] - self.lower[at] > 0.999 * before
            full = np.array([len(w) == len(self.W) - 1 for w in working])
            stuck = np.where(idle | full, stuck + 1, 0)
            keep = self.open(at, prune) & (stuck < 4)
            if not keep.any():
                return
            kept = np.flatnonzero(keep)
            working = [self.extend(int(at[i]), products[i], working[i], stuck[i]) for i in kept]
            at, stuck = at[kept], stuck[kept]

    def project(self, k: int, rows: np.ndarray, careful: bool) -> np.ndarray:
        """Distance of class k to the hull of some rows: keeps the upper end, returns the normal."""
        V = self.W[self.classes[k]] - self.W[rows]
        x, weights = min_norm_point(V)
        if careful:
            scale = float(np.linalg.norm(V, axis=1).max())
            weights = wolfe(V / scale, weights) if scale > 0.0 else weights
            x = weights @ V
        used = np.flatnonzero(weights)
        upper = hull_distance_bound(V[used], weights[used])
        if upper < self.upper[k] or not self.supports[k].size:
            self.upper[k] = min(upper, self.upper[k])
            self.supports[k], self.weights[k] = rows[used], weights[used]
        return supporting_normal(V[used]) if careful else _unit(x[None])[0]

    def extend(self, k: int, products: np.ndarray, rows: np.ndarray, stuck: int) -> np.ndarray:
        """The next working set: what carries the projection, and the rows furthest along h."""
        support = self.supports[k]
        if stuck:
            support = np.union1d(support, rows)
        violators = int((products > products[support].min()).sum())
        more = min(max(violators, 16), self.start + len(support) // 2)
        return np.union1d(support, _largest(products, len(self.supports[k]) + more))


def _largest(row: np.ndarray, count: int) -> np.ndarray:
    """Indices of the `count` largest entries of a row that has -inf in one place."""
    count = min(count, len(row) - 1)
    if count == len(row) - 1:
        return np.flatnonzero(row > -np.inf)
    # partition is vectorised where argpartition is not; ties at the cut fill up what is left.
    cut = np.partition(row, len(row) - count)[len(row) - count]
    above = np.flatnonzero(row > cut)
    return np.union1d(above, np.flatnonzero(row == cut)[: count - len(above)])


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows at unit norm; those too short to have a direction become zero (they prove 0)."""
    rows = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 1e-150)


