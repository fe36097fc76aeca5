"""Strongly regular graphs and the codes on their eigenspaces, in exact integers.

A graph on v vertices is strongly regular when A^2 = k I + lambda A + mu (J - I - A). Its adjacency
matrix then has, besides k, two eigenvalues, and the projection on an eigenspace is a combination
of I, A and J: scaled to integers its rows are a code with two inner products.

Source: A. E. Brouwer and H. Van Maldeghem, 2022, Strongly Regular Graphs, chapter 1.
"""

from dataclasses import dataclass
from math import gcd, isqrt

import numpy as np

from gnc_cli.codes.constructions.points import IntegerRows

__all__ = ["StronglyRegular", "spectral_code", "strongly_regular"]

_BLOCK = 1024
"""Rows of A^2 that are checked at a time."""


@dataclass(frozen=True)
class StronglyRegular:
    """Parameters of a connected strongly regular graph."""

    v: int
    """Vertices."""
    k: int
    """Neighbours of each vertex."""
    lam: int
    """Common neighbours of two adjacent vertices."""
    mu: int
    """Common neighbours of two others; above 0, so that the graph is connected."""

    def eigenvalues(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two eigenvalues besides k with their multiplicities, the larger first.

        Raises:
            ValueError: they are irrational (the graph is a conference graph).

        Example:
            >>> StronglyRegular(10, 3, 0, 1).eigenvalues()
            ((1, 5), (-2, 4))
        """
        # x^2 = (lambda - mu) x + (k - mu); f + g = v - 1 and, the trace being 0, k + f r + g s = 0.
        p, q = self.lam - self.mu, self.k - self.mu
        root = isqrt(p * p + 4 * q)
        if root * root != p * p + 4 * q:
            raise ValueError(f"{self} has irrational eigenvalues")
        r, s = (p + root) // 2, (p - root) // 2
        f = (-self.k - (self.v - 1) * s) // (r - s)
        return (r, f), (s, self.v - 1 - f)

    def projection(self, eigenvalue: int) -> tuple[tuple[int, int, int], int]:
        """The eigenspace's projection times an integer: a multiple of it with coprime entries.

        Returns:
            Its entries on the diagonal, between neighbours and between others, and the positive m
            with M^2 = m M; M / m is the projection.

        Raises:
            ValueError: not an eigenvalue other than k.

        Example:
            >>> StronglyRegular(10, 3, 0, 1).projection(-2)
            ((6, -4, 1), 15)
        """
        (r, f), (s, g) = self.eigenvalues()
        if eigenvalue not in (r, s):
            raise ValueError(f"{eigenvalue} is not among the eigenvalues {r} and {s} of {self}")
        other, d = (s, f) if eigenvalue == r else (r, g)
        # (A - other I) kills the other eigenspace, and J's multiple the constants.
        rest = self.k - other
        entries = (-self.v * other - rest, self.v - rest, -rest)
        scale = gcd(*entries) * (1 if eigenvalue == r else -1)
        diagonal, near, far = (entry // scale for entry in entries)
        m = self.v * (eigenvalue - other) // scale
        # M^2 = m M, entry by entry: what A^2 says, in integers.
        k, lam, mu, v = self.k, self.lam, self.mu, self.v
        others = v - 1 - k
        square = (
            diagonal**2 + k * near**2 + others * far**2,
            2 * diagonal * near + lam * near**2 + 2 * (k - 1 - lam) * near * far
            + (others - k + 1 + lam) * far**2,
            2 * diagonal * far + mu * near**2 + 2 * (k - mu) * near * far
            + (others - 1 - k + mu) * far**2,
        )  # fmt: skip
        if square != (m * diagonal, m * near, m * far) or v * diagonal != m * d:
            raise ValueError(f"{self} is not feasible: no projection of rank {d}")
        return (diagonal, near, far), m


def strongly_regular(adjacency: np.ndarray) -> StronglyRegular:
    """The parameters of a graph, after checking every entry of A^2.

    Args:
        adjacency: symmetric, 0 on the diagonal, 0 or 1 elsewhere, shape (v, v).

    Raises:
        ValueError: not such a matrix; or the graph is not strongly regular, connected and
            incomplete.
    """
    A = np.asarray(adjacency).astype(np.float32)  # A^2 counts to v at most: exact
    v = len(A)
    simple = A.shape == (v, v) and v > 1 and bool(((A == 0) | (A == 1)).all())
    if not (simple and np.array_equal(A, A.T) and not A.diagonal().any()):
        raise ValueError("not the adjacency matrix of a graph: symmetric, 0 and 1, no loops")
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, v, _BLOCK):
        # Rows of A^2 from the diagonal on: it is symmetric.
        square = np.matmul(A[start : start + _BLOCK], A[:, start:])
        near = A[start : start + _BLOCK, start:] == 1
        same = np.eye(*square.shape) == 1
        for name, where in (("k", same), ("lambda", near), ("mu", ~(near | same))):
            values = square[where]
            if len(values):
                low, high = found.get(name, (v, 0))
                found[name] = min(low, int(values.min())), max(high, int(values.max()))
    if len(found) < 3:
        raise ValueError("a graph without edges, or complete, has no lambda or no mu")
    for name, (low, high) in found.items():
        if low != high:
            raise ValueError(f"not strongly regular: {name} is {low} here and {high} there")
    if found["mu"] == (0, 0):
        raise ValueError("not connected: two vertices have no common neighbour")
    return StronglyRegular(v, found["k"][0], found["lambda"][0], found["mu"][0])


def spectral_code(adjacency: np.ndarray, eigenvalue: int) -> IntegerRows:
    """The vertices projected on an eigenspace: v points in as many dimensions as its multiplicity.

    Args:
        adjacency: of a strongly regular graph, shape (v, v).
        eigenvalue: one of the two besides k; the smaller one puts neighbours far apart.

    Raises:
        ValueError: the graph is not strongly regular, or has no such eigenvalue.
    """
    graph = strongly_regular(adjacency)
    (diagonal, near, far), m = graph.projection(eigenvalue)
    size = np.min_scalar_type(-1 - max(abs(diagonal), abs(near), abs(far))).type
    vectors = np.where(np.asarray(adjacency) == 1, size(near), size(far))
    np.fill_diagonal(vectors, diagonal)
    return IntegerRows(vectors, _frame(vectors, m, graph.v * diagonal // m))


def _frame(multiple: np.ndarray, m: int, d: int) -> np.ndarray:
    """Orthonormal basis, shape (v, d), of the range of a projection times m.

    Random combinations of the columns span it. Their Gram matrix's Cholesky factor makes them
    orthonormal, less the digits that its condition costs; projected and done once more, on a basis
    that is orthonormal already, errors are of single roundings. Cost: 4 v^2 d flops, no v^3.
    """
    projection = multiple / m
    basis = np.random.default_rng(0).standard_normal((len(multiple), d))
    for _ in range(2):
        basis = np.matmul(projection, basis)
        basis = np.linalg.solve(np.linalg.cholesky(basis.T @ basis), basis.T).T
    return basis
