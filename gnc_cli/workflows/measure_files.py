"""Files around a measurement: checked early, written at the end."""

import os
from collections.abc import Mapping
from typing import Any

from gnc_cli.io.measure_files import CLASS_SUFFIXES, write_per_class
from gnc_cli.io.row_files import ROW_SUFFIXES, check_rows_target, write_rows
from gnc_cli.results import MeasureResult, MeasureSeries
from gnc_cli.workflows.outputs import check_outputs

__all__ = ["prepare_files", "write_files"]

_Path = str | os.PathLike[str]


def prepare_files(
    *,
    out: _Path | None,
    per_class: _Path | None,
    append: _Path | None,
    plot: _Path | None,
    force: bool,
    read: Mapping[str, Any],
) -> None:
    """Refuse before the work what could not be written after it.

    Args:
        read: each input by its option, which no output may overwrite.

    Raises:
        UsageError, OutputError: unknown suffix, two outputs in one file, an output that is an
            input, existing file, unwritable folder.
    """
    check_rows_target("--out", out, ROW_SUFFIXES)
    check_rows_target("--per-class", per_class, CLASS_SUFFIXES)
    named = {"--out": out, "--per-class": per_class}
    check_outputs(named, plot=plot, force=force, read=read, growing={"--append": append})


def write_files(
    result: MeasureResult | MeasureSeries,
    *,
    out: _Path | None,
    per_class: _Path | None,
    plot: _Path | None,
    force: bool,
) -> None:
    """Write what was asked for; nothing where an interruption left no row.

    Raises:
        UsageError: `per_class` of several rows.
        OutputError: a file cannot be written.
    """
    if isinstance(result, MeasureSeries) and result.interrupted and not result.to_json()["rows"]:
        return
    if out is not None:
        write_rows(out, result.to_json(), force=force)
    if per_class is not None and isinstance(result, MeasureResult):
        made = {
            "command": "gnc measure", "file": result.file, "snapshot": result.snapshot,
            "policy": result.policy, "result": {"gnc1": result.gnc1, "gnc2": result.gnc2},
        }  # fmt: skip
        write_per_class(per_class, result.per_class, force=force, provenance=made)
    if plot is not None:
        from gnc_cli.plots.measure import plot_measure

        plot_measure(result, plot)
