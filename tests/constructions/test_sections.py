"""Cross sections: the projected cosines, exact coordinates, what has none; figures unbuilt."""

import itertools
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.integer_rows import IntegerRows
from gnc_cli.constructions.registry import single_codes
from gnc_cli.constructions.sections import cross_section, cross_sections
from tests.constructions.checks import gram, named, spectrum


@given(st.integers(3, 7), st.data())
def test_cosines_follow_the_formula(d: int, data: st.DataObject) -> None:
    cube = IntegerRows(np.array(list(itertools.product((1, -1), repeat=d)), dtype=np.int8))
    base = data.draw(st.integers(0, len(cube) - 1))
    t = Fraction(data.draw(st.integers(1, d - 1)) * 2 - d, d)
    code = cross_section(cube, base, t)
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
    e8, e7 = named("e8-roots").build(), named("e7-roots").build()
    assert isinstance(e8, IntegerRows)
    equator = cross_section(e8, 17, Fraction(0))
    assert equator.shape == (126, 7)
    assert equator.verify().distribution == e7.verify().distribution


def test_neighbours_of_a_root_of_e7_are_pairs_of_six_points() -> None:
    e7 = named("e7-roots").build()
    assert isinstance(e7, IntegerRows)
    code = cross_section(e7, 0, Fraction(1, 2))
    assert code.shape == (32, 6) and code.verify().max_cosine.text == "1/3"


@pytest.mark.parametrize("cosine", [Fraction(1), Fraction(-1)])
def test_poles_have_no_direction(cosine: Fraction) -> None:
    cube = IntegerRows(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    with pytest.raises(ValueError, match="no direction left"):
        cross_section(cube, 0, cosine)


@pytest.mark.parametrize("cosine", [Fraction(1, 3), Fraction(1, 2)])
def test_a_cosine_that_no_row_has(cosine: Fraction) -> None:
    cube = IntegerRows(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    with pytest.raises(ValueError, match=f"no row has cosine {cosine} with row 2"):
        cross_section(cube, 2, cosine)


SMALL = [
    section
    for d in sorted({code.d - 1 for code in single_codes() if code.K <= 1000})
    for section in cross_sections(d)
    if section.K > 1
]


def test_there_are_some() -> None:
    # Gosset's chain: each figure's vertices next to one vertex are the next figure.
    figures = {(s.d, s.K, s.cosine.text) for s in SMALL}
    assert {(7, 56, "1/3"), (6, 27, "1/4"), (5, 16, "1/5"), (4, 10, "1/6")} <= figures


@pytest.mark.parametrize("section", SMALL, ids=lambda s: f"{s.origin} d={s.d}")
def test_figures_are_those_of_the_rows(section: Construction) -> None:
    rows = section.build()
    assert rows.shape == (section.K, section.d)
    verified = rows.verify()
    assert verified.K == section.K and verified.distinct
    assert verified.max_cosine.value <= section.cosine.value + 1e-15
    assert spectrum(gram(rows))[0] == pytest.approx(verified.max_cosine.value, abs=1e-13)
