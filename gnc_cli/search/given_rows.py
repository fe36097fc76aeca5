"""Rows that the user gives to a search: those that stay, and those that it starts from."""

import os
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.parameters import spelled

_UNIT = 1e-14
"""Rows this near to unit length are not touched."""
_EQUAL = 1e-12
"""Rows that differ by no more coincide."""


def fixed_rows(source: Any, d: int, K: int) -> np.ndarray | None:
    """Read the rows that stay, from an array or a file, as unit rows (F, d), float64; or None.

    Raises:
        UsageError: there are K rows or more.
        DataError: they have another length, or one of them is zero, not finite, or coincides with
            another.
    """
    rows = _unit_rows("fixed", source, d)
    if rows is None:
        return None
    if len(rows) >= K:
        raise UsageError(
            f"{spelled('fixed')} holds {len(rows)} rows and K = {K}; ask for more points"
        )
    if len(equal := np.flatnonzero(_coinciding(rows))):
        raise DataError(
            f"{spelled('fixed')}: row {equal[0]} coincides with another, so that every code with "
            "these rows has distance 0; remove it"
        )
    return rows


def start_rows(source: Any, d: int, K: int, seed: int) -> np.ndarray | None:
    """Read the rows of a start, from an array or a file, as unit rows (K, d), float64; or None.

    Raises:
        DataError: they are not K rows of length d, or one of them is zero or not finite.
    """
    rows = _unit_rows("init", source, d)
    if rows is None:
        return None
    if len(rows) != K:
        raise DataError(f"{spelled('init')} holds {len(rows)} rows, K = {K}; they must agree")
    return apart(rows, seed)


def _unit_rows(argument: str, source: Any, d: int) -> np.ndarray | None:
    if source is None:
        return None
    name = spelled(argument)
    if isinstance(source, (str, os.PathLike)):
        from gnc_cli.io.codefile import read_points

        name = f"{name} {os.fspath(source)!r}"
        source = read_points(source).weights
    rows = real_matrix(source, name)
    if rows.shape[1] != d:
        hint = "; it looks transposed" if rows.shape[0] == d else ""
        raise DataError(
            f"{name} has shape {rows.shape}; expected rows of length {spelled('d', d)}{hint}"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0.0)))
    if len(bad):
        raise DataError(f"{name}: row {bad[0]} is zero or not finite; remove or mend it")
    # Unit rows stay as they are, bit for bit: dividing by a rounded 1 would change them.
    return np.where(np.abs(norms - 1.0) <= _UNIT, rows, rows / norms)


def apart(W: np.ndarray, seed: int) -> np.ndarray:
    """Unit rows, of which those that coincide with another are random points: no gradient would
    tell them which way to go. The same array where all are apart."""
    equal = np.flatnonzero(_coinciding(W))
    if not len(equal):
        return W
    moved = W.copy()
    moved[equal] = random_points(np.random.default_rng((seed, len(W))), len(equal), W.shape[1])
    return moved


def _coinciding(W: np.ndarray) -> np.ndarray:
    """Which rows coincide with an earlier row, to rounding, shape (m,)."""
    # Neighbours along one random line: rows that coincide are neighbours there.
    order = np.argsort(W @ random_points(np.random.default_rng(0), 1, W.shape[1])[0], kind="stable")
    equal = np.zeros(len(W), dtype=bool)
    equal[order[1:]] = np.abs(np.diff(W[order], axis=0)).max(axis=1) <= _EQUAL
    return equal
