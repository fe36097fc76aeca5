"""The 600-cell: as stated, and a group under the multiplication of quaternions."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.algebraic import AlgebraicRows
from gnc_cli.codes.constructions.quaternions import CODES
from gnc_cli.codes.constructions.root_systems import CODES as ROOTS
from tests.codes.constructions.checks import assert_as_stated, gram, known_codes, spectrum

(CELL,) = CODES


def test_as_stated_and_as_in_the_table() -> None:
    verified = assert_as_stated(CELL)
    row = known_codes()[4, 120]
    assert CELL.proven and row["proven"] == "yes"
    assert CELL.cosine.value == pytest.approx(float(row["max_cosine"]), rel=1e-15)
    assert verified.distribution is not None and verified.distribution[0][1] == 720


def test_products_of_units_are_units() -> None:
    rows = CELL.build()
    assert isinstance(rows, AlgebraicRows)
    x = rows.vectors
    a, b = x[:, None], x[None, :]

    def times(i: int, j: int) -> np.ndarray:
        return rows.field.multiply(a[:, :, i], b[:, :, j])

    products = np.stack([
        times(0, 0) - times(1, 1) - times(2, 2) - times(3, 3),
        times(0, 1) + times(1, 0) + times(2, 3) - times(3, 2),
        times(0, 2) - times(1, 3) + times(2, 0) + times(3, 1),
        times(0, 3) + times(1, 2) - times(2, 1) + times(3, 0),
    ], axis=2)  # fmt: skip
    # Coordinates are doubled: the product of two is four times a unit, twice one of the rows.
    units = {tuple(row.ravel()) for row in 2 * x}
    assert {tuple(row.ravel()) for row in products.reshape(-1, 4, 2)} == units


def test_the_rational_units_are_the_24_cell() -> None:
    rows = CELL.build()
    assert isinstance(rows, AlgebraicRows)
    rational = rows.vectors[~rows.vectors[..., 1].any(axis=1)]
    hurwitz = AlgebraicRows(rows.field, rational)
    assert hurwitz.verify().distribution == ROOTS[0].build().verify().distribution
    np.testing.assert_allclose(
        spectrum(gram(hurwitz)), spectrum(gram(ROOTS[0].build())), rtol=0, atol=1e-15
    )


def test_wrong_rows_are_caught() -> None:
    rows = CELL.build()
    assert isinstance(rows, AlgebraicRows)
    odd = rows.vectors.copy()
    odd[119] = odd[119][[1, 0, 2, 3]]  # an odd permutation leaves the group
    wrong = AlgebraicRows(rows.field, odd).verify()
    assert wrong.distinct and wrong.max_cosine.value > CELL.cosine.value
    odd[119] = odd[7]
    assert not AlgebraicRows(rows.field, odd).verify().distinct
