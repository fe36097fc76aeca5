"""Codes in files: published coordinates, and `compare --export`.

A text file holds one point per line, or one coordinate per line. Sloane's tables name such files
`pack.3.24.txt`: dimension, then number of points; only the name says where a point ends.

`--export` writes each code as plain files for other programs, into its own folder:

| file | contents |
|---|---|
| coordinates.txt | one point per line, separated by blanks; 16 decimals, or more if computed |
| coordinates.off | the points as float64; for d = 3 with the faces of their hull, for Geomview |
| gram.npy | inner products, (K, K) float64, NumPy's format; up to 1 GiB |
| contacts.g6 | the contact graph in graph6; up to 30000 points |
| distribution.csv | `inner_product,pairs`: unordered pairs of points, from large to small |
| verified.txt | the bound proved for the decimals in coordinates.txt, with their SHA-256 |
| local-optimum.json | a certificate that an exact local optimum is near; up to 3000 coordinates |
"""

import contextlib
import hashlib
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from gnc_cli.codes.congruence import distribution
from gnc_cli.codes.digits import Digits
from gnc_cli.codes.exact_cosine import ExactRows, rounded_coordinates
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.geometry.rounding import spacing
from gnc_cli.geometry.sphere import antipodes, normalise
from gnc_cli.io.atomic import atomic_file, check_writable, make_folder
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.code import CodeFile
from gnc_cli.io.codefile import code_of, off_lines, read_points
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.limits.claim import RefutedError, UnresolvedError, document
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.metrics.rows import real_matrix
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
"""Names of the files of an export."""
_MAX_PRODUCT_VALUES = 10_000
"""Largest number of different inner products for which distribution.csv is written."""
_MAX_PROVED_ROWS = 3000
"""Largest number of rows whose printed coordinates are verified."""
_DECIMALS = 16
"""Number of decimals of float64 coordinates."""
_MAX_GRAM_BYTES = 1 << 30
"""Largest size of gram.npy."""
_BLOCK_BYTES = 32 << 20
"""Bytes of the Gram matrix that are in memory at once."""
_MAX_GRAPH_VERTICES = 30_000
"""Largest number of points for which contacts.g6 is written: 75 MB."""

_SLOANE = re.compile(r"[a-z]+\.(\d{1,6})\.(\d{1,9})\.txt", re.ASCII | re.IGNORECASE)
"""Name of a file in Sloane's tables."""
_MAX_NUMBERS = 2_000_000
"""Largest number of coordinates that are read as exact numbers."""
_RATIONAL = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|\d+/\d{1,9})", re.ASCII)
"""Decimal number or fraction. Longer exponents and denominators are excluded: as exact numbers they
would fill the memory."""

EQUAL_COSINE = 1e-12
"""Largest difference from 1 of the cosine of two rows of the same direction: a row stored twice,
rounded."""
_ROUNDED_DECIMALS = range(3, 12)
"""Numbers of decimals of rounded published coordinates. Those of fewer decimals are exact, or not a
copy of a code."""
_PROBLEMS = ("softmax", "tammes", "ufm", "lines")
"""Problems of `solve`."""

_Content = Iterator[Any] | str
"""Pieces of the bytes of a file, or the reason why it is not written."""


@dataclass(frozen=True, eq=False)
class Code:
    """A code to compare."""

    rows: np.ndarray
    """Rows as they are stored, shape (K, d), float64."""
    file: str | None
    """File as the user named it; None for an array."""
    names: list[str] | None = None
    """Names of the points, if the file has an attribute `class_names`."""
    storage: str = "float64"
    """Dtype of the coordinates in the file or array."""
    problem: str | None = None
    """Problem that the search solved, if the file or result says it."""

    @cached_property
    def precision(self) -> float:
        """Accuracy of cosines.

        It follows from the dtype, from numbers that have only the digits of float32, or from the
        lengths of unit rows that were rounded to a few decimals.
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            single = np.array_equal(self.rows.astype(np.float32), self.rows)
            deviation = np.abs(np.linalg.norm(self.rows, axis=1) - 1.0).max()
        stored = max(spacing(self.storage), spacing("float32" if single else "float64"))
        for decimals in _ROUNDED_DECIMALS:
            # The error of each row is half of this, that of the cosine of two rows all of it.
            error = math.sqrt(self.rows.shape[1]) * 10.0**-decimals
            if EQUAL_COSINE < deviation <= error and np.array_equal(
                self.rows.round(decimals), self.rows
            ):
                return max(stored, error)
        return stored

    @cached_property
    def unit(self) -> np.ndarray:
        """Unit rows, shape (K, d); rows of norm 1 up to rounding are unchanged."""
        try:
            unit = normalise(self.rows)
        except DataError as error:
            raise DataError(f"{self.file or 'the array'}: {error}; remove or correct it") from error
        with np.errstate(over="ignore"):
            deviations = np.abs(np.linalg.norm(self.rows, axis=1, keepdims=True) - 1.0)
        return np.ascontiguousarray(np.where(deviations <= 1e-14, self.rows, unit))

    @cached_property
    def exact(self) -> ExactRows:
        """Rows as exact numbers: the decimals of a text file, else the floats.

        Lines are floats, each followed by its opposite, shape (2 K, d).
        """
        lines = self.problem == "lines"
        words = None if self.file is None or lines else read_decimals(self.file, self.rows)
        rows = antipodes(self.rows) if lines else self.rows
        return ExactRows.from_floats(rows) if words is None else ExactRows.from_texts(words)


def load_code(source: Any, d: int | None) -> Code:
    """Load the code of a file, an array (K, d), or an object with `weights`, such as a result."""
    if isinstance(source, (str, os.PathLike)):
        stored = read_published(source, d)
        names = [str(name) for name in np.atleast_1d(stored.attrs.get("class_names", ()))]
        point_names = names if len(names) == len(stored.weights) else None
        identity = stored.provenance.get("identity")
        problem = identity.get("problem") if isinstance(identity, dict) else None
        return Code(
            stored.weights, os.fspath(source), point_names, stored.storage, _problem(problem)
        )
    array = getattr(source, "weights", source)
    rows = real_matrix(array, "a code")
    if min(rows.shape) < 2:
        raise DataError(f"an array has shape {rows.shape}; expected (K, d), one point per row")
    storage = str(getattr(array, "dtype", "float64")).removeprefix("torch.")
    return Code(rows, None, None, storage, _problem(getattr(source, "problem", None)))


def _problem(name: Any) -> str | None:
    """Return the name of a problem of `solve`; None for any other value."""
    return name if isinstance(name, str) and name in _PROBLEMS else None


def is_text(path: str | os.PathLike[str]) -> bool:
    """Return True if `read_published` reads decimals from this file."""
    name, key = split_key(os.fspath(path))
    return key is None and PurePath(name).suffix.lower() in (".txt", ".csv")


def read_published(path: str | os.PathLike[str], d: int | None = None) -> CodeFile:
    """Read the code of any file that gnc reads, or of a text file with one coordinate per line.

    For the latter `d` is the dimension, unless the name, `pack.3.24.txt`, says it.

    Raises:
        DataError: the file is not a code, or its points do not have `d` coordinates.
        UsageError: a file of one coordinate per line needs a dimension.
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
    """Return the catalogue of a text file with its single numbers gathered into points."""
    entry = catalogue.entries.get("table")
    if entry is None or entry.shape[1] != 1:
        return catalogue
    path, count = catalogue.path, entry.shape[0]
    name_match = _SLOANE.fullmatch(PurePath(path).name)
    if d is not None:
        if count % d:
            raise DataError(
                f"{path!r} holds {count} numbers, which make no points of {spelled('d', d)}; "
                "is it cut short?"
            )
    elif name_match is not None:
        d, K = int(name_match[1]), int(name_match[2])
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
    """Read the decimals and fractions of a text file, unrounded: K rows of d texts.

    `rows` are the floats (K, d) that were read from it. None if the file is no longer available (a
    pipe, another program wrote to it), has other numbers, such as roots, or is very large.
    """
    if rows.size > _MAX_NUMBERS or not is_text(path) or not os.path.isfile(path):
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
    """Return the folder of each code: `export`, or its subfolders, named after several files.

    Nothing is written yet.

    Raises:
        UsageError: two files have the same name.
        OutputError: a folder is a file, or contains one of `NAMES` and `force` is False.
    """
    root = Path(export)
    folders = [root]
    if len(files) > 1:
        folders = [root / _folder_name(file, number) for number, file in enumerate(files, start=1)]
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


def _folder_name(file: str | None, number: int) -> str:
    """Return the folder of a file: `snub` for `run/snub.h5:W`."""
    if file is None or file == "-":
        return f"code-{number}"
    return PurePath(PurePath(file).name.partition(":")[0]).stem or f"code-{number}"


def export_code(
    W: np.ndarray,
    contact_pairs: np.ndarray | None,
    polished: Digits | None,
    folder: Path,
    deadline: Deadline,
    *,
    force: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files of the module's table into `folder`, which is made if missing.

    W are unit rows, shape (K, d), `contact_pairs` the contacts, shape (m, 2), if they are known.

    Up to `_MAX_PROVED_ROWS` rows the coordinates are rounded to decimals, and a bound of the
    cosines of these decimals is proved. Above, they are float64 to the last bit. Each file is
    written atomically. If the deadline comes first, the distribution or the proof is left out.

    Returns:
        The files written, and one line for each that was not: its name and the reason.
    """
    K = len(W)
    texts = None if polished is None else polished.coordinates()
    verified: _Content = "no cosine was proved for these coordinates"
    if K <= _MAX_PROVED_ROWS:
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
        values = distribution(W, max_values=_MAX_PRODUCT_VALUES, deadline=deadline)
        if values is not None:
            spread = _distribution(*values)
    gram: _Content = f"{K} x {K} inner products exceed 1 GiB"
    if 8 * K * K <= _MAX_GRAM_BYTES:
        gram = _gram(W)
    graph: _Content = f"{K} points are more than {_MAX_GRAPH_VERTICES}"
    if contact_pairs is None:
        graph = "contacts were not computed"
    elif K <= _MAX_GRAPH_VERTICES:
        graph = iter([to_graph6(K, contact_pairs) + b"\n"])
    local: _Content
    try:
        local = iter([document(LocalOptimum.from_code(W, deadline))])
    except (RefutedError, UnresolvedError) as error:
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
    """Return verified.txt; coordinates.txt has only numbers, which other programs read."""
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
    """Yield W W^T as a .npy file, block by block: the matrix is never complete in memory."""
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
    """Encode a simple graph as a line of graph6, without header or end of line.

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
