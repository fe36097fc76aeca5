"""The classes of a dataset that are measured, and prefixes of its dimensions."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.collapse.conventions import NONZERO, Conventions, HeadForm, Selection
from gnc_cli.collapse.dataset import Dataset
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import read_lines
from gnc_cli.io.loading import check_range
from gnc_cli.metrics.rows import ColumnRows
from gnc_cli.parameters import MOST_CLASSES, Lines, requires, spelled
from gnc_cli.parsing import shown


@dataclass(frozen=True, eq=False)
class Prepared(Dataset):
    """A dataset, ready to be read through: its classes are those measured, numbered 0 to K - 1, and
    labels are -1 for samples of other classes.
    """

    kept: np.ndarray
    """The classes measured, by their labels in the file, increasing, shape (K,)."""
    K_in_file: int
    """Classes in the file."""
    d: int

    @property
    def K(self) -> int:
        """Number of classes measured."""
        return len(self.classes)

    def numbered(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of the file as indices of `kept`; -1 for samples of other classes."""
        if self.K == self.K_in_file:
            return labels
        index = np.full(self.K_in_file + 1, -1, dtype=np.int64)  # the last is that of label -1
        index[self.classes] = np.arange(self.K)
        return index[labels]


def prepare_dataset(
    samples: Dataset, selection: Selection, conventions: Conventions, least: int = 0
) -> Prepared:
    """Check a dataset and leave out the classes that are not measured; without a classifier there
    are at least `least` classes.

    Raises:
        DataError, UsageError: its parts do not fit each other, or the conventions.
    """
    if conventions.head is not None:
        samples = _with_head(samples, conventions.head)
    features, labels, weights = samples.features, samples.labels, samples.weights
    bias, logits, where = samples.bias, samples.logits, samples.locations
    if features is not None:
        d = features.shape[1]
        labels = _checked_labels(labels, features.shape, where)
    elif weights is not None:
        d = weights.shape[1]
    else:
        name = spelled("features", None if "labels" in where.values() else "F:KEY")
        raise DataError(f"neither features nor weights were found; give {name}")
    if weights is not None and weights.shape[1] != d:
        advice = "give the classifier of these features"
        if weights.shape[0] == d:
            other = spelled("transpose_weights", True)
            advice = f"drop {other}" if selection.transpose_weights else f"{advice}, or {other}"
        raise DataError(
            f"{where['weights']} has shape {weights.shape}, but features have d = {d}; expected "
            f"(K, {d}): {advice}"
        )
    K = number_of_classes(samples, labels, conventions.K, least)
    if labels is not None:
        check_range(labels, K, where["labels"])
    if bias is not None and (weights is None or bias.shape != (K,)):
        raise DataError(f"{where['bias']} has shape {bias.shape}; expected ({K},), beside weights")
    if logits is not None and features is not None and logits.shape != (features.shape[0], K):
        raise DataError(
            f"{where['logits']} has shape {logits.shape}; expected ({features.shape[0]}, {K})"
        )
    if features is None:
        labels = None
    counts = None if labels is None else np.bincount(labels[labels >= 0], minlength=K)
    names = samples.names
    if selection.class_names is not None:
        names = read_lines(selection.class_names)
        if len(names) != K:
            raise DataError(
                f"{shown(selection.class_names)} has {len(names)} names for {K} classes; give one "
                "per line, in order"
            )
    if counts is not None and np.count_nonzero(counts) < 2 and weights is None and logits is None:
        raise DataError(
            f"{where['labels']}: every sample has label {counts.argmax()}; at least two classes "
            "are needed: check the labels, or give the classifier"
        )
    kept = _chosen_classes(K, conventions, names, counts, weights)
    if counts is not None and not counts[kept].any():
        raise DataError("no sample belongs to the classes measured; check the labels")
    whole = Prepared(
        features, labels, weights, bias, logits, where, samples.notes, names, kept, K, d
    )
    if len(kept) == K:
        return whole
    return replace(
        whole,
        labels=None if labels is None else whole.numbered(labels),
        weights=None if weights is None else weights[kept],
        bias=None if bias is None else bias[kept],
        logits=None if logits is None else ColumnRows(logits, kept, threading.local()),
    )


def _with_head(samples: Dataset, form: str) -> Dataset:
    """Leave out the logits, and the bias of a form of the head that has none, with a note.

    Raises:
        DataError: there are no weights.
    """
    if samples.weights is None:
        raise DataError(
            f"{spelled('head', form)} requires weights, and none were found; name them with "
            f"{spelled('weights', 'F:KEY')}"
        )
    bias = samples.bias if form == HeadForm.LINEAR else None
    unused = {"bias": samples.bias if bias is None else None, "logits": samples.logits}
    notes = tuple(
        f"{samples.locations[role]}: ignored, the {form} head decides"
        for role, part in unused.items()
        if part is not None
    )
    return replace(samples, notes=samples.notes + notes, bias=bias, logits=None)


def cut_prefixes(samples: Prepared, dims: Sequence[int] | None) -> list[Prepared]:
    """Return the first p dimensions of a set for each p of `dims`, ascending; the set itself for
    None.

    Features are read once for all. Logits are left out, since they are of all dimensions.

    Raises:
        UsageError: the set has fewer dimensions than the last of `dims`.
    """
    if dims is None:
        return [samples]
    if dims[-1] > samples.d:
        raise UsageError(
            f"{spelled('prefix_dims', dims[-1])} is more than the d = {samples.d} of the data; "
            f"give prefixes up to {samples.d}"
        )
    features, weights, notes = samples.features, samples.weights, samples.notes
    if samples.logits is not None:
        notes += (f"{samples.locations['logits']}: of all dimensions, left out for prefixes",)
    block, parts = threading.local(), []
    for p in dims:
        where = {role: f"{name}, first {p} dimensions" for role, name in samples.locations.items()}
        part = replace(
            samples,
            features=None if features is None else ColumnRows(features, slice(p), block),
            weights=None if weights is None else weights[:, :p],
            logits=None,
            where=where,
            notes=notes,
            d=p,
        )
        parts.append(part)
    return parts


def _checked_labels(
    labels: np.ndarray | None, shape: tuple[int, int], where: dict[str, str]
) -> np.ndarray:
    """Return labels that fit features (N, d), or refuse them."""
    features, (N, d) = where["features"], shape
    if labels is None:
        name = None if features == "features" else "F:KEY"
        raise DataError(
            f"{features} has weights or logits, and no labels; give {spelled('labels', name)}, or "
            f"the features alone: {spelled('features', name)}"
        )
    if len(labels) != N:
        step = "give one for each row"
        if len(labels) == d:
            step = f"these features are stored as (d, N): add {spelled('transpose_features', True)}"
        raise DataError(
            f"{where['labels']} has {len(labels)} labels for {N} features ({features}); {step}"
        )
    if not N:
        raise DataError(f"{features} holds no rows")
    if labels.max() < 0:
        raise DataError(f"{where['labels']}: all {N} samples are left out; check the labels")
    return labels


def number_of_classes(
    samples: Dataset, labels: np.ndarray | None, wanted: int | None, least: int = 0
) -> int:
    """Return K: rows of the weights, columns of the logits, else `--K`, or what names and the
    largest label say, but at least `least`.
    """
    if samples.weights is not None:
        K, where = len(samples.weights), samples.locations["weights"]
    elif samples.logits is not None:
        K, where = samples.logits.shape[1], samples.locations["logits"]
    else:
        largest = 0 if labels is None else int(labels.max(initial=0))
        if largest >= MOST_CLASSES:
            raise DataError(
                f"{samples.locations['labels']} has label {largest}, and labels run from 0 to K - 1 "
                f"for K = {MOST_CLASSES}; number them anew"
            )
        return wanted or max(largest + 1, least, len(samples.names or ()))
    if wanted not in (None, K):
        raise DataError(
            f"{where} has {K} classes, not {spelled('K', wanted)}; drop it, add the missing part, "
            "or mend the file"
        )
    return K


def _chosen_classes(
    K: int,
    conventions: Conventions,
    names: list[str] | None,
    counts: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Return the classes that `--classes` and `--min-count` leave; `counts` are samples, (K,).

    Raises:
        DataError: there are fewer than two.
        UsageError: `--min-count` without samples.
    """
    classes, min_count = conventions.classes, conventions.min_count
    kept = np.ones(K, dtype=bool)
    if classes == NONZERO:
        kept[:] = True if weights is None else weights.any(axis=1)
    elif classes is not None:
        kept[:] = False
        kept[_listed(classes, K, names or [])] = True
    if min_count is not None:
        if counts is None:
            advice = f"use {spelled('classes', 'FILE')}"
            raise requires("min_count", "samples, and there are none", advice)
        kept &= counts >= min_count
    remaining = np.flatnonzero(kept)
    if len(remaining) < 2:
        options = [n for n, v in (("classes", classes), ("min_count", min_count)) if v is not None]
        reason = f" by {' and '.join(map(spelled, options))}" if options else ""
        raise DataError(f"{len(remaining)} of {K} classes left{reason}; at least two are needed")
    return remaining


def _listed(path: str | Lines, K: int, names: list[str]) -> list[int]:
    """Return the labels in a file or list of labels, or of names."""
    places = {name: k for k, name in enumerate(names)}
    return [
        class_of(word, K, places, f"{shown(path)}, line {number}")
        for number, word in enumerate(read_lines(path), start=1)
        if word
    ]


def class_of(word: str, K: int, places: Mapping[str, int], where: str) -> int:
    """Return the class that a word of a file names, by its label or in `places`.

    Raises:
        DataError: it names none; begins with `where`.
    """
    if word in places:
        return places[word]
    if re.fullmatch(r"\d{1,18}", word, re.ASCII) and int(word) < K:
        return int(word)
    hint = f"a label from 0 to {K - 1}" + (" or a name" if places else "")
    raise DataError(f"{where}: {word[:40]!r} is no class; expected {hint}")
