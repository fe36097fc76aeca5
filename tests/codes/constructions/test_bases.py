"""Two unbiased bases, Hadamard matrices, chirps: against all pairs."""

import numpy as np
import pytest

from gnc_cli.codes.constructions import bases, chirps
from gnc_cli.codes.constructions.bases import TwoBases
from gnc_cli.codes.constructions.chirps import ChirpRows
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.hadamard_matrices import hadamard_matrix, has_hadamard_matrix
from tests.codes.constructions.checks import gram, spectrum


def _known(family: str, *parameters: int) -> list[Construction]:
    found = [
        code
        for p in parameters
        for module in (bases, chirps)
        if (code := module.named(f"{family}-{p}")) is not None
    ]
    assert len(found) == len(parameters)
    return found


CODES = _known("mub", 4, 8, 12, 28, 32, 96) + _known("chirp", 3, 5, 7, 11)


@pytest.mark.parametrize("code", CODES, ids=lambda c: c.name)
def test_as_stated(code: Construction) -> None:
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


@pytest.mark.parametrize("rows", [ChirpRows(5), TwoBases(hadamard_matrix(12))], ids=["c", "m"])
def test_any_part_is_a_slice(rows: ChirpRows | TwoBases) -> None:
    whole = np.asarray(rows)
    for start, stop in ((0, 3), (1, 2), (17, 23), (len(whole) - 3, len(whole) + 9), (7, 7)):
        assert (rows.unit(start, stop) == whole[start:stop]).all()


def test_chirp_vectors_by_their_formula() -> None:
    p = 7
    W = np.asarray(ChirpRows(p)).reshape(p + 1, p, 4, 2 * p)
    vectors = W[..., :p] + 1j * W[..., p:]
    for b, a, x in np.ndindex(p, p, p):
        expected = np.exp(2j * np.pi * (b * x * x + a * x) / p) / np.sqrt(p)
        units = expected * np.array([1, -1, 1j, -1j])
        np.testing.assert_allclose(vectors[b + 1, a, :, x], units, atol=1e-14)


@pytest.mark.parametrize("name", ["mub-6", "mub-0", "mub-16384", "mub-x", "chirp-9", "chirp-"])
def test_names_that_are_none(name: str) -> None:
    assert bases.named(name) is None and chirps.named(name) is None


def test_dimensions() -> None:
    assert [c.name for c in bases.in_dimension(768)] == ["mub-768"]
    assert [c.name for c in chirps.in_dimension(766)] == ["chirp-383"]
    assert not bases.in_dimension(766) and not chirps.in_dimension(768)
    with pytest.raises(ValueError, match="9 is not an odd prime"):
        ChirpRows(9)
