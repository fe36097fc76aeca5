"""`train`: a network on the sphere, its collapse followed. The function behind `gnc train`."""

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from gnc_cli.errors import UsageError
from gnc_cli.results import EpochRow, TrainResult, TrainSeries
from gnc_cli.workflows.outputs import speaks
from gnc_cli.workflows.train_job import Job, Machine
from gnc_cli.workflows.train_settings import settings_of

__all__ = ["train"]

_Path = str | os.PathLike[str]
_T = TypeVar("_T")


def train(
    *,
    data: str | None = None,
    classes: int | None = None,
    classes_subset: Sequence[str] | None = None,
    image_size: int | None = None,
    fonts: _Path | None = None,
    augment: Sequence[str] | None = None,
    ood: str | None = None,
    model: str | None = None,
    feature_dim: int | None = None,
    width: float | None = None,
    stem: str | None = None,
    norm: str | None = None,
    backbone_weights: _Path | None = None,
    init_from: _Path | None = None,
    head: str | None = None,
    constraint: str | None = None,
    tau: float | None = None,
    beta: float | None = None,
    loss: str | None = None,
    margin: float | None = None,
    assignment: str | None = None,
    similarity: _Path | None = None,
    preset: str | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    optimizer: str | None = None,
    lr: float | None = None,
    momentum: float | None = None,
    weight_decay: float | None = None,
    schedule: str | None = None,
    milestones: Sequence[int] | None = None,
    gamma: float | None = None,
    warmup: float | None = None,
    clip: float | None = None,
    precision: str | None = None,
    channels_last: bool | None = None,
    compile: bool = False,
    measure_every: int | None = None,
    snapshot_every: int | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    out: _Path | None = None,
    resume: bool = False,
    force: bool = False,
    plot: _Path | None = None,
    interrupt: threading.Event | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
    on_run: Callable[[str], None] | None = None,
    on_epoch: Callable[[EpochRow], None] | None = None,
) -> TrainResult | TrainSeries:
    """Train a network the paper's way and follow GNC1, GNC2, GNC3 and NCC as it goes.

    What is None is taken from the preset, else from what learns on this data with this network.
    Started by `torchrun`, the processes train one network together; the batch is of all of them.

    Args:
        data: `glyphs`, `cifar10`, `cifar100` (also `cifar10:PATH`), `folder:PATH`, `h5:PATH`.
        classes: the first so many classes.
        classes_subset: these classes, by name.
        image_size: side of the images, pixels.
        fonts: folder of fonts, for glyphs.
        augment: of `crop`, `flip`, `rotate`; an empty list for none.
        ood: another set to test on, its classes matched by name.
        model: `cnn`, `resnet18`, `resnet50`, `densenet121`, `resnext50`, `package.module:factory`.
        feature_dim: dimension d of the features.
        width: factor on the channels.
        stem: `auto`, `small` or `imagenet`.
        norm: `batch`, `group` or `none`.
        backbone_weights: checkpoint with torchvision's names to start from.
        init_from: earlier run, or its checkpoint, whose encoder to start from.
        head: `learned`, `cmf`, `fixed:FILE` or `fixed:solve`.
        constraint: `sphere` or `decay`.
        tau: temperature.
        beta: of `cmf`.
        loss: `ce`, `hardmax`, `cosface` or `arcface`.
        margin: of `cosface` (a cosine) or `arcface` (radians).
        assignment: `identity`, `random`, `best`, `worst`, a file, or `all`.
        similarity: file with the classes' similarity (K, K), for `best` and `worst`.
        preset: `fig2`, `fig4`, `fig5`, `b1`, `b3`, `b6` or `finetune`.
        epochs: passes over the training set.
        batch_size: images a step, of all processes together.
        optimizer: `sgd`, `adamw` or `adam`.
        lr, momentum, weight_decay: of the optimiser.
        schedule, milestones, gamma, warmup: of the learning rate; in epochs.
        clip: largest norm of the gradient.
        precision: `auto`, `float32`, `bf16` or `fp16`.
        channels_last: memory layout.
        compile: compile the network first.
        measure_every: epochs between measurements; by default as takes a tenth of the time.
        snapshot_every: epochs between snapshots of features; by default the last epoch alone.
        seed: decides everything random, by default 0; a resumed run keeps its own.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        threads: by default all cores.
        time_limit: seconds; a normal end, to be resumed.
        out: the run folder; by default a dated one under `runs/`.
        resume: go on from the last checkpoint in `out`, with its settings; more `epochs` may be
            asked for, and a `model` of your own must be named again.
        force: replace a run in `out`, and `plot`.
        plot: PNG, SVG or PDF.
        interrupt: set it to stop early with a checkpoint.
        progress: told `(stage, steps done, steps in all, loss)`.
        on_run: told the folder of each run before its epochs.
        on_epoch: told each epoch's row.

    Returns:
        The run; a series of runs for `assignment="all"`.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`. A loss that is
        no longer finite is a DataError that names the last good checkpoint.
    """
    given = {
        "data": data, "classes": classes, "subset": _tuple(classes_subset),
        "image_size": image_size, "fonts": _path(fonts), "augment": _tuple(augment), "ood": ood,
        "model": model, "feature_dim": feature_dim, "width": width, "stem": stem, "norm": norm,
        "backbone_weights": _path(backbone_weights), "init_from": _path(init_from), "head": head,
        "constraint": constraint, "tau": tau, "beta": beta, "loss": loss, "margin": margin,
        "assignment": assignment, "similarity": _path(similarity), "preset": preset,
        "epochs": epochs, "batch_size": batch_size, "optimizer": optimizer, "lr": lr,
        "momentum": momentum, "weight_decay": weight_decay, "schedule": schedule,
        "milestones": _tuple(milestones), "gamma": gamma, "warmup": warmup, "clip": clip,
        "precision": precision, "channels_last": channels_last, "compile": compile or None,
        "measure_every": measure_every, "snapshot_every": snapshot_every,
        "seed": seed,
    }  # fmt: skip
    machine = Machine(
        device=device, threads=threads, time_limit=time_limit, out=_path(out), resume=resume,
        force=force, plot=_path(plot), interrupt=interrupt, progress=progress, on_run=on_run,
        on_epoch=on_epoch,
    )  # fmt: skip
    try:
        if not resume:
            settings_of(given)  # what is wrong by itself is said before anything is loaded
        job = Job(given, machine)
    except UsageError as error:
        error.told = not speaks()  # it is wrong in every process
        raise
    return job.run()


def _path(path: _Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _tuple(values: Sequence[_T] | None) -> tuple[_T, ...] | None:
    return None if values is None else tuple(values)
