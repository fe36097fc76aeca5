"""ETF error, energies, effective rank, tiles of pairs: closed forms, and digits near collapse."""

import math
from functools import partial

import numpy as np
import pytest

from gnc_cli.metrics import pairs
from gnc_cli.metrics.pairs import angle_sums, energy_sums
from gnc_cli.metrics.variants import effective_rank, etf_error
from tests.metrics import reference
from tests.problems import orthoplex, polygon, simplex


def energies_of(X: np.ndarray) -> tuple[float, float]:
    """Logarithmic and Riesz."""
    (found,) = pairs.pair_means(X, energy_sums)
    assert found is not None
    return found[0], found[1]


def angles_of(M: np.ndarray) -> np.ndarray:
    (found,) = pairs.pair_means(M, partial(angle_sums, norms=np.linalg.norm(M, axis=1)))
    assert found is not None
    return found


def test_energies_and_ranks_of_known_codes() -> None:
    for K in (3, 8, 700):
        # Kirchhoff: the product of the chords from one corner of a regular K-gon is K.
        assert energies_of(polygon(K))[0] == pytest.approx(-math.log(K) / (K - 1), rel=1e-12)
    d = 7
    riesz = ((2 * d - 2) / math.sqrt(2.0) + 0.5) / (2 * d - 1)
    assert energies_of(orthoplex(d))[1] == pytest.approx(riesz)
    assert effective_rank(orthoplex(d)) == pytest.approx(d)
    assert effective_rank(np.outer([1.0, 2.0, -3.0], [1.0, 1.0])) == pytest.approx(1.0)


def test_nearly_equal_rows_keep_their_digits(rng: np.random.Generator) -> None:
    """Distances of 1e-9 between rows of length 1: the Gram form has no digit of their squares."""
    X = rng.standard_normal((6, 5))
    X[3] = X[0] + np.array([1e-9, 0.0, 0.0, 0.0, 0.0])
    apart = X[3, 0] - X[0, 0]
    assert np.linalg.norm(X[3] - X[0]) == apart
    exact = reference.log_energy(X)
    assert energies_of(X)[0] == pytest.approx(exact, rel=1e-12)
    assert energies_of(X)[1] == pytest.approx(reference.riesz_energy(X), rel=1e-12)


@pytest.mark.parametrize("noise", [1e-3, 1e-7, 1e-9, 1e-12])
def test_etf_error_near_collapse(noise: float, rng: np.random.Generator) -> None:
    """Twice the noise, twice the error: `2 - 2 cos` alone would stop near 2e-8."""
    d = 30
    first, second = rng.standard_normal((2, d + 1, d))
    values = [
        etf_error(simplex(d) + s * noise * first, simplex(d) + s * noise * second) for s in (1, 2)
    ]
    assert 0.1 * noise < values[0] < 10.0 * noise  # type: ignore[operator]
    assert values[1] == pytest.approx(2.0 * values[0], rel=max(2e-3, 3.0 * noise))
    opposite = etf_error(simplex(d) + noise * first, -simplex(d))
    assert opposite == pytest.approx(2.0, abs=10.0 * noise**2 + 1e-14)


def test_a_sample_of_rows_against_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.standard_normal((90, 4))
    everything = energies_of(X)[0]
    monkeypatch.setattr(pairs, "_MAX_PAIRED_ROWS", 60)
    monkeypatch.setattr(pairs, "_SAMPLED_PAIRS", 1800)
    monkeypatch.setattr(pairs, "_TILE_ROWS", 8)
    assert pairs.pair_rows(90) == 20
    tiles = list(pairs.pair_tiles(X, seed=3, deadline=None, floor=0.0))
    rows = sorted(set(np.concatenate([tile.rows for tile in tiles]).tolist()))
    assert len(rows) == 20 and sum(tile.weight * tile.count for tile in tiles) == 20 * 89
    chords = [np.linalg.norm(X[k] - X[j]) for k in rows for j in range(90) if j != k]
    (sampled,) = pairs.pair_means(X, energy_sums, seed=3)
    assert sampled is not None
    assert sampled[0] == pytest.approx(-np.mean(np.log(chords)), rel=1e-12)
    assert sampled[0] == pytest.approx(everything, abs=0.2)
