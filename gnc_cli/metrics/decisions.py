"""What the classifier and the nearest class mean decide on every sample, class by class.

Accuracy, nearest-class-mean accuracy (NCC), the same with the sample left out, their agreement and
the one-vs-rest margins, in one pass. All decisions are those of float64, at the price of float32
products: see `numerics/screened.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.classifier import Classifier
from gnc_cli.metrics.nearest_mean import NearestMean
from gnc_cli.metrics.row_blocks import check_labels
from gnc_cli.metrics.scored_block import ScoredBlock
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.rows import Rows, block_rows, blocks, ordered

__all__ = ["Decisions", "merge", "stream_decisions"]

_BY_CLASS = (
    "right", "ncc_right", "loo_right", "loo_counted", "positive", "margin_min", "margin_sum",
)  # fmt: skip
"""What may be None of a record."""
_GRID = 2.0**32
"""Margins are added up in multiples of its inverse, 2.3e-10: sums are then exact in any order."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Counts by class, int64, shape (K,); None where it was not asked or could not be known."""

    counted: np.ndarray
    """Samples looked at."""
    right: np.ndarray | None
    """The largest logit is that of the label, the first of ties."""
    ncc_right: np.ndarray | None
    """The nearest class mean is that of the label, the first of ties."""
    loo_right: np.ndarray | None
    """Likewise with the sample left out of its class's mean."""
    loo_counted: np.ndarray | None
    """Samples of classes that have a mean without them."""
    agree: int | None
    """Samples on which the classifier and the nearest mean name the same class."""
    positive: np.ndarray | None
    """Samples with a one-vs-rest margin above 0, unit features and unit weights."""
    margin_min: np.ndarray | None
    """Smallest margin, float64; infinite for classes without samples."""
    margin_sum: np.ndarray | None
    """Sum of the margins, float64; each margin is off by at most 1.2e-10 in it, no more."""
    rechecked: int
    """Samples decided again in float64."""


def merge(a: Decisions, b: Decisions) -> Decisions:
    """Decisions on two sets of samples together, exactly those of one pass over both."""

    def both(name: str) -> np.ndarray | None:
        x, y = getattr(a, name), getattr(b, name)
        if x is None or y is None:
            return None
        return np.minimum(x, y) if name == "margin_min" else x + y

    agree = None if a.agree is None or b.agree is None else a.agree + b.agree
    return Decisions(
        counted=a.counted + b.counted,
        **{name: both(name) for name in _BY_CLASS},
        agree=agree,
        rechecked=a.rechecked + b.rechecked,
    )


def stream_decisions(
    rows: Rows | None,
    labels: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    logits: Rows | None = None,
    means: np.ndarray | None = None,
    present: np.ndarray | None = None,
    own_counts: np.ndarray | None = None,
    unit: bool = True,
    where: str = "features",
    logits_where: str = "logits",
    block: int | None = None,
    workers: int = 1,
    span: tuple[int, int] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> Decisions:
    """Decide on every sample whose label is not -1.

    With several workers, hold BLAS to one thread around this (`limit_threads(1)`). The answer does
    not depend on their number. Memory beside the arguments: a float32 copy of weights and means,
    and some 40 MB a worker (at K = 10^6 some 200 MB).

    Args:
        rows: features as stored, shape (N, d); None where logits alone are looked at.
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        weights: raw, shape (K, d), float64; with them accuracy (unless there are logits) and
            margins are known.
        bias: shape (K,), float64.
        logits: shape (N, K); they alone then decide what the classifier says.
        means: class means in the space that `unit` says, shape (K, d), float64.
        present: classes that have a mean, shape (K,), bool; None for all.
        own_counts: samples of each class, shape (K,), where the means are the samples' own: then
            the leave-one-out counts are known.
        unit: nearest means of unit rows; False: of raw rows. Logits always take raw rows.
        where: names the rows in messages, as `'f.h5': dataset 'features'`.
        logits_where: likewise the logits.
        block: rows to read at a time; None for about 8 MB as float64.
        workers: threads.
        span: only the rows from start to stop.
        deadline: looked at after each block.
        progress: called as progress("decisions", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, where `unit`, zero; a logit is NaN; shapes
            or labels do not fit.
        TimeoutError: the deadline came first.

    Example:
        >>> from gnc_cli.numerics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.9]])
        >>> found = stream_decisions(ArrayRows(features), np.array([0, 1, 1]), weights=np.eye(2))
        >>> found.right, found.margin_min.round(3)
        (array([1, 1]), array([ 1.   , -0.074]))
    """
    K = _class_count(rows, labels, weights, logits, means)
    check_labels(labels, len(labels), K)
    judge = _Judge(
        K,
        labels,
        rows,
        logits,
        None if weights is None else Classifier(weights, bias),
        None if means is None else NearestMean(means, present, own_counts, unit),
        unit,
        where,
        logits_where,
    )
    source = logits if rows is None else rows
    assert source is not None
    first, end = span or (0, len(labels))
    step, total, done = block_rows(source, block), judge.nothing(), 0
    jobs = (partial(judge, first + a, first + b) for a, b in blocks(end - first, step))
    for found in ordered(jobs, workers):
        total = merge(total, found)
        done = min(done + step, end - first)
        if progress is not None:
            progress("decisions", done, end - first, done / (end - first))
        if deadline is not None and deadline.expired:
            raise TimeoutError(f"{where}: stopped after {done} of {end - first} rows")
    return total


def _class_count(
    rows: Rows | None,
    labels: np.ndarray,
    weights: np.ndarray | None,
    logits: Rows | None,
    means: np.ndarray | None,
) -> int:
    """K, once all shapes agree."""
    matrices = {"features": rows, "weights": weights, "means": means, "logits": logits}
    shapes = {name: tuple(m.shape) for name, m in matrices.items() if m is not None}
    N = {len(labels)} | {shapes[name][0] for name in ("features", "logits") if name in shapes}
    d = {shapes[name][1] for name in ("features", "weights", "means") if name in shapes}
    K = {shapes[name][0] for name in ("weights", "means") if name in shapes}
    K |= {shapes["logits"][1]} if logits is not None else set()
    if len(N) > 1 or len(d) > 1 or len(K) != 1 or (d and rows is None):
        told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise DataError(
            f"shapes disagree: {len(labels)} labels, {told}; expected features (N, d), weights and "
            "means (K, d), logits (N, K)"
        )
    return int(K.pop())


@dataclass(frozen=True, eq=False)
class _Judge:
    """Decides on blocks of samples; any thread."""

    K: int
    labels: np.ndarray
    rows: Rows | None
    logits: Rows | None
    classifier: Classifier | None
    nearest: NearestMean | None
    unit: bool
    where: str
    logits_where: str

    def __call__(self, start: int, stop: int) -> Decisions:
        labels = self.labels[start:stop]
        kept = labels >= 0
        again = np.zeros(int(kept.sum()), dtype=bool)
        called = nearest = loo = loo_counted = margins = None
        if self.rows is not None:
            block = ScoredBlock.read(self.rows, self.labels, self.unit, self.where, start, stop)
            if self.classifier is not None:
                told = self.classifier.names(block)
                called, margins, again = told.names, told.margins, again | told.again
            if self.nearest is not None:
                near = self.nearest.names(block)
                nearest, again = near.names, again | near.again
                loo, loo_counted = near.loo_right, near.loo_counted
        if self.logits is not None:
            called = self._largest_logits(start, stop, kept)
        return self._counted(labels[kept], called, nearest, loo, loo_counted, margins, again)

    def nothing(self) -> Decisions:
        """What a block without samples would give; nothing is read."""
        none, unsaid = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        told = none if self.rows is not None and self.classifier is not None else None
        near = none if self.nearest is not None else None
        by_own = self.nearest is not None and self.nearest.own_counts is not None
        left_out = unsaid if by_own else None
        called = none if self.logits is not None else told
        return self._counted(none, called, near, left_out, left_out, told, unsaid)

    def _counted(
        self,
        y: np.ndarray,
        called: np.ndarray | None,
        nearest: np.ndarray | None,
        loo: np.ndarray | None,
        loo_counted: np.ndarray | None,
        margins: np.ndarray | None,
        again: np.ndarray,
    ) -> Decisions:
        """Counts by class of samples with labels y, shape (B,); all arguments likewise."""

        def count(which: np.ndarray | None) -> np.ndarray | None:
            return None if which is None else np.bincount(y[which], minlength=self.K)

        lowest = total = None
        if margins is not None:
            lowest = np.full(self.K, np.inf)
            np.minimum.at(lowest, y, margins)
            total = np.bincount(y, np.rint(margins * _GRID), self.K) / _GRID
        agree = None
        if called is not None and nearest is not None:
            agree = int(np.count_nonzero(called == nearest))
        return Decisions(
            counted=np.bincount(y, minlength=self.K),
            right=count(None if called is None else called == y),
            ncc_right=count(None if nearest is None else nearest == y),
            loo_right=count(loo),
            loo_counted=count(loo_counted),
            agree=agree,
            positive=count(None if margins is None else margins > 0.0),
            margin_min=lowest,
            margin_sum=total,
            rechecked=int(again.sum()),
        )

    def _largest_logits(self, start: int, stop: int, kept: np.ndarray) -> np.ndarray:
        """Column of each kept row's largest logit, the first of ties."""
        assert self.logits is not None
        logits = self.logits.read(start, stop)[kept]
        if logits.dtype == np.float16:  # compared slowly by NumPy
            logits = logits.astype(np.float32)
        at = logits.argmax(axis=1)
        # NaN counts as the largest, so the largest tells of all.
        bad = ~np.isfinite(logits[np.arange(len(at)), at])
        if bad.any():
            index = np.arange(start, stop)[kept]
            raise DataError(
                f"{self.logits_where} holds NaN or infinity: {bad.sum()} of rows {index[0]} to "
                f"{index[-1]}, first row {index[bad][0]}; mend or remove it"
            )
        return at
