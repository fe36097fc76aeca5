"""`compare`: where codes stand beside the best known ones. The function behind `gnc compare`."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gnc_cli import __version__
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import CompareResult, CompareRow
from gnc_cli.workflows.compare_request import Mode, read_request
from gnc_cli.workflows.compare_standing import TOLERANCE, passes
from gnc_cli.workflows.known import Table, read_table
from gnc_cli.workflows.outputs import check_outputs

__all__ = ["compare"]

OnRow = Callable[[CompareRow], None]
Progress = Callable[[str, int, int, float], None]
_Path = str | os.PathLike[str]


def compare(
    *sources: Any,
    list: bool = False,
    solve: bool = False,
    d: int | Iterable[int] | None = None,
    K: int | Iterable[int] | None = None,
    proven: bool = False,
    table: Table = None,
    tolerance: float = TOLERANCE,
    require_entry: bool = False,
    digits: int | None = None,
    export: _Path | None = None,
    budget: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    out: _Path | None = None,
    resume: bool = False,
    force: bool = False,
    plot: _Path | None = None,
    interrupt: threading.Event | None = None,
    progress: Progress | None = None,
    on_row: OnRow | None = None,
) -> CompareResult:
    """Hold codes against the known codes: files of yours, or fresh solves; or list the table.

    Args:
        sources: codes: files that `gnc` reads, `FILE:key`, `-` for HDF5 on stdin, arrays (K, d),
            results of `solve`.
        list: the table itself, narrowed by `d`, `K` and `proven`.
        solve: a fresh solve of every pair of `d` and `K`.
        d, K: at least 2, one or several; beside files d says how many coordinates make a point
            where a file has one a line.
        table: a table of known codes or its file, `d,N,cosine` a line; our copy by default.
        tolerance: the largest gap that passes.
        require_entry: pairs that the table lacks do not pass.
        digits: polish each code and give so many digits of its cosine, and its minimal polynomial.
        export: folder for coordinates, Gram matrix, contact graph and inner products.
        budget: seconds of a solve, 10 by default.
        workers: solves side by side, 1 by default.
        seed: of the solves.
        time_limit: seconds; a normal end.
        threads: of the measurement; by default chosen from the size.
        out: file for the rows of solves, JSON lines, each as it is ready.
        resume: go on from the rows in `out`.
        force: overwrite files.
        plot: PNG, SVG or PDF.
        interrupt: set it to stop early with the rows so far.
        progress: told `(stage, done, total, worst)`.
        on_row: told each row as it is ready.

    Returns:
        One row a code or entry; `passed` in a row says whether its gap is within the tolerance.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> row = compare([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).rows[0]
        >>> row.status.value, row.max_cosine, row.source
        ('matches', 0.0, 'theorem 3.3: regular polygon')
    """
    started = time.monotonic()
    request = read_request(
        sources,
        modes={Mode.LIST: list, Mode.SOLVE: solve},
        given={
            "--proven": proven, "--digits": digits is not None,
            "--export": export is not None, "--threads": threads is not None,
            "--tolerance": tolerance != TOLERANCE, "--require-entry": require_entry,
            "--time-limit": time_limit is not None, "--budget": budget is not None,
            "--workers": workers is not None, "--seed": seed != 0, "--out": out is not None,
            "--resume": resume, "--K": K is not None,
        },
        d=d, K=K, tolerance=tolerance, budget=budget, workers=workers, seed=seed, digits=digits,
        resume=resume, out=out, time_limit=time_limit,
    )  # fmt: skip
    check_outputs(
        {"--out": out}, plot=plot, force=force or resume,
        read={"FILES": sources, "--table": table},
    )  # fmt: skip
    known = read_table(table)
    deadline = Deadline(time_limit, interrupt)

    def judged(row: CompareRow) -> CompareRow:
        if request.mode is not Mode.SOLVE or row.more.get("passed") is not None:
            return row
        good = passes(
            row.status, row.gap, tolerance=tolerance, require_entry=require_entry,
            on_record=bool(row.more.get("on_record")), proven=row.proven,
        )  # fmt: skip
        return replace(row, more={**row.more, "passed": good})

    def tell(row: CompareRow) -> None:
        if on_row is not None:
            on_row(judged(row))

    if request.mode is Mode.LIST:
        from gnc_cli.workflows.compare_list import listed_rows

        rows = listed_rows(known, request.d, request.K, proven=proven)
        result = CompareResult(0.0, __version__, rows, known.stamp, {"mode": "list"})
        for row in rows:
            tell(row)
    elif request.mode is Mode.FILES:
        from gnc_cli.workflows.compare_files import compare_files

        result = compare_files(
            sources, known, d=request.dimension, tolerance=tolerance, require_entry=require_entry,
            digits=digits, export=export, force=force, threads=threads, deadline=deadline,
            progress=progress, on_row=tell,
        )  # fmt: skip
    else:
        from gnc_cli.workflows.compare_solve import compare_solve

        result = compare_solve(
            [*(request.d or ())], [*(request.K or ())], budget=request.budget,
            workers=request.workers, seed=seed, table=known, out=out, resume=resume, force=force,
            interrupt=_Until(deadline), progress=progress, on_row=tell,
        )  # fmt: skip
    unfinished = bool(result.extras.get("interrupted"))
    result = replace(
        result,
        seconds=time.monotonic() - started,
        rows=tuple(judged(row) for row in result.rows),
        extras={
            **result.extras, "interrupted": deadline.interrupted, "unfinished": unfinished
        },
    )
    if plot is not None:
        from gnc_cli.plots.compare import plot_compare

        plot_compare(result, plot)
    return result


class _Until:
    """An event that a deadline sets; the searches poll it as they would an interruption."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline

    def is_set(self) -> bool:
        return self.deadline.expired

