"""One call of `compare`: the table listed, files compared or pairs solved; then the picture."""

import time
from collections.abc import Sequence
from math import nan
from typing import Any

from gnc_cli import __version__
from gnc_cli.comparison.request import Request
from gnc_cli.comparison.result import CompareResult, ListedRow, Mode
from gnc_cli.known_codes.best import our_copy
from gnc_cli.known_codes.table import KnownCode, KnownCodes, numerical_codes
from gnc_cli.limits.registry import possible_table
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.runtime.deadline import Deadline


def run(request: Request) -> CompareResult:
    """Answer a call; see `api.compare`."""
    started = time.monotonic()
    table = possible_table(request.table)
    deadline = Deadline.of_call(request.time_limit, request.interrupt)
    codes: Sequence[Any] = ()
    rows: Sequence[Any]
    match request.mode:
        case Mode.LIST:
            rows = list_codes(request, table)
        case Mode.FILES:
            from gnc_cli.comparison.codes import compare_files

            codes = compare_files(request, table, deadline)
            rows = [code.row for code in codes]
        case Mode.SOLVE:
            from gnc_cli.comparison.solve import compare_solves

            rows = compare_solves(request, table, deadline)
    result = CompareResult(
        seconds=time.monotonic() - started,
        version=__version__,
        rows=tuple(rows),
        table=table.stamp,
        mode=request.mode,
        interrupted=deadline.interrupted,
        unfinished=request.mode is Mode.SOLVE and len(rows) < len(request.pairs),
        codes=tuple(codes),
    )
    if request.plot is not None:
        from gnc_cli.comparison.plot import plot_compare

        plot_compare(result, request.plot)
    return result


def list_codes(request: Request, table: KnownCodes) -> list[ListedRow]:
    """The entries of our copy and of the table, and the numerical codes of pairs without one."""
    listed = our_copy().merged(table)
    rows = [_entry(e) for e in listed.select(request.d, request.K, proven=request.proven)]
    if not request.proven:
        numerical = numerical_codes().select(request.d, request.K)
        rows += [_entry(code) for code in numerical if listed.find(code.d, code.K) is None]
    rows.sort(key=lambda row: (row.d, row.K))
    if request.on_row is not None:
        for row in rows:
            request.on_row(row)
    return rows


def _entry(entry: KnownCode) -> ListedRow:
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
        how=entry.command,
        record=entry.status,
        note=entry.note,
    )
