"""Streamed moments: the same as in memory, bit for bit whatever the workers, and clear refusals."""

import pickle

import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import ClassMoments, StreamedMoments, stream_moments
from gnc_cli.metrics.rows import ArrayRows
from gnc_cli.runtime.deadline import Deadline


def samples(N: int = 700, K: int = 11, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(-1, K - 1, N)
    return rng.standard_normal((K, d))[y] + 0.1 * rng.standard_normal((N, d)), y


def plain(X: np.ndarray, y: np.ndarray, K: int) -> ClassMoments:
    moments = ClassMoments(X.shape[1], K)
    moments.update(X, y)
    return moments


def agree(a: ClassMoments, b: ClassMoments) -> None:
    np.testing.assert_array_equal(a.counts, b.counts)
    for x, y in [
        (a.means, b.means),
        (a.within_cov(), b.within_cov()),
        (a.between_cov(), b.between_cov()),
        (a.spread(), b.spread()),
    ]:
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13 * np.abs(y).max())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ">f4"])
@pytest.mark.parametrize("block", [None, 13, 700])
def test_both_spaces_in_one_pass(dtype: str, block: int | None) -> None:
    X, y = samples()
    X = X.astype(dtype)
    found = stream_moments(ArrayRows(X), y, 11, spaces=("unit", "raw"), block=block, workers=2)
    X = X.astype(float)
    agree(found.moments["raw"], plain(X, y, 11))
    agree(found.moments["unit"], plain(normalise(X), y, 11))
    norms = np.linalg.norm(X[y >= 0], axis=1)
    assert found.norm_min == pytest.approx(norms.min(), rel=1e-15)
    assert found.norm_max == pytest.approx(norms.max(), rel=1e-15)


@pytest.mark.parametrize("ordered_labels", [False, True])
def test_workers_leave_every_bit_alone(ordered_labels: bool) -> None:
    X, y = samples()
    X[0] += 1e4
    y = np.sort(y) if ordered_labels else y
    states = [
        stream_moments(ArrayRows(X), y, 11, spaces=("raw",), block=5, workers=w).moments["raw"]
        for w in (1, 2, 8)
    ]
    for other in states[1:]:
        for name in ("counts", "shifts", "offsets", "squares", "scatter"):
            np.testing.assert_array_equal(getattr(states[0], name), getattr(other, name), name)


def test_shares_of_the_rows_merge_to_the_whole() -> None:
    X, y = samples()
    rows = ArrayRows(X)
    whole: StreamedMoments | None = None
    for span in [(0, 100), (100, 100), (100, 699), (699, 700)]:
        part = stream_moments(rows, y, 11, span=span, block=32)
        part = pickle.loads(pickle.dumps(part))
        whole = part if whole is None else whole.merged(part)
    assert whole is not None
    everything = stream_moments(rows, y, 11)
    agree(whole.moments["unit"], everything.moments["unit"])
    assert (whole.norm_min, whole.norm_max) == (everything.norm_min, everything.norm_max)


def test_about_given_centres() -> None:
    X, y = samples()
    centres = np.random.default_rng(1).standard_normal((11, 5))
    found = stream_moments(ArrayRows(X), y, 11, spaces=("raw",), centres={"raw": centres}, block=50)
    D = (X - centres[y])[y >= 0]
    np.testing.assert_allclose(found.moments["raw"].within_cov(), D.T @ D / len(D), rtol=1e-12)
    np.testing.assert_allclose(
        found.moments["raw"].means, plain(X, y, 11).means, rtol=1e-12, atol=1e-14
    )


def test_collapsed_float32_rows() -> None:
    rng = np.random.default_rng(2)
    y = np.sort(rng.integers(0, 5, 2000))
    X = (rng.standard_normal((5, 4))[y] + 1e-7 * rng.standard_normal((2000, 4))).astype(np.float32)
    found = stream_moments(ArrayRows(X), y, 5, spaces=("raw",), block=100).moments["raw"]
    exact = X.astype(np.longdouble)
    means = np.stack([exact[y == k].mean(axis=0) for k in range(5)])
    D = exact - means[y]
    true = (D.T @ D / len(y)).astype(float)
    np.testing.assert_allclose(found.within_cov(), true, rtol=0, atol=1e-12 * np.abs(true).max())


def test_rows_of_any_scale_have_a_direction() -> None:
    X = np.array([[3e-310, 4e-310], [3e200, 4e200], [6.0, 8.0], [0.0, 0.0]])
    found = stream_moments(ArrayRows(X), np.array([0, 1, 2, -1]), 3)
    np.testing.assert_allclose(found.moments["unit"].means, [[0.6, 0.8]] * 3, rtol=1e-14)
    assert found.norm_min == pytest.approx(5e-310)
    assert found.norm_max == pytest.approx(5e200)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("space", ["unit", "raw"])
def test_rows_that_are_not_finite_are_named(value: float, space: str) -> None:
    X, y = samples()
    y[:] = 0
    X[137, 2] = X[139, 0] = value
    with pytest.raises(DataError) as caught:
        stream_moments(ArrayRows(X), y, 11, spaces=(space,), where="'f.h5': 'x'", block=100)
    message = str(caught.value)
    assert message.startswith(
        "'f.h5': 'x' holds NaN or infinity: 2 of rows 100 to 199, first row 137"
    )
    y[[137, 139]] = -1
    assert stream_moments(ArrayRows(X), y, 11, spaces=(space,)).moments[space].N == 698


def test_zero_rows_are_refused_where_they_need_a_direction() -> None:
    X, y = samples()
    X[9] = 0.0
    y[9] = 1
    with pytest.raises(DataError, match=r"features holds zero rows.*first row 9; .*normalize off"):
        stream_moments(ArrayRows(X), y, 11, workers=3)
    assert stream_moments(ArrayRows(X), y, 11, spaces=("raw",)).norm_min == 0.0


def test_labels_are_checked() -> None:
    X, y = samples()
    with pytest.raises(DataError, match=r"label 9 is out of range; expected 0 to 8"):
        stream_moments(ArrayRows(X), y, 9)
    with pytest.raises(DataError, match=r"expected \(700,\), integers"):
        stream_moments(ArrayRows(X), y[1:], 11)
    with pytest.raises(DataError, match=r"float64; expected \(700,\), integers"):
        stream_moments(ArrayRows(X), y.astype(float), 11)


def test_nothing_to_read() -> None:
    X, y = samples()
    found = stream_moments(ArrayRows(X), np.full_like(y, -1), 11, block=64)
    assert not found.moments["unit"].present.any()
    assert (found.norm_min, found.norm_max) == (np.inf, 0.0)
    assert stream_moments(ArrayRows(X[:0]), y[:0], 11).moments["unit"].N == 0


def test_progress_and_deadline() -> None:
    X, y = samples()
    seen: list[tuple[str, int, int, float]] = []
    stream_moments(ArrayRows(X), y, 11, block=300, progress=lambda *a: seen.append(a))
    assert [s[:3] for s in seen] == [("moments", n, 700) for n in (300, 600, 700)]
    assert seen[-1][3] == 1.0
    with pytest.raises(TimeoutError, match="stopped after 300 of 700 rows"):
        stream_moments(ArrayRows(X), y, 11, block=300, deadline=Deadline(0.0))
