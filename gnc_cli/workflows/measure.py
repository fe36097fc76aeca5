"""`measure`: collapse metrics of features, weights or both. The function behind `gnc measure`."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.numerics.distributed import Processes
from gnc_cli.results import MeasureResult, MeasureSeries
from gnc_cli.workflows.measure_files import prepare_files, write_files
from gnc_cli.workflows.measure_one import Measurer
from gnc_cli.workflows.measure_request import read_request, selection_pairs
from gnc_cli.workflows.measure_series import measure_series
from gnc_cli.workflows.measure_sources import find_sources
from gnc_cli.workflows.measure_statistics import Reading

__all__ = ["measure"]

_Path = str | os.PathLike[str]
_Input = Any
"""A file, `FILE:key`, several of these, or an array."""


def measure(
    *sources: _Path,
    features: _Input = None,
    labels: _Input = None,
    weights: _Input = None,
    bias: _Input = None,
    logits: _Input = None,
    shards: bool = False,
    transpose_weights: bool = False,
    K: int | None = None,
    select: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    normalize: str = "auto",
    missing: str = "skip",
    means_from: _Path | None = None,
    variants: str = "none",
    duplicates: float | None = None,
    classes: _Path | None = None,
    min_count: int | None = None,
    class_names: _Path | None = None,
    reference: float | _Path | None = None,
    probability: float = 0.9,
    bootstrap: int | None = None,
    per_class: _Path | None = None,
    group: str | None = None,
    append: _Path | None = None,
    out: _Path | None = None,
    force: bool = False,
    plot: _Path | None = None,
    chunk_rows: int | None = None,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    interrupt: threading.Event | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
    on_row: Callable[[MeasureResult], None] | None = None,
) -> MeasureResult | MeasureSeries:
    """Has a network collapsed, and how close is its margin to the best known?

    Args:
        sources: files with features (N, d), labels (N,) and weights (K, d), or some of these; each
            file and each snapshot in it is a row of the result. `-` is HDF5 on stdin.
        features, labels, weights, bias, logits: from files of their own (`FILE:key`, globs; several
            are shards of one set), or arrays: features (N, d), labels (N,), weights (K, d), bias
            (K,), logits (N, K).
        shards: the sources are parts of one set.
        transpose_weights: weights are stored as (d, K).
        K: number of classes, checked against the files.
        select: which rows: `{"epoch": "0..100..10", "split": "test"}`.
        normalize: `auto`: unit rows where the metric asks; `require`: they must be unit already;
            `off`: as stored.
        missing: `skip` leaves classes without samples out of every mean; `error` refuses them.
        means_from: training set whose class means count for GNC1, NCC and agreement.
        variants: `none`, `authors`, `classic` or `all`.
        duplicates: list the pairs of classes above this cosine, and GNC2 without them.
        classes: file of the labels (or names) to measure, one a line.
        min_count: leave out classes of fewer samples.
        class_names: file of names, one a line.
        reference: what GNC2 is held against: a number, or a file with a code; by default the best
            known.
        probability: for the scale that softmax needs to reach it on every class.
        bootstrap: resamples for 95 % intervals.
        per_class: file for a row a class, .csv or .h5; brackets every class.
        group: key whose rows are put together as mean and deviation, such as `seed`.
        append: file of rows, JSON lines; rows that it has already are not measured again.
        out: file for the rows, .csv, .json or .h5.
        force: overwrite files.
        plot: PNG, SVG or PDF.
        chunk_rows: rows read at a time.
        seed: of samples of classes and resamples.
        device: `auto`, `cpu`, `cuda` or `cuda:N`, for GNC2.
        threads: by default chosen from the size.
        time_limit: seconds for GNC2 of each row, whose bracket is valid whenever they end;
            duplicates and classic variants that they cut short are left out. The samples are read
            in full.
        interrupt: set it to stop early with the rows so far.
        progress: told `(stage, done, total, value)`.
        on_row: told each row as it is ready.

    Returns:
        A result for one set; a series for several, or with `group` or `append`.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> import numpy as np
        >>> result = measure(features=np.eye(3), labels=np.arange(3), weights=np.eye(3))
        >>> result.gnc1, round(result.gnc2.lower, 12), result.gnc3, result.ncc_accuracy
        (0.0, 1.224744871392, 0.0, 1.0)
    """
    started = time.monotonic()
    given = {
        "features": features, "labels": labels, "weights": weights, "bias": bias, "logits": logits,
    }  # fmt: skip
    prepare_files(
        out=out, per_class=per_class, append=append, plot=plot, force=force,
        read={
            "FILES": sources, **{f"--{name}": value for name, value in given.items()},
            "--means-from": means_from, "--classes": classes, "--class-names": class_names,
            "--reference": reference,
        },
    )  # fmt: skip
    request = read_request(
        K=K, normalize=normalize, missing=missing, means_from=means_from, variants=variants,
        duplicates=duplicates, classes=classes, min_count=min_count, class_names=class_names,
        reference=reference, probability=probability, bootstrap=bootstrap, per_class=per_class,
        chunk_rows=chunk_rows, seed=seed, device=device, threads=threads,
    )  # fmt: skip
    found = find_sources(
        sources, given, shards=shards, transpose_weights=transpose_weights, K=K,
        select=selection_pairs(select),
    )  # fmt: skip
    if per_class is not None and len(found) != 1:
        raise UsageError(f"--per-class is of one set, and there are {len(found)}; --select one")
    with Processes.current() as processes:
        reading = Reading(processes, interrupt, time_limit, progress)
        result = measure_series(
            found, Measurer(request, reading), request, group=group, append=append, on_row=on_row,
        )  # fmt: skip
        result = replace(
            result, seconds=time.monotonic() - started, out=None if out is None else os.fspath(out)
        )
        if processes.first:
            write_files(result, out=out, per_class=per_class, plot=plot, force=force)
    return result
