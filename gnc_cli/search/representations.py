"""Finite groups as multiplication tables, and their real orthogonal representations.

Element i times element j is element `table[i, j]`; element 0 is the unit. The regular
representation permutes the elements, and contains every irreducible one. A random symmetric
matrix that commutes with it has the irreducible subspaces as its eigenspaces.
"""

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache

import numpy as np

_SAME = 1e-6


class Group:
    """A finite group."""

    def __init__(self, name: str, table: np.ndarray) -> None:
        self.name = name
        self.table = table
        """Products, shape (n, n)."""

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.table)

    @cached_property
    def irreducibles(self) -> list[np.ndarray]:
        """The real irreducible representations, one of each class, each of shape (n, f, f).

        The smallest first, of these the trivial one. Orthogonal, and closed under products, to
        about 1e-15.
        """
        n, table = self.order, self.table
        inverse = np.argmin(table, axis=1)
        coefficients = np.random.default_rng(n).standard_normal(n)
        coefficients += coefficients[inverse]
        # Right multiplication commutes with left multiplication: C[i, j] = c(i^-1 j).
        values, vectors = np.linalg.eigh(coefficients[table[inverse]])
        edges = np.flatnonzero(np.diff(values) > _SAME) + 1
        irreducibles: dict[tuple[float, ...], np.ndarray] = {}
        for basis in np.split(vectors, edges, axis=1):
            # Left multiplication by g takes the basis vector e_i to e_(g i).
            moved = basis[table[inverse]]  # (n, n, f): row i is the coordinate at g^-1 i
            matrices = np.einsum("ia,gib->gab", basis, moved)
            key = tuple(np.trace(matrices, axis1=1, axis2=2).round(5) + 0.0)
            if key not in irreducibles:
                irreducibles[key] = _closed(matrices, table)
        return sorted(
            irreducibles.values(), key=lambda m: (m.shape[1], -m.trace(axis1=1, axis2=2).sum())
        )


@cache
def cyclic_group(n: int) -> Group:
    """Addition modulo n."""
    elements = np.arange(n)
    return Group(f"Z{n}", (elements[:, None] + elements) % n)


@cache
def dicyclic_group(n: int) -> Group:
    """Order 4 n: a^(2n) = 1, x^2 = a^n, x a = a^-1 x; n = 2 are the quaternions."""
    k = np.arange(4 * n)
    a, x = k % (2 * n), k // (2 * n)
    turn = a[:, None] + np.where(x[:, None] == 1, -a, a) + n * (x[:, None] & x)
    return Group(f"Dic{n}", turn % (2 * n) + 2 * n * (x[:, None] ^ x))


def permutation_group(name: str, generators: np.ndarray, most: int) -> Group | None:
    """The group that permutations (g, points) generate; None where its order is above `most`."""
    elements = generated(generators, most)
    if elements is None:
        return None
    number = {row.tobytes(): i for i, row in enumerate(elements)}
    products = elements[:, elements]  # [i, j, x] = i(j(x))
    lookup = [number[row.tobytes()] for row in products.reshape(-1, elements.shape[1])]
    return Group(name, np.array(lookup).reshape(len(elements), -1))


def generated(generators: np.ndarray, most: int) -> np.ndarray | None:
    """All products of permutations (g, points), the unit first, shape (n, points).

    None where there are more than `most`.
    """
    generators = np.asarray(generators, dtype=np.int64)
    rows = [np.arange(generators.shape[1])]
    known = {rows[0].tobytes()}
    for row in rows:  # grows while it is read
        for product in generators[:, row]:
            if product.tobytes() not in known:
                if len(rows) == most:
                    return None
                known.add(product.tobytes())
                rows.append(product)
    return np.array(rows)


@lru_cache(maxsize=64)
def direct_product(a: Group, b: Group) -> Group:
    """Pairs of elements."""
    table = a.table[:, None, :, None] * b.order + b.table[None, :, None, :]
    return Group(f"{a.name} x {b.name}", table.reshape(a.order * b.order, -1))


def _closed(matrices: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Matrices that are a representation nearly, made one to rounding.

    D(g) <- mean over h of D(g h) D(h)^-1 squares the error; then the nearest orthogonal matrices.
    """
    for _ in range(2):
        sums = [np.tensordot(matrices[row], matrices, ([0, 2], [0, 2])) for row in table]
        matrices = np.array(sums) / len(table)
        for _ in range(2):
            square = matrices.transpose(0, 2, 1) @ matrices
            matrices = matrices @ (1.5 * np.eye(matrices.shape[1]) - 0.5 * square)
    return np.asarray(matrices)


def rational_blocks(group: Group) -> list[list[int]]:
    """The irreducible representations in classes whose sums have rational characters.

    Conjugates (D(g) -> character of g^e, e coprime to the exponent) are in one class. Numbers
    count `Group.irreducibles`.
    """
    characters = np.array([np.trace(m, axis1=1, axis2=2) for m in group.irreducibles])
    probe = np.sin(np.arange(1, group.order + 1) ** 2)
    own = characters @ probe
    elements = np.arange(group.order)
    classes, e, power = np.arange(len(own)), 1, elements
    while power.any():
        conjugate = np.abs(own[:, None] - characters[:, power] @ probe).argmin(axis=0)
        # Powers with an e not coprime to the exponent do not permute the characters.
        error = np.abs(characters[conjugate] - characters[:, power]).max()
        if error < 1e-4 and len(np.unique(conjugate)) == len(own):
            for i, j in enumerate(conjugate):
                classes[classes == classes[j]] = classes[i]
        e, power = e + 1, group.table[power, elements]
    return [np.flatnonzero(classes == each).tolist() for each in np.unique(classes)]


def random_representation(
    rng: np.random.Generator, group: Group, d: int, *, rational: bool
) -> np.ndarray:
    """A random sum of irreducible representations of dimension d, shape (n, d, d).

    A first part that tells apart as many elements as d dimensions can. The others are drawn as
    often as they occur in the regular representation: independently, or so evenly that the sum is
    nearly a multiple of it, as on points that the group permutes freely.

    Args:
        rational: conjugate representations occur equally often, where d allows that of a part that
            tells all elements apart.
    """
    parts = group.irreducibles
    blocks = rational_blocks(group) if rational else [[i] for i in range(len(parts))]
    sizes = np.array([sum(parts[i].shape[1] for i in block) for block in blocks])
    kernels = np.array([_kernel(parts, block) for block in blocks])
    least = kernels[sizes <= d].min()
    if rational and least > kernels.min():
        return random_representation(rng, group, d, rational=False)
    chosen = [int(rng.choice(np.flatnonzero((sizes <= d) & (kernels == least))))]
    left = d - sizes[chosen[0]]
    # Copies of a part arrive at its rate: at random times, or one in each unit of time.
    rates = np.array([_regular(parts[block[0]]) for block in blocks])
    if rng.random() < 0.5:
        times = rng.exponential(size=(len(blocks), d)).cumsum(axis=1)
    else:
        times = np.arange(d) + rng.random((len(blocks), d))
    for copy in np.argsort(times / rates[:, None], axis=None):
        block = int(copy // d)
        if sizes[block] <= left:
            chosen.append(block)
            left -= sizes[block]
    return direct_sum([parts[i] for block in chosen for i in blocks[block]])


def _regular(part: np.ndarray) -> float:
    """How often an irreducible representation (n, f, f) occurs in the regular one."""
    character = np.trace(part, axis1=1, axis2=2)
    return float(part.shape[1] / (character @ character / len(part)))


def direct_sum(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Representations (n, f_i, f_i) on coordinates of their own, shape (n, d, d)."""
    d = sum(part.shape[1] for part in parts)
    matrices, at = np.zeros((len(parts[0]), d, d)), 0
    for part in parts:
        end = at + part.shape[1]
        matrices[:, at:end, at:end] = part
        at = end
    return matrices


def _kernel(parts: list[np.ndarray], block: list[int]) -> int:
    """How many elements act as the unit."""
    size = sum(parts[i].shape[1] for i in block)
    character = sum(np.trace(parts[i], axis1=1, axis2=2) for i in block)
    return int((character > size - 1e-4).sum())
