"""The Golay code, its Steiner systems, the Leech lattice's shortest vectors and their sections."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from gnc_cli.constructions.families.leech import (
    CODES,
    golay_code,
    minimal_vectors,
    octads,
    steiner_3_6_22,
    steiner_4_7_23,
)
from tests.constructions.checks import named, regular_two_graph, strongly_regular

LEECH, KISSING, SECOND, LINES = CODES


def test_the_golay_code_is_linear_self_dual_and_has_minimum_distance_8() -> None:
    words = golay_code()
    assert words.shape == (4096, 24) and words.dtype == np.uint8
    weights, number = np.unique(words.sum(1), return_counts=True)
    assert dict(zip(weights.tolist(), number.tolist(), strict=True)) == {
        0: 1,
        8: 759,
        12: 2576,
        16: 759,
        24: 1,
    }
    keys = words @ (1 << np.arange(24))
    assert len(np.unique(keys)) == 4096
    assert np.isin(np.bitwise_xor.outer(keys[::64], keys), keys).all()
    meetings = words.astype(np.float32) @ words.T.astype(np.float32)
    assert not (meetings % 2).any()


@pytest.mark.parametrize(
    ("blocks", "t", "shape", "size", "meetings"),
    [
        (octads, 5, (759, 24), 8, {0, 2, 4}),
        (steiner_4_7_23, 4, (253, 23), 7, {1, 3}),
        (steiner_3_6_22, 3, (77, 22), 6, {0, 2}),
    ],
)
def test_every_t_points_lie_in_exactly_one_block(
    blocks: Callable[[], np.ndarray], t: int, shape: tuple[int, int], size: int, meetings: set[int]
) -> None:
    B = blocks()
    assert B.shape == shape and (B.sum(1) == size).all()
    covered = [subset for block in B for subset in combinations(np.flatnonzero(block).tolist(), t)]
    assert len(covered) == len(set(covered)) == len(list(combinations(range(shape[1]), t)))
    products = B.astype(int) @ B.T.astype(int)
    assert set(np.unique(products[~np.eye(len(B), dtype=bool)]).tolist()) == meetings


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return minimal_vectors()


def test_size_norm_and_membership(vectors: np.ndarray) -> None:
    assert vectors.shape == (LEECH.K, LEECH.d) and vectors.dtype == np.int8
    x = vectors.astype(np.int32)
    assert ((x * x).sum(1) == 32).all()
    # x belongs to the lattice when all its entries have one parity m, their sum is 4 m modulo 8,
    # and the places where (x - m) / 2 is odd are a word of the Golay code.
    m = x[:, :1] % 2
    assert (x % 2 == m).all() and ((x.sum(1) - 4 * m[:, 0]) % 8 == 0).all()
    place = 1 << np.arange(24)
    assert np.isin((x - m) // 2 % 2 @ place, golay_code() @ place).all()


def test_distinct_and_closed_under_negation(vectors: np.ndarray) -> None:
    # A number in base 9 names a vector; x and -x have names that add up to the largest.
    names = (vectors.astype(object)[:, ::-1] + 4) @ np.array([9**i for i in range(24)], object)
    assert len(set(names)) == LEECH.K
    assert {9**24 - 1 - name for name in names} == set(names)


def test_products_of_some_rows_with_all(vectors: np.ndarray) -> None:
    sample = np.random.default_rng(0).choice(len(vectors), 40, replace=False)
    products = vectors[sample].astype(np.float32) @ vectors.T.astype(np.float32)
    assert LEECH.distribution is not None
    for text, neighbours in LEECH.distribution:
        top, _, bottom = text.partition("/")
        assert ((products == 32 * int(top) / int(bottom or 1)).sum(1) == neighbours).all()
    assert sum(neighbours for _, neighbours in LEECH.distribution) == LEECH.K - 1


def test_the_276_lines_meet_gerzons_bound_and_hold_mclaughlins_graph() -> None:
    rows = LINES.build().vectors  # type: ignore[attr-defined]
    half = rows[rows[np.arange(552), (rows != 0).argmax(1)] > 0]
    signs = np.sign(half @ half.T) - np.eye(276, dtype=int)
    assert regular_two_graph(signs) == (55, -5) and len(signs) == 23 * 24 // 2
    # Signs chosen so that the first line is positive to all; the others join at negative products.
    switch = np.append(1, signs[0, 1:])
    isolated = (signs * switch * switch[:, None])[1:, 1:]
    assert strongly_regular(isolated == -1) == (275, 112, 30, 56)


@pytest.mark.parametrize("d", [17, 18, 19, 20, 21])
def test_no_two_vectors_with_odd_signs_are_closer_than_60_degrees(d: int) -> None:
    code = named(f"odd-signs-{d}")
    assert code.K == {17: 5730, 18: 8358, 19: 11948, 20: 19448, 21: 29768}[d]
    rows = code.build()
    vectors = rows.vectors.astype(np.int64)  # type: ignore[attr-defined]
    norms = (vectors * vectors).sum(axis=1)
    some = np.random.default_rng(d).choice(code.K, 150, replace=False)
    for number in [*some.tolist(), 0, code.K - 1]:
        products = vectors @ vectors[number]
        # p > 0 and 4 p^2 > s t would be an angle of less than 60 degrees.
        close = (products > 0) & (4 * products**2 > norms * norms[number])
        assert np.flatnonzero(close).tolist() == [number]
    verified = rows.verify()
    assert verified.distinct and verified.max_cosine.text == "1/2" and verified.attained


def test_odd_signs_have_more_rows_than_sections_of_the_lattice() -> None:
    for d, section in ((17, 5346), (18, 7398), (19, 10668), (20, 17400), (21, 27720)):
        assert named(f"odd-signs-{d}").K > section
