"""Which classes of a linear head can win: be the strictly largest logit for some feature.

With rows w_k, biases b_k and features of norm at most R

    reach_k(R) = max over |h| <= R of min over j != k of <w_k - w_j, h> + b_k - b_j
               = min over convex weights v of R |w_k - sum v_j w_j| + b_k - sum v_j b_j,

and class k can win if and only if this is positive. A feature h proves that it can; weights v prove
that it cannot. Products are rounded outward, so both are proofs for the float64 rows as they are.
Where the feature h = 0 reaches 0 (no bias) or R is infinite, weights that only come near w_k prove
nothing: there the exact weights exist by one of

- a twin: another class with the same row and no smaller bias;
- an enclosure: weights whose residual is so small that a change of the weights of d + 1 affinely
  independent rows, all of them positive, takes it away (the inverse of those rows is verified);
- a rational solution, computed exactly.

Without bias, with unit rows and R = 1, this is the one-vs-rest distance of lemma C.4 of arXiv
2310.05351. For a set of classes that are to win together, a point of the hull of its rows takes the
place of w_k.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.hull_products import ArrayProducts
from gnc_cli.geometry.min_norm_point import hull_distance_bound, min_norm_point
from gnc_cli.geometry.rounding import UNIT32, gamma
from gnc_cli.geometry.sphere import as_points, row_norms
from gnc_cli.runtime.deadline import Deadline, StageProgress
from gnc_cli.runtime.threads import limit_threads

_WORKING = 96
"""Rows that join a working set at once."""
_DEPTHS = (1e-6, 1e-3)
"""How far beyond a point, in lengths to the centre of a frame, other rows must enclose it."""
_LARGEST_RATIONAL = 40
"""Rows, and dimensions, of a linear system that is solved in rational numbers."""
_REFINED = 20
"""Classes that win by the least, whose brackets are closed; more of a small head."""
_QUICK = 1e8
"""Numbers in all rows, times the classes whose brackets are closed: a second's work."""
_BLOCK_BYTES = 64 << 20
"""Of the products that screen classes."""
_NO_ROWS = np.empty(0, dtype=np.intp)
_LARGEST = 1e150
"""Of lengths and biases, whose squares are computed."""
_LARGEST_LOG = 600.0
"""Of a scale: products with it are still numbers of float64."""
_FAR = 1e3
"""Length of the features that screen without a limit: there rows differ by more than biases."""


class Verdict(StrEnum):
    """What is proved of a class or of a set of classes."""

    CAN_WIN = "can win"
    TIES = "ties only"
    CANNOT_WIN = "cannot win"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Reach:
    """The reach of one class or set, with its witness."""

    verdict: Verdict
    lower: float
    """Proved lower end of the reach, at norm R; per unit of the norm where R is infinite."""
    upper: float
    """Proved upper end; infinite where R is infinite and biases differ."""
    feature: np.ndarray | None = None
    """A feature (d,) that makes the class win, where it can."""
    weights: tuple[np.ndarray, np.ndarray] | None = None
    """Classes and their weights, from which the upper end follows: those of the set itself are
    positive and sum to 1, those of others negative with sum -1. Exact weights are near where the
    verdict needs them."""
    twin: int | None = None
    """The class with the same row, where there is one."""


class LinearHead:
    """The rows and biases of a linear head, with what all of its verdicts share.

    Args:
        weights: raw rows, shape (K, d).
        bias: shape (K,); None for none.
        norm: R, the largest norm of a feature; infinite by default.
        deadline: what it leaves undone is undecided.
        threads: how many classes are looked at side by side.

    Raises:
        DataError: rows or biases are not finite or too large, or are fewer than two.

    Example:
        >>> head = LinearHead(np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.0]]))
        >>> [str(head.reach([k]).verdict) for k in range(3)]
        ['can win', 'can win', 'cannot win']
    """

    def __init__(
        self,
        weights: np.ndarray,
        bias: np.ndarray | None = None,
        norm: float = math.inf,
        deadline: Deadline | None = None,
        threads: int = 1,
    ) -> None:
        self.W = as_points(weights)
        self.K, self.d = self.W.shape
        self.norm, self.deadline, self.threads = norm, deadline or Deadline(), threads
        self.bias = np.zeros(self.K) if bias is None else np.asarray(bias, dtype=np.float64)
        if self.bias.shape != (self.K,) or not np.isfinite(self.bias).all():
            raise DataError(f"the bias must be {self.K} finite numbers, one per row of the weights")
        self.biased = bool(np.ptp(self.bias))
        """Biases that are all the same decide nothing."""
        self.ranked = not self.biased or math.isfinite(norm)
        """Whether every reach is finite."""
        self._lengths = row_norms(self.W)
        self._longest = float(self._lengths.max()) or 1.0
        if not max(self._longest, float(np.abs(self.bias).max())) < _LARGEST:
            raise DataError(
                "squares of the weights or of the bias leave the numbers of float64; divide both "
                "by one number"
            )
        self._power = math.ldexp(1.0, math.frexp(self._longest)[1])
        """A power of two not below the longest row: division by it is exact."""
        self._scale = self._longest / float(np.ptp(self.bias)) if self.biased else 0.0
        """Of the biases as one more coordinate of the rows, which it makes as long as they are."""
        self._mean = self.W.mean(axis=0)
        self._ray = np.append(np.zeros(self.d), self._longest)
        """The direction in which points may be raised where the norm has no limit, (d + 1,)."""
        self._radius = norm
        """Length of the features that are tried first."""
        if math.isinf(norm):
            self._radius = _FAR / self._scale if self.biased else 1.0

    def reach(self, classes: Sequence[int]) -> Reach:
        """The reach of one class, or of several that are to win together.

        Example:
            >>> head = LinearHead(np.eye(3), norm=2.0)
            >>> round(head.reach([0]).lower, 9) == round(2 * 1.5**0.5, 9)
            True
        """
        own = np.unique(np.asarray(classes, dtype=np.intp))
        if self.deadline.expired:
            return Reach(Verdict.UNDECIDED, -math.inf, math.inf)
        twin = self._twin(own)
        if twin is not None:
            return twin
        reach = self._unlimited(own)
        if reach.verdict is Verdict.UNDECIDED and reach.weights is not None:
            proof = self._inside(own, *reach.weights)
            if proof is not None:
                return Reach(Verdict.CANNOT_WIN, reach.lower, 0.0, weights=proof)
        return self._limited(own, reach) if self.biased and math.isfinite(self.norm) else reach

    def all(
        self, classes: np.ndarray | None = None, progress: StageProgress | None = None
    ) -> dict[int, Reach]:
        """The reach of every class, or of some: one blocked product decides most of them."""
        left = np.arange(self.K) if classes is None else np.asarray(classes)
        answers = self._screened(left, progress)
        rest = [int(k) for k in left if int(k) not in answers]
        answers |= zip(rest, self.each([[k] for k in rest], progress), strict=True)
        # Close the brackets of those that win by the least, as screening leaves them open.
        able = [k for k, reach in answers.items() if reach.verdict is Verdict.CAN_WIN]
        few = max(_REFINED, int(_QUICK / self.W.size)) if self.ranked else 0
        able = sorted(able, key=lambda k: answers[k].lower)[:few]
        for k, reach in zip(able, self.each([[k] for k in able]), strict=True):
            if reach.verdict is Verdict.CAN_WIN:
                answers[k] = reach
        return {int(k): answers[int(k)] for k in left}

    def each(
        self, sets: Sequence[Sequence[int]], progress: StageProgress | None = None
    ) -> list[Reach]:
        """The reach of each of several sets, in threads: projections are too small to be shared."""
        import scipy.linalg  # noqa: F401  its BLAS must be there to be held to one thread

        reaches: list[Reach] = []
        with limit_threads(1), ThreadPoolExecutor(self.threads) as pool:
            for reach in pool.map(self.reach, sets):
                reaches.append(reach)
                if progress is not None:
                    progress(len(reaches), len(sets), math.nan)
        return reaches

    def margin(self, own: np.ndarray, feature: np.ndarray) -> float:
        """Proved margin of some classes over all others at a feature (d,)."""
        products = self.W @ feature + self.bias
        if not np.isfinite(products).all():
            return -math.inf
        sizes = self._lengths * np.linalg.norm(feature) + np.abs(self.bias)
        error = 1.01 * gamma(self.d + 4) * float(sizes.max() + sizes[own].max()) + 1e-300
        return float(products[own].min() - np.delete(products, own).max()) - error

    # What follows answers by the kind of the head.

    def _unlimited(self, own: np.ndarray) -> Reach:
        """Where the norm has no limit, or only scales: with biases the hull takes in what lies
        below it.
        """
        apart = self._separate(self._lifted(own, self._scale), own, self._scale, self.biased)
        normal, upper = apart.normal[: self.d], math.inf
        if self.biased:
            # Far out along the normal, too, where the bias is no matter.
            lengths = [self._scale * apart.normal[-1]]
            lengths += [10.0**-e * float(np.linalg.norm(normal)) for e in (3, 6, 9)]
        else:
            lengths = [float(np.linalg.norm(normal)) / self._radius * (1.0 + gamma(self.d + 4))]
            upper = self._radius * apart.distance * (1.0 + gamma(4))
        for length in lengths:
            if length > 0.0 and (lower := self.margin(own, normal / length)) > 0.0:
                return Reach(Verdict.CAN_WIN, lower, upper, normal / length)
        return Reach(Verdict.UNDECIDED, self._at_zero(own), upper, weights=apart.signed(own))

    def _limited(self, own: np.ndarray, unlimited: Reach) -> Reach:
        """With biases and a limit: the scale of the bias at which the best feature has norm R.

        Args:
            unlimited: the reach without a limit, whose feature may be short enough.
        """
        from scipy.optimize import brentq

        # Raised by this much, the classes win at h = 0, and the hulls are apart.
        raised = float(np.ptp(self.bias)) - self._at_zero(own)
        length = math.inf if unlimited.feature is None else np.linalg.norm(unlimited.feature)
        tried = [unlimited] if length <= self.norm / 2.0 else []

        @cache
        @np.errstate(divide="ignore", over="ignore", invalid="ignore")
        def excess(log_scale: float) -> float:
            scale = math.exp(log_scale)
            lifted = self._lifted(own, scale)
            lifted[:, -1] += scale * raised
            apart = self._separate(lifted, own, scale)
            feature = apart.normal[:-1] / (scale * apart.normal[-1])
            length = float(np.linalg.norm(feature)) or 1e-200
            feature *= min(1.0, self.norm * (1.0 - gamma(self.d + 4)) / length)
            ends, weights = (self.margin(own, feature), self._bound(own, apart)), apart.signed(own)
            tried.append(Reach(Verdict.UNDECIDED, *ends, feature, weights))
            return math.log(length) - math.log(self.norm)

        middle = float(np.clip(-math.log(self.norm), -_LARGEST_LOG, _LARGEST_LOG))
        low, high = middle - 3.0, middle + 3.0
        while excess(low) < 0.0 and low > middle - 30.0:
            low -= 6.0
        while excess(high) > 0.0 and high < middle + 30.0:
            high += 6.0
        if excess(low) > 0.0 > excess(high):
            brentq(excess, low, high, xtol=1e-9)
        best = max(tried, key=lambda reach: reach.lower)
        least = min(tried, key=lambda reach: reach.upper)
        if best.lower > 0.0:
            return Reach(Verdict.CAN_WIN, best.lower, least.upper, best.feature)
        verdict = Verdict.CANNOT_WIN if least.upper <= 0.0 else Verdict.UNDECIDED
        return Reach(verdict, best.lower, least.upper, weights=least.weights)

    def _at_zero(self, own: np.ndarray) -> float:
        """A proved lower end of the reach: the margin at h = 0."""
        margin = float(self.bias[own].min() - np.delete(self.bias, own).max())
        return math.nextafter(margin, -math.inf) if margin else 0.0

    # Hulls.

    def _lifted(self, rows: np.ndarray, scale: float) -> np.ndarray:
        """Some rows with the bias, times a scale, as one more coordinate, (m, d + 1)."""
        return np.column_stack([self.W[rows], scale * self.bias[rows]])

    def _bound(self, own: np.ndarray, apart: "_Apart") -> float:
        """A proved upper end of the reach at norm R, from weights of both hulls."""
        others, weights = apart.others, apart.weights
        if not others.size:
            return math.inf
        gap = apart.own @ self.W[own] - weights @ self.W[others]
        difference = float(apart.own @ self.bias[own] - weights @ self.bias[others])
        error = gamma(len(own) + len(others) + self.d + 6)
        sizes = self.norm * 2.0 * self._longest + 2.0 * float(np.abs(self.bias).max())
        return self.norm * float(np.linalg.norm(gap)) + difference + error * sizes

    def _separate(
        self,
        points: np.ndarray,
        own: np.ndarray,
        scale: float,
        below: bool = False,
        near: np.ndarray = _NO_ROWS,
    ) -> "_Apart":
        """Set the hull of some points (s, d + 1) apart from that of all rows but the own ones.

        Column generation: the nearest points of a working set give a normal, one product with all
        rows names those that it does not hold back, and they join.

        Args:
            scale: of the biases.
            below: points may be raised by any amount, that is, rows lowered.
            near: rows that may carry the nearest point; they only save time.
        """
        tolerance = 4.0 * gamma(self.d + 4) * 2.0 * self._longest
        centre = np.append(self._mean, scale * self.bias.mean())
        normal = points.mean(axis=0) - centre
        working, nothing = near, np.zeros(len(points))
        best = _Apart(normal, math.inf, nothing, working, np.full(len(near), 1.0 / self.K))
        while not self.deadline.expired:
            products = self.W @ normal[:-1] + (scale * normal[-1]) * self.bias
            products[own] = -np.inf
            level = float((points @ normal).min())
            fresh = np.argsort(-products)[: max(_WORKING, self.d + 1)]
            fresh = fresh[products[fresh] > level - best.distance + tolerance]
            fresh = fresh[~np.isin(fresh, working)]
            if not fresh.size:
                break
            working = np.concatenate([working[best.weights > 0.0], fresh])
            start = np.arange(np.count_nonzero(best.weights)) if len(points) == 1 else None
            V = (points[:, None] - self._lifted(working, scale)).reshape(-1, self.d + 1)
            count = len(V)
            V = np.concatenate([V, self._ray[None]]) if below else V
            x, weights = min_norm_point(V, start)
            used = np.flatnonzero(weights)
            distance = hull_distance_bound(V[used], weights[used])
            length = float(np.linalg.norm(x))
            normal = x / (length or 1.0)
            table = weights[:count].reshape(len(points), -1)
            table = table / (table.sum() or 1.0)
            best = _Apart(normal, distance, table.sum(axis=1), working, table.sum(axis=0))
            if length <= tolerance:  # within rounding of the hull
                break
        return best

    # Proofs that a class cannot win.

    def _twin(self, own: np.ndarray) -> Reach | None:
        """The verdict of a class that has the row of another one, with no smaller bias; of a set
        with such a class, that of the class that loses by most.
        """
        best: Reach | None = None
        for k in own:
            alike = np.flatnonzero(self.W[:, 0] == self.W[k, 0])
            alike = alike[(self.W[alike] == self.W[k]).all(axis=1) & ~np.isin(alike, own)]
            twin = alike[np.argmax(self.bias[alike])] if alike.size else k
            room = float(self.bias[k] - self.bias[twin]) * (1.0 - gamma(2))
            if twin != k and room <= 0.0 and (best is None or room < best.upper):
                verdict = Verdict.CANNOT_WIN if room else Verdict.TIES
                weights = (np.array([k, twin]), np.array([1.0, -1.0]))
                best = Reach(verdict, min(room, self._at_zero(own)), room, None, weights, int(twin))
        return best

    def _inside(
        self, own: np.ndarray, near: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Signed weights that prove that classes cannot win; None where there is no proof.

        Where other rows make a point a little beyond that of the classes, seen from the centre of a
        frame, some weight on the frame makes the point itself, and leaves room for rounding: exact
        convex weights lie near, those of the frame alone changed.

        Args:
            near: classes with signed weights (`values`) that make two points which nearly meet: the
                own ones, whose point the others may enclose, and others.
        """
        shares, others, nearest = values[: len(own)], near[len(own) :], -values[len(own) :]
        frame = self._frame
        if frame is not None and np.isin(own, frame[0]).any():
            frame = _frame(self.W, self._power, own)
        if frame is None:
            return self._rational(own, others, nearest)
        corners, spread = frame
        centre = self._lifted(corners, self._scale).mean(axis=0)
        centre -= self._ray if self.biased else 0.0
        point = shares @ self._lifted(own, self._scale)
        largest = float(np.abs(self.bias).max())
        for depth in _DEPTHS:
            beyond = point + depth * (point - centre)
            apart = self._separate(beyond[None], own, self._scale, self.biased, others)
            weights = np.zeros(self.K)
            weights[apart.others] = apart.weights / (1.0 + depth)
            weights[corners] += depth / (1.0 + depth) / len(corners)
            used = np.flatnonzero(weights)
            error = gamma(len(used) + len(own) + 4)
            gap = shares @ self.W[own] - weights[used] @ self.W[used]
            residual = float(np.abs(gap).max()) / self._power + 2.0 * error
            change = spread * max(residual, abs(float(shares.sum() - weights.sum())) + error)
            room = float(weights[used] @ self.bias[used] - shares @ self.bias[own])
            enough = room >= largest * (len(corners) * change + 4.0 * error)
            if change < weights[corners].min() and (enough or not self.biased):
                return np.append(own, used), np.append(shares, -weights[used])
        return self._rational(own, others, nearest)

    @cached_property
    def _frame(self) -> tuple[np.ndarray, float] | None:
        return _frame(self.W, self._power, _NO_ROWS)

    def _rational(
        self, own: np.ndarray, others: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """As `_inside`, for one class: weights that solve the equations in rational numbers, where
        these are a few rows of few dimensions.

        Args:
            others, weights: the rows that make the nearest point, and their convex weights.
        """
        from flint import fmpq, fmpq_mat

        used = others[weights > 1e-9]
        if len(own) > 1 or not 0 < len(used) <= _LARGEST_RATIONAL or self.d > _LARGEST_RATIONAL:
            return None
        columns = [
            [fmpq(*float(x).as_integer_ratio()) for x in (*self.W[j], 1.0, self.bias[j])]
            for j in (*used, own[0])
        ]
        *biases, own_bias = [column.pop() for column in columns]
        reduced, rank = fmpq_mat(list(map(list, zip(*columns, strict=True)))).rref()
        n = len(used)
        if rank != n or any(reduced[i, i] != 1 for i in range(n)):
            return None
        solution = [reduced[i, n] for i in range(n)]
        room = sum((a * b for a, b in zip(solution, biases, strict=True)), -own_bias)
        if min(solution) < 0 or room < 0:
            return None
        values = [-float(Fraction(int(a.p), int(a.q))) for a in solution]
        return np.append(own, used), np.array([1.0, *values])

    # All classes.

    @np.errstate(over="ignore", invalid="ignore")
    def _screened(self, classes: np.ndarray, progress: StageProgress | None) -> dict[int, Reach]:
        """The classes that a direction of their own proves to win: from the mean of all rows, then
        the same where the rows' covariance is the unit. Products are rounded as float32.
        """
        answers: dict[int, Reach] = {}
        length, rounding = self._power, gamma(self.d + 6, UNIT32)
        heights = self.bias / (length * self._radius)
        W, mean = self.W / length, self._mean / length
        small = np.column_stack([W, heights]).astype(np.float32)
        products, sizes = ArrayProducts(small, small), self._lengths / length + np.abs(heights)
        batch = max(1, _BLOCK_BYTES // (4 * self.K))
        covariance = W.T @ W / self.K - np.outer(mean, mean)
        for metric in (np.eye(self.d), np.linalg.pinv(covariance, hermitian=True)):
            left = np.array([k for k in classes if int(k) not in answers], dtype=np.intp)
            for s in range(0, len(left), batch):
                at = left[s : s + batch]
                h = (W[at] - mean) @ metric
                norms = np.linalg.norm(h, axis=1, keepdims=True)
                norms[norms == 0.0] = 1.0
                h = (h / norms * (1.0 - 4.0 * UNIT32)).astype(np.float32)
                seen = products.look(np.column_stack([h, np.ones(len(at))]), at, single=True)
                lower = seen.own_product - seen.top - rounding * (sizes[at] + sizes.max())
                lower *= length * self._radius * (1.0 - gamma(4))
                if self.deadline.expired:
                    return answers
                for i in np.flatnonzero(lower > 0.0):
                    feature = self._radius * h[i].astype(np.float64)
                    reach = Reach(Verdict.CAN_WIN, float(lower[i]), math.inf, feature)
                    answers[int(at[i])] = reach
                if progress is not None:
                    progress(len(answers), len(classes), math.nan)
        return answers


@dataclass(frozen=True, eq=False)
class _Apart:
    """Two hulls, of points and of rows, as far apart as a working set of the rows tells."""

    normal: np.ndarray
    """From the rows towards the points, unit, (d + 1,)."""
    distance: float
    """Proved upper end of the distance."""
    own: np.ndarray
    """Convex weights of the points, (s,)."""
    others: np.ndarray
    """Rows, and their convex weights."""
    weights: np.ndarray

    def signed(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The weights as a result has them, where the points are those of the classes `own`."""
        used = self.weights > 0.0
        if not used.any():
            return None
        signs = np.concatenate([self.own, -self.weights[used]])
        return np.concatenate([own, self.others[used]]), signs


def _frame(W: np.ndarray, scale: float, without: np.ndarray) -> tuple[np.ndarray, float] | None:
    """d + 1 affinely independent rows, and a proved bound of what a residual moves their weights.

    With the rows divided by `scale`, a power of two, and a 1 appended, as the matrix A
    (d + 1, d + 1), a residual r of `weights @ A` is taken away by a change of at most `spread |r|`
    in each weight, in the maximum norm. None where the rows span less, or too badly.

    Source: S. M. Rump, Verification methods, Acta Numerica 19 (2010), section 10: X near the
    inverse and |I - X A| < 1 bound it.
    """
    from scipy.linalg import qr

    K, d = W.shape
    others = np.delete(np.arange(K), without)
    some = np.random.default_rng(0).permutation(others)[: 4 * (d + 1)]
    if len(some) < d + 1:
        return None
    extended = np.column_stack([W[some] / scale, np.ones(len(some))])
    corners = some[qr(extended.T, mode="r", pivoting=True)[1][: d + 1]]
    A = np.column_stack([W[corners] / scale, np.ones(d + 1)])
    try:
        X = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    rounding = gamma(d + 4) * (np.abs(X) @ np.abs(A)).sum(axis=0).max()
    off = float(np.abs(np.eye(d + 1) - X @ A).sum(axis=0).max() + rounding)
    if not off < 0.5:
        return None
    return corners, float(np.abs(X).sum(axis=0).max()) * (1.0 + 4.0 * gamma(d + 4)) / (1.0 - off)
