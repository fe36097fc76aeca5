"""What the classifier and the nearest class mean decide on every sample, class by class.

Accuracy, nearest-class-mean accuracy (NCC), the same with the sample left out, their agreement and
the one-vs-rest margins, in one pass. All decisions are those of float64, at the price of float32
products, or of a GPU's: see `scores.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.metrics.rows import (
    Rows,
    block_rows,
    blocks,
    check_labels,
    ordered,
    refuse_rows,
    watched,
)
from gnc_cli.metrics.scores import Leaders, SampleBlock, Scores, placed, screen
from gnc_cli.runtime.deadline import Deadline

_GRID = 2.0**32
"""Margins are added up in multiples of its inverse, 2.3e-10: sums are then exact in any order."""
_EVEN = 1e-6
"""Weights whose norms differ relatively by less are ranked by the unit product, with that error."""
_STRIP = 128
"""Samples that are worked on at a time, so that what belongs to them stays in the cache."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Counts by class, int64, shape (K,); None where it was not asked for or is not known."""

    counted: np.ndarray
    """Samples looked at."""
    right: np.ndarray | None = None
    """The largest logit is that of the label, the first of ties."""
    ncc_right: np.ndarray | None = None
    """The nearest class mean is that of the label, the first of ties."""
    loo_right: np.ndarray | None = None
    """Likewise with the sample left out of its class's mean."""
    loo_counted: np.ndarray | None = None
    """Samples of classes that have a mean without them."""
    agree: int | None = None
    """Samples on which the classifier and the nearest mean name the same class."""
    agree_raw: int | None = None
    """The same with the nearest mean of raw rows."""
    positive: np.ndarray | None = None
    """Samples with a one-vs-rest margin above 0."""
    margin_min: np.ndarray | None = None
    """Smallest margin, float64; infinite for classes without samples."""
    margin_sum: np.ndarray | None = None
    """Sum of the margins, float64; each margin of unit rows is off by at most 1.2e-10 in it."""
    forms: np.ndarray | None = None
    """Samples of all classes that the linear, the cosine and the euclidean head of these weights
    name right, shape (3,)."""

    def joined(self, other: "Decisions") -> "Decisions":
        """Decisions on two sets of samples together, exactly those of one pass over both."""

        def both(name: str) -> Any:
            x, y = getattr(self, name), getattr(other, name)
            if x is None or y is None:
                return None
            return np.minimum(x, y) if name == "margin_min" else x + y

        return Decisions(**{field.name: both(field.name) for field in fields(Decisions)})


def equivalent_head(
    form: str | None, weights: np.ndarray, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows (K, d) and biases (K,) of the linear head that decides as a head of this form.

    `cosine` takes the largest cosine, and `euclidean` the nearest row, since `argmin |h - w|^2 =
    argmax <w, h> - |w|^2 / 2`; both have no bias. `linear`, or None, is the head as it is.

    Example:
        >>> equivalent_head("euclidean", np.array([[3.0, 4.0], [1.0, 0.0]]), None)[1]
        array([ 0., 12.])
    """
    if form == "cosine":
        norms = row_norms(weights)
        return weights / np.where(norms > 0.0, norms, 1.0)[:, None], None
    if form == "euclidean":
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("kd,kd->k", weights, weights)
            return weights, 0.5 * (squares.max() - squares)  # a common number decides nothing
    return weights, bias


Decider = Callable[[int, int], Any]
"""Decisions on the rows from start to stop, or sums over them; `joined` puts two together."""


def stream_decisions(
    rows: Rows,
    labels: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    logits: Rows | None = None,
    means: np.ndarray | None = None,
    raw_means: np.ndarray | None = None,
    present: np.ndarray | None = None,
    own_counts: np.ndarray | None = None,
    unit: bool = True,
    where: str = "features",
    device: str | None = None,
    block: int | None = None,
    workers: int = 1,
    span: tuple[int, int] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
    **options: bool,
) -> Decisions:
    """Decide on every sample whose label is not -1.

    With several workers, hold BLAS to one thread around this (`limit_threads(1)`). The answer does
    not depend on their number. Memory beside the arguments: a float32 copy of weights and means,
    and some 60 MB per worker (at K = 10^6 some 200 MB).

    Args:
        rows: features as stored, shape (N, d).
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        weights: raw, shape (K, d), float64; with them accuracy (unless there are logits) and
            margins are known.
        bias: shape (K,), float64.
        logits: shape (N, K); they alone then decide the classifier's answer.
        means: class means in the space that `unit` says, shape (K, d), float64.
        raw_means: class means of raw rows, shape (K, d), float64: `agree_raw` is then known.
        present: classes that have a mean, shape (K,), bool; None for all.
        own_counts: samples of each class, shape (K,), where the means are the samples' own: then
            the leave-one-out counts are known.
        unit: nearest means of unit rows; False: of raw rows. Logits always take raw rows.
        where: names the rows in messages, as `'f.h5': dataset 'features'`.
        device: where products with all classes are computed; None for the CPU, by NumPy. The
            answer is the same.
        block: rows to read at a time; None for about 16 MB as float64.
        workers: threads.
        span: only the rows from start to stop.
        deadline: looked at after each block.
        progress: called as progress("decisions", rows done, rows, share done).
        options: `raw_margins` and `compared` of `block_decider`.

    Raises:
        DataError: a row that counts is not finite or, where `unit`, zero; a logit is NaN; labels
            do not fit.
        TimeoutError: the deadline came first.

    Example:
        >>> from gnc_cli.metrics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.9]])
        >>> found = stream_decisions(ArrayRows(features), np.array([0, 1, 1]), weights=np.eye(2))
        >>> found.right, found.margin_min.round(3)
        (array([1, 1]), array([ 1.   , -0.074]))
    """
    decide = block_decider(
        rows,
        labels,
        weights=weights,
        bias=bias,
        logits=logits,
        means=means,
        raw_means=raw_means,
        present=present,
        own_counts=own_counts,
        unit=unit,
        where=where,
        device=device,
        **options,
    )
    totals: list[Decisions] = stream_deciders(
        [decide],
        rows,
        where=where,
        block=block,
        workers=workers,
        span=span,
        deadline=deadline,
        progress=progress,
    )
    return totals[0]


def stream_deciders(
    deciders: Sequence[Decider],
    rows: Rows,
    *,
    where: str = "features",
    stage: str = "decisions",
    block: int | None = None,
    workers: int = 1,
    span: tuple[int, int] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> list[Any]:
    """`stream_decisions` of several deciders in one pass: each block is decided by all, one after
    the other, in one thread. `rows` are those of the widest; `stage` names the pass to
    `progress`."""
    first, end = span or (0, rows.shape[0])
    step, N = block_rows(rows, block), end - first
    totals = _by_each(deciders, first, first)  # of no sample: what is known, in the right shapes
    jobs = (partial(_by_each, deciders, first + a, first + b) for a, b in blocks(N, step))
    for parts in watched(ordered(jobs, workers), stage, where, step, N, deadline, progress):
        totals = [total.joined(part) for total, part in zip(totals, parts, strict=True)]
    return totals


def _by_each(deciders: Sequence[Decider], start: int, stop: int) -> list[Any]:
    return [decide(start, stop) for decide in deciders]


def block_decider(
    rows: Rows,
    labels: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    logits: Rows | None = None,
    means: np.ndarray | None = None,
    raw_means: np.ndarray | None = None,
    present: np.ndarray | None = None,
    own_counts: np.ndarray | None = None,
    unit: bool = True,
    where: str = "features",
    device: str | None = None,
    raw_margins: bool = False,
    compared: bool = False,
) -> Decider:
    """Return the function that decides on the rows from start to stop, in any thread.

    Args:
        raw_margins: margins are those of the logits; else of unit rows and unit weights.
        compared: also count what the linear, the cosine and the euclidean head of the weights name
            right (`Decisions.forms`).

    Other arguments and errors as in `stream_decisions`.
    """
    K = (
        logits.shape[1]
        if logits is not None
        else next(len(m) for m in (weights, means) if m is not None)
    )
    check_labels(labels, rows.shape[0], K)
    return partial(
        _decide_block,
        K,
        labels,
        rows,
        logits,
        None if weights is None else _Classifier(weights, bias, device, raw_margins, compared),
        None if means is None else _NearestMean(means, present, own_counts, unit, device),
        None if raw_means is None else _NearestMean(raw_means, present, None, False, device),
        unit,
        where,
        device,
    )


def _decide_block(
    K: int,
    labels: np.ndarray,
    rows: Rows,
    logits: Rows | None,
    classifier: "_Classifier | None",
    nearest_mean: "_NearestMean | None",
    nearest_raw: "_NearestMean | None",
    unit: bool,
    where: str,
    device: str | None,
    start: int,
    stop: int,
) -> Decisions:
    """Decisions on the rows from start to stop; any thread."""
    kept = labels[start:stop] >= 0
    y = labels[start:stop][kept]
    called = nearest = raw = loo_right = loo_counted = margins = forms = None
    samples = SampleBlock.read(rows, labels, unit, where, start, stop, device)
    if classifier is not None:
        called, margins, forms = classifier.decide(samples)
    if nearest_mean is not None:
        nearest, loo_right, loo_counted = nearest_mean.decide(samples)
    if nearest_raw is not None:
        raw = nearest_raw.decide(samples)[0]
    if logits is not None:
        read = logits.read(start, stop)[kept] if stop > start else np.empty((0, K))
        called = _largest_logits(read, np.arange(start, stop)[kept], "logits")

    def count(which: np.ndarray | None) -> np.ndarray | None:
        return None if which is None else np.bincount(y[which], minlength=K)

    lowest = total = None
    if margins is not None and classifier is not None:
        lowest = np.full(K, np.inf)
        np.minimum.at(lowest, y, margins)
        steps = margins if classifier.raw_margins else np.rint(margins * _GRID) / _GRID
        total = np.bincount(y, steps, K)

    def agreeing(named: np.ndarray | None) -> int | None:
        return None if called is None or named is None else int(np.count_nonzero(called == named))

    return Decisions(
        counted=np.bincount(y, minlength=K),
        right=count(None if called is None else called == y),
        ncc_right=count(None if nearest is None else nearest == y),
        loo_right=count(loo_right),
        loo_counted=count(loo_counted),
        agree=agreeing(nearest),
        agree_raw=agreeing(raw),
        positive=count(None if margins is None else margins > 0.0),
        margin_min=lowest,
        margin_sum=total,
        forms=None if forms is None else np.count_nonzero(forms == y, axis=1),
    )


def _largest_logits(logits: np.ndarray, index: np.ndarray, where: str) -> np.ndarray:
    """Column of each row's largest logit, the first of ties; `index` numbers the rows."""
    if logits.dtype == np.float16:  # compared slowly by NumPy
        logits = logits.astype(np.float32)
    at = logits.argmax(axis=1)
    # NaN counts as the largest, so the largest shows them all.
    bad = ~np.isfinite(logits[np.arange(len(at)), at])
    refuse_rows(bad, index, f"{where} holds NaN or infinity", "mend or remove it")
    return at


class _Classifier:
    """A linear classifier at work: the class it names, and the one-vs-rest margins of the samples.

    Logits are those of raw samples, raw weights and the bias; margins `<w_y, h> - max_{j != y}
    <w_j, h>` those of unit samples and unit weights, or of the logits. One product of unit rows
    serves all, also the other forms of the head: tiles of cosines are scaled to logits in place,
    and other offsets added. A zero row of the weights has no direction: its unit weight counts as
    zero.
    """

    def __init__(
        self,
        weights: np.ndarray,
        bias: np.ndarray | None,
        device: str | None,
        raw_margins: bool,
        compared: bool,
    ) -> None:
        K = len(weights)
        norms = row_norms(weights)
        if not (np.isfinite(norms).all() and (bias is None or np.isfinite(bias).all())):
            raise DataError("weights or bias hold NaN or infinity")
        self.device, self.factors, self.raw_margins = device, placed(norms, device), raw_margins
        used = None if bias is None or not bias.any() else bias
        self.logits = Scores(weights, np.ones(K), unit=False, offsets=used, device=device)
        divisor = np.where(norms > 0.0, norms, 1.0)
        self.cosines = Scores(weights, divisor, unit=True, device=device)
        self.small = self.cosines.small()[:, :-1]
        self.even = used is None and norms.max() - norms.min() < _EVEN * norms.max()
        offsets = equivalent_head("euclidean", weights, None)[1]
        assert offsets is not None
        self.compared = compared and bool(np.isfinite(offsets).all())
        self.distances = Scores(weights, np.ones(K), unit=False, offsets=offsets, device=device)
        self.steps = [None if used is None else placed(used, device)]
        """Offsets that are added to tiles: of the logits, then to make distances of these."""
        if self.compared:
            self.steps.append(placed(offsets if used is None else offsets - used, device))

    def decide(self, samples: SampleBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The class of the largest logit, the first of ties; the margin; and, `compared`, the
        classes by the linear, the cosine and the euclidean form, shape (3, B)."""
        own = samples.labels
        raised, logit_error = self.logits.factors(samples)
        error = self.cosines.factors(samples)[1]
        change = partial(self._change, placed(raised, self.device))
        changes = [] if self.even else [partial(change, step) for step in range(len(self.steps))]
        cosines, *changed = screen(samples.small[:, :-1], self.small, own, changes)
        logits, logit_error = (cosines, error + _EVEN) if self.even else (changed[0], logit_error)
        called = self.logits.decide(samples, logits, logit_error, own)
        forms = np.stack([called] * 3) if self.compared else None
        if forms is not None:
            forms[1] = self.cosines.decide(samples, cosines, error, own)
            # The roundings of the logits are among those of the distances made of them; rows of
            # one length have cosines alone, which the offsets change by little.
            shift = raised * self.distances.largest / self.distances.longest if self.even else 0.0
            distance_error = logit_error + self.distances.factors(samples)[1] + shift
            distances = cosines if self.even else changed[1]
            forms[2] = self.distances.decide(samples, distances, distance_error, own)
        if self.raw_margins:
            return called, self._margins(self.logits, samples, logits, logit_error), forms
        return called, self._margins(self.cosines, samples, cosines, error), forms

    def _change(self, raised: Any, step: int, tile: Any, rows: slice, columns: slice) -> None:
        """Make logits of a tile of cosines (step 0), or distances of these (step 1), in place."""
        offsets = self.steps[step]
        for start, stop in blocks(len(tile), _STRIP):
            strip = tile[start:stop]
            if step == 0:
                strip *= self.factors[columns]
            if offsets is not None:
                strip += raised[rows][start:stop, None] * offsets[columns]

    def _margins(
        self, scores: Scores, samples: SampleBlock, leaders: Leaders, error: np.ndarray
    ) -> np.ndarray:
        """Float64 scores of each sample's own column less its largest other, (B,)."""
        own, rival = samples.labels, leaders.at.copy()
        look = np.flatnonzero(~(leaders.top - leaders.second > 2.0 * error))
        rival[look] = scores.exact(samples, look, own[look])[2]
        W, norms, offsets = scores.V, scores.divisor, scores.offsets
        margins = np.empty(len(own))
        for start, stop in blocks(len(own), _STRIP):
            some, y, j = (
                scores.rows(samples, slice(start, stop)),
                own[start:stop],
                rival[start:stop],
            )
            mine = np.einsum("bd,bd->b", W[y], some) / norms[y]
            other = np.einsum("bd,bd->b", W[j], some) / norms[j]
            margins[start:stop] = mine - other + (offsets[y] - offsets[j])
        return margins


class _NearestMean:
    """Nearest class mean (NCC, appendix B.4 of arXiv 2310.05351), also with the sample left out.

    The nearest mean m_k of a sample h has the largest `<h, m_k> - |m_k|**2 / 2`. Without the sample
    itself the mean of its own n samples lies `n / (n - 1)` times as far from it, in the same
    direction. The arguments are those of `stream_decisions`.
    """

    def __init__(
        self,
        means: np.ndarray,
        present: np.ndarray | None,
        own_counts: np.ndarray | None,
        unit: bool,
        device: str | None,
    ) -> None:
        K = len(means)
        self.classes = np.arange(K) if present is None else np.flatnonzero(present)
        if not self.classes.size:
            raise DataError("no class has a mean: there is no nearest one")
        kept = means if len(self.classes) == K else means[self.classes]
        norms = row_norms(kept)
        if not np.isfinite(norms).all():
            k = self.classes[np.flatnonzero(~np.isfinite(norms))[0]]
            raise DataError(f"class means hold NaN or infinity, first that of class {k}")
        self.columns = np.full(K, -1)
        self.columns[self.classes] = np.arange(len(self.classes))
        self.own_counts = own_counts
        offsets = -0.5 * norms**2
        self.scores = Scores(kept, np.ones(len(kept)), unit=unit, offsets=offsets, device=device)
        self.small = self.scores.small()

    def decide(
        self, samples: SampleBlock
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """The class of the nearest mean, the first of ties; whether its own is the nearest without
        the sample, and whether its class has a mean without it."""
        own = self.columns[samples.labels]
        raised, error = self.scores.factors(samples)
        samples.small[:, -1] = placed(raised, self.scores.device)
        (leaders,) = screen(samples.small, self.small, own)
        chosen = self.scores.decide(samples, leaders, error, own)
        if self.own_counts is None:
            return self.classes[chosen], None, None

        n = self.own_counts[samples.labels]
        counted = (n > 1) & (own >= 0)
        stretch = np.where(counted, n / np.maximum(n - 1, 1), 1.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # Scores are `whole - (squared distance) / (2 raised)`, alike for all columns.
            whole = 0.5 / raised
            moved = whole - stretch * (whole - leaders.own)
            ahead = moved - leaders.top
            strayed = (stretch + 1.0) * error + 1e-15 * stretch * whole
        right = ahead > 0.0
        doubtful = counted & ~(np.abs(ahead) > strayed)
        look = np.flatnonzero(doubtful)
        _, _, at = self.scores.exact(samples, look, own[look])
        mine = stretch[look] * self._squares(samples, look, own[look])
        other = self._squares(samples, look, at)
        right[look] = (mine < other) | ((mine == other) & (own[look] < at))
        return self.classes[chosen], right & counted, counted

    def _squares(self, samples: SampleBlock, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Squared distances of some samples to one mean each."""
        rows = self.scores.rows(samples, which) - self.scores.V[columns]
        return np.einsum("md,md->m", rows, rows)
