"""`--plot FILE.html` of `gnc measure` and `gnc train`: the features of each snapshot of a run."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnc_cli.collapse.conventions import Selection
from gnc_cli.collapse.dataset import Dataset
from gnc_cli.collapse.files import SNAPSHOTS, snapshot_files
from gnc_cli.collapse.result import NAMES
from gnc_cli.collapse.sources import TRAINING, Source, resolve
from gnc_cli.console.viewer import MOST_POINTS, Snapshot, evenly, write_run_page
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import unit_or_zero
from gnc_cli.io.inputs import read_json
from gnc_cli.parameters import spelled

_BLOCK = 1 << 16
"""Number of rows read at once: some 100 MB for a thousand dimensions."""


def drawable_sources(path: str | os.PathLike[str], sources: Sequence[Source]) -> list[Source]:
    """Return the sources that the page at `path` shows: those with features and labels.

    Raises:
        DataError: there are none, or their dimensions differ.
    """
    drawable, dimensions = [], set()
    for source in sources:
        with source.open() as samples:
            if samples.features is not None and samples.labels is not None:
                drawable.append(source)
                dimensions.add(samples.features.shape[1])
    if len(dimensions) != 1:
        raise DataError(
            f"{spelled('plot')} {os.fspath(path)!r} shows features with labels, all of one "
            "dimension; give such files, or draw a .png"
        )
    return drawable


def write_snapshots(
    path: str | os.PathLike[str],
    sources: Sequence[Source],
    names: Sequence[str],
    row_of: Callable[[Source], Any],
    forms: Mapping[str, str],
) -> None:
    """Write the page of `drawable_sources`, in their order.

    Args:
        path: the .html file; an existing one is replaced.
        sources: files and snapshots.
        names: names of the classes, by label.
        row_of: function that returns the record with the values of a source, or None.
        forms: keys of the GNC1 and GNC3 to show, as `MeasureResult.forms` has them.

    Raises:
        OutputError: the page cannot be written.
    """
    snapshots = []
    for source in sources:
        with source.open() as samples:
            snapshots.append(_snapshot(source, samples, _metrics_text(row_of(source), forms)))
    d, K = snapshots[-1].features.shape[1], len(snapshots[-1].weights)
    write_run_page(
        path,
        title=f"Features and class weights: d = {d:,}, K = {K:,}",
        facts=f"unit rows, {len(snapshots)} snapshots",
        snapshots=snapshots,
        names=names,
    )


def write_run(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    history: Sequence[Any],
    forms: Mapping[str, str],
) -> None:
    """Write the page of a run folder of `gnc train` with its training snapshots.

    The metrics of each epoch are those in `history`.

    Raises:
        DataError: the run has no training snapshot.
        OutputError: the page cannot be written.
    """
    config = read_json(os.path.join(folder, "config.json"), "that of a run")
    snapshots = snapshot_files(os.path.join(folder, SNAPSHOTS))
    files = [file for file in snapshots if file.endswith(f"-{TRAINING}.h5")]
    if not files:
        raise DataError(
            f"{os.fspath(path)!r} is not written: the run has no training snapshot yet; continue "
            f"with {spelled('resume')}"
        )
    rows = {row.epoch: row for row in history}
    write_snapshots(
        path,
        drawable_sources(path, resolve(Selection(files=tuple(files)))),
        config["class_names"],
        lambda source: rows.get(source.attrs.get("epoch")),
        forms,
    )


def _metrics_text(row: Any, forms: Mapping[str, str]) -> str:
    """Return the metrics of a row of `measure` or an epoch of `train`, as far as it has them."""
    gnc1, gnc3 = forms["gnc1"], forms["gnc3"]
    keys = {
        NAMES[gnc1]: gnc1,
        "GNC2": "gnc2",
        NAMES[gnc3]: gnc3,
        "NCC": "ncc_accuracy",
        "accuracy": "accuracy",
        "training accuracy": "train_accuracy",
        "test accuracy": "test_accuracy",
    }
    values = {name: getattr(row, key, None) for name, key in keys.items()}
    numbers = {name: getattr(value, "lower", value) for name, value in values.items()}
    return ", ".join(f"{name} {v:.4g}" for name, v in numbers.items() if v is not None)


def _snapshot(source: Source, samples: Dataset, metrics: str) -> Snapshot:
    """Return a snapshot of at most `MOST_POINTS` samples, the same share of each class.

    Class means stand in for missing weights.
    """
    assert samples.features is not None and samples.labels is not None
    N = samples.features.shape[0]
    order = np.argsort(samples.labels, kind="stable")[np.count_nonzero(samples.labels < 0) :]
    sample = np.sort(order[evenly(len(order), MOST_POINTS)])
    parts = []
    for start in range(0, N, _BLOCK):
        rows = samples.features.read(start, min(start + _BLOCK, N))
        inside = sample[(sample >= start) & (sample < start + len(rows))] - start
        parts.append(np.asarray(rows[inside], dtype=np.float64))
    features, labels = unit_or_zero(np.concatenate(parts)), samples.labels[sample]
    weights = samples.weights
    if weights is None:
        classes = np.unique(labels)
        weights = np.array([features[labels == k].mean(axis=0) for k in classes])
    else:
        classes = np.arange(len(weights))
    epoch = source.attrs.get("epoch")
    name = f"epoch {epoch:g}" if epoch is not None else source.snapshot or source.file or "samples"
    return Snapshot(name, features, labels, unit_or_zero(weights), classes, N, metrics)
