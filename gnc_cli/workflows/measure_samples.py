"""What was read, checked against itself: shapes, labels, K, and the classes that are measured."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.rows import Rows
from gnc_cli.workflows.measure_classes import Selection, class_names, select_classes
from gnc_cli.workflows.measure_request import Request

if TYPE_CHECKING:
    from gnc_cli.io.samples import Samples

__all__ = ["Prepared", "prepare_samples"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """One set, ready to be read through: classes are numbered 0 to K - 1 as they are measured."""

    features: Rows | None
    labels: np.ndarray | None
    """Shape (N,), int64; -1 for samples of classes left out."""
    weights: np.ndarray | None
    """As stored, shape (K, d), float64."""
    bias: np.ndarray | None
    logits: Rows | None
    selection: Selection
    d: int
    names: list[str] | None
    """By the label in the file."""
    where: dict[str, str]

    @property
    def K(self) -> int:
        """Classes measured."""
        return len(self.selection.kept)


def prepare_samples(samples: "Samples", request: Request) -> Prepared:
    """Check one set of arrays and leave out the classes that are not asked for.

    Raises:
        DataError: nothing to measure, lengths that disagree, a label out of range, a class without
            samples under `--missing error`.
        UsageError: `--min-count` without samples.
    """
    features, labels, weights = samples.features, samples.labels, samples.weights
    where = samples.where
    if features is None and weights is None:
        raise DataError("neither features nor weights were found; name them with --features F:KEY")
    d = features.shape[1] if features is not None else weights.shape[1]  # type: ignore[union-attr]
    if features is not None:
        labels = _checked_labels(labels, features, where)
    if weights is not None and weights.shape[1] != d:
        raise DataError(
            f"{where['weights']} has shape {weights.shape}, but features have d = {d}; expected "
            f"(K, {d})" + (", try --transpose-weights" if weights.shape[0] == d else "")
        )
    K = _classes(samples, labels, request.K)
    if labels is not None and len(labels) and int(labels.max()) >= K:
        row = int((labels >= K).argmax())
        raise DataError(
            f"{where.get('labels', 'labels')} has label {labels[row]} at row {row}, out of range "
            f"for K = {K}; expected 0 to {K - 1}"
        )
    bias, logits = samples.bias, samples.logits
    if bias is not None and (weights is None or bias.shape != (K,)):
        raise DataError(f"{where['bias']} has shape {bias.shape}; expected ({K},), beside weights")
    if logits is not None and features is not None and logits.shape != (features.shape[0], K):
        raise DataError(
            f"{where['logits']} has shape {logits.shape}; expected ({features.shape[0]}, {K})"
        )
    counts = None if features is None else np.bincount(np.asarray(labels), minlength=K)
    names = class_names(request.class_names, K)
    selection = select_classes(
        K, classes=request.classes, names=names, counts=counts, min_count=request.min_count
    )
    kept = selection.kept
    if counts is not None:
        _check_missing(counts[kept], kept, request.missing)
    narrowed = not selection.everything
    return Prepared(
        features=features,
        labels=None if features is None else selection.labels(np.asarray(labels)),
        weights=weights[kept] if weights is not None and narrowed else weights,
        bias=bias[kept] if bias is not None and narrowed else bias,
        logits=_Columns(logits, kept) if logits is not None and narrowed else logits,
        selection=selection,
        d=d,
        names=names,
        where=where,
    )


def _checked_labels(
    labels: np.ndarray | None, features: Rows, where: dict[str, str]
) -> np.ndarray:
    N = features.shape[0]
    if labels is None:
        raise DataError(
            f"{where.get('features', 'features')} has no labels beside it; give --labels F:KEY"
        )
    if len(labels) != N:
        raise DataError(
            f"{where.get('labels', 'labels')} has {len(labels)} labels for {N} features"
            f" ({where.get('features', 'features')}); give one for each row"
        )
    if not N:
        raise DataError(f"{where.get('features', 'features')} holds no rows")
    return labels


def _classes(samples: "Samples", labels: np.ndarray | None, asked: int | None) -> int:
    """K: rows of the weights, columns of the logits, `--K`, else the largest label and one."""
    if samples.weights is not None:
        found, where = len(samples.weights), samples.where.get("weights", "weights")
    elif samples.logits is not None:
        found, where = samples.logits.shape[1], samples.where.get("logits", "logits")
    else:
        top = 0 if labels is None or not len(labels) else int(labels.max())
        return max(top + 1, asked or 0)
    if asked is not None and asked != found:
        raise DataError(f"{where} has {found} classes, not --K {asked}; drop --K or mend the file")
    return found


def _check_missing(counts: np.ndarray, kept: np.ndarray, missing: str) -> None:
    absent = kept[counts == 0]
    if not counts.any():
        raise DataError("no sample belongs to the classes measured; check the labels")
    if missing == "error" and absent.size:
        first = ", ".join(str(k) for k in absent[:5])
        raise DataError(
            f"{absent.size} of {len(kept)} classes have no sample, the first are {first}; "
            "--missing skip leaves them out of every mean"
        )


class _Columns:
    """Some columns of logits."""

    def __init__(self, rows: Rows, columns: np.ndarray) -> None:
        self._rows, self._columns = rows, columns
        self.shape = (rows.shape[0], len(columns))
        self.dtype, self.step = rows.dtype, rows.step

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._rows.read(start, stop)[:, self._columns]
