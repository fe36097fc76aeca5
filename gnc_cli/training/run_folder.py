"""The folder of a training run, readable at any moment, also after a kill.

| file | what it holds |
|---|---|
| config.json | what was asked for |
| metrics.jsonl | one line per epoch |
| snapshots.h5 | features, labels and weights by epoch, for `gnc measure` |
| last.pt, best.pt | checkpoints: tensors and plain data |
| log.txt | what happened when, UTC |

No file holds an absolute path or the name of a machine: paths are cut down to their last part.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import weakref
from pathlib import Path
from typing import Any

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.provenance import creation_time, provenance_text
from gnc_cli.records import plain

CONFIG, METRICS, LOG = "config.json", "metrics.jsonl", "log.txt"
RUN_FILES = (CONFIG, METRICS, "snapshots.h5", "last.pt", "best.pt", LOG)

# Of `folder:/home/ada/tiny`, but not of a URL.
_SCHEME = re.compile(r"(?<!\S)([A-Za-z]\w*:)/(?!/)(?:[^\s/]+/)*(?=[^\s/])")


class RunFolder:
    """A run on disk, held by one process at a time; a context that lets go of it.

    Made by `create` or `open`, of several processes by the first alone.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        if force and (path / LOG).is_symlink():
            (path / LOG).unlink()
        self._log = _locked(path / LOG)
        self.close = weakref.finalize(self, os.close, self._log)
        """Lets go of the run; closing twice does no harm."""
        if force:
            os.ftruncate(self._log, 0)
            for old in _own_files(path):
                if old.name != LOG and (old.is_symlink() or not old.is_dir()):
                    old.unlink()
        self.epochs = EpochLines(path / METRICS)

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
            return cls(_dated_folder(label))
        cls.check_free(path, force=force)
        _make(Path(path))
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

    @property
    def provenance(self) -> dict[str, Any]:
        """How the run was made, for its snapshots."""
        config = read_config(self.path) if (self.path / CONFIG).exists() else {}
        return {"command": "gnc train", "options": config}

    def log(self, line: str) -> None:
        """Add a line to log.txt, behind the time in UTC."""
        text = " ".join(str(portable(line)).split())
        with contextlib.suppress(OSError):  # other writers report a full disk
            os.write(self._log, f"{creation_time()} {text}\n".encode())

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class EpochLines:
    """metrics.jsonl: one row per epoch, on disk before the next epoch begins.

    Rows have a whole number `epoch`, which increases from line to line. A kill can cut the last
    line short; opening drops it.

    Args:
        path: the file; made where missing, mended where its last line is torn.

    Raises:
        DataError: a line is no row of an epoch; named by its number.
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends: list[tuple[int, int]] = []
        """Epoch of each line, and the byte after it."""
        try:
            data = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise self._refusal(error) from error
        at = 0
        for number, line in enumerate(data.splitlines(keepends=True), start=1):
            epoch = _epoch_of(line)
            if epoch is None and at + len(line) < len(data):
                raise DataError(
                    f"{str(path)!r}, line {number}, is no epoch of a run; remove that line, or "
                    "start anew with --force"
                )
            if epoch is None or not line.endswith(b"\n"):
                break
            at += len(line)
            self._ends.append((epoch, at))
        self._cut(at)

    def add(self, row: dict[str, Any]) -> None:
        """Write a row, on disk when this returns; rows of its epoch and later ones go first.

        Numbers that are not finite become null.

        Raises:
            OutputError: the disk is full, say; the earlier epochs are kept.
        """
        self.truncate(row["epoch"] - 1)
        line = (json.dumps(plain(row), allow_nan=False) + "\n").encode()
        end = self._end()
        try:
            with open(self._path, "r+b", opener=_no_link) as file:
                file.seek(end)
                try:
                    file.write(line)
                    file.flush()
                except OSError:
                    os.ftruncate(file.fileno(), end)
                    raise
                os.fsync(file.fileno())
        except OSError as error:
            raise self._refusal(error) from error
        self._ends.append((row["epoch"], end + len(line)))

    def truncate(self, after: int) -> None:
        """Drop the rows of epochs above `after`.

        Raises:
            OutputError: the file cannot be written.
        """
        kept = [pair for pair in self._ends if pair[0] <= after]
        if len(kept) < len(self._ends):
            self._ends = kept
            self._cut(self._end())

    def read(self) -> list[dict[str, Any]]:
        """All rows, by epoch."""
        return [json.loads(line) for line in self._path.read_bytes()[: self._end()].splitlines()]

    def _end(self) -> int:
        return self._ends[-1][1] if self._ends else 0

    def _cut(self, size: int) -> None:
        try:
            with open(self._path, "ab", opener=_no_link) as file:
                if file.seek(0, os.SEEK_END) > size:
                    file.truncate(size)
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> OutputError:
        if isinstance(error, OutputError):
            return error
        return OutputError(
            f"cannot write {str(self._path)!r}: {error.strerror}; the epochs before are kept, free "
            "the disk and go on with --resume"
        )


def _epoch_of(line: bytes) -> int | None:
    """The epoch of a line; None where it is no row."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row["epoch"] if isinstance(row, dict) and type(row.get("epoch")) is int else None


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


def portable(value: Any) -> Any:
    """`value` as JSON has it, absolute paths cut down to their last part.

    >>> portable({"data": "folder:/home/ada/tiny", "out": "/tmp/run", "url": "https://a.b/c"})
    {'data': 'folder:tiny', 'out': 'run', 'url': 'https://a.b/c'}
    """
    if isinstance(value, dict):
        return {str(key): portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(item) for item in value]
    cut = json.loads(provenance_text({"": value}))[""]
    return _SCHEME.sub(r"\1", cut) if isinstance(cut, str) else cut


def _own_files(folder: Path) -> list[Path]:
    """What bears a name that a run writes, links that lead nowhere included."""
    numbered = sorted(folder.glob("snapshots-[0-9]*.h5"))
    named = [folder / name for name in RUN_FILES if os.path.lexists(folder / name)]
    return named + numbered


def _no_link(path: str | os.PathLike[str], flags: int) -> int:
    """An opener for files of a run, which may be somebody else's folder: no link is followed."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OutputError(
            f"{os.fspath(path)!r} is a symbolic link, and gnc train follows none in a run folder; "
            "put the file itself there, or name another folder"
        ) from error


def _locked(path: Path) -> int:
    """A file, open for adding lines and locked until it is closed."""
    try:
        descriptor = _no_link(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write {str(path)!r}: {error.strerror}; choose another place"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise OutputError(
            f"{str(path.parent)!r} is being written by another run; wait for it, or name a folder"
        ) from error
    except OSError:
        pass  # a file system without locks
    return descriptor


def _dated_folder(label: str) -> Path:
    """A new folder `runs/2026-11-21-1530-LABEL`, by UTC, with a number where that is taken."""
    stamp = creation_time()  # 2026-11-21T15:30:00Z
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    name = f"{stamp[:10]}-{stamp[11:13]}{stamp[14:16]}" + (f"-{label}" if label else "")
    number = 1
    while True:
        folder = Path("runs") / (name if number == 1 else f"{name}-{number}")
        try:
            _make(folder, new=True)
            return folder
        except FileExistsError:
            number += 1


def _make(folder: Path, *, new: bool = False) -> None:
    """Make a folder, and those above it; FileExistsError where it is there and must be new."""
    try:
        folder.mkdir(parents=True, exist_ok=not new)
    except OSError as error:
        if new and isinstance(error, FileExistsError) and folder.exists():
            raise
        raise OutputError(
            f"cannot make folder {str(folder)!r}: {error.strerror}; choose another place"
        ) from error
