"""Bootstrap intervals: the definition by repeated rows, seeds, workers, and known distributions."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics import bootstrap as module
from gnc_cli.metrics.bootstrap import bootstrap
from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.records import BootstrapIntervals
from gnc_cli.metrics.rows import ArrayRows
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline


def samples(N: int = 400, K: int = 6, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    W = rng.standard_normal((K, d))
    y = rng.integers(-1, K - 1, N)
    return W[y] + 0.3 * rng.standard_normal((N, d)), y, W


def intervals(
    X: np.ndarray, y: np.ndarray, K: int, *more: Any, unit: bool = True, **options: Any
) -> BootstrapIntervals:
    """Of rows whose moments are taken here."""
    space = "unit" if unit else "raw"
    moments = stream_moments(ArrayRows(X), y, K, spaces=(space,)).moments[space]
    return bootstrap(ArrayRows(X), y, moments, *more, unit=unit, **options)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """How often each row is drawn, replicate by replicate."""
    found: list[np.ndarray] = []
    original = module._Draws.draw

    def record(self: module._Draws, rng: np.random.Generator) -> np.ndarray:
        found.append(original(self, rng))
        return found[-1]

    monkeypatch.setattr(module._Draws, "draw", record)
    return found


def within(bracket: Bracket | None, values: list[float]) -> None:
    """The bracket is the middle half of the values."""
    assert bracket is not None
    expected = tuple(np.quantile(values, [0.25, 0.75]))
    assert (bracket.lower, bracket.upper) == pytest.approx(expected, rel=1e-11)


def test_a_replicate_is_the_metrics_of_rows_drawn_again(drawn: list[np.ndarray]) -> None:
    X, y, W = samples()
    found = intervals(X, y, 6, W, replicates=9, seed=3, level=0.5, block=37, workers=2)
    unit, present = normalise(X), np.unique(y[y >= 0])
    one, three = [], []
    for times in drawn:
        # Every class is drawn as often as it has samples; rows left out are never drawn.
        assert not times[y < 0].any()
        np.testing.assert_array_equal(np.bincount(y[y >= 0], times[y >= 0]), np.bincount(y[y >= 0]))
        again, labels = np.repeat(unit, times, axis=0), np.repeat(y, times)
        one.append(gnc1(again, labels).value)
        means = np.stack([again[labels == k].mean(axis=0) for k in present])
        three.append(gnc3(normalise(W)[present], means))
    # Scaled to the GNC1 measured: drawing again loses a share of the spread.
    kept = y >= 0
    within(found.gnc1, np.array(one) * gnc1(unit[kept], y[kept]).value / np.mean(one))
    within(found.gnc3, three)
    assert found.accuracy is None and found.ncc_accuracy is None
    assert (found.replicates, found.level) == (9, 0.5)


@pytest.mark.parametrize("unit", [True, False])
def test_replicates_about_the_means_of_other_data(unit: bool, drawn: list[np.ndarray]) -> None:
    """Sigma_W of the rows drawn about the training means, Sigma_B and K of the training set."""
    X, y, W = samples()
    rng = np.random.default_rng(1)
    own, labels = (normalise(X) if unit else X), np.arange(90) % 6  # one class more than the data
    fitted = ClassMoments(4, 6)
    fitted.update(normalise(W[labels] + 0.3 * rng.standard_normal((90, 4))), labels)
    found = intervals(
        X,
        y,
        6,
        W,
        replicates=40,
        seed=3,
        level=0.5,
        unit=unit,
        means_of=fitted,
        block=37,
        workers=2,
    )
    between = fitted.means.T @ fitted.means / 6

    def gnc1_of(times: np.ndarray) -> float:
        apart = np.repeat(own, times, axis=0) - fitted.means[np.repeat(y, times)]
        return float(np.trace(apart.T @ apart @ np.linalg.pinv(between)) / len(apart) / 6)

    within(found.gnc1, [gnc1_of(times) for times in drawn])
    assert found.gnc1.lower < gnc1_of((y >= 0).astype(int)) < found.gnc1.upper
    weights, present = (normalise(W) if unit else W), np.unique(y[y >= 0])
    three = []
    for times in drawn:
        again, of = np.repeat(own, times, axis=0), np.repeat(y, times)
        three.append(gnc3(weights[present], np.stack([again[of == k].mean(0) for k in present])))
    within(found.gnc3, three)


def test_seeds_workers_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, W = samples()
    right = np.bincount(y[y >= 0], minlength=6) // 2

    def run(seed: int, workers: int):
        return intervals(
            X, y, 6, W, right, right, replicates=12, seed=seed, block=50, workers=workers
        )

    first = run(1, 1)
    assert run(1, 3) == first
    assert run(2, 1) != first
    monkeypatch.setattr(module, "_PASS_BYTES", 1)  # one replicate a pass
    assert run(1, 2) == first


def test_shares_follow_the_binomial() -> None:
    N, right = 200, 150
    X = np.random.default_rng(0).standard_normal((N, 2)) + 3
    y = np.zeros(N, dtype=int)
    found = intervals(
        X, y, 1, None, np.array([right]), np.array([N]), replicates=2000, seed=0, level=0.9
    )
    assert found.accuracy is not None and found.ncc_accuracy is not None
    expected = binom.ppf([0.05, 0.95], N, right / N) / N
    assert (found.accuracy.lower, found.accuracy.upper) == pytest.approx(tuple(expected), abs=0.011)
    assert (found.ncc_accuracy.lower, found.ncc_accuracy.upper) == (1.0, 1.0)
    assert found.gnc3 is None


def test_classes_of_one_sample_do_not_move() -> None:
    X = np.eye(3)
    found = intervals(X, np.arange(3), 3, np.eye(3), replicates=4, seed=0)
    assert found.gnc1 is not None and (found.gnc1.lower, found.gnc1.upper) == (0.0, 0.0)
    assert found.gnc3 is not None and (found.gnc3.lower, found.gnc3.upper) == (0.0, 0.0)


def test_refusals_and_deadline() -> None:
    X, y, W = samples()
    for bad, words in (({"replicates": 0}, "0 replicates"), ({"level": 1.0}, "level 1.0")):
        with pytest.raises(UsageError, match=words):
            intervals(X, y, 6, W, seed=0, **({"replicates": 2} | bad))
    with pytest.raises(DataError, match="label 4"):
        bootstrap(ArrayRows(X), y, ClassMoments(4, 4), replicates=2, seed=0)
    with pytest.raises(TimeoutError):
        intervals(X, y, 6, W, replicates=2, seed=0, deadline=Deadline(0.0))
    seen: list[tuple[str, int, int, float]] = []
    intervals(X, y, 6, W, replicates=2, seed=0, progress=lambda *a: seen.append(a))
    assert seen == [("bootstrap", 2, 2, 1.0)]
