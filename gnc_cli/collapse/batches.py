"""Batches of a training loop: one, checked, and the statistics of all batches so far."""

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

    Samples of label -1 or -100 are left out; both are -1 in what is returned.
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
    """Return the class of the largest logit, the first of ties, shape (n,), found on the device of
    the logits.
    """
    tensor = is_tensor(logits)
    values = checked_tensor(logits, "logits").detach() if tensor else to_numpy(logits, "logits")
    if tuple(values.shape) != shape:
        raise DataError(f"logits have shape {tuple(values.shape)}; expected {shape}")
    classes, rows = to_numpy(values.argmax(1)), np.arange(shape[0])
    # NaN counts as the largest, so the largest shows them all.
    largest = to_numpy(values[rows, classes])
    problem = "the logits of the batch hold NaN or infinity as the largest of a row"
    refuse_rows(~np.isfinite(largest), rows, problem, "mend or remove it")
    return classes


def raw_weights(weights: Any, K: int, d: int) -> np.ndarray:
    """Return a classifier's weights as they are, float64, finite, shape (K, d)."""
    raw = to_numpy(weights, "weights").astype(np.float64)
    if raw.shape != (K, d):
        turned = "; give the transpose of a classifier (d, K)" if raw.shape == (d, K) else ""
        raise DataError(f"weights have shape {raw.shape}; expected {(K, d)}{turned}")
    require_finite(raw, "weights")
    return raw


def checked_rows(rows: np.ndarray, labels: np.ndarray, *, unit: bool) -> np.ndarray:
    """Return rows of a batch, finite; where `unit` scaled to norm 1, float64. Rows of label -1 are
    not checked.
    """
    if not len(rows):
        return rows
    if unit:
        return normalise(np.where((labels >= 0)[:, None], rows, 1.0))
    bad = (labels >= 0) & ~np.isfinite(rows).all(axis=1)
    problem = "the features of the batch hold NaN or infinity"
    refuse_rows(bad, np.arange(len(rows)), problem, "mend or remove it")
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
    """Statistics of batches; picklable, so that processes can send it to each other."""

    moments: dict[str, ClassMoments]
    """Class moments by space, `unit` or `raw`: that of the GNC metrics first."""
    right: np.ndarray
    """Samples that their logits get right, by class, shape (K,)."""
    answered: np.ndarray
    """Samples that came with logits, by class, shape (K,)."""
    storage: str | None = None
    """Dtype of the first features."""
    judged: Decisions | None = None
    """Decisions of the second pass, if there was one."""
    judged_by: frozenset[int] = frozenset()
    """Numbers of samples behind the class means of the second pass, one per process."""
    own: bool = True
    """True if the second pass was over the samples of the first."""

    def update(self, features: Any, labels: Any, logits: Any = None, workers: int = 1) -> bool:
        """Take in a batch, as `GNCMetrics.update` does, and return whether it has samples that
        count.
        """
        first = self.gnc
        rows = to_numpy(features, "features")
        refuse_bits(rows, "features")
        known = checked_labels(labels, rows.shape, first.d, first.K)
        answers = None if logits is None else largest_logits(logits, (len(known), first.K))
        units = checked_rows(rows, known, unit="unit" in self.moments)
        for space, moments in self.moments.items():
            moments.update(units if space == "unit" else rows, known, workers)
        if answers is not None:
            right = known[(known >= 0) & (answers == known)]
            self.answered = self.answered + np.bincount(known[known >= 0], minlength=first.K)
            self.right = self.right + np.bincount(right, minlength=first.K)
        self.storage = self.storage or dtype_name(features)
        return bool((known >= 0).any())

    def joined(self, other: "Accumulated") -> "Accumulated":
        """Return the statistics of both together; neither changes."""
        moments = {space: mine.copy() for space, mine in self.moments.items()}
        for space, mine in moments.items():
            mine.merge(other.moments[space])
        return Accumulated(
            moments=moments,
            right=self.right + other.right,
            answered=self.answered + other.answered,
            storage=self.storage or other.storage,
            judged=joined(self.judged, other.judged),
            judged_by=self.judged_by | other.judged_by,
            own=self.own and other.own,
        )

    def without_second_pass(self) -> "Accumulated":
        """Return the statistics of the same samples, not judged."""
        return Accumulated(self.moments, self.right, self.answered, self.storage)

    @property
    def gnc(self) -> ClassMoments:
        """Moments in the space of the GNC metrics."""
        return next(iter(self.moments.values()))

    @property
    def decisions(self) -> Decisions | None:
        """Decisions of the second pass, else those of the logits."""
        if self.judged is not None or not self.answered.any():
            return self.judged
        return Decisions(samples=self.answered, right=self.right)

    @property
    def stale(self) -> bool:
        """True if some process judged by the means of other samples than there are now."""
        return not self.judged_by <= {self.gnc.N}

    def check_second_pass(self) -> None:
        """Refuse a second pass by other means, or not over each sample of the first once."""
        if self.stale:
            raise UsageError(
                "judge() went by the class means of other samples: update() and sync() first, then "
                "judge() all batches again, in every process, and sync()"
            )
        if self.judged is None or not self.own:
            return
        if not np.array_equal(self.judged.samples, self.gnc.counts):
            raise UsageError(
                f"judge() has seen {int(self.judged.samples.sum())} samples, not the "
                f"{self.gnc.N} of update(), each once: judge() the same batches in every "
                "process, then sync(); or judge(own=False) other data"
            )


def joined(a: Decisions | None, b: Decisions | None) -> Decisions | None:
    """Return the decisions on two sets of samples, either of which may be missing."""
    return a.joined(b) if a is not None and b is not None else a or b
