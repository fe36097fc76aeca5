"""The last steps of every command: show the result, judge it, write the report."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import typer

from gnc_cli.console.gates import Gates, Verdict, exit_code
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.show import emit, note
from gnc_cli.console.table import Table, printed
from gnc_cli.errors import ExitCode
from gnc_cli.records import Result


def conclude(
    result: Result,
    tables: Callable[[bool], Sequence[Table]],
    output: OutputOptions,
    gates: Gates,
    *,
    verdicts: Sequence[Verdict] = (),
    streamed: bool = False,
    on_stderr: bool = False,
    overwrite: bool = False,
) -> ExitCode:
    """Print `result`, say what the gates say, write the report.

    Args:
        result: the command's record.
        tables: what its view makes of it, called with whether everything is wanted; a report has
            everything.
        output: how it is shown.
        gates: what it must satisfy.
        verdicts: what the command itself says of it.
        streamed: its rows were printed one by one.
        on_stderr: stdout carries the data product.
        overwrite: the report may replace a file.

    Returns:
        The exit status.

    Raises:
        DataError: a row has no counterpart in the baseline.
        OutputError: stdout is closed, or the report cannot be written.
    """
    if result.interrupted and not result.lines():
        note("interrupted before the first row")
        return ExitCode.INTERRUPTED
    if output.shape is Shape.TABLE:
        sheet = tables(output.verbose)
        if output.quiet:
            sheet = [replace(table, notes=()) for table in sheet]
        if not on_stderr:
            emit(printed(sheet, sys.stdout))
        elif not output.quiet:
            typer.echo(printed(sheet, sys.stderr), nl=False, err=True, color=True)
    elif output.shape is Shape.JSON:
        emit(result.dumps() + "\n")
    elif output.shape is Shape.CSV:
        from gnc_cli.io.row_files import csv_text

        emit(csv_text(*result.csv_rows()), rows=True)
    elif not streamed:
        lines = [json.dumps(line, allow_nan=False) + "\n" for line in result.lines()]
        emit("".join(lines), rows=True)
    said = [] if output.quiet else [*result.messages]
    verdicts = [*verdicts, *gates.judge(result.judged(), result.marked("label"))]
    said += [v.line for v in verdicts if not (output.quiet and v.status.passed)]
    if result.target_missed and output.shape is not Shape.TABLE and not output.quiet:
        said.append("target missed: see max_cosine and rho_one_vs_rest")
    for line in said:
        note(line)
    if output.report is not None:
        from gnc_cli.console.report import report_text
        from gnc_cli.io.atomic import write_text

        text = report_text(output.report, result, lambda: tables(True), verdicts)
        write_text(output.report, text, force=overwrite)
    return exit_code(result, verdicts)
