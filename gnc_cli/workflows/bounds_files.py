"""Files around bounds: checked early, written at the end."""

import os
from typing import Any

from gnc_cli.io.atomic import check_writable
from gnc_cli.io.row_files import ROW_SUFFIXES, check_rows_target, write_rows
from gnc_cli.results import BoundsResult
from gnc_cli.workflows.outputs import check_apart

__all__ = ["prepare_files", "table_rows", "write_files"]

_Path = str | os.PathLike[str]


def prepare_files(*, out: _Path | None, plot: _Path | None, force: bool) -> None:
    """Refuse before the work what could not be written after it.

    Raises:
        UsageError, OutputError: unknown suffix, two outputs in one file, existing file, unwritable
            folder.
    """
    if out is None and plot is None:
        return
    check_rows_target("--out", out, ROW_SUFFIXES)
    named = [("--out", out), ("--plot", plot)]
    files = [(option, os.fspath(path)) for option, path in named if path is not None]
    check_apart(files)
    for _, path in files:
        check_writable(path, force=force)
    if plot is not None:
        from gnc_cli.plots.style import check_plot_suffix

        check_plot_suffix(plot)


def write_files(
    result: BoundsResult, *, out: _Path | None, plot: _Path | None, force: bool
) -> None:
    """Write what was asked for.

    Raises:
        OutputError: a file cannot be written.
    """
    if out is not None:
        body = result.to_json()
        write_rows(out, body, rows=table_rows(body), force=force)
    if plot is not None:
        from gnc_cli.plots.bounds import plot_bounds

        plot_bounds(result, plot)


def table_rows(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the question that was asked: bounds, dimensions or numbers of points."""
    part = body["dimension"] or body["classes"] or body
    rows: list[dict[str, Any]] = part["rows"]
    return rows
