"""Files around bounds: checked early, written at the end."""

import os
from typing import Any

from gnc_cli.results import BoundsResult

__all__ = ["prepare_files", "table_rows", "write_files"]

_Path = str | os.PathLike[str]


def prepare_files(*, out: _Path | None, plot: _Path | None, force: bool, table: Any) -> None:
    """Refuse before the work what could not be written after it.

    Raises:
        UsageError, OutputError: unknown suffix, two outputs in one file, an output that is the
            table, existing file, unwritable folder.
    """
    if out is None and plot is None:
        return
    from gnc_cli.io.row_files import ROW_SUFFIXES, check_rows_target
    from gnc_cli.workflows.outputs import check_outputs

    check_rows_target("--out", out, ROW_SUFFIXES)
    check_outputs({"--out": out}, plot=plot, force=force, read={"--table": table})


def write_files(
    result: BoundsResult, options: dict[str, Any], *, out: _Path | None, plot: _Path | None,
    best: bool, force: bool,
) -> None:  # fmt: skip
    """Write what was asked for.

    Args:
        options: of the call, for the provenance of .h5.
        best: a row a question instead of a row a bound.

    Raises:
        OutputError: a file cannot be written.
    """
    if out is not None:
        from gnc_cli.io.row_files import write_rows

        body = result.to_json()
        rows = table_rows(body, best=best)
        write_rows(out, body, rows=rows, options=options, force=force)
    if plot is not None:
        from gnc_cli.plots.bounds import plot_bounds

        plot_bounds(result, plot)


def table_rows(body: dict[str, Any], *, best: bool = False) -> list[dict[str, Any]]:
    """The rows of the question that was asked: bounds, dimensions or numbers of points.

    The target stands in each row, where there is one.

    Args:
        body: the JSON of a result.
        best: one row a pair, K or d, with what is known of it, in place of one a bound.
    """
    part = body["dimension"] or body["classes"] or body
    asked = {k: body[k] for k in ("margin", "max_cosine") if body[k] is not None}
    return [asked | row for row in part["best" if best else "rows"]]
