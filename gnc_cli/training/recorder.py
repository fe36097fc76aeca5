"""The run folder as all processes of a run see it: the first writes, all raise its errors."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gnc_cli import __version__
from gnc_cli.errors import DataError
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.checkpoints import link_file, read_checkpoint, write_checkpoint
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.measure import Measured
from gnc_cli.training.run_folder import RunFolder, portable, read_config
from gnc_cli.training.settings import Settings
from gnc_cli.training.snapshots import add_snapshot, drop_snapshots
from gnc_cli.training.together import of_first

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Recorder:
    """Writes a run; every process makes the same calls. A context that lets go of the folder.

    Args:
        processes: who takes part.
        folder: in the first process; None in the others, and for runs that leave nothing behind.
        path: its path, in all of them; empty for runs that leave nothing behind.

    Every method but `log` and `warn` raises OutputError, in all processes alike, where the first
    cannot write (the disk is full, say).
    """

    def __init__(
        self, processes: Processes, folder: RunFolder | None = None, path: str = ""
    ) -> None:
        self.path = path
        self._folder, self.processes = folder, processes
        self._warned: set[str] = set()

    @classmethod
    def claim(
        cls, path: str | None, settings: Settings, processes: Processes, *, force: bool,
        goes_on: bool, series: bool = False,
    ) -> "Recorder":  # fmt: skip
        """The recorder of a run folder, which the first process creates or opens, and holds.

        Args:
            path: as the user named it; None for a dated one.
            force: replace a run that is there.
            goes_on: it is there, and shall go on.
            series: it holds a series of runs, and has no checkpoint of its own.
        """
        found: list[RunFolder] = []
        label = f"{settings.data.partition(':')[0]}-{settings.model.rpartition(':')[2]}"

        def claim() -> str:
            if not goes_on:
                found.append(RunFolder.create(path, label=label, force=force))
            else:
                assert path is not None
                found.append(RunFolder(Path(path)) if series else RunFolder.open(path))
            return str(found[0].path)

        where = of_first(processes, claim)
        return cls(processes, found[0] if found else None, where)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder is not None:
            self._folder.close()

    def config(self, settings: Settings, **more: Any) -> None:
        """config.json, with `more` beside version and settings."""
        config = {"gnc_version": __version__, "settings": settings.to_json(), **more}
        self._in_first(lambda folder: folder.write_config(config))

    def back_to(self, epoch: int) -> list[dict[str, Any]]:
        """Drop what came after an epoch; the lines of metrics.jsonl that are left."""

        def drop(folder: RunFolder) -> list[dict[str, Any]]:
            folder.epochs.truncate(epoch)
            drop_snapshots(folder.path, epoch, folder.provenance)
            return folder.epochs.read()

        return self._in_first(drop) or []

    def checkpoint(self, state: dict[str, Any]) -> None:
        """last.pt."""
        self._in_first(lambda folder: write_checkpoint(folder.path / "last.pt", state))

    def best(self) -> None:
        """best.pt is what last.pt is now, without a second copy where the disk has links.

        Writing last.pt anew replaces it and leaves best.pt as it is.
        """
        self._in_first(lambda f: link_file(f.path / "last.pt", f.path / "best.pt"))

    def epoch(self, row: dict[str, Any], words: str) -> None:
        """A line of metrics.jsonl, and one of log.txt."""
        self._in_first(lambda folder: folder.epochs.add(row))
        self.log(words)

    def snapshot(self, epoch: int, step: int, measured: Measured) -> None:
        """The features that were measured, each split of them that was kept."""
        weights = measured.weights
        assert weights is not None, "it was measured with keep=True"

        def write(folder: RunFolder) -> None:
            for split, (features, labels) in measured.features.items():
                add_snapshot(
                    folder.path, {"features": features, "labels": labels, "weights": weights},
                    epoch=epoch, step=step, split=split, provenance=folder.provenance,
                )  # fmt: skip

        for split in measured.too_large:
            self.warn(
                f"no snapshot of the {split} features, which are larger than 2 GiB; for one take "
                "a smaller --feature-dim or fewer images"
            )
        self._in_first(write)

    def log(self, line: str) -> None:
        """A line of log.txt, and of the log on stderr where that is wanted."""
        if self._folder is not None:
            self._folder.log(line)
            _log.info("%s", line)

    def warn(self, line: str) -> None:
        """The same, and a warning, but each line once."""
        if line not in self._warned:
            self._warned.add(line)
            self.log(line)
            if self.processes.first:
                _log.warning("%s", line)

    def _in_first(self, work: Callable[[RunFolder], _T]) -> _T | None:
        """What `work` gives, in all processes; its failure, in all of them too."""
        if not self.path:
            return None

        def with_folder() -> _T:
            assert self._folder is not None, "the first process holds the folder"
            return work(self._folder)

        return of_first(self.processes, with_folder)


class Stored:
    """A run to go on with.

    Args:
        path: its folder.

    Raises:
        DataError: no run, or one of another version.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        config = read_config(path)
        try:
            self.settings = Settings.from_json(config["settings"])
            self._plan: dict[str, Any] = config.get("plan", {})
            self._names: list[str] = config.get("class_names", [])
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path!r} has a config.json that is not of gnc train ({error!r}); start anew"
            ) from error

    @classmethod
    def in_folder(cls, path: str) -> "Stored | None":
        """The run in a folder, if one has come to its first checkpoint there."""
        return cls(path) if os.path.exists(os.path.join(path, "last.pt")) else None

    def plan(self, data: ImageData) -> HeadPlan:
        """The head's plan, the code from the checkpoint.

        Raises:
            DataError: the data has other classes now, or the checkpoint is damaged.
        """
        if portable(data.class_names) != self._names:  # of which one may be a slash
            raise DataError(
                f"{self.path!r} was trained on {len(self._names)} classes, and {data.name} has "
                f"{len(data.class_names)} others now; name the same data"
            )
        last = os.path.join(self.path, "last.pt")
        try:
            return HeadPlan.from_json(
                self._plan,
                lambda: read_checkpoint(last)["training"]["model"]["head.weight"].double().numpy(),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{self.path!r} does not say what its classifier was ({error!r}); start anew"
            ) from error
