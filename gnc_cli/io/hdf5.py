"""HDF5: files of any origin as a catalogue with rows, and the layout of a code file.

A code file has `/weights`, `/features`, `/labels`, `/bias` and `/state`. Writing is reproducible:
no timestamps, a fixed order, so equal input gives equal bytes.

Contiguous datasets are read at their offset, from any thread at once. The others are read by h5py
under a lock, with a cache of chunks, so that nothing is decompressed twice.
"""

import contextlib
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import PurePath
from typing import IO, Any

import numpy as np

import gnc_cli
from gnc_cli.errors import DataError
from gnc_cli.io.array_files import MATLAB_NUMBERS, matlab_refusal, without_single_axis
from gnc_cli.io.atomic import deferring_errors
from gnc_cli.io.catalogue import (
    GROUP,
    MAX_ENTRIES,
    WORDS,
    Catalogue,
    Entry,
    translated,
)
from gnc_cli.io.code import CodeFile, creation_time, provenance_text
from gnc_cli.io.file_rows import BFLOAT16, FlatArray, native
from gnc_cli.io.inputs import excess, file_size, memory_limit
from gnc_cli.parameters import spelled
from gnc_cli.parsing import quote
from gnc_cli.runtime.deadline import fatal_signals

FORMAT = 1
"""Version of the layout, attribute `gnc_format`."""
_MAX_LISTING_SECONDS = 10.0
"""Largest processor time of listing a file, in seconds; 50,000 objects take as long."""
_MAX_PATH_LETTERS = 1000
"""Longest path of an object, in letters: the paths of many objects may begin with one long name."""
_MAX_ATTRIBUTE_NUMBERS = 16
"""Largest number of numbers in an attribute, which describes a row: `layer_widths`, say."""
_CACHED_BANDS = 2
"""Number of bands of chunks that stay decompressed: blocks may overlap two, in either order."""
_EPOCH_OR_STEP = re.compile(
    r"(?:(?P<epoch>epoch|ep|snapshot|checkpoint|ckpt)|(?P<step>step|iter|iteration))s?[-_=]?(\d{1,18})",
    re.IGNORECASE,
)
"""Name of a snapshot, with its number."""
_RERUN_ADVICE = "was the program that made it cut short? run it again"
"""Next step for a dataset that lacks numbers, as that of a killed job."""


def write_hdf5(file: IO[bytes], code: CodeFile) -> None:
    """Write `code` to an open binary file that can be read and positioned.

    Raises:
        OSError: the disk is full, or another fault of `file`.
    """
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        write_attributes(h5.attrs, "code", code.provenance, code.attrs)
        _write_arrays(h5, code)
        if code.state is not None:
            h5.create_group("state").attrs.update(code.state)


@contextlib.contextmanager
def open_hdf5(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the catalogue of an HDF5 file of any origin, for the block.

    Links that leave the file, external storage and virtual datasets are listed but refused: a code
    file must not make its reader open other files.

    Raises:
        DataError: not HDF5, truncated, or of a newer layout.
    """
    import h5py

    with fatal_signals(), translated(path, "HDF5"):
        h5 = h5py.File(file, "r")
    try:
        with fatal_signals(), translated(path, "HDF5"):
            catalogue = _list_file(h5, file, path)
        version = catalogue.attrs.get("gnc_format", FORMAT)
        if not isinstance(version, int) or version > FORMAT:
            raise DataError(f"{path!r} has gnc_format {version!r}, not up to {FORMAT}; upgrade gnc")
        yield catalogue
    finally:
        # A damaged file may fail again on closing, after its error has been reported.
        with contextlib.suppress(Exception):
            h5.close()


def _list_file(h5: Any, file: IO[bytes], path: str) -> Catalogue:
    """List the datasets of a file, its attributes and its snapshots."""
    size = file_size(file)
    count = _counter(path, size)
    attrs = _attributes(h5, size, count)
    entries, groups = _list_objects(h5, file, path, size, count)
    prefix = "snapshots/" if "snapshots" in groups else ""
    names = [group.removeprefix(prefix) for group in groups if group.startswith(prefix)]
    snapshots = {
        name: epoch_or_step(name) | _attributes(h5[prefix + name], size, count)
        for name in names
        if "/" not in name and (prefix or epoch_or_step(name))
    }
    if len(attrs) * len(snapshots) > 10 * MAX_ENTRIES:
        raise DataError(
            f"{path!r} has {len(attrs):,} attributes, and {len(snapshots):,} snapshots, which each "
            "have all of these; copy the snapshots into a file with fewer attributes"
        )
    state = _attributes(h5["state"], size, count) if "state" in groups else None

    def read_attributes(group: str) -> dict[str, Any]:
        with fatal_signals(), translated(path, "HDF5"):
            return _attributes(h5[group], size, count)

    return Catalogue(path, entries, attrs, snapshots, prefix, read_attributes, state)


def _counter(path: str, size: int) -> Callable[[int], None]:
    """Return a function to call for each object and attribute, with the bytes of an attribute.

    It raises DataError above the limits of their number, bytes and time.
    """
    objects, bytes_read, end = 0, 0, time.thread_time() + _MAX_LISTING_SECONDS

    def count(length: int = 0) -> None:
        nonlocal objects, bytes_read
        objects, bytes_read = objects + 1, bytes_read + length
        out_of_time = objects % 100 == 0 and time.thread_time() > end  # the clock itself takes time
        if out_of_time or objects > MAX_ENTRIES or bytes_read > size:
            raise DataError(
                f"{path!r} has too much to list: {objects:,} groups, datasets and attributes, "
                f"{bytes_read:,} bytes of these, so far; the limits are {MAX_ENTRIES:,}, the size "
                f"of the file, and {_MAX_LISTING_SECONDS:g} s; copy what you need into another file"
            )

    return count


def write_attributes(
    target: Any, kind: str, provenance: dict[str, Any], attrs: dict[str, Any] | None = None
) -> None:
    """Set the attributes that every file of gnc has, and further ones.

    Args:
        target: attributes of the file.
        kind: content of the file: `code`, `features`, `rows`.
        provenance: as in `CodeFile`.
        attrs: further attributes.
    """
    gnc_attributes = {
        "gnc_format": FORMAT,
        "kind": kind,
        "created": creation_time(),
        "gnc_version": gnc_cli.__version__,
        "provenance": provenance_text(provenance),
    }
    target.update(dict(sorted((attrs or {}).items())) | gnc_attributes)


def _write_arrays(h5: Any, code: CodeFile) -> None:
    labels = code.labels
    if labels is None and code.features is not None and len(code.features) == len(code.weights):
        labels = np.arange(len(code.weights))  # a numerical code: one feature per class
    arrays = {
        "weights": (code.weights, np.float64),
        "features": (code.features, np.float64),
        "labels": (labels, np.int64),
        "bias": (code.bias, np.float64),
    }
    for name, (array, dtype) in arrays.items():
        if array is not None:
            h5.create_dataset(name, data=np.asarray(array, dtype=dtype), track_times=False)


def _list_objects(
    h5: Any, file: IO[bytes], path: str, size: int, count: Callable[[int], None]
) -> tuple[dict[str, Entry], list[str]]:
    """List every object of a file by path, and the paths of its groups, without soft links to one.

    An object is opened once: further hard links to a dataset are other names of its entry. Those to
    a group, which may contain itself, lead to no further names.
    """
    import h5py

    file.seek(0)
    from_matlab = file.read(6) == b"MATLAB" or path.lower().endswith(".mat")
    list_dataset = partial(
        _dataset_entry, file=file, size=size, lock=threading.Lock(), from_matlab=from_matlab
    )
    group_entry, entries, links = Entry.refused(GROUP), dict[str, Entry](), dict[str, str]()
    by_address = {h5py.h5o.get_info(h5.id).addr: group_entry}

    def walk(group: Any, prefix: str) -> None:
        for name in group:  # bytes if it is not UTF-8
            count(0)
            stored = name if isinstance(name, bytes) else name.encode()
            place = prefix + stored.decode(errors="backslashreplace")
            link = group.id.links.get_info(stored)
            if len(place) > _MAX_PATH_LETTERS:
                entries[place[:_MAX_PATH_LETTERS]] = Entry.refused(
                    f"has a path of {len(place):,} letters, more than {_MAX_PATH_LETTERS:,}",
                    "rename it",
                )
            elif link.type == h5py.h5l.TYPE_EXTERNAL:
                target = quote(group.get(name, getlink=True).filename)
                entries[place] = Entry.refused(
                    f"is a link to another file, {target}, and is refused"
                )
            elif link.type == h5py.h5l.TYPE_SOFT:
                target = group.get(name, getlink=True).path
                links[place] = ("" if target.startswith("/") else prefix) + target.strip("/")
            elif link.u in by_address:
                entries[place] = by_address[link.u]
            elif isinstance(member := group[name], h5py.Group):
                entries[place] = by_address[link.u] = group_entry
                walk(member, place + "/")
            elif isinstance(member, h5py.Dataset):
                entries[place] = by_address[link.u] = list_dataset(member)
            else:
                entries[place] = Entry.refused("is a named type, not a dataset")

    walk(h5, "")
    groups = [name for name, entry in entries.items() if entry is group_entry]
    for name, target in links.items():
        problem = f"is a link to {quote(target)}, which is not a dataset of this file"
        entries[name] = entries.get(target, Entry.refused(problem))
    # MATLAB stores the contents of cells and structures in groups named `#refs#` and the like.
    return {n: entry for n, entry in entries.items() if not (from_matlab and n[0] == "#")}, groups


def epoch_or_step(name: str) -> dict[str, int]:
    """Return the epoch or the step in the name of a snapshot; nothing for other names.

    >>> epoch_or_step("epoch_010"), epoch_or_step("step-500"), epoch_or_step("layer_3")
    ({'epoch': 10}, {'step': 500}, {})
    """
    match = _EPOCH_OR_STEP.fullmatch(name)
    return {} if match is None else {"epoch" if match["epoch"] else "step": int(match[3])}


def _attributes(group: Any, size: int, count: Callable[[int], None]) -> dict[str, Any]:
    """Return the attributes of a group that are texts, or up to `_MAX_ATTRIBUTE_NUMBERS` numbers.

    They are of types of Python; others are left out. The length of the texts of an array is known
    only when they are read, and each may be as long as the file, so that an array of many texts in
    a large file is left out.
    """
    from h5py import h5t

    attrs = {}
    for name in group.attrs:
        with contextlib.suppress(TypeError):  # a type of HDF5 that NumPy lacks
            attribute = group.attrs.get_id(name)
            kind, items = attribute.get_type(), math.prod(attribute.shape or ())
            is_text, length = isinstance(kind, h5t.TypeStringID), items * kind.get_size()
            variable_length = is_text and kind.is_variable_str()
            max_bytes = (items - 1) * size if variable_length else length
            readable = is_text or (
                isinstance(kind, (h5t.TypeIntegerID, h5t.TypeFloatID, h5t.TypeEnumID))
                and items <= _MAX_ATTRIBUTE_NUMBERS
            )
            if not readable or max_bytes > memory_limit() // 8:
                count(0)
                continue
            value = group.attrs[name]
            texts = np.ravel(np.asarray(value, dtype=object)) if variable_length else ()
            count(length + sum(map(len, texts)))
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            attrs[name] = tuple(value) if isinstance(value, list) else value
    return attrs


def _dataset_entry(
    dataset: Any, file: IO[bytes], size: int, lock: threading.Lock, *, from_matlab: bool
) -> Entry:
    """List a dataset of h5py without reading it.

    Args:
        dataset: the open dataset.
        file: its file.
        size: size of the file, in bytes.
        lock: lock of the file.
        from_matlab: True if MATLAB wrote it, with the axes in reverse order.
    """
    import h5py

    if dataset.is_virtual or dataset.external:
        problem = "takes its data from other files and is refused"
        return Entry.refused(problem, _sources_advice(dataset))
    if (
        from_matlab
        and isinstance(kind := dataset.attrs.get("MATLAB_class"), bytes)
        and kind.decode() not in MATLAB_NUMBERS
    ):
        return matlab_refusal(kind.decode())
    if dataset.shape is None or (from_matlab and "MATLAB_empty" in dataset.attrs):
        return Entry.refused("is empty")
    try:
        dtype = dataset.dtype
    except TypeError:
        return Entry.refused("has a type of numbers that NumPy lacks")
    if missing := _missing_filter(dataset):
        return Entry.refused(
            f"is packed with {missing}, which is not installed",
            "pip install hdf5plugin, or pack it with gzip",
        )
    shape = tuple(int(n) for n in dataset.shape)[:: -1 if from_matlab else 1]
    if len(shape) == 1 and h5py.check_string_dtype(dtype) is not None:
        return Entry(
            shape,
            WORDS,
            False,
            lambda: _read_texts(dataset, size, lock),
            shape_warning=lambda: _shape_warning(dataset, 0, size),
        )
    bfloat16 = dtype == BFLOAT16
    real = dtype.kind in "iuf" or bfloat16
    # None of a dataset that is chunked, compact or was never written.
    offset: Any = dataset.id.get_offset() if real else None
    is_flat = offset is not None and dataset.id.get_type().equal(h5py.h5t.py_create(dtype))
    flat = FlatArray(file, offset, shape, dtype, fortran=from_matlab) if is_flat else None

    def load() -> np.ndarray:
        if flat is not None:
            return flat.load()
        with lock:
            array = native(np.asarray(dataset[()]))
        return array.T if from_matlab else array

    axis = -1 if from_matlab else 0
    note = "axes reversed, as MATLAB writes them" if from_matlab and len(shape) > 1 else None
    entry = Entry(
        shape,
        "bfloat16" if bfloat16 else str(dtype),
        real,
        load,
        read=(flat.read if flat else _rows_reader(dataset, lock, axis)) if shape else None,
        step=int(dataset.chunks[axis]) if shape and dataset.chunks else 1,
        shape_warning=lambda: _shape_warning(dataset, axis, size),
        note="2 opaque bytes per number, read as bfloat16" if bfloat16 else note,
    )
    return without_single_axis(entry) if from_matlab else entry


def _missing_filter(dataset: Any) -> str:
    """Name the first filter of a dataset that HDF5 and hdf5plugin lack; empty without one."""
    import h5py

    creation = dataset.id.get_create_plist()
    filters = [creation.get_filter(k) for k in range(creation.get_nfilters())]
    if not all(h5py.h5z.filter_avail(code) for code, *_ in filters):
        with contextlib.suppress(ImportError):
            import_module("hdf5plugin")
    missing = (
        f"filter {code} ({name.decode(errors='replace')})"
        for code, _, _, name in filters
        if not h5py.h5z.filter_avail(code)
    )
    return next(missing, "")


def _read_texts(dataset: Any, size: int, lock: threading.Lock) -> np.ndarray:
    """Read the words of a dataset, shape (N,), objects.

    Many may share one place in the file, and each may be as long as the file: some are read at a
    time, and the length of all is compared with its size.
    """
    fixed_length = dataset.dtype.kind == "S"
    step, total = len(dataset) if fixed_length else max(1, memory_limit() // 8 // size), 0
    words = np.empty(dataset.shape, dtype=object)
    for start in range(0, len(words), step):
        with lock, fatal_signals():
            texts = dataset[start : start + step].tolist()
        total += sum(map(len, texts))
        if problem := excess(total, size):
            raise ValueError(f"it {problem}")
        words[start : start + step] = [text.decode(errors="backslashreplace") for text in texts]
    return words


def _rows_reader(dataset: Any, lock: threading.Lock, axis: int) -> Callable[[int, int], np.ndarray]:
    """Return a function that reads rows start to stop along the first or last axis, by h5py.

    The last bands of chunks stay decompressed for the next rows.
    """
    cached_dataset = cache(partial(_with_cache, dataset, axis))

    def read(start: int, stop: int) -> np.ndarray:
        with lock:
            source = cached_dataset()
            return native(source[start:stop] if axis == 0 else source[..., start:stop].T)

    return read


def _sources_advice(dataset: Any) -> str:
    """Return the next step for a dataset that is composed of others."""
    sources = [*dataset.virtual_sources()] if dataset.is_virtual else []
    files = [source.file_name for source in sources if source.file_name != "."]
    if not files:
        return Entry.remedy
    name, key = os.path.commonprefix(files), sources[0].dset_name.strip("/")
    pattern = name if len({*files}) == 1 else f"{name}*{PurePath(files[0]).suffix}"
    return f"name its parts as shards: {spelled('features', f'{pattern}:{key}')}"


def _with_cache(dataset: Any, axis: int) -> Any:
    """Open a dataset again, with a cache for `_CACHED_BANDS` bands of its chunks along an axis."""
    import h5py

    if dataset.chunks is None:
        return dataset
    chunks = math.prod(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True))
    chunks //= -(-dataset.shape[axis] // dataset.chunks[axis])  # those of a band
    band_bytes = chunks * math.prod(dataset.chunks) * dataset.dtype.itemsize
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    # Chunks that share a slot push each other out; HDF5 has 521 slots by default.
    slots = min(20 * _CACHED_BANDS * chunks + 521, 1 << 20)
    access.set_chunk_cache(slots, _CACHED_BANDS * band_bytes, 1.0)
    return h5py.Dataset(h5py.h5d.open(dataset.file.id, dataset.name.encode(), access))


def _shape_warning(dataset: Any, axis: int, size: int) -> str | None:
    """Return why the declared shape cannot be right, by the bytes that are stored for it."""
    shape, itemsize = dataset.shape, dataset.id.get_type().get_size()  # NumPy's may be wider
    declared = math.prod(shape) * itemsize
    if declared == 0:
        return None
    claim = f"declares shape {shape}, {declared / 1e9:.3g} GB"
    stored = dataset.id.get_storage_size()
    if stored == 0:
        return f"declares shape {shape}, and not one number of it was ever written; {_RERUN_ADVICE}"
    if stored > size:
        return f"{claim}, and {stored} bytes stored in a file of {size}; is the file damaged?"
    if not dataset.chunks:
        return None if declared <= stored else f"{claim}, of which {stored} bytes are stored"
    expected = math.prod(-(-n // c) for n, c in zip(shape, dataset.chunks, strict=True))
    count = dataset.id.get_num_chunks()
    if count < expected:
        return (
            f"declares shape {shape}, of which {count} of {expected} chunks were ever written; "
            f"{_RERUN_ADVICE}"
        )
    chunk_bytes = math.prod(dataset.chunks) * itemsize
    if problem := excess(expected * chunk_bytes, stored):
        return f"{problem}; store it without compression"
    band_bytes = max(chunk_bytes, dataset.chunks[axis] * declared // shape[axis])
    if _CACHED_BANDS * band_bytes > memory_limit():
        return (
            f"has chunks {dataset.chunks}, {band_bytes / 1e9:.3g} GB for one row of them, which "
            "the memory cannot hold; store it in smaller chunks"
        )
    return None
