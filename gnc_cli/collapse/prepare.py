"""What was read, checked against itself: shapes, labels, K; and the classes that are measured."""

import os
from dataclasses import dataclass

import numpy as np

from gnc_cli.collapse.opening import Samples
from gnc_cli.collapse.request import Request
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import read_lines
from gnc_cli.metrics.rows import Rows
from gnc_cli.parameters import spelled


@dataclass(frozen=True, eq=False)
class Selection:
    """The classes measured, by their labels in the file."""

    kept: np.ndarray
    """Labels, increasing, shape (m,)."""
    K: int
    """Classes in the file."""

    @property
    def everything(self) -> bool:
        """Whether no class is left out."""
        return len(self.kept) == self.K

    def labels(self, labels: np.ndarray) -> np.ndarray:
        """Labels as places in `kept`; -1 for samples of classes left out."""
        if self.everything:
            return labels
        place = np.full(self.K, -1, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        return place[labels]


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


def prepare_samples(samples: Samples, request: Request) -> Prepared:
    """Check one set of arrays and leave out the classes that are not asked for."""
    features, labels, weights = samples.features, samples.labels, samples.weights
    where = samples.where
    if features is not None:
        d = features.shape[1]
        labels = _checked_labels(labels, features.shape[0], where)
    elif weights is not None:
        d = weights.shape[1]
    else:
        name = spelled("features", "F:KEY")
        raise DataError(f"neither features nor weights were found; name them with {name}")
    if weights is not None and weights.shape[1] != d:
        raise DataError(
            f"{where['weights']} has shape {weights.shape}, but features have d = {d}; expected "
            f"(K, {d})" + (f", try {spelled('transpose_weights')}" if weights.shape[0] == d else "")
        )
    K = _number_of_classes(samples, labels, request.K)
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
    names = _class_names(request.class_names, K)
    selection = _select_classes(K, request, names, counts)
    kept = selection.kept
    if counts is not None and not counts[kept].any():
        raise DataError("no sample belongs to the classes measured; check the labels")
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


def _checked_labels(labels: np.ndarray | None, N: int, where: dict[str, str]) -> np.ndarray:
    features = where.get("features", "features")
    if labels is None:
        raise DataError(f"{features} has no labels beside it; give {spelled('labels', 'F:KEY')}")
    if len(labels) != N:
        raise DataError(
            f"{where.get('labels', 'labels')} has {len(labels)} labels for {N} features"
            f" ({features}); give one for each row"
        )
    if not N:
        raise DataError(f"{features} holds no rows")
    return labels


def _number_of_classes(samples: Samples, labels: np.ndarray | None, asked: int | None) -> int:
    """K: rows of the weights, columns of the logits, else `--K` or the largest label and one."""
    if samples.weights is not None:
        found, where = len(samples.weights), samples.where.get("weights", "weights")
    elif samples.logits is not None:
        found, where = samples.logits.shape[1], samples.where.get("logits", "logits")
    else:
        top = 0 if labels is None or not len(labels) else int(labels.max())
        return max(top + 1, asked or 0)
    if asked is not None and asked != found:
        raise DataError(
            f"{where} has {found} classes, not {spelled('K', asked)}; drop it or mend the file"
        )
    return found


def _class_names(path: str | None, K: int) -> list[str] | None:
    """Names of the classes, one per line in order of their labels."""
    if path is None:
        return None
    names = read_lines(os.fspath(path))
    if len(names) != K:
        raise DataError(
            f"{path!r} has {len(names)} names for {K} classes; give one a line, in order"
        )
    return names


def _select_classes(
    K: int, request: Request, names: list[str] | None, counts: np.ndarray | None
) -> Selection:
    """The classes that `--classes` and `--min-count` leave; `counts` are samples, shape (K,)."""
    classes, min_count = request.classes, request.min_count
    kept = np.ones(K, dtype=bool)
    if classes is not None:
        kept = np.zeros(K, dtype=bool)
        kept[_listed(os.fspath(classes), K, names or [])] = True
    if min_count is not None:
        if counts is None:
            raise UsageError(
                f"{spelled('min_count')} counts samples, and there are none; use "
                f"{spelled('classes', 'FILE')}"
            )
        kept &= counts >= min_count
    left = np.flatnonzero(kept)
    if len(left) < 2:
        asked = [n for n, v in (("classes", classes), ("min_count", min_count)) if v is not None]
        by = f" by {' and '.join(map(spelled, asked))}" if asked else ""
        raise DataError(f"{len(left)} of {K} classes left{by}; at least two are needed")
    return Selection(left, K)


def _listed(path: str, K: int, names: list[str]) -> list[int]:
    """The labels in a file of labels, or of names, one per line."""
    places = {name: k for k, name in enumerate(names)}
    found = []
    for number, word in enumerate(read_lines(path), start=1):
        if word in places:
            found.append(places[word])
        elif word.isascii() and word.isdigit() and int(word) < K:
            found.append(int(word))
        elif word:
            hint = f"a label from 0 to {K - 1}" + (" or a name" if names else "")
            raise DataError(f"{path!r}, line {number}: {word[:40]!r} is no class; expected {hint}")
    return found


class _Columns:
    """Some columns of logits, as `Rows`."""

    def __init__(self, rows: Rows, columns: np.ndarray) -> None:
        self._rows, self._columns = rows, columns
        self.shape = (rows.shape[0], len(columns))
        self.dtype, self.step = rows.dtype, rows.step

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._rows.read(start, stop)[:, self._columns]
