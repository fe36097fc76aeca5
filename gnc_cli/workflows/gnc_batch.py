"""The doorway of `GNCMetrics`: one batch of a training loop, checked."""

from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.sphere import normalise
from gnc_cli.numerics.tensors import is_tensor, to_numpy

__all__ = [
    "answers", "check_rows", "coarsest", "dtype_name", "on_cuda", "raw_weights", "truth",
    "unit_rows",
]  # fmt: skip

_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def truth(labels: Any, shape: tuple[int, ...], d: int, K: int) -> np.ndarray:
    """Labels as int64, shape (n,), checked against the features' shape and K; -1 is left out.

    Raises:
        DataError: shapes disagree, labels are no integers, or one is out of range.
    """
    found = to_numpy(labels)
    if found.ndim != 1 or tuple(shape) != (len(found), d):
        hint = ""
        if len(shape) > 2 and shape[-1] == d:
            hint = f"; flatten with reshape(-1, {d}) and reshape(-1)"
        raise DataError(
            f"features have shape {tuple(shape)}, labels {found.shape}; expected (n, {d}), (n,)"
            + hint
        )
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    if found.dtype.kind not in "iu":
        raise DataError(f"labels have dtype {found.dtype}; expected integers from 0 to {K - 1}")
    found = found.astype(np.int64)
    if found.min() < -1 or found.max() >= K:
        wrong = found.min() if found.min() < -1 else found.max()
        raise DataError(
            f"label {wrong} is out of range; expected 0 to {K - 1}, or -1 for a sample to leave out"
        )
    return found


def answers(logits: Any, shape: tuple[int, int]) -> np.ndarray:
    """The class of the largest logit, the first of ties, shape (n,); found where the logits are.

    Raises:
        DataError: another shape, or a row whose largest logit is NaN or infinite.
    """
    if not is_tensor(logits):
        logits = np.asarray(logits)
    if tuple(logits.shape) != shape:
        raise DataError(f"logits have shape {tuple(logits.shape)}; expected {shape}")
    if not shape[0]:
        return np.zeros(0, dtype=np.int64)
    if is_tensor(logits):
        logits = logits.detach()
        found, largest = to_numpy(logits.argmax(dim=1)), to_numpy(logits.amax(dim=1))
    else:
        found, largest = logits.argmax(axis=1), logits.max(axis=1)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0])
        raise DataError(f"logits hold NaN or infinity as the largest of a row, first in row {row}")
    return found


def raw_weights(weights: Any, K: int, d: int) -> np.ndarray:
    """A classifier's weights as they are, float64, shape (K, d).

    Raises:
        DataError: another shape, or a row is not finite.
    """
    raw = to_numpy(weights).astype(np.float64)
    if raw.shape != (K, d):
        hint = "; transpose them" if raw.shape == (d, K) else ""
        raise DataError(f"weights have shape {raw.shape}; expected {(K, d)}{hint}")
    if not np.isfinite(raw).all():
        row = int(np.flatnonzero(~np.isfinite(raw).all(axis=1))[0])
        raise DataError(f"weights hold NaN or infinity, first in row {row}")
    return raw


def check_rows(rows: np.ndarray, labels: np.ndarray) -> None:
    """Refuse rows that count and are not finite, before any row of their batch is taken in.

    Raises:
        DataError: there is one.
    """
    bad = (labels >= 0) & ~np.isfinite(rows).all(axis=1) if len(rows) else np.zeros(0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(f"features hold NaN or infinity, first in row {row} of the batch")


def unit_rows(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Rows scaled to norm 1, float64; those of label -1 are replaced by anything unit.

    Raises:
        DataError: a row that counts is zero or not finite.
    """
    if not len(rows):
        return rows
    return normalise(np.where((labels >= 0)[:, None], rows, 1.0))


def on_cuda(value: Any) -> bool:
    """Whether `value` is a tensor on a CUDA device, where sums in float64 are at home."""
    return is_tensor(value) and value.device.type == "cuda"


def dtype_name(value: Any) -> str:
    """`float32`, `bfloat16`, ...: of a tensor, an array or lists."""
    if is_tensor(value):
        return str(value.dtype).removeprefix("torch.")
    return np.asarray(value).dtype.name


def coarsest(a: str | None, b: str | None) -> str | None:
    """Of two dtypes the one that keeps fewer digits; None is the lack of one.

    >>> coarsest("float32", "bfloat16")
    'bfloat16'
    """
    if a is None or b is None:
        return a or b
    return min(a, b, key=lambda name: _DIGITS.get(name, 64))
