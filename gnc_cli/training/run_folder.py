"""The folder of a training run, readable at any moment, also after a kill.

| file | what it holds |
|---|---|
| config.json | what was asked for |
| metrics.jsonl | one line per epoch |
| snapshots/ | features, labels and weights, a file for each epoch and split, for `gnc measure` |
| last.pt, best.pt | checkpoints: tensors and plain data |
| log.txt | what happened when, UTC |

No file holds an absolute path or the name of a machine: paths are cut down to their last part.
A snapshot is a file `snapshots/epoch-0010-train.h5` with attributes epoch, step and split.
"""

import contextlib
import hashlib
import itertools
import json
import logging
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.collapse.files import SNAPSHOTS, snapshot_files
from gnc_cli.errors import DataError, OutputError
from gnc_cli.escaping import visible
from gnc_cli.io.atomic import atomic_file, deferring_errors, make_folder, unshare
from gnc_cli.io.catalogue import translated
from gnc_cli.io.code import creation_time, portable
from gnc_cli.io.hdf5 import write_attributes
from gnc_cli.io.inputs import open_input, read_json
from gnc_cli.io.ledger import Ledger
from gnc_cli.io.torch_file import load_plain
from gnc_cli.parameters import spelled
from gnc_cli.plain import plain, read_plain
from gnc_cli.runtime.distributed import Processes, run_on_first
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.measure import Measurement
from gnc_cli.training.networks.batches import Batches
from gnc_cli.training.networks.training import EpochTotals, Training, TrainingState
from gnc_cli.training.result import EpochRow
from gnc_cli.training.settings import Settings

CONFIG, METRICS, LOG = "config.json", "metrics.jsonl", "log.txt"
RUN_FILES = (CONFIG, METRICS, "last.pt", "best.pt", LOG)
_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_FORMAT = 2
"""Of a run's checkpoint."""


def _in_first(
    method: Callable[Concatenate["RunFolder", _P], _T],
) -> Callable[Concatenate["RunFolder", _P], _T | None]:
    """Call a method in the first process; what it gives, or its failure, comes in all of them.

    Nothing is called without a path.
    """

    @wraps(method)
    def shared(self: "RunFolder", /, *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        work = partial(method, self, *args, **kwargs)
        return run_on_first(self.processes, work) if self.path else None

    return shared


class RunFolder(contextlib.AbstractContextManager["RunFolder"]):
    """A run on disk; a context that lets go of it. Without a path it leaves nothing behind.

    Every process makes the same calls. The first writes, and what it cannot write (the disk is
    full, say) is an OutputError in all of them; `log` and `warn` raise nothing.
    """

    def __init__(self, processes: Processes, path: str = "") -> None:
        self.processes, self.path = processes, path
        self._warned: set[str] = set()
        self._rows = _ledger(None)
        self._log: Path | None = None

    @classmethod
    def claim(
        cls,
        processes: Processes,
        path: str | None,
        *,
        label: str = "",
        force: bool = False,
        resume: bool = False,
    ) -> "RunFolder":
        """A folder that the first process makes, or opens to `resume` its run, and holds alone.

        Without a path it is `runs/2026-11-21-1530-LABEL`, by UTC. `force` removes the files of a
        run that is there, and nothing else.
        """
        folder = cls(processes)

        def hold() -> str:
            if path is not None and not resume:
                check_free(path, force=force)
                make_folder(Path(path))
            where = _dated_folder(label) if path is None else Path(path)
            folder._hold(where, resume=resume)
            return str(where)

        folder.path = run_on_first(processes, hold)
        return folder

    def _hold(self, folder: Path, *, resume: bool) -> None:
        """Lock the folder and open what is added to; nothing of an earlier run stays in a new one.

        It may be somebody else's folder, so no link is followed; files that are written anew
        replace a link.
        """
        for path in (folder / METRICS, folder / LOG, folder / SNAPSHOTS):
            if path.is_symlink() and not resume:
                path.unlink()
            elif path.is_symlink():
                raise OutputError(
                    f"{str(path)!r} is a symbolic link, and gnc train follows none in a run "
                    "folder; put what it points to there, or name another folder"
                )
        self._rows = _ledger(folder / METRICS, resume=resume)
        if not resume:
            self._rows.take_name()
            for old in own_files(folder):
                if old.name != METRICS and (old.is_symlink() or not old.is_dir()):
                    old.unlink()
            with contextlib.suppress(OSError):  # it is not there, or holds other files
                (folder / SNAPSHOTS).rmdir()
        if (folder / LOG).exists() and not (folder / LOG).is_file():
            raise OutputError(f"cannot write {str(folder / LOG)!r}: it is no file")
        unshare(folder / LOG)
        self._log = folder / LOG

    def __exit__(self, *exception: object) -> None:
        self._rows.close()
        self._log = None

    @_in_first
    def config(self, /, settings: Settings, **more: Any) -> None:
        """config.json, with `more` beside version and settings."""
        config = {"gnc_version": __version__, "settings": vars(settings), **more}
        text = json.dumps(portable(config), indent=2, allow_nan=False) + "\n"
        with atomic_file(Path(self.path, CONFIG), force=True, follow=False) as file:
            file.write(text.encode())

    @_in_first
    def back_to(self, epoch: int) -> list[EpochRow]:
        """Drop what came after an epoch; the lines of metrics.jsonl that are left.

        A snapshot of this epoch goes too where it has no line: the run was killed after writing it.
        """
        kept = [row for row in self._rows.rows if row.epoch <= epoch]
        after = max(epoch - 1, kept[-1].epoch if kept else 0)
        for path, of in snapshot_files(os.path.join(self.path, SNAPSHOTS)).items():
            if of > after:
                os.unlink(path)
        self._rows.keep(len(kept))
        return kept

    @_in_first
    def checkpoint(self, state: dict[str, Any]) -> None:
        """last.pt."""
        with (
            atomic_file(Path(self.path, "last.pt"), force=True, follow=False) as file,
            deferring_errors(file) as sink,
        ):
            torch.save(state, sink)

    @_in_first
    def best(self) -> None:
        """best.pt is a copy of what last.pt is now."""
        with (
            open(Path(self.path, "last.pt"), "rb") as last,
            atomic_file(Path(self.path, "best.pt"), force=True, follow=False) as best,
        ):
            shutil.copyfileobj(last, best)

    @_in_first
    def epoch(self, row: EpochRow, words: str) -> None:
        """A line of metrics.jsonl, on disk when this returns, and one of log.txt."""
        self._rows.append(plain(row))
        self.log(words)

    @_in_first
    def snapshot(self, epoch: int, step: int, measurement: Measurement) -> None:
        """The features that were measured, each split of them that was kept."""
        if measurement.result is not None and "train" not in measurement.features:
            self.warn(
                "no snapshot of the training features, which are larger than 2 GiB; for one take a "
                f"smaller {spelled('feature_dim')} or fewer images"
            )
        for split, (features, labels) in measurement.features.items():
            arrays = {"features": features, "labels": labels, "weights": measurement.weights}
            add_snapshot(Path(self.path), arrays, epoch=epoch, step=step, split=split)

    def log(self, line: str) -> None:
        """A line of log.txt behind the time in UTC, and of the log on stderr where wanted."""
        if self._log is not None:
            text = visible(" ".join(str(portable(line)).split()))
            # Other writers report a full disk.
            with contextlib.suppress(OSError), open(self._log, "ab") as file:
                file.write(f"{creation_time()} {text}\n".encode())
            _log.info("%s", line)

    def warn(self, line: str) -> None:
        """The same, and a warning, but each line once."""
        if line not in self._warned:
            self._warned.add(line)
            self.log(line)
            if self.processes.first:
                _log.warning("%s", line)


def check_free(path: str, *, force: bool = False) -> None:
    """Refuse a folder with any file of a name that a run writes, whoever made it."""
    folder = Path(path)
    places = [folder, *sorted(folder.glob("assignment-[0-9]*"))] if os.path.isdir(folder) else []
    taken = [file for place in places for file in own_files(place)]
    if taken and not force:
        raise OutputError(
            f"{path!r} holds {str(taken[0].relative_to(folder))!r} already; go on with "
            f"{spelled('resume')}, name another folder, or add {spelled('force')} to replace it"
        )


def clear_series(parent: Path, *, force: bool) -> None:
    """Refuse links to runs; with `force` remove the runs of an earlier series, no other files."""
    for old in sorted(parent.glob("assignment-[0-9]*")):
        if old.is_symlink():
            raise OutputError(
                f"{str(old)!r} is a symbolic link, and gnc train follows none in a run folder; "
                "remove it, or name another folder"
            )
        for file in own_files(old) if force and (old / CONFIG).is_file() else ():
            file.unlink()


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The config.json of a run folder, which another process may hold."""
    folder = Path(path)
    if not (folder / CONFIG).is_file():
        raise DataError(f"{str(path)!r} is no run of gnc train: it has no {CONFIG}")
    config = read_json(str(folder / CONFIG), f"that of a run; start anew with {spelled('force')}")
    if not isinstance(config, dict):
        raise DataError(f"{str(folder / CONFIG)!r} holds no JSON object")
    return config


@dataclass(frozen=True)
class StoredRun:
    """What config.json says of a run to go on with."""

    path: str
    settings: Settings
    plan: HeadPlan | None
    """Without its code; None of a series."""
    class_names: list[str]

    def plan_for(self, data: ImageData) -> HeadPlan:
        """The head's plan, the code from the checkpoint, for data with the same classes."""
        last = os.path.join(self.path, "last.pt")
        if portable(data.class_names) != self.class_names:  # of which one may be a slash
            raise DataError(
                f"{self.path!r} was trained on other classes than {data.name} has; name the same "
                "data"
            )
        plan, weight = self.plan, read_checkpoint(last).training.model.get("head.weight")
        if plan is None or weight is None or tuple(weight.shape) != (plan.K, plan.d):
            raise DataError(f"{self.path!r} does not say what its classifier was; start anew")
        code = None if plan.permutation is None else weight.double().numpy()
        return replace(plan, code=code)


def read_stored_run(path: str) -> StoredRun:
    """The run in a folder."""
    config = read_config(path)
    try:
        settings = read_plain(dict[str, Any], config.get("settings"), "settings")
        plan = read_plain(dict[str, Any] | None, config.get("plan"), "plan")
        return StoredRun(
            path,
            Settings.from_json(settings),
            plan and read_plain(HeadPlan, {**plan, "code": None}, "plan"),
            read_plain(list[str], config.get("class_names", []), "class_names"),
        )
    except ValueError as error:
        raise DataError(
            f"{path!r} has a config.json that is not of this version of gnc train: {error}; start "
            "anew"
        ) from error


def add_snapshot(
    folder: Path, arrays: dict[str, Any], *, epoch: int, step: int, split: str
) -> None:
    """Write a snapshot to a run folder, the arrays in the dtype they have."""
    import h5py

    make_folder(folder / SNAPSHOTS)
    path = folder / SNAPSHOTS / f"epoch-{epoch:04d}-{split}.h5"
    with (
        atomic_file(path, force=True, follow=False) as file,
        deferring_errors(file) as sink,
        h5py.File(sink, "w") as h5,
    ):
        provenance = {"command": "gnc train", "options": read_config(folder)}
        write_attributes(h5.attrs, "features", provenance)
        h5.attrs.update({"epoch": epoch, "step": step, "split": split})
        for key, array in arrays.items():
            h5.create_dataset(key, data=array, track_times=False)


def _ledger(path: Path | None, *, resume: bool = False) -> Ledger[EpochRow]:
    """metrics.jsonl: that of an earlier run is read to be resumed, else replaced."""
    return Ledger(
        path, partial(read_plain, EpochRow), "epoch", None, resume=resume, force=not resume
    )


def own_files(folder: Path) -> list[Path]:
    """What bears a name that a run writes, links that lead nowhere included."""
    snapshots = folder / SNAPSHOTS
    named = [folder / name for name in RUN_FILES]
    if os.path.islink(snapshots) or not os.path.isdir(snapshots):
        named.append(snapshots)
    else:
        named += map(Path, snapshot_files(str(snapshots)))
    return [*filter(os.path.lexists, named)]


def _dated_folder(label: str) -> Path:
    """A new folder `runs/2026-11-21-1530-LABEL`, by UTC, with a number where that is taken."""
    stamp = creation_time()  # 2026-11-21T15:30:00Z
    name = f"{stamp[:10]}-{stamp[11:13]}{stamp[14:16]}-" + re.sub(r"[^A-Za-z0-9.]+", "-", label)
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    folders = (Path("runs", unique) for unique in itertools.chain([name], numbered))
    folder = next(folder for folder in folders if not folder.exists())
    make_folder(folder)
    return folder


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the state of a checkpoint, tensors on the CPU; no code of the file runs."""
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
        "format": _FORMAT,
        "training": training.state(),
        "totals": None if totals is None else asdict(totals),
        "data": asdict(DataStamp.of(training.batches)),
    }


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """A checkpoint of `gnc train`, every part of its type."""
    name, state = os.fspath(path), read_state(path)
    version = state.get("format")
    if isinstance(version, int) and version != _FORMAT:
        raise DataError(
            f"{name!r} has format {version}, and this version of gnc reads {_FORMAT}; go on with "
            "the version that wrote it"
        )
    try:
        checkpoint: Checkpoint = read_plain(Checkpoint, state)
    except ValueError as error:
        raise DataError(f"{name!r} is no checkpoint of gnc train: {error}") from error
    return checkpoint
