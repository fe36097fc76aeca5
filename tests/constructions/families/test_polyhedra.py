"""Codes with irrational coordinates, as other definitions have them; wrong rows are caught."""

import itertools

import numpy as np
import pytest

from gnc_cli.constructions.algebraic_rows import AlgebraicRows
from tests.constructions.checks import named


def algebraic(name: str) -> AlgebraicRows:
    rows = named(name).build()
    assert isinstance(rows, AlgebraicRows)
    return rows


def test_snub_cube_is_an_orbit_of_the_rotations_of_the_cube() -> None:
    """All 24 rotations of one point, which meets its images with no fixed one between."""
    W = np.asarray(algebraic("snub-cube"))
    images = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            rotation = np.diag(signs) @ np.eye(3)[list(order)]
            if np.linalg.det(rotation) > 0:
                images.append(rotation @ W[0])
    nearest = np.array(images) @ W.T
    np.testing.assert_allclose(nearest.max(axis=1), 1.0, atol=1e-15)
    assert len(set(nearest.argmax(axis=1))) == 24


def test_equations_of_the_seven_points() -> None:
    """3 x^3 - 9 x^2 - 3 x + 1 = 0, Schuette and van der Waerden's."""
    x = named("tammes-7").cosine.value
    assert 3 * x**3 - 9 * x**2 - 3 * x + 1 == pytest.approx(0.0, abs=1e-15)


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
