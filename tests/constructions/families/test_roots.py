"""Root systems, Gosset's figures and Smith's code: their symmetries, and each inside another."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from gnc_cli.constructions.combine import cross_section
from gnc_cli.constructions.integer_rows import IntegerRows
from tests.constructions.checks import named

ROOTS = ("24-cell", "d5-roots", "e6-roots", "e7-roots", "e8-roots")
GOSSET = ("e8-roots", "equiangular-28", "schlaefli", "hemicube", "petersen")


def integers(name: str) -> IntegerRows:
    rows = named(name).build()
    assert isinstance(rows, IntegerRows)
    return rows


def test_each_of_gossets_figures_is_a_section_of_the_one_before() -> None:
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


@pytest.mark.parametrize("name", ROOTS)
def test_reflections_permute_the_roots(name: str) -> None:
    roots = integers(name)
    x = roots.vectors.astype(np.int64)
    steps, left = np.divmod(2 * (x @ x.T), roots.square)
    assert not left.any()
    images = x[:, None] - steps[:, :, None] * x[None]
    assert {tuple(row) for row in images.reshape(-1, x.shape[1])} == {tuple(row) for row in x}


PAIRS = list(itertools.combinations(range(5), 2))


def _act(order: tuple[int, ...], signs: tuple[int, ...], x: np.ndarray) -> tuple[int, ...]:
    """Move skew x_ab to order[a], order[b], and change all pairs at vertices of sign -1."""
    skew = np.zeros((5, 5), dtype=np.int64)
    for (a, b), entry in zip(PAIRS, x, strict=True):
        skew[order[a], order[b]], skew[order[b], order[a]] = entry, -entry
    skew = np.array(signs)[:, None] * skew * np.array(signs)
    return tuple(int(skew[pair]) for pair in PAIRS)


def test_smiths_code_is_one_orbit_of_vertex_signs_and_even_permutations() -> None:
    rows = {tuple(int(c) for c in x) for x in integers("smith").vectors}
    even = [p for p in itertools.permutations(range(5)) if np.linalg.det(np.eye(5)[list(p)]) > 0]
    signs = [(*s, 1) for s in itertools.product((1, -1), repeat=4)]
    start = np.array(min(rows))
    assert {_act(p, s, start) for p in even for s in signs} == rows
    # An odd permutation turns the definition's sign: the mirror image, with no row in common.
    swapped = {_act((1, 0, 2, 3, 4), (1,) * 5, np.array(x)) for x in rows}
    assert not swapped & rows
