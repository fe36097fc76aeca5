"""Proofs of a largest cosine: right at ties, on both sides of them, for any code."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes import rational
from gnc_cli.codes.exact_rows import ExactRows
from gnc_cli.codes.rational import (
    largest_cosine_above,
    rounded_coordinates,
    verify_below,
)
from gnc_cli.errors import DataError, UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import random_points
from tests.problems import WITH_POINTS, Problem, e8_roots, hemicube, orthoplex

TINY = Fraction(1, 10**40)


def brute_force(W: np.ndarray, t: Fraction) -> bool:
    """Every pair in fractions, from the definition."""
    rows = [[Fraction(x) for x in row] for row in W.tolist()]
    norms = [sum((x * x for x in row), Fraction(0)) for row in rows]
    for i in range(len(rows)):
        for j in range(i):
            p = sum((x * y for x, y in zip(rows[i], rows[j], strict=True)), Fraction(0))
            if p * abs(p) > t * abs(t) * norms[i] * norms[j]:
                return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6), st.integers(-40, 40))
def test_against_fractions(K: int, d: int, seed: int, off: int) -> None:
    """Thresholds within some 1e-17 of the computed maximum, where rounding decides."""
    W = random_points(np.random.default_rng(seed), K, d)
    gram = W @ W.T
    top = float(gram[np.triu_indices(K, 1)].max())
    t = Fraction(top) + Fraction(off, 10**17)
    found = verify_below(W, t)
    assert found.holds == brute_force(W, t)
    if found.holds is False:
        assert found.pair is not None and not brute_force(W[list(found.pair)], t)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6), st.integers(1, 30))
def test_the_ceiling_is_the_smallest(K: int, d: int, seed: int, decimals: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    found = largest_cosine_above(W, decimals)
    assert found.tight
    assert Fraction(found.text) == found.value
    assert len(found.text.partition(".")[2]) == decimals
    assert brute_force(W, found.value)
    assert not brute_force(W, found.value - Fraction(1, 10**decimals))


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_known_codes(problem: Problem) -> None:
    W = problem.points()  # type: ignore[misc]
    found = largest_cosine_above(W)
    assert float(found.value) == pytest.approx(problem.max_cosine, abs=1.1e-12)


def test_exact_ties() -> None:
    """Sign vectors in R^5 have inner product 1/5 exactly; the roots of E8 have 1/2, if unscaled."""
    for W, t in (
        (np.sign(hemicube()), Fraction(1, 5)),
        (np.rint(e8_roots() * 8**0.5), 1 / Fraction(2)),
    ):
        found = verify_below(W, t)
        assert found.holds and found.exact_pairs > 0
        assert verify_below(W, t - TINY).holds is False
        assert largest_cosine_above(W).value == t
        assert largest_cosine_above(W, 60).value == t


def test_lengths_do_not_matter(rng: np.random.Generator) -> None:
    W = np.sign(hemicube()) * 2.0 ** rng.integers(-300, 300, (16, 1))
    assert largest_cosine_above(W, 30).value == Fraction(1, 5)
    assert verify_below(W, Fraction(1, 5) - TINY).holds is False


def test_several_tiles(rng: np.random.Generator) -> None:
    """1300 sign vectors: the largest inner product and its ties lie in every tile."""
    W = np.sign(rng.standard_normal((1300, 24)))
    largest = int(np.triu(W @ W.T, 1).max())
    found = largest_cosine_above(W)
    assert found.tight and found.value == Fraction(
        math.ceil(Fraction(largest, 24) * 10**12), 10**12
    )
    assert verify_below(W, Fraction(largest, 24)).holds
    below = verify_below(W, Fraction(largest, 24) - TINY)
    assert below.pair is not None
    assert W[below.pair[0]] @ W[below.pair[1]] == largest


def test_too_many_ties_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is claimed then, but the next decimal is still proved."""
    monkeypatch.setattr(rational, "_MOST_EXACT", 10)
    W = orthoplex(6)
    assert verify_below(W, Fraction(0)).holds is None
    found = largest_cosine_above(W)
    assert not found.tight and found.text == "0.000000000001"
    assert verify_below(W, found.value).holds


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 10), st.integers(2, 4), st.integers(0, 10**6), st.integers(1, 17))
def test_rounded_coordinates_prove_themselves(K: int, d: int, seed: int, decimals: int) -> None:
    W = 3.0 * random_points(np.random.default_rng(seed), K, d)
    found = rounded_coordinates(W, decimals)
    again = np.array([[float(x) for x in row] for row in found.rows])
    assert again == pytest.approx(W, abs=0.51 * 10.0**-decimals + 1e-15)
    assert all(len(x.partition(".")[2]) == decimals for row in found.rows for x in row)
    # The very texts, read again by the definition.
    rows = ExactRows.of_texts(found.rows)
    assert verify_below(rows, found.cosine.value).holds
    assert verify_below(rows, found.cosine.value - Fraction(1, 10**12)).holds is False


def test_rounding_of_longer_texts() -> None:
    found = rounded_coordinates([["0.123456", "-0.99"], ["-0.5", "0.8660254"]], 3)
    assert found.rows == [["0.123", "-0.990"], ["-0.500", "0.866"]]


def test_refusals(rng: np.random.Generator) -> None:
    W = random_points(rng, 5, 3)
    with pytest.raises(UsageError, match="0 decimals"):
        largest_cosine_above(W, 0)
    with pytest.raises(DataError):
        verify_below(np.zeros((3, 2)), Fraction(0))
    with pytest.raises(TimeoutError):
        verify_below(W, Fraction(0), deadline=Deadline(0.0))
