"""Terms of a minimax problem on spheres: inner products of unit rows, with two derivatives.

A term has a first row a, a second row b and, in HardMax, a third row e:
`c = <z_a, z_b>` or `c = <z_a, z_b - z_e>`. Derivatives are in tangent coordinates: row z moves to
`normalise(z + B x)` with B an orthonormal basis (d, d-1) of the tangent space at z, so that the
second derivative carries the sphere's curvature, `-<z, grad c> I` for each row.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

__all__ = ["Terms", "assemble", "tangent_bases"]


@dataclass(frozen=True)
class Terms:
    """A list of m terms by the indices of their rows."""

    a: np.ndarray
    b: np.ndarray
    e: np.ndarray | None = None
    """None: no third row."""

    def __len__(self) -> int:
        return len(self.a)

    def values(self, points: np.ndarray) -> np.ndarray:
        """c of every term, shape (m,); differences are taken first, to lose no digits."""
        return np.einsum("md,md->m", points[self.a], self.pull(points))

    def pull(self, points: np.ndarray) -> np.ndarray:
        """`z_b`, or `z_b - z_e`: the gradient with respect to row a, shape (m, d)."""
        return points[self.b] if self.e is None else points[self.b] - points[self.e]

    def largest(self, points: np.ndarray) -> float:
        """The largest value."""
        return float(self.values(points).max())

    def missing_in(self, other: "Terms") -> "Terms":
        """The terms of this list that `other` lacks."""
        mine, theirs = self._keys(), other._keys()
        return self.take(~np.isin(mine, theirs))

    def joined(self, other: "Terms") -> "Terms":
        """Both lists, one after the other."""
        e = None
        if self.e is not None and other.e is not None:
            e = np.concatenate([self.e, other.e])
        return Terms(np.concatenate([self.a, other.a]), np.concatenate([self.b, other.b]), e)

    def take(self, which: np.ndarray) -> "Terms":
        """A part of the list, by mask or indices."""
        return Terms(self.a[which], self.b[which], None if self.e is None else self.e[which])

    def _keys(self) -> np.ndarray:
        return self.a.astype(np.int64) * 2**31 + self.b


def tangent_bases(points: np.ndarray) -> np.ndarray:
    """Orthonormal bases of the tangent spaces, shape (P, d, d-1), by Householder reflections."""
    count, d = points.shape
    v = points.copy()
    v[:, 0] += np.where(points[:, 0] >= 0.0, 1.0, -1.0)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    reflections = np.broadcast_to(np.eye(d), (count, d, d)) - 2.0 * v[:, :, None] * v[:, None, :]
    return np.ascontiguousarray(reflections[:, :, 1:])


def assemble(
    terms: Terms,
    points: np.ndarray,
    bases: np.ndarray,
    multipliers: np.ndarray,
    free: np.ndarray,
) -> tuple[sparse.csr_matrix, sparse.csr_matrix, float]:
    """Jacobian of the terms and Hessian of `sum multipliers c`, in the free rows' coordinates.

    Args:
        terms: m terms.
        points: unit rows, shape (P, d).
        bases: tangent bases, shape (P, d, d-1).
        multipliers: shape (m,).
        free: rows that may move, shape (P,), bool; the others have no coordinates.

    Returns:
        Jacobian (m, n) and Hessian (n, n) with n = free.sum() * (d - 1), sparse, and the mean
        absolute curvature term, a scale for shifts.
    """
    q = points.shape[1] - 1
    place = np.full(len(points), -1)
    place[free] = np.arange(int(free.sum()))
    n = int(free.sum()) * q
    pull = terms.pull(points)
    first = points[terms.a]
    slots = [(terms.a, pull), (terms.b, first)]
    if terms.e is not None:
        slots.append((terms.e, -first))
    jacobian = _jacobian(slots, bases, place, len(terms), n)

    # Mixed second derivatives: row a with row b (and, negatively, with row e); b and e do not mix.
    blocks = [(terms.a, terms.b, multipliers)]
    if terms.e is not None:
        blocks.append((terms.a, terms.e, -multipliers))
    diagonal = np.zeros(len(points))
    for rows, gradient in slots:
        np.add.at(
            diagonal, rows, -multipliers * np.einsum("md,md->m", points[rows], gradient)
        )
    hessian = _hessian(blocks, diagonal, bases, place, n)
    return jacobian, hessian, float(np.abs(diagonal).mean())


def _jacobian(
    slots: list[tuple[np.ndarray, np.ndarray]],
    bases: np.ndarray,
    place: np.ndarray,
    m: int,
    n: int,
) -> sparse.csr_matrix:
    q = bases.shape[2]
    data, row, column = [], [], []
    for rows, gradient in slots:
        live = place[rows] >= 0
        data.append(np.einsum("md,mdq->mq", gradient[live], bases[rows[live]]).ravel())
        row.append(np.repeat(np.flatnonzero(live), q))
        column.append((place[rows[live], None] * q + np.arange(q)).ravel())
    entries = (np.concatenate(data), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_matrix(entries, shape=(m, n))


def _hessian(
    blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    diagonal: np.ndarray,
    bases: np.ndarray,
    place: np.ndarray,
    n: int,
) -> sparse.csr_matrix:
    q = bases.shape[2]
    live = place >= 0
    data = [np.repeat(diagonal[live], q)]
    row = [np.arange(n)]
    column = [np.arange(n)]
    inner = np.arange(q)
    for i, j, weight in blocks:
        both = live[i] & live[j]
        a, b = i[both], j[both]
        block = np.einsum("m,mdp,mdq->mpq", weight[both], bases[a], bases[b], optimize=True)
        ia = np.broadcast_to(place[a, None, None] * q + inner[:, None], block.shape).ravel()
        jb = np.broadcast_to(place[b, None, None] * q + inner[None, :], block.shape).ravel()
        data += [block.ravel(), block.ravel()]
        row += [ia, jb]
        column += [jb, ia]
    entries = (np.concatenate(data), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_matrix(entries, shape=(n, n))
