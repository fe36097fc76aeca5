"""From names to numbers: the datasets of one row, opened, held against each other, and narrowed to
the classes that are measured."""

import contextlib
import hashlib
import io
import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc_cli.collapse.request import NONZERO, ROLES, Request
from gnc_cli.collapse.roles import Piece
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.file_rows import ConcatenatedRows, FileRows, advice_for, matrix_shape
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input, read_lines, split_key
from gnc_cli.io.loading import (
    LARGEST_LABEL,
    check_range,
    joined_labels,
    load_bias,
    load_weights,
    numbered,
    require_finite,
    zero_based,
)
from gnc_cli.io.models import class_names
from gnc_cli.metrics.rows import ArrayRows, ColumnRows, Rows, to_numpy
from gnc_cli.parameters import MOST_CLASSES, Lines, spelled
from gnc_cli.parsing import shown

_MOST_OPEN = 64
"""Files that stay open."""


@dataclass(frozen=True, eq=False)
class Samples:
    """The numbers of one row; features and logits can be read while their files are open."""

    features: Rows | None
    """Rows (N, d), as stored."""
    labels: np.ndarray | None
    """Shape (N,), int64, -1 for samples that are left out; not held against K."""
    weights: np.ndarray | None
    """Shape (K, d), float64, as stored, finite; rows may be zero."""
    bias: np.ndarray | None
    """Shape (K,), float64, finite."""
    logits: Rows | None
    """Rows (N, K), as stored."""
    where: dict[str, str]
    """How messages name each of them: `'f.h5': dataset 'features'`."""
    notes: tuple[str, ...]
    """What was done to read them, for the user to check."""
    names: list[str] | None
    """Of the classes, by the label in the file."""


# Files --------------------------------------------------------------------------------------------


class Inputs:
    """Input files by name. Each is opened and listed once, and stays open as long as this lives;
    beyond `_MOST_OPEN` files the others are opened as often as asked for. A pipe is read once."""

    def __init__(self) -> None:
        self._piped: dict[str, bytes] = {}
        self._open: dict[str, Catalogue] = {}
        self._files = contextlib.ExitStack()
        weakref.finalize(self, self._files.close)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Catalogue]:
        """The catalogue of a file, or of `-`, for the block."""
        if path not in self._open and len(self._open) < _MOST_OPEN:
            self._open[path] = self._files.enter_context(self._listed(path))
        if path in self._open:
            yield self._open[path]
        else:
            with self._listed(path) as catalogue:
                yield catalogue

    @contextlib.contextmanager
    def _listed(self, path: str) -> Iterator[Catalogue]:
        with contextlib.ExitStack() as stack:
            if path in self._piped:
                file = stack.enter_context(io.BytesIO(self._piped[path]))
            else:
                file = stack.enter_context(open_input(path))  # type: ignore[assignment]
                if isinstance(file, io.BytesIO):
                    self._piped[path] = file.getvalue()
            yield stack.enter_context(reader_for(path, file)(file, path))

    def stamp(self, path: str) -> str:
        """A text that changes when the file does: size and time, or a digest of what was piped."""
        if path in self._piped:
            return hashlib.sha256(self._piped[path]).hexdigest()[:16]
        return file_stamp(path)


def file_stamp(name: str) -> str:
    """A text that changes when the file `FILE` or `FILE:key` does: size and time; "" if missing."""
    path, _ = split_key(name)
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


@contextlib.contextmanager
def open_samples(
    inputs: Inputs,
    request: Request,
    pieces: Mapping[str, Sequence[Piece]],
    *,
    copies: bool,
    counted: bool,
) -> Iterator[Samples]:
    """Open the datasets of one row for the block.

    Args:
        pieces: by role, in order.
        copies: several pieces of weights are the same weights again, not parts of them.
        counted: a code with one feature per class: labels are 0 to K - 1.

    Raises:
        DataError: a dataset cannot be used, or two do not fit each other; names file, dataset and
            the next step.
    """
    with contextlib.ExitStack() as stack:
        files: dict[str, Catalogue] = {}
        for path in dict.fromkeys(piece.path for of_role in pieces.values() for piece in of_role):
            files[path] = stack.enter_context(inputs.open(path))
        datasets = {role: [(files[p.path], p.name) for p in pieces.get(role, ())] for role in ROLES}
        turned = {"features": request.transpose_features}
        rows = {
            role: ConcatenatedRows(
                [FileRows(*piece, transpose=turned.get(role, False)) for piece in datasets[role]]
            )
            for role in ("features", "logits")
            if datasets[role]
        }
        features, logits = rows.get("features"), rows.get("logits")
        where = {
            role: places[0][0].where(places[0][1]) for role, places in datasets.items() if places
        }
        where |= {role: joined.where for role, joined in rows.items()}
        labels = joined_labels(datasets["labels"], datasets["features"], where, request.labels_are)
        if counted and features is not None:
            labels = np.arange(features.shape[0])
            where["labels"] = f"{features.where}, one row a class"
        biases = [load_bias(*piece) for piece in datasets["bias"][: 1 if copies else None]]
        bias = np.concatenate(biases) if biases else None
        weights = None
        if datasets["weights"]:
            parts = [FileRows(*piece, least=1) for piece in datasets["weights"]]
            weights = _weights(parts, request.transpose_weights, copies)
        notes = tuple(
            f"{file.where(name)}: {file.entries[name].note}"
            for places in datasets.values()
            for file, name in places
            if file.entries[name].note
        )
        notes += tuple(note for joined in rows.values() for note in joined.notes)
        models = [piece.model for piece in pieces.get("weights", ()) if piece.model is not None]
        names = class_names(models[0], len(weights)) if models and weights is not None else None
        if labels is not None and labels.dtype == object:
            labels, names = numbered(
                labels,
                request.class_names or (None if names is None else Lines(tuple(names))),
                where,
            )
        yield Samples(features, labels, weights, bias, logits, where, notes, names)


def _weights(parts: Sequence[FileRows], transpose: bool, copies: bool) -> np.ndarray:
    """The classifier: rows of all parts, or the one that all parts repeat."""
    own = parts[:1] if copies else parts
    weights = load_weights(own, transpose=transpose)
    for part in parts[len(own) :]:
        if not np.array_equal(load_weights([part], transpose=transpose), weights):
            raise DataError(
                f"{part.where} differs from {parts[0].where}; shards of one set share their "
                f"classifier: name it with {spelled('weights')}"
            )
    return weights


# Arrays -------------------------------------------------------------------------------------------


def samples_of_arrays(
    values: Mapping[str, Any],
    transpose_weights: bool = False,
    transpose_features: bool = False,
    labels_are: str = "zero-based",
    class_names: str | Lines | None = None,
) -> Samples:
    """Features, labels, weights, bias, logits as the caller gave them, checked."""
    arrays = {name: to_numpy(v, name, texts=name == "labels") for name, v in values.items()}
    where, names, notes = {name: name for name in arrays}, None, []
    if "labels" in arrays and arrays["labels"].dtype.kind == "U":
        arrays["labels"], names = numbered(arrays["labels"], class_names, where)
    elif "labels" in arrays:
        arrays["labels"] = zero_based(arrays["labels"], "labels", labels_are)
    for name, array in arrays.items():
        rank = 1 if name in ("labels", "bias") else 2
        step = ""
        if rank == 2 and array.ndim > 2 and array.size:
            step, shape = advice_for(array.shape), matrix_shape(array.shape)
            if len(shape) == 2:
                notes.append(f"{name}: shape {array.shape} read as {shape}")
                arrays[name] = array = array.reshape(shape)
        if name == "features" and transpose_features:
            arrays[name] = array = array.T
        narrow = array.ndim == rank and min(array.shape[1:], default=2) < 2
        if array.ndim != rank or narrow or array.dtype.kind not in "iuf":
            expected = "(rows, at least 2 columns)" if rank == 2 else "(rows,)"
            raise DataError(
                f"{name}: shape {array.shape}, dtype {array.dtype}; expected real numbers "
                f"{expected}{step}"
            )
        if name in ("weights", "bias"):
            arrays[name] = array = array.astype(np.float64)
            require_finite(array, name)
    weights, labels = arrays.get("weights"), arrays.get("labels")
    if labels is not None:
        if np.isnan(labels).any():
            raise DataError(
                f"labels have no value at row {np.isnan(labels).argmax()}; leave such rows out"
            )
        least, most = labels.min(initial=0), labels.max(initial=0)
        if labels.dtype.kind not in "iu" or least < -1 or most > LARGEST_LABEL:
            raise DataError(
                f"labels have dtype {labels.dtype}, smallest {least}, largest {most}; "
                "expected integers from 0 on, or -1 or -100 for samples that are left out: number "
                "them anew"
            )
        labels = labels.astype(np.int64)
    rows = {name: ArrayRows(arrays[name]) for name in ("features", "logits") if name in arrays}
    return Samples(
        features=rows.get("features"),
        labels=labels,
        weights=weights.T if transpose_weights and weights is not None else weights,
        bias=arrays.get("bias"),
        logits=rows.get("logits"),
        where=where,
        notes=tuple(notes),
        names=names,
    )


# The classes that are measured --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prepared(Samples):
    """One set, ready to be read through: classes are numbered 0 to K - 1 as they are measured, and
    labels are -1 for samples of classes left out."""

    kept: np.ndarray
    """The classes measured, by their labels in the file, increasing, shape (K,)."""
    K_in_file: int
    """Classes in the file."""
    d: int

    @property
    def K(self) -> int:
        """Classes measured."""
        return len(self.kept)

    def numbered(self, labels: np.ndarray) -> np.ndarray:
        """Labels of the file as places in `kept`; -1 for samples of classes left out."""
        if self.K == self.K_in_file:
            return labels
        place = np.full(self.K_in_file + 1, -1, dtype=np.int64)  # the last is that of label -1
        place[self.kept] = np.arange(self.K)
        return place[labels]


def prepare_samples(samples: Samples, request: Request) -> Prepared:
    """Check one set of arrays and leave out the classes that are not asked for."""
    features, labels, weights = samples.features, samples.labels, samples.weights
    bias, logits, where = samples.bias, samples.logits, samples.where
    if features is not None:
        d = features.shape[1]
        labels = _checked_labels(labels, features.shape, where)
    elif weights is not None:
        d = weights.shape[1]
    else:
        name = spelled("features", "F:KEY")
        raise DataError(f"neither features nor weights were found; name them with {name}")
    if weights is not None and weights.shape[1] != d:
        advice = "give the classifier of these features"
        if weights.shape[0] == d:
            other = spelled("transpose_weights")
            advice = f"drop {other}" if request.transpose_weights else f"{advice}, or {other}"
        raise DataError(
            f"{where['weights']} has shape {weights.shape}, but features have d = {d}; expected "
            f"(K, {d}): {advice}"
        )
    K = _number_of_classes(samples, labels, request.K)
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
    if request.class_names is not None:
        names = read_lines(request.class_names)
        if len(names) != K:
            raise DataError(
                f"{shown(request.class_names)} has {len(names)} names for {K} classes; give one "
                "per line, in order"
            )
    kept = _chosen_classes(K, request, names, counts, weights)
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


def cut_samples(samples: Prepared, dims: Sequence[int] | None) -> list[Prepared]:
    """The first p dimensions of one set, for each p of `dims`, ascending; the set itself for None.

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
        notes += (f"{samples.where['logits']}: of all dimensions, left out for prefixes",)
    block, parts = threading.local(), []
    for p in dims:
        where = {role: f"{name}, first {p} dimensions" for role, name in samples.where.items()}
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
    features, (N, d) = where["features"], shape
    if labels is None:
        raise DataError(
            f"{features} has weights or logits, and no labels; give "
            f"{spelled('labels', 'F:KEY')}, or the features alone: {spelled('features', 'F:KEY')}"
        )
    if len(labels) != N:
        turned = f", or {spelled('transpose_features')} for features stored as (d, N)"
        raise DataError(
            f"{where['labels']} has {len(labels)} labels for {N} features ({features}, shape "
            f"{shape}); give one for each row{turned if len(labels) == d else ''}"
        )
    if not N:
        raise DataError(f"{features} holds no rows")
    return labels


def _number_of_classes(samples: Samples, labels: np.ndarray | None, wanted: int | None) -> int:
    """K: rows of the weights, columns of the logits, else `--K` or the largest label and one."""
    if samples.weights is not None:
        K, where = len(samples.weights), samples.where["weights"]
    elif samples.logits is not None:
        K, where = samples.logits.shape[1], samples.where["logits"]
    else:
        largest = 0 if labels is None else int(labels.max(initial=0))
        if largest >= MOST_CLASSES:
            raise DataError(
                f"{samples.where['labels']} has label {largest}, and labels run from 0 to K - 1 "
                f"for K = {MOST_CLASSES}; number them anew"
            )
        return wanted or largest + 1
    if wanted not in (None, K):
        raise DataError(
            f"{where} has {K} classes, not {spelled('K', wanted)}; drop it, add the missing part, "
            "or mend the file"
        )
    return K


def _chosen_classes(
    K: int,
    request: Request,
    names: list[str] | None,
    counts: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """The classes that `--classes` and `--min-count` leave; `counts` are samples, shape (K,)."""
    classes, min_count = request.classes, request.min_count
    kept = np.ones(K, dtype=bool)
    if classes == NONZERO:
        kept[:] = True if weights is None else weights.any(axis=1)
    elif classes is not None:
        kept[:] = False
        kept[_listed(classes, K, names or [])] = True
    if min_count is not None:
        if counts is None:
            raise UsageError(
                f"{spelled('min_count')} counts samples, and there are none; use "
                f"{spelled('classes', 'FILE')}"
            )
        kept &= counts >= min_count
    left = np.flatnonzero(kept)
    if len(left) < 2:
        options = [n for n, v in (("classes", classes), ("min_count", min_count)) if v is not None]
        by = f" by {' and '.join(map(spelled, options))}" if options else ""
        raise DataError(f"{len(left)} of {K} classes left{by}; at least two are needed")
    return left


def _listed(path: str | Lines, K: int, names: list[str]) -> list[int]:
    """The labels in a file or list of labels, or of names."""
    places = {name: k for k, name in enumerate(names)}
    return [
        class_of(word, K, places, f"{shown(path)}, line {number}")
        for number, word in enumerate(read_lines(path), start=1)
        if word
    ]


def class_of(word: str, K: int, places: Mapping[str, int], where: str) -> int:
    """The class that a word of a file names, by its label or in `places`.

    Raises:
        DataError: none; begins with `where`.
    """
    if word in places:
        return places[word]
    if re.fullmatch(r"\d{1,18}", word, re.ASCII) and int(word) < K:
        return int(word)
    hint = f"a label from 0 to {K - 1}" + (" or a name" if places else "")
    raise DataError(f"{where}: {word[:40]!r} is no class; expected {hint}")
