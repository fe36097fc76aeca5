"""Codes of quadratic forms: every word counted, all pairs of rows, streaming, figures of all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions import quadric_rows
from gnc_cli.codes.constructions.quadric_codes import FAMILIES, in_dimension, named
from gnc_cli.codes.constructions.quadric_rows import QuadricRows
from gnc_cli.codes.constructions.quadric_words import QuadricWords, quadric_words
from tests.codes.constructions.streamed import assert_figures, assert_parts

SMALL = {
    "quadric-3-1": (6, 36, "1/2"), "quadric-3-2": (18, 108, "1/6"),
    "quadric-3-3": (54, 2268, "1/6"), "quadric-3-4": (162, 2430, "1/18"),
    "quadric-4-2": (48, 320, "1/12"), "quadric-5-2": (100, 750, "1/20"),
    "quadric-8-1": (56, 576, "1/7"), "quadric-9-1": (72, 810, "1/8"),
    "quadric-3-4-extended": (170, 2187, "4/85"), "quadric-4-2-extended": (51, 256, "1/17"),
    "quadric-7-2-extended": (300, 2401, "1/50"), "quadric-3-3-shortened-2": (50, 243, "1/10"),
    "quadric-4-3-shortened-2": (186, 1024, "5/93"),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_codes(name: str) -> None:
    code = named(name)
    assert code is not None and (code.d, code.K, code.cosine.text) == SMALL[name]
    assert "upper bound" not in assert_figures(code).how


@pytest.mark.parametrize(("s", "e"), [(3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (5, 2), (9, 1)])
def test_the_words_are_a_linear_code(s: int, e: int) -> None:
    words = quadric_words(s, e)
    rows = QuadricRows(words)
    symbols = rows.symbols(np.arange(rows.coded))
    assert len(np.unique(symbols, axis=0)) == rows.coded
    number = {word.tobytes(): n for n, word in enumerate(symbols)}
    pairs = np.random.default_rng(0).integers(0, rows.coded, (2, 400))
    sums = words.plus[symbols[pairs[0]], symbols[pairs[1]]]
    assert all(word.tobytes() in number for word in sums)
    plain, most = words.most_zeros()
    zeros = (symbols == 0).sum(1)
    assert most == zeros[1:].max() == (s**e + s ** -(-e // 2)) // s
    assert plain == zeros[1 : s ** (e + 1)].max() == s ** (e - 1)


@pytest.mark.parametrize("s", [2, 3, 4, 9])
def test_symbols_are_a_field_under_addition(s: int) -> None:
    words = quadric_words(s, 1)
    assert np.array_equal(words.plus[0], np.arange(s)) and np.array_equal(words.plus, words.plus.T)
    assert (words.plus[np.arange(s), words.minus] == 0).all()
    assert all(len(set(row)) == s for row in words.plus)


def test_every_offered_code_has_the_figures_of_its_words() -> None:
    names = {"quadric-3-6", "quadric-4-4-extended", "quadric-3-5-shortened-1", "quadric-13-2"}
    names |= {"quadric-8-3", "quadric-5-4-extended", "quadric-5-3-shortened-2", "quadric-32-1"}
    for name in names:
        code = named(name)
        assert code is not None
        rows = code.build()
        found = rows.verify()
        assert rows.shape == (code.K, code.d) and found.max_cosine == code.cosine, name
        assert found.distinct and "upper bound" not in found.how
        some = rows.unit(code.K // 2, code.K // 2 + 50)
        np.testing.assert_allclose(np.linalg.norm(some, axis=1), 1.0, atol=1e-14)
        assert (some @ some.T - 2 * np.eye(50)).max() < code.cosine.value + 1e-14


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(3, 2, 0, False), (4, 2, 0, True), (3, 3, 2, False), (5, 1, 0, False)]),
    st.integers(0, 3000),
    st.integers(0, 3000),
)
def test_parts(code: tuple[int, int, int, bool], start: int, stop: int) -> None:
    assert_parts(QuadricRows(quadric_words(code[0], code[1]), code[2], code[3]), start, stop)


def test_a_block_ends_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = QuadricRows(quadric_words(3, 2))
    whole = np.asarray(rows)
    monkeypatch.setattr(quadric_rows, "_BLOCK_ENTRIES", 90)
    np.testing.assert_array_equal(rows.unit(4, 101), whole[4:101])


def test_wrong_forms_are_not_what_is_stated() -> None:
    words = QuadricWords(3, 4)
    words.forms[1:] = words.forms[1, ::-1]
    code = named("quadric-3-4")
    assert code is not None and QuadricRows(words).verify().max_cosine != code.cosine


def test_no_such_code() -> None:
    for wrong in ((2, 4, 0, False), (3, 3, 0, True), (3, 2, 4, False), (3, 2, 1, True)):
        with pytest.raises(ValueError, match="no code of GF"):
            QuadricRows(quadric_words(wrong[0], wrong[1]), wrong[2], wrong[3])
    with pytest.raises(ValueError, match="no quadratic forms over GF"):
        QuadricWords(6, 2)
    with pytest.raises(ValueError, match="K is 109"):
        QuadricRows(quadric_words(3, 2), K=109)


def test_lookups_agree() -> None:
    assert {code.name for code in in_dimension(500)} == {"quadric-5-3"}
    assert {code.name for code in in_dimension(1458)} == {"quadric-3-6"}
    assert list(in_dimension(501)) == [] and named("quadric-2-4") is None
    assert named("quadric-3-5-extended") is None and named("quadric-3-7") is None
    assert len(FAMILIES) == 3
