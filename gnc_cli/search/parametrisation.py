"""Symmetry parametrisation: which rows of a code are unknown, and how all K rows follow from them.

`free`: every row. `extending(F)`: given rows stay, the others are placed around them.
`orbits(G)`: a finite group of n orthogonal matrices acts. One representative per orbit is unknown,
and a descent costs up to n times less. Orbits shorter than n lie in the fixed space of a subgroup:
`projections` keeps their representatives there.

Points with the same stabiliser S (the matrices that keep them) lie in Fix(S), the space of vectors
that S keeps, and have |G| / |S| images, one per coset of S. Stabilisers conjugate in G give the
same orbits, so one of each class is a *type* of orbit. The fixed spaces of stabilisers are the
intersections of the fixed spaces of single matrices.

In a fixed space of dimension 2 or more nearly every point has S as its stabiliser, and orbits can
be placed without end. An axis has two unit points, one orbit where some matrix swaps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    import torch


_TOLERANCE = 1e-6
_MOST_TYPES = 60
"""Types that are looked for: groups of many reflections have more than a draw can use."""


@dataclass(frozen=True)
class OrbitType:
    """Orbits whose points have conjugate stabilisers."""

    length: int
    """Points of an orbit."""
    dimension: int
    """Of the fixed space."""
    projection: np.ndarray
    """Onto the fixed space, shape (d, d)."""
    images: np.ndarray
    """One matrix per coset of the stabiliser, the unit first, shape (length, d, d)."""
    capacity: int
    """Orbits of this type there are: 1 or 2 on an axis, else without limit (a large number)."""


@dataclass(frozen=True)
class Parametrisation:
    """How M unknown unit rows become a code of K rows, in d dimensions."""

    d: int
    K: int
    unknown: int
    """M, the number of unknown rows."""
    representatives: np.ndarray
    """The row of the code that each unknown row is, shape (M,)."""
    fixed: np.ndarray | None = None
    """Given rows, first in the code, shape (K - M, d)."""
    images: np.ndarray | None = None
    """Orbits only: row k of the code is `images[k] @ unknown[source[k]]`, shape (K, d, d)."""
    source: np.ndarray | None = None
    """Orbits only, shape (K,)."""
    projections: np.ndarray | None = None
    """Orbits only: onto the space where each representative may lie, shape (M, d, d)."""
    _tensors: "dict[Any, torch.Tensor]" = field(default_factory=dict, repr=False, compare=False)
    """The arrays above as tensors, by name, type and device: converted once, not at each step."""

    @property
    def num_fixed(self) -> int:
        """Given rows at the head of the code."""
        return 0 if self.fixed is None else len(self.fixed)

    @property
    def is_free(self) -> bool:
        """Every row is an unknown of its own."""
        return self.fixed is None and self.images is None

    def expand(self, unknown: "torch.Tensor") -> "torch.Tensor":
        """The whole code (R, K, d) from the unknown rows (R, M, d), differentiable."""
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
        """Vectors (R, M, d) at the unknown rows, kept where they may lie."""
        if self.projections is None:
            return vectors
        import torch

        onto = self.tensor("projections", vectors.device, vectors.dtype)
        return torch.einsum("mab,rmb->rma", onto, vectors)

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: the arrays alone."""
        return {**self.__dict__, "_tensors": {}}

    def tensor(
        self, name: str, device: "torch.device", dtype: "torch.dtype | None" = None
    ) -> "torch.Tensor":
        """One of the arrays, converted at the first call."""
        import torch

        key = name, device, dtype
        if key not in self._tensors:
            array = getattr(self, name)
            self._tensors[key] = torch.as_tensor(array, dtype=dtype, device=device)
        return self._tensors[key]

    def code(self, unknown: np.ndarray) -> np.ndarray:
        """`expand` for one array (M, d) in NumPy float64."""
        if self.images is not None:
            return np.asarray((self.images @ unknown[self.source][:, :, None])[..., 0])
        return unknown if self.fixed is None else np.concatenate([self.fixed, unknown])

    def random(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Random unknown rows, shape (R, M, d)."""
        rows = rng.standard_normal((restarts, self.unknown, self.d))
        if self.projections is not None:
            rows = np.einsum("mab,rmb->rma", self.projections, rows)
            axial = np.flatnonzero(self.axial)
            for m in axial[axial > 0]:  # two orbits on one axis begin at its two ends
                if np.array_equal(self.projections[m], self.projections[m - 1]):
                    rows[:, m] = -rows[:, m - 1]
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True)

    @property
    def axial(self) -> np.ndarray:
        """Which unknown rows lie on an axis, where they cannot move, shape (M,), bool."""
        if self.projections is None:
            return np.zeros(self.unknown, dtype=bool)
        return np.asarray(np.trace(self.projections, axis1=1, axis2=2) < 1.5)


def free(d: int, K: int) -> Parametrisation:
    """All K rows are unknown."""
    return Parametrisation(d, K, K, np.arange(K))


def extending(fixed: np.ndarray, K: int) -> Parametrisation:
    """The rows of `fixed` (F, d) stay as they are; K - F rows are placed around them."""
    count, d = fixed.shape
    return Parametrisation(d, K, K - count, np.arange(count, K), fixed=fixed)


def orbits(group: np.ndarray, K: int, rng: np.random.Generator) -> Parametrisation:
    """Codes that a finite group maps to themselves: a random union of its orbits with K points.

    How much unions of few orbits are preferred is drawn too.

    Args:
        group: all its matrices, each once, the unit first, shape (n, d, d).

    Raises:
        UsageError: K is no sum of lengths of orbits.
    """
    types, share = orbit_types(group), 10.0 ** rng.uniform(-1.5, 0.0)
    return _union(types, random_union(types, K, rng, share), K, group)


def cyclic_orbits(generator: np.ndarray, order: int, K: int) -> Parametrisation:
    """Codes that the cyclic group of `generator` (d, d) maps to themselves.

    As many orbits of full length as fit; the remainder becomes short orbits, longest first.

    Raises:
        UsageError: K is no sum of lengths of orbits.
    """
    group = np.array([np.linalg.matrix_power(generator, j) for j in range(order)])
    types = orbit_types(group)
    return _union(types, longest_first(types, K), K, group)


def _union(
    types: Sequence[OrbitType], counts: list[int] | None, K: int, group: np.ndarray
) -> Parametrisation:
    """The union of `counts` orbits of each type; None is a UsageError: no union has K points."""
    n, d = group.shape[:2]
    if counts is None:
        fits = largest_sum(types, K)
        raise UsageError(
            f"K = {K} is no sum of orbit lengths of this symmetry of order {n}"
            f" in {d} dimensions; try K = {fits if fits >= 2 else n} or another order"
        )
    chosen = [kind for kind, count in zip(types, counts, strict=True) for _ in range(count)]
    lengths = np.array([kind.length for kind in chosen])
    free_everywhere = all(kind.dimension == d for kind in chosen)
    return Parametrisation(
        d,
        K,
        len(chosen),
        np.cumsum(lengths) - lengths,
        images=np.concatenate([kind.images for kind in chosen]),
        source=np.repeat(np.arange(len(chosen)), lengths),
        projections=None if free_everywhere else np.array([kind.projection for kind in chosen]),
    )


def random_generator(rng: np.random.Generator, d: int, order: int) -> np.ndarray:
    """An orthogonal matrix g (d, d) with g**order = 1 and no smaller power 1.

    The first plane turns by 2 pi / order, which among the powers of g is no restriction where some
    plane turns by a unit; the others by random multiples. A coordinate left over keeps or, for an
    even order, changes its sign.
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
    """The types of orbits of a group, longest first, then those with more dimensions.

    Args:
        group: all its matrices, each once, the unit first, shape (n, d, d).
    """
    n, d = len(group), group.shape[-1]
    whole = np.eye(d)
    single = _distinct([_kept(m, whole) for m in (group + group.transpose(0, 2, 1)) / 2])
    single = [basis for basis in single if 0 < basis.shape[1] < d]
    spaces, seen = [whole], {_fingerprint(group, whole)}
    for basis in spaces:  # grows while it is read
        if basis.shape[1] == 1 or len(spaces) >= _MOST_TYPES:
            continue
        for other in single:
            across = basis.T @ other
            smaller = _kept(across @ across.T, basis)
            if 0 < smaller.shape[1] < basis.shape[1]:
                key = _fingerprint(group, smaller)
                if key not in seen:
                    seen.add(key)
                    spaces.append(smaller)
    types = [_orbit_type(group, basis) for basis in spaces]
    # Not every intersection is met before the list is full: what remains are still orbits.
    return sorted(types, key=lambda t: (-t.length, -t.dimension)) if n > 1 else types


def longest_first(types: Sequence[OrbitType], K: int) -> list[int] | None:
    """How many orbits of each type: as many of the longest as leave a sum; None where K is none."""
    weights = [_weights(types[i:], K, 1.0) for i in range(len(types) + 1)]
    if not weights[0][K]:
        return None
    counts, left = [], K
    for i, kind in enumerate(types):
        count = min(kind.capacity, left // kind.length)
        while not weights[i + 1][left - count * kind.length]:
            count -= 1
        counts.append(count)
        left -= count * kind.length
    return counts


def random_union(
    types: Sequence[OrbitType], K: int, rng: np.random.Generator, share: float
) -> list[int] | None:
    """A random number of orbits of each type with K points in all; None where K is no sum.

    A union of m orbits has a probability proportional to share**m: the smaller `share`, the fewer
    orbits.
    """
    order = rng.permutation(len(types))
    drawn = [types[i] for i in order]
    weights = [_weights(drawn[i:], K, share) for i in range(len(drawn) + 1)]
    if not weights[0][K]:
        return None
    counts, left = [0] * len(types), K
    for i, kind in zip(order, drawn, strict=True):
        weights.pop(0)
        numbers = np.arange(min(kind.capacity, left // kind.length) + 1)
        chances = share**numbers * weights[0][left - numbers * kind.length]
        counts[i] = int(rng.choice(numbers, p=chances / chances.sum()))
        left -= counts[i] * kind.length
    return counts


def largest_sum(types: Sequence[OrbitType], K: int) -> int:
    """The largest number of points, at most K, that unions of orbits have."""
    return int(np.flatnonzero(_weights(types, K, 1.0))[-1])


def _weights(types: Sequence[OrbitType], K: int, share: float) -> np.ndarray:
    """Sum of share**(number of orbits) over the unions with 0, 1, .. K points, shape (K + 1,)."""
    total = np.zeros(K + 1)
    total[0] = 1.0
    for kind in types:
        before = total.copy()
        if kind.capacity > K // kind.length:
            for k in range(kind.length, K + 1):
                total[k] += share * total[k - kind.length]
        else:
            for count in range(1, kind.capacity + 1):
                shift = count * kind.length
                total[shift:] += share**count * before[: K + 1 - shift]
        total /= total.max()
    return total


def _orbit_type(group: np.ndarray, basis: np.ndarray) -> OrbitType:
    point = basis @ np.cos(np.arange(1, basis.shape[1] + 1) ** 2)  # generic: no matrix favours it
    moved = group @ point
    first: list[int] = []
    for i in range(len(group)):
        if not first or np.abs(moved[first] - moved[i]).max(1).min() > 2 * _TOLERANCE:
            first.append(i)
    dimension = basis.shape[1]
    swapped = dimension == 1 and bool((np.abs(moved + point).max(1) < _TOLERANCE).any())
    return OrbitType(
        length=len(first),
        dimension=dimension,
        projection=basis @ basis.T,
        images=group[first],
        capacity=(1 if swapped else 2) if dimension == 1 else 1 << 30,
    )


def _kept(symmetric: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Of `basis` (d, f) the part where a symmetric matrix in its coordinates is 1, shape (d, e)."""
    values, vectors = np.linalg.eigh(symmetric)
    return np.asarray(basis @ vectors[:, values > 1.0 - _TOLERANCE])


def _distinct(bases: list[np.ndarray]) -> list[np.ndarray]:
    """Each space once."""
    probe = np.sin(np.arange(1, 2 * bases[0].shape[0] + 1) ** 2).reshape(2, -1)
    kept = {tuple(np.round([b.shape[1], *((probe[0] @ b) @ (probe @ b).T)], 6)): b for b in bases}
    return list(kept.values())


def _fingerprint(group: np.ndarray, basis: np.ndarray) -> tuple[float, ...]:
    """Equal for spaces that the group maps onto each other."""
    d = len(basis)
    probe = np.sin(np.arange(1, 2 * d + 1) ** 2).reshape(2, d)
    moved = np.einsum("nab,bf->nfa", group, basis) @ probe.T  # (n, f, 2)
    values = (moved[..., 0] * moved[..., 1]).sum(1)
    return (basis.shape[1], *np.round([(values**2).mean(), (values**3).mean()], 6))
