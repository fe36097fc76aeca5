"""Smith's 40 points: as stated, one orbit of a group, and a projection of rank 10."""

import itertools

import numpy as np

from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.smith import CODES
from tests.codes.constructions.checks import assert_as_stated, known_codes

(SMITH,) = CODES
PAIRS = list(itertools.combinations(range(5), 2))


def integers() -> IntegerRows:
    rows = SMITH.build()
    assert isinstance(rows, IntegerRows)
    return rows


def test_as_stated_and_as_in_the_table() -> None:
    assert_as_stated(SMITH)
    row = known_codes()[10, 40]
    assert float(row["max_cosine"]) == SMITH.cosine.value and not SMITH.proven


def test_the_exact_gram_matrix_is_four_times_a_projection() -> None:
    """G G = (K/d) G with trace K: positive semidefinite of rank 10, whatever the coordinates."""
    x = integers().vectors.astype(np.int64)
    G = x @ x.T
    np.testing.assert_array_equal(G @ G, 4 * 6 * G)
    assert np.trace(G) == 6 * 40
    np.testing.assert_array_equal(G.sum(axis=1), 0)


def act(order: tuple[int, ...], signs: tuple[int, ...], x: np.ndarray) -> tuple[int, ...]:
    """Move skew x_ab to order[a], order[b], and change all pairs at vertices of sign -1."""
    skew = np.zeros((5, 5), dtype=np.int64)
    for (a, b), entry in zip(PAIRS, x, strict=True):
        skew[order[a], order[b]], skew[order[b], order[a]] = entry, -entry
    skew = np.array(signs)[:, None] * skew * np.array(signs)
    return tuple(int(skew[pair]) for pair in PAIRS)


def test_one_orbit_of_vertex_signs_and_even_permutations() -> None:
    rows = {tuple(int(c) for c in x) for x in integers().vectors}
    even = [p for p in itertools.permutations(range(5)) if np.linalg.det(np.eye(5)[list(p)]) > 0]
    signs = [(*s, 1) for s in itertools.product((1, -1), repeat=4)]
    assert len(even) * len(signs) == 960
    start = np.array(min(rows))
    assert {act(p, s, start) for p in even for s in signs} == rows
    # An odd permutation turns the definition's sign: the mirror image, with no row in common.
    swapped = {act((1, 0, 2, 3, 4), (1,) * 5, np.array(x)) for x in rows}
    assert not swapped & rows


def test_wrong_rows_are_caught() -> None:
    x = integers().vectors.astype(np.int64)
    turned = x.copy()
    turned[0] *= -1
    wrong = IntegerRows(turned).verify()
    assert wrong.max_cosine.value > SMITH.cosine.value
    doubled = np.concatenate([x, x[5:6]])
    assert not IntegerRows(doubled).verify().distinct
