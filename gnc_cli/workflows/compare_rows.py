"""Rows of `compare` as a ledger keeps them, and the loop that makes the missing ones."""

import dataclasses
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from gnc_cli import __version__
from gnc_cli.errors import UsageError
from gnc_cli.io.ledger import Ledger
from gnc_cli.results import CompareResult, CompareRow, Rattlers, Standing, TableStamp
from gnc_cli.workflows.compare_runs import Flag, run_jobs

__all__ = ["Job", "OnRow", "Progress", "make_rows", "pairs", "row_of"]

OnRow = Callable[[CompareRow], None]
Progress = Callable[[str, int, int, float], None]

_OWN = {f.name for f in dataclasses.fields(CompareRow)} - {"more"}


class Job(Protocol):
    """One row to make."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from the other rows: (d, K)."""


J = TypeVar("J", bound=Job)


def make_rows(
    jobs: Sequence[J],
    work: Callable[[J, Flag], CompareRow | None],
    *,
    key: Callable[[CompareRow], tuple[Any, ...]],
    mode: str,
    options: dict[str, Any],
    stamp: TableStamp,
    workers: int,
    out: str | os.PathLike[str] | None,
    resume: bool,
    force: bool,
    interrupt: Flag | None,
    progress: Progress | None,
    on_row: OnRow | None,
) -> CompareResult:
    """Make the rows that the ledger `out` does not hold yet, each kept as soon as it is there.

    Args:
        jobs: all rows asked for, in the order of the result.
        work: see `run_jobs`.
        key: of a row, as its job's.
        mode: of `compare`.
        options: what the rows of one ledger have in common; mode and the table's sha256 join them.
        on_row: told each row, also those that the ledger held.

    Raises:
        UsageError, OutputError, DataError: see `Ledger` and `run_jobs`.
    """
    started = time.monotonic()
    options = {"mode": mode, **options, "table": stamp.sha256}
    with Ledger(out, options, resume=resume, force=force) as ledger:
        wanted = {job.key for job in jobs}
        rows = {key(row): row for row in map(row_of, ledger.rows) if key(row) in wanted}
        for row in rows.values():
            if on_row is not None:
                on_row(row)

        def done(job: J, row: CompareRow) -> None:
            ledger.append(row.to_json())
            rows[job.key] = row
            if on_row is not None:
                on_row(row)
            if progress is not None:
                gap = max((r.gap for r in rows.values() if r.gap is not None), default=math.nan)
                progress("pairs, largest gap", len(rows), len(jobs), gap)

        missing = [job for job in jobs if job.key not in rows]
        complete = run_jobs(missing, work, done, workers=workers, interrupt=interrupt)
    return CompareResult(
        seconds=time.monotonic() - started,
        version=__version__,
        rows=tuple(rows[job.key] for job in jobs if job.key in rows),
        table=stamp,
        extras={"mode": mode, "interrupted": not complete},
    )


def row_of(values: dict[str, Any]) -> CompareRow:
    """The inverse of `CompareRow.to_json`; rows of earlier versions may lack a key.

    Example:
        >>> row = CompareRow(3, 4, -1 / 3, -1 / 3, 0.0, Standing.MATCHES, None, 6, None, "", True)
        >>> row_of(row.to_json()) == row
        True
    """
    own = {**dict.fromkeys(_OWN), **{k: v for k, v in values.items() if k in _OWN}}
    if own["status"] is not None:
        own["status"] = Standing(own["status"])
    if own["rattlers"] is not None:
        own["rattlers"] = Rattlers(**own["rattlers"])
    return CompareRow(**own, more={k: v for k, v in values.items() if k not in _OWN})


def pairs(dims: Sequence[int], sizes: Sequence[int], budget: float) -> list[tuple[int, int]]:
    """Every (d, K), by dimension, then size.

    Raises:
        UsageError: none, one that is no code, or no time to solve it.
    """
    for option, values in (("--d", dims), ("--K", sizes)):
        if not len(values):
            raise UsageError(f"{option} names no value; give a range like 3..8")
        if min(values) < 2:
            raise UsageError(f"{option} {min(values)} is below 2")
    if not budget > 0.0:
        raise UsageError(f"--budget {budget:g} must be a positive number of seconds")
    return [(int(d), int(K)) for d in sorted(set(dims)) for K in sorted(set(sizes))]
