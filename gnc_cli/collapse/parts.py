"""What a measurement is assembled from: statistics of the samples, weights, origin and effort."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise, row_norms
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.records import BootstrapIntervals
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline


@dataclass(frozen=True, eq=False)
class Statistics:
    """What one reading of the samples leaves; nothing where there are only weights."""

    moments: ClassMoments | None = None
    """In the space of the GNC metrics: unit rows, or raw ones with normalize=off."""
    raw: ClassMoments | None = None
    """Of raw rows; needed for the classic variants alone."""
    decisions: Decisions | None = None
    train: ClassMoments | None = None
    """Of other data whose class means count for GNC1 and NCC; `moments` are then about these."""
    raw_train: ClassMoments | None = None
    """The same of raw rows, for the classic variants."""
    bootstrap: BootstrapIntervals | None = None
    nc4: float | None = None
    """Share of samples on which classifier and nearest mean of raw rows agree; classic variants."""


@dataclass(frozen=True)
class Identity:
    """Where the numbers are from; copied into the result."""

    file: str | None = None
    snapshot: str | None = None
    epoch: float | None = None
    step: float | None = None
    layer: str | None = None
    split: str | None = None
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """What is asked beyond the numbers that always come."""

    minimum_only: bool = False
    """Neither quantiles nor worst classes: what a training loop wants."""
    every_class: bool | None = None
    """A bracket for each class; None for up to 5000 classes."""
    duplicates: float | None = None
    """Cosine above which two classes are duplicates."""
    variants: str = "none"
    """`none`, `authors`, `classic` or `all`."""
    seed: int = 0
    device: str = "cpu"
    deadline: Deadline | None = None


@dataclass(frozen=True, eq=False)
class Weights:
    """The rows that GNC2 is about: the classifier's, or class means in their place, (m, d)."""

    rows: np.ndarray
    """Float64, in the space of the GNC metrics: unit, or as they are with normalize=off."""
    raw: np.ndarray
    """As they were stored."""
    given: bool
    """False where the class means stand in."""
    classes: np.ndarray
    """Which of the K classes the rows are, increasing, shape (m,); all of them where given."""
    unit: bool
    """Whether `rows` are of norm 1."""


def given_weights(raw: np.ndarray, *, unit: bool, labels: np.ndarray, where: str) -> Weights:
    """A classifier's weights, raw (K, d); scaled where `unit`, which a zero row refuses.

    `labels` of the rows in the file, and where they are from, are for messages.
    """
    zero = np.flatnonzero(~raw.any(axis=1))
    if unit and zero.size:
        raise DataError(
            f"{where} has {zero.size} zero row(s), the first is row {labels[zero[0]]}: a weight "
            f"needs a direction; leave these classes out with {spelled('classes', 'FILE')}"
        )
    rows = raw / row_norms(raw)[:, None] if unit else np.ascontiguousarray(raw, dtype=np.float64)
    return Weights(rows, raw, True, np.arange(len(raw)), unit or _is_unit(rows))


def mean_weights(moments: ClassMoments, *, unit: bool) -> Weights:
    """The means of the classes present in place of weights; two at least, none zero."""
    classes = np.flatnonzero(moments.present)
    if len(classes) < 2:
        raise DataError(f"{len(classes)} class has samples; without weights at least two must")
    means = moments.means[classes]
    if unit and not means.any(axis=1).all():
        raise DataError("a class mean is zero and has no direction; give the classifier's weights")
    rows = normalise(means) if unit else means
    return Weights(rows, means, False, classes, unit or _is_unit(rows))


def _is_unit(rows: np.ndarray) -> bool:
    return bool(np.abs(np.einsum("kd,kd->k", rows, rows) - 1.0).max() < 2e-8)
