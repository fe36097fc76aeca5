"""Fewer rows, more dimensions, sums, cross sections: the figures are those of the rows."""

import itertools
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.combine import (
    cross_section,
    cross_sections,
    embedded,
    first_rows,
    orthogonal_sum,
)
from gnc_cli.constructions.construction import Construction, Cosine
from gnc_cli.constructions.integer_rows import IntegerRows
from gnc_cli.constructions.registry import single_codes
from tests.constructions.checks import gram as products
from tests.constructions.checks import named, spectrum


def roots(d: int) -> Construction:
    """The root system D_d: 2 d (d - 1) vectors with two entries of +-1."""
    vectors = [
        np.eye(d, dtype=np.int64)[i] * a + np.eye(d, dtype=np.int64)[j] * b
        for i in range(d) for j in range(i) for a, b in itertools.product((1, -1), repeat=2)
    ]  # fmt: skip
    return Construction(
        f"roots-{d}", "root system", d, len(vectors), Cosine("1/2", 0.5), False, "definition",
        lambda: IntegerRows(np.array(vectors)),
    )  # fmt: skip


def gram(construction: Construction) -> np.ndarray:
    rows = construction.build()
    W = np.asarray(rows)
    assert W.shape == rows.shape == (construction.K, construction.d)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-15)
    products: np.ndarray = W @ W.T
    np.fill_diagonal(products, -np.inf)
    return products


@given(st.integers(3, 6), st.data())
def test_first_rows(d: int, data: st.DataObject) -> None:
    whole = roots(d)
    K = data.draw(st.integers(2, whole.K))
    some = first_rows(whole, K)
    np.testing.assert_array_equal(np.asarray(some.build()), np.asarray(whole.build())[:K])
    verified = some.build().verify()
    assert verified.K == K and verified.distinct
    assert gram(some).max() <= verified.max_cosine.value + 1e-15
    assert verified.attained == (gram(some).max() > 0.5 - 1e-9)


def test_first_rows_say_so() -> None:
    some = first_rows(roots(4), 10)
    assert some.origin == "roots-4, first 10 of 24 rows" and not some.proven
    assert first_rows(roots(4), 24).origin == "roots-4"
    with pytest.raises(ValueError, match="24 rows, fewer than 25"):
        first_rows(roots(4), 25)
    with pytest.raises(ValueError, match="24 rows: .* not 25"):
        roots(4).build().first(25)


@given(st.integers(3, 5), st.integers(0, 4))
def test_embedded(d: int, more: int) -> None:
    wide = embedded(roots(d), d + more)
    np.testing.assert_array_equal(np.asarray(wide.build())[:, :d], np.asarray(roots(d).build()))
    assert wide.build().shape == (roots(d).K, d + more)
    assert wide.build().verify().max_cosine.text == "1/2"
    assert (np.asarray(wide.build())[:, d:] == 0.0).all()


def test_embedding_needs_room() -> None:
    with pytest.raises(ValueError, match="5 dimensions, more than 4"):
        embedded(roots(5), 4)


@given(st.lists(st.integers(3, 5), min_size=1, max_size=3), st.integers(0, 2), st.data())
def test_orthogonal_sum(sizes: list[int], more: int, data: st.DataObject) -> None:
    parts = [roots(e) for e in sizes]
    whole = orthogonal_sum(parts, sum(sizes) + more)
    products = gram(whole)
    assert whole.K == sum(p.K for p in parts) == len(products)
    assert products.max() == pytest.approx(whole.cosine.value)
    verified = whole.build().verify()
    assert verified.distinct and verified.max_cosine.text == whole.cosine.text
    edges = np.cumsum([0] + [p.K for p in parts])
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        assert (products[a:b, :a] == 0.0).all() and (products[a:b, b:] == 0.0).all()
    start = data.draw(st.integers(0, whole.K))
    stop = data.draw(st.integers(start, whole.K))
    rows = whole.build()
    np.testing.assert_array_equal(rows.unit(start, stop), np.asarray(rows)[start:stop])


def test_sums_name_their_parts() -> None:
    assert orthogonal_sum([roots(4), roots(4), roots(3)], 12).name == "2 x roots-4 + roots-3"
    with pytest.raises(ValueError, match="more than 7 dimensions"):
        orthogonal_sum([roots(4), roots(4)], 7)


def test_a_repeated_row_is_seen_through_every_operation() -> None:
    spoilt = Construction(
        "spoilt", "", 2, 3, Cosine("0", 0.0), False, "",
        lambda: IntegerRows(np.array([[1, 0], [0, 1], [1, 0]])),
    )  # fmt: skip
    for made in (embedded(spoilt, 3), orthogonal_sum([roots(3), spoilt], 5)):
        verified = made.build().verify()
        assert not verified.distinct and verified.max_cosine.text == "1"


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
    np.testing.assert_allclose(products(code), expected, rtol=0, atol=1e-14)
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


SMALL = [
    section
    for d in sorted({code.d - 1 for code in single_codes() if code.K <= 1000})
    for section in cross_sections(d)
    if section.K > 1
]


def test_gossets_figures_are_among_the_sections() -> None:
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
    assert spectrum(products(rows))[0] == pytest.approx(verified.max_cosine.value, abs=1e-13)
