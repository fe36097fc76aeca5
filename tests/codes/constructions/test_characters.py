"""Codes of additive characters: figures from all pairs of rows, streaming, wrong functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions import character_rows
from gnc_cli.codes.constructions.character_rows import CharacterRows, largest_cosine, planar
from gnc_cli.codes.constructions.characters import FAMILIES, in_dimension, named
from gnc_cli.codes.constructions.log_fields import LogField, log_field
from tests.codes.constructions.streamed import assert_figures, assert_parts
from tests.codes.constructions.streamed import largest_cosine as measured

SMALL = {
    "quadratic-3": (6, 48), "quadratic-5": (10, 120), "quadratic-7": (14, 224),
    "quadratic-9": (18, 360), "quadratic-25": (50, 2600), "quadratic-27": (54, 3024),
    "cubic-5": (10, 520), "cubic-7": (14, 1400), "cubic-11": (22, 5368),
    "odd-cubic-5": (5, 50), "odd-cubic-7": (7, 98), "odd-cubic-31": (31, 1922),
    "odd-cubic-43": (43, 3698), "odd-quintic-7": (7, 686), "odd-quintic-11": (11, 2662),
    "odd-quintic-13": (13, 4394),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_codes(name: str) -> None:
    code = named(name)
    assert code is not None and (code.d, code.K) == SMALL[name]
    found = assert_figures(code)
    assert "upper bound" not in found.how
    kind, q = name.rsplit("-", 1)
    weil = {"quadratic": 1, "cubic": 2, "odd-cubic": 2, "odd-quintic": 4}[kind] / int(q) ** 0.5
    assert code.cosine.value <= weil * (1 + 1e-15)


@pytest.mark.parametrize("q", [7, 9, 25])
def test_the_bases_are_mutually_unbiased(q: int) -> None:
    W = np.asarray(CharacterRows(log_field(q), (1, 2)))[::4]
    vectors = W[:, :q] + 1j * W[:, q:]
    products = np.abs(vectors.conj() @ vectors.T).reshape(q + 1, q, q + 1, q)
    expected = np.full_like(products, q**-0.5)
    for basis in range(q + 1):
        expected[basis, :, basis] = np.eye(q)
    np.testing.assert_allclose(products, expected, rtol=0, atol=1e-15)


def test_a_cubic_code_begins_with_the_quadratic_one() -> None:
    cubic, quadratic = (CharacterRows(log_field(7), e) for e in ((1, 2, 3), (1, 2)))
    np.testing.assert_array_equal(np.asarray(cubic.first(len(quadratic))), np.asarray(quadratic))
    assert cubic.first(len(quadratic)).verify().max_cosine.text == "1/sqrt(7)"
    assert cubic.first(28).verify().max_cosine.text == "0"
    assert cubic.first(29).verify().max_cosine.text == "1/sqrt(7)"


def test_odd_polynomials_begin_with_an_orthonormal_basis() -> None:
    rows = CharacterRows(log_field(11), (1, 3, 5))
    assert rows.first(2).verify().max_cosine.text == "-1"
    assert rows.first(22).verify().max_cosine.text == "0" and measured(rows.first(22)) < 1e-15
    below = rows.first(2 * 11 * 11).verify().max_cosine
    assert below == largest_cosine(11, (1, 3))[0]
    assert below.value < rows.verify().max_cosine.value


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(9, (1, 2)), (7, (1, 2)), (5, (1, 2, 3)), (11, (1, 3)), (7, (1, 3, 5))]),
    st.integers(0, 2000),
    st.integers(0, 2000),
)
def test_parts(code: tuple[int, tuple[int, ...]], start: int, stop: int) -> None:
    assert_parts(CharacterRows(log_field(code[0]), code[1]), start, stop)


def test_a_block_ends_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = CharacterRows(log_field(7), (1, 2, 3))
    whole = np.asarray(rows)
    monkeypatch.setattr(character_rows, "_BLOCK_ENTRIES", 150)
    np.testing.assert_array_equal(rows.unit(13, 903), whole[13:903])


def test_a_large_one_costs_only_its_rows() -> None:
    code = named("cubic-499")
    assert code is not None and code.K == 4 * 499 * (499**2 + 1)
    rows = code.build().first(10**6)
    assert rows.verify().max_cosine.value < 2 / 499**0.5
    some = rows.unit(999_000, 999_200)
    np.testing.assert_allclose(np.linalg.norm(some, axis=1), 1.0, atol=1e-14)
    products = some @ some.T - 2 * np.eye(200)
    assert products.max() <= rows.verify().max_cosine.value


class _Line(LogField):
    """A field that takes x for x^2."""

    def power(self, x: np.ndarray, e: int) -> np.ndarray:
        return np.asarray(x) if e == 2 else super().power(x, e)


def test_a_function_that_is_not_planar_is_caught() -> None:
    planar(log_field(27))
    with pytest.raises(ValueError, match="not planar"):
        planar(_Line(7))
    with pytest.raises(ValueError, match="not planar"):
        planar(log_field(8))
    with pytest.raises(ValueError, match="not planar"):
        CharacterRows(_Line(7), (1, 2)).verify()


@pytest.mark.parametrize(
    ("q", "exponents"), [(8, (1, 2)), (9, (1, 3)), (3, (1, 2, 3)), (7, (1, 4)), (5, (1, 3, 5))]
)
def test_no_such_characters(q: int, exponents: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="exponents"):
        CharacterRows(log_field(q), exponents)


def test_lookups_agree() -> None:
    assert [code.name for code in in_dimension(254)] == ["quadratic-127", "cubic-127"]
    assert [code.name for code in in_dimension(127)] == ["odd-cubic-127", "odd-quintic-127"]
    assert [code.name for code in in_dimension(131)] == ["odd-cubic-131"]
    assert [code.name for code in in_dimension(162)] == ["quadratic-81"]
    assert list(in_dimension(81)) == [] and list(in_dimension(128)) == []
    for d in (10, 11, 254, 2038):
        for code in in_dimension(d):
            assert named(code.name) == code and code.d == d
    for wrong in ("quadratic-8", "quadratic-07", "cubic-9", "cubic-3", "quartic-5", "odd-cubic-"):
        assert named(wrong) is None
    assert [family.name[:-2] for family in FAMILIES] == [
        "quadratic", "cubic", "odd-cubic", "odd-quintic"
    ]  # fmt: skip
