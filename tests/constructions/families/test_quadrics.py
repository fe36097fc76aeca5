"""Codes of quadratic forms: every word counted, all pairs of rows, streaming, values of all."""

import numpy as np
import pytest

from gnc_cli.constructions.families.quadrics import QuadricRows, QuadricWords, quadric_words
from tests.constructions.checks import check, named

LARGE = {
    "quadric-4-4-extended": (783, 16384, "5/261"),
    "quadric-3-6": (1458, 61236, "1/54"),
    "quadric-3-5-shortened-1": (484, 59049, "25/484"),
    "quadric-5-4-extended": (2524, 78125, "6/631"),
    "quadric-8-3": (3584, 2101248, "1/56"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_codes(name: str) -> None:
    code = named(name)
    assert (code.d, code.K, code.cosine.text) == LARGE[name]
    check(code)


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


def test_wrong_forms_are_not_what_is_stated() -> None:
    words = QuadricWords(3, 4)
    words.forms[1:] = words.forms[1, ::-1]
    assert QuadricRows(words).verify().max_cosine != named("quadric-3-4").cosine
