"""Classes of a linear head that can win: have the strictly largest logit for some feature.

With rows w_k, biases b_k and features of norm at most R

    reach_k(R) = max over |h| <= R of min over j != k of <w_k - w_j, h> + b_k - b_j
               = min over convex weights v of R |w_k - sum v_j w_j| + b_k - sum v_j b_j,

and class k can win if and only if this is positive. A feature h proves that it can; weights v prove
that it cannot. Products are rounded outward, so both are proofs for the float64 rows as they are.
If the feature h = 0 reaches 0 (no bias) or R is infinite, weights that only come near w_k prove
nothing. Exact weights then exist by one of

- a twin: another class with the same row and no smaller bias;
- an enclosure: weights whose residual is so small that a change of the weights of d + 1 affinely
  independent rows, all of them positive, removes it (the inverse of those rows is verified);
- a rational solution, computed exactly.

Without bias, with unit rows and R = 1, this is the one-vs-rest distance of lemma C.4 of arXiv
2310.05351. For a set of classes that are to win together, a point of the hull of its rows replaces
w_k.
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

_FRESH_ROWS = 96
"""Rows that join a working set at once, at least."""
_DEPTHS = (1e-6, 1e-3)
"""Distances beyond a point within which other rows must enclose it, in lengths to the centre of a
frame."""
_MAX_RATIONAL_SIZE = 40
"""Largest number of rows, and of dimensions, of a system that is solved in rational numbers."""
_MIN_CLOSED_CLASSES = 20
"""Smallest number of classes whose brackets are closed, those that win by the least."""
_CLOSING_WORK = 1e8
"""Entries of the weights times classes whose brackets are closed, about a second of work."""
_BLOCK_BYTES = 64 << 20
"""Bytes of the products that screen classes."""
_NO_ROWS = np.empty(0, dtype=np.intp)
"""Empty array of row indices."""
_MAX_LENGTH = 1e150
"""Largest length or bias, whose squares are then numbers of float64."""
_MAX_LOG_SCALE = 600.0
"""Largest logarithm of a scale, with which products are still numbers of float64."""
_SCREEN_LENGTH = 1e3
"""Length of screening features without a limit, at which rows differ by more than biases."""


class Verdict(StrEnum):
    """Proved property of a class or of a set of classes."""

    CAN_WIN = "can win"
    TIES = "ties only"
    CANNOT_WIN = "cannot win"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Reach:
    """The reach of one class or set, with its witness."""

    verdict: Verdict
    lower: float
    """Proved lower end of the reach, at norm R; per unit of the norm if R is infinite."""
    upper: float
    """Proved upper end; infinite if R is infinite and biases differ."""
    feature: np.ndarray | None = None
    """Feature (d,) that makes the class win, if it can."""
    weights: tuple[np.ndarray, np.ndarray] | None = None
    """Classes and their weights, shape (m,) each, from which the upper end follows. Those of the
    set itself are positive and sum to 1, those of others negative with sum -1. Exact weights are
    near if the verdict needs them."""
    twin: int | None = None
    """Class with the same row, if there is one."""


class LinearHead:
    """Rows and biases of a linear head, with the values that all of its verdicts share.

    Args:
        weights: raw rows, shape (K, d).
        bias: shape (K,); None for none.
        norm: R, the largest norm of a feature; infinite by default.
        deadline: classes that remain when it expires are undecided.
        threads: number of classes at a time.

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
        """True if biases differ; equal ones decide nothing."""
        self.ranked = not self.biased or math.isfinite(norm)
        """True if every reach is finite."""
        self._lengths = row_norms(self.W)
        self._longest = float(self._lengths.max()) or 1.0
        if not max(self._longest, float(np.abs(self.bias).max())) < _MAX_LENGTH:
            raise DataError(
                "squares of the weights or of the bias leave the numbers of float64; divide both "
                "by one number"
            )
        self._power = math.ldexp(1.0, math.frexp(self._longest)[1])
        """Power of two not below the longest row; division by it is exact."""
        self._scale = self._longest / float(np.ptp(self.bias)) if self.biased else 0.0
        """Factor of the biases as one more coordinate of the rows, of the same length as these."""
        self._mean = self.W.mean(axis=0)
        self._ray = np.append(np.zeros(self.d), self._longest)
        """Direction in which points may be raised if the norm has no limit, shape (d + 1,)."""
        self._radius = norm
        """Length of the features of the first attempt."""
        if math.isinf(norm):
            self._radius = _SCREEN_LENGTH / self._scale if self.biased else 1.0

    def reach(self, classes: Sequence[int]) -> Reach:
        """Compute the reach of one class, or of several that are to win together.

        Example:
            >>> head = LinearHead(np.eye(3), norm=2.0)
            >>> round(head.reach([0]).lower, 9) == round(2 * 1.5**0.5, 9)
            True
        """
        members = np.unique(np.asarray(classes, dtype=np.intp))
        if self.deadline.expired:
            return Reach(Verdict.UNDECIDED, -math.inf, math.inf)
        twin = self._twin(members)
        if twin is not None:
            return twin
        reach = self._unlimited(members)
        if reach.verdict is Verdict.UNDECIDED and reach.weights is not None:
            proof = self._inside(members, *reach.weights)
            if proof is not None:
                return Reach(Verdict.CANNOT_WIN, reach.lower, 0.0, weights=proof)
        return self._limited(members, reach) if self.biased and math.isfinite(self.norm) else reach

    def reaches(
        self, classes: np.ndarray | None = None, progress: StageProgress | None = None
    ) -> dict[int, Reach]:
        """Compute the reach of all classes, or of those given, shape (m,).

        One blocked product decides most of them.
        """
        indices = np.arange(self.K) if classes is None else np.asarray(classes)
        answers = self._screened(indices, progress)
        rest = [int(k) for k in indices if int(k) not in answers]
        answers |= zip(rest, self.reach_sets([[k] for k in rest], progress), strict=True)
        # Screening leaves brackets open: close those of the classes that win by the least.
        able = [k for k, reach in answers.items() if reach.verdict is Verdict.CAN_WIN]
        count = max(_MIN_CLOSED_CLASSES, int(_CLOSING_WORK / self.W.size)) if self.ranked else 0
        able = sorted(able, key=lambda k: answers[k].lower)[:count]
        for k, reach in zip(able, self.reach_sets([[k] for k in able]), strict=True):
            if reach.verdict is Verdict.CAN_WIN:
                answers[k] = reach
        return {int(k): answers[int(k)] for k in indices}

    def reach_sets(
        self, sets: Sequence[Sequence[int]], progress: StageProgress | None = None
    ) -> list[Reach]:
        """Compute the reach of each of several sets, in threads.

        A single projection is too small for several threads.
        """
        import scipy.linalg  # noqa: F401  # its BLAS must be loaded to be limited to one thread

        reaches: list[Reach] = []
        with limit_threads(1), ThreadPoolExecutor(self.threads) as pool:
            for reach in pool.map(self.reach, sets):
                reaches.append(reach)
                if progress is not None:
                    progress(len(reaches), len(sets), math.nan)
        return reaches

    def margin(self, members: np.ndarray, feature: np.ndarray) -> float:
        """Prove a margin of some classes, indices (m,), over all others at a feature (d,)."""
        products = self.W @ feature + self.bias
        if not np.isfinite(products).all():
            return -math.inf
        sizes = self._lengths * np.linalg.norm(feature) + np.abs(self.bias)
        error = 1.01 * gamma(self.d + 4) * float(sizes.max() + sizes[members].max()) + 1e-300
        return float(products[members].min() - np.delete(products, members).max()) - error

    # Reach by the kind of the head.

    def _unlimited(self, members: np.ndarray) -> Reach:
        """Compute the reach if the norm has no limit, or only scales.

        With biases the hull includes all points below it.
        """
        separation = self._separate(
            self._lifted(members, self._scale), members, self._scale, self.biased
        )
        normal, upper = separation.normal[: self.d], math.inf
        if self.biased:
            # Also far out along the normal, where biases do not matter.
            lengths = [self._scale * separation.normal[-1]]
            lengths += [10.0**-e * float(np.linalg.norm(normal)) for e in (3, 6, 9)]
        else:
            lengths = [float(np.linalg.norm(normal)) / self._radius * (1.0 + gamma(self.d + 4))]
            upper = self._radius * separation.distance * (1.0 + gamma(4))
        for length in lengths:
            if length > 0.0 and (lower := self.margin(members, normal / length)) > 0.0:
                return Reach(Verdict.CAN_WIN, lower, upper, normal / length)
        return Reach(
            Verdict.UNDECIDED, self._at_zero(members), upper, weights=separation.signed(members)
        )

    def _limited(self, members: np.ndarray, unlimited: Reach) -> Reach:
        """Compute the reach with biases and a limit.

        It is reached at the scale of the biases whose best feature has norm R.

        Args:
            members: classes of the set.
            unlimited: the reach without a limit, whose feature may be short enough.
        """
        from scipy.optimize import brentq

        # Raised by this much, the classes win at h = 0, and the hulls are apart.
        raised = float(np.ptp(self.bias)) - self._at_zero(members)
        length = math.inf if unlimited.feature is None else np.linalg.norm(unlimited.feature)
        attempts = [unlimited] if length <= self.norm / 2.0 else []

        @cache
        @np.errstate(divide="ignore", over="ignore", invalid="ignore")
        def excess(log_scale: float) -> float:
            scale = math.exp(log_scale)
            lifted = self._lifted(members, scale)
            lifted[:, -1] += scale * raised
            separation = self._separate(lifted, members, scale)
            feature = separation.normal[:-1] / (scale * separation.normal[-1])
            length = float(np.linalg.norm(feature)) or 1e-200
            feature *= min(1.0, self.norm * (1.0 - gamma(self.d + 4)) / length)
            ends, weights = (
                (self.margin(members, feature), self._bound(members, separation)),
                separation.signed(members),
            )
            attempts.append(Reach(Verdict.UNDECIDED, *ends, feature, weights))
            return math.log(length) - math.log(self.norm)

        middle = float(np.clip(-math.log(self.norm), -_MAX_LOG_SCALE, _MAX_LOG_SCALE))
        low, high = middle - 3.0, middle + 3.0
        while excess(low) < 0.0 and low > middle - 30.0:
            low -= 6.0
        while excess(high) > 0.0 and high < middle + 30.0:
            high += 6.0
        if excess(low) > 0.0 > excess(high):
            brentq(excess, low, high, xtol=1e-9)
        best = max(attempts, key=lambda reach: reach.lower)
        lowest = min(attempts, key=lambda reach: reach.upper)
        if best.lower > 0.0:
            return Reach(Verdict.CAN_WIN, best.lower, lowest.upper, best.feature)
        verdict = Verdict.CANNOT_WIN if lowest.upper <= 0.0 else Verdict.UNDECIDED
        return Reach(verdict, best.lower, lowest.upper, weights=lowest.weights)

    def _at_zero(self, members: np.ndarray) -> float:
        """Prove a lower end of the reach, the margin at h = 0."""
        margin = float(self.bias[members].min() - np.delete(self.bias, members).max())
        return math.nextafter(margin, -math.inf) if margin else 0.0

    # Hulls.

    def _lifted(self, rows: np.ndarray, scale: float) -> np.ndarray:
        """Return rows with their biases, times a scale, as one more coordinate, (m, d + 1)."""
        return np.column_stack([self.W[rows], scale * self.bias[rows]])

    def _bound(self, members: np.ndarray, separation: "_Separation") -> float:
        """Prove an upper end of the reach at norm R, from weights of both hulls."""
        others, weights = separation.others, separation.weights
        if not others.size:
            return math.inf
        gap = separation.shares @ self.W[members] - weights @ self.W[others]
        difference = float(separation.shares @ self.bias[members] - weights @ self.bias[others])
        error = gamma(len(members) + len(others) + self.d + 6)
        sizes = self.norm * 2.0 * self._longest + 2.0 * float(np.abs(self.bias).max())
        return self.norm * float(np.linalg.norm(gap)) + difference + error * sizes

    def _separate(
        self,
        points: np.ndarray,
        members: np.ndarray,
        scale: float,
        lowered: bool = False,
        candidates: np.ndarray = _NO_ROWS,
    ) -> "_Separation":
        """Separate the hull of some points from that of all rows except the members.

        Column generation: the nearest points of a working set give a normal, and the rows beyond
        its hyperplane, which one product with all rows finds, join the set.

        Args:
            points: points of the set, lifted, shape (s, d + 1).
            members: classes of the set.
            scale: factor of the biases.
            lowered: True if points may be raised by any amount, that is, rows lowered.
            candidates: rows that may carry the nearest point, shape (m,). They only save time.
        """
        tolerance = 4.0 * gamma(self.d + 4) * 2.0 * self._longest
        centre = np.append(self._mean, scale * self.bias.mean())
        normal = points.mean(axis=0) - centre
        working, zeros = candidates, np.zeros(len(points))
        best = _Separation(normal, math.inf, zeros, working, np.full(len(candidates), 1.0 / self.K))
        while not self.deadline.expired:
            products = self.W @ normal[:-1] + (scale * normal[-1]) * self.bias
            products[members] = -np.inf
            level = float((points @ normal).min())
            fresh = np.argsort(-products)[: max(_FRESH_ROWS, self.d + 1)]
            fresh = fresh[products[fresh] > level - best.distance + tolerance]
            fresh = fresh[~np.isin(fresh, working)]
            if not fresh.size:
                break
            working = np.concatenate([working[best.weights > 0.0], fresh])
            start = np.arange(np.count_nonzero(best.weights)) if len(points) == 1 else None
            V = (points[:, None] - self._lifted(working, scale)).reshape(-1, self.d + 1)
            count = len(V)
            V = np.concatenate([V, self._ray[None]]) if lowered else V
            x, weights = min_norm_point(V, start)
            support = np.flatnonzero(weights)
            distance = hull_distance_bound(V[support], weights[support])
            length = float(np.linalg.norm(x))
            normal = x / (length or 1.0)
            table = weights[:count].reshape(len(points), -1)
            table = table / (table.sum() or 1.0)
            best = _Separation(normal, distance, table.sum(axis=1), working, table.sum(axis=0))
            if length <= tolerance:  # within rounding of the hull
                break
        return best

    # Proofs that a class cannot win.

    def _twin(self, members: np.ndarray) -> Reach | None:
        """Return the verdict if another class has the row of a member and no smaller bias.

        Of several such members it is that of the one that loses by most.
        """
        best: Reach | None = None
        for k in members:
            twins = np.flatnonzero(self.W[:, 0] == self.W[k, 0])
            twins = twins[(self.W[twins] == self.W[k]).all(axis=1) & ~np.isin(twins, members)]
            twin = twins[np.argmax(self.bias[twins])] if twins.size else k
            room = float(self.bias[k] - self.bias[twin]) * (1.0 - gamma(2))
            if twin != k and room <= 0.0 and (best is None or room < best.upper):
                verdict = Verdict.CANNOT_WIN if room else Verdict.TIES
                weights = (np.array([k, twin]), np.array([1.0, -1.0]))
                best = Reach(
                    verdict, min(room, self._at_zero(members)), room, None, weights, int(twin)
                )
        return best

    def _inside(
        self, members: np.ndarray, classes: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return signed weights that prove that classes cannot win; None without a proof.

        Let other rows combine to a point a little beyond that of the members, seen from the centre
        of a frame. Then some weight on the frame gives the point itself, with a margin for
        rounding: exact convex weights lie near, with only those of the frame changed.

        Args:
            members: classes of the set, whose point the others may enclose.
            classes: the members, then other classes, shape (m,).
            values: signed weights of the classes, whose two points nearly meet, shape (m,).
        """
        shares, others, nearest = (
            values[: len(members)],
            classes[len(members) :],
            -values[len(members) :],
        )
        frame = self._frame
        if frame is not None and np.isin(members, frame[0]).any():
            frame = _frame(self.W, self._power, members)
        if frame is None:
            return self._rational(members, others, nearest)
        corners, spread = frame
        centre = self._lifted(corners, self._scale).mean(axis=0)
        centre -= self._ray if self.biased else 0.0
        point = shares @ self._lifted(members, self._scale)
        largest = float(np.abs(self.bias).max())
        for depth in _DEPTHS:
            outer = point + depth * (point - centre)
            separation = self._separate(outer[None], members, self._scale, self.biased, others)
            weights = np.zeros(self.K)
            weights[separation.others] = separation.weights / (1.0 + depth)
            weights[corners] += depth / (1.0 + depth) / len(corners)
            support = np.flatnonzero(weights)
            error = gamma(len(support) + len(members) + 4)
            gap = shares @ self.W[members] - weights[support] @ self.W[support]
            residual = float(np.abs(gap).max()) / self._power + 2.0 * error
            change = spread * max(residual, abs(float(shares.sum() - weights.sum())) + error)
            room = float(weights[support] @ self.bias[support] - shares @ self.bias[members])
            has_room = room >= largest * (len(corners) * change + 4.0 * error)
            if change < weights[corners].min() and (has_room or not self.biased):
                return np.append(members, support), np.append(shares, -weights[support])
        return self._rational(members, others, nearest)

    @cached_property
    def _frame(self) -> tuple[np.ndarray, float] | None:
        return _frame(self.W, self._power, _NO_ROWS)

    def _rational(
        self, members: np.ndarray, others: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Solve the equations of `_inside` in rational numbers, for one class and few rows.

        Args:
            members: the class.
            others: rows that carry the nearest point, shape (m,).
            weights: convex weights of these rows, shape (m,).
        """
        from flint import fmpq, fmpq_mat

        support = others[weights > 1e-9]
        if (
            len(members) > 1
            or not 0 < len(support) <= _MAX_RATIONAL_SIZE
            or self.d > _MAX_RATIONAL_SIZE
        ):
            return None
        columns = [
            [fmpq(*float(x).as_integer_ratio()) for x in (*self.W[j], 1.0, self.bias[j])]
            for j in (*support, members[0])
        ]
        *biases, own_bias = [column.pop() for column in columns]
        reduced, rank = fmpq_mat(list(map(list, zip(*columns, strict=True)))).rref()
        n = len(support)
        if rank != n or any(reduced[i, i] != 1 for i in range(n)):
            return None
        solution = [reduced[i, n] for i in range(n)]
        room = sum((a * b for a, b in zip(solution, biases, strict=True)), -own_bias)
        if min(solution) < 0 or room < 0:
            return None
        values = [-float(Fraction(int(a.p), int(a.q))) for a in solution]
        return np.append(members, support), np.array([1.0, *values])

    # All classes.

    @np.errstate(over="ignore", invalid="ignore")
    def _screened(self, classes: np.ndarray, progress: StageProgress | None) -> dict[int, Reach]:
        """Return the classes that one direction each proves to win.

        The directions are those from the mean of all rows, then the same after whitening the rows.
        Products are rounded as float32.
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
            remaining = np.array([k for k in classes if int(k) not in answers], dtype=np.intp)
            for s in range(0, len(remaining), batch):
                part = remaining[s : s + batch]
                h = (W[part] - mean) @ metric
                norms = np.linalg.norm(h, axis=1, keepdims=True)
                norms[norms == 0.0] = 1.0
                h = (h / norms * (1.0 - 4.0 * UNIT32)).astype(np.float32)
                look = products.look(np.column_stack([h, np.ones(len(part))]), part, single=True)
                lower = look.own_product - look.top - rounding * (sizes[part] + sizes.max())
                lower *= length * self._radius * (1.0 - gamma(4))
                if self.deadline.expired:
                    return answers
                for i in np.flatnonzero(lower > 0.0):
                    feature = self._radius * h[i].astype(np.float64)
                    reach = Reach(Verdict.CAN_WIN, float(lower[i]), math.inf, feature)
                    answers[int(part[i])] = reach
                if progress is not None:
                    progress(len(answers), len(classes), math.nan)
        return answers


@dataclass(frozen=True, eq=False)
class _Separation:
    """Separation of two hulls, of points and of rows, from a working set of the rows."""

    normal: np.ndarray
    """Unit vector from the rows towards the points, shape (d + 1,)."""
    distance: float
    """Proved upper end of the distance."""
    shares: np.ndarray
    """Convex weights of the points, shape (s,)."""
    others: np.ndarray
    """Indices of the rows, shape (m,)."""
    weights: np.ndarray
    """Convex weights of the rows, shape (m,)."""

    def signed(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return classes and signed weights of a result, if the points are those of the members."""
        mask = self.weights > 0.0
        if not mask.any():
            return None
        signs = np.concatenate([self.shares, -self.weights[mask]])
        return np.concatenate([members, self.others[mask]]), signs


def _frame(W: np.ndarray, scale: float, excluded: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return d + 1 affinely independent rows, and a bound of the change of their weights.

    Let A, (d + 1, d + 1), be the rows divided by `scale`, a power of two, with a 1 appended. A
    change of at most `spread |r|` in each weight removes a residual r of `weights @ A`, in the
    maximum norm, for the bound `spread`. None if the rows span less, or are ill-conditioned.

    Source: S. M. Rump, Verification methods, Acta Numerica 19 (2010), section 10: X near the
    inverse and |I - X A| < 1 bound it.
    """
    from scipy.linalg import qr

    K, d = W.shape
    others = np.delete(np.arange(K), excluded)
    sample = np.random.default_rng(0).permutation(others)[: 4 * (d + 1)]
    if len(sample) < d + 1:
        return None
    extended = np.column_stack([W[sample] / scale, np.ones(len(sample))])
    corners = sample[qr(extended.T, mode="r", pivoting=True)[1][: d + 1]]
    A = np.column_stack([W[corners] / scale, np.ones(d + 1)])
    try:
        X = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    rounding = gamma(d + 4) * (np.abs(X) @ np.abs(A)).sum(axis=0).max()
    deviation = float(np.abs(np.eye(d + 1) - X @ A).sum(axis=0).max() + rounding)
    if not deviation < 0.5:
        return None
    return corners, float(np.abs(X).sum(axis=0).max()) * (1.0 + 4.0 * gamma(d + 4)) / (
        1.0 - deviation
    )
