"""Codes in files: coordinates as others publish them, and `compare --export`.

A text file holds one point per line, or one coordinate per line. Sloane's tables name such files
`pack.3.24.txt`: dimension, then number of points; only the name says where a point ends.

`--export` writes each code as plain files for other programs, into a folder of its own:

| file | what it holds |
|---|---|
| coordinates.txt | one point per line, blanks between; 16 decimals, or more if found |
| coordinates.off | the points as float64; for d = 3 with the faces of their hull, for Geomview |
| gram.npy | inner products, (K, K) float64, NumPy's format; up to 1 GiB |
| contacts.g6 | the contact graph in graph6; up to 30000 points |
| distribution.csv | `inner_product,pairs`: unordered pairs of points, from large to small |
| verified.txt | what is proved of the very decimals in coordinates.txt, with their SHA-256 |
| local-optimum.json | a certificate that an exact local optimum is near; up to 3000 coordinates |
"""

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from gnc_cli.codes.congruence import distribution
from gnc_cli.codes.digits import Digits
from gnc_cli.codes.exact_cosine import rounded_coordinates
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.atomic import atomic_file, check_writable, make_folder
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.code import CodeFile
from gnc_cli.io.codefile import code_of, off_lines, read_points
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.limits.claim import Refuted, Unresolved, document
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.parameters import spelled
from gnc_cli.parsing import nearest_float
from gnc_cli.runtime.deadline import Deadline

NAMES = (
    "coordinates.txt",
    "coordinates.off",
    "gram.npy",
    "contacts.g6",
    "distribution.csv",
    "verified.txt",
    "local-optimum.json",
)
_MOST_VALUES = 10_000
"""distribution.csv is left out where there are more different inner products."""
_MOST_ROWS = 3000
"""Up to this many rows the coordinates are proved as they are printed."""
_DECIMALS = 16
"""Decimals of coordinates that are known as float64."""
_GRAM_BYTES = 1 << 30
_BLOCK_BYTES = 32 << 20
_GRAPH_VERTICES = 30_000

_SLOANE = re.compile(r"[a-z]+\.(\d{1,6})\.(\d{1,9})\.txt", re.ASCII | re.IGNORECASE)
_MOST_NUMBERS = 2_000_000
_RATIONAL = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|\d+/\d{1,9})", re.ASCII)
"""A decimal number or a fraction. Longer exponents and denominators are refused: as exact numbers
they would fill the memory."""

_Content = Iterator[Any] | str
"""The bytes of a file in pieces, or why it is left out."""


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether `read_published` reads decimals from this file."""
    name, key = split_key(os.fspath(path))
    return key is None and PurePath(name).suffix.lower() in (".txt", ".csv")


def read_published(path: str | os.PathLike[str], d: int | None = None) -> CodeFile:
    """The code in any file that gnc reads, or in a text file with one coordinate per line.

    There `d` says how many make a point, where the name, `pack.3.24.txt`, does not.
    """
    name, _ = split_key(os.fspath(path))
    if is_text(path):
        with open_input(name) as file, FORMATS[".txt"](file, name) as catalogue:
            code = code_of(_in_points(catalogue, d))
    else:
        code = read_points(path)
    if d is not None and code.weights.shape[1] != d:
        raise DataError(
            f"{name!r} has points of {code.weights.shape[1]} coordinates, {spelled('d')} asks for "
            f"{d}; drop {spelled('d')}"
        )
    return code


def _in_points(catalogue: Catalogue, d: int | None) -> Catalogue:
    """The catalogue of a text file, its single numbers gathered into points."""
    entry = catalogue.entries.get("table")
    if entry is None or entry.shape[1] != 1:
        return catalogue
    path, count = catalogue.path, entry.shape[0]
    named = _SLOANE.fullmatch(PurePath(path).name)
    if d is not None:
        if count % d:
            raise DataError(
                f"{path!r} holds {count} numbers, which make no points of {spelled('d', d)}; "
                "is it cut short?"
            )
    elif named is not None:
        d, K = int(named[1]), int(named[2])
        if d * K != count:
            raise DataError(
                f"{path!r} holds {count} numbers, its name promises {K} points of {d}; "
                f"is it cut short? otherwise give {spelled('d')}"
            )
    else:
        raise UsageError(
            f"{path!r} has one number per line; say how many make a point: {spelled('d', 3)} "
            "(or name the file as Sloane does, pack.3.24.txt)"
        )
    shape = (count // max(d, 1), d)

    def load() -> np.ndarray:
        return entry.load().reshape(shape)

    return Catalogue(path, {"table": Entry(shape, entry.dtype, entry.real, load)}, catalogue.attrs)


def read_decimals(path: str, rows: np.ndarray) -> list[list[str]] | None:
    """The decimals and fractions of a text file behind the floats (K, d) read from it, unrounded.

    None where the file is not at hand any more (a pipe, another program wrote to it), has other
    numbers, such as roots, or is very large.
    """
    if rows.size > _MOST_NUMBERS or not is_text(path) or not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.partition("#")[0].strip() for line in file]
    except (OSError, UnicodeDecodeError):
        return None
    first = next((line for line in lines if line), "")
    delimiter = "," if "," in first else None
    words = [word.strip() for line in lines if line for word in line.split(delimiter)]
    if len(words) != rows.size or not all(_RATIONAL.fullmatch(word) for word in words):
        return None
    if not np.array_equal(np.array([nearest_float(word) for word in words]), rows.ravel()):
        return None
    d = rows.shape[1]
    return [words[k : k + d] for k in range(0, len(words), d)]


def export_folders(
    export: str | os.PathLike[str], files: Sequence[str | None], force: bool
) -> list[Path]:
    """Where each code goes: `export` itself, or for several a folder in it by the file's name.

    Nothing is written yet. Refused are two files of one name, a folder that is a file, and one
    that holds one of `NAMES` already, without `force`.
    """
    root = Path(export)
    folders = [root]
    if len(files) > 1:
        folders = [root / _folder_name(file, at) for at, file in enumerate(files, start=1)]
    for folder in folders:
        if folders.count(folder) > 1:
            raise UsageError(
                f"{spelled('export')} would put two codes into {os.fspath(folder)!r}; "
                "rename one of the files, or export them one by one"
            )
        for place in (root, folder):
            if os.path.lexists(place) and not place.is_dir():
                raise OutputError(f"{os.fspath(place)!r} is no folder; name another for the export")
        for name in NAMES if folder.is_dir() else ():
            check_writable(folder / name, force=force)
    return folders


def _folder_name(file: str | None, at: int) -> str:
    """`run/snub.h5:W` gives `snub`."""
    if file is None or file == "-":
        return f"code-{at}"
    return PurePath(PurePath(file).name.partition(":")[0]).stem or f"code-{at}"


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
        values = distribution(W, max_values=_MOST_VALUES, deadline=deadline)
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
    local: _Content
    try:
        local = iter([document(LocalOptimum.of_code(W, deadline))])
    except (Refuted, Unresolved) as error:
        local = str(error)
    coordinates = _lines(texts or ([f"{x:.17g}" for x in row.tolist()] for row in W))
    make_folder(folder)
    files, left_out = [], []
    contents = (coordinates, off_lines(W), gram, graph, spread, verified, local)
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
