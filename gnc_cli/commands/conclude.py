"""The last move of every command: show, judge, report, and the exit status."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gnc_cli.commands.baseline import rows_of
from gnc_cli.commands.expressions import Status
from gnc_cli.commands.gates import Gates, Verdict, exit_code
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.commands.show import note, show
from gnc_cli.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["conclude"]

Draw = Callable[[dict[str, Any], bool], "RenderableType"]


def conclude(
    result: dict[str, Any],
    draw: Draw,
    outputs: Outputs,
    gates: Gates,
    *,
    own: Sequence[Verdict] = (),
    lines: Sequence[dict[str, Any]] | None = None,
    interrupted: bool = False,
) -> ExitCode:
    """Print `result`, say what the gates say, write the report.

    Args:
        result: the command's JSON.
        draw: its table, from the JSON and the -v flag; called only where a table is wanted.
        outputs: where things go.
        gates: what the result must satisfy.
        own: verdicts of the command itself.
        lines: rows for --csv and --jsonl, where they are not `rows_of(result)`.
        interrupted: the result is not whole, though its rows are.

    Returns:
        The exit status.

    Raises:
        DataError: a row has no counterpart in the baseline.
        OutputError: stdout is closed or the report cannot be written.
    """
    table = draw(result, outputs.verbose) if outputs.shape is Shape.TABLE else ""
    show(result, table, outputs, lines)
    verdicts = [*own, *gates.judge(rows_of(result))]
    for verdict in verdicts:
        if not (outputs.quiet and verdict.status is Status.PASSED):
            note(verdict.line)
    ended = ExitCode.INTERRUPTED if interrupted else _ended(result)
    if ended is ExitCode.UNDECIDED and outputs.shape is not Shape.TABLE:
        note("target missed: see max_cosine and rho_one_vs_rest; --restarts or --time-limit help")
    if outputs.report is not None:
        from gnc_cli.commands.report import report_text
        from gnc_cli.workflows.outputs import write_text

        text = report_text(outputs.report, result, verdicts)
        write_text(outputs.report, text, force=outputs.force or outputs.resume)
    return exit_code(ended, verdicts)


def _ended(result: dict[str, Any]) -> ExitCode:
    """What the outcome alone says; of several rows the worst."""
    outcomes = {row.get("outcome") for row in rows_of(result)}
    if "interrupted" in outcomes:
        return ExitCode.INTERRUPTED
    if "target_missed" in outcomes:
        return ExitCode.UNDECIDED
    return ExitCode.OK
