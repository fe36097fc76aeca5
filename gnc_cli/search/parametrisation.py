"""Symmetry parametrisation: which rows of a code are unknown, and how all K rows follow from them.

`free`: every row. `extending(F)`: given rows stay, the others are placed around them.
`orbits(G)`: a finite group of n orthogonal matrices acts. One representative per orbit is unknown,
and a descent costs up to n times less. Orbits shorter than n lie in the fixed space of a subgroup:
`projections` keeps their representatives there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.search.orbit_types import (
    OrbitType,
    largest_sum,
    longest_first,
    orbit_types,
    random_union,
)

if TYPE_CHECKING:
    import torch


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
    given, d = fixed.shape
    return Parametrisation(d, K, K - given, np.arange(given, K), fixed=fixed)


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
    """So many orbits of each type; UsageError where there are none with K points."""
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
