"""Batches of a training loop: checks of one batch, and statistics of all batches so far."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.loading import is_one_hot, refuse_bits, require_finite
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.rows import check_labels, checked_tensor, is_tensor, refuse_rows, to_numpy


def checked_labels(labels: Any, shape: tuple[int, ...], d: int, K: int) -> np.ndarray:
    """Return labels as int64, shape (n,), checked against the features' shape and K.

    Samples of label -1 or -100 are left out; both are -1 in the result.

    Raises:
        DataError: the shapes disagree, or a label is no class.
    """
    values = to_numpy(labels, "labels")
    if values.ndim != 1 or tuple(shape) != (len(values), d):
        one_hot = "; give labels.argmax(1) of one-hot labels" if is_one_hot(values) else ""
        raise DataError(
            f"features have shape {tuple(shape)}, labels {values.shape}; expected (n, {d}), (n,)"
            f"{one_hot}"
        )
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    values = np.where(values == -100, -1, values) if values.dtype.kind == "i" else values
    check_labels(values, len(values), K)
    return values.astype(np.int64)


def largest_logits(logits: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the class of the largest logit, the first of ties, shape (n,).

    It is computed on the device of the logits, which have shape (n, K).

    Raises:
        DataError: the shape is another, or the largest logit of a row is not finite.
    """
    tensor = is_tensor(logits)
    values = checked_tensor(logits, "logits").detach() if tensor else to_numpy(logits, "logits")
    if tuple(values.shape) != shape:
        raise DataError(f"logits have shape {tuple(values.shape)}; expected {shape}")
    classes, rows = to_numpy(values.argmax(1)), np.arange(shape[0])
    # argmax takes NaN for the largest, so a row with NaN has one here.
    largest = to_numpy(values[rows, classes])
    problem = "the logits of the batch hold NaN or infinity as the largest of a row"
    refuse_rows(~np.isfinite(largest), rows, problem, "fix or remove it")
    return classes


def raw_weights(weights: Any, K: int, d: int) -> np.ndarray:
    """Return a classifier's weights, not scaled, as float64, shape (K, d).

    Raises:
        DataError: the shape is another, or a value is not finite.
    """
    raw = to_numpy(weights, "weights").astype(np.float64)
    if raw.shape != (K, d):
        advice = "; give the transpose of a classifier (d, K)" if raw.shape == (d, K) else ""
        raise DataError(f"weights have shape {raw.shape}; expected {(K, d)}{advice}")
    require_finite(raw, "weights")
    return raw


def checked_rows(rows: np.ndarray, labels: np.ndarray, *, unit: bool) -> np.ndarray:
    """Return the finite rows of a batch, shape (n, d), with `unit` scaled to norm 1 as float64.

    Rows of label -1 are not checked.

    Raises:
        DataError: a row is not finite, or zero where it is scaled.
    """
    if not len(rows):
        return rows
    if unit:
        return normalise(np.where((labels >= 0)[:, None], rows, 1.0))
    bad = (labels >= 0) & ~np.isfinite(rows).all(axis=1)
    problem = "the features of the batch hold NaN or infinity"
    refuse_rows(bad, np.arange(len(rows)), problem, "fix or remove it")
    return rows


def on_cuda(value: Any) -> bool:
    """Return whether `value` is a tensor on a CUDA device."""
    return is_tensor(value) and value.device.type == "cuda"


def dtype_name(value: Any) -> str:
    """Return the dtype of a tensor, an array or lists: `float32`, `bfloat16`, ..."""
    if is_tensor(value):
        return str(value.dtype).removeprefix("torch.")
    return np.asarray(value).dtype.name


@dataclass(eq=False)
class Accumulated:
    """Statistics of the batches so far; picklable, so that processes can exchange them."""

    moments: dict[str, ClassMoments]
    """Class moments by space (`unit` or `raw`), that of the GNC metrics first."""
    right: np.ndarray
    """Number of samples that their logits classify correctly, by class, shape (K,)."""
    answered: np.ndarray
    """Number of samples with logits, by class, shape (K,)."""
    storage: str | None = None
    """Dtype of the first features."""
    second_pass: Decisions | None = None
    """Decisions of the second pass; None where there was none."""
    sample_counts: frozenset[int] = frozenset()
    """Numbers of samples behind the class means of the second pass, one per process."""
    own_samples: bool = True
    """True if the second pass was over the samples of the first."""

    def update(self, features: Any, labels: Any, logits: Any = None, workers: int = 1) -> bool:
        """Add a batch, as `GNCMetrics.update` does; return True if it has samples that count.

        Args:
            features: shape (n, d).
            labels: shape (n,).
            logits: shape (n, K).
            workers: number of threads.

        Raises:
            DataError: the batch cannot be used; nothing of it is added.
        """
        gnc = self.gnc
        rows = to_numpy(features, "features")
        refuse_bits(rows, "features")
        classes = checked_labels(labels, rows.shape, gnc.d, gnc.K)
        answers = None if logits is None else largest_logits(logits, (len(classes), gnc.K))
        units = checked_rows(rows, classes, unit="unit" in self.moments)
        for space, moments in self.moments.items():
            moments.update(units if space == "unit" else rows, classes, workers)
        if answers is not None:
            right = classes[(classes >= 0) & (answers == classes)]
            self.answered = self.answered + np.bincount(classes[classes >= 0], minlength=gnc.K)
            self.right = self.right + np.bincount(right, minlength=gnc.K)
        self.storage = self.storage or dtype_name(features)
        return bool((classes >= 0).any())

    def joined(self, other: "Accumulated") -> "Accumulated":
        """Return the statistics of both sets of batches; neither operand changes."""
        moments = {space: copied.copy() for space, copied in self.moments.items()}
        for space, total in moments.items():
            total.merge(other.moments[space])
        return Accumulated(
            moments=moments,
            right=self.right + other.right,
            answered=self.answered + other.answered,
            storage=self.storage or other.storage,
            second_pass=joined(self.second_pass, other.second_pass),
            sample_counts=self.sample_counts | other.sample_counts,
            own_samples=self.own_samples and other.own_samples,
        )

    def without_second_pass(self) -> "Accumulated":
        """Return the statistics of the same samples without the decisions of a second pass."""
        return Accumulated(self.moments, self.right, self.answered, self.storage)

    @property
    def gnc(self) -> ClassMoments:
        """Moments in the space of the GNC metrics."""
        return next(iter(self.moments.values()))

    @property
    def decisions(self) -> Decisions | None:
        """Decisions of the second pass, else those of the logits."""
        if self.second_pass is not None or not self.answered.any():
            return self.second_pass
        return Decisions(samples=self.answered, right=self.right)

    @property
    def stale(self) -> bool:
        """True if a process decided by the class means of another set of samples."""
        return not self.sample_counts <= {self.gnc.N}

    def check_second_pass(self) -> None:
        """Refuse a second pass by other class means, or not once over each sample of the first.

        Raises:
            UsageError: it was such a pass.
        """
        if self.stale:
            raise UsageError(
                "judge() went by the class means of other samples: update() and sync() first, then "
                "judge() all batches again, in every process, and sync()"
            )
        if self.second_pass is None or not self.own_samples:
            return
        if not np.array_equal(self.second_pass.samples, self.gnc.counts):
            raise UsageError(
                f"judge() has seen {int(self.second_pass.samples.sum())} samples, not the "
                f"{self.gnc.N} of update(), each once: judge() the same batches in every "
                "process, then sync(); or judge(own=False) other data"
            )


def joined(a: Decisions | None, b: Decisions | None) -> Decisions | None:
    """Return the decisions on two sets of samples, either of which may be missing."""
    return a.joined(b) if a is not None and b is not None else a or b
