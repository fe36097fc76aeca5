"""The rows that GNC2 is about: the classifier's weights, or the class means in their place."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.numerics.screened import row_norms
from gnc_cli.numerics.sphere import normalise

__all__ = ["Weights", "given_weights", "mean_weights"]


@dataclass(frozen=True, eq=False)
class Weights:
    """One row a class, (m, d)."""

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
    """A classifier's weights.

    Args:
        raw: shape (K, d).
        unit: scale the rows to norm 1.
        labels: of the rows in the file, for messages.
        where: they are from.

    Raises:
        DataError: a row that must be scaled is zero.
    """
    zero = np.flatnonzero(~raw.any(axis=1))
    if unit and zero.size:
        raise DataError(
            f"{where} has {zero.size} zero row(s), the first is row {labels[zero[0]]}: a weight "
            "needs a direction; leave these classes out with --classes FILE"
        )
    rows = raw / row_norms(raw)[:, None] if unit else np.ascontiguousarray(raw, dtype=np.float64)
    return Weights(rows, raw, True, np.arange(len(raw)), unit or _is_unit(rows))


def mean_weights(moments: ClassMoments, *, unit: bool) -> Weights:
    """The class means of the classes present, in place of weights.

    Raises:
        DataError: fewer than two classes have a sample, or a mean is zero.
    """
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
