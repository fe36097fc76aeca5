"""Rattlers and contacts of codes where both are known."""

import numpy as np
import pytest

from gnc_cli.codes.rattlers import contact_pairs, one_vs_one_rattlers, one_vs_rest_rattlers
from gnc_cli.errors import UsageError
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest, one_vs_rest
from tests.problems import WITH_POINTS, Problem, icosahedron, polygon


def both(W: np.ndarray, tolerance: float = 1e-7) -> tuple[np.ndarray, np.ndarray]:
    rho = minimum_one_vs_rest(W)[0]
    return (
        one_vs_one_rattlers(row_maxima(W)[0], tolerance),
        one_vs_rest_rattlers(one_vs_rest(W), rho, tolerance),
    )


@pytest.mark.parametrize("problem", [p for p in WITH_POINTS if p.rattlers == 0], ids=str)
def test_rigid_codes_have_none(problem: Problem) -> None:
    W = problem.points()
    one_vs_one, one_vs_rest_ = both(W)
    assert not one_vs_one.any() and not one_vs_rest_.any()
    if problem.contacts is not None:
        pairs = contact_pairs(W, 1e-9)
        assert len(pairs) == problem.contacts
        assert (pairs[:, 0] < pairs[:, 1]).all()


def test_rows_beside_a_gap() -> None:
    """Seven corners of an octagon: those beside the gap are held on one side only."""
    W = np.delete(polygon(8), 7, axis=0)
    one_vs_one, one_vs_rest_ = both(W)
    assert not one_vs_one.any()
    # Each still has a neighbour at the smallest chord, but the hull of the others is farther.
    assert np.array_equal(np.flatnonzero(one_vs_rest_), [0, 6])


def test_a_lone_point_over_a_hexagon_rattles() -> None:
    """The pole of an equatorial hexagon touches nothing; its hull distance is the larger, too."""
    W = np.vstack([np.c_[polygon(6), np.zeros(6)], [[0.0, 0.0, 1.0]]])
    one_vs_one, one_vs_rest_ = both(W)
    assert np.array_equal(np.flatnonzero(one_vs_one), [6])
    assert np.array_equal(np.flatnonzero(one_vs_rest_), [6])
    assert len(contact_pairs(W, 1e-9)) == 6


def test_a_point_less_leaves_contacts() -> None:
    assert len(contact_pairs(icosahedron()[1:], 1e-9)) == 25


def test_tolerance_is_a_distance() -> None:
    """Chords 1 and 1 + 1e-6: apart for a tolerance below, together above."""
    a, b = 2.0 * np.arcsin(np.array([1.0, 1.0 + 1e-6]) / 2.0)
    t = np.array([0.0, a, a + b])
    W = np.stack([np.cos(t), np.sin(t)], axis=1)
    row_max = row_maxima(W)[0]
    assert np.array_equal(one_vs_one_rattlers(row_max, 0.9e-6), [False, False, True])
    assert not one_vs_one_rattlers(row_max, 1.1e-6).any()
    assert np.array_equal(contact_pairs(W, 0.9e-6), [[0, 1]])
    assert np.array_equal(contact_pairs(W, 1.1e-6), [[0, 1], [1, 2]])


def test_an_unproved_rattler_is_none() -> None:
    """Only a bracket that lies wholly above the minimum counts."""
    W = np.delete(polygon(8), 7, axis=0)
    result, rho = one_vs_rest(W), minimum_one_vs_rest(W)[0]
    excess = float(result.lower[0] - rho.upper)
    assert excess > 0.0
    assert one_vs_rest_rattlers(result, rho, excess * 0.999)[0]
    assert not one_vs_rest_rattlers(result, rho, excess * 1.001)[0]


@pytest.mark.parametrize("tolerance", [-1e-9, float("nan")])
def test_bad_tolerance(tolerance: float) -> None:
    with pytest.raises(UsageError, match="tolerance"):
        one_vs_one_rattlers(np.zeros(3), tolerance)
    with pytest.raises(UsageError, match="tolerance"):
        contact_pairs(np.eye(3), tolerance)
