"""`--plot FILE.html` of `gnc measure` and `gnc train`: features as they move over the snapshots."""

import os
from collections.abc import Sequence

import numpy as np

from gnc_cli.collapse.samples import Samples
from gnc_cli.collapse.sources import Source, find_sources
from gnc_cli.console.viewer import MOST_POINTS, Snapshot, write_run_page
from gnc_cli.errors import DataError
from gnc_cli.parameters import spelled

_BLOCK = 1 << 16
"""Rows read at once."""


def write_snapshots(path: str | os.PathLike[str], sources: Sequence[Source]) -> None:
    """Write the page of the sources that hold features and labels, in their order.

    Raises:
        DataError: none does, or they are of several dimensions.
        OutputError: the page cannot be written.
    """
    snapshots = []
    for source in sources:
        with source.open() as samples:
            if samples.features is not None and samples.labels is not None:
                snapshots.append(_snapshot(source, samples))
    if len({snapshot.features.shape[1] for snapshot in snapshots}) != 1:
        raise DataError(
            f"{spelled('plot')} {os.fspath(path)!r} shows features with labels, all of one "
            "dimension; give such files, or draw a .png"
        )
    d, K = snapshots[-1].features.shape[1], len(snapshots[-1].weights)
    write_run_page(
        path, title=f"Features and class weights: d = {d:,}, K = {K:,}",
        facts=f"unit rows, {len(snapshots)} snapshots; diamonds are class weights",
        snapshots=snapshots,
    )  # fmt: skip


def write_run(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Write the page of a run folder of `gnc train`: its training snapshots."""
    file = os.path.join(folder, "snapshots.h5")
    write_snapshots(path, find_sources(
        [file], {}, shards=False, transpose_weights=False, select=[("split", "train")]
    ))  # fmt: skip


def _snapshot(source: Source, samples: Samples) -> Snapshot:
    """At most `MOST_POINTS` samples, evenly spaced; class means stand in for missing weights."""
    assert samples.features is not None and samples.labels is not None
    N = samples.features.shape[0]
    chosen = np.linspace(0, N - 1, min(N, MOST_POINTS)).astype(np.intp)
    parts = []
    for start in range(0, N, _BLOCK):
        rows = samples.features.read(start, min(start + _BLOCK, N))
        inside = chosen[(chosen >= start) & (chosen < start + len(rows))] - start
        parts.append(np.asarray(rows[inside], dtype=np.float64))
    features, labels = _unit(np.concatenate(parts)), samples.labels[chosen]
    weights = samples.weights
    if weights is None:
        weights = np.array([features[labels == k].mean(axis=0) for k in np.unique(labels)])
    epoch = source.attrs.get("epoch")
    name = f"epoch {epoch:g}" if epoch is not None else source.snapshot or source.file or "samples"
    return Snapshot(name, features, labels, _unit(weights))


def _unit(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0.0, norms, 1.0))
