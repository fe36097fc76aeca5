"""Class moments against two passes in extended precision, and the laws of adding and merging."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import gnc1


@dataclass
class Reference:
    means: np.ndarray
    within: np.ndarray
    between: np.ndarray
    spread: np.ndarray


def two_passes(
    X: np.ndarray, y: np.ndarray, K: int, centres: np.ndarray | None = None
) -> Reference:
    """The definitions, class by class, in long double."""
    X = X.astype(np.longdouble)
    d = X.shape[1]
    means, spread = np.zeros((K, d), np.longdouble), np.zeros(K, np.longdouble)
    scatter = np.zeros((d, d), np.longdouble)
    present = []
    for k in range(K):
        rows = X[y == k]
        if len(rows):
            present.append(k)
            means[k] = rows.mean(axis=0)
            D = rows - (means[k] if centres is None else centres[k])
            scatter += D.T @ D
            spread[k] = (D * D).sum() / len(rows)
    M = means[present]
    return Reference(means, scatter / (y >= 0).sum(), M.T @ M / len(M), spread)


def error(found: np.ndarray, true: np.ndarray) -> float:
    """Largest deviation against the largest entry."""
    scale = float(np.abs(true).max())
    return float(np.abs(found - true).max()) / scale if scale else float(np.abs(found).max())


def agrees(moments: ClassMoments, true: Reference, tolerance: float = 1e-12) -> None:
    assert error(moments.means, true.means) <= tolerance
    assert error(moments.within_cov(), true.within) <= tolerance
    assert error(moments.between_cov(), true.between) <= tolerance
    assert error(moments.spread(), true.spread) <= tolerance


def feed(moments: ClassMoments, X: np.ndarray, y: np.ndarray, step: int) -> ClassMoments:
    for start in range(0, len(y), step):
        moments.update(X[start : start + step], y[start : start + step])
    return moments


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("deviation", [1.0, 1e-7])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("step", [29, 1500])
def test_two_passes(dtype: type, deviation: float, offset: float, order: str, step: int) -> None:
    rng = np.random.default_rng(0)
    K, d, N = 9, 7, 1500
    y = np.concatenate([[3], rng.choice([0, 1, 2, 4, 5, 6, 8], N - 1, p=[0.7] + [0.05] * 6)])
    y = np.sort(y) if order == "sorted" else y
    X = (rng.standard_normal((K, d)) + offset)[y] + deviation * rng.standard_normal((N, d))
    X = X.astype(dtype)
    moments = feed(ClassMoments(d, K), X, y, step)
    agrees(moments, two_passes(X, y, K))
    assert moments.N == N
    np.testing.assert_array_equal(moments.counts, np.bincount(y, minlength=K))
    np.testing.assert_array_equal(np.flatnonzero(~moments.present), [7])
    assert not moments.means[7].any()


@pytest.mark.parametrize("step", [1, 50, 4000])
def test_an_outlier_in_front_costs_no_digits(step: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000 if step > 1 else 1000, 3))
    X[0] += 1e5
    y = np.zeros(len(X), dtype=int)
    moments = feed(ClassMoments(3, 1), X, y, step)
    true = two_passes(X, y, 1)
    # The outlier dominates: what is left of the others shows only without it.
    assert error(moments.within_cov(), true.within) <= 1e-13
    assert error(moments.spread(), true.spread) <= 1e-13


numbers = st.floats(-4, 4, width=16)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows with ties and duplicates, classes of any size, some missing; labels of -1 among them."""
    d, K, N = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 30))
    X = np.array(draw(st.lists(numbers, min_size=N * d, max_size=N * d))).reshape(N, d)
    labels = st.lists(st.integers(-1, K - 1), min_size=N, max_size=N)
    y = np.array(draw(labels.filter(lambda ys: max(ys) >= 0)))
    scale = 10.0 ** draw(st.integers(-7, 3))
    return X * scale + draw(st.sampled_from([0.0, 1.0, 1000.0])), y, K


def close(a: np.ndarray, b: np.ndarray, floor: float) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-11, atol=floor)


@given(labelled(), st.integers(0, 30), st.integers(1, 7))
def test_any_split_gives_two_passes(
    data: tuple[np.ndarray, np.ndarray, int], cut: int, step: int
) -> None:
    """To rounding of the rows: differences of rows carry what the rows themselves carry."""
    X, y, K = data
    a, b = (ClassMoments(X.shape[1], K) for _ in range(2))
    feed(a, X[:cut], y[:cut], step)
    feed(b, X[cut:], y[cut:], step)
    before = b.copy()
    a.merge(b)
    for name in ("counts", "means", "squares", "scatter"):
        np.testing.assert_array_equal(getattr(b, name), getattr(before, name))
    true = two_passes(X, y, K)
    size, apart = np.abs(X).max(), np.ptp(X, axis=0).max()
    close(a.means, true.means, 1e-14 * size)
    close(a.within_cov(), true.within, 1e-12 * apart * apart)
    close(a.spread(), true.spread, 1e-12 * apart * apart)
    close(a.between_cov(), true.between, 1e-14 * size * size)
    assert a.N == (y >= 0).sum() and (a.spread() >= 0).all()


def test_collapsed_parts_merge_exactly() -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 6, 900)
    X = rng.standard_normal((6, 5))[y] + 1e-7 * rng.standard_normal((900, 5))
    whole = ClassMoments(5, 6)
    for part in np.array_split(np.arange(900), [7, 300, 301]):
        piece = ClassMoments(5, 6)
        piece.update(X[part], y[part])
        whole.merge(piece.copy())
    agrees(whole, two_passes(X, y, 6))


def test_about_the_means_of_other_data() -> None:
    rng = np.random.default_rng(5)
    X, y, centres = (
        rng.standard_normal((300, 3)),
        rng.integers(0, 4, 300),
        rng.standard_normal((4, 3)),
    )
    halves = [ClassMoments(3, 4, centres=centres) for _ in range(2)]
    halves[0].update(X[:100], y[:100])
    halves[1].update(X[100:], y[100:])
    halves[0].merge(halves[1])
    agrees(halves[0], two_passes(X, y, 4, centres=centres))


@pytest.mark.parametrize("dtype", ["float16", ">f4", ">f8", "<f2", "int8"])
@pytest.mark.parametrize("label", ["int8", "uint16", ">i4", "int64"])
def test_any_storage(dtype: str, label: str) -> None:
    rng = np.random.default_rng(6)
    X = (4 * rng.standard_normal((200, 3))).astype(dtype)
    y = rng.integers(0, 5, 200).astype(label)
    moments = ClassMoments(3, 5)
    moments.update(X, y)
    agrees(moments, two_passes(X, y.astype(int), 5))


def test_more_classes_than_dimensions_and_large_labels() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((800, 2)), rng.integers(0, 300, 800)
    moments = ClassMoments(2, 300)
    moments.update(X, y)
    agrees(moments, two_passes(X, y, 300))
    sparse = gnc1(X, y * 10**12)
    assert sparse.value == pytest.approx(gnc1(X, y).value, rel=1e-12)
    assert sparse.classes_present == len(np.unique(y))


def test_inputs_are_left_alone() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, -1, 0])
    kept = X.copy(), y.copy()
    ClassMoments(2, 2).update(X, y)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_refusals() -> None:
    moments = ClassMoments(2, 3)
    with pytest.raises(DataError, match="all labels -1"):
        moments.within_cov()
    with pytest.raises(DataError, match=r"label 3 is out of range; expected 0 to 2"):
        moments.update(np.zeros((1, 2)), np.array([3]))
    with pytest.raises(DataError, match="label -2"):
        moments.update(np.zeros((1, 2)), np.array([-2]))
    with pytest.raises(DataError, match=r"shape \(1, 3\)"):
        moments.update(np.zeros((1, 3)), np.array([0]))
    with pytest.raises(DataError, match="integers"):
        moments.update(np.zeros((1, 2)), np.array([0.0]))
    with pytest.raises(DataError, match="NaN or infinity, first in row 2"):
        moments.update(np.array([[np.nan, 0], [0, 1], [np.inf, 0]]), np.array([-1, 0, 0]))
    with pytest.raises(DataError, match="cannot join"):
        moments.merge(ClassMoments(2, 4))
    with pytest.raises(DataError, match="different centres"):
        ClassMoments(2, 3, centres=np.zeros((3, 2))).merge(
            ClassMoments(2, 3, centres=np.ones((3, 2)))
        )
    with pytest.raises(DataError, match="centres have shape"):
        ClassMoments(2, 3, centres=np.zeros((2, 2)))
    with pytest.raises(DataError, match="d = 0"):
        ClassMoments(0, 3)
