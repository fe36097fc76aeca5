"""Class moments against two passes in extended precision, the laws of adding and merging; streamed
ones, bit for bit the same whatever the workers."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.rows import ArrayRows, Pass
from gnc_cli.runtime.deadline import Deadline


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
    assert error(moments.spread(), true.spread) <= tolerance


def moments_of(
    X: np.ndarray,
    y: np.ndarray,
    K: int,
    spaces: tuple[str, ...] = ("unit",),
    centres: dict[str, np.ndarray] | None = None,
    where: str = "features",
    **how: Any,
) -> dict[str, ClassMoments]:
    """`stream_moments` of one set."""
    rows, reading = ArrayRows(X), Pass(**how)
    (moments,) = stream_moments([rows], y, K, spaces, [centres or {}], [where], reading)
    return moments


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


@given(labelled(), st.integers(0, 30), st.integers(1, 7), st.booleans())
def test_any_split_gives_two_passes(
    data: tuple[np.ndarray, np.ndarray, int], cut: int, step: int, about: bool
) -> None:
    """To rounding of the rows: differences of rows carry what the rows themselves carry."""
    X, y, K = data
    given, kept = X.copy(), y.copy()
    centres = X[np.arange(K) % len(X)] if about else None
    a, b = (ClassMoments(X.shape[1], K, centres=centres) for _ in range(2))
    feed(a, X[:cut], y[:cut], step)
    feed(b, X[cut:], y[cut:], step)
    before = b.copy()
    a.merge(b)
    for name in ("counts", "means", "squares", "scatter"):
        np.testing.assert_array_equal(getattr(b, name), getattr(before, name))
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(y, kept)
    true = two_passes(X, y, K, centres)
    size, apart = np.abs(X).max(), np.ptp(X, axis=0).max()
    close(a.means, true.means, 1e-14 * size)
    close(a.within_cov(), true.within, 1e-12 * apart * apart)
    close(a.spread(), true.spread, 1e-12 * apart * apart)
    assert a.N == (y >= 0).sum() and (a.spread() >= 0).all()


# Streamed -----------------------------------------------------------------------------------------


def samples(N: int = 700, K: int = 11, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(-1, K - 1, N)
    return rng.standard_normal((K, d))[y] + 0.1 * rng.standard_normal((N, d)), y


@pytest.mark.parametrize("ordered_labels", [False, True])
def test_workers_leave_every_bit_alone(
    ordered_labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnc_cli.metrics.rows._BLOCK_BYTES", 5 * 8 * 5)
    X, y = samples()
    X[0] += 1e4
    y = np.sort(y) if ordered_labels else y
    states = [moments_of(X, y, 11, spaces=("raw",), workers=w)["raw"] for w in (1, 2, 8)]
    agrees(states[0], two_passes(X[y >= 0], y[y >= 0], 11))
    updated = [ClassMoments(5, 11) for _ in range(2)]
    updated[0].update(X, y)
    updated[1].update(X, y, workers=3)
    for same, other in [(states[0], states[1]), (states[0], states[2]), updated]:
        for name in ("counts", "shifts", "offsets", "squares", "scatter"):
            np.testing.assert_array_equal(getattr(same, name), getattr(other, name), name)


def test_shares_of_the_rows_merge_to_the_whole() -> None:
    X, y = samples()
    whole = ClassMoments(5, 11)
    for span in [(0, 100), (100, 100), (100, 699), (699, 700)]:
        part = moments_of(X, y, 11, span=span, block=32)
        whole.merge(pickle.loads(pickle.dumps(part))["unit"])
    agrees(whole, two_passes(normalise(X), y, 11))


def test_streamed_about_given_centres() -> None:
    X, y = samples()
    centres = np.random.default_rng(1).standard_normal((11, 5))
    found = moments_of(X, y, 11, spaces=("raw",), centres={"raw": centres}, block=50)
    agrees(found["raw"], two_passes(X, y, 11, centres))


@given(labelled(), st.integers(1, 9))
def test_blocks_sorted_by_class_give_the_sums_of_both_spaces(
    data: tuple[np.ndarray, np.ndarray, int], step: int
) -> None:
    X, y, K = data
    X[~X.any(axis=1)] = 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gnc_cli.metrics.rows._BLOCK_BYTES", step * 8 * X.shape[1])
        found = moments_of(X, y, K, spaces=("unit", "raw"))
    for space, rows in (("unit", normalise(X)), ("raw", X)):
        true, apart = two_passes(rows, y, K), np.ptp(rows, axis=0).max()
        close(found[space].means, true.means, 1e-14 * np.abs(rows).max())
        floor = 1e-12 * apart * apart + 1e-15 * apart + 1e-30  # unit rows are rounded twice
        close(found[space].within_cov(), true.within, floor)
        close(found[space].spread(), true.spread, floor)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("space", ["unit", "raw"])
def test_rows_that_are_not_finite_are_named(value: float, space: str) -> None:
    X, y = samples()
    y[:] = 0
    X[137, 2] = X[139, 0] = value
    said = "^'f.h5': 'x' holds NaN or infinity: 2 of rows 100 to 199, first row 137"
    with pytest.raises(DataError, match=said):
        moments_of(X, y, 11, spaces=(space,), where="'f.h5': 'x'", block=100)
    y[139], y[[135, 138]] = 3, 2  # blocks are sorted by class
    with pytest.raises(DataError, match=said):
        moments_of(X, y, 11, spaces=(space,), where="'f.h5': 'x'", block=100)
    y[[137, 139]] = -1
    assert moments_of(X, y, 11, spaces=(space,))[space].N == 698


def test_zero_rows_are_refused_where_they_need_a_direction() -> None:
    X, y = samples()
    X[9], y[9] = 0.0, 1
    with pytest.raises(
        DataError, match=r"features holds zero rows.*first row 9; .*normalize='off'"
    ):
        moments_of(X, y, 11, workers=3)
    assert moments_of(X, y, 11, spaces=("raw",))["raw"].N == (y >= 0).sum()


def test_labels_are_checked_and_may_all_be_left_out() -> None:
    X, y = samples()
    for labels, K, words in (
        (y, 9, "label 9 is out of range; expected 0 to 8"),
        (y[1:], 11, r"expected \(700,\), integers"),
        (y.astype(float), 11, r"float64; expected \(700,\), integers"),
    ):
        with pytest.raises(DataError, match=words):
            moments_of(X, labels, K)
    found = moments_of(X, np.full_like(y, -1), 11, block=64)
    assert not found["unit"].present.any()
    assert moments_of(X[:0], y[:0], 11)["unit"].N == 0


def test_progress_and_deadline() -> None:
    X, y = samples()
    seen: list[tuple[str, int, int, float]] = []
    moments_of(X, y, 11, block=300, progress=lambda *a: seen.append(a))
    assert [s[:3] for s in seen] == [("moments", n, 700) for n in (300, 600, 700)]
    assert seen[-1][3] == 1.0
    with pytest.raises(TimeoutError, match="stopped after 300 of 700 rows"):
        moments_of(X, y, 11, block=300, deadline=Deadline(0.0))


def test_moments_over_a_row_of_numbers_write_into_it(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 4, 60)
    numbers = np.zeros(ClassMoments.size(3, 5))
    over, plain = ClassMoments.from_buffer(numbers, 3, 5), ClassMoments(3, 5)
    feed(over, X, y, 25)
    feed(plain, X, y, 25)
    again = ClassMoments.from_buffer(numbers.copy(), 3, 5)
    plain.merge(again)  # counts are whole numbers on both sides
    feed(over, X, y, 60)
    assert plain.counts.dtype == np.int64 and np.array_equal(over.counts, plain.counts)
    assert over.means == pytest.approx(plain.means, abs=1e-14)
    assert over.within_cov() == pytest.approx(plain.within_cov(), abs=1e-13)
    assert numbers[:5].tolist() == plain.counts.tolist()
