"""The spectrum of features against NumPy's singular values and loops over all pairs."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from gnc_cli.errors import DataError
from gnc_cli.metrics import spectrum
from gnc_cli.metrics.class_moments import stream_moments
from gnc_cli.metrics.decisions import stream_deciders
from gnc_cli.metrics.rows import ArrayRows, Pass
from gnc_cli.metrics.spectrum import (
    FeatureSpectrum,
    direction_sums,
    feature_spectrum,
    moment_sums,
    total_moments,
)

NAMES = (
    "effective_rank",
    "participation_ratio",
    "stable_rank",
    "first_share",
    "mean_cosine",
    "mean_cosine_centred",
    "uniformity",
)


def measured(X: np.ndarray, workers: int = 1, seed: int = 0) -> FeatureSpectrum:
    """Return the spectrum of unlabelled rows."""
    rows, labels = ArrayRows(X), np.zeros(len(X), dtype=np.int64)
    reading = Pass(block=7 if len(X) < 100 else 500, workers=workers)
    sums_of_moments = partial(moment_sums, rows, labels, "rows")
    (moments,) = stream_deciders([sums_of_moments], rows, "rows", reading)
    sums_of = direction_sums(rows, labels, "rows", total_moments(moments)[0], seed)
    (directions,) = stream_deciders([sums_of], rows, "rows", reading)
    return feature_spectrum(moments, directions, len(X), seed)


def by_hand(X: np.ndarray) -> dict[str, float | None]:
    """The same from all rows, singular values and pairs."""
    X = np.asarray(X, dtype=np.float64)
    X = X[X.any(axis=1)]
    s = np.linalg.svd(X, compute_uv=False)
    p = s[s > 1e-9 * s[0]] / s[s > 1e-9 * s[0]].sum()
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    unit, centred_unit = (Y / np.linalg.norm(Y, axis=1)[:, None] for Y in (X, centred))
    return {
        "effective_rank": math.exp(-(p * np.log(p)).sum()),
        "participation_ratio": values.sum() ** 2 / (values**2).sum(),
        "stable_rank": (s**2).sum() / s[0] ** 2,
        "first_share": values[0] / values.sum(),
        "mean_cosine": float(1.0 - pdist(unit, "cosine").mean()),
        "mean_cosine_centred": float(1.0 - pdist(centred_unit, "cosine").mean()),
        "uniformity": math.log(np.exp(-2.0 * pdist(unit, "sqeuclidean")).mean()),
    }


def values_of(found: FeatureSpectrum) -> dict[str, Any]:
    return {name: getattr(found, name) for name in NAMES}


@st.composite
def features(draw: st.DrawFn) -> np.ndarray:
    """Rows with an offset, unequal axes, zero rows, of several dtypes."""
    N, d = draw(st.integers(3, 40)), draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((N, d)) * np.geomspace(1.0, draw(st.sampled_from([1.0, 1e-3])), d)
    X = X + draw(st.sampled_from([0.0, 1.0, 100.0])) * rng.standard_normal(d)
    X[3:][rng.random(N - 3) < 0.1] = 0.0
    return X.astype(draw(st.sampled_from(["float64", "float32", ">f8"])))


@given(features())
def test_values_are_those_of_all_rows_and_pairs(X: np.ndarray) -> None:
    found = measured(X)
    assert values_of(found) == pytest.approx(by_hand(X), rel=1e-6, abs=1e-7)
    assert found.zero_rows == int((~X.any(axis=1)).sum())
    assert found.uniformity_error is None


@given(features(), st.integers(0, 99))
def test_rotations_and_orders_change_nothing(X: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    expected = pytest.approx(values_of(measured(X)), rel=1e-6, abs=1e-7)
    assert values_of(measured(X.astype(np.float64) @ turn)) == expected
    assert values_of(measured(rng.permutation(X), workers=2)) == expected


@given(features())
def test_repeated_rows_change_no_spectrum_and_are_counted(X: np.ndarray) -> None:
    once, twice = measured(X), measured(np.concatenate([X, X]))
    for name in NAMES[:4]:
        assert getattr(twice, name) == pytest.approx(getattr(once, name), rel=1e-6)
    assert twice.near_duplicates == 2 * (len(X) - once.zero_rows)
    assert twice.zero_rows == 2 * once.zero_rows


@given(features(), st.data())
def test_labels_change_nothing(X: np.ndarray, data: st.DataObject) -> None:
    """The moments of classes, also about other centres, give the covariance of all rows."""
    X = X[X.any(axis=1)]
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    centres = data.draw(st.sampled_from([{}, {"raw": np.ones((4, X.shape[1]))}]))
    (by_space,) = stream_moments([ArrayRows(X)], labels, 4, ["raw"], [centres], ["rows"])
    mean, scatter = total_moments(by_space["raw"])
    rows = X.astype(np.float64)
    assert mean == pytest.approx(rows.mean(axis=0), rel=1e-9, abs=1e-9)
    expected = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    assert scatter == pytest.approx(expected, abs=1e-11 * (rows**2).sum())


def test_spread_below_float32_beside_a_large_mean(rng: np.random.Generator) -> None:
    X = 1000.0 + 1e-4 * rng.standard_normal((500, 6))
    expected = by_hand(X)
    found = measured(X)
    assert found.participation_ratio == pytest.approx(expected["participation_ratio"], rel=1e-6)
    assert found.mean_cosine_centred == pytest.approx(expected["mean_cosine_centred"], abs=1e-6)
    assert found.effective_rank is not None and found.effective_rank < 1.0001


def test_more_rows_than_pairs_are_drawn_with_an_error(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum, "ALL_ROWS", 300)
    monkeypatch.setattr(spectrum, "_PAIR_ROWS", 100)
    X = rng.standard_normal((2000, 5)) + 0.5
    draws = [measured(X, seed=seed) for seed in range(40)]
    values = np.array([each.uniformity for each in draws])
    errors = np.array([each.uniformity_error for each in draws])
    exact = by_hand(X)["uniformity"]
    assert exact is not None
    assert abs(values.mean() - exact) < 4.0 * errors.mean() / math.sqrt(40)
    assert 0.6 < values.std() / errors.mean() < 1.6
    assert draws[0].near_duplicates is None
    assert draws[0].uniformity_rows == 100
    assert values_of(measured(X, workers=2)) == pytest.approx(values_of(draws[0]), rel=1e-12)
    monkeypatch.setattr(spectrum, "ALL_ROWS", 3000)
    assert measured(X).uniformity_error is not None
    assert measured(X).near_duplicates == by_pairs(X)


def by_pairs(X: np.ndarray) -> int:
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    cosines = unit @ unit.T - 2.0 * np.eye(len(X))
    return int((cosines.max(axis=1) >= spectrum.NEAR_DUPLICATE).sum())


def test_near_duplicates_are_counted_to_the_threshold(rng: np.random.Generator) -> None:
    X = rng.standard_normal((1500, 8))
    X[1400] = 3.0 * X[3]
    assert measured(X).near_duplicates == by_pairs(X)
    angle = math.acos(spectrum.NEAR_DUPLICATE)
    for apart, count in ((angle * 0.9999, 2), (angle * 1.0001, 0)):
        pair = np.array([[1.0, 0.0], [2.0 * math.cos(apart), 2.0 * math.sin(apart)]])
        assert measured(pair).near_duplicates == count


def test_collapsed_rows_have_rank_one() -> None:
    found = measured(np.ones((5, 3)))
    assert (found.effective_rank, found.stable_rank) == (1.0, 1.0)
    assert (found.first_share, found.participation_ratio) == (None, None)
    assert found.mean_cosine == pytest.approx(1.0)
    assert found.mean_cosine_centred is None
    assert found.uniformity == pytest.approx(0.0, abs=1e-12)
    alone = measured(np.array([[1.0, 2.0]]))
    assert (alone.mean_cosine, alone.uniformity, alone.near_duplicates) == (None, None, 0)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_rows_without_a_square_are_refused(value: float) -> None:
    X = np.ones((4, 3))
    X[2, 1] = value
    with pytest.raises(DataError, match="rows holds .* first row 2"):
        measured(X)
