"""GNC2 in full: against every bracket, NumPy's quantiles, other solvers, the plain Gram matrix."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnc_cli.metrics.gnc2 as module
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics.gnc2 import Gnc2Detail, gnc2, gnc2_detail
from gnc_cli.runtime.deadline import Deadline
from tests.problems import WITH_POINTS, Problem

QUANTILES = (("q0_001", 0.001), ("q0_01", 0.01), ("q0_1", 0.1), ("q0_5", 0.5))


def check_nearest(W: np.ndarray, detail: Gnc2Detail) -> None:
    gram = W @ W.T
    np.fill_diagonal(gram, -np.inf)
    assert detail.nearest is not None and detail.nearest_cosine is not None
    assert detail.nearest_cosine == pytest.approx(gram.max(axis=1), abs=1e-14)
    assert gram[np.arange(len(W)), detail.nearest] == pytest.approx(gram.max(axis=1), abs=1e-14)


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_known_codes(problem: Problem) -> None:
    W = problem.points()
    detail = gnc2_detail(W)
    assert detail.bracket.lower - 1e-15 <= problem.rho <= detail.bracket.upper + 1e-15
    assert detail.rattlers.one_vs_rest == int((one_vs_rest(W).upper > problem.rho + 1e-7).sum())
    if problem.rattlers == 0:
        assert detail.rattlers.one_vs_rest == 0


def test_quantiles_are_those_of_the_brackets(rng: np.random.Generator) -> None:
    W = random_points(rng, 200, 12)
    detail, every = gnc2_detail(W), one_vs_rest(W)
    assert np.array_equal(detail.worst, np.argsort(detail.upper)[:10])
    found = detail.quantiles
    assert found is not None and (found.classes, found.seed) == (200, None)
    assert found.q0 == detail.bracket
    for name, q in QUANTILES:
        bracket = getattr(found, name)
        assert bracket.lower == pytest.approx(np.quantile(every.lower, q), abs=1e-12)
        assert bracket.upper == pytest.approx(np.quantile(every.upper, q), abs=1e-12)
        assert bracket.lower <= bracket.upper


def test_beyond_some_thousand_classes_a_sample(rng: np.random.Generator) -> None:
    W = random_points(rng, 300, 10)
    every = one_vs_rest(W)
    drawn = partial(gnc2_detail, W, every_class=False, sample_size=40)
    detail = drawn(seed=5)
    sample = np.sort(np.random.default_rng(5).choice(300, 40, replace=False))
    found = detail.quantiles
    assert found is not None and (found.classes, found.seed) == (40, 5)
    assert found.q0.lower <= every.upper.min() and every.lower.min() <= found.q0.upper
    assert found.q0.width < 1e-11
    assert found.q0_5.upper == pytest.approx(np.quantile(every.upper[sample], 0.5), abs=1e-12)
    # Brackets of their own: the sample and the worst.
    assert set(sample) | set(detail.worst) == set(detail.classes)
    assert (np.diff(detail.classes) > 0).all()
    assert (detail.upper - detail.lower).max() < 1e-12
    assert detail.upper == pytest.approx(every.upper[detail.classes], abs=1e-12)
    assert (np.diff(every.upper[detail.worst]) > -1e-12).all()
    assert detail.worst[0] == every.upper.argmin()
    assert detail.rattlers.one_vs_rest is None and detail.rattlers.one_vs_one is not None
    check_nearest(W, detail)
    assert np.array_equal(drawn(seed=5).classes, detail.classes)
    assert not np.array_equal(drawn(seed=6).classes, detail.classes)
    assert len(gnc2_detail(W, every_class=True).classes) == 300
    alone = drawn(minimum_only=True)
    assert alone.quantiles is None and alone.rattlers.one_vs_rest is None
    assert alone.bracket.upper == pytest.approx(found.q0.upper, abs=1e-12)
    assert set(alone.classes) == set(alone.worst)


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 999), st.integers(0, 3))
def test_laws(K: int, d: int, seed: int, twins: int) -> None:
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    W = np.vstack([W, W[:twins]])
    detail = gnc2_detail(W, every_class=bool(seed % 2))
    expected = gnc2(W)
    assert detail.bracket.lower <= expected.upper and expected.lower <= detail.bracket.upper
    assert (detail.lower <= detail.upper).all() and (detail.lower >= 0.0).all()
    if twins:
        assert detail.bracket.lower == 0.0 and detail.bracket.upper < 1e-15
        alone = gnc2_detail(np.repeat(W[:1], 12, axis=0))
        assert alone.bracket.upper < 1e-15 and alone.rattlers == module.Rattlers(0, 0, 1e-7)
        assert len(alone.worst) == 10
    for a, b in itertools.pairwise(QUANTILES):
        low, high = getattr(detail.quantiles, a[0]), getattr(detail.quantiles, b[0])
        assert low.lower <= high.lower and low.upper <= high.upper
    check_nearest(W, detail)


def test_rattlers_of_either_kind() -> None:
    """A square and a point between two of its corners: all but those two are free."""
    W = normalise(np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [1, 1.2]]))
    detail = gnc2_detail(W)
    assert detail.rattlers.one_vs_one == 3
    assert (
        detail.rattlers.one_vs_rest == int((detail.lower > detail.bracket.upper + 1e-7).sum()) == 4
    )


@pytest.mark.parametrize("every", [True, False])
def test_whenever_the_deadline_strikes_the_brackets_hold(
    every: bool, rng: np.random.Generator
) -> None:
    W = random_points(rng, 1050, 4)
    exact = one_vs_rest(W)
    for ticks in (0, 2, 5, 40, 400):
        clock = iter(range(10**7))
        deadline = Deadline(ticks, clock=lambda clock=clock: float(next(clock)))
        detail = gnc2_detail(W, every_class=every, deadline=deadline)
        assert detail.bracket.lower <= exact.upper.min() <= detail.bracket.upper + 1e-13
        assert (detail.lower <= exact.upper[detail.classes]).all()
        assert (exact.lower[detail.classes] <= detail.upper).all()
        assert detail.quantiles is not None and detail.quantiles.q0 == detail.bracket


def test_a_device_gives_the_same(device: str, rng: np.random.Generator) -> None:
    W = random_points(rng, 400, 20)
    detail = gnc2_detail(W, device=device)
    exact = one_vs_rest(W)
    assert (detail.lower <= exact.upper).all() and (exact.lower <= detail.upper).all()
    assert (detail.upper - detail.lower).max() < 1e-12
