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
from gnc_cli.metrics.scores import Leaders, SampleBlock, Scores, placed, screen

_GRID = 2.0**32
"""Margins are added up in multiples of its inverse, 2.3e-10: sums are then exact in any order."""
_EQUAL_NORMS = 1e-6
"""Relative difference of norms below which weights are ranked by their cosines, with that error."""
_ROWS_AT_ONCE = 128
"""Samples that are worked on at a time, so that their scores stay in the cache."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Counts by class, int64, shape (K,); each None where it is not known."""

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
        """Return the decisions on both sets of samples, exactly those of one pass over both."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Judge:
    """A rule that decides on samples: by a classifier, class means, or both."""

    weights: np.ndarray | None = None
    """Raw, shape (K, d), float64; with them margins are known and, without logits, accuracy."""
    bias: np.ndarray | None = None
    """Shape (K,), float64."""
    means: np.ndarray | None = None
    """Class means in the space that `unit` says, shape (K, d), float64."""
    raw_means: np.ndarray | None = None
    """Class means of raw rows, shape (K, d), float64: `agree_raw` is then known."""
    present: np.ndarray | None = None
    """Classes that have a mean, shape (K,), bool; None for all."""
    own_counts: np.ndarray | None = None
    """Samples of each class, shape (K,), where the means are the samples' own: the leave-one-out
    counts are then known."""
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
    where: str = "features",
    reading: Pass = ONE_THREAD,
) -> Decisions:
    """Decide on every sample whose label is not -1; the answer does not depend on the threads.

    Memory: a float32 copy of weights and means, and some 60 MB per thread (200 MB at K = 10^6).

    Args:
        rows: features as stored, shape (N, d).
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        judge: what decides.
        logits: shape (N, K); they alone then decide the classifier's answer.
        where: names the rows in messages, as `'f.h5': dataset 'features'`.
        reading: progress("decisions", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, where `unit`, zero; a logit is NaN; labels
            do not fit.
        TimeoutError: the deadline came first.

    Example:
        >>> from gnc_cli.metrics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.9]])
        >>> judge = Judge(weights=np.eye(2))
        >>> decisions = stream_decisions(ArrayRows(features), np.array([0, 1, 1]), judge)
        >>> decisions.right, decisions.margin_min.round(3)
        (array([1, 1]), array([ 1.   , -0.074]))
    """
    decider = BlockDecider(judge, rows, labels, logits, where)
    decisions: Decisions = stream_deciders([decider], rows, where, reading)[0]
    return decisions


def stream_deciders(
    deciders: Sequence[Decider],
    rows: Rows,
    where: str,
    reading: Pass = ONE_THREAD,
    stage: str = "decisions",
) -> list[Any]:
    """Return what each decider says of all rows, read in one pass.

    Each block is decided by all, one after the other, in one thread. `rows` are those of the
    widest; `stage` names the pass to the progress.
    """

    def by_each(start: int, stop: int) -> list[Any]:
        return [decide(start, stop) for decide in deciders]

    spans = reading.spans(rows)
    start = reading.span[0] if reading.span else 0
    totals = by_each(start, start)  # of no sample: what is known, in the right shapes
    jobs = (partial(by_each, *span) for span in spans)
    for parts in reading.watched(ordered(jobs, reading.workers), spans, stage, where):
        totals = [total.joined(part) for total, part in zip(totals, parts, strict=True)]
    return totals


class BlockDecider:
    """Decides on the rows from start to stop, in any thread; arguments and errors as in
    `stream_decisions`.
    """

    def __init__(
        self,
        judge: Judge,
        rows: Rows,
        labels: np.ndarray,
        logits: Rows | None = None,
        where: str = "features",
    ) -> None:
        weights, means, raw_means = judge.weights, judge.means, judge.raw_means
        sizes = [len(matrix) for matrix in (weights, means) if matrix is not None]
        self.K = sizes[0] if logits is None else logits.shape[1]
        check_labels(labels, rows.shape[0], self.K)
        self.judge, self.rows, self.labels, self.logits = judge, rows, labels, logits
        self.where = where
        self.classifier = None if weights is None else _Classifier(judge, weights)
        self.by_mean = None if means is None else _NearestMean(judge, means, judge.unit)
        raw = replace(judge, own_counts=None)
        self.by_raw_mean = None if raw_means is None else _NearestMean(raw, raw_means, False)

    def __call__(self, start: int, stop: int) -> Decisions:
        """Decide on these rows."""
        K, judge = self.K, self.judge
        samples = SampleBlock.read(
            self.rows, self.labels, judge.unit, self.where, start, stop, judge.device
        )
        y = samples.labels
        named = nearest = nearest_raw = loo_right = loo_counted = margins = forms = None
        if self.classifier is not None:
            named, margins, forms = self.classifier.decide(samples)
        if self.by_mean is not None:
            nearest, loo_right, loo_counted = self.by_mean.decide(samples)
        if self.by_raw_mean is not None:
            nearest_raw = self.by_raw_mean.decide(samples)[0]
        if self.logits is not None:
            counted = np.flatnonzero(self.labels[start:stop] >= 0)
            read = self.logits.read(start, stop)[counted] if stop > start else np.empty((0, K))
            named = _largest_logits(read, start + counted, "logits")

        def by_class(chosen: np.ndarray | None) -> np.ndarray | None:
            return None if chosen is None else np.bincount(y[chosen], minlength=K)

        def agreeing(classes: np.ndarray | None) -> int | None:
            return None if named is None or classes is None else int((named == classes).sum())

        lowest = total = None
        if margins is not None:
            lowest = np.full(K, np.inf)
            np.minimum.at(lowest, y, margins)
            exact = margins if judge.raw_margins else np.rint(margins * _GRID) / _GRID
            total = np.bincount(y, exact, K)
        return Decisions(
            counted=np.bincount(y, minlength=K),
            right=None if named is None else by_class(named == y),
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


def _largest_logits(logits: np.ndarray, index: np.ndarray, where: str) -> np.ndarray:
    """Return the column of each row's largest logit, the first of ties; `index` numbers the rows.

    Raises:
        DataError: it is not finite.
    """
    if logits.dtype == np.float16:  # compared slowly by NumPy
        logits = logits.astype(np.float32)
    columns = logits.argmax(axis=1)
    # NaN counts as the largest, so the largest shows them all.
    bad = ~np.isfinite(logits[np.arange(len(columns)), columns])
    refuse_rows(bad, index, f"{where} holds NaN or infinity", "mend or remove it")
    return columns


class _Classifier:
    """Names classes by a linear classifier, and finds the one-vs-rest margins of samples.

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
        self.device, self.factors = device, placed(norms, device)
        self.raw_margins = judge.raw_margins
        used = None if bias is None or not bias.any() else bias
        self.logits = Scores(weights, np.ones(K), unit=False, offsets=used, device=device)
        divisor = np.where(norms > 0.0, norms, 1.0)
        self.cosines = Scores(weights, divisor, unit=True, device=device)
        self.small = self.cosines.small()[:, :-1]
        self.equal = used is None and norms.max() - norms.min() < _EQUAL_NORMS * norms.max()
        """True if the rows have one length and no bias, so that cosines decide."""
        offsets = equivalent_head("euclidean", weights, None)[1]
        assert offsets is not None
        self.compared = judge.compared and bool(np.isfinite(offsets).all())
        self.distances = Scores(weights, np.ones(K), unit=False, offsets=offsets, device=device)
        self.steps = [None if used is None else placed(used, device)]
        """Offsets that are added to tiles: those of the logits, then those that turn logits into
        distances."""
        if self.compared:
            self.steps.append(placed(offsets if used is None else offsets - used, device))

    def decide(self, samples: SampleBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the class of the largest logit, the first of ties; the margin; and, if compared,
        the classes by the linear, the cosine and the euclidean form, shape (3, B).
        """
        labels = samples.labels
        raised, logit_error = self.logits.factors(samples)
        error = self.cosines.factors(samples)[1]
        change = partial(self._change, placed(raised, self.device))
        changes = [] if self.equal else [partial(change, step) for step in range(len(self.steps))]
        cosines, *changed = screen(samples.small[:, :-1], self.small, labels, changes)
        logits = cosines if self.equal else changed[0]
        logit_error = error + _EQUAL_NORMS if self.equal else logit_error
        named = self.logits.decide(samples, logits, logit_error, labels)
        forms = np.stack([named] * 3) if self.compared else None
        if forms is not None:
            forms[1] = self.cosines.decide(samples, cosines, error, labels)
            # The roundings of the logits are among those of the distances made of them; rows of
            # one length have cosines alone, which the offsets change by little.
            shift = raised * self.distances.largest / self.distances.longest if self.equal else 0.0
            distance_error = logit_error + self.distances.factors(samples)[1] + shift
            distances = cosines if self.equal else changed[1]
            forms[2] = self.distances.decide(samples, distances, distance_error, labels)
        if self.raw_margins:
            return named, self._margins(self.logits, samples, logits, logit_error), forms
        return named, self._margins(self.cosines, samples, cosines, error), forms

    def _change(self, raised: Any, step: int, tile: Any, rows: slice, columns: slice) -> None:
        """Turn a tile of cosines into logits (step 0), or these into distances (step 1), in
        place.
        """
        offsets = self.steps[step]
        for start, stop in blocks(len(tile), _ROWS_AT_ONCE):
            strip = tile[start:stop]
            if step == 0:
                strip *= self.factors[columns]
            if offsets is not None:
                strip += raised[rows][start:stop, None] * offsets[columns]

    def _margins(
        self, scores: Scores, samples: SampleBlock, leaders: Leaders, error: np.ndarray
    ) -> np.ndarray:
        """Return the float64 score of each sample's own column less its largest other, (B,)."""
        labels, rivals = samples.labels, leaders.at.copy()
        doubtful = np.flatnonzero(~(leaders.top - leaders.second > 2.0 * error))
        rivals[doubtful] = scores.exact(samples, doubtful, labels[doubtful])[2]
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
    """Names the nearest class mean (NCC, appendix B.4 of arXiv 2310.05351), also with the sample
    left out.

    The nearest mean m_k of a sample h has the largest `<h, m_k> - |m_k|**2 / 2`. Without the sample
    itself the mean of its own n samples lies `n / (n - 1)` times as far from it, in the same
    direction.
    """

    def __init__(self, judge: Judge, means: np.ndarray, unit: bool) -> None:
        K, present = len(means), judge.present
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
        self.own_counts = judge.own_counts
        offsets, ones = -0.5 * norms**2, np.ones(len(kept))
        self.scores = Scores(kept, ones, unit=unit, offsets=offsets, device=judge.device)
        self.small = self.scores.small()

    def decide(
        self, samples: SampleBlock
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return the class of the nearest mean, the first of ties; whether its own is the nearest
        without the sample, and whether its class has a mean without it.
        """
        own_columns = self.columns[samples.labels]
        raised, error = self.scores.factors(samples)
        samples.small[:, -1] = placed(raised, self.scores.device)
        (leaders,) = screen(samples.small, self.small, own_columns)
        nearest = self.classes[self.scores.decide(samples, leaders, error, own_columns)]
        if self.own_counts is None:
            return nearest, None, None

        n = self.own_counts[samples.labels]
        counted = (n > 1) & (own_columns >= 0)
        stretch = np.where(counted, n / np.maximum(n - 1, 1), 1.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # Scores are `whole - (squared distance) / (2 raised)`, alike for all columns.
            whole = 0.5 / raised
            moved = whole - stretch * (whole - leaders.own)
            ahead = moved - leaders.top
            strayed = (stretch + 1.0) * error + 1e-15 * stretch * whole
        right = ahead > 0.0
        doubtful = np.flatnonzero(counted & ~(np.abs(ahead) > strayed))
        own = own_columns[doubtful]
        rivals = self.scores.exact(samples, doubtful, own)[2]
        own_squares = stretch[doubtful] * self._squares(samples, doubtful, own)
        rival_squares = self._squares(samples, doubtful, rivals)
        ties = (own_squares == rival_squares) & (own < rivals)
        right[doubtful] = (own_squares < rival_squares) | ties
        return nearest, right & counted, counted

    def _squares(self, samples: SampleBlock, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the squared distances of some samples to one mean each."""
        rows = self.scores.rows(samples, which) - self.scores.V[columns]
        return np.einsum("md,md->m", rows, rows)
