"""Checkpoints of a run: tensors and plain data, nothing that loading would have to trust.

Also the tensors of other people's checkpoints, for networks that start from them.
"""

import contextlib
import dataclasses
import hashlib
import os
import shutil
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from gnc_cli.training.networks.batches import Normalisation
from gnc_cli.training.networks.training import EpochTotals, TrainingState

if TYPE_CHECKING:
    from gnc_cli.training.session import Session

FORMAT = 1
"""Of a run's checkpoint."""
_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".index.json")
_WRAPPERS = ("state_dict", "model_state_dict", "model", "encoder")
"""Dictionaries that checkpoints keep a network in; the first that is there, then within it."""


def write_checkpoint(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write `state` so that `torch.load` reads it; replaced in one step."""
    _check_plain(state)
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
        with open(source, "rb") as whole, atomic_file(target, force=True, follow=False) as file:
            shutil.copyfileobj(whole, file, 1 << 20)
        return
    try:
        os.replace(temporary, target)
    finally:
        # Where both are one file already, renaming does nothing and leaves the new name.
        with contextlib.suppress(OSError):
            temporary.unlink()


def _check_plain(state: Any, name: str = "state") -> None:
    """Refuse what loading with `weights_only=True` refuses: the types are exact, no subclasses.

    A network of the user's own may keep anything in its state, and hours must not be lost with it.

    >>> _check_plain({"epoch": {"last": np.int64(3)}})
    Traceback (most recent call last):
    TypeError: state['epoch']['last'] is numpy.int64; checkpoints hold tensors and plain data
    """
    kind = type(state)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return
    if state is None or kind in (bool, int, float, str, torch.Size, torch.dtype, torch.device):
        return
    if kind in (dict, OrderedDict):
        for key, value in state.items():
            _check_plain(key, f"a key of {name}")
            _check_plain(value, f"{name}[{key!r}]")
    elif kind in (list, tuple):
        for at, value in enumerate(state):
            _check_plain(value, f"{name}[{at}]")
    else:
        full = f"{kind.__module__}.{kind.__qualname__}"
        raise TypeError(f"{name} is {full}; checkpoints hold tensors and plain data")


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
class BestEpoch:
    """What best.pt is of."""

    epoch: int
    accuracy: float
    of: str
    """`test`, or `train` without a test set."""
    ood_accuracy: float | None


@dataclass(frozen=True)
class Times:
    """What training and measuring took, in seconds, and how often to measure."""

    every: int
    cost: float
    train_seconds: float
    measure_seconds: float

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"a measurement every {self.every} epochs")


@dataclass(frozen=True)
class RunState:
    """Where a run is, beside its network."""

    best: BestEpoch | None
    cadence: Times
    totals: EpochTotals | None
    """Of the epoch that had just ended."""


@dataclass(frozen=True)
class Checkpoint:
    """What `checkpoint_state` makes."""

    format: int
    training: TrainingState
    run: RunState
    normalisation: Normalisation
    labels: str
    """SHA-256 of the labels."""


def read_run(path: str | os.PathLike[str]) -> Checkpoint:
    """A checkpoint of `gnc train`, every part of its type."""
    name, state = os.fspath(path), read_checkpoint(path)
    try:
        found: Checkpoint = read_plain(Checkpoint, state)
    except ValueError as error:
        raise DataError(f"{name!r} is no checkpoint of gnc train: {error}") from error
    if found.format != FORMAT:
        raise DataError(
            f"{name!r} has format {found.format}, and this version of gnc reads {FORMAT}; go on "
            "with the version that wrote it"
        )
    totals = found.run.totals
    if totals is not None and totals.epoch != found.training.epoch:
        raise DataError(
            f"{name!r} is of epoch {found.training.epoch} with the totals of epoch {totals.epoch}; "
            f"start anew with {spelled('force')}"
        )
    return found


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
        found = next((p for p in inner if any(name.startswith(p) for name in names)), None)
        if found is None:
            break
        prefix = found
    return {name: name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def checkpoint_state(session: "Session", totals: EpochTotals | None, **run: Any) -> dict[str, Any]:
    """Tensors and plain data for last.pt, `run` among them.

    `totals` are of the epoch that has just ended and is not yet in metrics.jsonl, if there is one.
    """
    stored = None if totals is None else dataclasses.asdict(totals)
    return {
        "format": FORMAT,
        "training": session.training.state(),
        "run": run | {"totals": stored},
    } | _data_state(session)


def check_same_data(state: Checkpoint, session: "Session", where: str) -> None:
    """Refuse to go on with other pictures, or with pictures in another order."""
    ours = session.normalisation
    for name, what in (("mean", "mean"), ("std", "standard deviation")):
        theirs, mine = getattr(state.normalisation, name), getattr(ours, name)
        if len(theirs) != len(mine) or not np.allclose(theirs, mine, rtol=1e-6, atol=1e-9):
            was, now = (", ".join(f"{value:.4f}" for value in values) for values in (theirs, mine))
            raise DataError(
                f"{where!r} was trained on other pictures: their {what} was {was}, that of "
                f"{session.settings.data} is {now} now; name the same data"
            )
    if state.labels != _data_state(session)["labels"]:
        raise DataError(
            f"{where!r} was trained on pictures with other labels, or in another order, than those "
            f"of {session.settings.data} now; name the same data"
        )


def _data_state(session: "Session") -> dict[str, Any]:
    """What tells one training set from another."""
    normalisation = session.normalisation
    labels = np.ascontiguousarray(session.measuring.train.labels, dtype="<i8")
    return {
        "normalisation": {"mean": list(normalisation.mean), "std": list(normalisation.std)},
        "labels": hashlib.sha256(labels.tobytes()).hexdigest(),
    }
