"""How much the collapse metrics owe to the draw of the samples: bootstrap intervals.

Each replicate draws, class by class and with replacement, as many samples as the class has, and
measures again: B. Efron, R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. A
replicate is a weight for each row, so that several replicates share one pass over the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import gnc1_from_covariances
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.row_blocks import check_labels, read_block
from gnc_cli.metrics.stream_moments import stream_moments
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.rows import Rows, block_rows, blocks, ordered
from gnc_cli.numerics.sphere import normalise
from gnc_cli.results import BootstrapIntervals, Bracket

__all__ = ["bootstrap"]

_PASS_BYTES = 256 << 20
"""Sums and weights of the replicates that share a pass."""


def bootstrap(
    rows: Rows,
    labels: np.ndarray,
    K: int,
    W: np.ndarray | None = None,
    right: np.ndarray | None = None,
    ncc_right: np.ndarray | None = None,
    *,
    replicates: int,
    seed: int,
    level: float = 0.95,
    unit: bool = True,
    whole: ClassMoments | None = None,
    means_of: ClassMoments | None = None,
    where: str = "features",
    block: int | None = None,
    workers: int = 1,
    deadline: Deadline | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> BootstrapIntervals:
    """Percentile intervals of GNC1, GNC3, NCC accuracy and accuracy.

    Drawing again leaves a class of n samples with (1 - 1/n) of its spread on average. The
    replicates of GNC1 are therefore scaled so that their mean is the GNC1 measured: the interval
    says how far another sample of this size may fall from it. About the means of other data nothing
    of the spread is lost, and nothing is scaled.

    The same seed gives the same intervals, whatever the number of workers. With several workers,
    hold BLAS to one thread around this.

    Args:
        rows: features, shape (N, d).
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        K: number of classes.
        W: class weights, shape (K, d), scaled to norm 1 here where `unit`; None for no GNC3.
        right: samples of each class that the classifier gets right, shape (K,); None if unknown.
        ncc_right: samples nearest to their own class mean, shape (K,), the means being held fixed.
        replicates: how many.
        seed: replicate b draws from `SeedSequence(seed).spawn(replicates)[b]`.
        level: share of the replicates within the interval.
        unit: scale the rows to norm 1.
        whole: moments of the rows, where known already; it saves a pass over them.
        means_of: moments of other data in the same space, shape (K, d), whose class means count
            (`--means-from`): GNC1 is then about these means, with their Sigma_B and their number
            of classes. GNC3 stays on the means of the rows drawn.
        where: names the rows in messages.
        block: rows to read at a time.
        workers: threads.
        deadline: looked at after each block.
        progress: called as progress("bootstrap", replicates done, replicates, share done).

    Raises:
        UsageError: no replicate, or a level that is not between 0 and 1.
        DataError: as `stream_moments`.
        TimeoutError: the deadline came first.
    """
    if replicates < 1 or not 0.0 < level < 1.0:
        raise UsageError(
            f"bootstrap with {replicates} replicates at level {level}; "
            "expected at least 1 and a level between 0 and 1"
        )
    check_labels(labels, rows.shape[0], K)
    space = "unit" if unit else "raw"
    counts = np.bincount(labels[labels >= 0], minlength=K)
    present = counts > 0
    measured = None
    if means_of is None:
        if whole is None:
            whole = stream_moments(
                rows, labels, K, spaces=(space,), where=where, block=block, workers=workers,
                deadline=deadline,
            ).moments[space]  # fmt: skip
        measured, centres = _gnc1(whole, whole), whole.means
    else:
        centres = means_of.means
    weights = None
    if W is not None:
        weights = normalise(W[present]) if unit else np.asarray(W, dtype=np.float64)[present]
    draws = _Draws(labels, counts)
    measure = partial(
        _measure, between=means_of, weights=weights, right=right, ncc_right=ncc_right
    )
    seeds = np.random.SeedSequence(seed).spawn(replicates)
    step, N = block_rows(rows, block), rows.shape[0]
    found: list[_Replicate] = []
    for first, last in blocks(replicates, _together(rows.shape, K, replicates)):
        generators = [np.random.default_rng(each) for each in seeds[first:last]]
        times = [draws.draw(rng) for rng in generators]
        about = partial(ClassMoments.about, centres, fixed=means_of is not None)
        moments = [about() for _ in generators]
        reads = (
            partial(read_block, rows, labels, (space,), where, a, b) for a, b in blocks(N, step)
        )
        for place, part in enumerate(ordered(reads, 1)):
            start = place * step
            additions = (
                partial(_add, m, part.rows[space], part.labels, t[start : start + step][part.kept])
                for m, t in zip(moments, times, strict=True)
            )
            # Each replicate belongs to one thread at a time and sees the blocks in order.
            for _ in ordered(additions, workers):
                pass
            if deadline is not None and deadline.expired:
                raise TimeoutError(f"bootstrap: stopped after {first} of {replicates} replicates")
        made = (partial(measure, *pair) for pair in zip(moments, generators, strict=True))
        found.extend(ordered(made, workers))
        if progress is not None:
            progress("bootstrap", last, replicates, last / replicates)
    gnc1 = [each.gnc1 for each in found]
    return BootstrapIntervals(
        replicates=replicates,
        level=level,
        gnc1=_interval(gnc1 if measured is None else _around(measured, gnc1), level),
        gnc3=_interval([each.gnc3 for each in found], level),
        ncc_accuracy=_interval([each.ncc_accuracy for each in found], level),
        accuracy=_interval([each.accuracy for each in found], level),
    )


@dataclass(frozen=True)
class _Replicate:
    """What one replicate measures."""

    gnc1: float
    gnc3: float | None
    ncc_accuracy: float | None
    accuracy: float | None


class _Draws:
    """Draws samples again within their classes."""

    def __init__(self, labels: np.ndarray, counts: np.ndarray) -> None:
        self._N = len(labels)
        # Rows grouped by class; those of label -1 come first and are cut off.
        self._order = np.argsort(labels, kind="stable")[self._N - int(counts.sum()) :]
        self._starts = np.repeat(np.cumsum(counts) - counts, counts)
        self._sizes = np.repeat(counts, counts)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """How often each row is drawn, shape (N,)."""
        taken = self._starts + rng.integers(0, self._sizes)
        times = np.zeros(self._N, dtype=np.uint16)
        times[self._order] = np.bincount(taken, minlength=len(self._order))
        return times


def _together(shape: tuple[int, int], K: int, replicates: int) -> int:
    """How many replicates share a pass over the rows."""
    N, d = shape
    return max(1, min(replicates, _PASS_BYTES // (8 * d * (K + d) + 2 * N)))


def _add(moments: ClassMoments, rows: np.ndarray, labels: np.ndarray, times: np.ndarray) -> None:
    drawn = np.flatnonzero(times)
    if drawn.size:
        batch = moments.admit(rows[drawn], labels[drawn], times[drawn].astype(np.float64))
        moments.add(batch.sums(moments.shift))


def _measure(
    moments: ClassMoments,
    rng: np.random.Generator,
    between: ClassMoments | None,
    weights: np.ndarray | None,
    right: np.ndarray | None,
    ncc_right: np.ndarray | None,
) -> _Replicate:
    present = moments.present
    counts = np.rint(moments.mass).astype(np.int64)
    return _Replicate(
        gnc1=_gnc1(moments, between or moments),
        gnc3=None if weights is None else gnc3(weights, moments.means[present]),
        ncc_accuracy=_share(ncc_right, counts, rng),
        accuracy=_share(right, counts, rng),
    )


def _gnc1(moments: ClassMoments, between: ClassMoments) -> float:
    """Spread of `moments` against the class means of `between`."""
    return gnc1_from_covariances(
        moments.within_cov(), between.between_cov(), int(between.present.sum())
    ).value


def _share(right: np.ndarray | None, counts: np.ndarray, rng: np.random.Generator) -> float | None:
    """Share of right samples among those drawn again: of n_k draws each is right with its share."""
    if right is None:
        return None
    drawn = rng.binomial(counts, right / np.maximum(counts, 1))
    return int(drawn.sum()) / int(counts.sum())


def _around(measured: float, values: Sequence[float]) -> list[float]:
    """Values of a positive quantity, scaled to the mean that was measured."""
    mean = sum(values) / len(values)
    return [value * measured / mean if mean > 0.0 else value for value in values]


def _interval(values: Sequence[float | None], level: float) -> Bracket | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    lower, upper = np.quantile(known, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Bracket(float(lower), float(upper))
