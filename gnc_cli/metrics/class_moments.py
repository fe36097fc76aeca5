"""Counts, means and covariances of classes in one pass, to the digits of two passes.

Sums are taken about a fixed point of each class, its shift: its first row (which then has nothing
to add) or the mean of the rows that came with it. Deviations from a nearby point are exact where
classes have collapsed, and what the shift is off is taken off once, at the end: `sum_i (h_i -
m)(h_i - m)^T = sum_i (h_i - s)(h_i - s)^T - n (m - s)(m - s)^T`. Chan, Golub, LeVeque, "Algorithms
for computing the sample variance", The American Statistician 37 (1983).
"""

from collections.abc import Mapping

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_batch import Batch, BatchSums, ClassGroups
from gnc_cli.numerics.rows import ArrayRows, block_rows, blocks

__all__ = ["ClassMoments"]

_FAR = 8.0
"""A shift moves to the mean when the sum of squares about it is this much too large."""
_MANY = 9
"""Rows of a new class in one batch from which their mean, not the first row, is its shift."""
_FIRST_LOOK = 64
"""Rows of a class before its shift is looked at: fewer cannot cost two digits."""
_IN_CACHE = 256
"""Class sums that are added at a time."""
_CLASSES_AT_ONCE = 2048
"""Class sums that are corrected for at a time, to need no third (K, d) array."""


class ClassMoments:
    """Counts, means and scatter of K classes: one pass, shifted sums in float64, mergeable.

    Memory: two (K, d) arrays and one (d, d). Classes without rows enter no mean.

    Args:
        d: dimension.
        K: number of classes; labels run from 0 to K - 1.
        centres: class means of other data, shape (K, d). `within_cov` and `spread` are then about
            these points instead of the rows' own means.

    Raises:
        DataError: d or K below 1, or the centres have another shape or are not finite.

    Example:
        >>> moments = ClassMoments(d=2, K=3)
        >>> moments.update(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 2]))
        >>> moments.means
        array([[2., 0.],
               [0., 0.],
               [0., 1.]])
        >>> moments.spread()
        array([1., 0., 0.])
    """

    def __init__(self, d: int, K: int, *, centres: np.ndarray | None = None) -> None:
        if d < 1 or K < 1:
            raise DataError(f"d = {d}, K = {K}: class moments need at least 1 of each")
        self.d, self.K = int(d), int(K)
        self.fixed = centres is not None
        """The shifts are centres given from outside, and stay."""
        self.counts: np.ndarray = np.zeros(K, dtype=np.int64)
        """Rows by class, shape (K,)."""
        self.mass: np.ndarray = np.zeros(K)
        """Sums of sample weights by class, shape (K,): the counts, where no weights were used."""
        self.shift: np.ndarray = np.zeros((K, d))
        """What the sums are about, shape (K, d): near the mean of each class seen."""
        self._admitted = np.zeros(K, dtype=bool)
        self._sums = np.zeros((K, d))
        self._squares = np.zeros(K)
        self._scatter = np.zeros((d, d))
        if centres is not None:
            centres = np.array(centres, dtype=np.float64)
            if centres.shape != (K, d) or not np.isfinite(centres).all():
                raise DataError(
                    f"centres have shape {centres.shape}; expected ({K}, {d}), finite rows"
                )
            self.shift = centres

    @classmethod
    def about(cls, shift: np.ndarray, *, fixed: bool = False) -> "ClassMoments":
        """Empty moments whose shifts are these points (K, d), near the means: shared, not copied.

        With `fixed` they are centres, which `within_cov` and `spread` are about.

        Not to be updated, merged or settled, which move shifts: for `admit` and `add` alone.
        """
        moments = cls(shift.shape[1], shift.shape[0])
        moments.shift, moments.fixed = shift, fixed
        moments._admitted[:] = True
        return moments

    # Taking in rows -----------------------------------------------------------------------------

    def update(
        self, features: np.ndarray, labels: np.ndarray, sample_weights: np.ndarray | None = None
    ) -> None:
        """Take in rows.

        Args:
            features: any real dtype, shape (n, d).
            labels: integers, shape (n,); rows of label -1 are left out.
            sample_weights: not negative, shape (n,); a weight of 2 counts as the row given twice,
                and rows of weight 0 are left out.

        Raises:
            DataError: shapes disagree, a label is out of range, or a weight or a feature of a row
                that counts is not finite.
        """
        features, labels = np.asarray(features), np.asarray(labels)
        if features.shape != (len(labels), self.d) or labels.ndim != 1:
            raise DataError(
                f"features have shape {features.shape}, labels {labels.shape}; "
                f"expected (n, {self.d}), (n,)"
            )
        if labels.dtype.kind not in "iu":
            raise DataError(f"labels have dtype {labels.dtype}; expected integers")
        labels = labels.astype(np.int64)
        if len(labels) and not (labels.min() >= -1 and labels.max() < self.K):
            wrong = labels.min() if labels.min() < -1 else labels.max()
            raise DataError(f"label {wrong} is out of range; expected 0 to {self.K - 1}, or -1")
        weights = None
        if sample_weights is not None:
            weights = np.asarray(sample_weights, dtype=np.float64)
            if weights.shape != labels.shape or not (np.isfinite(weights) & (weights >= 0)).all():
                raise DataError(
                    f"sample_weights have shape {weights.shape}; expected {labels.shape}, "
                    "finite and not negative"
                )
        kept = np.flatnonzero(labels >= 0 if weights is None else (labels >= 0) & (weights > 0))
        for start, stop in blocks(len(kept), block_rows(ArrayRows(features))):
            part = kept[start:stop]
            rows = np.asarray(features[part], dtype=np.float64, order="C")
            finite = np.isfinite(rows).all(axis=1)
            if not finite.all():
                row = int(part[np.flatnonzero(~finite)[0]])
                raise DataError(f"features hold NaN or infinity, first in row {row}")
            seen = np.unique(labels[part])
            before = self.counts[seen]
            batch = self.admit(rows, labels[part], None if weights is None else weights[part])
            self.add(batch.sums(self.shift))
            # A class is looked at when its count passes a power of two: log n times, not n times.
            after = self.counts[seen]
            passed = np.frexp(after)[1] > np.frexp(before)[1]
            self.settle(seen[passed & (after >= _FIRST_LOOK)])

    def admit(
        self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
    ) -> Batch:
        """Give the classes that are new in these rows their shift; to be called in order.

        That is the first row, which has then been taken in, or the mean of many rows.

        Args:
            rows: float64, shape (n, d); overwritten.
            labels: all >= 0, shape (n,).
            weights: positive, shape (n,); None for 1.

        Returns:
            The rows that are left to be summed about the shifts.
        """
        new = ~self._admitted[labels]
        if not new.any():
            return Batch(rows, labels, weights)
        groups = ClassGroups(labels)
        new = ~self._admitted[groups.classes]
        self._admitted[groups.classes] = True
        if self.fixed:
            return Batch(rows, labels, weights)
        many = new & (groups.counts >= _MANY)
        if many.any():
            self.shift[groups.classes[many]] = groups.means(rows, many)
        few = new & ~many
        classes, first = groups.classes[few], groups.first[few]
        self.shift[classes] = rows[first]
        self.counts[classes] += 1
        self.mass[classes] += 1.0 if weights is None else weights[first]
        return Batch(rows, labels, weights).without(first)

    def add(self, sums: BatchSums) -> None:
        """Take in the sums about `shift` of a batch that was admitted."""
        groups = sums.groups
        self.counts[groups.classes] += groups.counts
        self.mass[groups.classes] += groups.mass
        self._squares[groups.classes] += sums.squares
        for start, stop in blocks(len(groups.classes), _IN_CACHE):
            self._sums[groups.classes[start:stop]] += sums.sums[start:stop]
        self._scatter += sums.scatter

    def settle(self, classes: np.ndarray | None = None) -> None:
        """Move shifts that turned out far from the mean (an outlier came first) to the mean.

        No sums of a batch may be outstanding.

        Args:
            classes: those to look at; None for all that are large enough.
        """
        if self.fixed:
            return
        if classes is None:
            classes = np.flatnonzero(self.counts >= _FIRST_LOOK)
        if not len(classes):
            return
        mass, sums, squares = self.mass[classes], self._sums[classes], self._squares[classes]
        off = np.einsum("kd,kd->k", sums, sums) / mass
        self._centre(classes[off > _FAR * (squares - off)])

    def _centre(self, classes: np.ndarray) -> None:
        """Shifts of these classes to their means; the sums keep what rounding left over."""
        if not len(classes):
            return
        mass = self.mass[classes, None]
        sums = self._sums[classes]
        off = sums / np.sqrt(mass)
        self._scatter -= off.T @ off
        self._squares[classes] -= np.einsum("kd,kd->k", off, off)
        before = self.shift[classes]
        self.shift[classes] = before + sums / mass
        self._sums[classes] = sums - mass * (self.shift[classes] - before)

    # Putting together ---------------------------------------------------------------------------

    def merge(self, other: "ClassMoments") -> None:
        """Take in the rows that `other` has seen. No answer of `other` changes.

        Raises:
            DataError: d, K or the centres differ.
        """
        if (self.d, self.K, self.fixed) != (other.d, other.K, other.fixed):
            raise DataError(
                f"moments of (d, K) = ({other.d}, {other.K}) cannot join those of "
                f"({self.d}, {self.K}); centres must be given to both or to neither"
            )
        if self.fixed and not np.array_equal(self.shift, other.shift):
            raise DataError("moments about different centres cannot be merged")
        shared = np.flatnonzero(self.present & other.present)
        if self.fixed:
            self._sums += other._sums
        else:
            self._meet(other, shared)
            only = np.flatnonzero(other.present & ~self.present)
            self.shift[only] = other.shift[only]
            self._sums[only] = other._sums[only]
        self._admitted |= other._admitted
        self.counts += other.counts
        self.mass += other.mass
        self._squares += other._squares
        self._scatter += other._scatter

    def _meet(self, other: "ClassMoments", shared: np.ndarray) -> None:
        """Shifts and sums of the shared classes to the joint means; Chan's term to the scatter."""
        self._centre(shared)
        other._centre(shared)
        a, b = self.mass[shared, None], other.mass[shared, None]
        here, there = self.shift[shared], other.shift[shared]
        sums_here, sums_there = self._sums[shared], other._sums[shared]
        # Both scatters are about the exact means by now, shift + sums / mass.
        apart = (there - here) + (sums_there / b - sums_here / a)
        joint = here + apart * (b / (a + b))
        self.shift[shared] = joint
        self._sums[shared] = sums_here + a * (here - joint) + (sums_there + b * (there - joint))
        apart *= np.sqrt(a * b / (a + b))
        self._scatter += apart.T @ apart
        self._squares[shared] += np.einsum("kd,kd->k", apart, apart)

    def state(self) -> dict[str, np.ndarray]:
        """Everything there is to know, as arrays: what processes send each other."""
        return {
            "counts": self.counts, "mass": self.mass, "shift": self.shift, "sums": self._sums,
            "squares": self._squares, "scatter": self._scatter, "fixed": np.array(self.fixed),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, np.ndarray]) -> "ClassMoments":
        """The moments that gave this state; the arrays are copied."""
        K, d = state["shift"].shape
        moments = cls(d, K)
        moments.fixed = bool(state["fixed"])
        moments.counts = np.array(state["counts"], dtype=np.int64)
        moments.mass = np.array(state["mass"], dtype=np.float64)
        moments.shift = np.array(state["shift"], dtype=np.float64)
        moments._sums = np.array(state["sums"], dtype=np.float64)
        moments._squares = np.array(state["squares"], dtype=np.float64)
        moments._scatter = np.array(state["scatter"], dtype=np.float64)
        moments._admitted = moments.mass > 0
        return moments

    # Answers ------------------------------------------------------------------------------------

    @property
    def N(self) -> int:
        """Rows taken in."""
        return int(self.counts.sum())

    @property
    def present(self) -> np.ndarray:
        """Classes with a row, shape (K,), bool."""
        return self.mass > 0

    @property
    def singles(self) -> int:
        """How many classes have exactly one row."""
        return int((self.counts == 1).sum())

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (K, d); zero for absent classes. Computed anew at each call."""
        means = np.empty_like(self.shift)
        for start, stop in blocks(self.K, _CLASSES_AT_ONCE):
            self._some_means(start, stop, means[start:stop])
        return means

    def within_cov(self) -> np.ndarray:
        """Sigma_W, shape (d, d): mean over rows of `(h - m)(h - m)^T`, m the class mean or centre.

        Raises:
            DataError: no row was taken in.
        """
        self._check_any()
        scatter = self._scatter.copy()
        if not self.fixed:
            mass = self._safe_mass()
            for start, stop in blocks(self.K, _CLASSES_AT_ONCE):
                off = self._sums[start:stop] / np.sqrt(mass[start:stop, None])
                scatter -= off.T @ off
        return scatter / self.mass.sum()

    def between_cov(self, centred: bool = False) -> np.ndarray:
        """Sigma_B, shape (d, d): mean over the classes present of `m m^T`.

        Args:
            centred: about the mean of the class means; the paper's is not centred.

        Raises:
            DataError: no row was taken in.
        """
        self._check_any()
        present = self.present
        number = int(present.sum())
        centre = self.means.sum(axis=0) / number if centred else None
        scatter = np.zeros_like(self._scatter)
        for start, stop in blocks(self.K, _CLASSES_AT_ONCE):
            means = self._some_means(start, stop, np.empty((stop - start, self.d)))
            if not present[start:stop].all():
                means = means[present[start:stop]]
            if centre is not None:
                means -= centre
            scatter += means.T @ means
        return scatter / number

    def spread(self) -> np.ndarray:
        """Mean squared distance of a class's rows to its mean (or centre), shape (K,)."""
        mass = self._safe_mass()
        squares = self._squares
        if not self.fixed:
            squares = squares - np.einsum("kd,kd->k", self._sums, self._sums) / mass
        return np.maximum(squares, 0.0) / mass

    def _some_means(self, start: int, stop: int, out: np.ndarray) -> np.ndarray:
        mass = self.mass[start:stop, None]
        np.divide(self._sums[start:stop], np.where(mass > 0, mass, 1.0), out=out)
        out += self.shift[start:stop]
        out[mass[:, 0] <= 0] = 0.0
        return out

    def _safe_mass(self) -> np.ndarray:
        return np.where(self.present, self.mass, 1.0)

    def _check_any(self) -> None:
        if not self.present.any():
            raise DataError("no class has a sample; are all labels -1?")
