"""One-vs-rest distances with proofs: those of each row from the convex hull of all others.

Lemma C.4 of arXiv 2310.05351: any unit h gives the lower bound `min_j <w_k - w_j, h>`, any convex
combination of the other rows an upper bound. Rounding is bounded and added outward, so every
bracket is a proof for the float64 rows as they are.

Column generation closes the two on each other. The min-norm point of a small working set of rows
gives a class its upper end and a direction; one blocked product with all K rows turns the direction
into a proved lower end and names the rows that violate it, which join the working set. Two to five
rounds close a bracket to rounding. Each round shrinks the bracket or lets the working set grow, so
the search ends by itself: a class is left open only when no row outside its working set violates
what a careful projection on it has reached.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.hull_products import ArrayProducts, Batch, Products
from gnc_cli.geometry.min_norm_point import (
    hull_directions,
    hull_distance_bound,
    min_norm_point,
    supporting_normal,
    wolfe,
)
from gnc_cli.geometry.rounding import UNDERFLOW, UNIT32, gamma
from gnc_cli.geometry.sphere import as_points, pair_chord_bounds, unit_or_zero
from gnc_cli.runtime.deadline import Deadline

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_MAX_DOUBLE_ROWS = 2000
"""Largest number of rows for which bounds that only exclude classes are computed in float64: below,
float32 saves no time."""
_BLOCK_BYTES = 64 << 20
"""Working memory for products with all rows."""
_FEW_DIMENSIONS = 24
"""Dimension below which exact projections are as fast as approximate ones, and too short for
threads."""
_MAX_NUMPY_WORK = 3e6
"""Largest number of classes times squared dimension (64 at least) without SciPy: its solvers save
less time there than the half second that they take to load."""
_FIRST_BATCH = 8
"""Number of classes in the first batch, doubled from batch to batch. A good upper bound early
prunes the rest, and a deadline leaves few classes half done."""
_SLOW_SHARE = 1e-3
"""Share of a bracket; a round that shrinks it by less keeps all rows of the working set."""
_IDLE_SHARE = 1e-9
"""Share of an upper end; a slow round that lowers it by less is followed by a careful one."""


@dataclass(frozen=True)
class OneVsRest:
    """Certified one-vs-rest distances of m classes of a code (K, d)."""

    lower: np.ndarray
    """Proved lower ends, shape (m,); 0 where the row lies in the hull of the others."""
    upper: np.ndarray
    """Proved upper ends, shape (m,)."""
    directions: np.ndarray
    """Unit vectors h that give the lower ends, shape (m, d); the best features of theorem 3.5."""


def one_vs_rest(
    W: np.ndarray,
    classes: np.ndarray | None = None,
    *,
    tolerance: float = 1e-12,
    deadline: Deadline | None = None,
) -> OneVsRest:
    """Bracket the distance of each row to the convex hull of all the other rows.

    Args:
        W: the code, shape (K, d); distances are those of the rows as they are, unit or not.
        classes: rows to be bracketed, integers, shape (m,); all by default.
        tolerance: width at which a bracket is closed (absolute; never below rounding).
        deadline: polled for each class; brackets are valid whenever it expires, only wider.

    Raises:
        DataError: W is not a finite matrix of two rows or more, or a class is not a row index.

    Example:
        >>> result = one_vs_rest(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        >>> print(result.upper.round(12), (result.upper - result.lower).max() < 1e-12)
        [1. 1. 1. 1.] True
    """
    W = as_points(W)
    if classes is not None:
        classes = np.asarray(classes, dtype=np.intp)
        if classes.ndim != 1 or not ((classes >= 0) & (classes < len(W))).all():
            raise DataError(f"classes must be row indices between 0 and {len(W) - 1}, shape (m,)")
    search = HullSearch(W, classes, tolerance, deadline=deadline)
    search.close_all(np.arange(len(search.classes)))
    return OneVsRest(*search.ends(), search.directions)


def minimum_one_vs_rest(
    W: np.ndarray,
    *,
    tolerance: float = 1e-9,
    deadline: Deadline | None = None,
) -> Bracket:
    """Bracket rho_one_vs_rest(W), the smallest distance, working only where it can be attained.

    A blocked pass with the rows themselves as directions gives every class a lower bound, which on
    unit rows is `1 - (largest cosine)`. Classes are then refined, the lowest first, until each
    lower bound is above the least upper bound less `tolerance`.

    Args:
        W: the code, shape (K, d).
        tolerance: width at which the bracket is closed.
        deadline: when it expires, the bracket reached so far is returned; it is valid, only wider.

    Raises:
        DataError: W is not a finite matrix of two rows or more.

    Example:
        >>> bracket = minimum_one_vs_rest(np.eye(3))
        >>> print(round(bracket.lower, 12), bracket.width < 1e-12)
        1.224744871392 True
    """
    search = HullSearch(as_points(W), None, tolerance, deadline=deadline)
    search.first_bounds()
    search.minimum(tolerance)
    lower, upper = search.ends()
    return Bracket(float(lower.min()), float(upper.min()))


class HullSearch:
    """Brackets of some classes of one code, tightened batch by batch; they are valid at any time.

    Args:
        W: the code, float64, finite, shape (K, d).
        classes: the rows to be bracketed, shape (m,); None for all.
        tolerance: width at which a bracket is closed; raised to what rounding allows.
        deadline: polled for each class.
        products: makes the products with all rows from W and its float32 copy (None if unused).
    """

    def __init__(
        self,
        W: np.ndarray,
        classes: np.ndarray | None,
        tolerance: float,
        *,
        deadline: Deadline | None = None,
        products: Callable[[np.ndarray, np.ndarray | None], Products] = ArrayProducts,
    ) -> None:
        K, d = W.shape
        self.W, self.deadline = W, deadline or Deadline()
        self.classes = classes = np.arange(K) if classes is None else classes
        self.norms = np.linalg.norm(W, axis=1)
        largest = self.norms.max() + 2.0 * UNDERFLOW
        self.error = 1.01 * gamma(d + 3) * (self.norms[classes] + largest)
        self.error32 = self.error * (gamma(d + 5, UNIT32) / gamma(d + 3))
        self.tolerance = np.maximum(tolerance, 4.0 * self.error)
        # Single precision pays from some thousand rows on, and must not overflow.
        moderate = 1e-9 < float(self.norms.max()) < 1e9
        self.small = W.astype(np.float32) if K > _MAX_DOUBLE_ROWS and moderate else None
        self.products = products(W, self.small)
        self.numpy_only = len(classes) * max(d, 64) ** 2 <= _MAX_NUMPY_WORK
        self._libraries: ThreadpoolController | None = None
        self.batch = max(1, _BLOCK_BYTES // (2 * 8 * K))
        self.start: int = min(K - 1, max(40, min(2 * d, 96)))
        # Near a simplex most rows carry the projection: begin with all of them there.
        project = partial(min_norm_point, numpy_only=self.numpy_only)
        if self.start < K - 1 <= d and 2 * np.count_nonzero(project(W[0] - W[1:])[1]) > K:
            self.start = K - 1
        self.directions = unit_or_zero(W[classes])
        self.lower = np.zeros(len(classes))
        other = np.where(classes == 0, 1, 0)
        self.upper = pair_chord_bounds(W, classes, other)
        # Rows of the hull point that gives each upper end.
        self.supports = list(other[:, None])

    def first_bounds(self, nearest: np.ndarray | None = None) -> None:
        """Bound the distances of all K classes with the rows themselves as directions.

        For unit rows, `nearest` is the row with the largest cosine to each, shape (K,), if it was
        computed before.
        """
        W, K = self.W, len(self.W)
        if np.abs(self.norms - 1.0).max() < 1e-9:
            if nearest is None:
                try:
                    nearest = row_maxima(W, deadline=self.deadline)[1]
                except TimeoutError:
                    return
            # The winner was chosen, and its product is computed, to within `error` each.
            products = np.einsum("kd,kd->k", W, W[nearest]) + 4.0 * self.error
            self.lower = own_row_bounds(self.norms, products, W.shape[1])
            self.upper = pair_chord_bounds(W, np.arange(K), nearest)
            self.supports = list(nearest[:, None])
            return
        for s in range(0, K, self.batch):
            if self.deadline.expired:
                return
            self.look(np.arange(s, min(s + self.batch, K)), single=self.small is not None)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the proved lower and upper ends of each class, shape (m,) each.

        Raises:
            ArithmeticError: a lower end is above its upper end, which is an error of this program.
        """
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            k = int(crossed[0])
            raise ArithmeticError(
                f"class {self.classes[k]}: lower end {self.lower[k]} above upper {self.upper[k]}"
            )
        return self.lower, self.upper

    def minimum(self, tolerance: float) -> np.ndarray:
        """Close the classes that can still attain the least distance of all, the lowest first.

        Returns the positions of the refined classes, shape (n,); each is closed, or proved not to
        be the least.
        """
        order = np.argsort(self.lower, kind="stable")
        count, size = 0, _FIRST_BATCH
        while count < len(order) and not self.deadline.expired:
            # Sorted by first bounds, so the classes that matter are always the next ones.
            group = order[count : count + min(size, self.batch)]
            group = group[self.lower[group] < self.upper.min() - tolerance]
            if not group.size:
                break
            self.close(group, prune=True)
            count, size = count + len(group), 2 * size
        return order[:count]

    def close_all(self, positions: np.ndarray) -> None:
        """Close the classes at positions (n,), few at first: a deadline leaves the last open."""
        count, size = 0, min(_FIRST_BATCH, self.batch)
        while count < len(positions):
            self.close(positions[count : count + size])
            count, size = count + size, min(2 * size, self.batch)

    def look(
        self, positions: np.ndarray, h: np.ndarray | None = None, single: bool = False
    ) -> Batch:
        """Multiply directions (n, d) by all rows and keep better lower ends.

        In single precision products take half the time, and the proved error is that of float32.
        """
        h = self.directions[positions] if h is None else h
        single = single and self.small is not None
        batch = self.products.look(h, self.classes[positions], single)
        lowest = batch.own_product - batch.top - (self.error32 if single else self.error)[positions]
        # h is a unit vector to rounding only; a bound of 0 needs no h at all.
        lowest = np.maximum(lowest, 0.0) * (1.0 - gamma(self.W.shape[1] + 4))
        better = lowest > self.lower[positions]
        self.lower[positions[better]], self.directions[positions[better]] = (
            lowest[better],
            h[better],
        )
        return batch

    def open(self, positions: np.ndarray, prune: bool) -> np.ndarray:
        """Mark the classes at some positions (n,) that still need work."""
        wide = self.upper[positions] - self.lower[positions] > self.tolerance[positions]
        if prune:
            wide &= self.lower[positions] < self.upper.min() - self.tolerance[positions] / 2.0
        return np.asarray(wide)

    def close(self, positions: np.ndarray, prune: bool = False) -> None:
        """Close a batch of classes by column generation until each is closed, pruned or exhausted.

        A class is exhausted when no row outside its working set violates the bracket and a careful
        projection has gained nothing: the remaining width is rounding.
        """
        positions = positions[self.open(positions, prune)]
        if not positions.size or self.deadline.expired:
            return
        batch, remaining = self.look(positions, single=prune), np.arange(len(positions))
        if prune and len(positions) > _FIRST_BATCH:
            batch, remaining = self.thin_out(positions, batch)
            positions = positions[remaining]
        furthest = batch.largest(remaining, self.start)[1]
        working = [_union(self.supports[k], furthest[i]) for i, k in enumerate(positions)]
        careful = np.zeros(len(positions), dtype=bool)
        rounds = np.zeros(len(positions), dtype=np.intp)
        while positions.size:
            lower, upper = self.lower[positions], self.upper[positions]
            normals = self.project_all(positions, working, careful)
            if self.deadline.expired:
                return
            batch = self.look(positions, normals)
            sluggish = self.upper[positions] - self.lower[positions] > (1.0 - _SLOW_SHARE) * (
                upper - lower
            )
            stalled = sluggish & (self.upper[positions] >= (1.0 - _IDLE_SHARE) * upper)
            rounds = np.where(sluggish, rounds + 1, 0)
            unsettled = np.flatnonzero(self.open(positions, prune))
            if not unsettled.size:
                return
            reach = max(
                self.reach(int(positions[i]), len(working[i]), int(rounds[i])) for i in unsettled
            )
            products, furthest = batch.largest(unsettled, min(reach, len(self.W) - 1))
            # Rows that keep the lower end from reaching the upper one: without them it would.
            ends = (self.upper - self.tolerance / 2.0)[positions[unsettled]]
            violating = batch.own_product[unsettled, None] - products < ends[:, None]
            unfinished = []
            for i, rows, wrong in zip(unsettled, furthest, violating, strict=True):
                fresh = rows[wrong]
                fresh = fresh[~np.isin(fresh, working[i])]
                if fresh.size:
                    working[i] = self.extend(
                        int(positions[i]), rows, fresh, working[i], int(rounds[i])
                    )
                elif careful[i] and stalled[i]:
                    continue
                careful[i] = stalled[i] or not fresh.size
                unfinished.append(i)
            positions, careful, rounds = (
                positions[unfinished],
                careful[unfinished],
                rounds[unfinished],
            )
            working = [working[i] for i in unfinished]

    def thin_out(self, positions: np.ndarray, batch: Batch) -> tuple[Batch, np.ndarray]:
        """Exclude classes by approximate directions; return new products and indices still open."""
        if self.small is None or self.W.shape[1] < _FEW_DIMENSIONS:
            return batch, np.arange(len(positions))
        candidates = batch.largest(np.arange(len(positions)), self.start)[1]
        with self.single_thread():
            directions = hull_directions(self.small, self.classes[positions], candidates)
        batch = self.look(positions, directions, single=True)
        return batch, np.flatnonzero(self.open(positions, prune=True))

    def project_all(
        self, positions: np.ndarray, working: list[np.ndarray], careful: np.ndarray
    ) -> np.ndarray:
        """Return normals of the projections of n classes on their working sets, shape (n, d).

        Classes that the deadline excludes keep their direction.
        """
        normals = self.directions[positions]
        with self.single_thread():
            for i, k in enumerate(positions):
                if self.deadline.expired:
                    break
                normals[i] = self.project(int(k), working[i], careful=bool(careful[i]))
        return np.asarray(normals)

    def single_thread(self) -> AbstractContextManager[object]:
        """Limit BLAS to one thread: in products as short as these it would mostly wait for others.

        The libraries are looked up once per search; `limit_threads` does it at each call.
        """
        if self.W.shape[1] < _FEW_DIMENSIONS:
            return nullcontext()
        if self._libraries is None:
            if not self.numpy_only:
                import scipy.linalg  # noqa: F401  # SciPy's own BLAS is limited too
            from threadpoolctl import ThreadpoolController

            self._libraries = ThreadpoolController()
        return cast("AbstractContextManager[object]", self._libraries.limit(limits=1))

    def project(self, k: int, rows: np.ndarray, careful: bool) -> np.ndarray:
        """Project class k on the hull of rows (n,): keep the upper end, return the normal (d,)."""
        V = self.W[self.classes[k]] - self.W[rows]
        earlier = self.supports[k]
        # A single row is a first bound, not a guess of the rows that carry the projection.
        start = np.flatnonzero(np.isin(rows, earlier)) if earlier.size > 1 else None
        x, weights = min_norm_point(V, start, numpy_only=self.numpy_only)
        if careful:
            scale = float(np.linalg.norm(V, axis=1).max())
            weights = wolfe(V / scale, weights) if scale > 0.0 else weights
            x = weights @ V
        support = np.flatnonzero(weights)
        upper = hull_distance_bound(V[support], weights[support])
        if upper < self.upper[k]:
            self.upper[k] = upper
            self.supports[k] = rows[support]
        normal = supporting_normal(V[support]) if careful else np.zeros_like(x)
        return normal if normal.any() else unit_or_zero(x[None])[0]

    def reach(self, k: int, size: int, rounds: int) -> int:
        """Return the number of furthest rows to examine, in slow rounds more than are in use."""
        return (
            size + (self.start << rounds) if rounds else self.start + 3 * len(self.supports[k]) // 2
        )

    def extend(
        self, k: int, furthest: np.ndarray, fresh: np.ndarray, rows: np.ndarray, rounds: int
    ) -> np.ndarray:
        """Return the next working set: the support of the projection and the rows furthest along h.

        In slow rounds no row leaves, and the number of violating rows that enter is doubled.
        """
        support = self.supports[k]
        if rounds:
            return _union(support, rows, fresh[: self.start << rounds])
        # The support has one level, so all rows before it lie beyond the hull.
        carrying = np.isin(furthest, support)
        violators = int(carrying.argmax()) if carrying.any() else len(furthest)
        extra = min(max(violators, 16), self.start + len(support) // 2)
        return _union(support, furthest[: len(support) + extra])


def own_row_bounds(norms: np.ndarray, products: np.ndarray, d: int) -> np.ndarray:
    """Bound one-vs-rest distances from below by h = w_k / |w_k|, for rows of any norms.

    `min_j <w_k - w_j, h> = (|w_k|^2 - max_j <w_k, w_j>) / |w_k|`, and 0 where that is negative.
    Norms (K,) are computed and positive; products (K,) are larger than each row's largest product
    with another row by at least the rounding of the row's own square.
    """
    return np.asarray(np.maximum(norms**2 - products, 0.0) / norms * (1.0 - gamma(d + 4)))


def _union(*rows: np.ndarray) -> np.ndarray:
    """Merge lists of indices, sorted; `np.union1d` would import masked arrays, 20 ms."""
    merged = np.sort(np.concatenate(rows))
    return np.asarray(merged[np.concatenate([[True], merged[1:] != merged[:-1]])])
