"""Random finite groups of orthogonal matrices: the symmetries that a search tries on a code.

Most best known codes have a symmetry, and with n matrices there are n times fewer unknown rows. A
kind names where a group comes from: a family of abstract groups with a random representation, or
signed permutations. The representations of dimension d are drawn near multiples of the regular one
(`representations`), those of rational character apart: a group that permutes vectors with rational
inner products has such a character, and by it the codes of strongly regular graphs (Higman-Sims,
McLaughlin, Gewirtz) are found from random starts.
"""

from collections.abc import Callable
from functools import cache, partial
from math import gcd

import numpy as np

from gnc_cli.constructions.fields import FiniteField
from gnc_cli.search.representations import (
    Group,
    cyclic_group,
    dicyclic_group,
    direct_product,
    direct_sum,
    generated,
    permutation_group,
    random_representation,
)

_MOST = 240
"""Largest order of a group."""
_MOST_ABELIAN = 100
"""The same for products of cyclic groups, which have many representations to compute."""
_TRIES = 50
_LARGE = 0.3
"""Share of the groups that may have more than 2 d matrices."""
_WITH_CENTRE = 0.25
"""Share of the groups that -1 is added to."""

_Maker = Callable[[np.random.Generator, int, int], tuple[str, np.ndarray] | None]
"""Draws (name, matrices) for a random generator, d and the largest order; None to try again."""


def random_group(
    rng: np.random.Generator, d: int, K: int, kind: str | None = None
) -> tuple[str, np.ndarray]:
    """A random finite subgroup of O(d) whose order is from 2 to 2 K, and at most 240.

    Mostly its order is at most 2 d: then the unknown rows have about as many coordinates as the
    code has points, and most groups allow good codes. Larger groups allow few, and famous ones.

    Args:
        kind: of `KINDS`; None draws one by its weight.

    Returns:
        A name, `kind: group`, and all matrices, each once, the unit first, shape (n, d, d).
    """
    largest = max(4, min(2 * K, _MOST))
    most = largest if rng.random() < _LARGE else min(largest, max(6, 2 * d))
    weights = np.array([weight for _, weight in KINDS.values()])
    for _ in range(_TRIES):
        chosen = kind or str(rng.choice(list(KINDS), p=weights / weights.sum()))
        drawn = KINDS[chosen][0](rng, d, most)
        if drawn is None:
            most = largest if kind else most
            continue
        name, matrices = drawn
        matrices = _each_once(matrices)
        if rng.random() < _WITH_CENTRE and 2 * len(matrices) <= most:
            matrices = _each_once(np.concatenate([matrices, -matrices]))
            name += " and -1"
        if len(matrices) > 1:
            return f"{chosen}: {name}", matrices
    return "antipodal: -1", np.array([np.eye(d), -np.eye(d)])


def _each_once(matrices: np.ndarray) -> np.ndarray:
    """Different matrices, in their order."""
    d = matrices.shape[1]
    probe = np.sin(np.arange(1, 2 * d * d + 1) ** 2).reshape(2, -1)
    keys = (matrices.reshape(len(matrices), -1) @ probe.T).round(7) + 0.0
    _, first = np.unique(keys, axis=0, return_index=True)
    return matrices[np.sort(first)]


def _size(rng: np.random.Generator, least: int, most: int) -> int:
    """A whole number, each doubling of it as likely as the next."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


def _represented(
    rng: np.random.Generator, group: Group, d: int, rational: bool | None = None
) -> tuple[str, np.ndarray]:
    """A representation of the group; of rational character or not; by chance for None."""
    rational = bool(rng.random() < 0.5) if rational is None else rational
    return group.name, random_representation(rng, group, d, rational=rational)


def _cyclic(
    rng: np.random.Generator, d: int, most: int, rational: bool = False
) -> tuple[str, np.ndarray] | None:
    return _represented(rng, cyclic_group(_size(rng, 2, min(most, 30))), d, rational)


def _dihedral(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    if most >= 8 and rng.random() < 0.3:
        return _represented(rng, dicyclic_group(_size(rng, 2, min(most // 4, 10))), d)
    return _represented(rng, _dihedral_group(_size(rng, 2, min(most // 2, 24))), d)


def _dihedral_group(n: int) -> Group:
    if n == 2:
        return direct_product(cyclic_group(2), cyclic_group(2))
    return _affine_group(n, -1)


@cache
def _affine_group(n: int, r: int) -> Group:
    """The maps x -> r^j x + a modulo n."""
    x = np.arange(n)
    group = permutation_group(f"Z{n}:<{r % n}>", np.array([x + 1, r * x]) % n, n * n)
    assert group is not None
    return group


@cache
def _field_group(q: int, index: int) -> Group:
    """The maps x -> b x + a of the field of q elements, b a power of g^index, g primitive."""
    field = FiniteField(q)
    x = np.arange(q)
    shifts = [field.add(x, field.p**j) for j in range(field.n)]
    times = field.multiply(x, int(field.exp[index % (q - 1)]))
    group = permutation_group(f"F{q}:Z{(q - 1) // index}", np.array([*shifts, times]), q * q)
    assert group is not None
    return group


def _frobenius(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    if rng.random() < 0.3:
        choices = [
            (q, index)
            for q in (4, 8, 9, 16, 25, 27)
            for index in range(1, q - 1)
            if (q - 1) % index == 0 and q * (q - 1) // index <= most
        ]
        if not choices:
            return None
        return _represented(rng, _field_group(*choices[rng.integers(len(choices))]), d)
    n = _size(rng, 3, max(3, min(most // 2, 40)))
    units = [r for r in range(2, n) if gcd(r, n) == 1 and n * _order(r, n) <= most]
    if not units:
        return None
    return _represented(rng, _affine_group(n, int(rng.choice(units))), d)


def _order(r: int, n: int) -> int:
    """The least e > 0 with r^e = 1 modulo n."""
    return next(e for e in range(1, n) if pow(r, e, n) == 1)


def _abelian(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    group = cyclic_group(int(rng.integers(2, 8)))
    for _ in range(int(rng.integers(1, 4))):
        group = direct_product(group, cyclic_group(int(rng.integers(2, 8))))
    return None if group.order > min(most, _MOST_ABELIAN) else _represented(rng, group, d)


@cache
def _polyhedral_groups() -> tuple[Group, ...]:
    """Rotations of tetrahedron, octahedron and icosahedron, their binary groups, and relatives."""
    symmetric4 = [[1, 2, 3, 0], [1, 0, 2, 3]]
    candidates = [
        permutation_group("A4", np.array([[1, 2, 0, 3], [1, 0, 3, 2]]), _MOST),
        permutation_group("S4", np.array(symmetric4), _MOST),
        permutation_group("A5", np.array([[1, 2, 3, 4, 0], [1, 2, 0, 3, 4]]), _MOST),
        permutation_group("S5", np.array([[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]]), _MOST),
        _linear_group("SL(2,3)", 3, [[1, 1], [0, 1]], [[1, 0], [1, 1]]),
        _linear_group("GL(2,3)", 3, [[1, 1], [0, 1]], [[0, 1], [1, 0]]),
        _linear_group("SL(2,5)", 5, [[1, 1], [0, 1]], [[1, 0], [1, 1]]),
        permutation_group(
            "PSL(2,7)",
            np.array([[1, 2, 3, 4, 5, 6, 0, 7], [7, 6, 3, 2, 5, 4, 1, 0]]),
            _MOST,
        ),
    ]
    return tuple(group for group in candidates if group is not None)


def _linear_group(name: str, p: int, *generators: list[list[int]]) -> Group | None:
    """Matrices modulo p that generate a group, by what they do to the vectors."""
    vectors = np.array([(x, y) for x in range(p) for y in range(p)])
    moved = [(vectors @ np.array(g).T % p) @ np.array([p, 1]) for g in generators]
    return permutation_group(name, np.array(moved), _MOST)


def _polyhedral(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    fitting = [group for group in _polyhedral_groups() if group.order <= most]
    if not fitting:
        return None
    group = fitting[rng.integers(len(fitting))]
    room = most // group.order
    if d > 3 and room >= 2 and rng.random() < 0.4:
        group = direct_product(group, _small(rng, min(room, 12)))
    return _represented(rng, group, d)


def _small(rng: np.random.Generator, most: int) -> Group:
    """A cyclic or dihedral group of order 2 to `most`."""
    if most >= 6 and rng.random() < 0.4:
        return _dihedral_group(_size(rng, 3, most // 2))
    return cyclic_group(_size(rng, 2, most))


def _permutations(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    """A group that one or two random permutations of few points generate."""
    points = int(rng.integers(4, 11))
    generators = [rng.permutation(points) for _ in range(int(rng.integers(1, 3)))]
    group = permutation_group(f"permutations of {points}", np.array(generators), most)
    return None if group is None or group.order == 1 else _represented(rng, group, d)


def _signed(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    """A group that few signed permutations of the coordinates generate.

    They act on the 2 d points +-e_i: e_i is point i, -e_i point i + d.
    """
    generators = []
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.5:
            places = _few_cycles(rng, d)
        else:
            places = rng.permutation(d)
        signs = rng.random(d) < (0.5 if rng.random() < 0.5 else 0.0)
        ahead = places + d * signs
        generators.append(np.concatenate([ahead, (ahead + d) % (2 * d)]))
    rows = generated(np.array(generators), most)
    if rows is None:
        return None
    matrices = np.zeros((len(rows), d, d))
    images = rows[:, :d]
    matrices[np.arange(len(rows))[:, None], images % d, np.arange(d)] = 1.0 - 2.0 * (images >= d)
    return f"signed permutations, order {len(rows)}", matrices


def _few_cycles(rng: np.random.Generator, d: int) -> np.ndarray:
    """A permutation all of whose cycles have one length, but for points that stay."""
    length = int(rng.integers(1, d + 1))
    order, places = rng.permutation(d), np.arange(d)
    for first in range(0, d - length + 1, length):
        cycle = order[first : first + length]
        places[cycle] = np.roll(cycle, -1)
    return places


def _blocks(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray] | None:
    """A product of two groups, each of which acts on coordinates of its own."""
    if d < 3:
        return None
    first = int(rng.integers(2, d - 1)) if d > 3 else 2
    a = _small(rng, min(24, most // 2))
    b = _small(rng, min(24, most // a.order))
    rational = bool(rng.random() < 0.5)
    one = random_representation(rng, a, first, rational=rational)
    two = random_representation(rng, b, d - first, rational=rational)
    both = [np.repeat(one, b.order, axis=0), np.tile(two, (a.order, 1, 1))]
    return f"{a.name} on {first} + {b.name} on {d - first}", direct_sum(both)


def _antipodal(rng: np.random.Generator, d: int, most: int) -> tuple[str, np.ndarray]:
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
"""The kinds of groups and how often each is drawn, by what they found at equal time for (d, K) from
(5, 41) to (21, 77)."""
