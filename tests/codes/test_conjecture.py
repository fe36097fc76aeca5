"""The verdict on the conjecture, and the exact arithmetic behind a claim."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.conjecture import AGREES, Verdict, judge, rational_margin, unit_defect
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from gnc_cli.results import Bracket


def verdict(
    lower: float, max_cosine: float, t: float = 0.5, *, proven: bool = True, listed: bool = True
) -> Verdict:
    rho = Bracket(lower, lower + 1e-12)
    return judge(rho, max_cosine, t, error=1e-13, proven=proven, listed=listed).verdict


@pytest.mark.parametrize(
    ("lower", "cosine", "proven", "listed", "said"),
    [
        (0.5, 0.5, True, True, Verdict.AGREES),
        (0.5 - 0.9 * AGREES, 0.5, True, True, Verdict.AGREES),
        (0.5 - 1.1 * AGREES, 0.5, True, True, Verdict.BELOW),
        # Any certified excess above rounding is a claim, however small.
        (0.5 + 1e-12, 0.5, True, True, Verdict.COUNTEREXAMPLE),
        (0.5 + 1e-12, 0.5, False, True, Verdict.CANDIDATE),
        (0.5 + 1e-12, 0.5, False, False, Verdict.CANDIDATE),
        (0.5 + 1e-14, 0.5, True, True, Verdict.AGREES),
        # A code that beats t by itself is about t; where t is proved, one of the two is wrong.
        (0.5 + 1e-6, 0.5 - 1e-6, False, True, Verdict.IMPROVES),
        (0.5 + 1e-6, 0.5 - 1e-6, True, True, Verdict.CONTRADICTION),
        (0.5 + 1e-6, 0.5 - 1e-6, False, False, Verdict.LOOSE),
    ],
)
def test_verdicts(lower: float, cosine: float, proven: bool, listed: bool, said: Verdict) -> None:
    assert verdict(lower, cosine, proven=proven, listed=listed) is said


def test_coarse_figures_are_compared_coarsely() -> None:
    rho = Bracket(0.5 + 3e-7, 0.5 + 3e-7)
    coarse = judge(rho, 0.5 - 3e-7, 0.5, error=1e-6, proven=False)
    assert coarse.verdict is Verdict.AGREES
    assert coarse.tolerance >= 1e-6
    assert judge(rho, 0.5, 0.5, error=0.0, proven=False, defect=1e-6).verdict is Verdict.AGREES


@pytest.mark.parametrize(
    ("lower", "cosine", "same"),
    [
        (0.5, 0.5, True),
        (0.5, 0.5 + 1e-10, True),
        (0.5, 0.5 + 1e-8, None),
        (0.5, 0.5 + 1e-3, False),
        (0.4, 0.5, None),
        (0.4, 0.6, None),
    ],
)
def test_the_second_claim_is_kept_apart(lower: float, cosine: float, same: bool | None) -> None:
    rho = Bracket(lower, lower)
    assert judge(rho, cosine, 0.5, error=0.0, proven=True).same_maximiser is same


@given(
    excess=st.floats(-0.4, 0.4),
    above=st.floats(-0.4, 0.4),
    proven=st.booleans(),
    error=st.floats(0.0, 1e-6),
)
def test_no_claim_without_an_excess_beyond_rounding(
    excess: float, above: float, proven: bool, error: float
) -> None:
    rho = Bracket(0.5 + excess, 0.5 + excess)
    found = judge(rho, 0.5 + above, 0.5, error=error, proven=proven)
    claimed = found.verdict in (Verdict.COUNTEREXAMPLE, Verdict.CANDIDATE)
    assert claimed == (found.excess > found.tolerance and above >= -found.tolerance)
    assert found.tolerance >= error
    if found.verdict is Verdict.BELOW:
        assert found.same_maximiser is None


def random_code(K: int, d: int, seed: int = 0) -> np.ndarray:
    W = np.random.default_rng(seed).standard_normal((K, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


@pytest.mark.parametrize(("K", "d"), [(4, 3), (6, 5), (9, 4)])
def test_the_exact_margin_is_the_certified_one(K: int, d: int) -> None:
    W = random_code(K, d)
    found = one_vs_rest(W)
    exact = rational_margin(W, found.directions)
    # Rows of unit length to 1e-16 only: the certificate is of the rows as they are.
    assert abs(float(exact) - found.lower.min()) < 1e-14


def test_the_exact_margin_sees_lengths_and_signs() -> None:
    W, H = random_code(5, 3), random_code(5, 3, seed=1)
    unit = (W @ H.T).T
    plain = float(np.min(np.diag(unit) - (unit - 9 * np.eye(5)).max(axis=1)))
    stretched = rational_margin(W * np.arange(1.0, 6.0)[:, None], H * 1e-3)
    assert float(stretched) == pytest.approx(plain, abs=1e-15)
    assert plain < 0.0


def test_the_exact_margin_is_no_float() -> None:
    # cos(60 degrees) cannot be written in binary with sqrt(3)/2: the margin is off by 1e-17 or so,
    # and exact arithmetic sees it.
    W = np.array([[1.0, 0.0], [-0.5, 3**0.5 / 2], [-0.5, -(3**0.5) / 2]])
    gap = rational_margin(W, W) - Fraction(3, 2)
    assert 0 < abs(gap) < Fraction(1, 10**15)


def test_the_unit_defect_bounds_how_far_lengths_are_off() -> None:
    W = random_code(20, 7)
    W[3] *= 1.0 + 1e-9
    defect = unit_defect(W)
    assert 1e-9 <= defect < 3e-9
    with pytest.raises(ValueError, match="normalise"):
        unit_defect(2.0 * W)
