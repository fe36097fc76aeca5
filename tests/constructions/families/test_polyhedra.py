"""Codes with irrational coordinates, as other definitions have them; wrong rows are caught."""

import itertools

import numpy as np
import pytest

from gnc_cli.constructions.algebraic_rows import AlgebraicRows
from tests.constructions.checks import gram, named, spectrum
from tests.problems import antiprism, icosahedron


def algebraic(name: str) -> AlgebraicRows:
    rows = named(name).build()
    assert isinstance(rows, AlgebraicRows)
    return rows


@pytest.mark.parametrize(("name", "points"), [
    ("icosahedron", icosahedron), ("square-antiprism", antiprism),
])  # fmt: skip
def test_other_coordinates(name: str, points: object) -> None:
    W = points()  # type: ignore[operator]
    np.testing.assert_allclose(
        spectrum(gram(named(name).build())), spectrum(W @ W.T), rtol=0, atol=1e-14
    )


def test_icosahedron_around_a_vertex_of_the_600_cell() -> None:
    W = np.asarray(algebraic("600-cell"))
    near = W[np.abs(W @ W[0] - (1 + 5**0.5) / 4) < 1e-9]
    flat = near - np.outer(near @ W[0], W[0])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(
        spectrum(flat @ flat.T), spectrum(gram(algebraic("icosahedron"))), rtol=0, atol=1e-14
    )


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


def test_products_of_icosians_are_icosians() -> None:
    rows = algebraic("600-cell")
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


def test_the_rational_icosians_are_the_24_cell() -> None:
    rows = algebraic("600-cell")
    hurwitz = AlgebraicRows(rows.field, rows.vectors[~rows.vectors[..., 1].any(axis=1)])
    assert hurwitz.verify().distribution == named("24-cell").build().verify().distribution


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
