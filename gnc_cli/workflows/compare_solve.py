"""`compare --solve`: a fresh solve of every pair (d, K), beside the best known code.

The regression test of the solver: what it finds in so many seconds a pair, from nothing.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast

from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.codes.rational import verify_below
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import CompareResult, CompareRow, SolveResult, TableStamp, plain
from gnc_cli.workflows.compare_congruence import congruent_to
from gnc_cli.workflows.compare_rows import OnRow, Progress, make_rows, pairs
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_standing import improvement, standing, verdict_keys
from gnc_cli.workflows.known import Reference, Table, best, read_table

__all__ = ["PairJob", "compare_solve", "search_for", "solve_pair", "solved_row", "timed_solve"]

_STEPS, _SMALL = 600, 64
"""Gradient steps of a descent up to so many points: in a few seconds, several rounds of short
descents see more basins than one round of long ones."""
_RECOGNISING = 2.0
"""Seconds for finding out which named code a code is."""


@dataclass(frozen=True)
class PairJob:
    """One pair to solve, with all that a process of its own needs."""

    d: int
    K: int
    problem: str
    budget: float
    seed: int
    known: Reference | None
    stamp: TableStamp
    """Of the table asked for."""

    @property
    def key(self) -> tuple[int, int]:
        """(d, K)."""
        return self.d, self.K


def compare_solve(
    dims: Sequence[int],
    sizes: Sequence[int],
    *,
    budget: float = 10.0,
    problem: str = "tammes",
    workers: int = 1,
    seed: int = 0,
    table: Table = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    interrupt: Flag | None = None,
    progress: Progress | None = None,
    on_row: OnRow | None = None,
) -> CompareResult:
    """Solve each pair for so many seconds and hold it against the best known code.

    Where theorem 3.3 has a closed form, the solver may use it (`method auto`); everywhere else it
    descends from random starts (`method descent`), without constructions. A row that no time limit
    cut is the same for any number of workers; one that it cut depends on how far a process got.

    Args:
        dims, sizes: every d with every K.
        budget: seconds a pair; a search that converges earlier ends earlier.
        problem: `tammes`, or `softmax`, whose code is compared by its largest cosine all the same.
        workers: processes, with one thread each.
        seed: of every solve. `gnc solve --problem tammes --method descent --seed SEED` repeats a
            row, with `--steps 600` up to 64 points: short descents suit short budgets.
        table: known codes; our copy by default.
        out: JSON lines, a row as soon as it is there; None to keep nothing.
        resume: keep the rows of `out` and make the others.
        force: replace `out`.
        interrupt: set it to stop early with the rows so far.
        progress: told `(stage, done, total, largest gap)`.
        on_row: told each row as it is ready, in the order of finishing.

    Returns:
        Rows by dimension, then size; `extras["interrupted"]` says whether some are missing.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.
    """
    if problem not in ("tammes", "softmax"):
        raise UsageError(f"--problem {problem} has no largest cosine to compare; use tammes")
    known = read_table(table)
    jobs = [
        PairJob(d, K, problem, float(budget), seed, best(d, K, known), known.stamp)
        for d, K in pairs(dims, sizes, budget)
    ]
    return make_rows(
        jobs, solve_pair, key=lambda row: (row.d, row.K),
        mode="solve", options={"problem": problem, "budget": float(budget), "seed": seed},
        stamp=known.stamp, workers=workers, out=out, resume=resume, force=force,
        interrupt=interrupt, progress=progress, on_row=on_row,
    )  # fmt: skip


def solve_pair(job: PairJob, flag: Flag) -> CompareRow | None:
    """Solve one pair; None where the flag cut it short."""
    method = "auto" if closed_form(job.d, job.K) is not None else "descent"
    with limit_threads(1):
        result = search_for(job.K)(job, flag, problem=job.problem, method=method)
        if flag.is_set():
            return None
        more = {"problem": job.problem, "method": method}
        row = solved_row(job, result, job.known, more)
        said = verdict_keys(
            row.status, job.d, job.K, job.known, job.stamp, lambda: result.weights
        )
        return replace(row, more={**row.more, **said})


def search_for(K: int) -> Callable[..., SolveResult]:
    """`timed_solve` with descents of a length that suits K points and a few seconds."""
    return partial(timed_solve, steps=_STEPS if K <= _SMALL else None)


def timed_solve(job: Any, flag: Flag, **options: Any) -> SolveResult:
    """`solve` with the job's d, K, budget and seed on one thread, libraries loaded beforehand."""
    from gnc_cli.workflows.solve import solve

    if options["method"] != "auto":
        _load()
    options = {"seed": job.seed, "time_limit": job.budget, "threads": 1, **options}
    result = solve(job.d, job.K, interrupt=cast(threading.Event, flag), **options)
    return cast(SolveResult, result)


def solved_row(
    job: Any, result: SolveResult, known: Reference | None, more: dict[str, Any]
) -> CompareRow:
    """The row of a solve beside `known`, with the mode's own keys first among `more`."""

    def verified(t: Fraction) -> bool:
        return verify_below(result.weights, t).holds is True

    status = standing(result.max_cosine, known, verified)
    rattles = result.extras.get("rattlers_one_vs_one")
    name = None
    if rattles is not None:
        name = congruent_to(result.weights, result.max_cosine, rattles, Deadline(_RECOGNISING))
    return CompareRow(
        d=job.d,
        K=job.K,
        max_cosine=result.max_cosine,
        best_known=None if known is None else known.max_cosine,
        gap=None if known is None else result.max_cosine - known.max_cosine,
        status=status,
        rattlers=result.rattlers,
        contacts=result.contacts,
        congruent_to=name,
        source=None if known is None else known.source,
        proven=None if known is None else known.proven,
        seconds=result.seconds,
        more={
            **more,
            **{k: v for k, v in improvement(status, known, lambda: result.weights).items() if v},
            "origin": result.origin,
            "outcome": result.outcome.value,
            "rho_one_vs_rest": plain(result.rho_one_vs_rest),
            "seed": result.seed,
            "restarts": result.restarts,
        },
    )


@lru_cache(maxsize=1)
def _load() -> None:
    """Load and warm up what a search needs, which the first pair should not pay for."""
    from gnc_cli.workflows.solve import solve

    solve(3, 7, problem="tammes", method="descent", restarts=1, steps=2, threads=1)
