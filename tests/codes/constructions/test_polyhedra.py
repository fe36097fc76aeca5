"""Codes on the sphere: as stated, as in the table, and as other definitions have them."""

import itertools

import numpy as np
import pytest

from gnc_cli.codes.constructions.algebraic import AlgebraicRows
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.polyhedra import CODES
from gnc_cli.codes.constructions.quaternions import CODES as QUATERNIONS
from tests.codes.constructions.checks import assert_as_stated, gram, known_codes, spectrum
from tests.problems import antiprism, icosahedron

BY_NAME = {code.name: code for code in CODES}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_as_stated_and_as_in_the_table(code: Construction) -> None:
    verified = assert_as_stated(code)
    row = known_codes()[code.d, code.K]
    assert code.proven and row["proven"] == "yes"
    assert code.cosine.value == pytest.approx(float(row["max_cosine"]), rel=1e-15)
    assert verified.distribution is not None
    assert verified.distribution[0][1] == int(row["contacts"])


@pytest.mark.parametrize(("name", "points"), [
    ("icosahedron", icosahedron), ("square-antiprism", antiprism),
])  # fmt: skip
def test_other_coordinates(name: str, points: object) -> None:
    W = points()  # type: ignore[operator]
    np.testing.assert_allclose(
        spectrum(gram(BY_NAME[name].build())), spectrum(W @ W.T), rtol=0, atol=1e-14
    )


def test_icosahedron_around_a_vertex_of_the_600_cell() -> None:
    W = np.asarray(QUATERNIONS[0].build())
    near = W[np.abs(W @ W[0] - (1 + 5**0.5) / 4) < 1e-9]
    flat = near - np.outer(near @ W[0], W[0])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(
        spectrum(flat @ flat.T), spectrum(gram(BY_NAME["icosahedron"].build())), rtol=0, atol=1e-14
    )


def test_snub_cube_is_an_orbit_of_the_rotations_of_the_cube() -> None:
    """All 24 rotations of one point, which meets its images with no fixed one between."""
    W = np.asarray(BY_NAME["snub-cube"].build())
    images = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            rotation = np.diag(signs) @ np.eye(3)[list(order)]
            if np.linalg.det(rotation) > 0:
                images.append(rotation @ W[0])
    np.testing.assert_allclose(
        np.sort(np.round(images, 12), axis=0), np.sort(np.round(W, 12), axis=0), atol=1e-11
    )
    nearest = np.array(images) @ W.T
    np.testing.assert_allclose(nearest.max(axis=1), 1.0, atol=1e-15)
    assert len(set(nearest.argmax(axis=1))) == 24


def test_equations_of_the_seven_points() -> None:
    """3 x^3 - 9 x^2 - 3 x + 1 = 0, Schuette and van der Waerden's."""
    x = BY_NAME["tammes-7"].cosine.value
    assert 3 * x**3 - 9 * x**2 - 3 * x + 1 == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("name", ["icosahedron", "snub-cube", "square-antiprism", "tammes-7"])
def test_wrong_rows_are_caught(name: str) -> None:
    rows = BY_NAME[name].build()
    assert isinstance(rows, AlgebraicRows)
    truth = rows.verify()
    doubled = np.concatenate([rows.vectors, rows.vectors[3:4]])
    assert not AlgebraicRows(rows.field, doubled, rows.weights).verify().distinct
    # One row reflected: its length is right, its place is wrong.
    moved = rows.vectors.copy()
    moved[1, 0] *= -1
    moved[1, 1] *= -1
    wrong = AlgebraicRows(rows.field, moved, rows.weights).verify()
    assert wrong.distribution != truth.distribution
