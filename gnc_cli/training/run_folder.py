"""The folder of a training run, readable at any moment, also after a kill.

| file | content |
|---|---|
| config.json | settings, data and head |
| metrics.jsonl | one line per epoch |
| snapshots/ | features, labels and weights, one file per epoch and split, for `gnc measure` |
| last.pt, best.pt | checkpoints: tensors and plain data |
| log.txt | events with their times, UTC |

No file has an absolute path or the name of a machine: paths are cut down to their last part.
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
"""Names of the files of a run, apart from its snapshots."""
_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_CHECKPOINT_FORMAT = 2
"""Version of the checkpoints' format."""


def _run_in_first(
    method: Callable[Concatenate["RunFolder", _P], _T],
) -> Callable[Concatenate["RunFolder", _P], _T | None]:
    """Call a method in the first process, and return its result or raise its error in all of them.

    A folder without a path calls nothing.
    """

    @wraps(method)
    def shared(self: "RunFolder", /, *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        work = partial(method, self, *args, **kwargs)
        return run_on_first(self.processes, work) if self.path else None

    return shared


class RunFolder(contextlib.AbstractContextManager["RunFolder"]):
    """A run on disk, and a context that releases it. Without a path nothing is written.

    Every process makes the same calls. The first writes, and a failure (such as a full disk) is an
    OutputError in all of them. `log` and `warn` raise nothing.
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
        """Make a folder in the first process, or open it to `resume` its run, and lock it.

        Args:
            processes: all processes of the run.
            path: the folder, by default `runs/2026-11-21-1530-LABEL`, by UTC.
            label: the end of the default name.
            force: remove the files of a run that is there, and nothing else.
            resume: continue the run that is there.

        Raises:
            OutputError: the folder has files of a run, is used by another process, or cannot be
                written.
        """
        folder = cls(processes)

        def open_folder() -> str:
            if path is not None and not resume:
                check_free(path, force=force)
                make_folder(Path(path))
            target = _dated_folder(label) if path is None else Path(path)
            folder._open(target, resume=resume)
            return str(target)

        folder.path = run_on_first(processes, open_folder)
        return folder

    def _open(self, folder: Path, *, resume: bool) -> None:
        """Lock the folder and open the files that grow; remove those of an earlier run if new.

        It may be somebody else's folder, so no link is followed. Files that are written as a whole
        replace a link.
        """
        for path in (folder / METRICS, folder / LOG, folder / SNAPSHOTS):
            if path.is_symlink() and not resume:
                path.unlink()
            elif path.is_symlink():
                raise OutputError(
                    f"{str(path)!r} is a symbolic link, and gnc train follows none in a run "
                    "folder; put its target there, or name another folder"
                )
        self._rows = _ledger(folder / METRICS, resume=resume)
        if not resume:
            self._rows.take_name()
            for file in run_files(folder):
                if file.name != METRICS and (file.is_symlink() or not file.is_dir()):
                    file.unlink()
            with contextlib.suppress(OSError):  # it is not there, or has other files
                (folder / SNAPSHOTS).rmdir()
        if (folder / LOG).exists() and not (folder / LOG).is_file():
            raise OutputError(f"cannot write {str(folder / LOG)!r}: it is not a file")
        unshare(folder / LOG)
        self._log = folder / LOG

    def __exit__(self, *exception: object) -> None:
        self._rows.close()
        self._log = None

    @_run_in_first
    def write_config(self, /, settings: Settings, **facts: Any) -> None:
        """Write config.json: version, settings, and `facts`."""
        config = {"gnc_version": __version__, "settings": vars(settings), **facts}
        text = json.dumps(portable(config), indent=2, allow_nan=False) + "\n"
        with atomic_file(Path(self.path, CONFIG), force=True, follow=False) as file:
            file.write(text.encode())

    @_run_in_first
    def rewind(self, epoch: int) -> list[EpochRow]:
        """Remove lines and snapshots after an epoch, and return the lines of metrics.jsonl.

        A snapshot of this epoch is removed too if it has no line: the run was killed after it.
        """
        rows = [row for row in self._rows.rows if row.epoch <= epoch]
        last_epoch = max(epoch - 1, rows[-1].epoch if rows else 0)
        for path, epoch_of_file in snapshot_files(os.path.join(self.path, SNAPSHOTS)).items():
            if epoch_of_file > last_epoch:
                os.unlink(path)
        self._rows.keep(len(rows))
        return rows

    @_run_in_first
    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Write last.pt."""
        with (
            atomic_file(Path(self.path, "last.pt"), force=True, follow=False) as file,
            deferring_errors(file) as sink,
        ):
            torch.save(state, sink)

    @_run_in_first
    def write_best(self) -> None:
        """Copy last.pt to best.pt."""
        with (
            open(Path(self.path, "last.pt"), "rb") as source,
            atomic_file(Path(self.path, "best.pt"), force=True, follow=False) as best,
        ):
            shutil.copyfileobj(source, best)

    @_run_in_first
    def add_epoch(self, row: EpochRow, words: str) -> None:
        """Append a line to metrics.jsonl, on disk when this returns, and one to log.txt."""
        self._rows.append(plain(row))
        self.log(words)

    @_run_in_first
    def write_snapshots(self, epoch: int, step: int, measurement: Measurement) -> None:
        """Write the features of a measurement, a file for each split that was kept."""
        if measurement.result is not None and "train" not in measurement.features:
            self.warn(
                "no snapshot of the training features, which are larger than 2 GiB; for one take a "
                f"smaller {spelled('feature_dim')} or fewer images"
            )
        for split, (features, labels) in measurement.features.items():
            arrays = {"features": features, "labels": labels, "weights": measurement.weights}
            add_snapshot(Path(self.path), arrays, epoch=epoch, step=step, split=split)

    def log(self, line: str) -> None:
        """Append a line to log.txt after the time in UTC, and to the log on stderr, if any."""
        if self._log is not None:
            text = visible(" ".join(str(portable(line)).split()))
            # Other writers report a full disk.
            with contextlib.suppress(OSError), open(self._log, "ab") as file:
                file.write(f"{creation_time()} {text}\n".encode())
            _log.info("%s", line)

    def warn(self, line: str) -> None:
        """Log a line and warn of it, each line once."""
        if line not in self._warned:
            self._warned.add(line)
            self.log(line)
            if self.processes.first:
                _log.warning("%s", line)


def check_free(path: str, *, force: bool = False) -> None:
    """Refuse a folder with a file of a name that a run writes, whoever made it."""
    folder = Path(path)
    folders = [folder, *sorted(folder.glob("assignment-[0-9]*"))] if os.path.isdir(folder) else []
    files = [file for run in folders for file in run_files(run)]
    if files and not force:
        raise OutputError(
            f"{path!r} holds {str(files[0].relative_to(folder))!r} already; continue with "
            f"{spelled('resume')}, name another folder, or add {spelled('force')} to replace it"
        )


def clear_series(parent: Path, *, force: bool) -> None:
    """Refuse links to runs; with `force` remove the runs of an earlier series, no other files."""
    for run in sorted(parent.glob("assignment-[0-9]*")):
        if run.is_symlink():
            raise OutputError(
                f"{str(run)!r} is a symbolic link, and gnc train follows none in a run folder; "
                "remove it, or name another folder"
            )
        for file in run_files(run) if force and (run / CONFIG).is_file() else ():
            file.unlink()


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the config.json of a run folder, which another process may use.

    Raises:
        DataError: the folder is not that of a run.
    """
    folder = Path(path)
    if not (folder / CONFIG).is_file():
        raise DataError(f"{str(path)!r} is not a run of gnc train: it has no {CONFIG}")
    config = read_json(str(folder / CONFIG), f"that of a run; start again with {spelled('force')}")
    if not isinstance(config, dict):
        raise DataError(f"{str(folder / CONFIG)!r} has no JSON object")
    return config


@dataclass(frozen=True)
class StoredRun:
    """A run to continue, as config.json describes it."""

    path: str
    """Run folder, as the user named it."""
    settings: Settings
    plan: HeadPlan | None
    """Plan of the head without its code; None for a series."""
    class_names: list[str]
    """Names of the classes, in the order of the labels."""

    def plan_for(self, data: ImageData) -> HeadPlan:
        """Return the head's plan, with its code from the checkpoint, for the same classes.

        Raises:
            DataError: the data have other classes, or the checkpoint has no such head.
        """
        source = os.path.join(self.path, "last.pt")
        if portable(data.class_names) != self.class_names:  # a class may be called "a/b"
            raise DataError(
                f"{self.path!r} was trained on other classes than {data.name} has; name the same "
                "data"
            )
        plan, weight = self.plan, read_checkpoint(source).training.model.get("head.weight")
        if plan is None or weight is None or tuple(weight.shape) != (plan.K, plan.d):
            raise DataError(f"{self.path!r} does not say which classifier it has; start again")
        code = None if plan.permutation is None else weight.double().numpy()
        return replace(plan, code=code)


def read_stored_run(path: str) -> StoredRun:
    """Read the run in a folder.

    Raises:
        DataError: the folder is not that of a run, or of another version.
    """
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
            "again"
        ) from error


def add_snapshot(
    folder: Path, arrays: dict[str, Any], *, epoch: int, step: int, split: str
) -> None:
    """Write a snapshot to a run folder: features (N, d), labels (N,) and weights (K, d)."""
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
    """Open metrics.jsonl: read that of an earlier run to resume it, else replace it."""
    return Ledger(
        path, partial(read_plain, EpochRow), "epoch", None, resume=resume, force=not resume
    )


def run_files(folder: Path) -> list[Path]:
    """Return the files with a name that a run writes, including broken links."""
    snapshots = folder / SNAPSHOTS
    paths = [folder / name for name in RUN_FILES]
    if os.path.islink(snapshots) or not os.path.isdir(snapshots):
        paths.append(snapshots)
    else:
        paths += map(Path, snapshot_files(str(snapshots)))
    return [*filter(os.path.lexists, paths)]


def _dated_folder(label: str) -> Path:
    """Make a new folder `runs/2026-11-21-1530-LABEL`, by UTC, with a number if that exists."""
    stamp = creation_time()  # 2026-11-21T15:30:00Z
    name = f"{stamp[:10]}-{stamp[11:13]}{stamp[14:16]}-" + re.sub(r"[^A-Za-z0-9.]+", "-", label)
    candidates = (f"{name}-{number}" for number in itertools.count(2))
    folders = (Path("runs", candidate) for candidate in itertools.chain([name], candidates))
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
    """The properties by which training sets are distinguished."""

    mean: tuple[float, ...]
    """Mean of each channel."""
    std: tuple[float, ...]
    """Standard deviation of each channel."""
    labels: str
    """SHA-256 of the labels."""

    @classmethod
    def from_batches(cls, batches: Batches) -> "DataStamp":
        """Return the stamp of the images in batches."""
        labels = batches.labels.numpy().astype("<i8").tobytes()
        normalisation = batches.normalisation
        return cls(normalisation.mean, normalisation.std, hashlib.sha256(labels).hexdigest())

    def check_same(self, data: "DataStamp", run: str, name: str) -> None:
        """Refuse other images, or the same in another order.

        Args:
            data: stamp of the present data.
            run: run folder from which this stamp is.
            name: name of the present data.

        Raises:
            DataError: the stamps differ.
        """
        expected, actual = self.mean + self.std, data.mean + data.std
        is_same = len(expected) == len(actual) and np.allclose(
            expected, actual, rtol=1e-6, atol=1e-9
        )
        if not is_same or self.labels != data.labels:
            raise DataError(
                f"{run!r} was trained on other images, or on these in another order, than those "
                f"of {name} now; name the same data"
            )


@dataclass(frozen=True)
class Checkpoint:
    """The content of last.pt and best.pt."""

    format: int
    """Version of the format."""
    training: TrainingState
    totals: EpochTotals | None
    """Totals of the epoch that has just ended and is not yet in metrics.jsonl, if any."""
    data: DataStamp
    """Stamp of the training images."""


def checkpoint_state(training: Training, totals: EpochTotals | None) -> dict[str, Any]:
    """Return a `Checkpoint` as tensors and plain data."""
    return {
        "format": _CHECKPOINT_FORMAT,
        "training": training.state(),
        "totals": None if totals is None else asdict(totals),
        "data": asdict(DataStamp.from_batches(training.batches)),
    }


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint of `gnc train`, and check the type of every part.

    Raises:
        DataError: the file is not such a checkpoint, or of another version.
    """
    name, state = os.fspath(path), read_state(path)
    version = state.get("format")
    if isinstance(version, int) and version != _CHECKPOINT_FORMAT:
        raise DataError(
            f"{name!r} has format {version}, and this version of gnc reads "
            f"{_CHECKPOINT_FORMAT}; continue with the version that wrote it"
        )
    try:
        checkpoint: Checkpoint = read_plain(Checkpoint, state)
    except ValueError as error:
        raise DataError(f"{name!r} is not a checkpoint of gnc train: {error}") from error
    return checkpoint
