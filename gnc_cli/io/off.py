"""OFF, the text format of Geomview: points and, in three dimensions, the faces of their hull.

The points of other dimensions follow the header `nOFF` and their number of coordinates: `4OFF`
would mean homogeneous coordinates in space. Reference: Geomview Manual, OFF Files.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import IO

import numpy as np

from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.code import CodeFile
from gnc_cli.io.expressions import PLAIN
from gnc_cli.io.inputs import decoded

_COUNT = re.compile(r"[0-9]{1,18}")
_COPLANAR = 1e-7
"""Neighbouring triangles are one face if the numbers of their planes differ by less."""


@contextlib.contextmanager
def off(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The points of an OFF or nOFF file; faces are checked and left out."""
    text = decoded(file, path, "binary OFF files are not read")
    with translated(path, "OFF"):
        points = _points(text)
    yield Catalogue(path, {"points": Entry(points.shape, "float64", True, lambda: points)})


def _points(text: str) -> np.ndarray:
    """The points (K, d) of a file; the header and the points end at the end of a line."""
    split = [line.partition("#")[0].split() for line in text.splitlines()]
    lines = iter([line for line in split if line])
    kind, *sizes = next(lines, [""])
    if kind not in ("OFF", "nOFF"):
        raise ValueError("it does not begin with OFF or nOFF")
    sizes = [*(["3"] if kind == "OFF" else []), *sizes]
    sizes += _words(lines, 4 - len(sizes))
    if len(sizes) != 4 or not all(map(_COUNT.fullmatch, sizes)):
        raise ValueError("expected three whole numbers after OFF: of points, faces and edges")
    d, K, faces, _ = map(int, sizes)
    numbers, rest = _words(lines, K * d), [*lines]
    whole = len(numbers) == K * d > 0 and len(rest) == faces
    if not whole or not all(_is_face(line, K) for line in rest):
        raise ValueError(
            f"expected {K} points of {d} coordinates, without colours, then {faces} faces, one a "
            "line: how many corners, and their points from 0"
        )
    wrong = next((word for word in numbers if not PLAIN.fullmatch(word)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:40]!r} is no number")
    return np.array(numbers, dtype=np.float64).reshape(K, d)


def _words(lines: Iterator[list[str]], count: int) -> list[str]:
    """Those of as many lines as it takes; fewer where the lines end."""
    words: list[str] = []
    while len(words) < count:
        line = next(lines, [])
        if not line:
            break
        words += line
    return words


def _is_face(line: list[str], K: int) -> bool:
    """Whether a line names points, and perhaps a colour."""
    n = int(line[0]) if _COUNT.fullmatch(line[0]) else 0
    corners = line[1 : n + 1]
    return 0 < n == len(corners) and all(_COUNT.fullmatch(at) and int(at) < K for at in corners)


def write_off(file: IO[bytes], code: CodeFile) -> None:
    """The weights as an OFF file."""
    file.writelines(off_lines(code.weights))


def off_lines(points: np.ndarray) -> Iterator[bytes]:
    """An OFF file of points (K, d), 17 digits, line by line."""
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
    """The faces of the convex hull of the directions of points, nonzero rows (K, 3), as polygons.

    Each lists rows, counterclockwise seen from outside. None where all points lie in one plane.
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
    apart = np.abs(hull.equations[triangle] - hull.equations[neighbour]).max(axis=1)
    same = apart < _COPLANAR
    links = coo_matrix((same[same], (triangle[same], neighbour[same])), shape=(count, count))
    number, plane = connected_components(links)
    corners = np.stack([plane[triangle], hull.simplices.ravel()], axis=1)
    face, row = np.unique(corners, axis=0).T
    starts = np.searchsorted(face, np.arange(number))
    normals = hull.equations[np.unique(plane, return_index=True)[1], :3]
    centres = np.add.reduceat(points[row], starts) / np.bincount(face)[:, None]
    spokes = points[row] - centres[face]
    first = spokes[starts][face]
    across = np.cross(normals[face], first)
    turn = np.arctan2((spokes * across).sum(axis=1), (spokes * first).sum(axis=1))
    around = row[np.lexsort([turn, face])]
    return [part.tolist() for part in np.split(around, starts[1:])]
