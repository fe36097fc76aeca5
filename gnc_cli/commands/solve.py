"""`gnc solve`: parse, call, show."""

import sys

import typer

from gnc_cli import options as o
from gnc_cli.commands.conclude import conclude
from gnc_cli.commands.constructions import show_constructions
from gnc_cli.commands.conversation import conversation
from gnc_cli.commands.gates import Gates
from gnc_cli.commands.interruption import interruptible
from gnc_cli.commands.outputs import Outputs
from gnc_cli.commands.progress import progress_on_terminal
from gnc_cli.commands.provenance import command_line
from gnc_cli.errors import UsageError

__all__ = ["solve"]


def solve(
    context: typer.Context,
    d: o.Dim = None,
    K: o.NumPoints = None,
    problem: o.ProblemChoice = o.Problem.SOFTMAX,
    tau: o.Tau = None,
    weight_decay: o.WeightDecay = None,
    n: o.NumSamples = 1,
    fixed: o.Fixed = None,
    symmetry: o.Symmetry = None,
    method: o.MethodChoice = o.Method.AUTO,
    construction: o.Construction = None,
    list_constructions: o.ListConstructions = False,
    restarts: o.Restarts = None,
    steps: o.Steps = None,
    init: o.Init = None,
    target: o.Target = None,
    resume: o.Resume = False,
    seed: o.Seed = 0,
    time_limit: o.TimeLimit = None,
    device: o.Device = "auto",
    threads: o.Threads = None,
    out: o.Out = None,
    force: o.Force = False,
    report: o.Report = None,
    plot: o.Plot = None,
    json: o.Json = False,
    csv: o.Csv = False,
    jsonl: o.Jsonl = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    minimum: o.Min = None,
    maximum: o.Max = None,
    check: o.Check = None,
    rows: o.RowsChoice = o.Rows.LAST,
    baseline: o.Baseline = None,
    allow: o.Allow = None,
) -> None:
    """Find K points in d dimensions that are as far apart as possible, with a certificate.

    The one-vs-rest distance of a point is its distance from the convex hull
    of all others; a code that maximises the smallest is a Softmax Code.
    """
    if list_constructions:
        asked = {
            "--d": d, "--K": K, "--construction": construction, "--init": init, "--fixed": fixed,
            "--symmetry": symmetry, "--target": target, "--out": out, "--report": report,
            "--plot": plot, "--resume": resume, "--min": minimum, "--max": maximum,
            "--check": check, "--baseline": baseline, "--tau": tau,
        }  # fmt: skip
        shape = Outputs.read(json=json, csv=csv, jsonl=jsonl, quiet=quiet, verbose=verbose)
        raise typer.Exit(show_constructions(asked, shape))
    _check_size(d, K, construction)
    _check_problem(problem, tau, weight_decay, n, target)
    _check_stdin(init=init, fixed=fixed)
    gates = Gates.read(minimum, maximum, check, rows, baseline, allow)
    identity: dict[str, object] = {"command": "solve", "problem": problem.value}
    identity |= {k: v for k, v in (("d", d), ("K", K)) if v is not None}
    gates.expect([identity | {"tau": t} for t in tau] if tau else [identity])
    outputs = Outputs.read(
        json=json, csv=csv, jsonl=jsonl, out=out, report=report, plot=plot, force=force,
        resume=resume, quiet=quiet, verbose=verbose,
        inputs={"--init": init, "--fixed": fixed}, baseline=baseline,
    )  # fmt: skip
    with (
        conversation(quiet, verbose),
        interruptible(quiet) as interrupt,
        progress_on_terminal(quiet) as progress,
    ):
        from gnc_cli.workflows.solve import solve as run_solve

        result = run_solve(
            d, K, problem=problem.value, method=method.value, construction=construction,
            seed=seed, restarts=restarts, steps=steps, init=init, fixed=fixed, symmetry=symmetry,
            target=target, time_limit=time_limit,
            tau=tau[0] if tau and len(tau) == 1 else tau, weight_decay=weight_decay, n=n,
            device=device, threads=threads, out=out, force=force, resume=resume, plot=plot,
            interrupt=interrupt, progress=progress, command_line=command_line(context),
        )  # fmt: skip
    from gnc_cli.commands.solve_table import solve_table

    raise typer.Exit(conclude(result.to_json(), solve_table, outputs, gates))


def _check_size(d: int | None, K: int | None, construction: str | None) -> None:
    """Without a construction, which brings its own, both are needed.

    Raises:
        UsageError: one is missing.
    """
    missing = [name for name, value in (("--d", d), ("--K", K)) if value is None]
    if missing and construction is None:
        raise UsageError(f"missing option {' and '.join(missing)}; see gnc solve --help")


def _check_problem(
    problem: o.Problem,
    tau: o.Floats | None,
    weight_decay: float | None,
    n: int,
    target: float | None,
) -> None:
    """Options that only one problem understands.

    Raises:
        UsageError: an option of another problem, or one that the problem needs is missing.
    """
    if problem is o.Problem.UFM:
        if target is not None:
            raise UsageError(f"--target {target:g} has no meaning for --problem ufm; drop it")
        if tau is None and weight_decay is None:
            raise UsageError("--problem ufm needs a temperature; add --tau 0.1 (or --weight-decay)")
        return
    asked = {
        "--tau": tau is not None,
        "--weight-decay": weight_decay is not None,
        "--n": n != 1,
    }
    for option, given in asked.items():
        if given:
            raise UsageError(f"{option} belongs to --problem ufm, not {problem.value}; drop it")


def _check_stdin(**files: str | None) -> None:
    from_stdin = [f"--{name} -" for name, file in files.items() if file == "-"]
    if len(from_stdin) > 1:
        raise UsageError(f"{' and '.join(from_stdin)} both want stdin; give one of them a file")
    if from_stdin and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(f"{from_stdin[0]} reads HDF5 from a pipe, not from the terminal; pipe one")
