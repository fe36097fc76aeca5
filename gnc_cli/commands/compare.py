"""`gnc compare`: parse, call, show."""

import json as json_text
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from gnc_cli import options as o
from gnc_cli.commands.conclude import conclude
from gnc_cli.commands.conversation import conversation
from gnc_cli.commands.expressions import Status
from gnc_cli.commands.gates import Gates, Verdict
from gnc_cli.commands.interruption import interruptible
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.commands.progress import progress_on_terminal
from gnc_cli.commands.show import emit, note
from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    from gnc_cli.results import CompareResult, CompareRow

__all__ = ["compare"]

_TOLERANCE = 1e-9


def compare(
    files: o.Codes = None,
    list: o.ListMode = False,
    solve: o.SolveMode = False,
    d: o.Dims = None,
    K: o.Sizes = None,
    proven: o.Proven = False,
    table: o.Table = None,
    digits: o.Digits = None,
    budget: o.Budget = None,
    workers: o.Workers = None,
    out: o.RowsOut = None,
    resume: o.Resume = False,
    seed: o.Seed = 0,
    time_limit: o.TimeLimit = None,
    threads: o.Threads = None,
    export: o.Export = None,
    force: o.Force = False,
    report: o.Report = None,
    plot: o.Plot = None,
    json: o.Json = False,
    csv: o.Csv = False,
    jsonl: o.Jsonl = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    tolerance: o.Tolerance = _TOLERANCE,
    require_entry: o.RequireEntry = False,
    minimum: o.Min = None,
    maximum: o.Max = None,
    check: o.Check = None,
    rows: o.RowsChoice = o.Rows.LAST,
    baseline: o.Baseline = None,
    allow: o.Allow = None,
) -> None:
    """Hold codes against the known codes: is yours as good as the best, and which one is it?

    Give files; or --list the table, or --solve pairs afresh.
    """
    gates = Gates.read(minimum, maximum, check, rows, baseline, allow)
    if out == "-":
        raise UsageError("--out keeps the rows in a file; for rows on stdout write --jsonl")
    outputs = Outputs.read(
        json=json, csv=csv, jsonl=jsonl, out=out, report=report, plot=plot, force=force,
        resume=resume, quiet=quiet, verbose=verbose, suffixes=(".jsonl",), resumable=(".jsonl",),
        inputs={"FILES": files, "--table": table}, baseline=baseline,
    )  # fmt: skip
    with (
        conversation(quiet, verbose),
        interruptible(quiet) as interrupt,
        progress_on_terminal(quiet) as progress,
    ):
        from gnc_cli.workflows.compare import compare as run_compare

        result = run_compare(
            *(files or ()), list=list, solve=solve, d=d, K=K, proven=proven,
            table=table, tolerance=tolerance, require_entry=require_entry,
            digits=digits, export=export, budget=budget, workers=workers, seed=seed,
            time_limit=time_limit, threads=threads, out=out, resume=resume, force=force, plot=plot,
            interrupt=interrupt, progress=progress, on_row=_streamed(outputs),
        )  # fmt: skip
    from gnc_cli.commands.compare_table import compare_table

    if result.extras.get("unfinished") and not result.extras["interrupted"]:
        resuming = " (--resume goes on)" if out else ""
        note(f"--time-limit came before all pairs were solved{resuming}")
    shown = [] if outputs.shape is Shape.JSONL else [_line(result, r) for r in result.rows]
    said = report is not None or tolerance != _TOLERANCE
    raise typer.Exit(
        conclude(
            result.to_json(), partial(compare_table, mode=result.extras["mode"]), outputs, gates,
            own=_verdicts(result.rows, tolerance, require_entry, said), lines=shown,
            interrupted=result.extras["interrupted"],
        )  # fmt: skip
    )


def _streamed(outputs: Outputs) -> "Callable[[CompareRow], None] | None":
    """Print each row as it is ready, where JSON lines are asked for."""
    if outputs.shape is not Shape.JSONL:
        return None
    from gnc_cli import __version__
    from gnc_cli.results import SCHEMA

    head = {"schema": SCHEMA, "command": "compare", "version": __version__}

    def tell(row: "CompareRow") -> None:
        emit(json_text.dumps(head | row.to_json(), allow_nan=False) + "\n")

    return tell


def _line(result: "CompareResult", row: "CompareRow") -> dict[str, Any]:
    """A line of CSV: without what all rows share."""
    return {"command": result.command, "version": result.version, **row.to_json()}


def _verdicts(
    rows: "Sequence[CompareRow]", tolerance: float, require_entry: bool, said: bool
) -> list[Verdict]:
    """What the rows themselves say, as gates: --tolerance, --require-entry.

    A row below a figure that is proved optimal fails too: the entry or the file is wrong.
    A passed --tolerance is worth a line only where `said`.
    """
    from gnc_cli.results import Standing

    judged = [r for r in rows if "passed" in r.more]
    verdicts: list[Verdict] = []
    if judged:
        worse = [r for r in judged if r.gap is not None and r.gap > tolerance]
        unseen = [r for r in judged if r.more["passed"] is None]
        status = Status.FAILED if worse else Status.UNDECIDED if unseen else Status.PASSED
        worst = max(judged, key=lambda r: -2.0 if r.gap is None else r.gap)
        gap = "no" if worst.gap is None else f"{worst.gap:.3g}"
        detail = f"{gap} gap at {_at(worst)}"
        detail = f"no time for {_at(unseen[0])}" if unseen and not worse else detail
        count = f"; {len(worse)} of {len(judged)} rows worse" if len(judged) > 1 else ""
        if said or status is not Status.PASSED:
            verdicts.append(Verdict(f"--tolerance {tolerance:g}", status, detail + count))
    broken = [r for r in judged if r.status is Standing.IMPROVES and r.proven]
    if broken:
        detail = f"{_at(broken[0])} is below an entry marked proved optimal"
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        verdicts.append(Verdict("proved optima", Status.FAILED, detail + more))
    if judged and require_entry:
        missing = [r for r in judged if not r.more.get("on_record")]
        detail = f"no code on record at {_at(missing[0])}" if missing else "all on record"
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        status = Status.FAILED if missing else Status.PASSED
        verdicts.append(Verdict("--require-entry", status, detail + more))
    return verdicts


def _at(row: "CompareRow") -> str:
    return f"d = {row.d}, K = {row.K}" + (f" ({row.file})" if row.file else "")
