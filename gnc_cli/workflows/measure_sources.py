"""Where the numbers of `measure` come from: files, or arrays that the caller holds."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.samples import Samples, SampleSource, find_samples
from gnc_cli.numerics.rows import ArrayRows
from gnc_cli.numerics.tensors import to_numpy

__all__ = ["ArraySource", "Source", "find_sources"]

_MATRICES = ("features", "weights", "logits")


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Arrays as a source, beside `SampleSource`."""

    samples: Samples
    file: None = None
    snapshot: None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    stamp: str = ""

    @contextlib.contextmanager
    def open(self) -> Iterator[Samples]:
        """The arrays."""
        yield self.samples


Source = SampleSource | ArraySource


def find_sources(
    files: Sequence[Any],
    given: Mapping[str, Any],
    *,
    shards: bool,
    transpose_weights: bool,
    K: int | None,
    select: Sequence[tuple[str, Any]],
) -> list[Source]:
    """One source a row of the result.

    Args:
        files: the files in front.
        given: what has a file or an array of its own: features, labels, weights, bias, logits.
        shards, transpose_weights, K, select: see `measure`.

    Raises:
        UsageError: nothing to measure, or files and arrays mixed.
        DataError: a file is missing or damaged, or no row is selected.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if not files and not given:
        raise UsageError("nothing to measure; give a file: gnc measure features.h5")
    if shards and not files:
        raise UsageError("--shards puts FILES together; --features F1 --features F2 are shards")
    paths = {name: _paths(value) for name, value in given.items()}
    arrays = [name for name, value in paths.items() if value is None]
    if not arrays:
        return list(
            find_samples(
                [str(f) for f in files], **paths, shards=shards,
                transpose_weights=transpose_weights, K=K, select=select,
            )  # fmt: skip
        )
    if files or len(arrays) < len(given):
        raise UsageError(
            f"{', '.join(arrays)} given as arrays beside files; give arrays for all, or files"
        )
    return [ArraySource(_samples(given, transpose_weights))]


def _paths(value: Any) -> list[str] | None:
    """File names, from one or several; None for arrays."""
    if hasattr(value, "__fspath__") or isinstance(value, str):
        return [str(value)]
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(v, str) or hasattr(v, "__fspath__") for v in value):
            return [str(v) for v in value]
    return None


def _samples(given: Mapping[str, Any], transpose_weights: bool) -> Samples:
    arrays = {name: _array(name, value) for name, value in given.items()}
    if transpose_weights and "weights" in arrays:
        arrays["weights"] = arrays["weights"].T
    labels = arrays.get("labels")
    # Arrays read like files, by rows.
    rows: dict[str, Any] = {n: ArrayRows(arrays[n]) for n in ("features", "logits") if n in arrays}
    if labels is not None:
        if labels.dtype.kind not in "iu" or (labels.size and int(labels.min()) < 0):
            raise DataError(
                f"labels have dtype {labels.dtype}, smallest {labels.min() if labels.size else 0}; "
                "expected integers from 0 on: remove other rows from labels and features"
            )
        labels = labels.astype(np.int64)
    return Samples(
        features=rows.get("features"),
        labels=labels,
        weights=_finite("weights", arrays.get("weights")),
        bias=_finite("bias", arrays.get("bias")),
        logits=rows.get("logits"),
        where={name: name for name in arrays},
    )


def _array(name: str, value: Any) -> np.ndarray:
    array = to_numpy(value)
    ranks = 2 if name in _MATRICES else 1
    flat = array.ndim == ranks and min(array.shape[1:], default=2) < 2
    if array.ndim != ranks or flat or array.dtype.kind not in "iuf":
        shape = "(rows, at least 2 columns)" if ranks == 2 else "(rows,)"
        raise DataError(
            f"{name}: shape {array.shape}, dtype {array.dtype}; expected real numbers {shape}"
        )
    return array


def _finite(name: str, array: np.ndarray | None) -> np.ndarray | None:
    if array is None:
        return None
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError(f"{name} holds NaN or infinity")
    return array
