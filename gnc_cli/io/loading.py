"""Codes, labels, classifiers and biases out of a file, checked to the last number."""

from collections.abc import Callable, Sequence

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry, checked, translated
from gnc_cli.io.file_rows import FileRows
from gnc_cli.io.inputs import memory_limit

_BLOCK_BYTES = 32 << 20
LARGEST_LABEL = 1 << 53
"""No number of classes comes near; floats up to here are integers without doubt."""


def load_matrix(catalogue: Catalogue, name: str) -> np.ndarray:
    """The points stored under `name`, shape (K, d) with K, d >= 2, float64, finite, no zero row.

    Raises:
        DataError: anything else; names file, dataset, value and the next step.
    """
    where = catalogue.where(name)
    entry = checked(catalogue, name)
    if len(entry.shape) != 2:
        raise DataError(
            f"{where} has shape {entry.shape}; expected (K, d), one point a row" + _hint(entry)
        )
    K, d = entry.shape
    if K < 2 or d < 2:
        raise DataError(
            f"{where} has shape {entry.shape}; a code needs K >= 2 rows and d >= 2 columns"
            + _hint(entry)
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
    """A bias, shape (K,), float64, finite; of any length where K is not given.

    Raises:
        DataError: another shape or dtype, NaN or infinity.
    """
    entry = checked(catalogue, name)
    where = catalogue.where(name)
    if len(entry.shape) != 1 or K not in (None, entry.shape[0]):
        expected = "(K,)" if K is None else f"({K},)"
        raise DataError(f"{where} has shape {entry.shape}; expected {expected}, one for each class")
    bias = _load(catalogue, name)
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
    """A classifier as stored, one row a class, float64, finite; zero rows are allowed.

    Args:
        parts: the classifier, or its rows in several files, in order.
        transpose: the files have one column a class.

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


def require_finite(array: np.ndarray, where: str) -> None:
    """Refuse NaN and infinity; tells how many there are, and the first one's row and column."""
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
    with translated(catalogue.path, f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(entry.load(), dtype=np.float64)


def _hint(entry: Entry) -> str:
    if len(entry.shape) == 2 and entry.shape[1] == 1 and entry.shape[0] >= 4:
        return " (one coordinate a line? put each point's d coordinates on one line)"
    return ""
