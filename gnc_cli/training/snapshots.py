"""snapshots.h5 of a run: features, labels and weights by epoch and split, for `gnc measure`.

Each snapshot is a group `/snapshots/epoch-0010-train` with attributes epoch, step and split. Adding
one writes the file anew beside the old one and renames it, so that a kill leaves the old file or
the new one. A file that has reached 1 GiB is left alone for that reason: the next snapshots go to
`snapshots-2.h5` and so on, which `gnc measure 'RUN/snapshots*.h5'` reads as one series.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.collapse.sources import natural_key
from gnc_cli.io.atomic import atomic_file, deferring_errors
from gnc_cli.io.catalogue import translated
from gnc_cli.io.hdf5 import write_attributes

_FULL = 1 << 30
"""Bytes from which on a file is not added to."""
_GROUP = "snapshots"


def add_snapshot(
    folder: Path,
    arrays: Mapping[str, np.ndarray],
    *,
    epoch: int,
    step: int,
    split: str,
    provenance: dict[str, Any],
) -> None:
    """Write a snapshot to a run folder; one of the same epoch and split is replaced.

    `arrays`, by their name in the file, are stored in the dtype they have.

    Raises:
        DataError: the file that is there is damaged.
        OutputError: the disk is full, say; the file is as it was.
    """
    name = f"epoch-{epoch:04d}-{split}"
    for path in snapshot_files(folder):
        if name in _epochs(path):
            _rewrite(path, lambda other, _: other != name, provenance)
    files = snapshot_files(folder)
    if not files:
        path = folder / "snapshots.h5"
    elif files[-1].stat().st_size < _FULL:
        path = files[-1]
    else:
        used = [1, *(int(p.stem.rpartition("-")[2]) for p in files if p.stem != "snapshots")]
        path = folder / f"snapshots-{max(used) + 1}.h5"

    def write(h5: Any) -> None:
        group = h5.create_group(f"{_GROUP}/{name}")
        for key, value in (("epoch", epoch), ("step", step), ("split", split)):
            group.attrs[key] = value
        for key, array in arrays.items():
            group.create_dataset(key, data=np.asarray(array), track_times=False)

    _rewrite(path, lambda *_: True, provenance, write)


def drop_snapshots(folder: Path, after: int, provenance: dict[str, Any]) -> None:
    """Remove the snapshots of epochs above `after`, and files that have none left.

    Raises:
        DataError: a file is damaged.
        OutputError: a file cannot be written.
    """
    for path in snapshot_files(folder):
        if any(epoch > after for epoch in _epochs(path).values()):
            _rewrite(path, lambda _, epoch: epoch <= after, provenance)


def snapshot_files(folder: Path) -> list[Path]:
    """The files of a run that hold snapshots, in the order they were made."""
    numbered = sorted(folder.glob("snapshots-[0-9]*.h5"), key=lambda p: natural_key(p.name))
    return [path for path in (folder / "snapshots.h5", *numbered) if path.exists()]


def _epochs(path: Path) -> dict[str, int]:
    """The epoch of each snapshot by name."""
    import h5py

    with translated(str(path), "snapshots of a run"), h5py.File(path, "r") as h5:
        return {name: int(group.attrs["epoch"]) for name, group in h5.get(_GROUP, {}).items()}


def _rewrite(
    path: Path,
    wanted: Callable[[str, int], bool],
    provenance: dict[str, Any],
    write: Callable[[Any], None] | None = None,
) -> None:
    """The file anew: the snapshots that are wanted by name and epoch, then what `write` adds.

    Deleting a group would leave its bytes in the file; copying the others does not.
    """
    import h5py

    kept = [n for n, epoch in _epochs(path).items() if wanted(n, epoch)] if path.exists() else []
    if not kept and write is None:
        path.unlink()
        return
    with (
        atomic_file(path, force=True, follow=False) as file,
        deferring_errors(file) as sink,
        h5py.File(sink, "w") as h5,
    ):
        write_attributes(h5, "features", provenance)
        target = h5.create_group(_GROUP)
        if kept:
            with translated(str(path), "snapshots of a run"), h5py.File(path, "r") as old:
                for name in kept:
                    old.copy(f"{_GROUP}/{name}", target, name)
        if write is not None:
            write(h5)
