"""Two unbiased bases and their Hadamard matrices: against all pairs."""

import numpy as np
import pytest

from gnc_cli.codes.constructions import bases
from gnc_cli.codes.constructions.bases import TwoBases
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.hadamard_matrices import hadamard_matrix, has_hadamard_matrix
from tests.codes.constructions.checks import gram, spectrum

CODES = [bases.named(f"mub-{d}") for d in (4, 8, 12, 28, 32, 96)]


@pytest.mark.parametrize("code", CODES, ids=lambda c: c.name if c else None)
def test_as_stated(code: Construction | None) -> None:
    assert code is not None
    rows = code.build()
    verified = rows.verify()
    assert rows.shape == (code.K, code.d) and verified.K == code.K and verified.distinct
    assert verified.max_cosine == code.cosine
    products = spectrum(gram(rows))
    assert products[0] == pytest.approx(code.cosine.value, abs=1e-14)
    if code.distribution is not None:
        exact = np.repeat(
            [c.value for c, _ in verified.distribution or ()],
            [n for _, n in verified.distribution or ()],
        )
        np.testing.assert_allclose(products, exact, rtol=0, atol=1e-14)
        stated = [(text, code.K * n) for text, n in code.distribution]
        assert [(c.text, 2 * n) for c, n in verified.distribution or ()] == stated


def test_hadamard_matrices() -> None:
    orders = [d for d in range(1, 257) if has_hadamard_matrix(d)]
    assert {1, 2, 12, 20, 24, 28, 36, 60, 96, 128, 192, 256} <= set(orders)
    assert all(d < 4 or d % 4 == 0 for d in orders)
    for d in orders:
        matrix = hadamard_matrix(d).astype(int)
        assert matrix.shape == (d, d) and (np.abs(matrix) == 1).all()
        assert (matrix @ matrix.T == d * np.eye(d)).all()
    with pytest.raises(ValueError, match="order 6"):
        hadamard_matrix(6)


def test_a_matrix_that_is_none_is_caught() -> None:
    matrix = hadamard_matrix(12).copy()
    matrix[3, 4] *= -1
    with pytest.raises(ValueError, match="not a Hadamard matrix"):
        TwoBases(matrix).verify()


def test_any_part_is_a_slice() -> None:
    rows = TwoBases(hadamard_matrix(12))
    whole = np.asarray(rows)
    for start, stop in ((0, 3), (1, 2), (17, 23), (len(whole) - 3, len(whole) + 9), (7, 7)):
        assert (rows.unit(start, stop) == whole[start:stop]).all()


@pytest.mark.parametrize("name", ["mub-6", "mub-0", "mub-16384", "mub-x"])
def test_names_that_are_none(name: str) -> None:
    assert bases.named(name) is None


def test_dimensions() -> None:
    assert [c.name for c in bases.in_dimension(768)] == ["mub-768"]
    assert not bases.in_dimension(766)
