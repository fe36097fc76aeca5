"""Selection of the measured classes of a dataset, and of prefixes of its dimensions."""

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
from gnc_cli.parsing import quote


@dataclass(frozen=True, eq=False)
class Prepared(Dataset):
    """A dataset with the measured classes numbered 0 to K - 1, and label -1 for other classes."""

    classes: np.ndarray
    """Labels in the file of the measured classes, increasing, shape (K,)."""
    K_in_file: int
    """Number of classes in the file."""
    d: int
    """Dimension of the features and weights."""

    @property
    def K(self) -> int:
        """Number of classes measured."""
        return len(self.classes)

    def numbered(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of the file, shape (N,), as indices of `classes`; -1 for other classes."""
        if self.K == self.K_in_file:
            return labels
        index = np.full(self.K_in_file + 1, -1, dtype=np.int64)  # the last is that of label -1
        index[self.classes] = np.arange(self.K)
        return index.take(labels)


def prepare_dataset(
    samples: Dataset, selection: Selection, conventions: Conventions, min_classes: int = 0
) -> Prepared:
    """Check a dataset and leave out the classes that are not measured.

    Without a classifier K is at least `min_classes`.

    Raises:
        DataError, UsageError: its parts do not fit each other, or the conventions.
    """
    if conventions.head is not None:
        samples = _with_head(samples, conventions.head)
    features, labels, weights = samples.features, samples.labels, samples.weights
    bias, logits, locations = samples.bias, samples.logits, samples.locations
    if features is not None:
        d = features.shape[1]
        labels = _checked_labels(labels, features.shape, locations)
    elif weights is not None:
        d = weights.shape[1]
    else:
        name = spelled("features", None if "labels" in locations.values() else "F:KEY")
        raise DataError(f"neither features nor weights were found; give {name}")
    if weights is not None and weights.shape[1] != d:
        advice = "give the classifier of these features"
        if weights.shape[0] == d:
            option = spelled("transpose_weights", True)
            advice = f"drop {option}" if selection.transpose_weights else f"{advice}, or {option}"
        raise DataError(
            f"{locations['weights']} has shape {weights.shape}, but features have d = {d}; "
            f"expected (K, {d}): {advice}"
        )
    K = number_of_classes(samples, labels, conventions.K, min_classes)
    if labels is not None:
        check_range(labels, K, locations["labels"])
    if bias is not None and (weights is None or bias.shape != (K,)):
        raise DataError(
            f"{locations['bias']} has shape {bias.shape}; expected ({K},), together with weights"
        )
    if logits is not None and features is not None and logits.shape != (features.shape[0], K):
        raise DataError(
            f"{locations['logits']} has shape {logits.shape}; expected ({features.shape[0]}, {K})"
        )
    if features is None:
        labels = None
    counts = None if labels is None else np.bincount(labels[labels >= 0], minlength=K)
    names = samples.names
    if selection.class_names is not None:
        names = read_lines(selection.class_names)
        if len(names) != K:
            raise DataError(
                f"{quote(selection.class_names)} has {len(names)} names for {K} classes; give one "
                "per line, in order"
            )
    if counts is not None and np.count_nonzero(counts) < 2 and weights is None and logits is None:
        raise DataError(
            f"{locations['labels']}: every sample has label {counts.argmax()}; at least two "
            "classes are needed: check the labels, or give the classifier"
        )
    classes = _measured_classes(K, conventions, names, counts, weights)
    if counts is not None and not counts[classes].any():
        raise DataError("no sample belongs to the classes measured; check the labels")
    whole = Prepared(
        features, labels, weights, bias, logits, locations, samples.notes, names, classes, K, d
    )
    if len(classes) == K:
        return whole
    return replace(
        whole,
        labels=None if labels is None else whole.numbered(labels),
        weights=None if weights is None else weights[classes],
        bias=None if bias is None else bias[classes],
        logits=None if logits is None else ColumnRows(logits, classes, threading.local()),
    )


def _with_head(samples: Dataset, form: str) -> Dataset:
    """Leave out the logits, and the bias where this form of the head has none, with a note.

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
    """Return the first p dimensions of a set for each p of `dims`, ascending.

    Without `dims` it is the set itself. Features are read once for all prefixes. Logits are left
    out, since they are of all dimensions.

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
        locations = {
            role: f"{name}, first {p} dimensions" for role, name in samples.locations.items()
        }
        part = replace(
            samples,
            features=None if features is None else ColumnRows(features, slice(p), block),
            weights=None if weights is None else weights[:, :p],
            logits=None,
            locations=locations,
            notes=notes,
            d=p,
        )
        parts.append(part)
    return parts


def _checked_labels(
    labels: np.ndarray | None, shape: tuple[int, int], locations: dict[str, str]
) -> np.ndarray:
    """Return the labels, shape (N,), of features of `shape` (N, d).

    Raises:
        DataError: there are no labels, or none that counts, or their number is not N.
    """
    features, (N, d) = locations["features"], shape
    if labels is None:
        name = None if features == "features" else "F:KEY"
        raise DataError(
            f"{features} has weights or logits, and no labels; give {spelled('labels', name)}, or "
            f"the features only: {spelled('features', name)}"
        )
    if len(labels) != N:
        step = "give one for each row"
        if len(labels) == d:
            step = f"these features are stored as (d, N): add {spelled('transpose_features', True)}"
        raise DataError(
            f"{locations['labels']} has {len(labels)} labels for {N} features ({features}); {step}"
        )
    if not N:
        raise DataError(f"{features} holds no rows")
    if labels.max() < 0:
        raise DataError(f"{locations['labels']}: all {N} samples are left out; check the labels")
    return labels


def number_of_classes(
    samples: Dataset, labels: np.ndarray | None, option: int | None, min_classes: int = 0
) -> int:
    """Return K: the rows of the weights or the columns of the logits, else `--K`.

    Without these it is the largest of `min_classes`, the number of names, and the largest of the
    labels, shape (N,), plus 1.

    Raises:
        DataError: K is not `option`, the value of `--K`, or a label is too large.
    """
    if samples.weights is not None:
        K, location = len(samples.weights), samples.locations["weights"]
    elif samples.logits is not None:
        K, location = samples.logits.shape[1], samples.locations["logits"]
    else:
        largest = 0 if labels is None else int(labels.max(initial=0))
        if largest >= MOST_CLASSES:
            raise DataError(
                f"{samples.locations['labels']} has label {largest}, and labels run from 0 to "
                f"K - 1 for K = {MOST_CLASSES}; renumber them"
            )
        return option or max(largest + 1, min_classes, len(samples.names or ()))
    if option not in (None, K):
        raise DataError(
            f"{location} has {K} classes, not {spelled('K', option)}; drop it, add the missing "
            "part, or fix the file"
        )
    return K


def _measured_classes(
    K: int,
    conventions: Conventions,
    names: list[str] | None,
    counts: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Return the classes that `--classes` and `--min-count` leave, shape (m,).

    `counts` are the samples of each class, shape (K,).

    Raises:
        DataError: fewer than two classes remain.
        UsageError: `--min-count` without samples.
    """
    classes, min_count = conventions.classes, conventions.min_count
    mask = np.ones(K, dtype=bool)
    if classes == NONZERO:
        mask[:] = True if weights is None else weights.any(axis=1)
    elif classes is not None:
        mask[:] = False
        mask[_read_classes(classes, K, names or [])] = True
    if min_count is not None:
        if counts is None:
            advice = f"use {spelled('classes', 'FILE')}"
            raise requires("min_count", "samples, and there are none", advice)
        mask &= counts >= min_count
    remaining = np.flatnonzero(mask)
    if len(remaining) < 2:
        options = [n for n, v in (("classes", classes), ("min_count", min_count)) if v is not None]
        reason = f" by {' and '.join(map(spelled, options))}" if options else ""
        raise DataError(f"{len(remaining)} of {K} classes left{reason}; at least two are needed")
    return remaining


def _read_classes(path: str | Lines, K: int, names: list[str]) -> list[int]:
    """Return the classes in a file, or a list, of labels or names."""
    places = {name: k for k, name in enumerate(names)}
    return [
        class_of(word, K, places, f"{quote(path)}, line {number}")
        for number, word in enumerate(read_lines(path), start=1)
        if word
    ]


def class_of(word: str, K: int, places: Mapping[str, int], location: str) -> int:
    """Return the class of a word in a file: its index in `places`, or its label.

    Raises:
        DataError: the word is no class; the message begins with `location`.
    """
    if word in places:
        return places[word]
    if re.fullmatch(r"\d{1,18}", word, re.ASCII) and int(word) < K:
        return int(word)
    hint = f"a label from 0 to {K - 1}" + (" or a name" if places else "")
    raise DataError(f"{location}: {word[:40]!r} is no class; expected {hint}")
