"""One code beside the best known one: read, measure exactly, judge, recognise."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gnc_cli.codes.certify import ALL_CLASSES, certify_code
from gnc_cli.codes.rational import largest_cosine_above, verify_below
from gnc_cli.codes.rattlers import one_vs_one_rattlers
from gnc_cli.errors import DataError
from gnc_cli.io.known_codes import KnownCodes
from gnc_cli.io.published import read_published
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.numerics.sphere import angle_from_chord, chord, normalise
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Bracket, CompareRow, Rattlers, Standing, plain
from gnc_cli.workflows.compare_congruence import congruent_to
from gnc_cli.workflows.compare_standing import advice, passes, standing, table_name
from gnc_cli.workflows.known import reference

__all__ = ["Code", "Judged", "judge_code", "load_code"]

_TOLERANCE = 1e-7
"""Of rattlers and contacts, on distances."""
_TOLERANCE_SINGLE = 1e-5
"""The same where coordinates have the digits of float32 only."""
_PROVED = 15
"""Decimals of the cosine that is proved of an improvement."""


@dataclass(frozen=True, eq=False)
class Code:
    """A code to compare."""

    rows: np.ndarray
    """As they are stored, shape (K, d), float64."""
    file: str | None
    """As the user named it; None for an array."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A row of the result, and what pictures and further digits need."""

    row: CompareRow
    rows: np.ndarray
    """As stored, shape (K, d)."""
    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    contact_pairs: np.ndarray | None
    rattles: np.ndarray | None
    """One-vs-one rattlers, shape (K,), bool."""


@dataclass(frozen=True)
class _Measured:
    max_cosine: float
    min_angle: float
    rho: Bracket | None
    rattlers: Rattlers
    pairs: np.ndarray | None
    rattles: np.ndarray


def load_code(source: Any, d: int | None = None) -> Code:
    """The code in a file, an array, or whatever carries `weights`, such as a solve's result.

    Args:
        source: `FILE`, `FILE:key`, `-` for HDF5 on stdin; or rows (K, d).
        d: the dimension, where a file of single numbers does not say it.

    Raises:
        DataError, UsageError: see `read_published`; or no matrix of at least two points.
    """
    if isinstance(source, (str, os.PathLike)):
        return Code(read_published(source, d).weights, os.fspath(source))
    try:
        rows = np.array(getattr(source, "weights", source), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{type(source).__name__} is no matrix of numbers: {error}") from error
    if rows.ndim != 2 or min(rows.shape) < 2:
        raise DataError(f"an array has shape {rows.shape}; expected (K, d), one point a row")
    return Code(rows, None)


def judge_code(
    code: Code,
    table: KnownCodes,
    *,
    tolerance: float,
    require_entry: bool,
    deadline: Deadline,
    threads: int | None = None,
) -> Judged:
    """Measure a code and hold it against the best known one.

    Args:
        code: its rows need not be of unit length.
        table: known codes.
        tolerance: largest gap that passes.
        require_entry: a pair that the table lacks does not pass.
        deadline: where it comes first, the row has no cosine and no status.
        threads: by default chosen from the size of the problem.

    Raises:
        DataError: a row is zero or not finite.
    """
    started = time.monotonic()
    K, d = code.rows.shape
    W = _unit(code)
    with limit_threads(threads_for(2.0 * K * K * d, threads)):
        try:
            found = _measure(W, _tolerance(code.rows), deadline)
            name = congruent_to(W, found.max_cosine, found.rattles, deadline)
        except TimeoutError:
            found, name = None, None
        known = reference(d, K, table)
        status = gap = None
        if found is not None:
            gap = None if known is None else found.max_cosine - known.max_cosine
            status = standing(found.max_cosine, known, _prover(code.rows))
        better = status is Standing.IMPROVES
        proved = largest_cosine_above(code.rows, _PROVED).text if better else None
    more: dict[str, Any] = {
        "min_angle_deg": None if found is None else float(np.degrees(found.min_angle)),
        "rho_one_vs_rest": None if found is None else plain(found.rho),
        "improves_on": table_name(table.stamp) if better else None,
        "proved_cosine": proved,
        "passed": passes(status, gap, tolerance=tolerance, require_entry=require_entry),
        "advice": advice(status, d, K, code.file, table.stamp, proved),
    }
    row = CompareRow(
        d=d,
        K=K,
        max_cosine=None if found is None else found.max_cosine,
        best_known=None if known is None else known.max_cosine,
        gap=gap,
        status=status,
        rattlers=None if found is None else found.rattlers,
        contacts=None if found is None or found.pairs is None else len(found.pairs),
        congruent_to=name,
        source=None if known is None else known.source,
        proven=None if known is None else known.proven,
        file=code.file,
        seconds=time.monotonic() - started,
        more=more,
    )
    pairs, rattles = (None, None) if found is None else (found.pairs, found.rattles)
    return Judged(row, code.rows, W, pairs, rattles)


def _unit(code: Code) -> np.ndarray:
    """Unit rows; those that are so already to the last bits stay as they are."""
    try:
        unit = normalise(code.rows)
    except DataError as error:
        raise DataError(f"{code.file or 'the array'}: {error}; remove or mend it") from error
    with np.errstate(over="ignore"):
        off = np.abs(np.linalg.norm(code.rows, axis=1, keepdims=True) - 1.0)
    return np.ascontiguousarray(np.where(off <= 1e-14, code.rows, unit))


def _measure(W: np.ndarray, tolerance: float, deadline: Deadline) -> _Measured:
    """Largest cosine, rattlers and, up to `ALL_CLASSES` rows, contacts and certified rho.

    Raises:
        TimeoutError: the deadline came before every pair was seen.
    """
    if len(W) <= ALL_CLASSES:
        found = certify_code(W, tolerance=tolerance, deadline=deadline)
        assert found.rattles_one_vs_one is not None
        return _Measured(
            found.max_cosine, found.min_angle, found.rho_one_vs_rest, found.rattlers,
            found.contact_pairs, found.rattles_one_vs_one,
        )  # fmt: skip
    row_max, _ = row_maxima(W, deadline=deadline)
    rattles = one_vs_one_rattlers(row_max, tolerance)
    cosine = float(row_max.max())
    free = Rattlers(int(rattles.sum()), None, tolerance)
    return _Measured(cosine, angle_from_chord(chord(cosine)), None, free, None, rattles)


def _tolerance(rows: np.ndarray) -> float:
    """Of rattlers and contacts: looser where the numbers have no more than float32's digits."""
    with np.errstate(over="ignore", under="ignore"):
        single = rows.astype(np.float32).astype(np.float64)
    return _TOLERANCE_SINGLE if np.array_equal(single, rows) else _TOLERANCE


def _prover(rows: np.ndarray) -> Callable[[Fraction], bool]:
    return lambda t: verify_below(rows, t).holds is True
