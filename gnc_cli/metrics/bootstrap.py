"""How much the collapse metrics owe to the draw of the samples: bootstrap intervals.

Each replicate draws, class by class and with replacement, as many samples as the class has, and
measures again: B. Efron, R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. A
replicate is a weight for each row, so that several replicates share one pass over the rows.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import ClassMoments, by_class
from gnc_cli.metrics.gnc1 import gnc1_forms
from gnc_cli.metrics.gnc3 import gnc3_forms
from gnc_cli.metrics.records import BootstrapIntervals
from gnc_cli.metrics.rows import Rows, block_rows, blocks, check_labels, ordered, read_block
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline

_PASS_BYTES = 256 << 20
"""Sums and weights of the replicates that share a pass."""


def bootstrap(
    rows: Rows,
    labels: np.ndarray,
    moments: ClassMoments,
    W: np.ndarray | None = None,
    right: np.ndarray | None = None,
    ncc_right: np.ndarray | None = None,
    *,
    replicates: int,
    seed: int,
    level: float = 0.95,
    unit: bool = True,
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
        moments: of these rows, K classes.
        W: class weights, shape (K, d), scaled to norm 1 here where `unit`; None for no GNC3.
        right: samples of each class that the classifier gets right, shape (K,); None if unknown.
        ncc_right: samples nearest to their own class mean, shape (K,), the means being held fixed.
        replicates: how many.
        seed: replicate b draws from `SeedSequence(seed).spawn(replicates)[b]`.
        level: share of the replicates within the interval.
        unit: scale the rows to norm 1.
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
        DataError: a row that counts is not finite or, where `unit`, zero; labels do not fit.
        TimeoutError: the deadline came first.
    """
    if replicates < 1 or not 0.0 < level < 1.0:
        raise UsageError(
            f"bootstrap with {replicates} replicates at level {level}; "
            "expected at least 1 and a level between 0 and 1"
        )
    check_labels(labels, rows.shape[0], moments.K)
    space, counts, present = "unit" if unit else "raw", moments.counts, moments.present
    if W is not None:
        W = normalise(W[present]) if unit else np.asarray(W, dtype=np.float64)[present]
    centres = (means_of or moments).means
    between = None if means_of is None else centres[means_of.present]
    draws = _Draws(labels, counts)
    measure = partial(
        _measure, counts=counts, between=between, W=W, right=right, ncc_right=ncc_right
    )
    seeds = np.random.SeedSequence(seed).spawn(replicates)
    step, N = block_rows(rows, block), rows.shape[0]
    found: list[dict[str, float | None]] = []
    d, K = rows.shape[1], moments.K
    together = _PASS_BYTES // (8 * d * (K + d) + 2 * N)
    for first, last in blocks(replicates, max(1, min(replicates, together))):
        generators = [np.random.default_rng(each) for each in seeds[first:last]]
        sums = [_Resample(draws.draw(rng), centres) for rng in generators]
        reads = (
            partial(read_block, rows, labels, (space,), where, a, b) for a, b in blocks(N, step)
        )
        for place, part in enumerate(ordered(reads, 1)):
            deviations = part.rows[space]
            deviations -= centres[part.labels]
            at = np.arange(place * step, min(N, (place + 1) * step))[part.kept]
            # Each replicate belongs to one thread at a time and sees the blocks in order.
            for _ in ordered((partial(s.add, deviations, part.labels, at) for s in sums), workers):
                pass
            if deadline is not None and deadline.expired:
                raise TimeoutError(f"bootstrap: stopped after {first} of {replicates} replicates")
        made = (partial(measure, *pair) for pair in zip(sums, generators, strict=True))
        found.extend(ordered(made, workers))
        if progress is not None:
            progress("bootstrap", last, replicates, last / replicates)
    if means_of is None:
        for name, measured in _gnc1(moments.within_cov(), centres[present]).items():
            mean = sum(each[name] or 0.0 for each in found) / replicates
            for each in found if mean > 0.0 else ():
                each[name] = (each[name] or 0.0) * (measured or 0.0) / mean
    ends = {name: _interval([each[name] for each in found], level) for name in found[0]}
    return BootstrapIntervals(replicates=replicates, level=level, **ends)


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


class _Resample:
    """Sums over the rows of one replicate, each as often as it is drawn, about fixed points."""

    def __init__(self, times: np.ndarray, centres: np.ndarray) -> None:
        self._times, self.centres = times, centres
        self.sums = np.zeros(centres.shape)
        """Sums of deviations by class, shape (K, d)."""
        self.scatter = np.zeros((centres.shape[1],) * 2)
        """Sum of their outer products, shape (d, d)."""

    def add(self, deviations: np.ndarray, labels: np.ndarray, at: np.ndarray) -> None:
        """Take in the deviations (n, d) of rows `at`; they are left as they were."""
        times = self._times[at]
        drawn = np.flatnonzero(times)
        D, weights = deviations[drawn], times[drawn].astype(np.float64)
        classes, _, pick = by_class(labels[drawn], weights)
        self.sums[classes] += pick @ D
        D *= np.sqrt(weights)[:, None]
        self.scatter += D.T @ D


def _measure(
    resample: _Resample,
    rng: np.random.Generator,
    counts: np.ndarray,
    between: np.ndarray | None,
    W: np.ndarray | None,
    right: np.ndarray | None,
    ncc_right: np.ndarray | None,
) -> dict[str, float | None]:
    """Metrics of one replicate; `between` are the class means of other data, if these count."""
    present = counts > 0
    off = resample.sums[present] / counts[present, None]
    means = resample.centres[present] + off
    scatter = resample.scatter
    if between is None:
        between, scatter = means, scatter - (off * counts[present, None]).T @ off
    return {
        **_gnc1(scatter / counts.sum(), between),
        **({"gnc3": None, "gnc3_centred": None} if W is None else gnc3_forms(W, means)),
        "ncc_accuracy": _share(ncc_right, counts, rng),
        "accuracy": _share(right, counts, rng),
    }


def _gnc1(within_cov: np.ndarray, means: np.ndarray) -> dict[str, float | None]:
    found = gnc1_forms(within_cov, means).items()
    return {name: None if one is None else one.value for name, one in found}


def _share(right: np.ndarray | None, counts: np.ndarray, rng: np.random.Generator) -> float | None:
    """Share of right samples among those drawn again: of n_k draws each is right with its share."""
    if right is None:
        return None
    drawn = rng.binomial(counts, right / np.maximum(counts, 1))
    return int(drawn.sum()) / int(counts.sum())


def _interval(values: Sequence[float | None], level: float) -> Bracket | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    lower, upper = np.quantile(known, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Bracket(float(lower), float(upper))
