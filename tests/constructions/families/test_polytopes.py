"""Root systems, Gosset's polytopes and Smith's code: each inside another; wrong rows are caught."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from gnc_cli import bounds
from gnc_cli.constructions.integer_rows import IntegerRows, cross_section
from tests.constructions.checks import named

GOSSET = ("e8-roots", "equiangular-28", "schlaefli", "hemicube", "petersen")


def integers(name: str) -> IntegerRows:
    rows = named(name).build()
    assert isinstance(rows, IntegerRows)
    return rows


def test_each_of_gossets_polytopes_is_a_section_of_the_one_before() -> None:
    rows = integers(GOSSET[0])
    for before, name in itertools.pairwise(GOSSET):
        cosine = Fraction(named(before).cosine.text)
        rows = cross_section(rows, 130 % len(rows), cosine)
        assert rows.verify().distribution == integers(name).verify().distribution


@pytest.mark.parametrize("name", ["e8-roots", "schlaefli", "petersen", "smith"])
def test_wrong_rows_are_caught(name: str) -> None:
    rows, code = integers(name), named(name)
    doubled = rows.vectors.copy()
    doubled[-1] = doubled[0]
    assert not IntegerRows(doubled, frame=rows.frame).verify().distinct
    # The antipode of a row: one too close, or one there already in 240 and 56 points.
    turned = rows.vectors.copy()
    turned[-1] *= -1
    wrong = IntegerRows(turned, frame=rows.frame).verify()
    assert wrong.max_cosine.value > code.cosine.value
    assert wrong.distinct == (code.K < 56)


def test_rows_outside_of_their_frame_are_caught() -> None:
    roots = integers("e6-roots")
    moved = roots.vectors.copy()
    moved[0, 6:] = moved[0, :2]
    moved[0, :2] = 0
    with pytest.raises(ValueError, match="frame misses"):
        IntegerRows(moved, frame=roots.frame).verify()


def test_the_barnes_wall_lattice_touches_4320_others() -> None:
    """The kissing number known in 16 dimensions; the neighbours of one are 280 in 15."""
    rows = integers("barnes-wall")
    assert len(np.unique(rows.vectors, axis=0)) == 4320 and rows.square == 8
    for t in (2, 4, 6):  # a spherical 7-design (Conway and Sloane 1988, chapter 3)
        moment = np.mean((rows.vectors @ rows.vectors[0] / 8.0) ** t)
        expected = {2: 1 / 16, 4: 3 / (16 * 18), 6: 15 / (16 * 18 * 20)}[t]
        assert moment == pytest.approx(expected, rel=1e-12)
    assert cross_section(rows, 0, Fraction(1, 2)).shape == (280, 15)
    assert bounds(d=16, max_cosine=0.5).classes.guaranteed == 4320
