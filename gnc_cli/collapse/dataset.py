"""The datasets of one row: opened, read and compared with each other."""

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
    IGNORED_LABELS,
    StoredLabels,
    joined_labels,
    load_bias,
    load_numbers,
    load_weights,
    number_words,
    refuse_bits,
    require_finite,
    stored_labels,
)
from gnc_cli.io.models import class_names
from gnc_cli.metrics.rows import ArrayRows, Rows, to_numpy
from gnc_cli.parameters import Lines, spelled

ONE_LOGIT = "one logit decides between two classes: rows -w/2 and w/2, biases -b/2 and b/2"
"""The note of a classifier of one row w and one bias b."""
_MAX_OPEN_FILES = 64
"""Number of files that stay open at once: operating systems allow some hundreds."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The numbers of one row; features and logits can be read while their files are open."""

    features: Rows | None
    """Rows (N, d), as stored."""
    labels: np.ndarray | None
    """Shape (N,), int64, -1 for samples that are left out; not yet compared with K."""
    weights: np.ndarray | None
    """Shape (K, d), float64, as stored, finite; rows may be zero."""
    bias: np.ndarray | None
    """Shape (K,), float64, finite."""
    logits: Rows | None
    """Rows (N, K), as stored."""
    locations: dict[str, str]
    """Names of the datasets in messages, by role, such as `'f.h5': dataset 'features'`."""
    notes: tuple[str, ...]
    """Notes on the reading of the datasets, for the user to check."""
    names: list[str] | None
    """Names of the classes, by the label in the file."""


# Files --------------------------------------------------------------------------------------------


class Inputs:
    """Input files by name.

    Each is opened and catalogued once, and stays open as long as this object; beyond
    `_MAX_OPEN_FILES` the others are opened each time. A pipe is read once.
    """

    def __init__(self) -> None:
        self._piped: dict[str, bytes] = {}
        self._open: dict[str, Catalogue] = {}
        self._files = contextlib.ExitStack()
        weakref.finalize(self, self._files.close)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Catalogue]:
        """Open a file, or `-`, and yield its catalogue for the block."""
        if path not in self._open and len(self._open) < _MAX_OPEN_FILES:
            self._open[path] = self._files.enter_context(self._catalogue(path))
        if path in self._open:
            yield self._open[path]
        else:
            with self._catalogue(path) as catalogue:
                yield catalogue

    @contextlib.contextmanager
    def _catalogue(self, path: str) -> Iterator[Catalogue]:
        with contextlib.ExitStack() as stack:
            if path in self._piped:
                file = stack.enter_context(io.BytesIO(self._piped[path]))
            else:
                file = stack.enter_context(open_input(path))  # type: ignore[assignment]
                if isinstance(file, io.BytesIO):
                    self._piped[path] = file.getvalue()
            yield stack.enter_context(reader_for(path, file)(file, path))

    def stamp(self, path: str, name: str) -> str:
        """Return a text that changes when the content of a dataset, or of a pipe, does.

        It is `Entry.fingerprint`, or size and time of the file where the dataset is large and has
        no rows to read.
        """
        if path in self._piped:
            return hashlib.sha256(self._piped[path]).hexdigest()
        with self.open(path) as catalogue, translated(path, f"a file with dataset {name!r}"):
            entry = catalogue.entries[catalogue.find_dataset(name)]
            check_entry(entry, catalogue.location(name), whole=False)
            return entry.fingerprint() or file_stamp(path)


def file_stamp(name: str) -> str:
    """Return size and time of the file `FILE` or `FILE:key` as a text, empty if it is missing."""
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
    row_labels: bool,
    notes: Sequence[str] = (),
) -> Iterator[Dataset]:
    """Open the datasets of one row for the block.

    Args:
        inputs: the open files.
        selection: the options for reading the datasets.
        pieces: datasets by role, in order.
        copies: several pieces of weights repeat the same weights; they are not parts.
        row_labels: the labels are 0 to N - 1, as in a code with one feature per class.
        notes: notes on the choice of the datasets.

    Raises:
        DataError: a dataset cannot be used, or two do not fit each other; the message names file,
            dataset and the next step.
    """
    with contextlib.ExitStack() as stack:
        files: dict[str, Catalogue] = {}
        all_pieces = [piece for role_pieces in pieces.values() for piece in role_pieces]
        for path in dict.fromkeys(piece.path for piece in all_pieces):
            files[path] = stack.enter_context(inputs.open(path))
        datasets = {
            role: [
                (files[p.path], files[p.path].find_dataset(p.name)) for p in pieces.get(role, ())
            ]
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
        locations = {
            role: places[0][0].location(places[0][1]) for role, places in datasets.items() if places
        }
        locations |= {role: joined.location for role, joined in rows.items()}
        notes = [*notes]
        notes += [
            f"{file.location(name)}: {file.entries[name].note}"
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
            transpose_weights = selection.transpose_weights or _is_transposed(
                shapes, kernel, bias, features, locations["weights"], notes
            )
            weights = _weights(parts, transpose_weights, copies)
            piece_names = {piece.name for piece in all_pieces}
            for piece in pieces["weights"][: 1 if copies else None]:
                notes += _head_notes(
                    files[piece.path], piece, weights, bias, piece_names, selection
                )
        models = [piece.model for piece in pieces.get("weights", ()) if piece.model is not None]
        names = class_names(models[0], len(weights)) if models and weights is not None else None
        labels = None
        if datasets["labels"]:
            stored = [stored_labels(*piece) for piece in datasets["labels"]]
            if len(stored) > 1:
                locations["labels"] += f" and {len(stored) - 1} more file(s)"
            lengths = [(part.location, part.shape[0]) for part in shards.get("features", ())]
            labels, names = _classes(stored, lengths, locations, selection, names, notes)
        for file, name in datasets["features"] if labels is None else ():
            if question := file.entries[name].question:
                raise DataError(f"{file.location(name)}: {question}")
        if row_labels and features is not None:
            labels = np.arange(features.shape[0])
            locations["labels"] = f"{features.location}, one row per class"
        dataset = Dataset(features, labels, weights, bias, logits, locations, tuple(notes), names)
        yield _two_classes(dataset)


def _classes(
    labels: Sequence[StoredLabels],
    rows: Sequence[tuple[str, int]],
    locations: Mapping[str, str],
    selection: Selection,
    names: list[str] | None,
    notes: list[str],
) -> tuple[np.ndarray, list[str] | None]:
    """Return the class numbers of labels, shape (N,), and the names of the classes."""
    ignored = (*IGNORED_LABELS, *selection.ignore_label)
    joined = joined_labels(labels, rows, selection.labels_are, ignored, notes)
    if joined.dtype != object:
        return joined, names
    words = selection.class_names or (None if names is None else Lines(tuple(names)))
    return number_words(joined, words, locations, ignored)


def _is_transposed(
    shapes: Sequence[tuple[int, int]],
    kernel: bool,
    bias: np.ndarray | None,
    features: Rows | None,
    location: str,
    notes: list[str],
) -> bool:
    """Return whether weights, in parts of these shapes, are stored as (d, K); add a note if so.

    They are if the bias fits only their columns, or if they are named `kernel`, unless the features
    have another d.
    """
    rows, columns = (sum(shape[axis] for shape in shapes) for axis in (0, 1))
    if features is not None and features.shape[1] != shapes[0][0]:
        return False
    K = None if bias is None else len(bias)
    by_bias = (K == rows) != (K == columns)
    if not (K == columns if by_bias else kernel):
        return False
    reason = f"as the bias has {K} entries" if by_bias else "by the name"
    notes.append(f"{location}: stored as (d, K), {reason}; transposed")
    return True


def _weights(parts: Sequence[FileRows], transpose: bool, copies: bool) -> np.ndarray:
    """Return the classifier (K, d): the rows of all parts, or of the first if all are copies.

    Raises:
        DataError: the copies differ.
    """
    distinct = parts[:1] if copies else parts
    weights = load_weights(distinct, transpose=transpose)
    for part in parts[len(distinct) :]:
        if not np.array_equal(load_weights([part], transpose=transpose), weights):
            raise DataError(
                f"{part.location} differs from {parts[0].location}; shards of one set share their "
                f"classifier: name it with {spelled('weights')}"
            )
    return weights


def _head_notes(
    catalogue: Catalogue,
    piece: Piece,
    weights: np.ndarray,
    bias: np.ndarray | None,
    piece_names: Collection[str],
    selection: Selection,
) -> tuple[str, ...]:
    """Return notes on further datasets that may belong to the head W, b, and on its model.

    Raises:
        DataError: proofs are asked for, the logits may not be W h + b, and the user did not name
            the matrix.
    """
    shape, entries = catalogue.entries[piece.name].shape, catalogue.entries
    K = len(weights) if len(weights) in shape else shape[selection.transpose_weights]
    vectors = [
        name
        for name in (
            []
            if "bias" in selection.roles
            else unused_vectors(catalogue, piece.name, K, piece_names)
        )
        if bias is None or not np.array_equal(load_numbers(catalogue, name).reshape(-1), bias)
    ]
    doubts = [
        f"{catalogue.location(name)} may be a bias, one number per class, and is not used"
        for name in vectors
    ]
    step = f"give {spelled('bias', f'{piece.path}:{vectors[0]}')} if it is, or " if doubts else ""
    doubts += [f"{catalogue.location(name)}: {use}" for name, use in other_matrices(entries, K)]
    if doubts and not piece.by_key and selection.proves:
        raise DataError(
            f"{doubts[0]}, so nothing is proved of the network; {step}"
            f"{spelled('weights', f'{piece.path}:{piece.name}')} for this layer only"
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
    """Return the checked arrays of the caller: features, labels, weights, bias and logits.

    Raises:
        DataError: an array has a wrong rank, or holds values that cannot be used.
    """
    arrays = {name: to_numpy(v, name, texts=name == "labels") for name, v in values.items()}
    locations: dict[str, str] = {name: name for name in arrays}
    notes: list[str] = []
    labels = names = None
    if "labels" in arrays:
        array = arrays.pop("labels")
        dtype = str(getattr(values["labels"], "dtype", array.dtype)).removeprefix("torch.")
        stored = StoredLabels(array, "labels", dtype)
        labels, names = _classes([stored], (), locations, selection, None, notes)
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
        or _is_transposed([weights.shape], False, bias, features, "weights", notes)
    ):
        weights = weights.T
    return _two_classes(
        Dataset(
            features=features,
            labels=labels,
            weights=weights,
            bias=bias,
            logits=rows.get("logits"),
            locations=locations,
            notes=tuple(notes),
            names=names,
        )
    )


def _two_classes(samples: Dataset) -> Dataset:
    """Return a dataset with a one-row head and labels 0 and 1 as a dataset of two classes.

    Raises:
        DataError: there is one row, and no labels of two classes.
    """
    W, bias, labels, names = samples.weights, samples.bias, samples.labels, samples.names
    if W is None or len(W) != 1:
        return samples
    if labels is None or labels.max(initial=0) > 1:
        raise DataError(
            f"{samples.locations['weights']} has shape {W.shape}; expected a row for each class, "
            "K >= 2, or one row and labels 0 and 1"
        )
    return replace(
        samples,
        weights=np.concatenate((-W, W)) / 2,
        bias=None if bias is None else np.concatenate((-bias, bias)) / 2,
        notes=(*samples.notes, ONE_LOGIT),
        names=names if names is not None and len(names) == 2 else None,
    )
