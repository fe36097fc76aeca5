"""Column generation for one-vs-rest distances: brackets of many classes of one code, tightened.

The min-norm point of a small working set of rows gives a class its upper end and a direction; one
blocked product with all K rows turns the direction into a proved lower end and names the rows that
violate it, which join the working set. Two to five rounds close a bracket to rounding.
"""

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.numerics.hull_directions import hull_directions
from gnc_cli.numerics.min_norm_point import (
    hull_distance_bound,
    interior_weights,
    min_norm_point,
    supporting_normal,
    wolfe,
)
from gnc_cli.numerics.rounding import UNIT32, gamma
from gnc_cli.numerics.sphere import pair_chords

__all__ = ["FIRST_BATCH", "HullSearch"]

_MAX_ROUNDS = 60
_SINGLE = 2000
"""Above this many rows, bounds that only rule classes out are computed in float32."""
_FEW_DIMENSIONS = 24
"""Below, exact projections are as fast as approximate ones."""
FIRST_BATCH = 8
"""Classes in the first batch of a pruned search: a good upper bound early prunes the rest."""


class HullSearch:
    """Brackets of some classes of one code, tightened batch by batch.

    Args:
        W: the code, float64, shape (K, d).
        classes: the rows asked for, shape (m,).
        directions: guesses of the best h, shape (m, d); None for the rows themselves.
        tolerance: width at which a bracket is closed; raised to what rounding allows.
        block_bytes: working memory for products with all K rows.
        deadline: polled for each class; the brackets are valid at any time.

    Raises:
        DataError: the directions have another shape, or are not finite.
    """

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
        if directions is not None and not np.isfinite(directions).all():
            raise DataError("directions hold NaN or infinity")
        self.W, self.classes, self.deadline = W, classes, deadline
        self.norms = np.linalg.norm(W, axis=1)
        self.error = 1.01 * gamma(d + 3) * (self.norms[classes] + self.norms.max())
        self.error32 = self.error * (gamma(d + 5, UNIT32) / gamma(d + 3))
        self.tolerance = np.maximum(tolerance, 4.0 * self.error)
        # Single precision pays from some thousand rows on, and must not overflow.
        moderate = 1e-9 < float(self.norms.max()) < 1e9
        self.small = W.astype(np.float32) if K > _SINGLE and moderate else None
        self.block_bytes = block_bytes
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

    def first_bounds(self, own: bool) -> None:
        """Lower ends for all K classes from the first directions (`own`: the rows themselves)."""
        W, K = self.W, len(self.W)
        if own and np.abs(self.norms - 1.0).max() < 1e-9:
            try:
                best = row_maxima(W, block_bytes=self.block_bytes, deadline=self.deadline)[1]
            except TimeoutError:
                return
            # The winner was chosen, and its product is computed, to within `error` each.
            margin = self.norms**2 - np.einsum("kd,kd->k", W, W[best])
            proved = np.maximum(margin - 4.0 * self.error, 0.0)
            self.lower = proved / self.norms * (1.0 - gamma(W.shape[1] + 4))
            chords = pair_chords(W, np.arange(K), best, block_bytes=self.block_bytes)
            self.upper = chords * (1.0 + gamma(W.shape[1] + 4))
            return
        for s in range(0, K, self.batch):
            if self.expired:
                return
            self.look(np.arange(s, min(s + self.batch, K)), single=self.small is not None)

    def look(
        self, at: np.ndarray, h: np.ndarray | None = None, single: bool = False
    ) -> np.ndarray:
        """Products `<h, w_j>`, -inf at the own row, shape (len(at), K); keeps better lower ends.

        In single precision they take half the time, and the proved error is that of float32.
        """
        h = self.directions[at] if h is None else h
        own, index = self.classes[at], np.arange(len(at))
        if single and self.small is not None:
            products = h.astype(np.float32) @ self.small.T
            error = self.error32[at]
        else:
            products = h @ self.W.T
            error = self.error[at]
        mine = products[index, own].astype(np.float64)
        products[index, own] = -np.inf
        lowest = mine - products.max(axis=1) - error
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
        if prune and len(at) > FIRST_BATCH:
            at, products = self.thin_out(at, products)
        working = [_largest(row, self.start) for row in products]
        stuck = np.zeros(len(at), dtype=np.intp)
        for _ in range(_MAX_ROUNDS if len(at) else 0):
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

    def thin_out(self, at: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rule out classes by approximate directions; those left, with their new products."""
        if self.small is None or self.W.shape[1] < _FEW_DIMENSIONS:
            return at, products
        candidates = np.stack([_largest(row, self.start) for row in products])
        directions = hull_directions(self.small, self.classes[at], candidates)
        products = self.look(at, directions, single=True)
        left = self.open(at, prune=True)
        return at[left], products[left]

    def project(self, k: int, rows: np.ndarray, careful: bool) -> np.ndarray:
        """Distance of class k to the hull of some rows: keeps the upper end, returns the normal."""
        V = self.W[self.classes[k]] - self.W[rows]
        x, weights = min_norm_point(V, np.flatnonzero(np.isin(rows, self.supports[k])))
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


