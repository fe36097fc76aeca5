"""A result on stdout: table, JSON, CSV or JSON lines."""

import io
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO, assert_never

import typer

from gnc_cli.commands.baseline import rows_of
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.errors import OutputError

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["csv_text", "emit", "flatten", "note", "show"]


def show(
    result: dict[str, Any],
    table: "RenderableType",
    outputs: Outputs,
    lines: Sequence[dict[str, Any]] | None = None,
) -> None:
    """Print `result`, a command's JSON, in the shape that was asked for.

    The table goes to stderr where stdout carries the data product. `lines` are the rows of CSV and
    JSON lines; `rows_of(result)` by default.

    Raises:
        OutputError: stdout is closed or full.
    """
    lines = rows_of(result) if lines is None else lines
    match outputs.shape:
        case Shape.TABLE if outputs.out == "-":
            typer.echo(_drawn(table, sys.stderr), nl=False, err=True, color=True)
        case Shape.TABLE:
            emit(_drawn(table, sys.stdout))
        case Shape.JSON:
            emit(json.dumps(result, allow_nan=False) + "\n")
        case Shape.CSV:
            emit(csv_text(lines))
        case Shape.JSONL:
            emit("".join(json.dumps(r, allow_nan=False) + "\n" for r in lines))
        case _:
            assert_never(outputs.shape)


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """A header of dotted keys, then one line a row; null is an empty cell."""
    import csv

    flat = [flatten(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """One level: `{"rho_one_vs_rest": {"lower": 1}}` becomes `{"rho_one_vs_rest.lower": 1}`."""
    if isinstance(value, list):
        value = {str(i): v for i, v in enumerate(value)}
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, part in value.items():
        flat |= flatten(part, f"{prefix}.{key}" if prefix else key)
    return flat


def emit(text: str) -> None:
    """Write to stdout, at once.

    Raises:
        OutputError: stdout is closed, its reader has gone, or the disk is full.
    """
    if sys.stdout is None:
        raise OutputError("stdout is closed: the result has nowhere to go; use --out or --report")
    try:
        # Colours were decided when the table was drawn.
        typer.echo(text, nl=False, color=True)
        sys.stdout.flush()
    except UnicodeEncodeError:
        emit(text.encode("ascii", "replace").decode())
    except OSError as error:
        _silence_stdout()
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write the result to stdout: {reason}") from error


def note(text: str) -> None:
    """One line of the conversation, on stderr."""
    if sys.stderr is not None:
        typer.echo(f"gnc: {' '.join(text.split())}", err=True)


def _drawn(table: "RenderableType", stream: TextIO | None) -> str:
    from rich.console import Console

    terminal = stream is not None and stream.isatty()
    # Drawn into memory, for rich writes to its file even where it captures. A pipe has no width of
    # its own; the widest table fits into 100 columns.
    drawing = io.StringIO()
    console = Console(
        file=drawing,
        force_terminal=terminal or None,
        width=None if terminal or "COLUMNS" in os.environ else 100,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(table)
    # A grid pads its last column; nobody wants that in a log.
    return "".join(f"{line.rstrip()}\n" for line in drawing.getvalue().splitlines())


def _silence_stdout() -> None:
    """Keep Python's last flush, at exit, from complaining about the same closed pipe again."""
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
