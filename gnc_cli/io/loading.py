"""Codes, labels, classifiers and biases of a file, with every number checked.

Labels of files and arrays may be in shards, words, booleans, one-hot, probabilities, or counted
from 1.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, check_bits, checked, is_kernel, translated
from gnc_cli.io.file_rows import FileRows
from gnc_cli.io.inputs import memory_limit, read_lines
from gnc_cli.parameters import Lines, spelled
from gnc_cli.parsing import abridge, quote

_BLOCK_BYTES = 32 << 20
"""Bytes of a block of a classifier, as float64, small compared with any memory."""
LARGEST_LABEL = 1 << 53
"""Largest label, far above any number of classes; integers up to it are exact in float64."""
IGNORED_LABELS = ("-1", "-100")
"""Labels of samples that are left out; -100 is the `ignore_index` of PyTorch and Hugging Face."""
ONE_BASED, ONE_HOT = "one-based", "one-hot"
"""Forms of `--labels-are`; the third is `zero-based`."""
_MAX_SUM_ERROR = 1e-2
"""Largest error of the sum of probabilities; 1,000 classes in float16 have errors of 1e-3."""


class StoredLabels(NamedTuple):
    """Labels of a file or an array, as they are stored."""

    values: np.ndarray
    """Labels, shape (N,), (N, 1), or one row per sample and one column per class."""
    location: str
    """Name of the labels in messages."""
    dtype: str
    """Dtype in the file, also one that NumPy lacks, as `bfloat16`."""


def load_matrix(catalogue: Catalogue, name: str) -> np.ndarray:
    """Load the points of `name`, shape (K, d) with K, d >= 2, float64, finite, no zero row.

    Raises:
        DataError: anything else; the message names file, dataset, value and the next step.
    """
    entry, location = checked(catalogue, name), catalogue.location(name)
    if len(entry.shape) != 2 or min(entry.shape) < 2:
        raise DataError(
            f"{location} has shape {entry.shape}; expected (K, d), one point on each line, with "
            "K >= 2 and d >= 2"
        )
    matrix = load_numbers(catalogue, name)
    matrix = matrix.T if is_kernel(name) else matrix
    require_finite(matrix, location)
    zero = np.flatnonzero(~matrix.any(axis=1))
    if zero.size:
        raise DataError(
            f"{location} has {zero.size} zero row(s), the first is row {zero[0]}, counted from 0; "
            "a point on the sphere needs a direction: remove or repair these rows"
        )
    return matrix


def load_bias(catalogue: Catalogue, name: str, K: int | None = None) -> np.ndarray:
    """Load a bias, stored as (K,), (1, K) or (K, 1), as shape (K,), float64, finite.

    Without K, any number of classes is accepted.

    Raises:
        DataError: another shape or dtype, NaN or infinity.
    """
    entry, location = checked(catalogue, name), catalogue.location(name)
    check_bits(catalogue, name)
    size = math.prod(entry.shape)
    if entry.shape not in ((size,), (1, size), (size, 1)) or K not in (None, size):
        raise DataError(
            f"{location} has shape {entry.shape}; expected ({K or 'K'},), one for each class"
        )
    bias = load_numbers(catalogue, name).reshape(-1)
    require_finite(bias, location)
    return bias


def load_labels(catalogue: Catalogue, name: str, K: int | None = None) -> np.ndarray:
    """Load class numbers from 0 on, shape (N,), int64.

    Raises:
        DataError: another shape or dtype, words, or a value that is not a class (of K, if given).
    """
    labels = stored_labels(catalogue, name)
    if labels.values.dtype == object:
        raise DataError(f"{labels.location} has words; save class numbers, 0 to K - 1")
    return read_labels(*labels, K=K)[0]


def stored_labels(catalogue: Catalogue, name: str) -> StoredLabels:
    """Load labels as they are stored.

    Raises:
        DataError: they are neither real numbers, nor booleans, nor words.
    """
    step = "words; save numbers: names, labels = numpy.unique(words, return_inverse=True)"
    entry = checked(catalogue, name, words=step, labels=True)
    with translated(catalogue.path, f"labels {name!r} of shape {entry.shape} {entry.dtype}"):
        return StoredLabels(np.asarray(entry.load()), catalogue.location(name), entry.dtype)


def read_labels(
    values: np.ndarray,
    location: str,
    dtype: str,
    *,
    form: str = "zero-based",
    ignored: Collection[str] = (),
    K: int | None = None,
) -> tuple[np.ndarray, str | None]:
    """Convert stored labels to class numbers, or to words.

    Args:
        values: as in `StoredLabels`.
        location: as in `StoredLabels`.
        dtype: as in `StoredLabels`.
        form: `zero-based`, `one-based` or `one-hot`, as the user says.
        ignored: labels of samples that are left out, as stored.
        K: number of classes, if known.

    Returns:
        Class numbers from 0 on, shape (N,), int64, -1 for ignored labels; or words, shape (N,),
        objects. And a note if the numbers were not stored as such.

    Raises:
        DataError: another shape, or a value that is not a class (of K, if given) or may be
            rounded; the message names its row.

    Example:
        >>> read_labels(np.array([[0, 1], [1, 0]]), "labels", "int64", form="one-hot")
        (array([1, 0]), None)
    """
    note = None
    if form == ONE_HOT or (values.ndim == 2 and values.shape[1] > 1):
        values, note = _classes_of_rows(values, location, form)
    if values.shape[1:] not in ((), (1,)) or not values.ndim:
        step = "; choose a column, labels[:, 0]" if values.ndim == 2 else ""
        raise DataError(
            f"{location} has shape {values.shape}; expected (N,), one class number for each row"
            f"{step}"
        )
    values = values.reshape(-1)
    if values.dtype.kind in "SUO":
        if form == ONE_BASED:
            raise DataError(f"{location} has words; drop {spelled('labels_are', ONE_BASED)}")
        decoded = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        return decoded.astype(object), note
    if values.dtype == bool:
        values, note = values.astype(np.int64), "booleans, taken as the classes 0 and 1"
    if values.dtype.kind == "f":
        require_finite(values, location)
        limit = _exact_integers(dtype)
        if count := np.count_nonzero(np.abs(values) >= limit):
            raise DataError(
                f"{location} has {count} label(s) of {limit} or more, which {dtype} rounds; save "
                "the labels as integers, before they are rounded"
            )
        values = values.astype(np.float64)
    marks = [mark for mark in ignored if re.fullmatch(r"-?\d{1,20}(\.0*)?", mark, re.ASCII)]
    omitted = np.any([values == int(mark.partition(".")[0]) for mark in marks], axis=0)
    first = int(form == ONE_BASED and note is None)
    last = LARGEST_LABEL if K is None else K - 1
    valid = (values >= first) & (values <= last) & (values == np.floor(values))
    wrong = np.flatnonzero(~valid & ~omitted)
    if wrong.size:
        step, value = "remove or renumber these rows", values[wrong[0]]
        if first:
            step += f", or drop {spelled('labels_are', ONE_BASED)}"
        elif ignored and value == np.floor(value):
            step += f", or leave them out: {spelled('ignore_label', int(value))}"
        raise DataError(
            f"{location} has {wrong.size} value(s) that are no class, the first is {value} at row "
            f"{wrong[0]}; expected integers from {first} {'on' if K is None else f'to {last}'}: "
            f"{step}"
        )
    return np.where(omitted, -1, np.where(omitted, 0, values).astype(np.int64) - first), note


def _exact_integers(dtype: str) -> int:
    """Return the first integer whose successor the dtype cannot represent."""
    try:
        return int(2 ** (np.finfo(np.dtype(dtype)).nmant + 1))
    except TypeError:  # a dtype of torch
        return 256 if dtype == "bfloat16" else 8 if "float8" in dtype else LARGEST_LABEL


def _classes_of_rows(values: np.ndarray, location: str, form: str) -> tuple[np.ndarray, str | None]:
    """Return the class of each row of one-hot labels or probabilities, and a note on the latter.

    Other labels are returned as they are.

    Raises:
        DataError: the rows are multi-label, or one-hot in contradiction to `form`.
    """
    if is_one_hot(values):
        if form == ONE_HOT:
            return values.argmax(axis=1), None
        raise DataError(
            f"{location} is one-hot, shape {values.shape}; add {spelled('labels_are', ONE_HOT)}"
        )
    binary = values.dtype.kind not in "SUO" and bool(((values == 0) | (values == 1)).all())
    if binary and values.ndim == 2 and values.shape[1] > 1:
        rows = np.flatnonzero(np.count_nonzero(values, axis=1) != 1)
        raise DataError(
            f"{location} is multi-label, shape {values.shape}, and not one-hot: {len(rows)} row(s) "
            f"without exactly one 1, the first is row {rows[0]}; select the rows of one class, "
            "one = labels.sum(axis=1) == 1: features[one], labels[one].argmax(axis=1)"
        )
    if form == ONE_HOT:
        raise DataError(
            f"{location}: shape {values.shape} is not one-hot, with one 1 and else zeros in each "
            f"row; drop {spelled('labels_are', ONE_HOT)}"
        )
    nonnegative = values.dtype.kind == "f" and bool((values >= 0).all())
    if (
        not nonnegative
        or np.abs(values.sum(axis=1, dtype=np.float64) - 1.0).max(initial=0) > _MAX_SUM_ERROR
    ):
        return values, None
    ties = np.count_nonzero(np.count_nonzero(values.T == values.max(axis=1), axis=0) > 1)
    suffix = f"; {ties} row(s) have a tie, taken as the first" if ties else ""
    note = f"probabilities of {values.shape[1]} classes, each row taken as its most likely class"
    return values.argmax(axis=1), note + suffix


def load_weights(parts: Sequence[FileRows], *, transpose: bool = False) -> np.ndarray:
    """Load a classifier as stored, shape (K, d), float64, finite; zero rows are allowed.

    Args:
        parts: the classifier, or its rows in several files, in order.
        transpose: True if the files have one column per class.

    Raises:
        DataError: the widths differ, there are fewer than 2 columns, the memory is too small, or a
            value is not finite; the message names its row and column in the file.
    """
    shapes = [part.shape[::-1] if transpose else part.shape for part in parts]
    for part, shape in zip(parts, shapes, strict=True):
        if shape[1] != shapes[0][1]:
            raise DataError(
                f"{part.location} has shape {part.shape}, but {parts[0].location} has "
                f"{parts[0].shape}; shards of one classifier must agree in d"
            )
    K, d = sum(shape[0] for shape in shapes), shapes[0][1]
    if d < 2:
        raise DataError(f"{parts[0].location} makes ({K}, {d}); weights need d >= 2")
    if 8 * K * d > memory_limit():
        raise DataError(
            f"{parts[0].location} makes shape ({K}, {d}), {8 * K * d / 1e9:.3g} GB as float64, "
            "more than half of this machine's memory"
        )
    weights = np.empty((K, d))
    ends = [*accumulate(rows for rows, _ in shapes)]
    for part, rows in zip(parts, np.split(weights, ends[:-1]), strict=True):
        target = rows.T if transpose else rows  # the axes of the file
        step = max(1, _BLOCK_BYTES // (8 * part.shape[1] * part.step)) * part.step
        for start in range(0, part.shape[0], step):
            with np.errstate(invalid="ignore"):
                target[start : start + step] = part.read(start, min(start + step, part.shape[0]))
        require_finite(target, part.location)
    return weights


def number_words(
    words: np.ndarray,
    names: str | Lines | None,
    locations: Mapping[str, str],
    ignored: Collection[str] = (),
) -> tuple[np.ndarray, list[str]]:
    """Return the class numbers, (N,), of labels that are words, and the name of each class.

    Args:
        words: shape (N,); None or empty if one is missing.
        names: names of the classes, in their order, or a file of them; None for the sorted words.
        locations: names in messages by role; weights and logits have an order of classes.
        ignored: words of samples that are left out, -1 in the result.

    Raises:
        DataError: a word is missing or not a name, or the order of the classes is unknown.

    Example:
        >>> number_words(np.array(["cat", "ant", "cat"]), None, {"labels": "labels"})
        (array([1, 0, 1]), ['ant', 'cat'])
    """
    if names is None and {"weights", "logits"} & locations.keys():
        raise DataError(
            f"{locations['labels']}: these are words, and the order of the classifier's classes is "
            f"not known; give {spelled('class_names', 'FILE')}, one name for each of its rows"
        )
    class_names = (
        sorted({*words.tolist()} - {None, "", *ignored}) if names is None else read_lines(names)
    )
    numbers = {name: k for k, name in enumerate(class_names)} | dict.fromkeys(ignored, -1)
    labels = np.array([numbers.get(word, -2) for word in words.tolist()], dtype=np.int64)
    if labels.min(initial=0) < -1:
        row = labels.argmin()
        raise DataError(
            f"{locations['labels']}: {quote(words[row])} at row {row} is none of the "
            f"{len(class_names)} names of classes; add it to them, remove such rows, or leave them "
            f"out with {spelled('ignore_label', 'WORD')}"
        )
    return labels, class_names


def refuse_bits(array: np.ndarray, name: str) -> None:
    """Refuse an array of 16-bit whole numbers, which may be the bits of bfloat16.

    Raises:
        DataError: the array has such numbers; the message says how to convert them.
    """
    if array.dtype.kind in "iu" and array.dtype.itemsize == 2:
        bits = f"(numpy.asarray({name}).astype('u2').astype('u4') << 16).view('f4')"
        raise DataError(
            f"{name}: dtype {array.dtype}, which may be whole numbers or the bits of bfloat16; "
            f"give {bits} of bits, or numpy.asarray({name}, float) of numbers"
        )


def require_finite(array: np.ndarray, location: str) -> None:
    """Refuse NaN and infinity.

    Args:
        array: numbers, shape (N,) or (N, d).
        location: name of the array, which begins the message.

    Raises:
        DataError: not all are finite; the message has their number and the position of the first.
    """
    if np.isfinite(array).all():
        return
    wrong = np.argwhere(~np.isfinite(array))
    axes = zip(("row", "column"), wrong[0], strict=False)
    raise DataError(
        f"{location} has {len(wrong)} value(s) that are not finite, the first is "
        f"{array[tuple(wrong[0])]} at {', '.join(f'{axis} {i}' for axis, i in axes)}, counted from "
        "0; remove or repair these rows"
    )


def load_numbers(catalogue: Catalogue, name: str) -> np.ndarray:
    """Load all numbers of a dataset as contiguous float64, in the shape of the file.

    Raises:
        DataError: the file fails.
    """
    entry = catalogue.entries[name]
    with (
        translated(catalogue.path, f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        return np.ascontiguousarray(entry.load(), dtype=np.float64)


def is_one_hot(values: np.ndarray) -> bool:
    """Return whether an array is of shape (N, K) with K > 1, each row one 1 and zeros otherwise."""
    return (
        values.ndim == 2
        and values.shape[1] > 1
        and bool(((values == 0) | (values == 1)).all())
        and bool((np.count_nonzero(values, axis=1) == 1).all())
    )


def check_range(labels: np.ndarray, K: int, location: str) -> None:
    """Refuse labels, shape (N,), above K - 1; those that run from 1 to K are recognised.

    Raises:
        DataError: a label is above K - 1; the message names the first, and the likely next step.
    """
    if int(labels.max(initial=0)) < K:
        return
    row, step = int((labels >= K).argmax()), ""
    if labels[labels >= 0].min() == 1 and labels.max() == K:
        step = f"; {one_based_step()}"
    elif (labels[labels >= K] == labels[row]).all():
        step = f"; to leave its samples out, add {spelled('ignore_label', int(labels[row]))}"
    raise DataError(
        f"{location} has label {labels[row]} at row {row}, out of range for K = {K}; "
        f"expected 0 to {K - 1}{step}"
    )


def suspicion(labels: np.ndarray) -> str | None:
    """Return a warning about labels, shape (N,), that alone determine K; None without a suspicion.

    They may count from 1, or the largest one may mark samples to leave out.
    """
    present = np.unique(labels[labels >= 0])
    if len(present) < 2:
        return None
    if present[0] == 1 and present[-1] == len(present):
        return (
            f"no sample has label 0, and every label from 1 to {present[-1]} has some: class 0 is "
            f"taken as missing; {one_based_step()}"
        )
    gaps = np.diff(present)
    if not gaps[-1] == gaps.max() > len(present):
        return None
    if len(present) == 2:
        return f"labels are {present[0]} and {present[1]} alone; number the classes 0 and 1"
    return (
        f"label {present[-1]} is far beyond the others, {present[0]} to {present[-2]}; if it "
        f"marks samples to leave out, add {spelled('ignore_label', int(present[-1]))}"
    )


def one_based_step() -> str:
    """Return the next step for labels that count from 1."""
    return f"if they count from 1, add {spelled('labels_are', ONE_BASED)}"


def joined_labels(
    parts: Sequence[StoredLabels],
    rows: Sequence[tuple[str, int]],
    form: str,
    ignored: Collection[str],
    notes: list[str],
) -> np.ndarray:
    """Join the labels of all shards in order, as class numbers or words, shape (N,).

    Args:
        parts: labels of each shard.
        rows: name and number of rows of each shard of features; compared with the labels if there
            are as many shards.
        form: as in `read_labels`.
        ignored: as in `read_labels`.
        notes: list to which notes on the reading are appended.

    Raises:
        DataError: the labels are -1 and 1, a shard has another number of labels than rows, some
            shards have words and others numbers, or `read_labels` refuses one.
    """
    joined: list[np.ndarray] = []
    vectors = [p.values for p in parts if p.values.dtype.kind in "iuf" and p.values.ndim == 1]
    present = np.unique(np.concatenate([[], *map(np.unique, vectors)]))
    if np.array_equal(present, [-1, 1]) and [*ignored].count("-1") < 2:  # the second is the user's
        raise DataError(
            f"{parts[0].location} has the labels -1 and 1 alone, and -1 marks samples to leave "
            "out; of two classes number them 0 and 1: (labels + 1) // 2; else "
            f"{spelled('ignore_label', -1)}"
        )
    for number, part in enumerate(parts):
        labels, note = read_labels(*part, form=form, ignored=ignored)
        if note is not None:
            notes.append(f"{part.location}: {note}")
        if len(rows) == len(parts) > 1 and len(labels) != rows[number][1]:
            raise DataError(
                f"{part.location} has {len(labels)} labels, {rows[number][0]} has "
                f"{rows[number][1]} rows; each shard needs one label per row"
            )
        if joined and labels.dtype != joined[0].dtype:
            raise DataError(
                f"one of {abridge([part.location for part in parts])} has words and another "
                "numbers; save all as words or all as numbers"
            )
        joined.append(labels)
    return np.concatenate(joined)
