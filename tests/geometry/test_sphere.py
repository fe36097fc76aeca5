"""Chords and angles keep their digits; normalising refuses what has no direction."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.geometry import sphere
from gnc_cli.geometry.sphere import (
    angle_from_chord,
    as_points,
    as_unit_points,
    chord,
    normalise,
    pair_chords,
    random_points,
    row_norms,
)


def test_normalise_extreme_scales(rng: np.random.Generator) -> None:
    rows = rng.standard_normal((6, 5))
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for scale in (1e-300, 1e-160, 1.0, 1e160, 1e300):
        assert normalise(rows * scale) == pytest.approx(expected, abs=1e-15)


def test_normalise_batches(rng: np.random.Generator) -> None:
    batch = rng.standard_normal((2, 3, 4, 5))
    assert np.linalg.norm(normalise(batch), axis=-1) == pytest.approx(np.ones((2, 3, 4)))


@pytest.mark.parametrize("bad, word", [(0.0, "zero"), (np.nan, "not finite"), (np.inf, "finite")])
def test_normalise_names_the_bad_row(bad: float, word: str) -> None:
    rows = np.ones((4, 3))
    rows[2] = bad
    with pytest.raises(DataError, match=f"row 2 is .*{word}"):
        normalise(rows)


@given(st.floats(1e-12, math.pi))
def test_angle_survives_the_round_trip(angle: float) -> None:
    """Two points at a small angle: the chord knows it to the last digits, the cosine does not."""
    W = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    # Near pi the chord is flat in the angle: half the digits are all that any chord can give.
    relative = 1e-7 if angle > 3.0 else 1e-13
    chord = float(np.linalg.norm(W[0] - W[1]))
    assert angle_from_chord(chord) == pytest.approx(angle, rel=relative, abs=2e-16)


@pytest.mark.parametrize("cosine", [1.0, 0.5, 0.0, -1.0])
def test_chord_and_angle(cosine: float) -> None:
    assert angle_from_chord(chord(cosine)) == pytest.approx(math.acos(cosine), abs=1e-15)
    assert chord(1.0 + 1e-16) == 0.0
    assert angle_from_chord(2.0 + 1e-15) == math.pi


def test_pair_chords_in_any_block_size(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    W = random_points(rng, 30, 4)
    i, j = np.triu_indices(30, 1)
    expected = np.linalg.norm(W[i] - W[j], axis=1)
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr(sphere, "_BLOCK_BYTES", size)
        assert pair_chords(W, i, j) == pytest.approx(expected, rel=1e-15)


def test_random_points_are_spread_evenly(rng: np.random.Generator) -> None:
    W = random_points(rng, 20000, 3)
    assert np.abs((W**2).sum(axis=1) - 1.0).max() < 1e-14
    assert np.abs(W.mean(axis=0)).max() < 0.02
    assert W.T @ W / len(W) == pytest.approx(np.eye(3) / 3, abs=0.02)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 0), (2, 2, 2)])
def test_shapes_are_checked(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="expected"):
        as_points(np.ones(shape))


def test_values_are_checked() -> None:
    W = np.eye(3)
    W[1, 2] = np.nan
    with pytest.raises(DataError, match="row 1"):
        as_points(W)
    with pytest.raises(DataError, match="row 2 of W has norm 1.5"):
        as_unit_points(np.diag([1.0, 1.0, 1.5]))
    huge = np.full((2, 2), 1e308)
    assert as_points(huge) is huge


def test_norms_neither_overflow_nor_vanish() -> None:
    X = np.array([[3e250, 4e250], [3e-250, 4e-250], [0, 0], [3, -4], [np.nan, 1], [np.inf, 1]])
    norms = row_norms(X)
    np.testing.assert_allclose(norms[:4], [5e250, 5e-250, 0.0, 5.0], rtol=1e-15)
    assert not np.isfinite(norms[4:]).any()
