"""A code as plain files for other programs: coordinates, Gram matrix, contact graph, distribution.

| file | what it holds |
|---|---|
| coordinates.txt | one point a line, blanks between; 16 decimals, or more if found |
| gram.npy | inner products, (K, K) float64, NumPy's format; up to 1 GiB |
| contacts.g6 | the contact graph in graph6; up to 30000 points |
| distribution.csv | `inner_product,pairs`: unordered pairs of points, from large to small |
| verified.txt | what is proved of the very decimals in coordinates.txt, with their SHA-256 |
"""

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from gnc_cli.errors import OutputError
from gnc_cli.io.atomic import atomic_file, check_writable
from gnc_cli.io.graph6 import to_graph6

__all__ = ["Exported", "check_export", "export_code"]

COORDINATES, GRAM, CONTACTS, DISTRIBUTION, VERIFIED = NAMES = (
    "coordinates.txt",
    "gram.npy",
    "contacts.g6",
    "distribution.csv",
    "verified.txt",
)
_GRAM_BYTES = 1 << 30
_GRAPH_VERTICES = 30_000
_BLOCK_BYTES = 32 << 20


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    files: tuple[str, ...]
    """Paths, in the order of the table above."""
    left_out: tuple[str, ...]
    """One line for each file that was not written: its name and the reason."""


def export_code(
    folder: str | os.PathLike[str],
    W: np.ndarray,
    contacts: np.ndarray | None,
    distribution: tuple[np.ndarray, np.ndarray] | None,
    *,
    coordinates: Sequence[Sequence[str]] | None = None,
    cosine: str | None = None,
    tight: bool = False,
    force: bool = False,
) -> Exported:
    """Write the files of the module's table into `folder`, which is made where missing.

    Each file is written atomically; all are checked before the first one is.

    Args:
        folder: where to.
        W: unit rows, shape (K, d).
        contacts: pairs of rows, shape (m, 2); None leaves the graph out.
        distribution: inner products and their pairs, each shape (m,); None where they are too many.
        coordinates: decimal texts to write in place of W, one sequence a row.
        cosine: a decimal that no cosine of the directions of `coordinates` exceeds, proved; None
            leaves verified.txt out.
        tight: it is the smallest of so many decimals.
        force: replace files that are there.

    Raises:
        OutputError: the folder cannot be made, or a file exists without `force` or cannot be
            written.
    """
    K = len(W)
    writers: dict[str, Callable[[IO[bytes]], None] | str] = {
        COORDINATES: lambda file: _coordinates(file, W, coordinates),
        GRAM: lambda file: _gram(file, W),
    }
    if 8 * K * K > _GRAM_BYTES:
        writers[GRAM] = f"{K} x {K} inner products exceed 1 GiB"
    if contacts is None:
        writers[CONTACTS] = "contacts were not computed"
    elif K > _GRAPH_VERTICES:
        writers[CONTACTS] = f"{K} points are more than {_GRAPH_VERTICES}"
    else:
        writers[CONTACTS] = lambda file: _write(file, to_graph6(K, contacts) + b"\n")
    if distribution is None:
        writers[DISTRIBUTION] = "there are too many different inner products"
    else:
        writers[DISTRIBUTION] = lambda file: _distribution(file, *distribution)
    if coordinates is None or cosine is None:
        writers[VERIFIED] = "no cosine was proved for these coordinates"
    else:
        proof = _verified(coordinates, cosine, tight)
        writers[VERIFIED] = lambda file: _write(file, proof)
    place = check_export(folder, force=force)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make folder {os.fspath(folder)!r}: {error.strerror}; choose another place"
        ) from error
    files, left_out = [], []
    for name in NAMES:
        writer = writers[name]
        if isinstance(writer, str):
            left_out.append(f"{name}: {writer}")
            continue
        with atomic_file(place / name, force=force) as file:
            writer(file)
        files.append(str(place / name))
    return Exported(tuple(files), tuple(left_out))


def check_export(folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """The folder as a path, once it is sure that its files could be written; nothing is touched.

    Raises:
        OutputError: `folder` is a file, or holds one of the names already, without `force`.
    """
    place = Path(folder)
    if place.is_dir():
        for name in NAMES:
            check_writable(place / name, force=force)
    elif os.path.lexists(place):
        raise OutputError(f"{os.fspath(folder)!r} is no folder; name another for the export")
    return place


def _coordinates(
    file: IO[bytes], W: np.ndarray, coordinates: Sequence[Sequence[str]] | None
) -> None:
    if coordinates is None:
        np.savetxt(file, W, fmt="%.17g")
    else:
        for line in _lines(coordinates):
            file.write(line)


def _lines(coordinates: Sequence[Sequence[str]]) -> Iterator[bytes]:
    for row in coordinates:
        yield (" ".join(row) + "\n").encode("ascii")


def _verified(coordinates: Sequence[Sequence[str]], cosine: str, tight: bool) -> bytes:
    """The statement; apart from the coordinates, which other programs read as bare numbers."""
    digest = hashlib.sha256()
    for line in _lines(coordinates):
        digest.update(line)
    smallest = f", the smallest number of {len(cosine.partition('.')[2])} decimals" if tight else ""
    return (
        "# The decimals in coordinates.txt are exact numbers; each line is the direction of a\n"
        "# point, not quite of unit length. Proved of them in rational arithmetic: no cosine of\n"
        f"# the angle between two directions exceeds cosine_at_most{smallest}.\n"
        f"points {len(coordinates)}\n"
        f"dimension {len(coordinates[0])}\n"
        f"cosine_at_most {cosine}\n"
        f"sha256_of_coordinates {digest.hexdigest()}\n"
    ).encode("ascii")


def _gram(file: IO[bytes], W: np.ndarray) -> None:
    """Rows of W W^T, block by block: the matrix is never whole in memory."""
    K = len(W)
    head = {"descr": "<f8", "fortran_order": False, "shape": (K, K)}
    np.lib.format.write_array_header_1_0(file, head)
    step = max(1, _BLOCK_BYTES // (8 * K))
    for k in range(0, K, step):
        file.write(np.ascontiguousarray(W[k : k + step] @ W.T, dtype="<f8").data)


def _distribution(file: IO[bytes], values: np.ndarray, pairs: np.ndarray) -> None:
    lines = io.StringIO()
    lines.write("inner_product,pairs\n")
    for value, count in zip(values.tolist(), pairs.tolist(), strict=True):
        lines.write(f"{value:.17g},{int(count)}\n")
    _write(file, lines.getvalue().encode("ascii"))


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(data)
