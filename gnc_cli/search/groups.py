"""Random finite groups of orthogonal matrices: the symmetries that a search tries on a code.

Most best known codes have a symmetry, and with n matrices there are n times fewer unknown rows. The
kind of a group is its source: a family of abstract groups with a random representation, or signed
permutations. The representations of dimension d are drawn near multiples of the regular one, and
those of rational character on their own: a group that permutes vectors with rational inner products
has such a character. With these the codes of strongly regular graphs (Higman-Sims, McLaughlin,
Gewirtz) are found from random starts.

A random symmetric matrix that commutes with the regular representation, which permutes the
elements, has the irreducible subspaces as its eigenspaces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from math import gcd

import numpy as np

from gnc_cli.constructions.fields import FiniteField

_EIGENVALUE_GAP = 1e-6
"""Smallest gap between eigenvalues of two subspaces, above rounding."""
_MAX_ORDER = 240
"""Largest order of a group: its table of products stays small."""
_MAX_ABELIAN_ORDER = 100
"""Largest order of a product of cyclic groups, which has many representations to compute."""
_MAX_DRAWS = 50
"""Largest number of draws of a group that fits, before {1, -1} is taken."""
_LARGE_SHARE, _CENTRE_SHARE = 0.3, 0.25
"""Shares of the groups that may have more than 2 d matrices, and to which -1 is added."""

_Maker = Callable[[np.random.Generator, int, int], tuple[str, np.ndarray] | None]
"""Function that draws (name, matrices) for d and the largest order; None to try again."""


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group, whose element 0 is the unit."""

    name: str
    table: np.ndarray
    """Table of products, shape (n, n): element i times element j is element `table[i, j]`."""

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.table)

    @cached_property
    def irreducibles(self) -> list[np.ndarray]:
        """Real irreducible representations, one of each class, each of shape (n, f, f).

        The smallest are first, and the trivial one the first of these. They are orthogonal and
        closed under products to about 1e-15.
        """
        n, table = self.order, self.table
        inverse = np.argmin(table, axis=1)
        coefficients = np.random.default_rng(n).standard_normal(n)
        coefficients += coefficients[inverse]
        # Right multiplication commutes with left multiplication: C[i, j] = c(i^-1 j).
        values, vectors = np.linalg.eigh(coefficients[table[inverse]])
        edges = np.flatnonzero(np.diff(values) > _EIGENVALUE_GAP) + 1
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
    """Return the group of addition modulo n."""
    elements = np.arange(n)
    return Group(f"Z{n}", (elements[:, None] + elements) % n)


@cache
def dicyclic_group(n: int) -> Group:
    """Return the group of order 4 n, a^(2n) = 1, x^2 = a^n, x a = a^-1 x; quaternions: n = 2."""
    k = np.arange(4 * n)
    a, x = k % (2 * n), k // (2 * n)
    turn = a[:, None] + np.where(x[:, None] == 1, -a, a) + n * (x[:, None] & x)
    return Group(f"Dic{n}", turn % (2 * n) + 2 * n * (x[:, None] ^ x))


def permutation_group(name: str, generators: np.ndarray, max_order: int) -> Group | None:
    """Return the group that permutations (g, points) generate; None above the largest order."""
    elements = _generated(generators, max_order)
    if elements is None:
        return None
    number = {row.tobytes(): i for i, row in enumerate(elements)}
    products = elements[:, elements]  # [i, j, x] = i(j(x))
    lookup = [number[row.tobytes()] for row in products.reshape(-1, elements.shape[1])]
    return Group(name, np.array(lookup).reshape(len(elements), -1))


def _generated(generators: np.ndarray, max_order: int) -> np.ndarray | None:
    """Return all products of permutations (g, points), the unit first, shape (n, points).

    None where there are more than `max_order`.
    """
    generators = np.asarray(generators, dtype=np.int64)
    rows = [np.arange(generators.shape[1])]
    distinct = {rows[0].tobytes()}
    for row in rows:  # grows while it is read
        for product in generators[:, row]:
            if product.tobytes() not in distinct:
                if len(rows) == max_order:
                    return None
                distinct.add(product.tobytes())
                rows.append(product)
    return np.array(rows)


@lru_cache(maxsize=64)
def direct_product(a: Group, b: Group) -> Group:
    """Return the group of pairs of elements."""
    table = a.table[:, None, :, None] * b.order + b.table[None, :, None, :]
    return Group(f"{a.name} x {b.name}", table.reshape(a.order * b.order, -1))


def _closed(matrices: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Correct matrices (n, f, f) that are nearly a representation to one, up to rounding.

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
    """Partition the irreducible representations into classes whose sums have rational characters.

    Conjugates (D(g) -> character of g^e, e coprime to the exponent) are in one class. Each class
    lists indices of `Group.irreducibles`.
    """
    characters = np.array([np.trace(m, axis1=1, axis2=2) for m in group.irreducibles])
    probe = np.sin(np.arange(1, group.order + 1) ** 2)
    values = characters @ probe
    elements = np.arange(group.order)
    classes, e, power = np.arange(len(values)), 1, elements
    while power.any():
        conjugate = np.abs(values[:, None] - characters[:, power] @ probe).argmin(axis=0)
        # Powers with an e not coprime to the exponent do not permute the characters.
        error = np.abs(characters[conjugate] - characters[:, power]).max()
        if error < 1e-4 and len(np.unique(conjugate)) == len(values):
            for i, j in enumerate(conjugate):
                classes[classes == classes[j]] = classes[i]
        e, power = e + 1, group.table[power, elements]
    return [np.flatnonzero(classes == number).tolist() for number in np.unique(classes)]


def random_representation(
    rng: np.random.Generator, group: Group, d: int, *, rational: bool
) -> np.ndarray:
    """Draw a sum of irreducible representations of dimension d, shape (n, d, d).

    A first part has the smallest kernel that d dimensions allow. The others are drawn at the rates
    at which they occur in the regular representation: independently, or so evenly that the sum is
    nearly a multiple of it, as on points that the group permutes freely.

    Args:
        rng: the source of random choices.
        group: with its irreducible representations.
        d: dimension.
        rational: conjugate representations occur equally often, where d is large enough for a part
            of this kind with the smallest kernel.
    """
    parts = group.irreducibles
    blocks = rational_blocks(group) if rational else [[i] for i in range(len(parts))]
    sizes = np.array([sum(parts[i].shape[1] for i in block) for block in blocks])
    characters = [sum(np.trace(parts[i], axis1=1, axis2=2) for i in block) for block in blocks]
    # The number of elements that act as the unit.
    kernels = np.array([(c > n - 1e-4).sum() for c, n in zip(characters, sizes, strict=True)])
    min_kernel = kernels[sizes <= d].min()
    if rational and min_kernel > kernels.min():
        return random_representation(rng, group, d, rational=False)
    selected = [int(rng.choice(np.flatnonzero((sizes <= d) & (kernels == min_kernel))))]
    remaining = d - sizes[selected[0]]
    # Copies of a part arrive at its rate: at random times, or one in each unit of time.
    rates = np.array([_regular(parts[block[0]]) for block in blocks])
    if rng.random() < 0.5:
        times = rng.exponential(size=(len(blocks), d)).cumsum(axis=1)
    else:
        times = np.arange(d) + rng.random((len(blocks), d))
    for copy in np.argsort(times / rates[:, None], axis=None):
        block = int(copy // d)
        if sizes[block] <= remaining:
            selected.append(block)
            remaining -= sizes[block]
    return _direct_sum([parts[i] for block in selected for i in blocks[block]])


def _regular(part: np.ndarray) -> float:
    """Count the copies of an irreducible representation (n, f, f) in the regular one."""
    character = np.trace(part, axis1=1, axis2=2)
    return float(part.shape[1] / (character @ character / len(part)))


def _direct_sum(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the direct sum of representations (n, f_i, f_i), shape (n, d, d)."""
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()
    matrices = np.zeros((len(parts[0]), ends[-1], ends[-1]))
    for part, end in zip(parts, ends, strict=True):
        matrices[:, end - part.shape[1] : end, end - part.shape[1] : end] = part
    return matrices


def random_group(
    rng: np.random.Generator, d: int, K: int, kind: str | None = None
) -> tuple[str, np.ndarray]:
    """Draw a finite subgroup of O(d) whose order is from 2 to 2 K, and at most 240.

    Mostly its order is at most 2 d: then the unknown rows have about as many coordinates as the
    code has points, and most groups allow good codes. Larger groups allow few, but famous ones.

    Args:
        rng: the source of random choices.
        d: dimension.
        K: number of points of the code.
        kind: of `KINDS`; None draws one by its weight.

    Returns:
        A name, `kind: group`, and all matrices, each once, the unit first, shape (n, d, d).
    """
    largest = max(4, min(2 * K, _MAX_ORDER))
    max_order = largest if rng.random() < _LARGE_SHARE else min(largest, max(6, 2 * d))
    weights = np.array([weight for _, weight in KINDS.values()])
    for _ in range(_MAX_DRAWS):
        selected = kind or str(rng.choice(list(KINDS), p=weights / weights.sum()))
        named_group = KINDS[selected][0](rng, d, max_order)
        if named_group is None:
            max_order = largest if kind else max_order
            continue
        name, matrices = named_group
        matrices = _each_once(matrices)
        if rng.random() < _CENTRE_SHARE and 2 * len(matrices) <= max_order:
            matrices = _each_once(np.concatenate([matrices, -matrices]))
            name += " and -1"
        if len(matrices) > 1:
            return f"{selected}: {name}", matrices
    return "antipodal: -1", np.array([np.eye(d), -np.eye(d)])


def _each_once(matrices: np.ndarray) -> np.ndarray:
    """Return the different matrices, in their order, shape (m, d, d)."""
    d = matrices.shape[1]
    probe = np.sin(np.arange(1, 2 * d * d + 1) ** 2).reshape(2, -1)
    keys = (matrices.reshape(len(matrices), -1) @ probe.T).round(7) + 0.0
    _, first = np.unique(keys, axis=0, return_index=True)
    return matrices[np.sort(first)]


def _size(rng: np.random.Generator, smallest: int, largest: int) -> int:
    """Draw an integer, log-uniformly."""
    return int(np.exp(rng.uniform(np.log(smallest), np.log(largest + 1))))


def _represented(
    rng: np.random.Generator, group: Group, d: int, rational: bool | None = None
) -> tuple[str, np.ndarray]:
    """Draw a representation of a group, of rational character or not; by chance for None."""
    rational = bool(rng.random() < 0.5) if rational is None else rational
    return group.name, random_representation(rng, group, d, rational=rational)


def _cyclic(
    rng: np.random.Generator, d: int, max_order: int, rational: bool = False
) -> tuple[str, np.ndarray] | None:
    return _represented(rng, cyclic_group(_size(rng, 2, min(max_order, 30))), d, rational)


def _dihedral(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    if max_order >= 8 and rng.random() < 0.3:
        return _represented(rng, dicyclic_group(_size(rng, 2, min(max_order // 4, 10))), d)
    return _represented(rng, _dihedral_group(_size(rng, 2, min(max_order // 2, 24))), d)


def _dihedral_group(n: int) -> Group:
    if n == 2:
        return direct_product(cyclic_group(2), cyclic_group(2))
    return _affine_group(n, -1)


@cache
def _affine_group(n: int, r: int) -> Group:
    """Return the group of maps x -> r^j x + a modulo n."""
    x = np.arange(n)
    group = permutation_group(f"Z{n}:<{r % n}>", np.array([x + 1, r * x]) % n, n * n)
    assert group is not None
    return group


@cache
def _field_group(q: int, index: int) -> Group:
    """Return the maps x -> b x + a of a field of q elements, b a power of g^index, g primitive."""
    field = FiniteField(q)
    x = np.arange(q)
    shifts = [field.add(x, field.p**j) for j in range(field.n)]
    times = field.multiply(x, int(field.exp[index % (q - 1)]))
    group = permutation_group(f"F{q}:Z{(q - 1) // index}", np.array([*shifts, times]), q * q)
    assert group is not None
    return group


def _frobenius(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    if rng.random() < 0.3:
        choices = [
            (q, index)
            for q in (4, 8, 9, 16, 25, 27)
            for index in range(1, q - 1)
            if (q - 1) % index == 0 and q * (q - 1) // index <= max_order
        ]
        if not choices:
            return None
        return _represented(rng, _field_group(*choices[rng.integers(len(choices))]), d)
    n = _size(rng, 3, max(3, min(max_order // 2, 40)))
    units = [r for r in range(2, n) if gcd(r, n) == 1 and n * _order(r, n) <= max_order]
    if not units:
        return None
    return _represented(rng, _affine_group(n, int(rng.choice(units))), d)


def _order(r: int, n: int) -> int:
    """Return the smallest e > 0 with r^e = 1 modulo n."""
    return next(e for e in range(1, n) if pow(r, e, n) == 1)


def _abelian(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    group = cyclic_group(int(rng.integers(2, 8)))
    for _ in range(int(rng.integers(1, 4))):
        group = direct_product(group, cyclic_group(int(rng.integers(2, 8))))
    return None if group.order > min(max_order, _MAX_ABELIAN_ORDER) else _represented(rng, group, d)


@cache
def _polyhedral_groups() -> tuple[Group, ...]:
    """List the rotation groups of tetrahedron, octahedron and icosahedron, and related groups."""
    generators = {
        "A4": [[1, 2, 0, 3], [1, 0, 3, 2]],
        "S4": [[1, 2, 3, 0], [1, 0, 2, 3]],
        "A5": [[1, 2, 3, 4, 0], [1, 2, 0, 3, 4]],
        "S5": [[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]],
        "SL(2,3)": _moved_vectors(3, [[1, 1], [0, 1]], [[1, 0], [1, 1]]),
        "GL(2,3)": _moved_vectors(3, [[1, 1], [0, 1]], [[0, 1], [1, 0]]),
        "SL(2,5)": _moved_vectors(5, [[1, 1], [0, 1]], [[1, 0], [1, 1]]),
        "PSL(2,7)": [[1, 2, 3, 4, 5, 6, 0, 7], [7, 6, 3, 2, 5, 4, 1, 0]],
    }
    groups = (permutation_group(name, np.array(g), _MAX_ORDER) for name, g in generators.items())
    return tuple(filter(None, groups))


def _moved_vectors(p: int, *matrices: list[list[int]]) -> list[list[int]]:
    """Return the vectors modulo p, by number, to which matrices take all vectors in order."""
    vectors = np.array([(x, y) for x in range(p) for y in range(p)])
    return [((vectors @ np.array(m).T % p) @ np.array([p, 1])).tolist() for m in matrices]


def _polyhedral(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    fitting = [group for group in _polyhedral_groups() if group.order <= max_order]
    if not fitting:
        return None
    group = fitting[rng.integers(len(fitting))]
    room = max_order // group.order
    if d > 3 and room >= 2 and rng.random() < 0.4:
        group = direct_product(group, _small(rng, min(room, 12)))
    return _represented(rng, group, d)


def _small(rng: np.random.Generator, max_order: int) -> Group:
    """Draw a cyclic or dihedral group of order 2 to `max_order`."""
    if max_order >= 6 and rng.random() < 0.4:
        return _dihedral_group(_size(rng, 3, max_order // 2))
    return cyclic_group(_size(rng, 2, max_order))


def _permutations(
    rng: np.random.Generator, d: int, max_order: int
) -> tuple[str, np.ndarray] | None:
    """Draw a group that one or two random permutations of few points generate."""
    points = int(rng.integers(4, 11))
    generators = [rng.permutation(points) for _ in range(int(rng.integers(1, 3)))]
    group = permutation_group(f"permutations of {points}", np.array(generators), max_order)
    return None if group is None or group.order == 1 else _represented(rng, group, d)


def _signed(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    """Draw a group that few signed permutations of the coordinates generate.

    They act on the 2 d points +-e_i: e_i is point i, -e_i point i + d.
    """
    generators = []
    for _ in range(int(rng.integers(1, 4))):
        places = _few_cycles(rng, d) if rng.random() < 0.5 else rng.permutation(d)
        signs = rng.random(d) < (0.5 if rng.random() < 0.5 else 0.0)
        targets = places + d * signs
        generators.append(np.concatenate([targets, (targets + d) % (2 * d)]))
    rows = _generated(np.array(generators), max_order)
    if rows is None:
        return None
    matrices = np.zeros((len(rows), d, d))
    images = rows[:, :d]
    matrices[np.arange(len(rows))[:, None], images % d, np.arange(d)] = 1.0 - 2.0 * (images >= d)
    return f"signed permutations, order {len(rows)}", matrices


def _few_cycles(rng: np.random.Generator, d: int) -> np.ndarray:
    """Draw a permutation whose cycles have one length, except for points that stay."""
    length = int(rng.integers(1, d + 1))
    order, places = rng.permutation(d), np.arange(d)
    for cycle in order[: d // length * length].reshape(-1, length):
        places[cycle] = np.roll(cycle, -1)
    return places


def _blocks(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray] | None:
    """Draw a product of two groups that act on separate coordinates."""
    if d < 3:
        return None
    first = int(rng.integers(2, d - 1)) if d > 3 else 2
    a = _small(rng, min(24, max_order // 2))
    b = _small(rng, min(24, max_order // a.order))
    rational = bool(rng.random() < 0.5)
    one = random_representation(rng, a, first, rational=rational).repeat(b.order, axis=0)
    two = np.tile(random_representation(rng, b, d - first, rational=rational), (a.order, 1, 1))
    return f"{a.name} on {first} + {b.name} on {d - first}", _direct_sum([one, two])


def _antipodal(rng: np.random.Generator, d: int, max_order: int) -> tuple[str, np.ndarray]:
    return "-1", np.array([np.eye(d), -np.eye(d)])


KINDS: dict[str, tuple[_Maker, float]] = {
    "antipodal": (_antipodal, 0.5),
    "cyclic": (_cyclic, 2.0),
    "rational cyclic": (partial(_cyclic, rational=True), 3.0),
    "dihedral": (_dihedral, 1.5),
    "frobenius": (_frobenius, 2.0),
    "abelian": (_abelian, 1.5),
    "polyhedral": (_polyhedral, 2.0),
    "permutations": (_permutations, 3.0),
    "signed": (_signed, 3.0),
    "blocks": (_blocks, 0.3),
}
"""Kinds of groups and their weights in a draw, by their results at equal time for (d, K) from
(5, 41) to (21, 77)."""
