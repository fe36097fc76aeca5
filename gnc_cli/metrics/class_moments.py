"""Counts, means and covariances of classes in one pass, to the digits of two passes.

`ClassMoments` takes arrays; `stream_moments` reads rows that may be larger than memory, every core
busy. Its answer does not depend on the number of workers, to the last bit: sums of blocks are
joined in order, and worker threads multiply the steps between their means.

The rows of a block are summed about the means of their classes in that block, and joined to the
sums so far by the pairwise rule, in which nothing cancels: `M = M_a + M_b + n_a n_b / (n_a + n_b)
(m_b - m_a)(m_b - m_a)^T`. Chan, Golub, LeVeque, "Algorithms for computing the sample variance", The
American Statistician 37 (1983). Means are kept as a row of the class and a small offset from it:
differences of rows are exact where classes have collapsed, and so are those of such means.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.rows import (
    ONE_THREAD,
    ArrayRows,
    Pass,
    Rows,
    block_rows,
    blocks,
    check_labels,
    ordered,
    read_by_class,
)

_ROWS_AT_ONCE = 256
"""Rows whose deviations are taken at a time, so that they are still in the cache."""
_ROWS_PER_CLASS = 16
"""Average number of rows per class of a block: joining a class costs as much as a row."""


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Sums by class over some rows, of the c classes that occur."""

    classes: np.ndarray
    """Classes that occur, ascending, shape (c,)."""
    counts: np.ndarray
    """Number of rows of each class, shape (c,)."""
    shifts: np.ndarray
    """A row of each class, or its given centre, shape (c, d)."""
    offsets: np.ndarray
    """Class means less `shifts`, shape (c, d)."""
    squares: np.ndarray
    """Sums of squared distances to the mean or centre of the class, shape (c,)."""
    scatter: np.ndarray
    """`D^T D` of all deviations from the mean or centre of the class, shape (d, d)."""


class ClassMoments:
    """Counts, means and scatter of K classes in float64; mergeable.

    Memory: two (K, d) arrays and one (d, d). Classes without rows enter no mean.

    Args:
        d: dimension.
        K: number of classes; labels run from 0 to K - 1.
        centres: class means of other data, shape (K, d). `within_cov` and `spread` are then about
            these points instead of the rows' own means.

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
        self.d, self.K, self.centres = int(d), int(K), centres
        self.counts: np.ndarray = np.zeros(K, dtype=np.int64)
        """Number of rows of each class, shape (K,)."""
        self.shifts: np.ndarray = np.zeros((K, d)) if self.centres is None else self.centres
        """The first row of each class, or its centre, shape (K, d)."""
        self.offsets: np.ndarray = np.zeros((K, d))
        """Class means less `shifts`, shape (K, d)."""
        self.squares: np.ndarray = np.zeros(K)
        """Sums of squared distances to the class mean (or centre), shape (K,)."""
        self.scatter: np.ndarray = np.zeros((d, d))
        """Sum over rows of `(h - m)(h - m)^T`, m the class mean (or centre), shape (d, d)."""

    @classmethod
    def from_buffer(cls, buffer: np.ndarray, d: int, K: int) -> "ClassMoments":
        """Return moments whose sums are views of a buffer, so that updates write into it.

        Args:
            buffer: float64, all zero, shape (size(d, K),). Counts are whole numbers of that type.
            d: dimension.
            K: number of classes.
        """
        moments = cls(0, 0)
        moments.d, moments.K = d, K
        moments.counts, shifts, offsets, moments.squares, scatter = np.split(
            buffer, np.cumsum([K, K * d, K * d, K])
        )
        moments.shifts, moments.offsets = shifts.reshape(K, d), offsets.reshape(K, d)
        moments.scatter = scatter.reshape(d, d)
        return moments

    @staticmethod
    def size(d: int, K: int) -> int:
        """Return the number of values in all sums."""
        return 2 * K * (d + 1) + d * d

    def update(self, features: np.ndarray, labels: np.ndarray, workers: int = 1) -> None:
        """Take in labelled rows; the sums do not depend on the number of threads.

        Args:
            features: finite, of any real dtype, shape (n, d).
            labels: below K, shape (n,); rows of label -1 are left out.
            workers: number of threads.
        """
        order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]

        def sums_of(start: int, stop: int) -> ClassSums:
            part = order[start:stop]
            rows = np.asarray(features[part], dtype=np.float64, order="C")
            scatter = np.zeros((self.d, self.d))
            return class_sums(rows, labels[part].astype(np.int64), self.centres, scatter)

        spans = blocks(len(order), block_rows(ArrayRows(features)))
        jobs = (partial(sums_of, *span) for span in spans)
        # No thread is started for the batches of a training loop.
        for sums in ordered(jobs, workers) if workers > 1 else (job() for job in jobs):
            self._add(sums)

    def _add(self, sums: ClassSums) -> None:
        """Take in the sums over other rows."""
        steps = self.join(sums)
        self.scatter += sums.scatter + steps.T @ steps

    def join(self, sums: ClassSums) -> np.ndarray:
        """Take in the sums over other rows, except the scatter.

        The caller adds `sums.scatter + steps.T @ steps` to it, since streams compute that in other
        threads.

        Returns:
            Steps between old and new means, shape (m, d).
        """
        counts = self.counts[sums.classes]
        present = counts > 0
        self.counts[sums.classes] += sums.counts
        self.squares[sums.classes] += sums.squares
        if self.centres is None:
            self.shifts[sums.classes[~present]] = sums.shifts[~present]
        share = sums.counts / (counts + sums.counts)
        steps = np.empty_like(sums.offsets)
        for start, stop in blocks(len(steps), _ROWS_AT_ONCE):
            part, classes = steps[start:stop], sums.classes[start:stop]
            np.subtract(sums.shifts[start:stop], self.shifts.take(classes, axis=0), out=part)
            part += sums.offsets[start:stop]
            offsets = self.offsets.take(classes, axis=0)
            part -= offsets
            offsets += part * share[start:stop, None]
            self.offsets[classes] = offsets
            part *= np.sqrt(counts * share)[start:stop, None]
        if self.centres is not None:
            return steps[:0]
        self.squares[sums.classes] += np.einsum("kd,kd->k", steps, steps)
        return steps if present.all() else steps[present]

    def merge(self, other: "ClassMoments") -> None:
        """Take in the rows that `other` has seen, of the same d, K and centres."""
        present = np.flatnonzero(other.present)
        counts, squares = other.counts[present].astype(np.int64), other.squares[present]
        shifts, offsets = other.shifts[present], other.offsets[present]
        self._add(ClassSums(present, counts, shifts, offsets, squares, other.scatter))

    def joined(self, other: "ClassMoments") -> "ClassMoments":
        """Take in the rows of `other` as `merge` does, and return these moments."""
        self.merge(other)
        return self

    def copy(self) -> "ClassMoments":
        """Return the same moments, independent of these."""
        return deepcopy(self)

    @property
    def N(self) -> int:
        """Number of rows taken in."""
        return int(self.counts.sum())

    @property
    def present(self) -> np.ndarray:
        """Classes with a row, shape (K,), bool."""
        return np.asarray(self.counts > 0)

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (K, d); zero for absent classes. Computed again at each call."""
        means: np.ndarray = self.shifts + self.offsets
        if self.centres is not None:
            means[~self.present] = 0.0
        return means

    def within_cov(self) -> np.ndarray:
        """Return Sigma_W, shape (d, d), with each class about its mean or centre m.

        It is the mean over rows of `(h - m)(h - m)^T`.

        Raises:
            DataError: no row was taken in.
        """
        if not self.N:
            raise DataError("no class has a sample; are all labels -1?")
        return np.asarray(self.scatter / self.N)

    @property
    def has_spread(self) -> bool:
        """True if a class has a second row, or centres are given."""
        return self.centres is not None or bool((self.counts > 1).any())

    def spread(self) -> np.ndarray:
        """Return the mean squared distance of each class's rows to its mean or centre, (K,)."""
        return np.asarray(self.squares / np.maximum(self.counts, 1))


def class_sums(
    rows: np.ndarray, labels: np.ndarray, centres: np.ndarray | None, scatter: np.ndarray
) -> ClassSums:
    """Return sums of rows about the means or centres of their classes.

    Args:
        rows: finite float64, shape (n, d); overwritten.
        labels: classes of the rows, ascending, all >= 0, shape (n,).
        centres: a point for each of all classes, shape (K, d); None for the means of these rows.
        scatter: sum over other classes, shape (d, d), to which that of these is added in place.
    """
    first = np.flatnonzero(np.diff(labels, prepend=-1))
    classes, counts = labels[first], np.diff(first, append=len(labels))
    place = np.repeat(np.arange(len(classes)), counts)
    shifts = rows[first] if centres is None else centres[classes]
    _subtract(rows, shifts, place)
    offsets = np.empty_like(shifts)
    # A call per class takes less time than a sparse product or `np.add.reduceat`.
    for offset, start, count in zip(offsets, first.tolist(), counts.tolist(), strict=True):
        np.add.reduce(rows[start : start + count], axis=0, out=offset)
    offsets /= counts[:, None]
    if centres is None:
        plural = counts[place] > 1
        if not plural.all():  # a row alone in its class is its mean
            rows, place = rows[plural], place[plural]
        _subtract(rows, offsets, place)
    distances = np.einsum("nd,nd->n", rows, rows)
    squares = np.bincount(place, distances, minlength=len(classes))
    scatter += rows.T @ rows
    return ClassSums(classes, counts, shifts, offsets, squares, scatter)


def _subtract(rows: np.ndarray, points: np.ndarray, place: np.ndarray) -> None:
    """Subtract `points[place]` from rows, in place and within the cache."""
    for start, stop in blocks(len(rows), _ROWS_AT_ONCE):
        rows[start:stop] -= points.take(place[start:stop], axis=0)


def centred(means: np.ndarray) -> np.ndarray:
    """Return `M_k = m_k - m_G`, m_G the plain mean of the class means, each class counting once.

    Args:
        means: means of the classes present, shape (P, d).

    Returns:
        float64, shape (P, d). A row no longer than the rounding of the means is exactly zero: its
        direction would be noise.

    Example:
        >>> centred(np.array([[1.0, 0.0], [3.0, 4.0]]))
        array([[-1., -2.],
               [ 1.,  2.]])
    """
    if not len(means):
        return means
    M = np.asarray(means - means.mean(axis=0))
    M[np.einsum("kd,kd->k", M, M) <= rounding_of(means) ** 2] = 0.0
    return M


def rounding_of(means: np.ndarray) -> float:
    """Return the length below which differences of these rows, (P, d), are rounding alone."""
    largest = np.sqrt(np.einsum("kd,kd->k", means, means).max(initial=0.0))
    return float(16.0 * np.finfo(np.float64).eps * largest)


def stream_moments(
    sets: Sequence[Rows],
    labels: np.ndarray,
    K: int,
    spaces: Sequence[str],
    centres: Sequence[Mapping[str, np.ndarray]],
    names: Sequence[str],
    reading: Pass = ONE_THREAD,
) -> list[dict[str, ClassMoments]]:
    """Return class moments of sets of rows of the same N samples, by set and space, in one pass.

    Each block is read of all sets, one after the other, in one thread. The answer does not depend
    on the number of workers.

    Args:
        sets: rows, shape (N, d) each, any real dtype; the widest last.
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        K: number of classes.
        spaces: "unit" (rows scaled to norm 1), "raw" or both.
        centres: for each set, by space, class means of other data, shape (K, d), if there are any:
            see `ClassMoments`.
        names: of the rows of each set in messages, as `'f.h5': dataset 'features'`.
        reading: pass over the widest rows; progress("moments", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero; labels do not fit.
        TimeoutError: the deadline expired first.

    Example:
        >>> from gnc_cli.metrics.rows import ArrayRows
        >>> rows = ArrayRows(np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 5.0]]))
        >>> (moments,) = stream_moments([rows], np.array([0, 1, 1]), 2, ["unit"], [{}], ["rows"])
        >>> moments["unit"].means
        array([[1., 0.],
               [0., 1.]])
    """
    check_labels(labels, sets[-1].shape[0], K)
    moments = {
        (index, space): ClassMoments(rows.shape[1], K, centres=centres[index].get(space))
        for index, rows in enumerate(sets)
        for space in spaces
    }
    spans = reading.spans(sets[-1], _ROWS_PER_CLASS * K)
    jobs = (partial(_block_sums, sets, labels, spaces, moments, names, *span) for span in spans)
    joined = ordered(_joined(ordered(jobs, reading.workers), moments), reading.workers)
    for scatters in reading.watched(joined, spans, "moments", names[-1]):
        for key, scatter in scatters.items():
            moments[key].scatter += scatter
    return [{space: moments[index, space] for space in spaces} for index in range(len(sets))]


_Key = tuple[int, str]
"""Index of a set of rows, and a space."""


def _block_sums(
    sets: Sequence[Rows],
    labels: np.ndarray,
    spaces: Sequence[str],
    moments: Mapping[_Key, ClassMoments],
    names: Sequence[str],
    start: int,
    stop: int,
) -> dict[_Key, list[ClassSums]]:
    """Return the sums of one block by set and space.

    They come in parts of different classes, which have one scatter.
    """
    sums: dict[_Key, list[ClassSums]] = {}
    for index, rows in enumerate(sets):
        scatters = {space: np.zeros((rows.shape[1], rows.shape[1])) for space in spaces}
        for block in read_by_class(rows, labels, spaces, names[index], start, stop):
            for space, X in block.rows.items():
                centres = moments[index, space].centres
                part = class_sums(X, block.labels, centres, scatters[space])
                sums.setdefault((index, space), []).append(part)
    return sums


def _joined(
    ready: Iterable[dict[_Key, list[ClassSums]]], moments: Mapping[_Key, ClassMoments]
) -> Iterator[Callable[[], dict[_Key, np.ndarray]]]:
    """Join the sums of each block, in order, and yield the products that remain to be done."""
    for sums in ready:
        steps = {key: [moments[key].join(part) for part in parts] for key, parts in sums.items()}
        yield partial(_scatters, {key: (sums[key][0].scatter, steps[key]) for key in sums})


def _scatters(
    parts: Mapping[_Key, tuple[np.ndarray, list[np.ndarray]]],
) -> dict[_Key, np.ndarray]:
    joined = {key: np.concatenate(steps) for key, (_, steps) in parts.items()}
    return {key: S + joined[key].T @ joined[key] for key, (S, _) in parts.items()}
