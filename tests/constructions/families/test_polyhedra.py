"""Codes with irrational coordinates: wrong rows are caught."""

import numpy as np
import pytest

from gnc_cli.constructions.algebraic_rows import AlgebraicRows
from tests.constructions.checks import named


def algebraic(name: str) -> AlgebraicRows:
    rows = named(name).build()
    assert isinstance(rows, AlgebraicRows)
    return rows


@pytest.mark.parametrize(
    "name", ["icosahedron", "snub-cube", "square-antiprism", "tammes-7", "600-cell"]
)
def test_wrong_rows_are_caught(name: str) -> None:
    rows = algebraic(name)
    truth = rows.verify()
    doubled = np.concatenate([rows.vectors, rows.vectors[3:4]])
    assert not AlgebraicRows(rows.field, doubled, rows.weights).verify().distinct
    # One row moved on its sphere: its length is right, its place is wrong.
    moved = rows.vectors.copy()
    moved[-1, :2] = moved[-1, 1::-1] if name == "600-cell" else -moved[-1, :2]
    wrong = AlgebraicRows(rows.field, moved, rows.weights).verify()
    assert wrong.distribution != truth.distribution
