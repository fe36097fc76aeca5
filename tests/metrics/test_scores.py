"""Screened scores against products in full: leaders, proved errors, exact ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.sphere import normalise, row_norms
from gnc_cli.metrics import scores as module
from gnc_cli.metrics.scores import SampleBlock, Scores, place, screen


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles so small that every case has many of them, whole ones and remainders."""
    monkeypatch.setattr(module, "_TILE_ROWS", 3)


def samples_of(unit: np.ndarray, device: str | None = None) -> SampleBlock:
    """Unit rows as a block of samples."""
    small = place(np.column_stack([unit, np.zeros(len(unit))]), device)
    return SampleBlock(np.zeros(len(unit), dtype=int), unit, np.ones(len(unit)), unit, small)


@given(d=st.integers(1, 400), seed=st.integers(0, 999), device=st.sampled_from([None, "cpu"]))
def test_the_screen_keeps_its_proved_error(d: int, seed: int, device: str | None) -> None:
    rng = np.random.default_rng(seed)
    V = np.abs(rng.standard_normal((5, d))) * rng.choice([1e-20, 1.0, 1e20])
    scale, offsets = np.full(5, row_norms(V).max()), rng.uniform(-1, 1, 5)
    scores = Scores(V, scale, unit=True, offsets=offsets, device=device)
    samples = samples_of(normalise(np.abs(rng.standard_normal((4, d)))), device)
    factor, error = scores.factors(samples)
    assert (error < 1e-12).all() or device is None
    samples.product_rows[:, -1] = place(factor, device)
    (leaders,) = screen(samples.product_rows, scores.product_columns(), np.full(4, 2))
    truth = samples.unit.astype(np.longdouble) @ (V / scale[:, None]).T + factor[:, None] * offsets
    assert (np.abs(leaders.own_scores - truth[:, 2]) <= error).all()
    truth[:, 2] = -np.inf
    assert (np.abs(leaders.top - truth.max(axis=1)) <= error).all()


@pytest.mark.parametrize("d", [1, 5, 37, 512, 1000])
def test_a_crowd_of_equal_columns_ties_exactly(
    d: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TILE_ROWS", 50)
    V = np.tile(rng.standard_normal(d), (101, 1))
    V[[0, 70]] /= 2.0
    scores = Scores(V, np.full(101, row_norms(V).max()), unit=True, offsets=np.full(101, -0.3))
    own = np.array([-1, 0, 1, 2, 40, 60, 70, 99, 100])
    mine, top, at = scores.decide_exactly(samples_of(normalise(V[[1] * 9])), np.arange(9), own)
    assert np.array_equal(at, [1, 1, 2, 1, 1, 1, 1, 1, 1])
    assert np.array_equal(mine[[2, 3, 4, 5, 7, 8]], top[[2, 3, 4, 5, 7, 8]])
    assert (mine[[1, 6]] < top[[1, 6]]).all()
