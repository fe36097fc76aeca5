"""Simplices, orthoplexes, polygons: names, rows of the closed forms, checks that can fail."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.codes.constructions import registry
from gnc_cli.codes.constructions.classical import FAMILIES, PolygonRows, in_dimension, named
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.points import IntegerRows
from tests.codes.constructions.checks import assert_as_stated


def code(name: str) -> Construction:
    found = named(name)
    assert found is not None and found.name == name
    return found


@pytest.mark.parametrize("kind", ["simplex", "orthoplex", "polygon"])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 12, 37, 100])
def test_as_stated_and_the_closed_form(kind: str, n: int) -> None:
    construction = code(f"{kind}-{n}")
    assert_as_stated(construction)
    form = closed_form(construction.d, construction.K)
    assert form is not None and construction.proven
    assert construction.cosine.value == pytest.approx(form.max_cosine, abs=2e-16)
    np.testing.assert_allclose(np.asarray(construction.build()), form.weights, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["simplex-2", "orthoplex-2", "simplex-512", "orthoplex-512"])
def test_the_smallest_and_large_ones(name: str) -> None:
    assert_as_stated(code(name))


@given(st.integers(3, 400))
def test_polygons(K: int) -> None:
    polygon = code(f"polygon-{K}")
    verified = assert_as_stated(polygon)
    assert verified.distribution is not None
    assert [pairs for _, pairs in verified.distribution][: (K - 1) // 2] == [K] * ((K - 1) // 2)


def test_a_polygon_of_a_million_corners_costs_a_sort() -> None:
    polygon = code("polygon-1000000")
    rows = polygon.build()
    verified = rows.verify()
    assert verified.distribution is None and verified.distinct and verified.K == 10**6
    assert verified.max_cosine == polygon.cosine
    np.testing.assert_allclose(rows.unit(250_000, 250_001), [[0.0, 1.0]], atol=1e-15)


def test_some_corners_of_a_polygon() -> None:
    some = PolygonRows(12, np.array([11, 2, 5, -4]))
    verified = some.verify()
    assert verified.max_cosine.text == "0" and verified.distinct  # 2 and 5, 8 and 11, 11 and 2
    assert [pairs for _, pairs in verified.distribution or ()] == [4, 2]
    assert not PolygonRows(12, np.array([3, 7, 15])).verify().distinct
    assert PolygonRows(12, np.array([0, 11])).verify().max_cosine.text == "cos(2*pi/12)"
    with pytest.raises(ValueError, match="3 corners or more, not 2"):
        PolygonRows(2)


def test_a_wrong_simplex_is_caught() -> None:
    rows = code("simplex-6").build()
    assert isinstance(rows, IntegerRows)
    doubled = rows.vectors.copy()
    doubled[0] = doubled[1]
    assert not IntegerRows(doubled, rows.frame).verify().distinct
    turned = rows.vectors.copy()
    turned[0] *= -1
    assert IntegerRows(turned, rows.frame).verify().max_cosine.text == "1/6"


@pytest.mark.parametrize("name", [
    "simplex-1", "simplex-0", "orthoplex-1", "polygon-2", "simplex", "simplex-", "simplex-03",
    "simplex--3", "simplex-3.5", "Simplex-3", "hexagon-6", "simplex-3 ", "polygon-1e3",
])  # fmt: skip
def test_other_names_are_not_theirs(name: str) -> None:
    assert named(name) is None


def test_dimensions() -> None:
    assert [c.name for c in in_dimension(7)] == ["simplex-7", "orthoplex-7"]
    assert [c.name for c in in_dimension(2)] == ["simplex-2", "orthoplex-2"]
    assert not [*in_dimension(1), *in_dimension(0)]
    assert all(c.d == 9 for c in in_dimension(9))


def test_families_are_registered_and_their_formulas_hold() -> None:
    assert set(FAMILIES) <= set(registry.families())
    found = registry.find("orthoplex-9")
    assert found == code("orthoplex-9") and found in list(registry.in_dimension(9))
    for family in FAMILIES:
        stem, symbol = family.name.split("-")
        for n in (3, 8):
            member = code(f"{stem}-{n}")
            assert eval(family.d, {symbol: n}) == member.d
            assert eval(family.K, {symbol: n}) == member.K
            assert family.range.startswith(f"{symbol} = ")
    assert code("simplex-8").cosine.text == str(Fraction(-1, 8))
