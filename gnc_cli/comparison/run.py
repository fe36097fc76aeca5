"""Run of `compare`: the table is listed or files are compared; then the plot."""

import time
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any

from gnc_cli import __version__
from gnc_cli.comparison.request import Compare
from gnc_cli.comparison.result import CompareResult, ListedRow, Mode
from gnc_cli.io.arguments import check_apart
from gnc_cli.known_codes.table import KnownCode, KnownCodes, numerical_codes, our_copy
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.limits.registry import possible_table
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import limit_threads, threads_for

if TYPE_CHECKING:
    from gnc_cli.comparison.codes import ComparedCode


def run(call: Compare) -> CompareResult:
    """Answer a call; see `api.compare`."""
    started = time.monotonic()
    table = possible_table(call.table)
    deadline = Deadline.begin_call(call.time_limit, call.interrupt)
    mode = Mode(call.mode)
    codes: Sequence[Any] = ()
    rows: Sequence[Any]
    if mode is Mode.LIST:
        rows = list_codes(call, table)
    else:
        codes = compare_files(call, table, deadline)
        rows = [code.row for code in codes]
    result = CompareResult(
        seconds=time.monotonic() - started,
        version=__version__,
        rows=tuple(rows),
        table=table.stamp,
        mode=mode,
        interrupted=deadline.interrupted,
        codes=tuple(codes),
    )
    if call.plot is not None:
        result.plot(call.plot)
    return result


def list_codes(call: Compare, table: KnownCodes) -> list[ListedRow]:
    """List the best entry of each pair: of our copy, of the table, or of our numerical codes."""
    codes = our_copy().merged(table).merged(numerical_codes())
    rows = [_entry(e) for e in codes.select(call.d, call.K, proven=call.proven)]
    if call.on_row is not None:
        for row in rows:
            call.on_row(row)
    return rows


def _entry(entry: KnownCode) -> ListedRow:
    # The table counts one-vs-one rattlers, and does not state their tolerance.
    free = None if entry.rattlers is None else Rattlers(entry.rattlers, None, nan)
    return ListedRow(
        d=entry.d,
        K=entry.K,
        best_known=entry.max_cosine,
        figure=entry.figure,
        rattlers=free,
        contacts=entry.contacts,
        source=entry.source,
        optimality=entry.optimality,
        date=entry.date,
        proven=entry.proven,
        how=entry.command,
        record=entry.status,
        note=entry.note,
    )


# Files


def compare_files(call: Compare, table: KnownCodes, deadline: Deadline) -> "list[ComparedCode]":
    """Compare each file in its order; compute further digits; write files for other programs.

    All files are read before the first is measured, so that a bad file is reported at once.
    """
    from gnc_cli.comparison.codes import (
        add_description,
        compare_code,
        isometry,
        polish_cosine,
    )
    from gnc_cli.comparison.files import NAMES, export_code, export_folders, load_code
    from gnc_cli.comparison.verdict import passes

    dimension = None if call.d is None else call.d[0]
    codes = [load_code(source, dimension) for source in call.files]
    if call.lines:
        codes = [replace(code, problem="lines") for code in codes]
    folders = []
    if call.export is not None:
        folders = export_folders(call.export, [code.file for code in codes], call.force)
        outputs = [folder / name for folder in folders for name in NAMES]
        inputs = {"FILES": call.files, spelled("table"): call.table}
        check_apart({spelled("export"): outputs}, inputs)
    compared: list[ComparedCode] = []
    for index, code in enumerate(codes):
        if deadline.interrupted:
            break
        result = compare_code(code, table, deadline, call.threads)
        if result.row.status is None and deadline.interrupted:
            break
        with limit_threads(threads_for(float(code.rows.size) ** 3, call.threads)):
            row, digits = result.row, None
            if call.digits is not None:
                polished, digits = polish_cosine(result, call.digits, deadline)
                row = replace(row, digits=polished)
            if call.describe:
                row = add_description(row, result, code.precision, deadline)
            if call.isometry and compared:
                row = replace(row, isometry=isometry(compared[0], result, deadline))
            if folders:
                exported, left_out = export_code(
                    result.weights,
                    result.contact_pairs,
                    digits,
                    folders[index],
                    deadline,
                    force=call.force,
                )
                row = replace(row, exported=exported, left_out=left_out)
        # A default tolerance requires no more of a file than the precision of its numbers.
        tolerance = call.tolerance
        allowed = max(tolerance, code.precision) if tolerance == TOLERANCE else tolerance
        row = replace(row, passed=passes(row, allowed, call.require_entry))
        compared.append(replace(result, row=row))
        if call.on_row is not None:
            call.on_row(row)
        if call.progress is not None:
            gap = max((j.row.gap for j in compared if j.row.gap is not None), default=nan)
            call.progress("codes, largest gap", len(compared), len(codes), gap)
    return compared
