"""Data of a network near collapse, and what `measure` finds in it."""

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import safetensors.torch
import torch

from gnc_cli import measure, measure_series
from gnc_cli.collapse.request import Measure
from gnc_cli.collapse.result import MeasureResult, MeasureSeries
from gnc_cli.collapse.run import selection_of
from gnc_cli.collapse.sources import Source, resolve
from tests.metrics import reference
from tests.problems import icosahedron

K, D, N = 12, 3, 240
NAMES = [f"class {k}" for k in range(K)]


@pytest.fixture
def data(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Noisy features around the icosahedron, with a classifier of uneven lengths and a bias."""
    return _data(rng)


def _data(rng: np.random.Generator) -> dict[str, np.ndarray]:
    W = icosahedron() * rng.uniform(0.5, 2.0, (K, 1)) + 0.05 * rng.standard_normal((K, D))
    labels = rng.permutation(np.repeat(np.arange(K), N // K))
    features = 3.0 * (icosahedron()[labels] + 0.2 * rng.standard_normal((N, D)))
    return {
        "features": features,
        "labels": labels,
        "weights": W,
        "bias": 0.1 * rng.standard_normal(K),
    }


def by_hand(
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    unit: bool = True,
) -> dict[str, float]:
    """What `measure` finds, one sample, class and pair at a time, under dotted keys."""
    H, U = reference.unit(features), reference.unit(weights)
    margins = [c[y] - np.delete(c, y).max() for c, y in zip(H @ U.T, labels, strict=True)]
    if not unit:
        H, U = features, weights
    K, means = len(weights), reference.class_means(H, labels)
    nearest = reference.nearest_mean_scores(H, means, K)
    called = reference.classifier_scores(features, weights, bias)
    left_out = reference.ncc_leave_one_out(H, labels, K)
    alone = np.bincount(labels).max() < 2  # the spread within classes is not known
    unknown = float("nan")
    return {
        "gnc1": unknown if alone else reference.gnc1(H, labels),
        "gnc3": reference.gnc3(U, means),
        "accuracy": reference.share_right(called, labels),
        "ncc_accuracy": unknown if alone else reference.share_right(nearest, labels),
        "ncc_agreement": float((called.argmax(axis=1) == nearest.argmax(axis=1)).mean()),
        "ncc_leave_one_out": float("nan") if left_out is None else left_out,
        "sample_margins.positive_share": float((np.array(margins) > 0.0).mean()),
        "sample_margins.min": min(margins),
        "sample_margins.mean": float(np.mean(margins)),
    }


def agrees(result: MeasureResult, expected: dict[str, float], digits: float = 1e-9) -> None:
    """Every finite number of `expected` is that of the result."""
    flat, known = result.flat(prefix=""), {k: v for k, v in expected.items() if np.isfinite(v)}
    assert known
    assert {name: flat[name] for name in known} == pytest.approx(known, rel=digits, abs=digits)


def save(path: Path, data: dict[str, np.ndarray], **attrs: Any) -> str:
    """An HDF5 file of these arrays and attributes."""
    with h5py.File(path, "w") as h5:
        for name, array in data.items():
            h5[name] = array
        h5.attrs.update(attrs)
    return str(path)


def save_pt(path: Path, arrays: dict[str, np.ndarray]) -> None:
    torch.save({name: torch.from_numpy(a.copy()) for name, a in arrays.items()}, path)


def save_safetensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    safetensors.torch.save_file({n: torch.from_numpy(a.copy()) for n, a in arrays.items()}, path)


SAVERS: dict[str, Callable[[Path, dict[str, np.ndarray]], Any]] = {
    ".h5": save,
    ".npz": lambda path, arrays: np.savez(path, **arrays),
    ".pt": save_pt,
    ".pth": lambda path, arrays: torch.save(arrays, path),
    ".safetensors": save_safetensors,
}


def put(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """A file of these arrays, in the format of its suffix; of the one array, .npy."""
    if path.suffix == ".npy":
        (array,) = arrays.values()
        np.save(path, array)
    else:
        SAVERS[path.suffix](path, arrays)
    return str(path)


def save_run(path: Path, epochs: tuple[int, ...] = (10, 2, 1), seed: int = 0, **attrs: Any) -> str:
    """A file with a snapshot per epoch, the noise of which falls with the epoch."""
    rng = np.random.default_rng(seed)
    data = _data(np.random.default_rng(7))
    with h5py.File(path, "w") as h5:
        h5["labels"] = data["labels"].astype(np.uint8)
        h5["weights"] = data["weights"]
        h5.attrs.update({"seed": seed, **attrs})
        for epoch in epochs:
            group = h5.create_group(f"snapshots/epoch_{epoch}")
            group.attrs["epoch"] = epoch
            noise = rng.standard_normal(data["features"].shape) / epoch
            group["features"] = icosahedron()[data["labels"]] + 0.3 * noise
    return str(path)


def sources_of(files: Sequence[str], **options: Any) -> list[Source]:
    """The rows that files make, and files that options name."""
    return resolve(selection_of(Measure(files=tuple(files), **options)))


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> MeasureResult:
    """One set with everything that can be asked for."""
    folder = tmp_path_factory.mktemp("one")
    (folder / "names.txt").write_text("\n".join(NAMES))
    file = save(folder / "set.h5", _data(np.random.default_rng(7)), epoch=5, split="test")
    with contextlib.chdir(folder):
        return measure(
            os.path.basename(file),
            variants="classic",
            duplicates=0.46,
            class_names="names.txt",
        )


@pytest.fixture(scope="session")
def series(tmp_path_factory: pytest.TempPathFactory) -> MeasureSeries:
    """Two seeds over three epochs."""
    folder = tmp_path_factory.mktemp("several")
    with contextlib.chdir(folder):
        files = [save_run(Path(f"seed{seed}.h5"), seed=seed) for seed in (0, 1)]
        return measure_series(files)
