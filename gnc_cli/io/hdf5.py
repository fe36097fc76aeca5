"""The HDF5 layout of a code file: `/weights`, `/features`, `/labels`, `/bias`, `/state`.

Writing is reproducible: no timestamps, a fixed order, so equal input gives equal bytes.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

import gnc_cli
from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry, check_entry, translated
from gnc_cli.io.codefile import CodeFile, creation_time, provenance_text
from gnc_cli.io.hdf5_rows import dataset_entry, refused
from gnc_cli.io.sink import deferring_errors

__all__ = ["FORMAT", "SIGNATURE", "open_hdf5", "read_state", "write_attributes", "write_hdf5"]

FORMAT = 1
"""Version of the layout, attribute `gnc_format`."""
SIGNATURE = b"\x89HDF\r\n\x1a\n"
GROUP = "is a group, not a dataset"
"""What is wrong with an entry that is a group."""
_SCALARS = "scalars"
_MOST_OBJECTS = 10_000


def write_hdf5(file: IO[bytes], code: CodeFile) -> None:
    """Write `code` to an open binary file that can be read and positioned.

    Raises:
        OSError: the disk is full, or another fault of `file`.
        TypeError: `code.state` holds something that is no array, JSON scalar, list or dictionary.
    """
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        write_attributes(h5, code.attrs, code.provenance)
        _write_arrays(h5, code)
        if code.state is not None:
            _write_state(h5.create_group("state"), code.state)


@contextlib.contextmanager
def open_hdf5(file: IO[bytes], path: str) -> Iterator[tuple[Catalogue, Any]]:
    """The catalogue of an HDF5 file of any origin, with the open h5py.File, both for the block.

    Links that leave the file, external storage and virtual datasets are listed but refused: a code
    file must not make its reader open other files.

    Raises:
        DataError: not HDF5, truncated, or of a newer layout.
    """
    import h5py

    with translated(path, "HDF5"):
        h5 = h5py.File(file, "r")
    try:
        with translated(path, "HDF5"):
            attrs = _attributes(h5)
            entries = _entries(h5, file)
            snapshots = {name: _attributes(h5["snapshots"][name]) for name in _snapshots(h5)}
        version = attrs.get("gnc_format", FORMAT)
        if not isinstance(version, int) or version > FORMAT:
            raise DataError(f"{path!r} has gnc_format {version!r}, not up to {FORMAT}; upgrade gnc")
        yield Catalogue(path, entries, attrs, snapshots), h5
    finally:
        # A damaged file may fail again on closing; what was wrong has been said by then.
        with contextlib.suppress(Exception):
            h5.close()


def read_state(catalogue: Catalogue, h5: Any) -> dict[str, Any] | None:
    """The nested dictionary that `write_hdf5` stored under `/state`; None where there is none.

    Raises:
        DataError: the group holds links or values that are not ours.
    """
    if "state" not in catalogue.entries:
        return None
    with translated(catalogue.path, "solver state"):
        return _read_group(catalogue, h5, "state")


def _read_group(catalogue: Catalogue, parent: Any, name: str) -> dict[str, Any]:
    import h5py

    if not isinstance(parent.get(name, getlink=True), h5py.HardLink):
        raise DataError(f"{catalogue.path!r}: {parent.name}/{name} is a link and is refused")
    child = parent[name]
    state = json.loads(child.attrs[_SCALARS])
    for key in child:
        path = f"{child.name}/{key}".strip("/")
        if child.get(key, getclass=True, getlink=True) is h5py.HardLink and isinstance(
            child[key], h5py.Group
        ):
            state[key] = _read_group(catalogue, child, key)
        else:
            entry = catalogue.entries[path]
            check_entry(entry, f"{catalogue.path!r}: dataset {path!r}")
            state[key] = np.asarray(entry.load())
    return state


def write_attributes(h5: Any, attrs: dict[str, Any], provenance: dict[str, Any]) -> None:
    """The attributes that every file of gnc carries, and further ones."""
    ours = {
        "gnc_format": FORMAT,
        "kind": "code",
        "created": creation_time(),
        "gnc_version": gnc_cli.__version__,
        "provenance": provenance_text(provenance),
    }
    for name, value in (dict(sorted(attrs.items())) | ours).items():
        h5.attrs[name] = value


def _write_arrays(h5: Any, code: CodeFile) -> None:
    labels = code.labels
    if labels is None and code.features is not None and len(code.features) == len(code.weights):
        labels = np.arange(len(code.weights))  # a solved code: one feature a class
    arrays = {
        "weights": (code.weights, np.float64),
        "features": (code.features, np.float64),
        "labels": (labels, np.int64),
        "bias": (code.bias, np.float64),
    }
    for name, (array, dtype) in arrays.items():
        if array is not None:
            data = np.asarray(array, dtype=dtype)
            h5.create_dataset(name, data=data, track_times=False)


def _write_state(group: Any, state: dict[str, Any]) -> None:
    scalars = {}
    for name, value in sorted(state.items()):
        if not isinstance(name, str) or not name or "/" in name or name == ".":
            raise TypeError(f"state key {name!r} is no plain name")
        if isinstance(value, dict):
            _write_state(group.create_group(name), value)
        elif isinstance(value, np.ndarray):
            if value.dtype.kind not in "biufc":
                raise TypeError(f"state {name!r} has dtype {value.dtype}; expected numbers")
            group.create_dataset(name, data=value, track_times=False)
        else:
            scalars[name] = value.item() if isinstance(value, np.generic) else value
    # As JSON: it keeps None, booleans and the 128-bit integers of a random generator's state.
    group.attrs[_SCALARS] = json.dumps(scalars, sort_keys=True)


def _entries(h5: Any, file: IO[bytes]) -> dict[str, Entry]:
    links: dict[str, str] = {}
    size = file.seek(0, os.SEEK_END)
    lock = threading.Lock()

    def entry(dataset: Any) -> Entry:
        return dataset_entry(dataset, file, size, lock)

    entries = dict(_walk(h5, "", set(), links, entry))
    for name, target in links.items():
        missing = refused(f"is a link to {target!r}, which is no dataset of this file")
        entries[name] = entries.get(target, missing)
    return entries


def _snapshots(h5: Any) -> list[str]:
    """The groups right under `/snapshots`; links to groups are other names of these."""
    import h5py

    def is_group(parent: Any, name: str) -> bool:
        hard = name in parent and isinstance(parent.get(name, getlink=True), h5py.HardLink)
        return hard and parent.get(name, getclass=True) is h5py.Group

    if not is_group(h5, "snapshots"):
        return []
    return [name for name in h5["snapshots"] if is_group(h5["snapshots"], name)]


def _walk(
    group: Any,
    prefix: str,
    seen: set[int],
    links: dict[str, str],
    entry: Callable[[Any], Entry],
) -> Iterator[tuple[str, Entry]]:
    """Each object under `group` by path; soft links go into `links`, by path, with their target."""
    import h5py

    address = h5py.h5o.get_info(group.id).addr
    if address in seen:
        return  # a group that contains itself
    seen.add(address)
    for name in group:
        if len(seen) > _MOST_OBJECTS:
            return
        path = prefix + name
        link = group.get(name, getlink=True)
        kind = group.get(name, getclass=True) if isinstance(link, h5py.HardLink) else None
        if isinstance(link, h5py.ExternalLink):
            yield path, refused(f"is a link to another file, {link.filename!r}, and is refused")
        elif isinstance(link, h5py.SoftLink):
            links[path] = ("" if link.path.startswith("/") else prefix) + link.path.strip("/")
        elif kind is h5py.Group:
            yield path, refused(GROUP)
            yield from _walk(group[name], path + "/", seen, links, entry)
        elif kind is h5py.Dataset:
            yield path, entry(group[name])
        else:
            yield path, refused("is a named type, not a dataset")


def _attributes(group: Any) -> dict[str, Any]:
    """The attributes of a group that are text or numbers, as Python has them; others are left."""
    attrs = {}
    for name in group.attrs:
        with contextlib.suppress(TypeError):  # a type of HDF5 that NumPy lacks
            value = group.attrs[name]
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            attrs[name] = value.item() if isinstance(value, np.generic) else value
    return attrs
