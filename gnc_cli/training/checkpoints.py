"""Checkpoints of a run: tensors and plain data, nothing that loading would have to trust.

Also the tensors of other people's checkpoints, for networks that start from them.
"""

import dataclasses
import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnc_cli.errors import DataError
from gnc_cli.io.atomic import atomic_file, deferring_errors
from gnc_cli.io.catalogue import check_entry, translated
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input
from gnc_cli.io.torch_file import load_plain
from gnc_cli.plain import read_plain
from gnc_cli.training.networks.batches import Batches
from gnc_cli.training.networks.training import EpochTotals, Training, TrainingState

FORMAT = 2
"""Of a run's checkpoint."""


def write_state(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write `state` so that `torch.load` reads it; replaced in one step."""
    with (
        atomic_file(path, force=True, follow=False) as file,
        deferring_errors(file) as sink,
    ):
        torch.save(state, sink)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state that `write_state` wrote, tensors on the CPU; no code of the file runs."""
    name = os.fspath(path)
    with open_input(name) as file, translated(name, "a checkpoint of gnc train"):
        state = load_plain(file, name, mapped=False)
    if not isinstance(state, dict):
        raise DataError(
            f"{name!r} holds a {type(state).__name__}, not the dictionary of a run; "
            "name a run folder of gnc train"
        )
    return state


@dataclass(frozen=True)
class DataStamp:
    """What tells one training set from another."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    """Of each channel."""
    labels: str
    """SHA-256 of the labels."""

    @classmethod
    def of(cls, batches: Batches) -> "DataStamp":
        """That of the images in these batches."""
        labels = batches.labels.numpy().astype("<i8").tobytes()
        normalisation = batches.normalisation
        return cls(normalisation.mean, normalisation.std, hashlib.sha256(labels).hexdigest())

    def check_same(self, data: "DataStamp", run: str, name: str) -> None:
        """Refuse to go on with other pictures, or with pictures in another order.

        Args:
            data: the stamp of the data there are now, which are called `name`.
            run: the run folder that this stamp is from.
        """
        ours, theirs = self.mean + self.std, data.mean + data.std
        same = len(ours) == len(theirs) and np.allclose(ours, theirs, rtol=1e-6, atol=1e-9)
        if not same or self.labels != data.labels:
            raise DataError(
                f"{run!r} was trained on other pictures, or on these in another order, than those "
                f"of {name} now; name the same data"
            )


@dataclass(frozen=True)
class Checkpoint:
    """What last.pt and best.pt hold."""

    format: int
    training: TrainingState
    totals: EpochTotals | None
    """Of the epoch that has just ended and is not yet in metrics.jsonl, if there is one."""
    data: DataStamp


def checkpoint_state(training: Training, totals: EpochTotals | None) -> dict[str, Any]:
    """A `Checkpoint` as tensors and plain data."""
    return {
        "format": FORMAT,
        "training": training.state(),
        "totals": None if totals is None else dataclasses.asdict(totals),
        "data": dataclasses.asdict(DataStamp.of(training.batches)),
    }


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """A checkpoint of `gnc train`, every part of its type."""
    name, state = os.fspath(path), read_state(path)
    version = state.get("format")
    if isinstance(version, int) and version != FORMAT:
        raise DataError(
            f"{name!r} has format {version}, and this version of gnc reads {FORMAT}; go on with "
            "the version that wrote it"
        )
    try:
        checkpoint: Checkpoint = read_plain(Checkpoint, state)
    except ValueError as error:
        raise DataError(f"{name!r} is no checkpoint of gnc train: {error}") from error
    return checkpoint


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The named tensors of anyone's checkpoint, on the CPU: .pt, .pth, .ckpt or .safetensors.

    Tensors of no real numbers are left out; bfloat16 and the 8-bit
    kinds come as float32. Nothing is unpickled but tensors and plain data.
    """
    name = os.fspath(path)
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        real = {key: entry for key, entry in catalogue.entries.items() if entry.real}
        tensors = {}
        for key in real:
            check_entry(real[key], catalogue.where(key))
            with translated(name, f"a tensor {key!r} of shape {real[key].shape}"):
                array = np.array(real[key].load())
            whole = array.dtype.kind in "iu" or real[key].dtype in ("float16", "float64")
            tensors[key] = torch.from_numpy(array if whole else array.astype(np.float32))
    return tensors
