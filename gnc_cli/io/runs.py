"""The folder of a training run, readable at any moment, also after a kill.

| file | what it holds |
|---|---|
| config.json | what was asked for |
| metrics.jsonl | an epoch a line |
| snapshots.h5 | features, labels and weights by epoch, for `gnc measure` |
| last.pt, best.pt | checkpoints: tensors and plain data |
| log.txt | what happened when, UTC |

No file holds an absolute path or the name of a machine: paths are cut down to their last part.
"""

import contextlib
import json
import os
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.codefile import creation_time
from gnc_cli.io.run_checkpoints import (
    linked_file,
    read_checkpoint,
    read_tensors,
    write_checkpoint,
)
from gnc_cli.io.run_metrics import EpochLines
from gnc_cli.io.run_places import dated_folder, held, made, portable
from gnc_cli.io.run_snapshots import add_snapshot, drop_snapshots

__all__ = ["RUN_FILES", "RunFolder", "read_config", "read_tensors"]

CONFIG, METRICS, LOG = "config.json", "metrics.jsonl", "log.txt"
RUN_FILES = (CONFIG, METRICS, "snapshots.h5", "last.pt", "best.pt", LOG)


class RunFolder:
    """A run on disk, held by one process at a time; a context that lets go of it.

    Made by `create` or `open`, of several processes by the first alone: the others read
    checkpoints with `run_checkpoints.read_checkpoint`.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        if force and (path / LOG).is_symlink():
            (path / LOG).unlink()
        self._log = held(path / LOG)
        self._close = weakref.finalize(self, os.close, self._log)
        if force:
            os.ftruncate(self._log, 0)
            for old in _own_files(path):
                if old.name != LOG and (old.is_symlink() or not old.is_dir()):
                    old.unlink()
        self._epochs = EpochLines(path / METRICS)

    @classmethod
    def create(
        cls, path: str | os.PathLike[str] | None, *, label: str, force: bool = False
    ) -> "RunFolder":
        """A new run.

        Args:
            path: its folder, made where missing; None is `runs/2026-11-21-1530-LABEL`, by UTC, with
                a number where that is taken.
            label: what the run is of; ends the name.
            force: remove the files of a run that is there, and nothing else; links are removed
                themselves.

        Raises:
            OutputError: the folder holds a file of such a name, without `force`; is in use; cannot
                be written.
        """
        if path is None:
            return cls(dated_folder(label))
        cls.check_free(path, force=force)
        made(Path(path))
        return cls(Path(path), force=True)

    @staticmethod
    def check_free(path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Refuse what `create` would refuse, before hours are spent on what comes first.

        Any file of a name that a run writes is in the way, whoever made it.

        Raises:
            OutputError: no folder but a file, or such a file is there without `force`.
        """
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{str(path)!r} is no folder; name another for the run")
        series = sorted(folder.glob("assignment-[0-9]*"))
        found = [file for place in (folder, *series) for file in _own_files(place)]
        if found and not force:
            raise OutputError(
                f"{str(path)!r} holds {str(found[0].relative_to(folder))!r} already; go on with "
                "--resume, name another folder, or add --force to replace it"
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """A run to go on with; a torn last line of metrics.jsonl is dropped.

        Raises:
            DataError: no folder, no run, or stopped before its first checkpoint.
            OutputError: it is in use, or cannot be written.
        """
        folder = Path(path)
        read_config(folder)
        if not (folder / "last.pt").is_file():
            raise DataError(
                f"{str(path)!r} has no last.pt: the run ended before its first checkpoint; start "
                "it again with --force"
            )
        return cls(folder)

    def write_config(self, config: dict[str, Any]) -> None:
        """Write config.json; absolute paths are cut down to their last part."""
        text = json.dumps(portable(config), indent=2, allow_nan=False) + "\n"
        with atomic_file(self.path / CONFIG, force=True, follow=False) as file:
            file.write(text.encode())

    def read_config(self) -> dict[str, Any]:
        """What `write_config` wrote, as JSON has it.

        Raises:
            DataError: missing or damaged.
        """
        return read_config(self.path)

    def add_epoch(self, row: dict[str, Any]) -> None:
        """Write a line of metrics.jsonl, on disk when this returns.

        A line of the same epoch is replaced, later ones go; `truncate_epochs` alone drops them.
        """
        self._epochs.add(row)

    def read_epochs(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl, by epoch."""
        return self._epochs.read()

    def truncate_epochs(self, after: int) -> None:
        """Drop the lines of epochs above `after`, where a checkpoint of that epoch goes on."""
        self._epochs.truncate(after)

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Write last.pt.

        Raises:
            TypeError: `state` holds something else than tensors and plain data.
            OutputError: the disk is full, say; the earlier checkpoint is kept.
        """
        write_checkpoint(self.path / "last.pt", state)

    def mark_best(self) -> None:
        """Make best.pt what last.pt is now, without a second copy where the disk has links.

        Writing last.pt anew replaces it and leaves best.pt as it is.

        Raises:
            OutputError: the disk is full, say; the earlier best.pt is kept.
        """
        linked_file(self.path / "last.pt", self.path / "best.pt")

    def read_checkpoint(self, name: str = "last") -> dict[str, Any]:
        """The state of last.pt or best.pt, tensors on the CPU.

        Raises:
            DataError: missing, truncated, or not tensors and plain data.
        """
        return read_checkpoint(self.path / f"{name}.pt")

    def add_snapshot(
        self,
        epoch: int,
        step: int,
        *,
        features: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        split: str = "train",
    ) -> None:
        """Write a snapshot that `gnc measure` reads; one of the same epoch and split is replaced.

        Args:
            epoch, step: done by then.
            features: (N, d), as they are; stored in their dtype, like the others.
            labels: (N,), integers.
            weights: (K, d).
            split: `train` or `test`.
        """
        arrays = {"features": features, "labels": labels, "weights": weights}
        add_snapshot(self.path, arrays, epoch=epoch, step=step, split=split,
                     provenance=self._provenance())  # fmt: skip

    def drop_snapshots(self, after: int) -> None:
        """Remove the snapshots of epochs above `after`."""
        drop_snapshots(self.path, after, self._provenance())

    def log(self, line: str) -> None:
        """Add a line to log.txt, behind the time in UTC."""
        said = " ".join(str(portable(line)).split())
        with contextlib.suppress(OSError):  # a full disk has been, or will be, said elsewhere
            os.write(self._log, f"{creation_time()} {said}\n".encode())

    def close(self) -> None:
        """Let go of the run; closing twice does no harm."""
        self._close()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _provenance(self) -> dict[str, Any]:
        config = self.read_config() if (self.path / CONFIG).exists() else {}
        return {"command": "gnc train", "options": config}


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The config.json of a run folder, which another process may hold.

    Raises:
        DataError: no folder, no run, or damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"no run folder {str(path)!r}; check the name")
    if not (folder / CONFIG).is_file():
        raise DataError(f"{str(path)!r} is no run of gnc train: it has no {CONFIG}")
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"cannot read {str(folder / CONFIG)!r}: {reason}; start anew with --force"
        ) from error
    if not isinstance(config, dict):
        raise DataError(f"{str(folder / CONFIG)!r} holds no JSON object; start anew with --force")
    return config


def _own_files(folder: Path) -> list[Path]:
    """What bears a name that a run writes, links that lead nowhere included."""
    numbered = sorted(folder.glob("snapshots-[0-9]*.h5"))
    named = [folder / name for name in RUN_FILES if os.path.lexists(folder / name)]
    return named + numbered
