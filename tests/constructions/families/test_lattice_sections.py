"""Sections of lattices: every line of the file against Gram matrices in rational numbers."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from gnc_cli.constructions.construction import Cosine
from gnc_cli.constructions.families import lattice_sections
from gnc_cli.constructions.families.lattice_sections import (
    FAMILIES,
    SECOND_SHELL,
    ShellRows,
    base_vector,
    lattice_section,
    shortest_vectors,
)
from gnc_cli.constructions.registry import best_construction, find, largest_construction
from tests.constructions.checks import check, named

CODES = [code for d in range(2, 25) for code in FAMILIES[0].in_dimension(d)]
_ALL_PAIRS, _SAMPLE = 2500, 60
"""Rows of a code up to which every pair is multiplied; of a larger one so many are, with others."""


def _batches() -> list[list[lattice_sections.Construction]]:
    small = sorted((c for c in CODES if c.K <= _ALL_PAIRS), key=lambda c: c.K)
    return [small[at : at + 20] for at in range(0, len(small), 20)]


def _lattice(code_name: str) -> tuple[str, list[str], list[tuple[int, ...]]]:
    """Lattice, base and levels of a line."""
    build = named(code_name).build
    _, _, lattice, base, levels = build.args  # type: ignore[attr-defined]
    products = [tuple(map(int, level.split("/"))) for level in levels.split()]
    return lattice, base.split(), products


def _solved(gram: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a linear system, by elimination."""
    rows = [[*line, value] for line, value in zip(gram, right, strict=True)]
    for at in range(len(rows)):
        pivot = next(i for i in range(at, len(rows)) if rows[i][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [x / rows[at][at] for x in rows[at]]
        for other in range(len(rows)):
            if other != at:
                factor = rows[other][at]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[at], strict=True)]
    return [line[-1] for line in rows]


def _largest_square(name: str) -> tuple[int, Fraction]:
    """Number of rows and the largest cosine's square, from the lattice vectors themselves."""
    lattice, texts, levels = _lattice(name)
    vectors = shortest_vectors(lattice).astype(np.int64)
    base = np.array([base_vector(vectors, text) for text in texts])
    gram = [[Fraction(int(x)) for x in line] for line in base @ base.T]
    weights = [_solved(gram, [Fraction(a) for a in level]) for level in levels]
    rows = [vectors[(vectors @ base.T == level).all(axis=1)] for level in levels]
    norm, largest = int(vectors[0] @ vectors[0]), Fraction(-1)

    def shift(i: int, j: int) -> Fraction:
        return sum((x * y for x, y in zip(weights[i], levels[j], strict=True)), Fraction(0))

    for i, j in combinations_with_replacement(range(len(levels)), 2):
        products = rows[i] @ rows[j].T
        if i == j:
            np.fill_diagonal(products, -norm)
        product = int(products.max()) - shift(i, j)
        square = product * abs(product) / ((norm - shift(i, i)) * (norm - shift(j, j)))
        largest = max(largest, square)
    return sum(map(len, rows)), largest


@pytest.mark.parametrize("batch", _batches(), ids=lambda batch: f"K={batch[0].K}..{batch[-1].K}")
def test_sections_have_their_cosine_in_rational_numbers(
    batch: list[lattice_sections.Construction],
) -> None:
    for code in batch:
        K, square = _largest_square(code.name)
        assert K == code.K and 0 < square < 1
        assert Cosine.root(square) == code.cosine, code.name


def test_no_pair_is_closer_than_stated() -> None:
    for code in (code for code in CODES if _ALL_PAIRS < code.K <= 100_000):
        rows = code.build()
        assert rows.shape == (code.K, code.d)
        some = np.random.default_rng(0).choice(code.K, _SAMPLE, replace=False)
        whole = np.asarray(rows)
        products = whole[some] @ whole.T
        np.testing.assert_allclose(products[np.arange(_SAMPLE), some], 1.0, rtol=0, atol=1e-14)
        products[np.arange(_SAMPLE), some] = -1.0
        assert products.max() < code.cosine.value + 1e-14, code.name


@pytest.mark.slow
@pytest.mark.parametrize("code", [c for c in CODES if c.K > 10_000], ids=lambda code: code.name)
def test_large_sections_hold(code: lattice_sections.Construction) -> None:
    check(code)


def test_no_section_is_dominated_by_another_construction() -> None:
    for code in CODES:
        rival = largest_construction(code.d, code.cosine.value)
        assert rival is not None and rival.K == code.K, code.name
        best = best_construction(code.d, code.K)
        assert best is not None and best.cosine.value == code.cosine.value


def test_sections_known_in_the_literature() -> None:
    kissing = {22: 49896, 21: 27720, 20: 17400, 19: 10668, 18: 7398, 17: 5346}
    vectors = shortest_vectors("leech")
    texts = "0 58879 104244 157775 166496 34978 55126".split()
    for d, K in kissing.items():
        base = np.array([base_vector(vectors, text) for text in texts[: 24 - d]])
        rows = lattice_section(vectors, base, [(0,) * len(base)], d)
        assert rows.shape == (K, d)
        assert K > 12_000 or rows.verify().max_cosine.text == "1/2"


@pytest.mark.parametrize(("text", "sum"), [("3", [3]), ("3+5-7", [3, 5, -7]), ("4-4", [])])
def test_base_vectors_are_sums(text: str, sum: list[int]) -> None:
    vectors = np.random.default_rng(1).integers(-4, 5, (9, 6)).astype(np.int8)
    expected = np.zeros(6, dtype=np.int64)
    for number in sum:
        expected += np.sign(number) * vectors[abs(number)].astype(np.int64)
    assert base_vector(vectors, text).tolist() == expected.tolist()


def test_the_second_shell_has_its_size_and_products() -> None:
    shell = ShellRows(16773120, [])
    some = np.unique(np.random.default_rng(2).integers(0, len(shell), 400))
    rows = np.concatenate([shell.vectors(n, n + 1) for n in some.tolist()]).astype(np.int64)
    gram = rows @ rows.T
    assert set(gram.diagonal().tolist()) == {48}
    assert set(np.unique(gram).tolist()) <= {-48, *range(-32, 33, 8), 48}
    assert len(shell._numbers) == len(shell)
    np.testing.assert_allclose(shell.unit(5, 9) @ shell.unit(5, 9).T * 48, gram_of(shell, 5, 9))


def gram_of(shell: ShellRows, start: int, stop: int) -> np.ndarray:
    """Products of lattice vectors."""
    rows = shell.vectors(start, stop).astype(np.int64)
    return np.asarray(rows @ rows.T)


def test_a_level_of_the_second_shell_is_checked_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = "0 58879 104244 157775 166496 34978 55126 101430".split()
    shell = ShellRows(61440, texts, (0,) * 8)
    verified = shell.verify()
    assert verified.K == 61440 and verified.distinct and verified.attained
    assert verified.max_cosine.text == "2/3"
    assert np.linalg.norm(shell.unit(0, 3), axis=1) == pytest.approx(1.0, abs=1e-14)
    assert not ShellRows(61439, texts, (0,) * 8).verify().distinct
    for wrong, message in ((1, "not a vector of the lattice"), (2, "not of the shell")):
        monkeypatch.setattr(
            ShellRows, "vectors", lambda self, *at, e=wrong: _moved(type(self), self, e, *at)
        )
        with pytest.raises(ValueError, match=message):
            shell.verify()
        monkeypatch.undo()


_VECTORS = ShellRows.vectors


def _moved(
    kind: type[ShellRows], shell: ShellRows, wrong: int, start: int, stop: int
) -> np.ndarray:
    rows = _VECTORS(shell, start, stop).copy()
    if wrong == 1:
        rows[0, 0] += 1
    else:
        rows[0] *= 2
    return rows


def test_the_file_lists_what_it_names() -> None:
    assert len({(code.d, code.K) for code in CODES}) == len(CODES)
    assert all(find(code.name) == code for code in CODES)
    assert {_lattice(code.name)[0] for code in CODES} >= {"leech", SECOND_SHELL}
