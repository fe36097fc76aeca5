"""Paley's matrices: Hadamard and conference matrices, their codes, and what a wrong matrix does."""

import numpy as np
import pytest

from gnc_cli.constructions.families.paley import (
    PaleyRows,
    hadamard_matrix,
    has_hadamard_matrix,
)
from gnc_cli.constructions.fields import FiniteField, finite_field
from tests.constructions.checks import check, named


def test_a_large_one_is_proved_and_made_in_parts() -> None:
    code = named("paley-2017")
    found = check(code)
    assert found.distribution is not None
    rows = code.build()
    products = np.abs((some := rows.unit(1000, 1200)) @ some[::2].T)
    lines = np.arange(200) // 2 == np.arange(100)[:, None]
    np.testing.assert_allclose(products.T, np.where(lines, 1.0, 2017**-0.5), atol=1e-14)


class _Wrong(FiniteField):
    """GF(13) with wrong quadratic characters."""

    def __init__(self, *places: int) -> None:
        super().__init__(13)
        self.places = list(places)

    @property
    def characters(self) -> np.ndarray:
        signs = super().characters
        signs[self.places] *= -1
        return signs


def test_wrong_signs_are_caught() -> None:
    with pytest.raises(ValueError, match="two rows are not orthogonal"):
        PaleyRows(_Wrong(2, 11)).verify()
    with pytest.raises(ValueError, match="not a symmetric matrix of signs"):
        PaleyRows(_Wrong(2)).verify()


def test_wrong_rows_are_caught() -> None:
    rows = PaleyRows(finite_field(13))
    rows._sines = rows._sines[::-1].copy() * 1.001
    with pytest.raises(ValueError, match="miss the eigenspace"):
        rows.verify()


def test_hadamard_matrices() -> None:
    orders = [d for d in range(1, 257) if has_hadamard_matrix(d)]
    assert {1, 2, 12, 20, 24, 28, 36, 60, 96, 128, 192, 256} <= set(orders)
    assert all(d < 4 or d % 4 == 0 for d in orders)
    for d in orders:
        matrix = hadamard_matrix(d).astype(int)
        assert matrix.shape == (d, d) and (np.abs(matrix) == 1).all()
        assert (matrix @ matrix.T == d * np.eye(d)).all()
