"""Toy image sets for `train`: noise around a grey prototype of each class; and small networks."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.training.api import train
from gnc_cli.training.result import EpochRow, TrainResult

__all__ = ["TINY", "Troubled", "blind", "blowing", "prototypes", "run", "timeless", "tiny", "toy"]

TINY = "tests.training.problems:tiny"
"""For `--model`: quick, with a group norm, so that two processes see what one sees."""


def run(data: str | None, out: Path | str | None, **asked: Any) -> TrainResult:
    """Three quick epochs of three steps, on one thread; what is asked for goes before."""
    usual = {
        "model": TINY,
        "feature_dim": 3,
        "epochs": 3,
        "batch_size": 32,
        "lr": 0.01,
        "augment": (),
        "seed": 1,
        "device": "cpu",
        "threads": 1,
    }
    return train(data=data, out=out, **(usual | asked))


def timeless(history: Sequence[EpochRow]) -> list[EpochRow]:
    """The rows without what the clock says."""
    none = {"seconds": 0.0, "measure_seconds": 0.0, "images_per_second": 0.0}
    return [dataclasses.replace(row, **none) for row in history]


def prototypes(K: int) -> np.ndarray:
    """Return an image of 4 x 4 squares per class, float64 (K, 16, 16) from 0 to 1."""
    return np.kron(np.random.default_rng(7).random((K, 4, 4)), np.ones((4, 4)))


def toy(
    path: Path,
    K: int = 4,
    *,
    each: int = 24,
    test_each: int = 8,
    noise: float = 25.0,
    names: Sequence[str] | None = None,
    order: Sequence[int] | None = None,
    seed: int = 0,
) -> str:
    """Write K classes as HDF5; what `--data` takes for it.

    Args:
        path: of the file.
        K: number of classes.
        each, test_each: number of images per class, grey, 16 x 16.
        noise: its standard deviation, of 255.
        names: of the classes.
        order: which prototype a class shows.
        seed: of the noise.
    """
    rng = np.random.default_rng(seed)
    shown = prototypes(K)[np.arange(K) if order is None else np.array(order)]

    def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.tile(np.arange(K), count)
        grey = 40.0 + 170.0 * shown[labels] + noise * rng.standard_normal((len(labels), 16, 16))
        return np.clip(grey, 0, 255).round().astype(np.uint8)[:, None], labels

    with h5py.File(path, "w") as h5:
        h5["train_images"], h5["train_labels"] = drawn(each)
        if test_each:
            h5["test_images"], h5["test_labels"] = drawn(test_each)
        if names is not None:
            h5["class_names"] = list(names)
    return f"h5:{path}"


def tiny(*, channels: int, image_size: int, feature_dim: int) -> nn.Module:
    """Make a network: means over 4 x 4 pixels, a hidden layer with a group norm, `fc`."""
    side = image_size // 4
    return nn.Sequential(
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(channels * side * side, 32),
        nn.GroupNorm(4, 32),
        nn.ReLU(),
        nn.Linear(32, feature_dim),
    )


class Troubled(nn.Module):
    """The tiny network, with trouble: after so many steps of training, or where an image is black.

    Args:
        good: steps of training after which the features are no numbers.
    """

    def __init__(self, good: int, **shape: Any) -> None:
        super().__init__()
        self.inner, self.good = tiny(**shape), good
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.seen: Tensor

    def forward(self, images: Tensor) -> Tensor:
        self.seen += int(self.training)
        features = self.inner(images)
        features = torch.where(images.std((1, 2, 3))[:, None] == 0.0, 0.0, features)
        return features * torch.nan if self.training and self.seen > self.good else features


def blowing(**shape: Any) -> nn.Module:
    """Good for seven steps."""
    return Troubled(7, **shape)


def blind(**shape: Any) -> nn.Module:
    """Make a network whose features are zero for images of one grey."""
    return Troubled(10**9, **shape)
