"""Checkpoints of a run: tensors and plain data, nothing that loading would have to trust.

Also the tensors of other people's checkpoints, for networks that start from them.
"""

import contextlib
import dataclasses
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnc_cli.errors import DataError
from gnc_cli.io.atomic import atomic_file, check_writable, deferring_errors, temporary_name
from gnc_cli.io.catalogue import check_entry, translated
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import SIGNATURE, open_input
from gnc_cli.io.torch_file import load_plain
from gnc_cli.parameters import spelled
from gnc_cli.records import read_plain
from gnc_cli.training.networks.batches import Batches
from gnc_cli.training.networks.training import EpochTotals, Training, TrainingState

FORMAT = 2
"""Of a run's checkpoint."""
_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".index.json")
_WRAPPERS = ("state_dict", "model_state_dict", "model", "encoder")
"""Dictionaries that checkpoints keep a network in; the first that is there, then within it."""


def write_checkpoint(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write `state` so that `torch.load` reads it; replaced in one step."""
    with (
        atomic_file(path, force=True, follow=False) as file,
        deferring_errors(file) as sink,
    ):
        torch.save(state, sink)


def link_file(source: Path, target: Path) -> None:
    """Let `target` be a second name of what `source` holds, or a copy; replaced in one step."""
    check_writable(target, force=True, follow=False)
    temporary = temporary_name(target)
    try:
        os.link(source, temporary)
    except OSError:  # a file system without links
        shutil.copyfile(source, temporary)
    try:
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):  # where both are one file already, the new name stays
            temporary.unlink()


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state that `write_checkpoint` wrote, tensors on the CPU; no code of the file runs."""
    name = os.fspath(path)
    with open_input(name) as file, translated(name, "a checkpoint of gnc train"):
        if file.read(len(SIGNATURE)) == SIGNATURE:
            raise DataError(
                f"{name!r} is HDF5, no checkpoint; name a run folder of gnc train, or its last.pt"
            )
        file.seek(0)
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
        for key, what in (("mean", "mean"), ("std", "standard deviation")):
            was, now = getattr(self, key), getattr(data, key)
            if len(was) != len(now) or not np.allclose(was, now, rtol=1e-6, atol=1e-9):
                was, now = (", ".join(f"{value:.4f}" for value in values) for values in (was, now))
                raise DataError(
                    f"{run!r} was trained on other pictures: their {what} was {was}, that of "
                    f"{name} is {now} now; name the same data"
                )
        if self.labels != data.labels:
            raise DataError(
                f"{run!r} was trained on pictures with other labels, or in another order, than "
                f"those of {name} now; name the same data"
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


def read_run(path: str | os.PathLike[str]) -> Checkpoint:
    """A checkpoint of `gnc train`, every part of its type."""
    name, state = os.fspath(path), read_checkpoint(path)
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
    totals = checkpoint.totals
    if totals is not None and totals.epoch != checkpoint.training.epoch:
        raise DataError(
            f"{name!r} is of epoch {checkpoint.training.epoch} with the totals of epoch "
            f"{totals.epoch}; start anew with {spelled('force')}"
        )
    return checkpoint


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The named tensors of anyone's checkpoint, on the CPU: .pt, .pth, .ckpt or .safetensors.

    Where the file keeps the network in `state_dict`, `model` or `encoder`, also one in another,
    the names are those inside it. Tensors of no real numbers are left out; bfloat16 and the 8-bit
    kinds come as float32. Nothing is unpickled but tensors and plain data.
    """
    name = os.fspath(path)
    if not name.endswith(_SUFFIXES):
        raise DataError(
            f"{name!r} is no checkpoint by its suffix; expected one of {', '.join(_SUFFIXES)}"
        )
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        real = {key: entry for key, entry in catalogue.entries.items() if entry.real}
        if not real:
            raise DataError(
                f"{name!r} holds no tensors; save the network with "
                "torch.save(network.state_dict(), FILE)"
            )
        tensors = {}
        for key, inside in _unwrapped(list(real)).items():
            check_entry(real[key], catalogue.where(key))
            with translated(name, f"a tensor {key!r} of shape {real[key].shape}"):
                array = np.array(real[key].load())
            whole = array.dtype.kind in "iu" or real[key].dtype in ("float16", "float64")
            tensors[inside] = torch.from_numpy(array if whole else array.astype(np.float32))
    return tensors


def _unwrapped(names: list[str]) -> dict[str, str]:
    """The names that count, with what they are called inside the wrappers.

    >>> _unwrapped(["epoch", "model.encoder.fc.weight", "model.head.weight", "optimizer.0"])
    {'model.encoder.fc.weight': 'fc.weight'}
    """
    prefix = ""
    for _ in _WRAPPERS:
        inner = [f"{prefix}{w}." for w in _WRAPPERS]
        prefix = next((p for p in inner if any(name.startswith(p) for name in names)), prefix)
    return {name: name.removeprefix(prefix) for name in names if name.startswith(prefix)}
