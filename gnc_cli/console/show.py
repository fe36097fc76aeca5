"""What goes to stdout (the result) and to stderr (one line per message)."""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer

from gnc_cli.errors import OutputError
from gnc_cli.escaping import visible
from gnc_cli.records import Result, plain


def emit(text: str, *, rows: bool = False) -> None:
    """Write to stdout, at once.

    Args:
        rows: a reader that leaves has seen the rows it wants (`--jsonl | head -1`), and no line
            says so.

    Raises:
        OutputError: stdout is closed, its reader has gone, or the disk is full.
    """
    try:
        # Colours were decided when the table was drawn.
        typer.echo(text, nl=False, color=True)
        sys.stdout.flush()
    except OSError as error:
        _silence_stdout()
        reason = error.strerror or str(error)
        if error.errno == errno.EBADF:
            reason = "it is closed; use --out or --report"
        refused = OutputError(f"cannot write the result to stdout: {reason}")
        refused.silent = rows and isinstance(error, BrokenPipeError)
        raise refused from error


def print_line(row: Any, head: Mapping[str, Any] = MappingProxyType({})) -> None:
    """One row of --jsonl: a result, or a record that belongs to one, after the keys of `head`."""
    line = row.to_json() if isinstance(row, Result) else {**head, **plain(row)}
    emit(json.dumps(line, allow_nan=False) + "\n", rows=True)


def note(text: str) -> None:
    """One line on stderr; it is lost where stderr is closed or full."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            typer.echo(f"gnc: {visible(' '.join(text.split()))}", err=True)


def _silence_stdout() -> None:
    """Keep Python's last flush, at exit, from complaining about the same closed pipe again."""
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
