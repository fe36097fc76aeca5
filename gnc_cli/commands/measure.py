"""`gnc measure`: parse, call, show."""

import json as json_text
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from gnc_cli import options as o
from gnc_cli.commands.conclude import conclude
from gnc_cli.commands.conversation import conversation
from gnc_cli.commands.gates import Gates
from gnc_cli.commands.interruption import interruptible
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.commands.progress import progress_on_terminal
from gnc_cli.commands.show import emit, note
from gnc_cli.errors import ExitCode, UsageError
from gnc_cli.parsing import number

if TYPE_CHECKING:
    from gnc_cli.results import MeasureResult, MeasureSeries

__all__ = ["measure"]

_OUT = (".csv", ".json", ".h5")


def measure(
    files: o.Samples = None,
    features: o.FeatureFiles = None,
    labels: o.LabelFiles = None,
    weights: o.WeightFiles = None,
    bias: o.BiasFiles = None,
    logits: o.LogitFiles = None,
    shards: o.Shards = False,
    transpose_weights: o.TransposeWeights = False,
    K: o.NumClasses = None,
    select: o.Select = None,
    normalize: o.NormalizeChoice = o.Normalize.AUTO,
    missing: o.MissingChoice = o.Missing.SKIP,
    means_from: o.MeansFrom = None,
    variants: o.VariantsChoice = o.Variants.NONE,
    bootstrap: o.Bootstrap = None,
    reference: o.Reference = None,
    duplicates: o.Duplicates = None,
    classes: o.ClassesFile = None,
    min_count: o.MinCount = None,
    class_names: o.ClassNames = None,
    probability: o.Probability = 0.9,
    seed: o.Seed = 0,
    time_limit: o.MeasureTimeLimit = None,
    device: o.Device = "auto",
    threads: o.Threads = None,
    chunk_rows: o.ChunkRows = None,
    out: o.MeasureOut = None,
    per_class: o.PerClass = None,
    append: o.Append = None,
    group: o.Group = None,
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
    """Measure collapse: GNC1, GNC2 with a certificate, GNC3, NCC and accuracy of saved features.

    Features with labels, a classifier alone, or both; every number names the
    space it is of. Several files or snapshots make a row each.
    """
    _check_sources(files, features, labels, weights, bias, logits)
    gates = Gates.read(minimum, maximum, check, rows, baseline, allow)
    gates.expect([{"command": "measure"}])
    if out == "-":
        raise UsageError("--out keeps the rows in a file; for rows on stdout write --csv or --json")
    outputs = Outputs.read(
        json=json, csv=csv, jsonl=jsonl, out=out, report=report, plot=plot, force=force,
        quiet=quiet, verbose=verbose, suffixes=_OUT,
        further=[("--per-class", per_class, (".csv", ".h5"))],
        growing=[("--append", append, (".jsonl",))],
        inputs={
            "FILES": files, "--features": features, "--labels": labels, "--weights": weights,
            "--bias": bias, "--logits": logits, "--means-from": means_from,
            "--reference": reference, "--classes": classes, "--class-names": class_names,
        },
        baseline=baseline,
    )  # fmt: skip
    with (
        conversation(quiet, verbose),
        interruptible(quiet) as interrupt,
        progress_on_terminal(quiet) as progress,
    ):
        from gnc_cli.workflows.measure import measure as run_measure
        from gnc_cli.workflows.outputs import speaks

        result = run_measure(
            *(files or ()), features=features, labels=labels, weights=weights, bias=bias,
            logits=logits, shards=shards, transpose_weights=transpose_weights, K=K,
            select=None if select is None else [(key, wanted) for key, wanted in select],
            normalize=normalize.value, missing=missing.value, means_from=means_from,
            variants=variants.value, duplicates=duplicates, classes=classes, min_count=min_count,
            class_names=class_names, reference=_number_or_file(reference), probability=probability,
            bootstrap=bootstrap, per_class=per_class, group=group, append=append, out=out,
            force=force, plot=plot, chunk_rows=chunk_rows, seed=seed, device=device,
            threads=threads, time_limit=time_limit, interrupt=interrupt,
            progress=progress if speaks() else None,
            on_row=_print_row if outputs.shape is Shape.JSONL and speaks() else None,
        )  # fmt: skip
    if not speaks():
        raise typer.Exit
    from gnc_cli.commands.measure_table import measure_table

    body = result.to_json()
    if _interrupted(result) and body.get("rows") == []:
        note("interrupted before the first row was measured")
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not quiet:
        _tell(body)
        if _interrupted(result) and "rows" in body:
            _tell_rest(getattr(result, "rows", ()), append)
    raise typer.Exit(
        conclude(body, measure_table, outputs, gates, lines=_lines(body, outputs.shape),
                 interrupted=_interrupted(result))  # fmt: skip
    )


def _check_sources(files: list[str] | None, *more: list[str] | None) -> None:
    """Something to measure, and stdin for one of them at most.

    Raises:
        UsageError: nothing is named, or stdin is named twice or is the terminal.
    """
    named = [name for some in (files, *more) for name in some or ()]
    if not named:
        raise UsageError(
            "nothing to measure; give FILES, or --features F --labels L, or --weights W"
        )
    on_stdin = [name for name in named if name == "-" or name.startswith("-:")]
    if len(on_stdin) > 1:
        raise UsageError(f"{len(on_stdin)} inputs want stdin; give all but one a file")
    if on_stdin and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("'-' reads HDF5 from a pipe, not from the terminal; pipe one")


def _number_or_file(reference: str | None) -> float | str | None:
    """`0.66` is a distance; a file of that name is `./0.66`."""
    if reference is None:
        return None
    try:
        return number(reference)
    except UsageError:
        return reference


def _print_row(row: "MeasureResult") -> None:
    emit(json_text.dumps(row.to_json(), allow_nan=False) + "\n")


def _lines(body: dict[str, Any], shape: Shape) -> list[dict[str, Any]]:
    """The lines of --csv; those of --jsonl were printed one by one."""
    if shape is not Shape.CSV:
        return []
    from gnc_cli.results.lines import flat_row

    head = {"command": body["command"], "version": body["version"]}
    return [head | flat_row(row) for row in body.get("rows", [body])]


def _tell(body: dict[str, Any]) -> None:
    """Each warning once, with the rows that it is of."""
    rows = body.get("rows", [body])
    of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for said in row["warnings"]:
            of.setdefault(said, []).append(row)
    for said, some in of.items():
        several = f" ({len(some)} of {len(rows)} rows)" if len(rows) > 1 else ""
        note(f"warning: {said}{several}")


def _tell_rest(rows: "Sequence[MeasureResult]", append: str | None) -> None:
    """How far an interrupted series came."""
    count = len(rows)
    said = f"interrupted: {count} row{'' if count == 1 else 's'} measured"
    if rows and rows[-1].extras.get("interrupted"):
        said += ", GNC2 of the last cut short"
    rest = f"; the interrupted row was not appended to {append!r}" if append else ""
    note(said + rest)


def _interrupted(result: "MeasureResult | MeasureSeries") -> bool:
    extras: dict[str, Any] = getattr(result, "extras", {})
    return bool(extras.get("interrupted") or getattr(result, "interrupted", False))
