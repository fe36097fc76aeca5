"""`compare --export`: each code as plain files for other programs, in a folder of its own.

| file | what it holds |
|---|---|
| coordinates.txt | one point per line, blanks between; 16 decimals, or more if found |
| gram.npy | inner products, (K, K) float64, NumPy's format; up to 1 GiB |
| contacts.g6 | the contact graph in graph6; up to 30000 points |
| distribution.csv | `inner_product,pairs`: unordered pairs of points, from large to small |
| verified.txt | what is proved of the very decimals in coordinates.txt, with their SHA-256 |
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from gnc_cli.codes.congruence import distribution
from gnc_cli.codes.digits import Digits
from gnc_cli.codes.exact_cosine import rounded_coordinates
from gnc_cli.errors import OutputError, UsageError
from gnc_cli.io.atomic import atomic_file, check_writable
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline

NAMES = ("coordinates.txt", "gram.npy", "contacts.g6", "distribution.csv", "verified.txt")
_MOST_VALUES = 10_000
"""Different inner products that are worth a line each."""
_MOST_ROWS = 3000
"""Up to this many rows the coordinates are proved as they are printed."""
_DECIMALS = 16
"""Of coordinates that are known as float64."""
_GRAM_BYTES = 1 << 30
_BLOCK_BYTES = 32 << 20
_GRAPH_VERTICES = 30_000

_Content = Iterator[Any] | str
"""The bytes of a file in pieces, or why it is left out."""


def export_folders(
    export: str | os.PathLike[str], files: Sequence[str | None], force: bool
) -> list[Path]:
    """Where each code goes: `export` itself, or for several a folder in it by the file's name.

    Nothing is written yet. Refused are two files of one name, a folder that is a file, and one
    that holds one of `NAMES` already, without `force`.
    """
    if len(files) == 1:
        return [_checked(Path(export), force)]
    names = [_folder_name(file, at) for at, file in enumerate(files, start=1)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{spelled('export')} would put two codes into {os.path.join(export, name)!r}; "
                "rename one of the files, or export them one by one"
            )
    # The folder of all comes first: is it a folder, or can it become one?
    _checked(Path(export), force=True)
    return [_checked(Path(export, name), force) for name in names]


def _folder_name(file: str | None, at: int) -> str:
    """`run/snub.h5:W` gives `snub`."""
    if file is None or file == "-":
        return f"code-{at}"
    return PurePath(PurePath(file).name.partition(":")[0]).stem or f"code-{at}"


def _checked(folder: Path, force: bool) -> Path:
    if folder.is_dir():
        for name in NAMES:
            check_writable(folder / name, force=force)
    elif os.path.lexists(folder):
        raise OutputError(f"{os.fspath(folder)!r} is no folder; name another for the export")
    return folder


def export_code(
    W: np.ndarray,
    contact_pairs: np.ndarray | None,
    polished: Digits | None,
    folder: Path,
    deadline: Deadline,
    *,
    force: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files of the module's table into `folder`, which is made where missing.

    Up to `_MOST_ROWS` rows the coordinates are rounded to decimals, and a cosine is proved of these
    very decimals. Beyond, they are float64 to the last bit. Each file is written atomically. Where
    the deadline comes first, the distribution or the proof is left out.

    Returns:
        The files written, and one line for each that was not: its name and the reason.
    """
    K = len(W)
    texts = None if polished is None else polished.coordinates()
    verified: _Content = "no cosine was proved for these coordinates"
    if K <= _MOST_ROWS:
        decimals = _DECIMALS if texts is None else len(texts[0][0].partition(".")[2])
        with contextlib.suppress(TimeoutError):
            texts, cosine = rounded_coordinates(
                W if texts is None else texts,
                decimals,
                cosine_decimals=max(1, decimals - 1),
                deadline=deadline,
            )
            verified = iter([_statement(texts, cosine.text, cosine.tight)])
    spread: _Content = "there are too many different inner products"
    with contextlib.suppress(TimeoutError):
        values = distribution(W, most=_MOST_VALUES, deadline=deadline)
        if values is not None:
            spread = _distribution(*values)
    gram: _Content = f"{K} x {K} inner products exceed 1 GiB"
    if 8 * K * K <= _GRAM_BYTES:
        gram = _gram(W)
    graph: _Content = f"{K} points are more than {_GRAPH_VERTICES}"
    if contact_pairs is None:
        graph = "contacts were not computed"
    elif K <= _GRAPH_VERTICES:
        graph = iter([to_graph6(K, contact_pairs) + b"\n"])
    coordinates = _lines(texts or ([f"{x:.17g}" for x in row.tolist()] for row in W))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make folder {os.fspath(folder)!r}: {error.strerror}; choose another place"
        ) from error
    files, left_out = [], []
    contents = (coordinates, gram, graph, spread, verified)
    for name, content in zip(NAMES, contents, strict=True):
        if isinstance(content, str):
            left_out.append(f"{name}: {content}")
            continue
        with atomic_file(folder / name, force=force) as file:
            file.writelines(content)
        files.append(str(folder / name))
    return tuple(files), tuple(left_out)


def _lines(coordinates: Iterable[Sequence[str]]) -> Iterator[bytes]:
    return (f"{' '.join(row)}\n".encode("ascii") for row in coordinates)


def _statement(coordinates: Sequence[Sequence[str]], cosine: str, tight: bool) -> bytes:
    """What is proved; apart from the coordinates, which other programs read as bare numbers."""
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


def _gram(W: np.ndarray) -> Iterator[Any]:
    """W W^T as a .npy file, block by block: the matrix is never whole in memory."""
    K = len(W)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (K, K)}
    )
    yield head.getvalue()
    step = max(1, _BLOCK_BYTES // (8 * K))
    for k in range(0, K, step):
        yield np.ascontiguousarray(W[k : k + step] @ W.T, dtype="<f8").data


def _distribution(values: np.ndarray, pairs: np.ndarray) -> Iterator[bytes]:
    yield b"inner_product,pairs\n"
    for value, count in zip(values.tolist(), pairs.tolist(), strict=True):
        yield f"{value:.17g},{int(count)}\n".encode("ascii")


def to_graph6(vertices: int, edges: np.ndarray) -> bytes:
    """A simple graph as a line of graph6, without header or end of line.

    One printable byte holds six pairs of vertices, the upper triangle column by column: (0,1),
    (0,2), (1,2), (0,3), ..., the first the highest bit, each byte raised by 63. Source:
    B. D. McKay, Description of graph6, sparse6 and digraph6 encodings (formats.txt of nauty).
    `edges` are pairs of different vertices, (m, 2), in any order and direction.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    low, high = edges.min(axis=1), edges.max(axis=1)
    place = np.unique(high * (high - 1) // 2 + low)
    body = np.zeros(-(-vertices * (vertices - 1) // 12), dtype=np.uint8)
    np.add.at(body, place // 6, (32 >> place % 6).astype(np.uint8))
    # A size takes one byte up to 62, else three after one 126.
    size = [vertices] if vertices <= 62 else [63, *(vertices >> k & 63 for k in (12, 6, 0))]
    return bytes(value + 63 for value in size) + (body + 63).astype(np.uint8).tobytes()
