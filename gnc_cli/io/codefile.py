"""Codes in files: reading from any format, writing as a whole or block by block.

The format is chosen by suffix (`formats`), the dataset by name.
"""

import dataclasses
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.array_files import write_npy, write_npz, write_safetensors
from gnc_cli.io.atomic import atomic_file, deferring_errors, write_stdout
from gnc_cli.io.catalogue import Catalogue, check_bits
from gnc_cli.io.code import CodeFile, parse_provenance, provenance_text
from gnc_cli.io.formats import reader_for
from gnc_cli.io.hdf5 import open_hdf5, write_attributes, write_hdf5
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.io.loading import load_bias, load_labels, load_matrix
from gnc_cli.parameters import check_suffix

STREAMED_SUFFIXES = (".h5", ".hdf5", ".npy")
"""Suffixes of the formats that are written block by block."""
_BLOCK_ENTRIES = 1 << 23
"""Number of entries of a block, 32 MB as float32."""
_CHUNK_BYTES = 1 << 20
"""Bytes of a chunk of HDF5, as float32; its cache is as large by default."""
_MAX_PLANE_DIFFERENCE = 1e-7
"""Largest difference of the plane equations of neighbouring triangles of one face.

Their entries are at most 1, and their rounding errors far smaller.
"""

Block = Callable[[int, int], np.ndarray]
"""Function that returns rows start to stop, shape (stop - start, d)."""


def read_points(path: str | os.PathLike[str]) -> CodeFile:
    """Read a code from any supported file; rows are as stored, not normalised.

    The weights are the dataset `weights`, else `W`, else the only matrix; `FILE:key` names another.
    Features are included if they have one row per class or gnc wrote the file; so is a bias.

    Args:
        path: a file, `FILE:key`, or `-` for HDF5 on stdin.

    Raises:
        DataError: the file is missing, damaged, of another format, or holds no usable code.
    """
    name, key = split_key(os.fspath(path))
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        return code_of(catalogue, key)


def code_of(catalogue: Catalogue, key: str | None = None) -> CodeFile:
    """Load the code from a catalogue and, unless `key` picks one dataset, its features and bias.

    Raises:
        DataError: see `read_points`.
    """
    name = catalogue.find_code(key)
    check_bits(catalogue, name)
    weights, storage = load_matrix(catalogue, name), catalogue.entries[name].dtype
    attrs = {k: v for k, v in catalogue.attrs.items() if k not in ("gnc_format", "kind")}
    provenance = parse_provenance(attrs.pop("provenance", None))
    features = labels = bias = None
    entries = {} if key is not None else catalogue.entries
    written_by_gnc = catalogue.attrs.get("kind") == "code"
    if "features" in entries and (written_by_gnc or entries["features"].shape == weights.shape):
        features = load_matrix(catalogue, "features")
        if "labels" in entries:
            labels = load_labels(catalogue, "labels", len(weights))
    if "bias" in entries:
        bias = load_bias(catalogue, "bias", len(weights))
    return CodeFile(weights, features, labels, bias, attrs, provenance, storage=storage)


def read_code(path: str | os.PathLike[str]) -> CodeFile:
    """Read a code file that gnc wrote (HDF5), with its solver state; `-` is stdin.

    Raises:
        DataError: the file is missing, truncated, or not a code file of gnc; `read_points` takes
            other files.
    """
    name = os.fspath(path)
    with open_input(name) as file, open_hdf5(file, name) as catalogue:
        if "gnc_format" not in catalogue.attrs or catalogue.attrs.get("kind") != "code":
            raise DataError(
                f"{name!r} is not a code file of gnc (attributes gnc_format, kind=code); "
                "solve writes one with --out FILE.h5"
            )
        state = catalogue.state
        is_numeric = state is not None and all(isinstance(value, int) for value in state.values())
        if "state" in catalogue.entries and not is_numeric:
            raise DataError(f"{name!r}: /state is damaged, or a link, and is refused: {state}")
        return dataclasses.replace(code_of(catalogue), state=state)


def write_code(path: str | os.PathLike[str], code: CodeFile, *, force: bool = False) -> None:
    """Write `code` in the format of the path's suffix; `-` is HDF5 on stdout.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    if os.fspath(path) == "-":
        with io.BytesIO() as stream:
            write_hdf5(stream, code)
            write_stdout(stream)
        return
    writer = _WRITERS[check_suffix(path, _WRITERS)]
    with atomic_file(path, force=force) as file:
        writer(file, code)


def write_pt(file: IO[bytes], code: CodeFile) -> None:
    """Write a dictionary of torch tensors, for `torch.load(path, weights_only=True)`."""
    import torch

    tensors = {name: torch.from_numpy(array.copy()) for name, array in code.arrays().items()}
    with deferring_errors(file) as sink:
        torch.save(tensors | {"provenance": provenance_text(code.provenance)}, sink)


def write_txt(file: IO[bytes], code: CodeFile) -> None:
    """Write the weights, one row per line, with 17 digits, which restore every float64 exactly."""
    np.savetxt(file, code.weights, fmt="%.17g")


def write_off(file: IO[bytes], code: CodeFile) -> None:
    """Write the weights as OFF: points and, in three dimensions, the faces of their hull."""
    file.writelines(off_lines(code.weights))


def off_lines(points: np.ndarray) -> Iterator[bytes]:
    """Yield the lines of an OFF file of points (K, d), with 17 digits."""
    K, d = points.shape
    faces = hull_faces(points) if d == 3 else []
    edges = sum(map(len, faces)) // 2
    yield b"OFF\n" if d == 3 else f"nOFF\n{d}\n".encode("ascii")
    yield f"{K} {len(faces)} {edges}\n".encode("ascii")
    for point in points:
        yield f"{' '.join(f'{x:.17g}' for x in point.tolist())}\n".encode("ascii")
    for face in faces:
        yield f"{len(face)} {' '.join(map(str, face))}\n".encode("ascii")


def hull_faces(points: np.ndarray) -> list[list[int]]:
    """Return the faces of the convex hull of the directions of points, as polygons.

    Each face lists rows, counterclockwise as seen from outside. There is none if all points lie in
    one plane.

    Args:
        points: nonzero rows, shape (K, 3).
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import ConvexHull, QhullError

    points = points / np.abs(points).max(axis=1, keepdims=True)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    try:
        hull = ConvexHull(points)
    except QhullError:
        return []
    count = len(hull.simplices)
    triangle, neighbour = np.repeat(np.arange(count), 3), hull.neighbors.ravel()
    difference = np.abs(hull.equations[triangle] - hull.equations[neighbour]).max(axis=1)
    coplanar = difference < _MAX_PLANE_DIFFERENCE
    pairs = (triangle[coplanar], neighbour[coplanar])
    links = coo_matrix((coplanar[coplanar], pairs), shape=(count, count))
    face_count, plane = connected_components(links)
    corners = np.stack([plane[triangle], hull.simplices.ravel()], axis=1)
    face, row = np.unique(corners, axis=0).T
    starts = np.searchsorted(face, np.arange(face_count))
    normals = hull.equations[np.unique(plane, return_index=True)[1], :3]
    centres = np.add.reduceat(points[row], starts) / np.bincount(face)[:, None]
    # Angles of the corners around the centre of their face, from its first corner on.
    spokes = points[row] - centres[face]
    x_axis = spokes[starts][face]
    y_axis = np.cross(normals[face], x_axis)
    angles = np.arctan2((spokes * y_axis).sum(axis=1), (spokes * x_axis).sum(axis=1))
    return [part.tolist() for part in np.split(row[np.lexsort([angles, face])], starts[1:])]


_WRITERS: dict[str, Callable[[IO[bytes], CodeFile], None]] = {
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".npz": write_npz,
    ".npy": write_npy,
    ".safetensors": write_safetensors,
    ".pt": write_pt,
    ".txt": write_txt,
    ".off": write_off,
}
"""Writers by suffix (`parameters.CODE_SUFFIXES`); only HDF5 holds everything of a code."""


def check_stream_target(path: str | os.PathLike[str]) -> None:
    """Refuse a suffix that `write_streamed` does not write; see `check_suffix`."""
    if os.fspath(path) != "-":
        reason = "a code of this size is written in chunks: "
        check_suffix(path, STREAMED_SUFFIXES, "--out", reason)


def write_streamed(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    block: Block,
    provenance: dict[str, Any],
    *,
    force: bool = False,
    entries: int = _BLOCK_ENTRIES,
) -> None:
    """Write rows (K, d) as `/weights` of a code file, never more than a block in memory.

    Args:
        path: `.h5`, `.npy`, or `-` for HDF5 on stdout.
        shape: (K, d).
        block: function that returns rows start to stop, shape (stop - start, d).
        provenance: as in `CodeFile`.
        force: True to replace an existing file.
        entries: number of entries of a block.

    Raises:
        UsageError: another suffix.
        OutputError: the file exists without `force`, or cannot be written.
    """
    check_stream_target(path)
    K, d = shape
    rows = max(1, min(K, _CHUNK_BYTES // (4 * d)))
    step = max(rows, entries // d // rows * rows)
    blocks = (block(start, min(start + step, K)).astype(np.float32) for start in range(0, K, step))
    if os.fspath(path) == "-":
        with tempfile.TemporaryFile() as file:
            _stream_hdf5(file, shape, rows, blocks, provenance)
            write_stdout(file)
        return
    with atomic_file(path, force=force) as target:
        if PurePath(path).suffix.lower() == ".npy":
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(target, header)
            for values in blocks:
                target.write(values.astype("<f4", copy=False).tobytes())
        else:
            _stream_hdf5(target, shape, rows, blocks, provenance)


def _stream_hdf5(
    file: IO[bytes],
    shape: tuple[int, int],
    rows: int,
    blocks: Iterable[np.ndarray],
    provenance: dict[str, Any],
) -> None:
    """Write blocks as `/weights` of HDF5, with `rows` rows per chunk."""
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        write_attributes(h5.attrs, "code", provenance)
        weights = h5.create_dataset(
            "weights",
            shape,
            np.float32,
            chunks=(rows, shape[1]),
            compression="gzip",
            compression_opts=1,
            shuffle=True,
            track_times=False,
        )
        start = 0
        for values in blocks:
            weights[start : start + len(values)] = values
            start += len(values)
            if sink.error is not None:
                break
