"""`gnc train`: parse, call, show."""

import json as json_text
from typing import TYPE_CHECKING, Any

import typer

from gnc_cli import options as o
from gnc_cli.commands.conclude import conclude
from gnc_cli.commands.conversation import conversation
from gnc_cli.commands.gates import Gates
from gnc_cli.commands.interruption import interruptible
from gnc_cli.commands.outputs import Outputs, Shape
from gnc_cli.commands.show import emit
from gnc_cli.commands.train_progress import epochs_on_terminal
from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    from gnc_cli.results import EpochRow

__all__ = ["train"]


def train(
    data: o.DataSet = None,
    classes: o.ImageClasses = None,
    classes_subset: o.NamedClasses = None,
    image_size: o.ImageSize = None,
    fonts: o.Fonts = None,
    augment: o.Augment = None,
    ood: o.Ood = None,
    model: o.Model = None,
    feature_dim: o.FeatureDim = None,
    width: o.Width = None,
    stem: o.StemChoice = None,
    norm: o.NormChoice = None,
    backbone_weights: o.BackboneWeights = None,
    init_from: o.InitFrom = None,
    head: o.HeadChoice = None,
    constraint: o.ConstraintChoice = None,
    tau: o.TrainTau = None,
    beta: o.Beta = None,
    loss: o.LossChoice = None,
    margin: o.LossMargin = None,
    assignment: o.Assignment = None,
    similarity: o.Similarity = None,
    preset: o.PresetChoice = None,
    epochs: o.Epochs = None,
    batch_size: o.BatchSize = None,
    optimizer: o.OptimizerChoice = None,
    lr: o.LearningRate = None,
    momentum: o.Momentum = None,
    weight_decay: o.TrainDecay = None,
    schedule: o.ScheduleChoice = None,
    milestones: o.Milestones = None,
    gamma: o.LrFactor = None,
    warmup: o.Warmup = None,
    clip: o.ClipNorm = None,
    seed: o.TrainSeed = None,
    time_limit: o.TrainTimeLimit = None,
    device: o.Device = "auto",
    threads: o.Threads = None,
    precision: o.PrecisionChoice = None,
    channels_last: o.ChannelsLast = None,
    compile: o.Compile = False,
    out: o.RunOut = None,
    resume: o.RunResume = False,
    force: o.Force = False,
    measure_every: o.MeasureEvery = None,
    snapshot_every: o.SnapshotEvery = None,
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
    """Train a network and follow its collapse: GNC1 to GNC3, NCC and accuracy, epoch by epoch.

    Runs as it is on glyphs, without a download; --preset takes the paper's
    settings. Under torchrun several processes train one network.
    """
    gates = Gates.read(minimum, maximum, check, rows, baseline, allow)
    gates.expect([{"command": "train"}])
    if out in ("", "-"):
        raise UsageError(f"--out {out!r} names no folder for the run; for rows on stdout use --csv")
    named = {"--assignment": assignment, "--fonts": fonts, "--ood": ood, "--init-from": init_from,
             "--backbone-weights": backbone_weights, "--similarity": similarity}  # fmt: skip
    for flag, value in named.items():
        if value == "":
            raise UsageError(f"{flag} '' is empty; name something or leave it out")
    outputs = Outputs.read(
        json=json, csv=csv, jsonl=jsonl, report=report, plot=plot, force=force or resume,
        quiet=quiet, verbose=verbose,
        inputs={
            "--init-from": init_from, "--backbone-weights": backbone_weights,
            "--similarity": similarity,
        },
        baseline=baseline,
    )  # fmt: skip
    printed = outputs.shape is Shape.JSONL
    with (
        conversation(quiet, verbose),
        interruptible(quiet) as interrupt,
        epochs_on_terminal(quiet) as watch,
    ):
        from gnc_cli.workflows.outputs import speaks
        from gnc_cli.workflows.train import train as run_train

        runs: list[str] = []

        def on_epoch(row: "EpochRow") -> None:
            watch.on_epoch(row)
            if printed and speaks():
                _print_row(runs[-1], row)

        result = run_train(
            data=data, classes=classes, classes_subset=_names(classes_subset),
            image_size=image_size, fonts=fonts, augment=_augmentations(augment), ood=ood,
            model=model, feature_dim=feature_dim, width=width, stem=_value(stem),
            norm=_value(norm), backbone_weights=backbone_weights, init_from=init_from, head=head,
            constraint=_value(constraint), tau=tau, beta=beta, loss=_value(loss), margin=margin,
            assignment=assignment, similarity=similarity, preset=_value(preset), epochs=epochs,
            batch_size=batch_size, optimizer=_value(optimizer), lr=lr, momentum=momentum,
            weight_decay=weight_decay, schedule=_value(schedule), milestones=milestones,
            gamma=gamma, warmup=warmup, clip=clip, seed=seed, time_limit=time_limit,
            device=device, threads=threads, precision=_value(precision),
            channels_last=channels_last, compile=compile, out=out, resume=resume, force=force,
            measure_every=measure_every, snapshot_every=snapshot_every, plot=plot,
            interrupt=interrupt, progress=watch.progress if speaks() else None,
            on_run=runs.append, on_epoch=on_epoch,
        )  # fmt: skip
    if not speaks():
        raise typer.Exit
    from gnc_cli.commands.train_table import train_table

    body = result.to_json()
    raise typer.Exit(
        conclude(body, train_table, outputs, gates, lines=_lines(body, outputs.shape))
    )


def _value(choice: Any) -> str | None:
    return None if choice is None else choice.value


def _names(text: str | None) -> list[str] | None:
    """`cat, dog` as two names."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"--classes-subset {text!r} has an empty name; write cat,dog,truck")
    return names


def _augmentations(text: str | None) -> list[str] | None:
    """`none` is an empty list."""
    return [] if text == "none" else None if text is None else [n.strip() for n in text.split(",")]


def _print_row(run: str, row: "EpochRow") -> None:
    """An epoch, and which run it is of: a series has several."""
    from gnc_cli.results import plain

    emit(json_text.dumps({"run": run} | plain(row), allow_nan=False) + "\n")


def _lines(body: dict[str, Any], shape: Shape) -> list[dict[str, Any]] | None:
    """The lines of --csv, an epoch each; those of --jsonl were printed one by one."""
    if shape is not Shape.CSV:
        return []
    from gnc_cli.results.lines import flat_row

    runs = body.get("rows", [body])
    return [
        {"run": run["run"]} | flat_row(epoch) for run in runs for epoch in run["history"]
    ]
