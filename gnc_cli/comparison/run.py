"""One call of `compare`: the table listed, files compared, pairs solved or hunted; the picture."""

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import nan
from typing import Any

from gnc_cli import __version__
from gnc_cli.comparison.request import Request, read_request
from gnc_cli.comparison.result import CompareResult, CompareRow, ListedRow, Mode
from gnc_cli.errors import UsageError
from gnc_cli.io.outputs import check_apart, is_page
from gnc_cli.known_codes.best import Table, our_copy
from gnc_cli.known_codes.table import KnownCode, KnownCodes, SolvedMargin, stored_margins
from gnc_cli.limits.registry import possible_table
from gnc_cli.metrics.records import Rattlers
from gnc_cli.parameters import Path, spelled
from gnc_cli.runtime.deadline import Deadline, Progress

OnRow = Callable[[CompareRow], None]


def run(
    files: tuple[Any, ...],
    *,
    table: Table,
    plot: Path | None,
    interrupt: threading.Event | None,
    progress: Progress | None,
    on_row: OnRow | None,
    **options: Any,
) -> CompareResult:
    """Compare with checked arguments; see `api.compare`."""
    started = time.monotonic()
    request = read_request(files, **options)
    if plot is not None and is_page(plot) and len(files) != 1:
        raise UsageError(
            f"{spelled('plot')} {os.fspath(plot)!r} is a page of one code; give one file, or draw "
            "a .png"
        )
    known = possible_table(table)
    deadline = Deadline.of_call(request.time_limit, interrupt)
    rows: Collection[Any]
    codes: tuple[Any, ...] = ()
    unfinished = False
    summary = None
    match request.mode:
        case Mode.LIST:
            listed = our_copy().merged(known)
            rows = [
                _listed(entry)
                for entry in listed.select(request.d, request.K, proven=request.proven)
            ]
            if not request.proven:
                rows += [
                    _listed_own(code)
                    for code in stored_margins().select(request.d, request.K)
                    if listed.find(code.d, code.K) is None
                ]
            rows = sorted(rows, key=lambda row: (row.d, row.K))
            if on_row is not None:
                for row in rows:
                    on_row(row)
        case Mode.FILES:
            codes = compare_files(
                request, known, deadline, progress, on_row, {spelled("table"): table}
            )
            rows = [code.row for code in codes]
        case Mode.SOLVE:
            from gnc_cli.comparison.solve import compare_solves

            rows, finished = compare_solves(request, known, deadline, progress, on_row)
            unfinished = not finished
        case Mode.HUNT:
            from gnc_cli.comparison.hunt import hunt

            rows, summary = hunt(request, known, deadline, progress, on_row)
    result = CompareResult(
        seconds=time.monotonic() - started,
        version=__version__,
        rows=tuple(rows),
        table=known.stamp,
        mode=request.mode,
        stopped=deadline.interrupted,
        hunt=summary,
        unfinished=unfinished,
        codes=codes,
    )
    if plot is not None:
        from gnc_cli.comparison.plot import plot_compare

        plot_compare(result, plot)
    return result


def _listed(entry: KnownCode) -> ListedRow:
    # The table counts rattlers of the one-vs-one kind, and does not say within which tolerance.
    free = None if entry.rattlers is None else Rattlers(entry.rattlers, None, nan)
    return ListedRow(
        d=entry.d,
        K=entry.K,
        best_known=entry.max_cosine,
        figure=entry.figure,
        rattlers=free,
        contacts=entry.contacts,
        source=entry.source,
        date=entry.date,
        proven=entry.proven,
        record=entry.status,
        note=entry.note,
    )


def _listed_own(code: SolvedMargin) -> ListedRow:
    # Of a Tammes code, whose largest cosine is 1 - rho; rho has twelve decimals.
    figure = f"{1.0 - code.rho:.12f}"
    return ListedRow(
        d=code.d,
        K=code.K,
        best_known=float(figure),
        figure=figure,
        rattlers=None,
        contacts=None,
        source=code.source,
        date=stored_margins().date,
        how=code.command,
        proven=False,
        record="solved",
        note="",
    )


def compare_files(
    request: Request,
    table: KnownCodes,
    deadline: Deadline,
    progress: Progress | None,
    on_row: OnRow | None,
    read: Mapping[str, Any],
) -> tuple[Any, ...]:
    """`codes.Judged` of each file, in their order; further digits; files for other programs.

    `read` are further inputs by option, which no output may overwrite. All files are read before
    the first is measured: a bad file costs no waiting.
    """
    from gnc_cli.comparison.codes import (
        judge_code,
        load_code,
        polished_cosine,
        predict_comparison,
    )
    from gnc_cli.runtime.threads import limit_threads, threads_for

    dimension = None if request.d is None else request.d[0]
    codes = [load_code(source, dimension) for source in request.files]
    folders = []
    if request.export is not None:
        from gnc_cli.comparison.export import NAMES, export_code, export_folders, predict_export

        folders = export_folders(request.export, codes, force=request.force)
        written = [folder / name for folder in folders for name in NAMES]
        check_apart({spelled("export"): written}, {"FILES": request.files, **read})
    for code in codes:
        K, d = code.rows.shape
        disk = 0.0 if request.export is None else predict_export(d, K)
        replace(predict_comparison(d, K), disk=disk).within(request.time_limit).require(
            f"comparing {code.file or 'an array'!r} of K={K} points in d={d}",
            "compare a part of its rows",
            out=request.export,
        )
    judged = []
    for at, code in enumerate(codes):
        if deadline.interrupted:
            break
        found = judge_code(
            code,
            table,
            tolerance=request.tolerance,
            require_entry=request.require_entry,
            deadline=deadline,
            threads=request.threads,
        )
        if found.row.status is None and deadline.interrupted:
            break
        polished = None
        with limit_threads(threads_for(float(code.rows.size) ** 3, request.threads)):
            if request.digits is not None:
                digits, polished = polished_cosine(found, request.digits, deadline)
                found = replace(found, row=replace(found.row, digits=digits))
            if folders:
                exported, left_out = export_code(
                    found, polished, folders[at], deadline, force=request.force
                )
                found = replace(found, row=replace(found.row, exported=exported, left_out=left_out))
        judged.append(found)
        if on_row is not None:
            on_row(found.row)
        if progress is not None:
            gap = max((j.row.gap for j in judged if j.row.gap is not None), default=nan)
            progress("codes, largest gap", len(judged), len(codes), gap)
    return tuple(judged)
