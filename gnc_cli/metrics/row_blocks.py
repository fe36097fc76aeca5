"""Blocks of labelled rows made ready for float64 work: left out, checked, scaled to norm 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.rows import Rows

__all__ = ["RowBlock", "check_labels", "read_block"]

_SAFE = 1e-200, 1e200
"""Squared norms between these were summed without overflow and without loss."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The rows of a block that count, in float64."""

    kept: np.ndarray | slice
    """Which rows of the block these are."""
    labels: np.ndarray
    """All >= 0, shape (n,)."""
    rows: dict[str, np.ndarray]
    """By space, "unit" or "raw", shape (n, d); nobody else's, to be overwritten at will."""
    norms: np.ndarray
    """Of the raw rows, shape (n,)."""


def check_labels(labels: np.ndarray, N: int, K: int) -> None:
    """Refuse labels that do not fit N rows and K classes.

    Raises:
        DataError: another length, not integers, or a label outside -1 to K - 1.
    """
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise DataError(
            f"labels have shape {labels.shape} and dtype {labels.dtype}; expected ({N},), integers"
        )
    if N and not (labels.min() >= -1 and labels.max() < K):
        wrong = labels.min() if labels.min() < -1 else labels.max()
        raise DataError(
            f"label {wrong} is out of range; expected 0 to {K - 1}, or -1 to leave a row out"
        )


def read_block(
    rows: Rows, labels: np.ndarray, spaces: Sequence[str], where: str, start: int, stop: int
) -> RowBlock:
    """Read the rows from start to stop, leave out those of label -1, check and scale the others.

    Args:
        rows: shape (N, d), any real dtype.
        labels: shape (N,).
        spaces: "unit", "raw" or both.
        where: names the rows in messages.
        start: first row.
        stop: the row after the last.

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero.
    """
    chosen = labels[start:stop]
    kept: np.ndarray | slice = slice(None) if chosen.min(initial=0) >= 0 else chosen >= 0
    raw = np.array(rows.read(start, stop)[kept], dtype=np.float64, order="C")
    squares = np.einsum("nd,nd->n", raw, raw)
    norms = np.sqrt(squares)
    unsure = np.flatnonzero(~((squares > _SAFE[0]) & (squares < _SAFE[1])))
    if unsure.size:
        norms[unsure] = _norms(raw[unsure])
        index = np.arange(start, stop)[kept]
        _refuse(~np.isfinite(norms), index, f"{where} holds NaN or infinity", "mend or remove it")
        if "unit" in spaces:
            what = f"{where} holds zero rows, which have no direction"
            _refuse(norms == 0.0, index, what, "remove them, or measure with --normalize off")
    made: dict[str, np.ndarray] = {}
    if "unit" in spaces:
        unit = raw.copy() if "raw" in spaces else raw
        if unsure.size:
            # The norm of a row of subnormal numbers has no digits to divide by.
            unit[unsure] /= _largest(raw[unsure])
            lengths = norms.copy()
            lengths[unsure] = np.linalg.norm(unit[unsure], axis=1)
            unit /= lengths[:, None]
        else:
            unit *= (1.0 / norms)[:, None]
        made["unit"] = unit
    if "raw" in spaces:
        made["raw"] = raw
    return RowBlock(kept, chosen[kept].astype(np.int64, copy=False), made, norms)


def _largest(rows: np.ndarray) -> np.ndarray:
    """Largest entry in absolute value of each row, shape (m, 1); 1 for zero rows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.where(largest == 0.0, 1.0, largest)


def _norms(rows: np.ndarray) -> np.ndarray:
    """Norms of rows of any scale; not finite for rows that are not, or whose norm overflows."""
    largest = _largest(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        return largest[:, 0] * np.linalg.norm(rows / largest, axis=1)


def _refuse(wrong: np.ndarray, index: np.ndarray, what: str, advice: str) -> None:
    if wrong.any():
        rows = index[wrong]
        raise DataError(
            f"{what}: {len(rows)} of rows {index[0]} to {index[-1]}, first row {rows[0]}; {advice}"
        )
