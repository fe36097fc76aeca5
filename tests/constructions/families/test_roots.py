"""Root systems, Gosset's figures and Smith's code: their symmetries, and each inside another."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from gnc_cli.constructions.combine import cross_section
from gnc_cli.constructions.families.roots import CODES
from gnc_cli.constructions.integer_rows import IntegerRows
from tests.constructions.checks import gram, named, spectrum
from tests.problems import e8_roots, hemicube

ROOTS = ("24-cell", "d5-roots", "e6-roots", "e7-roots", "e8-roots")
GOSSET = ("e8-roots", "equiangular-28", "schlaefli", "hemicube", "petersen")


def integers(name: str) -> IntegerRows:
    rows = named(name).build()
    assert isinstance(rows, IntegerRows)
    return rows


@pytest.mark.parametrize("base_row", [0, 130, 239])
def test_each_of_gossets_figures_is_a_section_of_the_one_before(base_row: int) -> None:
    rows = integers(GOSSET[0])
    for before, name in itertools.pairwise(GOSSET):
        cosine = Fraction(named(before).cosine.text)
        rows = cross_section(rows, base_row % len(rows), cosine)
        assert rows.verify().distribution == integers(name).verify().distribution


@pytest.mark.parametrize(("name", "points"), [("e8-roots", e8_roots), ("hemicube", hemicube)])
def test_other_coordinates(name: str, points: object) -> None:
    W = points()  # type: ignore[operator]
    np.testing.assert_allclose(
        spectrum(gram(integers(name))), spectrum(W @ W.T), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_spherical_designs(code: object) -> None:
    """Sharp codes with m products are designs of strength 2m - 1; here 3 at least, Petersen 2."""
    W = np.asarray(code.build())  # type: ignore[attr-defined]
    K, d = W.shape
    np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(W.T @ W, K / d * np.eye(d), atol=1e-12)
    if code.name not in ("petersen", "smith"):  # type: ignore[attr-defined]
        assert ((W @ W.T) ** 3).sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("name", [*GOSSET, "smith"])
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


@pytest.mark.parametrize(("weights", "roots"), [
    ("hemicube", "d5-roots"), ("schlaefli", "e6-roots"), ("equiangular-28", "e7-roots"),
])  # fmt: skip
def test_roots_are_the_differences_of_neighbouring_weights(weights: str, roots: str) -> None:
    code = integers(weights)
    x = code.vectors.astype(np.int64)
    near = named(weights).cosine.value * code.square
    i, j = np.nonzero(np.abs(x @ x.T - near) < 0.5)
    differences = np.unique(x[i] - x[j], axis=0)
    assert IntegerRows(differences).verify().distribution == (
        integers(roots).verify().distribution
    )


PAIRS = list(itertools.combinations(range(5), 2))


def test_the_gram_matrix_of_smiths_code_is_four_times_a_projection() -> None:
    """G G = (K/d) G with trace K: positive semidefinite of rank 10, whatever the coordinates."""
    x = integers("smith").vectors.astype(np.int64)
    G = x @ x.T
    np.testing.assert_array_equal(G @ G, 4 * 6 * G)
    assert np.trace(G) == 6 * 40
    np.testing.assert_array_equal(G.sum(axis=1), 0)


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
