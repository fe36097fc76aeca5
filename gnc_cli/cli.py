"""The `gnc` program: registers the commands and turns errors into one line and an exit code."""

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gnc_cli import __version__
from gnc_cli.collapse.command import measure
from gnc_cli.comparison.command import compare
from gnc_cli.console.process import ABORTED, check_address_space, open_streams, refusal
from gnc_cli.console.removed import refuse_removed
from gnc_cli.console.show import note
from gnc_cli.errors import ExitCode, GncError, UsageError
from gnc_cli.limits.command import bounds
from gnc_cli.runtime.distributed import is_rank_zero
from gnc_cli.search.command import solve
from gnc_cli.training.command import train

_EPILOG = (
    "Exit codes: 0 done, 1 a bug, 2 usage, 3 bad data or unwritable output, 4 target missed or "
    "gate undecided, 5 gate failed, 6 device, package, memory or disk missing, 130 interrupted."
)


class OneLineErrors(TyperGroup):
    """A group whose every error is one line on stderr and an exit code of `ExitCode`."""

    def invoke(self, ctx: Any) -> Any:
        try:
            check_address_space()
            refuse_removed(ctx.args)
            return super().invoke(ctx)
        except BrokenPipeError as error:
            note("the reader of stdout has gone; nothing more was written to it")
            raise typer.Exit(ExitCode.DATA) from error

    def main(self, *args: Any, **extra: Any) -> Any:
        open_streams()
        try:
            status = super().main(*args, **extra | {"standalone_mode": False})
        except SystemExit as end:
            # The reader of a help text has seen enough (`gnc --help | head`): that is no failure.
            status = 0 if isinstance(end.__context__, BrokenPipeError) else end.code
        except Exception as error:
            status = _status(error)
        sys.exit(status if isinstance(status, int) else ExitCode.OK)


def _status(error: Exception) -> int:
    """Print the line of an error; returns its exit code."""
    if isinstance(error, GncError):
        # A usage error is one in every process that torchrun started.
        if not error.silent and (is_rank_zero() or not isinstance(error, UsageError)):
            note(str(error))
        return error.exit_code
    if hasattr(error, "format_message"):  # Typer's own, whichever click it stands on
        return _note_usage(error)
    if ABORTED.is_set():
        return ExitCode.INTERRUPTED
    if (refused := refusal(error)) is not None:
        note(str(refused))
        return refused.exit_code
    import traceback

    traceback.print_exception(error)
    note(f"this is a bug: {error!r}; please report it with the lines above")
    return ExitCode.BUG


def _note_usage(error: Any) -> int:
    # Empty after the help of a bare `gnc`; pydantic's own words are not for the user.
    if message := error.format_message().replace("Value error, ", ""):
        path = error.ctx.command_path if error.ctx else "gnc"
        note(f"{message[0].lower()}{message[1:].rstrip('.')}; see {path} --help")
    return int(error.exit_code)


def program(commands: Mapping[Callable[..., None], str]) -> typer.Typer:
    """The program with these commands, each with an example for its help text."""
    app = typer.Typer(
        name="gnc",
        cls=OneLineErrors,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_EPILOG,
    )
    app.callback()(_gnc)
    for command, example in commands.items():
        app.command(epilog=f"Example: {example}")(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gnc {__version__}")
        raise typer.Exit


def _gnc(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Certified spherical codes, Softmax Codes and collapse analysis."""


app = program(
    {
        solve: "gnc solve --d 10 --K 100 --out code.h5",
        measure: "gnc measure features.h5",
        bounds: "gnc bounds --K 1e6 --margin 0.3",
        train: "gnc train --classes 100 --feature-dim 10 --plot run.png",
        compare: "gnc compare code.h5",
    }
)


def main() -> None:
    """Run the program; the console script `gnc` and `python -m gnc_cli` end here."""
    try:
        app(prog_name="gnc")
    finally:
        if "joblib" in sys.modules:
            from gnc_cli.runtime.parallel import end_workers

            end_workers()
