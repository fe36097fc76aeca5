"""The code of a fixed head: read from a file, or solved."""

import math
import os
import threading
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.inputs import split_key
from gnc_cli.io.readers import read_points
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import normalise
from gnc_cli.workflows.train_settings import Settings

__all__ = ["Effort", "fixed_code"]

_RESTARTS = 8
"""Descents of `fixed:solve` where no theorem and no construction answers."""
_PATIENCE = 1500.0
"""Seconds that other processes wait for a code; at 1800 their connection breaks."""
_UNIT = 1e-4
"""Rows whose lengths are as near to 1 as this are taken for a code's own."""


@dataclass(frozen=True, eq=False)
class Effort:
    """How long a code may be searched for, and with how many threads."""

    deadline: Deadline = field(default_factory=Deadline)
    interrupt: threading.Event | None = None
    threads: int | None = None


def fixed_code(
    settings: Settings, d: int, K: int, effort: Effort, *, alone: bool = True
) -> tuple[np.ndarray, str]:
    """Unit rows (K, d), float64, and what to call them; says so where rows had other lengths.

    Args:
        settings: of the run.
        d: dimension of the features.
        K: number of classes.
        effort: of the search for `fixed:solve`.
        alone: no other process waits.

    Raises:
        DataError: the file cannot be read or is of another shape; the search was stopped.
    """
    assert settings.code is not None
    if settings.code == "solve":
        return _solved(d, K, settings.seed, effort, alone)
    code = read_points(settings.code).weights
    if code.shape != (K, d):
        raise DataError(
            f"{settings.code!r} holds {code.shape[0]} points in {code.shape[1]} dimensions, and "
            f"there are {K} classes and features of {d}; solve one: gnc solve --d {d} --K {K} "
            "--out code.h5"
        )
    rows = normalise(code)
    scaled = np.abs(rows - code).max() > _UNIT  # lengths, for directions are the same
    file, key = split_key(settings.code)
    name = os.path.basename(file) + (f":{key}" if key else "")
    return rows, f"{name}, rows scaled to length 1" if scaled else name


def _solved(d: int, K: int, seed: int, effort: Effort, alone: bool) -> tuple[np.ndarray, str]:
    from gnc_cli.results import Outcome, SolveResult
    from gnc_cli.workflows.solve import solve

    seconds = min(effort.deadline.remaining, math.inf if alone else _PATIENCE)
    result = solve(
        d, K, seed=seed, restarts=_RESTARTS, threads=effort.threads, interrupt=effort.interrupt,
        time_limit=max(seconds, 1e-3) if math.isfinite(seconds) else None,
    )  # fmt: skip
    assert isinstance(result, SolveResult)
    if result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED):
        raise DataError(
            "--head fixed:solve: the search for the code was stopped before its end, and nothing "
            f"is written; allow more time, or solve it first: gnc solve --d {d} --K {K} --out "
            "code.h5, then --head fixed:code.h5"
        )
    rho = result.rho_one_vs_rest.lower
    return np.asarray(result.weights), f"{result.origin}, rho {rho:.6g}"
