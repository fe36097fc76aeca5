"""Orbits of a finite group G of orthogonal matrices: their lengths, and where their points lie.

Points with the same stabiliser S (the matrices that keep them) lie in Fix(S), the space of vectors
that S keeps, and have |G| / |S| images, one per coset of S. Stabilisers conjugate in G give the
same orbits, so one of each class is a *type* of orbit. The fixed spaces of stabilisers are the
intersections of the fixed spaces of single matrices.

In a fixed space of dimension 2 or more nearly every point has S as its stabiliser, and orbits can
be placed without end. An axis has two unit points, one orbit where some matrix swaps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
