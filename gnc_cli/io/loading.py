"""Codes, labels, classifiers and biases out of a file, checked to the last number.

Labels may be in shards, one-hot, or counted from 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import WORDS, Catalogue, checked, translated
from gnc_cli.io.file_rows import FileRows
from gnc_cli.io.inputs import memory_limit, read_lines
from gnc_cli.parameters import Lines, spelled
from gnc_cli.parsing import shown

_BLOCK_BYTES = 32 << 20
LARGEST_LABEL = 1 << 53
"""No number of classes comes near; floats up to here are integers without doubt."""
_IGNORED = (-1, -100)
"""Labels of what is left out; the second is the `ignore_index` of PyTorch and Hugging Face."""
ONE_BASED, ONE_HOT = "one-based", "one-hot"
"""Forms of `--labels-are`; the third is `zero-based`."""


def load_matrix(catalogue: Catalogue, name: str) -> np.ndarray:
    """The points stored under `name`, shape (K, d) with K, d >= 2, float64, finite, no zero row.

    Raises:
        DataError: anything else; names file, dataset, value and the next step.
    """
    where = catalogue.where(name)
    entry = checked(catalogue, name)
    if len(entry.shape) != 2 or min(entry.shape) < 2:
        raise DataError(
            f"{where} has shape {entry.shape}; expected (K, d), one point on each line, with "
            "K >= 2 and d >= 2"
        )
    matrix = _load(catalogue, name)
    require_finite(matrix, where)
    zero = np.flatnonzero(~matrix.any(axis=1))
    if zero.size:
        raise DataError(
            f"{where} has {zero.size} zero row(s), the first is row {zero[0]}; "
            "a point on the sphere needs a direction: remove or repair these rows"
        )
    return matrix


def load_bias(catalogue: Catalogue, name: str, K: int | None = None) -> np.ndarray:
    """Return a bias, stored as (K,) or (1, K), as shape (K,), float64, finite.

    K may be any where it is not given.

    Raises:
        DataError: another shape or dtype, NaN or infinity.
    """
    entry = checked(catalogue, name)
    where = catalogue.where(name)
    size = math.prod(entry.shape)
    if entry.shape not in ((size,), (1, size)) or K not in (None, size):
        expected = "(K,)" if K is None else f"({K},)"
        raise DataError(f"{where} has shape {entry.shape}; expected {expected}, one for each class")
    bias = _load(catalogue, name).reshape(-1)
    require_finite(bias, where)
    return bias


def load_labels(
    catalogue: Catalogue,
    name: str,
    K: int | None = None,
    prepare: Callable[[np.ndarray, str], np.ndarray] | None = None,
    *,
    left_out: bool = False,
) -> np.ndarray:
    """Class numbers, shape (N,), int64, from integers or integral floats of shape (N,) or (N, 1).

    `prepare` turns labels of another form into these; it gets the stored values, of one or two
    axes, and a name for messages. `left_out`: -1 is allowed.

    Raises:
        DataError: another shape or dtype, a value that is no class (of K, if given); names its row.
    """
    where = catalogue.where(name)
    entry = checked(
        catalogue,
        name,
        words=(
            "words; save numbers, in the order of the rows of the weights: "
            "names, labels = numpy.unique(words, return_inverse=True)"
        ),
    )
    refusal = f"{where} has shape {entry.shape}; expected (N,), one class number for each row"
    if len(entry.shape) not in (1, 2) or (prepare is None and entry.shape[1:] not in ((), (1,))):
        raise DataError(refusal)
    with translated(catalogue.path, f"labels {name!r} of shape {entry.shape} {entry.dtype}"):
        values = np.asarray(entry.load())
    if prepare is not None:
        values = prepare(values, where)
    if values.shape[1:] not in ((), (1,)):
        raise DataError(refusal)
    values = values.reshape(-1)
    with np.errstate(invalid="ignore"):
        most = LARGEST_LABEL if K is None else K - 1
        least = -1 if left_out else 0
        right = (values >= least) & (values <= most) & (values == np.floor(values))
    bad = np.flatnonzero(~right)
    if bad.size:
        raise DataError(
            f"{where} has {bad.size} value(s) that are no class, the first is {values[bad[0]]} at "
            f"row {bad[0]}; expected integers from 0 {'on' if K is None else f'to {most}'}: "
            "remove or renumber these rows"
        )
    return values.astype(np.int64)


def load_weights(parts: Sequence[FileRows], *, transpose: bool = False) -> np.ndarray:
    """A classifier as stored, one row per class, float64, finite; zero rows are allowed.

    Args:
        parts: the classifier, or its rows in several files, in order.
        transpose: the files have one column per class.

    Raises:
        DataError: the widths differ, there are fewer than 2 rows or columns, the memory is too
            small, or a value is not finite; names its row and column in the file.
    """
    shapes = [part.shape[::-1] if transpose else part.shape for part in parts]
    for part, shape in zip(parts, shapes, strict=True):
        if shape[1] != shapes[0][1]:
            raise DataError(
                f"{part.where} has shape {part.shape}, but {parts[0].where} has "
                f"{parts[0].shape}; shards of one classifier must agree in d"
            )
    K, d = sum(shape[0] for shape in shapes), shapes[0][1]
    if K < 2 or d < 2:
        raise DataError(f"{parts[0].where} makes ({K}, {d}); weights need K >= 2 and d >= 2")
    if 8 * K * d > memory_limit():
        raise DataError(
            f"{parts[0].where} makes shape ({K}, {d}), {8 * K * d / 1e9:.3g} GB as float64, more "
            "than half of this machine's memory"
        )
    weights = np.empty((K, d))
    begin = 0
    for part, (count, _) in zip(parts, shapes, strict=True):
        mine = weights[begin : begin + count]
        target = mine.T if transpose else mine  # as the file has it
        step = max(1, _BLOCK_BYTES // (8 * part.shape[1]))
        step = max(part.step, step // part.step * part.step)
        for start in range(0, part.shape[0], step):
            stop = min(start + step, part.shape[0])
            with np.errstate(invalid="ignore"):
                target[start:stop] = part.read(start, stop)
        require_finite(target, part.where)
        begin += count
    return weights


def numbered(
    words: np.ndarray, names: str | Lines | None, where: Mapping[str, str]
) -> tuple[np.ndarray, list[str]]:
    """Class numbers of labels that are words, and the name of each class.

    Args:
        words: shape (N,).
        names: of the classes, in their order, or a file of them; None: the words, sorted.
        where: names the roles of what is there in messages; weights and logits have an order.

    Raises:
        DataError: a word is missing or no name, or the order of the classes is not known.

    Example:
        >>> numbered(np.array(["cat", "ant", "cat"]), None, {"labels": "labels"})
        (array([1, 0, 1]), ['ant', 'cat'])
    """
    if names is None and {"weights", "logits"} & where.keys():
        raise DataError(
            f"{where['labels']}: these are words, and the order of the classifier's classes is not "
            f"known; give {spelled('class_names', 'FILE')}, one name for each of its rows"
        )
    known = sorted({*words.tolist()} - {None}) if names is None else read_lines(names)
    places = {name: k for k, name in enumerate(known)}
    labels = np.array([places.get(word, -1) for word in words.tolist()], dtype=np.int64)
    if labels.min(initial=0) < 0:
        raise DataError(
            f"{where['labels']}: {shown(words[labels.argmin()])} at row {labels.argmin()} is none "
            f"of the {len(known)} names of classes; add it to them, or leave such rows out"
        )
    return labels, known


def require_finite(array: np.ndarray, where: str) -> None:
    """Refuse NaN and infinity; the message has their number, and the first one's row and column."""
    if np.isfinite(array).all():
        return
    bad = np.argwhere(~np.isfinite(array))
    at = ", ".join(f"{word} {i}" for word, i in zip(("row", "column"), bad[0], strict=False))
    raise DataError(
        f"{where} has {len(bad)} value(s) that are not finite, the first is "
        f"{array[tuple(bad[0])]} at {at}; remove or repair these rows"
    )


def _load(catalogue: Catalogue, name: str) -> np.ndarray:
    entry = catalogue.entries[name]
    with (
        translated(catalogue.path, f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        return np.ascontiguousarray(entry.load(), dtype=np.float64)


def is_one_hot(values: np.ndarray) -> bool:
    """Whether there is one 1 in each row of two or more columns, and zeros else."""
    return (
        values.ndim == 2
        and values.shape[1] > 1
        and bool(((values == 0) | (values == 1)).all())
        and bool((np.count_nonzero(values, axis=1) == 1).all())
    )


def zero_based(values: np.ndarray, where: str, form: str) -> np.ndarray:
    """Labels of a `form` as integers from 0 on, with -1 for samples that are left out.

    Args:
        values: shape (N,), (N, 1), or one-hot (N, K).
        where: names them in messages.
        form: `zero-based`, `one-based` or `one-hot`, as the user says.

    Raises:
        DataError: they are not in this form, or one-hot and the user has not said so.

    Example:
        >>> zero_based(np.array([[0, 1], [1, 0]]), "labels", "one-hot")
        array([1, 0])
    """
    one_hot = is_one_hot(values)
    if form == ONE_HOT:
        if not one_hot:
            raise DataError(
                f"{where}: shape {values.shape} is not one-hot, with one 1 and else zeros in each "
                f"row; drop {spelled('labels_are', ONE_HOT)}"
            )
        return np.asarray(values.argmax(axis=1))
    if one_hot:
        raise DataError(
            f"{where} is one-hot, shape {values.shape}; add {spelled('labels_are', ONE_HOT)}"
        )
    left_out = np.isin(values, _IGNORED)
    if form == ONE_BASED:
        below = np.flatnonzero((values < 1).reshape(-1) & ~left_out.reshape(-1))
        if below.size:
            raise DataError(
                f"{where} has label {values.reshape(-1)[below[0]]} at row {below[0]}, and does not "
                f"count from 1; drop {spelled('labels_are', ONE_BASED)}"
            )
        values = np.asarray(values - 1)
    return np.where(left_out, -1, values) if left_out.any() else values


def check_range(labels: np.ndarray, K: int, where: str) -> None:
    """Refuse labels above K - 1; those that run from 1 to K are recognised."""
    if int(labels.max(initial=0)) < K:
        return
    row = int((labels >= K).argmax())
    step = f"; {from_one()}" if labels[labels >= 0].min() == 1 and labels.max() == K else ""
    raise DataError(
        f"{where} has label {labels[row]} at row {row}, out of range for K = {K}; "
        f"expected 0 to {K - 1}{step}"
    )


def suspicion(labels: np.ndarray, step: str | None = None) -> str | None:
    """A warning where labels that alone say what K is look as if they counted from 1."""
    counts = np.bincount(labels[labels >= 0])
    if len(counts) < 3 or counts[0] or not counts[1:].all():
        return None
    return (
        f"no sample has label 0, and every label from 1 to {len(counts) - 1} has some: class 0 is "
        f"taken as missing; {from_one(step)}"
    )


def from_one(step: str | None = None) -> str:
    """The step for labels that count from 1: an option, or another where there is none."""
    return f"if they count from 1, {step or 'add ' + spelled('labels_are', ONE_BASED)}"


def joined_labels(
    pieces: Sequence[tuple[Catalogue, str]],
    features: Sequence[tuple[Catalogue, str]],
    where: dict[str, str],
    form: str,
) -> np.ndarray | None:
    """All labels in order; shard by shard as many as features, where there are as many files.

    Those of a table may be words, which `numbered` makes classes of.
    """
    if not pieces:
        return None
    if form not in (ONE_BASED, ONE_HOT) and all(
        catalogue.entries[name].dtype == WORDS for catalogue, name in pieces
    ):
        with translated(pieces[0][0].path, "columns of words"):
            loaded = [checked(*piece, texts=True).load() for piece in pieces]
    else:
        prepare = partial(zero_based, form=form)
        loaded = [load_labels(*piece, prepare=prepare, left_out=True) for piece in pieces]
    if len(pieces) > 1:
        where["labels"] += f" and {len(pieces) - 1} more file(s)"
        for (catalogue, name), labels, (other, matrix) in zip(
            pieces, loaded, features if len(features) == len(pieces) else (), strict=False
        ):
            rows = other.entries[matrix].shape[0]
            if len(labels) != rows:
                raise DataError(
                    f"{catalogue.where(name)} has {len(labels)} labels, {other.where(matrix)} has "
                    f"{rows} rows; each shard needs one label a row"
                )
    return np.concatenate(loaded)
