"""Parametrisations of a code: the rows that are unknown, and the map from them to all K rows.

`free`: every row. `extending(F)`: given rows stay, the others are placed around them.
`orbits(G)`: a finite group of n orthogonal matrices acts. One representative per orbit is unknown,
and a descent costs up to n times less. Orbits shorter than n lie in the fixed space of a subgroup:
`projections` keeps their representatives there.

Points with the same stabiliser S (the matrices that keep them) lie in Fix(S), the space of vectors
that S keeps, and have |G| / |S| images, one per coset of S. Stabilisers conjugate in G give the
same orbits, so one of each class is a *type* of orbit. The fixed spaces of stabilisers are the
intersections of the fixed spaces of single matrices.

In a fixed space of dimension 2 or more nearly every point has S as its stabiliser, with room for
any number of orbits. An axis has two unit points, one orbit where some matrix swaps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    import torch


_EIGENVALUE_TOLERANCE = 1e-6
"""Largest difference from 1 of the eigenvalue of a vector that a matrix fixes, and of coordinates
of images that are one point: matrices are orthogonal to rounding."""
_MAX_TYPES = 60
"""Largest number of types to find: groups of many reflections have more than a draw can use."""


@dataclass(frozen=True)
class OrbitType:
    """Orbits whose points have conjugate stabilisers."""

    length: int
    """Number of points of an orbit."""
    dimension: int
    """Dimension of the fixed space."""
    projection: np.ndarray
    """Projection onto the fixed space, shape (d, d)."""
    images: np.ndarray
    """One matrix per coset of the stabiliser, the unit first, shape (length, d, d)."""
    capacity: int
    """Number of orbits of this type: 1 or 2 on an axis, else without limit (a large number)."""


@dataclass(frozen=True)
class Parametrisation:
    """Map from M unknown unit rows to a code of K rows, in d dimensions."""

    d: int
    K: int
    unknown: int
    """M, the number of unknown rows."""
    representatives: np.ndarray
    """Index of each unknown row in the code, shape (M,)."""
    fixed: np.ndarray | None = None
    """Given rows, first in the code, shape (K - M, d)."""
    images: np.ndarray | None = None
    """Orbits only: row k of the code is `images[k] @ unknown[source[k]]`, shape (K, d, d)."""
    source: np.ndarray | None = None
    """Orbits only: unknown row of each row of the code, shape (K,)."""
    projections: np.ndarray | None = None
    """Orbits only: onto the space where each representative may lie, shape (M, d, d)."""
    _tensors: "dict[Any, torch.Tensor]" = field(default_factory=dict, repr=False, compare=False)
    """Tensors of the arrays above, by name, type and device: converted once, not at each step."""

    @property
    def num_fixed(self) -> int:
        """Number of given rows at the head of the code."""
        return 0 if self.fixed is None else len(self.fixed)

    @property
    def is_free(self) -> bool:
        """True if every row is unknown and independent of the others."""
        return self.fixed is None and self.images is None

    def expand(self, unknown: "torch.Tensor") -> "torch.Tensor":
        """Return the whole code (R, K, d) of the unknown rows (R, M, d), differentiable."""
        if self.images is not None:
            import torch

            rows = unknown[:, self.tensor("source", unknown.device)]
            return torch.einsum(
                "kab,rkb->rka", self.tensor("images", unknown.device, unknown.dtype), rows
            )
        if self.fixed is not None:
            import torch

            fixed = self.tensor("fixed", unknown.device, unknown.dtype)
            return torch.cat([fixed.expand(len(unknown), -1, -1), unknown], 1)
        return unknown

    def project(self, vectors: "torch.Tensor") -> "torch.Tensor":
        """Return vectors (R, M, d) at the unknown rows, projected to the space of each row."""
        if self.projections is None:
            return vectors
        import torch

        projections = self.tensor("projections", vectors.device, vectors.dtype)
        return torch.einsum("mab,rmb->rma", projections, vectors)

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays alone, for other processes."""
        return {**self.__dict__, "_tensors": {}}

    def tensor(
        self, name: str, device: "torch.device", dtype: "torch.dtype | None" = None
    ) -> "torch.Tensor":
        """Return one of the arrays as a tensor, converted at the first call."""
        import torch

        key = name, device, dtype
        if key not in self._tensors:
            array = getattr(self, name)
            self._tensors[key] = torch.as_tensor(array, dtype=dtype, device=device)
        return self._tensors[key]

    def code(self, unknown: np.ndarray) -> np.ndarray:
        """Return the code (K, d) of unknown rows (M, d), in NumPy float64."""
        if self.images is not None:
            return np.asarray((self.images @ unknown[self.source][:, :, None])[..., 0])
        return unknown if self.fixed is None else np.concatenate([self.fixed, unknown])

    def random(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Draw random unknown rows, shape (R, M, d)."""
        rows = rng.standard_normal((restarts, self.unknown, self.d))
        if self.projections is not None:
            rows = np.einsum("mab,rmb->rma", self.projections, rows)
            axial = np.flatnonzero(self.axial)
            for m in axial[axial > 0]:  # two orbits on one axis begin at its two ends
                if np.array_equal(self.projections[m], self.projections[m - 1]):
                    rows[:, m] = -rows[:, m - 1]
        return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))

    @property
    def axial(self) -> np.ndarray:
        """Mask of the unknown rows that lie on an axis, where they cannot move, shape (M,)."""
        if self.projections is None:
            return np.zeros(self.unknown, dtype=bool)
        return np.asarray(np.trace(self.projections, axis1=1, axis2=2) < 1.5)


def free(d: int, K: int) -> Parametrisation:
    """Return the parametrisation in which all K rows are unknown."""
    return Parametrisation(d, K, K, np.arange(K))


def extending(fixed: np.ndarray, K: int) -> Parametrisation:
    """Return the parametrisation in which the rows of `fixed` (F, d) stay and K - F are unknown."""
    count, d = fixed.shape
    return Parametrisation(d, K, K - count, np.arange(count, K), fixed=fixed)


def orbits(group: np.ndarray, K: int, rng: np.random.Generator) -> Parametrisation:
    """Draw a union of orbits with K points of a finite group: codes that it maps to themselves.

    The preference for unions of few orbits is drawn too.

    Args:
        group: all its matrices, each once, the unit first, shape (n, d, d).
        K: number of points.
        rng: the source of random choices.

    Raises:
        UsageError: K is no sum of lengths of orbits.
    """
    types, share = orbit_types(group), 10.0 ** rng.uniform(-1.5, 0.0)
    return _union(types, random_union(types, K, rng, share), K, group)


def cyclic_orbits(generator: np.ndarray, order: int, K: int) -> Parametrisation:
    """Return a union of orbits with K points of the cyclic group of `generator` (d, d).

    It has as many orbits of full length as fit, and short orbits for the remainder, longest first.

    Raises:
        UsageError: K is no sum of lengths of orbits.
    """
    group = np.array([np.linalg.matrix_power(generator, j) for j in range(order)])
    types = orbit_types(group)
    return _union(types, longest_first(types, K), K, group)


def _union(
    types: Sequence[OrbitType], counts: list[int] | None, K: int, group: np.ndarray
) -> Parametrisation:
    """Return the union of `counts` orbits of each type.

    Raises:
        UsageError: `counts` is None, as no union has K points.
    """
    n, d = group.shape[:2]
    if counts is None:
        fits = largest_sum(types, K)
        raise UsageError(
            f"K = {K} is no sum of orbit lengths of this symmetry of order {n}"
            f" in {d} dimensions; try K = {fits if fits >= 2 else n} or another order"
        )
    union = [kind for kind, count in zip(types, counts, strict=True) for _ in range(count)]
    lengths = np.array([kind.length for kind in union])
    free_everywhere = all(kind.dimension == d for kind in union)
    return Parametrisation(
        d,
        K,
        len(union),
        np.cumsum(lengths) - lengths,
        images=np.concatenate([kind.images for kind in union]),
        source=np.repeat(np.arange(len(union)), lengths),
        projections=None if free_everywhere else np.array([kind.projection for kind in union]),
    )


def random_generator(rng: np.random.Generator, d: int, order: int) -> np.ndarray:
    """Draw an orthogonal matrix g (d, d) with g**order = 1 and no smaller power 1.

    The first plane turns by 2 pi / order: where any plane turns by a multiple coprime to the order,
    some power of g does that. The others turn by random multiples. The last coordinate of an odd
    dimension keeps its sign or, for an even order, may change it.
    """
    turns = np.concatenate([[1], rng.integers(0, order // 2 + 1, size=d // 2 - 1)])
    flip = d % 2 == 1 and order % 2 == 0 and rng.random() < 0.5
    g = np.eye(d)
    for i, turn in enumerate(turns):
        c, s = np.cos(2 * np.pi * turn / order), np.sin(2 * np.pi * turn / order)
        g[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
    if flip:
        g[-1, -1] = -1.0
    return g


def orbit_types(group: np.ndarray) -> list[OrbitType]:
    """Return the types of orbits of a group, longest first, then those with more dimensions.

    Args:
        group: all its matrices, each once, the unit first, shape (n, d, d).
    """
    n, d = len(group), group.shape[-1]
    whole = np.eye(d)
    single = _distinct([_fixed_space(m, whole) for m in (group + group.transpose(0, 2, 1)) / 2])
    single = [basis for basis in single if 0 < basis.shape[1] < d]
    spaces, fingerprints = [whole], {_fingerprint(group, whole)}
    for basis in spaces:  # grows while it is read
        if basis.shape[1] == 1 or len(spaces) >= _MAX_TYPES:
            continue
        for other in single:
            overlap = basis.T @ other
            smaller = _fixed_space(overlap @ overlap.T, basis)
            if 0 < smaller.shape[1] < basis.shape[1]:
                key = _fingerprint(group, smaller)
                if key not in fingerprints:
                    fingerprints.add(key)
                    spaces.append(smaller)
    types = [_orbit_type(group, basis) for basis in spaces]
    # A full list lacks some intersections, but its types are orbits all the same.
    return sorted(types, key=lambda t: (-t.length, -t.dimension)) if n > 1 else types


def longest_first(types: Sequence[OrbitType], K: int) -> list[int] | None:
    """Return the number of orbits of each type, as many of the longest as fit, or None."""
    weights = [_weights(types[i:], K, 1.0) for i in range(len(types) + 1)]
    if not weights[0][K]:
        return None
    counts, remaining = [], K
    for i, kind in enumerate(types):
        count = min(kind.capacity, remaining // kind.length)
        while not weights[i + 1][remaining - count * kind.length]:
            count -= 1
        counts.append(count)
        remaining -= count * kind.length
    return counts


def random_union(
    types: Sequence[OrbitType], K: int, rng: np.random.Generator, share: float
) -> list[int] | None:
    """Draw numbers of orbits of each type with K points in all; None where K is not a sum.

    A union of m orbits has a probability proportional to share**m: the smaller `share`, the fewer
    orbits.
    """
    order = rng.permutation(len(types))
    shuffled = [types[i] for i in order]
    weights = [_weights(shuffled[i:], K, share) for i in range(len(shuffled) + 1)]
    if not weights[0][K]:
        return None
    counts, remaining = [0] * len(types), K
    for i, kind in zip(order, shuffled, strict=True):
        weights.pop(0)
        numbers = np.arange(min(kind.capacity, remaining // kind.length) + 1)
        chances = share**numbers * weights[0][remaining - numbers * kind.length]
        counts[i] = int(rng.choice(numbers, p=chances / chances.sum()))
        remaining -= counts[i] * kind.length
    return counts


def largest_sum(types: Sequence[OrbitType], K: int) -> int:
    """Return the largest number of points, at most K, that unions of orbits have."""
    return int(np.flatnonzero(_weights(types, K, 1.0))[-1])


def _weights(types: Sequence[OrbitType], K: int, share: float) -> np.ndarray:
    """Sum share**(number of orbits) over the unions with 0, 1, .. K points, shape (K + 1,)."""
    total = np.zeros(K + 1)
    total[0] = 1.0
    for kind in types:
        previous = total.copy()
        if kind.capacity > K // kind.length:
            for k in range(kind.length, K + 1):
                total[k] += share * total[k - kind.length]
        else:
            for count in range(1, kind.capacity + 1):
                shift = count * kind.length
                total[shift:] += share**count * previous[: K + 1 - shift]
        total /= total.max()
    return total


def _orbit_type(group: np.ndarray, basis: np.ndarray) -> OrbitType:
    point = basis @ np.cos(np.arange(1, basis.shape[1] + 1) ** 2)  # generic: no matrix favours it
    moved = group @ point
    first: list[int] = []
    for i in range(len(group)):
        if not first or np.abs(moved[first] - moved[i]).max(1).min() > 2 * _EIGENVALUE_TOLERANCE:
            first.append(i)
    dimension = basis.shape[1]
    swapped = dimension == 1 and bool((np.abs(moved + point).max(1) < _EIGENVALUE_TOLERANCE).any())
    return OrbitType(
        length=len(first),
        dimension=dimension,
        projection=basis @ basis.T,
        images=group[first],
        capacity=(1 if swapped else 2) if dimension == 1 else 1 << 30,
    )


def _fixed_space(symmetric: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return a basis (d, e) of the part of a space that a matrix fixes.

    Args:
        symmetric: the symmetric part of the matrix in coordinates of the basis, shape (f, f).
        basis: of the space, shape (d, f).
    """
    values, vectors = np.linalg.eigh(symmetric)
    return np.asarray(basis @ vectors[:, values > 1.0 - _EIGENVALUE_TOLERANCE])


def _distinct(bases: list[np.ndarray]) -> list[np.ndarray]:
    """Return one basis (d, f) of each space."""
    probe = np.sin(np.arange(1, 2 * bases[0].shape[0] + 1) ** 2).reshape(2, -1)
    distinct = {
        tuple(np.round([b.shape[1], *((probe[0] @ b) @ (probe @ b).T)], 6)): b for b in bases
    }
    return list(distinct.values())


def _fingerprint(group: np.ndarray, basis: np.ndarray) -> tuple[float, ...]:
    """Return numbers that are equal for spaces (d, f) that the group maps onto each other."""
    d = len(basis)
    probe = np.sin(np.arange(1, 2 * d + 1) ** 2).reshape(2, d)
    moved = np.einsum("nab,bf->nfa", group, basis) @ probe.T  # (n, f, 2)
    values = (moved[..., 0] * moved[..., 1]).sum(1)
    return (basis.shape[1], *np.round([(values**2).mean(), (values**3).mean()], 6))
