"""Proofs of a largest cosine, against the definition in fractions: right at ties, for any code."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnc_cli.codes import exact_cosine
from gnc_cli.codes.exact_cosine import (
    ExactRows,
    largest_cosine_above,
    rounded_coordinates,
    verify_below,
)
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.problems import e8_roots, hemicube, orthoplex

TINY = Fraction(1, 10**40)
FIRST, SECOND = np.array([0]), np.array([1])
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False, width=64)
PAIRS_OF_ROWS = st.integers(1, 5).flatmap(
    lambda d: st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=2, max_size=2)
)
CODES = st.tuples(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6))


def within(x: list[float], y: list[float], t: Fraction) -> bool:
    """Whether the cosine of two rows is at most t, from the definition."""
    p, a, b = (
        sum((Fraction(u) * Fraction(v) for u, v in zip(r, s, strict=True)), Fraction(0))
        for r, s in ((x, y), (x, x), (y, y))
    )
    return p * abs(p) <= t * abs(t) * a * b


def brute_force(W: np.ndarray, t: Fraction) -> bool:
    """The same for every pair."""
    rows = W.tolist()
    return all(within(rows[i], rows[j], t) for i in range(len(rows)) for j in range(i))


@given(PAIRS_OF_ROWS, st.integers(-(10**9), 10**9))
def test_floats_are_taken_to_the_last_bit(rows: list[list[float]], millionths: int) -> None:
    assume(all(any(abs(x) > 1e-150 for x in row) for row in rows))
    exact, t = ExactRows.from_floats(np.array(rows)), Fraction(millionths, 10**9)
    assert bool(exact.exceed(FIRST, SECOND, t)[0]) == (not within(*rows, t))
    ceiling = exact.ceilings(FIRST, SECOND, 25)
    assert within(*rows, Fraction(ceiling, 10**25))
    assert not within(*rows, Fraction(ceiling - 1, 10**25))
    computed, error = Fraction(float(exact.units[0] @ exact.units[1])), Fraction(exact.error)
    assert within(*rows, computed + error) and not within(*rows, computed - error)


@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.integers(1, 10**9),
    st.integers(1, 10**30),
)
def test_ties_and_lengths(x: list[int], y: list[int], stretch: int, long: int) -> None:
    """A cosine that is rational is equal to itself, and to nothing beside it, at any length."""
    assume(any(x) and any(y))
    exact = ExactRows.from_texts([[str(a * stretch) for a in x], [str(b * long) for b in y]])
    p, square = int(np.dot(x, y)), int(np.dot(x, x) * np.dot(y, y))
    root = math.isqrt(square)
    if root * root == square:
        t, little = Fraction(p, root), Fraction(1, 10**60)
        assert not exact.exceed(FIRST, SECOND, t)[0]
        assert exact.exceed(FIRST, SECOND, t - little)[0]
        assert not exact.exceed(FIRST, SECOND, t + little)[0]
    n = exact.ceilings(FIRST, SECOND, 7)
    assert not exact.exceed(FIRST, SECOND, Fraction(n, 10**7))[0]
    assert exact.exceed(FIRST, SECOND, Fraction(n - 1, 10**7))[0]


def test_small_products_stay_in_machine_integers() -> None:
    rng = np.random.default_rng(2)
    signs = np.sign(rng.standard_normal((40, 64))) / 8.0
    exact = ExactRows.from_floats(signs)
    assert exact.integers(np.arange(40)).dtype == np.int64
    i, j = np.triu_indices(40, 1)
    above = exact.exceed(i, j, Fraction(1, 4))
    assert np.array_equal(above, (signs @ signs.T)[i, j] > 0.25)
    assert above.any() and (~above).any()


def test_a_range_too_wide_for_64_bits() -> None:
    """Entries 1 and 2^-500: the product is exact all the same."""
    W = np.array([[1.0, 2.0**-500], [-(2.0**-500), 1.0], [1.0, 0.0]])
    exact = ExactRows.from_floats(W)
    assert exact.integers(np.arange(3)).dtype == object
    assert not exact.exceed(FIRST, SECOND, Fraction(0))[0]
    assert exact.exceed(np.array([1]), np.array([2]), Fraction(-1, 2**499))[0]
    assert exact.exceed(FIRST, np.array([2]), 1 - Fraction(1, 2**999))[0]


def test_decimal_texts() -> None:
    """Three equal rows in three ways of writing; a third of a circle in thirds."""
    exact = ExactRows.from_texts(
        [["0.6", "0.8"], ["3e-1", "4E-1"], ["3/7", "4/7"], ["-0.8", "0.6"]]
    )
    pairs = np.array([0, 0, 1]), np.array([1, 2, 3])
    assert exact.exceed(*pairs, 1 - Fraction(1, 10**99)).tolist() == [True, True, False]
    assert exact.exceed(*pairs, Fraction(1)).tolist() == [False, False, False]
    rows = normalise(np.random.default_rng(1).standard_normal((6, 4)))
    texts = [[str(Decimal(x)) for x in row] for row in rows.tolist()]
    assert ExactRows.from_texts(texts).units == pytest.approx(rows, abs=1e-15)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["1", "x"], ["0", "1"]], "row 0 holds no exact number"),
        ([["1", "nan"], ["0", "1"]], "row 0 holds no exact number"),
        ([["1", "0"], ["0", "1"], ["1"]], "different lengths"),
        ([["1", "0"], ["0", "-0.0"]], "row 1 is zero"),
        ([["1", "0"]], "K >= 2"),
    ],
)
def test_bad_rows(rows: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ExactRows.from_texts(rows)


@given(CODES, st.integers(-40, 40))
def test_against_fractions(size: tuple[int, int, int], off: int) -> None:
    """Thresholds within some 1e-17 of the computed maximum, where rounding decides."""
    K, d, seed = size
    W = random_points(np.random.default_rng(seed), K, d)
    top = float((W @ W.T)[np.triu_indices(K, 1)].max())
    t = Fraction(top) + Fraction(off, 10**17)
    assert verify_below(W, t) == brute_force(W, t)


@given(CODES, st.integers(1, 30))
def test_the_ceiling_is_the_smallest(size: tuple[int, int, int], decimals: int) -> None:
    K, d, seed = size
    W = random_points(np.random.default_rng(seed), K, d)
    found = largest_cosine_above(W, decimals)
    assert found.tight
    assert Fraction(found.text) == found.value
    assert len(found.text.partition(".")[2]) == decimals
    assert brute_force(W, found.value)
    assert not brute_force(W, found.value - Fraction(1, 10**decimals))


def test_exact_ties() -> None:
    """Sign vectors in R^5 have inner product 1/5 exactly; the roots of E8 have 1/2, if unscaled."""
    for W, t in (
        (np.sign(hemicube()), Fraction(1, 5)),
        (np.rint(e8_roots() * 8**0.5), 1 / Fraction(2)),
    ):
        assert verify_below(W, t)
        assert verify_below(W, t - TINY) is False
        assert largest_cosine_above(W).value == t
        assert largest_cosine_above(W, 60).value == t


def test_several_tiles(rng: np.random.Generator) -> None:
    """1300 sign vectors: the largest inner product and its ties lie in every tile."""
    W = np.sign(rng.standard_normal((1300, 24)))
    largest = int(np.triu(W @ W.T, 1).max())
    found = largest_cosine_above(W)
    assert found.tight and found.value == Fraction(
        math.ceil(Fraction(largest, 24) * 10**12), 10**12
    )
    assert verify_below(W, Fraction(largest, 24))
    assert verify_below(W, Fraction(largest, 24) - TINY) is False


def test_too_many_ties_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is claimed then, but the next decimal is still proved."""
    monkeypatch.setattr(exact_cosine, "_MAX_EXACT_PAIRS", 10)
    W = orthoplex(6)
    assert verify_below(W, Fraction(0)) is None
    found = largest_cosine_above(W)
    assert not found.tight and found.text == "0.000000000001"
    assert verify_below(W, found.value)


@given(st.integers(2, 10), st.integers(2, 4), st.integers(0, 10**6), st.integers(1, 17))
def test_rounded_coordinates_prove_themselves(K: int, d: int, seed: int, decimals: int) -> None:
    W = 3.0 * random_points(np.random.default_rng(seed), K, d)
    texts, cosine = rounded_coordinates(W, decimals, deadline=None, cosine_decimals=12)
    again = np.array([[float(x) for x in row] for row in texts])
    assert again == pytest.approx(W, abs=0.51 * 10.0**-decimals + 1e-15)
    assert all(len(x.partition(".")[2]) == decimals for row in texts for x in row)
    # The very texts, read again by the definition.
    rows = ExactRows.from_texts(texts)
    assert verify_below(rows, cosine.value)
    assert verify_below(rows, cosine.value - Fraction(1, 10**12)) is False


def test_rounding_of_longer_texts() -> None:
    texts, _ = rounded_coordinates(
        [["0.123456", "-0.99"], ["-0.5", "0.8660254"]], 3, deadline=None, cosine_decimals=12
    )
    assert texts == [["0.123", "-0.990"], ["-0.500", "0.866"]]


def test_refusals(rng: np.random.Generator) -> None:
    W = random_points(rng, 5, 3)
    with pytest.raises(DataError):
        verify_below(np.zeros((3, 2)), Fraction(0))
    with pytest.raises(TimeoutError):
        largest_cosine_above(W, deadline=Deadline(0.0))
