"""One-vs-rest distances with proofs: how far each row lies from the convex hull of all the others.

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
from typing import TYPE_CHECKING

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.hull_products import ArrayProducts, Products, Seen
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

_SINGLE = 2000
"""Above this many rows, bounds that only rule classes out are computed in float32."""
_BLOCK_BYTES = 64 << 20
"""Working memory for products with all rows."""
_FEW_DIMENSIONS = 24
"""Below, exact projections are as fast as approximate ones, and too short for threads."""
_NUMPY_ONLY = 3e6
"""Classes times squares of dimensions (of 64 at least) up to which SciPy's solvers save less time
than they take to load, half a second."""
_FIRST_BATCH = 8
"""Classes in the first batch; each has twice as many as the last. A good upper bound early prunes
the rest, and a deadline leaves few classes half done."""
_SLOW = 1e-3
"""A round that shrinks the bracket by less than this share keeps all rows of the working set."""
_NOTHING = 1e-9
"""A slow round that shortens the upper end by less than this share is followed by a careful one."""


@dataclass(frozen=True)
class OneVsRest:
    """Certified one-vs-rest distances of m classes of a code (K, d)."""

    lower: np.ndarray
    """Proved lower ends, shape (m,); 0 where the row lies in the hull of the others."""
    upper: np.ndarray
    """Proved upper ends, shape (m,)."""
    directions: np.ndarray
    """Unit h that give the lower ends, shape (m, d); the best features of theorem 3.5."""


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
        DataError: W is not a finite matrix of two rows or more, or a class is none of its rows.

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
        products: makes the products with all rows from W and its float32 copy, if that is of use.
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
        self.small = W.astype(np.float32) if K > _SINGLE and moderate else None
        self.products = products(W, self.small)
        self.numpy_only = len(classes) * max(d, 64) ** 2 <= _NUMPY_ONLY
        self._libraries: ThreadpoolController | None = None
        self.batch = max(1, _BLOCK_BYTES // (2 * 8 * K))
        self.start = min(K - 1, max(40, min(2 * d, 96)))
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
        """Ends for all K classes from the rows themselves as directions.

        Of unit rows, `nearest` is the row that makes the largest cosine with each, if known.
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
        """The proved ends of each class, shape (m,) each.

        Raises:
            ArithmeticError: a lower end is above its upper end, which is a mistake in this program.
        """
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            k = int(crossed[0])
            raise ArithmeticError(
                f"class {self.classes[k]}: lower end {self.lower[k]} above upper {self.upper[k]}"
            )
        return self.lower, self.upper

    def minimum(self, tolerance: float) -> np.ndarray:
        """Close those classes, the lowest first, that can still attain the least distance of all.

        The positions refined come back; each is closed, or proved not to be the least.
        """
        order = np.argsort(self.lower, kind="stable")
        done, size = 0, _FIRST_BATCH
        while done < len(order) and not self.deadline.expired:
            # Sorted by first bounds, so the classes that matter are always the next ones.
            ahead = order[done : done + min(size, self.batch)]
            ahead = ahead[self.lower[ahead] < self.upper.min() - tolerance]
            if not ahead.size:
                break
            self.close(ahead, prune=True)
            done, size = done + len(ahead), 2 * size
        return order[:done]

    def close_all(self, at: np.ndarray) -> None:
        """Close every one of some classes, few at first: a deadline leaves those in hand open."""
        done, size = 0, min(_FIRST_BATCH, self.batch)
        while done < len(at):
            self.close(at[done : done + size])
            done, size = done + size, min(2 * size, self.batch)

    def look(self, at: np.ndarray, h: np.ndarray | None = None, single: bool = False) -> Seen:
        """Products of directions with all rows; keeps better lower ends.

        In single precision they take half the time, and the proved error is that of float32.
        """
        h = self.directions[at] if h is None else h
        single = single and self.small is not None
        seen = self.products.look(h, self.classes[at], single)
        lowest = seen.own - seen.top - (self.error32 if single else self.error)[at]
        # h is a unit vector to rounding only; a bound of 0 needs no h at all.
        lowest = np.maximum(lowest, 0.0) * (1.0 - gamma(self.W.shape[1] + 4))
        better = lowest > self.lower[at]
        self.lower[at[better]], self.directions[at[better]] = lowest[better], h[better]
        return seen

    def open(self, at: np.ndarray, prune: bool) -> np.ndarray:
        """Which of the classes still need work."""
        wide = self.upper[at] - self.lower[at] > self.tolerance[at]
        if prune:
            wide &= self.lower[at] < self.upper.min() - self.tolerance[at] / 2.0
        return wide

    def close(self, at: np.ndarray, prune: bool = False) -> None:
        """Column generation on a batch of classes until each is closed, or pruned, or spent.

        A class is spent when no row outside its working set violates the bracket and a careful
        projection has gained nothing: what is left is rounding.
        """
        at = at[self.open(at, prune)]
        if not at.size or self.deadline.expired:
            return
        seen, left = self.look(at, single=prune), np.arange(len(at))
        if prune and len(at) > _FIRST_BATCH:
            seen, left = self.thin_out(at, seen)
            at = at[left]
        furthest = seen.largest(left, self.start)[1]
        working = [_union(self.supports[k], furthest[i]) for i, k in enumerate(at)]
        careful = np.zeros(len(at), dtype=bool)
        slow = np.zeros(len(at), dtype=np.intp)
        while at.size:
            lower, upper = self.lower[at], self.upper[at]
            normals = self.project_all(at, working, careful)
            if self.deadline.expired:
                return
            seen = self.look(at, normals)
            crawls = self.upper[at] - self.lower[at] > (1.0 - _SLOW) * (upper - lower)
            idle = crawls & (self.upper[at] >= (1.0 - _NOTHING) * upper)
            slow = np.where(crawls, slow + 1, 0)
            unsettled = np.flatnonzero(self.open(at, prune))
            if not unsettled.size:
                return
            reach = max(self.reach(int(at[i]), len(working[i]), int(slow[i])) for i in unsettled)
            products, furthest = seen.largest(unsettled, min(reach, len(self.W) - 1))
            # Rows that keep the lower end from closing on the upper one: with none it would.
            ends = (self.upper - self.tolerance / 2.0)[at[unsettled]]
            violating = seen.own[unsettled, None] - products < ends[:, None]
            ahead = []
            for i, rows, wrong in zip(unsettled, furthest, violating, strict=True):
                fresh = rows[wrong]
                fresh = fresh[~np.isin(fresh, working[i])]
                if fresh.size:
                    working[i] = self.extend(int(at[i]), rows, fresh, working[i], int(slow[i]))
                elif careful[i] and idle[i]:
                    continue
                careful[i] = idle[i] or not fresh.size
                ahead.append(i)
            at, careful, slow = at[ahead], careful[ahead], slow[ahead]
            working = [working[i] for i in ahead]

    def thin_out(self, at: np.ndarray, seen: Seen) -> tuple[Seen, np.ndarray]:
        """Rule out classes by approximate directions; the new products, and which are left."""
        if self.small is None or self.W.shape[1] < _FEW_DIMENSIONS:
            return seen, np.arange(len(at))
        candidates = seen.largest(np.arange(len(at)), self.start)[1]
        with self.single_thread():
            directions = hull_directions(self.small, self.classes[at], candidates)
        seen = self.look(at, directions, single=True)
        return seen, np.flatnonzero(self.open(at, prune=True))

    def project_all(
        self, at: np.ndarray, working: list[np.ndarray], careful: np.ndarray
    ) -> np.ndarray:
        """Normals of the projections of some classes on their working sets, shape (m, d).

        What the deadline leaves undone keeps its direction.
        """
        normals = self.directions[at]
        with self.single_thread():
            for i, k in enumerate(at):
                if self.deadline.expired:
                    break
                normals[i] = self.project(int(k), working[i], careful=bool(careful[i]))
        return normals

    def single_thread(self) -> AbstractContextManager[object]:
        """BLAS held to one thread: it would mostly wait for others in products as short as these.

        The libraries are looked for once a search; `limit_threads` does so at each call.
        """
        if self.W.shape[1] < _FEW_DIMENSIONS:
            return nullcontext()
        if self._libraries is None:
            if not self.numpy_only:
                import scipy.linalg  # noqa: F401  # its own BLAS is to be found too
            from threadpoolctl import ThreadpoolController

            self._libraries = ThreadpoolController()
        return self._libraries.limit(limits=1)

    def project(self, k: int, rows: np.ndarray, careful: bool) -> np.ndarray:
        """Distance of class k to the hull of some rows: keeps the upper end, returns the normal."""
        V = self.W[self.classes[k]] - self.W[rows]
        earlier = self.supports[k]
        # A single row is a first bound, not a guess of the rows that carry the projection.
        start = np.flatnonzero(np.isin(rows, earlier)) if earlier.size > 1 else None
        x, weights = min_norm_point(V, start, numpy_only=self.numpy_only)
        if careful:
            scale = float(np.linalg.norm(V, axis=1).max())
            weights = wolfe(V / scale, weights) if scale > 0.0 else weights
            x = weights @ V
        used = np.flatnonzero(weights)
        upper = hull_distance_bound(V[used], weights[used])
        if upper < self.upper[k]:
            self.upper[k] = upper
            self.supports[k] = rows[used]
        normal = supporting_normal(V[used]) if careful else np.zeros_like(x)
        return normal if normal.any() else unit_or_zero(x[None])[0]

    def reach(self, k: int, size: int, slow: int) -> int:
        """How many of the furthest rows to see: in slow rounds more than the working set has."""
        return size + (self.start << slow) if slow else self.start + 3 * len(self.supports[k]) // 2

    def extend(
        self, k: int, furthest: np.ndarray, fresh: np.ndarray, rows: np.ndarray, slow: int
    ) -> np.ndarray:
        """The next working set: what carries the projection, and the rows furthest along h.

        In slow rounds no row leaves, and twice as many violating ones come in each time.
        """
        support = self.supports[k]
        if slow:
            return _union(support, rows, fresh[: self.start << slow])
        # The support shares one level, so all that comes before it lies beyond the hull.
        carrying = np.isin(furthest, support)
        violators = int(carrying.argmax()) if carrying.any() else len(furthest)
        more = min(max(violators, 16), self.start + len(support) // 2)
        return _union(support, furthest[: len(support) + more])


def own_row_bounds(norms: np.ndarray, products: np.ndarray, d: int) -> np.ndarray:
    """Proved lower ends of one-vs-rest distances by h = w_k / |w_k|, whatever the rows' norms.

    `min_j <w_k - w_j, h> = (|w_k|^2 - max_j <w_k, w_j>) / |w_k|`, and 0 where that is negative.
    Norms (K,) are computed and positive; products (K,) are larger than each row's largest product
    with another row by at least the rounding of the row's own square.
    """
    return np.maximum(norms**2 - products, 0.0) / norms * (1.0 - gamma(d + 4))


def _union(*rows: np.ndarray) -> np.ndarray:
    """Indices in any of some lists, sorted; `np.union1d` would import masked arrays, 20 ms."""
    merged = np.sort(np.concatenate(rows))
    return merged[np.concatenate([[True], merged[1:] != merged[:-1]])]
