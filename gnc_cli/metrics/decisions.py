"""Decisions of the classifier and of the nearest class mean on every sample, counted by class.

Accuracy, nearest-class-mean accuracy (NCC), the same with the sample left out, their agreement and
the one-vs-rest margins, in one pass. All decisions are those of float64, at the price of float32
products, or of a GPU's: see `scores.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.metrics.rows import ONE_THREAD, Pass, Rows, blocks, check_labels, ordered, refuse_rows
from gnc_cli.metrics.scores import Leaders, SampleBlock, Scores, place, screen

_GRID = 2.0**32
"""Margins are added up in multiples of its inverse, 2.3e-10: sums are then exact in any order."""
_EQUAL_NORMS = 1e-6
"""Relative difference of norms below which weights are ranked by their cosines, with that error."""
_ROWS_AT_ONCE = 128
"""Samples that are worked on at a time, so that their scores stay in the cache."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Counts by class, int64, shape (K,); each is None if it is not known."""

    samples: np.ndarray
    """Samples decided on."""
    right: np.ndarray | None = None
    """Samples whose largest logit, the first of ties, is that of the label."""
    ncc_right: np.ndarray | None = None
    """Samples whose nearest class mean, the first of ties, is that of the label."""
    loo_right: np.ndarray | None = None
    """The same with the sample left out of its class's mean."""
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
    """Sum of the margins, float64; a margin of unit rows is rounded by at most 1.2e-10."""
    forms: np.ndarray | None = None
    """Samples that the linear, the cosine and the euclidean head of these weights classify
    correctly, over all classes, shape (3,)."""

    def joined(self, other: "Decisions") -> "Decisions":
        """Return the decisions on both sets of samples, exactly those of one pass over both."""

        def total(name: str) -> Any:
            x, y = getattr(self, name), getattr(other, name)
            if x is None or y is None:
                return None
            return np.minimum(x, y) if name == "margin_min" else x + y

        return Decisions(**{field.name: total(field.name) for field in fields(Decisions)})


def equivalent_head(
    form: str | None, weights: np.ndarray, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows (K, d) and biases (K,) of the linear head that decides as a head of this form.

    `cosine` takes the largest cosine, and `euclidean` the nearest row, since `argmin |h - w|^2 =
    argmax <w, h> - |w|^2 / 2`; both have no bias. `linear`, or None, is the head as it is.

    Args:
        form: `linear`, `cosine`, `euclidean` or None.
        weights: rows of the head, shape (K, d).
        bias: shape (K,), or None.

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
            return weights, 0.5 * (
                squares.max() - squares
            )  # a constant added to all changes no decision
    return weights, bias


Decider = Callable[[int, int], Any]
"""Function that decides on, or sums, the rows from start to stop; `joined` combines results."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Judge:
    """A rule that decides on samples: by a classifier, class means, or both."""

    weights: np.ndarray | None = None
    """Raw weights, shape (K, d), float64; they give margins and, without logits, accuracy."""
    bias: np.ndarray | None = None
    """Bias of the classifier, shape (K,), float64."""
    means: np.ndarray | None = None
    """Class means of unit or raw rows (see `unit`), shape (K, d), float64."""
    raw_means: np.ndarray | None = None
    """Class means of raw rows, shape (K, d), float64; they give `agree_raw`."""
    present: np.ndarray | None = None
    """Classes that have a mean, shape (K,), bool; None for all."""
    own_counts: np.ndarray | None = None
    """Samples of each class, shape (K,), if the means are those of these samples; they give the
    leave-one-out counts."""
    unit: bool = True
    """True if nearest means are of unit rows, else of raw ones. Logits are always of raw rows."""
    device: str | None = None
    """Device of the products with all classes; None: the CPU, by NumPy. The answer is the same."""
    raw_margins: bool = False
    """True if margins are those of the logits, else of unit rows and unit weights."""
    compared: bool = False
    """True if `Decisions.forms` is counted."""


def stream_decisions(
    rows: Rows,
    labels: np.ndarray,
    judge: Judge,
    logits: Rows | None = None,
    *,
    name: str = "features",
    reading: Pass = ONE_THREAD,
) -> Decisions:
    """Decide on every sample whose label is not -1; the answer does not depend on the threads.

    Memory: a float32 copy of weights and means, and some 60 MB per thread (200 MB at K = 10^6).

    Args:
        rows: features as stored, shape (N, d).
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        judge: rule of the decisions.
        logits: shape (N, K); the classifier's decisions are then read from them alone.
        name: of the rows in messages, as `'f.h5': dataset 'features'`.
        reading: pass over the rows; progress("decisions", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, where `unit`, zero; a logit is NaN; labels
            do not fit.
        TimeoutError: the deadline expired first.

    Example:
        >>> from gnc_cli.metrics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.9]])
        >>> judge = Judge(weights=np.eye(2))
        >>> decisions = stream_decisions(ArrayRows(features), np.array([0, 1, 1]), judge)
        >>> decisions.right, decisions.margin_min.round(3)
        (array([1, 1]), array([ 1.   , -0.074]))
    """
    decider = BlockDecider(judge, rows, labels, logits, name)
    decisions: Decisions = stream_deciders([decider], rows, name, reading)[0]
    return decisions


def stream_deciders(
    deciders: Sequence[Decider],
    rows: Rows,
    name: str,
    reading: Pass = ONE_THREAD,
    stage: str = "decisions",
) -> list[Any]:
    """Return the result of each decider over all rows, read in one pass.

    One thread runs all deciders on a block, one after the other.

    Args:
        deciders: functions of start and stop.
        rows: the widest rows that they read, shape (N, d).
        name: of the rows in messages.
        reading: pass over the rows.
        stage: name of the pass for the progress.
    """

    def by_each(start: int, stop: int) -> list[Any]:
        return [decide(start, stop) for decide in deciders]

    spans = reading.spans(rows)
    start = reading.span[0] if reading.span else 0
    totals = by_each(start, start)  # over no sample: the known fields, in their shapes
    jobs = (partial(by_each, *span) for span in spans)
    for parts in reading.watched(ordered(jobs, reading.workers), spans, stage, name):
        totals = [total.joined(part) for total, part in zip(totals, parts, strict=True)]
    return totals


class BlockDecider:
    """Decider over the rows from start to stop, for any thread.

    Arguments and errors are those of `stream_decisions`.
    """

    def __init__(
        self,
        judge: Judge,
        rows: Rows,
        labels: np.ndarray,
        logits: Rows | None = None,
        name: str = "features",
    ) -> None:
        weights, means, raw_means = judge.weights, judge.means, judge.raw_means
        sizes = [len(matrix) for matrix in (weights, means) if matrix is not None]
        self.K = sizes[0] if logits is None else logits.shape[1]
        check_labels(labels, rows.shape[0], self.K)
        self.judge, self.rows, self.labels, self.logits = judge, rows, labels, logits
        self.name = name
        self.classifier = None if weights is None else _Classifier(judge, weights)
        self.by_mean = None if means is None else _NearestMean(judge, means, judge.unit)
        raw = replace(judge, own_counts=None)
        self.by_raw_mean = None if raw_means is None else _NearestMean(raw, raw_means, False)

    def __call__(self, start: int, stop: int) -> Decisions:
        """Decide on these rows."""
        K, judge = self.K, self.judge
        block = SampleBlock.read(
            self.rows, self.labels, judge.unit, self.name, start, stop, judge.device
        )
        y = block.labels
        classified = nearest = nearest_raw = loo_right = loo_counted = margins = forms = None
        if self.classifier is not None:
            classified, margins, forms = self.classifier.decide(block)
        if self.by_mean is not None:
            nearest, loo_right, loo_counted = self.by_mean.decide(block)
        if self.by_raw_mean is not None:
            nearest_raw = self.by_raw_mean.decide(block)[0]
        if self.logits is not None:
            indices = np.flatnonzero(self.labels[start:stop] >= 0)
            read = self.logits.read(start, stop)[indices] if stop > start else np.empty((0, K))
            classified = _largest_logits(read, start + indices, "logits")

        def by_class(mask: np.ndarray | None) -> np.ndarray | None:
            return None if mask is None else np.bincount(y[mask], minlength=K)

        def agreeing(classes: np.ndarray | None) -> int | None:
            return (
                None
                if classified is None or classes is None
                else int((classified == classes).sum())
            )

        lowest = total = None
        if margins is not None:
            lowest = np.full(K, np.inf)
            np.minimum.at(lowest, y, margins)
            exact = margins if judge.raw_margins else np.rint(margins * _GRID) / _GRID
            total = np.bincount(y, exact, K)
        return Decisions(
            samples=np.bincount(y, minlength=K),
            right=None if classified is None else by_class(classified == y),
            ncc_right=None if nearest is None else by_class(nearest == y),
            loo_right=by_class(loo_right),
            loo_counted=by_class(loo_counted),
            agree=agreeing(nearest),
            agree_raw=agreeing(nearest_raw),
            positive=None if margins is None else by_class(margins > 0.0),
            margin_min=lowest,
            margin_sum=total,
            forms=None if forms is None else np.count_nonzero(forms == y, axis=1),
        )


def _largest_logits(logits: np.ndarray, index: np.ndarray, name: str) -> np.ndarray:
    """Return the column of each row's largest logit, the first of ties; `index` numbers the rows.

    Raises:
        DataError: the largest logit is not finite.
    """
    if logits.dtype == np.float16:  # compared slowly by NumPy
        logits = logits.astype(np.float32)
    columns = logits.argmax(axis=1)
    # NaN counts as the largest, so the largest shows them all.
    bad = ~np.isfinite(logits[np.arange(len(columns)), columns])
    refuse_rows(bad, index, f"{name} holds NaN or infinity", "fix or remove it")
    return np.asarray(columns)


class _Classifier:
    """Decisions of a linear classifier, and the one-vs-rest margins of samples.

    Logits are those of raw samples, raw weights and the bias; margins `<w_y, h> - max_{j != y}
    <w_j, h>` those of unit samples and unit weights, or of the logits. One product of unit rows
    serves all, also the other forms of the head: tiles of cosines are scaled to logits in place,
    and other offsets added. A zero row of the weights has no direction: its unit weight counts as
    zero.
    """

    def __init__(self, judge: Judge, weights: np.ndarray) -> None:
        bias, device, K = judge.bias, judge.device, len(weights)
        norms = row_norms(weights)
        if not (np.isfinite(norms).all() and (bias is None or np.isfinite(bias).all())):
            raise DataError("weights or bias hold NaN or infinity")
        self.device, self.factors = device, place(norms, device)
        self.raw_margins = judge.raw_margins
        effective = None if bias is None or not bias.any() else bias
        self.logits = Scores(weights, np.ones(K), unit=False, offsets=effective, device=device)
        divisor = np.where(norms > 0.0, norms, 1.0)
        self.cosines = Scores(weights, divisor, unit=True, device=device)
        self.matrix = self.cosines.product_columns()[:, :-1]
        self.equal = effective is None and norms.max() - norms.min() < _EQUAL_NORMS * norms.max()
        """True if the rows have one length and no bias, so that cosines decide."""
        offsets = equivalent_head("euclidean", weights, None)[1]
        assert offsets is not None
        self.compared = judge.compared and bool(np.isfinite(offsets).all())
        self.distances = Scores(weights, np.ones(K), unit=False, offsets=offsets, device=device)
        self.steps = [None if effective is None else place(effective, device)]
        """Offsets that are added to tiles: those of the logits, then those that turn logits into
        distances."""
        if self.compared:
            self.steps.append(place(offsets if effective is None else offsets - effective, device))

    def decide(self, samples: SampleBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the classes of the largest logits, the margins, and the classes by form.

        The classes and the margins have shape (B,). The classes by the linear, the cosine and the
        euclidean form, shape (3, B), are None unless compared.
        """
        labels = samples.labels
        factor, logit_error = self.logits.factors(samples)
        error = self.cosines.factors(samples)[1]
        change = partial(self._change, place(factor, self.device))
        changes = [] if self.equal else [partial(change, step) for step in range(len(self.steps))]
        cosines, *changed = screen(samples.product_rows[:, :-1], self.matrix, labels, changes)
        logits = cosines if self.equal else changed[0]
        logit_error = error + _EQUAL_NORMS if self.equal else logit_error
        classified = self.logits.decide(samples, logits, logit_error, labels)
        forms = np.stack([classified] * 3) if self.compared else None
        if forms is not None:
            forms[1] = self.cosines.decide(samples, cosines, error, labels)
            # The roundings of the logits are among those of the distances made of them; rows of
            # one length have cosines alone, which the offsets change by little.
            shift = (
                factor * self.distances.max_offset / self.distances.max_norm if self.equal else 0.0
            )
            distance_error = logit_error + self.distances.factors(samples)[1] + shift
            distances = cosines if self.equal else changed[1]
            forms[2] = self.distances.decide(samples, distances, distance_error, labels)
        if self.raw_margins:
            return classified, self._margins(self.logits, samples, logits, logit_error), forms
        return classified, self._margins(self.cosines, samples, cosines, error), forms

    def _change(self, factors: Any, step: int, tile: Any, rows: slice, columns: slice) -> None:
        """Turn a tile in place: cosines into logits (step 0), these into distances (step 1)."""
        offsets = self.steps[step]
        for start, stop in blocks(len(tile), _ROWS_AT_ONCE):
            strip = tile[start:stop]
            if step == 0:
                strip *= self.factors[columns]
            if offsets is not None:
                strip += factors[rows][start:stop, None] * offsets[columns]

    def _margins(
        self, scores: Scores, samples: SampleBlock, leaders: Leaders, error: np.ndarray
    ) -> np.ndarray:
        """Return the float64 score of each sample's own column less its largest other, (B,)."""
        labels, rivals = samples.labels, leaders.columns.copy()
        doubtful = np.flatnonzero(~(leaders.top - leaders.second > 2.0 * error))
        rivals[doubtful] = scores.decide_exactly(samples, doubtful, labels[doubtful])[2]
        W, norms, offsets = scores.V, scores.divisor, scores.offsets
        margins = np.empty(len(labels))
        for start, stop in blocks(len(labels), _ROWS_AT_ONCE):
            X = scores.rows(samples, slice(start, stop))
            y, j = labels[start:stop], rivals[start:stop]
            own_score = np.einsum("bd,bd->b", W[y], X) / norms[y]
            rival_score = np.einsum("bd,bd->b", W[j], X) / norms[j]
            margins[start:stop] = own_score - rival_score + (offsets[y] - offsets[j])
        return margins


class _NearestMean:
    """Decisions of the nearest class mean (NCC), also with the sample left out.

    Source: appendix B.4 of arXiv 2310.05351.

    The nearest mean m_k of a sample h has the largest `<h, m_k> - |m_k|**2 / 2`. Without the sample
    itself the mean of its own n samples lies `n / (n - 1)` times as far from it, in the same
    direction.
    """

    def __init__(self, judge: Judge, means: np.ndarray, unit: bool) -> None:
        K, present = len(means), judge.present
        self.classes = np.arange(K) if present is None else np.flatnonzero(present)
        if not self.classes.size:
            raise DataError("no class has a mean: there is no nearest one")
        rows = means if len(self.classes) == K else means[self.classes]
        norms = row_norms(rows)
        if not np.isfinite(norms).all():
            k = self.classes[np.flatnonzero(~np.isfinite(norms))[0]]
            raise DataError(f"class means hold NaN or infinity, first that of class {k}")
        self.columns = np.full(K, -1)
        self.columns[self.classes] = np.arange(len(self.classes))
        self.own_counts = judge.own_counts
        offsets, units = -0.5 * norms**2, np.ones(len(rows))
        self.scores = Scores(rows, units, unit=unit, offsets=offsets, device=judge.device)
        self.matrix = self.scores.product_columns()

    def decide(
        self, samples: SampleBlock
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return the classes of the nearest means, and both masks with the sample left out.

        The first mask holds if the mean of the sample's class without the sample is the nearest,
        the second if there is such a mean. All have shape (B,); the masks may be None.
        """
        own_columns = self.columns[samples.labels]
        factor, error = self.scores.factors(samples)
        samples.product_rows[:, -1] = place(factor, self.scores.device)
        (leaders,) = screen(samples.product_rows, self.matrix, own_columns)
        nearest = self.classes[self.scores.decide(samples, leaders, error, own_columns)]
        if self.own_counts is None:
            return nearest, None, None

        n = self.own_counts[samples.labels]
        valid = (n > 1) & (own_columns >= 0)
        stretch = np.where(valid, n / np.maximum(n - 1, 1), 1.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # Scores are `whole - (squared distance) / (2 factor)`, alike for all columns.
            base = 0.5 / factor
            own_score = base - stretch * (base - leaders.own_scores)
            lead = own_score - leaders.top
            uncertainty = (stretch + 1.0) * error + 1e-15 * stretch * base
        right = lead > 0.0
        doubtful = np.flatnonzero(valid & ~(np.abs(lead) > uncertainty))
        classes = own_columns[doubtful]
        rivals = self.scores.decide_exactly(samples, doubtful, classes)[2]
        own_squares = stretch[doubtful] * self._squares(samples, doubtful, classes)
        rival_squares = self._squares(samples, doubtful, rivals)
        ties = (own_squares == rival_squares) & (classes < rivals)
        right[doubtful] = (own_squares < rival_squares) | ties
        return nearest, right & valid, valid

    def _squares(self, samples: SampleBlock, index: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the squared distances of some samples to one mean each."""
        rows = self.scores.rows(samples, index) - self.scores.V[columns]
        return np.asarray(np.einsum("md,md->m", rows, rows))
