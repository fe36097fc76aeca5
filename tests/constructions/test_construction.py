"""Parts of a code are the code's; fewer rows, wider rows, sums and sections have its cosines."""

import itertools
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import construction
from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    embedded,
    first_rows,
    orthogonal_sum,
)
from gnc_cli.constructions.integer_rows import IntegerRows, cross_section
from gnc_cli.constructions.registry import cross_sections, single_codes
from tests.constructions.checks import check_parts, gram, named, spectrum

NAMES = (
    "polygon-9",
    "petersen",
    "icosahedron",
    "gold-3",
    "kerdock-4-shortened-2",
    "quadratic-9",
    "cubic-5",
    "odd-cubic-7",
    "odd-quintic-7",
    "paley-13",
    "quadric-3-2",
    "quadric-5-1",
    "quadric-3-3-shortened-2",
    "quadric-4-2-extended",
    "net-4-5",
    "unitary-3",
    "unitary-3-section",
)
"""A code of each kind of rows."""


@given(st.sampled_from(NAMES), st.integers(0, 999), st.integers(0, 999))
def test_parts(name: str, start: int, stop: int) -> None:
    check_parts(named(name).build(), start, stop)


@pytest.mark.parametrize("name", NAMES)
def test_a_block_ends_anywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = named(name).build()
    whole = np.asarray(rows)
    monkeypatch.setattr(construction, "_BLOCK_ENTRIES", 90)
    np.testing.assert_allclose(rows.unit(3, len(rows) - 2), whole[3:-2], rtol=0, atol=3e-16)


roots = st.sampled_from([named(name) for name in ("24-cell", "d5-roots", "e6-roots")])
"""Their largest cosine is 1/2."""


@given(roots, st.data())
def test_first_rows(whole: Construction, data: st.DataObject) -> None:
    K = data.draw(st.integers(2, whole.K))
    rows = first_rows(whole, K).build()
    kept = np.asarray(whole.build())[:K]
    np.testing.assert_allclose(np.asarray(rows), kept, rtol=0, atol=3e-16)
    verified, largest = rows.verify(), spectrum(gram(rows))[0]
    assert verified.K == K and verified.distinct
    assert largest <= verified.max_cosine.value + 1e-15
    assert verified.attained == (largest > 0.5 - 1e-9)


def test_first_rows_say_so() -> None:
    whole = named("24-cell")
    some = first_rows(whole, 10)
    assert some.origin == "24-cell, first 10 of 24 rows" and not some.proven
    assert first_rows(whole, 24).origin == "24-cell"


@given(st.lists(roots, min_size=1, max_size=3), st.integers(0, 2), st.data())
def test_orthogonal_sum(parts: list[Construction], more: int, data: st.DataObject) -> None:
    """Of one part it is an embedding."""
    whole = orthogonal_sum(parts, sum(part.d for part in parts) + more)
    rows = whole.build()
    products = gram(rows) - 2.0 * np.eye(len(rows))
    assert rows.shape == (whole.K, whole.d) and whole.K == sum(p.K for p in parts)
    assert products.max() == pytest.approx(whole.cosine.value)
    verified = rows.verify()
    assert verified.distinct and verified.max_cosine.text == whole.cosine.text
    edges = np.cumsum([0] + [p.K for p in parts])
    for a, b in itertools.pairwise(edges):
        assert (products[a:b, :a] == 0.0).all() and (products[a:b, b:] == 0.0).all()
    start = data.draw(st.integers(0, whole.K))
    stop = data.draw(st.integers(start, whole.K))
    parts_of_it = rows.unit(start, stop), np.asarray(rows)[start:stop]
    np.testing.assert_allclose(*parts_of_it, rtol=0, atol=3e-16)


def test_sums_name_their_parts() -> None:
    four, five = named("24-cell"), named("d5-roots")
    assert orthogonal_sum([four, four, five], 13).name == "2 x 24-cell + d5-roots"


def test_a_repeated_row_is_seen_through_every_operation() -> None:
    spoilt = Construction(
        "spoilt",
        "",
        2,
        3,
        Cosine("0", 0.0),
        None,
        "",
        lambda: IntegerRows(np.array([[1, 0], [0, 1], [1, 0]])),
    )
    for made in (embedded(spoilt, 3), orthogonal_sum([named("24-cell"), spoilt], 6)):
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


SMALL = [
    section
    for d in sorted({code.d - 1 for code in single_codes() if code.K <= 1000})
    for section in cross_sections(d)
    if section.K > 1
]


def test_gossets_polytopes_are_among_the_sections() -> None:
    # Gosset's chain: the neighbours of a vertex are the vertices of the next polytope.
    sizes = {(s.d, s.K, s.cosine.text) for s in SMALL}
    assert {(7, 56, "1/3"), (6, 27, "1/4"), (5, 16, "1/5"), (4, 10, "1/6")} <= sizes


@pytest.mark.parametrize("section", SMALL, ids=lambda s: f"{s.origin} d={s.d}")
def test_size_and_cosine_are_those_of_the_rows(section: Construction) -> None:
    rows = section.build()
    assert rows.shape == (section.K, section.d)
    verified = rows.verify()
    assert verified.K == section.K and verified.distinct
    assert verified.max_cosine.value <= section.cosine.value + 1e-15
    assert spectrum(gram(rows))[0] == pytest.approx(verified.max_cosine.value, abs=1e-13)


@given(st.fractions(-1, 1, max_denominator=10**6))
def test_a_rational_cosine_is_exact(value: Fraction) -> None:
    assert Cosine.rational(value).enclosure == (value, value)


def test_an_irrational_cosine_lies_between_its_ends() -> None:
    low, high = Cosine.root(Fraction(1, 512)).enclosure
    assert low**2 < Fraction(1, 512) < high**2 and high - low < 1e-14
