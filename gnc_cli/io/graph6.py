"""Graphs as graph6 text, which graph programs read: one printable byte for six pairs of vertices.

Source: B. D. McKay, Description of graph6, sparse6 and digraph6 encodings (formats.txt of nauty).
The upper triangle is written column by column, (0,1), (0,2), (1,2), (0,3), .., six bits a byte, the
first bit the highest, each byte raised by 63.
"""

import numpy as np

from gnc_cli.errors import DataError

__all__ = ["from_graph6", "to_graph6"]

_SHORT, _LONG, _LONGEST = 62, 258047, 2**36 - 1
_RAISED = 63
_WEIGHTS = np.array([32, 16, 8, 4, 2, 1], dtype=np.uint8)


def to_graph6(vertices: int, edges: np.ndarray) -> bytes:
    """The line of a simple graph, without header or end of line.

    Args:
        vertices: how many there are.
        edges: pairs of different vertices, shape (m, 2), in any order and direction.

    Raises:
        ValueError: a loop, or a vertex that is not there.

    Example:
        >>> to_graph6(5, np.array([[0, 2], [0, 4], [1, 3], [3, 4]]))
        b'DQc'
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    low, high = edges.min(axis=1), edges.max(axis=1)
    if len(edges) and (low.min() < 0 or high.max() >= vertices or (low == high).any()):
        raise ValueError(f"an edge is a loop or leaves the vertices 0 to {vertices - 1}")
    place = np.unique(high * (high - 1) // 2 + low)
    body = np.full(-(-vertices * (vertices - 1) // 12), _RAISED, dtype=np.uint8)
    np.add.at(body, place // 6, _WEIGHTS[place % 6])
    return _size_to_bytes(vertices) + body.tobytes()


def from_graph6(line: bytes) -> tuple[int, np.ndarray]:
    """Vertices and edges of one line, with or without the header `>>graph6<<`.

    Returns:
        The number of vertices, and the edges i < j, shape (m, 2), sorted.

    Raises:
        DataError: not a graph6 line.

    Example:
        >>> from_graph6(b"A_")
        (2, array([[0, 1]]))
    """
    data = line.strip().removeprefix(b">>graph6<<")
    values = np.frombuffer(data, dtype=np.uint8).astype(np.int64) - _RAISED
    if len(values) == 0 or values.min() < 0 or values.max() > 63:
        raise DataError(f"{line[:40]!r} is no graph6 line: bytes must lie between ? and ~")
    # A size takes one byte, or three after one 63, or six after two.
    marks = 0 if values[0] < 63 else 1 if values[1:2].max(initial=0) < 63 else 2
    head = marks + (1, 3, 6)[marks]
    vertices = 0
    for value in values[marks:head].tolist():
        vertices = 64 * vertices + value
    body = values[head:]
    if len(values) < head or len(body) != -(-vertices * (vertices - 1) // 12):
        raise DataError(f"{line[:40]!r} is no graph6 line of {vertices} vertices: wrong length")
    bits = np.unpackbits(body.astype(np.uint8)[:, None], axis=1)[:, 2:].ravel()
    place = np.flatnonzero(bits)
    if len(place) and place[-1] >= vertices * (vertices - 1) // 2:
        raise DataError(f"{line[:40]!r} is no graph6 line: the padding is not zero")
    # Column j begins at j (j - 1) / 2: the triangular root of the place, by exact search.
    starts = np.arange(vertices, dtype=np.int64) * (np.arange(vertices, dtype=np.int64) - 1) // 2
    high = np.searchsorted(starts, place, side="right") - 1
    edges = np.stack([place - starts[high], high], axis=1)
    return vertices, edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _size_to_bytes(n: int) -> bytes:
    if n <= _SHORT:
        return bytes([n + _RAISED])
    if n > _LONGEST:
        raise ValueError(f"{n} vertices: graph6 ends at {_LONGEST}")
    digits, mark = (3, b"~") if n <= _LONG else (6, b"~~")
    return mark + bytes((n >> 6 * k) % 64 + _RAISED for k in range(digits - 1, -1, -1))
