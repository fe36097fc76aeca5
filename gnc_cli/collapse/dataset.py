"""From names to numbers: the datasets of one row, opened and compared with each other."""

import contextlib
import hashlib
import io
import os
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc_cli.collapse.conventions import ROLES, Selection
from gnc_cli.collapse.heads import other_matrices
from gnc_cli.collapse.roles import Piece, unused_vectors
from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, check_entry, is_kernel, translated
from gnc_cli.io.file_rows import ConcatenatedRows, FileRows, advice_for, matrix_shape
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.io.loading import (
    IGNORED,
    joined_labels,
    load_bias,
    load_numbers,
    load_weights,
    numbered,
    refuse_bits,
    require_finite,
    stored_labels,
)
from gnc_cli.io.models import class_names
from gnc_cli.metrics.rows import ArrayRows, Rows, to_numpy
from gnc_cli.parameters import Lines, spelled

ONE_LOGIT = "one logit decides between two classes: rows -w/2 and w/2, biases -b/2 and b/2"
"""The note of a classifier of one row w and one bias b."""
_MOST_OPEN = 64
"""Number of files that stay open at once: systems allow some hundreds."""


@dataclass(frozen=True, eq=False)
class Dataset:
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
    """Names of these in messages, such as `'f.h5': dataset 'features'`."""
    notes: tuple[str, ...]
    """Notes on how they were read, for the user to check."""
    names: list[str] | None
    """Names of the classes, by the label in the file."""


# Files --------------------------------------------------------------------------------------------


class Inputs:
    """Input files by name. Each is opened and listed once, and stays open as long as this object;
    beyond `_MOST_OPEN` files the others are opened each time. A pipe is read once.
    """

    def __init__(self) -> None:
        self._piped: dict[str, bytes] = {}
        self._open: dict[str, Catalogue] = {}
        self._files = contextlib.ExitStack()
        weakref.finalize(self, self._files.close)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Catalogue]:
        """Open a file, or `-`, and yield its catalogue for the block."""
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

    def stamp(self, path: str, name: str) -> str:
        """Return a text that changes when a dataset does (`Entry.fingerprint`), or what was piped;
        when the file does, by size and time, where the dataset is large and has no rows to read.
        """
        if path in self._piped:
            return hashlib.sha256(self._piped[path]).hexdigest()
        with self.open(path) as catalogue, translated(path, f"a file with dataset {name!r}"):
            entry = catalogue.entries[catalogue.named(name)]
            check_entry(entry, catalogue.where(name), whole=False)
            return entry.fingerprint() or file_stamp(path)


def file_stamp(name: str) -> str:
    """Return a text that changes when the file `FILE` or `FILE:key` does: size and time; empty if
    it is missing.
    """
    path, _ = split_key(name)
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


@contextlib.contextmanager
def open_dataset(
    inputs: Inputs,
    selection: Selection,
    pieces: Mapping[str, Sequence[Piece]],
    *,
    copies: bool,
    counted: bool,
    notes: Sequence[str] = (),
) -> Iterator[Dataset]:
    """Open the datasets of one row for the block.

    Args:
        pieces: by role, in order.
        copies: several pieces of weights are the same weights again, not parts of them.
        counted: a code with one feature per class: labels are 0 to K - 1.
        notes: on how the datasets were found.

    Raises:
        DataError: a dataset cannot be used, or two do not fit each other; names file, dataset and
            the next step.
    """
    with contextlib.ExitStack() as stack:
        files: dict[str, Catalogue] = {}
        every = [piece for same_role in pieces.values() for piece in same_role]
        for path in dict.fromkeys(piece.path for piece in every):
            files[path] = stack.enter_context(inputs.open(path))
        datasets = {
            role: [(files[p.path], files[p.path].named(p.name)) for p in pieces.get(role, ())]
            for role in ROLES
        }
        transpose = {"features": selection.transpose_features, "logits": False}
        shards = {
            role: [FileRows(*piece, transpose=transpose[role]) for piece in datasets[role]]
            for role in transpose
            if datasets[role]
        }
        rows = {role: ConcatenatedRows(parts) for role, parts in shards.items()}
        features, logits = rows.get("features"), rows.get("logits")
        where = {
            role: places[0][0].where(places[0][1]) for role, places in datasets.items() if places
        }
        where |= {role: joined.where for role, joined in rows.items()}
        notes = [*notes]
        notes += [
            f"{file.where(name)}: {file.entries[name].note}"
            for places in datasets.values()
            for file, name in places
            if file.entries[name].note
        ]
        notes += [note for joined in rows.values() for note in joined.notes]
        biases = [load_bias(*piece) for piece in datasets["bias"][: 1 if copies else None]]
        bias = np.concatenate(biases) if biases else None
        weights = None
        if datasets["weights"]:
            parts = [FileRows(*piece, min_columns=1) for piece in datasets["weights"]]
            shapes = [part.shape for part in (parts[:1] if copies else parts)]
            kernel = all(is_kernel(name) for _, name in datasets["weights"])
            turned = selection.transpose_weights or _turned(
                shapes, kernel, bias, features, where["weights"], notes
            )
            weights = _weights(parts, turned, copies)
            for piece in pieces["weights"][: 1 if copies else None]:
                used = {other.name for other in every}
                notes += _about_head(files[piece.path], piece, weights, bias, used, selection)
        models = [piece.model for piece in pieces.get("weights", ()) if piece.model is not None]
        names = class_names(models[0], len(weights)) if models and weights is not None else None
        labels = None
        if datasets["labels"]:
            stored = [stored_labels(*piece) for piece in datasets["labels"]]
            more = len(stored) - 1
            where["labels"] += f" and {more} more file(s)" if more else ""
            lengths = [(part.where, part.shape[0]) for part in shards.get("features", ())]
            labels, names = _classes(stored, lengths, where, selection, names, notes)
        for file, name in datasets["features"] if labels is None else ():
            if question := file.entries[name].question:
                raise DataError(f"{file.where(name)}: {question}")
        if counted and features is not None:
            labels = np.arange(features.shape[0])
            where["labels"] = f"{features.where}, one row a class"
        dataset = Dataset(features, labels, weights, bias, logits, where, tuple(notes), names)
        yield _two_classes(dataset)


def _classes(
    labels: Sequence[tuple[np.ndarray, str, str]],
    rows: Sequence[tuple[str, int]],
    where: Mapping[str, str],
    selection: Selection,
    names: list[str] | None,
    notes: list[str],
) -> tuple[np.ndarray, list[str] | None]:
    """Return class numbers of labels, of files or of the caller, and the names of the classes."""
    ignored = (*IGNORED, *selection.ignore_label)
    joined = joined_labels(labels, rows, selection.labels_are, ignored, notes)
    if joined.dtype != object:
        return joined, names
    known = selection.class_names or (None if names is None else Lines(tuple(names)))
    return numbered(joined, known, where, ignored)


def _turned(
    shapes: Sequence[tuple[int, int]],
    kernel: bool,
    bias: np.ndarray | None,
    features: Rows | None,
    where: str,
    notes: list[str],
) -> bool:
    """Return whether weights, in parts of these shapes, are stored as (d, K); notes it.

    They are where the bias fits their columns alone, or where they are called `kernel`, unless the
    features have another d.
    """
    rows, columns = (sum(shape[axis] for shape in shapes) for axis in (0, 1))
    if features is not None and features.shape[1] != shapes[0][0]:
        return False
    K = None if bias is None else len(bias)
    by_bias = (K == rows) != (K == columns)
    if not (K == columns if by_bias else kernel):
        return False
    why = f"as the bias has {K} entries" if by_bias else "by the name"
    notes.append(f"{where}: stored as (d, K), {why}; transposed")
    return True


def _weights(parts: Sequence[FileRows], transpose: bool, copies: bool) -> np.ndarray:
    """Return the classifier: the rows of all parts, or those that all parts repeat.

    Raises:
        DataError: the parts should be the same, and are not.
    """
    read = parts[:1] if copies else parts
    weights = load_weights(read, transpose=transpose)
    for part in parts[len(read) :]:
        if not np.array_equal(load_weights([part], transpose=transpose), weights):
            raise DataError(
                f"{part.where} differs from {parts[0].where}; shards of one set share their "
                f"classifier: name it with {spelled('weights')}"
            )
    return weights


def _about_head(
    catalogue: Catalogue,
    piece: Piece,
    weights: np.ndarray,
    bias: np.ndarray | None,
    used: Collection[str],
    selection: Selection,
) -> tuple[str, ...]:
    """Return what the file has beside W and b that may be of the head, and what its model does.

    Raises:
        DataError: `--reach` is asked for, the logits may not be W h + b, and the user did not name
            the matrix.
    """
    shape, entries = catalogue.entries[piece.name].shape, catalogue.entries
    K = len(weights) if len(weights) in shape else shape[selection.transpose_weights]
    vectors = [
        name
        for name in (
            [] if "bias" in selection.roles else unused_vectors(catalogue, piece.name, K, used)
        )
        if bias is None or not np.array_equal(load_numbers(catalogue, name).reshape(-1), bias)
    ]
    doubts = [
        f"{catalogue.where(name)} may be a bias, one number per class, and is not used"
        for name in vectors
    ]
    step = f"give {spelled('bias', f'{piece.path}:{vectors[0]}')} if it is, or " if doubts else ""
    doubts += [f"{catalogue.where(name)}: {use}" for name, use in other_matrices(entries, K)]
    if doubts and not piece.named and selection.proves:
        raise DataError(
            f"{doubts[0]}, so nothing is proved of the network; {step}"
            f"{spelled('weights', f'{piece.path}:{piece.name}')} for this layer alone"
        )
    notes = [*doubts, piece.note]
    tied = piece.tied
    if (
        tied
        and entries[tied].problem is None
        and not np.array_equal(load_weights([FileRows(catalogue, tied, min_columns=1)]), weights)
    ):
        notes.append(
            f"{piece.name} is the head, as in transformers 5; config.json ties it to {tied}, whose "
            f"numbers differ and which transformers 4 takes: to measure these, {piece.path}:{tied}"
        )
    return tuple(note for note in notes if note is not None)


# Arrays -------------------------------------------------------------------------------------------


def dataset_of_arrays(values: Mapping[str, Any], selection: Selection) -> Dataset:
    """Return features, labels, weights, bias and logits that the caller gave, checked."""
    arrays = {name: to_numpy(v, name, texts=name == "labels") for name, v in values.items()}
    where: dict[str, str] = {name: name for name in arrays}
    notes: list[str] = []
    labels = names = None
    if "labels" in arrays:
        array = arrays.pop("labels")
        dtype = str(getattr(values["labels"], "dtype", array.dtype)).removeprefix("torch.")
        stored = (array, "labels", dtype)
        labels, names = _classes([stored], (), where, selection, None, notes)
    for name, array in arrays.items():
        rank = 1 if name == "bias" else 2
        step = ""
        if rank == 2 and array.ndim > 2 and array.size:
            step, shape = advice_for(array.shape), matrix_shape(array.shape)
            if len(shape) == 2:
                notes.append(f"{name}: shape {array.shape} read as {shape}")
                arrays[name] = array = array.reshape(shape)
        if name == "features" and selection.transpose_features:
            arrays[name] = array = array.T
        narrow = array.ndim == rank and min(array.shape[1:], default=2) < 2
        if array.ndim != rank or narrow:
            expected = "(rows, at least 2 columns)" if rank == 2 else "(rows,)"
            raise DataError(
                f"{name}: shape {array.shape}, dtype {array.dtype}; expected real numbers "
                f"{expected}{step}"
            )
        refuse_bits(array, name)
        if name in ("weights", "bias"):
            arrays[name] = array = array.astype(np.float64)
            require_finite(array, name)
    weights, bias = arrays.get("weights"), arrays.get("bias")
    rows = {name: ArrayRows(arrays[name]) for name in ("features", "logits") if name in arrays}
    features = rows.get("features")
    if weights is not None and (
        selection.transpose_weights
        or _turned([weights.shape], False, bias, features, "weights", notes)
    ):
        weights = weights.T
    return _two_classes(
        Dataset(
            features=features,
            labels=labels,
            weights=weights,
            bias=bias,
            logits=rows.get("logits"),
            where=where,
            notes=tuple(notes),
            names=names,
        )
    )


def _two_classes(samples: Dataset) -> Dataset:
    """Return a dataset with one row of weights and labels 0 and 1 as one of two classes.

    Raises:
        DataError: there is one row, and no labels of two classes.
    """
    W, bias, labels, names = samples.weights, samples.bias, samples.labels, samples.names
    if W is None or len(W) != 1:
        return samples
    if labels is None or labels.max(initial=0) > 1:
        raise DataError(
            f"{samples.where['weights']} has shape {W.shape}; expected a row for each class, K >= 2"
            ", or one row and labels 0 and 1"
        )
    return replace(
        samples,
        weights=np.concatenate((-W, W)) / 2,
        bias=None if bias is None else np.concatenate((-bias, bias)) / 2,
        notes=(*samples.notes, ONE_LOGIT),
        names=names if names is not None and len(names) == 2 else None,
    )
