"""`compare FILES`: each code measured, judged and recognised; further digits; files for others."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gnc_cli import __version__
from gnc_cli.io.known_codes import KnownCodes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import CompareResult, CompareRow
from gnc_cli.workflows.compare_codes import Code, Judged, judge_code, load_code

__all__ = ["compare_files"]


def compare_files(
    sources: Sequence[Any],
    table: KnownCodes,
    *,
    d: int | None,
    tolerance: float,
    require_entry: bool,
    digits: int | None,
    export: str | os.PathLike[str] | None,
    force: bool,
    threads: int | None,
    deadline: Deadline,
    progress: Callable[[str, int, int, float], None] | None,
    on_row: Callable[[CompareRow], None],
) -> CompareResult:
    """Rows in the order of the sources; arguments as of `compare`.

    All sources are read before the first is measured: a bad file costs no waiting.

    Raises:
        DataError, UsageError, OutputError: a source cannot be used, a file cannot be written.
    """
    codes = [load_code(source, d) for source in sources]
    extend = _extension(codes, digits, export, force, deadline)
    judged: list[Judged] = []
    for at, code in enumerate(codes):
        if deadline.interrupted:
            break
        found = judge_code(
            code, table, tolerance=tolerance, require_entry=require_entry, deadline=deadline,
            threads=threads,
        )  # fmt: skip
        if found.row.status is None and deadline.interrupted:
            break
        with limit_threads(threads_for(float(code.rows.size) ** 3, threads)):
            more = {**found.row.more, **extend(at, found)}
        found = replace(found, row=replace(found.row, more=more))
        judged.append(found)
        on_row(found.row)
        if progress is not None:
            gaps = [j.row.gap for j in judged if j.row.gap is not None]
            progress("codes, largest gap", len(judged), len(codes), max(gaps, default=float("nan")))
    return CompareResult(
        seconds=0.0,
        version=__version__,
        rows=tuple(j.row for j in judged),
        table=table.stamp,
        extras={"mode": "files", "codes": tuple(judged)},
    )


def _extension(
    codes: Sequence[Code],
    digits: int | None,
    export: str | os.PathLike[str] | None,
    force: bool,
    deadline: Deadline,
) -> Callable[[int, Judged], dict[str, Any]]:
    """What --digits and --export add to the row of a code; folders are checked at once."""
    folders = []
    if export is not None:
        from gnc_cli.workflows.compare_export import export_folders, exported

        folders = export_folders(export, codes, force=force)

    def extend(at: int, code: Judged) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        polished = None
        if digits is not None:
            from gnc_cli.workflows.compare_digits import further_digits

            keys["digits"], polished = further_digits(code, digits, deadline)
        if folders:
            keys |= exported(code, polished, folders[at], deadline, force=force)
        return keys

    return extend
