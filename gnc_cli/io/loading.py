"""Labels, classifier and bias out of a file: small enough to be loaded, and checked to the last."""

from collections.abc import Sequence

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import (
    Catalogue,
    checked,
    load_vector,
    memory_limit,
    require_finite,
    translated,
)
from gnc_cli.io.file_rows import FileRows

__all__ = ["load_bias", "load_labels", "load_weights"]

_BLOCK_BYTES = 32 << 20
_LARGEST = 1 << 53
"""No number of classes comes near; floats up to here are integers without doubt."""


def load_labels(catalogue: Catalogue, name: str) -> np.ndarray:
    """Class numbers, shape (N,), int64, from integers or integral floats of shape (N,) or (N, 1).

    Raises:
        DataError: another shape or dtype, a value that is negative or no integer; names its row.
    """
    _present(catalogue, name)
    entry = checked(catalogue, name)
    where = catalogue.where(name)
    if len(entry.shape) not in (1, 2) or entry.shape[1:] not in ((), (1,)):
        raise DataError(
            f"{where} has shape {entry.shape}; expected (N,), one class number for each row"
        )
    with translated(catalogue.path, f"labels {name!r} of shape {entry.shape} {entry.dtype}"):
        values = np.asarray(entry.load()).reshape(-1)
    if len(values) != entry.shape[0]:
        raise DataError(f"{where} came back as {values.shape} in place of {entry.shape}")
    with np.errstate(invalid="ignore"):
        right = (values >= 0) & (values <= _LARGEST) & (values == np.floor(values))
    bad = np.flatnonzero(~right)
    if bad.size:
        step = "remove or renumber these rows"
        if np.all(values[bad] == -1):
            step = (
                "-1 leaves samples out of batches of GNCMetrics, not of files; remove these rows "
                "from labels and features"
            )
        raise DataError(
            f"{where} has {bad.size} value(s) that are no class, the first is {values[bad[0]]} at "
            f"row {bad[0]}; expected integers from 0 on: {step}"
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


def load_bias(catalogue: Catalogue, name: str) -> np.ndarray:
    """A bias, shape (K,), float64, finite.

    Raises:
        DataError: another rank or dtype, NaN or infinity.
    """
    _present(catalogue, name)
    entry = checked(catalogue, name)
    if len(entry.shape) != 1:
        raise DataError(
            f"{catalogue.where(name)} has shape {entry.shape}; expected (K,), one for each class"
        )
    return load_vector(catalogue, name, entry.shape[0]).astype(np.float64)


def _present(catalogue: Catalogue, name: str) -> None:
    if name not in catalogue.entries:
        raise DataError(f"{catalogue.path!r} has no dataset {name!r}; it holds {catalogue}")
