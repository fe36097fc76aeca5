"""`gnc bounds`: parse, call, show."""

from typing import TYPE_CHECKING, Any

import typer

from gnc_cli import options as o
from gnc_cli.commands.conclude import conclude
from gnc_cli.commands.conversation import conversation
from gnc_cli.commands.gates import Gates
from gnc_cli.commands.interruption import interruptible
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.commands.progress import progress_on_terminal
from gnc_cli.commands.show import note
from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gnc_cli.results import BoundsResult

__all__ = ["bounds"]


def bounds(
    d: o.BoundDims = None,
    K: o.BoundSizes = None,
    margin: o.Margin = None,
    cosface_m: o.CosfaceM = None,
    arcface_m: o.ArcfaceM = None,
    max_cosine: o.MaxCosine = None,
    quantity: o.QuantityChoice = None,
    probability: o.BoundProbability = None,
    lp: o.LinearProgram = False,
    table: o.BoundTable = None,
    time_limit: o.BoundsTimeLimit = None,
    best: o.BestRows = False,
    out: o.MeasureOut = None,
    force: o.Force = False,
    report: o.Report = None,
    plot: o.Plot = None,
    json: o.Json = False,
    csv: o.Csv = False,
    jsonl: o.Jsonl = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Say what is possible: how far apart K classes can be in d dimensions, proved from both sides.

    Give two of --d, --K and --margin; the third is answered.
    """
    if out == "-":
        raise UsageError("--out keeps the rows in a file; for rows on stdout write --csv or --json")
    outputs = Outputs.read(
        json=json, csv=csv, jsonl=jsonl, out=out, report=report, plot=plot, force=force,
        quiet=quiet, verbose=verbose, suffixes=(".csv", ".json", ".h5"),
        inputs={"--table": table},
    )  # fmt: skip
    with (
        conversation(quiet, verbose),
        interruptible(quiet) as interrupt,
        progress_on_terminal(quiet) as progress,
    ):
        from gnc_cli.workflows.bounds import bounds as run_bounds
        from gnc_cli.workflows.bounds_files import table_rows

        result = run_bounds(
            d, K, margin=margin, cosface_m=cosface_m, arcface_m=arcface_m, max_cosine=max_cosine,
            quantity=None if quantity is None else quantity.value, probability=probability, lp=lp,
            table=table, time_limit=time_limit, best=best, out=out, force=force, plot=plot,
            interrupt=interrupt, progress=progress,
        )  # fmt: skip
    body = result.to_json()
    if lp and not quiet:
        _tell_silence(result)
    head = {"command": body["command"], "version": body["version"]}
    if outputs.shape is Shape.JSONL:
        head = {"schema": body["schema"]} | head
    raise typer.Exit(
        conclude(
            body, _draw, outputs, Gates.read(),
            lines=[head | row for row in table_rows(body, best=best)],
            interrupted=result.outcome == "interrupted",
        )  # fmt: skip
    )


def _draw(result: dict[str, Any], verbose: bool) -> "RenderableType":
    """The table, which loads rich."""
    from gnc_cli.commands.bounds_table import bounds_table

    return bounds_table(result, verbose)


def _tell_silence(result: "BoundsResult") -> None:
    """Where the linear programme was asked for and says nothing."""
    if result.outcome == "interrupted":
        return
    if result.outcome == "time_limit":
        note("--time-limit came first: some linear programmes were left out")
        return
    told = sum(row.name == "delsarte-lp" for row in result.rows)
    missing = len(result.best) - told
    if missing:
        note(f"--lp says nothing at {missing} of {len(result.best)} pairs: it goes up to d = 1000, "
             "K = 10^9 and polynomials of degree 40")  # fmt: skip
