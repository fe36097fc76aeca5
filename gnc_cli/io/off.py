"""OFF, the text format of Geomview: points and, in three dimensions, the faces of their hull.

The points of other dimensions follow the header `nOFF` and their number of coordinates: `4OFF`
would mean homogeneous coordinates in space. Reference: Geomview Manual, OFF Files.
"""

import contextlib
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import IO

import numpy as np

from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.code import CodeFile
from gnc_cli.io.expressions import PLAIN
from gnc_cli.io.inputs import memory_limit, pieces

_COUNT = re.compile(r"[0-9]{1,18}")
_HEADER = re.compile(r"(?:OFF|nOFF (\d{1,18})) (\d{1,18}) (\d{1,18}) \d{1,18}", re.ASCII)
_COPLANAR = 1e-7
"""Neighbouring triangles are one face if the numbers of their planes differ by less."""


@contextlib.contextmanager
def off(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The points of an OFF or nOFF file; faces are checked and left out.

    Each face has a line of its own, which may end in a colour.
    """
    text = pieces(file, path, "binary OFF files are not read", memory_limit() // 8)
    with translated(path, "OFF"):
        split = (line.partition("#")[0].split() for piece in text for line in piece.splitlines())
        lines, head = filter(None, split), list[str]()
        while len(head) < 4 + (head[:1] == ["nOFF"]) and (words := next(lines, None)):
            head += words
        header = _HEADER.fullmatch(" ".join(head))
        if header is None:
            raise ValueError(
                "it does not begin with OFF and the numbers of points, faces and edges"
            )
        d, K, faces = (int(size or 3) for size in header.groups())
        numbers, plain = array("d"), True
        while plain and len(numbers) < K * d and (words := next(lines, None)):
            plain = all(map(PLAIN.fullmatch, words))
            numbers.extend(map(float, words if plain else ()))
        checks = Counter(_is_face(line, K) for line in lines)
        if not len(numbers) == K * d > 0 or checks != Counter({True: faces}):
            raise ValueError(
                f"expected {K} points of {d} coordinates, without colours, then {faces} faces, one "
                "a line: how many corners, and their points from 0"
            )
        points = np.frombuffer(numbers).reshape(K, d)
    yield Catalogue(path, {"points": Entry(points.shape, "float64", True, lambda: points)})


def _is_face(line: list[str], K: int) -> bool:
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
