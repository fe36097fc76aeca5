"""Derived codes: the projected cosines, exact coordinates, and what has none."""

import itertools
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.derived import derived_code
from gnc_cli.codes.constructions.gosset import CODES as GOSSET
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.root_systems import CODES as ROOTS
from tests.codes.constructions.checks import gram


@given(st.integers(3, 7), st.data())
def test_cosines_follow_the_formula(d: int, data: st.DataObject) -> None:
    cube = IntegerRows(np.array(list(itertools.product((1, -1), repeat=d)), dtype=np.int8))
    base = data.draw(st.integers(0, len(cube) - 1))
    t = Fraction(data.draw(st.integers(1, d - 1)) * 2 - d, d)
    code = derived_code(cube, base, t)
    chosen = cube.vectors[cube.vectors.astype(int) @ cube.vectors[base] == t * d].astype(int)
    cosines = chosen @ chosen.T / d
    expected = (cosines - float(t) ** 2) / (1 - float(t) ** 2)
    assert code.shape[1] <= d - 1
    np.testing.assert_allclose(gram(code), expected, rtol=0, atol=1e-14)
    if len(code) > 1:
        assert code.verify().max_cosine.value == pytest.approx(
            (expected - 2 * np.eye(len(code))).max()
        )
    assert gcd(*(int(c) for c in code.vectors.ravel())) == 1


def test_the_equator_of_e8_is_e7() -> None:
    e8, e7 = GOSSET[0].build(), ROOTS[3].build()
    assert isinstance(e8, IntegerRows)
    equator = derived_code(e8, 17, Fraction(0))
    assert equator.shape == (126, 7)
    assert equator.verify().distribution == e7.verify().distribution


def test_neighbours_of_a_root_of_e7_are_pairs_of_six_points() -> None:
    e7 = ROOTS[3].build()
    assert isinstance(e7, IntegerRows)
    code = derived_code(e7, 0, Fraction(1, 2))
    assert code.shape == (32, 6) and code.verify().max_cosine.text == "1/3"


@pytest.mark.parametrize("cosine", [Fraction(1), Fraction(-1)])
def test_poles_have_no_direction(cosine: Fraction) -> None:
    cube = IntegerRows(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    with pytest.raises(ValueError, match="no direction left"):
        derived_code(cube, 0, cosine)


@pytest.mark.parametrize("cosine", [Fraction(1, 3), Fraction(1, 2)])
def test_a_cosine_that_no_row_has(cosine: Fraction) -> None:
    cube = IntegerRows(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    with pytest.raises(ValueError, match=f"no row has cosine {cosine} with row 2"):
        derived_code(cube, 2, cosine)
