"""Theorem 3.3 as code: values, points, range, no heavy import; and its codes as constructions."""

from math import cos, gcd, pi

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.families.theorem_3_3 import closed_form, turn_cosine
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from tests.constructions.checks import check, named
from tests.problems import PROBLEMS, Problem


@pytest.mark.parametrize("known", PROBLEMS, ids=str)
def test_known_answers(known: Problem) -> None:
    form = closed_form(known.d, known.K)
    assert (form is not None) == known.softmax_proven
    if form is not None:
        assert form.rho == pytest.approx(known.rho, abs=1e-15)
        assert form.cosine.value == pytest.approx(known.max_cosine, abs=1e-15)


@given(st.integers(2, 40), st.data())
def test_points_have_the_values(d: int, data: st.DataObject) -> None:
    K = data.draw(st.integers(2, 2 * d if d > 2 else 60))
    form = closed_form(d, K)
    assert form is not None
    W = form.weights
    assert W.shape == (K, d) and W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=2e-16)
    assert max_cosine(W) == pytest.approx(form.cosine.value, abs=1e-14)
    assert one_vs_rest(W).upper.min() == pytest.approx(form.rho, abs=1e-13)


@pytest.mark.parametrize("d", [3, 4, 10, 100])
def test_the_theorem_ends_at_twice_the_dimension(d: int) -> None:
    assert closed_form(d, 2 * d) is not None
    assert closed_form(d, 2 * d + 1) is None


@pytest.mark.parametrize(
    ("d", "K", "name"),
    [
        (2, 2, "simplex ETF"),
        (2, 3, "simplex ETF"),
        (2, 4, "regular polygon"),
        (3, 5, "orthoplex"),
        (9, 10, "simplex ETF"),
        (9, 11, "orthoplex"),
    ],
)
def test_names(d: int, K: int, name: str) -> None:
    form = closed_form(d, K)
    assert form is not None and form.name == name


def test_exact_numbers_are_exact() -> None:
    square = closed_form(2, 4)
    assert square is not None and square.cosine.value == 0.0 and square.rho == 1.0
    cross = closed_form(3, 6)
    assert cross is not None and set(np.abs(cross.weights).ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("kind", ["simplex", "orthoplex", "polygon"])
@pytest.mark.parametrize("n", [3, 4, 5, 37, 100])
def test_constructions_are_the_closed_forms(kind: str, n: int) -> None:
    code = named(f"{kind}-{n}")
    check(code)
    form = closed_form(code.d, code.K)
    assert form is not None and code.proven
    assert code.cosine.value == pytest.approx(form.cosine.value, abs=2e-16)
    np.testing.assert_allclose(np.asarray(code.build()), form.weights, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["simplex-2", "orthoplex-2", "simplex-512", "orthoplex-512"])
def test_the_smallest_and_large_ones(name: str) -> None:
    check(named(name))


@given(st.integers(3, 400))
def test_polygons(K: int) -> None:
    verified = check(named(f"polygon-{K}"))
    assert verified.distribution is not None
    assert [pairs for _, pairs in verified.distribution][: (K - 1) // 2] == [K] * ((K - 1) // 2)


def test_a_polygon_of_a_million_corners_costs_a_sort() -> None:
    polygon = named("polygon-1000000")
    rows = polygon.build()
    verified = rows.verify()
    assert verified.distribution is None and verified.distinct and verified.K == 10**6
    assert verified.max_cosine == polygon.cosine
    np.testing.assert_allclose(rows.unit(250_000, 250_001), [[0.0, 1.0]], atol=1e-15)


@given(st.integers(0, 4000), st.integers(1, 2000), st.integers(1, 9))
def test_cosines_of_turns(m: int, K: int, n: int) -> None:
    cosine = turn_cosine(m, K)
    with mpmath.workdps(40):
        true = float(mpmath.cos(2 * mpmath.pi * m / K))
    assert cosine.value == pytest.approx(true, rel=1e-15, abs=3e-16)
    assert eval(cosine.text, {"cos": cos, "pi": pi}) == pytest.approx(true, abs=1e-12)
    assert turn_cosine(n * m, n * K) == turn_cosine(-m, K) == turn_cosine(m + K, K) == cosine
    # A reduced denominator of 1, 2, 3, 4 or 6 and no other gives a rational cosine.
    assert ("cos" not in cosine.text) == (K // gcd(m, K) in (1, 2, 3, 4, 6))
